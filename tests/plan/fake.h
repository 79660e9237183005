/* fake.h - a driver whose device memory is host memory and whose kernels are C functions. So tests see the actions
 * of plans without a compiler and without a device. A kernel runs when it is launched, and events advance by a fixed
 * amount. */
#ifndef KILN_TESTS_PLAN_FAKE_H
#define KILN_TESTS_PLAN_FAKE_H

#include <math.h>
#include <pthread.h>
#include <time.h>

#include "check.h"
#include "plan_internal.h"

typedef struct fake_kernel {
    const char *name;
    void (*run)(void **args, const unsigned *grid, const unsigned *block);
} fake_kernel;

/* The state of the fake driver belongs to the process, as in a real driver. */
static struct {
    long blocks;           /* live allocations */
    long allocations;      /* number of allocations since the start */
    uint64_t bytes, limit; /* used bytes and all bytes of the device memory */
    _Atomic long launches, copies, sets;
    int fail_launch;  /* the result of every launch, if not 0 */
    int shared_limit; /* the value that cuFuncSetAttribute has set */
    double clock;     /* milliseconds */
    /* if true, queries answer that the device is not done, and a wait without a limit never ends */
    _Atomic int busy;
    void (*queried)(void); /* queries call this function, unless it is NULL */
    long nap;              /* microseconds of the host's time that a launch takes */
    pthread_mutex_t lock;
} fake = {.limit = 1 << 26, .lock = PTHREAD_MUTEX_INITIALIZER};
static float fake_symbol[8];
static _Thread_local CUcontext fake_current;

#define FAKE_ARG(type, i) (*(type *)args[i])
static float *fake_floats(void *arg) { return (float *)(uintptr_t) * (CUdeviceptr *)arg; }
static int32_t *fake_ints(void *arg) { return (int32_t *)(uintptr_t) * (CUdeviceptr *)arg; }

/* y = x + 1, for as many elements as the grid has threads */
static void fake_add_one(void **args, const unsigned *grid, const unsigned *block)
{
    int32_t n = FAKE_ARG(int32_t, 2);
    for (int32_t i = 0; i < n && i < (int32_t)(grid[0] * block[0]); i++)
        fake_floats(args[1])[i] = fake_floats(args[0])[i] + 1;
}
static void fake_add_two(void **args, const unsigned *grid, const unsigned *block)
{
    (void)grid, (void)block;
    for (int32_t i = 0; i < FAKE_ARG(int32_t, 2); i++)
        fake_floats(args[1])[i] = fake_floats(args[0])[i] + (i == 3 ? 2 : 1);
}
static void fake_scale(void **args, const unsigned *grid, const unsigned *block)
{
    (void)grid, (void)block;
    for (int32_t i = 0; i < FAKE_ARG(int32_t, 1); i++)
        fake_floats(args[0])[i] *= FAKE_ARG(float, 2);
}
static void fake_count_down(void **args, const unsigned *grid, const unsigned *block)
{
    (void)grid, (void)block;
    fake_ints(args[0])[0]--;
    fake_ints(args[1])[0]++;
}
static void fake_symbol_out(void **args, const unsigned *grid, const unsigned *block)
{
    (void)grid, (void)block;
    for (int i = 0; i < 4; i++)
        fake_floats(args[0])[i] = fake_symbol[i];
}
/* y[i] = the sum of the i-th elements behind all pointers of the list, which is one structure */
typedef struct fake_list {
    CUdeviceptr *items;
    int16_t count;
    float add;
} fake_list;
static void fake_gather(void **args, const unsigned *grid, const unsigned *block)
{
    (void)block;
    const fake_list *list = args[0];
    for (unsigned i = 0; i < grid[0]; i++) {
        float sum = list->add;
        for (int k = 0; k < list->count; k++)
            sum += list->items[k] ? ((const float *)(uintptr_t)list->items[k])[i] : 0;
        fake_floats(args[1])[i] = sum;
    }
}
/* A kernel that takes a tensor map. The test's cuTensorMapEncode* writes 0x5a everywhere. */
static void fake_mapped(void **args, const unsigned *grid, const unsigned *block)
{
    (void)grid, (void)block;
    for (int i = 0; i < 128; i++)
        CHECK(((const unsigned char *)args[0])[i] == 0x5a);
}
static void fake_nothing(void **args, const unsigned *grid, const unsigned *block)
{
    (void)args, (void)grid, (void)block;
}

