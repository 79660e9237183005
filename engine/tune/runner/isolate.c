/* isolate.c - the sweep's side of measuring in another process: starts, limits, ends and replaces the process. No
 * function in this file waits, so that one thread can serve several processes (crew.c).
 *
 * A runner has these states. For each event in a state, the arrow shows the next state:
 *   OFF        kiln__runner_begin()                   -> OPENING
 *   OPENING    READY message, no sample requested     -> READY
 *              READY message, a sample is requested   -> PREPARING
 *              READY message with an error            -> ENDED
 *   READY      kiln__runner_begin()                   -> PREPARING, or OPENING if the process ended while idle
 *   PREPARING  KEEP message, before any launch        -> PREPARING
 *   PREPARING  LAUNCHING message                      -> LAUNCHED
 *              WAITING or FINDING message -> PREPARING; a WAITING message also suspends or restarts the deadline
 *   LAUNCHED   LAUNCHING message, once, for a sample of two sizes; FINDING message -> LAUNCHED
 *   PREPARING, LAUNCHED
 *              RESULT message                         -> ENDED
 *              RESULT message with a fault of an estimate that ran only some blocks -> OPENING, to run all blocks, once
 *   OPENING, PREPARING, LAUNCHED (lose)
 *              the process ended for the first time in a requested sample, and OPENING succeeded once -> WAITING
 *              any other end of the process, an invalid message, or a passed deadline -> ENDED
 *   WAITING    kiln__runner_retry()                   -> OPENING
 *   ENDED      kiln__runner_take()                    -> READY if the process is there, otherwise OFF
 *
 * kiln__runner_open() enters OPENING. kiln__runner_stop() enters ENDED from any state. A process that cannot be started
 * enters ENDED instead of OPENING. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "isolate_internal.h"
#include "protocol_internal.h"
#include "record_internal.h"
#include "sites_internal.h"
#include "trial_internal.h"

#define READY_SECONDS 120    /* the time limit for opening a device, which takes long on a host with many devices */
#define PREPARE_SECONDS 3600 /* the time limit for computing inputs and expected answers on the host */

/* The default time limit of a sample, counted from its first launch (time_limit). The limit is FIRST seconds until one
 * sample was right. Then the limit is AFTER_FLOOR seconds plus AFTER_TIMES the shortest time so far. */
#define FIRST 60.0
/* seconds in which the simulated device can end a kernel itself, and report the position in the kernel */
#define GRACE 5.0
#define AFTER_FLOOR 5.0
#define AFTER_TIMES 50.0

typedef enum runner_state {
    OFF,       /* there is no process */
    OPENING,   /* the process is started and is sent the opening message */
    READY,     /* the process waits for a request */
    PREPARING, /* the process gets a request, waits for the device, or makes inputs and expected answers */
    LAUNCHED,  /* kernels run, and the time limit of the sample counts */
    WAITING,   /* the process ended; the sample will be retried when nothing else runs */
    ENDED      /* the caller can take the outcome of the sample */
} runner_state;

struct kiln__runner {
    kiln_engine *engine;
    const kiln_spec *spec;
    const kiln_tune_options *options;
    const char *device, *label;
    kiln__child child;
    runner_state state;
    kiln__text opening; /* the message that every process gets first */
    kiln__text request; /* the message that requests the running sample; empty means that no sample runs */
    size_t sent;        /* how many bytes of the current message are sent */
    kiln__incoming in;  /* the answer */
    bool worked;        /* OPENING succeeded once, in this process or in an earlier process */
    bool told;          /* the log has the message that this process waits for another process */
    bool waits;         /* the process now waits for another process that measures */
    bool ran;           /* the process has launched a kernel */
    bool enough;        /* the caller wants no more findings about this sample */
    bool judged;        /* the log has the protections that are missing in its sandbox */
    bool whole;         /* the sample is tried again, and all blocks of its kernels run */
    unsigned launches;  /* the number of LAUNCHING messages for the current sample */
    unsigned tries;     /* the number of tries of the current sample in which the process ended */
    uint64_t deadline, begun;
    double limit; /* the time limit in seconds from which the deadline was computed */
    /* The seconds of the fastest sample that was launched and right, counted from its first launch. A negative value
     * means that there is no such sample yet. */
    double shortest;
    /* the outcome */
    kiln_status status;
    kiln_error *why;
    bool ends; /* the sample did not cause the failure, so the device can no longer measure */
    /* the result of the sample if the status is KILN_OK; points into the body of the message */
    kiln__runner_answer answer;
};

