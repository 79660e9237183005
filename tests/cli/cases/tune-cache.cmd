# The second time nothing is compiled.
kiln tune add --no-store --json | grep cache_ | sort -u
kiln tune add --no-store --json | grep -E '"cache_(hits|misses)": [2-9]|"cache_misses"' | sort -u
