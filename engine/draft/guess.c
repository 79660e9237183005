/* guess.c - guesses the tuning parameters of a source, the roles of the kernel's arguments, and the sizes, from the
 * tokens of the source. */
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "host_internal.h"

enum { MOST_LOOKED = 2000 }; /* the most names that are looked up in the whole text, because the source is untrusted */

/* ---- names ---- */

static void lower(const char *name, char *out, size_t room)
{
    size_t i = 0;
    for (; name[i] && i + 1 < room; i++)
        out[i] = kiln__lower(name[i]);
    out[i] = '\0';
}

static bool has_one_of(const char *name, const char *const *parts, size_t count)
{
    char small[128];
    lower(name, small, sizeof small);
    for (size_t i = 0; i < count; i++)
        if (strstr(small, parts[i]))
            return true;
    return false;
}
/* Returns true if the name contains one of the texts, in small or capital letters. */
#define HAS(name, ...)                                                                                                 \
    has_one_of(name, (const char *const[]){__VA_ARGS__}, KILN__COUNT(((const char *const[]){__VA_ARGS__})))

bool kiln__name_is_block(const char *name)
{
    return HAS(name, "block", "thread", "tile", "group", "tpb", "dim", "local_size") &&
           !HAS(name, "per_thread", "perthread");
}

static bool is_size_name(const char *name)
{
    static const char *const whole[] = {"n",     "m",      "k",       "l",      "w",     "h",      "d",
                                        "nx",    "ny",     "nz",      "rows",   "cols",  "width",  "size",
                                        "count", "len",    "dim",     "height", "depth", "length", "total",
                                        "pitch", "stride", "columns", "lda",    "ldb",   "ldc"};
    char small[128];
    lower(name, small, sizeof small);
    for (size_t i = 0; i < KILN__COUNT(whole); i++)
        if (strcmp(small, whole[i]) == 0)
            return true;
    return !kiln__name_is_block(name) &&
           (strncmp(small, "num", 3) == 0 || strncmp(small, "n_", 2) == 0 ||
            HAS(name, "size", "count", "length", "width", "height", "elements", "problem", "rows", "cols"));
}

bool kiln__is_offsets(const kiln__draft_argument *argument)
{
    return argument->role == KILN__ROLE_BUFFER && !argument->floating && argument->type && argument->type[0] != 'f' &&
           HAS(argument->name, "offset", "indptr", "row_ptr", "rowptr", "cu_seqlen", "ranges");
}

const char *kiln__guess_scalar(const char *name)
{
    return HAS(name, "eps") ? "0.00001" : HAS(name, "threshold", "prob", "ratio", "dropout", "decay") ? "0.5" : "1.5";
}

const kiln__tunable *kiln__tunable_find(const kiln__draft *draft, const char *source)
{
    for (size_t i = 0; i < draft->tunable_count; i++)
        if (draft->tunables[i].source && strcmp(draft->tunables[i].source, source) == 0)
            return &draft->tunables[i];
    return NULL;
}

static bool is_taken(const kiln__draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->tunable_count; i++)
        if (strcmp(draft->tunables[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < draft->argument_count; i++)
        if (draft->arguments[i].name && strcmp(draft->arguments[i].name, name) == 0)
            return true;
    return kiln__name_reserved(name);
}

/* Returns a name that the spec does not use yet: the name itself, or the name with a suffix. */
static const char *free_name(const kiln__draft *draft, const char *name)
{
    const char *tried = name;
    for (int i = 0; i < 100 && tried && is_taken(draft, tried); i++)
        tried = kiln__arena_printf(draft->arena, i ? "%s_%d" : "%s_", name, i + 1);
    return tried ? tried : name;
}

/* ---- tuning parameters ---- */

/* Returns true if the source calculates with a name, or has an array of this length: `n / TILE`, `x[TILE]`. */
static bool is_number(const kiln__scan *scan, const char *name)
{
    for (size_t i = 1; i + 1 < scan->count; i++)
        if (!scan->words[i].directive && kiln__word_is(scan, i, name) &&
            scan->words[i + 1].kind != '(' && /* the name is a macro with arguments, as in `2 * REAL(x)` */
            (strchr("*/%+[", scan->words[i - 1].kind) || strchr("/%+]", scan->words[i + 1].kind)))
            return true;
    return false;
}

/* Returns true if the source uses a name as a type: `REAL x`, `const REAL *x`. `(A * B)` may be a use as a type or as a
 * number. */
static bool is_type(const kiln__scan *scan, const char *name)
{
    if (is_number(scan, name))
        return false;
    for (size_t i = 1; i + 2 < scan->count; i++) {
        if (scan->words[i].directive || !kiln__word_is(scan, i, name))
            continue;
        const kiln__word *after = &scan->words[i + 1];
        bool pointer = after->kind == '*' && scan->words[i + 2].kind == 'w' &&
                       (scan->words[i - 1].kind == '(' || scan->words[i - 1].kind == ',' ||
                        kiln__word_is(scan, i - 1, "const"));
        if (pointer || (after->kind == 'w' && !after->directive))
            return true;
    }
    return false;
}

static bool is_tested(const kiln__scan *scan, const char *name) /* returns true if #if or #elif tests the name */
{
    bool tests = false;
    for (size_t i = 1; i < scan->count; i++) {
        if (scan->words[i - 1].kind == '#' && scan->words[i].directive)
            tests = kiln__word_is(scan, i, "if") || kiln__word_is(scan, i, "elif");
        if (!scan->words[i].directive)
            tests = false;
        if (tests && kiln__word_is(scan, i, name))
            return true;
    }
    return false;
}

/* Returns the integers with which #if compares a name, such as "1, 2, 4". The source has code for each of these values.
 * Returns NULL if there are no such integers, or only 0 and 1. */
static const char *compared_with(const kiln__draft *draft, const char *name)
{
    const kiln__scan *scan = draft->scan;
    int64_t found[16], value;
    size_t count = 0;
    bool more = false;
    for (size_t i = 1; i + 3 < scan->count && count < KILN__COUNT(found); i++) {
        if (!scan->words[i].directive || !kiln__word_is(scan, i, name) || scan->words[i + 1].kind != '=' ||
            scan->words[i + 2].kind != '=' || !kiln__word_whole(scan, i + 3, &value))
            continue;
        size_t at = 0;
        while (at < count && found[at] < value)
            at++;
        if (at < count && found[at] == value)
            continue;
        memmove(found + at + 1, found + at, (count++ - at) * sizeof *found);
        found[at] = value;
        more |= value > 1;
    }
    const char *list = NULL;
    for (size_t i = 0; i < count && more; i++)
        list = kiln__arena_printf(draft->arena, "%s%s%lld", list ? list : "", list ? ", " : "", (long long)found[i]);
    return list;
}

static bool in_list(const char *list, int64_t value)
{
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strtoll(at, NULL, 10) == value)
            return true;
    return false;
}

