/* context.c - devices and their primary contexts. A thread uses the primary context of its device, unless the program
 * has made another context current through the driver API. */
#include <pthread.h>

#include "runtime.h"

enum { DEVICES_MOST = 64 };

typedef struct primary {
    CUcontext context; /* the primary context, or NULL if the runtime has not retained it */
    unsigned resets;
    unsigned flags;
    bool has_flags;
} primary;

static primary primaries[DEVICES_MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct {
    int device;
    CUcontext context; /* the context that the runtime has made current in this thread */
    unsigned resets;
} thread;

cudaError_t kiln__rt_device(int ordinal, CUdevice *device)
{
    int count = 0;
    cudaError_t error = kiln__rt_load();
    if (error == cudaSuccess)
        error = (cudaError_t)CU(cuDeviceGetCount)(&count);
    if (error != cudaSuccess)
        return error;
    if (ordinal < 0 || ordinal >= count || ordinal >= DEVICES_MOST)
        return count == 0 ? cudaErrorNoDevice : cudaErrorInvalidDevice;
    return (cudaError_t)CU(cuDeviceGet)(device, ordinal);
}

int kiln__rt_attribute(CUdevice device, CUdevice_attribute attribute)
{
    int value = 0;
    return CU(cuDeviceGetAttribute)(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

static cudaError_t use(int ordinal)
{
    CUdevice device;
    cudaError_t error = kiln__rt_device(ordinal, &device);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    primary *p = &primaries[ordinal];
    if (!p->context) {
        if (p->has_flags)
            CU(cuDevicePrimaryCtxSetFlags)(device, p->flags);
        error = (cudaError_t)CU(cuDevicePrimaryCtxRetain)(&p->context, device);
    }
    thread.context = p->context;
    thread.resets = p->resets;
    pthread_mutex_unlock(&lock);
    return error == cudaSuccess ? (cudaError_t)CU(cuCtxSetCurrent)(thread.context) : error;
}

/* Returns true if another thread has reset the device since this thread made its context current. */
static bool is_stale(CUcontext current)
{
    if (current != thread.context)
        return false;
    pthread_mutex_lock(&lock);
    bool stale = primaries[thread.device].resets != thread.resets;
    pthread_mutex_unlock(&lock);
    return stale;
}

cudaError_t kiln__rt_enter(void)
{
    CUcontext current = NULL;
    cudaError_t error = kiln__rt_load();
    if (error != cudaSuccess)
        return error;
    CUresult result = CU(cuCtxGetCurrent)(&current);
    if (result != CUDA_SUCCESS)
        return (cudaError_t)result;
    return current && !is_stale(current) ? cudaSuccess : use(thread.device);
}

cudaError_t kiln__rt_ordinal(int *ordinal)
{
    CUcontext current = NULL;
    CUdevice device, other;
    cudaError_t error = kiln__rt_load();
    if (error != cudaSuccess)
        return error;
    *ordinal = thread.device;
    if (CU(cuCtxGetCurrent)(&current) != CUDA_SUCCESS || !current || CU(cuCtxGetDevice)(&device) != CUDA_SUCCESS)
        return cudaSuccess;
    for (int i = 0; kiln__rt_device(i, &other) == cudaSuccess; i++)
        if (other == device) {
            *ordinal = i;
            break;
        }
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    RT_NEED(count);
    *count = 0;
    cudaError_t error = kiln__rt_load();
    if (error == cudaSuccess)
        error = (cudaError_t)CU(cuDeviceGetCount)(count);
    return kiln__rt_record(error == cudaSuccess && *count == 0 ? cudaErrorNoDevice : error);
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = use(device);
    if (error == cudaSuccess)
        thread.device = device;
    return kiln__rt_record(error);
}

cudaError_t cudaGetDevice(int *device)
{
    RT_NEED(device);
    return kiln__rt_record(kiln__rt_ordinal(device));
}

cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
    CUcontext before = NULL;
    if (flags & ~(unsigned)cudaInitDeviceFlagsAreValid)
        return kiln__rt_record(cudaErrorInvalidValue);
    cudaError_t error = kiln__rt_load();
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    CU(cuCtxGetCurrent)(&before);
    if (flags && device >= 0 && device < DEVICES_MOST) {
        pthread_mutex_lock(&lock);
        primaries[device].flags = device_flags;
        primaries[device].has_flags = true;
        pthread_mutex_unlock(&lock);
    }
    error = use(device);
    if (device != thread.device) {
        CU(cuCtxSetCurrent)(before);
        thread.context = NULL;
    }
    return kiln__rt_record(error);
}

/* `devices` is the order in which a thread tries devices. The function takes the first of them. */
cudaError_t cudaSetValidDevices(int *devices, int count)
{
    RT_NEED(count >= 0 && (devices || count == 0));
    return count > 0 ? cudaSetDevice(devices[0]) : cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    int ordinal;
    CUdevice device;
    cudaError_t error = kiln__rt_ordinal(&ordinal);
    if (error == cudaSuccess)
        error = kiln__rt_device(ordinal, &device);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    /* this flag has no effect, because host memory is always mapped into the single address space */
    flags &= ~(unsigned)cudaDeviceMapHost;
    pthread_mutex_lock(&lock);
    primaries[ordinal].flags = flags;
    primaries[ordinal].has_flags = true;
    pthread_mutex_unlock(&lock);
    return kiln__rt_result(CU(cuDevicePrimaryCtxSetFlags)(device, flags));
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    RT_NEED(flags);
    RT_ENTER();
    CUresult result = CU(cuCtxGetFlags)(flags);
    *flags |= cudaDeviceMapHost;
    return kiln__rt_result(result);
}

cudaError_t cudaDeviceReset(void)
{
    int ordinal;
    CUdevice device;
    cudaError_t error = kiln__rt_ordinal(&ordinal);
    if (error == cudaSuccess)
        error = kiln__rt_device(ordinal, &device);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    pthread_mutex_lock(&lock);
    primary *p = &primaries[ordinal];
    if (p->context) {
        kiln__rt_unload(p->context);
        error = (cudaError_t)CU(cuDevicePrimaryCtxReset)(device);
        CU(cuCtxSetCurrent)(NULL);
        p->context = NULL;
        p->resets++;
    }
    pthread_mutex_unlock(&lock);
    kiln__rt_forget();
    return kiln__rt_record(error);
}

cudaError_t kiln__rt_primary(int ordinal, CUcontext *context)
{
    CUdevice device;
    cudaError_t error = kiln__rt_device(ordinal, &device);
    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    primary *p = &primaries[ordinal];
    if (!p->context && p->has_flags)
        CU(cuDevicePrimaryCtxSetFlags)(device, p->flags);
    if (!p->context)
        error = (cudaError_t)CU(cuDevicePrimaryCtxRetain)(&p->context, device);
    *context = p->context;
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    CUcontext context = NULL;
    RT_ENTER();
    cudaError_t error = kiln__rt_primary(peer, &context);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    CUresult result = CU(cuCtxEnablePeerAccess)(context, flags);
    /* INVALID_CONTEXT means that the peer is the device itself */
    return kiln__rt_result(result == CUDA_ERROR_INVALID_CONTEXT ? CUDA_ERROR_INVALID_DEVICE : result);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    CUdevice device;
    cudaError_t error = kiln__rt_device(peer, &device);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    RT_ENTER();
    pthread_mutex_lock(&lock);
    CUcontext context = primaries[peer].context;
    pthread_mutex_unlock(&lock);
    return context ? kiln__rt_result(CU(cuCtxDisablePeerAccess)(context))
                   : kiln__rt_record(cudaErrorPeerAccessNotEnabled);
}
