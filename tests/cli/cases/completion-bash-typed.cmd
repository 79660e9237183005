# needs terminal
# needs bash
# needs python3
# Typed into an interactive bash: what is completed arrives as it is written, and nothing of it runs.
PROFILE="$SPECS/../../../specs/devices/h200.profile" python3 "$TOOLS/complete.py" bash