/* Returns true if the name looks like a size of the problem, and not like the work of a block or a thread. */
static bool is_problem_size(const kiln__draft *draft, const char *name)
{
    return is_size_name(name) && !is_tested(draft->scan, name) && !HAS(name, "local", "vec", "chunk", "warp");
}

static bool uses_axis(const kiln__draft *draft, const char *axis)
{
    const kiln__scan *scan = draft->scan;
    for (size_t i = draft->kernel->body_from; i + 2 < draft->kernel->body_to; i++)
        if (kiln__word_is(scan, i, "threadIdx") && kiln__word_is(scan, i + 2, axis))
            return true;
    return false;
}

/* Chooses the values of a tuning parameter and its default. The first of these properties of its name decides:
 *
 * - #if compares the name with integers, which become the values.
 * - The source uses the name as a type.
 * - #if tests the name as a switch, or the name looks like one (`use_`).
 * - The name looks like a number of items per thread.
 * - The name looks like a number of threads or like a tile.
 *
 * If the name has none of these properties, the tuning parameter gets the value 2 and is marked as unknown, so that the
 * user must give its values. */
static void set_values(const kiln__draft *draft, kiln__tunable *tunable)
{
    const char *name = tunable->source, *compared = compared_with(draft, name);
    tunable->number = 1;
    if (compared) {
        const char *least = kiln__arena_strndup(draft->arena, compared, strcspn(compared, ","));
        tunable->values = compared;
        tunable->chosen = least ? least : compared;
        tunable->number = strtoll(compared, NULL, 10);
        tunable->why = "the values for which #if has code";
    } else if (is_type(draft->scan, name)) {
        tunable->values = tunable->chosen = "float";
        tunable->number = 0;
        tunable->why = "a type: float, double, half";
    } else if (HAS(name, "use_", "enable", "with_") ||
               (is_tested(draft->scan, name) && !is_number(draft->scan, name))) {
        tunable->values = "0, 1";
        tunable->chosen = "0";
        tunable->number = 0;
        tunable->why = "off or on";
    } else if (HAS(name, "unroll", "items", "per_thread", "perthread", "coarse", "vec", "ept") ||
               (HAS(name, "work") && !kiln__name_is_block(name))) {
        tunable->values = "1, 2, 4";
        tunable->chosen = "1";
    } else if (kiln__name_is_block(name)) {
        bool flat = uses_axis(draft, "y") || HAS(name, "tile");
        tunable->values = flat ? "8, 16, 32" : "64, 128, 256, 512";
        tunable->chosen = flat ? "16" : "256";
        tunable->number = flat ? 16 : 256;
    } else {
        tunable->values = tunable->chosen = "2";
        tunable->number = 2;
        tunable->unknown = true;
    }
}

static kiln__tunable *add_tunable(kiln__draft *draft, kiln__tunable_kind kind, const char *source)
{
    /* the options already define this macro with a fixed value */
    for (size_t i = 0; draft->options && i < draft->options->define_count; i++)
        if (strcmp(draft->options->defines[i].name, source) == 0)
            return NULL;
    if (draft->tunable_count == KILN__MOST_TUNABLES)
        return NULL;
    kiln__tunable *tunable = &draft->tunables[draft->tunable_count];
    *tunable = (kiln__tunable){.kind = kind, .source = source, .name = source};
    return tunable;
}

/* Returns true if the '>' at the token `at` ends a type such as std::vector<int *>. */
static bool ends_type(const kiln__scan *scan, size_t at)
{
    enum { MOST_BACK = 64 };
    size_t depth = 0;
    for (size_t i = at; i > 1 && at - i < MOST_BACK && strchr("w0:,<>*&", scan->words[i].kind); i--) {
        depth += scan->words[i].kind == '>';
        if (scan->words[i].kind == '<' && --depth == 0)
            return scan->words[i - 1].kind == 'w';
    }
    return false;
}

/* Returns true if the source declares a variable, a parameter or a type of this name. */
static bool is_declared(const kiln__scan *scan, const char *name)
{
    static const char *const no_types[] = {"return", "else", "case", "goto", "new", "delete", "unroll", "operator"};
    for (size_t k = 0; k < scan->kernel_count; k++) /* the parameters of kernels count, whatever their type */
        for (size_t i = scan->kernels[k].params_from; i < scan->kernels[k].params_to; i++)
            if (kiln__word_is(scan, i, name) && strchr(",)=", scan->words[i + 1].kind))
                return true;
    for (size_t i = 2; i + 1 < scan->count; i++) {
        char before = scan->words[i - 1].kind;
        if (scan->words[i].directive || !kiln__word_is(scan, i, name) || !strchr(",;=)[(:{", scan->words[i + 1].kind))
            continue;
        bool pointer = (before == '*' || before == '&') && scan->words[i - 2].kind == 'w' &&
                       strchr(",;=)", scan->words[i + 1].kind) && kiln__word_is(scan, i - 3, "const");
        pointer |= (before == '*' || before == '&') && scan->words[i - 2].kind == 'w' &&
                   /* a definition such as vec3 *p = ... */
                   scan->words[i + 1].kind == '=' && scan->words[i + 2].kind != '=';
        bool typed = (before == 'w' && !scan->words[i - 1].directive) ||
                     (before == '>' && strchr(";={", scan->words[i + 1].kind) && ends_type(scan, i - 1));
        for (size_t k = 0; k < KILN__COUNT(no_types); k++)
            typed &= !kiln__word_is(scan, i - 1, no_types[k]);
        /* a definition such as typedef struct { ... } name; */
        typed |= before == '}' && scan->words[i + 1].kind == ';';
        if (typed || pointer || kiln__word_is(scan, i - 1, "using"))
            return true;
    }
    return false;
}

