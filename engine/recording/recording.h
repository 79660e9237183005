/* recording.h - a completely measured search space, read from a file, to search it again without a device. */
#ifndef KILN_SEARCH_RECORDING_H
#define KILN_SEARCH_RECORDING_H

#include "search.h"

typedef struct kiln__recording_row {
    uint32_t *positions;               /* of each param's value */
    double seconds;                    /* HUGE_VAL: it failed */
    const char *failure;               /* the file's word for it; NULL: it did not */
    double compile, verify, benchmark; /* seconds that it cost */
    double prior;                      /* what it is expected to take; 0: not known */
} kiln__recording_row;

typedef struct kiln__axis_values {
    const char *name;
    kiln_value *values;
    size_t count;
} kiln__axis_values;

/* The expected result of uniform random search, computed from all configurations (replay.c). A failed one counts as the
 * slowest. */
typedef struct kiln__baseline {
    double *sorted; /* seconds of all configurations */
    size_t count;
    double optimum, median, worst; /* of those that ran; 0: none did */
    double mean_cost;              /* seconds that a configuration costs */
    size_t draws;                  /* for random search to come within 5 % of the way from optimum to median */
    double budget;                 /* the same as time: draws * mean_cost; 0: nothing to compare */
} kiln__baseline;

struct kiln_recording {
    const kiln_allocator *mem;
    kiln__arena arena;
    const char *path, *format, *kernel, *device; /* "" where the file says nothing */
    bool cut_off;                                /* truncated: the complete part was read */
    size_t param_count, row_count, failed;
    kiln__axis_values *params;
    kiln__recording_row *rows; /* no two of the same configuration */
    uint32_t *coords;          /* of all rows: the part, which is 0, then the positions */
    uint32_t *table;           /* row + 1 by hash of the coordinates */
    size_t table_size;
    kiln__points points;
    kiln__baseline baseline;
    kiln_recording_info info; /* what kiln_recording_describe() returns */
};

/* The bytes of the file: plain or gzipped, complete or truncated. `mem` NULL: malloc. jansson, which reads the JSON,
 * takes its memory from malloc in any case. */
kiln_status kiln__recording_parse(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                                  struct kiln_recording **recording, kiln_error **error);
/* Fills in the baseline of a recording that is otherwise complete; false: no memory. */
bool kiln__baseline_make(struct kiln_recording *recording);
/* The row of a valid point. */
const kiln__recording_row *kiln__recording_find_row(const struct kiln_recording *recording, const uint32_t *point);
static inline double kiln__recording_row_cost(const kiln__recording_row *row)
{
    return row->compile + row->verify + row->benchmark;
}
#endif
