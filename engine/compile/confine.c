/* confine.c - limits what a worker process may access, before it gets a source. NVRTC tokenises in its own way, so a
 * source may name a file that includes.c does not find; only the kernel can prevent the compiler from opening it. By
 * then everything that NVRTC needs is loaded, except the CUDA headers. */
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
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "compile_internal.h"

/* ---- Landlock (kernel 5.13 and later); declared here, because <linux/landlock.h> may be absent or older ---- */

#ifndef __NR_landlock_create_ruleset /* the same numbers on every architecture */
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif

enum { RULE_PATH_BENEATH = 1, CREATE_RULESET_VERSION = 1 };
enum { FS_READ_FILE = 1 << 2, FS_READ_DIR = 1 << 3 };
enum { FS_WRITE_FILE = 1 << 1, FS_REMOVE_FILE = 1 << 5, FS_MAKE_REG = 1 << 8, FS_TRUNCATE = 1 << 14 };

/* Later versions added fields at the end; the size says how many there are. */
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
    if (fd >= 0 && fstat(fd, &info) == 0) { /* a missing file needs no rule */
        path_rule rule = {.allowed = FS_READ_FILE, .folder = fd};
        if (S_ISDIR(info.st_mode))
            rule.allowed |= FS_READ_DIR | more;
        good = syscall(__NR_landlock_add_rule, rules, RULE_PATH_BENEATH, &rule, 0) == 0;
    }
    if (fd >= 0)
        close(fd);
    return good;
}

static bool use_landlock(const char *const *readable, size_t count, const char *writable, char *how, size_t room)
{
    /* All rights that each version can take away; all of them are taken. */
    static const uint64_t files[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
    long version = syscall(__NR_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
    if (version < 1) {
        snprintf(how, room, "Landlock: %s", strerror(errno));
        return false;
    }
    size_t known = (size_t)version < KILN__COUNT(files) ? (size_t)version : KILN__COUNT(files) - 1;
    ruleset wanted = {.fs = files[known], .net = version >= 4 ? 3 : 0, .scoped = version >= 6 ? 3 : 0};
    size_t size = version >= 6 ? sizeof wanted : version >= 4 ? 2 * sizeof wanted.fs : sizeof wanted.fs;
    int rules = (int)syscall(__NR_landlock_create_ruleset, &wanted, size, 0);
    bool good = rules >= 0;
    for (size_t i = 0; i < count && good; i++)
        good = !readable[i] || !*readable[i] || allow(rules, readable[i], 0);
    if (writable && good)
        good = allow(rules, writable, (FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG | FS_TRUNCATE) & wanted.fs);
    good = good && syscall(__NR_landlock_restrict_self, rules, 0) == 0;
    snprintf(how, room, good ? "Landlock, version %ld" : "Landlock, version %ld: %s", version, strerror(errno));
    if (rules >= 0)
        close(rules);
    return good;
}

/* ---- without Landlock: a mount namespace that has only the readable folders ---- */

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return good;
}

/* Makes every folder of `path` (absolute) below the current one. */
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
        return true; /* a library, which is loaded already */
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path || *path != '/')
        return false;
    if (!make_folders(path) || mount(folder, path + 1, NULL, MS_BIND, NULL) != 0 || statvfs(path + 1, &flags) != 0)
        return false;
    /* The flags of the mount must be kept; ST_ and MS_ are the same bits for these. The mode of access times is kept
     * automatically. */
    if (writable)
        return true;
    unsigned long kept = flags.f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC);
    return mount(NULL, path + 1, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | kept, NULL) == 0;
}

static bool use_namespace(const char *const *readable, size_t count, const char *writable, char *how, size_t room)
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
        /* The new root hides the folder on which it is mounted, so use "/proc", in which there are no headers. */
        good = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
        good = good && mount("kiln", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=1m,mode=755") == 0 &&
               chdir("/proc") == 0;
        for (size_t i = 0; i < count && good; i++)
            good = !readable[i] || !*readable[i] || bind_folder(readable[i], false);
        good = good && (!writable || bind_folder(writable, true));
    }
    if (good) {
        step = "pivot_root";
        good = syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0 &&
               mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
    }
    snprintf(how, room, good ? "a namespace" : "a namespace: %s: %s", step, strerror(errno));
    return good;
}

/* ---- in both cases: no programs, no connections, no other processes ---- */

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif

static bool refuse_calls(void)
{
#ifdef THIS_ARCH
#define REFUSE(number)                                                                                                 \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
    static const struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef __x86_64__ /* the numbers of x32 */
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
#endif
        REFUSE(SYS_socket),
        REFUSE(SYS_connect),
        REFUSE(SYS_bind),
        REFUSE(SYS_execve),
        REFUSE(SYS_execveat),
#if !KILN__SANITIZED /* the leak checker needs it */
        REFUSE(SYS_ptrace),
#endif
        REFUSE(SYS_process_vm_readv),
        REFUSE(SYS_process_vm_writev),
        REFUSE(SYS_unshare),
        REFUSE(SYS_setns),
        REFUSE(SYS_mount),
        REFUSE(SYS_umount2),
        REFUSE(SYS_pivot_root),
        REFUSE(SYS_chroot),
        REFUSE(425 /* io_uring_setup: it could open files without this filter */),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = KILN__COUNT(filter), .filter = (struct sock_filter *)(uintptr_t)filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
#else
    return false;
#endif
}

/* Landlock and seccomp hold for the calling thread and threads that it starts later, not for those that a library has
 * started before. */
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

bool kiln__confine(const char *const *readable, size_t count, const char *writable, char *how, size_t room)
{
    const char *forced = getenv("KILN_CONFINE"); /* "namespace", "none": for tests, or if Landlock does not work */
    char first[128] = "", second[128] = "";
    if (forced && strcmp(forced, "none") == 0) {
        snprintf(how, room, "switched off by KILN_CONFINE");
        return false;
    }
    size_t threads = thread_count();
    if (threads > 1 && !KILN__SANITIZED) {
        snprintf(how, room, "NVRTC started %zu threads when it was loaded", threads - 1);
        return false;
    }
    tzset(); /* reads a file; NVRTC would do so at its first message */
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    bool try_landlock = !forced || strcmp(forced, "namespace") != 0;
    bool good = try_landlock && use_landlock(readable, count, writable, first, sizeof first);
    if (!good)
        good = use_namespace(readable, count, writable, second, sizeof second);
    bool calls = refuse_calls();
    if (good)
        snprintf(how, room, "%s%s", *second ? second : first, calls ? ", seccomp" : "");
    else
        snprintf(how, room, "%s%s%s", first, *first ? "; " : "", second);
    return good;
}
