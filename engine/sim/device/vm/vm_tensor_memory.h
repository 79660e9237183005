/* vm_tensor_memory.h - the tensor memory of a block (tensor_memory.c). */
#ifndef KILN_SIM_VM_TENSOR_MEMORY_H
#define KILN_SIM_VM_TENSOR_MEMORY_H

#include "vm_machine.h"

enum {
    VM_TENSOR_LANES = 128,
    VM_TENSOR_COLUMNS = 512,
    VM_TENSOR_LEAST = 32 /* columns of the smallest allocation; the sizes of all allocations are powers of two */
};

/* The tensor memory of a block has 128 lanes of 512 columns, and a cell has 32 bits. The block can allocate only whole
 * columns. */
typedef struct vm_tensor_memory {
    uint32_t *cells; /* the cells, lane after lane, in memory between guard pages */
    /* first[c] is the first column of the allocation that has column c, plus 1, or 0 if no allocation has column c. */
    uint16_t first[VM_TENSOR_COLUMNS];
    /* freed[c] counts how often an allocation with column c was freed. */
    uint16_t freed[VM_TENSOR_COLUMNS];
    bool given_up; /* the block has given up the right to allocate */
} vm_tensor_memory;

/* Returns the address of a cell: the lane is in the upper half of the address, the column in the lower half. */
static inline uint32_t vm_tensor_address(uint32_t lane, uint32_t column) { return lane << 16 | column; }

/* Returns true if an allocation of this size has to wait until the block frees columns. */
bool vm_tensor_is_full(const vm_block *block, uint32_t columns);
/* Allocates columns for the warp's block, which must have room for them. Records a fault and returns false on
 * failure. */
bool vm_tensor_allocate(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t columns, uint32_t *address);
/* Frees an allocation of columns. If the block has no such allocation, records a fault and returns false. */
bool vm_tensor_release(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t address, uint32_t columns);
/* Gives up the block's right to allocate. On failure, records a fault and returns false. */
bool vm_tensor_give_up(vm_warp *w, const vm_code *i, uint32_t lane);
/* Returns a host pointer to the cell at `address` in the tensor memory of `block`, for an access to `lanes` lanes and
 * `columns` columns from that cell on. In host memory a lane begins VM_TENSOR_COLUMNS words after the lane before it.
 * If some of these cells do not exist or are not allocated, records a fault and returns NULL. `lane` is the lane of the
 * warp that the message names. */
uint32_t *vm_tensor_reach(vm_warp *w, const vm_code *i, uint32_t lane, const vm_block *block, uint32_t address,
                          uint32_t lanes, uint32_t columns, const char *what);

void vm_tensor_memory_reset(vm_block *block);
void vm_tensor_memory_free(vm_block *block);

#endif
