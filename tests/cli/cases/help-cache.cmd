kiln cache --help
