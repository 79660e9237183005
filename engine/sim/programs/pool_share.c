/* pool_share.c - pools of memory that processes share. The memory of a pool is one file without a name. The file's
 * descriptor is the handle that a process passes to another process. Each allocation is a part of the file.
 *
 * The page before each part contains the part's record. Another process requests the part with a copy of this record.
 * The copy must be identical to the record in the file. After a part is freed, it has no record. A new part never uses
 * the place of an earlier part: the file is long enough, and unused pages take no memory.
 *
 * Handles and copies of records are untrusted. A wrong handle or record gives an error. This code never changes a file
 * that is not such a pool. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cu_graph.h"
#include "vm_guard.h"

enum { PIECE_PAGE = 4096, PIECE_ALIGN = 2 << 20, PIECE_MARK = 0x6c706f4b };
#define POOL_FILE "kiln-device-pool-"       /* beginning of the file name, before the number of the pool's device */
#define POOL_FILE_BYTES ((uint64_t)1 << 60) /* the file is smaller if the process may not make such large files */

typedef struct piece_record {
    uint32_t mark, zero;
    /* inode of the file, offset of the record's page in it, and size of the memory after that page */
    uint64_t inode, offset, bytes;
    uint64_t none[4];
} piece_record;
_Static_assert(sizeof(piece_record) == sizeof(CUmemPoolPtrExportData), "it is the driver's data");

/* A mapped part. */
typedef struct sim_piece {
    sim_object object;
    piece_record what;
    uint64_t base, pool; /* `pool` is the handle of the pool */
    unsigned char *map;  /* the page with the record, followed by the memory */
    bool own;            /* this process made the part, so freeing the part returns its memory */
} sim_piece;

static uint64_t get_mapped_bytes(const piece_record *what)
{
    return PIECE_PAGE + (what->bytes + PIECE_PAGE - 1) / PIECE_PAGE * PIECE_PAGE;
}

static void piece_drop(sim_object *object)
{
    const sim_piece *piece = (const sim_piece *)object;
    vm_guard_unmap(piece->map, (size_t)get_mapped_bytes(&piece->what));
}

static sim_piece *find_piece(const sim_context *context, uint64_t address)
{
    for (sim_object *object = context->objects; object; object = object->next)
        if (object->kind == SIM_PIECE && ((sim_piece *)object)->base == address)
            return (sim_piece *)object;
    return NULL;
}

/* Maps the part of the pool's file and gives it an address. Returns NULL if memory runs out. */
static sim_piece *map_piece(const sim_pool *pool, const piece_record *what, bool own)
{
    sim_context *context = pool->object.context;
    void *map = vm_guard_map((size_t)get_mapped_bytes(what), pool->file, (off_t)what->offset);
    if (!map)
        return NULL;
    const uint64_t base = vm_reserve(context->device, what->bytes, PIECE_ALIGN);
    sim_piece *made = base && vm_adopt(context->device, base, (unsigned char *)map + PIECE_PAGE, what->bytes,
                                       false) /* the memory comes after the page with the record */
                          ? sim_object_new(context, SIM_PIECE, sizeof *made)
                          : NULL;
    if (!made) {
        if (base)
            vm_free(context->device, base);
        vm_guard_unmap(map, (size_t)get_mapped_bytes(what));
        return NULL;
    }
    made->object.drop = piece_drop;
    made->what = *what;
    made->base = base;
    made->pool = pool->object.handle;
    made->map = map;
    made->own = own;
    vm_set_owner(context->device, base, pool->object.handle);
    vm_set_outside(context->device, base);
    vm_open(context->device, base, pool->open);
    return made;
}

static void pool_drop(sim_object *object) { close(((sim_pool *)object)->file); }

static bool has_file(sim_pool *pool, int file)
{
    struct stat info;
    if (file < 0 || fstat(file, &info) != 0)
        return false;
    pool->shared = true;
    pool->file = file;
    pool->inode = info.st_ino;
    pool->bytes = (uint64_t)info.st_size;
    pool->object.drop = pool_drop;
    return true;
}

bool sim_pool_open(sim_pool *pool, unsigned number)
{
    char name[64];
    snprintf(name, sizeof name, POOL_FILE "%u", number);
    const uint64_t most = vm_file_most();
    const int file = vm_file_new(name, most < POOL_FILE_BYTES ? most : POOL_FILE_BYTES);
    if (has_file(pool, file))
        return true;
    if (file >= 0)
        close(file);
    return false;
}

/* Returns true if the part lies within the file. */
static bool is_inside(const sim_pool *pool, const piece_record *what)
{
    return what->bytes <= pool->bytes && what->offset <= pool->bytes &&
           get_mapped_bytes(what) <= pool->bytes - what->offset;
}

