/* cu_objects.h - declarations that all files of the simulated driver share (sim/driver/objects, sim/driver/work).
 *
 * As in libcuda, the state belongs to the process. The state is the devices, their contexts, and a table of all
 * objects. A handle is a number that the driver looks up in this table, and never a pointer. So a stale or invalid
 * handle gives an error code, and the driver does not crash.
 *
 * The driver has two locks. A thread that needs both takes them in this order. A thread holds `work` while the device
 * works: during a kernel, a copy, a fill, or the release of memory. This lock keeps the order of streams. `state`
 * guards the table of objects and the contexts. No thread holds `state` while a kernel runs. So other threads can make
 * queries and prepare work during the kernel. */
#ifndef KILN_SIM_CU_OBJECTS_H
#define KILN_SIM_CU_OBJECTS_H

#include <cuda.h>

#include "cu_api.h"
#include "cu_image.h"
#include "sim.h"
#include "profile.h"
#include "vm_time.h"
#include "vm_watch.h"

CUresult cuProfilerStart(void); /* declared in cudaProfiler.h, which some toolkit packages lack */
CUresult cuProfilerStop(void);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* this header declares deprecated functions too */
/* ## pastes `name` as written. typeof takes the type of the function to which cuda.h maps the name. So the compiler
 * checks each definition against the declaration in cuda.h. */
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
    uint64_t memory; /* size in bytes; if the host has less memory, the device gets less */
    /* the attributes of this profile only; another table has the attributes that all profiles share */
    const sim_attribute *attributes;
    size_t attribute_count;
    const struct sim_model *model; /* the figures for estimates, or NULL if the profile has none */
} sim_profile;
#define SIM_PROFILES_MOST 64
/* The built-in profiles, then the profiles that were read from files. No profile is ever removed. */
extern sim_profile sim_profiles[SIM_PROFILES_MOST];
extern size_t sim_profile_count; /* the state lock guards this number, which only grows */
enum { SIM_DEVICES_MOST = VM_DEVICES_MOST };
/* The functions below are about the devices of the process. In the simulator's libcuda (programs/library/), the
 * environment sets the number of devices. All devices have the same profile, and a CUdevice is the ordinal of a device.
 * The engine has one device, with the selected profile. There a CUdevice is the index of a profile, so that a program
 * can query any profile without selecting it. The caller of these functions must hold the state lock. The exception is
 * sim_set_devices(), which takes the lock itself. */
unsigned sim_device_count(void);
/* Returns the ordinal of a device, or -1 if the process has no such device. */
int sim_device_ordinal(CUdevice device);
CUdevice sim_device_at(unsigned ordinal); /* Returns the CUdevice with this ordinal. */
/* Returns the profile of a device, or NULL if there is no such device. */
const sim_profile *sim_device_profile(CUdevice device);
/* Returns the number of a device among all devices of the machine. Hidden devices count too. Returns 0 if the process
 * has no such device. */
unsigned sim_device_place(CUdevice device);
unsigned sim_machine_devices(void); /* Returns the number of devices of the machine. Hidden devices count too. */
/* For the simulator's libcuda: sets the devices of the process by their numbers on the machine. The machine has `all`
 * devices. Returns false and changes nothing if a context exists already, if `count` is 0, or if `count` is above
 * SIM_DEVICES_MOST. */
bool sim_set_devices(const unsigned *places, unsigned count, unsigned all);
/* Sets `uuid` to the UUID of the device that has the number `place` on the machine. */
void sim_device_uuid(const sim_profile *profile, unsigned place, CUuuid *uuid);
bool sim_profile_attribute(const sim_profile *profile, CUdevice_attribute attribute, int *value);
/* Returns the value of an attribute, or 0 if the profile lacks the attribute. */
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
} sim_kind; /* a kind must fit into five bits of a handle */

typedef struct sim_context sim_context;

/* The first member of every object. sim_object_new() sets it, except in contexts and default pools. An object of
 * sim_object_new() is in a list of its context. The context frees these objects when it ends. */
