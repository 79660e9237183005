/* host.c - removes code of the host from a source: whole declarations at namespace scope in which the compiler found an
 * error, and which contain nothing of the device. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compile_internal.h"
#include "words.h"

/* The text that is searched, and the log. */
typedef struct reader {
    kiln__word *words;
    size_t count;
    char *text;       /* the words point into it */
    const char *file; /* the file's name in the log; not terminated */
    size_t file_length;
    const char *log;
    long shift; /* add it to the line of a word to get the line in the log */
    size_t removed;
    kiln__text *places;
} reader;

static char get_kind(const reader *r, size_t word) { return word < r->count ? r->words[word].kind : '\0'; }

static bool is_text(const reader *r, size_t word, const char *text)
{
    return word < r->count && r->words[word].length == strlen(text) &&
           memcmp(r->words[word].text, text, r->words[word].length) == 0;
}

static size_t find_close(const reader *r, size_t open)
{
    char from = get_kind(r, open), to = from == '(' ? ')' : from == '[' ? ']' : from == '<' ? '>' : '}';
    size_t depth = 0;
    for (size_t i = open; i < r->count; i++) {
        if (r->words[i].directive)
            continue;
        depth += get_kind(r, i) == from;
        if (get_kind(r, i) == to && --depth == 0)
            return i;
    }
    return r->count;
}

/* Returns whether a message says "is considered a host function". Such an error disappears with -default-device. */
static bool is_default_device_error(const char *at)
{
    const char *found = strstr(at, "is considered a host "), *end = strchr(at, '\n');
    return found && (!end || found < end);
}

/* Returns whether the log has an error in these lines of the file, as in "x.cu(12): error: ...". */
static bool has_error(const reader *r, long from, long to)
{
    size_t length = r->file_length;
    for (const char *at = r->log; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        char *end = NULL;
        long line = strncmp(at, r->file, length) == 0 && at[length] == '(' ? strtol(at + length + 1, &end, 10) : 0;
        bool error = end && (strncmp(end, "): error", 8) == 0 || strncmp(end, "): catastrophic error", 21) == 0);
        if (error && line >= from && line <= to && !is_default_device_error(end))
            return true;
    }
    return false;
}

static bool contains_text(const reader *r, size_t from, size_t to, const char *text)
{
    for (size_t i = from; i <= to; i++)
        if (is_text(r, i, text))
            return true;
    return false;
}

static bool contains_device_word(const reader *r, size_t from, size_t to)
{
    static const char *const words[] = {"__global__", "__device__", "__constant__", "__shared__", "__managed__"};
    for (size_t k = 0; k < KILN__COUNT(words); k++)
        if (contains_text(r, from, to, words[k]))
            return true;
    return false;
}

/* Returns whether a declaration is a constant, which kernels may need too. An error in it may be a macro that the
 * caller must define. `head` is the last word before the body. */
static bool is_constant(const reader *r, size_t from, size_t head, size_t to, bool variable)
{
    return !contains_text(r, from, to, "std") &&
           (contains_text(r, from, head, "constexpr") || (variable && contains_text(r, from, to, "const")));
}

/* Blanks one declaration, the words from..to, if it has an error and is the host's. Newlines stay, so that line numbers
 * stay. */
static void blank_declaration(reader *r, size_t from, size_t head, size_t to, bool variable)
{
    const kiln__word *first = &r->words[from], *last = &r->words[to];
    if (contains_device_word(r, from, to) || is_constant(r, from, head, to, variable) ||
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
    if (get_kind(r, at) != '#' || !is_text(r, at + 1, "line") || get_kind(r, at + 2) != '0')
        return;
    const long line = strtol(r->words[at + 2].text, NULL, 10);
    if (line > INT_MAX) /* the compiler refuses such a number */
        return;
    r->shift = line - (long)r->words[at].line - 1;
    if (get_kind(r, at + 3) == '"' && r->words[at + 3].length >= 2) {
        r->file = r->words[at + 3].text + 1;
        r->file_length = r->words[at + 3].length - 2;
    }
}

/* The parts of the current declaration that were seen so far. */
typedef struct declaration {
    size_t first; /* first word of the declaration; 0: no declaration has begun */
    bool scope;   /* a namespace, or extern "C" */
    bool type;    /* a class, struct, union or enum */
    bool value;   /* the '=' of the declaration was read */
    bool called;  /* the declaration has parentheses, like a function */
} declaration;

static void add_word(const reader *r, size_t at, declaration *d)
{
    if (!d->first)
        *d = (declaration){.first = at};
    d->scope |= is_text(r, at, "namespace") || (is_text(r, at, "extern") && get_kind(r, at + 1) == '"');
    d->type |= is_text(r, at, "class") || is_text(r, at, "struct") || is_text(r, at, "union") || is_text(r, at, "enum");
    d->value |= get_kind(r, at) == '=';
    d->called |= get_kind(r, at) == '(' &&
                 !(get_kind(r, at - 1) == 'w' &&
                   (strncmp(r->words[at - 1].text, "__", 2) == 0 || is_text(r, at - 1, "alignas")));
}

/* Splits the text into declarations: skips bracketed parts, enters namespaces, and passes each declaration to
 * blank_declaration(). */
static void split_declarations(reader *r)
{
    declaration d = {0};
    for (size_t i = 1; i < r->count; i++) {
        if (r->words[i].directive) {
            follow_line(r, i);
            continue;
        }
        char here = get_kind(r, i);
        if (here == '}') { /* the end of a namespace */
            d.first = 0;
            continue;
        }
        add_word(r, i, &d);
        size_t head = i;
        bool scope = here == '{' && d.scope && !d.value && !d.called;
        /* the arguments of a template, which may have parentheses: struct nth<0, void (*)(int)> { ... }; */
        bool angles = here == '<' &&
                      (is_text(r, i - 1, "template") || (d.type && !d.called && get_kind(r, i - 1) == 'w'));
        if (here == '(' || here == '[' || (here == '{' && !scope) || angles) {
            i = find_close(r, i);
            if (i >= r->count)
                return;
        }
        bool ends = here == ';' || (here == '{' && !scope && !d.value && (d.called || !d.type));
        if (ends)
            blank_declaration(r, d.first, here == '{' ? head - 1 : i, i,
                              here == ';' && !d.type && (d.value || !d.called));
        if (ends || scope)
            d.first = 0;
    }
}

size_t kiln__host_remove(const kiln_allocator *mem, char *text, const char *name, const char *log, kiln__text *places)
{
    reader r = {.text = text, .file = name, .file_length = strlen(name), .log = log, .places = places};
    r.words = kiln__words_read(mem, text, strlen(text), &r.count);
    if (r.words)
        split_declarations(&r);
    kiln__free(mem, r.words);
    return r.removed;
}
