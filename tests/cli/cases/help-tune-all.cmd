kiln tune --help-all
