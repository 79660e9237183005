/* kiln.h - a runtime-compiled CUDA kernel engine: YAML problem specs in, tuned launches out.
 *
 * This is the engine, specs, plans, runs. kiln_tune.h has sweeps, the store of samples and best-known configurations;
 * kiln_sim.h what the simulated device alone can do, which is experimental. Both include this one.
 *
 * The objects, and who owns them
 *   kiln_engine   a device (GPU or simulated), a compiler, a cache. Everything else is made from one and must be
 *                 freed before it.
 *   kiln_spec     a checked problem spec. Immutable once loaded.
 *   kiln_plan     one variant of a spec at one configuration and one set of sizes: compiled, ready to launch.
 *
 * Threads
 *   A kiln_engine and a kiln_spec may be used by many threads at once. A kiln_plan and a kiln_error belong to one
 *   thread at a time; two plans of one engine may be used by two threads at the same time.
 *
 * Errors
 *   Every function that can fail returns a kiln_status and takes a `kiln_error **`. Pass NULL to ignore the message;
 *   otherwise it must point to a NULL pointer, and on failure receives an object that the caller frees with
 *   kiln_error_free(). On failure output parameters are left untouched. The library prints nothing, installs no
 *   signal handler and never exits; what it has to say goes to the log callback of kiln_options.
 *
 * Arguments
 *   Where nothing else is said, no pointer may be NULL but `error`, `user`, and options, choices and filters (NULL: all
 *   defaults). A function with a status answers a NULL, an unknown flag, a value outside of an enum, a count without its
 *   array, a number that is negative or no number and the like with KILN_ERROR_ARGUMENT and a message that names the
 *   function and the argument ("kiln_plan_bind: buffer is NULL"). One without a status then returns NULL, 0, "" where it
 *   says so, or -1 for an index, and zeroes the struct that it would have filled. What frees or closes takes NULL.
 *
 * Structs that the caller fills and that begin with `size_t size`
 *   Zero-initialise and set `size` to sizeof of the struct; every zero member means its default. A size of an older header
 *   is fine, the members that it lacks are zero. So is one of a newer header, as long as what this library does not know
 *   is all zero; else the answer is KILN_ERROR_UNSUPPORTED. A size of 0, one that ends within a member and one that no
 *   header can have are KILN_ERROR_ARGUMENT. No such struct
 *   is a member of another; what refers to one (`run` of kiln_tune_options) is a pointer, NULL: the defaults.
 *
 * Structs that the library hands out as a pointer to const
 *   They are the library's, and end with their owner or, in a callback, with the call. A later version may add members at
 *   the end, so do not keep them by value or in arrays across versions. (One in another, as a kiln_result in a kiln_sample,
 *   grows only with a new minor version of 0.x.)
 *
 * All other structs
 *   They stay as they are: kiln_value, kiln_setting, kiln_choice, kiln_array, kiln_param_info and so on. What there is more
 *   to say gets a function of its own.
 *
 * Names
 *   open goes with close; make, load, parse and what fills a result (kiln_tune, kiln_profile) with free. A callback returns an
 *   int: 0 to go on, nonzero to be called no more, which is an error only where it says so. Two are none of that kind: the log
 *   callback, which cannot end anything, and a host function, which is an operation and returns its status.
 *
 * Strings returned as `const char *` belong to the object they came from and live as long as it does.
 */
#ifndef KILN_H
#define KILN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0
#define KILN_VERSION "0.1.0"

#if defined(KILN_STATIC) || !defined(__GNUC__)
#define KILN_API
#else
#define KILN_API __attribute__((visibility("default")))
#endif

/* The CUDA Driver API's own types, declared here exactly as cuda.h does, so that neither header needs the other. */
typedef struct CUctx_st *CUcontext;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef unsigned long long CUdeviceptr_v2;
typedef CUdeviceptr_v2 CUdeviceptr;

/* ---- status and errors ------------------------------------------------------------------------------------- */

