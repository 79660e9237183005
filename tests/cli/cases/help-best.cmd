kiln best --help
