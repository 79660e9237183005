/* A worker process from the library's side: starting, talking, time limits, ending. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile/pool.h"

extern char **environ;

enum { HELLO_SECONDS = 60 }; /* loading 100 MB from a slow disk takes a while */

typedef enum io { IO_DONE, IO_CLOSED, IO_LATE, IO_STOPPED, IO_MALFORMED, IO_MEMORY } io;

/* ---- starting and ending ---- */

static int start(kiln__worker *worker)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        goto no_actions;
    failed = posix_spawnattr_init(&attributes);
    if (failed)
        goto no_attributes;
    /* The socket is the worker's standard input; what a library prints is not for the host's terminal. */
    failed = posix_spawn_file_actions_adddup2(&actions, pair[1], STDIN_FILENO);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    /* A process group of its own: Ctrl-C is for the host to handle. No signal stays blocked or ignored. */
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    char parent[32];
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    const char *arguments[] = {worker->program, "--parent", parent, "--nvrtc", worker->library, "--include",
                               worker->include, NULL};
    if (!failed)
        failed = posix_spawn(&worker->pid, worker->program, &actions, &attributes, (char *const *)(uintptr_t)arguments,
                             environ);
    posix_spawnattr_destroy(&attributes);
no_attributes:
    posix_spawn_file_actions_destroy(&actions);
no_actions:
    close(pair[1]);
    if (failed) {
        close(pair[0]);
        return failed;
    }
    worker->socket = pair[0];
    worker->pidfd = pidfd_open(worker->pid, 0); /* -1 on kernels before 5.3 */
    return 0;
}

/* Ends the process and says how it ended, as waitpid does; -1 if that cannot be known. */
static int end(kiln__worker *worker)
{
    if (worker->socket < 0)
        return -1;
    close(worker->socket);
    worker->socket = -1;
    /* A host that ignores SIGCHLD lets the number go to another process: the pidfd cannot hit that one. */
    if (worker->pidfd < 0 || pidfd_send_signal(worker->pidfd, SIGKILL, NULL, 0) != 0)
        if (worker->pidfd < 0)
            kill(worker->pid, SIGKILL);
    int how = -1;
    pid_t got;
    do
        got = waitpid(worker->pid, &how, 0);
    while (got < 0 && errno == EINTR);
    if (worker->pidfd >= 0)
        close(worker->pidfd);
    worker->pidfd = -1;
    return got == worker->pid ? how : -1;
}

void kiln__worker_end(kiln__worker *worker)
{
    end(worker);
}

/* ---- talking ---- */

/* Waits until the socket is ready for `events`. deadline 0: no limit. */
static io await(const kiln__worker *worker, short events, uint64_t deadline)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = worker->socket, .events = events}, {.fd = worker->wake, .events = POLLIN}};
        int limit = -1;
        if (deadline) {
            uint64_t now = kiln__now_ns();
            if (now >= deadline)
                return IO_LATE;
            uint64_t ms = (deadline - now) / 1000000 + 1;
            limit = ms > 1000000 ? 1000000 : (int)ms;
        }
        int ready = poll(fds, 2, limit);
        if (ready < 0 && errno != EINTR)
            return IO_CLOSED;
        if (ready > 0 && fds[1].revents)
            return IO_STOPPED;
        if (ready > 0 && fds[0].revents) /* ready, or an error that the call itself will report */
            return IO_DONE;
    }
}