/* X(name, value, text, exit code of the command). Values are stable. */
#define KILN_STATUS_MAP(X)                                                                                             \
    X(OK, 0, "success", 0)                                                                                             \
    X(ERROR_MEMORY, 1, "out of host memory", 70)                                                                       \
    X(ERROR_ARGUMENT, 2, "a bad argument", 2)                                                                          \
    X(ERROR_SPEC, 3, "an error in a spec", 3)                                                                          \
    X(ERROR_NOT_FOUND, 4, "nothing of that name", 4)                                                                   \
    X(ERROR_IO, 5, "a file could not be read or written", 5)                                                           \
    X(ERROR_REFUSED, 6, "refused for safety", 6)                                                                       \
    X(ERROR_NO_DEVICE, 7, "no usable device", 7)                                                                       \
    X(ERROR_NO_COMPILER, 8, "no usable NVRTC", 8)                                                                      \
    X(ERROR_COMPILE, 9, "the kernel does not compile", 9)                                                              \
    X(ERROR_TIMEOUT, 10, "a time limit was reached", 10)                                                               \
    X(ERROR_LAUNCH, 11, "a launch was refused", 11)                                                                    \
    X(ERROR_DEVICE, 12, "the device reported an error", 12)                                                            \
    X(ERROR_DEVICE_MEMORY, 13, "out of device memory", 13)                                                             \
    X(ERROR_WRONG_ANSWER, 14, "the answer is wrong", 14)                                                               \
    X(ERROR_CONSTRAINT, 15, "the configuration is outside the search space", 15)                                       \
    X(ERROR_INTERRUPTED, 16, "interrupted", 130)                                                                       \
    X(ERROR_HOST_FUNCTION, 17, "a host function failed", 17)                                                           \
    X(ERROR_UNSUPPORTED, 18, "not supported", 18)                                                                      \
    X(ERROR_INTERNAL, 19, "a defect in kiln", 70)

typedef enum kiln_status {
#define KILN_X(name, value, text, code) KILN_##name = value,
    KILN_STATUS_MAP(KILN_X)
#undef KILN_X
} kiln_status;

/* The name ("KILN_ERROR_SPEC") and the text ("an error in a spec") of a status; never NULL. */
KILN_API const char *kiln_status_name(kiln_status status);
KILN_API const char *kiln_status_text(kiln_status status);

typedef struct kiln_error kiln_error;

KILN_API kiln_status kiln_error_status(const kiln_error *error);
/* The whole message, possibly of several lines (caret lines, a compile log), without a trailing newline. */
KILN_API const char *kiln_error_message(const kiln_error *error);
/* The CUresult behind it, 0 where there is none. */
KILN_API int kiln_error_cuda(const kiln_error *error);
KILN_API void kiln_error_free(kiln_error *error); /* NULL is fine */

/* ---- the engine -------------------------------------------------------------------------------------------- */

/* realloc-like: size 0 frees and returns NULL; pointer NULL allocates. Must be callable from any thread. */
typedef struct kiln_allocator {
    void *(*resize)(void *user, void *pointer, size_t size);
    void *user;
} kiln_allocator;

typedef enum kiln_log_level { KILN_LOG_DEBUG, KILN_LOG_INFO, KILN_LOG_WARNING } kiln_log_level;
/* May be called from any thread that is inside a kiln function. `message` has no trailing newline. */
typedef void (*kiln_log_fn)(void *user, kiln_log_level level, const char *message);

#define KILN_NO_CACHE 1u      /* neither read nor write the disk cache */
#define KILN_READ_ANYWHERE 2u /* specs may name files outside their own folder and the search path */
#define KILN_NO_WORKERS                                                                                                \
    4u /* compile inside this process: unconfined, without limits, and a crash of NVRTC ends
                              it (TRUST.md) */

/* Zero-initialise and set `size`; every zero field means its default. Strings are copied. */
typedef struct kiln_options {
    size_t size;             /* sizeof(kiln_options) */
    const char *device;      /* "cuda:0", "sim", "sim:PROFILE", "sim:FILE.profile"; NULL: $KILN_DEVICE, else
                           the first GPU, else sim */
    CUcontext context;       /* the caller's context, referenced, never destroyed: the device is its; `device`
                                       then only says whether it is the simulated driver's ("sim") or libcuda's */
    const char *cache_dir;   /* NULL: $KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln */
    const char *search_path; /* folders of specs and sources, ':' between; before $KILN_PATH and the installed
                                ones */
    const char *worker;      /* the compile worker program; NULL: $KILN_WORKER, else the installed one */
    unsigned jobs;           /* compile workers at once; 0: one a core */
    unsigned flags;          /* KILN_NO_CACHE ... */
    double compile_timeout;  /* seconds a single compile may take; 0: 120 */
    uint64_t memory_limit;   /* bytes of buffers a plan may ask for on each side; 0: what device and host have */
    const kiln_allocator *allocator; /* copied; NULL: malloc */
    kiln_log_fn log;
    void *log_user;
} kiln_options;

typedef struct kiln_engine kiln_engine;

/* Opens an engine. The device is opened here when `context` is given, else on first need. options may be NULL. */
KILN_API kiln_status kiln_engine_open(const kiln_options *options, kiln_engine **engine, kiln_error **error);
KILN_API void kiln_engine_close(kiln_engine *engine); /* NULL is fine; after all that was made from it */

typedef struct kiln_device_info {
    char name[128];
    char id[32]; /* "cuda:0", "sim:generic" */
    int simulated;
    int cc_major, cc_minor;
    int sm_count, warp_size, max_threads_per_block, max_threads_per_sm;
    int registers_per_block, registers_per_sm;
    uint64_t shared_per_block; /* bytes without opting in */
    uint64_t shared_per_block_optin, shared_per_sm;
    uint64_t l2_bytes, memory_bytes;
    double clock_hz, memory_clock_hz;
    int memory_bus_bits;
    double peak_flops;     /* fp32 fused multiply-adds x 2, a second, from cores and clock */
    double peak_bandwidth; /* bytes a second, from bus width and clock */
    int driver_version;    /* 13000 for 13.0; 0 for the simulated device */
} kiln_device_info;

