# needs python3
# The page of a recorded space, all of it and as a strategy searches it.
cat > space.json <<'END'
{"kernel_name": "k", "device_name": "A", "tune_params_keys": ["x", "y"], "cache": {
"1,1": {"x": 1, "y": 1, "time": 4.0, "compile_time": 100, "benchmark_time": 40},
"1,2": {"x": 1, "y": 2, "time": 2.0, "compile_time": 100, "benchmark_time": 20},
"2,1": {"x": 2, "y": 1, "time": "RuntimeFailedConfig", "compile_time": 100},
"2,2": {"x": 2, "y": 2, "time": 1.0, "compile_time": 100, "benchmark_time": 10}
}}
END
mkdir vega && echo > vega/vega.min.js
kiln report --replay space.json --vega vega
python3 "$TOOLS/page.py" report.html
kiln report --replay space.json --vega vega/vega.min.js --strategy random --seed 1 -m 2 -o two.html
python3 "$TOOLS/page.py" two.html | grep ^A
KILN_VEGA=none kiln compare-strategies space.json --plot scores.html
KILN_VEGA=vega kiln compare-strategies space.json --seeds 2 --strategies exhaustive,random --plot scores.html >/dev/null
python3 "$TOOLS/page.py" scores.html
