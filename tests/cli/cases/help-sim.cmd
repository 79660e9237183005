kiln sim --help
