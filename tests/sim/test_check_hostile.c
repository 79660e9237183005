/* Tests the checks with kernels that attack the simulator. They access the simulator's memory, or cause unlimited work
 * or memory. */
#include "check_bench.h"
#include "vm_checks_internal.h"

#define HEAD ".version 8.0\n.target sm_90a\n.address_size 64\n"
#define PARAMS "(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n"

/* A child kernel writes with more threads than a block of its launcher has. The launcher then copies the same bytes by
 * the asynchronous proxy, without a fence of its threads. */
static void test_thread_of_a_child(void)
{
    // clang-format off
    static const char text[] = HEAD
        ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 a, .param .b64 s);\n"
        ".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 f, .param .b64 p, .param .align 4 .b8 g[12],\n"
        "    .param .align 4 .b8 b[12], .param .b32 s, .param .b64 t);\n"
        ".extern .func (.param .b32 r) cudaDeviceSynchronize();\n"
        ".visible .entry child(.param .u64 to)\n"
        "{ .reg .b64 %a; .reg .b32 %t; ld.param.u64 %a, [to]; mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 4, %a;\n"
        "  st.global.u32 [%a], %t; ret; }\n"
        ".visible .entry parent" PARAMS
        "{ .reg .b64 %a, %p, %f; .reg .b32 %r, %s, %m; .param .b64 x, y; .param .b64 z; .param .align 4 .b8 g[12];\n"
        "  .param .align 4 .b8 b[12]; .param .b32 e; .param .b32 k; .param .b64 st;\n"
        "  .shared .align 128 .b8 s[16]; .shared .align 8 .b64 bar;\n"
        "  ld.param.u64 %a, [out];\n"
        "  st.param.b64 [x], 8; st.param.b64 [y], 8; call (z), cudaGetParameterBuffer, (x, y); ld.param.b64 %p, [z];\n"
        "  st.u64 [%p], %a; mov.u64 %f, child; st.param.b64 [x], %f; st.param.b64 [y], %p;\n"
        "  st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
        "  st.param.b32 [b], 64; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;\n"
        "  st.param.b32 [k], 0; st.param.b64 [st], 0;\n"
        "  call (e), cudaLaunchDevice, (x, y, g, b, k, st); call (e), cudaDeviceSynchronize, ();\n"
        "  mov.u32 %s, s; mov.u32 %m, bar; mbarrier.init.shared.b64 [%m], 1;\n"
        "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%a+128], 16, [%m]; ret; }\n";
    // clang-format on
    check_bench b = check_bench_new(text, sizeof text - 1);
    CU_ASSERT_EQUAL(check_bench_run(&b, "parent", 1, 1, 0), VM_OK);
    CU_ASSERT_FATAL(check_count_findings(b.check) > 0);
    CU_ASSERT_EQUAL(check_get_finding(b.check, 0)->kind, KILN_CHECK_ASYNC);
    CU_ASSERT_PTR_NOT_NULL(strstr(check_get_finding(b.check, 0)->message, "without fence.proxy.async between them"));
    check_bench_end(&b);
}

