/* Tests kernels that launch kernels. The kernels are in child.cu, and use both generations of the device runtime. */
#include "vm_check.h"

#define WORDS 4096
static uint64_t out;
static int *o;

static bool attribute(const void *user, int which, int *value)
{
    *value = which + *(const int *)user;
    return which != 1;
}
static bool occupancy(const void *user, const struct vm_resources *kernel, int threads, uint64_t shared, int *blocks)
{
    *blocks = *(const int *)user + threads + (int)shared + (int)kernel->static_shared;
    return true;
}
static const int hundred = 100;

static vm_bench begin(const char *file, unsigned threads)
{
    vm_limits limits = {.threads = threads, .attribute = attribute, .occupancy = occupancy, .user = &hundred};
    vm_bench b = vm_bench_file(file, limits);
    out = vm_bench_zeros(&b, WORDS * sizeof(int), &o);
    return b;
}
static void clear(void) { memset(o, 0, WORDS * sizeof(int)); }

/* Tests the results that both generations of the device runtime have in common. */
static void common(const char *file)
{
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        vm_bench b = begin(file, threads);
        struct {
            uint64_t to;
            int n;
        } p = {out, 3};
        vm_bench_run(&b, "one_each", 8, 32, &p);
        for (int k = 0; k < 128; k++) /* thread t of each of the 8 blocks launches t + 1 blocks */
            CU_ASSERT_EQUAL(o[k], 8 * 3 * (k / 32 + 1));
        CU_ASSERT_EQUAL(b.counters.blocks, 8 + 8 * (1 + 2 + 3 + 4));
        clear();
        struct {
            uint64_t from, to;
        } two = {out, out + 64 * sizeof(int)};
        vm_bench_run(&b, "writes", 1, 32, &two);
        for (int k = 0; k < 8; k++)
            CU_ASSERT_EQUAL(o[64 + k], 101 + k);
        clear();
        p.n = 7;
        vm_bench_run(&b, "tree", 1, 1, &p);
        CU_ASSERT_EQUAL(o[0], 128);
        CU_ASSERT_EQUAL(o[1], 127);
        CU_ASSERT_EQUAL(b.counters.blocks, 255);
        clear();
        vm_bench_run(&b, "light", 1, 32, &out);
        for (int k = 0; k < 32; k++)
            CU_ASSERT_EQUAL(o[k], 31 - k);
        vm_resources r;
        vm_kernel_resources(b.module, vm_module_kernel(b.module, "light"), &r);
        CU_ASSERT_EQUAL(r.static_shared, 16);
        vm_kernel_resources(b.module, vm_module_kernel(b.module, "heavy"), &r);
        CU_ASSERT_EQUAL(r.static_shared, 16384);
        vm_kernel_resources(b.module, vm_module_kernel(b.module, "down"), &r);
        /* a kernel that launches itself needs no stack, because a launch is not a call */
        CU_ASSERT_EQUAL(r.local_bytes, 0);
        vm_bench_end(&b);
    }
}
static void second(void) { common("child.ptx"); }
static void first(void) { common("child_1.ptx"); }

static void order(void)
{
    vm_bench b = begin("child.ptx", 2);
    static const int in_order[] = {1, 2, 3, 10, 11};
    vm_bench_run(&b, "order", 1, 1, &out);
    CU_ASSERT_EQUAL(o[0], 5);
    for (int k = 0; k < 5; k++)
        CU_ASSERT_EQUAL(o[1 + k], in_order[k]);
    clear();
    /* A tail launch and its own tail launches are complete before the next tail launch starts. */
    static const int tails[] = {20, 21, 30};
    vm_bench_run(&b, "tails", 1, 1, &out);
    CU_ASSERT_EQUAL(o[0], 3);
    for (int k = 0; k < 3; k++)
        CU_ASSERT_EQUAL(o[1 + k], tails[k]);
    clear();
    vm_bench_run(&b, "tail_moves", 1, 1, &out);
    CU_ASSERT_EQUAL(o[0], 1);
    CU_ASSERT_EQUAL(o[1], 5);
    CU_ASSERT_EQUAL(o[2], 0x11111111);
    clear();
    struct {
        uint64_t to;
        int n;
    } p = {out, 1000};
    vm_bench_run(&b, "again", 1, 1, &p);
    CU_ASSERT_EQUAL(o[0], 1000);
    vm_bench_end(&b);
}

