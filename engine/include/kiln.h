/* kiln.h - the public interface of Kiln, an engine that compiles and tunes CUDA kernels at run time.
 *
 * This header declares the engine, specs, plans and runs. kiln_tune.h declares sweeps, the store of samples and
 * best-known configurations. kiln_sim.h declares functions that only the simulated device offers. kiln_judge.h declares
 * verdicts on kernels that somebody else wrote. The last two headers are experimental. kiln_tune.h, kiln_sim.h and
 * kiln_judge.h include kiln.h.
 *
 * Objects and ownership
 *   A kiln_engine is a device (GPU or simulated), a compiler and a cache. Every other object is made from an engine.
 *   Free these objects before you close their engine. A kiln_spec is a checked problem spec. A spec never changes after
 *   it is loaded. A kiln_plan is one variant of a spec with one configuration and one set of sizes, compiled and ready
 *   to launch.
 *
 * Threads
 *   Many threads may use one kiln_engine or one kiln_spec at the same time. Only one thread at a time may use a
 *   kiln_plan or a kiln_error. Two threads may use two plans of one engine at the same time.
 *
 * Errors
 *   Every function that can fail returns a kiln_status and takes a `kiln_error **`. Pass NULL if you do not need the
 *   message. Otherwise pass the address of a NULL pointer. If the function fails, it stores an error object at this
 *   address, which the caller frees with kiln_error_free(). A function that fails leaves its output parameters
 *   unchanged. The library prints nothing, installs no signal handler and never exits. The library passes all messages
 *   to the log callback of kiln_options.
 *
 * Arguments
 *   These pointers may be NULL: `error`, `user`, options, choices and filters. NULL options, choices and filters mean
 *   the defaults. Every other pointer must not be NULL, unless its comment allows NULL. A function that returns a
 *   status checks its arguments. Such a function returns KILN_ERROR_ARGUMENT for a NULL pointer, an unknown flag, a
 *   value outside of an enum, a count without its array, a negative number or a NaN. The error message names the
 *   function and the argument ("kiln_plan_bind: buffer is NULL"). For a wrong argument, a function without a status
 *   returns NULL or 0, or -1 if it returns an index, or "" if its comment says so. Every function that frees or closes
 *   an object accepts NULL.
 *
 * Structs that the caller fills and that begin with `size_t size`
 *   Set every member to zero, then set `size` to the sizeof of the struct. A zero member of such a struct means the
 *   default. The library accepts the smaller struct of an older header and takes the missing members as zero. The
 *   library accepts the larger struct of a newer header if all bytes that the library does not know are zero. If one of
 *   these bytes is not zero, the function returns KILN_ERROR_UNSUPPORTED. The function returns KILN_ERROR_ARGUMENT if
 *   `size` is 0, ends within a member, or is a size that no header can have. No such struct is a member of another
 *   struct. A struct refers to another one by a pointer, such as `run` of kiln_tune_options. If such a pointer is NULL,
 *   the defaults apply.
 *
 * Structs that the library fills and that begin with `size_t size` (kiln_space_info, kiln_occupancy_info, kiln_score)
 *   Set `size` to the sizeof of the struct before the call. The library fills the members that it knows and sets the
 *   other members to zero. The function returns KILN_ERROR_ARGUMENT if `size` is 0, ends within a member, or is a size
 *   that no header can have.
 *
 * Structs that the library returns as a pointer to const
 *   Such a struct belongs to the library. Such a struct lives as long as the object that owns it. A struct that the
 *   library passes to a callback lives until the callback returns. A later version may add members at the end of such a
 *   struct, so a program must not keep these structs by value or in arrays. In kiln.h and kiln_tune.h such a struct
 *   contains no other struct by value. Such a struct points to the other struct, and both structs have the same
 *   lifetime. For example, a kiln_sample points to its kiln_result.
 *
 * All other structs
 *   The following structs never change: kiln_value, kiln_setting, kiln_choice, kiln_array, kiln_allocator and
 *   kiln_file_binding. Instead of adding a member to these structs, a later version adds a function.
 *
 * Names
 *   A function named `open` has a counterpart named `close`. Objects from functions named `make`, `load` or `parse`,
 *   and from functions such as kiln_tune() and kiln_profile(), are freed by a function named `free`. A callback returns
 *   an int: 0 to go on, nonzero to stop. After a nonzero value the library does not call the callback again. The
 *   function that makes the calls then fails only if its comment says so. Two types of callbacks do not return such an
 *   int. The log callback returns nothing, because it cannot stop anything. A host function returns a status, because
 *   it is an operation that can fail.
 *
 * A string that is returned as `const char *` belongs to the object that returned it, and lives as long as that
 * object. */
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

/* CUcontext, CUstream, CUfunction and CUdeviceptr are types of the CUDA Driver API. The declarations are exactly the
 * same as in cuda.h, so a program may include both headers in any order, or only kiln.h. */
typedef struct CUctx_st *CUcontext;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef unsigned long long CUdeviceptr_v2;
typedef CUdeviceptr_v2 CUdeviceptr;

/* ---- status and errors ------------------------------------------------------------------------------------- */

/* All status codes that functions return. X(name, value, text, exit code of the command). The value of a status code
 * never changes. */
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

/* Return the name of a status ("KILN_ERROR_SPEC") and its text ("an error in a spec"). Both functions never return
 * NULL. */
KILN_API const char *kiln_status_name(kiln_status status);
KILN_API const char *kiln_status_text(kiln_status status);

typedef struct kiln_error kiln_error;

/* Returns the status that the failed function returned. Returns KILN_OK if `error` is NULL. */
KILN_API kiln_status kiln_error_status(const kiln_error *error);
/* Returns the whole message, without a trailing newline. The message may have several lines, such as lines with a caret
 * below a position, or the log of the compiler. The text lives as long as the error. */
KILN_API const char *kiln_error_message(const kiln_error *error);
/* Returns the CUresult that the CUDA driver returned when it caused the error. Returns 0 if the error did not come from
 * the driver. */
KILN_API int kiln_error_cuda(const kiln_error *error);
/* Frees an error. `error` may be NULL. */
KILN_API void kiln_error_free(kiln_error *error);

/* ---- the engine -------------------------------------------------------------------------------------------- */

/* The allocator of the host memory. `resize` behaves like realloc(): if `pointer` is NULL, it allocates; if `size` is
 * 0, it frees `pointer` and returns NULL. The library may call `resize` from any thread, so `resize` must be safe for
 * several threads. */
typedef struct kiln_allocator {
    void *(*resize)(void *user, void *pointer, size_t size);
    void *user;
} kiln_allocator;

typedef enum kiln_log_level { KILN_LOG_DEBUG, KILN_LOG_INFO, KILN_LOG_WARNING } kiln_log_level;
/* Receives the messages of the library. The library may call this callback from any thread that is inside a kiln
 * function. `message` has no trailing newline. `message` lives until the callback returns. */
typedef void (*kiln_log_fn)(void *user, kiln_log_level level, const char *message);

#define KILN_NO_CACHE 1u      /* do not read or write the disk cache */
#define KILN_READ_ANYWHERE 2u /* a spec may name files outside its own folder and the search path */
/* Compile inside this process, without a confined process and without limits. If NVRTC crashes, this process ends
 * (engine/TRUST.md). */
#define KILN_NO_WORKERS 4u
/* Specs may run the commands that they name as references (engine/TRUST.md). */
#define KILN_ALLOW_COMMANDS 8u
/* Run kernels of a simulated device in a sandbox: a process that has given up its rights (engine/TRUST.md).
 *
 * A sweep starts a process for its kernels. For a run, a profile or a trace (kiln_plan_run, kiln_profile, kiln_trace),
 * the calling process itself gives up its rights permanently before it fills the buffers. Therefore call these three
 * functions only in a process that was forked for this purpose and has no other threads. After that, the process can
 * read only the files that the spec may name. It can neither start programs nor write files. Hence use `write` of
 * kiln_run_options to get its output files, and do not call kiln_plan_capture(). If the system offers no sandbox, the
 * library logs a warning and runs without it. */
#define KILN_SANDBOX 16u
/* Run kernels in a sandbox, like KILN_SANDBOX. If the system offers no sandbox, the call fails with
 * KILN_ERROR_UNSUPPORTED. */
#define KILN_SANDBOX_REQUIRED 32u

/* Tells the application how long kernels may still run. The application can then end the process if the library's own
 * time limit fails. A positive `seconds` means that kernels of this engine begin to run in this process. The kernels
 * have this number of seconds to end. Infinity means that kernels begin to run without a time limit. 0 means that the
 * kernels have ended, or that the library no longer waits for them. The member `limit` of kiln_options takes this
 * callback. */
typedef void (*kiln_limit_fn)(void *user, double seconds);

