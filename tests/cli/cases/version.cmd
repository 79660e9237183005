kiln version
kiln --version
kiln version --json
