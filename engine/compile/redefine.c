/* redefine.c - lets a macro of the caller replace the value that a text itself gives to the same name.
 *
 * Most kernels have their tile sizes as `#define TILE 16` or `constexpr int TILE = 16;`, without #ifndef. The macro of
 * a param stands before the source. So such a #define would replace the macro again, and every configuration would be
 * the same code. A constant would not compile, because the macro would replace its name.
 *
 * The code first examines each name in all texts. It edits nothing for a name unless it understands each definition of
 * this name. For example, a name that an #if tests keeps its definitions. Otherwise a part of the code could keep its
 * old value, and no message would say so.
 *
 * The text without the old values is the same for every configuration. So a worker removes the host's code once. */
#include <string.h>

#include "chars.h"
#include "compile_internal.h"
#include "words.h"

enum { MOST_VALUES = 64, MOST_NESTED = 64 };

/* A text as words, and the edits of this text. */
typedef struct editor {
    const char *text;
    kiln__word *words; /* NULL if the text has none of the names */
    size_t count;
    bool plain;   /* the compiler surely sees the same words */
    bool guarded; /* the whole text is between `#ifndef GUARD`, `#define GUARD` and #endif */
    char *copy;   /* the text without the #defines that were dropped; NULL before the first one */
    struct {
        size_t at, length; /* the bytes of the old value */
        size_t macro;      /* the number of the macro whose value replaces it */
    } values[MOST_VALUES];
    size_t value_count;
} editor;

static bool is_word(const editor *e, size_t at, const char *text)
{
    return at < e->count && e->words[at].length == strlen(text) &&
           memcmp(e->words[at].text, text, e->words[at].length) == 0;
}

static bool is_any(const editor *e, size_t at, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_word(e, at, texts[i]))
            return true;
    return false;
}

static char kind_of(const editor *e, size_t at) { return at < e->count ? e->words[at].kind : '\0'; }
static bool has_kind(const editor *e, size_t at, const char *kinds)
{
    return kind_of(e, at) != '\0' && strchr(kinds, kind_of(e, at)) != NULL;
}

/* Returns true if word `at` is the '#' of a directive. */
static bool is_directive(const editor *e, size_t at)
{
    return kind_of(e, at) == '#' && e->words[at].directive && e->words[at].first;
}

/* Returns the number of the first word behind the directive that begins at word `at`. */
static size_t end_of_directive(const editor *e, size_t at)
{
    for (at++; at < e->count && e->words[at].directive && !e->words[at].first;)
        at++;
    return at;
}

/* Returns true if no blank and no comment is between word `at` and the word before it. */
static bool is_adjacent(const editor *e, size_t at)
{
    return at < e->count && e->words[at].text == e->words[at - 1].text + e->words[at - 1].length;
}

/* ---- texts that the compiler may read as other words ---- */

/* Tests the text between two words. A joint at the end of a line comment, and a joint between the two characters that
 * end a comment, move the end of the comment. words.c does not know these joints. */
static bool is_plain_gap(const char *at, const char *end)
{
    while (at < end) {
        if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
            const char *last = at;
            while (kiln__is_blank(last[-1]))
                last--;
            if (last[-1] == '\\')
                return false;
        } else if (at[0] == '/' && at[1] == '*') {
            for (at += 2; at < end && !(at[0] == '*' && at[1] == '/'); at++)
                if (at[0] == '*' && at[1] == '\\')
                    return false;
            at += at < end ? 2 : 0;
        } else {
            at++;
        }
    }
    return true;
}

/* Tests a quoted text: it ends on its line, it is no part of a number such as 1'000, and a raw string has no line that
 * begins with '#'. A prose text after #error may have a single quote. */
