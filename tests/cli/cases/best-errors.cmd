# exit 3
# Each error is reported with its place.
kiln best
kiln best add --export a.yaml b
kiln best --export a.yaml
kiln best add --store nowhere.db
kiln tune add --variants plain -p BLOCK=32 -p ITEMS=1 -q > /dev/null
kiln best --export a.yaml add -v wide --device nvidia || echo "exit $?"
kiln best --export a.yaml --device nvidia --json
ls a.yaml 2>/dev/null
kiln best add --known nowhere.yaml
kiln best add -v plain -s M=3
printf 'kiln-best: 1\nbest:\n- spec: add\n  devise: A\n' > known.yaml
kiln best add --known known.yaml
printf 'kiln-best: 1\nbest: [\n' > known.yaml
kiln best add --known known.yaml