void kiln__guess_tunable(kiln__draft *draft, const char *name)
{
    const bool more = draft->tunable_count < KILN__MOST_TUNABLES && draft->looked++ < MOST_LOOKED;
    kiln__tunable *tunable = !more || kiln__tunable_find(draft, name) || is_declared(draft->scan, name)
                                 ? NULL
                                 : add_tunable(draft, KILN__TUNABLE_MACRO, name);
    if (!tunable)
        return;
    tunable->size = !is_type(draft->scan, name) && is_problem_size(draft, name);
    if (tunable->size)
        tunable->number = 64;
    else
        set_values(draft, tunable);
    draft->tunable_count++;
}

/* Sets the values of a tuning parameter around `value`. If #if compares the name with several integers, and `value` is
 * one of them, the values are these integers. If `value` is at most 1 and #if tests the name, the values are 0 and 1.
 * If `value` is a power of two, the values are half of it, `value`, and twice `value`. Otherwise the list has only
 * `value`. */
static void set_around(const kiln__draft *draft, kiln__tunable *tunable, int64_t value)
{
    int64_t most = kiln__name_is_block(tunable->source) ? 1024 : INT64_C(1) << 30;
    tunable->number = value;
    tunable->chosen = kiln__arena_printf(draft->arena, "%lld", (long long)value);
    const char *compared = compared_with(draft, tunable->source);
    if (compared && strchr(compared, ',') &&
        /* if #if compares the name with only one integer, the #else branch has code for all other values */
        in_list(compared, value)) {
        tunable->values = compared;
    } else if (value <= 1 && is_tested(draft->scan, tunable->source) && !is_number(draft->scan, tunable->source)) {
        tunable->values = "0, 1";
    } else if (value > 0 && (value & (value - 1)) == 0 && value <= most) {
        const char *less = value > 1 ? kiln__arena_printf(draft->arena, "%lld, ", (long long)value / 2) : "";
        const char *more = 2 * value <= most ? kiln__arena_printf(draft->arena, ", %lld", (long long)value * 2) : "";
        tunable->values = kiln__arena_printf(draft->arena, "%s%lld%s", less, (long long)value, more);
    } else {
        tunable->values = tunable->chosen;
        tunable->why = "check: the value in the source; add other values to try";
    }
}

bool kiln__is_enumerator(const kiln__draft *draft, const char *name)
{
    const kiln__scan *scan = draft->scan;
    for (size_t i = 1; i + 2 < scan->count; i++) {
        if (!kiln__word_is(scan, i, "enum") || scan->words[i].directive)
            continue;
        size_t open = i + 1;
        while (open < i + 8 && open < scan->count && scan->words[open].kind != '{' && scan->words[open].kind != ';')
            open++;
        const size_t close = open < scan->count && scan->words[open].kind == '{' ? kiln__word_close(scan, open) : 0;
        for (size_t k = open + 1; k < close; k++)
            if (kiln__word_is(scan, k, name) && strchr("{,", scan->words[k - 1].kind))
                return true;
        i = close ? close : i;
    }
    return false;
}

static const kiln__template_param *template_param(const kiln__draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->kernel->template_count; i++)
        if (strcmp(draft->kernel->templates[i].name, name) == 0)
            return &draft->kernel->templates[i];
    return NULL;
}

/* Returns a name for the tuning parameter that stands for a template parameter. A tuning parameter with the same name
 * would become a macro, and replace the template parameter in the source. */
const char *kiln__template_name(const kiln__draft *draft, const char *name)
{
    const char *made = kiln__arena_printf(draft->arena, "%s_VALUE", name);
    if (made && kiln__words_have(draft->scan, 1, draft->scan->count, made))
        made = kiln__arena_printf(draft->arena, "%s_VALUE_OF_TEMPLATE", name);
    return made ? made : name;
}

static const char *value_text(const kiln__draft *draft, kiln_value value)
{
    kiln__text text = {.mem = draft->mem};
    kiln__value_print(&text, value);
    const char *kept = kiln__arena_strdup(draft->arena, kiln__text_get(&text));
    kiln__text_free(&text);
    return kept;
}

void kiln__take_values(kiln__draft *draft, const kiln_setting *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t same = 0, number = 0; /* `same` is the number of values for this name; the middle value is the default */
        if (kiln__tunable_find(draft, values[i].name))
            continue;
        kiln__tunable *tunable = add_tunable(draft, KILN__TUNABLE_MACRO,
                                             kiln__arena_strdup(draft->arena, values[i].name));
        if (!tunable || !tunable->source)
            return;
        for (size_t k = i; k < count; k++)
            same += strcmp(values[k].name, values[i].name) == 0;
        for (size_t k = i; k < count; k++) {
            if (strcmp(values[k].name, values[i].name) != 0)
                continue;
            const char *text = value_text(draft, values[k].value);
            tunable->values = tunable->values ? kiln__arena_printf(draft->arena, "%s, %s", tunable->values, text)
                                              : text;
            if (number++ == same / 2) {
                tunable->chosen = text;
                tunable->number = values[k].value.kind == KILN_TEXT ? 0 : values[k].value.as.i;
                if (values[k].value.kind == KILN_FLOAT)
                    tunable->number = (int64_t)values[k].value.as.f;
            }
        }
        if (template_param(draft, tunable->source)) {
            tunable->kind = KILN__TUNABLE_TEMPLATE;
            tunable->name = kiln__template_name(draft, tunable->source);
        }
        draft->tunable_count++;
    }
}

