kiln version --help
