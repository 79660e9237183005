/* operand.c - parses operands, and matches them with the operands of a form of ops.def. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ptx_internal.h"

/* ---- parsing operands ---- */

static bool ptx_signed_offset(ptx_parser *p, int64_t *offset)
{
    if (!ptx_is(p, '+') && !ptx_is(p, '-'))
        return true;
    return ptx_integer(p, offset);
}

static bool ptx_raw_parts(ptx_parser *p, ptx_raw *raw);
static bool ptx_raw_part(ptx_parser *p, ptx_raw *raw);

/* Reads the coordinates after the comma in [texture, {x, y}] or [texture, x], up to the "]". */
static bool ptx_raw_coordinates(ptx_parser *p, ptx_raw *raw)
{
    raw->coordinates = true;
    raw->first = p->part_count;
    if (ptx_is(p, '{'))
        return ptx_raw_parts(p, raw) && ptx_expect(p, ']');
    if (!ptx_raw_part(p, raw))
        return false;
    if (ptx_is(p, ','))
        return ptx_unsupported(p, p->token.line,
                               "a separate sampler (.texmode_independent) is not "
                               "supported by the simulated device");
    return ptx_expect(p, ']');
}

static bool ptx_raw_address(ptx_parser *p, ptx_raw *raw)
{
    ptx_next(p);
    if (p->token.kind == PTX_TOKEN_NAME &&
        !(p->token.name->binding && p->token.name->binding->kind == PTX_BIND_CONSTANT)) {
        raw->kind = PTX_RAW_ADDRESS_NAME;
        raw->name = p->token.name;
        ptx_next(p);
        if (ptx_accept(p, ','))
            return ptx_raw_coordinates(p, raw);
        if (!ptx_signed_offset(p, &raw->offset))
            return false;
    } else {
        raw->kind = PTX_RAW_ADDRESS_VALUE;
        if (!ptx_integer(p, &raw->offset))
            return false;
    }
    return ptx_expect(p, ']');
}

static bool is_sink(const ptx_name *name) { return name->length == 1 && name->text[0] == '_'; }

/* Reads the second destination, `|%p`. The current token is the bar. */
static bool ptx_raw_second(ptx_parser *p, ptx_raw *raw)
{
    ptx_next(p);
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_error(p, p->token.line, "Parsing error near %s: expected a predicate register", ptx_shown(p));
    raw->second = p->token.name;
    raw->second_sink = is_sink(p->token.name);
    ptx_next(p);
    return true;
}

/* Reads a selector after a register, such as ".b2", ".h10" or ".b7531", which chooses some of its bytes or
 * halfwords. */
static bool ptx_selector(ptx_parser *p, ptx_raw *raw)
{
    const char *text = p->token.text;
    size_t count = p->token.length - 1;
    unsigned bits = text[0] == 'b' ? 8 : 16, places = text[0] == 'b' ? 8 : 4;
    uint32_t select = bits | (uint32_t)count << 5;
    for (size_t k = 0; k < count && count <= 4; k++) {
        if (text[k + 1] < '0' || (unsigned)(text[k + 1] - '0') >= places)
            count = 5;
        else
            select |= (uint32_t)(text[k + 1] - '0') << (8 + 4 * k);
    }
    if ((text[0] != 'b' && text[0] != 'h') || count == 0 || count > 4)
        return ptx_error(p, p->token.line, "%s does not select a part of a register", ptx_shown(p));
    raw->select = select;
    ptx_next(p);
    return true;
}

