# needs terminal
# needs python3
# Colours on a terminal that has them, and only there; help as wide as the terminal.
python3 "$SPECS/../terminal.py" 80 TERM=xterm kiln list -q | grep 'title'
python3 "$SPECS/../terminal.py" 80 TERM=dumb kiln list -q | grep 'title'
python3 "$SPECS/../terminal.py" 80 TERM=xterm NO_COLOR=1 kiln list -q | grep 'title'
python3 "$SPECS/../terminal.py" 60 TERM=dumb kiln help man | sed -n 3,4p
# The progress line: drawn over itself, no wider than the terminal, gone at the end; none where it is not wanted.
python3 "$SPECS/../terminal.py" 50 TERM=xterm kiln tune "$SPECS/endless/many.yaml" -m 60 --no-verify >out
tr '>' '\n' <out | sed -n 's/<ESC$//p' | awk 'length($0) > 49 { print "too wide: " $0 }'
grep -c '^<CR>0/60<ESC>\[K' out
grep -c '<CR><ESC>\[K<ESC>\[1mmany' out
python3 "$SPECS/../terminal.py" 50 TERM=xterm kiln tune add -q >out
grep -c '<CR>' out
python3 "$SPECS/../terminal.py" 50 TERM=dumb kiln tune add >out
grep -c '<CR>' out
:
# A table that is wider than the terminal: no line is, and no value is broken. Params that all rows share stand above it.
cp "$SPECS/add.cu" .
sed '/  plain:/,/  wide:/s/ITEMS: \[1, 2\]}/ITEMS: [1, 2], FIRST_LONG_NAME: [1000000, 1000001], SECOND_LONG_NAME: [2000000, 2000001], THE_THIRD: [3]}/' \
    "$SPECS/add.yaml" >long.yaml
for columns in 80 60; do
    python3 "$SPECS/../terminal.py" $columns TERM=dumb kiln tune long.yaml -v plain -q --no-store --top 40 >out
    sed -n '/configuration/,/^$/p' out | awk -v most=$columns 'length($0) > most { print "too wide: " $0 }'
    grep -c ' in all rows: THE_THIRD=3' out
    grep -oE '(FIRST|SECOND)_LONG_NAME=[0-9]+' out | sort -u
    grep -c 'THE_THIRD' out
done
kiln tune long.yaml -v plain -q --no-store --top 40 | grep -c 'FIRST_LONG_NAME=1000000 SECOND_LONG_NAME=2000000$'
