/* ptx_insn.c - instructions: the mnemonic, the operands as written, and the match of both with the table's forms. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/ptx_internal.h"

/* ---- the mnemonic ---- */

static bool ptx_forms_compile(ptx_parser *p, ptx_op op)
{
    const char *const *texts = ptx_op_forms(op);
    uint8_t count = 0;
    while (texts[count])
        count++;
    ptx_form *forms = kiln__arena_alloc(&p->scratch, count * sizeof *forms);
    if (!forms)
        return ptx_out_of_memory(p);
    for (uint8_t i = 0; i < count; i++)
        ptx_form_compile(texts[i], &forms[i]);
    p->forms[op] = forms;
    p->form_count[op] = count;
    return true;
}

/* Do the suffixes fill the form's slots? Types in order, the others in any. */
static bool ptx_fill_slots(const ptx_form *form, const ptx_suffix *suffixes, unsigned count)
{
    uint32_t filled = 0;
    for (unsigned i = 0; i < count; i++) {
        ptx_suffix suffix = suffixes[i];
        bool found = false;
        for (unsigned s = 0; s < form->slot_count && !found; s++) {
            const ptx_slot *slot = &form->slots[s];
            if (filled >> s & 1)
                continue;
            if (suffix.kind == PTX_SUFFIX_TYPE)
                found = slot->types >> suffix.value & 1;
            else if (suffix.kind == PTX_SUFFIX_SPACE)
                found = slot->spaces >> suffix.value & 1;
            else
                found = slot->mods[suffix.value / 64] >> suffix.value % 64 & 1;
            if (found)
                filled |= 1u << s;
            else if (suffix.kind == PTX_SUFFIX_TYPE && slot->types)
                break;
        }
        if (!found)
            return false;
    }
    for (unsigned s = 0; s < form->slot_count; s++)
        if (!(filled >> s & 1) && !form->slots[s].optional)
            return false;
    return true;
}

static void ptx_spelling_suffix(ptx_spelling *spelling, ptx_suffix suffix, unsigned *types)
{
    ptx_space space = PTX_SPACE_GENERIC;
    if (suffix.kind == PTX_SUFFIX_TYPE) {
        if (*types < KILN__COUNT(spelling->types))
            spelling->types[(*types)++] = (uint8_t)suffix.value;
        return;
    }
    if (suffix.kind == PTX_SUFFIX_SPACE) {
        space = (ptx_space)suffix.value;
    } else {
        spelling->mods[suffix.value / 64] |= UINT64_C(1) << suffix.value % 64;
        space = ptx_mod_space((ptx_mod)suffix.value);
        if (suffix.value == PTX_MOD_V2 || suffix.value == PTX_MOD_V4 || suffix.value == PTX_MOD_V8)
            spelling->vector = suffix.value == PTX_MOD_V2 ? 2 : suffix.value == PTX_MOD_V4 ? 4 : 8;
    }
    if (spelling->space == PTX_SPACE_GENERIC) /* cp.async names the destination's first */
        spelling->space = (uint8_t)space;
}

static bool ptx_unknown_opcode(ptx_parser *p, uint32_t line, const char *text, size_t length)
{
    const char *later = ptx_op_later(text, length);
    if (later)
        return ptx_unsupported(p, line, "instruction '%s' is not supported by the simulated device", later);
    const char *names[PTX_OP_COUNT];
    for (unsigned i = 0; i < PTX_OP_COUNT; i++)
        names[i] = ptx_op_name((ptx_op)i);
    const char *dot = memchr(text, '.', length);
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(dot ? (size_t)(dot - text) : length), text);
    const char *near = kiln__nearest(word, names, PTX_OP_COUNT);
    return ptx_error(p, line, "Unknown instruction '%s'%s%s%s", word, near ? "; did you mean '" : "", near ? near : "",
                     near ? "'?" : "");
}

