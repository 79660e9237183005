/* Tests which files are opened and which are refused. A write must leave either the whole new file or the whole old
 * file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "check.h"

static char folder[64], before[4096];

static void enter(void)
{
    alarm(280); /* a call that waits for the other end of a FIFO fails the test here */
    snprintf(folder, sizeof folder, "/tmp/kiln-files-XXXXXX");
    CHECK(getcwd(before, sizeof before) != NULL);
    CHECK(mkdtemp(folder) != NULL);
    CHECK(chdir(folder) == 0);
}

static void leave(void)
{
    char command[128];
    CHECK(chdir(before) == 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    alarm(0);
}

static void make(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0);
    CHECK(file && fclose(file) == 0);
}

static bool holds(const char *path, const char *text)
{
    char got[200] = "";
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(got, 1, sizeof got - 1, file) : 0;
    if (file)
        fclose(file);
    return file && length == strlen(text) && memcmp(got, text, length) == 0;
}

static size_t entries(const char *path)
{
    size_t count = 0;
    DIR *directory = opendir(path);
    for (const struct dirent *item; directory && (item = readdir(directory));)
        count += strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0;
    if (directory)
        closedir(directory);
    return count;
}

static void says(kiln_error *error, const char *text)
{
    if (!error || !strstr(kiln_error_message(error), text))
        CHECK_TEXT(error ? kiln_error_message(error) : "no error", text);
    kiln_error_free(error);
}

/* ---- reading ---- */

static void make_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    close(fd);
}

static void test_kinds(void)
{
    enter();
    CHECK(mkfifo("fifo", 0600) == 0 && mkdir("folder", 0700) == 0 && symlink("fifo", "link") == 0);
    make_socket("socket");
    static const char *const paths[][2] = {
        {"fifo", "fifo: is a FIFO (named pipe), not a regular file"},
        {"link", "link: is a FIFO (named pipe), not a regular file"},
        {"folder", "folder: is a folder, not a regular file"},
        {"socket", "socket: is a socket, not a regular file"},
        {"/dev/zero", "/dev/zero: is a character device, not a regular file"},
    };
    for (size_t i = 0; i < KILN__COUNT(paths); i++)
        for (int resolved = 0; resolved < 2; resolved++) {
            kiln_error *error = NULL;
            int fd = -1;
            CHECK(kiln__file_open(NULL, paths[i][0], resolved, &fd, &error) == KILN_ERROR_IO && fd == -1);
            says(error, paths[i][1]);
        }
    char *data = NULL;
    size_t length;
    CHECK(kiln__file_read(NULL, "fifo", 0, &data, &length, NULL) == KILN_ERROR_IO && !data);
    CHECK(kiln__file_check(NULL, "fifo", NULL) == KILN_ERROR_IO);
    CHECK(kiln__file_check(NULL, "nothing", NULL) == KILN_OK);
    CHECK(kiln__file_read(NULL, "nothing", 0, &data, &length, NULL) == KILN_ERROR_NOT_FOUND);
    leave();
}

/* Tests a path whose file or folder becomes a link to a place outside, between the check of the path and its
 * opening. */
static void test_resolved(void)
{
    enter();
    CHECK(mkdir("inside", 0700) == 0 && mkdir("inside/deep", 0700) == 0 && mkdir("outside", 0700) == 0);
    make("inside/deep/a", "inside");
    make("outside/a", "outside");
    char *path = realpath("inside/deep/a", NULL), *data = NULL;
    size_t length = 0;
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_read_resolved(NULL, path, 0, &data, &length, &error), error);
    CHECK_TEXT(data, "inside");
    kiln__free(NULL, data);
    data = NULL;
    CHECK(rename("inside/deep", "inside/old") == 0 && symlink("../outside", "inside/deep") == 0);
    CHECK(kiln__file_read_resolved(NULL, path, 0, &data, &length, &error) == KILN_ERROR_REFUSED && !data);
    says(error, "the path contains a symbolic link now");
    CHECK(unlink("inside/deep") == 0 && rename("inside/old", "inside/deep") == 0);
    CHECK(unlink("inside/deep/a") == 0 && symlink("../../outside/a", "inside/deep/a") == 0);
    CHECK(kiln__file_read_resolved(NULL, path, 0, &data, &length, NULL) == KILN_ERROR_REFUSED && !data);
    CHECK(kiln__file_read(NULL, path, 0, &data, &length, NULL) == KILN_OK); /* a user's own path may be a link */
    CHECK_TEXT(data, "outside");
    kiln__free(NULL, data);
    free(path);
    int fd;
    CHECK(kiln__file_open(NULL, "/", true, &fd, NULL) == KILN_ERROR_IO);
    leave();
}

