# exit 5
kiln run add --output z=/nowhere/z.npy -s N=4
