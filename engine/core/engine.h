/* engine.h - the parts of a kiln_engine: a device through the driver table, the compiler, the cache, the host
 * functions and the search path. The device, NVRTC and the cache are opened once, on first use, under the lock. */
#ifndef KILN_CORE_ENGINE_H
#define KILN_CORE_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base.h"
#include "cache.h"
#include "call.h"
#include "compile.h"
#include "driver.h"
#include "nvml.h"
#include "expr.h"

#define KILN__DEVICE_NAME_COUNT 24

struct kiln_engine {
    kiln_allocator mem_copy;
    const kiln_allocator *mem; /* the copy above; NULL if the caller gave no allocator, so that malloc() is used */
    kiln__arena arena;         /* strings of the options */
    kiln__log log;
    const volatile int *stop; /* NULL means no flag */
    kiln_limit_fn limit;      /* NULL means no limit */
    void *limit_user;
    unsigned flags, jobs;
    double compile_timeout;
    uint64_t memory_limit;    /* 0 means that only the memory of device and host is the limit */
    const char *device_name;  /* name of the device as requested; NULL if the engine may choose */
    const char *size_set;     /* the size set of choices that name none; NULL means "tiny" on a simulated device, and
                               * otherwise the first set of the spec */
    const char *device_given; /* device_name before the name of a profile replaced the profile's path */
    const char *cache_dir, *worker; /* the paths are resolved when the engine is opened; NULL if there is none */
    const char *references_dir;     /* folder that keeps references; NULL if references are not kept */
    /* largest number of bytes of all kept references; the least recently used references are removed first */
    uint64_t references_most;
    const char **search_path; /* folders, in order */
    size_t search_count;
    const char **include_path; /* folders of $KILN_INCLUDE */
    size_t include_count;

    pthread_mutex_t lock; /* protects all members below */
    kiln__host *hosts;
    size_t host_count, host_capacity;

    bool device_open, owns_context; /* owns_context: `context` is the primary context, which the engine retains before
                                     * its first use */
    atomic_bool stuck;              /* a kernel on the GPU does not end, so the engine must not wait for the GPU any
                                     * more */
    kiln__driver driver;
    CUdevice device;
    CUcontext context; /* the caller's context; otherwise NULL until the engine first uses a context */
    kiln_device_info info;
    kiln_setting device_settings[KILN__DEVICE_NAME_COUNT]; /* "device.sm_count", ... */
    size_t device_setting_count;
    int arch;        /* the architecture to compile for, such as 90 */
    bool want_cubin; /* true if machine code is needed besides PTX: on a GPU, and on a simulated device with a model of
                      * times */
    bool as_on_gpu;  /* the device is simulated, but code is compiled as for a GPU, without source lines */
    bool sandboxed;  /* this process has given up its rights, or has logged why it cannot */
    bool confined;   /* this process has given up its rights: it cannot open files, and makes few system calls */

    kiln_ranks *ranks; /* the job that this engine leads, or NULL; never changes after the opening */
    kiln__nvrtc *nvrtc;
    kiln__compiler *compiler;
    kiln__cache *cache;
    bool cache_open;
    /* Compiles that a sweep has left to the engine (code.c), and the function that finishes them. Both members are NULL
     * if there are no such compiles. `lock` guards them. */
    struct kiln__code_job *left;
    void (*finish_left)(kiln_engine *engine);
    kiln__cache *references;
    bool references_open;
    /* serial measurement: an engine makes one measurement at a time on its device */
    pthread_mutex_t measuring; /* also guards the next two members */
    kiln__nvml *nvml;
    bool nvml_looked;

    atomic_uint capture_left;            /* number of launches that are still to be captured; changed under the lock,
                                          * but read without it */
    char *capture_what, *capture_folder; /* NULL means any launch, and the default folder */
    uint64_t capture_limit;              /* bytes */
    /* serial measurement between processes (exclusive.c) */
    int exclusive;                                         /* descriptor of the device's lock file; -1 if there is no
                                                            * file */
    unsigned exclusive_depth;                              /* number of runs of this engine that hold the lock */
    bool exclusive_sought, exclusive_told, exclusive_late; /* sought: the lock file was looked for. told: the log has
                                                            * the holder. late: the wait took too long, so this engine
                                                            * measures without the lock */
};

/* Each function opens its part of the engine if the part is not open yet. Any thread may call these functions. */
kiln_status kiln__engine_device(kiln_engine *engine, kiln_error **error);
kiln_status kiln__engine_nvrtc(kiln_engine *engine, kiln_error **error);
kiln_status kiln__engine_compiler(kiln_engine *engine, kiln_error **error);
/* Returns NVML for the open device, or NULL if NVML is not available. Use it under the engine's `measuring`. */
kiln__nvml *kiln__engine_nvml(kiln_engine *engine);
kiln__cache *
kiln__engine_cache(kiln_engine *engine); /* returns NULL if the cache is switched off, or if memory runs out */

