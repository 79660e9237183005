/* ipc.c - shares memory and events with other processes of this host. Exported memory becomes the content of a file
 * without a name. The handle tells the place of the file in /proc, where only processes of the same user may open it.
 * The memory exists as long as a process maps the file, so nothing remains after all processes have ended.
 *
 * On the simulated device a call returns only after the work that it enqueues is done. So an event of another process
 * never marks unfinished work, and an opened event is always complete. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cu_graph.h"
#include "vm_guard.h"

enum { IPC_MEMORY = 0x6d70694b, IPC_EVENT = 0x6570694b };

/* The content of a CUipcMemHandle or a CUipcEventHandle. */
typedef struct ipc_handle {
    uint32_t mark;
    int32_t process, file;
    uint32_t zero;
    uint64_t born; /* start time of the process, because the system reuses process numbers */
    uint64_t inode, bytes, event;
} ipc_handle;
_Static_assert(sizeof(ipc_handle) <= CU_IPC_HANDLE_SIZE, "it fits into the driver's handle");

/* Memory that another process exported and this process opened. */
typedef struct sim_import {
    sim_object object;
    ipc_handle from;
    uint64_t base;
    void *host;
    unsigned opened; /* number of times that the program has opened the memory */
} sim_import;

/* Returns the time at which a process began, in ticks since the start of the host. Returns 0 if there is no such
 * process. */
static uint64_t get_birth(int32_t process)
{
    enum { START = 20 }; /* number of fields after the name of the process, which may contain any characters */
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%" PRId32 "/stat", process);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    const char *at = strrchr(text, ')');
    /* state Z or X means that the process has ended, and its parent has not collected its status */
    if (at && (at[1] != ' ' || at[2] == 'Z' || at[2] == 'X'))
        return 0;
    for (int field = 0; at && field < START; field++)
        at = strchr(at + 1, ' ');
    uint64_t born = 0;
    return at && sscanf(at, "%" SCNu64, &born) == 1 ? born : 0;
}

static ipc_handle make_handle(uint32_t mark)
{
    const int32_t process = (int32_t)getpid();
    return (ipc_handle){.mark = mark, .process = process, .born = get_birth(process)};
}

/* Returns true if the process that made the handle still runs. The start time distinguishes this process from a later
 * process with the same number. */
static bool is_alive(const ipc_handle *from) { return from->born && get_birth(from->process) == from->born; }

static bool is_same(const ipc_handle *a, const ipc_handle *b) { return memcmp(a, b, sizeof *a) == 0; }

CUresult sim_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer)
{
    sim_context *context;
    struct stat info;
    SIM_TRY(sim_begin_work(&context));
    vm_info about;
    sim_context *home = sim_home(context, pointer);
    if (!handle || !vm_about(home->device, pointer, &about) || about.variable || about.shared || about.owner != 0)
        /* only memory of cuMemAlloc can be shared by cuIpcGetMemHandle() */
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    const int file = vm_share_memory(home->device, pointer);
    if (file < 0 || fstat(file, &info) != 0)
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    ipc_handle made = make_handle(IPC_MEMORY);
    made.file = file;
    made.inode = info.st_ino;
    made.bytes = about.bytes;
    *handle = (CUipcMemHandle){{0}};
    memcpy(handle, &made, sizeof made);
    return sim_end_work(context, CUDA_SUCCESS);
}

static void import_drop(sim_object *object)
{
    const sim_import *import = (const sim_import *)object;
    vm_guard_unmap(import->host, (size_t)import->from.bytes);
}

/* Opens the file of the other process. Returns -1 if the file no longer exists, belongs to another user, or is not
 * memory of a device. These tests are needed because a handle may contain anything. This process must not change other
 * files, and must not crash if another process truncates such a file. */
