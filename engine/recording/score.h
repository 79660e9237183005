/* score.h - a strategy on a recorded space, on a simulated clock, and its score. README.md defines the score. */
#ifndef KILN_SEARCH_SCORE_H
#define KILN_SEARCH_SCORE_H

#include "recording.h"

/* An error if strategies cannot be compared: no configuration ran, all are equally fast, or they cost no time. */
kiln_status kiln__baseline_check(const struct kiln_recording *recording, kiln_error **error);
/* The expected best of `draws` different random configurations; for 0 the worst. Some must have run. */
double kiln__baseline_best(const kiln__baseline *baseline, uint64_t draws);

/* One replayed search, step by step. */
typedef struct kiln__replay kiln__replay;
kiln_status kiln__replay_open(const struct kiln_recording *recording, const kiln__strategy *strategy, uint64_t seed,
                              kiln__replay **replay, kiln_error **error);
void kiln__replay_free(kiln__replay *replay); /* NULL is fine */
/* Tries the next configuration: *row, NULL at the end; *clock: the time at which its result is known. */
kiln_status kiln__replay_next(kiln__replay *replay, const kiln__recording_row **row, double *clock, kiln_error **error);

enum { KILN__SCORE_SHARE = 100 }; /* configurations after which the share of the optimum is taken */
/* Seeds 1 to `seeds` (at least 1). */
kiln_status kiln__score(const struct kiln_recording *recording, const kiln__strategy *strategy, unsigned seeds,
                        kiln_score *score, kiln_error **error);
#endif
