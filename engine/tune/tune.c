/* tune.c - the sweep. Compiles run ahead in worker processes, and each device measures one configuration at a time.
 * This process measures, or one runner process for each device.
 *
 * A sweep has these phases (kiln__tune):
 *   open      open_sweep() opens goals, source, devices, queue, store and inputs, and starts runner processes
 *   recall    recall() gives a search that learns the estimates and the samples of the store
 *   greet     await_crew_open() begins compiles while the runner processes open their devices
 *   measure   run_with_crew() or run_alone() measures until the budget is used, the source has no more
 *             configurations, or an error ends the sweep
 *   finals    hold_finals() measures the fastest configurations again, if no error ended the sweep
 *   finish    makes the ranking and the front, and writes the pending rows of the store; then close_sweep()
 *
 * If the phase `open` fails, there is no tuning. There is no tuning either if go_without_crew() ends the sweep. After
 * every later failure the caller gets the samples made so far.
 *
 * A configuration is a `job` with these states and transitions:
 *   drawn     draw() has asked the source for the configuration, and the job has the ticket
 *               -> counted: the store has the sample, or the configuration is invalid, too large or cannot be compiled
 *               -> queued
 *   queued    the job is in `jobs`, and a worker compiles its code
 *               -> ready: the compile ended
 *   ready     the job is in `jobs`. Its compile has ended or failed, and `made` has the code. In a repeatable sweep
 *             `found` may be set instead, if the store has the sample
 *               -> counted: take_job() finds a failed compile, a block for which the device has no room, or `found`
 *               -> measured: take_job()
 *   measured  the job is in `flying` at the device's place, or in measure_here() without runner processes
 *               -> counted: finish()
 *               -> ready: let_go(), because the device can no longer measure and another device takes the job
 *   counted   count() has given the sample to the tuning and the answer to the source, and the job is forgotten
 * An error that ends the sweep forgets the jobs in all states.
 *
 * wants_more() stops the drawing of jobs under three conditions:
 *   drained   the source has no more configurations
 *   alone     a sample is retried, and nothing else may run meanwhile
 *   limit     a limit of the sweep is reached
 *
 * The file is long because drawing configurations, compiling ahead and measuring share one state. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "budget_internal.h"
#include "config.h"
#include "crew_internal.h"
#include "estimate_internal.h"
#include "finals_internal.h"
#include "isolate_internal.h"
#include "objective_internal.h"
#include "plan.h"
#include "record_internal.h"
#include "sites_internal.h"
#include "source_internal.h"
#include "split_internal.h"
#include "trial_internal.h"
#include "tune_internal.h"
#include "tuning_internal.h"

/* The number of configurations whose compiles begin before they are measured, for each compile worker. It is large
 * enough that one slow compile does not leave the workers idle. It is small enough that little work is lost when the
 * sweep stops. For a strategy that learns, the number is smaller (AHEAD_LEARNING), because without answers its
 * proposals are hardly better than random. */
#define AHEAD_PER_JOB 4
/* the number of jobs ahead for a search that learns, in addition to one job for each compile worker */
#define AHEAD_LEARNING 2
/* the number of jobs ahead for each worker, if one compile makes several codes (compile/group.c) */
#define AHEAD_TOGETHER 6
#define AHEAD_TOGETHER_LEARNING 3 /* the same number as AHEAD_TOGETHER, for a search that learns */
#define AHEAD_MOST 512
/* jobs ahead in a repeatable sweep; a constant, so that the same seed leads to the same configurations on every
 * machine */
#define AHEAD_REPEATABLE 4
#define READY_MORE 1       /* the number of compiled configurations that may wait, in addition to one for each device */
#define TICK_NS 100000000u /* the time between two calls of the callback while the sweep waits */
/* the time for which the sweep waits for the oldest compile before it checks the others again */
#define WAIT_SECONDS 0.02

typedef struct job { /* a configuration whose code is compiled and then measured */
    kiln_sample *sample;
    kiln__config *config;
    kiln__code_job *code;
    kiln__code made; /* the compiled code; `code` is NULL from then on */
    kiln__identity identity;
    size_t ticket;       /* the ticket with which the source gave the configuration */
    bool found;          /* the store has the sample of this job, which waits for its turn (KILN_TUNE_REPEATABLE) */
    kiln_status status;  /* the status of the stored sample, if `found` is set */
    const char *message; /* the message of the stored sample in the tuning's arena, if `found` is set */
    size_t place;        /* the index of the device that measures the job */
    uint64_t start;      /* the time at which the measurement of the job began */
} job;

typedef struct sweep {
    kiln_engine *engine;
    const kiln_spec *spec;
    const kiln_tune_options *options;
    kiln_run_options run; /* the run options to which `options` points */
    kiln__tune_source *source;
    /* small: the shared object for `verify_size_set`; NULL means that there are no smaller sizes */
    kiln__shared *shared, *small;
    /* the processes that measure, one for each device; NULL means that this process measures */
    kiln__crew *crew;
    job *flying; /* for each device the job that it measures; if the job has no sample, the device is idle */
    size_t flying_count;
    bool unopened;            /* runner processes could not be opened, so there is no sweep */
    bool alone;               /* a sample is retried while nothing else runs, or waits for the end of everything else */
    kiln__sites sites;        /* the devices of the sweep; their index is the place */
    kiln__recorder *recorder; /* writes samples to the store and finds them there; NULL means that there is no store */
    kiln__goals *goals;
    kiln__budget budget;
    kiln_tuning *tuning;
    job *jobs;           /* the queue of jobs; the first job is the oldest */
    size_t count, ahead; /* the number of jobs in the queue, and the limit of this number */
    size_t together;     /* the limit that applies once kiln__code_goes_together() was true for a code */
    size_t workers;      /* the number of processes that compile, on all machines */
    bool repeatable;     /* KILN_TUNE_REPEATABLE: the order of questions and answers does not depend on times */
    uint64_t begun;      /* the number of configurations that were drawn and were not in the store */
    uint64_t fresh;      /* the number of samples that this sweep made and counted */
    /* the number of configurations of `begun` that were not compiled, because the device has no room for their
     * blocks */
    uint64_t refused;
    bool drained; /* the source has no further configurations */
    uint64_t start, ticked;
} sweep;

/* ---- the callback ---- */

/* Returns the expected number of samples, from the size of the space and the budget. */
static uint64_t total(const sweep *s)
{
    uint64_t all = s->source ? kiln__tune_source_total(s->source) : UINT64_MAX, most = s->options->max_configurations;
    if (!most || __builtin_add_overflow(most, s->tuning->totals.reused, &most))
        return all;
    return all < most ? all : most;
}

static double remaining(const sweep *s, double elapsed)
{
    uint64_t done = s->tuning->totals.configurations, all = total(s);
    double limit = s->options->max_seconds, left = -1;
    if (done >= 3 && all >= done && all < UINT64_MAX)
        left = elapsed / (double)done * (double)(all - done);
    if (limit > 0 && (left < 0 || left > limit - elapsed))
        left = limit > elapsed ? limit - elapsed : 0;
    return left;
}

