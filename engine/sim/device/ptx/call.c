/* call.c - parses `call`, and checks the lists of return values and arguments against the callee. */
#include <inttypes.h>
#include <string.h>

#include "ptx_internal.h"

/* Reads one argument or return value of a call. `bytes` is the size of the callee's formal parameter. */
static bool ptx_call_item(ptx_parser *p, bool returned, uint64_t bytes, ptx_operand *operand)
{
    ptx_raw raw;
    uint32_t line = p->token.line;
    if (!ptx_raw_operand(p, &raw))
        return false;
    *operand = (ptx_operand){0};
    const ptx_binding *binding = raw.kind == PTX_RAW_NAME && !raw.second && !raw.negate ? ptx_known(p, raw.name) : NULL;
    if (binding && binding->kind == PTX_BIND_SYMBOL && p->symbols[binding->index].space == PTX_SPACE_PARAM &&
        !raw.offset) {
        const ptx_symbol *symbol = &p->symbols[binding->index];
        *operand = (ptx_operand){.kind = PTX_OPERAND_SYMBOL, .type = symbol->type, .index = binding->index};
        return symbol->bytes == bytes ||
               ptx_error(p, line, "'%s' has %" PRIu64 " bytes, but the callee's parameter has %" PRIu64, raw.name->text,
                         symbol->bytes, bytes);
    }
    static const ptx_type by_width[] = {[1] = PTX_B8, [2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
    if (binding && binding->kind == PTX_BIND_REG && binding->type != PTX_PRED && !raw.offset) {
        *operand = (ptx_operand){.kind = PTX_OPERAND_REG, .type = binding->type, .index = binding->index};
        return ptx_type_bytes((ptx_type)binding->type) == bytes ||
               ptx_error(p, line, "register '%s' is passed, but the callee's parameter has %" PRIu64 " bytes",
                         raw.name->text, bytes);
    }
    if (!returned && raw.kind == PTX_RAW_VALUE && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)) {
        operand->type = (uint8_t)by_width[bytes];
        if (ptx_match_value(p, &raw, (ptx_type)operand->type, operand))
            return true;
    }
    return p->memory ? false
                     : ptx_error(p, line, "an argument of a call must be a .param variable, a register or a constant");
}

/* Reads the list "(a, b)". If the list has no items, it may be absent. `sizes` has the sizes of the `wanted` formal
 * parameters of the callee, in order. The items become elements of the function, and `list` refers to them. */
static bool ptx_call_list(ptx_parser *p, bool returned, const uint64_t *sizes, uint32_t wanted, ptx_operand *list)
{
    uint32_t first = (uint32_t)p->element_count, count = 0, line = p->token.line;
    *list = (ptx_operand){.kind = PTX_OPERAND_LIST, .index = first};
    if (ptx_accept(p, '(') && !ptx_accept(p, ')')) {
        do {
            ptx_operand item;
            if (wanted == count)
                return ptx_error(p, line, "the callee has %" PRIu32 " %s", wanted,
                                 returned ? "return values" : "parameters");
            if (!ptx_call_item(p, returned, sizes[count], &item) ||
                !ptx_grow(p, &p->elements, &p->element_capacity, p->element_count + 1, sizeof item))
                return false;
            p->elements[p->element_count++] = item;
            count++;
        } while (ptx_accept(p, ','));
        if (!ptx_expect(p, ')'))
            return false;
    }
    list->count = count;
    return count == wanted || ptx_error(p, line, "the callee has %" PRIu32 " %s, not %" PRIu32, wanted,
                                        returned ? "return values" : "parameters", count);
}

/* Skips a list "(...)". ptx_call() reads it later, when it knows the callee. */
static void ptx_skip_list(ptx_parser *p)
{
    while (!ptx_is(p, ')') && !ptx_is(p, ';') && !ptx_is(p, '{') && p->token.kind != PTX_TOKEN_END)
        ptx_next(p);
    ptx_accept(p, ')');
}

typedef struct ptx_mark {
    ptx_token token;
    const char *cursor;
    uint32_t line;
} ptx_mark;

static ptx_mark ptx_here(const ptx_parser *p) { return (ptx_mark){p->token, p->cursor, p->line}; }

static void ptx_go(ptx_parser *p, ptx_mark mark)
{
    if (p->memory)
        return;
    p->token = mark.token;
    p->cursor = mark.cursor;
    p->line = mark.line;
}

static bool ptx_callee(ptx_parser *p, ptx_operand *target)
{
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_error(p, p->token.line, "Parsing error near %s: expected a function", ptx_shown(p));
    const ptx_binding *binding = ptx_lookup(p, p->token.name);
    if (binding && binding->kind == PTX_BIND_FUNCTION && !p->functions[binding->index].entry)
        *target = (ptx_operand){.kind = PTX_OPERAND_FUNCTION, .index = binding->index};
    else if (binding && binding->kind == PTX_BIND_REG && ptx_reg_fits(PTX_U64, (ptx_type)binding->type, false))
        *target = (ptx_operand){.kind = PTX_OPERAND_REG, .index = binding->index, .type = PTX_U64};
    else
        return p->memory ? false
                         : ptx_error(p, p->token.line, "%s is neither a function nor a 64-bit register", ptx_shown(p));
    ptx_next(p);
    return true;
}

/* Parses "call (returns), callee, (arguments), prototype;". The sizes of return values and arguments depend on the
 * callee or the prototype, which come after the first list. So the function first skips both lists and finds the
 * callee. Then it goes back and reads the lists. */
bool ptx_call(ptx_parser *p, ptx_insn *insn)
{
    ptx_mark returns = ptx_here(p);
    if (ptx_is(p, '(')) {
        ptx_skip_list(p);
        if (!ptx_expect(p, ','))
            return false;
    }
    bool has_returns = returns.token.kind == PTX_TOKEN_PUNCTUATION;
    ptx_operand *target = &insn->operands[1];
    if (!ptx_callee(p, target))
        return false;
    ptx_mark arguments = ptx_here(p);
    bool has_arguments = false;
    const ptx_binding *prototype = NULL;
    if (ptx_accept(p, ',')) {
        arguments = ptx_here(p);
        has_arguments = ptx_is(p, '(');
        if (has_arguments) {
            ptx_skip_list(p);
            ptx_accept(p, ',');
        }
        if (p->token.kind == PTX_TOKEN_NAME) {
            prototype = ptx_lookup(p, p->token.name);
            if (!prototype || prototype->kind != PTX_BIND_PROTOTYPE)
                return p->memory ? false : ptx_error(p, p->token.line, "%s is not a prototype", ptx_shown(p));
            ptx_next(p);
        }
    }
    ptx_mark end = ptx_here(p);
    const uint64_t *ret_bytes, *arg_bytes;
    uint32_t ret_count, arg_count;
    if (target->kind == PTX_OPERAND_FUNCTION) {
        const uint64_t *sizes = ptx_param_sizes(p, target->index);
        if (!sizes)
            return false;
        const ptx_function *function = &p->functions[target->index];
        ret_count = function->return_count;
        arg_count = function->param_count;
        ret_bytes = sizes;
        arg_bytes = sizes + ret_count;
    } else if (prototype) {
        const ptx_prototype *found = &p->prototypes[prototype->index];
        ret_count = found->ret_count;
        arg_count = found->arg_count;
        ret_bytes = found->ret_bytes;
        arg_bytes = found->arg_bytes;
    } else {
        return ptx_error(p, insn->line, "an indirect call needs a prototype");
    }
    ptx_go(p, returns);
    ptx_token nothing = {.kind = PTX_TOKEN_BAD, .line = insn->line};
    if (!has_returns)
        p->token = nothing;
    bool good = ptx_call_list(p, true, ret_bytes, ret_count, &insn->operands[0]);
    if (good) {
        ptx_go(p, arguments);
        if (!has_arguments)
            p->token = nothing;
        good = ptx_call_list(p, false, arg_bytes, arg_count, &insn->operands[2]);
    }
    if (p->memory)
        return false;
    ptx_go(p, end);
    insn->operand_count = 3;
    if (prototype) {
        insn->operands[3] = (ptx_operand){.kind = PTX_OPERAND_PROTOTYPE, .index = prototype->index};
        insn->operand_count = 4;
    }
    return good;
}
