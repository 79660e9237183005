/* includes.c - finds the project headers that a source includes, so that NVRTC gets them in memory and the cache key
 * covers them. NVRTC does not search folders for headers of the project. NVRTC compares the name in an #include with
 * the names of the headers that it got in memory. So this file gives each header one name, and where necessary changes
 * names in the texts.
 *
 * collect_includes() searches depth first: it reads each file once, and calls itself for each new file that the file
 * includes. Depth, number and bytes are bounded. */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "chars.h"
#include "compile_internal.h"

/* Limits of one collection: depth of inclusion, number of headers, bytes of all headers, and number of paths at which
 * the code looks for a file. The code looks for a directive at every line start, and a comment, a joined line or the
 * name of a header may extend to the end of the text. So the number of bytes that are read after line starts is limited
 * too. Without this limit a hostile text of 1 MB would take hours. */
enum { MOST_DEPTH = 64, MOST_HEADERS = 4096, MOST_PATHS = 1 << 22 };
static const size_t most_bytes = (size_t)64 << 20, most_looked = (size_t)64 << 20;
enum { SEARCH_SPEED = 16 }; /* bytes that strstr() reads in the time that the functions below need for one byte */

/* The state of one collection; `items` grows while files are read. */
typedef struct collector {
    const kiln_allocator *mem;
    kiln__arena *arena;
    const kiln__include_paths *where;
    const char *source; /* the text of the source whose headers are collected */
    kiln__include *items;
    const char **files; /* for each entry of `items`, the path of the file with its links resolved */
    size_t count, item_room, file_room, bytes;
    char *path, *file, *refused; /* room for PATH_MAX bytes each, which every search overwrites */
    size_t searched;             /* number of paths at which files were searched; at most MOST_PATHS */
    unsigned invented;           /* number of the last folder that choose_name() has invented */
    size_t looked;       /* number of bytes that were read after line starts and in macros; at most most_looked */
    const char **others; /* names that were not found; the digest of CUDA's headers needs them */
    size_t other_count, other_room;
    kiln_error **error;
} collector;

/* A text in which the names of #include directives are replaced. */
typedef struct edited {
    const char *path, *text, *copied; /* `copied` is the end of the part that `out` already contains */
    kiln__text out;                   /* the changed text, or empty if nothing was changed */
} edited;

/* ---- finding the directives ----
 *
 * The end of a comment, a string or an #if 0 depends on raw strings, digit separators, trigraphs and the language
 * standard. A parser in Kiln could place this end differently from NVRTC. So the code here does not skip comments,
 * strings and conditionals. Any text that reads like a directive counts as a directive at the start of a line (physical
 * or joined), or after a block comment. A superfluous header only makes the key longer. A missing header would make a
 * stale cache hit. */

/* Skips joints. A joint is a backslash, or its trigraph, at the end of a line that continues on the next line. A joint
 * may stand inside a word. NVRTC drops all carriage returns before the end of a line, not only the last one. */
static const char *skip_joints(const char *at)
{
    for (;;) {
        const char *end = *at == '\\' ? at + 1 : at[0] == '?' && at[1] == '?' && at[2] == '/' ? at + 3 : NULL;
        while (end && *end == '\r')
            end++;
        if (!end || *end != '\n')
            return at;
        at = end + 1;
    }
}

static const char *advance(const char *at) { return skip_joints(at + 1); }

static const char *skip_comment(const char *at)
{
    at = advance(advance(at));
    while (*at && !(*at == '*' && *advance(at) == '/'))
        at = advance(at);
    return *at ? advance(advance(at)) : at;
}

static bool is_blank(char c) { return kiln__is_blank(c) || c == '\v' || c == '\f'; }

/* Skips blanks and block comments within a line. */
static const char *skip_blank(const char *at)
{
    for (at = skip_joints(at);;) {
        if (is_blank(*at))
            at = advance(at);
        else if (*at == '/' && *advance(at) == '*')
            at = skip_comment(at);
        else
            return at;
    }
}

