/* file.c - writes files completely or not at all, and makes folders. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

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

/* ---- writing a file ----
 *
 * The new file has no name (O_TMPFILE) until it is complete. So a killed process leaves no file behind. On file systems
 * without O_TMPFILE the new file has the name NAME.tmp-PID-N, in the same folder. */

/* The code cuts NAME to NAME_KEPT bytes, because a name with its suffix may have at most 255 bytes. */
enum { NAME_KEPT = 200, NAME_TRIES = 100 };

static kiln_status refuse_link(const kiln_allocator *mem, const char *path, kiln_error **error)
{
    struct stat info;
    char to[4096], *full = realpath(path, NULL);
    ssize_t length = readlink(path, to, sizeof to - 1);
    kiln_status status;
    to[length > 0 ? length : 0] = '\0';
    if (full && stat(full, &info) == 0 && S_ISREG(info.st_mode))
        status = kiln__fail(mem, error, KILN_ERROR_IO,
                            "%s: is a symbolic link, and only regular files are written; it "
                            "leads to %s: name that file, or remove the link",
                            path, full);
    else if (full && stat(full, &info) == 0)
        status = kiln__fail(mem, error, KILN_ERROR_IO,
                            "%s: is a symbolic link, and only regular files are written; it "
                            "leads to %s, which is %s",
                            path, full, kiln__file_kind(info.st_mode));
    else
        status = kiln__fail(mem, error, KILN_ERROR_IO,
                            "%s: is a symbolic link, and only regular files are written; it "
                            "leads to %s: name that file, or remove the link",
                            path, to);
    free(full);
    return status;
}

/* Checks that the function may replace `path`: either it does not exist, or it is a regular file that the process may
 * write. *mode receives the mode of the new file. If there is no old file, the umask still applies to this mode. */
static kiln_status check_target(const kiln_allocator *mem, const char *path, bool *exists, mode_t *mode,
                                kiln_error **error)
{
    struct stat info;
    *exists = lstat(path, &info) == 0;
    *mode = 0666;
    if (!*exists && errno != ENOENT)
        return kiln__fail(mem, error, KILN_ERROR_IO, "%s: cannot be written: %s", path, kiln__error_text(errno));
    if (!*exists)
        return KILN_OK;
    if (S_ISLNK(info.st_mode))
        return refuse_link(mem, path, error);
    if (!S_ISREG(info.st_mode))
        return kiln__fail(mem, error, KILN_ERROR_IO, "%s: is %s, and only regular files are written", path,
                          kiln__file_kind(info.st_mode));
    /* the file is write-protected, which rename() would not check */
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
        return kiln__fail(mem, error, KILN_ERROR_IO, "%s: cannot be written: %s", path, kiln__error_text(errno));
    *mode = info.st_mode & 0777;
    return KILN_OK;
}

static bool temporary_name(const kiln__output *out, kiln__text *name)
{
    static atomic_uint serial; /* makes the temporary names of different threads differ */
    const char *slash = strrchr(out->path, '/'), *base = slash ? slash + 1 : out->path;
    name->length = 0;
    kiln__text_add(name, out->path, (size_t)(base - out->path));
    kiln__text_add(name, base, strnlen(base, NAME_KEPT));
    kiln__text_printf(name, ".tmp-%ld-%u", (long)getpid(), atomic_fetch_add(&serial, 1));
    return !name->failed;
}

static void folder_name(const char *path, char *folder, size_t room)
{
    const char *slash = strrchr(path, '/');
    size_t length = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    snprintf(folder, room, "%.*s", slash ? (int)length : 1, slash ? path : ".");
}

