/* The project headers that a source reaches. NVRTC gets them in memory, under the names by which they are included:
 * NVRTC knows nothing of folders there, it compares names. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"

enum { MOST_DEPTH = 64, MOST_HEADERS = 512 };
static const size_t most_bytes = (size_t)16 << 20;

typedef struct header { const char *name, *path; } header;

typedef struct collector {
    const kiln_allocator *mem;
    kiln__arena *arena;
    const char *const *folders;
    size_t folder_count;
    kiln__include *items;
    header *headers; /* beside items: which file each is */
    size_t count, item_room, header_room, bytes;
    kiln_error **error;
} collector;

/* ---- finding the directives ---- */

/* A line that ends in a backslash goes on in the next: such joints may stand anywhere, within words too. */
static const char *joined(const char *at)
{
    while (at[0] == '\\' && (at[1] == '\n' || (at[1] == '\r' && at[2] == '\n')))
        at += at[1] == '\n' ? 2 : 3;
    return at;
}

static const char *next(const char *at)
{
    return joined(at + 1);
}

/* Steps over a quoted text or a character constant; never past the end of its line. */
static const char *skip_quoted(const char *at)
{
    char quote = *at;
    at = next(at);
    while (*at && *at != quote && *at != '\n') {
        at = *at == '\\' && *next(at) && *next(at) != '\n' ? next(next(at)) : next(at);
    }
    return *at == quote ? next(at) : at;
}

/* Steps over R"delimiter(...)delimiter", given at its quote. There are no joints in it. */
static const char *skip_raw(const char *at)
{
    const char *open = at + 1 + strcspn(at + 1, "(\n\" ");
    size_t size = (size_t)(open - at - 1);
    if (*open != '(' || size > 16)
        return skip_quoted(at);
    for (const char *close = open + 1; (close = strchr(close, ')')) != NULL; close++)
        if (strncmp(close + 1, at + 1, size) == 0 && close[1 + size] == '"')
            return joined(close + size + 2);
    return at + strlen(at);
}

static bool is_comment(const char *at)
{
    return *at == '/' && (*next(at) == '*' || *next(at) == '/');
}

static const char *skip_comment(const char *at)
{
    bool block = *next(at) == '*';
    at = next(next(at));
    while (*at && !(block ? *at == '*' && *next(at) == '/' : *at == '\n'))
        at = next(at);
    return block && *at ? next(next(at)) : at;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Blanks and comments within a line. */
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

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' || (c & 0x80);
}

/* Reads the letters of a word into `word`, as many as there is room for. */
static const char *read_word(const char *at, char *word, size_t room)
{
    size_t length = 0;
    for (; is_word(*at); at = next(at))
        if (length + 1 < room)
            word[length++] = *at;
    word[length] = '\0';
    return at;
}

/* A word, and the quoted text that it is a prefix of. */
static const char *skip_word(const char *at)
{
    char word[5]; /* one more than the longest prefix has letters */
    at = read_word(at, word, sizeof word);
    size_t length = strlen(word);
    bool raw = length > 0 && length < 4 && word[length - 1] == 'R';
    if (raw)
        word[length - 1] = '\0';
    bool prefix = !*word || !strcmp(word, "u8") || !strcmp(word, "u") || !strcmp(word, "U") || !strcmp(word, "L");
    if (raw && prefix && *at == '"')
        return skip_raw(at);
    return !raw && prefix && (*at == '"' || *at == '\'') ? skip_quoted(at) : at;
}

/* 1'000 holds no character constant. */
static const char *skip_number(const char *at)
{
    while (is_word(*at) || *at == '.' || (*at == '\'' && is_word(*next(at))))
        at = next(at);
    return at;
}

/* False where no #include can be in the text: the word stands nowhere behind a `#` (or its digraph), blanks and what
 * may stand between aside, and no joint is within a word. Most sources have none, and reading them whole would be most of
 * the cost of a cache hit. */
static bool may_include(const char *text)
{
    for (const char *at = text; (at = strstr(at, "include")) != NULL; at++) {
        const char *before = at;
        while (before > text && is_blank(before[-1]))
            before--;
        if (before > text && strchr("#:/\n", before[-1])) /* #, %:, the end of a comment, a joined line */
            return true;
    }
    for (const char *at = text; (at = strchr(at, '\\')) != NULL; at++)
        if (at > text && strchr("includ", at[-1]) && joined(at) != at && *joined(at) && strchr("nclude", *joined(at)))
            return true;
    return false;
}

