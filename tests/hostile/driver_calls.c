/* driver_calls.c - calls functions of the driver with hostile arguments. Pointers to memory of the host are valid, and
 * their buffers are as large as the call needs, because a driver cannot check them. Device addresses, sizes, pitches,
 * offsets, descriptors, handles and launch parameters are hostile. A call may fail or succeed. Host memory beside the
 * buffers must not change. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cu_api.h"
#include "hostile.h"
#include "sim.h"
#include <cuda.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define CALLS(X)                                                                                                       \
    X(cuInit)                                                                                                          \
    X(cuDeviceGet)                                                                                                     \
    X(cuDevicePrimaryCtxRetain)                                                                                        \
    X(cuDevicePrimaryCtxRelease)                                                                                       \
    X(cuDevicePrimaryCtxReset)                                                                                         \
    X(cuCtxSetCurrent)                                                                                                 \
    X(cuCtxSynchronize)                                                                                                \
    X(cuMemAlloc)                                                                                                      \
    X(cuMemAllocPitch)                                                                                                 \
    X(cuMemFree)                                                                                                       \
    X(cuMemGetAddressRange)                                                                                            \
    X(cuPointerGetAttribute)                                                                                           \
    X(cuMemsetD8)                                                                                                      \
    X(cuMemsetD16)                                                                                                     \
    X(cuMemsetD32)                                                                                                     \
    X(cuMemsetD2D8)                                                                                                    \
    X(cuMemsetD2D16)                                                                                                   \
    X(cuMemsetD2D32)                                                                                                   \
    X(cuMemcpyDtoD)                                                                                                    \
    X(cuMemcpyDtoH)                                                                                                    \
    X(cuMemcpyHtoD)                                                                                                    \
    X(cuMemcpy2D)                                                                                                      \
    X(cuMemcpy2DUnaligned)                                                                                             \
    X(cuMemcpy3D)                                                                                                      \
    X(cuMemcpyAtoA)                                                                                                    \
    X(cuMemcpyAtoD)                                                                                                    \
    X(cuMemcpyDtoA)                                                                                                    \
    X(cuMemcpyAtoH)                                                                                                    \
    X(cuMemcpyHtoA)                                                                                                    \
    X(cuArrayCreate)                                                                                                   \
    X(cuArray3DCreate)                                                                                                 \
    X(cuArrayDestroy)                                                                                                  \
    X(cuMipmappedArrayCreate)                                                                                          \
    X(cuMipmappedArrayGetLevel)                                                                                        \
    X(cuMipmappedArrayDestroy)                                                                                         \
    X(cuTexObjectCreate)                                                                                               \
    X(cuTexObjectDestroy)                                                                                              \
    X(cuSurfObjectCreate)                                                                                              \
    X(cuSurfObjectDestroy)                                                                                             \
    X(cuTensorMapEncodeTiled)                                                                                          \
    X(cuTensorMapEncodeIm2col)                                                                                         \
    X(cuTensorMapEncodeIm2colWide)                                                                                     \
    X(cuTensorMapReplaceAddress)                                                                                       \
    X(cuIpcGetMemHandle)                                                                                               \
    X(cuIpcOpenMemHandle)                                                                                              \
    X(cuIpcCloseMemHandle)                                                                                             \
    X(cuMemAddressReserve)                                                                                             \
    X(cuMemAddressFree)                                                                                                \
    X(cuMemCreate)                                                                                                     \
    X(cuMemRelease)                                                                                                    \
    X(cuMemMap)                                                                                                        \
    X(cuMemUnmap)                                                                                                      \
    X(cuMemSetAccess)                                                                                                  \
    X(cuMulticastCreate)                                                                                               \
    X(cuMulticastAddDevice)                                                                                            \
    X(cuMulticastBindMem)                                                                                              \
    X(cuMulticastBindAddr)                                                                                             \
    X(cuMulticastUnbind)                                                                                               \
    X(cuModuleLoadData)                                                                                                \
    X(cuModuleUnload)                                                                                                  \
    X(cuModuleGetFunction)                                                                                             \
    X(cuLaunchKernel)

enum { BUFFER = 1 << 16, SIDE = 4096, POINTS = 48, KINDS = 24 };

/* The memory, the objects and the functions of a round. */
typedef struct round {
    hostile_source *s;
#define X(name) __typeof__(name) *name##_;
    CALLS(X)
#undef X
    CUcontext context;
    CUmodule module;
    CUfunction tensor, texture, team;
    uint64_t points[POINTS];
    unsigned point_count;
    CUarray arrays[4];
    CUmipmappedArray mipmap;
    unsigned char *host; /* SIDE bytes that must not change, BUFFER bytes, SIDE bytes */
    CUtensorMap map;
    CUipcMemHandle ipc;
    CUdeviceptr reserved;
    CUmemGenericAllocationHandle piece, multicast;
} round;

