# exit 3
kiln show slip --json
