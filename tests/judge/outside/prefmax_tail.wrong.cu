// spec: prefmax
// Wrong: the part of a thread is N / 256 rounded down, so the last N % 256 elements are not written.
extern "C" __global__ void prefmax(const float *x, float *y, int n)
{
    __shared__ float part[256];
    const int t = threadIdx.x, each = n / 256, from = t * each, to = min(n, from + each);
    float v = -INFINITY;
    for (int i = from; i < to; i++)
        v = fmaxf(v, x[i]);
    part[t] = v;
    __syncthreads(); // parts
    float lead = -INFINITY;
    for (int k = 0; k < t; k++)
        lead = fmaxf(lead, part[k]);
    for (int i = from; i < to; i++) {
        lead = fmaxf(lead, x[i]);
        y[i] = lead;
    }
}