/* Reads a word into `word`, and cuts it if it is longer than `room`. */
static const char *read_word(const char *at, char *word, size_t room)
{
    size_t length = 0;
    for (; kiln__is_word_part(*at); at = advance(at))
        if (length + 1 < room)
            word[length++] = *at;
    word[length] = '\0';
    return at;
}

/* Returns the next joint at or after `at` that is inside a word, or NULL. */
static const char *joint_in_word(const char *text, const char *at)
{
    for (; (at = strpbrk(at, "\\?")) != NULL; at++)
        if (at > text && kiln__is_word_part(at[-1]) && skip_joints(at) != at && kiln__is_word_part(*skip_joints(at)))
            return at;
    return NULL;
}

/* Returns false if no directive in the text can name a file. Most sources have no such directive. Reading such texts
 * line by line would be most of the cost of a cache hit. */
static bool may_name_file(const char *text)
{
    return strstr(text, "include") || strstr(text, "import") || strstr(text, "embed") || joint_in_word(text, text);
}

typedef enum kind { NONE, INCLUDE, EMBED, IMPORT } kind;

/* Returns the kind of the directive at `at`, as if a line began there. *behind receives the position after the
 * directive's word. */
static kind directive_at(const char *at, const char **behind)
{
    char word[16];
    at = skip_joints(at);
    while (is_blank(*at))
        at = advance(at);
    bool trigraph = at[0] == '?' && at[1] == '?' && at[2] == '=';
    if (*at == '#' || trigraph || (*at == '%' && *advance(at) == ':')) {
        at = read_word(skip_blank(*at == '#' ? advance(at) : advance(trigraph ? at + 2 : advance(at))), word,
                       sizeof word);
        *behind = skip_blank(at);
        if (strcmp(word, "include") == 0 || strcmp(word, "include_next") == 0 || strcmp(word, "import") == 0)
            return INCLUDE;
        return strcmp(word, "embed") == 0 ? EMBED : NONE;
    }
    *behind = at;
    if (*at != 'i' && *at != 'e')
        return NONE;
    at = read_word(at, word, sizeof word);
    if (strcmp(word, "export") == 0)
        at = read_word(skip_blank(at), word, sizeof word);
    *behind = skip_blank(at);
    return strcmp(word, "import") == 0 ? IMPORT : NONE;
}

/* Returns the next place at or after *at where a line begins or may begin, or NULL at the end of the text. NVRTC 13
 * treats a lone carriage return, a form feed and a vertical tab as white space, and so does is_blank(). Another lexer
 * may end a line at these characters, and then see a directive. So this function counts the places after these
 * characters as line starts too: it misses no directive of any lexer. */
static const char *next_start(const char **at)
{
    static const char ends[] = "\n\r\f\v*";
    const char *p = strpbrk(*at, ends);
    while (p && *p == '*' && *advance(p) != '/')
        p = strpbrk(p + 1, ends);
    if (!p)
        return NULL;
    *at = p + 1;
    return *p == '*' ? advance(advance(p)) : p + 1;
}

/* Returns whether the word `import` begins an import of C++20. The operand of an import is a name of a header, or a
 * word that may be a macro. In prose the operand is followed by another word. */
static bool is_import(const char *behind)
{
    char word[4];
    if (*behind == '"' || *behind == '<')
        return true;
    if (!kiln__is_word_start(*behind))
        return false;
    const char *after = skip_blank(read_word(behind, word, sizeof word));
    return *after == ';' || *after == '(' || *after == '\n' || *after == '\0';
}

/* Returns whether a __has_include, __has_include_next or __has_embed begins at `at`. */
static bool is_probe(const char *at, const char **behind)
{
    char word[24];
    at = read_word(at, word, sizeof word);
    *behind = skip_blank(at);
    return strcmp(word, "__has_include") == 0 || strcmp(word, "__has_include_next") == 0 ||
           strcmp(word, "__has_embed") == 0;
}

