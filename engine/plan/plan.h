/* plan.h - spec + variant + configuration + sizes -> code, buffers, steps; run, verify, measure.
 * Knows nothing of searching. */
#ifndef KILN_PLAN_H
#define KILN_PLAN_H

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

/* ---- code: filled source, from the cache or compiled (code.c) ---- */
typedef struct kiln__code {
    kiln__unit unit;
    bool from_cache;
    uint64_t compile_ns;
} kiln__code;
typedef struct kiln__code_job kiln__code_job;
/* Reads and fills the source, searches the cache and, on a miss, starts a compile. Never waits for it. `arch` 0: that
 * of the engine's device; cubin: machine code is needed too. The config may be freed afterwards. */
kiln_status kiln__code_start(kiln_engine *engine, const kiln__config *config, int arch, bool cubin,
                             kiln__code_job **job, kiln_error **error);
/* The two halves of that: everything before the cache look-up; then the look-up and the compile. kiln__code_begin()
 * frees the job where it fails. Between them kiln__code_key() is the hash of all that determines the code. */
kiln_status kiln__code_prepare(kiln_engine *engine, const kiln__config *config, int arch, bool cubin,
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

/* ---- plans ---- */
/* kiln_plan_open in two halves, for a scheduler that compiles ahead: makes a plan from a config and finished code.
 * Takes ownership of both, also on failure. */
kiln_status kiln__plan_make(kiln_engine *engine, kiln__config *config, kiln__code *code, kiln_plan **plan,
                            kiln_error **error);

/* Inputs and expected outputs that do not depend on the configuration are made once and shared by the plans of a
 * sweep: buffers filled on the device, references computed on the host. One per sweep; NULL is allowed everywhere. */
typedef struct kiln__shared kiln__shared;
kiln_status kiln__shared_open(kiln_engine *engine, const kiln_spec *spec, kiln__shared **shared, kiln_error **error);
void kiln__shared_free(kiln__shared *shared);
/* `notify` is called in each run of its plans when inputs and references are ready, before the first launch. */
void kiln__shared_on_launch(kiln__shared *shared, void (*notify)(void *user), void *user);
/* `notify` is called with a reason when a run waits for another process's measurement, and with NULL when it
 * continues. */
void kiln__shared_on_wait(kiln__shared *shared, void (*notify)(void *user, const char *why), void *user);
/* The seconds of each repetition of the plan's last run, in order. */
const double *kiln__plan_times(const kiln_plan *plan, size_t *count);
/* The numbers that describe the plan's input, as the spec's `features` has them; none: the spec has no features. Makes
 * the inputs that they need. Everything is in the arena. */
kiln_status kiln__plan_features(kiln_plan *plan, kiln__arena *arena, kiln__settings *features, kiln_error **error);
/* The same for the sizes of a choice, without a plan: makes the inputs on the host, and frees them. */
kiln_status kiln__features_of(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes, kiln__arena *arena,
                              kiln__settings *features, kiln_error **error);
/* A result's time: measured or estimated seconds, else the simulator's wall time. */
double kiln__result_seconds(const kiln_result *result);
void kiln__plan_share(kiln_plan *plan, kiln__shared *shared); /* before the plan's first run; shared outlives it */
#endif
