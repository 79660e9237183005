/* describe.c - what describes a matrix: its rows, and where its entries lie. */
#include <math.h>

#include "formats.h"

enum { ROWS_A_PART = 4096 };

bool kiln__csr_statistics(const kiln__csr *m, kiln__patience patience, kiln__row_statistics *s)
{
    *s = (kiln__row_statistics){0};
    uint64_t near = 0, adjacent = 0;
    double squares = 0;
    s->mean = m->rows ? (double)m->nonzeros / m->rows : 0;
    for (uint32_t r = 0; r < m->rows; r++) {
        if (r % ROWS_A_PART == 0 && kiln__is_stopped(patience))
            return false;
        uint32_t length = m->offsets[r + 1] - m->offsets[r];
        double apart = (double)length - s->mean;
        squares += apart * apart;
        s->largest = length > s->largest ? length : s->largest;
        s->empty += length == 0;
        for (uint32_t i = m->offsets[r]; i < m->offsets[r + 1]; i++) {
            uint32_t distance = m->index[i] > r ? m->index[i] - r : r - m->index[i];
            s->bandwidth = distance > s->bandwidth ? distance : s->bandwidth;
            near += distance < 1u << 15;
            adjacent += i > m->offsets[r] && m->index[i] - 1 == m->index[i - 1];
        }
    }
    s->deviation = m->rows ? sqrt(squares / m->rows) : 0;
    s->near = m->nonzeros ? (double)near / m->nonzeros : 1;
    s->adjacent = m->nonzeros ? (double)adjacent / m->nonzeros : 0;
    return true;
}

bool kiln__csr_diagonals(const kiln_allocator *mem, const kiln__csr *m, uint64_t *diagonals)
{
    uint64_t last = m->rows ? m->rows - 1 : 0; /* the first diagonal is the lower left corner */
    unsigned char *has = kiln__calloc(mem, (size_t)m->rows + m->columns + 1, 1);
    *diagonals = 0;
    for (uint32_t r = 0; has && r < m->rows; r++)
        for (uint32_t i = m->offsets[r]; i < m->offsets[r + 1]; i++) {
            unsigned char *diagonal = &has[m->index[i] + last - r];
            *diagonals += !*diagonal;
            *diagonal = 1;
        }
    kiln__free(mem, has);
    return has != NULL;
}
