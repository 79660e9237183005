// spec: prefmax
// Wrong: only the first 32768 elements are written.
extern "C" __global__ void prefmax(const float *x, float *y, int n)
{
    __shared__ float tops[8];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    float before = -INFINITY;
    for (int first = 0; first < min(n, 32768); first += 256) {
        float v = first + t < n ? x[first + t] : -INFINITY;
        for (int step = 1; step < 32; step *= 2)
            v = fmaxf(v, __shfl_up_sync(0xffffffffu, v, step));
        if (lane == 31)
            tops[warp] = v;
        __syncthreads(); // tops
        float lead = before;
        for (int w = 0; w < warp; w++)
            lead = fmaxf(lead, tops[w]);
        if (first + t < n)
            y[first + t] = fmaxf(lead, v);
        for (int w = 0; w < 8; w++)
            before = fmaxf(before, tops[w]);
        __syncthreads(); // round
    }
}
