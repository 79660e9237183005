/* tune_internal.h - the interfaces between the files of tune/. */
#ifndef KILN_TUNE_INTERNAL_H
#define KILN_TUNE_INTERNAL_H

#include "plan.h"
#include "search.h"
#include "store.h"
#include "wire.h"

/* ---- the outcome (tuning.c) ---- */

struct kiln_tuning {
    kiln_allocator mem_copy;
    const kiln_allocator *mem; /* NULL: malloc */
    kiln__arena arena;         /* samples and everything they point to: callers keep them */
    kiln_sample **samples;     /* in order of completion until kiln__tuning_rank() */
    size_t count, capacity;
    uint64_t drawn;          /* samples made */
    const kiln_sample *best; /* NULL: none yet */
    kiln_tuning_totals totals;
    kiln_verdict verdict;
    kiln_left_out *left_out; /* variants, of the arena */
    size_t left_out_count;
    const char *size_set; /* both of the arena */
    kiln__settings sizes;
};

kiln_tuning *kiln__tuning_new(const kiln_allocator *mem); /* NULL: no memory */
/* Copies the list of variants that were left out. False: no memory. */
bool kiln__tuning_leave_out(kiln_tuning *tuning, const kiln_left_out *list, size_t count);
/* Copies the sizes of the sweep. */
kiln_status kiln__tuning_set_sizes(kiln_tuning *tuning, kiln_engine *engine, const kiln_spec *spec,
                                   const kiln_tune_options *options, kiln_error **error);
/* A sample with copies of everything, not yet counted. NULL: no memory. */
kiln_sample *kiln__tuning_sample(kiln_tuning *tuning, const char *variant, kiln__settings params);
/* Its result, to be written. */
kiln_result *kiln__tuning_result(kiln_sample *sample);
/* Stores how it ended and counts it. False: out of memory. */
bool kiln__tuning_add(kiln_tuning *tuning, kiln_sample *sample, kiln_status status, const char *message);
/* Marks a counted sample as failed, because a later run of it did, and sets the best anew. False: out of memory. */
bool kiln__tuning_refute(kiln_tuning *tuning, kiln_sample *sample, kiln_status status, const char *message);
/* Sets the value for the ranking, if the ranking is not by time. Less is better. Call this before kiln__tuning_add(). */
void kiln__tuning_set_value(kiln_sample *sample, double value);
/* The rounds of earlier finals, of the tuning's arena. */
void kiln__tuning_set_rounds(kiln_sample *sample, const double *rounds, size_t count);
const double *kiln__tuning_rounds(const kiln_sample *sample, size_t *count);
/* Marks a finalist of this sweep; finalists are ranked before the others. */
void kiln__tuning_mark(kiln_sample *sample, bool tied);
/* Finalists, then the others, then the failed ones; each best first, ties in the order in which they were made. */
void kiln__tuning_rank(kiln_tuning *tuning);
/* Says how many samples were measured while the device was throttled, if any. */
void kiln__tuning_warn(const kiln_tuning *tuning, const char *spec, const kiln__log *log);

/* ---- the devices of a sweep (sites.c) ---- */

typedef struct kiln__site {
    const kiln__place *place; /* of its processes; NULL: this machine */
    const char *device;       /* its name there, as in kiln_options */
    const char *label;        /* for messages, and for samples: "cuda:0", "rank 3 (node7, cuda:0)" */
    const char *host;         /* its machine */
    char uuid[64];            /* "": it has none */
    kiln_device_info info;
} kiln__site;
typedef struct kiln__sites {
    kiln__site *items;
    size_t count;
    const char *here; /* this machine */
} kiln__sites;
/* Finds the devices of the sweep: the devices of the options, or the engine's device unless the engine only leads; then the
 * devices of the other ranks, for which it waits. All must be one model, because times of different models cannot be
 * compared. The list lies in the arena. Arena, engine and options must outlive the list. */
kiln_status kiln__sites_find(kiln_engine *engine, const kiln_tune_options *options, kiln__arena *arena,
                             kiln__sites *sites, kiln_error **error);
/* Compiles at once, of all machines. */
size_t kiln__sites_jobs(const kiln_engine *engine);

/* ---- how long a sample is measured (trial.c) ---- */

