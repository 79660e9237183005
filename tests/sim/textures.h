/* textures.h - shared by the suites of arrays, textures and surfaces: the driver's functions, objects, and runs of one
 * instruction in a few threads. */
#ifndef TEST_TEXTURES_H
#define TEST_TEXTURES_H

#include "check.h"
#include "cu_objects.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define SIM_X(name, since) static __typeof__(name) *call_##name;
SIM_API_MAP(SIM_X)
#undef SIM_X
#define OK(call) CHECK((call) == CUDA_SUCCESS)
#define FAILS(error, call) CU_ASSERT_EQUAL((call), CUDA_ERROR_##error)

static CUdevice device;

static inline void open_device(void)
{
    CUcontext context;
    OK(call_cuInit(0));
    OK(call_cuDeviceGet(&device, 0));
    OK(call_cuDevicePrimaryCtxRetain(&context, device));
    OK(call_cuCtxSetCurrent(context));
}

static inline void close_device(void)
{
    OK(call_cuCtxSetCurrent(NULL));
    OK(call_cuDevicePrimaryCtxRelease(device));
}

/* ---- runs of one instruction ---- */

enum { THREADS_MOST = 32 };
typedef union quad {
    float f[4];
    int32_t i[4];
    uint32_t u[4];
} quad;
typedef struct results {
    quad at[THREADS_MOST];
} results;

/* A thread's input is in %f1 to %f4 as floats, and in %r1 to %r4 as bits. Its output is in %f5 to %f8 or in %r5 to
 * %r8. */
static inline CUresult try_run(const char *instruction, uint64_t object, const quad *in, unsigned count, results *out)
{
    char text[2048];
    const bool bits = strstr(instruction, "%r5") != NULL;
    snprintf(
        text, sizeof text,
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 object, .param .u64 in, .param .u64 out)\n{\n"
        " .reg .b64 %%t, %%in, %%out, %%o, %%d<4>; .reg .f32 %%f<12>; .reg .b32 %%r<12>; .reg .b16 %%h<9>; .reg .pred %%p;\n"
        " ld.param.u64 %%t, [object]; ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out];\n"
        " mov.u32 %%r9, %%tid.x; mul.wide.u32 %%o, %%r9, 16; add.u64 %%in, %%in, %%o; add.u64 %%out, %%out, %%o;\n"
        " ld.global.v4.f32 {%%f1, %%f2, %%f3, %%f4}, [%%in]; ld.global.v4.b32 {%%r1, %%r2, %%r3, %%r4}, [%%in];\n"
        " mov.b32 %%r5, 0; mov.b32 %%r6, 0; mov.b32 %%r7, 0; mov.b32 %%r8, 0; mov.f32 %%f5, 0f00000000;\n"
        " mov.f32 %%f6, 0f00000000; mov.f32 %%f7, 0f00000000; mov.f32 %%f8, 0f00000000;\n"
        " %s\n st.global.v4.b32 [%%out], {%s};\n ret;\n}\n",
        instruction, bits ? "%r5, %r6, %r7, %r8" : "%f5, %f6, %f7, %f8");
    char log[1024] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module = NULL;
    CUfunction function = NULL;
    CUdeviceptr from = 0, to = 0;
    CUresult result = call_cuModuleLoadDataEx(&module, text, 2, options, values);
    if (result != CUDA_SUCCESS)
        fprintf(stderr, "%s: %s\n", instruction, log);
    CU_ASSERT_EQUAL_FATAL(result, CUDA_SUCCESS);
    OK(call_cuModuleGetFunction(&function, module, "k"));
    OK(call_cuMemAlloc(&from, sizeof *out));
    OK(call_cuMemAlloc(&to, sizeof *out));
    OK(call_cuMemcpyHtoD(from, in, count * sizeof *in));
    void *arguments[] = {&object, &from, &to};
    OK(call_cuLaunchKernel(function, 1, 1, 1, count, 1, 1, 0, NULL, arguments, NULL));
    result = call_cuCtxSynchronize();
    if (result != CUDA_SUCCESS)
        return result; /* the context is lost with all its objects */
    OK(call_cuMemcpyDtoH(out, to, count * sizeof *out->at));
    OK(call_cuMemFree(from));
    OK(call_cuMemFree(to));
    OK(call_cuModuleUnload(module));
    return CUDA_SUCCESS;
}

static inline results run(const char *instruction, uint64_t object, const quad *in, unsigned count)
{
    results out = {0};
    OK(try_run(instruction, object, in, count, &out));
    return out;
}

