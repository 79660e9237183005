/* window.c - shared addresses in a cluster: finds the block to which a shared address belongs. */
#include <stdio.h>
#include <string.h>

#include "vm_block.h"
#include "vm_fault.h"
#include "vm_machine.h"

/* Describes the place at which a block of the cluster has exited. */
static void explain_exit(const vm_block *gone, char *why, size_t size)
{
    vm_fault place = {0};
    if (gone->left)
        vm_fault_in(gone->left_in, gone->left, &place);
    const char *name = strrchr(place.file, '/');
    snprintf(why, size, "block (%u,%u,%u) of the cluster has exited, at %.80s%s%u", gone->id[0], gone->id[1],
             gone->id[2], name ? name + 1 : place.file, place.file[0] ? ":" : "PTX line ",
             place.file[0] ? place.file_line : place.ptx_line);
}

vm_block *vm_block_at(const vm_warp *w, uint64_t *address, char *why, size_t size)
{
    const vm_cluster *cluster = w->block->cluster;
    const uint32_t rank = vm_rank_of(*address);
    if (rank >= cluster->size) {
        snprintf(why, size, "the cluster has %u block%s", cluster->size, cluster->size == 1 ? "" : "s");
        return NULL;
    }
    vm_block *block = cluster->blocks[rank];
    *address %= VM_SHARED_WINDOW;
    if (block == w->block || block->live)
        return block;
    explain_exit(block, why, size);
    return NULL;
}

/* Reads a lane's shared address. If i->size is 1, the operand is a generic address. Returns false if the address is in
 * no window of the cluster. */
static bool read_shared_address(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t *address)
{
    *address = i->flags & VM_REG64 ? vm_r64(w, i->a)[lane] : vm_r32(w, i->a)[lane];
    *address -= i->size ? VM_SHARED_BASE : 0;
    return *address / VM_SHARED_WINDOW < w->block->cluster->size;
}

/* Executes mapa. The slot a is a shared address in any block of the cluster. The slot d gets the corresponding address
 * in the block of rank b. `size` is 1 if the addresses are generic. */
void vm_op_mapa(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t size = w->block->cluster->size;
    VM_EACH(lane, m) {
        uint64_t address;
        uint32_t rank = vm_r32(w, i->b)[lane];
        if (rank >= size) {
            vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0, "mapa to block %u of a cluster of %u block%s", rank,
                           size, size == 1 ? "" : "s");
            return;
        }
        if (!read_shared_address(w, i, lane, &address)) {
            vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0, "mapa of an address that is not in shared memory");
            return;
        }
        address = vm_rank_address(address, rank) + (i->size ? VM_SHARED_BASE : 0);
        if (i->flags & VM_REG64)
            vm_r64(w, i->d)[lane] = address;
        else
            vm_r32(w, i->d)[lane] = (uint32_t)address;
    }
}

/* Executes getctarank. The slot d gets the rank of the block that owns the address in slot a, or all ones if the
 * address is not in shared memory. */
void vm_op_getctarank(vm_warp *w, const vm_code *i, uint32_t m)
{
    VM_EACH(lane, m) {
        uint64_t address;
        vm_r32(w, i->d)[lane] = read_shared_address(w, i, lane, &address) ? vm_rank_of(address) : UINT32_MAX;
    }
}
