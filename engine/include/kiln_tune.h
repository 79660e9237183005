/* kiln_tune.h - search spaces, sweeps, the store of samples, best-known configurations, recorded spaces.
 *
 * The objects, and who owns them
 *   kiln_tuning     the outcome of a sweep.
 *   kiln_store      a database of samples.
 *   kiln_knowledge  best-known configurations, out of a store or a text file. Immutable once made.
 *   kiln_recording  a search space that was measured before, read from a file. Immutable once loaded.
 *
 * A kiln_tuning belongs to one thread at a time; the others may be used by many threads at once. For all else the rules
 * of kiln.h hold.
 */
#ifndef KILN_TUNE_H
#define KILN_TUNE_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- search spaces ------------------------------------------------------------------------------------------------ */

typedef struct kiln_space_info {
    uint64_t raw;   /* configurations before constraints; UINT64_MAX: that many or more */
    uint64_t valid; /* after them */
    int counted;    /* 0: the time was over before, and `valid` is how many there are at least */
} kiln_space_info;

typedef struct kiln_space_options { /* zero-initialise, set `size` */
    size_t size;
    double max_seconds;      /* 0: 5 */
    int (*stop)(void *user); /* asked now and then; nonzero: end with KILN_ERROR_INTERRUPTED. NULL: nobody is */
    void *user;
} kiln_space_options;

/* The number of configurations; variant NULL: all of the spec. options NULL: the defaults. */
KILN_API kiln_status kiln_space_count(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                      const kiln_space_options *options, kiln_space_info *info, kiln_error **error);
/* The same with the defaults, before and after constraints. KILN_ERROR_TIMEOUT: they could not be counted. */
KILN_API kiln_status kiln_space_size(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                     uint64_t *raw, uint64_t *valid, kiln_error **error);

/* ---- tune ---------------------------------------------------------------------------------------------------- */

typedef struct kiln_sample {
    const char *variant;
    const kiln_setting *params;
    size_t param_count;
    kiln_status status;       /* KILN_OK, or how it failed */
    const char *message;      /* why it failed, "" if it did not */
    kiln_result result;       /* valid where status is KILN_OK */
    int reused;               /* 1: not made now but taken from the store */
    const char *device;       /* which one made it, as kiln_device_info.id; "" where it came to none */
    int tied;                 /* 1: the best, or cannot be told apart from it (kiln_tuning_verdict) */
    double at;                /* seconds from the start of the sweep until it was there */
    const double *objectives; /* the value of each of the options' objectives; NULL: it failed, or there are
                                 none */
    int front;                /* 1: of several objectives, and no other contender is as good in all and better in
                                       one */
    int contender;            /* 0: of a variant that is none, and ranked behind those that are; in a sweep of
                      such variants alone all are */
} kiln_sample;

typedef struct kiln_progress {
    uint64_t done, total; /* total UINT64_MAX: not known */
    uint64_t failed;
    double elapsed, remaining; /* seconds; remaining < 0: not known yet */
    const kiln_sample *best;   /* NULL: none yet */
} kiln_progress;

/* Called in the calling thread after each sample, and about ten times a second between them with sample == NULL.
 * Return nonzero to end the sweep with what there is (status KILN_ERROR_INTERRUPTED). */
typedef int (*kiln_tune_fn)(void *user, const kiln_progress *progress, const kiln_sample *sample);

/* Where samples are measured: in this process, or in one that kiln-worker runs, so that a fault of the device, an
 * endless kernel or a crash of the driver costs one sample. That cannot be where the engine has a caller's context,
 * host functions of the application or no worker program, nor where the run has outputs or KILN_RUN_CHECK. */
typedef enum kiln_isolation {
    KILN_ISOLATE_NEVER, /* here. After a fault, or an endless kernel, a sweep on a GPU ends */
    KILN_ISOLATE_GPU,   /* elsewhere on a GPU, here with a warning if it cannot be; here on the simulator */
    KILN_ISOLATE_ALWAYS /* elsewhere; an error where it cannot be */
} kiln_isolation;

/* A database that samples are kept in; see below. */
typedef struct kiln_store kiln_store;

#define KILN_TUNE_FRESH 1u /* make every sample anew; the store is written to all the same */
#define KILN_TUNE_NO_STOP_EARLY                                                                                        \
    2u                         /* measure clearly slower configurations as long as the others, too. The sweep sets
                                   stop_early_above of `run` itself */
