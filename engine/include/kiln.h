/* kiln.h - a runtime-compiled CUDA kernel engine: YAML problem specs in, tuned launches out.
 *
 * The objects, and who owns them
 *   kiln_engine   a device (GPU or simulated), a compiler, a cache. Everything else is made from one and must be
 *                 freed before it.
 *   kiln_spec     a checked problem spec. Immutable once loaded.
 *   kiln_plan     one variant of a spec at one configuration and one set of sizes: compiled, ready to launch.
 *   kiln_tuning   the outcome of a sweep.
 *   kiln_recording  a search space that was measured before, read from a file. Immutable once loaded.
 *   kiln_store    a database of samples.
 *   kiln_knowledge  best-known configurations, out of a store or a text file. Immutable once made.
 *
 * Threads
 *   A kiln_engine and a kiln_spec may be used by many threads at once. A kiln_plan, a kiln_tuning and a kiln_error
 *   belong to one thread at a time; two plans of one engine may be used by two threads at the same time.
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
 *   header can have are KILN_ERROR_ARGUMENT. A struct inside another (`run`) keeps its place: its size is 0 or the whole.
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
#define KILN_STATUS_MAP(X)                                                                                            \
    X(OK, 0, "success", 0)                                                                                            \
    X(ERROR_MEMORY, 1, "out of host memory", 70)                                                                      \
    X(ERROR_ARGUMENT, 2, "a bad argument", 2)                                                                         \
    X(ERROR_SPEC, 3, "an error in a spec", 3)                                                                         \
    X(ERROR_NOT_FOUND, 4, "nothing of that name", 4)                                                                  \
    X(ERROR_IO, 5, "a file could not be read or written", 5)                                                          \
    X(ERROR_REFUSED, 6, "refused for safety", 6)                                                                      \
    X(ERROR_NO_DEVICE, 7, "no usable device", 7)                                                                      \
    X(ERROR_NO_COMPILER, 8, "no usable NVRTC", 8)                                                                     \
    X(ERROR_COMPILE, 9, "the kernel does not compile", 9)                                                             \
    X(ERROR_TIMEOUT, 10, "a time limit was reached", 10)                                                              \
    X(ERROR_LAUNCH, 11, "a launch was refused", 11)                                                                   \
    X(ERROR_DEVICE, 12, "the device reported an error", 12)                                                           \
    X(ERROR_DEVICE_MEMORY, 13, "out of device memory", 13)                                                            \
    X(ERROR_WRONG_ANSWER, 14, "the answer is wrong", 14)                                                              \
    X(ERROR_CONSTRAINT, 15, "the configuration is outside the search space", 15)                                      \
    X(ERROR_INTERRUPTED, 16, "interrupted", 130)                                                                      \
    X(ERROR_HOST_FUNCTION, 17, "a host function failed", 17)                                                          \
    X(ERROR_UNSUPPORTED, 18, "not supported", 18)                                                                     \
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

#define KILN_NO_CACHE 1u        /* neither read nor write the disk cache */
#define KILN_READ_ANYWHERE 2u   /* specs may name files outside their own folder and the search path */
#define KILN_NO_WORKERS 4u      /* compile inside this process: unconfined, without limits, and a crash of NVRTC ends it (TRUST.md) */

/* Zero-initialise and set `size`; every zero field means its default. Strings are copied. */
typedef struct kiln_options {
    size_t size;                    /* sizeof(kiln_options) */
    const char *device;             /* "cuda:0", "sim", "sim:PROFILE", "sim:FILE.profile"; NULL: $KILN_DEVICE, else the first GPU, else sim */
    CUcontext context;              /* the caller's context, referenced, never destroyed: the device is its; `device`
                                       then only says whether it is the simulated driver's ("sim") or libcuda's */
    const char *cache_dir;          /* NULL: $KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln */
    const char *search_path;        /* folders of specs and sources, ':' between; before $KILN_PATH and the installed ones */
    const char *worker;             /* the compile worker program; NULL: $KILN_WORKER, else the installed one */
    unsigned jobs;                  /* compile workers at once; 0: one a core */
    unsigned flags;                 /* KILN_NO_CACHE ... */
    double compile_timeout;         /* seconds a single compile may take; 0: 120 */
    uint64_t memory_limit;          /* bytes of buffers a plan may ask for on each side; 0: what device and host have */
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
    char id[32];                    /* "cuda:0", "sim:generic" */
    int simulated;
    int cc_major, cc_minor;
    int sm_count, warp_size, max_threads_per_block, max_threads_per_sm;
    int registers_per_block, registers_per_sm;
    uint64_t shared_per_block;      /* bytes without opting in */
    uint64_t shared_per_block_optin, shared_per_sm;
    uint64_t l2_bytes, memory_bytes;
    double clock_hz, memory_clock_hz;
    int memory_bus_bits;
    double peak_flops;              /* fp32 fused multiply-adds x 2, a second, from cores and clock */
    double peak_bandwidth;          /* bytes a second, from bus width and clock */
    int driver_version;             /* 13000 for 13.0; 0 for the simulated device */
} kiln_device_info;

/* The engine's own device; opens it if it is not open. */
KILN_API kiln_status kiln_engine_device(kiln_engine *engine, kiln_device_info *info, kiln_error **error);
/* Every device of this machine, the simulated ones last. `*count` is in: room in `infos`, out: how many there are. */
KILN_API kiln_status kiln_devices(kiln_engine *engine, kiln_device_info *infos, size_t *count, kiln_error **error);

