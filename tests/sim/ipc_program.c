/* Tests memory, events and pools of another process on the simulated device's libcuda.so.1. This process makes them. A
 * child that it forks before it initialises the driver uses them. The program prints each error, and ends with 0 if all
 * calls were right. */
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    /* p[i] += 1 */
    ".visible .entry next(.param .u64 p)\n{\n"
    " .reg .b32 %r<3>; .reg .b64 %d<3>;\n"
    " ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mad.wide.u32 %d2, %r1, 4, %d1;\n"
    " ld.global.u32 %r2, [%d2]; add.u32 %r2, %r2, 1; st.global.u32 [%d2], %r2; ret;\n}\n"
    /* waits until *p is 7 */
    ".visible .entry wait(.param .u64 p)\n{\n"
    " .reg .pred %q; .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
    " ld.param.u64 %d1, [p];\nL: ld.volatile.global.u32 %r1, [%d1]; setp.ne.u32 %q, %r1, 7; @%q bra L; ret;\n}\n";

static int wrong;
static const char *who;
static void check(int line, int right, const char *what)
{
    if (!right) {
        printf("%s, line %d: %s\n", who, line, what);
        fflush(stdout);
        wrong++;
    }
}
#define CHECK(condition) check(__LINE__, (condition), #condition)
#define OK(call) CHECK((call) == CUDA_SUCCESS)
#define IS(call, error) CHECK((call) == (error))

enum { N = 300 /* N numbers do not fill whole pages */, LONGEST = 64 << 20 };
typedef struct message {
    CUipcMemHandle memory, gone;
    CUipcEventHandle event;
    int file;
    uint64_t inode; /* the inode of an ordinary file */
} message;

static CUfunction next, wait_for;

static void set_up(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&next, module, "next"));
    OK(cuModuleGetFunction(&wait_for, module, "wait"));
}

static void run(CUfunction function, CUdeviceptr p, unsigned threads)
{
    void *arguments[] = {&p};
    OK(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL));
    OK(cuCtxSynchronize());
}

static void say(int to) { CHECK(write(to, "x", 1) == 1); }

/* Waits for a byte from the other process. Returns false if that process has ended. */
static int hear(int from)
{
    char byte;
    return read(from, &byte, 1) == 1;
}

static void pass_file(int to, int file)
{
    char room[CMSG_SPACE(sizeof file)] = {0}, byte = 'f';
    struct iovec data = {&byte, 1};
    struct msghdr whole = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&whole);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(head), &file, sizeof file);
    CHECK(sendmsg(to, &whole, 0) == 1);
}

static int take_file(int from)
{
    int file = -1;
    char room[CMSG_SPACE(sizeof file)] = {0}, byte;
    struct iovec data = {&byte, 1};
    struct msghdr whole = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    CHECK(recvmsg(from, &whole, 0) == 1);
    const struct cmsghdr *head = CMSG_FIRSTHDR(&whole);
    if (head && head->cmsg_type == SCM_RIGHTS)
        memcpy(&file, CMSG_DATA(head), sizeof file);
    return file;
}

/* ---- physical memory, passed by a file descriptor ---- */

static const CUmemAllocationProp shareable = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                              .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                              .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};