#define KILN_TUNE_NO_FINALS 4u /* the fastest are not measured again */

typedef struct kiln_tune_options {
    size_t size;                 /* sizeof(kiln_tune_options) */
    const char *const *variants; /* NULL: all */
    size_t variant_count;
    const kiln_setting *params; /* fixes these params where a variant has them */
    size_t param_count;
    const char *size_set;
    const kiln_setting *sizes;
    size_t size_count;
    const kiln_run_options *run; /* how each sample is run; NULL: the defaults. Referenced for the call */
    uint64_t max_configurations; /* to make anew: those taken from the store come on top; 0: all */
    double max_seconds;          /* 0: no limit */
    kiln_tune_fn callback;
    void *user;
    kiln_isolation isolation;
    double sample_timeout;      /* seconds a sample may take from its first launch on; 0: that of `run`. Where
                              that is 0, too, a sample measured elsewhere may take 60 and, once one has
                              worked, 5 and 50 times what the shortest took, if that is less; either with
                              twice the budget added. Below 0: no limit */
    kiln_store *store;          /* where samples are written as they are made and taken from where all that
                          determined them is unchanged; NULL: nowhere. Referenced for the call */
    unsigned flags;             /* KILN_TUNE_FRESH ... */
    const char *strategy;       /* by name (kiln_strategy_name); NULL: everything in order ("exhaustive") where
                                       there is no budget or with KILN_RUN_CHECK, else kiln_strategy_name(0) */
    uint64_t seed;              /* the same seed and the same answers in the same order search the same way */
    const char *const *devices; /* measure on each of these at once, in a process each, whatever `isolation`
                                       says; named as in kiln_options. They must be of the engine's device's model. A
                                       GPU may stand there once, a simulated device may be repeated. NULL: on the
                                       engine's device */
    size_t device_count;
    unsigned finalists;            /* how many of the fastest are measured again, for at most 7 % of the sweep's
                           time or half a second, after it; 0: 5 on a GPU, none elsewhere; at most 16 */
    double max_roofline;           /* end when a sample has come so near the roofline, 0..1; 0: never */
    uint64_t stagnation;           /* end when so many samples, one after the other, were no better; 0: never */
    double improvement;            /* better by less than this share of the best is no better; 0: 0.01 */
    const char *const *objectives; /* what to look for; NULL: "time". Each is an expression of specs
                                      (engine/expr/README.md) over what was measured (time in seconds, gflops, gbs,
                                      roofline, energy in joules and power in watts, which imply KILN_RUN_ENERGY,
                                      compile in seconds), the spec's metrics, params, lets, sizes and device.*,
                                      with "min:" or "max:" before it; without, gflops, gbs and roofline are to be
                                      large, and all else small. The ranking goes by the first; a strategy searches
                                      for the least geometric mean of them, those to be large counting as 1 / value */
    size_t objective_count;
} kiln_tune_options;

typedef struct kiln_tuning kiln_tuning;

/* Sweeps. Where a sweep that has begun ends early (KILN_ERROR_INTERRUPTED, a lost device or compiler), `*tuning` holds
 * what was done until then, so set it to NULL before and look at it after. A failing configuration is a sample
 * with a status, not a failure of the sweep. */
KILN_API kiln_status kiln_tune(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                               kiln_tuning **tuning, kiln_error **error);
KILN_API void kiln_tuning_free(kiln_tuning *tuning);
KILN_API size_t kiln_tuning_count(const kiln_tuning *tuning);
/* Samples ranked: fastest first, then the failed ones. */
KILN_API const kiln_sample *kiln_tuning_sample(const kiln_tuning *tuning, size_t rank);

/* Why a sweep ended. X(name, text) */
#define KILN_END_MAP(X)                                                                                                \
    X(ALL, "all were tried")                                                                                           \
    X(CONFIGURATIONS, "as many were made as were asked for")                                                           \
    X(SECONDS, "the time was over")                                                                                    \
    X(ROOFLINE, "the best is as near the roofline as was asked for")                                                   \
    X(STAGNATION, "nothing better came for as long as was asked for")                                                  \
    X(EARLY, "interrupted, or by an error")                                                                            \
    X(SEARCHED, "no further valid configuration was found in the time there is to look for one")
