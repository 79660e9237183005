/* reference.c - keeps references on disk, so that the next run or sweep begins without computing them.
 *
 * A reference depends only on the arguments and the code of its function. The key of a reference is a text with
 * everything on which it depends: the spec, the name and the code of the function, every number and text, and type,
 * shape and hash of every array. So no code has to track which reference depends on which size, param, fill, seed or
 * file. The cache (engine/cache) compares the whole key, and treats a damaged reference as a miss. The content of a
 * kept reference is a list of exports (engine/data/exports.c).
 *
 * Three kinds of references are not kept on disk. First, a host function that an application registered may depend on
 * the state of the application. Second, a host function may itself read a file. Third, another variant may compute the
 * reference.
 *
 * A process in a sandbox cannot write files. Such a process sends a reference to the sweep before its first kernel
 * runs, in the callback of kiln__shared_on_keep(). After the first kernel the sweep accepts no reference. The sweep
 * also checks that the key begins with the hash of its spec. So even if a hostile spec takes over a process in a
 * sandbox, this process can only change references of the same spec. */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls_internal.h"
#include "layout_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "reference_internal.h"
#include "shared_internal.h"

#define LEAST_SECONDS 0.02 /* a reference that took less time to compute is not kept */
/* a reference that took less time than this for each byte is not kept, because reading it takes half of this time */
#define SECONDS_PER_BYTE 2e-9
#define LARGEST 4                 /* a reference that is larger than the limit divided by this number is not kept */
#define FORMAT "kiln reference 1" /* changes when the form of the key or of the content changes */

enum { FILES_MOST = 4096, DEPTH_MOST = 16 };

/* ---- the key ---- */

static void put_hash(kiln__text *out, const char *what, kiln__hash128 hash)
{
    char text[33];
    kiln__hash_print(hash, text);
    kiln__text_printf(out, "%s %s\n", what, text);
}

void kiln__reference_begin_key(const kiln_spec *spec, kiln__text *key)
{
    kiln__text_puts(key, FORMAT "\n");
    put_hash(key, "spec", kiln__hash(spec->file.text, spec->file.length));
}

/* Adds an argument to the key. Two arguments may share an array, because `{host: NAME, X: y}` gives a buffer a second
 * name. The array is then hashed once. */
static void put_argument(kiln_plan *plan, const kiln__call_args *args, size_t number, kiln__text *key)
{
    const kiln__call_arg *arg = &args->args[number];
    kiln__text_printf(key, "%s ", arg->name);
    if (arg->kind == KILN__CALL_VALUE) {
        kiln__text_printf(key, "%d ", (int)arg->value.kind);
        /* the length comes first, because the text may have lines that look like arguments of a key */
        if (arg->value.kind == KILN_TEXT)
            kiln__text_printf(key, "%zu ", strlen(arg->value.as.text));
        kiln__value_print(key, arg->value);
        kiln__text_puts(key, "\n");
        return;
    }
    kiln__plan_shape_text(key, arg->array->type, arg->array->dims, arg->array->shape);
    kiln__text_puts(key, arg->writable ? " out" : "");
    for (size_t i = 0; i < number; i++)
        if (args->args[i].kind == KILN__CALL_ARRAY && args->args[i].array == arg->array) {
            kiln__text_printf(key, " as %s\n", args->args[i].name);
            return;
        }
    kiln__hash128 hash;
    if (kiln__array_hash(plan->mem, arg->array, &hash))
        put_hash(key, "", hash);
    else
        key->failed = true;
}

static bool put_arguments(kiln_plan *plan, const kiln__call_args *args, size_t first, size_t count, kiln__text *key)
{
    for (size_t i = first; i < count && !key->failed; i++)
        put_argument(plan, args, i, key);
    return !key->failed;
}

/* Tells whether the caller has written or bound a buffer. The data of the caller may differ in the next run, so a
 * reference that depends on them is not stored. */
static bool has_data_of_the_caller(const kiln_plan *plan)
{
    for (size_t i = 0; i < plan->spec->buffer_count; i++)
        if (plan->buffers[i].custom)
            return true;
    return false;
}

bool kiln__reference_host_key(kiln_plan *plan, const kiln__verify *verify, const kiln__call_args *args, size_t count,
                              kiln__text *key)
{
    const kiln__host *host = kiln__engine_host(plan->engine, verify->name, KILN_HOST_REFERENCE);
    kiln__hash128 identity;
    if (!host || !(host->uses & KILN_HOST_SHIPPED) || has_data_of_the_caller(plan) ||
        !kiln__engine_references(plan->engine) || !kiln__host_identity(host, &identity))
        return false;
    kiln__reference_begin_key(plan->spec, key);
    kiln__text_printf(key, "host %s\n", verify->name);
    put_hash(key, "code", identity);
    return put_arguments(plan, args, 0, count, key);
}

