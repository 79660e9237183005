/* cu_objects.h - declarations that all files of the simulated driver share (sim/driver/objects, sim/driver/work).
 *
 * As in libcuda the state belongs to the process: its devices, their contexts, and a table of all objects. A handle is
 * a number that is looked up in that table, never a pointer. So a stale or invalid handle gives an error code and not a
 * crash.
 *
 * There are two locks, always taken in this order. A thread holds `work` while the device works: during a kernel, a
 * copy, a fill, or the freeing of memory. This lock keeps streams in order. `state` guards the table and the contexts.
 * No thread holds `state` while a kernel runs, so that other threads can make queries and prepare work meanwhile. */
#ifndef KILN_SIM_CU_OBJECTS_H
#define KILN_SIM_CU_OBJECTS_H

#include <cuda.h>

#include "cu_api.h"
#include "cu_image.h"
#include "sim.h"
#include "profile.h"
#include "vm_time.h"
#include "vm_watch.h"

CUresult cuProfilerStart(void); /* from cudaProfiler.h, which some toolkit packages do not have */
CUresult cuProfilerStop(void);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* this header also declares deprecated functions */
/* ## uses `name` as written, and typeof uses the function to which cuda.h maps the name. So the compiler checks each
 * definition against cuda.h. */
#define SIM_X(name, since) __typeof__(name) sim_##name;
SIM_API_MAP(SIM_X)
#undef SIM_X
#pragma GCC diagnostic pop
CUresult sim_cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice device);
CUresult sim_cuCtxCreate_v3(CUcontext *handle, CUexecAffinityParam *affinity, int count, unsigned flags,
                            CUdevice device);
CUresult sim_cuCtxGetDevice_v2(CUdevice *device, CUcontext handle);
CUresult sim_cuCtxSynchronize_v2(CUcontext handle);
CUresult sim_cuGetProcAddress_v1(const char *name, void **function, int version, cuuint64_t flags);

/* ---- the device ---- */

typedef struct sim_profile {
    const char *name, *title;
    uint64_t memory; /* bytes; if the host has less memory, the device gets less */
    /* the attributes of this profile; another table has the attributes that all profiles share */
    const sim_attribute *attributes;
    size_t attribute_count;
    const struct sim_model *model; /* NULL if the profile has no figures for estimates */
} sim_profile;
#define SIM_PROFILES_MOST 64
/* built-in profiles, then profiles that were read from files; never removed */
extern sim_profile sim_profiles[SIM_PROFILES_MOST];
extern size_t sim_profile_count; /* the state lock guards it; it only grows */
enum { SIM_DEVICES_MOST = VM_DEVICES_MOST };
/* The devices of the process. In the simulator's libcuda (programs/library/) the environment sets the number of
 * devices, all devices have the same profile, and a CUdevice is the ordinal of a device. In the engine there is one
 * device, which has the selected profile, and a CUdevice is the index of a profile, so that a program can query any
 * profile without selecting it. These functions need the state lock, except sim_set_devices(), which takes it. */
unsigned sim_device_count(void);
int sim_device_ordinal(CUdevice device);                /* returns -1 if the process has no such device */
CUdevice sim_device_at(unsigned ordinal);               /* returns the CUdevice of an ordinal */
const sim_profile *sim_device_profile(CUdevice device); /* returns NULL if there is no such device */
/* Returns the device's number among all devices of the machine, including hidden devices. Returns 0 if the process has
 * no such device. */
unsigned sim_device_place(CUdevice device);
unsigned sim_machine_devices(void); /* returns the number of devices of the machine, including hidden devices */
/* For the simulator's libcuda: sets the devices of the process by their numbers on the machine, which has `all`
 * devices. Returns false without changing the devices if a context exists already, if count is 0, or if it is above
 * SIM_DEVICES_MOST. */
bool sim_set_devices(const unsigned *places, unsigned count, unsigned all);
/* Sets `uuid` to the UUID of the device that has the number `place` on the machine. */
void sim_device_uuid(const sim_profile *profile, unsigned place, CUuuid *uuid);
bool sim_profile_attribute(const sim_profile *profile, CUdevice_attribute attribute, int *value);
/* returns 0 if the profile does not have the attribute */
int sim_profile_int(const sim_profile *profile, CUdevice_attribute attribute);

