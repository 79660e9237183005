# Specs of other folders may be found too: what is installed, what the build has.
kiln list --quiet | grep -E '^(name|add|wrong) '
kiln list --quiet --all | grep '^add '
kiln list --names --log-level none | grep -E '^(add|wrong)$'
kiln list --json -q | grep -A2 '"name": "add"'
