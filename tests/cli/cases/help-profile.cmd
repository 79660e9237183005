kiln profile --help
