/* Tests device memory, loading, a whole launch, and all of these when allocations fail. */
#include <math.h>
#include <unistd.h>

#include "vm_watch.h"
#include "vm_check.h"

static void allocations(void)
{
    vm_limits limits = {.memory = 1 << 20, .shared_per_block = 49152};
    vm_device *d = vm_device_new(NULL, &limits);
    uint64_t a = vm_alloc(d, 1000), b = vm_alloc(d, 1), base, bytes;
    CU_ASSERT(a >= VM_GLOBAL_BASE && a % 512 == 0 && b % 512 == 0);
    CU_ASSERT(b >= a + 1000 + 512); /* an unused gap separates the two allocations */
    const unsigned char *p = vm_pointer(d, a, 1000);
    CU_ASSERT(p && p[0] == 0xa5 && p[999] == 0xa5);
    CU_ASSERT_PTR_NULL(vm_pointer(d, a, 1001));
    CU_ASSERT_PTR_NULL(vm_pointer(d, a + 1000, 1));
    CU_ASSERT_PTR_NULL(vm_pointer(d, a - 1, 1));
    CU_ASSERT_PTR_NULL(vm_pointer(d, UINT64_MAX, UINT64_MAX));
    CU_ASSERT(vm_range(d, a + 999, &base, &bytes) && base == a && bytes == 1000);
    CU_ASSERT_FALSE(vm_range(d, a + 1000, &base, &bytes));
    CU_ASSERT_EQUAL(vm_memory_used(d), 1001);
    CU_ASSERT_EQUAL(vm_alloc(d, 0), 0);
    CU_ASSERT_EQUAL(vm_alloc(d, 1 << 20), 0);
    CU_ASSERT_EQUAL(vm_alloc(d, UINT64_MAX), 0);
    CU_ASSERT_FALSE(vm_free(d, a + 1));
    CU_ASSERT(vm_free(d, a));
    CU_ASSERT_EQUAL(vm_memory_used(d), 1);
    CU_ASSERT_PTR_NULL(vm_pointer(d, a, 1));
    vm_device_free(d);
    vm_device_free(NULL);
}

static void tiles(void)
{
    enum { N = 64 };
    vm_bench b = vm_bench_file("tile.ptx", (vm_limits){.threads = 2});
    float *A, *B, *C;
    struct {
        uint64_t a, b, c;
        int n;
    } p = {.n = 100};
    p.a = vm_bench_zeros(&b, N * N * 4, &A);
    p.b = vm_bench_zeros(&b, N * N * 4, &B);
    p.c = vm_bench_zeros(&b, N * N * 4, &C);
    for (int i = 0; i < N * N; i++)
        A[i] = (float)(i * 7 % 101) / 8, B[i] = (float)(i * 13 % 97) / 8;
    vm_bench_run(&b, "vadd", 1, 128, &p);
    for (int i = 0; i < 128; i++)
        CU_ASSERT_EQUAL(C[i], i < 100 ? A[i] + B[i] : 0);
    CU_ASSERT_EQUAL(b.counters.warps, 4);
    p.n = N;
    for (uint32_t tile = 16; tile <= 32; tile += 16) {
        vm_launch launch = {.module = b.module,
                            .kernel = vm_module_kernel(b.module, tile == 16 ? "mm16" : "mm32"),
                            .grid = {N / tile, N / tile, 1},
                            .block = {tile, tile, 1},
                            .params = &p};
        CU_ASSERT_EQUAL(vm_run(b.device, &launch, &b.counters, &b.fault), VM_OK);
        int wrong = 0;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                float s = 0;
                for (int k = 0; k < N; k++)
                    s = fmaf(A[i * N + k], B[k * N + j], s);
                wrong += s != C[i * N + j];
            }
        CU_ASSERT_EQUAL(wrong, 0);
    }
    uint64_t first = b.counters.warp_instructions;
    vm_launch again = {.module = b.module,
                       .kernel = vm_module_kernel(b.module, "mm32"),
                       .grid = {2, 2, 1},
                       .block = {32, 32, 1},
                       .params = &p};
    CU_ASSERT_EQUAL(vm_run(b.device, &again, &b.counters, &b.fault), VM_OK);
    CU_ASSERT_EQUAL(b.counters.warp_instructions, first); /* counts repeat */

    size_t count = count_tallies(b.module); /* the counts of a watched launch add up to the same numbers */
    vm_tally *tally = calloc(count, sizeof *tally), sum = {0};
    struct vm_watch watch = {.tally = tally};
    again.hooks = &count_watch_hooks, again.watch = &watch;
    CU_ASSERT_EQUAL(vm_run(b.device, &again, &b.counters, &b.fault), VM_OK);
    for (size_t k = 0; k < count; k++)
        sum.executed += tally[k].executed, sum.lanes += tally[k].lanes;
    CU_ASSERT_EQUAL(b.counters.warp_instructions, first);
    CU_ASSERT_EQUAL(sum.executed, first);
    CU_ASSERT_EQUAL(sum.lanes, b.counters.lane_instructions);
    free(tally);
    vm_bench_end(&b);
}

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

