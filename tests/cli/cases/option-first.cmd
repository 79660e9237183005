# exit 2
kiln --json list
