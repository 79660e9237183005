# needs terminal
# needs python3
# What a terminal would obey is shown, wherever it comes from; JSON has it exactly.
LC_ALL=C.UTF-8 PROFILE="$SPECS/../../../specs/devices/h200.profile" python3 "$TOOLS/hostile.py"
