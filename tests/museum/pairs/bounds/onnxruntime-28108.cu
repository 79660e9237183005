//! project: onnxruntime
//! number: 28108
//! title: the index of a gathered element is computed with 32 bits
//! kind: integer overflow
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {WIDTH: 8960}}
//!   buffers:
//!     token: {type: i64, shape: [2], fill: 239674}
//!     window: {type: f32, shape: [WIDTH], fill: 1}
//!     y: {type: f32, shape: [2 * WIDTH], out: true}
//!   launch: {kernel: gather, grid: [2 * WIDTH / 128], block: [128], args: [token, window, y, WIDTH, 239674 * WIDTH]}

// The window holds one row of a table of more than 2^31 elements.
extern "C" __global__ void gather(const long long *token, const float *window, float *y, int width, long long first)
{
    int id = blockIdx.x * 128 + threadIdx.x;
#if FIXED
    long long index;
#else
    int index;
#endif
    index = token[id / width] * width + id % width;
    y[id] = window[index - first]; // BUG
}
