/* driver_internal.h - what the driver's own files and its tests share. */
#ifndef KILN_DRIVER_INTERNAL_H
#define KILN_DRIVER_INTERNAL_H

#include "driver.h"

/* Why cuInit gave `result`, in one sentence with what to do about it, into `out`. `node` is the device node that the
 * driver must be able to open ("/dev/nvidiactl"): cuInit reports a missing node and a forbidden one alike as "no
 * device", so it is looked at here. */
void kiln__driver_explain(CUresult result, const char *library, const char *node, kiln__text *out);
#endif
