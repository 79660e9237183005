/* objective_internal.h - evaluates the objectives of a sweep (objective.c). */
#ifndef KILN_TUNE_OBJECTIVE_INTERNAL_H
#define KILN_TUNE_OBJECTIVE_INTERNAL_H

#include "plan.h"

typedef struct kiln__goals kiln__goals;
/* Parses the objectives and checks the names in them. Engine, spec and options must outlive *goals. */
kiln_status kiln__goals_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                             kiln__goals **goals, kiln_error **error);
void kiln__goals_free(kiln__goals *goals); /* NULL is fine */
/* Tells whether an objective needs KILN_RUN_ENERGY. */
bool kiln__goals_need_energy(const kiln__goals *goals);
/* Tells whether time is the only objective. */
bool kiln__goals_by_time(const kiln_tune_options *options);
/* Computes the objectives of a successful sample, into the arena. Fails if an objective cannot be computed. */
kiln_status kiln__goals_judge(kiln__goals *goals, kiln__arena *arena, kiln_sample *sample, kiln_error **error);
/* Return the value of a sample, for the ranking (kiln__goals_rank) and for strategies (kiln__goals_told). A smaller
 * value is better. HUGE_VAL means that the sample failed. */
double kiln__goals_rank(const kiln__goals *goals, const kiln_sample *sample);
double kiln__goals_told(const kiln__goals *goals, const kiln_sample *sample);
/* Marks the samples on the Pareto front, if there are several objectives. Returns false if memory runs out. */
bool kiln__goals_front(const kiln__goals *goals, kiln_tuning *tuning);

#endif