static const char text[] =
    ".version 8.1\n.target sm_90\n.address_size 64\n"
    ".visible .entry team(.param .u64 at) {\n.reg .b64 %d<2>;\n.reg .b32 %w<6>;\n.reg .f32 %f<4>;\nld.param.u64 %d0, [at];\n"
    "multimem.ld_reduce.relaxed.sys.global.add.u32 %w0, [%d0];\nmultimem.red.relaxed.sys.global.add.u32 [%d0], %w0;\n"
    "multimem.ld_reduce.weak.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [%d0];\n"
    "multimem.st.weak.global.v4.f32 [%d0], {%f0, %f1, %f2, %f3};\nret;\n}\n"
    ".visible .entry tensor(.param .align 64 .b8 map[128], .param .u32 at) {\n.reg .b64 %d<4>;\n.reg .b32 %w<4>;\n"
    ".shared .align 128 .b8 s[16384];\nmov.b64 %d0, map;\ncvta.param.u64 %d0, %d0;\nld.param.u32 %w0, [at];\n"
    "mbarrier.init.shared.b64 [s], 1;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s+128], [%d0, {%w0, %w0}], [s];\n"
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d0, {%w0, %w0}], [s+128];\nret;\n}\n"
    ".visible .entry texture(.param .u64 object, .param .u32 x, .param .u32 y) {\n.reg .b64 %d<4>;\n.reg .b32 %w<8>;\n"
    "ld.param.u64 %d0, [object];\nld.param.u32 %w0, [x];\nld.param.u32 %w1, [y];\n"
    "tex.2d.v4.s32.s32 {%w2, %w3, %w4, %w5}, [%d0, {%w0, %w1}];\n"
    "tex.1d.v4.s32.s32 {%w2, %w3, %w4, %w5}, [%d0, {%w0}];\nret;\n}\n";

/* ---- values ---- */

#define PICK(r, list) ((list)[hostile_below((r)->s, KILN__COUNT(list))])

static uint64_t near(round *r)
{
    static const int64_t steps[] = {0, 0, 0, 0, 1, -1, 4, -4, 16, -16, 256, -256, 4096, -4096};
    return (uint64_t)PICK(r, steps);
}

static uint64_t point(round *r) { return r->points[hostile_below(r->s, r->point_count)]; }

static CUdeviceptr address(round *r)
{
    static const uint64_t odd[] = {
        0, 1, 0x100000000, 0x200000000, 0x400000000, 0x7000000000, 0x700000000000, UINT64_MAX - 64};
    return hostile_chance(r->s, 92) ? point(r) + near(r) : PICK(r, odd) + near(r);
}

static size_t size(round *r)
{
    static const uint64_t sizes[] = {0,
                                     1,
                                     3,
                                     4,
                                     16,
                                     64,
                                     255,
                                     256,
                                     4096,
                                     65536,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     0x100000000,
                                     (uint64_t)1 << 40,
                                     (uint64_t)1 << 63,
                                     UINT64_MAX,
                                     UINT64_MAX - 15};
    return hostile_chance(r->s, 60)   ? 1 + hostile_below(r->s, 300)
           : hostile_chance(r->s, 50) ? PICK(r, sizes)
                                      : (size_t)(point(r) + near(r) - point(r));
}

/* Returns a size that fits into the buffer in host memory. */
static size_t held(round *r) { return hostile_below(r->s, BUFFER + 1); }

