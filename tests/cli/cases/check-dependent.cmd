# exit 1
kiln check dependent
