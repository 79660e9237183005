/* ptx_module.c - what stands outside function bodies: directives, variables with their initialisers, functions. */
#include <inttypes.h>
#include <string.h>

#include "sim/ptx_internal.h"

#define PTX_MAX_BYTES (UINT64_C(1) << 40)  /* of one variable */
#define PTX_MAX_ENTRY_PARAMS 32764u

typedef struct ptx_loc_note { uint32_t loc; ptx_name *label; } ptx_loc_note;

/* ---- types and layout ---- */

/* Rounds *offset up to `align`, gives that as *at and moves *offset past `bytes`. */
bool ptx_layout(uint64_t *offset, uint64_t bytes, uint32_t align, uint64_t *at)
{
    uint64_t place = (*offset + align - 1) / align * align;
    if (bytes > PTX_MAX_BYTES || place > PTX_MAX_BYTES)
        return false;
    *at = place;
    *offset = place + bytes;
    return true;
}

static bool ptx_align(ptx_parser *p, uint32_t *align)
{
    uint64_t value;
    uint32_t line = p->token.line;
    if (!ptx_expect_integer(p, 1 << 20, "an alignment", &value))
        return false;
    if (value == 0 || (value & (value - 1)))
        return ptx_error(p, line, "alignment %" PRIu64 " is not a power of two", value);
    *align = (uint32_t)value;
    return true;
}

/* [.v2|.v4] .type, the current token being past any .align; *lanes 1, 2 or 4. */
static bool ptx_variable_type(ptx_parser *p, ptx_type *type, unsigned *lanes)
{
    *lanes = ptx_is_directive(p, "v2") ? 2 : ptx_is_directive(p, "v4") ? 4 : 1;
    if (*lanes > 1)
        ptx_next(p);
    if (p->token.kind != PTX_TOKEN_DIRECTIVE)
        return ptx_error(p, p->token.line, "Parsing error near %s: a type is wanted here", ptx_shown(p));
    if (ptx_is_directive(p, "texref") || ptx_is_directive(p, "samplerref") || ptx_is_directive(p, "surfref"))
        return ptx_unsupported(p, p->token.line, "type %s is not supported by the simulated device", ptx_shown(p));
    if (!ptx_type_find(p->token.text, p->token.length, type))
        return ptx_error(p, p->token.line, "%s is not a type", ptx_shown(p));
    ptx_next(p);
    return true;
}

static bool ptx_name_wanted(ptx_parser *p, const char *what, ptx_name **name)
{
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_error(p, p->token.line, "Parsing error near %s: %s is wanted here", ptx_shown(p), what);
    *name = p->token.name;
    ptx_next(p);
    return true;
}

/* ---- variables ---- */

#define PTX_MAX_DIMENSIONS 16

typedef struct ptx_initialiser {
    uint64_t strides[PTX_MAX_DIMENSIONS + 1]; /* elements of what one brace at that depth holds */
    unsigned depth, dimensions;
    bool open;                                /* the first dimension is the initialiser's to set */
    ptx_type type;
    uint64_t count;                           /* elements in all; open: seen so far */
    unsigned char *bytes; size_t used, capacity;
    ptx_reloc *relocs; size_t reloc_count, reloc_capacity;
} ptx_initialiser;

static bool ptx_init_store(ptx_parser *p, ptx_initialiser *init, uint64_t at, uint64_t bits)
{
    unsigned width = ptx_type_bytes(init->type);
    /* An initialiser is written out item by item, so it cannot be much longer than the text; skipping items in a huge
     * array could make it so. */
    uint64_t end = (at + 1) * width, limit = (UINT64_C(16) << 20) + (uint64_t)(p->end - p->start) * 16;
    if (end > limit)
        return ptx_error(p, p->token.line, "the initialiser is too large");
    if (end > init->used) {
        if (!ptx_grow(p, &init->bytes, &init->capacity, (size_t)end, 1))
            return false;
        memset(init->bytes + init->used, 0, (size_t)end - init->used);
        init->used = (size_t)end;
    }
    for (unsigned i = 0; i < width && i < 8; i++)
        init->bytes[at * width + i] = (unsigned char)(bits >> i * 8);
    return true;
}

