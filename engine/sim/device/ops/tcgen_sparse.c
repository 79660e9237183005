/* tcgen_sparse.c - tcgen05.mma: the metadata of a sparse A in tensor memory. TENSOR_MEMORY.md describes the layouts. */
#include "vm_tcgen.h"

/* Returns true if two rows share a column of metadata. This is so if the elements have 16 bits or more. */
static bool has_shared_columns(const vm_tcgen_mma *x) { return x->kind == VM_TCGEN_F16 || x->kind == VM_TCGEN_TF32; }

uint32_t ops_tcgen_metadata_extent(const vm_tcgen_mma *x, const vm_tcgen_product *p, uint32_t *columns)
{
    *columns = has_shared_columns(x) ? p->selector + 1 : 2;
    return p->half ? 112 : VM_TENSOR_LANES;
}

/* Returns the four bits that describe group `group` of a row. `at` is the lane of the row in D. */
static uint32_t find_bits(const vm_tcgen_mma *x, const vm_tcgen_product *p, const uint32_t *cells, uint32_t at,
                          uint32_t group)
{
    uint32_t lane = at, column = group / 8, shift = group % 8 * 4;
    /* rows r and r + 8 each have half of a cell: lane r describes the first four groups of both rows, and lane r + 8
     * describes the other four groups */
    if (has_shared_columns(x)) {
        lane = at / 16 * 16 + at % 8 + group / 4 * 8;
        column = p->selector;
        shift = at / 8 % 2 * 16 + group % 4 * 4;
    }
    return cells[(size_t)lane * VM_TENSOR_COLUMNS + column] >> shift & 15;
}

void ops_tcgen_columns(const vm_tcgen_mma *x, const vm_tcgen_product *p, uint32_t row, uint32_t bank,
                       const uint32_t *cells, uint16_t column[VM_TCGEN_TERMS])
{
    uint32_t unused;
    const uint32_t lane = ops_tcgen_row(p, row, bank * (p->n / p->banks), &unused);
    /* the number of stored elements of a group: one of two, two of four, or four (two pairs) of eight */
    const uint32_t each = x->kind == VM_TCGEN_TF32 ? 1 : vm_tcgen_is_packed(x) ? 4 : 2;
    for (uint32_t k = 0; k < p->stored && !x->sparse; k++)
        column[k] = (uint16_t)k;
    for (uint32_t k = 0; k < p->stored && x->sparse; k++) {
        const uint32_t group = k / each, own = k % each, bits = find_bits(x, p, cells, lane, group);
        const uint32_t at = each == 1   ? bits >> 3
                            : each == 2 ? bits >> 2 * own & 3
                                        : (bits >> own / 2 * 2 & 3) * 2 + own % 2;
        column[k] = (uint16_t)(group * each * 2 + at);
    }
}
