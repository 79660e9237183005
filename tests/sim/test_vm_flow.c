/* Tests the kernels of flow.cu, which have control flow, memory and calls. Each kernel is compared with the same
 * computation on the host. */
#include <math.h>

#include "vm_check.h"

static uint64_t out;
static int *o;
static vm_bench begin(unsigned threads)
{
    vm_bench b = vm_bench_file("flow.ptx", (vm_limits){.threads = threads});
    out = vm_bench_zeros(&b, 1 << 16, &o);
    return b;
}

static void divergence(void)
{
    vm_bench b = begin(1);
    vm_bench_run(&b, "diverge", 1, 96, &out);
    for (int i = 0; i < 96; i++) {
        int s = 0;
        for (int k = 0; k < i; k++)
            s = k & 1 ? s + k * 3 : k % 3 == 0 ? s - k : s ^ k;
        if (i % 5)
            switch (i % 7) {
            case 0: s += 1; break;
            case 1: s *= 2; break;
            case 2: s -= 5; break;
            case 3: s ^= 77; break;
            case 4: s = -s; break;
            case 5: s = (int)((unsigned)s << 2); break;
            default: s >>= 1; break;
            }
        CU_ASSERT_EQUAL(o[i], (int)s);
    }
    vm_bench_run(&b, "early", 1, 96, &out);
    CU_ASSERT_EQUAL(o[62], 29);
    CU_ASSERT_EQUAL(o[0], 17);
    CU_ASSERT_EQUAL(b.counters.warps, 3);
    vm_bench_end(&b);
}

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

/* Tests calls of device functions: recursion, function pointers, structures by value, and a stack overflow. */
static void calls(void)
{
    typedef struct S {
        int a;
        float b[5];
        char c;
    } S;
    vm_bench b = begin(1);
    vm_bench_run(&b, "recur", 1, 40, &out);
    for (int i = 0; i < 40; i++)
        CU_ASSERT_EQUAL(o[i], fib(i % 12));
    vm_bench_run(&b, "indirect", 1, 40, &out);
    for (int i = 0; i < 40; i++) {
        int r = 0;
        for (int k = 0; k < 4; k++)
            r += (i + k) % 3 == 0 ? i + k + 2 : (i + k) % 3 == 1 ? i * (k + 2) : i - k - 2;
        CU_ASSERT_EQUAL(o[i], r);
    }
    struct {
        S s;
        uint64_t o;
    } p = {{10, {1, 2, 3, 4, 5}, 'c'}, out};
    vm_bench_run(&b, "structs", 1, 32, &p);
    for (int i = 0; i < 32; i++) {
        S r = p.s, *got = (S *)(void *)o + i;
        r.a += i, r.b[i % 5] = (float)i, r.c = 'q';
        r.b[(i + 1) % 5] += p.s.b[i % 5];
        CU_ASSERT(r.a == got->a && memcmp(r.b, got->b, sizeof r.b) == 0 && r.c == got->c);
    }
    CU_ASSERT_EQUAL(vm_bench_try(&b, "deep", 1, 32, &out, 0), VM_FAULT_STACK);
    vm_bench_end(&b);
}

static void atomics(void)
{
    vm_bench b = begin(2);
    double *q;
    uint64_t more = vm_bench_zeros(&b, 256, &q);
    struct {
        uint64_t c, q, f, d;
    } p = {out, more, more + 8, more + 16};
    o[6] = (int)0xa5a5a5a5u, o[9] = -1;
    vm_bench_run(&b, "atom", 8, 100, &p);
    int x = 0;
    for (int i = 0; i < 800; i++)
        x ^= i;
    const int want[] = {799 * 400, -799, 799, -1, x, 0, 7, 5, (51 - 800 % 51) % 51, (int)0xffff0000u, -1600};
    for (size_t k = 0; k < KILN__COUNT(want); k++)
        CU_ASSERT_EQUAL(o[k], want[k]);
    uint64_t sum;
    float ones;
    memcpy(&sum, q, 8);
    memcpy(&ones, q + 1, 4);
    CU_ASSERT_EQUAL(sum, (uint64_t)799 * 400 << 20);
    CU_ASSERT_EQUAL(ones, 800);
    CU_ASSERT_EQUAL(q[2], 400);
    vm_bench_end(&b);
}

