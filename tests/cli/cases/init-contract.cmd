# The contract of a draft: a trial run with an odd size decides whether another kernel must handle all sizes.
cat >sizes.cu <<'X'
extern "C" __global__ void all_sizes(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i];
}
extern "C" __global__ void outside(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i];
}
extern "C" __global__ void quads(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i + 3 < n)
        for (int k = 4 * i; k < 4 * i + 4; k++)
            y[k] = 2 * x[k];
}
X
for kernel in all_sizes outside quads; do
    kiln init sizes.cu -k $kernel -o $kernel.yaml >/dev/null
    sed -n '/^judge:/,/^$/p' $kernel.yaml
    kiln judge ./$kernel.yaml -c sizes.cu -d sim | head -1
done
# a kernel for whole quads is no right one where the contract has all sizes
sed 's/all_sizes/unused/; s/quads/all_sizes/' sizes.cu >other.cu
kiln judge ./all_sizes.yaml -c other.cu -d sim | head -1
# The trial of an odd size does not end.
cat >slow.cu <<'X'
__global__ void slow(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (long k = 0; k < (n % 2 ? 1L << 40 : 1); k++)
        sum = sum * 0.5f + x[i < n ? i : 0];
    if (i < n)
        y[i] = sum;
}
X
kiln init slow.cu -o slow.yaml >/dev/null
sed -n '/^judge:/,/^$/p' slow.yaml
