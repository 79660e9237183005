# exit 2
kiln sim cover
