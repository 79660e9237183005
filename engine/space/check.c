/* check.c - tests one configuration against the constraints. The message tells which constraint fails and why. */
#include <string.h>

#include "space_internal.h"

kiln_status kiln__lets_eval(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                            kiln_setting *lets, kiln_error **error)
{
    kiln__diag diag = {.mem = mem};
    for (size_t i = 0; i < variant->let_count; i++) {
        kiln__scope with = {.outer = scope, .settings = {i, lets}};
        lets[i].name = variant->lets[i].name;
        if (!kiln__expr_eval(variant->lets[i].expr, &with, &lets[i].value, &diag))
            return kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    }
    return KILN_OK;
}

/* The named expressions (key `let` of the spec) of a configuration, and the scope in which constraints are evaluated.
 * Each named expression is computed when a constraint first needs it. For some configurations it cannot be computed,
 * but an earlier constraint may exclude these. */
typedef struct asked {
    const kiln__variant *variant;
    /* The scope of the named expressions that are computed so far. Its outer scopes have the tuning parameters, the
     * sizes and the device names. */
    kiln__scope scope;
    kiln_setting *lets;
    kiln__diag *diag;
} asked;

/* Computes the named expressions that the expression `expr` uses. They may use others, and the recursion is as deep as
 * this chain, which the spec limits. */
static bool prepare(asked *a, const kiln__expr *expr)
{
    for (size_t n = 0; n < kiln__expr_name_count(expr); n++)
        for (size_t i = 0; i < a->variant->let_count; i++) {
            const kiln__named_expr *let = &a->variant->lets[i];
            if (*a->lets[i].name || strcmp(let->name, kiln__expr_name(expr, n)) != 0)
                continue;
            if (!prepare(a, let->expr) || !kiln__expr_eval(let->expr, &a->scope, &a->lets[i].value, a->diag))
                return false;
            a->lets[i].name = let->name;
        }
    return true;
}

static void report(asked *a, const kiln__expr *constraint)
{
    kiln__text names = {.mem = a->diag->mem};
    for (size_t i = 0; i < kiln__expr_name_count(constraint); i++) {
        kiln_value value;
        const char *name = kiln__expr_name(constraint, i);
        if (!kiln__scope_find(&a->scope, name, &value))
            continue;
        kiln__text_printf(&names, "%s%s = ", names.length ? ", " : ": ", name);
        kiln__value_print(&names, value);
    }
    kiln__diag_add(a->diag, kiln__expr_pos(constraint), "this constraint does not hold%s", kiln__text_get(&names));
    if (names.failed)
        a->diag->text.failed = true;
    kiln__text_free(&names);
}

/* Allocates the named expressions of a configuration. None of them is computed yet. */
static bool open_lets(asked *a, const kiln_allocator *mem, const kiln__scope *outer)
{
    a->lets = kiln__calloc(mem, a->variant->let_count, sizeof *a->lets);
    if (!a->lets)
        return false;
    for (size_t i = 0; i < a->variant->let_count; i++)
        a->lets[i].name = "";
    a->scope = (kiln__scope){.outer = outer, .settings = {a->variant->let_count, a->lets}};
    return true;
}

bool kiln__space_holds(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                       size_t constraint, bool *holds)
{
    asked a = {.variant = variant};
    if (!open_lets(&a, mem, scope))
        return false;
    const kiln__expr *expr = variant->where[constraint];
    bool fine = prepare(&a, expr) && kiln__expr_eval_bool(expr, &a.scope, "a constraint", holds, NULL);
    kiln__free(mem, a.lets);
    return fine;
}

kiln_status kiln__space_check_scope(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                                    kiln_error **error)
{
    kiln__diag diag = {.mem = mem};
    asked a = {.variant = variant, .diag = &diag};
    kiln_status status = KILN_OK;
    if (!open_lets(&a, mem, scope))
        return kiln__fail_memory(error);
    for (size_t i = 0; i < variant->where_count; i++) {
        bool holds = false;
        if (!prepare(&a, variant->where[i]) ||
            !kiln__expr_eval_bool(variant->where[i], &a.scope, "a constraint", &holds, &diag)) {
            status = kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
            break;
        }
        if (!holds) {
            report(&a, variant->where[i]);
            status = kiln__diag_finish(&diag, KILN_ERROR_CONSTRAINT, error);
            break;
        }
    }
    kiln__free(mem, a.lets);
    return status;
}