static bool is_plain_quote(const editor *e, size_t at)
{
    static const char *const prefixes[] = {"R\"", "LR\"", "uR\"", "UR\"", "u8R\""};
    const kiln__word *word = &e->words[at];
    const char *end = word->text + word->length;
    if (kiln__is_word_start(*word->text)) {
        size_t known = 0;
        while (known < KILN__COUNT(prefixes) && strncmp(word->text, prefixes[known], strlen(prefixes[known])) != 0)
            known++;
        for (const char *line = word->text; (line = memchr(line, '\n', (size_t)(end - line))) != NULL;)
            if (*(line = kiln__skip_blanks(line + 1)) == '#')
                return false;
        return known < KILN__COUNT(prefixes) && end[-1] == '"';
    }
    if (*word->text == '\'' && kind_of(e, at - 1) == '0' && is_adjacent(e, at))
        return false;
    return (word->length > 1 && end[-1] == *word->text) || (word->directive && end[-1] != '\\' && end[-1] != '\r');
}

/* Returns true if only joints are between word `at` and the word before it, and the compiler may join the two words to
 * another word. */
static bool is_joined(const editor *e, size_t at)
{
    const char *from = e->words[at - 1].text + e->words[at - 1].length;
    const size_t length = (size_t)(e->words[at].text - from);
    if (at < 2 || length == 0 || strspn(from, "\\\r\n") < length || *from != '\\')
        return false;
    return (has_kind(e, at - 1, "w0") && has_kind(e, at, "w0\"")) || has_kind(e, at - 1, "/%<");
}

/* Returns true if the compiler surely reads the same words and the same ends of lines as words.c. */
static bool is_plain(const editor *e)
{
    static const char *const trigraphs[] = {"?\?=", "?\?/", "?\?<", "?\?>", "pop_macro"};
    if (e->count >= KILN__WORDS_MAX)
        return false;
    for (size_t i = 0; i < KILN__COUNT(trigraphs); i++)
        if (strstr(e->text, trigraphs[i]))
            return false;
    for (size_t i = 1; i < e->count; i++) {
        const char *from = i == 1 ? e->text : e->words[i - 1].text + e->words[i - 1].length;
        const bool digraph = is_adjacent(e, i) && ((kind_of(e, i - 1) == '%' && has_kind(e, i, ":>")) ||
                                                   (kind_of(e, i - 1) == '<' && kind_of(e, i) == '%'));
        if (digraph || kind_of(e, i) == '\\' || is_joined(e, i) || !is_plain_gap(from, e->words[i].text) ||
            (kind_of(e, i) == '"' && !is_plain_quote(e, i)))
            return false;
    }
    const kiln__word *last = &e->words[e->count - 1];
    return e->count < 2 || is_plain_gap(last->text + last->length, last->text + strlen(last->text));
}

/* ---- the place of a word ---- */

static bool is_condition(const editor *e, size_t at)
{
    static const char *const begins[] = {"if", "ifdef", "ifndef"};
    return is_directive(e, at) && is_any(e, at + 1, begins, KILN__COUNT(begins));
}

/* Returns true if the whole text is between the #ifndef and the #endif of an include guard. */
static bool is_guarded(const editor *e)
{
    size_t level = 0;
    if (!is_directive(e, 1) || !is_word(e, 2, "ifndef") || !is_directive(e, 4) || !is_word(e, 5, "define") ||
        end_of_directive(e, 4) != 7 || e->words[3].length != e->words[6].length ||
        memcmp(e->words[3].text, e->words[6].text, e->words[3].length) != 0)
        return false;
    for (size_t i = 1; i < e->count; i++) {
        level += is_condition(e, i);
        if (level == 1 && is_directive(e, i) && (is_word(e, i + 1, "else") || is_word(e, i + 1, "elif")))
            return false;
        if (is_directive(e, i) && is_word(e, i + 1, "endif") && --level == 0)
            return end_of_directive(e, i) == e->count;
    }
    return false;
}

/* The kind of text between braces. SCOPE_OTHER is code of the host, or text that this file does not understand. */
typedef enum scope { SCOPE_NAMESPACE, SCOPE_STRUCT, SCOPE_DEVICE, SCOPE_ENUM, SCOPE_OTHER } scope;

