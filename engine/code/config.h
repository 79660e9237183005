/* config.h - makes a configuration from a spec and a choice, and gets its code. The code is the compiled source with
 * the macros of the configuration. It comes from the compiler or from the cache. The functions of this header know
 * nothing about buffers. */
#ifndef KILN_CONFIG_H
#define KILN_CONFIG_H

#include "engine.h"
#include "space.h"
#include "spec.h"

/* ---- a configuration: a choice in which every tuning parameter, size and named expression has its value ---- */
typedef struct kiln__config { /* a configuration is always on the heap, because its scopes contain pointers into it */
    const kiln_spec *spec;
    const kiln__variant *variant;
    kiln__arena arena;     /* the memory of the names and texts of the settings */
    kiln__settings params; /* the values of all tuning parameters, in the order of the variant's params */
    kiln__settings sizes;
    bool *extents; /* for each size, true if its value was read from the header of an array file */
    const char *size_set;
    /* The named expressions (key `let` of the spec) that need no input. kiln_plan evaluates all other named expressions
     * later, when the inputs exist. */
    kiln__settings lets;
    /* The scopes in which expressions find names: device, sizes, tuning parameters, named expressions. Each scope is
     * inside the one before. */
    kiln__scope scopes[4];
} kiln__config;
/* Makes a configuration from a choice and the defaults. Checks names (with suggestions for misspelt names), types of
 * values, and constraints (KILN_ERROR_CONSTRAINT). Opens the engine's device, because expressions may use the names
 * device.*. `choice` may be NULL. The caller frees *config. */
kiln_status kiln__config_make(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                              kiln__config **config, kiln_error **error);
/* Makes a configuration in which the names device.* have other values. `device` must have all these names, and must
 * live as long as the configuration. If `device` is NULL, the names have the values of the engine's device. */
kiln_status kiln__config_make_for(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                  const kiln__settings *device, kiln__config **config, kiln_error **error);
/* Makes a configuration whose named expressions are not evaluated and whose constraints are not checked. It serves a
 * walk over a space, which uses the device and the sizes in its scopes[1]. The function checks names and values. */
kiln_status kiln__config_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                              kiln__config **config, kiln_error **error);
/* Makes the configuration of a point in a space. It has the sizes of `base`, which kiln__config_open() made. `params`
 * has one value for each tuning parameter, in the variant's order. The values must come from the space and satisfy the
 * constraints, and the function does not check this again. It copies everything. */
kiln_status kiln__config_at(const kiln__config *base, const kiln_setting *params, kiln__config **config,
                            kiln_error **error);
/* Returns the size set `name` of a spec. Returns NULL if the spec does not have this size set. If `name` is NULL,
 * returns the engine's default size set for the spec, which is never NULL. The engine's device must be open. */
const kiln__sizes *kiln__config_size_set(const kiln_engine *engine, const kiln_spec *spec, const char *name);
/* Appends the path of a file to `out`. It is the template `path`, filled with the sizes, or `text` if `path` is
 * NULL. */
kiln_status kiln__config_path(const kiln_allocator *mem, const kiln__scope *sizes, const char *text,
                              const kiln__template *path, kiln__text *out, kiln_error **error);
/* Returns the name of the kernel that a launch starts, with its template filled. The returned name may be in `filled`,
 * which must be empty before the call and live as long as the name. If an expression in the name has no value, returns
 * NULL, and adds the reason to `diag`, which may be NULL. If memory runs out, returns NULL and sets filled->failed. */
const char *kiln__launch_kernel(const kiln__step *launch, const kiln__scope *scope, kiln__text *filled,
                                kiln__diag *diag);
void kiln__config_free(kiln__config *config);                      /* `config` may be NULL */
const kiln__scope *kiln__config_scope(const kiln__config *config); /* returns the innermost scope */
/* Appends the variant's name and the values of its tuning parameters, such as "coarsened TILE_M=128 TILE_N=64". */
void kiln__config_print(const kiln__config *config, kiln__text *out);

/* ---- testing whether a device can run a variant (target.c) ---- */
/* Gets the target for which a variant is compiled. Opens the engine's device. Returns KILN_ERROR_UNSUPPORTED if the
 * device does not have something that the variant needs. The message names it. */
kiln_status kiln__variant_target(kiln_engine *engine, const kiln__variant *variant, kiln__target *target,
                                 kiln_error **error);

/* ---- getting code, from the cache or from the compiler (code.c) ---- */
typedef struct kiln__code {
    kiln__unit unit;
    bool from_cache;
    uint64_t compile_ns;
} kiln__code;
typedef struct kiln__code_job kiln__code_job;
/* Starts a job that makes the code of a configuration. Reads the source, adds the macros, and looks for the code in the
 * cache. If the cache does not have the code, starts a compile, and does not wait for its end.
 *
 * If `target` is NULL, kiln__variant_target() chooses the target, so the engine's device must be able to run the
 * variant. If `cubin` is true, the code also has machine code. The caller may free `config` after the call. The caller
 * must end the job by kiln__code_take(), _leave or _cancel. */
