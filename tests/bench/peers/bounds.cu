// bounds.cu - the rates that the device reaches, which are the bounds of the families. The copy reads and writes each
// of 2^28 floats once, by float4, one element per thread. The read adds them up, with four float4 in flight per
// thread. The special functions are reciprocal square roots: each thread has eight of them in flight, and does
// nothing else. Their number stands in the place of bytes.
#include "peer.h"

__global__ void copy(const float4 *in, float4 *out, size_t count)
{
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < count)
        out[i] = in[i];
}

__global__ void read(const float4 *in, float *out, size_t count)
{
    const size_t stride = size_t(gridDim.x) * blockDim.x;
    float sum = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += 4 * stride) {
        float4 part[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            part[k] = i + k * stride < count ? in[i + k * stride] : float4{0, 0, 0, 0};
#pragma unroll
        for (int k = 0; k < 4; k++)
            sum += part[k].x + part[k].y + part[k].z + part[k].w;
    }
    if (sum == 1e30f) // never true; it keeps the compiler from removing the reads
        *out = sum;
}

constexpr int SPECIAL_ROUNDS = 256, SPECIAL_CHAINS = 8, SPECIAL_THREADS = 512;

__global__ void special(float *out)
{
    float value[SPECIAL_CHAINS];
#pragma unroll
    for (int k = 0; k < SPECIAL_CHAINS; k++)
        value[k] = 2.0f + threadIdx.x + k;
    for (int i = 0; i < SPECIAL_ROUNDS; i += 8)
#pragma unroll
        for (int k = 0; k < 8 * SPECIAL_CHAINS; k++)
            asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(value[k % SPECIAL_CHAINS]));
    float sum = 0;
#pragma unroll
    for (int k = 0; k < SPECIAL_CHAINS; k++)
        sum += value[k];
    if (sum == 1e30f) // never true; it keeps the compiler from removing the roots
        *out = sum;
}

int main()
{
    const size_t count = size_t(1) << 28, bytes = 4 * count;
    int multiprocessors = 0;
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    float *in = peer::random_floats(count), *out = peer::allocate<float>(count);
    const float4 *from = reinterpret_cast<float4 *>(in);
    float4 *to = reinterpret_cast<float4 *>(out);
    const double copying = peer::median_seconds(2 * bytes, [&] {
        copy<<<unsigned(count / 4 / 256), 256>>>(from, to, count / 4);
    });
    peer::report("bound", "1GiB", "copy", copying, 2.0 * bytes);
    const double reading = peer::median_seconds(bytes, [&] {
        read<<<unsigned(multiprocessors) * 16, 512>>>(from, out, count / 4);
    });
    peer::report("bound", "1GiB", "read", reading, 1.0 * bytes);
    const unsigned blocks = unsigned(multiprocessors) * 32;
    const double rooting = peer::median_seconds(bytes, [&] { special<<<blocks, SPECIAL_THREADS>>>(out); });
    peer::report("bound", "1GiB", "special", rooting, 1.0 * blocks * SPECIAL_THREADS * SPECIAL_CHAINS * SPECIAL_ROUNDS);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return 0;
}
