/* A tile of a matrix, copied into shared memory by a tensor map and written to another matrix. */
#include <cuda.h>

extern "C" __global__ void tile_tma(const __grid_constant__ CUtensorMap in, float *out, int rows, int columns)
{
    __shared__ alignas(128) float tile[TILE_Y][TILE_X];
    __shared__ alignas(8) unsigned long long arrived;
    const unsigned to = (unsigned)__cvta_generic_to_shared(tile), barrier = (unsigned)__cvta_generic_to_shared(&arrived);
    const int x = (int)blockIdx.x * TILE_X, y = (int)blockIdx.y * TILE_Y;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                     "r"((unsigned)sizeof tile)
                     : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                     "l"(&in), "r"(x), "r"(y), "r"(barrier)
                     : "memory");
    }
    __syncthreads();
    for (int done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier)
                     : "memory");
    for (int i = (int)threadIdx.x; i < TILE_X * TILE_Y; i += (int)blockDim.x)
        if (y + i / TILE_X < rows && x + i % TILE_X < columns)
            out[(y + i / TILE_X) * columns + x + i % TILE_X] = tile[i / TILE_X][i % TILE_X];
}
