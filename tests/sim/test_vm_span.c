/* Tests ranges of memory. If a kernel names more bytes than one object has, it must get a fault, whatever memory is at
 * the end of the range. Each case names an address of the device and a length. No case may read or write memory of the
 * host. */
#include "vm_check.h"
#include "vm_machine.h"
#include "vm_memory.h"

enum { DATA = 4096, MARK = 0x5a };

#define HEAD ".version 9.0\n.target sm_100a\n.address_size 64\n"
#define BODY(...)                                                                                                      \
    "{\n.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %d<16>;\n"                                      \
    ".shared .align 128 .b8 sh[2048];\nld.param.u64 %d0, [a]; mov.u32 %r1, sh; mov.u32 %r2, 0;\n" __VA_ARGS__          \
    "\nret;\n}\n"
#define KERNEL(...) HEAD ".visible .entry k(.param .u64 a)\n" BODY(__VA_ARGS__)

static unsigned char data[DATA];

/* Runs a kernel of one thread on a copy of `data`, which begins a page of the host. The message of a fault must contain
 * `reason`. */
static vm_fault_kind try_on(const char *text, const char *reason)
{
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1, .step_budget = 1 << 24});
    void *host;
    const uint64_t a = vm_bench_zeros(&b, DATA, &host);
    memcpy(host, data, DATA);
    const vm_fault_kind kind = vm_bench_try(&b, "k", 1, 1, &a, 0);
    memcpy(data, host, DATA);
    const bool named = kind == VM_OK || strstr(b.fault.message, reason);
    if (!named)
        fprintf(stderr, "%s\n", b.fault.message);
    CU_ASSERT_TRUE(named);
    vm_bench_end(&b);
    return kind;
}

/* Makes a map whose box has `span` bytes in shared memory and only one row inside the tensor. A copy accesses only this
 * row, and a load also fills all other rows with zeros. */
static void map_box(uint16_t rows, uint16_t planes, uint32_t row)
{
    const vm_tensor_map map = {.mark = VM_TENSOR_MAP,
                               .rank = 3,
                               .type = 0,
                               .stride = {256, 256},
                               .last = {255, 0, 0},
                               .box = {256, rows, planes},
                               .step = {1, 1, 1}};
    memset(data, MARK, sizeof data);
    memcpy(data, &map, sizeof map);
    memcpy(data + 128, &(int32_t[]){-(int32_t)(row % rows), -(int32_t)(row / rows)}, 8);
}
#define COORDINATES                                                                                                    \
    "ld.global.b32 %r3, [%d0+128]; ld.global.b32 %r4, [%d0+132]; add.u64 %d1, %d0, 1024; mov.u64 %d2, %d0;\n"          \
    "st.global.b64 [%d0+8], %d1;\n" /* the tensor lies there */
#define STORE                                                                                                          \
    KERNEL(COORDINATES "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%d2, {%r2, %r3, %r4}], [%r1+256];")
#define LOAD                                                                                                           \
    KERNEL(COORDINATES "mbarrier.init.shared.b64 [%r1], 1;\n"                                                          \
                       "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+256], [%d2, " \
                       "{%r2, %r3, %r4}], [%r1];")

static bool is_marked(size_t from, size_t bytes)
{
    for (size_t k = from; k < from + bytes; k++)
        if (data[k] != MARK)
            return false;
    return true;
}

/* The window of each block has 16 MiB. So the last bytes of a box of 16 MiB come before its first bytes. */
static void boxes(void)
{
    map_box(256, 256, 4096);
    CU_ASSERT_EQUAL(try_on(STORE, "of 16777216 bytes at shared address"), VM_FAULT_ADDRESS);
    CU_ASSERT_TRUE(is_marked(1024, 256));
    map_box(256, 256, 4096);
    CU_ASSERT_EQUAL(try_on(LOAD, "of 16777216 bytes at shared address"), VM_FAULT_ADDRESS);
    map_box(256, 255, 4096);
    CU_ASSERT_EQUAL(try_on(STORE, "bytes at shared address"), VM_FAULT_ADDRESS);
    map_box(257, 256, 4096);
    CU_ASSERT_EQUAL(try_on(STORE, "no valid box"), VM_FAULT_INSTRUCTION);
    map_box(8, 1, 7); /* one row more than fits into shared memory */
    CU_ASSERT_EQUAL(try_on(STORE, "of 2048 bytes at shared address"), VM_FAULT_ADDRESS);
    map_box(7, 1, 6);
    CU_ASSERT_EQUAL(try_on(STORE, ""), VM_OK);
    CU_ASSERT_FALSE(is_marked(1024, 256));
}

