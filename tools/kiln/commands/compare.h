/* compare.h - the two sides of `kiln compare`: compare_read.c reads them, compare.c compares them. */
#ifndef KILN_CLI_COMPARE_H
#define KILN_CLI_COMPARE_H

#include "commands.h"

#define COMPARE_REGRESSION 1 /* the exit code */

typedef struct compare_args {
    bool best, markdown;
    double noise; /* percent; 0 means the default */
    uint64_t top;
    const char *csv, *variant, *device, *store;
} compare_args;

typedef enum compare_kind { COMPARE_MEASURED, COMPARE_ESTIMATED, COMPARE_SIMULATED, COMPARE_COUNT } compare_kind;

/* One configuration of a result, or one counter of a kernel. For a counter, `variant` is the kernel and `params` is the
 * counter. */
typedef struct compare_row {
    const char *spec, *sizes, *device, *variant, *params;
    kiln_status status;
    const char *message;
    compare_kind kind;
    double value, low, high; /* seconds, or a count; low and high: a 95 % interval, or 0 if it is not known */
    unsigned repetitions;
    int64_t made;
    const char *best; /* with --best: the configuration; NULL otherwise */
} compare_row;

typedef struct compare_side {
    const char *name; /* the name on the command line */
    const char *what; /* for people */
    compare_row **rows;
    size_t count, room;
    /* The file is the output of a command that failed. It has no rows; all configurations count as failed. KILN_OK:
     * the command did not fail. */
    kiln_status failed;
    const char *why;
} compare_side;

/* Returns true if this side is a file. Otherwise the side selects samples of the usual store. */
bool compare_is_file(const char *name);
/* Reads the rows of `side->name`. If `spec` is not NULL, reads only rows of this spec. Returns 0 or the exit code. */
int compare_read(cli *c, const char *spec, compare_side *side);
/* Returns true if a larger value of this counter means more work or less use of the hardware. */
bool compare_more_is_worse(const char *counter);

#endif
