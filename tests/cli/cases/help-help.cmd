kiln help --help
