/* plan.h - a plan: a spec, a variant, a configuration and sizes become code, buffers and steps, which can be run,
 * verified and measured. This room does not search. */
#ifndef KILN_PLAN_H
#define KILN_PLAN_H

#include "config.h"
#include "data.h"
#include "engine.h"
#include "spec.h"

/* ---- plans ---- */
/* Makes a plan from a config and finished code. kiln_plan_open() also makes the config and the code. A sweep, which
 * compiles ahead, calls this function instead. Takes ownership of both, even on failure. */
kiln_status kiln__plan_make(kiln_engine *engine, kiln__config *config, kiln__code *code, kiln_plan **plan,
                            kiln_error **error);

/* Returns whether the amount of work of a variant depends on its data: it has `while` or `host` steps. */
bool kiln__steps_depend(const kiln__variant *variant);

/* Inputs and expected outputs that do not depend on the configuration. The plans of a sweep share them, so that each is
 * made only once. A sweep has one such object. NULL is allowed everywhere. */
typedef struct kiln__shared kiln__shared;
kiln_status kiln__shared_open(kiln_engine *engine, const kiln_spec *spec, kiln__shared **shared, kiln_error **error);
void kiln__shared_free(kiln__shared *shared);
/* Sets a callback that each run calls when its inputs and references are ready, just before its first launch. */
void kiln__shared_on_launch(kiln__shared *shared, void (*notify)(void *user), void *user);
/* Sets a callback for runs that wait for the measurement of another process. It gets the reason when the wait begins,
 * and NULL when the run continues. */
void kiln__shared_on_wait(kiln__shared *shared, void (*notify)(void *user, const char *why), void *user);
/* Sets a callback that a waiting run calls often. If it returns true, the run ends with KILN_ERROR_INTERRUPTED. */
void kiln__shared_on_ask(kiln__shared *shared, bool (*ends)(void *user), void *user);
/* ---- references on disk (reference.c) ---- */
/* A reference that can be kept: its key and its content, and texts for listings. */
typedef struct kiln__kept_reference {
    const char *key; /* begins with the text of kiln__reference_begin_key() */
    size_t key_length;
    const char *spec, *function, *sizes;
    const void *list, *data; /* in the form that kiln__exports_pack() writes */
    size_t list_length, data_length;
} kiln__kept_reference;
/* Writes a reference to the engine's cache. If all references together then have too many bytes, removes the least
 * recently used references. A failure is not reported, because the reference can be computed again. */
void kiln__reference_store(kiln_engine *engine, const kiln__kept_reference *kept);
/* writes the part of a key that identifies the spec */
void kiln__reference_begin_key(const kiln_spec *spec, kiln__text *key);
/* Sets a callback that gets the references which the plans would otherwise write. It is for a process that cannot write
 * files. */
void kiln__shared_on_keep(kiln__shared *shared, void (*keep)(void *user, const kiln__kept_reference *kept), void *user);
/* Returns the seconds of each repetition of the plan's last run, in order. */
const double *kiln__plan_times(const kiln_plan *plan, size_t *count);
/* Computes the numbers that describe the plan's input (`features` of the spec), in the arena. Makes the inputs that
 * they need. *features is empty if the spec has no features. */
kiln_status kiln__plan_features(kiln_plan *plan, kiln__arena *arena, kiln__settings *features, kiln_error **error);
/* Computes the features for the sizes of a choice, without a plan: makes the inputs on the host, and frees them. */
kiln_status kiln__features_of(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes, kiln__arena *arena,
                              kiln__settings *features, kiln_error **error);
/* Makes the parts that all configurations at these sizes need from the host, in the shared object: the spec's inputs,
 * contents of buffers and, with `check`, references by host functions. A sweep calls this while its first configuration
 * is compiled. */
kiln_status kiln__plan_prepare(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes,
                               kiln__shared *shared, bool check, kiln_error **error);
/* Finds mistakes that would make every configuration at these sizes fail, without a device or a compiler: missing
 * files, and with `check` also references that are missing or may not run. */
kiln_status kiln__plan_preflight(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes, bool check,
                                 kiln_error **error);