/* Tests modules that the parser accepts, but that cannot be loaded. The log must have the reason. */
static void refusals(void)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {HEAD ".extern .func f; .entry k() { call f; ret; }", "Unresolved extern function 'f'"},
        {HEAD ".entry k(.param .u32 a) { st.param.u32 [a], 1; ret; }", "store to a kernel parameter"},
        {HEAD ".shared .b8 s[32768]; .shared .b8 t[16385];\n"
              ".entry k() { .reg .u32 %a; ld.shared.u8 %a, [s]; st.shared.u8 [t], %a; ret; }",
         "Entry function 'k' uses too much shared data (0xc001 bytes, 0xc000 max)"},
    };
    for (size_t k = 0; k < KILN__COUNT(table); k++) {
        vm_limits limits = {.memory = 1 << 20};
        vm_device *d = vm_device_new(NULL, &limits);
        kiln__text log = {0};
        ptx_module *ptx = NULL;
        vm_module *module = NULL;
        ptx_result r = ptx_parse(NULL, table[k].text, strlen(table[k].text), &ptx, &log);
        if (r == PTX_OK)
            r = decode_module_load(d, ptx, &module, &log);
        CU_ASSERT_NOT_EQUAL(r, PTX_OK);
        CU_ASSERT_PTR_NULL(module);
        if (!strstr(kiln__text_get(&log), table[k].says))
            fprintf(stderr, "%s\n", kiln__text_get(&log));
        CU_ASSERT_PTR_NOT_NULL(strstr(kiln__text_get(&log), table[k].says));
        kiln__text_free(&log);
        vm_device_free(d);
    }
}

/* Shared memory begins at the same address as on a GPU of this compute capability. Static memory comes first, and then
 * dynamic memory. */