/* A kernel fills memory and copies it. Then a kernel that it launches reads the copy, which is written memory. */
static void test_moves_by_a_kernel(void)
{
    // clang-format off
    static const char text[] = HEAD
        ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 a, .param .b64 s);\n"
        ".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 f, .param .b64 p, .param .align 4 .b8 g[12],\n"
        "    .param .align 4 .b8 b[12], .param .b32 s, .param .b64 t);\n"
        ".extern .func (.param .b32 r) cudaMemsetAsync(.param .b64 a, .param .b32 v, .param .b64 n, .param .b64 s);\n"
        ".extern .func (.param .b32 r) cudaMemcpyAsync(.param .b64 a, .param .b64 b, .param .b64 n, .param .b32 k,\n"
        "    .param .b64 s);\n"
        ".visible .entry child(.param .u64 to)\n"
        "{ .reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [to]; ld.global.u32 %r, [%a]; st.global.u32 [%a], %r; ret; }\n"
        ".visible .entry parent" PARAMS
        "{ .reg .b64 %a, %b, %p, %f; .param .b64 x, y, w; .param .b64 z; .param .align 4 .b8 g[12];\n"
        "  .param .align 4 .b8 b[12]; .param .b32 e, k; .param .b64 st;\n"
        "  ld.param.u64 %a, [raw]; add.u64 %b, %a, 512;\n"
        "  st.param.b64 [x], %a; st.param.b32 [k], 7; st.param.b64 [w], 64; st.param.b64 [st], 0;\n"
        "  call (e), cudaMemsetAsync, (x, k, w, st);\n"
        "  st.param.b64 [x], %b; st.param.b64 [y], %a; st.param.b32 [k], 3; call (e), cudaMemcpyAsync, (x, y, w, k, st);\n"
        "  st.param.b64 [x], 8; st.param.b64 [y], 8; call (z), cudaGetParameterBuffer, (x, y); ld.param.b64 %p, [z];\n"
        "  st.u64 [%p], %b; mov.u64 %f, child; st.param.b64 [x], %f; st.param.b64 [y], %p;\n"
        "  st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
        "  st.param.b32 [b], 1; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;\n"
        "  st.param.b32 [k], 0; call (e), cudaLaunchDevice, (x, y, g, b, k, st); ret; }\n";
    // clang-format on
    check_bench b = check_bench_new(text, sizeof text - 1);
    CU_ASSERT_EQUAL(check_bench_run(&b, "parent", 1, 1, 0), VM_OK);
    CU_ASSERT_EQUAL(check_count_findings(b.check), 0);
    check_bench_end(&b);
}

/* Runs the kernel "k" on one warp. A write to the first word of `out` stops the launch. Returns the second word of
 * `out`, which counts how often the kernel has done its work. */
static uint32_t run_until_stop(check_bench *b, uint32_t threads)
{
    const volatile uint32_t *out = vm_pointer(b->device, b->params.out, 8);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    struct vm_watch watch = {.checks = &check_hooks};
    vm_launch launch = {.module = b->module,
                        .kernel = vm_module_kernel(b->module, "k"),
                        .grid = {1, 1, 1},
                        .block = {threads, 1, 1},
                        .params = &b->params,
                        .stop = (const volatile int *)out,
                        .hooks = &count_watch_hooks,
                        .watch = &watch};
    CU_ASSERT_EQUAL(vm_run(b->device, &launch, &b->counters, &b->fault), VM_FAULT_STOPPED);
    return out[1];
}

/* Each call of a function of the device marks all local memory of the lanes as written. If a launch is asked to stop,
 * it must end after few of these calls. */
static void test_calls_with_much_local_memory(void)
{
    // clang-format off
    static const char text[] = HEAD
        ".extern .func free (.param .b64 p);\n"
        ".visible .entry k" PARAMS
        "{ .reg .b64 %a; .reg .b32 %r; .local .align 4 .b8 l[524000]; .param .b64 x;\n"
        "  ld.param.u64 %a, [out]; mov.u32 %r, 0; st.local.u32 [l], %r; st.global.u32 [%a], 1; st.param.b64 [x], 0;\n"
        "L: call free, (x); add.u32 %r, %r, 1; st.global.u32 [%a+4], %r; bra L; }\n";
    // clang-format on
    check_bench b = check_bench_new(text, sizeof text - 1);
    CU_ASSERT(run_until_stop(&b, 32) < 1000);
    check_bench_end(&b);
}

/* The threads of a warp end inside a call whose frame is so large that the pool does not keep it. Then the other warp
 * waits for ever, and the finding must also report the threads that have ended. */
static void test_end_of_a_large_frame(void)
{
    // clang-format off
    static const char text[] = HEAD
        ".func big(.param .b32 m)\n"
        "{ .param .b8 z[200000]; .reg .b32 %m; .reg .pred %p; ld.param.u32 %m, [m];\n"
        "  mbarrier.test_wait.parity.shared.b64 %p, [%m], 0; exit; }\n"
        ".visible .entry k" PARAMS
        "{ .reg .b32 %t, %m; .reg .pred %p; .shared .align 8 .b64 bar; .param .b32 x;\n"
        "  mov.u32 %t, %tid.x; mov.u32 %m, bar; setp.ne.u32 %p, %t, 0; @%p bra S; mbarrier.init.shared.b64 [%m], 9;\n"
        "S: bar.sync 0; setp.ge.u32 %p, %t, 32; @%p bra W; setp.ne.u32 %p, %t, 0; @%p bra C; bar.sync 1, 64; ret;\n"
        "C: st.param.b32 [x], %m; call big, (x);\n"
        "W: mbarrier.test_wait.parity.shared.b64 %p, [%m], 0; @!%p bra W; ret; }\n";
    // clang-format on
    check_bench b = check_bench_new(text, sizeof text - 1);
    CU_ASSERT_EQUAL(check_bench_run(&b, "k", 1, 64, 0), VM_FAULT_DEADLOCK);
    CU_ASSERT_EQUAL_FATAL(check_count_findings(b.check), 2);
    for (size_t k = 0; k < 2; k++)
        CU_ASSERT_PTR_NOT_NULL(strstr(check_get_finding(b.check, k)->message, "at offset 0 of 'bar' (8 bytes)"));
    check_bench_end(&b);
}

