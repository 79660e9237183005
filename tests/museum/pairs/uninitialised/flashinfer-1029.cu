//! project: flashinfer
//! number: 1029
//! title: rows of a tile behind the last key are neither copied nor cleared, and a product reads them
//! kind: uninitialised
//! finds: uninitialised read
//! spec: |
//!   sizes: {tiny: {KEYS: 13}}
//!   buffers:
//!     k: {type: f32, shape: [KEYS, 32], fill: 1}
//!     y: {type: f32, shape: [32], out: true}
//!   launch: {kernel: attend, grid: [1], block: [32], args: [k, y, KEYS]}

extern "C" __global__ void attend(const float *k, float *y, int keys)
{
    __shared__ float tile[16][32];
    int lane = threadIdx.x;
    for (int row = 0; row < 16; row++) {
        unsigned to = (unsigned)__cvta_generic_to_shared(&tile[row][lane]);
        if (row < keys)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(k + row * 32 + lane) : "memory");
        else if (FIXED)
            tile[row][lane] = 0;
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
    float sum = 0;
    for (int row = 0; row < 16; row++)
        sum += tile[row][31 - lane] * (row < keys); // BUG
    y[lane] = sum;
}
