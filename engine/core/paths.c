/* paths.c - finds specs, sources, the worker and the cache, and decides which files a spec may read. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_internal.h"

/* Folders of an installation, which CMake sets. The code also searches every place relative to the running program, so
 * that an installation can be moved and the build tree works. */
#ifndef KILN_DATADIR
#error "KILN_DATADIR must be the folder for read-only data (/usr/local/share)"
#endif
#ifndef KILN_LIBEXECDIR
#error "KILN_LIBEXECDIR must be the folder for helper programs (/usr/local/libexec)"
#endif

static const char *read_environment(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static const char *folder_of(kiln__arena *arena, const char *path)
{
    char *full = realpath(path, NULL);
    const char *folder = full ? kiln__arena_folder(arena, full) : NULL;
    free(full);
    return folder;
}

const char *kiln__executable_folder(kiln__arena *arena) { return folder_of(arena, "/proc/self/exe"); }

const char *kiln__library_folder(kiln__arena *arena)
{
    static const char here; /* an address within this library, for dladdr() */
    Dl_info info;
    if (!dladdr(&here, &info) || !info.dli_fname || !*info.dli_fname)
        return NULL;
    return folder_of(arena, info.dli_fname);
}

/* ---- the search path ---- */

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

typedef struct folder_list {
    const char **folders;
    size_t count, capacity;
} folder_list;

static bool add_folder(kiln_engine *engine, folder_list *list, const char *folder)
{
    if (!folder)
        return !engine->arena.failed;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        const char **grown = kiln__arena_alloc(&engine->arena, capacity * sizeof *grown);
        if (!grown)
            return false;
        if (list->count)
            memcpy(grown, list->folders, list->count * sizeof *grown);
        list->folders = grown;
        list->capacity = capacity;
    }
    list->folders[list->count++] = folder;
    return true;
}

static bool add_folders(kiln_engine *engine, folder_list *list, const char *text)
{
    while (text && *text) {
        size_t length = strcspn(text, ":");
        if (length > 0 && !add_folder(engine, list, kiln__arena_strndup(&engine->arena, text, length)))
            return false;
        text += length + (text[length] == ':');
    }
    return true;
}

/* Adds an installed folder if it exists and the list does not have it yet. The comparison resolves links. */
static bool add_installed(kiln_engine *engine, folder_list *list, const char *base, const char *below)
{
    if (!base)
        return !engine->arena.failed;
    const char *path = kiln__arena_printf(&engine->arena, "%s/%s", base, below);
    if (!path)
        return false;
    if (!is_folder(path))
        return true;
    for (size_t i = 0; i < list->count; i++)
        if (kiln__path_within(engine->mem, path, list->folders[i]) &&
            kiln__path_within(engine->mem, list->folders[i], path))
            return true;
    return add_folder(engine, list, path);
}

bool kiln__search_path_make(kiln_engine *engine, const char *option)
{
    folder_list list = {0};
    bool made = add_folders(engine, &list, option) && add_folders(engine, &list, read_environment("KILN_PATH")) &&
                add_installed(engine, &list, kiln__executable_folder(&engine->arena), "../share/kiln/specs") &&
                add_installed(engine, &list, kiln__library_folder(&engine->arena), "../share/kiln/specs") &&
                add_installed(engine, &list, kiln__library_folder(&engine->arena), "../../share/kiln/specs") &&
                add_installed(engine, &list, KILN_DATADIR, "kiln/specs");
    engine->search_path = list.folders;
    engine->search_count = list.count;
    list = (folder_list){0};
    made = made && add_folders(engine, &list, read_environment("KILN_INCLUDE"));
    engine->include_path = list.folders;
    engine->include_count = list.count;
    return made;
}

/* ---- the worker ---- */

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

