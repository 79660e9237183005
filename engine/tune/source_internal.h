/* source_internal.h - gives the configurations to try, in order or as a strategy chooses them (source.c). */
#ifndef KILN_TUNE_SOURCE_INTERNAL_H
#define KILN_TUNE_SOURCE_INTERNAL_H

#include "record_internal.h"

typedef struct kiln__tune_source kiln__tune_source;
/* A callback that the source calls repeatedly while it walks through the space. */
typedef struct kiln__asker {
    bool (*stop)(void *user); /* true ends the sweep with KILN_ERROR_INTERRUPTED */
    void *user;
} kiln__asker;
/* Checks the names in `options` against the spec. Counts the configurations if the count takes little time. The options
 * and the spec must outlive the source. If the options name no strategy, a sweep with a budget and without checks uses
 * the default strategy. Any other sweep tries all configurations in order. `watch` may be NULL.
 */
kiln_status kiln__tune_source_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                   const kiln__asker *watch, kiln__tune_source **source, kiln_error **error);
void kiln__tune_source_free(kiln__tune_source *source); /* NULL is fine */
/* UINT64_MAX means that the configurations were not counted, or that there are at least this many */
uint64_t kiln__tune_source_total(const kiln__tune_source *source);
/* Tells whether the source draws its configurations at random, because it could not number them. */
bool kiln__tune_source_sampled(const kiln__tune_source *source);
/* Tells whether the source ended because it found no configuration for too long a time. The space may then have further
 * configurations.
 */
bool kiln__tune_source_gave_up(const kiln__tune_source *source);
/* Tells whether the next configurations depend on the answers for earlier configurations. If they do, the sweep should
 * not ask far ahead. */
bool kiln__tune_source_learns(const kiln__tune_source *source);
/* Returns the variants that the source left out, with the reasons. */
const kiln_left_out *kiln__tune_source_left_out(const kiln__tune_source *source, size_t *count);
/* Tells whether a variant may be the best of the sweep. It may if it is a contender, or if the sweep has no
 * contenders. */
bool kiln__tune_source_contends(const kiln__tune_source *source, const char *variant);
/* Gives the next configuration as a choice. The params of the choice belong to the source, and live until the next
 * call. After the last configuration *choice has no variant. The ticket identifies the choice until the caller reports
 * its result with kiln__tune_source_tell(). */
kiln_status kiln__tune_source_next(kiln__tune_source *source, kiln_choice *choice, size_t *ticket, kiln_error **error);
/* Gives the search the times that its configurations have on another device or at other sizes. Call this function
 * before kiln__tune_source_recall(). If `recorder` is NULL, the function does nothing. */
kiln_status kiln__tune_source_expect(kiln__tune_source *source, kiln__recorder *recorder, kiln_error **error);
/* Gives the search a known time of one configuration. If the source has this configuration, *count grows by one. */
kiln_status kiln__tune_source_hint(kiln__tune_source *source, const kiln__known *known, size_t *count,
                                   kiln_error **error);
/* Call this before the first choice. Looks into the store for samples of the source's configurations. If `recorder` is
 * NULL, the function does nothing. */
kiln_status kiln__tune_source_recall(kiln__tune_source *source, kiln__recorder *recorder, kiln_error **error);
/* Gives the next configuration that kiln__tune_source_recall() found. Gives each of them once, for at most a tenth of
 * the sweep's time. The caller reports a result for the ticket, as for any other configuration, or drops the ticket. If
 * the caller dropped a configuration, the source may propose it later. */
kiln_status kiln__tune_source_known(kiln__tune_source *source, kiln_choice *choice, size_t *ticket, kiln_error **error);
void kiln__tune_source_drop(kiln__tune_source *source, size_t ticket);
/* Tells whether the first configuration is known to be good on this device or on another device. */
bool kiln__tune_source_begins_known(const kiln__tune_source *source);
/* Makes the configuration of a choice that came from the source. `params` are the params of the choice, or a copy. */
kiln_status kiln__tune_source_config(const kiln__tune_source *source, const char *variant, const kiln_setting *params,
                                     kiln__config **config, kiln_error **error);
/* Reports the result for a ticket. Call this once for each ticket. A smaller value is better. HUGE_VAL means that the
 * configuration failed. */
kiln_status kiln__tune_source_tell(kiln__tune_source *source, size_t ticket, double value, double cost,
                                   kiln_error **error);

#endif
