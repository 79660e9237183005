kiln show add
kiln show add -v wide
kiln show add --names
kiln show add --only sizes
kiln show add --only params -v wide
