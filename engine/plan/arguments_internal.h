/* arguments_internal.h - the argument values of launches (arguments.c, tensor_map.c). */
#ifndef KILN_PLAN_ARGUMENTS_INTERNAL_H
#define KILN_PLAN_ARGUMENTS_INTERNAL_H

#include "launch_internal.h"

/* A list of pointers in device memory, to which an argument of a launch points. After the engine has made the list,
 * nothing writes to it. */
typedef struct kiln__pointers {
    CUdeviceptr device, *items;
    size_t count;
} kiln__pointers;

/* Returns how many 8-byte words the argument values of a launch take. */
size_t kiln__arguments_words(const kiln__step *step);
/* Evaluates the arguments into `values`, and points pointers[i] to each. The memory of buffers must exist. */
kiln_status kiln__arguments_set(kiln_plan *plan, const kiln__step *step, const kiln__plan_kernel *kernel,
                                const kiln__scope *scope, uint64_t *values, void **pointers, kiln_error **error);
/* Makes the memory from which kiln__arguments_pad() passes arguments. A launch has at most `words` argument words. Returns
 * false if memory runs out. */
bool kiln__arguments_make_room(kiln_plan *plan, size_t words);
/* Copies the arguments of a launch to memory that is as large as the largest parameters of a kernel, if the plan has such
 * memory. Returns the pointers to pass to the driver. */
void **kiln__arguments_pad(const kiln_plan *plan, const kiln__step *step, void **pointers);
/* frees the lists of pointers in device memory; the context must be current */
void kiln__arguments_free(kiln_plan *plan);

/* ---- tensor_map.c ---- */
/* Writes the tensor map of an argument to the 128 bytes at `to`. The map begins at `address` in device memory. */
kiln_status kiln__tensor_map_make(kiln_plan *plan, const kiln__argument *arg, const kiln__plan_kernel *kernel,
                                  size_t number, const kiln__scope *scope, CUdeviceptr address, void *to,
                                  kiln_error **error);

#endif
