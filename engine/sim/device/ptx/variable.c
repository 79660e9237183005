/* variable.c - variables: types, array sizes, layout, initialisers. */
#include <inttypes.h>
#include <string.h>

#include "ptx_internal.h"

#define PTX_MAX_BYTES (UINT64_C(1) << 40) /* largest number of bytes of one variable */

/* ---- types and layout ---- */

/* Rounds *offset up to a multiple of `align`, stores the result in *at, and sets *offset to *at + `bytes`. Returns
 * false, and changes nothing, if `bytes` or *at would be larger than PTX_MAX_BYTES. */
bool ptx_layout(uint64_t *offset, uint64_t bytes, uint32_t align, uint64_t *at)
{
    uint64_t place = (*offset + align - 1) / align * align;
    if (bytes > PTX_MAX_BYTES || place > PTX_MAX_BYTES)
        return false;
    *at = place;
    *offset = place + bytes;
    return true;
}

bool ptx_align(ptx_parser *p, uint32_t *align)
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

/* Reads "[.v2|.v4] .type". The current token is the first token after an optional .align. *lanes becomes 1, 2 or 4: the
 * number of elements of the vector type. */
bool ptx_variable_type(ptx_parser *p, ptx_type *type, unsigned *lanes)
{
    *lanes = ptx_is_directive(p, "v2") ? 2 : ptx_is_directive(p, "v4") ? 4 : 1;
    if (*lanes > 1)
        ptx_next(p);
    if (p->token.kind != PTX_TOKEN_DIRECTIVE)
        return ptx_error(p, p->token.line, "Parsing error near %s: expected a type", ptx_shown(p));
    if (ptx_is_directive(p, "texref") || ptx_is_directive(p, "samplerref") || ptx_is_directive(p, "surfref"))
        return ptx_unsupported(p, p->token.line, "type %s is not supported by the simulated device", ptx_shown(p));
    if (!ptx_type_find(p->token.text, p->token.length, type) || *type > PTX_F64)
        return ptx_error(p, p->token.line, "%s is not a type", ptx_shown(p));
    ptx_next(p);
    return true;
}

bool ptx_name_wanted(ptx_parser *p, const char *what, ptx_name **name)
{
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_error(p, p->token.line, "Parsing error near %s: expected %s", ptx_shown(p), what);
    *name = p->token.name;
    ptx_next(p);
    return true;
}

/* ---- variables ---- */

#define PTX_MAX_DIMENSIONS 16

typedef struct ptx_initialiser {
    /* indexed by the depth of a pair of nested braces: the number of elements inside the pair */
    uint64_t strides[PTX_MAX_DIMENSIONS + 1];
    unsigned depth, dimensions;
    bool open; /* true if the initialiser determines the first dimension, as in x[] */
    ptx_type type;
    uint64_t count; /* total number of elements; if `open` is true, the number of elements so far */
    unsigned char *bytes;
    size_t used, capacity;
    ptx_reloc *relocs;
    size_t reloc_count, reloc_capacity;
} ptx_initialiser;

