# exit 11
kiln run wrong -v huge
