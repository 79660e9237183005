/* timeline.c - when the work of a program would run on the device (timeline.h). */
#include "timeline.h"

static double later(double a, double b) { return a > b ? a : b; }

/* The first time from `ready` on at which the kernels that overlap leave `share` of the SMs. All that overlap count,
 * also those that do not overlap one another, so that the answer may be late, and is never too early. */
static double room(const sim_timeline *t, double ready, double seconds, double share)
{
    const double little = 1e-9;
    for (;;) {
        double taken = 0, next = 0;
        for (size_t k = 0; k < SIM_TIMELINE_KERNELS; k++) {
            const sim_span *other = &t->kernels[k].span;
            if (other->end <= ready || other->start >= ready + seconds)
                continue;
            taken += t->kernels[k].share;
            next = next > 0 && next < other->end ? next : other->end;
        }
        if (taken <= 0 || taken + share <= 1 + little)
            return ready;
        ready = next;
    }
}

sim_span sim_timeline_put(sim_timeline *t, double *end, bool blocking, sim_lane lane, double seconds, double share)
{
    double *own = end ? end : &t->legacy, start = later(t->host, *own);
    if (!end)
        start = later(start, t->blocking);
    else if (blocking)
        start = later(start, t->legacy);
    if (lane == SIM_LANE_KERNEL)
        start = room(t, start, seconds, share);
    else
        start = later(start, t->lanes[lane]);
    const sim_span span = {start, start + seconds};
    if (lane == SIM_LANE_KERNEL) {
        const size_t k = t->next_kernel++ % SIM_TIMELINE_KERNELS;
        t->kernels[k].span = span;
        t->kernels[k].share = share;
    }
    t->lanes[lane] = later(t->lanes[lane], span.end);
    t->end = later(t->end, span.end);
    *own = span.end;
    if (end && blocking)
        t->blocking = later(t->blocking, span.end);
    return span;
}

double sim_timeline_mark(const sim_timeline *t, const double *end)
{
    return end ? later(t->host, *end) : later(t->host, later(t->legacy, t->blocking));
}

void sim_timeline_after(sim_timeline *t, double *end, double time)
{
    double *own = end ? end : &t->legacy;
    *own = later(*own, time);
}

void sim_timeline_host_waits(sim_timeline *t, double time) { t->host = later(t->host, time); }
