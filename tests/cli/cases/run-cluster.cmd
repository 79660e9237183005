# exit 18
# Clusters are not on the simulated device: unsupported, not broken.
cp "$SPECS/add.cu" .
sed 's/launch: {kernel: add, /&cluster: [2], /; s/N: 300/N: 64/' "$SPECS/add.yaml" >add.yaml
kiln run ./add.yaml
