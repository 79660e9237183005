#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/base.h"

kiln_status kiln__file_read(const kiln_allocator *mem, const char *path, size_t limit, char **data, size_t *length,
                            kiln_error **error)
{
    if (limit == 0)
        limit = (size_t)1 << 30;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO in a spec's folder must not hang us */
    if (fd < 0)
        return kiln__fail(mem, error, errno == ENOENT ? KILN_ERROR_NOT_FOUND : KILN_ERROR_IO, "%s: %s", path,
                          strerror(errno));
    kiln_status status = KILN_OK;
    char *bytes = NULL;
    size_t used = 0, capacity = 0;
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        status = kiln__fail(mem, error, KILN_ERROR_IO, "%s: not a regular file", path);
        goto done;
    }
    size_t expect = info.st_size > 0 ? (size_t)info.st_size : 0;
    if (expect > limit) {
        status = kiln__fail(mem, error, KILN_ERROR_REFUSED, "%s: %zu bytes, more than the %zu allowed here", path,
                            expect, limit);
        goto done;
    }
    for (;;) { /* the file may grow or shrink while it is read: what counts is what read() gives */
        if (!kiln__grow(mem, &bytes, &capacity, (used < expect ? expect : used) + 2, 1)) {
            status = kiln__fail_memory(error);
            goto done;
        }
        ssize_t got = read(fd, bytes + used, capacity - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            status = kiln__fail(mem, error, KILN_ERROR_IO, "%s: %s", path, strerror(errno));
            goto done;
        }
        if (got == 0)
            break;
        used += (size_t)got;
        if (used > limit) {
            status = kiln__fail(mem, error, KILN_ERROR_REFUSED, "%s: more than the %zu bytes allowed here", path, limit);
            goto done;
        }
    }
    bytes[used] = '\0';
    *data = bytes;
    *length = used;
    bytes = NULL;
done:
    kiln__free(mem, bytes);
    close(fd);
    return status;
}

int kiln__write_all(int fd, const void *data, size_t length)
{
    const char *bytes = data;
    while (length > 0) {
        ssize_t put = write(fd, bytes, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        bytes += put;
        length -= (size_t)put;
    }
    return 0;
}

/* A device, a pipe: nothing that may be replaced by a file. */
static kiln_status write_through(const kiln_allocator *mem, const char *path, const void *data, size_t length,
                                 kiln_error **error)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int failed = fd < 0 || kiln__write_all(fd, data, length) != 0, why = errno;
    if (fd >= 0 && close(fd) != 0 && !failed) {
        failed = 1;
        why = errno;
    }
    return failed ? kiln__fail(mem, error, KILN_ERROR_IO, "%s: %s", path, strerror(why)) : KILN_OK;
}

static kiln_status replace(const kiln_allocator *mem, const char *path, const void *data, size_t length,
                           kiln_error **error)
{
    static atomic_uint serial; /* only makes temporary names differ between threads */
    kiln__text name = {.mem = mem};
    kiln__text_printf(&name, "%s.tmp-%ld-%u", path, (long)getpid(), atomic_fetch_add(&serial, 1));
    if (name.failed) {
        kiln__text_free(&name);
        return kiln__fail_memory(error);
    }
    kiln_status status = KILN_OK;
    int fd = open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || kiln__write_all(fd, data, length) != 0 || fsync(fd) != 0) {
        status = kiln__fail(mem, error, KILN_ERROR_IO, "%s: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
            unlink(name.data);
        }
    } else if (close(fd) != 0 || rename(name.data, path) != 0) {
        status = kiln__fail(mem, error, KILN_ERROR_IO, "%s: %s", path, strerror(errno));
        unlink(name.data);
    }
    kiln__text_free(&name);
    return status;
}

kiln_status kiln__file_write(const kiln_allocator *mem, const char *path, const void *data, size_t length,
                             kiln_error **error)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return write_through(mem, path, data, length, error);
    char *target = realpath(path, NULL); /* what a link leads to is replaced, not the link */
    kiln_status status = replace(mem, target ? target : path, data, length, error);
    free(target);
    return status;
}

kiln_status kiln__make_folders(const kiln_allocator *mem, const char *path, unsigned mode, kiln_error **error)
{
    char *copy = kiln__strdup(mem, path);
    if (!copy)
        return kiln__fail_memory(error);
    kiln_status status = KILN_OK;
    for (char *slash = copy;; slash++) {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        if (*copy && mkdir(copy, (mode_t)mode) != 0 && errno != EEXIST) {
            int why = errno;
            struct stat info; /* on a read-only or foreign parent mkdir may complain of a folder that is there */
            if (stat(copy, &info) != 0 || !S_ISDIR(info.st_mode)) {
                status = kiln__fail(mem, error, KILN_ERROR_IO, "%s: %s", copy, strerror(why));
                break;
            }
        }
        if (!slash)
            break;
        *slash = '/';
    }
    kiln__free(mem, copy);
    return status;
}

bool kiln__file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

char *kiln__arena_folder(kiln__arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return kiln__arena_strdup(arena, ".");
    return kiln__arena_strndup(arena, path, slash == path ? 1 : (size_t)(slash - path));
}

bool kiln__path_within(const kiln_allocator *mem, const char *path, const char *folder)
{
    (void)mem;
    char *full = realpath(path, NULL), *base = realpath(folder, NULL);
    bool within = false;
    if (full && base) {
        size_t length = strlen(base);
        while (length > 1 && base[length - 1] == '/')
            length--;
        within = strncmp(full, base, length) == 0 && (full[length] == '\0' || full[length] == '/' || length == 1);
    }
    free(full);
    free(base);
    return within;
}

kiln__hash128 kiln__hash(const void *data, size_t length)
{
    XXH128_hash_t hash = XXH3_128bits(data, length);
    return (kiln__hash128){.low = hash.low64, .high = hash.high64};
}

uint64_t kiln__now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

unsigned kiln__cpu_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

static uint64_t read_limit(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned long long limit = 0;
    if (!file)
        return UINT64_MAX;
    if (fscanf(file, "%llu", &limit) != 1 || limit == 0) /* "max" */
        limit = UINT64_MAX;
    fclose(file);
    return limit;
}

uint64_t kiln__host_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)1 << 32;
    uint64_t v2 = read_limit("/sys/fs/cgroup/memory.max");
    uint64_t v1 = read_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    if (v2 < bytes)
        bytes = v2;
    return v1 < bytes ? v1 : bytes;
}

/* The number behind `key` at the start of a line of a file of the kernel's; 0: there is none. */
static uint64_t read_figure(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    char line[256];
    unsigned long long figure = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%llu", &figure) == 1)
            break;
    if (file)
        fclose(file);
    return figure;
}

uint64_t kiln__host_memory_free(void)
{
    uint64_t all = kiln__host_memory(), bytes = 1024 * read_figure("/proc/meminfo", "MemAvailable:");
    if (bytes == 0 || bytes > all)
        bytes = all;
    uint64_t limit = read_limit("/sys/fs/cgroup/memory.max"), used = read_figure("/sys/fs/cgroup/memory.current", "");
    uint64_t cached = read_figure("/sys/fs/cgroup/memory.stat", "inactive_file ");
    used = used > cached ? used - cached : 0;
    uint64_t left = limit > used ? limit - used : 0;
    return left < bytes ? left : bytes;
}