/* Splits "add.cc.u32" and finds the forms it fits. */
static bool ptx_read_spelling(ptx_parser *p, ptx_spelling *spelling, uint32_t line)
{
    const char *text = spelling->text, *end = text + spelling->length;
    size_t length = ptx_op_find(text, spelling->length, &spelling->op);
    const char *later = ptx_op_later(text, spelling->length);
    if (!length || (later && strlen(later) > length))
        return ptx_unknown_opcode(p, line, text, spelling->length);
    ptx_suffix suffixes[24];
    unsigned count = 0, types = 0;
    spelling->vector = 1;
    for (const char *at = text + length; at < end;) {
        at++; /* the dot */
        const char *dot = memchr(at, '.', (size_t)(end - at));
        size_t size = (size_t)((dot ? dot : end) - at);
        ptx_suffix suffix = ptx_suffix_find(at, size);
        if (suffix.kind == PTX_SUFFIX_UNKNOWN && ptx_suffix_later(at, size))
            return ptx_unsupported(p, line, "modifier '.%.*s' of '%s' is not supported by the simulated device",
                                   (int)size, at, ptx_op_name(spelling->op));
        if (suffix.kind == PTX_SUFFIX_UNKNOWN || count == KILN__COUNT(suffixes))
            return ptx_error(p, line, "Unknown modifier '.%.*s' of instruction '%s'", (int)(size > 60 ? 60 : size), at,
                             ptx_op_name(spelling->op));
        suffixes[count++] = suffix;
        ptx_spelling_suffix(spelling, suffix, &types);
        at += size;
    }
    if (!p->forms[spelling->op] && !ptx_forms_compile(p, spelling->op))
        return false;
    for (unsigned i = 0; i < p->form_count[spelling->op]; i++)
        if (ptx_fill_slots(&p->forms[spelling->op][i], suffixes, count))
            spelling->forms |= 1u << i;
    return spelling->forms ||
           ptx_error(p, line, "Illegal modifiers or types for instruction '%s': '%.*s'", ptx_op_name(spelling->op),
                     (int)(spelling->length > 120 ? 120 : spelling->length), text);
}

static bool ptx_spellings_widen(ptx_parser *p)
{
    size_t capacity = p->spelling_capacity ? p->spelling_capacity * 2 : 256;
    ptx_spelling **wider = kiln__calloc(p->mem, capacity, sizeof(ptx_spelling *));
    if (!wider)
        return ptx_out_of_memory(p);
    for (size_t i = 0; i < p->spelling_capacity; i++) {
        if (!p->spellings[i])
            continue;
        size_t at = p->spellings[i]->hash & (capacity - 1);
        while (wider[at])
            at = (at + 1) & (capacity - 1);
        wider[at] = p->spellings[i];
    }
    kiln__free(p->mem, p->spellings);
    p->spellings = wider;
    p->spelling_capacity = capacity;
    return true;
}

static const ptx_spelling *ptx_spelling_of(ptx_parser *p, const char *text, size_t length, uint32_t line)
{
    if (p->spelling_count * 2 >= p->spelling_capacity && !ptx_spellings_widen(p))
        return NULL;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    hash ^= hash >> 15;
    size_t at = hash & (p->spelling_capacity - 1);
    for (; p->spellings[at]; at = (at + 1) & (p->spelling_capacity - 1)) {
        ptx_spelling *spelling = p->spellings[at];
        if (spelling->hash == hash && spelling->length == length && memcmp(spelling->text, text, length) == 0)
            return spelling;
    }
    ptx_spelling *spelling = kiln__arena_alloc(&p->scratch, sizeof *spelling);
    if (!spelling) {
        ptx_out_of_memory(p);
        return NULL;
    }
    *spelling = (ptx_spelling){.text = text, .length = (uint32_t)length, .hash = hash};
    if (!ptx_read_spelling(p, spelling, line))
        return NULL; /* not kept: each use is told */
    p->spellings[at] = spelling;
    p->spelling_count++;
    return spelling;
}

static bool is_suffix_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

/* From the current name on: "add" and its suffixes, which may stand apart ("add .u32"). The text points into the
 * source or, if it had to be put together, into the scratch arena. */
