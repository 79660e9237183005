/* explain.c - explains why a space has no valid configuration. It counts the configurations that each constraint
 * leaves, alone and together with the constraints before it. */
#include <inttypes.h>
#include <stdio.h>

#include "space.h"

enum { MOST_CONSTRAINTS = 40 };
#define COUNT_UNITS ((uint64_t)1 << 23) /* the limit of the work for one count, in units (kiln__effort) */

/* Writes the number of configurations that `count` constraints leave, beginning with the constraint `from`. The text is
 * "12", "more than 12", or "fails" if a constraint cannot be computed. */
static kiln_status count_with(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *outer,
                              kiln__settings fixed, size_t from, size_t count, char text[40], kiln_error **error)
{
    kiln__variant part = *variant;
    kiln__space *space = NULL;
    kiln__effort effort = {.most = COUNT_UNITS};
    uint64_t valid = 0;
    bool counted = false;
    part.where = variant->where + from;
    part.where_count = count;
    KILN__TRY(kiln__space_open(mem, &part, outer, fixed, &space, error));
    kiln_error *why = NULL;
    kiln_status status = kiln__space_count_within(space, &effort, &counted, &valid, &why);
    snprintf(text, 40, status != KILN_OK ? "fails" : counted ? "%" PRIu64 : "more than %" PRIu64, valid);
    kiln__space_free(space);
    if (status == KILN_ERROR_MEMORY) {
        kiln_error_free(why);
        return kiln__fail_memory(error);
    }
    /* A constraint may be computable only if an earlier constraint holds, such as N % A == 0 after A > 0. */
    kiln_error_free(why);
    return KILN_OK;
}

kiln_status kiln__space_explain(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *outer,
                                kiln__settings fixed, kiln__text *out, kiln_error **error)
{
    char alone[40], so_far[40];
    KILN__TRY(count_with(mem, variant, outer, fixed, 0, 0, alone, error));
    kiln__text_printf(out, "\nvariant %s, of %s configurations:\n  %14s  %14s  constraint", variant->name, alone,
                      "alone", "with those above");
    for (size_t i = 0; i < variant->where_count && i < MOST_CONSTRAINTS; i++) {
        kiln__pos pos = kiln__expr_pos(variant->where[i]);
        KILN__TRY(count_with(mem, variant, outer, fixed, i, 1, alone, error));
        KILN__TRY(count_with(mem, variant, outer, fixed, 0, i + 1, so_far, error));
        kiln__text_printf(out, "\n  %14s  %16s  %s", alone, so_far, kiln__expr_text(variant->where[i]));
        if (pos.source)
            kiln__text_printf(out, "  (line %u)", pos.line);
    }
    if (variant->where_count > MOST_CONSTRAINTS)
        kiln__text_printf(out, "\n  and %zu more constraints", variant->where_count - MOST_CONSTRAINTS);
    return KILN_OK;
}
