/* query.c - reads the properties of a device, and makes errors from the results of the driver. */
#include <stdio.h>
#include <string.h>

#include "driver.h"

bool kiln__driver_is_sticky(CUresult result)
{
    switch ((int)result) {
    case 226: /* CUDA_ERROR_CONTAINED, which exists since CUDA 12.8 */
    case 721: /* CUDA_ERROR_TENSOR_MEMORY_LEAK, which exists since CUDA 13.0 */
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN: return true;
    default: return false;
    }
}

static kiln_status status_of(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY: return KILN_ERROR_DEVICE_MEMORY;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    case CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION: return KILN_ERROR_LAUNCH;
    case CUDA_ERROR_NO_DEVICE: return KILN_ERROR_NO_DEVICE;
    case CUDA_ERROR_NOT_SUPPORTED: return KILN_ERROR_UNSUPPORTED;
    default: return KILN_ERROR_DEVICE;
    }
}

kiln_status(kiln__driver_fail)(const kiln__driver *driver, const kiln_allocator *mem, CUresult result,
                               kiln_error **error, const char *what, ...)
{
    const char *name = NULL, *string = NULL;
    if (driver->cuGetErrorName_(result, &name) != CUDA_SUCCESS || !name)
        name = "an error without a name";
    if (driver->cuGetErrorString_(result, &string) != CUDA_SUCCESS || !string)
        string = "no description";
    kiln__text text = {.mem = mem};
    va_list arguments;
    va_start(arguments, what);
    kiln__text_vprintf(&text, what, arguments);
    va_end(arguments);
    kiln__text_printf(&text, ": %s (%s)", name, string);
    const char *fault = driver->simulator && kiln__driver_is_sticky(result) ? driver->simulator->last_fault() : "";
    if (*fault)
        kiln__text_printf(&text, ": %s", fault);
    kiln_status status = text.failed
                             ? kiln__fail_memory(error)
                             : kiln__fail_cuda(mem, error, status_of(result), (int)result, "%s", kiln__text_get(&text));
    kiln__text_free(&text);
    return status;
}

/* Stores the first error in *wrong. Does not store an error by which a driver tells that it does not know an attribute.
 * Returns true if `result` is CUDA_SUCCESS. */
static bool keep_error(CUresult result, CUresult *wrong)
{
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE && result != CUDA_ERROR_NOT_SUPPORTED &&
        *wrong == CUDA_SUCCESS)
        *wrong = result;
    return result == CUDA_SUCCESS;
}

static int attribute(const kiln__driver *driver, CUdevice device, CUdevice_attribute which, CUresult *wrong)
{
    int value = 0;
    return keep_error(driver->cuDeviceGetAttribute_(&value, which, device), wrong) ? value : 0;
}

static uint64_t bytes_attribute(const kiln__driver *driver, CUdevice device, CUdevice_attribute which, CUresult *wrong)
{
    int value = attribute(driver, device, which, wrong);
    return value > 0 ? (uint64_t)value : 0;
}

bool kiln__driver_uuid(const kiln__driver *driver, CUdevice device, char text[KILN__UUID_TEXT])
{
    CUuuid uuid;
    *text = '\0';
    if (driver->simulator || !driver->cuDeviceGetUuid_ || driver->cuDeviceGetUuid_(&uuid, device) != CUDA_SUCCESS)
        return false;
    size_t at = (size_t)snprintf(text, KILN__UUID_TEXT, "GPU-");
    for (size_t i = 0; i < sizeof uuid.bytes; i++)
        at += (size_t)snprintf(text + at, KILN__UUID_TEXT - at, "%s%02x",
                               i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)uuid.bytes[i]);
    return true;
}

bool kiln__driver_place(const kiln__driver *driver, CUdevice device, char text[KILN__PCI_TEXT])
{
    CUresult wrong = CUDA_SUCCESS;
    int domain = attribute(driver, device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, &wrong);
    int bus = attribute(driver, device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, &wrong);
    int unit = attribute(driver, device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, &wrong);
    snprintf(text, KILN__PCI_TEXT, "%04x:%02x:%02x.0", (unsigned)domain, (unsigned)bus, (unsigned)unit);
    return wrong == CUDA_SUCCESS;
}

