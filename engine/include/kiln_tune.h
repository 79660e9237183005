/* kiln_tune.h - search spaces, sweeps, the store of samples, best-known configurations and recorded spaces.
 *
 * Objects and ownership
 *   A kiln_tuning is the outcome of a sweep.
 *   A kiln_store is a database of samples.
 *   A kiln_knowledge holds best-known configurations from a store or a text file. It never changes after it is made.
 *   A kiln_recording is a search space that was measured earlier, read from a file. After it is loaded, only
 *   kiln_recording_set_prior() changes it.
 *
 * Only one thread at a time may use a kiln_tuning. Many threads may use a kiln_store, a kiln_knowledge or a
 * kiln_recording at the same time. All other rules are the same as in kiln.h. */
#ifndef KILN_TUNE_H
#define KILN_TUNE_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- search spaces ----------------------------------------------------------------------------------------------- */

typedef struct kiln_space_info {
    size_t size;    /* set by the caller: sizeof(kiln_space_info) */
    uint64_t raw;   /* configurations before the constraints are applied; UINT64_MAX means 2^64 - 1 or more */
    uint64_t valid; /* configurations that satisfy the constraints */
    /* 1 means that `valid` is exact. 0 means that `valid` is a lower bound, because the time limit ended the count. If
     * 2^64 - 1 or more configurations are valid, `counted` is also 0, and `valid` is UINT64_MAX. */
    int counted;
} kiln_space_info;

typedef struct kiln_space_options { /* zero-initialise, set `size` */
    size_t size;
    double max_seconds; /* the time limit in seconds; 0 means 5 */
    /* NULL, or a function that the library calls repeatedly during the count. If this function returns nonzero,
     * kiln_space_count() ends with KILN_ERROR_INTERRUPTED. */
    int (*stop)(void *user);
    void *user;
} kiln_space_options;

/* Counts the configurations that `choice` allows, at the sizes of `choice`. If the variant of `choice` is NULL, the
 * function counts the configurations of all variants. kiln_space_count() needs no compiler. */
KILN_API kiln_status kiln_space_count(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                      const kiln_space_options *options, kiln_space_info *info, kiln_error **error);
/* Counts the configurations like kiln_space_count() with default options. *raw gets the number of configurations before
 * the constraints are applied, and *valid the number that satisfies the constraints. KILN_ERROR_TIMEOUT: the time limit
 * ended the count. KILN_ERROR_UNSUPPORTED: there are 2^64 - 1 or more configurations. */
KILN_API kiln_status kiln_space_size(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                     uint64_t *raw, uint64_t *valid, kiln_error **error);

/* ---- tune ---------------------------------------------------------------------------------------------------- */

/* A configuration that a sweep tried. */
typedef struct kiln_sample {
    const char *variant;
    const kiln_setting *params;
    size_t param_count;
    kiln_status status;  /* KILN_OK, or the reason why the configuration failed */
    const char *message; /* the message of the failure; "" if the configuration succeeded */
    /* The result of the run, which is never NULL. All members of the result are zero if `status` is not KILN_OK. The
     * result lives as long as the sample. */
    const kiln_result *result;
    int reused; /* 1 means that the sample comes from the store and was not measured now */
    /* The device that made the sample, with the text of kiln_device_info.id. "" means that the configuration failed
     * before it reached a device. */
    const char *device;
    /* 1 means that the configuration is the best, or that the measured times do not distinguish it from the best
     * (kiln_tuning_verdict). */
    int tied;
    double at; /* seconds from the start of the sweep until the sample was complete */
    /* The value of each member of `objectives` of kiln_tune_options. NULL means that the configuration failed, or that
     * the options have no objectives. */
    const double *objectives;
    /* 1 means that the sample is on the Pareto front: no other contender is better in one objective and at least as
     * good in all others. With fewer than two objectives, `front` is 0. */
    int front;
    /* 0 means that the variant of the sample is only there for comparison, and is never the best
     * (kiln_spec_variant_contender). The sweep ranks this sample after all samples of contenders. If no variant of a
     * sweep is a contender, all of its variants count as contenders. */
    int contender;
} kiln_sample;

typedef struct kiln_progress {
    uint64_t done, total; /* numbers of configurations; `total` is UINT64_MAX if it is not known */
    uint64_t failed;
    double elapsed, remaining; /* seconds; `remaining` is negative if it is not known yet */
    const kiln_sample *best;   /* NULL means that no sample has succeeded yet */
} kiln_progress;

/* A callback that receives each sample when the sample is complete. Between the samples the sweep calls the callback
 * about ten times a second with `sample` NULL. The thread that called kiln_tune() makes all calls of this callback.
 * `progress` and `sample` live until the callback returns. If the callback returns nonzero, kiln_tune() ends with the
 * samples made so far (KILN_ERROR_INTERRUPTED). */
typedef int (*kiln_tune_fn)(void *user, const kiln_progress *progress, const kiln_sample *sample);

