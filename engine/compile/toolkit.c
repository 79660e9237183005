/* toolkit.c - computes a digest of the CUDA headers that a source includes, for cache keys. NVRTC reads these headers
 * from their folder, so without the digest a change of a header would go unnoticed. The headers form a graph. A query
 * walks the graph breadth first, from the headers that the source names. The code reads a file once, and reads it again
 * when stat() shows a change. The lock of kiln__nvrtc guards all data of this file. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "chars.h"
#include "compile_internal.h"

enum { MOST_BYTES = 16 << 20, MOST_TREE_DEPTH = 32, ANSWER_NS = 1000000000 };

typedef struct stamp { /* identifies a version of a file */
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec written, changed;
} stamp;

/* A node of the graph of headers. */
typedef struct file {
    /* path relative to the folder of the headers, so that the location of the folder does not matter */
    char *path;
    uint64_t hash;      /* hash of the path */
    bool there, opaque; /* `there`: the file exists. `opaque`: the file has an #include whose name is a macro */
    stamp stamp;
    kiln__hash128 digest; /* digest of the file's text */
    size_t *children;     /* indices of the files to which the includes of this file may refer */
    size_t child_count, child_room;
    uint64_t seen;   /* number of the last query that reached the file */
    uint32_t *words; /* hashes of the words in the file's directives, in ascending order */
    size_t word_count, word_room;
} file;

/* All headers that queries have reached, and the last answers. */
struct kiln__toolkit {
    file *files;
    size_t count, room;
    size_t *slots; /* hash table by path; an entry is an index in `files` + 1, or 0 if the slot is free */
    size_t slot_count;
    size_t *queue;
    size_t queue_room;
    uint64_t question; /* number of the current query */
    /* Key of the last answer. The answer is kept because a sweep asks for the same digest a hundred times a second, and
     * CUB has a thousand files. */
    kiln__hash128 asked;
    uint64_t answered; /* time of the last answer on the clock of kiln__now_ns(), or 0 if there was no answer */
    char answer[33];
    kiln__hash128 asked_words; /* key of the last query of kiln__nvrtc_mentions(), and the answer to it */
    uint64_t answered_words, answer_words;
};

/* ---- the table of files ---- */

static bool grow_slots(const kiln_allocator *mem, kiln__toolkit *kit)
{
    if (2 * (kit->count + 1) <= kit->slot_count)
        return true;
    size_t wanted = kit->slot_count ? 2 * kit->slot_count : 256;
    size_t *slots = kiln__calloc(mem, wanted, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < kit->count; i++) {
        size_t at = kit->files[i].hash & (wanted - 1);
        while (slots[at])
            at = (at + 1) & (wanted - 1);
        slots[at] = i + 1;
    }
    kiln__free(mem, kit->slots);
    kit->slots = slots;
    kit->slot_count = wanted;
    return true;
}

static void stat_header(const kiln__nvrtc *nvrtc, kiln__arena *arena, const char *path, bool *there, stamp *found)
{
    struct stat info;
    char *full = kiln__arena_printf(arena, "%s/%s", nvrtc->include, path);
    *there = full && stat(full, &info) == 0 && S_ISREG(info.st_mode);
    if (*there)
        *found = (stamp){.device = info.st_dev,
                         .inode = info.st_ino,
                         .size = info.st_size,
                         .written = info.st_mtim,
                         .changed = info.st_ctim};
}