/* The processes of one job that mpirun or srun started. kiln_ranks_open() makes this object. */
typedef struct kiln_ranks kiln_ranks;

/* The options of kiln_engine_open(). Set every member to zero, then set `size`. A zero member means the default of this
 * member. The library copies the strings of this struct. */
typedef struct kiln_options {
    size_t size; /* sizeof(kiln_options) */
    /* The device: "cuda:0", "sim", "sim:PROFILE", "sim:FILE.profile" or "sim:sm_80". "sim:sm_80" chooses the device
     * profile with estimated times whose compute capability is nearest to 8.0. If `device` is NULL, $KILN_DEVICE
     * decides. If KILN_DEVICE is not set, the engine takes the first GPU. Without a GPU it takes "sim:h200", or "sim"
     * if the profile h200 is not found. If `device` is NULL and this process already uses a simulated device, the
     * engine takes that device. */
    const char *device;
    /* A CUDA context of the caller, or NULL. The engine works on the device of this context and never destroys it. The
     * context must live until the engine is closed. If `context` is set, `device` only tells which driver made the
     * context: the simulated driver ("sim") or libcuda. */
    CUcontext context;
    /* The folder of the disk cache. NULL means the folder that $KILN_CACHE_DIR names. If KILN_CACHE_DIR is not set, the
     * folder is $XDG_CACHE_HOME/kiln. If neither variable is set, the folder is ~/.cache/kiln. */
    const char *cache_dir;
    /* Folders of specs, sources and headers, separated by ':'. The library searches the folders of this member first,
     * then the folders of $KILN_PATH, then the installed folders. For headers, the library also searches the folders of
     * $KILN_INCLUDE. */
    const char *search_path;
    /* The path of the compile worker program. If `worker` is NULL, the engine starts the program that $KILN_WORKER
     * names. If KILN_WORKER is not set, the engine starts the installed program. */
    const char *worker;
    unsigned jobs;          /* the largest number of concurrent compile workers; 0 means one per core */
    unsigned flags;         /* KILN_NO_CACHE and the other flags above */
    double compile_timeout; /* time limit of one compile, in seconds; 0 means 120 */
    /* The most bytes of host memory that the buffers of one plan may take. The same limit holds for device memory. 0
     * means that only the existing memory limits the buffers. */
    uint64_t memory_limit;
    const kiln_allocator *allocator; /* copied; NULL means malloc() and free() */
    kiln_log_fn log;                 /* NULL means that the library logs nothing */
    void *log_user;
    /* The address of an int, or NULL. A signal handler or another thread sets the int to nonzero to end work on a
     * store. Then an import, and a wait for a lock that another process holds, end with KILN_ERROR_INTERRUPTED. The int
     * must live until the engine is closed. To end a run, use `stop` of kiln_run_options. */
    const volatile int *stop;
    /* The object that kiln_ranks_open() made on rank 0 of a job, or NULL. If `ranks` is set, the other ranks of the job
     * also compile and measure for this engine. NULL means that only this process works. Close the engine before you
     * call kiln_ranks_close(). */
    kiln_ranks *ranks;
    /* NULL, or a function that the library calls when kernels begin to run, and again when the kernels have ended. If
     * the library's time limit fails to end a kernel, the application can use this function to end its process
     * (engine/include/README.md). The library calls `limit` in the thread that called the library. The library holds no
     * lock during the call. */
    kiln_limit_fn limit;
    void *limit_user;
    /* The name of the size set that is used for every choice without a size set. NULL means "tiny" on a simulated
     * device, and the first set of the spec on a GPU. "" means the first set on every device. If a spec has no set of
     * this name, its first set is used. kiln_plan_size_set(), kiln_tuning_size_set() and `size_set` of kiln_best tell
     * which size set is in use. */
    const char *size_set;
} kiln_options;

typedef struct kiln_engine kiln_engine;

/* Opens an engine. `options` may be NULL. Close *engine with kiln_engine_close().
 *
 * If `context` is NULL, the function opens neither the device nor NVRTC, so it works on a machine without a device and
 * without NVRTC. The first call that needs the device opens it, and returns KILN_ERROR_NO_DEVICE if there is no such
 * device. The first call that needs NVRTC returns KILN_ERROR_NO_COMPILER if there is no usable NVRTC. */
KILN_API kiln_status kiln_engine_open(const kiln_options *options, kiln_engine **engine, kiln_error **error);
/* Ends the processes of the engine and frees it. Free every object that was made from the engine first. `engine` may be
 * NULL. If a time limit ended a sweep, some of its compiles may still be running. kiln_engine_close() then first waits
 * for these compiles, so that the cache gets their code. The wait takes at most `compile_timeout`. A nonzero *stop of
 * kiln_options ends this wait. */
KILN_API void kiln_engine_close(kiln_engine *engine);

/* ---- many machines: a job of several processes, one for each GPU --------------------------------------------- */

typedef struct kiln_ranks_options {
    size_t size; /* sizeof(kiln_ranks_options) */
    /* The path of the plug-in that passes messages between the processes. NULL means the plug-in that $KILN_MPI names.
     * If KILN_MPI is not set, NULL means the installed libkiln-mpi.so. */
    const char *plugin;
    int required; /* 1 means that the plug-in is opened even if no launcher is recognised */
    /* The length of a lease, in seconds. If a rank sends no message for the length of a lease, rank 0 regards the rank
     * as lost, and other ranks repeat its unfinished work. 0 means 30 seconds. */
    double lease;
    const kiln_allocator *allocator; /* copied; NULL means malloc() and free() */
    kiln_log_fn log;                 /* NULL means that nothing is logged. Threads of the library may call `log` */
    void *log_user;
} kiln_ranks_options;

/* Joins the job in which a launcher (mpirun, srun) started this process. Close *ranks with kiln_ranks_close().
 *
 * If no launcher started this process, or if this process is the only one of its job, the function returns KILN_OK and
 * leaves *ranks NULL. Call kiln_ranks_open() once in a process, before any other code of the process uses MPI. The same
 * thread must later call kiln_ranks_close(). KILN_ERROR_NOT_FOUND: there is no plug-in. KILN_ERROR_UNSUPPORTED: the
 * launcher and the MPI of the plug-in do not fit together; the message tells how to start the job. */
KILN_API kiln_status kiln_ranks_open(const kiln_ranks_options *options, kiln_ranks **ranks, kiln_error **error);
/* Returns the rank of this process: its number in the job. Rank 0 leads the job and runs the sweep. Every other rank
 * calls kiln_ranks_serve(). */
KILN_API int kiln_ranks_rank(const kiln_ranks *ranks);
/* Returns the number of processes in the job, at least 2. */
KILN_API int kiln_ranks_count(const kiln_ranks *ranks);
/* Returns the number of this process among the processes of its machine, from 0. */
KILN_API int kiln_ranks_local(const kiln_ranks *ranks);
/* Does the work of a rank other than rank 0: compiles and measures for rank 0. The function returns when rank 0 calls
 * kiln_ranks_close().
 *
 * If the devices of a job are of several models, one rank of each model leads the ranks of this model. If this rank
 * becomes the leader of its model, kiln_ranks_serve() returns earlier, and kiln_ranks_rank() then returns 0. The caller
 * should then open another engine with these ranks, and run a sweep with it. */
KILN_API kiln_status kiln_ranks_serve(kiln_ranks *ranks, kiln_engine *engine, kiln_error **error);
/* Receives the answer of one of the sweeps that a job runs. `rank` is the rank that led the sweep. `device` is the
 * model of that rank's device; NULL for rank 0. `answer` is the text that this rank passed to kiln_ranks_collect(). The
 * text `answer` lives until kiln_ranks_close(). `answer` is NULL if the rank passed no text or was lost. */
typedef void (*kiln_ranks_answer_fn)(void *user, int rank, const char *device, const char *answer);
/* Collects the answers of all sweeps of a job. A job whose devices are of several models runs one sweep for each model.
 *
 * Each rank that leads a sweep calls this function once, after its sweep, with its answer as a text. Rank 0 waits for
 * the answers of the other leaders. Then rank 0 calls `each` in the calling thread, first for itself and then for the
 * other leaders in the order of their ranks. A leader that sends no message for the length of a lease counts as lost,
 * and its answer is NULL. On the other leaders, kiln_ranks_collect() does not call `each`. `stop` may be NULL. Once
 * *stop is nonzero, rank 0 waits for the other leaders for at most one lease. */
KILN_API kiln_status kiln_ranks_collect(kiln_ranks *ranks, const char *answer, const volatile int *stop,
                                        kiln_ranks_answer_fn each, void *user, kiln_error **error);
/* Leaves the job. If this process is rank 0, it tells the other ranks that the job has ended. `ranks` may be NULL. */
KILN_API void kiln_ranks_close(kiln_ranks *ranks);