/* Copies a row of a tensor that begins inside an allocation and ends beyond it. Also uses a tensor map that begins
 * inside an allocation and ends beyond it. */
static void rows_of_tensors(void)
{
    map_box(1, 1, 0);
#define ROW_AT(at)                                                                                                     \
    KERNEL("add.u64 %d1, %d0, " at "; st.global.b64 [%d0+8], %d1; mov.u32 %r3, 0;\n"                                   \
           "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%d0, {%r3, %r3, %r3}], [%r1];")
    CU_ASSERT_EQUAL(try_on(ROW_AT("3840"), ""), VM_OK);
    CU_ASSERT_EQUAL(try_on(ROW_AT("3856"), "of 256 bytes at global address"), VM_FAULT_ADDRESS);
    CU_ASSERT_EQUAL(try_on(ROW_AT("0xfffffffffffff000"), "of 256 bytes at global address"), VM_FAULT_ADDRESS);
    CU_ASSERT_EQUAL(
        try_on(KERNEL("mov.u32 %r3, 0; add.u64 %d1, %d0, 4032;\n"
                      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%d1, {%r3, %r3, %r3}], [%r1];"),
               "of 128 bytes at global address"),
        VM_FAULT_ADDRESS);
}

/* Tests st.bulk. Its length has 64 bits, and its generic address may belong to any memory. */
static void zeros(void)
{
#define BULK(at, bytes) KERNEL("mov.b64 %d2, " bytes "; st.bulk.weak.shared::cta [%r1" at "], %d2, 0;")
#define GENERIC(make, bytes) KERNEL(make "mov.b64 %d2, " bytes "; st.bulk.weak [%d1], %d2, 0;")
    static const struct {
        const char *text, *reason;
        vm_fault_kind kind;
    } cases[] = {
        {BULK("", "2048"), "", VM_OK},
        {BULK("+8", "2048"), "of 2048 bytes at shared address", VM_FAULT_ADDRESS},
        {BULK("+8", "0x1000000"), "of 16777216 bytes at shared address", VM_FAULT_ADDRESS},
        {BULK("+16", "0xfffff8"), "of 16777208 bytes at shared address", VM_FAULT_ADDRESS},
        {BULK("+8", "0x100000000"), "of 4294967296 bytes at shared address", VM_FAULT_ADDRESS},
        {BULK("+8", "0xfffffffffffffff8"), "bytes at shared address", VM_FAULT_ADDRESS},
        {BULK("+8", "0x8000000000000000"), "bytes at shared address", VM_FAULT_ADDRESS},
        {BULK("+4", "8"), "misaligned", VM_FAULT_MISALIGNED},
        {BULK("", "12"), "not a multiple of 8", VM_FAULT_MISALIGNED},
        {BULK("", "0"), "", VM_OK},
        {GENERIC("cvta.shared.u64 %d1, sh;", "2048"), "", VM_OK},
        {GENERIC("cvta.shared.u64 %d1, sh;", "2176"), "of 2176 bytes at shared address", VM_FAULT_ADDRESS},
        {GENERIC("mov.u64 %d1, %d0;", "64"), "not an address of shared memory", VM_FAULT_ADDRESS},
        {GENERIC("mov.u64 %d1, %d0;", "8192"), "not an address of shared memory", VM_FAULT_ADDRESS},
        {GENERIC("mov.u64 %d1, 0;", "8"), "not an address of shared memory", VM_FAULT_ADDRESS},
    };
    for (size_t k = 0; k < KILN__COUNT(cases); k++) {
        memset(data, MARK, sizeof data);
        const vm_fault_kind kind = try_on(cases[k].text, cases[k].reason);
        CU_ASSERT_EQUAL(kind, cases[k].kind);
        if (kind != cases[k].kind)
            fprintf(stderr, "%s", cases[k].text);
        CU_ASSERT_TRUE(is_marked(0, sizeof data));
    }
}

/* Tests memory that kernels may only read: a .const variable, and host memory that was registered as read-only. Tries
 * every instruction that writes. */
#define DECLARE                                                                                                        \
    ".extern .func (.param .b32 r) __cudaCDP2GetDevice (.param .b64 p);\n"                                             \
    ".extern .func (.param .b32 r) __cudaCDP2DeviceGetLimit (.param .b64 p, .param .b32 q);\n"                         \
    ".extern .func (.param .b32 r) __cudaCDP2MemsetAsync (.param .b64 p, .param .b32 q, .param .b64 n, .param .b64 s);\n"
