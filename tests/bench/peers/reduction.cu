// reduction.cu - CUB's DeviceReduce: Sum, Max and ArgMax of floats.
#include <cub/cub.cuh>

#include "peer.h"

int main()
{
    struct { const char *work; size_t count; } sums[] = {
        {"default", size_t(1) << 28}, {"n16m", size_t(1) << 24}, {"n1m", size_t(1) << 20}};
    const size_t most = size_t(1) << 28;
    float *x = peer::random_floats(most), *y = peer::allocate<float>(1);
    auto *pair = peer::allocate<cub::KeyValuePair<int, float>>(1);
    void *room = peer::allocate<char>(size_t(64) << 20);
    size_t bytes = 0;
    for (auto sum : sums) {
        CHECK(cub::DeviceReduce::Sum(nullptr, bytes, x, y, static_cast<int>(sum.count)));
        const double seconds = peer::median_seconds(4 * sum.count, [&] {
            CHECK(cub::DeviceReduce::Sum(room, bytes, x, y, static_cast<int>(sum.count)));
        });
        peer::report("reduction", sum.work, "CUB DeviceReduce::Sum", seconds, 4.0 * sum.count);
    }
    CHECK(cub::DeviceReduce::Max(nullptr, bytes, x, y, static_cast<int>(most)));
    const double max = peer::median_seconds(
        4 * most, [&] { CHECK(cub::DeviceReduce::Max(room, bytes, x, y, static_cast<int>(most))); });
    peer::report("reduction", "max", "CUB DeviceReduce::Max", max, 4.0 * most);
    CHECK(cub::DeviceReduce::ArgMax(nullptr, bytes, x, pair, static_cast<int>(most)));
    const double argmax = peer::median_seconds(
        4 * most, [&] { CHECK(cub::DeviceReduce::ArgMax(room, bytes, x, pair, static_cast<int>(most))); });
    peer::report("reduction", "argmax", "CUB DeviceReduce::ArgMax", argmax, 4.0 * most);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