static CUarray array(round *r) { return PICK(r, r->arrays); }

static void note(round *r, uint64_t address_, uint64_t bytes)
{
    if (!address_)
        return;
    const unsigned at = r->point_count + 2 <= POINTS ? r->point_count : hostile_below(r->s, POINTS / 2) * 2;
    r->points[at] = address_, r->points[at + 1] = address_ + bytes;
    r->point_count = r->point_count + 2 <= POINTS ? r->point_count + 2 : r->point_count;
}

/* ---- groups of calls ---- */

/* Calls a random function for memory with hostile sizes and addresses. */
static void call_memory(round *r)
{
    CUdeviceptr got = 0;
    size_t bytes = size(r);
    switch (hostile_below(r->s, 6)) {
    case 0:
        bytes = bytes % (1 << 20);
        if (r->cuMemAlloc_(&got, bytes) == CUDA_SUCCESS)
            note(r, got, bytes);
        break;
    case 1:
        if (r->cuMemAllocPitch_(&got, &bytes, size(r), size(r), PICK(r, ((const unsigned[]){4, 8, 16, 3}))) ==
            CUDA_SUCCESS)
            note(r, got, bytes);
        break;
    case 2: r->cuMemFree_(hostile_chance(r->s, 30) ? point(r) : address(r)); break;
    case 3: r->cuMemGetAddressRange_(&got, &bytes, address(r)); break;
    case 4: {
        uint64_t answer[4];
        r->cuPointerGetAttribute_(answer,
                                  PICK(r, ((const CUpointer_attribute[]){
                                              CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                              CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_IS_MANAGED})),
                                  address(r));
        break;
    }
    default:
        r->cuMemAlloc_(&got, bytes);
        note(r, got, bytes);
        break;
    }
}

static void call_fill(round *r)
{
    const unsigned char value = (unsigned char)hostile_next(r->s);
    switch (hostile_below(r->s, 6)) {
    case 0: r->cuMemsetD8_(address(r), value, size(r)); break;
    case 1: r->cuMemsetD16_(address(r), value, size(r)); break;
    case 2: r->cuMemsetD32_(address(r), value, size(r)); break;
    case 3: r->cuMemsetD2D8_(address(r), size(r), value, size(r), size(r)); break;
    case 4: r->cuMemsetD2D16_(address(r), size(r), value, size(r), size(r)); break;
    default: r->cuMemsetD2D32_(address(r), size(r), value, size(r), size(r)); break;
    }
}

static void call_copy(round *r)
{
    unsigned char *host = r->host + SIDE;
    switch (hostile_below(r->s, 8)) {
    case 0: r->cuMemcpyDtoD_(address(r), address(r), size(r)); break;
    case 1: r->cuMemcpyDtoH_(host, address(r), held(r)); break;
    case 2: r->cuMemcpyHtoD_(address(r), host, held(r)); break;
    case 3: r->cuMemcpyAtoA_(array(r), size(r), array(r), size(r), size(r)); break;
    case 4: r->cuMemcpyAtoD_(address(r), array(r), size(r), size(r)); break;
    case 5: r->cuMemcpyDtoA_(array(r), size(r), address(r), size(r)); break;
    case 6: r->cuMemcpyAtoH_(host, array(r), size(r), held(r)); break;
    default: r->cuMemcpyHtoA_(array(r), size(r), host, held(r)); break;
    }
}

