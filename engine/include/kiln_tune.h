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

/* ---- search spaces ----------------------------------------------------------------------------------------------- */

typedef struct kiln_space_info {
    size_t size;    /* set by the caller: sizeof(kiln_space_info) */
    uint64_t raw;   /* configurations before constraints; UINT64_MAX: that many or more */
    uint64_t valid; /* after them */
    int counted;    /* 0: the time was over before all were counted, or they are 2^64 - 1 or more (`valid` is then
                     * UINT64_MAX); there are at least `valid` */
} kiln_space_info;

typedef struct kiln_space_options { /* zero-initialise, set `size` */
    size_t size;
    double max_seconds;      /* 0: 5 */
    int (*stop)(void *user); /* called now and then; nonzero: end with KILN_ERROR_INTERRUPTED. NULL: not called */
    void *user;
} kiln_space_options;

/* The number of configurations that `choice` allows: of its variant (NULL: of all), with its sizes. Needs no
 * compiler. */
KILN_API kiln_status kiln_space_count(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                      const kiln_space_options *options, kiln_space_info *info, kiln_error **error);
/* The same with default options: before (*raw) and after (*valid) constraints. KILN_ERROR_TIMEOUT: they could not be
 * counted in that time. KILN_ERROR_UNSUPPORTED: they are 2^64 - 1 or more. */
KILN_API kiln_status kiln_space_size(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                     uint64_t *raw, uint64_t *valid, kiln_error **error);

/* ---- tune ---------------------------------------------------------------------------------------------------- */

/* A configuration that was tried. */
typedef struct kiln_sample {
    const char *variant;
    const kiln_setting *params;
    size_t param_count;
    kiln_status status;        /* KILN_OK, or how it failed */
    const char *message;       /* why it failed, "" if it did not */
    const kiln_result *result; /* never NULL; all zero where status is not KILN_OK. It lives as long as the sample */
    int reused;                /* 1: taken from the store, not measured now */
    const char *device;        /* the device that made it, as kiln_device_info.id; "": it did not get that far */
    int tied;                  /* 1: the best, or cannot be told apart from it (kiln_tuning_verdict) */
    double at;                 /* seconds from the start of the sweep until it was complete */
    const double *objectives;  /* the value of each objective of the options; NULL: it failed, or there are none */
    int front;                 /* 1: there are several objectives, and no other contender is as good in all of them and
                                  better in one */
    int contender;             /* 0: its variant is no contender (kiln_spec_variant_contender), and it is ranked after
                                  those that are; in a sweep of such variants alone all count as contenders */
} kiln_sample;

typedef struct kiln_progress {
    uint64_t done, total; /* total UINT64_MAX: not known */
    uint64_t failed;
    double elapsed, remaining; /* seconds; remaining < 0: not known yet */
    const kiln_sample *best;   /* NULL: none yet */
} kiln_progress;

/* Called in the thread that called kiln_tune(), after each sample, and about ten times a second between them with
 * sample NULL. `progress` and `sample` live until it returns. Return nonzero to end the sweep with what there is
 * (KILN_ERROR_INTERRUPTED). */
typedef int (*kiln_tune_fn)(void *user, const kiln_progress *progress, const kiln_sample *sample);

/* Where samples are measured: in this process, or isolated in a kiln-worker process, so that a fault of the device, an
 * endless kernel or a crash of the driver costs one sample. Isolation is not possible if the engine has a caller's
 * context, host functions of the application or no worker program, or if the run has outputs or KILN_RUN_CHECK. */
typedef enum kiln_isolation {
    KILN_ISOLATE_NEVER, /* in this process. A fault or an endless kernel ends a sweep on a GPU */
    KILN_ISOLATE_GPU,   /* on a GPU isolated if possible, else here with a warning; simulated: in this process */
    KILN_ISOLATE_ALWAYS /* isolated; an error if that is not possible */
} kiln_isolation;

/* A database that samples are kept in; see below. */
typedef struct kiln_store kiln_store;

#define KILN_TUNE_FRESH 1u /* take no sample from the store; new ones are written to it nevertheless */
/* Measure clearly slower configurations as long as the others. Without it the sweep ends them early: it sets
 * `stop_early_above` of `run` itself. */