static void test_below(void)
{
    enter();
    CHECK(mkdir("inside", 0700) == 0 && mkdir("insideout", 0700) == 0);
    make("inside/a", "inside");
    make("insideout/a", "outside");
    CHECK(symlink("../insideout/a", "inside/out") == 0 && symlink("a", "inside/in") == 0);
    char *base = realpath("inside", NULL), *data = NULL;
    const char *folders[] = {base};
    size_t length;
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_read_below(NULL, "inside/in", folders, 1, 0, &data, &length, &error), error);
    CHECK_TEXT(data, "inside");
    kiln__free(NULL, data);
    data = NULL;
    CHECK(kiln__file_read_below(NULL, "inside/out", folders, 1, 0, &data, &length, &error) == KILN_ERROR_REFUSED);
    says(error, "inside/out: leads to ");
    CHECK(kiln__file_read_below(NULL, "insideout/a", folders, 1, 0, &data, &length, NULL) == KILN_ERROR_REFUSED &&
          !data);
    CHECK(kiln__file_read_below(NULL, "inside/none", folders, 1, 0, &data, &length, NULL) == KILN_ERROR_NOT_FOUND);
    CHECK(kiln__path_below("/a/b", "/a") && kiln__path_below("/a", "/a/") && kiln__path_below("/a", "/"));
    CHECK(!kiln__path_below("/ab", "/a") && !kiln__path_below("/a", "") && !kiln__path_below("/", "/a"));
    free(base);
    leave();
}

/* ---- writing ---- */

/* Returns the path of a null device. If the test has the right, it makes its own null device, so that an error of the
 * code cannot destroy /dev/null of the machine. */
static const char *a_device(void)
{
    return mknod("device", S_IFCHR | 0666, (dev_t)(1 << 8 | 3)) == 0 ? "device" : "/dev/null";
}

/* Tests targets that a write refuses: devices, pipes, folders, links, and paths that do not exist. Each has its
 * message. */
static void test_targets(void)
{
    enter();
    const char *device = a_device();
    char want[3][200], *full = realpath(".", NULL);
    CHECK(mkfifo("fifo", 0600) == 0 && mkdir("folder", 0700) == 0 && symlink(device, "to-device") == 0);
    make("file", "old");
    CHECK(symlink("file", "link") == 0 && symlink("gone", "dangling") == 0);
    snprintf(want[0], sizeof want[0], "it leads to %s/file: name that file, or remove the link", full);
    snprintf(want[1], sizeof want[1], "%s: is a character device, and only regular files are written", device);
    snprintf(want[2], sizeof want[2], "%s, which is a character device", device);
    const char *const paths[][2] = {
        {"fifo", "fifo: is a FIFO (named pipe), and only regular files are written"},
        {"folder", "folder: is a folder, and only"},
        {"link", want[0]},
        {"dangling", "it leads to gone: name that file"},
        {device, want[1]},
        {"to-device", want[2]},
        {"none/file", "none/file: cannot create a file in the folder none: No such file or directory"},
        {"file/file", "file/file: cannot be written: Not a directory"},
    };
    for (size_t i = 0; i < KILN__COUNT(paths); i++) {
        kiln_error *error = NULL;
        CHECK(kiln__file_write(NULL, paths[i][0], "new", 3, &error) == KILN_ERROR_IO);
        says(error, paths[i][1]);
    }
    struct stat info;
    CHECK(lstat("fifo", &info) == 0 && S_ISFIFO(info.st_mode));
    CHECK(lstat("link", &info) == 0 && S_ISLNK(info.st_mode));
    CHECK(lstat(device, &info) == 0 && S_ISCHR(info.st_mode));
    CHECK(holds("file", "old") && access("gone", F_OK) != 0);
    CHECK(kiln_file_write("file", "new", 3, NULL) == KILN_OK && holds("file", "new"));
    CHECK(kiln_file_write("", "new", 3, NULL) == KILN_ERROR_ARGUMENT);
    CHECK(kiln_file_write("file", NULL, 3, NULL) == KILN_ERROR_ARGUMENT);
    free(full);
    leave();
}

