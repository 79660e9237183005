/* timeline.h - when the work of a program would run on the device: in the order that streams require, with one copy at
 * a time in each direction, and with kernels side by side while SMs are free. PROFILE.md describes the model. Times are
 * seconds since the program's first work; the host itself takes no time. Not thread-safe. */
#ifndef KILN_SIM_TIMELINE_H
#define KILN_SIM_TIMELINE_H

#include "cu_objects.h"

typedef struct sim_span {
    double start, end;
} sim_span;

enum { SIM_TIMELINE_KERNELS = 64 }; /* number of the last kernels that are kept; only these may run side by side */
/* Both all zero: nothing has run. The host is common to the devices of a process. */
typedef struct sim_timeline {
    double host; /* work that is enqueued now begins no earlier than this */
} sim_timeline;
typedef struct sim_timeline_device {
    double end;              /* end of the stream's work so far */
    double legacy, blocking; /* end of the legacy stream; of all streams that wait for it */
    double lanes[SIM_LANES]; /* time at which a lane is free again */
    struct {
        sim_span span;
        double share;
    } kernels[SIM_TIMELINE_KERNELS]; /* the last ones */
    size_t next_kernel;
} sim_timeline_device;

/* Puts work into a stream. *end is the time at which the stream's work ends so far, 0 at first; NULL means the
 * legacy stream. `blocking`: the stream and the legacy stream wait for each other. `share` is the share of the SMs
 * that a kernel uses, above 0 and at most 1. */
sim_span sim_timeline_put(sim_timeline *t, sim_timeline_device *d, double *end, bool blocking, sim_lane lane,
                          double seconds, double share);
/* Returns the time at which the stream's work so far ends. Events and waits use it. */
double sim_timeline_mark(const sim_timeline *t, const sim_timeline_device *d, const double *end);
/* The next work of the stream, which may be the legacy stream, begins no earlier than that time. */
void sim_timeline_after(sim_timeline_device *d, double *end, double time);
void sim_timeline_host_waits(sim_timeline *t, double time);
#endif
