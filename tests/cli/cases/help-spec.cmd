kiln spec --help
