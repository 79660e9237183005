# exit 4
kiln run add -p BLOK=32