#define WRITER(...)                                                                                                    \
    HEAD DECLARE ".const .align 128 .b8 fixed[1024];\n.visible .entry k(.param .u64 a)\n"                              \
                 "{\n.reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %d<16>;\n.shared .align 128 .b8 sh[2048];\n"         \
                 ".param .b64 p; .param .b32 q; .param .b64 n; .param .b64 s; .param .b32 r;\n"                        \
                 "ld.param.u64 %d1, [a]; mov.u32 %r1, sh; mov.u32 %r2, 0; mov.b64 %d2, 16;\n"                          \
                 "mov.f32 %f0, 0f3f800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; mov.f32 %f4, %f0;\n"  \
                 "mov.f32 %f5, %f0; mov.f32 %f6, %f0; mov.f32 %f7, %f0;\n" __VA_ARGS__ "\nret;\n}\n"
#define MATRIX "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}"

static const char *const writers[] = {
    WRITER("st.global.u32 [%d1], %r2;"),
    WRITER("ld.global.u32 %r3, [%d1]; st.global.u32 [%d1], %r2;"),
    WRITER("st.u32 [%d1], %r2;"),
    WRITER("st.global.v4.u32 [%d1], {%r2, %r2, %r2, %r2};"),
    WRITER("atom.global.add.u32 %r3, [%d1], 1;"),
    WRITER("red.global.add.u32 [%d1], 1;"),
    WRITER("atom.cas.b32 %r3, [%d1], 7, 8;"),
    WRITER("red.global.add.v4.f32 [%d1], {%f0, %f0, %f0, %f0};"),
    WRITER("cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 64;"),
    WRITER("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r1], 64;"),
    WRITER("cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b32 [%d1], [%r1], 64;"),
    WRITER("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%d1], " MATRIX ";"),
    WRITER("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d1], " MATRIX ";"),
    WRITER("call (r), __cudaCDP2GetDevice, (p);"),
    WRITER("call (r), __cudaCDP2DeviceGetLimit, (p, q);"),
    WRITER("call (r), __cudaCDP2MemsetAsync, (p, q, n, s);"),
    WRITER("tensormap.replace.tile.rank.global.b1024.b32 [%d1], 1;"),
    WRITER("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], [%r1], 128;"),
};

/* Runs 32 threads that write to memory at `address`, whose bytes on the host are at `host`. */
static vm_fault_kind write_at(vm_bench *b, uint64_t address, const unsigned char *host, const char *text)
{
    unsigned char before[1024];
    memcpy(before, host, sizeof before);
    const vm_fault_kind kind = vm_bench_try(b, "k", 1, 32, &address, 0);
    const bool changed = memcmp(before, host, sizeof before) != 0;
    CU_ASSERT(kind == VM_OK || !changed);
    if (kind != VM_OK && changed)
        fprintf(stderr, "changed by %s", text);
    return kind;
}

static void fixed_memory(void)
{
    for (size_t k = 0; k < KILN__COUNT(writers); k++) {
        char text[4096], *call;
        /* the first argument of each call is the variable p, and the others are small numbers */
        snprintf(text, sizeof text, "%s", writers[k]);
        if ((call = strstr(text, "call (r)")) != NULL)
            snprintf(call, sizeof text - (size_t)(call - text),
                     "st.param.b64 [p], %%d1; st.param.b32 [q], 2; st.param.b64 [n], 64; st.param.b64 [s], 0;\n%s",
                     strstr(writers[k], "call (r)"));
        vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1, .step_budget = 1 << 24});
        static _Alignas(4096) unsigned char own[4096];
        uint64_t constant, bytes;
        void *open;
        const uint64_t data_at = vm_bench_zeros(&b, 1024, &open), only = vm_reserve(b.device, 4096, 4096);
        const vm_tensor_map map = {.mark = VM_TENSOR_MAP, .rank = 1, .box = {16}, .step = {1}, .last = {15}};
        CU_ASSERT_TRUE(vm_module_global(b.module, "fixed", &constant, &bytes));
        CU_ASSERT_TRUE(vm_adopt(b.device, only, own, sizeof own, true));
        memcpy(vm_pointer(b.device, constant, 1024), &map, sizeof map);
        memcpy(own, &map, sizeof map);
        memcpy(open, &map, sizeof map);
        const vm_fault_kind good = write_at(&b, data_at, open, text);
        /* where the kernel may write, each instruction must succeed */
        CU_ASSERT_EQUAL(good, VM_OK);
        if (good != VM_OK)
            fprintf(stderr, "%s%s\n", text, b.fault.message);
        const uint64_t fixed[] = {constant, only};
        for (unsigned n = 0; n < KILN__COUNT(fixed); n++) {
            const unsigned char *host = n ? own : vm_pointer(b.device, constant, 1024);
            const vm_fault_kind kind = write_at(&b, fixed[n], host, text);
            CU_ASSERT_EQUAL(kind, VM_FAULT_ADDRESS);
            if (kind != VM_FAULT_ADDRESS)
                fprintf(stderr, "%s is no fault: %s", n ? "registered" : "constant", text);
        }
        vm_bench_end(&b);
    }
}

