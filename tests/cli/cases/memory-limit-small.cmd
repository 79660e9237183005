# exit 6
kiln run add --memory-limit 100