/* ---- checking whether another process can measure ---- */

static kiln_status check_possible(kiln_engine *engine, const kiln_run_options *run, kiln_error **error)
{
    if (!engine->owns_context)
        return kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED,
                          "a sweep with the caller's own context cannot measure in another process");
    const char *own = kiln__engine_own_host(engine);
    if (own)
        return kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED,
                          "a sweep of an engine with host functions of its "
                          "own ('%s') cannot measure in another process",
                          own);
    if (run->output_count > 0)
        return kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED,
                          "a sweep that writes outputs cannot measure in another process");
    if (!engine->worker)
        return kiln__fail(engine->mem, error, KILN_ERROR_NOT_FOUND,
                          "measuring in another process needs the program "
                          "kiln-worker, which %s",
                          engine->flags & KILN_NO_WORKERS ? "this engine does not use (KILN_NO_WORKERS)"
                                                          : "was not found; set KILN_WORKER to its path");
    return KILN_OK;
}

/* ---- starting the process ---- */

static kiln_status make_opening(kiln__runner *r, kiln_error **error)
{
    const kiln_engine *engine = r->engine;
    kiln__text path = {.mem = engine->mem};
    for (size_t i = 0; i < engine->search_count; i++)
        kiln__text_printf(&path, "%s%s", i ? ":" : "", engine->search_path[i]);
    kiln__runner_setup setup = {
        .version = KILN_VERSION,
        .device = r->device,
        .flags = (engine->flags & (KILN_READ_ANYWHERE | KILN_ALLOW_COMMANDS | KILN_SANDBOX | KILN_SANDBOX_REQUIRED)) |
                 KILN_NO_CACHE | KILN_NO_WORKERS, /* the process compiles only the variants that are references */
        .memory_limit = engine->memory_limit,
        .near = engine->ranks || r->options->device_count > 1,
        .search_path = kiln__text_get(&path),
        .references = kiln__engine_references(r->engine) ? engine->references_dir : "",
        .name = r->spec->file.name,
        .text = r->spec->file.text,
        .text_length = r->spec->file.length,
        .choice = {.size_set = r->options->size_set, .sizes = r->options->sizes, .size_count = r->options->size_count},
        .smaller = r->options->verify_size_set ? r->options->verify_size_set : "",
        .run = *kiln__tune_run(r->options),
    };
    kiln__runner_write_open(&r->opening, &setup);
    bool failed = path.failed || r->opening.failed;
    kiln__text_free(&path);
    return failed ? kiln__fail_memory(error) : KILN_OK;
}

static void conclude(kiln__runner *r, kiln_status status, bool ends)
{
    r->status = status;
    r->ends = ends;
    r->state = ENDED;
}

static void forget_answer(kiln__runner *r)
{
    kiln__free(r->engine->mem, r->in.body);
    r->in = (kiln__incoming){0};
}

/* Begins to send a message. The state `state` waits for the answer to this message. */
static void post(kiln__runner *r, runner_state state, double limit)
{
    forget_answer(r);
    r->sent = 0;
    r->launches = 0;
    r->state = state;
    r->limit = limit;
    r->deadline = kiln__deadline_in(limit);
}

static void start(kiln__runner *r)
{
    char parent[32];
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    const char *arguments[] = {r->engine->worker, "--parent", parent, "--run", "1", NULL};
    int failed = kiln__child_start(&r->child, arguments);
    r->ran = false;
    if (!failed)
        post(r, OPENING, READY_SECONDS);
    else
        conclude(r,
                 kiln__fail(r->engine->mem, &r->why, KILN_ERROR_IO, "cannot start the runner %s%s%s: %s",
                            r->engine->worker, r->child.place ? " on " : "", r->child.place ? r->child.place->name : "",
                            kiln__error_text(failed)),
                 true);
}

