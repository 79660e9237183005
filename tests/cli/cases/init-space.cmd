# The values that a recorded space has.
cat > add.cu <<'X'
__global__ void add(float *c, const float *a, const float *b, int n)
{
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
X
cat > add.json <<'X'
{"device_name": "GPU", "kernel_name": "add", "problem_size": 1000, "tune_params_keys": ["block_size_x"],
 "tune_params": {"block_size_x": [32, 96, 128]}, "objective": "time",
 "cache": {"32": {"block_size_x": 32, "time": 3.0, "times": [3.0], "compile_time": 1, "verification_time": 0, "benchmark_time": 1, "strategy_time": 0, "framework_time": 0, "timestamp": "2024-01-01"},
           "96": {"block_size_x": 96, "time": 2.0, "times": [2.0], "compile_time": 1, "verification_time": 0, "benchmark_time": 1, "strategy_time": 0, "framework_time": 0, "timestamp": "2024-01-01"},
           "128": {"block_size_x": 128, "time": 1.0, "times": [1.0], "compile_time": 1, "verification_time": 0, "benchmark_time": 1, "strategy_time": 0, "framework_time": 0, "timestamp": "2024-01-01"}}}
X
kiln init add.cu --space add.json > add.yaml && grep -A 1 '^params' add.yaml && kiln tune add.yaml | grep configurations