uint64_t sim_pool_take(sim_pool *pool, uint64_t bytes)
{
    vm_device *device = pool->object.context->device;
    const piece_record what = {.mark = PIECE_MARK, .inode = pool->inode, .offset = pool->next, .bytes = bytes};
    if (!is_inside(pool, &what) || !vm_take(device, bytes))
        return 0;
    sim_piece *made = map_piece(pool, &what, true);
    if (!made) {
        vm_give(device, bytes);
        return 0;
    }
    memcpy(made->map, &what, sizeof what);
    pool->next += get_mapped_bytes(&what);
    return made->base;
}

void sim_pool_let(sim_context *context, uint64_t address)
{
    sim_piece *piece = find_piece(context, address);
    if (!piece)
        return;
    if (piece->own) {
        memset(piece->map, 0, sizeof piece->what);
        madvise(piece->map, (size_t)get_mapped_bytes(&piece->what),
                /* if the file system does not support MADV_REMOVE, the memory stays in use until the file is closed */
                MADV_REMOVE);
        vm_give(context->device, piece->what.bytes);
    }
    sim_object_free(context, piece);
}

/* ---- pools ---- */

CUresult sim_cuMemPoolExportToShareableHandle(void *out, CUmemoryPool handle, CUmemAllocationHandleType type,
                                              unsigned long long flags)
{
    sim_context *context;
    SIM_TRY(sim_begin_pool(&context));
    const sim_pool *pool = sim_pool_at(context, handle);
    if (!out || !pool || !pool->shared || pool->imported || flags != 0 ||
        type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    const int file = fcntl(pool->file, F_DUPFD_CLOEXEC, 0);
    if (file >= 0)
        memcpy(out, &file, sizeof file);
    return sim_end(file >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* Returns the place (number on the machine) of the device to which the pool in the file belongs, or -1. */
static int get_pool_place(int file)
{
    char path[64], name[128];
    unsigned number;
    struct stat info;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(path, name, sizeof name - 1);
    name[length > 0 ? length : 0] = '\0';
    return sscanf(name, "/memfd:" POOL_FILE "%u", &number) == 1 && number < SIM_DEVICES_MOST &&
                   fstat(file, &info) == 0 && (uint64_t)info.st_size <= POOL_FILE_BYTES &&
                   fcntl(file, F_GET_SEALS) == VM_FILE_SEALS
               ? (int)number
               : -1;
}

/* The caller still owns its file descriptor. As on a GPU, the import does not copy the access rights of other
 * devices. */
CUresult sim_cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle, CUmemAllocationHandleType type,
                                                unsigned long long flags)
{
    sim_context *context;
    SIM_TRY(sim_begin_pool(&context));
    const int given = (int)(intptr_t)handle;
    const int number = type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? get_pool_place(given) : -1;
    if (!out || flags != 0 || number < 0)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    /* if the pool's device is hidden from this process, the pool belongs to the current device */
    for (unsigned i = 0; i < sim_device_count(); i++)
        if (sim_device_place(sim_device_at(i)) == (unsigned)number && context->ordinal != i)
            context = sim_context_on(i) ? sim_context_on(i) : context;
    const int file = fcntl(given, F_DUPFD_CLOEXEC, 0);
    sim_pool *made = file >= 0 ? sim_object_new(context, SIM_POOL, sizeof *made) : NULL;
    if (!made || !has_file(made, file)) {
        if (made)
            sim_object_free(context, made);
        if (file >= 0)
            close(file);
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->imported = true;
    *out = SIM_HANDLE(CUmemoryPool, made);
    return sim_end(CUDA_SUCCESS);
}

/* ---- memory of shared pools ---- */

CUresult sim_cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr pointer)
{
    sim_context *context;
    SIM_TRY(sim_begin_pool(&context));
    context = sim_home(context, pointer);
    const sim_piece *piece = data ? find_piece(context, pointer) : NULL;
    if (!piece || !piece->own || !sim_object_find(context, (const void *)(uintptr_t)piece->pool, SIM_POOL))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    memcpy(data, &piece->what, sizeof *data);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuMemPoolImportPointer(CUdeviceptr *pointer, CUmemoryPool handle, CUmemPoolPtrExportData *data)
{
    sim_context *context;
    piece_record what, there;
    SIM_TRY(sim_begin_process(&context));
    sim_pool *pool = sim_object_find(sim_owner(context, handle, SIM_POOL), handle, SIM_POOL);
    if (!pointer || !data || !pool || !pool->imported)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    memcpy(&what, data, sizeof what);
    if (what.mark != PIECE_MARK || what.inode != pool->inode || what.offset % PIECE_PAGE != 0 || what.bytes == 0 ||
        !is_inside(pool, &what) ||
        pread(pool->file, &there, sizeof there, (off_t)what.offset) != (ssize_t)sizeof there ||
        memcmp(&what, &there, sizeof what) != 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    const sim_piece *made = map_piece(pool, &what, false);
    if (!made)
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    pool->used += what.bytes;
    pool->most = pool->used > pool->most ? pool->used : pool->most;
    *pointer = made->base;
    return sim_end_work(context, CUDA_SUCCESS);
}