/* A thread waits for an mbarrier while other threads of its warp compute for a long time, and then arrive. */
static void test_wait_beside_long_work(void)
{
    // clang-format off
    static const char text[] = HEAD
        ".visible .entry k" PARAMS
        "{ .reg .b32 %t, %m, %r; .reg .b64 %s; .reg .pred %p; .shared .align 8 .b64 bar;\n"
        "  mov.u32 %t, %tid.x; mov.u32 %m, bar; setp.ne.u32 %p, %t, 0; @%p bra S; mbarrier.init.shared.b64 [%m], 31;\n"
        "S: bar.sync 0; setp.eq.u32 %p, %t, 0; @%p bra W; mov.u32 %r, 0;\n"
        "L: add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 400000; @%p bra L; mbarrier.arrive.shared.b64 %s, [%m]; ret;\n"
        "W: mbarrier.test_wait.parity.shared.b64 %p, [%m], 0; @!%p bra W; ret; }\n";
    // clang-format on
    check_bench b = check_bench_new(text, sizeof text - 1);
    CU_ASSERT_EQUAL(check_bench_run(&b, "k", 1, 32, 0), VM_OK);
    CU_ASSERT_EQUAL(check_count_findings(b.check), 0);
    check_bench_end(&b);
}

/* An allocator that counts the allocated bytes. */
typedef struct counted {
    size_t now, most;
} counted;
static void *resize_counted(void *user, void *pointer, size_t size)
{
    counted *c = user;
    size_t *head = pointer ? (size_t *)pointer - 2 : NULL; /* the size stands before the bytes, which stay aligned */
    c->now -= head ? *head : 0;
    if (size == 0) {
        free(head);
        return NULL;
    }
    head = realloc(head, size + 2 * sizeof *head);
    if (!head)
        abort();
    *head = size;
    c->now += size;
    c->most = c->now > c->most ? c->now : c->most;
    return head + 2;
}

/* Attaches new checks to the device, which use the counting allocator. */
static void count_memory(check_bench *b, const kiln_allocator *mem)
{
    check_attach(b->device, NULL);
    check_free(b->check);
    b->check = check_new(mem);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b->check);
    check_attach(b->device, b->check);
}

/* A kernel allocates and frees without end. The checks must not keep texts for each allocation. */
static void test_many_allocations(void)
{
    // clang-format off
    static const char text[] = HEAD
        ".extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 p);\n"
        ".file 1 \"a_file_with_a_name.cu\"\n"
        ".visible .entry k" PARAMS
        "{ .reg .b64 %a; .reg .b32 %r; .reg .pred %p; .param .b64 x; .param .b64 y;\n"
        "  mov.u32 %r, 0; .loc 1 7 1\n"
        "L: st.param.b64 [x], 8; call (y), malloc, (x); ld.param.b64 %a, [y]; st.param.b64 [x], %a; call free, (x);\n"
        "  add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 20000; @%p bra L;\n"
        "  st.param.b64 [x], 8; call (y), malloc, (x); ret; }\n";
    // clang-format on
    counted c = {0};
    const kiln_allocator mem = {resize_counted, &c};
    check_bench b = check_bench_new(text, sizeof text - 1);
    count_memory(&b, &mem);
    const size_t before = c.now;
    CU_ASSERT_EQUAL(check_bench_run(&b, "k", 1, 1, 0), VM_OK);
    CU_ASSERT(c.most - before < 200000);
    check_leaks(b.device, false);
    CU_ASSERT_EQUAL_FATAL(check_count_findings(b.check), 1);
    CU_ASSERT_STRING_EQUAL(check_get_finding(b.check, 0)->at.file, "a_file_with_a_name.cu");
    CU_ASSERT_EQUAL(check_get_finding(b.check, 0)->at.line, 7);
    check_bench_end(&b);
    CU_ASSERT_EQUAL(c.now, 0);
}

