/* cu_internal.h - what the files of the simulated driver (cu_*.c) share.
 *
 * As in libcuda the state is of the process: one simulated device, its primary context, and a table of everything that
 * was handed out. A handle is a number that is looked up in that table, never a pointer, so a stale, foreign or made-up
 * one is an error code and not a crash.
 *
 * Two locks, always taken in this order: `work` is held while the device does something (a kernel, a copy, a fill, the
 * freeing of what they use), which is what keeps streams in order; `state` guards the table and the context and is
 * never held while a kernel runs, so that other threads can ask and prepare meanwhile. */
#ifndef KILN_SIM_CU_INTERNAL_H
#define KILN_SIM_CU_INTERNAL_H

#include <cuda.h>

#include "sim/sim.h"
#include "sim/vm.h"

/* The functions that exist. X(name): the driver API's own name; sim_NAME has the type that cuda.h gives it. */
#define SIM_API_MAP(X)                                                                                                 \
    X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)                                              \
    X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDeviceTotalMem)                  \
    X(cuDeviceGetUuid) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease)                                        \
    X(cuCtxGetCurrent) X(cuCtxSetCurrent) X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuCtxGetDevice)                     \
    X(cuCtxSynchronize)                                                                                                \
    X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuModuleGetGlobal)                                \
    X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuFuncGetParamInfo)                                                  \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                                     \
    X(cuMemGetInfo) X(cuMemAlloc) X(cuMemFree) X(cuMemGetAddressRange)                                                 \
    X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpyDtoD)                                                                    \
    X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync)                                                     \
    X(cuMemsetD8) X(cuMemsetD8Async) X(cuMemsetD16Async) X(cuMemsetD32Async)                                           \
    X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamQuery)                                       \
    X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventSynchronize) X(cuEventQuery) X(cuEventElapsedTime)    \
    X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuLaunchCooperativeKernel)
/* ## keeps `name` as written while typeof sees what cuda.h maps it to, so each definition is checked against cuda.h. */
#define SIM_X(name) __typeof__(name) sim_##name;
SIM_API_MAP(SIM_X)
#undef SIM_X

/* ---- the device ---- */

typedef struct sim_attribute { CUdevice_attribute attribute; int value; } sim_attribute;
typedef struct sim_profile {
    const char *name, *title;
    uint64_t memory;                   /* bytes; the host may allow less */
    const sim_attribute *attributes;   /* its own; what it leaves out is looked up in those that all share */
    size_t attribute_count;
} sim_profile;
extern const sim_profile sim_profiles[];
extern const size_t sim_profile_count;
bool sim_profile_attribute(const sim_profile *profile, CUdevice_attribute attribute, int *value);
int sim_profile_int(const sim_profile *profile, CUdevice_attribute attribute); /* 0 where it has none */

/* ---- objects ---- */

typedef enum sim_kind { SIM_CONTEXT = 1, SIM_MODULE, SIM_FUNCTION, SIM_STREAM, SIM_EVENT } sim_kind;

typedef struct sim_context sim_context;

/* What every object begins with. Objects are listed in their context, which frees them when it goes. */
typedef struct sim_object {
    sim_kind kind;
    uint64_t handle;
    struct sim_object *next, *previous;
} sim_object;

struct sim_context {
    sim_object object;
    unsigned retained;                 /* 0: not active; its handle stays the same for the life of the process */
    CUresult sticky;                   /* the fault that ended it, CUDA_SUCCESS while it is whole */
    vm_device *device;
    sim_object *objects;
    uint64_t clock_ns;                 /* host time that the device's work took: the clock that events read */
    uint64_t memory;                   /* bytes of device memory */
    char fault[1024];                  /* in one sentence, "" if there was none */
};

typedef struct sim_module { sim_object object; vm_module *vm; struct sim_function *functions; } sim_module;
typedef struct sim_function {
    sim_object object;
    sim_module *module;
    struct sim_function *sibling;      /* in the module */
    int kernel;
    vm_resources resources;
    int dynamic_limit;                 /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    int carveout;
} sim_function;
typedef struct sim_stream { sim_object object; unsigned flags; } sim_stream;
typedef struct sim_event { sim_object object; unsigned flags; bool recorded; uint64_t clock_ns; } sim_event;

/* A new object of `size` bytes in `context` with a handle; NULL if memory is out. Under the state lock. */
void *sim_object_new(sim_context *context, sim_kind kind, size_t size);
void sim_object_free(sim_context *context, void *object);
/* The live object of that handle and kind, or NULL. Under the state lock. */
void *sim_object_find(const void *handle, sim_kind kind);
/* CUstream and friends are pointers to types that nobody completes: a handle's number travels in one. */
#define SIM_HANDLE(type, object_) ((type)(uintptr_t)(object_)->object.handle)
/* True for the default streams and for a live one. */
bool sim_stream_known(CUstream stream);

/* ---- entering and leaving a call ---- */

/* CUDA_SUCCESS with the state lock held and the calling thread's current context, else the error and no lock. */
CUresult sim_begin(sim_context **context);
CUresult sim_end(CUresult result);             /* drops the lock, returns `result` */
/* The same for a call that makes the device do something; notes how long it took on the context's clock. */
CUresult sim_begin_work(sim_context **context);
CUresult sim_end_work(sim_context *context, CUresult result);
/* Under `work`: drops and retakes the state lock around a kernel. */
void sim_pause(void);
void sim_resume(void);
/* Driver calls that need no context: CUDA_SUCCESS with the state lock held if cuInit was called. */
CUresult sim_begin_bare(void);
const sim_profile *sim_current_profile(void);  /* under the state lock */
const kiln_allocator *sim_memory(void);
/* Tests only: the allocator of everything to come; NULL: malloc. Not while the primary context is retained. */
void sim_set_memory(const kiln_allocator *mem);

void sim_module_close(sim_context *context, sim_module *module); /* with its functions; under both locks */
/* True for the address of a module's variable, which is memory but nothing that cuMemFree may free. */
bool sim_is_variable(const sim_context *context, CUdeviceptr pointer);
void sim_count_work(uint64_t nanoseconds, uint64_t warp_instructions);
uint64_t sim_device_memory(const sim_profile *profile);
#endif
