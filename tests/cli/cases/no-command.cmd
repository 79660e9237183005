# exit 2
kiln
