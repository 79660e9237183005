/* reach.h - functions of the simulated libcuda.so.1 that only the stand-ins of the vendor's libraries call. */
#ifndef KILN_SIM_VENDOR_REACH_H
#define KILN_SIM_VENDOR_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs function(argument) as work of the device. No other thread runs work, frees memory or ends a context meanwhile.
 * The function must not call the driver, except kiln_sim_reach(). The caller must call kiln_sim_compute() in a host
 * function of a stream. If the context of that stream has ended, returns false without calling the function. */
bool kiln_sim_compute(void (*function)(void *), void *argument);

/* Only a function that kiln_sim_compute() runs may call this function. Returns the host's pointer to `bytes` bytes of
 * device memory at `address`, in that context. The pointer is valid until the computation ends. `write` is true if the
 * caller will write all these bytes. If the bytes do not all belong to one allocation, returns NULL, and the checks
 * report an error that names `what`, such as "cublasSgemm". */
void *kiln_sim_reach(uint64_t address, size_t bytes, int write, const char *what);

#endif
