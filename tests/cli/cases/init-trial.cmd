# If a trial shows that a guess is too small, kiln init repeats it with a larger one: for shared memory, or for an array
# whose end the blocks in the middle pass. After a fault the next trial has a new context.
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
