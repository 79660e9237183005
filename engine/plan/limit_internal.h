/* limit_internal.h - the time limit of kernels, and the caller's request to stop (limit.c). */
#ifndef KILN_PLAN_LIMIT_INTERNAL_H
#define KILN_PLAN_LIMIT_INTERNAL_H

#include "driver.h"
#include "plan.h"

typedef enum kiln__late { KILN__IN_TIME, KILN__LATE, KILN__STOPPED } kiln__late;
typedef struct kiln__limit {
    /* on: between the start and the end of the limit; usual: the caller gave no limit, so the default limit counts */
    bool on, usual;
    bool first;               /* this is the first run of the steps, in which any step may hang */
    double seconds;           /* the limit in seconds; 0 means no limit */
    uint64_t begun, deadline; /* times of the monotonic clock in nanoseconds; 0 means not set */
    const volatile int *stop; /* the caller's flag that requests to stop; NULL means that there is no flag */
    kiln__late late;          /* the reason why waiting ended */
} kiln__limit;

/* Sets the limit of a run from its options. The time counts from kiln__limit_start() to kiln__limit_end(). A second
 * call of kiln__limit_start() begins the time anew. The thread that launches the kernels calls kiln__limit_start() and
 * kiln__limit_end(). */
kiln_status kiln__limit_set(kiln_plan *plan, const kiln_run_options *options, kiln_error **error);
void kiln__limit_start(kiln_plan *plan);
void kiln__limit_extend(kiln_plan *plan, double seconds); /* makes the limit longer if it is the default limit */
void kiln__limit_end(kiln_plan *plan);
kiln__late kiln__limit_late(const kiln_plan *plan);
kiln_status kiln__limit_check(kiln_plan *plan, kiln_error **error);
/* These functions wait for work on the device, like cuEventSynchronize() and similar functions of the driver. On a GPU
 * they return CUDA_ERROR_TIMEOUT if the limit is reached or the caller has requested to stop. If the kernel has not
 * ended at the limit, or within STOP_GRACE_NS after a request to stop, the engine is `stuck`. On the simulator these
 * functions return the driver's result. */
CUresult kiln__limit_wait_event(kiln_plan *plan, CUevent event);
CUresult kiln__limit_wait_stream(kiln_plan *plan, CUstream stream);
CUresult kiln__limit_wait_all(kiln_plan *plan);
/* Makes the error of a failed driver call, like kiln__driver_fail(). The status is KILN_ERROR_TIMEOUT or
 * KILN_ERROR_INTERRUPTED if the time limit or a request to stop was the cause. */
kiln_status kiln__limit_fail(kiln_plan *plan, CUresult result, kiln_error **error, const char *what, ...)
    KILN__PRINTF(4, 5);

#endif
