//! project: raft
//! number: 679
//! title: a lane reads a pair of another lane without a barrier of the warp
//! kind: race inside a warp
//! finds: race (note)
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers:
//!     d: {type: f32, shape: [N], fill: {uniform: [0, 1]}}
//!     y: {type: f32, shape: [32], out: true}
//!   launch: {kernel: nearest, grid: [1], block: [32], args: [d, y]}

struct pair { float distance; int index; };

// Lanes append candidates to a list, a shuffle tells its length, and all lanes read the list.
extern "C" __global__ void nearest(const float *d, float *y)
{
    __shared__ pair held[64];
    int lane = threadIdx.x, count = 0;
    for (int k = 0; k < 2; k++)
        if (d[k * 32 + lane] < 2)
            held[lane * 2 + count++] = {d[k * 32 + lane], lane};
#if FIXED
    __syncwarp();
#endif
    int length = __shfl_sync(0xffffffff, count, 31);
    float sum = 0;
    for (int i = 0; i < 32 * length; i++)
        sum += held[(i + lane) % 64].distance * held[(i + lane) % 64].index; // BUG
    y[lane] = sum;
}
