/* sites_internal.h - finds the devices of a sweep (sites.c). */
#ifndef KILN_TUNE_SITES_INTERNAL_H
#define KILN_TUNE_SITES_INTERNAL_H

#include "engine.h"

typedef struct kiln__site {
    const kiln__place *place; /* the place where its processes run; NULL means this machine */
    const char *device;       /* the name of the device at this place, in the form of kiln_options */
    /* the name of the device in messages and samples, such as "cuda:0" or "rank 3 (node7, cuda:0)" */
    const char *label;
    const char *host; /* the name of the machine that has the device */
    char uuid[64];    /* "" means no uuid */
    kiln_device_info info;
} kiln__site;
typedef struct kiln__sites {
    kiln__site *items;
    size_t count;
    const char *here; /* the name of this machine */
} kiln__sites;
/* Finds the devices of the sweep: the devices of the options, or the engine's device unless the engine only leads. Then
 * waits for the other ranks, and adds their devices. All devices must have the same model, because times of different
 * models cannot be compared. The list of devices is allocated in the arena. Arena, engine and options must outlive the
 * list. */
kiln_status kiln__sites_find(kiln_engine *engine, const kiln_tune_options *options, kiln__arena *arena,
                             kiln__sites *sites, kiln_error **error);
/* Returns the number of compiles that can run at the same time, on all machines. */
size_t kiln__sites_jobs(const kiln_engine *engine);

#endif
