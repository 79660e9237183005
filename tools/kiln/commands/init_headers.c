/* init_headers.c - finds folders of headers that a source includes but the compiler does not find, for `kiln init`. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "init.h"

/* Limits of the search for a header: folders above the source, levels below each of these folders, folders in total. */
enum { MOST_LEVELS = 8, MOST_DEPTH = 5, MOST_FOLDERS = 4000 };

typedef struct header_search {
    const char *name; /* the name of the header in the #include */
    cli_list queue;   /* the folders that are still to be searched */
    size_t read, folders;
} header_search;

static bool has_file(const char *folder, const char *name)
{
    struct stat info;
    return stat(cli_printf("%s/%s", folder, name), &info) == 0 && S_ISREG(info.st_mode);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* Returns false for hidden folders, which hold no headers of a project. */
static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* Adds the subfolders of `folder` to the queue, in the order of their names, without the subfolder `except`. Symbolic
 * links are not followed. */
static void add_folders(header_search *search, const char *folder, const char *except)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_visible, by_name);
    for (int i = 0; i < count; i++) {
        struct stat info;
        const char *path = cli_printf("%s/%s", folder, entries[i]->d_name);
        if (search->folders < MOST_FOLDERS && lstat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
            (!except || strcmp(path, except) != 0)) {
            cli_list_add(&search->queue, path);
            search->folders++;
        }
        free(entries[i]);
    }
    free(entries);
}

/* Returns the nearest folder at or below `folder` that has the header. `except` is a subfolder that was already
 * searched, or NULL. The search is breadth-first, so it finds the folder that is nearest to `folder`. */
static const char *find_below(header_search *search, const char *folder, const char *except)
{
    if (has_file(folder, search->name))
        return cli_printf("%s", folder);
    search->queue.count = 0;
    search->read = 0;
    add_folders(search, folder, except);
    for (size_t depth = 1, end = search->queue.count; search->read < search->queue.count; search->read++) {
        if (search->read == end) {
            end = search->queue.count;
            depth++;
        }
        const char *next = search->queue.items[search->read];
        if (has_file(next, search->name))
            return next;
        if (depth < MOST_DEPTH)
            add_folders(search, next, NULL);
    }
    return NULL;
}

/* Returns true if no project extends above this folder. Such a folder has the project's repository or licence, or is a
 * folder that all projects share. */
static bool is_top(const char *folder)
{
    static const char *const files[] = {".git", "LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING"};
    const char *home = getenv("HOME");
    struct stat info;
    for (size_t i = 0; i < CLI_COUNT(files); i++)
        if (stat(cli_printf("%s/%s", folder, files[i]), &info) == 0)
            return true;
    return (home && strcmp(folder, home) == 0) || strcmp(folder, "/tmp") == 0 || !strrchr(folder + 1, '/');
}

/* Searches the source's folder, then each folder above it up to the top of the project. Returns the folder in which the
 * path `name` leads to the header. Returns NULL if the header was not found. */
static const char *find_header(const char *source, const char *name)
{
    char whole[PATH_MAX];
    header_search search = {.name = name};
    const char *except = NULL;
    if (!*name || *name == '/' || strstr(name, "..") || !realpath(source, whole))
        return NULL;
    for (int level = 0; level < MOST_LEVELS; level++) {
        char *slash = strrchr(whole, '/');
        if (!slash || slash == whole)
            return NULL;
        *slash = '\0';
        const char *found = find_below(&search, whole, except);
        if (found || is_top(whole))
            return found;
        except = cli_printf("%s", whole);
    }
    return NULL;
}

/* Returns the text between `before` and `end` in the message. Returns NULL if the message does not contain these
 * texts. */
static const char *part_of(const char *message, const char *before, const char *end)
{
    const char *at = strstr(message, before), *stop = at ? strstr(at + strlen(before), end) : NULL;
    return stop ? cli_strndup(at + strlen(before), (size_t)(stop - at) - strlen(before)) : NULL;
}

/* Returns the deepest folder that contains both files. */
static const char *common_folder(const char *source, const char *header)
{
    char whole[PATH_MAX];
    size_t same = 0;
    if (!realpath(source, whole))
        return NULL;
    for (size_t i = 0; whole[i] && whole[i] == header[i]; i++)
        if (whole[i] == '/')
            same = i;
    return same ? cli_strndup(whole, same) : NULL;
}

bool init_find_headers(cli *c, init_plan *plan, const char *message)
{
    init_args *args = c->args;
    const char *source = c->words.items[0], *folder = NULL;
    const char *name = part_of(message, "cannot open source file \"", "\"");
    if (name) {
        folder = find_header(source, name);
    } else if ((name = part_of(message, "#include \"", "\"")) != NULL) {
        const char *header = part_of(message, cli_printf("#include \"%s\": ", name), " is outside the folders");
        folder = header ? common_folder(source, header) : NULL;
    }
    if (!folder)
        return false;
    const size_t includes = plan->includes.count, paths = args->engine.paths.count;
    init_add_include(c, plan, folder);
    if (paths < args->engine.paths.count) { /* shortens the path for the commands that will use the spec */
        args->engine.paths.items[paths] = init_path_between(plan->folder, folder);
        if (paths > 0 && strcmp(args->engine.paths.items[paths], args->engine.paths.items[paths - 1]) == 0)
            return false; /* an earlier round added this folder, and the compiler still does not find the header */
        kiln_engine_close(c->engine);
        c->engine = NULL;
    }
    if (includes == plan->includes.count && paths == args->engine.paths.count)
        return false;
    const char *where = c->engine ? plan->includes.items[includes] : args->engine.paths.items[paths];
    cli_complain(
        c->engine ? cli_printf("note: '%s' is in the folder '%s', which is now in `include` of the spec", name, where)
                  : cli_printf("note: '%s' is in the folder '%s', outside the folder of the spec: commands need "
                               "'-I %s' with this spec",
                               name, where, where));
    return true;
}