#define KILN_TUNE_NO_STOP_EARLY 2u
#define KILN_TUNE_NO_FINALS 4u /* do not measure the fastest again */
/* With `ranks` of kiln_options: only the other ranks measure, on devices of the same model as the engine's.
 * KILN_ERROR_ARGUMENT without ranks or with `devices`; KILN_ERROR_DEVICE: no other rank has such a device. */
#define KILN_TUNE_LEAD_ONLY 8u
/* What the strategy is asked and told comes in an order that does not depend on how long compiles take, on the machine or
 * on what the store has: with the same seed, and the same times, a search takes the same path, also one that continues an
 * earlier one, whose samples come from the store at their turn. Fewer compiles run ahead. On one device. */
#define KILN_TUNE_REPEATABLE 16u

typedef struct kiln_tune_options {
    size_t size; /* sizeof(kiln_tune_options) */
    const char *const
        *variants; /* NULL: all; with a limit without those that have steps on the host, and with max_seconds
                                    without those that are known to be slow (kiln_tuning_left_out() says which) */
    size_t variant_count;
    const kiln_setting *params; /* fixes these params where a variant has them */
    size_t param_count;
    const char *size_set; /* as in kiln_choice */
    const kiln_setting *sizes;
    size_t size_count;
    const kiln_run_options *run; /* how each sample is run; NULL: the defaults. Read during the call */
    uint64_t max_configurations; /* how many to measure, without those taken from the store; 0: all */
    double max_seconds; /* wall time of the sweep; 0: no limit. A sample then takes at most a tenth of it, unless
                                    one run of its steps does. A sweep that has made no sample by then makes one */
    kiln_tune_fn callback;
    void *user;
    kiln_isolation isolation;
    double sample_timeout; /* seconds that a sample may take from its first launch on; 0: that of `run`. If that is
                                   0 too, an isolated sample may take 60, or once one has worked, 5 plus 50 times the
                                   shortest if that is less; plus twice the budget. Below 0: no limit */
    kiln_store *store;     /* samples are written to it as they are made, and taken from it if all that determines
                                   them is unchanged; NULL: none. It must live during the call */
    unsigned flags;        /* KILN_TUNE_FRESH ... */
    const char *strategy;  /* a name (kiln_strategy_name); NULL: kiln_strategy_name(0), or all in order
                                   ("exhaustive") if there is no budget or with KILN_RUN_CHECK */
    uint64_t seed;         /* with KILN_TUNE_REPEATABLE, the same seed and the same times, the search is the same */
    const char *const *devices; /* measure on all of these at once, in a process each, whatever `isolation` says; names
                                   as in kiln_options. All must be of the same model as the engine's device. A GPU may
                                   be named once, a simulated device several times. NULL: the engine's device */
    size_t device_count;
    unsigned finalists;            /* how many of the fastest are measured again after the sweep, for at most 7 % of its
                                      time or half a second; 0: 5 on a GPU, none elsewhere; at most 16 */
    double max_roofline;           /* end when a sample reaches this share of the roofline, 0..1; 0: never */
    uint64_t stagnation;           /* end after so many samples in a row that were not better; 0: never */
    double improvement;            /* the share of the best time by which a better one must be better; 0: 0.01 */
    const char *const *objectives; /* what to optimise; NULL: "time". Each is an expression (engine/expr/README.md) over
                                      what was measured (time and compile in seconds, gflops, gbs, roofline; energy in
                                      joules and power in watts, which imply KILN_RUN_ENERGY; error, the answer's
                                      largest, in units of the tolerance; median_error and p999_error), the spec's
                                      metrics, params, lets, sizes and device.*. "min:" or "max:" stands before it; without, gflops, gbs and roofline are
                                      maximised and all others minimised. The ranking goes by the first. A strategy
                                      minimises their geometric mean, with 1 / value for those that are maximised */
    size_t objective_count;
    const char *command; /* how the sweep was asked for, such as a command line: kept with each sample; NULL: none */
    /* A simulated device, in this process: each configuration is verified at this set of sizes of the spec, and its time
     * estimated at the sizes of the sweep, where only a few blocks of each kernel run. NULL: both at the sizes of the
     * sweep. A configuration that is not valid at this set is not verified. Buffers may be larger than the host's memory:
     * only the pages that these blocks use are filled. KILN_ERROR_UNSUPPORTED: how much the spec does depends on data
     * (inputs, `while`), or `run` asks for something else. */
    const char *verify_size_set;
    /* For a search on a GPU by time (a budget, a strategy that learns): a simulated device ("sim:PROFILE", "sim:sm_80" as
     * in kiln_options; "sim": the nearest to the GPU) whose model first estimates random configurations, for at most a
     * tenth of `max_seconds`; the search begins with these and learns how far they can be trusted. They are not stored, and
     * are in place of what the store has of other devices. What is compiled for them, the GPU uses too. A specification
     * that cannot be estimated (functions of the host that only the caller has) is searched without, with a warning in the
     * log. NULL: none */
    const char *estimates;
} kiln_tune_options;

