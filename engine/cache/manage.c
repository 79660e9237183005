/* manage.c - lists, verifies, shows and removes entries. Each operation reads the folder once. Other processes may
 * read, write and remove entries at the same time, so each operation skips an entry that no longer exists. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cache_internal.h"

enum { STALE_TEMP_SECONDS = 3600 };

/* An entry of the cache folder, with the data of stat(). */
typedef struct found_entry {
    char id[KILN__CACHE_ID + 1];
    uint64_t bytes;
    int64_t used;
    struct stat info;
} found_entry;

/* The entries of the cache folder at one moment. */
typedef struct entry_list {
    const kiln_allocator *mem;
    found_entry *items;
    size_t count, capacity;
} entry_list;

/* Lists all entries of the folder. With `stale_temps_too` the function also removes temporary files that are older than
 * STALE_TEMP_SECONDS. The function ignores other files. */
static kiln_status list_entries(kiln__cache *cache, bool stale_temps_too, entry_list *list, kiln_error **error)
{
    list->mem = cache->mem;
    if (cache->fd < 0)
        return KILN_OK;
    /* a second descriptor, because readdir() needs its own read position */
    int fd = openat(cache->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return kiln__fail(cache->mem, error, KILN_ERROR_IO, "%s: %s", cache->folder, kiln__error_text(why));
    }
    kiln_status status = KILN_OK;
    for (struct dirent *item; status == KILN_OK && (item = readdir(folder));) {
        const char *name = item->d_name;
        if (strlen(name) < KILN__CACHE_ID || !kiln__cache_is_id(name, KILN__CACHE_ID))
            continue;
        struct stat info;
        if (fstatat(cache->fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
            continue;
        const char *rest = name + KILN__CACHE_ID;
        if (strncmp(rest, KILN__CACHE_TEMP, strlen(KILN__CACHE_TEMP)) == 0) {
            if (stale_temps_too && time(NULL) - info.st_mtim.tv_sec > STALE_TEMP_SECONDS)
                kiln__cache_remove(cache, name, &info);
            continue;
        }
        if (*rest)
            continue;
        if (!kiln__grow(cache->mem, &list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
            status = kiln__fail_memory(error);
            break;
        }
        found_entry *entry = &list->items[list->count++];
        *entry = (found_entry){.bytes = (uint64_t)info.st_size, .used = info.st_mtim.tv_sec, .info = info};
        memcpy(entry->id, name, KILN__CACHE_ID);
    }
    closedir(folder);
    return status;
}

static void free_list(entry_list *list)
{
    kiln__free(list->mem, list->items);
    *list = (entry_list){0};
}

static int compare_use(const void *a, const void *b)
{
    const found_entry *x = a, *y = b;
    const struct timespec *p = &x->info.st_mtim, *q = &y->info.st_mtim;
    if (p->tv_sec != q->tv_sec)
        return p->tv_sec < q->tv_sec ? -1 : 1;
    if (p->tv_nsec != q->tv_nsec)
        return p->tv_nsec < q->tv_nsec ? -1 : 1;
    return strcmp(x->id, y->id);
}

static void sort_by_use(entry_list *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_use);
}

/* ENTRY_UNREAD: an error of the disk, of the file server or of this process prevented the read, so the state of the
 * entry is unknown. */
typedef enum entry_state { ENTRY_WHOLE, ENTRY_DAMAGED, ENTRY_UNREAD, ENTRY_NO_MEMORY } entry_state;

/* Reads and parses an entry. An entry that cannot be trusted counts as damaged. The caller frees *block. The other
 * results point into this block. */
static entry_state load_entry(kiln__cache *cache, found_entry *entry, char **block, kiln__cache_key *key,
                              kiln__unit *unit)
{
    *block = NULL;
    int fd = kiln__cache_open_entry(cache, entry->id, &entry->info);
    if (fd < 0)
        return errno ? ENTRY_UNREAD : ENTRY_DAMAGED;
    size_t length = (size_t)entry->info.st_size;
    char *bytes = kiln__alloc(cache->mem,
                              /* one more byte, because an empty file also needs a block; it is a damaged entry */
                              length + 1);
    errno = 0;
    const bool read = bytes && kiln__cache_read(fd, bytes, length);
    entry_state state = !bytes ? ENTRY_NO_MEMORY : !read && errno ? ENTRY_UNREAD : ENTRY_DAMAGED;
    if (read && kiln__cache_entry_parse(bytes, length, key, unit))
        state = ENTRY_WHOLE;
    close(fd);
    *block = bytes;
    return state;
}

/* Reads the labels of an entry from the first bytes of its file. The labels point into `page`. */
static bool load_labels(kiln__cache *cache, found_entry *entry, char *page, size_t room, kiln_cache_entry *shown)
{
    int fd = kiln__cache_open_entry(cache, entry->id, &entry->info);
    if (fd < 0)
        return false;
    size_t length = (size_t)entry->info.st_size < room ? (size_t)entry->info.st_size : room;
    kiln__cache_header header;
    uint64_t offsets[KILN__CACHE_PART_COUNT];
    bool good = kiln__cache_read(fd, page, length) &&
                kiln__cache_header_check(page, length, (uint64_t)entry->info.st_size, &header, offsets) &&
                offsets[KILN__PART_cubin] <= length;
    close(fd);
    if (!good)
        return false;
    const char **labels[] = {&shown->source, &shown->arch, &shown->compiler, &shown->options};
    for (int part = 0; part < KILN__PART_cubin; part++) {
        if (page[offsets[part] + header.length[part]] != '\0')
            return false;
        *labels[part] = page + offsets[part];
    }
    return true;
}

static kiln_cache_entry describe_entry(const found_entry *entry)
{
    return (kiln_cache_entry){.id = entry->id,
                              .source = "",
                              .arch = "",
                              .compiler = "",
                              .options = "",
                              .bytes = entry->bytes,
                              .used = entry->used};
}

/* Lists the entries, beginning with the newest. Without `verify` the function reads only the labels of each entry. With
 * `verify` the function reads each entry completely, and removes a damaged entry. If an entry cannot be read at this
 * moment, the function does not remove it. */
kiln_status kiln__cache_list(kiln__cache *cache, bool verify, kiln_cache_fn each, void *user, kiln_error **error)
{
    enum { LABELS = sizeof(kiln__cache_header) + 4 * (KILN__CACHE_LABEL_MAX + 1) + 16 };
    entry_list list = {0};
    char *page = NULL;
    kiln_status status = list_entries(cache, false, &list, error);
    if (status != KILN_OK)
        goto done;
    sort_by_use(&list);
    if (!verify && !(page = kiln__alloc(cache->mem, LABELS))) {
        status = kiln__fail_memory(error);
        goto done;
    }
    for (size_t i = list.count; i-- > 0;) { /* newest first */
        kiln_cache_entry shown = describe_entry(&list.items[i]);
        char *block = NULL;
        if (verify) {
            kiln__cache_key key;
            kiln__unit unit;
            char id[KILN__CACHE_ID + 1];
            struct stat now;
            const entry_state state = load_entry(cache, &list.items[i], &block, &key, &unit);
            if (state == ENTRY_NO_MEMORY) {
                status = kiln__fail_memory(error);
                break;
            }
            if (state == ENTRY_UNREAD && fstatat(cache->fd, shown.id, &now, AT_SYMLINK_NOFOLLOW) != 0)
                continue; /* another process has already removed the entry */
            if (state == ENTRY_WHOLE) {
                kiln__cache_id(&key, id);
                shown.intact = strcmp(id, shown.id) == 0;
                shown.source = key.source;
                shown.arch = key.arch;
                shown.compiler = key.compiler;
                shown.options = key.options;
            }
            if (!shown.intact && state != ENTRY_UNREAD)
                kiln__cache_remove(cache, shown.id, &list.items[i].info);
        } else {
            load_labels(cache, &list.items[i], page, LABELS, &shown);
        }
        bool ended = each && each(user, &shown) != 0;
        kiln__free(cache->mem, block);
        if (ended)
            break;
    }
done:
    kiln__free(cache->mem, page);
    free_list(&list);
    return status;
}

/* Shows the labels, the source and the PTX of one entry. */
static kiln_status show_one(kiln__cache *cache, found_entry *entry, kiln_cache_show_fn show, void *user,
                            kiln_error **error)
{
    kiln__cache_key key;
    kiln__unit unit;
    char *block = NULL;
    const entry_state state = load_entry(cache, entry, &block, &key, &unit);
    if (state != ENTRY_WHOLE) {
        kiln__free(cache->mem, block);
        if (state == ENTRY_NO_MEMORY)
            return kiln__fail_memory(error);
        return kiln__fail(cache->mem, error, KILN_ERROR_NOT_FOUND,
                          "%s: the entry is damaged or was removed; `kiln cache verify` removes damaged entries",
                          entry->id);
    }
    /* If the position of the source is unknown, the function shows the whole key material. A NUL inside the material
     * would end the text, so it becomes a newline. */
    const char *from = (const char *)key.material + key.text_at;
    size_t length = key.text_length ? key.text_length : key.length;
    char *text = kiln__alloc(cache->mem, length + 1);
    if (!text) {
        kiln__free(cache->mem, block);
        return kiln__fail_memory(error);
    }
    for (size_t i = 0; i < length; i++)
        text[i] = from[i] ? from[i] : '\n';
    text[length] = '\0';
    kiln_cache_entry shown = describe_entry(entry);
    shown.source = key.source;
    shown.arch = key.arch;
    shown.compiler = key.compiler;
    shown.options = key.options;
    shown.intact = 1;
    show(user, &shown, text, unit.ptx ? unit.ptx : "", unit.cubin_length);
    kiln__free(cache->mem, text);
    kiln__free(cache->mem, block);
    return KILN_OK;
}

/* Finds the only entry whose id begins with `id`, and shows it. */
kiln_status kiln__cache_show(kiln__cache *cache, const char *id, kiln_cache_show_fn show, void *user,
                             kiln_error **error)
{
    size_t length = strlen(id), matches = 0;
    entry_list list = {0};
    found_entry *match = NULL;
    kiln_status status = length ? list_entries(cache, false, &list, error)
                                : kiln__fail(cache->mem, error, KILN_ERROR_ARGUMENT, "the id of an entry is empty");
    if (status != KILN_OK)
        goto done;
    for (size_t i = 0; i < list.count; i++)
        if (strncmp(list.items[i].id, id, length) == 0) {
            match = &list.items[i];
            matches++;
        }
    if (matches == 0)
        status = kiln__fail(cache->mem, error, KILN_ERROR_NOT_FOUND, "%s: no such entry in the cache %s", id,
                            cache->folder);
    else if (matches > 1)
        status = kiln__fail(cache->mem, error, KILN_ERROR_ARGUMENT,
                            "%s: %zu entries have ids that begin with these digits; give more digits", id, matches);
    else
        status = show_one(cache, match, show, user, error);
done:
    free_list(&list);
    return status;
}

/* Removes the least recently used entries (LRU) until at most max_bytes are left. Also removes temporary files that are
 * older than STALE_TEMP_SECONDS. */
kiln_status kiln__cache_gc(kiln__cache *cache, uint64_t max_bytes, uint64_t *removed, uint64_t *kept_bytes,
                           kiln_error **error)
{
    entry_list list = {0};
    kiln_status status = list_entries(cache, true, &list, error);
    uint64_t total = 0, count = 0;
    if (status == KILN_OK) {
        sort_by_use(&list);
        for (size_t i = 0; i < list.count; i++)
            total += list.items[i].bytes;
        for (size_t i = 0; i < list.count && total > max_bytes; i++) {
            found_entry *entry = &list.items[i];
            if (kiln__cache_remove(cache, entry->id, &entry->info)) {
                count++;
                total -= entry->bytes;
            } else if (faccessat(cache->fd, entry->id, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
                total -= entry->bytes; /* another process has already removed the entry */
            }
        }
        if (removed)
            *removed = count;
        if (kept_bytes)
            *kept_bytes = total;
    }
    free_list(&list);
    return status;
}
