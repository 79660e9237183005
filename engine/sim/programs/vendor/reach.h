/* reach.h - the function of the simulated libcuda.so.1 that its stand-ins of the vendor's libraries call. It is not for other
 * programs. */
#ifndef KILN_SIM_VENDOR_REACH_H
#define KILN_SIM_VENDOR_REACH_H

#include <stddef.h>
#include <stdint.h>

/* Returns the host's pointer to `bytes` bytes of device memory at `address`, in the current context. The pointer is valid until
 * the memory is freed. `write`: the caller will write all of these bytes. Returns NULL if not all of the bytes belong to one
 * allocation; the checks then report it with `what`, as in "cublasSgemm". Any thread with a current context may call it. */
void *kiln_sim_reach(uint64_t address, size_t bytes, int write, const char *what);

#endif
