/* random_team.c - calls of random_program.c that concern several devices or two processes. They use multicast objects
 * and kernels with multimem, virtual memory that all devices may access, and handles of memory, events and pools. The
 * two processes write handles to a shared page. One process may read a handle while the other one writes it, so a
 * handle may have any bytes. File descriptors go through a socket. */
#include "random_program.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static const char team_text[] =
    ".version 8.1\n.target sm_90\n.address_size 64\n"
    ".visible .entry team(.param .u64 to, .param .u64 own)\n{\n"
    " .reg .b32 %i, %v; .reg .b64 %a, %b, %o;\n"
    " ld.param.u64 %a, [to]; ld.param.u64 %b, [own]; mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;\n"
    " multimem.st.relaxed.sys.global.u32 [%a], %i;\n"
    " multimem.red.relaxed.sys.global.add.u32 [%a], 1;\n"
    " multimem.ld_reduce.relaxed.sys.global.add.u32 %v, [%a];\n"
    " add.u64 %b, %b, %o; st.global.u32 [%b], %v; ret;\n}\n";

/* ---- multicast objects ---- */

static CUmemGenericAllocationHandle new_physical(CUdevice device)
{
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .requestedHandleTypes = pick(2) ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                                                                      : CU_MEM_HANDLE_TYPE_NONE,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CUmemGenericAllocationHandle made = 0;
    return cuMemCreate(&made, PIECE, &prop, 0) == CUDA_SUCCESS ? made : 0;
}

/* Lets all devices access mapped memory. */
static bool open_to_all(CUdeviceptr at)
{
    CUmemAccessDesc access[DEVICES];
    const unsigned count = device_count();
    for (unsigned k = 0; k < count; k++)
        access[k] = (CUmemAccessDesc){{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_at(k)},
                                      pick(12) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ};
    return cuMemSetAccess(at, PIECE, access, count) == CUDA_SUCCESS;
}

/* Makes a multicast object with its devices and memory, so that kernels can use it at once. Usually no device is
 * missing. */
static void make_team(void)
{
    CUmulticastObjectProp prop = {.numDevices = 1 + pick(device_count()), .size = RANGE_BYTES};
    CUmemGenericAllocationHandle team = 0, physical;
    CUdeviceptr at = 0;
    if (cuMulticastCreate(&team, &prop) != CUDA_SUCCESS)
        return;
    keep(TEAM, team);
    for (unsigned k = 0; k < prop.numDevices; k++)
        cuMulticastAddDevice(team, device_at(pick(20) ? k : pick(DEVICES)));
    for (unsigned k = 0; k < prop.numDevices; k++) {
        physical = new_physical(device_at(k));
        cuMulticastBindMem(team, 0, physical, 0, PIECE, 0);
        if (pick(2))
            keep(PHYSICAL, physical);
        else
            cuMemRelease(physical);
    }
    if (cuMemAddressReserve(&at, RANGE_BYTES, 0, 0, 0) != CUDA_SUCCESS)
        return;
    if (cuMemMap(at, PIECE, 0, team, 0) == CUDA_SUCCESS && open_to_all(at))
        keep(TEAM_ADDRESS, at);
    keep(RANGE, at);
}

static void end_team(void)
{
    const CUdeviceptr at = take(pick(2) ? TEAM_ADDRESS : RANGE);
    cuMemUnmap(at, PIECE);
    cuMemUnmap(at + PIECE, PIECE);
    cuMemAddressFree(at, RANGE_BYTES);
    cuMemRelease(take(TEAM));
}

static void change_team(void)
{
    const CUmulticastObjectProp prop = {.numDevices = 1 + pick(DEVICES), .size = (size_t)PIECE * pick(3)};
    const CUmemGenericAllocationHandle team = get(TEAM);
    const size_t offset = (size_t)PIECE * pick(3);
    CUmemGenericAllocationHandle made = 0;
    const CUdeviceptr at = pick(2) ? get(TEAM_ADDRESS) : get(RANGE) + (pick(2) ? PIECE : 0);
    size_t unit;
    switch (pick(11)) {
    case 0: make_team(); break;
    case 1: end_team(); break;
    case 2:
        if (pick(8) == 0) /* calls that bind memory wait until all devices were added */
            KEEP(TEAM, cuMulticastCreate(&made, &prop), made);
        break;
    case 3: cuMulticastAddDevice(team, any_device()); break;
    case 4: cuMulticastBindMem(team, offset, get(PHYSICAL), 0, PIECE, 0); break;
    case 5: cuMulticastBindAddr(team, offset, pick(2) ? get(MEMORY) & ~(CUdeviceptr)(PIECE - 1) : at, PIECE, 0); break;
    case 6: cuMulticastUnbind(team, any_device(), offset, PIECE); break;
    case 7: cuMulticastGetGranularity(&unit, &prop, CU_MULTICAST_GRANULARITY_MINIMUM); break;
    case 8: cuMemMap(at, PIECE, offset, team, 0); break;
    case 9: open_to_all(at); break;
    default: KEEP(TEAM, cuMemRetainAllocationHandle(&made, (void *)(uintptr_t)at), made);
    }
}

