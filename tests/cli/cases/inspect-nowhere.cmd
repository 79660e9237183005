# exit 5
kiln inspect add --ptx=/nowhere/add.ptx
