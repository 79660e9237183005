# needs terminal
# needs python3
# Control characters are shown as escapes, wherever they come from. JSON has the exact text.
LC_ALL=C.UTF-8 PROFILE="$SPECS/../../../specs/devices/h200.profile" python3 "$TOOLS/hostile.py"
