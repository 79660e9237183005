# exit 2
kiln run --json --params X=1 add
