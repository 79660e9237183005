/* process.c - the library's side of a worker process: starts it, exchanges messages, enforces time limits, and ends it.
 * Only one thread uses a worker.
 *
 * States of a worker:
 * - absent: there is no socket. kiln__worker_greet() starts the process -> started.
 * - started: the library waits for HELLO. A good HELLO -> ready. Any failure ends the process -> absent.
 * - ready: the process waits for a request -> compiling. If the idle process is gone, or lacks the folder of
 *   precompiled headers that a request needs -> absent, and the next process starts at once.
 * - compiling: the library waits for RESULT. A RESULT -> ready, also if it reports an error of the source. A time-out, a stop, a
 *   closed connection or a malformed message ends the process -> absent. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool.h"

enum { HELLO_SECONDS = 60 }; /* long enough to load 100 MB from a slow disk */

static int start_process(kiln__worker *worker)
{
    char parent[32], memory[32];
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)worker->memory);
    /* NULL ends the list of arguments */
    const char *with = worker->pch ? worker->pch_makes ? "--pch-make" : "--pch" : NULL;
    const char *arguments[] = {worker->program, "--parent", parent, "--nvrtc", worker->library, "--include",
                               worker->include, "--memory", memory, with,      worker->pch,     NULL};
    worker->pch_given = worker->pch != NULL;
    return kiln__child_start(&worker->child, arguments);
}

void kiln__worker_end(kiln__worker *worker) { kiln__child_end(&worker->child); }

/* Receives a message of the expected kind. The caller frees *body. */
static kiln__io receive_message(const kiln__worker *worker, uint32_t kind, char **body, size_t *length,
                                uint64_t deadline)
{
    uint32_t got = 0;
    kiln__io result = kiln__child_receive(&worker->child, worker->mem, deadline, &got, body, length);
    return result == KILN__IO_DONE && got != kind ? KILN__IO_MALFORMED : result;
}

/* ---- errors ---- */

/* Returns the name of the source in an encoded request, for messages. The name is the first field. */
static const char *read_name(const kiln__text *message)
{
    return message->data + sizeof(kiln__message_header) + sizeof(uint64_t);
}

/* Makes the error for a process that ended or was killed. The reason may be that the system ran out of memory, or a bug
 * of NVRTC. The function cannot distinguish these reasons, so Kiln never stores the failure as a result of the
 * source. */
static kiln_status describe_end(kiln__worker *worker, const char *name, bool again, kiln__outcome *outcome)
{
    char how[256];
    int ended = kiln__child_end_closed(&worker->child);
    kiln__child_describe(ended, how, sizeof how);
    outcome->died = true;
    const char *twice = again ? ", and so did a second worker, while nothing else compiled" : "";
    kiln_status status;
    if (worker->memory && ended >= 0 && WIFSIGNALED(ended) &&
        WTERMSIG(ended) == SIGABRT) /* a compiler that runs out of memory ends with SIGABRT */
        status =
            kiln__fail(worker->mem, &outcome->error, KILN_ERROR_COMPILE,
                       "%s: the compiler aborted (%s)%s: this happens if its limit of %.1f GB of memory is not enough",
                       name, how, twice, (double)worker->memory * 1e-9);
    else
        status = kiln__fail(worker->mem, &outcome->error, KILN_ERROR_COMPILE, "%s: the compile worker died%s: %s", name,
                            twice, how);
    kiln__error_mark_passing(outcome->error);
    return status;
}

/* After a failed exchange of messages, ends the worker and makes the error. */
static kiln_status describe_failure(kiln__worker *worker, kiln__io what, const kiln__text *message, bool again,
                                    kiln__outcome *outcome)
{
    kiln_error **error = &outcome->error;
    const char *name = read_name(message);
    switch (what) {
    case KILN__IO_LATE:
        kiln__worker_end(worker);
        return kiln__fail(worker->mem, error, KILN_ERROR_TIMEOUT,
                          "%s: the compile took longer than its limit of %g s (compile_timeout) and was ended", name,
                          worker->timeout);
    case KILN__IO_STOPPED:
        kiln__worker_end(worker);
        return kiln__fail(worker->mem, error, KILN_ERROR_INTERRUPTED, "%s: the compile was stopped", name);
    case KILN__IO_MEMORY: kiln__worker_end(worker); return kiln__fail_memory(error);
    case KILN__IO_MALFORMED:
        kiln__worker_end(worker);
        return kiln__fail(worker->mem, error, KILN_ERROR_INTERNAL,
                          "%s: the worker %s sent an invalid answer; "
                          "is it the kiln-worker of this version?",
                          name, worker->program);
    case KILN__IO_CLOSED:
    case KILN__IO_DONE: break;
    }
    return describe_end(worker, name, again, outcome);
}

