# needs terminal
# needs bash
# needs python3
# Completion in an interactive bash: each completed word arrives unchanged as an argument, and no part of it runs.
PROFILE="$SPECS/../../../specs/devices/h200.profile" python3 "$TOOLS/complete.py" bash
