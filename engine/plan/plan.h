/* plan.h - plans. A plan makes code, buffers and steps from a spec, a variant, a configuration and sizes; it can be
 * run, verified and measured. The folder plan/ does not search for a configuration. */
#ifndef KILN_PLAN_H
#define KILN_PLAN_H

#include "config.h"
#include "data.h"
#include "engine.h"
#include "spec.h"

/* ---- plans ---- */
/* Makes a plan from a configuration and finished code. kiln_plan_open() also makes the configuration and the code. A
 * sweep compiles ahead, so it calls kiln__plan_make() instead of kiln_plan_open(). Takes ownership of `config` and
 * `code`, even on failure. */
kiln_status kiln__plan_make(kiln_engine *engine, kiln__config *config, kiln__code *code, kiln_plan **plan,
                            kiln_error **error);

/* Returns whether the amount of work of a variant depends on its data, because the variant has `while` or `host`
 * steps. */
bool kiln__steps_depend(const kiln__variant *variant);

/* Inputs and expected outputs that do not depend on the configuration. The plans of a sweep share these inputs and
 * outputs, so that each is made only once. A sweep has one kiln__shared object. All functions accept NULL for a
 * kiln__shared object. */
typedef struct kiln__shared kiln__shared;
kiln_status kiln__shared_open(kiln_engine *engine, const kiln_spec *spec, kiln__shared **shared, kiln_error **error);
void kiln__shared_free(kiln__shared *shared);
/* Sets a callback. Each run calls it when the inputs and references of the run are ready, just before the first
 * launch. */
void kiln__shared_on_launch(kiln__shared *shared, void (*notify)(void *user), void *user);
/* Sets a callback for runs that wait for the measurement of another process. The callback gets the reason when the wait
 * begins, and NULL when the run continues. */
void kiln__shared_on_wait(kiln__shared *shared, void (*notify)(void *user, const char *why), void *user);
/* Sets a callback that a run calls often while it waits. If the callback returns true, the run ends with
 * KILN_ERROR_INTERRUPTED. */
void kiln__shared_on_ask(kiln__shared *shared, bool (*ends)(void *user), void *user);
/* ---- references on disk (reference.c) ---- */
/* A reference that can be kept on disk: its key, its content, and texts for listings. */
typedef struct kiln__kept_reference {
    const char *key; /* the key, which begins with the text of kiln__reference_begin_key() */
    size_t key_length;
    const char *spec, *function, *sizes;
    const void *list, *data; /* the content in the form that kiln__exports_pack() writes */
    size_t list_length, data_length;
} kiln__kept_reference;
/* Writes a reference to the engine's cache. If all kept references together then exceed the limit of bytes, removes the
 * least recently used references. The function reports no failure, because the reference can be computed again. */
void kiln__reference_store(kiln_engine *engine, const kiln__kept_reference *kept);
/* writes the first part of a key, which identifies the spec */
void kiln__reference_begin_key(const kiln_spec *spec, kiln__text *key);
/* Sets a callback that gets each reference that a plan would otherwise write to disk. A process that cannot write files
 * sets this callback. */
void kiln__shared_on_keep(kiln__shared *shared, void (*keep)(void *user, const kiln__kept_reference *kept), void *user);
/* Returns the seconds of each repetition of the plan's last run, in order. */
const double *kiln__plan_times(const kiln_plan *plan, size_t *count);
/* Computes the numbers that describe the plan's input (`features` of the spec), in the arena. Makes the inputs that the
 * features need. *features is empty if the spec has no features. */
kiln_status kiln__plan_features(kiln_plan *plan, kiln__arena *arena, kiln__settings *features, kiln_error **error);
/* Computes the features for the sizes of a choice, without a plan. Makes the inputs on the host, and frees them. */
kiln_status kiln__features_of(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes, kiln__arena *arena,
                              kiln__settings *features, kiln_error **error);
/* Makes everything on the host that all configurations at these sizes need, and stores it in `shared`: the spec's
 * inputs, contents of buffers and, with `check`, references by host functions. A sweep calls this while its first
 * configuration is compiled. */
kiln_status kiln__plan_prepare(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes,
                               kiln__shared *shared, bool check, kiln_error **error);
/* Finds mistakes that would make every configuration at these sizes fail, and needs no device and no compiler. Finds
 * missing files, and with `check` also references that are missing or may not run. */
kiln_status kiln__plan_preflight(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes, bool check,
                                 kiln_error **error);
/* Logs a warning for each reason in `weak`. These reasons tell why a right answer of the result proves little. */
void kiln__weak_tell(const kiln__log *log, const char *spec, unsigned weak);
/* Returns the measured or estimated seconds of a result. If the result has neither, returns the wall time of the
 * simulator. */
