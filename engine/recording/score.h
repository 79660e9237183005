/* score.h - replays a strategy on a recorded space with a simulated clock, and computes its score. README.md defines
 * the score. */
#ifndef KILN_SEARCH_SCORE_H
#define KILN_SEARCH_SCORE_H

#include "recording.h"

/* Returns an error if strategies cannot be compared: no configuration ran, all are equally fast, or they cost no
 * time. */
kiln_status kiln__baseline_check(const struct kiln_recording *recording, kiln_error **error);
/* Returns the expected best time of `draws` different random configurations; for 0 the worst time. Some configuration
 * must have run. */
double kiln__baseline_best(const kiln__baseline *baseline, uint64_t draws);

/* A replayed search, which runs step by step. */
typedef struct kiln__replay kiln__replay;
kiln_status kiln__replay_open(const struct kiln_recording *recording, const kiln__strategy *strategy, uint64_t seed,
                              kiln__replay **replay, kiln_error **error);
void kiln__replay_free(kiln__replay *replay); /* NULL is allowed */
/* Tries the next configuration. *row is NULL when the strategy has no further configuration. *clock gets the simulated
 * time in seconds at which the result is known. */
kiln_status kiln__replay_next(kiln__replay *replay, const kiln__recording_row **row, double *clock, kiln_error **error);

enum { KILN__SCORE_SHARE = 100 }; /* number of configurations after which the share of the optimum is taken */
/* Computes the mean score over `seeds` seeds from `first` on. `seeds` must be at least 1. */
kiln_status kiln__score(const struct kiln_recording *recording, const kiln__strategy *strategy, uint64_t first,
                        unsigned seeds, kiln_score *score, kiln_error **error);
#endif