/* Tests lanes and blocks that wait for each other in loops. */
static void progress(void)
{
    for (unsigned threads = 1; threads <= 2; threads++) {
        vm_bench b = begin(threads);
        struct {
            uint64_t lock, value;
        } p = {out, out + 4};
        vm_bench_run(&b, "lock", 4, 64, &p);
        CU_ASSERT_EQUAL(o[1], 256);
        vm_bench_run(&b, "lock2", 2, 64, &p);
        CU_ASSERT_EQUAL(o[1], 384);
        p.value = out + 64;
        vm_bench_run(&b, "chain", 40, 32, &p);
        CU_ASSERT_EQUAL(o[0], 40);
        CU_ASSERT_EQUAL(o[16 + 39], 39 * 39);
        o[0] = 0;
        vm_bench_run(&b, "chainrev", 8, 32, &p); /* the kernel needs all eight blocks resident */
        CU_ASSERT_EQUAL(o[0], 8);
        vm_bench_end(&b);
    }
}

static void warp_operations(void)
{
    vm_bench b = begin(1);
    vm_bench_run(&b, "shuf", 1, 32, &out);
    for (int i = 0; i < 32; i++) {
        int same = 0, most = 0;
        for (int j = 0; j < 32; j++) {
            same |= (int)((unsigned)(j % 5 == i % 5) << j);
            most = (j * 13) % 29 > most ? (j * 13) % 29 : most;
        }
        CU_ASSERT_EQUAL(o[i], ((i * 7) & 31) * 10);
        CU_ASSERT_EQUAL(o[32 + i], (i >= 3 ? i - 3 : i) * 10);
        CU_ASSERT_EQUAL(o[64 + i], ((i & 15) + 5 < 16 ? i + 5 : i) * 10);
        CU_ASSERT_EQUAL(o[96 + i], (i ^ 9) * 10);
        CU_ASSERT_EQUAL(o[128 + i], 0x49249249);
        CU_ASSERT_EQUAL(o[160 + i], 3);
        CU_ASSERT_EQUAL(o[192 + i], same);
        CU_ASSERT_EQUAL(o[224 + i], 496);
        CU_ASSERT_EQUAL(o[256 + i], most);
        CU_ASSERT_EQUAL(o[320 + i], i & 1 ? 310 : (i ^ 2) * 10);
        CU_ASSERT_EQUAL(o[352 + i], 0);
        if (i < 20)
            CU_ASSERT_EQUAL(o[288 + i], 0xfffff);
    }
    vm_bench_end(&b);
}

static void barriers(void)
{
    vm_bench b = begin(1);
    vm_bench_run(&b, "bars", 1, 256, &out);
    const int want[] = {255 * 128, 86, 1, 1, 42};
    for (size_t k = 0; k < KILN__COUNT(want); k++)
        CU_ASSERT_EQUAL(o[k], want[k]);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "hang", 1, 64, &out, 0), VM_FAULT_DEADLOCK);
    CHECK_TEXT(
        b.fault.message,
        "deadlock, 64 of 64 threads live: warp 0 mask 0xffffffff at a barrier, line 21, warp 1 mask 0xffffffff at a "
        "barrier, line 21: kernel 'hang' at flow.cu:21, block (0,0,0), thread (0,0,0)");
    vm_bench_end(&b);
}

/* Tests variables in every state space, and faults beyond their ends. */
static void memory(void)
{
    vm_bench b = begin(1);
    vm_bench_run(&b, "glob", 1, 32, &out);
    for (int i = 0; i < 32; i++)
        CU_ASSERT_EQUAL(o[i], (i & 7) + 1 + 9 + (i & 1 ? "bye" : "hello")[i % 3]);
    uint64_t at, bytes;
    CU_ASSERT(vm_module_global(b.module, "cc", &at, &bytes) && bytes == 32);
    CU_ASSERT_FALSE(vm_module_global(b.module, "no such", &at, &bytes));
    CU_ASSERT_EQUAL(vm_bench_try(&b, "dyn", 1, 64, &out, 256), VM_OK);
    for (int i = 0; i < 64; i++)
        CU_ASSERT_EQUAL(o[i], 2 * (63 - i));
    CU_ASSERT_EQUAL(vm_bench_try(&b, "dyn", 1, 65, &out, 256), VM_FAULT_ADDRESS);
    CU_ASSERT_EQUAL(b.fault.thread[0], 64);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "dyn", 1, 64, &out, 1 << 20), VM_FAULT_INSTRUCTION);
    vm_bench_run(&b, "local", 1, 64, &out);
    for (int i = 0; i < 64; i++) {
        int a[16];
        unsigned s = 0;
        for (int k = 0; k < 16; k++)
            a[(k * 5 + i) % 16] = k * i;
        for (int k = 0; k < 16; k++)
            s = s * 3 + (unsigned)a[(k + i) & 15];
        CU_ASSERT_EQUAL(o[i], (int)s);
    }
    struct {
        uint64_t p, o;
    } heap = {out, out + 1024};
    vm_bench_run(&b, "mallc", 1, 33, &heap);
    for (int i = 0; i < 33; i++)
        CU_ASSERT_EQUAL(o[256 + i], i);
    vm_bench_end(&b);
}