/* The places of findings name at most 200 characters of the file of each inlined call. */
static void test_long_names_of_files(void)
{
    enum { NAME = 1 << 20, LEVELS = 16, LOADS = 64 };
    kiln__text text = {0};
    kiln__text_printf(&text, HEAD ".file 1 \"");
    for (unsigned k = 0; k < NAME; k++)
        kiln__text_add(&text, "f", 1);
    kiln__text_printf(&text, "\"\n.visible .entry k" PARAMS "{ .reg .b64 %%a; .reg .b32 %%r;\n.loc 1 1 1\n");
    for (unsigned k = 2; k < LEVELS + 2; k++)
        kiln__text_printf(&text, ".loc 1 %u 1, inlined_at 1 %u 1\n", k, k - 1);
    kiln__text_printf(&text, "mov.u64 %%a, 8;\n");
    for (unsigned k = 0; k < LOADS; k++)
        kiln__text_printf(&text, "ld.global.u32 %%r, [%%a];\n");
    kiln__text_printf(&text, "ret; }\n");
    counted c = {0};
    const kiln_allocator mem = {resize_counted, &c};
    check_bench b = check_bench_new(text.data, text.length);
    count_memory(&b, &mem);
    const size_t before = c.now;
    CU_ASSERT_EQUAL(check_bench_run(&b, "k", 1, 1, 0), VM_OK);
    CU_ASSERT_EQUAL(check_count_findings(b.check), LOADS);
    CU_ASSERT(c.most - before < 2u << 20);
    check_bench_end(&b);
    kiln__text_free(&text);
}

/* A module has many instructions, and many shared variables of other kernels at the addresses of this kernel's
 * variables. A finding must look at each instruction only once. */
static void test_many_shared_variables(void)
{
    enum { KERNELS = 3, VARIABLES = 48000, LOADS = 20000 };
    kiln__text text = {0};
    kiln__text_printf(&text, HEAD ".shared .b8 own[%u];\n", VARIABLES + 1);
    for (unsigned other = 0; other < KERNELS; other++) {
        for (unsigned k = 0; k < VARIABLES; k++)
            kiln__text_printf(&text, ".shared .b8 v%u_%u[1];\n", other, k);
        kiln__text_printf(&text, ".visible .entry other%u() { .reg .b32 %%r;\n", other);
        for (unsigned k = 0; k < VARIABLES; k++)
            kiln__text_printf(&text, "ld.shared.u8 %%r, [v%u_%u];\n", other, k);
        kiln__text_printf(&text, "ret; }\n");
    }
    kiln__text_printf(&text, ".visible .entry k" PARAMS
                             "{ .reg .b32 %%a, %%r; mov.u32 %%a, own; ld.param.u32 %%r, [n]; and.b32 %%r, %%r, 0;\n"
                             "or.b32 %%a, %%a, %%r;\n");
    for (unsigned k = 0; k < LOADS; k++)
        kiln__text_printf(&text, "ld.shared.u8 %%r, [%%a+%u];\n", VARIABLES);
    kiln__text_printf(&text, "ret; }\n");
    check_bench b = check_bench_new(text.data, text.length);
    CU_ASSERT_EQUAL(check_bench_run(&b, "k", 1, 1, 0), VM_OK);
    CU_ASSERT_EQUAL_FATAL(check_count_findings(b.check), VM_FOUND_MOST);
    CU_ASSERT_PTR_NOT_NULL(strstr(check_get_finding(b.check, 0)->message, "at offset 48000 of 'own' (48001 bytes)"));
    check_bench_end(&b);
    kiln__text_free(&text);
}

/* Tests a kernel that waits for none of its copies. If its launch is asked to stop, it must end after few passes over
 * the copies. */
