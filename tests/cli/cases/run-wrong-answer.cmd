# exit 14
kiln run wrong -v forgets
