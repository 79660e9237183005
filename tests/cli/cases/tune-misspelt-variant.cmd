# exit 4
kiln tune add --variants plain,wied
