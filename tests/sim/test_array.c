/* Tests arrays through the driver's table, and invalid requests for arrays, textures and surfaces. */
#include "textures.h"

/* ---- arrays: descriptors and copies ---- */

static void test_arrays(void)
{
    open_device();
    static const CUDA_ARRAY3D_DESCRIPTOR wrong[] = {{0, 1, 0, FLOATS, 1, 0},
                                                    {1, 1, 0, FLOATS, 3, 0},
                                                    {1, 0, 1, FLOATS, 1, 0},
                                                    {131073, 0, 0, FLOATS, 1, 0},
                                                    {4, 4, 5, FLOATS, 1, CUDA_ARRAY3D_CUBEMAP},
                                                    {4, 3, 6, FLOATS, 1, CUDA_ARRAY3D_CUBEMAP},
                                                    {4, 4, 7, FLOATS, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED},
                                                    {4, 4, 0, FLOATS, 1, CUDA_ARRAY3D_LAYERED},
                                                    {4, 4, 0, FLOATS, 1, 0x4000},
                                                    {4, 4, 4, FLOATS, 1, CUDA_ARRAY3D_TEXTURE_GATHER},
                                                    {32769, 0, 0, FLOATS, 1, CUDA_ARRAY3D_SURFACE_LDST}};
    CUarray array = NULL, other = NULL;
    for (size_t k = 0; k < KILN__COUNT(wrong); k++)
        FAILS(INVALID_VALUE, call_cuArray3DCreate(&array, &wrong[k]));
    FAILS(NOT_SUPPORTED,
          call_cuArray3DCreate(&array, &(CUDA_ARRAY3D_DESCRIPTOR){4, 4, 0, FLOATS, 1, CUDA_ARRAY3D_SPARSE}));
    FAILS(NOT_SUPPORTED, call_cuArray3DCreate(&array, &(CUDA_ARRAY3D_DESCRIPTOR){4, 4, 0, CU_AD_FORMAT_NV12, 1, 0}));
    FAILS(OUT_OF_MEMORY, call_cuArray3DCreate(&array, &(CUDA_ARRAY3D_DESCRIPTOR){16384, 16384, 16384, FLOATS, 4, 0}));
    FAILS(INVALID_VALUE, call_cuArrayCreate(NULL, NULL));
    FAILS(INVALID_HANDLE, call_cuArrayDestroy((CUarray)(uintptr_t)0x1230));

    size_t before = 0, during = 0, total = 0;
    OK(call_cuMemGetInfo(&before, &total));
    OK(call_cuArrayCreate(&array, &(CUDA_ARRAY_DESCRIPTOR){3, 2, CU_AD_FORMAT_UNSIGNED_INT8, 1}));
    OK(call_cuMemGetInfo(&during, &total));
    CHECK(before - during == 32); /* rows of 16 bytes */
    static const uint8_t texels[] = {1, 2, 3, 9, 4, 5, 6, 9};
    CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = texels,
                        .srcPitch = 4,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array,
                        .WidthInBytes = 3,
                        .Height = 2};
    OK(call_cuMemcpy2D(&in));
    CUDA_MEMCPY2D part = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = array,
                          .srcXInBytes = 1,
                          .srcY = 1,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .WidthInBytes = 2,
                          .Height = 1};
    uint8_t out[8] = {0};
    part.dstHost = out;
    OK(call_cuMemcpy2DAsync(&part, NULL));
    CHECK(out[0] == 5 && out[1] == 6 && out[2] == 0);
    part.WidthInBytes = 3;
    FAILS(INVALID_VALUE, call_cuMemcpy2D(&part)); /* the copy ends beyond the row */
    part.WidthInBytes = 2, part.srcY = 2;
    FAILS(INVALID_VALUE, call_cuMemcpy2D(&part));
    part.srcArray = (CUarray)(uintptr_t)0x1230;
    FAILS(INVALID_HANDLE, call_cuMemcpy2D(&part));
    FAILS(INVALID_VALUE, call_cuMemcpyAtoH(out, array, 0, 1)); /* this call accepts only arrays of one dimension */
    OK(call_cuArrayDestroy(array));
    OK(call_cuMemGetInfo(&during, &total));
    CHECK(before == during);

    /* Tests all copies of one dimension. */
    CUdeviceptr memory = 0;
    uint16_t numbers[] = {1, 2, 3, 4}, back[4] = {0};
    OK(call_cuMemAlloc(&memory, sizeof numbers));
    array = array_of(4, 0, 0, CU_AD_FORMAT_UNSIGNED_INT16, 1, 0, NULL);
    other = array_of(4, 0, 0, CU_AD_FORMAT_UNSIGNED_INT16, 1, 0, NULL);
    OK(call_cuMemcpyHtoAAsync(array, 0, numbers, sizeof numbers, NULL));
    OK(call_cuMemcpyAtoA(other, 2, array, 0, 6));
    OK(call_cuMemcpyAtoD(memory, array, 6, 2));
    OK(call_cuMemcpyDtoA(other, 0, memory, 2));
    OK(call_cuMemcpyAtoHAsync(back, other, 0, sizeof back, NULL));
    CHECK(back[0] == 4 && back[1] == 1 && back[2] == 2 && back[3] == 3);
    FAILS(INVALID_VALUE, call_cuMemcpyHtoA(array, 1, numbers, 2)); /* half a texel */
    FAILS(INVALID_VALUE, call_cuMemcpyHtoA(array, 0, numbers, 10));
    FAILS(INVALID_VALUE, call_cuMemcpyHtoA(array, SIZE_MAX - 1, numbers, 4));
    OK(call_cuMemFree(memory));
    OK(call_cuArrayDestroy(array));
    OK(call_cuArrayDestroy(other));

    /* Copies a box of a volume into the layers of another array. */
    uint8_t volume[3][3][4];
    for (unsigned k = 0; k < sizeof volume; k++)
        ((uint8_t *)volume)[k] = (uint8_t)k;
    array = array_of(4, 3, 3, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0, volume);
    other = array_of(4, 3, 2, CU_AD_FORMAT_SIGNED_INT8, 1, CUDA_ARRAY3D_LAYERED, NULL);
    CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                         .srcArray = array,
                         .srcXInBytes = 1,
                         .srcY = 1,
                         .srcZ = 1,
                         .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                         .dstArray = other,
                         .WidthInBytes = 2,
                         .Height = 2,
                         .Depth = 2};
    OK(call_cuMemcpy3D(&box));
    uint8_t boxed[2][2][2];
    CUDA_MEMCPY3D home = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = other,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = boxed,
                          .dstPitch = 2,
                          .dstHeight = 2,
                          .WidthInBytes = 2,
                          .Height = 2,
                          .Depth = 2};
    OK(call_cuMemcpy3D(&home));
    for (unsigned k = 0; k < 8; k++)
        CHECK(((uint8_t *)boxed)[k] == volume[1 + k / 4][1 + k / 2 % 2][1 + k % 2]);
    box.srcZ = 2;
    FAILS(INVALID_VALUE, call_cuMemcpy3D(&box));
    CUDA_ARRAY3D_DESCRIPTOR d;
    OK(call_cuArray3DGetDescriptor(&d, other));
    CHECK(d.Width == 4 && d.Height == 3 && d.Depth == 2 && d.Flags == CUDA_ARRAY3D_LAYERED);
    close_device(); /* the end of the context frees the other objects */
}

