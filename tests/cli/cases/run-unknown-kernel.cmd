# exit 9
# The name of a kernel that the source does not have.
cp "$SPECS/add.cu" .
sed 's/kernel: [a-z_]*/kernel: nowhere/' "$SPECS/add.yaml" >add.yaml
kiln run ./add.yaml
