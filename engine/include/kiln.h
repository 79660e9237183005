/* kiln.h - a runtime-compiled CUDA kernel engine: YAML problem specs in, tuned launches out.
 *
 * This header has the engine, specs, plans and runs. kiln_tune.h has sweeps, the store of samples and best-known
 * configurations; kiln_sim.h has what only the simulated device can do, which is experimental. Both include this one.
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
 *   kiln_error_free(). On failure output parameters are left untouched. The library prints nothing, installs no signal
 *   handler and never exits; what it has to say goes to the log callback of kiln_options.
 *
 * Arguments
 *   Where nothing else is said, no pointer may be NULL except `error`, `user`, options, choices and filters (NULL: all
 *   defaults). A function with a status answers a NULL, an unknown flag, a value outside of an enum, a count without
 *   its array, a negative number, NaN and the like with KILN_ERROR_ARGUMENT and a message that names the function and
 *   the argument ("kiln_plan_bind: buffer is NULL"). One without a status then returns NULL, 0, ""
 *   where it says so, or -1 for an index. What frees or closes takes NULL.
 *
 * Structs that the caller fills and that begin with `size_t size`
 *   Zero-initialise and set `size` to sizeof of the struct; every zero member means its default. A size of an older
 *   header is fine, the members that it lacks are zero. So is one of a newer header, as long as what this library does
 *   not know is all zero; else the answer is KILN_ERROR_UNSUPPORTED. A size of 0, one that ends within a member and one
 *   that no header can have are KILN_ERROR_ARGUMENT. No such struct is a member of another; what refers to one (`run`
 *   of kiln_tune_options) is a pointer, NULL: the defaults.
 *
 * Structs that the library fills and that begin with `size_t size` (kiln_space_info, kiln_occupancy_info, kiln_score)
 *   Set `size` to sizeof of the struct before the call. The library fills the members that it knows and sets the others
 *   to zero. A size of 0, one that ends within a member and one that no header can have are KILN_ERROR_ARGUMENT.
 *
 * Structs that the library returns as a pointer to const
 *   They belong to the library, and live as long as their owner or, in a callback, until it returns. A later version
 *   may add members at the end, so do not keep them by value or in arrays across versions. None in kiln.h and
 *   kiln_tune.h contains another: what belongs to it (the kiln_result of a kiln_sample) is a pointer, with the same
 *   lifetime.
 *
 * All other structs
 *   They never change: kiln_value, kiln_setting, kiln_choice, kiln_array, kiln_allocator and kiln_file_binding. What
 *   there is more to say gets a function of its own.
 *
 * Names
 *   open goes with close; make, load, parse and what fills a result (kiln_tune, kiln_profile) with free. A callback
 *   returns an int: 0 to go on, nonzero to be called no more, which is an error only where it says so. Two are none of
 *   that kind: the log callback, which cannot end anything, and a host function, which is an operation and returns its
 *   status.
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

KILN_API kiln_status kiln_error_status(const kiln_error *error); /* KILN_OK for NULL */
/* The whole message, possibly of several lines (caret lines, a compile log), without a trailing newline. */
KILN_API const char *kiln_error_message(const kiln_error *error);
/* The CUresult that caused it; 0: there is none. */
KILN_API int kiln_error_cuda(const kiln_error *error);
KILN_API void kiln_error_free(kiln_error *error); /* NULL is allowed */

/* ---- the engine -------------------------------------------------------------------------------------------- */

/* `resize` is like realloc(): size 0 frees and returns NULL, pointer NULL allocates. Must be callable from any
 * thread. */
typedef struct kiln_allocator {
    void *(*resize)(void *user, void *pointer, size_t size);
    void *user;
} kiln_allocator;

typedef enum kiln_log_level { KILN_LOG_DEBUG, KILN_LOG_INFO, KILN_LOG_WARNING } kiln_log_level;
/* May be called from any thread that is inside a kiln function. `message` has no trailing newline, and lives for the
 * call. */
typedef void (*kiln_log_fn)(void *user, kiln_log_level level, const char *message);

#define KILN_NO_CACHE 1u      /* neither read nor write the disk cache */
#define KILN_READ_ANYWHERE 2u /* specs may name files outside their own folder and the search path */
/* Compile inside this process: unconfined, without limits, and a crash of NVRTC ends the process (engine/TRUST.md). */
#define KILN_NO_WORKERS 4u
/* Specs may run the commands that they name as references (engine/TRUST.md). */
#define KILN_ALLOW_COMMANDS 8u
/* Kernels on a simulated device run in a sandbox: in a process that has given up its rights (engine/TRUST.md). A sweep
 * starts a process for them. kiln_plan_run(), kiln_profile() and kiln_trace() have the calling process itself give up its
 * rights permanently, before they fill buffers: only for a process that was made for that (fork), and has no other
 * threads. From then on it reads only the files that the spec may name, and can neither write files (`write` of
 * kiln_run_options, kiln_plan_capture) nor start programs. If the system cannot do it, a warning is logged. */
#define KILN_SANDBOX 16u
#define KILN_SANDBOX_REQUIRED 32u /* the same, but it fails with KILN_ERROR_UNSUPPORTED if the system cannot do it */

/* Kernels of this engine run from now on, in this process, and have `seconds` to end; infinity: there is no limit. 0: they
 * have ended, or were given up. See `limit` of kiln_options. */
typedef void (*kiln_limit_fn)(void *user, double seconds);

/* The processes of one job that mpirun or srun started; see kiln_ranks_open(). */
typedef struct kiln_ranks kiln_ranks;