/* Copies two- and three-dimensional boxes. The layout of the host's memory always fits into the buffer. */
static void call_box(round *r)
{
    static const CUmemorytype types[] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_ARRAY,
                                         CU_MEMORYTYPE_HOST};
    CUDA_MEMCPY3D c = {.srcMemoryType = PICK(r, types), .dstMemoryType = PICK(r, types)};
    const bool host = c.srcMemoryType == CU_MEMORYTYPE_HOST || c.dstMemoryType == CU_MEMORYTYPE_HOST;
    c.WidthInBytes = host ? 1 + hostile_below(r->s, 64) : size(r);
    c.Height = host ? hostile_below(r->s, 16) : size(r);
    c.Depth = host ? hostile_below(r->s, 16) : hostile_chance(r->s, 70) ? 1 : size(r);
    c.srcDevice = address(r), c.dstDevice = address(r), c.srcArray = array(r), c.dstArray = array(r);
    c.srcHost = r->host + SIDE, c.dstHost = r->host + SIDE;
    c.srcPitch = c.srcMemoryType == CU_MEMORYTYPE_HOST ? 64 : size(r);
    c.dstPitch = c.dstMemoryType == CU_MEMORYTYPE_HOST ? 64 : size(r);
    c.srcHeight = c.srcMemoryType == CU_MEMORYTYPE_HOST ? 16 : size(r);
    c.dstHeight = c.dstMemoryType == CU_MEMORYTYPE_HOST ? 16 : size(r);
    if (c.srcMemoryType != CU_MEMORYTYPE_HOST && hostile_chance(r->s, 60))
        c.srcXInBytes = size(r), c.srcY = hostile_chance(r->s, 50) ? size(r) : 0,
        c.srcZ = hostile_chance(r->s, 30) ? size(r) : 0;
    if (c.dstMemoryType != CU_MEMORYTYPE_HOST && hostile_chance(r->s, 60))
        c.dstXInBytes = size(r), c.dstY = hostile_chance(r->s, 50) ? size(r) : 0,
        c.dstZ = hostile_chance(r->s, 30) ? size(r) : 0;
    c.srcLOD = hostile_chance(r->s, 5) ? 1 : 0, c.dstLOD = hostile_chance(r->s, 5) ? (unsigned)size(r) : 0;
    if (hostile_chance(r->s, 50)) {
        r->cuMemcpy3D_(&c);
        return;
    }
    const CUDA_MEMCPY2D flat = {.srcXInBytes = c.srcXInBytes,
                                .srcY = c.srcY,
                                .srcMemoryType = c.srcMemoryType,
                                .srcHost = c.srcHost,
                                .srcDevice = c.srcDevice,
                                .srcArray = c.srcArray,
                                .srcPitch = c.srcPitch,
                                .dstXInBytes = c.dstXInBytes,
                                .dstY = c.dstY,
                                .dstMemoryType = c.dstMemoryType,
                                .dstHost = c.dstHost,
                                .dstDevice = c.dstDevice,
                                .dstArray = c.dstArray,
                                .dstPitch = c.dstPitch,
                                .WidthInBytes = c.WidthInBytes,
                                .Height = c.Height};
    if (hostile_chance(r->s, 50))
        r->cuMemcpy2D_(&flat);
    else
        r->cuMemcpy2DUnaligned_(&flat);
}

/* Calls a random function for arrays with hostile extents, formats and flags. */
static void call_array(round *r)
{
    static const CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_SIGNED_INT32, CU_AD_FORMAT_FLOAT,
                                             CU_AD_FORMAT_HALF, (CUarray_format)0x77};
    static const unsigned flags[] = {0, 0, CUDA_ARRAY3D_LAYERED, CUDA_ARRAY3D_SURFACE_LDST, CUDA_ARRAY3D_CUBEMAP, 0xff};
    const CUDA_ARRAY3D_DESCRIPTOR d = {.Width = hostile_chance(r->s, 70) ? 1 + hostile_below(r->s, 40) : size(r),
                                       .Height = hostile_chance(r->s, 70) ? hostile_below(r->s, 40) : size(r),
                                       .Depth = hostile_chance(r->s, 70) ? hostile_below(r->s, 8) : size(r),
                                       .Format = PICK(r, formats),
                                       .NumChannels = hostile_below(r->s, 6),
                                       .Flags = PICK(r, flags)};
    const unsigned at = hostile_below(r->s, KILN__COUNT(r->arrays));
    CUarray made = NULL;
    if (hostile_chance(r->s, 20)) {
        CUmipmappedArray mipmap = NULL;
        if (r->cuMipmappedArrayCreate_(&mipmap, &d, (unsigned)size(r)) == CUDA_SUCCESS) {
            r->cuMipmappedArrayGetLevel_(&made, mipmap, (unsigned)size(r));
            r->cuMipmappedArrayDestroy_(mipmap);
        }
        return;
    }
    const CUDA_ARRAY_DESCRIPTOR flat = {d.Width, d.Height, d.Format, d.NumChannels};
    const CUresult result = hostile_chance(r->s, 50) ? r->cuArray3DCreate_(&made, &d) : r->cuArrayCreate_(&made, &flat);
    if (result == CUDA_SUCCESS) {
        r->cuArrayDestroy_(r->arrays[at]);
        r->arrays[at] = made;
    }
}

