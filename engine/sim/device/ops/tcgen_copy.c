/* tcgen_copy.c - tcgen05.cp, which copies shared memory to tensor memory, and tcgen05.shift, which moves lanes of
 * tensor memory. TENSOR_MEMORY.md describes the layouts. Both instructions are complete when they are issued. */
#include <string.h>

#include "vm_fault.h"
#include "vm_tcgen.h"

enum { SHIFT_COLUMNS = 8 };

/* The rows that tcgen05.cp copies. Each row has `bytes` bytes. Row r goes to lane (r / part) * apart + r % part of
 * tensor memory. The row also goes to `copies` - 1 further lanes, which follow at distances of `again` lanes. */
typedef struct copy_layout {
    uint8_t rows, bytes, part, apart, copies, again;
} copy_layout;

static copy_layout find_layout(vm_tcgen_copy_shape shape)
{
    switch (shape) {
    case VM_TCGEN_128X256B: return (copy_layout){128, 32, 128, 0, 1, 0};
    case VM_TCGEN_4X256B: return (copy_layout){4, 32, 1, 32, 1, 0};
    case VM_TCGEN_128X128B: return (copy_layout){128, 16, 128, 0, 1, 0};
    case VM_TCGEN_64X128B_02_13: return (copy_layout){64, 16, 64, 0, 2, 64};
    case VM_TCGEN_64X128B_01_23: return (copy_layout){64, 16, 32, 64, 2, 32};
    case VM_TCGEN_32X128B: break;
    }
    return (copy_layout){32, 16, 32, 0, 4, 32};
}

void ops_tcgen_copy_extent(const vm_tcgen_copy *x, uint32_t *rows, uint32_t *bytes)
{
    const copy_layout at = find_layout((vm_tcgen_copy_shape)x->shape);
    *rows = at.rows;
    *bytes = at.bytes;
}

uint32_t ops_tcgen_copy_blocks(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t group, vm_block *blocks[2])
{
    const vm_cluster *cluster = w->block->cluster;
    const uint32_t first = group == 2 ? w->block->rank & ~1u : w->block->rank;
    for (uint32_t k = 0; k < group; k++) {
        if (first + k >= cluster->size || cluster->blocks[first + k]->ended) {
            vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0,
                           "cta_group::2, but the block has no other block of its pair");
            return 0;
        }
        blocks[k] = cluster->blocks[first + k];
    }
    return group;
}

/* Copies one matrix from the shared memory of `block` to the tensor memory of the same block. */
static bool copy_matrix(vm_warp *w, const vm_code *i, uint32_t lane, const vm_block *block, uint64_t descriptor,
                        uint32_t address)
{
    const vm_tcgen_copy *x = i->extra;
    const copy_layout at = find_layout((vm_tcgen_copy_shape)x->shape);
    const uint32_t last = (uint32_t)(at.rows - 1) / at.part * at.apart + (uint32_t)(at.rows - 1) % at.part;
    const uint32_t lanes = last + (at.copies - 1u) * at.again + 1;
    uint32_t *cells = vm_tensor_reach(w, i, lane, block, address, lanes, at.bytes / 4u, "tcgen05.cp");
    if (!cells)
        return false;
    for (uint32_t row = 0; row < at.rows; row++) {
        unsigned char line[1][VM_TCGEN_LINE];
        if (!ops_tcgen_fetch(w, i, lane, block, descriptor, false, x->type, false, at.bytes, row, 1, line))
            return false;
        for (uint32_t k = 0; x->type == PTX_E2M1 && k < at.bytes; k++)
            /* an element of four bits goes to the middle bits of a byte */
            line[0][k] = (unsigned char)(line[0][k] << 2);
        for (uint32_t copy = 0; copy < at.copies; copy++) {
            const uint32_t to = row / at.part * at.apart + row % at.part + copy * at.again;
            memcpy(cells + (size_t)to * VM_TENSOR_COLUMNS, line[0], at.bytes);
        }
    }
    return true;
}

/* tcgen05.cp. In a pair of blocks, each block copies from its own shared memory, at the same address. */
void ops_tcgen_copy(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_tcgen_copy *x = i->extra;
    VM_EACH(lane, m) {
        const uint64_t descriptor = vm_r64(w, x->descriptor)[lane];
        const uint32_t address = (uint32_t)vm_side_address(w, &x->to, lane);
        vm_block *blocks[2];
        const uint32_t count = ops_tcgen_copy_blocks(w, i, lane, x->group, blocks);
        if (!count || !ops_tcgen_check_descriptor(w, i, lane, descriptor, false, 16))
            return;
        for (uint32_t k = 0; k < count; k++)
            if (!copy_matrix(w, i, lane, blocks[k], descriptor, address))
                return;
    }
    /* a copy is charged once per instruction, because usually one thread executes it; a shift is not charged */
    vm_charge(w, 8);
}

/* tcgen05.shift. tcgen05.shift gives every lane of tensor memory, from the addressed lane on, 32 bytes of the next
 * lane. The last lane of each quarter keeps its own bytes. */
void ops_tcgen_shift(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_tcgen_copy *x = i->extra;
    VM_EACH(lane, m) {
        const uint32_t address = (uint32_t)vm_side_address(w, &x->to, lane), first = address >> 16;
        vm_block *blocks[2];
        const uint32_t count = ops_tcgen_copy_blocks(w, i, lane, x->group, blocks);
        if (!count)
            return;
        if (first % VM_LANES || first >= VM_TENSOR_LANES) {
            vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, address, 4,
                           "tcgen05.shift at tensor memory address 0x%x: it must begin at lane 0, 32, 64 or 96",
                           address);
            vm_fault_breaks(w, VM_RULE_ALIGNMENT);
            return;
        }
        for (uint32_t k = 0; k < count; k++) {
            uint32_t *cells = vm_tensor_reach(w, i, lane, blocks[k], address, VM_TENSOR_LANES - first, SHIFT_COLUMNS,
                                              "tcgen05.shift");
            if (!cells)
                return;
            ops_tcgen_move_down(cells, VM_TENSOR_LANES - first, SHIFT_COLUMNS);
        }
    }
}

/* A quarter of tensor memory has VM_LANES lanes, as many as a warp has. */
void ops_tcgen_move_down(uint32_t *cells, uint32_t lanes, uint32_t columns)
{
    for (uint32_t at = 0; at + 1 < lanes; at++)
        if (at % VM_LANES != VM_LANES - 1)
            memcpy(cells + (size_t)at * VM_TENSOR_COLUMNS, cells + (size_t)(at + 1) * VM_TENSOR_COLUMNS,
                   columns * sizeof *cells);
}
