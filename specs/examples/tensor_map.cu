// The kernels of tensor_map.yaml. struct map has the size and the alignment of CUtensorMap, so <cuda.h> is not needed.
struct alignas(128) map {
    char bytes[128];
};

__device__ unsigned shared_address(const void *at) { return (unsigned)__cvta_generic_to_shared(at); }

// A copy needs the address of its tensor map. With __grid_constant__ the parameter stays in constant memory, where it
// has an address.
extern "C" __global__ void transpose_tiles(const __grid_constant__ map a, float *b, int rows, int columns)
{
    __shared__ alignas(128) float tile[TILE][TILE];
    __shared__ alignas(8) unsigned long long full; // an mbarrier: it counts arrivals and bytes
    int x = blockIdx.x * TILE, y = blockIdx.y * TILE;
    bool first = threadIdx.x == 0 && threadIdx.y == 0;
    if (first) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); // shows the new barrier to the copy engine
    }
    __syncthreads();
    if (first) { // one thread starts the copy of the whole tile
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full)),
                     "r"((unsigned)sizeof tile)
                     : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(tile)),
                     "l"(&a), "r"(x), "r"(y), "r"(shared_address(&full))
                     : "memory");
    }
    asm volatile("{\n .reg .pred done;\nAGAIN:\n" // all threads wait until all bytes of the tile have arrived
                 " mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n @!done bra AGAIN;\n}" ::"r"(
                     shared_address(&full))
                 : "memory");
    if (x + threadIdx.y < columns && y + threadIdx.x < rows)
        b[(size_t)(x + threadIdx.y) * rows + y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void transpose_plain(const float *a, float *b, int rows, int columns)
{
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows)
        b[(size_t)x * rows + y] = a[(size_t)y * columns + x];
}