/* Zero-initialise and set `size`; every zero member means its default. Strings are copied. */
typedef struct kiln_options {
    size_t size;             /* sizeof(kiln_options) */
    const char *device;      /* "cuda:0", "sim", "sim:PROFILE", "sim:FILE.profile", "sim:sm_80" (the profile with
                                estimated times whose compute capability is nearest); NULL: $KILN_DEVICE, else the
                                first GPU, else "sim:h200", or "sim" where that profile is not found. If the simulated
                                device of this process is in use already, NULL takes it as it is */
    CUcontext context;       /* the caller's context, on whose device the engine works; never destroyed, and must live
                                until the engine is closed. `device` then only says whose it is: of the simulated
                                driver ("sim") or of libcuda */
    const char *cache_dir;   /* NULL: $KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln */
    const char *search_path; /* folders of specs, sources and headers, with ':' between; searched before those of
                                $KILN_PATH and the installed ones. Headers are also in those of $KILN_INCLUDE */
    const char *worker;      /* the compile worker program; NULL: $KILN_WORKER, else the installed one */
    unsigned jobs;           /* compile workers at once; 0: one per core */
    unsigned flags;          /* KILN_NO_CACHE ... */
    double compile_timeout;  /* seconds that one compile may take; 0: 120 */
    uint64_t memory_limit; /* bytes that the buffers of one plan may take, on the host and on the device each; 0: all */
    const kiln_allocator *allocator; /* the struct is copied; NULL: malloc */
    kiln_log_fn log;                 /* NULL: nothing is logged */
    void *log_user;
    const volatile int *stop; /* NULL, or an int that a signal handler or another thread sets to end work on a store:
                                 waiting for another process's lock, and an import, end with
                                 KILN_ERROR_INTERRUPTED. Referenced until the engine is closed. What ends a run is
                                 `stop` of kiln_run_options */
    kiln_ranks *ranks;        /* of rank 0: the other ranks compile and measure too. Close it after the engine; NULL:
                                 this machine alone */
    kiln_limit_fn limit;      /* NULL, or a function that is told when kernels begin to run and have ended, so that the
                                 application can end the process if the time limit does not (engine/include/README.md).
                                 Called in the thread that called the library, without a lock of the library */
    void *limit_user;
} kiln_options;

typedef struct kiln_engine kiln_engine;

/* Opens an engine; `options` may be NULL. This needs neither a device nor NVRTC, unless `context` is given: the first
 * call that needs the device opens it. If there is none, that call returns KILN_ERROR_NO_DEVICE; without NVRTC it is
 * KILN_ERROR_NO_COMPILER. */
KILN_API kiln_status kiln_engine_open(const kiln_options *options, kiln_engine **engine, kiln_error **error);
/* Ends the engine's processes and frees it. Free all that was made from it before. NULL is allowed. */
KILN_API void kiln_engine_close(kiln_engine *engine);

/* ---- many machines: a job of several processes, one for each GPU --------------------------------------------- */

typedef struct kiln_ranks_options {
    size_t size;        /* sizeof(kiln_ranks_options) */
    const char *plugin; /* the messages' plug-in; NULL: $KILN_MPI, else the installed libkiln-mpi.so */
    int required;       /* 1: also where no launcher is seen, the plug-in is opened */
    double lease;       /* seconds after which a rank of which nothing was heard is given up, and what it worked on is
                           done by others; 0: 30 */
    const kiln_allocator *allocator; /* the struct is copied; NULL: malloc */
    kiln_log_fn log;                 /* NULL: nothing is logged. Called from a thread of its own too */
    void *log_user;
} kiln_ranks_options;

/* Joins the job that a launcher (mpirun, srun) started this process in. *ranks stays NULL, and the answer is KILN_OK, if
 * there is none, or if this is its only process. KILN_ERROR_NOT_FOUND: there is no plug-in. KILN_ERROR_UNSUPPORTED: the
 * launcher and the plug-in's MPI do not know each other; the message says how to start the job. Call it once in a
 * process, from the thread that closes it, before anything else of the process uses MPI. */
KILN_API kiln_status kiln_ranks_open(const kiln_ranks_options *options, kiln_ranks **ranks, kiln_error **error);
KILN_API int kiln_ranks_rank(const kiln_ranks *ranks);  /* 0 leads: it sweeps; all others call kiln_ranks_serve() */
KILN_API int kiln_ranks_count(const kiln_ranks *ranks); /* 2 or more */
KILN_API int kiln_ranks_local(const kiln_ranks *ranks); /* the number of this process among those of its machine */
/* What a rank does that does not lead: it compiles and measures for rank 0 until that closes its ranks. Or, if its device is
 * of another model, until kiln_ranks_rank() is 0: it leads those of that model, and sweeps with another engine. */
KILN_API kiln_status kiln_ranks_serve(kiln_ranks *ranks, kiln_engine *engine, kiln_error **error);
/* An answer of a job's sweep. `rank`: who led it. `device`: the name of its model; NULL for rank 0's. `answer`: as that rank
 * gave it, until the ranks are closed; NULL: it gave none, or was lost. */
typedef void (*kiln_ranks_answer_fn)(void *user, int rank, const char *device, const char *answer);
/* Brings the answers of all sweeps of a job together, where devices are of several models. Each rank that leads one calls it
 * once, after its sweep, with a text of its own making. Rank 0 waits for the others, and calls `each` for itself and then for
 * them by rank, in this thread; a rank of which nothing is heard for a lease has no answer. For other leaders `each` is not
 * called. Once *stop (NULL: never) is nonzero rank 0 waits for one lease at most. */
KILN_API kiln_status kiln_ranks_collect(kiln_ranks *ranks, const char *answer, const volatile int *stop,
                                        kiln_ranks_answer_fn each, void *user, kiln_error **error);
/* Ends the job; rank 0 tells the others. NULL is allowed. */
KILN_API void kiln_ranks_close(kiln_ranks *ranks);

/* What some devices have and others lack, as `needs` of a spec names it behind `device.`. The simulated device has what
 * it runs. X(name, value, key, text) */
#define KILN_FEATURE_MAP(X)                                                                                            \
    X(ASYNC_COPY, 1u, "async_copy", "asynchronous copies to shared memory (cp.async)")                                 \
    X(FP8, 2u, "fp8", "tensor cores for 8-bit floats")                                                                 \
    X(CLUSTERS, 4u, "clusters", "clusters of blocks")                                                                  \
    X(TMA, 8u, "tma", "copies by tensor maps (cp.async.bulk.tensor)")                                                  \
    X(WGMMA, 16u, "wgmma", "products of a warp group (wgmma)")                                                         \
    X(TCGEN05, 32u, "tcgen05", "products in tensor memory (tcgen05)")
enum {
#define KILN_X(name, value, key, text) KILN_FEATURE_##name = value,
    KILN_FEATURE_MAP(KILN_X)
#undef KILN_X
};

