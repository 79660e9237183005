/* run.c - runs a plan once. A run has these steps: fill, compute references, poison, launch, verify, write outputs,
 * verify further runs, measure. The function run_inside() does these steps in order. The function kiln_plan_run() sets
 * their frame: context, time limit, files, sandbox, checks, and the lock of the device. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer_internal.h"
#include "calls_internal.h"
#include "capture_internal.h"
#include "layout_internal.h"
#include "limit_internal.h"
#include "measure_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "shared_internal.h"
#include "steps_internal.h"
#include "text_internal.h"
#include "verify_internal.h"

/* Replaces the fills of buffers by the files of a run, as long as the run lasts. */
static kiln_status set_files(kiln_plan *plan, const kiln_run_options *options, kiln_error **error)
{
    for (size_t i = 0; i < options->input_count; i++) {
        kiln__plan_buffer *b = kiln__plan_buffer_find(plan, options->inputs[i].buffer);
        if (!b)
            return kiln__plan_no_buffer(plan, options->inputs[i].buffer, error);
        b->file = options->inputs[i].path;
    }
    for (size_t i = 0; i < options->output_count; i++)
        if (!kiln__plan_buffer_find(plan, options->outputs[i].buffer))
            return kiln__plan_no_buffer(plan, options->outputs[i].buffer, error);
    return KILN_OK;
}

static kiln_status pass_output(kiln_plan *plan, const kiln_run_options *options, const char *path,
                               const kiln_array *array, kiln_error **error)
{
    char *file = NULL;
    size_t length = 0;
    kiln_status status = kiln__npy_make(plan->mem, path, array, &file, &length, error);
    if (status == KILN_OK && options->write(options->write_user, path, file, length) != 0)
        status = kiln__fail(plan->mem, error, KILN_ERROR_IO, "%s: the application could not write it", path);
    kiln__free(plan->mem, file);
    return status;
}

static kiln_status write_outputs(kiln_plan *plan, const kiln_run_options *options, kiln_error **error)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < options->output_count && status == KILN_OK; i++) {
        kiln_array array;
        const kiln__plan_buffer *b = kiln__plan_buffer_named(plan, options->outputs[i].buffer);
        status = kiln__plan_download(plan, b, &array, error);
        if (status != KILN_OK)
            break;
        status = options->write ? pass_output(plan, options, options->outputs[i].path, &array, error)
                                : kiln__npy_write(plan->mem, options->outputs[i].path, &array, error);
        kiln__array_free(plan->mem, &array);
    }
    return status;
}

/* Evaluates the metrics flops and bytes before the run, and all other metrics after it. */
static kiln_status set_metrics(kiln_plan *plan, kiln_result *result, bool ran, kiln_error **error)
{
    kiln__diag diag = {.mem = plan->mem};
    const kiln__metered of = {plan->mem, plan->variant, &plan->scope, ran ? result : NULL,
                              ran ? kiln__result_seconds(result) : 0};
    bool ready = ran ? kiln__metrics_print(&of, &result->metrics, &diag) : kiln__metrics_count(&of, result, &diag);
    kiln_status status = kiln__plan_diag(plan, &diag, KILN_ERROR_SPEC, error);
    return status == KILN_OK && !ready ? kiln__fail_memory(error) : status;
}

/* ---- the time that inputs take ---- */

/* If `same_function` is true, returns whether an earlier input has the same function. If `same_function` is false,
 * returns whether an earlier input has the same shared entry, which was made once for both inputs. */
static bool is_repeated(const kiln_plan *plan, size_t at, bool same_function)
{
    for (size_t i = 0; i < at; i++)
        if (same_function ? strcmp(plan->inputs[i].input->function, plan->inputs[at].input->function) == 0
                          : plan->inputs[i].entry == plan->inputs[at].entry)
            return true;
    return false;
}

static double seconds_of(const kiln_plan *plan, const char *function)
{
    double sum = 0;
    for (size_t i = 0; i < plan->variant->input_count; i++)
        if (strcmp(plan->inputs[i].input->function, function) == 0 && !is_repeated(plan, i, false))
            sum += plan->inputs[i].entry->seconds;
    return sum;
}

