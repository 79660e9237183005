/* process.c - runs another program to its end or to a time limit. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire.h"

extern char **environ;

/* The function uses posix_spawn() and not fork(), because other threads of the caller may hold locks during a fork. */
static int start(const kiln__process *program, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    /* The program gets its own process group, so that the caller can end it with all processes that it starts. In the
     * program no signal is blocked or ignored. */
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, program->output,
                                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (!failed)
        failed = posix_spawn_file_actions_addchdir_np(&actions, program->folder);
    if (!failed)
        failed = posix_spawnp(pid, program->arguments[0], &actions, &attributes,
                              (char *const *)(uintptr_t)program->arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Waits for the end of the process, but at most `ms` milliseconds, so that the caller notices a request to stop in
 * time. If there is no pidfd (-1), the function waits for the whole time. */
static void wait_a_while(int pidfd, int ms)
{
    struct pollfd gone = {.fd = pidfd, .events = POLLIN};
    poll(&gone, pidfd >= 0 ? 1 : 0, ms);
}

int kiln__process_run(const kiln__process *program, int *how, kiln__ended *ended)
{
    pid_t pid;
    *how = -1;
    *ended = KILN__ENDED_ITSELF;
    int failed = start(program, &pid);
    if (failed)
        return failed;
    int pidfd = pidfd_open(pid, 0); /* returns -1 on kernels before 5.3 */
    uint64_t deadline = program->seconds > 0 ? kiln__deadline_in(program->seconds) : 0;
    for (siginfo_t info = {0}; *ended == KILN__ENDED_ITSELF;) {
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? info.si_pid != 0 : errno != EINTR)
            break;
        if (program->stop && *program->stop)
            *ended = KILN__ENDED_STOPPED;
        else if (deadline && kiln__now_ns() >= deadline)
            *ended = KILN__ENDED_LATE;
        else
            wait_a_while(pidfd, pidfd >= 0 ? 50 : 5);
    }
    /* ends the whole process group; no one has waited for the process, so its number is still valid */
    kill(-pid, SIGKILL);
    pid_t got;
    do
        got = waitpid(pid, how, 0);
    while (got < 0 && errno == EINTR);
    if (got != pid)
        *how = -1;
    if (pidfd >= 0)
        close(pidfd);
    return 0;
}

/* ---- a private folder ---- */

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

void kiln__folder_remove(const char *path) { nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

const char *kiln__folder_private(kiln__arena *arena)
{
    const char *base = getenv("TMPDIR");
    char *path = kiln__arena_printf(arena, "%s/kiln-XXXXXX", base && base[0] == '/' ? base : "/tmp");
    return path ? mkdtemp(path) : NULL;
}
