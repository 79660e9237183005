//! project: llama.cpp
//! number: 13742
//! title: the path that skips a masked tile misses the barrier at the end of the loop
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {TILES: 4}}
//!   buffers:
//!     mask: {type: i32, shape: [64 * TILES], fill: {iota: [0, 1]}}
//!     o: {type: i32, shape: [64], out: true}
//!   launch: {kernel: walk_tiles, grid: [1], block: [64], args: [mask, o, TILES]}

// The mask of a tile goes through shared memory. If the whole tile is masked, the block continues with the next one.
extern "C" __global__ void walk_tiles(const int *mask, int *o, int tiles)
{
    __shared__ int tile[64];
    int sum = 0, t = threadIdx.x;
    for (int k = 0; k < tiles; k++) {
        tile[t] = mask[k * 64 + t]; // BUG
        __syncthreads();
        bool skip = true;
        for (int j = 0; j < 64; j++)
            skip = skip && tile[j] < 128;
        if (__all_sync(0xffffffff, skip)) {
#if FIXED
            __syncthreads();
#endif
            continue;
        }
        sum += tile[63 - t];
        __syncthreads();
    }
    o[t] = sum;
}
