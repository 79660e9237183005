# exit 18
kiln cache list --no-cache
