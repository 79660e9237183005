# exit 3
kiln show "$SPECS/broken/slip.yaml" --json