static CUdeviceptr map_all(CUmemGenericAllocationHandle handle, size_t bytes)
{
    CUdeviceptr at = 0;
    CUmemAccessDesc all = {shareable.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    OK(cuMemMap(at, bytes, 0, handle, 0));
    OK(cuMemSetAccess(at, bytes, &all, 1));
    return at;
}

static void unmap_all(CUmemGenericAllocationHandle handle, CUdeviceptr at, size_t bytes)
{
    OK(cuMemUnmap(at, bytes));
    OK(cuMemAddressFree(at, bytes));
    OK(cuMemRelease(handle));
}

static void give_physical(int other)
{
    CUmemGenericAllocationHandle handle, plain;
    CUmemAllocationProp alone = shareable;
    size_t bytes = 0;
    unsigned value = 0;
    int file = -1;
    OK(cuMemGetAllocationGranularity(&bytes, &shareable, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    alone.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    OK(cuMemCreate(&plain, bytes, &alone, 0));
    IS(cuMemExportToShareableHandle(&file, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
       CUDA_ERROR_INVALID_VALUE); /* the memory was not made with a type of handle */
    OK(cuMemRelease(plain));
    OK(cuMemCreate(&handle, bytes, &shareable, 0));
    CUdeviceptr at = map_all(handle, bytes);
    OK(cuMemsetD32(at, 50, 8));
    OK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    pass_file(other, file);
    close(file);
    CHECK(hear(other));
    OK(cuMemcpyDtoH(&value, at + 28, 4));
    CHECK(value == 51);
    unmap_all(handle, at, bytes);
}

static void use_physical(int other)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop;
    size_t bytes = 0;
    int file = take_file(other);
    OK(cuMemGetAllocationGranularity(&bytes, &shareable, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    IS(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)other, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
       CUDA_ERROR_INVALID_VALUE); /* a socket */
    char name[64] = "/proc/self/fd/", target[128] = "";
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    CHECK(readlink(name, target, sizeof target - 1) > 0);
    target[strcspn(target, " ")] = '\0';
    /* the name is right, but the file's end may change */
    const int open_end = memfd_create(strchr(target, ':') + 1, 0);
    CHECK(open_end >= 0 && ftruncate(open_end, (off_t)bytes) == 0);
    IS(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)open_end, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
       CUDA_ERROR_INVALID_VALUE);
    close(open_end);
    OK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(file);
    OK(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
    CHECK(prop.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && prop.location.id == 0);
    CUdeviceptr at = map_all(handle, bytes);
    run(next, at, 8);
    unmap_all(handle, at, bytes);
    say(other);
}

/* ---- pools, passed by a file descriptor, and their memory, passed by a structure ---- */

enum { PART = 5000 }; /* in bytes: more than a page, but not a whole number of pages */
typedef struct parts {
    CUmemPoolPtrExportData memory, second, gone;
} parts;

static CUresult make_pool(CUmemoryPool *pool, CUmemAllocationHandleType types)
{
    const CUmemPoolProps props = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .handleTypes = types, .location = shareable.location};
    return cuMemPoolCreate(pool, &props);
}

static void give_pool(int other)
{
    const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemoryPool pool, plain, usual;
    CUdeviceptr memory, second, gone, alone;
    CUmemPoolPtrExportData unused;
    parts sent;
    uint64_t types = 0;
    unsigned values[PART / 4], none = 0;
    int file = -1;
    OK(make_pool(&plain, CU_MEM_HANDLE_TYPE_NONE));
    OK(cuDeviceGetDefaultMemPool(&usual, 0));
    /* the memory was not made with a type of handle */
    IS(cuMemPoolExportToShareableHandle(&file, plain, type, 0), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemPoolExportToShareableHandle(&file, usual, type, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocFromPoolAsync(&alone, PART, plain, NULL));
    IS(cuMemPoolExportPointer(&unused, alone), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeAsync(alone, NULL));
    OK(make_pool(&pool, type));
    IS(cuMemPoolExportToShareableHandle(&file, pool, type, 1), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemPoolExportToShareableHandle(&file, pool, CU_MEM_HANDLE_TYPE_FABRIC, 0), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemPoolExportToShareableHandle(NULL, pool, type, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolExportToShareableHandle(&file, pool, type, 0)); /* the pool is exported while it is empty */
    OK(cuMemAllocFromPoolAsync(&memory, PART, pool, NULL));
    OK(cuMemAllocFromPoolAsync(&gone, PART, pool, NULL));
    OK(cuMemAllocFromPoolAsync(&second, 4, pool, NULL));
    IS(cuMemAllocFromPoolAsync(&alone, LONGEST, pool, NULL), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAllocFromPoolAsync(&alone, PART, plain, NULL));
    OK(cuMemsetD32(memory, 70, PART / 4));
    OK(cuMemsetD32(second, 80, 1));
    OK(cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, memory));
    CHECK(types == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    OK(cuMemPoolExportPointer(&sent.memory, memory));
    OK(cuMemPoolExportPointer(&sent.second, second));
    OK(cuMemPoolExportPointer(&sent.gone, gone));
    IS(cuMemPoolExportPointer(NULL, memory), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemPoolExportPointer(&unused, 16), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeAsync(gone, NULL));
    IS(cuMemPoolExportPointer(&unused, gone), CUDA_ERROR_INVALID_VALUE);
    pass_file(other, file);
    close(file);
    CHECK(write(other, &sent, sizeof sent) == (ssize_t)sizeof sent);
    CHECK(hear(other));
    OK(cuMemcpyDtoH(values, memory, PART));
    CHECK(values[0] == 71 && values[7] == 71 && values[8] == 70);
    OK(cuMemFree(memory));
    OK(cuMemcpyDtoH(&none, second, 4)); /* the other allocation of the pool still has its value */
    CHECK(none == 80);
    say(other);
    OK(cuMemPoolDestroy(pool));
    IS(cuMemPoolExportPointer(&unused, second), CUDA_ERROR_INVALID_VALUE);
    CHECK(hear(other));
    OK(cuMemcpyDtoH(&none, second, 4)); /* memory outlives its pool, in both processes */
    CHECK(none == 81);
    OK(cuMemFree(second));
    OK(cuMemFreeAsync(alone, NULL));
    OK(cuMemPoolDestroy(plain));
}

static void use_pool(int other)
{
    const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemoryPool pool, own, got;
    CUdeviceptr at = 0, second = 0;
    CUmemPoolPtrExportData data;
    parts sent;
    cuuint64_t used = 1;
    unsigned value = 0;
    int file = take_file(other);
    CHECK(read(other, &sent, sizeof sent) == (ssize_t)sizeof sent);
    IS(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)other, type, 0), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)file, type, 1), CUDA_ERROR_INVALID_VALUE);
    char name[64], target[128] = "";
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    CHECK(readlink(name, target, sizeof target - 1) > 0);
    target[strcspn(target, " ")] = '\0';
    struct stat info;
    CHECK(fstat(file, &info) == 0);
    const int open_end = memfd_create(strchr(target, ':') + 1,
                                      MFD_ALLOW_SEALING); /* the name is right, but the file's end may change */
    CHECK(open_end >= 0 && ftruncate(open_end, info.st_size) == 0);
    IS(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)open_end, type, 0), CUDA_ERROR_INVALID_VALUE);
    close(open_end);
    OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)file, type, 0));
    close(file);
    /* only the process that made a shared pool can allocate from it */
    IS(cuDeviceSetMemPool(0, pool), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemAllocFromPoolAsync(&at, 4, pool, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemPoolExportToShareableHandle(&file, pool, type, 0), CUDA_ERROR_INVALID_VALUE);
    OK(make_pool(&own, type));
    IS(cuMemPoolImportPointer(&at, own, &sent.memory), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolDestroy(own));
    IS(cuMemPoolImportPointer(&at, pool, &sent.gone), CUDA_ERROR_INVALID_VALUE); /* the memory was freed */
    for (size_t bit = 0; bit < 8 * sizeof data; bit++) {
        data = sent.memory;
        data.reserved[bit / 8] ^= (unsigned char)(1u << bit % 8);
        IS(cuMemPoolImportPointer(&at, pool, &data), CUDA_ERROR_INVALID_VALUE);
    }
    OK(cuMemPoolImportPointer(&at, pool, &sent.memory));
    OK(cuMemPoolImportPointer(&second, pool, &sent.second));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used == PART + 4);
    OK(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at));
    CHECK(got == pool);
    OK(cuMemcpyDtoH(&value, at + PART - 4, 4));
    CHECK(value == 70);
    IS(cuMemcpyDtoH(&value, at + PART - 2, 4), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemPoolExportPointer(&data, at), CUDA_ERROR_INVALID_VALUE); /* another process made the pool */
    run(next, at, 8);
    OK(cuMemFreeAsync(at, NULL));
    IS(cuMemFree(at), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used == 4);
    say(other);
    CHECK(hear(other));
    /* the process that made the memory has freed it */
    IS(cuMemPoolImportPointer(&at, pool, &sent.memory), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolDestroy(pool));
    run(next, second, 1);
    OK(cuMemcpyDtoH(&value, second, 4));
    CHECK(value == 81);
    OK(cuMemFree(second));
    say(other);
}