static void shared_low(void)
{
    static const char text[] = HEAD
        ".extern .shared .align 16 .b8 dynamic[];\n"
        ".visible .entry k(.param .u64 out, .param .u32 at) { .shared .align 8 .b8 s[8]; .reg .u32 %r<9>;\n"
        ".reg .u64 %d<2>; ld.param.u64 %d0, [out]; ld.param.u32 %r8, [at]; mov.u32 %r0, s;\n"
        "mov.u32 %r1, dynamic; mov.u32 %r2, %total_smem_size; mov.u32 %r3, %aggr_smem_size;\n"
        "mov.u32 %r4, %reserved_smem_offset_begin; mov.u32 %r5, %reserved_smem_offset_end;\n"
        "mov.u64 %d1, s; cvta.shared.u64 %d1, %d1; cvta.to.shared.u64 %d1, %d1;\n"
        "cvt.u32.u64 %r6, %d1; st.global.v4.u32 [%d0], {%r0,%r1,%r2,%r3};\n"
        "st.global.v2.u32 [%d0+16], {%r4,%r5}; st.global.u32 [%d0+24], %r6; st.shared.u32 [%r8], %r0; ret; }\n";
    static const struct {
        int cc;
        uint32_t low;
    } rows[] = {{80, 0}, {89, 0}, {90, 0x400}, {100, 0x400}, {120, 0x400}};
    for (size_t k = 0; k < KILN__COUNT(rows); k++) {
        const uint32_t low = rows[k].low;
        vm_bench b = vm_bench_text(text, sizeof text - 1, (vm_limits){.threads = 1, .cc = rows[k].cc});
        uint32_t *got;
        struct {
            uint64_t out;
            uint32_t at;
        } params = {vm_bench_zeros(&b, 32, &got), low};
        CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 1, &params, 256), VM_OK);
        CU_ASSERT(got[0] == low && got[1] == low + 128 && got[6] == low);
        CU_ASSERT(got[2] == 8 + 256 && got[3] == low + 8 + 256 && got[4] == 0 && got[5] == low);
        vm_resources r;
        vm_kernel_resources(b.module, vm_module_kernel(b.module, "k"), &r);
        CU_ASSERT_EQUAL(r.static_shared, 8);
        params.at = low + 128 + 252;
        CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 1, &params, 256), VM_OK);
        params.at += 4;
        CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 1, &params, 256), VM_FAULT_ADDRESS);
        CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, "264 bytes of shared memory"));
        params.at = low - 4;
        CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 1, &params, 256), VM_FAULT_ADDRESS);
        CU_ASSERT(low == 0 || strstr(b.fault.message, "0x3fc, the first 1024 bytes are the system's"));
        vm_bench_end(&b);
    }
}

/* Makes a device, loads a module and launches a kernel, with an allocator whose n-th allocation fails. Returns true if
 * everything succeeded. */
static bool once(kiln_allocator *mem)
{
    static const char text[] = HEAD
        ".global .u32 g = 5; .func (.param .u32 r) f(.param .u32 a) { .reg .u32 %x; ld.param.u32 %x, [a];\n"
        "add.u32 %x, %x, 1; st.param.u32 [r], %x; ret; }\n"
        ".entry k() { .reg .u32 %a; .param .u32 p; .param .u32 q; ld.global.u32 %a, [g]; st.param.u32 [p], %a;\n"
        "call (q), f, (p); ld.param.u32 %a, [q]; st.global.u32 [g], %a; ret; }";
    vm_limits limits = {.memory = 1 << 20, .shared_per_block = 1024, .threads = 1};
    vm_device *d = vm_device_new(mem, &limits);
    if (!d)
        return false;
    kiln__text log = {.mem = mem};
    ptx_module *ptx = NULL;
    vm_module *module = NULL;
    bool ok = false;
    uint64_t at, bytes;
    if (ptx_parse(mem, text, sizeof text - 1, &ptx, &log) == PTX_OK &&
        decode_module_load(d, ptx, &module, &log) == PTX_OK) {
        vm_launch launch = {.module = module,
                            .kernel = vm_module_kernel(module, "k"),
                            .grid = {1, 1, 1},
                            .block = {1, 1, 1},
                            .params = ""};
        vm_fault fault;
        ok = vm_run(d, &launch, NULL, &fault) == VM_OK;
        CU_ASSERT(ok || fault.kind == VM_FAULT_MEMORY);
        CU_ASSERT(!ok || (vm_module_global(module, "g", &at, &bytes) && *(int *)vm_pointer(d, at, 4) == 6));
    }
    vm_module_unload(d, module);
    kiln__text_free(&log);
    vm_device_free(d);
    return ok;
}

static void out_of_memory(void)
{
    bool done = false;
    for (long n = 0; !done && n < 2000; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        bool ok = once(&mem);
        done = !oom.failed;
        CU_ASSERT(ok || oom.failed);
        CU_ASSERT_EQUAL(oom.live, 0);
    }
    CU_ASSERT(done);
}

/* ---- modules with many parts ---- */

static void add_many(kiln__text *text, unsigned count, const char *format)
{
    for (unsigned k = 0; k < count; k++)
        kiln__text_printf(text, format, k, k + 1);
}