/* The engine's own device; opens it if it is not open. `*info` is the engine's. */
KILN_API kiln_status kiln_engine_device(kiln_engine *engine, const kiln_device_info **info, kiln_error **error);
/* Every device of this machine, the simulated ones last. `info` lives for the call. Return nonzero to be called no more. */
typedef int (*kiln_device_fn)(void *user, const kiln_device_info *info);
KILN_API kiln_status kiln_devices(kiln_engine *engine, kiln_device_fn each, void *user, kiln_error **error);

/* What was found on this machine. One finding a line of `kiln doctor`. */
typedef struct kiln_finding {
    const char *topic;  /* "driver", "nvrtc", "cache", ... */
    int ok;             /* 0: missing or broken */
    int needed;         /* 1: nothing works without it; 0: something is poorer */
    const char *found;  /* "libnvrtc.so.13, version 13.0" */
    const char *remedy; /* what to do, "" if ok */
} kiln_finding;
/* Return nonzero to be called no more. */
typedef int (*kiln_finding_fn)(void *user, const kiln_finding *finding);
KILN_API kiln_status kiln_doctor(kiln_engine *engine, kiln_finding_fn report, void *user, kiln_error **error);

/* ---- values ------------------------------------------------------------------------------------------------ */

typedef enum kiln_kind { KILN_INT, KILN_FLOAT, KILN_BOOL, KILN_TEXT } kiln_kind;

typedef struct kiln_value {
    kiln_kind kind;
    union {
        int64_t i;        /* KILN_INT, KILN_BOOL (0 or 1) */
        double f;         /* KILN_FLOAT */
        const char *text; /* KILN_TEXT: referenced */
    } as;
} kiln_value;

typedef struct kiln_setting {
    const char *name;
    kiln_value value;
} kiln_setting;

/* Element types of buffers and arrays. X(name, bytes, numpy code) */
#define KILN_TYPE_MAP(X)                                                                                               \
    X(i8, 1, "i1")                                                                                                     \
    X(u8, 1, "u1")                                                                                                     \
    X(i16, 2, "i2")                                                                                                    \
    X(u16, 2, "u2")                                                                                                    \
    X(i32, 4, "i4")                                                                                                    \
    X(u32, 4, "u4")                                                                                                    \
    X(i64, 8, "i8")                                                                                                    \
    X(u64, 8, "u8")                                                                                                    \
    X(f16, 2, "f2")                                                                                                    \
    X(f32, 4, "f4")                                                                                                    \
    X(f64, 8, "f8")
typedef enum kiln_type {
#define KILN_X(name, bytes, code) KILN_##name,
    KILN_TYPE_MAP(KILN_X)
#undef KILN_X
        KILN_TYPE_COUNT
} kiln_type;

#define KILN_MAX_DIMS 8
/* A dense row-major array in host memory. */
typedef struct kiln_array {
    kiln_type type;
    int dims; /* 0: a scalar */
    uint64_t shape[KILN_MAX_DIMS];
    void *data;
} kiln_array;

/* ---- host functions ---------------------------------------------------------------------------------------- */

/* A call of a host function: what the spec gave it, and where its results go. */
typedef struct kiln_call kiln_call;

/* Arguments by name. They fail (and note why for the spec's author) if the argument is missing or of another kind,
 * unless `fallback` is not NULL and the argument is missing. KILN_ERROR_ARGUMENT, noted too: a pointer is NULL. */
KILN_API kiln_status kiln_call_int(kiln_call *call, const char *name, const int64_t *fallback, int64_t *value);
KILN_API kiln_status kiln_call_float(kiln_call *call, const char *name, const double *fallback, double *value);
KILN_API kiln_status kiln_call_text(kiln_call *call, const char *name, const char *fallback, const char **value);
/* An array argument: read it, or for an output write it in place. Never NULL data unless it has no elements. */
KILN_API kiln_status kiln_call_array(kiln_call *call, const char *name, const kiln_array **array);
KILN_API kiln_status kiln_call_output(kiln_call *call, const char *name, kiln_array **array);
/* Opens a file that the spec names, under the rules of what a spec may read; the resolved path, owned by the call. */
KILN_API kiln_status kiln_call_file(kiln_call *call, const char *name, const char **path);
/* Exports for `inputs:`: a scalar, or an array made by kiln (zeroed) that the function fills. Names may have dots. */
KILN_API kiln_status kiln_call_export_int(kiln_call *call, const char *name, int64_t value);
KILN_API kiln_status kiln_call_export_float(kiln_call *call, const char *name, double value);
KILN_API kiln_status kiln_call_export_array(kiln_call *call, const char *name, kiln_type type, int dims,
                                            const uint64_t *shape, kiln_array **array);
