# exit 1
kiln check race -v hasty