const char *kiln__worker_find(kiln__arena *arena, const char *option)
{
    if (!option)
        option = read_environment("KILN_WORKER");
    if (option) /* returns the path even if the file is missing, because starting the worker reports that */
        return kiln__arena_strdup(arena, option);
    const char *executable = kiln__executable_folder(arena), *library = kiln__library_folder(arena);
    const struct {
        const char *base, *below;
    } places[] = {
        {executable, "kiln-worker"},
        {executable, "../libexec/kiln/kiln-worker"},
        {executable, "../tools/kiln-worker"}, /* the place of the worker for tests in the build tree */
        {library, "../libexec/kiln/kiln-worker"},
        {library, "../../libexec/kiln/kiln-worker"}, /* lib/ARCHITECTURE/libkiln.so */
        {library, "../tools/kiln-worker"},
        {KILN_LIBEXECDIR, "kiln/kiln-worker"},
    };
    for (size_t i = 0; i < KILN__COUNT(places); i++) {
        if (!places[i].base)
            continue;
        const char *path = kiln__arena_printf(arena, "%s/%s", places[i].base, places[i].below);
        if (path && is_program(path))
            return path;
    }
    return NULL;
}

/* ---- the cache and the store ---- */

/* Returns $VARIABLE/below, as the XDG specification says. If the variable is not set, returns the fallback in the home
 * folder. Returns NULL if there is no home folder. */
static const char *home_folder(kiln__arena *arena, const char *variable, const char *fallback, const char *below)
{
    const char *base = read_environment(variable);
    if (base && *base == '/') /* by the XDG specification a relative path is invalid and ignored */
        return kiln__arena_printf(arena, "%s/%s", base, below);
    const char *home = read_environment("HOME");
    if (home)
        return kiln__arena_printf(arena, "%s/%s/%s", home, fallback, below);
    char room[4096];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(getuid(), &entry, room, sizeof room, &found) == 0 && found && found->pw_dir && *found->pw_dir)
        return kiln__arena_printf(arena, "%s/%s/%s", found->pw_dir, fallback, below);
    return NULL;
}

const char *kiln__cache_folder_find(kiln__arena *arena, const char *option)
{
    if (!option || !*option)
        option = read_environment("KILN_CACHE_DIR");
    return option ? kiln__arena_strdup(arena, option) : home_folder(arena, "XDG_CACHE_HOME", ".cache", "kiln");
}

const char *kiln__store_path_find(kiln__arena *arena, const char *option)
{
    if (!option || !*option)
        option = read_environment("KILN_STORE");
    return option ? kiln__arena_strdup(arena, option)
                  : home_folder(arena, "XDG_DATA_HOME", ".local/share", "kiln/samples.db");
}

/* ---- the files that a spec names ---- */

/* The folders in which a spec's files may be. Their links are resolved once, before any search. For sources, the search
 * includes the folders kernel_src in and beside each of these folders. */
typedef struct root {
    const char *shown; /* the path as the user wrote it, for messages */
    const char *real;  /* the resolved path, or NULL if the folder does not exist */
    bool leads_out;    /* the folder is a kernel_src that links to another place, so none of its files is allowed */
} root;

typedef struct roots {
    kiln_engine *engine;
    const char *spec_folder;
    bool sources;
    root *items;
    size_t count;
} roots;

/* number of places for each folder: the folder itself, its kernel_src, and the kernel_src beside it */
enum { PLACES = 3 };

/* Resolves the links in a path, and returns the result in the arena. Returns NULL without setting arena->failed if the
 * path does not exist. */
static const char *resolve(kiln__arena *arena, const char *path)
{
    char *full = path ? realpath(path, NULL) : NULL;
    if (path && !full && errno == ENOMEM)
        arena->failed = true;
    const char *copy = full ? kiln__arena_strdup(arena, full) : NULL;
    free(full);
    return copy;
}

/* The author of a spec may put a link beside it. So a link named kernel_src counts only if its target lies in a folder
 * that the spec may read anyway. */
static void add_kernel_src(roots *where, const char *shown, const char *base, const char *real, kiln__arena *arena)
{
    root *made = &where->items[where->count++];
    const char *path = base ? kiln__arena_printf(arena, "%s/kernel_src", strcmp(base, "/") == 0 ? "" : base) : NULL;
    *made = (root){.shown = shown, .real = resolve(arena, path)};
    bool inside = made->real && (strcmp(made->real, path) == 0 || kiln__path_below(made->real, real));
    made->leads_out = made->real && !inside;
}

