/* function.c - parses kernels and functions: parameters, directives, declarations and definitions. */
#include <inttypes.h>
#include <string.h>

#include "ptx_internal.h"

#define PTX_MAX_ENTRY_PARAMS 32764u

/* Parses a formal parameter, such as ".param .align 8 .b8 name[16]". In a prototype the name may be "_". */
bool ptx_parameter(ptx_parser *p, ptx_declarator *declarator)
{
    unsigned lanes;
    *declarator = (ptx_declarator){.line = p->token.line};
    if (ptx_is_directive(p, "reg"))
        return ptx_unsupported(p, p->token.line, "parameters in .reg space are not supported by the simulated device");
    if (!ptx_is_directive(p, "param"))
        return ptx_error(p, p->token.line, "Parsing error near %s: expected '.param'", ptx_shown(p));
    ptx_next(p);
    if (ptx_is_directive(p, "align")) {
        ptx_next(p);
        if (!ptx_align(p, &declarator->align))
            return false;
    }
    if (!ptx_variable_type(p, &declarator->type, &lanes))
        return false;
    if (declarator->type == PTX_PRED)
        return ptx_error(p, declarator->line, "a parameter cannot be a predicate");
    if (ptx_is_directive(p, "ptr")) {
        declarator->pointer = true;
        ptx_next(p);
        uint32_t pointee;
        while (p->token.kind == PTX_TOKEN_DIRECTIVE) {
            bool align = ptx_is_directive(p, "align");
            ptx_suffix suffix = ptx_suffix_find(p->token.text, p->token.length);
            if (!align && suffix.kind != PTX_SUFFIX_SPACE)
                return ptx_error(p, p->token.line, "%s after .ptr is neither a state space nor .align", ptx_shown(p));
            ptx_next(p);
            if (align && !ptx_align(p, &pointee))
                return false;
        }
    }
    /* the directive .align may also follow the type */
    if (ptx_is_directive(p, "align")) {
        ptx_next(p);
        if (!ptx_align(p, &declarator->align))
            return false;
    }
    if (!ptx_name_wanted(p, "a parameter's name", &declarator->name))
        return false;
    uint64_t elements = lanes;
    if (ptx_accept(p, '[')) {
        int64_t size = 0;
        if (!ptx_is(p, ']') && !ptx_integer(p, &size))
            return false;
        if (size < 0 || size > 1 << 20)
            return ptx_error(p, declarator->line, "parameter '%s' is too large", declarator->name->text);
        elements *= (uint64_t)size;
        if (!ptx_expect(p, ']'))
            return false;
    }
    declarator->bytes = elements * ptx_type_bytes(declarator->type);
    if (!declarator->align)
        declarator->align = ptx_type_bytes(declarator->type) * lanes;
    return true;
}

/* Reads "(.param ... , .param ...)". Adds a symbol for each parameter to the current scope, and its index to *list.
 * *offset is the end of the earlier parameters in the parameter block. */
static bool ptx_formals(ptx_parser *p, uint32_t **list, size_t *count, size_t *capacity, uint64_t *offset)
{
    if (!ptx_expect(p, '('))
        return false;
    if (ptx_accept(p, ')'))
        return true;
    do {
        ptx_declarator formal;
        if (!ptx_parameter(p, &formal))
            return false;
        ptx_symbol symbol = {.name = formal.name->text,
                             .space = PTX_SPACE_PARAM,
                             .type = (uint8_t)formal.type,
                             .pointer_param = formal.pointer,
                             .align = formal.align,
                             .line = formal.line,
                             .bytes = formal.bytes,
                             .function = p->function,
                             .formal = true};
        if (!ptx_layout(offset, symbol.bytes, symbol.align, &symbol.offset))
            return ptx_error(p, formal.line, "the parameters are too large");
        uint32_t index = ptx_symbol_add(p, &symbol, formal.name);
        if (index == UINT32_MAX || !ptx_grow(p, list, capacity, *count + 1, sizeof **list))
            return false;
        (*list)[(*count)++] = index;
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ')');
}