/* What was found on this machine. One finding a line of `kiln doctor`. */
typedef struct kiln_finding {
    const char *topic;              /* "driver", "nvrtc", "cache", ... */
    int ok;                         /* 0: missing or broken */
    int needed;                     /* 1: nothing works without it; 0: something is poorer */
    const char *found;              /* "libnvrtc.so.13, version 13.0" */
    const char *remedy;             /* what to do, "" if ok */
} kiln_finding;
typedef void (*kiln_finding_fn)(void *user, const kiln_finding *finding);
KILN_API kiln_status kiln_doctor(kiln_engine *engine, kiln_finding_fn report, void *user, kiln_error **error);

/* ---- values ------------------------------------------------------------------------------------------------ */

typedef enum kiln_kind { KILN_INT, KILN_FLOAT, KILN_BOOL, KILN_TEXT } kiln_kind;

typedef struct kiln_value {
    kiln_kind kind;
    union {
        int64_t i;                  /* KILN_INT, KILN_BOOL (0 or 1) */
        double f;                   /* KILN_FLOAT */
        const char *text;           /* KILN_TEXT: referenced */
    } as;
} kiln_value;

typedef struct kiln_setting {
    const char *name;
    kiln_value value;
} kiln_setting;

/* Element types of buffers and arrays. X(name, bytes, numpy code) */
#define KILN_TYPE_MAP(X)                                                                                              \
    X(i8, 1, "i1") X(u8, 1, "u1") X(i16, 2, "i2") X(u16, 2, "u2") X(i32, 4, "i4") X(u32, 4, "u4")                     \
    X(i64, 8, "i8") X(u64, 8, "u8") X(f16, 2, "f2") X(f32, 4, "f4") X(f64, 8, "f8")
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
    int dims;                       /* 0: a scalar */
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
KILN_API kiln_status kiln_spec_load(kiln_engine *engine, const char *path_or_name, kiln_spec **spec, kiln_error **error);
/* The same from memory. `name` stands in messages, and its folder is where sources and files are looked for. */
KILN_API kiln_status kiln_spec_parse(kiln_engine *engine, const char *text, size_t length, const char *name,
                                     kiln_spec **spec, kiln_error **error);
KILN_API void kiln_spec_free(kiln_spec *spec); /* NULL is fine */

KILN_API const char *kiln_spec_name(const kiln_spec *spec);
KILN_API const char *kiln_spec_title(const kiln_spec *spec);
KILN_API const char *kiln_spec_about(const kiln_spec *spec);   /* prose, "" if there is none */
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
    size_t initial;                 /* index of the default value */
} kiln_param_info;
KILN_API size_t kiln_spec_param_count(const kiln_spec *spec, size_t variant);
KILN_API void kiln_spec_param(const kiln_spec *spec, size_t variant, size_t param, kiln_param_info *info);
KILN_API size_t kiln_spec_constraint_count(const kiln_spec *spec, size_t variant);
KILN_API const char *kiln_spec_constraint(const kiln_spec *spec, size_t variant, size_t constraint);

typedef struct kiln_size_set {
    const char *name;               /* "default", "tiny", ... */
    size_t count;
    const kiln_setting *settings;
} kiln_size_set;
KILN_API size_t kiln_spec_size_set_count(const kiln_spec *spec);
KILN_API void kiln_spec_size_set(const kiln_spec *spec, size_t set, kiln_size_set *info);

typedef struct kiln_buffer_info {
    const char *name;
    kiln_type type;
    const char *shape;              /* as written: "[M, N]" */
    int output;
    const char *type_text;          /* NULL, or the expression that chooses the type; `type` says nothing then */
} kiln_buffer_info;
KILN_API size_t kiln_spec_buffer_count(const kiln_spec *spec);
KILN_API void kiln_spec_buffer(const kiln_spec *spec, size_t buffer, kiln_buffer_info *info);

/* The specs of the search path, by name. The callback's strings live for the call. */
typedef void (*kiln_list_fn)(void *user, const char *name, const char *title, const char *path);
KILN_API kiln_status kiln_spec_list(kiln_engine *engine, kiln_list_fn each, void *user, kiln_error **error);

/* ---- a choice: which variant, which configuration, which sizes ---------------------------------------------- */

/* Zero means: the first contender, each param's default, the first size set (`tiny` on the simulator). Referenced
 * for the duration of the call it is passed to. */
typedef struct kiln_choice {
    const char *variant;
    const kiln_setting *params;     /* any subset, by name */
    size_t param_count;
    const char *size_set;
    const kiln_setting *sizes;      /* override single sizes of the set, by name */
    size_t size_count;
} kiln_choice;

typedef struct kiln_space_info {
    uint64_t raw;                   /* configurations before constraints; UINT64_MAX: that many or more */
    uint64_t valid;                 /* after them */
    int counted;                    /* 0: the time was over before, and `valid` is how many there are at least */
} kiln_space_info;

typedef struct kiln_space_options { /* zero-initialise, set `size` */
    size_t size;
    double max_seconds;             /* 0: 5 */
    int (*stop)(void *user);        /* asked now and then; nonzero: end with KILN_ERROR_INTERRUPTED. NULL: nobody is */
    void *user;
} kiln_space_options;

/* The number of configurations; variant NULL: all of the spec. options NULL: the defaults. */
KILN_API kiln_status kiln_space_count(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                      const kiln_space_options *options, kiln_space_info *info, kiln_error **error);
/* The same with the defaults, before and after constraints. KILN_ERROR_TIMEOUT: they could not be counted. */
KILN_API kiln_status kiln_space_size(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                     uint64_t *raw, uint64_t *valid, kiln_error **error);

