# exit 15
kiln run add -p BLOCK=128 -p ITEMS=2