static int open_file(const ipc_handle *from)
{
    enum { PAST_MOST = 4096 }; /* the file consists of whole pages */
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%" PRId32 "/fd/%" PRId32, from->process, from->file);
    if (!is_alive(from) || stat(path, &info) != 0 ||
        !S_ISREG(info.st_mode)) /* the test comes before open(), because opening a device file may have side effects */
        return -1;
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file >= 0 && fstat(file, &info) == 0 && info.st_ino == from->inode &&
        (uint64_t)info.st_size - from->bytes < PAST_MOST && (uint64_t)info.st_size >= from->bytes &&
        fcntl(file, F_GET_SEALS) == VM_FILE_SEALS)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

static sim_import *find_import(const sim_context *context, const ipc_handle *from, uint64_t base)
{
    for (sim_object *object = context->objects; object; object = object->next) {
        sim_import *import = (sim_import *)object;
        if (object->kind == SIM_IMPORT && (from ? is_same(&import->from, from) : import->base == base))
            return import;
    }
    return NULL;
}

/* Maps the file of memory that another process exported, and makes the memory an allocation. */
static CUresult map_import(sim_context *context, const ipc_handle *from, CUdeviceptr *pointer)
{
    enum { ALIGN = 2 << 20 };
    const int file = open_file(from);
    if (file < 0)
        return CUDA_ERROR_INVALID_HANDLE;
    void *host = vm_guard_map((size_t)from->bytes, file, 0);
    close(file);
    if (!host)
        return CUDA_ERROR_MAP_FAILED;
    const uint64_t base = vm_reserve(context->device, from->bytes, ALIGN);
    sim_import *made = base && vm_adopt(context->device, base, host, from->bytes, false)
                           ? sim_object_new(context, SIM_IMPORT, sizeof *made)
                           : NULL;
    if (!made) {
        if (base)
            vm_free(context->device, base);
        vm_guard_unmap(host, (size_t)from->bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->object.drop = import_drop;
    made->from = *from;
    made->base = base;
    made->host = host;
    made->opened = 1;
    vm_set_owner(context->device, base, made->object.handle);
    vm_set_outside(context->device, base);
    *pointer = base;
    return CUDA_SUCCESS;
}

CUresult sim_cuIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned flags)
{
    sim_context *context;
    ipc_handle from;
    SIM_TRY(sim_begin_work(&context));
    memcpy(&from, &handle, sizeof from);
    if (!pointer || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (from.mark != IPC_MEMORY || from.process <= 0 || from.file < 0 || from.zero || from.event || from.bytes == 0 ||
        from.bytes > SIZE_MAX / 2)
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    /* the memory belongs to this process itself; NVIDIA's driver returns the same error */
    if (from.process == (int32_t)getpid())
        return sim_end_work(context, CUDA_ERROR_INVALID_CONTEXT);
    sim_import *known = find_import(context, &from, 0);
    if (known) {
        known->opened++;
        *pointer = known->base;
    }
    return sim_end_work(context, known ? CUDA_SUCCESS : map_import(context, &from, pointer));
}

CUresult sim_cuIpcCloseMemHandle(CUdeviceptr pointer)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    sim_context *home = sim_home(context, pointer);
    sim_import *import = find_import(home, NULL, pointer);
    if (import && --import->opened == 0) {
        vm_free(home->device, import->base);
        sim_object_free(home, import);
    }
    return sim_end_work(context, import ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    const sim_event *found = sim_object_find(sim_follow(context, event, SIM_EVENT), event, SIM_EVENT);
    if (!found || !(found->flags & CU_EVENT_INTERPROCESS))
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    if (!handle)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    ipc_handle made = make_handle(IPC_EVENT);
    made.event = found->object.handle;
    *handle = (CUipcEventHandle){{0}};
    memcpy(handle, &made, sizeof made);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
    ipc_handle from;
    memcpy(&from, &handle, sizeof from);
    if (!event)
        return CUDA_ERROR_INVALID_VALUE;
    if (from.mark != IPC_EVENT || from.process <= 0 || from.file || from.zero || !from.event || from.inode ||
        from.bytes || !is_alive(&from))
        return CUDA_ERROR_INVALID_HANDLE;
    return sim_cuEventCreate(event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
}
