kiln compare-strategies --help
