/* Tests the counters of tensor cores, asynchronous copies and mbarriers. Each test runs one instruction, and its shape
 * gives the expected numbers. */
#include "vm_check.h"
#include "vm_count.h"

enum { ROOM = 4096, MAP = 64 };

#define HEAD                                                                                                                           \
    ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .align 64 .b8 map[128], "                                \
    ".param .u64 memory)\n{\n.reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f64 %g<4>; .reg .pred %p<3>; .reg .b16 %h<2>;\n" \
    ".shared .align 1024 .b8 s[16384]; .shared .align 8 .b8 bar[8];\nmov.b64 %d0, 0x40; mov.b32 %r0, 0; mov.b32 %r1, 0;\n"             \
    "mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b64 %d1, map; cvta.param.u64 %d1, %d1; ld.param.u64 %d2, [memory];\n"                         \
    "mov.u32 %r4, %tid.x; shl.b32 %r4, %r4, 4; cvt.u64.u32 %d3, %r4; add.u64 %d3, %d2, %d3; mov.u32 %r5, s;\n"                         \
    "add.u32 %r5, %r5, %r4; mov.u32 %r6, s; mov.u32 %r7, bar;\n"

typedef struct one {
    kiln_counters c;
    vm_fault_kind kind;
} one;

/* Counts a kernel. If it has several blocks, they are one cluster. */
static one count_blocks(const char *lines, uint32_t threads, uint32_t blocks)
{
    one result = {0};
    kiln__text text = {0};
    kiln__text_printf(&text, "%s%sret;\n}\n", HEAD, lines);
    vm_bench b = vm_bench_text(kiln__text_get(&text), text.length, (vm_limits){.threads = 1});
    kiln__text_free(&text);
    vm_profile *profile = count_profile_new(NULL, b.module);
    CU_ASSERT_PTR_NOT_NULL_FATAL(profile);
    struct {
        vm_tensor_map map;
        unsigned char rest[VM_TENSOR_BYTES - sizeof(vm_tensor_map)];
        uint64_t memory;
    } params = {0};
    unsigned char *host;
    params.memory = vm_bench_zeros(&b, ROOM, &host);
    /* the tensor has 16 rows of 16 floats, and a box has 4 rows of 8 floats */
    params.map = (vm_tensor_map){.mark = VM_TENSOR_MAP,
                                 .rank = 2,
                                 .type = 7,
                                 .address = params.memory,
                                 .stride = {MAP},
                                 .last = {15, 15},
                                 .box = {8, 4},
                                 .step = {1, 1}};
    struct vm_watch watch = {.profile = profile};
    vm_launch launch = {.module = b.module,
                        .kernel = vm_module_kernel(b.module, "k"),
                        .grid = {blocks, 1, 1},
                        .cluster = {blocks, 1, 1},
                        .block = {threads, 1, 1},
                        .params = &params,
                        .hooks = &count_watch_hooks,
                        .watch = &watch};
    result.kind = vm_run(b.device, &launch, &b.counters, &b.fault);
    if (result.kind != VM_OK)
        fprintf(stderr, "%s: %s\n", lines, b.fault.message);
    count_profile_sum(profile, &result.c, NULL);
    count_profile_free(profile);
    vm_bench_end(&b);
    return result;
}

static one count(const char *lines, uint32_t threads) { return count_blocks(lines, threads, 1); }

static void is(int line, const char *field, uint64_t got, uint64_t want)
{
    if (got != want)
        fprintf(stderr, "%s:%d: %s is %llu, not %llu\n", __FILE__, line, field, (unsigned long long)got,
                (unsigned long long)want);
    CU_ASSERT_EQUAL(got, want);
}
#define IS(field, want) is(__LINE__, #field, k.c.field, want)

/* ---- tensor cores ---- */

static uint64_t tensor_sum(const kiln_counters *c)
{
    return c->tensor_fp16 + c->tensor_bf16 + c->tensor_tf32 + c->tensor_fp8 + c->tensor_fp64 + c->tensor_int8 +
           c->tensor_int4 + c->tensor_int1;
}

#define F4 "{%f0,%f1,%f2,%f3}"
#define R4 "{%r0,%r1,%r2,%r3}"
#define R2 "{%r0,%r1}"
#define R8 "{%r0,%r1,%r2,%r3,%r0,%r1,%r2,%r3}"
#define F8 "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}"
#define W "wgmma.mma_async.sync.aligned.m64n8"

/* Four warps compute one product of 64 rows as a warpgroup, or four separate products. */
static void products(void)
{
    static const struct {
        const char *line;
        size_t counter;
        uint64_t operations;
        bool sums, sparse, group;
    } table[] = {
#define C(name) offsetof(kiln_counters, name)
        {W "k16.f32.f16.f16 " F4 ", %d0, %d0, 1, 1, 1, 0, 0;", C(tensor_fp16), 2 * 64 * 8 * 16, false, false, true},
        {W "k16.f16.f16.f16 " R2 ", %d0, %d0, 1, 1, 1, 0, 0;", C(tensor_fp16), 2 * 64 * 8 * 16, true, false, true},
        {W "k16.f32.bf16.bf16 " F4 ", %d0, %d0, 1, 1, 1, 0, 0;", C(tensor_bf16), 2 * 64 * 8 * 16, false, false, true},
        {W "k8.f32.tf32.tf32 " F4 ", %d0, %d0, 1, 1, 1;", C(tensor_tf32), 2 * 64 * 8 * 8, false, false, true},
        {W "k32.f32.e4m3.e5m2 " F4 ", %d0, %d0, 1, 1, 1;", C(tensor_fp8), 2 * 64 * 8 * 32, false, false, true},
        {W "k32.s32.s8.s8 " R4 ", %d0, %d0, 1;", C(tensor_int8), 2 * 64 * 8 * 32, false, false, true},
        {W "k256.s32.b1.b1.and.popc " R4 ", %d0, %d0, 1;", C(tensor_int1), 2 * 64 * 8 * 256, false, false, true},
        {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 " F4 ", %d0, %d0, %r0, 0, 1, 1, 1, 0, 0;",
         C(tensor_fp16), 64 * 8 * 32, false, true, true},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " F4 ", " R4 ", " R2 ", " F4 ";", C(tensor_fp16),
         4 * 2 * 16 * 8 * 16, false, false, false},
        {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " F4 ", " R4 ", " R2 ", " F4 ";", C(tensor_tf32),
         4 * 2 * 16 * 8 * 8, false, false, false},
        {"mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 " F4 ", " R4 ", " R4 ", " F4 ", %r0, 0;",
         C(tensor_bf16), 4 * 16 * 8 * 32, false, true, false},
        {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g0,%g1}, {%g2}, {%g3}, {%g0,%g1};", C(tensor_fp64),
         4 * 2 * 8 * 8 * 4, false, false, false},
        {"mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 " R4 ", " R4 ", " R2 ", " R4 ";", C(tensor_int4),
         4 * 2 * 16 * 8 * 64, false, false, false},
        {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc " R4 ", " R4 ", " R2 ", " R4 ";", C(tensor_int1),
         4 * 2 * 16 * 8 * 256, false, false, false},
        /* each quarter of a warp has a separate product */
        {"mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 " R4 ", " R2 ", " R2 ", " R4 ";", C(tensor_fp16),
         4 * 4 * 2 * 8 * 8 * 4, true, false, false},
        {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 " F8 ", " R8 ", " R8 ", " F8 ";", C(tensor_fp16),
         4 * 2 * 16 * 16 * 16, false, false, false},
        {"add.f32 %f0, %f1, %f2;", C(tensor_fp16), 0, false, false, false},
#undef C
    };
    for (size_t n = 0; n < KILN__COUNT(table); n++) {
        uint64_t got, sum, want = table[n].operations;
        one k = count(table[n].line, 128);
        CU_ASSERT_EQUAL(k.kind, VM_OK);
        memcpy(&got, (const char *)&k.c + table[n].counter, sizeof got);
        sum = tensor_sum(&k.c);
        if (got != want || sum != want)
            fprintf(stderr, "%llu of %llu operations, not %llu: %s\n", (unsigned long long)got, (unsigned long long)sum,
                    (unsigned long long)want, table[n].line);
        CU_ASSERT(got == want && sum == want);
        IS(tensor_fp16_sums, table[n].sums ? want : 0);
        IS(tensor_sparse, table[n].sparse ? want : 0);
        IS(tensor_wgmma, table[n].group ? want : 0);
    }
}

