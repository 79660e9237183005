/* insn.c - parses one instruction: its mnemonic, its operands, and the form in the table that matches both of them. */
#include <string.h>

#include "ptx_internal.h"

bool ptx_append(ptx_parser *p, const ptx_insn *insn, ptx_name *label)
{
    if (insn->op == PTX_OP_BRX && !ptx_repeat(p, insn->line, &p->targets, insn->operands[1].count, 16,
                                              "the branches to lists of targets have too many targets"))
        return false;
    if (!ptx_grow(p, &p->insns, &p->insn_capacity, p->insn_count + 1, sizeof *insn))
        return false;
    if (label) {
        ptx_fixup *fixup = kiln__arena_alloc(&p->scratch, sizeof *fixup);
        if (!fixup)
            return ptx_out_of_memory(p);
        *fixup = (ptx_fixup){label, insn->line, (uint32_t)p->insn_count, 0, p->scopes[p->depth].fixups};
        p->scopes[p->depth].fixups = fixup;
    }
    p->insns[p->insn_count++] = *insn;
    return true;
}

static bool ptx_arguments_error(ptx_parser *p, const ptx_spelling *spelling, uint32_t line)
{
    if (p->memory)
        return false;
    if (p->why[0] == '!')
        return ptx_unsupported(p, line, "%s", p->why + 1);
    return ptx_error(p, line, "Arguments mismatch for instruction '%.*s': %s",
                     (int)(spelling->length > 80 ? 80 : spelling->length), spelling->text, p->why);
}

bool ptx_instruction(ptx_parser *p, uint32_t guard, bool guard_negate)
{
    const char *text;
    size_t length = 0;
    uint32_t line = p->token.line;
    if (!ptx_mnemonic(p, &text, &length))
        return false;
    const ptx_spelling *spelling = ptx_spelling_of(p, text, length, line);
    if (!spelling)
        return false;
    ptx_insn insn = {.op = (uint16_t)spelling->op,
                     .guard_negate = guard_negate,
                     .guard = guard,
                     .space = spelling->space,
                     .vector = spelling->vector,
                     .tiles = spelling->tiles,
                     .line = line,
                     .loc = p->loc};
    memcpy(insn.types, spelling->types, sizeof insn.types);
    memcpy(insn.mods, spelling->mods, sizeof insn.mods);
    if (spelling->op == PTX_OP_CALL)
        return ptx_call(p, &insn) && ptx_expect(p, ';') && ptx_append(p, &insn, NULL);

    ptx_raw raws[PTX_MAX_WRITTEN];
    unsigned count = 0;
    p->part_count = 0;
    if (!ptx_is(p, ';')) {
        do {
            if (count == PTX_MAX_WRITTEN)
                return ptx_error(p, line, "an instruction has at most %d operands", PTX_MAX_WRITTEN);
            if (!ptx_raw_operand(p, &raws[count++]))
                return false;
        } while (ptx_accept(p, ','));
    }
    if (!ptx_is(p, ';'))
        return ptx_expect(p, ';');
    /* If no form matches, the error message explains the last form that takes this number of operands. */
    ptx_name *label = NULL;
    char why[sizeof p->why] = "";
    bool matched = false, newer = false;
    const ptx_form_list *list = &ptx_forms[spelling->op];
    for (unsigned k = 0; k < 2 * list->count && !matched && !p->memory; k++) {
        const unsigned i = k % list->count;
        newer = k >= list->count; /* the second half of the loop visits the forms that the device does not have */
        if (!((newer ? spelling->newer : spelling->forms) >> i & 1))
            continue;
        const ptx_form *form = &list->forms[i];
        label = NULL;
        matched = ptx_match_form(p, form, raws, count, &insn, &label);
        if (!matched && ((count >= ptx_form_least(form) && count <= ptx_form_most(form) && why[0] != '!') || !why[0]))
            memcpy(why, p->why, sizeof why);
    }
    if (!matched) {
        memcpy(p->why, why, sizeof why);
        return ptx_arguments_error(p, spelling, line);
    }
    if (newer &&
        !ptx_needs(p, line, spelling->since, spelling->text, spelling->length > 80 ? 80 : (int)spelling->length))
        return false;
    ptx_next(p);
    return ptx_append(p, &insn, label);
}
