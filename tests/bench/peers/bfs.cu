// bfs.cu - a breadth-first search from CUB and Thrust, with a frontier, as libraries write it. For each level it
// scans the degrees of the frontier. Then each edge gets a thread, which finds its vertex by bisection, so that the
// work is even, and examines a neighbour. The new vertices are compacted. The host reads two numbers per level. The
// graphs come from kernel_src/sparse/generate.c.
//
// The machine had neither Gunrock nor cuGraph. These figures were published and not measured here. Before you compare
// them, find out how they count edges; this file counts the edges of the component once.
//   Gunrock  34.6 GTEPS on kron21 (V100)
//   cuGraph  36 GTEPS on R-MAT of scale 24; road_usa in 90 ms
#include <cub/cub.cuh>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

#include <cstring>

#include "peer.h"

typedef uint64_t u64;
typedef uint32_t u32;

// ---- the graphs: as keys, row above, column below; ~0 in place of an edge that is left out ----

__host__ __device__ u64 mix64(u64 x) // the last step of SplitMix64
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

__host__ __device__ u64 bits_of(u64 a, u64 b) // random bits of the seed 1
{
    return mix64(mix64(1 + 0x9E3779B97F4A7C15 * (a + 1)) + 0xD1B54A32D192ED03 * (b + 1));
}

__device__ void give(u64 *keys, u64 slot, u64 row, u64 column, bool is)
{
    keys[2 * slot] = is && row != column ? row << 32 | column : ~u64(0);
    keys[2 * slot + 1] = is && row != column ? column << 32 | row : ~u64(0);
}

__device__ u64 scramble(u64 vertex, unsigned scale)
{
    const u64 mask = (u64(1) << scale) - 1, odd = mix64(1) | 1;
    for (int round = 0; round < 2; round++) {
        vertex = (vertex * odd + (odd >> 7)) & mask;
        vertex ^= vertex >> (scale / 2 + 1);
    }
    return vertex;
}

__global__ void make_rmat(u64 *keys, u64 entries, unsigned scale)
{
    for (u64 e = blockIdx.x * u64(blockDim.x) + threadIdx.x; e < entries; e += u64(gridDim.x) * blockDim.x) {
        u64 row = 0, column = 0, bits = 0;
        for (unsigned level = 0; level < scale; level++) {
            bits = level % 4 == 0 ? bits_of(e, level) : bits >> 16;
            const unsigned draw = bits & 0xffff;
            row = row << 1 | (draw >= 49807);
            column = column << 1 | ((draw >= 37356 && draw < 49807) || draw >= 62259);
        }
        give(keys, e, scramble(row, scale), scramble(column, scale), true);
    }
}

__global__ void make_square(u64 *keys, u64 side, bool road)
{
    for (u64 v = blockIdx.x * u64(blockDim.x) + threadIdx.x; v < side * side; v += u64(gridDim.x) * blockDim.x) {
        const u64 bits = bits_of(v, 0), x = v % side;
        give(keys, 3 * v, v, v + 1, x + 1 < side && (!road || (bits & 7) < 5));
        give(keys, 3 * v + 1, v, v + side, v + side < side * side && (!road || (bits >> 3 & 7) < 5));
        give(keys, 3 * v + 2, v, v + 30, road && (bits >> 6 & 63) == 0 && x + 30 < side);
    }
}

struct Graph {
    u32 vertices, source;
    thrust::device_vector<u32> offsets, index;
};

struct Below {
    __device__ u32 operator()(u64 key) const { return static_cast<u32>(key); }
};

struct FirstOf {
    __device__ u64 operator()(u64 row) const { return row << 32; }
};

struct Degree {
    const u32 *offsets;
    __device__ u32 operator()(u32 v) const { return offsets[v + 1] - offsets[v]; }
};

Graph build(const char *kind, u32 vertices, unsigned scale)
{
    const bool rmat = std::strcmp(kind, "rmat") == 0;
    const u64 items = rmat ? 16 * u64(vertices) : 3 * u64(vertices);
    thrust::device_vector<u64> keys(2 * items);
    if (rmat)
        make_rmat<<<1056, 256>>>(keys.data().get(), items, scale);
    else
        make_square<<<1056, 256>>>(keys.data().get(), u64(1) << scale / 2, std::strcmp(kind, "road") == 0);
    CHECK(cudaGetLastError());
    thrust::sort(keys.begin(), keys.end());
    size_t count = thrust::unique(keys.begin(), keys.end()) - keys.begin();
    if (count > 0 && keys[count - 1] == ~u64(0))
        count--;
    Graph g{vertices, 0, thrust::device_vector<u32>(vertices + 1), thrust::device_vector<u32>(count)};
    thrust::transform(keys.begin(), keys.begin() + count, g.index.begin(), Below());
    auto firsts = thrust::make_transform_iterator(thrust::counting_iterator<u64>(0), FirstOf());
    thrust::lower_bound(keys.begin(), keys.begin() + count, firsts, firsts + vertices + 1, g.offsets.begin());
    auto degrees = thrust::make_transform_iterator(thrust::counting_iterator<u32>(0), Degree{g.offsets.data().get()});
    /* of several equal largest elements, the first one */
    g.source = static_cast<u32>(thrust::max_element(degrees, degrees + vertices) - degrees);
    return g;
}