typedef struct sim_object {
    sim_kind kind;
    uint64_t handle;
    struct sim_context *context; /* the context in which the object was created, and in which it can be used */
    struct sim_object *next, *previous;
    /* If not NULL, the driver calls this function before it frees the object. The function frees other memory of the
     * object. At this time, other objects of the context may already be freed. */
    void (*drop)(struct sim_object *object);
    /* If not NULL, the object belongs to the process. The driver calls the function when the context of the object
     * ends. After that the object belongs to the context of sim_homeless(), unless a test has set an allocator. */
    void (*leave)(struct sim_object *object);
    /* If not NULL, the driver calls this function for each context that is created while the object belongs to the
     * context of sim_homeless(). */
    void (*meet)(struct sim_object *object, const struct sim_context *made);
} sim_object;

/* A pool of stream-ordered allocations. The pool frees memory at once, and keeps no memory for later allocations. */
typedef struct sim_pool {
    sim_object object;
    uint64_t threshold, used, most;
    uint64_t limit; /* the largest size; 0 means that there is no limit */
    int reuse[3];   /* settings of reuse, which can be set and queried but have no effect */
    uint32_t open;  /* bit n is set if another device, the device n, may use the memory of the pool */
    /* The members below are for pools that processes share (programs/pool_share.c). The allocations of such a pool are
     * parts of a file. */
    bool shared, imported; /* imported: another process made the pool, or this process imported its own pool */
    int file;
    /* inode and bytes describe the file; next is the offset of the next allocation in it */
    uint64_t inode, bytes, next;
} sim_pool;

struct sim_context {
    sim_object object;
    unsigned ordinal; /* the ordinal of the device of this context */
    /* The number of users of a primary context. The number is 0 if the primary context does not exist, and always 0 for
     * a context from cuCtxCreate. */
    unsigned retained;
    CUresult sticky; /* the error of a fault, after which no call can use the context; otherwise CUDA_SUCCESS */
    vm_device *device;
    sim_object *objects;
    /* Host time in ns that the work of the device has taken until now. Events use it as their clock. */
    uint64_t clock_ns;
    uint64_t memory;               /* bytes of memory that the device has */
    uint64_t steps;                /* the step budget of a launch; 0 means the default of the interpreter */
    char fault[1024];              /* a sentence about the last fault, or "" */
    struct sim_context *next;      /* the next context in the list of contexts from cuCtxCreate */
    struct sim_counting *counting; /* state of count.c, or NULL if the context does not count */
    struct vm_check *check;        /* state of check.c, or NULL if the context is not checked */
    /* The happens-before order of the context's streams (driver/work/order.c). The pointer is NULL until the context
     * has checked work. */
    struct sim_order *order;
    void (*order_end)(sim_context *context); /* called to remove the context from the order */
    /* Called when the host has waited for all work of the context. The function removes the guards of host memory. */
    void (*order_let)(sim_context *context);
    bool check_shown;  /* the environment demands that findings are reported */
    size_t check_told; /* number of findings that the journal of check_report.c already has */
    unsigned check_id; /* the number of the context's check in the journal; 0 until a finding is written */
    uint64_t id;
    unsigned flags, attached; /* attached: number of additional users that cuCtxAttach has added */
    /* The limits that a program can set and query. Only two limits have an effect: the heap of malloc(), and the number
     * of pending launches of the device runtime. */
    size_t limits[CU_LIMIT_MAX];
    CUfunc_cache cache_config;
    sim_pool pool;                   /* the default pool */
    uint64_t pool_current;           /* the handle of the pool that cuMemAllocAsync uses; 0 means the default pool */
    uint64_t graph_used, graph_most; /* bytes that nodes of graphs have allocated: now, and at most */
    size_t captures;                 /* number of captures of its streams that have begun and not ended */
};