/* ---- objects ---- */

typedef enum sim_kind {
    SIM_CONTEXT = 1,
    SIM_MODULE,
    SIM_FUNCTION,
    SIM_STREAM,
    SIM_EVENT,
    SIM_LIBRARY,
    SIM_HOST,
    SIM_ARRAY,
    SIM_TEXTURE,
    SIM_LINK,
    SIM_GRAPH,
    SIM_NODE,
    SIM_EXEC,
    SIM_CAPTURE,
    SIM_USER,
    SIM_POOL,
    SIM_RANGE,
    SIM_PHYSICAL,
    SIM_IMPORT,
    SIM_CONDITION,
    SIM_PIECE,
    SIM_MULTICAST
} sim_kind; /* fits into five bits of a handle */

typedef struct sim_context sim_context;

/* The first member of every object. Objects are in a list of their context, which frees them when it ends. */
typedef struct sim_object {
    sim_kind kind;
    uint64_t handle;
    struct sim_context *context; /* the context in which it was created and can be used */
    struct sim_object *next, *previous;
    /* Called when the object is freed, to free other memory of the object. NULL if there is no other memory. Other
     * objects of the context may have been freed already. */
    void (*drop)(struct sim_object *object);
    /* If not NULL, the object belongs to the process. The function is called when the object's context ends. Afterwards
     * the object belongs to the context of sim_homeless(), unless a test has set an allocator. */
    void (*leave)(struct sim_object *object);
    /* If not NULL, called for each context that is created while the object belongs to the context of
     * sim_homeless(). */
    void (*meet)(struct sim_object *object, const struct sim_context *made);
} sim_object;

/* A pool of stream-ordered allocations. The pool frees memory at once, and keeps no memory for later allocations. */
typedef struct sim_pool {
    sim_object object;
    uint64_t threshold, used, most;
    uint64_t limit; /* 0 means no limit */
    int reuse[3];   /* can be set and queried, without effect */
    uint32_t open;  /* bit n is set if the other device n may use the pool's memory */
    /* For pools that processes share (programs/pool_share.c): the allocations are parts of a file. */
    bool shared, imported; /* imported: the pool was made by another process, or by this process as another pool */
    int file;
    uint64_t inode, bytes, next; /* inode and bytes describe the file; next is the offset of the next allocation */
} sim_pool;

struct sim_context {
    sim_object object;
    unsigned ordinal; /* the ordinal of its device */
    /* Number of users of a primary context, or 0 if the primary context does not exist. A context of cuCtxCreate always
     * has 0. */
    unsigned retained;
    CUresult sticky; /* the error of the fault after which no call can use the context, or CUDA_SUCCESS */
    vm_device *device;
    sim_object *objects;
    /* host time that the device's work has taken so far, which is the clock for events */
    uint64_t clock_ns;
    uint64_t memory;               /* bytes of device memory */
    uint64_t steps;                /* the step budget of a launch; 0 means the interpreter's default */
    char fault[1024];              /* one sentence about the last fault, or "" */
    struct sim_context *next;      /* list of the contexts from cuCtxCreate */
    struct sim_counting *counting; /* count.c; NULL if launches are not counted */
    struct vm_check *check;        /* check.c; NULL if launches are not checked */
    /* the happens-before order of its streams (driver/work/order.c); NULL until there is checked work */
    struct sim_order *order;
    void (*order_end)(sim_context *context); /* removes the context from the order */
    /* records that the host has waited for all work, which removes the guards of host memory */
    void (*order_let)(sim_context *context);
    bool check_shown;  /* the environment requests that findings are reported */
    size_t check_told; /* number of findings that are already in the journal of check_report.c */
    unsigned check_id; /* number of the check in that journal; 0 until a finding is written */
    uint64_t id;
    unsigned flags, attached; /* attached: number of additional users, from cuCtxAttach */
    /* Limits that can be set and queried. Only two have an effect: the heap of malloc(), and pending launches of the
     * device runtime. */
    size_t limits[CU_LIMIT_MAX];
    CUfunc_cache cache_config;
    sim_pool pool;                   /* the default pool */
    uint64_t pool_current;           /* handle of the pool for cuMemAllocAsync; 0 means the default pool */
    uint64_t graph_used, graph_most; /* bytes that nodes of graphs have allocated */
    size_t captures;                 /* number of running captures of its streams */
};

