/* nvml.c - libnvidia-ml.so.1 for programs that look for devices by it: count, names, memory, versions, of the libcuda.so.1
 * that the loader finds. Nothing is measured: clocks, power and processes are not there. */
#include "nvml.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
static const char nvml_version[] = "13.580.00", driver_version[] = "580.00"; /* as of CUDA 13.0 */

#define DRIVER(X)                                                                                                      \
    X(cuInit)                                                                                                          \
    X(cuDriverGetVersion)                                                                                              \
    X(cuDeviceGetCount)                                                                                                \
    X(cuDeviceGet)                                                                                                     \
    X(cuDeviceGetName)                                                                                                 \
    X(cuDeviceGetUuid)                                                                                                 \
    X(cuDeviceTotalMem)                                                                                                \
    X(cuDeviceGetAttribute)

static struct {
#define X(name) __typeof__(name) *name;
    DRIVER(X)
#undef X
} driver;
static bool loaded;

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found;
    loaded = library != NULL;
    if (!library)
        return;
#define X(name)                                                                                                        \
    found = dlsym(library, TEXT(name));                                                                                \
    loaded = loaded && found;                                                                                          \
    memcpy(&driver.name, &found, sizeof found);
    DRIVER(X)
#undef X
    loaded = loaded && driver.cuInit(0) == CUDA_SUCCESS;
}

static nvml_result ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded ? NVML_SUCCESS : NVML_DRIVER_NOT_LOADED;
}

/* A handle is 1 more than the device's number. */
static nvml_result find(const nvml_device *device, CUdevice *to)
{
    int count = 0;
    uintptr_t number = (uintptr_t)device;
    nvml_result result = ready();
    if (result != NVML_SUCCESS)
        return result;
    if (driver.cuDeviceGetCount(&count) != CUDA_SUCCESS || number == 0 || number > (uintptr_t)count ||
        driver.cuDeviceGet(to, (int)number - 1) != CUDA_SUCCESS)
        return NVML_INVALID_ARGUMENT;
    return NVML_SUCCESS;
}

static nvml_result put(char *to, unsigned length, const char *text)
{
    if (!to)
        return NVML_INVALID_ARGUMENT;
    if (strlen(text) >= length)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(to, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

PUBLIC nvml_result nvmlInit_v2(void) { return ready(); }

PUBLIC nvml_result nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return ready();
}

PUBLIC nvml_result nvmlShutdown(void) { return NVML_SUCCESS; }

PUBLIC const char *nvmlErrorString(nvml_result result)
{
    switch (result) {
    case NVML_SUCCESS: return "Success";
    case NVML_UNINITIALIZED: return "Uninitialized";
    case NVML_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_NOT_SUPPORTED: return "Not Supported";
    case NVML_NOT_FOUND: return "Not Found";
    case NVML_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    }
    return "Unknown Error";
}

PUBLIC nvml_result nvmlSystemGetDriverVersion(char *to, unsigned length) { return put(to, length, driver_version); }

PUBLIC nvml_result nvmlSystemGetNVMLVersion(char *to, unsigned length) { return put(to, length, nvml_version); }

PUBLIC nvml_result nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    nvml_result result = ready();
    if (result != NVML_SUCCESS || !version)
        return result != NVML_SUCCESS ? result : NVML_INVALID_ARGUMENT;
    return driver.cuDriverGetVersion(version) == CUDA_SUCCESS ? NVML_SUCCESS : NVML_NOT_FOUND;
}

PUBLIC nvml_result nvmlDeviceGetCount_v2(unsigned *count)
{
    int found = 0;
    nvml_result result = ready();
    if (result != NVML_SUCCESS || !count)
        return result != NVML_SUCCESS ? result : NVML_INVALID_ARGUMENT;
    driver.cuDeviceGetCount(&found);
    *count = (unsigned)found;
    return NVML_SUCCESS;
}

PUBLIC nvml_result nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device **device)
{
    CUdevice found;
    nvml_device *handle = (nvml_device *)((uintptr_t)index + 1); /* NOLINT(performance-no-int-to-ptr) */
    nvml_result result = device ? find(handle, &found) : NVML_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *device = handle;
    return result;
}