typedef struct sim_module {
    sim_object object;
    vm_module *vm;
    struct sim_function *functions;
    struct sim_library *library; /* the library that contains the module, or NULL */
    /* The image of a library, if the caller keeps it unchanged (CU_LIBRARY_BINARY_IS_PRESERVED). Otherwise NULL. */
    const void *image;
} sim_module;
typedef struct sim_function {
    sim_object object;
    sim_module *module;
    struct sim_function *sibling; /* the next function in the list of its module */
    int kernel;
    vm_resources resources;
    kiln__sim_spills spills; /* the spills in the machine code of the kernel, if the engine has compiled it */
    int dynamic_limit;       /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    int carveout;
    uint32_t cluster[3]; /* the cluster size that the program has set for launches; 0 if it has set none */
    bool wide_cluster;   /* CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED */
    /* parameters for the old functions cuParamSet* and cuLaunch; allocated at the first use */
    unsigned char *old_params;
    unsigned old_param_bytes, old_shared, old_block[3];
} sim_function;
typedef struct sim_library {
    sim_object object;
    sim_module *module;
} sim_library;
#define SIM_PRIORITY (-5) /* the highest priority of a stream; the lowest is 0 */
typedef struct sim_stream {
    sim_object object;
    unsigned flags;
    int priority;
    uint32_t lane;               /* the lane of the stream in sim_order; 0 if it has none */
    struct sim_capture *capture; /* the capture in which the stream takes part, or NULL */
    struct sim_edge *tips;       /* the dependencies of the next node that is captured */
    size_t tip_count, tip_capacity;
    CUgraphNode *shown; /* the array that the last call of cuStreamGetCaptureInfo returned */
    CUgraphEdgeData *shown_data;
    size_t shown_capacity, shown_data_capacity;
    CUaccessPolicyWindow window; /* attributes of the stream, which can be set and queried but have no effect */
    CUsynchronizationPolicy policy;
    CUlaunchMemSyncDomainMap domains;
    CUlaunchMemSyncDomain domain;
    double device_end; /* the time, in the timeline of a program, at which the stream's work so far ends */
    unsigned track;    /* number of the stream in the timeline; 0 until the stream gets a number */
} sim_stream;
/* Memory that host and device share and use by the same pointer. */
typedef enum sim_sharing { SIM_PINNED, SIM_REGISTERED, SIM_MANAGED } sim_sharing;
typedef struct sim_host {
    sim_object object;
    sim_sharing sharing;
    void *pointer;
    size_t bytes;
    unsigned flags;
} sim_host;
typedef struct sim_array { /* an object for a CUarray or a CUmipmappedArray */
    sim_object object;
    bool mipmapped;
    CUDA_ARRAY3D_DESCRIPTOR descriptor; /* the requested descriptor */
    vm_image image;
    void *storage; /* the texels; NULL for a level of `parent`, because the parent owns the memory */
    uint64_t bytes;
    /* levels: the arrays of the levels that a program has requested */
    struct sim_array *parent, *levels[VM_LEVELS_MAX];
} sim_array;
typedef struct sim_texture { /* an object for a CUtexObject or a CUsurfObject */
    sim_object object;
    bool surface, has_view;
    const sim_array *array; /* the array whose texels the object shows, or NULL */
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC sampling;
    CUDA_RESOURCE_VIEW_DESC view;
} sim_texture;
/* A node of a captured graph that an event marks. The mark also has the edge from this node to the work that waits for
 * the event. */
typedef struct sim_mark {
    uint64_t node;
    CUgraphEdgeData data;
} sim_mark;
typedef struct sim_event {
    sim_object object;
    unsigned flags;
    bool recorded;
    uint64_t clock_ns;
    double device_time; /* when the event was recorded, in the timeline of a program */
    uint64_t capture;   /* the capture in which the event was last recorded, or 0 */
    sim_mark *tips;     /* the nodes of a captured graph that the event marks */
    size_t tip_count, tip_capacity;
    uint32_t *known; /* for sim_order: the vector clock of the work that the event marks, or NULL */
    /* For sim_order: if the event marks the trigger of a launch, the vector clock of the end of this launch. If a
     * kernel waits for the event, its griddepcontrol.wait acquires this clock. If the event marks no trigger, the
     * pointer is NULL. */
    uint32_t *promised;
} sim_event;