/* Returns whether a name leads outside the folder in which it is searched. Such a name is an absolute path, or a path
 * with "..". */
static bool leads_away(const char *name, size_t length)
{
    if (length > 0 && *name == '/')
        return true;
    for (size_t i = 0; i + 1 < length; i++)
        if (name[i] == '.' && name[i + 1] == '.' && (i == 0 || name[i - 1] == '/') &&
            (i + 2 == length || name[i + 2] == '/'))
            return true;
    return false;
}

const char *kiln__include_next(const char *text, const char **at)
{
    const char *operand = NULL, *start = *at == text ? text : next_start(at);
    if (*at == text && !may_name_file(text))
        return NULL;
    for (; start; start = next_start(at)) {
        kind what = directive_at(start, &operand);
        if (*at == text)
            *at = text + (*text != '\0' && *text != '\n'); /* the first line was already read */
        if (what == INCLUDE && *operand != '\\')
            return operand;
    }
    return NULL;
}

/* ---- finding the files ---- */

/* The result of a search for a file. The texts are valid until the next search. */
typedef struct found {
    /* `path` is the path that was searched, or NULL. `file` is this path with its links resolved */
    const char *path, *file;
    const char *refused; /* path of a file that exists but may not be read */
} found;

/* Searches the folder in the first `length` bytes of a text. Returns true if it found a file that may be
 * read. The search keeps nothing in the arena: a source may name a header any number of times, and
 * there may be many folders. */
static bool search_folder(collector *all, const char *folder, size_t length, const char *name, found *result)
{
    struct stat info;
    all->searched++;
    if (length == 1 && *folder == '/')
        length = 0;
    if (length + 1 + strlen(name) >= PATH_MAX) /* the system has no file with such a path */
        return false;
    memcpy(all->path, folder, length);
    all->path[length] = '/';
    strcpy(all->path + length + 1, name);
    if (stat(all->path, &info) != 0 || S_ISDIR(info.st_mode))
        return false;
    if (!realpath(all->path, all->file))
        return false;
    for (size_t i = 0; i < all->where->allowed_count; i++)
        if (kiln__path_below(all->file, all->where->allowed[i])) {
            *result = (found){.path = all->path, .file = all->file};
            return true;
        }
    if (!result->refused)
        result->refused = strcpy(all->refused, all->file);
    return false;
}

static found search_folders(collector *all, const char *from, const char *name, bool quoted)
{
    found result = {0};
    const char *slash = strrchr(from, '/'), *beside = slash ? from : ".";
    const size_t length = slash > from ? (size_t)(slash - from) : 1;
    bool is_found = quoted && search_folder(all, beside, length, name, &result);
    for (size_t i = 0; i < all->where->folder_count && !is_found; i++)
        is_found = search_folder(all, all->where->folders[i], strlen(all->where->folders[i]), name, &result);
    return result;
}

static kiln_status add_missing(collector *all, const char *name)
{
    for (size_t i = 0; i < all->other_count; i++)
        if (strcmp(all->others[i], name) == 0)
            return KILN_OK;
    if (all->other_count >= MOST_HEADERS)
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED, "more than %d headers are named that do not exist",
                          (int)MOST_HEADERS);
    if (!name || !kiln__grow(all->mem, &all->others, &all->other_room, all->other_count + 1, sizeof *all->others))
        return kiln__fail_memory(all->error);
    all->others[all->other_count++] = name;
    return KILN_OK;
}

static unsigned count_line(const char *text, const char *at)
{
    unsigned line = 1;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

static kiln_status collect_includes(collector *all, edited *file, unsigned depth);

/* Counts bytes that were read after a line start. Refuses the text if the sum exceeds most_looked. */
static kiln_status count_looked(collector *all, const char *path, size_t bytes)
{
    all->looked += bytes;
    return all->looked <= most_looked
               ? KILN_OK
               : kiln__fail(
                     all->mem, all->error, KILN_ERROR_REFUSED,
                     "%s: finding its #include lines takes too long, because comments or joined lines do not end",
                     path);
}

/* Returns the text for the compiler, which is the original text or the changed text in the arena. Returns NULL if
 * memory runs out. */
static const char *finish_text(collector *all, edited *file)
{
    const char *text = file->text;
    if (file->out.length > 0 || file->out.failed) {
        kiln__text_puts(&file->out, file->copied);
        text = file->out.failed ? NULL : kiln__arena_strdup(all->arena, file->out.data);
    }
    kiln__text_free(&file->out);
    return text;
}

static bool is_name_free(const collector *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i].name, name) == 0)
            return false;
    return true;
}