/* ---- a compile ---- */

static void warn_unconfined(const kiln__worker *worker, const kiln__hello *hello)
{
    if (!hello->confined && worker->warned && !atomic_exchange(worker->warned, true))
        kiln__logf(&worker->log, KILN_LOG_WARNING,
                   "compile workers are not confined (%s): a source with a hidden #include can make the compiler read "
                   "any of your files; see kiln doctor",
                   hello->how);
}

/* Starts the process, and checks its first message: the process must have loaded the same NVRTC as this process. *died
 * receives whether the process ended without a message. In that case *ended is its wait status, or -1. */
static kiln_status greet_once(kiln__worker *worker, bool *confined, char *how_confined, size_t room, bool *died,
                              int *ended, kiln_error **error)
{
    int failed = start_process(worker);
    if (failed)
        return kiln__fail(worker->mem, error, KILN_ERROR_NO_COMPILER, "cannot start the compile worker %s: %s",
                          worker->program, kiln__error_text(failed));
    char *body = NULL, how[256];
    size_t length = 0;
    kiln__io result = receive_message(worker, KILN__MESSAGE_HELLO, &body, &length, kiln__deadline_in(HELLO_SECONDS));
    kiln_status status = KILN_OK, its = KILN_OK;
    kiln__hello hello = {.identity = "", .how = ""};
    if (result == KILN__IO_STOPPED) {
        status = kiln__fail(worker->mem, error, KILN_ERROR_INTERRUPTED, "the compile was stopped");
    } else if (result == KILN__IO_MEMORY) {
        status = kiln__fail_memory(error);
    } else if (result == KILN__IO_CLOSED) {
        *ended = kiln__child_end_closed(&worker->child);
        kiln__child_describe(*ended, how, sizeof how);
        status = kiln__fail(worker->mem, error, KILN_ERROR_NO_COMPILER, "the compile worker %s ended at once: %s",
                            worker->program, how);
        *died = true;
    } else if (result != KILN__IO_DONE || !kiln__message_read_hello(body, length, &its, &hello)) {
        status = kiln__fail(worker->mem, error, KILN_ERROR_NO_COMPILER,
                            "the compile worker %s sent an invalid answer; is it the kiln-worker of this version?",
                            worker->program);
    } else if (its != KILN_OK) {
        status = kiln__fail(worker->mem, error, its, "the compile worker: %s", hello.identity);
    } else if (strcmp(hello.identity, worker->identity) != 0) {
        status = kiln__fail(worker->mem, error, KILN_ERROR_NO_COMPILER,
                            "the compile worker loaded another NVRTC (%s) than this process (%s)", hello.identity,
                            worker->identity);
    }
    if (status == KILN_OK) {
        warn_unconfined(worker, &hello);
        *confined = hello.confined;
        snprintf(how_confined, room, "%s", hello.how);
    }
    kiln__free(worker->mem, body);
    if (status != KILN_OK)
        kiln__worker_end(worker);
    return status;
}

kiln_status kiln__worker_greet(kiln__worker *worker, bool *confined, char *how_confined, size_t room, bool *died,
                               kiln_error **error)
{
    int ended = -1;
    kiln_status status = greet_once(worker, confined, how_confined, room, died, &ended, error);
    if (!*died || ended < 0 || !WIFSIGNALED(ended) || (WTERMSIG(ended) != SIGINT && WTERMSIG(ended) != SIGTERM))
        return status;
    /* A new process belongs to the host's process group until it has a group of its own. If Ctrl-C ends the process at
     * this moment, the function starts another process. */
    if (error) {
        kiln_error_free(*error);
        *error = NULL;
    }
    *died = false;
    return greet_once(worker, confined, how_confined, room, died, &ended, error);
}