/* name, name+4, generic(name), generic(name)+4, and within 0xFF00(...) any of them. */
static bool ptx_init_address(ptx_parser *p, ptx_reloc *reloc)
{
    if (p->token.kind == PTX_TOKEN_NAME && p->token.length == 7 && memcmp(p->token.text, "generic", 7) == 0 &&
        ptx_peek(p) == '(') {
        reloc->generic = true;
        ptx_next(p);
        ptx_next(p);
    }
    uint32_t line = p->token.line;
    ptx_name *name = NULL;
    if (!ptx_name_wanted(p, "the name of a variable or function", &name))
        return false;
    const ptx_binding *binding = ptx_lookup(p, name);
    if (!binding || (binding->kind != PTX_BIND_SYMBOL && binding->kind != PTX_BIND_FUNCTION))
        return ptx_error(p, line, "'%s' in an initialiser is neither a variable nor a function", name->text);
    reloc->function = binding->kind == PTX_BIND_FUNCTION;
    reloc->index = binding->index;
    if (!reloc->function && p->symbols[binding->index].space != PTX_SPACE_GLOBAL &&
        p->symbols[binding->index].space != PTX_SPACE_CONST)
        return ptx_error(p, line, "the address of '%s' is not a constant", name->text);
    if (reloc->generic && !ptx_expect(p, ')'))
        return false;
    return (!ptx_is(p, '+') && !ptx_is(p, '-')) || ptx_integer(p, &reloc->addend);
}

static bool ptx_init_item(ptx_parser *p, ptx_initialiser *init, uint64_t at)
{
    uint32_t line = p->token.line;
    unsigned width = ptx_type_bytes(init->type);
    ptx_reloc reloc = {.offset = at * width, .bytes = (uint8_t)width, .mask = UINT64_MAX};
    bool masked = p->token.kind == PTX_TOKEN_NUMBER && p->token.value.kind <= PTX_UNSIGNED && ptx_peek(p) == '(';
    const ptx_binding *constant = p->token.kind == PTX_TOKEN_NAME ? p->token.name->binding : NULL;
    if (masked) {
        reloc.mask = p->token.value.bits;
        while (reloc.shift < 56 && reloc.mask >> reloc.shift && !(reloc.mask >> reloc.shift & 0xFF))
            reloc.shift = (uint8_t)(reloc.shift + 8);
        if (reloc.mask == 0 || reloc.mask >> reloc.shift != 0xFF || width != 1)
            return ptx_error(p, line, "a mask selects one byte, as 0xFF00 does, and initialises a .b8 or .u8");
        ptx_next(p);
        ptx_next(p);
    } else if (p->token.kind != PTX_TOKEN_NAME || (constant && constant->kind == PTX_BIND_CONSTANT)) {
        ptx_value value;
        uint64_t bits;
        if (!ptx_expression(p, &value))
            return false;
        if (!ptx_convert(value, init->type, &bits) && value.kind <= PTX_UNSIGNED) {
            double real = value.kind == PTX_SIGNED ? (double)(int64_t)value.bits : (double)value.bits;
            value.kind = PTX_FLOAT64;
            memcpy(&value.bits, &real, sizeof real);
            if (!ptx_convert(value, init->type, &bits))
                return ptx_error(p, line, "an integer cannot initialise a .%s", ptx_type_name(init->type));
        } else if (!ptx_convert(value, init->type, &bits)) {
            return ptx_error(p, line, "a floating-point number cannot initialise a .%s", ptx_type_name(init->type));
        }
        return ptx_init_store(p, init, at, bits);
    }
    if (!ptx_init_address(p, &reloc) || (masked && !ptx_expect(p, ')')))
        return false;
    if (!masked && width < 4)
        return ptx_error(p, line, "an address does not fit into a .%s", ptx_type_name(init->type));
    if (!ptx_init_store(p, init, at, 0) ||
        !ptx_grow(p, &init->relocs, &init->reloc_capacity, init->reloc_count + 1, sizeof reloc))
        return false;
    init->relocs[init->reloc_count++] = reloc;
    return true;
}

/* Nested braces fill the array's dimensions; what they leave out is zero. */
static bool ptx_init_braces(ptx_parser *p, ptx_initialiser *init)
{
    uint64_t starts[PTX_MAX_DIMENSIONS + 2];
    unsigned depth = 0;
    uint64_t at = 0;
    do {
        if (ptx_is(p, '{')) {
            if (depth >= init->dimensions)
                return ptx_error(p, p->token.line, "braces are nested deeper than the array's dimensions");
            starts[depth++] = at;
            ptx_next(p);
            if (!ptx_is(p, '}'))
                continue;
        } else if (!ptx_is(p, '}')) {
            uint64_t room = init->open && depth <= 1 ? PTX_MAX_BYTES : starts[depth - 1] + init->strides[depth - 1];
            if (at >= room || (!init->open && at >= init->count))
                return ptx_error(p, p->token.line, "more values than the array has elements");
            if (!ptx_init_item(p, init, at++))
                return false;
            if (init->open && at > init->count)
                init->count = at;
        }
        while (ptx_is(p, '}')) {
            ptx_next(p);
            depth--;
            at = starts[depth];
            if (depth) {
                at += init->strides[depth];
                if (init->open && at > init->count)
                    init->count = at;
                if (!init->open && at > init->count)
                    return ptx_error(p, p->token.line, "more values than the array has elements");
            }
            if (!depth)
                return true;
        }
        if (p->token.kind == PTX_TOKEN_END || !ptx_expect(p, ','))
            return p->token.kind != PTX_TOKEN_END ? false : ptx_error(p, p->token.line, "'}' is missing");
        if (ptx_is(p, '}'))
            return ptx_error(p, p->token.line, "a value is wanted after ','");
    } while (true);
}