static void add_guarded(kiln__draft *draft, const kiln__macro *macro)
{
    int64_t value;
    const kiln__scan *scan = draft->scan;
    if (!macro->guarded || macro->from >= scan->own || macro->function || macro->to != macro->from + 1 ||
        kiln__tunable_find(draft, macro->name))
        return;
    bool whole = kiln__word_whole(scan, macro->from, &value);
    if (!whole && (scan->words[macro->from].kind != 'w' || !is_type(scan, macro->name)))
        return;
    kiln__tunable *tunable = add_tunable(draft, KILN__TUNABLE_MACRO, macro->name);
    if (!tunable)
        return;
    if (whole && is_problem_size(draft, macro->name)) {
        tunable->size = true;
        tunable->defined = true;
        tunable->number = value;
    } else if (whole) {
        set_around(draft, tunable, value);
    } else {
        tunable->values = tunable->chosen = kiln__word_copy(scan, macro->from);
        tunable->why = "a type: float, double, half";
    }
    draft->tunable_count++;
}

/* Sets the type that the launch gives to a template parameter. Returns false if specs have no such type. */
static bool take_type(kiln__draft *draft, kiln__range range, kiln__tunable *tunable)
{
    const char *name = kiln__type_of_range(draft, range);
    if (!name)
        return false;
    tunable->values = tunable->chosen = name;
    tunable->why = "the type that the launch gives";
    return true;
}

/* Makes a tuning parameter of a template parameter. Its default is the value in the launch. If there is none, its
 * default is the default of the template parameter. If there is none either, the default is a guess. If the launch
 * computes the template argument from an argument of the kernel, there is no tuning parameter. */
static void add_template(kiln__draft *draft, const kiln__template_param *param)
{
    size_t number = (size_t)(param - draft->kernel->templates);
    const kiln__host_launch *host = &draft->host;
    kiln__tree *tree = number < host->template_count ? host->trees[number] : NULL;
    const char *open = kiln__tree_free(tree);
    int64_t value;
    if (tree && !param->type && open && kiln__host_is_argument(draft, open))
        return;
    kiln__tunable *tunable = kiln__tunable_find(draft, param->name)
                                 ? NULL
                                 : add_tunable(draft, KILN__TUNABLE_TEMPLATE, param->name);
    if (!tunable)
        return;
    if (param->type && number < host->template_count && take_type(draft, host->templates[number], tunable)) {
        tunable->number = 0;
    } else if (param->type) {
        tunable->values = tunable->chosen = "float";
        tunable->any_type = true;
        tunable->why = "a type: float, double, half";
    } else if (!param->flag && kiln__tree_constant(draft, tree, &value)) {
        set_around(draft, tunable, value);
    } else if (open && tree->op == 'w' && kiln__is_enumerator(draft, open)) {
        tunable->values = tunable->chosen = open;
        tunable->why = "the value that the launch gives";
    } else if (param->flag && tree && tree->op == 'w' && !tree->free) {
        tunable->values = "false, true";
        tunable->chosen = tree->text;
        tunable->number = strcmp(tree->text, "true") == 0;
    } else if (param->flag) { /* the value is true or false, because a number would be a narrowing conversion */
        tunable->values = "false, true";
        tunable->chosen = "true";
        tunable->number = 1;
    } else if (param->initial && kiln__word_whole(draft->scan, param->initial, &value)) {
        set_around(draft, tunable, value);
    } else {
        set_values(draft, tunable);
        /* is_type() takes the tokens `int X` for a use of X as a type */
        if (tunable->number == 0 && strcmp(tunable->chosen, "float") == 0) {
            tunable->values = tunable->chosen = "2";
            tunable->number = 2;
            tunable->unknown = true;
        }
    }
    if (number < host->template_count && host->values[number]) {
        tunable->values = host->values[number];
        tunable->why = "the values that the source launches";
        tunable->launched = true;
    }
    tunable->name = kiln__template_name(draft, param->name);
    draft->tunable_count++;
}

/* Makes tuning parameters of the names that #if tests and that nothing defines. The compiler takes such a name as 0 and
 * does not report it. */
static void add_tested(kiln__draft *draft)
{
    const kiln__scan *scan = draft->scan;
    bool tests = false;
    for (size_t i = 2; i < scan->own; i++) {
        const kiln__word *word = &scan->words[i];
        if (scan->words[i - 1].kind == '#' && word->directive)
            tests = kiln__word_is(scan, i, "if") || kiln__word_is(scan, i, "elif");
        else if (tests && word->directive && word->kind == 'w' && word->text[0] != '_' &&
                 !kiln__word_is(scan, i, "defined") && !kiln__word_is(scan, i - 1, "defined") &&
                 !kiln__word_is(scan, i - 2, "defined") && !HAS(kiln__word_copy(scan, i), "cuda")) {
            const char *name = kiln__word_copy(scan, i);
            if (name && !kiln__macro_find(scan, name))
                kiln__guess_tunable(draft, name);
        }
    }
}

/* Returns true if the name looks like the work of a block, a warp or a thread, which other values can replace. */
static bool is_tile_name(const char *name)
{
    return (kiln__name_is_block(name) || HAS(name, "unroll", "items", "per_thread", "perthread", "coarse", "vec",
                                             "stage", "warps", "rows_per", "cols_per", "chunk", "ept", "factor")) &&
           !HAS(name, "warp_size", "warpsize", "lane", "max_", "head", "channel", "class");
}

/* Returns true if device code contains the name: the kernel, a `__device__` function, or a macro. */
static bool is_name_of_device(const kiln__draft *draft, const char *name)
{
    const kiln__scan *scan = draft->scan;
    const kiln__kernel *kernel = draft->kernel;
    if (kiln__words_have(scan, kernel->body_from, kernel->body_to, name) ||
        (kernel->bounds && kiln__word_is(scan, kernel->bounds, name)))
        return true;
    for (size_t i = 0; i < scan->macro_count; i++)
        for (size_t k = scan->macros[i].from; k < scan->macros[i].to; k++)
            if (kiln__word_is(scan, k, name))
                return true;
    for (size_t i = 1; i < scan->count && draft->looked < MOST_LOOKED; i++) {
        if (!kiln__word_is(scan, i, "__device__"))
            continue;
        while (i < scan->count && !strchr("{;", scan->words[i].kind))
            i++;
        const size_t close = i < scan->count && scan->words[i].kind == '{' ? kiln__word_close(scan, i) : i;
        if (kiln__words_have(scan, i, close, name))
            return true;
        i = close;
    }
    return false;
}