/* Writes the time of each host function that made inputs, and the sums of these times, into the result. The time of
 * functions that do not fit into the text is added up under the name "others". */
static void set_inputs(const kiln_plan *plan, kiln_result *result)
{
    enum { OTHERS = 24 }; /* room for " others=1.23457e-05" */
    char *text = result->input_functions.text;
    const size_t room = sizeof result->input_functions.text;
    size_t used = 0;
    double others = 0;
    for (size_t i = 0; i < plan->variant->input_count; i++) {
        char one[sizeof result->input_functions.text];
        const char *function = plan->inputs[i].input->function;
        if (is_repeated(plan, i, true))
            continue;
        double seconds = seconds_of(plan, function);
        int length = kiln__format(one, sizeof one, "%s%s=%.6g", used ? " " : "", function, seconds);
        result->inputs_seconds += seconds;
        if (length < 0 || used + (size_t)length + OTHERS >= room) {
            others += seconds;
        } else {
            memcpy(text + used, one, (size_t)length + 1);
            used += (size_t)length;
        }
    }
    if (others > 0)
        kiln__format(text + used, room - used, "%sothers=%.6g", used ? " " : "", others);
    for (size_t i = 0; i < plan->variant->buffer_count; i++)
        if (plan->buffers[i].buffer->fill.kind == KILN__FILL_FROM && !plan->buffers[i].file && !plan->buffers[i].custom)
            result->copy_seconds += plan->buffers[i].copied;
}

/* ---- a run ---- */

/* The times of one run. `estimated` is negative if there is no estimate. */
typedef struct timing {
    bool estimate, sampled;
    double host, estimated;
} timing;

static kiln_status begin_capture(kiln_plan *plan, kiln__capture **capture, kiln_error **error)
{
    kiln__arena arena = {.mem = plan->mem};
    kiln__capture_order order;
    bool asked;
    kiln_status status = kiln__capture_asked(plan, &arena, &order, &asked, error);
    if (status == KILN_OK && asked)
        status = kiln__capture_begin(plan, &order, NULL, capture, error);
    kiln__arena_free(&arena);
    return status;
}

/* Runs before_each and the steps once, and waits until they have ended. The times cover the steps, and not
 * before_each. */
static kiln_status run_once(kiln_plan *plan, timing *t, kiln_error **error)
{
    t->estimated = -1;
    const kiln__simulator *simulator = plan->engine->driver.simulator;
    kiln__capture *capture = NULL;
    kiln_status status = kiln__steps_enqueue(plan, true, NULL, error);
    if (status == KILN_OK)
        status = begin_capture(plan, &capture, error);
    if (status != KILN_OK)
        return status;
    CUresult result = kiln__limit_wait_all(plan);
    uint64_t start = kiln__now_ns();
    if (result == CUDA_SUCCESS) {
        bool estimate = t->estimate && simulator && simulator->estimate_begin(t->sampled);
        status = kiln__steps_enqueue(plan, false, NULL, error);
        if (estimate)
            t->estimated = simulator->estimate_end(NULL);
        if (status != KILN_OK) {
            kiln__capture_drop(capture);
            return status;
        }
        result = kiln__limit_wait_all(plan);
    }
    t->host = (double)(kiln__now_ns() - start) * 1e-9;
    if (result == CUDA_SUCCESS)
        return capture ? kiln__capture_end(capture, NULL, error) : KILN_OK;
    kiln__capture_drop(capture);
    kiln__text label = {.mem = plan->mem};
    kiln__config_print(plan->config, &label);
    status = kiln__limit_fail(plan, result, error, "running %s %s", plan->spec->name, kiln__text_get(&label));
    kiln__text_free(&label);
    return status;
}

/* Tells the checks of the simulated device that poisoned buffers count as unwritten memory. */
static void forget_poison(const kiln_plan *plan)
{
    for (size_t i = 0; i < plan->variant->buffer_count; i++) {
        const kiln__plan_buffer *b = &plan->buffers[i];
        if (b->owner == KILN__OWNER_PLAN && !b->custom && b->bytes && b->buffer->fill.kind == KILN__FILL_NONE &&
            !b->file)
            plan->engine->driver.simulator->check_forget(b->pointer, b->bytes);
    }
}