/* Reads an operand that is neither an address nor a vector: a constant, or a name with an optional `+4` or `|%p`. */
static bool ptx_raw_simple(ptx_parser *p, ptx_raw *raw)
{
    raw->negate = ptx_is(p, '!') && ptx_peek(p) != '(' && !(ptx_peek(p) >= '0' && ptx_peek(p) <= '9');
    raw->minus = ptx_is(p, '-') && !raw->negate && (ptx_peek(p) == '%' || ptx_peek(p) == '_' || ptx_peek(p) == '$');
    if (raw->negate || raw->minus)
        ptx_next(p);
    if (p->token.kind != PTX_TOKEN_NAME ||
        (p->token.name->binding && p->token.name->binding->kind == PTX_BIND_CONSTANT)) {
        raw->kind = PTX_RAW_VALUE;
        return ptx_expression(p, &raw->value);
    }
    raw->kind = is_sink(p->token.name) ? PTX_RAW_SINK : PTX_RAW_NAME;
    raw->name = p->token.name;
    const ptx_binding *binding = p->token.name->binding;
    if (binding && binding->kind == PTX_BIND_SREG &&
        !ptx_needs(p, p->token.line, (ptx_since){.target = (uint16_t)binding->count}, p->token.text,
                   (int)p->token.length))
        return false;
    ptx_next(p);
    if (p->token.kind == PTX_TOKEN_DIRECTIVE)
        return ptx_selector(p, raw);
    if (ptx_is(p, '|'))
        return ptx_raw_second(p, raw);
    return raw->kind == PTX_RAW_SINK || ptx_signed_offset(p, &raw->offset);
}

static bool ptx_raw_part(ptx_parser *p, ptx_raw *raw)
{
    if (p->part_count == PTX_MAX_PARTS)
        return ptx_error(p, p->token.line, "an instruction has more than %d vector elements", PTX_MAX_PARTS);
    ptx_raw *part = &p->parts[p->part_count++];
    *part = (ptx_raw){0};
    raw->count++;
    return ptx_raw_simple(p, part);
}

/* Reads {a, b, ...}. The current token is the brace. */
static bool ptx_raw_parts(ptx_parser *p, ptx_raw *raw)
{
    raw->first = p->part_count;
    do {
        ptx_next(p);
        if (!ptx_raw_part(p, raw))
            return false;
    } while (ptx_is(p, ','));
    return ptx_expect(p, '}');
}

bool ptx_raw_operand(ptx_parser *p, ptx_raw *raw)
{
    *raw = (ptx_raw){0};
    if (ptx_is(p, '['))
        return ptx_raw_address(p, raw);
    if (!ptx_is(p, '{'))
        return ptx_raw_simple(p, raw);
    raw->kind = PTX_RAW_VECTOR;
    return ptx_raw_parts(p, raw) && (!ptx_is(p, '|') || ptx_raw_second(p, raw));
}

/* ---- matching operands with a form ---- */

/* Writes the reason why a form does not match to p->why, and returns false. A reason that begins with "!" means that
 * the text uses an unsupported feature. */
static bool ptx_mismatch(ptx_parser *p, const char *format, ...) KILN__PRINTF(2, 3);
static bool ptx_mismatch(ptx_parser *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kiln__vformat(p->why, sizeof p->why, format, arguments);
    va_end(arguments);
    return false;
}

static char type_class(ptx_type type)
{
    /* Callers use is_real() for floats, because the first letter of bf16 is b. */
    return ptx_type_name(type)[0];
}

static bool is_real(ptx_type type) { return type_class(type) == 'f' || type == PTX_BF16 || type == PTX_BF16X2; }

static bool is_plain_bits(ptx_type type) { return type_class(type) == 'b' && !is_real(type); }

/* Returns true if a register of type `reg` may hold an operand of type `want`. If `relaxed` is true, a wider register
 * also fits, except a register of 128 bits. Signed and unsigned integers match each other. Untyped registers match all
 * types. */
bool ptx_reg_fits(ptx_type want, ptx_type reg, bool relaxed)
{
    if (want == PTX_PRED || reg == PTX_PRED)
        return want == reg;
    unsigned wanted = ptx_type_bytes(want), width = ptx_type_bytes(reg);
    if (width < wanted || (width > wanted && (!relaxed || reg == PTX_B128)))
        return false;
    if (is_plain_bits(want) || is_plain_bits(reg) || want == PTX_TF32)
        return true;
    if (want == PTX_U16X2 || want == PTX_S16X2)
        return !is_real(reg);
    return is_real(want) ? want == reg || (want == PTX_F16X2 && !is_real(reg)) || (want == PTX_BF16X2 && !is_real(reg))
                         : !is_real(reg);
}