/* Writes to read-only memory by a tensor map. Also writes after a read of the same memory has filled the cache of
 * spans. */
static void fixed_tensors(void)
{
    static const char store[] = WRITER(
        "ld.global.b64 %d5, [%d1+128]; cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%d1, {%r2}], [%r1];");
    static const char copy[] = WRITER(
        "ld.global.b64 %d5, [%d1+128]; mbarrier.init.shared.b64 [%r1], 32;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+128], "
        "[%d5], 64, [%r1];\ncp.async.bulk.global.shared::cta.bulk_group [%d5], [%r1], 64;");
    const char *const texts[] = {store, copy};
    for (unsigned k = 0; k < KILN__COUNT(texts); k++) {
        vm_bench b = vm_bench_text(texts[k], strlen(texts[k]), (vm_limits){.threads = 1, .step_budget = 1 << 24});
        uint64_t constant, bytes;
        unsigned char *open;
        const uint64_t at = vm_bench_zeros(&b, 1024, &open);
        CU_ASSERT_TRUE(vm_module_global(b.module, "fixed", &constant, &bytes));
        for (unsigned n = 0; n < 2; n++) {
            const uint64_t target = n ? constant : at + 256;
            const vm_tensor_map map = {
                .mark = VM_TENSOR_MAP, .rank = 1, .address = target, .box = {64}, .step = {1}, .last = {63}};
            memcpy(open, &map, sizeof map);
            memcpy(open + 128, &target, sizeof target);
            CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 1, &at, 0), n ? VM_FAULT_ADDRESS : VM_OK);
            CU_ASSERT_EQUAL(*(const unsigned char *)vm_pointer(b.device, target, 1) == 0, n == 1);
        }
        vm_bench_end(&b);
    }
}

/* Replaces a field of a tensor map of which only 64 bytes are inside the allocation. */
static void replaced_maps(void)
{
#define REPLACED(at) KERNEL("add.u64 %d1, %d0, " at "; tensormap.replace.tile.global_dim.global.b1024.b32 [%d1], 0, 8;")
    memset(data, 0, sizeof data);
    const vm_tensor_map map = {.mark = VM_TENSOR_MAP, .rank = 1, .box = {16}, .step = {1}, .last = {15}};
    memcpy(data + DATA - 128, &map, sizeof map);
    memcpy(data + DATA - 64, &map, 64);
    CU_ASSERT_EQUAL(try_on(REPLACED("4032"), "of 128 bytes at global address"), VM_FAULT_ADDRESS);
    memcpy(data + DATA - 128, &map, sizeof map);
    CU_ASSERT_EQUAL(try_on(REPLACED("3968"), ""), VM_OK);
}

/* Two mapped parts of memory are one range if they also follow each other on the host, and if kernels may use both
 * parts in this way. */