static void test_refused(void)
{
    open_device();
    static const float texel[4] = {0};
    CUarray array = array_of(2, 2, 0, FLOATS, 1, 0, texel);
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUDA_TEXTURE_DESC d = {.filterMode = POINT};
    CUtexObject t = 0;
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(NULL, &r, &d, NULL));
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &r, NULL, NULL));
    FAILS(INVALID_VALUE, call_cuSurfObjectCreate(&t, &r)); /* the array was not made for surfaces */
    d.flags = 0x800;
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &r, &d, NULL));
    d.flags = 0, d.addressMode[1] = (CUaddress_mode)4;
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &r, &d, NULL));
    d.addressMode[1] = WRAP, r.flags = 1;
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &r, &d, NULL));
    r.flags = 0, r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    FAILS(INVALID_HANDLE, call_cuTexObjectCreate(&t, &r, &d, NULL));
    r.resType = (CUresourcetype)7;
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &r, &d, NULL));
    OK(call_cuArrayDestroy(array));
    array = array_of(2, 2, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0, texel);
    r = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    d.filterMode = LINEAR; /* integers have no mean */
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &r, &d, NULL));
    size_t width = 0;
    OK(call_cuDeviceGetTexture1DLinearMaxWidth(&width, FLOATS, 4, device));
    CHECK(width == 268435456);
    FAILS(INVALID_VALUE, call_cuDeviceGetTexture1DLinearMaxWidth(&width, FLOATS, 3, device));
    close_device();
}

