// spec: axpby
// wrong no-tail: i < n % 4 => i < 0
// wrong tail-too-long: wide ? i < n % 4 => wide ? i < 4
// wrong alignment-of-one: ((size_t)x | (size_t)y | (size_t)z) => ((size_t)x)
// wrong component: a * p.w + b * q.w => a * p.w + b * q.z
// wrong tail-place: 4 * quads + i => 3 * quads + i
// Words of 16 bytes where all three buffers allow them, and single elements elsewhere.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool wide = (((size_t)x | (size_t)y | (size_t)z) & 15) == 0;
    const int quads = wide ? n / 4 : 0;
    if (i < quads) {
        const float4 p = ((const float4 *)x)[i], q = ((const float4 *)y)[i];
        ((float4 *)z)[i] = make_float4(a * p.x + b * q.x, a * p.y + b * q.y, a * p.z + b * q.z, a * p.w + b * q.w);
    }
    if (wide ? i < n % 4 : i < n) {
        const int at = 4 * quads + i;
        z[at] = a * x[at] + b * y[at];
    }
}
