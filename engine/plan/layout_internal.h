/* layout_internal.h - the buffers of a plan: shapes, memory, contents (layout.c). */
#ifndef KILN_PLAN_LAYOUT_INTERNAL_H
#define KILN_PLAN_LAYOUT_INTERNAL_H

#include "call.h"
#include "driver.h"
#include "plan.h"
#include "shared_internal.h"

/* Tells who owns the memory of a buffer. */
typedef enum kiln__owner { KILN__OWNER_NONE, KILN__OWNER_PLAN, KILN__OWNER_CALLER } kiln__owner;
typedef struct kiln__plan_buffer {
    const kiln__buffer *buffer;
    kiln_type type;
    int dims;
    uint64_t shape[KILN_MAX_DIMS];
    uint64_t bytes, elements;
    kiln__owner owner;
    CUdeviceptr pointer; /* 0 if the buffer has no bytes */
    bool filled;         /* the buffer has its initial content, or the result of a run */
    bool custom;         /* the caller has bound or written the buffer, so its content is the caller's */
    const char *file;    /* the file of the option --input, which replaces the fill during a run */
    char *key;           /* the key of the buffer's initial content; NULL until it is computed */
    double copied;       /* seconds that the copy of the content from the host to the device took */
} kiln__plan_buffer;

kiln_status kiln__plan_layout(kiln_plan *plan, kiln_error **error); /* makes the inputs and computes the shapes */
/* does the work of kiln__plan_layout(), and then allocates the memory of the buffers */
kiln_status kiln__plan_allocate(kiln_plan *plan, kiln_error **error);
/* does the work of kiln__plan_allocate(), and then fills the buffers. If `again` is set, it also fills the buffers that
 * are already filled */
kiln_status kiln__plan_fill(kiln_plan *plan, bool again, kiln_error **error);
/* Poisons the outputs and scratch buffers that have no fill. It also poisons an output that the caller has bound, and
 * it leaves a buffer alone that the caller has written into the plan's own memory. */
kiln_status kiln__plan_poison(kiln_plan *plan, kiln_error **error);
/* Gives every buffer that a run may change its initial content again. It does not poison: the caller of this function
 * does. */
kiln_status kiln__plan_refill(kiln_plan *plan, kiln_error **error);
/* Evaluates the numbers of a fill. */
kiln_status kiln__fill_values_of(kiln_plan *plan, const kiln__fill *fill, kiln__fill_values *values,
                                 kiln_error **error);
void kiln__plan_forget(kiln_plan *plan); /* drops shapes, programs and keys of contents */
/* frees the buffer's memory, or gives it back to the sweep */
void kiln__plan_release(kiln_plan *plan, kiln__plan_buffer *buffer);
/* tells the simulated device the names of the buffers, for its messages */
void kiln__plan_name_memory(const kiln_plan *plan, const kiln__plan_buffer *buffer, bool on);
/* Returns the initial content of a buffer as a host array. Several plans may share this array, or a host function that
 * makes inputs has exported it. If the caller has bound or written the buffer, downloads its present content. If the
 * buffer has no fill, makes a new array. If *temporary is set, the caller must free the array. */
kiln_status kiln__plan_content(kiln_plan *plan, kiln__plan_buffer *buffer, kiln_array *array, bool *temporary,
                               kiln_error **error);
kiln_status kiln__plan_download(kiln_plan *plan, const kiln__plan_buffer *buffer, kiln_array *array,
                                kiln_error **error);
/* Finds the shared entry of a .npy file, and checks that the engine may read the file. If the caller gave a file to the
 * run, `file` is its path. If `file` is NULL, reads the file that the spec names: the template `path`, or `named` if
 * `path` is NULL. */
kiln_status kiln__plan_file(kiln_plan *plan, const char *file, const char *named, const kiln__template *path,
                            kiln__plan_entry **entry, kiln_error **error);

#endif
