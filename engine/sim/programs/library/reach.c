/* reach.c - lets the replacements of the vendor's libraries (../vendor/) access the simulated device. These libraries
 * compute on the host, in host functions of streams. So the order of streams and the capture of graphs apply to them
 * too. */
#include "../vendor/reach.h"
#include "cu_graph.h"
#include "vm_checks.h"

/* The context of the thread's computation, or NULL. The context cannot end, because the thread holds the work lock. */
static _Thread_local sim_context *computing;

/* Like a kernel, a computation holds the work lock without the state lock. The argument belongs to a graph of the
 * context whose work called the host function. So the function computes nothing if that context has ended, even if
 * another thread has retained the primary context of the device again. */
__attribute__((visibility("default"))) bool kiln_sim_compute(void (*function)(void *), void *argument)
{
    sim_context *context;
    if (sim_begin_called(&context) != CUDA_SUCCESS)
        return false;
    computing = context;
    sim_pause();
    function(argument);
    sim_resume();
    computing = NULL;
    sim_end_work(context, CUDA_SUCCESS);
    return true;
}

__attribute__((visibility("default"))) void *kiln_sim_reach(uint64_t address, size_t bytes, int write, const char *what)
{
    if (!computing)
        return NULL;
    sim_resume();
    sim_context *home = sim_home(computing, address);
    /* vendor functions write without the interpreter, so vm_pointer() records the memory as written */
    void *found = write ? vm_pointer(home->device, address, bytes)
                        : (void *)(uintptr_t)vm_pointer_read(home->device, address, bytes);
    if (!found && bytes)
        check_host_bounds(home->device, what, address, bytes, write != 0);
    sim_pause();
    return found;
}
