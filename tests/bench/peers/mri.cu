// mri.cu - F^H d and Q as they are commonly written for a GPU (Stone and others, "Accelerating advanced MRI
// reconstructions on GPUs", 2008; Parboil's mri-q). A kernel computes the weights. The samples are in constant
// memory, 1024 per launch, and each voxel has a thread. Sine and cosine come from the special-function unit. The time
// does not depend on the places of the samples. Therefore it is measured once for random samples, and also reported
// for evenly spaced ones.
#include "peer.h"

constexpr unsigned CHUNK = 1024, SAMPLES = 100000, SIDE = 128, VOXELS = SIDE * SIDE * SIDE, BLOCK = 256;
constexpr float TURN = 6.2831853f;

struct Sample {
    float kx, ky, kz, re, im;
};

__constant__ Sample chunk[CHUNK];

template <bool q> __global__ void weigh(const float *k, const float2 *phi, const float2 *d, Sample *samples)
{
    const unsigned s = blockIdx.x * BLOCK + threadIdx.x;
    if (s >= SAMPLES)
        return;
    const float2 p = phi[s], m = d[s];
    samples[s] = {k[s], k[SAMPLES + s], k[2 * SAMPLES + s], q ? p.x * p.x + p.y * p.y : p.x * m.x + p.y * m.y,
                  q ? 0 : p.x * m.y - p.y * m.x};
}

template <bool q>
__global__ void add_up(unsigned count, const float *x, const float *y, const float *z, float *re, float *im)
{
    const unsigned v = blockIdx.x * BLOCK + threadIdx.x;
    const float at_x = x[v], at_y = y[v], at_z = z[v];
    float sum_re = re[v], sum_im = im[v];
#pragma unroll 4
    for (unsigned s = 0; s < count; s++) {
        const Sample one = chunk[s];
        const float angle = TURN * (one.kx * at_x + one.ky * at_y + one.kz * at_z);
        const float cosine = __cosf(angle), sine = __sinf(angle);
        sum_re += one.re * cosine;
        sum_im += one.re * sine;
        if (!q) {
            sum_re -= one.im * sine;
            sum_im += one.im * cosine;
        }
    }
    re[v] = sum_re;
    im[v] = sum_im;
}

struct Places { // of voxels, along one of the coordinates
    unsigned stride;
    __device__ float operator()(size_t v) const { return (float(v / stride % SIDE) - SIDE / 2) / SIDE; }
};

struct Spread { // of [-SIDE / 2, SIDE / 2)
    __device__ float operator()(size_t i) const { return peer::Uniform{2}(i) * (SIDE / 2); }
};

template <bool q> void measure(const char *work, const char *evenly)
{
    float *k = peer::allocate<float>(3 * SAMPLES), *places[3];
    peer::fill(k, 3 * SAMPLES, Spread{});
    for (unsigned c = 0, stride = 1; c < 3; c++, stride *= SIDE) {
        places[c] = peer::allocate<float>(VOXELS);
        peer::fill(places[c], VOXELS, Places{stride});
    }
    auto *phi = reinterpret_cast<float2 *>(peer::random_floats(2 * SAMPLES, 3));
    auto *d = reinterpret_cast<float2 *>(peer::random_floats(2 * SAMPLES, 4));
    auto *samples = peer::allocate<Sample>(SAMPLES);
    float *re = peer::allocate<float>(VOXELS), *im = peer::allocate<float>(VOXELS);
    const double moved = 8.0 * VOXELS + 28.0 * SAMPLES;
    const double seconds = peer::median_seconds(static_cast<size_t>(moved), [&] {
        weigh<q><<<(SAMPLES + BLOCK - 1) / BLOCK, BLOCK>>>(k, phi, d, samples);
        CHECK(cudaMemsetAsync(re, 0, VOXELS * sizeof(float)));
        CHECK(cudaMemsetAsync(im, 0, VOXELS * sizeof(float)));
        for (unsigned first = 0; first < SAMPLES; first += CHUNK) {
            const unsigned here = std::min(CHUNK, SAMPLES - first);
            CHECK(cudaMemcpyToSymbolAsync(chunk, samples + first, here * sizeof(Sample), 0, cudaMemcpyDeviceToDevice));
            add_up<q><<<VOXELS / BLOCK, BLOCK>>>(here, places[0], places[1], places[2], re, im);
        }
    });
    CHECK(cudaGetLastError());
    for (const char *name : {work, evenly})
        peer::report("mri", name, "constant memory, fast sine and cosine", seconds, moved);
    for (void *memory : {static_cast<void *>(k), static_cast<void *>(places[0]), static_cast<void *>(places[1]),
                         static_cast<void *>(places[2]), static_cast<void *>(phi), static_cast<void *>(d),
                         static_cast<void *>(samples), static_cast<void *>(re), static_cast<void *>(im)})
        CHECK(cudaFree(memory));
}

int main()
{
    measure<false>("default", "lines");
    measure<true>("q", "q_lines");
    CHECK(cudaDeviceSynchronize());
    return 0;
}
