/* vm_tensor_memory.h - the tensor memory of a block (tensor_memory.c). */
#ifndef KILN_SIM_VM_TENSOR_MEMORY_H
#define KILN_SIM_VM_TENSOR_MEMORY_H

#include "vm_machine.h"

enum {
    VM_TENSOR_LANES = 128,
    VM_TENSOR_COLUMNS = 512,
    VM_TENSOR_LEAST = 32 /* columns of the smallest allocation; all sizes are powers of two */
};

/* 128 lanes of 512 columns of 32 bits, which the block allocates by columns. */
typedef struct vm_tensor_memory {
    uint32_t *cells; /* lane after lane, between guard pages */
    /* By column: the first column of the allocation that has it, + 1; 0: nobody has it. */
    uint16_t first[VM_TENSOR_COLUMNS];
    /* By column: the number of times that an allocation with this column was freed. */
    uint16_t freed[VM_TENSOR_COLUMNS];
    bool given_up; /* the block has given up the right to allocate */
} vm_tensor_memory;

/* The address of a cell: the lane in the upper half, the column in the lower half. */
static inline uint32_t vm_tensor_address(uint32_t lane, uint32_t column) { return lane << 16 | column; }

/* Returns true if an allocation of this size has to wait until the block frees columns. */
bool vm_tensor_is_full(const vm_block *block, uint32_t columns);
/* Allocates columns for the warp's block, which is not full. Returns false with a fault recorded. */
bool vm_tensor_allocate(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t columns, uint32_t *address);
/* Frees an allocation. Returns false with a fault recorded if the block has no such allocation. */
bool vm_tensor_release(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t address, uint32_t columns);
/* Gives up the block's right to allocate. Returns false with a fault recorded. */
bool vm_tensor_give_up(vm_warp *w, const vm_code *i, uint32_t lane);
/* Returns the host memory of `lanes` lanes and `columns` columns from an address on, in the tensor memory of `block`. A
 * lane is VM_TENSOR_COLUMNS words behind the lane before it. Returns NULL with a fault recorded unless all of it exists
 * and is allocated. `lane`: the lane of the warp, for the message. */
uint32_t *vm_tensor_reach(vm_warp *w, const vm_code *i, uint32_t lane, const vm_block *block, uint32_t address,
                          uint32_t lanes, uint32_t columns, const char *what);

void vm_tensor_memory_reset(vm_block *block);
void vm_tensor_memory_free(vm_block *block);

#endif