typedef struct sim_module {
    sim_object object;
    vm_module *vm;
    struct sim_function *functions;
    struct sim_library *library; /* the library to which the module belongs, or NULL */
    /* image of a library that the caller keeps unchanged (CU_LIBRARY_BINARY_IS_PRESERVED), or NULL */
    const void *image;
} sim_module;
typedef struct sim_function {
    sim_object object;
    sim_module *module;
    struct sim_function *sibling; /* next function of the module */
    int kernel;
    vm_resources resources;
    kiln__sim_spills spills; /* the spills in the machine code, if the engine has compiled it */
    int dynamic_limit;       /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    int carveout;
    uint32_t cluster[3];       /* the cluster size that a launch must have; 0 if it is not set */
    bool wide_cluster;         /* CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED */
    unsigned char *old_params; /* for cuParamSet* and cuLaunch; allocated at the first use */
    unsigned old_param_bytes, old_shared, old_block[3];
} sim_function;
typedef struct sim_library {
    sim_object object;
    sim_module *module;
} sim_library;
#define SIM_PRIORITY (-5) /* the highest priority; the lowest is 0 */
typedef struct sim_stream {
    sim_object object;
    unsigned flags;
    int priority;
    uint32_t lane;               /* lane of the stream in sim_order, or 0 */
    struct sim_capture *capture; /* the capture in which it takes part, or NULL */
    struct sim_edge *tips;       /* the dependencies of the next captured node */
    size_t tip_count, tip_capacity;
    CUgraphNode *shown; /* the array that cuStreamGetCaptureInfo returned last */
    CUgraphEdgeData *shown_data;
    size_t shown_capacity, shown_data_capacity;
    CUaccessPolicyWindow window; /* attributes that can be set and queried, without effect */
    CUsynchronizationPolicy policy;
    CUlaunchMemSyncDomainMap domains;
    CUlaunchMemSyncDomain domain;
    double device_end; /* end of the stream's work so far in the timeline of a program */
    unsigned track;    /* number of the stream in the timeline; 0 until it has one */
} sim_stream;
/* Memory that host and device share under the same pointer. */
typedef enum sim_sharing { SIM_PINNED, SIM_REGISTERED, SIM_MANAGED } sim_sharing;
typedef struct sim_host {
    sim_object object;
    sim_sharing sharing;
    void *pointer;
    size_t bytes;
    unsigned flags;
} sim_host;
typedef struct sim_array { /* a CUarray or a CUmipmappedArray */
    sim_object object;
    bool mipmapped;
    CUDA_ARRAY3D_DESCRIPTOR descriptor; /* the requested descriptor */
    vm_image image;
    void *storage; /* NULL for a level of `parent`, whose memory is freed with the parent */
    uint64_t bytes;
    struct sim_array *parent, *levels[VM_LEVELS_MAX]; /* levels: the levels that were requested so far */
} sim_array;
typedef struct sim_texture { /* a CUtexObject or a CUsurfObject */
    sim_object object;
    bool surface, has_view;
    const sim_array *array; /* the array whose texels it shows, or NULL */
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC sampling;
    CUDA_RESOURCE_VIEW_DESC view;
} sim_texture;
/* A node of a captured graph that an event marks, and the edge to the work that waits for the event. */
typedef struct sim_mark {
    uint64_t node;
    CUgraphEdgeData data;
} sim_mark;
typedef struct sim_event {
    sim_object object;
    unsigned flags;
    bool recorded;
    uint64_t clock_ns;
    double device_time; /* time in the timeline of a program */
    uint64_t capture;   /* the capture in which it was last recorded, or 0 */
    sim_mark *tips;     /* the nodes that it marks */
    size_t tip_count, tip_capacity;
    uint32_t *known; /* sim_order: the clock of the work that it marks, or NULL */
    /* sim_order: if the event marks the trigger of a launch, the clock of that launch's end. A kernel that waits for
     * the event gets this clock by griddepcontrol.wait. Otherwise NULL. */
    uint32_t *promised;
} sim_event;

