/* clock.c - reads the clocks. */
#include <time.h>

#include "base.h"

uint64_t kiln__now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int64_t kiln__today_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double kiln__seconds_since(uint64_t start) { return (double)(kiln__now_ns() - start) * 1e-9; }

uint64_t kiln__deadline_in(double seconds)
{
    return seconds > 0 && seconds < 1e9 ? kiln__now_ns() + (uint64_t)(seconds * 1e9) : 0;
}