/* Runs each of the following jobs in its own process, because a job sets limits for its process. */
typedef void (*job)(void);
static void alone(job run)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        unsigned failed = CU_get_number_of_failures();
        alarm(280);
        run();
        fflush(NULL);
        _exit(CU_get_number_of_failures() != failed);
    }
    int how = -1;
    CHECK(waitpid(child, &how, 0) == child);
    CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

/* Installs a filter that refuses O_TMPFILE, like a file system that cannot make files without names. Returns false if
 * that fails. */
static bool without_tmpfile(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 2 * sizeof(uint64_t)), /* flags */
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, O_TMPFILE),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_TMPFILE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {KILN__COUNT(code), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return false;
    return open(".", O_TMPFILE | O_WRONLY, 0600) < 0 && errno == EOPNOTSUPP;
}

static void modes(void)
{
    struct stat info;
    umask(027);
    CHECK(kiln__file_write(NULL, "new", "1", 1, NULL) == KILN_OK);
    CHECK(stat("new", &info) == 0 && (info.st_mode & 07777) == 0640);
    static const mode_t kept[] = {0600, 0666, 0755};
    for (size_t i = 0; i < KILN__COUNT(kept); i++) {
        CHECK(chmod("new", kept[i]) == 0 && kiln__file_write(NULL, "new", "2", 1, NULL) == KILN_OK);
        CHECK(stat("new", &info) == 0 && (info.st_mode & 07777) == kept[i]);
    }
    CHECK(holds("new", "2") && entries(".") == 1);
    CHECK(unlink("new") == 0);
}

static void modes_named(void)
{
    if (without_tmpfile())
        modes();
    else
        printf("SKIP seccomp: no seccomp here: temporary files with names are not tried\n");
}

static void guarded(void)
{
    if (geteuid() == 0) /* root may read and write in spite of every mode */
        CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    kiln_error *error = NULL;
    CHECK(kiln__file_write(NULL, "guarded", "new", 3, &error) == KILN_ERROR_IO);
    says(error, "guarded: cannot be written: Permission denied");
    error = NULL;
    CHECK(kiln__file_write(NULL, "closed/file", "new", 3, &error) == KILN_ERROR_IO);
    says(error, "closed/file: cannot create a file in the folder closed: Permission denied");
}

static void test_modes(void)
{
    enter();
    CHECK(mkdir("modes", 0777) == 0 && chdir("modes") == 0);
    alone(modes);
    alone(modes_named);
    CHECK(chdir("..") == 0 && chmod(".", 0777) == 0);
    make("guarded", "old");
    CHECK(chmod("guarded", 0444) == 0 && mkdir("closed", 0555) == 0);
    alone(guarded);
    CHECK(holds("guarded", "old"));
    leave();
}

/* Tests the longest possible name, and temporary names that exist already. */
static void test_names(void)
{
    enter();
    char name[256], taken[64];
    memset(name, 'x', 255);
    name[255] = '\0';
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_write(NULL, name, "long", 4, &error), error);
    CHECK(holds(name, "long") && entries(".") == 1);
    for (int i = 0; i < 60; i++) {
        snprintf(taken, sizeof taken, "file.tmp-%ld-%d", (long)getpid(), i);
        make(taken, "stale");
    }
    CHECK_OK(kiln__file_write(NULL, "file", "new", 3, &error), error);
    CHECK(holds("file", "new") && entries(".") == 62);
    leave();
}

static char large[200000];

static void limited(void)
{
    struct rlimit limit = {4096, 4096};
    kiln_error *error = NULL;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(kiln__file_write(NULL, "file", large, sizeof large, &error) == KILN_ERROR_IO);
    says(error, "file: cannot be written: File too large (the limit on the size of files: ulimit -f); the old file "
                "is unchanged");
    error = NULL;
    CHECK(kiln__file_write(NULL, "other", large, sizeof large, &error) == KILN_ERROR_IO);
    says(error, "other: cannot be written: File too large (the limit on the size of files: ulimit -f)");
    CHECK(holds("file", "old") && entries(".") == 1);
}

static void limited_named(void)
{
    if (without_tmpfile())
        limited();
}

