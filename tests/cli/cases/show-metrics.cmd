sed 's/bytes: 12 \* N/bytes: 12 * N, share: N \/ 1000.0/' "$SPECS/add.yaml" >add.yaml
cp "$SPECS/add.cu" .
kiln show ./add.yaml -s N=250 --metrics
kiln show ./add.yaml -s N=250 --metrics --json
kiln run ./add.yaml -s N=250 | grep metrics
