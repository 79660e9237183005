/* kiln_catalogue.h - the host functions of the catalogue: references, inputs and host steps that the specs of the
 * folder specs/ name.
 *
 * The library libkiln has no references. A program that loads a spec of the catalogue links libkiln-catalogue (CMake:
 * kiln::catalogue, pkg-config: kiln-catalogue) and registers its functions first. The command and the Python package
 * register the functions themselves. The rules at the top of kiln.h hold here too. */
#ifndef KILN_CATALOGUE_H
#define KILN_CATALOGUE_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Registers all functions of the catalogue with kiln_register_host(), as KILN_HOST_SHIPPED. Call this function once for
 * each engine, before specs are loaded. It fails as kiln_register_host() does. It returns KILN_ERROR_ARGUMENT if the
 * engine already has a function of the same name. The functions that precede it in the list then stay registered. */
KILN_API kiln_status kiln_catalogue_register(kiln_engine *engine, kiln_error **error);

/* Returns function `number` of the catalogue, counted from 0, or NULL if there is no such function. */
KILN_API const kiln_host_info *kiln_catalogue_host(size_t number);

#ifdef __cplusplus
}
#endif
#endif