static void launch_texture(round *r, CUtexObject object)
{
    unsigned x = (unsigned)size(r), y = (unsigned)size(r);
    void *arguments[] = {&object, &x, &y};
    if (r->cuLaunchKernel_(r->texture, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL) != CUDA_SUCCESS ||
        r->cuCtxSynchronize_() != CUDA_SUCCESS)
        r->context = NULL; /* the context is lost */
}

/* Makes or destroys a texture of a random kind with hostile fields. */
static void call_texture(round *r)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    const CUDA_TEXTURE_DESC how = {.flags = hostile_below(r->s, 4), .maxAnisotropy = hostile_below(r->s, 20)};
    switch (hostile_below(r->s, 3)) {
    case 0: resource.res.array.hArray = array(r); break;
    case 1:
        resource.resType = CU_RESOURCE_TYPE_LINEAR;
        resource.res.linear.devPtr = address(r);
        resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
        resource.res.linear.numChannels = 1 + hostile_below(r->s, 4);
        resource.res.linear.sizeInBytes = size(r);
        break;
    default:
        resource.resType = CU_RESOURCE_TYPE_PITCH2D;
        resource.res.pitch2D.devPtr = address(r);
        resource.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT32;
        resource.res.pitch2D.numChannels = 1 + hostile_below(r->s, 4);
        resource.res.pitch2D.width = size(r);
        resource.res.pitch2D.height = size(r);
        resource.res.pitch2D.pitchInBytes = hostile_chance(r->s, 50) ? 512 : size(r);
    }
    CUtexObject object = 0;
    if (hostile_chance(r->s, 80)) {
        if (r->cuTexObjectCreate_(&object, &resource, &how, NULL) == CUDA_SUCCESS) {
            launch_texture(r, object);
            if (r->context)
                r->cuTexObjectDestroy_(object);
        }
    } else if (r->cuSurfObjectCreate_(&object, &resource) == CUDA_SUCCESS) {
        r->cuSurfObjectDestroy_(object);
    }
}

static void launch_tensor(round *r)
{
    unsigned at = hostile_chance(r->s, 60) ? 0 : (unsigned)size(r);
    void *arguments[] = {&r->map, &at};
    if (r->cuLaunchKernel_(r->tensor, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL) != CUDA_SUCCESS ||
        r->cuCtxSynchronize_() != CUDA_SUCCESS)
        r->context = NULL;
}

