/* isolate.c - measuring in another process, from the sweep's side: starting it, time limits, its end, its successor. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tune/runner.h"

#define READY_SECONDS 120    /* opening a device of a host with many of them takes a while */
#define PREPARE_SECONDS 3600 /* inputs and expected answers, which large problems compute on the host */
#define TICK_NS 100000000u

/* How long a sample may take from its first launch on, where the caller does not say: before anything has worked, and
 * from then on, when it is known what working takes. The simulated device interprets, and may be slow. */
#define FIRST_GPU 60.0
#define FIRST_SIMULATED 600.0
#define AFTER_FLOOR 5.0
#define AFTER_TIMES 50.0

struct kiln__runner {
    kiln_engine *engine;
    const kiln_spec *spec;
    const kiln_tune_options *options;
    kiln__child child;
    kiln__text opening;      /* the message that every process is opened with */
    double shortest;         /* seconds of the fastest good sample so far, from its first launch on; negative: none */
};

/* ---- what can be moved to another process ---- */

static kiln_status check_possible(const kiln_engine *engine, const kiln_run_options *run, kiln_error **error)
{
    if (!engine->owns_context)
        return kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED,
                          "a sweep on the caller's own context cannot measure in another process");
    if (engine->host_count > kiln__builtin_host_count)
        return kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED, "a sweep of an engine with host functions of its "
                          "own ('%s') cannot measure in another process", engine->hosts[kiln__builtin_host_count].name);
    if (run->output_count > 0 || run->flags & KILN_RUN_CHECK)
        return kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED, "a sweep that writes outputs or looks for faults "
                          "cannot measure in another process");
    if (!engine->worker)
        return kiln__fail(engine->mem, error, KILN_ERROR_NOT_FOUND, "measuring in another process takes the program "
                          "kiln-worker, which %s", engine->flags & KILN_NO_WORKERS
                          ? "this engine was told not to use" : "was not found; set KILN_WORKER to its path");
    return KILN_OK;
}

/* ---- the process ---- */

static kiln_status make_opening(kiln__runner *r, kiln_error **error)
{
    const kiln_engine *engine = r->engine;
    kiln__text path = {.mem = engine->mem};
    for (size_t i = 0; i < engine->search_count; i++)
        kiln__text_printf(&path, "%s%s", i ? ":" : "", engine->search_path[i]);
    kiln__runner_setup setup = {
        .version = KILN_VERSION,
        .device = engine->device_given ? engine->device_given : engine->info.id,
        .flags = (engine->flags & KILN_READ_ANYWHERE) | KILN_NO_CACHE | KILN_NO_WORKERS, /* it compiles nothing */
        .memory_limit = engine->memory_limit,
        .search_path = kiln__text_get(&path),
        .name = r->spec->file.name,
        .text = r->spec->file.text,
        .text_length = r->spec->file.length,
        .choice = {.size_set = r->options->size_set, .sizes = r->options->sizes, .size_count = r->options->size_count},
        .run = r->options->run,
    };
    kiln__runner_write_open(&r->opening, &setup);
    bool failed = path.failed || r->opening.failed;
    kiln__text_free(&path);
    return failed ? kiln__fail_memory(error) : KILN_OK;
}

/* Why no runner could be started. */
static kiln_status explain_start(kiln__runner *r, kiln__io what, kiln_error **error)
{
    const kiln_allocator *mem = r->engine->mem;
    char how[256];
    if (what == KILN__IO_MEMORY) {
        kiln__child_end(&r->child);
        return kiln__fail_memory(error);
    }
    if (what == KILN__IO_CLOSED) {
        kiln__child_describe(kiln__child_end_closed(&r->child), how, sizeof how);
        return kiln__fail(mem, error, KILN_ERROR_IO, "the runner %s ended at once: %s", r->engine->worker, how);
    }
    kiln__child_end(&r->child);
    return kiln__fail(mem, error, KILN_ERROR_IO, "the runner %s does not answer as one; is it the kiln-worker of this "
                      "version?", r->engine->worker);
}

