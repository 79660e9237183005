//! project: raft
//! number: 679
//! title: a lane reads a pair of another lane without a barrier of the warp
//! kind: race inside a warp
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers:
//!     d: {type: f32, shape: [N], fill: {uniform: [0, 1]}}
//!     y: {type: f32, shape: [32], out: true}
//!   launch: {kernel: nearest, grid: [1], block: [32], args: [d, y]}

struct pair { float distance; int index; };

// The candidates of all lanes go through shared memory, one group after the other.
extern "C" __global__ void nearest(const float *d, float *y)
{
    __shared__ pair held[32];
    int lane = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 2; k++) {
        held[lane].distance = d[k * 32 + lane]; // BUG
        held[lane].index = lane;
        __syncwarp();
        for (int i = 0; i < 32; i += 4)
            sum += held[(lane + i) % 32].distance * held[(lane + i) % 32].index;
#if FIXED
        __syncwarp();
#endif
    }
    y[lane] = sum;
}
