# A broken spec in the search path is a warning, not the end of the list.
kiln list -I "$SPECS/broken" | grep -E '^(slip|add) '
kiln list -I "$SPECS/broken" -q >/dev/null
