# A first run that takes too many steps: kiln tries smaller sizes.
cat >slow.cu <<'X'
__global__ void slow(const float *a, float *b, int M, int N, int K, int L)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M)
        return;
    float sum = 0;
    for (int n = 0; n < N; n++)
        for (int k = 0; k < K; k++)
            for (int l = 0; l < L; l++)
                sum += a[n * K + k] * l;
    b[row] = sum + row;
}
X
kiln init slow.cu -o slow.yaml && sed -n '/^sizes/,/^$/p; /^buffers/,/^$/p' slow.yaml
# A size that nothing uses is not written.
echo '__global__ void fixed(float *x) { x[threadIdx.x] = 2 * threadIdx.x; }' >fixed.cu
kiln init fixed.cu -o fixed.yaml && sed -n '/^sizes/,/^$/p; /^judge/,/^$/p' fixed.yaml && kiln tune fixed.yaml -s tiny -q | grep configurations