/* Makes an object of `size` bytes in `context` and gives it a handle. Returns NULL if memory runs out. The caller must
 * hold the state lock. */
void *sim_object_new(sim_context *context, sim_kind kind, size_t size);
void sim_object_free(sim_context *context, void *object);
/* Returns the live object of `context` that has this handle and this kind, or NULL. The caller must hold the state
 * lock. */
void *sim_object_find(const sim_context *context, const void *handle, sim_kind kind);
sim_context *sim_context_find(CUcontext handle); /* Returns the live context with this handle, or NULL. */
/* Returns the context that follows `context` in the sequence of all live contexts. Returns the first context if
 * `context` is NULL. */
sim_context *sim_context_after(const sim_context *context);
/* Returns the primary context of the device. If it does not exist, returns another context on the device. Returns NULL
 * if there is no context. */
sim_context *sim_context_on(unsigned ordinal);
/* sim_home() returns the context whose memory contains the address. sim_follow() returns the context that has the
 * object. If there is one device, or if no other context has it, both return `context`. The caller must hold the state
 * lock. */
sim_context *sim_home(sim_context *context, uint64_t address);
sim_context *sim_follow(sim_context *context, const void *handle, sim_kind kind);
/* Returns the context that has the object, on whatever device. If no context has it, returns `context`. The caller must
 * hold the state lock. */
sim_context *sim_owner(sim_context *context, const void *handle, sim_kind kind);
/* Types such as CUstream are pointers to incomplete types. The value of such a pointer is the number of the handle.
 */
#define SIM_HANDLE(type, object_) ((type)(uintptr_t)(object_)->object.handle)
/* Returns true for the default streams and for each live stream. */
bool sim_stream_known(const sim_context *context, CUstream stream);
/* Returns the stream with this handle. If `make` is true, and the handle stands for the per-thread stream of a thread
 * that has none, creates this stream. Returns NULL for the legacy stream, for an invalid handle, or if memory runs
 * out. */
sim_stream *sim_stream_at(sim_context *context, CUstream stream, bool make);
static inline bool sim_is_legacy(CUstream stream) { return !stream || stream == CU_STREAM_LEGACY; }

/* ---- entering and leaving a call ---- */

/* If the call returns an error, returns from the function with this error. */
#define SIM_TRY(call)                                                                                                  \
    do {                                                                                                               \
        const CUresult tried_ = (call);                                                                                \
        if (tried_ != CUDA_SUCCESS)                                                                                    \
            return tried_;                                                                                             \
    } while (0)

/* Begins a driver call: takes the state lock, sets *context to the calling thread's current context, and returns
 * CUDA_SUCCESS. If the thread has no current context that can be used, returns an error and holds no lock. */
CUresult sim_begin(sim_context **context);
/* Does the same as sim_begin() for a call about a pool. If the thread has no current context, takes the first primary
 * context that is retained. */
CUresult sim_begin_pool(sim_context **context);
/* Begins a call as sim_begin() does, and returns the object with this handle and this kind. If the result is NULL, the
 * function holds no lock, and *result is the error. */
void *sim_begin_object(sim_context **context, const void *handle, sim_kind kind, CUresult *result);
/* Ends a driver call: releases the state lock and returns `result`. */
CUresult sim_end(CUresult result);
#if defined __clang_analyzer__ || defined KILN_ANALYZER /* see kiln__fail() */
static inline CUresult sim_ended(CUresult result) { return sim_end(result), result; }
#define sim_end(result) sim_ended(result)
#endif
/* Begins a call that gives work to the device. The function does the same as sim_begin(), but it takes the work lock
 * before the state lock. sim_end_work() ends such a call: it adds the duration of the call to the context's clock and
 * releases both locks. A host function of a stream must not call the driver. If it does, sim_begin_work() returns
 * CUDA_ERROR_NOT_PERMITTED. */
