/* plan_internal.h - the plan itself. Each part of a plan has a header of its own, which the files that use it
 * include. */
#ifndef KILN_PLAN_INTERNAL_H
#define KILN_PLAN_INTERNAL_H

#include "launch_internal.h"
#include "limit_internal.h"
#include "plan.h"

/* Work of the host in runs of the steps; before_each does not count. */
typedef struct kiln__host_work {
    uint64_t runs, rounds; /* rounds: number of rounds of `while` steps */
    double seconds;        /* time of `host` steps */
} kiln__host_work;

struct kiln_plan {
    kiln_result result; /* result of the last run */
    kiln_engine *engine;
    const kiln_allocator *mem;
    const kiln_spec *spec;
    const kiln__variant *variant;
    kiln__config *config;
    kiln__code code;
    CUmodule module;
    kiln__arena arena;   /* memory of kernels, inputs, buffers, slots */
    kiln__scope scope;   /* names of exports, and lets that use them, above the configuration's scope */
    kiln_error *pending; /* the error of a failed look-up in that scope */
    unsigned lookups;    /* nesting depth of look-ups */
    kiln__plan_kernel *kernels;
    size_t kernel_count;
    unsigned unit;                     /* KILN_UNIT_...: the unit whose peak bounds the arithmetic */
    struct kiln__plan_input *inputs;   /* variant->input_count */
    struct kiln__plan_buffer *buffers; /* variant->buffer_count */
    unsigned *slots;                   /* for each name, the number of the buffer to which it refers now */
    kiln__program steps, before;
    bool laid_out; /* shapes are known */
    bool ready;    /* every buffer has memory and its initial content */
    bool dynamic;  /* the steps cannot be evaluated in advance */
    bool before_dynamic;
    bool whole;       /* set by kiln__plan_whole() */
    bool sparse;      /* only a few blocks will run: large buffers need not be filled completely */
    uint64_t *values; /* arguments of a launch that is evaluated during the run */
    void **pointers;
    struct kiln__pointers *lists; /* lists of pointers on the device, to which arguments point */
    size_t list_count, list_capacity;
    struct kiln__plan_texture *textures;
    size_t texture_count, texture_capacity;
    unsigned texture_use;       /* KILN__TEXTURE_... of the steps that are being evaluated */
    kiln__shared *shared, *own; /* own: the object of this plan alone */
    double *times;              /* times of the last run's repetitions, in order */
    size_t time_count;
    kiln__limit limit;
    kiln__host_work work; /* work since the last run began */
    kiln__answer_use answer_use;
    kiln__renewal renewal;
    const kiln__settings *device; /* replaces the names device.*; NULL means the names of the engine's device */
    unsigned answer_run;          /* number of the last run whose answer is compared; 0 means that only the first answer
                                   * is compared */
    /* the next launch is captured into this folder; NULL means that the launch is captured only if the engine's
     * settings request it */
    char *capture_folder;
    char *captured; /* the folder of the last capture */
    /* plans of references that are variants, which were opened ahead. The list is NULL if no plan was opened, and an
     * element is NULL if its plan was not opened */
    kiln_plan **others;
};

/* makes the tables of inputs, buffers and arguments (plan.c); returns false if memory runs out */
bool kiln__plan_make_tables(kiln_plan *plan);
/* Makes the process give up its rights, if this engine's kernels must run in a sandbox (run.c). */
kiln_status kiln__plan_sandbox(kiln_plan *plan, const kiln_run_options *options, kiln_error **error);

/* ---- link.c ---- */
/* Links the relocatable cubin with the device runtime and loads it as the plan's module. */
kiln_status kiln__load_linked(kiln_plan *plan, const void *cubin, size_t length, kiln_error **error);

#endif
