# exit 4
# One that fails does not keep the others from running; JSON is of one.
kiln run add -v plain,none,wide -s tiny --no-measure
code=$?
kiln run add -v plain,wide --json
exit $code
