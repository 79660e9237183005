# exit 2
kiln run add -z