kiln_status kiln__runner_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                              const kiln__site *site, kiln__runner **runner, kiln_error **error)
{
    kiln_status status = check_possible(engine, kiln__tune_run(options), error);
    if (status != KILN_OK)
        return status;
    kiln__runner *r = kiln__calloc(engine->mem, 1, sizeof *r);
    if (!r)
        return kiln__fail_memory(error);
    *r = (kiln__runner){.engine = engine,
                        .spec = spec,
                        .options = options,
                        .device = site->device,
                        .label = site->label,
                        .shortest = -1,
                        .child = {.socket = -1,
                                  .pidfd = -1,
                                  .wake = -1,
                                  .place = site->place,
                                  /* the process itself prints the output of kernels */
                                  .shows = engine->info.simulated},
                        .opening = {.mem = engine->mem},
                        .request = {.mem = engine->mem}};
    status = make_opening(r, error);
    if (status != KILN_OK) {
        kiln__runner_close(r);
        return status;
    }
    start(r);
    *runner = r;
    return KILN_OK;
}

void kiln__runner_close(kiln__runner *r)
{
    if (!r)
        return;
    kiln__child_end(&r->child);
    kiln_error_free(r->why);
    forget_answer(r);
    kiln__text_free(&r->opening);
    kiln__text_free(&r->request);
    kiln__free(r->engine->mem, r);
}

/* ---- the end of a process ---- */

/* Makes the error for a runner that could not be started. */
static kiln_status explain_start(kiln__runner *r, kiln__io what, const char *how)
{
    const kiln_allocator *mem = r->engine->mem;
    const char *worker = r->engine->worker;
    switch (what) {
    case KILN__IO_MEMORY: return kiln__fail_memory(&r->why);
    case KILN__IO_CLOSED:
        return kiln__fail(mem, &r->why, KILN_ERROR_IO, "the runner %s ended at once: %s", worker, how);
    case KILN__IO_LATE:
        return kiln__fail(mem, &r->why, KILN_ERROR_TIMEOUT,
                          "the runner %s did not open its device within %g s, and was ended", worker, r->limit);
    default:
        return kiln__fail(mem, &r->why, KILN_ERROR_IO,
                          "the runner %s sent an invalid answer; is it the kiln-worker of "
                          "this version?",
                          worker);
    }
}

/* Makes the error of a sample whose process ended or must be ended. */
static kiln_status explain_end(kiln__runner *r, kiln__io what, const char *how, runner_state state)
{
    const kiln_allocator *mem = r->engine->mem;
    switch (what) {
    case KILN__IO_MEMORY: return kiln__fail_memory(&r->why);
    case KILN__IO_CLOSED:
        return kiln__fail(mem, &r->why, KILN_ERROR_DEVICE,
                          "the process that measured this configuration ended, and so did a second process, although "
                          "no other work was running: %s",
                          how);
    case KILN__IO_LATE:
        return kiln__fail(mem, &r->why, KILN_ERROR_TIMEOUT,
                          "%s took longer than the limit of %g s, and the process was "
                          "ended",
                          state == LAUNCHED ? "running it" : "making inputs and expected answers", r->limit);
    default:
        return kiln__fail(mem, &r->why, KILN_ERROR_INTERNAL,
                          "the process that measured this configuration sent an "
                          "invalid answer");
    }
}

/* Handles a process that ended, sent an invalid message or passed its deadline. Ends the process, and decides whether
 * the sample is retried or fails. If the process ended during a requested sample and OPENING succeeded once, the sample
 * is retried once. The system may have killed the process for lack of memory, and another process may have used that
 * memory. Therefore the retry runs while nothing else is at work. In all other cases the sample ends with an error. If
 * no process could be opened, if the machine of the process is lost, or if memory is exhausted, the sweep also gives up
 * the device. */
static void lose(kiln__runner *r, kiln__io what)
{
    runner_state state = r->state;
    char how[256] = "";
    if (what == KILN__IO_CLOSED)
        kiln__child_describe(kiln__child_end_closed(&r->child), how, sizeof how);
    else
        kiln__child_end(&r->child);
    if (what == KILN__IO_CLOSED && kiln__child_place_gone(&r->child)) {
        conclude(r, kiln__fail(r->engine->mem, &r->why, KILN_ERROR_DEVICE, "%s is gone", r->child.place->name), true);
    } else if (what == KILN__IO_CLOSED && r->request.length > 0 && r->worked && r->tries++ == 0) {
        kiln__logf(
            &r->engine->log, KILN_LOG_WARNING,
            "the process that measured ended; retrying the configuration once, while nothing else is measured or "
            "compiled: %s",
            how);
        r->state = WAITING;
    } else if (state == OPENING) {
        conclude(r, explain_start(r, what, how), true);
    } else {
        conclude(r, explain_end(r, what, how, state), what == KILN__IO_MEMORY);
    }
}