static bool ptx_mnemonic(ptx_parser *p, const char **text, size_t *length)
{
    const char *start = p->token.text, *stop = start + p->token.length; /* of what stands together */
    bool apart = false;
    kiln__text joined = {.mem = p->mem};
    while (ptx_peek(p) == '.') {
        const char *dot = p->cursor, *at = dot + 1;
        while (at < p->end && is_suffix_char(*at))
            at++;
        if (dot != stop && !apart) {
            apart = true;
            kiln__text_add(&joined, start, (size_t)(stop - start));
        }
        if (apart)
            kiln__text_add(&joined, dot, (size_t)(at - dot));
        p->cursor = stop = at;
    }
    *text = start;
    *length = (size_t)(stop - start);
    if (apart) {
        const char *copy = joined.failed ? NULL : kiln__arena_strndup(&p->scratch, joined.data, joined.length);
        *length = joined.length;
        kiln__text_free(&joined);
        if (!copy)
            return ptx_out_of_memory(p);
        *text = copy;
    }
    ptx_next(p);
    return true;
}

/* ---- operands as written ---- */

static bool ptx_signed_offset(ptx_parser *p, int64_t *offset)
{
    if (!ptx_is(p, '+') && !ptx_is(p, '-'))
        return true;
    return ptx_integer(p, offset);
}

static bool ptx_raw_address(ptx_parser *p, ptx_raw *raw)
{
    ptx_next(p);
    if (p->token.kind == PTX_TOKEN_NAME && !(p->token.name->binding && p->token.name->binding->kind == PTX_BIND_CONSTANT)) {
        raw->kind = PTX_RAW_ADDRESS_NAME;
        raw->name = p->token.name;
        ptx_next(p);
        if (!ptx_signed_offset(p, &raw->offset))
            return false;
    } else {
        raw->kind = PTX_RAW_ADDRESS_VALUE;
        if (!ptx_integer(p, &raw->offset))
            return false;
    }
    return ptx_expect(p, ']');
}

static bool is_sink(const ptx_name *name)
{
    return name->length == 1 && name->text[0] == '_';
}

/* A name, with `+4` or `|%p` after it, or a constant; not an address, not a vector. */
static bool ptx_raw_simple(ptx_parser *p, ptx_raw *raw)
{
    raw->negate = ptx_is(p, '!') && ptx_peek(p) != '(' && !(ptx_peek(p) >= '0' && ptx_peek(p) <= '9');
    if (raw->negate)
        ptx_next(p);
    if (p->token.kind != PTX_TOKEN_NAME || (p->token.name->binding && p->token.name->binding->kind == PTX_BIND_CONSTANT)) {
        raw->kind = PTX_RAW_VALUE;
        return ptx_expression(p, &raw->value);
    }
    raw->kind = is_sink(p->token.name) ? PTX_RAW_SINK : PTX_RAW_NAME;
    raw->name = p->token.name;
    ptx_next(p);
    if (!ptx_accept(p, '|'))
        return raw->kind == PTX_RAW_SINK || ptx_signed_offset(p, &raw->offset);
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_error(p, p->token.line, "Parsing error near %s: a predicate register is wanted here", ptx_shown(p));
    raw->second = p->token.name;
    raw->second_sink = is_sink(p->token.name);
    ptx_next(p);
    return true;
}

static bool ptx_raw_operand(ptx_parser *p, ptx_raw *raw)
{
    *raw = (ptx_raw){0};
    if (ptx_is(p, '['))
        return ptx_raw_address(p, raw);
    if (!ptx_is(p, '{'))
        return ptx_raw_simple(p, raw);
    raw->kind = PTX_RAW_VECTOR;
    raw->first = p->part_count;
    do {
        ptx_next(p);
        if (p->part_count == PTX_MAX_PARTS)
            return ptx_error(p, p->token.line, "an instruction has more than %d vector elements", PTX_MAX_PARTS);
        ptx_raw *part = &p->parts[p->part_count++];
        *part = (ptx_raw){0};
        if (!ptx_raw_simple(p, part))
            return false;
        raw->count++;
    } while (ptx_is(p, ','));
    return ptx_expect(p, '}');
}

