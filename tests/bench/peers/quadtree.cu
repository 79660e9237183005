// quadtree.cu - the quadtree of the spec by CUB and Thrust. DeviceRadixSort::SortPairs sorts Morton codes with the
// numbers of the points. Then the nodes are made level by level: Thrust makes the children of divided nodes by binary
// searches in their codes, DeviceScan numbers the nodes that are divided again, and the host reads the number of
// these nodes.
#include <cub/cub.cuh>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>

#include "peer.h"

constexpr uint32_t CAP = 32, DEPTH = 16;

template <class Work> void for_all(size_t count, Work work)
{
    thrust::for_each_n(thrust::cuda::par_nosync, thrust::counting_iterator<uint32_t>(0), count, work);
}

// Makes the inputs of the spec's quadtree_points with another generator.
struct Points {
    float2 *points;
    char kind; // uniform, clustered, same
    static __device__ float unit(uint32_t bits) { return (bits >> 8) * (1.0f / 16777216.0f); }
    __device__ void operator()(uint32_t i) const
    {
        float x = unit(peer::mix(i, 1)), y = unit(peer::mix(i, 2));
        if (kind == 'c') {
            const uint32_t cluster = peer::mix(i, 3) >> 24;
            const float scale = exp2f(-4.0f - static_cast<float>(peer::mix(i, 4) % 10));
            x = unit(peer::mix(cluster, 5)) + (x - 0.5f) * scale;
            y = unit(peer::mix(cluster, 6)) + (y - 0.5f) * scale;
        }
        points[i] = kind == 's' ? make_float2(0.3f, 0.7f) : make_float2(x, y);
    }
};

struct Codes {
    const float2 *points;
    uint32_t *codes, *numbers;
    static __device__ uint32_t coordinate(float x)
    {
        return !(x < 1) ? (1u << DEPTH) - 1 : x > 0 ? static_cast<uint32_t>(x * (1u << DEPTH)) : 0;
    }
    static __device__ uint32_t spread(uint32_t x)
    {
        x = (x | x << 8) & 0x00ff00ffu;
        x = (x | x << 4) & 0x0f0f0f0fu;
        x = (x | x << 2) & 0x33333333u;
        return (x | x << 1) & 0x55555555u;
    }
    __device__ void operator()(uint32_t i) const
    {
        const float2 p = points[i];
        codes[i] = spread(coordinate(p.x)) | spread(coordinate(p.y)) << 1;
        numbers[i] = i;
    }
};

struct Level {
    const uint32_t *codes, *divided; // `divided` has the divided nodes of this level
    uint4 *nodes;
    uint32_t *flags, *ranks, *next; // `next` has the nodes of the level below
    uint32_t depth, base, splits;   // `base` is the first node of the level below
};

struct MakeChildren {
    Level level;
    // Returns the first place of [first, end) whose cell comes after `cell`.
    __device__ uint32_t behind(uint32_t first, uint32_t end, uint32_t cell, uint32_t shift) const
    {
        while (first < end) {
            const uint32_t middle = (first + end) / 2;
            if (level.codes[middle] >> shift <= cell)
                first = middle + 1;
            else
                end = middle;
        }
        return first;
    }
    __device__ void operator()(uint32_t t) const
    {
        if (t == 4 * level.splits) {
            level.flags[t] = 0;
            return;
        }
        const uint4 parent = level.nodes[level.divided[t / 4]];
        const uint32_t q = t % 4, shift = 2 * (DEPTH - 1 - level.depth), last = parent.x + parent.y;
        const uint32_t cell = (level.codes[parent.x] >> shift & ~3u) | q;
        const uint32_t begin = q == 0 ? parent.x : behind(parent.x, last, cell - 1, shift);
        const uint32_t end = q == 3 ? last : behind(begin, last, cell, shift);
        level.nodes[level.base + t] = make_uint4(begin, end - begin, 0, level.depth + 1);
        level.flags[t] = end - begin > CAP && level.depth + 1 < DEPTH;
    }
};

struct Link {
    Level level;
    __device__ void operator()(uint32_t t) const
    {
        const uint32_t rank = level.ranks[t], node = level.base + t;
        if (level.ranks[t + 1] == rank)
            return;
        level.nodes[node].z = level.base + 4 * level.splits + 4 * rank;
        level.next[rank] = node;
    }
};