static void faults(void)
{
    vm_bench b = vm_bench_file("flow.ptx", (vm_limits){.threads = 1, .step_budget = 1 << 18});
    uint64_t room = vm_alloc(b.device, 4096), five = 5, none = 0;
    struct {
        uint64_t o;
        int n;
    } past = {room, 1019};
    CU_ASSERT_EQUAL(vm_bench_try(&b, "oob", 1, 32, &past, 0), VM_FAULT_ADDRESS);
    CU_ASSERT_EQUAL(b.fault.address, room + 4096);
    CU_ASSERT_EQUAL(b.fault.thread[0], 5);
    CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, "0 bytes past the end of the allocation of 4096 bytes"));
    CHECK_TEXT(b.fault.file, "flow.cu");
    CHECK_TEXT(b.fault.kernel, "oob");
    CU_ASSERT_EQUAL(b.fault.file_line, 23);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "mis", 1, 32, &room, 0), VM_FAULT_MISALIGNED);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "mis", 1, 32, &none, 0), VM_FAULT_ADDRESS);
    CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, "a null pointer"));
    CU_ASSERT_EQUAL(vm_bench_try(&b, "trp", 1, 32, &room, 0), VM_FAULT_TRAP);
    CU_ASSERT_EQUAL(b.fault.thread[0], 7);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "as", 1, 32, &five, 0), VM_OK);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "as", 1, 32, &none, 0), VM_FAULT_ASSERT);
    CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, "t1.cu:77: as: Assertion `x == 5` failed"));
    CU_ASSERT_EQUAL(vm_bench_try(&b, "forever", 2, 64, &room, 0), VM_FAULT_STEPS);
    CHECK(strstr(b.fault.message, "running warps were in the loop at flow.cu:") != NULL);
    if (!strstr(b.fault.message, "in the loop"))
        fprintf(stderr, "%s\n", b.fault.message);
    volatile int stop = 1;
    vm_launch launch = {.module = b.module,
                        .kernel = vm_module_kernel(b.module, "forever"),
                        .grid = {1, 1, 1},
                        .block = {1, 1, 1},
                        .params = &room,
                        .stop = &stop};
    CU_ASSERT_EQUAL(vm_run(b.device, &launch, NULL, &b.fault), VM_FAULT_STOPPED);
    /* The deadline of this launch has passed. */
    vm_launch late = {.module = b.module,
                      .kernel = vm_module_kernel(b.module, "forever"),
                      .grid = {2, 1, 1},
                      .block = {64, 1, 1},
                      .params = &room,
                      .deadline = 1};
    CU_ASSERT_EQUAL(vm_run(b.device, &late, NULL, &b.fault), VM_FAULT_TIME);
    CHECK(strstr(b.fault.message, "within its time limit: kernel 'forever' at flow.cu:") != NULL);
    CHECK(strstr(b.fault.message, "2 running warps, not in a loop") != NULL); /* the deadline had passed before */
    late.deadline = UINT64_MAX;
    late.kernel = vm_module_kernel(b.module, "carry"); /* a kernel that ends */
    late.grid[0] = 1;
    CU_ASSERT_EQUAL(vm_run(b.device, &late, NULL, &b.fault), VM_OK);
    CU_ASSERT(vm_free(b.device, room));
    CU_ASSERT_FALSE(vm_free(b.device, room));
    CU_ASSERT_EQUAL(vm_bench_try(&b, "oob", 1, 1, &past, 0), VM_FAULT_ADDRESS);
    CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, "in an allocation of 4096 bytes that was freed"));
    CU_ASSERT_EQUAL(vm_bench_try(&b, "no such kernel", 1, 1, &past, 0), VM_FAULT_INSTRUCTION);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "oob", 1, 1025, &past, 0), VM_FAULT_INSTRUCTION);
    vm_bench_end(&b);
}