typedef struct kiln_tuning kiln_tuning;

/* Sweeps: tries configurations of the spec, and ranks them. A configuration that fails is a sample with a status, not
 * an error of the sweep. If all of them failed with one status, the sweep fails with this status, and *tuning has all
 * samples; `end` of its totals is then not KILN_END_EARLY. If a sweep that has begun ends early
 * (KILN_ERROR_INTERRUPTED, a lost device or compiler), *tuning has what was done until then. Set it to NULL before the
 * call, and free it after it in any case. KILN_ERROR_CONSTRAINT: no configuration satisfies the constraints; the message
 * says how many each of them leaves. */
KILN_API kiln_status kiln_tune(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                               kiln_tuning **tuning, kiln_error **error);
KILN_API void kiln_tuning_free(kiln_tuning *tuning); /* NULL is allowed */
KILN_API size_t kiln_tuning_count(const kiln_tuning *tuning);
/* The samples by rank, from 0: the fastest first, the failed ones last. NULL past the last. They belong to the
 * tuning. */
KILN_API const kiln_sample *kiln_tuning_sample(const kiln_tuning *tuning, size_t rank);

/* Why a sweep ended. X(name, text) */
#define KILN_END_MAP(X)                                                                                                \
    X(ALL, "all were tried")                                                                                           \
    X(CONFIGURATIONS, "as many were made as were asked for")                                                           \
    X(SECONDS, "the time was over")                                                                                    \
    X(ROOFLINE, "the best is as near the roofline as was asked for")                                                   \
    X(STAGNATION, "nothing better came for as long as was asked for")                                                  \
    X(EARLY, "interrupted, or by an error")                                                                            \
    X(SEARCHED, "no further valid configuration was found in the given time")
typedef enum kiln_end {
#define KILN_X(name, text) KILN_END_##name,
    KILN_END_MAP(KILN_X)
#undef KILN_X
} kiln_end;

typedef struct kiln_tuning_totals {
    uint64_t configurations, failed, verified; /* samples; those of them that failed; whose answer was verified */
    uint64_t cache_hits, cache_misses;         /* codes that came from the cache; that were compiled */
    uint64_t reused;                           /* of the configurations: taken from the store */
    uint64_t stopped_early;                    /* clearly slower than the best at the time */
    uint64_t throttled;                        /* measured while power, temperature or hardware held the clocks down */
    kiln_end end;
    double seconds;              /* wall time */
    double compile_seconds;      /* wall time for code: the cache, starting compiles, waiting for them */
    double compile_work_seconds; /* summed over workers */
    double run_seconds;          /* filling, launching, verifying, measuring; summed over devices */
    int uncounted;               /* 1: the space has too many configurations to count in a short time */
    int sampled;                 /* 1: therefore they were drawn at random, not all with the same probability */
} kiln_tuning_totals;
KILN_API const kiln_tuning_totals *kiln_tuning_sum(const kiln_tuning *tuning);

/* A variant that the sweep left out, because the device lacks what its `needs` or `target` ask for. */
typedef struct kiln_left_out {
    const char *variant;
    const char *why; /* a sentence */
} kiln_left_out;
KILN_API const kiln_left_out *kiln_tuning_left_out(const kiln_tuning *tuning, size_t number); /* NULL past the last */

