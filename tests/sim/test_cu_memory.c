/* Tests device memory, host memory, pointers, pools, copies and fills. */
#include "cu_check.h"

/* ---- memory ---- */

static void test_memory(void)
{
    open_device();
    CUdeviceptr a = 0, b = 0, base = 0;
    size_t before = 0, after = 0, total = 0, bytes = 0;
    OK(call_cuMemGetInfo(&before, &total));
    CHECK(before <= total);
    FAILS(INVALID_VALUE, call_cuMemAlloc(&a, 0));
    FAILS(INVALID_VALUE, call_cuMemAlloc(NULL, 8));
    FAILS(OUT_OF_MEMORY, call_cuMemAlloc(&a, total + 1));
    FAILS(OUT_OF_MEMORY, call_cuMemAlloc(&a, SIZE_MAX));
    OK(call_cuMemAlloc(&a, 1000));
    OK(call_cuMemAlloc(&b, 1000));
    CHECK(a % 256 == 0 && b % 256 == 0 && a != b);
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(after <= before - 2000);
    OK(call_cuMemGetAddressRange(&base, &bytes, a + 999));
    CHECK(base == a && bytes == 1000);
    OK(call_cuMemGetAddressRange(NULL, NULL, a));
    FAILS(NOT_FOUND, call_cuMemGetAddressRange(&base, &bytes, 0x10));

    unsigned char in[1000], out[1000];
    for (int i = 0; i < 1000; i++)
        in[i] = (unsigned char)(i * 7);
    OK(call_cuMemcpyHtoD(a, in, 1000));
    OK(call_cuMemcpyDtoD(b, a, 1000));
    OK(call_cuMemcpyDtoH(out, b, 1000));
    CHECK(memcmp(in, out, 1000) == 0);
    OK(call_cuMemcpyDtoH(out, b + 10, 5));
    CHECK(memcmp(in + 10, out, 5) == 0);
    OK(call_cuMemcpyHtoDAsync(a + 1, in, 999, CU_STREAM_PER_THREAD));
    OK(call_cuMemcpyDtoDAsync(b, a, 1000, NULL));
    OK(call_cuMemcpyDtoHAsync(out, b, 1000, CU_STREAM_LEGACY));
    CHECK(out[0] == in[0] && memcmp(in, out + 1, 999) == 0);
    FAILS(INVALID_VALUE, call_cuMemcpyHtoD(a, in, 1001));
    FAILS(INVALID_VALUE, call_cuMemcpyHtoD(a + 500, in, 501));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoH(out, a - 1, 1));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoH(NULL, a, 1));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoD(a, 0x10, 1));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoD(a, b, SIZE_MAX));
    FAILS(INVALID_HANDLE, call_cuMemcpyHtoDAsync(a, in, 10, (CUstream)(uintptr_t)0x12340));
    OK(call_cuMemcpyHtoD(0, NULL, 0));

    OK(call_cuMemsetD8(a, 0x5a, 1000));
    OK(call_cuMemsetD16Async(a + 2, 0x1234, 2, NULL));
    OK(call_cuMemsetD32Async(a + 8, 0xdeadbeefu, 2, NULL));
    OK(call_cuMemsetD8Async(a + 16, 1, 1, NULL));
    OK(call_cuMemcpyDtoH(out, a, 1000));
    static const unsigned char want[18] = {0x5a, 0x5a, 0x34, 0x12, 0x34, 0x12, 0x5a, 0x5a, 0xef,
                                           0xbe, 0xad, 0xde, 0xef, 0xbe, 0xad, 0xde, 1,    0x5a};
    CHECK(memcmp(out, want, sizeof want) == 0);
    FAILS(INVALID_VALUE, call_cuMemsetD16Async(a + 1, 0, 1, NULL));
    FAILS(INVALID_VALUE, call_cuMemsetD32Async(a + 2, 0, 1, NULL));
    FAILS(INVALID_VALUE, call_cuMemsetD32Async(a, 0, 251, NULL));
    FAILS(INVALID_VALUE, call_cuMemsetD32Async(a, 0, SIZE_MAX / 2, NULL));

    /* A parameter for a host address also accepts a device address. */
    unsigned word = 0;
    OK(call_cuMemsetD32(a, 0x01020304, 2));
    OK(call_cuMemsetD32(b, 5, 1));
    OK(call_cuMemcpyHtoD(b, (const void *)(uintptr_t)(a + 4), 4));
    OK(call_cuMemcpyDtoH(&word, b, 4));
    CHECK(word == 0x01020304);
    OK(call_cuMemsetD32(b, 6, 1));
    OK(call_cuMemcpyDtoH((void *)(uintptr_t)a, b, 4));
    OK(call_cuMemcpyDtoH(&word, a, 4));
    CHECK(word == 6);
    FAILS(INVALID_VALUE, call_cuMemcpyHtoD(b, (const void *)(uintptr_t)(a + 998), 4));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoH((void *)(uintptr_t)(a + 998), b, 4));

    FAILS(INVALID_VALUE, call_cuMemFree(a + 1));
    OK(call_cuMemFree(0));
    OK(call_cuMemFree(a));
    FAILS(INVALID_VALUE, call_cuMemFree(a));
    FAILS(INVALID_VALUE, call_cuMemcpyHtoD(a, in, 1));
    OK(call_cuMemFree(b));
    OK(call_cuMemGetInfo(&after, &total));
    CHECK(after == before);
    close_device();
}