static io send_all(const kiln__worker *worker, const char *bytes, size_t length, uint64_t deadline)
{
    while (length > 0) {
        ssize_t put = send(worker->socket, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put >= 0) {
            bytes += put;
            length -= (size_t)put;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return IO_CLOSED;
        io ready = await(worker, POLLOUT, deadline);
        if (ready != IO_DONE)
            return ready;
    }
    return IO_DONE;
}

static io receive_all(const kiln__worker *worker, char *bytes, size_t length, uint64_t deadline)
{
    while (length > 0) {
        ssize_t got = recv(worker->socket, bytes, length, MSG_DONTWAIT);
        if (got > 0) {
            bytes += got;
            length -= (size_t)got;
            continue;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0 || errno != EAGAIN)
            return IO_CLOSED;
        io ready = await(worker, POLLIN, deadline);
        if (ready != IO_DONE)
            return ready;
    }
    return IO_DONE;
}

/* *body is the caller's to free. */
static io receive_message(const kiln__worker *worker, uint32_t kind, char **body, size_t *length, uint64_t deadline)
{
    kiln__message_header header;
    io result = receive_all(worker, (char *)&header, sizeof header, deadline);
    if (result != IO_DONE)
        return result;
    if (header.magic != KILN__MESSAGE_MAGIC || header.kind != kind || header.length > KILN__MESSAGE_MAX)
        return IO_MALFORMED;
    *length = (size_t)header.length;
    *body = kiln__alloc(worker->mem, *length);
    if (!*body)
        return IO_MEMORY;
    result = receive_all(worker, *body, *length, deadline);
    if (result != IO_DONE) {
        kiln__free(worker->mem, *body);
        *body = NULL;
    }
    return result;
}

/* ---- what went wrong ---- */

static void describe_end(int how, char *text, size_t room)
{
    if (how >= 0 && WIFSIGNALED(how))
        snprintf(text, room, "it was ended by signal %d, %s%s", WTERMSIG(how), strsignal(WTERMSIG(how)),
                 WTERMSIG(how) == SIGKILL ? " (the system does that when memory runs out)" : "");
    else if (how >= 0 && WIFEXITED(how))
        snprintf(text, room, "it exited with status %d", WEXITSTATUS(how));
    else
        snprintf(text, room, "how it ended is not known");
}

/* Waits a moment for a process that closed its socket, so that its own end is seen and not our kill. */
static int end_closed(kiln__worker *worker)
{
    struct pollfd gone = {.fd = worker->pidfd, .events = POLLIN};
    if (worker->pidfd >= 0)
        while (poll(&gone, 1, 2000) < 0 && errno == EINTR)
            continue;
    return end(worker);
}

/* The name of the source in a request, for messages: its first field. */
static const char *name_of(const kiln__text *message)
{
    return message->data + sizeof(kiln__message_header) + sizeof(uint64_t);
}

static kiln_status explain(kiln__worker *worker, io what, const kiln__text *message, kiln_error **error)
{
    const char *name = name_of(message);
    char how[256];
    switch (what) {
    case IO_LATE:
        end(worker);
        return kiln__fail(worker->mem, error, KILN_ERROR_TIMEOUT,
                          "%s: the compile took longer than its limit of %g s and was ended", name, worker->timeout);
    case IO_STOPPED:
        end(worker);
        return kiln__fail(worker->mem, error, KILN_ERROR_INTERRUPTED, "%s: the compile was stopped", name);
    case IO_MEMORY:
        end(worker);
        return kiln__fail_memory(error);
    case IO_MALFORMED:
        end(worker);
        return kiln__fail(worker->mem, error, KILN_ERROR_INTERNAL, "%s: the worker %s answered with something else "
                          "than a result; is it of this version of kiln?", name, worker->program);
    case IO_CLOSED:
    case IO_DONE:
        break;
    }
    describe_end(end_closed(worker), how, sizeof how);
    return kiln__fail(worker->mem, error, KILN_ERROR_COMPILE, "%s: the compiler crashed: %s", name, how);
}

/* ---- a compile ---- */

static uint64_t deadline_in(double seconds)
{
    return seconds > 0 && seconds < 1e9 ? kiln__now_ns() + (uint64_t)(seconds * 1e9) : 0;
}

static kiln_status greet(kiln__worker *worker, kiln_error **error)
{
    int failed = start(worker);
    if (failed)
        return kiln__fail(worker->mem, error, KILN_ERROR_NO_COMPILER, "the compile worker %s cannot be started: %s",
                          worker->program, strerror(failed));
    char *body = NULL, how[256];
    size_t length = 0;
    io result = receive_message(worker, KILN__MESSAGE_HELLO, &body, &length, deadline_in(HELLO_SECONDS));
    kiln_status status = KILN_OK, its = KILN_OK;
    const char *identity = "";
    if (result == IO_STOPPED) {
        status = kiln__fail(worker->mem, error, KILN_ERROR_INTERRUPTED, "the compile was stopped");
    } else if (result == IO_MEMORY) {
        status = kiln__fail_memory(error);
    } else if (result == IO_CLOSED) {
        describe_end(end_closed(worker), how, sizeof how);
        status = kiln__fail(worker->mem, error, KILN_ERROR_NO_COMPILER, "the compile worker %s ended at once: %s",
                            worker->program, how);
    } else if (result != IO_DONE || !kiln__message_read_hello(body, length, &its, &identity)) {
        status = kiln__fail(worker->mem, error, KILN_ERROR_NO_COMPILER,
                            "the compile worker %s does not answer as one; is it the kiln-worker of this version?",
                            worker->program);
    } else if (its != KILN_OK) {
        status = kiln__fail(worker->mem, error, its, "the compile worker: %s", identity);
    } else if (strcmp(identity, worker->identity) != 0) {
        status = kiln__fail(worker->mem, error, KILN_ERROR_NO_COMPILER,
                            "the compile worker loaded another NVRTC than this process did (%s; here %s)", identity,
                            worker->identity);
    }
    kiln__free(worker->mem, body);
    if (status != KILN_OK)
        end(worker);
    return status;
}

/* An idle worker may have been ended by the system since its last job: that is no fault of this one. */
static bool is_gone(const kiln__worker *worker)
{
    char byte;
    ssize_t got = recv(worker->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got >= 0 || errno != EAGAIN; /* nothing is due: end of file, an error, or bytes that nobody asked for */
}

void kiln__worker_compile(kiln__worker *worker, const kiln__text *message, kiln__outcome *outcome)
{
    if (worker->socket >= 0 && is_gone(worker)) {
        kiln__logf(&worker->log, KILN_LOG_INFO, "a compile worker ended while it was idle; starting another");
        end(worker);
    }
    if (worker->socket < 0) {
        outcome->status = greet(worker, &outcome->error);
        if (outcome->status != KILN_OK)
            return;
    }
    uint64_t begun = kiln__now_ns(), deadline = deadline_in(worker->timeout);
    char *body = NULL;
    size_t length = 0;
    const char *why = "";
    kiln__unit parts;
    io result = send_all(worker, message->data, message->length, deadline);
    if (result == IO_DONE)
        result = receive_message(worker, KILN__MESSAGE_RESULT, &body, &length, deadline);
    if (result == IO_DONE &&
        !kiln__message_read_result(body, length, &outcome->status, &outcome->ns, &parts, &why))
        result = IO_MALFORMED;
    if (result != IO_DONE) {
        outcome->ns = kiln__now_ns() - begun;
        outcome->status = explain(worker, result, message, &outcome->error);
    } else if (outcome->status == KILN_OK) {
        outcome->status = kiln__unit_make(worker->mem, &parts, &outcome->unit, &outcome->error);
    } else if (outcome->status == KILN_ERROR_MEMORY) {
        kiln__fail(worker->mem, &outcome->error, KILN_ERROR_COMPILE,
                   "%s: the compiler ran out of memory", name_of(message));
        outcome->status = KILN_ERROR_COMPILE; /* the worker's limit, not the host's memory */
    } else {
        kiln__fail(worker->mem, &outcome->error, outcome->status, "%s", why);
    }
    kiln__free(worker->mem, body);
}
