// histogram.cu - CUB's DeviceHistogram::HistogramEven on the keys of the spec's works: VALUES values, the n-th of which
// is n^SKEW times rarer than the first. CUB sets the counts to 0 within the call.
#include <cub/cub.cuh>

#include <cmath>

#include "peer.h"

template <class Key> struct Zipf { // the inverse of the distribution, by bisection
    const double *up_to;           // the share of keys that are at most i
    unsigned values;
    __device__ Key operator()(size_t i) const
    {
        const double u = (peer::mix(i, 1) + 0.5) / 4294967296.0;
        unsigned low = 0, high = values - 1;
        while (low < high) {
            const unsigned middle = (low + high) / 2;
            if (u < up_to[middle])
                high = middle;
            else
                low = middle + 1;
        }
        return static_cast<Key>(low);
    }
};

template <class Key> void measure(const char *work, size_t count, int bins, unsigned values, double skew)
{
    std::vector<double> up_to(values);
    double sum = 0;
    for (unsigned i = 0; i < values; i++)
        up_to[i] = sum += std::pow(i + 1.0, -skew);
    for (double &share : up_to)
        share /= sum;
    double *table = peer::allocate<double>(values);
    CHECK(cudaMemcpy(table, up_to.data(), values * sizeof(double), cudaMemcpyHostToDevice));
    Key *keys = peer::allocate<Key>(count);
    peer::fill(keys, count, Zipf<Key>{table, values});
    auto *counts = peer::allocate<unsigned>(bins);
    void *room = nullptr;
    size_t bytes = 0;
    auto run = [&] {
        CHECK(cub::DeviceHistogram::HistogramEven(room, bytes, keys, counts, bins + 1, 0, bins, static_cast<int>(count)));
    };
    run(); // asks how many bytes CUB needs
    room = peer::allocate<char>(bytes);
    const size_t moved = count * sizeof(Key) + bins * sizeof(unsigned);
    const double seconds = peer::median_seconds(moved, run);
    peer::report("histogram", work, "CUB DeviceHistogram::HistogramEven", seconds, static_cast<double>(moved));
    for (void *memory : {static_cast<void *>(table), static_cast<void *>(keys), static_cast<void *>(counts), room})
        CHECK(cudaFree(memory));
}

int main()
{
    measure<unsigned char>("default", size_t(1) << 28, 256, 256, 0);
    measure<unsigned char>("one_value", size_t(1) << 28, 256, 1, 0);
    measure<unsigned char>("skewed", size_t(1) << 28, 256, 256, 1);
    measure<unsigned>("wide", size_t(1) << 26, 4096, 4096, 0);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