bool kiln__reference_extend_key(kiln_plan *plan, const kiln__call_args *args, size_t first, kiln__text *key)
{
    /* gives a variant without its own inputs another key than a function that reads no inputs */
    kiln__text_puts(key, "own\n");
    return put_arguments(plan, args, first, args->count, key);
}

/* ---- the key of a command ---- */

/* The files of a folder, with name, size and time of change. The key of a command needs them, because a script may
 * import the files beside it. */
typedef struct listed_files {
    const kiln_allocator *mem;
    /* the sum of the hashes of all files, because the order of the files in a folder is arbitrary */
    kiln__hash128 hash;
    size_t count;
    bool failed; /* there are too many files, or a folder cannot be read */
} listed_files;

static void list_folder(listed_files *files, const char *folder, int depth);

static void list_file(listed_files *files, const char *folder, const char *name, int depth)
{
    struct stat info;
    kiln__text text = {.mem = files->mem};
    kiln__text_printf(&text, "%s/%s", folder, name);
    if (text.failed || ++files->count > FILES_MOST) {
        files->failed = true;
    } else if (lstat(text.data, &info) == 0 && S_ISDIR(info.st_mode)) {
        list_folder(files, text.data, depth + 1);
    } else if (stat(text.data, &info) == 0) {
        kiln__text_printf(&text, " %" PRIu64 " %lld.%09ld", (uint64_t)info.st_size, (long long)info.st_mtim.tv_sec,
                          info.st_mtim.tv_nsec);
        const kiln__hash128 hash = text.failed ? (kiln__hash128){0} : kiln__hash(text.data, text.length);
        files->failed |= text.failed;
        files->hash.low += hash.low;
        files->hash.high += hash.high;
    }
    kiln__text_free(&text);
}

/* Adds the files of a folder to the list. Leaves out hidden files, and the folder in which Python keeps compiled
 * modules, because running the command makes this folder. */
static void list_folder(listed_files *files, const char *folder, int depth)
{
    DIR *open = depth < DEPTH_MOST ? opendir(folder) : NULL;
    if (!open) {
        files->failed = true;
        return;
    }
    for (const struct dirent *item; !files->failed && (item = readdir(open));)
        if (item->d_name[0] != '.' && strcmp(item->d_name, "__pycache__") != 0)
            list_file(files, folder, item->d_name, depth);
    closedir(open);
}

static bool put_content(const kiln_allocator *mem, const char *path, kiln__text *key)
{
    static const size_t limit = (size_t)1 << 28;
    char *text = NULL;
    size_t length = 0;
    if (kiln__file_read(mem, path, limit, &text, &length, NULL) != KILN_OK)
        return false;
    put_hash(key, " content", kiln__hash(text ? text : "", length));
    kiln__free(mem, text);
    return true;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return path && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_file(const char *path)
{
    struct stat info;
    return path && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Searches the folders of PATH for a program, as execvp() does. Returns NULL if no folder has the program. Also returns
 * NULL if PATH is not set. execvp() would then search default folders, and the reference is not kept. */
static const char *find_program(kiln__arena *arena, const char *name)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        const size_t length = strcspn(path, ":");
        const char *one = kiln__arena_printf(arena, "%.*s/%s", (int)length, length ? path : ".", name);
        if (is_file(one) && access(one, X_OK) == 0)
            return one;
        path += length + (path[length] == ':');
    }
    return NULL;
}

/* Adds the words of the command to the key, with the content of every file that they name. Also adds the list of all
 * files beside the spec and beside the named files. At least one word besides the program must name a file. If no other
 * word is a file, as in `sh -c TEXT`, the files that the command reads are unknown, and the reference is not kept. */
static bool put_command(kiln_plan *plan, const kiln__verify *verify, kiln__text *key)
{
    const char *folder = plan->spec->folder && *plan->spec->folder ? plan->spec->folder : ".";
    kiln__arena arena = {.mem = plan->mem};
    listed_files files = {.mem = plan->mem};
    bool known = true, named = false;
    list_folder(&files, folder, 0);
    for (size_t i = 0; i < verify->word_count && known; i++) {
        const char *word = verify->words[i];
        const char *path = *word == '/' ? word : kiln__arena_printf(&arena, "%s/%s", folder, word);
        const bool program = i == 0 && !strchr(word, '/');
        if (program)
            path = find_program(&arena, word);
        kiln__text_printf(key, "word %s\n", word);
        if (!is_file(path)) {
            known = i > 0; /* the first word must be a program, but any other word need not be a file */
            if (known && is_folder(path))
                list_folder(&files, path, 0);
            continue;
        }
        known = put_content(plan->mem, path, key);
        named |= !program;
        if (program) /* links in two environments may lead to one program */
            kiln__text_printf(key, "program %s\n", path);
        char real[PATH_MAX];
        struct stat info;
        /* lists the files in the folder of the name, and in the folder of the file itself if the name is a link */
        if (!program && strchr(word, '/'))
            list_folder(&files, kiln__arena_folder(&arena, path), 0);
        if (!program && lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && realpath(path, real))
            list_folder(&files, kiln__arena_folder(&arena, real), 0);
    }
    put_hash(key, "files", files.hash);
    known = known && named && !files.failed && !arena.failed && !key->failed;
    kiln__arena_free(&arena);
    return known;
}