/* ---- running a sample ---- */

/* Returns the seconds that a sample may take, counted from its first launch. 0 means no limit. If no option sets the
 * limit, it is twice the measuring budget plus FIRST seconds. On a GPU it is less if `max_seconds` is shorter. After
 * one right sample, the limit follows the shortest time, so that the sweep finds a hang sooner. */
static double time_limit(const kiln__runner *r)
{
    const kiln_run_options *run = kiln__tune_run(r->options);
    if (r->options->sample_timeout != 0)
        return r->options->sample_timeout > 0 ? r->options->sample_timeout : 0;
    bool simulated = r->engine->info.simulated;
    double budget = run->budget > 0 ? run->budget : simulated ? 0 : 1;
    /* A sweep of a few seconds must not wait a minute for a kernel that hangs. The next sweep tries this kernel again.
     * This does not apply to a simulated kernel, which is slow for other reasons. */
    const double most = r->options->max_seconds;
    const double first = simulated || !(most > 0) || most > FIRST ? FIRST : most > AFTER_FLOOR ? most : AFTER_FLOOR;
    double after = AFTER_FLOOR + AFTER_TIMES * r->shortest;
    return 2 * budget + (r->shortest >= 0 && after < first ? after : first);
}

/* Tells whether a run may run only a few blocks of each kernel. An estimate runs only a few blocks if nobody looks at
 * the results. A kernel may then fault because an earlier kernel wrote only a part of its addresses. So if such a run
 * ends its process with a device error, another process runs the sample again with all blocks. */
static bool is_of_parts(const kiln__runner *r)
{
    const kiln__simulator *simulator = r->engine->driver.simulator;
    return simulator && simulator->has_model() &&
           (r->options->verify_size_set || kiln__tune_run(r->options)->flags & KILN_RUN_NO_VERIFY);
}

/* Makes the outcome of the sample from a RESULT message. If `launched` is true, kernels ran, and so `begun` is set.
 * Ends the process if it cannot measure another sample. Keeps the shortest time of a right sample for the function
 * time_limit(). A sample that fails at once does not tell how much time other samples need. */
static void take_answer(kiln__runner *r, bool launched)
{
    const kiln__runner_answer *answer = &r->answer;
    double seconds = launched ? (double)(kiln__now_ns() - r->begun) * 1e-9 : 0;
    if (answer->lost && answer->status == KILN_ERROR_DEVICE && !r->whole && is_of_parts(r)) {
        kiln__child_end(&r->child);
        r->whole = true;
        kiln__runner_mark_whole(&r->request);
        start(r);
        return;
    }
    /* After a fault the context of the process is lost. A process that has no memory or has lost its device cannot
     * continue either. If the device is permanently gone, the next process reports this, and the sweep no longer uses
     * the device. */
    if (answer->lost || answer->status == KILN_ERROR_MEMORY || answer->status == KILN_ERROR_NO_DEVICE)
        kiln__child_end(&r->child);
    if (answer->status != KILN_OK)
        kiln__fail_cuda(r->engine->mem, &r->why, answer->status, answer->cuda, "%s", answer->why);
    if (answer->passing)
        kiln__error_mark_passing(r->why);
    else if (launched && answer->status == KILN_OK && (r->shortest < 0 || seconds < r->shortest))
        r->shortest = seconds;
    conclude(r, answer->status, false);
}

/* Writes a reference to disk that a process in a sandbox sent. Until its first launch, such a process has run no code
 * besides Kiln's. The key of the reference must begin with the hash of this spec. So even if Kiln's code has a flaw,
 * the process can change only the references of this spec. */
static bool keep_reference(kiln__runner *r, size_t length)
{
    kiln__kept_reference kept;
    kiln__text begin = {.mem = r->engine->mem};
    kiln__export *exports = NULL;
    bool whole = false;
    if (!kiln__runner_read_keep(r->in.body, length, &kept))
        return false;
    kiln__reference_begin_key(r->spec, &begin);
    const bool of_spec = !begin.failed && kept.key_length > begin.length &&
                         memcmp(kept.key, begin.data, begin.length) == 0;
    if (of_spec &&
        kiln__exports_unpack(r->engine->mem, kept.list, kept.list_length, kept.data, kept.data_length, &exports,
                             &whole) == KILN_OK &&
        whole)
        kiln__reference_store(r->engine, &kept);
    kiln__exports_free(r->engine->mem, exports);
    kiln__text_free(&begin);
    return of_spec && whole;
}