CUresult sim_begin_work(sim_context **context);
/* Does the same as sim_begin_work(), but also works after a fault and within a host function. */
CUresult sim_begin_any(sim_context **context);
/* Begins work of the device within a host function. The context is the one whose work has called the host function. The
 * current context of the thread may be another context. If the calling context has ended, returns an error, even if a
 * new context has the same handle by now. */
CUresult sim_begin_called(sim_context **context);
/* Does the same as sim_begin_work() for a call about objects of the process. If the thread has no live current context,
 * uses the context of sim_homeless(). If the current context has had a fault, returns the error of this fault. */
CUresult sim_begin_process(sim_context **context);
/* Returns a context for objects of the process whose own context has ended. This context has no device. Its ordinal
 * differs from the ordinals of all devices. */
sim_context *sim_homeless(void);
CUresult sim_end_work(sim_context *context, CUresult result);
#if defined __clang_analyzer__ || defined KILN_ANALYZER
static inline CUresult sim_ended_work(sim_context *context, CUresult result)
{
    return sim_end_work(context, result), result;
}
#define sim_end_work(context, result) sim_ended_work(context, result)
#endif
/* Releases both locks, calls a function of the host, and takes the locks again. Returns false if the context has ended
 * during the call. Then the caller must not use the context, and must pass NULL to sim_end_work(). */
bool sim_call_out(sim_context *context, void (*function)(void *), void *user);
/* Waits until no other thread runs a host function for a stream. */
void sim_wait_idle(void);
/* Returns the time that an event gets if it is recorded now. The caller must hold the `work` lock. */
uint64_t sim_clock(const sim_context *context);
/* sim_pause() releases the state lock before a kernel, and sim_resume() takes it again after the kernel. The caller
 * must hold the `work` lock. */
void sim_pause(void);
void sim_resume(void);
/* Begins a driver call that needs no context. If cuInit was called, returns CUDA_SUCCESS and holds the state lock. */
CUresult sim_begin_bare(void);
const sim_profile *sim_current_profile(void); /* Returns the selected profile. The caller must hold the state lock. */
const kiln_allocator *sim_memory(void);
/* For tests: sets the allocator that serves all later allocations. NULL means malloc(). A test must not call this while
 * the primary context is retained. */
void sim_set_memory(const kiln_allocator *mem);

/* ---- modules ---- */

/* The JIT options that have an effect: the buffers of the logs, and the time. */
typedef struct sim_jit_log {
    char *buffer;
    size_t size;
    /* *written is the size of the buffer before the call. After the call it is the number of bytes written. */
    void **written;
} sim_jit_log;
typedef struct sim_jit {
    sim_jit_log info, error;
    void **wall_time;
} sim_jit;
CUresult sim_jit_read(unsigned count, const CUjit_option *options, void **values, sim_jit *jit);
void sim_jit_log_put(const sim_jit_log *log, const char *text);
void sim_jit_time_put(const sim_jit *jit, uint64_t nanoseconds);
/* Parses one text of PTX for the current device. Errors are added to `log`. */
CUresult sim_ptx_parse(const char *text, size_t length, ptx_module **ptx, kiln__text *log);
CUresult sim_ptx_result(ptx_result result);
CUresult sim_image_error(sim_image_result result);
bool sim_is_builtin(const char *function); /* Returns true for a function that the device itself provides. */
/* Returns the compute capability of the device, such as 90 for 9.0. The caller must hold the state lock. */
int sim_device_cc(void);

/* Loads the module `image` into the context with the given JIT options. Sets *module only if the load succeeds.
 * `length` is SIZE_MAX if the length is unknown. `twin` is the module of the same image on another device. The new
 * module shares its managed variables. `twin` may be NULL. The caller must hold both locks. */
