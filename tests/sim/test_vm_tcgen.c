/* Tests tensor memory: allocation, the shapes of tcgen05.ld and tcgen05.st, commit, and the faults of these
 * instructions. The expected places of registers follow from the strides in the drawings of the PTX ISA, and not from
 * the simulator's code. */
#include "tcgen.h"
#include "vm_checks.h"

/* ---- shapes ---- */

typedef struct shape {
    const char *name;
    unsigned registers; /* of .x1 */
    unsigned most;      /* the largest N of .xN */
} shape;
static const shape shapes[] = {
    {"32x32b", 1, 128}, {"16x64b", 1, 128}, {"16x128b", 2, 64}, {"16x256b", 4, 32}, {"16x32bx2", 1, 128}};
enum { SPLIT_SHAPE = 4 };

/* Returns the lane and the 32-bit element of register r of a thread, as sums of strides. */
static void place_of(unsigned s, unsigned r, unsigned thread, unsigned *lane, unsigned *element)
{
    switch (s) {
    case 0: *lane = thread, *element = r; return;
    /* the three parts of the thread number have strides of 8 lanes, one element and one lane; the register has a stride */
    /* of two elements */
    case 1:
        *lane = (thread & 1) * 8 + (thread >> 2);
        *element = (thread >> 1 & 1) + 2 * r;
        return;
    /* the two parts of the thread number have strides of one element and one lane; the parts of the register have */
    /* strides of 8 lanes and four elements */
    case 2:
        *lane = (thread >> 2) + 8 * (r & 1);
        *element = (thread & 3) + 4 * (r >> 1);
        return;
    /* the two parts of the thread number have strides of two elements and one lane; the parts of the register have */
    /* strides of one element, 8 lanes and eight elements */
    case 3:
        *lane = (thread >> 2) + 8 * (r >> 1 & 1);
        *element = 2 * (thread & 3) + (r & 1) + 8 * (r >> 2);
        return;
    /* the second half of the warp is further by the distance of the two accesses */
    default: *lane = thread & 15, *element = r; return;
    }
}

/* Returns the distance between the two accesses of .16x32bx2. They must not overlap. */
static unsigned get_split(unsigned n, bool packed)
{
    const unsigned span = n * (packed ? 2 : 1);
    return span < 200 ? span + 5 : span;
}

/* Returns the first column of the test. It is not 0, unless the shape takes all columns. */
static unsigned first_column(unsigned s, unsigned n, bool packed)
{
    static const unsigned columns[] = {1, 2, 4, 8, 2};
    return columns[s] * n * (packed ? 2 : 1) == COLUMNS ? 0 : 3;
}

/* Writes a kernel that fills tensor memory, loads or stores one set of registers with the shape, and returns tensor
 * memory and registers. */
static void write_shape(kiln__text *text, unsigned s, unsigned n, bool packed, bool store)
{
    const unsigned count = shapes[s].registers * n;
    char distance[16] = "";
    if (s == SPLIT_SHAPE)
        snprintf(distance, sizeof distance, ", %u", get_split(n, packed));
    kiln__text_puts(text, TCGEN_HEAD TCGEN_KERNEL("k") TCGEN_ALLOC(512) "ld.global.u64 %d1, [%d0];\n");
    tcgen_all(text, "fill", true);
    /* If a shape has 16 lanes, the test uses the second half of the warp's quarter. If registers are packed, the
     * address does not contain the warp's quarter, which the hardware does not need. */
    kiln__text_printf(text,
                      "%s %u; ld.global.u64 %%d1, [%%d0+8]; mul.wide.u32 %%d2, %%r0, %u;\n"
                      "add.u64 %%d2, %%d1, %%d2;\n",
                      packed ? "mov.u32 %r12," : "add.u32 %r12, %r2,", (s ? 16u << 16 : 0) + first_column(s, n, packed),
                      4 * count);
    for (unsigned k = 0; k < count && store; k++)
        kiln__text_printf(text, "ld.global.u32 %%v%u, [%%d2+%u];\n", k, 4 * k);
    if (store) {
        kiln__text_printf(text, "tcgen05.st.sync.aligned.%s.x%u%s.b32 [%%r12]%s, ", shapes[s].name, n,
                          packed ? ".unpack::16b" : "", distance);
        tcgen_vector(text, count);
        kiln__text_puts(text, "; tcgen05.wait::st.sync.aligned;\n");
    } else {
        kiln__text_printf(text, "tcgen05.ld.sync.aligned.%s.x%u%s.b32 ", shapes[s].name, n, packed ? ".pack::16b" : "");
        tcgen_vector(text, count);
        kiln__text_printf(text, ", [%%r12]%s; tcgen05.wait::ld.sync.aligned;\n", distance);
    }
    for (unsigned k = 0; k < count && !store; k++)
        kiln__text_printf(text, "st.global.u32 [%%d2+%u], %%v%u;\n", 4 * k, k);
    kiln__text_puts(text, "ld.global.u64 %d1, [%d0+16];\n");
    tcgen_all(text, "show", false);
    kiln__text_puts(text, TCGEN_FREE(512) "ret;\n}\n");
}

