/* score.h - replays a strategy in a recorded space with a simulated clock, and computes its score. The page README.md
 * defines the score. */
#ifndef KILN_SEARCH_SCORE_H
#define KILN_SEARCH_SCORE_H

#include "recording.h"

/* Fails if strategies cannot be compared in this space. There are three such cases: no configuration ran, all
 * configurations are equally fast, or they cost no time. */
kiln_status kiln__baseline_check(const struct kiln_recording *recording, kiln_error **error);
/* Returns the expected best time of `draws` different random configurations. If `draws` is 0, returns the worst time.
 * At least one configuration must have run. */
double kiln__baseline_best(const kiln__baseline *baseline, uint64_t draws);

/* A search in a recorded space that is replayed step by step. */
typedef struct kiln__replay kiln__replay;
kiln_status kiln__replay_open(const struct kiln_recording *recording, const kiln__strategy *strategy, uint64_t seed,
                              kiln__replay **replay, kiln_error **error);
void kiln__replay_free(kiln__replay *replay); /* frees the replay; `replay` may be NULL */
/* Tries the next configuration. If the strategy has no further configuration, *row is NULL. *clock gets the simulated
 * time in seconds at which the result is known. */
kiln_status kiln__replay_next(kiln__replay *replay, const kiln__recording_row **row, double *clock, kiln_error **error);

/* the number of configurations after which kiln_score.share compares the best time with the optimum */
enum { KILN__SCORE_SHARE = 100 };
/* Computes the mean score over `seeds` seeds, beginning with the seed `first`. `seeds` must be at least 1. */
kiln_status kiln__score(const struct kiln_recording *recording, const kiln__strategy *strategy, uint64_t first,
                        unsigned seeds, kiln_score *score, kiln_error **error);
#endif