/* Chooses the name by which the compiler shall know a file. The first choice is the written name without a part that
 * leads upwards. If another file has that name, the function takes the path below the source's folder, or below an
 * invented folder. Returns NULL if memory runs out. */
static const char *choose_name(collector *all, const char *name, const found *at)
{
    for (const char *up; (up = strstr(name, "../")) != NULL;)
        name = up + 3;
    if (is_name_free(all, name))
        return name;
    const char *base = all->where->folder_count ? all->where->folders[0] : "";
    if (kiln__path_below(at->file, base) && is_name_free(all, at->file + strlen(base) + 1))
        return at->file + strlen(base) + 1;
    for (;;) { /* goes on behind the last number, so that the time does not grow with the square of their number */
        const char *made = kiln__arena_printf(all->arena, "%u/%s", ++all->invented, name);
        if (!made || is_name_free(all, made))
            return made;
    }
}

static kiln_status fail_headers(collector *all, const char *name)
{
    return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED, "%s: more than %d headers are included", name,
                      (int)MOST_HEADERS);
}

/* Adds a file unless it was added before, and collects the headers that it includes. *as receives the name of the file
 * for the compiler.
 */
static kiln_status add_file(collector *all, const char *name, const found *at, unsigned depth, const char **as)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->files[i], at->file) == 0) {
            *as = all->items[i].name;
            return KILN_OK;
        }
    if (all->count >= MOST_HEADERS)
        return fail_headers(all, at->path);
    char *data = NULL;
    size_t length = 0;
    kiln_status status = kiln__file_read_below(all->mem, at->file, all->where->allowed, all->where->allowed_count,
                                               most_bytes - all->bytes, &data, &length, all->error);
    if (status != KILN_OK)
        return status;
    /* the next search overwrites the texts of this search */
    const found kept = {.path = kiln__arena_strdup(all->arena, at->path),
                        .file = kiln__arena_strdup(all->arena, at->file)};
    if (!kept.path || !kept.file) {
        kiln__free(all->mem, data);
        return kiln__fail_memory(all->error);
    }
    if (memchr(data, '\0', length)) {
        kiln__free(all->mem, data);
        return kiln__fail(all->mem, all->error, KILN_ERROR_IO, "%s: not a text file: it contains a zero byte",
                          at->path);
    }
    all->bytes += length;
    const char *text = kiln__arena_strndup(all->arena, data, length);
    kiln__free(all->mem, data);
    *as = choose_name(all, name, &kept);
    if (!text || !*as || !kiln__grow(all->mem, &all->items, &all->item_room, all->count + 1, sizeof *all->items) ||
        !kiln__grow(all->mem, &all->files, &all->file_room, all->count + 1, sizeof *all->files))
        return kiln__fail_memory(all->error);
    size_t place = all->count++;
    all->items[place] = (kiln__include){.name = *as, .text = text, .path = kept.path};
    all->files[place] = kept.file;
    edited file = {.path = kept.path, .text = text, .copied = text, .out = {.mem = all->mem}};
    status = collect_includes(all, &file, depth + 1);
    all->items[place].text = finish_text(all, &file);
    return status == KILN_OK && !all->items[place].text ? kiln__fail_memory(all->error) : status;
}