static void check_shape(unsigned s, unsigned n, bool packed, bool store)
{
    const unsigned count = shapes[s].registers * n, each = packed ? 2 : 1;
    kiln__text text = {0};
    write_shape(&text, s, n, packed, store);
    vm_bench b = vm_bench_text(kiln__text_get(&text), text.length, (vm_limits){.cc = 100});
    uint32_t *fill, *registers, *shown, seed = 3 + 10 * s + n, wrong = 0;
    uint64_t *pointers, address[3];
    address[0] = vm_bench_zeros(&b, CELLS * 4, &fill);
    address[1] = vm_bench_zeros(&b, WARPGROUP * 4 * count, &registers);
    address[2] = vm_bench_zeros(&b, CELLS * 4, &shown);
    const uint64_t list = vm_bench_zeros(&b, sizeof address, &pointers);
    memcpy(pointers, address, sizeof address);
    for (unsigned k = 0; k < CELLS; k++)
        fill[k] = tcgen_seed(&seed) ^ tcgen_seed(&seed) << 16;
    for (unsigned k = 0; k < WARPGROUP * count && store; k++)
        registers[k] = tcgen_seed(&seed) ^ tcgen_seed(&seed) << 16;
    uint32_t *want = kiln__calloc(NULL, CELLS, 4);
    CU_ASSERT_PTR_NOT_NULL_FATAL(want);
    memcpy(want, fill, CELLS * 4);
    vm_bench_run(&b, "k", 1, WARPGROUP, &list);
    for (unsigned t = 0; t < WARPGROUP; t++)
        for (unsigned r = 0; r < count; r++) {
            unsigned lane, element;
            place_of(s, r, t % 32, &lane, &element);
            lane += t / 32 * 32 + (s ? 16 : 0);
            uint32_t *cell = want + lane * COLUMNS + first_column(s, n, packed) + element * each;
            cell += s == SPLIT_SHAPE && t % 32 >= 16 ? get_split(n, packed) : 0;
            const uint32_t value = registers[t * count + r];
            if (store) {
                cell[0] = packed ? value & 0xffff : value;
                if (packed)
                    cell[1] = value >> 16;
            } else {
                wrong += value != (packed ? (cell[0] & 0xffff) | cell[1] << 16 : cell[0]);
            }
        }
    wrong += (uint32_t)memcmp(want, shown, CELLS * 4);
    if (wrong)
        fprintf(stderr, ".%s.x%u%s, %s: wrong\n", shapes[s].name, n, packed ? " packed" : "", store ? "st" : "ld");
    CHECK(!wrong);
    kiln__free(NULL, want);
    kiln__text_free(&text);
    vm_bench_end(&b);
}

/* With compiled code, vectors have at most 2 times the registers of .x1, because LLVM takes most of a second for the
 * longest vectors. */
static void test_shapes(void)
{
    const bool compiled = getenv("KILN_SIM_JIT") != NULL;
    for (unsigned s = 0; s < KILN__COUNT(shapes); s++)
        for (unsigned n = 1; n <= (compiled ? 2 : shapes[s].most); n *= 2)
            for (unsigned how = 0; how < 4; how++)
                check_shape(s, n, how & 1, how & 2);
}

/* ---- allocation ---- */

