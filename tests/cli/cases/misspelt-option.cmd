# exit 2
kiln tune add --max-secnods 3
