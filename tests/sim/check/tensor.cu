// tensor.cu - kernels with tensor memory, for tests/sim/test_check.c. A kernel whose name begins with bug_ has one
// error. The comment "@name" marks its line, and "@name.other" the other side. The kernel whose name begins with ok_ is
// the same without the error. ../ptx.py compiles it.
#include "../mutants/tensor.h"

struct tile {
    __align__(1024) int a[512], b[64];
    u64 done;
    u32 base;
};

// Allocates columns, writes both matrices, and orders all of this before the products.
__device__ __forceinline__ u32 begin(tile &s, const int *in, bool proxy)
{
    const int t = threadIdx.x;
    if (t < 32)
        ALLOC("", &s.base, 64);
    if (t == 0)
        INIT("", &s.done, 1);
    for (int j = t; j < 512; j += blockDim.x)
        s.a[j] = in[j];
    if (t < 64)
        s.b[t] = in[512 + t];
    if (proxy)
        PROXY("");
    SYNC("");
    return *(volatile u32 *)&s.base;
}
__device__ __forceinline__ void end(u32 base)
{
    SYNC("");
    if (threadIdx.x < 32)
        DEALLOC("", base, 64);
}
#define BEGIN(proxy)                                                                                                   \
    __shared__ tile s;                                                                                                 \
    const int t = threadIdx.x;                                                                                         \
    const u32 d = begin(s, in, proxy), at = LANES(d, t);                                                               \
    u32 r[4] = {0, 0, 0, 0};                                                                                           \
    asm volatile("" ::"r"(at), "r"(r[0]));

