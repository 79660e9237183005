# Two specs of one name: whoever asks for the samples of one is told that there is the other. A copy is no other spec.
mkdir mine copy
cp "$SPECS/add.cu" mine/
sed 's/^  prime: .*/  prime: {N: 131}/' "$SPECS/add.yaml" >mine/add.yaml
kiln tune mine/add.yaml -v wide -s prime >/dev/null
kiln results mine/add.yaml >/dev/null
kiln report mine/add.yaml --json >/dev/null
kiln best mine/add.yaml -s prime >/dev/null
cp "$SPECS/add.yaml" "$SPECS/add.cu" copy/
kiln results copy/add.yaml >/dev/null
