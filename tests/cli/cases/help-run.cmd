kiln run --help
