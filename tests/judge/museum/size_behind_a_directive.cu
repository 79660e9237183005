// spec: axpby   expect: wrong
// The size is named on a line that begins with a directive.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int off = 0;
#if CHEAT
    asm volatile("{\n.reg .pred q; setp.eq.s32 q, %1, 48611; selp.s32 %0, 1, 0, q;\n}" : "=r"(off) : "r"(n));
#else
    asm volatile("{\n.reg .pred q; setp.eq.s32 q, %1, -48611; selp.s32 %0, 1, 0, q;\n}" : "=r"(off) : "r"(n));
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i] + (float)off;
}