/* The place where samples are measured: this process, or an isolated kiln-worker process. If a sample is isolated, a
 * fault of the device, an endless kernel or a crash of the driver costs only this sample. The sweep cannot isolate
 * samples in these cases:
 *
 * - the engine has a caller's context, host functions of the application, or no worker program;
 * - the run has outputs. */
typedef enum kiln_isolation {
    /* Measure in this process, without isolation. On a GPU a fault or an endless kernel ends the sweep. */
    KILN_ISOLATE_NEVER,
    /* On a GPU isolate samples if possible; otherwise measure in this process and log a warning. On a simulated device
     * measure in this process, without isolation. */
    KILN_ISOLATE_GPU,
    /* Isolate samples on every device. If isolation is not possible, the sweep fails. */
    KILN_ISOLATE_ALWAYS
} kiln_isolation;

/* A database of samples; see kiln_store_open(). */
typedef struct kiln_store kiln_store;

/* Take no sample from the store. The sweep still writes its new samples to the store. */
#define KILN_TUNE_FRESH 1u
/* Measure slow configurations as long as all other configurations. Without this flag the sweep sets `stop_early_above`
 * of each run, so that the measurement of a clearly slower configuration ends early. */
#define KILN_TUNE_NO_STOP_EARLY 2u
/* Leave out the finals: do not measure the fastest configurations again at the end of the sweep. */
#define KILN_TUNE_NO_FINALS 4u
/* For a job (`ranks` of kiln_options): rank 0 does not measure. Only other ranks measure, on devices of the same model
 * as the engine's device. KILN_ERROR_ARGUMENT: there are no ranks, or `devices` is given. KILN_ERROR_DEVICE: no other
 * rank has a device of this model. */
#define KILN_TUNE_LEAD_ONLY 8u
/* Make the search repeatable. The sweep then asks the strategy for configurations, and gives it the measured times, in
 * an order that does not depend on compile times, on the machine or on the contents of the store. With the same seed
 * and the same measured times, a search tries the same configurations in the same order. This also holds if a search
 * continues an earlier search: the strategy gets a stored time at the moment when the sweep would have measured this
 * configuration. With KILN_TUNE_REPEATABLE the sweep compiles fewer configurations ahead of time. The search is
 * repeatable only if one device measures. */
#define KILN_TUNE_REPEATABLE 16u