double kiln__result_seconds(const kiln_result *result);
/* makes the plan use `shared`, which must outlive the plan; call this before the plan's first run */
void kiln__plan_share(kiln_plan *plan, kiln__shared *shared);
/* Tells how a run uses the answers of other runs of the sweep, if the reference has only a part of the elements. */
typedef enum kiln__answer_use {
    KILN__ANSWER_NONE,
    KILN__ANSWER_KEEP,    /* keep the answer in the shared object, in place of an earlier answer */
    KILN__ANSWER_COMPARE, /* compare every element with the kept answer; the tolerance is the sum of both tolerances */
    KILN__ANSWER_WHOLE    /* compute a reference of all elements, however long this takes */
} kiln__answer_use;
void kiln__plan_answer(kiln_plan *plan, kiln__answer_use use);
/* The work before each timed repetition and before each repetition that only warms the device up. `renew` may enqueue
 * work on the default stream, outside of the timed part, such as new contents of inputs. If `renew` fails, the
 * measurement ends. The engine's context is current when `renew` is called. */
typedef struct kiln__renewal {
    kiln_status (*renew)(void *user, kiln_error **error); /* NULL means that no work is done */
    void *user;
} kiln__renewal;
void kiln__plan_renew(kiln_plan *plan, kiln__renewal renewal);
/* ---- single runs whose contents and memory the caller chooses (once.c, verify.c) ----
 *
 * The judge makes the contents of all buffers, binds its own memory with guard zones, and compares the answers itself.
 * The engine's context must be current in all of these calls. */
typedef struct kiln__once_buffer {
    const kiln__buffer *buffer;
    bool of_spec; /* false for scratch memory of the variant */
    bool keeps;   /* true if kernels must not change the buffer */
    kiln_type type;
    int dims;
    uint64_t shape[KILN_MAX_DIMS], bytes, elements;
} kiln__once_buffer;
/* The expected content of an output. The caller frees the data of `want`. */
typedef struct kiln__once_expected {
    kiln_array want;
    bool exact;
    double rtol, atol;
} kiln__once_expected;
/* Computes the shapes of the buffers, and describes each buffer in `list`. `list` has room for variant->buffer_count
 * entries. */
kiln_status kiln__once_buffers(kiln_plan *plan, kiln__once_buffer *list, kiln_error **error);
/* Makes the content that the spec gives to the buffer. The caller frees the content. */
kiln_status kiln__once_content(kiln_plan *plan, size_t buffer, kiln_array *content, kiln_error **error);
/* Evaluates the numbers of the buffer's fill. The fill must be numeric. */
kiln_status kiln__once_fill(kiln_plan *plan, size_t buffer, kiln__fill_values *values, kiln_error **error);
/* Returns the number of the buffer in whose memory the content of `buffer` is after a run, because `swap` steps
 * exchange memory. *at gets the address of this memory. */
size_t kiln__once_holder(const kiln_plan *plan, size_t buffer, CUdeviceptr *at);
/* From the next kiln_plan_resize() on, the names device.* have the values in `device`. `device` must have all these
 * names, and must live as long as the plan. If `device` is NULL, the names have the values of the engine's device. */
void kiln__once_device(kiln_plan *plan, const kiln__settings *device);
/* Frees all memory of the plan's buffers, and ends all bindings. */
void kiln__once_release(kiln_plan *plan);
/* Runs before_each and the steps once, and waits for their end. `seconds` is the time limit of the run. */
kiln_status kiln__once_run(kiln_plan *plan, double seconds, kiln_error **error);
/* Enqueues before_each and the steps in a stream, without waiting for their end. The caller may bind other memory and
 * enqueue a second run in another stream. kiln__once_wait() then waits for all enqueued runs. `seconds` is the time
 * limit of all enqueued runs together. */
kiln_status kiln__once_enqueue(kiln_plan *plan, CUstream stream, double seconds, kiln_error **error);
kiln_status kiln__once_wait(kiln_plan *plan, kiln_error **error);
/* Computes the expected content of `verify` entry `number` for the plan's current contents. The reference of the entry
 * must not be a variant. */
kiln_status kiln__once_expect(kiln_plan *plan, size_t number, kiln__once_expected *expected, kiln_error **error);
/* Sets only the tolerances of `expected`, from the `verify` entry `number`. */
kiln_status kiln__once_tolerance(kiln_plan *plan, size_t number, kiln__once_expected *expected, kiln_error **error);
/* Evaluates the metric `flops` of the variant. Returns 0 for a variant without this metric. */
double kiln__once_flops(kiln_plan *plan);
/* Return the PTX of the plan's code, and the module that was loaded from it. */
const char *kiln__plan_ptx(const kiln_plan *plan, size_t *length);
CUmodule kiln__plan_module(const kiln_plan *plan);
/* Begin and end the checks of the simulated device. kiln__plan_end_checks() calls options->check with each finding. */
kiln_status kiln__plan_begin_checks(kiln_plan *plan, kiln_error **error);
void kiln__plan_end_checks(kiln_plan *plan, const kiln_run_options *options);

void kiln__plan_whole(kiln_plan *plan); /* lets all blocks run, even if an estimate needs only a few blocks */
#endif
