// spec: gather
// Right: four indices a load with a tail; a thread outside the work leaves at once.
extern "C" __global__ void gather(const float *x, const int4 *at, float4 *y, int n, int m)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n / 4) {
        const int4 k = at[i];
        float4 v = make_float4(0, 0, 0, 0);
        if ((unsigned)k.x < (unsigned)m)
            v.x = x[k.x];
        if ((unsigned)k.y < (unsigned)m)
            v.y = x[k.y];
        if ((unsigned)k.z < (unsigned)m)
            v.z = x[k.z];
        if ((unsigned)k.w < (unsigned)m)
            v.w = x[k.w];
        y[i] = v;
    } else if (i < n / 4 + n % 4) {
        const int last = n / 4 * 3 + i; // n / 4 * 4 + (i - n / 4)
        const int k = ((const int *)at)[last];
        ((float *)y)[last] = (unsigned)k < (unsigned)m ? x[k] : 0.0f;
    }
}
