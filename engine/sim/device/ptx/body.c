/* body.c - parses function bodies: scopes, register declarations, labels, and the directives among instructions. */
#include <inttypes.h>
#include <string.h>

#include "ptx_internal.h"

#define PTX_MAX_REGISTERS (1u << 24) /* largest number of registers that one `%r<n>` may declare */

/* Declares the elements of a vector register: ".reg .v2 .f32 v;" declares v.x and v.y. */
static bool ptx_declare_vector(ptx_parser *p, const ptx_name *name, ptx_type type, unsigned elements)
{
    for (unsigned k = 0; k < elements; k++) {
        const char *text = kiln__arena_printf(&p->scratch, "%s.%c", name->text, "xyzw"[k]);
        ptx_name *element = text ? ptx_intern(p, text, strlen(text)) : NULL;
        if (!element)
            return ptx_out_of_memory(p);
        if (!ptx_declare_reg(p, element, type))
            return false;
    }
    return true;
}

/* Parses a declaration of registers, such as ".reg .b32 %r<9>, %x;". The current token is ".reg". */
static bool ptx_reg_directive(ptx_parser *p)
{
    ptx_type type;
    ptx_next(p);
    const unsigned elements = ptx_is_directive(p, "v2") ? 2 : ptx_is_directive(p, "v4") ? 4 : 0;
    if (elements)
        ptx_next(p);
    if (p->token.kind != PTX_TOKEN_DIRECTIVE || !ptx_type_find(p->token.text, p->token.length, &type) || type > PTX_F64)
        return ptx_error(p, p->token.line, "%s is not a register type", ptx_shown(p));
    ptx_next(p);
    do {
        if (p->token.kind != PTX_TOKEN_NAME)
            return ptx_error(p, p->token.line, "Parsing error near %s: expected a register's name", ptx_shown(p));
        ptx_name *name = p->token.name;
        bool range = ptx_peek(p) == '<';
        if (range && elements)
            return ptx_unsupported(p, p->token.line,
                                   "ranges of vector registers are not supported by the simulated device");
        if (!range && !(elements ? ptx_declare_vector(p, name, type, elements) : ptx_declare_reg(p, name, type)))
            return false;
        ptx_next(p);
        if (!range)
            continue;
        uint64_t count;
        ptx_next(p);
        if (!ptx_expect_integer(p, PTX_MAX_REGISTERS, "a number of registers", &count) || !ptx_expect(p, '>') ||
            !ptx_declare_range(p, name, type, (uint32_t)count))
            return false;
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';');
}

/* Parses ".branchtargets a, b;" after its label. The parser resolves the labels when the scope ends. */
static bool ptx_branchtargets(ptx_parser *p, ptx_name *label)
{
    uint32_t first = (uint32_t)p->element_count;
    do {
        ptx_next(p);
        if (p->token.kind != PTX_TOKEN_NAME)
            return ptx_error(p, p->token.line, "Parsing error near %s: expected a label", ptx_shown(p));
        ptx_fixup *fixup = kiln__arena_alloc(&p->scratch, sizeof *fixup);
        if (!fixup)
            return ptx_out_of_memory(p);
        if (!ptx_grow(p, &p->elements, &p->element_capacity, p->element_count + 1, sizeof *p->elements))
            return false;
        *fixup = (ptx_fixup){p->token.name, p->token.line, UINT32_MAX, (uint32_t)p->element_count,
                             p->scopes[p->depth].fixups};
        p->scopes[p->depth].fixups = fixup;
        p->elements[p->element_count++] = (ptx_operand){.kind = PTX_OPERAND_LABEL};
        ptx_next(p);
    } while (ptx_is(p, ','));
    ptx_binding *binding = ptx_bind(p, label, PTX_BIND_TARGETS, first);
    if (!binding)
        return false;
    binding->count = (uint32_t)p->element_count - first;
    return ptx_expect(p, ';');
}

