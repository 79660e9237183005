/* Tiles of a matrix, copied by the threads themselves, and a look at a tensor map. */
#include <cuda.h>

extern "C" __global__ void tile_plain(const float *in, float *out, int rows, int columns)
{
    const int x = (int)blockIdx.x * TILE_X, y = (int)blockIdx.y * TILE_Y;
    for (int i = (int)threadIdx.x; i < TILE_X * TILE_Y; i += (int)blockDim.x)
        if (y + i / TILE_X < rows && x + i % TILE_X < columns)
            out[(y + i / TILE_X) * columns + x + i % TILE_X] = in[(y + i / TILE_X) * columns + x + i % TILE_X];
}

/* The map as the kernel gets it. */
extern "C" __global__ void map_words(const __grid_constant__ CUtensorMap in, float *out)
{
    out[threadIdx.x] = __uint_as_float(((const unsigned *)&in)[threadIdx.x]);
}