/* How certain it is that the first is the best. The fastest of a sweep (the finalists) are measured again, in turn, in
 * many rounds. They are then ranked before all others, by the median of their rounds (engine/tune/FINALS.md). */
typedef struct kiln_verdict {
    size_t finalists;       /* how many were measured again; 1: no other was close; 0: there were no finals */
    size_t tied;            /* how many cannot be told apart from the best, which is counted; 0: not known */
    unsigned rounds;        /* 0: nothing was measured again */
    double margin;          /* relative; a smaller difference is not called slower */
    double near;            /* relative; finalists are at most so much slower than the best of the sweep */
    double seconds;         /* wall time of the finals, which kiln_tuning_totals does not contain */
    int reused;             /* 1: the finals of an earlier sweep; all its samples were taken from the store */
    const char *why_not;    /* "", or why nothing was measured again: "estimates are the same every time" */
    unsigned verified_runs; /* runs of the best whose answer was compared and right */
    unsigned refuted;       /* configurations that were the fastest until one of these runs failed */
} kiln_verdict;
KILN_API const kiln_verdict *kiln_tuning_verdict(const kiln_tuning *tuning);

/* ---- the store: samples kept ------------------------------------------------------------------------------------- */

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

#define KILN_STORE_READ 1u /* only read: no file is made or moved; works on read-only media */

/* Opens a store, a SQLite database; makes it, and its folder, if there is none. `path` NULL: $KILN_STORE, else
 * $XDG_DATA_HOME/kiln/samples.db, else ~/.local/share/kiln/samples.db. A damaged one is renamed, with a warning in the
 * log, and a new one made. Many processes may have the same store open, and many threads may use a kiln_store. Needs no
 * device. KILN_ERROR_NOT_FOUND: with KILN_STORE_READ, there is none. KILN_ERROR_TIMEOUT: another process had it locked
 * for 10 s. KILN_ERROR_REFUSED: the file has tables that are not a store's. */
KILN_API kiln_status kiln_store_open(kiln_engine *engine, const char *path, unsigned flags, kiln_store **store,
                                     kiln_error **error);
KILN_API void kiln_store_close(kiln_store *store); /* NULL is allowed */
KILN_API const char *kiln_store_path(const kiln_store *store);

/* The texts of a record that say what was run, and what determined it. X(kind, name, unit, text), as
 * KILN_RESULT_MAP. */
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

/* A sample with all that determined it. All that it points to lives until the callback returns. */
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
    int reusable;              /* 0: it failed in a way that may not happen again, so a sweep tries it again */
    const kiln_result *result; /* never NULL; valid where status is KILN_OK */
    const double *times;       /* seconds of each repetition, in order; on the simulated device the host's time */
    size_t time_count;
    int64_t made;                 /* microseconds since 1970 */
    const kiln_setting *features; /* numbers that describe the input, as the spec's `features` has them */
    size_t feature_count;         /* 0: the spec has none, or the inputs were not made */
    const char *host;             /* the machine: its name, system and processor; "": not known */
    const char *command;          /* `command` of kiln_tune_options; "": none */
    const char *paths;            /* the files of the spec that made or took it, one per line; "": not known */
} kiln_record;
/* Return nonzero to be shown no more. */
typedef int (*kiln_record_fn)(void *user, const kiln_record *record);

/* Which records: those that meet all members. NULL and 0 mean any. */
typedef struct kiln_store_filter { /* zero-initialise, set `size` */
    size_t size;                   /* sizeof(kiln_store_filter) */
    const char *spec, *variant;
    const char *device;        /* a part of the device's name, in any case; or its id, or its uuid */
    int failed;                /* 1: only failed ones; -1: only those that did not fail */
    int64_t before;            /* only those made earlier; microseconds since 1970 */
    const kiln_setting *sizes; /* only those made at these sizes; other sizes may have any value */
    size_t size_count;
    /* Together with `spec`: of two specs of one name only the samples of the one in this file (engine/store/FILES.md).
     * "": of a name whose file is not known. */
    const char *path;
} kiln_store_filter;