/* Adds a header that Kiln itself provides (headers.c). */
static kiln_status add_own(collector *all, const char *name, const char *text, unsigned depth)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i].name, name) == 0)
            return KILN_OK;
    if (all->count >= MOST_HEADERS)
        return fail_headers(all, name);
    if (!kiln__grow(all->mem, &all->items, &all->item_room, all->count + 1, sizeof *all->items) ||
        !kiln__grow(all->mem, &all->files, &all->file_room, all->count + 1, sizeof *all->files))
        return kiln__fail_memory(all->error);
    all->items[all->count] = (kiln__include){.name = name, .text = text};
    all->files[all->count++] = "";
    edited file = {.path = name, .text = text, .copied = text, .out = {.mem = all->mem}};
    kiln_status status = collect_includes(all, &file, depth + 1);
    kiln__text_free(&file.out);
    return status;
}

/* Replaces the name of `length` bytes at `at` by `as`. */
static void replace_name(edited *file, const char *at, size_t length, const char *as)
{
    kiln__text_add(&file->out, file->copied, (size_t)(at - file->copied));
    kiln__text_puts(&file->out, as);
    file->copied = at + length;
}

/* Counts the bytes of a name that ends `length` bytes after `at`, and refuses a name that no file can have. On one line
 * each name may extend to the same end, so the names together may be much longer than the text. */
static kiln_status check_length(collector *all, const char *path, const char *text, const char *at, size_t length)
{
    KILN__TRY(count_looked(all, path, length));
    return length < PATH_MAX ? KILN_OK
                             : kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                                          "%s:%u: the name of a header has more than %d bytes", path,
                                          count_line(text, at), PATH_MAX - 1);
}

static kiln_status check_name(collector *all, const edited *file, const char *at, const char *name)
{
    if (*name == '/')
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                          "%s:%u: #include of an absolute path (%s): write the name below a folder, and name the "
                          "folder with 'include:' in the spec or with -I",
                          file->path, count_line(file->text, at), name);
    if (strstr(name, "??"))
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                          "%s:%u: #include \"%s\": the name of a header must not "
                          "contain ??, which starts a trigraph",
                          file->path, count_line(file->text, at), name);
    return KILN_OK;
}

/* Finds the header that a name refers to, and adds it. *as receives the name of the header for the compiler. If a name
 * is not found, the function refuses a name that leads outside, and leaves any other name to CUDA's headers. */
static kiln_status include_name(collector *all, const edited *file, const char *at, const char *name, bool is_quoted,
                                unsigned depth, const char **as)
{
    *as = name;
    kiln_status status = check_name(all, file, at, name);
    if (status != KILN_OK)
        return status;
    found header = search_folders(all, file->path, name, is_quoted);
    if (all->searched > MOST_PATHS)
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                          "%s: finding its headers takes too long: they were searched at %zu paths", file->path,
                          all->searched);
    if (header.file)
        return add_file(all, name, &header, depth, as);
    if (header.refused)
        return kiln__fail(
            all->mem, all->error, KILN_ERROR_REFUSED,
            "%s:%u: #include \"%s\": %s is outside the folders that may be read, which are the spec's and "
            "those of the search path; allow its folder with -I FOLDER, or any with --read-anywhere",
            file->path, count_line(file->text, at), name, header.refused);
    if (leads_away(name, strlen(name))) /* a name that leads outside cannot be a CUDA header */
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED, "%s:%u: #include \"%s\": not found", file->path,
                          count_line(file->text, at), name);
    const char *own = kiln__header_own(name);
    return own ? add_own(all, name, own, depth) : add_missing(all, name);
}

/* ---- #include NAME and #include NAME(WORD) ----
 *
 * The code replaces the macro by the name that the macro stands for, so that nothing depends on the compiler's
 * expansion of the macro. It uses all definitions of the macro in the texts so far, also definitions inside an #if. All
 * definitions of the macro must give the same name. If a macro has no definition, the directive gets a name that no
 * file has. An example is a macro by which the user of a library may name a file. Such a directive mostly stands under
 * an `#ifdef NAME`, so the compiler does not read it. */

