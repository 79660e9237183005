/* launch_internal.h - the driver operations of a plan: kernels, launches, and their attributes (attributes.c,
 * refused.c). */
#ifndef KILN_PLAN_LAUNCH_INTERNAL_H
#define KILN_PLAN_LAUNCH_INTERNAL_H

#include "driver.h"
#include "plan.h"
#include "signature.h"

/* The attributes of a launch besides its geometry. */
typedef struct kiln__launch_attributes {
    unsigned cluster[3]; /* valid if clustered */
    kiln__scheduling scheduling;
    int policy, priority, carveout; /* policy: the driver's value for `scheduling`. carveout -1: not given */
    bool clustered, cooperative, overlap, prioritised;
    bool any; /* an attribute that cuLaunchKernel() and cuLaunchCooperativeKernel() cannot express */
} kiln__launch_attributes;

typedef struct kiln__plan_kernel {
    const char *name; /* the name after its template was filled */
    CUfunction function;
    kiln__signature signature;
    uint64_t static_shared, dynamic_limit; /* dynamic_limit: the value set with cuFuncSetAttribute(); 0 means never
                                            * set */
    int max_threads;
    bool known; /* the geometry below is set */
    unsigned grid[3], block[3], dynamic_shared;
    kiln__launch_attributes attributes;
    kiln_kernel_info info; /* the last result of kiln_plan_kernel() */
} kiln__plan_kernel;

typedef enum kiln__plan_op_kind { KILN__OP_LAUNCH, KILN__OP_SET, KILN__OP_COPY } kiln__plan_op_kind;
typedef struct kiln__plan_op {
    kiln__plan_op_kind kind;
    union {
        struct {
            CUfunction function;
            unsigned grid[3], block[3], shared;
            kiln__launch_attributes attributes;
            void **args;
        } launch;
        struct {
            CUdeviceptr to;
            uint32_t pattern;
            unsigned width;
            uint64_t count;
        } set;
        struct {
            CUdeviceptr to, from;
            uint64_t bytes;
        } copy;
    } as;
    const kiln__step *step;
    const kiln__plan_kernel *kernel;
} kiln__plan_op;

/* The steps after evaluation: the driver operations of a launch, without expressions. */
typedef struct kiln__program {
    kiln__arena arena; /* memory of the arguments */
    kiln__plan_op *ops;
    size_t count, capacity;
    bool ready, swaps;
    unsigned *final; /* if the program swaps: for each name the number of its buffer after the program; in the plan's
                      * arena */
} kiln__program;

/* ---- attributes.c ---- */
/* Evaluates and checks the attributes of a launch, whose cluster is already set. */
kiln_status kiln__attributes_set(kiln_plan *plan, const kiln__step *step, const kiln__plan_kernel *kernel,
                                 const kiln__scope *scope, const unsigned grid[3], kiln__launch_attributes *attributes,
                                 kiln_error **error);
/* for launches with `any` */
CUresult kiln__attributes_launch(const kiln__driver *driver, const kiln__plan_op *op, CUstream stream);

/* ---- refused.c ---- */
/* Adds the reason why the driver refused a launch, as "; ..." with numbers, if it can be found out. */
void kiln__launch_explain(const kiln_plan *plan, const kiln__plan_op *op, CUresult result, kiln__text *out);

#endif
