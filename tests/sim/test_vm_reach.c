/* Tests accesses of kernels beyond the allocated memory. As on a GPU, the rest of the last granule can be accessed. The
 * checks report such accesses. */
#include "check_bench.h"
#include "vm_memory.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define KERNEL(body)                                                                                                   \
    HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n"              \
         ".shared .align 16 .b8 s[100];\nld.param.u64 %rd1, [p];\nmov.u32 %r1, 7;\n" body "ret;\n}\n"

/* Runs one thread with an allocation of 100 bytes, which has the words 0, 1, 2, ... */
static vm_fault_kind reach(const char *text, uint32_t word[25])
{
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
    uint64_t data = vm_alloc(b.device, 100);
    uint32_t *host = vm_pointer(b.device, data, 100);
    for (uint32_t k = 0; k < 25; k++)
        host[k] = k;
    vm_fault_kind kind = vm_bench_try(&b, "k", 1, 1, &data, 0);
    memcpy(word, host, 100);
    vm_bench_end(&b);
    return kind;
}

static void granules(void)
{
    static const struct {
        const char *text;
        vm_fault_kind kind;
    } cases[] = {
        {KERNEL("st.global.u32 [%rd1+508], %r1;\n"), VM_OK},
        {KERNEL("ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1+96];\nst.global.u32 [%rd1], %r2;\n"), VM_OK},
        {KERNEL("atom.global.add.u32 %r2, [%rd1+508], %r1;\n"), VM_OK},
        {KERNEL("ld.u32 %r2, [%rd1+104];\n"), VM_OK},
        {KERNEL("ld.global.u32 %r2, [%rd1+512];\n"), VM_FAULT_ADDRESS},
        {KERNEL("atom.global.add.u32 %r2, [%rd1+512], %r1;\n"), VM_FAULT_ADDRESS},
        {KERNEL("ld.global.u32 %r2, [%rd1+-4];\n"), VM_FAULT_ADDRESS},
        {KERNEL("st.shared.u32 [s+124], %r1;\nld.shared.u32 %r2, [s+124];\nst.global.u32 [%rd1], %r2;\n"), VM_OK},
        {KERNEL("st.shared.u32 [s+128], %r1;\n"), VM_FAULT_ADDRESS},
        {KERNEL("atom.shared.add.u32 %r2, [s+128], %r1;\n"), VM_FAULT_ADDRESS},
    };
    for (size_t k = 0; k < KILN__COUNT(cases); k++) {
        uint32_t word[25];
        vm_fault_kind kind = reach(cases[k].text, word);
        CU_ASSERT_EQUAL(kind, cases[k].kind);
        if (kind != cases[k].kind)
            fprintf(stderr, "%s", cases[k].text);
        CU_ASSERT_EQUAL(word[0], k == 1 ? 24 : k == 7 ? 7 : 0);
    }
}

/* Tests the system's part of shared memory, which cooperative groups use. This part is zero at first, and separate from
 * the kernel's own part. An access beyond its end is a fault. A kernel that does not name this part does not get it. */
static void systems_shared(void)
{
#define AT "mov.u32 %r2, %reserved_smem_offset_1;\n"
    static const struct {
        const char *text;
        vm_fault_kind kind;
        uint32_t word;
    } cases[] = {
        {KERNEL(AT "ld.shared.u32 %r3, [%r2];\nst.global.u32 [%rd1], %r3;\n"), VM_OK, 0},
        {KERNEL(AT "ld.shared.u32 %r3, [%r2+1020];\nst.global.u32 [%rd1], %r3;\n"), VM_OK, 0},
        {KERNEL(AT "st.shared.u32 [s+96], 5;\nst.shared.u32 [%r2], %r1;\natom.shared.add.u32 %r3, [%r2], 1;\n"
                   "ld.shared.u32 %r3, [%r2];\nld.shared.u32 %r4, [s+96];\nadd.u32 %r3, %r3, %r4;\n"
                   "st.global.u32 [%rd1], %r3;\n"),
         VM_OK, 13},
        {KERNEL(AT "ld.shared.u32 %r3, [%r2+1024];\n"), VM_FAULT_ADDRESS, 0},
        {KERNEL(AT "ld.shared.u32 %r3, [s+-4];\n"), VM_FAULT_ADDRESS, 0},
        {KERNEL("ld.shared.u32 %r3, [s+256];\n"), VM_FAULT_ADDRESS, 0},
    };
    for (size_t k = 0; k < KILN__COUNT(cases); k++) {
        uint32_t word[25];
        CU_ASSERT_EQUAL(reach(cases[k].text, word), cases[k].kind);
        CU_ASSERT_EQUAL(word[0], cases[k].word);
    }
}