/* Features that some devices have and others lack. The key `needs` of a spec names such a feature as `device.KEY`. The
 * simulated device has every feature whose instructions it can execute. X(name, value, key, text) */
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
    int simulated;          /* 1 means that this is a simulated device */
    int cc_major, cc_minor; /* compute capability */
    int sm_count, warp_size, max_threads_per_block, max_threads_per_sm;
    int registers_per_block, registers_per_sm;
    uint64_t shared_per_block; /* bytes of shared memory that a block may use without opting in to more */
    uint64_t shared_per_block_optin, shared_per_sm;
    uint64_t l2_bytes, memory_bytes;
    double clock_hz, memory_clock_hz;
    int memory_bus_bits;
    double peak_flops;     /* peak fp32 operations a second, from cores and clock; a fused multiply-add counts 2 */
    double peak_bandwidth; /* peak bytes of memory traffic a second, from bus width and clock */
    int driver_version;    /* 13000 means CUDA 13.0; 0 means the simulated device */
    unsigned features;     /* a set of KILN_FEATURE_... bits */
    double
        /* The peak rate of each arithmetic unit for dense matrices, in operations a second; the index is a
         * KILN_UNIT_... value. The library computes the rate from the number of units and the clock. A fused
         * multiply-add counts as 2 operations. 0 means that the device has no such unit. */
        unit_flops[16];
} kiln_device_info;

/* Sets *info to the description of the engine's device. The function opens the device if it is not open yet. `*info`
 * lives as long as the engine. */
KILN_API kiln_status kiln_engine_device(kiln_engine *engine, const kiln_device_info **info, kiln_error **error);
/* Calls `each` for every device of this machine, first the GPUs and then the simulated devices. `info` lives until the
 * callback returns. If the callback returns nonzero, the library does not call it again. */
typedef int (*kiln_device_fn)(void *user, const kiln_device_info *info);
KILN_API kiln_status kiln_devices(kiln_engine *engine, kiln_device_fn each, void *user, kiln_error **error);

/* One finding of kiln_doctor(): the state of one thing that this machine has or lacks, such as the driver, NVRTC or the
 * cache. */
typedef struct kiln_finding {
    const char *topic; /* "driver", "nvrtc", "cache", ... */
    int ok;            /* 1 means usable; 0 means missing or broken */
    /* 1 means that Kiln needs this thing; 0 means that Kiln works without this thing, but can do less */
    int needed;
    const char *found;  /* "libnvrtc.so.13, version 13.0" */
    const char *remedy; /* remedy for the user; "" if ok is 1 */
} kiln_finding;
/* Receives one finding. If the callback returns nonzero, the library does not call it again. */
typedef int (*kiln_finding_fn)(void *user, const kiln_finding *finding);
KILN_API kiln_status kiln_doctor(kiln_engine *engine, kiln_finding_fn report, void *user, kiln_error **error);

/* ---- values ------------------------------------------------------------------------------------------------ */

typedef enum kiln_kind { KILN_INT, KILN_FLOAT, KILN_BOOL, KILN_TEXT } kiln_kind;

typedef struct kiln_value {
    kiln_kind kind;
    union {
        int64_t i; /* KILN_INT, KILN_BOOL (0 or 1) */
        double f;  /* KILN_FLOAT */
        /* KILN_TEXT. The struct kiln_value does not copy the text. The text belongs to the object that has the
         * value. */
        const char *text;
    } as;
} kiln_value;

typedef struct kiln_setting {
    const char *name;
    kiln_value value;
} kiln_setting;

/* The element types of buffers and arrays. X(name, bytes, numpy code, kind, exponent bits, mantissa bits, relative
 * tolerance, absolute tolerance). A comparison uses these tolerances if the spec gives none for it.
 *
 * The kind FINITE is a float without infinities whose only NaN has all bits set. The kind NUMBER is a float without
 * infinities and NaN: its code is in the low bits of a byte, and the other bits are 0. The kind POWER is a power of two
 * without a sign: the byte is the exponent, and the only NaN has all bits set. For the kind COMPLEX the bits and
 * tolerances describe the real part or the imaginary part. In memory the real part comes before the imaginary part. The
 * numpy codes V1 and V2 stand for bytes without a numeric meaning. numpy with ml_dtypes writes these codes for types
 * that numpy itself lacks, such as bf16. A later version may add columns, kinds and types, so a program should write
 * `...` for the columns that it does not need. */
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
    X(complex128, 16, "c16", COMPLEX, 11, 52, 1e-12, 1e-14)                                                            \
    X(f4e2m1, 1, "V1", NUMBER, 2, 1, 0.375, 0.5)                                                                       \
    X(f6e2m3, 1, "V1", NUMBER, 2, 3, 0.125, 0.125)                                                                     \
    X(f6e3m2, 1, "V1", NUMBER, 3, 2, 0.25, 0.0625)                                                                     \
    X(ue8m0, 1, "V1", POWER, 8, 0, 0, 0)
typedef enum kiln_type {
#define KILN_X(name, ...) KILN_##name,
    KILN_TYPE_MAP(KILN_X)
#undef KILN_X
        KILN_TYPE_COUNT
} kiln_type;

#define KILN_MAX_DIMS 8
/* A dense row-major array in host memory. Each function that uses a kiln_array tells who owns `data`. */
typedef struct kiln_array {
    kiln_type type;
    int dims; /* 0 dimensions mean a scalar */
    uint64_t shape[KILN_MAX_DIMS];
    void *data;
} kiln_array;

/* ---- host functions ---------------------------------------------------------------------------------------- */

/* A call of a host function: it has the arguments that the spec gives, and it receives the results. A kiln_call lives
 * until the host function returns. */
typedef struct kiln_call kiln_call;

/* These functions return the argument `name` of a host function as a number or a text. If the call has no argument
 * `name` and `fallback` is not NULL, the functions return the fallback. KILN_ERROR_HOST_FUNCTION: the argument is
 * missing and has no fallback, or the argument has another kind. KILN_ERROR_ARGUMENT: a pointer is NULL. The call keeps
 * the reason, which is a message for the author of the spec. Therefore the host function should return this status. The
 * texts belong to the call. */
KILN_API kiln_status kiln_call_int(kiln_call *call, const char *name, const int64_t *fallback, int64_t *value);
KILN_API kiln_status kiln_call_float(kiln_call *call, const char *name, const double *fallback, double *value);
KILN_API kiln_status kiln_call_text(kiln_call *call, const char *name, const char *fallback, const char **value);
/* kiln_call_array() returns an array argument, which the host function may only read. kiln_call_output() returns an
 * output, which the host function writes in place. Both arrays belong to the call. `data` of an array is NULL only if
 * the array has no elements. */
KILN_API kiln_status kiln_call_array(kiln_call *call, const char *name, const kiln_array **array);
KILN_API kiln_status kiln_call_output(kiln_call *call, const char *name, kiln_array **array);
/* Sets *path to the resolved path of a file that the spec names, after a check that the spec may read this file
 * (engine/TRUST.md). *path belongs to the call. */
KILN_API kiln_status kiln_call_file(kiln_call *call, const char *name, const char **path);
/* These functions export a result of a host function that makes an input (`inputs:` of the spec). An export is a number
 * or an array that the spec can use by name. kiln_call_export_array() makes an array of zeros, and the host function
 * then writes its elements. `shape` has `dims` sizes. If `dims` is 0, the function does not read `shape`. *array
 * belongs to the call. `name` may contain dots. */
KILN_API kiln_status kiln_call_export_int(kiln_call *call, const char *name, int64_t value);
KILN_API kiln_status kiln_call_export_float(kiln_call *call, const char *name, double value);
KILN_API kiln_status kiln_call_export_array(kiln_call *call, const char *name, kiln_type type, int dims,
                                            const uint64_t *shape, kiln_array **array);
/* Exports an array with one dimension of `length` elements, without a copy. The memory *data must come from
 * kiln_call_allocator(). The call takes ownership of this memory, and sets *data to NULL. If kiln_call_export_data()
 * fails, the host function still owns *data. */
KILN_API kiln_status kiln_call_export_data(kiln_call *call, const char *name, kiln_type type, uint64_t length,
                                           void **data);
/* Stores the reason why the host function failed and returns KILN_ERROR_HOST_FUNCTION. `format` and the further
 * arguments are the same as for printf(). */
