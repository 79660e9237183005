/* vm_check.h - makes a device with one module, for the suites of the interpreter. */
#ifndef KILN_TESTS_VM_CHECK_H
#define KILN_TESTS_VM_CHECK_H

#include "check.h"
#include "jit.h"
#include "vm.h"

typedef struct vm_bench {
    vm_device *device;
    vm_module *module;
    vm_fault fault;
    vm_counters counters;
} vm_bench;

/* Returns the step through a table of faults. With compiled code, the step is 4. LLVM compiles a kernel for each row,
 * which takes nearly all of the time. The faults come from functions that the interpreter also calls. */
static inline size_t vm_bench_step(void) { return getenv("KILN_SIM_JIT") ? 4 : 1; }

static inline vm_bench vm_bench_text(const char *text, size_t length, vm_limits limits)
{
    vm_bench b = {0};
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    limits.memory = limits.memory ? limits.memory : 256u << 20;
    limits.shared_per_block = limits.shared_per_block ? limits.shared_per_block : 227u << 10;
    limits.step_budget = limits.step_budget ? limits.step_budget : (uint64_t)1 << 30;
    limits.sm_count = 4;
    limits.cc = limits.cc ? limits.cc : 90;
    b.device = vm_device_new(NULL, &limits);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b.device);
    if (getenv("KILN_SIM_JIT")) /* the suites test_vm_* also run with this variable set */
        sim_jit_open(b.device, 1);
    ptx_result result = ptx_parse(NULL, text, length, &ptx, &log);
    if (result == PTX_OK)
        result = decode_module_load(b.device, ptx, &b.module, &log);
    if (result != PTX_OK)
        fprintf(stderr, "%s", kiln__text_get(&log));
    kiln__text_free(&log);
    CU_ASSERT_EQUAL_FATAL(result, PTX_OK);
    return b;
}
static inline vm_bench vm_bench_file(const char *name, vm_limits limits)
{
    char path[1024];
    char *text;
    size_t length;
    kiln_error *error = NULL;
    snprintf(path, sizeof path, "%s/vm/%s", KILN_TEST_PTX, name);
    CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
    vm_bench b = vm_bench_text(text, length, limits);
    kiln__free(NULL, text);
    return b;
}
static inline void vm_bench_end(vm_bench *b)
{
    vm_module_unload(b->device, b->module);
    vm_device_free(b->device);
}
/* Allocates memory on the device, filled with zeros. Sets *host to its address on the host. */
static inline uint64_t vm_bench_zeros(vm_bench *b, uint64_t bytes, void *host)
{
    uint64_t address = vm_alloc(b->device, bytes);
    void *view = vm_pointer(b->device, address, bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(view);
    memset(view, 0, (size_t)bytes);
    *(void **)host = view;
    return address;
}
static inline vm_fault_kind vm_bench_try(vm_bench *b, const char *kernel, uint32_t blocks, uint32_t threads,
                                         const void *params, uint64_t dynamic)
{
    vm_launch launch = {.module = b->module,
                        .kernel = vm_module_kernel(b->module, kernel),
                        .grid = {blocks, 1, 1},
                        .block = {threads, 1, 1},
                        .params = params,
                        .dynamic_shared = dynamic};
    return vm_run(b->device, &launch, &b->counters, &b->fault);
}
static inline void vm_bench_run(vm_bench *b, const char *kernel, uint32_t blocks, uint32_t threads, const void *params)
{
    vm_fault_kind kind = vm_bench_try(b, kernel, blocks, threads, params, 0);
    if (kind != VM_OK)
        fprintf(stderr, "%s: %s\n", kernel, b->fault.message);
    CU_ASSERT_EQUAL(kind, VM_OK);
}
#endif
