/* plan_internal.h - the struct of a plan. Each part of a plan has a header of its own, which the files that use the
 * part include. */
#ifndef KILN_PLAN_INTERNAL_H
#define KILN_PLAN_INTERNAL_H

#include "launch_internal.h"
#include "limit_internal.h"
#include "plan.h"

/* Work of the host during the steps. Work in before_each does not count. */
typedef struct kiln__host_work {
    uint64_t runs, rounds; /* rounds: the number of rounds of all `while` steps */
    double seconds;        /* the time of all `host` steps */
} kiln__host_work;

struct kiln_plan {
    kiln_result result; /* the result of the last run */
    kiln_engine *engine;
    const kiln_allocator *mem;
    const kiln_spec *spec;
    const kiln__variant *variant;
    kiln__config *config;
    kiln__code code;
    CUmodule module;
    kiln__arena arena; /* the memory of kernels, inputs, buffers and slots */
    /* the names of exports and the lets that use exports; its parent is the configuration's scope */
    kiln__scope scope;
    kiln_error *pending; /* the error of a look-up that failed in the scope */
    unsigned lookups;    /* the nesting depth of look-ups */
    kiln__plan_kernel *kernels;
    size_t kernel_count;
    unsigned unit;                     /* the unit (KILN_UNIT_...) whose peak bounds the arithmetic of the plan */
    struct kiln__plan_input *inputs;   /* variant->input_count */
    struct kiln__plan_buffer *buffers; /* variant->buffer_count */
    unsigned *slots;                   /* the number of the buffer to which each name refers now */
    kiln__program steps, before;
    bool laid_out; /* shapes are known */
    bool ready;    /* every buffer has memory and its initial content */
    bool dynamic;  /* the steps cannot be evaluated before the launch */
    bool before_dynamic;
    bool whole;       /* set by kiln__plan_whole() */
    bool sparse;      /* only a few blocks will run, so large buffers need not be filled completely */
    uint64_t *values; /* the arguments of a launch that is evaluated during the run */
    void **pointers;
    struct kiln__argument_room *room; /* memory for the arguments of a launch; NULL if the driver tells parameters */
    struct kiln__pointers *lists;     /* lists of pointers in device memory, to which arguments point */
    size_t list_count, list_capacity;
    struct kiln__plan_texture *textures;
    size_t texture_count, texture_capacity;
    unsigned texture_use;       /* the steps that are being evaluated, as KILN__TEXTURE_... bits */
    kiln__shared *shared, *own; /* own: the shared object that only this plan uses */
    double *times;              /* the times of the last run's repetitions, in order */
    size_t time_count;
    kiln__limit limit;
    kiln__host_work work; /* the work of the host since the last run began */
    kiln__answer_use answer_use;
    kiln__renewal renewal;
    const kiln__settings *device; /* the values of the names device.*; NULL means the values of the engine's device */
    /* the number of the last run whose answer is compared; 0 means that only the answer of the first run is compared */
    unsigned answer_run;
    /* the next launch is captured into this folder; NULL means that the launch is captured only if the engine's
     * settings request it */
    char *capture_folder;
    char *captured; /* the folder of the last capture */
    /* the opened plans of references that are variants. The list is NULL if no such plan was opened, and an element is
     * NULL if the plan of this reference was not opened */
    kiln_plan **others;
};

/* makes the tables of inputs, buffers and arguments (plan.c); returns false if memory runs out */
bool kiln__plan_make_tables(kiln_plan *plan);
/* If the kernels of the engine must run in a sandbox, makes the process give up its rights (run.c). */
kiln_status kiln__plan_sandbox(kiln_plan *plan, const kiln_run_options *options, kiln_error **error);

/* ---- link.c ---- */
/* Links the relocatable cubin with the device runtime and loads it as the plan's module. */
kiln_status kiln__load_linked(kiln_plan *plan, const void *cubin, size_t length, kiln_error **error);

#endif