const ptx_binding *ptx_known(ptx_parser *p, ptx_name *name)
{
    const ptx_binding *binding = ptx_lookup(p, name);
    if (!binding && !p->memory)
        ptx_mismatch(p, "unknown name '%.100s'", name->text);
    return binding;
}

static bool ptx_match_reg(ptx_parser *p, const ptx_raw *raw, ptx_type type, bool relaxed, ptx_operand *operand)
{
    if (raw->kind != PTX_RAW_NAME)
        return ptx_mismatch(p, "expected a register");
    const ptx_binding *binding = ptx_known(p, raw->name);
    if (!binding)
        return false;
    if (binding->kind != PTX_BIND_REG || raw->offset)
        return ptx_mismatch(p, "'%.100s' is not a register", raw->name->text);
    if (!ptx_reg_fits(type, (ptx_type)binding->type, relaxed))
        return ptx_mismatch(p, "register '%.60s' of type .%s does not fit a .%s operand", raw->name->text,
                            ptx_type_name((ptx_type)binding->type), ptx_type_name(type));
    operand->kind = PTX_OPERAND_REG;
    operand->index = binding->index;
    operand->negate = raw->negate;
    return true;
}

bool ptx_match_value(ptx_parser *p, const ptx_raw *raw, ptx_type type, ptx_operand *operand)
{
    operand->kind = PTX_OPERAND_IMM;
    if (!ptx_convert(raw->value, type, &operand->imm))
        return ptx_mismatch(p, "%s constant does not fit a .%s operand",
                            raw->value.kind >= PTX_FLOAT32 ? "a floating-point" : "an integer", ptx_type_name(type));
    return true;
}

/* Returns true if an instruction may read the special register with this type. The indices and sizes of threads and
 * blocks had 16 bits before PTX 2.0, and %gridid had 32 bits before PTX 3.0. So an instruction may still read only the
 * lower 16 or 32 bits of these registers. */
static bool ptx_sreg_fits(const ptx_binding *binding, ptx_type type)
{
    unsigned bytes = ptx_type_bytes(type), own = ptx_type_bytes((ptx_type)binding->type);
    bool grid = binding->index == PTX_SREG_GRIDID, index = binding->index <= PTX_SREG_NCTAID_Z;
    return !is_real(type) && (bytes == own || (bytes == 2 && (grid || index)) || (bytes == 4 && grid));
}

static bool ptx_match_source(ptx_parser *p, ptx_op op, const ptx_raw *raw, ptx_type type, bool relaxed,
                             ptx_operand *operand)
{
    if (raw->kind == PTX_RAW_VALUE)
        return ptx_match_value(p, raw, type, operand);
    if (raw->kind != PTX_RAW_NAME)
        return ptx_mismatch(p, "expected a register or a constant");
    const ptx_binding *binding = ptx_known(p, raw->name);
    if (!binding)
        return false;
    if (binding->kind != PTX_BIND_SREG)
        return ptx_match_reg(p, raw, type, relaxed, operand);
    if (raw->offset || raw->negate || !ptx_sreg_fits(binding, type))
        return ptx_mismatch(p, "special register '%s' does not fit a .%s operand", raw->name->text,
                            ptx_type_name(type));
    if (op != PTX_OP_MOV && op != PTX_OP_CVT)
        return ptx_mismatch(p, "only mov and cvt can read special register '%s'", raw->name->text);
    operand->kind = PTX_OPERAND_SREG;
    operand->index = binding->index;
    return true;
}

