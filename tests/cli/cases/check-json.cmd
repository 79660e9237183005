# exit 1
kiln check race --json -v hasty -p BLOCK=64
