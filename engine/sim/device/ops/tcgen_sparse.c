/* tcgen_sparse.c - tcgen05.mma: the metadata of a sparse A in tensor memory, and the zero-column mask of .ws, which makes
 * columns of B zero. TENSOR_MEMORY.md has the layouts. */
#include "vm_fault.h"
#include "vm_tcgen.h"

/* ---- metadata of a sparse matrix ---- */

/* Returns true if two rows share a column of metadata: the elements have 16 bits or more. */
static bool has_shared_columns(const vm_tcgen_mma *x) { return x->kind == VM_TCGEN_F16 || x->kind == VM_TCGEN_TF32; }

uint32_t ops_tcgen_metadata_extent(const vm_tcgen_mma *x, const vm_tcgen_product *p, uint32_t *columns)
{
    *columns = has_shared_columns(x) ? p->selector + 1 : 2;
    return p->half ? 112 : VM_TENSOR_LANES;
}

/* Returns the four bits that describe group `group` of a row. `at` is the row's lane in D. */
static uint32_t find_bits(const vm_tcgen_mma *x, const vm_tcgen_product *p, const uint32_t *cells, uint32_t at,
                          uint32_t group)
{
    uint32_t lane = at, column = group / 8, shift = group % 8 * 4;
    if (has_shared_columns(x)) { /* rows r and r + 8 have half of a column each: four groups in lane r, four in r + 8 */
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
    /* stored elements of a group: one of two, two of four, or two pairs of eight elements */
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

/* ---- the zero-column mask ---- */

/* The fields of a zero-column mask. */
typedef struct column_mask {
    uint32_t used, zero; /* lengths of the spans of columns that are used, and that are zero */
    uint32_t shift;
    bool some; /* some columns are zero */
} column_mask;

static column_mask read_mask(uint64_t bits)
{
    return (column_mask){.used = (uint32_t)(bits >> 48 & 0xff) + 1,
                         .zero = (uint32_t)(bits >> 40 & 0xff) + 1,
                         .shift = (uint32_t)(bits >> 56 & 0x3f),
                         .some = bits >> 39 & 1};
}

/* Sets *start to the number of columns of the first span that a bank skips. Returns true if that span is zero. */
static bool find_start(uint64_t bits, uint32_t bank, uint32_t *start)
{
    *start = (uint32_t)(bits >> 8 * bank & 0xff);
    return bits >> (32 + bank) & 1;
}

bool ops_tcgen_check_mask(vm_warp *w, const vm_code *i, uint32_t lane, const vm_tcgen_product *p, uint32_t description)
{
    static const uint64_t reserved = (uint64_t)7 << 36 | (uint64_t)3 << 62;
    const column_mask mask = read_mask(p->zero_mask);
    const uint32_t allowed = description >> 30 ? 4u << (description >> 30) : 0, most = p->m == 32 ? 16 : 32;
    const char *why = NULL;
    if (!p->zero_mask)
        return true;
    if (p->zero_mask & reserved)
        why = "bits 36 to 38, 62 and 63 are not 0";
    else if (mask.shift > most || mask.shift > allowed)
        why = "its shift exceeds the largest shift of M or of the instruction descriptor";
    for (uint32_t bank = 0; bank < p->banks && mask.some && !why; bank++) {
        uint32_t start;
        const bool first_zero = find_start(p->zero_mask, bank, &start);
        if (start >= (first_zero ? mask.zero : mask.used))
            why = "a start count exceeds the first span";
    }
    if (why)
        vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0, "zero-column mask 0x%llx: %s",
                       (unsigned long long)p->zero_mask, why);
    return !why;
}

/* Spans of used columns and of zeros alternate from the first column of each bank on. The PTX ISA's text says that "skip
 * span" counts the columns that are used, but all of its examples have it the other way round. */
uint32_t ops_tcgen_masked_column(const vm_tcgen_product *p, uint32_t j, bool *zero)
{
    const uint32_t each = p->n / p->banks;
    const column_mask mask = read_mask(p->zero_mask);
    uint32_t start;
    const bool first_zero = find_start(p->zero_mask, j / each, &start);
    const uint32_t at = (j % each + start) % (mask.used + mask.zero);
    *zero = mask.some && (first_zero ? at < mask.zero : at >= mask.used);
    return j + mask.shift;
}
