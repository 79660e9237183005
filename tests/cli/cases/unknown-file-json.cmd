# exit 4
kiln run --json ./none.yaml
