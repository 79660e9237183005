/* config.h - a spec, a variant, params and sizes become a configuration, and its code: a source with its macros,
 * compiled or from the cache. This room knows nothing about buffers and launches. */
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
    bool *extents; /* for each size whether it is an extent of a file */
    const char *size_set;
    kiln__settings lets;   /* the lets that need no input; the plan computes the others */
    kiln__scope scopes[4]; /* device <- sizes <- params <- lets, each inside the next */
} kiln__config;
/* Completes a choice by defaults. Checks names (with suggestions), kinds, and the constraints (KILN_ERROR_CONSTRAINT).
 * Opens the engine's device for names device.*. */
kiln_status kiln__config_make(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                              kiln__config **config, kiln_error **error);
/* The same without constraints and lets. Names and values are checked, and scopes[1] has device and sizes. For walks
 * over a space. */
kiln_status kiln__config_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                              kiln__config **config, kiln_error **error);
/* Makes a configuration of a space: the sizes of `base` (kiln__config_open()), and one value for each of the variant's
 * params in its order. The values must come from the space and satisfy its constraints, which are not checked again.
 * Everything is copied. */
kiln_status kiln__config_at(const kiln__config *base, const kiln_setting *params, kiln__config **config,
                            kiln_error **error);
/* Returns the size set that a choice takes. `name` NULL: the engine's default for the spec. Returns NULL if the spec has no
 * set with the name. The engine's device must be open. */
const kiln__sizes *kiln__config_size_set(const kiln_engine *engine, const kiln_spec *spec, const char *name);
/* Writes the path of a file, with sizes in place of braces. */
kiln_status kiln__config_path(const kiln_allocator *mem, const kiln__scope *sizes, const char *text,
                              const kiln__template *path, kiln__text *out, kiln_error **error);
/* Returns the name of the kernel that a launch names, with its template filled. `filled`, which is empty, may get the text,
 * and must live as long as the name. Returns NULL if an expression in the name has no value (`diag`, which may be NULL,
 * then has the reason), or if memory is exhausted (`filled` has failed). */
const char *kiln__launch_kernel(const kiln__step *launch, const kiln__scope *scope, kiln__text *filled,
                                kiln__diag *diag);
void kiln__config_free(kiln__config *config);                      /* NULL is fine */
const kiln__scope *kiln__config_scope(const kiln__config *config); /* the innermost scope */
/* prints such as "coarsened TILE_M=128 TILE_N=64" */
void kiln__config_print(const kiln__config *config, kiln__text *out);

/* ---- devices that a variant can run on (target.c) ---- */
/* Returns the target for which to compile the variant. KILN_ERROR_UNSUPPORTED: the engine's device lacks something that
 * the variant needs, and the message names it. */
kiln_status kiln__variant_target(kiln_engine *engine, const kiln__variant *variant, kiln__target *target,
                                 kiln_error **error);

/* ---- code: filled source, from the cache or compiled (code.c) ---- */
typedef struct kiln__code {
    kiln__unit unit;
    bool from_cache;
    uint64_t compile_ns;
} kiln__code;
typedef struct kiln__code_job kiln__code_job;
/* Reads the source, adds the macros, searches the cache and, on a miss, starts a compile. It never waits for the
 * compile. `target` NULL: the spec's target for the engine's device, on which the variant must be able to run
 * (kiln__variant_target()). `cubin`: machine code is needed too. The config may be freed afterwards. */
kiln_status kiln__code_start(kiln_engine *engine, const kiln__config *config, const kiln__target *target, bool cubin,
                             kiln__code_job **job, kiln_error **error);
/* The two halves of kiln__code_start(): everything before the cache look-up, then the look-up and the compile.
 * kiln__code_begin() frees the job on failure. In between, kiln__code_key() is the hash of everything that determines
 * the code. */
kiln_status kiln__code_prepare(kiln_engine *engine, const kiln__config *config, const kiln__target *target, bool cubin,
                               kiln__code_job **job, kiln_error **error);
kiln_status kiln__code_begin(kiln__code_job *job, kiln_error **error);
kiln__hash128 kiln__code_key(const kiln__code_job *job);
/* Returns whether the compiler may make this code together with others that differ only in the template arguments of their
 * kernels. Several such jobs in the queue cost little more than one. */
bool kiln__code_goes_together(const kiln__code_job *job);
bool kiln__code_done(kiln__code_job *job);
bool kiln__code_wait(kiln__code_job *job, double seconds);
/* Waits, takes the code and frees the job. A new compile is put into the cache. KILN_ERROR_COMPILE shows NVRTC's log
 * with the configuration that caused it. */
kiln_status kiln__code_take(kiln__code_job *job, kiln__code *code, kiln_error **error);
/* Gives a job up. If its compile is done, the code goes into the cache. If the compile has begun and `unfinished` is set, the
 * engine finishes it, at the latest when it is closed. Otherwise the compile is cancelled. */
void kiln__code_leave(kiln__code_job *job, bool unfinished);
void kiln__code_cancel(kiln__code_job *job);              /* NULL is fine */
const char *kiln__code_source(const kiln__code_job *job); /* the source with its macros; valid until the job is freed */
void kiln__code_free(kiln__code *code);
/* Returns the module's symbol for a kernel, whose name is the spec's after filling. NULL: the code does not have it. */
const char *kiln__code_symbol(const kiln__code *code, const char *kernel);
/* Collects the filled names of the kernels that a variant's steps launch, each once, in the arena. */
kiln_status kiln__config_kernels(const kiln__config *config, const kiln_allocator *mem, kiln__arena *arena,
                                 const char *const **names, size_t *count, kiln_error **error);

/* ---- whether a device has room for the launches (fit.c) ---- */
/* Checks whether the engine's device, which must be open, has room for the launches. KILN_ERROR_LAUNCH: an extent, a
 * block or shared memory that it never takes. `code` NULL: before the compile. Otherwise the registers and the shared
 * memory of the machine code are checked too. Anything that depends on the data of inputs is left to the plan. */
kiln_status kiln__config_fits(const kiln_engine *engine, const kiln__config *config, const kiln__code *code,
                              kiln_error **error);
/* The two checks that a plan makes too. KILN_ERROR_LAUNCH has the place in the spec. */
typedef enum kiln__extent_kind { KILN__EXTENT_GRID, KILN__EXTENT_BLOCK, KILN__EXTENT_CLUSTER } kiln__extent_kind;
kiln_status kiln__extent_fits(const kiln_allocator *mem, kiln__extent_kind kind, int axis, const kiln__expr *expr,
                              int64_t value, kiln_error **error);
typedef struct kiln__block { /* the block of a launch */
    unsigned extents[3];
    uint64_t static_shared, dynamic_shared;
    const char *kernel; /* kernel: for messages. max_threads: the driver's limit; 0: unknown */
    int max_threads;
} kiln__block;
kiln_status kiln__block_fits(const kiln_allocator *mem, const kiln_device_info *info, const kiln__step *step,
                             const kiln__block *block, kiln_error **error);

/* Makes KILN_ERROR_NOT_FOUND: "OWNER has no WHAT 'NAME'", with the nearest of `count` names or all of them. Each name
 * is the first member of a struct of `stride` bytes. */
kiln_status kiln__plan_unknown(const kiln_allocator *mem, const char *owner, const char *what, const char *name,
                               const void *names, size_t stride, size_t count, kiln_error **error);
#endif
