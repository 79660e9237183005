# exit 2
kiln check add --device cuda:0
