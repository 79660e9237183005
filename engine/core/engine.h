/* engine.h - the parts of a kiln_engine: a device (accessed through the driver table), the compiler, the cache, the
 * host functions and the search path. The engine opens the device, NVRTC and the cache once, on first use, under the
 * lock. */
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
    /* pointer to `mem_copy`, or NULL if the caller gave no allocator, so that malloc() is used */
    const kiln_allocator *mem;
    kiln__arena arena; /* holds the strings of the options */
    kiln__log log;
    const volatile int *stop; /* a flag of the caller that stops the work, or NULL */
    kiln_limit_fn limit;      /* called before and after kernels run, or NULL */
    void *limit_user;
    unsigned flags, jobs;
    double compile_timeout;
    /* largest number of bytes of the buffers of a plan on the device, and of its buffers on the host. 0 means that only
     * the existing memory is the limit */
    uint64_t memory_limit;
    const char *device_name; /* name of the device as the caller requested it, or NULL if the engine may choose */
    /* the size set of choices that name no set. NULL means "tiny" on a simulated device, and the first set of the spec
     * on a GPU */
    const char *size_set;
    const char *device_given; /* the requested name, before the name of a profile replaced the path of a profile */
    /* resolved paths of the cache folder and the worker program; NULL if there is none */
    const char *cache_dir, *worker;
    const char *references_dir; /* folder in which references are kept, or NULL if references are not kept */
    /* largest number of bytes of all kept references; Kiln removes the least recently used references first */
    uint64_t references_most;
    const char **search_path; /* folders, in order */
    size_t search_count;
    const char **include_path; /* folders of $KILN_INCLUDE */
    size_t include_count;

    pthread_mutex_t lock; /* guards all members below */
    kiln__host *hosts;
    size_t host_count, host_capacity;

    /* `owns_context` means that `context` is the primary context, which the engine retains before its
     * first use */
    bool device_open, owns_context;
    /* a kernel on the GPU does not end, so the engine must not wait for the GPU again */
    atomic_bool stuck;
    kiln__driver driver;
    CUdevice device;
    CUcontext context; /* the caller's context, or the engine's own context, which is NULL until its first use */
    kiln_device_info info;
    kiln_setting device_settings[KILN__DEVICE_NAME_COUNT]; /* "device.sm_count", ... */
    size_t device_setting_count;
    int arch; /* the architecture to compile for, such as 90 */
    /* machine code is needed in addition to PTX: on a GPU, and on a simulated device that estimates times */
    bool want_cubin;
    bool as_on_gpu; /* the device is simulated, but Kiln compiles code as for a GPU, without source lines */
    bool sandboxed; /* this process has given up its rights, or has logged the reason why it cannot */
    /* this process has given up its rights: it cannot open files, and may make only few system calls */
    bool confined;

    kiln_ranks *ranks; /* the job that this engine leads, or NULL; does not change after the engine is opened */
    kiln__nvrtc *nvrtc;
    kiln__compiler *compiler;
    kiln__cache *cache;
    bool cache_open;
    /* Compiles that a sweep has left to the engine (code.c), and the function that finishes these compiles. Both
     * members are NULL if there are no unfinished compiles. `lock` guards them. */
    struct kiln__code_job *left;
    void (*finish_left)(kiln_engine *engine);
    kiln__cache *references;
    bool references_open;
    /* serialises measurements: an engine makes one measurement at a time on its device */
    pthread_mutex_t measuring; /* also guards the next two members */
    kiln__nvml *nvml;
    bool nvml_looked;

    /* number of launches that are still to be captured; threads change it under the lock, but read it without the
     * lock */
    atomic_uint capture_left;
    /* the launches to capture and the folder for captures; NULL means any launch, or the default folder */
    char *capture_what, *capture_folder;
    uint64_t capture_limit; /* bytes */
    /* serialises measurements between processes (exclusive.c) */
    /* descriptor of the device's lock file, or -1 if there is no file */
    int exclusive;
    unsigned exclusive_depth; /* number of runs of this engine that hold the lock */
    /* exclusive_sought: the engine looked for the lock file. exclusive_told: the log names the holder of the lock.
     * exclusive_late: the wait took too long, so this engine measures without the lock */
    bool exclusive_sought, exclusive_told, exclusive_late;
};

/* Each of these functions opens its part of the engine if the part is not open yet. Any thread may call these
 * functions. */
kiln_status kiln__engine_device(kiln_engine *engine, kiln_error **error);
kiln_status kiln__engine_nvrtc(kiln_engine *engine, kiln_error **error);
kiln_status kiln__engine_compiler(kiln_engine *engine, kiln_error **error);
/* Returns NVML for the open device, or NULL if NVML is not available. The caller holds `measuring` of the engine while
 * it uses NVML. */
kiln__nvml *kiln__engine_nvml(kiln_engine *engine);
/* Returns the cache for code, or NULL if the cache is switched off or memory runs out. */
kiln__cache *kiln__engine_cache(kiln_engine *engine);

