// spec: conv3
// Right: addresses are clamped into the image, and values outside it are replaced by 0.
extern "C" __global__ void conv3(const float *x, const float *w, float *y, int rows, int columns)
{
    const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) {
        float all = 0;
#pragma unroll
        for (int k = 0; k < 9; k++) {
            const int rr = r + k / 3 - 1, cc = c + k % 3 - 1;
            const float v = __ldg(x + min(max(rr, 0), rows - 1) * columns + min(max(cc, 0), columns - 1));
            all = fmaf(__ldg(w + k), (unsigned)rr < (unsigned)rows && (unsigned)cc < (unsigned)columns ? v : 0.0f, all);
        }
        y[(size_t)r * columns + c] = all;
    }
}
