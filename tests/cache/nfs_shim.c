/* nfs_shim.c - LD_PRELOAD: file operations as a network file system may answer them. $KILN_NFS is a list of words. Each may
 * be followed by `=PERCENT` of the calls (100 if absent), which $KILN_NFS_SEED selects.
 *
 *   hidden   if openat() for reading found nothing, it finds nothing for a while (cached look-ups)
 *   stale    read() fails with ESTALE, because the file was replaced on the server
 *   again    renameat() succeeds and returns ENOENT; openat() with O_EXCL creates and returns EEXIST (a request sent twice)
 *   full     fsync() fails with ENOSPC, as for writes that were not sent yet
 *   back     the time of modification jumps by two hours, in either direction
 *   locks    flock() does not lock out other processes
 *   type     statfs() reports NFS */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))(uintptr_t)dlsym(RTLD_NEXT, name))
#define HIDDEN_NS 20000000ll
enum { MOST_HIDDEN = 64 };

static struct hidden {
    char name[256];
    long long until;
} hidden[MOST_HIDDEN];

static bool happens(const char *what)
{
    static unsigned state;
    const char *all = getenv("KILN_NFS"), *seed = getenv("KILN_NFS_SEED"), *at = all ? strstr(all, what) : NULL;
    if (!at)
        return false;
    if (!state)
        state = (seed ? (unsigned)atoi(seed) : 1) * 2654435761u + 1;
    state = state * 1664525u + 1013904223u;
    const char *percent = at + strlen(what);
    return *percent != '=' || (state >> 8) % 100 < (unsigned)atoi(percent + 1);
}

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    struct hidden *slot = &hidden[(unsigned char)path[0] * 7u % MOST_HIDDEN];
    bool reads = (flags & (O_ACCMODE | O_CREAT | O_DIRECTORY)) == O_RDONLY && !strchr(path, '/');
    if (reads && slot->until > now() && strcmp(slot->name, path) == 0) {
        errno = ENOENT;
        return -1;
    }
    int fd = REAL(int, "openat", int, const char *, int, ...)(folder, path, flags, mode);
    if (fd < 0 && errno == ENOENT && reads && strlen(path) < sizeof slot->name && happens("hidden")) {
        strcpy(slot->name, path);
        slot->until = now() + HIDDEN_NS;
        errno = ENOENT;
    }
    if (fd >= 0 && flags & O_EXCL && happens("again")) {
        close(fd);
        errno = EEXIST;
        return -1;
    }
    return fd;
}

ssize_t read(int fd, void *bytes, size_t length)
{
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && happens("stale")) {
        errno = ESTALE;
        return -1;
    }
    return REAL(ssize_t, "read", int, void *, size_t)(fd, bytes, length);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    int failed = REAL(int, "renameat", int, const char *, int, const char *)(from_folder, from, to_folder, to);
    if (!failed && happens("again")) {
        errno = ENOENT;
        return -1;
    }
    return failed;
}

int fsync(int fd)
{
    if (happens("full")) {
        errno = ENOSPC;
        return -1;
    }
    return REAL(int, "fsync", int)(fd);
}

int fstat(int fd, struct stat *info)
{
    int failed = REAL(int, "fstat", int, struct stat *)(fd, info);
    if (!failed && happens("back"))
        info->st_mtim.tv_sec += happens("back") ? -7200 : 7200;
    return failed;
}

int flock(int fd, int operation) { return happens("locks") ? 0 : REAL(int, "flock", int, int)(fd, operation); }

int statfs(const char *path, struct statfs *info)
{
    int failed = REAL(int, "statfs", const char *, struct statfs *)(path, info);
    if (!failed && happens("type"))
        info->f_type = 0x6969;
    return failed;
}