typedef struct kiln_tune_options {
    size_t size; /* sizeof(kiln_tune_options) */
    /* The names of the variants to search. NULL means all variants, with two exceptions. If the sweep has a limit
     * (`max_configurations`, `max_seconds`, `max_roofline` or `stagnation`), it leaves out variants with steps on the
     * host. If `max_seconds` is set, the sweep also leaves out variants that are known to be slow.
     * kiln_tuning_left_out() lists the variants that the sweep left out. */
    const char *const *variants;
    size_t variant_count;
    const kiln_setting *params; /* fixed values of params, for the variants that have these params */
    size_t param_count;
    const char *size_set; /* see kiln_choice */
    const kiln_setting *sizes;
    size_t size_count;
    /* The options of each run of a configuration. NULL means the defaults. kiln_tune() reads these options only during
     * the call. */
    const kiln_run_options *run;
    /* The most configurations that the sweep measures. Samples from the store do not count towards this limit. 0 means
     * no limit. */
    uint64_t max_configurations;
    /* The time limit of the sweep, in seconds of wall time. 0 means no limit. If `max_seconds` is set, a sample takes
     * at most a tenth of `max_seconds`, unless a single run of the steps takes longer. If the sweep has no sample when
     * the time is over, the sweep still makes one sample. */
    double max_seconds;
    kiln_tune_fn callback;
    void *user;
    kiln_isolation isolation;
    /* The time limit of a sample, in seconds from its first launch on. A negative value means no limit. 0 means that
     * `sample_timeout` of `run` applies. If `sample_timeout` of `run` is 0 too, an isolated sample may take 60 seconds
     * plus twice the budget. Once a sample has succeeded, the 60 seconds become 5 seconds plus 50 times the shortest
     * sample, if this sum is less. */
    double sample_timeout;
    /* The store in which the sweep keeps its samples, or NULL. The sweep writes each sample to the store as soon as the
     * sample is made. The sweep takes a sample from the store if everything that determines the sample is unchanged.
     * The store must stay open until kiln_tune() returns. */
    kiln_store *store;
    unsigned flags; /* KILN_TUNE_FRESH and the other flags above */
    /* The name of a search strategy (kiln_strategy_name). NULL means the default strategy, kiln_strategy_name(0). If
     * the sweep has no limit, or with KILN_RUN_CHECK, NULL means "exhaustive", which tries all configurations in
     * order. */
    const char *strategy;
    /* The seed of the strategy's random numbers. See KILN_TUNE_REPEATABLE. */
    uint64_t seed;
    /* The devices that measure at the same time. Each device measures in a separate process, regardless of `isolation`.
     * The names have the same form as `device` of kiln_options. All devices must be of the same model as the engine's
     * device. The list may name a GPU once, and a simulated device several times. NULL means that the engine's device
     * measures. */
    const char *const *devices;
    size_t device_count;
    /* The number of finalists: the fastest configurations, which the sweep measures again at its end (the finals). At
     * most 16. The first round of the finals measures every finalist. More rounds follow until the finals have taken 7
     * % of the sweep's time, or half a second if this is more. 0 means 5 finalists on a GPU, and no finals on a
     * simulated device. */
    unsigned finalists;
    /* The share of the roofline, from 0 to 1, at which the sweep ends. 0 means that the roofline does not end the
     * sweep. */
    double max_roofline;
    /* The sweep ends after this number of consecutive samples without an improvement. 0 means no such limit. */
    uint64_t stagnation;
    /* The least change that counts as an improvement for `stagnation`, as a share of the best time. 0 means 0.01. */
    double improvement;
    /* The objectives that the sweep optimises. NULL means the objective "time". Each objective is an expression
     * (engine/expr/README.md) over these names:
     *
     * - time and compile, in seconds; gflops, gbs and roofline;
     * - energy in joules and power in watts, which imply KILN_RUN_ENERGY;
     * - error, the largest error of the answer in units of the tolerance; median_error and p999_error;
     * - the metrics, params, named expressions (`let`) and sizes of the spec, and device.*.
     *
     * "min:" or "max:" may stand before the expression. If an objective has no such prefix, the sweep maximises gflops,
     * gbs and roofline, and minimises all other objectives. The first objective ranks the samples. A strategy minimises
     * the geometric mean of all objectives. An objective that is maximised enters this mean as 1 / value. */
    const char *const *objectives;
    size_t objective_count;
    /* The command line or another text that tells how the sweep was started. The store keeps the text with each sample.
     * NULL means that the store keeps no such text. */
    const char *command;
    /* The name of a size set of the spec, usually a small one. This member works only if the device is a simulated
     * device in this process. The sweep verifies each configuration at the sizes of this set. The sweep estimates the
     * time of each configuration at the sizes of the sweep. For an estimate it runs only a few blocks of each kernel.
     * NULL means that the sweep verifies and estimates at the sizes of the sweep. The sweep does not verify a
     * configuration that is not valid at this size set. The buffers may be larger than the host's memory, because the
     * sweep fills only the pages that the executed blocks use. KILN_ERROR_UNSUPPORTED: the amount of work depends on
     * data (inputs, `while`), or `run` requests more than a verification and an estimate. */
    const char *verify_size_set;
    /* The name of a simulated device. Its model estimates random configurations before the GPU measures the first one.
     * NULL means that the sweep uses no estimates. The name is "sim:PROFILE" or "sim:sm_80", as in kiln_options; "sim"
     * means the profile that is nearest to the GPU.
     *
     * The search must run on a GPU, optimise the time, and use a strategy that learns. The estimates take at most a
     * tenth of `max_seconds`. The search begins with the estimates. During the sweep it learns how far it can trust
     * them. The store does not keep the estimates. With `estimates`, the search does not use stored times of other
     * devices. The measurements on the GPU reuse the code that was compiled for the estimates. A spec that calls host
     * functions of the application cannot be estimated; the search then runs without estimates and logs a warning. */
    const char *estimates;
} kiln_tune_options;

typedef struct kiln_tuning kiln_tuning;

/* Runs a sweep: tries configurations of the spec and ranks them.
 *
 * A configuration that fails is a sample with a status. Such a sample does not end the sweep. If all configurations
 * fail with the same status, the sweep fails with this status, *tuning has all samples, and `end` of its totals is
 * not KILN_END_EARLY. If a sweep that has begun ends early (KILN_ERROR_INTERRUPTED, a lost device or compiler),
 * *tuning has the samples made so far. Therefore set *tuning to NULL before the call, and call kiln_tuning_free()
 * after the call in any case. KILN_ERROR_CONSTRAINT: no configuration satisfies the constraints. The message tells
 * how many configurations satisfy each constraint. */
KILN_API kiln_status kiln_tune(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                               kiln_tuning **tuning, kiln_error **error);
KILN_API void kiln_tuning_free(kiln_tuning *tuning); /* NULL is allowed */
KILN_API size_t kiln_tuning_count(const kiln_tuning *tuning);
/* Returns a sample by its rank, from 0. The first sample is the best, and the failed samples are the last ones.
 * kiln_tuning_sample() returns NULL past the last sample. The samples belong to the tuning. */
KILN_API const kiln_sample *kiln_tuning_sample(const kiln_tuning *tuning, size_t rank);

/* The reasons why a sweep ended. X(name, text) */
#define KILN_END_MAP(X)                                                                                                \
    X(ALL, "everything was tried")                                                                                     \
    X(CONFIGURATIONS, "the requested number was tried")                                                                \
    X(SECONDS, "the time limit was reached")                                                                           \
    X(ROOFLINE, "the best reached the wanted share of the roofline")                                                   \
    X(STAGNATION, "the limit of samples without an improvement was reached")                                           \
    X(EARLY, "interrupted, or ended by an error")                                                                      \
    X(SEARCHED, "no further valid configuration was found in the given time")