static bool ptx_numbers(ptx_parser *p, uint32_t *values, unsigned count)
{
    ptx_next(p);
    for (unsigned i = 0; i < count; i++)
        values[i] = 1;
    for (unsigned i = 0; i < count; i++) {
        uint64_t value;
        if (!ptx_expect_integer(p, UINT32_MAX, "a number", &value))
            return false;
        values[i] = (uint32_t)value;
        if (!ptx_accept(p, ','))
            break;
    }
    return true;
}

/* If the current directive is about clusters and the target is older than sm_90, reports an error and returns false. */
static bool ptx_directive_known(ptx_parser *p)
{
    static const struct {
        const char *name;
        ptx_since since;
    } all[] = {{"reqnctapercluster", {90, 0}},
               {"maxclusterrank", {90, 0}},
               {"explicitcluster", {90, 0}},
               {"blocksareclusters", {90, 0}}};
    for (size_t k = 0; k < KILN__COUNT(all); k++)
        if (ptx_is_directive(p, all[k].name))
            return ptx_needs(p, p->token.line, all[k].since, all[k].name, (int)strlen(all[k].name));
    return true;
}

/* Reads the directives between the parameters and the body. */
static bool ptx_function_directives(ptx_parser *p, ptx_function *function)
{
    while (p->token.kind == PTX_TOKEN_DIRECTIVE) {
        if (!ptx_directive_known(p))
            return false;
        if (ptx_is_directive(p, "maxntid")) {
            if (!ptx_numbers(p, function->max_threads, 3))
                return false;
        } else if (ptx_is_directive(p, "reqntid")) {
            if (!ptx_numbers(p, function->req_threads, 3))
                return false;
        } else if (ptx_is_directive(p, "reqnctapercluster")) {
            if (!ptx_numbers(p, function->req_cluster, 3))
                return false;
        } else if (ptx_is_directive(p, "minnctapersm") || ptx_is_directive(p, "maxnctapersm")) {
            uint32_t value = 0;
            bool least = ptx_is_directive(p, "minnctapersm");
            if (!ptx_numbers(p, &value, 1))
                return false;
            if (least)
                function->min_blocks = value;
        } else if (ptx_is_directive(p, "maxnreg")) {
            if (!ptx_numbers(p, &function->max_registers, 1))
                return false;
        } else if (ptx_is_directive(p, "maxclusterrank")) {
            if (!ptx_numbers(p, &function->max_cluster, 1))
                return false;
        } else if (ptx_is_directive(p, "abi_preserve") || ptx_is_directive(p, "abi_preserve_control")) {
            uint32_t unused;
            if (!ptx_numbers(p, &unused, 1))
                return false;
        } else if (ptx_is_directive(p, "explicitcluster")) {
            function->explicit_cluster = true;
            ptx_next(p);
        } else if (ptx_is_directive(p, "blocksareclusters")) {
            function->blocks_are_clusters = true;
            ptx_next(p);
        } else if (ptx_is_directive(p, "noreturn")) {
            function->noreturn = true;
            ptx_next(p);
        } else if (ptx_is_directive(p, "pragma")) {
            ptx_skip_statement(p);
        } else if (ptx_is_directive(p, "attribute")) {
            if (!ptx_attribute(p, NULL))
                return false;
        } else {
            return ptx_error(p, p->token.line, "Parsing error near %s: unknown directive of a function", ptx_shown(p));
        }
    }
    return true;
}

/* Returns true if the parameters and return values of two functions have the same number and the same sizes. */
static bool ptx_same_formals(const ptx_parser *p, const ptx_function *a, const ptx_function *b)
{
    if (a->param_count != b->param_count || a->return_count != b->return_count)
        return false;
    for (uint32_t i = 0; i < a->param_count + a->return_count; i++)
        if (p->symbols[a->params[i]].bytes != p->symbols[b->params[i]].bytes)
            return false;
    return true;
}

void *ptx_keep(ptx_parser *p, const void *data, size_t count, size_t size)
{
    void *copy = kiln__arena_alloc(&p->module->arena, count * size);
    if (!copy)
        ptx_out_of_memory(p);
    else if (count)
        memcpy(copy, data, count * size);
    return copy;
}