static void call_tensor_map(round *r)
{
    cuuint64_t shape[5], strides[5];
    cuuint32_t box[5], steps[5];
    int lower[5], upper[5];
    const unsigned rank = hostile_chance(r->s, 70) ? 2 : hostile_below(r->s, 7);
    for (unsigned k = 0; k < 5; k++) {
        shape[k] = hostile_chance(r->s, 80) ? 1 + hostile_below(r->s, 64) : size(r);
        strides[k] = hostile_chance(r->s, 80) ? 16 * (1 + hostile_below(r->s, 16)) : size(r);
        box[k] = hostile_chance(r->s, 80)   ? 4 * (1 + hostile_below(r->s, 8))
                 : hostile_chance(r->s, 50) ? 256
                                            : (cuuint32_t)size(r);
        steps[k] = hostile_chance(r->s, 90) ? 1 : (cuuint32_t)size(r);
        lower[k] = (int)size(r) % 9, upper[k] = (int)size(r) % 9;
    }
    const CUtensorMapDataType type = (CUtensorMapDataType)hostile_below(r->s, 14);
    const CUtensorMapInterleave interleave = (CUtensorMapInterleave)(hostile_chance(r->s, 95) ? 0
                                                                                              : hostile_below(r->s, 4));
    const CUtensorMapSwizzle swizzle = (CUtensorMapSwizzle)(hostile_chance(r->s, 60) ? 0 : hostile_below(r->s, 5));
    const CUtensorMapL2promotion promotion = (CUtensorMapL2promotion)hostile_below(r->s, 5);
    const CUtensorMapFloatOOBfill fill = (CUtensorMapFloatOOBfill)hostile_below(r->s, 2);
    void *base = (void *)(uintptr_t)address(r); /* NOLINT(performance-no-int-to-ptr): a device address */
    CUresult result;
    if (hostile_chance(r->s, 20))
        result = r->cuTensorMapReplaceAddress_(&r->map, base);
    else if (hostile_chance(r->s, 80))
        result = r->cuTensorMapEncodeTiled_(&r->map, type, rank, base, shape, strides, box, steps, interleave, swizzle,
                                            promotion, fill);
    else if (hostile_chance(r->s, 30))
        result = r->cuTensorMapEncodeIm2colWide_(
            &r->map, type, rank, base, shape, strides, lower[0], upper[0], (unsigned)size(r), (unsigned)size(r), steps,
            interleave, (CUtensorMapIm2ColWideMode)hostile_below(r->s, 3), swizzle, promotion, fill);
    else
        result = r->cuTensorMapEncodeIm2col_(&r->map, type, rank, base, shape, strides, lower, upper, (unsigned)size(r),
                                             (unsigned)size(r), steps, interleave, swizzle, promotion, fill);
    if (hostile_chance(r->s, 10)) /* a map that was not made by a driver */
        ((unsigned char *)&r->map)[hostile_below(r->s, sizeof r->map)] = (unsigned char)hostile_next(r->s);
    if (result == CUDA_SUCCESS)
        launch_tensor(r);
}

/* Launches a kernel that uses memory of a multicast object, mostly where it is mapped. */
static void launch_team(round *r)
{
    static const uint64_t offsets[] = {0, 0, 16, 64, 4096, (2 << 20) - 16, 2 << 20, (4 << 20) - 16};
    CUdeviceptr at = hostile_chance(r->s, 80) ? r->reserved + PICK(r, offsets) : address(r);
    void *arguments[] = {&at};
    if (r->cuLaunchKernel_(r->team, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL) != CUDA_SUCCESS ||
        r->cuCtxSynchronize_() != CUDA_SUCCESS)
        r->context = NULL;
}

/* Maps a multicast object whose first half is bound, so that the other calls can take parts of it away. */
static void map_team(round *r)
{
    const size_t piece = 2 << 20;
    const CUmemAllocationProp how = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const CUmulticastObjectProp object = {.numDevices = 1, .size = 2 * piece};
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (!r->piece)
        r->cuMemCreate_(&r->piece, piece, &how, 0);
    if (!r->multicast && r->cuMulticastCreate_(&r->multicast, &object) == CUDA_SUCCESS)
        r->cuMulticastAddDevice_(r->multicast, 0);
    if (!r->reserved && r->cuMemAddressReserve_(&r->reserved, 2 * piece, 0, 0, 0) == CUDA_SUCCESS)
        note(r, r->reserved, 2 * piece);
    r->cuMulticastBindMem_(r->multicast, 0, r->piece, 0, piece, 0);
    r->cuMemMap_(r->reserved, 2 * piece, 0, r->multicast, 0);
    r->cuMemSetAccess_(r->reserved, 2 * piece, &access, 1);
}