/* Calls the caller's callback. Returns false if the caller wants the sweep to end. */
static bool report(sweep *s, const kiln_sample *sample)
{
    const volatile int *stop = s->run.stop;
    s->ticked = kiln__now_ns();
    if (stop && __atomic_load_n(stop, __ATOMIC_RELAXED))
        return false;
    if (!s->options->callback)
        return true;
    double elapsed = kiln__seconds_since(s->start);
    kiln_progress progress = {
        .done = s->tuning->totals.configurations,
        .total = total(s),
        .failed = s->tuning->totals.failed,
        .elapsed = elapsed,
        .remaining = remaining(s, elapsed),
        .best = s->tuning->best,
    };
    return s->options->callback(s->options->user, &progress, sample) == 0;
}

/* Asks the caller's callback whether the sweep shall end, at most once in TICK_NS. Code in other folders that walks the
 * space or waits uses this function as its callback. */
static bool wants_end(void *user)
{
    sweep *s = user;
    return kiln__now_ns() - s->ticked >= TICK_NS && !report(s, NULL);
}

static kiln_status interrupted(sweep *s, kiln_error **error)
{
    if (total(s) == UINT64_MAX)
        return kiln__fail(s->engine->mem, error, KILN_ERROR_INTERRUPTED,
                          "the sweep was stopped after %llu configurations",
                          (unsigned long long)s->tuning->totals.configurations);
    return kiln__fail(s->engine->mem, error, KILN_ERROR_INTERRUPTED,
                      "the sweep was stopped after %llu of %llu configurations",
                      (unsigned long long)s->tuning->totals.configurations, (unsigned long long)total(s));
}

/* ---- samples ---- */

/* Tells whether a failure ends the sweep and not only its sample, because every other configuration would fail in the
 * same way.
 */
static bool is_fatal(kiln_status status)
{
    return status == KILN_ERROR_MEMORY || status == KILN_ERROR_NO_DEVICE || status == KILN_ERROR_NO_COMPILER;
}

/* Moves `why` to *error. If `error` is NULL or *error is already set, frees `why`. */
static void pass_on(kiln_error *why, kiln_error **error)
{
    if (error && !*error)
        *error = why;
    else
        kiln_error_free(why);
}

/* Returns the seconds that a measured sample took, or 0 for any other sample. The function uses only values that the
 * store keeps, so that a repeated search tries the same configurations. It does not use the wall time of an estimate,
 * because this time differs from run to run. */
static double cost_of(const kiln_result *r)
{
    double once = r->first_seconds > 0 ? r->first_seconds : r->seconds;
    return r->measured ? once * r->repetitions + (double)r->compile_ns * 1e-9 : 0;
}

/* Handles a finished sample. Computes its objectives, counts it, and gives its value to the strategy. */
static kiln_status count(sweep *s, const job *made, kiln_status status, const char *message, kiln_error **error)
{
    kiln_sample *sample = made->sample;
    sample->at = kiln__seconds_since(s->start);
    sample->status = status;
    kiln_status judged = status == KILN_OK ? kiln__goals_judge(s->goals, &s->tuning->arena, sample, error) : KILN_OK;
    if (judged != KILN_OK)
        return judged;
    const kiln__simulator *simulator = s->engine->driver.simulator;
    const bool timed = !simulator || !simulator->has_model() || sample->result->estimated || sample->result->measured;
    double value = sample->contender && timed ? kiln__goals_told(s->goals, sample)
                                              : HUGE_VAL; /* HUGE_VAL tells the search that the sample failed */
    if (!kiln__goals_by_time(s->options))
        kiln__tuning_set_value(sample, kiln__goals_rank(s->goals, sample));
    if (!kiln__tuning_add(s->tuning, sample, status, message))
        return kiln__fail_memory(error);
    kiln__budget_note(&s->budget, sample, value);
    return kiln__tune_source_tell(s->source, made->ticket, value, cost_of(sample->result), error);
}

/* Counts a sample that this sweep made, writes it to the store, and calls the callback. Takes ownership of `why`.
 * Returns KILN_ERROR_INTERRUPTED if the caller wants to stop. */
static kiln_status add(sweep *s, const job *made, kiln_status status, kiln_error *why, kiln_error **error)
{
    kiln_status counted = count(s, made, status, kiln_error_message(why), error);
    s->fresh++;
    if (counted == KILN_OK)
        kiln__recorder_add(s->recorder, &made->identity, made->sample, made->place, why);
    kiln_error_free(why);
    return counted != KILN_OK || report(s, made->sample) ? counted : interrupted(s, error);
}

/* Looks for the sample in the store, in a repeatable sweep. The sample is counted later, when its turn comes, because
 * the search must not learn its value earlier than in the sweep that measured it. A sample that was stopped early is
 * accepted for any bound, because a repeatable sweep would stop it early too. */
static bool keep_known(sweep *s, job *made)
{
    const double any_bound = 1e-300;
    made->found = kiln__recorder_find(s->recorder, &made->identity, any_bound, &s->tuning->arena, made->sample,
                                      &made->status, &made->message);
    return made->found;
}

/* Reuses a sample from the store for the job. Returns false if the store has no sample that can be reused. */
static bool add_known(sweep *s, const job *made, kiln_status *ended, kiln_error **error)
{
    kiln_status status;
    const char *message;
    double bound = kiln__trial_bound(s->options, s->tuning->best);
    if (!kiln__recorder_find(s->recorder, &made->identity, bound, &s->tuning->arena, made->sample, &status, &message))
        return false;
    *ended = count(s, made, status, message, error);
    if (*ended == KILN_OK && !report(s, made->sample))
        *ended = interrupted(s, error);
    return true;
}

/* ---- replacing a lost context ---- */

static kiln_status open_shared(sweep *s, kiln_error **error)
{
    KILN__TRY(kiln__shared_open(s->engine, s->spec, &s->shared, error));
    kiln__shared_on_ask(s->shared, wants_end, s);
    return s->options->verify_size_set ? kiln__shared_open(s->engine, s->spec, &s->small, error) : KILN_OK;
}

/* Continues the sweep after a fault, which destroys the context and everything on the device. On the simulated device,
 * creates a new context if the engine owns the context. On a GPU only a new process could continue, so the sweep
 * ends. */
static kiln_status recover(sweep *s, kiln_error *why, kiln_error **error)
{
    kiln_engine *engine = s->engine;
    char of[32] = "";
    if (total(s) < UINT64_MAX)
        snprintf(of, sizeof of, " of %llu", (unsigned long long)total(s));
    if (!engine->driver.simulator || !engine->owns_context)
        return kiln__fail_cuda(engine->mem, error, KILN_ERROR_DEVICE, kiln_error_cuda(why),
                               "the sweep ends after %llu%s configurations, because the device's context is lost: %s",
                               (unsigned long long)s->tuning->totals.configurations, of, kiln_error_message(why));
    kiln__shared_free(s->shared);
    kiln__shared_free(s->small);
    s->shared = s->small = NULL;
    KILN__TRY(kiln__engine_renew(engine, error));
    return open_shared(s, error);
}

