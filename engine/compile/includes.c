/* includes.c - finds the project headers that a source includes. NVRTC gets them in memory, under the names by which
 * they are included: it does not know folders there, it only compares names. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile_internal.h"

enum { MOST_DEPTH = 64, MOST_HEADERS = 512 };
static const size_t most_bytes = (size_t)16 << 20;

typedef struct header {
    const char *name, *path;
} header;

typedef struct collector {
    const kiln_allocator *mem;
    kiln__arena *arena;
    const char *const *folders;
    size_t folder_count;
    kiln__include *items;
    header *headers; /* parallel to items: which file each is */
    size_t count, item_room, header_room, bytes;
    const char **others; /* names that were not found */
    size_t other_count, other_room;
    kiln_error **error;
} collector;

/* ---- finding the directives ----
 * NVRTC and a parser of ours may disagree about where a comment, a string or an #if 0 ends: it depends on raw strings,
 * digit separators, trigraphs and the selected standard. So nothing is skipped because it is inside one of these. Any
 * text at the start of a line (physical or joined), or after the end of a block comment, counts as a directive if it
 * can be read as one. A header too many only makes the key longer; a missing one would cause a stale hit. */

/* A line that ends with a backslash, or its trigraph, continues on the next line. Such a joint may be inside a word. */
static const char *joined(const char *at)
{
    for (;;) {
        const char *end = *at == '\\' ? at + 1 : at[0] == '?' && at[1] == '?' && at[2] == '/' ? at + 3 : NULL;
        if (end && end[0] == '\r' && end[1] == '\n')
            end++;
        if (!end || *end != '\n')
            return at;
        at = end + 1;
    }
}

static const char *next(const char *at) { return joined(at + 1); }

static const char *skip_comment(const char *at)
{
    at = next(next(at));
    while (*at && !(*at == '*' && *next(at) == '/'))
        at = next(at);
    return *at ? next(next(at)) : at;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/* Blanks and block comments within a line. */
static const char *skip_blank(const char *at)
{
    for (at = joined(at);;) {
        if (is_blank(*at))
            at = next(at);
        else if (*at == '/' && *next(at) == '*')
            at = skip_comment(at);
        else
            return at;
    }
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (c & 0x80);
}

static bool is_word(char c) { return is_letter(c) || is_digit(c); }

/* Reads the letters of a word into `word`, as many as fit. */
static const char *read_word(const char *at, char *word, size_t room)
{
    size_t length = 0;
    for (; is_word(*at); at = next(at))
        if (length + 1 < room)
            word[length++] = *at;
    word[length] = '\0';
    return at;
}

/* The next joint at or after `at` that is inside a word; NULL: none. */
static const char *joint_in_word(const char *text, const char *at)
{
    for (; (at = strpbrk(at, "\\?")) != NULL; at++)
        if (at > text && is_word(at[-1]) && joined(at) != at && is_word(*joined(at)))
            return at;
    return NULL;
}

/* False if nothing in the text can name a file. This is so for most sources, and reading them line by line would be
 * most of the cost of a cache hit. */
static bool may_name_file(const char *text)
{
    return strstr(text, "include") || strstr(text, "import") || strstr(text, "embed") || joint_in_word(text, text);
}

typedef enum kind { NONE, INCLUDE, EMBED, IMPORT } kind;

/* The kind of directive at `at`, if a line started there. *behind: the text after the word. */
static kind directive_at(const char *at, const char **behind)
{
    char word[16];
    at = joined(at);
    while (is_blank(*at))
        at = next(at);
    bool trigraph = at[0] == '?' && at[1] == '?' && at[2] == '=';
    if (*at == '#' || trigraph || (*at == '%' && *next(at) == ':')) {
        at = read_word(skip_blank(*at == '#' ? next(at) : next(trigraph ? at + 2 : next(at))), word, sizeof word);
        *behind = skip_blank(at);
        if (strcmp(word, "include") == 0 || strcmp(word, "include_next") == 0 || strcmp(word, "import") == 0)
            return INCLUDE;
        return strcmp(word, "embed") == 0 ? EMBED : NONE;
    }
    if (*at != 'i' && *at != 'e')
        return NONE;
    at = read_word(at, word, sizeof word);
    if (strcmp(word, "export") == 0)
        at = read_word(skip_blank(at), word, sizeof word);
    *behind = skip_blank(at);
    return strcmp(word, "import") == 0 ? IMPORT : NONE;
}

/* The next place at or after *at where a line starts, or may start; NULL at the end. */
static const char *next_start(const char **at)
{
    const char *p = strpbrk(*at, "\n*");
    while (p && *p == '*' && *next(p) != '/')
        p = strpbrk(p + 1, "\n*");
    if (!p)
        return NULL;
    *at = p + 1;
    return *p == '\n' ? p + 1 : next(next(p));
}

/* C++20's import of a header: its operand is a name, or a word that may be a macro. In prose another word follows. */
static bool is_import(const char *behind)
{
    char word[4];
    if (*behind == '"' || *behind == '<')
        return true;
    if (!is_letter(*behind))
        return false;
    const char *after = skip_blank(read_word(behind, word, sizeof word));
    return *after == ';' || *after == '(' || *after == '\n' || *after == '\0';
}

/* True for the first letter of a __has_include, __has_include_next or __has_embed. */
static bool is_probe(const char *at, const char **behind)
{
    char word[24];
    at = read_word(at, word, sizeof word);
    *behind = skip_blank(at);
    return strcmp(word, "__has_include") == 0 || strcmp(word, "__has_include_next") == 0 ||
           strcmp(word, "__has_embed") == 0;
}

/* Whether a name leads outside the folder in which it is searched. */
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
            *at = text + (*text != '\0' && *text != '\n'); /* the first line was read before */
        if (what == INCLUDE && *operand != '\\')
            return operand;
    }
    return NULL;
}