bool kiln__reference_command_key(kiln_plan *plan, const kiln__verify *verify, const kiln__call_args *args,
                                 kiln__text *key)
{
    if (!(plan->engine->flags & KILN_ALLOW_COMMANDS) || has_data_of_the_caller(plan) ||
        !kiln__engine_references(plan->engine))
        return false;
    kiln__reference_begin_key(plan->spec, key);
    kiln__text_printf(key, "command %s\n", verify->name);
    for (size_t i = 0; i < plan->config->sizes.count; i++) {
        kiln__text_printf(key, "%s=", plan->config->sizes.items[i].name);
        kiln__value_print(key, plan->config->sizes.items[i].value);
        kiln__text_puts(key, "\n");
    }
    return put_command(plan, verify, key) && put_arguments(plan, args, 0, args->count, key);
}

/* ---- reading and writing ---- */

bool kiln__reference_find(kiln_plan *plan, const kiln__text *key, kiln__unit *unit, kiln__export **exports)
{
    kiln__cache *cache = kiln__engine_references(plan->engine);
    const kiln__cache_key wanted = {.material = key->data, .length = key->length};
    bool whole = false;
    if (!cache || key->failed || !kiln__cache_get(cache, &wanted, unit))
        return false;
    if (kiln__exports_unpack(plan->mem, unit->log, unit->log_length, unit->cubin, unit->cubin_length, exports,
                             &whole) == KILN_OK &&
        whole) {
        kiln__logf(&plan->engine->log, KILN_LOG_DEBUG, "%s: a reference of %" PRIu64 " bytes was on disk",
                   plan->spec->name, (uint64_t)unit->cubin_length);
        return true;
    }
    kiln__unit_free(unit);
    return false;
}

void kiln__reference_store(kiln_engine *engine, const kiln__kept_reference *kept)
{
    kiln__cache *cache = kiln__engine_references(engine);
    const kiln__cache_key key = {.material = kept->key,
                                 .length = kept->key_length,
                                 .source = kept->spec,
                                 .arch = "reference",
                                 .compiler = kept->function,
                                 .options = kept->sizes};
    const kiln__unit unit = {
        .cubin = kept->data, .cubin_length = kept->data_length, .log = kept->list, .log_length = kept->list_length};
    if (!cache || !kiln__cache_is_writable(cache))
        return;
    kiln__cache_put(cache, &key, &unit);
    kiln__cache_gc(cache, engine->references_most, NULL, NULL, NULL);
}

/* Cuts the text of the sizes to 200 bytes. `kiln cache` shows the text in its list of entries, and nothing reads it
 * back. */
static void cut_label(kiln__text *text)
{
    enum { MOST = 200 };
    if (text->length > MOST)
        text->data[MOST] = '\0';
}

/* Keeps a reference on disk if reading the reference later is clearly faster than computing it again. If the process is
 * in a sandbox, the sweep writes the file, because the process may not write files. */
void kiln__reference_keep(kiln_plan *plan, const kiln__verify *verify, const kiln__text *key,
                          const kiln__export *exports, double seconds)
{
    kiln__shared *shared = plan->shared;
    kiln__cache *cache = kiln__engine_references(plan->engine);
    const uint64_t bytes = kiln__exports_bytes(exports);
    if (key->failed || !cache || (!shared->on_keep && !kiln__cache_is_writable(cache)) || seconds < LEAST_SECONDS ||
        seconds < SECONDS_PER_BYTE * (double)bytes || bytes > plan->engine->references_most / LARGEST)
        return;
    kiln__text list = {.mem = plan->mem}, data = {.mem = plan->mem}, sizes = {.mem = plan->mem};
    kiln__settings_print(&sizes, plan->config->sizes);
    cut_label(&sizes);
    if (kiln__exports_pack(exports, &list, &data) && !sizes.failed) {
        const kiln__kept_reference kept = {.key = key->data,
                                           .key_length = key->length,
                                           .spec = plan->spec->name,
                                           .function = verify->name,
                                           .sizes = kiln__text_get(&sizes),
                                           .list = list.data,
                                           .list_length = list.length,
                                           .data = data.data,
                                           .data_length = data.length};
        if (shared->on_keep)
            shared->on_keep(shared->on_keep_user, &kept);
        else
            kiln__reference_store(plan->engine, &kept);
    }
    kiln__text_free(&list);
    kiln__text_free(&data);
    kiln__text_free(&sizes);
}