static kiln_status find_roots(roots *where, kiln__arena *arena, kiln_error **error)
{
    size_t folders = 1 + where->engine->search_count, more = where->sources ? where->engine->include_count : 0;
    where->items = kiln__arena_alloc(arena, (folders * PLACES + more) * sizeof *where->items);
    for (size_t i = 0; where->items && i < folders; i++) {
        const char *shown = i == 0 ? where->spec_folder : where->engine->search_path[i - 1];
        /* the folder of the spec is already resolved */
        const char *real = i == 0 && *shown == '/' ? shown : resolve(arena, shown);
        where->items[where->count++] = (root){.shown = shown, .real = real};
        if (!where->sources)
            continue;
        add_kernel_src(where, kiln__arena_printf(arena, "%s/kernel_src", shown), real, real, arena);
        add_kernel_src(where, kiln__arena_printf(arena, "%s/../kernel_src", shown),
                       real ? kiln__arena_folder(arena, real) : NULL, real, arena);
    }
    for (size_t i = 0; where->items && i < more; i++) {
        const char *shown = where->engine->include_path[i];
        where->items[where->count++] = (root){.shown = shown, .real = resolve(arena, shown)};
    }
    return arena->failed || !where->items ? kiln__fail_memory(error) : KILN_OK;
}

/* Returns whether the resolved `path` lies in an allowed folder. */
static bool is_allowed(const roots *where, const char *path)
{
    if (where->engine->flags & KILN_READ_ANYWHERE)
        return true;
    for (size_t i = 0; i < where->count; i++)
        if (where->items[i].real && !where->items[i].leads_out && kiln__path_below(path, where->items[i].real))
            return true;
    return false;
}

/* If an allowed folder has a file with the same last component as `name`, returns this component. Otherwise returns
 * NULL. */
static const char *find_without_folder(const roots *where, const char *name)
{
    const char *base = strrchr(name, '/');
    char path[4096];
    struct stat info;
    for (size_t i = 0; base && base[1] && i < where->count; i++) {
        const root *at = &where->items[i];
        const int length = at->real && !at->leads_out ? snprintf(path, sizeof path, "%s%s", at->real, base) : -1;
        if (length > 0 && length < (int)sizeof path && stat(path, &info) == 0 && S_ISREG(info.st_mode))
            return base + 1;
    }
    return NULL;
}