typedef enum kiln_end {
#define KILN_X(name, text) KILN_END_##name,
    KILN_END_MAP(KILN_X)
#undef KILN_X
} kiln_end;

typedef struct kiln_tuning_totals {
    uint64_t configurations, failed, verified;
    uint64_t cache_hits, cache_misses;
    uint64_t reused;        /* of the configurations: taken from the store */
    uint64_t stopped_early; /* clearly slower than the best at the time */
    uint64_t throttled;     /* measured while power, temperature or hardware held the clocks down */
    kiln_end end;
    double seconds;              /* wall time */
    double compile_seconds;      /* wall time for code: the cache, starting compiles, waiting for them */
    double compile_work_seconds; /* summed over workers */
    double run_seconds;          /* filling, launching, verifying, measuring; summed over devices */
    int uncounted;               /* 1: the space has too many configurations to count in a short time */
    int sampled;                 /* 1: so that they were drawn at random, not all of them equally likely */
} kiln_tuning_totals;
KILN_API const kiln_tuning_totals *kiln_tuning_sum(const kiln_tuning *tuning);

/* How sure it is that the first is the best. The fastest of a sweep (finalists) are measured again, in turn and in many
 * rounds; they are ranked before all others then, by the median of the rounds (engine/tune/README.md). */
typedef struct kiln_verdict {
    size_t finalists;    /* that were measured again; 1: no other came near; 0: there were no finals */
    size_t tied;         /* how many cannot be told apart from the best, with itself; 0: it is not known */
    unsigned rounds;     /* 0: nothing was measured again */
    double margin;       /* relative: by less than that nothing is called slower */
    double near;         /* relative: finalists are at most so much slower than the best of the sweep */
    double seconds;      /* wall time that it took; it is not part of kiln_tuning_totals */
    int reused;          /* 1: finals of an earlier sweep, whose samples were all taken from the store */
    const char *why_not; /* "", or why nothing was measured again: "estimates are the same every time" */
} kiln_verdict;
KILN_API const kiln_verdict *kiln_tuning_verdict(const kiln_tuning *tuning);

/* ---- the store: samples kept -------------------------------------------------------------------------------------- */

/* Files that samples are kept in. X(NAME, word, what it is) */
#define KILN_FORMAT_MAP(X)                                                                                             \
    X(AUTO, "auto", "by the name of the file")                                                                         \
    X(CSV, "csv", "comma-separated values")                                                                            \
    X(T4, "t4", "T4 results")                                                                                          \
    X(KERNEL_TUNER, "kernel-tuner", "Kernel Tuner's cache file")
typedef enum kiln_format {
#define KILN_X(name, word, text) KILN_FORMAT_##name,
    KILN_FORMAT_MAP(KILN_X)
#undef KILN_X
        KILN_FORMAT_COUNT
} kiln_format;
/* The format of a word; -1: none. */
KILN_API int kiln_format_find(const char *word);

#define KILN_STORE_READ 1u /* only read: nothing is made, nothing moved; works on read-only media */

/* Opens a store, a SQLite database, and makes it with its folder where there is none. `path` NULL: $KILN_STORE, else
 * $XDG_DATA_HOME/kiln/samples.db, else ~/.local/share/kiln/samples.db. A damaged one is moved aside, which the engine's
 * log is told as a warning, and a new one made. Many processes may have one open; a kiln_store may be used by many
 * threads. No device is opened. KILN_ERROR_NOT_FOUND: only to be read, and not there. KILN_ERROR_TIMEOUT: another process
 * has had it locked for 10 s. KILN_ERROR_REFUSED: the file has other tables than a store. */
KILN_API kiln_status kiln_store_open(kiln_engine *engine, const char *path, unsigned flags, kiln_store **store,
                                     kiln_error **error);
KILN_API void kiln_store_close(kiln_store *store); /* NULL is fine */
KILN_API const char *kiln_store_path(const kiln_store *store);

/* The texts of a record that say what was run, and of what it was made. X(kind, name, unit, text), as of a result. */
#define KILN_RECORD_SUBJECT_MAP(X)                                                                                     \
    X(TEXT, key, "", "32 hexadecimal digits: of all that determined it")                                               \
    X(TEXT, spec, "", "its name")                                                                                      \
    X(TEXT, variant, "", "its name")
