/* tuning_internal.h - the outcome of a sweep: samples, ranking, totals (tuning.c). */
#ifndef KILN_TUNE_TUNING_INTERNAL_H
#define KILN_TUNE_TUNING_INTERNAL_H

#include "plan.h"

struct kiln_tuning {
    kiln_allocator mem_copy;
    const kiln_allocator *mem; /* NULL means malloc */
    kiln__arena arena;         /* memory of the samples and of everything to which they point; callers keep them */
    kiln_sample **samples;     /* the samples in the order of their completion; kiln__tuning_rank() sorts them */
    size_t count, capacity;
    uint64_t drawn;          /* the number of samples that were made */
    const kiln_sample *best; /* NULL means that there is no successful sample yet */
    kiln_tuning_totals totals;
    kiln_verdict verdict;
    kiln_left_out *left_out; /* the variants that the sweep left out; in the arena */
    size_t left_out_count;
    const char *size_set; /* the text of size_set and the list of sizes are in the arena */
    kiln__settings sizes;
};

kiln_tuning *kiln__tuning_new(const kiln_allocator *mem); /* makes an empty tuning; NULL means that memory ran out */
/* Copies the list of variants that the sweep left out. Returns false if memory runs out. */
bool kiln__tuning_leave_out(kiln_tuning *tuning, const kiln_left_out *list, size_t count);
/* Copies the sizes of the sweep. */
kiln_status kiln__tuning_set_sizes(kiln_tuning *tuning, kiln_engine *engine, const kiln_spec *spec,
                                   const kiln_tune_options *options, kiln_error **error);
/* Makes a sample with copies of all its data. The sample does not count until kiln__tuning_add(). Returns NULL if
 * memory runs out. */
kiln_sample *kiln__tuning_sample(kiln_tuning *tuning, const char *variant, kiln__settings params);
/* Returns the result of a sample, into which the caller writes. */
kiln_result *kiln__tuning_result(kiln_sample *sample);
/* Stores the status and the message of a sample, and counts it. Returns false if memory runs out. */
bool kiln__tuning_add(kiln_tuning *tuning, kiln_sample *sample, kiln_status status, const char *message);
/* Marks a counted sample as failed, because a later run of it failed, and finds the new best sample. Returns false if
 * memory runs out. */
bool kiln__tuning_refute(kiln_tuning *tuning, kiln_sample *sample, kiln_status status, const char *message);
/* Sets the value for the ranking, if the ranking is not by time. Less is better. Call this before
 * kiln__tuning_add(). */
void kiln__tuning_set_value(kiln_sample *sample, double value);
/* Sets and returns the rounds that a sample had in the finals. The array `rounds` must be in the tuning's arena. */
void kiln__tuning_set_rounds(kiln_sample *sample, const double *rounds, size_t count);
const double *kiln__tuning_rounds(const kiln_sample *sample, size_t *count);
/* Marks a sample as a finalist of this sweep. Finalists are ranked before all other samples. */
void kiln__tuning_mark(kiln_sample *sample, bool tied);
/* Sorts the samples by these criteria, of which the first counts most: success, contender, a time of the device,
 * finalist, value, and the order in which the space gave the configurations. */
void kiln__tuning_rank(kiln_tuning *tuning);
/* Logs how many samples were measured while the device was throttled, and whether the right answers prove little. */
void kiln__tuning_warn(const kiln_tuning *tuning, const char *spec, const kiln__log *log);

#endif