CUresult sim_module_load(sim_context *context, const void *image, size_t length, unsigned count,
                         const CUjit_option *options, void **values, const sim_module *twin, sim_module **module);
/* Returns NULL if memory runs out. */
sim_function *sim_function_of(sim_context *context, sim_module *module, int kernel);
CUresult sim_file_read(const char *path, char **data, size_t *length);
void sim_link_drop(sim_object *link); /* Frees the contents of a link object, but not the object itself. */
/* sim_module_on() returns the module that was loaded from `image` on this device. sim_module_twin() returns a module
 * that was loaded from `image` on any device except the device of the context. Both functions compare only the pointer
 * of the image, and return NULL if no module has this image. The caller must hold the state lock. */
const sim_module *sim_module_on(unsigned ordinal, const void *image);
const sim_module *sim_module_twin(const sim_context *context, const void *image);
/* Frees a module and its functions. The caller must hold both locks. */
void sim_module_close(sim_context *context, sim_module *module);
/* Stands for the stream of synchronous copies and fills. A synchronous copy or fill invalidates the captures of
 * blocking streams, whatever their mode. Other captures stay valid. */
#define SIM_WAITS CU_STREAM_LEGACY
/* Returns the memory that host and device share and that contains the address, or NULL. */
sim_host *sim_host_at(const sim_context *context, uint64_t address);
/* Frees device memory of any kind: from cuMemAlloc, from a pool, from a graph and so on. Returns false if no memory
 * that can be freed starts at this address. */
bool sim_memory_free(sim_context *context, CUdeviceptr pointer);
/* Values of vm_info.owner that are not handles. The first stands for memory of a graph's node, the second for a
 * reserved range of addresses. */
enum { SIM_OWNER_GRAPH = 1, SIM_OWNER_RANGE = 2 };
/* The handle of the default pool of a device. This pool is not in the table of objects. */
#define SIM_POOL_HANDLE(ordinal) ((uint64_t)0x52u << 56 | (uint64_t)(ordinal) << 8 | 0x10)
/* Returns the current context of the thread, even if it is unusable. Returns NULL if the thread has no context. The
 * caller must hold the state lock. */
sim_context *sim_current(void);
/* A destructor that a program has given to a user object (CUuserObject). The driver must call it without locks, because
 * the function belongs to the program. */
typedef struct sim_end_of {
    void (*destroy)(void *);
    void *pointer;
    struct sim_end_of *next;
} sim_end_of;
void sim_bury(sim_end_of *end); /* Adds a destructor to the list of destructors. The list then owns `end`. */
void sim_bury_users(void);      /* Calls and frees all destructors of the list. The caller must hold no locks. */
/* Reads a variable of the environment as a number. *value is 0 if the variable is not set. If the variable is not a
 * number, prints a line on stderr and returns false. */
bool sim_environment(const char *name, uint64_t *value);
/* Sets *threshold to $KILN_SIM_JIT. The threshold is the number of runs after which the device compiles code
 * (vm_jit.h). A threshold of 0 means that code is never compiled. If the variable is not set, the threshold is
 * SIM_JIT_DEFAULT. If the variable is not a number, prints a line on stderr and returns false. */
enum { SIM_JIT_DEFAULT = 65536 };
bool sim_jit_asked(uint32_t *threshold);
/* Checks the values of $KILN_SIM_ISA and $KILN_SIM_TARGET. If one of these variables has an unknown value, prints a
 * line on stderr and returns false. */
bool sim_right_words(void);
/* On Linux, no process has memory of its own at addresses between VM_GLOBAL_BASE and this address. So if such an
 * address lies outside all allocations, it is a wrong device address. */
#define SIM_DEVICE_ONLY_END 0x400000000000ull
/* One side of a copy: a host pointer, an address of `context`, or a pointer of unknown kind (CU_MEMORYTYPE_UNIFIED). */
typedef struct sim_side {
    CUmemorytype type;
    bool write; /* true if this side is the target of the copy */
    uint64_t address;
    sim_context *context;
} sim_side;
/* Returns the host's pointer to the bytes of a side. Returns NULL if the side is device memory that does not contain
 * all of them. */
