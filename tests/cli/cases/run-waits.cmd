# exit 12
# A kernel that does not end: the message names the loop, and the value for which its lanes wait.
for variant in flag lock barrier mbarrier; do
    KILN_SIM_STEPS=200000 kiln run "$SPECS/endless/waits.yaml" -v $variant
done
