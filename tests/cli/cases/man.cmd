kiln man | head -n 3
kiln man | grep -c '^.SS kiln '
