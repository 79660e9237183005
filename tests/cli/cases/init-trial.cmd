# A trial that shows a guess to be too small is made again with more: shared memory, an array that blocks in the middle go
# past. After a fault there is a context for the next.
cat >trial.cu <<'X'
#ifndef BLOCK
#define BLOCK 64
#endif
__device__ int begin(int tile) { return blockIdx.x * tile; }
extern "C" __global__ void shared_more(const float *x, float *y, int n)
{
    extern __shared__ float s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 5; k++)
        s[k * blockDim.x + threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n)
        y[i] = s[4 * blockDim.x + threadIdx.x];
}
extern "C" __global__ void hidden_place(const float *x, float *y, float *sums, int n)
{
    int i = begin(BLOCK) + threadIdx.x;
    if (i < n)
        y[i] = x[i];
    if (threadIdx.x == 0)
        sums[blockIdx.x] = 1;
}
X
for kernel in shared_more hidden_place; do
    echo "$kernel:"
    kiln init trial.cu -k $kernel -o $kernel.yaml >/dev/null
    grep -E "trial run|went past|more than half|did not write" $kernel.yaml
    kiln run ./$kernel.yaml -s tiny | grep -c answer
done
