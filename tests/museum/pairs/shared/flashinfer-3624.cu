//! project: flashinfer
//! number: 3624
//! title: each round of a loop reduces in the same temporary storage without a barrier
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {VOCABULARY: 500}}
//!   buffers:
//!     logits: {type: f32, shape: [VOCABULARY], fill: {uniform: [0, 1]}}
//!     token: {type: i32, shape: [1], out: true}
//!   launch: {kernel: sample, grid: [1], block: [128], args: [logits, token, VOCABULARY]}

struct best { float value; int index; };

__device__ best reduce(best b, best *storage)
{
    storage[threadIdx.x] = b; // BUG
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 1; i < 128; i++)
            if (storage[i].value > b.value)
                b = storage[i];
    return b;
}

extern "C" __global__ void sample(const float *logits, int *token, int n)
{
    __shared__ best storage[128];
    best top = {-1e30f, 0};
    for (int first = 0; first < n; first += 128) {
        int i = first + threadIdx.x;
        best mine = {i < n ? logits[i] : -1e30f, i < n ? i : 0};
        mine = reduce(mine, storage);
        if (mine.value > top.value)
            top = mine;
#if FIXED
        __syncthreads();
#endif
    }
    if (threadIdx.x == 0)
        token[0] = top.index;
}
