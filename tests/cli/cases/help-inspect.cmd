kiln inspect --help