/* Makes an object of `size` bytes in `context`, with a handle. Returns NULL if memory runs out. Needs the state
 * lock. */
void *sim_object_new(sim_context *context, sim_kind kind, size_t size);
void sim_object_free(sim_context *context, void *object);
/* Returns the live object in `context` that has this handle and kind, or NULL. Needs the state lock. */
void *sim_object_find(const sim_context *context, const void *handle, sim_kind kind);
sim_context *sim_context_find(CUcontext handle); /* Returns a live context, or NULL. */
/* Iterates over all live contexts: returns the context after `context`, or the first context if `context` is NULL. */
sim_context *sim_context_after(const sim_context *context);
/* Returns the device's primary context. If it does not exist, returns another context on the device, or NULL. */
sim_context *sim_context_on(unsigned ordinal);
/* If there are several devices, sim_home() returns the context whose memory has the address, and sim_follow() returns
 * the context that has the object. Both return `context` if no other context has it. Need the state lock. */
sim_context *sim_home(sim_context *context, uint64_t address);
sim_context *sim_follow(sim_context *context, const void *handle, sim_kind kind);
/* Returns the context that has the object, on any device, or `context` if no context has it. Needs the state lock. */
sim_context *sim_owner(sim_context *context, const void *handle, sim_kind kind);
/* CUstream and similar types are pointers to incomplete types. The pointer has the number of the handle as its value.
 */
#define SIM_HANDLE(type, object_) ((type)(uintptr_t)(object_)->object.handle)
/* Returns true for the default streams and for a live stream. */
bool sim_stream_known(const sim_context *context, CUstream stream);
/* Returns the stream with this handle. If `make` is true, creates the per-thread stream if it does not exist. Returns
 * NULL for the legacy stream, for an invalid handle, or if memory runs out. */
sim_stream *sim_stream_at(sim_context *context, CUstream stream, bool make);
static inline bool sim_is_legacy(CUstream stream) { return !stream || stream == CU_STREAM_LEGACY; }

/* ---- entering and leaving a call ---- */

/* Returns from the function with the result of the call, if that is an error. */
#define SIM_TRY(call)                                                                                                  \
    do {                                                                                                               \
        const CUresult tried_ = (call);                                                                                \
        if (tried_ != CUDA_SUCCESS)                                                                                    \
            return tried_;                                                                                             \
    } while (0)

/* Begins a call. Takes the state lock, sets *context to the calling thread's current context, and returns CUDA_SUCCESS.
 * Otherwise returns an error without holding the lock. */
CUresult sim_begin(sim_context **context);
/* Does the same as sim_begin() for a call about a pool. If no context is current, takes the first primary context that
 * is retained. */
CUresult sim_begin_pool(sim_context **context);
/* Begins a call as sim_begin() does, and returns the object with that handle. If it returns NULL, it holds no lock, and
 * *result is the error. */
void *sim_begin_object(sim_context **context, const void *handle, sim_kind kind, CUresult *result);
CUresult sim_end(CUresult result);                      /* Releases the lock and returns `result`. */
#if defined __clang_analyzer__ || defined KILN_ANALYZER /* see kiln__fail() */
static inline CUresult sim_ended(CUresult result) { return sim_end(result), result; }
#define sim_end(result) sim_ended(result)
#endif
/* Begins a call that gives work to the device: like sim_begin(), but takes the work lock and then the state lock.
 * sim_end_work() ends the call, adds its duration to the context's clock and releases both locks. A host function of a
 * stream must not call the driver, so sim_begin_work() returns CUDA_ERROR_NOT_PERMITTED in it. */
CUresult sim_begin_work(sim_context **context);
/* does the same as sim_begin_work(), even after a fault and in a host function */
CUresult sim_begin_any(sim_context **context);
/* Begins work of the device in a host function, in the context whose work has called the function. The thread's current
 * context may be another one. If the calling context has ended, returns an error, even if a new context has the same
 * handle. */