/* Calls `each` for the records that match `filter` (NULL: all), in the order in which they were made. The callback must
 * not use the store. A damaged record is left out, with a warning in the log that names it; so do exports, and so does a
 * sweep, which makes it again. */
KILN_API kiln_status kiln_store_list(kiln_store *store, const kiln_store_filter *filter, kiln_record_fn each,
                                     void *user, kiln_error **error);
/* Removes the records that match `filter`; NULL: all. *removed (may be NULL): how many. */
KILN_API kiln_status kiln_store_prune(kiln_store *store, const kiln_store_filter *filter, uint64_t *removed,
                                      kiln_error **error);
/* Writes the records that match `filter` (NULL: all) to a file. *written (may be NULL): how many. KILN_FORMAT_AUTO
 * chooses by the file's name: T4 for .json and .json.gz, else CSV.
 *   CSV: everything, with a heading.
 *   T4, KERNEL_TUNER: a recorded space, so samples of one spec at one set of sizes on one device, which the filter must
 *   ensure. The file also has all that kiln_store_import() needs to make the same records of it. */
KILN_API kiln_status kiln_store_export(kiln_store *store, const kiln_store_filter *filter, const char *path,
                                       kiln_format format, uint64_t *written, kiln_error **error);
/* Reads records from a file, whose content tells the format. Of two records with one key the later one is kept. If
 * anything in the file is wrong (the message says where), nothing of it is taken. Recorded spaces of other programs
 * become records that kiln_best_find() finds and sweeps do not reuse (engine/store/EXCHANGE.md). *read and *taken (may
 * be NULL): how many there were, and how many of them were taken. KILN_ERROR_INTERRUPTED: by `stop` of kiln_options;
 * nothing was taken. */
KILN_API kiln_status kiln_store_import(kiln_store *store, const char *path, uint64_t *read, uint64_t *taken,
                                       kiln_error **error);

/* ---- best-known configurations ----------------------------------------------------------------------------------- */

/* What is known of many problems: the latest sample of each configuration, for each kind of device and each set of
 * sizes. May be used by many threads at once. */
typedef struct kiln_knowledge kiln_knowledge;

/* From a text file as kiln_knowledge_save() writes it, which a program can ship. It is YAML; the message has all errors
 * in it, with line and column. Needs no device. */
KILN_API kiln_status kiln_knowledge_load(kiln_engine *engine, const char *path, kiln_knowledge **knowledge,
                                         kiln_error **error);
/* The same from memory; `name` stands in messages. */
KILN_API kiln_status kiln_knowledge_parse(kiln_engine *engine, const char *text, size_t length, const char *name,
                                          kiln_knowledge **knowledge, kiln_error **error);
/* From the samples of a store; `filter` may be NULL. */
KILN_API kiln_status kiln_knowledge_collect(kiln_engine *engine, kiln_store *store, const kiln_store_filter *filter,
                                            kiln_knowledge **knowledge, kiln_error **error);
KILN_API void kiln_knowledge_free(kiln_knowledge *knowledge); /* NULL is allowed */
KILN_API size_t kiln_knowledge_count(const kiln_knowledge *knowledge);
/* Writes the best configuration of each variant, for each spec, device and set of sizes, in a fixed order. *written
 * (may be NULL): how many. */
KILN_API kiln_status kiln_knowledge_save(const kiln_knowledge *knowledge, const char *path, uint64_t *written,
                                         kiln_error **error);

/* Where a best-known configuration comes from. They are tried in this order, SIMILAR before NEAREST. X(NAME, text) */
#define KILN_BEST_MAP(X)                                                                                               \
    X(EXACT, "these sizes on this device")                                                                             \
    X(TUNED, "tuned now")                                                                                              \
    X(NEAREST, "the nearest sizes on this device")                                                                     \
    X(OTHER_DEVICE, "another device")                                                                                  \
    X(DEFAULT, "the defaults")                                                                                         \
    X(SIMILAR, "the nearest inputs on this device")
typedef enum kiln_best_from {
#define KILN_X(name, text) KILN_BEST_##name,
    KILN_BEST_MAP(KILN_X)
#undef KILN_X
        KILN_BEST_COUNT
} kiln_best_from;
KILN_API const char *kiln_best_text(kiln_best_from from);

