# exit 2
kiln run add -s N=-3