/* For programs on libcuda.so.1, accesses are tested by pages. So the memory around an allocation in its page can also
 * be accessed, and keeps its values. Accesses to other pages and to freed memory are faults. */
static void pages(void)
{
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 p, .param .u64 q)\n{\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [p];\n"
        "ld.param.u64 %rd2, [q];\nld.global.u32 %r1, [%rd2];\nst.global.u32 [%rd1], %r1;\nmov.u32 %r2, 7;\n"
        "st.global.u32 [%rd2], %r2;\nret;\n}\n";
    enum { PAGE = 2 << 20 };
    vm_bench b = vm_bench_text(text, sizeof text - 1, (vm_limits){.threads = 1, .page = PAGE});
    const uint64_t gone = vm_alloc(b.device, 1024), data = vm_alloc(b.device, 1024), next = vm_alloc(b.device, 1024);
    const uint64_t reserved = vm_reserve(b.device, 4096, 512), first = data & ~(uint64_t)(PAGE - 1);
    CU_ASSERT_TRUE(vm_free(b.device, gone));
    const struct {
        uint64_t at;
        vm_fault_kind kind;
        uint32_t value;
    } cases[] = {
        {data + 1024, VM_OK, 0},
        {data + 1024, VM_OK, 7},
        {data - 4, VM_OK, 0},
        {next + 8192, VM_OK, 0},
        {reserved, VM_OK, 0},
        {first + PAGE - 4, VM_OK, 0},
        {first + PAGE, VM_FAULT_ADDRESS, 1},
        {first - 4, VM_FAULT_ADDRESS, 1},
        {gone, VM_FAULT_ADDRESS, 1},
        {gone + 1020, VM_FAULT_ADDRESS, 1},
        {8, VM_FAULT_ADDRESS, 1},
    };
    for (size_t k = 0; k < KILN__COUNT(cases); k++) {
        *(uint32_t *)vm_pointer(b.device, data, 4) = 1;
        const uint64_t params[] = {data, cases[k].at};
        CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 1, params, 0), cases[k].kind);
        CU_ASSERT_EQUAL(*(const uint32_t *)vm_pointer(b.device, data, 4), cases[k].value);
    }
    /* If an allocation ends at an odd address, the memory after it has the same alignment on the host as on the
     * device. */
    vm_span span;
    bool constant, read_only;
    const uint64_t odd = vm_reserve(b.device, 4096, 512), behind[] = {data, odd + 104};
    CU_ASSERT_TRUE(vm_alloc_at(b.device, odd, 101));
    CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 1, behind, 0), VM_OK);
    CU_ASSERT_TRUE(vm_find(b.device, odd + 104, &span, &constant, &read_only));
    CU_ASSERT_EQUAL((uintptr_t)(span.host + (odd + 104 - span.base)) % 16, (odd + 104) % 16);
    CU_ASSERT_TRUE(vm_free(b.device, odd));
    /* Calls of the host cannot access this memory. Allocations may take its place, and it is freed with them. */
    uint64_t base, bytes;
    CU_ASSERT_PTR_NULL(vm_pointer(b.device, data + 1024, 4));
    CU_ASSERT_FALSE(vm_range(b.device, data + 1024, &base, &bytes));
    CU_ASSERT_FALSE(vm_free(b.device, data + 1024));
    CU_ASSERT_TRUE(vm_alloc_at(b.device, reserved, 4096));
    CU_ASSERT_PTR_NOT_NULL(vm_pointer(b.device, reserved, 4096));
    CU_ASSERT_TRUE(vm_free(b.device, next) && vm_free(b.device, reserved) && vm_free(b.device, data));
    const uint64_t own = vm_alloc(b.device, PAGE), params[] = {own, data + 1024};
    CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 1, params, 0), VM_FAULT_ADDRESS);
    vm_bench_end(&b);
}

