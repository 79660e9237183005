/* tcgen_factors.c - the scale factors of tcgen05.mma with block scales, in tensor memory. TENSOR_MEMORY.md describes
 * the layout. */
#include "vm_fault.h"
#include "vm_tcgen.h"

/* The layout of the scale factors of one matrix in tensor memory. */
typedef struct factor_layout {
    uint32_t rows;  /* number of rows of A, or of columns of B, in each bank */
    uint32_t banks; /* number of parts of the lanes that have different rows */
    /* number of quarters of the lanes in each bank; all quarters of a bank hold the same scale factors */
    uint32_t copies;
    uint32_t next; /* number of columns from the first four scale factors of a row to its other scale factors */
} factor_layout;

/* All four quarters of the lanes have the same scale factors. The factors of B are an exception if D has several banks:
 * each bank has the scale factors of its own columns of B. */
static factor_layout find_layout(const vm_tcgen_product *p, unsigned side)
{
    const uint32_t banks = side == 1 ? p->banks : 1, rows = side == 1 ? p->n / banks : p->rows;
    return (factor_layout){.rows = rows, .banks = banks, .copies = 4 / banks, .next = (rows + 127) / 128 * 4};
}

uint32_t ops_tcgen_scales_extent(const vm_tcgen_product *p, unsigned side, uint32_t *columns)
{
    const factor_layout at = find_layout(p, side);
    /* the word that holds the last scale factor of a row */
    const uint32_t last = (p->scale_byte[side] + p->factors - 1) / 4;
    *columns = last * at.next + (at.rows + 31) / 32;
    return at.rows;
}

bool ops_tcgen_scales(vm_warp *w, const vm_code *i, uint32_t lane, const vm_tcgen_product *p, uint32_t block,
                      unsigned side, uint8_t (*out)[VM_TCGEN_FACTORS])
{
    static const char *const names[2] = {"tcgen05.mma, scale factors of A,", "tcgen05.mma, scale factors of B,"};
    const factor_layout at = find_layout(p, side);
    uint32_t columns;
    ops_tcgen_scales_extent(p, side, &columns);
    const uint32_t *cells = vm_tensor_reach(w, i, lane, p->block[block], p->scales[side], VM_TENSOR_LANES, columns,
                                            names[side]);
    if (!cells)
        return false;
    for (uint32_t row = 0; row < at.rows * at.banks; row++)
        for (uint32_t k = 0; k < p->factors; k++) {
            const uint32_t bank = row / at.rows, own = row % at.rows, byte = p->scale_byte[side] + k;
            const uint32_t *cell = cells + (size_t)(bank * at.copies * 32 + own % 32) * VM_TENSOR_COLUMNS +
                                   byte / 4 * at.next + own / 32;
            out[row][k] = (uint8_t)(*cell >> byte % 4 * 8);
            for (uint32_t copy = 1; copy < at.copies; copy++)
                if ((uint8_t)(cell[(size_t)copy * 32 * VM_TENSOR_COLUMNS] >> byte % 4 * 8) != out[row][k]) {
                    vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, p->scales[side], 4,
                                   "%s at tensor memory address 0x%x: the copies of row %u in lanes %u and %u differ",
                                   names[side], p->scales[side], row, bank * at.copies * 32 + own % 32,
                                   (bank * at.copies + copy) * 32 + own % 32);
                    return false;
                }
        }
    return true;
}