static kiln_status fail_path(const roots *where, const char *name, bool refused, kiln_error **error)
{
    const kiln_allocator *mem = where->engine->mem;
    kiln__text list = {.mem = mem};
    for (size_t i = 0; i < where->count; i++)
        if (i == 0 || (where->items[i].real && !where->items[i].leads_out && is_folder(where->items[i].real)))
            kiln__text_printf(&list, "%s%s", list.length ? ", " : "", where->items[i].shown);
    for (size_t i = 0; i < where->count; i++)
        if (where->items[i].leads_out)
            kiln__text_printf(&list, "; %s is a link to another place and is not used", where->items[i].shown);
    kiln_status status;
    const char *near = refused ? NULL : find_without_folder(where, name);
    if (list.failed)
        status = kiln__fail_memory(error);
    else if (refused)
        status =
            kiln__fail(mem, error, KILN_ERROR_REFUSED,
                       "%s: a spec may only read files below %s; allow its folder with -I FOLDER (KILN_PATH), or any "
                       "with --read-anywhere (KILN_READ_ANYWHERE)",
                       name, kiln__text_get(&list));
    else
        status = kiln__fail(mem, error, KILN_ERROR_NOT_FOUND, "%s: not found; searched %s%s%s%s", name,
                            kiln__text_get(&list), near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    kiln__text_free(&list);
    return status;
}

/* Finds a file in the allowed folders. *path has its links resolved, and kiln__file_open() then refuses a path with a
 * link. So Kiln opens exactly the file that it checked, even if the folders change in between. */
static kiln_status find(roots *where, const char *name, kiln__arena *arena, const char **path, kiln_error **error)
{
    if (!*name)
        return kiln__fail(where->engine->mem, error, KILN_ERROR_ARGUMENT, "the name of a file is empty");
    bool refused = false;
    kiln_status status = find_roots(where, arena, error);
    if (status != KILN_OK)
        return status;
    for (size_t i = 0; i < where->count; i++) {
        const char *from = where->items[i].real;
        if (!from && *name != '/')
            continue;
        const char *full = resolve(arena, *name == '/' ? name : kiln__arena_printf(arena, "%s/%s", from, name));
        if (arena->failed)
            return kiln__fail_memory(error);
        if (full && is_allowed(where, full)) {
            *path = full;
            return KILN_OK;
        }
        refused = refused || full;
        if (*name == '/')
            break;
    }
    return fail_path(where, name, refused, error);
}

kiln_status kiln__engine_find_file(kiln_engine *engine, const char *spec_folder, const char *name, kiln__arena *arena,
                                   const char **path, kiln_error **error)
{
    roots where = {.engine = engine, .spec_folder = spec_folder ? spec_folder : ".", .sources = false};
    return find(&where, name, arena, path, error);
}

kiln_status kiln__engine_find_source(kiln_engine *engine, const char *spec_folder, const char *name, kiln__arena *arena,
                                     const char **path, kiln_error **error)
{
    roots where = {.engine = engine, .spec_folder = spec_folder ? spec_folder : ".", .sources = true};
    return find(&where, name, arena, path, error);
}

/* ---- headers ---- */

static kiln_status find_include(roots *where, const char *name, kiln__arena *arena, const char **path,
                                kiln_error **error)
{
    kiln_error *why = NULL;
    kiln_status status = find(where, name, arena, path, &why);
    if (status != KILN_OK && why)
        kiln__fail(where->engine->mem, error, status, "a folder of 'include': %s", kiln_error_message(why));
    kiln_error_free(why);
    if (status != KILN_OK || is_folder(*path))
        return status;
    return kiln__fail(where->engine->mem, error, KILN_ERROR_ARGUMENT,
                      "%s is not a folder: 'include' has folders of headers", name);
}

kiln_status kiln__engine_include_paths(kiln_engine *engine, const char *spec_folder, const char *source,
                                       const char *const *include, size_t count, kiln__arena *arena,
                                       kiln__include_paths *paths, kiln_error **error)
{
    roots where = {.engine = engine, .spec_folder = spec_folder ? spec_folder : ".", .sources = true};
    size_t most = 1 + count + engine->search_count + engine->include_count, used = 0;
    const char **folders = kiln__arena_alloc(arena, most * sizeof *folders);
    for (size_t i = 0; folders && i < count; i++) { /* folders[0] is the folder of the source itself */
        roots fresh = where;
        kiln_status status = find_include(&fresh, include[i], arena, &folders[1 + i], error);
        if (status != KILN_OK)
            return status;
    }
    kiln_status status = find_roots(&where, arena, error);
    const char **allowed = status == KILN_OK ? kiln__arena_alloc(arena, (where.count + 2) * sizeof *allowed) : NULL;
    const char *beside = kiln__arena_folder(arena, source);
    if (!folders || !allowed || !beside)
        return status == KILN_OK ? kiln__fail_memory(error) : status;
    folders[0] = beside;
    size_t folder_count = 1 + count;
    for (size_t i = 0; i < engine->search_count; i++)
        folders[folder_count++] = engine->search_path[i];
    for (size_t i = 0; i < engine->include_count; i++)
        folders[folder_count++] = engine->include_path[i];
    if (engine->flags & KILN_READ_ANYWHERE)
        allowed[used++] = "/";
    for (size_t i = 0; i < where.count; i++)
        if (where.items[i].real && !where.items[i].leads_out)
            allowed[used++] = where.items[i].real;
    *paths = (kiln__include_paths){
        .folders = folders, .folder_count = folder_count, .allowed = allowed, .allowed_count = used};
    return KILN_OK;
}