KILN_API kiln_status kiln_call_fail(kiln_call *call, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* Stores the reason like kiln_call_fail(), but returns `status`, for example KILN_ERROR_MEMORY. */
KILN_API kiln_status kiln_call_fail_as(kiln_call *call, kiln_status status, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* Returns the allocator of the engine, which the host function may use for its own work. NULL means malloc(). */
KILN_API const kiln_allocator *kiln_call_allocator(const kiln_call *call);
/* Returns the address of a flag that becomes nonzero when the caller wants the call to end. A host function that works
 * for seconds should read the flag from time to time, and then fail with KILN_ERROR_INTERRUPTED. NULL means that the
 * caller cannot end the call. */
KILN_API const volatile int *kiln_call_stop(const kiln_call *call);

/* A sparse matrix in compressed rows: the entries of row r have the numbers offsets[r] to offsets[r + 1] - 1. Within a
 * row the columns ascend. */
typedef struct kiln_csr {
    uint32_t rows, columns, nonzeros;
    uint32_t *offsets; /* rows + 1 */
    uint32_t *index;   /* the column of each entry */
    float *values;     /* the value of each entry; NULL means a pattern without values */
} kiln_csr;
/* Reads a Matrix Market file or a list of edges (`from to [weight]`), gzipped or not, with all cores of the machine. A
 * Matrix Market file may have the formats coordinate and array, the fields real, integer and pattern, and every
 * symmetry except hermitian. `path` comes from kiln_call_file(). If `graph` is nonzero, the result is a pattern without
 * loops that has each edge in both directions. If the function fails, the call has a message with the line and the
 * column in the file. */
KILN_API kiln_status kiln_call_matrix(kiln_call *call, const char *path, int graph, kiln_csr *matrix);
KILN_API void kiln_call_matrix_free(const kiln_call *call, kiln_csr *matrix); /* a zeroed `matrix` is allowed */

typedef kiln_status (*kiln_host_fn)(void *user, kiln_call *call);

/* For `verify: {host: NAME}`. The function reads the buffers and writes the expected outputs. */
#define KILN_HOST_REFERENCE 1u
#define KILN_HOST_INPUT 2u /* for `inputs:` */
#define KILN_HOST_STEP 4u  /* for `steps:` */
/* Combine a purpose with this flag if Kiln's own programs register the same function under the same name. Kiln's
 * programs register the host functions of the catalogue (kernel_src/). If this flag is set, the results of the function
 * must depend only on its code and its arguments. Kiln then keeps the references that the function computes on disk.
 * Without this flag, a sweep that calls the function measures in its own process, because other processes do not have
 * the function. Without this flag, a spec that kiln_capture() writes cannot call the function. */
#define KILN_HOST_SHIPPED 8u

/* Makes `function` callable as `name` from specs of this engine, for the purposes `uses` (KILN_HOST_...). Call
 * kiln_register_host() before you load the specs that name the function. The library passes `user` to the function, so
 * `user` must live as long as the engine. Any thread that uses the engine may call the function. The host function must
 * not call functions of the engine. A reference function gets every buffer and every size of the spec as an argument
 * with the name that the spec gives it. kiln_catalogue_register() (kiln_catalogue.h) registers the functions that the
 * specs of the catalogue name. */
KILN_API kiln_status kiln_register_host(kiln_engine *engine, const char *name, unsigned uses, kiln_host_fn function,
                                        void *user, kiln_error **error);

/* Describes a host function. */
typedef struct kiln_host_info {
    const char *name;
    unsigned uses;     /* KILN_HOST_... */
    const char *takes; /* the names of its arguments; an argument in brackets has a default */
    const char *gives; /* the outputs that it writes, or the names that it exports */
} kiln_host_info;
/* Tells the engine which arguments the registered function `name` takes, in the form of `takes` of kiln_host_info. If a
 * spec names the host function as a reference, the engine then checks the arguments when it loads the spec. Each
 * argument without a default must have the name of a buffer, a size or another value of the spec. Otherwise the engine
 * refuses the spec. Call kiln_describe_host() before you load the specs that name the function. The engine copies
 * `name` and `takes`. KILN_ERROR_NOT_FOUND: the function is not registered. */
KILN_API kiln_status kiln_describe_host(kiln_engine *engine, const char *name, const char *takes, kiln_error **error);
/* Returns a host function that every engine has, by its number from 0. Returns NULL past the last function. */
KILN_API const kiln_host_info *kiln_host(size_t number);

/* ---- specs ------------------------------------------------------------------------------------------------- */

typedef struct kiln_spec kiln_spec;

/* Loads a spec from a path, or by a name, which is looked up as NAME.yaml in the search path. kiln_spec_load() needs no
 * device. Free *spec with kiln_spec_free(), after all plans of this spec. KILN_ERROR_NOT_FOUND: there is no such file.
 * KILN_ERROR_SPEC: the spec has errors; the message lists all of them with line and column. */
KILN_API kiln_status kiln_spec_load(kiln_engine *engine, const char *path_or_name, kiln_spec **spec,
                                    kiln_error **error);
/* Loads a spec from `length` bytes in memory, which the engine copies. The messages about the spec show `name` as the
 * name of the file. The library searches for the spec's sources and files in the folder of `name`. */
KILN_API kiln_status kiln_spec_parse(kiln_engine *engine, const char *text, size_t length, const char *name,
                                     kiln_spec **spec, kiln_error **error);
/* Frees a spec. `spec` may be NULL. */
KILN_API void kiln_spec_free(kiln_spec *spec);

/* The following functions describe a spec. The results of these functions belong to the spec. Variants, params,
 * constraints, size sets and buffers are numbered from 0. For a number past the last one, such a function returns NULL,
 * or 0 if it returns a count. */
KILN_API const char *kiln_spec_name(const kiln_spec *spec);
KILN_API const char *kiln_spec_title(const kiln_spec *spec);
KILN_API const char *kiln_spec_about(const kiln_spec *spec); /* several sentences; "" if the spec has none */
/* Returns the path of the spec's file, or the name that was passed to kiln_spec_parse(). */
KILN_API const char *kiln_spec_path(const kiln_spec *spec);

KILN_API size_t kiln_spec_variant_count(const kiln_spec *spec);
KILN_API const char *kiln_spec_variant_name(const kiln_spec *spec, size_t variant);
KILN_API const char *kiln_spec_variant_about(const kiln_spec *spec, size_t variant);
/* Returns 1 if the variant is a contender: it does the work of the spec, and a search may call it the best. Returns 0
 * if the variant is only there for comparison, such as an upper bound or an access pattern (`contender: false` in the
 * spec). */
KILN_API int kiln_spec_variant_contender(const kiln_spec *spec, size_t variant);
/* Returns the number of the variant that is used if a choice names no variant: the first contender. */
KILN_API size_t kiln_spec_variant_first(const kiln_spec *spec);
/* Returns the number of the variant `name`, or -1 if the spec has no such variant. */
KILN_API int kiln_spec_variant_find(const kiln_spec *spec, const char *name);

typedef struct kiln_param_info {
    const char *name;
    size_t count; /* number of values; at least 1 */
    const kiln_value *values;
    size_t initial; /* the index of the default value */
} kiln_param_info;
KILN_API size_t kiln_spec_param_count(const kiln_spec *spec, size_t variant);
KILN_API const kiln_param_info *kiln_spec_param(const kiln_spec *spec, size_t variant, size_t param);
/* Returns the number of constraints (`where:`) of a variant, or one constraint as the text in the spec. */
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
    /* The shape as the text in the spec, such as "[M, N]". If the shape comes with the data, the text is "made by
     * FUNCTION" or "as in the file". */
    const char *shape;
    int output; /* 1 means that the spec declares this buffer as an output (`out: true`) */
    /* NULL, or the text in the spec that chooses the type: an expression or "from NAME". If the text is "from NAME",
     * `type` has no meaning. */
    const char *type_text;
} kiln_buffer_info;
KILN_API size_t kiln_spec_buffer_count(const kiln_spec *spec);
KILN_API const kiln_buffer_info *kiln_spec_buffer(const kiln_spec *spec, size_t buffer);

/* Lists the specs of the search path in the order of their names. The strings live until the callback returns. If the
 * callback returns nonzero, the library does not call it again. */
typedef int (*kiln_list_fn)(void *user, const char *name, const char *title, const char *path);
KILN_API kiln_status kiln_spec_list(kiln_engine *engine, kiln_list_fn each, void *user, kiln_error **error);

/* These functions return the entries of the keys `target` and `needs` of a variant, as the spec has them. A target is
 * an architecture for which the variant is compiled ("sm_90a"). A need is a condition on the device. */
KILN_API size_t kiln_spec_target_count(const kiln_spec *spec, size_t variant);
KILN_API const char *kiln_spec_target(const kiln_spec *spec, size_t variant, size_t target);
KILN_API size_t kiln_spec_need_count(const kiln_spec *spec, size_t variant);
KILN_API const char *kiln_spec_need(const kiln_spec *spec, size_t variant, size_t need);
/* Tells whether the engine's device can run the variant. The function opens the device if it is not open yet. Returns
 * KILN_OK if the device can run the variant. Returns KILN_ERROR_UNSUPPORTED if the device lacks a feature that the
 * variant needs; the message names this feature. A sweep leaves such a variant out, and kiln_plan_open() fails with the
 * same error. */
KILN_API kiln_status kiln_variant_supported(kiln_engine *engine, const kiln_spec *spec, size_t variant,
                                            kiln_error **error);

/* ---- the keys of the spec format --------------------------------------------------------------------------- */

typedef enum kiln_spec_key_need {
    KILN_KEY_OPTIONAL,
    KILN_KEY_REQUIRED,
    /* Several keys of the mapping have this value. The mapping must have exactly one of these keys. */
    KILN_KEY_ONE_OF,
    /* The mapping accepts any key. Help and documentation show `name` in place of the key. */
    KILN_KEY_ANY
} kiln_spec_key_need;
typedef struct kiln_spec_key_info {
    const char *mapping;       /* the mapping that has the key: "spec", "launch", ... */
    const char *mapping_about; /* one line about the mapping, the same text for all its keys */
    /* An additional JSON schema for the mapping, or "{}". This schema tells which keys of the mapping may or must occur
     * together. All keys of one mapping have the same `mapping_rule`. */
    const char *mapping_rule;
    const char *name; /* "grid" */
    kiln_spec_key_need need;
    const char *value; /* the kind of value: "expression", "list of steps" */
    /* The kind of value as a JSON schema. The schema refers to the schema of the mapping NAME as #/$defs/NAME. */
    const char *schema;
    const char *about; /* one line about the key */
    /* The part of a stored sample that depends on the value of the key, such as "code". If the value of the key
     * changes, a sweep cannot reuse samples that have this part. */
    const char *changes;
} kiln_spec_key_info;
/* Returns the key with this number, from 0. The keys of one mapping follow one another. Returns NULL for a number past
 * the last key. */
KILN_API const kiln_spec_key_info *kiln_spec_key(size_t number);

/* ---- a choice: which variant, which configuration, which sizes ---------------------------------------------- */

/* Chooses a variant, a configuration and sizes of a spec. A zero member means its default: the first contender, the
 * default value of each param, the first size set. On the simulated device the default size set is `tiny`. A function
 * that gets a kiln_choice reads it, and everything that it points to, only during the call. */
typedef struct kiln_choice {
    const char *variant;
    const kiln_setting *params; /* any subset of the params, by name */
    size_t param_count;
    const char *size_set;
    const kiln_setting *sizes; /* replace single sizes of the size set, by name */
    size_t size_count;
} kiln_choice;

/* ---- plans: compiled, bound, launched ----------------------------------------------------------------------- */

typedef struct kiln_plan kiln_plan;

/* Compiles the code for `choice`, or takes it from the cache, and loads it on the engine's device. kiln_plan_open()
 * allocates no buffers. The plan refers to the spec, which must live longer than the plan. Close *plan with
 * kiln_plan_close(). KILN_ERROR_CONSTRAINT: the configuration breaks a constraint. KILN_ERROR_COMPILE: the compiler
 * refused the code; the message contains the compiler's log. */
KILN_API kiln_status kiln_plan_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                    kiln_plan **plan, kiln_error **error);
/* Frees the plan and the buffers that it allocated. kiln_plan_close() does not free buffers that the caller bound.
 * `plan` may be NULL. */
