/* Tests streams, events and host functions. */
#include "cu_check.h"

/* ---- streams and events ---- */

static void test_streams(void)
{
    open_device();
    CUstream stream = NULL, gone;
    CUevent start = NULL, end = NULL, untimed = NULL;
    float milliseconds = -1;
    FAILS(INVALID_VALUE, call_cuStreamCreate(NULL, 0));
    FAILS(INVALID_VALUE, call_cuStreamCreate(&stream, 64));
    OK(call_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(call_cuStreamQuery(stream));
    OK(call_cuStreamSynchronize(stream));
    OK(call_cuStreamSynchronize(NULL));
    FAILS(INVALID_VALUE, call_cuEventCreate(&start, 1024));
    OK(call_cuEventCreate(&start, 0));
    OK(call_cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
    OK(call_cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    OK(call_cuEventQuery(start));
    OK(call_cuEventSynchronize(start));
    FAILS(INVALID_HANDLE, call_cuEventElapsedTime(&milliseconds, start, end)); /* not recorded */
    OK(call_cuEventRecord(start, stream));
    CUdeviceptr memory = 0;
    OK(call_cuMemAlloc(&memory, 1 << 20));
    OK(call_cuMemsetD8Async(memory, 0, 1 << 20, stream));
    OK(call_cuEventRecord(end, stream));
    OK(call_cuEventRecord(untimed, stream));
    OK(call_cuEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds > 0 && milliseconds < 10000);
    FAILS(INVALID_HANDLE, call_cuEventElapsedTime(&milliseconds, start, untimed));
    FAILS(INVALID_VALUE, call_cuEventElapsedTime(NULL, start, end));
    /* the handle belongs to another kind of object */
    FAILS(INVALID_HANDLE, call_cuEventRecord((CUevent)(uintptr_t)(void *)stream, NULL));
    FAILS(INVALID_HANDLE, call_cuEventRecord(NULL, NULL));
    gone = stream;
    OK(call_cuStreamDestroy(stream));
    FAILS(INVALID_HANDLE, call_cuStreamDestroy(gone));
    FAILS(INVALID_HANDLE, call_cuStreamQuery(gone));
    FAILS(INVALID_HANDLE, call_cuEventRecord(start, gone));
    OK(call_cuStreamCreate(&stream, 0)); /* the new stream takes the slot of the destroyed stream, but not its handle */
    CHECK(stream != gone);
    FAILS(INVALID_HANDLE, call_cuStreamQuery(gone));
    OK(call_cuEventDestroy(start));
    FAILS(INVALID_HANDLE, call_cuEventQuery(start));
    close_device(); /* frees the other streams and events */
    open_device();
    FAILS(INVALID_HANDLE, call_cuStreamQuery(stream));
    FAILS(INVALID_HANDLE, call_cuEventQuery(end));
    close_device();
}

static void CUDA_CB add_one(void *number) { ++*(int *)number; }

static void CUDA_CB add_ten(CUstream stream, CUresult status, void *number)
{
    *(int *)number += status == CUDA_SUCCESS && stream == NULL ? 10 : 0;
}

/* Queries the contexts, flags, priorities and states of streams and events. */
static void test_stream_queries(void)
{
    open_device();
    CUstream stream = NULL;
    CUevent event = NULL;
    CUcontext owner = NULL;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    int least = 1, greatest = 1, priority = 1, number = 0;
    unsigned flags = 0;
    unsigned long long id = 0, other = 0;
    OK(call_cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(call_cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -5));
    OK(call_cuStreamGetPriority(stream, &priority));
    CHECK(least == 0 && greatest == -5 && priority == -5);
    OK(call_cuStreamGetFlags(stream, &flags));
    CHECK(flags == CU_STREAM_NON_BLOCKING);
    OK(call_cuStreamGetCtx(stream, &owner));
    CHECK(owner == primary);
    OK(call_cuStreamGetId(stream, &id));
    OK(call_cuStreamGetId(NULL, &other));
    CHECK(id != other);
    OK(call_cuStreamIsCapturing(stream, &capture));
    CHECK(capture == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(call_cuThreadExchangeStreamCaptureMode(&mode));
    OK(call_cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
    FAILS(INVALID_VALUE, call_cuEventCreate(&event, CU_EVENT_INTERPROCESS));
    OK(call_cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(call_cuEventDestroy(event));
    OK(call_cuEventCreate(&event, 0));
    OK(call_cuEventRecordWithFlags(event, stream, 0));
    FAILS(INVALID_VALUE, call_cuEventRecordWithFlags(event, stream, 8));
    OK(call_cuStreamWaitEvent(stream, event, 0));
    FAILS(INVALID_VALUE, call_cuStreamWaitEvent(stream, event, 8));
    FAILS(INVALID_HANDLE, call_cuStreamWaitEvent(stream, NULL, 0));
    OK(call_cuLaunchHostFunc(stream, add_one, &number));
    OK(call_cuStreamAddCallback(NULL, add_ten, &number, 0));
    FAILS(INVALID_VALUE, call_cuStreamAddCallback(NULL, add_ten, &number, 1));
    FAILS(INVALID_VALUE, call_cuLaunchHostFunc(stream, NULL, &number));
    CHECK(number == 11);
    close_device();
}

/* A stream waits for an event of another context of the same device. */
static void test_other_context(void)
{
    open_device();
    CUcontext first, second;
    CUstream stream, other;
    CUevent event;
    OK(call_cuCtxGetCurrent(&first));
    OK(call_cuStreamCreate(&stream, 0));
    OK(call_cuEventCreate(&event, 0));
    OK(call_cuEventRecord(event, stream));
    OK(call_cuCtxCreate(&second, NULL, 0, 0));
    OK(call_cuStreamCreate(&other, 0));
    OK(call_cuStreamWaitEvent(other, event, 0));
    OK(call_cuStreamWaitEvent(NULL, event, 0));
    OK(call_cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(call_cuStreamWaitEvent(other, event, CU_EVENT_WAIT_EXTERNAL));
    CUgraph graph;
    CUgraphExec exec;
    OK(call_cuStreamEndCapture(other, &graph));
    OK(call_cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(call_cuGraphLaunch(exec, other));
    OK(call_cuCtxSetCurrent(first));
    OK(call_cuStreamWaitEvent(other, event, 0)); /* neither the stream nor the event belongs to the current context */
    FAILS(INVALID_HANDLE, call_cuEventRecord(event, other));
    OK(call_cuCtxDestroy(second));
    FAILS(INVALID_HANDLE, call_cuStreamWaitEvent(other, event, 0));
    OK(call_cuEventDestroy(event));
    FAILS(INVALID_HANDLE, call_cuStreamWaitEvent(stream, event, 0));
    close_device();
}

static const check_case cases[] = {{"other context", test_other_context},
                                   {"streams and events", test_streams},
                                   {"stream queries", test_stream_queries}};
CU_SUITE("sim cu stream", cases)
