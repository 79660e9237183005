// cutoff.cu - the rate of direct summation, on the pairs that lie within the radius. Direct summation examines every pair
// of an atom and a point, so none of its work is in vain, and it needs no bins: its rate is what a kernel with a radius
// would have if it examined nothing else. The time is that of the work's pairs (`kiln show cutoff -s WORK --metrics`) at
// that rate.
#include "peer.h"

constexpr int ATOMS = 4096, POINTS = 8, BLOCK = 128;
__constant__ float4 atoms[ATOMS];

__device__ float inverse_root(float x)
{
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}

// A thread has POINTS points along z; what x and y contribute is shared.
__global__ void __launch_bounds__(BLOCK) sum(float *energy, int width, float spacing, float per_square)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    const float x = i % width * spacing, y = i / width * spacing;
    float sums[POINTS] = {};
#pragma unroll 4
    for (int a = 0; a < ATOMS; a++) {
        const float dx = atoms[a].x - x, dy = atoms[a].y - y, across = dx * dx + dy * dy;
#pragma unroll
        for (int k = 0; k < POINTS; k++) {
            const float dz = atoms[a].z - k * spacing, r2 = dz * dz + across, s = __saturatef(1 - r2 * per_square);
            sums[k] += atoms[a].w * (s * s) * inverse_root(r2);
        }
    }
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        energy[k * gridDim.x * BLOCK + i] = sums[k];
}

int main()
{
    const int width = 2048;
    const size_t rows = size_t(width) * width, pairs = rows * POINTS * ATOMS;
    float *energy = peer::allocate<float>(rows * POINTS);
    void *to = nullptr;
    CHECK(cudaGetSymbolAddress(&to, atoms));
    peer::fill(static_cast<float *>(to), 4 * ATOMS, peer::Uniform{1});
    const double seconds = peer::median_seconds(rows * POINTS * sizeof *energy, [&] {
        sum<<<unsigned(rows / BLOCK), BLOCK>>>(energy, width, 0.5f, 1.0f / 144);
    });
    CHECK(cudaDeviceSynchronize());
    struct { const char *work; double pairs; } works[] = {{"default", 54343041976.0}, {"clustered", 50787164888.0}};
    for (auto work : works)
        peer::report("cutoff", work.work, "direct summation at its rate", work.pairs * seconds / static_cast<double>(pairs), 0);
    CHECK(cudaFree(energy));
    return 0;
}
