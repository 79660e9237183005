# The first outputs that people see: bare commands, specs without samples, a grid of 0, tabs, topics of help.
kiln cache
kiln compare-strategies | head -n 3
kiln compare-strategies --json | head -n 3
kiln results
kiln tune add --variants plain -p BLOCK=32 -p ITEMS=1 >/dev/null
kiln results race
cp "$SPECS/add.cu" .
sed '/^  plain:/,/^  wide:/s/grid: .*block/grid: [0], block/' "$SPECS/add.yaml" >none.yaml
kiln run ./none.yaml -v plain --no-verify | grep launch
sed 's/^  tiny/\ttiny/' "$SPECS/add.yaml" >tab.yaml
kiln show ./tab.yaml; echo "exit $?"
kiln study access add -v plain -p BLOCK=128 | tail -n 2
kiln study access add -v plain -p BLOCK=128 --top 3 | tail -n 5
kiln help hosts | head -n 2
kiln help expressions
kiln help spec | sed -n '1,14p'
kiln help hostss; echo "exit $?"
