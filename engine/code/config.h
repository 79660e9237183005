/* config.h - spec + variant + params + sizes -> a configuration, and its code: filled, compiled or out of the cache.
 * Knows nothing of buffers and launches. */
#ifndef KILN_CONFIG_H
#define KILN_CONFIG_H

#include "engine.h"
#include "space.h"
#include "spec.h"

/* ---- a choice, resolved: every param, size and let has its value ---- */
typedef struct kiln__config { /* on the heap: its scopes point into it */
    const kiln_spec *spec;
    const kiln__variant *variant;
    kiln__arena arena;     /* names and texts of the settings */
    kiln__settings params; /* variant->param_count, in its order */
    kiln__settings sizes;
    bool *extents; /* for each size: it is an extent of a file */
    const char *size_set;
    kiln__settings lets;   /* lets that need no input; a plan computes the others */
    kiln__scope scopes[4]; /* device <- sizes <- params <- lets; chained by kiln__config_scope */
} kiln__config;
/* Fills in what the choice does not set; checks names (with suggestions), kinds, and the constraints
 * (KILN_ERROR_CONSTRAINT). The engine's device is opened for device.* names. */
kiln_status kiln__config_make(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                              kiln__config **config, kiln_error **error);
/* The same without constraints and lets: names and values are checked, and scopes[1] has device and sizes. For walks
 * over a space. */
kiln_status kiln__config_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                              kiln__config **config, kiln_error **error);
/* A configuration of a space: the sizes of `base` (kiln__config_open()) with a value for each of the variant's params,
 * in its order, that the space has and its constraints allow. Nothing is checked again; everything is copied. */
kiln_status kiln__config_at(const kiln__config *base, const kiln_setting *params, kiln__config **config,
                            kiln_error **error);
/* The path of a file, with sizes in the place of braces. */
kiln_status kiln__config_path(const kiln_allocator *mem, const kiln__scope *sizes, const char *text,
                              const kiln__template *path, kiln__text *out, kiln_error **error);
void kiln__config_free(kiln__config *config);                      /* NULL is fine */
const kiln__scope *kiln__config_scope(const kiln__config *config); /* innermost */
/* "coarsened TILE_M=128 TILE_N=64" */
void kiln__config_print(const kiln__config *config, kiln__text *out);

/* ---- devices that a variant can run on (target.c) ---- */
/* What to compile the variant for. KILN_ERROR_UNSUPPORTED: the engine's device lacks what it needs, and the message says
 * what. */
kiln_status kiln__variant_target(kiln_engine *engine, const kiln__variant *variant, kiln__target *target,
                                 kiln_error **error);

/* ---- code: filled source, from the cache or compiled (code.c) ---- */
typedef struct kiln__code {
    kiln__unit unit;
    bool from_cache;
    uint64_t compile_ns;
} kiln__code;
typedef struct kiln__code_job kiln__code_job;
/* Reads and fills the source, searches the cache and, on a miss, starts a compile. Never waits for it. `target`
 * NULL: that of the spec for the engine's device, which must be one that the variant can run on (kiln__variant_target()).
 * cubin: machine code is needed too. The config may be freed afterwards. */
kiln_status kiln__code_start(kiln_engine *engine, const kiln__config *config, const kiln__target *target, bool cubin,
                             kiln__code_job **job, kiln_error **error);
/* The two halves of that: everything before the cache look-up; then the look-up and the compile. kiln__code_begin()
 * frees the job where it fails. Between them kiln__code_key() is the hash of all that determines the code. */
kiln_status kiln__code_prepare(kiln_engine *engine, const kiln__config *config, const kiln__target *target, bool cubin,
                               kiln__code_job **job, kiln_error **error);
kiln_status kiln__code_begin(kiln__code_job *job, kiln_error **error);
kiln__hash128 kiln__code_key(const kiln__code_job *job);
bool kiln__code_done(kiln__code_job *job);
bool kiln__code_wait(kiln__code_job *job, double seconds);
/* Waits, takes the code and frees the job; a fresh compile is put into the cache. KILN_ERROR_COMPILE shows NVRTC's log
 * against the source with the configuration that caused it. */
kiln_status kiln__code_take(kiln__code_job *job, kiln__code *code, kiln_error **error);
void kiln__code_cancel(kiln__code_job *job);              /* NULL is fine */
const char *kiln__code_source(const kiln__code_job *job); /* the filled source, until the job is freed */
void kiln__code_free(kiln__code *code);
/* The module's symbol for a kernel as the spec names it (after template filling); NULL: not in it. */
const char *kiln__code_symbol(const kiln__code *code, const char *kernel);
/* The names of the kernels that a variant's steps launch, each once, filled; in the arena. */
kiln_status kiln__config_kernels(const kiln__config *config, const kiln_allocator *mem, kiln__arena *arena,
                                 const char *const **names, size_t *count, kiln_error **error);

/* ---- whether a device has room for the launches (fit.c) ---- */
/* KILN_ERROR_LAUNCH: an extent, a block or shared memory that the engine's device, which is open, never takes. `code`
 * NULL: before it is compiled; else with the registers and the shared memory of its machine code. What depends on the
 * data of inputs is left to the plan. */
kiln_status kiln__config_fits(const kiln_engine *engine, const kiln__config *config, const kiln__code *code,
                              kiln_error **error);
/* The two checks that a plan makes too. KILN_ERROR_LAUNCH, with the place in the spec. */
typedef enum kiln__extent_kind { KILN__EXTENT_GRID, KILN__EXTENT_BLOCK, KILN__EXTENT_CLUSTER } kiln__extent_kind;
kiln_status kiln__extent_fits(const kiln_allocator *mem, kiln__extent_kind kind, int axis, const kiln__expr *expr,
                              int64_t value, kiln_error **error);
typedef struct kiln__block { /* of a launch */
    unsigned extents[3];
    uint64_t static_shared, dynamic_shared;
    const char *kernel; /* for the message, and what the driver says that it takes; 0: not known */
    int max_threads;
} kiln__block;
kiln_status kiln__block_fits(const kiln_allocator *mem, const kiln_device_info *info, const kiln__step *step,
                             const kiln__block *block, kiln_error **error);

/* KILN_ERROR_NOT_FOUND: "OWNER has no WHAT 'NAME'", with the nearest of `count` names or all of them. The names lie
 * `stride` bytes apart, each the first member of a struct. */
kiln_status kiln__plan_unknown(const kiln_allocator *mem, const char *owner, const char *what, const char *name,
                               const void *names, size_t stride, size_t count, kiln_error **error);
#endif
