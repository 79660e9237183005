# needs python3
# The page of a sweep: its parts, its tables, its data. The Vega of this case draws nothing, because other cases test
# the charts.
mkdir vega && echo '/* "</script><!--" */' > vega/vega.min.js
export KILN_VEGA=vega
kiln tune add --no-early-stop >/dev/null
kiln tune add -s prime --no-early-stop >/dev/null
kiln report add
python3 "$TOOLS/page.py" report.html
grep -A 3 '<dt>command' report.html | sed 's/>kiln tune add/>COMMAND&/' | grep -c COMMAND
sed -n '/@misc/,/^}/p' report.html | sed 's/[0-9][0-9.]*/N/g'
kiln report add -s N=127 -v wide -o small.html --json | grep -v bytes
python3 "$TOOLS/page.py" small.html | tail -2
kiln report "$SPECS/add.yaml" -o - --device sim > same.html && cmp report.html same.html
kiln tune wrong >/dev/null
kiln report wrong -o wrong.html && python3 "$TOOLS/page.py" wrong.html | grep -E 'failure|samples'
ls