/* ---- plans: compiled, bound, launched ----------------------------------------------------------------------- */

typedef struct kiln_plan kiln_plan;

/* Compiles (or takes from the cache) and loads what `choice` needs on the engine's device. Allocates no buffers.
 * KILN_ERROR_CONSTRAINT where the configuration breaks a constraint. The spec is referenced. */
KILN_API kiln_status kiln_plan_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                    kiln_plan **plan, kiln_error **error);
KILN_API void kiln_plan_free(kiln_plan *plan); /* NULL is fine. Frees engine-made buffers, never bound ones. */

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
    const char *name;               /* as the spec names it */
    CUfunction function;
    unsigned grid[3], block[3];     /* of its first launch in the plan */
    unsigned dynamic_shared;        /* bytes */
    int from_cache;                 /* its code came from the disk cache */
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
    size_t size;                    /* sizeof(kiln_capture_options) */
    const char *what;               /* the name of a kernel (of a template also without its arguments) or of a spec;
                                       NULL or "*": any */
    const char *folder;             /* made where it is missing; NULL: $KILN_CAPTURE_DIR, else "kiln-capture" */
    unsigned count;                 /* how many launches; 0: 1 */
    uint64_t limit;                 /* bytes of contents that a capture may have; 0: $KILN_CAPTURE_LIMIT, else 4 GiB */
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

/* ---- check: the simulated device looks for what a GPU would not tell --------------------------------------------- */

/* X(name, text). What is found; engine/sim/check/CHECKS.md says what each means and what is not looked for. */
#define KILN_CHECK_MAP(X)                                                                                             \
    X(BOUNDS, "out of bounds") X(MISALIGNED, "misaligned access") X(FREED, "use after free")                          \
    X(BAD_FREE, "invalid free") X(UNINITIALISED, "uninitialised read") X(RACE, "race")                                \
    X(READ_ONLY, "read-only data written") X(BARRIER, "barrier misuse") X(WARP, "undefined warp operation")           \
    X(LEAK, "leak") X(FAULT, "fault")
typedef enum kiln_check_kind {
#define KILN_X(name, text) KILN_CHECK_##name,
    KILN_CHECK_MAP(KILN_X)
#undef KILN_X
    KILN_CHECK_KINDS
} kiln_check_kind;
KILN_API const char *kiln_check_text(kiln_check_kind kind);

/* One side of a finding: an access, a call, a barrier. */
typedef struct kiln_check_side {
    const char *what;               /* "write of 4 bytes"; NULL: there is no such side */
    const char *file;               /* "" where the code tells no lines */
    unsigned line, ptx_line;        /* 0: not known */
    const char *text;               /* of the line, "" where the source is not at hand */
    const char *inlined;            /* "in f, called at a.cu:12", innermost first; "" where nothing was inlined */
    unsigned block[3], thread[3];
    int has_block, has_thread;      /* 0: not known, or several */
} kiln_check_side;

typedef struct kiln_check_finding {
    kiln_check_kind kind;
    int note;                       /* 1: may be meant so, as two threads that write the same value */
    const char *kernel;             /* "" for what the host did */
    const char *message;            /* one sentence */
    kiln_check_side at, other;      /* other: what a race is with, where memory was freed, ... */
    const char *space;              /* "global", "shared", "local"; "" where no memory is meant */
    uint64_t address, bytes;
    const char *allocation;         /* "at offset 64 of an allocation of 256 bytes", ... */
    uint64_t count;                 /* of threads that did the same at the same place */
} kiln_check_finding;
typedef void (*kiln_check_fn)(void *user, const kiln_check_finding *finding);

/* ---- run: fill, launch, verify, measure ---------------------------------------------------------------------- */

typedef struct kiln_file_binding {
    const char *buffer;
    const char *path;               /* .npy */
} kiln_file_binding;

#define KILN_RUN_NO_VERIFY 1u
#define KILN_RUN_NO_MEASURE 2u
#define KILN_RUN_KEEP_L2 4u     /* never flush the L2 between repetitions */
#define KILN_RUN_FLUSH_L2 8u    /* always flush; default: where the buffers fit in it */
#define KILN_RUN_CHECK 16u      /* the launches are checked (KILN_CHECK_MAP), and `check` is called with what was found;
                                   KILN_ERROR_UNSUPPORTED on a GPU. An access that would fault is found and skipped, so
                                   that one run finds all; the answer may then be wrong */
#define KILN_RUN_ENERGY 32u     /* measure energy too, where the GPU has a counter of it: about a second more, because the
                                   counter moves some ten times a second */

