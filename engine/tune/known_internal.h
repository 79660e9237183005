/* known_internal.h - a configuration with its known time. */
#ifndef KILN_TUNE_KNOWN_INTERNAL_H
#define KILN_TUNE_KNOWN_INTERNAL_H

#include "plan.h"
#include "space.h"

/* A configuration with a time from the store, from estimates or from files. Only kiln__recorder_find() decides whether
 * the sweep can reuse it as a sample. */
typedef struct kiln__known {
    const char *variant;
    kiln__settings params;
    double seconds; /* HUGE_VAL: it failed */
} kiln__known;

#endif