static ptx_result load_text(kiln__text *text, kiln__text *log, vm_bench *b)
{
    vm_limits limits = {.memory = 1 << 20, .shared_per_block = 49152};
    ptx_module *ptx = NULL;
    *b = (vm_bench){.device = vm_device_new(NULL, &limits)};
    CU_ASSERT_FATAL(b->device && !text->failed && ptx_parse(NULL, text->data, text->length, &ptx, log) == PTX_OK);
    kiln__text_free(text);
    return decode_module_load(b->device, ptx, &b->module, log);
}

/* Tests that the time of loading grows in proportion to the text, and not to its square. */
static void many(void)
{
    enum { COUNT = 60000 };
    kiln__text text = {0}, log = {0};
    vm_bench b;
    kiln__text_puts(&text, ".version 8.0\n.target sm_80\n.address_size 64\n.func f(.param .b8 first");
    add_many(&text, COUNT, ", .param .b8 p%u");
    kiln__text_puts(&text, ") {\n.reg .b64 %d;\n");
    add_many(&text, COUNT, "mov.b64 %%d, p0;\n"); /* each line takes the address of a parameter */
    kiln__text_puts(&text, "ret; }\n.shared .b32 s; .shared .b32 own;\n");
    add_many(&text, COUNT, ".entry k%u() { .reg .b32 %%r; mov.b32 %%r, s; ret; }\n");
    kiln__text_puts(&text, ".entry last() { .reg .b32 %r; mov.b32 %r, s; mov.b32 %r, own; ret; }\n");
    CHECK(load_text(&text, &log, &b) == PTX_OK);
    vm_resources r;
    vm_kernel_resources(b.module, vm_module_kernel(b.module, "k0"), &r);
    CHECK(r.static_shared == 4);
    vm_kernel_resources(b.module, vm_module_kernel(b.module, "last"), &r);
    CHECK(r.static_shared == 8);
    vm_bench_end(&b);
    /* Each kernel calls a function that calls all other functions. */
    enum { DEEP = 16000 };
    kiln__text_puts(&text, ".version 8.0\n.target sm_80\n.address_size 64\n");
    add_many(&text, DEEP + 1, ".func f%u();\n");
    add_many(&text, DEEP, ".func f%u() { call f%u; ret; }\n");
    add_many(&text, DEEP, ".entry k%u() { call f0; ret; }\n");
    kiln__text_printf(&text, ".func f%u() { ret; }\n", DEEP);
    CHECK(load_text(&text, &log, &b) == PTX_INVALID);
    CHECK(strstr(kiln__text_get(&log), "the kernels of the module call too many functions") != NULL);
    vm_bench_end(&b);
    kiln__text_free(&log);
}

static size_t resident(void)
{
    size_t all = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CU_ASSERT_FATAL(file && fscanf(file, "%zu %zu", &all, &pages) == 2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Tests that a variable without an initialiser takes no memory of the host before it is used. */
static void large_variable(void)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .b8 a[1073741824];\n";
    enum { MUCH = 256 << 20 };
    const size_t before = resident();
    vm_bench b = vm_bench_text(text, sizeof text - 1, (vm_limits){.memory = (uint64_t)2 << 30});
    CHECK(resident() < before + MUCH);
    uint64_t address = 0, bytes = 0;
    CHECK(vm_module_global(b.module, "a", &address, &bytes) && bytes == 1 << 30);
    const unsigned char *a = vm_pointer_read(b.device, address, bytes);
    CHECK(a && a[0] == 0 && a[bytes / 2] == 0 && a[bytes - 1] == 0);
    vm_bench_end(&b);
}

static const check_case cases[] = {{"allocations", allocations},
                                   {"tiles", tiles},
                                   {"refusals", refusals},
                                   {"shared memory begins", shared_low},
                                   {"out of memory", out_of_memory},
                                   {"many", many},
                                   {"a large variable", large_variable}};
KILN_SUITE("vm", cases)
