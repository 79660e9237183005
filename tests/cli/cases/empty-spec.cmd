# exit 2
kiln run ''
