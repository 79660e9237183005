/* catalogue.h - the common part of the catalogue's host functions. It defines how a family declares its functions, and
 * how a function reports errors of the helpers that it calls.
 *
 * The functions use only kiln.h to access a call, as the functions of an application do. For arrays, random numbers,
 * threads and memory they use the helpers of engine/base, engine/data and engine/data/sparse. These helpers hold no
 * state, so the shared library contains its own copies of them. */
#ifndef KILN_HOST_CATALOGUE_H
#define KILN_HOST_CATALOGUE_H

#include "data.h"
#include "families.h"
#include "kiln_catalogue.h"

typedef struct kiln__family_host {
    kiln_host_info info;
    kiln_host_fn function;
} kiln__family_host;
typedef struct kiln__family {
    const kiln__family_host *hosts;
    size_t count;
} kiln__family;

/* X(name, use, function, arguments, outputs or exports) An argument in brackets has a default. */
#define KILN__HOST(name, use, function, takes, gives)                                                                  \
    {                                                                                                                  \
        {name, use, takes, gives}, function                                                                            \
    }
/* Defines a family by its functions. Each argument after the name is a KILN__HOST. Every FAMILY.c uses this macro once,
 * at its end. */
#define KILN__FAMILY(name, ...)                                                                                        \
    static const kiln__family_host hosts_of_##name[] = {__VA_ARGS__};                                                  \
    const kiln__family kiln__family_##name = {hosts_of_##name, KILN__COUNT(hosts_of_##name)};

#define KILN_X(name) extern const kiln__family kiln__family_##name;
KILN__FAMILIES(KILN_X)
#undef KILN_X

/* Returns the function with this name, or NULL if no family has such a function. Only the tests use this function. */
const kiln__family_host *kiln__catalogue_find(const char *name);

/* Notes as the error of the call that memory is exhausted, and returns KILN_ERROR_MEMORY. */
static inline kiln_status kiln__call_no_memory(kiln_call *call)
{
    return kiln_call_fail_as(call, KILN_ERROR_MEMORY, "%s", kiln_status_text(KILN_ERROR_MEMORY));
}

/* Makes the error of a helper the error of the call, frees the helper's error, and returns the status of the helper. */
static inline kiln_status kiln__call_pass(kiln_call *call, kiln_status status, kiln_error *error)
{
    if (status != KILN_OK)
        kiln_call_fail_as(call, status, "%s", kiln_error_message(error));
    kiln_error_free(error);
    return status;
}

#endif