/* Notes why the function failed and returns KILN_ERROR_HOST_FUNCTION. */
KILN_API kiln_status kiln_call_fail(kiln_call *call, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

typedef kiln_status (*kiln_host_fn)(void *user, kiln_call *call);

#define KILN_HOST_REFERENCE 1u /* may stand in verify: {host: NAME}: reads the buffers, writes the expected outputs */
#define KILN_HOST_INPUT 2u     /* may stand in inputs: */
#define KILN_HOST_STEP 4u      /* may stand in steps: */

/* Makes `function` callable from specs of this engine as `name`. Call it before the specs are loaded. `user` is
 * referenced. The function may be called from any thread that uses the engine, and must not call the engine.
 * A reference gets every buffer and size of the spec as arguments under its own name. */
KILN_API kiln_status kiln_register_host(kiln_engine *engine, const char *name, unsigned uses, kiln_host_fn function,
                                        void *user, kiln_error **error);

/* ---- specs ------------------------------------------------------------------------------------------------- */

typedef struct kiln_spec kiln_spec;

/* Loads a spec: a path, or a name that is looked up as NAME.yaml in the search path. */
KILN_API kiln_status kiln_spec_load(kiln_engine *engine, const char *path_or_name, kiln_spec **spec,
                                    kiln_error **error);
/* The same from memory. `name` stands in messages, and its folder is where sources and files are looked for. */
KILN_API kiln_status kiln_spec_parse(kiln_engine *engine, const char *text, size_t length, const char *name,
                                     kiln_spec **spec, kiln_error **error);
KILN_API void kiln_spec_free(kiln_spec *spec); /* NULL is fine */

KILN_API const char *kiln_spec_name(const kiln_spec *spec);
KILN_API const char *kiln_spec_title(const kiln_spec *spec);
KILN_API const char *kiln_spec_about(const kiln_spec *spec); /* prose, "" if there is none */
KILN_API const char *kiln_spec_path(const kiln_spec *spec);

KILN_API size_t kiln_spec_variant_count(const kiln_spec *spec);
KILN_API const char *kiln_spec_variant_name(const kiln_spec *spec, size_t variant);
KILN_API const char *kiln_spec_variant_about(const kiln_spec *spec, size_t variant);
/* 1: may be called the best. 0: it is there to compare with (a bound, a pattern) and does not do the spec's work. */
KILN_API int kiln_spec_variant_contender(const kiln_spec *spec, size_t variant);
/* The index of the one that is taken where none is named: the first contender. */
KILN_API size_t kiln_spec_variant_first(const kiln_spec *spec);
/* The index of a variant, or -1. */
KILN_API int kiln_spec_variant_find(const kiln_spec *spec, const char *name);

typedef struct kiln_param_info {
    const char *name;
    size_t count;
    const kiln_value *values;
    size_t initial; /* index of the default value */
} kiln_param_info;
KILN_API size_t kiln_spec_param_count(const kiln_spec *spec, size_t variant);
KILN_API void kiln_spec_param(const kiln_spec *spec, size_t variant, size_t param, kiln_param_info *info);
KILN_API size_t kiln_spec_constraint_count(const kiln_spec *spec, size_t variant);
KILN_API const char *kiln_spec_constraint(const kiln_spec *spec, size_t variant, size_t constraint);

typedef struct kiln_size_set {
    const char *name; /* "default", "tiny", ... */
    size_t count;
    const kiln_setting *settings;
} kiln_size_set;
KILN_API size_t kiln_spec_size_set_count(const kiln_spec *spec);
KILN_API void kiln_spec_size_set(const kiln_spec *spec, size_t set, kiln_size_set *info);

typedef struct kiln_buffer_info {
    const char *name;
    kiln_type type;
    const char *shape; /* as written: "[M, N]" */
    int output;
    const char *type_text; /* NULL, or the expression that chooses the type; `type` says nothing then */
} kiln_buffer_info;
KILN_API size_t kiln_spec_buffer_count(const kiln_spec *spec);
KILN_API void kiln_spec_buffer(const kiln_spec *spec, size_t buffer, kiln_buffer_info *info);

/* The specs of the search path, by name. The callback's strings live for the call; return nonzero to be called no more. */
typedef int (*kiln_list_fn)(void *user, const char *name, const char *title, const char *path);
KILN_API kiln_status kiln_spec_list(kiln_engine *engine, kiln_list_fn each, void *user, kiln_error **error);

/* ---- the keys of the spec format --------------------------------------------------------------------------- */

typedef enum kiln_spec_key_need {
    KILN_KEY_OPTIONAL,
    KILN_KEY_REQUIRED,
    KILN_KEY_ONE_OF, /* exactly one of the keys of its mapping that have this */
    KILN_KEY_ANY     /* `name` stands for every other key */
} kiln_spec_key_need;
typedef struct kiln_spec_key_info {
    const char *mapping;       /* where it stands: "spec", "launch", ... */
    const char *mapping_about; /* one line, the same for all keys of the mapping; so is */
    const char *mapping_rule;  /* which of its keys go together: a JSON schema that the mapping meets too */
    const char *name;          /* "grid" */
    kiln_spec_key_need need;
    const char *value;   /* what stands behind it: "expression", "list of steps" */
    const char *schema;  /* the same as a JSON schema, in which the mapping NAME is #/$defs/NAME */
    const char *about;   /* one line */
    const char *changes; /* what changes with it, and so, which samples of a store are not reused: "code", ... */
} kiln_spec_key_info;
/* The keys by number, those of a mapping one after the other; NULL past the last. */
KILN_API const kiln_spec_key_info *kiln_spec_key(size_t number);

/* ---- a choice: which variant, which configuration, which sizes ---------------------------------------------- */

/* Zero means: the first contender, each param's default, the first size set (`tiny` on the simulator). Referenced
 * for the duration of the call it is passed to. */
typedef struct kiln_choice {
    const char *variant;
    const kiln_setting *params; /* any subset, by name */
    size_t param_count;
    const char *size_set;
    const kiln_setting *sizes; /* override single sizes of the set, by name */
    size_t size_count;
} kiln_choice;

/* ---- plans: compiled, bound, launched ----------------------------------------------------------------------- */

typedef struct kiln_plan kiln_plan;

/* Compiles (or takes from the cache) and loads what `choice` needs on the engine's device. Allocates no buffers.
 * KILN_ERROR_CONSTRAINT where the configuration breaks a constraint. The spec is referenced. */
KILN_API kiln_status kiln_plan_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                    kiln_plan **plan, kiln_error **error);
KILN_API void kiln_plan_close(kiln_plan *plan); /* NULL is fine. Frees engine-made buffers, never bound ones. */

