/* A program for the CUDA driver API that does not know Kiln. It stores a picture in an array, reads it through a texture with
 * a linear filter, and writes through a surface. It runs on the simulated device's libcuda.so.1. The exit code is 0 if the
 * result is right. In CUDA C++ the kernel would be
 *     __global__ void half(cudaTextureObject_t in, cudaSurfaceObject_t out, int n) {
 *         int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
 *         if (x < n && y < n) surf2Dwrite(tex2D<float>(in, 2 * x + 1, 2 * y + 1), out, x * sizeof(float), y);
 *     } */

#include "program.h"

static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry half(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"
    " .reg .pred %p<4>; .reg .f32 %f<7>; .reg .b32 %r<15>; .reg .b64 %rd<3>;\n"
    " ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u32 %r3, [n];\n"
    " mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mov.u32 %r6, %tid.x; mad.lo.s32 %r1, %r4, %r5, %r6;\n"
    " mov.u32 %r7, %ctaid.y; mov.u32 %r8, %ntid.y; mov.u32 %r9, %tid.y; mad.lo.s32 %r2, %r7, %r8, %r9;\n"
    " setp.ge.s32 %p1, %r1, %r3; setp.ge.s32 %p2, %r2, %r3; or.pred %p3, %p1, %p2;\n"
    " @%p3 bra END;\n"
    " shl.b32 %r10, %r1, 1; or.b32 %r11, %r10, 1; cvt.rn.f32.s32 %f1, %r11;\n"
    " shl.b32 %r12, %r2, 1; or.b32 %r13, %r12, 1; cvt.rn.f32.s32 %f2, %r13;\n"
    " tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];\n"
    " shl.b32 %r14, %r1, 2;\n"
    " sust.b.2d.b32.trap [%rd2, {%r14, %r2}], {%f3};\n"
    "END: ret;\n}\n";

enum { N = 40 };
static float large[2 * N][2 * N], small[N][N];

static int check(void)
{
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) {
            const float want = (large[2 * y][2 * x] + large[2 * y][2 * x + 1] + large[2 * y + 1][2 * x] +
                                large[2 * y + 1][2 * x + 1]) /
                               4;
            if (small[y][x] != want) {
                fprintf(stderr, "(%d, %d) is %g, not %g\n", x, y, (double)small[y][x], (double)want);
                return 1;
            }
        }
    return 0;
}

/* Makes the array, the texture and the surface, runs the kernel, and compares the picture. Returns the exit code. */
static int run(CUdevice device)
{
    CUcontext context;
    CUmodule module;
    CUfunction half;
    CUarray in, out;
    CUtexObject texture;
    CUsurfObject surface;
    int n = N;
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxPushCurrent(context));
    TRY(cuModuleLoadData(&module, text));
    TRY(cuModuleGetFunction(&half, module, "half"));
    const CUDA_ARRAY_DESCRIPTOR wide = {2 * N, 2 * N, CU_AD_FORMAT_FLOAT, 1};
    const CUDA_ARRAY3D_DESCRIPTOR narrow = {N, N, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
    TRY(cuArrayCreate(&in, &wide));
    TRY(cuArray3DCreate(&out, &narrow));
    const CUDA_MEMCPY2D there = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                 .srcHost = large,
                                 .srcPitch = sizeof *large,
                                 .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                 .dstArray = in,
                                 .WidthInBytes = sizeof *large,
                                 .Height = 2 * N};
    TRY(cuMemcpy2D(&there));
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = in};
    const CUDA_TEXTURE_DESC sampling = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP},
                                        .filterMode = CU_TR_FILTER_MODE_LINEAR};
    TRY(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
    resource.res.array.hArray = out;
    TRY(cuSurfObjectCreate(&surface, &resource));
    void *arguments[] = {&texture, &surface, &n};
    TRY(cuLaunchKernel(half, 3, 3, 1, 16, 16, 1, 0, NULL, arguments, NULL));
    const CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                .srcArray = out,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = small,
                                .dstPitch = sizeof *small,
                                .WidthInBytes = sizeof *small,
                                .Height = N};
    TRY(cuMemcpy2D(&back));
    TRY(cuTexObjectDestroy(texture));
    TRY(cuSurfObjectDestroy(surface));
    TRY(cuArrayDestroy(in));
    TRY(cuArrayDestroy(out));
    TRY(cuModuleUnload(module));
    TRY(cuCtxPopCurrent(NULL));
    TRY(cuDevicePrimaryCtxRelease(device));
    return check();
}

int main(void)
{
    CUdevice device;
    for (int k = 0; k < 4 * N * N; k++) /* quarters of whole numbers, whose sums are exact in any order */
        large[k / (2 * N)][k % (2 * N)] = (float)((k * 7919) % 1009) / 4;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    return run(device);
}
