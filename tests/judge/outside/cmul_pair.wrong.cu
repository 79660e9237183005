// spec: cmul
// Wrong: the second number of a pair is not tested; writes past the end if N is odd.
extern "C" __global__ void cmul(const float2 *a, const float2 *b, float2 *y, int n)
{
    for (int i = (blockIdx.x * 256 + threadIdx.x) * 2, k = 0; k < 2 && i - k < n; k++, i++) {
        const double r = a[i].x, s = a[i].y, u = b[i].x, v = b[i].y;
        const double p = r * u, q = s * v;
        y[i] = make_float2((float)(p - q), (float)((r + s) * (u + v) - p - q));
    }
}
