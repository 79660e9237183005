/* Tries in child processes which actions a confined process can still do. A process cannot undo its confinement. Needs no
 * NVRTC. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "confine.h"

static char folder[64], inside[96], header[128], outside[128];

enum { NOT_CONFINED = 100 }; /* this machine cannot confine a process */
/* Bits of actions that succeeded and should have failed. NO_READ: a read failed and should have succeeded. */
enum { READ_OUTSIDE = 1, NO_READ = 2, WROTE = 4, CONNECTED = 8, RAN = 16, LISTED = 32 };

static bool opens(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int what_is_possible(const char *kind)
{
    char how[256], beside[160];
    const char *readable[] = {NULL, "", inside, "/nonexistent/folder"};
    setenv("KILN_CONFINE", kind, 1);
    const kiln__confinement want = {.readable = readable, .count = KILN__COUNT(readable)};
    unsigned confined = kiln__confine(&want, how, sizeof how);
    if (!(confined & KILN__CONFINED_FILES)) {
        fprintf(stderr, "%s: not confined: %s\n", *kind ? kind : "default", how);
        return NOT_CONFINED;
    }
    int bits = 0;
    snprintf(beside, sizeof beside, "%s/new.h", inside);
    if (opens(outside, O_RDONLY) || opens("/etc/passwd", O_RDONLY) || opens("/proc/self/environ", O_RDONLY))
        bits |= READ_OUTSIDE;
    /* in a namespace / is an empty folder, which may be listed */
    if (opens("/", O_RDONLY | O_DIRECTORY) && strcmp(kind, "namespace") != 0)
        bits |= LISTED;
    if (!opens(header, O_RDONLY))
        bits |= NO_READ;
    if (opens(header, O_WRONLY) || opens(beside, O_WRONLY | O_CREAT) || opens(outside, O_WRONLY | O_CREAT) ||
        unlink(header) == 0 || mkdir(beside, 0700) == 0 || opens("/tmp/kiln-confine-new", O_WRONLY | O_CREAT))
        bits |= WROTE;
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
        bits |= CONNECTED;
    char *const arguments[] = {(char *)"true", NULL};
    execv("/bin/true", arguments); /* if the call works, the process exits with 0 */
    if (errno != EPERM && errno != EACCES)
        bits |= RAN;
    return bits;
}

static void try(const char *kind)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(64 + what_is_possible(kind)); /* never 0, because 0 means that /bin/true ran */
    int how = 0;
    CHECK(waitpid(child, &how, 0) == child && WIFEXITED(how));
    int got = WEXITSTATUS(how) - 64;
    if (got == NOT_CONFINED)
        printf("SKIP confine: this machine cannot confine a process by %s\n", *kind ? kind : "anything");
    else if (got != 0)
        fprintf(stderr, "confined by '%s', yet possible: bits %d\n", kind, got);
    CHECK(got == 0 || got == NOT_CONFINED);
}

static void test_confined(void)
{
    try("");
    try("namespace");
}

/* ---- a process that runs kernels ---- */

enum kernel_bits {
    MAY_READ = 1,      /* a file outside could be read */
    MAY_NOT_READ = 2,  /* a file that the process should read could not be read */
    MAY_WRITE = 4,     /* a file outside of the writable folder could be written */
    MAY_NOT_WRITE = 8, /* a file in the writable folder could not be written */
    MAY_CONNECT = 16,
    MAY_START = 32, /* a process could be started */
    MAY_REACH = 64, /* another process could be reached: by signals, or in its memory */
    MAY_EXECUTE = 128,
    MAY_NOT_EXECUTE = 256,
    MAY_NOT_THREAD = 512,
    MAY_TYPE = 1024,   /* input could be put into the terminal */
    MAY_SIGNAL = 2048, /* another process could be signalled by a descriptor */
    UNCONFINED = 4096
};

typedef struct kernel_case {
    bool writes, executes, off; /* with `off` the process is not confined, so every action succeeds */
} kernel_case;

static void *work(void *user)
{
    char *made = malloc(1 << 20);
    *(bool *)user = made != NULL;
    free(made);
    return NULL;
}

static bool starts_thread(void)
{
    pthread_t thread;
    bool worked = false;
    return pthread_create(&thread, NULL, work, &worked) == 0 && pthread_join(thread, NULL) == 0 && worked;
}

