/* confine.c - limits the rights of a process for the rest of its life. Two kinds of processes confine themselves.
 *
 * A compile worker confines itself before it receives a source. NVRTC splits a source into tokens in its own way, so a
 * source may name a file that includes.c does not find. Only the operating system can prevent the compiler from opening
 * such a file. Before the worker confines itself, it has loaded everything that NVRTC needs, except the CUDA headers.
 *
 * A process that runs kernels on the simulated device confines itself before the first launch. The simulator checks
 * every access of a kernel. If a kernel finds a flaw in these checks, it controls a process with almost no rights,
 * because a short list names all allowed system calls. The library libseccomp could write the filter. But the list is
 * fixed and the filter takes 100 lines, so a dependency would add more code than it saves. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "confine.h"

/* ---- Landlock (kernel 5.13 and later); declared here, because <linux/landlock.h> may be absent or older ---- */

#ifndef __NR_landlock_create_ruleset /* the numbers of these calls are the same on every architecture */
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif

enum { RULE_PATH_BENEATH = 1, CREATE_RULESET_VERSION = 1 };
enum { FS_READ_FILE = 1 << 2, FS_READ_DIR = 1 << 3 };
enum { FS_WRITE_FILE = 1 << 1, FS_REMOVE_FILE = 1 << 5, FS_MAKE_REG = 1 << 8, FS_TRUNCATE = 1 << 14 };
enum { FS_REMOVE_DIR = 1 << 4, FS_MAKE_DIR = 1 << 7 };

/* The rules that Landlock gets. Later versions of Landlock added fields at the end, and the size tells how many fields
 * there are. */
typedef struct ruleset {
    uint64_t fs, net, scoped;
} ruleset;
typedef struct __attribute__((packed)) path_rule {
    uint64_t allowed;
    int32_t folder;
} path_rule;

static bool allow(int rules, const char *path, uint64_t more)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat info;
    bool good = true;
    if (fd >= 0 && fstat(fd, &info) == 0) { /* a missing file needs no rule in the ruleset */
        path_rule rule = {.allowed = FS_READ_FILE, .folder = fd};
        if (S_ISDIR(info.st_mode))
            rule.allowed |= FS_READ_DIR | more;
        good = syscall(__NR_landlock_add_rule, rules, RULE_PATH_BENEATH, &rule, 0) == 0;
    }
    if (fd >= 0)
        close(fd);
    return good;
}

static bool use_landlock(const kiln__confinement *want, char *how, size_t room)
{
    /* The rights that each version of Landlock can restrict, one number per version. Kiln restricts all of these
     * rights. */
    static const uint64_t files[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
    long version = syscall(__NR_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
    if (version < 1) {
        snprintf(how, room, "Landlock: %s", kiln__error_text(errno));
        return false;
    }
    size_t known = (size_t)version < KILN__COUNT(files) ? (size_t)version : KILN__COUNT(files) - 1;
    ruleset wanted = {.fs = files[known], .net = version >= 4 ? 3 : 0, .scoped = version >= 6 ? 3 : 0};
    size_t size = version >= 6 ? sizeof wanted : version >= 4 ? 2 * sizeof wanted.fs : sizeof wanted.fs;
    int rules = (int)syscall(__NR_landlock_create_ruleset, &wanted, size, 0);
    bool good = rules >= 0;
    uint64_t writing = FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG | FS_TRUNCATE;
    if (want->kernels)
        writing |= FS_REMOVE_DIR | FS_MAKE_DIR;
    for (size_t i = 0; i < want->count && good; i++)
        good = !want->readable[i] || !*want->readable[i] || allow(rules, want->readable[i], 0);
    if (want->writable && good)
        good = allow(rules, want->writable, writing & wanted.fs);
    good = good && syscall(__NR_landlock_restrict_self, rules, 0) == 0;
    snprintf(how, room, good ? "Landlock, version %ld" : "Landlock, version %ld: %s", version, kiln__error_text(errno));
    if (rules >= 0)
        close(rules);
    return good;
}

/* ---- if there is no Landlock: a mount namespace that has only the readable folders ---- */

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return good;
}

/* Makes every folder of the absolute path `path` below the current folder. */
static bool make_folders(char *path)
{
    for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        bool good = mkdir(path + 1, 0755) == 0 || errno == EEXIST;
        *at = '/';
        if (!good)
            return false;
    }
    return mkdir(path + 1, 0755) == 0 || errno == EEXIST;
}