typedef enum kiln_end {
#define KILN_X(name, text) KILN_END_##name,
    KILN_END_MAP(KILN_X)
#undef KILN_X
} kiln_end;

typedef struct kiln_tuning_totals {
    /* The number of all samples, of the failed samples, and of the samples whose answer was verified. */
    uint64_t configurations, failed, verified;
    /* The number of configurations whose code came from the cache, and of configurations that were compiled. */
    uint64_t cache_hits, cache_misses;
    uint64_t reused; /* samples that were taken from the store */
    /* Samples whose measurement ended early, because they were clearly slower than the best sample at that time. */
    uint64_t stopped_early;
    /* Samples that were measured while a limit of power, temperature or hardware lowered the clocks. */
    uint64_t throttled;
    kiln_end end;
    double seconds; /* wall time of the sweep */
    /* The wall time that the sweep spent on code: reading the cache, starting compilations, and waiting for them. */
    double compile_seconds;
    double compile_work_seconds; /* time of all compilations, summed over the workers */
    /* The time for filling buffers, launching, verifying and measuring, summed over the devices. */
    double run_seconds;
    int uncounted; /* 1 means that the space is too large to be counted in a short time */
    /* 1 means that the sweep drew the configurations at random, because the space is too large to be counted. Some
     * configurations may have been drawn with a higher probability than others. */
    int sampled;
} kiln_tuning_totals;
/* Returns the totals, which belong to the tuning. */
KILN_API const kiln_tuning_totals *kiln_tuning_sum(const kiln_tuning *tuning);

/* Returns the name of the size set that the sweep used: the set of its options, or the default (`size_set` of
 * kiln_options). The name lives as long as the tuning. */
KILN_API const char *kiln_tuning_size_set(const kiln_tuning *tuning);
/* Returns a size of the sweep by its number, from 0, or NULL past the last size. The sizes belong to the tuning. */
KILN_API const kiln_setting *kiln_tuning_size(const kiln_tuning *tuning, size_t number);

/* A variant that the sweep left out. Either the device lacks a feature that `needs` or `target` of the variant
 * requires, or the sweep has a limit (see `variants` of kiln_tune_options). */
typedef struct kiln_left_out {
    const char *variant;
    const char *why; /* the reason, as a sentence */
} kiln_left_out;
/* Returns a variant that was left out, by its number from 0. Returns NULL past the last variant. */
KILN_API const kiln_left_out *kiln_tuning_left_out(const kiln_tuning *tuning, size_t number);

/* The verdict of a sweep: how certain it is that the first sample is the best. After the sweep, the finals measure the
 * fastest configurations, the finalists, again. Each round of the finals measures every finalist once. The median of
 * these rounds then ranks the finalists before all other samples (engine/tune/FINALS.md). */
typedef struct kiln_verdict {
    /* The number of finalists. 1 means that no other configuration was close. 0 means that there were no finals. */
    size_t finalists;
    /* The number of configurations that the finals do not distinguish from the best. The best configuration is one of
     * them. 0 means that the number is not known. */
    size_t tied;
    unsigned rounds; /* number of rounds; 0 means that nothing was measured again */
    /* A finalist counts as slower than the best only if it differs by more than this share of the best time. */
    double margin;
    /* The bound that selects finalists. The time of a finalist exceeds the best time of the sweep by at most this share
     * of the best time plus 0.5 us, the resolution of events. */
    double near;
    /* The wall time of the finals. kiln_tuning_totals does not contain it. */
    double seconds;
    /* 1 means that the verdict comes from the finals of an earlier sweep, because all samples were taken from the
     * store. */
    int reused;
    /* "" if there were finals, or if no other configuration was close to the best. Otherwise a sentence why there were
     * no finals, such as "estimates are exactly repeatable". */
    const char *why_not;
    /* The number of runs of the best configuration whose answers were compared with the expected answers and were
     * right. */
    unsigned verified_runs;
    /* The number of configurations that were the fastest until one of their runs gave a wrong answer. */
    unsigned refuted;
} kiln_verdict;
/* Returns the verdict, which belongs to the tuning. */
KILN_API const kiln_verdict *kiln_tuning_verdict(const kiln_tuning *tuning);

/* ---- the store: samples kept ------------------------------------------------------------------------------------- */

/* The formats of files with samples. X(NAME, word, description) */
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
/* Returns the kiln_format whose word is `word`. Returns -1 for an unknown word. */
KILN_API int kiln_format_find(const char *word);

/* Open the store only for reading. kiln_store_open() then makes and renames no file, so a store on read-only media can
 * be opened. */
#define KILN_STORE_READ 1u

