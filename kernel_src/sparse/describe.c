/* describe.c - computes statistics of a matrix: the lengths of its rows, and the places of its entries. */
#include <math.h>

#include "formats.h"

enum { ROWS_A_PART = 4096 };

typedef struct describing {
    const kiln__csr *m;
    kiln__patience patience;
    /* these fields are accessed atomically; their sums and maxima do not depend on the order */
    uint64_t near, adjacent, largest, empty, bandwidth;
    unsigned char *has; /* tells for each diagonal whether it has an entry */
} describing;

static void keep_largest(uint64_t *most, uint64_t value)
{
    uint64_t was = __atomic_load_n(most, __ATOMIC_RELAXED);
    while (was < value && !__atomic_compare_exchange_n(most, &was, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static void describe_rows(void *user, size_t part, size_t worker)
{
    (void)worker;
    describing *d = user;
    const kiln__csr *m = d->m;
    uint64_t near = 0, adjacent = 0, largest = 0, empty = 0;
    uint32_t bandwidth = 0;
    const uint64_t first = (uint64_t)part * ROWS_A_PART;
    if (kiln__is_stopped(d->patience))
        return;
    for (uint64_t r = first; r < first + ROWS_A_PART && r < m->rows; r++) {
        const uint32_t length = m->offsets[r + 1] - m->offsets[r], row = (uint32_t)r;
        largest = length > largest ? length : largest;
        empty += length == 0;
        for (uint32_t i = m->offsets[r]; i < m->offsets[r + 1]; i++) {
            const uint32_t distance = m->index[i] > row ? m->index[i] - row : row - m->index[i];
            bandwidth = distance > bandwidth ? distance : bandwidth;
            near += distance < 1u << 15;
            adjacent += i > m->offsets[r] && m->index[i] - 1 == m->index[i - 1];
        }
    }
    __atomic_fetch_add(&d->near, near, __ATOMIC_RELAXED);
    __atomic_fetch_add(&d->adjacent, adjacent, __ATOMIC_RELAXED);
    __atomic_fetch_add(&d->empty, empty, __ATOMIC_RELAXED);
    keep_largest(&d->largest, largest);
    keep_largest(&d->bandwidth, bandwidth);
}

bool kiln__csr_statistics(const kiln__csr *m, kiln__patience patience, kiln__row_statistics *s)
{
    describing d = {.m = m, .patience = patience};
    double squares = 0;
    *s = (kiln__row_statistics){.mean = m->rows ? (double)m->nonzeros / m->rows : 0};
    kiln__parallel(0, (m->rows + (size_t)ROWS_A_PART - 1) / ROWS_A_PART, describe_rows, &d);
    if (kiln__is_stopped(patience))
        return false;
    /* one thread adds in order, because the rounding of a sum of doubles depends on the order */
    for (uint32_t r = 0; r < m->rows; r++) {
        double apart = (double)(m->offsets[r + 1] - m->offsets[r]) - s->mean;
        squares += apart * apart;
    }
    s->largest = (uint32_t)d.largest;
    s->empty = (uint32_t)d.empty;
    s->bandwidth = (uint32_t)d.bandwidth;
    s->deviation = m->rows ? sqrt(squares / m->rows) : 0;
    s->near = m->nonzeros ? (double)d.near / m->nonzeros : 1;
    s->adjacent = m->nonzeros ? (double)d.adjacent / m->nonzeros : 0;
    return true;
}

static void mark_diagonals(void *user, size_t part, size_t worker)
{
    (void)worker;
    describing *d = user;
    const kiln__csr *m = d->m;
    /* diagonal 0 is in the lower left corner of the matrix */
    const uint64_t first = (uint64_t)part * ROWS_A_PART, last = m->rows - 1;
    for (uint64_t r = first; r < first + ROWS_A_PART && r < m->rows; r++)
        for (uint32_t i = m->offsets[r]; i < m->offsets[r + 1]; i++) {
            unsigned char *diagonal = &d->has[m->index[i] + last - r];
            /* all cores can share the cache line until one of them writes to it */
            if (!__atomic_load_n(diagonal, __ATOMIC_RELAXED))
                __atomic_store_n(diagonal, 1, __ATOMIC_RELAXED);
        }
}

bool kiln__csr_diagonals(const kiln_allocator *mem, const kiln__csr *m, uint64_t *diagonals)
{
    const size_t all = (size_t)m->rows + m->columns + 1;
    describing d = {.m = m, .has = kiln__calloc(mem, all, 1)};
    *diagonals = 0;
    if (!d.has)
        return false;
    kiln__parallel(0, (m->rows + (size_t)ROWS_A_PART - 1) / ROWS_A_PART, mark_diagonals, &d);
    for (size_t i = 0; i < all; i++)
        *diagonals += d.has[i];
    kiln__free(mem, d.has);
    return true;
}