typedef struct kiln__trial { /* what is different in the run of one sample */
    double stop_early_above; /* stop_early_above of kiln_run_options */
    double cut_above;        /* cut_above of kiln_run_options */
    double most_seconds;     /* most_seconds of kiln_run_options */
    double timeout;          /* sample_timeout of kiln_run_options; 0: the sweep's */
    unsigned again;          /* exactly this many repetitions, without a check; 0: as in the sweep */
    double verify_seconds;   /* above 0: run after run is checked for this long */
    kiln__answer_use answer; /* what happens to its answer; if not NONE, the sample is not measured */
} kiln__trial;
/* Whether the sweep stops clearly slower configurations early. Not with other objectives than time (a slow
 * configuration may need little energy, for example), and not if the number of repetitions is given. */
bool kiln__trial_stops_early(const kiln_tune_options *options);
/* Time above which a sample is stopped early, with `best` (NULL: none) as the best so far; 0: never. */
double kiln__trial_bound(const kiln_tune_options *options, const kiln_sample *best);
/* How a sample of a sweep is measured, with `best` (NULL: none) as the best so far. */
kiln__trial kiln__trial_plan(const kiln_tune_options *options, const kiln_sample *best);
/* The run options of its samples. */
const kiln_run_options *kiln__tune_run(const kiln_tune_options *options);
/* Copies the verdict on the answer, which was found at other sizes. */
static inline void kiln__take_answer(kiln_result *to, const kiln_result *from)
{
    to->verified = from->verified;
    to->worst_error = from->worst_error;
    to->weak = from->weak;
    to->median_error = from->median_error;
    to->p999_error = from->p999_error;
}
kiln_run_options kiln__trial_run(const kiln_run_options *sweep, const kiln__trial *trial);
/* The features of a plan that has run, as a text of settings. */
kiln_status kiln__trial_features(kiln_plan *plan, kiln__text *out, kiln_error **error);

/* ---- a sample at two sizes (split.c) ---- */

/* Refuses what `verify_size_set` of the options cannot be used for (KILN_ERROR_UNSUPPORTED). */
kiln_status kiln__split_check(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                              kiln_error **error);
/* " at tiny (N=300)": where samples are verified. False: there is no such set. */
bool kiln__split_print(const kiln_spec *spec, const kiln_tune_options *options, kiln__text *out);
/* A plan of a configuration, with its code. *invalid: there is no such configuration; then there is no plan, and no
 * error. */
kiln_status kiln__split_plan(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice, kiln_plan **plan,
                             bool *invalid, kiln_error **error);
/* Its code alone, at `verify_size_set`, for a process that measures. */
kiln_status kiln__split_code(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                             const kiln_sample *sample, kiln__code *code, bool *invalid, kiln_error **error);
/* Runs the configuration at `verify_size_set`, and fills in the verdict on its answer. A configuration that is not valid
 * at these sizes stays unverified. */
kiln_status kiln__split_verify(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                               kiln__shared *shared, const kiln_sample *sample, kiln_result *result,
                               kiln_error **error);

/* ---- the fastest, measured again (finalists.c) ---- */

typedef struct kiln__again { /* functions of the sweep */
    void *user;
    const kiln__log *log;
    /* *ends: the failure is not of the sample; the sweep must end. */
    kiln_status (*measure)(void *user, const kiln_sample *sample, const kiln__trial *trial, kiln_result *result,
                           bool *ends, kiln_error **error);
    /* Writes the sample over its row in the store. `times`: the repetitions' times, or NULL to keep the stored ones. `why`: the
     * error with which the sample failed, or NULL. */
    void (*keep)(void *user, const kiln_sample *sample, const double *times, size_t count, const kiln_error *why);
} kiln__again;
/* After the sweep, whose wall time is in the totals: holds finals, or reuses stored ones, and sets the verdict. */
kiln_status kiln__finals_hold(kiln_tuning *tuning, const kiln_tune_options *options, const kiln__again *again,
                              kiln_error **error);

/* After the finals: runs the best configuration again and compares each answer, until there is a best whose answers are
 * right (confirm.c). */
kiln_status kiln__best_confirm(kiln_tuning *tuning, const kiln_tune_options *options, const kiln__again *again,
                               kiln_error **error);

/* ---- what is known of a configuration ---- */

/* A configuration with a time from the store, from estimates or from files. It need not be a sample that this sweep would
 * make; only kiln__recorder_find() can tell that. */
typedef struct kiln__known {
    const char *variant;
    kiln__settings params;
    double seconds; /* HUGE_VAL: it failed */
} kiln__known;

