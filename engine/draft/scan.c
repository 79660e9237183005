/* scan.c - splits a CUDA source into tokens, and finds its macros and kernels. Uses no compiler, and accepts any
 * text. */
#include <string.h>

#include "chars.h"
#include "draft.h"

/* Limits, because the source is untrusted text. MOST_HEAD limits the tokens between `__global__` and the parenthesis
 * after a name. WORDS_BEHIND is not a limit: see read_words(). */
enum { MOST_FOUND = 4096, MOST_DEPTH = 64, MOST_ANGLES = 4096, MOST_HEAD = 1024, WORDS_BEHIND = 4 };

/* ---- tokens ---- */

/* Returns true if a directive begins at the token `at`. */
static bool begins_directive(const kiln__word *words, size_t at)
{
    return words[at].kind == '#' && words[at].directive &&
           (!words[at - 1].directive || words[at - 1].line < words[at].line);
}

static bool is_word(const kiln__word *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->text, text, word->length) == 0;
}

/* Removes the tokens between `#if 0` and its #else, #elif or #endif, because no compiler sees them. Returns the number
 * of tokens that are left. Does not evaluate other conditions. */
static size_t drop_disabled(kiln__word *words, size_t count)
{
    size_t kept = 1, until = 1, depth = 0; /* `depth` is the number of conditions that are open inside `#if 0` */
    bool off = false;
    for (size_t i = 1; i < count; i++) {
        if (i + 1 < count && begins_directive(words, i)) {
            const kiln__word *name = &words[i + 1];
            const bool begins = is_word(name, "if") || is_word(name, "ifdef") || is_word(name, "ifndef");
            const bool ends = is_word(name, "endif"), turns = is_word(name, "else") || is_word(name, "elif");
            if (!off && is_word(name, "if") && i + 3 < count && is_word(&words[i + 2], "0") &&
                (!words[i + 3].directive || words[i + 3].line > words[i + 2].line)) {
                off = true;
                until = i + 3;
            } else if (off && begins) {
                depth++;
            } else if (off && depth > 0) {
                depth -= ends;
            } else if (off) {
                off = !ends && !turns;
            }
        }
        if (!off || i < until)
            words[kept++] = words[i];
    }
    return kept;
}

/* Splits a text into tokens. WORDS_BEHIND empty tokens follow the last token. Many functions look at the next tokens
 * without comparing with the number of tokens. */
static kiln_status read_words(kiln__scan *scan, const char *text, size_t length, kiln_error **error)
{
    kiln__word *words = kiln__words_read(scan->arena->mem, text, length, &scan->count);
    if (!words)
        return kiln__fail_memory(error);
    scan->count = drop_disabled(words, scan->count);
    scan->words = kiln__arena_alloc(scan->arena, (scan->count + WORDS_BEHIND) * sizeof *words);
    if (scan->words)
        memcpy(scan->words, words, scan->count * sizeof *words);
    for (size_t i = 0; scan->words && i < WORDS_BEHIND; i++)
        scan->words[scan->count + i] = (kiln__word){.kind = ' ', .text = ""};
    kiln__free(scan->arena->mem, words);
    return scan->words ? KILN_OK : kiln__fail_memory(error);
}

bool kiln__word_is(const kiln__scan *scan, size_t word, const char *text)
{
    return word < scan->count && scan->words[word].length == strlen(text) &&
           memcmp(scan->words[word].text, text, scan->words[word].length) == 0;
}

bool kiln__word_has(const kiln__scan *scan, size_t word, const char *text)
{
    const size_t length = strlen(text);
    for (size_t i = 0; word < scan->count && i + length <= scan->words[word].length; i++)
        if (kiln__same_word(text, scan->words[word].text + i, length))
            return true;
    return false;
}

char *kiln__word_copy(const kiln__scan *scan, size_t word)
{
    return kiln__arena_strndup(scan->arena, scan->words[word].text, scan->words[word].length);
}

static char kind(const kiln__scan *scan, size_t word) { return word < scan->count ? scan->words[word].kind : '\0'; }

size_t kiln__word_close(const kiln__scan *scan, size_t open)
{
    return open < scan->count ? scan->closes[open] : scan->count;
}

/* Finds the closing bracket of every bracket. A source may have a million brackets that are never closed, so the
 * function makes one pass with a stack for each kind of bracket. Each stack is a linked list through scan->closes. A
 * bracket that is never closed gets scan->count.
 *
 * Angle brackets are also operators. An angle bracket therefore counts as never closed if a ';' or a '{' comes before
 * its closing bracket, or if more than MOST_ANGLES tokens do. */
