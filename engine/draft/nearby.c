/* nearby.c - finds a file near the source that launches the kernel, for a source without a launch. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "draft.h"

/* Limits: the folders above the source, the files that are read in each folder, the bytes of a file, and the tokens
 * between the kernel's name and its <<<. */
enum { MOST_UP = 2, MOST_FILES = 200, MOST_BYTES = 1 << 20, MOST_BETWEEN = 200 };

static int is_source(const struct dirent *entry)
{
    static const char *const ends[] = {".cu", ".cuh", ".cpp", ".cc", ".cxx", ".h", ".hpp"};
    const char *dot = strrchr(entry->d_name, '.');
    for (size_t i = 0; dot && dot != entry->d_name && i < KILN__COUNT(ends); i++)
        if (strcmp(dot, ends[i]) == 0)
            return 1;
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* Returns true if a launch of the kernel begins at the token `word`. A launch is the kernel's name, perhaps with
 * template arguments, and <<<. A launch is also a call of cudaLaunchKernel() or a similar function that names the
 * kernel. */
static bool begins_launch(const kiln__scan *scan, size_t word, const char *name)
{
    if (kiln__word_has(scan, word, "cudalaunch") && scan->words[word + 1].kind == '(')
        return kiln__words_have(scan, word + 2, kiln__word_close(scan, word + 1), name);
    if (!kiln__word_is(scan, word, name))
        return false;
    for (size_t i = word + 1; i < scan->count && i < word + MOST_BETWEEN && !strchr(";{}", scan->words[i].kind); i++)
        if (kiln__word_is(scan, i, "<") && kiln__word_is(scan, i + 1, "<") && kiln__word_is(scan, i + 2, "<"))
            return true;
    return false;
}

/* Returns true if the text launches the kernel. If the text defines a kernel of this name, its launches belong to that
 * other kernel. */
static bool has_launch(const kiln__draft *draft, const char *text, size_t length)
{
    const char *name = draft->kernel->plain;
    bool launched = false;
    kiln__arena arena = {.mem = draft->mem};
    kiln__scan scan;
    if (strstr(text, name) && (strstr(text, "<<<") || strstr(text, "cudaLaunch")) &&
        kiln__scan_source(&arena, text, length, length, &scan, NULL) == KILN_OK) {
        for (size_t i = 1; i < scan.count && !launched; i++)
            launched = begins_launch(&scan, i, name);
        for (size_t i = 0; i < scan.kernel_count; i++)
            launched = launched && strcmp(scan.kernels[i].plain, name) != 0;
    }
    kiln__arena_free(&arena);
    return launched;
}

/* Returns the path of a file in `folder` that launches the kernel. The source itself does not count. Returns NULL if
 * there is no such file. */
static const char *find_in(const kiln__draft *draft, const char *folder)
{
    struct dirent **entries = NULL;
    const char *found = NULL;
    const int count = scandir(folder, &entries, is_source, by_name);
    for (int i = 0; i < count; i++) {
        const char *path = kiln__arena_printf(draft->arena, "%s/%s", folder, entries[i]->d_name);
        struct stat info;
        char *text = NULL;
        size_t length = 0;
        free(entries[i]);
        if (found || i >= MOST_FILES || !path || strcmp(path, draft->path) == 0 || stat(path, &info) != 0 ||
            !S_ISREG(info.st_mode) || info.st_size > MOST_BYTES ||
            kiln__file_read(draft->mem, path, MOST_BYTES, &text, &length, NULL) != KILN_OK)
            continue;
        found = !memchr(text, '\0', length) && has_launch(draft, text, length) ? path : NULL;
        kiln__free(draft->mem, text);
    }
    free(entries);
    return found;
}

const char *kiln__nearby_launch(const kiln__draft *draft)
{
    const char *folder = kiln__arena_folder(draft->arena, draft->path);
    const char *shown = kiln__arena_folder(draft->arena, draft->shown);
    for (int up = 0; up <= MOST_UP && folder && shown && strchr(folder + 1, '/'); up++) {
        const char *found = find_in(draft, folder);
        if (found) /* returns the path as the user sees it, like the path of the source */
            return strcmp(shown, ".") == 0 ? kiln__arena_strdup(draft->arena, strrchr(found, '/') + 1)
                                           : kiln__arena_printf(draft->arena, "%s%s", shown, strrchr(found, '/'));
        folder = kiln__arena_folder(draft->arena, folder);
        shown = up == 0 && strcmp(shown, ".") == 0 ? ".." : kiln__arena_printf(draft->arena, "%s/..", shown);
    }
    return NULL;
}