KILN_API void kiln_plan_close(kiln_plan *plan);

/* Makes the plan use the caller's device memory for a buffer. `bytes` is the length of that memory, and must be at
 * least the size of the buffer. The memory must live until the plan is closed or the caller binds another pointer. */
KILN_API kiln_status kiln_plan_bind(kiln_plan *plan, const char *buffer, CUdeviceptr pointer, size_t bytes,
                                    kiln_error **error);
/* Changes `count` sizes of an open plan. The plan compiles again only if its code depends on one of these sizes. If the
 * size of a buffer changes, the plan frees the buffer that it allocated, or drops the binding of the caller's
 * memory. */
KILN_API kiln_status kiln_plan_resize(kiln_plan *plan, const kiln_setting *sizes, size_t count, kiln_error **error);
/* Returns the name of the size set that the plan uses: the set of its choice, or the default (`size_set` of
 * kiln_options). The name lives as long as the spec. */
KILN_API const char *kiln_plan_size_set(const kiln_plan *plan);
/* Returns a size of the plan by its number, from 0, or NULL past the last size. The returned size lives until the plan
 * is resized or closed. */
KILN_API const kiln_setting *kiln_plan_size(const kiln_plan *plan, size_t number);
/* Returns the size of a buffer of the plan in bytes. */
KILN_API kiln_status kiln_plan_buffer_bytes(const kiln_plan *plan, const char *buffer, uint64_t *bytes,
                                            kiln_error **error);
/* Returns the device pointer of a buffer. If the buffer is neither bound nor allocated yet, the plan allocates it and
 * fills it as the spec describes. The pointer stays valid until the plan is closed or the buffer is resized. */
KILN_API kiln_status kiln_plan_buffer(kiln_plan *plan, const char *buffer, CUdeviceptr *pointer, kiln_error **error);
/* Copy a whole buffer from the host to the device (write) or from the device to the host (read), and wait for the
 * copy. `bytes` must be the size of the buffer. */
KILN_API kiln_status kiln_plan_write(kiln_plan *plan, const char *buffer, const void *data, size_t bytes,
                                     kiln_error **error);
KILN_API kiln_status kiln_plan_read(kiln_plan *plan, const char *buffer, void *data, size_t bytes, kiln_error **error);

/* kiln_plan_launch() enqueues the steps of the variant on `stream` and returns. The call leaves out the steps of
 * `before_each`, which kiln_plan_reset() enqueues. `stream` may be NULL, which means the default stream. Any other
 * stream must belong to the context of the engine. If the variant has steps on the host, or loops that depend on data,
 * the call waits for the stream. As in CUDA, a later call reports an error that occurs in a kernel. */
KILN_API kiln_status kiln_plan_launch(kiln_plan *plan, CUstream stream, kiln_error **error);
KILN_API kiln_status kiln_plan_reset(kiln_plan *plan, CUstream stream, kiln_error **error);

typedef struct kiln_kernel_info {
    const char *name;           /* the name in the spec */
    CUfunction function;        /* belongs to the plan */
    unsigned grid[3], block[3]; /* grid and block of the first launch of this kernel in the plan */
    unsigned dynamic_shared;    /* bytes of dynamic shared memory of a block */
    int from_cache;             /* 1 means that the code came from the disk cache */
    /* `cluster` and the members after it are the attributes of the kernel's first launch. The spec sets them by keys of
     * the same names. */
    unsigned cluster[3]; /* blocks in a cluster; 0 means no clusters */
    int cooperative, overlap;
    int priority;
    int carveout;                   /* percent of shared memory in an SM; -1 means that the spec does not set it */
    const char *cluster_scheduling; /* "" if the spec does not set it */
} kiln_kernel_info;
KILN_API size_t kiln_plan_kernel_count(const kiln_plan *plan);
/* Returns a kernel of the plan by its number, from 0, or NULL past the last kernel. The struct lives until the plan is
 * resized or closed. */
KILN_API const kiln_kernel_info *kiln_plan_kernel(kiln_plan *plan, size_t kernel);

/* These functions return the metrics of the plan's variant, together with `flops` and `bytes`. kiln_plan_metric()
 * computes one metric for the params, sizes and inputs of the plan. If the plan has not made its inputs yet,
 * kiln_plan_metric() makes them. If a metric uses measurements, kiln_plan_metric() takes them from the last run of the
 * plan. *name lives as long as the spec. KILN_ERROR_NOT_FOUND: `metric` is past the last metric.
 * KILN_ERROR_UNSUPPORTED: the metric needs a value that was not measured; *name is set even then. */
KILN_API size_t kiln_plan_metric_count(const kiln_plan *plan);
KILN_API kiln_status kiln_plan_metric(kiln_plan *plan, size_t metric, const char **name, double *value,
                                      kiln_error **error);

/* ---- capture: a launch written as a spec with its data ----------------------------------------------------
 *
 * A captured launch is a folder FOLDER/SPEC-000 (-001, ...) with a spec and all the files that the spec needs. The
 * command `kiln tune FOLDER/SPEC-000/SPEC.yaml` runs the captured launch without changes. The spec of a captured launch
 * has these parts:
 *
 * - the sizes of the launch;
 * - the contents of the buffers before the launch, as .npy files;
 * - the contents of the outputs after the launch, as the expected answers;
 * - the sources and headers;
 * - the configuration of the launch as the defaults;
 * - every variant, and every param that can still vary.
 *
 * engine/plan/capture/CAPTURE.md tells which files are written, and when. Only launches of plans are captured, not the
 * launches of other CUDA code. A call whose launch is captured waits until the launch has ended. While no capture is
 * requested, a launch costs only one additional comparison. */