/* Matches the source of mov or cvta, which may also be the address of a variable or function. */
static bool ptx_match_movable(ptx_parser *p, const ptx_raw *raw, ptx_type type, ptx_operand *operand)
{
    const ptx_binding *binding = raw->kind == PTX_RAW_NAME ? ptx_known(p, raw->name) : NULL;
    if (raw->kind == PTX_RAW_NAME && !binding)
        return false;
    if (!binding || (binding->kind != PTX_BIND_SYMBOL && binding->kind != PTX_BIND_FUNCTION))
        return ptx_match_source(p, PTX_OP_MOV, raw, type, false, operand);
    if (ptx_type_bytes(type) < 4 || is_real(type) || type == PTX_B128)
        return ptx_mismatch(p, "the address of '%.100s' does not fit a .%s operand", raw->name->text,
                            ptx_type_name(type));
    bool function = binding->kind == PTX_BIND_FUNCTION;
    if (function && raw->offset)
        return ptx_mismatch(p, "'%.100s' is a function: an offset to its address is not allowed", raw->name->text);
    operand->kind = function ? PTX_OPERAND_FUNCTION : PTX_OPERAND_SYMBOL;
    operand->index = binding->index;
    operand->offset = raw->offset;
    return true;
}

static bool is_destination(char kind) { return kind == 'V' || kind == 'X'; }

/* Matches a vector {a, b} whose elements have the type `type`, and appends them to the elements of the function. */
static bool ptx_match_vector(ptx_parser *p, const ptx_raw *raw, unsigned count, ptx_type type, ptx_pattern pattern,
                             ptx_operand *operand)
{
    if (raw->kind != PTX_RAW_VECTOR || raw->count != count)
        return ptx_mismatch(p, "expected a vector of %u elements", count);
    if (!ptx_grow(p, &p->elements, &p->element_capacity, p->element_count + count, sizeof *p->elements))
        return false;
    operand->kind = PTX_OPERAND_VECTOR;
    operand->index = (uint32_t)p->element_count;
    operand->count = count;
    for (unsigned i = 0; i < count; i++) {
        const ptx_raw *part = &p->parts[raw->first + i];
        ptx_operand element = {.type = (uint8_t)type};
        if (part->second || part->negate || part->minus || part->select)
            return ptx_mismatch(p, "'|', '!', '-' and selected parts are not allowed in a vector");
        if (is_destination(pattern.kind) && part->kind == PTX_RAW_SINK)
            element.kind = PTX_OPERAND_SINK;
        else if (!(is_destination(pattern.kind)
                       ? ptx_match_reg(p, part, type, pattern.relaxed, &element)
                       : ptx_match_source(p, PTX_OP_COUNT, part, type, pattern.relaxed, &element)))
            return false;
        p->elements[operand->index + i] = element;
    }
    p->element_count += count;
    return true;
}

/* Returns the number of coordinates that the instruction's geometry has, including the index of an array. Returns 0
 * if the instruction names no geometry. */
static unsigned ptx_coordinates(const ptx_insn *insn)
{
    if (ptx_has(insn, PTX_MOD_1D))
        return 1;
    if (ptx_has(insn, PTX_MOD_2D) || ptx_has(insn, PTX_MOD_A1D))
        return 2;
    return ptx_has(insn, PTX_MOD_3D) || ptx_has(insn, PTX_MOD_A2D) || ptx_has(insn, PTX_MOD_CUBE) ||
                   ptx_has(insn, PTX_MOD_ACUBE)
               ? 4
               : 0;
}

static bool ptx_layered(const ptx_insn *insn)
{
    return ptx_has(insn, PTX_MOD_A1D) || ptx_has(insn, PTX_MOD_A2D) || ptx_has(insn, PTX_MOD_ACUBE);
}

/* Returns the number of dimensions of the instruction's tensor, or 0 if the instruction names no tensor. */
static unsigned ptx_rank(const ptx_insn *insn)
{
    static const ptx_mod ranks[] = {PTX_MOD_1D, PTX_MOD_2D, PTX_MOD_3D, PTX_MOD_4D, PTX_MOD_5D};
    for (unsigned k = 0; k < KILN__COUNT(ranks); k++)
        if (ptx_has(insn, ranks[k]))
            return k + 1;
    return 0;
}

/* Matches a texture, surface or tensor map operand: [object] or [object, {coordinates}]. The operand becomes a vector:
 * the object's register, then the coordinates. */
