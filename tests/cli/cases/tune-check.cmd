# exit 1
# The winners are checked in the same run, and the totals say what was not checked.
kiln tune add --check -p ITEMS=1 -v plain --no-store | sed -n '/^  checked  /p; /^  not checked  /p'
kiln tune add --check -p ITEMS=1 -v plain --no-store >/dev/null; echo "exit code $?"
kiln tune add -d sim:h200 --check -p ITEMS=1 -v plain -s N=100 --no-store | sed -n '/^  checked  /p'
kiln tune race -v hasty --no-verify --check --no-store --json >sweep.json; echo "exit code $?"
# The checks must not take the command's right to write files.
kiln tune add --check -p ITEMS=1 -v plain --no-store --csv rows.csv >/dev/null; echo "exit code $?, $(grep -c plain rows.csv) rows"
python3 -c "
import json
check = json.load(open('sweep.json'))['check']
print(check['sizes'], check['configurations'], check['failed'], [f['kind'] for f in check['findings']])"
kiln tune add --check --replay recorded.json; echo "exit code $?"
sed -e 's/^name: .*/name: large/' -e '/^sizes:/,/^buffers:/c where: [N > 400]\nsizes: {default: {N: 500}, tiny: {N: 100}}\nbuffers:' $SPECS/add.yaml >large.yaml
cp $SPECS/add.cu .
kiln tune large.yaml -v plain -p ITEMS=1 -p BLOCK=64 -s default --check --no-store | sed -n '/^  checked  /p; /^Not checked/,$p'
kiln tune race -v hasty -p BLOCK=64 --no-verify --check --no-store | sed -n '/checked  /,$p'
kiln tune race -v hasty -p BLOCK=64 --no-verify --check --no-store >/dev/null