/* Returns whether the run ends without repetitions because the first run took too long. `first` is the time of the
 * first run. The first run took too long if it exceeds `cut_above`, or if a repetition would end after `most_seconds`.
 * The time from the first launch includes checking the answer and the runs of verify_again(). */
static bool is_cut(const kiln_plan *plan, const kiln_run_options *options, double first)
{
    return (options->cut_above > 0 && first > options->cut_above) ||
           (options->most_seconds > 0 && kiln__seconds_since(plan->limit.begun) + first > options->most_seconds);
}

/* Tells whether a run can begin again with the initial contents. The run cannot begin again if the caller gave the
 * content of an output.
 */
static bool can_begin_anew(const kiln_plan *plan)
{
    for (size_t i = 0; i < plan->variant->buffer_count; i++)
        if (plan->buffers[i].custom && plan->buffers[i].buffer->out)
            return false;
    return true;
}

/* Runs the steps again from the initial contents, and verifies each answer. Makes up to options->verify_runs runs in
 * total, for at most verify_seconds, and fails with KILN_ERROR_WRONG_ANSWER at the first wrong answer. The answer of
 * the first run has already been verified. */
static kiln_status verify_again(kiln_plan *plan, const kiln_run_options *options, kiln_result *result,
                                kiln_error **error)
{
    const uint64_t start = kiln__now_ns();
    kiln__answers answers = {0};
    kiln_status status = kiln__answers_keep(plan, !(options->flags & KILN_RUN_CHECK), &answers, error);
    for (unsigned run = 1; status == KILN_OK && run < options->verify_runs; run++) {
        timing t = {0};
        bool same = false;
        if (options->verify_seconds > 0 && kiln__seconds_since(start) >= options->verify_seconds)
            break;
        plan->answer_run = run + 1;
        status = kiln__plan_refill(plan, error);
        if (status == KILN_OK)
            status = kiln__plan_poison(plan, error);
        if (status == KILN_OK)
            status = run_once(plan, &t, error);
        if (status == KILN_OK)
            status = kiln__answers_same(plan, &answers, &same, error);
        if (status == KILN_OK && !same)
            status = kiln__plan_verify(plan, result, error);
        result->verified_runs += status == KILN_OK;
    }
    plan->answer_run = 0;
    kiln__answers_drop(plan, &answers);
    return status;
}

/* The default time limit grows by this number times the first run's time for each repetition that the caller asks for.
 * If verify_runs is above 1 and verify_seconds is 0, the default limit grows by the same amount for each of
 * verify_runs. */
#define REPEATED_TIMES 4

/* Runs the plan once, in the order that the answer and the times need. Computes the references before the steps
 * overwrite the data on which the references depend. Then poisons the outputs. The time limit begins at the first
 * launch. */
