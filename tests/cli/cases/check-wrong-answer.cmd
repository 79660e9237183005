# exit 14
kiln check wrong -v forgets