typedef struct kiln_run_options {
    size_t size;                    /* sizeof(kiln_run_options) */
    unsigned flags;
    double budget;                  /* seconds to measure for at most; 0: 1 on a GPU, one repetition on the simulator */
    double precision;               /* half-width of the median's 95 % interval to stop at, relative; 0: 0.01 */
    unsigned min_repetitions, max_repetitions; /* 0: 7 (on the simulator 1) and 1000; at most 1,000,000 */
    const kiln_file_binding *inputs;
    size_t input_count;
    const kiln_file_binding *outputs; /* written after the verified run */
    size_t output_count;
    kiln_check_fn check;            /* with KILN_RUN_CHECK: called in the calling thread when the run is over, also where
                                       it failed, with each finding in the order it was found in. Its strings live for
                                       the call */
    void *check_user;
    double give_up_above;           /* seconds; 0: never. Measuring ends early where the configuration is sure to take
                                       longer than that: engine/plan/README.md says when. The answer is checked all the
                                       same, and the result says `stopped_early` */
    double sample_timeout;          /* seconds of wall time that the configuration may take from its first launch on; 0: 60,
                                       and twice the budget, and four times the first run for each of min_repetitions; below
                                       0: no limit. Then KILN_ERROR_TIMEOUT. A simulated kernel is ended, and the message
                                       says in which loop it was; a GPU's goes on until the process ends: the engine is of
                                       no more use then, and the process should end soon. Where the steps run a reference,
                                       it has the same time for itself */
    const volatile int *stop;       /* NULL, or what ends the run with KILN_ERROR_INTERRUPTED when it is no longer 0: a signal
                                       handler or another thread may set it. A simulated kernel ends at once and its context
                                       stays whole; one on a GPU is waited for, for a second. Referenced for the call */
} kiln_run_options;

/* What held a GPU's clocks down while it was measured. X(name, value, text) */
#define KILN_THROTTLE_MAP(X)                                                                                          \
    X(POWER, 1u, "power limit") X(THERMAL, 2u, "temperature") X(HARDWARE, 4u, "hardware slowdown")                    \
    X(SETTING, 8u, "clock setting")
enum {
#define KILN_X(name, value, text) KILN_THROTTLE_##name = value,
    KILN_THROTTLE_MAP(KILN_X)
#undef KILN_X
};