static bool match_brackets(kiln__scan *scan)
{
    static const char kinds[4][2] = {{'(', ')'}, {'[', ']'}, {'{', '}'}, {'<', '>'}};
    enum { ANGLE = 3 };
    const size_t none = scan->count;
    size_t open[] = {none, none, none, none}; /* the innermost open bracket of each kind */
    scan->closes = kiln__arena_alloc(scan->arena, (scan->count + 1) * sizeof *scan->closes);
    for (size_t i = 0; scan->closes && i < scan->count; i++) {
        const char c = kind(scan, i);
        scan->closes[i] = none;
        for (; (c == ';' || c == '{') && open[ANGLE] != none;) {
            const size_t at = open[ANGLE];
            open[ANGLE] = scan->closes[at];
            scan->closes[at] = none;
        }
        for (size_t k = 0; k < KILN__COUNT(kinds); k++) {
            const size_t at = open[k];
            if (c == kinds[k][0]) {
                scan->closes[i] = at;
                open[k] = i;
            } else if (c == kinds[k][1] && at != none) {
                open[k] = scan->closes[at];
                scan->closes[at] = k == ANGLE && i - at > MOST_ANGLES ? none : i;
            }
        }
    }
    for (size_t k = 0; scan->closes && k < KILN__COUNT(kinds); k++)
        for (size_t at = open[k], up; at != none; at = up) {
            up = scan->closes[at];
            scan->closes[at] = none;
        }
    return scan->closes != NULL;
}

bool kiln__words_have(const kiln__scan *scan, size_t from, size_t to, const char *text)
{
    for (size_t i = from; i < to; i++)
        if (!scan->words[i].directive && kiln__word_is(scan, i, text))
            return true;
    return false;
}

bool kiln__word_whole(const kiln__scan *scan, size_t word, int64_t *value)
{
    if (kind(scan, word) != '0' || scan->words[word].length > 12)
        return false;
    int64_t sum = 0;
    for (size_t i = 0; i < scan->words[word].length; i++) {
        char c = scan->words[word].text[i];
        if (i > 0 && strchr("uUlL", c))
            continue;
        if (!kiln__is_digit(c))
            return false;
        sum = 10 * sum + (c - '0');
    }
    *value = sum;
    return true;
}

/* ---- macros ---- */

const kiln__macro *kiln__macro_find(const kiln__scan *scan, const char *name)
{
    for (size_t i = 0; i < scan->macro_count; i++)
        if (strcmp(scan->macros[i].name, name) == 0)
            return &scan->macros[i];
    return NULL;
}

/* Returns the token after the directive that contains the token `from`. */
static size_t line_end(const kiln__scan *scan, size_t from)
{
    size_t end = from + 1;
    for (; end < scan->count && scan->words[end].directive; end++) {
        /* two '#' that paste tokens, as in a ## b */
        bool pastes = kind(scan, end - 1) == '#' || kind(scan, end + 1) == '#';
        if (kind(scan, end) == '#' && !pastes && scan->words[end].line > scan->words[end - 1].line)
            break;
    }
    return end;
}

static bool find_macros(kiln__scan *scan)
{
    scan->macros = kiln__arena_alloc(scan->arena, MOST_FOUND * sizeof *scan->macros);
    for (size_t i = 1; scan->macros && i + 2 < scan->count && scan->macro_count < MOST_FOUND; i++) {
        if (kind(scan, i) != '#' || !scan->words[i].directive || !kiln__word_is(scan, i + 1, "define"))
            continue;
        const char *after = scan->words[i + 2].text + scan->words[i + 2].length;
        kiln__macro *macro = &scan->macros[scan->macro_count];
        *macro = (kiln__macro){.name = kiln__word_copy(scan, i + 2), .from = i + 3, .to = line_end(scan, i)};
        if (!macro->name)
            return false;
        macro->function = kind(scan, i + 3) == '(' && scan->words[i + 3].text == after;
        macro->guarded = i > 3 && kiln__word_is(scan, i - 2, "ifndef") && kiln__word_is(scan, i - 1, macro->name);
        scan->macro_count++;
    }
    return scan->macros != NULL;
}

/* ---- conditions ---- */

