/* check_bench.h - loads one module on a device under checks, and makes the arguments of its kernels. */
#ifndef KILN_TESTS_CHECK_BENCH_H
#define KILN_TESTS_CHECK_BENCH_H

#include "vm_checks.h"
#include "vm_check.h"

enum { COUNT = 1024, TEXT_MOST = 1 << 20 };

typedef struct check_bench {
    vm_device *device;
    vm_module *module;
    vm_check *check;
    struct {
        uint64_t in, out, raw;
        int32_t n;
    } params;
    vm_fault fault;
    vm_counters counters;
} check_bench;

static inline char *check_read(const char *folder, const char *name, size_t *length)
{
    char path[1024], *text = NULL;
    kiln_error *error = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(kiln__file_read(NULL, path, 0, &text, length, &error), error);
    return text;
}

static inline check_bench check_bench_new(const char *ptx_text, size_t length)
{
    check_bench b = {0};
    vm_limits limits = {.memory = 64u << 20,
                        .shared_per_block = 227u << 10,
                        .step_budget = 1u << 24,
                        .sm_count = 4,
                        .cc = strstr(ptx_text, "sm_100a") ? 100 : 90};
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    b.device = vm_device_new(NULL, &limits);
    b.check = check_new(NULL);
    CU_ASSERT_FATAL(b.device != NULL && b.check != NULL);
    check_attach(b.device, b.check);
    ptx_result result = ptx_parse(NULL, ptx_text, length, &ptx, &log);
    if (result == PTX_OK)
        result = decode_module_load(b.device, ptx, &b.module, &log);
    if (result != PTX_OK)
        fprintf(stderr, "%s", kiln__text_get(&log));
    kiln__text_free(&log);
    CU_ASSERT_EQUAL_FATAL(result, PTX_OK);
    uint64_t bytes = COUNT * sizeof(int32_t);
    b.params.in = vm_alloc(b.device, bytes);
    b.params.out = vm_alloc(b.device, bytes);
    b.params.raw = vm_alloc(b.device, bytes);
    b.params.n = COUNT;
    int32_t *in = vm_pointer(b.device, b.params.in, bytes);
    void *out = vm_pointer(b.device, b.params.out, bytes);
    CU_ASSERT_FATAL(in != NULL && out != NULL);
    for (int k = 0; k < COUNT; k++)
        in[k] = k;
    memset(out, 0, bytes);
    return b;
}

static inline vm_fault_kind check_bench_run(check_bench *b, const char *kernel, uint32_t blocks, uint32_t threads,
                                            uint64_t dynamic)
{
    struct vm_watch watch = {.checks = &check_hooks};
    vm_launch launch = {.module = b->module,
                        .kernel = vm_module_kernel(b->module, kernel),
                        .grid = {blocks, 1, 1},
                        .block = {threads, 1, 1},
                        .params = &b->params,
                        .dynamic_shared = dynamic,
                        .hooks = &count_watch_hooks,
                        .watch = &watch,
                        .cooperative = strstr(kernel, "grid_sync") != NULL};
    return vm_run(b->device, &launch, &b->counters, &b->fault);
}

static inline void check_bench_end(check_bench *b)
{
    vm_module_unload(b->device, b->module);
    vm_device_free(b->device);
    check_free(b->check);
}
#endif
