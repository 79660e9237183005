/* compare.h - the two sides of `kiln compare`: compare_read.c reads them, compare.c compares them. */
#ifndef KILN_CLI_COMPARE_H
#define KILN_CLI_COMPARE_H

#include "commands.h"

#define COMPARE_REGRESSION 1 /* the exit code */

typedef struct compare_args {
    bool best, markdown;
    double noise; /* tolerated noise in percent; 0 means the default */
    uint64_t top;
    const char *csv, *variant, *device, *store;
} compare_args;

typedef enum compare_kind { COMPARE_MEASURED, COMPARE_ESTIMATED, COMPARE_SIMULATED, COMPARE_COUNT } compare_kind;

/* A row of a result: one configuration, or one counter of a kernel. In the row of a counter, `variant` is the kernel
 * and `params` is the name of the counter. */
typedef struct compare_row {
    const char *spec, *sizes, *device, *variant, *params;
    kiln_status status;
    const char *message;
    compare_kind kind;
    /* `value` is in seconds, or a count; `low` and `high` are the ends of a 95 % interval, or 0 if the interval is not
     * known */
    double value, low, high;
    unsigned repetitions;
    int64_t made;
    const char *best; /* with --best, the configuration of this row; otherwise NULL */
} compare_row;

typedef struct compare_side {
    const char *name; /* the name of this side on the command line */
    const char *what; /* for people */
    compare_row **rows;
    size_t count, room;
    /* The status of the command whose output the file is, if this command failed. Such a file has no rows, and all
     * configurations count as failed. KILN_OK means that the command did not fail. */
    kiln_status failed;
    const char *why;
} compare_side;

/* Returns true if a side of the comparison is a file. If it is not a file, the name selects samples of a device or of a
 * version in the usual store. */
bool compare_is_file(const char *name);
/* Reads the rows of the side that `side->name` names. If `spec` is not NULL, reads only rows of this spec. Returns 0 or
 * the exit code. */
int compare_read(cli *c, const char *spec, compare_side *side);
/* Returns true if a larger value of this counter means more work or less use of the hardware. */
bool compare_more_is_worse(const char *counter);

#endif