static bool bind_folder(const char *folder, bool writable)
{
    char path[4096];
    struct stat info;
    struct statvfs flags;
    if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
        return true; /* `folder` is a library that is already loaded, so it needs no mount */
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path || *path != '/')
        return false;
    if (!make_folders(path) || mount(folder, path + 1, NULL, MS_BIND, NULL) != 0 || statvfs(path + 1, &flags) != 0)
        return false;
    /* A new mount must keep the flags of the old mount. The constants ST_ and MS_ have the same bits for these flags.
     * The system keeps the mode of access times automatically. */
    if (writable)
        return true;
    unsigned long kept = flags.f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC);
    return mount(NULL, path + 1, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | kept, NULL) == 0;
}

static bool use_namespace(const kiln__confinement *want, char *how, size_t room)
{
    char map[64];
    long user = (long)geteuid(), group = (long)getegid();
    const char *step = "unshare";
    bool good = unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC) == 0;
    if (good) {
        step = "uid_map";
        snprintf(map, sizeof map, "%ld %ld 1", user, user);
        good = write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", map);
        snprintf(map, sizeof map, "%ld %ld 1", group, group);
        good = good && write_text("/proc/self/gid_map", map);
    }
    if (good) {
        step = "mount";
        /* The new root hides the folder on which it is mounted. "/proc" contains no headers, so the new root may hide
         * it. */
        good = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
        good = good && mount("kiln", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=1m,mode=755") == 0 &&
               chdir("/proc") == 0;
        for (size_t i = 0; i < want->count && good; i++)
            good = !want->readable[i] || !*want->readable[i] || bind_folder(want->readable[i], false);
        good = good && (!want->writable || bind_folder(want->writable, true));
    }
    if (good) {
        step = "pivot_root";
        good = syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0 &&
               mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
    }
    snprintf(how, room, good ? "a namespace" : "a namespace: %s: %s", step, kiln__error_text(errno));
    return good;
}

/* ---- with Landlock and with a namespace: no programs, no connections, no other processes ---- */

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef THIS_ARCH
typedef struct filter {
    struct sock_filter lines[512];
    unsigned short count;
} filter;

static void add_line(filter *f, struct sock_filter line)
{
    if (f->count < KILN__COUNT(f->lines))
        f->lines[f->count] = line;
    f->count++; /* install() refuses a filter that is too long for its array */
}

static void put_return(filter *f, uint32_t answer)
{
    add_line(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
}

/* Writes the beginning of both filters, which refuses other calling conventions, because their numbers mean other
 * calls. */
static void put_head(filter *f)
{
    add_line(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    add_line(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0));
    put_return(f, SECCOMP_RET_ERRNO | EPERM);
    add_line(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
#ifdef __x86_64__ /* refuses the call numbers of x32 */
    add_line(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
    put_return(f, SECCOMP_RET_ERRNO | EPERM);
#endif
}

static void answer_call(filter *f, long number, uint32_t answer)
{
    add_line(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1));
    put_return(f, answer);
}

/* Allows a call if the lower half of an argument equals one of these values. The kernel reads only the lower half of
 * this argument. */
static void allow_values(filter *f, long number, unsigned argument, const uint32_t *values, unsigned count)
{
    add_line(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, (uint8_t)(2 * count + 2)));
    add_line(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             (uint32_t)offsetof(struct seccomp_data, args) + 8 * argument));
    for (unsigned i = 0; i < count; i++)
        answer_call(f, (long)values[i], SECCOMP_RET_ALLOW);
    put_return(f, SECCOMP_RET_ERRNO | EPERM);
}