static bool ptx_init_finish(ptx_parser *p, ptx_initialiser *init, ptx_symbol *symbol)
{
    uint64_t limit = (UINT64_C(16) << 20) + (uint64_t)(p->end - p->start) * 16;
    if (symbol->bytes > limit || p->init_bytes + symbol->bytes > limit)
        return ptx_error(p, symbol->line, "initialised variable '%s' of %" PRIu64 " bytes is too large", symbol->name,
                         symbol->bytes);
    p->init_bytes += symbol->bytes;
    unsigned char *bytes = kiln__arena_alloc(&p->module->arena, (size_t)symbol->bytes);
    ptx_reloc *relocs = kiln__arena_alloc(&p->module->arena, init->reloc_count * sizeof *relocs);
    if (!bytes || !relocs)
        return ptx_out_of_memory(p);
    if (init->used)
        memcpy(bytes, init->bytes, init->used);
    if (init->reloc_count)
        memcpy(relocs, init->relocs, init->reloc_count * sizeof *relocs);
    symbol->init = bytes;
    symbol->relocs = relocs;
    symbol->reloc_count = init->reloc_count;
    return true;
}

uint32_t ptx_symbol_add(ptx_parser *p, const ptx_symbol *symbol, ptx_name *name)
{
    const ptx_binding *old = name->binding;
    if (old && old->depth == p->depth) {
        /* `.extern .global x;` and then its definition, or a second declaration */
        if (old->kind == PTX_BIND_SYMBOL && symbol->function == UINT32_MAX) {
            ptx_symbol *earlier = &p->symbols[old->index];
            if (earlier->linkage == PTX_EXTERN || symbol->linkage == PTX_EXTERN || earlier->linkage == PTX_WEAK ||
                earlier->linkage == PTX_COMMON) {
                if (earlier->space != symbol->space)
                    goto twice;
                if (earlier->linkage == PTX_EXTERN && symbol->linkage != PTX_EXTERN)
                    *earlier = *symbol;
                return old->index;
            }
        }
twice:
        ptx_error(p, symbol->line, "'%s' is declared twice", name->text);
        return UINT32_MAX;
    }
    if (!ptx_grow(p, &p->symbols, &p->symbol_capacity, p->symbol_count + 1, sizeof *symbol))
        return UINT32_MAX;
    uint32_t index = (uint32_t)p->symbol_count;
    p->symbols[p->symbol_count++] = *symbol;
    return ptx_bind(p, name, PTX_BIND_SYMBOL, index) ? index : UINT32_MAX;
}

/* The dimensions after a variable's name; an empty first one is left to the initialiser. */
static bool ptx_dimensions(ptx_parser *p, ptx_initialiser *init, unsigned lanes, uint64_t *elements)
{
    uint64_t sizes[PTX_MAX_DIMENSIONS];
    unsigned count = 0;
    while (ptx_accept(p, '[')) {
        if (count == PTX_MAX_DIMENSIONS - 1)
            return ptx_error(p, p->token.line, "an array has at most %d dimensions", PTX_MAX_DIMENSIONS - 1);
        int64_t size = 0;
        if (count == 0 && ptx_is(p, ']'))
            init->open = true;
        else if (!ptx_integer(p, &size))
            return false;
        if (size < 0 || (size == 0 && !init->open && count == 0 && !ptx_is(p, ']')))
            return ptx_error(p, p->token.line, "an array's size is at least 0");
        sizes[count++] = (uint64_t)size;
        if (!ptx_expect(p, ']'))
            return false;
    }
    if (lanes > 1)
        sizes[count++] = lanes;
    uint64_t total = 1;
    for (unsigned i = count; i-- > 0;) {
        init->strides[i + 1] = total;
        if (sizes[i] && total > PTX_MAX_BYTES / sizes[i])
            return ptx_error(p, p->token.line, "an array is larger than %" PRIu64 " bytes", PTX_MAX_BYTES);
        total *= i == 0 && init->open ? 1 : sizes[i];
    }
    init->strides[0] = total; /* open: unused */
    init->dimensions = count;
    *elements = init->open ? 0 : total;
    return true;
}

static bool ptx_attribute(ptx_parser *p)
{
    ptx_next(p);
    if (!ptx_expect(p, '('))
        return false;
    while (!ptx_is(p, ')') && !ptx_is(p, ';') && p->token.kind != PTX_TOKEN_END)
        ptx_next(p);
    /* .unified(a, b) within .attribute(...) */
    while (ptx_accept(p, ')') || ptx_accept(p, ','))
        continue;
    return true;
}

