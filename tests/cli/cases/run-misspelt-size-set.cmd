# exit 4
kiln run add -s tinny
