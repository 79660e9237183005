// spec: cmul
// Wrong: two numbers are loaded and stored as 16 bytes, but buffers are aligned to 8.
extern "C" __global__ void cmul(const float *a, const float *b, float *y, int n)
{
    const int i = (blockIdx.x * 256 + threadIdx.x) * 2;
    if (i + 1 < n) {
        const float4 p = *(const float4 *)(a + 2 * i), q = *(const float4 *)(b + 2 * i);
        *(float4 *)(y + 2 * i) = make_float4(p.x * q.x - p.y * q.y, p.x * q.y + p.y * q.x, p.z * q.z - p.w * q.w,
                                             p.z * q.w + p.w * q.z);
    } else if (i < n) {
        y[2 * i] = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
        y[2 * i + 1] = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
    }
}