/* Allows a call if an argument has none of the bits in `none` and all of the bits in `all`. */
static void allow_bits(filter *f, long number, unsigned argument, uint32_t none, uint32_t all)
{
    add_line(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 6));
    add_line(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             (uint32_t)offsetof(struct seccomp_data, args) + 8 * argument));
    add_line(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, none, 3, 0));
    add_line(f, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, all));
    add_line(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, all, 0, 1));
    put_return(f, SECCOMP_RET_ALLOW);
    put_return(f, SECCOMP_RET_ERRNO | EPERM);
}

/* Installs a filter in all threads of the process. For a process with a filter, Linux before 5.16 switches off
 * speculative stores, which costs several percent of the speed. SPEC_ALLOW prevents this, because switching them off
 * protects only secrets that this process does not have. */
static bool install(const filter *f)
{
    struct sock_fprog program = {.len = f->count, .filter = (struct sock_filter *)(uintptr_t)f->lines};
    if (f->count > KILN__COUNT(f->lines)) {
        errno = E2BIG;
        return false;
    }
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                          SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
    if (result > 0) /* the result is the number of a thread that has another filter */
        errno = EBUSY;
    return result == 0;
}

/* Writes a filter that refuses the listed calls and allows all others. This filter is for a compiler, because nobody
 * knows exactly which calls it makes. */
static void refuse_some(filter *f)
{
    static const long refused[] = {
        SYS_socket,
        SYS_connect,
        SYS_bind,
        SYS_execve,
        SYS_execveat,
#if !KILN__SANITIZED /* the leak checker of the sanitizers needs this call */
        SYS_ptrace,
#endif
        SYS_process_vm_readv,
        SYS_process_vm_writev,
        SYS_unshare,
        SYS_setns,
        SYS_mount,
        SYS_umount2,
        SYS_pivot_root,
        SYS_chroot,
        425 /* io_uring_setup, because io_uring can open files past this filter */
    };
    for (size_t i = 0; i < KILN__COUNT(refused); i++)
        answer_call(f, refused[i], SECCOMP_RET_ERRNO | EPERM);
    put_return(f, SECCOMP_RET_ALLOW);
}

/* Writes a filter that allows the listed calls and refuses all others. This filter is for processes that run kernels of
 * the simulated device. Calls that name a file by its path can only read, and Landlock decides which files these calls
 * may open. If `writes` is true, Landlock allows writing in one folder only, so the filter also allows calls that
 * write. */