static void keep(void *user, const char *text, size_t length) { kiln__text_add(user, text, length); }

static void printing(void)
{
    vm_bench b = begin(1);
    kiln__text text = {0};
    memcpy(o, "device string", 14);
    vm_launch launch = {.module = b.module,
                        .kernel = vm_module_kernel(b.module, "pf"),
                        .grid = {1, 1, 1},
                        .block = {32, 1, 1},
                        .params = &out,
                        .print = keep,
                        .user = &text};
    CU_ASSERT_EQUAL(vm_run(b.device, &launch, NULL, &b.fault), VM_OK);
    CHECK_TEXT(kiln__text_get(&text), "t0  3.14|42    |ff device string z -5000000000 1.234568e+04 0.0001 % 7\n"
                                      "t1  3.14|42    |ff device string z -5000000000 1.234568e+04 0.0001 % 7\n");
    kiln__text_free(&text);
    vm_bench_end(&b);
}

static void odds_and_ends(void)
{
    vm_bench b = begin(1);
    vm_bench_run(&b, "carry", 1, 32, &out);
    for (unsigned i = 0; i < 32; i++) {
        uint64_t r = (uint64_t)(0xfffffff0u + i) + 20;
        CU_ASSERT_EQUAL((uint32_t)o[2 * i], (uint32_t)r);
        CU_ASSERT_EQUAL((uint32_t)o[2 * i + 1], i + 5 + (uint32_t)(r >> 32));
        __extension__ typedef unsigned __int128 wide;
        wide x = ((wide)~0ull << 3) + i, y = x * (x + i);
        CU_ASSERT_EQUAL((uint32_t)o[64 + i], (uint32_t)(y >> 70));
        CU_ASSERT_EQUAL((uint32_t)o[96 + i], (uint32_t)((x - y) >> 65));
    }
    vm_bench_run(&b, "clk", 1, 32, &out);
    CU_ASSERT_EQUAL(o[0], 1);
    vm_resources r;
    vm_kernel_resources(b.module, vm_module_kernel(b.module, "bars"), &r);
    CU_ASSERT(r.static_shared == 1024 && r.max_threads == 1024 && r.param_bytes == 8 && r.register_estimate >= 16);
    vm_bench_end(&b);
}

/* The kernel loads 60 words before it stores the first one. The estimate limits its registers only if the requested
 * number of blocks would not fit otherwise. */
static unsigned registers_of(const char *directives)
{
    char text[8192];
    int n = snprintf(text, sizeof text,
                     ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n%s\n"
                     "{\n.reg .u32 %%r<60>;\n.reg .u64 %%a<1>;\nld.param.u64 %%a0, [p];\n",
                     directives);
    for (int i = 0; i < 60; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "ld.global.u32 %%r%d, [%%a0+%d];\n", i, 4 * i);
    for (int i = 0; i < 60; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "st.global.u32 [%%a0+%d], %%r%d;\n", 4 * i + 4, i);
    n += snprintf(text + n, sizeof text - (size_t)n, "ret;\n}\n");
    vm_bench b = vm_bench_text(text, (size_t)n, (vm_limits){.threads = 1});
    vm_resources r;
    vm_kernel_resources(b.module, vm_module_kernel(b.module, "k"), &r);
    vm_bench_end(&b);
    return r.register_estimate;
}

static void registers(void)
{
    unsigned plain = registers_of("");
    CU_ASSERT(plain >= 60);
    CU_ASSERT_EQUAL(registers_of(".maxntid 512"), plain);
    /* the directive does not say how many threads a block has */
    CU_ASSERT_EQUAL(registers_of(".minnctapersm 4"), plain);
    CU_ASSERT_EQUAL(registers_of(".maxntid 512\n.minnctapersm 1"), plain);
    CU_ASSERT_EQUAL(registers_of(".maxntid 512\n.minnctapersm 3"), 40); /* 65536 / 1536 = 42.7, in units of 8 */
    CU_ASSERT_EQUAL(registers_of(".maxntid 512, 2\n.minnctapersm 2"), 32);
}

static const check_case cases[] = {{"divergence", divergence},
                                   {"calls", calls},
                                   {"atomics", atomics},
                                   {"progress", progress},
                                   {"warp operations", warp_operations},
                                   {"barriers", barriers},
                                   {"memory", memory},
                                   {"faults", faults},
                                   {"printing", printing},
                                   {"odds and ends", odds_and_ends},
                                   {"registers", registers}};
KILN_SUITE("vm flow", cases)
