kiln results --help
