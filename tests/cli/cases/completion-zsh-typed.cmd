# needs terminal
# needs zsh
# needs python3
# Typed into an interactive zsh: what is completed arrives as it is written, and nothing of it runs.
PROFILE="$SPECS/../../../specs/devices/h200.profile" python3 "$TOOLS/complete.py" zsh
