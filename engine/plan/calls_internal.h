/* calls_internal.h - calls of host functions, their arguments, and the inputs that the calls make (calls.c). */
#ifndef KILN_PLAN_CALLS_INTERNAL_H
#define KILN_PLAN_CALLS_INTERNAL_H

#include "call.h"
#include "plan.h"
#include "shared_internal.h"

typedef struct kiln__plan_input {
    const kiln__input *input;
    kiln__plan_entry *entry; /* the exports of the input; NULL until the input is made */
    bool making;
} kiln__plan_input;

typedef struct kiln__call_args {
    kiln_plan *plan;
    kiln__arena arena;
    kiln__call_arg *args;
    size_t count, capacity;
    const char *hint; /* text for the message about a missing argument; NULL means no text */
    bool missed;      /* true if the function asked for an argument that is missing; kiln__plan_call() sets it */
    bool opened;      /* true if the function asked for a file */
} kiln__call_args;
bool kiln__call_add(kiln__call_args *args, kiln__call_arg arg);
/* Adds one argument of a spec. The argument is a number, a text, or an input; each export of an input becomes one
 * argument. The caller adds the buffers. */
kiln_status kiln__call_add_written(kiln__call_args *args, const kiln__arg *arg, const kiln__scope *scope,
                                   kiln_error **error);
bool kiln__call_add_exports(kiln__call_args *args, const char *as, const kiln__export *exports, const char *prefix);
void kiln__call_args_free(kiln__call_args *args);
/* Finds and calls a host function, and returns its exports in *exports (may be NULL). */
kiln_status kiln__plan_call(kiln_plan *plan, const char *function, unsigned use, kiln__call_args *args, kiln__pos pos,
                            kiln__export **exports, kiln_error **error);

kiln_status kiln__plan_input_make(kiln_plan *plan, kiln__plan_input *input, kiln_error **error);
/* Returns the input whose name is the first part of the dotted name, and sets *rest to the part after the dot. Returns
 * NULL if there is no such input. */
kiln__plan_input *kiln__plan_input_of(kiln_plan *plan, const char *name, const char **rest);
/* sets plan->scope, whose look-up function makes an input when its name is looked up */
void kiln__plan_set_scope(kiln_plan *plan);

#endif