#define KILN_RECORD_ORIGIN_MAP(X)                                                                                      \
    X(TEXT, inputs, "", "32 hexadecimal digits: of inputs, buffers, steps, verification as the spec has them")         \
    X(TEXT, run, "", "how it was run: \"verify budget=1 precision=0.01\"")                                             \
    X(TEXT, device, "", "its name")                                                                                    \
    X(TEXT, device_id, "", "\"cuda:0\"")                                                                               \
    X(TEXT, uuid, "", "\"\" where the driver tells none")                                                              \
    X(TEXT, cc, "", "\"9.0\"; \"\" where there is none")                                                               \
    X(TEXT, driver, "", "its version, \"13.0\"; \"\" where there is none")                                             \
    X(TEXT, nvrtc, "", "its version")                                                                                  \
    X(TEXT, kiln, "", "its version")                                                                                   \
    X(TEXT, source_key, "", "32 hexadecimal digits: of source, headers, options, compiler; \"\" if it got not so far")

/* A sample with all that determined it. Strings and arrays live for the callback. */
typedef struct kiln_record {
#define KILN_X(kind, name, unit, text) KILN_FIELD_##kind name;
    KILN_RECORD_SUBJECT_MAP(KILN_X)
    const kiln_setting *params;
    size_t param_count;
    const kiln_setting *sizes;
    size_t size_count;
    KILN_RECORD_ORIGIN_MAP(KILN_X)
#undef KILN_X
    kiln_status status;
    const char *message;
    int reusable; /* 0: it failed in a way that may differ the next time, and is tried again */
    kiln_result result;
    const double *times; /* seconds of each repetition, in order; on the simulated device of the host's
                            time */
    size_t time_count;
    int64_t made; /* microseconds since 1970 */
} kiln_record;
/* Return nonzero to be shown no more. */
typedef int (*kiln_record_fn)(void *user, const kiln_record *record);

/* Which records; NULL and 0 mean any. */
typedef struct kiln_store_filter {
    size_t size; /* sizeof(kiln_store_filter) */
    const char *spec, *variant;
    const char *device;        /* a part of the name in any case, or the id, or the uuid */
    int failed;                /* 1: only failed ones; -1: only others */
    int64_t before;            /* microseconds since 1970: only those made earlier */
    const kiln_setting *sizes; /* only those made at these sizes, and any others that there may be */
    size_t size_count;
} kiln_store_filter;

/* In the order in which they were made. `filter` may be NULL. The callback must not use the store. */
KILN_API kiln_status kiln_store_list(kiln_store *store, const kiln_store_filter *filter, kiln_record_fn each,
                                     void *user, kiln_error **error);
/* Removes what the filter lets through. *removed (may be NULL): how many. */
KILN_API kiln_status kiln_store_prune(kiln_store *store, const kiln_store_filter *filter, uint64_t *removed,
                                      kiln_error **error);
/* To a file. KILN_FORMAT_AUTO goes by its name: T4 for .json and .json.gz, else CSV. *written (may be NULL): how many.
 *   CSV           everything, with a heading
 *   T4, KERNEL_TUNER  the samples of one spec at one set of sizes on one device, which a recorded space holds (the filter has
 *                 to see to it), and beside what others read all that an import needs to make the same records of it */
KILN_API kiln_status kiln_store_export(kiln_store *store, const kiln_store_filter *filter, const char *path,
                                       kiln_format format, uint64_t *written, kiln_error **error);
/* From a file in any of the formats, which it shows by itself. Of two records with one key the one made later stays. All of
 * the file is taken or, where something in it is wrong (the message says where), nothing. Recorded spaces that others made
 * become records that lookups find and sweeps do not take: engine/store/README.md says how. *read and *taken (may be
 * NULL): how many there were, and how many of them were taken. */
KILN_API kiln_status kiln_store_import(kiln_store *store, const char *path, uint64_t *read, uint64_t *taken,
                                       kiln_error **error);

/* ---- best-known configurations --------------------------------------------------------------------------------------- */

/* What is known of many problems, to be looked up: the latest sample of each configuration on each kind of device at each
 * set of sizes. May be used by many threads at once. */
typedef struct kiln_knowledge kiln_knowledge;

/* From a text file as kiln_knowledge_save() writes it, for a program to ship. It is YAML; all errors in it are said, each
 * with its line and column. No device is opened. */
