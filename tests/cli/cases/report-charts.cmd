# needs node
# needs python3
# needs rsvg-convert
# needs /usr/share/javascript/vega
# Every chart as a file, drawn by Vega outside a browser: SVG, and PNG of it.
kiln tune add --device sim:h200 >/dev/null
kiln report add --charts figures --png
ls figures
python3 "$TOOLS/svg.py" figures/*.svg
head -c 8 figures/1-best.png | od -An -c
kiln report add -v wide --charts wide --json
PATH=$(dirname "$(command -v kiln)") kiln report add --charts none
echo "exit $?"
kiln report add --png
kiln report add --charts a -o b.html
touch file && kiln report add --charts file
echo "exit $?"