/* Returns true if a param of the spec replaces the definitions of the name in the source and in its headers. */
static bool is_replaced(kiln__draft *draft, const char *name)
{
    kiln__includes texts = draft->texts;
    kiln__prelude_macro macro = {name, "2"};
    draft->looked += 20; /* reads all texts that have the name */
    if (!texts.source || kiln__definitions_replace(draft->mem, draft->arena, &texts, &macro, 1, NULL) != KILN_OK)
        return false;
    bool replaced = texts.source != draft->texts.source;
    for (size_t i = 0; i < texts.count && !replaced; i++)
        replaced = texts.items[i].text != draft->texts.items[i].text;
    return replaced;
}

/* Adds a tuning parameter for a name to which the source itself gives the value at the token `at`. The trial runs later
 * decide which other values keep the answer. */
static void add_own(kiln__draft *draft, const char *name, size_t at)
{
    int64_t value = 0;
    if (!name || !kiln__word_whole(draft->scan, at, &value) || value < 2 || value > 1024 ||
        (value & (value - 1)) != 0 || draft->looked++ >= MOST_LOOKED || !is_tile_name(name) ||
        kiln__tunable_find(draft, name) || !is_name_of_device(draft, name) || !is_replaced(draft, name))
        return;
    kiln__tunable *tunable = add_tunable(draft, KILN__TUNABLE_MACRO, name);
    if (!tunable)
        return;
    set_around(draft, tunable, value);
    tunable->own = true;
    tunable->why = kiln__arena_printf(draft->arena, "replaces the %lld of the source", (long long)value);
    draft->tunable_count++;
}

/* Returns true if the source defines a macro as exactly one integer, so that this integer is its value. */
static bool has_one_number(const kiln__scan *scan, const kiln__macro *macro)
{
    int64_t value;
    for (size_t i = 0; i < scan->macro_count; i++) {
        const kiln__macro *other = &scan->macros[i];
        if (other != macro && strcmp(other->name, macro->name) == 0 &&
            (other->function || (other->to == other->from + 1 && kiln__word_whole(scan, other->from, &value))))
            return false;
    }
    return !macro->function && macro->to == macro->from + 1;
}

/* Makes tuning parameters of tile sizes and similar numbers that the source or its headers define: `#define TILE 16`,
 * or `constexpr int TILE = 16;` outside of functions or in the kernel. In the spec the tuning parameter replaces such a
 * value. */
static void add_defined(kiln__draft *draft)
{
    const kiln__scan *scan = draft->scan;
    const size_t end = scan->launch ? scan->launch : scan->count;
    for (size_t i = 0; i < scan->macro_count; i++)
        if (!scan->macros[i].guarded && scan->macros[i].from < end && has_one_number(scan, &scan->macros[i]))
            add_own(draft, scan->macros[i].name, scan->macros[i].from);
    for (size_t i = 2; i + 3 < end; i++) {
        if (scan->words[i].kind != 'w' || scan->words[i].directive || scan->words[i + 1].kind != '=' ||
            scan->words[i + 2].kind != '0' || scan->words[i + 3].kind != ';' || scan->words[i - 1].kind != 'w')
            continue;
        const bool constant = kiln__word_is(scan, i - 2, "const") || kiln__word_is(scan, i - 2, "constexpr") ||
                              kiln__word_is(scan, i - 3, "const") || kiln__word_is(scan, i - 3, "constexpr");
        const bool inside = i > draft->kernel->body_from && i < draft->kernel->body_to;
        const bool number = !kiln__word_is(scan, i - 1, "float") && !kiln__word_is(scan, i - 1, "double");
        if (constant && number && draft->looked++ < MOST_LOOKED &&
            (inside || kiln__enclosing_function(draft, i).from == 0))
            add_own(draft, kiln__word_copy(scan, i), i + 2);
    }
}

void kiln__guess_macros(kiln__draft *draft)
{
    for (size_t i = 0; i < draft->scan->macro_count; i++)
        add_guarded(draft, &draft->scan->macros[i]);
    add_tested(draft);
    add_defined(draft);
}

void kiln__guess_templates(kiln__draft *draft)
{
    kiln__host_templates(draft);
    for (size_t i = 0; i < draft->kernel->template_count; i++)
        add_template(draft, &draft->kernel->templates[i]);
}

/* ---- arguments ---- */

/* Element types, and the names by which CUDA sources call them. */
static const struct {
    const char *word, *type;
    int lanes;
} types[] = {
    {"float", "f32", 1},
    {"double", "f64", 1},
    {"half", "f16", 1},
    {"__half", "f16", 1},
    {"__nv_bfloat16", "bf16", 1},
    {"nv_bfloat16", "bf16", 1},
    {"__nv_fp8_e4m3", "f8e4m3", 1},
    {"__nv_fp8_e5m2", "f8e5m2", 1},
    {"__nv_fp8_e8m0", "ue8m0", 1},
    {"__nv_fp6_e2m3", "f6e2m3", 1},
    {"__nv_fp6_e3m2", "f6e3m2", 1},
    {"__nv_fp4_e2m1", "f4e2m1", 1},
    {"int", "i32", 1},
    {"char", "i8", 1},
    {"short", "i16", 1},
    {"bool", "u8", 1},
    {"long", "i64", 1},
    {"uint", "u32", 1},
    {"ushort", "u16", 1},
    {"uchar", "u8", 1},
    {"size_t", "u64", 1},
    {"int8_t", "i8", 1},
    {"uint8_t", "u8", 1},
    {"int16_t", "i16", 1},
    {"uint16_t", "u16", 1},
    {"int32_t", "i32", 1},
    {"uint32_t", "u32", 1},
    {"int64_t", "i64", 1},
    {"uint64_t", "u64", 1},
    {"half2", "f16", 2},
    {"__half2", "f16", 2},
    {"__nv_bfloat162", "bf16", 2},
    {"nv_bfloat162", "bf16", 2},
    {"__nv_fp8x2_e4m3", "f8e4m3", 2},
    {"__nv_fp8x4_e4m3", "f8e4m3", 4},
    {"__nv_fp8x2_e5m2", "f8e5m2", 2},
    {"__nv_fp8x4_e5m2", "f8e5m2", 4},
    {"__nv_fp4x2_e2m1", "u8", 1}, /* a byte that packs two numbers */
    {"__nv_fp4x4_e2m1", "u8", 2},
    {"cuComplex", "f32", 2},
    {"cuFloatComplex", "f32", 2},
    {"cuDoubleComplex", "f64", 2},
#define VECTOR(name, type)                                                                                             \
    {name "2", type, 2}, {name "3", type, 3}, { name "4", type, 4 }
    VECTOR("float", "f32"),
    VECTOR("double", "f64"),
    VECTOR("char", "i8"),
    VECTOR("uchar", "u8"),
    VECTOR("short", "i16"),
    VECTOR("ushort", "u16"),
    VECTOR("int", "i32"),
    VECTOR("uint", "u32"),
    VECTOR("longlong", "i64"),
    VECTOR("ulonglong", "u64"),
#undef VECTOR
};