/* ---- copies ---- */

static void nothing_bulk(const one *kept)
{
    const one k = *kept;
    IS(bulk_loads, 0), IS(bulk_stores, 0), IS(bulk_shared, 0), IS(bulk_by_map, 0), IS(mbarrier_waits, 0);
}

static void cp_async(void)
{
    one k = count("cp.async.cg.shared.global [%r5], [%d3], 16; cp.async.wait_all;", 64);
    IS(cp_async_requests, 2), IS(cp_async_bytes, 1024);
    /* the accesses also count as ordinary accesses */
    IS(global_load_bytes, 1024), IS(global_load_sectors, 32), IS(shared_store_bytes, 1024);
    nothing_bulk(&k);
    /* each thread copies four bytes and four zeros */
    k = count("cp.async.ca.shared.global [%r5], [%d3], 8, 4; cp.async.wait_all;", 40);
    IS(cp_async_requests, 2), IS(cp_async_bytes, 320), IS(global_load_bytes, 160);
}

#define INIT "mbarrier.init.shared.b64 [%r7], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r7], "
#define WAIT "mbarrier.test_wait.parity.shared.b64 %p0, [%r7], 0;\n"

static void bulk(void)
{
    one k = count(
        INIT "256;\n" WAIT
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%d2+16], 256, [%r7];\n" WAIT,
        1);
    CU_ASSERT_EQUAL(k.kind, VM_OK);
    IS(bulk_loads, 1), IS(bulk_load_bytes, 256), IS(bulk_load_read, 256), IS(bulk_load_sectors, 9);
    IS(bulk_stores, 0), IS(bulk_by_map, 0), IS(bulk_multicasts, 0);
    IS(mbarrier_waits, 1); /* the first test fails, because the bytes have not arrived yet */
    k = count("cp.async.bulk.global.shared::cta.bulk_group [%d2], [%r6], 64;\n", 2);
    IS(bulk_stores, 2), IS(bulk_store_bytes, 128), IS(bulk_store_sectors, 4), IS(bulk_loads, 0), IS(bulk_reductions, 0);
    k = count("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d2], [%r6], 64, 7;\n", 1);
    IS(bulk_stores, 1), IS(bulk_store_bytes, 12), IS(bulk_store_sectors, 2);
    k = count("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d2], [%r6], 64;\n", 1);
    IS(bulk_stores, 1), IS(bulk_store_bytes, 64), IS(bulk_reductions, 1);
    k = count(
        INIT "32;\n cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r6], [%r6+64], 32, [%r7];",
        1);
    IS(bulk_shared, 1), IS(bulk_shared_bytes, 32), IS(bulk_loads, 0), IS(bulk_stores, 0);
}

