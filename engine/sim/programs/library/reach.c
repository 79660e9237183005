/* reach.c - the simulated device's memory for the stand-ins of the vendor's libraries (../vendor/), which compute on the
 * host. They run in host functions of streams, so the order of streams and the capture of graphs hold for them too. */
#include "../vendor/reach.h"
#include "cu_graph.h"
#include "vm_checks.h"

__attribute__((visibility("default"))) void *kiln_sim_reach(uint64_t address, size_t bytes, int write, const char *what)
{
    sim_context *context;
    if (sim_begin_any(&context) != CUDA_SUCCESS) /* sim_begin_work() refuses calls from a host function */
        return NULL;
    sim_context *home = sim_home(context, address);
    /* vm_pointer() counts the memory as written, for the check of reads before any write */
    void *found = write ? vm_pointer(home->device, address, bytes)
                        : (void *)(uintptr_t)vm_pointer_read(home->device, address, bytes);
    if (!found && bytes)
        vm_check_host_bounds(home->device, what, address, bytes, write != 0);
    sim_end_work(context, CUDA_SUCCESS);
    return found;
}