/* Returns the cache that keeps the answers of references on disk (plan/reference.c). The cache of references is
 * separate from the cache for code. References are larger than code and cheaper to make again, so they must not
 * displace code. Returns NULL if the cache is switched off, if no folder is writable, or if memory runs out. */
kiln__cache *kiln__engine_references(kiln_engine *engine);
#define KILN__REFERENCES_MOST ((uint64_t)2 << 30) /* default value of `references_most` */
/* Makes an engine without a cache use the references in the folder `folder`. If `folder` is "", changes nothing. The
 * text `folder` must outlive the engine. */
void kiln__engine_use_references(kiln_engine *engine, const char *folder);

/* Finds a device of the engine's driver by its name, in the form of kiln_options.device, and sets *device and *info.
 * The device may be the engine's own device. The engine's device must be open. */
kiln_status kiln__engine_peer(kiln_engine *engine, const char *name, CUdevice *device, kiln_device_info *info,
                              kiln_error **error);

/* Tells how a measurement waits while another process measures. All members may be NULL. */
typedef struct kiln__waiting {
    /* Called when this process begins to wait, with a text about the holder of the lock. Called with a warning if this
     * process stops waiting and measures anyway. Called with NULL when the wait is over. If `notify` is NULL, both
     * texts go to the log. The text about the holder goes there only once. */
    void (*notify)(void *user, const char *why);
    void *user;
    const volatile int *stop; /* the wait ends if *stop becomes nonzero */
    bool (*ends)(void *user); /* called repeatedly during the wait; the wait ends if it returns true */
    void *ends_user;
} kiln__waiting;
/* The engine calls these two functions before and after every measurement on a GPU. Between the two calls no other
 * process of Kiln measures on this GPU. There is one exception: if another process holds the lock for longer than
 * $KILN_LOCK_SECONDS, this process measures at the same time. kiln__engine_exclude() returns false if the caller
 * stopped the wait. In this case the caller must not call kiln__engine_include(). */
bool kiln__engine_exclude(kiln_engine *engine, const kiln__waiting *how);
void kiln__engine_include(kiln_engine *engine);

/* Functions for the advisory lock that kiln__engine_exclude() takes. Closing the lock file also releases the lock. */
typedef enum kiln__turn { KILN__TURN_TAKEN, KILN__TURN_LATE, KILN__TURN_STOPPED } kiln__turn;
/* opens the lock file and returns its descriptor, or returns -1 and sets errno */
int kiln__exclusive_open(const char *folder, const char *name);
bool kiln__exclusive_try(int fd); /* takes the lock if it is free, without waiting */
/* Returns the id of the process that took the lock last, or 0 if it is unknown. */
long kiln__exclusive_holder(int fd);
/* Waits at most `seconds` for the lock, and calls `ends` repeatedly during the wait. */
kiln__turn kiln__exclusive_take(int fd, double seconds, bool (*ends)(void *user), void *user);
void kiln__exclusive_give(int fd);

/* Makes the engine's context current in the calling thread. *previous receives the context that was current before, and
 * kiln__engine_leave() restores it. Both functions are cheap if the engine's context is already current. Returns
 * KILN_ERROR_TIMEOUT if the engine is `stuck`. */
kiln_status kiln__engine_enter(kiln_engine *engine, CUcontext *previous, kiln_error **error);
void kiln__engine_leave(kiln_engine *engine, CUcontext previous);
/* Replaces the context of a simulated device by a new context after a fault. The engine must own the old context. All
 * memory and modules of the device are lost. */
kiln_status kiln__engine_renew(kiln_engine *engine, kiln_error **error);

/* ---- the sandbox (sandbox.c) ---- */
typedef struct kiln__sandbox {
    const kiln_file_binding *files; /* the files of kiln_run_options.inputs, which the run will read */
    size_t file_count;
    const char *writable; /* a folder to which captures may be written, or NULL */
    /* receives flags KILN__CONFINED_... for kiln__sandbox_tell(). If it is NULL, the function logs missing mechanisms
     * at once */
    unsigned *got;
    /* receives the mechanisms of the sandbox, or the reason why there is none, in at most `room` bytes; may be NULL */
    char *how;
    size_t room;
} kiln__sandbox;
/* If KILN_SANDBOX is set, takes access rights from this process before it runs kernels on a simulated device. After
 * this call the process can read only the files that the spec may name. It cannot start programs, and can write files
 * only in `writable`. A process does this only once. The function closes the engine's workers and cache, so the caller
 * must compile everything before that. */
kiln_status kiln__engine_sandbox(kiln_engine *engine, const kiln_spec *spec, const kiln__sandbox *want,
                                 kiln_error **error);
/* Returns true if the process must still give up its rights before it runs kernels. The engine's device must be
 * open. */
bool kiln__sandbox_wanted(const kiln_engine *engine);
/* Returns false if kernels of this spec cannot run in a sandbox on any system. *why receives the reason. */
bool kiln__sandbox_possible(const kiln_engine *engine, const kiln_spec *spec, const char **why);
/* Logs which mechanisms a sandbox lacks. `got` has the flags of the present mechanisms. */
void kiln__sandbox_tell(const kiln__log *log, unsigned got, const char *how);