struct Root {
    uint4 *nodes;
    uint32_t *divided;
    uint32_t count;
    __device__ void operator()(uint32_t) const
    {
        nodes[0] = make_uint4(0, count, count > CAP, 0);
        divided[0] = 0;
    }
};

int main()
{
    struct { const char *work; uint32_t count; char kind; } works[] = {
        {"default", 10000000, 'u'}, {"clustered", 10000000, 'c'}, {"n1m", 1000000, 'u'}, {"same", 10000000, 's'}};
    for (auto work : works) {
        const uint32_t n = work.count;
        const size_t most = n / (CAP + 1) + 1; // the largest number of divided nodes of one level
        float2 *points = peer::allocate<float2>(n);
        uint32_t *codes = peer::allocate<uint32_t>(n), *sorted = peer::allocate<uint32_t>(n);
        uint32_t *numbers = peer::allocate<uint32_t>(n), *order = peer::allocate<uint32_t>(n);
        uint32_t *flags = peer::allocate<uint32_t>(4 * most + 1), *ranks = peer::allocate<uint32_t>(4 * most + 1);
        uint32_t *lists[2] = {peer::allocate<uint32_t>(most), peer::allocate<uint32_t>(most)};
        uint4 *nodes = peer::allocate<uint4>(1 + 4 * DEPTH * most);
        for_all(n, Points{points, work.kind});
        CHECK(cudaGetLastError());
        size_t sort_size = 0, scan_size = 0;
        CHECK(cub::DeviceRadixSort::SortPairs(nullptr, sort_size, codes, sorted, numbers, order, n));
        CHECK(cub::DeviceScan::ExclusiveSum(nullptr, scan_size, flags, ranks, 4 * most + 1));
        void *room = peer::allocate<char>(std::max(sort_size, scan_size) + 1);
        uint32_t total = 0;
        auto build = [&] {
            for_all(n, Codes{points, codes, numbers});
            CHECK(cub::DeviceRadixSort::SortPairs(room, sort_size, codes, sorted, numbers, order, n, 0, 2 * DEPTH));
            for_all(1, Root{nodes, lists[0], n});
            Level level{sorted, lists[0], nodes, flags, ranks, lists[1], 0, 1, n > CAP};
            while (level.splits > 0) {
                const size_t children = 4 * static_cast<size_t>(level.splits);
                uint32_t splits = 0;
                for_all(children + 1, MakeChildren{level});
                CHECK(cub::DeviceScan::ExclusiveSum(room, scan_size, flags, ranks, children + 1));
                for_all(children, Link{level});
                CHECK(cudaMemcpy(&splits, ranks + children, sizeof splits, cudaMemcpyDeviceToHost));
                uint32_t *next = level.next;
                level.next = const_cast<uint32_t *>(level.divided);
                level.divided = next;
                level.base += static_cast<uint32_t>(children);
                level.splits = splits;
                level.depth++;
            }
            total = level.base;
        };
        auto sort = [&] {
            CHECK(cub::DeviceRadixSort::SortPairs(room, sort_size, codes, sorted, numbers, order, n, 0, 2 * DEPTH));
        };
        build();
        const size_t traffic = 12 * static_cast<size_t>(n) + 16 * static_cast<size_t>(total);
        const double seconds = peer::median_seconds(traffic, build);
        peer::report("quadtree", work.work, "CUB DeviceRadixSort and Thrust", seconds, static_cast<double>(traffic));
        const double alone = peer::median_seconds(traffic, sort);
        peer::report("quadtree", work.work, "CUB DeviceRadixSort alone", alone, static_cast<double>(traffic));
        CHECK(cudaDeviceSynchronize());
        for (void *memory : {static_cast<void *>(points), static_cast<void *>(codes), static_cast<void *>(sorted),
                             static_cast<void *>(numbers), static_cast<void *>(order), static_cast<void *>(flags),
                             static_cast<void *>(ranks), static_cast<void *>(lists[0]), static_cast<void *>(lists[1]),
                             static_cast<void *>(nodes), room})
            CHECK(cudaFree(memory));
    }
    return 0;
}
