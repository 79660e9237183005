/* launch_internal.h - the driver operations of a plan: kernels, launches, and their attributes (attributes.c,
 * refused.c). */
#ifndef KILN_PLAN_LAUNCH_INTERNAL_H
#define KILN_PLAN_LAUNCH_INTERNAL_H

#include "driver.h"
#include "plan.h"
#include "signature.h"

/* The attributes of a launch besides grid, block and dynamic shared memory. */
typedef struct kiln__launch_attributes {
    unsigned cluster[3]; /* valid if clustered */
    kiln__scheduling scheduling;
    /* policy is the driver's value for `scheduling`; a carveout of -1 means that the spec gives none */
    int policy, priority, carveout;
    bool clustered, cooperative, overlap, prioritised;
    bool any; /* the launch has an attribute that cuLaunchKernel() and cuLaunchCooperativeKernel() cannot express */
} kiln__launch_attributes;

typedef struct kiln__plan_kernel {
    const char *name; /* the kernel's name after Kiln has replaced the params in it */
    CUfunction function;
    kiln__signature signature;
    /* dynamic_limit is the value set with cuFuncSetAttribute(); 0 means that Kiln never set it */
    uint64_t static_shared, dynamic_limit;
    int max_threads;
    bool known; /* the geometry in the next members is set */
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

/* The driver operations of a launch, which result from evaluating the steps. They contain no expressions. */
typedef struct kiln__program {
    kiln__arena arena; /* memory of the arguments of all launches */
    kiln__plan_op *ops;
    size_t count, capacity;
    bool ready, swaps;
    /* the number of the buffer to which each name refers after a program that swaps; in the plan's arena */
    unsigned *final;
} kiln__program;

/* ---- attributes.c ---- */
/* Evaluates and checks the attributes of a launch. Its cluster must already be set. */
kiln_status kiln__attributes_set(kiln_plan *plan, const kiln__step *step, const kiln__plan_kernel *kernel,
                                 const kiln__scope *scope, const unsigned grid[3], kiln__launch_attributes *attributes,
                                 kiln_error **error);
/* makes a launch whose attributes have `any` set */
CUresult kiln__attributes_launch(const kiln__driver *driver, const kiln__plan_op *op, CUstream stream, void **args);

/* ---- refused.c ---- */
/* If the reason why the driver refused a launch can be found, adds it to `out` as "; ..." with numbers. */
void kiln__launch_explain(const kiln_plan *plan, const kiln__plan_op *op, CUresult result, kiln__text *out);

#endif
