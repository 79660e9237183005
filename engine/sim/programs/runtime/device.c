/* device.c - queries of a device: properties, attributes, PCI bus ids. */
#include <string.h>

#include "properties.h"
#include "runtime.h"

RT_PROPERTIES(kiln__rt_fill13, struct cudaDeviceProp)

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *to, int ordinal)
{
    CUdevice device;
    RT_NEED(to);
    cudaError_t error = kiln__rt_device(ordinal, &device);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    kiln__rt_fill13(to, device);
    to->deviceNumaConfig = kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_NUMA_CONFIG);
    to->deviceNumaId = kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_NUMA_ID);
    to->mpsEnabled = kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_MPS_ENABLED);
    to->hostNumaId = kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID);
    to->gpuPciDeviceID = (unsigned)kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID);
    to->gpuPciSubsystemID = (unsigned)kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID);
    to->hostNumaMultinodeIpcSupported = kiln__rt_attribute(device,
                                                           CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED);
    return cudaSuccess;
}

/* The runtime and the driver use the same numbers for attributes. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int ordinal)
{
    CUdevice device;
    RT_NEED(value);
    cudaError_t error = kiln__rt_device(ordinal, &device);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    return kiln__rt_result(CU(cuDeviceGetAttribute)(value, (CUdevice_attribute)attribute, device));
}

/* Returns the first device with the wanted compute capability, or device 0 if no device has it. The function ignores
 * all other properties. */
cudaError_t cudaChooseDevice(int *ordinal, const struct cudaDeviceProp *wanted)
{
    CUdevice device;
    RT_NEED(ordinal && wanted);
    *ordinal = 0;
    for (int i = 0; kiln__rt_device(i, &device) == cudaSuccess; i++)
        if (kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == wanted->major &&
            kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) == wanted->minor) {
            *ordinal = i;
            break;
        }
    return kiln__rt_record(kiln__rt_device(*ordinal, &device));
}

cudaError_t cudaDeviceGetByPCIBusId(int *ordinal, const char *id)
{
    CUdevice device, other;
    RT_NEED(ordinal && id);
    cudaError_t error = kiln__rt_load();
    if (error == cudaSuccess)
        error = (cudaError_t)CU(cuDeviceGetByPCIBusId)(&device, id);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    for (int i = 0; kiln__rt_device(i, &other) == cudaSuccess; i++)
        if (other == device) {
            *ordinal = i;
            return cudaSuccess;
        }
    return kiln__rt_record(cudaErrorInvalidDevice);
}

/* Defines a function of the runtime that converts its device number to the driver's device, and calls a function of the
 * driver. OF_TWO does the same for two devices. */
#define OF_DEVICE(name, declared, function, ...)                                                                       \
    cudaError_t name declared                                                                                          \
    {                                                                                                                  \
        CUdevice of;                                                                                                   \
        cudaError_t error = kiln__rt_device(device, &of);                                                              \
        return error != cudaSuccess ? kiln__rt_record(error) : kiln__rt_result(CU(function)(__VA_ARGS__));             \
    }
/* Defines a function of the runtime that first gets the primary context of a device, and then calls a function of the
 * driver. */
#define OF_CONTEXT(name, declared, function, ...)                                                                      \
    cudaError_t name declared                                                                                          \
    {                                                                                                                  \
        CUdevice of;                                                                                                   \
        CUcontext context;                                                                                             \
        cudaError_t error = kiln__rt_device(device, &of);                                                              \
        if (error == cudaSuccess)                                                                                      \
            error = kiln__rt_primary(device, &context);                                                                \
        return error != cudaSuccess ? kiln__rt_record(error) : kiln__rt_result(CU(function)(__VA_ARGS__));             \
    }
#define OF_TWO(name, declared, function, ...)                                                                          \
    cudaError_t name declared                                                                                          \
    {                                                                                                                  \
        CUdevice of, to;                                                                                               \
        cudaError_t error = kiln__rt_device(device, &of);                                                              \
        if (error == cudaSuccess)                                                                                      \
            error = kiln__rt_device(peer, &to);                                                                        \
        return error != cudaSuccess ? kiln__rt_record(error) : kiln__rt_result(CU(function)(__VA_ARGS__));             \
    }
OF_DEVICE(cudaDeviceGetPCIBusId, (char *id, int length, int device), cuDeviceGetPCIBusId, id, length, of)
OF_CONTEXT(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), cuDeviceGetDefaultMemPool, pool, of)
OF_CONTEXT(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device), cuDeviceGetMemPool, pool, of)
OF_CONTEXT(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), cuDeviceSetMemPool, of, pool)
OF_DEVICE(cudaDeviceGraphMemTrim, (int device), cuDeviceGraphMemTrim, of)
OF_DEVICE(cudaDeviceGetGraphMemAttribute, (int device, enum cudaGraphMemAttributeType attribute, void *value),
          cuDeviceGetGraphMemAttribute, of, (CUgraphMem_attribute)attribute, value)
OF_DEVICE(cudaDeviceSetGraphMemAttribute, (int device, enum cudaGraphMemAttributeType attribute, void *value),
          cuDeviceSetGraphMemAttribute, of, (CUgraphMem_attribute)attribute, value)
OF_DEVICE(cudaDeviceGetNvSciSyncAttributes, (void *list, int device, int flags), cuDeviceGetNvSciSyncAttributes, list,
          of, flags)
OF_TWO(cudaDeviceCanAccessPeer, (int *can, int device, int peer), cuDeviceCanAccessPeer, can, of, to)
OF_TWO(cudaDeviceGetP2PAttribute, (int *value, enum cudaDeviceP2PAttr attribute, int device, int peer),
       cuDeviceGetP2PAttribute, value, (CUdevice_P2PAttribute)attribute, of, to)

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const struct cudaChannelFormatDesc *desc, int ordinal)
{
    CUdevice device;
    CUarray_format format;
    unsigned channels;
    RT_NEED(width && desc);
    cudaError_t error = kiln__rt_device(ordinal, &device);
    if (error == cudaSuccess)
        error = kiln__rt_format(desc, &format, &channels);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    return kiln__rt_result(CU(cuDeviceGetTexture1DLinearMaxWidth)(width, format, channels, device));
}

cudaError_t cudaDriverGetVersion(int *version)
{
    RT_NEED(version);
    *version = 0; /* it is not an error if there is no driver */
    if (kiln__rt_load() == cudaErrorInsufficientDriver)
        return cudaSuccess;
    return kiln__rt_result(CU(cuDriverGetVersion)(version));
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    RT_NEED(version);
    *version = RT_VERSION == 12 ? 12090 : CUDART_VERSION;
    return cudaSuccess;
}
