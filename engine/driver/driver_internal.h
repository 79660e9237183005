/* driver_internal.h - what the driver's own files and its tests share. */
#ifndef KILN_DRIVER_INTERNAL_H
#define KILN_DRIVER_INTERNAL_H

#include "driver.h"

/* Writes to `out` why cuInit returned `result`, and what to do about it. `node` is the device node that the driver must
 * be able to open ("/dev/nvidiactl"). cuInit reports both a missing node and one without permission as "no device", so
 * it is checked here. */
void kiln__driver_explain(CUresult result, const char *library, const char *node, kiln__text *out);
#endif
