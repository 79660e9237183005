// tensor.cu - correct uses of tensor memory, from which tests/sim/test_mutants.c makes mutants. The head of idioms.cu
// says how. The products have 64 rows, 8 columns and K = 16, so a warp loads its part of D with one tcgen05.ld.
#include "tensor.h"

// One product of matrices that threads have written.
K t_once(ARGS)
{
    __shared__ __align__(1024) int a[512], b[64];
    __shared__ u64 done;
    __shared__ u32 base;
    const int t = threadIdx.x;
    if (t < 32) {
        ALLOC("alloc", &base, 32);
        RELINQUISH("relinquish");
    }
    if (t == 0)
        INIT("done.init", &done, 1);
    for (int j = t; j < 512; j += 128)
        a[j] = in[j];
    if (t < 64)
        b[t] = in[512 + t];
    PROXY("written.proxy");
    SYNC("written");
    const u32 d = *(volatile u32 *)&base;
    if (t == 0) {
        PRODUCT("mma", d, MATRIX(a), MATRIX(b), 0);
        TENSOR_COMMIT("commit", &done);
    }
    WAIT("done.wait", &done, 0);
    AFTER("done.after");
    u32 r[4];
    LD("ld", r, LANES(d, t));
    WAIT_LD("ld.wait", r);
    put(out, t, r);
    BEFORE("read.before");
    SYNC("read");
    if (t < 32)
        DEALLOC("dealloc", d, 32);
}

// Threads write the matrices again when the product that read them is complete.
K t_again(ARGS)
{
    __shared__ __align__(1024) int a[512], b[64];
    __shared__ u64 done;
    __shared__ u32 base;
    const int t = threadIdx.x;
    if (t < 32)
        ALLOC("alloc", &base, 64);
    if (t == 0)
        INIT("done.init", &done, 1);
    SYNC("begin");
    const u32 d = *(volatile u32 *)&base;
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        for (int j = t; j < 512; j += 128)
            a[j] = in[512 * k + j];
        if (t < 64)
            b[t] = in[64 * k + t];
        PROXY("written.proxy");
        SYNC("written");
        if (t == 0) {
            PRODUCT("mma", d, MATRIX(a), MATRIX(b), k);
            TENSOR_COMMIT("commit", &done);
        }
        WAIT("done.wait", &done, k & 1);
    }
    AFTER("done.after");
    u32 r[4];
    LD("ld", r, LANES(d, t));
    WAIT_LD("ld.wait", r);
    put(out, t, r);
    BEFORE("read.before");
    SYNC("read");
    if (t < 32)
        DEALLOC("dealloc", d, 64);
}

// One warp copies, one warp multiplies, four warps read the sums of two tiles in two accumulators.
K t_roles(MAPS)
{
    __shared__ __align__(1024) unsigned char a[2][2048], b[2][256];
    __shared__ u64 full[2], empty[2], sums[2], free_[2];
    __shared__ u32 base;
    const int t = threadIdx.x;
    if (t < 32) {
        ALLOC("alloc", &base, 32);
        RELINQUISH("relinquish");
    }
    if (t == 32) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT("empty0.init", &empty[0], 1);
        INIT("empty1.init", &empty[1], 1);
        INIT("sums0.init", &sums[0], 1);
        INIT("sums1.init", &sums[1], 1);
        INIT("free0.init", &free_[0], 128);
        INIT("free1.init", &free_[1], 128);
        INIT_FENCE("init.fence");
    }
    SYNC("begin");
    const u32 d = *(volatile u32 *)&base;
    if (t == 128) {
#pragma unroll 1
        for (int k = 0; k < 16; k++) {
            WAIT("empty.wait", &empty[k & 1], k / 2 + 1 & 1);
            EXPECT("full.expect", &full[k & 1], 2048 + 256);
            LOAD_BOX("load.a", a[k & 1], &a_map, 16 * (k & 3), 0, &full[k & 1]);
            LOAD_BOX("load.b", b[k & 1], &b_map, 16 * (k & 3), 0, &full[k & 1]);
        }
    } else if (t == 160) {
#pragma unroll 1
        for (int k = 0; k < 16; k++) {
            const int tile = k / 4;
            if (k % 4 == 0) {
                WAIT("free.wait", &free_[tile & 1], tile / 2 + 1 & 1);
                AFTER("free.after");
            }
            WAIT("full.wait", &full[k & 1], k / 2 & 1);
            AFTER("full.after");
            TENSOR_DESCRIPTOR("a.layout", da, AT(a[k & 1]));
            TENSOR_DESCRIPTOR("b.layout", db, AT(b[k & 1]));
            PRODUCT("mma", d + 16 * (tile & 1), da, db, k % 4);
            TENSOR_COMMIT("empty.commit", &empty[k & 1]);
            if (k % 4 == 3)
                TENSOR_COMMIT("sums.commit", &sums[tile & 1]);
        }
    } else if (t < 128) {
#pragma unroll 1
        for (int tile = 0; tile < 4; tile++) {
            u32 r[4];
            WAIT("sums.wait", &sums[tile & 1], tile / 2 & 1);
            AFTER("sums.after");
            LD("ld", r, LANES(d, t) + 16 * (tile & 1));
            WAIT_LD("ld.wait", r);
            BEFORE("free.before");
            ARRIVE("free.arrive", &free_[tile & 1]);
            put(out + 512 * tile, t, r);
        }
    }
    SYNC("end");
    if (t < 32)
        DEALLOC("dealloc", d, 32);
}

