/* runtime.h - declarations that the files of the CUDA runtime share. The runtime is written from CUDA's public headers
 * and calls only the driver API (driver.c), so it works with the simulated device's libcuda and with any other
 * libcuda. */
#ifndef KILN_SIM_RUNTIME_H
#define KILN_SIM_RUNTIME_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/* Some functions have different arguments in versions 12 and 13. In version 12 the forms of version 13 have names of
 * their own. */
#if RT_VERSION == 12
#include "rename12.h"
#endif
#include <cuda_runtime_api.h>

/* The runtime must define deprecated functions too, because programs call them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* The declarations of these functions are in a header of another package of the toolkit. */
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

/* ---- the driver ---- */

typedef struct rt_driver {
#define RT_X(name) __typeof__(name) *name;
#include "driver.inc"
#undef RT_X
} rt_driver;
extern rt_driver kiln__rt_driver;
#define CU(name) (kiln__rt_driver.name)

cudaError_t kiln__rt_load(void);         /* loads and initialises the driver, once in a process */
void *kiln__rt_symbol(const char *name); /* returns a symbol of the driver's library, or NULL */

/* ---- errors ---- */

cudaError_t kiln__rt_record(cudaError_t error); /* stores the error as the thread's last error, and returns it */
cudaError_t kiln__rt_result(CUresult result);   /* kiln__rt_record() for a result of the driver */
/* clears the thread's last error after a reset of the device, even a sticky error */
void kiln__rt_forget(void);

/* ---- contexts ---- */

/* Loads the driver. Makes the primary context of the thread's device current, if the thread has no current context. */
cudaError_t kiln__rt_enter(void);
/* Returns the ordinal of the current context's device. If there is no current context, returns the ordinal of the
 * device that the thread has chosen. */
cudaError_t kiln__rt_ordinal(int *device);
cudaError_t kiln__rt_device(int ordinal, CUdevice *device); /* checks the ordinal */
/* retains the primary context without making it current */
cudaError_t kiln__rt_primary(int ordinal, CUcontext *context);
int kiln__rt_attribute(CUdevice device, CUdevice_attribute attribute); /* returns 0 if the attribute is unknown */

#define RT_ENTER()                                                                                                     \
    do {                                                                                                               \
        cudaError_t entered = kiln__rt_enter();                                                                        \
        if (entered != cudaSuccess)                                                                                    \
            return kiln__rt_record(entered);                                                                           \
    } while (0)
#define RT_NEED(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return kiln__rt_record(cudaErrorInvalidValue);                                                             \
    } while (0)

/* ---- kernels and variables that the program has registered ---- */

/* finds the function of a symbol in the current context */
cudaError_t kiln__rt_function(const void *symbol, CUfunction *function);
cudaError_t kiln__rt_kernel(const void *symbol, CUkernel *kernel);
cudaError_t kiln__rt_variable(const void *symbol, CUdeviceptr *address, size_t *size);
/* returns the program's symbol of a function, or the handle itself if it has no symbol */
const void *kiln__rt_symbol_of(CUfunction function);
/* registers a handle of a kernel that the program may use in place of a symbol */
cudaError_t kiln__rt_known(CUkernel kernel);
void kiln__rt_forget_kernel(CUkernel kernel); /* forgets a kernel before its library is unloaded */
void kiln__rt_unload(CUcontext context);      /* unloads all libraries that were loaded into the context */

/* ---- copies, arrays ---- */

size_t kiln__rt_element(CUarray array); /* returns the size of an element in bytes, or 0 after an error */
cudaError_t kiln__rt_copy3d(const struct cudaMemcpy3DParms *from, CUDA_MEMCPY3D *copy);
void kiln__rt_params3d(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *to);
cudaError_t kiln__rt_copy1d(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *copy);
cudaError_t kiln__rt_format(const struct cudaChannelFormatDesc *desc, CUarray_format *format, unsigned *channels);

static inline CUdeviceptr rt_address(const void *p) { return (CUdeviceptr)p; }
#endif
