/* pch.c - decides for the pool which file of precompiled headers belongs to a request, and which request makes the
 * file.
 *
 * NVRTC writes the state of its front end into such a file, and reads the file faster than the headers. The file
 * contains addresses. So only a process with the same library at the same address can use the file (see worker.c).
 *
 * States of a set, which is one prelude with its options. A set starts as THERE if the folder has its file, and as
 * ABSENT if not.
 * - ABSENT: there is no file. The second request, or the first request with `again` (kiln__compile_request), makes the
 *   file -> MAKING.
 * - MAKING: one request makes the file, and the others compile without it. A success -> THERE, a failure -> REFUSED.
 * - THERE: requests use the file. If a compile did not use the file -> ABSENT, so that a request makes it again. If
 *   that compile was the compile of the request that made the file, or if its worker died -> REFUSED.
 * - REFUSED: requests compile without a file, as long as this pool exists.
 *
 * The pool's lock guards all sets. Only the first MOST_SETS sets have a file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pool.h"

/* SWEEP is the number of requests for a set at which its file is made, unless the caller announces more requests */
enum { MOST_SETS = 64, MOST_FILES = 64, SWEEP = 2 };
static const uint64_t most_bytes = (uint64_t)1 << 30; /* largest number of bytes of all files of the folder */

typedef enum state { ABSENT, MAKING, THERE, REFUSED } state;

typedef struct set { /* a set, whose file exists or could be made; `seen` counts the requests for the set */
    char id[33];
    state state;
    size_t seen;
} set;

/* The folder, and the state of each set that this pool has seen. */
struct kiln__pch {
    char *folder;
    set sets[MOST_SETS];
    size_t count;
};

static bool is_trusted(const struct stat *info)
{
    return info->st_uid == geteuid() && !(info->st_mode & (S_IWGRP | S_IWOTH));
}

