# needs python3
# Names, values and messages that look like markup or code are text, in the page and in its data.
mkdir vega && echo > vega/vega.min.js
export KILN_VEGA=vega
kiln tune add -v wide >/dev/null
kiln results export all.csv >/dev/null
python3 - <<'END'
import csv
with open("all.csv", newline="") as file:
    rows = list(csv.DictReader(file))
bad = '</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> ]]> " \' & \\u003c &lt; \x7f'
for number, row in enumerate(rows):
    row["spec"] = "<img src=x onerror=alert(1)>"
    row["nvrtc"] = "\\input{/etc/passwd}} %~^$ @string"
    row["variant"] = row["device"] = row["driver"] = row["run"] = row["host"] = row["command"] = bad
    row["metrics"] = f"</script><b>={number} =3 x={2 - number} ' \"=nan"
    row["host_seconds"] = (1 + number) * 1e-6  # so one of them has the best of both
    if number == 0:
        row["status"], row["message"] = "9", bad
with open("bad.csv", "w", newline="") as file:
    out = csv.DictWriter(file, rows[0].keys())
    out.writeheader()
    out.writerows(rows)
END
kiln results import bad.csv --store bad.db
spec='<img src=x onerror=alert(1)>'
kiln report "$spec" --store bad.db -o bad.html >/dev/null && python3 "$TOOLS/page.py" bad.html
grep -A 8 '@misc' bad.html | grep -E '^ +(title|note)' # no brace, backslash or % of theirs is TeX's
kiln report "$spec" --store bad.db --gnuplot bad && grep -h 'set title' bad/*.gp
cat > space.json <<'END'
{"kernel_name": "</script><b>", "device_name": "<i>&", "tune_params_keys": ["</td><script>", "y"], "cache": {
"a": {"</td><script>": "</script>", "y": "<!--", "time": 4.0},
"b": {"</td><script>": "'\"", "y": "<!--", "time": "</pre><script>"}
}}
END
kiln report --replay space.json -o replay.html >/dev/null && python3 "$TOOLS/page.py" replay.html | tail -3
