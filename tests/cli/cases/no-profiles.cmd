# exit 2
# A program that was copied without Kiln's data. (If Kiln is installed, the copy finds the installed data.)
cp "$(readlink -f "$KILN")" alone
unset KILN_PATH
./alone tune "$SPECS/add.yaml" --device sim:sm_90