/* ---- the configurations to try: in order, or as a strategy picks them (source.c) ---- */

typedef struct kiln__tune_source kiln__tune_source;
typedef struct kiln__recorder kiln__recorder;
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
/* Call it before anything else: tells the search the times of its configurations on another device or at other sizes.
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

/* ---- what a search begins with (lead.c) ---- */

typedef struct kiln__lead_question {
    const kiln_spec *spec;
    const kiln_tune_options *options;
    const kiln__variant *const *variants; /* of the sweep */
    size_t count;
    kiln__settings sizes;
    bool leaves_slow; /* variants that are known or estimated to be slow are left out */
} kiln__lead_question;
typedef struct kiln__lead {
    kiln__known *items; /* configurations to try first, in order; not all need be valid */
    size_t count;
    const char *whence;  /* where they come from: "the defaults of the variants" */
    bool shipped;        /* true: `items` are known to be good; false: they are defaults */
    kiln_left_out *slow; /* variants to leave out */
    size_t slow_count;
} kiln__lead;
/* Whether a variant has a step that runs on the host. */
bool kiln__lead_is_host(const kiln__variant *variant);
/* Whether the sweep leaves such variants out: it has a limit, names no variants, and there are others. */
bool kiln__lead_leaves_host(const kiln_spec *spec, const kiln_tune_options *options);
/* The configurations to begin with, in `arena`. None is no failure. */
kiln_status kiln__lead_find(kiln_engine *engine, const kiln__lead_question *question, kiln__arena *arena,
                            kiln__lead *lead, kiln_error **error);

/* ---- estimates before a search (estimate.c) ---- */

/* An engine for the model of the GPU `device` ("sim": the nearest to the engine's own). Code that it compiles is the code
 * that the GPU gets, so that the cache has it then. The arena must outlive it. */
kiln_status kiln__estimates_open(kiln_engine *engine, const char *device, kiln__arena *arena, kiln_engine **model,
                                 kiln_error **error);

/* Estimates configurations by the model that `estimates` of the options names, for at most a tenth of `max_seconds`, and
 * gives them to the source as hints. *count: how many. That none can be made is logged, and no failure. */
kiln_status kiln__estimates_make(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                 const kiln__asker *watch, kiln__tune_source *source, size_t *count,
                                 kiln_error **error);

/* ---- objectives (objective.c) ---- */

typedef struct kiln__goals kiln__goals;
/* Parses the objectives and checks their names. Engine, spec and options must outlive it. */
kiln_status kiln__goals_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                             kiln__goals **goals, kiln_error **error);
void kiln__goals_free(kiln__goals *goals); /* NULL is fine */
/* Tells whether an objective needs KILN_RUN_ENERGY. */
bool kiln__goals_need_energy(const kiln__goals *goals);
/* Whether time is the only objective. */
bool kiln__goals_by_time(const kiln_tune_options *options);
/* Computes the objectives of a successful sample, into the arena. Fails if one cannot be computed. */
kiln_status kiln__goals_judge(kiln__goals *goals, kiln__arena *arena, kiln_sample *sample, kiln_error **error);
/* The value for the ranking and for strategies; less is better, HUGE_VAL: it failed. */
double kiln__goals_rank(const kiln__goals *goals, const kiln_sample *sample);
double kiln__goals_told(const kiln__goals *goals, const kiln_sample *sample);
/* Marks the Pareto front of several objectives. False: out of memory. */
bool kiln__goals_front(const kiln__goals *goals, kiln_tuning *tuning);

/* ---- limits (budget.c) ---- */

typedef struct kiln__budget {
    const kiln_tune_options *options;
    uint64_t start;  /* kiln__now_ns() */
    uint64_t stale;  /* samples since one was better */
    double mark;     /* the best value at that time */
    bool any;        /* one worked */
    double roofline; /* the nearest */
    kiln_end end;    /* why it is over */
} kiln__budget;
bool kiln__budget_any(const kiln_tune_options *options); /* whether there is a limit */
void kiln__budget_note(kiln__budget *budget, const kiln_sample *sample, double value);
bool kiln__budget_over(kiln__budget *budget);
/* kiln_tune() without its last rule: KILN_OK also if every configuration failed. */
kiln_status kiln__tune(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *given, kiln_tuning **tuning,
                       kiln_error **error);