/* The next #include at or after *at: returns what stands behind the word, NULL at the end. */
static const char *next_include(const char **at, bool *line_start)
{
    char word[16];
    const char *p = joined(*at);
    if (!may_include(*at))
        return NULL;
    while (*p) {
        bool first = *line_start;
        *line_start = *p == '\n' || (first && (is_blank(*p) || is_comment(p)));
        if (is_comment(p)) {
            p = skip_comment(p); /* a line that begins with a comment may still hold a directive */
        } else if (first && (*p == '#' || (*p == '%' && *next(p) == ':'))) {
            p = skip_blank(*p == '#' ? next(p) : next(next(p)));
            p = read_word(p, word, sizeof word);
            if (strcmp(word, "include") == 0 || strcmp(word, "include_next") == 0) {
                *at = p;
                return skip_blank(p);
            }
        } else if (*p == '"' || *p == '\'') {
            p = skip_quoted(p);
        } else if (is_digit(*p)) {
            p = skip_number(p);
        } else {
            p = is_word(*p) ? skip_word(p) : next(p);
        }
    }
    *at = p;
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
            return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                              "#include \"%s\" means %s in one file and %s in another; the compiler tells headers "
                              "apart by the name they are included by: write one of them with its folder", name,
                              all->headers[i].path, path);
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
        return kiln__fail(all->mem, all->error, KILN_ERROR_IO, "%s: not a text file: it holds a zero byte", path);
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

/* One #include: `at` stands on what follows the word. */
static kiln_status follow(collector *all, const char *path, const char *text, const char *at, unsigned depth)
{
    char close = *at == '"' ? '"' : '>';
    size_t length = *at == '"' || *at == '<' ? strcspn(at + 1, close == '"' ? "\"\n" : ">\n") : 0;
    if (length == 0 || at[1 + length] != close)
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED,
                          "%s:%u: #include of anything but a \"name\" or <name> is not followed, and the cache could "
                          "not tell what it reads; write the name itself", path, line_of(text, at));
    char *name = kiln__arena_strndup(all->arena, at + 1, length);
    if (!name)
        return kiln__fail_memory(all->error);
    if (*name == '/')
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED, "%s:%u: #include of an absolute path (%s): headers "
                          "are read from the folder of the source", path, line_of(text, at), name);
    const char *found = find(all, path, name, close == '"');
    if (all->arena->failed)
        return kiln__fail_memory(all->error);
    if (found)
        return add(all, name, found, depth);
    if (strncmp(name, "../", 3) == 0 || strstr(name, "/../")) /* CUDA's own headers are not asked for like that */
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED, "%s:%u: #include \"%s\" is not there, or leads out "
                          "of the folders that may be read", path, line_of(text, at), name);
    return KILN_OK;
}

static kiln_status collect(collector *all, const char *path, const char *text, unsigned depth)
{
    if (depth > MOST_DEPTH)
        return kiln__fail(all->mem, all->error, KILN_ERROR_REFUSED, "%s: headers include each other more than %d deep",
                          path, (int)MOST_DEPTH);
    const char *at = text, *what;
    bool line_start = true;
    while ((what = next_include(&at, &line_start)) != NULL) {
        kiln_status status = follow(all, path, text, what, depth);
        if (status != KILN_OK)
            return status;
        at = what;
        at += strcspn(at, "\n"); /* the rest of the line is no text: its quotes are the name's */
    }
    return KILN_OK;
}

kiln_status kiln__includes_collect(const kiln_allocator *mem, kiln__arena *arena, const char *path, const char *text,
                                   const char *const *folders, size_t folder_count, const kiln__include **includes,
                                   size_t *count, kiln_error **error)
{
    collector all = {.mem = mem, .arena = arena, .folders = folders, .folder_count = folder_count, .error = error};
    kiln_status status = collect(&all, path, text, 0);
    kiln__include *kept = status == KILN_OK ? kiln__arena_alloc(arena, (all.count + 1) * sizeof *kept) : NULL;
    if (kept) {
        if (all.count)
            memcpy(kept, all.items, all.count * sizeof *kept);
        *includes = kept;
        *count = all.count;
    } else if (status == KILN_OK) {
        status = kiln__fail_memory(error);
    }
    kiln__free(mem, all.items);
    kiln__free(mem, all.headers);
    return status;
}
