# exit 2
kiln run add --device cube
