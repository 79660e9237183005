# exit 15
kiln tune add -p BLOCK=33