typedef struct kiln_metric { const char *name; double value; } kiln_metric;

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
    X(FLAG, stopped_early, "", "1: clearly slower than give_up_above, so `seconds` is of fewer repetitions")           \
    X(MICROSECONDS, finals, "us since 1970", "when the finals began that `seconds` is from, the same for all that "    \
      "took part; 0: it was not measured again")                                                                       \
    X(KNOWN, first_seconds, "s", "what was measured before those finals; 0: none")                                     \
    X(KNOWN, clock_hz, "Hz", "of the SMs: the mean of what was seen between repetitions")                              \
    X(KNOWN, memory_clock_hz, "Hz", "of the memory: the mean of what was seen between repetitions")                    \
    X(THROTTLE, throttle, "KILN_THROTTLE_...", "all that was seen")                                                    \
    X(KNOWN, temperature, "degrees Celsius", "of the GPU")                                                             \
    X(KNOWN, power_watts, "W", "of the board: with KILN_RUN_ENERGY the mean while only the steps ran; else what the "  \
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

/* options and result may be NULL. */
KILN_API kiln_status kiln_plan_run(kiln_plan *plan, const kiln_run_options *options, kiln_result *result,
                                   kiln_error **error);

/* ---- tune ---------------------------------------------------------------------------------------------------- */

typedef struct kiln_sample {
    const char *variant;
    const kiln_setting *params;
    size_t param_count;
    kiln_status status;             /* KILN_OK, or how it failed */
    const char *message;            /* why it failed, "" if it did not */
    kiln_result result;             /* valid where status is KILN_OK */
    int reused;                     /* 1: not made now but taken from the store */
    const char *device;             /* which one made it, as kiln_device_info.id; "" where it came to none */
    int tied;                       /* 1: the best, or cannot be told apart from it (kiln_tuning_verdict) */
    double at;                      /* seconds from the start of the sweep until it was there */
    const double *objectives;       /* the value of each of the options' objectives; NULL: it failed, or there are none */
    int front;                      /* 1: of several objectives, and no other contender is as good in all and better in
                                       one */
    int contender;                  /* 0: of a variant that is none, and ranked behind those that are; in a sweep of such
                                       variants alone all are */
} kiln_sample;

typedef struct kiln_progress {
    uint64_t done, total;           /* total UINT64_MAX: not known */
    uint64_t failed;
    double elapsed, remaining;      /* seconds; remaining < 0: not known yet */
    const kiln_sample *best;        /* NULL: none yet */
} kiln_progress;

/* Called in the calling thread after each sample, and about ten times a second between them with sample == NULL.
 * Return nonzero to end the sweep with what there is (status KILN_ERROR_INTERRUPTED). */
typedef int (*kiln_tune_fn)(void *user, const kiln_progress *progress, const kiln_sample *sample);

/* Where samples are measured: in this process, or in one that kiln-worker runs, so that a fault of the device, an
 * endless kernel or a crash of the driver costs one sample. That cannot be where the engine has a caller's context,
 * host functions of the application or no worker program, nor where the run has outputs or KILN_RUN_CHECK. */
typedef enum kiln_isolation {
    KILN_ISOLATE_NEVER,             /* here. After a fault, or an endless kernel, a sweep on a GPU ends */
    KILN_ISOLATE_GPU,               /* elsewhere on a GPU, here with a warning if it cannot be; here on the simulator */
    KILN_ISOLATE_ALWAYS             /* elsewhere; an error where it cannot be */
} kiln_isolation;

/* A database that samples are kept in; see below. */
typedef struct kiln_store kiln_store;

#define KILN_TUNE_FRESH 1u      /* make every sample anew; the store is written to all the same */
#define KILN_TUNE_NO_GIVE_UP 2u /* measure clearly slower configurations as long as the others, too. The sweep sets
                                   give_up_above of `run` itself */
#define KILN_TUNE_NO_FINALS 4u  /* the fastest are not measured again */

typedef struct kiln_tune_options {
    size_t size;                    /* sizeof(kiln_tune_options) */
    const char *const *variants;    /* NULL: all */
    size_t variant_count;
    const kiln_setting *params;     /* fixes these params where a variant has them */
    size_t param_count;
    const char *size_set;
    const kiln_setting *sizes;
    size_t size_count;
    kiln_run_options run;
    uint64_t max_configurations;    /* to make anew: those taken from the store come on top; 0: all */
    double max_seconds;             /* 0: no limit */
    kiln_tune_fn callback;
    void *user;
    kiln_isolation isolation;
    double sample_timeout;          /* seconds a sample may take from its first launch on; 0: that of `run`. Where that is 0,
                                       too, a sample measured elsewhere may take 60 and, once one has worked, 5 and 50 times
                                       what the shortest took, if that is less; either with twice the budget added. Below
                                       0: no limit */
    kiln_store *store;              /* where samples are written as they are made and taken from where all that determined
                                       them is unchanged; NULL: nowhere. Referenced for the call */
    unsigned flags;                 /* KILN_TUNE_FRESH ... */
    const char *strategy;           /* by name (kiln_strategy_name); NULL: everything in order ("exhaustive") where
                                       there is no budget or with KILN_RUN_CHECK, else kiln_strategy_name(0) */
    uint64_t seed;                  /* the same seed and the same answers in the same order search the same way */
    const char *const *devices;     /* measure on each of these at once, in a process each, whatever `isolation`
                                       says; named as in kiln_options. They must be of the engine's device's model. A
                                       GPU may stand there once, a simulated device may be repeated. NULL: on the
                                       engine's device */
    size_t device_count;
    unsigned finalists;             /* how many of the fastest are measured again, for at most 7 % of the sweep's time or
                                       half a second, after it; 0: 5 on a GPU, none elsewhere; at most 16 */
    double max_roofline;            /* end when a sample has come so near the roofline, 0..1; 0: never */
    uint64_t stagnation;            /* end when so many samples, one after the other, were no better; 0: never */
    double improvement;             /* better by less than this share of the best is no better; 0: 0.01 */
    const char *const *objectives;  /* what to look for; NULL: "time". Each is an expression of specs (engine/expr/README.md)
                                       over what was measured (time in seconds, gflops, gbs, roofline, energy in joules and
                                       power in watts, which imply KILN_RUN_ENERGY, compile in seconds), the spec's
                                       metrics, params, lets, sizes and device.*, with "min:" or "max:" before it;
                                       without, gflops, gbs and roofline are to be large, and all else small. The ranking
                                       goes by the first; a strategy searches for the least geometric mean of them, those
                                       to be large counting as 1 / value */
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
    uint64_t reused;                /* of the configurations: taken from the store */
    uint64_t stopped_early;         /* clearly slower than the best at the time */
    uint64_t throttled;             /* measured while power, temperature or hardware held the clocks down */
    kiln_end end;
    double seconds;                 /* wall time */
    double compile_seconds;         /* wall time for code: the cache, starting compiles, waiting for them */
    double compile_work_seconds;    /* summed over workers */
    double run_seconds;             /* filling, launching, verifying, measuring; summed over devices */
    int uncounted;                  /* 1: the space has too many configurations to count in a short time */
    int sampled;                    /* 1: so that they were drawn at random, not all of them equally likely */
} kiln_tuning_totals;
KILN_API void kiln_tuning_sum(const kiln_tuning *tuning, kiln_tuning_totals *totals);

/* How sure it is that the first is the best. The fastest of a sweep (finalists) are measured again, in turn and in many
 * rounds; they are ranked before all others then, by the median of the rounds (engine/tune/README.md). */
typedef struct kiln_verdict {
    size_t finalists;               /* that were measured again; 1: no other came near; 0: there were no finals */
    size_t tied;                    /* how many cannot be told apart from the best, with itself; 0: it is not known */
    unsigned rounds;                /* 0: nothing was measured again */
    double margin;                  /* relative: by less than that nothing is called slower */
    double near;                    /* relative: finalists are at most so much slower than the best of the sweep */
    double seconds;                 /* wall time that it took; it is not part of kiln_tuning_totals */
    int reused;                     /* 1: finals of an earlier sweep, whose samples were all taken from the store */
    const char *why_not;            /* "", or why nothing was measured again: "estimates are the same every time" */
} kiln_verdict;
KILN_API void kiln_tuning_verdict(const kiln_tuning *tuning, kiln_verdict *verdict);

/* ---- recorded spaces: searching without a device ---------------------------------------------------------------- */

/* Strategies by number; NULL past the last. The first is the default. */
KILN_API const char *kiln_strategy_name(size_t number);
KILN_API const char *kiln_strategy_about(size_t number);

/* Files that samples are kept in. X(NAME, word, what it is) */
#define KILN_FORMAT_MAP(X)                                                                                            \
    X(AUTO, "auto", "by the name of the file") X(CSV, "csv", "comma-separated values")                                \
    X(T4, "t4", "T4 results") X(KERNEL_TUNER, "kernel-tuner", "Kernel Tuner's cache file")
typedef enum kiln_format {
#define KILN_X(name, word, text) KILN_FORMAT_##name,
    KILN_FORMAT_MAP(KILN_X)
#undef KILN_X
    KILN_FORMAT_COUNT
} kiln_format;
/* The format of a word; -1: none. */
KILN_API int kiln_format_find(const char *word);

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
    const char *path, *format;      /* "Kernel Tuner", "T4" */
    const char *kernel, *device;    /* "" where the file does not say */
    int cut_off;                    /* the file ends early: what is there was read */
    size_t params, configurations, failed;
    double optimum, median, worst;  /* seconds, of those that ran; 0 where none did */
    double mean_cost;               /* seconds that trying one took: compiling, checking, measuring */
    double budget;                  /* seconds in which random search comes within 5 % of the way from the optimum to
                                       the median; 0 where strategies cannot be compared */
    size_t draws;                   /* the configurations that it tries in that time */
} kiln_recording_info;
KILN_API void kiln_recording_describe(const kiln_recording *recording, kiln_recording_info *info);

