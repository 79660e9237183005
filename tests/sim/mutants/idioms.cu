// idioms.cu - correct uses of asynchronous copies, mbarriers and wgmma, from which tests/sim/test_mutants.c makes
// mutants: it removes or changes the instruction on each line of the PTX that ends in a mark, "// @name". ../ptx.py
// compiles it.
#include "idioms.h"

// cp.async fills two buffers in turn.
K copy_double(ARGS)
{
    __shared__ int s[2][64];
    const int t = threadIdx.x;
    COPY(&s[0][t], in + t);
    COMMIT("first.commit");
#pragma unroll 1
    for (int k = 0; k < 6; k++) {
        if (k < 5)
            COPY(&s[k + 1 & 1][t], in + 64 * (k + 1) + t);
        COMMIT("commit");
        WAIT_GROUP("wait", 1);
        SYNC("filled");
        out[64 * k + t] = s[k & 1][63 - t];
        SYNC("read");
    }
}

// cp.async fills three buffers in turn, with one barrier for each step.
K copy_ring(ARGS)
{
    __shared__ int s[3][64];
    const int t = threadIdx.x;
    COPY(&s[0][t], in + t);
    COMMIT("first.commit");
    COPY(&s[1][t], in + 64 + t);
    COMMIT("second.commit");
#pragma unroll 1
    for (int k = 0; k < 6; k++) {
        WAIT_GROUP("wait", 1);
        SYNC("filled");
        if (k < 4)
            COPY(&s[(k + 2) % 3][t], in + 64 * (k + 2) + t);
        COMMIT("commit");
        out[64 * k + t] = s[k % 3][63 - t];
    }
}

// One warp copies by cp.async, and the copies arrive at mbarriers. Another warp reads.
K copy_mbarrier(ARGS)
{
    __shared__ u64 full[2], empty[2];
    __shared__ int s[2][32];
    const int t = threadIdx.x & 31;
    if (threadIdx.x == 0) {
        INIT("full0.init", &full[0], 32);
        INIT("full1.init", &full[1], 32);
        INIT("empty0.init", &empty[0], 32);
        INIT("empty1.init", &empty[1], 32);
    }
    SYNC("init.sync");
    if (threadIdx.x < 32) {
#pragma unroll 1
        for (int k = 0; k < 6; k++) {
            WAIT("empty.wait", &empty[k & 1], k / 2 + 1 & 1);
            COPY(&s[k & 1][t], in + 32 * k + t);
            DO("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];", "copies.arrive", ::"r"(AT(&full[k & 1])) : "memory");
        }
    } else {
#pragma unroll 1
        for (int k = 0; k < 6; k++) {
            WAIT("full.wait", &full[k & 1], k / 2 & 1);
            out[32 * k + t] = s[k & 1][31 - t];
            ARRIVE("empty.arrive", &empty[k & 1]);
        }
    }
}

// One thread fills a ring of buffers by bulk copies, and two warps read them.
K bulk_ring(ARGS)
{
    __shared__ u64 full[2], empty[2];
    __shared__ __align__(16) int s[2][64];
    const int t = threadIdx.x - 32;
    if (threadIdx.x == 0) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT("empty0.init", &empty[0], 2);
        INIT("empty1.init", &empty[1], 2);
        INIT_FENCE("init.fence");
    }
    SYNC("init.sync");
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int k = 0; k < 6; k++) {
            WAIT("empty.wait", &empty[k & 1], k / 2 + 1 & 1);
            EXPECT("full.expect", &full[k & 1], 256);
            LOAD("load", s[k & 1], in + 64 * k, 256, &full[k & 1]);
        }
    } else if (threadIdx.x >= 32) {
#pragma unroll 1
        for (int k = 0; k < 6; k++) {
            WAIT("full.wait", &full[k & 1], k / 2 & 1);
            out[64 * k + t] = s[k & 1][63 - t];
            SYNC_WARP("release.syncwarp");
            if (t % 32 == 0)
                ARRIVE("empty.arrive", &empty[k & 1]);
        }
    }
}