typedef struct kiln_device_info {
    char name[128];
    char id[32];            /* "cuda:0", "sim:generic" */
    int simulated;          /* 1: the simulated device */
    int cc_major, cc_minor; /* compute capability */
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
    unsigned features;     /* KILN_FEATURE_... */
    double
        unit_flops[16]; /* by KILN_UNIT_...: fused multiply-adds x 2, a second, dense, from units and clock; 0: none */
} kiln_device_info;

/* The engine's own device; opens it if it is not open. `*info` lives as long as the engine. */
KILN_API kiln_status kiln_engine_device(kiln_engine *engine, const kiln_device_info **info, kiln_error **error);
/* Calls `each` for every device of this machine, the simulated ones last. `info` lives until it returns. Return nonzero
 * to be called no more. */
typedef int (*kiln_device_fn)(void *user, const kiln_device_info *info);
KILN_API kiln_status kiln_devices(kiln_engine *engine, kiln_device_fn each, void *user, kiln_error **error);

/* What kiln_doctor() found on this machine: driver, NVRTC, cache and so on, one finding each. */
typedef struct kiln_finding {
    const char *topic;  /* "driver", "nvrtc", "cache", ... */
    int ok;             /* 0: missing or broken */
    int needed;         /* 1: nothing works without it; 0: Kiln works, but can do less */
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
        const char *text; /* KILN_TEXT: not copied; see what has the value */
    } as;
} kiln_value;

typedef struct kiln_setting {
    const char *name;
    kiln_value value;
} kiln_setting;

/* Element types of buffers and arrays. X(name, bytes, numpy code, kind, exponent bits, mantissa bits, relative and
 * absolute tolerance of a comparison that names none). FINITE: a float without infinities, whose only NaN is all ones.
 * The bits and tolerances of COMPLEX are those of one part; the real part comes first. V1 and V2 are bytes without a
 * type, as numpy with ml_dtypes writes them. Use `...` for what you do not need: columns may be added. */
#define KILN_TYPE_MAP(X)                                                                                               \
    X(i8, 1, "i1", SIGNED, 0, 7, 0, 0)                                                                                 \
    X(u8, 1, "u1", UNSIGNED, 0, 8, 0, 0)                                                                               \
    X(i16, 2, "i2", SIGNED, 0, 15, 0, 0)                                                                               \
    X(u16, 2, "u2", UNSIGNED, 0, 16, 0, 0)                                                                             \
    X(i32, 4, "i4", SIGNED, 0, 31, 0, 0)                                                                               \
    X(u32, 4, "u4", UNSIGNED, 0, 32, 0, 0)                                                                             \
    X(i64, 8, "i8", SIGNED, 0, 63, 0, 0)                                                                               \
    X(u64, 8, "u8", UNSIGNED, 0, 64, 0, 0)                                                                             \
    X(f16, 2, "f2", FLOAT, 5, 10, 1e-2, 1e-3)                                                                          \
    X(f32, 4, "f4", FLOAT, 8, 23, 1e-5, 1e-6)                                                                          \
    X(f64, 8, "f8", FLOAT, 11, 52, 1e-12, 1e-14)                                                                       \
    X(bf16, 2, "V2", FLOAT, 8, 7, 1.6e-2, 1e-3)                                                                        \
    X(f8e4m3, 1, "V1", FINITE, 4, 3, 0.125, 0.001953125)                                                               \
    X(f8e5m2, 1, "V1", FLOAT, 5, 2, 0.25, 0.0000152587890625)                                                          \
    X(bool, 1, "b1", BOOLEAN, 0, 1, 0, 0)                                                                              \
    X(complex64, 8, "c8", COMPLEX, 8, 23, 1e-5, 1e-6)                                                                  \
    X(complex128, 16, "c16", COMPLEX, 11, 52, 1e-12, 1e-14)