static void limits(void)
{
    vm_bench b = begin("child.ptx", 1);
    struct {
        uint64_t to;
        int n;
    } p = {out, 0};
    vm_bench_run(&b, "down", 1, 1, &p);
    CU_ASSERT_EQUAL(o[0], 23); /* levels 0 to 23 ran */
    CU_ASSERT_EQUAL(o[1], 65); /* cudaErrorLaunchMaxDepthExceeded */
    CU_ASSERT_EQUAL(o[2], 0);
    clear();
    p.n = 3000;
    vm_bench_run(&b, "pending", 1, 1, &p);
    CU_ASSERT_EQUAL(o[0], 2048);
    CU_ASSERT_EQUAL(o[1], 69); /* cudaErrorLaunchPendingCountExceeded */
    CU_ASSERT_EQUAL(o[2], 2048);
    clear();
    static const size_t few[VM_LIMITS] = {1024, 1024, 1024, 2, 5};
    vm_launch launch = {.module = b.module,
                        .kernel = vm_module_kernel(b.module, "pending"),
                        .grid = {3, 1, 1},
                        .block = {1, 1, 1},
                        .params = &p,
                        .limits = few};
    CU_ASSERT_EQUAL(vm_run(b.device, &launch, NULL, &b.fault), VM_OK);
    CU_ASSERT_EQUAL(o[0], 5);
    CU_ASSERT_EQUAL(o[2], 3 * 5); /* the limit applies to each block */
    vm_bench_end(&b);
}

static void errors(void)
{
    vm_bench b = begin("child.ptx", 1);
    vm_bench_run(&b, "shapes", 1, 1, &out);
    static const int codes[] = {9, 9, 9, 9, 9, 9};
    for (int k = 0; k < 6; k++)
        CU_ASSERT_EQUAL(o[k], codes[k]);
    for (int k = 0; k < 20; k++) {
        CU_ASSERT_EQUAL(o[10 + k], "invalid configuration argument"[k]);
        CU_ASSERT_EQUAL(o[40 + k], "cudaErrorInvalidValue"[k]);
    }
    CU_ASSERT_EQUAL(b.counters.blocks, 1);
    vm_bench_run(&b, "unknown_stream", 1, 1, &out);
    CU_ASSERT_EQUAL(o[0], 1);
    CU_ASSERT_EQUAL(b.counters.blocks, 1);
    vm_bench_end(&b);
}

static void streams(void)
{
    vm_bench b = begin("child.ptx", 1);
    vm_bench_run(&b, "streams", 1, 1, &out);
    CU_ASSERT_EQUAL(o[0], 2);
    CU_ASSERT_EQUAL(o[1], 5);
    CU_ASSERT_EQUAL(o[2], 6);
    static const int codes[] = {0, 0, 0, 0, 0, 0, 0, 400, 400};
    for (int k = 0; k < 9; k++)
        CU_ASSERT_EQUAL(o[20 + k], codes[k]);
    vm_bench_end(&b);
}