static kiln_status start(kiln__runner *r, kiln_error **error)
{
    const kiln_allocator *mem = r->engine->mem;
    char parent[32], *body = NULL;
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    const char *arguments[] = {r->engine->worker, "--parent", parent, "--run", "1", NULL};
    int failed = kiln__child_start(&r->child, arguments);
    if (failed)
        return kiln__fail(mem, error, KILN_ERROR_IO, "the runner %s cannot be started: %s", r->engine->worker,
                          strerror(failed));
    uint32_t kind = 0;
    size_t length = 0;
    kiln_status its = KILN_OK, status = KILN_OK;
    const char *why = "";
    uint64_t deadline = kiln__deadline_in(READY_SECONDS);
    kiln__io io = kiln__child_send(&r->child, &r->opening, deadline);
    if (io == KILN__IO_DONE)
        io = kiln__child_receive(&r->child, mem, deadline, &kind, &body, &length);
    if (io == KILN__IO_DONE && (kind != KILN__RUNNER_READY || !kiln__runner_read_ready(body, length, &its, &why)))
        io = KILN__IO_MALFORMED;
    if (io != KILN__IO_DONE) {
        status = explain_start(r, io, error);
    } else if (its != KILN_OK) {
        kiln__child_end(&r->child);
        status = kiln__fail(mem, error, its, "the runner %s: %s", r->engine->worker, why);
    } else {
        kiln__logf(&r->engine->log, KILN_LOG_DEBUG, "samples are measured in process %ld", (long)r->child.pid);
    }
    kiln__free(mem, body);
    return status;
}

kiln_status kiln__runner_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                              kiln__runner **runner, kiln_error **error)
{
    kiln_status status = check_possible(engine, &options->run, error);
    if (status != KILN_OK)
        return status;
    kiln__runner *r = kiln__calloc(engine->mem, 1, sizeof *r);
    if (!r)
        return kiln__fail_memory(error);
    *r = (kiln__runner){.engine = engine, .spec = spec, .options = options, .shortest = -1,
                        .child = {.socket = -1, .pidfd = -1, .wake = -1}, .opening = {.mem = engine->mem}};
    status = make_opening(r, error);
    if (status == KILN_OK)
        status = start(r, error);
    if (status != KILN_OK) {
        kiln__runner_close(r);
        return status;
    }
    *runner = r;
    return KILN_OK;
}

void kiln__runner_close(kiln__runner *r)
{
    if (!r)
        return;
    kiln__child_end(&r->child);
    kiln__text_free(&r->opening);
    kiln__free(r->engine->mem, r);
}

/* ---- a sample ---- */

static double time_limit(const kiln__runner *r)
{
    const kiln_run_options *run = &r->options->run;
    if (r->options->sample_timeout > 0)
        return r->options->sample_timeout;
    bool simulated = r->engine->info.simulated;
    double budget = run->budget > 0 ? run->budget : simulated ? 0 : 1;
    double first = simulated ? FIRST_SIMULATED : FIRST_GPU, after = AFTER_FLOOR + AFTER_TIMES * r->shortest;
    return 2 * budget + (r->shortest >= 0 && after < first ? after : first);
}

typedef struct turn { /* one attempt at a sample */
    kiln__io io;             /* how it ended; IO_DONE: with `answer`, which points into `body` */
    bool launching;          /* its launches began */
    double limit, seconds;   /* from there on */
    char *body;
    kiln__runner_answer answer;
} turn;

/* Waits for the next message, asking `tick` meanwhile. */
static kiln__io next(kiln__runner *r, uint64_t deadline, bool (*tick)(void *user), void *user, uint32_t *kind,
                     char **body, size_t *length)
{
    for (;;) {
        uint64_t now = kiln__now_ns(), until = now + TICK_NS;
        kiln__io io = kiln__child_await(&r->child, deadline && deadline < until ? deadline : until);
        if (io == KILN__IO_DONE)
            return kiln__child_receive(&r->child, r->engine->mem, deadline, kind, body, length);
        if (io != KILN__IO_LATE || (deadline && kiln__now_ns() >= deadline))
            return io;
        if (!tick(user))
            return KILN__IO_STOPPED;
    }
}

static void attempt(kiln__runner *r, const kiln__text *message, bool (*tick)(void *user), void *user, turn *t)
{
    uint64_t deadline = kiln__deadline_in(PREPARE_SECONDS), begun = 0;
    *t = (turn){.limit = PREPARE_SECONDS};
    t->io = kiln__child_send(&r->child, message, deadline);
    while (t->io == KILN__IO_DONE) {
        uint32_t kind = 0;
        size_t length = 0;
        t->io = next(r, deadline, tick, user, &kind, &t->body, &length);
        if (t->io != KILN__IO_DONE)
            return;
        if (kind == KILN__RUNNER_LAUNCHING && !t->launching && length == 0) {
            t->launching = true;
            t->limit = time_limit(r);
            begun = kiln__now_ns();
            deadline = kiln__deadline_in(t->limit);
            kiln__free(r->engine->mem, t->body);
            t->body = NULL;
            continue;
        }
        if (kind != KILN__RUNNER_RESULT || !kiln__runner_read_result(t->body, length, &t->answer))
            t->io = KILN__IO_MALFORMED;
        t->seconds = t->launching ? (double)(kiln__now_ns() - begun) * 1e-9 : 0;
        return;
    }
}

