/* redefine.c - lets a macro of the caller replace the value that a text itself gives to the same name.
 *
 * Most kernels have their tile sizes as `#define TILE 16` or `constexpr int TILE = 16;`, without #ifndef. The macro of
 * a param stands before the source. So such a #define would replace the macro again, and every configuration would be
 * the same code. A constant would not compile, because the macro would replace its name.
 *
 * The text without the old values is the same for every configuration. So a worker removes the host's code once. */
#include <string.h>

#include "chars.h"
#include "compile_internal.h"
#include "words.h"

/* A text as words, and the edits of this text. */
typedef struct editor {
    kiln__arena *arena;
    const char *text;
    kiln__word *words;
    size_t count;
    char *copy; /* the text without the #defines that were dropped; NULL before the first one */
    struct {
        size_t at, length; /* the bytes of the old value */
        size_t macro;      /* the number of the macro whose value replaces it */
    } values[64];
    size_t value_count;
} editor;

static bool is_word(const editor *e, size_t at, const char *text)
{
    return at < e->count && e->words[at].length == strlen(text) &&
           memcmp(e->words[at].text, text, e->words[at].length) == 0;
}

static char kind_of(const editor *e, size_t at) { return at < e->count ? e->words[at].kind : '\0'; }

/* Returns the end of the directive that contains `at`: the end of its line, where a backslash joins the next line. */
static const char *end_of_directive(const char *at)
{
    while (*at && *at != '\n') {
        const char *comment = at[0] == '/' && at[1] == '*' ? strstr(at + 2, "*/") : NULL;
        if (comment)
            at = comment + 2;
        else
            at += at[0] == '\\' && at[1] == '\n' ? 2 : at[0] == '\\' && at[1] == '\r' && at[2] == '\n' ? 3 : 1;
    }
    return at;
}

/* Returns true if the macro `name` of the caller may replace the #define at word `at`, which is the '#'. A #define
 * without a value, such as an include guard, stays. A #define with arguments stays. */
static bool is_definition(const editor *e, size_t at, const char *name)
{
    if (kind_of(e, at) != '#' || !e->words[at].directive || !is_word(e, at + 1, "define") ||
        !is_word(e, at + 2, name) || at + 3 >= e->count)
        return false;
    const kiln__word *value = &e->words[at + 3];
    return value->text < end_of_directive(e->words[at + 2].text) && value->kind != '"' && value->kind != '<' &&
           !(value->kind == '(' && value->text == e->words[at + 2].text + e->words[at + 2].length);
}

/* Writes blanks over the words of a directive. Comments stay, because a comment may go on in the next line. */
static void drop_directive(editor *e, size_t at)
{
    const char *end = end_of_directive(e->words[at].text);
    if (!e->copy)
        e->copy = kiln__arena_strdup(e->arena, e->text);
    for (; e->copy && at < e->count && e->words[at].text < end; at++)
        memset(e->copy + (e->words[at].text - e->text), ' ', e->words[at].length);
}

/* Returns true if word `at` is the name of a constant with a whole number as its value: `static constexpr int NAME =
 * 16;`. A memory variable of the device is no such constant. */
static bool is_constant(const editor *e, size_t at, const char *name)
{
    bool constant = false;
    if (!is_word(e, at, name) || e->words[at].directive || kind_of(e, at + 1) != '=' || kind_of(e, at + 2) != '0' ||
        kind_of(e, at + 3) != ';')
        return false;
    for (size_t i = at - 1; i > 0 && !e->words[i].directive && strchr("w:", kind_of(e, i)); i--) {
        constant |= is_word(e, i, "const") || is_word(e, i, "constexpr");
        if (is_word(e, i, "__constant__") || is_word(e, i, "__device__") || is_word(e, i, "float") ||
            is_word(e, i, "double"))
            return false;
    }
    return constant;
}

/* The kind of text between braces: declarations, code of the device, or other code. */
typedef enum scope { SCOPE_DECLARATIONS, SCOPE_DEVICE, SCOPE_HOST } scope;

/* Classifies the braces that open at word `open` between declarations, by the words before them. */
static scope find_scope(const editor *e, size_t open)
{
    static const char *const outer[] = {"namespace", "extern", "struct", "class"};
    scope found = SCOPE_HOST;
    for (size_t i = open - 1; i > 0 && !strchr(";{}", kind_of(e, i)) && !e->words[i].directive; i--) {
        if (is_word(e, i, "__global__") || is_word(e, i, "__device__"))
            return SCOPE_DEVICE;
        for (size_t k = 0; k < KILN__COUNT(outer) && kind_of(e, open - 1) != ')'; k++)
            if (is_word(e, i, outer[k]))
                found = SCOPE_DECLARATIONS;
    }
    return found;
}

/* Finds the definitions of one macro in a text: drops its #defines, and notes the values of its constants. Constants in
 * host code are not for the kernel. A text that undefines the name sets the name for parts of itself, and keeps its
 * definitions. Returns true if the text has a constant of this name. */
static bool edit(editor *e, size_t macro, const char *name)
{
    bool found = false;
    size_t depth = 0, code = 0; /* code: the depth at which the body of a function began; 0 means that none is open */
    scope inside = SCOPE_DECLARATIONS;
    for (size_t i = 1; i < e->count; i++)
        if (is_word(e, i, name) && is_word(e, i - 1, "undef") && e->words[i].directive)
            return false;
    for (size_t i = 1; i < e->count; i++) {
        if (is_definition(e, i, name))
            drop_directive(e, i);
        if (e->words[i].directive)
            continue;
        if (kind_of(e, i) == '{') {
            depth++;
            inside = code ? inside : find_scope(e, i);
            code = code || inside == SCOPE_DECLARATIONS ? code : depth;
        } else if (kind_of(e, i) == '}' && depth > 0 && depth-- == code) {
            code = 0;
            inside = SCOPE_DECLARATIONS;
        }
        if (inside == SCOPE_HOST || e->value_count == KILN__COUNT(e->values) || !is_constant(e, i, name))
            continue;
        e->values[e->value_count].at = (size_t)(e->words[i + 2].text - e->text);
        e->values[e->value_count].length = e->words[i + 2].length;
        e->values[e->value_count++].macro = macro;
        found = true;
    }
    return found;
}

