kiln list --help
