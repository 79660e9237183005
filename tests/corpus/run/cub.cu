// Kernels of CUB. test_run.c compares their results with the results of a few lines of C.
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

constexpr int N = 128, I = 5;

template <class T, bool DOWN> __device__ void radix(T *data)
{
    using load = cub::BlockLoad<T, N, I, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using store = cub::BlockStore<T, N, I, cub::BLOCK_STORE_TRANSPOSE>;
    using sort = cub::BlockRadixSort<T, N, I>;
    __shared__ union {
        typename load::TempStorage load;
        typename store::TempStorage store;
        typename sort::TempStorage sort;
    } room;
    T v[I];
    data += blockIdx.x * N * I;
    load(room.load).Load(data, v);
    __syncthreads();
    if (DOWN)
        sort(room.sort).SortDescending(v);
    else
        sort(room.sort).Sort(v);
    __syncthreads();
    store(room.store).Store(data, v);
}
extern "C" __global__ void radix_int(int *p) { radix<int, false>(p); }
extern "C" __global__ void radix_float(float *p) { radix<float, false>(p); }
extern "C" __global__ void radix_double(double *p) { radix<double, true>(p); }
extern "C" __global__ void radix_u64(unsigned long long *p) { radix<unsigned long long, true>(p); }

/* The sort is stable, so equal keys keep the order of their values. */
extern "C" __global__ void radix_pairs(unsigned char *keys, int *values)
{
    using sort = cub::BlockRadixSort<unsigned char, N, I, int>;
    __shared__ typename sort::TempStorage room;
    unsigned char k[I];
    int v[I];
    for (int i = 0; i < I; i++) {
        k[i] = keys[(blockIdx.x * N + threadIdx.x) * I + i];
        v[i] = values[(blockIdx.x * N + threadIdx.x) * I + i];
    }
    sort(room).Sort(k, v);
    for (int i = 0; i < I; i++) {
        keys[(blockIdx.x * N + threadIdx.x) * I + i] = k[i];
        values[(blockIdx.x * N + threadIdx.x) * I + i] = v[i];
    }
}

extern "C" __global__ void merge_pairs(unsigned char *keys, int *values)
{
    using sort = cub::BlockMergeSort<unsigned char, N, I, int>;
    __shared__ typename sort::TempStorage room;
    unsigned char k[I];
    int v[I];
    for (int i = 0; i < I; i++) {
        k[i] = keys[(blockIdx.x * N + threadIdx.x) * I + i];
        v[i] = values[(blockIdx.x * N + threadIdx.x) * I + i];
    }
    sort(room).StableSort(k, v, [](unsigned char a, unsigned char b) { return a < b; });
    for (int i = 0; i < I; i++) {
        keys[(blockIdx.x * N + threadIdx.x) * I + i] = k[i];
        values[(blockIdx.x * N + threadIdx.x) * I + i] = v[i];
    }
}

extern "C" __global__ void warp_sort(int *data)
{
    using sort = cub::WarpMergeSort<int, I, 32>;
    __shared__ typename sort::TempStorage room[N / 32];
    int v[I], *mine = data + (blockIdx.x * N + threadIdx.x) * I;
    for (int i = 0; i < I; i++)
        v[i] = mine[i];
    sort(room[threadIdx.x / 32]).Sort(v, [](int a, int b) { return a < b; });
    for (int i = 0; i < I; i++)
        mine[i] = v[i];
}

template <class T, cub::BlockScanAlgorithm S, cub::BlockReduceAlgorithm R>
__device__ void sums(const T *in, T *out, T *total)
{
    using scan = cub::BlockScan<T, N, S>;
    using reduce = cub::BlockReduce<T, N, R>;
    __shared__ union { typename scan::TempStorage scan; typename reduce::TempStorage reduce; } room;
    int at = (blockIdx.x * N + threadIdx.x) * I;
    T v[I], w[I];
    for (int i = 0; i < I; i++)
        v[i] = in[at + i];
    scan(room.scan).ExclusiveSum(v, w);
    for (int i = 0; i < I; i++)
        out[at + i] = w[i];
    __syncthreads();
    T sum = reduce(room.reduce).Sum(v);
    if (threadIdx.x == 0)
        total[blockIdx.x] = sum;
}
extern "C" __global__ void sums_int(const int *in, int *out, int *total)
{
    sums<int, cub::BLOCK_SCAN_RAKING, cub::BLOCK_REDUCE_RAKING>(in, out, total);
}
extern "C" __global__ void sums_u64(const unsigned long long *in, unsigned long long *out, unsigned long long *total)
{
    sums<unsigned long long, cub::BLOCK_SCAN_WARP_SCANS, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(in, out, total);
}
extern "C" __global__ void sums_double(const double *in, double *out, double *total)
{
    sums<double, cub::BLOCK_SCAN_RAKING_MEMOIZE, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(in, out, total);
}

/* Makes groups of 13 lanes, because 13 is not a power of two. */
extern "C" __global__ void warp_sums(const int *in, int *out)
{
    constexpr int L = 13;
    using reduce = cub::WarpReduce<int, L>;
    __shared__ typename reduce::TempStorage room[2];
    if (threadIdx.x >= 2 * L)
        return;
    out[threadIdx.x] = reduce(room[threadIdx.x / L]).Sum(in[threadIdx.x]);
}

template <cub::BlockHistogramAlgorithm A> __device__ void histogram(const unsigned char *in, unsigned *bins)
{
    using count = cub::BlockHistogram<unsigned char, N, I, 256, A>;
    __shared__ typename count::TempStorage room;
    __shared__ unsigned counts[256];
    unsigned char v[I];
    for (int i = 0; i < I; i++)
        v[i] = in[(blockIdx.x * N + threadIdx.x) * I + i];
    count(room).Histogram(v, counts);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += N)
        atomicAdd(&bins[i], counts[i]);
}
extern "C" __global__ void histogram_atomic(const unsigned char *in, unsigned *bins)
{
    histogram<cub::BLOCK_HISTO_ATOMIC>(in, bins);
}
extern "C" __global__ void histogram_sort(const unsigned char *in, unsigned *bins)
{
    histogram<cub::BLOCK_HISTO_SORT>(in, bins);
}

extern "C" __global__ void heads(const unsigned char *in, int *flags)
{
    using discontinuity = cub::BlockDiscontinuity<unsigned char, N>;
    __shared__ typename discontinuity::TempStorage room;
    unsigned char v[I];
    int f[I], at = threadIdx.x * I;
    for (int i = 0; i < I; i++)
        v[i] = in[at + i];
    discontinuity(room).FlagHeads(f, v, [](unsigned char a, unsigned char b) { return a != b; });
    for (int i = 0; i < I; i++)
        flags[at + i] = f[i];
}

extern "C" __global__ void run_lengths(const unsigned char *items, const int *lengths, unsigned char *out, int *total)
{
    using decode = cub::BlockRunLengthDecode<unsigned char, N, 1, 4>;
    __shared__ typename decode::TempStorage room;
    unsigned char v[1] = {items[threadIdx.x]};
    int n[1] = {lengths[threadIdx.x]}, sum = 0;
    decode d(room, v, n, sum);
    for (int from = 0; from < sum; from += N * 4) {
        unsigned char decoded[4];
        d.RunLengthDecode(decoded, from);
        for (int i = 0; i < 4; i++)
            if (from + (int)threadIdx.x * 4 + i < sum)
                out[from + threadIdx.x * 4 + i] = decoded[i];
    }
    if (threadIdx.x == 0)
        *total = sum;
}
