/* specs.c - loads specs by path, by name or from memory. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core_internal.h"

enum { SPEC_LIMIT = 16 << 20 }; /* largest number of bytes of a spec file */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

static bool is_path(const char *text)
{
    return strchr(text, '/') || ends_with(text, ".yaml") || ends_with(text, ".yml") || ends_with(text, ".json");
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Returns folder number `index` of the folders in which a spec is searched by name, or NULL at the end. These folders
 * are the current folder, ./specs and the folders of the search path. */
static const char *folder_at(const kiln_engine *engine, size_t index)
{
    static const char *const near[] = {".", "specs"};
    if (index < KILN__COUNT(near))
        return near[index];
    index -= KILN__COUNT(near);
    return index < engine->search_count ? engine->search_path[index] : NULL;
}

/* ---- listing ---- */

typedef struct entry {
    const char *name, *path;
    bool here; /* the file is in the current folder, where Kiln ignores a YAML file that is not a spec */
} entry;
typedef struct listing {
    entry *entries;
    size_t count, capacity;
} listing;

static int by_name(const void *a, const void *b) { return strcmp(((const entry *)a)->name, ((const entry *)b)->name); }

static bool is_listed(const listing *list, const char *name, size_t length)
{
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->entries[i].name, name, length) == 0 && list->entries[i].name[length] == '\0')
            return true;
    return false;
}

/* Adds the specs of a folder whose names no earlier folder has. Returns false if memory runs out. */
static bool list_folder(const kiln_allocator *mem, kiln__arena *arena, listing *list, const char *folder, bool here)
{
    DIR *directory = opendir(folder);
    bool fine = true;
    if (!directory)
        return true; /* a folder of the search path may be missing */
    for (const struct dirent *item; fine && (item = readdir(directory));) {
        size_t length = strlen(item->d_name);
        if (item->d_name[0] == '.' || !ends_with(item->d_name, ".yaml") || is_listed(list, item->d_name, length - 5))
            continue;
        fine = kiln__grow(mem, &list->entries, &list->capacity, list->count + 1, sizeof *list->entries);
        if (!fine)
            break;
        entry made = {kiln__arena_strndup(arena, item->d_name, length - 5),
                      strcmp(folder, ".") == 0 ? kiln__arena_strdup(arena, item->d_name)
                                               : kiln__arena_printf(arena, "%s/%s", folder, item->d_name),
                      here};
        fine = made.name && made.path;
        if (fine)
            list->entries[list->count++] = made;
    }
    closedir(directory);
    return fine;
}

static bool list_all(const kiln_engine *engine, kiln__arena *arena, listing *list)
{
    const char *folder;
    for (size_t i = 0; (folder = folder_at(engine, i)); i++)
        if (!list_folder(engine->mem, arena, list, folder, i == 0))
            return false;
    if (list->count > 1)
        qsort(list->entries, list->count, sizeof *list->entries, by_name);
    return true;
}

/* ---- loading ---- */

kiln_status kiln_spec_parse(kiln_engine *engine, const char *text, size_t length, const char *name, kiln_spec **spec,
                            kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    if (length > 0)
        KILN__NEEDS(engine->mem, error, text);
    KILN__NEEDS_TEXT(engine->mem, error, name);
    KILN__NEEDS(engine->mem, error, spec);
    kiln__host_lookup hosts = kiln__engine_hosts(engine);
    kiln_spec *made = NULL;
    kiln_status status = kiln__spec_parse(engine->mem, text ? text : "", length, name, &hosts, &made, error);
    if (status != KILN_OK)
        return status;
    /* resolves the path once, so that the folder of the spec's files cannot change later */
    char *full = realpath(made->folder, NULL);
    const char *copy = full ? kiln__arena_strdup(&made->arena, full) : made->folder;
    free(full);
    if (!copy) {
        kiln_spec_free(made);
        return kiln__fail_memory(error);
    }
    made->folder = copy;
    *spec = made;
    return KILN_OK;
}

static kiln_status load_path(kiln_engine *engine, const char *path, kiln_spec **spec, kiln_error **error)
{
    char *text = NULL;
    size_t length = 0;
    kiln_status status = kiln__file_read(engine->mem, path, SPEC_LIMIT, &text, &length, error);
    if (status != KILN_OK)
        return status;
    status = kiln_spec_parse(engine, text, length, path, spec, error);
    kiln__free(engine->mem, text);
    return status;
}

/* Makes the error for an unknown name: "there is no spec 'matmull'; did you mean 'matmul'? Searched ., specs, ..." */
static kiln_status fail_name(kiln_engine *engine, const char *name, kiln_error **error)
{
    kiln__arena arena = {.mem = engine->mem};
    kiln__text text = {.mem = engine->mem};
    listing list = {0};
    const char **names = NULL, *near = NULL, *folder;
    kiln_status status;
    if (list_all(engine, &arena, &list))
        names = kiln__arena_alloc(&arena, (list.count + 1) * sizeof *names);
    for (size_t i = 0; names && i < list.count; i++)
        names[i] = list.entries[i].name;
    if (names)
        near = kiln__nearest(name, names, list.count);
    kiln__text_printf(&text, "there is no spec '%s'", name);
    if (near)
        kiln__text_printf(&text, "; did you mean '%s'?", near);
    kiln__text_printf(&text, "%s", near ? " Searched" : "; searched");
    for (size_t i = 0; (folder = folder_at(engine, i)); i++)
        kiln__text_printf(&text, "%s %s", i ? "," : "", folder);
    status = text.failed || !names ? kiln__fail_memory(error)
                                   : kiln__fail(engine->mem, error, KILN_ERROR_NOT_FOUND, "%s", kiln__text_get(&text));
    kiln__text_free(&text);
    kiln__free(engine->mem, list.entries);
    kiln__arena_free(&arena);
    return status;
}