kiln_status kiln__worker_look(const kiln_allocator *mem, const char *program, const kiln__nvrtc *nvrtc, bool *confined,
                              char **how, kiln_error **error)
{
    char text[256] = "";
    bool died = false;
    kiln__worker worker = {.mem = mem,
                           .program = program,
                           .library = kiln__nvrtc_path(nvrtc),
                           .include = kiln__nvrtc_include(nvrtc),
                           .identity = kiln__nvrtc_identity(nvrtc),
                           .child = {.socket = -1, .pidfd = -1, .wake = -1}};
    kiln_status status = kiln__worker_greet(&worker, confined, text, sizeof text, &died, error);
    kiln__worker_end(&worker);
    if (status == KILN_OK) {
        *how = kiln__strdup(mem, text);
        if (!*how)
            status = kiln__fail_memory(error);
    }
    return status;
}

/* Compiles one request in the worker. If the process is gone, or lacks the folder of precompiled headers, the function
 * first starts another process. It converts the answer or the failure into an outcome. */
void kiln__worker_compile(kiln__worker *worker, const kiln__text *message, const char *path, bool again,
                          kiln__outcome *outcome)
{
    if (path && worker->child.socket >= 0 &&
        !worker->pch_given) /* the running process has random addresses, so it cannot use precompiled headers */
        kiln__worker_end(worker);
    /* The system may have ended an idle worker since its last job. The current job did not cause this. */
    if (worker->child.socket >= 0 && kiln__child_is_gone(&worker->child)) {
        kiln__logf(&worker->log, KILN_LOG_INFO, "a compile worker ended while it was idle; starting another");
        kiln__worker_end(worker);
    }
    if (worker->child.socket < 0) {
        char how[256];
        bool confined;
        outcome->status = kiln__worker_greet(worker, &confined, how, sizeof how, &outcome->died, &outcome->error);
        if (outcome->status != KILN_OK)
            return;
    }
    uint64_t begun = kiln__now_ns(), deadline = kiln__deadline_in(worker->timeout);
    char *body = NULL;
    size_t length = 0;
    const char *why = "";
    bool passing = false;
    kiln__unit parts;
    kiln__text before = {.mem = worker->mem};
    if (path)
        kiln__message_pch(&before, path, worker->pch_makes);
    kiln__io result = before.failed ? KILN__IO_MEMORY
                      : path        ? kiln__child_send(&worker->child, &before, deadline)
                                    : KILN__IO_DONE;
    kiln__text_free(&before);
    if (result == KILN__IO_DONE)
        result = kiln__child_send(&worker->child, message, deadline);
    if (result == KILN__IO_DONE)
        result = receive_message(worker, KILN__MESSAGE_RESULT, &body, &length, deadline);
    if (result == KILN__IO_DONE &&
        !kiln__message_read_result(body, length, &outcome->status, &outcome->ns, &parts, &why, &passing, &outcome->pch))
        result = KILN__IO_MALFORMED;
    if (result != KILN__IO_DONE) {
        outcome->ns = kiln__now_ns() - begun;
        outcome->status = describe_failure(worker, result, message, again, outcome);
    } else if (outcome->status == KILN_OK) {
        outcome->status = kiln__unit_make(worker->mem, &parts, &outcome->unit, &outcome->error);
    } else if (outcome->status == KILN_ERROR_MEMORY) {
        kiln__fail(worker->mem, &outcome->error, KILN_ERROR_COMPILE, "%s: the compiler ran out of memory",
                   read_name(message));
        kiln__error_mark_passing(outcome->error); /* the limit of memory depends on the machine */
        /* the worker reached its limit of memory, but the host still has memory */
        outcome->status = KILN_ERROR_COMPILE;
    } else {
        kiln__fail(worker->mem, &outcome->error, outcome->status, "%s", why);
        if (passing)
            kiln__error_mark_passing(outcome->error);
    }
    kiln__free(worker->mem, body);
}