/* ---- drawing configurations and starting their compiles ---- */

static void forget(job *taken)
{
    kiln__code_cancel(taken->code);
    kiln__code_free(&taken->made);
    kiln__config_free(taken->config);
    *taken = (job){0};
}

/* Makes the job of a choice, with its sample, its configuration and its code. The code is not compiled yet. If the
 * store has the sample, counts it and sets *known. In a repeatable sweep sets `found` of the job instead. If the
 * configuration is invalid, *failed and *why get the reason, and the sweep continues. The return value is an error that
 * ends the sweep. The job keeps configuration and code only if the sweep has to make the sample. */
static kiln_status look_up(sweep *s, const kiln_choice *choice, job *made, bool *known, kiln_status *failed,
                           kiln_error **why, kiln_error **error)
{
    made->sample = kiln__tuning_sample(s->tuning, choice->variant, KILN__PARAMS(choice));
    if (!made->sample)
        return kiln__fail_memory(error);
    made->sample->contender = kiln__tune_source_contends(s->source, choice->variant);
    *failed = kiln__tune_source_config(s->source, choice->variant, choice->params, &made->config, why);
    if (*failed == KILN_OK)
        *failed = kiln__code_prepare(s->engine, made->config, NULL, s->engine->want_cubin, &made->code, why);
    kiln_status ended = KILN_OK;
    kiln_status lost = kiln__recorder_identify(s->recorder, made->sample, made->config, made->code, &made->identity,
                                               error);
    const bool reused = lost == KILN_OK && *failed == KILN_OK &&
                        (s->repeatable ? keep_known(s, made) : add_known(s, made, &ended, error));
    *known = reused && !s->repeatable;
    if (lost == KILN_OK && !reused)
        return KILN_OK;
    kiln__code_cancel(made->code);
    kiln__config_free(made->config);
    made->code = NULL;
    made->config = NULL;
    kiln_error_free(*why);
    return lost != KILN_OK ? lost : ended;
}

/* Gives a search that learns its first knowledge. First come the estimates if the caller asks for them, otherwise times
 * from other devices and sizes. Then come the stored samples of its space. If a stored sample does not fit this sweep,
 * the function drops it, and the search may propose its configuration again. In a repeatable sweep the function does
 * nothing. */
static kiln_status recall(sweep *s, kiln_error **error)
{
    kiln_status status = KILN_OK, failed;
    if (s->repeatable) /* samples that other sweeps have stored must not change the path of this search */
        return KILN_OK;
    size_t estimates = 0;
    const kiln__asker watch = {wants_end, s};
    if (s->options->estimates && kiln__tune_source_learns(s->source) && kiln__goals_by_time(s->options))
        status = kiln__estimates_make(s->engine, s->spec, s->options, &watch, kiln__tune, s->source, &estimates, error);
    if (status == KILN_OK && kiln__tune_source_learns(s->source) && estimates == 0)
        status = kiln__tune_source_expect(s->source, s->recorder, error);
    if (status == KILN_OK && kiln__tune_source_learns(s->source))
        status = kiln__tune_source_recall(s->source, s->recorder, error);
    while (status == KILN_OK && !kiln__budget_over(&s->budget)) {
        kiln_choice choice;
        kiln_error *why = NULL;
        job made = {0};
        bool known;
        status = kiln__tune_source_known(s->source, &choice, &made.ticket, error);
        if (status != KILN_OK || !choice.variant)
            break;
        status = look_up(s, &choice, &made, &known, &failed, &why, error);
        /* the stored samples begin with the best, so the later samples do not mean that the search no longer
         * improves */
        s->budget.stale = 0;
        if (status != KILN_OK || known)
            continue;
        kiln__tune_source_drop(s->source, made.ticket);
        kiln_error_free(why);
        forget(&made);
    }
    return status;
}

/* Takes one configuration from the source. Then the configuration is counted, or it is a job at the end of the queue.
 * If the source has no more configurations, `end` of the budget has the reason. If a configuration cannot be compiled,
 * it becomes a failed sample. The function ends the sweep only for an error that every configuration would have, or for
 * a source that cannot be read. */
static kiln_status draw(sweep *s, kiln_error **error)
{
    uint64_t most = s->options->max_configurations;
    kiln_choice choice = {0};
    job made = {0};
    kiln_status status = KILN_OK;
    if (!most || s->begun < most)
        status = kiln__tune_source_next(s->source, &choice, &made.ticket, error);
    if (status != KILN_OK)
        return status;
    if (!choice.variant) {
        s->drained = true;
        s->budget.end = most && s->begun >= most               ? KILN_END_CONFIGURATIONS
                        : kiln__tune_source_gave_up(s->source) ? KILN_END_SEARCHED
                                                               : KILN_END_ALL;
        if (s->budget.end == KILN_END_SEARCHED)
            kiln__budget_over(&s->budget); /* looking for a configuration has used up the rest of the time */
        return KILN_OK;
    }
    kiln_error *why = NULL;
    bool known;
    uint64_t start = kiln__now_ns();
    kiln_status lost = look_up(s, &choice, &made, &known, &status, &why, error);
    if (lost != KILN_OK || known)
        return lost;
    if (made.found) {
        kiln_error_free(why);
        s->jobs[s->count++] = made;
        return KILN_OK;
    }
    s->begun++;
    if (status == KILN_OK && (status = kiln__config_fits(s->engine, made.config, NULL, &why)) != KILN_OK) {
        kiln__code_cancel(made.code); /* the configuration is not compiled */
        s->refused++;
    } else if (status == KILN_OK) {
        s->ahead = kiln__code_goes_together(made.code) ? s->together : s->ahead;
        status = kiln__code_begin(made.code, &why);
    }
    s->tuning->totals.compile_seconds += kiln__seconds_since(start); /* the time for reading the cache counts too */
    if (status == KILN_OK) {
        s->jobs[s->count++] = made;
        return KILN_OK;
    }
    kiln__config_free(made.config);
    /* A source that cannot be read is not a failure of the configuration. */
    if (is_fatal(status) || status == KILN_ERROR_IO || status == KILN_ERROR_NOT_FOUND) {
        pass_on(why, error);
        return status;
    }
    return add(s, &made, status, why, error);
}

static bool is_ready(const job *waiting) { return !waiting->code || kiln__code_done(waiting->code); }

static bool is_flying(const sweep *s)
{
    for (size_t i = 0; i < s->flying_count; i++)
        if (s->flying[i].sample)
            return true;
    return false;
}

/* Tells whether one of the sweep's limits is reached. If the time limit of a sweep is shorter than its first compile,
 * the sweep continues until it has made one sample. So each run of the same command makes progress. */
static bool is_over(sweep *s)
{
    if (!kiln__budget_over(&s->budget))
        return false;
    const bool idle = s->count == 0 && !is_flying(s);
    return s->budget.end != KILN_END_SECONDS || s->fresh > 0 || (s->drained && idle);
}

