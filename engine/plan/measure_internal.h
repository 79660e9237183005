/* measure_internal.h - measures a plan (measure/). */
#ifndef KILN_PLAN_MEASURE_INTERNAL_H
#define KILN_PLAN_MEASURE_INTERNAL_H

#include "nvml.h"
#include "plan.h"

kiln_status kiln__plan_measure(kiln_plan *plan, const kiln_run_options *options, double first, kiln_result *result,
                               kiln_error **error);
/* Makes the result of a run that took `first` seconds and is not repeated. */
kiln_status kiln__plan_cut(kiln_plan *plan, double first, kiln_result *result, kiln_error **error);
/* Copies the times of a run's repetitions into the plan, before kiln__median() sorts them. Returns false if memory runs
 * out. */
bool kiln__plan_keep_times(kiln_plan *plan, const double *times, size_t count);
/* Observations of the device between two repetitions of a measurement (watch.c). Only one thread at a time may use the
 * object. */
typedef struct kiln__watch {
    kiln__nvml *nvml;        /* the library of NVML; NULL means that nothing is observed */
    double sm_hz, memory_hz; /* sums over all observations */
    unsigned looks, throttle;
    uint64_t looked;
} kiln__watch;
void kiln__watch_begin(kiln__watch *watch, kiln_engine *engine);
/* queries the device, which must be busy; limits the rate of its queries */
void kiln__watch_look(kiln__watch *watch);
void kiln__watch_end(kiln__watch *watch, kiln_result *result);
/* Repeats the steps until the energy counter gives a result. One repetition takes result->seconds. Does nothing if the
 * device has no energy counter. */
kiln_status kiln__plan_energy(kiln_plan *plan, kiln__watch *watch, kiln_result *result, kiln_error **error);
/* Sets the roofline of a result from its flops, its bytes and the peaks of the device: the unit that bounds it, and the
 * share of this bound that result->seconds reaches. */
void kiln__plan_roofline(const kiln_plan *plan, kiln_result *result);
/* Returns the unit (KILN_UNIT_...) with the highest peak among the units whose arithmetic the PTX uses. If the PTX uses
 * no arithmetic, returns the unit fp32. */
unsigned kiln__fastest_unit(const kiln_device_info *info, const char *ptx, size_t length);

#endif
