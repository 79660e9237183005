/* nvml.c - libnvidia-ml.so.1, for programs that search for devices with NVML. The library gives the number, names,
 * memory and versions of the devices of the simulated libcuda.so.1. Like NVIDIA's library, it also shows the devices
 * that $CUDA_VISIBLE_DEVICES hides. It has no measured values: clocks, power and processes are missing. */
#include "nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "device.h"

#define PUBLIC __attribute__((visibility("default")))
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
static const char nvml_version[] = "13.580.00", driver_version[] = "580.00"; /* the versions that belong to CUDA 13.0 */

static __typeof__(kiln_sim_device_at) *device_at;
static __typeof__(cuDriverGetVersion) *get_version;

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found;
    if (!library)
        return;
    found = dlsym(library, TEXT(cuDriverGetVersion));
    memcpy(&get_version, &found, sizeof found);
    found = dlsym(library, TEXT(kiln_sim_device_at));
    memcpy(&device_at, &found, sizeof found);
}

static nvml_result check_ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    kiln_sim_device first;
    pthread_once(&once, load);
    return device_at && get_version && device_at(0, &first) ? NVML_SUCCESS : NVML_DRIVER_NOT_LOADED;
}

/* Finds the device to which a handle belongs. A handle is the device's number + 1. */
static nvml_result find(const nvml_device *device, kiln_sim_device *to)
{
    uintptr_t number = (uintptr_t)device;
    nvml_result result = check_ready();
    if (result != NVML_SUCCESS)
        return result;
    return number > 0 && number <= UINT_MAX && device_at((unsigned)number - 1, to) ? NVML_SUCCESS
                                                                                   : NVML_INVALID_ARGUMENT;
}

static nvml_result copy_text(char *to, unsigned length, const char *text)
{
    if (!to)
        return NVML_INVALID_ARGUMENT;
    if (strlen(text) >= length)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(to, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

PUBLIC nvml_result nvmlInit_v2(void) { return check_ready(); }

PUBLIC nvml_result nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return check_ready();
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

PUBLIC nvml_result nvmlSystemGetDriverVersion(char *to, unsigned length)
{
    return copy_text(to, length, driver_version);
}

PUBLIC nvml_result nvmlSystemGetNVMLVersion(char *to, unsigned length) { return copy_text(to, length, nvml_version); }

PUBLIC nvml_result nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    nvml_result result = check_ready();
    if (result != NVML_SUCCESS || !version)
        return result != NVML_SUCCESS ? result : NVML_INVALID_ARGUMENT;
    return get_version(version) == CUDA_SUCCESS ? NVML_SUCCESS : NVML_NOT_FOUND;
}

PUBLIC nvml_result nvmlDeviceGetCount_v2(unsigned *count)
{
    kiln_sim_device found;
    nvml_result result = check_ready();
    if (result != NVML_SUCCESS || !count)
        return result != NVML_SUCCESS ? result : NVML_INVALID_ARGUMENT;
    for (*count = 0; device_at(*count, &found);)
        ++*count;
    return NVML_SUCCESS;
}

PUBLIC nvml_result nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device **device)
{
    kiln_sim_device found;
    nvml_device *handle = (nvml_device *)((uintptr_t)index + 1); /* NOLINT(performance-no-int-to-ptr) */
    nvml_result result = device ? find(handle, &found) : NVML_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *device = handle;
    return result;
}

PUBLIC nvml_result nvmlDeviceGetIndex(nvml_device *device, unsigned *index)
{
    kiln_sim_device found;
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
    kiln_sim_device found;
    nvml_result result = find(device, &found);
    return result == NVML_SUCCESS ? copy_text(to, length, found.name) : result;
}

PUBLIC nvml_result nvmlDeviceGetUUID(nvml_device *device, char *to, unsigned length)
{
    kiln_sim_device found;
    char text[48];
    nvml_result result = find(device, &found);
    if (result != NVML_SUCCESS)
        return result;
    int used = snprintf(text, sizeof text, "GPU");
    for (int i = 0; i < 16; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%02x",
                         i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                         (unsigned char)found.uuid.bytes[i]);
    return copy_text(to, length, text);
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

/* The function reports all memory as free, because each process has its own simulated device, and takes no memory from
 * another process. */
PUBLIC nvml_result nvmlDeviceGetMemoryInfo(nvml_device *device, nvml_memory *memory)
{
    kiln_sim_device found;
    nvml_result result = memory ? find(device, &found) : NVML_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *memory = (nvml_memory){.total = found.memory, .free = found.memory};
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
    kiln_sim_device found;
    nvml_result result = major && minor ? find(device, &found) : NVML_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS) {
        *major = found.major;
        *minor = found.minor;
    }
    return result;
}

PUBLIC nvml_result nvmlDeviceGetPciInfo_v3(nvml_device *device, nvml_pci *pci)
{
    kiln_sim_device found;
    nvml_result result = pci ? find(device, &found) : NVML_INVALID_ARGUMENT;
    if (result != NVML_SUCCESS)
        return result;
    const uint8_t bus = (uint8_t)((uintptr_t)device - 1); /* there are far fewer than 256 devices */
    *pci = (nvml_pci){.bus = bus};
    snprintf(pci->id_short, sizeof pci->id_short, "0000:%02X:00.0", bus);
    snprintf(pci->id, sizeof pci->id, "00000000:%02X:00.0", bus);
    return NVML_SUCCESS;
}

PUBLIC nvml_result nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvml_device **device)
{
    unsigned domain, bus, unit;
    if (!id || !device)
        return NVML_INVALID_ARGUMENT;
    if (sscanf(id, "%x:%x:%x", &domain, &bus, &unit) != 3) {
        domain = 0;
        if (sscanf(id, "%x:%x", &bus, &unit) != 2)
            return NVML_INVALID_ARGUMENT;
    }
    nvml_result result = domain || unit ? NVML_NOT_FOUND : nvmlDeviceGetHandleByIndex_v2(bus, device);
    return result == NVML_INVALID_ARGUMENT ? NVML_NOT_FOUND : result;
}

PUBLIC nvml_result nvmlDeviceGetUtilizationRates(nvml_device *device, nvml_utilization *rates)
{
    kiln_sim_device found;
    nvml_result result = rates ? find(device, &found) : NVML_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *rates = (nvml_utilization){0};
    return result;
}

/* The older names of functions, which have no version suffix. */
#define OLD(old, name) extern __typeof__(name) old __attribute__((alias(#name), visibility("default")));
OLD(nvmlInit, nvmlInit_v2)
OLD(nvmlDeviceGetCount, nvmlDeviceGetCount_v2)
OLD(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2)
OLD(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2)
OLD(nvmlDeviceGetPciInfo_v2, nvmlDeviceGetPciInfo_v3)
OLD(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2)