typedef struct outcome {
    const char *body;
    const char *fault; /* a part of the message, or NULL if there is no fault */
    vm_fault_kind kind;
    uint32_t out[4];
} outcome;

static void check_outcome(const outcome *o, uint32_t threads, uint32_t blocks)
{
    kiln__text text = {0};
    kiln__text_printf(&text, "%s%s%s\nret;\n}\n", TCGEN_HEAD, TCGEN_KERNEL("k"), o->body);
    vm_bench b = vm_bench_text(kiln__text_get(&text), text.length, (vm_limits){.cc = 100});
    uint32_t *out;
    const uint64_t address = vm_bench_zeros(&b, 256, &out);
    const vm_fault_kind kind = vm_bench_try(&b, "k", blocks, threads, &address, 1024);
    const bool right = kind == o->kind && (!o->fault || strstr(b.fault.message, o->fault)) &&
                       (o->fault || memcmp(out, o->out, sizeof o->out) == 0);
    if (!right)
        fprintf(stderr, "%s:\n  %d %s; %x %x %x %x\n", o->body, (int)kind, b.fault.message, out[0], out[1], out[2],
                out[3]);
    CHECK(right);
    kiln__text_free(&text);
    vm_bench_end(&b);
}

#define GET(columns) "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], " #columns "; ld.shared.u32 "
#define PUT(register, columns) "tcgen05.dealloc.cta_group::1.sync.aligned.b32 " register ", " #columns ";\n"
#define GIVE_UP "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"

static void test_allocation(void)
{
    static const outcome one_warp[] = {
        /* an allocation gets the lowest free columns, even if they were freed before */
        {GET(32) "%r4, [base];" GET(64) "%r5, [base];" GET(256) "%r6, [base];" PUT("%r5", 64)
             GET(32) "%r7, [base];\n"
                     "st.global.v4.u32 [%d0], {%r4, %r5, %r6, %r7};" PUT("%r4", 32) PUT("%r6", 256) PUT("%r7", 32),
         NULL,
         VM_OK,
         {0, 32, 96, 32}},
        {GET(512) "%r4, [base]; st.global.u32 [%d0], %r4;" GIVE_UP PUT("%r4", 512), NULL, VM_OK, {0}},
        {GIVE_UP GET(32) "%r4, [base];", "given up its right to allocate", VM_FAULT_INSTRUCTION, {0}},
        {GET(48) "%r4, [base];", "powers of two from 32 to 512", VM_FAULT_INSTRUCTION, {0}},
        {GET(16) "%r4, [base];", "powers of two from 32 to 512", VM_FAULT_INSTRUCTION, {0}},
        {GET(1024) "%r4, [base];", "powers of two from 32 to 512", VM_FAULT_INSTRUCTION, {0}},
        {GET(64) "%r4, [base];" PUT("%r4", 32), "no such allocation", VM_FAULT_ADDRESS, {0}},
        {GET(64) "%r4, [base]; add.u32 %r4, %r4, 32;" PUT("%r4", 32), "no such allocation", VM_FAULT_ADDRESS, {0}},
        {GET(64) "%r4, [base];" PUT("%r4", 64) PUT("%r4", 64), "no such allocation", VM_FAULT_ADDRESS, {0}},
        {"mov.u32 %r4, 0;" PUT("%r4", 32), "no such allocation", VM_FAULT_ADDRESS, {0}},
        {"mov.u32 %r4, 0xffffffff;" PUT("%r4", 32), "no such allocation", VM_FAULT_ADDRESS, {0}},
        {"add.u32 %r4, %r0, 32; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], %r4;",
         "lanes of a warp have different numbers of columns",
         VM_FAULT_INSTRUCTION,
         {0}},
        {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [0x7ffffff0], 32;",
         "invalid write",
         VM_FAULT_ADDRESS,
         {0}},
        {"tcgen05.alloc.cta_group::1.sync.aligned.b32 [%d0], 32; ld.global.u32 %r4, [%d0];" PUT("%r4", 32),
         NULL,
         VM_OK,
         {0}},
        {GET(512) "%r4, [base];" GET(32) "%r5, [base];", "deadlock", VM_FAULT_DEADLOCK, {0}},
    };
    for (size_t k = 0; k < KILN__COUNT(one_warp); k += vm_bench_step())
        check_outcome(&one_warp[k], 32, 1);
    /* The second warp waits until the first warp frees its columns. The first warp must not see values that the second
     * one writes later. */
    static const outcome two_warps = {
        "setp.eq.u32 %p1, %r1, 1; @%p1 bra second;\n" GET(
            512) "%r4, [base]; bar.sync 1, 64;\n"
                 "mov.u32 %r5, 0; again: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 5000; @%p2 bra again;\n"
                 "mov.u32 %r6, 7; st.volatile.shared.u32 [s], %r6;" PUT(
                     "%r4",
                     512) "bra done;\n"
                          "second: bar.sync 1, 64; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;\n"
                          "ld.volatile.shared.u32 %r7, [s]; ld.shared.u32 %r4, [base]; st.global.v2.u32 [%d0], {%r7, %r4};" PUT(
                              "%r4", 32) "done:",
        NULL,
        VM_OK,
        {7, 0}};
    check_outcome(&two_warps, 64, 1);
    /* Tests that each block has its own tensor memory. */
    static const outcome blocks = {
        GET(512) "%r4, [base]; mov.u32 %r5, 1; red.global.add.u32 [%d0], %r5;" PUT("%r4", 512), NULL, VM_OK, {64}};
    check_outcome(&(outcome){blocks.body, NULL, VM_OK, {40 * 32}}, 32, 40);
}

