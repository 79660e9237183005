/* structs.c - finds the fields of kernel parameters that are structures, in the tokens of the source. */
#include <string.h>

#include "draft.h"

static char kind_of_word(const kiln__draft *draft, size_t word)
{
    return word < draft->scan->count ? draft->scan->words[word].kind : '\0';
}

static bool same_word(const kiln__draft *draft, size_t a, size_t b)
{
    const kiln__word *words = draft->scan->words;
    return a < draft->scan->count && b < draft->scan->count && words[a].kind == 'w' &&
           words[a].length == words[b].length && memcmp(words[a].text, words[b].text, words[a].length) == 0;
}

/* Returns the opening brace of the definition of the structure with this name. `name` is a token. Returns 0 if the
 * source has no such definition. */
static size_t find_definition(const kiln__draft *draft, size_t name)
{
    const kiln__scan *scan = draft->scan;
    for (size_t i = 1; i + 2 < scan->count; i++) {
        if (!kiln__word_is(scan, i, "struct") || scan->words[i].directive)
            continue;
        size_t at = i + 1;
        /* skips an attribute such as __align__(16) */
        if (kind_of_word(draft, at) == 'w' && kind_of_word(draft, at + 1) == '(')
            at = kiln__word_close(scan, at + 1) + 1;
        bool tagged = kind_of_word(draft, at) == 'w';
        size_t open = tagged ? at + 1 : at;
        if (kind_of_word(draft, open) != '{')
            continue;
        size_t close = kiln__word_close(scan, open);
        if ((tagged && same_word(draft, at, name)) ||
            (kiln__word_is(scan, i - 1, "typedef") && same_word(draft, close + 1, name)))
            return open;
    }
    return 0;
}

/* Skips a member function of a structure. `at` is its opening parenthesis. Returns the first token after the
 * function. */
static size_t skip_function(const kiln__draft *draft, size_t at, size_t end)
{
    at = kiln__word_close(draft->scan, at);
    while (at < end && kind_of_word(draft, at) != ';' && kind_of_word(draft, at) != '{')
        at++;
    return kind_of_word(draft, at) == '{' ? kiln__word_close(draft->scan, at) + 1 : at + 1;
}

/* Reads the extents after the name of a field, such as [4][SIZE]. Returns their product, or 0 if an extent is not
 * known. */
static uint64_t read_extents(const kiln__draft *draft, size_t at)
{
    uint64_t count = 1;
    for (; kind_of_word(draft, at) == '['; at += 3) {
        int64_t value = 0;
        char *name = kind_of_word(draft, at + 1) == 'w' ? kiln__word_copy(draft->scan, at + 1) : NULL;
        const kiln__macro *macro = name ? kiln__macro_find(draft->scan, name) : NULL;
        const kiln__tunable *tunable = name ? kiln__tunable_find(draft, name) : NULL;
        bool known = kiln__word_whole(draft->scan, macro && !tunable ? macro->from : at + 1, &value);
        if (tunable || !known || value < 1 || value > 64 || count > 64 || kind_of_word(draft, at + 2) != ']')
            /* The extent is not a fixed number from 1 to 64: a tuning parameter may change it, or it cannot be read. */
            return 0;
        count *= (uint64_t)value;
    }
    return count;
}

/* Reads the declaration of fields from..to, such as `const float *x, scale[2]`. The semicolon does not belong to the
 * range. Returns false if a spec cannot have one of the fields. */