/* Returns the first word of the statement that contains the brace at word `open`, without `template <...>` and without
 * `public:`. */
static size_t find_statement(const editor *e, size_t open)
{
    size_t from = open, depth = 0;
    while (from > 1 && !has_kind(e, from - 1, ";{}") && !e->words[from - 1].directive)
        from--;
    if (has_kind(e, from + 1, ":") && !has_kind(e, from + 2, ":"))
        from += 2;
    if (is_word(e, from, "template") && kind_of(e, from + 1) == '<') {
        for (from++; from < open && (depth += kind_of(e, from) == '<') != 0; from++)
            depth -= kind_of(e, from) == '>';
    }
    return from;
}

/* Classifies the braces that open at word `open` by the words before them. */
static scope find_scope(const editor *e, size_t open)
{
    static const char *const types[] = {"struct", "class", "union"}, *const device[] = {"__global__", "__device__"};
    const size_t from = find_statement(e, open);
    bool names = true, brackets = false;
    for (size_t i = from; i < open; i++) {
        if (is_word(e, i, "enum"))
            return SCOPE_ENUM;
        if (is_any(e, i, device, KILN__COUNT(device)))
            return SCOPE_DEVICE;
        names = names && has_kind(e, i, "w:");
        brackets = brackets || has_kind(e, i, "()=");
    }
    if (names && (is_word(e, from, "namespace") || (is_word(e, from, "inline") && is_word(e, from + 1, "namespace"))))
        return SCOPE_NAMESPACE;
    if (is_word(e, from, "extern") && kind_of(e, from + 1) == '"' && from + 2 == open)
        return SCOPE_NAMESPACE;
    return is_any(e, from, types, KILN__COUNT(types)) && !brackets ? SCOPE_STRUCT : SCOPE_OTHER;
}

/* The place of the current word, while the words of a text are read in order. */
typedef struct place {
    size_t depth, level;          /* the numbers of open braces and of open #ifs */
    size_t start;                 /* the '#' of the last directive */
    scope inside[MOST_NESTED];    /* for each depth */
    size_t depth_at[MOST_NESTED]; /* for each open #if, the depth at its beginning */
    bool odd;                     /* the branches of an #if open and close other braces, or braces are too deep */
} place;

static void enter_directive(place *p, const editor *e, size_t at)
{
    const bool ends = is_word(e, at + 1, "endif");
    p->start = at;
    if (is_condition(e, at)) {
        if (p->level + 1 < MOST_NESTED)
            p->depth_at[p->level++] = p->depth;
        else
            p->odd = true;
    } else if (ends || is_word(e, at + 1, "else") ||
               (e->words[at + 1].length >= 4 && !e->words[at + 1].first &&
                strncmp(e->words[at + 1].text, "elif", 4) == 0)) {
        p->odd = p->odd || p->level == 0 || p->depth_at[p->level - 1] != p->depth;
        p->level -= ends && p->level > 0;
    }
}

static void move_to(place *p, const editor *e, size_t at)
{
    const scope around = p->inside[p->depth];
    if (is_directive(e, at) && at + 1 < e->count) {
        enter_directive(p, e, at);
    } else if (e->words[at].directive) {
        return;
    } else if (kind_of(e, at) == '{') {
        const scope found = find_scope(e, at);
        if (p->depth + 1 < MOST_NESTED)
            p->inside[++p->depth] = around == SCOPE_NAMESPACE || around == SCOPE_STRUCT || found == SCOPE_ENUM ? found
                                                                                                               : around;
        else
            p->odd = true;
    } else if (kind_of(e, at) == '}') {
        p->odd = p->odd || p->depth == 0;
        p->depth -= p->depth > 0;
    }
}

/* ---- the definitions of a name ---- */

/* Returns true if the #define at word `at` gives a value to its name. A #define without a value, such as an include
 * guard, with arguments, or of a quoted text is no such #define. */
