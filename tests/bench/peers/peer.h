// peer.h - the common part of the peers: random inputs, the time of a piece of work by Kiln's own method
// (engine/plan/measure/measure.c), and the line that a peer prints. A peer is one .cu file with the name of its family.
// tests/bench/catalogue.sh builds it with `nvcc -O3 -std=c++17 -arch=native`, and with the libraries of a comment `//
// link: -lcublas` in the file.
#ifndef KILN_PEER_H
#define KILN_PEER_H

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace peer
{

template <class Status> void check(Status status, const char *call, const char *file, int line)
{
    if (static_cast<int>(status) == 0) // success in all of the vendor's libraries
        return;
    std::fprintf(stderr, "%s:%d: %s: error %d\n", file, line, call, static_cast<int>(status));
    std::exit(1);
}
#define CHECK(call) peer::check((call), #call, __FILE__, __LINE__)

template <class T> T *allocate(size_t count)
{
    T *memory = nullptr;
    CHECK(cudaMalloc(&memory, count * sizeof(T)));
    return memory;
}

// Returns 32 bits that depend only on i and seed (the finaliser of MurmurHash3, public domain).
__host__ __device__ inline uint32_t mix(uint64_t i, uint32_t seed)
{
    uint32_t x = static_cast<uint32_t>(i) * 0x9e3779b9u ^ static_cast<uint32_t>(i >> 32) ^ seed * 0x85ebca6bu;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

template <class T, class Make> __global__ void fill_kernel(T *out, size_t count, Make make)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
        out[i] = make(i);
}

// Sets element i to make(i). `make` is a struct with a __device__ operator().
template <class T, class Make> void fill(T *out, size_t count, Make make)
{
    if (count > 0)
        fill_kernel<<<1056, 256>>>(out, count, make);
    CHECK(cudaGetLastError());
}

struct Uniform { // uniform numbers of [-1, 1)
    uint32_t seed;
    __device__ float operator()(size_t i) const { return mix(i, seed) * (2.0f / 4294967296.0f) - 1.0f; }
};

struct Words { // 32 random bits, cut to the element's type
    uint32_t seed;
    __device__ uint32_t operator()(size_t i) const { return mix(i, seed); }
};

inline float *random_floats(size_t count, uint32_t seed = 1)
{
    float *memory = allocate<float>(count);
    fill(memory, count, Uniform{seed});
    return memory;
}

template <class T> T *random_words(size_t count, uint32_t seed = 1)
{
    T *memory = allocate<T>(count);
    fill(memory, count, Words{seed});
    return memory;
}

// Returns the median time of work(), which enqueues on the default stream. An event stands before and after each
// repetition. The host enqueues sixteen repetitions ahead, so that the device never waits for the host. If the
// `bytes` of all buffers fit in the L2, the L2 is flushed before each repetition. Work of at most 0.1 s is repeated
// for half a second, at least 33 and at most 1000 times. Longer work is repeated 5 times, one by one.
template <class Work> double median_seconds(size_t bytes, Work work)
{
    constexpr int GROUP = 16;
    static cudaEvent_t start[GROUP], end[GROUP];
    static void *flush = nullptr;
    static size_t l2 = 0;
    if (!flush) {
        int device = 0, size = 0;
        CHECK(cudaGetDevice(&device));
        CHECK(cudaDeviceGetAttribute(&size, cudaDevAttrL2CacheSize, device));
        l2 = static_cast<size_t>(size);
        flush = allocate<char>(2 * l2 + 1);
        for (int i = 0; i < GROUP; i++) {
            CHECK(cudaEventCreate(&start[i]));
            CHECK(cudaEventCreate(&end[i]));
        }
    }
    work();
    work();
    CHECK(cudaDeviceSynchronize());
    const auto before = std::chrono::steady_clock::now();
    work();
    CHECK(cudaDeviceSynchronize());
    std::vector<float> times;
    const auto began = std::chrono::steady_clock::now();
    const bool is_long = began - before > std::chrono::milliseconds(100);
    const int group = is_long ? 1 : GROUP;
    while (times.size() < (is_long ? 5 : 33) ||
           (times.size() < 1000 && std::chrono::steady_clock::now() - began < std::chrono::milliseconds(500))) {
        for (int i = 0; i < group; i++) {
            if (bytes <= l2)
                CHECK(cudaMemsetAsync(flush, 0, 2 * l2));
            CHECK(cudaEventRecord(start[i]));
            work();
            CHECK(cudaEventRecord(end[i]));
        }
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < group; i++) {
            float milliseconds = 0;
            CHECK(cudaEventElapsedTime(&milliseconds, start[i], end[i]));
            times.push_back(milliseconds);
        }
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2] * 1e-3;
}

// Prints the line that catalogue.sh collects. `work` is the name of a size set of the family's spec, or its settings
// in the form of works.txt. `bytes` is the minimum traffic, as in the spec's metrics (0 means that nobody needs it).
inline void report(const char *family, const char *work, const char *name, double seconds, double bytes)
{
    std::printf("%s\t%s\t%s\t%.9g\t%.0f\n", family, work, name, seconds, bytes);
    std::fflush(stdout);
}

} // namespace peer
#endif