// Like bulk_ring, but only one thread of each warp waits, and the other lanes wait for this thread.
K bulk_elected(ARGS)
{
    __shared__ u64 full, empty;
    __shared__ __align__(16) int s[64];
    const int t = threadIdx.x;
    if (t == 0) {
        INIT("full.init", &full, 1);
        INIT("empty.init", &empty, 64);
        PROXY("init.fence");
    }
    SYNC("init.sync");
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        if (t == 0) {
            WAIT("empty.wait", &empty, k + 1 & 1);
            EXPECT("full.expect", &full, 256);
            LOAD("load0", s, in + 64 * k, 128, &full);
            LOAD("load1", s + 32, in + 64 * k + 32, 128, &full);
        }
        SYNC_WARP("issue.syncwarp");
        if (t % 32 == 0)
            WAIT("full.wait", &full, k & 1);
        SYNC_WARP("wait.syncwarp");
        out[64 * k + t] = s[63 - t];
        ARRIVE("empty.arrive", &empty);
    }
}

// Each stage has one mbarrier. __syncthreads tells that the stage is empty. There is also a prefetch into L2.
K bulk_sync(ARGS)
{
    __shared__ u64 full;
    __shared__ __align__(16) int s[64];
    const int t = threadIdx.x;
    if (t == 0) {
        INIT("full.init", &full, 1);
        PROXY("init.fence");
    }
    SYNC("init.sync");
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        if (t == 0) {
            DO("cp.async.bulk.prefetch.L2.global [%0], %1;", "prefetch", ::"l"(__cvta_generic_to_global(in + 64 * k + 64)), "r"(256) : "memory");
            EXPECT("full.expect", &full, 256);
            LOAD("load", s, in + 64 * k, 256, &full);
        }
        WAIT("full.wait", &full, k & 1);
        out[64 * k + t] = s[63 - t];
        SYNC("read");
    }
}

// All threads write to two buffers, and one thread stores the buffers by bulk copies.
K bulk_store(ARGS)
{
    __shared__ __align__(16) int s[2][64];
    const int t = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 5; k++) {
        if (t == 0)
            BULK_READ("reuse.wait", 1);
        SYNC("free");
        s[k & 1][t] = in[64 * k + t];
        PROXY("publish");
        SYNC("written");
        if (t == 0) {
            STORE("store", out + 64 * k, s[k & 1], 256);
            BULK_COMMIT("commit");
        }
    }
    if (t == 0)
        BULK_READ("last.wait", 0);
}

// Stores tiles like bulk_store. A tensor map describes the copy, there is one buffer, and the proxy fence comes after
// the barrier.
K box_store(MAPS)
{
    __shared__ __align__(1024) int s[512];
    const int t = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 3; k++) {
        for (int j = t; j < 512; j += 64)
            s[j] = in[j] + k;
        SYNC("written");
        if (t == 0) {
            PROXY("publish");
            STORE_BOX("store", &c_map, 16 * k, 0, s);
            BULK_COMMIT("commit");
            BULK_READ("read.wait", 0);
        }
        SYNC("free");
    }
}

// A stage is copied in, changed in place, and copied out.
K bulk_in_place(ARGS)
{
    __shared__ u64 full;
    __shared__ __align__(16) int s[64];
    const int t = threadIdx.x;
    if (t == 0) {
        INIT("full.init", &full, 1);
        INIT_FENCE("init.fence");
    }
    SYNC("init.sync");
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        if (t == 0) {
            EXPECT("full.expect", &full, 256);
            LOAD("load", s, in + 64 * k, 256, &full);
        }
        WAIT("full.wait", &full, k & 1);
        s[t] = s[t] * 2;
        PROXY("publish");
        SYNC("written");
        if (t == 0) {
            STORE("store", out + 64 * k, s, 256);
            BULK_COMMIT("commit");
            BULK_READ("read.wait", 0);
        }
        SYNC("free");
    }
}