/* Returns the features of a GPU, which follow from its compute capability and attributes. For the simulated device it
 * returns the features that it can execute. */
static unsigned features_of(const kiln__driver *driver, CUdevice device, const kiln_device_info *info)
{
    const int cc = 10 * info->cc_major + info->cc_minor;
    const kiln__simulator *sim = driver->simulator;
    CUresult unknown = CUDA_SUCCESS; /* an older driver does not know this attribute */
    unsigned found = 0;
    if (cc >= 80)
        found |= KILN_FEATURE_ASYNC_COPY;
    if (cc >= 89)
        found |= KILN_FEATURE_FP8;
    if (attribute(driver, device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, &unknown))
        found |= KILN_FEATURE_CLUSTERS;
    if (driver->cuTensorMapEncodeTiled_ &&
        attribute(driver, device, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, &unknown))
        found |= KILN_FEATURE_TMA;
    if (cc == 90 && (!sim || sim->runs("wgmma.mma_async")))
        found |= KILN_FEATURE_WGMMA;
    if (cc >= 100 && cc < 120 && (!sim || sim->runs("tcgen05.mma")))
        found |= KILN_FEATURE_TCGEN05;
    return found;
}

/* Takes the peak rates of the units from the device profile. A negative rate means that the profile lacks the rate. */
static void simulated_peaks(const kiln__simulator *simulator, CUdevice device, kiln_device_info *info)
{
    for (unsigned unit = KILN_UNIT_FP32; unit < KILN__COUNT(info->unit_flops); unit++) {
        double fma = simulator->unit_rate((size_t)device, unit);
        if (fma >= 0)
            info->unit_flops[unit] = 2 * fma * info->sm_count * info->clock_hz;
    }
    info->peak_flops = info->unit_flops[KILN_UNIT_FP32];
}

CUresult kiln__driver_device_info(const kiln__driver *driver, CUdevice device, kiln_device_info *info)
{
    CUresult wrong = CUDA_SUCCESS;
    memset(info, 0, sizeof *info);
    size_t memory = 0;
    if (!keep_error(driver->cuDeviceGetName_(info->name, (int)sizeof info->name, device), &wrong))
        snprintf(info->name, sizeof info->name, "unknown");
    info->name[sizeof info->name - 1] = '\0';
    if (driver->simulator)
        snprintf(info->id, sizeof info->id, "sim:%s", driver->simulator->profile_at((size_t)device));
    else
        snprintf(info->id, sizeof info->id, "cuda:%d", device);
    info->simulated = driver->simulator != NULL;
    info->cc_major = attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &wrong);
    info->cc_minor = attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &wrong);
    info->sm_count = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &wrong);
    info->warp_size = attribute(driver, device, CU_DEVICE_ATTRIBUTE_WARP_SIZE, &wrong);
    info->max_threads_per_block = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &wrong);
    info->max_threads_per_sm = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &wrong);
    info->registers_per_block = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &wrong);
    info->registers_per_sm = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &wrong);
    info->shared_per_block = bytes_attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &wrong);
    info->shared_per_block_optin = bytes_attribute(driver, device,
                                                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &wrong);
    info->shared_per_sm = bytes_attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
                                          &wrong);
    info->l2_bytes = bytes_attribute(driver, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &wrong);
    if (keep_error(driver->cuDeviceTotalMem_(&memory, device), &wrong))
        info->memory_bytes = memory;
    info->clock_hz = 1e3 * attribute(driver, device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &wrong);
    info->memory_clock_hz = 1e3 * attribute(driver, device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &wrong);
    info->memory_bus_bits = attribute(driver, device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &wrong);
    kiln__peaks_set(info);
    if (driver->simulator)
        simulated_peaks(driver->simulator, device, info);
    /* 2.0, because memory makes two transfers per clock */
    info->peak_bandwidth = 2.0 * info->memory_clock_hz * info->memory_bus_bits / 8.0;
    info->features = features_of(driver, device, info);
    info->driver_version = driver->simulator ? 0 : driver->version;
    return wrong;
}
