/* nvml.h - what NVML tells of a GPU while it is measured: clocks and what holds them down, temperature, power, energy.
 * The library (libnvidia-ml.so.1, of the NVIDIA driver) is optional and found at run time; nothing is ever set by it. */
#ifndef KILN_NVML_H
#define KILN_NVML_H

#include "driver.h"

typedef struct kiln__nvml kiln__nvml; /* one device; one thread at a time */

/* Opens $KILN_LIBNVML or libnvidia-ml.so.1 for the GPU that the driver gives this uuid. NULL: there is none or it does
 * not know the GPU, and `why` (may be NULL) gets one sentence. */
kiln__nvml *kiln__nvml_open(const kiln_allocator *mem, const char *uuid, kiln__text *why);
void kiln__nvml_close(kiln__nvml *nvml); /* NULL is fine */
/* "libnvidia-ml.so.1 of driver 580.95: clocks, throttling, temperature, power, energy": what it answers now. */
void kiln__nvml_describe(kiln__nvml *nvml, kiln__text *out);

/* 0 where it does not tell; so is everything of a NULL. */
typedef struct kiln__nvml_clocks {
    double sm_hz, memory_hz;
    unsigned throttle; /* KILN_THROTTLE_... */
} kiln__nvml_clocks;
void kiln__nvml_clocks_now(kiln__nvml *nvml, kiln__nvml_clocks *clocks);
double kiln__nvml_temperature(kiln__nvml *nvml); /* degrees Celsius */
double kiln__nvml_power(kiln__nvml *nvml);       /* watts */
/* The board's energy counter. False: there is none. */
bool kiln__nvml_energy(kiln__nvml *nvml, double *joules);

#endif
