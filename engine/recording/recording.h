/* recording.h - recorded spaces. A recorded space is a search space that was measured completely, and that is kept in a
 * file. A search can run in a recorded space without a device. */
#ifndef KILN_SEARCH_RECORDING_H
#define KILN_SEARCH_RECORDING_H

#include "search.h"

typedef struct kiln__recording_row {
    uint32_t *positions;               /* for each param, the index of its value */
    double seconds;                    /* HUGE_VAL means that the configuration failed */
    const char *failure;               /* the word of the file for the failure; NULL if the configuration ran */
    double compile, verify, benchmark; /* the seconds that compiling, checking and measuring the configuration took */
    /* the expected time in seconds, which is a hint for the search; 0 means no hint */
    double prior;
} kiln__recording_row;

typedef struct kiln__axis_values {
    const char *name;
    kiln_value *values;
    size_t count;
} kiln__axis_values;

/* The expected result of uniform random search, computed from all configurations (baseline.c). A failed configuration
 * counts like the slowest configuration. */
typedef struct kiln__baseline {
    double *sorted; /* the times of all configurations in seconds, in sorted order */
    size_t count;
    double optimum, median, worst; /* the times of the configurations that ran; 0 if no configuration ran */
    double mean_cost;              /* the mean of the seconds that a configuration costs */
    /* the number of draws after which random search has come within 5 % of the way from the optimum to the median */
    size_t draws;
    /* the time of these draws in seconds, which is draws * mean_cost; 0 if strategies cannot be compared */
    double budget;
} kiln__baseline;

struct kiln_recording {
    const kiln_allocator *mem;
    kiln__arena arena;
    const char *path, *format, *kernel, *device; /* "" if the file has no such name */
    bool cut_off;                                /* the file is truncated, and only its complete part was read */
    size_t param_count, row_count, failed;
    kiln__axis_values *params;
    kiln__recording_row *rows; /* no two configurations are equal */
    /* the coordinates of all rows. First comes the part, which is 0, and then the positions */
    uint32_t *coords;
    uint32_t *table; /* a hash table of row numbers + 1, by the hash of the coordinates */
    size_t table_size;
    kiln__points points;
    kiln__baseline baseline;
    kiln_recording_info info; /* the result of kiln_recording_describe() */
};

/* Reads a recorded space from the bytes of a file, which may be packed or truncated. If `mem` is NULL, the function
 * uses malloc. The JSON library jansson always uses malloc. The caller frees *recording with kiln_recording_free().
 * After an error *recording is unchanged. */
kiln_status kiln__recording_parse(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                                  struct kiln_recording **recording, kiln_error **error);
/* Compares two kiln_value, for qsort() and bsearch(). Numbers come before texts and are ordered by their values. The
 * values of a param are in this order. */
int kiln__recording_compare(const void *one, const void *other);
/* Computes the baseline from the rows of a recording. Returns false if memory runs out. */
bool kiln__baseline_make(struct kiln_recording *recording);
/* Returns the row of a point. The point must be a configuration of the recording. For any other point the result is
 * undefined. */
const kiln__recording_row *kiln__recording_find_row(const struct kiln_recording *recording, const uint32_t *point);
static inline double kiln__recording_row_cost(const kiln__recording_row *row)
{
    return row->compile + row->verify + row->benchmark;
}
#endif