typedef struct kiln_best_options {   /* zero-initialise, set `size` */
    size_t size;                     /* sizeof(kiln_best_options) */
    kiln_store *store;               /* searched; NULL: none */
    const kiln_knowledge *knowledge; /* searched too; of a configuration that both have, the later sample counts */
    /* Only for kiln_plan_open_best(): */
    double tune_seconds;         /* above 0: if these sizes are not known on this device, first kiln_tune() for at most
                                    so long. The samples go into `store`, so that the next call finds them */
    const kiln_run_options *run; /* this and the rest as in kiln_tune_options */
    kiln_isolation isolation;
    kiln_tune_fn callback;
    void *user;
} kiln_best_options;

typedef struct kiln_best {
    kiln_best_from from;
    const char *variant;
    const kiln_setting *params; /* all params, valid for these sizes on the engine's device */
    size_t param_count;
    const kiln_setting *sizes; /* all sizes that were asked for */
    size_t size_count;
    /* Where it was the best. With KILN_BEST_DEFAULT these have no meaning. */
    const kiln_setting *known_sizes;
    size_t known_size_count;
    const char *device, *cc;           /* "NVIDIA H200", "9.0" */
    double distance;                   /* between the sizes: 1 where one of them is doubled; with `near_inputs`, between
                                            the features (engine/best/README.md) */
    double seconds;                    /* there */
    int measured, estimated, verified; /* as in kiln_result */
    int64_t made;                      /* microseconds since 1970 */
    double inputs_seconds, copy_seconds; /* there, as in kiln_result; 0: none, or known from a file alone */
    const char *input_functions;         /* "NAME=SECONDS ..."; "" if there are none; NULL with KILN_BEST_DEFAULT */
    /* Of a spec with features. `known_sizes` and all that is said of there is of the nearest input that has a sample of
     * this configuration. */
    size_t near_inputs;           /* it was chosen by so many known inputs that are near; 0: not by features */
    double slowdown;              /* the mean over these: its time over the best one's */
    const kiln_setting *features; /* of the input asked for; with `near_inputs` */
    size_t feature_count;
    const kiln_setting *known_features; /* of the input there; with `near_inputs` */
    size_t known_feature_count;
} kiln_best;

/* The best known configuration for the sizes of `choice` on the engine's device. Its variant and params, if given, must
 * match. In this order: that of the same sizes on this kind of device; if the spec has features, the one that did best
 * for the inputs nearest in these (for which the inputs are made, on the host); of the nearest sizes on this kind of
 * device; of another device, first of the same compute capability; the defaults, or if they break a constraint, the
 * first configuration that breaks none. Configurations that the spec no longer has, and those that break a constraint
 * at these sizes on this device, are skipped. Changes of the source are not looked at: the answer is a suggestion.
 * Compiles nothing. Free *best with kiln_best_free(). KILN_ERROR_CONSTRAINT: there is no configuration for these
 * sizes. */
KILN_API kiln_status kiln_best_find(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                    const kiln_best_options *options, kiln_best **best, kiln_error **error);
KILN_API void kiln_best_free(kiln_best *best); /* NULL is allowed */

/* kiln_plan_open() with the best known configuration; if this device or compiler refuses it, with the next best. If
 * tuning was asked for and gives nothing, the log says so and the suggestion is used. *best (may be NULL) is what the
 * plan was opened with; free it with kiln_best_free(). */
KILN_API kiln_status kiln_plan_open_best(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                         const kiln_best_options *options, kiln_plan **plan, kiln_best **best,
                                         kiln_error **error);

/* ---- recorded spaces: searching without a device ---------------------------------------------------------------- */

/* The search strategies by number, from 0, and one line about each; NULL past the last. The first is the default. */
KILN_API const char *kiln_strategy_name(size_t number);
KILN_API const char *kiln_strategy_about(size_t number);

/* A space whose configurations were all measured once: Kernel Tuner's cache file or T4 results, gzipped or not. */
typedef struct kiln_recording kiln_recording;
KILN_API kiln_status kiln_recording_load(kiln_engine *engine, const char *path, kiln_recording **recording,
                                         kiln_error **error);