// Matrix A of a second product is in tensor memory. Four warps compute this matrix from the sums of the first product.
K t_chain(ARGS)
{
    __shared__ __align__(1024) int a[512], b[64], c[64];
    __shared__ u64 first, second, stored;
    __shared__ u32 base;
    const int t = threadIdx.x;
    if (t < 32)
        ALLOC("alloc", &base, 64);
    if (t == 0) {
        INIT("first.init", &first, 1);
        INIT("second.init", &second, 1);
        INIT("stored.init", &stored, 128);
    }
    for (int j = t; j < 512; j += 160)
        a[j] = in[j];
    if (t < 64) {
        b[t] = in[512 + t];
        c[t] = in[640 + t];
    }
    PROXY("written.proxy");
    SYNC("written");
    const u32 s = *(volatile u32 *)&base, p = s + 16, d = s + 32;
    if (t == 128) {
#pragma unroll 1
        for (int k = 0; k < 3; k++) {
            PRODUCT("first.mma", s, MATRIX(a), MATRIX(b), 0);
            TENSOR_COMMIT("first.commit", &first);
            WAIT("stored.wait", &stored, k & 1);
            AFTER("stored.after");
            PRODUCT_A("second.mma", d, p, MATRIX(c), k);
            TENSOR_COMMIT("second.commit", &second);
        }
    } else if (t < 128) {
        u32 r[4];
#pragma unroll 1
        for (int k = 0; k < 3; k++) {
            WAIT("first.wait", &first, k & 1);
            AFTER("first.after");
            LD("sums.ld", r, LANES(s, t));
            WAIT_LD("sums.wait", r);
            for (int j = 0; j < 4; j++)
                r[j] = r[j] >> 16;
            if (k) {
                WAIT("reused.wait", &second, k + 1 & 1);
                AFTER("reused.after");
            }
            ST("st", LANES(p, t), r);
            WAIT_ST("st.wait");
            BEFORE("stored.before");
            ARRIVE("stored.arrive", &stored);
        }
        WAIT("second.wait", &second, 0);
        AFTER("second.after");
        LD("ld", r, LANES(d, t));
        WAIT_LD("ld.wait", r);
        put(out, t, r);
    }
    BEFORE("read.before");
    SYNC("read");
    if (t < 32)
        DEALLOC("dealloc", s, 64);
}

// Warps hand values to other warps through tensor memory, and read back their own.
K t_handed(ARGS)
{
    __shared__ u32 base;
    const int t = threadIdx.x;
    u32 r[4];
    if (t < 32)
        ALLOC("alloc", &base, 32);
    SYNC("begin");
    const u32 at = LANES(*(volatile u32 *)&base, t);
    if (t < 128) {
        for (int j = 0; j < 4; j++)
            r[j] = in[4 * t + j];
        ST("st", at, r);
        WAIT_ST("st.wait");
        BEFORE("handed.before");
        SYNC("handed");
        LD("own.ld", r, at);
        WAIT_LD("own.wait", r);
        put(out, t, r);
        BEFORE("read.before");
        SYNC("read");
        SYNC("back");
        AFTER("back.after");
        LD("back.ld", r, at);
        WAIT_LD("back.wait", r);
        put(out + 1024, t, r);
    } else {
        SYNC("handed2");
        AFTER("handed.after");
        LD("ld", r, at);
        WAIT_LD("ld.wait", r);
        put(out + 512, t - 128, r);
        SYNC("read2");
        AFTER("read.after");
        for (int j = 0; j < 4; j++)
            r[j] += 7;
        ST("back.st", at, r);
        WAIT_ST("back.stored");
        BEFORE("back.before");
        SYNC("back2");
    }
    SYNC("end");
    if (t < 32)
        DEALLOC("dealloc", at, 32);
}

