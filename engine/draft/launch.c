/* launch.c - guesses grid and block from the uses of blockIdx, blockDim and threadIdx in a kernel.
 *
 * The guess for one axis: The kernel multiplies blockIdx by the number of elements that one block computes along this
 * axis (the block's tile). The kernel compares an index with the size of the axis (the upper bound of the index). The
 * grid is then the size divided by the tile, rounded up. */
#include <stdlib.h>
#include <string.h>

#include "draft.h"

/* Limits, because the source is untrusted text. MOST_STEPS limits the tokens that are read for one product, together
 * with the definitions that are followed. MOST_BACK limits the tokens before a comparison in which the compared
 * variable is searched. MOST_SUMS limits the sums that are followed for one axis. */
enum { MOST_FACTORS = 8, MOST_PLACES = 16, MOST_STEPS = 200, MOST_BACK = 256, MOST_SUMS = 32 };
static const char *const axis_names[] = {"x", "y", "z"};

typedef struct factors { /* the factors of a block's tile along one axis, such as blockDim.x * ITEMS */
    size_t count, steps;
    const char *texts[MOST_FACTORS]; /* the factors as texts; NULL stands for blockDim */
    int64_t values[MOST_FACTORS];
    bool blocky[MOST_FACTORS]; /* true if the factor is a tuning parameter whose name means a number of threads */
    bool lost;                 /* true if a factor of the product is not known */
} factors;

typedef struct limit { /* the upper bound with which an index is compared */
    const char *text;  /* a size or a product of sizes; NULL means that no upper bound was found */
    int64_t tiny;
    bool odd; /* true if the bound is a part of a larger expression */
} limit;

typedef struct place { /* an occurrence of blockIdx.x, or of a variable that holds it, as a range of tokens */
    size_t from, to;
} place;

static char kind_of_word(const kiln__draft *draft, size_t word)
{
    return word < draft->scan->count ? draft->scan->words[word].kind : '\0';
}

static bool is_one_of(const kiln__draft *draft, size_t word, const char *kinds)
{
    return kind_of_word(draft, word) != '\0' && strchr(kinds, kind_of_word(draft, word));
}

/* Returns true if the tokens at `at` are `object . x`, for the axis x, y or z. */
static bool is_member(const kiln__draft *draft, size_t at, const char *object, int axis)
{
    return kiln__word_is(draft->scan, at, object) && kind_of_word(draft, at + 1) == '.' &&
           kiln__word_is(draft->scan, at + 2, axis_names[axis]);
}

/* Returns true if the kernel uses `object`.x, for the axis x, y or z. If the kernel uses neither blockIdx nor
 * threadIdx, the function searches the whole file instead. */
static bool uses(const kiln__draft *draft, const char *object, int axis)
{
    const kiln__kernel *kernel = draft->kernel;
    bool here = kiln__words_have(draft->scan, kernel->body_from, kernel->body_to, "blockIdx") ||
                kiln__words_have(draft->scan, kernel->body_from, kernel->body_to, "threadIdx");
    for (size_t i = here ? kernel->body_from : 1; i < (here ? kernel->body_to : draft->scan->count); i++)
        if (is_member(draft, i, object, axis))
            return true;
    return false;
}

/* ---- factors ---- */

static void add_factor(factors *f, const char *text, int64_t value, bool blocky)
{
    if (f->count == MOST_FACTORS)
        return;
    f->texts[f->count] = text;
    f->values[f->count] = value;
    f->blocky[f->count++] = blocky;
}

/* Returns true if the name is part of a cast. Such a name is not a factor. */
static bool names_a_type(const char *name)
{
    static const char *const types[] = {"int",  "unsigned", "long",    "size_t",   "short",   "signed",
                                        "uint", "uint32_t", "int32_t", "uint64_t", "int64_t", "static_cast"};
    for (size_t i = 0; i < KILN__COUNT(types); i++)
        if (strcmp(name, types[i]) == 0)
            return true;
    return false;
}

/* Reads the tokens from..to as a product of names and numbers, and adds its factors to *f. `depth` is the number of
 * definitions that were followed. */