/* Checks the caller's options and copies them; `run` gets a copy of the run options to which they point. */
kiln_status kiln__tune_take(const kiln_allocator *mem, const char *function, const kiln_tune_options *given,
                            kiln_tune_options *options, kiln_run_options *run, kiln_error **error);

/* ---- what determines a sample (determine.c) ---- */

/* Hashes everything that a variant does except its code and its params' values: inputs, buffers, steps, metrics,
 * verification, and the contents of their files. Lists of values, constraints and other variants are not included. */
kiln_status kiln__determine_variant(kiln_engine *engine, const kiln_spec *spec, const kiln__variant *variant,
                                    const kiln_tune_options *options, kiln__hash128 *hash, kiln_error **error);
/* The contents of the files that sizes name (`MATRIX=web.mtx`); nothing if no size is a text. */
kiln_status kiln__determine_sizes(kiln_engine *engine, const kiln_spec *spec, kiln__settings sizes, kiln__text *out,
                                  kiln_error **error);
/* Writes the fields that identify the device and its driver. */
void kiln__determine_device(const kiln_device_info *info, kiln__text *out);

/* ---- the store's side of a sweep (record.c) ---- */

typedef struct kiln__identity { /* of a sample: "" until it is known */
    char rest[33];              /* hash of everything that determines it except the device */
    char source[33], inputs[33];
} kiln__identity;
/* *recorder stays NULL if the options name no store. Every function accepts NULL. */
kiln_status kiln__recorder_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                const kiln__sites *sites, kiln__recorder **recorder, kiln_error **error);
void kiln__recorder_free(kiln__recorder *recorder);
/* `config` and `code` are NULL if the sample failed before they existed. */
kiln_status kiln__recorder_identify(kiln__recorder *recorder, const kiln_sample *sample, const kiln__config *config,
                                    const kiln__code_job *code, kiln__identity *identity, kiln_error **error);
/* Fills in the sample from the store, of any of the sweep's devices; *status and *message (in `arena`): how it ended.
 * False: it must be made. A sample that was stopped early is reused if it would be stopped early again with `bound`. */
bool kiln__recorder_find(kiln__recorder *recorder, const kiln__identity *identity, double bound, kiln__arena *arena,
                         kiln_sample *sample, kiln_status *status, const char **message);
/* Lists stored samples of the spec at these sizes that were run in the sweep's way on a device of the sweep: the best
 * first, at most 1,000. Texts and params lie in `arena`; the caller frees *list by kiln__free(). The list is empty if
 * the store cannot be read or the sweep reuses nothing. */
kiln_status kiln__recorder_recall(kiln__recorder *recorder, kiln__settings sizes, kiln__arena *arena,
                                  kiln__known **list, size_t *count, kiln_error **error);
/* Lists times of configurations of the spec on another device or at other sizes, estimates too. All come from the largest
 * group in the store of one device, the same sizes and the same way to run. A group of fewer than 4 samples is ignored. The
 * device's name lies in `arena`. Memory and errors are handled as in kiln__recorder_recall(). */
kiln_status kiln__recorder_expect(kiln__recorder *recorder, kiln__settings sizes, kiln__arena *arena,
                                  kiln__known **list, size_t *count, const char **device, kiln_error **error);
/* The times of the next added sample; they need not be aligned. */
void kiln__recorder_times(kiln__recorder *recorder, const void *times, size_t count);
/* Sets the features of the input as a text of settings ("": no features). All samples of a sweep have the same input. */
void kiln__recorder_features(kiln__recorder *recorder, const char *features);
/* Takes the times and the features from a plan that has run. */
kiln_status kiln__recorder_note(kiln__recorder *recorder, kiln_plan *plan, kiln_error **error);
/* Writes a sample of device number `place` of the sweep. If the store cannot be written the log says so once, and the
 * sweep continues. `why`: the failure, NULL: none. */
void kiln__recorder_add(kiln__recorder *recorder, const kiln__identity *identity, const kiln_sample *sample,
                        size_t place, const kiln_error *why);
/* Takes the times of the stored sample for the next kiln__recorder_add(), as kiln__recorder_times() does; none if there is
 * no such row. */
void kiln__recorder_stored_times(kiln__recorder *recorder, const kiln__identity *identity, size_t place);
/* At the end: adds pending samples to the store, and logs how many could not be stored. */
void kiln__recorder_finish(kiln__recorder *recorder, bool wait);

#endif
