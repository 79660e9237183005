# exit 15
# No configuration satisfies the constraints; and a default that breaks one.
cp "$SPECS/add.cu" .
spec() {
    sed -e 's/^  plain:/&\n    about: x/;/A thread an element/d' -e "s/where: .*/where: [$1]/" "$SPECS/add.yaml" >one.yaml
}
spec 'BLOCK * ITEMS > 64, BLOCK < 100, ITEMS == 3'
kiln tune one.yaml --variants plain; echo $?
kiln tune one.yaml --variants plain -m 4 -q; echo $?
kiln tune one.yaml | grep '^  configurations'; echo $?
kiln show one.yaml -v plain | tail -n 5
spec 'BLOCK > 32'
kiln show one.yaml -v plain | tail -n 3
spec 'N > 10 ** 9'
kiln tune one.yaml --variants plain
