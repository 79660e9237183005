# exit 7
kiln run add --device cuda:77