static void parts(void)
{
    static const char text[] = KERNEL("cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r1], 2048;");
    enum { PART = 4096 };
    static const struct {
        size_t host; /* the distance from the first part to the second on the host */
        uint64_t gap;
        bool read_only, missing;
        vm_fault_kind kind;
    } cases[] = {
        {PART, 0, false, false, VM_OK},
        {PART, 0, true, false, VM_FAULT_ADDRESS},
        {PART, 0, false, true, VM_FAULT_ADDRESS},
        {PART, 512, false, false, VM_FAULT_ADDRESS},
        {2 * PART, 0, false, false, VM_FAULT_ADDRESS},
    };
    static _Alignas(PART) unsigned char own[4 * PART];
    for (size_t k = 0; k < KILN__COUNT(cases); k++) {
        vm_bench b = vm_bench_text(text, sizeof text - 1, (vm_limits){.threads = 1});
        const uint64_t base = vm_reserve(b.device, (uint64_t)4 * PART, PART), at = base + PART - 1024;
        memset(own, MARK, sizeof own);
        CU_ASSERT_TRUE(vm_adopt(b.device, base, own, PART, false));
        if (!cases[k].missing)
            CU_ASSERT_TRUE(
                vm_adopt(b.device, base + PART + cases[k].gap, own + cases[k].host, PART, cases[k].read_only));
        CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 1, &at, 0), cases[k].kind);
        bool changed[2] = {false, false};
        for (size_t n = 0; n < sizeof own; n++)
            changed[n >= PART - 1024 && n < PART + 1024] |= own[n] != MARK;
        CU_ASSERT_FALSE(changed[0]);
        CU_ASSERT_EQUAL(changed[1], cases[k].kind == VM_OK);
        vm_bench_end(&b);
    }
}

/* A kernel may free only memory that a kernel has allocated. All other memory belongs to the host or the simulator,
 * which use it later. */
#define FREEING(...)                                                                                                   \
    HEAD ".extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 p);\n"                \
         ".extern .func (.param .b32 r) __cudaCDP2Malloc (.param .b64 p, .param .b64 n);\n"                            \
         ".extern .func (.param .b32 r) __cudaCDP2Free (.param .b64 p);\n"                                             \
         ".extern .func (.param .b64 r) __cudaCDP2GetErrorString (.param .b32 e);\n"                                   \
         ".global .align 8 .b8 variable[64];\n.visible .entry k(.param .u64 a)\n"                                      \
         "{\n.reg .b32 %r<8>; .reg .b64 %d<8>; .param .b64 p; .param .b64 n; .param .b32 r; .param .b64 q;\n"          \
         "ld.param.u64 %d0, [a]; mov.u32 %r1, 77;\n" __VA_ARGS__ "\nst.global.u32 [%d0+8], %r1;\nret;\n}\n"
#define FREE(from) from "st.param.b64 [p], %d1; call free, (p);"
#define RUNTIME_FREE(from) from "st.param.b64 [p], %d1; call (r), __cudaCDP2Free, (p); ld.param.b32 %r1, [r];"
#define MALLOC "mov.u64 %d2, 100; st.param.b64 [n], %d2; call (q), malloc, (n); ld.param.b64 %d1, [q];"
#define RUNTIME_MALLOC                                                                                                 \
    "mov.u64 %d2, 100; st.param.b64 [n], %d2; st.param.b64 [p], %d0; call (r), __cudaCDP2Malloc, (p, n);\n"            \
    "ld.global.b64 %d1, [%d0];"
#define TEXT "st.param.b32 [r], 1; call (q), __cudaCDP2GetErrorString, (r); ld.param.b64 %d1, [q];"

/* A kernel may free only memory that a kernel has allocated, once, from its beginning. */
static void freed_by_kernels(void)
{
    static const struct {
        const char *text;
        vm_fault_kind kind;
        uint32_t answer;
    } cases[] = {
        {FREEING(FREE(MALLOC)), VM_OK, 77},
        {FREEING(FREE(RUNTIME_MALLOC)), VM_OK, 77},
        {FREEING(RUNTIME_FREE(MALLOC)), VM_OK, 0},
        {FREEING(RUNTIME_FREE(RUNTIME_MALLOC)), VM_OK, 0},
        {FREEING(FREE(MALLOC) FREE("")), VM_FAULT_ADDRESS, 0},
        {FREEING(FREE("mov.u64 %d1, %d0;")), VM_FAULT_ADDRESS, 0},
        {FREEING(FREE("mov.u64 %d1, variable;")), VM_FAULT_ADDRESS, 0},
        {FREEING(RUNTIME_FREE("mov.u64 %d1, %d0;")), VM_OK, 1},
        {FREEING(RUNTIME_FREE("mov.u64 %d1, variable;")), VM_OK, 1},
        {FREEING(RUNTIME_FREE(TEXT)), VM_OK, 1},
    };
    for (size_t k = 0; k < KILN__COUNT(cases); k++) {
        vm_bench b = vm_bench_text(cases[k].text, strlen(cases[k].text), (vm_limits){.threads = 1});
        uint32_t *host;
        uint64_t variable, bytes, base;
        const uint64_t a = vm_bench_zeros(&b, 64, &host);
        const vm_fault_kind kind = vm_bench_try(&b, "k", 1, 1, &a, 0);
        CU_ASSERT_EQUAL(kind, cases[k].kind);
        CU_ASSERT_TRUE(vm_range(b.device, a, &base, &bytes));
        CU_ASSERT_EQUAL(host[2], cases[k].answer);
        CU_ASSERT_TRUE(vm_module_global(b.module, "variable", &variable, &bytes));
        CU_ASSERT_TRUE(vm_range(b.device, variable, &base, &bytes));
        if (kind != cases[k].kind || host[2] != cases[k].answer)
            fprintf(stderr, "%u: %s%s\n", host[2], cases[k].text, b.fault.message);
        vm_bench_end(&b);
    }
}