static bool is_definition(const editor *e, size_t at, const char *name)
{
    return is_directive(e, at) && is_word(e, at + 1, "define") && is_word(e, at + 2, name) &&
           end_of_directive(e, at) > at + 3 && !has_kind(e, at + 3, "\"<") &&
           !(kind_of(e, at + 3) == '(' && is_adjacent(e, at + 3));
}

/* Returns true if the #ifndef at word `at` is around nothing but a #define of the same name. */
static bool is_default(const editor *e, size_t at, const char *name)
{
    if (!is_word(e, at + 1, "ifndef") || end_of_directive(e, at) != at + 3 || !is_definition(e, at + 3, name))
        return false;
    const size_t end = end_of_directive(e, at + 3);
    return is_directive(e, end) && is_word(e, end + 1, "endif");
}

/* Returns true if a value is a whole number that each type of is_constant() holds. */
static bool is_whole(const char *value, bool is_unsigned)
{
    const char *digits = value + (*value == '-');
    const size_t length = strspn(digits, "0123456789");
    return length > 0 && length < 10 && digits[length] == '\0' && !(is_unsigned && digits > value);
}

static bool is_literal(const kiln__word *word, bool plain)
{
    const bool hex = word->length > 2 && word->text[0] == '0' && (word->text[1] | 32) == 'x';
    size_t i = hex ? 2 : 0;
    while (i < word->length && (kiln__is_digit(word->text[i]) || (hex && strchr("abcdefABCDEF", word->text[i]))))
        i++;
    while (i < word->length && !plain && strchr("uUlL", word->text[i]))
        i++;
    return word->kind == '0' && i == word->length;
}

/* The words that may stand before the name of a constant. */
static const struct {
    const char *text;
    bool constant, type, is_unsigned;
} words_of_constant[] = {
    {"const", true, false, false},   {"constexpr", true, false, false}, {"static", false, false, false},
    {"inline", false, false, false}, {"int", false, true, false},       {"unsigned", false, true, true},
    {"signed", false, true, false},  {"long", false, true, false},      {"size_t", false, true, true},
    {"uint", false, true, true},     {"int32_t", false, true, false},   {"uint32_t", false, true, true},
    {"int64_t", false, true, false}, {"uint64_t", false, true, true},   {"auto", false, true, false}};

/* Returns true if word `at` is the name of a constant of a known integer type with a whole number as its value:
 * `static constexpr int NAME = 16;`. A memory variable of the device is no such constant, and a member of a structure
 * must be static. The function reads the words before the name back to the beginning of the statement. */
static bool is_constant(const editor *e, size_t at, const char *value, scope inside)
{
    bool constant = false, type = false, is_unsigned = false, is_static = false, deduced = false;
    size_t i = at - 1;
    if (kind_of(e, at + 1) != '=' || kind_of(e, at + 2) != '0' || kind_of(e, at + 3) != ';')
        return false;
    for (; i > 0 && has_kind(e, i, "w:") && !e->words[i].directive; i--) {
        size_t k = 0;
        if (kind_of(e, i) == ':') {
            if (i < 3 || kind_of(e, i - 1) != ':' || !is_word(e, i - 2, "std"))
                break;
            i -= 2;
            continue;
        }
        while (k < KILN__COUNT(words_of_constant) && !is_word(e, i, words_of_constant[k].text))
            k++;
        if (k == KILN__COUNT(words_of_constant))
            return false;
        constant |= words_of_constant[k].constant;
        type |= words_of_constant[k].type;
        is_unsigned |= words_of_constant[k].is_unsigned;
        is_static |= is_word(e, i, "static");
        deduced |= is_word(e, i, "auto");
    }
    static const char *const access[] = {"public", "private", "protected"};
    const bool begins = i == 0 || e->words[i].directive || has_kind(e, i, ";{}") ||
                        (kind_of(e, i) == ':' && is_any(e, i - 1, access, KILN__COUNT(access)));
    return begins && constant && type && is_whole(value, is_unsigned) && is_literal(&e->words[at + 2], deduced) &&
           (inside == SCOPE_NAMESPACE || inside == SCOPE_DEVICE || (inside == SCOPE_STRUCT && is_static));
}

