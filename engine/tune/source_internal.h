/* source_internal.h - the configurations to try: in order, or as a strategy chooses them (source.c). */
#ifndef KILN_TUNE_SOURCE_INTERNAL_H
#define KILN_TUNE_SOURCE_INTERNAL_H

#include "record_internal.h"

typedef struct kiln__tune_source kiln__tune_source;
/* A callback that the source calls repeatedly while it walks through the space. */
typedef struct kiln__asker {
    bool (*stop)(void *user); /* true: end the sweep (KILN_ERROR_INTERRUPTED) */
    void *user;
} kiln__asker;
/* Checks the names in `options` against the spec, and counts the configurations if that takes little time. The options
 * and the spec must outlive the source. If the options name no strategy, a sweep with a budget and without checks uses
 * the default strategy, and any other sweep tries all configurations in order. `watch` may be NULL.
 */
kiln_status kiln__tune_source_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                   const kiln__asker *watch, kiln__tune_source **source, kiln_error **error);
void kiln__tune_source_free(kiln__tune_source *source);            /* NULL is fine */
uint64_t kiln__tune_source_total(const kiln__tune_source *source); /* UINT64_MAX: not counted, or at least this
                                                                    * number */
/* Tells whether the source draws its configurations at random, because they have no numbers. */
bool kiln__tune_source_sampled(const kiln__tune_source *source);
/* Tells whether the source ended because it found no configuration for too long. There may be further configurations.
 */
bool kiln__tune_source_gave_up(const kiln__tune_source *source);
/* Tells whether the next configurations depend on the answers for earlier ones. If so, the sweep should not ask far
 * ahead. */
bool kiln__tune_source_learns(const kiln__tune_source *source);
/* Returns the variants that were left out. */
const kiln_left_out *kiln__tune_source_left_out(const kiln__tune_source *source, size_t *count);
/* Tells whether a variant may be the best of the sweep: it is a contender, or the sweep has no contenders. */
bool kiln__tune_source_contends(const kiln__tune_source *source, const char *variant);
/* Gives the next choice. The params of the choice belong to the source, and live until the next call. At the end
 * *choice has no variant. The ticket identifies the choice until kiln__tune_source_tell(). */
kiln_status kiln__tune_source_next(kiln__tune_source *source, kiln_choice *choice, size_t *ticket, kiln_error **error);
/* Tells the search the times of its configurations on another device or at other sizes. Call this function before
 * kiln__tune_source_recall(). With a recorder of NULL it does nothing. */
kiln_status kiln__tune_source_expect(kiln__tune_source *source, kiln__recorder *recorder, kiln_error **error);
/* Tells the search a time of one configuration. If the source has the configuration, *count grows by one. */
kiln_status kiln__tune_source_hint(kiln__tune_source *source, const kiln__known *known, size_t *count,
                                   kiln_error **error);
/* Before the first choice: looks into the store for configurations of the source. With a recorder of NULL it
 * does nothing. */
kiln_status kiln__tune_source_recall(kiln__tune_source *source, kiln__recorder *recorder, kiln_error **error);
/* Gives the next configuration that kiln__tune_source_recall() found, each once, for a tenth of the sweep's time. The
 * caller reports a result for its ticket, as for any other, or drops it. The source may propose a dropped configuration
 * later. */
kiln_status kiln__tune_source_known(kiln__tune_source *source, kiln_choice *choice, size_t *ticket, kiln_error **error);
void kiln__tune_source_drop(kiln__tune_source *source, size_t ticket);
/* Tells whether the first configuration is known to be good, on this device or on another device. */
bool kiln__tune_source_begins_known(const kiln__tune_source *source);
/* Makes the configuration of a choice that came from the source. `params` are the params of the choice, or a copy. */
kiln_status kiln__tune_source_config(const kiln__tune_source *source, const char *variant, const kiln_setting *params,
                                     kiln__config **config, kiln_error **error);
/* Reports the result for a ticket, once. Less is better; HUGE_VAL means that the configuration failed. */
kiln_status kiln__tune_source_tell(kiln__tune_source *source, size_t ticket, double value, double cost,
                                   kiln_error **error);

#endif
