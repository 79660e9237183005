/* recording.h - recorded spaces. A recorded space is a search space whose configurations were all measured, and whose
 * results are in a file. A search can run in a recorded space without a device. */
#ifndef KILN_SEARCH_RECORDING_H
#define KILN_SEARCH_RECORDING_H

#include "search.h"

typedef struct kiln__recording_row {
    uint32_t *positions; /* for each tuning parameter, the index of its value */
    /* the measured time of the configuration; HUGE_VAL means that the configuration failed */
    double seconds;
    /* the text in the file that tells the kind of the failure; NULL if the configuration ran */
    const char *failure;
    double compile, verify, benchmark; /* the seconds that compiling, checking and measuring the configuration took */
    /* The expected time in seconds, which the search gets as a hint before it begins. 0 means that there is no hint. */
    double prior;
} kiln__recording_row;

typedef struct kiln__axis_values {
    const char *name;
    kiln_value *values;
    size_t count;
} kiln__axis_values;

/* The expected result of uniform random search (the baseline of scores), computed from all configurations (baseline.c).
 * A failed configuration counts like the slowest configuration. */
typedef struct kiln__baseline {
    double *sorted; /* the times of all configurations in seconds, in ascending order */
    size_t count;
    /* the best, median and worst time of the configurations that ran; 0 if no configuration ran */
    double optimum, median, worst;
    /* the mean number of seconds that it costs to compile, check and measure a configuration */
    double mean_cost;
    /* The least number of random draws whose expected best time is close to the optimum. Its distance from the optimum
     * is at most 5 % of the distance between the optimum and the median. */
    size_t draws;
    /* The time that these draws cost in seconds, draws * mean_cost. 0 if strategies cannot be compared in this
     * space. */
    double budget;
} kiln__baseline;

struct kiln_recording {
    const kiln_allocator *mem;
    kiln__arena arena;
    const char *path, *format, *kernel, *device; /* a text is "" if the file does not have it */
    /* true if the file is truncated, so that only its complete part was read */
    bool cut_off;
    size_t param_count, row_count, failed;
    kiln__axis_values *params;
    kiln__recording_row *rows; /* the rows of the recorded space; no two rows have the same configuration */
    /* The points of all rows, one after another. A point is the number of its variant, which is 0, and then the index
     * of each tuning parameter's value. */
    uint32_t *coords;
    uint32_t *table; /* a hash table from points to rows; an entry is the index of the row plus 1 */
    size_t table_size;
    kiln__points points;
    kiln__baseline baseline;
    kiln_recording_info info; /* the information that kiln_recording_describe() returns */
};

/* Reads a recorded space from the bytes of a file, which may be packed or truncated. If `mem` is NULL, the function
 * uses malloc(). The JSON library jansson always uses malloc(). The caller frees *recording with kiln_recording_free().
 * After an error *recording is unchanged. */
kiln_status kiln__recording_parse(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                                  struct kiln_recording **recording, kiln_error **error);
/* Compares two kiln_value, for qsort() and bsearch(). Numbers come before texts, in ascending order. The values of a
 * tuning parameter are in this order. */
int kiln__recording_compare(const void *one, const void *other);
/* Computes the expected result of random search from the rows. Returns false if memory runs out. */
bool kiln__baseline_make(struct kiln_recording *recording);
/* Returns the row of a point. The point must be a configuration of the recorded space; otherwise the result is
 * undefined. */
const kiln__recording_row *kiln__recording_find_row(const struct kiln_recording *recording, const uint32_t *point);
static inline double kiln__recording_row_cost(const kiln__recording_row *row)
{
    return row->compile + row->verify + row->benchmark;
}
#endif