/* Sets scan->inside to the branch of #if that contains each token. Branches beyond MOST_FOUND count as no branch. */
static bool find_branches(kiln__scan *scan)
{
    size_t open = 0, beyond = 0;
    scan->inside = kiln__arena_alloc(scan->arena, (scan->count + 1) * sizeof *scan->inside);
    scan->branches = kiln__arena_alloc(scan->arena, MOST_FOUND * sizeof *scan->branches);
    for (size_t i = 0; scan->inside && scan->branches && i < scan->count; i++) {
        scan->inside[i] = (uint16_t)open;
        if (i == 0 || i + 1 >= scan->count || !begins_directive(scan->words, i))
            continue;
        const bool tests = kiln__word_is(scan, i + 1, "if"), defined = kiln__word_is(scan, i + 1, "ifdef");
        const bool begins = tests || defined || kiln__word_is(scan, i + 1, "ifndef");
        const bool turns = kiln__word_is(scan, i + 1, "elif"), ends = kiln__word_is(scan, i + 1, "endif");
        if (begins && (beyond > 0 || scan->branch_count + 1 >= MOST_FOUND)) {
            beyond++;
        } else if (beyond > 0) {
            beyond -= ends;
        } else if (begins || ((turns || kiln__word_is(scan, i + 1, "else")) && open > 0)) {
            kiln__branch made = {.kind = turns || tests ? KILN__BRANCH_IF
                                         : defined      ? KILN__BRANCH_IFDEF
                                         : begins       ? KILN__BRANCH_IFNDEF
                                                        : KILN__BRANCH_ELSE,
                                 .from = i + 2,
                                 .to = line_end(scan, i),
                                 .up = begins ? open : scan->branches[open].up,
                                 .before = begins ? 0 : open};
            if (!begins && scan->branch_count + 1 >= MOST_FOUND) /* the rest of this #if has no known condition */
                continue;
            made.first = begins ? scan->branch_count + 1 : scan->branches[open].first;
            open = ++scan->branch_count;
            scan->branches[open] = made;
        } else if (ends && open > 0) {
            open = scan->branches[open].up;
        }
    }
    return scan->inside && scan->branches;
}

/* ---- kernels ---- */

typedef struct names { /* the namespaces that contain a token */
    size_t words[MOST_DEPTH], depths[MOST_DEPTH], count, depth;
} names;

/* Updates the list of namespaces at a brace that begins or ends a namespace. `namespace a::b {` begins two namespaces
 * that end together. */
static void follow_braces(const kiln__scan *scan, size_t at, names *around)
{
    if (kind(scan, at) == '{') {
        size_t first = at - 1;
        while (first > 4 && kind(scan, first) == 'w' && kind(scan, first - 1) == ':' && kind(scan, first - 2) == ':' &&
               kind(scan, first - 3) == 'w' && at - first < 3 * MOST_DEPTH)
            first -= 3;
        for (size_t i = first; first > 1 && kiln__word_is(scan, first - 1, "namespace") && i < at; i += 3) {
            if (around->count == MOST_DEPTH)
                break;
            around->words[around->count] = i;
            around->depths[around->count++] = around->depth;
        }
        around->depth++;
    } else if (kind(scan, at) == '}' && around->depth > 0) {
        around->depth--;
        while (around->count > 0 && around->depths[around->count - 1] == around->depth)
            around->count--;
    }
}

/* Reads the parameters of a template. `from` and `to` are the tokens between the angle brackets of `template <...>`.
 * Returns false if memory runs out. */
static bool read_templates(kiln__scan *scan, size_t from, size_t to, kiln__kernel *kernel)
{
    kernel->templates = kiln__arena_alloc(scan->arena, (to - from + 1) * sizeof *kernel->templates);
    if (!kernel->templates)
        return false;
    for (size_t i = from; i < to;) {
        kiln__template_param param = {.type = kiln__word_is(scan, i, "typename") || kiln__word_is(scan, i, "class"),
                                      .flag = kiln__word_is(scan, i, "bool")};
        size_t name = 0, depth = 0;
        bool named = false;
        for (; i < to && (depth > 0 || kind(scan, i) != ','); i++) {
            depth += kind(scan, i) == '<' || kind(scan, i) == '(';
            depth -= depth > 0 && (kind(scan, i) == '>' || kind(scan, i) == ')');
            if (kind(scan, i) == '=' && !param.initial)
                param.initial = i + 1;
            else if (kind(scan, i) == 'w' && !param.initial && !named)
                name = i;
            /* the name of a function pointer, as in float (*f)(float) */
            named |= name == i && kind(scan, i - 1) == '*' && kind(scan, i - 2) == '(';
        }
        i++;
        if (name) {
            param.name = kiln__word_copy(scan, name);
            kernel->templates[kernel->template_count++] = param;
        }
    }
    return !scan->arena->failed;
}

