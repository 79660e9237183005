# A recorded space is searched without a device: two strategies, the score, and errors.
cat > space.json <<'END'
{"kernel_name": "k", "device_name": "A", "tune_params_keys": ["x", "y"], "cache": {
"1,1": {"x": 1, "y": 1, "time": 4.0, "compile_time": 100, "benchmark_time": 40},
"1,2": {"x": 1, "y": 2, "time": 2.0, "compile_time": 100, "benchmark_time": 20},
"2,1": {"x": 2, "y": 1, "time": "RuntimeFailedConfig", "compile_time": 100},
"2,2": {"x": 2, "y": 2, "time": 1.0, "compile_time": 100, "benchmark_time": 10},
END
gzip -n space.json
kiln tune --replay space.json.gz --strategy exhaustive --max-configurations 4
kiln tune --replay space.json.gz --strategy random --seed 1 -m 2 --json
kiln compare-strategies space.json.gz --seeds 2 --strategies exhaustive --plot plot.gp
grep -c . plot.gp
for bad in "tune" "tune matmul --strategy isl" "tune matmul --replay space.json.gz" "tune --replay none.json" \
    "tune --replay plot.gp" "tune --replay space.json.gz --strategy gentic" "compare-strategies"; do
    kiln $bad
    echo "exit $?"
done
