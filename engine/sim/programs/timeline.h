/* timeline.h - computes when the work of a program would run on the device. The streams of a program define the order
 * of its work. One copy at a time runs in each direction, and kernels run side by side while SMs are free. PROFILE.md
 * describes the model. Times are seconds since the first work of the program. The host itself needs no time. Not
 * thread-safe. */
#ifndef KILN_SIM_TIMELINE_H
#define KILN_SIM_TIMELINE_H

#include "cu_objects.h"

typedef struct sim_span {
    double start, end;
} sim_span;

/* number of recent kernels that the model remembers; only these kernels can overlap a new kernel */
enum { SIM_TIMELINE_KERNELS = 64 };
/* The host's side of the model. This structure and sim_timeline_device begin as zeros, when nothing has run. All
 * devices of a process share the time of the host. */
typedef struct sim_timeline {
    double host; /* work that the host enqueues from now on begins no earlier than this time */
} sim_timeline;
typedef struct sim_timeline_device {
    double end; /* end of all work that the device has so far */
    /* `legacy`: end of the work of the legacy stream; `blocking`: end of the work of all streams that wait for the
     * legacy stream */
    double legacy, blocking;
    double lanes[SIM_LANES]; /* time at which each lane is free again */
    struct {
        sim_span span;
        double share;
    } kernels[SIM_TIMELINE_KERNELS]; /* the most recent kernels */
    size_t next_kernel;
} sim_timeline_device;

/* Puts work into a stream. *end is the time at which the work of the stream ends so far. It is 0 before the first work.
 * If `end` is NULL, the stream is the legacy stream. `blocking` is true if the stream waits for the legacy stream and
 * the legacy stream waits for it. `share` is the share of the SMs that a kernel uses, above 0 and at most 1. */
sim_span sim_timeline_put(sim_timeline *t, sim_timeline_device *d, double *end, bool blocking, sim_lane lane,
                          double seconds, double share);
/* Returns the time at which the work of a stream so far ends. Events and waits need this time. */
double sim_timeline_mark(const sim_timeline *t, const sim_timeline_device *d, const double *end);
/* Makes the next work of the stream begin no earlier than `time`. If `end` is NULL, the stream is the legacy stream. */
void sim_timeline_after(sim_timeline_device *d, double *end, double time);
void sim_timeline_host_waits(sim_timeline *t, double time);
#endif