CUresult sim_begin_called(sim_context **context);
/* Does the same as sim_begin_work() for a call about objects of the process. If no live context is current, uses the
 * context of sim_homeless(). If the current context has had a fault, returns the error of the fault. */
CUresult sim_begin_process(sim_context **context);
/* Returns a context for objects of the process that have outlived their own context. This context has no device, and
 * its ordinal is not the ordinal of a device. */
sim_context *sim_homeless(void);
CUresult sim_end_work(sim_context *context, CUresult result);
#if defined __clang_analyzer__ || defined KILN_ANALYZER
static inline CUresult sim_ended_work(sim_context *context, CUresult result)
{
    return sim_end_work(context, result), result;
}
#define sim_end_work(context, result) sim_ended_work(context, result)
#endif
/* Releases both locks, calls the host's function, and takes the locks again. Returns false if the context has ended
 * meanwhile. In this case the caller must not use the context, and passes NULL to sim_end_work(). */
bool sim_call_out(sim_context *context, void (*function)(void *), void *user);
/* Waits until no other thread runs a host function of a stream. */
void sim_wait_idle(void);
/* returns the time for an event that is recorded now; needs the `work` lock */
uint64_t sim_clock(const sim_context *context);
/* sim_pause() releases the state lock before a kernel, and sim_resume() takes it again afterwards. The caller holds the
 * `work` lock. */
void sim_pause(void);
void sim_resume(void);
/* Begins a driver call that needs no context. Returns CUDA_SUCCESS with the state lock held, if cuInit was called. */
CUresult sim_begin_bare(void);
const sim_profile *sim_current_profile(void); /* call it under the state lock */
const kiln_allocator *sim_memory(void);
/* For tests: sets the allocator for all later allocations. NULL means malloc(). Do not call it while the primary
 * context is retained. */
void sim_set_memory(const kiln_allocator *mem);

/* ---- modules ---- */

/* The JIT options that have an effect: logs and the time. */
typedef struct sim_jit_log {
    char *buffer;
    size_t size;
    void **written;
} sim_jit_log; /* *written is the size of the buffer before the call, and the number of written bytes after it */
typedef struct sim_jit {
    sim_jit_log info, error;
    void **wall_time;
} sim_jit;
CUresult sim_jit_read(unsigned count, const CUjit_option *options, void **values, sim_jit *jit);
void sim_jit_log_put(const sim_jit_log *log, const char *text);
void sim_jit_time_put(const sim_jit *jit, uint64_t nanoseconds);
/* Parses one PTX text for the current device; errors go to `log`. */
CUresult sim_ptx_parse(const char *text, size_t length, ptx_module **ptx, kiln__text *log);
CUresult sim_ptx_result(ptx_result result);
CUresult sim_image_error(sim_image_result result);
bool sim_is_builtin(const char *function); /* returns true for a function that the device provides */
int sim_device_cc(void);                   /* returns 90 for compute capability 9.0; needs the state lock */

/* Loads `image` into the context under its JIT options. Sets *module only on success. A `length` of SIZE_MAX means that
 * the length is unknown. `twin` is the module of the same image on another device, with which it shares managed
 * variables, or NULL. The caller holds both locks. */
CUresult sim_module_load(sim_context *context, const void *image, size_t length, unsigned count,
                         const CUjit_option *options, void **values, const sim_module *twin, sim_module **module);
/* returns NULL if memory runs out */
sim_function *sim_function_of(sim_context *context, sim_module *module, int kernel);
CUresult sim_file_read(const char *path, char **data, size_t *length);
void sim_link_drop(sim_object *link); /* frees the contents of the link, but not the object */
/* sim_module_on() returns the module that was loaded from `image` on a device. sim_module_twin() returns a module that
 * was loaded from `image` on any device except the context's. Both compare the pointer of the image, and return NULL if
 * no module has this image. Both functions need the state lock. */
const sim_module *sim_module_on(unsigned ordinal, const void *image);
const sim_module *sim_module_twin(const sim_context *context, const void *image);
/* frees a module and its functions; call it under both locks */
void sim_module_close(sim_context *context, sim_module *module);
/* The stream of synchronous copies and fills. A synchronous copy or fill invalidates the captures of blocking streams,
 * in every capture mode, and no other captures. */
