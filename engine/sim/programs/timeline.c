/* timeline.c - computes when the work of a program would run on the device (timeline.h). */
#include "timeline.h"

static double get_later(double a, double b) { return a > b ? a : b; }

/* Returns the first time, from `ready` on, at which the overlapping kernels leave `share` of the SMs free. All kernels
 * that overlap the new kernel in time count, even if they do not overlap one another. So the result may be too late,
 * but never too early. */
static double find_room(const sim_timeline_device *d, double ready, double seconds, double share)
{
    const double little = 1e-9;
    for (;;) {
        double taken = 0, next = 0;
        for (size_t k = 0; k < SIM_TIMELINE_KERNELS; k++) {
            const sim_span *other = &d->kernels[k].span;
            if (other->end <= ready || other->start >= ready + seconds)
                continue;
            taken += d->kernels[k].share;
            next = next > 0 && next < other->end ? next : other->end;
        }
        if (taken <= 0 || taken + share <= 1 + little)
            return ready;
        ready = next;
    }
}

sim_span sim_timeline_put(sim_timeline *t, sim_timeline_device *d, double *end, bool blocking, sim_lane lane,
                          double seconds, double share)
{
    double *own = end ? end : &d->legacy, start = get_later(t->host, *own);
    if (!end)
        start = get_later(start, d->blocking);
    else if (blocking)
        start = get_later(start, d->legacy);
    if (lane == SIM_LANE_KERNEL)
        start = find_room(d, start, seconds, share);
    else
        start = get_later(start, d->lanes[lane]);
    const sim_span span = {start, start + seconds};
    if (lane == SIM_LANE_KERNEL) {
        const size_t k = d->next_kernel++ % SIM_TIMELINE_KERNELS;
        d->kernels[k].span = span;
        d->kernels[k].share = share;
    }
    d->lanes[lane] = get_later(d->lanes[lane], span.end);
    d->end = get_later(d->end, span.end);
    *own = span.end;
    if (end && blocking)
        d->blocking = get_later(d->blocking, span.end);
    return span;
}

double sim_timeline_mark(const sim_timeline *t, const sim_timeline_device *d, const double *end)
{
    return end ? get_later(t->host, *end) : get_later(t->host, get_later(d->legacy, d->blocking));
}

void sim_timeline_after(sim_timeline_device *d, double *end, double time)
{
    double *own = end ? end : &d->legacy;
    *own = get_later(*own, time);
}

void sim_timeline_host_waits(sim_timeline *t, double time) { t->host = get_later(t->host, time); }
