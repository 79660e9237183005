# exit 2
kiln check add --device h200 -q | tail -1
kiln check add --device cuda:0