static void moves(void)
{
    vm_bench b = begin("child.ptx", 1);
    uint64_t before = vm_memory_used(b.device);
    vm_bench_run(&b, "moves", 1, 1, &out);
    for (int k = 0; k < 8; k++)
        CU_ASSERT_EQUAL(o[k], k < 6 ? 0x11111111 : 0);
    for (int k = 8; k < 20; k++)
        CU_ASSERT_EQUAL(o[k], k % 4 < 2 && k < 18 ? 0x22222222 : 0);
    for (int k = 20; k < 26; k++)
        CU_ASSERT_EQUAL(o[k], 0x22222222);
    static const int codes[] = {1, 1, 0, 0, 7, 0, 2};
    for (int k = 0; k < 7; k++)
        CU_ASSERT_EQUAL(o[30 + k], codes[k]);
    for (int k = 40; k < 45; k++)
        CU_ASSERT_EQUAL(o[k], 0);
    CU_ASSERT_EQUAL(vm_memory_used(b.device), before);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "bad_fill", 1, 1, &out, 0), VM_FAULT_ADDRESS);
    CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, "fill of 1048576 bytes"));
    CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, "enqueued by kernel 'bad_fill'"));
    vm_bench_end(&b);
}

static void asks(void)
{
    vm_bench b = begin("child.ptx", 1);
    struct {
        uint64_t to, limit;
    } p = {out, out + 256};
    vm_bench_run(&b, "asks", 1, 1, &p);
    /* 116 is 100 plus the value 16 of an attribute, and 356 is 100 plus 256 threads */
    static const int codes[] = {0, 116, 101, 0, 0, 0, 0, 1, 0, 215, 0, 356};
    for (int k = 0; k < 12; k++)
        CU_ASSERT_EQUAL(o[k], codes[k]);
    CU_ASSERT_EQUAL(o[64], 2048);
    vm_bench_end(&b);
}

static void faults(void)
{
    vm_bench b = begin("child.ptx", 2);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "fault_in_child", 4, 1, &out, 0), VM_FAULT_ADDRESS);
    CU_ASSERT_STRING_EQUAL(b.fault.kernel, "add");
    CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, "child.cu:6"));
    CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, "launched by kernel 'fault_in_child'"));
    vm_bench_end(&b);
    b = vm_bench_file("child.ptx", (vm_limits){.threads = 2, .step_budget = 1 << 20});
    out = vm_bench_zeros(&b, 256, &o);
    uint64_t before = vm_memory_used(b.device);
    CU_ASSERT_EQUAL(vm_bench_try(&b, "endless_child", 1, 1, &out, 0), VM_FAULT_STEPS);
    /* 3^23 launches exceed the budget of steps */
    CU_ASSERT_EQUAL(vm_bench_try(&b, "in_a_loop", 1, 1, &out, 0), VM_FAULT_STEPS);
    struct {
        uint64_t to;
        int n;
    } p = {out, 1 << 30};
    CU_ASSERT_EQUAL(vm_bench_try(&b, "again", 1, 1, &p, 0), VM_FAULT_STEPS);
    CU_ASSERT_EQUAL(vm_memory_used(b.device), before);
    vm_bench_end(&b);
}

/* Only the first generation lets a kernel wait for a kernel that it launched. */
static void waits(void)
{
    vm_bench b = begin("child_1.ptx", 2);
    vm_bench_run(&b, "waits", 1, 64, &out);
    CU_ASSERT_EQUAL(o[31], 5);
    CU_ASSERT_EQUAL(o[40], 0);
    CU_ASSERT_EQUAL(o[41], 5);
    clear();
    struct {
        uint64_t to;
        int n;
    } p = {out, 0};
    vm_bench_run(&b, "waits_below", 1, 1, &p);
    CU_ASSERT_EQUAL(o[0], 1);
    CU_ASSERT_EQUAL(o[1], 1);
    CU_ASSERT_EQUAL(o[2], 1 + 68); /* cudaErrorSyncDepthExceeded */
    vm_bench_end(&b);
}

/* PTX that uses the first generation: one function allocates a buffer by size and alignment, and another function
 * launches it. */
