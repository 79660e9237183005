# exit 4
kiln run add -v plian