/* ---- faults of ld and st ---- */

#define LD "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, "
#define ST "tcgen05.st.sync.aligned.32x32b.x2.b32 "

static void test_faults(void)
{
    static const outcome table[] = {
        {TCGEN_ALLOC(32) LD "[%r2];" ST "[%r2+30], {%r20, %r21};" TCGEN_FREE(32), NULL, VM_OK, {0}},
        {LD "[%r2];", "the block has not allocated this column", VM_FAULT_ADDRESS, {0}},
        {TCGEN_ALLOC(32) LD "[%r2+31];", "column 32: the block has not allocated this column", VM_FAULT_ADDRESS, {0}},
        {TCGEN_ALLOC(32) ST "[%r2+32], {%r20, %r21};", "column 32: the block has not", VM_FAULT_ADDRESS, {0}},
        {TCGEN_ALLOC(512) LD "[%r2+511];", "tensor memory has 512 columns", VM_FAULT_ADDRESS, {0}},
        {TCGEN_ALLOC(512) LD "[%r2+65535];", "tensor memory has 512 columns", VM_FAULT_ADDRESS, {0}},
        {TCGEN_ALLOC(32) TCGEN_FREE(32) "bar.sync 0;" LD "[%r2];", "this column was freed", VM_FAULT_ADDRESS, {0}},
        /* each warp accesses its own quarter of the lanes */
        {TCGEN_ALLOC(32) LD "[%r3];" TCGEN_FREE(32), NULL, VM_OK, {0}},
        {TCGEN_ALLOC(32) "mov.u32 %r4, 0x200000;" LD "[%r4];",
         "accesses the 32 lanes from 32 on of tensor memory (address 0x200000): it reaches lanes",
         VM_FAULT_ADDRESS,
         {0}},
        {TCGEN_ALLOC(32) "add.u32 %r4, %r2, 0x100000;" LD "[%r4];",
         "the first lane is a multiple of 32",
         VM_FAULT_ADDRESS,
         {0}},
        {TCGEN_ALLOC(32) "add.u32 %r4, %r2, 0x80000; tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r20}, [%r4];",
         "the first lane is a multiple of 16",
         VM_FAULT_ADDRESS,
         {0}},
        {TCGEN_ALLOC(32) "mov.u32 %r4, 0xffe00000;" LD "[%r4];", "it reaches lanes", VM_FAULT_ADDRESS, {0}},
        {TCGEN_ALLOC(32) "add.u32 %r4, %r2, %r0;" LD "[%r4];",
         "different addresses of tensor memory",
         VM_FAULT_INSTRUCTION,
         {0}},
        {TCGEN_ALLOC(32) "tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r20}, [%r2], 31;" TCGEN_FREE(32), NULL, VM_OK, {0}},
        {TCGEN_ALLOC(32) "tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r20}, [%r2], 32;",
         "column 32: the block has not",
         VM_FAULT_ADDRESS,
         {0}},
        {TCGEN_ALLOC(32) "tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r20}, [%r2+65535], 1;",
         "tensor memory",
         VM_FAULT_ADDRESS,
         {0}},
        /* A commit makes one arrival at one mbarrier. */
        {"mbarrier.init.shared.b64 [bar], 32; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
         "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r4, 1, 0, %p1; st.global.u32 [%d0], %r4;",
         NULL,
         VM_OK,
         {1}},
        {"mbarrier.init.shared.b64 [bar], 32; mov.u32 %r4, bar; cvt.u64.u32 %d4, %r4; cvta.shared.u64 %d4, %d4;\n"
         "mov.u16 %h0, 1; tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [%d4], %h0;\n"
         "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r4, 1, 0, %p1; st.global.u32 [%d0], %r4;",
         NULL,
         VM_OK,
         {1}},
        /* Without a state space the address is generic, but a GPU takes only its lower half, which is a shared address. */
        {"mbarrier.init.shared.b64 [bar], 32; mov.u64 %d4, bar; tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%d4];\n"
         "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r4, 1, 0, %p1; st.global.u32 [%d0], %r4;",
         NULL,
         VM_OK,
         {1}},
        {"mbarrier.init.shared.b64 [bar], 33; tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%d4];",
         "",
         VM_FAULT_ADDRESS,
         {0}},
        {"mov.u32 %r4, s; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];",
         "no initialised mbarrier",
         VM_FAULT_INSTRUCTION,
         {0}},
        {"mbarrier.init.shared.b64 [bar], 32; mov.u16 %h0, 2;\n"
         "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], %h0;",
         "multicast with the block mask 0x2 in a cluster of 1 block",
         VM_FAULT_INSTRUCTION,
         {0}},
    };
    for (size_t k = 0; k < KILN__COUNT(table); k += vm_bench_step())
        check_outcome(&table[k], strstr(table[k].body, "mbarrier") ? 32 : WARPGROUP, 1);
}