/* Returns true if word `at` may declare the name, or give it a value: `int NAME`, `NAME = 1`, `NAME{1}`, `NAME(1)`,
 * `enum { NAME }`. */
static bool may_declare(const editor *e, size_t at, scope inside)
{
    static const char *const uses[] = {"return", "case", "else", "sizeof", "throw",  "do",
                                       "and",    "or",   "not",  "xor",    "bitand", "bitor"};
    static const char *const types[] = {"const", "int", "unsigned", "long", "float", "double", "char", "auto", "void"};
    const size_t before = at - 1;
    if (kind_of(e, at + 1) == '=' && !(kind_of(e, at + 2) == '=' && is_adjacent(e, at + 2)))
        return true;
    if (has_kind(e, at + 1, "{([") || e->words[before].directive)
        return has_kind(e, at + 1, "{([");
    if (has_kind(e, before, "w") && !is_any(e, before, uses, KILN__COUNT(uses)))
        return true;
    if (has_kind(e, before, "*&") && is_any(e, before - 1, types, KILN__COUNT(types)))
        return true;
    return has_kind(e, before, ".") || (inside == SCOPE_ENUM && has_kind(e, before, ",{"));
}

/* The uses of a name in all texts. */
typedef struct uses {
    size_t defines, constants;
    bool odd;       /* a use that the code does not understand */
    bool in_values; /* a #define of another name uses the name */
    bool declared;  /* another declaration has the name too */
} uses;

/* Examines word `at`, which is the name inside the directive at word `start`. A directive that tests the name keeps the
 * definitions of the name, because its answer could change with them. */
static void examine_directive(const editor *e, size_t start, size_t at, const char *name, uses *found)
{
    if (is_word(e, start + 1, "define") && at == start + 2) {
        found->defines++;
        found->odd = found->odd || !is_definition(e, start, name);
    } else if (is_word(e, start + 1, "define") && !is_word(e, start + 2, name)) {
        found->in_values = true;
    } else if (!(is_word(e, start + 1, "pragma") && is_word(e, start + 2, "unroll")) &&
               !(at == start + 2 && is_default(e, start, name))) {
        found->odd = true;
    }
}

/* Examines the uses of a name in one text. A constant under an #if is odd, because the code around it may not be the
 * code that the compiler reads. */
static void examine(const editor *e, const char *name, const char *value, uses *found)
{
    place p = {0};
    size_t constants = 0;
    if (!e->words)
        return;
    for (size_t i = 1; i < e->count; i++) {
        move_to(&p, e, i);
        if (!is_word(e, i, name))
            continue;
        if (e->words[i].directive)
            examine_directive(e, p.start, i, name, found);
        else if (is_constant(e, i, value, p.inside[p.depth]) && p.level == (e->guarded ? 1 : 0))
            constants++;
        else if (may_declare(e, i, p.inside[p.depth]))
            found->declared = true;
    }
    found->constants += constants;
    if (!e->plain || (constants > 0 && (p.odd || p.depth > 0 || p.level > 0 || //
                                        e->value_count + constants > MOST_VALUES)))
        found->odd = true;
}

/* Returns true if the caller's macro may replace all definitions of the name. */
static bool is_understood(const uses *found)
{
    if (found->odd || (found->defines == 0 && found->constants == 0))
        return false;
    return found->constants == 0 || (found->defines == 0 && !found->in_values && !found->declared);
}

/* ---- the edits ---- */

/* Writes blanks over the words of a directive. Comments stay, because a comment may go on in the next line. The ends of
 * lines stay too, with the backslashes before them, so that the lines keep their numbers. */
static void drop_directive(editor *e, size_t at)
{
    for (const size_t end = end_of_directive(e, at); at < end; at++) {
        char *word = e->copy + (e->words[at].text - e->text);
        for (size_t i = 0; i < e->words[at].length; i++) {
            const size_t joint = word[i] == '\\' ? 1 + strspn(word + i + 1, "\r") : 0;
            if (joint > 0 && word[i + joint] == '\n')
                i += joint;
            else if (word[i] != '\n' && word[i] != '\r')
                word[i] = ' ';
        }
    }
}