static const fake_kernel fake_kernels[] = {
    {"add_one", fake_add_one},       {"add_two", fake_add_two},       {"scale", fake_scale},
    {"count_down", fake_count_down}, {"symbol_out", fake_symbol_out}, {"nothing", fake_nothing},
    {"gather", fake_gather},         {"mapped", fake_mapped},
};
static const char fake_ptx[] =
    ".version 9.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry add_one(\n\t.param .u64 .ptr .align 1 add_one_param_0,\n\t.param .u64 add_one_param_1,\n"
    "\t.param .u32 add_one_param_2\n)\n{\n ld.param.u64 %rd1, [add_one_param_1];\n cvta.to.global.u64 %rd2, %rd1;\n"
    " ret;\n}\n"
    ".visible .entry add_two(.param .u64 a, .param .u64 b, .param .u32 c)\n{ ret; }\n"
    ".visible .entry scale(.param .u64 a, .param .u32 n, .param .f32 s)\n{ ret; }\n"
    ".visible .entry count_down(.param .u64 a, .param .u64 b)\n{ ret; }\n"
    ".visible .entry symbol_out(.param .u64 a)\n{ ret; }\n"
    ".visible .entry gather(.param .align 8 .b8 a[16], .param .u64 b)\n{ ret; }\n"
    ".visible .entry mapped(.param .align 64 .b8 a[128], .param .u64 b)\n{ ret; }\n"
    ".visible .entry nothing()\n{ ret; }\n";
static const char fake_lowered[] =
    "add_one\0add_one\0add_two\0add_two\0scale\0scale\0count_down\0count_down\0"
    "symbol_out\0symbol_out\0gather\0gather\0mapped\0mapped\0nothing\0nothing\0missing\0missing";