/* One thread commits many times, and waits after each commit. The other warps wait for the same phases. They must see
 * each phase before the next one is complete, because otherwise they wait for ever. */
static void test_phases(void)
{
    static const outcome phases = {
        "setp.ne.u32 %p2, %r0, 0; @%p2 bra begun; mbarrier.init.shared.b64 [bar], 1; begun: bar.sync 0; mov.u32 %r4, 0;\n"
        "again: and.b32 %r5, %r4, 1; @%p2 bra wait;\n"
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
        "wait: mbarrier.try_wait.parity.shared.b64 %p3, [bar], %r5; @!%p3 bra wait;\n"
        "add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 7; @%p4 bra again; st.global.u32 [%d0], %r4;",
        NULL,
        VM_OK,
        {7}};
    check_outcome(&phases, WARPGROUP, 1);
}

/* ---- kernels under the checks ---- */

/* Runs a kernel of one block under the checks. Returns the number of findings, and sets *text to the text of the last
 * one. */
static unsigned find_errors(const char *body, char text[512], uint32_t threads)
{
    kiln__text source = {0}, log = {0};
    kiln__text_printf(&source, "%s%s%s\nret;\n}\n", TCGEN_HEAD, TCGEN_KERNEL("k"), body);
    const vm_limits limits = {
        .memory = 1u << 20, .shared_per_block = 227u << 10, .step_budget = 1u << 22, .sm_count = 4, .cc = 100};
    vm_device *device = vm_device_new(NULL, &limits);
    vm_check *check = check_new(NULL);
    ptx_module *ptx = NULL;
    vm_module *module = NULL;
    unsigned errors = 0;
    CU_ASSERT_FATAL(device != NULL && check != NULL);
    check_attach(device, check);
    CU_ASSERT_FATAL(ptx_parse(NULL, kiln__text_get(&source), source.length, &ptx, &log) == PTX_OK);
    CU_ASSERT_FATAL(decode_module_load(device, ptx, &module, &log) == PTX_OK);
    const uint64_t address = vm_alloc(device, 256);
    struct vm_watch watch = {.checks = &check_hooks};
    vm_launch launch = {.module = module,
                        .kernel = vm_module_kernel(module, "k"),
                        .grid = {1, 1, 1},
                        .block = {threads, 1, 1},
                        .params = &address,
                        .hooks = &count_watch_hooks,
                        .watch = &watch};
    vm_fault fault = {0};
    vm_counters counters;
    vm_run(device, &launch, &counters, &fault);
    snprintf(text, 512, "%s", fault.message);
    for (size_t k = 0; k < check_count_findings(check); k++) {
        const kiln_check_finding *f = check_get_finding(check, k);
        if (!f->note && ++errors)
            snprintf(text, 512, "%s: %s", kiln_check_text(f->kind), f->message);
    }
    vm_module_unload(device, module);
    vm_device_free(device);
    check_free(check);
    kiln__text_free(&source);
    kiln__text_free(&log);
    return errors;
}