/* ---- matching operands with a form ---- */

/* Notes why a form does not fit; "!" first: because of something that is not supported. */
static bool ptx_mismatch(ptx_parser *p, const char *format, ...) KILN__PRINTF(2, 3);
static bool ptx_mismatch(ptx_parser *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->why, sizeof p->why, format, arguments);
    va_end(arguments);
    return false;
}

static char type_class(ptx_type type)
{
    return ptx_type_name(type)[0]; /* b u s f, t of tf32, p of pred; bf16 counts as f */
}

static bool is_real(ptx_type type)
{
    return type_class(type) == 'f' || type == PTX_BF16 || type == PTX_BF16X2;
}

static bool is_plain_bits(ptx_type type)
{
    return type_class(type) == 'b' && !is_real(type);
}

/* May a register of type `reg` hold an operand of type `want`? Integers of either sign agree, untyped ones with all. */
static bool ptx_reg_fits(ptx_type want, ptx_type reg, bool relaxed)
{
    if (want == PTX_PRED || reg == PTX_PRED)
        return want == reg;
    unsigned wanted = ptx_type_bytes(want), width = ptx_type_bytes(reg);
    if (width < wanted || (width > wanted && !relaxed))
        return false;
    if (is_plain_bits(want) || is_plain_bits(reg) || want == PTX_TF32)
        return true;
    if (want == PTX_U16X2 || want == PTX_S16X2)
        return !is_real(reg);
    return is_real(want) ? want == reg || (want == PTX_F16X2 && !is_real(reg)) || (want == PTX_BF16X2 && !is_real(reg))
                         : !is_real(reg);
}

static const ptx_binding *ptx_known(ptx_parser *p, ptx_name *name)
{
    const ptx_binding *binding = ptx_lookup(p, name);
    if (!binding && !p->memory) {
        if (ptx_sreg_later(name->text, name->length))
            ptx_mismatch(p, "!special register '%.60s' is not supported by the simulated device", name->text);
        else
            ptx_mismatch(p, "unknown name '%.100s'", name->text);
    }
    return binding;
}