KILN_API kiln_status kiln_knowledge_load(kiln_engine *engine, const char *path, kiln_knowledge **knowledge,
                                         kiln_error **error);
/* The same from memory; `name` stands in messages. */
KILN_API kiln_status kiln_knowledge_parse(kiln_engine *engine, const char *text, size_t length, const char *name,
                                          kiln_knowledge **knowledge, kiln_error **error);
/* From the samples of a store; `filter` may be NULL. */
KILN_API kiln_status kiln_knowledge_collect(kiln_engine *engine, kiln_store *store, const kiln_store_filter *filter,
                                            kiln_knowledge **knowledge, kiln_error **error);
KILN_API void kiln_knowledge_free(kiln_knowledge *knowledge); /* NULL is fine */
KILN_API size_t kiln_knowledge_count(const kiln_knowledge *knowledge);
/* Writes the best configuration of each variant, for each spec, device and set of sizes, in a fixed order. *written (may
 * be NULL): how many. */
KILN_API kiln_status kiln_knowledge_save(const kiln_knowledge *knowledge, const char *path, uint64_t *written,
                                         kiln_error **error);

/* Where an answer comes from, the best first. X(NAME, text) */
#define KILN_BEST_MAP(X)                                                                                               \
    X(EXACT, "these sizes on this device")                                                                             \
    X(TUNED, "tuned now")                                                                                              \
    X(NEAREST, "the nearest sizes on this device")                                                                     \
    X(OTHER_DEVICE, "another device")                                                                                  \
    X(DEFAULT, "the defaults")
typedef enum kiln_best_from {
#define KILN_X(name, text) KILN_BEST_##name,
    KILN_BEST_MAP(KILN_X)
#undef KILN_X
        KILN_BEST_COUNT
} kiln_best_from;
KILN_API const char *kiln_best_text(kiln_best_from from);

typedef struct kiln_best_options {   /* zero-initialise, set `size` */
    size_t size;                     /* sizeof(kiln_best_options) */
    kiln_store *store;               /* looked through if given */
    const kiln_knowledge *knowledge; /* looked through with it: of a configuration that both know the later sample
                                        counts */
    /* Only for kiln_plan_open_best(): */
    double tune_seconds;         /* above 0: where these sizes on this device are not known, kiln_tune() for at
                            most so long first. The samples go into `store`, so that the next call finds
                            them */
    const kiln_run_options *run; /* the rest as for kiln_tune(): a nonzero answer of the callback ends the tuning */
    kiln_isolation isolation;
    kiln_tune_fn callback;
    void *user;
} kiln_best_options;

typedef struct kiln_best {
    kiln_best_from from;
    const char *variant;
    const kiln_setting *params; /* the whole configuration, valid for the sizes asked for on the engine's device */
    size_t param_count;
    const kiln_setting *sizes; /* those asked for, whole */
    size_t size_count;
    /* Where it was the best; of DEFAULT none of these says anything. */
    const kiln_setting *known_sizes;
    size_t known_size_count;
    const char *device, *cc;           /* "NVIDIA H200", "9.0" */
    double distance;                   /* between the sizes: 1 where one of them is doubled (engine/tune/README.md) */
    double seconds;                    /* there */
    int measured, estimated, verified; /* as in kiln_result */
    int64_t made;                      /* microseconds since 1970 */
} kiln_best;

/* The best known configuration for the sizes of `choice` (as for kiln_plan_open(); its variant and its params narrow the
 * answer) on the engine's device: of these very sizes; else of the nearest ones on this kind of device; else of another
 * device, the same compute capability first; else the defaults, or where they break a constraint the first configuration
 * that does not. What the spec no longer has, and what breaks a constraint at these sizes on this device, is passed over.
 * Whether the source has changed since does not matter: an answer is a suggestion, and no promise. options NULL: the
 * defaults. KILN_ERROR_CONSTRAINT: there is no configuration for these sizes. */
KILN_API kiln_status kiln_best_find(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                    const kiln_best_options *options, kiln_best **best, kiln_error **error);
KILN_API void kiln_best_free(kiln_best *best); /* NULL is fine */