static bool is_same(const stamp *a, const stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->written.tv_sec == b->written.tv_sec && a->written.tv_nsec == b->written.tv_nsec &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Returns the index of a path in the table. If the table lacks the path, adds it. A missing file has an index too, so
 * that the code looks for the file only once. Returns SIZE_MAX if there is no memory. */
static size_t find_file(kiln__nvrtc *nvrtc, kiln__arena *arena, const char *path)
{
    kiln__toolkit *kit = nvrtc->toolkit;
    const kiln_allocator *mem = nvrtc->mem;
    if (!grow_slots(mem, kit))
        return SIZE_MAX;
    uint64_t hash = kiln__hash(path, strlen(path)).low;
    size_t at = hash & (kit->slot_count - 1);
    for (; kit->slots[at]; at = (at + 1) & (kit->slot_count - 1))
        if (kit->files[kit->slots[at] - 1].hash == hash && strcmp(kit->files[kit->slots[at] - 1].path, path) == 0)
            return kit->slots[at] - 1;
    char *kept = kiln__strdup(mem, path);
    if (!kept || !kiln__grow(mem, &kit->files, &kit->room, kit->count + 1, sizeof *kit->files)) {
        kiln__free(mem, kept);
        return SIZE_MAX;
    }
    file *made = &kit->files[kit->count];
    *made = (file){.path = kept, .hash = hash};
    stamp unused;
    stat_header(nvrtc, arena, path, &made->there, &unused);
    kit->slots[at] = ++kit->count;
    return kit->count - 1;
}

/* ---- what a header includes ---- */

static bool add_child(kiln__nvrtc *nvrtc, kiln__arena *arena, size_t parent, const char *path)
{
    size_t child = path ? find_file(nvrtc, arena, path) : SIZE_MAX;
    if (child == SIZE_MAX)
        return false;
    file *from = &nvrtc->toolkit->files[parent];
    if (!nvrtc->toolkit->files[child].there)
        return true;
    for (size_t i = 0; i < from->child_count; i++)
        if (from->children[i] == child)
            return true;
    if (!kiln__grow(nvrtc->mem, &from->children, &from->child_room, from->child_count + 1, sizeof *from->children))
        return false;
    from->children[from->child_count++] = child;
    return true;
}

/* Adds every file to which an included name may refer, because versions of NVRTC search in different orders. */
static bool add_name(kiln__nvrtc *nvrtc, kiln__arena *arena, size_t parent, const char *name)
{
    bool good = true;
    const char *slash = strrchr(nvrtc->toolkit->files[parent].path, '/');
    if (slash)
        good = add_child(nvrtc, arena, parent,
                         kiln__arena_printf(arena, "%.*s/%s", (int)(slash - nvrtc->toolkit->files[parent].path),
                                            nvrtc->toolkit->files[parent].path, name));
    for (size_t i = 0; i < KILN__COUNT(kiln__include_folders) && good; i++)
        good = add_child(nvrtc, arena, parent, kiln__arena_printf(arena, "%s%s", kiln__include_folders[i], name));
    return good;
}

static bool is_word(char c) { return kiln__is_name_part(c) || c == '$'; }

static uint32_t hash_word(const char *word, size_t length) { return (uint32_t)kiln__hash(word, length).low; }

static int compare_words(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Hashes the words of each line from its first '#' on, and the words of the lines that continue the line. So the
 * function hashes the words of all directives, and perhaps some other words. */
static bool read_words(const kiln__nvrtc *nvrtc, file *at, const char *text)
{
    at->word_count = 0;
    for (const char *p = text; (p = strchr(p, '#')) != NULL;)
        while (*p && *p != '\n') {
            size_t length = 0;
            while (is_word(p[length]))
                length++;
            if (length > 0) {
                if (!kiln__grow(nvrtc->mem, &at->words, &at->word_room, at->word_count + 1, sizeof *at->words))
                    return false;
                at->words[at->word_count++] = hash_word(p, length);
            }
            p += length                                         ? length
                 : p[0] == '\\' && p[1] == '\n'                 ? 2
                 : p[0] == '\\' && p[1] == '\r' && p[2] == '\n' ? 3
                                                                : 1;
        }
    if (at->word_count)
        qsort(at->words, at->word_count, sizeof *at->words, compare_words);
    size_t kept = 0;
    for (size_t i = 0; i < at->word_count; i++)
        if (kept == 0 || at->words[kept - 1] != at->words[i])
            at->words[kept++] = at->words[i];
    at->word_count = kept;
    return true;
}

/* Reads a header: computes its digest, hashes its words, and finds its includes. A file that cannot be read counts as a
 * missing file. */
static bool read_file(kiln__nvrtc *nvrtc, kiln__arena *arena, size_t place)
{
    kiln__toolkit *kit = nvrtc->toolkit;
    char *full = kiln__arena_printf(arena, "%s/%s", nvrtc->include, kit->files[place].path), *text = NULL;
    size_t length = 0;
    if (!full)
        return false;
    kiln_status status = kiln__file_read(nvrtc->mem, full, MOST_BYTES, &text, &length, NULL);
    if (status != KILN_OK) { /* NVRTC cannot read such a file either */
        kit->files[place].there = status == KILN_ERROR_MEMORY;
        return status != KILN_ERROR_MEMORY;
    }
    kit->files[place].digest = kiln__hash(text, length);
    kit->files[place].child_count = 0;
    kit->files[place].opaque = false;
    const char *at = text, *operand;
    bool good = read_words(nvrtc, &kit->files[place], text);
    while (good && (operand = kiln__include_next(text, &at)) != NULL) {
        size_t size = *operand == '"'   ? strcspn(operand + 1, "\"\n")
                      : *operand == '<' ? strcspn(operand + 1, ">\n")
                                        : 0;
        if (size == 0) {
            kit->files[place].opaque = true;
        } else {
            char *name = kiln__arena_strndup(arena, operand + 1, size);
            good = name && add_name(nvrtc, arena, place, name);
        }
    }
    kiln__free(nvrtc->mem, text);
    return good;
}

/* ---- the digest ---- */

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Adds every file of a folder with its name, size and time. This list replaces the digest for headers that include by
 * macros. */
static bool add_tree(const kiln__nvrtc *nvrtc, kiln__arena *arena, const char *path, kiln__text *text, int depth)
{
    char *full = kiln__arena_printf(arena, "%s/%s", nvrtc->include, path), **names = NULL;
    size_t count = 0, room = 0;
    DIR *folder = full && depth < MOST_TREE_DEPTH ? opendir(full) : NULL;
    bool good = full != NULL;
    for (struct dirent *item; folder && good && (item = readdir(folder)) != NULL;)
        if (item->d_name[0] != '.') {
            good = kiln__grow(nvrtc->mem, &names, &room, count + 1, sizeof *names) &&
                   (names[count] = kiln__arena_strdup(arena, item->d_name)) != NULL;
            count += good;
        }
    if (folder)
        closedir(folder);
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count && good; i++) {
        struct stat info;
        char *below = kiln__arena_printf(arena, "%s%s%s", path, *path ? "/" : "", names[i]);
        char *whole = below ? kiln__arena_printf(arena, "%s/%s", nvrtc->include, below) : NULL;
        good = whole != NULL;
        if (good && stat(whole, &info) == 0 && S_ISDIR(info.st_mode))
            good = add_tree(nvrtc, arena, below, text, depth + 1);
        else if (good && S_ISREG(info.st_mode))
            kiln__text_printf(text, "%s %lld %lld.%09ld\n", below, (long long)info.st_size,
                              (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    }
    kiln__free(nvrtc->mem, names);
    return good;
}

static bool enqueue(const kiln__nvrtc *nvrtc, size_t place, size_t *count)
{
    kiln__toolkit *kit = nvrtc->toolkit;
    if (kit->files[place].seen == kit->question)
        return true;
    if (!kiln__grow(nvrtc->mem, &kit->queue, &kit->queue_room, *count + 1, sizeof *kit->queue))
        return false;
    kit->files[place].seen = kit->question;
    kit->queue[(*count)++] = place;
    return true;
}

/* Walks breadth first over the queue of files. For each file the function adds a line with path and digest. */
static bool walk_headers(kiln__nvrtc *nvrtc, kiln__arena *arena, size_t count, kiln__text *text)
{
    kiln__toolkit *kit = nvrtc->toolkit;
    bool good = true, opaque = false;
    for (size_t i = 0; i < count && good; i++) {
        size_t place = kit->queue[i];
        file *at = &kit->files[place];
        bool there = false;
        stamp now;
        stat_header(nvrtc, arena, at->path, &there, &now);
        at->there = there;
        if (there && !is_same(&now, &at->stamp)) {
            good = read_file(nvrtc, arena, place);
            at = &kit->files[place]; /* reading a file may have moved the table */
            if (good)
                at->stamp = now; /* the stamp is older than the read, so the next query notices a change between them */
        }
        if (!at->there || !good)
            continue;
        kiln__text_printf(text, "%s %016llx%016llx\n", at->path, (unsigned long long)at->digest.high,
                          (unsigned long long)at->digest.low);
        for (size_t c = 0; c < at->child_count && good; c++)
            good = enqueue(nvrtc, at->children[c], &count);
        if (at->opaque && !opaque)
            good = add_tree(nvrtc, arena, "", text, 0);
        opaque = opaque || at->opaque;
    }
    return good && !text->failed;
}

static bool query_headers(kiln__nvrtc *nvrtc, kiln__arena *arena, const char *const *names, size_t count,
                          kiln__text *text)
{
    size_t queued = 0;
    bool good = true;
    nvrtc->toolkit->question++;
    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < KILN__COUNT(kiln__include_folders) && good; f++) {
            char *path = kiln__arena_printf(arena, "%s%s", kiln__include_folders[f], names[i]);
            size_t place = path ? find_file(nvrtc, arena, path) : SIZE_MAX;
            good = place != SIZE_MAX && enqueue(nvrtc, place, &queued);
        }
    return good && walk_headers(nvrtc, arena, queued, text);
}

/* Writes the digest of the headers that some names reach. If the last answer was for the same names and is recent
 * enough, writes that answer again. Returns false if memory runs out. The caller holds the lock. */
static bool answer_digest(kiln__nvrtc *nvrtc, const char *const *names, size_t count, bool fresh, char digest[33])
{
    if (!nvrtc->toolkit && !(nvrtc->toolkit = kiln__calloc(nvrtc->mem, 1, sizeof *nvrtc->toolkit)))
        return false;
    kiln__toolkit *kit = nvrtc->toolkit;
    kiln__arena arena = {.mem = nvrtc->mem};
    kiln__text text = {.mem = nvrtc->mem};
    uint64_t now = kiln__now_ns();
    for (size_t i = 0; i < count; i++)
        kiln__text_printf(&text, "%s\n", names[i]);
    kiln__hash128 asked = kiln__hash(kiln__text_get(&text), text.length);
    bool good = !text.failed;
    if (good && (fresh || !kit->answered || now - kit->answered > ANSWER_NS || asked.low != kit->asked.low ||
                 asked.high != kit->asked.high)) {
        text.length = 0;
        good = query_headers(nvrtc, &arena, names, count, &text) && !arena.failed;
        kit->answered = good ? now : 0;
        kit->asked = asked;
        *kit->answer = '\0';
        kiln__hash128 hash = kiln__hash(kiln__text_get(&text), text.length);
        if (text.length > 0)
            snprintf(kit->answer, sizeof kit->answer, "%016llx%016llx", (unsigned long long)hash.high,
                     (unsigned long long)hash.low);
    }
    memcpy(digest, kit->answer, sizeof kit->answer);
    kiln__text_free(&text);
    kiln__arena_free(&arena);
    return good;
}

/* Returns whether the name of a macro looks as if it controls CUDA's headers. */
static bool is_cuda_macro(const char *word)
{
    static const char *const begins[] = {"_", "CUB_", "CUDA", "CCCL_", "LIBCUDACXX_", "THRUST_", "NV", "NDEBUG"};
    for (size_t i = 0; i < KILN__COUNT(begins); i++)
        if (strncmp(word, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* Finds which words occur in the directives of the reached headers, and sets one bit for each. The caller holds the
 * lock. */
static bool find_words(kiln__nvrtc *nvrtc, kiln__arena *arena, const char *const *names, size_t count,
                       const char *const *words, size_t word_count, uint64_t *found)
{
    kiln__toolkit *kit = nvrtc->toolkit;
    kiln__text text = {.mem = nvrtc->mem};
    bool good = query_headers(nvrtc, arena, names, count, &text);
    kiln__text_free(&text);
    *found = 0;
    for (size_t i = 0; i < kit->count && good; i++) {
        const file *at = &kit->files[i];
        if (at->seen != kit->question || !at->there)
            continue;
        for (size_t w = 0; w < word_count; w++) {
            uint32_t hash = hash_word(words[w], strlen(words[w]));
            if (at->opaque && is_cuda_macro(words[w])) /* a file that was not read may contain the word */
                *found |= (uint64_t)1 << w;
            if (at->word_count && bsearch(&hash, at->words, at->word_count, sizeof hash, compare_words))
                *found |= (uint64_t)1 << w;
        }
    }
    return good;
}

/* Returns the last answer if it was for the same names and words and is at most ANSWER_NS old. */
kiln_status kiln__nvrtc_mentions(kiln__nvrtc *nvrtc, const char *const *names, size_t count, const char *const *words,
                                 size_t word_count, uint64_t *found, kiln_error **error)
{
    *found = UINT64_MAX;
    if (count == 0 || !*nvrtc->include || word_count > 64)
        return KILN_OK;
    kiln__arena arena = {.mem = nvrtc->mem};
    kiln__text text = {.mem = nvrtc->mem};
    for (size_t i = 0; i < count; i++)
        kiln__text_printf(&text, "%s\n", names[i]);
    for (size_t i = 0; i < word_count; i++)
        kiln__text_printf(&text, " %s\n", words[i]);
    kiln__hash128 asked = kiln__hash(kiln__text_get(&text), text.length);
    bool good = !text.failed;
    pthread_mutex_lock(&nvrtc->lock);
    if (good && !nvrtc->toolkit)
        good = (nvrtc->toolkit = kiln__calloc(nvrtc->mem, 1, sizeof *nvrtc->toolkit)) != NULL;
    kiln__toolkit *kit = nvrtc->toolkit;
    uint64_t now = kiln__now_ns();
    if (good && (!kit->answered_words || now - kit->answered_words > ANSWER_NS || asked.low != kit->asked_words.low ||
                 asked.high != kit->asked_words.high)) {
        good = find_words(nvrtc, &arena, names, count, words, word_count, &kit->answer_words) && !arena.failed;
        kit->answered_words = good ? now : 0;
        kit->asked_words = asked;
    }
    if (good)
        *found = kit->answer_words;
    pthread_mutex_unlock(&nvrtc->lock);
    kiln__text_free(&text);
    kiln__arena_free(&arena);
    return good ? KILN_OK : kiln__fail_memory(error);
}

bool kiln__nvrtc_has(const kiln__nvrtc *nvrtc, const char *name)
{
    for (size_t i = 0; *nvrtc->include && i < KILN__COUNT(kiln__include_folders); i++) {
        char path[4096];
        struct stat info;
        int length = snprintf(path, sizeof path, "%s/%s%s", nvrtc->include, kiln__include_folders[i], name);
        if (length < (int)sizeof path && stat(path, &info) == 0 && S_ISREG(info.st_mode))
            return true;
    }
    return false;
}

kiln_status kiln__nvrtc_headers(kiln__nvrtc *nvrtc, const char *const *names, size_t count, bool fresh, char digest[33],
                                kiln_error **error)
{
    *digest = '\0';
    if (count == 0 || !*nvrtc->include)
        return KILN_OK;
    pthread_mutex_lock(&nvrtc->lock);
    bool good = answer_digest(nvrtc, names, count, fresh, digest);
    pthread_mutex_unlock(&nvrtc->lock);
    return good ? KILN_OK : kiln__fail_memory(error);
}

void kiln__toolkit_free(const kiln_allocator *mem, kiln__toolkit *kit)
{
    if (!kit)
        return;
    for (size_t i = 0; i < kit->count; i++) {
        kiln__free(mem, kit->files[i].path);
        kiln__free(mem, kit->files[i].children);
        kiln__free(mem, kit->files[i].words);
    }
    kiln__free(mem, kit->files);
    kiln__free(mem, kit->slots);
    kiln__free(mem, kit->queue);
    kiln__free(mem, kit);
}