static void add_words(const kiln__draft *draft, size_t from, size_t to, int depth, factors *f)
{
    const kiln__scan *scan = draft->scan;
    for (size_t i = from; i < to; i++)
        if (!strchr("w0*().", kind_of_word(draft, i)) || i - from > MOST_STEPS) {
            f->lost = true;
            return;
        }
    for (size_t i = from; i < to; i++) {
        int64_t value;
        if (f->steps++ >= MOST_STEPS) {
            f->lost = true;
            return;
        }
        if (kiln__word_whole(scan, i, &value)) {
            add_factor(f, kiln__word_copy(scan, i), value, false);
            continue;
        }
        if (kind_of_word(draft, i) != 'w')
            continue;
        const char *name = kiln__word_copy(scan, i);
        const kiln__tunable *tunable = name ? kiln__tunable_find(draft, name) : NULL;
        const kiln__macro *macro = name ? kiln__macro_find(scan, name) : NULL;
        if (name && strcmp(name, "blockDim") == 0) {
            add_factor(f, NULL, 0, false);
            i += 2;
        } else if (tunable) {
            add_factor(f, tunable->name, tunable->number, kiln__name_is_block(name));
        } else if (macro && depth < 3) {
            add_words(draft, macro->from, macro->to, depth + 1, f);
        } else if (name && depth < 3) { /* follows a definition such as const int PER_BLOCK = BLOCK * ITEMS; */
            size_t d = 1;
            while (d + 1 < scan->count && !(kind_of_word(draft, d + 1) == '=' && kiln__word_is(scan, d, name)))
                d++;
            size_t end = d + 2;
            while (end < scan->count && kind_of_word(draft, end) != ';' && kind_of_word(draft, end) != ',')
                end++;
            if (d + 1 < scan->count)
                add_words(draft, d + 2, end, depth + 1, f);
            else
                f->lost |= !names_a_type(name);
        } else {
            f->lost = true;
        }
    }
}

/* Returns the token after the operand that begins at `at`. */
static size_t operand_end(const kiln__draft *draft, size_t at)
{
    if (kind_of_word(draft, at) == '(')
        return kiln__word_close(draft->scan, at) + 1;
    return kind_of_word(draft, at + 1) == '.' ? at + 3 : at + 1;
}

static void add_behind(const kiln__draft *draft, size_t at, factors *f)
{
    while (kind_of_word(draft, at) == '*') {
        size_t end = operand_end(draft, at + 1);
        if (end > draft->scan->count)
            return;
        add_words(draft, at + 1, end, 0, f);
        at = end;
    }
}

static void add_before(const kiln__draft *draft, size_t at, factors *f)
{
    while (at > 2 && kind_of_word(draft, at - 1) == '*' &&
           (kind_of_word(draft, at - 2) == 'w' || kind_of_word(draft, at - 2) == '0')) {
        size_t from = at - 2;
        if (from > 2 && kind_of_word(draft, from - 1) == '.')
            from -= 2;
        add_words(draft, from, at - 1, 0, f);
        at = from;
    }
}

/* Reads the factors by which the kernel multiplies blockIdx.x at an occurrence. */
static void read_factors(const kiln__draft *draft, place p, factors *f)
{
    *f = (factors){0};
    add_before(draft, p.from, f);
    add_behind(draft, p.to, f);
    /* the factor may be outside of parentheses: (blockIdx.x * blockDim.x + threadIdx.x) * ITEMS */
    size_t depth = 0, at = p.to;
    for (; at < draft->scan->count && kind_of_word(draft, at) != ';' && !(kind_of_word(draft, at) == ')' && depth == 0);
         at++)
        depth += kind_of_word(draft, at) == '(' ? 1 : kind_of_word(draft, at) == ')' ? (size_t)-1 : 0;
    if (kind_of_word(draft, at) == ')' && kind_of_word(draft, at + 1) == '*')
        add_behind(draft, at + 1, f);
}

/* Reads the number by which the kernel divides an index. Several threads then compute one element, as in `row =
 * (blockIdx.x * blockDim.x + threadIdx.x) / LANES`. The index may also be stored in `variable` before the division.
 * Returns the token of the variable that gets the quotient, or 0 if there is no division. */
static size_t read_divisor(const kiln__draft *draft, place p, size_t variable, factors *divisor)
{
    const kiln__kernel *kernel = draft->kernel;
    size_t depth = 0, at = p.to, set = 0;
    *divisor = (factors){0};
    for (; at < kernel->body_to && kind_of_word(draft, at) != ';' && !(kind_of_word(draft, at) == ')' && depth == 0);
         at++)
        depth += kind_of_word(draft, at) == '(' ? 1 : kind_of_word(draft, at) == ')' ? (size_t)-1 : 0;
    if (kind_of_word(draft, at) == ')' && kind_of_word(draft, at + 1) == '/')
        set = variable;
    const char *name = !set && variable ? kiln__word_copy(draft->scan, variable) : NULL;
    for (size_t i = kernel->body_from + 2; name && i + 2 < kernel->body_to && !set; i++)
        if (kind_of_word(draft, i + 1) == '/' && kind_of_word(draft, i - 1) == '=' &&
            kind_of_word(draft, i - 2) == 'w' && kiln__word_is(draft->scan, i, name)) {
            set = i - 2;
            at = i;
        }
    if (set)
        add_words(draft, at + 2, operand_end(draft, at + 2), 0, divisor);
    return set && divisor->count == 1 && !divisor->lost && divisor->texts[0] && divisor->values[0] > 0 ? set : 0;
}

