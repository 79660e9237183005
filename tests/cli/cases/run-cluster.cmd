# exit 18
# Clusters run and are checked on the simulated device. A device without clusters refuses them as unsupported.
for size in 4 16; do
    kiln run "$SPECS/cluster.yaml" -v together -p SIZE=$size || exit
done
kiln check "$SPECS/cluster.yaml" -v together || exit
cp "$SPECS/add.cu" .
sed 's/launch: {kernel: add, /&cluster: [2], /; s/N: 300/N: 64/' "$SPECS/add.yaml" >add.yaml
kiln run ./add.yaml --device sim:a100
