// Cooperative groups, libcu++'s atomics and barriers, device-side new, virtual functions.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/complex>
namespace cg = cooperative_groups;

/* In each round every block reads the value that another block wrote in the round before. */
extern "C" __global__ void grid_rounds(int *a, int *b, int rounds)
{
    auto grid = cg::this_grid();
    unsigned me = grid.thread_rank(), all = grid.size();
    for (int i = 0; i < rounds; i++) {
        b[me] = a[(me + 37) % all] + 1;
        grid.sync();
        a[me] = b[(me + 11) % all] + 1;
        grid.sync();
    }
}

extern "C" __global__ void tiles(const int *in, int *sums, int *scans, unsigned *labels)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int v = in[threadIdx.x];
    sums[threadIdx.x] = cg::reduce(tile, v, cg::plus<int>());
    scans[threadIdx.x] = cg::exclusive_scan(tile, v, cg::plus<int>());
    auto some = cg::coalesced_threads();
    auto alike = cg::labeled_partition(some, v & 3);
    labels[threadIdx.x] = alike.size() * 100 + alike.thread_rank();
}

/* A lock guards a counter, which counts every thread once. */
extern "C" __global__ void lock(int *state, long long *guarded)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> door(*state);
    for (bool done = false; !done;) {
        int open = 0;
        if (door.compare_exchange_strong(open, 1, cuda::std::memory_order_acquire)) {
            *guarded += 1 + threadIdx.x;
            door.store(0, cuda::std::memory_order_release);
            done = true;
        }
    }
}

extern "C" __global__ void atomics(double *sum, float *most, unsigned long long *bits)
{
    cuda::atomic_ref<double, cuda::thread_scope_device> s(*sum);
    cuda::atomic_ref<float, cuda::thread_scope_system> m(*most);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> b(*bits);
    s.fetch_add(0.5 * threadIdx.x, cuda::std::memory_order_relaxed);
    m.fetch_max((float)((threadIdx.x * 37) % 101));
    b.fetch_xor(1ull << (threadIdx.x % 64));
}

struct node { node *next; int value; };
extern "C" __global__ void lists(int *out)
{
    node *list = nullptr;
    for (int i = 0; i <= (int)threadIdx.x; i++)
        list = new node{list, i * i};
    int sum = 0;
    while (list) {
        node *next = list->next;
        sum += list->value;
        delete list;
        list = next;
    }
    out[threadIdx.x] = sum;
}

struct shape { __device__ virtual double area() const = 0; __device__ virtual ~shape() {} };
struct square : shape {
    double a;
    __device__ square(double x) : a(x) {}
    __device__ double area() const override { return a * a; }
};
struct disc : shape {
    double r;
    __device__ disc(double x) : r(x) {}
    __device__ double area() const override { return 3 * r * r; }
};
extern "C" __global__ void shapes(double *out)
{
    shape *mine = threadIdx.x % 3 ? (shape *)new square(threadIdx.x) : new disc(threadIdx.x);
    out[threadIdx.x] = mine->area();
    delete mine;
}

extern "C" __global__ void complexes(const double *in, double *out)
{
    cuda::std::complex<double> z(in[2 * threadIdx.x], in[2 * threadIdx.x + 1]);
    cuda::std::complex<double> w = cuda::std::exp(z) / (z * z + 1.0);
    out[2 * threadIdx.x] = w.real();
    out[2 * threadIdx.x + 1] = w.imag();
}

/* Copies up to two tiles ahead by memcpy_async and a pipeline, and works on the tile that has arrived. */
extern "C" __global__ void staged(const int *in, int *out, int tiles)
{
    __shared__ alignas(16) int room[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int t = 0, asked = 0; t < tiles; t++) {
        for (; asked < tiles && asked < t + 2; asked++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, room[asked & 1], in + asked * 64, cuda::aligned_size_t<16>(sizeof room[0]), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[t * 64 + threadIdx.x] = room[t & 1][63 - threadIdx.x] + t;
        pipe.consumer_release();
    }
}
extern "C" __global__ void arrivals(const int *in, int *out, int rounds)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> full, empty;
    __shared__ int room[32];
    if (threadIdx.x == 0) {
        init(&full, blockDim.x);
        init(&empty, blockDim.x);
    }
    __syncthreads();
    for (int i = 0; i < rounds; i++) { /* the first warp writes, the second reads */
        if (threadIdx.x < 32) {
            room[threadIdx.x] = in[i * 32 + threadIdx.x];
            (void)full.arrive();
        } else {
            full.arrive_and_wait();
            out[i * 32 + threadIdx.x - 32] = room[63 - threadIdx.x];
        }
        empty.arrive_and_wait();
    }
}
