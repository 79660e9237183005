# exit 12
KILN_SIM_STEPS=100000 kiln run "$SPECS/endless/spin.yaml" -p BLOCK=32
