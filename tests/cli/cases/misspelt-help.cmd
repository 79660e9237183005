# exit 2
kiln help rnu
