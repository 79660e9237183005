/* recording.h - recorded spaces. A recorded space is a completely measured search space in a file. A search can be run
 * in it without a device. */
#ifndef KILN_SEARCH_RECORDING_H
#define KILN_SEARCH_RECORDING_H

#include "search.h"

typedef struct kiln__recording_row {
    uint32_t *positions;               /* for each param the index of its value */
    double seconds;                    /* HUGE_VAL if the configuration failed */
    const char *failure;               /* the file's word for the failure; NULL if the configuration ran */
    double compile, verify, benchmark; /* seconds that the configuration cost */
    double prior;                      /* expected time in seconds, a hint for the search; 0 means no hint */
} kiln__recording_row;

typedef struct kiln__axis_values {
    const char *name;
    kiln_value *values;
    size_t count;
} kiln__axis_values;

/* The expected result of uniform random search, computed from all configurations (baseline.c). A failed configuration
 * counts as the slowest one. */
typedef struct kiln__baseline {
    double *sorted; /* seconds of all configurations */
    size_t count;
    double optimum, median, worst; /* of the configurations that ran; 0 if none ran */
    double mean_cost;              /* mean seconds that a configuration costs */
    /* the number of draws after which random search is within 5 % of the way from optimum to median */
    size_t draws;
    double budget; /* the time of these draws in seconds: draws * mean_cost; 0 if strategies cannot be compared */
} kiln__baseline;

struct kiln_recording {
    const kiln_allocator *mem;
    kiln__arena arena;
    const char *path, *format, *kernel, *device; /* "" if the file does not have the name */
    bool cut_off;                                /* the file is truncated, and its complete part was read */
    size_t param_count, row_count, failed;
    kiln__axis_values *params;
    kiln__recording_row *rows; /* no two configurations are equal */
    uint32_t *coords;          /* coordinates of all rows: the part, which is 0, then the positions */
    uint32_t *table;           /* hash table: row + 1 by the hash of the coordinates */
    size_t table_size;
    kiln__points points;
    kiln__baseline baseline;
    kiln_recording_info info; /* the result of kiln_recording_describe() */
};

/* Reads the bytes of a file: plain or gzipped, complete or truncated. If `mem` is NULL, malloc is used. jansson,
 * which reads the JSON, always uses malloc. The caller frees *recording with kiln_recording_free(); after an error it
 * is unchanged. */
kiln_status kiln__recording_parse(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                                  struct kiln_recording **recording, kiln_error **error);
/* Compares two kiln_value, for qsort() and bsearch(): numbers by value, then texts. The values of a param have this
 * order. */
int kiln__recording_compare(const void *one, const void *other);
/* Computes the baseline from the rows. Returns false if memory runs out. */
bool kiln__baseline_make(struct kiln_recording *recording);
/* Returns the row of a point that is a configuration of the recording. For other points the result is undefined. */
const kiln__recording_row *kiln__recording_find_row(const struct kiln_recording *recording, const uint32_t *point);
static inline double kiln__recording_row_cost(const kiln__recording_row *row)
{
    return row->compile + row->verify + row->benchmark;
}
#endif
