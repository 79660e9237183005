/* config.h - makes a configuration from a spec and a choice, and gets its code: the source with its macros, compiled
 * or from the cache. This room knows nothing about buffers. */
#ifndef KILN_CONFIG_H
#define KILN_CONFIG_H

#include "engine.h"
#include "space.h"
#include "spec.h"

/* ---- a configuration: a choice in which every param, size and let has its value ---- */
typedef struct kiln__config { /* always on the heap, because its scopes point into it */
    const kiln_spec *spec;
    const kiln__variant *variant;
    kiln__arena arena;     /* memory of names and texts of the settings */
    kiln__settings params; /* variant->param_count values, in the variant's order */
    kiln__settings sizes;
    bool *extents; /* for each size, whether its value was read from the header of an array's file */
    const char *size_set;
    kiln__settings lets;   /* the lets that need no input; the plan computes the other lets */
    kiln__scope scopes[4]; /* device <- sizes <- params <- lets, each inside the next */
} kiln__config;
/* Completes a choice by defaults. Checks names (with suggestions), kinds, and the constraints
 * (KILN_ERROR_CONSTRAINT). Opens the engine's device for names device.*. `choice` may be NULL. The caller frees
 * *config. */
kiln_status kiln__config_make(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                              kiln__config **config, kiln_error **error);
/* Makes a configuration whose names device.* have other values: `device` has all these names, and must live as long as
 * the configuration. If `device` is NULL, the names have the values of the engine's device. */
kiln_status kiln__config_make_for(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                  const kiln__settings *device, kiln__config **config, kiln_error **error);
/* Makes a configuration without the values of `lets`, and does not check the constraints. Walks over a space use it:
 * scopes[1] has the device and the sizes. Names and values are checked. */
kiln_status kiln__config_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                              kiln__config **config, kiln_error **error);
/* Makes a configuration of a space. It has the sizes of `base`, which kiln__config_open() made, and one value for
 * each of the variant's params, in the variant's order. The values must come from the space and satisfy the
 * constraints, which the function does not check again. Everything is copied. */
kiln_status kiln__config_at(const kiln__config *base, const kiln_setting *params, kiln__config **config,
                            kiln_error **error);
/* Returns the size set `name` of a spec, or NULL if the spec lacks it. If `name` is NULL, returns the engine's
 * default for the spec, which is never NULL. The engine's device must be open. */
const kiln__sizes *kiln__config_size_set(const kiln_engine *engine, const kiln_spec *spec, const char *name);
/* Appends the path of a file: the template `path`, filled with the sizes, or `text` if `path` is NULL. */
kiln_status kiln__config_path(const kiln_allocator *mem, const kiln__scope *sizes, const char *text,
                              const kiln__template *path, kiln__text *out, kiln_error **error);
/* Returns the name of the kernel of a launch, with its template filled. The name may be in `filled`, which must be
 * empty before and live as long as the name. Returns NULL if an expression in the name has no value; the reason is
 * added to `diag`, which may be NULL. Also returns NULL if memory runs out; then filled->failed is set. */
const char *kiln__launch_kernel(const kiln__step *launch, const kiln__scope *scope, kiln__text *filled,
                                kiln__diag *diag);
void kiln__config_free(kiln__config *config);                      /* NULL is allowed */
const kiln__scope *kiln__config_scope(const kiln__config *config); /* the innermost scope */
/* Appends the variant and the params, such as "coarsened TILE_M=128 TILE_N=64". */
void kiln__config_print(const kiln__config *config, kiln__text *out);

/* ---- devices that a variant can run on (target.c) ---- */
/* Gives the target for which the variant is compiled. Opens the engine's device. Returns KILN_ERROR_UNSUPPORTED if
 * the device lacks something that the variant needs; the message names it. */
kiln_status kiln__variant_target(kiln_engine *engine, const kiln__variant *variant, kiln__target *target,
                                 kiln_error **error);

/* ---- code, from the cache or compiled (code.c) ---- */
typedef struct kiln__code {
    kiln__unit unit;
    bool from_cache;
    uint64_t compile_ns;
} kiln__code;
typedef struct kiln__code_job kiln__code_job;
/* Reads the source, adds the macros, searches the cache and, on a miss, starts a compile. The function does not wait
 * for the compile. If `target` is NULL, the function takes the target of kiln__variant_target(), so the engine's device
 * must be able to run the variant. If `cubin` is true, the code has machine code too. The caller may free `config`
 * afterwards. The caller must end the job by one of the functions kiln__code_take, _leave and _cancel. */
