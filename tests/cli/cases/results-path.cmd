# A spec by its path, by its name, and by a file's name that is not the spec's: all commands find the same samples.
mkdir here
cp "$SPECS/add.cu" here/
sed 's/^name: add/name: apart/' "$SPECS/add.yaml" >here/other.yaml
kiln tune here/other.yaml -v wide -s N=77 >/dev/null
kiln results here/other.yaml --json | grep -c '"spec": "apart"'
kiln results apart --json | grep -c '"spec": "apart"'
KILN_PATH=here kiln results other --json | grep -c '"spec": "apart"'
kiln results export by-path.csv here/other.yaml >/dev/null && grep -c ,apart, by-path.csv
kiln best --export known.yaml here/other.yaml
kiln best here/other.yaml -s N=77 | sed -n "1s/=[0-9]*/=N/gp"
kiln report here/other.yaml --json | grep '"spec"'
kiln results prune here/other.yaml
kiln results here/other.yaml | sed 's/ in .*//'
kiln results here/none.yaml; echo "exit $?"