static bool ptx_variable_one(ptx_parser *p, ptx_symbol *symbol, ptx_initialiser *init, ptx_type type, unsigned lanes)
{
    ptx_name *name = NULL;
    uint64_t elements = 0;
    unsigned width = ptx_type_bytes(type);
    init->type = type;
    symbol->line = p->token.line;
    if (!ptx_name_wanted(p, "a variable's name", &name) || !ptx_dimensions(p, init, lanes, &elements))
        return false;
    symbol->name = name->text;
    init->count = elements;
    bool given = ptx_accept(p, '=');
    if (given) {
        if (symbol->space != PTX_SPACE_GLOBAL && symbol->space != PTX_SPACE_CONST)
            return ptx_error(p, symbol->line, "'%s': only .global and .const variables are initialised", name->text);
        if (symbol->linkage == PTX_EXTERN)
            return ptx_error(p, symbol->line, "'%s' is .extern and cannot be initialised", name->text);
        if (init->dimensions ? !ptx_is(p, '{') : ptx_is(p, '{'))
            return ptx_error(p, p->token.line, "'%s' is %s", name->text,
                             init->dimensions ? "an array: '{' is wanted here" : "not an array");
        if (!(init->dimensions ? ptx_init_braces(p, init) : ptx_init_item(p, init, 0)))
            return false;
        elements = init->open ? (init->count + init->strides[1] - 1) / init->strides[1] * init->strides[1] : elements;
    } else if (init->open && symbol->linkage != PTX_EXTERN) {
        return ptx_error(p, symbol->line, "array '%s' has no size", name->text);
    }
    if (elements > PTX_MAX_BYTES / width)
        return ptx_error(p, symbol->line, "'%s' is larger than %" PRIu64 " bytes", name->text, PTX_MAX_BYTES);
    symbol->bytes = elements * width;
    if (given && !ptx_init_finish(p, init, symbol))
        return false;
    if (symbol->space == PTX_SPACE_PARAM) {
        if (!ptx_layout(&p->scopes[p->depth].frame, symbol->bytes, symbol->align, &symbol->offset))
            return ptx_error(p, symbol->line, "'%s' does not fit into a frame", name->text);
        if (p->scopes[p->depth].frame > p->frame_bytes)
            p->frame_bytes = p->scopes[p->depth].frame;
    }
    return ptx_symbol_add(p, symbol, name) != UINT32_MAX;
}

bool ptx_variable(ptx_parser *p, ptx_space space, ptx_linkage linkage)
{
    ptx_symbol common = {.space = (uint8_t)space, .linkage = (uint8_t)linkage, .function = p->function};
    ptx_type type;
    unsigned lanes;
    while (p->token.kind == PTX_TOKEN_DIRECTIVE) {
        if (ptx_is_directive(p, "align")) {
            ptx_next(p);
            if (!ptx_align(p, &common.align))
                return false;
        } else if (ptx_is_directive(p, "attribute")) {
            if (!ptx_attribute(p))
                return false;
        } else {
            break;
        }
    }
    if (!ptx_variable_type(p, &type, &lanes))
        return false;
    if (type == PTX_PRED)
        return ptx_error(p, p->token.line, "a variable in memory cannot be a predicate");
    common.type = (uint8_t)type;
    if (!common.align)
        common.align = ptx_type_bytes(type) * lanes;
    do {
        ptx_symbol symbol = common;
        ptx_initialiser init = {0};
        bool good = ptx_variable_one(p, &symbol, &init, type, lanes);
        kiln__free(p->mem, init.bytes);
        kiln__free(p->mem, init.relocs);
        if (!good)
            return false;
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';');
}

/* ---- functions ---- */

/* A formal parameter from after ".param" (or ".reg") on; the name may be "_" (in prototypes). */
bool ptx_parameter(ptx_parser *p, ptx_declarator *declarator)
{
    unsigned lanes;
    *declarator = (ptx_declarator){.line = p->token.line};
    if (ptx_is_directive(p, "reg"))
        return ptx_unsupported(p, p->token.line, "parameters in .reg space are not supported by the simulated device");
    if (!ptx_is_directive(p, "param"))
        return ptx_error(p, p->token.line, "Parsing error near %s: '.param' is wanted here", ptx_shown(p));
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
    /* .align may also follow the type */
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

/* "(.param ... , .param ...)": symbols in the current scope, their indices appended to *list. */
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
        ptx_symbol symbol = {.name = formal.name->text, .space = PTX_SPACE_PARAM, .type = (uint8_t)formal.type,
                             .pointer_param = formal.pointer, .align = formal.align, .line = formal.line,
                             .bytes = formal.bytes, .function = p->function, .formal = true};
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

/* What stands between the parameters and the body. */
static bool ptx_function_directives(ptx_parser *p, ptx_function *function)
{
    while (p->token.kind == PTX_TOKEN_DIRECTIVE) {
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
        } else if (ptx_is_directive(p, "maxclusterrank") || ptx_is_directive(p, "abi_preserve") ||
                   ptx_is_directive(p, "abi_preserve_control")) {
            uint32_t unused;
            if (!ptx_numbers(p, &unused, 1))
                return false;
        } else if (ptx_is_directive(p, "explicitcluster") || ptx_is_directive(p, "blocksareclusters")) {
            ptx_next(p);
        } else if (ptx_is_directive(p, "noreturn")) {
            function->noreturn = true;
            ptx_next(p);
        } else if (ptx_is_directive(p, "pragma")) {
            ptx_skip_statement(p);
        } else if (ptx_is_directive(p, "attribute")) {
            if (!ptx_attribute(p))
                return false;
        } else {
            return ptx_error(p, p->token.line, "Parsing error near %s: unknown directive of a function", ptx_shown(p));
        }
    }
    return true;
}

