/* driver_internal.h - functions that the driver's own files and its tests share. */
#ifndef KILN_DRIVER_INTERNAL_H
#define KILN_DRIVER_INTERNAL_H

#include "driver.h"

/* Writes the cause of `result`, which cuInit returned, and a remedy to `out`. `node` is the device node that the driver
 * must be able to open ("/dev/nvidiactl"). cuInit reports a missing node and a node without permission both as "no
 * device", so this function checks the node itself. */
void kiln__driver_explain(CUresult result, const char *library, const char *node, kiln__text *out);
#endif
