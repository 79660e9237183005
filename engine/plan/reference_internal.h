/* reference_internal.h - references by commands, and references that are kept on disk (command.c, reference.c). */
#ifndef KILN_PLAN_REFERENCE_INTERNAL_H
#define KILN_PLAN_REFERENCE_INTERNAL_H

#include "calls_internal.h"

/* ---- command.c ---- */
/* Runs the command of a reference. The first members of `args` are the buffers of the spec. *outputs has an array for
 * each output. The function removes the outputs that the command did not write. */
kiln_status kiln__command_reference(kiln_plan *plan, const kiln__verify *verify, const kiln__call_args *args,
                                    kiln__export **outputs, kiln_error **error);

/* ---- reference.c ---- */
/* The next three functions write the key of a reference. kiln__reference_host_key() writes the key of a host function
 * that reads only the first `count` arguments. If the host function reads more arguments, kiln__reference_extend_key()
 * adds the arguments from `first` on to this key. All three functions return false if the reference cannot be kept, or
 * if memory is exhausted. */
bool kiln__reference_host_key(kiln_plan *plan, const kiln__verify *verify, const kiln__call_args *args, size_t count,
                              kiln__text *key);
bool kiln__reference_extend_key(kiln_plan *plan, const kiln__call_args *args, size_t first, kiln__text *key);
bool kiln__reference_command_key(kiln_plan *plan, const kiln__verify *verify, const kiln__call_args *args,
                                 kiln__text *key);
/* Returns true if the reference was on disk. *exports then points into *unit. The caller frees both of them. */
bool kiln__reference_find(kiln_plan *plan, const kiln__text *key, kiln__unit *unit, kiln__export **exports);
/* Keeps a reference that took `seconds` to compute, if reading it is likely to take less time. */
void kiln__reference_keep(kiln_plan *plan, const kiln__verify *verify, const kiln__text *key,
                          const kiln__export *exports, double seconds);

#endif