// bug_early loads the sums before it waits for the product.
K ok_early(ARGS)
{
    BEGIN(true)
    if (t == 0) {
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0);
        TENSOR_COMMIT("", &s.done);
    }
    WAIT("", &s.done, 0);
    AFTER("");
    LD("", r, at);
    WAIT_LD("", r);
    put(out, t, r);
    end(d);
}
K bug_early(ARGS)
{
    BEGIN(true)
    if (t == 0) {
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0); // @early.other
        TENSOR_COMMIT("", &s.done);
    }
    SYNC("");
    LD("", r, at); // @early
    WAIT("", &s.done, 0);
    AFTER("");
    WAIT_LD("", r);
    put(out, t, r);
    end(d);
}
// The product comes after the commit for which the threads wait.
K bug_uncommitted(ARGS)
{
    BEGIN(true)
    if (t == 0) {
        TENSOR_COMMIT("", &s.done);
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0); // @uncommitted.other
    }
    SYNC("");
    WAIT("", &s.done, 0);
    AFTER("");
    LD("", r, at); // @uncommitted
    WAIT_LD("", r);
    put(out, t, r);
    end(d);
}
// A warp reads back its own store.
K ok_store(ARGS)
{
    BEGIN(true)
    ST("", at, r);
    WAIT_ST("");
    LD("", r, at);
    WAIT_LD("", r);
    put(out, t, r);
    end(d);
}
K bug_store(ARGS)
{
    BEGIN(true)
    ST("", at, r); // @store.other
    LD("", r, at); // @store
    WAIT_ST("");
    WAIT_LD("", r);
    put(out, t, r);
    end(d);
}
// Two warps use the same lanes.
K ok_fences(ARGS)
{
    BEGIN(true)
    if (t < 128) {
        ST("", at, r);
        WAIT_ST("");
        BEFORE("");
    }
    SYNC("");
    if (t >= 128) {
        AFTER("");
        LD("", r, at);
        WAIT_LD("", r);
        put(out, t, r);
    }
    end(d);
}
K bug_before(ARGS)
{
    BEGIN(true)
    if (t < 128) {
        ST("", at, r); // @before.other
        WAIT_ST("");
    }
    SYNC("");
    if (t >= 128) {
        AFTER("");
        LD("", r, at); // @before
        WAIT_LD("", r);
        put(out, t, r);
    }
    end(d);
}
K bug_after(ARGS)
{
    BEGIN(true)
    if (t < 128) {
        ST("", at, r); // @after.other
        WAIT_ST("");
        BEFORE("");
    }
    SYNC("");
    if (t >= 128) {
        LD("", r, at); // @after
        WAIT_LD("", r);
        put(out, t, r);
    }
    end(d);
}
// Three warps load the same lanes, one after the other. Then the first one overwrites them. In bug_third the second one has not
// waited for its load.
__device__ __forceinline__ void load_by_turns(u32 at, u32 *r, int t, bool waits)
{
    if (t < 128) {
        ST("", at, r);
        WAIT_ST("");
        BEFORE("");
    }
    SYNC("");
    AFTER("");
    for (int turn = 0; turn < 3; turn++) {
        if (t / 128 == turn) {
            LD("", r, at); // @third.other
            if (waits || turn != 1)
                WAIT_LD("", r);
            BEFORE("");
        }
        SYNC("");
        AFTER("");
    }
}
K ok_third(ARGS)
{
    BEGIN(true)
    load_by_turns(at, r, t, true);
    if (t < 128) {
        ST("", at, r);
        WAIT_ST("");
    }
    if (t < 128)
        put(out, t, r);
    end(d);
}
K bug_third(ARGS)
{
    BEGIN(true)
    load_by_turns(at, r, t, false);
    if (t < 128) {
        ST("", at, r); // @third
        WAIT_ST("");
    }
    WAIT_LD("", r);
    if (t < 128)
        put(out, t, r);
    end(d);
}
// A thread writes to the matrix while the product may still read it.
K bug_reused(ARGS)
{
    BEGIN(true)
    if (t == 0) {
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0); // @reused.other
        TENSOR_COMMIT("", &s.done);
    }
    SYNC("");
    s.a[t] = 0; // @reused
    WAIT("", &s.done, 0);
    end(d);
}
K ok_reused(ARGS)
{
    BEGIN(true)
    if (t == 0) {
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0);
        TENSOR_COMMIT("", &s.done);
    }
    WAIT("", &s.done, 0);
    s.a[t] = 0;
    end(d);
}
// The threads that write the matrices execute no fence.proxy.async.
K bug_proxy(ARGS)
{
    BEGIN(false)
    if (t == 0) {
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0); // @proxy
        TENSOR_COMMIT("", &s.done);
    }
    WAIT("", &s.done, 0);
    end(d);
}
// Nobody frees the columns.
K bug_kept(ARGS)
{
    __shared__ u32 base;
    ALLOC("", &base, 32); // @kept
}
// The columns are freed while another warp may still read them.
K bug_dealloc(ARGS)
{
    BEGIN(true)
    if (t < 128) {
        ST("", at, r);
        WAIT_ST("");
        if (t >= 32)
            LD("", r, at); // @dealloc.other
        WAIT_LD("", r);
        put(out, t, r);
    }
    if (t < 32)
        DEALLOC("", d, 64); // @dealloc
}
// Matrix B begins at the end of its array.
K bug_reach(ARGS)
{
    __shared__ __align__(1024) int a[512], b[64];
    __shared__ u64 done;
    __shared__ u32 base;
    const int t = threadIdx.x;
    if (t < 32)
        ALLOC("", &base, 64);
    if (t == 0)
        INIT("", &done, 1);
    for (int j = t; j < 512; j += blockDim.x)
        a[j] = in[j];
    if (t < 64)
        b[t] = in[512 + t];
    PROXY("");
    SYNC("");
    if (t == 0) {
        PRODUCT("", base, MATRIX(a), MATRIX(b + 32), 0); // @reach
        TENSOR_COMMIT("", &done);
    }
    WAIT("", &done, 0);
    end(base);
}
// The matrices are in dynamic shared memory. Variables of other kernels have the same addresses, and end inside of matrix A.
K ok_reach(ARGS)
{
    extern __shared__ __align__(1024) char dynamic[];
    u64 *done = (u64 *)dynamic;
    u32 *base = (u32 *)(dynamic + 8);
    int *a = (int *)(dynamic + 1024), *b = (int *)(dynamic + 3072);
    const int t = threadIdx.x;
    if (t < 32)
        ALLOC("", base, 64);
    if (t == 0)
        INIT("", done, 1);
    for (int j = t; j < 512; j += blockDim.x)
        a[j] = in[j];
    if (t < 64)
        b[t] = in[512 + t];
    PROXY("");
    SYNC("");
    const u32 d = *(volatile u32 *)base;
    if (t == 0) {
        PRODUCT("", d, MATRIX(a), MATRIX(b), 0);
        TENSOR_COMMIT("", done);
    }
    WAIT("", done, 0);
    end(d);
}
// No thread waits until the product is complete.
K bug_unfinished(ARGS)
{
    BEGIN(true)
    if (t == 0) {
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0); // @unfinished
        TENSOR_COMMIT("", &s.done);
    }
    end(d);
}
// The registers are used before wait::ld. The checks report this as a note, and not as an error.
K bug_loaded(ARGS)
{
    BEGIN(true)
    ST("", at, r);
    WAIT_ST("");
    LD("", r, at); // @loaded.other
    out[t] = r[0]; // @loaded
    WAIT_LD("", r);
    end(d);
}
// The commit of block 0 arrives at the mbarriers of both blocks when the product is complete. In bug_far block 1 does not wait for it,
// and may have ended before. The barrier of the cluster orders only the issue of the commit.
#define FAR(wait)                                                                                                      \
    BEGIN(true)                                                                                                        \
    u32 rank;                                                                                                          \
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));                                                                \
    DO("fence.mbarrier_init.release.cluster;", "", ::: "memory");                                                      \
    CLUSTER_SYNC("");                                                                                                    \
    if (t == 0 && rank == 0) {                                                                                         \
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0);                                                                   \
        TENSOR_COMMIT_ALL("", 1, &s.done);                                                                             \
    }                                                                                                                  \
    CLUSTER_SYNC("");                                                                                                    \
    if (wait || rank == 0)                                                                                             \
        WAIT("", &s.done, 0);                                                                                          \
    end(d);