/* ---- one axis ---- */

/* Returns true if a statement sets a variable to the blockIdx.x at `at`, and to nothing more. */
static bool is_alias(const kiln__draft *draft, size_t at)
{
    return at > 2 && kind_of_word(draft, at - 1) == '=' && kind_of_word(draft, at - 2) == 'w' &&
           is_one_of(draft, at + 3, ";,");
}

/* Finds the occurrences of blockIdx.x in the kernel, and of the variables that are set to it. */
static size_t find_places(const kiln__draft *draft, int axis, place *list)
{
    size_t count = 0;
    const kiln__kernel *kernel = draft->kernel;
    const kiln__scan *scan = draft->scan;
    for (size_t i = kernel->body_from; i < kernel->body_to && count < MOST_PLACES; i++) {
        if (!is_member(draft, i, "blockIdx", axis))
            continue;
        list[count++] = (place){i, i + 3};
        char *name = is_alias(draft, i) ? kiln__word_copy(scan, i - 2) : NULL;
        for (size_t k = i; name && k < kernel->body_to && count < MOST_PLACES; k++)
            if (kiln__word_is(scan, k, name))
                list[count++] = (place){k, k + 1};
    }
    return count;
}

/* Returns the token of the variable that the statement around `at` sets, or 0 if the statement sets no variable. */
static size_t set_by(const kiln__draft *draft, size_t at)
{
    for (size_t i = at; i > draft->kernel->body_from && !strchr(";{}", kind_of_word(draft, i)); i--)
        if (kind_of_word(draft, i) == '=' && kind_of_word(draft, i - 1) == 'w' && kind_of_word(draft, i + 1) != '=')
            return i - 1;
    return 0;
}

static const char *size_named(const kiln__draft *draft, size_t word)
{
    for (size_t i = 0; i < draft->size_count; i++)
        if (kiln__word_is(draft->scan, word, draft->sizes[i].name))
            return draft->sizes[i].name;
    return NULL;
}

static int64_t tiny_of(const kiln__draft *draft, const char *size)
{
    for (size_t i = 0; i < draft->size_count; i++)
        if (strcmp(draft->sizes[i].name, size) == 0)
            return draft->sizes[i].tiny;
    return 1;
}

/* For a member `p.width` of a kernel parameter p that is a structure, returns the token `width`. Otherwise returns
 * `at`. */
static size_t member_of(const kiln__draft *draft, size_t at)
{
    for (size_t i = 0; i < draft->argument_count && kind_of_word(draft, at + 1) == '.'; i++)
        if (draft->arguments[i].role == KILN__ROLE_STRUCT && kiln__word_is(draft->scan, at, draft->arguments[i].name))
            return at + 2;
    return at;
}

/* Reads the size at the token `at`, or the product of sizes that begins there. */
static limit read_limit(const kiln__draft *draft, size_t at)
{
    at = member_of(draft, at);
    limit found = {.text = size_named(draft, at), .tiny = 1};
    if (found.text)
        found.tiny = tiny_of(draft, found.text);
    const char *factor;
    for (int i = 0; i < MOST_FACTORS && found.text && kind_of_word(draft, at + 1) == '*' &&
                    (factor = size_named(draft, member_of(draft, at + 2))) != NULL && found.tiny < INT32_MAX &&
                    tiny_of(draft, factor) < INT32_MAX;
         i++) {
        found.text = kiln__arena_printf(draft->arena, "%s * %s", found.text, factor);
        found.tiny *= tiny_of(draft, factor);
        at = member_of(draft, at + 2);
    }
    found.odd = found.text && is_one_of(draft, at + 1, "*/%+-<>w0.([");
    return found;
}

/* Returns the upper bound with which the kernel compares `variable`, as in `if (i < n)`, `if (i >= w * h) return` or
 * `first + i * BLOCK < n`. If there is no such comparison, the text of the bound is NULL. */
static limit limit_of(const kiln__draft *draft, size_t variable)
{
    const char *name = kiln__word_copy(draft->scan, variable);
    for (size_t i = draft->kernel->body_from; name && i < draft->kernel->body_to; i++) {
        const bool equal = kind_of_word(draft, i + 1) == '=';
        size_t other = kind_of_word(draft, i) == '<'            ? i + 1 + equal
                       : kind_of_word(draft, i) == '>' && equal ? i + 2
                                                                : 0;
        limit found = other ? read_limit(draft, other) : (limit){0};
        for (size_t k = i; found.text && k-- > draft->kernel->body_from && i - k < MOST_BACK &&
                           !strchr("(;{}&|", kind_of_word(draft, k));)
            if (kiln__word_is(draft->scan, k, name))
                return found;
    }
    return (limit){0};
}