static bool ptx_init_store(ptx_parser *p, ptx_initialiser *init, uint64_t at, uint64_t bits)
{
    unsigned width = ptx_type_bytes(init->type);
    /* An initialiser lists its items, so it is usually about as large as the text. Omitted elements of a huge array
     * could make it far larger. This limit prevents that. */
    uint64_t limit = (UINT64_C(16) << 20) + (uint64_t)(p->end - p->start) * 16;
    if (at >= limit / width) /* (at + 1) * width might overflow */
        return ptx_error(p, p->token.line, "the initialiser is too large");
    uint64_t end = (at + 1) * width;
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

/* Reads an address in an initialiser: name, name+4, generic(name) or generic(name)+4. For a masked address, such as
 * 0xFF00(name), the caller reads the mask. */
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

/* Reads one value of an initialiser and stores it as element `at`. There are three kinds of values:
 * 1. A constant expression is converted to the element's type.
 * 2. The address of a variable or function is stored as zeros with a relocation.
 * 3. A byte of an address, as in 0xFF00(name), is a relocation with a mask. The element must have one byte.
 * Returns false after an error. */
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

/* Reads an initialiser in nested braces, one level for each dimension of the array. Omitted elements are zero. */
static bool ptx_init_braces(ptx_parser *p, ptx_initialiser *init)
{
    uint64_t starts[PTX_MAX_DIMENSIONS + 2] = {0};
    unsigned depth = 0;
    uint64_t at = 0;
    do {
        if (!depth || ptx_is(p, '{')) { /* the caller has seen the first brace */
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
                if (at > PTX_MAX_BYTES) /* the sum of strides must not overflow */
                    return ptx_error(p, p->token.line, "more values than an array can have");
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
            return ptx_error(p, p->token.line, "expected a value after ','");
    } while (true);
}

static bool ptx_init_finish(ptx_parser *p, ptx_initialiser *init, ptx_symbol *symbol)
{
    uint64_t limit = (UINT64_C(16) << 20) + (uint64_t)(p->end - p->start) * 16;
    if (symbol->bytes > limit || p->init_bytes + symbol->bytes > limit || init->used > symbol->bytes)
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
        /* the earlier symbol may be an .extern declaration, before the definition or before another declaration */
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

/* Reads the dimensions after a variable's name. If the first dimension is empty, as in x[], the initialiser determines
 * it, and *elements becomes 0. */
static bool ptx_dimensions(ptx_parser *p, ptx_initialiser *init, unsigned lanes, uint64_t *elements)
{
    uint64_t sizes[PTX_MAX_DIMENSIONS];
    unsigned count = 0;
    while (ptx_accept(p, '[')) {
        if (count == PTX_MAX_DIMENSIONS - 1)
            return ptx_error(p, p->token.line, "an array can have at most %d dimensions", PTX_MAX_DIMENSIONS - 1);
        int64_t size = 0;
        if (count == 0 && ptx_is(p, ']'))
            init->open = true;
        else if (!ptx_integer(p, &size))
            return false;
        if (size < 0 || (size == 0 && !init->open && count == 0 && !ptx_is(p, ']')))
            return ptx_error(p, p->token.line, "an array's size must not be negative");
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
    if (init->open && total == 0) /* the number of elements of the first dimension would be 0 / 0 */
        return ptx_error(p, p->token.line, "an array whose first size is open has a size of 0");
    init->strides[0] = total; /* not used if `open` is true */
    init->dimensions = count;
    *elements = init->open ? 0 : total;
    return true;
}

bool ptx_attribute(ptx_parser *p, bool *managed)
{
    ptx_next(p);
    if (!ptx_expect(p, '('))
        return false;
    while (!ptx_is(p, ')') && !ptx_is(p, ';') && p->token.kind != PTX_TOKEN_END) {
        if (managed && ptx_is_directive(p, "managed"))
            *managed = true;
        ptx_next(p);
    }
    /* .unified(a, b) within .attribute(...) leaves more than one ')' to skip */
    while (ptx_accept(p, ')') || ptx_accept(p, ','))
        continue;
    return true;
}

/* Reads one declarator: name, dimensions and initialiser. `symbol` has the properties that all declarators of the
 * statement share. The function sets the symbol's name, line, size and initial value, and adds it to the symbols. A
 * .param variable also gets an offset in the function's frame. p->frame_bytes becomes the largest frame of all scopes.
 * The caller frees the arrays of `init`. Returns false after an error. */
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
                             init->dimensions ? "an array: expected '{'" : "not an array");
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

/* Reads a declaration: alignment, attributes, type, and one or more declarators, up to the ';'. The state space has
 * been read. Without .align, the alignment is the size of the type; for a vector type, the size of the whole vector.
 * Returns false after an error. */
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
            if (!ptx_attribute(p, &common.managed))
                return false;
        } else {
            break;
        }
    }
    if (common.managed && space != PTX_SPACE_GLOBAL)
        return ptx_error(p, p->token.line, "only .global variables can be managed");
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
