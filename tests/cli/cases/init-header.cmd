# A header, a namespace, a name that #if tests, __launch_bounds__; from another folder.
mkdir -p src
cp "$SPECS/init/blur.cu" "$SPECS/init/help.h" src
kiln init src/blur.cu | grep -v '^#'
kiln init src/blur.cu -o src/blur.yaml && grep '^source' src/blur.yaml && kiln tune src/blur.yaml -p FAST=0 -m 4 | grep configurations
kiln init src/blur.cu --json | head -n 2 | cut -c 1-60
