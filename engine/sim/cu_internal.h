/* cu_internal.h - what the files of the simulated driver (cu_*.c) share.
 *
 * As in libcuda the state is of the process: one simulated device, its primary context, and a table of everything that
 * was handed out. A handle is a number that is looked up in that table, never a pointer, so a stale, foreign or made-up
 * one is an error code and not a crash.
 *
 * Two locks, always taken in this order: `work` is held while the device does something (a kernel, a copy, a fill, the
 * freeing of what they use), which is what keeps streams in order; `state` guards the table and the context and is
 * never held while a kernel runs, so that other threads can ask and prepare meanwhile. */
#ifndef KILN_SIM_CU_INTERNAL_H
#define KILN_SIM_CU_INTERNAL_H

#include <cuda.h>

#include "sim/cu_api.h"
#include "sim/cu_image.h"
#include "sim/sim.h"
#include "sim/vm_watch.h"

CUresult cuProfilerStart(void); /* of cudaProfiler.h, which not every toolkit package has */
CUresult cuProfilerStop(void);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* old functions are here too */
/* ## keeps `name` as written while typeof sees what cuda.h maps it to, so each definition is checked against cuda.h. */
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

typedef struct sim_attribute { CUdevice_attribute attribute; int value; } sim_attribute;
typedef struct sim_profile {
    const char *name, *title;
    uint64_t memory;                   /* bytes; the host may allow less */
    const sim_attribute *attributes;   /* its own; what it leaves out is looked up in those that all share */
    size_t attribute_count;
} sim_profile;
extern const sim_profile sim_profiles[];
extern const size_t sim_profile_count;
bool sim_profile_attribute(const sim_profile *profile, CUdevice_attribute attribute, int *value);
int sim_profile_int(const sim_profile *profile, CUdevice_attribute attribute); /* 0 where it has none */

/* ---- objects ---- */

typedef enum sim_kind {
    SIM_CONTEXT = 1, SIM_MODULE, SIM_FUNCTION, SIM_STREAM, SIM_EVENT, SIM_LIBRARY, SIM_HOST, SIM_ARRAY,
    SIM_TEXTURE, SIM_LINK
} sim_kind;

typedef struct sim_context sim_context;

/* What every object begins with. Objects are listed in their context, which frees them when it goes. */
typedef struct sim_object {
    sim_kind kind;
    uint64_t handle;
    struct sim_context *context;       /* that it was made in and can be used with */
    struct sim_object *next, *previous;
} sim_object;

struct sim_context {
    sim_object object;
    unsigned retained;                 /* 0: not active; its handle stays the same for the life of the process */
    CUresult sticky;                   /* the fault that ended it, CUDA_SUCCESS while it is whole */
    vm_device *device;
    sim_object *objects;
    uint64_t clock_ns;                 /* host time that the device's work took: the clock that events read */
    uint64_t memory;                   /* bytes of device memory */
    char fault[1024];                  /* in one sentence, "" if there was none */
    struct sim_context *next;          /* among those that cuCtxCreate made */
    struct sim_counting *counting;     /* cu_count.c; NULL: launches are not counted */
    uint64_t id;
    unsigned flags, attached;          /* attached: by cuCtxAttach, beyond the first use */
    size_t limits[CU_LIMIT_MAX];       /* kept and reported; what they limit has limits of its own here */
    CUfunc_cache cache_config;
    uint64_t pool_threshold, used_most;
};

typedef struct sim_module {
    sim_object object;
    vm_module *vm;
    struct sim_function *functions;
    struct sim_library *library;       /* that it belongs to, or NULL */
} sim_module;
typedef struct sim_function {
    sim_object object;
    sim_module *module;
    struct sim_function *sibling;      /* in the module */
    int kernel;
    vm_resources resources;
    int dynamic_limit;                 /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    int carveout;
    unsigned char *old_params;         /* of cuParamSet* and cuLaunch; made at the first use */
    unsigned old_param_bytes, old_shared, old_block[3];
} sim_function;
typedef struct sim_library { sim_object object; sim_module *module; } sim_library;
typedef struct sim_stream { sim_object object; unsigned flags; } sim_stream;
typedef struct sim_host {              /* host memory that was allocated or registered */
    sim_object object;
    void *pointer;
    size_t bytes;
    CUdeviceptr device;                /* 0: registered */
    unsigned flags;
} sim_host;
typedef struct sim_array {             /* a CUarray or a CUmipmappedArray */
    sim_object object;
    bool mipmapped;
    CUDA_ARRAY3D_DESCRIPTOR descriptor; /* as it was asked for */
    vm_image image;
    void *storage;                     /* NULL: a level of `parent`, which goes with it */
    uint64_t bytes;
    struct sim_array *parent, *levels[VM_LEVELS_MAX]; /* levels: those that were asked for */
} sim_array;
typedef struct sim_texture {           /* a CUtexObject or a CUsurfObject */
    sim_object object;
    bool surface, has_view;
    const sim_array *array;            /* whose texels it shows, or NULL */
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC sampling;
    CUDA_RESOURCE_VIEW_DESC view;
} sim_texture;
typedef struct sim_event { sim_object object; unsigned flags; bool recorded; uint64_t clock_ns; } sim_event;

