# exit 3
kiln run "$SPECS/broken/slip.yaml"