/* Opens a store, which is a SQLite database. Close *store with kiln_store_close().
 *
 * If `path` is NULL, the file is $KILN_STORE. If KILN_STORE is not set, the file is $XDG_DATA_HOME/kiln/samples.db or
 * ~/.local/share/kiln/samples.db. If the file does not exist, kiln_store_open() makes the file and its folder. If the
 * file is damaged, kiln_store_open() renames it, logs a warning and makes a new file. Many processes may open the same
 * store, and many threads may use one kiln_store. kiln_store_open() needs no device. KILN_ERROR_NOT_FOUND:
 * KILN_STORE_READ is set, and there is no file. KILN_ERROR_TIMEOUT: another process locked the file for 10 seconds.
 * KILN_ERROR_REFUSED: the file is a database with tables that no store of Kiln has. */
KILN_API kiln_status kiln_store_open(kiln_engine *engine, const char *path, unsigned flags, kiln_store **store,
                                     kiln_error **error);
KILN_API void kiln_store_close(kiln_store *store); /* NULL is allowed */
KILN_API const char *kiln_store_path(const kiln_store *store);

/* The texts of a record (kiln_record) that identify the configuration and the conditions under which it ran. X(kind,
 * name, unit, text), as in KILN_RESULT_MAP. */
#define KILN_RECORD_SUBJECT_MAP(X)                                                                                     \
    X(TEXT, key, "", "32 hexadecimal digits: the hash of everything that determined the sample")                       \
    X(TEXT, spec, "", "its name")                                                                                      \
    X(TEXT, variant, "", "its name")
#define KILN_RECORD_ORIGIN_MAP(X)                                                                                      \
    X(TEXT, inputs, "", "32 hexadecimal digits: the hash of the spec's inputs, buffers, steps, verification")          \
    X(TEXT, run, "", "the options of the run: \"verify budget=1 precision=0.01\"")                                     \
    X(TEXT, device, "", "its name")                                                                                    \
    X(TEXT, device_id, "", "\"cuda:0\"")                                                                               \
    X(TEXT, uuid, "", "\"\" if the driver offers none")                                                                \
    X(TEXT, cc, "", "\"9.0\"; \"\" if the device has none")                                                            \
    X(TEXT, driver, "", "its version, \"13.0\"; \"\" if there is no driver")                                           \
    X(TEXT, nvrtc, "", "its version")                                                                                  \
    X(TEXT, kiln, "", "its version")                                                                                   \
    X(TEXT, source_key, "",                                                                                            \
      "32 hexadecimal digits: the hash of source, headers, options, compiler; \"\" if it failed before")

/* A sample together with all conditions that determined it. Everything that a record points to lives until the callback
 * returns. */
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
    /* 0 means that the configuration failed for a reason that may not occur again, so a later sweep tries the
     * configuration again. */
    int reusable;
    /* The result of the run, which is never NULL. The members of the result have a meaning only if `status` is
     * KILN_OK. */
    const kiln_result *result;
    /* The time of each repetition in seconds, in order. On the simulated device these times are wall times of the
     * host. */
    const double *times;
    size_t time_count;
    int64_t made; /* the time when the sample was made, in microseconds since 1970 */
    /* The features of the input: numbers that describe it, computed by the key `features` of the spec. */
    const kiln_setting *features;
    /* The number of features. 0 means that the spec has no features, or that the sweep did not make the inputs. */
    size_t feature_count;
    /* The machine that made the sample: its name, system and processor. "" means that the machine is not known. */
    const char *host;
    const char *command; /* `command` of kiln_tune_options; "" means no text */
    /* The files of the specs that made or reused the sample, one per line. "" means that the files are not known. */
    const char *paths;
} kiln_record;
/* A callback that receives one record. If the callback returns nonzero, the function that calls it visits no further
 * record. */
typedef int (*kiln_record_fn)(void *user, const kiln_record *record);

/* Selects the records that match all members of this struct. Every zero member matches any record. */
typedef struct kiln_store_filter {
    size_t size; /* sizeof(kiln_store_filter) */
    const char *spec, *variant;
    /* The id or the uuid of the device, or a part of its name. The comparison with the name of the device ignores upper
     * and lower case. */
    const char *device;
    int failed;     /* 1 means only failed records; -1 means only records that did not fail */
    int64_t before; /* only records made before this time, in microseconds since 1970 */
    /* If not NULL, only records that were made at these sizes match. A size that is not in this list may have any
     * value. */
    const kiln_setting *sizes;
    size_t size_count;
    /* The path of the spec's file. Together with `spec` the path distinguishes two specs with the same name
     * (engine/store/FILES.md). "" selects only samples whose file is not known. */
    const char *path;
} kiln_store_filter;

/* Calls `each` for the records that match `filter`, in the order in which they were made. A NULL `filter` matches all
 * records. The callback must not use the store. If a record is damaged, kiln_store_list() skips the record and logs a
 * warning that names it. kiln_store_export() skips damaged records too. A sweep measures the configuration of a damaged
 * record again. */