static long fork_call(void)
{
#ifdef SYS_fork
    return syscall(SYS_fork);
#else
    errno = EPERM;
    return -1;
#endif
}

/* Tries a process that only exits, by each call that makes one. */
static bool starts_process(void)
{
    for (int i = 0; i < 3; i++) {
        long child = i == 0 ? fork() : i == 1 ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork_call();
        if (child == 0)
            _exit(0);
        if (child > 0) {
            waitpid((pid_t)child, NULL, 0);
            return true;
        }
    }
    char *const arguments[] = {(char *)"true", NULL};
    execv("/bin/true", arguments); /* if the call works, the process exits with 0, which means that it has no result */
    return errno != EPERM && errno != EACCES;
}

static bool reaches(pid_t parent)
{
    char byte = 0;
    struct iovec mine = {&byte, 1}, its = {(void *)(uintptr_t)&header, 1};
    return kill(parent, 0) == 0 || kill(-1, 0) == 0 || syscall(SYS_tgkill, parent, parent, 0) == 0 ||
           syscall(SYS_pidfd_open, parent, 0) >= 0 || process_vm_readv(parent, &mine, 1, &its, 1, 0) == 1 ||
           ptrace(PTRACE_SEIZE, parent, NULL, NULL) == 0;
}

/* Tries every forbidden action in a confined process. Returns the bits of the actions that succeeded. */
static unsigned what_kernels_can(const kernel_case *c, pid_t parent)
{
    char how[256], beside[160];
    unsigned bits = 0;
    const char *readable[] = {NULL, inside};
    const kiln__confinement want = {.readable = readable,
                                    .count = KILN__COUNT(readable),
                                    .writable = c->writes ? inside : NULL,
                                    .kernels = true,
                                    .executes = c->executes};
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned whole = KILN__CONFINED_FILES | KILN__CONFINED_CALLS;
    if (!c->off && kiln__confine(&want, how, sizeof how) != whole) {
        fprintf(stderr, "not confined: %s\n", how);
        return UNCONFINED;
    }
    snprintf(beside, sizeof beside, "%s/new", inside);
    if (opens(outside, O_RDONLY) || opens("/etc/passwd", O_RDONLY) || opens("/proc/self/environ", O_RDONLY) ||
        opens("/", O_RDONLY | O_DIRECTORY))
        bits |= MAY_READ;
    if (!opens(header, O_RDONLY))
        bits |= MAY_NOT_READ;
    if (opens(outside, O_WRONLY) || opens(outside, O_RDWR) || opens("/tmp/kiln-confine-new", O_WRONLY | O_CREAT) ||
        (!c->writes && (opens(header, O_WRONLY) || opens(header, O_RDONLY | O_TRUNC) || mkdir(beside, 0700) == 0)) ||
        rename(outside, "/tmp/kiln-confine-moved") == 0 || chmod(outside, 0777) == 0)
        bits |= MAY_WRITE;
    if (c->writes &&
        (!opens(beside, O_WRONLY | O_CREAT) || unlink(beside) != 0 || mkdir(beside, 0700) != 0 || rmdir(beside) != 0 ||
         kiln__file_write(NULL, beside, "b", 1, NULL) != KILN_OK || unlink(beside) != 0))
        bits |= MAY_NOT_WRITE;
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
        bits |= MAY_CONNECT;
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0)
        bits |= c->executes ? 0 : MAY_EXECUTE;
    else
        bits |= c->executes ? MAY_NOT_EXECUTE : 0;
    if (!starts_thread())
        bits |= MAY_NOT_THREAD;
    if (ioctl(0, TIOCSTI, "x") == 0 || errno != EPERM)
        bits |= MAY_TYPE;
    if (fcntl(0, F_SETOWN, parent) == 0)
        bits |= MAY_SIGNAL;
    if (reaches(parent))
        bits |= MAY_REACH;
    return starts_process() ? bits | MAY_START : bits;
}

static unsigned try_kernels(const kernel_case *c)
{
    int pipes[2], how = 0;
    unsigned bits = 0;
    pid_t parent = getpid();
    fflush(NULL);
    CHECK(pipe(pipes) == 0);
    pid_t child = fork();
    if (child == 0) {
        bits = what_kernels_can(c, parent);
        (void)!write(pipes[1], &bits, sizeof bits);
        _exit(0);
    }
    CHECK(waitpid(child, &how, 0) == child && how == 0);
    CHECK(read(pipes[0], &bits, sizeof bits) == sizeof bits);
    close(pipes[0]);
    close(pipes[1]);
    return bits;
}

