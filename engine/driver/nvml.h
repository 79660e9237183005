/* nvml.h - reads the state of a GPU during a measurement from NVML: clocks, throttling, temperature, power, energy. The
 * library libnvidia-ml.so.1 belongs to the NVIDIA driver. It is optional, and Kiln finds it at run time. This code only
 * reads values, and never changes a setting. */
#ifndef KILN_NVML_H
#define KILN_NVML_H

#include "driver.h"

typedef struct kiln__nvml kiln__nvml; /* handle of one device, which only one thread at a time may use */

/* Opens $KILN_LIBNVML or libnvidia-ml.so.1 for the GPU with this uuid, which the driver gave. The caller closes the
 * returned handle. Returns NULL if NVML is missing or does not know the GPU. In this case `why` receives one sentence.
 * `why` may be NULL.
 */
kiln__nvml *kiln__nvml_open(const kiln_allocator *mem, const char *uuid, kiln__text *why);
void kiln__nvml_close(kiln__nvml *nvml); /* NULL is allowed */
/* Lists the values that NVML can read now: "libnvidia-ml.so.1 of driver 580.95: clocks, throttling, temperature, power,
 * energy". */
void kiln__nvml_describe(kiln__nvml *nvml, kiln__text *out);

/* The clocks of a GPU. A value of 0 means that the clock is unknown. If `nvml` is NULL, all clocks are
 * unknown. */
typedef struct kiln__nvml_clocks {
    double sm_hz, memory_hz;
    unsigned throttle; /* KILN_THROTTLE_... */
} kiln__nvml_clocks;
void kiln__nvml_clocks_now(kiln__nvml *nvml, kiln__nvml_clocks *clocks);
/* These functions return 0 if the value is unknown, or if `nvml` is NULL. */
double kiln__nvml_temperature(kiln__nvml *nvml); /* degrees Celsius */
double kiln__nvml_power(kiln__nvml *nvml);       /* watts */
/* Reads the energy counter of the board. Returns false if the board has no energy counter. */
bool kiln__nvml_energy(kiln__nvml *nvml, double *joules);

#endif
