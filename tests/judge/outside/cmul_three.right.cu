// spec: cmul
// Right: three products in place of four, in double precision; half of the threads have two numbers each.
extern "C" __global__ void cmul(const float2 *a, const float2 *b, float2 *y, int n)
{
    for (int i = (blockIdx.x * 256 + threadIdx.x) * 2, k = 0; k < 2 && i < n; k++, i++) {
        const double r = a[i].x, s = a[i].y, u = b[i].x, v = b[i].y;
        const double p = r * u, q = s * v;
        y[i] = make_float2((float)(p - q), (float)((r + s) * (u + v) - p - q));
    }
}