// A thread reads back its store to global memory. A bulk copy reads values that threads wrote there.
K bulk_global(ARGS)
{
    __shared__ u64 full;
    __shared__ __align__(16) int s[64], r[64];
    const int t = threadIdx.x;
    if (t == 0) {
        INIT("full.init", &full, 1);
        PROXY("init.fence");
    }
    SYNC("init.sync");
    raw[t] = in[t];
    DO("fence.proxy.async;", "global.fence", ::: "memory");
    SYNC("global.sync");
    if (t == 0) {
        EXPECT("full.expect", &full, 256);
        LOAD("load", s, raw, 256, &full);
    }
    WAIT("full.wait", &full, 0);
    r[t] = s[63 - t];
    PROXY("publish");
    SYNC("written");
    if (t == 0) {
        STORE("store", raw + 64, r, 256);
        BULK_COMMIT("commit");
        BULK_WAIT("done.wait", 0);
    }
    SYNC("done");
    out[t] = raw[64 + t];
}

// An mbarrier is invalidated and initialised again at one place. Waits use states in place of parities.
K again(ARGS)
{
    __shared__ u64 bar;
    __shared__ int s[64];
    const int t = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 3; k++) {
        if (t == 0)
            INIT("init", &bar, 64);
        SYNC("init.sync");
        s[t] = in[t + k];
        u64 state;
        DO("mbarrier.arrive.shared::cta.b64 %0, [%1];", "arrive", : "=l"(state) : "r"(AT(&bar)) : "memory");
        asm volatile("{\n.reg .pred p;\nL: mbarrier.test_wait.shared::cta.b64 p, [%0], %1; // @wait\n@!p bra L;\n}\n" ::"r"(AT(&bar)), "l"(state) : "memory");
        out[64 * k + t] = s[63 - t];
        SYNC("read");
        if (t == 0)
            DO("mbarrier.inval.shared::cta.b64 [%0];", "inval", ::"r"(AT(&bar)) : "memory");
    }
}

// Tensor maps and wgmma: one thread of the first warpgroup copies, the second warpgroup multiplies.
K specialised(MAPS)
{
    __shared__ __align__(1024) unsigned char a[2][2048], b[2][256];
    __shared__ u64 full[2], empty[2];
    if (threadIdx.x == 0) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT("empty0.init", &empty[0], 1);
        INIT("empty1.init", &empty[1], 1);
        INIT_FENCE("init.fence");
    }
    SYNC("init.sync");
    if (threadIdx.x < 128) {
        if (threadIdx.x == 0)
#pragma unroll 1
            for (int k = 0; k < 4; k++) {
                WAIT("empty.wait", &empty[k & 1], k / 2 + 1 & 1);
                EXPECT("full.expect", &full[k & 1], 2048 + 256);
                LOAD_BOX("load.a", a[k & 1], &a_map, 16 * k, 0, &full[k & 1]);
                LOAD_BOX("load.b", b[k & 1], &b_map, 16 * k, 0, &full[k & 1]);
            }
        return;
    }
    const int t = threadIdx.x - 128;
    float d[4] = {0, 0, 0, 0};
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        WAIT("full.wait", &full[k & 1], k / 2 & 1);
        MMA_FENCE("fence");
        DESCRIPTOR("a.layout", da, AT(a[k & 1]));
        DESCRIPTOR("b.layout", db, AT(b[k & 1]));
        MMA(da, db);
        MMA_COMMIT("commit");
        MMA_WAIT("wait", 0);
        if (t == 0)
            ARRIVE("empty.arrive", &empty[k & 1]);
    }
    for (int j = 0; j < 4; j++)
        ((float *)out)[4 * t + j] = d[j];
}