K __cluster_dims__(2, 1, 1) ok_far(ARGS)
{
    FAR(true)
}
K __cluster_dims__(2, 1, 1) bug_far(ARGS)
{
    FAR(false) // @far
}
// The commits of a thread arrive in their order. So a thread that has waited for `done` knows phase 0 of `first`, and can wait for
// phase 1. In bug_order the threads know no phase of `first`, and a wait for parity 1 passes at once.
#define ORDER(knows)                                                                                                   \
    BEGIN(true)                                                                                                        \
    __shared__ u64 first;                                                                                              \
    if (t == 0) {                                                                                                      \
        INIT("", &first, 1);                                                                                           \
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0);                                                                   \
        TENSOR_COMMIT("", &first);                                                                                     \
        TENSOR_COMMIT("", &s.done);                                                                                    \
    }                                                                                                                  \
    SYNC("");                                                                                                          \
    if (knows)                                                                                                         \
        WAIT("", &s.done, 0);                                                                                          \
    SYNC("");
K ok_order(ARGS)
{
    ORDER(true)
    if (t == 0) {
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 1);
        TENSOR_COMMIT("", &first);
    }
    WAIT("", &first, 1);
    AFTER("");
    LD("", r, at);
    WAIT_LD("", r);
    put(out, t, r);
    end(d);
}
K bug_order(ARGS)
{
    ORDER(false)
    if (t == 0) {
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 1); // @order.other
        TENSOR_COMMIT("", &first);
    }
    WAIT("", &first, 1);
    AFTER("");
    LD("", r, at); // @order
    WAIT_LD("", r);
    WAIT("", &s.done, 0);
    put(out, t, r);
    end(d);
}
// A commit arrives with the scope of the cluster: block 1 sees what block 0 has written before the commit. In bug_told the write is
// not ordered before the commit.
#define TELL                                                                                                           \
    BEGIN(true)                                                                                                        \
    u32 rank;                                                                                                          \
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));                                                                \
    DO("fence.mbarrier_init.release.cluster;", "", ::: "memory");                                                      \
    CLUSTER_SYNC("");
K __cluster_dims__(2, 1, 1) ok_told(ARGS)
{
    TELL
    if (rank == 0) {
        if (t == 32)
            out[600] = 1;
        SYNC("");
        if (t == 0) {
            PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0);
            TENSOR_COMMIT_ALL("", 1, &s.done);
        }
    }
    WAIT("", &s.done, 0);
    if (rank == 1 && t == 0)
        out[601] = out[600];
    CLUSTER_SYNC("");
    end(d);
}
K __cluster_dims__(2, 1, 1) bug_told(ARGS)
{
    TELL
    if (rank == 0) {
        if (t == 0) {
            PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0);
            TENSOR_COMMIT_ALL("", 1, &s.done);
        }
        if (t == 32)
            out[600] = 1; // @told
    }
    WAIT("", &s.done, 0);
    if (rank == 1 && t == 0)
        out[601] = out[600]; // @told.other
    CLUSTER_SYNC("");
    end(d);
}
// A relaxed arrival orders no memory, but it orders the execution. So after the barrier of the cluster the columns may be freed. In
// bug_relaxed a warp loads after its arrival.
#define RELAXED_ARRIVE DO("barrier.cluster.arrive.relaxed.aligned;", "", ::: "memory")
#define RELAXED_WAIT DO("barrier.cluster.wait.aligned;", "", ::: "memory")
K __cluster_dims__(2, 1, 1) ok_relaxed(ARGS)
{
    BEGIN(true)
    if (t == 0) {
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0);
        TENSOR_COMMIT("", &s.done);
    }
    if (t >= 32) {
        WAIT("", &s.done, 0);
        AFTER("");
        LD("", r, at);
        WAIT_LD("", r);
        put(out + blockIdx.x * 512, t, r);
    }
    RELAXED_ARRIVE;
    RELAXED_WAIT;
    if (t < 32)
        DEALLOC("", d, 64);
}
K __cluster_dims__(2, 1, 1) bug_relaxed(ARGS)
{
    BEGIN(true)
    if (t == 0) {
        PRODUCT("", d, MATRIX(s.a), MATRIX(s.b), 0);
        TENSOR_COMMIT("", &s.done);
    }
    WAIT("", &s.done, 0);
    AFTER("");
    RELAXED_ARRIVE;
    if (t >= 32) {
        LD("", r, at);
        WAIT_LD("", r);
        put(out + blockIdx.x * 512, t, r);
    }
    RELAXED_WAIT;
    if (t < 32)
        DEALLOC("", d, 64); // @relaxed
}