/* The use of a macro after #include. */
typedef struct macro {
    char name[64], argument[128]; /* the argument of the macro, or "" if it has none */
} macro;

static bool ends_line(const char *at) { return *at == '\n' || *at == '\0' || (*at == '/' && *advance(at) == '/'); }

/* Reads "NAME" or "NAME(WORD)" at the end of a line. Returns the end of this text, or NULL if anything else is on the
 * line. */
static const char *read_macro(const char *at, macro *out)
{
    size_t length = 0;
    *out = (macro){0};
    if (!kiln__is_word_start(*at))
        return NULL;
    const char *end = read_word(at, out->name, sizeof out->name);
    if (*skip_blank(end) == '(') {
        at = skip_blank(advance(skip_blank(end)));
        for (; kiln__is_word_part(*at) || *at == '/' || *at == '.' || *at == '-'; at = advance(at))
            if (length + 1 < sizeof out->argument)
                out->argument[length++] = *at;
        at = skip_blank(at);
        if (length == 0 || *at != ')')
            return NULL;
        end = advance(at);
    }
    bool fits = strlen(out->name) + 1 < sizeof out->name && length + 1 < sizeof out->argument;
    return fits && ends_line(skip_blank(end)) ? end : NULL;
}

/* Returns the text after the next "define NAME" at or after *at, and moves *at there. Returns NULL after the last such
 * text.
 */
static const char *next_define(collector *all, const char **at, const char *name)
{
    char word[64];
    while (all->looked <= most_looked && (*at = strstr(*at, "define")) != NULL) {
        const char *behind = read_word(skip_blank(*at + strlen("define")), word, sizeof word);
        all->looked += (size_t)(behind - *at);
        *at = behind;
        if (strcmp(word, name) == 0)
            return behind;
    }
    return NULL;
}

/* Expands the use of a macro by one definition to "<name>" or "\"name\"", in the arena. Returns NULL if the definition
 * is no name of a header. */
static const char *expand_macro(collector *all, const char *at, const macro *use)
{
    const char *begin = at;
    char parameter[64] = "", word[64], made[512];
    size_t length = 0;
    if ((*at == '(') != (*use->argument != '\0'))
        return NULL;
    if (*at == '(') {
        at = skip_blank(read_word(skip_blank(advance(at)), parameter, sizeof parameter));
        if (*at != ')' || !*parameter)
            return NULL;
        at = advance(at);
    }
    at = skip_blank(at);
    const char close = *at == '<' ? '>' : *at == '"' ? '"' : '\0';
    while (close && !(*at == close && length > 0) && *at != '\n' && *at &&
           length + sizeof use->argument < sizeof made) {
        if (!kiln__is_word_start(*at)) {
            made[length++] = *at;
            at = advance(at);
            continue;
        }
        at = read_word(at, word, sizeof word);
        if (strlen(word) + 1 == sizeof word) /* the word is too long for this buffer */
            return NULL;
        const char *put = close == '>' && strcmp(word, parameter) == 0 ? use->argument : word;
        while (*put)
            made[length++] = *put++;
    }
    if (!close || *at != close || length < 2)
        return NULL;
    at = skip_blank(advance(at));
    all->looked += (size_t)(at - begin);
    if (!ends_line(at))
        return NULL;
    made[length++] = close;
    return kiln__arena_strndup(all->arena, made, length);
}

/* Returns the name that all definitions of a macro give. Returns NULL if the macro has no definition, if the
 * definitions give different names, or if the limit `most_looked` is reached. *none receives whether the macro has no
 * definition. A name that begins with '_' may be a macro of the compiler. */
static const char *resolve_macro(collector *all, const macro *use, bool *none)
{
    const char *only = NULL;
    *none = false;
    for (size_t i = 0; i <= all->count; i++) {
        const char *at = i < all->count ? all->items[i].text : all->source, *first = at, *behind;
        all->looked += (strlen(at) + 1) / SEARCH_SPEED;
        if (*use->argument && next_define(all, &first, use->argument)) /* the argument of the macro is itself a macro */
            return NULL;
        while ((behind = next_define(all, &at, use->name)) != NULL) {
            const char *name = expand_macro(all, behind, use);
            if (!name || (only && strcmp(only, name) != 0))
                return NULL;
            only = name;
        }
    }
    *none = !only && *use->name != '_' && !*use->argument && all->looked <= most_looked;
    return all->looked <= most_looked ? only : NULL;
}

