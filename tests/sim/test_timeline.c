/* When the work of a program would run: expected times are worked out by hand. */
#include <string.h>

#include "check.h"
#include "timeline.h"

static bool is(sim_span span, double start, double end)
{
    const double little = 1e-9;
    const bool good = span.start > start - little && span.start < start + little && span.end > end - little &&
                      span.end < end + little;
    if (!good)
        fprintf(stderr, "%g to %g, want %g to %g\n", span.start, span.end, start, end);
    return good;
}

static void test_streams(void)
{
    sim_timeline t = {0};
    double a = 0, b = 0, free = 0; /* two that wait for the legacy stream, one that does not */
    CHECK(is(sim_timeline_put(&t, &a, true, SIM_LANE_TO_DEVICE, 2, 0), 0, 2));
    CHECK(is(sim_timeline_put(&t, &a, true, SIM_LANE_KERNEL, 1, 0.5), 2, 3));
    CHECK(is(sim_timeline_put(&t, &b, true, SIM_LANE_TO_DEVICE, 2, 0), 2, 4)); /* the way there is taken until 2 */
    CHECK(is(sim_timeline_put(&t, &b, true, SIM_LANE_FROM_DEVICE, 1, 0), 4, 5));
    CHECK(is(sim_timeline_put(&t, &free, false, SIM_LANE_KERNEL, 1, 0.5), 0, 1));
    CHECK(is(sim_timeline_put(&t, NULL, true, SIM_LANE_ON_DEVICE, 1, 0), 5, 6)); /* after a and b */
    CHECK(is(sim_timeline_put(&t, &a, true, SIM_LANE_KERNEL, 1, 0.5), 6, 7));
    CHECK(is(sim_timeline_put(&t, &free, false, SIM_LANE_KERNEL, 1, 0.5), 1, 2));
    CHECK(t.end == 7 && t.host == 0);
}

static void test_waiting(void)
{
    sim_timeline t = {0};
    double a = 0, b = 0;
    sim_timeline_put(&t, &a, false, SIM_LANE_KERNEL, 3, 0.1);
    const double event = sim_timeline_mark(&t, &a);
    CHECK(event == 3 && sim_timeline_mark(&t, &b) == 0);
    sim_timeline_after(&t, &b, event);
    CHECK(is(sim_timeline_put(&t, &b, false, SIM_LANE_KERNEL, 1, 0.1), 3, 4));
    double later = 0;
    CHECK(is(sim_timeline_put(&t, &later, false, SIM_LANE_KERNEL, 1, 0.1), 0, 1)); /* the host did not wait */
    sim_timeline_host_waits(&t, event);
    sim_timeline_host_waits(&t, 1); /* which is over */
    double last = 0;
    CHECK(is(sim_timeline_put(&t, &last, false, SIM_LANE_KERNEL, 1, 0.1), 3, 4));
    CHECK(sim_timeline_mark(&t, NULL) == 3);
}

static void test_room(void)
{
    sim_timeline t = {0};
    double streams[4] = {0};
    CHECK(is(sim_timeline_put(&t, &streams[0], false, SIM_LANE_KERNEL, 4, 0.6), 0, 4));
    CHECK(is(sim_timeline_put(&t, &streams[1], false, SIM_LANE_KERNEL, 2, 0.4), 0, 2));
    CHECK(is(sim_timeline_put(&t, &streams[2], false, SIM_LANE_KERNEL, 1, 0.3), 2, 3)); /* where the second was */
    CHECK(is(sim_timeline_put(&t, &streams[3], false, SIM_LANE_KERNEL, 1, 1), 4, 5));   /* all SMs */
    double many = 0;
    for (int k = 0; k < 3 * SIM_TIMELINE_KERNELS; k++)
        CHECK(is(sim_timeline_put(&t, &many, false, SIM_LANE_KERNEL, 1, 1), 5 + k, 6 + k));
}

static const check_case cases[] = {
    {"streams", test_streams}, {"waiting", test_waiting}, {"room on the device", test_room}};
KILN_SUITE("sim timeline", cases)
