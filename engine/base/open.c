/* open.c - opens files for reading whose names come from a spec, a command line or a host program.
 *
 * Such a name may lead to anything: a FIFO, which waits for a writer for ever, a terminal, or a device on which open()
 * has side effects. So these functions read only regular files. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

enum { READ_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

const char *kiln__file_kind(unsigned mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG: return "a regular file";
    case S_IFDIR: return "a folder";
    case S_IFIFO: return "a FIFO (named pipe)";
    case S_IFCHR: return "a character device";
    case S_IFBLK: return "a block device";
    case S_IFSOCK: return "a socket";
    case S_IFLNK: return "a symbolic link";
    default: return "of an unknown kind";
    }
}

/* Copies the component at *at into `name` and moves *at past it. Returns NULL at the end of the path. */
static const char *next_component(const char **at, char name[256])
{
    const char *from = *at + strspn(*at, "/");
    size_t length = strcspn(from, "/");
    *at = from + length;
    if (length == 0 || length >= 256)
        return NULL;
    memcpy(name, from, length);
    name[length] = '\0';
    return name;
}

/* Opens a resolved path. If a component has become a symbolic link in the meantime, the function fails (ELOOP for the
 * file, ENOTDIR for a folder). The function opens component by component, which needs neither /proc nor openat2. */
static int open_resolved(const char *path)
{
    char name[256];
    int folder = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (const char *at = path; folder >= 0 && next_component(&at, name);) {
        bool last = at[strspn(at, "/")] == '\0';
        int fd = openat(folder, name, O_NOFOLLOW | (last ? READ_FLAGS : O_PATH | O_DIRECTORY | O_CLOEXEC));
        int why = errno;
        close(folder);
        errno = why;
        if (last)
            return fd;
        folder = fd;
    }
    if (folder < 0)
        return -1;
    close(folder); /* the path is "/", or a component is too long */
    errno = path[strspn(path, "/")] == '\0' ? EISDIR : ENAMETOOLONG;
    return -1;
}

static kiln_status not_regular(const kiln_allocator *mem, const char *path, unsigned mode, kiln_error **error)
{
    return kiln__fail(mem, error, KILN_ERROR_IO, "%s: is %s, not a regular file", path, kiln__file_kind(mode));
}

kiln_status kiln__file_check(const kiln_allocator *mem, const char *path, kiln_error **error)
{
    struct stat info;
    return stat(path, &info) != 0 || S_ISREG(info.st_mode) ? KILN_OK : not_regular(mem, path, info.st_mode, error);
}

kiln_status kiln__file_open(const kiln_allocator *mem, const char *path, bool resolved, int *file, kiln_error **error)
{
    struct stat info;
    /* The check comes first, because open() has side effects on some devices (a watchdog, a tape). A second
     * check later concerns the file that was opened. */
    kiln_status status = kiln__file_check(mem, path, error);
    if (status != KILN_OK)
        return status;
    int fd = resolved ? open_resolved(path) : open(path, READ_FLAGS);
    if (fd < 0 && resolved && (errno == ELOOP || errno == ENOTDIR))
        return kiln__fail(mem, error, KILN_ERROR_REFUSED,
                          "%s: changed after it was checked: the path contains a "
                          "symbolic link now",
                          path);
    if (fd < 0)
        return kiln__fail(mem, error, errno == ENOENT ? KILN_ERROR_NOT_FOUND : KILN_ERROR_IO, "%s: %s", path,
                          kiln__error_text(errno));
    if (fstat(fd, &info) != 0)
        status = kiln__fail(mem, error, KILN_ERROR_IO, "%s: %s", path, kiln__error_text(errno));
    else if (!S_ISREG(info.st_mode))
        status = not_regular(mem, path, info.st_mode, error);
    if (status != KILN_OK) {
        close(fd);
        return status;
    }
    *file = fd;
    return KILN_OK;
}

static kiln_status read_all(const kiln_allocator *mem, const char *path, int fd, size_t limit, char **data,
                            size_t *length, kiln_error **error)
{
    kiln_status status = KILN_OK;
    char *bytes = NULL;
    size_t used = 0, capacity = 0;
    struct stat info;
    size_t expect = fstat(fd, &info) == 0 && info.st_size > 0 ? (size_t)info.st_size : 0;
    if (expect > limit)
        return kiln__fail(mem, error, KILN_ERROR_REFUSED, "%s: has %zu bytes, more than the %zu that are allowed here",
                          path, expect, limit);
    for (;;) { /* the file may grow or shrink during the read, so only read() tells its length */
        if (!kiln__grow(mem, &bytes, &capacity, (used < expect ? expect : used) + 2, 1)) {
            status = kiln__fail_memory(error);
            break;
        }
        ssize_t got = read(fd, bytes + used, capacity - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = kiln__fail(mem, error, KILN_ERROR_IO, "%s: %s", path, kiln__error_text(errno));
        if (got <= 0)
            break;
        used += (size_t)got;
        if (used > limit) {
            status = kiln__fail(mem, error, KILN_ERROR_REFUSED, "%s: has more than the %zu bytes that are allowed here",
                                path, limit);
            break;
        }
    }
    if (status != KILN_OK) {
        kiln__free(mem, bytes);
        return status;
    }
    bytes[used] = '\0';
    *data = bytes;
    *length = used;
    return KILN_OK;
}

static kiln_status read_path(const kiln_allocator *mem, const char *path, bool resolved, size_t limit, char **data,
                             size_t *length, kiln_error **error)
{
    int fd;
    kiln_status status = kiln__file_open(mem, path, resolved, &fd, error);
    if (status != KILN_OK)
        return status;
    status = read_all(mem, path, fd, limit ? limit : (size_t)1 << 30, data, length, error);
    close(fd);
    return status;
}

kiln_status kiln__file_read(const kiln_allocator *mem, const char *path, size_t limit, char **data, size_t *length,
                            kiln_error **error)
{
    return read_path(mem, path, false, limit, data, length, error);
}

kiln_status kiln__file_read_resolved(const kiln_allocator *mem, const char *path, size_t limit, char **data,
                                     size_t *length, kiln_error **error)
{
    return read_path(mem, path, true, limit, data, length, error);
}

kiln_status kiln__file_read_below(const kiln_allocator *mem, const char *path, const char *const *folders, size_t count,
                                  size_t limit, char **data, size_t *length, kiln_error **error)
{
    char *full = realpath(path, NULL);
    if (!full)
        return kiln__fail(mem, error, errno == ENOENT ? KILN_ERROR_NOT_FOUND : KILN_ERROR_IO, "%s: %s", path,
                          kiln__error_text(errno));
    bool below = false;
    for (size_t i = 0; i < count && !below; i++)
        below = kiln__path_below(full, folders[i]);
    kiln_status status = below ? read_path(mem, full, true, limit, data, length, error)
                               : kiln__fail(mem, error, KILN_ERROR_REFUSED,
                                            "%s: leads to %s, which kiln may not read here", path, full);
    free(full);
    return status;
}

/* ---- paths ---- */

bool kiln__path_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    return length > 0 && strncmp(path, folder, length) == 0 &&
           (path[length] == '\0' || path[length] == '/' || folder[length - 1] == '/');
}

bool kiln__path_within(const kiln_allocator *mem, const char *path, const char *folder)
{
    (void)mem;
    char *full = realpath(path, NULL), *base = realpath(folder, NULL);
    bool within = full && base && kiln__path_below(full, base);
    free(full);
    free(base);
    return within;
}

bool kiln__file_exists(const char *path) { return access(path, F_OK) == 0; }