/* Under checks each access is a finding. A load gets the existing bytes, and the kernel continues. */
static void checked(void)
{
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n{\n.reg .b32 %r<8>;\n"
        ".reg .b64 %rd<8>;\nld.param.u64 %rd1, [raw];\nld.param.u64 %rd2, [out];\n"
        "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1+96];\nst.global.u32 [%rd1+100], %r2;\n"
        "st.global.v2.u32 [%rd2], {%r2,%r3};\nret;\n}\n";
    check_bench b = check_bench_new(text, sizeof text - 1);
    b.params.raw = vm_alloc(b.device, 100);
    uint32_t *host = vm_pointer(b.device, b.params.raw, 100);
    for (uint32_t k = 0; k < 25; k++)
        host[k] = k + 1;
    CU_ASSERT_EQUAL(check_bench_run(&b, "k", 1, 1, 0), VM_OK);
    CU_ASSERT_EQUAL(check_count_findings(b.check), 2);
    for (size_t k = 0; k < check_count_findings(b.check); k++)
        CU_ASSERT_EQUAL(check_get_finding(b.check, k)->kind, KILN_CHECK_BOUNDS);
    const uint32_t *out = vm_pointer(b.device, b.params.out, 8);
    CU_ASSERT_EQUAL(out[0], 25);
    CU_ASSERT_EQUAL(out[1], 0xa5a5a5a5);
    CU_ASSERT_EQUAL(check_bench_run(&b, "k", 1, 1, 0), VM_OK);
    check_bench_end(&b);
}

/* `threads` threads read a texture of 8 texels of 4 bytes in linear memory. */
static void fetched(uint32_t threads, size_t findings)
{
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n{\n.reg .b32 %r<8>;\n"
        ".reg .b64 %rd<8>;\nld.param.u64 %rd1, [raw];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n"
        "tex.1d.v4.u32.s32 {%r2,%r3,%r4,%r5}, [%rd1, {%r1}];\nmul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd2, %rd2, %rd3;\n"
        "st.global.u32 [%rd2], %r2;\nret;\n}\n";
    check_bench b = check_bench_new(text, sizeof text - 1);
    const vm_texture linear = {.image = {.address = b.params.in,
                                         .format = VM_U32,
                                         .channels = 1,
                                         .dims = 1,
                                         .level_count = 1,
                                         .levels = {{.size = {8, 1, 1}, .pitch = 32, .slice = 32}}},
                               .integer = true};
    b.params.raw = 1u << 8 | 1;
    CU_ASSERT_TRUE(vm_texture_add(b.device, b.params.raw, &linear));
    CU_ASSERT_EQUAL(check_bench_run(&b, "k", 1, threads, 0), VM_OK);
    const uint32_t *out = vm_pointer(b.device, b.params.out, 48);
    for (uint32_t k = 0; k < 12; k++)
        CU_ASSERT_EQUAL(out[k], k < 8 && k < threads ? k : 0);
    CU_ASSERT_EQUAL(check_count_findings(b.check), findings);
    for (size_t k = 0; k < check_count_findings(b.check); k++) {
        const kiln_check_finding *f = check_get_finding(b.check, k);
        CU_ASSERT(f->kind == KILN_CHECK_BOUNDS && !f->note && f->at.thread[0] == 8 && f->count == threads - 8);
    }
    check_bench_end(&b);
}

static void textures(void)
{
    fetched(8, 0);
    fetched(12, 1);
}

/* Tests loads of every size. The addresses of a quarter of a warp are consecutive, equal, or neither. */
static void shapes(void)
{
    enum { WHERE = 40, DATA = 1024, OUT = 4096, ALL = 8192, TRIALS = 400 };
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<24>;\n"
        ".shared .align 16 .b8 s[1024];\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
        "add.u64 %rd3, %rd1, %rd2;\nmov.u32 %r2, s;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r3, %r2, %r3;\n"
        "ld.global.u32 %r4, [%rd3];\nld.global.u32 %r5, [%rd1+128];\nmov.u32 %r6, 0;\n"
        "FILL: ld.global.u32 %r7, [%rd3+1024];\nst.shared.u32 [%r3], %r7;\nadd.u64 %rd3, %rd3, 128;\n"
        "add.u32 %r3, %r3, 128;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 8;\n@%p1 bra FILL;\nbar.sync 0;\n"
        "mul.wide.u32 %rd4, %r1, 8;\nadd.u64 %rd4, %rd4, %rd1;\nadd.u64 %rd5, %rd1, 1024;\n"
#define BOTH(type, shift, at)                                                                                          \
    "shl.b32 %r8, %r4, " shift ";\nadd.u32 %r8, %r8, %r5;\ncvt.u64.u32 %rd6, %r8;\nadd.u32 %r8, %r8, %r2;\n"           \
    "add.u64 %rd6, %rd6, %rd5;\nld.shared." type " %rd7, [%r8];\nld.global." type " %rd8, [%rd6];\n"                   \
    "st.global.u64 [%rd4+4096+" at "], %rd7;\nst.global.u64 [%rd4+4352+" at "], %rd8;\n"
        BOTH("u8", "0", "0") BOTH("u16", "1", "512") BOTH("u32", "2", "1024") BOTH("u64", "3", "1536") "ret;\n}\n";
    vm_bench b = vm_bench_text(text, sizeof text - 1, (vm_limits){.threads = 1});
    unsigned char *host;
    const uint64_t data = vm_bench_zeros(&b, ALL, &host);
    uint64_t state = 1;
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        uint32_t word[WHERE] = {0};
        for (uint32_t lane = 0, kind = 0, first = 0; lane < 32; lane++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            if (lane % 8 == 0)
                kind = (uint32_t)(state >> 40) % 5, first = (uint32_t)(state >> 50) % 120;
            word[lane] = kind < 2 ? first + lane % 8 : kind < 4 ? first : (uint32_t)(state >> 45) % 128;
        }
        const bool past = trial % 50 == 48, skewed = trial % 50 == 49;
        /* only the last lane of consecutive lanes is beyond the end, or all lanes of a quarter */
        for (uint32_t lane = 0; lane < 8 && (past || skewed); lane++)
            word[8 * (trial / 50 % 4) + lane] = past ? 125 + lane : lane;
        word[32] = skewed ? 1 : 0;
        memcpy(host, word, sizeof word);
        memset(host + OUT, 0xee, ALL - OUT);
        for (unsigned k = 0; k < DATA; k++)
            host[DATA + k] = (unsigned char)(k * 151 + trial);
        const vm_fault_kind kind = vm_bench_try(&b, "k", 1, 32, &data, 0);
        CU_ASSERT_EQUAL(kind, past ? VM_FAULT_ADDRESS : skewed ? VM_FAULT_MISALIGNED : VM_OK);
        unsigned wrong = 0;
        for (unsigned size = 0; size < 4 && !past && !skewed; size++)
            for (unsigned k = 0; k < 64; k++) { /* accesses shared memory, then global memory */
                uint64_t expected = 0, got;
                memcpy(&expected, host + DATA + ((size_t)word[k % 32] << size), (size_t)1 << size);
                memcpy(&got, host + OUT + 512 * size + 8 * k, sizeof got);
                wrong += got != expected;
            }
        CU_ASSERT_EQUAL(wrong, 0);
    }
    vm_bench_end(&b);
}

static const check_case cases[] = {
    {"granules", granules}, {"shapes", shapes},   {"the system's shared memory", systems_shared},
    {"pages", pages},       {"checked", checked}, {"textures", textures}};
KILN_SUITE("vm reach", cases)