static uint64_t *ptx_sizes(ptx_parser *p, const uint64_t *sizes, uint32_t count)
{
    uint64_t *kept = kiln__arena_alloc(&p->module->arena, count * sizeof *kept);
    if (!kept)
        ptx_out_of_memory(p);
    else if (count)
        memcpy(kept, sizes, count * sizeof *kept);
    return kept;
}

static bool ptx_prototype_add(ptx_parser *p, ptx_name *label, ptx_prototype prototype)
{
    if (!ptx_grow(p, &p->prototypes, &p->prototype_capacity, p->prototype_count + 1, sizeof prototype))
        return false;
    p->prototypes[p->prototype_count] = prototype;
    return ptx_bind(p, label, PTX_BIND_PROTOTYPE, (uint32_t)p->prototype_count++) != NULL;
}

/* Parses a list of parameters such as "(.param .b32 _, .param .b64 _)". Sets *sizes to the sizes of the parameters, in
 * memory of the module. */
static bool ptx_prototype_list(ptx_parser *p, uint32_t *count, const uint64_t **sizes)
{
    uint64_t *list = NULL;
    size_t capacity = 0;
    bool good = false;
    *count = 0;
    ptx_next(p);
    while (!ptx_is(p, ')')) {
        ptx_declarator formal;
        if ((*count && !ptx_expect(p, ',')) || !ptx_parameter(p, &formal) ||
            !ptx_grow(p, &list, &capacity, (size_t)*count + 1, sizeof *list))
            goto done;
        list[(*count)++] = formal.bytes;
    }
    ptx_next(p);
    *sizes = ptx_sizes(p, list, *count);
    good = *sizes != NULL;
done:
    kiln__free(p->mem, list);
    return good;
}

/* Parses ".callprototype (returns) _ (parameters) [.noreturn];" after its label. */
static bool ptx_callprototype(ptx_parser *p, ptx_name *label)
{
    ptx_prototype prototype = {0};
    uint64_t unused;
    ptx_next(p);
    if (ptx_is(p, '(') && !ptx_prototype_list(p, &prototype.ret_count, &prototype.ret_bytes))
        return false;
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_error(p, p->token.line, "Parsing error near %s: expected '_'", ptx_shown(p));
    ptx_next(p);
    if (ptx_is(p, '(') && !ptx_prototype_list(p, &prototype.arg_count, &prototype.arg_bytes))
        return false;
    while (p->token.kind == PTX_TOKEN_DIRECTIVE) {
        if (!ptx_is_directive(p, "noreturn") && !ptx_is_directive(p, "abi_preserve") &&
            !ptx_is_directive(p, "abi_preserve_control"))
            return ptx_error(p, p->token.line, "Parsing error near %s: unknown directive of a prototype", ptx_shown(p));
        ptx_next(p);
        if (p->token.kind == PTX_TOKEN_NUMBER && !ptx_expect_integer(p, UINT32_MAX, "a number", &unused))
            return false;
    }
    return ptx_expect(p, ';') && ptx_prototype_add(p, label, prototype);
}

/* Parses ".calltargets f, g;" after its label, and makes a prototype of the first function. PTX demands that all
 * functions of the list have the same parameters. */
static bool ptx_calltargets(ptx_parser *p, ptx_name *label)
{
    uint32_t first = UINT32_MAX;
    do {
        ptx_next(p);
        const ptx_binding *binding = p->token.kind == PTX_TOKEN_NAME ? ptx_lookup(p, p->token.name) : NULL;
        if (!binding || binding->kind != PTX_BIND_FUNCTION)
            return ptx_error(p, p->token.line, "Parsing error near %s: expected a function", ptx_shown(p));
        if (first == UINT32_MAX)
            first = binding->index;
        ptx_next(p);
    } while (ptx_is(p, ','));
    const uint64_t *sizes = ptx_param_sizes(p, first);
    if (!sizes)
        return false;
    const ptx_function *f = &p->functions[first];
    const ptx_prototype prototype = {f->param_count, f->return_count, sizes + f->return_count, sizes};
    return ptx_expect(p, ';') && ptx_prototype_add(p, label, prototype);
}