static bool ptx_match_reg(ptx_parser *p, const ptx_raw *raw, ptx_type type, bool relaxed, ptx_operand *operand)
{
    if (raw->kind != PTX_RAW_NAME)
        return ptx_mismatch(p, "a register is wanted");
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

static bool ptx_match_value(ptx_parser *p, const ptx_raw *raw, ptx_type type, ptx_operand *operand)
{
    operand->kind = PTX_OPERAND_IMM;
    if (!ptx_convert(raw->value, type, &operand->imm))
        return ptx_mismatch(p, "%s constant does not fit a .%s operand",
                        raw->value.kind >= PTX_FLOAT32 ? "a floating-point" : "an integer", ptx_type_name(type));
    return true;
}

static bool ptx_match_source(ptx_parser *p, ptx_op op, const ptx_raw *raw, ptx_type type, bool relaxed,
                             ptx_operand *operand)
{
    if (raw->kind == PTX_RAW_VALUE)
        return ptx_match_value(p, raw, type, operand);
    if (raw->kind != PTX_RAW_NAME)
        return ptx_mismatch(p, "a register or a constant is wanted");
    const ptx_binding *binding = ptx_known(p, raw->name);
    if (!binding)
        return false;
    if (binding->kind != PTX_BIND_SREG)
        return ptx_match_reg(p, raw, type, relaxed, operand);
    if (raw->offset || ptx_type_bytes((ptx_type)binding->type) != ptx_type_bytes(type) || is_real(type))
        return ptx_mismatch(p, "special register '%s' does not fit a .%s operand", raw->name->text, ptx_type_name(type));
    if (op != PTX_OP_MOV && op != PTX_OP_CVT)
        return ptx_mismatch(p, "special register '%s' is read by mov and cvt only", raw->name->text);
    operand->kind = PTX_OPERAND_SREG;
    operand->index = binding->index;
    return true;
}

/* mov and cvta: also the address of something. */
static bool ptx_match_movable(ptx_parser *p, const ptx_raw *raw, ptx_type type, ptx_operand *operand)
{
    const ptx_binding *binding = raw->kind == PTX_RAW_NAME ? ptx_known(p, raw->name) : NULL;
    if (raw->kind == PTX_RAW_NAME && !binding)
        return false;
    if (!binding || (binding->kind != PTX_BIND_SYMBOL && binding->kind != PTX_BIND_FUNCTION))
        return ptx_match_source(p, PTX_OP_MOV, raw, type, false, operand);
    if (ptx_type_bytes(type) < 4 || is_real(type) || type == PTX_B128)
        return ptx_mismatch(p, "the address of '%.100s' does not fit a .%s operand", raw->name->text, ptx_type_name(type));
    bool function = binding->kind == PTX_BIND_FUNCTION;
    if (function && raw->offset)
        return ptx_mismatch(p, "'%.100s' is a function: nothing can be added to its address", raw->name->text);
    operand->kind = function ? PTX_OPERAND_FUNCTION : PTX_OPERAND_SYMBOL;
    operand->index = binding->index;
    operand->offset = raw->offset;
    return true;
}

static bool is_destination(char kind)
{
    return kind == 'V' || kind == 'X';
}

/* {a, b}: elements of `type`, appended to the function's. */
static bool ptx_match_vector(ptx_parser *p, const ptx_raw *raw, unsigned count, ptx_type type, ptx_pattern pattern,
                             ptx_operand *operand)
{
    if (raw->kind != PTX_RAW_VECTOR || raw->count != count)
        return ptx_mismatch(p, "a vector of %u elements is wanted", count);
    if (!ptx_grow(p, &p->elements, &p->element_capacity, p->element_count + count, sizeof *p->elements))
        return false;
    operand->kind = PTX_OPERAND_VECTOR;
    operand->index = (uint32_t)p->element_count;
    operand->count = count;
    for (unsigned i = 0; i < count; i++) {
        const ptx_raw *part = &p->parts[raw->first + i];
        ptx_operand element = {.type = (uint8_t)type};
        if (part->second || part->negate)
            return ptx_mismatch(p, "'|' and '!' do not belong into a vector");
        if (is_destination(pattern.kind) && part->kind == PTX_RAW_SINK)
            element.kind = PTX_OPERAND_SINK;
        else if (!(is_destination(pattern.kind) ? ptx_match_reg(p, part, type, pattern.relaxed, &element)
                                                : ptx_match_source(p, PTX_OP_COUNT, part, type, pattern.relaxed, &element)))
            return false;
        p->elements[operand->index + i] = element;
    }
    p->element_count += count;
    return true;
}

/* mov.b64 %rd, {%r1, %r2}: the elements share the width. */
static bool ptx_match_split(ptx_parser *p, const ptx_raw *raw, ptx_type type, ptx_pattern pattern, ptx_operand *operand)
{
    static const ptx_type by_width[] = {[1] = PTX_B8, [2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
    if (raw->kind != PTX_RAW_VECTOR || (raw->count != 2 && raw->count != 4))
        return ptx_mismatch(p, "a vector of 2 or 4 elements is wanted");
    unsigned width = ptx_type_bytes(type) / raw->count;
    if (width == 0)
        return ptx_mismatch(p, "a .%s does not split into %u elements", ptx_type_name(type), (unsigned)raw->count);
    return ptx_match_vector(p, raw, raw->count, by_width[width], pattern, operand);
}

static bool is_address_type(ptx_type type)
{
    return ptx_type_bytes(type) >= 4 && ptx_type_bytes(type) <= 8 && !is_real(type) && type != PTX_TF32;
}

static bool ptx_match_address(ptx_parser *p, const ptx_raw *raw, ptx_type type, const ptx_insn *insn,
                              ptx_operand *operand)
{
    operand->kind = PTX_OPERAND_ADDRESS;
    operand->offset = raw->offset;
    if (raw->kind == PTX_RAW_ADDRESS_VALUE)
        return true;
    if (raw->kind != PTX_RAW_ADDRESS_NAME)
        return ptx_mismatch(p, "an address in [] is wanted");
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
    if (insn->op != PTX_OP_CP_ASYNC && symbol->space != insn->space &&
        !(insn->space == PTX_SPACE_GENERIC && symbol->space == PTX_SPACE_GLOBAL))
        return ptx_mismatch(p, "variable '%.100s' lies in another state space", raw->name->text);
    uint64_t bytes = (uint64_t)ptx_type_bytes(type) * insn->vector;
    if (symbol->space == PTX_SPACE_PARAM &&
        (raw->offset < 0 || bytes > symbol->bytes || (uint64_t)raw->offset > symbol->bytes - bytes))
        return ptx_mismatch(p, "bytes %" PRId64 " to %" PRId64 " are outside of parameter '%.60s' of %" PRIu64 " bytes", raw->offset,
                        (int64_t)((uint64_t)raw->offset + bytes - 1), raw->name->text, symbol->bytes);
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

/* The second destination of `d|p`. */
static bool ptx_match_second(ptx_parser *p, const ptx_raw *raw, ptx_pattern pattern, ptx_operand *operand)
{
    if (!raw->second)
        return pattern.pred != 2 || ptx_mismatch(p, "a second destination as in 'd|p' is wanted");
    if (!pattern.pred)
        return ptx_mismatch(p, "there is no second destination");
    if (raw->second_sink)
        return true;
    ptx_raw second = {.kind = PTX_RAW_NAME, .name = raw->second};
    ptx_operand pred = {0};
    if (!ptx_match_reg(p, &second, PTX_PRED, false, &pred))
        return false;
    operand->pred = pred.index + 1;
    return true;
}

static bool ptx_match_operand(ptx_parser *p, ptx_insn *insn, ptx_pattern pattern, const ptx_raw *raw,
                              ptx_operand *operand, ptx_name **label)
{
    ptx_type type = ptx_pattern_type(insn, pattern);
    *operand = (ptx_operand){.type = (uint8_t)type};
    if (raw->negate && pattern.kind != 'p')
        return ptx_mismatch(p, "'!' is not allowed here");
    if (!ptx_match_second(p, raw, pattern, operand))
        return false;
    bool vector = insn->vector > 1 && strchr("vV", pattern.kind);
    if (vector)
        return ptx_match_vector(p, raw, insn->vector, type, pattern, operand);
    switch (pattern.kind) {
    case 'D':
        if (raw->kind == PTX_RAW_SINK) {
            operand->kind = PTX_OPERAND_SINK;
            return true;
        }
        return ptx_match_reg(p, raw, type, pattern.relaxed, operand);
    case 'd':
    case 'r':
    case 'V':
        return ptx_match_reg(p, raw, type, pattern.relaxed, operand);
    case 'p':
        return ptx_match_reg(p, raw, type, false, operand);
    case 's':
    case 'v':
        return ptx_match_source(p, (ptx_op)insn->op, raw, type, pattern.relaxed, operand);
    case 'i':
        return raw->kind == PTX_RAW_VALUE ? ptx_match_value(p, raw, type, operand) : ptx_mismatch(p, "a constant is wanted");
    case 'm':
        return ptx_match_movable(p, raw, type, operand);
    case 'X':
    case 'x':
        return ptx_match_split(p, raw, type, pattern, operand);
    case 'a':
        return ptx_match_address(p, raw, type, insn, operand);
    case 'l':
        if (raw->kind != PTX_RAW_NAME || raw->offset)
            return ptx_mismatch(p, "a label is wanted");
        operand->kind = PTX_OPERAND_LABEL;
        operand->type = PTX_NONE;
        *label = raw->name;
        return true;
    default: { /* 't' */
        const ptx_binding *binding = raw->kind == PTX_RAW_NAME ? ptx_known(p, raw->name) : NULL;
        if (raw->kind == PTX_RAW_NAME && !binding)
            return false;
        if (!binding || binding->kind != PTX_BIND_TARGETS)
            return ptx_mismatch(p, "the label of a .branchtargets is wanted");
        *operand = (ptx_operand){.kind = PTX_OPERAND_TARGETS, .index = binding->index, .count = binding->count};
        return true;
    }
    }
}

static bool ptx_match_form(ptx_parser *p, const ptx_form *form, const ptx_raw *raws, unsigned count, ptx_insn *insn,
                           ptx_name **label)
{
    if (count < form->operands_needed || count > form->operand_count)
        return ptx_mismatch(p, "%u operands are wanted, not %u", (unsigned)form->operands_needed, count);
    size_t elements = p->element_count;
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

/* ---- calls ---- */

/* One argument or return value; `bytes` is what the callee's formal takes, or UINT64_MAX where it is not known. */
static bool ptx_call_item(ptx_parser *p, bool returned, uint64_t bytes, ptx_operand *operand)
{
    ptx_raw raw;
    uint32_t line = p->token.line;
    if (!ptx_raw_operand(p, &raw))
        return false;
    *operand = (ptx_operand){0};
    const ptx_binding *binding = raw.kind == PTX_RAW_NAME && !raw.second && !raw.negate ? ptx_known(p, raw.name) : NULL;
    if (binding && binding->kind == PTX_BIND_SYMBOL && p->symbols[binding->index].space == PTX_SPACE_PARAM && !raw.offset) {
        const ptx_symbol *symbol = &p->symbols[binding->index];
        *operand = (ptx_operand){.kind = PTX_OPERAND_SYMBOL, .type = symbol->type, .index = binding->index};
        return symbol->bytes == bytes || bytes == UINT64_MAX ||
               ptx_error(p, line, "'%s' of %" PRIu64 " bytes is passed where the callee has %" PRIu64, raw.name->text,
                         symbol->bytes, bytes);
    }
    static const ptx_type by_width[] = {[1] = PTX_B8, [2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
    if (binding && binding->kind == PTX_BIND_REG && binding->type != PTX_PRED && !raw.offset) {
        *operand = (ptx_operand){.kind = PTX_OPERAND_REG, .type = binding->type, .index = binding->index};
        return ptx_type_bytes((ptx_type)binding->type) == bytes || bytes == UINT64_MAX ||
               ptx_error(p, line, "register '%s' is passed where the callee has %" PRIu64 " bytes", raw.name->text, bytes);
    }
    if (!returned && raw.kind == PTX_RAW_VALUE && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)) {
        operand->type = (uint8_t)by_width[bytes];
        if (ptx_match_value(p, &raw, (ptx_type)operand->type, operand))
            return true;
    }
    return p->memory ? false : ptx_error(p, line, "an argument of a call is a .param variable, a register or a constant");
}

/* "(a, b)", or nothing; `formals` gives the sizes by position, NULL where the callee is not known. */
static bool ptx_call_list(ptx_parser *p, bool returned, const uint64_t *sizes, uint32_t wanted, ptx_operand *list)
{
    uint32_t first = (uint32_t)p->element_count, count = 0, line = p->token.line;
    *list = (ptx_operand){.kind = PTX_OPERAND_LIST, .index = first};
    if (ptx_accept(p, '(') && !ptx_accept(p, ')')) {
        do {
            ptx_operand item;
            if (wanted == count)
                return ptx_error(p, line, "the callee has %" PRIu32 " %s", wanted, returned ? "return values" : "parameters");
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
    return count == wanted ||
           ptx_error(p, line, "the callee has %" PRIu32 " %s, not %" PRIu32, wanted,
                     returned ? "return values" : "parameters", count);
}

/* Past a "(...)" whose meaning needs what comes after it. */
static void ptx_skip_list(ptx_parser *p)
{
    while (!ptx_is(p, ')') && !ptx_is(p, ';') && !ptx_is(p, '{') && p->token.kind != PTX_TOKEN_END)
        ptx_next(p);
    ptx_accept(p, ')');
}

typedef struct ptx_mark { ptx_token token; const char *cursor; uint32_t line; } ptx_mark;

static ptx_mark ptx_here(const ptx_parser *p)
{
    return (ptx_mark){p->token, p->cursor, p->line};
}

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
        return ptx_error(p, p->token.line, "Parsing error near %s: a function is wanted here", ptx_shown(p));
    const ptx_binding *binding = ptx_lookup(p, p->token.name);
    if (binding && binding->kind == PTX_BIND_FUNCTION && !p->functions[binding->index].entry)
        *target = (ptx_operand){.kind = PTX_OPERAND_FUNCTION, .index = binding->index};
    else if (binding && binding->kind == PTX_BIND_REG && ptx_reg_fits(PTX_U64, (ptx_type)binding->type, false))
        *target = (ptx_operand){.kind = PTX_OPERAND_REG, .index = binding->index, .type = PTX_U64};
    else
        return p->memory ? false : ptx_error(p, p->token.line, "%s is neither a function nor a 64-bit register", ptx_shown(p));
    ptx_next(p);
    return true;
}

/* call (returns), callee, (arguments), prototype; */
static bool ptx_call(ptx_parser *p, ptx_insn *insn)
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
    uint64_t *sizes = NULL;
    if (target->kind == PTX_OPERAND_FUNCTION) {
        const ptx_function *function = &p->functions[target->index];
        ret_count = function->return_count;
        arg_count = function->param_count;
        sizes = kiln__alloc(p->mem, ((size_t)ret_count + arg_count) * sizeof *sizes);
        if (!sizes)
            return ptx_out_of_memory(p);
        for (uint32_t i = 0; i < ret_count + arg_count; i++)
            sizes[i] = p->symbols[function->params[i]].bytes;
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
    kiln__free(p->mem, sizes);
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

/* ---- the instruction ---- */

static bool ptx_append(ptx_parser *p, const ptx_insn *insn, ptx_name *label)
{
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
    ptx_insn insn = {.op = (uint16_t)spelling->op, .guard_negate = guard_negate, .guard = guard, .space = spelling->space,
                     .vector = spelling->vector, .line = line, .loc = p->loc};
    memcpy(insn.types, spelling->types, sizeof insn.types);
    memcpy(insn.mods, spelling->mods, sizeof insn.mods);
    if (spelling->op == PTX_OP_CALL)
        return ptx_call(p, &insn) && ptx_expect(p, ';') && ptx_append(p, &insn, NULL);

    ptx_raw raws[PTX_MAX_OPERANDS];
    unsigned count = 0;
    p->part_count = 0;
    if (!ptx_is(p, ';')) {
        do {
            if (count == PTX_MAX_OPERANDS)
                return ptx_error(p, line, "an instruction has at most %d operands", PTX_MAX_OPERANDS);
            if (!ptx_raw_operand(p, &raws[count++]))
                return false;
        } while (ptx_accept(p, ','));
    }
    if (!ptx_is(p, ';'))
        return ptx_expect(p, ';');
    /* Of several forms, the complaint of the last that has the number of operands is shown. */
    ptx_name *label = NULL;
    char why[sizeof p->why] = "";
    bool matched = false;
    for (unsigned i = 0; i < p->form_count[spelling->op] && !matched && !p->memory; i++) {
        if (!(spelling->forms >> i & 1))
            continue;
        const ptx_form *form = &p->forms[spelling->op][i];
        label = NULL;
        matched = ptx_match_form(p, form, raws, count, &insn, &label);
        if (!matched && ((count >= form->operands_needed && count <= form->operand_count && why[0] != '!') || !why[0]))
            memcpy(why, p->why, sizeof why);
    }
    if (!matched) {
        memcpy(p->why, why, sizeof why);
        return ptx_arguments_error(p, spelling, line);
    }
    ptx_next(p);
    return ptx_append(p, &insn, label);
}