/* ---- other kinds of memory ---- */

static void test_host_memory(void)
{
    open_device();
    void *pinned = NULL;
    CUdeviceptr address = 0, back = 0;
    unsigned flags = 0, type = 0;
    FAILS(INVALID_VALUE, call_cuMemHostAlloc(&pinned, 0, 0));
    FAILS(INVALID_VALUE, call_cuMemHostAlloc(&pinned, 8, 1024));
    OK(call_cuMemHostAlloc(&pinned, 4000, CU_MEMHOSTALLOC_DEVICEMAP));
    memset(pinned, 0, 4000);
    OK(call_cuMemHostGetFlags(&flags, pinned));
    CHECK(flags == CU_MEMHOSTALLOC_DEVICEMAP);
    OK(call_cuMemHostGetDevicePointer(&address, (char *)pinned + 8, 0));
    FAILS(INVALID_VALUE, call_cuMemHostGetDevicePointer(&address, pinned, 1));
    CUmodule module = load(faults);
    void *arguments[] = {&address};
    OK(launch(kernel(module, "poke"), 1, 1, 0, arguments)); /* the host sees what a kernel wrote */
    CHECK(((unsigned *)pinned)[2] == 1 && ((unsigned *)pinned)[1] == 0 && ((unsigned *)pinned)[3] == 0);
    OK(call_cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)pinned));
    CHECK(type == CU_MEMORYTYPE_HOST);
    OK(call_cuPointerGetAttribute(&back, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (CUdeviceptr)(uintptr_t)pinned + 8));
    CHECK(back == address);
    FAILS(INVALID_VALUE, call_cuMemFree(address - 8));
    FAILS(INVALID_VALUE, call_cuMemFreeHost((char *)pinned + 8));
    OK(call_cuMemFreeHost(pinned));
    FAILS(INVALID_VALUE, call_cuMemFreeHost(pinned));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoH(&type, address, 4));

    static char own[4096];
    OK(call_cuMemHostRegister(own, sizeof own, 0));
    FAILS(HOST_MEMORY_ALREADY_REGISTERED, call_cuMemHostRegister(own + 100, 4, 0));
    FAILS(NOT_SUPPORTED, call_cuMemHostRegister(&flags, 4, CU_MEMHOSTREGISTER_IOMEMORY));
    OK(call_cuMemHostGetDevicePointer(&address, own + 4, 0));
    CHECK(address == (uintptr_t)own + 4);
    FAILS(INVALID_VALUE, call_cuMemFreeHost(own));
    FAILS(INVALID_VALUE, call_cuMemHostUnregister(own + 1));
    OK(call_cuMemHostUnregister(own));
    FAILS(HOST_MEMORY_NOT_REGISTERED, call_cuMemHostUnregister(own));
    FAILS(INVALID_VALUE, call_cuMemAllocManaged(&address, 4, 0));
    OK(call_cuMemAllocHost(&pinned, 16)); /* the memory ends with the context */
    close_device();
}