/* Handles one #include: finds the name, adds the header, and changes the text if the compiler knows the header by
 * another name. `at` is the position after the word `include`. */
static kiln_status handle_include(collector *all, edited *file, const char *at, unsigned depth)
{
    macro use;
    if (*at == '\\') /* #include \"a.h\" inside a string is not a directive */
        return KILN_OK;
    char close = *at == '"' ? '"' : '>';
    size_t length = *at == '"' || *at == '<' ? strcspn(at + 1, close == '"' ? "\"\n" : ">\n") : 0;
    bool plain = length > 0 && at[1 + length] == close, none = false;
    KILN__TRY(check_length(all, file->path, file->text, at, length));
    const char *end = plain ? at + length + 2 : read_macro(at, &use);
    if (!plain && end)
        KILN__TRY(count_looked(all, file->path, (size_t)(skip_blank(end) - at)));
    const char *written = plain ? kiln__arena_strndup(all->arena, at, length + 2)
                          : end ? resolve_macro(all, &use, &none)
                                : NULL;
    const char *name = written ? kiln__arena_strndup(all->arena, written + 1, strlen(written) - 2) : NULL, *as = NULL;
    if (none && at >= file->copied) {
        const char *absent =
            kiln__arena_printf(all->arena, "\"%s, a macro that neither the source nor its headers define\"", use.name);
        if (absent)
            replace_name(file, at, (size_t)(end - at), absent);
    }
    if (all->arena->failed)
        return kiln__fail_memory(all->error);
    if (none)
        return KILN_OK;
    if (!name)
        return kiln__fail(
            all->mem, all->error, KILN_ERROR_REFUSED,
            "%s:%u: kiln supports #include \"name\", #include <name>, and #include of a macro that the source or its "
            "headers define as one of these, because the cache must know which files a source reads. Write the name itself (in a comment or a string, do not start a line with #include)",
            file->path, count_line(file->text, at));
    kiln_status status = include_name(all, file, at, name, *written == '"', depth, &as);
    if (status != KILN_OK || at < file->copied)
        return status;
    if (!plain) {
        const char *whole = kiln__arena_printf(all->arena, "%c%s%c", *written, as, *written == '"' ? '"' : '>');
        if (!whole)
            return kiln__fail_memory(all->error);
        replace_name(file, at, (size_t)(end - at), whole);
    } else if (strcmp(as, name) != 0) {
        replace_name(file, at + 1, length, as);
    }
    return status;
}

/* Checks one __has_include(...). Refuses it unless an #include could name the same file. `at` is the position after the
 * word `__has_include`. */
static kiln_status check_probe(collector *all, const char *path, const char *text, const char *at)
{
    if (*at != '(')
        return KILN_OK; /* #ifdef __has_include */
    at = skip_blank(advance(at));
    size_t length = *at == '"' ? strcspn(at + 1, "\"\n") : *at == '<' ? strcspn(at + 1, ">\n") : 0;
    KILN__TRY(check_length(all, path, text, at, length));
    if (!leads_away(at + 1, length)) { /* the cache key must cover whether CUDA has this header */
        char *name = length ? kiln__arena_strndup(all->arena, at + 1, length) : NULL;
        if (length && !name)
            return kiln__fail_memory(all->error);
        return length ? add_missing(all, name) : KILN_OK;
    }
    return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                      "%s:%u: __has_include of a path that is absolute or contains "
                      "'..' (%.*s): only headers below the source's folder and CUDA's are allowed",
                      path, count_line(text, at), (int)length, at + 1);
}

