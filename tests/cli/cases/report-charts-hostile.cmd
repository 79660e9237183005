# needs node
# needs python3
# needs /usr/share/javascript/vega
# Names that look like markup, code or paths are text in the charts, and no paths of files.
cat > space.json <<'END'
{"kernel_name": "</script><b>", "device_name": "../../<i>&", "tune_params_keys": ["</text><script>", "../y", "__proto__"], "cache": {
"a": {"</text><script>": "</script>", "../y": "datum.x", "__proto__": 1, "time": 4.0},
"b": {"</text><script>": "'\"\n", "../y": "</svg><script>alert(1)</script>", "__proto__": 2, "time": 2.0},
"c": {"</text><script>": "\u2028`${process.exit(7)}`", "../y": "datum.x", "__proto__": 3, "time": 1.0}
}}
END
kiln report --replay space.json --charts figures
ls . figures
python3 "$TOOLS/svg.py" figures/*.svg
grep -l 'process.exit(7)' figures/*.svg