static void launch_team(void)
{
    CUdeviceptr to = get(TEAM_ADDRESS), own = get(MEMORY);
    CUmodule module = NULL;
    CUfunction function = NULL;
    CUcontext context = GET(CUcontext, CONTEXT);
    switch (pick(6)) {
    case 0:
        if (cuModuleLoadData(&module, team_text) == CUDA_SUCCESS)
            KEEP(TEAM_FUNCTION, cuModuleGetFunction(&function, module, "team"), function);
        break;
    case 1: cuMemcpyPeer(kernel_address(), context, get(RANGE), context, 1 + pick(9000)); break;
    case 2: cuMemcpyDtoD(get(RANGE), to, 1 + pick(9000)); break;
    case 3: cuMemsetD32Async(to, 7, 1 + pick(9000), any_stream()); break;
    default:
        if (to && own)
            cuLaunchKernel(GET(CUfunction, TEAM_FUNCTION), 1 + pick(2), 1, 1, 32, 1, 1, 0, any_stream(),
                           (void *[]){&to, &own}, NULL);
    }
}

/* ---- two processes ---- */

enum { MAIL = 8, WORDS = 8 };
_Static_assert(sizeof(CUipcMemHandle) == WORDS * 8 && sizeof(CUipcEventHandle) == WORDS * 8 &&
                   sizeof(CUmemPoolPtrExportData) == WORDS * 8,
               "handles of 64 bytes");
typedef struct mail {
    _Atomic uint64_t words[3][MAIL][WORDS]; /* handles of memory, of events, and of memory of pools */
} mail;
static mail *box; /* NULL if this is the only process */
static int line[2];

bool share_team(void)
{
    void *page = mmap(NULL, sizeof(mail), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, line) != 0)
        return false;
    box = page;
    return true;
}

void join_team(bool first) { close(line[first]), line[0] = line[!first]; }

/* Writes a handle to the page, or reads one. Each process also uses the slots of the other process. */
static void post(unsigned what, const void *handle)
{
    uint64_t words[WORDS];
    memcpy(words, handle, sizeof words);
    const unsigned slot = pick(MAIL);
    for (unsigned k = 0; k < WORDS; k++)
        atomic_store_explicit(&box->words[what][slot][k], words[k], memory_order_relaxed);
}
static void fetch(unsigned what, void *handle)
{
    uint64_t words[WORDS];
    const unsigned slot = pick(MAIL);
    for (unsigned k = 0; k < WORDS; k++)
        words[k] = atomic_load_explicit(&box->words[what][slot][k], memory_order_relaxed);
    if (pick(30) == 0)
        words[pick(WORDS)] ^= (uint64_t)1 << pick(64);
    memcpy(handle, words, sizeof words);
}

static void send_file(int file)
{
    char byte = 0;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(head), &file, sizeof file);
    sendmsg(line[0], &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}
static int receive_file(void)
{
    char byte;
    int file = -1;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    if (recvmsg(line[0], &message, MSG_DONTWAIT) == 1 && CMSG_FIRSTHDR(&message))
        memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    return file;
}

static void change_files(void)
{
    const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle physical = 0;
    CUmemoryPool pool = NULL;
    int file = -1;
    switch (pick(4)) {
    case 0:
        if (cuMemExportToShareableHandle(&file, get(PHYSICAL), type, 0) == CUDA_SUCCESS)
            send_file(file);
        break;
    case 1:
        if (cuMemPoolExportToShareableHandle(&file, GET(CUmemoryPool, POOL), type, 0) == CUDA_SUCCESS)
            send_file(file);
        break;
    default: /* a file may be of the other kind */
        file = receive_file();
        if (pick(2))
            KEEP(PHYSICAL, cuMemImportFromShareableHandle(&physical, (void *)(intptr_t)file, type), physical);
        else
            KEEP(POOL, cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)file, type, 0), pool);
    }
    if (file >= 0)
        close(file);
}

static void change_handles(void)
{
    CUipcMemHandle memory;
    CUipcEventHandle event;
    CUmemPoolPtrExportData data;
    CUdeviceptr at = 0;
    CUevent opened = NULL;
    switch (pick(10)) {
    case 0:
    case 1:
        if (cuIpcGetMemHandle(&memory, get(MEMORY)) == CUDA_SUCCESS)
            post(0, &memory);
        break;
    case 2:
    case 3:
        fetch(0, &memory);
        KEEP(FOREIGN, cuIpcOpenMemHandle(&at, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), at);
        if (at && pick(2))
            keep(MEMORY, at);
        break;
    case 4: cuIpcCloseMemHandle(pick(8) ? take(FOREIGN) : get(MEMORY)); break;
    case 5:
        if (cuIpcGetEventHandle(&event, GET(CUevent, EVENT)) == CUDA_SUCCESS)
            post(1, &event);
        break;
    case 6:
        fetch(1, &event);
        KEEP(EVENT, cuIpcOpenEventHandle(&opened, event), opened);
        break;
    case 7:
        if (cuMemPoolExportPointer(&data, get(MEMORY)) == CUDA_SUCCESS)
            post(2, &data);
        break;
    case 8:
        fetch(2, &data);
        KEEP(MEMORY, cuMemPoolImportPointer(&at, GET(CUmemoryPool, POOL), &data), at);
        break;
    default: cuMemcpyDtoDAsync(get(FOREIGN), any_address(), 1 + pick(5000), any_stream());
    }
}

void call_team(void)
{
    static void (*const all[])(void) = {change_team, launch_team, change_handles, change_files};
    all[pick(box ? 4 : 2)]();
}