static bool ptx_match_object(ptx_parser *p, const ptx_raw *raw, ptx_type type, const ptx_insn *insn, unsigned wanted,
                             ptx_operand *operand)
{
    if (raw->kind != PTX_RAW_ADDRESS_NAME || raw->offset)
        return ptx_mismatch(p, "expected a texture or surface object in []");
    if (raw->count != wanted)
        return ptx_mismatch(p, "expected %u coordinates, not %u", wanted, raw->count);
    const ptx_binding *binding = ptx_known(p, raw->name);
    if (!binding ||
        !ptx_grow(p, &p->elements, &p->element_capacity, p->element_count + 1 + wanted, sizeof *p->elements))
        return false;
    if (binding->kind != PTX_BIND_REG || !ptx_reg_fits(PTX_B64, (ptx_type)binding->type, false))
        return ptx_mismatch(p, "'%.100s' is not a 64-bit register, which could hold the handle of an object",
                            raw->name->text);
    *operand = (ptx_operand){
        .kind = PTX_OPERAND_VECTOR, .type = (uint8_t)type, .index = (uint32_t)p->element_count, .count = 1 + wanted};
    p->elements[operand->index] = (ptx_operand){.kind = PTX_OPERAND_REG, .type = PTX_B64, .index = binding->index};
    for (unsigned i = 0; i < wanted; i++) {
        const ptx_raw *part = &p->parts[raw->first + i];
        const ptx_type of = i == 0 && ptx_layered(insn) ? PTX_U32 : type;
        ptx_operand element = {.type = (uint8_t)of};
        if (part->second || part->negate)
            return ptx_mismatch(p, "'|' and '!' are not allowed in a vector");
        if (!ptx_match_source(p, PTX_OP_COUNT, part, of, false, &element))
            return false;
        p->elements[operand->index + 1 + i] = element;
    }
    p->element_count += 1 + wanted;
    return true;
}

