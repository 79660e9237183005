# Two specs of one name are kept apart by their files. A copy takes what is the same in it, and is found by its own path.
mkdir mine copy third named
for folder in mine copy third named; do cp "$SPECS/add.cu" "$SPECS/add.yaml" $folder/; done
export KILN_PATH=$PWD/named
sed 's/^  prime: .*/  prime: {N: 131}/' "$SPECS/add.yaml" >mine/add.yaml
samples() { kiln results "$@" | sed -n 's/ in .*//p'; }
kiln tune mine/add.yaml -v wide -s prime >/dev/null
samples copy/add.yaml # there is only one other
kiln tune add -s prime >/dev/null
echo "two files:"
samples mine/add.yaml
samples add
samples named/add.yaml -v wide
samples copy/add.yaml # which of the two?
kiln best mine/add.yaml -s prime | sed -n 's/.*\(N=[0-9]*\).*/\1/p' | head -1
kiln report mine/add.yaml --json | grep samples
kiln results | sed -E 's|  +Kiln.*  /|  /|'
echo "taken:"
kiln tune copy/add.yaml -v wide -s prime >/dev/null
samples copy/add.yaml
samples add
kiln results copy/add.yaml --json | grep -c '/run/copy/add.yaml'
kiln results export all.csv && kiln results import all.csv --store other.db
samples mine/add.yaml --store other.db
echo "removed, moved:"
kiln results prune third/add.yaml
kiln results prune mine/add.yaml
mv copy moved
samples moved/add.yaml
