// spec: relu
// wrong loses-nan: !(value < 0.0f) => value >= 0.0f
// wrong saturates: !(value < 0.0f) ? value : 0.0f => __saturatef(value)
// wrong leaky: value : 0.0f => value : 0.01f * value
// wrong threshold: value < 0.0f => value < 0.001f
// wrong absolute: !(value < 0.0f) ? value : 0.0f => fabsf(value)
// wrong clips: ? value : => ? fminf(value, 6.0f) :
// wrong bound: i < n; => i < (n & ~1);
// The comparison is false for NaN, which stays.
extern "C" __global__ void relu(const float *x, float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float value = x[i];
        y[i] = !(value < 0.0f) ? value : 0.0f;
    }
}
