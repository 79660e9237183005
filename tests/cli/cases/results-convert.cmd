# exit 3
# Recorded spaces turned into the other format and back.
cat > cache.json <<'JSON'
{"device_name": "A", "kernel_name": "k", "problem_size": "64", "tune_params_keys": ["x"], "tune_params": {"x": [1, 2]},
"objective": "time", "cache": {
"1": {"x": 1, "time": 2.5, "times": [2, 3], "compile_time": 7, "timestamp": "now"},
"2": {"x": 2, "time": "RuntimeFailedConfig", "compile_time": 1}}}
JSON
kiln results convert cache.json out.t4.json
cat out.t4.json
kiln results convert out.t4.json back.json.gz --format kernel-tuner
gzip -dc back.json.gz
kiln tune --replay out.t4.json --json | grep -E '"(kernel|device|configurations|failed)"'
head -c 330 cache.json > cut.json
kiln results convert cut.json whole.json
cat whole.json
kiln results convert cache.json out.csv --format csv
kiln results convert cache.json
kiln results convert cache.json a b
echo '{"cache": {"1": 3}, "tune_params_keys": []}' > bad.json
kiln results convert bad.json bad.t4.json
