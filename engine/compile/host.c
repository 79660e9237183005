/* host.c - removes code that no kernel of a request needs. This code is declarations of the host at namespace scope
 * with an error, and explicit instantiations of kernels. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compile_internal.h"
#include "words.h"

/* The text from which code is removed, and the compiler's log. */
typedef struct reader {
    kiln__word *words;
    size_t count;
    char *text;       /* the words of `words` point into this text */
    const char *file; /* the name of the file in the log; not terminated */
    size_t file_length;
    const char *log;
    const kiln_allocator *mem;
    const kiln__host_list *known; /* declarations that are blanked even without an error, or NULL */
    kiln__host_list *list;        /* receives the blanked declarations; may be NULL */
    long shift;                   /* the difference between a line number in the log and the line number of the word */
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

/* Returns whether a message says "is considered a host function". An error with this message disappears with
 * -default-device. */
static bool is_default_device_error(const char *at)
{
    const char *found = strstr(at, "is considered a host "), *end = strchr(at, '\n');
    return found && (!end || found < end);
}

/* Returns whether the log has an error in the lines from..to of the file, as in "x.cu(12): error: ...". */
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

/* Replaces the words from..to by blanks. The function keeps all ends of lines, also after a backslash in a
 * directive. */
static void blank_words(char *text, const kiln__word *from, const kiln__word *to)
{
    char *end = text + (to->text - text) + to->length;
    for (char *at = text + (from->text - text); at < end; at++)
        if (*at != '\n' && !(*at == '\\' && (at[1] == '\n' || at[1] == '\r')) && *at != '\r')
            *at = ' ';
}

/* Returns whether a declaration is a constant, because kernels may also need a constant. An error in a constant may be
 * caused by a macro that the caller must define. A function marked __host__ alone is not a constant. `head` is the last
 * word before the body. */
static bool is_constant(const reader *r, size_t from, size_t head, size_t to, bool variable)
{
    return !contains_text(r, from, to, "std") && !contains_text(r, from, head, "__host__") &&
           (contains_text(r, from, head, "constexpr") || (variable && contains_text(r, from, to, "const")));
}

/* ---- declarations that were removed before ---- */

static bool is_equal(kiln__hash128 x, kiln__hash128 y) { return x.low == y.low && x.high == y.high; }

static bool has_item(const kiln__host_list *list, kiln__hash128 hash)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_equal(list->items[i].hash, hash))
            return true;
    return false;
}

void kiln__host_list_add(const kiln_allocator *mem, kiln__host_list *list, const kiln__host_item *item)
{
    enum { MOST = 4096 };
    if (list->count < MOST && !has_item(list, item->hash) &&
        kiln__grow(mem, &list->items, &list->capacity, list->count + 1, sizeof *list->items))
        list->items[list->count++] = *item;
}

/* Returns whether word k, which is a name, may declare or use that name. In a macro only a declaration counts, where a
 * type stands before the name. If a macro uses a name that nothing declares, the compile fails. */
static bool may_matter(const kiln__word *words, size_t k)
{
    static const char *const before_uses[] = {"throw", "return", "new", "case", "goto", "else", "do"};
    const kiln__word *last = &words[k - 1];
    if (!words[k].directive)
        return words[k].kind == 'w';
    for (size_t i = 0; i < KILN__COUNT(before_uses); i++)
        if (last->length == strlen(before_uses[i]) && memcmp(last->text, before_uses[i], last->length) == 0)
            return false;
    return words[k].kind == 'w' && last->directive && strchr("w*&>]", last->kind);
}

void kiln__host_list_drop(const kiln_allocator *mem, kiln__host_list *list, const char *text)
{
    const kiln__hash128 unknown = {0};
    size_t count, kept = 0;
    kiln__word *words = list->count ? kiln__words_read(mem, text, strlen(text), &count) : NULL;
    for (size_t k = 1; words && k < count; k++) {
        if (!may_matter(words, k))
            continue;
        const kiln__hash128 word = kiln__hash(words[k].text, words[k].length);
        for (size_t i = 0; i < list->count; i++)
            if (is_equal(list->items[i].name, word))
                list->items[i].name = unknown;
    }
    for (size_t i = 0; words && i < list->count; i++)
        if (!is_equal(list->items[i].name, unknown))
            list->items[kept++] = list->items[i];
    list->count = kept;
    kiln__free(mem, words);
}

/* Returns one common hash of the source and the text from word `from` to word `to`. The name of the file is not a part
 * of the hash. A declaration that occurs in two files is not remembered (kiln__host_list_drop). */
