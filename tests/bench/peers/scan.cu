// scan.cu - CUB's DeviceScan: InclusiveSum and ExclusiveSum of floats.
#include <cub/cub.cuh>

#include "peer.h"

int main()
{
    struct { const char *work; size_t count; bool exclusive; } works[] = {{"default", size_t(1) << 28, false},
                                                                         {"n16m", size_t(1) << 24, false},
                                                                         {"n1m", size_t(1) << 20, false},
                                                                         {"exclusive", size_t(1) << 28, true}};
    const size_t most = size_t(1) << 28;
    float *x = peer::random_floats(most), *y = peer::allocate<float>(most);
    void *room = peer::allocate<char>(size_t(64) << 20);
    for (auto work : works) {
        const int count = static_cast<int>(work.count);
        auto run = [&](void *temporary, size_t &bytes) {
            CHECK(work.exclusive ? cub::DeviceScan::ExclusiveSum(temporary, bytes, x, y, count)
                                 : cub::DeviceScan::InclusiveSum(temporary, bytes, x, y, count));
        };
        size_t bytes = 0;
        run(nullptr, bytes);
        const double seconds = peer::median_seconds(8 * work.count, [&] { run(room, bytes); });
        peer::report("scan", work.work, work.exclusive ? "CUB DeviceScan::ExclusiveSum" : "CUB DeviceScan::InclusiveSum",
                     seconds, 8.0 * work.count);
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