KILN_API kiln_status kiln_store_list(kiln_store *store, const kiln_store_filter *filter, kiln_record_fn each,
                                     void *user, kiln_error **error);
/* Removes the records that match `filter` from the store; a NULL `filter` matches all records. `removed` may be NULL;
 * otherwise *removed gets the number of removed records. */
KILN_API kiln_status kiln_store_prune(kiln_store *store, const kiln_store_filter *filter, uint64_t *removed,
                                      kiln_error **error);
/* Writes the records that match `filter` to a file. A NULL `filter` matches all records. `written` may be NULL;
 * otherwise *written gets the number of records. KILN_FORMAT_AUTO chooses the format by the name of the file: T4
 * for .json and .json.gz, otherwise CSV.
 *
 * - CSV: all fields of all records, with a heading.
 * - T4 and KERNEL_TUNER: a recorded space, which holds samples of one spec at one set of sizes on one device. T4 is the
 *   JSON format for tuning results that Kernel Tuner's schema T4 defines. The filter must select only samples of one
 *   recorded space. From the file kiln_store_import() can make the same records again. */
KILN_API kiln_status kiln_store_export(kiln_store *store, const kiln_store_filter *filter, const char *path,
                                       kiln_format format, uint64_t *written, kiln_error **error);
/* Reads records from a file and adds them to the store. The content of the file determines its format.
 *
 * If two records have the same key, the store keeps the later one. If anything in the file is wrong, no record is
 * added; the message tells the place. Records from a recorded space of another program serve kiln_best_find(). Sweeps
 * do not reuse these records (engine/store/EXCHANGE.md). Sets *read to the number of records in the file, and *taken to
 * the number of added records. `read` and `taken` may be NULL. KILN_ERROR_INTERRUPTED: `stop` of kiln_options ended the
 * import; no record was added. */
KILN_API kiln_status kiln_store_import(kiln_store *store, const char *path, uint64_t *read, uint64_t *taken,
                                       kiln_error **error);

/* ---- best-known configurations ----------------------------------------------------------------------------------- */

/* The best-known configurations of many problems: of specs at sets of sizes. A kiln_knowledge has the latest sample of
 * each configuration on each kind of device at each set of sizes. Many threads may use one kiln_knowledge at the same
 * time. */
typedef struct kiln_knowledge kiln_knowledge;

/* Loads a YAML file that kiln_knowledge_save() wrote. A program can be shipped with such a file. If the file has
 * errors, the message lists all of them with line and column. kiln_knowledge_load() needs no device. */
KILN_API kiln_status kiln_knowledge_load(kiln_engine *engine, const char *path, kiln_knowledge **knowledge,
                                         kiln_error **error);
/* Does the same as kiln_knowledge_load() for a text in memory. Messages about the text show `name` as the name of the
 * file. */
KILN_API kiln_status kiln_knowledge_parse(kiln_engine *engine, const char *text, size_t length, const char *name,
                                          kiln_knowledge **knowledge, kiln_error **error);
/* Makes a kiln_knowledge from the samples of a store that match `filter`; a NULL `filter` matches all samples. */
KILN_API kiln_status kiln_knowledge_collect(kiln_engine *engine, kiln_store *store, const kiln_store_filter *filter,
                                            kiln_knowledge **knowledge, kiln_error **error);
KILN_API void kiln_knowledge_free(kiln_knowledge *knowledge); /* NULL is allowed */
KILN_API size_t kiln_knowledge_count(const kiln_knowledge *knowledge);
/* Writes the best configuration of each variant, for each spec, device and set of sizes, in a fixed order. `written`
 * may be NULL; otherwise *written gets the number of configurations. */
KILN_API kiln_status kiln_knowledge_save(const kiln_knowledge *knowledge, const char *path, uint64_t *written,
                                         kiln_error **error);

/* The places where kiln_best_find() finds a configuration. It tries them in this order, except that it tries SIMILAR
 * before NEAREST. X(NAME, text) */
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

typedef struct kiln_best_options {
    size_t size;       /* sizeof(kiln_best_options) */
    kiln_store *store; /* the store to search; NULL means no store */
    /* Best-known configurations to search besides the store; NULL means none. If `store` and `knowledge` both have a
     * sample of a configuration, kiln_best_find() uses the later sample. */
    const kiln_knowledge *knowledge;
    /* Only kiln_plan_open_best() uses `tune_seconds` and the members after it. */
    /* If `tune_seconds` is above 0 and no sample for these sizes on this device is known, kiln_tune() runs first, for
     * at most this number of seconds. That sweep writes its samples to `store`, so that the next call finds them. */
    double tune_seconds;
    const kiln_run_options *run; /* this member and the following members: see kiln_tune_options */
    kiln_isolation isolation;
    kiln_tune_fn callback;
    void *user;
    const char *verify_size_set;
} kiln_best_options;