/* Reads the kernel whose __global__ is the token `at`. `angles` is the '<' that opens its template parameters, or 0.
 * Returns false if the kernel has no body or is not a function. */
static bool read_kernel(kiln__scan *scan, size_t at, const names *around, size_t angles, kiln__kernel *kernel)
{
    size_t open = at + 1;
    *kernel = (kiln__kernel){.line = scan->words[at].line};
    for (; open < scan->count && kind(scan, open) != '('; open++)
        if (kind(scan, open) == ';' || kind(scan, open) == '{' || open - at > MOST_HEAD)
            return false;
    if (kiln__word_is(scan, open - 1, "__launch_bounds__") || kiln__word_is(scan, open - 1, "__attribute__")) {
        if (kiln__word_is(scan, open - 1, "__launch_bounds__") && open + 2 < scan->count &&
            strchr(",)", kind(scan, open + 2)))
            kernel->bounds = open + 1;
        const size_t behind = kiln__word_close(scan, open);
        for (open = behind; open < scan->count && kind(scan, open) != '('; open++)
            if (kind(scan, open) == ';' || kind(scan, open) == '{' || open - behind > MOST_HEAD)
                return false;
    }
    size_t close = open < scan->count ? kiln__word_close(scan, open) : scan->count;
    if (close + 1 >= scan->count || kind(scan, open - 1) != 'w' || kind(scan, close + 1) != '{')
        return false;
    kernel->params_from = open + 1;
    kernel->params_to = close;
    kernel->body_from = close + 2;
    kernel->body_to = kiln__word_close(scan, close + 1);
    kernel->plain = kernel->name = kiln__word_copy(scan, open - 1);
    for (size_t i = around->count; i-- > 0 && kernel->name;)
        kernel->name = kiln__arena_printf(scan->arena, "%.*s::%s", (int)scan->words[around->words[i]].length,
                                          scan->words[around->words[i]].text, kernel->name);
    if (angles && !read_templates(scan, angles + 1, kiln__word_close(scan, angles), kernel))
        return false;
    return kernel->name != NULL;
}

static bool find_kernels(kiln__scan *scan)
{
    names around = {0};
    size_t angles = 0; /* the '<' of the template to which the next declaration belongs */
    scan->kernels = kiln__arena_alloc(scan->arena, MOST_FOUND * sizeof *scan->kernels);
    for (size_t i = 1; scan->kernels && i < scan->count && scan->kernel_count < MOST_FOUND; i++) {
        if (i == scan->own) { /* the next file begins outside of all namespaces */
            around = (names){0};
            angles = 0;
        }
        if (scan->words[i].directive)
            continue;
        follow_braces(scan, i, &around);
        if (kind(scan, i) == ';' || kind(scan, i) == '{' || kind(scan, i) == '}')
            angles = 0;
        if (kiln__word_is(scan, i, "template") && kind(scan, i + 1) == '<') {
            angles = i + 1;
            size_t close = kiln__word_close(scan, angles);
            if (close < scan->count)
                i = close;
        } else if (kiln__word_is(scan, i, "__global__") &&
                   read_kernel(scan, i, &around, angles, &scan->kernels[scan->kernel_count])) {
            scan->own_kernel_count += i < scan->own;
            scan->kernel_count++;
        }
    }
    return scan->kernels && !scan->arena->failed;
}

kiln_status kiln__scan_source(kiln__arena *arena, const char *text, size_t length, size_t own, kiln__scan *scan,
                              kiln_error **error)
{
    *scan = (kiln__scan){.arena = arena};
    KILN__TRY(read_words(scan, text, length, error));
    for (scan->own = scan->count; scan->own > 1 && scan->words[scan->own - 1].text >= text + own;)
        scan->own--;
    return match_brackets(scan) && find_macros(scan) && find_branches(scan) && find_kernels(scan)
               ? KILN_OK
               : kiln__fail_memory(error);
}

const char *kiln__kernel_place(const kiln__draft *draft)
{
    const kiln__kernel *kernel = draft->kernel;
    const char *place = kiln__arena_printf(draft->arena, "%s:%u", kernel->header ? kernel->header : draft->shown,
                                           kernel->line);
    return place ? place : draft->shown;
}