/* One block copies memory that another block frees meanwhile, at a moment that differs from run to run. Each copy must
 * find the memory or fault. No copy may read memory that was returned to the host. */
static void freed_while_copied(void)
{
    static const char text[] = HEAD
        ".extern .func (.param .b32 r) __cudaCDP2Malloc (.param .b64 p, .param .b64 n);\n"
        ".extern .func (.param .b32 r) __cudaCDP2Free (.param .b64 p);\n"
        ".extern .func (.param .b32 r) __cudaCDP2MemcpyAsync (.param .b64 t, .param .b64 f, .param .b64 n, "
        ".param .b32 k, .param .b64 s);\n"
        ".visible .entry k(.param .u64 a, .param .u64 to, .param .u32 wait)\n"
        "{\n.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<8>; .param .b64 p; .param .b64 n; .param .b32 r; .param .b64 f;\n"
        ".param .b32 k; .param .b64 s;\n"
        "ld.param.u64 %d0, [a]; ld.param.u64 %d1, [to]; ld.param.u32 %r3, [wait]; mov.u32 %r1, %ctaid.x;\n"
        "mov.u64 %d2, 4194304; st.param.b64 [n], %d2; st.param.b64 [s], 0; st.param.b32 [k], 3;\n"
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra FREE;\n"
        "st.param.b64 [p], %d0; call (r), __cudaCDP2Malloc, (p, n); ld.global.b64 %d3, [%d0]; mov.u32 %r2, 0;\n"
        "L: st.param.b64 [p], %d1; st.param.b64 [f], %d3; call (r), __cudaCDP2MemcpyAsync, (p, f, n, k, s);\n"
        "add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 8; @%p2 bra L;\n"
        "st.release.gpu.global.u32 [%d0+8], 1; ret;\n"
        "FREE: ld.acquire.gpu.global.u32 %r4, [%d0+8]; setp.eq.u32 %p2, %r4, 0; @%p2 bra FREE;\n"
        "M: sub.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra M;\n"
        "ld.global.b64 %d3, [%d0]; st.param.b64 [p], %d3; call (r), __cudaCDP2Free, (p); ret;\n}\n";
    enum { TRIALS = 24, BYTES = 4 << 20 };
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        vm_bench b = vm_bench_text(text, sizeof text - 1, (vm_limits){.threads = 2});
        uint32_t *host;
        struct {
            uint64_t a, to;
            uint32_t wait;
        } params = {vm_bench_zeros(&b, 64, &host), vm_alloc(b.device, BYTES), 1 + trial * 2000};
        const vm_fault_kind kind = vm_bench_try(&b, "k", 2, 1, &params, 0);
        CU_ASSERT(kind == VM_OK || kind == VM_FAULT_ADDRESS);
        if (kind != VM_OK && kind != VM_FAULT_ADDRESS)
            fprintf(stderr, "%s\n", b.fault.message);
        vm_bench_end(&b);
    }
}

/* Tests loops whose addresses move beyond the end of the memory. The lanes access consecutive words, one word, two
 * rows, or random words. The fault must have the first address beyond the end. The suite also runs with compiled
 * code. */
#define LOOP(first, stride, access)                                                                                    \
    HEAD ".visible .entry k(.param .u64 a)\n{\n.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %d<16>;\n"                \
         ".shared .align 128 .b8 sh[2048];\nld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mov.u32 %r1, sh;\n"            \
         "mov.u32 %r5, 0; mov.u32 %r6, 7; and.b32 %r7, %r0, 15; xor.b32 %r8, %r0, 5;\n" first                          \
         "cvt.u64.u32 %d2, %r2; add.u64 %d1, %d0, %d2; add.u32 %r3, %r1, %r2;\n"                                       \
         "L: " access "\nadd.u64 %d1, %d1, " stride "; add.u32 %r3, %r3, " stride "; add.u32 %r5, %r5, 1;\n"           \
         "setp.lt.u32 %p1, %r5, 1000000; @%p1 bra L;\nret;\n}\n"