/* Returns the upper bound of a variable. If the kernel compares the variable itself with no size, looks at variables
 * that are sums of this variable, and returns the first upper bound that it finds. In `y0 = blockIdx.y * BY; y = y0 +
 * threadIdx.y; if (y < height)`, the upper bound of y0 is height. A sum that contains a size is an index of another
 * array, so it does not count.
 *
 * `depth` is the number of sums that were followed. *left is the number of variables that may still be searched,
 * because the source is untrusted text. */
static limit limit_of_sum(const kiln__draft *draft, size_t variable, int depth, int *left)
{
    enum { MOST_DEPTH = 3 };
    const kiln__kernel *kernel = draft->kernel;
    limit found = limit_of(draft, variable);
    const char *name = !found.text && depth < MOST_DEPTH ? kiln__word_copy(draft->scan, variable) : NULL;
    for (size_t i = kernel->body_from; name && i<kernel->body_to && * left> 0 && !found.text; i++) {
        if (!kiln__word_is(draft->scan, i, name) || !is_one_of(draft, i - 1, "=+") || !is_one_of(draft, i + 1, "+;,"))
            continue;
        const size_t set = set_by(draft, i);
        bool sum = set && !kiln__word_is(draft->scan, set, name);
        for (size_t k = set + 2; sum && k < kernel->body_to && !is_one_of(draft, k, ";,"); k++)
            sum = is_one_of(draft, k, "w0+*.()") && !size_named(draft, k);
        if (!sum)
            continue;
        --*left;
        found = limit_of_sum(draft, set, depth + 1, left);
    }
    return found;
}

/* Guesses the size of an axis from its name: x runs over columns, and y over rows. */
static const char *size_by_name(const kiln__draft *draft, int axis)
{
    static const char *const wanted[3][8] = {{"n", "width", "w", "cols", "columns", "nx", "size", "length"},
                                             {"m", "height", "h", "rows", "ny", "n", NULL, NULL},
                                             {"depth", "d", "nz", "k", NULL, NULL, NULL, NULL}};
    for (size_t w = 0; w < 8 && wanted[axis][w]; w++)
        for (size_t i = 0; i < draft->size_count; i++)
            if (kiln__same_word(draft->sizes[i].name, wanted[axis][w], SIZE_MAX))
                return draft->sizes[i].name;
    size_t number = axis == 0 ? draft->size_count - 1 : axis == 1 ? 0 : draft->size_count / 2;
    return draft->sizes[number].name;
}

const char *kiln__add_threads(kiln__draft *draft, int axis, bool flat, int64_t chosen)
{
    static const char *const values[3] = {"16, 32", "4, 8, 16", "1, 2"};
    static const int64_t numbers[3] = {16, 8, 1};
    static const char *const names[3] = {"THREADS_X", "THREADS_Y", "THREADS_Z"};
    const char *name = flat ? names[axis] : "THREADS", *list = flat ? values[axis] : "64, 128, 256, 512";
    int64_t number = chosen ? chosen : flat ? numbers[axis] : 256;
    if (draft->tunable_count == KILN__MOST_TUNABLES)
        return NULL;
    while (name && kiln__words_have(draft->scan, 1, draft->scan->count, name))
        name = kiln__arena_printf(draft->arena, "%s_", name);
    if (chosen && chosen % 2) /* half of an odd number of threads is not an integer */
        list = kiln__arena_printf(draft->arena, "%lld", (long long)chosen);
    else if (chosen == 32 && !flat) /* fewer threads leave a part of a warp idle */
        list = "32, 64";
    else if (chosen)
        list = kiln__arena_printf(draft->arena, 2 * chosen <= 1024 ? "%lld, %lld, %lld" : "%lld, %lld",
                                  (long long)chosen / 2, (long long)chosen, (long long)chosen * 2);
    const char *text = kiln__arena_printf(draft->arena, "%lld", (long long)number);
    if (!name || !list || !text)
        return NULL;
    draft->tunables[draft->tunable_count++] =
        (kiln__tunable){.kind = KILN__TUNABLE_THREADS, .name = name, .values = list, .chosen = text, .number = number};
    return name;
}

