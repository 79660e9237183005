# exit 12
# A kernel that does not end: the loop, and for what its lanes wait.
for variant in flag lock barrier mbarrier; do
    KILN_SIM_STEPS=200000 kiln run "$SPECS/endless/waits.yaml" -v $variant
done