/* Returns the number of jobs without an answer, both queued jobs and jobs that are measured. */
static size_t count_open(const sweep *s)
{
    size_t open = s->count;
    for (size_t i = 0; i < s->flying_count; i++)
        open += s->flying[i].sample != NULL;
    return open;
}

/* Tells whether the first measurement waits for the code of the oldest job, because its configuration is known to be
 * good. Another configuration whose code compiles faster may run a thousand times slower. Under a short limit the first
 * sample may be the only sample. */
static bool awaits_known(const sweep *s)
{
    return s->tuning->totals.configurations == 0 && !is_flying(s) && kiln__tune_source_begins_known(s->source);
}

/* Tells whether the sweep shall draw another configuration now. The length of the queue is limited. In a repeatable
 * sweep the number of open jobs is limited instead, because this number must not depend on times. A search that learns
 * is asked only until each device has a job and one more job is ready, because its proposals are better after more
 * answers. While the first measurement waits for one code, half of the workers stay idle, because NVRTC's compiles take
 * up to twice as long side by side. */
static bool wants_more(sweep *s)
{
    if (s->drained || s->alone || s->count >= s->ahead || is_over(s))
        return false;
    if (kiln__budget_over(&s->budget)) /* the limit is reached, and only the first sample is still needed */
        return count_open(s) == 0;
    if (s->repeatable)
        return count_open(s) < AHEAD_REPEATABLE;
    if (awaits_known(s) && s->count >= (s->workers + 1) / 2)
        return false;
    if (!kiln__tune_source_learns(s->source))
        return true;
    size_t known = 0, enough = s->flying_count + READY_MORE;
    for (size_t i = 0; i < s->flying_count; i++)
        known += s->flying[i].sample != NULL;
    for (size_t i = 0; i < s->count && known < enough; i++)
        known += is_ready(&s->jobs[i]);
    return known < enough;
}

/* ---- taking jobs that are ready to be measured ---- */

/* Returns the index of the oldest job whose code is ready, or `count` if no code is ready yet. */
static size_t find_ready(const sweep *s)
{
    /* takes jobs in order, so that findings, or the answers to the search, come in the same order every time */
    bool ordered = s->run.flags & KILN_RUN_CHECK || s->repeatable || awaits_known(s);
    for (size_t i = 0; i < (ordered && s->count ? 1 : s->count); i++)
        if (is_ready(&s->jobs[i]))
            return i;
    return s->count;
}

/* Takes the job number `index` and its compiled code from the queue. If *taken has no sample afterwards, there is
 * nothing to measure. Then the compile failed or the store had the sample, and the sample was counted, or the sweep
 * ends. */
static kiln_status take_job(sweep *s, size_t index, job *taken, kiln_error **error)
{
    *taken = s->jobs[index];
    memmove(&s->jobs[index], &s->jobs[index + 1], (s->count - index - 1) * sizeof *s->jobs);
    s->count--;
    if (taken->found) {
        const kiln_status counted = count(s, taken, taken->status, taken->message, error);
        const bool more = counted != KILN_OK || report(s, taken->sample);
        forget(taken);
        return more ? counted : interrupted(s, error);
    }
    if (!taken->code) /* the code of the job was taken before */
        return KILN_OK;
    kiln_tuning_totals *totals = &s->tuning->totals;
    kiln_error *why = NULL;
    uint64_t begin = kiln__now_ns();
    kiln_status status = kiln__code_take(taken->code, &taken->made, &why);
    taken->code = NULL;
    totals->compile_seconds += kiln__seconds_since(begin);
    bool hit = status == KILN_OK && taken->made.from_cache;
    if (status != KILN_OK && !report(s, NULL)) { /* Ctrl-C also ends the workers, so the compile has not failed */
        forget(taken);
        kiln_error_free(why);
        return interrupted(s, error);
    }
    totals->cache_hits += hit;
    totals->cache_misses += !hit;
    totals->compile_work_seconds += (double)taken->made.compile_ns / 1e9;
    if (status == KILN_OK)
        status = kiln__config_fits(s->engine, taken->config, &taken->made, &why);
    if (status == KILN_OK)
        return KILN_OK;
    job failed = *taken;
    forget(taken);
    if (!is_fatal(status))
        return add(s, &failed, status, why, error);
    pass_on(why, error);
    return status;
}

/* Completes the result of a measured sample, counts the sample and forgets the job. Takes ownership of `why`. */
static kiln_status finish(sweep *s, job *done, kiln_status status, kiln_error *why, kiln_error **error)
{
    kiln_result *result = kiln__tuning_result(done->sample);
    s->tuning->totals.run_seconds += kiln__seconds_since(done->start);
    result->compile_ns = done->made.compile_ns;
    result->cache_hits = done->made.from_cache;
    result->cache_misses = !done->made.from_cache;
    done->sample->device = s->sites.items[done->place].label;
    job counted = *done;
    forget(done);
    return add(s, &counted, status, why, error);
}

/* ---- measuring in this process ---- */

/* Runs a plan and sets *result. If the answer was verified at the smaller sizes, *result already has the verdict, and
 * keeps it. */
static kiln_status run_plan(sweep *s, kiln_plan *plan, const kiln_run_options *how, kiln_result *result,
                            kiln_error **error)
{
    const kiln_result *ran = NULL;
    const kiln_result small = *result;
    kiln_status status = kiln_plan_run(plan, how, &ran, error);
    *result = ran ? *ran : small;
    if (ran && s->small)
        kiln__take_answer(result, &small);
    return status == KILN_OK ? kiln__recorder_note(s->recorder, plan, error) : status;
}

/* Makes a plan of the job's code, and runs it. The plan takes ownership of the code. */
static kiln_status run_code(sweep *s, job *taken, const kiln__trial *trial, kiln_result *result, kiln_error **error)
{
    kiln_plan *plan = NULL;
    kiln__code code = taken->made;
    taken->made = (kiln__code){.from_cache = code.from_cache, .compile_ns = code.compile_ns};
    kiln_status status = kiln__plan_make(s->engine, taken->config, &code, &plan, error);
    taken->config = NULL; /* the plan owns the configuration, also after a failure */
    if (status == KILN_OK) {
        kiln__plan_share(plan, s->shared);
        kiln__plan_answer(plan, trial->answer);
        kiln_run_options how = kiln__trial_run(&s->run, trial);
        if (s->small)
            how.flags |= KILN_RUN_NO_VERIFY;
        status = run_plan(s, plan, &how, result, error);
    }
    kiln_plan_close(plan);
    return status;
}

/* Tells whether a run may run only a few blocks of each kernel. An estimate runs only a few blocks if nobody looks at
 * the results. A kernel may then fault because an earlier kernel wrote only a part of its addresses. So if such a run
 * faults, the caller runs the sample once more with all blocks, in a new context. */
static bool may_be_of_parts(const sweep *s)
{
    const kiln__simulator *simulator = s->engine->driver.simulator;
    return simulator && simulator->has_model() && (s->small || s->run.flags & KILN_RUN_NO_VERIFY);
}