/* Makes one call about memory that processes share, with arguments that are partly wrong. */
static void call_share(round *r)
{
    CUdeviceptr got = 0;
    const CUmemAllocationProp how = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                    .flags = (CUmemAccess_flags)hostile_below(r->s, 4)};
    const size_t piece = 2 << 20;
    const CUmulticastObjectProp object = {.numDevices = 1, .size = hostile_chance(r->s, 80) ? 2 * piece : size(r)};
    const size_t from = hostile_chance(r->s, 60) ? 0 : hostile_chance(r->s, 60) ? piece : size(r);
    switch (hostile_below(r->s, 18)) {
    case 0: r->cuIpcGetMemHandle_(&r->ipc, address(r)); break;
    case 1: ((unsigned char *)&r->ipc)[hostile_below(r->s, sizeof r->ipc)] = (unsigned char)hostile_next(r->s); break;
    case 2:
        if (r->cuIpcOpenMemHandle_(&got, r->ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS)
            r->cuIpcCloseMemHandle_(got);
        break;
    case 3:
        if (!r->reserved && r->cuMemAddressReserve_(&r->reserved, 2 * piece, 0, 0, 0) == CUDA_SUCCESS)
            note(r, r->reserved, 2 * piece);
        else
            r->cuMemAddressReserve_(&got, size(r), size(r), address(r), 0);
        break;
    case 4:
        if (!r->piece)
            r->cuMemCreate_(&r->piece, hostile_chance(r->s, 80) ? piece : size(r), &how, 0);
        break;
    case 5:
        r->cuMemMap_(hostile_chance(r->s, 70) ? r->reserved : address(r), hostile_chance(r->s, 70) ? piece : size(r),
                     hostile_chance(r->s, 90) ? 0 : from, hostile_chance(r->s, 70) ? r->piece : r->multicast, 0);
        break;
    case 6:
        r->cuMemSetAccess_(hostile_chance(r->s, 70) ? r->reserved : address(r),
                           hostile_chance(r->s, 70) ? piece : size(r), &access, 1);
        break;
    case 7:
        r->cuMemUnmap_(hostile_chance(r->s, 70) ? r->reserved : address(r), hostile_chance(r->s, 70) ? piece : size(r));
        break;
    case 8: /* device 0 joins at once, because a call that waits for a missing device would block */
        if (!r->multicast && r->cuMulticastCreate_(&r->multicast, &object) == CUDA_SUCCESS)
            r->cuMulticastAddDevice_(r->multicast, 0);
        break;
    case 9: r->cuMulticastAddDevice_(r->multicast, (CUdevice)hostile_below(r->s, 3)); break;
    case 10:
        r->cuMulticastBindMem_(r->multicast, from, r->piece, hostile_chance(r->s, 70) ? 0 : size(r),
                               hostile_chance(r->s, 70) ? piece : size(r), 0);
        break;
    case 11:
        r->cuMulticastBindAddr_(r->multicast, from, hostile_chance(r->s, 70) ? r->reserved : address(r),
                                hostile_chance(r->s, 70) ? piece : size(r), 0);
        break;
    case 12: r->cuMulticastUnbind_(r->multicast, 0, from, hostile_chance(r->s, 70) ? piece : size(r)); break;
    case 13: /* a released handle is used again in half of the rounds */
        r->cuMemRelease_(r->piece);
        r->piece = hostile_chance(r->s, 50) ? 0 : r->piece;
        break;
    case 14:
        r->cuMemRelease_(r->multicast);
        r->multicast = hostile_chance(r->s, 50) ? 0 : r->multicast;
        break;
    case 15: map_team(r); break;
    case 16:
        if (hostile_chance(r->s, 60))
            map_team(r);
        launch_team(r);
        break;
    default: r->cuMemAddressFree_(address(r), size(r)); break;
    }
}

/* Launches with hostile sizes, and with parameters as one buffer whose size is wrong. */
static void call_launch(round *r)
{
    unsigned char *parameters = calloc(1, 256);
    size_t bytes = hostile_chance(r->s, 40) ? 132 : hostile_below(r->s, 257);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    unsigned n[7];
    if (!parameters)
        return;
    memcpy(parameters, &r->map, sizeof r->map);
    for (unsigned k = 0; k < 7; k++)
        n[k] = hostile_chance(r->s, 85) ? k < 6 : (unsigned)size(r);
    if ((uint64_t)n[0] * n[1] * n[2] > 4096) /* the launch would only take time */
        n[0] = n[1] = n[2] = UINT32_MAX;
    if (r->cuLaunchKernel_(hostile_chance(r->s, 50) ? r->tensor : r->texture, n[0], n[1], n[2], n[3], n[4], n[5], n[6],
                           NULL, NULL, extra) == CUDA_SUCCESS &&
        r->cuCtxSynchronize_() != CUDA_SUCCESS)
        r->context = NULL;
    free(parameters);
}

