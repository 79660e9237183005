kiln compare --help