// ---- the search ----

__global__ void look(const u32 *offsets, const u32 *index, int *levels, const u32 *frontier, const u32 *ends, u32 count,
                     u32 edges, int level, u32 *next, u32 *next_count)
{
    const u32 e = blockIdx.x * blockDim.x + threadIdx.x;
    u32 low = 0, high = count;
    while (e < edges && low < high) { // finds the first vertex whose edges end after e
        const u32 middle = (low + high) / 2;
        if (ends[middle] <= e)
            low = middle + 1;
        else
            high = middle;
    }
    u32 to = 0;
    bool found = false;
    if (e < edges) {
        to = index[offsets[frontier[low]] + (e - (low ? ends[low - 1] : 0))];
        found = levels[to] < 0 && atomicCAS(levels + to, -1, level) == -1;
    }
    typedef cub::BlockScan<u32, 256> Scan;
    __shared__ typename Scan::TempStorage room;
    __shared__ u32 base;
    u32 place, all;
    Scan(room).ExclusiveSum(found ? 1u : 0u, place, all);
    if (threadIdx.x == 0 && all > 0)
        base = atomicAdd(next_count, all);
    __syncthreads();
    if (found)
        next[base + place] = to;
}

struct Search {
    Graph &g;
    thrust::device_vector<int> levels;
    thrust::device_vector<u32> frontier, next, ends, count;
    thrust::device_vector<char> room;
    size_t bytes = 0;

    explicit Search(Graph &graph)
        : g(graph), levels(g.vertices), frontier(g.vertices), next(g.vertices), ends(g.vertices), count(1)
    {
        scan(nullptr, g.vertices);
        room.resize(bytes);
    }

    void scan(void *temporary, u32 items)
    {
        auto degrees = thrust::make_transform_iterator(frontier.begin(), Degree{g.offsets.data().get()});
        CHECK(cub::DeviceScan::InclusiveSum(temporary, bytes, degrees, ends.begin(), static_cast<int>(items)));
    }

    int run() // returns the number of levels
    {
        CHECK(cudaMemsetAsync(levels.data().get(), 0xff, g.vertices * sizeof(int)));
        const int zero = 0;
        CHECK(cudaMemcpyAsync(levels.data().get() + g.source, &zero, sizeof zero, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpyAsync(frontier.data().get(), &g.source, sizeof(u32), cudaMemcpyHostToDevice));
        u32 found = 1, edges;
        int level = 0;
        while (found > 0) {
            level++;
            scan(room.data().get(), found);
            CHECK(cudaMemcpy(&edges, ends.data().get() + found - 1, sizeof edges, cudaMemcpyDeviceToHost));
            CHECK(cudaMemsetAsync(count.data().get(), 0, sizeof(u32)));
            if (edges > 0)
                look<<<edges / 256 + 1, 256>>>(g.offsets.data().get(), g.index.data().get(), levels.data().get(),
                                               frontier.data().get(), ends.data().get(), found, edges, level,
                                               next.data().get(), count.data().get());
            CHECK(cudaMemcpy(&found, count.data().get(), sizeof found, cudaMemcpyDeviceToHost));
            frontier.swap(next);
        }
        return level;
    }
};

// Does the same as peer::median_seconds() with few repetitions, because a search of thousands of levels takes long.
double seconds_of(Search &search)
{
    search.run();
    std::vector<double> times;
    for (int i = 0; i < 5; i++) {
        CHECK(cudaDeviceSynchronize());
        const auto began = std::chrono::steady_clock::now();
        search.run();
        CHECK(cudaDeviceSynchronize());
        times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    }
    std::nth_element(times.begin(), times.begin() + 2, times.end());
    return times[2];
}

int main()
{
    struct { const char *work, *kind; unsigned scale; } works[] = {
        {"default", "rmat", 22}, {"rmat24", "rmat", 24}, {"grid", "grid", 24}, {"road", "road", 24}};
    for (auto work : works) {
        Graph g = build(work.kind, u32(1) << work.scale, work.scale);
        Search search(g);
        const double seconds = seconds_of(search);
        const int levels = search.run();
        std::vector<int> of(g.vertices);
        std::vector<u32> offsets(g.vertices + 1);
        CHECK(cudaMemcpy(of.data(), search.levels.data().get(), of.size() * sizeof(int), cudaMemcpyDeviceToHost));
        thrust::copy(g.offsets.begin(), g.offsets.end(), offsets.begin());
        u64 edges = 0;
        for (u32 v = 0; v < g.vertices; v++)
            edges += of[v] >= 0 ? offsets[v + 1] - offsets[v] : 0;
        edges /= 2;
        std::fprintf(stderr, "bfs %s: source %u, %llu edges, %d levels, %.2f GTEPS\n", work.work, g.source,
                     static_cast<unsigned long long>(edges), levels, edges / seconds / 1e9);
        peer::report("bfs", work.work, "frontier with CUB's DeviceScan", seconds, 8.0 * edges + 8.0 * g.vertices);
    }
    return 0;
}
