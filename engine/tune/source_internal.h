/* source_internal.h - the configurations to try: in order, or as a strategy picks them (source.c). */
#ifndef KILN_TUNE_SOURCE_INTERNAL_H
#define KILN_TUNE_SOURCE_INTERNAL_H

#include "record_internal.h"

typedef struct kiln__tune_source kiln__tune_source;
/* A callback that is called now and then while the space is walked. */
typedef struct kiln__asker {
    bool (*stop)(void *user); /* true: end the sweep (KILN_ERROR_INTERRUPTED) */
    void *user;
} kiln__asker;
/* Checks the names in `options` against the spec, and counts the configurations if that takes little time. The options
 * and the spec must outlive it. The options name the strategy. Without a name it is the default strategy if there
 * is a budget and the sweep runs no checks, and otherwise everything in order. `watch` may be NULL. */
kiln_status kiln__tune_source_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                   const kiln__asker *watch, kiln__tune_source **source, kiln_error **error);
void kiln__tune_source_free(kiln__tune_source *source);            /* NULL is fine */
uint64_t kiln__tune_source_total(const kiln__tune_source *source); /* UINT64_MAX: not counted, or more */
/* Tells whether its configurations are drawn at random and not by number. */
bool kiln__tune_source_sampled(const kiln__tune_source *source);
/* The source ended because it found no configuration for too long. There may be more. */
bool kiln__tune_source_gave_up(const kiln__tune_source *source);
/* Whether answers change what comes next, so that asking far ahead is guessing. */
bool kiln__tune_source_learns(const kiln__tune_source *source);
/* The variants that were left out. */
const kiln_left_out *kiln__tune_source_left_out(const kiln__tune_source *source, size_t *count);
/* Whether a variant of the sweep may be the best: it is a contender, or the sweep has no contenders. */
bool kiln__tune_source_contends(const kiln__tune_source *source, const char *variant);
/* The next choice; its params are owned by the source until the next call. *choice has no variant at the end. The
 * ticket identifies it until kiln__tune_source_tell(). */
kiln_status kiln__tune_source_next(kiln__tune_source *source, kiln_choice *choice, size_t *ticket, kiln_error **error);
/* Call this function first. It tells the search the times of its configurations on another device or at other sizes.
 * With a recorder of NULL it does nothing. */
kiln_status kiln__tune_source_expect(kiln__tune_source *source, kiln__recorder *recorder, kiln_error **error);
/* Tells the search a time of one configuration. If the source has the configuration, *count grows by one. */
kiln_status kiln__tune_source_hint(kiln__tune_source *source, const kiln__known *known, size_t *count,
                                   kiln_error **error);
/* Before the first choice: looks into the store for configurations of the source. With a recorder of NULL it
 * does nothing. */
kiln_status kiln__tune_source_recall(kiln__tune_source *source, kiln__recorder *recorder, kiln_error **error);
/* Gives the next configuration that kiln__tune_source_recall() found, each once, for a tenth of the sweep's time. The
 * caller answers its ticket like any other, or drops it. The source may propose a dropped configuration later. */
kiln_status kiln__tune_source_known(kiln__tune_source *source, kiln_choice *choice, size_t *ticket, kiln_error **error);
void kiln__tune_source_drop(kiln__tune_source *source, size_t ticket);
/* Tells whether the first configuration is one that is known to be good, from this device or another. */
bool kiln__tune_source_begins_known(const kiln__tune_source *source);
/* The configuration of a choice from the source; `params` are its params, or a copy. */
kiln_status kiln__tune_source_config(const kiln__tune_source *source, const char *variant, const kiln_setting *params,
                                     kiln__config **config, kiln_error **error);
/* Reports the result of a ticket, once: less is better, HUGE_VAL: it failed. */
kiln_status kiln__tune_source_tell(kiln__tune_source *source, size_t ticket, double value, double cost,
                                   kiln_error **error);

#endif