bool kiln__element_named(const char *name, size_t length, const char **type, int *lanes)
{
    for (size_t i = 0; i < KILN__COUNT(types); i++)
        if (strlen(types[i].word) == length && memcmp(types[i].word, name, length) == 0) {
            *type = types[i].type;
            *lanes = types[i].lanes;
            return true;
        }
    return false;
}

uint64_t kiln__type_bytes_named(const char *name)
{
    const char *type;
    int lanes;
    kiln_type element;
    return kiln__element_named(name, strlen(name), &type, &lanes) && kiln__type_named(type, &element)
               ? (uint64_t)lanes * kiln__types[element].bytes
               : 0;
}

/* Finds the definition of an alias of a type: `using vec = T;`, `typedef REAL number;`. Returns the tokens of the type.
 * Returns {0, 0} if the source has no such definition. */
static kiln__range find_alias(const kiln__scan *scan, size_t name)
{
    const kiln__word *words = scan->words;
    for (size_t i = 2; i + 2 < scan->count; i++) {
        bool same = i != name && words[i].kind == 'w' && words[i].length == words[name].length &&
                    memcmp(words[i].text, words[name].text, words[i].length) == 0;
        if (!same || words[i].directive)
            continue;
        if (kiln__word_is(scan, i - 1, "using") && words[i + 1].kind == '=') {
            size_t end = i + 2;
            while (end < scan->count && words[end].kind != ';')
                end++;
            return (kiln__range){i + 2, end};
        }
        size_t begin = i;
        while (words[i + 1].kind == ';' && begin > 1 && !strchr(";{}", words[begin - 1].kind))
            begin--;
        if (kiln__word_is(scan, begin, "typedef") && !kiln__word_is(scan, begin + 1, "struct"))
            return (kiln__range){begin + 1, i};
    }
    return (kiln__range){0, 0};
}

/* Returns the name of an element type in CUDA sources: "__nv_bfloat16" for "bf16". */
static const char *source_name(const char *type)
{
    for (size_t i = 0; i < KILN__COUNT(types); i++)
        if (types[i].lanes == 1 && strcmp(types[i].type, type) == 0)
            return types[i].word;
    return NULL;
}

bool kiln__is_floating(const char *type) { return type[0] == 'f' || strcmp(type, "bf16") == 0; }

/* Guesses the type of an argument from its tokens, in case the compiler does not give the type. */
static void read_type(kiln__draft *draft, size_t from, size_t to, kiln__draft_argument *argument)
{
    const kiln__scan *scan = draft->scan;
    bool is_unsigned = false, pointer = false;
    argument->odd = true;
    argument->lanes = 1;
    for (size_t i = from; i < to; i++) {
        is_unsigned |= kiln__word_is(scan, i, "unsigned");
        argument->constant |= !pointer && kiln__word_is(scan, i, "const");
        pointer |= scan->words[i].kind == '*' || scan->words[i].kind == '[';
        kiln__range here = {i, i + 1};
        for (int follow = 0; argument->odd && here.from && follow < 4 && draft->looked < MOST_LOOKED; follow++) {
            size_t at = here.from;
            while (at + 1 < here.to && (kiln__word_is(scan, at, "const") || kiln__word_is(scan, at, "unsigned")))
                is_unsigned |= kiln__word_is(scan, at++, "unsigned");
            const char *word = scan->words[at].kind == 'w' ? kiln__word_copy(scan, at) : NULL;
            const kiln__tunable *tunable = word ? kiln__tunable_find(draft, word) : NULL;
            const kiln__macro *macro = word ? kiln__macro_find(scan, word) : NULL;
            if (!word)
                break;
            if (kiln__element_named(word, strlen(word), &argument->type, &argument->lanes)) {
                argument->odd = false;
            } else if (tunable && tunable->number == 0 && !tunable->size) {
                argument->type = tunable->name;
                argument->odd = false;
            }
            draft->looked++;
            here = macro && !macro->function && !tunable ? (kiln__range){macro->from, macro->to} : find_alias(scan, at);
        }
    }
    if (is_unsigned)
        argument->type = !argument->type || argument->odd     ? "u32"
                         : strcmp(argument->type, "i8") == 0  ? "u8"
                         : strcmp(argument->type, "i16") == 0 ? "u16"
                         : strcmp(argument->type, "i64") == 0 ? "u64"
                                                              : "u32";
    argument->odd = argument->odd && !is_unsigned;
    if (argument->odd)
        argument->type = "u8";
    argument->floating = kiln__is_floating(argument->type) || kiln__word_is(scan, from, argument->type);
    argument->role = pointer ? KILN__ROLE_BUFFER : KILN__ROLE_SCALAR;
}

/* Returns the tokens of the type in a cast that ends before the token `name`: `(const float *)name` or
 * `reinterpret_cast<float4 *>(name`. The range ends before the '*'. Returns {0, 0} if there is no such cast. */
