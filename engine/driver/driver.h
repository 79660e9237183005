/* driver.h - the CUDA Driver API as one struct of function pointers, which come from libcuda or from the simulated
 * device. This code knows nothing about kernels or specs. Kiln does not link to CUDA: it finds the functions at run
 * time.
 */
#ifndef KILN_DRIVER_H
#define KILN_DRIVER_H

#include <cuda.h>

#include "simulator.h"
#include "tensor_map.h"

/* X(name, signature, required). `name` is the name in the API without a version suffix. load.c looks up the name with
 * the suffix to which cuda.h maps it. If the driver lacks a function that is not required, its member is NULL. */
#define KILN__DRIVER_MAP(X)                                                                                            \
    X(cuInit, (unsigned flags), 1)                                                                                     \
    X(cuDriverGetVersion, (int *version), 1)                                                                           \
    X(cuGetErrorName, (CUresult error, const char **text), 1)                                                          \
    X(cuGetErrorString, (CUresult error, const char **text), 1)                                                        \
    X(cuDeviceGetCount, (int *count), 1)                                                                               \
    X(cuDeviceGet, (CUdevice * device, int ordinal), 1)                                                                \
    X(cuDeviceGetName, (char *name, int length, CUdevice device), 1)                                                   \
    X(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device), 1)                            \
    X(cuDeviceTotalMem, (size_t * bytes, CUdevice device), 1)                                                          \
    X(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device), 0)                                                            \
    X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), 1)                                             \
    X(cuDevicePrimaryCtxRelease, (CUdevice device), 1)                                                                 \
    X(cuCtxGetCurrent, (CUcontext * context), 1)                                                                       \
    X(cuCtxSetCurrent, (CUcontext context), 1)                                                                         \
    X(cuCtxPushCurrent, (CUcontext context), 1)                                                                        \
    X(cuCtxPopCurrent, (CUcontext * context), 1)                                                                       \
    X(cuCtxGetDevice, (CUdevice * device), 1)                                                                          \
    X(cuCtxSynchronize, (void), 1)                                                                                     \
    X(cuModuleLoadDataEx,                                                                                              \
      (CUmodule * module, const void *image, unsigned count, CUjit_option *options, void **values), 1)                 \
    X(cuLinkCreate, (unsigned count, CUjit_option *options, void **values, CUlinkState *state), 0)                     \
    X(cuLinkAddData,                                                                                                   \
      (CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name, unsigned count,              \
       CUjit_option *options, void **values),                                                                          \
      0)                                                                                                               \
    X(cuLinkAddFile,                                                                                                   \
      (CUlinkState state, CUjitInputType type, const char *path, unsigned count, CUjit_option *options,                \
       void **values),                                                                                                 \
      0)                                                                                                               \
    X(cuLinkComplete, (CUlinkState state, void **image, size_t *size), 0)                                              \
    X(cuLinkDestroy, (CUlinkState state), 0)                                                                           \
    X(cuModuleUnload, (CUmodule module), 1)                                                                            \
    X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name), 1)                              \
    X(cuModuleGetGlobal, (CUdeviceptr * pointer, size_t * bytes, CUmodule module, const char *name), 1)                \
    X(cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function), 1)                        \
    X(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value), 1)                         \
    X(cuFuncGetParamInfo, (CUfunction function, size_t index, size_t * offset, size_t * size), 0)                      \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, CUfunction function, int threads, size_t shared), 1)  \
    X(cuOccupancyMaxActiveClusters, (int *clusters, CUfunction function, const CUlaunchConfig *config), 0)             \
    X(cuOccupancyMaxPotentialClusterSize, (int *size, CUfunction function, const CUlaunchConfig *config), 0)           \
    X(cuMemGetInfo, (size_t * free, size_t * total), 1)                                                                \
    X(cuMemAlloc, (CUdeviceptr * pointer, size_t bytes), 1)                                                            \
    X(cuMemFree, (CUdeviceptr pointer), 1)                                                                             \
    X(cuMemGetAddressRange, (CUdeviceptr * base, size_t * bytes, CUdeviceptr pointer), 1)                              \
    X(cuMemcpyHtoD, (CUdeviceptr to, const void *from, size_t bytes), 1)                                               \
    X(cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t bytes), 1)                                                     \
    X(cuMemcpyDtoD, (CUdeviceptr to, CUdeviceptr from, size_t bytes), 1)                                               \
    X(cuMemcpyHtoDAsync, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream), 1)                         \
    X(cuMemcpyDtoHAsync, (void *to, CUdeviceptr from, size_t bytes, CUstream stream), 1)                               \
    X(cuMemcpyDtoDAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), 1)                         \
    X(cuMemsetD8, (CUdeviceptr to, unsigned char value, size_t count), 1)                                              \
    X(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream), 1)                        \
    X(cuMemsetD16Async, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream), 1)                      \
    X(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t count, CUstream stream), 1)                            \
    X(cuStreamCreate, (CUstream * stream, unsigned flags), 1)                                                          \
    X(cuStreamDestroy, (CUstream stream), 1)                                                                           \
    X(cuStreamSynchronize, (CUstream stream), 1)                                                                       \
    X(cuStreamQuery, (CUstream stream), 1)                                                                             \
    X(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus * status), 0)                                       \
    X(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *user), 0)                                           \
    X(cuEventCreate, (CUevent * event, unsigned flags), 1)                                                             \
    X(cuEventDestroy, (CUevent event), 1)                                                                              \
    X(cuEventRecord, (CUevent event, CUstream stream), 1)                                                              \
    X(cuEventSynchronize, (CUevent event), 1)                                                                          \
    X(cuEventQuery, (CUevent event), 1)                                                                                \
    X(cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end), 1)                                        \
    X(cuLaunchKernel,                                                                                                  \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,     \
       unsigned block_z, unsigned shared, CUstream stream, void **arguments, void **extra),                            \
      1)                                                                                                               \
    X(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra), 0)        \
    X(cuTensorMapEncodeTiled,                                                                                          \
      (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *shape,           \
       const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps, CUtensorMapInterleave interleave,    \
       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill),                    \
      0)                                                                                                               \
    X(cuTensorMapEncodeIm2col,                                                                                         \
      (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *shape,           \
       const cuuint64_t *strides, const int *lower, const int *upper, cuuint32_t channels, cuuint32_t pixels,          \
       const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,                          \
       CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill),                                                \
      0)                                                                                                               \
    X(cuArray3DCreate, (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR *shape), 1)                                     \
    X(cuArrayDestroy, (CUarray array), 1)                                                                              \
    X(cuMemcpy3DAsync, (const CUDA_MEMCPY3D *copy, CUstream stream), 1)                                                \
    X(cuTexObjectCreate,                                                                                               \
      (CUtexObject * object, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *sampling,                    \
       const CUDA_RESOURCE_VIEW_DESC *view),                                                                           \
      1)                                                                                                               \
    X(cuTexObjectDestroy, (CUtexObject object), 1)                                                                     \
    X(cuLaunchCooperativeKernel,                                                                                       \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,     \
       unsigned block_z, unsigned shared, CUstream stream, void **arguments),                                          \
      1)