static void test_limit(void)
{
    enter();
    make("file", "old");
    alone(limited);
    alone(limited_named);
    leave();
}

static bool put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return done;
}

/* Mounts a small disk that only this process sees. If the process may not mount, a user namespace may give it the
 * right. */
static bool mount_disk(void)
{
    char users[40], groups[40];
    bool root = geteuid() == 0;
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    return unshare((root ? 0 : CLONE_NEWUSER) | CLONE_NEWNS) == 0 &&
           (root || (put("/proc/self/setgroups", "deny") && put("/proc/self/uid_map", users) &&
                     put("/proc/self/gid_map", groups))) &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mount("none", "disk", "tmpfs", 0, "size=64k") == 0;
}

static void full(void)
{
    if (!mount_disk()) {
        printf("SKIP mount: no file system can be mounted here: %s\n", strerror(errno));
        return;
    }
    CHECK(chdir("disk") == 0);
    kiln_error *error = NULL;
    CHECK(kiln__file_write(NULL, "file", "old", 3, NULL) == KILN_OK);
    CHECK(kiln__file_write(NULL, "file", large, sizeof large, &error) == KILN_ERROR_IO);
    says(error, "file: cannot be written: No space left on device; the old file is unchanged");
    CHECK(holds("file", "old") && entries(".") == 1);
    if (!without_tmpfile())
        return;
    CHECK(kiln__file_write(NULL, "file", large, sizeof large, NULL) == KILN_ERROR_IO);
    CHECK(holds("file", "old") && entries(".") == 1);
}

static void test_full_disk(void)
{
    enter();
    CHECK(mkdir("disk", 0700) == 0);
    alone(full);
    leave();
}

/* Tests that a process that ends in the middle of writing leaves no part of the file. This needs a file system that can
 * make files without names. */
static void test_killed(void)
{
    enter();
    int probe = open(".", O_TMPFILE | O_WRONLY, 0600), pipes[2];
    if (probe < 0)
        printf("SKIP file-system: no files without names in /tmp: %s\n", strerror(errno));
    make("file", "old");
    CHECK(pipe(pipes) == 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        kiln__output out;
        bool begun = kiln__output_begin(NULL, "file", &out, NULL) == KILN_OK &&
                     kiln__output_add(&out, large, sizeof large, NULL) == KILN_OK;
        (void)!write(pipes[1], &begun, 1);
        pause();
        _exit(1);
    }
    bool begun = false;
    CHECK(read(pipes[0], &begun, 1) == 1 && begun);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    CHECK(holds("file", "old"));
    CHECK(probe < 0 || entries(".") == 1);
    close(pipes[0]);
    close(pipes[1]);
    if (probe >= 0)
        close(probe);
    leave();
}

/* Tests that a write does not replace a file that another process has made under the same name meanwhile. */
static void test_meanwhile(void)
{
    enter();
    kiln__output out;
    kiln_error *error = NULL;
    struct stat info;
    CHECK(kiln__output_begin(NULL, "file", &out, NULL) == KILN_OK);
    CHECK(kiln__output_add(&out, "new", 3, NULL) == KILN_OK);
    CHECK(mkfifo("file", 0600) == 0);
    CHECK(kiln__output_finish(&out, &error) == KILN_ERROR_IO);
    says(error, "file: is a FIFO");
    CHECK(lstat("file", &info) == 0 && S_ISFIFO(info.st_mode) && entries(".") == 1);
    CHECK(unlink("file") == 0);
    CHECK(kiln__output_begin(NULL, "file", &out, NULL) == KILN_OK);
    kiln__output_drop(&out);
    CHECK(entries(".") == 0);
    leave();
}

static void test_oom(void)
{
    enter();
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_error *error = NULL;
        kiln_status status = kiln__file_write(&mem, "file", "new", 3, &error);
        CHECK(status == KILN_OK || (oom.failed && entries(".") == 0));
        kiln_error_free(error);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
    leave();
}

static const check_case cases[] = {{"kinds", test_kinds},          {"resolved paths", test_resolved},
                                   {"below a folder", test_below}, {"targets", test_targets},
                                   {"modes", test_modes},          {"names", test_names},
                                   {"limited size", test_limit},   {"full disk", test_full_disk},
                                   {"killed", test_killed},        {"meanwhile", test_meanwhile},
                                   {"out of memory", test_oom}};
KILN_SUITE("base files", cases)
