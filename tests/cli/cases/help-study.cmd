kiln study --help
