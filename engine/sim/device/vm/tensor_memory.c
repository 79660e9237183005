/* tensor_memory.c - the tensor memory of a block: the allocation of its columns, and vm_tensor_reach(). No other
 * function turns a kernel's address in tensor memory into a host pointer. */
#include <string.h>

#include "vm_fault.h"
#include "vm_limit.h"
#include "vm_tensor_memory.h"

enum { CELLS_BYTES = VM_TENSOR_LANES * VM_TENSOR_COLUMNS * (int)sizeof(uint32_t) };

/* Returns the block's tensor memory, and creates it at its first use. If the launch's limit of host memory is reached,
 * records a fault and returns NULL. */
static vm_tensor_memory *open_memory(vm_warp *w, const vm_code *i, uint32_t lane)
{
    vm_block *block = w->block;
    vm_run_state *run = w->runner->run;
    if (block->tensor)
        return block->tensor;
    vm_tensor_memory *memory = NULL;
    if (vm_hold(run->family, CELLS_BYTES)) {
        block->held += CELLS_BYTES;
        memory = kiln__calloc(run->device->mem, 1, sizeof *memory);
    }
    if (memory)
        memory->cells = vm_guard_take(&run->device->guards, CELLS_BYTES, VM_GUARD_OWN, false);
    if (memory && memory->cells)
        return block->tensor = memory;
    kiln__free(run->device->mem, memory);
    vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0, "out of host memory for the block's tensor memory");
    return NULL;
}

void vm_tensor_memory_reset(vm_block *block)
{
    if (!block->tensor)
        return;
    memset(block->tensor->first, 0, sizeof block->tensor->first);
    memset(block->tensor->freed, 0, sizeof block->tensor->freed);
    block->tensor->given_up = false;
}

void vm_tensor_memory_free(vm_block *block)
{
    vm_device *device = block->runner->run->device;
    if (block->tensor)
        vm_guard_give(&device->guards, block->tensor->cells, CELLS_BYTES, VM_GUARD_OWN);
    kiln__free(device->mem, block->tensor);
    block->tensor = NULL;
}

static bool is_size(uint32_t columns)
{
    return columns >= VM_TENSOR_LEAST && columns <= VM_TENSOR_COLUMNS && (columns & (columns - 1)) == 0;
}

/* Returns the lowest multiple of 32 at which `columns` free columns begin. Returns VM_TENSOR_COLUMNS if there is no
 * such place. The manual does not say which columns a GPU would choose. */
static uint32_t find_free(const vm_tensor_memory *memory, uint32_t columns)
{
    for (uint32_t from = 0; from + columns <= VM_TENSOR_COLUMNS; from += VM_TENSOR_LEAST) {
        uint32_t count = 0;
        while (count < columns && !memory->first[from + count])
            count++;
        if (count == columns)
            return from;
    }
    return VM_TENSOR_COLUMNS;
}

bool vm_tensor_is_full(const vm_block *block, uint32_t columns)
{
    return block->tensor && !block->tensor->given_up && is_size(columns) &&
           find_free(block->tensor, columns) == VM_TENSOR_COLUMNS;
}

bool vm_tensor_allocate(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t columns, uint32_t *address)
{
    vm_tensor_memory *memory = is_size(columns) ? open_memory(w, i, lane) : NULL;
    const uint32_t from = memory ? find_free(memory, columns) : VM_TENSOR_COLUMNS;
    const char *why = !is_size(columns)           ? "allocations are powers of two from 32 to 512"
                      : !memory                   ? NULL /* a fault has been recorded */
                      : memory->given_up          ? "the block has given up its right to allocate"
                      : from == VM_TENSOR_COLUMNS ? "too few neighbouring columns are free"
                                                  : NULL;
    if (why)
        vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0, "tcgen05.alloc of %u columns: %s", columns, why);
    if (why)
        vm_fault_breaks(w, !is_size(columns)            ? VM_RULE_SIZE
                           : memory && memory->given_up ? VM_RULE_PHASE
                                                        : VM_RULE_COLUMNS);
    if (why || !memory)
        return false;
    for (uint32_t column = from; column < from + columns; column++)
        memory->first[column] = (uint16_t)(from + 1);
    for (uint32_t row = 0; row < VM_TENSOR_LANES; row++)
        memset(memory->cells + row * VM_TENSOR_COLUMNS + from, VM_POISON, columns * sizeof *memory->cells);
    *address = vm_tensor_address(0, from);
    return true;
}

bool vm_tensor_release(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t address, uint32_t columns)
{
    vm_tensor_memory *memory = w->block->tensor;
    const uint32_t from = address;
    uint32_t count = 0;
    while (memory && from < VM_TENSOR_COLUMNS && from + count < VM_TENSOR_COLUMNS &&
           memory->first[from + count] == from + 1)
        count++;
    if (!is_size(columns) || count != columns) {
        vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, address, 4,
                       "tensor memory at 0x%x with %u columns is freed: the block has no such allocation", address,
                       columns);
        vm_fault_breaks(w, is_size(columns) ? VM_RULE_COLUMNS : VM_RULE_SIZE);
        return false;
    }
    for (uint32_t column = from; column < from + columns; column++) {
        memory->first[column] = 0;
        memory->freed[column]++;
    }
    return true;
}

bool vm_tensor_give_up(vm_warp *w, const vm_code *i, uint32_t lane)
{
    vm_tensor_memory *memory = open_memory(w, i, lane);
    if (memory)
        memory->given_up = true;
    return memory != NULL;
}

/* Returns a text for a message: the reason why the block cannot access a column. */
static const char *why_not(const vm_tensor_memory *memory, uint32_t column)
{
    if (column >= VM_TENSOR_COLUMNS)
        return "tensor memory has 512 columns";
    return memory && memory->freed[column] ? "this column was freed" : "the block has not allocated this column";
}

uint32_t *vm_tensor_reach(vm_warp *w, const vm_code *i, uint32_t lane, const vm_block *block, uint32_t address,
                          uint32_t lanes, uint32_t columns, const char *what)
{
    const vm_tensor_memory *memory = block->tensor;
    const uint32_t row = address >> 16, from = address & 0xffff;
    if (lanes > VM_TENSOR_LANES || row > VM_TENSOR_LANES - lanes) {
        vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, address, 4,
                       "%s of %u lanes at tensor memory address 0x%x: tensor memory has 128 lanes", what, lanes,
                       address);
        vm_fault_breaks(w, VM_RULE_BOUNDS);
        return NULL;
    }
    for (uint32_t column = from; column < from + columns; column++)
        if (!memory || column >= VM_TENSOR_COLUMNS || !memory->first[column]) {
            vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, vm_tensor_address(row, column), 4,
                           "%s of %u columns at tensor memory address 0x%x, column %u: %s", what, columns, address,
                           column, why_not(memory, column));
            vm_fault_breaks(w, column < VM_TENSOR_COLUMNS ? VM_RULE_COLUMNS : VM_RULE_BOUNDS);
            return NULL;
        }
    return memory->cells + (size_t)row * VM_TENSOR_COLUMNS + from;
}