const char *kiln__add_blocks(kiln__draft *draft, int64_t chosen)
{
    const char *name = "BLOCKS";
    while (name && kiln__words_have(draft->scan, 1, draft->scan->count, name))
        name = kiln__arena_printf(draft->arena, "%s_", name);
    const char *text = kiln__arena_printf(draft->arena, "%lld", (long long)chosen);
    const char *list = kiln__arena_printf(draft->arena, "%lld, %s, %lld", (long long)chosen / 2, text,
                                          (long long)chosen * 2);
    if (!name || !list || draft->tunable_count == KILN__MOST_TUNABLES)
        return NULL;
    draft->tunables[draft->tunable_count++] = (kiln__tunable){
        .kind = KILN__TUNABLE_BLOCKS, .name = name, .values = list, .chosen = text, .number = chosen, .own = true};
    return name;
}

/* Returns a tuning parameter whose name means the number of threads along an axis, or NULL. */
static const kiln__tunable *tunable_of_axis(const kiln__draft *draft, int axis)
{
    const kiln__tunable *plain = NULL;
    for (size_t i = 0; i < draft->tunable_count; i++) {
        const kiln__tunable *tunable = &draft->tunables[i];
        if (!tunable->source || tunable->size || tunable->number == 0 || !kiln__name_is_block(tunable->source))
            continue;
        char last = (char)(tunable->source[strlen(tunable->source) - 1] | 0x20);
        if (last == "xyz"[axis])
            return tunable;
        if (!strchr("xyz", last) && !plain)
            plain = tunable;
    }
    return plain;
}

/* Finds the step of a loop in which the threads of a block walk over the block's tile: `for (j = 0; j < TILE; j +=
 * ROWS) ... threadIdx.y + j`. If there is no such loop, f->count is 0. */
static void read_stride(const kiln__draft *draft, int axis, factors *f)
{
    const kiln__kernel *kernel = draft->kernel;
    size_t tried = 0;
    *f = (factors){0};
    for (size_t i = kernel->body_from; i + 4 < kernel->body_to && f->count == 0 && tried < MOST_PLACES; i++) {
        if (!is_member(draft, i, "threadIdx", axis))
            continue;
        tried++;
        size_t other = kind_of_word(draft, i + 3) == '+' ? i + 4 : kind_of_word(draft, i - 1) == '+' ? i - 2 : 0;
        const char *name = other && kind_of_word(draft, other) == 'w' ? kiln__word_copy(draft->scan, other) : NULL;
        for (size_t k = kernel->body_from; name && k + 3 < kernel->body_to && f->count == 0; k++)
            if (kiln__word_is(draft->scan, k, name) && kind_of_word(draft, k + 1) == '+' &&
                kind_of_word(draft, k + 2) == '=')
                add_words(draft, k + 3, operand_end(draft, k + 3), 0, f);
    }
    if (f->count != 1 || !f->texts[0])
        *f = (factors){0};
}

/* Returns the tuning parameter that the token names, if its value is a number. Otherwise returns NULL. */
static const kiln__tunable *tunable_at(const kiln__draft *draft, size_t word)
{
    const char *name = kind_of_word(draft, word) == 'w' ? kiln__word_copy(draft->scan, word) : NULL;
    const kiln__tunable *tunable = name ? kiln__tunable_find(draft, name) : NULL;
    return tunable && !tunable->size && tunable->number > 0 ? tunable : NULL;
}

/* Finds the number in __launch_bounds__. A macro or a constant may name it. Returns false if the number is not
 * known. */
static bool find_bound(const kiln__draft *draft, int64_t *bound)
{
    const size_t word = draft->kernel->bounds;
    const char *name = kind_of_word(draft, word) == 'w' ? kiln__word_copy(draft->scan, word) : NULL;
    const kiln__macro *macro = name ? kiln__macro_find(draft->scan, name) : NULL;
    if (macro && macro->to == macro->from + 1)
        return kiln__word_whole(draft->scan, macro->from, bound);
    for (size_t i = 1; name && i + 2 < draft->scan->count; i++)
        if (kiln__word_is(draft->scan, i, name) && kind_of_word(draft, i + 1) == '=')
            return kiln__word_whole(draft->scan, i + 2, bound);
    return word && kiln__word_whole(draft->scan, word, bound);
}

/* The tokens of the kernel's variables that are set to threadIdx.x. */
typedef struct aliases {
    size_t words[MOST_PLACES], count;
} aliases;

static aliases find_aliases(const kiln__draft *draft, int axis)
{
    aliases found = {.count = 0};
    for (size_t i = draft->kernel->body_from; i + 4 < draft->kernel->body_to && found.count < MOST_PLACES; i++)
        if (kind_of_word(draft, i) == 'w' && kind_of_word(draft, i + 1) == '=' &&
            is_member(draft, i + 2, "threadIdx", axis) && is_one_of(draft, i + 5, ";,"))
            found.words[found.count++] = i;
    return found;
}

/* Returns the number of tokens of threadIdx.x, or of a variable that is set to it, at the token `at`. Returns 0 if
 * there is neither. */