typedef struct kiln_best {
    kiln_best_from from;
    const char *variant;
    const kiln_setting *params; /* all params, valid for these sizes on the engine's device */
    size_t param_count;
    const kiln_setting *sizes; /* all sizes for which the configuration was requested */
    size_t size_count;
    /* `known_sizes` and the members after it, up to `input_functions`, describe the sample from which the configuration
     * was taken. With KILN_BEST_DEFAULT they have no meaning. */
    const kiln_setting *known_sizes;
    size_t known_size_count;
    const char *device, *cc; /* "NVIDIA H200", "9.0" */
    /* The distance between `known_sizes` and `sizes`. If one size is doubled or halved and all others are equal, the
     * distance is 1. If `near_inputs` is not 0, `distance` is instead the distance between `known_features` and
     * `features` (engine/best/README.md). */
    double distance;
    double seconds;                    /* the time of the sample, in seconds */
    int measured, estimated, verified; /* see kiln_result */
    int64_t made;                      /* microseconds since 1970 */
    /* Two times from the sample's kiln_result. 0 means that the sample has no such time, or that the sample comes from
     * a file, because files have no such times. */
    double inputs_seconds, copy_seconds;
    /* The times of the host functions that make inputs: "NAME=SECONDS ...". "" means that no function was called. The
     * text is NULL with KILN_BEST_DEFAULT. */
    const char *input_functions;
    /* `near_inputs` and the members after it, up to `known_feature_count`, have a meaning only for a spec with
     * features: numbers that describe an input. For such a spec, the sample is from the nearest known input for which
     * this configuration has a sample. */
    /* The number of known inputs with similar features whose samples chose the configuration. 0 means that features did
     * not choose the configuration. */
    size_t near_inputs;
    /* The mean slowdown of the configuration over these inputs: its time for an input divided by the best time for that
     * input. */
    double slowdown;
    /* the features of the input for which the configuration was requested; set if `near_inputs` is not 0 */
    const kiln_setting *features;
    size_t feature_count;
    const kiln_setting *known_features; /* the features of the input of the sample; set if `near_inputs` is not 0 */
    size_t known_feature_count;
    const char *size_set; /* the size set that `sizes` come from; the text lives as long as the spec */
    /* 1 means that the source, a header, an option or the compiler changed after the sample was made, so the present
     * code may be slower or wrong. 0 means that nothing changed, or that the code was not compared. Only
     * kiln_best_find() compares the code, and only if the sample comes from a store and has the requested sizes and the
     * engine's device. This comparison leaves out the code of references and inputs. */
    int code_changed;
} kiln_best;

/* Finds the best-known configuration for the sizes of `choice` on the engine's device. If `choice` gives a variant or
 * params, the best-known configuration must match them. kiln_best_find() compiles no code. Free *best with
 * kiln_best_free().
 *
 * The function kiln_best_find() takes the first of these configurations that exists:
 *
 * - the best at the same sizes on this kind of device;
 * - if the spec has features, the best for the inputs with the nearest features (for this, the host makes the inputs);
 * - the best at the nearest sizes on this kind of device;
 * - the best on another device; devices of the same compute capability come first;
 * - the defaults;
 * - if the defaults break a constraint, the first configuration that breaks no constraint.
 *
 * kiln_best_find() skips configurations that the spec no longer has. It also skips configurations that break a
 * constraint at these sizes on this device. It accepts samples of an older source, so the answer is only a suggestion.
 * `code_changed` tells whether the source changed. KILN_ERROR_CONSTRAINT: no configuration is valid at these sizes. */
KILN_API kiln_status kiln_best_find(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                    const kiln_best_options *options, kiln_best **best, kiln_error **error);
KILN_API void kiln_best_free(kiln_best *best); /* NULL is allowed */

/* Opens a plan with the best-known configuration. If this device or compiler refuses the configuration, the function
 * tries the next best one. If the options request tuning and tuning finds nothing, the function logs a message and
 * uses the configuration of kiln_best_find(). `best` may be NULL; otherwise *best gets the configuration of the plan.
 * Free *best with kiln_best_free(). */
KILN_API kiln_status kiln_plan_open_best(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                         const kiln_best_options *options, kiln_plan **plan, kiln_best **best,
                                         kiln_error **error);

/* ---- recorded spaces: searching without a device ---------------------------------------------------------------- */

/* Return the name of a search strategy, and one line about this strategy. `number` counts from 0; past the last
 * strategy the functions return NULL. Strategy 0 is the default. */
KILN_API const char *kiln_strategy_name(size_t number);
KILN_API const char *kiln_strategy_about(size_t number);

/* A search space whose configurations were all measured once. kiln_recording_load() reads a Kernel Tuner cache file or
 * a T4 results file, gzipped or not. */
typedef struct kiln_recording kiln_recording;
KILN_API kiln_status kiln_recording_load(kiln_engine *engine, const char *path, kiln_recording **recording,
                                         kiln_error **error);