/* Uses the caller's device memory for a buffer. Referenced; `bytes` is checked against the buffer's size. */
KILN_API kiln_status kiln_plan_bind(kiln_plan *plan, const char *buffer, CUdeviceptr pointer, size_t bytes,
                                    kiln_error **error);
/* Changes sizes of an open plan. Compiles again only where a size is baked into the source. Drops bindings and
 * engine-made buffers whose size changes. */
KILN_API kiln_status kiln_plan_resize(kiln_plan *plan, const kiln_setting *sizes, size_t count, kiln_error **error);
/* The size in bytes of a buffer of the plan. */
KILN_API kiln_status kiln_plan_buffer_bytes(const kiln_plan *plan, const char *buffer, uint64_t *bytes,
                                            kiln_error **error);
/* The device pointer of a buffer; allocates and fills engine-made buffers that are not there yet. */
KILN_API kiln_status kiln_plan_buffer(kiln_plan *plan, const char *buffer, CUdeviceptr *pointer, kiln_error **error);
/* Copies between the host and a buffer of the plan, on the plan's context, synchronously; bytes must be its size. */
KILN_API kiln_status kiln_plan_write(kiln_plan *plan, const char *buffer, const void *data, size_t bytes,
                                     kiln_error **error);
KILN_API kiln_status kiln_plan_read(kiln_plan *plan, const char *buffer, void *data, size_t bytes, kiln_error **error);

/* Enqueues the variant's steps on `stream` (NULL: the default stream) and returns. Variants with host steps or
 * data-dependent loops synchronise the stream inside. before_each is not run: that is kiln_plan_reset(). */
KILN_API kiln_status kiln_plan_launch(kiln_plan *plan, CUstream stream, kiln_error **error);
KILN_API kiln_status kiln_plan_reset(kiln_plan *plan, CUstream stream, kiln_error **error);

typedef struct kiln_kernel_info {
    const char *name; /* as the spec names it */
    CUfunction function;
    unsigned grid[3], block[3]; /* of its first launch in the plan */
    unsigned dynamic_shared;    /* bytes */
    int from_cache;             /* its code came from the disk cache */
} kiln_kernel_info;
KILN_API size_t kiln_plan_kernel_count(const kiln_plan *plan);
KILN_API void kiln_plan_kernel(const kiln_plan *plan, size_t kernel, kiln_kernel_info *info);

/* ---- capture: a launch written down as a problem of its own ----------------------------------------------------
 *
 * A captured launch is a folder, FOLDER/SPEC-000 (-001, ...), with a spec that `kiln tune FOLDER/SPEC-000/SPEC.yaml` runs
 * as it stands: the sizes as they were, the buffers' contents before the launch as .npy files, what the outputs were
 * after it as what they are compared with, sources and headers, the configuration as the defaults, every variant and
 * every param that can still be varied. engine/plan/capture/CAPTURE.md says what is written, and when. What is captured are
 * launches of plans, not those of other CUDA code. A captured launch is waited for; without a capture a launch costs
 * one comparison more. */

