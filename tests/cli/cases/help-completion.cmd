kiln completion --help