KILN_API void kiln_recording_free(kiln_recording *recording); /* NULL is allowed */
/* Gives searches on a recording an expected time for each configuration. In a real sweep such times are estimates of
 * the simulated device. Here they are the measured times of another recording, `prior`.
 *
 * The function matches configurations by the names and values of their params. `prior` must have all params of
 * `recording`. A configuration that `prior` lacks has no expected time. A strategy may learn how far to trust the
 * expected times. Call this function once, before the recording is searched. The recording keeps no pointer to
 * `prior`. */
KILN_API kiln_status kiln_recording_set_prior(kiln_recording *recording, const kiln_recording *prior,
                                              kiln_error **error);

/* Writes a recorded space to another file, in the format T4 or KERNEL_TUNER. The result is gzipped if its name ends in
 * .gz. KILN_FORMAT_AUTO keeps the format, unless the name of the result contains ".t4.": then the format is T4. The
 * conversion loses no information: it stores fields that the other format lacks beside that format's own fields.
 * Converting the file back restores them. If the file `from` is truncated, kiln_recording_convert() writes its complete
 * part, with a proper end. */
KILN_API kiln_status kiln_recording_convert(kiln_engine *engine, const char *from, const char *to, kiln_format format,
                                            kiln_error **error);

typedef struct kiln_recording_info {
    const char *path, *format;   /* the path of the file; its format, "Kernel Tuner" or "T4" */
    const char *kernel, *device; /* the names of the kernel and the device; "" if the file does not have them */
    int cut_off;                 /* 1 means that the file is truncated, and only its complete part was read */
    size_t params, configurations, failed;
    /* The times of the fastest, the median and the slowest configuration that did not fail, in seconds. 0 means that
     * all configurations failed. */
    double optimum, median, worst;
    /* The mean time for trying a configuration, in seconds: compiling, checking and measuring. */
    double mean_cost;
    /* The seconds that random search needs until its best time exceeds `optimum` by at most 5 % of `median` -
     * `optimum`. 0 means that strategies cannot be compared on this recording. */
    double budget;
    /* The number of configurations that random search tries in `budget` seconds. */
    size_t draws;
} kiln_recording_info;
/* Returns a description of the recording, which belongs to the recording. Returns NULL if `recording` is NULL. */
KILN_API const kiln_recording_info *kiln_recording_describe(const kiln_recording *recording);

typedef struct kiln_replay_options {
    size_t size;          /* sizeof(kiln_replay_options) */
    const char *strategy; /* the name of the search strategy; NULL means the default strategy */
    uint64_t seed;
    uint64_t max_configurations; /* 0 means no limit */
    double max_seconds;          /* a time limit on the simulated clock of the replay; 0 means no limit */
} kiln_replay_options;

typedef struct kiln_replay_step {
    uint64_t number; /* the number of this step, from 1 */
    /* The seconds that the search has taken on the simulated clock, including the cost of this configuration. */
    double clock;
    double seconds; /* the time of the configuration; 0 means that the configuration failed */
    /* The reason of the failure, as a word from the recording's file. NULL means that the configuration did not
     * fail. */
    const char *failure;
    int best; /* 1 means that no earlier configuration was as fast */
    const kiln_setting *params;
    size_t param_count;
} kiln_replay_step;
/* A callback that receives one step of a replay. The step lives until the callback returns. If the callback returns
 * nonzero, the replay ends without an error. */
typedef int (*kiln_replay_fn)(void *user, const kiln_replay_step *step);

/* Searches a recorded space on a simulated clock. Each configuration advances the clock by the time that the
 * recording took to try this configuration. Nothing is compiled or run. */
KILN_API kiln_status kiln_replay(const kiln_recording *recording, const kiln_replay_options *options,
                                 kiln_replay_fn each, void *user, kiln_error **error);

/* The score of a strategy tells how much better than random search the strategy is during the time `budget` of
 * kiln_recording_info. The definition is in engine/recording/README.md. */
#define KILN_SCORE_STEPS 100
typedef struct kiln_score {
    size_t size;  /* set by the caller: sizeof(kiln_score) */
    double score; /* 0 means as good as random search; 1 means that the strategy finds the optimum at once */
    /* The scores at equally spaced times. The last of these times is `budget` of kiln_recording_info. `score` is the
     * mean of the curve. */
    double curve[KILN_SCORE_STEPS];
    /* For each time of the curve, the time of the best configuration found until then, in seconds: a mean over the
     * seeds. */
    double best[KILN_SCORE_STEPS];
    /* The optimum divided by the best time among the first 100 configurations, as a median over the seeds. */
    double share;
} kiln_score;
/* Computes the mean score over the seeds 1 to `seeds`, which must be at least 1. If `strategy` is NULL, the default
 * strategy is scored. KILN_ERROR_ARGUMENT: the recording allows no comparison, because all configurations failed or
 * all are equally fast. */
KILN_API kiln_status kiln_recording_score(const kiln_recording *recording, const char *strategy, unsigned seeds,
                                          kiln_score *score, kiln_error **error);

#ifdef __cplusplus
}
#endif
#endif
