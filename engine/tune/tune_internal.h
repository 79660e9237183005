/* internal.h - between the files of tune/: the outcome of a sweep, and the walk over its configurations. */
#ifndef KILN_TUNE_INTERNAL_H
#define KILN_TUNE_INTERNAL_H

#include "plan.h"
#include "search.h"
#include "store.h"

/* ---- the outcome (tuning.c) ---- */

struct kiln_tuning {
    kiln_allocator mem_copy;
    const kiln_allocator *mem; /* NULL: malloc */
    kiln__arena arena;         /* samples with all they point to: callers hold on to them */
    kiln_sample **samples;     /* in order of completion until kiln__tuning_rank() */
    size_t count, capacity;
    uint64_t drawn;          /* samples made */
    const kiln_sample *best; /* NULL: none yet */
    kiln_tuning_totals totals;
    kiln_verdict verdict;
};

kiln_tuning *kiln__tuning_new(const kiln_allocator *mem); /* NULL: no memory */
/* A sample with copies of everything, not yet counted. NULL: no memory. */
kiln_sample *kiln__tuning_sample(kiln_tuning *tuning, const char *variant, const kiln_setting *params, size_t count);
/* Notes how it ended and counts it. False: no memory. */
bool kiln__tuning_add(kiln_tuning *tuning, kiln_sample *sample, kiln_status status, const char *message);
/* Before that: what it is ranked by where it is not its time; less is better. */
void kiln__tuning_set_value(kiln_sample *sample, double value);
/* The rounds of earlier finals, of the tuning's arena. */
void kiln__tuning_set_rounds(kiln_sample *sample, const double *rounds, size_t count);
const double *kiln__tuning_rounds(const kiln_sample *sample, size_t *count);
/* It was in the finals of this sweep, and is ranked before those that were not. */
void kiln__tuning_mark(kiln_sample *sample, bool tied);
/* Finalists, then the others, then the failed ones; each best first, ties in the order in which they were made. */
void kiln__tuning_rank(kiln_tuning *tuning);

/* ---- how long a sample is measured (trial.c) ---- */

typedef struct kiln__trial { /* what is different in the run of one sample */
    double stop_early_above; /* stop_early_above of kiln_run_options */
    double timeout;          /* sample_timeout of kiln_run_options; 0: the sweep's */
    unsigned again;          /* exactly so many repetitions, without a check; 0: as the sweep does */
} kiln__trial;
/* Whether the sweep stops clearly slower configurations early. Not where something else than time is looked for, energy
 * for one, because what is slow may take little of it, nor where the number of repetitions is given. */
bool kiln__trial_stops_early(const kiln_tune_options *options);
/* Time above which a sample is stopped early, with `best` (NULL: none) as the best so far; 0: never. */
double kiln__trial_bound(const kiln_tune_options *options, const kiln_sample *best);
/* How its samples are run. */
const kiln_run_options *kiln__tune_run(const kiln_tune_options *options);
kiln_run_options kiln__trial_run(const kiln_run_options *sweep, const kiln__trial *trial);

/* ---- the fastest, measured again (finalists.c) ---- */

typedef struct kiln__again { /* what the sweep does for it */
    void *user;
    const kiln__log *log;
    /* *ends: the status is no matter of the sample, the sweep has to end with it. */
    kiln_status (*measure)(void *user, const kiln_sample *sample, const kiln__trial *trial, kiln_result *result,
                           bool *ends, kiln_error **error);
    /* Writes the sample as it is now, with these times. */
    void (*keep)(void *user, const kiln_sample *sample, const double *times, size_t count);
} kiln__again;
/* After the sweep, whose wall time is in the totals: holds finals, or takes those of the store, and sets the verdict. */
kiln_status kiln__finals_hold(kiln_tuning *tuning, const kiln_tune_options *options, const kiln__again *again,
                              kiln_error **error);

/* ---- the configurations to try: in order, or as a strategy picks them (source.c) ---- */

typedef struct kiln__tune_source kiln__tune_source;
/* Who is asked now and then while the space is walked through, whether to go on. */
typedef struct kiln__asker {
    bool (*stop)(void *user); /* true: the sweep is to end (KILN_ERROR_INTERRUPTED) */
    void *user;
} kiln__asker;
/* Checks the names in `options` against the spec and counts, if that can be done in little time. The options and the
 * spec must outlive it. The strategy is the options' or, where they name none, the default one if there is a budget, else
 * everything in order. `watch` may be NULL. */
kiln_status kiln__tune_source_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                   const kiln__asker *watch, kiln__tune_source **source, kiln_error **error);
void kiln__tune_source_free(kiln__tune_source *source);            /* NULL is fine */
uint64_t kiln__tune_source_total(const kiln__tune_source *source); /* UINT64_MAX: not counted, or more */
/* its configurations are drawn at random, not by number */
bool kiln__tune_source_sampled(const kiln__tune_source *source);
/* It has no more because it found none for too long, not because there is none. */
bool kiln__tune_source_gave_up(const kiln__tune_source *source);
/* Whether what is told changes what comes next, so that asking far ahead is guessing. */
bool kiln__tune_source_learns(const kiln__tune_source *source);
/* Whether a variant of the sweep may be the best: a contender, or as good as any where there is none. */
bool kiln__tune_source_contends(const kiln__tune_source *source, const char *variant);
/* The next choice; its params are owned by the source until the next call. *choice has no variant at the end. The
 * ticket stands for it until it is told. */
