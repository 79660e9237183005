/* prelude.c - finds the prelude: the CUDA headers that a source includes before anything else. Kiln can put these
 * includes before the macros of a configuration, so that the macros do not disturb the headers. So the prelude is the
 * same for all configurations and can be precompiled (pch.c).
 *
 * An #include belongs to the prelude only if nothing stands before it except comments, `#pragma once` and other
 * includes of the prelude. The same rule holds inside a project's header that the source includes in its prelude. */
#include <string.h>

#include "chars.h"
#include "compile_internal.h"

enum { MOST_DEPTH = 8 };

typedef struct reader { /* the state of the search, with the names that were found so far */
    const kiln__nvrtc *nvrtc;
    kiln__arena *arena;
    const kiln__includes *includes;
    bool *seen; /* for each header of the project, whether it was read or is being read */
    const char **names;
    size_t count, room;
    bool failed;
} reader;

/* Skips a comment. Returns the end of the comment, or NULL if the comment has no end, or if its line may continue (a
 * backslash or a trigraph). */
static const char *skip_comment(const char *at)
{
    if (at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end ? end + 2 : NULL;
    }
    size_t length = strcspn(at, "\n");
    return memchr(at, '\\', length) || memchr(at, '?', length) ? NULL : at + length;
}

static const char *skip_blank(const char *at, bool lines)
{
    while (at && *at) {
        if (kiln__is_blank(*at) || (lines && *at == '\n'))
            at++;
        else if (at[0] == '/' && (at[1] == '/' || at[1] == '*'))
            at = skip_comment(at);
        else
            break;
    }
    return at;
}

static void add_header(reader *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->names[i], name) == 0)
            return;
    if (!name || !kiln__grow(r->nvrtc->mem, &r->names, &r->room, r->count + 1, sizeof *r->names))
        r->failed = true;
    else
        r->names[r->count++] = name;
}

/* Adds the CUDA headers that one of Kiln's own headers includes. The `#include`s of Kiln's headers have no condition,
 * except that a missing header is skipped. */
static void add_of_own(reader *r, const char *text)
{
    const char *at = text, *operand;
    while (!r->failed && (operand = kiln__include_next(text, &at)) != NULL) {
        char *name = kiln__arena_strndup(r->arena, operand + 1, strcspn(operand + 1, ">\""));
        if (!name)
            r->failed = true;
        else if (kiln__nvrtc_has(r->nvrtc, name))
            add_header(r, name);
    }
}

static bool read_directives(reader *r, const char *text, int depth);

/* Handles the name of one #include. Returns true if the text after the #include can still belong to the prelude. The
 * function reads a header of the project only once, because reading it again would add no name. Otherwise headers that
 * include each other several times would take exponential time. */
static bool take_name(reader *r, const char *name, int depth)
{
    for (size_t i = 0; i < r->includes->count; i++)
        if (strcmp(r->includes->items[i].name, name) == 0) {
            if (r->includes->items[i].path) {
                const bool again = r->seen[i];
                r->seen[i] = true;
                return again || (depth < MOST_DEPTH && read_directives(r, r->includes->items[i].text, depth + 1));
            }
            add_of_own(r, r->includes->items[i].text);
            return !r->failed;
        }
    if (!kiln__nvrtc_has(r->nvrtc, name))
        return false;
    add_header(r, name);
    return !r->failed;
}

/* Reads the directives of the prelude at the beginning of a text. Returns true if the text contains nothing except such
 * directives. */
static bool read_directives(reader *r, const char *text, int depth)
{
    const char *at = skip_blank(text, true);
    for (; at && *at == '#'; at = skip_blank(at, true)) {
        at = skip_blank(at + 1, false);
        if (at && strncmp(at, "pragma", 6) == 0 && kiln__is_blank(at[6])) {
            at = skip_blank(at + 6, false);
            if (!at || strncmp(at, "once", 4) != 0)
                return false;
            at += 4;
        } else if (at && strncmp(at, "include", 7) == 0 && (kiln__is_blank(at[7]) || at[7] == '<' || at[7] == '"')) {
            at = skip_blank(at + 7, false);
            char close = at && *at == '<' ? '>' : '"';
            size_t length = at && (*at == '<' || *at == '"') ? strcspn(at + 1, close == '>' ? ">\n" : "\"\n") : 0;
            char *name = length && at[1 + length] == close ? kiln__arena_strndup(r->arena, at + 1, length) : NULL;
            if (!name || !take_name(r, name, depth))
                return false;
            at += length + 2;
        } else {
            return false;
        }
        at = skip_blank(at, false);
        if (!at || (*at && *at != '\n'))
            return false;
    }
    return at && *at == '\0'; /* nothing else follows in the text */
}

kiln_status kiln__prelude_find(const kiln__nvrtc *nvrtc, kiln__arena *arena, const kiln__includes *includes,
                               const char *const **names, size_t *count, kiln_error **error)
{
    reader r = {.nvrtc = nvrtc, .arena = arena, .includes = includes};
    r.seen = kiln__arena_alloc(arena, (includes->count + 1) * sizeof *r.seen);
    if (r.seen)
        read_directives(&r, includes->source, 0);
    const char **kept = kiln__arena_alloc(arena, (r.count + 1) * sizeof *kept);
    if (kept && r.count)
        memcpy(kept, r.names, r.count * sizeof *kept);
    *names = kept;
    *count = r.count;
    kiln__free(nvrtc->mem, r.names);
    return r.failed || arena->failed ? kiln__fail_memory(error) : KILN_OK;
}

kiln_status kiln__prelude_write(kiln__nvrtc *nvrtc, const char *const *headers, size_t header_count,
                                const kiln__prelude_macro *macros, size_t count, kiln__text *source, uint64_t *first,
                                kiln_error **error)
{
    *first = 0;
    if (count > 64)
        return KILN_OK;
    const char *words[64] = {0};
    for (size_t i = 0; i < count; i++)
        words[i] = macros[i].name;
    KILN__TRY(kiln__nvrtc_mentions(nvrtc, headers, header_count, words, count, first, error));
    for (size_t i = 0; i < count; i++)
        if (*first >> i & 1)
            kiln__text_printf(source, "#define %s %s\n", macros[i].name, macros[i].value);
    for (size_t i = 0; i < header_count; i++)
        kiln__text_printf(source, "#include <%s>\n", headers[i]);
    if (kiln__nvrtc_version(nvrtc) >= 12080)
        kiln__text_puts(source, "#pragma nv_hdrstop\n");
    return KILN_OK;
}