// A thread of another warp adds a product to the same accumulator. Two products of one shape need no wait between them.
K t_relay(ARGS)
{
    __shared__ __align__(1024) int a[512], b[64];
    __shared__ u64 done;
    __shared__ u32 base;
    const int t = threadIdx.x;
    if (t < 32)
        ALLOC("alloc", &base, 32);
    if (t == 0)
        INIT("done.init", &done, 2);
    for (int j = t; j < 512; j += 128)
        a[j] = in[j];
    if (t < 64)
        b[t] = in[512 + t];
    PROXY("written.proxy");
    SYNC("written");
    const u32 d = *(volatile u32 *)&base;
    if (t == 0) {
        PRODUCT("mma", d, MATRIX(a), MATRIX(b), 0);
        BEFORE("relay.before");
    }
    SYNC_SOME("relay", 1, 128);
    if (t == 32) {
        AFTER("relay.after");
        PRODUCT("next.mma", d, MATRIX(a), MATRIX(b), 1);
    }
    if (t == 0)
        TENSOR_COMMIT("commit", &done);
    else if (t == 32)
        TENSOR_COMMIT("next.commit", &done);
    WAIT("done.wait", &done, 0);
    AFTER("done.after");
    u32 r[4];
    LD("ld", r, LANES(d, t));
    WAIT_LD("ld.wait", r);
    put(out, t, r);
    BEFORE("read.before");
    SYNC("read");
    if (t < 32)
        DEALLOC("dealloc", d, 32);
}

// Two blocks multiply with the same matrix A. A stage is free when the products of both blocks have read it.
CLUSTER(2) t_shared(MAPS)
{
    __shared__ __align__(1024) unsigned char a[2][2048], b[2][256];
    __shared__ u64 full[2], empty[2], sums;
    __shared__ u32 base;
    const int t = threadIdx.x;
    const u32 rank = rank_of();
    if (t < 32)
        ALLOC("alloc", &base, 32);
    if (t == 32) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT("empty0.init", &empty[0], 2);
        INIT("empty1.init", &empty[1], 2);
        INIT("sums.init", &sums, 1);
        INIT_FENCE("init.fence");
    }
    CLUSTER_SYNC("begin");
    const u32 d = *(volatile u32 *)&base;
    if (t == 128) {
#pragma unroll 1
        for (int k = 0; k < 4; k++) {
            WAIT("empty.wait", &empty[k & 1], k / 2 + 1 & 1);
            EXPECT("full.expect", &full[k & 1], 2048 + 256);
            if (rank == (k & 1))
                LOAD_BOX_ALL("load.a", a[k & 1], &a_map, 16 * k, 0, &full[k & 1]);
            LOAD_BOX("load.b", b[k & 1], &b_map, 16 * k, 0, &full[k & 1]);
        }
    } else if (t == 160) {
#pragma unroll 1
        for (int k = 0; k < 4; k++) {
            WAIT("full.wait", &full[k & 1], k / 2 & 1);
            PRODUCT("mma", d, MATRIX(a[k & 1]), MATRIX(b[k & 1]), k);
            TENSOR_COMMIT_ALL("empty.commit", 1, &empty[k & 1]);
        }
        TENSOR_COMMIT("sums.commit", &sums);
    } else if (t < 128) {
        u32 r[4];
        WAIT("sums.wait", &sums, 0);
        AFTER("sums.after");
        LD("ld", r, LANES(d, t));
        WAIT_LD("ld.wait", r);
        put(out + 512 * rank, t, r);
    }
    BEFORE("read.before");
    SYNC("read");
    if (t < 32)
        DEALLOC("dealloc", d, 32);
    CLUSTER_SYNC("end");
}

