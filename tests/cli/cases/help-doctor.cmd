kiln doctor --help