/* ---- launches to capture (capture.c); plan/ captures them ---- */
kiln_status kiln__capture_environment(kiln_engine *engine, kiln_error **error); /* reads $KILN_CAPTURE */
typedef struct kiln__capture_order {
    const char *folder;
    uint64_t limit;
} kiln__capture_order;
/* If a launch that `matches` accepts shall be captured, returns true and decrements the number of launches that are
 * still to be captured. `arena` holds the folder.
 */
bool kiln__capture_claim(kiln_engine *engine, bool (*matches)(void *user, const char *what), void *user,
                         kiln__arena *arena, kiln__capture_order *order);
/* Fills *order with the default values. `folder` replaces the default folder, unless it is NULL or "". Returns false if
 * memory runs out. */
bool kiln__capture_default(const char *folder, kiln__arena *arena, kiln__capture_order *order);

/* Hashes the code of a host function, and of the libraries on which its results depend. Returns false if the object
 * file of the function or of a library was not found. */
bool kiln__host_identity(const kiln__host *host, kiln__hash128 *identity);
/* Finds a host function by its name. Returns NULL if there is no such function. */
const kiln__host *kiln__engine_host(kiln_engine *engine, const char *name, unsigned use);
kiln__host_lookup kiln__engine_hosts(kiln_engine *engine);
/* Returns the name of the first host function that was registered without KILN_HOST_SHIPPED. Kiln's own programs lack
 * such a function. Returns NULL if there is no such function. */
const char *kiln__engine_own_host(kiln_engine *engine);
/* Returns true if Kiln's own programs also have the function. The command `kiln` can then run a spec that calls the
 * function. */
bool kiln__engine_host_is_shipped(kiln_engine *engine, const char *name);

/* Finds a file that the spec in `spec_folder` names, and resolves the links in its path. The file must be below
 * `spec_folder` or below a folder of the search path, unless the engine has KILN_READ_ANYWHERE. The message of
 * KILN_ERROR_REFUSED lists the folders where the file may be. `arena` holds the path. */
kiln_status kiln__engine_find_file(kiln_engine *engine, const char *spec_folder, const char *name, kiln__arena *arena,
                                   const char **path, kiln_error **error);
/* Finds a kernel source or a header as kiln__engine_find_file() does. Also searches the folders named kernel_src inside
 * and beside the folders that kiln__engine_find_file() searches, and the folders of $KILN_INCLUDE. */
kiln_status kiln__engine_find_source(kiln_engine *engine, const char *spec_folder, const char *name, kiln__arena *arena,
                                     const char **path, kiln_error **error);
/* Finds the folders of the headers that the source at the path `source` includes. `include` is the list of folders in
 * the variant's key `include`. The arena holds all texts. */
kiln_status kiln__engine_include_paths(kiln_engine *engine, const char *spec_folder, const char *source,
                                       const char *const *include, size_t count, kiln__arena *arena,
                                       kiln__include_paths *paths, kiln_error **error);
/* Fails if buffers of `bytes` bytes on the device (or on the host if `host` is true) exceed `memory_limit` of the
 * engine or the existing memory. `what` describes the buffers in the message. */
kiln_status kiln__engine_check_memory(kiln_engine *engine, uint64_t bytes, bool host, const char *what,
                                      kiln_error **error);
/* ---- best-known configurations that are shipped beside a spec (shipped.c) ---- */

/* Computes the distance between two sets of sizes: the Euclidean distance of the binary logarithms of the sizes. *same
 * tells whether all sizes are equal. Returns false if the two sets have different names. */
bool kiln__size_distance(kiln__settings a, kiln__settings b, double *distance, bool *same);
/* Converts a compute capability to tenths: "9.0" becomes 90. Returns 0 if the compute capability is unknown. */
int kiln__capability(const char *cc);
/* Returns the distance between two compute capabilities. 0 means the same capability, and 1 to 9 mean the same
 * generation. For different generations the result is 10 plus the difference. If `there` is 0 (unknown), the result is
 * larger than for any known capability. */
int kiln__capability_distance(int wanted, int there);

typedef struct kiln__shipped {
    const char *variant, *device, *sizes; /* `sizes` is a text */
    kiln__settings params;
    double seconds, distance; /* `distance` is the distance of the sizes */
    /* distance of the device: 0 for a device of the same model, otherwise 1 + kiln__capability_distance() */
    int apart;
    int problem; /* configurations with the same number have the same sizes and device */
} kiln__shipped;
/* Lists the configurations that are shipped with the spec and whose sizes have the same names as `sizes`. The arena
 * holds the list. The function sorts the entries by the distance of the device, then by the distance of the sizes, then
 * by time. One exception: an entry with the same sizes and another device of the same compute capability comes before
 * an entry with other sizes and this device. An empty list is not an error. */
kiln_status kiln__shipped_find(kiln_engine *engine, const kiln_spec *spec, kiln__settings sizes, kiln__arena *arena,
                               kiln__shipped **list, size_t *count, kiln_error **error);

#endif