typedef enum kiln_type {
#define KILN_X(name, ...) KILN_##name,
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

/* The argument `name`. `fallback` (may be NULL) is the value of one that is missing. KILN_ERROR_HOST_FUNCTION: it is
 * missing or of another kind; KILN_ERROR_ARGUMENT: a pointer is NULL. The reason is noted for the author of the spec:
 * return the status. Texts belong to the call. */
KILN_API kiln_status kiln_call_int(kiln_call *call, const char *name, const int64_t *fallback, int64_t *value);
KILN_API kiln_status kiln_call_float(kiln_call *call, const char *name, const double *fallback, double *value);
KILN_API kiln_status kiln_call_text(kiln_call *call, const char *name, const char *fallback, const char **value);
/* An array argument, to be read; an output, to be written in place. Both belong to the call. `data` is NULL only if
 * there are no elements. */
KILN_API kiln_status kiln_call_array(kiln_call *call, const char *name, const kiln_array **array);
KILN_API kiln_status kiln_call_output(kiln_call *call, const char *name, kiln_array **array);
/* The resolved path of a file that the spec names, after a check that a spec may read it (engine/TRUST.md). *path
 * belongs to the call. */
KILN_API kiln_status kiln_call_file(kiln_call *call, const char *name, const char **path);
/* For `inputs:`: exports a number, or an array that Kiln makes, zeroed, and the function fills: `dims` sizes in `shape`
 * (not read where dims is 0). *array belongs to the call. Names may have dots. */
KILN_API kiln_status kiln_call_export_int(kiln_call *call, const char *name, int64_t value);
KILN_API kiln_status kiln_call_export_float(kiln_call *call, const char *name, double value);
KILN_API kiln_status kiln_call_export_array(kiln_call *call, const char *name, kiln_type type, int dims,
                                            const uint64_t *shape, kiln_array **array);
/* Notes why the function failed, as printf() would print it, and returns KILN_ERROR_HOST_FUNCTION. */
KILN_API kiln_status kiln_call_fail(kiln_call *call, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* The same with a status of the function's choice, such as KILN_ERROR_MEMORY, which it returns. */
KILN_API kiln_status kiln_call_fail_as(kiln_call *call, kiln_status status, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* The allocator of the engine, for the function's own work. NULL: malloc(). */
KILN_API const kiln_allocator *kiln_call_allocator(const kiln_call *call);
/* A flag that becomes nonzero when the caller wants the call to end. A function that works for seconds looks at it, and
 * fails with KILN_ERROR_INTERRUPTED. NULL: nobody can end the call. */
KILN_API const volatile int *kiln_call_stop(const kiln_call *call);

/* A sparse matrix in compressed rows: the entries of row r have the numbers offsets[r] to offsets[r + 1] - 1, and their
 * columns ascend. */
typedef struct kiln_csr {
    uint32_t rows, columns, nonzeros;
    uint32_t *offsets; /* rows + 1 */
    uint32_t *index;   /* the column of each entry */
    float *values;     /* NULL: a pattern */
} kiln_csr;
/* Reads a Matrix Market file (coordinate or array; real, integer or pattern; general, symmetric or skew-symmetric) or a
 * list of edges (`from to [weight]`), gzipped or not, with all cores. `path` comes from kiln_call_file(). `graph` nonzero:
 * the result is a pattern without loops that has each edge in both directions. A failure is noted with the line and the
 * column in the file. */
KILN_API kiln_status kiln_call_matrix(kiln_call *call, const char *path, int graph, kiln_csr *matrix);
KILN_API void kiln_call_matrix_free(const kiln_call *call, kiln_csr *matrix); /* one that is all zero is fine */

typedef kiln_status (*kiln_host_fn)(void *user, kiln_call *call);

#define KILN_HOST_REFERENCE 1u /* for `verify: {host: NAME}`: reads the buffers, writes the expected outputs */
#define KILN_HOST_INPUT 2u     /* for `inputs:` */
#define KILN_HOST_STEP 4u      /* for `steps:` */
/* Added to the uses: Kiln's own programs have the same function under the same name, as they have the functions of the
 * catalogue. Without it a sweep that calls the function measures in its own process, and a captured launch that calls it
 * loses the call, because the process and the command that would call it lack the function. */
#define KILN_HOST_SHIPPED 8u

/* Makes `function` callable from specs of this engine as `name`, for `uses` (KILN_HOST_...). Call it before the specs
 * are loaded. `user` is passed on, and must live as long as the engine. The function may be called from any thread that
 * uses the engine, and must not call the engine. A reference gets every buffer and size of the spec as arguments under
 * its own name. kiln_catalogue_register() (kiln_catalogue.h) registers the functions that the specs of the catalogue
 * name. */
KILN_API kiln_status kiln_register_host(kiln_engine *engine, const char *name, unsigned uses, kiln_host_fn function,
                                        void *user, kiln_error **error);

/* What a host function is for, asks for and gives. */
typedef struct kiln_host_info {
    const char *name;
    unsigned uses;     /* KILN_HOST_... */
    const char *takes; /* the arguments that it asks for, by their names; those in brackets have a default */
    const char *gives; /* the outputs that it writes, or what it exports */
} kiln_host_info;
/* The host functions that every engine has, by number; NULL past the last. */
KILN_API const kiln_host_info *kiln_host(size_t number);

/* ---- specs ------------------------------------------------------------------------------------------------- */

typedef struct kiln_spec kiln_spec;

/* Loads a spec: a path, or a name that is looked up as NAME.yaml in the search path. KILN_ERROR_NOT_FOUND: there is
 * none; KILN_ERROR_SPEC: it has errors, and the message has each with its line and column. Needs no device. Free it
 * with kiln_spec_free(), after all plans of it. */
KILN_API kiln_status kiln_spec_load(kiln_engine *engine, const char *path_or_name, kiln_spec **spec,
                                    kiln_error **error);
/* The same from `length` bytes in memory, which are copied. `name` stands in messages; sources and files are looked for
 * in its folder. */
KILN_API kiln_status kiln_spec_parse(kiln_engine *engine, const char *text, size_t length, const char *name,
                                     kiln_spec **spec, kiln_error **error);
KILN_API void kiln_spec_free(kiln_spec *spec); /* NULL is allowed */

/* What these return belongs to the spec. Variants, params, constraints, size sets and buffers have numbers from 0; of a
 * number past the last, names and infos are NULL and counts 0. */
KILN_API const char *kiln_spec_name(const kiln_spec *spec);
KILN_API const char *kiln_spec_title(const kiln_spec *spec);
KILN_API const char *kiln_spec_about(const kiln_spec *spec); /* prose, "" if there is none */
KILN_API const char *kiln_spec_path(const kiln_spec *spec);  /* of its file; the name where it was parsed from memory */

KILN_API size_t kiln_spec_variant_count(const kiln_spec *spec);
KILN_API const char *kiln_spec_variant_name(const kiln_spec *spec, size_t variant);
KILN_API const char *kiln_spec_variant_about(const kiln_spec *spec, size_t variant);
/* 1: may be called the best. 0: it is only there to compare with (a bound, a pattern), and does not do the spec's
 * work. */
KILN_API int kiln_spec_variant_contender(const kiln_spec *spec, size_t variant);
/* The number of the variant that is used where none is named: the first contender. */
KILN_API size_t kiln_spec_variant_first(const kiln_spec *spec);
/* The number of a variant; -1: there is none of that name. */
KILN_API int kiln_spec_variant_find(const kiln_spec *spec, const char *name);

typedef struct kiln_param_info {
    const char *name;
    size_t count; /* of the values; at least 1 */
    const kiln_value *values;
    size_t initial; /* the number of the default among them */
} kiln_param_info;
KILN_API size_t kiln_spec_param_count(const kiln_spec *spec, size_t variant);
KILN_API const kiln_param_info *kiln_spec_param(const kiln_spec *spec, size_t variant, size_t param);
/* The constraints (`where:`) as they are written in the spec. */
KILN_API size_t kiln_spec_constraint_count(const kiln_spec *spec, size_t variant);
KILN_API const char *kiln_spec_constraint(const kiln_spec *spec, size_t variant, size_t constraint);

typedef struct kiln_size_set {
    const char *name; /* "default", "tiny", ... */
    size_t count;
    const kiln_setting *settings;
} kiln_size_set;
KILN_API size_t kiln_spec_size_set_count(const kiln_spec *spec);
KILN_API const kiln_size_set *kiln_spec_size_set(const kiln_spec *spec, size_t set);

typedef struct kiln_buffer_info {
    const char *name;
    kiln_type type;
    const char *shape;     /* as written: "[M, N]"; if it comes with the data: "made by FUNCTION", "as in the file" */
    int output;            /* 1: an output (`out: true`) */
    const char *type_text; /* NULL, or what chooses the type: an expression, "from NAME". Then `type` has no meaning */
} kiln_buffer_info;
KILN_API size_t kiln_spec_buffer_count(const kiln_spec *spec);
KILN_API const kiln_buffer_info *kiln_spec_buffer(const kiln_spec *spec, size_t buffer);

/* The specs of the search path, by name. The callback's strings live for the call; return nonzero to be called no
 * more. */
typedef int (*kiln_list_fn)(void *user, const char *name, const char *title, const char *path);
KILN_API kiln_status kiln_spec_list(kiln_engine *engine, kiln_list_fn each, void *user, kiln_error **error);

/* What `target` and `needs` say: what the variant is compiled for ("sm_90a") and the conditions on the device, as
 * written. */
KILN_API size_t kiln_spec_target_count(const kiln_spec *spec, size_t variant);
KILN_API const char *kiln_spec_target(const kiln_spec *spec, size_t variant, size_t target);
KILN_API size_t kiln_spec_need_count(const kiln_spec *spec, size_t variant);
KILN_API const char *kiln_spec_need(const kiln_spec *spec, size_t variant, size_t need);
/* KILN_OK: the engine's device can run the variant. KILN_ERROR_UNSUPPORTED: it lacks something, and the message says
 * what; a sweep leaves the variant out, and kiln_plan_open() fails with the same. Opens the device. */
KILN_API kiln_status kiln_variant_supported(kiln_engine *engine, const kiln_spec *spec, size_t variant,
                                            kiln_error **error);

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

/* Zero members mean: the first contender, each param's default, the first size set (`tiny` on the simulated device).
 * All that it points to is read during the call, and not kept. */
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

/* Compiles the code for `choice` (or takes it from the cache) and loads it on the engine's device. Allocates no
 * buffers. The plan refers to the spec, which must live as long. KILN_ERROR_CONSTRAINT: the configuration breaks a
 * constraint; KILN_ERROR_COMPILE: the message has the compiler's log. */
KILN_API kiln_status kiln_plan_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                    kiln_plan **plan, kiln_error **error);
/* Frees the plan and the buffers that it allocated, never bound ones. NULL is allowed. */
KILN_API void kiln_plan_close(kiln_plan *plan);

/* Uses the caller's device memory for a buffer. It must hold `bytes` bytes, at least the buffer's size, and live until
 * the plan is closed or another pointer is bound. */
KILN_API kiln_status kiln_plan_bind(kiln_plan *plan, const char *buffer, CUdeviceptr pointer, size_t bytes,
                                    kiln_error **error);
/* Changes `count` sizes of an open plan. Compiles again only where the code depends on a size. Buffers whose size
 * changes are freed, and their bindings dropped. */
KILN_API kiln_status kiln_plan_resize(kiln_plan *plan, const kiln_setting *sizes, size_t count, kiln_error **error);
/* The size in bytes of a buffer of the plan. */
KILN_API kiln_status kiln_plan_buffer_bytes(const kiln_plan *plan, const char *buffer, uint64_t *bytes,
                                            kiln_error **error);
/* The device pointer of a buffer. Allocates and fills, as the spec says, those that are not bound and not there yet. It
 * stays valid until the plan is closed or the buffer resized. */
KILN_API kiln_status kiln_plan_buffer(kiln_plan *plan, const char *buffer, CUdeviceptr *pointer, kiln_error **error);
/* Copies a whole buffer from or to the host, and waits for it; `bytes` must be its size. */
KILN_API kiln_status kiln_plan_write(kiln_plan *plan, const char *buffer, const void *data, size_t bytes,
                                     kiln_error **error);
KILN_API kiln_status kiln_plan_read(kiln_plan *plan, const char *buffer, void *data, size_t bytes, kiln_error **error);

/* kiln_plan_launch() enqueues the variant's steps on `stream` (NULL: the default stream) and returns; a variant with
 * steps on the host, or with loops that depend on data, waits for the stream inside. Errors of the kernels themselves
 * come with a later call, as in CUDA. kiln_plan_reset() enqueues the steps of `before_each`, which a launch does not.
 * The stream must be of the engine's context. */
KILN_API kiln_status kiln_plan_launch(kiln_plan *plan, CUstream stream, kiln_error **error);
KILN_API kiln_status kiln_plan_reset(kiln_plan *plan, CUstream stream, kiln_error **error);

typedef struct kiln_kernel_info {
    const char *name;           /* as the spec names it */
    CUfunction function;        /* the plan's */
    unsigned grid[3], block[3]; /* of its first launch in the plan */
    unsigned dynamic_shared;    /* bytes */
    int from_cache;             /* its code came from the disk cache */
    /* attributes of that launch, as the spec's keys of these names */
    unsigned cluster[3]; /* blocks of a cluster; 0: none */
    int cooperative, overlap;
    int priority;
    int carveout;                   /* percent of the shared memory; -1: not given */
    const char *cluster_scheduling; /* "" if not given */
} kiln_kernel_info;
KILN_API size_t kiln_plan_kernel_count(const kiln_plan *plan);
/* NULL past the last. It lives until the plan is resized or closed. */
KILN_API const kiln_kernel_info *kiln_plan_kernel(kiln_plan *plan, size_t kernel);

/* The metrics of the plan's variant, `flops` and `bytes` among them. kiln_plan_metric() gives the value of one for the
 * plan's params, sizes and inputs, which it makes if they are not made yet; *name lives as long as the spec. Metrics that
 * use measurements have those of the plan's last run. KILN_ERROR_NOT_FOUND: past the last. KILN_ERROR_UNSUPPORTED: it
 * needs what was not measured; *name is set. */
KILN_API size_t kiln_plan_metric_count(const kiln_plan *plan);
KILN_API kiln_status kiln_plan_metric(kiln_plan *plan, size_t metric, const char **name, double *value,
                                      kiln_error **error);

/* ---- capture: a launch written down as a problem of its own ----------------------------------------------------
 *
 * A captured launch is a folder, FOLDER/SPEC-000 (-001, ...), with a spec that `kiln tune FOLDER/SPEC-000/SPEC.yaml`
 * runs as it stands: the sizes as they were, the buffers' contents before the launch as .npy files, what the outputs
 * were after it as what they are compared with, sources and headers, the configuration as the defaults, every variant
 * and every param that can still be varied. engine/plan/capture/CAPTURE.md says what is written, and when. What is
 * captured are launches of plans, not those of other CUDA code. A captured launch is waited for; without a capture a
 * launch costs one comparison more. */

typedef struct kiln_capture_options { /* zero-initialise, set `size`; every zero field means its default */
    size_t size;                      /* sizeof(kiln_capture_options) */
    const char *what;                 /* the name of a kernel (of a template also without its arguments) or of a
                                         spec; NULL or "*": any */
    const char *folder;               /* made where it is missing; NULL: $KILN_CAPTURE_DIR, else "kiln-capture" */
    unsigned count;                   /* how many launches; 0: 1 */
    uint64_t limit; /* bytes of contents that a capture may have; 0: $KILN_CAPTURE_LIMIT, else 4 GiB */
} kiln_capture_options;

/* Captures the next `count` calls of kiln_plan_launch() that launch `what`, on any plan of the engine; `options` NULL:
 * no more. The environment variable KILN_CAPTURE=WHAT or WHAT:COUNT (WHAT may be '*'), read by kiln_engine_open(), does
 * the same. If a launch cannot be captured, the log has a warning with the reason, and the launch goes on. May be
 * called from any thread. */
KILN_API kiln_status kiln_capture(kiln_engine *engine, const kiln_capture_options *options, kiln_error **error);
/* Captures the next launch of this plan, or the checked run of its next kiln_plan_run(), below `folder` (NULL: as
 * above). That launch or run fails if it cannot be captured. */
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

#define KILN_RUN_NO_VERIFY 1u  /* do not compare the answer */
#define KILN_RUN_NO_MEASURE 2u /* run once, measure nothing */
#define KILN_RUN_KEEP_L2 4u    /* never flush the L2 between repetitions */
#define KILN_RUN_FLUSH_L2 8u   /* always flush it; default: where the buffers fit in it */
/* Check the launches (KILN_CHECK_MAP) and call `check` with each finding; KILN_ERROR_UNSUPPORTED on a GPU. An access
 * that would fault is reported and skipped, so that one run finds all; the answer may then be wrong. */
#define KILN_RUN_CHECK 16u
/* Measure energy too, where the GPU has a counter of it. Takes about a second more, because the counter changes only
 * some ten times a second. */
#define KILN_RUN_ENERGY 32u
/* kiln_profile: compile to PTX alone; registers, and the occupancy, are then the simulated device's estimate. */
#define KILN_RUN_NO_MACHINE_CODE 64u

/* Takes the bytes of a file in the place of the file system. Return nonzero if they cannot be written. */
typedef int (*kiln_write_fn)(void *user, const char *path, const void *data, size_t bytes);

typedef struct kiln_run_options { /* zero-initialise, set `size`; every zero member means its default */
    size_t size;                  /* sizeof(kiln_run_options) */
    unsigned flags;               /* KILN_RUN_... */
    double budget;                /* seconds to measure for at most; 0: 1 on a GPU, one repetition on the simulator */
    double precision;             /* half-width of the median's 95 % interval to stop at, relative; 0: 0.01 */
    unsigned min_repetitions, max_repetitions; /* 0: 7 (on the simulator 1) and 1000; at most 1,000,000 */
    const kiln_file_binding *inputs;           /* buffers that are filled from files, instead of as the spec says */
    size_t input_count;
    const kiln_file_binding *outputs; /* buffers that are written to files after the verified run */
    size_t output_count;
    kiln_check_fn check; /* with KILN_RUN_CHECK: called in the calling thread when the run is over, also
                            where it failed, with each finding in the order it was found in. Its strings
                            live for the call */
    void *check_user;
    double stop_early_above;  /* seconds; 0: never. Measuring ends early if the configuration is sure to take longer
                                 (engine/plan/measure/README.md). The answer is verified nevertheless, and the result
                                 has `stopped_early` */
    double sample_timeout;    /* seconds of wall time that the configuration may take from its first launch on, then
                                 KILN_ERROR_TIMEOUT. 0: 60, plus twice the budget, plus four times the first run for
                                 each of min_repetitions. Below 0: no limit. A reference among the steps has the same
                                 time for itself. A simulated kernel is ended, and the message names the loop that it
                                 was in. A kernel on a GPU cannot be ended: the engine is then unusable, and the
                                 process should end soon */
    const volatile int *stop; /* NULL, or an int that a signal handler or another thread sets to nonzero to end the run
                                 with KILN_ERROR_INTERRUPTED. A simulated kernel ends at once, and its context stays
                                 usable; a kernel on a GPU is waited for, at most a second. Read during the call */
    kiln_write_fn write; /* gets the files of `outputs`, because a process in a sandbox cannot write files; NULL: they
                                 are written */
    void *write_user;
    double cut_above;    /* seconds; 0: never. If the first run takes longer, it is checked and not repeated: its
                                 wall time is the result, with `stopped_early` and one repetition */
    double most_seconds; /* seconds from the first launch on, the check of the answer included; 0: no limit. When they
                                 are over, nothing is repeated any more. If there are then fewer than min_repetitions,
                                 the result has `stopped_early`; it always has the time of one run */
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

/* The units of a device that do arithmetic, as a spec's `roofline` names them. X(name, value, key, text) */
#define KILN_UNIT_MAP(X)                                                                                               \
    X(FP32, 1u, "fp32", "fp32")                                                                                        \
    X(FP64, 2u, "fp64", "fp64")                                                                                        \
    X(FP16, 3u, "fp16", "packed fp16 and bf16")                                                                        \
    X(TENSOR_FP64, 4u, "tensor_fp64", "tensor cores, fp64")                                                            \
    X(TENSOR_TF32, 5u, "tensor_tf32", "tensor cores, tf32")                                                            \
    X(TENSOR_FP16, 6u, "tensor_fp16", "tensor cores, fp16 and bf16")                                                   \
    X(TENSOR_FP8, 7u, "tensor_fp8", "tensor cores, fp8")                                                               \
    X(TENSOR_INT8, 8u, "tensor_int8", "tensor cores, int8")                                                            \
    X(TENSOR_FP16_FP16, 9u, "tensor_fp16_fp16", "tensor cores, fp16 with fp16 sums")                                   \
    X(TENSOR_FP8_FP16, 10u, "tensor_fp8_fp16", "tensor cores, fp8 with fp16 sums")
enum {
#define KILN_X(name, value, key, text) KILN_UNIT_##name = value,
    KILN_UNIT_MAP(KILN_X)
#undef KILN_X
};

/* The fields of a result, each once. The struct, a runner's answer, the columns of stores and CSV files and the keys of
 * JSON follow from these rows. X(kind, name, unit, text); unit "": none. KILN_FIELD_<kind>: its C type. FLAG is 0 or 1;
 * SECONDS is valid only where measured or estimated is 1; KNOWN is 0 where it is not known.
 * A store keeps MAP_1 since version 1 of its schema, MAP_2 since version 2, and so on; it does not keep MAP_NOT_KEPT and
 * MAP_NOT_KEPT_2. A new field goes into a list of its own at the end, with a new version of the schema
 * (engine/store/store.h). */
#define KILN_RESULT_MAP(X)                                                                                             \
    KILN_RESULT_MAP_1(X)                                                                                               \
    KILN_RESULT_MAP_NOT_KEPT(X)                                                                                        \
    KILN_RESULT_MAP_2(X)                                                                                               \
    KILN_RESULT_MAP_3(X) KILN_RESULT_MAP_NOT_KEPT_2(X) KILN_RESULT_MAP_4(X) KILN_RESULT_MAP_5(X)
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
    X(REAL, roofline, "", "share of the bound that these counts and the device's peaks give (roofline_unit), 0..1")    \
    X(REAL, worst_error, "", "largest |got - want| / (atol + rtol |want|) over all verified outputs")                  \
    X(NANOSECONDS, compile_ns, "ns", "spent compiling; 0 where all came from the cache")
#define KILN_RESULT_MAP_NOT_KEPT(X)                                                                                    \
    X(COUNT, cache_hits, "", "how much of the code came from the cache")                                               \
    X(COUNT, cache_misses, "", "how much of the code was compiled")
/* From clock_hz on: of the device while it was measured, through NVML (libnvidia-ml.so.1); 0 where that is missing or
 * does not tell. */
#define KILN_RESULT_MAP_2(X)                                                                                           \
    X(FLAG, stopped_early, "",                                                                                         \
      "1: clearly slower than stop_early_above, or cut by cut_above or most_seconds, so `seconds` is of fewer "        \
      "repetitions")                                                                                                   \
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
/* What the host did. In a sweep inputs and copies are made once for all configurations that use them; each result has
 * the times of those that it used. N repetitions take inputs_seconds + copy_seconds + N * seconds, end to end. */
#define KILN_RESULT_MAP_3(X)                                                                                           \
    X(REAL, inputs_seconds, "s", "wall time of the host functions that made the inputs")                               \
    X(HOSTS, input_functions, "", "the same for each of these functions: \"NAME=SECONDS ...\"")                        \
    X(REAL, copy_seconds, "s", "wall time of copying to the device what the inputs export")                            \
    X(REAL, host_step_seconds, "s", "wall time of the `host` steps of a repetition, a part of `seconds`; the mean")    \
    X(COUNT, rounds, "", "of all `while` steps in the run that was checked; 0: there are none")

#define KILN_RESULT_MAP_NOT_KEPT_2(X)                                                                                  \
    X(UNIT, roofline_unit, "KILN_UNIT_...",                                                                            \
      "whose peak `roofline` takes: the spec's `roofline`, else the fastest one that the compiled code uses; 0: not "  \
      "known, because the sample is from a store")

#define KILN_RESULT_MAP_4(X) X(METRICS, metrics, "", "the spec's metrics besides flops and bytes: \"NAME=VALUE ...\"")

/* How the other elements are beside the worst one; of several outputs the largest. 0 in samples from before these were kept. */
#define KILN_RESULT_MAP_5(X)                                                                                           \
    X(REAL, median_error, "", "the error, as worst_error, that half of the elements do not exceed, to within 2 %")     \
    X(REAL, p999_error, "", "the error, as worst_error, that 99.9 % of the elements do not exceed, to within 2 %")

#define KILN_FIELD_UNIT unsigned
#define KILN_FIELD_FLAG int
#define KILN_FIELD_COUNT unsigned
#define KILN_FIELD_THROTTLE unsigned
#define KILN_FIELD_REAL double
#define KILN_FIELD_SECONDS double
#define KILN_FIELD_KNOWN double
#define KILN_FIELD_NANOSECONDS uint64_t
#define KILN_FIELD_MICROSECONDS int64_t
#define KILN_FIELD_TEXT const char *
#define KILN_FIELD_HOSTS kiln_host_times
/* "NAME=SECONDS ...", a function's calls together, the first call first; "" if there are none. What does not fit is
 * added up under "others". */
typedef struct kiln_host_times {
    char text[160];
} kiln_host_times;
/* "NAME=VALUE ...", in the spec's order; "" if there are none. Those are left out that need what was not measured, and
 * those that do not fit. kiln_plan_metric() gives each. */
#define KILN_FIELD_METRICS kiln_metric_values
typedef struct kiln_metric_values {
    char text[256];
} kiln_metric_values;
typedef struct kiln_result {
#define KILN_X(kind, name, unit, text) KILN_FIELD_##kind name;
    KILN_RESULT_MAP(KILN_X)
#undef KILN_X
} kiln_result;

/* Fills the buffers, runs the steps once, compares the outputs with what the spec says, then measures repetitions.
 * Waits for all of it; measurements of one engine wait for each other. `options` and `result` may be NULL. `*result`
 * belongs to the plan, and lives until its next run. KILN_ERROR_WRONG_ANSWER: the message has the first differences. */
KILN_API kiln_status kiln_plan_run(kiln_plan *plan, const kiln_run_options *options, const kiln_result **result,
                                   kiln_error **error);

/* ---- inspect: what the compiler made, without a device ------------------------------------------------------- */

typedef struct kiln_inspection kiln_inspection;

typedef struct kiln_inspected_kernel {
    const char *name, *symbol;              /* in the spec; in the module */
    int registers;                          /* a thread */
    uint64_t static_shared, dynamic_shared; /* bytes a block */
    uint64_t local_bytes;                   /* a thread */
    uint64_t constant_bytes;
    int64_t spill_store_bytes, spill_load_bytes; /* a thread, as ptxas counts them; -1: it did not say */
    unsigned block[3];
    int blocks_per_sm;
    double occupancy;       /* resident warps over the most an SM holds */
    const char *limited_by; /* "registers", "shared memory", "threads", "blocks" */
    /* attributes of its first launch, as of kiln_kernel_info; one that needs an input's data is left out */
    unsigned cluster[3];
    int cooperative, overlap, priority, carveout;
    const char *cluster_scheduling;
} kiln_inspected_kernel;

/* Compiles `choice` for `arch` ("sm_90"; NULL: that of the engine's device). With `arch` no device is needed. Free
 * *inspection with kiln_inspection_free(). */
KILN_API kiln_status kiln_inspect(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                  const char *arch, kiln_inspection **inspection, kiln_error **error);
typedef struct kiln_occupancy_info {
    size_t size; /* set by the caller: sizeof(kiln_occupancy_info) */
    int blocks_per_sm;
    double occupancy;       /* resident warps over the most an SM holds */
    const char *limited_by; /* "registers", "shared memory", "threads", "blocks"; never freed */
} kiln_occupancy_info;
/* How many blocks of `threads` threads an SM of `arch` holds, with `registers` registers a thread and `shared` bytes of
 * shared memory a block. */
KILN_API kiln_status kiln_occupancy(kiln_engine *engine, const char *arch, unsigned threads, int registers,
                                    uint64_t shared, kiln_occupancy_info *info, kiln_error **error);

/* What these return belongs to the inspection. */
KILN_API void kiln_inspection_free(kiln_inspection *inspection);                /* NULL is allowed */
KILN_API const char *kiln_inspection_arch(const kiln_inspection *inspection);   /* "sm_90" */
KILN_API const char *kiln_inspection_source(const kiln_inspection *inspection); /* as the compiler got it */
KILN_API const char *kiln_inspection_ptx(const kiln_inspection *inspection);    /* "" if there is none */
/* NULL if there is none; *bytes (may be NULL): its length. */
KILN_API const void *kiln_inspection_cubin(const kiln_inspection *inspection, size_t *bytes);
KILN_API const char *kiln_inspection_log(const kiln_inspection *inspection); /* the compiler's; "" if it is empty */
/* What ptxas did to a kernel's wgmma that costs time, a sentence each: that it serialised them, or put waits in, and why
 * (its messages C7509 to C7520). NULL past the last. */
KILN_API const char *kiln_inspection_finding(const kiln_inspection *inspection, size_t finding);
KILN_API size_t kiln_inspection_kernel_count(const kiln_inspection *inspection);
KILN_API const kiln_inspected_kernel *kiln_inspection_kernel(const kiln_inspection *inspection, size_t kernel);

/* ---- a first spec for a source ---------------------------------------------------------------------------------- */

typedef struct kiln_draft_options { /* zero-initialise, set `size`; every zero field means its default */
    size_t size;                    /* sizeof(kiln_draft_options) */
    const char *kernel;             /* NULL: the first of the file */
    const char *source;         /* how the spec names the file; NULL: by its name, so that the spec belongs beside it */
    const kiln_setting *values; /* that params are known to have; a name occurs once for each of its values */
    size_t value_count;
} kiln_draft_options;
/* Return 0. `spec` has `length` bytes, and lives until it returns. */
typedef int (*kiln_draft_fn)(void *user, const char *spec, size_t length);
/* Reads and compiles the CUDA source `path`, and calls `show` once with the text of a spec for one of its kernels: sizes,
 * params, buffers, a launch, as far as the source shows them, with comments on what was guessed. On a simulated device
 * the kernel is run for that; where the run fails, the spec says so. KILN_ERROR_NOT_FOUND: there is no such kernel;
 * KILN_ERROR_UNSUPPORTED: no spec can launch it. */
KILN_API kiln_status kiln_draft(kiln_engine *engine, const char *path, const kiln_draft_options *options,
                                kiln_draft_fn show, void *user, kiln_error **error);

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
/* Checks every entry and removes the damaged ones. `each` is called for each; if it returns nonzero, the rest is not
 * checked. */
KILN_API kiln_status kiln_cache_verify(kiln_engine *engine, kiln_cache_fn each, void *user, kiln_error **error);
/* Calls `show` once with an entry, its source and its PTX; `id` may be any unique prefix of its id. The callback's
 * return value has no effect. */
typedef int (*kiln_cache_show_fn)(void *user, const kiln_cache_entry *entry, const char *source_text, const char *ptx,
                                  size_t cubin_bytes);
KILN_API kiln_status kiln_cache_show(kiln_engine *engine, const char *id, kiln_cache_show_fn show, void *user,
                                     kiln_error **error);
/* Removes the least recently used entries until at most `max_bytes` bytes are left. *removed (entries) and *kept_bytes
 * may be NULL. */
KILN_API kiln_status kiln_cache_gc(kiln_engine *engine, uint64_t max_bytes, uint64_t *removed, uint64_t *kept_bytes,
                                   kiln_error **error);
KILN_API kiln_status kiln_cache_clear(kiln_engine *engine, uint64_t *removed, kiln_error **error);

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* Writes a whole file as Kiln writes its own: to a temporary file in the same folder, synced, then renamed, so that no
 * failure damages an older file, whose mode is kept. KILN_ERROR_IO if something other than a regular file is there (a
 * device, a FIFO, a link). Where the size of files is limited (RLIMIT_FSIZE), the process must ignore SIGXFSZ, or
 * writing ends it. */
KILN_API kiln_status kiln_file_write(const char *path, const void *data, size_t size, kiln_error **error);

/* The version of the library that runs, "0.1.0"; KILN_VERSION is that of this header. */
KILN_API const char *kiln_version(void);

#ifdef __cplusplus
}
#endif
#endif