/* Runs a sample again with all blocks, in a new plan. The first plan took the job's code and configuration. */
static kiln_status run_whole(sweep *s, const job *taken, const kiln__trial *trial, kiln_result *result,
                             kiln_error **error)
{
    const kiln_choice choice = {.variant = taken->sample->variant,
                                .params = taken->sample->params,
                                .param_count = taken->sample->param_count,
                                .size_set = s->options->size_set,
                                .sizes = s->options->sizes,
                                .size_count = s->options->size_count};
    kiln_plan *plan = NULL;
    bool invalid = false;
    KILN__TRY(kiln__split_plan(s->engine, s->spec, &choice, &plan, &invalid, error));
    if (invalid)
        return kiln__fail(s->engine->mem, error, KILN_ERROR_INTERNAL, "%s: a configuration is no longer valid",
                          s->spec->name);
    kiln_run_options how = kiln__trial_run(&s->run, trial);
    how.flags |= KILN_RUN_NO_VERIFY;
    kiln__plan_share(plan, s->shared);
    kiln__plan_whole(plan);
    kiln_status status = run_plan(s, plan, &how, result, error);
    kiln_plan_close(plan);
    return status;
}

static bool is_lost(kiln_status status, const kiln_error *why)
{
    return status != KILN_OK && kiln__driver_is_sticky((CUresult)kiln_error_cuda(why));
}

/* Measures a job in this process, and counts its sample. If a fault destroyed the context, creates a new context for
 * the next sample (recover). If the fault happened in an estimate that ran only some blocks, first runs the sample
 * again with all blocks (run_whole). Ends the sweep for a fatal error, a request to stop, a kernel that does not end,
 * and a context that cannot be replaced. */
static kiln_status run_here(sweep *s, job *taken, kiln_error **error)
{
    kiln_error *why = NULL, *lost_why = NULL;
    taken->start = kiln__now_ns();
    kiln__trial trial = kiln__trial_plan(s->options, s->tuning->best);
    kiln_result *result = kiln__tuning_result(taken->sample);
    kiln_status status = KILN_OK, lost = KILN_OK;
    if (s->small)
        status = kiln__split_verify(s->engine, s->spec, s->options, s->small, taken->sample, result, &why);
    if (status == KILN_OK) {
        status = run_code(s, taken, &trial, result, &why);
        if (status == KILN_ERROR_DEVICE && is_lost(status, why) && may_be_of_parts(s) &&
            !atomic_load(&s->engine->stuck) && (lost = recover(s, why, &lost_why)) == KILN_OK) {
            kiln_error_free(why);
            why = NULL;
            status = run_whole(s, taken, &trial, result, &why);
        }
    }
    if (is_fatal(status)) {
        forget(taken);
        pass_on(why, error);
        return status;
    }
    if (status == KILN_ERROR_INTERRUPTED) { /* the caller set options.run->stop during a sample */
        forget(taken);
        kiln_error_free(why);
        return interrupted(s, error);
    }
    if (atomic_load(&s->engine->stuck))
        lost = kiln__fail(s->engine->mem, &lost_why, KILN_ERROR_TIMEOUT,
                          "the sweep ends after %llu of %llu configurations, "
                          "because a kernel on the device does not end: %s",
                          (unsigned long long)s->tuning->totals.configurations, (unsigned long long)total(s),
                          kiln_error_message(why));
    else if (lost == KILN_OK && is_lost(status, why))
        lost = recover(s, why, &lost_why);
    status = finish(s, taken, status, why, error);
    if (lost != KILN_OK && status == KILN_OK) {
        pass_on(lost_why, error);
        return lost;
    }
    kiln_error_free(lost_why);
    return status;
}

/* Measures a job that is ready. If no job is ready, waits a short time for the oldest job. */
static kiln_status measure_here(sweep *s, kiln_error **error)
{
    size_t ready = find_ready(s);
    if (ready == s->count) {
        uint64_t start = kiln__now_ns();
        bool done = kiln__code_wait(s->jobs[0].code, WAIT_SECONDS);
        s->tuning->totals.compile_seconds += kiln__seconds_since(start);
        if (!done)
            return KILN_OK;
        ready = 0;
    }
    job taken;
    kiln_status status = take_job(s, ready, &taken, error);
    return status == KILN_OK && taken.sample ? run_here(s, &taken, error) : status;
}

/* ---- measuring in runner processes ---- */

/* Handles a device that can no longer measure: puts its job back at the front of the queue for the other devices. If
 * there is no other device, or if memory ran out, the sweep ends. */
static kiln_status let_go(sweep *s, size_t place, kiln_status status, kiln_error *why, kiln_error **error)
{
    size_t others = 0;
    for (size_t i = 0; i < s->flying_count; i++)
        others += i != place && kiln__crew_runner(s->crew, i);
    if (others == 0 || status == KILN_ERROR_MEMORY) {
        forget(&s->flying[place]);
        pass_on(why, error);
        return status;
    }
    kiln__logf(&s->engine->log, KILN_LOG_WARNING, "%s can no longer measure; continuing with %zu other devices: %s",
               s->sites.items[place].label, others, kiln_error_message(why));
    kiln_error_free(why);
    kiln__crew_let_go(s->crew, place);
    memmove(&s->jobs[1], &s->jobs[0], s->count * sizeof *s->jobs); /* `jobs` has room for one more job per device */
    s->jobs[0] = s->flying[place];
    s->count++;
    s->flying[place] = (job){0};
    return KILN_OK;
}

/* Steps the state machine of each runner, and counts the samples that have finished. */
static kiln_status step_crew(sweep *s, kiln_error **error)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < s->flying_count && status == KILN_OK; i++) {
        kiln__runner *runner = kiln__crew_runner(s->crew, i);
        job *flying = &s->flying[i];
        kiln_error *why = NULL;
        bool ends = false;
        if (runner && flying->sample && kiln__runner_step(runner)) {
            status = kiln__runner_take(runner, s->recorder, kiln__tuning_result(flying->sample), &ends, &why);
            status = ends ? let_go(s, i, status, why, error) : finish(s, flying, status, why, error);
        }
    }
    return status;
}

/* Gives a job to a runner that is idle. With `verify_size_set`, the function first makes the code at the smaller sizes,
 * which may take a whole compile. If the code at the smaller sizes cannot be made, the sample fails. */
static kiln_status begin_job(sweep *s, kiln__runner *runner, job *flying, kiln_error **error)
{
    kiln__code small = {0};
    kiln_error *why = NULL;
    kiln_status status = KILN_OK;
    bool invalid = true;
    if (s->options->verify_size_set)
        status = kiln__split_code(s->engine, s->spec, s->options, flying->sample, &small, &invalid, &why);
    if (status != KILN_OK && !is_fatal(status))
        return finish(s, flying, status, why, error);
    if (status == KILN_OK) {
        kiln__trial trial = kiln__trial_plan(s->options, s->tuning->best);
        status = kiln__runner_begin(runner, flying->sample, &trial, &flying->made, invalid ? NULL : &small, &why);
    }
    kiln__code_free(&small);
    pass_on(why, error);
    return status;
}