#define ROUND(n, commit)                                                                                               \
    "@!%p1 bra after" #n ";\n" commit "after" #n ": wait" #n ": mbarrier.try_wait.parity.shared.b64 %p2, [bar], " #n   \
    "; @!%p2 bra wait" #n "; bar.sync 0;\n"
#define BEGIN "setp.eq.u32 %p1, %r0, 0; @!%p1 bra begun; mbarrier.init.shared.b64 [bar], 1; begun: bar.sync 0;\n"
#define ARRIVE "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
#define ARRIVE_AT "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%d4];\n"

#define FILL(column)                                                                                                   \
    "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r2+" #column "], {%r0, %r0}; tcgen05.wait::st.sync.aligned;\n"

/* The checks count a commit as an arrival. So two phases of an mbarrier complete, but a phase without a commit stays
 * open. */
static void test_checks(void)
{
    char text[512];
    unsigned errors = find_errors(BEGIN ROUND(0, ARRIVE) ROUND(1, ARRIVE), text, 32);
    if (errors)
        fprintf(stderr, "%s\n", text);
    CHECK(errors == 0 && !text[0]);
    errors = find_errors(BEGIN "mov.u64 %d4, bar; cvta.shared.u64 %d4, %d4;\n" ROUND(0, ARRIVE_AT), text, 32);
    CHECK(errors == 0 && !text[0]);
    errors = find_errors(BEGIN "mov.u64 %d4, bar;\n" ROUND(0, ARRIVE_AT), text, 32);
    CHECK(errors == 1 && strstr(text, "takes a generic address, and 0x") && strstr(text, "write .shared::cluster"));
    errors = find_errors(BEGIN ROUND(0, ARRIVE) ROUND(1, ""), text, 32);
    CHECK(errors == 1 && strstr(text, "barrier misuse: a wait for parity 1 of an mbarrier never ends"));
    /* An access that is a fault without the checks is also a fault with them. */
    errors = find_errors(GET(32) "%r4, [base];" LD "[%r2+32];" PUT("%r4", 32), text, 32);
    CHECK(errors == 1 && strstr(text, "the block has not allocated this column"));
    errors = find_errors(GET(32) "%r4, [base];" FILL(30) LD "[%r2+30];" PUT("%r4", 32), text, 32);
    CHECK(errors == 0 && !text[0]);
}

#define PHASE(label, parity)                                                                                           \
    "mbarrier.arrive.shared.b64 _, [bar]; " label ": mbarrier.try_wait.parity.shared.b64 %p2, [bar], " parity          \
    "; @!%p2 bra " label ";\n"
#define PHASES(name) PHASE(name "0", "0") PHASE(name "1", "1") PHASE(name "2", "0")
#define TWO_ROLES(arrivals)                                                                                            \
    "setp.eq.u32 %p1, %r0, 0; @!%p1 bra begun; mbarrier.init.shared.b64 [bar], " arrivals "; begun: bar.sync 0;\n"     \
    "setp.eq.u32 %p3, %r0, 32; @%p3 bra second; @!%p1 bra done;\n" PHASES("first") "bra done;\nsecond:\n"

/* A thread that waits for a phase must also be needed for the next phase. Otherwise the next phase may complete before
 * the thread waits. */
