/* host.c - takes the host's code out of a source: whole declarations in which the compiler found an error and that have
 * nothing of the device's. */
#include <stdlib.h>
#include <string.h>

#include "compile_internal.h"
#include "words.h"

typedef struct reader {
    kiln__word *words;
    size_t count;
    char *text;       /* that the words point into */
    const char *file; /* as the compiler calls it; not terminated */
    size_t file_length;
    const char *log;
    long shift; /* from a word's line to that of the log */
    size_t removed;
    kiln__text *places;
} reader;

static char kind(const reader *r, size_t word) { return word < r->count ? r->words[word].kind : '\0'; }

static bool is(const reader *r, size_t word, const char *text)
{
    return word < r->count && r->words[word].length == strlen(text) &&
           memcmp(r->words[word].text, text, r->words[word].length) == 0;
}

static size_t close_of(const reader *r, size_t open)
{
    char from = kind(r, open), to = from == '(' ? ')' : from == '[' ? ']' : from == '<' ? '>' : '}';
    size_t depth = 0;
    for (size_t i = open; i < r->count; i++) {
        if (r->words[i].directive)
            continue;
        depth += kind(r, i) == from;
        if (kind(r, i) == to && --depth == 0)
            return i;
    }
    return r->count;
}

/* "is considered a host function": none of -default-device. */
static bool is_of_mode(const char *at)
{
    const char *found = strstr(at, "is considered a host "), *end = strchr(at, '\n');
    return found && (!end || found < end);
}

/* Whether the log has an error of the file in these lines: "x.cu(12): error: ...". */
static bool has_error(const reader *r, long from, long to)
{
    size_t length = r->file_length;
    for (const char *at = r->log; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        char *end = NULL;
        long line = strncmp(at, r->file, length) == 0 && at[length] == '(' ? strtol(at + length + 1, &end, 10) : 0;
        bool error = end && (strncmp(end, "): error", 8) == 0 || strncmp(end, "): catastrophic error", 21) == 0);
        if (error && line >= from && line <= to && !is_of_mode(end))
            return true;
    }
    return false;
}

static bool has(const reader *r, size_t from, size_t to, const char *text)
{
    for (size_t i = from; i <= to; i++)
        if (is(r, i, text))
            return true;
    return false;
}

static bool is_of_device(const reader *r, size_t from, size_t to)
{
    static const char *const words[] = {"__global__", "__device__", "__constant__", "__shared__", "__managed__"};
    for (size_t k = 0; k < KILN__COUNT(words); k++)
        if (has(r, from, to, words[k]))
            return true;
    return false;
}

/* Constants are for kernels too: what they lack may be a macro that the caller is to give. head: the last word that is not of
 * a body. */
static bool is_constant(const reader *r, size_t from, size_t head, size_t to, bool variable)
{
    return !has(r, from, to, "std") && (has(r, from, head, "constexpr") || (variable && has(r, from, to, "const")));
}

/* One declaration, as the words from..to. Its lines stay, so that those of the log do. */
static void take(reader *r, size_t from, size_t head, size_t to, bool variable)
{
    const kiln__word *first = &r->words[from], *last = &r->words[to];
    if (is_of_device(r, from, to) || is_constant(r, from, head, to, variable) ||
        !has_error(r, (long)first->line + r->shift, (long)last->line + r->shift))
        return;
    char *end = r->text + (last->text - r->text) + last->length;
    for (char *at = r->text + (first->text - r->text); at < end; at++)
        if (*at != '\n')
            *at = ' ';
    if (r->places->length <= 200)
        kiln__text_printf(r->places, "%s%.*s:%ld", r->places->length ? ", " : "", (int)r->file_length, r->file,
                          (long)first->line + r->shift);
    r->removed++;
}

static void follow_line(reader *r, size_t at)
{
    if (kind(r, at) != '#' || !is(r, at + 1, "line") || kind(r, at + 2) != '0')
        return;
    r->shift = strtol(r->words[at + 2].text, NULL, 10) - (long)r->words[at].line - 1;
    if (kind(r, at + 3) == '"' && r->words[at + 3].length >= 2) {
        r->file = r->words[at + 3].text + 1;
        r->file_length = r->words[at + 3].length - 2;
    }
}

/* What a declaration that began has so far. */
typedef struct declaration {
    size_t first; /* 0: none began */
    bool scope;   /* a namespace, or extern "C" */
    bool type;    /* a class, struct, union or enum */
    bool value;   /* behind its '=' */
    bool called;  /* it has parentheses, as functions do */
} declaration;

static void add_word(const reader *r, size_t at, declaration *d)
{
    if (!d->first)
        *d = (declaration){.first = at};
    d->scope |= is(r, at, "namespace") || (is(r, at, "extern") && kind(r, at + 1) == '"');
    d->type |= is(r, at, "class") || is(r, at, "struct") || is(r, at, "union") || is(r, at, "enum");
    d->value |= kind(r, at) == '=';
    d->called |= kind(r, at) == '(' && !(kind(r, at - 1) == 'w' &&
                                         (strncmp(r->words[at - 1].text, "__", 2) == 0 || is(r, at - 1, "alignas")));
}

static void walk(reader *r)
{
    declaration d = {0};
    for (size_t i = 1; i < r->count; i++) {
        if (r->words[i].directive) {
            follow_line(r, i);
            continue;
        }
        char here = kind(r, i);
        if (here == '}') { /* of a namespace */
            d.first = 0;
            continue;
        }
        add_word(r, i, &d);
        size_t head = i;
        bool scope = here == '{' && d.scope && !d.value && !d.called;
        if (here == '(' || here == '[' || (here == '{' && !scope) || (here == '<' && is(r, i - 1, "template"))) {
            i = close_of(r, i);
            if (i >= r->count)
                return;
        }
        bool ends = here == ';' || (here == '{' && !scope && !d.value && (d.called || !d.type));
        if (ends)
            take(r, d.first, here == '{' ? head - 1 : i, i, here == ';' && !d.type && (d.value || !d.called));
        if (ends || scope)
            d.first = 0;
    }
}

size_t kiln__host_remove(const kiln_allocator *mem, char *text, const char *name, const char *log, kiln__text *places)
{
    reader r = {.text = text, .file = name, .file_length = strlen(name), .log = log, .places = places};
    r.words = kiln__words_read(mem, text, strlen(text), &r.count);
    if (r.words)
        walk(&r);
    kiln__free(mem, r.words);
    return r.removed;
}