/* Warns of a variant whose default configuration breaks a constraint. Such a default is usually a mistake in the spec:
 * `kiln run` refuses the variant, and no other variant can use it as a reference. The function does not check
 * constraints over sizes, the device or inputs, because a variant may be meant for some sizes, devices or inputs
 * only. */
static void warn_of_defaults(kiln_engine *engine, const kiln_spec *spec)
{
    kiln__arena arena = {.mem = engine->mem};
    for (size_t v = 0; v < spec->variant_count; v++) {
        const kiln__variant *variant = &spec->variants[v];
        kiln_setting *known = kiln__arena_alloc(&arena,
                                                (variant->param_count + variant->let_count + 1) * sizeof *known);
        if (!known)
            break;
        kiln__scope scope = {.settings = {0, known}};
        for (; scope.settings.count < variant->param_count; scope.settings.count++) {
            const kiln_param_info *param = kiln_spec_param(spec, v, scope.settings.count);
            known[scope.settings.count] = (kiln_setting){param->name, param->values[param->initial]};
        }
        for (size_t i = 0; i < variant->let_count; i++) {
            kiln_setting *let = &known[scope.settings.count];
            let->name = variant->lets[i].name;
            scope.settings.count += kiln__expr_eval(variant->lets[i].expr, &scope, &let->value, NULL);
        }
        for (size_t i = 0; i < variant->where_count; i++) {
            kiln_value holds;
            kiln__pos pos = kiln__expr_pos(variant->where[i]);
            if (!kiln__expr_eval(variant->where[i], &scope, &holds, NULL) || kiln__value_truth(holds))
                continue;
            kiln__logf(&engine->log, KILN_LOG_WARNING,
                       "%s:%u:%u: the default configuration of variant '%s' breaks the constraint '%s'", spec->path,
                       pos.line, pos.column, variant->name, kiln__expr_text(variant->where[i]));
            break;
        }
    }
    kiln__arena_free(&arena);
}

static kiln_status load_told(kiln_engine *engine, const char *path, kiln_spec **spec, kiln_error **error)
{
    KILN__TRY(load_path(engine, path, spec, error));
    warn_of_defaults(engine, *spec);
    return KILN_OK;
}

kiln_status kiln_spec_load(kiln_engine *engine, const char *path_or_name, kiln_spec **spec, kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, path_or_name);
    KILN__NEEDS(engine->mem, error, spec);
    if (!*path_or_name) /* the name may come from the command line, where it may be empty */
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT, "the name of the spec is empty");
    if (is_path(path_or_name))
        return load_told(engine, path_or_name, spec, error);
    const char *folder;
    for (size_t i = 0; (folder = folder_at(engine, i)); i++) {
        kiln__text path = {.mem = engine->mem};
        if (strcmp(folder, ".") != 0)
            kiln__text_printf(&path, "%s/", folder);
        kiln__text_printf(&path, "%s.yaml", path_or_name);
        if (path.failed) {
            kiln__text_free(&path);
            return kiln__fail_memory(error);
        }
        kiln_status status = KILN_OK;
        bool found = is_file(path.data);
        if (found)
            status = load_told(engine, path.data, spec, error);
        kiln__text_free(&path);
        if (found)
            return status;
    }
    return is_file(path_or_name) ? load_told(engine, path_or_name, spec, error)
                                 : fail_name(engine, path_or_name, error);
}

/* Skips YAML files in the current folder that are not specs without a message, because such files are common there.
 * Logs a warning for a broken spec in any other folder. */
kiln_status kiln_spec_list(kiln_engine *engine, kiln_list_fn each, void *user, kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, each);
    kiln__arena arena = {.mem = engine->mem};
    listing list = {0};
    kiln_status status = list_all(engine, &arena, &list) ? KILN_OK : kiln__fail_memory(error);
    bool ended = false;
    for (size_t i = 0; status == KILN_OK && !ended && i < list.count; i++) {
        kiln_spec *spec = NULL;
        kiln_error *why = NULL;
        const entry *item = &list.entries[i];
        kiln_status loaded = load_path(engine, item->path, &spec, &why);
        if (loaded == KILN_OK)
            ended = each(user, item->name, kiln_spec_title(spec), item->path) != 0;
        else if (loaded == KILN_ERROR_MEMORY)
            status = kiln__fail_memory(error);
        else if (!item->here)
            kiln__logf(&engine->log, KILN_LOG_WARNING, "%s", kiln_error_message(why));
        kiln_error_free(why);
        kiln_spec_free(spec);
    }
    kiln__free(engine->mem, list.entries);
    kiln__arena_free(&arena);
    return status;
}
