kiln tune --help