kiln_status kiln__code_start(kiln_engine *engine, const kiln__config *config, const kiln__target *target, bool cubin,
                             kiln__code_job **job, kiln_error **error);
/* The two parts of kiln__code_start(). The first part, kiln__code_prepare(), does all the work before the look-up in
 * the cache. The second part, kiln__code_begin(), looks into the cache and starts the compile. If the second part
 * fails, it frees the job. */
kiln_status kiln__code_prepare(kiln_engine *engine, const kiln__config *config, const kiln__target *target, bool cubin,
                               kiln__code_job **job, kiln_error **error);
kiln_status kiln__code_begin(kiln__code_job *job, kiln_error **error);
/* Returns the hash of everything on which the code depends. */
kiln__hash128 kiln__code_key(const kiln__code_job *job);
/* Returns whether the compiler may make this code together with the code of other jobs. The jobs may differ only in the
 * template arguments of their kernels. In the queue, several such jobs cost little more than one job. */
bool kiln__code_goes_together(const kiln__code_job *job);
bool kiln__code_done(kiln__code_job *job); /* tells whether the job's compile has ended; never blocks */
/* Waits for the end of the job's compile, at most `seconds`. If `seconds` is negative, waits without limit. Returns
 * whether the compile has ended. */
bool kiln__code_wait(kiln__code_job *job, double seconds);
/* Waits for the job without limit, takes its code and frees the job. An error also frees the job. If the code comes
 * from a new compile, it goes into the cache, unless CUDA's headers have changed meanwhile. The message of
 * KILN_ERROR_COMPILE has NVRTC's log and the configuration. */
kiln_status kiln__code_take(kiln__code_job *job, kiln__code *code, kiln_error **error);
/* Ends a job without taking its code. The caller must not use the job afterwards. If the compile of the job has ended,
 * its code goes into the cache. If the compile has begun and `unfinished` is set, the engine finishes the compile
 * before it closes its compiler. In all other cases, and if the cache cannot be written, the compile is cancelled.
 * `job` may be NULL. */
void kiln__code_leave(kiln__code_job *job, bool unfinished);
void kiln__code_cancel(kiln__code_job *job); /* cancels the compile and frees the job; `job` may be NULL */
/* returns the source with its macros; the text is valid until the job is freed */
const char *kiln__code_source(const kiln__code_job *job);
void kiln__code_free(kiln__code *code);
/* Returns the symbol of a kernel in the compiled module. Returns NULL if the code does not have the kernel. `kernel`
 * must be a name that kiln__launch_kernel() returned. */
const char *kiln__code_symbol(const kiln__code *code, const char *kernel);
/* Collects the names of the kernels that the steps of a variant launch, with their templates filled. Each name occurs
 * once, and is in the arena. */
kiln_status kiln__config_kernels(const kiln__config *config, const kiln_allocator *mem, kiln__arena *arena,
                                 const char *const **names, size_t *count, kiln_error **error);

/* ---- testing the limits of a device for launches (fit.c) ---- */
/* Checks whether the engine's device, which must be open, has the resources for the launches of a configuration.
 * Returns KILN_ERROR_LAUNCH for a grid, a block or shared memory that the device always refuses. If `code` is not NULL,
 * also checks the registers and the static shared memory of the machine code. If the grid or the block depends on the
 * data of inputs, kiln_plan checks it later. */
kiln_status kiln__config_fits(const kiln_engine *engine, const kiln__config *config, const kiln__code *code,
                              kiln_error **error);
/* Check one extent of the grid, block or cluster, and the whole block of a launch. kiln_plan also uses these two
 * checks. The message of KILN_ERROR_LAUNCH has the place in the spec. */
typedef enum kiln__extent_kind { KILN__EXTENT_GRID, KILN__EXTENT_BLOCK, KILN__EXTENT_CLUSTER } kiln__extent_kind;
kiln_status kiln__extent_fits(const kiln_allocator *mem, kiln__extent_kind kind, int axis, const kiln__expr *expr,
                              int64_t value, kiln_error **error);
typedef struct kiln__block { /* the block of a launch */
    unsigned extents[3];
    uint64_t static_shared, dynamic_shared;
    const char *kernel; /* the name of the kernel, for messages */
    int max_threads;    /* the driver's limit on the threads of a block for this kernel; 0 if it is unknown */
} kiln__block;
kiln_status kiln__block_fits(const kiln_allocator *mem, const kiln_device_info *info, const kiln__step *step,
                             const kiln__block *block, kiln_error **error);

/* Makes the error KILN_ERROR_NOT_FOUND: "OWNER has no WHAT 'NAME'". The message also has the nearest of `count` names,
 * or all of them. Each name is the first member of a struct that has `stride` bytes. */
kiln_status kiln__plan_unknown(const kiln_allocator *mem, const char *owner, const char *what, const char *name,
                               const void *names, size_t stride, size_t count, kiln_error **error);
#endif