#define SIM_WAITS CU_STREAM_LEGACY
/* Returns the memory shared by host and device that contains the address, or NULL. */
sim_host *sim_host_at(const sim_context *context, uint64_t address);
/* Frees device memory of any kind. Returns false if the address is not the start of memory that can be freed. */
bool sim_memory_free(sim_context *context, CUdeviceptr pointer);
/* Values of vm_info.owner that are not handles: memory of a graph's node, and a reserved range of addresses. */
enum { SIM_OWNER_GRAPH = 1, SIM_OWNER_RANGE = 2 };
/* the handle of a device's default pool, which is not in the table of objects */
#define SIM_POOL_HANDLE(ordinal) ((uint64_t)0x52u << 56 | (uint64_t)(ordinal) << 8 | 0x10)
/* Returns the thread's current context, even if it is unusable, or NULL. Needs the state lock. */
sim_context *sim_current(void);
/* A destructor of a user object (CUuserObject). The function belongs to the program, so the driver must call it without
 * locks. */
typedef struct sim_end_of {
    void (*destroy)(void *);
    void *pointer;
    struct sim_end_of *next;
} sim_end_of;
void sim_bury(sim_end_of *end); /* adds a destructor to the list, which takes ownership of `end` */
void sim_bury_users(void);      /* calls and frees all destructors in the list; call it without locks */
/* Reads a variable of the environment as a number. The value is 0 if the variable is not set. If it is not a number,
 * prints a line on stderr and returns false. */
bool sim_environment(const char *name, uint64_t *value);
/* Sets *threshold to $KILN_SIM_JIT, the number of runs after which code is compiled (vm_jit.h). A threshold of 0 means
 * never. If the variable is not set, the threshold is SIM_JIT_DEFAULT. If the variable is not a number, prints a line
 * on stderr and returns false. */
enum { SIM_JIT_DEFAULT = 65536 };
bool sim_jit_asked(uint32_t *threshold);
/* Checks $KILN_SIM_ISA and $KILN_SIM_TARGET. If one of these variables has an unknown value, prints a line on stderr
 * and returns false. */
bool sim_right_words(void);
/* On Linux, no process has memory at an address between VM_GLOBAL_BASE and this address. So such an address outside all
 * allocations is a wrong device address. */
#define SIM_DEVICE_ONLY_END 0x400000000000ull
/* One side of a copy: a host pointer, an address of `context`, or either of them (CU_MEMORYTYPE_UNIFIED). */
typedef struct sim_side {
    CUmemorytype type;
    bool write; /* true if this side is the target */
    uint64_t address;
    sim_context *context;
} sim_side;
/* returns the host's pointer to the bytes, or NULL if device memory does not contain all of them */
void *sim_side_resolve(const sim_side *where, size_t bytes);
/* Reports a copy to the checks. */
void sim_side_copied(const sim_side *to, const sim_side *from, size_t bytes);
/* also closes the levels of the array, and makes its textures stale */
void sim_array_close(sim_context *context, sim_array *array);
void sim_texture_close(sim_context *context, sim_texture *texture);
/* Converts a format. Returns false if it is not supported. */
bool sim_format(CUarray_format format, vm_format *out);
/* Begins a query of `device` whose result goes to `out`. `out` must not be NULL. */
CUresult sim_begin_device(CUdevice device, const void *out);
/* check.c. The caller holds both locks. */
bool sim_check_wanted(void); /* returns true if the environment requests checks */
bool sim_check_open(sim_context *context);
/* Prints the findings to standard error if the environment requests it. If `locked` is true, the caller holds both
 * locks. Otherwise the function only prints the findings so far. */
void sim_check_show(sim_context *context, bool locked, bool leaks);
const volatile int *sim_ending(void); /* a flag that becomes 1 when the process ends while kernels are checked */
/* Writes the findings of a context in the form that the environment requests. sim_report_end() writes the end of the
 * report when the process ends, and may end the process with an exit code. */
void sim_report(sim_context *context);
/* Called for each new context. The first call reads the rules of suppression and, if the form is JSON, creates the
 * journal. */