static kiln_status check_probes(collector *all, const char *path, const char *text)
{
    kiln_status status = KILN_OK;
    const char *behind;
    for (const char *at = text; status == KILN_OK && (at = strstr(at, "__has_")) != NULL; at++) {
        const bool probe = is_probe(at, &behind);
        KILN__TRY(count_looked(all, path, (size_t)(behind - at)));
        if (probe)
            status = check_probe(all, path, text, behind);
    }
    for (const char *at = text; status == KILN_OK && (at = joint_in_word(text, at)) != NULL; at++)
        for (size_t back = 1; status == KILN_OK && back <= 18 && back <= (size_t)(at - text); back++)
            if (at[-(ptrdiff_t)back] == '_') { /* the word may begin before the joint */
                const bool probe = is_probe(at - back, &behind);
                KILN__TRY(count_looked(all, path, (size_t)(behind - at) + back));
                if (probe)
                    status = check_probe(all, path, text, behind);
            }
    return status;
}

static kiln_status handle_directive(collector *all, edited *file, const char *start, unsigned depth)
{
    const char *behind = NULL, *path = file->path, *text = file->text;
    kind what = directive_at(start, &behind);
    KILN__TRY(count_looked(all, path, (size_t)(behind - start)));
    if (what == INCLUDE)
        return handle_include(all, file, behind, depth);
    if (what == EMBED)
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                          "%s:%u: #embed is not supported, because the cache must know which files a source reads",
                          path, count_line(text, behind));
    if (what == IMPORT && is_import(behind))
        return kiln__fail(
            all->mem, all->error, KILN_ERROR_REFUSED,
            "%s:%u: import of a header or module is not supported, because the cache must know which files a source "
            "reads; write #include",
            path, count_line(text, behind));
    return KILN_OK;
}

static kiln_status collect_includes(collector *all, edited *file, unsigned depth)
{
    const char *text = file->text;
    if (depth > MOST_DEPTH)
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED, "%s: headers include each other more than %d deep",
                          file->path, (int)MOST_DEPTH);
    if (!may_name_file(text))
        return KILN_OK;
    kiln_status status = check_probes(all, file->path, text);
    /* skips a byte order mark */
    const char *at = text, *start = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
    for (; status == KILN_OK && start; start = next_start(&at))
        status = handle_directive(all, file, start, depth);
    return status;
}

/* Collects the headers of the source, then copies the lists into the arena. */
kiln_status kiln__includes_collect(const kiln_allocator *mem, kiln__arena *arena, const char *path, const char *text,
                                   const kiln__include_paths *where, kiln__includes *includes, kiln_error **error)
{
    collector all = {.mem = mem, .arena = arena, .where = where, .source = text, .invented = 1, .error = error};
    edited file = {.path = path, .text = text, .copied = text, .out = {.mem = mem}};
    all.path = kiln__arena_alloc(arena, PATH_MAX);
    all.file = kiln__arena_alloc(arena, PATH_MAX);
    all.refused = kiln__arena_alloc(arena, PATH_MAX);
    kiln_status status = arena->failed ? kiln__fail_memory(error) : collect_includes(&all, &file, 0);
    const char *source = finish_text(&all, &file);
    kiln__include *kept = status == KILN_OK ? kiln__arena_alloc(arena, (all.count + 1) * sizeof *kept) : NULL;
    const char **names = status == KILN_OK ? kiln__arena_alloc(arena, (all.other_count + 1) * sizeof *names) : NULL;
    if (kept && names && source) {
        if (all.count)
            memcpy(kept, all.items, all.count * sizeof *kept);
        if (all.other_count)
            memcpy(names, all.others, all.other_count * sizeof *names);
        *includes = (kiln__includes){
            .source = source, .items = kept, .count = all.count, .others = names, .other_count = all.other_count};
    } else if (status == KILN_OK) {
        status = kiln__fail_memory(error);
    }
    kiln__free(mem, all.items);
    kiln__free(mem, all.files);
    kiln__free(mem, all.others);
    return status;
}