typedef struct kiln_capture_options {
    size_t size; /* sizeof(kiln_capture_options); every zero member means its default */
    /* The name of a kernel or a spec whose launches are captured. For a kernel that is a template, the name may leave
     * out the template arguments. NULL or "*" means that every launch is captured. */
    const char *what;
    /* The folder that gets the captured launches. If the folder does not exist, the library makes it. NULL means the
     * folder that $KILN_CAPTURE_DIR names, or "kiln-capture" if this variable is not set. */
    const char *folder;
    unsigned count; /* the number of launches to capture; 0 means 1 */
    /* The most bytes of buffer contents in one capture. 0 means the limit that $KILN_CAPTURE_LIMIT gives, or 4 GiB if
     * this variable is not set. */
    uint64_t limit;
} kiln_capture_options;

/* Captures the next `count` calls of kiln_plan_launch() that launch `what` on any plan of the engine. If `options` is
 * NULL, the engine captures no further launches. The environment variable KILN_CAPTURE=WHAT or KILN_CAPTURE=WHAT:COUNT,
 * which kiln_engine_open() reads, has the same effect; WHAT may be '*'. If a launch cannot be captured, the library
 * logs a warning with the reason and performs the launch without a capture. Any thread may call kiln_capture(). */
KILN_API kiln_status kiln_capture(kiln_engine *engine, const kiln_capture_options *options, kiln_error **error);
/* Captures this plan's next launch, or the verified run of its next kiln_plan_run(), as a spec with its data. The spec
 * gets a new folder below `folder`. A NULL `folder` means the default of kiln_capture_options. If the capture fails,
 * that launch or run fails with the same error. */
KILN_API kiln_status kiln_plan_capture(kiln_plan *plan, const char *folder, kiln_error **error);
/* Returns the folder that holds the spec of this plan's last captured launch, or NULL if no launch was captured. The
 * text lives until the next capture. */
KILN_API const char *kiln_plan_captured(const kiln_plan *plan);

/* ---- run: fill, launch, verify, measure ---------------------------------------------------------------------- */

/* One finding of the checks of the simulated device. kiln_sim.h declares its members. */
typedef struct kiln_check_finding kiln_check_finding;
/* Receives one finding. If the callback returns nonzero, the library does not call it again. */
typedef int (*kiln_check_fn)(void *user, const kiln_check_finding *finding);

typedef struct kiln_file_binding {
    const char *buffer;
    const char *path; /* .npy */
} kiln_file_binding;

#define KILN_RUN_NO_VERIFY 1u  /* do not compare the answers of the run with the expected answers */
#define KILN_RUN_NO_MEASURE 2u /* run once, and measure nothing */
#define KILN_RUN_KEEP_L2 4u    /* never flush the L2 cache between repetitions */
/* Always flush the L2 cache between repetitions. If neither L2 flag is set, the run flushes the L2 cache only if the
 * buffers fit into it. */
#define KILN_RUN_FLUSH_L2 8u
/* Check every launch for the errors of KILN_CHECK_MAP, and call `check` with each finding. On a GPU the run fails
 * with KILN_ERROR_UNSUPPORTED. The simulated device reports and skips an access that would fault, so that one run
 * finds all errors. After a skipped access the answer may be wrong. */
#define KILN_RUN_CHECK 16u
/* Also measure the energy that a repetition takes, if the GPU has a counter for energy. The counter changes only about
 * ten times a second, so this measurement takes about one second longer. */
#define KILN_RUN_ENERGY 32u
/* For kiln_profile(): compile only to PTX. Registers and occupancy are then estimates of the simulated device. */
#define KILN_RUN_NO_MACHINE_CODE 64u

/* Receives the content of a file that the library would otherwise write. The callback returns nonzero if it cannot
 * write the bytes. */
typedef int (*kiln_write_fn)(void *user, const char *path, const void *data, size_t bytes);

typedef struct kiln_run_options {
    size_t size;    /* sizeof(kiln_run_options); every zero member means its default */
    unsigned flags; /* KILN_RUN_... */
    /* The longest time to measure, in seconds. 0 means one second on a GPU, and one repetition on the simulated
     * device. */
    double budget;
    /* The run ends its measurement at this precision: half the width of the 95 % confidence interval of the median,
     * relative to the median. 0 means 0.01. */
    double precision;
    /* The least and the greatest number of repetitions, at most 1,000,000. If `min_repetitions` is 0, the minimum is 7
     * on a GPU and 1 on the simulated device. If `max_repetitions` is 0, the maximum is 1000. */
    unsigned min_repetitions, max_repetitions;
    /* Buffers that the run fills from files instead of as the spec describes. */
    const kiln_file_binding *inputs;
    size_t input_count;
    /* Buffers that the run writes to files after the verified run. */
    const kiln_file_binding *outputs;
    size_t output_count;
    /* Only a run with the flag KILN_RUN_CHECK calls this callback. When the run has ended or failed, the calling thread
     * calls `check` with each finding, in the order of discovery. The strings of a finding live until the callback
     * returns. */
    kiln_check_fn check;
    void *check_user;
    /* A time in seconds; 0 means never. The run ends its measurement early if the configuration certainly takes longer
     * than this time (engine/plan/measure/README.md). The run verifies the answer in any case. If a run ended its
     * measurement early, `stopped_early` of its result is 1. */
    double stop_early_above;
    /* The time limit of the configuration, in seconds of wall time from its first launch on. When the time limit is
     * over, the run ends with KILN_ERROR_TIMEOUT. A negative value means no limit. 0 means the sum of three times: 60
     * seconds, twice the budget, and four times the first run for each of min_repetitions. If verify_runs is above 1,
     * the limit grows by verify_seconds. If verify_seconds is 0, the limit grows by four times the first run for each
     * of verify_runs. A reference that is another variant has a separate time limit of the same length. On the
     * simulated device the library ends the kernel, and the message names the loop in which the kernel was. The library
     * cannot end a kernel on a GPU. Therefore the engine cannot be used after a timeout on a GPU, and the process
     * should end soon. */
    double sample_timeout;
    /* The address of an int, or NULL. A signal handler or another thread sets the int to nonzero to end the run with
     * KILN_ERROR_INTERRUPTED. A kernel on the simulated device ends at once, and its context stays usable. For a kernel
     * on a GPU the library waits for at most one second. The library reads the int only during the call of
     * kiln_plan_run(). */
    const volatile int *stop;
    /* Receives the files of `outputs`. A process in a sandbox needs this callback because it cannot write files. NULL
     * means that the library writes the files. */
    kiln_write_fn write;
    void *write_user;
    /* A time in seconds; 0 means never. If the first run takes longer than this time, the library checks the answer but
     * does not repeat the run. The result then has the wall time of the first run as its only repetition, and
     * `stopped_early` is 1. */
    double cut_above;
    /* The longest time for checking and measuring, in seconds from the first launch on. 0 means no limit. After this
     * time the run starts no new repetition. If the run has then made fewer than min_repetitions, `stopped_early` of
     * the result is 1. The result always has the time of at least one run. */
    double most_seconds;
    /* The number of runs whose answers are compared, each from the initial contents of the buffers. 0 means one.
     * Comparing several runs finds kernels whose answer is wrong only sometimes. The result has the number of compared
     * answers. If the caller has written or bound an output, the library compares only one run. */
    unsigned verify_runs;
    /* After this number of seconds the library begins no new run of `verify_runs`. 0 means no limit. */
    double verify_seconds;
} kiln_run_options;

/* The reasons why the clocks of a GPU were low during a measurement. X(name, value, text) */
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

/* The arithmetic units of a device. The key `roofline` of a spec names a unit by `key`. X(name, value, key, text) */
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

#define KILN_WEAK_INPUTS 1u /* the inputs of the verified run are all zero, which hides errors */
#define KILN_WEAK_ANSWER 2u /* the elements of an expected answer are all equal, which hides errors */

/* The fields of a result. This list generates the struct kiln_result, the answers of the processes that measure
 * (runners), the columns of stores and CSV files, and the keys of JSON output.
 *
 * X(kind, name, unit, text). The empty unit "" means that the field has no unit. KILN_FIELD_<kind> is the C type of the
 * field. A FLAG is 0 or 1. The value of a SECONDS field is valid only if `measured` or `estimated` is 1. The value of a
 * KNOWN field is 0 if it is not known.
 *
 * A store (a database of samples) keeps the fields of MAP_1 since version 1 of its schema, the fields of MAP_2 since
 * version 2, and so on. A store does not keep the fields of MAP_NOT_KEPT, MAP_NOT_KEPT_2 and MAP_NOT_KEPT_3. If you add
 * a field, put it into a new list at the end, and increment the version of the schema (engine/store/store.h). */