/* Do two lists of parameters pass the same bytes? */
static bool ptx_same_formals(const ptx_parser *p, const ptx_function *a, const ptx_function *b)
{
    if (a->param_count != b->param_count || a->return_count != b->return_count)
        return false;
    for (uint32_t i = 0; i < a->param_count + a->return_count; i++)
        if (p->symbols[a->params[i]].bytes != p->symbols[b->params[i]].bytes)
            return false;
    return true;
}

static void *ptx_keep(ptx_parser *p, const void *data, size_t count, size_t size)
{
    void *copy = kiln__arena_alloc(&p->module->arena, count * size);
    if (!copy)
        ptx_out_of_memory(p);
    else if (count)
        memcpy(copy, data, count * size);
    return copy;
}

/* The body is read: its parts move into the module. */
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

/* The function that `name` is to mean; an earlier declaration of it is taken up. UINT32_MAX on failure. */
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
    /* Return values stand before the name, but belong to the scope that is entered with the name known, so that
     * messages have it. */
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

/* From after ".entry" or ".func" on: a declaration that ends in ';', or a definition. */
static bool ptx_function_directive(ptx_parser *p, bool entry, ptx_linkage linkage)
{
    ptx_function made = {.entry = entry, .linkage = (uint8_t)linkage, .line = p->token.line};
    if (!entry && ptx_is_directive(p, "attribute") && !ptx_attribute(p))
        return false;
    if (!entry && ptx_is_directive(p, "noreturn")) {
        made.noreturn = true;
        ptx_next(p);
    }
    uint32_t depth = p->depth;
    p->insn_count = p->element_count = p->reg_count = p->prototype_count = 0;
    p->frame_bytes = 0;
    p->loc = 0;
    p->brx_count = 0;
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
    return good || body; /* a body's errors are told; the text goes on after it */
}

static bool ptx_alias(ptx_parser *p)
{
    ptx_name *name = NULL, *target = NULL;
    uint32_t line = p->token.line;
    ptx_next(p);
    if (!ptx_name_wanted(p, "a function's name", &name) || !ptx_expect(p, ',') ||
        !ptx_name_wanted(p, "a function's name", &target) || !ptx_expect(p, ';'))
        return false;
    const ptx_binding *a = name->binding, *b = target->binding;
    if (!a || !b || a->kind != PTX_BIND_FUNCTION || b->kind != PTX_BIND_FUNCTION)
        return ptx_error(p, line, "both names of .alias are functions declared before");
    ptx_function *function = &p->functions[a->index];
    const ptx_function *real = &p->functions[b->index];
    if (function->defined || !real->defined || !ptx_same_formals(p, function, real))
        return ptx_error(p, line, ".alias takes a declared function and a defined one with the same parameters");
    const char *alias = function->name;
    uint8_t linkage = function->linkage;
    *function = *real;
    function->name = alias;
    function->linkage = linkage;
    return true;
}

/* ---- lines of source ---- */

static uint32_t ptx_loc_hash(const ptx_loc *loc)
{
    uint32_t hash = loc->file * 0x9E3779B1u ^ loc->line * 0x85EBCA77u ^ loc->column * 0xC2B2AE3Du;
    return hash ^ hash >> 15;
}

static bool ptx_same_place(const ptx_loc *a, const ptx_loc *b)
{
    return a->file == b->file && a->line == b->line && a->column == b->column;
}

static uint32_t *ptx_loc_find(ptx_parser *p, const ptx_loc *loc)
{
    if (p->loc_index_count * 2 >= p->loc_index_capacity) {
        size_t capacity = p->loc_index_capacity ? p->loc_index_capacity * 2 : 256;
        uint32_t *wider = kiln__calloc(p->mem, capacity, sizeof *wider);
        if (!wider) {
            ptx_out_of_memory(p);
            return NULL;
        }
        for (size_t i = 0; i < p->loc_index_capacity; i++) {
            if (!p->loc_index[i])
                continue;
            size_t at = ptx_loc_hash(&p->locs[p->loc_index[i]]) & (capacity - 1);
            while (wider[at])
                at = (at + 1) & (capacity - 1);
            wider[at] = p->loc_index[i];
        }
        kiln__free(p->mem, p->loc_index);
        p->loc_index = wider;
        p->loc_index_capacity = capacity;
    }
    size_t at = ptx_loc_hash(loc) & (p->loc_index_capacity - 1);
    while (p->loc_index[at] && !ptx_same_place(&p->locs[p->loc_index[at]], loc))
        at = (at + 1) & (p->loc_index_capacity - 1);
    return &p->loc_index[at];
}