/* Handles a complete message from the process, by the state machine at the head of this file. Returns
 * KILN__IO_MALFORMED if the state does not allow the message. */
static kiln__io hear(kiln__runner *r)
{
    uint32_t kind = r->in.header.kind;
    size_t length = (size_t)r->in.header.length;
    const char *why = "";
    if (r->state == OPENING) {
        kiln__runner_greeting greeting;
        if (kind != KILN__RUNNER_READY || !kiln__runner_read_ready(r->in.body, length, &greeting))
            return KILN__IO_MALFORMED;
        why = greeting.why;
        if (greeting.status != KILN_OK) {
            kiln__child_end(&r->child);
            conclude(r,
                     kiln__fail(r->engine->mem, &r->why, greeting.status, "the runner %s: %s", r->engine->worker, why),
                     true);
            return KILN__IO_DONE;
        }
        r->worked = true;
        if (greeting.sandbox && !r->judged)
            kiln__sandbox_tell(&r->engine->log, greeting.confined, greeting.how);
        r->judged = true;
        kiln__logf(&r->engine->log, KILN_LOG_DEBUG, "samples are measured in process %ld on %s", (long)r->child.pid,
                   r->device);
        if (*why)
            kiln__logf(&r->engine->log, KILN_LOG_INFO, "the process that measures on %s: %s", r->label, why);
        post(r, r->request.length > 0 ? PREPARING : READY, PREPARE_SECONDS);
        return KILN__IO_DONE;
    }
    if (kind == KILN__RUNNER_WAITING && r->state == PREPARING && kiln__runner_read_waiting(r->in.body, length, &why)) {
        /* a second message with a reason, sent while the process waits, tells why it no longer waits */
        if (*why && (!r->told || r->waits))
            kiln__logf(&r->engine->log, KILN_LOG_WARNING, "%s", why);
        r->told = r->told || *why;
        r->waits = *why;
        /* the measurement of another process has no time limit */
        r->deadline = *why ? 0 : kiln__deadline_in(PREPARE_SECONDS);
        forget_answer(r);
        return KILN__IO_DONE;
    }
    if (kind == KILN__RUNNER_FINDING && (r->state == PREPARING || r->state == LAUNCHED)) {
        const kiln_run_options *run = kiln__tune_run(r->options);
        kiln_check_finding finding;
        if (!(run->flags & KILN_RUN_CHECK) || !kiln__runner_read_finding(r->in.body, length, &finding))
            return KILN__IO_MALFORMED;
        if (run->check && !r->enough)
            r->enough = run->check(run->check_user, &finding) != 0;
        forget_answer(r);
        return KILN__IO_DONE;
    }
    if (kind == KILN__RUNNER_KEEP && r->state == PREPARING && !r->ran) {
        const bool kept = keep_reference(r, length);
        forget_answer(r);
        return kept ? KILN__IO_DONE : KILN__IO_MALFORMED;
    }
    bool again = r->state == LAUNCHED && r->options->verify_size_set && r->launches == 1;
    if (kind == KILN__RUNNER_LAUNCHING && (r->state == PREPARING || again) && length == 0) {
        forget_answer(r);
        r->launches++;
        r->ran = true;
        r->state = LAUNCHED;
        r->limit = time_limit(r);
        r->begun = kiln__now_ns();
        r->deadline = kiln__deadline_in(r->limit > 0 && r->engine->info.simulated ? r->limit + GRACE : r->limit);
        return KILN__IO_DONE;
    }
    if (kind != KILN__RUNNER_RESULT || !kiln__runner_read_result(r->in.body, length, &r->answer))
        return KILN__IO_MALFORMED;
    take_answer(r, r->state == LAUNCHED);
    return KILN__IO_DONE;
}

bool kiln__runner_is_idle(const kiln__runner *r) { return r->state == OFF || r->state == READY; }

bool kiln__runner_waits(const kiln__runner *r) { return r->state == WAITING; }

