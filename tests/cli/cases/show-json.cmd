kiln show add --json
