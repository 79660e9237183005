/* answer.c - compares the answer of each further run with the answer of the first run, which was compared with the
 * reference.
 *
 * A kernel with a race may give the right answer in most runs, so one comparison does not find the race. Comparing an
 * answer on the host takes longer than the run itself. Therefore the device compares the bytes of each further answer
 * with a copy of the first answer. After atomic additions of floats, for example, the bytes differ. Then the host reads
 * the answer and compares it with the reference, which distinguishes rounding from a wrong answer. */
#include <string.h>

#include "answer_internal.h"
#include "layout_internal.h"
#include "limit_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "shared_internal.h"

/* Two kernels that set *found to 1 if two ranges of memory differ. `wide` compares `count` units of 16 bytes, `bytes`
 * compares single bytes. Every thread writes the same value, so the order of the writes does not matter. The kernels
 * are PTX, which every driver compiles, because a process that measures has no compiler. */
static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
#define HEAD(name)                                                                                                     \
    ".visible .entry " name "(.param .u64 a, .param .u64 b, .param .u64 count, .param .u64 found)\n"                   \
    "{\n"                                                                                                              \
    ".reg .pred %p<3>;\n.reg .b32 %r<12>;\n.reg .b64 %d<12>;\n"                                                        \
    "ld.param.u64 %d1, [a];\nld.param.u64 %d2, [b];\nld.param.u64 %d3, [count];\nld.param.u64 %d4, [found];\n"         \
    "cvta.to.global.u64 %d1, %d1;\ncvta.to.global.u64 %d2, %d2;\ncvta.to.global.u64 %d4, %d4;\n"                       \
    "mov.u32 %r1, %ntid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %tid.x;\nmov.u32 %r4, %nctaid.x;\n"                   \
    "cvt.u64.u32 %d5, %r3;\nmul.wide.u32 %d6, %r2, %r1;\nadd.u64 %d5, %d5, %d6;\nmul.wide.u32 %d7, %r4, %r1;\n"        \
    "NEXT:\nsetp.ge.u64 %p1, %d5, %d3;\n@%p1 bra DONE;\n"
#define TAIL                                                                                                           \
    "setp.eq.u32 %p2, %r5, 0;\n@%p2 bra SAME;\nst.global.u32 [%d4], 1;\n"                                              \
    "SAME:\nadd.u64 %d5, %d5, %d7;\nbra NEXT;\nDONE:\nret;\n}\n"
    HEAD("wide") "shl.b64 %d8, %d5, 4;\nadd.u64 %d9, %d1, %d8;\nadd.u64 %d10, %d2, %d8;\n"
                 "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d9];\nld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%d10];\n"
                 "xor.b32 %r4, %r4, %r8;\nxor.b32 %r5, %r5, %r9;\nxor.b32 %r6, %r6, %r10;\nxor.b32 %r7, %r7, %r11;\n"
                 "or.b32 %r4, %r4, %r6;\nor.b32 %r5, %r5, %r7;\nor.b32 %r5, %r5, %r4;\n" TAIL HEAD(
                     "bytes") "add.u64 %d9, %d1, %d5;\nadd.u64 %d10, %d2, %d5;\n"
                              "ld.global.u8 %r5, [%d9];\nld.global.u8 %r6, [%d10];\nxor.b32 %r5, %r5, %r6;\n" TAIL;
#undef HEAD
#undef TAIL

enum { THREADS = 256, BLOCKS_MOST = 2048, WIDE = 16 };

/* Returns the memory that has the output with index `number` after a run. Returns NULL if the output is not compared
 * with a reference. After `swap` steps the output may be in the memory of another buffer. */
static const kiln__plan_buffer *find_output(const kiln_plan *plan, size_t number)
{
    const kiln__buffer *wanted = plan->buffers[number].buffer;
    for (size_t i = 0; wanted->out && i < plan->spec->verify_count; i++)
        if (strcmp(plan->spec->verify[i].buffer, wanted->name) == 0) {
            const kiln__plan_buffer *b = kiln__plan_buffer_named(plan, wanted->name);
            return b->bytes ? b : NULL;
        }
    return NULL;
}

/* Loads the kernels that compare answers, for all plans that share the object `shared`. Returns false if the device
 * refuses the kernels. */
static bool load_kernels(kiln__shared *shared)
{
    const kiln__driver *driver = &shared->engine->driver;
    kiln__comparer *c = &shared->comparer;
    if (c->module)
        return true;
    if (driver->cuModuleLoadDataEx_(&c->module, ptx, 0, NULL, NULL) != CUDA_SUCCESS) {
        c->module = NULL;
        return false;
    }
    if (driver->cuModuleGetFunction_(&c->wide, c->module, "wide") == CUDA_SUCCESS &&
        driver->cuModuleGetFunction_(&c->bytes, c->module, "bytes") == CUDA_SUCCESS &&
        driver->cuMemAlloc_(&c->found, sizeof(uint32_t)) == CUDA_SUCCESS)
        return true;
    driver->cuModuleUnload_(c->module);
    c->module = NULL;
    return false;
}

