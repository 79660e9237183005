kiln check --help