static kiln__range find_cast(const kiln__scan *scan, size_t name)
{
    enum { MOST_CAST = 12 }; /* the most tokens in the type of a cast */
    const kiln__word *words = scan->words;
    size_t end = name - 1;
    while (end > 1 && words[end].kind == '(')
        end--;
    if (!strchr(")>", words[end].kind))
        return (kiln__range){0, 0};
    const char open = words[end].kind == ')' ? '(' : '<';
    size_t star = end - 1, begin;
    while (star > 1 && words[star].kind == 'w' &&
           (kiln__word_is(scan, star, "__restrict__") || kiln__word_is(scan, star, "const")))
        star--;
    if (star < 2 || words[star].kind != '*' || words[star - 1].kind == '*')
        return (kiln__range){0, 0};
    for (begin = star - 1; begin > 1 && star - begin < MOST_CAST && words[begin].kind != open; begin--)
        if (!strchr("w:<>,", words[begin].kind))
            return (kiln__range){0, 0};
    const bool named = kiln__word_is(scan, begin - 1, "reinterpret_cast") ||
                       kiln__word_is(scan, begin - 1, "static_cast");
    return words[begin].kind == open && (open == '(' || named) ? (kiln__range){begin + 1, star} : (kiln__range){0, 0};
}

/* Reads the casts in the body of the kernel, in their order. A cast to `char *`, which often only computes an address,
 * counts only if there is no other cast. */
void kiln__guess_cast(kiln__draft *draft, kiln__draft_argument *argument)
{
    const kiln__scan *scan = draft->scan;
    const kiln__kernel *kernel = draft->kernel;
    kiln__draft_argument first = {0};
    kiln__range from = {0, 0};
    bool several = false;
    for (size_t i = kernel->body_from; i < kernel->body_to; i++) {
        kiln__draft_argument made = {0};
        const kiln__range range = kiln__word_is(scan, i, argument->name) ? find_cast(scan, i) : (kiln__range){0, 0};
        if (!range.from || kiln__word_is(scan, i - 1, ".") || kiln__word_is(scan, range.to - 1, "void"))
            continue;
        read_type(draft, range.from, range.to, &made);
        if (made.odd || !made.type)
            continue;
        const bool bytes = strcmp(made.type, "i8") == 0 || strcmp(made.type, "u8") == 0;
        if (first.type && bytes)
            continue;
        const bool weak = first.type && (strcmp(first.type, "i8") == 0 || strcmp(first.type, "u8") == 0);
        several |= first.type && !weak && strcmp(first.type, made.type) != 0;
        if (!first.type || weak) {
            first = made;
            from = range;
        }
    }
    argument->untyped = !first.type || several;
    if (argument->untyped)
        return;
    argument->type = first.type;
    argument->lanes = first.lanes;
    argument->floating = kiln__is_floating(first.type) || first.floating;
    const kiln__word *last = &scan->words[from.to - 1];
    argument->cast = kiln__arena_strndup(draft->arena, scan->words[from.from].text,
                                         (size_t)(last->text - scan->words[from.from].text) + last->length);
}

const char *kiln__type_of_range(kiln__draft *draft, kiln__range range)
{
    kiln__draft_argument made = {0};
    for (const kiln__frame *f = draft->host.frame; f && range.to == range.from + 1; f = f->up)
        for (size_t i = 0; i < f->count; i++)
            if (same_word(draft, f->names[i], range.from)) {
                range = f->values[i];
                break;
            }
    read_type(draft, range.from, range.to, &made);
    return made.odd || made.lanes != 1 || made.role == KILN__ROLE_BUFFER ? NULL : source_name(made.type);
}

bool kiln__is_limit(const kiln__draft *draft, const char *name)
{
    const kiln__scan *scan = draft->scan;
    for (size_t i = draft->kernel->body_from; i < draft->kernel->body_to; i++) {
        size_t before = i > 2 && scan->words[i - 1].kind == '.' ? i - 3 : i - 1;
        if (kiln__word_is(scan, i, name) &&
            (scan->words[before].kind == '<' ||
             (scan->words[before].kind == '=' && before && scan->words[before - 1].kind == '>')))
            return true;
    }
    return false;
}

/* Returns true if the kernel multiplies or divides by a name, as kernels do with the length of a row. */
static bool is_factor(const kiln__draft *draft, const char *name)
{
    const kiln__scan *scan = draft->scan;
    for (size_t i = draft->kernel->body_from; i < draft->kernel->body_to; i++)
        if (kiln__word_is(scan, i, name) &&
            (strchr("*/%", scan->words[i - 1].kind) || strchr("*/%", scan->words[i + 1].kind)))
            return true;
    return false;
}

static void add_argument(kiln__draft *draft, size_t from, size_t to)
{
    const kiln__scan *scan = draft->scan;
    kiln__draft_argument *argument = &draft->arguments[draft->argument_count];
    size_t name = 0;
    for (size_t i = from; i < to && scan->words[i].kind != '='; i++)
        if (scan->words[i].kind == 'w' && !kiln__word_is(scan, i, "__restrict__"))
            name = i;
    *argument = (kiln__draft_argument){.from = from, .to = to, .count = 1};
    const char *plain = name > from ? kiln__word_copy(scan, name) : "unnamed";
    read_type(draft, from, to, argument);
    if (argument->role != KILN__ROLE_BUFFER && !argument->floating && plain &&
        (is_size_name(plain) || kiln__is_limit(draft, plain) || is_factor(draft, plain)))
        argument->role = KILN__ROLE_SIZE;
    const char *last = scan->words[to - 1].text + scan->words[to - 1].length;
    argument->declared = kiln__arena_strndup(draft->arena, scan->words[from].text,
                                             (size_t)(last - scan->words[from].text));
    argument->name = plain ? free_name(draft, plain) : NULL;
    if (argument->name && argument->declared)
        draft->argument_count++;
}