/* A new object of `size` bytes in `context` with a handle; NULL if memory is out. Under the state lock. */
void *sim_object_new(sim_context *context, sim_kind kind, size_t size);
void sim_object_free(sim_context *context, void *object);
/* The live object of that handle and kind in `context`, or NULL. Under the state lock. */
void *sim_object_find(const sim_context *context, const void *handle, sim_kind kind);
sim_context *sim_context_find(CUcontext handle); /* a live one, or NULL */
/* CUstream and friends are pointers to types that nobody completes: a handle's number travels in one. */
#define SIM_HANDLE(type, object_) ((type)(uintptr_t)(object_)->object.handle)
/* True for the default streams and for a live one. */
bool sim_stream_known(const sim_context *context, CUstream stream);

/* ---- entering and leaving a call ---- */

/* CUDA_SUCCESS with the state lock held and the calling thread's current context, else the error and no lock. */
CUresult sim_begin(sim_context **context);
CUresult sim_end(CUresult result);             /* drops the lock, returns `result` */
/* The same for a call that makes the device do something; notes how long it took on the context's clock. */
CUresult sim_begin_work(sim_context **context);
CUresult sim_begin_any(sim_context **context); /* the same also where a fault has ended the context */
CUresult sim_end_work(sim_context *context, CUresult result);
/* Under `work`: drops and retakes the state lock around a kernel. */
void sim_pause(void);
void sim_resume(void);
/* Driver calls that need no context: CUDA_SUCCESS with the state lock held if cuInit was called. */
CUresult sim_begin_bare(void);
const sim_profile *sim_current_profile(void);  /* under the state lock */
const kiln_allocator *sim_memory(void);
/* Tests only: the allocator of everything to come; NULL: malloc. Not while the primary context is retained. */
void sim_set_memory(const kiln_allocator *mem);

/* ---- modules ---- */

/* JIT options, as far as they do something here: logs and the time that it took. */
typedef struct sim_jit_log { char *buffer; size_t size; void **written; } sim_jit_log; /* size in, bytes written out */
typedef struct sim_jit { sim_jit_log info, error; void **wall_time; } sim_jit;
CUresult sim_jit_read(unsigned count, const CUjit_option *options, void **values, sim_jit *jit);
void sim_jit_log_put(const sim_jit_log *log, const char *text);
void sim_jit_time_put(const sim_jit *jit, uint64_t nanoseconds);
/* One PTX text, parsed for the current device, with what is wrong in `log`. */
CUresult sim_ptx_parse(const char *text, size_t length, ptx_module **ptx, kiln__text *log);
CUresult sim_ptx_result(ptx_result result);
CUresult sim_image_error(sim_image_result result);
bool sim_is_builtin(const char *function);     /* a function that the device has */
int sim_device_cc(void);                       /* 90: 9.0; under the state lock */

/* Loads `image` into the current context under its JIT options; *module only on success. `length` is SIZE_MAX if it is
 * not known. Under both locks. */
CUresult sim_module_load(sim_context *context, const void *image, size_t length, unsigned count, const CUjit_option *options,
                         void **values, sim_module **module);
sim_function *sim_function_of(sim_context *context, sim_module *module, int kernel); /* NULL: out of memory */
CUresult sim_file_read(const char *path, char **data, size_t *length);
void sim_link_drop(sim_object *link);         /* what it holds; the object itself stays */
void sim_module_close(sim_context *context, sim_module *module); /* with its functions; under both locks */
/* True for an address in memory that cuMemHostAlloc made, which cuMemFree may not free either. */
bool sim_is_host(const sim_context *context, CUdeviceptr pointer);
/* One side of a copy: a host pointer, an address of `context`, or whichever of them it is (CU_MEMORYTYPE_UNIFIED). */
typedef struct sim_side { CUmemorytype type; uint64_t address; sim_context *context; } sim_side;
void *sim_side_resolve(const sim_side *where, size_t bytes); /* NULL if it is not there */
void sim_array_close(sim_context *context, sim_array *array); /* with its levels; textures of it go stale */
void sim_texture_close(sim_context *context, sim_texture *texture);
/* The formats that there are; false: another one. */
bool sim_format(CUarray_format format, vm_format *out);
/* Begins a call that asks `device` something and hands results through `out`. */
CUresult sim_begin_device(CUdevice device, const void *out);
/* True for the address of a module's variable, which is memory but nothing that cuMemFree may free. */
bool sim_is_variable(const sim_context *context, CUdeviceptr pointer);
/* Lets the launch be watched, if the context counts. False: out of memory. Then what it came to. Under both locks. */
bool sim_count_launch(sim_context *context, const sim_function *function, const vm_launch *launch, struct vm_watch *watch);
void sim_count_ran(sim_context *context, const sim_function *function, const vm_counters *counters);
void sim_count_forget(sim_context *context, const sim_module *module);
void sim_count_stop(sim_context *context);
void sim_count_work(uint64_t nanoseconds, uint64_t warp_instructions);
uint64_t sim_device_memory(const sim_profile *profile);
/* What kernels may ask, with the profile as `user` (vm_limits). */
bool sim_kernel_attribute(const void *profile, int attribute, int *value);
bool sim_kernel_occupancy(const void *profile, const vm_resources *kernel, int threads, uint64_t shared, int *blocks);
#endif