void *sim_side_resolve(const sim_side *where, size_t bytes);
/* Reports a copy to the checks. */
void sim_side_copied(const sim_side *to, const sim_side *from, size_t bytes);
/* Closes an array and its levels. The textures of the array become stale. */
void sim_array_close(sim_context *context, sim_array *array);
void sim_texture_close(sim_context *context, sim_texture *texture);
/* Converts the format of an array. Returns false if the simulator does not support the format. */
bool sim_format(CUarray_format format, vm_format *out);
/* Begins a query of `device`. The query writes its result to `out`. If `out` is NULL, returns an error. */
CUresult sim_begin_device(CUdevice device, const void *out);
/* check.c. For the functions below, the caller must hold both locks. */
bool sim_check_wanted(void); /* returns true if the environment demands checks */
bool sim_check_open(sim_context *context);
/* If the environment demands it, prints the findings of a context to standard error. `locked` tells that the caller
 * holds both locks. If the caller does not hold the locks, the function only prints the findings that exist so far. */
void sim_check_show(sim_context *context, bool locked, bool leaks);
const volatile int *sim_ending(void); /* Returns a flag that becomes 1 if the process ends while it checks kernels. */
/* Writes the findings of a context in the format that the environment demands. At the end of the process,
 * sim_report_end() writes the end of the report. sim_report_end() may end the process with an exit code. */
void sim_report(sim_context *context);
/* The driver calls this function for each new context. The first call reads the rules of suppression. If the format is
 * JSON, it also creates the journal. */
void sim_report_begin(void);
/* Returns true if a rule suppresses the finding. sim_report_begin() must have been called before. */
bool sim_report_suppresses(const kiln_check_finding *finding);
/* The driver calls this after each work of the device. If the format is JSON, the function adds new findings to the
 * journal. */
void sim_report_new(sim_context *context);
void sim_report_end(void);
/* If the context counts, the first function prepares a launch for counting. It returns false if memory runs out. The
 * second function adds the counts of the launch to the counts of the context. The caller must hold both locks. */
bool sim_count_launch(sim_context *context, const sim_function *function, const vm_launch *launch,
                      struct vm_watch *watch);
void sim_count_ran(sim_context *context, const sim_function *function, const vm_counters *counters);
void sim_count_forget(sim_context *context, const sim_module *module);
void sim_count_stop(sim_context *context);
void sim_count_work(uint64_t nanoseconds, uint64_t warp_instructions);
/* Computes the size of the device's memory. Returns false if KILN_SIM_MEMORY is not a number. */
bool sim_device_memory(const sim_profile *profile, uint64_t *bytes);

/* ---- the estimate of a launch's time: estimate.c ---- */

/* The part of the device that executes an operation. The timeline of a program has a lane for each part. */
typedef enum sim_lane {
    SIM_LANE_KERNEL,    /* a kernel */
    SIM_LANE_TO_DEVICE, /* copies from host to device; this lane and the next lane each run one copy at a time */
    SIM_LANE_FROM_DEVICE,
    SIM_LANE_ON_DEVICE, /* fills, and copies within the memory of the device */
    SIM_LANES
} sim_lane;

typedef struct sim_estimate { /* the estimate of one launch; all members are zero if nobody has requested an estimate */
    struct vm_trace *trace;
    struct vm_cost *cost;
    uint32_t resident; /* number of blocks on an SM */
    uint64_t blocks, at_once;
    double shared; /* bytes of shared memory of a block */
    vm_spills spills;
} sim_estimate;
typedef struct sim_timed { /* the times of one launch */
    bool known;
    double seconds, overhead; /* overhead: the part of `seconds` that a launch of an empty kernel also takes */
    const char *bound;
    vm_time_result result;
} sim_timed;
/* The driver calls these functions before and after a launch. vm_time_launch explains `at_once`. If `wanted` is true,
 * the two functions make an estimate even if the thread has not requested one. */