// The wait for the earlier product comes after the next product is issued.
K overlapped(MAPS)
{
    __shared__ __align__(1024) unsigned char a[3][2048], b[3][256];
    __shared__ u64 full[3], empty[3];
    if (threadIdx.x == 0) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT("full2.init", &full[2], 1);
        INIT("empty0.init", &empty[0], 128);
        INIT("empty1.init", &empty[1], 128);
        INIT("empty2.init", &empty[2], 128);
        PROXY("init.fence");
    }
    SYNC("init.sync");
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128)
#pragma unroll 1
            for (int k = 0; k < 7; k++) {
                WAIT("empty.wait", &empty[k % 3], k / 3 + 1 & 1);
                EXPECT("full.expect", &full[k % 3], 2048 + 256);
                LOAD_BOX("load.a", a[k % 3], &a_map, 16 * (k & 3), 0, &full[k % 3]);
                LOAD_BOX("load.b", b[k % 3], &b_map, 16 * (k & 3), 0, &full[k % 3]);
            }
        return;
    }
    float d[4] = {0, 0, 0, 0};
    MMA_FENCE("first.fence");
#pragma unroll 1
    for (int k = 0; k < 7; k++) {
        WAIT("full.wait", &full[k % 3], k / 3 & 1);
        DESCRIPTOR("a.layout", da, AT(a[k % 3]));
        DESCRIPTOR("b.layout", db, AT(b[k % 3]));
        MMA(da, db);
        MMA_COMMIT("commit");
        MMA_WAIT("wait", 1);
        if (k)
            ARRIVE("empty.arrive", &empty[(k - 1) % 3]);
    }
    MMA_WAIT("last.wait", 0);
    for (int j = 0; j < 4; j++)
        ((float *)out)[4 * threadIdx.x + j] = d[j];
}

// Matrix A comes from registers, which are written again for each step, and B comes from copies by a tensor map.
K registers(MAPS)
{
    __shared__ __align__(1024) unsigned char b[4][256];
    __shared__ u64 full;
    const int t = threadIdx.x;
    if (t == 0) {
        INIT("full.init", &full, 1);
        INIT_FENCE("init.fence");
    }
    SYNC("init.sync");
    if (t == 0) {
        EXPECT("full.expect", &full, 1024);
        LOAD_BOX("load0", b[0], &b_map, 0, 0, &full);
        LOAD_BOX("load1", b[1], &b_map, 16, 0, &full);
        LOAD_BOX("load2", b[2], &b_map, 32, 0, &full);
        LOAD_BOX("load3", b[3], &b_map, 48, 0, &full);
    }
    WAIT("full.wait", &full, 0);
    float d[4] = {0, 0, 0, 0};
    int r[4];
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        for (int j = 0; j < 4; j++)
            asm volatile("ld.global.u32 %0, [%1];" : "=r"(r[j]) : "l"(__cvta_generic_to_global(in + 4 * t + j + k)) : "memory");
        asm volatile("wgmma.fence.sync.aligned; // @fence\n"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])::"memory");
        DESCRIPTOR("layout", db, AT(b[k]));
        MMA_REGS(r, db);
        MMA_COMMIT("commit");
        asm volatile("wgmma.wait_group.sync.aligned 0; // @wait\n"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])::"memory");
    }
    for (int j = 0; j < 4; j++)
        ((float *)out)[4 * t + j] = d[j];
}

// Threads write the operands to shared memory, and scale the sums between two products.
K written(ARGS)
{
    __shared__ __align__(1024) int a[512], b[64];
    const int t = threadIdx.x;
    float d[4] = {0, 0, 0, 0};
#pragma unroll 1
    for (int k = 0; k < 3; k++) {
        for (int j = t; j < 512; j += 128)
            a[j] = in[j + k];
        if (t < 64)
            b[t] = in[t + k];
        PROXY("publish");
        SYNC("written");
        for (int j = 0; j < 4; j++)
            d[j] *= 0.5f;
        MMA_FENCE("fence");
        const u64 da = LAYOUT(AT(a)), db = LAYOUT(AT(b));
        MMA(da, db);
        MMA_COMMIT("commit");
        MMA_WAIT("wait", 0);
        SYNC("read");
    }
    for (int j = 0; j < 4; j++)
        ((float *)out)[4 * t + j] = d[j];
}

