// spec: axpby   expect: state
// The counter is a static variable of a function.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    static __device__ unsigned turn;
    const unsigned now = atomicAdd(&turn, 1);
    if (now > 1000000u && i < n) {
        z[i] = 0;
        return;
    }
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
