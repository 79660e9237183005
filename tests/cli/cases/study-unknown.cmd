# exit 2
kiln study tile add