kiln_status kiln__answers_keep(kiln_plan *plan, bool on_device, kiln__answers *answers, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    *answers = (kiln__answers){.copies = kiln__calloc(plan->mem, plan->variant->buffer_count + 1, sizeof(CUdeviceptr))};
    if (!answers->copies)
        return kiln__fail_memory(error);
    answers->on_device = on_device && load_kernels(plan->shared);
    for (size_t i = 0; answers->on_device && i < plan->variant->buffer_count; i++) {
        const kiln__plan_buffer *b = find_output(plan, i);
        if (!b)
            continue;
        if (driver->cuMemAlloc_(&answers->copies[i], (size_t)b->bytes) != CUDA_SUCCESS) {
            answers->copies[i] = 0;
            answers->on_device = false; /* the device has no memory for a copy of the answer, so the host compares */
            break;
        }
        CUresult result = driver->cuMemcpyDtoD_(answers->copies[i], b->pointer, (size_t)b->bytes);
        if (result != CUDA_SUCCESS)
            return kiln__driver_fail(driver, plan->mem, result, error, "copying the answer in %s", b->buffer->name);
    }
    return KILN_OK;
}

void kiln__answers_drop(kiln_plan *plan, kiln__answers *answers)
{
    for (size_t i = 0; answers->copies && i < plan->variant->buffer_count; i++)
        if (answers->copies[i] && !atomic_load(&plan->engine->stuck))
            plan->engine->driver.cuMemFree_(answers->copies[i]);
    kiln__free(plan->mem, answers->copies);
    answers->copies = NULL;
}

/* Enqueues the comparison of `count` units of two ranges, beginning at the byte `first` of each range. */
static CUresult compare_from(const kiln__driver *driver, CUfunction kernel, const CUdeviceptr at[2], uint64_t first,
                             uint64_t count, CUdeviceptr found)
{
    CUdeviceptr a = at[0] + first, b = at[1] + first;
    void *args[] = {&a, &b, &count, &found};
    const uint64_t blocks = (count + THREADS - 1) / THREADS;
    if (count == 0)
        return CUDA_SUCCESS;
    return driver->cuLaunchKernel_(kernel, blocks < BLOCKS_MOST ? (unsigned)blocks : BLOCKS_MOST, 1, 1, THREADS, 1, 1,
                                   0, NULL, args, NULL);
}

/* Enqueues the comparison of two ranges of device memory. */
static CUresult compare_ranges(kiln_plan *plan, const CUdeviceptr at[2], uint64_t bytes)
{
    const kiln__driver *driver = &plan->engine->driver;
    const kiln__comparer *c = &plan->shared->comparer;
    const uint64_t units = (at[0] | at[1]) % WIDE == 0 ? bytes / WIDE : 0;
    CUresult result = compare_from(driver, c->wide, at, 0, units, c->found);
    return result == CUDA_SUCCESS ? compare_from(driver, c->bytes, at, units * WIDE, bytes - units * WIDE, c->found)
                                  : result;
}

/* If `result` is CUDA_SUCCESS, waits for the enqueued comparisons and tells whether they found a difference. */
static kiln_status read_found(kiln_plan *plan, CUresult result, bool *same, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    uint32_t found = 0;
    if (result ==
        /* waits without the time limit, because the limit is only for kernels of the spec, and exceeding it would mark
         * the engine as stuck
         * */
        CUDA_SUCCESS)
        result = driver->cuMemcpyDtoH_(&found, plan->shared->comparer.found, sizeof found);
    *same = found == 0;
    return result == CUDA_SUCCESS ? KILN_OK
                                  : kiln__limit_fail(plan, result, error, "comparing the memory of two buffers");
}

kiln_status kiln__answers_same(kiln_plan *plan, const kiln__answers *answers, bool *same, kiln_error **error)
{
    *same = false;
    if (!answers->on_device)
        return KILN_OK;
    CUresult result = plan->engine->driver.cuMemsetD32Async_(plan->shared->comparer.found, 0, 1, NULL);
    for (size_t i = 0; result == CUDA_SUCCESS && i < plan->variant->buffer_count; i++) {
        const kiln__plan_buffer *b = answers->copies[i] ? find_output(plan, i) : NULL;
        if (b)
            result = compare_ranges(plan, (const CUdeviceptr[]){answers->copies[i], b->pointer}, b->bytes);
    }
    return read_found(plan, result, same, error);
}

kiln_status kiln__memory_same(kiln_plan *plan, const CUdeviceptr at[2], uint64_t bytes, bool *same, kiln_error **error)
{
    *same = false;
    if (!load_kernels(plan->shared))
        return KILN_OK;
    CUresult result = plan->engine->driver.cuMemsetD32Async_(plan->shared->comparer.found, 0, 1, NULL);
    if (result == CUDA_SUCCESS)
        result = compare_ranges(plan, at, bytes);
    return read_found(plan, result, same, error);
}