typedef struct kiln_capture_options { /* zero-initialise, set `size`; every zero field means its default */
    size_t size;                      /* sizeof(kiln_capture_options) */
    const char *what;                 /* the name of a kernel (of a template also without its arguments) or of a spec;
                                       NULL or "*": any */
    const char *folder;               /* made where it is missing; NULL: $KILN_CAPTURE_DIR, else "kiln-capture" */
    unsigned count;                   /* how many launches; 0: 1 */
    uint64_t limit; /* bytes of contents that a capture may have; 0: $KILN_CAPTURE_LIMIT, else 4 GiB */
} kiln_capture_options;

/* The next `count` calls of kiln_plan_launch() on any plan of the engine that launch `what` are written down; NULL ends
 * that. The environment asks for the same: KILN_CAPTURE=WHAT or WHAT:COUNT, where WHAT may be '*', is looked at when the
 * engine is opened. Where a launch cannot be written down, a warning in the log says why, and it goes on. From any
 * thread. */
KILN_API kiln_status kiln_capture(kiln_engine *engine, const kiln_capture_options *options, kiln_error **error);
/* The next launch of this plan, or the checked run of its next kiln_plan_run(), is written down below `folder` (NULL: as
 * above), and fails where that cannot be done. */
KILN_API kiln_status kiln_plan_capture(kiln_plan *plan, const char *folder, kiln_error **error);
/* The folder of this plan's last captured launch; NULL: none. Lives until the next one. */
KILN_API const char *kiln_plan_captured(const kiln_plan *plan);

/* ---- run: fill, launch, verify, measure ---------------------------------------------------------------------- */

/* A finding of the checks of the simulated device; kiln_sim.h has its members. */
typedef struct kiln_check_finding kiln_check_finding;
/* Return nonzero to be called no more. */
typedef int (*kiln_check_fn)(void *user, const kiln_check_finding *finding);

typedef struct kiln_file_binding {
    const char *buffer;
    const char *path; /* .npy */
} kiln_file_binding;

#define KILN_RUN_NO_VERIFY 1u
#define KILN_RUN_NO_MEASURE 2u
#define KILN_RUN_KEEP_L2 4u  /* never flush the L2 between repetitions */
#define KILN_RUN_FLUSH_L2 8u /* always flush; default: where the buffers fit in it */
#define KILN_RUN_CHECK                                                                                                 \
    16u /* the launches are checked (KILN_CHECK_MAP), and `check` is called with what was found;
                                   KILN_ERROR_UNSUPPORTED on a GPU. An access that would fault is found and skipped, so
                                   that one run finds all; the answer may then be wrong */
#define KILN_RUN_ENERGY                                                                                                \
    32u /* measure energy too, where the GPU has a counter of it: about a second more,
                               because the counter moves some ten times a second */

typedef struct kiln_run_options {
    size_t size; /* sizeof(kiln_run_options) */
    unsigned flags;
    double budget;    /* seconds to measure for at most; 0: 1 on a GPU, one repetition on the simulator */
    double precision; /* half-width of the median's 95 % interval to stop at, relative; 0: 0.01 */
    unsigned min_repetitions, max_repetitions; /* 0: 7 (on the simulator 1) and 1000; at most 1,000,000 */
    const kiln_file_binding *inputs;
    size_t input_count;
    const kiln_file_binding *outputs; /* written after the verified run */
    size_t output_count;
    kiln_check_fn check; /* with KILN_RUN_CHECK: called in the calling thread when the run is over, also
                            where it failed, with each finding in the order it was found in. Its strings
                            live for the call */
    void *check_user;
    double stop_early_above;  /* seconds; 0: never. Measuring ends early where the configuration is sure to
                                take longer than that: engine/plan/README.md says when. The answer is
                                checked all the same, and the result says `stopped_early` */
    double sample_timeout;    /* seconds of wall time that the configuration may take from its first launch on;
                              0: 60, and twice the budget, and four times the first run for each of
                              min_repetitions; below 0: no limit. Then KILN_ERROR_TIMEOUT. A simulated
                              kernel is ended, and the message says in which loop it was; a GPU's goes on
                              until the process ends: the engine is of no more use then, and the process
                              should end soon. Where the steps run a reference, it has the same time for
                              itself */
    const volatile int *stop; /* NULL, or what ends the run with KILN_ERROR_INTERRUPTED when it is no longer 0:
                                 a signal handler or another thread may set it. A simulated kernel ends at once
                                 and its context stays whole; one on a GPU is waited for, for a second.
                                 Referenced for the call */
} kiln_run_options;