bool kiln__guess_field(kiln__draft *draft, size_t from, size_t to, size_t name, size_t stars, uint64_t count,
                       size_t parent)
{
    const kiln__word *words = draft->scan->words;
    const char *of = parent == KILN__NO_PARENT ? "the source" : draft->arguments[parent - 1].name;
    if (draft->argument_count == KILN__MOST_ARGUMENTS || stars > 2)
        return false;
    kiln__draft_argument *field = &draft->arguments[draft->argument_count];
    *field = (kiln__draft_argument){.from = from, .to = to, .count = count, .parent = parent, .indirect = stars == 2};
    const char *plain = kiln__word_copy(draft->scan, name);
    read_type(draft, from, to, field);
    if (!plain || (field->odd && stars == 0))
        return false;
    if (stars)
        field->role = KILN__ROLE_BUFFER;
    else if (!field->floating && count == 1 && field->lanes == 1 &&
             (is_size_name(plain) || kiln__is_limit(draft, plain)))
        field->role = KILN__ROLE_SIZE;
    field->declared = kiln__arena_printf(draft->arena, "%.*s %.*s%s of %s",
                                         (int)(words[to - 1].text + words[to - 1].length - words[from].text),
                                         words[from].text, (int)stars, "**", plain, of);
    field->name = free_name(draft, plain);
    if (field->name && field->declared)
        draft->argument_count++;
    return true;
}

kiln_status kiln__guess_arguments(kiln__draft *draft, kiln_error **error)
{
    const kiln__scan *scan = draft->scan;
    size_t from = draft->kernel->params_from, depth = 0;
    for (size_t i = from; i <= draft->kernel->params_to; i++) {
        char kind = scan->words[i].kind;
        depth += kind == '(' || kind == '<' || kind == '[';
        depth -= depth > 0 && i < draft->kernel->params_to && (kind == ')' || kind == '>' || kind == ']');
        if (i < draft->kernel->params_to && (kind != ',' || depth > 0))
            continue;
        if (i > from && !(i == from + 1 && kiln__word_is(scan, from, "void"))) {
            if (draft->argument_count == KILN__MOST_ARGUMENTS)
                return kiln__fail(draft->mem, error, KILN_ERROR_UNSUPPORTED,
                                  "%s: kernel %s has more than %d parameters", kiln__kernel_place(draft),
                                  draft->kernel->name, KILN__MOST_ARGUMENTS);
            add_argument(draft, from, i);
        }
        from = i + 1;
    }
    return draft->arena->failed ? kiln__fail_memory(error) : KILN_OK;
}

/* ---- sizes ---- */

static void add_size(kiln__draft *draft, const char *name, bool bake)
{
    if (draft->size_count < KILN__MOST_SIZES)
        draft->sizes[draft->size_count++] = (kiln__size){.name = name, .bake = bake};
}

/* Returns true if the name means a number that is small in every program, such as the width of a border. */
static bool is_small_number(const char *name)
{
    return HAS(name, "iteration", "border", "halo", "radius", "padding", "margin");
}

/* Sets the values of the sizes to multiples of usual blocks and tiles. All values differ, so that a trial run shows
 * which size an extent depends on. */
void kiln__set_sizes(kiln__draft *draft)
{
    int64_t next = 1; /* strides get the largest numbers, so that rows do not overlap */
    for (int far = 0; far < 2; far++)
        for (size_t i = 0; i < draft->size_count; i++)
            if (HAS(draft->sizes[i].name, "stride", "step", "pitch") == far)
                draft->sizes[i].tiny = draft->size_count == 1 ? 4096 : 64 * next++;
    for (size_t i = 0; i < draft->size_count; i++) {
        if (is_small_number(draft->sizes[i].name) && !draft->sizes[i].bake)
            draft->sizes[i].tiny = 2;
        draft->sizes[i].whole = draft->sizes[i].tiny == 2 ? 2
                                : draft->size_count == 1  ? 1 << 24
                                : draft->size_count == 2  ? 4096
                                                          : 1024;
        if (draft->sizes[i].given)
            draft->sizes[i].whole = draft->sizes[i].given;
        if (draft->sizes[i].fixed)
            draft->sizes[i].tiny = draft->sizes[i].fixed;
    }
}

void kiln__guess_sizes(kiln__draft *draft)
{
    for (size_t i = 0; i < draft->argument_count; i++) {
        if (draft->arguments[i].role == KILN__ROLE_SIZE && draft->size_count == KILN__MOST_SIZES)
            draft->arguments[i].role = KILN__ROLE_SCALAR;
        if (draft->arguments[i].role == KILN__ROLE_SIZE)
            add_size(draft, draft->arguments[i].name, false);
    }
    for (size_t i = 0; i < draft->tunable_count; i++) {
        if (!draft->tunables[i].size || draft->size_count == KILN__MOST_SIZES)
            continue;
        add_size(draft, draft->tunables[i].name, true);
        if (draft->tunables[i].defined) /* the source has a value for this size, and may need exactly this value */
            draft->sizes[draft->size_count - 1].given = draft->sizes[draft->size_count - 1].fixed =
                draft->tunables[i].number;
    }
    if (draft->size_count == 0 && uses_axis(draft, "y")) {
        add_size(draft, free_name(draft, "WIDTH"), false);
        add_size(draft, free_name(draft, "HEIGHT"), false);
    } else if (draft->size_count == 0) {
        add_size(draft, free_name(draft, "N"), false);
    }
    kiln__set_sizes(draft);
}

const char *kiln__guess_another_size(kiln__draft *draft, const char *name)
{
    name = free_name(draft, name);
    if (draft->size_count == KILN__MOST_SIZES || !name)
        return NULL;
    add_size(draft, name, false);
    kiln__set_sizes(draft);
    return name;
}

const char *kiln__guess_size_of(kiln__draft *draft, size_t argument)
{
    kiln__draft_argument *of = &draft->arguments[argument];
    if (of->role != KILN__ROLE_SCALAR || of->floating || draft->size_count == KILN__MOST_SIZES)
        return NULL;
    of->role = KILN__ROLE_SIZE;
    of->given = NULL;
    add_size(draft, of->name, false);
    kiln__set_sizes(draft);
    return of->name;
}
