/* shipped.h - reads the best-known configurations that are shipped beside a spec: FOLDER/known/NAME.yaml for
 * FOLDER/NAME.yaml. */
#ifndef KILN_CORE_SHIPPED_H
#define KILN_CORE_SHIPPED_H

#include "engine.h"
#include "known.h"

/* Adds the configurations that are shipped with the spec to the list. If the file is missing, the function adds
 * nothing. If the file is broken, the function adds nothing and logs a warning. */
kiln_status kiln__shipped_read(kiln_engine *engine, const kiln_spec *spec, kiln__known_list *list, kiln_error **error);

#endif
