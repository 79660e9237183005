/* shim.c - a library that is loaded before all others, and that acts as a kernel that controls the process of the simulated
 * device. The simulator calls fegetenv() at the beginning of each launch, in the launching thread. In this call the shim
 * attempts what such a kernel would attempt. It records each success in a file that it mapped before the process entered the
 * sandbox.
 *
 * SHIM_REPORT: the file (struct report). SHIM_FOLDER: the folder of the spec. SHIM_ACTS: "try", "crash", "hang" in a
 * launch, "stall", or "deny". With "stall" the shim sends only the head of an output to the command, and then ten hours
 * pass between two calls of clock_gettime() by the command. With "deny" the system has no seccomp and no Landlock. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRIES(X) X(passwd) X(write_spec) X(new_file) X(socket_inet) X(socket_unix) X(fork_) X(exec) X(kill_) X(ptrace_)
enum {
#define X(name) TRY_##name,
    TRIES(X)
#undef X
};

struct report {
    uint32_t launches, done, pid;
};
static struct report *report;
static char spec[4096], fresh[4096];
static const char *acts = "";
static int (*real_fegetenv)(fenv_t *);
static long (*real_syscall)(long, ...);

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("SHIM_REPORT"), *folder = getenv("SHIM_FOLDER");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    report = map == MAP_FAILED ? NULL : map;
    snprintf(spec, sizeof spec, "%s/spec.yaml", folder ? folder : "");
    snprintf(fresh, sizeof fresh, "%s/planted", folder ? folder : "");
    acts = getenv("SHIM_ACTS") ? getenv("SHIM_ACTS") : "";
    *(void **)&real_fegetenv = dlsym(RTLD_NEXT, "fegetenv");
    *(void **)&real_syscall = dlsym(RTLD_NEXT, "syscall");
}

static int opens(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int connects(int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Forks by the system call, because fork() of the C library also calls the functions that libraries have registered. */
static int forks(void)
{
    long made = real_syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (made == 0)
        real_syscall(SYS_exit, 0);
    if (made > 0)
        waitpid((pid_t)made, NULL, 0);
    return made > 0;
}

static int executes(void)
{
    char *const arguments[] = {(char *)"nothing", NULL};
    /* if the call is allowed, it fails because there is no such file */
    execve("/nonexistent/program", arguments, arguments + 1);
    return errno == ENOENT;
}

static int traces(void)
{
    pid_t parent = getppid();
    int done = ptrace(PTRACE_SEIZE, parent, NULL, NULL) == 0;
    if (done)
        ptrace(PTRACE_DETACH, parent, NULL, NULL);
    return done;
}

static void try_all(void)
{
    uint32_t done = 0;
#define DID(name, what) done |= (uint32_t)((what) != 0) << TRY_##name
    DID(passwd, opens("/etc/passwd", O_RDONLY));
    DID(write_spec, opens(spec, O_WRONLY));
    DID(new_file, opens(fresh, O_WRONLY | O_CREAT));
    DID(socket_inet, connects(AF_INET));
    DID(socket_unix, connects(AF_UNIX));
    DID(fork_, forks());
    DID(exec, executes());
    DID(kill_, kill(getppid(), 0) == 0);
    DID(ptrace_, traces());
    __atomic_fetch_or(&report->done, done, __ATOMIC_RELAXED);
}

/* Sends the head of an output of 100 bytes to each socket, and never the bytes. */
static void stall(void)
{
    const uint64_t head[2] = {0, 100};
    for (int fd = 3; fd < 256; fd++)
        if (send(fd, head, sizeof head, MSG_NOSIGNAL) == sizeof head)
            __atomic_fetch_or(&report->done, 1, __ATOMIC_RELAXED);
    for (;;)
        pause();
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    static time_t passed;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    const int result = real(clock, now);
    if (report && strcmp(acts, "stall") == 0 && __atomic_load_n(&report->done, __ATOMIC_RELAXED) &&
        report->pid != (uint32_t)getpid())
        now->tv_sec += passed += 36000; /* ten hours for each call, because the command may begin to wait late */
    return result;
}

int fegetenv(fenv_t *to)
{
    if (report) {
        report->pid = (uint32_t)getpid();
        uint32_t before = __atomic_fetch_add(&report->launches, 1, __ATOMIC_RELAXED);
        if (strcmp(acts, "try") == 0 && before < 8)
            try_all();
        if (strcmp(acts, "crash") == 0)
            raise(SIGSEGV);
        if (strcmp(acts, "stall") == 0)
            stall();
        while (strcmp(acts, "hang") == 0)
            pause();
    }
    return real_fegetenv(to);
}

long syscall(long number, ...)
{
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    int named = number == SYS_seccomp || number == 444 /* landlock_create_ruleset */;
    if (named && strcmp(acts, "deny") == 0) {
        errno = ENOSYS;
        return -1;
    }
    return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