kiln_status kiln__code_start(kiln_engine *engine, const kiln__config *config, const kiln__target *target, bool cubin,
                             kiln__code_job **job, kiln_error **error);
/* These functions are the two parts of kiln__code_start(). The first part, kiln__code_prepare(), does everything before
 * the cache look-up. The second part, kiln__code_begin(), looks into the cache and starts the compile. If the second
 * part fails, it frees the job. */
kiln_status kiln__code_prepare(kiln_engine *engine, const kiln__config *config, const kiln__target *target, bool cubin,
                               kiln__code_job **job, kiln_error **error);
kiln_status kiln__code_begin(kiln__code_job *job, kiln_error **error);
/* Returns the hash of everything that determines the code. */
kiln__hash128 kiln__code_key(const kiln__code_job *job);
/* Returns whether the compiler may make this code together with others that differ only in the template arguments of
 * their kernels. Several such jobs in the queue cost little more than one. */
bool kiln__code_goes_together(const kiln__code_job *job);
bool kiln__code_done(kiln__code_job *job); /* never blocks */
/* Waits at most `seconds`, or without limit if `seconds` is negative. Returns whether the job is done. */
bool kiln__code_wait(kiln__code_job *job, double seconds);
/* Waits without limit, takes the code and frees the job, also after an error. The code of a new compile goes into the
 * cache, unless CUDA's headers changed meanwhile. The message of KILN_ERROR_COMPILE has NVRTC's log and the
 * configuration. */
kiln_status kiln__code_take(kiln__code_job *job, kiln__code *code, kiln_error **error);
/* Ends a job without taking its code; the caller must not use the job afterwards. If the compile of the job has ended,
 * the code goes into the cache. If the compile has begun and `unfinished` is set, the engine finishes the compile, at
 * the latest before it closes its compiler. Otherwise, or if the cache cannot be written, the compile is cancelled.
 * `job` may be NULL. */
void kiln__code_leave(kiln__code_job *job, bool unfinished);
void kiln__code_cancel(kiln__code_job *job);              /* frees the job; NULL is allowed */
const char *kiln__code_source(const kiln__code_job *job); /* the source with its macros; valid until the job is freed */
void kiln__code_free(kiln__code *code);
/* Returns the module's symbol of a kernel, or NULL if the code lacks the kernel. `kernel` is a name that
 * kiln__launch_kernel() returned. */
const char *kiln__code_symbol(const kiln__code *code, const char *kernel);
/* Collects the filled names of the kernels that a variant's steps launch, each once, in the arena. */
kiln_status kiln__config_kernels(const kiln__config *config, const kiln_allocator *mem, kiln__arena *arena,
                                 const char *const **names, size_t *count, kiln_error **error);

/* ---- limits of a device on launches (fit.c) ---- */
/* Checks whether the engine's device, which must be open, has room for the launches. Returns KILN_ERROR_LAUNCH for an
 * extent, a block or shared memory that the device always refuses. If `code` is not NULL, the registers and the static
 * shared memory of the machine code are checked too. Extents that depend on the data of inputs are checked later by the
 * plan. */
kiln_status kiln__config_fits(const kiln_engine *engine, const kiln__config *config, const kiln__code *code,
                              kiln_error **error);
/* The plan uses these two checks too. The message of KILN_ERROR_LAUNCH has the place in the spec. */
typedef enum kiln__extent_kind { KILN__EXTENT_GRID, KILN__EXTENT_BLOCK, KILN__EXTENT_CLUSTER } kiln__extent_kind;
kiln_status kiln__extent_fits(const kiln_allocator *mem, kiln__extent_kind kind, int axis, const kiln__expr *expr,
                              int64_t value, kiln_error **error);
typedef struct kiln__block { /* the block of a launch */
    unsigned extents[3];
    uint64_t static_shared, dynamic_shared;
    const char *kernel; /* for messages */
    int max_threads;    /* the driver's limit for this kernel; 0 if it is unknown */
} kiln__block;
kiln_status kiln__block_fits(const kiln_allocator *mem, const kiln_device_info *info, const kiln__step *step,
                             const kiln__block *block, kiln_error **error);

/* Makes KILN_ERROR_NOT_FOUND: "OWNER has no WHAT 'NAME'", with the nearest of `count` names or all of them. Each name
 * is the first member of a struct of `stride` bytes. */
kiln_status kiln__plan_unknown(const kiln_allocator *mem, const char *owner, const char *what, const char *name,
                               const void *names, size_t stride, size_t count, kiln_error **error);
#endif