/* ---- PTX that is refused ---- */

/* PTX texts with textures and surfaces that the driver refuses, each with its message. */
static void test_texts(void)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%t, {%f1}];", "operand 2: expected 2 coordinates, not 1"},
        {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%t];", "expected 2 coordinates, not 0"},
        {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%r1, {%f1, %f2}];", "'%r1' is not a 64-bit register"},
        {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%t, {%f1, %t}];", "does not fit a .f32 operand"},
        {"tex.a2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%t, {%f1, %f2, %f3, %f4}];", "does not fit a .u32 operand"},
        {"tex.2d.v4.f32.f32 {%f1, %f2}, [%t, {%f1, %f2}];", "expected a vector of 4 elements"},
        {"tex.cube.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%t, {%r1, %r1, %r1, %r1}];", "Illegal modifiers or types"},
        {"tex.cube.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%t, {%f1, %f1, %f1, %f1}], {1, 2, 3, 4};",
         "expected 2 operands, not 3"},
        {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%t, %t, {%f1, %f2}];", "a separate sampler"},
        {"tex.2dms.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%t, {%r1, %r1, %r1, %r1}];",
         "modifier '.2dms' of 'tex' is not supported"},
        {"suld.b.2d.b32 %r1, [%t, {%r1, %r1}];", "Illegal modifiers or types"},
        {"suld.b.2d.v4.b64.trap {%t, %t, %t, %t}, [%t, {%r1, %r1}];", "Illegal modifiers or types"},
        {"ld.global.b32 %r1, [%t, {%r1}];", "expected an address in [], without coordinates"},
        {"txq.size.b32 %r1, [%t];", "Unknown instruction 'txq'"},
    };
    open_device();
    for (size_t k = 0; k < KILN__COUNT(rows); k++) {
        char text[512], log[1024] = "";
        CUmodule module = NULL;
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        void *values[] = {log, (void *)(uintptr_t)sizeof log};
        snprintf(text, sizeof text,
                 ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n"
                 ".reg .b64 %%t; .reg .b32 %%r1; .reg .f32 %%f<5>;\n%s\nret; }\n",
                 rows[k].text);
        CUresult got = call_cuModuleLoadDataEx(&module, text, 2, options, values);
        CHECK(got == (strstr(log, "by the simulated device") ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_PTX));
        if (!strstr(log, rows[k].message))
            fprintf(stderr, "%s\n  %s", rows[k].text, log);
        CU_ASSERT(strstr(log, rows[k].message) != NULL);
    }
    close_device();
}

/* Tests that each allocation that fails gives an error and no leak. */
static void test_memory_out(void)
{
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        sim_set_memory(&mem);
        CUcontext context;
        CUresult result = call_cuDevicePrimaryCtxRetain(&context, device);
        bool opened = result == CUDA_SUCCESS;
        if (opened) {
            call_cuCtxSetCurrent(context);
            CUarray array = NULL, level = NULL;
            CUmipmappedArray mip = NULL;
            CUtexObject t = 0;
            result = call_cuArrayCreate(&array, &(CUDA_ARRAY_DESCRIPTOR){3, 2, FLOATS, 1});
            const CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
            if (result == CUDA_SUCCESS)
                result = call_cuTexObjectCreate(&t, &r, &(CUDA_TEXTURE_DESC){.flags = 0}, NULL);
            if (result == CUDA_SUCCESS)
                result = call_cuMipmappedArrayCreate(&mip, &(CUDA_ARRAY3D_DESCRIPTOR){3, 2, 0, FLOATS, 1, 0}, 2);
            if (result == CUDA_SUCCESS)
                result = call_cuMipmappedArrayGetLevel(&level, mip, 1);
            call_cuCtxSetCurrent(NULL);
            call_cuDevicePrimaryCtxRelease(device);
        }
        sim_set_memory(NULL);
        CHECK(oom.live == 0);
        CHECK(result == (oom.failed ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS));
        if (!oom.failed)
            return;
    }
}

static const check_case cases[] = {
    {"arrays", test_arrays},
    {"refused", test_refused},
    {"texts", test_texts},
    {"out of memory", test_memory_out},
};

int main(int count, char **arguments)
{
    return texture_main(count, arguments, "sim array", cases, sizeof cases / sizeof *cases);
}