static kiln_status run_inside(kiln_plan *plan, const kiln_run_options *options, kiln_result *result, kiln_error **error)
{
    bool check = !(options->flags & KILN_RUN_NO_VERIFY), simulated = plan->engine->info.simulated;
    timing first = {.estimate = simulated && !(options->flags & KILN_RUN_NO_MEASURE)};
    /* if nobody uses the outputs, the run needs only the blocks that the estimate traces */
    first.sampled = !check && options->output_count == 0 && !plan->dynamic && !plan->capture_folder && !plan->whole;
    const kiln__simulator *simulator = plan->engine->driver.simulator;
    plan->sparse = first.estimate && first.sampled && simulator && simulator->has_model();
    if (plan->sparse)
        simulator->use_all_memory();
    kiln_status status = kiln__plan_fill(plan, true, error);
    plan->sparse = false;
    if (status == KILN_OK)
        status = set_metrics(plan, result, false, error);
    /* Computes the references first, because the steps may overwrite the data on which the references depend. */
    if (status == KILN_OK && check)
        status = kiln__plan_references(plan, error);
    if (status == KILN_OK && check)
        status = kiln__plan_poison(plan, error);
    if (status == KILN_OK && options->flags & KILN_RUN_CHECK)
        forget_poison(plan);
    if (status == KILN_OK && plan->shared->on_launch)
        plan->shared->on_launch(plan->shared->on_launch_user);
    if (status == KILN_OK)
        set_inputs(plan, result);
    plan->work = (kiln__host_work){0};
    kiln__limit_start(plan);
    plan->limit.first = true;
    if (status == KILN_OK)
        status = kiln__limit_check(plan, error);
    if (status == KILN_OK)
        status = run_once(plan, &first, error);
    plan->limit.first = false;
    result->rounds = plan->work.rounds < UINT_MAX ? (unsigned)plan->work.rounds : UINT_MAX;
    kiln__limit_extend(plan, REPEATED_TIMES * first.host * options->min_repetitions);
    if (status == KILN_OK && first.estimated >= 0) {
        result->estimated = 1;
        result->seconds = first.estimated;
        kiln__plan_roofline(plan, result);
    }
    if (status == KILN_OK && check)
        status = kiln__plan_verify(plan, result, error);
    result->verified_runs = status == KILN_OK && result->verified;
    if (status == KILN_OK)
        status = write_outputs(plan, options, error);
    if (status == KILN_OK && result->verified && options->verify_runs > 1 && can_begin_anew(plan)) {
        kiln__limit_extend(plan, options->verify_seconds > 0 ? options->verify_seconds
                                                             : REPEATED_TIMES * first.host * options->verify_runs);
        status = verify_again(plan, options, result, error);
    }
    /* the simulated device keeps the time of the first run even with KILN_RUN_NO_MEASURE, and then repeats nothing */
    if (status == KILN_OK && (simulated || !(options->flags & KILN_RUN_NO_MEASURE)))
        status = is_cut(plan, options, first.host) ? kiln__plan_cut(plan, first.host, result, error)
                                                   : kiln__plan_measure(plan, options, first.host, result, error);
    kiln__limit_end(plan);
    if (plan->work.runs)
        result->host_step_seconds = plan->work.seconds / (double)plan->work.runs;
    return status == KILN_OK ? set_metrics(plan, result, true, error) : status;
}

/* A context can have only one run with checks at a time. So this function locks `measuring`, and
 * kiln__plan_end_checks() unlocks it. kiln__plan_measure() also locks `measuring`, but only on a GPU, where runs have
 * no checks. So a run with checks never waits for itself. */
kiln_status kiln__plan_begin_checks(kiln_plan *plan, kiln_error **error)
{
    if (!plan->engine->driver.simulator)
        return kiln__fail(plan->mem, error, KILN_ERROR_UNSUPPORTED,
                          "only the simulated device can check launches: use sim, not %s", plan->engine->info.id);
    pthread_mutex_lock(&plan->engine->measuring);
    if (plan->engine->driver.simulator->check_begin())
        return KILN_OK;
    pthread_mutex_unlock(&plan->engine->measuring);
    return kiln__fail(plan->mem, error, KILN_ERROR_MEMORY, "out of memory for the checks, or another run uses them");
}

/* Converts a finding of the device's checks. Adds the text of the source line, and the name that the kernel has in the
 * spec. */
typedef struct reporter {
    kiln_plan *plan;
    const kiln_run_options *options;
    kiln__arena arena;
    kiln__sources sources;
    bool read;
} reporter;

static int report_finding(void *user, const kiln_check_finding *found)
{
    reporter *r = user;
    kiln_check_finding f = *found;
    if (!r->read)
        r->sources = kiln__sources_read(r->plan, &r->arena);
    r->read = true;
    f.at.text = kiln__sources_line(&r->sources, f.at.file, f.at.line, &r->arena);
    f.other.text = kiln__sources_line(&r->sources, f.other.file, f.other.line, &r->arena);
    for (size_t k = 0; k < r->plan->kernel_count; k++) {
        const char *symbol = kiln__code_symbol(&r->plan->code, r->plan->kernels[k].name);
        if (symbol && strcmp(symbol, f.kernel) == 0)
            f.kernel = r->plan->kernels[k].name;
    }
    return r->options->check ? r->options->check(r->options->check_user, &f) : 1;
}

void kiln__plan_end_checks(kiln_plan *plan, const kiln_run_options *options)
{
    reporter r = {.plan = plan, .options = options, .arena = {.mem = plan->mem}};
    plan->engine->driver.simulator->check_end(report_finding, &r);
    kiln__arena_free(&r.arena);
    pthread_mutex_unlock(&plan->engine->measuring);
}