#define KILN_RESULT_MAP(X)                                                                                             \
    KILN_RESULT_MAP_1(X)                                                                                               \
    KILN_RESULT_MAP_NOT_KEPT(X)                                                                                        \
    KILN_RESULT_MAP_2(X)                                                                                               \
    KILN_RESULT_MAP_3(X)                                                                                               \
    KILN_RESULT_MAP_NOT_KEPT_2(X)                                                                                      \
    KILN_RESULT_MAP_4(X) KILN_RESULT_MAP_5(X) KILN_RESULT_MAP_6(X) KILN_RESULT_MAP_NOT_KEPT_3(X)
#define KILN_RESULT_MAP_1(X)                                                                                           \
    X(FLAG, verified, "", "1: the answer was compared and is right; 0: it was not compared")                           \
    X(FLAG, measured, "", "1: `seconds` is a measurement on a GPU")                                                    \
    X(FLAG, estimated, "", "1: `seconds` is an estimate of the simulator's model, not a measurement")                  \
    X(SECONDS, seconds, "s", "the median of the repetitions; if estimated, the time of one")                           \
    X(SECONDS, seconds_low, "s", "the lower end of its 95 % confidence interval")                                      \
    X(SECONDS, seconds_high, "s", "the upper end of its 95 % confidence interval")                                     \
    X(COUNT, repetitions, "", "the number of measured repetitions")                                                    \
    X(REAL, host_seconds, "s", "wall time of one run on the simulated device; 0 on a GPU")                             \
    X(REAL, flops, "", "the spec's count of operations for these sizes; 0: the spec has none")                         \
    X(REAL, bytes, "bytes", "the spec's count of bytes for these sizes; 0: the spec has none")                         \
    X(REAL, roofline, "", "share of the bound from these counts and the device's peaks (roofline_unit), 0..1")         \
    X(REAL, worst_error, "", "largest |got - want| / (atol + rtol |want|) over all verified outputs")                  \
    X(NANOSECONDS, compile_ns, "ns", "time of compiling; 0 if all code came from the cache")
#define KILN_RESULT_MAP_NOT_KEPT(X)                                                                                    \
    X(COUNT, cache_hits, "", "the number of codes that came from the cache")                                           \
    X(COUNT, cache_misses, "", "the number of codes that were compiled")
/* The fields from clock_hz on describe the state of the device during the measurement. The library reads these fields
 * from NVML (libnvidia-ml.so.1). If NVML is missing or does not offer a value, the field is 0. */
#define KILN_RESULT_MAP_2(X)                                                                                           \
    X(FLAG, stopped_early, "",                                                                                         \
      "1: stop_early_above, cut_above or most_seconds ended the measurement, so `seconds` comes from fewer "           \
      "repetitions")                                                                                                   \
    X(MICROSECONDS, finals, "us since 1970",                                                                           \
      "when the finals began that gave `seconds`, the same for all finalists; 0: it was not measured again")           \
    X(KNOWN, first_seconds, "s", "the time that was measured before the finals; 0: no finals")                         \
    X(KNOWN, clock_hz, "Hz", "of the SMs: the mean of the readings between repetitions")                               \
    X(KNOWN, memory_clock_hz, "Hz", "of the memory: the mean of the readings between repetitions")                     \
    X(THROTTLE, throttle, "KILN_THROTTLE_...", "all reasons that were seen")                                           \
    X(KNOWN, temperature, "degrees Celsius", "of the GPU")                                                             \
    X(KNOWN, power_watts, "W",                                                                                         \
      "of the board: with KILN_RUN_ENERGY the mean while only the steps ran; otherwise the "                           \
      "driver's reading at the end, which may be a mean over the last second")                                         \
    X(KNOWN, energy_joules, "J", "of the board for one repetition, its idle power included; needs KILN_RUN_ENERGY")
/* These fields give the times of the work on the host. A sweep makes each input once and copies this input to the
 * device once, for all configurations that use it. Each result of the sweep has the times of the inputs that its
 * configuration used. N repetitions take inputs_seconds + copy_seconds + N * seconds in total. */
#define KILN_RESULT_MAP_3(X)                                                                                           \
    X(REAL, inputs_seconds, "s", "wall time of the host functions that made the inputs")                               \
    X(HOSTS, input_functions, "", "the time of each of these functions: \"NAME=SECONDS ...\"")                         \
    X(REAL, copy_seconds, "s", "wall time of copying the exports of the inputs to the device")                         \
    X(REAL, host_step_seconds, "s", "mean wall time of the `host` steps of a repetition, a part of `seconds`")         \
    X(COUNT, rounds, "", "rounds of all `while` steps in the checked run; 0: the variant has no such steps")

#define KILN_RESULT_MAP_NOT_KEPT_2(X)                                                                                  \
    X(UNIT, roofline_unit, "KILN_UNIT_...",                                                                            \
      "the unit whose peak `roofline` uses: the one that the spec names, otherwise the fastest one that the code "     \
      "uses; 0: not known, because the sample is from a store")

#define KILN_RESULT_MAP_4(X) X(METRICS, metrics, "", "the spec's metrics besides flops and bytes: \"NAME=VALUE ...\"")

/* These fields tell how large the errors of the elements are in comparison with the worst error. If a spec has several
 * outputs, the field has the largest value among them. These fields are 0 in samples that an older version of Kiln
 * made. */
#define KILN_RESULT_MAP_5(X)                                                                                           \
    X(REAL, median_error, "", "the error that half of the elements do not exceed, within 2 %; unit of worst_error")    \
    X(REAL, p999_error, "", "the error that 99.9 % of the elements do not exceed, within 2 %; unit of worst_error")

#define KILN_RESULT_MAP_6(X)                                                                                           \
    X(COUNT, verified_runs, "",                                                                                        \
      "runs whose answer was compared and right; 0: none, or a sample from before it was kept")
#define KILN_RESULT_MAP_NOT_KEPT_3(X)                                                                                  \
    X(FLAG, partly, "", "1: the reference has a part of the elements, or sums of them; 0: all, or not known")          \
    X(COUNT, weak, "KILN_WEAK_...", "why a right answer proves little; 0: no reason was found, or not known")

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
/* A text "NAME=SECONDS ..." with the total time of each host function, in the order of their first calls. The text is
 * "" if no function was called. If the text would be too long, the remaining times are added up under the name
 * "others". */
typedef struct kiln_host_times {
    char text[160];
} kiln_host_times;
/* A text "NAME=VALUE ..." with the metrics in the order of the spec. The text is "" if the spec has no metrics. The
 * text leaves out metrics that need a value that was not measured, and metrics for which there is no space.
 * kiln_plan_metric() computes each metric of the plan. */
#define KILN_FIELD_METRICS kiln_metric_values
typedef struct kiln_metric_values {
    char text[256];
} kiln_metric_values;
typedef struct kiln_result {
#define KILN_X(kind, name, unit, text) KILN_FIELD_##kind name;
    KILN_RESULT_MAP(KILN_X)
#undef KILN_X
} kiln_result;

/* Fills the buffers, runs the steps once, compares the outputs with the expected outputs, then measures repetitions.
 *
 * kiln_plan_run() returns when all of this is done. If two threads measure with one engine, one of them waits until the
 * other has finished. `options` and `result` may be NULL. `*result` belongs to the plan, and lives until the next run
 * of the plan. KILN_ERROR_WRONG_ANSWER: an output is wrong; the message shows the first differences. */
KILN_API kiln_status kiln_plan_run(kiln_plan *plan, const kiln_run_options *options, const kiln_result **result,
                                   kiln_error **error);

/* ---- inspect: the output of the compiler, without a run ------------------------------------------------------ */

typedef struct kiln_inspection kiln_inspection;

typedef struct kiln_inspected_kernel {
    const char *name, *symbol;              /* the name of the kernel in the spec, and its name in the module */
    int registers;                          /* registers of a thread */
    uint64_t static_shared, dynamic_shared; /* bytes of shared memory of a block */
    uint64_t local_bytes;                   /* bytes of local memory of a thread */
    uint64_t constant_bytes;
    /* The bytes of a thread that the compiler spilled, as ptxas counts them. -1 means that ptxas did not print this
     * number. */
    int64_t spill_store_bytes, spill_load_bytes;
    unsigned block[3];
    int blocks_per_sm;
    double occupancy;       /* resident warps divided by the most warps that an SM holds */
    const char *limited_by; /* "registers", "shared memory", "tensor memory", "threads", "blocks" */
    /* These members are the attributes of the kernel's first launch, as in kiln_kernel_info. An attribute that depends
     * on the data of an input is left out. */
    unsigned cluster[3];
    int cooperative, overlap, priority, carveout;
    const char *cluster_scheduling;
    int tensor_columns; /* columns of tensor memory that a block allocates; -1 means that the PTX does not tell */
} kiln_inspected_kernel;