/* The index of a new entry; a later "inlined_at" of the same place finds the latest. 0 on failure. */
static uint32_t ptx_loc_add(ptx_parser *p, ptx_loc loc)
{
    if (!ptx_grow(p, &p->locs, &p->loc_capacity, p->loc_count + 1, sizeof loc))
        return 0;
    uint32_t index = (uint32_t)p->loc_count;
    p->locs[p->loc_count++] = loc;
    uint32_t *slot = ptx_loc_find(p, &loc);
    if (!slot)
        return 0;
    p->loc_index_count += *slot == 0;
    *slot = index;
    return index;
}

static bool ptx_place(ptx_parser *p, ptx_loc *loc)
{
    uint64_t file = 0, line = 0, column = 0;
    if (!ptx_expect_integer(p, UINT32_MAX, "a file's number", &file) ||
        !ptx_expect_integer(p, UINT32_MAX, "a line", &line))
        return false;
    if (p->token.kind == PTX_TOKEN_NUMBER && !ptx_expect_integer(p, UINT32_MAX, "a column", &column))
        return false;
    *loc = (ptx_loc){.file = (uint32_t)file, .line = (uint32_t)line, .column = (uint32_t)column};
    return true;
}

static bool ptx_word(ptx_parser *p, const char *word)
{
    if (p->token.kind != PTX_TOKEN_NAME || p->token.length != strlen(word) ||
        memcmp(p->token.text, word, p->token.length) != 0)
        return false;
    ptx_next(p);
    return true;
}

bool ptx_loc_directive(ptx_parser *p)
{
    ptx_loc loc, outer;
    ptx_name *label = NULL;
    uint32_t line = p->token.line;
    ptx_next(p);
    if (!ptx_place(p, &loc))
        return false;
    while (ptx_accept(p, ',')) {
        if (ptx_word(p, "function_name")) {
            int64_t offset;
            if (!ptx_name_wanted(p, "a label", &label) || (ptx_is(p, '+') && !ptx_integer(p, &offset)))
                return false;
        } else if (ptx_word(p, "inlined_at")) {
            if (!ptx_place(p, &outer))
                return false;
            uint32_t *slot = ptx_loc_find(p, &outer);
            if (!slot)
                return false;
            loc.inlined_at = *slot ? *slot : ptx_loc_add(p, outer);
        } else {
            return ptx_error(p, line, "Parsing error near %s: 'function_name' or 'inlined_at' is wanted here",
                             ptx_shown(p));
        }
    }
    p->loc = ptx_loc_add(p, loc);
    if (label && p->loc) {
        if (!ptx_grow(p, &p->loc_notes, &p->loc_note_capacity, p->loc_note_count + 1, sizeof *p->loc_notes))
            return false;
        p->loc_notes[p->loc_note_count++] = (ptx_loc_note){p->loc, label};
    }
    return !p->memory;
}

bool ptx_file_directive(ptx_parser *p)
{
    uint64_t number, unused;
    ptx_next(p);
    if (!ptx_expect_integer(p, 1 << 20, "a file's number", &number))
        return false;
    if (p->token.kind != PTX_TOKEN_STRING)
        return ptx_error(p, p->token.line, "Parsing error near %s: a file's name is wanted here", ptx_shown(p));
    const char *name = kiln__arena_strndup(&p->module->arena, p->token.text, p->token.length);
    if (!name)
        return ptx_out_of_memory(p);
    ptx_next(p);
    while (ptx_accept(p, ','))
        if (!ptx_expect_integer(p, UINT64_MAX, "a number", &unused))
            return false;
    /* Numbers are dense in what compilers write; a far one would waste memory. */
    if (number > p->file_count + 65536)
        return true;
    if (!ptx_grow(p, &p->files, &p->file_capacity, (size_t)number + 1, sizeof *p->files))
        return false;
    while (p->file_count <= number)
        p->files[p->file_count++] = "";
    p->files[number] = name;
    return true;
}

/* Debug sections are skipped; of .debug_str the strings are kept by their labels' names, as .loc's function_name refers
 * to them. */
