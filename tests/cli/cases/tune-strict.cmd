# exit 14
# With --strict, any failed configuration makes the command fail.
kiln tune wrong --variants right,forgets --no-store | sed -n '/^Failed/,/^$/p'
kiln tune wrong --variants right --no-store --strict | grep '^  configurations'
kiln tune wrong --variants right,forgets --no-store --strict >/dev/null
