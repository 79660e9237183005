/* preflight_internal.h - finds mistakes before a run (preflight.c). */
#ifndef KILN_PLAN_PREFLIGHT_INTERNAL_H
#define KILN_PLAN_PREFLIGHT_INTERNAL_H

#include "plan.h"

/* Fails if the engine does not allow commands. */
kiln_status kiln__command_refuse(const kiln_engine *engine, const kiln__verify *verify, kiln_error **error);
/* Fails if the file of the expected answer does not exist. The message has the position in the spec. */
kiln_status kiln__plan_need_file(kiln_engine *engine, const kiln__config *config, const kiln__verify *verify,
                                 kiln_error **error);

#endif