/* The process is of no more use; what that means for the sample. A first end of its own asks for another try. */
static kiln_status explain_end(kiln__runner *r, const turn *t, bool again, bool *ends, kiln_error **error)
{
    const kiln_allocator *mem = r->engine->mem;
    char how[256];
    if (t->io == KILN__IO_CLOSED) {
        kiln__child_describe(kiln__child_end_closed(&r->child), how, sizeof how);
        if (!again)
            kiln__logf(&r->engine->log, KILN_LOG_WARNING, "the process that measured ended, and the configuration is "
                                                          "tried once more: %s", how);
        return kiln__fail(mem, error, KILN_ERROR_DEVICE, "the process that measured this configuration ended, and so "
                          "did another one: %s", how);
    }
    kiln__child_end(&r->child);
    if (t->io == KILN__IO_LATE)
        return kiln__fail(mem, error, KILN_ERROR_TIMEOUT, "%s took longer than the limit of %g s, and the process was "
                          "ended", t->launching ? "running it" : "making inputs and expected answers", t->limit);
    if (t->io == KILN__IO_MALFORMED)
        return kiln__fail(mem, error, KILN_ERROR_INTERNAL, "the process that measured this configuration answered with "
                          "something else than a result");
    *ends = true;
    return t->io == KILN__IO_STOPPED ? kiln__fail(mem, error, KILN_ERROR_INTERRUPTED, "the sample was stopped")
                                     : kiln__fail_memory(error);
}

static kiln_status take(kiln__runner *r, const turn *t, kiln__recorder *recorder, kiln_result *result,
                        kiln_error **error)
{
    const kiln__runner_answer *answer = &t->answer;
    /* After a fault its context is lost; a process without memory or without its device can do nothing more. Where the
     * device is gone for good, the next process says so, and the sweep ends. */
    if (answer->lost || answer->status == KILN_ERROR_MEMORY || answer->status == KILN_ERROR_NO_DEVICE)
        kiln__child_end(&r->child);
    if (answer->status != KILN_OK)
        return kiln__fail_cuda(r->engine->mem, error, answer->status, answer->cuda, "%s", answer->why);
    if (t->launching && (r->shortest < 0 || t->seconds < r->shortest))
        r->shortest = t->seconds;
    *result = answer->result;
    kiln__recorder_times(recorder, answer->times, answer->time_count);
    return KILN_OK;
}

kiln_status kiln__runner_run(kiln__runner *r, const kiln_sample *sample, const kiln__trial *trial,
                             const kiln__code *code, bool (*tick)(void *user), void *user, kiln__recorder *recorder,
                             kiln_result *result, bool *ends, kiln_error **error)
{
    const kiln_allocator *mem = r->engine->mem;
    kiln__text message = {.mem = mem};
    kiln__runner_request request = {.variant = sample->variant, .params = sample->params,
                                    .param_count = sample->param_count, .trial = *trial, .unit = code->unit};
    kiln__runner_write_run(&message, &request);
    *ends = message.failed;
    kiln_status status = message.failed ? kiln__fail_memory(error) : KILN_OK;
    bool done = message.failed;
    for (unsigned tries = 0; !done; tries++) {
        if (r->child.socket >= 0 && kiln__child_is_gone(&r->child)) { /* between two samples: no fault of this one */
            kiln__logf(&r->engine->log, KILN_LOG_INFO, "the process that measures ended while it was idle");
            kiln__child_end(&r->child);
        }
        if (r->child.socket < 0)
            status = start(r, error);
        if (status != KILN_OK) {
            *ends = true;
            break;
        }
        turn t;
        attempt(r, &message, tick, user, &t);
        done = t.io != KILN__IO_CLOSED || tries > 0;
        kiln_error *why = NULL;
        if (t.io == KILN__IO_DONE)
            status = take(r, &t, recorder, result, &why);
        else
            status = explain_end(r, &t, tries > 0, ends, &why);
        if (done && error && !*error)
            *error = why;
        else
            kiln_error_free(why);
        if (!done)
            status = KILN_OK;
        kiln__free(mem, t.body);
    }
    kiln__text_free(&message);
    return status;
}
