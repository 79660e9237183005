# exit 4
# If one variant fails, the others still run. --json is for one variant.
kiln run add -v plain,none,wide -s tiny --no-measure
code=$?
kiln run add -v plain,wide --json
exit $code