/* Compiles `choice` for the architecture `arch` ("sm_90"). If `arch` is NULL, it compiles for the engine's device. The
 * engine needs a device even if `arch` is given, because expressions of the spec may read attributes of the device. The
 * simulated device is enough. Free *inspection with kiln_inspection_free(). */
KILN_API kiln_status kiln_inspect(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                  const char *arch, kiln_inspection **inspection, kiln_error **error);
typedef struct kiln_occupancy_info {
    size_t size; /* set by the caller: sizeof(kiln_occupancy_info) */
    int blocks_per_sm;
    double occupancy;       /* resident warps divided by the most warps that an SM holds */
    const char *limited_by; /* "registers", "shared memory", "tensor memory", "threads", "blocks"; static text */
} kiln_occupancy_info;
/* Computes how many blocks of `threads` threads an SM of `arch` holds at once, if a thread takes `registers`
 * registers and a block takes `shared` bytes of shared memory. */
KILN_API kiln_status kiln_occupancy(kiln_engine *engine, const char *arch, unsigned threads, int registers,
                                    uint64_t shared, kiln_occupancy_info *info, kiln_error **error);
/* Does the same as kiln_occupancy() for a block that also allocates `columns` of the 512 columns of tensor memory of an
 * SM. If `columns` is 0, the block allocates no tensor memory. */
KILN_API kiln_status kiln_occupancy_tensor(kiln_engine *engine, const char *arch, unsigned threads, int registers,
                                           uint64_t shared, int columns, kiln_occupancy_info *info, kiln_error **error);

/* The results of the following functions belong to the inspection. kiln_inspection_free() accepts NULL. */
KILN_API void kiln_inspection_free(kiln_inspection *inspection);
KILN_API const char *kiln_inspection_arch(const kiln_inspection *inspection); /* "sm_90" */
/* Returns the text that the compiler got. */
KILN_API const char *kiln_inspection_source(const kiln_inspection *inspection);
KILN_API const char *kiln_inspection_ptx(const kiln_inspection *inspection); /* "" if there is no PTX */
/* Returns the machine code, or NULL if the compiler made only PTX. If `bytes` is not NULL, *bytes is set to its
 * length. */
KILN_API const void *kiln_inspection_cubin(const kiln_inspection *inspection, size_t *bytes);
/* Returns the log of the compiler; "" if the log is empty. */
KILN_API const char *kiln_inspection_log(const kiln_inspection *inspection);
/* Returns one finding about the wgmma instructions of a kernel, as a sentence. A finding tells that ptxas serialised
 * these instructions or inserted waits, and why. Both cost time. The findings are the messages C7509 to C7520 of ptxas.
 * Returns NULL past the last finding. */
KILN_API const char *kiln_inspection_finding(const kiln_inspection *inspection, size_t finding);
KILN_API size_t kiln_inspection_kernel_count(const kiln_inspection *inspection);
KILN_API const kiln_inspected_kernel *kiln_inspection_kernel(const kiln_inspection *inspection, size_t kernel);

/* ---- a first spec for a source ---------------------------------------------------------------------------------- */

typedef struct kiln_draft_options {
    size_t size;        /* sizeof(kiln_draft_options); every zero member means its default */
    const char *kernel; /* the name of a kernel; NULL means the first kernel of the file */
    /* The path by which the spec names the source. NULL means the name of the file without its folder. The spec must
     * then be in the folder of the source. */
    const char *source;
    /* Values of params that the caller knows. A name occurs in this list once for each value of the param. */
    const kiln_setting *values;
    size_t value_count;
    /* the path of a file whose host code launches the kernel; NULL means that the source itself has this host code */
    const char *launch;
    /* The folders of headers, the compile options and the macros that the drafted spec will have (`include`, `options`,
     * `define`). A folder of headers is a path below the folder of the spec. */
    const char *const *includes;
    size_t include_count;
    const char *const *options;
    size_t option_count;
    const kiln_setting *defines;
    size_t define_count;
    /* The folder of the drafted spec. `source` and `includes` are paths relative to this folder. If `folder` is NULL,
     * the folder follows from `source` and the path of the file. */
    const char *folder;
    /* The number, from 1, of the line with the launch that the drafted spec will have. This line is in the file
     * `launch`, or in the source if `launch` is NULL. 0 means all launches of the kernel. All launches of the kernel
     * must then be equal, except for template arguments and #if. */
    unsigned launch_line;
} kiln_draft_options;
/* Receives the text of the spec, which has `length` bytes and lives until the callback returns. The library ignores the
 * value that the callback returns. */
typedef int (*kiln_draft_fn)(void *user, const char *spec, size_t length);
/* Reads and compiles the CUDA source `path`, and drafts a spec for one of its kernels. kiln_draft() calls `show` once
 * with the text of the spec.
 *
 * The spec has sizes, params, buffers and a launch, as far as they follow from the source. Comments in the spec mark
 * the parts that were guessed. On a simulated device, kiln_draft() also runs the kernel to find these parts. If this
 * run fails, a comment in the spec tells so. KILN_ERROR_NOT_FOUND: the source has no such kernel, or has several
 * different launches of the kernel; the message lists them. KILN_ERROR_UNSUPPORTED: no spec can launch this kernel. */
KILN_API kiln_status kiln_draft(kiln_engine *engine, const char *path, const kiln_draft_options *options,
                                kiln_draft_fn show, void *user, kiln_error **error);

/* ---- the disk cache ------------------------------------------------------------------------------------------- */

/* An entry of the cache is compiled code, or a reference that a host function or a command computed
 * (engine/plan/README.md). */
typedef struct kiln_cache_entry {
    const char *id;       /* 32 hexadecimal digits */
    const char *source;   /* the name of the source; for a reference the name of the spec */
    const char *arch;     /* the architecture of the code; "reference" for a reference */
    const char *compiler; /* "nvrtc 13.0"; for a reference the host function or the command */
    const char *options;  /* the compiler's options, separated by spaces; for a reference the sizes */
    uint64_t bytes;
    int64_t used; /* time of the entry's last use, in seconds since 1970 */
    int intact;   /* set only by kiln_cache_verify(); 1 means that the checksum and the key are right */
} kiln_cache_entry;
/* Receives one entry. If the callback returns nonzero, the library does not call it again. */
typedef int (*kiln_cache_fn)(void *user, const kiln_cache_entry *entry);

/* Returns the folder of the disk cache, or NULL if the engine uses no disk cache. */
KILN_API const char *kiln_cache_dir(kiln_engine *engine);
KILN_API kiln_status kiln_cache_list(kiln_engine *engine, kiln_cache_fn each, void *user, kiln_error **error);
/* Checks every entry of the disk cache and removes the damaged entries. kiln_cache_verify() calls `each` for every
 * entry. If `each` returns nonzero, kiln_cache_verify() does not check the remaining entries. */
KILN_API kiln_status kiln_cache_verify(kiln_engine *engine, kiln_cache_fn each, void *user, kiln_error **error);
/* Calls `show` once with an entry of the cache, its source and its PTX. For a reference, the source is the key of the
 * reference, and there is no PTX. `id` may be a prefix of the entry's id, if no other entry has this prefix. The return
 * value of `show` has no effect. */
typedef int (*kiln_cache_show_fn)(void *user, const kiln_cache_entry *entry, const char *source_text, const char *ptx,
                                  size_t cubin_bytes);
KILN_API kiln_status kiln_cache_show(kiln_engine *engine, const char *id, kiln_cache_show_fn show, void *user,
                                     kiln_error **error);
/* Removes the least recently used entries until the cache has at most `max_bytes` bytes. kiln_cache_gc() removes
 * references before compiled code. Sets *removed to the number of removed entries, and *kept_bytes to the size of the
 * remaining entries in bytes. `removed` and `kept_bytes` may be NULL. */
KILN_API kiln_status kiln_cache_gc(kiln_engine *engine, uint64_t max_bytes, uint64_t *removed, uint64_t *kept_bytes,
                                   kiln_error **error);
KILN_API kiln_status kiln_cache_clear(kiln_engine *engine, uint64_t *removed, kiln_error **error);

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* Writes a whole file in the same way as Kiln writes its own files: to a temporary file in the same folder, which is
 * synced and then renamed. Therefore a failure never damages an existing file. A new file keeps the mode of the file
 * that it replaces. KILN_ERROR_IO: `path` is something other than a regular file, such as a device, a FIFO or a link.
 * If the size of files is limited (RLIMIT_FSIZE), the process must ignore the signal SIGXFSZ; otherwise this signal
 * ends the process. */
KILN_API kiln_status kiln_file_write(const char *path, const void *data, size_t size, kiln_error **error);

/* Returns the version of the library that runs, such as "0.1.0". KILN_VERSION is the version of this header. */
KILN_API const char *kiln_version(void);

#ifdef __cplusplus
}
#endif
#endif