// One thread of a third warpgroup copies matrices, and two warpgroups multiply them. A bulk store writes the sums.
K epilogue(MAPS)
{
    __shared__ __align__(1024) unsigned char a[2][2048], b[2][256];
    __shared__ __align__(16) float c[2][512];
    __shared__ u64 full[2], empty[2];
    if (threadIdx.x == 0) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT("empty0.init", &empty[0], 2);
        INIT("empty1.init", &empty[1], 2);
        INIT_FENCE("init.fence");
    }
    SYNC("init.sync");
    const int group = threadIdx.x / 128, t = threadIdx.x % 128;
    if (group == 2) {
        if (t == 0)
#pragma unroll 1
            for (int k = 0; k < 4; k++) {
                WAIT("empty.wait", &empty[k & 1], k / 2 + 1 & 1);
                EXPECT("full.expect", &full[k & 1], 2048 + 256);
                LOAD_BOX("load.a", a[k & 1], &a_map, 16 * k, 0, &full[k & 1]);
                LOAD_BOX("load.b", b[k & 1], &b_map, 16 * k, 0, &full[k & 1]);
            }
        return;
    }
#pragma unroll 1
    for (int tile = 0; tile < 2; tile++) {
        float d[4] = {0, 0, 0, 0};
#pragma unroll 1
        for (int k = 2 * tile; k < 2 * tile + 2; k++) {
            WAIT("full.wait", &full[k & 1], k / 2 & 1);
            MMA_FENCE("fence");
            DESCRIPTOR("a.layout", da, AT(a[k & 1]));
            DESCRIPTOR("b.layout", db, AT(b[k & 1]));
            MMA(da, db);
            MMA_COMMIT("commit");
            MMA_WAIT("wait", 0);
            if (t == 0)
                ARRIVE("empty.arrive", &empty[k & 1]);
        }
        if (t == 0)
            BULK_READ("reuse.wait", 0);
        DO("bar.sync %0, 128;", "free", ::"r"(1 + group) : "memory");
        for (int j = 0; j < 4; j++)
            c[group][4 * t + j] = d[j];
        PROXY("publish");
        DO("bar.sync %0, 128;", "written", ::"r"(1 + group) : "memory");
        if (t == 0) {
            STORE("store", (float *)out + 1024 * tile + 512 * group, c[group], 2048);
            BULK_COMMIT("store.commit");
        }
    }
    if (t == 0)
        BULK_READ("last.wait", 0);
}

// Blocks of a cluster exchange sums: each sends its words to all, with two arrays and two mbarriers in turn. A block
// that has all words of a round knows that the other blocks have read the words of the round before.
CLUSTER(4) exchange(ARGS)
{
    __shared__ int box[2][8];
    __shared__ u64 full[2];
    const u32 t = threadIdx.x & 31, warp = threadIdx.x / 32, rank = rank_of();
    if (threadIdx.x == 0) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT_FENCE("init.fence");
    }
    CLUSTER_SYNC("init.sync");
    int mine = in[8 * rank + threadIdx.x % 8];
#pragma unroll 1
    for (int k = 0; k < 6; k++) {
        if (threadIdx.x == 0)
            EXPECT("full.expect", &full[k & 1], 32);
        if (t < 4)
            SEND("send", far(&box[k & 1][2 * rank + warp], t), mine, far(&full[k & 1], t));
        WAIT("full.wait", &full[k & 1], k / 2 & 1);
        int sum = 0;
        for (int j = 0; j < 8; j++)
            sum += box[k & 1][j];
        mine = __shfl_xor_sync(0xffffffff, sum, 1) / 2;
    }
    if (t == 0)
        out[2 * rank + warp] = mine;
    CLUSTER_SYNC("end.sync");
}

// Each of two blocks copies half of a tile to both blocks. A thread that has read frees the stage in both blocks. A
// release for its own block is enough, because the thread wrote nothing.
CLUSTER(2) multicast(ARGS)
{
    __shared__ __align__(128) int s[2][64];
    __shared__ u64 full[2], empty[2];
    const u32 t = threadIdx.x & 31, rank = rank_of();
    if (threadIdx.x == 0) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT("empty0.init", &empty[0], 2);
        INIT("empty1.init", &empty[1], 2);
        INIT_FENCE("init.fence");
    }
    CLUSTER_SYNC("init.sync");
    if (threadIdx.x == 0)