static const char old_launch[] =
    ".version 9.0\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 a, .param .b64 s);\n"
    ".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 f, .param .b64 p, .param .align 4 .b8 g[12],\n"
    "    .param .align 4 .b8 b[12], .param .b32 s, .param .b64 t);\n"
    ".visible .entry child(.param .u64 to, .param .u32 n)\n"
    "{ .reg .b64 %a; .reg .b32 %n, %t; ld.param.u64 %a, [to]; ld.param.u32 %n, [n];\n"
    "  mov.u32 %t, %ctaid.x; add.u32 %n, %n, %t; red.global.add.u32 [%a], %n; ret; }\n"
    ".visible .entry parent(.param .u64 to, .param .u64 bytes)\n"
    "{ .reg .b64 %a, %s, %p, %f; .reg .b32 %r; .param .b64 x, y; .param .b64 z; .param .align 4 .b8 g[12];\n"
    "  .param .align 4 .b8 b[12]; .param .b32 m; .param .b64 st; .param .b32 e;\n"
    "  ld.param.u64 %a, [to]; ld.param.u64 %s, [bytes];\n"
    "  st.param.b64 [x], 8; st.param.b64 [y], %s; call (z), cudaGetParameterBuffer, (x, y); ld.param.b64 %p, [z];\n"
    "  st.u64 [%p], %a; st.u32 [%p+8], 5;\n"
    "  mov.u64 %f, child; st.param.b64 [x], %f; st.param.b64 [y], %p;\n"
    "  st.param.b32 [g], 3; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
    "  st.param.b32 [b], 1; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;\n"
    "  st.param.b32 [m], 0; st.param.b64 [st], 0;\n"
    "  call (e), cudaLaunchDevice, (x, y, g, b, m, st); ld.param.b32 %r, [e]; st.global.u32 [%a+4], %r; ret; }\n";

static void old(void)
{
    vm_bench b = vm_bench_text(old_launch, sizeof old_launch - 1, (vm_limits){.threads = 1});
    out = vm_bench_zeros(&b, 64, &o);
    struct {
        uint64_t to, bytes;
    } p = {out, 12};
    vm_bench_run(&b, "parent", 1, 1, &p);
    CU_ASSERT_EQUAL(o[0], 5 + 6 + 7);
    CU_ASSERT_EQUAL(o[1], 0);
    p.bytes = 12 + 63; /* the buffer has its size in blocks of 64, but the requested size counts */
    vm_bench_run(&b, "parent", 1, 1, &p);
    CU_ASSERT_EQUAL(o[1], 0);
    o[0] = 0;
    p.bytes = 8;
    vm_bench_run(&b, "parent", 1, 1, &p);
    CU_ASSERT_EQUAL(o[0], 0);
    CU_ASSERT_EQUAL(o[1], 1);
    vm_bench_end(&b);
}

/* A call that launches a buffer always frees it. It also frees the buffer if the kernel pointer is wrong, or if the
 * buffer comes from the other generation. Only one launch may be pending here, so if a buffer were not freed, the next
 * cudaGetParameterBuffer() would fail. */
