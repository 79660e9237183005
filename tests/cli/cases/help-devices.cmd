kiln devices --help