/* Gives jobs that are ready to runners that are idle. Sets *idle to the number of runners that stay idle. */
static kiln_status feed_crew(sweep *s, bool more, size_t *idle, kiln_error **error)
{
    *idle = 0;
    for (size_t i = 0; i < s->flying_count; i++) {
        kiln__runner *runner = kiln__crew_runner(s->crew, i);
        job *flying = &s->flying[i];
        kiln_status status = KILN_OK;
        size_t ready;
        while (status == KILN_OK && more && runner && !flying->sample && (ready = find_ready(s)) < s->count) {
            status = take_job(s, ready, flying, error);
            if (status != KILN_OK || !flying->sample)
                continue;
            flying->start = kiln__now_ns();
            flying->place = i;
            status = begin_job(s, runner, flying, error);
        }
        if (status != KILN_OK)
            return status;
        *idle += runner && !flying->sample;
    }
    return KILN_OK;
}

/* Sleeps until a runner needs attention. If a runner is idle, or a retry waits for running compiles, the end of a
 * compile also wakes the sweep. The sleep is limited, so that the callback is called often enough. */
static void await_crew(sweep *s, size_t idle)
{
    uint64_t start = kiln__now_ns();
    bool compiling = idle > 0 && s->count > 0 && !s->alone;
    kiln__crew_wait(s->crew, compiling || s->alone, compiling ? WAIT_SECONDS : TICK_NS * 1e-9);
    if (!is_flying(s))
        s->tuning->totals.compile_seconds += kiln__seconds_since(start);
}

/* ---- the finals, which run on one device ---- */

/* Returns the place of the first device that can still measure. All finals run on this device, so that their times can
 * be compared. */
static size_t finals_place(const sweep *s)
{
    size_t place = 0;
    while (s->crew && place + 1 < s->flying_count && !kiln__crew_runner(s->crew, place))
        place++;
    return place;
}

static bool tick(void *user) { return report(user, NULL); }

static kiln_status prepare_again(sweep *s, const kiln_sample *sample, job *again, kiln_error **error)
{
    *again = (job){.place = finals_place(s)};
    kiln_status status = kiln__tune_source_config(s->source, sample->variant, sample->params, &again->config, error);
    if (status == KILN_OK)
        status = kiln__code_prepare(s->engine, again->config, NULL, s->engine->want_cubin, &again->code, error);
    return status;
}

static kiln_status measure_again(void *user, const kiln_sample *sample, const kiln__trial *trial, kiln_result *result,
                                 bool *ends, kiln_error **error)
{
    sweep *s = user;
    job again;
    *ends = !report(s, NULL);
    if (*ends)
        return interrupted(s, error);
    kiln_status status = prepare_again(s, sample, &again, error);
    kiln__code_job *code = again.code;
    again.code = NULL; /* both functions free the code if they fail */
    if (status == KILN_OK && (status = kiln__code_begin(code, error)) == KILN_OK)
        status = kiln__code_take(code, &again.made, error);
    *ends = is_fatal(status);
    if (status == KILN_OK && s->crew) {
        status = kiln__crew_run(s->crew, again.place, sample, trial, &again.made, tick, s, s->recorder, result, ends,
                                error);
    } else if (status == KILN_OK) {
        status = run_code(s, &again, trial, result, error);
        *ends = is_fatal(status) ||
                /* the caller stopped the run, so this is not a failure of the sample */
                status == KILN_ERROR_INTERRUPTED;
    }
    forget(&again);
    return status;
}

/* Writes a sample over its row in the store, with new times. If `times` is NULL, the row keeps its stored times. If the
 * sample cannot be written, the old row stays, and the log has the reason. */
static void keep_again(void *user, const kiln_sample *sample, const double *times, size_t count, const kiln_error *why)
{
    sweep *s = user;
    job again;
    kiln_error *failure = NULL;
    if (!s->recorder)
        return;
    kiln_status status = prepare_again(s, sample, &again, &failure);
    if (status == KILN_OK)
        status = kiln__recorder_identify(s->recorder, sample, again.config, again.code, &again.identity, &failure);
    if (status == KILN_OK) {
        if (times)
            kiln__recorder_times(s->recorder, times, count);
        else
            kiln__recorder_stored_times(s->recorder, &again.identity, again.place);
        kiln__recorder_add(s->recorder, &again.identity, sample, again.place, why);
    } else {
        kiln__logf(&s->engine->log, KILN_LOG_WARNING, "the store keeps an older result of %s: %s", sample->variant,
                   kiln_error_message(failure));
    }
    kiln_error_free(failure);
    forget(&again);
}

/* If time is the only objective, holds the finals. In every case it then checks the best configuration again.
 * Afterwards it computes the objectives again for the samples whose time the finals changed. */
static kiln_status hold_finals(sweep *s, kiln_error **error)
{
    const kiln__again again = {.user = s, .log = &s->engine->log, .measure = measure_again, .keep = keep_again};
    if (!kiln__goals_by_time(s->options)) {
        s->tuning->verdict.why_not = "there are objectives other than time";
        return kiln__best_confirm(s->tuning, s->options, &again, error);
    }
    kiln_status status = kiln__finals_hold(s->tuning, s->options, &again, error);
    if (status == KILN_OK)
        status = kiln__best_confirm(s->tuning, s->options, &again, error);
    for (size_t i = 0; i < s->tuning->count && status == KILN_OK; i++)
        if (s->tuning->samples[i]->result->finals)
            status = kiln__goals_judge(s->goals, &s->tuning->arena, s->tuning->samples[i], error);
    return status;
}

/* ---- the whole sweep ---- */

/* Measures with runner processes until no job is left and no more jobs are wanted. One thread serves all runners, so
 * only two functions here may wait. One is await_crew(). The other is begin_job() with `verify_size_set`, because it
 * waits for the code at the smaller sizes unless the cache has this code. Each round steps the runners, gives ready
 * jobs to idle runners, and then draws one job or sleeps. When the time is over, the function waits for running
 * samples, and begins no queued jobs. */
static kiln_status run_with_crew(sweep *s, kiln_error **error)
{
    kiln_status status = KILN_OK;
    while (status == KILN_OK) {
        size_t idle = 0;
        bool late = kiln__now_ns() - s->ticked >= TICK_NS;
        if (late && !report(s, NULL))
            return interrupted(s, error);
        /* draws all jobs that it may draw before the search gets the next answer */
        if (s->repeatable && wants_more(s)) {
            status = draw(s, error);
            continue;
        }
        status = step_crew(s, error);
        const bool more = !is_over(s); /* is_over() also counts the samples that have just ended */
        s->alone = kiln__crew_alone(s->crew);
        if (status == KILN_OK) /* when the time is over, waits for running samples */
            status = feed_crew(s, more && !s->alone, &idle, error);
        if (status != KILN_OK)
            break;
        if (wants_more(s))
            status = draw(s, error);
        else if (!is_flying(s) && (s->count == 0 || !more))
            break;
        else
            await_crew(s, idle);
    }
    return status;
}