static void failed_call_frees_buffer(void)
{
    static const char text[] =
        ".version 9.0\n.target sm_80\n.address_size 64\n"
        ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 a, .param .b64 s);\n"
        ".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 f, .param .b64 p, .param .align 4 .b8 g[12],\n"
        "    .param .align 4 .b8 b[12], .param .b32 s, .param .b64 t);\n"
        ".extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 p, .param .b64 t);\n"
        ".visible .entry parent(.param .u64 to)\n"
        "{ .reg .b64 %a, %p; .reg .b32 %r; .param .b64 x, y; .param .b64 z; .param .align 4 .b8 g[12];\n"
        "  .param .align 4 .b8 b[12]; .param .b32 m; .param .b64 st; .param .b32 e;\n"
        "  ld.param.u64 %a, [to]; st.param.b64 [st], 0; st.param.b32 [m], 0;\n"
        "  st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
        "  st.param.b32 [b], 1; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;\n"
        "  st.param.b64 [x], 8; st.param.b64 [y], 8; call (z), cudaGetParameterBuffer, (x, y);\n"
        "  ld.param.b64 %p, [z]; st.param.b64 [x], 24; st.param.b64 [y], %p;\n"
        "  call (e), cudaLaunchDevice, (x, y, g, b, m, st); ld.param.b32 %r, [e]; st.global.u32 [%a], %r;\n"
        "  st.param.b64 [x], 8; st.param.b64 [y], 8; call (z), cudaGetParameterBuffer, (x, y);\n"
        "  ld.param.b64 %p, [z]; st.global.u64 [%a+8], %p; st.param.b64 [x], %p;\n"
        "  call (e), cudaLaunchDeviceV2, (x, st); ld.param.b32 %r, [e]; st.global.u32 [%a+4], %r;\n"
        "  st.param.b64 [x], 8; st.param.b64 [y], 8; call (z), cudaGetParameterBuffer, (x, y);\n"
        "  ld.param.b64 %p, [z]; st.global.u64 [%a+16], %p; ret; }\n";
    uint64_t limits[VM_LIMITS] = {1024, 1 << 20, 8 << 20, 2, 1};
    vm_bench b = vm_bench_text(text, sizeof text - 1, (vm_limits){.threads = 1});
    out = vm_bench_zeros(&b, 64, &o);
    vm_launch launch = {.module = b.module,
                        .kernel = vm_module_kernel(b.module, "parent"),
                        .grid = {1, 1, 1},
                        .block = {1, 1, 1},
                        .params = &out,
                        .limits = limits};
    CU_ASSERT_EQUAL(vm_run(b.device, &launch, &b.counters, &b.fault), VM_OK);
    CU_ASSERT_EQUAL(o[0], 98); /* cudaErrorInvalidDeviceFunction */
    CU_ASSERT_EQUAL(o[1], 1);  /* cudaErrorInvalidValue */
    CU_ASSERT_TRUE(o[2] != 0 || o[3] != 0);
    CU_ASSERT_TRUE(o[4] != 0 || o[5] != 0);
    vm_bench_end(&b);
}

static void other_types(void)
{
    static const char text[] = ".version 9.0\n.target sm_80\n.address_size 64\n"
                               ".extern .func (.param .b32 r) cudaGetDevice(.param .b32 p);\n"
                               ".visible .entry k() { .param .b32 a, r; call (r), cudaGetDevice, (a); ret; }\n";
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    vm_module *module = NULL;
    vm_limits limits = {.memory = 1 << 20, .shared_per_block = 1 << 10, .sm_count = 1, .cc = 90};
    vm_device *device = vm_device_new(NULL, &limits);
    CU_ASSERT_EQUAL_FATAL(ptx_parse(NULL, text, sizeof text - 1, &ptx, &log), PTX_OK);
    CU_ASSERT_EQUAL(decode_module_load(device, ptx, &module, &log), PTX_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(kiln__text_get(&log), "declared with other parameters"));
    kiln__text_free(&log);
    vm_device_free(device);
}

/* A launch that is asked to stop ends within a fill, however large the row of the fill is. Here the fill itself
 * requests the stop. */