/* Returns the cache that keeps the answers of references on disk (plan/reference.c). It is separate from the cache for
 * code: answers of references are larger than code and cheaper to make again, so they must not displace code. Returns
 * NULL if the cache is switched off, if no folder can be written, or if memory runs out. */
kiln__cache *kiln__engine_references(kiln_engine *engine);
#define KILN__REFERENCES_MOST ((uint64_t)2 << 30) /* the default of `references_most` */
/* Lets an engine without a cache use the references in this folder, which may be "". The text must outlive the engine.
 */
void kiln__engine_use_references(kiln_engine *engine, const char *folder);

/* Finds a device of the engine's driver by its name, as in kiln_options.device, and sets *device and *info. The device
 * may be the engine's own device. The engine's device must be open. */
kiln_status kiln__engine_peer(kiln_engine *engine, const char *name, CUdevice *device, kiln_device_info *info,
                              kiln_error **error);

/* How a measurement waits for another process. All members may be NULL. */
typedef struct kiln__waiting {
    /* Called with a text about the holder of the lock when this process begins to wait, with a warning if this process
     * stops waiting and measures anyway, and with NULL when the wait is over. If `notify` is NULL, both texts go to the
     * log, the text about the holder only once. */
    void (*notify)(void *user, const char *why);
    void *user;
    const volatile int *stop; /* the wait ends if *stop becomes nonzero */
    bool (*ends)(void *user); /* called repeatedly during the wait; returns true to end the wait */
    void *ends_user;
} kiln__waiting;
/* These two functions are called around every measurement on a GPU. Between the calls no other process of Kiln measures
 * on this GPU. There is one exception: if another process holds the lock for longer than $KILN_LOCK_SECONDS, this
 * process measures at the same time. kiln__engine_exclude() returns false if the caller stopped the wait; the caller
 * must not call kiln__engine_include() then. */
bool kiln__engine_exclude(kiln_engine *engine, const kiln__waiting *how);
void kiln__engine_include(kiln_engine *engine);

/* The advisory lock that kiln__engine_exclude() takes. Closing the file releases the lock too. */
typedef enum kiln__turn { KILN__TURN_TAKEN, KILN__TURN_LATE, KILN__TURN_STOPPED } kiln__turn;
int kiln__exclusive_open(const char *folder, const char *name); /* opens the lock file, or returns -1 with errno */
bool kiln__exclusive_try(int fd);                               /* takes the lock without waiting */
/* Returns the id of the process that took the lock last, or 0 if it is unknown. */
long kiln__exclusive_holder(int fd);
/* Waits for the lock at most `seconds`, and calls `ends` repeatedly during the wait. */
kiln__turn kiln__exclusive_take(int fd, double seconds, bool (*ends)(void *user), void *user);
void kiln__exclusive_give(int fd);

/* Makes the engine's context current in the calling thread. *previous gets the context that was current, which
 * kiln__engine_leave() restores. Both functions are cheap if the engine's context was current. Returns
 * KILN_ERROR_TIMEOUT if the engine is `stuck`. */
kiln_status kiln__engine_enter(kiln_engine *engine, CUcontext *previous, kiln_error **error);
void kiln__engine_leave(kiln_engine *engine, CUcontext previous);
/* Makes a new context of a simulated device after a fault. The engine must own the old context. All memory and
 * modules of the device are lost. */
kiln_status kiln__engine_renew(kiln_engine *engine, kiln_error **error);

/* ---- the sandbox (sandbox.c) ---- */
typedef struct kiln__sandbox {
    const kiln_file_binding *files; /* the files of kiln_run_options.inputs, which the run reads */
    size_t file_count;
    const char *writable; /* a folder to which captures may be written; NULL if there is none */
    unsigned *got; /* gets KILN__CONFINED_... for kiln__sandbox_tell(); if NULL, the missing parts are logged at once */
    /* gets the mechanisms of the sandbox, or the reason why it is missing, in at most `room` bytes; may be NULL */
    char *how;
    size_t room;
} kiln__sandbox;
/* If KILN_SANDBOX is set, the process gives up its rights before it runs kernels on a simulated device. After that it
 * can read only the files that the spec may name, cannot start programs, and can write files only in `writable`. A
 * process does this once. The engine's workers and cache are closed, so the caller compiles everything that it can
 * before. */
kiln_status kiln__engine_sandbox(kiln_engine *engine, const kiln_spec *spec, const kiln__sandbox *want,
                                 kiln_error **error);
/* Returns true if the process still has to give up its rights before it runs kernels. The device must be open. */
bool kiln__sandbox_wanted(const kiln_engine *engine);
/* Returns false if kernels of this spec cannot run in a sandbox, whatever the system offers. *why gets the reason. */
bool kiln__sandbox_possible(const kiln_engine *engine, const kiln_spec *spec, const char **why);
/* Logs the mechanisms that a sandbox lacks. */
void kiln__sandbox_tell(const kiln__log *log, unsigned got, const char *how);

