# exit 15
kiln run add -p BLOCK=33
