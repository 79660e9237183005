/* conditions.c - evaluates the conditions of #if around host code. Tuning parameters decide some of them: `#if BM ==
 * 64`. */
#include "host_internal.h"

/* Limits, because the source is untrusted text: the depth of conditions that are read inside each other, and the number
 * of branches that the reader follows. */
enum { MOST_CONDITIONS = 4, MOST_BRANCHES = 64 };

static bool has_part(const char *name, const char *part) { return strstr(name, part) != NULL; }

/* Returns true if a header that the draft does not read may define the name. */
static bool is_from_outside(const char *name)
{
    return name[0] == '_' || has_part(name, "CUDA") || has_part(name, "VERSION") || has_part(name, "CUDART");
}

static kiln__tree *number(kiln__draft *draft, bool value)
{
    kiln__tree *tree = kiln__tree_make(draft, '0', NULL, NULL);
    if (tree)
        tree->value = value;
    return tree;
}

/* Returns true if the macro with the index i is defined before the token `at`. The tokens of the headers come after the
 * tokens of the source. But the source begins with its #includes, so the macros of headers count as defined before each
 * token of the source. */
static bool is_before(const kiln__scan *scan, size_t i, size_t at)
{
    const size_t from = scan->macros[i].from, headers_end = scan->launch ? scan->launch : scan->count;
    const bool at_header = at >= scan->own && at < headers_end;
    return from < at || (!at_header && from >= scan->own && from < headers_end);
}

/* A name is defined in three cases. It is a tuning parameter that is a macro. Or the options or NVRTC define it as a
 * macro. Or the source or its headers define it before the token `at`. */
kiln__tree *kiln__defined(kiln__draft *draft, size_t name, size_t at)
{
    const char *text = kiln__word_copy(draft->scan, name);
    if (!text)
        return NULL;
    const kiln__tunable *tunable = kiln__tunable_find(draft, text);
    bool known = (tunable && tunable->kind == KILN__TUNABLE_MACRO) || strcmp(text, "__CUDACC__") == 0 ||
                 strcmp(text, "__NVCC__") == 0;
    for (size_t i = 0; draft->options && i < draft->options->define_count; i++)
        known |= strcmp(draft->options->defines[i].name, text) == 0;
    for (size_t i = 0; i < draft->scan->macro_count && !known; i++)
        known = is_before(draft->scan, i, at) && strcmp(draft->scan->macros[i].name, text) == 0;
    return known || !is_from_outside(text) ? number(draft, known) : NULL;
}

/* Sets each undefined name in a condition to 0, as the preprocessor does. Returns false if a header that is not read
 * may define one of these names. */
static bool set_zeros(kiln__tree *tree)
{
    if (!tree)
        return true;
    if (tree->op == 'w' && tree->free) {
        if (is_from_outside(tree->text))
            return false;
        *tree = (kiln__tree){.op = '0'};
    }
    return set_zeros(tree->a) && set_zeros(tree->b);
}

/* Reads the condition of one branch, without the conditions of the branches before it. Returns NULL if the condition
 * cannot be read. */
static kiln__tree *read_own(kiln__draft *draft, const kiln__branch *branch)
{
    kiln__tree *tree = NULL;
    if (branch->kind == KILN__BRANCH_ELSE)
        return number(draft, true);
    if (branch->to <= branch->from)
        return NULL;
    if (branch->kind == KILN__BRANCH_IF)
        tree = kiln__host_read(draft, (kiln__range){branch->from, branch->to});
    else
        tree = kiln__defined(draft, branch->from, branch->from);
    if (!set_zeros(tree))
        return NULL;
    return branch->kind == KILN__BRANCH_IFNDEF ? kiln__tree_not(draft, tree) : tree;
}

/* Removes the parts of a condition that are numbers: 0 && x is 0, and 1 && x is x. The depth of the recursion is
 * limited, because host.c limits the depth of a tree. */
static kiln__tree *simplify(kiln__draft *draft, kiln__tree *tree)
{
    int64_t value = 0;
    if (!tree || (tree->op != 'a' && tree->op != 'o'))
        return tree;
    kiln__tree *const parts[2] = {simplify(draft, tree->a), simplify(draft, tree->b)};
    for (int i = 0; i < 2; i++)
        if (kiln__tree_constant(draft, parts[i], &value))
            return (value != 0) == (tree->op == 'a') ? parts[1 - i] : number(draft, value != 0);
    return tree;
}

/* Replaces *all by the conjunction of *all and a condition. Returns false if the condition is never true. */
static bool add_condition(kiln__draft *draft, kiln__tree *tree, kiln__tree **all)
{
    int64_t value = 0;
    tree = simplify(draft, tree);
    if (!tree)
        return true;
    if (kiln__tree_constant(draft, tree, &value))
        return value != 0;
    *all = *all ? kiln__tree_make(draft, 'a', *all, tree) : tree;
    return true;
}

static bool is_around(kiln__draft *draft, size_t branch, size_t word)
{
    const kiln__scan *scan = draft->scan;
    for (size_t up = scan->inside[word]; up; up = scan->branches[up].up, draft->compared++)
        if (up == branch)
            return true;
    return false;
}

static bool is_beside(const kiln__scan *scan, size_t branch, size_t word)
{
    for (size_t up = scan->inside[word]; up; up = scan->branches[up].up)
        if (up != branch && scan->branches[up].first == scan->branches[branch].first)
            return true;
    return false;
}

bool kiln__are_exclusive(const kiln__draft *draft, size_t a, size_t b)
{
    for (size_t up = draft->scan->inside[a]; up; up = draft->scan->branches[up].up)
        if (is_beside(draft->scan, up, b))
            return true;
    return false;
}

kiln__when kiln__condition(kiln__draft *draft, size_t word, size_t seen, kiln__tree **tree)
{
    const kiln__scan *scan = draft->scan;
    size_t followed = 0;
    bool possible = true;
    *tree = NULL;
    if (!scan->inside[word] || draft->conditions >= MOST_CONDITIONS)
        return KILN__ALWAYS;
    draft->conditions++;
    for (size_t up = scan->inside[word]; up && possible && followed < MOST_BRANCHES; up = scan->branches[up].up) {
        /* this branch also contains the token `seen`, and so the branches around it also contain `seen` */
        if (is_around(draft, up, seen))
            break;
        possible = !is_beside(scan, up, seen) && add_condition(draft, read_own(draft, &scan->branches[up]), tree);
        for (size_t k = scan->branches[up].before; k && possible && followed++ < MOST_BRANCHES;
             k = scan->branches[k].before)
            possible = add_condition(draft, kiln__tree_not(draft, read_own(draft, &scan->branches[k])), tree);
    }
    draft->conditions--;
    return !possible ? KILN__NEVER : *tree ? KILN__SOMETIMES : KILN__ALWAYS;
}