// A pair of blocks computes one product of 128 rows. The first block issues it.
CLUSTER(2) t_pair(MAPS)
{
    __shared__ __align__(1024) unsigned char a[2][2048], b[2][256];
    __shared__ u64 full[2], empty[2], sums;
    __shared__ u32 base;
    const int t = threadIdx.x;
    const u32 rank = rank_of();
    if (t < 32)
        DO("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 32;", "alloc", ::"r"(AT(&base)) : "memory");
    if (t == 32) {
        INIT("full0.init", &full[0], 1);
        INIT("full1.init", &full[1], 1);
        INIT("empty0.init", &empty[0], 1);
        INIT("empty1.init", &empty[1], 1);
        INIT("sums.init", &sums, 1);
        INIT_FENCE("init.fence");
    }
    CLUSTER_SYNC("begin");
    const u32 d = *(volatile u32 *)&base;
    if (t == 128) {
#pragma unroll 1
        for (int k = 0; k < 4; k++) {
            const u32 bar = far(&full[k & 1], 0);
            WAIT("empty.wait", &empty[k & 1], k / 2 + 1 & 1);
            if (rank == 0)
                EXPECT("full.expect", &full[k & 1], 2 * (2048 + 256));
            DO("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];",
               "load.a", ::"r"(far(a[k & 1], rank)), "l"(&a_map), "r"(16 * k), "r"(0), "r"(bar) : "memory");
            DO("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];",
               "load.b", ::"r"(far(b[k & 1], rank)), "l"(&b_map), "r"(16 * k), "r"(0), "r"(bar) : "memory");
        }
    } else if (t == 160 && rank == 0) {
#pragma unroll 1
        for (int k = 0; k < 4; k++) {
            WAIT("full.wait", &full[k & 1], k / 2 & 1);
            asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\n"
                         "tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p; // @mma\n}\n" ::"r"(d),
                         "l"(MATRIX(a[k & 1])), "l"(MATRIX(b[k & 1])), "r"(SHAPE(128) + (1u << 17)), "r"(k)
                         : "memory");
            TENSOR_COMMIT_ALL("empty.commit", 2, &empty[k & 1]);
        }
        TENSOR_COMMIT_ALL("sums.commit", 2, &sums);
    } else if (t < 128) {
        u32 r[4];
        WAIT("sums.wait", &sums, 0);
        AFTER("sums.after");
        LD("ld", r, LANES(d, t));
        WAIT_LD("ld.wait", r);
        put(out + 512 * rank, t, r);
    }
    BEFORE("read.before");
    SYNC("read");
    if (t < 32)
        DO("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 32;", "dealloc", ::"r"(d) : "memory");
    CLUSTER_SYNC("end");
}

// Copies from shared memory to tensor memory. The threads read each copy before the next one writes there.
K t_copy(ARGS)
{
    __shared__ __align__(1024) int a[1024];
    __shared__ u64 done;
    __shared__ u32 base;
    const int t = threadIdx.x;
    if (t < 32)
        ALLOC("alloc", &base, 32);
    if (t == 0)
        INIT("done.init", &done, 1);
    SYNC("begin");
    const u32 d = *(volatile u32 *)&base;
#pragma unroll 1
    for (int k = 0; k < 3; k++) {
        u32 r[4];
        for (int j = t; j < 1024; j += 128)
            a[j] = in[256 * k + j];
        PROXY("written.proxy");
        BEFORE("written.before");
        SYNC("written");
        if (t == 0) {
            AFTER("written.after");
            DO("tcgen05.cp.cta_group::1.128x256b [%0], %1;", "cp", ::"r"(d), "l"(MATRIX(a)) : "memory");
            TENSOR_COMMIT("commit", &done);
        }
        WAIT("done.wait", &done, k & 1);
        AFTER("done.after");
        LD("ld", r, LANES(d, t));
        WAIT_LD("ld.wait", r);
        put(out + 512 * k, t, r);
    }
    SYNC("read");
    if (t < 32)
        DEALLOC("dealloc", d, 32);
}

// One warp multiplies and four warps read, with named barriers between them.
K t_named(ARGS)
{
    __shared__ __align__(1024) int a[512], b[64];
    __shared__ u64 done;
    __shared__ u32 base;
    const int t = threadIdx.x;
    if (t < 32)
        ALLOC("alloc", &base, 32);
    if (t == 0)
        INIT("done.init", &done, 1);
    for (int j = t; j < 512; j += 160)
        a[j] = in[j];
    if (t < 64)
        b[t] = in[512 + t];
    PROXY("written.proxy");
    SYNC("written");
    const u32 d = *(volatile u32 *)&base;
    if (t >= 128) {
#pragma unroll 1
        for (int k = 0; k < 3; k++) {
            if (t == 128) {
                PRODUCT("mma", d, MATRIX(a), MATRIX(b), 0);
                TENSOR_COMMIT("commit", &done);
            }
            WAIT("done.wait", &done, k & 1);
            AFTER("done.after");
            BEFORE("done.before");
            DO("bar.arrive 1, 160;", "done.arrive", ::: "memory");
            SYNC_SOME("free.sync", 2, 160);
            AFTER("free.after");
        }
    } else {
#pragma unroll 1
        for (int k = 0; k < 3; k++) {
            u32 r[4];
            SYNC_SOME("done.sync", 1, 160);
            AFTER("sync.after");
            LD("ld", r, LANES(d, t));
            WAIT_LD("ld.wait", r);
            BEFORE("free.before");
            DO("bar.arrive 2, 160;", "free.arrive", ::: "memory");
            put(out + 512 * k, t, r);
        }
    }
    SYNC("end");
    if (t < 32)
        DEALLOC("dealloc", d, 32);
}