KILN_API void kiln_recording_free(kiln_recording *recording); /* NULL is allowed */
/* Gives searches of a recording a prior: the times of another one are what its configurations are expected to take, as a
 * device's estimates would say before anything is measured. Params are found by name, all of them; configurations that the
 * other one has not are not known. A strategy may learn how far to trust it. Once, before the recording is searched; the
 * other one is not kept. */
KILN_API kiln_status kiln_recording_set_prior(kiln_recording *recording, const kiln_recording *prior,
                                              kiln_error **error);

/* Writes a recorded space (Kernel Tuner's file or T4, gzipped or not) to another file: in T4 or Kernel Tuner's format,
 * gzipped if its name ends in .gz. KILN_FORMAT_AUTO keeps the format, unless the name has ".t4." in it. Nothing is
 * lost: what the other format has no place for is stored beside it, and restored when the file is converted back. Of a
 * truncated file, what is there is written, with a proper end. */
KILN_API kiln_status kiln_recording_convert(kiln_engine *engine, const char *from, const char *to, kiln_format format,
                                            kiln_error **error);

typedef struct kiln_recording_info {
    const char *path, *format;   /* "Kernel Tuner", "T4" */
    const char *kernel, *device; /* "" where the file does not say */
    int cut_off;                 /* 1: the file is truncated; what is there was read */
    size_t params, configurations, failed;
    double optimum, median, worst; /* seconds, of those that ran; 0 where none did */
    double mean_cost;              /* seconds that trying one took: compiling, checking, measuring */
    double budget;                 /* seconds that random search needs until its best is at most 5 % of the way from
                                      the optimum to the median; 0: strategies cannot be compared */
    size_t draws;                  /* how many configurations it tries in that time */
} kiln_recording_info;
/* Belongs to the recording. NULL if the recording is NULL. */
KILN_API const kiln_recording_info *kiln_recording_describe(const kiln_recording *recording);

typedef struct kiln_replay_options { /* zero-initialise, set `size`; every zero field means its default */
    size_t size;                     /* sizeof(kiln_replay_options) */
    const char *strategy;            /* NULL: the default */
    uint64_t seed;
    uint64_t max_configurations; /* 0: no limit */
    double max_seconds;          /* on the replay's clock; 0: no limit */
} kiln_replay_options;

typedef struct kiln_replay_step {
    uint64_t number;     /* from 1 */
    double clock;        /* seconds that the search has taken, with the cost of this configuration */
    double seconds;      /* the configuration's time; 0: it failed */
    const char *failure; /* why it failed, as the file says; NULL: it did not */
    int best;            /* 1: the best so far */
    const kiln_setting *params;
    size_t param_count;
} kiln_replay_step;
/* Return nonzero to end the replay, which is no error. `step` lives until it returns. */
typedef int (*kiln_replay_fn)(void *user, const kiln_replay_step *step);

/* Searches the recorded space on a simulated clock, which each configuration advances by the time that trying it took.
 * Nothing is compiled or run. */
KILN_API kiln_status kiln_replay(const kiln_recording *recording, const kiln_replay_options *options,
                                 kiln_replay_fn each, void *user, kiln_error **error);

/* How much better than random search a strategy is, over the time `budget` of kiln_recording_info
 * (engine/recording/README.md has the definition). */
#define KILN_SCORE_STEPS 100
typedef struct kiln_score {
    size_t size;                    /* set by the caller: sizeof(kiln_score) */
    double score;                   /* 0: random search, 1: the optimum at once */
    double curve[KILN_SCORE_STEPS]; /* the same at equal parts of the budget; `score` is the mean of these */
    double best[KILN_SCORE_STEPS];  /* seconds of the best so far, the mean over the seeds */
    double share;                   /* optimum / best after 100 configurations, the median over the seeds */
} kiln_score;
/* The mean score over the seeds 1 to `seeds`, at least 1; `strategy` NULL: the default. KILN_ERROR_ARGUMENT if nothing
 * can be compared: all configurations failed, or all are equally fast. */
KILN_API kiln_status kiln_recording_score(const kiln_recording *recording, const char *strategy, unsigned seeds,
                                          kiln_score *score, kiln_error **error);

#ifdef __cplusplus
}
#endif
#endif