typedef struct kiln_replay_options { /* zero-initialise, set `size`; every zero field means its default */
    size_t size;                    /* sizeof(kiln_replay_options) */
    const char *strategy;           /* NULL: the default */
    uint64_t seed;
    uint64_t max_configurations;    /* 0: no limit */
    double max_seconds;             /* on the replay's clock; 0: no limit */
} kiln_replay_options;

typedef struct kiln_replay_step {
    uint64_t number;                /* from 1 */
    double clock;                   /* seconds that the search has taken, this configuration's cost with it */
    double seconds;                 /* its time; 0: it failed */
    const char *failure;            /* the file's word for why, NULL */
    int best;                       /* the best so far */
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

/* ---- the store: samples kept -------------------------------------------------------------------------------------- */

#define KILN_STORE_READ 1u      /* only read: nothing is made, nothing moved; works on read-only media */

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
    int reusable;                   /* 0: it failed in a way that may differ the next time, and is tried again */
    kiln_result result;
    const double *times;            /* seconds of each repetition, in order; on the simulated device of the host's time */
    size_t time_count;
    int64_t made;                   /* microseconds since 1970 */
} kiln_record;
/* Return nonzero to be shown no more. */
typedef int (*kiln_record_fn)(void *user, const kiln_record *record);

/* Which records; NULL and 0 mean any. */
typedef struct kiln_store_filter {
    size_t size;                    /* sizeof(kiln_store_filter) */
    const char *spec, *variant;
    const char *device;             /* a part of the name in any case, or the id, or the uuid */
    int failed;                     /* 1: only failed ones; -1: only others */
    int64_t before;                 /* microseconds since 1970: only those made earlier */
    const kiln_setting *sizes;      /* only those made at these sizes, and any others that there may be */
    size_t size_count;
} kiln_store_filter;

/* In the order in which they were made. `filter` may be NULL. The callback must not use the store. */
KILN_API kiln_status kiln_store_list(kiln_store *store, const kiln_store_filter *filter, kiln_record_fn each, void *user,
                                     kiln_error **error);
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
#define KILN_BEST_MAP(X)                                                                                              \
    X(EXACT, "these sizes on this device") X(TUNED, "tuned now") X(NEAREST, "the nearest sizes on this device")       \
    X(OTHER_DEVICE, "another device") X(DEFAULT, "the defaults")
typedef enum kiln_best_from {
#define KILN_X(name, text) KILN_BEST_##name,
    KILN_BEST_MAP(KILN_X)
#undef KILN_X
    KILN_BEST_COUNT
} kiln_best_from;
KILN_API const char *kiln_best_text(kiln_best_from from);

typedef struct kiln_best_options { /* zero-initialise, set `size` */
    size_t size;                    /* sizeof(kiln_best_options) */
    kiln_store *store;              /* looked through if given */
    const kiln_knowledge *knowledge; /* looked through with it: of a configuration that both know the later sample counts */
    /* Only for kiln_plan_open_best(): */
    double tune_seconds;            /* above 0: where these sizes on this device are not known, kiln_tune() for at most so
                                       long first. The samples go into `store`, so that the next call finds them */
    kiln_run_options run;           /* the rest as for kiln_tune(): a nonzero answer of the callback ends the tuning */
    kiln_isolation isolation;
    kiln_tune_fn callback;
    void *user;
} kiln_best_options;