void sim_estimate_launch(const sim_function *function, uint32_t resident, uint64_t at_once, const vm_launch *launch,
                         bool wanted, struct vm_watch *watch, sim_estimate *estimate);
void sim_estimate_ran(sim_context *context, sim_estimate *estimate, bool whole, sim_timed *timed);
void sim_estimate_drop(sim_estimate *estimate);
/* Estimates the time of a fill or a copy, and reports it to the profile of the program. If the fill or the copy is on
 * the device, adds its time to the estimate of the thread. For a copy between host and device, `bytes` is the number of
 * bytes that move. For work on the device, `bytes` is the sum of the bytes that are read and written. */
void sim_estimate_bytes(sim_context *context, sim_lane lane, const char *what, uint64_t bytes);

/* ---- programs/: functions that the driver calls but must not link ---- */

/* A function of the driver API with its name. cu_api.h explains `since`. */
typedef struct sim_entry {
    const char *name;
    int since;
    void (*function)(void);
} sim_entry;

/* A launch in the profile of a program, while it runs: from program_launch() to program_ran(). All members are zero if
 * the profile does not record the launch. */
typedef struct sim_noted {
    struct sim_row *row;
    bool estimated; /* true if there is an estimate of this launch itself */
    struct vm_profile *counters;
} sim_noted;
struct sim_op;

/* X(result, name, arguments): the function sim_NAME in programs/. A comment in programs/ describes it. The caller of
 * these functions must hold the state lock. */
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
    const sim_entry *entries; /* the driver API functions that programs/ defines */
    size_t entry_count;
#define SIM_X(result, name, arguments) result(*name) arguments;
    SIM_PROGRAMS_CALLS(SIM_X)
#undef SIM_X
} sim_programs_table;

/* Returns the table of programs/. In a driver without programs/ this is the table of alone.c, which has no captures,
 * pools and profiles. Any thread may call this function. */
const sim_programs_table *sim_programs(void);
/* Sets the table of programs/. The table must stay valid. Any thread may call this function. Every call must set the
 * same table. */
void sim_programs_set(const sim_programs_table *table);
/* The simulator's libcuda has this table from the beginning (programs/join.c). */
#ifndef SIM_PROGRAMS
#define SIM_PROGRAMS &sim_no_programs
#endif
extern const sim_programs_table sim_no_programs; /* alone.c */

/* ---- names ---- */

/* Returns the demangled C++ name of a kernel's symbol. The caller frees it with free(). Returns NULL in four cases: the
 * name is not mangled, it would become too long, there is no demangler (libstdc++.so.6), or memory runs out. */
char *sim_readable_name(const char *symbol);

/* ---- queries and settings ---- */

/* Answers the query of a device attribute by a kernel (vm_limits.attribute). `profile` points to a sim_profile. */
bool sim_kernel_attribute(const void *profile, int attribute, int *value);
/* Returns the number of blocks of `threads` threads that fit on a multiprocessor at once. */
int sim_blocks_per_sm(const sim_function *function, uint64_t threads, uint64_t dynamic_shared);
/* Returns the number of blocks, at most `blocks`, that can have their tensor memory on one SM at once. The driver API's
 * functions for occupancy ignore tensor memory. So only estimates use this limit. */
uint64_t sim_limit_by_columns(const sim_function *function, uint64_t blocks);
bool sim_kernel_occupancy(const void *profile, const vm_resources *kernel, int threads, uint64_t shared, int *blocks);
/* The simulator's libcuda defines SIM_CHOOSE. There it selects the device that the environment names
 * (programs/library/choose.c). */
#ifndef SIM_CHOOSE
#define SIM_CHOOSE() CUDA_SUCCESS
#endif
/* The values of vm_limits.page and .zeroed. The simulator's libcuda defines these values differently. */
#ifndef SIM_PAGE
#define SIM_PAGE 0
#define SIM_ZEROED false
#endif

#endif