/* Measures in this process. Draws jobs until the queue is full or the oldest job is ready, then measures one job. */
static kiln_status run_alone(sweep *s, kiln_error **error)
{
    kiln_status status = KILN_OK;
    while (status == KILN_OK && !is_over(s)) {
        bool late = kiln__now_ns() - s->ticked >= TICK_NS;
        if (late && !report(s, NULL))
            return interrupted(s, error);
        if (wants_more(s)) {
            status = draw(s, error);
            /* If all codes are in the cache, filling the queue before the first run would only leave the device
             * idle. */
            if (status != KILN_OK || s->count == 0 || s->repeatable ||
                (s->count < s->ahead && s->jobs[0].code && !kiln__code_done(s->jobs[0].code)))
                continue;
        }
        if (s->count == 0)
            break;
        status = measure_here(s, error);
    }
    return status;
}

/* Tells whether the sweep must measure in runner processes. If these processes cannot be started, the sweep ends. */
static bool needs_crew(const sweep *s)
{
    return s->options->device_count > 0 || s->engine->ranks || s->options->isolation == KILN_ISOLATE_ALWAYS ||
           (kiln__sandbox_wanted(s->engine) && s->engine->flags & KILN_SANDBOX_REQUIRED);
}

/* Handles runner processes that could not be started. The sweep then measures in this process, and logs this. If the
 * sweep must measure in runner processes, or if the failure is fatal, the sweep ends with `why`. Takes ownership of
 * `why`. */
static kiln_status go_without_crew(sweep *s, kiln_status status, kiln_error *why, kiln_error **error)
{
    kiln_engine *engine = s->engine;
    kiln__crew_close(s->crew);
    s->crew = NULL;
    if (needs_crew(s) || is_fatal(status)) {
        s->unopened = true;
        pass_on(why, error);
        return status;
    }
    if (kiln__sandbox_wanted(engine)) {
        kiln__logf(&engine->log, KILN_LOG_WARNING, "kernels run without a sandbox: %s", kiln_error_message(why));
        engine->sandboxed = true; /* keeps kiln_plan_run() from entering a sandbox in this process */
    } else {                      /* if the GPU takes only one process at a time, this process already uses it */
        kiln__logf(&engine->log, KILN_LOG_WARNING, "%s, so a kernel that faults ends this sweep",
                   kiln_error_message(why));
    }
    kiln_error_free(why);
    return KILN_OK;
}

/* Starts runner processes if the options, the device or a sandbox require them. The runner processes open their devices
 * while the sweep begins compiles. The function await_crew_open() waits for them. If a sweep on the simulated device
 * runs host functions of the application, it cannot have a sandbox. */
static kiln_status start_crew(sweep *s, kiln_error **error)
{
    kiln_engine *engine = s->engine;
    const kiln_isolation wanted = s->options->isolation;
    kiln_error *why = NULL;
    const char *reason;
    if (kiln__sandbox_wanted(engine)) {
        if (!needs_crew(s) && !kiln__sandbox_possible(engine, s->spec, &reason)) {
            kiln__logf(&engine->log, KILN_LOG_INFO, "kernels run without a sandbox: %s", reason);
            engine->sandboxed = true;
            return KILN_OK;
        }
    } else if (!needs_crew(s) &&
               (wanted == KILN_ISOLATE_NEVER || (wanted == KILN_ISOLATE_GPU && engine->info.simulated))) {
        return KILN_OK;
    }
    kiln_status status = kiln__crew_start(engine, s->spec, s->options, &s->sites, &s->crew, &why);
    return status == KILN_OK ? KILN_OK : go_without_crew(s, status, why, error);
}

/* Waits until the runner processes have opened their devices, and starts compiles meanwhile. As soon as one compiled
 * configuration is ready, the function draws no further configurations, because a search that learns proposes better
 * configurations after answers. If the runner processes cannot be opened, calls go_without_crew(). */
static kiln_status await_crew_open(sweep *s, kiln_error **error)
{
    for (bool ready = false; !ready;) {
        kiln_error *why = NULL;
        kiln_status status = kiln__crew_greet(s->crew, &ready, &why);
        if (status != KILN_OK)
            return go_without_crew(s, status, why, error);
        if (ready)
            break;
        if (kiln__now_ns() - s->ticked >= TICK_NS && !report(s, NULL))
            return interrupted(s, error);
        if (wants_more(s) && find_ready(s) == s->count)
            KILN__TRY(draw(s, error));
        else
            kiln__crew_wait(s->crew, false, TICK_NS * 1e-9);
    }
    return KILN_OK;
}

static kiln_status run_sweep(sweep *s, kiln_error **error)
{
    if (!report(s, NULL))
        return interrupted(s, error);
    KILN__TRY(recall(s, error));
    if (s->crew)
        KILN__TRY(await_crew_open(s, error));
    return s->crew ? run_with_crew(s, error) : run_alone(s, error);
}

/* Finds the devices of the sweep, and copies their labels. Samples point to the labels, and live longer than the engine
 * and the ranks. */
static kiln_status open_sites(sweep *s, kiln_error **error)
{
    kiln__arena *arena = &s->tuning->arena;
    KILN__TRY(kiln__sites_find(s->engine, s->options, arena, &s->sites, error));
    for (size_t i = 0; i < s->sites.count; i++)
        s->sites.items[i].label = kiln__arena_strdup(arena, s->sites.items[i].label);
    s->flying = kiln__calloc(s->engine->mem, s->sites.count, sizeof *s->flying);
    return s->flying && !arena->failed ? KILN_OK : kiln__fail_memory(error);
}

/* Opens everything that the sweep needs. Each object is opened after the objects that it needs. After a failure the
 * caller frees the tuning and calls close_sweep(), which accepts a sweep that is only partly open. The runner processes
 * come last, so that they start only if all names and options are right. */