static int open_named(kiln__output *out, mode_t mode)
{
    for (int i = 0; i < NAME_TRIES && temporary_name(out, &out->temporary); i++) {
        int fd = open(out->temporary.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        /* EEXIST means that a killed process left a file of this name, or that another machine uses it */
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

kiln_status kiln__output_begin(const kiln_allocator *mem, const char *path, kiln__output *out, kiln_error **error)
{
    char folder[4096];
    mode_t mode;
    *out = (kiln__output){.mem = mem, .path = path, .fd = -1, .temporary.mem = mem};
    kiln_status status = check_target(mem, path, &out->replaces, &mode, error);
    if (status != KILN_OK)
        return status;
    folder_name(path, folder, sizeof folder);
    if (access("/proc/self/fd", X_OK) == 0) /* the path in /proc is needed later to give the file a name */
        out->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (out->fd < 0) {
        out->fd = open_named(out, mode);
        out->named = out->fd >= 0;
    }
    if (out->fd < 0) {
        int why = errno;
        bool failed = out->temporary.failed;
        kiln__text_free(&out->temporary);
        return failed ? kiln__fail_memory(error)
                      : kiln__fail(mem, error, KILN_ERROR_IO, "%s: cannot create a file in the folder %s: %s", path,
                                   folder, kiln__error_text(why));
    }
    if (out->replaces) /* fchmod() ignores the umask; a failure is accepted, because some file systems have no modes */
        (void)!fchmod(out->fd, mode);
    return KILN_OK;
}

static kiln_status fail_writing(kiln__output *out, int why, kiln_error **error)
{
    const char *path = out->path, *kept = out->replaces ? "; the old file is unchanged" : "";
    kiln_status status = why == ENOMEM
                             ? kiln__fail_memory(error)
                             : kiln__fail(out->mem, error, KILN_ERROR_IO, "%s: cannot be written: %s%s%s", path,
                                          kiln__error_text(why),
                                          why == EFBIG ? " (the limit on the size of files: ulimit -f)" : "", kept);
    kiln__output_drop(out);
    return status;
}

kiln_status kiln__output_add(kiln__output *out, const void *data, size_t length, kiln_error **error)
{
    return kiln__write_all(out->fd, data, length) == 0 ? KILN_OK : fail_writing(out, errno, error);
}

/* Gives the new file a temporary name, because linkat() cannot replace an existing file. Returns 0 or an error
 * number. */
static int give_name(kiln__output *out)
{
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", out->fd);
    for (int i = 0; i < NAME_TRIES; i++) {
        if (!temporary_name(out, &out->temporary))
            return ENOMEM;
        if (linkat(AT_FDCWD, self, AT_FDCWD, out->temporary.data, AT_SYMLINK_FOLLOW) == 0)
            out->named = true;
        if (out->named || errno != EEXIST)
            return out->named ? 0 : errno;
    }
    return EEXIST;
}

kiln_status kiln__output_finish(kiln__output *out, kiln_error **error)
{
    mode_t mode;
    if (fsync(out->fd) != 0)
        return fail_writing(out, errno, error);
    /* check again, because the target may have changed */
    kiln_status status = check_target(out->mem, out->path, &out->replaces, &mode, error);
    if (status != KILN_OK) {
        kiln__output_drop(out);
        return status;
    }
    int why = out->named ? 0 : give_name(out), fd = out->fd;
    if (why)
        return fail_writing(out, why, error);
    out->fd = -1;
    if (close(fd) != 0 || rename(out->temporary.data, out->path) != 0)
        return fail_writing(out, errno, error);
    out->named = false;
    kiln__output_drop(out);
    return KILN_OK;
}

void kiln__output_drop(kiln__output *out)
{
    if (out->fd >= 0)
        close(out->fd);
    if (out->named)
        unlink(out->temporary.data);
    kiln__text_free(&out->temporary);
    *out = (kiln__output){.fd = -1};
}

kiln_status kiln__file_write(const kiln_allocator *mem, const char *path, const void *data, size_t length,
                             kiln_error **error)
{
    kiln__output out;
    kiln_status status = kiln__output_begin(mem, path, &out, error);
    if (status == KILN_OK)
        status = kiln__output_add(&out, data, length, error);
    return status == KILN_OK ? kiln__output_finish(&out, error) : status;
}

kiln_status kiln_file_write(const char *path, const void *data, size_t size, kiln_error **error)
{
    KILN__NEEDS_TEXT(NULL, error, path);
    if (size)
        KILN__NEEDS(NULL, error, data);
    return kiln__file_write(NULL, path, data, size, error);
}

/* ---- folders and the rest ---- */

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
        if (*copy && mkdir(copy, (mode_t)mode) != 0) {
            int why = errno;
            struct stat info; /* mkdir in a read-only parent may fail with an error other than EEXIST */
            bool there = stat(copy, &info) == 0;
            if (!there || !S_ISDIR(info.st_mode)) {
                status = there ? kiln__fail(mem, error, KILN_ERROR_IO, "%s: is %s, not a folder", copy,
                                            kiln__file_kind(info.st_mode))
                               : kiln__fail(mem, error, KILN_ERROR_IO, "%s: %s", copy, kiln__error_text(why));
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

char *kiln__arena_folder(kiln__arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return kiln__arena_strdup(arena, ".");
    return kiln__arena_strndup(arena, path, slash == path ? 1 : (size_t)(slash - path));
}