/* ---- a round ---- */

static bool look_up(round *r)
{
    kiln__sim_add_programs();
#define X(name)                                                                                                        \
    *(void **)&r->name##_ = kiln__sim_symbol(#name);                                                                   \
    if (!r->name##_)                                                                                                   \
        return false;
    CALLS(X)
#undef X
    return true;
}

/* Makes a context with memory of several sizes, arrays and a module. Returns false if that fails. */
static bool begin(round *r)
{
    static const size_t sizes[] = {1, 256, 4096, 65536 + 16, 2 << 20};
    CUdevice device;
    r->point_count = 0;
    memset(r->arrays, 0, sizeof r->arrays);
    r->reserved = 0, r->piece = 0, r->multicast = 0;
    if (r->cuInit_(0) != CUDA_SUCCESS || r->cuDeviceGet_(&device, 0) != CUDA_SUCCESS ||
        r->cuDevicePrimaryCtxRetain_(&r->context, device) != CUDA_SUCCESS ||
        r->cuCtxSetCurrent_(r->context) != CUDA_SUCCESS)
        return false;
    for (size_t k = 0; k < KILN__COUNT(sizes); k++) {
        CUdeviceptr made = 0;
        if (r->cuMemAlloc_(&made, sizes[k]) != CUDA_SUCCESS)
            return false;
        note(r, made, sizes[k]);
    }
    for (unsigned k = 0; k < KILN__COUNT(r->arrays); k++) {
        const CUDA_ARRAY3D_DESCRIPTOR d = {
            16, k > 0 ? 8 : 0, k > 1 ? 4 : 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, k == 3 ? CUDA_ARRAY3D_LAYERED : 0};
        if (r->cuArray3DCreate_(&r->arrays[k], &d) != CUDA_SUCCESS)
            return false;
    }
    return r->cuModuleLoadData_(&r->module, text) == CUDA_SUCCESS &&
           r->cuModuleGetFunction_(&r->tensor, r->module, "tensor") == CUDA_SUCCESS &&
           r->cuModuleGetFunction_(&r->team, r->module, "team") == CUDA_SUCCESS &&
           r->cuModuleGetFunction_(&r->texture, r->module, "texture") == CUDA_SUCCESS;
}

static void end(round *r)
{
    r->cuCtxSetCurrent_(NULL);
    r->cuDevicePrimaryCtxReset_(0);
    r->cuDevicePrimaryCtxRelease_(0);
}

static bool unchanged(const unsigned char *side)
{
    for (size_t k = 0; k < SIDE; k++)
        if (side[k] != 0x5a)
            return false;
    return true;
}

bool hostile_calls(hostile_source *s, unsigned calls, hostile_counts *counts)
{
    static void (*const groups[])(round *) = {call_memory,  call_fill,       call_copy,  call_box,   call_array,
                                              call_texture, call_tensor_map, call_share, call_launch};
    round *r = calloc(1, sizeof *r);
    bool good = r && (r->host = malloc(BUFFER + 2 * SIDE)) && look_up(r);
    if (!good) {
        fputs("hostile: a function of the driver is not there\n", stderr);
        free(r ? r->host : NULL);
        free(r);
        return false;
    }
    r->s = s;
    memset(r->host, 0x5a, BUFFER + 2 * SIDE);
    good = begin(r);
    for (unsigned k = 0; good && k < calls; k++) {
        groups[hostile_below(s, KILN__COUNT(groups))](r);
        counts->calls.executions++;
        if (r->context)
            continue;
        counts->calls.faults++; /* the context is lost */
        end(r);
        good = begin(r);
    }
    if (!good)
        fputs("hostile: no context could be made\n", stderr);
    else
        end(r);
    counts->calls.modules++;
    if (!unchanged(r->host) || !unchanged(r->host + SIDE + BUFFER)) {
        fputs("a call of the driver wrote host memory beside its buffer\n", stderr);
        good = false;
    }
    free(r->host);
    free(r);
    return good;
}