/* Returns true if the text has the name as a word, followed by '=' or after `define`. This test is fast, and most texts
 * do not need more. */
static bool may_define(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = text; length > 0 && (at = strstr(at, name)) != NULL; at += length) {
        const char *behind = at + length, *before = at;
        if ((at > text && kiln__is_word_part(at[-1])) || kiln__is_word_part(*behind))
            continue;
        behind += strspn(behind, " \t");
        while (before > text && strchr(" \t", before[-1]))
            before--;
        if ((behind[0] == '=' && behind[1] != '=') || (before - text >= 6 && memcmp(before - 6, "define", 6) == 0))
            return true;
    }
    return false;
}

/* Returns true if an #include of the text names a macro. The file that it reads then depends on a definition, and
 * kiln__includes_collect() has checked that file. */
static bool includes_by_macro(const editor *e)
{
    for (size_t i = 1; i + 1 < e->count; i++)
        if (kind_of(e, i - 1) == '#' && e->words[i].directive && kind_of(e, i + 1) == 'w' &&
            (is_word(e, i, "include") || is_word(e, i, "include_next") || is_word(e, i, "embed")))
            return true;
    return false;
}

/* Returns the edited text: the copy without the dropped #defines, with the name of a new macro in place of each noted
 * value. The values stand in any order, so the function takes the next one each time. */
static const char *finish(const editor *e, const kiln__prelude_macro *macros)
{
    const char *from = e->copy ? e->copy : e->text;
    kiln__text out = {.mem = e->arena->mem};
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
    const char *kept = out.failed ? NULL : kiln__arena_strdup(e->arena, out.data);
    kiln__text_free(&out);
    return kept;
}

/* Edits one text for all macros. constant[i] becomes true if a constant of the text gets its value from macro i. */
static kiln_status redefine(const kiln_allocator *mem, kiln__arena *arena, const char **text,
                            const kiln__prelude_macro *macros, const char *const *names, size_t count, bool *constant,
                            kiln_error **error)
{
    editor e = {.arena = arena, .text = *text};
    bool may = false;
    for (size_t i = 0; i < count && !may; i++)
        may = may_define(*text, names[i]);
    if (!may)
        return KILN_OK;
    e.words = kiln__words_read(mem, *text, strlen(*text), &e.count);
    if (!e.words)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < count; i++)
        if (may_define(*text, names[i]) && edit(&e, i, names[i]))
            constant[i] = true;
    *text = finish(&e, macros);
    kiln__free(mem, e.words);
    return *text && !arena->failed ? KILN_OK : kiln__fail_memory(error);
}

static kiln_status check_includes(const kiln_allocator *mem, const char *text, bool *by_macro, kiln_error **error)
{
    editor e = {.text = text};
    if (!strstr(text, "include"))
        return KILN_OK;
    e.words = kiln__words_read(mem, text, strlen(text), &e.count);
    if (!e.words)
        return kiln__fail_memory(error);
    *by_macro |= includes_by_macro(&e);
    kiln__free(mem, e.words);
    return KILN_OK;
}

/* A name that any text defines as a constant gets a new macro name in the list. The old name must not become a macro,
 * because the macro would replace the name of the constant. */
kiln_status kiln__definitions_replace(const kiln_allocator *mem, kiln__arena *arena, kiln__includes *includes,
                                      kiln__prelude_macro *macros, size_t count, kiln_error **error)
{
    kiln__include *items = kiln__arena_alloc(arena, (includes->count + 1) * sizeof *items);
    kiln__prelude_macro *renamed = kiln__arena_alloc(arena, (count + 1) * sizeof *renamed);
    const char **names = kiln__arena_alloc(arena, (count + 1) * sizeof *names);
    bool *constant = kiln__arena_alloc(arena, count + 1), may = false, by_macro = false;
    if (!items || !renamed || !names || !constant)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        names[i] = macros[i].name;
        renamed[i] = (kiln__prelude_macro){kiln__arena_printf(arena, "KILN_VALUE_OF_%s", names[i]), macros[i].value};
        constant[i] = false;
        may |= may_define(includes->source, names[i]);
        for (size_t k = 0; k < includes->count && !may; k++)
            may = may_define(includes->items[k].text, names[i]);
    }
    if (!may || arena->failed)
        return arena->failed ? kiln__fail_memory(error) : KILN_OK;
    KILN__TRY(check_includes(mem, includes->source, &by_macro, error));
    for (size_t k = 0; k < includes->count; k++)
        KILN__TRY(check_includes(mem, includes->items[k].text, &by_macro, error));
    if (by_macro)
        return KILN_OK;
    KILN__TRY(redefine(mem, arena, &includes->source, renamed, names, count, constant, error));
    for (size_t k = 0; k < includes->count; k++) {
        items[k] = includes->items[k];
        if (items[k].path) /* the headers that Kiln provides define nothing of the project */
            KILN__TRY(redefine(mem, arena, &items[k].text, renamed, names, count, constant, error));
    }
    includes->items = items;
    for (size_t i = 0; i < count; i++)
        if (constant[i])
            macros[i] = renamed[i];
    return KILN_OK;
}
