/* A libcuda.so.1 that fails in the way that the environment requests. FAKE_INIT and FAKE_COUNT_RESULT are results, and
 * FAKE_COUNT is a number of GPUs. The library has the functions that the table needs (fake_rest.c), and none of the
 * optional functions. FAKE_OLD builds a driver with very few functions. */
#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT CUresult cuInit(unsigned flags);
EXPORT CUresult cuDriverGetVersion(int *version);

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

CUresult cuInit(unsigned flags)
{
    (void)flags;
    return (CUresult)number("FAKE_INIT", 0);
}

CUresult cuDriverGetVersion(int *version)
{
    *version = number("FAKE_VERSION", 13000);
    return CUDA_SUCCESS;
}

#ifndef FAKE_OLD
EXPORT CUresult cuDeviceGetCount(int *count);
EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult *found);

CUresult cuDeviceGetCount(int *count)
{
    *count = number("FAKE_COUNT", 1);
    return (CUresult)number("FAKE_COUNT_RESULT", 0);
}

static CUresult newer(void) { return CUDA_ERROR_CONTEXT_IS_DESTROYED; }

/* Returns another function than the exported one, as the driver does since CUDA 13. For some names, that function has
 * another signature. */
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    (void)name;
    (void)version;
    (void)flags;
    CUresult (*pointer)(void) = newer;
    memcpy(function, &pointer, sizeof pointer);
    *found = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
}
#endif