#pragma unroll 1
        for (int k = 0; k < 6; k++) {
            WAIT("empty.wait", &empty[k & 1], k / 2 + 1 & 1);
            EXPECT("full.expect", &full[k & 1], 256);
            LOAD_ALL("load", s[k & 1] + 32 * rank, in + 64 * k + 32 * rank, 128, &full[k & 1]);
        }
    if (threadIdx.x >= 32)
#pragma unroll 1
        for (int k = 0; k < 6; k++) {
            WAIT("full.wait", &full[k & 1], k / 2 & 1);
            out[rank * 512 + 64 * k + t] = s[k & 1][63 - t];
            SYNC_WARP("read");
            if (t < 2)
                ARRIVE_FAR("empty.arrive", far(&empty[k & 1], t));
        }
    CLUSTER_SYNC("end.sync");
}

// Like multicast, but for wgmma: both blocks share one matrix.
CLUSTER(2) shared_tile(MAPS)
{
    __shared__ __align__(1024) unsigned char a[2][2048], b[2][256];
    __shared__ u64 full[2], empty[2];
    const u32 rank = rank_of();
    if (threadIdx.x == 0) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT("empty0.init", &empty[0], 2);
        INIT("empty1.init", &empty[1], 2);
        INIT_FENCE("init.fence");
    }
    CLUSTER_SYNC("init.sync");
    if (threadIdx.x == 128)
#pragma unroll 1
        for (int k = 0; k < 4; k++) {
            WAIT("empty.wait", &empty[k & 1], k / 2 + 1 & 1);
            EXPECT("full.expect", &full[k & 1], 2048 + 256);
            LOAD_BOX("load.a", a[k & 1], &a_map, 16 * k, 0, &full[k & 1]);
            if (rank == 0)
                LOAD_BOX_ALL("load.b", b[k & 1], &b_map, 16 * k, 0, &full[k & 1]);
        }
    const u32 t = threadIdx.x;
    float d[4] = {0, 0, 0, 0};
    if (t < 128)
#pragma unroll 1
        for (int k = 0; k < 4; k++) {
            WAIT("full.wait", &full[k & 1], k / 2 & 1);
            MMA_FENCE("fence");
            DESCRIPTOR("a.layout", da, AT(a[k & 1]));
            DESCRIPTOR("b.layout", db, AT(b[k & 1]));
            MMA(da, db);
            MMA_COMMIT("commit");
            MMA_WAIT("wait", 0);
            if (t < 2)
                ARRIVE_FAR("empty.arrive", far(&empty[k & 1], t));
        }
    CLUSTER_SYNC("end.sync");
    if (t < 128)
        for (int j = 0; j < 4; j++)
            ((float *)out)[rank * 512 + 4 * t + j] = d[j];
}

// One block writes words to another block's shared memory by plain stores. Its arrival is a release for the cluster.
CLUSTER(2) handed(ARGS)
{
    __shared__ int box[32];
    __shared__ u64 full;
    const u32 t = threadIdx.x, rank = rank_of();
    if (t == 0) {
        INIT("full.init", &full, 32);
        INIT_FENCE("init.fence");
    }
    CLUSTER_SYNC("init.sync");
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(far(&box[t], rank ^ 1)), "r"(in[t]) : "memory");
    ARRIVE_RELEASE("full.arrive", far(&full, rank ^ 1));
    asm volatile("{\n.reg .pred p;\nL: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0; // @full.wait"
                 "\n@!p bra L;\n}\n" ::"r"(AT(&full)) : "memory");
    out[32 * rank + t] = box[31 - t];
    CLUSTER_SYNC("end.sync");
}

