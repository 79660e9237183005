/* child.c - starts child processes, exchanges messages with them, enforces time limits, and ends them. */
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

#include "wire.h"

extern char **environ;

/* ---- starting and ending ---- */

int kiln__child_start(kiln__child *child, const char *const *arguments)
{
    if (child->place)
        return child->place->start(child->place->self, child, arguments);
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
    /* The socket becomes the standard input of the child. The child's output goes to /dev/null, because libraries in
     * the child may print to the host's terminal. */
    failed = posix_spawn_file_actions_adddup2(&actions, pair[1], STDIN_FILENO);
    if (!failed && !child->shows)
        failed = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    /* The child gets its own process group, so that Ctrl-C reaches only the host. In the child no signal is blocked or
     * ignored. */
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    if (!failed)
        failed = posix_spawn(&child->pid, arguments[0], &actions, &attributes, (char *const *)(uintptr_t)arguments,
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
    child->socket = pair[0];
    child->pidfd = pidfd_open(child->pid, 0); /* returns -1 on kernels before 5.3 */
    return 0;
}

int kiln__child_end(kiln__child *child)
{
    if (child->socket < 0)
        return -1;
    if (child->place)
        return child->place->end(child->place->self, child);
    close(child->socket);
    child->socket = -1;
    /* If the host ignores SIGCHLD, another process may have got the pid by now, but the pidfd still refers to the
     * child. */
    if (child->pidfd < 0 || pidfd_send_signal(child->pidfd, SIGKILL, NULL, 0) != 0)
        if (child->pidfd < 0)
            kill(child->pid, SIGKILL);
    int how = -1;
    pid_t got;
    do
        got = waitpid(child->pid, &how, 0);
    while (got < 0 && errno == EINTR);
    if (child->pidfd >= 0)
        close(child->pidfd);
    child->pidfd = -1;
    return got == child->pid ? how : -1;
}

int kiln__child_end_closed(kiln__child *child)
{
    struct pollfd gone = {.fd = child->pidfd, .events = POLLIN};
    if (child->pidfd >= 0)
        while (poll(&gone, 1, 2000) < 0 && errno == EINTR)
            continue;
    return kiln__child_end(child);
}

bool kiln__child_place_gone(const kiln__child *child) { return child->place && child->place->gone(child->place->self); }

bool kiln__child_is_gone(const kiln__child *child)
{
    char byte;
    ssize_t got = recv(child->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    /* the child closed the socket, an error occurred, or unexpected bytes arrived */
    return got >= 0 || errno != EAGAIN;
}

void kiln__child_describe(int how, char *text, size_t room)
{
    if (how >= 0 && WIFSIGNALED(how))
        snprintf(text, room, "it was ended by signal %d, %s%s", WTERMSIG(how), kiln__signal_text(WTERMSIG(how)),
                 WTERMSIG(how) == SIGKILL ? " (the system does that when memory runs out)" : "");
    else if (how >= 0 && WIFEXITED(how))
        snprintf(text, room, "it exited with status %d", WEXITSTATUS(how));
    else
        snprintf(text, room, "its exit status is unknown");
}

/* ---- messages ---- */

static kiln__io await(const kiln__child *child, short events, uint64_t deadline)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = child->socket, .events = events}, {.fd = child->wake, .events = POLLIN}};
        int limit = -1;
        if (deadline) {
            uint64_t now = kiln__now_ns();
            if (now >= deadline)
                return KILN__IO_LATE;
            uint64_t ms = (deadline - now) / 1000000 + 1;
            limit = ms > 1000000 ? 1000000 : (int)ms;
        }
        int ready = poll(fds, 2, limit);
        if (ready < 0 && errno != EINTR)
            return KILN__IO_CLOSED;
        if (ready > 0 && fds[1].revents)
            return KILN__IO_STOPPED;
        if (ready > 0 && fds[0].revents) /* the descriptor is ready, or the call itself will report an error */
            return KILN__IO_DONE;
    }
}

kiln__io kiln__child_await(const kiln__child *child, uint64_t deadline) { return await(child, POLLIN, deadline); }

kiln__io kiln__child_send_some(const kiln__child *child, const kiln__text *message, size_t *sent)
{
    while (*sent < message->length) {
        ssize_t put = send(child->socket, message->data + *sent, message->length - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put >= 0)
            *sent += (size_t)put;
        else if (errno != EINTR)
            return errno == EAGAIN ? KILN__IO_LATE : KILN__IO_CLOSED;
    }
    return KILN__IO_DONE;
}

/* Reads into `bytes` until *at has reached `length`. */
static kiln__io receive_some(const kiln__child *child, char *bytes, size_t length, size_t *at)
{
    while (*at < length) {
        ssize_t got = recv(child->socket, bytes + *at, length - *at, MSG_DONTWAIT);
        if (got > 0)
            *at += (size_t)got;
        else if (got == 0 || errno != EINTR)
            return got < 0 && errno == EAGAIN ? KILN__IO_LATE : KILN__IO_CLOSED;
    }
    return KILN__IO_DONE;
}

kiln__io kiln__child_receive_some(const kiln__child *child, const kiln_allocator *mem, kiln__incoming *in)
{
    const size_t head = sizeof in->header;
    if (!in->body) {
        kiln__io result = receive_some(child, (char *)&in->header, head, &in->got);
        if (result != KILN__IO_DONE)
            return result;
        if (in->header.magic != KILN__MESSAGE_MAGIC || in->header.length > KILN__MESSAGE_MAX)
            return KILN__IO_MALFORMED;
        in->body = kiln__alloc(mem, (size_t)in->header.length);
        if (!in->body)
            return KILN__IO_MEMORY;
    }
    size_t at = in->got - head;
    kiln__io result = receive_some(child, in->body, (size_t)in->header.length, &at);
    in->got = head + at;
    return result;
}

kiln__io kiln__child_send(const kiln__child *child, const kiln__text *message, uint64_t deadline)
{
    size_t sent = 0;
    for (;;) {
        kiln__io result = kiln__child_send_some(child, message, &sent);
        if (result != KILN__IO_LATE)
            return result;
        result = await(child, POLLOUT, deadline);
        if (result != KILN__IO_DONE)
            return result;
    }
}

kiln__io kiln__child_receive(const kiln__child *child, const kiln_allocator *mem, uint64_t deadline, uint32_t *kind,
                             char **body, size_t *length)
{
    kiln__incoming in = {0};
    kiln__io result;
    do {
        result = kiln__child_receive_some(child, mem, &in);
        if (result != KILN__IO_LATE)
            break;
        result = await(child, POLLIN, deadline);
    } while (result == KILN__IO_DONE);
    *body = NULL;
    if (result != KILN__IO_DONE) {
        kiln__free(mem, in.body);
        return result;
    }
    *kind = in.header.kind;
    *length = (size_t)in.header.length;
    *body = in.body;
    return KILN__IO_DONE;
}
