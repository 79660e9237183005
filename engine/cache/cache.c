/* cache.c - opens the cache folder, and reads and writes entries. There is no lock: processes only create, rename and
 * remove files, and never change a file in place. After the cache is opened, only atomic members of the cache object
 * change. Therefore many threads may use one cache object. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache_internal.h"

/* A hit renews the time of last use on disk if that time is older than TOUCH_SECONDS. So most hits write nothing, and
 * the order of use is exact enough for gc. */
enum { TOUCH_SECONDS = 3600 };

void kiln__cache_warn(kiln__cache *cache, const char *format, ...)
{
    if (atomic_exchange(&cache->warned, true))
        return;
    char why[1024];
    va_list arguments;
    va_start(arguments, format);
    kiln__vformat(why, sizeof why, format, arguments);
    va_end(arguments);
    kiln__logf(&cache->log, KILN_LOG_WARNING, "%s", why);
}

/* Returns the reason why a folder cannot be trusted, or NULL if it can. */
static const char *check_trust(int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return kiln__error_text(errno);
    if (info.st_uid != geteuid())
        return "it belongs to another user";
    if (info.st_mode & (S_IWGRP | S_IWOTH))
        return "others may write to it (fix: chmod go-w)";
    return NULL;
}

/* Opens FOLDER/v1, and creates it if it does not exist. If this fails, returns -1 and sets *why to the reason. */
static int open_folder(kiln__cache *cache, const char **why)
{
    kiln_error *ignored = NULL;
    /* the open() below reports the reason if this fails */
    kiln__make_folders(cache->mem, cache->folder, 0700, &ignored);
    kiln_error_free(ignored);
    int outer = open(cache->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (outer < 0) {
        *why = kiln__error_text(errno);
        return -1;
    }
    int fd = -1;
    *why = check_trust(outer);
    if (!*why) {
        int made = mkdirat(outer, "v1", 0700), reason = errno;
        fd = openat(outer, "v1", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            *why = kiln__error_text(made != 0 && reason != EEXIST ? reason : errno);
        else
            *why = check_trust(fd);
    }
    close(outer);
    if (*why && fd >= 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

kiln_status kiln__cache_open(const kiln_allocator *mem, const char *folder, const kiln__log *log, kiln__cache **cache,
                             kiln_error **error)
{
    kiln__cache *made = kiln__calloc(mem, 1, sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    made->mem = mem;
    if (log)
        made->log = *log;
    made->fd = -1;
    made->folder = kiln__strdup(mem, folder);
    if (!made->folder) {
        kiln__free(mem, made);
        return kiln__fail_memory(error);
    }
    const char *why = NULL;
    made->fd = open_folder(made, &why);
    if (made->fd < 0)
        kiln__cache_warn(made, "the cache is off: %s: %s", folder, why);
    bool writable = made->fd >= 0 && faccessat(made->fd, ".", W_OK | X_OK, AT_EACCESS) == 0;
    if (made->fd >= 0 && !writable)
        kiln__cache_warn(made, "the cache is read-only: %s: %s", folder, kiln__error_text(errno));
    atomic_store(&made->writable, writable);
    *cache = made;
    return KILN_OK;
}

void kiln__cache_close(kiln__cache *cache)
{
    if (!cache)
        return;
    if (cache->fd >= 0)
        close(cache->fd);
    kiln__free(cache->mem, cache->folder);
    kiln__free(cache->mem, cache);
}

void kiln__cache_write_fast(kiln__cache *cache) { cache->fast = true; }

void kiln__cache_stop_writing(kiln__cache *cache) { atomic_store(&cache->writable, false); }

bool kiln__cache_is_writable(const kiln__cache *cache) { return atomic_load(&cache->writable); }

const char *kiln__cache_folder(const kiln__cache *cache) { return cache->folder; }

void kiln__cache_counts(const kiln__cache *cache, uint64_t *hits, uint64_t *misses)
{
    *hits = atomic_load_explicit(&cache->hits, memory_order_relaxed);
    *misses = atomic_load_explicit(&cache->misses, memory_order_relaxed);
}

void kiln__unit_free(kiln__unit *unit)
{
    if (!unit)
        return;
    kiln__free(unit->mem, unit->block);
    *unit = (kiln__unit){0};
}

/* ---- reading ---- */

int kiln__cache_open_entry(const kiln__cache *cache, const char *id, struct stat *info)
{
    int fd = openat(cache->fd, id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (fstat(fd, info) == 0 && S_ISREG(info->st_mode) && info->st_uid == geteuid() &&
        !(info->st_mode & (S_IWGRP | S_IWOTH)) && info->st_size >= 0 &&
        (uint64_t)info->st_size <= KILN__CACHE_ENTRY_MAX)
        return fd;
    close(fd);
    errno = 0;
    return -1;
}

bool kiln__cache_read(int fd, void *data, size_t length)
{
    char *bytes = data;
    while (length > 0) {
        ssize_t got = read(fd, bytes, length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes += got;
        length -= (size_t)got;
    }
    return true;
}

bool kiln__cache_remove(const kiln__cache *cache, const char *name, const struct stat *info)
{
    struct stat now;
    return fstatat(cache->fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == info->st_ino &&
           now.st_dev == info->st_dev && unlinkat(cache->fd, name, 0) == 0;
}

/* Reads the entry that belongs to a key. An error while reading is a miss that removes nothing. If the entry is
 * damaged, the function removes it. */
static bool read_entry(kiln__cache *cache, const kiln__cache_key *key, kiln__unit *unit)
{
    char id[KILN__CACHE_ID + 1];
    kiln__cache_id(key, id);
    struct stat info;
    int fd = kiln__cache_open_entry(cache, id, &info);
    if (fd < 0)
        return false;
    size_t length = (size_t)info.st_size;
    char *block = kiln__alloc(cache->mem, length);
    kiln__cache_key stored;
    kiln__unit found;
    errno = 0;
    bool read = block && kiln__cache_read(fd, block, length);
    /* an error of the disk or the file server (ESTALE) does not mean that the entry is damaged */
    if (block && !read && errno) {
        kiln__free(cache->mem, block);
        close(fd);
        return false;
    }
    bool whole = read && kiln__cache_entry_parse(block, length, &stored, &found);
    bool hit = whole && stored.length == key->length && memcmp(stored.material, key->material, key->length) == 0;
    if (hit) {
        if (time(NULL) - info.st_mtim.tv_sec > TOUCH_SECONDS)
            /* futimens() fails on a read-only file system, which does not matter, because only gc uses the time */
            (void)futimens(fd, NULL);
        found.block = block;
        found.mem = cache->mem;
        *unit = found;
    } else {
        if (block && !whole)
            kiln__cache_remove(cache, id, &info);
        kiln__free(cache->mem, block);
    }
    close(fd);
    return hit;
}

bool kiln__cache_get(kiln__cache *cache, const kiln__cache_key *key, kiln__unit *unit)
{
    bool hit = cache->fd >= 0 && read_entry(cache, key, unit);
    atomic_fetch_add_explicit(hit ? &cache->hits : &cache->misses, 1, memory_order_relaxed);
    return hit;
}

/* ---- writing ---- */

/* Creates a file in the cache's folder, under a name that no other process or thread uses. If this fails, returns -1
 * and sets errno. */
static int create_temporary(kiln__cache *cache, const char *id, char *name, size_t room)
{
    for (int attempt = 0; attempt < 16; attempt++) {
        snprintf(name, room, "%s" KILN__CACHE_TEMP "%ld-%llx-%u", id, (long)getpid(),
                 (unsigned long long)kiln__now_ns(), atomic_fetch_add(&cache->serial, 1));
        int fd = openat(cache->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Writes an entry to a temporary file, syncs the file unless the cache is `fast`, and renames it. So a reader sees the
 * whole entry or no entry. After a failure the function removes the temporary file, and logs the first failure. After a
 * permanent failure the cache only reads. */
void kiln__cache_put(kiln__cache *cache, const kiln__cache_key *key, const kiln__unit *unit)
{
    if (cache->fd < 0 || !atomic_load(&cache->writable))
        return;
    size_t length = 0;
    char *bytes = kiln__cache_entry_make(cache->mem, key, unit, &length);
    if (!bytes)
        return;
    char id[KILN__CACHE_ID + 1], name[128];
    kiln__cache_id(key, id);
    int why = 0, fd = create_temporary(cache, id, name, sizeof name);
    bool begun = fd >= 0;
    if (!begun) {
        why = errno;
    } else {
        if (kiln__write_all(fd, bytes, length) != 0 || (!cache->fast && fsync(fd) != 0))
            why = errno;
        if (close(fd) != 0 && !why)
            why = errno;
        if (!why && renameat(cache->fd, name, cache->fd, id) != 0)
            why = errno;
        if (why)
            unlinkat(cache->fd, name, 0);
    }
    kiln__free(cache->mem, bytes);
    if (!why)
        return;
    /* If the answer of a file server came late, the client sends the request to rename twice. The second request found
     * no file to rename, but the first request had written the entry. */
    if (begun && why == ENOENT)
        return;
    if (why == EROFS || why == EACCES || why == EPERM || why == ENOENT) /* permanent */
        atomic_store(&cache->writable, false);
    kiln__cache_warn(cache, "cannot write an entry to the cache: %s: %s", cache->folder, kiln__error_text(why));
}