static bool ptx_section(ptx_parser *p)
{
    ptx_next(p);
    bool strings = ptx_is_directive(p, "debug_str");
    while (!ptx_is(p, '{')) {
        if (p->token.kind == PTX_TOKEN_END || ptx_is(p, ';'))
            return ptx_error(p, p->token.line, "Parsing error near %s: '{' is wanted here", ptx_shown(p));
        ptx_next(p);
    }
    kiln__text text = {.mem = p->mem};
    ptx_name *label = NULL;
    while (!ptx_is(p, '}') && p->token.kind != PTX_TOKEN_END) {
        if (strings && p->token.kind == PTX_TOKEN_NAME && ptx_peek(p) == ':') {
            label = p->token.name;
            text.length = 0;
        } else if (label && p->token.kind == PTX_TOKEN_NUMBER) {
            char byte = (char)p->token.value.bits;
            kiln__text_add(&text, &byte, 1);
            if (text.failed || (!byte && !(label->string = kiln__arena_strdup(&p->module->arena, text.data)))) {
                ptx_out_of_memory(p);
                break;
            }
            if (!byte)
                label = NULL;
        }
        ptx_next(p);
    }
    kiln__text_free(&text);
    return ptx_expect(p, '}');
}

/* ---- the module ---- */

/* Error recovery, and directives without meaning here: past the next ';' or the block that starts before it. */
void ptx_skip_statement(ptx_parser *p)
{
    unsigned open = 0;
    while (p->token.kind != PTX_TOKEN_END) {
        if (ptx_is(p, '{')) {
            open++;
        } else if (ptx_is(p, '}')) {
            if (open == 0)
                return;
            if (--open == 0) {
                ptx_next(p);
                return;
            }
        } else if (ptx_is(p, ';') && open == 0) {
            ptx_next(p);
            return;
        }
        ptx_next(p);
    }
}

static bool ptx_version(ptx_parser *p)
{
    ptx_next(p);
    double version;
    if (p->token.kind != PTX_TOKEN_NUMBER || p->token.value.kind != PTX_FLOAT64)
        return ptx_error(p, p->token.line, "Parsing error near %s: a version as 9.0 is wanted here", ptx_shown(p));
    memcpy(&version, &p->token.value.bits, sizeof version);
    if (!(version >= 1.0 && version < 100.0))
        return ptx_error(p, p->token.line, "PTX version %s is not known", ptx_shown(p));
    p->module->version_major = (int)version;
    p->module->version_minor = (int)((version - (int)version) * 10 + 0.5);
    ptx_next(p);
    return true;
}

static bool ptx_target(ptx_parser *p)
{
    do {
        ptx_next(p);
        if (p->token.kind != PTX_TOKEN_NAME)
            return ptx_error(p, p->token.line, "Parsing error near %s: a target as sm_80 is wanted here", ptx_shown(p));
        if (p->token.length > 3 && memcmp(p->token.text, "sm_", 3) == 0) {
            int target = 0;
            for (size_t i = 3; i < p->token.length && p->token.text[i] >= '0' && p->token.text[i] <= '9'; i++)
                target = target > 9999 ? target : target * 10 + (p->token.text[i] - '0');
            if (target < 10)
                return ptx_error(p, p->token.line, "%s is not a target", ptx_shown(p));
            p->module->target = target;
        }
        ptx_next(p);
    } while (ptx_is(p, ','));
    return true;
}

static bool ptx_address_size(ptx_parser *p)
{
    uint64_t size;
    uint32_t line = p->token.line;
    ptx_next(p);
    if (!ptx_expect_integer(p, 64, "an address size", &size))
        return false;
    return size == 64 || ptx_unsupported(p, line, "address size %" PRIu64 " is not supported by the simulated device", size);
}

static bool ptx_linkage_word(ptx_parser *p, ptx_linkage *linkage)
{
    static const struct { const char *name; ptx_linkage linkage; } words[] = {
        {"visible", PTX_VISIBLE}, {"extern", PTX_EXTERN}, {"weak", PTX_WEAK}, {"common", PTX_COMMON}};
    for (size_t i = 0; i < KILN__COUNT(words); i++) {
        if (ptx_is_directive(p, words[i].name)) {
            *linkage = words[i].linkage;
            ptx_next(p);
            return true;
        }
    }
    return false;
}

