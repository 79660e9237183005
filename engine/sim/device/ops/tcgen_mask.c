/* tcgen_mask.c - the zero-column mask of tcgen05.mma.ws. The mask tells which columns of B count as zeros.
 *
 * A mask divides the columns of each bank into spans. Spans of used columns and spans of zeros alternate. With a mask,
 * a convolution need not store the zeros at the border of an image. */
#include "vm_fault.h"
#include "vm_tcgen.h"

/* The fields of a zero-column mask. */
typedef struct column_mask {
    uint32_t used, zero; /* used: the length of a span of used columns; zero: the length of a span of zeros */
    uint32_t shift;
    bool some; /* true if some columns count as zeros */
} column_mask;

static column_mask read_mask(uint64_t bits)
{
    return (column_mask){.used = (uint32_t)(bits >> 48 & 0xff) + 1,
                         .zero = (uint32_t)(bits >> 40 & 0xff) + 1,
                         .shift = (uint32_t)(bits >> 56 & 0x3f),
                         .some = bits >> 39 & 1};
}

/* The first span of a bank may begin before the bank. Sets *start to the number of columns of this span that lie before
 * the bank `bank`. Returns true if this span is a span of zeros. */
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

/* Spans of used columns and of zeros alternate from the first column of each bank on. The PTX ISA's text says that
 * "skip span" counts the columns that are used. But in all of its examples the skip span counts the columns of
 * zeros. */
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