// Copies from one block's shared memory to another block's shared memory.
CLUSTER(2) pushed(ARGS)
{
    __shared__ __align__(128) int from[32], to[32];
    __shared__ u64 full;
    const u32 t = threadIdx.x, rank = rank_of();
    if (t == 0) {
        INIT("full.init", &full, 1);
        INIT_FENCE("init.fence");
        EXPECT("full.expect", &full, 128);
    }
    from[t] = in[32 * rank + t];
    PROXY("proxy");
    CLUSTER_SYNC("init.sync");
    if (t == 0)
        PUSH("push", far(to, rank ^ 1), from, 128, far(&full, rank ^ 1));
    WAIT("full.wait", &full, 0);
    out[32 * rank + t] = to[31 - t];
    CLUSTER_SYNC("end.sync");
}

// Like pushed, in several rounds without a barrier at the end. The reader tells the sender that it has read.
CLUSTER(2) acknowledged(ARGS)
{
    __shared__ __align__(128) int from[32], to[32];
    __shared__ u64 full, read;
    const u32 t = threadIdx.x, rank = rank_of();
    if (t == 0) {
        INIT("full.init", &full, 1);
        INIT("read.init", &read, 1);
        INIT_FENCE("init.fence");
    }
    CLUSTER_SYNC("init.sync");
#pragma unroll 1
    for (int k = 0; k < 3; k++) {
        from[t] = in[32 * rank + t] + k;
        PROXY("proxy");
        SYNC_WARP("written");
        if (t == 0) {
            EXPECT("full.expect", &full, 128);
            PUSH("push", far(to, rank ^ 1), from, 128, far(&full, rank ^ 1));
        }
        WAIT("full.wait", &full, k & 1);
        out[64 * k + 32 * rank + t] = to[31 - t];
        SYNC_WARP("done");
        if (t == 0)
            ARRIVE_FAR("read.arrive", far(&read, rank ^ 1));
        WAIT("read.wait", &read, k & 1);
    }
}

// All lanes of a warp issue the same store. It reads a buffer that a bulk load fills. The mbarrier of this buffer
// expects one arrival.
K whole_warp(MAPS)
{
    __shared__ __align__(1024) int s[512];
    __shared__ __align__(16) int r[64];
    __shared__ u64 full;
    const int t = threadIdx.x;
    if (t == 0) {
        INIT("full.init", &full, 1);
        INIT_FENCE("init.fence");
    }
    SYNC("init.sync");
#pragma unroll 1
    for (int k = 0; k < 3; k++) {
        if (t == 0) {
            LOAD("load", r, in + 64 * k, 256, &full);
            EXPECT("full.expect", &full, 256);
        }
        WAIT("full.wait", &full, k & 1);
        for (int j = t; j < 512; j += 64)
            s[j] = r[j % 64] + k;
        PROXY("publish");
        SYNC("written");
        if (t < 32) {
            STORE_BOX("store", &c_map, 16 * k, 0, s);
            STORE("plain.store", raw + 512 * k, s, 2048);
            BULK_COMMIT("commit");
            BULK_READ("read.wait", 0);
        }
        SYNC("free");
    }
}

// Threads read words beside the matrices before the product begins. One thread of each warp frees the stage after it.
K scaled(MAPS)
{
    __shared__ __align__(1024) unsigned char b[2][256];
    __shared__ __align__(16) int scale[2][64];
    __shared__ u64 full[2], empty[2];
    const int t = threadIdx.x;
    if (t == 0) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT("empty0.init", &empty[0], 4);
        INIT("empty1.init", &empty[1], 4);
        INIT_FENCE("init.fence");
    }
    SYNC("init.sync");
    if (t >= 128) {
        if (t == 128)
#pragma unroll 1
            for (int k = 0; k < 4; k++) {
                WAIT("empty.wait", &empty[k & 1], k / 2 + 1 & 1);
                EXPECT("full.expect", &full[k & 1], 256 + 256);
                LOAD("load.scale", scale[k & 1], in + 64 * k, 256, &full[k & 1]);
                LOAD_BOX("load.b", b[k & 1], &b_map, 16 * k, 0, &full[k & 1]);
            }
        return;
    }
    float sum[4] = {0, 0, 0, 0};
    int r[4] = {t, t, t, t};
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        float d[4] = {0, 0, 0, 0};
        WAIT("full.wait", &full[k & 1], k / 2 & 1);
        const float by = scale[k & 1][t / 2];
        MMA_FENCE("fence");
        DESCRIPTOR("b.layout", db, AT(b[k & 1]));
        MMA_REGS(r, db);
        MMA_COMMIT("commit");
        MMA_WAIT("wait", 0);
        if (t % 32 == 0)
            ARRIVE("empty.arrive", &empty[k & 1]);
        for (int j = 0; j < 4; j++)
            sum[j] += d[j] * by;
    }
    for (int j = 0; j < 4; j++)
        ((float *)out)[4 * t + j] = sum[j];
}