static bool read_declaration(kiln__draft *draft, size_t from, size_t to, size_t parent)
{
    size_t type_end = 0;
    for (size_t at = from; at < to;) {
        size_t name = 0, stars = 0, end = at;
        for (; end < to && kind_of_word(draft, end) != ','; end++) {
            if (kind_of_word(draft, end) == ':' || kind_of_word(draft, end) == '<')
                /* the declaration is a bit field, or has a type of a namespace or a template */
                return false;
            if (kind_of_word(draft, end) == '=') { /* skips the initial value of a field */
                while (end < to && kind_of_word(draft, end) != ',')
                    end++;
                break;
            }
            if (kind_of_word(draft, end) == '[') {
                end = kiln__word_close(draft->scan, end);
                continue;
            }
            if (kind_of_word(draft, end) == '*') {
                type_end = type_end ? type_end : end;
                stars++;
            }
            if (kind_of_word(draft, end) == 'w' && !kiln__word_is(draft->scan, end, "__restrict__") &&
                !kiln__word_is(draft->scan, end, "const"))
                name = end;
        }
        type_end = type_end ? type_end : name;
        uint64_t count = name ? read_extents(draft, name + 1) : 0;
        if (!name || type_end <= from || count == 0 || (stars && count > 1) ||
            !kiln__guess_field(draft, from, type_end, name, stars, count, parent))
            return false;
        at = end + 1;
    }
    return true;
}

static bool read_fields(kiln__draft *draft, size_t open, size_t parent)
{
    static const char *const without[] = {"static", "constexpr", "using", "typedef", "friend"};
    const kiln__scan *scan = draft->scan;
    size_t close = kiln__word_close(scan, open);
    for (size_t at = open + 1; at < close;) {
        bool function = false, counts = true;
        size_t end = at;
        /* skips an access label, such as public: */
        if (kind_of_word(draft, at + 1) == ':' && kind_of_word(draft, at + 2) != ':') {
            at += 2;
            continue;
        }
        for (; end < close && kind_of_word(draft, end) != ';' && !function; end += !function) {
            function = kind_of_word(draft, end) == '(';
            if (kind_of_word(draft, end) == '{' || scan->words[end].directive || kiln__word_is(scan, end, "template"))
                return false;
        }
        for (size_t i = 0; i < KILN__COUNT(without); i++)
            counts &= !kiln__word_is(scan, at, without[i]);
        if (function)
            end = skip_function(draft, end, close) - 1;
        else if (end > at && counts && !read_declaration(draft, at, end, parent))
            return false;
        at = end + 1;
    }
    return draft->argument_count > 0;
}

/* Computes the layout of the fields as a C compiler does, and compares the total size with the compiler's size of the
 * kernel parameter. If the sizes differ, a field has another type than its tokens suggest, and the function returns
 * false. */
static bool has_size(const kiln__draft *draft, size_t first, uint64_t bytes)
{
    uint64_t at = 0, most = 1;
    for (size_t i = first; i < draft->argument_count; i++) {
        const kiln__draft_argument *field = &draft->arguments[i];
        bool pointer = field->role == KILN__ROLE_BUFFER;
        kiln_type type;
        if (!pointer && (!field->type || !kiln__type_named(field->type, &type)))
            return false;
        uint64_t width = pointer ? 8 : (uint64_t)kiln__types[type].bytes, lanes = (uint64_t)field->lanes;
        uint64_t align = pointer || lanes == 1 || lanes == 3 ? width : lanes * width < 16 ? lanes * width : 16;
        at = (at + align - 1) / align * align + (pointer ? width : width * lanes * field->count);
        most = align > most ? align : most;
    }
    return (at + most - 1) / most * most == bytes;
}

void kiln__guess_structs(kiln__draft *draft)
{
    enum { MOST_WORDS = 64 }; /* the most tokens in the declaration of a kernel parameter */
    size_t whole = draft->argument_count;
    for (size_t i = 0; i < whole; i++) {
        kiln__draft_argument *argument = &draft->arguments[i];
        size_t first = draft->argument_count, open = 0;
        /* skips a CUDA vector or a half: it has a type, and the spec writes it as a structure with one field */
        if (argument->role != KILN__ROLE_STRUCT || argument->type)
            continue;
        for (size_t w = argument->from; w < argument->to && w - argument->from < MOST_WORDS && !open; w++)
            open = kind_of_word(draft, w) == 'w' ? find_definition(draft, w) : 0;
        if (open && read_fields(draft, open, i + 1) && draft->argument_count > first &&
            has_size(draft, first, argument->bytes))
            continue;
        draft->argument_count = first;
        argument->role = KILN__ROLE_BYTES;
    }
}
