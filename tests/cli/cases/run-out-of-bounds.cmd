# exit 12
kiln run wrong -v beyond