static kiln__hash128 hash_words(const reader *r, size_t from, size_t to)
{
    const kiln__word *first = &r->words[from], *last = &r->words[to];
    const kiln__hash128 parts[2] = {r->known ? r->known->source : (kiln__hash128){0},
                                    kiln__hash(first->text, (size_t)(last->text - first->text) + last->length)};
    return kiln__hash(parts, sizeof parts);
}

/* Returns the position of the name that the words from..to declare, or 0 if the function finds no name. */
static size_t find_name(const reader *r, size_t from, size_t to)
{
    for (size_t i = from; i <= to && i < r->count; i++) {
        const char here = get_kind(r, i);
        if (r->words[i].directive || is_text(r, i, "operator") || here == ',')
            return 0;
        if (here == '<' && is_text(r, i - 1, "template")) {
            i = find_close(r, i);
            continue;
        }
        if (here == '[' || (here == '(' && i > from &&
                            (strncmp(r->words[i - 1].text, "__", 2) == 0 || is_text(r, i - 1, "alignas")))) {
            i = find_close(r, i); /* attributes */
            continue;
        }
        if ((is_text(r, i, "struct") || is_text(r, i, "class") || is_text(r, i, "union") || is_text(r, i, "enum")) &&
            get_kind(r, i + 1) == 'w' && !is_text(r, i + 1, "class") && !is_text(r, i + 1, "alignas") &&
            strncmp(r->words[i + 1].text, "__", 2) != 0)
            return i + 1;
        if (strchr("(=;{", here))
            return i > from && get_kind(r, i - 1) == 'w' ? i - 1 : 0;
    }
    return 0;
}

/* Returns whether a declaration has an error in the log or was removed before. The declaration is the words from..to
 * with this hash. */
static bool must_go(const reader *r, size_t from, size_t to, kiln__hash128 hash)
{
    return has_error(r, (long)r->words[from].line + r->shift, (long)r->words[to].line + r->shift) ||
           (r->known && has_item(r->known, hash));
}

/* Blanks the words from..to, and records their hash and the name that they declare. */
static void remove_words(reader *r, size_t from, size_t to, kiln__hash128 hash)
{
    const size_t name = find_name(r, from, to);
    kiln__host_item item = {.hash = hash};
    if (name)
        item.name = kiln__hash(r->words[name].text, r->words[name].length);
    if (r->list)
        kiln__host_list_add(r->mem, r->list, &item);
    blank_words(r->text, &r->words[from], &r->words[to]);
    r->removed++;
}

/* Blanks one declaration, the words from..to, if it belongs to the host and has an error or was removed before. The
 * function keeps newlines, so that line numbers do not change. */
static void blank_declaration(reader *r, size_t from, size_t head, size_t to, bool variable)
{
    const kiln__word *first = &r->words[from];
    if (contains_device_word(r, from, to) || is_constant(r, from, head, to, variable))
        return;
    const kiln__hash128 hash = hash_words(r, from, to);
    if (!must_go(r, from, to, hash))
        return;
    remove_words(r, from, to, hash);
    if (r->places->length <= 200)
        kiln__text_printf(r->places, "%s%.*s:%ld", r->places->length ? ", " : "", (int)r->file_length, r->file,
                          (long)first->line + r->shift);
}

static void follow_line(reader *r, size_t at)
{
    if (get_kind(r, at) != '#' || !is_text(r, at + 1, "line") || get_kind(r, at + 2) != '0')
        return;
    const long line = strtol(r->words[at + 2].text, NULL, 10);
    if (line > INT_MAX) /* the compiler refuses such a line number */
        return;
    r->shift = line - (long)r->words[at].line - 1;
    if (get_kind(r, at + 3) == '"' && r->words[at + 3].length >= 2) {
        r->file = r->words[at + 3].text + 1;
        r->file_length = r->words[at + 3].length - 2;
    }
}