kiln_status kiln__tune_source_next(kiln__tune_source *source, kiln_choice *choice, size_t *ticket, kiln_error **error);
/* The configuration of a choice that the source has given; `params` as they were given, or a copy. */
kiln_status kiln__tune_source_config(const kiln__tune_source *source, const char *variant, const kiln_setting *params,
                                     kiln__config **config, kiln_error **error);
/* What came of it, once: less is better, HUGE_VAL: it failed. */
kiln_status kiln__tune_source_tell(kiln__tune_source *source, size_t ticket, double value, kiln_error **error);

/* ---- what is looked for (objective.c) ---- */

typedef struct kiln__goals kiln__goals;
/* Parses the objectives and checks their names. Engine, spec and options must outlive it. */
kiln_status kiln__goals_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                             kiln__goals **goals, kiln_error **error);
void kiln__goals_free(kiln__goals *goals); /* NULL is fine */
/* Whether one of them needs KILN_RUN_ENERGY. */
bool kiln__goals_need_energy(const kiln__goals *goals);
/* Whether less time is all that is wanted. */
bool kiln__goals_by_time(const kiln_tune_options *options);
/* Works out the objectives of a sample that worked, into the arena. An error: one cannot be worked out. */
kiln_status kiln__goals_judge(kiln__goals *goals, kiln__arena *arena, kiln_sample *sample, kiln_error **error);
/* What it is ranked by, and what a strategy is told; less is better, HUGE_VAL: it failed. */
double kiln__goals_rank(const kiln__goals *goals, const kiln_sample *sample);
double kiln__goals_told(const kiln__goals *goals, const kiln_sample *sample);
/* Marks the front of several objectives. False: no memory. */
bool kiln__goals_front(const kiln__goals *goals, kiln_tuning *tuning);

/* ---- when it is enough (budget.c) ---- */

typedef struct kiln__budget {
    const kiln_tune_options *options;
    uint64_t start;  /* kiln__now_ns() */
    uint64_t stale;  /* samples since one was better */
    double mark;     /* what it was told as */
    bool any;        /* one worked */
    double roofline; /* the nearest */
    kiln_end end;    /* why it is over */
} kiln__budget;
bool kiln__budget_any(const kiln_tune_options *options); /* there is one */
void kiln__budget_note(kiln__budget *budget, const kiln_sample *sample, double value);
bool kiln__budget_over(kiln__budget *budget);

/* ---- what determines a sample (determine.c) ---- */

/* What a variant does but for its code and its params' values: inputs, buffers, steps, metrics, verification, with the
 * contents of the files they name. Lists of values, constraints and other variants are not in it. */
kiln_status kiln__determine_variant(kiln_engine *engine, const kiln_spec *spec, const kiln__variant *variant,
                                    const kiln_tune_options *options, kiln__hash128 *hash, kiln_error **error);
/* What says which device it is, and with which driver. */
void kiln__determine_device(const kiln_device_info *info, kiln__text *out);
void kiln__hash_print(kiln__hash128 hash, char text[33]);

/* ---- the store's side of a sweep (record.c) ---- */

typedef struct kiln__recorder kiln__recorder;
typedef struct kiln__identity { /* of a sample: "" until it is known */
    char rest[33];              /* of all that determines it but for the device */
    char source[33], inputs[33];
} kiln__identity;
/* *recorder stays NULL where the options name no store; NULL is fine everywhere. */
kiln_status kiln__recorder_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                kiln__recorder **recorder, kiln_error **error);
void kiln__recorder_free(kiln__recorder *recorder);
/* `config` and `code` are NULL where the sample failed before there was one. */
kiln_status kiln__recorder_identify(kiln__recorder *recorder, const kiln_sample *sample, const kiln__config *config,
                                    const kiln__code_job *code, kiln__identity *identity, kiln_error **error);
/* Fills in the sample as the store has it from any of the sweep's devices; *status and *message are how it ended, the
 * message of `arena`. False: it has to be made. One that was stopped early is taken where it would be stopped early again
 * above `bound`. */
bool kiln__recorder_find(kiln__recorder *recorder, const kiln__identity *identity, double bound, kiln__arena *arena,
                         kiln_sample *sample, kiln_status *status, const char **message);
/* The times of the sample that is added next; they need not be aligned. */
void kiln__recorder_times(kiln__recorder *recorder, const void *times, size_t count);
/* Writes a sample that the `place`th of the sweep's devices made. A store that cannot be written is told to the log
 * once; the sweep goes on. `why`: the failure, NULL: none. */
void kiln__recorder_add(kiln__recorder *recorder, const kiln__identity *identity, const kiln_sample *sample,
                        size_t place, const kiln_error *why);
/* At the end: brings into the store what waited for another process, and says how much was not kept. */
void kiln__recorder_finish(kiln__recorder *recorder, bool wait);

#endif
