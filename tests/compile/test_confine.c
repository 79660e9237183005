/* What a confined process can still do: tried in children, since it is for ever. Needs no NVRTC. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "compile_internal.h"

static char folder[64], inside[96], header[128], outside[128];

enum { NOT_CONFINED = 100 }; /* this machine cannot; else the bits of what was possible and should not be */
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
    bool confined = kiln__confine(readable, sizeof readable / sizeof *readable, NULL, how, sizeof how);
    if (!confined) {
        fprintf(stderr, "%s: not confined: %s\n", *kind ? kind : "default", how);
        return NOT_CONFINED;
    }
    int bits = 0;
    snprintf(beside, sizeof beside, "%s/new.h", inside);
    if (opens(outside, O_RDONLY) || opens("/etc/passwd", O_RDONLY) || opens("/proc/self/environ", O_RDONLY))
        bits |= READ_OUTSIDE;
    if (opens("/", O_RDONLY | O_DIRECTORY) && strcmp(kind, "namespace") != 0) /* there it is an empty one */
        bits |= LISTED;
    if (!opens(header, O_RDONLY))
        bits |= NO_READ;
    if (opens(header, O_WRONLY) || opens(beside, O_WRONLY | O_CREAT) || opens(outside, O_WRONLY | O_CREAT) ||
        unlink(header) == 0 || mkdir(beside, 0700) == 0 || opens("/tmp/kiln-confine-new", O_WRONLY | O_CREAT))
        bits |= WROTE;
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
        bits |= CONNECTED;
    char *const arguments[] = {(char *)"true", NULL};
    execv("/bin/true", arguments); /* which would exit with 0 */
    if (errno != EPERM && errno != EACCES)
        bits |= RAN;
    return bits;
}

static void try(const char *kind)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(64 + what_is_possible(kind)); /* so that /bin/true's 0 is a failure too */
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

/* Who switches it off is told so. */
static void test_off(void)
{
    char how[256];
    setenv("KILN_CONFINE", "none", 1);
    CHECK(!kiln__confine(NULL, 0, NULL, how, sizeof how));
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

static const check_case cases[] = {
    {"set up", set_up}, {"confined", test_confined}, {"off", test_off}, {"tear down", tear_down}};
KILN_SUITE("confine", cases)