typedef struct kiln__driver {
#define KILN_X(name, signature, required) CUresult(CUDAAPI *name##_) signature;
    KILN__DRIVER_MAP(KILN_X)
#undef KILN_X
    const kiln__simulator *simulator; /* the functions that only the simulated device has, or NULL on a GPU */
    int version;                      /* cuDriverGetVersion */
    void *library;                    /* the handle of dlopen(), or NULL for the simulated device */
    char path[256];                   /* "libcuda.so.1" as the loader found it, or "built-in" */
} kiln__driver;
/* cuda.h renames functions by macros (cuMemAlloc is cuMemAlloc_v2), so the names of the members end in `_`. */

/* Fills `driver` from libcuda.so.1, or from the file that $KILN_LIBCUDA names, and calls cuInit. After every failure
 * (no library, an old driver, no device, no permission, a lost device) the function returns KILN_ERROR_NO_DEVICE. The
 * message of the error has one sentence about the cause and one sentence about the remedy. The caller ends the use of
 * the driver with kiln__driver_close(). */
kiln_status kiln__driver_open_cuda(const kiln_allocator *mem, kiln__driver *driver, kiln_error **error);
/* Fills `driver` from the simulated device. The function fails only if the simulated device does not start. */
kiln_status kiln__driver_open_sim(const kiln_allocator *mem, kiln__driver *driver, kiln_error **error);
/* Returns the functions of this process's simulated device, even if no driver is open. The result is never NULL. */
const kiln__simulator *kiln__driver_simulator(void);
void kiln__driver_close(kiln__driver *driver);