/* Compiles references that are kernels first, because the engine's compile workers end when the process gives up its
 * rights. */
kiln_status kiln__plan_sandbox(kiln_plan *plan, const kiln_run_options *options, kiln_error **error)
{
    if (!kiln__sandbox_wanted(plan->engine))
        return KILN_OK;
    if (!(options->flags & KILN_RUN_NO_VERIFY))
        KILN__TRY(kiln__plan_open_references(plan, error));
    /* makes the folder of the capture now, so that the process needs no right to the parent folder */
    if (plan->capture_folder)
        KILN__TRY(kiln__make_folders(plan->mem, plan->capture_folder, 0777, error));
    const kiln__sandbox want = {
        .files = options->inputs, .file_count = options->input_count, .writable = plan->capture_folder};
    return kiln__engine_sandbox(plan->engine, plan->spec, &want, error);
}

/* Sets the frame of a run, and undoes it in the reverse order. A failed run undoes it too. The sandbox stays, because a
 * process cannot regain its rights. */
kiln_status kiln_plan_run(kiln_plan *plan, const kiln_run_options *given, const kiln_result **result,
                          kiln_error **error)
{
    kiln_run_options options;
    KILN__NEEDS(NULL, error, plan);
    KILN__TRY(kiln__take_run(plan->mem, error, __func__, "options", given, &options));
    kiln_result made = {.cache_hits = plan->code.from_cache,
                        .cache_misses = !plan->code.from_cache,
                        .compile_ns = plan->code.compile_ns};
    CUcontext previous;
    kiln_status status = kiln__engine_enter(plan->engine, &previous, error);
    if (status != KILN_OK)
        return status;
    bool files = options.input_count > 0;
    plan->time_count = 0;
    status = kiln__limit_set(plan, &options, error);
    if (status == KILN_OK)
        status = set_files(plan, &options, error);
    if (status == KILN_OK && files)
        kiln__plan_forget(plan); /* forgets shapes and contents, because they may come from the files of the run */
    if (status == KILN_OK)
        status = kiln__plan_sandbox(plan, &options, error);
    bool checked = options.flags & KILN_RUN_CHECK;
    if (status == KILN_OK && checked)
        status = kiln__plan_begin_checks(plan, error);
    bool begun = status == KILN_OK && checked;
    if (status == KILN_OK) { /* waits for other processes and engines, because their work would disturb the times */
        const kiln__waiting how = {.notify = plan->shared->on_wait,
                                   .user = plan->shared->on_wait_user,
                                   .stop = options.stop,
                                   .ends = plan->shared->on_ask,
                                   .ends_user = plan->shared->on_ask_user};
        if (kiln__engine_exclude(plan->engine, &how)) {
            status = run_inside(plan, &options, &made, error);
            kiln__engine_include(plan->engine);
        } else {
            status = kiln__fail(plan->mem, error, KILN_ERROR_INTERRUPTED,
                                "stopped while waiting for another process that measures on %s", plan->engine->info.id);
        }
    }
    if (begun)
        kiln__plan_end_checks(plan, &options);
    for (size_t i = 0; i < plan->variant->buffer_count; i++)
        plan->buffers[i].file = NULL;
    if (files)
        kiln__plan_forget(plan);
    /* frees memory, because an application needs the memory more than a faster second run */
    if (!plan->shared->sweep) {
        kiln__shared_drop(plan->shared, "fill ");
        kiln__shared_drop(plan->shared, "file ");
        kiln__shared_drop(plan->shared, "host ");
        kiln__shared_drop(plan->shared, "variant ");
        kiln__free(plan->mem, plan->shared->staging);
        plan->shared->staging = NULL;
    }
    kiln__engine_leave(plan->engine, previous);
    if (status == KILN_OK && !plan->shared->sweep) /* a sweep logs this warning once for all its runs */
        kiln__weak_tell(&plan->engine->log, plan->spec->name, made.weak);
    if (status == KILN_OK)
        plan->result = made;
    if (status == KILN_OK && result)
        *result = &plan->result;
    return status;
}
