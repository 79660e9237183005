/* Tests the findings about actions of the host. The findings are the same in every run. They are freed with the checks,
 * and none is lost if memory runs out. */
#include <cuda.h>

#include "check_bench.h"
#include "cu_objects.h"

static char *text;
static size_t text_length;

static void load(void)
{
    if (!text)
        text = check_read(KILN_TEST_PTX "/check", "memory.ptx", &text_length);
}

static const kiln_check_finding *only(const check_bench *b, kiln_check_kind kind, bool note)
{
    CHECK(check_count_findings(b->check) == 1);
    const kiln_check_finding *f = check_count_findings(b->check) ? check_get_finding(b->check, 0) : NULL;
    CHECK(f && f->kind == kind && f->note == note && f->message[0]);
    return f;
}

static void test_freed_by_host(void)
{
    load();
    check_bench b = check_bench_new(text, text_length);
    CHECK(vm_free(b.device, b.params.raw));
    CHECK(check_bench_run(&b, "bug_read_freed_by_host", 1, 32, 0) == VM_OK);
    const kiln_check_finding *f = only(&b, KILN_CHECK_FREED, false);
    CHECK(f && strstr(f->allocation, "4096 bytes that was freed") && f->count == 32);
    int32_t *out = vm_pointer(b.device, b.params.out, COUNT * sizeof *out);
    CHECK((uint32_t)out[5] == 0xa5a5a5a5u); /* the value of a load that the checks prevented */
    check_host_free(b.device, b.params.raw);
    CHECK(check_count_findings(b.check) == 2 && check_get_finding(b.check, 1)->kind == KILN_CHECK_BAD_FREE);
    check_bench_end(&b);
}

static void test_leaks(void)
{
    load();
    check_bench b = check_bench_new(text, text_length);
    CHECK(check_bench_run(&b, "bug_leak", 1, 2, 0) == VM_OK);
    check_leaks(b.device, false);
    CHECK(check_count_findings(b.check) == 2);
    for (size_t k = 0; k < check_count_findings(b.check); k++) {
        const kiln_check_finding *f = check_get_finding(b.check, k);
        CHECK(f->kind == KILN_CHECK_LEAK && f->bytes == 96 && f->at.line > 0 && f->at.thread[0] == k);
        CHECK_TEXT(f->at.file, "memory.cu");
    }
    check_leaks(b.device, true); /* `in`, `out` and `raw` belong to the host */
    CHECK(check_count_findings(b.check) == 5);
    check_bench_end(&b);
}

static void test_host_reads(void)
{
    load();
    check_bench b = check_bench_new(text, text_length);
    uint64_t fresh = vm_alloc(b.device, 256);
    check_host_reads(b.device, b.params.in, 64);
    CHECK(check_count_findings(b.check) == 0);
    /* the call requests the bytes for writing, so they count as written */
    CHECK(vm_pointer(b.device, fresh, 100) != NULL);
    check_host_reads(b.device, fresh, 100);
    CHECK(check_count_findings(b.check) == 0);
    CHECK(vm_pointer_read(b.device, fresh, 256) != NULL);
    check_host_reads(b.device, fresh, 256);
    const kiln_check_finding *f = only(&b, KILN_CHECK_UNINITIALISED, true);
    CHECK(f && f->bytes == 156 && f->address == fresh + 100);
    check_bench_end(&b);
}

/* A copy on the device also copies the marks of unwritten bytes, and a written byte can become unwritten again. */
static void test_copies(void)
{
    load();
    check_bench b = check_bench_new(text, text_length);
    CHECK(vm_pointer(b.device, b.params.raw, COUNT * 4) != NULL);
    uint64_t fresh = vm_alloc(b.device, 4096);
    check_copied(b.device, b.params.raw, fresh, 4096);
    CHECK(check_bench_run(&b, "bug_unwritten", 1, 32, 0) == VM_OK);
    const kiln_check_finding *f = only(&b, KILN_CHECK_UNINITIALISED, false);
    CHECK(f && f->count == 32);
    check_bench_end(&b);

    b = check_bench_new(text, text_length);
    CHECK(vm_pointer(b.device, b.params.raw, COUNT * 4) != NULL);
    CHECK(check_bench_run(&b, "bug_unwritten", 1, 32, 0) == VM_OK);
    CHECK(check_count_findings(b.check) == 0);
    check_forget_bytes(b.device, b.params.raw + 28, 4);
    CHECK(check_bench_run(&b, "bug_unwritten", 1, 32, 0) == VM_OK);
    f = only(&b, KILN_CHECK_UNINITIALISED, false);
    CHECK(f && f->count == 1 && f->address == b.params.raw + 28);
    check_bench_end(&b);
}