static bool ptx_label(ptx_parser *p, ptx_name *name)
{
    uint32_t line = p->token.line;
    ptx_next(p);
    ptx_next(p);
    if (name->binding && name->binding->depth == p->depth)
        return ptx_error(p, line, "label '%s' is defined twice", name->text);
    if (ptx_is_directive(p, "branchtargets"))
        return ptx_branchtargets(p, name);
    if (ptx_is_directive(p, "callprototype"))
        return ptx_callprototype(p, name);
    if (ptx_is_directive(p, "calltargets"))
        return ptx_calltargets(p, name);
    return ptx_bind(p, name, PTX_BIND_LABEL, (uint32_t)p->insn_count) != NULL;
}

static bool ptx_body_directive(ptx_parser *p)
{
    if (ptx_is_directive(p, "reg"))
        return ptx_reg_directive(p);
    if (ptx_is_directive(p, "loc"))
        return ptx_loc_directive(p);
    if (ptx_is_directive(p, "file"))
        return ptx_file_directive(p);
    if (ptx_is_directive(p, "pragma")) {
        ptx_skip_statement(p);
        return true;
    }
    ptx_suffix suffix = ptx_suffix_find(p->token.text, p->token.length);
    if (suffix.kind != PTX_SUFFIX_SPACE)
        return ptx_error(p, p->token.line, "Parsing error near %s: unknown directive", ptx_shown(p));
    ptx_next(p);
    return ptx_variable(p, (ptx_space)suffix.value, PTX_LOCAL);
}

static bool ptx_guarded(ptx_parser *p)
{
    ptx_next(p);
    bool negate = ptx_accept(p, '!');
    const ptx_binding *binding = p->token.kind == PTX_TOKEN_NAME ? ptx_lookup(p, p->token.name) : NULL;
    if (!binding || binding->kind != PTX_BIND_REG || binding->type != PTX_PRED)
        return ptx_error(p, p->token.line, "guard %s is not a predicate register", ptx_shown(p));
    uint32_t guard = binding->index;
    ptx_next(p);
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_error(p, p->token.line, "Parsing error near %s: expected an instruction", ptx_shown(p));
    return ptx_instruction(p, guard, negate);
}

static bool ptx_statement(ptx_parser *p)
{
    if (p->token.kind == PTX_TOKEN_NAME) {
        if (ptx_peek(p) == ':' && !(p->end - p->cursor > 1 && p->cursor[1] == ':'))
            return ptx_label(p, p->token.name);
        return ptx_instruction(p, PTX_NO_PRED, false);
    }
    if (p->token.kind == PTX_TOKEN_DIRECTIVE)
        return ptx_body_directive(p);
    if (ptx_is(p, '@'))
        return ptx_guarded(p);
    if (ptx_accept(p, ';'))
        return true;
    return ptx_error(p, p->token.line, "Parsing error near %s: expected a statement", ptx_shown(p));
}

/* Skips the rest of a wrong statement, up to its ';'. Stops before the brace that closes the scope, so that scopes stay
 * balanced. */
static void ptx_skip_in_body(ptx_parser *p)
{
    unsigned open = 0; /* number of open braces of vector operands */
    while (p->token.kind != PTX_TOKEN_END) {
        if (ptx_is(p, ';')) {
            ptx_next(p);
            return;
        }
        if (ptx_is(p, '{'))
            open++;
        if (ptx_is(p, '}') && open-- == 0)
            return;
        ptx_next(p);
    }
}

bool ptx_body(ptx_parser *p)
{
    uint32_t outermost = p->depth;
    unsigned errors = p->errors;
    while (p->token.kind != PTX_TOKEN_END) {
        if (ptx_is(p, '{')) {
            if (!ptx_scope_push(p))
                return false;
            ptx_next(p);
        } else if (ptx_is(p, '}')) {
            bool last = p->depth == outermost;
            ptx_scope_pop(p);
            ptx_next(p);
            if (last)
                return p->errors == errors;
        } else if (!ptx_statement(p)) {
            ptx_skip_in_body(p);
        }
    }
    return ptx_error(p, p->token.line, "the text ends within a body: '}' is missing");
}