static void allow_some(filter *f, bool executes, bool writes)
{
    static const long allowed[] = {
        /* calls for memory, threads and time, in the order of their frequency */
        SYS_futex,
        SYS_munmap,
        SYS_madvise,
        SYS_brk,
        SYS_mremap,
        SYS_set_robust_list,
        SYS_sched_yield,
        SYS_sched_getaffinity,
        SYS_clock_gettime,
        SYS_clock_getres,
        SYS_clock_nanosleep,
        SYS_nanosleep,
        SYS_gettimeofday,
        SYS_getcpu,
        SYS_getrandom,
        SYS_sysinfo,
        SYS_uname,
        SYS_getrusage,
        SYS_exit,
        SYS_exit_group,
        SYS_restart_syscall,
        SYS_membarrier,
        SYS_timer_settime,
        SYS_timer_gettime,
#ifdef SYS_rseq
        SYS_rseq,
#endif
        /* system calls by which the process asks about itself */
        SYS_getpid,
        SYS_getppid,
        SYS_gettid,
        SYS_getuid,
        SYS_geteuid,
        SYS_getgid,
        SYS_getegid,
        /* calls for signals that reach the process */
        SYS_rt_sigaction,
        SYS_rt_sigprocmask,
        SYS_rt_sigreturn,
        SYS_sigaltstack,
        SYS_memfd_create, /* makes memory with a descriptor, for large buffers of the simulated device */
        /* calls that use descriptors that the process already has */
        SYS_read,
        SYS_write,
        SYS_readv,
        SYS_writev,
        SYS_pread64,
        SYS_lseek,
        SYS_close,
        SYS_fstat,
        SYS_dup,
        SYS_fsync,
        SYS_recvfrom,
        SYS_recvmsg,
        SYS_sendto,
        SYS_sendmsg,
        SYS_shutdown,
        SYS_ppoll,
        SYS_pselect6,
        SYS_fstatfs,
        SYS_getdents64,
        SYS_eventfd2,
        SYS_pipe2,
        /* calls that ask about names of files, and whether files exist */
        SYS_newfstatat,
        SYS_statx,
        SYS_readlinkat,
        SYS_faccessat,
        439 /* faccessat2 */,
        SYS_getcwd,
        /* waits for the end of a child */
        SYS_wait4,
        SYS_waitid,
#ifdef __x86_64__ /* older names of some of these calls */
        SYS_stat,
        SYS_lstat,
        SYS_access,
        SYS_readlink,
        SYS_poll,
        SYS_select,
        SYS_time,
        SYS_getrlimit,
#endif
    };
    static const long writing[] = {
        SYS_openat, SYS_mkdirat,   SYS_unlinkat,  SYS_renameat, SYS_renameat2, SYS_linkat,
        SYS_fchmod, SYS_ftruncate, SYS_fallocate,
#ifdef __x86_64__
        SYS_open,   SYS_mkdir,     SYS_rmdir,     SYS_unlink,   SYS_rename,    SYS_link,
#endif
    };
    enum { WRITE_FLAGS = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY) };
    for (size_t i = 0; i < KILN__COUNT(allowed); i++)
        answer_call(f, allowed[i], SECCOMP_RET_ALLOW);
    uint32_t forbidden = executes ? 0 : PROT_EXEC;
    allow_bits(f, SYS_mmap, 2, forbidden, 0);
    allow_bits(f, SYS_mprotect, 2, forbidden, 0);
    /* The filter allows new threads, but no new processes. The filter cannot read the arguments of clone3. Because of
     * ENOSYS the C library uses clone instead. */
    answer_call(f, 435 /* clone3 */, SECCOMP_RET_ERRNO | ENOSYS);
    allow_bits(f, SYS_clone, 0, CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS,
               CLONE_VM | CLONE_THREAD | CLONE_SIGHAND);
    allow_values(f, SYS_tgkill, 0, (const uint32_t[]){(uint32_t)getpid()}, 1); /* abort() and raise() */
    /* F_SETOWN is missing, because it lets the system send signals to other processes. */
    static const uint32_t commands[] = {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC};
    allow_values(f, SYS_fcntl, 1, commands, KILN__COUNT(commands));
    /* The allowed requests ask whether a descriptor is a terminal, and how wide the terminal is. TIOCSTI is missing,
     * because it would type into the terminal. */
    static const uint32_t terminal[] = {TCGETS, TIOCGWINSZ};
    allow_values(f, SYS_ioctl, 1, terminal, KILN__COUNT(terminal));
    static const uint32_t names[] = {PR_SET_NAME};
    allow_values(f, SYS_prctl, 0, names, KILN__COUNT(names));
    /* the C library may query limits, but not set a new limit */
    allow_values(f, SYS_prlimit64, 2, (const uint32_t[]){0}, 1);
    for (size_t i = 0; writes && i < KILN__COUNT(writing); i++)
        answer_call(f, writing[i], SECCOMP_RET_ALLOW);
    allow_bits(f, SYS_openat, 2, WRITE_FLAGS, 0);