static bool make_folders(const char *folder)
{
    struct stat info;
    char path[4200];
    if (snprintf(path, sizeof path, "%s/..", folder) >= (int)sizeof path ||
        (mkdir(folder, 0700) != 0 && errno != EEXIST) || lstat(folder, &info) != 0 || !S_ISDIR(info.st_mode) ||
        !is_trusted(&info) || stat(path, &info) != 0 || !is_trusted(&info) ||
        snprintf(path, sizeof path, "%s/" KILN__PCH_TEMPORARY, folder) >= (int)sizeof path)
        return false;
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

bool kiln__pch_open(const kiln_allocator *mem, const char *folder, kiln__pch **pch)
{
    *pch = NULL;
    if (KILN__SANITIZED || !folder || !make_folders(folder))
        return true;
    kiln__pch *made = kiln__calloc(mem, 1, sizeof *made);
    if (!made || !(made->folder = kiln__strdup(mem, folder))) {
        kiln__free(mem, made);
        return false;
    }
    *pch = made;
    return true;
}

void kiln__pch_close(const kiln_allocator *mem, kiln__pch *pch)
{
    if (pch)
        kiln__free(mem, pch->folder);
    kiln__free(mem, pch);
}

const char *kiln__pch_folder(const kiln__pch *pch) { return pch ? pch->folder : NULL; }

/* ---- the folder ---- */

/* A file of the folder of precompiled headers. */
typedef struct entry {
    char name[128];
    struct timespec made;
    uint64_t bytes;
} entry;

/* Lists files whose names begin with `prefix`, up to `room` files. */
static size_t list_files(const char *folder, const char *prefix, entry *entries, size_t room)
{
    DIR *directory = opendir(folder);
    size_t count = 0;
    for (struct dirent *item; directory && count < room && (item = readdir(directory));) {
        struct stat info;
        if (strncmp(item->d_name, prefix, strlen(prefix)) != 0 || item->d_name[0] == '.' ||
            strlen(item->d_name) >= sizeof entries->name ||
            fstatat(dirfd(directory), item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
            continue;
        strcpy(entries[count].name, item->d_name);
        entries[count].made = info.st_mtim;
        entries[count++].bytes = (uint64_t)info.st_size;
    }
    if (directory)
        closedir(directory);
    return count;
}

static bool remove_file(const char *folder, const entry *file)
{
    char path[4300];
    return snprintf(path, sizeof path, "%s/%s", folder, file->name) < (int)sizeof path && unlink(path) == 0;
}

static void remove_files(const char *folder, const char *id)
{
    entry entries[MOST_FILES];
    size_t count = list_files(folder, id, entries, MOST_FILES);
    for (size_t i = 0; i < count; i++)
        remove_file(folder, &entries[i]);
}

void kiln__pch_collect(const char *folder, uint64_t most)
{
    entry entries[MOST_FILES];
    for (;;) {
        size_t count = list_files(folder, "", entries, MOST_FILES), oldest = 0;
        uint64_t bytes = 0;
        for (size_t i = 0; i < count; i++) {
            bytes += entries[i].bytes;
            const struct timespec *a = &entries[i].made, *b = &entries[oldest].made;
            if (a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec))
                oldest = i;
        }
        if (count == 0 || (bytes <= most && count < MOST_FILES) || !remove_file(folder, &entries[oldest]))
            return;
    }
}

/* ---- requests ---- */

static bool hash_request(const kiln__nvrtc *nvrtc, const kiln__compile_request *request, char id[33])
{
    kiln__text text = {0};
    kiln__text_printf(&text, "%s\n%s\n%d %d\n", kiln__nvrtc_identity(nvrtc), request->headers, request->arch,
                      request->kind); /* NVRTC's front end does the same for compute_90 and sm_90 */
    for (size_t i = 0; i < request->option_count; i++)
        kiln__text_printf(&text, "%s\n", request->options[i]);
    kiln__text_add(&text, request->source, request->prelude);
    kiln__hash128 hash = kiln__hash(kiln__text_get(&text), text.length);
    bool good = !text.failed;
    snprintf(id, 33, "%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
    kiln__text_free(&text);
    return good;
}

static set *find_set(kiln__pch *pch, const char *id)
{
    for (size_t i = 0; i < pch->count; i++)
        if (strcmp(pch->sets[i].id, id) == 0)
            return &pch->sets[i];
    if (pch->count == MOST_SETS)
        return NULL;
    set *made = &pch->sets[pch->count++];
    entry first;
    strcpy(made->id, id);
    made->state = list_files(pch->folder, id, &first, 1) ? THERE : ABSENT;
    return made;
}

void kiln__pch_plan(kiln__pch *pch, const kiln__nvrtc *nvrtc, const kiln__compile_request *request, kiln__pch_use *use)
{
    char id[33];
    *use = (kiln__pch_use){0};
    if (!pch || request->prelude == 0 || !hash_request(nvrtc, request, id))
        return;
    set *at = find_set(pch, id);
    if (!at)
        return;
    at->seen++;
    use->make = at->state == ABSENT && (at->seen >= SWEEP || request->again);
    if (use->make)
        at->state = MAKING;
    if ((use->make || at->state == THERE) &&
        snprintf(use->path, sizeof use->path, "%s/%s", pch->folder, id) < (int)sizeof use->path)
        use->set = (size_t)(at - pch->sets) + 1;
}

void kiln__pch_made(kiln__pch *pch, kiln__pch_use *use, bool good)
{
    if (use->set == 0)
        return;
    pch->sets[use->set - 1].state = good ? THERE : REFUSED;
    if (good)
        kiln__pch_collect(pch->folder, most_bytes);
    else
        use->set = 0;
}

void kiln__pch_used(kiln__pch *pch, const kiln__pch_use *use, bool used, bool died)
{
    if (use->set == 0 || used)
        return;
    set *at = &pch->sets[use->set - 1];
    if (died)
        remove_files(pch->folder, at->id);
    if (at->state == THERE) /* if another request made the file, a later request may make the file again */
        at->state = use->make || died ? REFUSED : ABSENT;
}
