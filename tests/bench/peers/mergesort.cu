// mergesort.cu - CUB's DeviceMergeSort (SortKeysCopy, StableSortPairs) and DeviceRadixSort (SortKeys, SortPairs) of
// u32.
//
// StableSortPairs sorts in place. So the unsorted pairs are copied each time before it. The time of the copies is
// measured alone and subtracted.
#include <cub/cub.cuh>

#include "peer.h"

struct Less {
    __device__ bool operator()(uint32_t a, uint32_t b) const { return a < b; }
};

struct Index {
    __device__ uint32_t operator()(size_t i) const { return static_cast<uint32_t>(i); }
};

// Makes the inputs of the spec's sort_keys with another generator.
struct Keys {
    const char *kind;
    size_t count;
    uint32_t *make() const
    {
        uint32_t *keys = peer::random_words<uint32_t>(count);
        if (kind[0] == 'r' && kind[1] == 'a')
            return keys;
        std::vector<uint32_t> host(count);
        for (size_t i = 0; i < count; i++) {
            const size_t at = kind[0] == 'r' ? count - 1 - i : i;
            host[i] = kind[0] == 'f' ? (peer::mix(i, 1) >> 28) * 0x0FEDCBA9u
                                     : static_cast<uint32_t>((static_cast<uint64_t>(at) << 32) / count);
        }
        CHECK(cudaMemcpy(keys, host.data(), count * sizeof *keys, cudaMemcpyHostToDevice));
        return keys;
    }
};

int main()
{
    struct { const char *work; size_t count; bool pairs; const char *kind; } works[] = {
        {"default", size_t(1) << 26, false, "random"},  {"n1m", size_t(1) << 20, false, "random"},
        {"n16m", size_t(1) << 24, false, "random"},     {"n256m", size_t(1) << 28, false, "random"},
        {"pairs", size_t(1) << 26, true, "random"},     {"pairs1m", size_t(1) << 20, true, "random"},
        {"pairs16m", size_t(1) << 24, true, "random"},  {"pairs256m", size_t(1) << 28, true, "random"},
        {"sorted", size_t(1) << 26, false, "sorted"},   {"reversed", size_t(1) << 26, false, "reversed"},
        {"few", size_t(1) << 26, false, "few"}};
    for (auto work : works) {
        const size_t n = work.count, bytes = n * sizeof(uint32_t), traffic = 2 * bytes * (work.pairs ? 2 : 1);
        uint32_t *keys = Keys{work.kind, n}.make(), *sorted_keys = peer::allocate<uint32_t>(n);
        uint32_t *values = nullptr, *sorted_values = nullptr;
        if (work.pairs) {
            values = peer::allocate<uint32_t>(n);
            sorted_values = peer::allocate<uint32_t>(n);
            peer::fill(values, n, Index{});
        }
        auto merge = [&](void *room, size_t &size) {
            CHECK(work.pairs ? cub::DeviceMergeSort::StableSortPairs(room, size, sorted_keys, sorted_values, n, Less{})
                             : cub::DeviceMergeSort::SortKeysCopy(room, size, keys, sorted_keys, n, Less{}));
        };
        auto radix = [&](void *room, size_t &size) {
            CHECK(work.pairs ? cub::DeviceRadixSort::SortPairs(room, size, keys, sorted_keys, values, sorted_values, n)
                             : cub::DeviceRadixSort::SortKeys(room, size, keys, sorted_keys, n));
        };
        auto copy = [&] {
            CHECK(cudaMemcpyAsync(sorted_keys, keys, bytes, cudaMemcpyDeviceToDevice));
            CHECK(cudaMemcpyAsync(sorted_values, values, bytes, cudaMemcpyDeviceToDevice));
        };
        size_t merge_size = 0, radix_size = 0;
        merge(nullptr, merge_size);
        radix(nullptr, radix_size);
        void *room = peer::allocate<char>(std::max(merge_size, radix_size) + 1);
        const double copies = work.pairs ? peer::median_seconds(traffic, copy) : 0;
        const double merged = peer::median_seconds(traffic, [&] {
            if (work.pairs)
                copy();
            merge(room, merge_size);
        });
        const double sorted = peer::median_seconds(traffic, [&] { radix(room, radix_size); });
        const char *names[2][2] = {{"CUB DeviceMergeSort::SortKeysCopy", "CUB DeviceMergeSort::StableSortPairs"},
                                   {"CUB DeviceRadixSort::SortKeys", "CUB DeviceRadixSort::SortPairs"}};
        peer::report("mergesort", work.work, names[0][work.pairs], merged - copies, static_cast<double>(traffic));
        peer::report("mergesort", work.work, names[1][work.pairs], sorted, static_cast<double>(traffic));
        CHECK(cudaDeviceSynchronize());
        for (void *memory : {static_cast<void *>(keys), static_cast<void *>(sorted_keys), static_cast<void *>(values),
                             static_cast<void *>(sorted_values), room})
            CHECK(cudaFree(memory));
    }
    return 0;
}
