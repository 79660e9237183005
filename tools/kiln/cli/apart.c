/* apart.c - runs a command that launches kernels of the simulated device in a child process, which gives up its rights
 * before the first launch (KILN_SANDBOX). The child process does everything that the command does: it reads, compiles,
 * runs and prints. The parent process waits for the child, passes signals on to it, writes the files of --output, and
 * reports how the child ended. The parent forks before it uses the library. Therefore the parent has only one thread,
 * and data of kernels reach it only as the contents of output files.
 *
 * A kernel may have taken control of the child, so the parent checks the child's messages. The child can replace each
 * file that the command line names once, and no other file. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* the library's time limits in seconds: for inputs and answers, and for kernels if the user gives none */
enum { PREPARE_SECONDS = 3600, USUAL_LIMIT = 60 };

static volatile pid_t child;
static volatile sig_atomic_t asked;
static struct timespec asked_at;

/* Passes the first signal on to the child, which then ends in an orderly way. The second signal kills the child. */
static void on_signal(int number)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double since = (double)(now.tv_sec - asked_at.tv_sec) + (double)(now.tv_nsec - asked_at.tv_nsec) / 1e9;
    bool again = asked && since > 1;
    if (!asked)
        asked_at = now;
    asked = number;
    if (child > 0)
        kill(child, again ? SIGKILL : number);
}

static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static struct sigaction before[CLI_COUNT(passed)];

