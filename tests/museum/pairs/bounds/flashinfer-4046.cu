//! project: flashinfer
//! number: 4046
//! title: both sides of a condition are evaluated, so a table is read behind its end
//! kind: out of bounds
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {BATCHES: 4}}
//!   buffers:
//!     rows: {type: i32, shape: [BATCHES], fill: 3}
//!     y: {type: i32, shape: [32], out: true}
//!   launch: {kernel: schedule, grid: [1], block: [32], args: [rows, y, BATCHES]}

// A thread finds the batch of its tile. There are fewer tiles than threads.
extern "C" __global__ void schedule(const int *rows, int *y, int batches)
{
    int batch = 0, before = 0;
#if FIXED
    while (batch < batches && before + rows[batch] <= threadIdx.x)
        before += rows[batch++];
#else
    for (bool go = true; go;) {
        bool later = before + ((volatile const int *)rows)[batch] <= threadIdx.x; // BUG
        go = later & (batch < batches);
        if (go)
            before += rows[batch++];
    }
#endif
    y[threadIdx.x] = batch;
}