/* Logs the reasons in `weak` of a result, as warnings. */
void kiln__weak_tell(const kiln__log *log, const char *spec, unsigned weak);
/* Returns the time of a result: measured or estimated seconds, otherwise the simulator's wall time. */
double kiln__result_seconds(const kiln_result *result);
/* call it before the plan's first run; `shared` must outlive the plan */
void kiln__plan_share(kiln_plan *plan, kiln__shared *shared);
/* How a run uses the answers of other runs of the sweep, if the reference has only a part of the elements. */
typedef enum kiln__answer_use {
    KILN__ANSWER_NONE,
    KILN__ANSWER_KEEP,    /* keep the answer with the plans that share, in place of an earlier one */
    KILN__ANSWER_COMPARE, /* compare every element with the kept answer, within the sum of both tolerances */
    KILN__ANSWER_WHOLE    /* compute a reference of all elements, however long that takes */
} kiln__answer_use;
void kiln__plan_answer(kiln_plan *plan, kiln__answer_use use);
/* The work before each timed repetition, and before each repetition that only warms the device up. `renew` may enqueue
 * work on the default stream, outside of the timed part, such as new contents of inputs. A failure ends the
 * measurement. The engine's context is current. */
typedef struct kiln__renewal {
    kiln_status (*renew)(void *user, kiln_error **error); /* NULL means that nothing happens */
    void *user;
} kiln__renewal;
void kiln__plan_renew(kiln_plan *plan, kiln__renewal renewal);
/* ---- single runs whose contents and memory the caller chooses (once.c, verify.c) ----
 *
 * The judge makes the contents of all buffers, binds its own memory with guard zones, and compares the answers itself.
 * The engine's context must be current in all of these calls. */
typedef struct kiln__once_buffer {
    const kiln__buffer *buffer;
    bool of_spec; /* false: scratch memory of the variant */
    bool keeps;   /* kernels must not change it */
    kiln_type type;
    int dims;
    uint64_t shape[KILN_MAX_DIMS], bytes, elements;
} kiln__once_buffer;
/* The expected content of an output. The caller frees want.data. */
typedef struct kiln__once_expected {
    kiln_array want;
    bool exact;
    double rtol, atol;
} kiln__once_expected;
/* Lays the buffers out and describes them. `list` has room for variant->buffer_count entries. */
kiln_status kiln__once_buffers(kiln_plan *plan, kiln__once_buffer *list, kiln_error **error);
/* Makes the content that the spec gives the buffer. The caller frees it. */
kiln_status kiln__once_content(kiln_plan *plan, size_t buffer, kiln_array *content, kiln_error **error);
/* Evaluates the numbers of the buffer's fill, which must be a numeric fill. */
kiln_status kiln__once_fill(kiln_plan *plan, size_t buffer, kiln__fill_values *values, kiln_error **error);
/* Returns the number of the buffer whose memory has the content of `buffer` after a run, because `swap` steps exchange
 * memory. *at gets the address of this memory. */
size_t kiln__once_holder(const kiln_plan *plan, size_t buffer, CUdeviceptr *at);
/* Gives the names device.* other values from the next kiln_plan_resize() on. `device` has all these names, and lives as
 * long as the plan. NULL means the values of the engine's device. */
void kiln__once_device(kiln_plan *plan, const kiln__settings *device);
/* Drops all memory and bindings. */
void kiln__once_release(kiln_plan *plan);
/* Runs before_each and the steps once, and waits. `seconds` is the time limit. */
kiln_status kiln__once_run(kiln_plan *plan, double seconds, kiln_error **error);
/* Enqueues before_each and the steps in a stream, and does not wait. The caller may bind other memory and enqueue a
 * second run in another stream. Then kiln__once_wait() waits for all of them. `seconds` is the time limit of all runs
 * together. */
kiln_status kiln__once_enqueue(kiln_plan *plan, CUstream stream, double seconds, kiln_error **error);
kiln_status kiln__once_wait(kiln_plan *plan, kiln_error **error);
/* Computes the expected content of `verify` entry `number` for the plan's current contents. The reference of the entry
 * must not be a variant. */
kiln_status kiln__once_expect(kiln_plan *plan, size_t number, kiln__once_expected *expected, kiln_error **error);
/* Sets only the tolerances of the entry. */
kiln_status kiln__once_tolerance(kiln_plan *plan, size_t number, kiln__once_expected *expected, kiln_error **error);
/* Evaluates the metric `flops`. Returns 0 for a variant without this metric. */
double kiln__once_flops(kiln_plan *plan);
/* The PTX of the plan's code, and its module. */
const char *kiln__plan_ptx(const kiln_plan *plan, size_t *length);
CUmodule kiln__plan_module(const kiln_plan *plan);
/* Begins and ends the checks of the simulated device. kiln__plan_end_checks() calls options->check with each
 * finding. */
kiln_status kiln__plan_begin_checks(kiln_plan *plan, kiln_error **error);
void kiln__plan_end_checks(kiln_plan *plan, const kiln_run_options *options);

void kiln__plan_whole(kiln_plan *plan); /* all blocks run, even if an estimate needs only a few */
#endif