static size_t thread_words(const kiln__draft *draft, size_t at, int axis, const aliases *known)
{
    const kiln__word *words = draft->scan->words;
    if (is_member(draft, at, "threadIdx", axis))
        return 3;
    for (size_t i = 0; i < known->count && kind_of_word(draft, at) == 'w'; i++)
        if (words[at].length == words[known->words[i]].length &&
            memcmp(words[at].text, words[known->words[i]].text, words[at].length) == 0)
            return 1;
    return 0;
}

/* Returns the tuning parameter that is the extent of the block along an axis, or NULL. The kernel shows the extent of x
 * where it numbers its threads: DIM_X * threadIdx.y + threadIdx.x. The extent of y is the tuning parameter with Y in
 * place of X. */
static const kiln__tunable *extent_in_index(const kiln__draft *draft, int axis)
{
    const kiln__tunable *x = NULL;
    const aliases xs = find_aliases(draft, 0), ys = find_aliases(draft, 1);
    for (size_t i = draft->kernel->body_from; i + 4 < draft->kernel->body_to && !x; i++) {
        size_t y = thread_words(draft, i, 1, &ys), name = y ? i + y + 1 : i;
        if (y ? kind_of_word(draft, i + y) != '*'
              : kind_of_word(draft, i + 1) != '*' || !(y = thread_words(draft, i + 2, 1, &ys)))
            continue;
        size_t plus = name > i ? name + 1 : i + 2 + y;
        if (kind_of_word(draft, plus) == '+' && thread_words(draft, plus + 1, 0, &xs))
            x = tunable_at(draft, name);
    }
    if (!x || axis == 0)
        return x;
    char other[128];
    size_t length = strlen(x->source ? x->source : "");
    if (axis > 1 || length == 0 || length >= sizeof other || (x->source[length - 1] | 0x20) != 'x')
        return NULL;
    memcpy(other, x->source, length + 1);
    other[length - 1]++;
    const kiln__tunable *found = kiln__tunable_find(draft, other);
    return found && !found->size && found->number > 0 ? found : NULL;
}

static void set_threads(kiln__draft *draft, int axis, bool flat, factors *f)
{
    kiln__axis *to = &draft->axes[axis];
    int64_t bound = 0;
    const kiln__tunable *tunable = NULL;
    size_t found = MOST_FACTORS;
    to->block = "1";
    to->threads = 1;
    if (!uses(draft, "threadIdx", axis) && !uses(draft, "blockDim", axis)) {
        /* functions of a header may use threadIdx, so the extent is not certain */
        if (!flat && find_bound(draft, &bound))
            to->block = kiln__arena_printf(draft->arena, "%lld", (long long)bound);
        to->threads = bound > 0 ? bound : 1;
        if (!flat && (tunable = tunable_at(draft, draft->kernel->bounds)) != NULL) {
            to->block = tunable->name;
            to->threads = tunable->number;
        }
        return;
    }
    /* chooses the factor whose name means a number of threads; if there is none, chooses the largest factor */
    for (size_t i = 0; i < f->count; i++)
        if (f->texts[i] && (found == MOST_FACTORS || (f->blocky[i] && !f->blocky[found]) ||
                            (f->blocky[i] == f->blocky[found] && f->values[i] > f->values[found])))
            found = i;
    factors stride;
    read_stride(draft, axis, &stride);
    bool dim = false;
    for (size_t i = 0; i < f->count; i++)
        dim |= !f->texts[i];
    const kiln__tunable *shown = flat && !dim ? extent_in_index(draft, axis) : NULL;
    if (shown) {
        to->block = shown->name;
        to->threads = shown->number;
    } else if (!dim && stride.count == 1) {
        to->block = stride.texts[0];
        to->threads = stride.values[0];
    } else if (dim || (found == MOST_FACTORS && uses(draft, "blockDim", axis))) {
        if (!flat && !find_bound(draft, &bound)) /* __launch_bounds__ may name the number of threads */
            bound = 0;
        tunable = flat ? NULL : tunable_at(draft, draft->kernel->bounds);
        tunable = tunable ? tunable : tunable_of_axis(draft, axis);
        to->block = tunable ? tunable->name : kiln__add_threads(draft, axis, flat, flat ? 0 : bound);
        to->threads = tunable ? tunable->number : to->block ? draft->tunables[draft->tunable_count - 1].number : 1;
    } else if (!flat && draft->kernel->bounds && (tunable = tunable_at(draft, draft->kernel->bounds)) != NULL) {
        to->block = tunable->name;
        to->threads = tunable->number;
    } else if (found < MOST_FACTORS) {
        to->block = f->texts[found];
        to->threads = f->values[found];
    } else if ((tunable = tunable_of_axis(draft, axis)) != NULL) {
        to->block = tunable->name;
        to->threads = tunable->number;
    } else {
        if (axis > 0 || !draft->kernel->bounds || !kiln__word_whole(draft->scan, draft->kernel->bounds, &bound))
            bound = flat ? 16 : 256;
        to->block = kiln__arena_printf(draft->arena, "%lld", (long long)bound);
        to->threads = bound;
    }
    if (!to->block) { /* the table of tuning parameters is full */
        to->block = flat ? "16" : "256";
        to->threads = flat ? 16 : 256;
    }
    for (size_t i = 0; i < f->count; i++)
        if (!f->texts[i]) {
            f->texts[i] = to->block;
            f->values[i] = to->threads;
        }
}

