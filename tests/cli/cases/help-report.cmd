kiln report --help
