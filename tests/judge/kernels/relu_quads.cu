// spec: relu
// wrong reads-past: i + 3 < n => i < n
// wrong no-tail: for (int k = i; k < n; k++) => for (int k = i; k < 0; k++)
// wrong component: v.z = v.z < 0 ? 0 : v.z => v.z = v.y < 0 ? 0 : v.z
// wrong tail-by-one: k = i; k < n => k = i; k < n - 1
// Four elements a thread; the contract gives an alignment of 16 bytes.
extern "C" __global__ void relu(const float *x, float *y, int n)
{
    const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 v = *(const float4 *)(x + i);
        v.x = v.x < 0 ? 0 : v.x;
        v.y = v.y < 0 ? 0 : v.y;
        v.z = v.z < 0 ? 0 : v.z;
        v.w = v.w < 0 ? 0 : v.w;
        *(float4 *)(y + i) = v;
    } else {
        for (int k = i; k < n; k++)
            y[k] = x[k] < 0 ? 0 : x[k];
    }
}
