// radixsort.cu - CUB's DeviceRadixSort (SortKeys, SortPairs) of u32, u64 and floats, by all bits or some.
#include <cub/cub.cuh>

#include "peer.h"

struct Index {
    __device__ uint32_t operator()(size_t i) const { return static_cast<uint32_t>(i); }
};

// Makes the inputs of the spec's radixsort_keys with another generator: words of 32 bits, of which a key of 64 bits
// takes two.
struct Sorted {
    size_t count;
    __device__ uint32_t operator()(size_t i) const { return static_cast<uint32_t>((static_cast<uint64_t>(i) << 31) / count); }
};

struct Few {
    __device__ uint32_t operator()(size_t i) const { return (peer::mix(i, 1) >> 28) * 0x0FEDCBA9u; }
};

struct Equal {
    __device__ uint32_t operator()(size_t) const { return 0x9E3779B9u; }
};

struct Work {
    const char *name;
    size_t count;
    bool pairs;
    int begin, end;
    char kind; // random, sorted, few, equal
};

template <class Key> void measure(const Work &work)
{
    const size_t n = work.count, passes = static_cast<size_t>((work.end - work.begin + 7) / 8);
    const size_t words = n * sizeof(Key) / sizeof(uint32_t);
    uint32_t *memory = peer::allocate<uint32_t>(words), *values = nullptr, *sorted_values = nullptr;
    switch (work.kind) {
    case 's': peer::fill(memory, words, Sorted{words}); break;
    case 'f': peer::fill(memory, words, Few{}); break;
    case 'e': peer::fill(memory, words, Equal{}); break;
    default: peer::fill(memory, words, peer::Words{1});
    }
    const Key *keys = reinterpret_cast<const Key *>(memory);
    Key *sorted = peer::allocate<Key>(n);
    if (work.pairs) {
        values = peer::allocate<uint32_t>(n);
        sorted_values = peer::allocate<uint32_t>(n);
        peer::fill(values, n, Index{});
    }
    auto sort = [&](void *room, size_t &size) {
        CHECK(work.pairs ? cub::DeviceRadixSort::SortPairs(room, size, keys, sorted, values, sorted_values, n, work.begin,
                                                           work.end)
                         : cub::DeviceRadixSort::SortKeys(room, size, keys, sorted, n, work.begin, work.end));
    };
    size_t size = 0;
    sort(nullptr, size);
    void *room = peer::allocate<char>(size + 1);
    const size_t item = sizeof(Key) + (work.pairs ? sizeof(uint32_t) : 0);
    const double seconds = peer::median_seconds(2 * n * item, [&] { sort(room, size); });
    peer::report("radixsort", work.name, work.pairs ? "CUB SortPairs" : "CUB SortKeys", seconds,
                 static_cast<double>(n * (sizeof(Key) + 2 * passes * item)));
    CHECK(cudaDeviceSynchronize());
    for (void *of : {static_cast<void *>(memory), static_cast<void *>(sorted), static_cast<void *>(values),
                     static_cast<void *>(sorted_values), room})
        CHECK(cudaFree(of));
}

int main()
{
    const size_t many = size_t(1) << 26, million = size_t(1) << 20;
    for (const Work &work : {Work{"default", many, false, 0, 32, 'r'}, Work{"n1m", million, false, 0, 32, 'r'},
                             Work{"n16m", size_t(1) << 24, false, 0, 32, 'r'}, Work{"pairs", many, true, 0, 32, 'r'},
                             Work{"pairs1m", million, true, 0, 32, 'r'}, Work{"bits", many, false, 5, 21, 'r'},
                             Work{"sorted", many, false, 0, 32, 's'}, Work{"few", many, false, 0, 32, 'f'},
                             Work{"equal", many, true, 0, 32, 'e'}})
        measure<uint32_t>(work);
    measure<uint64_t>(Work{"wide", many, false, 0, 64, 'r'});
    measure<float>(Work{"floats", many, false, 0, 32, 'r'});
    return 0;
}