typedef struct kiln_best {
    kiln_best_from from;
    const char *variant;
    const kiln_setting *params;     /* the whole configuration, valid for the sizes asked for on the engine's device */
    size_t param_count;
    const kiln_setting *sizes;      /* those asked for, whole */
    size_t size_count;
    /* Where it was the best; of DEFAULT none of these says anything. */
    const kiln_setting *known_sizes;
    size_t known_size_count;
    const char *device, *cc;        /* "NVIDIA H200", "9.0" */
    double distance;                /* between the sizes: 1 where one of them is doubled (engine/tune/README.md) */
    double seconds;                 /* there */
    int measured, estimated, verified; /* as in kiln_result */
    int64_t made;                   /* microseconds since 1970 */
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

/* ---- the simulated device's instruction set -------------------------------------------------------------------- */

typedef enum kiln_sim_kind {
    KILN_SIM_RUNS,             /* an instruction that the device executes */
    KILN_SIM_REFUSED,          /* one of PTX that it refuses at load, by its name */
    KILN_SIM_REGISTER          /* a special register that can be read */
} kiln_sim_kind;
typedef struct kiln_sim_instruction {
    const char *name;          /* "ld", "mma.sp", "%tid.x" */
    kiln_sim_kind kind;
    const char *const *forms;  /* of RUNS: "rn|rz? ftz? f32 : d0 s0 s0", suffixes and operands; ends with NULL */
    size_t form_count;
} kiln_sim_instruction;
/* Visits all of them, in a fixed order: what runs, what is refused, the special registers. What is visited stays. */
KILN_API void kiln_sim_instructions(void (*visit)(void *user, const kiln_sim_instruction *instruction), void *user);

/* ---- profile: what kernels do, counted on the simulated device ------------------------------------------------ */

/* What kind of instruction (of PTX) it is. X(name, text) */
#define KILN_CLASS_MAP(X)                                                                                             \
    X(fp32_add, "fp32 add") X(fp32_mul, "fp32 mul") X(fp32_fma, "fp32 fma")                                           \
    X(fp64_add, "fp64 add") X(fp64_mul, "fp64 mul") X(fp64_fma, "fp64 fma") X(fp16, "fp16") X(int, "integer")         \
    X(logic, "logic, shift") X(convert, "conversion") X(special, "special function") X(compare, "compare, select")    \
    X(move, "move") X(control, "control") X(load_global, "load global") X(store_global, "store global")               \
    X(load_shared, "load shared") X(store_shared, "store shared") X(load_local, "load local")                         \
    X(store_local, "store local") X(load_const, "load constant") X(load_param, "parameter")                           \
    X(load_generic, "load generic") X(store_generic, "store generic") X(copy_async, "asynchronous copy")              \
    X(atomic, "atomic") X(barrier, "barrier") X(warp, "warp operation") X(tensor, "tensor") X(texture, "texture")     \
    X(other, "other")
typedef enum kiln_class {
#define KILN_X(name, text) KILN_CLASS_##name,
    KILN_CLASS_MAP(KILN_X)
#undef KILN_X
    KILN_CLASS_COUNT
} kiln_class;

/* Counters. A request is one memory instruction of one warp with at least one lane. `lanes` add up to the accesses of
 * threads, `bytes` to what they ask for, `used` to the different bytes among a request's, `sectors` and `lines` to the
 * different 32-byte and 128-byte pieces of memory that a request touches. A wavefront is a pass through the 32 banks of
 * shared memory; with `ideal` of them there were no conflict. `addresses` are the different ones of a request, `serial`
 * the lanes that fall on the one that most of them share. X(name, how it adds up, text). engine/sim/observe/COUNTERS.md has the
 * rules. */
#define KILN_COUNTER_TRAFFIC(X, name, text)                                                                           \
    X(name##_requests, SUM, text " requests") X(name##_lanes, SUM, text " lanes") X(name##_bytes, SUM, text " bytes") \
    X(name##_used, SUM, text " different bytes") X(name##_sectors, SUM, text " sectors")                              \
    X(name##_lines, SUM, text " lines")
#define KILN_COUNTER_BANKS(X, name, text)                                                                             \
    X(name##_requests, SUM, text " requests") X(name##_lanes, SUM, text " lanes") X(name##_bytes, SUM, text " bytes") \
    X(name##_wavefronts, SUM, text " wavefronts") X(name##_ideal, SUM, text " wavefronts without conflicts")          \
    X(name##_worst, MOST, text " wavefronts of one request, at most")
#define KILN_COUNTER_ATOMIC(X, name, text)                                                                            \
    X(name##_addresses, SUM, text " different addresses") X(name##_serial, SUM, text " lanes in series")              \
    X(name##_most, MOST, text " lanes on one address, at most")
#define KILN_COUNTER_MAP(X)                                                                                           \
    X(executed, SUM, "warp instructions") X(lanes, SUM, "thread instructions")                                        \
    KILN_COUNTER_TRAFFIC(X, global_load, "global load") KILN_COUNTER_TRAFFIC(X, global_store, "global store")         \
    KILN_COUNTER_TRAFFIC(X, global_atomic, "global atomic") KILN_COUNTER_ATOMIC(X, global_atomic, "global atomic")    \
    KILN_COUNTER_TRAFFIC(X, local_load, "local load") KILN_COUNTER_TRAFFIC(X, local_store, "local store")             \
    KILN_COUNTER_BANKS(X, shared_load, "shared load") KILN_COUNTER_BANKS(X, shared_store, "shared store")             \
    KILN_COUNTER_BANKS(X, shared_atomic, "shared atomic") KILN_COUNTER_ATOMIC(X, shared_atomic, "shared atomic")      \
    X(const_requests, SUM, "constant requests") X(const_lanes, SUM, "constant lanes")                                 \
    X(const_addresses, SUM, "constant different addresses")                                                           \
    X(branches, SUM, "conditional branches") X(divergent, SUM, "divergent branches")                                  \
    X(barriers, SUM, "barrier arrivals of warps") X(warp_syncs, SUM, "warp operations that wait for lanes")
typedef struct kiln_counters {
#define KILN_X(name, adds, text) uint64_t name;
    KILN_COUNTER_MAP(KILN_X)
#undef KILN_X
} kiln_counters;
KILN_API const char *kiln_class_name(kiln_class what); /* "fp32_add" */
KILN_API const char *kiln_class_text(kiln_class what); /* "fp32 add" */

typedef struct kiln_profiling kiln_profiling;

typedef struct kiln_profiled_kernel {
    const char *name, *symbol;      /* as the spec names it; as the module does */
    uint64_t launches, blocks, warps;
    unsigned grid[3], block[3];     /* of the first launch, as is dynamic_shared */
    uint64_t static_shared, dynamic_shared, local_bytes;
    int registers;                  /* a thread */
    int registers_exact;            /* 1: of machine code for the device's architecture; 0: estimated from the PTX */
    int blocks_per_sm;
    double occupancy;               /* resident warps over the most an SM holds; 0: not known */
    const char *limited_by;         /* "registers", "shared memory", "threads", "blocks" */
    double flops;                   /* add and mul count 1, fma 2 */
    kiln_counters counters;
    uint64_t class_executed[KILN_CLASS_COUNT], class_lanes[KILN_CLASS_COUNT];
} kiln_profiled_kernel;

/* A line of the source, as far as the compiler says where an instruction comes from. */
typedef struct kiln_profiled_line {
    size_t kernel;
    const char *file, *text;        /* "" where they are not known */
    unsigned line;
    kiln_counters counters;
} kiln_profiled_line;

typedef struct kiln_profiled_insn {
    size_t kernel;
    const char *file, *ptx;         /* ptx: the instruction */
    unsigned line, ptx_line;
    kiln_class what;
    int l1;                         /* 1: an access that the L1 cache may serve (no .cg, .volatile and so on) */
    kiln_counters counters;
} kiln_profiled_insn;

/* Fills, runs the steps once on the simulated device with every instruction counted, and verifies; options (may be NULL)
 * as for kiln_plan_run(), of which flags and inputs are heeded. KILN_ERROR_UNSUPPORTED on any other device. */
KILN_API kiln_status kiln_profile(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                  const kiln_run_options *options, kiln_profiling **profiling, kiln_error **error);
KILN_API void kiln_profiling_free(kiln_profiling *profiling); /* NULL is fine */
KILN_API int kiln_profiling_verified(const kiln_profiling *profiling);
/* Kernels in the order of their first launch; lines by kernel, file and number; instructions that were executed by kernel
 * and place. NULL past the last. */
KILN_API size_t kiln_profiling_kernel_count(const kiln_profiling *profiling);
KILN_API const kiln_profiled_kernel *kiln_profiling_kernel(const kiln_profiling *profiling, size_t kernel);
KILN_API size_t kiln_profiling_line_count(const kiln_profiling *profiling);
KILN_API const kiln_profiled_line *kiln_profiling_line(const kiln_profiling *profiling, size_t line);
KILN_API size_t kiln_profiling_insn_count(const kiln_profiling *profiling);
KILN_API const kiln_profiled_insn *kiln_profiling_insn(const kiln_profiling *profiling, size_t insn);

/* One access of one thread. */
typedef struct kiln_traced_access {
    const char *kernel, *file;      /* as the spec names it; "" where it is not known */
    unsigned line;
    unsigned block[3], thread[3];
    uint64_t step;                  /* counts the accesses of the thread's warp, from 0 */
    const char *space;              /* "global" "shared" "local" "constant" */
    int reads, writes;              /* both: an atomic operation */
    const char *buffer;             /* of the spec; NULL: none */
    kiln_type type;                 /* of the buffer's elements */
    int dims;                       /* of the buffer; 0 without one */
    uint64_t element, index[KILN_MAX_DIMS]; /* flat, and by dimension; in a buffer */
    uint64_t address;               /* in a buffer: bytes from its start; else in its space */
    unsigned bytes;
} kiln_traced_access;
/* Return nonzero to be shown no more. */
typedef int (*kiln_trace_fn)(void *user, const kiln_traced_access *access);
/* The same run, shown access by access for one block (its number: x + y * grid x + ...) of every launch. */
KILN_API kiln_status kiln_trace(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                const kiln_run_options *options, uint64_t block, kiln_trace_fn show, void *user,
                                kiln_error **error);

/* ---- inspect: what the compiler made, without a device ------------------------------------------------------- */

typedef struct kiln_inspection kiln_inspection;

typedef struct kiln_inspected_kernel {
    const char *name, *symbol;      /* as the spec names it; as the module does */
    int registers;                  /* a thread */
    uint64_t static_shared, dynamic_shared, local_bytes, constant_bytes;
    int64_t spill_store_bytes, spill_load_bytes; /* a thread, as ptxas counts them; -1: it did not say */
    unsigned block[3];
    int blocks_per_sm;
    double occupancy;               /* resident warps over the most an SM holds */
    const char *limited_by;         /* "registers", "shared memory", "threads", "blocks" */
} kiln_inspected_kernel;

/* Compiles `choice` for `arch` ("sm_90"; NULL: the engine's device). */
KILN_API kiln_status kiln_inspect(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                  const char *arch, kiln_inspection **inspection, kiln_error **error);
/* How many blocks of so many threads an SM of `arch` holds, each thread with so many registers and each block with so
 * many bytes of shared memory. */
typedef struct kiln_occupancy_info { int blocks_per_sm; double occupancy; const char *limited_by; } kiln_occupancy_info;
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
    const char *id;                 /* 32 hexadecimal digits */
    const char *source;             /* the source's name */
    const char *arch;
    const char *compiler;           /* "nvrtc 13.0" */
    const char *options;            /* joined by spaces */
    uint64_t bytes;
    int64_t used;                   /* seconds since 1970, last use */
    int intact;                     /* only set by verify: checksum and key agree */
} kiln_cache_entry;
typedef void (*kiln_cache_fn)(void *user, const kiln_cache_entry *entry);

KILN_API const char *kiln_cache_dir(kiln_engine *engine); /* NULL where the cache is off */
KILN_API kiln_status kiln_cache_list(kiln_engine *engine, kiln_cache_fn each, void *user, kiln_error **error);
/* Checks every entry and removes the damaged ones; `each` is called for all. */
KILN_API kiln_status kiln_cache_verify(kiln_engine *engine, kiln_cache_fn each, void *user, kiln_error **error);
/* Calls back with the entry and its PTX; `id` may be any unique prefix. */
typedef void (*kiln_cache_show_fn)(void *user, const kiln_cache_entry *entry, const char *source_text,
                                   const char *ptx, size_t cubin_bytes);
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
