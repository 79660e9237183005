# exit 1
kiln run wrong -v beyond --check