/* Matches a vector into which a register is split, as in mov.b64 %rd, {%r1, %r2}. All elements have the same width. */
static bool ptx_match_split(ptx_parser *p, const ptx_raw *raw, ptx_type type, ptx_pattern pattern, ptx_operand *operand)
{
    static const ptx_type by_width[] = {[1] = PTX_B8, [2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
    if (raw->kind != PTX_RAW_VECTOR || (raw->count != 2 && raw->count != 4))
        return ptx_mismatch(p, "expected a vector of 2 or 4 elements");
    unsigned width = ptx_type_bytes(type) / raw->count;
    if (width == 0)
        return ptx_mismatch(p, "a .%s does not split into %u elements", ptx_type_name(type), (unsigned)raw->count);
    return ptx_match_vector(p, raw, raw->count, by_width[width], pattern, operand);
}

static bool is_address_type(ptx_type type)
{
    return ptx_type_bytes(type) >= 4 && ptx_type_bytes(type) <= 8 && !is_real(type) && type != PTX_TF32;
}

/* Matches an operand with an address: [register + offset], [variable + offset] or [offset].
 *
 * A variable must lie in the instruction's state space. An instruction with a generic address also takes a .global
 * variable. For an instruction with several memory operands, such as cp.async, the function does not check the state
 * space of a variable. An access to a .param variable must lie within the variable, because the interpreter does not
 * check this again. On failure stores the reason in p->why and returns false. */
static bool ptx_match_address(ptx_parser *p, const ptx_raw *raw, ptx_type type, const ptx_insn *insn,
                              ptx_operand *operand)
{
    operand->kind = PTX_OPERAND_ADDRESS;
    operand->offset = raw->offset;
    if (raw->coordinates)
        return ptx_mismatch(p, "expected an address in [], without coordinates");
    if (raw->kind == PTX_RAW_ADDRESS_VALUE)
        return true;
    if (raw->kind != PTX_RAW_ADDRESS_NAME)
        return ptx_mismatch(p, "expected an address in []");
    const ptx_binding *binding = ptx_known(p, raw->name);
    if (!binding)
        return false;
    if (binding->kind == PTX_BIND_REG) {
        if (!is_address_type((ptx_type)binding->type))
            return ptx_mismatch(p, "register '%.60s' of type .%s cannot hold an address", raw->name->text,
                                ptx_type_name((ptx_type)binding->type));
        operand->base = PTX_BASE_REG;
        operand->index = binding->index;
        return true;
    }
    if (binding->kind != PTX_BIND_SYMBOL)
        return ptx_mismatch(p, "'%.100s' is neither a register nor a variable", raw->name->text);
    const ptx_symbol *symbol = &p->symbols[binding->index];
    bool several = insn->op == PTX_OP_CP_ASYNC || insn->op == PTX_OP_CP_BULK || insn->op == PTX_OP_CP_REDUCE_BULK ||
                   ptx_effect_of(insn) == PTX_EFFECT_TENSOR;
    if (!several && symbol->space != insn->space &&
        !(insn->space == PTX_SPACE_GENERIC && symbol->space == PTX_SPACE_GLOBAL))
        return ptx_mismatch(p, "variable '%.100s' is in another state space", raw->name->text);
    uint64_t bytes = (uint64_t)ptx_type_bytes(type) * insn->vector;
    if (symbol->space == PTX_SPACE_PARAM &&
        (raw->offset < 0 || bytes > symbol->bytes || (uint64_t)raw->offset > symbol->bytes - bytes))
        return ptx_mismatch(p, "bytes %" PRId64 " to %" PRId64 " are outside parameter '%.60s' of %" PRIu64 " bytes",
                            raw->offset, (int64_t)((uint64_t)raw->offset + bytes - 1), raw->name->text, symbol->bytes);
    operand->base = PTX_BASE_SYMBOL;
    operand->index = binding->index;
    return true;
}

static ptx_type ptx_pattern_type(const ptx_insn *insn, ptx_pattern pattern)
{
    if (pattern.width == PTX_FIXED)
        return (ptx_type)pattern.type;
    ptx_type type = (ptx_type)insn->types[pattern.type];
    if (pattern.width == PTX_WRITTEN)
        return type;
    switch (type) {
    case PTX_U16: return PTX_U32;
    case PTX_S16: return PTX_S32;
    case PTX_U32: return PTX_U64;
    case PTX_S32: return PTX_S64;
    default: return type;
    }
}

/* Matches the second destination of `d|p`. Sets operand->pred to the index of its register + 1. operand->pred stays 0
 * if there is no second destination, or if it is `_`. */
static bool ptx_match_second(ptx_parser *p, const ptx_raw *raw, ptx_pattern pattern, ptx_operand *operand)
{
    if (!raw->second)
        return pattern.pred != 2 || ptx_mismatch(p, "expected a second destination as in 'd|p'");
    if (!pattern.pred)
        return ptx_mismatch(p, "a second destination is not allowed");
    if (raw->second_sink)
        return true;
    ptx_raw second = {.kind = PTX_RAW_NAME, .name = raw->second};
    ptx_operand pred = {0};
    if (!ptx_match_reg(p, &second, PTX_PRED, false, &pred))
        return false;
    operand->pred = pred.index + 1;
    return true;
}

/* Matches several operands of the text, which must be constants, as one vector operand. */
static bool ptx_match_constants(ptx_parser *p, const ptx_raw *raws, unsigned count, ptx_type type, ptx_operand *operand)
{
    *operand = (ptx_operand){
        .kind = PTX_OPERAND_VECTOR, .type = (uint8_t)type, .index = (uint32_t)p->element_count, .count = count};
    if (!ptx_grow(p, &p->elements, &p->element_capacity, p->element_count + count, sizeof *p->elements))
        return false;
    for (unsigned i = 0; i < count; i++) {
        ptx_operand element = {.type = (uint8_t)type};
        if (raws[i].kind != PTX_RAW_VALUE || raws[i].negate || raws[i].second || raws[i].minus || raws[i].select)
            return ptx_mismatch(p, "expected a constant");
        if (!ptx_match_value(p, &raws[i], type, &element))
            return false;
        p->elements[operand->index + i] = element;
    }
    p->element_count += count;
    return true;
}

/* Matches the scale operands of an mma with block scaling as one vector operand of six elements, three for A and three
 * for B. The three elements are a register with scales, and the numbers of the byte and of the thread that select the
 * scales. */
static bool ptx_match_scales(ptx_parser *p, const ptx_raw *raws, ptx_operand *operand)
{
    enum { EACH = 3, SIDES = 2 };
    *operand = (ptx_operand){
        .kind = PTX_OPERAND_VECTOR, .type = PTX_B32, .index = (uint32_t)p->element_count, .count = SIDES * EACH};
    if (!ptx_grow(p, &p->elements, &p->element_capacity, p->element_count + SIDES * EACH, sizeof *p->elements))
        return false;
    for (unsigned side = 0; side < SIDES; side++) {
        const ptx_raw *data = &raws[side * 2], *selector = data + 1;
        ptx_operand own[EACH] = {{.type = PTX_B32}, {.type = PTX_U16}, {.type = PTX_U16}};
        if (data->kind == PTX_RAW_VECTOR && data->count == 1) /* CUTLASS writes this operand as {%r1} */
            data = &p->parts[data->first];
        if (data->negate || data->second || data->minus || data->select)
            return ptx_mismatch(p, "'|', '!', '-' and selected parts are not allowed in scales");
        if (!ptx_match_reg(p, data, PTX_B32, false, &own[0]))
            return false;
        if (selector->kind != PTX_RAW_VECTOR || selector->count != EACH - 1)
            return ptx_mismatch(p, "expected {byte, thread} after the scales of %s", side ? "B" : "A");
        for (unsigned k = 0; k < EACH - 1; k++) {
            const ptx_raw *part = &p->parts[selector->first + k];
            if (part->second || part->negate || part->minus || part->select)
                return ptx_mismatch(p, "'|', '!', '-' and selected parts are not allowed in a vector");
            if (!ptx_match_source(p, PTX_OP_COUNT, part, PTX_U16, false, &own[1 + k]))
                return false;
        }
        memcpy(&p->elements[operand->index + side * EACH], own, sizeof own);
    }
    p->element_count += SIDES * EACH;
    return true;
}

static bool ptx_match_operand(ptx_parser *p, ptx_insn *insn, ptx_pattern pattern, const ptx_raw *raw,
                              ptx_operand *operand, ptx_name **label)
{
    ptx_type type = ptx_pattern_type(insn, pattern);
    const unsigned elements = pattern.count * (pattern.per_tile ? insn->tiles : 1u);
    if (pattern.kind == 'I')
        return ptx_match_constants(p, raw, pattern.count, type, operand);
    if (pattern.kind == 'Q')
        return ptx_match_scales(p, raw, operand);
    /* CUTLASS writes the metadata of mma.sp as {%r1} */
    if (pattern.kind == 's' && raw->kind == PTX_RAW_VECTOR && raw->count == 1 &&
        (insn->op == PTX_OP_MMA_SP || insn->op == PTX_OP_MMA_SP_ORDERED))
        raw = &p->parts[raw->first];
    *operand = (ptx_operand){.type = (uint8_t)type};
    if (raw->negate && pattern.kind != 'p' && (type != PTX_PRED || !strchr("sm", pattern.kind)))
        return ptx_mismatch(p, "'!' is not allowed here");
    if ((raw->minus && pattern.kind != 'y') || (raw->select && pattern.kind != 'y' && pattern.kind != 'Y'))
        return ptx_mismatch(p, raw->minus ? "'-' is not allowed here" : "a part of a register cannot be selected here");
    if (!ptx_match_second(p, raw, pattern, operand))
        return false;
    if (elements && (elements > 1 || raw->kind == PTX_RAW_VECTOR))
        return ptx_match_vector(p, raw, elements, type, pattern, operand);
    if (!pattern.count && (insn->vector > 1 || raw->kind == PTX_RAW_VECTOR) && strchr("vV", pattern.kind))
        return ptx_match_vector(p, raw, insn->vector, type, pattern, operand);
    switch (pattern.kind) {
    case 'D':
        if (raw->kind == PTX_RAW_SINK) {
            operand->kind = PTX_OPERAND_SINK;
            return true;
        }
        return ptx_match_reg(p, raw, type, pattern.relaxed, operand);
    case 'y':
        if (!ptx_match_source(p, (ptx_op)insn->op, raw, type, false, operand))
            return false;
        operand->negate = raw->minus;
        operand->count = raw->select;
        return true;
    case 'Y': operand->count = raw->select; return ptx_match_reg(p, raw, type, false, operand);
    case 'd':
    case 'r':
    case 'V': return ptx_match_reg(p, raw, type, pattern.relaxed, operand);
    case 'p':
        /* a constant predicate: 0 is false, and all other values are true */
        return raw->kind == PTX_RAW_VALUE ? ptx_match_value(p, raw, PTX_PRED, operand)
                                          : ptx_match_reg(p, raw, type, false, operand);
    case 's':
    case 'v': return ptx_match_source(p, (ptx_op)insn->op, raw, type, pattern.relaxed, operand);
    case 'i':
        return raw->kind == PTX_RAW_VALUE ? ptx_match_value(p, raw, type, operand)
                                          : ptx_mismatch(p, "expected a constant");
    case 'm': return ptx_match_movable(p, raw, type, operand);
    case 'X':
    case 'x': return ptx_match_split(p, raw, type, pattern, operand);
    case 'o': return ptx_match_object(p, raw, type, insn, ptx_coordinates(insn), operand);
    case 'T': { /* gather4 and scatter4 have five coordinates: the column and four rows */
        const bool rows = ptx_has(insn, PTX_MOD_GATHER4) || ptx_has(insn, PTX_MOD_SCATTER4);
        return ptx_match_object(p, raw, PTX_S32, insn, rows ? 5 : ptx_rank(insn), operand);
    }
    case 'f': return ptx_match_vector(p, raw, ptx_rank(insn) - 2, type, pattern, operand);
    case 'g': { /* the vector has an element for each coordinate, except the index of a texture array */
        const unsigned count = ptx_coordinates(insn) - (ptx_has(insn, PTX_MOD_A1D)   ? 1
                                                        : ptx_has(insn, PTX_MOD_A2D) ? 2
                                                                                     : 0);
        return count == 1 && raw->kind != PTX_RAW_VECTOR && type == PTX_S32
                   ? ptx_match_source(p, PTX_OP_COUNT, raw, type, false, operand)
                   : ptx_match_vector(p, raw, count, type, pattern, operand);
    }
    case 'a': return ptx_match_address(p, raw, type, insn, operand);
    case 'l':
        if (raw->kind != PTX_RAW_NAME || raw->offset)
            return ptx_mismatch(p, "expected a label");
        operand->kind = PTX_OPERAND_LABEL;
        operand->type = PTX_NONE;
        *label = raw->name;
        return true;
    default: { /* 't' */
        const ptx_binding *binding = raw->kind == PTX_RAW_NAME ? ptx_known(p, raw->name) : NULL;
        if (raw->kind == PTX_RAW_NAME && !binding)
            return false;
        if (!binding || binding->kind != PTX_BIND_TARGETS)
            return ptx_mismatch(p, "expected the label of a .branchtargets");
        *operand = (ptx_operand){.kind = PTX_OPERAND_TARGETS, .index = binding->index, .count = binding->count};
        return true;
    }
    }
}

bool ptx_match_form(ptx_parser *p, const ptx_form *form, const ptx_raw *raws, unsigned count, ptx_insn *insn,
                    ptx_name **label)
{
    const unsigned least = ptx_form_least(form), most = ptx_form_most(form);
    if (count < least || count > most)
        return ptx_mismatch(p, "expected %u operands, not %u", least, count);
    size_t elements = p->element_count;
    count -= most - form->operand_count; /* several operands of the text that form a list are one operand of the form */
    for (unsigned i = 0; i < count; i++) {
        if (!ptx_match_operand(p, insn, form->operands[i], &raws[i], &insn->operands[i], label)) {
            char why[sizeof p->why];
            memcpy(why, p->why, sizeof why);
            if (why[0] != '!')
                snprintf(p->why, sizeof p->why, "operand %u: %.150s", i + 1, why);
            p->element_count = elements;
            return false;
        }
    }
    insn->operand_count = (uint8_t)count;
    return true;
}
