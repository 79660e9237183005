# exit 2
kiln tune add --max-sec 3
