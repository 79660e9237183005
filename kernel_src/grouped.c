/* grouped.c - the input grouped_offsets, which makes the groups of rows of the family grouped, and the family's
 * reference grouped_f64. For each group of rows of A, the reference computes C = A W'. Each group has its own matrix W.
 * The reference multiplies and adds in double.
 *
 * If a problem is large, the reference computes only some rows, with all their columns. A task is a range of columns of
 * one group, for all rows of the group that are computed. So each row of W is converted to doubles only once. */
#include <math.h>
#include <string.h>

#include "catalogue.h"
#include "rows.h"
#include "vector.h"

enum { MOST_PRODUCTS_LOG = 32, COLUMNS_EACH = 64 };

/* Group g begins at row `rows` times the power 1 + skew of g / groups, rounded down. With a skew of 0, all groups have
 * equal sizes, and with a skew of 1 the sizes grow linearly. Arguments
 *   rows, groups, skew
 * Exports
 *   offsets    i32: the first row of each group, and at the end the number of rows
 *   used       the number of groups that have rows */
static kiln_status grouped_offsets(void *user, kiln_call *call)
{
    (void)user;
    int64_t rows, groups, skew, used = 0;
    kiln_array *offsets;
    if (kiln_call_int(call, "rows", NULL, &rows) != KILN_OK ||
        kiln_call_int(call, "groups", NULL, &groups) != KILN_OK || kiln_call_int(call, "skew", NULL, &skew) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (rows < 0 || rows > INT32_MAX || groups < 1 || groups > 1 << 20 || skew < 0 || skew > 2)
        return kiln_call_fail(call, "rows must be 0 to 2^31 - 1, groups 1 to 2^20, and skew 0 to 2");
    const uint64_t count = (uint64_t)groups + 1;
    if (kiln_call_export_array(call, "offsets", KILN_i32, 1, &count, &offsets) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    int32_t *first = offsets->data;
    for (int64_t g = 0; g <= groups; g++) {
        double share = (double)g / (double)groups, power = share;
        for (int64_t i = 0; i < skew; i++)
            power *= share;
        first[g] = (int32_t)floor((double)rows * power);
        used += g > 0 && first[g] > first[g - 1];
    }
    return kiln_call_export_int(call, "used", used);
}

/* ---- The reference ---- */

typedef struct problem {
    const kiln_array *a, *w, *offsets;
    kiln_array *c;
    uint64_t rows, columns, depth, groups, every; /* the reference computes one row in `every` */
    uint64_t ranges;                              /* number of tasks of a group */
    double *chosen;                               /* the rows that are computed, one after the other */
    uint64_t *numbers;                            /* the numbers of these rows in A */
    /* for each group, its first index in `numbers`; the last entry is the end */
    uint64_t *first;
    double *room;  /* memory of each worker, for a padded row of W */
    size_t padded; /* `depth`, rounded up to a multiple of the vector length */
} problem;

static double dot(const double *a, const double *b, size_t count)
{
    kiln__vector sum = {0}, x, y;
    for (size_t i = 0; i < count; i += KILN__LANES) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        sum += x * y;
    }
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

static void one_range(void *user, size_t index, size_t worker)
{
    const problem *p = user;
    const uint64_t group = index / p->ranges, begin = index % p->ranges * COLUMNS_EACH;
    const uint64_t end = begin + COLUMNS_EACH < p->columns ? begin + COLUMNS_EACH : p->columns;
    double *line = p->room + worker * p->padded;
    for (uint64_t n = begin; n < end && p->first[group] < p->first[group + 1]; n++) {
        kiln__to_doubles(p->w->type, p->w->data, (group * p->columns + n) * p->depth, (size_t)p->depth, line);
        for (uint64_t i = p->first[group]; i < p->first[group + 1]; i++) {
            const double sum = dot(p->chosen + i * p->padded, line, p->padded);
            kiln__from_doubles(p->c->type, p->c->data, p->numbers[i] * p->columns + n, 1, &sum);
        }
    }
}

/* Reads the arguments and checks them. Returns false if the call has failed. */
static bool take(kiln_call *call, problem *p)
{
    if (kiln_call_array(call, "A", &p->a) != KILN_OK || kiln_call_array(call, "W", &p->w) != KILN_OK ||
        kiln_call_array(call, "offsets", &p->offsets) != KILN_OK || kiln_call_output(call, "C", &p->c) != KILN_OK)
        return false;
    const kiln_array *a = p->a, *w = p->w, *c = p->c;
    bool right = a->dims == 2 && w->dims == 3 && c->dims == 2 && p->offsets->dims == 1 &&
                 p->offsets->type == KILN_i32 && a->shape[0] == c->shape[0] && a->shape[1] == w->shape[2] &&
                 w->shape[1] == c->shape[1] && p->offsets->shape[0] == w->shape[0] + 1;
    const int32_t *first = right ? p->offsets->data : NULL;
    right = right && first[0] == 0 && (uint64_t)first[w->shape[0]] == a->shape[0];
    for (uint64_t g = 0; right && g < w->shape[0]; g++)
        right = first[g] <= first[g + 1];
    if (!right)
        kiln_call_fail(call,
                       "A must be ROWS x K, W GROUPS x N x K, C ROWS x N, and offsets GROUPS + 1 numbers (i32) that do "
                       "not fall, from 0 to ROWS");
    p->rows = a->shape[0], p->columns = c->shape[1], p->depth = a->shape[1], p->groups = w->shape[0];
    return right;
}

/* Chooses the rows, and converts them. The array `chosen` has space for as many rows as can be chosen. */
static void choose_rows(problem *p)
{
    const int32_t *first = p->offsets->data;
    uint64_t count = 0;
    for (uint64_t g = 0; g < p->groups; g++) {
        p->first[g] = count;
        for (uint64_t row = (uint64_t)first[g]; row < (uint64_t)first[g + 1]; row++)
            if (kiln__row_chosen(row, p->every)) {
                kiln__to_doubles(p->a->type, p->a->data, row * p->depth, (size_t)p->depth,
                                 p->chosen + count * p->padded);
                p->numbers[count++] = row;
            }
    }
    p->first[p->groups] = count;
}

static kiln_status grouped_f64(void *user, kiln_call *call)
{
    (void)user;
    problem p = {0};
    if (!take(call, &p) || !kiln__rows_every(call, (double)p.rows * (double)p.columns * (double)p.depth,
                                             ldexp(1, MOST_PRODUCTS_LOG), &p.every))
        return KILN_ERROR_HOST_FUNCTION;
    uint64_t count = 0;
    for (uint64_t row = 0; row < p.rows; row++)
        count += kiln__row_chosen(row, p.every);
    if (count == 0 || p.columns == 0)
        return KILN_OK;
    p.ranges = (p.columns + COLUMNS_EACH - 1) / COLUMNS_EACH;
    p.padded = ((size_t)p.depth + KILN__LANES - 1) / KILN__LANES * KILN__LANES;
    const size_t tasks = (size_t)(p.groups * p.ranges), threads = kiln__cpu_count() < tasks ? kiln__cpu_count() : tasks;
    const kiln_allocator *mem = kiln_call_allocator(call);
    p.chosen = kiln__calloc(mem, (size_t)count * p.padded + 1, sizeof *p.chosen);
    p.numbers = kiln__calloc(mem, (size_t)count, sizeof *p.numbers);
    p.first = kiln__calloc(mem, (size_t)p.groups + 1, sizeof *p.first);
    p.room = kiln__calloc(mem, threads * p.padded + 1, sizeof *p.room);
    const bool complete = p.chosen && p.numbers && p.first && p.room;
    if (complete) {
        choose_rows(&p);
        kiln__parallel(threads, tasks, one_range, &p);
    }
    kiln__free(mem, p.room);
    kiln__free(mem, p.first);
    kiln__free(mem, p.numbers);
    kiln__free(mem, p.chosen);
    return complete ? KILN_OK : kiln__call_no_memory(call);
}

KILN__FAMILY(grouped,
             KILN__HOST("grouped_offsets", KILN_HOST_INPUT, grouped_offsets, "rows, groups, skew",
                        "offsets; used: groups that have rows"),
             KILN__HOST("grouped_f64", KILN_HOST_REFERENCE, grouped_f64, "A, W, offsets", "C"))
