/* crew.c - the runner processes that measure for a sweep, one for each of its devices. */
#include <unistd.h>

#include "config.h"
#include "crew_internal.h"
#include "isolate_internal.h"
#include "record_internal.h"
#include "sites_internal.h"
#include "trial_internal.h"

#define TICK_SECONDS 0.1

struct kiln__crew {
    kiln_engine *engine;
    /* the compiler whose waiting compiles kiln__crew_alone() holds back; NULL means that none is held back */
    kiln__compiler *held;
    size_t count;
    kiln__runner **runners;
    const kiln__sites *sites;
    struct pollfd *fds; /* memory for the descriptors of all runners and one more descriptor */
};

/* ---- all runners together ---- */

/* Handles a runner that cannot open its device. If the runner is on another rank, the sweep continues without it. If
 * the runner is on this machine, the sweep fails. */
static kiln_status leave_out(kiln__crew *crew, size_t index, kiln_status status, kiln_error *why, kiln_error **error)
{
    const kiln__site *site = &crew->sites->items[index];
    if (!site->place || status == KILN_ERROR_MEMORY) {
        if (error && !*error)
            *error = why;
        else
            kiln_error_free(why);
        return status;
    }
    kiln__logf(&crew->engine->log, KILN_LOG_WARNING, "%s does not measure: %s", site->label, kiln_error_message(why));
    kiln_error_free(why);
    kiln__crew_let_go(crew, index);
    return KILN_OK;
}

kiln_status kiln__crew_greet(kiln__crew *crew, bool *ready, kiln_error **error)
{
    size_t greeted = 0;
    for (size_t i = 0; i < crew->count; i++) {
        kiln_error *why = NULL;
        bool ends;
        if (crew->runners[i] && kiln__runner_step(crew->runners[i])) {
            /* no sample runs yet, so a failure means that opening the device has failed */
            kiln_status status = kiln__runner_take(crew->runners[i], NULL, NULL, &ends, &why);
            KILN__TRY(leave_out(crew, i, status, why, error));
        }
        greeted += !crew->runners[i] || kiln__runner_is_idle(crew->runners[i]);
    }
    *ready = greeted == crew->count;
    return KILN_OK;
}

kiln_status kiln__crew_start(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                             const kiln__sites *sites, kiln__crew **result, kiln_error **error)
{
    kiln__crew *crew = kiln__calloc(engine->mem, 1, sizeof *crew);
    if (!crew)
        return kiln__fail_memory(error);
    crew->engine = engine;
    crew->sites = sites;
    crew->count = sites->count;
    crew->runners = kiln__calloc(engine->mem, crew->count, sizeof(kiln__runner *));
    crew->fds = kiln__calloc(engine->mem, crew->count + 1, sizeof *crew->fds);
    kiln_status status = !crew->runners || !crew->fds ? kiln__fail_memory(error) : KILN_OK;
    for (size_t i = 0; i < crew->count && status == KILN_OK; i++)
        status = kiln__runner_open(engine, spec, options, &sites->items[i], &crew->runners[i], error);
    for (size_t i = 0; i < crew->count && status == KILN_OK; i++)
        kiln__runner_step(crew->runners[i]); /* sends the opening message; kiln__crew_greet() reports a failure */
    if (status != KILN_OK) {
        kiln__crew_close(crew);
        return status;
    }
    *result = crew;
    return KILN_OK;
}

void kiln__crew_close(kiln__crew *crew)
{
    if (!crew)
        return;
    for (size_t i = 0; i < crew->count && crew->runners; i++)
        kiln__runner_close(crew->runners[i]);
    if (crew->held)
        kiln__compiler_release(crew->held);
    kiln__free(crew->engine->mem, crew->runners);
    kiln__free(crew->engine->mem, crew->fds);
    kiln__free(crew->engine->mem, crew);
}

size_t kiln__crew_count(const kiln__crew *crew) { return crew->count; }

kiln__runner *kiln__crew_runner(const kiln__crew *crew, size_t index) { return crew->runners[index]; }

void kiln__crew_let_go(kiln__crew *crew, size_t index)
{
    kiln__runner_close(crew->runners[index]);
    crew->runners[index] = NULL;
}

void kiln__crew_wait(const kiln__crew *crew, bool compiles, double seconds)
{
    uint64_t now = kiln__now_ns(), until = now + (uint64_t)(seconds * 1e9), rung;
    int ended = compiles && crew->engine->compiler ? kiln__compiler_ended(crew->engine->compiler) : -1;
    for (size_t i = 0; i < crew->count; i++) {
        crew->fds[i] = (struct pollfd){.fd = -1};
        uint64_t deadline = crew->runners[i] ? kiln__runner_watch(crew->runners[i], &crew->fds[i]) : 0;
        if (deadline && deadline < until)
            until = deadline;
    }
    crew->fds[crew->count] = (struct pollfd){.fd = ended, .events = POLLIN};
    int limit = until <= now ? 0 : (int)((until - now + 999999) / 1000000);
    /* the result of poll() does not matter, because the sweep steps all runners afterwards */
    poll(crew->fds, crew->count + 1, limit);
    if (ended >= 0 && read(ended, &rung, sizeof rung) != sizeof rung)
        rung = 0; /* no compile has ended */
}

bool kiln__crew_alone(kiln__crew *crew)
{
    kiln__runner *next = NULL;
    size_t at_work = 0, retried = 0;
    for (size_t i = 0; i < crew->count; i++) {
        kiln__runner *runner = crew->runners[i];
        if (!runner || kiln__runner_is_idle(runner))
            continue;
        retried += kiln__runner_retries(runner);
        if (!kiln__runner_waits(runner))
            at_work++;
        else if (!next)
            next = runner;
    }
    kiln__compiler *compiler = retried ? crew->engine->compiler : NULL;
    if (compiler != crew->held) {
        if (crew->held)
            kiln__compiler_release(crew->held);
        if (compiler)
            kiln__compiler_hold(compiler);
        crew->held = compiler;
    }
    if (next && at_work == 0 && (!compiler || kiln__compiler_is_quiet(compiler)))
        kiln__runner_retry(next);
    return retried > 0;
}

kiln_status kiln__crew_run(kiln__crew *crew, size_t index, const kiln_sample *sample, const kiln__trial *trial,
                           const kiln__code *code, bool (*tick)(void *user), void *user, kiln__recorder *recorder,
                           kiln_result *result, bool *ends, kiln_error **error)
{
    kiln__runner *runner = crew->runners[index];
    *ends = true;
    kiln_status status = kiln__runner_begin(runner, sample, trial, code, NULL, error);
    if (status != KILN_OK)
        return status;
    for (uint64_t ticked = kiln__now_ns(); !kiln__runner_step(runner);) {
        kiln__crew_alone(crew);
        kiln__crew_wait(crew, true, TICK_SECONDS);
        if (kiln__seconds_since(ticked) < TICK_SECONDS)
            continue;
        ticked = kiln__now_ns();
        if (!tick(user))
            kiln__runner_stop(runner);
    }
    status = kiln__runner_take(runner, recorder, result, ends, error);
    kiln__crew_alone(crew); /* the sample has ended, so the other runners may measure again */
    return status;
}
