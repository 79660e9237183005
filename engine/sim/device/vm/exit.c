/* exit.c - the end of threads. Lanes that waited for these threads may continue, and barriers may open. */
#include "vm_block.h"
#include "vm_hooks.h"
#include "vm_path.h"

/* Executes exit. Reconvergence points, warp operations and barriers no longer expect the exited lanes, so other lanes
 * may continue. */
void vm_op_exit(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_block *block = w->block;
    vm_sync *sync = w->sync;
    if (m == VM_ALL)
        vm_add_heat(w, i, w->frame->function->code);
    w->dead |= m;
    block->cluster->arrived -= vm_lanes_of(w->cluster_arrived & m);
    block->cluster->live -= vm_lanes_of(m);
    w->cluster_arrived &= ~m;
    block->live -= vm_lanes_of(m);
    block->left = i;
    block->left_in = w->frame->function;
    w->mask &= ~m;
    if (w->mask == 0)
        vm_path_drop(w);
    vm_leave(w, sync, NULL, m);
    for (uint32_t k = 0; k < w->path_count; k++)
        if (w->paths[k].state == VM_PATH_WARP && k != w->current)
            /* the group of this path may be complete now, so the path tests it again */
            w->paths[k].state = VM_PATH_READY;
    vm_barriers_check(block);
    vm_cluster_check(block->cluster);
}
