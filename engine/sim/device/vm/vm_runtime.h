/* vm_runtime.h - the device runtime, which launches work from kernels. runtime.c finds the functions of the runtime by
 * name, and child.c implements them. */
#ifndef KILN_SIM_VM_RUNTIME_H
#define KILN_SIM_VM_RUNTIME_H

#include "vm_child.h"
#include "vm_machine.h"

#define VM_NEST_MAX 24u /* levels of nested grids; the host's launch is on the first level */

/* The functions of the device runtime: X(function, name after "cuda" or "__cudaCDP2", bytes of the result, sizes of the
 * parameters). In the sizes a digit is a size in bytes, 'c' means a dim3, 'p' a cudaPitchedPtr, and 'e' a
 * cudaExtent. */
#define VM_RUNTIME_MAP(X)                                                                                              \
    X(BUFFER, "GetParameterBuffer", 8, "88")                                                                           \
    X(BUFFER_V2, "GetParameterBufferV2", 8, "8cc4")                                                                    \
    X(LAUNCH, "LaunchDevice", 4, "88cc48")                                                                             \
    X(LAUNCH_V2, "LaunchDeviceV2", 4, "88")                                                                            \
    X(SYNCHRONIZE, "DeviceSynchronize", 4, "")                                                                         \
    X(LAST_ERROR, "GetLastError", 4, "")                                                                               \
    X(PEEK_ERROR, "PeekAtLastError", 4, "")                                                                            \
    X(ERROR_NAME, "GetErrorName", 8, "4")                                                                              \
    X(ERROR_STRING, "GetErrorString", 8, "4")                                                                          \
    X(DEVICE_COUNT, "GetDeviceCount", 4, "8")                                                                          \
    X(DEVICE, "GetDevice", 4, "8")                                                                                     \
    X(ATTRIBUTE, "DeviceGetAttribute", 4, "844")                                                                       \
    X(LIMIT, "DeviceGetLimit", 4, "84")                                                                                \
    X(CACHE_CONFIG, "DeviceGetCacheConfig", 4, "8")                                                                    \
    X(SHARED_CONFIG, "DeviceGetSharedMemConfig", 4, "8")                                                               \
    X(VERSION, "RuntimeGetVersion", 4, "8")                                                                            \
    X(STREAM_CREATE, "StreamCreateWithFlags", 4, "84")                                                                 \
    X(STREAM_DESTROY, "StreamDestroy", 4, "8")                                                                         \
    X(STREAM_WAIT, "StreamWaitEvent", 4, "884")                                                                        \
    X(EVENT_CREATE, "EventCreateWithFlags", 4, "84")                                                                   \
    X(EVENT_DESTROY, "EventDestroy", 4, "8")                                                                           \
    X(EVENT_RECORD, "EventRecord", 4, "88")                                                                            \
    X(EVENT_RECORD_FLAGS, "EventRecordWithFlags", 4, "884")                                                            \
    X(FUNCTION_ATTRIBUTES, "FuncGetAttributes", 4, "88")                                                               \
    X(OCCUPANCY, "OccupancyMaxActiveBlocksPerMultiprocessor", 4, "8848")                                               \
    X(OCCUPANCY_FLAGS, "OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 4, "88484")                               \
    X(MALLOC, "Malloc", 4, "88")                                                                                       \
    X(FREE, "Free", 4, "8")                                                                                            \
    X(COPY, "MemcpyAsync", 4, "88848")                                                                                 \
    X(COPY_2D, "Memcpy2DAsync", 4, "88888848")                                                                         \
    X(COPY_3D, "Memcpy3DAsync", 4, "88")                                                                               \
    X(FILL, "MemsetAsync", 4, "8488")                                                                                  \
    X(FILL_2D, "Memset2DAsync", 4, "884888")                                                                           \
    X(FILL_3D, "Memset3DAsync", 4, "p4e8")                                                                             \
    X(SET_CONDITION, "GraphSetConditional", 0, "84")

/* The results of the functions, each as X(name, value of cudaError_t, CUDA's name, CUDA's text). */
#define VM_CUDA_MAP(X)                                                                                                 \
    X(SUCCESS, 0, "cudaSuccess", "no error")                                                                           \
    X(INVALID_VALUE, 1, "cudaErrorInvalidValue", "invalid argument")                                                   \
    X(MEMORY, 2, "cudaErrorMemoryAllocation", "out of memory")                                                         \
    X(CONFIGURATION, 9, "cudaErrorInvalidConfiguration", "invalid configuration argument")                             \
    X(DEPTH, 65, "cudaErrorLaunchMaxDepthExceeded", "launch would exceed maximum depth of nested launches")            \
    X(SYNC_DEPTH, 68, "cudaErrorSyncDepthExceeded",                                                                    \
      "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth")                 \
    X(PENDING, 69, "cudaErrorLaunchPendingCountExceeded",                                                              \
      "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount")                               \
    X(FUNCTION, 98, "cudaErrorInvalidDeviceFunction", "invalid device function")                                       \
    X(DEVICE, 101, "cudaErrorInvalidDevice", "invalid device ordinal")                                                 \
    X(LIMIT, 215, "cudaErrorUnsupportedLimit", "limit is not supported on this architecture")                          \
    X(HANDLE, 400, "cudaErrorInvalidResourceHandle", "invalid resource handle")                                        \
    X(RESOURCES, 701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch")                      \
    X(NOT_SUPPORTED, 801, "cudaErrorNotSupported", "operation not supported")                                          \
    X(UNKNOWN, 999, "cudaErrorUnknown", "unknown error")
typedef enum vm_cuda_error {
#define VM_X(name, code, title, text) VM_CUDA_##name = code,
    VM_CUDA_MAP(VM_X)
#undef VM_X
} vm_cuda_error;

enum { VM_LIMIT_HEAP = 2, VM_LIMIT_SYNC_DEPTH = 3, VM_LIMIT_PENDING = 4 };

/* Stream handles up to VM_STREAM_LAST are the default streams, the grid's tail stream and the fire-and-forget stream.
 * Other handles are numbers above VM_HANDLE_BASE: handles of streams are even, handles of events are odd. */
enum { VM_STREAM_TAIL = 3, VM_STREAM_FORGET = 4, VM_STREAM_LAST = VM_STREAM_FORGET };
#define VM_HANDLE_BASE 0x0800000000ull
static inline bool vm_is_stream(uint64_t handle) { return handle % 2 == 0; }

/* If one of the functions below fails, it sets the calling thread's last error. A function that returns uint32_t
 * returns the error, and 0 means success. A function that returns an address returns 0 after an error. The functions
 * that return bool set no error. */
uint32_t vm_child_fail(vm_warp *w, uint32_t lane, uint32_t error);
uint32_t vm_child_error(vm_warp *w, uint32_t lane, bool clear);
uint64_t vm_child_limit(const vm_run_state *run, uint32_t which);
bool vm_child_kernel(const vm_warp *w, uint64_t pointer, uint32_t *kernel);
uint64_t vm_child_buffer(vm_warp *w, uint32_t lane, uint64_t bytes);
uint64_t vm_child_buffer_for(vm_warp *w, uint32_t lane, uint64_t pointer, const uint32_t grid[3],
                             const uint32_t block[3], uint32_t shared);
uint32_t vm_child_launch(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, uint64_t stream);
uint32_t vm_child_launch_as(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t pointer, uint64_t address,
                            const uint32_t grid[3], const uint32_t block[3], uint32_t shared, uint64_t stream);
uint32_t vm_child_move(vm_warp *w, const vm_code *i, uint32_t lane, const vm_task *what, uint64_t stream);
uint32_t vm_child_synchronize(vm_warp *w, uint32_t m);
/* returns 0 without setting an error if the block has too many streams and events */
uint64_t vm_child_handle(vm_warp *w, bool stream);
bool vm_child_handle_known(vm_warp *w, uint64_t handle, bool stream);
/* returns true for a stream of the block, and for the default streams */
bool vm_child_stream_known(vm_warp *w, uint64_t stream);
bool vm_child_handle_drop(vm_warp *w, uint64_t handle, bool stream);
void vm_task_move(vm_run_state *run, const vm_task *task);
#endif