/* Memory that was allocated before the checks were attached counts as written. After the checks are detached, kernels
 * run without checks. */
static void test_attach(void)
{
    load();
    check_bench b = check_bench_new(text, text_length);
    check_attach(b.device, NULL);
    CHECK(check_bench_run(&b, "bug_unwritten", 1, 32, 0) == VM_OK && check_count_findings(b.check) == 0);
    CHECK(check_bench_run(&b, "bug_far", 1, 32, 0) == VM_FAULT_ADDRESS && check_count_findings(b.check) == 0);
    check_attach(b.device, b.check);
    CHECK(check_bench_run(&b, "bug_unwritten", 1, 32, 0) == VM_OK && check_count_findings(b.check) == 0);
    CHECK(check_bench_run(&b, "bug_far", 1, 32, 0) == VM_OK && check_count_findings(b.check) == 1);
    check_forget_bytes(b.device, b.params.raw, 4096);
    CHECK(check_bench_run(&b, "bug_unwritten", 1, 32, 0) == VM_OK && check_count_findings(b.check) == 2);
    check_bench_end(&b);
}

/* Tests that the same launch gives the same findings, word for word. */
static void test_repeats(void)
{
    load();
    size_t length;
    char *order = check_read(KILN_TEST_PTX "/check", "order.ptx", &length);
    static const char *const kernels[] = {"bug_loop_tile", "bug_reduction", "bug_neighbour_block",
                                          "bug_copy_over_reads"};
    for (size_t k = 0; k < KILN__COUNT(kernels); k++) {
        check_bench a = check_bench_new(order, length), b = check_bench_new(order, length);
        check_bench_run(&a, kernels[k], 3, 64, 0);
        check_bench_run(&b, kernels[k], 3, 64, 0);
        CHECK(check_count_findings(a.check) > 0 && check_count_findings(a.check) == check_count_findings(b.check));
        for (size_t n = 0; n < check_count_findings(a.check) && n < check_count_findings(b.check); n++) {
            CHECK_TEXT(check_get_finding(a.check, n)->message, check_get_finding(b.check, n)->message);
            CHECK(check_get_finding(a.check, n)->count == check_get_finding(b.check, n)->count);
        }
        check_bench_end(&a);
        check_bench_end(&b);
    }
    kiln__free(NULL, order);
}

/* Lets the first, second, ... allocation fail. Each launch must fail with this error, or run with fewer records.
 * Nothing may be lost. */
static void test_oom(void)
{
    load();
    static const char *const kernels[] = {"bug_shared_end", "bug_unwritten_half", "ok_malloc", "bug_double_free"};
    bool whole = false;
    for (long n = 0; n < 4000 && !whole; n++) {
        check_oom oom = {.countdown = -1};
        kiln_allocator mem = {check_oom_resize, &oom};
        vm_limits limits = {
            .memory = 64u << 20, .shared_per_block = 48u << 10, .step_budget = 1u << 20, .sm_count = 4, .cc = 90};
        kiln__text log = {0};
        ptx_module *ptx = NULL;
        vm_module *module = NULL;
        CHECK(ptx_parse(&mem, text, text_length, &ptx, &log) == PTX_OK);
        vm_device *device = vm_device_new(&mem, &limits);
        CHECK(device && decode_module_load(device, ptx, &module, &log) == PTX_OK);
        uint64_t address = vm_alloc(device, COUNT * 4);
        vm_check *other = check_new(&mem); /* the checks of another device, which get the launches at the
                                                 end */
        oom.countdown = n;
        vm_check *check = check_new(&mem);
        if (check) {
            check_attach(device, check);
            uint64_t fresh = vm_alloc(device, COUNT * 4);
            struct {
                uint64_t in, out, raw;
                int32_t n;
            } params = {address, address, fresh ? fresh : address, COUNT};
            struct vm_watch watch = {.checks = &check_hooks};
            for (size_t k = 0; k < KILN__COUNT(kernels); k++) {
                vm_fault fault;
                vm_launch launch = {.module = module,
                                    .kernel = vm_module_kernel(module, kernels[k]),
                                    .grid = {1, 1, 1},
                                    .block = {32, 1, 1},
                                    .params = &params,
                                    .hooks = &count_watch_hooks,
                                    .watch = &watch};
                vm_fault_kind kind = vm_run(device, &launch, NULL, &fault);
                CHECK(kind == VM_OK || kind == VM_FAULT_MEMORY);
            }
            check_leaks(device, true);
            check_copy_launches(other, check, (vm_period){0, UINT32_MAX});
        }
        whole = !oom.failed;
        oom.countdown = -1;
        vm_module_unload(device, module);
        vm_device_free(device);
        check_free(check);
        check_free(other);
        kiln__text_free(&log);
        CHECK(oom.live == 0);
    }
    CHECK(whole);
}