/* Returns true if the kernel divides blockIdx. Then one axis of the grid counts several things. */
static bool is_divided(const kiln__draft *draft, const place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_one_of(draft, places[i].to, "/%"))
            return true;
    return false;
}

/* Returns true if the source includes a file of the project. The functions in such a file are not read here. */
static bool has_headers(const kiln__draft *draft)
{
    const kiln__scan *scan = draft->scan;
    for (size_t i = 1; i + 1 < scan->count; i++)
        if (scan->words[i].directive && kiln__word_is(scan, i, "include") && kind_of_word(draft, i + 1) == '"')
            return true;
    return false;
}

/* Returns the size by which the kernel multiplies blockIdx: `x += blockIdx.x * cols`, or `x += blockIdx.x * 2 * cols`.
 * Returns NULL if there is no such size. */
static const char *row_length(const kiln__draft *draft, const place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t star = places[i].to;
        while (kind_of_word(draft, star) == '*' && kind_of_word(draft, star + 1) == '0' &&
               kind_of_word(draft, star + 2) == '*')
            star += 2;
        const char *behind = kind_of_word(draft, star) == '*' ? size_named(draft, member_of(draft, star + 1)) : NULL;
        const char *before = kind_of_word(draft, places[i].from - 1) == '*' ? size_named(draft, places[i].from - 2)
                                                                            : NULL;
        if (behind || before)
            return behind ? behind : before;
    }
    return NULL;
}

/* Finds out whether each block computes one row, and sets axes[0].rows. The grid then does not run over the length of a
 * row. It runs over the other size, or over a new size that the kernel does not need to know. */
static void find_rows(kiln__draft *draft)
{
    place places[MOST_PLACES];
    size_t count = find_places(draft, 0, places);
    const char *length = row_length(draft, places, count);
    int left = MOST_SUMS;
    for (size_t i = 0; i < count && length; i++) {
        size_t variable = set_by(draft, places[i].from);
        if (variable && limit_of_sum(draft, variable, 0, &left).text)
            length = NULL;
    }
    if (!length)
        return;
    if (draft->size_count == 1)
        draft->axes[0].rows = kiln__guess_another_size(draft, "ROWS");
    else if (draft->size_count == 2)
        draft->axes[0].rows = draft->sizes[strcmp(draft->sizes[0].name, length) == 0].name;
}

/* Returns the size with whose name the name of a tile factor ends. For BLK_M and BLOCK_M_VALUE this is the size M,
 * because _VALUE does not count. Returns NULL if no size fits. */
static const char *size_of_share(const kiln__draft *draft, const factors *f)
{
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = 0; k < draft->size_count && f->texts[i]; k++) {
            const char *size = draft->sizes[k].name, *end = strstr(f->texts[i], "_VALUE");
            size_t length = end ? (size_t)(end - f->texts[i]) : strlen(f->texts[i]), part = strlen(size);
            if (length > part + 1 && f->texts[i][length - part - 1] == '_' &&
                kiln__same_word(size, f->texts[i] + length - part, part))
                return size;
        }
    return NULL;
}