static void stopped_fill(void)
{
    static const char text[] =
        ".version 9.0\n.target sm_80\n.address_size 64\n"
        ".extern .func (.param .b32 r) cudaMemsetAsync(.param .b64 a, .param .b32 v, .param .b64 n, .param .b64 s);\n"
        ".visible .entry k(.param .u64 to)\n"
        "{ .reg .b64 %a; .param .b64 x, n, s; .param .b32 v, e; ld.param.u64 %a, [to];\n"
        "  st.param.b64 [x], %a; st.param.b32 [v], 1; st.param.b64 [n], 16777216; st.param.b64 [s], 0;\n"
        "  call (e), cudaMemsetAsync, (x, v, n, s); ret; }\n";
    enum { BYTES = 16 << 20 };
    vm_bench b = vm_bench_text(text, sizeof text - 1, (vm_limits){.threads = 1});
    const uint64_t to = vm_alloc(b.device, BYTES);
    unsigned char *host = vm_pointer(b.device, to, BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(host);
    memset(host, 0, BYTES);
    vm_launch launch = {.module = b.module,
                        .kernel = vm_module_kernel(b.module, "k"),
                        .grid = {1, 1, 1},
                        .block = {1, 1, 1},
                        .params = &to,
                        .stop = (const volatile int *)(void *)host};
    CU_ASSERT_EQUAL(vm_run(b.device, &launch, &b.counters, &b.fault), VM_FAULT_STOPPED);
    CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, "was stopped on request in a fill"));
    CU_ASSERT_EQUAL(host[0], 1);
    CU_ASSERT_EQUAL(host[BYTES - 1], 0);
    vm_bench_end(&b);
}

/* Lets memory run out at any point. The launch must fault, or the launching kernel must get an error. */
static void out_of_memory(void)
{
    char *text;
    size_t length;
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_read(NULL, KILN_TEST_PTX "/vm/child.ptx", 0, &text, &length, &error), error);
    bool whole = false;
    for (long n = 0; n < 1000 && !whole; n++) {
        check_oom oom = {.countdown = -1};
        kiln_allocator mem = {check_oom_resize, &oom};
        vm_limits limits = {.memory = 1 << 20, .shared_per_block = 1 << 16, .threads = 1, .sm_count = 1, .cc = 90};
        vm_device *device = vm_device_new(&mem, &limits);
        kiln__text log = {0};
        ptx_module *ptx = NULL;
        vm_module *module = NULL;
        CU_ASSERT_EQUAL_FATAL(ptx_parse(&mem, text, length, &ptx, &log), PTX_OK);
        CU_ASSERT_EQUAL_FATAL(decode_module_load(device, ptx, &module, &log), PTX_OK);
        struct {
            uint64_t to;
            int n;
        } p = {vm_alloc(device, 64), 2};
        int *host = vm_pointer(device, p.to, 64);
        memset(host, 0, 64);
        vm_launch launch = {.module = module,
                            .kernel = vm_module_kernel(module, "tree"),
                            .grid = {2, 1, 1},
                            .block = {1, 1, 1},
                            .params = &p};
        vm_fault fault;
        oom.countdown = n;
        vm_fault_kind kind = vm_run(device, &launch, NULL, &fault);
        oom.countdown = -1;
        CU_ASSERT(kind == VM_OK || kind == VM_FAULT_MEMORY);
        CU_ASSERT(host[0] <= 8 && host[1] <= 6);
        CU_ASSERT(oom.failed || (kind == VM_OK && host[0] == 8 && host[1] == 6));
        whole = !oom.failed;
        vm_module_unload(device, module);
        CU_ASSERT_EQUAL(vm_memory_used(device), 64);
        vm_device_free(device);
        CU_ASSERT_EQUAL(oom.live, 0);
        kiln__text_free(&log);
    }
    CU_ASSERT_TRUE(whole);
    kiln__free(NULL, text);
}

static const check_case cases[] = {{"second generation", second},
                                   {"first generation", first},
                                   {"order", order},
                                   {"limits", limits},
                                   {"errors", errors},
                                   {"streams", streams},
                                   {"moves", moves},
                                   {"questions", asks},
                                   {"faults", faults},
                                   {"waiting", waits},
                                   {"the oldest launch", old},
                                   {"a failed launch frees its buffer", failed_call_frees_buffer},
                                   {"declared otherwise", other_types},
                                   {"a fill that is stopped", stopped_fill},
                                   {"out of memory", out_of_memory, CHECK_ONE_THREAD}};
KILN_SUITE("vm child", cases)
