/* table.c - the cases by instruction, and the instructions and device functions without a case. */
#include <string.h>

#include "hostile.h"

static const hostile_case cases[PTX_OP_COUNT] = {
#define HOSTILE(name, addresses, values, flags) [PTX_OP_##name] = {addresses, values, flags},
#include "cases.def"
#undef HOSTILE
};

const hostile_case *hostile_case_of(ptx_op op) { return op < PTX_OP_COUNT && cases[op].addresses ? &cases[op] : NULL; }

/* Returns true if the form has an operand in brackets, a texture or a tensor. */
static bool form_reaches(const char *form)
{
    const char *colon = strchr(form, ':');
    while (colon && colon[1] != ' ' && colon[1] != '\0') /* skips the colons of "shared::cta" */
        colon = strchr(colon + 1, ':');
    for (const char *at = colon; at && *at; at++)
        if (at[-1] == ' ' && strchr("aoT", *at))
            return true;
    return false;
}

static bool effect_reaches(ptx_effect effect)
{
    switch (effect) { /* this switch has no default, so the compiler demands a case for each new effect */
    case PTX_EFFECT_NONE:
    case PTX_EFFECT_BRANCH:
    case PTX_EFFECT_BRANCH_INDEXED:
    case PTX_EFFECT_GRID:
    case PTX_EFFECT_LEAVE: return false;
    case PTX_EFFECT_HINT:
    case PTX_EFFECT_LOAD:
    case PTX_EFFECT_STORE:
    case PTX_EFFECT_ATOMIC:
    case PTX_EFFECT_REDUCTION:
    case PTX_EFFECT_TEAM_LOAD:
    case PTX_EFFECT_TEAM_STORE:
    case PTX_EFFECT_TEAM_REDUCTION:
    case PTX_EFFECT_TEXTURE:
    case PTX_EFFECT_ROWS_LOAD:
    case PTX_EFFECT_ROWS_STORE:
    case PTX_EFFECT_FRAGMENT_LOAD:
    case PTX_EFFECT_FRAGMENT_STORE:
    case PTX_EFFECT_COPY:
    case PTX_EFFECT_COMMIT:
    case PTX_EFFECT_WAIT:
    case PTX_EFFECT_COPY_ARRIVE:
    case PTX_EFFECT_CANCEL:
    case PTX_EFFECT_BULK:
    case PTX_EFFECT_TENSOR:
    case PTX_EFFECT_BULK_STORE:
    case PTX_EFFECT_REMOTE:
    case PTX_EFFECT_BULK_GROUP:
    case PTX_EFFECT_MBARRIER:
    case PTX_EFFECT_FENCE:
    case PTX_EFFECT_PROXY_FENCE:
    case PTX_EFFECT_BARRIER:
    case PTX_EFFECT_CLUSTER_ARRIVE:
    case PTX_EFFECT_CLUSTER_WAIT:
    case PTX_EFFECT_WARP_BARRIER:
    case PTX_EFFECT_EXCHANGE:
    case PTX_EFFECT_WHOLE_WARP:
    case PTX_EFFECT_WARPGROUP:
    case PTX_EFFECT_TENSOR_MEMORY:
    case PTX_EFFECT_TENSOR_LOAD:
    case PTX_EFFECT_TENSOR_PRODUCT:
    case PTX_EFFECT_CALL: return true;
    }
    return true;
}

bool hostile_touches(ptx_op op)
{
    bool reaches = effect_reaches((ptx_effect)ptx_op_traits[op].effect);
    for (unsigned form = 0; !reaches && hostile_form(op, form); form++)
        reaches = form_reaches(hostile_form(op, form));
    return reaches;
}

bool hostile_missing(kiln__text *out)
{
    bool missing = false;
    for (unsigned op = 0; op < PTX_OP_COUNT; op++)
        if (hostile_touches((ptx_op)op) && !cases[op].addresses) {
            kiln__text_printf(
                out,
                "'%s' reaches memory (its row in engine/sim/device/ptx/ops.def) and has no hostile case: add a row\n"
                "    HOSTILE(<name in ops.def>, \"<a letter for each address>\", \"<for each other source>\", 0)\n"
                "to tests/hostile/cases.def; tests/hostile/hostile.h explains the letters and the flags\n",
                ptx_op_name((ptx_op)op));
            missing = true;
        }
    for (unsigned k = 0; k < hostile_function_count(); k++) {
        const hostile_function *f = hostile_function_at(k);
        if (f->kinds && strlen(f->kinds) == strlen(f->parameters))
            continue;
        kiln__text_printf(
            out,
            "the function '%s' of the device has no hostile case, or one with another number of parameters "
            "than \"%s\": add a row to tests/hostile/functions.def\n",
            f->name, f->parameters);
        missing = true;
    }
    return missing;
}
