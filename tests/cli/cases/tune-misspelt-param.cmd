# exit 4
kiln tune add -p BLOK=32
