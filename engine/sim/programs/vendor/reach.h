/* reach.h - the functions of the simulated libcuda.so.1 that its stand-ins of the vendor's libraries call. They are not for other
 * programs. */
#ifndef KILN_SIM_VENDOR_REACH_H
#define KILN_SIM_VENDOR_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs function(argument) as work of the device: no other thread runs work, frees memory or ends a context meanwhile. The
 * function calls nothing of the driver but kiln_sim_reach(). It is called in a host function of a stream. Returns false, without
 * calling the function, if the context of that stream has ended. */
bool kiln_sim_compute(void (*function)(void *), void *argument);

/* Called in kiln_sim_compute() only. Returns the host's pointer to `bytes` bytes of device memory at `address`, in that
 * context. The pointer is valid until the computation ends. `write`: the caller will write all of these bytes. Returns NULL if not
 * all of the bytes belong to one allocation; the checks then report it with `what`, as in "cublasSgemm". */
void *kiln_sim_reach(uint64_t address, size_t bytes, int write, const char *what);

#endif