/* What held a GPU's clocks down while it was measured. X(name, value, text) */
#define KILN_THROTTLE_MAP(X)                                                                                           \
    X(POWER, 1u, "power limit")                                                                                        \
    X(THERMAL, 2u, "temperature")                                                                                      \
    X(HARDWARE, 4u, "hardware slowdown")                                                                               \
    X(SETTING, 8u, "clock setting")
enum {
#define KILN_X(name, value, text) KILN_THROTTLE_##name = value,
    KILN_THROTTLE_MAP(KILN_X)
#undef KILN_X
};

/* The fields of a result, each once. The struct, a runner's answer, the columns of stores and CSV files and the keys of
 * JSON follow from these rows. X(kind, name, unit, text); unit "": none. KILN_FIELD_<kind>: its C type. FLAG is 0 or 1;
 * SECONDS is valid only where measured or estimated is 1; KNOWN is 0 where it is not known.
 * A store keeps MAP_1 since version 1 of its schema and MAP_2 since version 2; it does not keep MAP_NOT_KEPT. A new
 * field goes into MAP_NOT_KEPT, or into a list of its own with a new version of the schema (engine/store/store.h). */
#define KILN_RESULT_MAP(X) KILN_RESULT_MAP_1(X) KILN_RESULT_MAP_NOT_KEPT(X) KILN_RESULT_MAP_2(X)
#define KILN_RESULT_MAP_1(X)                                                                                           \
    X(FLAG, verified, "", "1: compared and right; 0: nothing to compare with, or told not to")                         \
    X(FLAG, measured, "", "1: seconds is a measurement on a GPU")                                                      \
    X(FLAG, estimated, "", "1: seconds is an estimate of the simulator's model, never a measurement")                  \
    X(SECONDS, seconds, "s", "the median of the repetitions; estimated: of one")                                       \
    X(SECONDS, seconds_low, "s", "the lower end of its 95 % confidence interval")                                      \
    X(SECONDS, seconds_high, "s", "the upper end of its 95 % confidence interval")                                     \
    X(COUNT, repetitions, "", "how many were measured")                                                                \
    X(REAL, host_seconds, "s", "wall time of one run on the simulator; 0 on a GPU")                                    \
    X(REAL, flops, "", "the spec's count for these sizes; 0: none given")                                              \
    X(REAL, bytes, "bytes", "the spec's count for these sizes; 0: none given")                                         \
    X(REAL, roofline, "", "share of the bound that these counts and the device's peaks give, 0..1")                    \
    X(REAL, worst_error, "", "largest |got - want| / (atol + rtol |want|) over all verified outputs")                  \
    X(NANOSECONDS, compile_ns, "ns", "spent compiling; 0 where all came from the cache")
#define KILN_RESULT_MAP_NOT_KEPT(X)                                                                                    \
    X(COUNT, cache_hits, "", "how much of the code came from the cache")                                               \
    X(COUNT, cache_misses, "", "how much of the code was compiled")
/* From clock_hz on: of the device while it was measured, through NVML (libnvidia-ml.so.1); 0 where that is missing or
 * does not tell. */
#define KILN_RESULT_MAP_2(X)                                                                                           \
    X(FLAG, stopped_early, "", "1: clearly slower than stop_early_above, so `seconds` is of fewer repetitions")        \
    X(MICROSECONDS, finals, "us since 1970",                                                                           \
      "when the finals began that `seconds` is from, the same for all that "                                           \
      "took part; 0: it was not measured again")                                                                       \
    X(KNOWN, first_seconds, "s", "what was measured before those finals; 0: none")                                     \
    X(KNOWN, clock_hz, "Hz", "of the SMs: the mean of what was seen between repetitions")                              \
    X(KNOWN, memory_clock_hz, "Hz", "of the memory: the mean of what was seen between repetitions")                    \
    X(THROTTLE, throttle, "KILN_THROTTLE_...", "all that was seen")                                                    \
    X(KNOWN, temperature, "degrees Celsius", "of the GPU")                                                             \
    X(KNOWN, power_watts, "W",                                                                                         \
      "of the board: with KILN_RUN_ENERGY the mean while only the steps ran; else what the "                           \
      "driver says at the end, which may be a mean over the last second")                                              \
    X(KNOWN, energy_joules, "J", "of the board, a repetition, with what it takes when idle; with KILN_RUN_ENERGY")

#define KILN_FIELD_FLAG int
#define KILN_FIELD_COUNT unsigned
#define KILN_FIELD_THROTTLE unsigned
#define KILN_FIELD_REAL double
#define KILN_FIELD_SECONDS double
#define KILN_FIELD_KNOWN double
#define KILN_FIELD_NANOSECONDS uint64_t
#define KILN_FIELD_MICROSECONDS int64_t
#define KILN_FIELD_TEXT const char *
typedef struct kiln_result {
#define KILN_X(kind, name, unit, text) KILN_FIELD_##kind name;
    KILN_RESULT_MAP(KILN_X)
#undef KILN_X
} kiln_result;