/* ---- launches to capture (capture.c); plan/ captures them ---- */
kiln_status kiln__capture_environment(kiln_engine *engine, kiln_error **error); /* reads $KILN_CAPTURE */
typedef struct kiln__capture_order {
    const char *folder;
    uint64_t limit;
} kiln__capture_order;
/* Returns true if a launch that `matches` accepts shall be captured, and decrements the number of launches that are
 still to be captured. The folder lives in `arena`.
 */
bool kiln__capture_claim(kiln_engine *engine, bool (*matches)(void *user, const char *what), void *user,
                         kiln__arena *arena, kiln__capture_order *order);
/* Sets *order to the defaults. `folder` replaces the default folder unless it is NULL or "". Returns false if memory
 * runs out. */
bool kiln__capture_default(const char *folder, kiln__arena *arena, kiln__capture_order *order);

/* Hashes the code of a host function, and of the libraries on which its results depend. Returns false if one of the
 * object files was not found. */
bool kiln__host_identity(const kiln__host *host, kiln__hash128 *identity);
/* Returns NULL if no such function exists. */
const kiln__host *kiln__engine_host(kiln_engine *engine, const char *name, unsigned use);
kiln__host_lookup kiln__engine_hosts(kiln_engine *engine);
/* Returns the name of the first host function that was registered without KILN_HOST_SHIPPED, so Kiln's own programs
 * lack it. Returns NULL if there is no such function. */
const char *kiln__engine_own_host(kiln_engine *engine);
/* Returns true if Kiln's own programs have the function. The command can then run a spec that calls it. */
bool kiln__engine_host_is_shipped(kiln_engine *engine, const char *name);

/* Finds a file that the spec in `spec_folder` names, and resolves links. The file must be below that folder or below
 * a folder of the search path, unless the engine has KILN_READ_ANYWHERE. The message of KILN_ERROR_REFUSED says where
 * the file may be. The path lives in `arena`. */
kiln_status kiln__engine_find_file(kiln_engine *engine, const char *spec_folder, const char *name, kiln__arena *arena,
                                   const char **path, kiln_error **error);
/* Finds a kernel source or a header as kiln__engine_find_file() does, and also in three other places: the folders named
 * kernel_src inside these folders, the folders named kernel_src beside them, and the folders of $KILN_INCLUDE. */
kiln_status kiln__engine_find_source(kiln_engine *engine, const char *spec_folder, const char *name, kiln__arena *arena,
                                     const char **path, kiln_error **error);
/* Finds the folders of the headers that the source with this path includes. `include` has the folders of the
 * variant's key `include`. All texts live in the arena. */
kiln_status kiln__engine_include_paths(kiln_engine *engine, const char *spec_folder, const char *source,
                                       const char *const *include, size_t count, kiln__arena *arena,
                                       kiln__include_paths *paths, kiln_error **error);
/* Fails if buffers of `bytes` bytes on the device (or on the host if `host` is true) exceed the limit. `what` names the
 * buffers in the message. */
kiln_status kiln__engine_check_memory(kiln_engine *engine, uint64_t bytes, bool host, const char *what,
                                      kiln_error **error);
/* ---- best-known configurations that are shipped beside a spec (shipped.c) ---- */

/* Computes the distance of two sets of sizes: the Euclidean distance of their binary logarithms. *same tells whether
 * all sizes are equal. Returns false if their names differ. */
bool kiln__size_distance(kiln__settings a, kiln__settings b, double *distance, bool *same);
/* Returns a compute capability in tenths: 90 for "9.0". Returns 0 if it is not known. */
int kiln__capability(const char *cc);
/* Returns how far two compute capabilities are apart. 0 means the same capability, and 1 to 9 mean the same generation.
 * For different generations the result is 10 plus the difference. If `there` is 0, which means unknown, the result is
 * larger than for any known capability. */
int kiln__capability_distance(int wanted, int there);

typedef struct kiln__shipped {
    const char *variant, *device, *sizes; /* sizes: as a text */
    kiln__settings params;
    double seconds, distance; /* distance: of the sizes */
    int apart;                /* 0 for a device of this model; otherwise 1 + kiln__capability_distance() */
    int problem;              /* configurations with the same number have the same sizes and device */
} kiln__shipped;
/* Lists the configurations that are shipped with the spec for sizes of these names, in `arena`. Entries are sorted by
 * the distance of the device, then by the distance of the sizes, then by time. But the same sizes on another device
 * of the same compute capability come before other sizes on this device. An empty list is no failure. */
kiln_status kiln__shipped_find(kiln_engine *engine, const kiln_spec *spec, kiln__settings sizes, kiln__arena *arena,
                               kiln__shipped **list, size_t *count, kiln_error **error);

#endif