const uint64_t *ptx_param_sizes(ptx_parser *p, uint32_t index)
{
    ptx_function *function = &p->functions[index];
    const size_t count = (size_t)function->return_count + function->param_count;
    if (function->param_sizes)
        return function->param_sizes;
    uint64_t *sizes = kiln__arena_alloc(&p->module->arena, (count + 1) * sizeof *sizes);
    if (!sizes) {
        ptx_out_of_memory(p);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        sizes[i] = p->symbols[function->params[i]].bytes;
    return function->param_sizes = sizes;
}

/* Completes the function whose body has been read: copies its instructions, elements and registers to the module's
 * memory, and finds its reconvergence points. */
static bool ptx_function_finish(ptx_parser *p)
{
    ptx_function *function = &p->functions[p->function];
    ptx_insn *insns = ptx_keep(p, p->insns, p->insn_count, sizeof *insns);
    const ptx_operand *elements = ptx_keep(p, p->elements, p->element_count, sizeof *elements);
    const ptx_reg *regs = ptx_keep(p, p->regs, p->reg_count, sizeof *regs);
    const ptx_prototype *prototypes = ptx_keep(p, p->prototypes, p->prototype_count, sizeof *prototypes);
    if (!insns || !elements || !regs || !prototypes)
        return false;
    function->insns = insns;
    function->insn_count = (uint32_t)p->insn_count;
    function->elements = elements;
    function->element_count = (uint32_t)p->element_count;
    function->regs = regs;
    function->reg_count = (uint32_t)p->reg_count;
    function->prototypes = prototypes;
    function->prototype_count = (uint32_t)p->prototype_count;
    function->frame_bytes = p->frame_bytes;
    return p->errors || ptx_flow(p, insns, (uint32_t)p->insn_count, elements);
}

/* Returns the index of the function `name`. If the function was not declared before, adds it. Returns UINT32_MAX on
 * failure. */
static uint32_t ptx_function_index(ptx_parser *p, ptx_name *name, bool entry, uint32_t line)
{
    const ptx_binding *old = name->binding;
    if (old && old->kind == PTX_BIND_FUNCTION) {
        if (p->functions[old->index].entry == entry)
            return old->index;
        ptx_error(p, line, "'%s' is declared both as .entry and as .func", name->text);
        return UINT32_MAX;
    }
    if (old) {
        ptx_error(p, line, "'%s' is declared twice", name->text);
        return UINT32_MAX;
    }
    if (!ptx_grow(p, &p->functions, &p->function_capacity, p->function_count + 1, sizeof *p->functions))
        return UINT32_MAX;
    uint32_t index = (uint32_t)p->function_count;
    p->functions[p->function_count++] = (ptx_function){.name = name->text, .entry = entry, .line = line};
    return ptx_bind(p, name, PTX_BIND_FUNCTION, index) ? index : UINT32_MAX;
}

static bool ptx_function_header(ptx_parser *p, ptx_function *made)
{
    uint32_t *list = NULL;
    size_t count = 0, capacity = 0;
    bool good = false;
    ptx_name *name = NULL;
    /* In the text, return values come before the function's name. They belong to the function's scope, which begins
     * after the name, so that messages can name the function. So the parser first skips the list of return values, and
     * reads it after the name. */
    ptx_token before = p->token;
    const char *cursor = p->cursor;
    uint32_t line = p->line;
    if (ptx_is(p, '(')) {
        while (!ptx_is(p, ')') && !ptx_is(p, ';') && !ptx_is(p, '{') && p->token.kind != PTX_TOKEN_END)
            ptx_next(p);
        if (!ptx_expect(p, ')'))
            return false;
    }
    if (!ptx_name_wanted(p, "a function's name", &name))
        return false;
    made->name = name->text;
    uint32_t index = ptx_function_index(p, name, made->entry, made->line);
    if (index == UINT32_MAX || !ptx_scope_push(p))
        return false;
    p->function = index;
    ptx_token after = p->token;
    const char *resume = p->cursor;
    uint32_t resume_line = p->line;
    if (before.kind == PTX_TOKEN_PUNCTUATION && before.character == '(') {
        p->token = before;
        p->cursor = cursor;
        p->line = line;
        if (made->entry) {
            ptx_error(p, made->line, "a kernel has no return values");
            goto done;
        }
        if (!ptx_formals(p, &list, &count, &capacity, &made->param_bytes))
            goto done;
        made->return_count = (uint32_t)count;
        p->token = after;
        p->cursor = resume;
        p->line = resume_line;
    }
    if (ptx_is(p, '(') && !ptx_formals(p, &list, &count, &capacity, &made->param_bytes))
        goto done;
    made->param_count = (uint32_t)count - made->return_count;
    made->params = ptx_keep(p, list, count, sizeof *list);
    if (!made->params)
        goto done;
    if (made->entry && made->param_bytes > PTX_MAX_ENTRY_PARAMS) {
        ptx_error(p, made->line, "the parameters take %" PRIu64 " bytes, above the limit of %u", made->param_bytes,
                  PTX_MAX_ENTRY_PARAMS);
        goto done;
    }
    good = ptx_function_directives(p, made);
done:
    kiln__free(p->mem, list);
    return good;
}

/* Parses the rest of ".entry" or ".func": a declaration that ends with ';', or a definition. */
bool ptx_function_directive(ptx_parser *p, bool entry, ptx_linkage linkage)
{
    ptx_function made = {.entry = entry, .linkage = (uint8_t)linkage, .line = p->token.line};
    if (!entry && ptx_is_directive(p, "attribute") && !ptx_attribute(p, NULL))
        return false;
    if (!entry && ptx_is_directive(p, "noreturn")) {
        made.noreturn = true;
        ptx_next(p);
    }
    uint32_t depth = p->depth;
    p->insn_count = p->element_count = p->reg_count = p->prototype_count = 0;
    p->frame_bytes = 0;
    p->loc = 0;
    bool good = ptx_function_header(p, &made);
    bool body = good && ptx_is(p, '{');
    if (good) {
        ptx_function *function = &p->functions[p->function];
        if (function->params && !ptx_same_formals(p, function, &made))
            good = ptx_error(p, made.line, "the parameters differ from the earlier declaration in line %" PRIu32,
                             function->line);
        else if (body && function->defined && function->linkage != PTX_WEAK)
            good = ptx_error(p, made.line, "defined twice; the first time in line %" PRIu32, function->line);
        if (good && (body || !function->params)) {
            bool noreturn = function->noreturn || made.noreturn;
            *function = made;
            function->noreturn = noreturn;
            function->defined = body;
        }
    }
    if (body) {
        ptx_next(p);
        good = ptx_body(p) && good;
    } else if (good) {
        good = ptx_expect(p, ';');
    }
    while (p->depth > depth)
        ptx_scope_pop(p);
    if (body && good)
        good = ptx_function_finish(p);
    p->function = UINT32_MAX;
    return good || body; /* after errors in a body, which have been reported, parsing continues behind the body */
}

bool ptx_alias(ptx_parser *p)
{
    ptx_name *name = NULL, *target = NULL;
    uint32_t line = p->token.line;
    ptx_next(p);
    if (!ptx_name_wanted(p, "a function's name", &name) || !ptx_expect(p, ',') ||
        !ptx_name_wanted(p, "a function's name", &target) || !ptx_expect(p, ';'))
        return false;
    const ptx_binding *a = name->binding, *b = target->binding;
    if (!a || !b || a->kind != PTX_BIND_FUNCTION || b->kind != PTX_BIND_FUNCTION)
        return ptx_error(p, line, "both names of .alias must be functions that are declared before");
    ptx_function *function = &p->functions[a->index];
    const ptx_function *real = &p->functions[b->index];
    if (function->defined || !real->defined || !ptx_same_formals(p, function, real))
        return ptx_error(p, line, ".alias needs a declared function and a defined one with the same parameters");
    if (!ptx_repeat(p, line, &p->repeated, (uint64_t)real->insn_count + real->element_count + real->reg_count, 1,
                    "the aliases repeat too many instructions"))
        return false;
    const char *alias = function->name;
    uint8_t linkage = function->linkage;
    *function = *real;
    function->name = alias;
    function->linkage = linkage;
    function->alias_of = real->alias_of ? real->alias_of : b->index + 1;
    return true;
}