/* ---- checks through the driver ---- */

static size_t reported;
static kiln_check_kind reported_kind;

static int report(void *user, const kiln_check_finding *f)
{
    CHECK(user == &reported && f->message[0]);
    reported++;
    reported_kind = f->kind;
    return 0;
}

static void test_driver(void)
{
    load();
    CUcontext context = NULL;
    CUmodule module;
    CUfunction function;
    CUdeviceptr in, out;
    CHECK(sim_cuInit(0) == CUDA_SUCCESS && sim_cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    CHECK(sim_cuCtxSetCurrent(context) == CUDA_SUCCESS);
    char *image = kiln__alloc(NULL, text_length + 1);
    memcpy(image, text, text_length);
    image[text_length] = '\0';
    CHECK(sim_cuModuleLoadData(&module, image) == CUDA_SUCCESS);
    CHECK(sim_cuModuleGetFunction(&function, module, "bug_past_end") == CUDA_SUCCESS);
    CHECK(kiln__sim_check_begin());
    CHECK(!kiln__sim_check_begin());
    CHECK(sim_cuMemAlloc(&in, 4096) == CUDA_SUCCESS && sim_cuMemAlloc(&out, 4096) == CUDA_SUCCESS);
    int n = COUNT;
    void *arguments[] = {&in, &out, &in, &n};
    CHECK(sim_cuLaunchKernel(function, 33, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL) == CUDA_SUCCESS);
    CHECK(sim_cuCtxSynchronize() == CUDA_SUCCESS); /* no fault occurred, because the checks prevented the access */
    kiln__sim_check_end(report, &reported);
    CHECK(reported == 1 && reported_kind == KILN_CHECK_BOUNDS);
    CHECK(kiln__sim_check_begin());
    CHECK(sim_cuMemFree(out) == CUDA_SUCCESS && sim_cuMemFree(out) == CUDA_ERROR_INVALID_VALUE);
    kiln__sim_check_end(report, &reported);
    CHECK(reported == 2 && reported_kind == KILN_CHECK_BAD_FREE);
    CHECK(kiln__sim_check_begin());
    char host[64];
    CHECK(sim_cuMemAlloc(&out, 4096) == CUDA_SUCCESS && sim_cuMemsetD8(out, 1, 32) == CUDA_SUCCESS);
    CHECK(sim_cuMemcpyDtoH(host, out, 32) == CUDA_SUCCESS && sim_cuMemcpyDtoH(host, out, 33) == CUDA_SUCCESS);
    kiln__sim_check_end(report, &reported);
    CHECK(reported == 3 && reported_kind == KILN_CHECK_UNINITIALISED);
    CUstream blocking; /* in the second round, the legacy stream also waits for this stream */
    CHECK(sim_cuStreamCreate(&blocking, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
    for (int k = 0; k < 2; k++) {
        CHECK(kiln__sim_check_begin());
        CHECK(sim_cuMemsetD8Async(out, 1, 32, blocking) == CUDA_SUCCESS);
        CHECK(sim_cuMemsetD8Async(out, 2, 32, NULL) == CUDA_SUCCESS);
        kiln__sim_check_end(report, &reported);
        CHECK(reported == 3);
    }
    CHECK(sim_cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
    kiln__sim_check_end(report, &reported); /* without a context there are no findings */
    CHECK(reported == 3);
    kiln__free(NULL, image);
}

int main(int count, char **arguments)
{
    static const check_case cases[] = {{"freed by the host", test_freed_by_host},
                                       {"leaks", test_leaks},
                                       {"host reads", test_host_reads},
                                       {"copies", test_copies},
                                       {"attach", test_attach},
                                       {"repeats", test_repeats},
                                       {"out of memory", test_oom, CHECK_ONE_THREAD},
                                       {"driver", test_driver}};
    int result = check_main(count, arguments, "checks and the host", cases, KILN__COUNT(cases));
    kiln__free(NULL, text);
    return result;
}
