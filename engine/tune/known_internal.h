/* known_internal.h - a configuration with its known time. */
#ifndef KILN_TUNE_KNOWN_INTERNAL_H
#define KILN_TUNE_KNOWN_INTERNAL_H

#include "plan.h"
#include "space.h"

/* A configuration with a time from the store, from estimates or from files. The sweep may be unable to reuse it as a
 * sample; only kiln__recorder_find() decides that. */
typedef struct kiln__known {
    const char *variant;
    kiln__settings params;
    double seconds; /* HUGE_VAL: it failed */
} kiln__known;

#endif