static kiln_status open_sweep(sweep *s, kiln_error **error)
{
    kiln_engine *engine = s->engine;
    const kiln__asker watch = {wants_end, s};
    s->tuning = kiln__tuning_new(engine->mem);
    if (!s->tuning)
        return kiln__fail_memory(error);
    kiln_status status = kiln__goals_open(engine, s->spec, s->options, &s->goals, error);
    if (status == KILN_OK)
        status = kiln__tune_source_open(engine, s->spec, s->options, &watch, &s->source, error);
    if (status != KILN_OK)
        return status;
    KILN__TRY(kiln__tuning_set_sizes(s->tuning, engine, s->spec, s->options, error));
    size_t left_count;
    const kiln_left_out *left = kiln__tune_source_left_out(s->source, &left_count);
    if (!kiln__tuning_leave_out(s->tuning, left, left_count))
        return kiln__fail_memory(error);
    kiln_choice choice = {
        .size_set = s->options->size_set, .sizes = s->options->sizes, .size_count = s->options->size_count};
    if (s->options->verify_size_set)
        choice = (kiln_choice){.size_set = s->options->verify_size_set};
    KILN__TRY(kiln__plan_preflight(engine, s->spec, &choice, !(s->run.flags & KILN_RUN_NO_VERIFY), error));
    s->run.flags |= kiln__goals_need_energy(s->goals) ? KILN_RUN_ENERGY : 0;
    s->tuning->totals.uncounted = kiln__tune_source_total(s->source) == UINT64_MAX;
    s->tuning->totals.sampled = kiln__tune_source_sampled(s->source);
    status = open_sites(s, error);
    if (status != KILN_OK)
        return status;
    size_t jobs = s->workers = kiln__sites_jobs(engine);
    jobs = jobs < AHEAD_MOST / AHEAD_PER_JOB ? jobs : AHEAD_MOST / AHEAD_PER_JOB;
    s->ahead = kiln__tune_source_learns(s->source) ? jobs + AHEAD_LEARNING : jobs * AHEAD_PER_JOB;
    s->ahead = s->repeatable && s->ahead < AHEAD_REPEATABLE ? AHEAD_REPEATABLE : s->ahead;
    s->together = jobs * (kiln__tune_source_learns(s->source) ? AHEAD_TOGETHER_LEARNING : AHEAD_TOGETHER);
    s->together = s->together < s->ahead ? s->ahead : s->together;
    s->jobs = kiln__calloc(engine->mem, s->together + s->sites.count, sizeof *s->jobs);
    if (!s->jobs)
        return kiln__fail_memory(error);
    status = kiln__recorder_open(engine, s->spec, s->options, &s->sites, &s->recorder, error);
    if (status == KILN_OK)
        status = open_shared(s, error);
    if (status == KILN_OK)
        status = start_crew(s, error);
    if (status == KILN_OK)
        s->flying_count = s->crew ? s->sites.count : 1;
    return status;
}

/* Frees the jobs that were not measured. The cache keeps the code of these jobs if it is compiled. If the time limit
 * ended the sweep, the cache also gets the code of the compiles that have begun. So the same command can later continue
 * with this code. After an error or a request to stop, the compiles that have begun are cancelled. */
static void leave_jobs(sweep *s)
{
    const kiln_end end = s->tuning ? s->tuning->totals.end : KILN_END_EARLY;
    for (size_t i = 0; i < s->count; i++) {
        if (end != KILN_END_EARLY) {
            kiln__code_leave(s->jobs[i].code, end == KILN_END_SECONDS);
            s->jobs[i].code = NULL;
        }
        forget(&s->jobs[i]);
    }
}

static void close_sweep(sweep *s)
{
    kiln__crew_close(s->crew); /* closes the runner processes first, so that no process measures any more */
    leave_jobs(s);
    for (size_t i = 0; i < s->flying_count; i++)
        forget(&s->flying[i]);
    kiln__free(s->engine->mem, s->flying);
    kiln__shared_free(s->shared);
    kiln__shared_free(s->small);
    kiln__recorder_free(s->recorder);
    kiln__tune_source_free(s->source);
    kiln__goals_free(s->goals);
    kiln__free(s->engine->mem, s->jobs);
}

/* Runs the sweep. The caller, kiln_tune(), adds the rule that a sweep without any success fails. Sets *tuning at the
 * end, after the finals and the ranking. Also sets *tuning if an error ended the sweep, so that the caller gets the
 * samples made so far. In that case too, ranking, front and store are finished, but there are no finals. If the sweep
 * or its runner processes could not be opened, *tuning stays unset. */
kiln_status kiln__tune(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *given, kiln_tuning **tuning,
                       kiln_error **error)
{
    kiln_tune_options options;
    sweep s = {.engine = engine, .spec = spec, .options = &options, .start = kiln__now_ns()};
    KILN__TRY(kiln__tune_take(engine->mem, "kiln_tune", given, &options, &s.run, error));
    s.run.sample_timeout = options.sample_timeout != 0 ? options.sample_timeout : s.run.sample_timeout;
    options.sample_timeout = s.run.sample_timeout;
    KILN__TRY(kiln__split_check(engine, spec, &options, error));
    /* Writes the sizes into the options, because the devices of other processes and of models may have other
     * defaults. */
    KILN__TRY(kiln__engine_device(engine, error));
    if (!options.size_set)
        options.size_set = kiln__config_size_set(engine, spec, NULL)->name;
    s.repeatable = options.flags & KILN_TUNE_REPEATABLE;
    if (s.repeatable && options.device_count > 1)
        return kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED,
                          "a repeatable search measures on one device, not on %zu", options.device_count);
    s.budget = (kiln__budget){.options = &options, .start = s.start};
    kiln_status status = open_sweep(&s, error);
    bool begun = status == KILN_OK;
    if (begun) {
        status = run_sweep(&s, error);
        begun = !s.unopened;
    }
    if (begun) {
        s.tuning->totals.end = status == KILN_OK ? s.budget.end : KILN_END_EARLY;
        s.tuning->totals.seconds = kiln__seconds_since(s.start);
        if (status == KILN_OK)
            status = hold_finals(&s, error);
        else
            s.tuning->verdict.why_not = "the sweep ended early";
        kiln__tuning_warn(s.tuning, spec->name, &engine->log);
        if (s.refused)
            kiln__logf(&engine->log, KILN_LOG_INFO,
                       "%s: %llu configurations were not compiled, because the device has no room for their blocks",
                       spec->name, (unsigned long long)s.refused);
        kiln__tuning_rank(s.tuning);
        if (!kiln__goals_front(s.goals, s.tuning) && status == KILN_OK)
            status = kiln__fail_memory(error);
        kiln__recorder_finish(s.recorder, status == KILN_OK);
        *tuning = s.tuning;
    }
    close_sweep(&s);
    if (!begun)
        kiln_tuning_free(s.tuning);
    return status;
}

/* If all samples failed with the same status, fails with this status. If their statuses differ, the function does not
 * fail, because the samples tell the different reasons. */
static kiln_status check_one_worked(const kiln_engine *engine, const kiln_tuning *tuning, kiln_error **error)
{
    const size_t count = kiln_tuning_count(tuning);
    const kiln_sample *first = kiln_tuning_sample(tuning, 0);
    for (size_t i = 0; i < count; i++)
        if (first->status == KILN_OK || kiln_tuning_sample(tuning, i)->status != first->status)
            return KILN_OK;
    if (count == 0)
        return KILN_OK;
    if (count == 1)
        return kiln__fail(engine->mem, error, first->status, "the only configuration of the sweep failed: %s",
                          first->message);
    return kiln__fail(engine->mem, error, first->status,
                      "all %zu configurations of the sweep failed for one reason (%s); the first: %s", count,
                      kiln_status_text(first->status), first->message);
}

kiln_status kiln_tune(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                      kiln_tuning **tuning, kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, spec);
    KILN__NEEDS(engine->mem, error, tuning);
    KILN__TRY(kiln__tune(engine, spec, options, tuning, error));
    return check_one_worked(engine, *tuning, error);
}
