# exit 2
kiln frobnicate