static CUresult CUDAAPI fake_cuCtxGetCurrent(CUcontext *context)
{
    *context = fake_current;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuCtxPushCurrent(CUcontext context)
{
    fake_current = context;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuCtxPopCurrent(CUcontext *context)
{
    *context = fake_current;
    fake_current = NULL;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuCtxSynchronize(void) { return CUDA_SUCCESS; }
static CUresult CUDAAPI fake_cuStreamSynchronize(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuStreamQuery(CUstream stream)
{
    (void)stream;
    if (fake.queried)
        fake.queried();
    return fake.busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuEventQuery(CUevent event)
{
    (void)event;
    return fake_cuStreamQuery(NULL);
}
static CUresult CUDAAPI fake_cuGetErrorName(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuGetErrorString(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "a fake error";
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                                                CUjit_option *options, void **values)
{
    if (strstr(image, "broken")) {
        CHECK(count == 2 && options[0] == CU_JIT_ERROR_LOG_BUFFER);
        snprintf(values[0], 100, "line 3: what is that?");
        return CUDA_ERROR_INVALID_PTX;
    }
    *module = malloc(1);
    fake.blocks++;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuModuleUnload(CUmodule module)
{
    free(module);
    fake.blocks--;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    (void)module;
    for (size_t i = 0; i < KILN__COUNT(fake_kernels); i++)
        if (strcmp(fake_kernels[i].name, name) == 0) {
            *function = (CUfunction)(uintptr_t)&fake_kernels[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}
static CUresult CUDAAPI fake_cuModuleGetGlobal(CUdeviceptr *pointer, size_t *bytes, CUmodule module, const char *name)
{
    (void)module;
    if (strcmp(name, "table") != 0)
        return CUDA_ERROR_NOT_FOUND;
    *pointer = (CUdeviceptr)(uintptr_t)fake_symbol;
    *bytes = sizeof fake_symbol;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    (void)function;
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 512 : 0;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)function;
    CHECK(attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    fake.shared_limit = value;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuMemGetInfo(size_t *available, size_t *total)
{
    pthread_mutex_lock(&fake.lock);
    *available = fake.limit - fake.bytes;
    *total = fake.limit;
    pthread_mutex_unlock(&fake.lock);
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&fake.lock);
    if (bytes && bytes <= fake.limit - fake.bytes) {
        uint64_t *block = malloc(bytes + 16);
        block[0] = bytes;
        fake.bytes += bytes;
        fake.blocks++;
        fake.allocations++;
        *pointer = (CUdeviceptr)(uintptr_t)(block + 2);
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&fake.lock);
    return result;
}
static CUresult CUDAAPI fake_cuMemFree(CUdeviceptr pointer)
{
    uint64_t *block = (uint64_t *)(uintptr_t)pointer - 2;
    pthread_mutex_lock(&fake.lock);
    fake.bytes -= block[0];
    fake.blocks--;
    pthread_mutex_unlock(&fake.lock);
    free(block);
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    fake.copies++;
    return fake_cuMemcpyDtoD(to, from, bytes);
}
static CUresult CUDAAPI fake_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    (void)stream;
    fake.sets++;
    memset((void *)(uintptr_t)to, value, count);
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    (void)stream;
    fake.sets++;
    for (size_t i = 0; i < count; i++)
        ((uint16_t *)(uintptr_t)to)[i] = value;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    (void)stream;
    fake.sets++;
    for (size_t i = 0; i < count; i++)
        ((uint32_t *)(uintptr_t)to)[i] = value;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    *event = (CUevent)calloc(1, sizeof(double));
    fake.blocks++;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuEventDestroy(CUevent event)
{
    free(event);
    fake.blocks--;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuEventRecord(CUevent event, CUstream stream)
{
    (void)stream;
    *(double *)(void *)event = fake.clock;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuEventSynchronize(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    *milliseconds = (float)(*(double *)(void *)end - *(double *)(void *)start);
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI fake_cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                            CUstream stream, void **arguments, void **extra)
{
    (void)shared, (void)stream, (void)extra;
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    pthread_mutex_lock(&fake.lock);
    fake.launches++;
    fake.clock += 0.25 + 0.001 * (double)(fake.launches % 5);
    pthread_mutex_unlock(&fake.lock);
    if (fake.nap)
        nanosleep(&(struct timespec){.tv_nsec = 1000 * fake.nap}, NULL);
    if (fake.fail_launch)
        return (CUresult)fake.fail_launch;
    ((const fake_kernel *)(uintptr_t)function)->run(arguments, grid, block);
    return CUDA_SUCCESS;
}

/* Opens an engine on the fake device. */
static kiln_engine *fake_engine_of(const kiln_allocator *mem, bool simulated)
{
    kiln_engine *engine = NULL;
    kiln_options options = {
        .size = sizeof options, .flags = KILN_NO_CACHE | KILN_NO_WORKERS, .allocator = mem, .device = "sim"};
    if (kiln_engine_open(&options, &engine, NULL) != KILN_OK)
        return NULL;
#define FAKE(name) engine->driver.name##_ = fake_##name;
    FAKE(cuCtxGetCurrent)
    FAKE(cuCtxPushCurrent)
    FAKE(cuCtxPopCurrent)
    FAKE(cuCtxSynchronize)
    FAKE(cuStreamSynchronize)
    FAKE(cuStreamQuery)
    FAKE(cuEventQuery)
    FAKE(cuGetErrorName)
    FAKE(cuGetErrorString)
    FAKE(cuModuleLoadDataEx)
    FAKE(cuModuleUnload)
    FAKE(cuModuleGetFunction)
    FAKE(cuModuleGetGlobal)
    FAKE(cuFuncGetAttribute)
    FAKE(cuFuncSetAttribute)
    FAKE(cuMemGetInfo)
    FAKE(cuMemAlloc)
    FAKE(cuMemFree)
    FAKE(cuMemcpyHtoD)
    FAKE(cuMemcpyDtoH)
    FAKE(cuMemcpyDtoD)
    FAKE(cuMemcpyDtoDAsync)
    FAKE(cuMemsetD8Async)
    FAKE(cuMemsetD16Async)
    FAKE(cuMemsetD32Async)
    FAKE(cuEventCreate)
    FAKE(cuEventDestroy)
    FAKE(cuEventRecord)
    FAKE(cuEventSynchronize)
    FAKE(cuEventElapsedTime)
    FAKE(cuLaunchKernel)
#undef FAKE
    static int context;
    engine->context = (CUcontext)(void *)&context;
    engine->device_open = true;
    engine->arch = 80;
    engine->info = (kiln_device_info){.name = "fake",
                                      .id = "fake:0",
                                      .simulated = simulated,
                                      .max_threads_per_block = 1024,
                                      .shared_per_block = 49152,
                                      .shared_per_block_optin = 99000,
                                      .l2_bytes = 4096,
                                      .warp_size = 32,
                                      .peak_flops = 1e9,
                                      .peak_bandwidth = 1e9};
    engine->device_settings[0] = (kiln_setting){"device.max_threads_per_block", {KILN_INT, {.i = 1024}}};
    engine->device_setting_count = 1;
    return engine;
}

/* Opens a plan of a spec, with the fake code in place of compiled code. */
static kiln_status fake_plan_of(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice, kiln_plan **plan,
                                kiln_error **error)
{
    kiln__config *config;
    kiln__code code = {.unit = {.ptx = fake_ptx,
                                .ptx_length = sizeof fake_ptx - 1,
                                .lowered = fake_lowered,
                                .lowered_length = sizeof fake_lowered}};
    kiln_status status = kiln__config_make(engine, spec, choice, &config, error);
    return status == KILN_OK ? kiln__plan_make(engine, config, &code, plan, error) : status;
}
#endif
