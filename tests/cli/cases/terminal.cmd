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