#define ROW "shl.b32 %r2, %r0, 2;"
#define ONE "mov.u32 %r2, 0;"
#define HALVES "shl.b32 %r2, %r7, 2;"
#define ANYWHERE "shl.b32 %r2, %r8, 2;"

static void loops(void)
{
    static const struct {
        const char *text;
        uint64_t offset; /* the distance of the fault from the end */
    } cases[] = {
        {LOOP(ROW, "128", "st.global.u32 [%d1], %r6;"), 0},
        {LOOP(ROW, "128", "ld.global.u32 %r4, [%d1]; st.global.u32 [%d1], %r4;"), 0},
        {LOOP(ROW, "64", "st.global.u32 [%d1], %r6;"), 0},
        {LOOP(ONE, "4", "st.global.u32 [%d1], %r6;"), 0},
        {LOOP(ONE, "16", "ld.global.v4.u32 {%r9, %r10, %r11, %r12}, [%d1]; st.global.u32 [%d1], %r9;"), 0},
        {LOOP(HALVES, "64", "st.global.u32 [%d1], %r6;"), 0},
        {LOOP(ANYWHERE, "128", "st.global.u32 [%d1], %r6;"), 20},
        {LOOP(ANYWHERE, "128", "ld.global.u32 %r4, [%d1]; st.global.u32 [%d1], %r4;"), 20},
        {LOOP(ROW, "128", "st.global.u32 [%d1+128], %r6; st.global.u32 [%d1], %r6;"), 0},
        {LOOP(ROW, "128", "st.shared.u32 [%r3], %r6;"), 0},
        {LOOP(ROW, "128", "ld.shared.u32 %r4, [%r3]; st.shared.u32 [%r3], %r4;"), 0},
        {LOOP(ONE, "4", "st.shared.u32 [%r3], %r6;"), 0},
        {LOOP(HALVES, "64", "st.shared.u32 [%r3], %r6;"), 0},
        {LOOP(ANYWHERE, "128", "st.shared.u32 [%r3], %r6;"), 20},
        {LOOP(ANYWHERE, "128", "red.shared.add.u32 [%r3], %r6;"), 20},
        {LOOP(ANYWHERE, "128", "atom.shared.add.u32 %r4, [%r3], 1;"), 20},
    };
    for (size_t k = 0; k < KILN__COUNT(cases); k++) {
        vm_bench b = vm_bench_text(cases[k].text, strlen(cases[k].text), (vm_limits){.threads = 1});
        void *host;
        const uint64_t a = vm_bench_zeros(&b, DATA, &host);
        const bool shared = strstr(cases[k].text, "L: ") && strstr(cases[k].text, "shared.u32 [%r3]");
        const bool atomic = strstr(cases[k].text, "shared.add") != NULL;
        const uint64_t end = shared || atomic ? 1024 + 2048 : a + DATA;
        CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 32, &a, 0), VM_FAULT_ADDRESS);
        CU_ASSERT_EQUAL(b.fault.address, end + cases[k].offset);
        if (b.fault.address != end + cases[k].offset)
            fprintf(stderr, "%zu: %s, not at 0x%llx\n", k, b.fault.message, (unsigned long long)end + cases[k].offset);
        vm_bench_end(&b);
    }
}

/* Tests that an alias has the stack frame that its code needs. The kernel has only the local memory of the function. If
 * the alias had no frame, its parameter would be copied to a null pointer, or beyond the local memory of the block. */
static void frames_of_aliases(void)
{
    enum { BYTES = 4096, VALUE = 77 };
    static const char text[] = HEAD
        ".func (.param .b32 r) g(.param .align 8 .b8 p[4096]) {\n.reg .b64 %a; .reg .b32 %x;\n"
        "mov.b64 %a, p; ld.param.u32 %x, [%a+4092]; st.param.b32 [r], %x; ret; }\n"
        ".func (.param .b32 r) f(.param .align 8 .b8 p[4096]);\n.alias f, g;\n"
        ".visible .entry k(.param .u64 a) {\n.reg .b64 %d; .reg .b32 %x;\nld.param.u64 %d, [a];\n"
        "{ .param .align 8 .b8 in[4096]; .param .b32 out; st.param.b32 [in+4092], 77;\n"
        "call (out), f, (in); ld.param.b32 %x, [out]; }\nst.global.u32 [%d], %x; ret; }\n";
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
    uint32_t *host;
    const uint64_t a = vm_bench_zeros(&b, 128, &host);
    vm_resources needs;
    vm_kernel_resources(b.module, vm_module_kernel(b.module, "k"), &needs);
    CU_ASSERT_EQUAL(needs.local_bytes, BYTES);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 32, &a, 0), VM_OK);
    CU_ASSERT_EQUAL(*host, VALUE);
    vm_bench_end(&b);
}

