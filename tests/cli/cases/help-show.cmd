kiln show --help
