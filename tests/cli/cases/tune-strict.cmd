# exit 14
# Any failure is one of the command.
kiln tune wrong --variants right,forgets --no-store | sed -n '/^Failed/,/^$/p'
kiln tune wrong --variants right --no-store --strict | grep '^  configurations'
kiln tune wrong --variants right,forgets --no-store --strict >/dev/null
