/* vm_block.h - functions on blocks and clusters (block.c, turn.c, cluster.c, window.c). */
#ifndef KILN_SIM_VM_BLOCK_H
#define KILN_SIM_VM_BLOCK_H

#include "vm_machine.h"

void vm_op_bar(vm_warp *w, const vm_code *i, uint32_t m);
void vm_barriers_check(vm_block *block);
void vm_barrier_open(vm_block *block, uint32_t id); /* lets the paths that wait at the barrier continue */
vm_block *vm_block_new(vm_cluster *cluster, uint32_t rank);
bool vm_block_start(vm_block *block, uint64_t number);
/* stores in the block the index of the block `number` of the grid */
void vm_block_number(vm_block *block, uint64_t number);
/* Fills the block's shared and local memory with their first contents. Returns the number of steps that the start of
 * the block costs. Even the start of a block of an empty kernel costs steps. */
uint64_t vm_block_fill(vm_block *block);
/* Returns how many steps of the launch's budget are left. Does not subtract steps that other host threads have not yet
 * added to the family's counter. */
uint64_t vm_budget_left(const vm_runner *runner);
#define VM_SLICE 32768u /* operations that a warp runs before the turn of the next warp */
/* Returns true if the code is an unguarded instruction of a kernel that ends its threads. */
bool vm_is_end(const vm_code *i);
void vm_block_free(vm_block *block);
bool vm_block_ready(const vm_block *block); /* returns true if a warp of the block can continue */
/* Lets lanes that wait at reconvergence points continue without the lanes that have not arrived. Returns false if no
 * lanes of the block wait at such a point. */
bool vm_block_release_waiting(vm_block *block);
/* The reason why the turn of a block ended. OVER: the quantum of the block is used up, or all its warps wait in vain.
 * WAITS: the block cannot continue before another block of its cluster runs. ENDED: the whole block has ended. */
typedef enum vm_turn { VM_TURN_OVER, VM_TURN_WAITS, VM_TURN_ENDED } vm_turn;
vm_turn vm_block_run(vm_block *block, uint64_t quantum);
/* Subtracts steps from the launch's budget. Raises a fault if the budget is used up, the deadline has passed, or the
 * launch was asked to stop. */
void vm_charge_steps(vm_block *block, vm_warp *w, uint64_t steps);
/* Frees the paths of all warps, and the frames of calls. The frames of the kernel itself stay for the next block. */
void vm_block_drop_paths(vm_block *block);

/* ---- series.c ---- */
/* Runs a block that has just started, and further blocks after it, if the kernel has a series of compiled code. A block
 * leaves its series when it has run about `quantum` steps. The function `next` takes the number of the next block, and
 * returns false if no block is left. Returns true if the last of these blocks has ended. Otherwise vm_cluster_run() must
 * continue the last block. */
bool vm_series_run(vm_runner *runner, vm_cluster *cluster, uint64_t quantum,
                   bool (*next)(vm_runner *runner, uint64_t *number));

/* ---- cluster.c, window.c ---- */
vm_cluster *vm_cluster_new(vm_runner *runner);
bool vm_cluster_start(vm_cluster *cluster, uint64_t number);
/* Sets `first` to the index of the first block of the cluster with the number `number`. */
void vm_cluster_first(const vm_run_state *run, uint64_t number, uint32_t first[3]);
/* Takes a cluster that has not started, so that the cluster never starts, and sets `first` to the index of its first
 * block (clusterlaunchcontrol.try_cancel). Returns false if the request fails. In run.c. */
bool vm_cluster_cancel(vm_warp *w, uint32_t first[3]);
void vm_cluster_free(vm_cluster *cluster);
/* Runs the cluster's blocks in turn. Returns true if all blocks of the cluster have ended. Sets *moved to true if the
 * cluster did more than wait in vain. */
bool vm_cluster_run(vm_cluster *cluster, uint64_t quantum, bool *moved);
void vm_cluster_check(vm_cluster *cluster); /* opens the cluster's barrier if all threads of the cluster have arrived */
bool vm_cluster_ready(const vm_cluster *cluster);
bool vm_cluster_release_waiting(vm_cluster *cluster);
void vm_cluster_deadlock(vm_cluster *cluster); /* raises a fault whose message says where each warp waits */
void vm_op_cluster_barrier(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_mapa(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_getctarank(vm_warp *w, const vm_code *i, uint32_t m);
/* Converts `address`, a shared or generic address in any block of the cluster, to the corresponding address in the
 * block of rank `rank`. VM_SHARED_BASE is a multiple of 2^32, so a generic address keeps its upper half. */
static inline uint64_t vm_rank_address(uint64_t address, uint32_t rank)
{
    return (address & ~(uint64_t)UINT32_MAX) + rank * VM_SHARED_WINDOW + address % VM_SHARED_WINDOW;
}
/* Returns the rank of the block to which a shared address belongs. The result may be a rank that the cluster does not
 * have. As on a GPU, the upper half of the address does not matter: some kernels (DeepGEMM) pass generic addresses. */
static inline uint32_t vm_rank_of(uint64_t address) { return (uint32_t)address / (uint32_t)VM_SHARED_WINDOW; }
/* Converts a shared address to an offset from the window of the block `own`. vm_window_address() converts the offset
 * back. Offsets below VM_SHARED_WINDOW are in the block `own`. */
static inline uint64_t vm_window_offset(const vm_block *own, uint64_t address)
{
    return (uint32_t)(address - own->window);
}
static inline uint64_t vm_window_address(const vm_block *own, uint64_t offset)
{
    return (uint32_t)(offset + own->window);
}
/* Returns the block that owns a shared address, and makes *address relative to the window of that block. If no live
 * block owns the address, returns NULL and writes the reason to `why`. */
vm_block *vm_block_at(const vm_warp *w, uint64_t *address, char *why, size_t size);

#endif
