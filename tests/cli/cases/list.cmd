# kiln list may also find the installed specs and the specs of the build, which are in other folders.
kiln list --quiet | grep -E '^(name|add|wrong) '
kiln list --quiet --all | grep '^add '
kiln list --names --log-level none | grep -E '^(add|wrong)$'
kiln list --json -q | grep -A2 '"name": "add"'