/* Drops the #defines of a name that was examined, or notes the values of its constants. */
static void edit(kiln__arena *arena, editor *e, size_t macro, const char *name, const char *value, bool constants)
{
    place p = {0};
    for (size_t i = 1; i < e->count && !arena->failed; i++) {
        move_to(&p, e, i);
        if (!constants && is_definition(e, i, name)) {
            e->copy = e->copy ? e->copy : kiln__arena_strdup(arena, e->text);
            if (e->copy)
                drop_directive(e, i);
        } else if (constants && !e->words[i].directive && is_word(e, i, name) &&
                   is_constant(e, i, value, p.inside[p.depth])) {
            e->values[e->value_count].at = (size_t)(e->words[i + 2].text - e->text);
            e->values[e->value_count].length = e->words[i + 2].length;
            e->values[e->value_count++].macro = macro;
        }
    }
}

/* Returns the edited text: the copy without the dropped #defines, with the name of a new macro in place of each noted
 * value. The values stand in any order, so the function takes the next one each time. */
static const char *finish(kiln__arena *arena, const editor *e, const kiln__prelude_macro *macros)
{
    const char *from = e->copy ? e->copy : e->text;
    kiln__text out = {.mem = arena->mem};
    size_t done = 0;
    if (e->value_count == 0)
        return from;
    for (size_t i = 0; i < e->value_count; i++) {
        size_t next = 0, at = SIZE_MAX;
        for (size_t k = 0; k < e->value_count; k++)
            if (e->values[k].at >= done && e->values[k].at < at) {
                next = k;
                at = e->values[k].at;
            }
        kiln__text_add(&out, from + done, at - done);
        kiln__text_puts(&out, macros[e->values[next].macro].name);
        done = at + e->values[next].length;
    }
    kiln__text_puts(&out, from + done);
    const char *kept = out.failed ? NULL : kiln__arena_strdup(arena, out.data);
    kiln__text_free(&out);
    return kept;
}

/* ---- all texts ---- */

/* Returns true if the text has the name as a word. If `defined` is true, '=' must follow the name, or `define` must
 * stand before it. This test is fast, and most texts do not need more. */
static bool has_name(const char *text, const char *name, bool defined)
{
    const size_t length = strlen(name);
    for (const char *at = text; length > 0 && (at = strstr(at, name)) != NULL; at += length) {
        const char *behind = at + length, *before = at;
        if ((at > text && kiln__is_word_part(at[-1])) || kiln__is_word_part(*behind))
            continue;
        behind += strspn(behind, " \t");
        while (before > text && strchr(" \t", before[-1]))
            before--;
        if (!defined || (behind[0] == '=' && behind[1] != '=') ||
            (before - text >= 6 && memcmp(before - 6, "define", 6) == 0))
            return true;
    }
    return false;
}

/* The texts of a source and of its headers, and the macros of the caller. */
typedef struct job {
    const kiln_allocator *mem;
    kiln__arena *arena;
    editor **texts; /* the texts that have one of the names to examine */
    size_t text_count, word_count;
    kiln__prelude_macro *macros;
    size_t count;
    bool *defined; /* for each macro, whether a text may define its name */
} job;

/* Adds a text to the job if it has a name to examine. Returns NULL if the text is not added, or if memory runs out. A
 * text behind KILN__WORDS_MAX words of the job is not plain, so its names keep their definitions. */
static editor *add_text(job *j, const char *text)
{
    bool named = false;
    for (size_t i = 0; i < j->count && !named; i++)
        named = j->defined[i] && has_name(text, j->macros[i].name, false);
    editor *e = named ? kiln__arena_alloc(j->arena, sizeof *e) : NULL;
    if (!e)
        return NULL;
    e->text = text;
    j->texts[j->text_count++] = e;
    e->words = kiln__words_read(j->mem, text, strlen(text), &e->count);
    if (!e->words)
        j->arena->failed = true;
    else
        j->word_count += e->count;
    e->plain = e->words && j->word_count < KILN__WORDS_MAX && is_plain(e);
    e->guarded = e->words && is_guarded(e);
    return e;
}