/* ---- finding the files ---- */

static const char *find_in(collector *all, const char *folder, const char *name)
{
    char *path = kiln__arena_printf(all->arena, "%s/%s", folder, name);
    if (!path || !kiln__file_exists(path))
        return NULL;
    for (size_t i = 0; i < all->folder_count; i++)
        if (kiln__path_within(all->mem, path, all->folders[i]))
            return path;
    return NULL;
}

static const char *find(collector *all, const char *from, const char *name, bool quoted)
{
    const char *beside = quoted ? kiln__arena_folder(all->arena, from) : NULL;
    const char *path = beside ? find_in(all, beside, name) : NULL;
    for (size_t i = 0; i < all->folder_count && !path; i++)
        path = find_in(all, all->folders[i], name);
    return path;
}

static bool same_file(const char *a, const char *b)
{
    char *x = realpath(a, NULL), *y = realpath(b, NULL);
    bool same = x && y && strcmp(x, y) == 0;
    free(x);
    free(y);
    return same;
}

static kiln_status add_other(collector *all, const char *name)
{
    for (size_t i = 0; i < all->other_count; i++)
        if (strcmp(all->others[i], name) == 0)
            return KILN_OK;
    if (!name || !kiln__grow(all->mem, &all->others, &all->other_room, all->other_count + 1, sizeof *all->others))
        return kiln__fail_memory(all->error);
    all->others[all->other_count++] = name;
    return KILN_OK;
}

static unsigned line_of(const char *text, const char *at)
{
    unsigned line = 1;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

static kiln_status collect(collector *all, const char *path, const char *text, unsigned depth);

static kiln_status add(collector *all, const char *name, const char *path, unsigned depth)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->headers[i].name, name) == 0) {
            if (strcmp(all->headers[i].path, path) == 0 || same_file(all->headers[i].path, path))
                return KILN_OK;
            return kiln__fail(
                all->mem, all->error, KILN_ERROR_REFUSED,
                "#include \"%s\" is %s in one file and %s in another, and the compiler identifies headers "
                "by the name in the #include: write one of them with its folder",
                name, all->headers[i].path, path);
        }
    if (all->count >= MOST_HEADERS)
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED, "%s: more than %d headers are included", path,
                          (int)MOST_HEADERS);
    char *data = NULL;
    size_t length = 0;
    kiln_status status = kiln__file_read_below(all->mem, path, all->folders, all->folder_count, most_bytes - all->bytes,
                                               &data, &length, all->error);
    if (status != KILN_OK)
        return status;
    if (memchr(data, '\0', length)) {
        kiln__free(all->mem, data);
        return kiln__fail(all->mem, all->error, KILN_ERROR_IO, "%s: not a text file: it contains a zero byte", path);
    }
    all->bytes += length;
    const char *text = kiln__arena_strndup(all->arena, data, length);
    kiln__free(all->mem, data);
    if (!text || !kiln__grow(all->mem, &all->items, &all->item_room, all->count + 1, sizeof *all->items) ||
        !kiln__grow(all->mem, &all->headers, &all->header_room, all->count + 1, sizeof *all->headers))
        return kiln__fail_memory(all->error);
    all->items[all->count] = (kiln__include){.name = name, .text = text, .path = path};
    all->headers[all->count++] = (header){.name = name, .path = path};
    return collect(all, path, text, depth + 1);
}

/* Handles one #include; `at` is after the word. */
static kiln_status follow(collector *all, const char *path, const char *text, const char *at, unsigned depth)
{
    if (*at == '\\') /* #include \"a.h\": within a string; not a directive */
        return KILN_OK;
    char close = *at == '"' ? '"' : '>';
    size_t length = *at == '"' || *at == '<' ? strcspn(at + 1, close == '"' ? "\"\n" : ">\n") : 0;
    if (length == 0 || at[1 + length] != close)
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                          "%s:%u: only #include \"name\" and #include <name> are supported, because the cache must "
                          "know what is read; write the name itself (in a comment or a string, do not start a line "
                          "with #include)",
                          path, line_of(text, at));
    char *name = kiln__arena_strndup(all->arena, at + 1, length);
    if (!name)
        return kiln__fail_memory(all->error);
    if (*name == '/')
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                          "%s:%u: #include of an absolute path (%s): headers "
                          "are read from the folder of the source",
                          path, line_of(text, at), name);
    if (strstr(name, "??"))
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                          "%s:%u: #include \"%s\": the name of a header must not "
                          "contain ??, which starts a trigraph",
                          path, line_of(text, at), name);
    const char *found = find(all, path, name, close == '"');
    if (all->arena->failed)
        return kiln__fail_memory(all->error);
    if (found)
        return add(all, name, found, depth);
    if (leads_away(name, length)) /* not a CUDA header */
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                          "%s:%u: #include \"%s\": not found, or outside "
                          "the folders that may be read",
                          path, line_of(text, at), name);
    return add_other(all, name);
}

