# exit 4
kiln show add -v plian