static void pass_signals(void)
{
    for (size_t i = 0; i < CLI_COUNT(passed); i++) {
        struct sigaction action = {.sa_handler = on_signal};
        sigemptyset(&action.sa_mask);
        /* if the signal is ignored, for example by nohup, the command keeps ignoring it */
        if (sigaction(passed[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            sigaction(passed[i], &action, NULL);
    }
}

static void keep_signals(void)
{
    for (size_t i = 0; i < CLI_COUNT(passed); i++)
        sigaction(passed[i], &before[i], NULL);
}

/* ---- the time limit of the child ---- */

typedef struct time_limit {
    struct timespec begun;
    double most; /* in seconds; 0 means that there is no limit */
} time_limit;

static bool is_late(const time_limit *of)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return of->most > 0 && (double)(now.tv_sec - of->begun.tv_sec) > of->most;
}

/* Waits until the child has sent something. Returns false if the child is late. */
static bool await_bytes(int fd, const time_limit *of)
{
    for (int got = 0; got <= 0;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        got = poll(&ready, 1, 1000);
        if (is_late(of))
            return false;
    }
    return true;
}

/* ---- the files of --output ---- */

typedef struct file_header {
    uint64_t index, bytes; /* index: the number of the --output option */
} file_header;
typedef struct file_answer {
    uint64_t status, bytes; /* a kiln_status, and the length of its message */
} file_answer;

static bool send_all(int fd, const void *data, size_t length)
{
    for (const char *at = data; length > 0;) {
        ssize_t put = send(fd, at, length, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        length -= (size_t)put;
    }
    return true;
}

/* In the parent, `of` is the time limit of the child, which may send a part of a message and then nothing more. */
static bool receive_all(int fd, void *data, size_t length, const time_limit *of)
{
    for (char *at = data; length > 0;) {
        if (of && !await_bytes(fd, of))
            return false;
        ssize_t got = recv(fd, at, length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        length -= (size_t)got;
    }
    return true;
}

/* Receives `bytes` bytes, and allocates memory for them as they arrive. Returns NULL if the child ended or is late, or
 * if memory ran out. */
static char *receive_file(int fd, uint64_t bytes, const time_limit *of)
{
    enum { STEP = 16 << 20 };
    char *data = NULL;
    for (uint64_t got = 0; got < bytes || !data;) {
        uint64_t step = bytes - got < STEP ? bytes - got : STEP;
        char *more = realloc(data, (size_t)(got + step) + 1);
        if (!more || !receive_all(fd, more + got, (size_t)step, of)) {
            free(more ? more : data);
            return NULL;
        }
        data = more;
        got += step;
    }
    return data;
}

static const char *output_path(const cli *c, uint64_t index)
{
    const char *equals = index < c->apart_outputs->count ? strchr(c->apart_outputs->items[index], '=') : NULL;
    return equals ? equals + 1 : NULL;
}

/* Writes a file for the child. Returns false if the child has ended, is late, or sent a request that no command
 * sends. */
static bool serve(const cli *c, int fd, bool *written, const time_limit *of)
{
    file_header header;
    if (!receive_all(fd, &header, sizeof header, of))
        return false;
    const char *path = output_path(c, header.index);
    if (!path || written[header.index] || header.bytes > UINT64_MAX / 2)
        return false;
    written[header.index] = true;
    char *data = receive_file(fd, header.bytes, of);
    if (!data)
        return false;
    kiln_error *error = NULL;
    kiln_status status = kiln_file_write(path, data, (size_t)header.bytes, &error);
    const char *why = status == KILN_OK ? "" : kiln_error_message(error);
    file_answer answer = {.status = (uint64_t)status, .bytes = strlen(why)};
    bool sent = send_all(fd, &answer, sizeof answer) && send_all(fd, why, strlen(why));
    kiln_error_free(error);
    free(data);
    return sent;
}

int cli_apart_write(void *user, const char *path, const void *data, size_t bytes)
{
    cli *c = user;
    file_answer answer;
    for (size_t i = 0; i < c->apart_outputs->count; i++) {
        const file_header header = {.index = i, .bytes = bytes};
        if (strcmp(output_path(c, i), path) != 0)
            continue;
        if (!send_all(c->apart_fd, &header, sizeof header) || !send_all(c->apart_fd, data, bytes) ||
            !receive_all(c->apart_fd, &answer, sizeof answer, NULL) || answer.bytes > 1 << 20)
            return -1;
        if (answer.status == KILN_OK)
            return 0;
        char *why = cli_alloc((size_t)answer.bytes + 1);
        if (!receive_all(c->apart_fd, why, (size_t)answer.bytes, NULL))
            return -1;
        c->apart_why = why;
        c->apart_status = (kiln_status)answer.status;
        return -1;
    }
    return -1;
}

int cli_apart_error(const cli *c, kiln_error *error)
{
    if (!c->apart_why)
        return cli_error(c, error);
    kiln_error_free(error);
    return cli_fail(c, c->apart_status, "%s", c->apart_why);
}

/* ---- the two processes ---- */

/* Returns the longest time in seconds that the child can take if it works correctly; 0 means that there is no limit.
 * The simulated device ends every kernel at its time limit, so only a kernel that has taken over the child can take
 * longer. `kiln judge` begins trials until its budget ends, so its longest time is the budget plus the limit of one
 * trial. */
static double longest(const cli_run_args *args)
{
    double limit = args->sample_timeout != 0 ? args->sample_timeout : USUAL_LIMIT + 2 * args->budget;
    if (limit <= 0)
        return 0;
    return PREPARE_SECONDS + args->budget + limit * (2 + 4 * (double)args->repetitions);
}

/* Serves the child's requests to write files until the child ends. */
static int await(const cli *c, const cli_run_args *run, int fd)
{
    bool *written = cli_alloc(c->apart_outputs->count + 1);
    time_limit of = {.most = longest(run)};
    clock_gettime(CLOCK_MONOTONIC, &of.begun);
    while (await_bytes(fd, &of) && serve(c, fd, written, &of))
        ;
    const bool late = is_late(&of);
    close(fd); /* closing the socket also ends a child that waits for an answer */
    if (late)
        kill(child, SIGKILL);
    int how = 0;
    pid_t pid;
    do
        pid = waitpid(child, &how, 0);
    while (pid < 0 && errno == EINTR);
    child = 0;
    keep_signals();
    if (pid < 0)
        return cli_fail(c, KILN_ERROR_INTERNAL, "kiln cannot tell how the process that ran the kernels ended: %s",
                        strerror(errno));
    if (WIFEXITED(how))
        return WEXITSTATUS(how);
    int number = WTERMSIG(how);
    /* If the user's signal or a closed pipe ended the child, this process ends by the same signal. */
    bool own = asked || number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGPIPE;
    if (own && !late) {
        signal(asked ? asked : number, SIG_DFL);
        raise(asked ? asked : number);
    }
    return cli_fail(c, late ? KILN_ERROR_TIMEOUT : KILN_ERROR_DEVICE,
                    "the process that ran the kernels %s signal %d, %s%s",
                    late ? "did not end by itself and was ended by" : "was ended by", number, strsignal(number),
                    number == SIGKILL && !late ? " (the system does that when memory runs out)" : "");
}

bool cli_sandbox(cli *c, const cli_engine_args *args)
{
    const char *mode = args->sandbox, *device = args->device ? args->device : cli_usual_device();
    c->sandbox = !mode || strcmp(mode, "auto") == 0 ? KILN_SANDBOX
                 : strcmp(mode, "required") == 0    ? KILN_SANDBOX_REQUIRED
                                                    : 0;
    return c->sandbox && (!device || strncmp(device, "cuda", 4) != 0);
}

int cli_apart(cli *c, const cli_engine_args *args, const cli_run_args *run, int (*work)(cli *c, void *user), void *user)
{
    int pair[2];
    if (!cli_sandbox(c, args))
        return work(c, user);
    c->apart_outputs = &run->outputs;
    out_flush();
    fflush(NULL);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return cli_fail(c, KILN_ERROR_IO, "no process for the kernels can be started: %s", strerror(errno));
    sigset_t blocked, usual;
    sigemptyset(&blocked);
    for (size_t i = 0; i < CLI_COUNT(passed); i++)
        sigaddset(&blocked, passed[i]);
    /* the signals stay blocked until there is a child to which they can be passed on */
    sigprocmask(SIG_BLOCK, &blocked, &usual);
    pid_t parent = getpid(), made = fork();
    if (made == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigprocmask(SIG_SETMASK, &usual, NULL);
        close(pair[0]);
        if (getppid() != parent)
            _exit(0); /* the parent died before this child asked for SIGKILL at the death of its parent */
        c->apart = true;
        c->apart_fd = pair[1];
        return work(c, user);
    }
    int failed = errno;
    child = made;
    if (made > 0) {
        signal(SIGCHLD, SIG_DFL);
        pass_signals();
    }
    sigprocmask(SIG_SETMASK, &usual, NULL);
    close(pair[1]);
    if (made > 0)
        return await(c, run, pair[0]);
    close(pair[0]);
    return cli_fail(c, KILN_ERROR_IO, "no process for the kernels can be started: %s", strerror(failed));
}