/* options and result may be NULL. `*result` is the plan's, until its next run. */
KILN_API kiln_status kiln_plan_run(kiln_plan *plan, const kiln_run_options *options, const kiln_result **result,
                                   kiln_error **error);

/* ---- inspect: what the compiler made, without a device ------------------------------------------------------- */

typedef struct kiln_inspection kiln_inspection;

typedef struct kiln_inspected_kernel {
    const char *name, *symbol; /* as the spec names it; as the module does */
    int registers;             /* a thread */
    uint64_t static_shared, dynamic_shared, local_bytes, constant_bytes;
    int64_t spill_store_bytes, spill_load_bytes; /* a thread, as ptxas counts them; -1: it did not say */
    unsigned block[3];
    int blocks_per_sm;
    double occupancy;       /* resident warps over the most an SM holds */
    const char *limited_by; /* "registers", "shared memory", "threads", "blocks" */
} kiln_inspected_kernel;

/* Compiles `choice` for `arch` ("sm_90"; NULL: the engine's device). */
KILN_API kiln_status kiln_inspect(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                  const char *arch, kiln_inspection **inspection, kiln_error **error);
/* How many blocks of so many threads an SM of `arch` holds, each thread with so many registers and each block with so
 * many bytes of shared memory. */
typedef struct kiln_occupancy_info {
    int blocks_per_sm;
    double occupancy;
    const char *limited_by;
} kiln_occupancy_info;
KILN_API kiln_status kiln_occupancy(kiln_engine *engine, const char *arch, unsigned threads, int registers,
                                    uint64_t shared, kiln_occupancy_info *info, kiln_error **error);
KILN_API void kiln_inspection_free(kiln_inspection *inspection);
KILN_API const char *kiln_inspection_arch(const kiln_inspection *inspection);
KILN_API const char *kiln_inspection_source(const kiln_inspection *inspection);
KILN_API const char *kiln_inspection_ptx(const kiln_inspection *inspection);
KILN_API const void *kiln_inspection_cubin(const kiln_inspection *inspection, size_t *bytes);
KILN_API const char *kiln_inspection_log(const kiln_inspection *inspection);
KILN_API size_t kiln_inspection_kernel_count(const kiln_inspection *inspection);
KILN_API const kiln_inspected_kernel *kiln_inspection_kernel(const kiln_inspection *inspection, size_t kernel);

/* ---- the disk cache ------------------------------------------------------------------------------------------- */

typedef struct kiln_cache_entry {
    const char *id;     /* 32 hexadecimal digits */
    const char *source; /* the source's name */
    const char *arch;
    const char *compiler; /* "nvrtc 13.0" */
    const char *options;  /* joined by spaces */
    uint64_t bytes;
    int64_t used; /* seconds since 1970, last use */
    int intact;   /* only set by verify: checksum and key agree */
} kiln_cache_entry;
/* Return nonzero to be called no more. */
typedef int (*kiln_cache_fn)(void *user, const kiln_cache_entry *entry);

KILN_API const char *kiln_cache_dir(kiln_engine *engine); /* NULL where the cache is off */
KILN_API kiln_status kiln_cache_list(kiln_engine *engine, kiln_cache_fn each, void *user, kiln_error **error);
/* Checks every entry and removes the damaged ones; `each` is called for each that was looked at; where
 * it ends the visit, the rest is not checked. */
KILN_API kiln_status kiln_cache_verify(kiln_engine *engine, kiln_cache_fn each, void *user, kiln_error **error);
/* Calls back once with the entry and its PTX; `id` may be any unique prefix. What the callback returns is not looked at. */
typedef int (*kiln_cache_show_fn)(void *user, const kiln_cache_entry *entry, const char *source_text, const char *ptx,
                                  size_t cubin_bytes);
KILN_API kiln_status kiln_cache_show(kiln_engine *engine, const char *id, kiln_cache_show_fn show, void *user,
                                     kiln_error **error);
/* Removes least recently used entries until at most `max_bytes` are left. *removed, *kept_bytes: each may be NULL. */
KILN_API kiln_status kiln_cache_gc(kiln_engine *engine, uint64_t max_bytes, uint64_t *removed, uint64_t *kept_bytes,
                                   kiln_error **error);
KILN_API kiln_status kiln_cache_clear(kiln_engine *engine, uint64_t *removed, kiln_error **error);

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* Writes a whole file as Kiln writes all of its own: to a temporary file in the same folder, synced, then renamed, so
 * that no failure damages an older file. Refuses whatever is there and no regular file (a device, a FIFO, a link); an
 * older file's mode is kept. Where the size of files is limited (RLIMIT_FSIZE), writing ends a process that does not
 * ignore SIGXFSZ: the library sets no signal handlers. */
KILN_API kiln_status kiln_file_write(const char *path, const void *data, size_t size, kiln_error **error);

KILN_API const char *kiln_version(void);

#ifdef __cplusplus
}
#endif
#endif
