/* nvml.h - declares the functions of NVML that nvml.c implements, in the same way as NVIDIA's header. So the build
 * needs no toolkit. */
#ifndef KILN_SIM_LIBRARY_NVML_H
#define KILN_SIM_LIBRARY_NVML_H

typedef enum nvml_result {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9
} nvml_result;
typedef struct nvml_device nvml_device;
typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;
typedef struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
} nvml_memory_v2;
typedef struct nvml_utilization {
    unsigned gpu, memory;
} nvml_utilization;
typedef struct nvml_pci {
    char id_short[16]; /* bus id with 4 digits for the domain */
    unsigned domain, bus, device, device_id, subsystem;
    char id[32];
} nvml_pci;

nvml_result nvmlInit_v2(void);
nvml_result nvmlInitWithFlags(unsigned flags);
nvml_result nvmlShutdown(void);
const char *nvmlErrorString(nvml_result result);
nvml_result nvmlSystemGetDriverVersion(char *to, unsigned length);
nvml_result nvmlSystemGetNVMLVersion(char *to, unsigned length);
nvml_result nvmlSystemGetCudaDriverVersion_v2(int *version);
nvml_result nvmlDeviceGetCount_v2(unsigned *count);
nvml_result nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device **device);
nvml_result nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device **device);
nvml_result nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvml_device **device);
nvml_result nvmlDeviceGetPciInfo_v3(nvml_device *device, nvml_pci *pci);
nvml_result nvmlDeviceGetIndex(nvml_device *device, unsigned *index);
nvml_result nvmlDeviceGetMinorNumber(nvml_device *device, unsigned *number);
nvml_result nvmlDeviceGetName(nvml_device *device, char *to, unsigned length);
nvml_result nvmlDeviceGetUUID(nvml_device *device, char *to, unsigned length);
nvml_result nvmlDeviceGetMemoryInfo(nvml_device *device, nvml_memory *memory);
nvml_result nvmlDeviceGetMemoryInfo_v2(nvml_device *device, nvml_memory_v2 *memory);
nvml_result nvmlDeviceGetCudaComputeCapability(nvml_device *device, int *major, int *minor);
nvml_result nvmlDeviceGetUtilizationRates(nvml_device *device, nvml_utilization *rates);
#endif
