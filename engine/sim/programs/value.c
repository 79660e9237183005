/* value.c - stream operations that write a value to memory, or wait for a value in memory. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "cu_graph.h"

static bool is_wide(CUstreamBatchMemOpType type)
{
    return type == CU_STREAM_MEM_OP_WAIT_VALUE_64 || type == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

/* Returns the host pointer of a value in memory. Returns NULL if the address is invalid or misaligned, or if `write`
 * is true and the memory is read-only. */
static void *find_value(const sim_context *context, CUdeviceptr address, bool wide, bool write)
{
    const uint64_t bytes = wide ? 8 : 4;
    vm_device *device = sim_home((sim_context *)(uintptr_t)context, address)->device;
    if (address % bytes != 0)
        return NULL;
    return write ? vm_pointer(device, address, bytes) : (void *)(uintptr_t)vm_pointer_read(device, address, bytes);
}

static CUresult check_memops(sim_context *context, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *what)
{
    enum { MOST = 256 };
    if (what->count == 0 || what->count > MOST || !what->paramArray || what->flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < what->count; i++) {
        const CUstreamBatchMemOpParams *op = &what->paramArray[i];
        switch (op->operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        case CU_STREAM_MEM_OP_WAIT_VALUE_64:
            if ((op->waitValue.flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH) > CU_STREAM_WAIT_VALUE_NOR ||
                !find_value(context, op->waitValue.address, is_wide(op->operation), false))
                return CUDA_ERROR_INVALID_VALUE;
            break;
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        case CU_STREAM_MEM_OP_WRITE_VALUE_64:
            if (op->writeValue.flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER ||
                !find_value(context, op->writeValue.address, is_wide(op->operation), false))
                return CUDA_ERROR_INVALID_VALUE;
            break;
        case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        case CU_STREAM_MEM_OP_BARRIER: break;
        default: return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

/* Returns true if the value in memory fulfils the condition of a wait operation. */
static bool is_satisfied(const CUstreamBatchMemOpParams *op, const void *at)
{
    bool wide = is_wide(op->operation);
    uint64_t value = wide ? op->waitValue.value64 : op->waitValue.value;
    uint64_t now = wide ? __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE)
                        : __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
    switch (op->waitValue.flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH) {
    case CU_STREAM_WAIT_VALUE_GEQ: return wide ? (int64_t)(now - value) >= 0 : (int32_t)(uint32_t)(now - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return now == value;
    case CU_STREAM_WAIT_VALUE_AND: return (now & value) != 0;
    default: return wide ? ~(now | value) != 0 : (uint32_t) ~(now | value) != 0;
    }
}

/* Lets other threads run for 50 microseconds. */
static void pause_a_little(void *none)
{
    (void)none;
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

/* Waits for a value in memory. Other threads may continue during the wait. All earlier work is already complete, so
 * only another thread can write the value. After 20 s, or after one microsecond per step of the budget, the wait counts
 * as an endless kernel. */
static CUresult wait_value(sim_context **context, const CUstreamBatchMemOpParams *op)
{
    const uint64_t most = 20000000000u, start = kiln__now_ns();
    uint64_t steps = (*context)->steps, limit = steps && steps < most / 1000 ? steps * 1000 : most;
    for (;;) {
        const void *at = find_value(*context, op->waitValue.address, is_wide(op->operation), false);
        if (!at)
            return CUDA_ERROR_INVALID_VALUE;
        if (is_satisfied(op, at))
            return CUDA_SUCCESS;
        if (kiln__now_ns() - start > limit) {
            snprintf(
                (*context)->fault, sizeof(*context)->fault,
                "a stream waited for a value at 0x%" PRIx64
                " that nobody wrote. On the simulated device a call returns only after the work that it enqueues is done, so "
                "another thread must write the value",
                (uint64_t)op->waitValue.address);
            (*context)->sticky = CUDA_ERROR_LAUNCH_TIMEOUT;
            return CUDA_SUCCESS; /* the current call succeeds, and the next call returns the error */
        }
        if (!sim_order_call_out(*context, pause_a_little, NULL)) {
            *context = NULL;
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        }
    }
}

static CUresult run_memops(sim_context **context, const sim_op *values)
{
    const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *what = &values->what.memOp;
    for (unsigned i = 0; i < what->count; i++) {
        const CUstreamBatchMemOpParams op = what->paramArray[i];
        CUresult result = CUDA_SUCCESS;
        if (op.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || op.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64) {
            result = wait_value(context, &op);
        } else if (op.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 || op.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64) {
            void *at = find_value(*context, op.writeValue.address, is_wide(op.operation), true);
            if (!at)
                result = CUDA_ERROR_INVALID_VALUE;
            else if (is_wide(op.operation))
                __atomic_store_n((uint64_t *)at, op.writeValue.value64, __ATOMIC_RELEASE);
            else
                __atomic_store_n((uint32_t *)at, op.writeValue.value, __ATOMIC_RELEASE);
        }
        if (result != CUDA_SUCCESS || (*context)->sticky != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

CUresult sim_memops_make(sim_context *context, sim_op *op)
{
    CUresult result = check_memops(context, &op->what.memOp);
    if (result == CUDA_SUCCESS)
        result = sim_op_own(op, op->what.memOp.paramArray, op->what.memOp.count * sizeof *op->what.memOp.paramArray);
    op->what.memOp.paramArray = op->owned;
    op->run = run_memops;
    return result;
}

/* ---- values in memory ---- */

static CUresult submit_memops(CUstream stream, unsigned count, CUstreamBatchMemOpParams *list, unsigned flags)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    context = sim_follow(context, stream, SIM_STREAM);
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
    what.memOp = (CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){SIM_HANDLE(CUcontext, context), count, list, flags};
    sim_op op = {0};
    CUresult result = sim_op_make(context, &what, &op);
    if (result == CUDA_SUCCESS)
        result = sim_submit(&context, stream, &op);
    kiln__free(sim_memory(), op.owned);
    return sim_end_work(context, result);
}

CUresult sim_cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *list, unsigned flags)
{
    return submit_memops(stream, count, list, flags);
}

static CUresult submit_memop(CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr address, cuuint64_t value,
                             unsigned flags)
{
    CUstreamBatchMemOpParams op = {0};
    bool wide = type == CU_STREAM_MEM_OP_WAIT_VALUE_64 || type == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    op.waitValue.operation = type; /* the write operations have the same members as the wait operations */
    op.waitValue.address = address;
    op.waitValue.flags = flags;
    if (wide)
        op.waitValue.value64 = value;
    else
        op.waitValue.value = (cuuint32_t)value;
    return submit_memops(stream, 1, &op, 0);
}

CUresult sim_cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
    return submit_memop(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}

CUresult sim_cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
    return submit_memop(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}

CUresult sim_cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
    return submit_memop(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}

CUresult sim_cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
    return submit_memop(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}
