/* profiles.c - finds device profiles for the simulated device: files NAME.profile in the current folder, in the folders
 * of the search path, and in the subfolders `devices` of the search path's folders. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core_internal.h"

/* PROFILE_LIMIT is in bytes; a NAME must fit into kiln_device_info.id as "sim:NAME" */
enum { PROFILE_LIMIT = 1 << 20, NAME_MOST = 27 };
static const char ending[] = ".profile";

static bool is_known(const char *name)
{
    for (size_t i = 0; kiln__driver_simulator()->profile_at(i); i++)
        if (strcmp(kiln__driver_simulator()->profile_at(i), name) == 0)
            return true;
    return false;
}

static bool is_path(const char *text)
{
    size_t length = strlen(text), tail = sizeof ending - 1;
    return strchr(text, '/') || (length > tail && strcmp(text + length - tail, ending) == 0);
}

/* Returns the name of a file without its folder and without the suffix .profile. */
static const char *name_of(kiln__arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = strlen(base), tail = sizeof ending - 1;
    return kiln__arena_strndup(arena, base,
                               length > tail && strcmp(base + length - tail, ending) == 0 ? length - tail : length);
}

static kiln_status add_file(const kiln_engine *engine, const char *path, const char *name, kiln_error **error)
{
    char *text = NULL;
    size_t length = 0;
    if (!*name || strlen(name) > NAME_MOST)
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                          "%s: the name of a device profile has 1 to %d characters", path, NAME_MOST);
    kiln_status status = kiln__file_read(engine->mem, path, PROFILE_LIMIT, &text, &length, error);
    if (status != KILN_OK)
        return status;
    kiln__text log = {.mem = engine->mem};
    switch (kiln__driver_simulator()->profile_add(name, text, length, &log)) {
    case KILN__SIM_ADDED:
    case KILN__SIM_KNOWN: break;
    case KILN__SIM_BAD_PROFILE:
        status = log.failed ? kiln__fail_memory(error)
                            : kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT, "%s: not a device profile:\n%s", path,
                                         kiln__text_get(&log));
        break;
    case KILN__SIM_NO_ROOM:
        status = kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT, "%s: too many device profiles", path);
        break;
    }
    kiln__text_free(&log);
    kiln__free(engine->mem, text);
    return status;
}

/* Returns folder number `index` of the folders that may hold profiles, or NULL at the end. These folders are the
 * current folder, and each folder of the search path followed by its subfolder `devices`. */
static const char *folder_at(const kiln_engine *engine, size_t index, kiln__arena *arena)
{
    if (index == 0)
        return ".";
    index--;
    if (index / 2 >= engine->search_count)
        return NULL;
    const char *folder = engine->search_path[index / 2];
    return index % 2 == 0 ? folder : kiln__arena_printf(arena, "%s/devices", folder);
}

kiln_status kiln__profile_find(const kiln_engine *engine, const char *wanted, kiln__arena *arena, const char **name,
                               kiln_error **error)
{
    struct stat info;
    bool path = is_path(wanted);
    *name = path ? name_of(arena, wanted) : wanted;
    if (!*name)
        return kiln__fail_memory(error);
    if (path)
        return add_file(engine, wanted, *name, error);
    const char *folder;
    for (size_t i = 0; !is_known(wanted) && (folder = folder_at(engine, i, arena)); i++) {
        const char *file = kiln__arena_printf(arena, "%s/%s%s", folder, wanted, ending);
        if (file && stat(file, &info) == 0 && S_ISREG(info.st_mode))
            return add_file(engine, file, wanted, error);
    }
    return arena->failed ? kiln__fail_memory(error) : KILN_OK;
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Lists the paths of the profiles in a folder, sorted by name. */
static size_t list_folder(const kiln_engine *engine, kiln__arena *arena, const char *folder, const char ***paths)
{
    size_t count = 0, capacity = 0;
    DIR *directory = opendir(folder);
    for (const struct dirent *item; directory && (item = readdir(directory));) {
        size_t length = strlen(item->d_name);
        if (length < sizeof ending || strcmp(item->d_name + length - (sizeof ending - 1), ending) != 0)
            continue;
        const char *path = kiln__arena_printf(arena, "%s/%s", folder, item->d_name);
        if (!path || !kiln__grow(engine->mem, paths, &capacity, count + 1, sizeof **paths))
            break;
        (*paths)[count++] = path;
    }
    if (directory)
        closedir(directory);
    if (count > 1)
        qsort(*paths, count, sizeof **paths, by_name);
    return count;
}

void kiln__profile_find_all(const kiln_engine *engine)
{
    kiln__arena arena = {.mem = engine->mem};
    const char *folder;
    for (size_t i = 0; (folder = folder_at(engine, i, &arena)); i++) {
        const char **paths = NULL;
        size_t count = list_folder(engine, &arena, folder, &paths);
        for (size_t k = 0; k < count; k++) {
            kiln_error *why = NULL;
            const char *name = name_of(&arena, paths[k]);
            if (name && !is_known(name) && add_file(engine, paths[k], name, &why) != KILN_OK)
                kiln__logf(&engine->log, KILN_LOG_WARNING, "%s", kiln_error_message(why));
            kiln_error_free(why);
        }
        kiln__free(engine->mem, paths);
    }
    kiln__arena_free(&arena);
}