/* ---- forged handles: each is an error ---- */

/* the layout of a handle is the same as in engine/sim/programs/ipc.c */
typedef struct inside {
    uint32_t mark;
    int32_t process, file;
    uint32_t zero;
    uint64_t born, inode, bytes, event;
} inside;

static CUresult try_memory(const inside *what)
{
    CUipcMemHandle handle = {{0}};
    CUdeviceptr at;
    memcpy(&handle, what, sizeof *what);
    return cuIpcOpenMemHandle(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static CUresult try_event(const inside *what)
{
    CUipcEventHandle handle = {{0}};
    CUevent event;
    memcpy(&handle, what, sizeof *what);
    return cuIpcOpenEventHandle(&event, handle);
}

/* `file` is an ordinary file of the process that makes the handle. The driver refuses an ordinary file, because another
 * process could truncate it. */
static void forge(const message *got, int file, uint64_t inode)
{
    const CUresult error = CUDA_ERROR_INVALID_HANDLE;
    inside memory, event, other;
    memcpy(&memory, &got->memory, sizeof memory);
    memcpy(&event, &got->event, sizeof event);
    for (size_t bit = 0; bit < 8 * sizeof memory; bit++) {
        other = memory;
        ((unsigned char *)&other)[bit / 8] ^= (unsigned char)(1u << bit % 8);
        /* a size that is slightly smaller is accepted, because the file has whole pages */
        const int inner = bit / 8 >= offsetof(inside, bytes) && bit / 8 < offsetof(inside, event);
        if (!inner)
            CHECK(try_memory(&other) != CUDA_SUCCESS);
        other = event;
        ((unsigned char *)&other)[bit / 8] ^= (unsigned char)(1u << bit % 8);
        /* these bits are not tested: every event of a live process counts as complete, and two processes may begin at
         * one moment */
        if (bit / 8 < offsetof(inside, event) &&
            (bit / 8 < offsetof(inside, process) || bit / 8 >= offsetof(inside, file)))
            IS(try_event(&other), error);
    }
    other = memory;
    other.bytes = UINT64_MAX / 2;
    IS(try_memory(&other), error);
    other.bytes = memory.bytes + (1 << 20);
    IS(try_memory(&other), error);
    other = memory;
    other.file = file;
    other.inode = inode;
    other.bytes = 4096;
    IS(try_memory(&other), error);
    other = event;
    other.process = INT32_MAX; /* no process has this id, and no process began at time 0 */
    other.born = 0;
    IS(try_event(&other), error);
}

/* ---- the two processes ---- */

static void use(int other, pid_t giver)
{
    message got;
    CUdeviceptr at = 0, again = 0, none = 0;
    CUevent event;
    CUipcMemHandle invented = {{1, 2, 3}};
    unsigned values[N], seven = 7;
    int status = 1;
    bool capable = true;
    CHECK(read(other, &got, sizeof got) == (ssize_t)sizeof got);
    set_up();
    IS(cuIpcOpenMemHandle(&at, got.memory, 0), CUDA_ERROR_INVALID_VALUE);
    IS(cuIpcOpenMemHandle(&none, got.gone, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_HANDLE);
    IS(cuIpcOpenMemHandle(&none, invented, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_HANDLE);
    forge(&got, got.file, got.inode);
    OK(cuIpcOpenMemHandle(&at, got.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuIpcOpenMemHandle(&again, got.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CHECK(again == at);
    OK(cuMemcpyDtoH(values, at, sizeof values));
    CHECK(values[0] == 20 && values[N - 1] == 20);
    IS(cuMemFree(at), CUDA_ERROR_INVALID_VALUE);
    /* the driver knows the end of the memory, so it refuses a copy beyond the end */
    IS(cuMemcpyDtoH(values, at + 4, sizeof values), CUDA_ERROR_INVALID_VALUE);
    OK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
    CHECK(!capable);
    OK(cuIpcOpenEventHandle(&event, got.event));
    OK(cuStreamWaitEvent(NULL, event, 0));
    run(next, at, N);
    OK(cuEventRecord(event, NULL));
    OK(cuIpcCloseMemHandle(at)); /* the memory was opened twice */
    say(other);
    CHECK(hear(other)); /* a kernel of the other process waits for this write */
    OK(cuMemcpyHtoD(at, &seven, 4));
    use_physical(other);
    use_pool(other);
    CHECK(!hear(other)); /* the other process has ended, but the memory still exists here */
    CHECK(waitpid(giver, &status, 0) == giver && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(cuMemcpyDtoH(values, at, sizeof values));
    CHECK(values[0] == 7 && values[N - 1] == 21);
    OK(cuIpcCloseMemHandle(at));
    IS(cuIpcCloseMemHandle(at), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemcpyDtoH(values, at, sizeof values), CUDA_ERROR_INVALID_VALUE);
    IS(cuIpcOpenMemHandle(&at, got.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_HANDLE);
    IS(cuIpcOpenEventHandle(&event, got.event), CUDA_ERROR_INVALID_HANDLE);
}

static void give(int other)
{
    message sent = {0};
    CUdeviceptr memory, gone, none = 0;
    CUevent event, plain;
    CUipcMemHandle handle;
    unsigned values[N];
    void *pinned;
    bool capable = false;
    /* The files of shared memory are ordinary files. Under a limit on file sizes, this process cannot make such a file,
     * but the other process can. */
    CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){LONGEST, LONGEST}) == 0);
    set_up();
    OK(cuMemAlloc(&gone, 64));
    OK(cuIpcGetMemHandle(&sent.gone, gone));
    OK(cuMemFree(gone));
    OK(cuMemAlloc(&memory, sizeof values));
    OK(cuMemsetD32(memory, 20, N));
    OK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory));
    CHECK(capable);
    OK(cuIpcGetMemHandle(&sent.memory, memory));
    OK(cuIpcGetMemHandle(&handle, memory + 8));
    CHECK(memcmp(&handle, &sent.memory, sizeof handle) == 0);
    IS(cuIpcOpenMemHandle(&none, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_CONTEXT); /* its own */
    OK(cuMemHostAlloc(&pinned, 64, 0));
    IS(cuIpcGetMemHandle(&handle, (uintptr_t)pinned), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(pinned));
    OK(cuMemcpyDtoH(values, memory, sizeof values));
    CHECK(values[0] == 20 && values[N - 1] == 20); /* the contents are the same as before the memory was shared */
    IS(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    IS(cuIpcGetEventHandle(&sent.event, plain), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, NULL));
    OK(cuIpcGetEventHandle(&sent.event, event));
    struct stat info;
    FILE *ordinary = tmpfile();
    CHECK(ordinary && ftruncate(fileno(ordinary), 4096) == 0 && fstat(fileno(ordinary), &info) == 0);
    sent.file = fileno(ordinary);
    sent.inode = info.st_ino;
    CHECK(write(other, &sent, sizeof sent) == (ssize_t)sizeof sent);
    CHECK(hear(other));
    OK(cuEventSynchronize(event));
    OK(cuMemcpyDtoH(values, memory, sizeof values));
    CHECK(values[0] == 21 && values[N - 1] == 21);
    say(other);
    run(wait_for, memory, 1);
    give_physical(other);
    give_pool(other);
    fflush(stdout);
    _exit(wrong > 0); /* ends the process in the middle of its work, before it frees anything */
}

int main(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
    pid_t giver = fork();
    if (giver == 0) {
        close(pair[1]);
        who = "giver";
        give(pair[0]);
    }
    close(pair[0]);
    who = "user";
    use(pair[1], giver);
    return wrong > 0;
}
