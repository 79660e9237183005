# exit 1
kiln check wrong -v beyond
