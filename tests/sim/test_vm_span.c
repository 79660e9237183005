/* Ranges: a kernel that names more bytes than one object holds gets a fault, whatever lies at the other end of the range.
 * Each case names an address of the device and a length. No case may read or write memory of the host. */
#include "vm_check.h"

enum { DATA = 4096, MARK = 0x5a };

#define HEAD ".version 9.0\n.target sm_100a\n.address_size 64\n"
#define BODY(...)                                                                                                      \
    "{\n.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %d<16>;\n"                                      \
    ".shared .align 128 .b8 sh[2048];\nld.param.u64 %d0, [a]; mov.u32 %r1, sh; mov.u32 %r2, 0;\n" __VA_ARGS__          \
    "\nret;\n}\n"
#define KERNEL(...) HEAD ".visible .entry k(.param .u64 a)\n" BODY(__VA_ARGS__)

static unsigned char data[DATA];

/* Runs a kernel of one thread on a copy of `data`, which begins a page of the host. The message of a fault names `reason`. */
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

/* A box of `span` bytes of shared memory, of which one row is inside the tensor: the copy would touch that row, and, if it
 * is a load, fill all others with zeros. */
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
    "st.global.b64 [%d0+8], %d1;\n" /* where the tensor is */
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

/* The last bytes of a box of 16 MiB are those before its first ones, because each block has a window of 16 MiB. */
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
    map_box(8, 1, 7); /* one row more than shared memory has */
    CU_ASSERT_EQUAL(try_on(STORE, "of 2048 bytes at shared address"), VM_FAULT_ADDRESS);
    map_box(7, 1, 6);
    CU_ASSERT_EQUAL(try_on(STORE, ""), VM_OK);
    CU_ASSERT_FALSE(is_marked(1024, 256));
}

/* A row of a tensor that begins in an allocation and ends behind it, and a map that does. */
static void rows_of_tensors(void)
{
    map_box(1, 1, 0);
#define ROW(at)                                                                                                        \
    KERNEL("add.u64 %d1, %d0, " at "; st.global.b64 [%d0+8], %d1; mov.u32 %r3, 0;\n"                                   \
           "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%d0, {%r3, %r3, %r3}], [%r1];")
    CU_ASSERT_EQUAL(try_on(ROW("3840"), ""), VM_OK);
    CU_ASSERT_EQUAL(try_on(ROW("3856"), "of 256 bytes at global address"), VM_FAULT_ADDRESS);
    CU_ASSERT_EQUAL(try_on(ROW("0xfffffffffffff000"), "of 256 bytes at global address"), VM_FAULT_ADDRESS);
    CU_ASSERT_EQUAL(
        try_on(KERNEL("mov.u32 %r3, 0; add.u64 %d1, %d0, 4032;\n"
                      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%d1, {%r3, %r3, %r3}], [%r1];"),
               "of 128 bytes at global address"),
        VM_FAULT_ADDRESS);
}

/* st.bulk: its length has 64 bits, and a generic address may be of any memory. */
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

static const check_case cases[] = {
    {"boxes of tensor maps", boxes},
    {"rows of tensors", rows_of_tensors},
    {"zeros", zeros},
};
KILN_SUITE("vm span", cases)
