/* sites_internal.h - the devices of a sweep (sites.c). */
#ifndef KILN_TUNE_SITES_INTERNAL_H
#define KILN_TUNE_SITES_INTERNAL_H

#include "engine.h"

typedef struct kiln__site {
    const kiln__place *place; /* place of its processes; NULL means this machine */
    const char *device;       /* name of the device at this place, as in kiln_options */
    const char *label;        /* for messages, and for samples: "cuda:0", "rank 3 (node7, cuda:0)" */
    const char *host;         /* name of its machine */
    char uuid[64];            /* "" means no uuid */
    kiln_device_info info;
} kiln__site;
typedef struct kiln__sites {
    kiln__site *items;
    size_t count;
    const char *here; /* name of this machine */
} kiln__sites;
/* Finds the devices of the sweep: the devices of the options, or the engine's device unless the engine only leads; then
 * the devices of the other ranks, for which the function waits. All devices must be one model, because times of
 * different models cannot be compared. The list lies in the arena. Arena, engine and options must outlive the list. */
kiln_status kiln__sites_find(kiln_engine *engine, const kiln_tune_options *options, kiln__arena *arena,
                             kiln__sites *sites, kiln_error **error);
/* Returns the number of compiles that can run at the same time, on all machines. */
size_t kiln__sites_jobs(const kiln_engine *engine);

#endif