static void test_pointers(void)
{
    open_device();
    CUdeviceptr memory = 0, start = 0;
    size_t size = 0;
    unsigned type = 99;
    CUcontext owner = NULL;
    bool mapped = false;
    OK(call_cuMemAlloc(&memory, 1000));
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
                                    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                    CU_POINTER_ATTRIBUTE_MAPPED};
    void *out[] = {&type, &owner, &start, &size, &mapped};
    OK(call_cuPointerGetAttributes(5, wanted, out, memory + 10));
    CHECK(type == CU_MEMORYTYPE_DEVICE && owner == primary && start == memory && size == 1000 && mapped);
    OK(call_cuPointerGetAttributes(5, wanted, out, (CUdeviceptr)(uintptr_t)&size)); /* unknown: zeros */
    CHECK(type == 0 && owner == NULL && start == 0 && size == 0 && !mapped);
    FAILS(INVALID_VALUE, call_cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0x10));
    FAILS(INVALID_VALUE, call_cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory));
    FAILS(INVALID_VALUE, call_cuPointerGetAttribute(&type, (CUpointer_attribute)999, memory));

    /* either side may be the host or the device */
    unsigned char in[16] = "fifteen letters", got[16] = "";
    OK(call_cuMemcpy(memory, (CUdeviceptr)(uintptr_t)in, 16));
    OK(call_cuMemcpyAsync((CUdeviceptr)(uintptr_t)got, memory, 16, NULL));
    CHECK(memcmp(in, got, 16) == 0);
    FAILS(INVALID_VALUE, call_cuMemcpy(memory + 990, (CUdeviceptr)(uintptr_t)in, 16));
    FAILS(INVALID_VALUE, call_cuMemcpy(memory + (1u << 20), (CUdeviceptr)(uintptr_t)in, 16));
    FAILS(INVALID_VALUE, call_cuMemcpy(0, memory, 16));

    CUmemoryPool pool = NULL;
    cuuint64_t used = 0;
    CUdeviceptr more = 0;
    OK(call_cuDeviceGetDefaultMemPool(&pool, device));
    OK(call_cuMemAllocFromPoolAsync(&more, 100, pool, NULL));
    OK(call_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used == 100);
    OK(call_cuMemFreeAsync(more, NULL));
    FAILS(INVALID_VALUE, call_cuMemFreeAsync(more, NULL));
    FAILS(INVALID_HANDLE, call_cuMemAllocAsync(&more, 100, (CUstream)(uintptr_t)0x12340));
    OK(call_cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
    CHECK(used == 100);
    used = 1 << 20;
    OK(call_cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &used));
    FAILS(INVALID_VALUE, call_cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
    FAILS(INVALID_VALUE, call_cuMemPoolTrimTo(NULL, 0));
    close_device();
}

