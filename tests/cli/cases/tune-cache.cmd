# The second time nothing is compiled.
kiln tune add --json | grep cache_ | sort -u
kiln tune add --json | grep -E '"cache_(hits|misses)": [2-9]|"cache_misses"' | sort -u
