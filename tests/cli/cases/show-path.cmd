kiln show "$SPECS/add.yaml" -v plain -p BLOCK=64
