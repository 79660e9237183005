/* smaller.c - makes the sizes of the set `tiny` smaller, leaves out a size that nothing uses, and fixes params on which
 * extents depend. */
#include <string.h>

#include "chars.h"
#include "draft.h"
#include "expr.h"

enum { LEAST_SIZE = 16 };

/* Finds the value of a size or a tuning parameter for kiln__expr_eval_int(). */
static bool find_value(void *user, const char *name, kiln_value *value)
{
    const kiln__draft *draft = user;
    for (size_t i = 0; i < draft->size_count; i++)
        if (strcmp(draft->sizes[i].name, name) == 0) {
            *value = (kiln_value){.kind = KILN_INT, .as.i = draft->sizes[i].tiny};
            return true;
        }
    for (size_t i = 0; i < draft->tunable_count; i++)
        if (strcmp(draft->tunables[i].name, name) == 0) {
            *value = (kiln_value){.kind = KILN_INT, .as.i = draft->tunables[i].number};
            return true;
        }
    return false;
}

/* Computes an expression of the launch with the size set `tiny`. Returns 1 if it cannot compute the expression, or if
 * the value is less than 1. */
static int64_t count(const kiln__draft *draft, const char *text)
{
    kiln__diag diag = {.mem = draft->mem};
    const kiln__scope scope = {.find = find_value, .user = (void *)(uintptr_t)draft};
    const kiln__expr *expr = kiln__expr_parse(draft->arena, text, strlen(text), (kiln__pos){0}, 0, &diag);
    int64_t value = 1;
    if (!expr || !kiln__expr_eval_int(expr, &scope, "launch", &value, &diag) || value < 1)
        value = 1;
    kiln__diag_finish(&diag, KILN_ERROR_SPEC, NULL);
    return value;
}

/* Returns true if the program may choose the value of the size in the set `tiny`. */
static bool is_free(const kiln__size *size) { return !size->fixed && !size->bake; }

/* Lets sizes grow by LEAST_SIZE until no free size equals another size. Equal sizes would hide which size an extent is. */
static void separate_sizes(kiln__draft *draft)
{
    for (bool equal = true; equal;) {
        equal = false;
        for (size_t i = 0; i < draft->size_count; i++)
            for (size_t k = 0; k < draft->size_count; k++) {
                kiln__size *size = &draft->sizes[i];
                const kiln__size *other = &draft->sizes[k];
                if (i == k || size->tiny != other->tiny || !is_free(size) || (is_free(other) && i < k))
                    continue;
                size->tiny += LEAST_SIZE;
                equal = true;
            }
    }
}

/* Sizes that the source fixes keep their values, and so do sizes that are macros, odd sizes, and sizes below twice
 * LEAST_SIZE. All other sizes become half as large. */
bool kiln__shrink_sizes(kiln__draft *draft)
{
    bool shrunk = false;
    for (size_t i = 0; i < draft->size_count; i++) {
        kiln__size *size = &draft->sizes[i];
        if (!is_free(size) || size->tiny % 2 != 0 || size->tiny / 2 < LEAST_SIZE)
            continue;
        size->tiny /= 2;
        shrunk = true;
    }
    if (shrunk)
        separate_sizes(draft);
    for (int axis = 0; axis < 3 && shrunk; axis++)
        if (draft->axes[axis].used) {
            draft->axes[axis].blocks = count(draft, draft->axes[axis].grid);
            draft->axes[axis].threads = count(draft, draft->axes[axis].block);
        }
    return shrunk;
}

bool kiln__mentions(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = text; at && (at = strstr(at, name)) != NULL; at += length)
        if ((at == text || !kiln__is_word_part(at[-1])) && !kiln__is_word_part(at[length]))
            return true;
    return false;
}

/* Returns true if the spec uses the size outside of its keys `sizes` and `judge`. */
static bool is_used(const kiln__draft *draft, const kiln__size *size)
{
    bool used = size->bake || kiln__mentions(draft->shared, size->name);
    for (int axis = 0; axis < 3 && !used; axis++)
        used = draft->axes[axis].used && (kiln__mentions(draft->axes[axis].grid, size->name) ||
                                          kiln__mentions(draft->axes[axis].block, size->name));
    for (size_t i = 0; i < draft->argument_count && !used; i++) {
        const kiln__draft_argument *argument = &draft->arguments[i];
        used = strcmp(argument->name, size->name) == 0 || kiln__mentions(argument->shape, size->name) ||
               kiln__mentions(argument->given, size->name);
    }
    for (size_t i = 0; i < draft->where_count && !used; i++)
        used = kiln__mentions(draft->wheres[i], size->name);
    for (size_t i = 0; i < draft->kernel->template_count && !used; i++) {
        const kiln__tree *tree = kiln__template_tree(draft, i);
        used = tree && kiln__tree_uses(tree, size->name);
    }
    return used;
}

/* Another value of such a param would need other arrays, and so it would be another problem. */
void kiln__fix_extents(kiln__draft *draft)
{
    for (size_t k = 0; k < draft->tunable_count; k++) {
        kiln__tunable *tunable = &draft->tunables[k];
        bool extent = false;
        for (size_t i = 0; i < draft->argument_count && tunable->own && !extent; i++)
            extent = draft->arguments[i].seen && kiln__mentions(draft->arguments[i].shape, tunable->name);
        if (!extent)
            continue;
        tunable->values = tunable->chosen;
        tunable->why = "fixed, because the extents of arrays depend on it";
    }
}

void kiln__drop_unused_sizes(kiln__draft *draft)
{
    size_t kept = 0;
    for (size_t i = 0; i < draft->size_count; i++)
        if (is_used(draft, &draft->sizes[i]))
            draft->sizes[kept++] = draft->sizes[i];
    draft->size_count = kept;
}