/* A __has_include(...) may only name what an #include could. `at` is after the word. */
static kiln_status check_probe(collector *all, const char *path, const char *text, const char *at)
{
    if (*at != '(')
        return KILN_OK; /* #ifdef __has_include */
    at = skip_blank(next(at));
    size_t length = *at == '"' ? strcspn(at + 1, "\"\n") : *at == '<' ? strcspn(at + 1, ">\n") : 0;
    if (!leads_away(at + 1, length)) { /* whether CUDA has this header is part of the key */
        char *name = length ? kiln__arena_strndup(all->arena, at + 1, length) : NULL;
        if (length && !name)
            return kiln__fail_memory(all->error);
        return length ? add_other(all, name) : KILN_OK;
    }
    return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                      "%s:%u: __has_include of a path that is absolute or contains "
                      "'..' (%.*s): only headers below the source's folder and CUDA's are allowed",
                      path, line_of(text, at), (int)length, at + 1);
}

static kiln_status check_probes(collector *all, const char *path, const char *text)
{
    kiln_status status = KILN_OK;
    const char *behind;
    for (const char *at = text; status == KILN_OK && (at = strstr(at, "__has_")) != NULL; at++)
        if (is_probe(at, &behind))
            status = check_probe(all, path, text, behind);
    for (const char *at = text; status == KILN_OK && (at = joint_in_word(text, at)) != NULL; at++)
        for (size_t back = 1; status == KILN_OK && back <= 18 && back <= (size_t)(at - text); back++)
            if (at[-(ptrdiff_t)back] == '_' && is_probe(at - back, &behind)) /* it may start before the joint */
                status = check_probe(all, path, text, behind);
    return status;
}

static kiln_status take_directive(collector *all, const char *path, const char *text, const char *start, unsigned depth)
{
    const char *behind = NULL;
    kind what = directive_at(start, &behind);
    if (what == INCLUDE)
        return follow(all, path, text, behind, depth);
    if (what == EMBED)
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                          "%s:%u: #embed is not supported, because the cache must "
                          "know what is read",
                          path, line_of(text, behind));
    if (what == IMPORT && is_import(behind))
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                          "%s:%u: import of a header or module is not supported, "
                          "because the cache must know what is read; write #include",
                          path, line_of(text, behind));
    return KILN_OK;
}

static kiln_status collect(collector *all, const char *path, const char *text, unsigned depth)
{
    if (depth > MOST_DEPTH)
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED, "%s: headers include each other more than %d deep",
                          path, (int)MOST_DEPTH);
    if (!may_name_file(text))
        return KILN_OK;
    kiln_status status = check_probes(all, path, text);
    const char *at = text, *start = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text; /* a byte order mark */
    for (; status == KILN_OK && start; start = next_start(&at))
        status = take_directive(all, path, text, start, depth);
    return status;
}

kiln_status kiln__includes_all(const kiln_allocator *mem, kiln__arena *arena, const char *path, const char *text,
                               const char *const *folders, size_t folder_count, const kiln__include **includes,
                               size_t *count, const char *const **others, size_t *other_count, kiln_error **error)
{
    collector all = {.mem = mem, .arena = arena, .folders = folders, .folder_count = folder_count, .error = error};
    kiln_status status = collect(&all, path, text, 0);
    kiln__include *kept = status == KILN_OK ? kiln__arena_alloc(arena, (all.count + 1) * sizeof *kept) : NULL;
    const char **names = status == KILN_OK ? kiln__arena_alloc(arena, (all.other_count + 1) * sizeof *names) : NULL;
    if (kept && names) {
        if (all.count)
            memcpy(kept, all.items, all.count * sizeof *kept);
        if (all.other_count)
            memcpy(names, all.others, all.other_count * sizeof *names);
        *includes = kept;
        *count = all.count;
        *others = names;
        *other_count = all.other_count;
    } else if (status == KILN_OK) {
        status = kiln__fail_memory(error);
    }
    kiln__free(mem, all.items);
    kiln__free(mem, all.headers);
    kiln__free(mem, all.others);
    return status;
}

kiln_status kiln__includes_collect(const kiln_allocator *mem, kiln__arena *arena, const char *path, const char *text,
                                   const char *const *folders, size_t folder_count, const kiln__include **includes,
                                   size_t *count, kiln_error **error)
{
    const char *const *others;
    size_t other_count;
    return kiln__includes_all(mem, arena, path, text, folders, folder_count, includes, count, &others, &other_count,
                              error);
}