PUBLIC nvml_result nvmlDeviceGetIndex(nvml_device *device, unsigned *index)
{
    CUdevice found;
    nvml_result result = index ? find(device, &found) : NVML_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *index = (unsigned)(uintptr_t)device - 1;
    return result;
}

PUBLIC nvml_result nvmlDeviceGetMinorNumber(nvml_device *device, unsigned *number)
{
    return nvmlDeviceGetIndex(device, number);
}

PUBLIC nvml_result nvmlDeviceGetName(nvml_device *device, char *to, unsigned length)
{
    CUdevice found;
    char name[256];
    nvml_result result = find(device, &found);
    if (result != NVML_SUCCESS)
        return result;
    return driver.cuDeviceGetName(name, sizeof name, found) == CUDA_SUCCESS ? put(to, length, name) : NVML_NOT_FOUND;
}

PUBLIC nvml_result nvmlDeviceGetUUID(nvml_device *device, char *to, unsigned length)
{
    CUdevice found;
    CUuuid uuid;
    char text[48];
    nvml_result result = find(device, &found);
    if (result != NVML_SUCCESS)
        return result;
    if (driver.cuDeviceGetUuid(&uuid, found) != CUDA_SUCCESS)
        return NVML_NOT_FOUND;
    int used = snprintf(text, sizeof text, "GPU");
    for (int i = 0; i < 16; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%02x",
                         i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)uuid.bytes[i]);
    return put(to, length, text);
}

PUBLIC nvml_result nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device **device)
{
    unsigned count = 0;
    char text[48];
    nvml_result result = uuid && device ? nvmlDeviceGetCount_v2(&count) : NVML_INVALID_ARGUMENT;
    for (unsigned i = 0; result == NVML_SUCCESS && i < count; i++)
        if (nvmlDeviceGetHandleByIndex_v2(i, device) == NVML_SUCCESS &&
            nvmlDeviceGetUUID(*device, text, sizeof text) == NVML_SUCCESS && strcmp(text, uuid) == 0)
            return NVML_SUCCESS;
    return result == NVML_SUCCESS ? NVML_NOT_FOUND : result;
}

/* All is free: what processes have is theirs alone. */
PUBLIC nvml_result nvmlDeviceGetMemoryInfo(nvml_device *device, nvml_memory *memory)
{
    CUdevice found;
    size_t bytes = 0;
    nvml_result result = memory ? find(device, &found) : NVML_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS && driver.cuDeviceTotalMem(&bytes, found) != CUDA_SUCCESS)
        result = NVML_NOT_FOUND;
    if (result == NVML_SUCCESS)
        *memory = (nvml_memory){.total = bytes, .free = bytes};
    return result;
}

PUBLIC nvml_result nvmlDeviceGetMemoryInfo_v2(nvml_device *device, nvml_memory_v2 *memory)
{
    nvml_memory of;
    nvml_result result = memory ? nvmlDeviceGetMemoryInfo(device, &of) : NVML_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS) {
        memory->total = memory->free = of.total;
        memory->reserved = memory->used = 0;
    }
    return result;
}

PUBLIC nvml_result nvmlDeviceGetCudaComputeCapability(nvml_device *device, int *major, int *minor)
{
    CUdevice found;
    nvml_result result = major && minor ? find(device, &found) : NVML_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS &&
        (driver.cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, found) != CUDA_SUCCESS ||
         driver.cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, found) != CUDA_SUCCESS))
        result = NVML_NOT_FOUND;
    return result;
}

PUBLIC nvml_result nvmlDeviceGetUtilizationRates(nvml_device *device, nvml_utilization *rates)
{
    CUdevice found;
    nvml_result result = rates ? find(device, &found) : NVML_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *rates = (nvml_utilization){0};
    return result;
}

/* The names before they had versions. */
#define OLD(old, name) extern __typeof__(name) old __attribute__((alias(#name), visibility("default")));
OLD(nvmlInit, nvmlInit_v2)
OLD(nvmlDeviceGetCount, nvmlDeviceGetCount_v2)
OLD(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2)
OLD(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2)
