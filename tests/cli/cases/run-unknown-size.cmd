# exit 4
kiln run add -s M=3
