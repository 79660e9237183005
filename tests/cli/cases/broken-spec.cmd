# exit 3
kiln run slip
