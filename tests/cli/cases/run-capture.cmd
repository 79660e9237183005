# A captured run is a spec of its own: it needs only its folder, and every variant can run on it and be tuned.
cp "$SPECS/add.cu" "$SPECS/add.yaml" .
kiln run ./add.yaml -v wide -p BLOCK=64 -p ITEMS=4 -s prime --capture out/of/here --no-measure || exit
kiln run ./add.yaml --capture out/of/here --json | grep captured
rm add.cu add.yaml
ls -A out/of/here out/of/here/add-000
cat out/of/here/add-000/add.yaml
kiln run out/of/here/add-000/add.yaml --no-measure
kiln run out/of/here/add-000/add.yaml -v plain --no-measure | grep answer
kiln tune out/of/here/add-000/add.yaml --no-store | head -3