/* Edits all texts for one macro. If a text has a constant of the name, the macro gets its new name. The old name must
 * not be a macro then, because the macro would replace the name of the constant. */
static void replace(job *j, size_t macro, const kiln__prelude_macro *renamed)
{
    const char *name = j->macros[macro].name, *value = j->macros[macro].value;
    uses found = {0};
    for (size_t k = 0; k < j->text_count; k++)
        examine(j->texts[k], name, value, &found);
    if (!is_understood(&found))
        return;
    for (size_t k = 0; k < j->text_count; k++)
        edit(j->arena, j->texts[k], macro, name, value, found.constants > 0);
    if (found.constants > 0) /* a list may have a macro twice */
        for (size_t i = j->count; i-- > 0;)
            if (strcmp(j->macros[i].name, name) == 0)
                j->macros[i].name = renamed[macro].name;
}

/* Adds the texts of the includes to the job, and edits them. items[k] receives header k. */
static void replace_all(job *j, kiln__includes *includes, kiln__include *items)
{
    editor **of = kiln__arena_alloc(j->arena, (includes->count + 1) * sizeof(editor *));
    kiln__prelude_macro *renamed = kiln__arena_alloc(j->arena, (j->count + 1) * sizeof *renamed);
    if (!of || !renamed)
        return;
    of[includes->count] = add_text(j, includes->source);
    for (size_t k = 0; k < includes->count && !j->arena->failed; k++) {
        items[k] = includes->items[k];
        if (items[k].path) /* the headers that Kiln provides define nothing of the project */
            of[k] = add_text(j, items[k].text);
    }
    for (size_t i = 0; i < j->count; i++)
        renamed[i] = (kiln__prelude_macro){kiln__arena_printf(j->arena, "KILN_VALUE_OF_%s", j->macros[i].name), NULL};
    for (size_t i = 0; i < j->count && !j->arena->failed; i++)
        if (j->defined[i])
            replace(j, i, renamed);
    for (size_t k = 0; k <= includes->count && !j->arena->failed; k++) {
        const char **text = k < includes->count ? &items[k].text : &includes->source;
        const char *made = of[k] ? finish(j->arena, of[k], renamed) : *text;
        j->arena->failed = j->arena->failed || !made;
        *text = made;
    }
}

kiln_status kiln__definitions_replace(const kiln_allocator *mem, kiln__arena *arena, kiln__includes *includes,
                                      kiln__prelude_macro *macros, size_t count, kiln_error **error)
{
    job j = {.mem = mem, .arena = arena, .macros = macros, .count = count};
    bool any = false;
    kiln__include *items = kiln__arena_alloc(arena, (includes->count + 1) * sizeof *items);
    j.texts = kiln__arena_alloc(arena, (includes->count + 1) * sizeof(editor *));
    j.defined = kiln__arena_alloc(arena, count + 1);
    if (!items || !j.texts || !j.defined)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        j.defined[i] = has_name(includes->source, macros[i].name, true);
        for (size_t k = 0; k < includes->count && !j.defined[i]; k++)
            j.defined[i] = includes->items[k].path && has_name(includes->items[k].text, macros[i].name, true);
        for (size_t k = 0; k < i; k++)
            j.defined[i] = j.defined[i] && strcmp(macros[k].name, macros[i].name) != 0;
        any = any || j.defined[i];
    }
    if (!any)
        return KILN_OK;
    replace_all(&j, includes, items);
    for (size_t k = 0; k < j.text_count; k++)
        kiln__free(mem, j.texts[k]->words);
    if (arena->failed)
        return kiln__fail_memory(error);
    includes->items = items;
    return KILN_OK;
}