static void test_late_wait(void)
{
    char text[512];
    unsigned errors = find_errors(TWO_ROLES("2") PHASES("other") "done:", text, 64);
    CHECK(errors == 0 && !text[0]);
    errors = find_errors(TWO_ROLES("1") "mov.u32 %r5, 0; again: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 5000;\n"
                                        "@%p2 bra again; late: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n"
                                        "@!%p2 bra late; done:",
                         text, 64);
    if (errors != 1)
        fprintf(stderr, "%u errors, %s\n", errors, text);
    CHECK(errors == 1 &&
          strstr(text, "a wait for parity 0 of an mbarrier comes too late: the thread waits for phase 0"));
}

/* Executes a product with the instruction descriptor `d`. */
#define PRODUCT(sparse, metadata, d)                                                                                   \
    GET(64)                                                                                                            \
    "%r4, [base]; mov.u32 %r20, " d "; mov.u64 %d5, 0x400000000000; setp.ne.u32 %p4, %r0, %r0;\n"                      \
    "tcgen05.mma" sparse ".cta_group::1.kind::f16 [%r4], %d5, %d5, " metadata "%r20, %p4;\n"

/* A violation of each rule of tensor memory must be a finding of a separate kind. Bodies without a finding obey the
 * rules. */
static void test_rules(void)
{
    static const struct {
        const char *body, *finding; /* finding: NULL: none */
    } table[] = {
        {GIVE_UP GET(32) "%r4, [base];", "tensor memory phase: tcgen05.alloc of 32 columns: the block has given up"},
        {GET(32) "%r4, [base];" GIVE_UP PUT("%r4", 32), NULL},
        {GET(32) "%r4, [base];" FILL(32) PUT("%r4", 32), "tensor memory not allocated: tcgen05.st of 2 columns"},
        {GET(64) "%r4, [base];" FILL(32) PUT("%r4", 64), NULL},
        {GET(64) "%r4, [base];" PUT("%r4", 64) FILL(0), "tensor memory not allocated: tcgen05.st of 2 columns"},
        {GET(64) "%r4, [base];" PUT("%r4", 32), "tensor memory not allocated: tensor memory at 0x0 with 32 columns"},
        {GET(32) "%r4, [base]; add.u32 %r2, %r2, 0x200000;" FILL(0), "tensor memory of another warp: warp 0"},
        {GET(32) "%r4, [base]; add.u32 %r2, %r2, 0x100000;" FILL(0), "tensor memory alignment: warp 0"},
        {GET(512) "%r4, [base];" FILL(511) PUT("%r4", 512), "tensor memory out of bounds: tcgen05.st of 2 columns"},
        {GET(512) "%r4, [base];" FILL(510) PUT("%r4", 512), NULL},
        {GET(48) "%r4, [base];", "tensor memory granularity: tcgen05.alloc of 48 columns"},
        {GET(64) "%r4, [base];" PUT("%r4", 48), "tensor memory granularity: tensor memory at 0x0 with 48 columns"},
        {PRODUCT("", "", "0x4040014"), "sparse flag: instruction descriptor 0x4040014: its sparsity flag is 1"},
        {PRODUCT(".sp", "[%r4], ", "0x4040010"),
         "sparse flag: instruction descriptor 0x4040010: its sparsity flag is 0"},
        {PRODUCT(".sp", "[%r4], ", "0x4040016"), "sparse use: instruction descriptor 0x4040016"},
        {GET(32) "%r4, [base];", "leak: the block ends without freeing 32 columns of tensor memory from column 0 on"},
        {GET(32) "%r4, [base]; " LD "[%r2];" PUT("%r4", 32),
         "uninitialised read: tcgen05.ld reads values from column 0"},
    };
    for (size_t k = 0; k < KILN__COUNT(table); k++) {
        char text[512];
        const unsigned errors = find_errors(table[k].body, text, 32);
        const bool right = table[k].finding ? errors == 1 && strstr(text, table[k].finding) == text
                                            : !errors && !text[0];
        if (!right)
            fprintf(stderr, "%s:\n  %u errors, %s\n", table[k].body, errors, text);
        CHECK(right);
    }
}

static const check_case cases[] = {
    {"shapes of ld and st", test_shapes},        {"allocation", test_allocation}, {"faults", test_faults},
    {"under the checks", test_checks},           {"late waits", test_late_wait},  {"rules", test_rules},
    {"phases that warps wait for", test_phases},
};
KILN_SUITE("sim.vm_tcgen", cases)