/* The product of these sizes is 2^64, which is 0 in 64 bits. */
static void sizes_of_blocks(void)
{
    static const char text[] = HEAD
        ".visible .entry k() .maxntid 65536, 16777216, 16777216 .minnctapersm 1 {\nret;\n}\n"
        ".visible .entry l() .reqntid 8, 4, 2 .minnctapersm 2 {\nret;\n}\n";
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
    vm_resources needs;
    vm_kernel_resources(b.module, vm_module_kernel(b.module, "k"), &needs);
    CU_ASSERT_EQUAL(needs.max_threads, 1024);
    CU_ASSERT_TRUE(needs.register_estimate > 0);
    vm_kernel_resources(b.module, vm_module_kernel(b.module, "l"), &needs);
    CU_ASSERT_EQUAL(needs.max_threads, 64);
    vm_bench_end(&b);
}

/* Freed memory is kept until all host threads that may have cached it have looked at their caches. It waits in a queue
 * in the order of the frees, and only the head of the queue is tested. Otherwise a kernel that calls malloc() and
 * free() in a loop would take quadratic time. An entry behind the head has a wrong generation, to show whether it is
 * tested. */
static void freed_memory_waits(void)
{
    vm_device *device = vm_device_new(NULL, &(vm_limits){.memory = 1 << 20, .threads = 1});
    CU_ASSERT_PTR_NOT_NULL_FATAL(device);
    vm_run_state run = {.device = device};
    vm_runner runner = {.run = &run};
    atomic_init(&runner.generation, atomic_load(&device->generation));
    vm_runner_enter(device, &runner);
    uint64_t address[4];
    for (unsigned k = 0; k < 4; k++)
        address[k] = vm_alloc(device, 1024);
    CU_ASSERT_TRUE(vm_free(device, address[2]));
    const uint64_t after_first = atomic_load(&device->generation);
    CU_ASSERT_TRUE(vm_free(device, address[0]) && vm_free(device, address[3]));
    CU_ASSERT_EQUAL(vm_memory_used(device), 4096);
    CU_ASSERT_EQUAL_FATAL(device->graveyard->base, address[2]);
    CU_ASSERT_EQUAL_FATAL(device->graveyard->next->base, address[0]);
    CU_ASSERT_PTR_EQUAL(device->graveyard->next->next, device->last_buried);
    const uint64_t kept = device->last_buried->freed;
    device->last_buried->freed = 0;
    vm_runner_update(&runner, after_first);
    CU_ASSERT_EQUAL(vm_memory_used(device), 3072);
    device->last_buried->freed = kept;
    vm_runner_update(&runner, atomic_load(&device->generation));
    CU_ASSERT_EQUAL(vm_memory_used(device), 1024);
    CU_ASSERT_PTR_NULL(device->graveyard);
    CU_ASSERT_TRUE(vm_free(device, address[1])); /* the queue was empty before */
    CU_ASSERT_EQUAL(vm_memory_used(device), 1024);
    vm_runner_leave(device, &runner);
    CU_ASSERT_EQUAL(vm_memory_used(device), 0);
    vm_device_free(device);
}

static const check_case cases[] = {
    {"boxes of tensor maps", boxes},
    {"rows of tensors", rows_of_tensors},
    {"zeros", zeros},
    {"memory that kernels only read", fixed_memory},
    {"tensors of memory that kernels only read", fixed_tensors},
    {"changed tensor maps", replaced_maps},
    {"loops", loops},
    {"memory in parts", parts},
    {"memory that kernels free", freed_by_kernels},
    {"memory freed while it is copied", freed_while_copied},
    {"memory that waits to be released", freed_memory_waits},
    {"frames of aliases", frames_of_aliases},
    {"sizes of blocks", sizes_of_blocks},
};
KILN_SUITE("vm span", cases)