bool kiln__runner_retries(const kiln__runner *r) { return r->tries > 0 && !kiln__runner_is_idle(r); }

void kiln__runner_retry(kiln__runner *r) { start(r); }

/* Writes the request before it starts a process, so that a new process gets the request after the opening message. The
 * caller makes sure that the runner is idle. */
kiln_status kiln__runner_begin(kiln__runner *r, const kiln_sample *sample, const kiln__trial *trial,
                               const kiln__code *code, const kiln__code *small, kiln_error **error)
{
    kiln__runner_request request = {
        .variant = sample->variant, .params = KILN__PARAMS(sample), .trial = *trial, .unit = code->unit};
    if (small)
        request.small = small->unit;
    r->whole = r->enough = false;
    /* a kernel on a GPU ends only with its process, so the process gets no limit of its own */
    double limit = r->engine->info.simulated ? time_limit(r) : 0;
    request.trial.timeout = limit > 0 ? limit : -1;
    kiln__runner_write_run(&r->request, &request);
    if (r->request.failed) {
        kiln__text_free(&r->request);
        r->request = (kiln__text){.mem = r->engine->mem};
        return kiln__fail_memory(error);
    }
    r->tries = 0;
    if (r->child.socket >= 0 && kiln__child_is_gone(&r->child)) { /* the process ended between two samples */
        kiln__logf(&r->engine->log, KILN_LOG_INFO, "the process that measures ended while it was idle");
        kiln__child_end(&r->child);
    }
    if (r->child.socket < 0)
        start(r);
    else
        post(r, PREPARING, PREPARE_SECONDS);
    return KILN_OK;
}

static bool is_sending(const kiln__runner *r)
{
    return r->sent < (r->state == OPENING ? &r->opening : &r->request)->length;
}

void kiln__runner_stop(kiln__runner *r)
{
    kiln__child_end(&r->child);
    conclude(r, kiln__fail(r->engine->mem, &r->why, KILN_ERROR_INTERRUPTED, "the sample was stopped"), true);
}

/* Sends and receives as much as the socket takes without waiting, and handles each complete message. KILN__IO_LATE from
 * the socket means that the operation would block. This is an error only after the deadline. In the state OPENING, the
 * time counts from the last byte of the opening message, because the sweep may do other work before the first call of
 * this function. */
bool kiln__runner_step(kiln__runner *r)
{
    while (!kiln__runner_is_idle(r) && r->state != ENDED && r->state != WAITING) {
        const size_t sent = r->sent;
        kiln__io io = kiln__child_send_some(&r->child, r->state == OPENING ? &r->opening : &r->request, &r->sent);
        if (r->state == OPENING && r->sent > sent)
            r->deadline = kiln__deadline_in(r->limit);
        if (io == KILN__IO_DONE)
            io = kiln__child_receive_some(&r->child, r->engine->mem, &r->in);
        if (io == KILN__IO_LATE && (!r->deadline || kiln__now_ns() < r->deadline))
            return false;
        if (io == KILN__IO_DONE)
            io = hear(r);
        if (io != KILN__IO_DONE)
            lose(r, io);
    }
    return r->state == ENDED;
}

uint64_t kiln__runner_watch(const kiln__runner *r, struct pollfd *fd)
{
    bool waits = !kiln__runner_is_idle(r) && r->state != ENDED && r->state != WAITING;
    *fd = (struct pollfd){.fd = waits ? r->child.socket : -1, .events = waits && is_sending(r) ? POLLOUT : POLLIN};
    return waits ? r->deadline : 0;
}

kiln_status kiln__runner_take(kiln__runner *r, kiln__recorder *recorder, kiln_result *result, bool *ends,
                              kiln_error **error)
{
    *ends = r->ends;
    if (r->status == KILN_OK) {
        *result = r->answer.result;
        kiln__recorder_times(recorder, r->answer.times, r->answer.time_count);
        kiln__recorder_features(recorder, r->answer.features);
    }
    if (error && !*error)
        *error = r->why;
    else
        kiln_error_free(r->why);
    r->why = NULL;
    forget_answer(r);
    kiln__text_free(&r->request);
    r->request = (kiln__text){.mem = r->engine->mem};
    r->state = r->child.socket >= 0 ? READY : OFF;
    return r->status;
}
