/* A libcuda.so.1 that fails as the environment says: FAKE_INIT and FAKE_COUNT_RESULT are results, FAKE_COUNT a number of
 * GPUs, FAKE_MISSING a function that cuGetProcAddress does not know, FAKE_NO_PROC makes it know none. FAKE_OLD builds a
 * driver from before cuGetProcAddress that has next to nothing. */
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

static CUresult anything(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    (void)version;
    (void)flags;
    const char *missing = getenv("FAKE_MISSING");
    void (*pointer)(void) = (void (*)(void))anything;
    *function = NULL;
    *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (missing && strcmp(missing, name) == 0)
        return CUDA_ERROR_NOT_FOUND;
    if (strcmp(name, "cuInit") == 0)
        pointer = (void (*)(void))cuInit;
    else if (strcmp(name, "cuDriverGetVersion") == 0)
        pointer = (void (*)(void))cuDriverGetVersion;
    else if (strcmp(name, "cuDeviceGetCount") == 0)
        pointer = (void (*)(void))cuDeviceGetCount;
    if (pointer != (void (*)(void))anything && getenv("FAKE_NO_PROC")) /* must be found by dlsym then */
        return CUDA_ERROR_NOT_FOUND;
    memcpy(function, &pointer, sizeof pointer);
    *found = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
}
#endif