static bool ptx_directive(ptx_parser *p)
{
    ptx_linkage linkage = PTX_LOCAL;
    if (p->token.kind == PTX_TOKEN_PUNCTUATION && p->token.character == ';') {
        ptx_next(p);
        return true;
    }
    if (p->token.kind != PTX_TOKEN_DIRECTIVE)
        return ptx_error(p, p->token.line, "Parsing error near %s: a directive is wanted here", ptx_shown(p));
    if (ptx_is_directive(p, "version"))
        return ptx_version(p);
    if (ptx_is_directive(p, "target"))
        return ptx_target(p);
    if (ptx_is_directive(p, "address_size"))
        return ptx_address_size(p);
    if (ptx_is_directive(p, "file"))
        return ptx_file_directive(p);
    if (ptx_is_directive(p, "section"))
        return ptx_section(p);
    if (ptx_is_directive(p, "loc"))
        return ptx_loc_directive(p);
    if (ptx_is_directive(p, "alias"))
        return ptx_alias(p);
    if (ptx_is_directive(p, "pragma")) {
        ptx_skip_statement(p);
        return true;
    }
    while (ptx_linkage_word(p, &linkage))
        continue;
    bool entry = ptx_is_directive(p, "entry");
    if (entry || ptx_is_directive(p, "func")) {
        ptx_next(p);
        return ptx_function_directive(p, entry, linkage);
    }
    ptx_suffix suffix = {PTX_SUFFIX_UNKNOWN, 0};
    if (p->token.kind == PTX_TOKEN_DIRECTIVE)
        suffix = ptx_suffix_find(p->token.text, p->token.length);
    if (suffix.kind != PTX_SUFFIX_SPACE || suffix.value == PTX_SPACE_PARAM)
        return ptx_error(p, p->token.line, "Parsing error near %s: unknown directive", ptx_shown(p));
    ptx_next(p);
    return ptx_variable(p, (ptx_space)suffix.value, linkage);
}

static bool ptx_module_finish(ptx_parser *p)
{
    ptx_module *module = p->module;
    for (size_t i = 0; i < p->loc_note_count; i++)
        p->locs[p->loc_notes[i].loc].inlined_from = p->loc_notes[i].label->string;
    module->functions = ptx_keep(p, p->functions, p->function_count, sizeof *p->functions);
    module->symbols = ptx_keep(p, p->symbols, p->symbol_count, sizeof *p->symbols);
    module->locs = ptx_keep(p, p->locs, p->loc_count, sizeof *p->locs);
    module->files = ptx_keep(p, p->files, p->file_count, sizeof *p->files);
    module->function_count = (uint32_t)p->function_count;
    module->symbol_count = (uint32_t)p->symbol_count;
    module->loc_count = (uint32_t)p->loc_count;
    module->file_count = (uint32_t)p->file_count;
    return !p->memory && !module->arena.failed;
}

static void ptx_module_read(ptx_parser *p)
{
    if (!ptx_names_init(p))
        return;
    p->depth = PTX_DEPTH_MODULE;
    if (!ptx_loc_add(p, (ptx_loc){0}) && p->memory)
        return;
    ptx_next(p);
    while (p->token.kind != PTX_TOKEN_END) {
        const char *before = p->token.text;
        if (!ptx_directive(p)) {
            ptx_skip_statement(p);
            if (p->token.kind != PTX_TOKEN_END && (ptx_is(p, '}') || p->token.text == before))
                ptx_next(p);
        }
    }
    if (!p->memory && !p->errors && !p->module->target)
        ptx_error(p, 1, "Missing .version or .target directive at start of file");
}

static void ptx_parser_free(ptx_parser *p)
{
    void *const arrays[] = {p->names, p->spellings, p->symbols, p->functions, p->locs, p->loc_notes, p->loc_index,
                            (void *)p->files, p->insns, p->elements, p->regs, p->prototypes};
    for (size_t i = 0; i < KILN__COUNT(arrays); i++)
        kiln__free(p->mem, arrays[i]);
    kiln__arena_free(&p->scratch);
    kiln__free(p->mem, p);
}

ptx_result ptx_parse(const kiln_allocator *mem, const char *text, size_t length, ptx_module **module, kiln__text *log)
{
    *module = NULL;
    ptx_parser *p = kiln__calloc(mem, 1, sizeof *p);
    ptx_module *made = kiln__calloc(mem, 1, sizeof *made);
    if (!p || !made) {
        kiln__free(mem, p);
        kiln__free(mem, made);
        return PTX_MEMORY;
    }
    made->arena.mem = mem;
    *p = (ptx_parser){.mem = mem, .module = made, .scratch = {.mem = mem}, .log = log, .start = text, .cursor = text,
                      .end = text + length, .line = 1, .function = UINT32_MAX};
    ptx_result result = PTX_OK;
    if (length >= UINT32_MAX / 2)
        ptx_error(p, 1, "the text is larger than 2 GiB");
    else
        ptx_module_read(p);
    if (p->memory || p->scratch.failed || made->arena.failed)
        result = PTX_MEMORY;
    else if (p->errors)
        result = p->invalid ? PTX_INVALID : PTX_UNSUPPORTED;
    else if (!ptx_module_finish(p))
        result = PTX_MEMORY;
    if (p->errors && result != PTX_MEMORY)
        kiln__text_puts(log, "ptxas fatal   : Ptx assembly aborted due to errors\n");
    if (result == PTX_OK)
        *module = made;
    else
        ptx_free(mem, made);
    ptx_parser_free(p);
    return result;
}

void ptx_free(const kiln_allocator *mem, ptx_module *module)
{
    if (!module)
        return;
    kiln__arena_free(&module->arena);
    kiln__free(mem, module);
}