/* Returns the first result for the coordinates x, y, z, w. */
static inline quad one(const char *instruction, uint64_t object, float x, float y, float z, float w)
{
    return run(instruction, object, &(quad){.f = {x, y, z, w}}, 1).at[0];
}

static inline quad one_int(const char *instruction, uint64_t object, int x, int y, int z, int w)
{
    return run(instruction, object, &(quad){.i = {x, y, z, w}}, 1).at[0];
}

static inline void want(quad got, float x, const char *what, int line)
{
    if (!(got.f[0] == x))
        fprintf(stderr, "%s:%d: %s: got %.9g, want %.9g\n", __FILE__, line, what, (double)got.f[0], (double)x);
    CU_ASSERT(got.f[0] == x);
}
#define WANT(got, x) want(got, (float)(x), #got, __LINE__)

/* ---- making objects ---- */

static inline CUarray array_of(size_t width, size_t height, size_t depth, CUarray_format format, unsigned channels,
                               unsigned flags, const void *texels)
{
    const CUDA_ARRAY3D_DESCRIPTOR d = {width, height, depth, format, channels, flags};
    static const struct {
        CUarray_format format;
        unsigned bytes;
    } sizes[] = {{CU_AD_FORMAT_UNSIGNED_INT8, 1}, {CU_AD_FORMAT_SIGNED_INT8, 1}, {CU_AD_FORMAT_UNSIGNED_INT16, 2},
                 {CU_AD_FORMAT_SIGNED_INT16, 2},  {CU_AD_FORMAT_HALF, 2},        {CU_AD_FORMAT_UNSIGNED_INT32, 4},
                 {CU_AD_FORMAT_SIGNED_INT32, 4},  {CU_AD_FORMAT_FLOAT, 4}};
    size_t row = 0;
    for (size_t k = 0; k < KILN__COUNT(sizes); k++)
        if (sizes[k].format == format)
            row = width * channels * sizes[k].bytes;
    CUarray array = NULL;
    OK(call_cuArray3DCreate(&array, &d));
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = texels,
                          .srcPitch = row,
                          .srcHeight = height ? height : 1,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = array,
                          .WidthInBytes = row,
                          .Height = height ? height : 1,
                          .Depth = depth ? depth : 1};
    if (texels)
        OK(call_cuMemcpy3D(&copy));
    return array;
}

static inline CUtexObject texture_of(CUarray array, CUfilter_mode filter, CUaddress_mode mode, unsigned flags)
{
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    const CUDA_TEXTURE_DESC sampling = {.addressMode = {mode, mode, mode},
                                        .filterMode = filter,
                                        .flags = flags,
                                        .borderColor = {0.25f, 0.5f, 0.75f, 1}};
    CUtexObject object = 0;
    OK(call_cuTexObjectCreate(&object, &resource, &sampling, NULL));
    return object;
}

static inline CUsurfObject surface_of(CUarray array)
{
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUsurfObject object = 0;
    OK(call_cuSurfObjectCreate(&object, &resource));
    return object;
}

#define FLOATS CU_AD_FORMAT_FLOAT
#define POINT CU_TR_FILTER_MODE_POINT
#define LINEAR CU_TR_FILTER_MODE_LINEAR
#define CLAMP CU_TR_ADDRESS_MODE_CLAMP
#define WRAP CU_TR_ADDRESS_MODE_WRAP
#define MIRROR CU_TR_ADDRESS_MODE_MIRROR
#define BORDER CU_TR_ADDRESS_MODE_BORDER
#define NORMAL CU_TRSF_NORMALIZED_COORDINATES
#define INTEGER CU_TRSF_READ_AS_INTEGER

#define TEX1D "tex.1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%t, {%f1}];"
#define TEX2D "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%t, {%f1, %f2}];"
#define TEX3D "tex.3d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%t, {%f1, %f2, %f3, %f3}];"
#define CUBEMAP "tex.cube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%t, {%f1, %f2, %f3, %f3}];"

/* Looks up the functions of the driver. */
static inline int texture_main(int count, char **arguments, const char *suite, const check_case *cases,
                               size_t case_count)
{
#define SIM_X(name, since)                                                                                             \
    {                                                                                                                  \
        void *symbol = kiln__sim_symbol(#name);                                                                        \
        memcpy(&call_##name, &symbol, sizeof symbol);                                                                  \
        if (!symbol)                                                                                                   \
            return 2;                                                                                                  \
    }
    SIM_API_MAP(SIM_X)
#undef SIM_X
    return check_main(count, arguments, suite, cases, case_count);
}

#endif
