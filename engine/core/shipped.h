/* shipped.h - best-known configurations that are shipped beside a spec: FOLDER/known/NAME.yaml for FOLDER/NAME.yaml. */
#ifndef KILN_CORE_SHIPPED_H
#define KILN_CORE_SHIPPED_H

#include "engine.h"
#include "known.h"

/* Adds to the list what is shipped with the spec. A missing file adds nothing; a broken one adds nothing and is a
 * warning in the log. */
kiln_status kiln__shipped_read(kiln_engine *engine, const kiln_spec *spec, kiln__known_list *list, kiln_error **error);

#endif