#define LOAD "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"

static void tensor(void)
{
    one k = count(INIT "128;\n" LOAD " [%r6], [%d1, {%r0, %r1}], [%r7];\n" WAIT, 1);
    CU_ASSERT_EQUAL(k.kind, VM_OK);
    IS(bulk_loads, 1), IS(bulk_by_map, 1), IS(bulk_load_bytes, 128), IS(bulk_load_read, 128), IS(bulk_load_sectors, 4);
    IS(mbarrier_waits, 1), IS(bulk_multicasts, 0), IS(bulk_stores, 0);
    /* At a corner, 2 rows of 4 floats of the box are inside the tensor. The rest of the box is zeros, which are not
     * read. */
    k = count(INIT "128;\n mov.b32 %r0, 12; mov.b32 %r1, 14;" LOAD " [%r6], [%d1, {%r0, %r1}], [%r7];\n", 1);
    IS(bulk_load_bytes, 128), IS(bulk_load_read, 32), IS(bulk_load_sectors, 2);
    /* two rows of 8 floats begin at the fifth float of a row, so each row is in two sectors */
    k = count(INIT "128;\n mov.b32 %r0, 4; mov.b32 %r1, 14;" LOAD " [%r6], [%d1, {%r0, %r1}], [%r7];\n", 1);
    IS(bulk_load_read, 64), IS(bulk_load_sectors, 4);
    k = count(INIT "128;\n mov.b32 %r3, 1; cvt.u16.u32 %h0, %r3;" LOAD
                   ".multicast::cluster [%r6], [%d1, {%r0, %r1}], [%r7], %h0;\n",
              1);
    IS(bulk_multicasts, 1), IS(bulk_load_bytes, 128), IS(bulk_load_read, 128);
    k = count("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d1, {%r0, %r1}], [%r6];\n", 1);
    IS(bulk_stores, 1), IS(bulk_by_map, 1), IS(bulk_store_bytes, 128), IS(bulk_store_sectors, 4), IS(bulk_loads, 0);
    k = count("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%d1, {%r0, %r1}], [%r6];\n", 1);
    IS(bulk_stores, 1), IS(bulk_reductions, 1), IS(bulk_store_bytes, 128);
}

/* One of two blocks reads the data for both blocks, and both blocks wait. */
static void multicast(void)
{
#define BOTH(copy)                                                                                                     \
    INIT "128;\n barrier.cluster.arrive; barrier.cluster.wait;\n mov.u32 %r8, %cluster_ctarank;\n"                     \
         "setp.ne.u32 %p1, %r8, 0; mov.b32 %r3, 3; cvt.u16.u32 %h0, %r3; @%p1 bra W;\n" copy                           \
         "W: mbarrier.try_wait.parity.shared.b64 %p0, [%r7], 0; @!%p0 bra W;\n"                                        \
         "barrier.cluster.arrive; barrier.cluster.wait;\n"
    static const char *const copies[] = {
        BOTH(LOAD ".multicast::cluster [%r6], [%d1, {%r0, %r1}], [%r7], %h0;\n"),
        BOTH("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r6], [%d2], 128, "
             "[%r7], %h0;\n")};
    for (unsigned n = 0; n < 2; n++) {
        one k = count_blocks(copies[n], 1, 2);
        CU_ASSERT_EQUAL(k.kind, VM_OK);
        IS(bulk_loads, 1), IS(bulk_multicasts, 1), IS(bulk_by_map, n == 0);
        IS(bulk_load_bytes, 256), IS(bulk_load_read, 128), IS(bulk_load_sectors, 4), IS(mbarrier_waits, 2);
    }
}

static const check_case tests[] = {{"products", products},
                                   {"cp.async", cp_async},
                                   {"bulk copies", bulk},
                                   {"tensor maps", tensor},
                                   {"multicast", multicast}};
KILN_SUITE("sim.vm_engines", tests)