void sim_report_begin(void);
bool sim_report_suppresses(const kiln_check_finding *finding); /* call it after sim_report_begin() */
/* Called after each work of the device: if the form is JSON, adds new findings to the journal. */
void sim_report_new(sim_context *context);
void sim_report_end(void);
/* If the context counts, the first function prepares a launch for counting, and returns false if memory runs out. The
 * second function adds the counts of the launch. The caller holds both locks. */
bool sim_count_launch(sim_context *context, const sim_function *function, const vm_launch *launch,
                      struct vm_watch *watch);
void sim_count_ran(sim_context *context, const sim_function *function, const vm_counters *counters);
void sim_count_forget(sim_context *context, const sim_module *module);
void sim_count_stop(sim_context *context);
void sim_count_work(uint64_t nanoseconds, uint64_t warp_instructions);
/* returns false if KILN_SIM_MEMORY is not a number */
bool sim_device_memory(const sim_profile *profile, uint64_t *bytes);

/* ---- the estimate of a launch's time: estimate.c ---- */

/* The part of the device that executes an operation. */
typedef enum sim_lane {
    SIM_LANE_KERNEL,    /* a kernel */
    SIM_LANE_TO_DEVICE, /* copies from host to device; this lane and the next each run one copy at a time */
    SIM_LANE_FROM_DEVICE,
    SIM_LANE_ON_DEVICE, /* a fill, or a copy within the device's memory */
    SIM_LANES
} sim_lane;

typedef struct sim_estimate { /* the estimate of one launch; all zero if no estimate was requested */
    struct vm_trace *trace;
    struct vm_cost *cost;
    uint32_t resident; /* blocks on an SM */
    uint64_t blocks, at_once;
    double shared; /* shared memory of a block, in bytes */
    vm_spills spills;
} sim_estimate;
typedef struct sim_timed { /* the times of one launch */
    bool known;
    double seconds, overhead; /* overhead: the part of the seconds that a launch of an empty kernel takes */
    const char *bound;
    vm_time_result result;
} sim_timed;
/* Called before and after a launch. vm_time_launch explains `at_once`. If `wanted` is true, the functions make an
 * estimate even if the thread has not requested it. */
void sim_estimate_launch(const sim_function *function, uint32_t resident, uint64_t at_once, const vm_launch *launch,
                         bool wanted, struct vm_watch *watch, sim_estimate *estimate);
void sim_estimate_ran(sim_context *context, sim_estimate *estimate, bool whole, sim_timed *timed);
void sim_estimate_drop(sim_estimate *estimate);
/* Estimates the time of a fill or a copy, and reports it to the profile of the program. Adds the time of a fill or copy
 * on the device to the thread's estimate. `bytes` is the number of bytes that move between host and device. For work on
 * the device it is the sum of the bytes read and written. */
void sim_estimate_bytes(sim_context *context, sim_lane lane, const char *what, uint64_t bytes);

/* ---- programs/: functions that the driver calls but must not link ---- */

/* A function of the driver API, and its name. cu_api.h explains `since`. */
typedef struct sim_entry {
    const char *name;
    int since;
    void (*function)(void);
} sim_entry;

/* A launch in the profile of a program, from program_launch() to program_ran(). All members are zero if the launch is
 * not recorded. */
typedef struct sim_noted {
    struct sim_row *row;
    bool estimated; /* true if this launch itself was estimated */
    struct vm_profile *counters;
} sim_noted;
struct sim_op;

/* X(result, name, arguments): the function sim_NAME in programs/, where a comment describes it. All these functions
 * need the state lock. */