#ifdef __x86_64__
    allow_bits(f, SYS_open, 1, WRITE_FLAGS, 0);
#endif
    put_return(f, SECCOMP_RET_ERRNO | EPERM);
}
#endif

static bool refuse_calls(const kiln__confinement *want, bool files)
{
#ifdef THIS_ARCH
    filter f = {.count = 0};
    put_head(&f);
    if (want->kernels)
        allow_some(&f, want->executes, want->writable && files);
    else
        refuse_some(&f);
    return install(&f);
#else
    (void)want;
    (void)files;
    errno = ENOSYS;
    return false;
#endif
}

/* Returns the number of threads of the process. Landlock and namespaces apply to the calling thread and to threads that
 * it starts later. They do not apply to threads that a library has started before. */
static size_t thread_count(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *item; folder && (item = readdir(folder)) != NULL;)
        count += item->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

/* Returns true if KILN_CONFINE=none switches confinement off. This is for tests, and for systems where confinement
 * causes problems. */
static bool is_off(char *how, size_t room)
{
    const char *forced = getenv("KILN_CONFINE");
    bool off = forced && strcmp(forced, "none") == 0;
    if (off)
        snprintf(how, room, "switched off by KILN_CONFINE");
    return off;
}

/* Tries the first system calls of confinement, because a container may forbid mechanisms that the kernel offers. */
unsigned kiln__confine_look(char *how, size_t room)
{
    if (is_off(how, room))
        return 0;
    char first[128];
    const uint32_t answer = SECCOMP_RET_ERRNO;
    long version = syscall(__NR_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
    if (version < 1)
        snprintf(first, sizeof first, "Landlock: %s", kiln__error_text(errno));
    else
        snprintf(first, sizeof first, "Landlock, version %ld", version);
#ifdef THIS_ARCH
    bool calls = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &answer) == 0;
#else
    bool calls = false;
    (void)answer;
    errno = ENOSYS;
#endif
    const char *why = calls ? "seccomp" : kiln__error_text(errno);
    snprintf(how, room, "%s, %s%s", first, calls ? "" : "seccomp: ", why);
    return (version >= 1 ? KILN__CONFINED_FILES : 0) | (calls ? KILN__CONFINED_CALLS : 0);
}

unsigned kiln__confine(const kiln__confinement *want, char *how, size_t room)
{
    /* "namespace" is for tests, and for systems where Landlock does not work */
    const char *forced = getenv("KILN_CONFINE");
    char first[128] = "", second[128] = "";
    if (is_off(how, room))
        return 0;
    size_t threads = thread_count();
    bool alone = threads <= 1 || KILN__SANITIZED;
    if (!alone && !want->kernels) {
        snprintf(how, room, "NVRTC started %zu threads when it was loaded", threads - 1);
        return 0;
    }
    tzset(); /* tzset() reads a file, which the first message with a time would otherwise do later */
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    bool try_landlock = alone && (!forced || strcmp(forced, "namespace") != 0);
    if (!alone)
        snprintf(first, sizeof first, "Landlock: the process has %zu threads already", threads);
    bool files = try_landlock && use_landlock(want, first, sizeof first);
    /* a namespace changes the meaning of relative paths, so a process that runs kernels does not use one */
    if (!files && !want->kernels)
        files = use_namespace(want, second, sizeof second);
    bool calls = refuse_calls(want, files);
    const char *why = calls ? "seccomp" : kiln__error_text(errno);
    if (want->kernels)
        snprintf(how, room, "%s%s%s%s", first, *first ? ", " : "", calls ? "" : "seccomp: ", why);
    else if (files)
        snprintf(how, room, "%s%s", *second ? second : first, calls ? ", seccomp" : "");
    else
        snprintf(how, room, "%s%s%s", first, *first ? "; " : "", second);
    return (files ? KILN__CONFINED_FILES : 0) | (calls ? KILN__CONFINED_CALLS : 0);
}
