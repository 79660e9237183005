/* Tests when the work of a program would run. The expected times were derived by hand. */
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
    sim_timeline_device d = {0};
    double a = 0, b = 0, free = 0; /* streams `a` and `b` wait for the legacy stream, but `free` does not */
    CHECK(is(sim_timeline_put(&t, &d, &a, true, SIM_LANE_TO_DEVICE, 2, 0), 0, 2));
    CHECK(is(sim_timeline_put(&t, &d, &a, true, SIM_LANE_KERNEL, 1, 0.5), 2, 3));
    /* the engine for copies to the device is busy until time 2 */
    CHECK(is(sim_timeline_put(&t, &d, &b, true, SIM_LANE_TO_DEVICE, 2, 0), 2, 4));
    CHECK(is(sim_timeline_put(&t, &d, &b, true, SIM_LANE_FROM_DEVICE, 1, 0), 4, 5));
    CHECK(is(sim_timeline_put(&t, &d, &free, false, SIM_LANE_KERNEL, 1, 0.5), 0, 1));
    /* begins after the work of a and b */
    CHECK(is(sim_timeline_put(&t, &d, NULL, true, SIM_LANE_ON_DEVICE, 1, 0), 5, 6));
    CHECK(is(sim_timeline_put(&t, &d, &a, true, SIM_LANE_KERNEL, 1, 0.5), 6, 7));
    CHECK(is(sim_timeline_put(&t, &d, &free, false, SIM_LANE_KERNEL, 1, 0.5), 1, 2));
    CHECK(d.end == 7 && t.host == 0);
}

static void test_waiting(void)
{
    sim_timeline t = {0};
    sim_timeline_device d = {0};
    double a = 0, b = 0;
    sim_timeline_put(&t, &d, &a, false, SIM_LANE_KERNEL, 3, 0.1);
    const double event = sim_timeline_mark(&t, &d, &a);
    CHECK(event == 3 && sim_timeline_mark(&t, &d, &b) == 0);
    sim_timeline_after(&d, &b, event);
    CHECK(is(sim_timeline_put(&t, &d, &b, false, SIM_LANE_KERNEL, 1, 0.1), 3, 4));
    double later = 0;
    /* begins at time 0, because the host did not wait */
    CHECK(is(sim_timeline_put(&t, &d, &later, false, SIM_LANE_KERNEL, 1, 0.1), 0, 1));
    sim_timeline_host_waits(&t, event);
    sim_timeline_host_waits(&t, 1); /* no effect: this work has ended before */
    double last = 0;
    CHECK(is(sim_timeline_put(&t, &d, &last, false, SIM_LANE_KERNEL, 1, 0.1), 3, 4));
    CHECK(sim_timeline_mark(&t, &d, NULL) == 3);
}

static void test_room(void)
{
    sim_timeline t = {0};
    sim_timeline_device d = {0};
    double streams[4] = {0};
    CHECK(is(sim_timeline_put(&t, &d, &streams[0], false, SIM_LANE_KERNEL, 4, 0.6), 0, 4));
    CHECK(is(sim_timeline_put(&t, &d, &streams[1], false, SIM_LANE_KERNEL, 2, 0.4), 0, 2));
    /* begins when the work of the second stream has ended */
    CHECK(is(sim_timeline_put(&t, &d, &streams[2], false, SIM_LANE_KERNEL, 1, 0.3), 2, 3));
    CHECK(is(sim_timeline_put(&t, &d, &streams[3], false, SIM_LANE_KERNEL, 1, 1), 4, 5)); /* all SMs */
    double many = 0;
    for (int k = 0; k < 3 * SIM_TIMELINE_KERNELS; k++)
        CHECK(is(sim_timeline_put(&t, &d, &many, false, SIM_LANE_KERNEL, 1, 1), 5 + k, 6 + k));
}

/* Tests that two devices share only the host. */
static void test_devices(void)
{
    sim_timeline t = {0};
    sim_timeline_device d = {0}, other = {0};
    double a = 0, b = 0;
    CHECK(is(sim_timeline_put(&t, &d, &a, true, SIM_LANE_KERNEL, 3, 1), 0, 3));
    CHECK(is(sim_timeline_put(&t, &other, &b, true, SIM_LANE_KERNEL, 2, 1), 0, 2));
    CHECK(is(sim_timeline_put(&t, &other, NULL, true, SIM_LANE_TO_DEVICE, 1, 0), 2, 3));
    CHECK(d.end == 3 && other.end == 3);
    sim_timeline_host_waits(&t, sim_timeline_mark(&t, &d, NULL));
    CHECK(is(sim_timeline_put(&t, &other, &b, true, SIM_LANE_KERNEL, 1, 1), 3, 4));
    CHECK(other.end == 4);
}

static const check_case cases[] = {
    {"streams", test_streams}, {"waiting", test_waiting}, {"room on the device", test_room}, {"devices", test_devices}};
KILN_SUITE("sim timeline", cases)
