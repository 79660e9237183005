/* Uses any bytes as handles of another process's memory and event, and as the data of a pool's memory. Uses any number
 * as a descriptor of physical memory or of a pool. None of these may open an object. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cu_graph.h"

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

/* Tries data of memory that is not in the pool, and changed data of memory that is in the pool. Each byte of the
 * input changes the byte at the same place. */
static void try_pool(const uint8_t *data, size_t size)
{
    const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .handleTypes = type,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemoryPool pool = NULL, other = NULL;
    CUdeviceptr memory = 0, at = 0;
    CUmemPoolPtrExportData right, what = {{0}};
    int file = -1;
    WANT(sim_cuMemPoolCreate(&pool, &props) == CUDA_SUCCESS);
    WANT(sim_cuMemAllocFromPoolAsync(&memory, 4096, pool, NULL) == CUDA_SUCCESS);
    WANT(sim_cuMemPoolExportPointer(&right, memory) == CUDA_SUCCESS);
    WANT(sim_cuMemPoolExportToShareableHandle(&file, pool, type, 0) == CUDA_SUCCESS);
    WANT(sim_cuMemPoolImportFromShareableHandle(&other, (void *)(intptr_t)file, type, 0) == CUDA_SUCCESS);
    WANT(close(file) == 0);
    memcpy(&what, data, size < sizeof what ? size : sizeof what);
    for (int k = 0; k < 2; k++) {
        const bool same = memcmp(&what, &right, sizeof what) == 0;
        WANT((sim_cuMemPoolImportPointer(&at, other, &what) == CUDA_SUCCESS) == same);
        for (size_t i = 0; i < sizeof what; i++)
            what.reserved[i] = (unsigned char)(right.reserved[i] ^ (i < size ? data[i] : 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CUcontext context = NULL;
    CUipcMemHandle memory = {{0}};
    CUipcEventHandle event = {{0}};
    CUdeviceptr at = 0;
    CUevent opened = NULL;
    CUmemGenericAllocationHandle physical = 0;
    int number = -1;
    const int32_t parent = (int32_t)getppid();
    enum { BORN_LAST = 23 }; /* the place of a handle's highest byte of the time when its process began */
    kiln__sim_add_programs();
    WANT(sim_cuInit(0) == CUDA_SUCCESS && sim_cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    WANT(sim_cuCtxSetCurrent(context) == CUDA_SUCCESS);
    memcpy(&memory, data, size < sizeof memory ? size : sizeof memory);
    memcpy(&event, data, size < sizeof event ? size : sizeof event);
    memcpy(&number, data, size < sizeof number ? size : sizeof number);
    /* The time cannot be right. Process 1 is the exception: it may have begun at a small number. */
    event.reserved[BORN_LAST] |= (char)0x80;
    for (int k = 0; k < 2; k++) { /* the handle unchanged, and with the id of a process that exists */
        WANT(sim_cuIpcOpenMemHandle(&at, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS);
        WANT(sim_cuIpcOpenEventHandle(&opened, event) != CUDA_SUCCESS);
        memcpy(memory.reserved + sizeof(uint32_t), &parent, sizeof parent);
        memcpy(event.reserved + sizeof(uint32_t), &parent, sizeof parent);
    }
    WANT(sim_cuMemImportFromShareableHandle(&physical, (void *)(intptr_t)number,
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != CUDA_SUCCESS);
    CUmemoryPool pool = NULL;
    WANT(sim_cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)number,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) != CUDA_SUCCESS);
    WANT(sim_cuIpcCloseMemHandle(at) != CUDA_SUCCESS);
    try_pool(data, size);
    WANT(sim_cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
    return 0;
}