#define SIM_PROGRAMS_CALLS(X)                                                                                          \
    /* captures (capture.c) */                                                                                         \
    X(CUresult, forbid, (sim_context * context))                                                                       \
    X(CUresult, forbid_any, (sim_context * context))                                                                   \
    X(CUresult, capture_enter, (sim_context * context, CUstream stream, sim_stream * *capturing))                      \
    X(CUresult, capture_submit, (sim_context * context, sim_stream * stream, struct sim_op * op))                      \
    X(CUresult, capture_wait, (sim_context * context, CUstream stream))                                                \
    X(CUresult, capture_record, (sim_context * context, sim_stream * stream, sim_event * event))                       \
    X(CUresult, capture_wait_event, (sim_context * context, CUstream stream, const sim_event *event))                  \
    X(CUresult, capture_look_event, (sim_context * context, const sim_event *event))                                   \
    X(void, capture_leave, (sim_context * context, sim_stream * stream))                                               \
    X(CUresult, capture_status, (sim_context * context, CUstream stream, CUstreamCaptureStatus * status))              \
    /* graphs (graph_op.c) and pools (pool.c) */                                                                       \
    X(bool, graph_memory, (const sim_context *context, CUdeviceptr address, uint64_t bytes, bool exact))               \
    X(void, pool_freed, (sim_context * context, uint64_t pool, uint64_t address, uint64_t bytes))                      \
    /* the profile of a program (program.c) */                                                                         \
    X(bool, program_open, (void))                                                                                      \
    X(bool, program_on, (void))                                                                                        \
    X(void, program_stream, (const sim_stream *stream, bool waits))                                                    \
    X(void, program_launch,                                                                                            \
      (const sim_function *function, uint32_t resident, const vm_launch *launch, struct vm_watch *watch,               \
       sim_noted *noted))                                                                                              \
    X(void, program_ran, (sim_context * context, sim_noted * noted, bool whole, const sim_timed *timed))               \
    X(void, program_moved, (sim_context * context, sim_lane lane, const char *what, uint64_t bytes, double seconds))   \
    X(void, program_record, (sim_context * context, sim_event * event))                                                \
    X(void, program_after, (const sim_context *context, sim_stream *stream, const sim_event *event))                   \
    X(void, program_wait, (const sim_context *context, const sim_stream *stream))                                      \
    X(void, program_wait_event, (const sim_event *event))                                                              \
    X(void, program_wait_all, (const sim_context *context))

typedef struct sim_programs_table {
    const sim_entry *entries; /* the functions of the driver API that programs/ has */
    size_t entry_count;
#define SIM_X(result, name, arguments) result(*name) arguments;
    SIM_PROGRAMS_CALLS(SIM_X)
#undef SIM_X
} sim_programs_table;

/* The table of programs/. Without programs/ this is the table of alone.c, which has no captures, pools and profiles.
 * Any thread may call this function. */
const sim_programs_table *sim_programs(void);
/* Sets the table, which must stay valid. Any thread may call this function. Every call sets the same table. */
void sim_programs_set(const sim_programs_table *table);
/* In libcuda this table is set from the beginning (programs/join.c). */
#ifndef SIM_PROGRAMS
#define SIM_PROGRAMS &sim_no_programs
#endif
extern const sim_programs_table sim_no_programs; /* alone.c */

/* ---- names ---- */

/* Returns the demangled C++ name of a kernel. The caller frees it with free(). Returns NULL if the name is not mangled
 * or would become too long, if there is no demangler (libstdc++.so.6), or if memory runs out. */
char *sim_readable_name(const char *symbol);

/* ---- queries and settings ---- */

/* Answers a kernel's query of a device attribute (vm_limits.attribute). `profile` is a sim_profile. */
bool sim_kernel_attribute(const void *profile, int attribute, int *value);
/* Returns how many blocks of `threads` threads fit on a multiprocessor. */
int sim_blocks_per_sm(const sim_function *function, uint64_t threads, uint64_t dynamic_shared);
/* Returns how many of `blocks` blocks can have their tensor memory on an SM at the same time. The occupancy functions
 * of the driver API ignore tensor memory, so only estimates use this limit. */
uint64_t sim_limit_by_columns(const sim_function *function, uint64_t blocks);
bool sim_kernel_occupancy(const void *profile, const vm_resources *kernel, int threads, uint64_t shared, int *blocks);
/* The simulator's libcuda defines SIM_CHOOSE, which selects the device that the environment names
 * (programs/library/choose.c). */
#ifndef SIM_CHOOSE
#define SIM_CHOOSE() CUDA_SUCCESS
#endif
/* The values of vm_limits.page and .zeroed. The simulator's libcuda defines other values. */
#ifndef SIM_PAGE
#define SIM_PAGE 0
#define SIM_ZEROED false
#endif

#endif