static void set_axis(kiln__draft *draft, int axis, bool flat)
{
    place places[MOST_PLACES];
    factors f = {0}, none = {0};
    kiln__axis *to = &draft->axes[axis];
    limit size = {0};
    factors divisor = {0};
    size_t count = find_places(draft, axis, places);
    int left = MOST_SUMS;
    for (size_t i = 0; i < count && f.count == 0; i++) {
        read_factors(draft, places[i], &f);
        size_t variable = f.count || !size.text ? set_by(draft, places[i].from) : 0;
        const size_t quotient = variable && f.count ? read_divisor(draft, places[i], variable, &divisor) : 0;
        limit found = variable ? limit_of_sum(draft, quotient ? quotient : variable, 0, &left) : (limit){0};
        if (!quotient || !found.text)
            divisor = (factors){0};
        size = found.text ? found : size;
        if (found.text && f.count == 0 && !f.lost && is_alias(draft, places[i].from))
            /* In y = blockIdx.y; if (y < height), the factor of y belongs to an array index. It is not a factor of the
             * tile. */
            break;
    }
    /* Each row has two arrays, so a literal number is not a factor of the tile. */
    for (size_t i = f.count; to->rows && i-- > 0;)
        if (f.texts[i] && *f.texts[i] >= '0' && *f.texts[i] <= '9') {
            f.texts[i] = f.texts[--f.count];
            f.values[i] = f.values[f.count];
            f.blocky[i] = f.blocky[f.count];
        }
    to->used = true;
    set_threads(draft, axis, flat, count ? &f : &none);
    to->grid = "1";
    to->blocks = 1;
    bool elsewhere = kiln__words_have(draft->scan, 1, draft->scan->count, "blockIdx") || has_headers(draft);
    if (count == 0 && elsewhere)
        to->doubt = "the kernel's own lines do not use blockIdx, but the functions that they call may use it";
    if (count == 0 && !uses(draft, "blockIdx", axis))
        return;
    if (count == 0) { /* functions other than the kernel use blockIdx */
        add_factor(&f, to->block, to->threads, true);
    }
    if (count && is_divided(draft, places, count))
        to->doubt = "blockIdx is divided";
    else if (count && !size.text && !to->rows)
        to->doubt = "the source compares no index with a size";
    else if (count && size.odd)
        to->doubt = "an index is compared with an expression, not with a size";
    else if (count && f.lost && !to->rows)
        to->doubt = "the factor of blockIdx is not known";
    if (!size.text) {
        const char *named = size_of_share(draft, &f);
        size.text = to->rows ? to->rows : named ? named : size_by_name(draft, axis);
        size.tiny = tiny_of(draft, size.text);
    }
    const char *share = NULL;
    int64_t product = 1;
    for (size_t i = 0; i < f.count; i++) {
        if (!f.texts[i])
            continue;
        share = share ? kiln__arena_printf(draft->arena, "%s * %s", share, f.texts[i]) : f.texts[i];
        if (f.values[i] > 0 && f.values[i] < INT32_MAX && product < INT32_MAX) /* the product must not overflow */
            product *= f.values[i];
    }
    if (divisor.count && size.tiny < INT32_MAX && divisor.values[0] < INT32_MAX) {
        size.text = kiln__arena_printf(draft->arena, "%s * %s", size.text, divisor.texts[0]);
        size.tiny *= divisor.values[0];
    }
    to->grid = share ? kiln__arena_printf(draft->arena, "ceil_div(%s, %s)", size.text, share) : size.text;
    to->blocks = (size.tiny + product - 1) / product;
}

void kiln__guess_launch(kiln__draft *draft)
{
    int most = 0;
    find_rows(draft);
    for (int axis = 1; axis < 3; axis++)
        if (uses(draft, "blockIdx", axis) || uses(draft, "threadIdx", axis) || uses(draft, "blockDim", axis))
            most = axis;
    for (int axis = 0; axis <= most; axis++)
        set_axis(draft, axis, most > 0);
}

/* ---- a block that the device allows ---- */

/* Chooses the largest listed value of a tuning parameter with which the block has at most `most` threads. */
static bool lower_tunable(kiln__draft *draft, kiln__axis *axis, int64_t threads, int64_t most)
{
    for (size_t i = 0; i < draft->tunable_count; i++) {
        kiln__tunable *tunable = &draft->tunables[i];
        int64_t best = 0;
        if (tunable->size || strcmp(axis->block, tunable->name) != 0)
            continue;
        for (const char *at = tunable->values; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
            int64_t value = strtoll(at, NULL, 10);
            if (value > best && value < axis->threads && threads / axis->threads * value <= most)
                best = value;
        }
        if (best == 0)
            return false;
        tunable->number = axis->threads = best;
        tunable->chosen = kiln__arena_printf(draft->arena, "%lld", (long long)best);
        return tunable->chosen != NULL;
    }
    return false;
}

void kiln__fit_block(kiln__draft *draft)
{
    int64_t bound = 0, most = 1024;
    if (draft->kernel->bounds && find_bound(draft, &bound) && bound > 0 && bound < most)
        most = bound;
    for (int round = 0; round < 3; round++) {
        int64_t threads = 1;
        int largest = 0;
        for (int axis = 0; axis < 3 && draft->axes[axis].used; axis++) {
            threads *= draft->axes[axis].threads;
            largest = draft->axes[axis].threads > draft->axes[largest].threads ? axis : largest;
        }
        if (threads <= most)
            return;
        if (!lower_tunable(draft, &draft->axes[largest], threads, most)) {
            draft->axes[0].doubt = "the block has more threads than are allowed";
            return;
        }
    }
}