/* Makes an error from a failed call and returns the status of this error. `result` determines the status, which is
 * mostly KILN_ERROR_DEVICE. `what` describes the call, such as "cuMemAlloc of 1024 bytes for buffer A". The message has
 * this text, and the name and the description of `result`. On the simulated device it also has the last fault. */
kiln_status kiln__driver_fail(const kiln__driver *driver, const kiln_allocator *mem, CUresult result,
                              kiln_error **error, const char *what, ...) KILN__PRINTF(5, 6);
#if defined __clang_analyzer__ || defined KILN_ANALYZER /* see kiln__fail() */
#define kiln__driver_fail(...) (kiln__driver_fail(__VA_ARGS__), KILN_ERROR_DEVICE)
#endif
/* Returns true if a call with this result has lost the context, for example after an illegal address, an assert or a
 * launch timeout. */
bool kiln__driver_is_sticky(CUresult result);
/* Writes the uuid of a device in the form that nvidia-smi prints, "GPU-8-4-4-4-12". Returns false, and writes "", if
 * the driver does not give a uuid, or if the device is simulated. */
#define KILN__UUID_TEXT 48
bool kiln__driver_uuid(const kiln__driver *driver, CUdevice device, char text[KILN__UUID_TEXT]);
/* Writes the address of the device on the PCI bus in the form of /sys: "0000:41:00.0". The address of a simulated
 * device is invented. Returns false if a query fails. If the driver does not know a part of the address, the part is
 * 0. */
#define KILN__PCI_TEXT 40
bool kiln__driver_place(const kiln__driver *driver, CUdevice device, char text[KILN__PCI_TEXT]);
/* Sets info->unit_flops and peak_flops from name, cc, sm_count and clock_hz of `info`. */
void kiln__peaks_set(kiln_device_info *info);
/* Returns the peak rate of a unit (KILN_UNIT_...), or 0 if the device has no such unit. `unit` may be any number. */
static inline double kiln__peak_flops(const kiln_device_info *info, unsigned unit)
{
    return unit < KILN__COUNT(info->unit_flops) ? info->unit_flops[unit] : 0;
}

/* Returns true if the map obeys the rules that cuda.h states for cuTensorMapEncode*. If the map breaks a rule, sets
 * *fault. */
bool kiln__driver_tensor_map_check(const kiln__tensor_map *map, kiln__tensor_fault *fault);
/* Returns false if the driver is the simulated device and this device cannot execute copies with the map. */
bool kiln__driver_tensor_map_runs(const kiln__driver *driver, const kiln__tensor_map *map, kiln__tensor_fault *fault);

/* Reads the properties of a device. If the driver does not offer a property, its value is 0. If the result is not
 * CUDA_SUCCESS, a query failed, and *info is incomplete. */
CUresult kiln__driver_device_info(const kiln__driver *driver, CUdevice device, kiln_device_info *info);
#endif