static void test_pitch(void)
{
    open_device();
    CUdeviceptr memory = 0;
    size_t pitch = 0;
    unsigned char in[6][10], out[6][10];
    FAILS(INVALID_VALUE, call_cuMemAllocPitch(&memory, &pitch, 10, 6, 5));
    FAILS(INVALID_VALUE, call_cuMemAllocPitch(&memory, &pitch, 0, 6, 4));
    FAILS(OUT_OF_MEMORY, call_cuMemAllocPitch(&memory, &pitch, SIZE_MAX / 2, 6, 4));
    OK(call_cuMemAllocPitch(&memory, &pitch, 10, 6, 4));
    CHECK(pitch == 512);
    for (int i = 0; i < 60; i++)
        in[i / 10][i % 10] = (unsigned char)i;
    OK(call_cuMemsetD2D8(memory, pitch, 0xee, 10, 6));
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = in,
                          .srcPitch = 10,
                          .srcXInBytes = 2,
                          .srcY = 1,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = memory,
                          .dstPitch = pitch,
                          .dstXInBytes = 3,
                          .dstY = 2,
                          .WidthInBytes = 5,
                          .Height = 4};
    OK(call_cuMemcpy2D(&copy));
    CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = memory,
                          .srcPitch = pitch,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .dstPitch = 10,
                          .WidthInBytes = 10,
                          .Height = 6};
    OK(call_cuMemcpy2DAsync(&back, NULL));
    bool same = true;
    for (int y = 0; y < 6; y++)
        for (int x = 0; x < 10; x++) {
            bool inside = y >= 2 && x >= 3 && x < 8;
            same = same && out[y][x] == (inside ? in[y - 1][x - 1] : 0xee);
        }
    CHECK(same);
    copy.Height = 5; /* the last row has 8 bytes, not 512 */
    copy.srcY = 0;
    copy.dstY = 1;
    OK(call_cuMemcpy2D(&copy));
    copy.dstY = 2;
    FAILS(INVALID_VALUE, call_cuMemcpy2D(&copy));
    copy.Height = SIZE_MAX;
    FAILS(INVALID_VALUE, call_cuMemcpy2D(&copy));
    copy.Height = 4;
    copy.srcPitch = 6;
    FAILS(INVALID_VALUE, call_cuMemcpy2D(&copy));
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    FAILS(INVALID_HANDLE, call_cuMemcpy2D(&copy));
    FAILS(INVALID_VALUE, call_cuMemcpy2D(NULL));

    OK(call_cuMemsetD2D32(memory + 4, pitch, 0x01020304, 1, 6));
    OK(call_cuMemsetD2D16Async(memory, pitch, 0x0506, 2, 1, NULL));
    OK(call_cuMemcpy2D(&back));
    static const unsigned char first[] = {6, 5, 6, 5, 4, 3, 2, 1}, last[] = {0xee, 0xee, 0xee, 0xee, 4, 3, 2, 1};
    CHECK(memcmp(out[0], first, 8) == 0 && memcmp(out[5], last, 3) == 0 && memcmp(out[5] + 4, last + 4, 4) == 0);
    FAILS(INVALID_VALUE, call_cuMemsetD2D32(memory, pitch + 2, 0, 1, 2));
    FAILS(INVALID_VALUE, call_cuMemsetD2D8(memory, pitch, 0, 10, 7));
    FAILS(INVALID_VALUE, call_cuMemsetD2D8(memory, SIZE_MAX / 2, 0, 10, 7));

    /* copies two slices, each of three rows of four bytes, out of 6 rows of 10 bytes */
    CUDA_MEMCPY3D solid = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = in,
                           .srcPitch = 10,
                           .srcHeight = 3,
                           .srcXInBytes = 1,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = memory,
                           .dstPitch = 4,
                           .dstHeight = 3,
                           .WidthInBytes = 4,
                           .Height = 3,
                           .Depth = 2};
    unsigned char packed[24];
    OK(call_cuMemcpy3D(&solid));
    OK(call_cuMemcpyDtoH(packed, memory, 24));
    same = true;
    for (int i = 0; i < 24; i++)
        same = same && packed[i] == in[i / 4][1 + i % 4];
    CHECK(same);
    solid.dstHeight = 2;
    FAILS(INVALID_VALUE, call_cuMemcpy3D(&solid));
    solid.Depth = 0;
    OK(call_cuMemcpy3DAsync(&solid, NULL));
    close_device();
}

static void test_memory_limit(void)
{
    setenv("KILN_SIM_MEMORY", "1048576", 1);
    open_device();
    size_t free_bytes = 0, total = 0;
    CUdeviceptr pointer = 0;
    OK(call_cuMemGetInfo(&free_bytes, &total));
    CHECK(total == 1048576);
    FAILS(OUT_OF_MEMORY, call_cuMemAlloc(&pointer, 1048577));
    OK(call_cuMemAlloc(&pointer, 524288));
    close_device();
    unsetenv("KILN_SIM_MEMORY");
}

static const check_case cases[] = {{"memory", test_memory},
                                   {"host memory", test_host_memory},
                                   {"pointers and pools", test_pointers},
                                   {"pitch", test_pitch},
                                   {"memory limit", test_memory_limit}};
CU_SUITE("sim cu memory", cases)