/* The parts of the current declaration that were seen so far. */
typedef struct declaration {
    size_t first; /* first word of the declaration, or 0 between declarations */
    bool scope;   /* the declaration is a namespace or extern "C" */
    bool type;    /* the declaration is a class, struct, union or enum */
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

/* Returns true if the word is the '#' that begins a directive. Inside a macro, a '#' may also turn an argument into a
 * string. */
static bool begins_directive(const reader *r, size_t word)
{
    static const char *const names[] = {"define", "undef", "if",      "ifdef",  "ifndef", "else",
                                        "elif",   "endif", "include", "pragma", "line",   "error"};
    for (size_t i = 0; i < KILN__COUNT(names) && get_kind(r, word) == '#'; i++)
        if (is_text(r, word + 1, names[i]))
            return true;
    return false;
}

/* Returns true if `name` and the parentheses at `open` use a macro that makes a whole declaration without ';', such as
 * `INSTANTIATE(float)`. The text must define the macro, and the definition must contain no word of the device. The next
 * declaration must begin on another line. */
static bool is_macro_alone(const reader *r, size_t name, size_t open)
{
    const size_t close = find_close(r, open);
    if (close >= r->count || get_kind(r, name) != 'w' ||
        (close + 1 < r->count && !r->words[close + 1].directive &&
         (r->words[close + 1].line == r->words[close].line || strchr(";{=:,", get_kind(r, close + 1)))))
        return false;
    for (size_t i = 1; i + 2 < r->count; i++) {
        if (!r->words[i].directive || !is_text(r, i, "define") || r->words[i + 1].length != r->words[name].length ||
            memcmp(r->words[i + 1].text, r->words[name].text, r->words[name].length) != 0)
            continue;
        size_t end = i + 1;
        while (end + 1 < r->count && r->words[end + 1].directive && !begins_directive(r, end + 1))
            end++;
        return get_kind(r, i + 2) == '(' && !contains_device_word(r, i, end);
    }
    return false;
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
        if (here == '(' && d.first + 1 == i && is_macro_alone(r, d.first, i)) {
            i = find_close(r, i);
            blank_declaration(r, d.first, head, i, false);
            d.first = 0;
            continue;
        }
        bool scope = here == '{' && d.scope && !d.value && !d.called;
        /* the '<' begins the arguments of a template, which may have parentheses: struct nth<0, void (*)(int)> { ...
         * }; */
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

/* Blanks functions that are marked __host__ alone and have an error, because NVRTC refuses them. Such a function may be
 * a member of a structure that a kernel needs, so split_declarations() does not find the function at namespace
 * scope. */
static void remove_marked(reader *r)
{
    enum { MOST_HEAD = 100 }; /* largest number of words before the body of a function */
    for (size_t i = 1; i < r->count; i++) {
        if (r->words[i].directive)
            follow_line(r, i);
        if (r->words[i].directive || !is_text(r, i, "__host__"))
            continue;
        size_t from = i, open = i;
        while (from > 1 && i - from < MOST_HEAD && !strchr(";{}:", r->words[from - 1].kind) &&
               !r->words[from - 1].directive)
            from--;
        while (open < r->count && open - i < MOST_HEAD && get_kind(r, open) != '{' && get_kind(r, open) != ';')
            open = get_kind(r, open) == '(' ? find_close(r, open) + 1 : open + 1;
        const size_t to = get_kind(r, open) == '{' ? find_close(r, open) : open;
        if (to >= r->count || contains_device_word(r, from, open))
            continue;
        const kiln__hash128 hash = hash_words(r, from, to);
        if (must_go(r, from, open, hash))
            remove_words(r, from, to, hash);
    }
}

/* ---- instantiations of kernels that no request needs ---- */

/* Blanks explicit instantiations of kernels: `template __global__ void sum<float>(float *);`, also in macros. The names
 * of a request instantiate the kernels that it needs. All other instances only cost time. */
bool kiln__host_drop_instances(const kiln_allocator *mem, char *text)
{
    enum { MOST_WORDS = 1000 }; /* largest number of words of one instantiation */
    reader r = {.text = text};
    r.words = kiln__words_read(mem, text, strlen(text), &r.count);
    for (size_t i = 1; r.words && i + 1 < r.count; i++) {
        if (!is_text(&r, i, "template") || !is_text(&r, i + 1, "__global__"))
            continue;
        size_t end = i + 2;
        while (end < r.count && end - i < MOST_WORDS && !strchr(";{}#", r.words[end].kind) &&
               r.words[end].directive == r.words[i].directive)
            end++;
        if (get_kind(&r, end) != ';' || r.words[end].directive != r.words[i].directive)
            continue;
        blank_words(text, &r.words[i], &r.words[end]);
        i = end;
    }
    kiln__free(mem, r.words);
    return r.words != NULL;
}

size_t kiln__host_remove(const kiln_allocator *mem, char *text, const char *name, const char *log,
                         const kiln__host_list *known, kiln__host_list *list, kiln__text *places)
{
    reader r = {.text = text,
                .file = name,
                .file_length = strlen(name),
                .log = log,
                .mem = mem,
                .known = known,
                .list = list,
                .places = places};
    r.words = kiln__words_read(mem, text, strlen(text), &r.count);
    if (r.words) {
        split_declarations(&r);
        const size_t removed = r.removed; /* `r.words` does not show which words were blanked */
        r.file = name;
        r.file_length = strlen(name);
        r.shift = 0;
        if (removed == 0)
            remove_marked(&r);
    }
    kiln__free(mem, r.words);
    return r.removed;
}
