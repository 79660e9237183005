kiln man --help