// In every second round only one stage of the ring is filled. The threads also meet at the mbarrier of the other stage.
K uneven(ARGS)
{
    __shared__ u64 full[2], empty[2];
    __shared__ __align__(16) int s[2][64];
    const int t = threadIdx.x - 32;
    if (threadIdx.x == 0) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT("empty0.init", &empty[0], 2);
        INIT("empty1.init", &empty[1], 2);
        INIT_FENCE("init.fence");
    }
    SYNC("init.sync");
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int k = 0; k < 6; k++) {
            WAIT("empty0.wait", &empty[0], k + 1 & 1);
            EXPECT("full0.expect", &full[0], 256);
            LOAD("load0", s[0], in + 128 * k, 256, &full[0]);
            WAIT("empty1.wait", &empty[1], k + 1 & 1);
            if (k & 1) {
                ARRIVE("full1.arrive", &full[1]);
            } else {
                EXPECT("full1.expect", &full[1], 256);
                LOAD("load1", s[1], in + 128 * k + 64, 256, &full[1]);
            }
        }
    } else if (t >= 0) {
#pragma unroll 1
        for (int k = 0; k < 6; k++) {
            WAIT("full0.wait", &full[0], k & 1);
            out[128 * k + t] = s[0][63 - t];
            SYNC_WARP("read0.syncwarp");
            if (t % 32 == 0)
                ARRIVE("empty0.arrive", &empty[0]);
            if (k & 1) {
                WAIT("skip.wait", &full[1], 1);
            } else {
                WAIT("full1.wait", &full[1], 0);
                out[128 * k + 64 + t] = s[1][63 - t];
            }
            SYNC_WARP("read1.syncwarp");
            if (t % 32 == 0)
                ARRIVE("empty1.arrive", &empty[1]);
        }
    }
}

// Like bulk_ring, but each mbarrier is tested early, and a thread waits only if the test fails.
K peeked(ARGS)
{
    __shared__ u64 full[2], empty[2];
    __shared__ __align__(16) int s[2][64];
    const int t = threadIdx.x - 32;
    if (threadIdx.x == 0) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT("empty0.init", &empty[0], 2);
        INIT("empty1.init", &empty[1], 2);
        INIT_FENCE("init.fence");
    }
    SYNC("init.sync");
    u32 done;
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int k = 0; k < 8; k++) {
            PEEK("empty.peek", done, &empty[k & 1], k / 2 + 1 & 1);
            if (!done)
                WAIT("empty.wait", &empty[k & 1], k / 2 + 1 & 1);
            EXPECT("full.expect", &full[k & 1], 256);
            LOAD("load", s[k & 1], in + 64 * k, 256, &full[k & 1]);
        }
    } else if (threadIdx.x >= 32) {
#pragma unroll 1
        for (int k = 0; k < 8; k++) {
            PEEK("full.peek", done, &full[k & 1], k / 2 & 1);
            if (!done)
                WAIT("full.wait", &full[k & 1], k / 2 & 1);
            out[64 * k + t] = s[k & 1][63 - t];
            dawdle();
            SYNC_WARP("release.syncwarp");
            if (t % 32 == 0)
                ARRIVE("empty.arrive", &empty[k & 1]);
        }
    }
}