static void test_kernels(void)
{
    if (KILN__SANITIZED) {
        printf("SKIP build: sanitizers need calls that such a process has not\n");
        return;
    }
    for (int i = 0; i < 4; i++) {
        const kernel_case c = {.writes = i & 1, .executes = i & 2};
        unsigned bits = try_kernels(&c);
        if (bits == UNCONFINED)
            printf("SKIP confine: this machine cannot confine a process that runs kernels\n");
        else
            CHECK(bits == 0);
    }
    /* an unconfined control: if it fails, the other runs prove nothing */
    unsigned bits = try_kernels(&(kernel_case){.off = true});
    const unsigned possible = MAY_READ | MAY_WRITE | MAY_CONNECT | MAY_START | MAY_REACH | MAY_EXECUTE | MAY_SIGNAL;
    CHECK((bits & possible) == possible);
    CHECK(kiln__file_write(NULL, outside, "s", 1, NULL) == KILN_OK &&
          kiln__file_write(NULL, header, "a", 1, NULL) == KILN_OK);
    unlink("/tmp/kiln-confine-new");
    unlink("/tmp/kiln-confine-moved");
}

/* Tests that abort() still ends the process by its signal, which a message names. */
static void test_abort(void)
{
    int how = 0;
    char text[256];
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (!KILN__SANITIZED)
            kiln__confine(&(kiln__confinement){.kernels = true}, text, sizeof text);
        abort();
    }
    CHECK(waitpid(child, &how, 0) == child && WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
}

/* Tests a thread that existed before the confinement. It keeps its right to open files, and the result reports this.
 * Its system calls are limited too. */
static pthread_barrier_t confined_now;
static void *earlier(void *user)
{
    pthread_barrier_wait(&confined_now);
    *(bool *)user = socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || opens(outside, O_WRONLY);
    return NULL;
}

static void test_threads(void)
{
    int how = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        char text[256];
        bool did = true;
        pthread_barrier_init(&confined_now, NULL, 2);
        pthread_create(&thread, NULL, earlier, &did);
        unsigned got = kiln__confine(&(kiln__confinement){.kernels = true}, text, sizeof text);
        pthread_barrier_wait(&confined_now);
        pthread_join(thread, NULL);
        _exit(KILN__SANITIZED || got == 0                                        ? 77
              : got == KILN__CONFINED_CALLS && strstr(text, "2 threads") && !did ? 0
                                                                                 : 1);
    }
    CHECK(waitpid(child, &how, 0) == child && WIFEXITED(how));
    if (WEXITSTATUS(how) == 77)
        printf("SKIP confine: this machine cannot limit system calls\n");
    else
        CHECK(WEXITSTATUS(how) == 0);
}

/* Tests that the result reports it if the user has switched the confinement off. */
static void test_off(void)
{
    char how[256];
    setenv("KILN_CONFINE", "none", 1);
    CHECK(!kiln__confine(&(kiln__confinement){.kernels = false}, how, sizeof how));
    CHECK(!kiln__confine(&(kiln__confinement){.kernels = true}, how, sizeof how));
    CHECK(strstr(how, "KILN_CONFINE") != NULL && opens("/etc/passwd", O_RDONLY));
    unsetenv("KILN_CONFINE");
}

static void set_up(void)
{
    strcpy(folder, "/tmp/kiln-confine-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(inside, sizeof inside, "%s/inside", folder);
    snprintf(header, sizeof header, "%s/a.h", inside);
    snprintf(outside, sizeof outside, "%s/secret.h", folder);
    CHECK(mkdir(inside, 0700) == 0);
    CHECK(kiln__file_write(NULL, header, "a", 1, NULL) == KILN_OK &&
          kiln__file_write(NULL, outside, "s", 1, NULL) == KILN_OK);
}

static void tear_down(void)
{
    CHECK(unlink(header) == 0 && unlink(outside) == 0 && rmdir(inside) == 0 && rmdir(folder) == 0);
}

static const check_case cases[] = {{"set up", set_up},      {"confined", test_confined}, {"kernels", test_kernels},
                                   {"abort", test_abort},   {"threads", test_threads},   {"off", test_off},
                                   {"tear down", tear_down}};
KILN_SUITE("confine", cases)