static void test_copies_without_a_wait(void)
{
    // clang-format off
    static const char text[] = HEAD
        ".visible .entry k" PARAMS
        "{ .reg .b64 %a, %i; .reg .b32 %r, %s, %m; .reg .pred %p; .shared .align 16 .b8 s[16]; .shared .align 8 .b64 b;\n"
        "  ld.param.u64 %a, [out]; ld.param.u64 %i, [in]; mov.u32 %s, s; mov.u32 %m, b; mov.u32 %r, 0;\n"
        "  mbarrier.init.shared.b64 [%m], 32;\n"
        "C: cp.async.ca.shared.global [%s], [%i], 4; add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 20000; @%p bra C;\n"
        "  st.global.u32 [%a], 1; mov.u32 %r, 0;\n"
        "L: cp.async.mbarrier.arrive.noinc.shared.b64 [%m]; add.u32 %r, %r, 1; st.global.u32 [%a+4], %r; bra L; }\n";
    // clang-format on
    check_bench b = check_bench_new(text, sizeof text - 1);
    CU_ASSERT(run_until_stop(&b, 32) < 1000);
    check_bench_end(&b);
}

/* A function with many parameters reads unwritten local memory. */
static void test_many_parameters(void)
{
    enum { PARAMETERS = 50000 };
    kiln__text text = {0};
    kiln__text_printf(&text, HEAD ".func f(.param .b8 p0");
    for (unsigned k = 1; k < PARAMETERS; k++)
        kiln__text_printf(&text, ", .param .b8 p%u", k);
    kiln__text_printf(&text, ", .param .b64 q)\n{ .reg .b64 %%a, %%b; .reg .b32 %%r, %%n; .local .align 4 .b8 l[64];\n"
                             "  ld.param.u64 %%a, [q]; mov.b64 %%b, p1; mov.u32 %%n, 0; st.global.u32 [%%a], 1;\n"
                             "L: ld.local.u32 %%r, [l]; add.u32 %%n, %%n, 1; st.global.u32 [%%a+4], %%n; bra L; }\n"
                             ".visible .entry k" PARAMS "{ .reg .b64 %%a; .reg .b16 %%h; .param .b8 x; .param .b64 y;\n"
                             "  ld.param.u64 %%a, [out]; mov.u16 %%h, 0; st.param.b8 [x], %%h; st.param.b64 [y], %%a;\n"
                             "  call f, (x");
    for (unsigned k = 1; k < PARAMETERS; k++)
        kiln__text_printf(&text, ", x");
    kiln__text_printf(&text, ", y); ret; }\n");
    check_bench b = check_bench_new(text.data, text.length);
    CU_ASSERT(run_until_stop(&b, 32) < 1000);
    check_bench_end(&b);
    kiln__text_free(&text);
}

/* Two lanes read at addresses so far apart that the distances of more lanes would not fit into 64 bits. */
static void test_lanes_far_apart(void)
{
    static const char text[] = HEAD ".visible .entry k" PARAMS
                                    "{ .reg .b64 %a; .reg .b32 %t, %r; mov.u32 %t, %tid.x; cvt.u64.u32 %a, %t;\n"
                                    "  shl.b64 %a, %a, 62; ld.global.u32 %r, [%a]; ret; }\n";
    check_bench b = check_bench_new(text, sizeof text - 1);
    CU_ASSERT_EQUAL(check_bench_run(&b, "k", 1, 2, 0), VM_OK);
    CU_ASSERT_EQUAL_FATAL(check_count_findings(b.check), 1);
    CU_ASSERT_EQUAL(check_get_finding(b.check, 0)->kind, KILN_CHECK_BOUNDS);
    CU_ASSERT_EQUAL(check_get_finding(b.check, 0)->count, 2);
    check_bench_end(&b);
}

int main(int count, char **arguments)
{
    static const check_case cases[] = {{"a thread of a child", test_thread_of_a_child},
                                       {"moves by a kernel", test_moves_by_a_kernel},
                                       {"calls with much local memory", test_calls_with_much_local_memory},
                                       {"end of a large frame", test_end_of_a_large_frame},
                                       {"wait beside long work", test_wait_beside_long_work},
                                       {"many allocations", test_many_allocations},
                                       {"long names of files", test_long_names_of_files},
                                       {"many shared variables", test_many_shared_variables},
                                       {"copies without a wait", test_copies_without_a_wait},
                                       {"many parameters", test_many_parameters},
                                       {"lanes far apart", test_lanes_far_apart}};
    return check_main(count, arguments, "checks of hostile kernels", cases, KILN__COUNT(cases));
}