/* kiln_plan_open() with the best known configuration. A configuration that this device or compiler refuses is passed over
 * for the next best. Where tuning was asked for and comes to nothing, that is told to the log and the suggestion is taken.
 * *best (may be NULL) is what the plan was opened with; free it with kiln_best_free(). */
KILN_API kiln_status kiln_plan_open_best(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                         const kiln_best_options *options, kiln_plan **plan, kiln_best **best,
                                         kiln_error **error);

/* ---- recorded spaces: searching without a device ---------------------------------------------------------------- */

/* Strategies by number; NULL past the last. The first is the default. */
KILN_API const char *kiln_strategy_name(size_t number);
KILN_API const char *kiln_strategy_about(size_t number);

/* A space whose configurations were all measured once: Kernel Tuner's cache file or T4 results, gzipped or not. */
typedef struct kiln_recording kiln_recording;
KILN_API kiln_status kiln_recording_load(kiln_engine *engine, const char *path, kiln_recording **recording,
                                         kiln_error **error);
KILN_API void kiln_recording_free(kiln_recording *recording); /* NULL is fine */

/* Writes a recorded space (Kernel Tuner's file or T4, gzipped or not) to another file, gzipped where its name ends in .gz,
 * in T4 or Kernel Tuner's format; KILN_FORMAT_AUTO keeps the format, unless the name has ".t4." in it. Nothing is lost:
 * what the other format has no place for is kept beside it, and comes back when it is converted back. Of a file that was
 * cut off what is there is written, with its end. */
KILN_API kiln_status kiln_recording_convert(kiln_engine *engine, const char *from, const char *to, kiln_format format,
                                            kiln_error **error);

typedef struct kiln_recording_info {
    const char *path, *format;   /* "Kernel Tuner", "T4" */
    const char *kernel, *device; /* "" where the file does not say */
    int cut_off;                 /* the file ends early: what is there was read */
    size_t params, configurations, failed;
    double optimum, median, worst; /* seconds, of those that ran; 0 where none did */
    double mean_cost;              /* seconds that trying one took: compiling, checking, measuring */
    double budget;                 /* seconds in which random search comes within 5 % of the way from the optimum to
                                       the median; 0 where strategies cannot be compared */
    size_t draws;                  /* the configurations that it tries in that time */
} kiln_recording_info;
KILN_API void kiln_recording_describe(const kiln_recording *recording, kiln_recording_info *info);

typedef struct kiln_replay_options { /* zero-initialise, set `size`; every zero field means its default */
    size_t size;                     /* sizeof(kiln_replay_options) */
    const char *strategy;            /* NULL: the default */
    uint64_t seed;
    uint64_t max_configurations; /* 0: no limit */
    double max_seconds;          /* on the replay's clock; 0: no limit */
} kiln_replay_options;

typedef struct kiln_replay_step {
    uint64_t number;     /* from 1 */
    double clock;        /* seconds that the search has taken, this configuration's cost with it */
    double seconds;      /* its time; 0: it failed */
    const char *failure; /* the file's word for why, NULL */
    int best;            /* the best so far */
    const kiln_setting *params;
    size_t param_count;
} kiln_replay_step;
/* Non-zero ends the replay, which is no error. */
typedef int (*kiln_replay_fn)(void *user, const kiln_replay_step *step);

/* Searches the recorded space on a simulated clock: trying a configuration takes as long as it took. */
KILN_API kiln_status kiln_replay(const kiln_recording *recording, const kiln_replay_options *options,
                                 kiln_replay_fn each, void *user, kiln_error **error);

/* How much better than random search a strategy is over the time `budget` (engine/search/README.md defines it). */
#define KILN_SCORE_STEPS 100
typedef struct kiln_score {
    double score;                   /* 0: random search, 1: the optimum at once */
    double curve[KILN_SCORE_STEPS]; /* the same at equal parts of the budget; `score` is their mean */
    double best[KILN_SCORE_STEPS];  /* seconds of the best so far, the mean over the seeds */
    double share;                   /* optimum / best after 100 configurations, the median over the seeds */
} kiln_score;
/* Seeds 1 to `seeds` (at least 1); strategy NULL: the default. An error where nothing can be compared: all failed or are equally fast. */
KILN_API kiln_status kiln_recording_score(const kiln_recording *recording, const char *strategy, unsigned seeds,
                                          kiln_score *score, kiln_error **error);

#ifdef __cplusplus
}
#endif
#endif
