/* move.c - decodes comparisons, selections, moves and conversions. */
#include "vm_access.h"
#include "vm_decode.h"

#define OPERAND(n) (&d->in->operands[n])
#define TYPE(n) (d->in->types[n])
#define HAS(mod) ptx_has(d->in, PTX_MOD_##mod)

static unsigned comparison(const ptx_insn *in)
{
    for (unsigned mod = PTX_MOD_EQ; mod <= PTX_MOD_NAN_; mod++)
        if (ptx_has(in, (ptx_mod)mod))
            return mod;
    /* tests .hi last, because it is also a suffix of mul */
    return ptx_has(in, PTX_MOD_LO) ? PTX_MOD_LO : ptx_has(in, PTX_MOD_HI) ? PTX_MOD_HI : PTX_MOD_EQ;
}

/* A way to compute a comparison with an existing handler. `swap` exchanges the two operands. `invert` negates the
 * result of the handler. */
typedef struct compare_form {
    vm_handler_id id;
    bool swap, invert;
} compare_form;

static compare_form compare_float(unsigned mod, bool wide)
{
    vm_handler_id eq = wide ? VM_H_eq_f64 : VM_H_eq_f32, lt = wide ? VM_H_lt_f64 : VM_H_lt_f32;
    vm_handler_id le = wide ? VM_H_le_f64 : VM_H_le_f32, lg = wide ? VM_H_lg_f64 : VM_H_lg_f32;
    vm_handler_id num = wide ? VM_H_num_f64 : VM_H_num_f32;
    switch (mod) {
    case PTX_MOD_EQ: return (compare_form){eq, false, false};
    case PTX_MOD_NE: return (compare_form){lg, false, false};
    case PTX_MOD_LT: return (compare_form){lt, false, false};
    case PTX_MOD_LE: return (compare_form){le, false, false};
    case PTX_MOD_GT: return (compare_form){lt, true, false};
    case PTX_MOD_GE: return (compare_form){le, true, false};
    case PTX_MOD_EQU: return (compare_form){lg, false, true};
    case PTX_MOD_NEU: return (compare_form){eq, false, true};
    case PTX_MOD_LTU: return (compare_form){le, true, true};
    case PTX_MOD_LEU: return (compare_form){lt, true, true};
    case PTX_MOD_GTU: return (compare_form){le, false, true};
    case PTX_MOD_GEU: return (compare_form){lt, false, true};
    case PTX_MOD_NUM: return (compare_form){num, false, false};
    default: return (compare_form){num, false, true};
    }
}

static compare_form compare_int(unsigned mod, unsigned type)
{
    unsigned bytes = ptx_type_bytes((ptx_type)type);
    bool sign = vm_is_signed(type);
    vm_handler_id eq = bytes == 8 ? VM_H_eq_u64 : bytes == 2 ? VM_H_eq_u16 : VM_H_eq_u32;
    vm_handler_id lt = bytes == 8   ? (sign ? VM_H_lt_s64 : VM_H_lt_u64)
                       : bytes == 2 ? (sign ? VM_H_lt_s16 : VM_H_lt_u16)
                                    : (sign ? VM_H_lt_s32 : VM_H_lt_u32);
    switch (mod) {
    case PTX_MOD_EQ: return (compare_form){eq, false, false};
    case PTX_MOD_NE: return (compare_form){eq, false, true};
    case PTX_MOD_LT:
    case PTX_MOD_LO: return (compare_form){lt, false, false};
    case PTX_MOD_LE:
    case PTX_MOD_LS: return (compare_form){lt, true, true};
    case PTX_MOD_GT:
    case PTX_MOD_HI: return (compare_form){lt, true, false};
    default: return (compare_form){lt, false, true};
    }
}

static uint32_t flushed(vm_decoder *d, uint32_t slot)
{
    vm_code *i = decode_step(d, VM_H_flush_f32);
    uint32_t temp = decode_take_temp(d);
    i->a = slot;
    i->flags = VM_FTZ;
    return i->d = temp;
}

static uint8_t bool_flags(const vm_decoder *d)
{
    return HAS(AND) ? VM_BOOL_AND : HAS(OR) ? VM_BOOL_OR : HAS(XOR) ? VM_BOOL_XOR : 0;
}

/* Emits the comparison p|q = (a cmp b) op c. If `step` is true, emits it as an extra operation, otherwise as the
 * operation that counts as the instruction. For f16x2 and bf16x2, p and q are the results of the two halves. */
static void compare(vm_decoder *d, unsigned type, const ptx_operand *third, uint32_t p, uint32_t q, bool step)
{
    unsigned mod = comparison(d->in), bytes = decode_container(type);
    uint32_t a = decode_source(d, OPERAND(1), bytes), b = decode_source(d, OPERAND(2), bytes), c = 0;
    bool negated = false;
    uint8_t combine = bool_flags(d);
    if (combine)
        c = decode_pred_plain(d, third, &negated);
    if (vm_is_half(type)) {
        bool pair = type == PTX_F16X2 || type == PTX_BF16X2;
        uint32_t low = combine || (!pair && q) ? decode_take_temp_pred(d) : p, high = 0;
        if (pair)
            high = combine ? decode_take_temp_pred(d) : q;
        vm_code *i = low == p && !step ? decode_emit_op(d, ops_half_compare) : decode_step_op(d, ops_half_compare);
        i->d = low, i->e = high, i->a = a, i->b = b;
        i->space = (uint8_t)type, i->count = (uint8_t)mod;
        i->flags = vm_flags(d->in) & VM_FTZ;
        if (low == p)
            return;
        unsigned op = HAS(AND) ? PTX_MOD_AND : HAS(OR) ? PTX_MOD_OR : HAS(XOR) ? PTX_MOD_XOR : 0;
        /* The handler writes q before it computes p. So if c and q are one register, an extra operation first copies
         * c. */
        if (q && c == q) {
            i = decode_step_op(d, ops_pred_logic);
            i->a = i->b = c, i->d = c = decode_take_temp_pred(d);
        }
        if (q) {
            i = step ? decode_step_op(d, ops_pred_logic) : decode_emit_op(d, ops_pred_logic);
            if (!step)
                i->guard |= 2; /* only the second of the two operations counts as an instruction */
            i->d = q, i->a = pair ? high : low, i->b = c, i->size = (uint8_t)op;
            i->flags = (uint8_t)((pair ? 0 : 1) | (negated ? 2 : 0));
        }
        i = step ? decode_step_op(d, ops_pred_logic) : decode_emit_op(d, ops_pred_logic);
        i->d = p, i->a = low, i->b = c, i->size = (uint8_t)op;
        i->flags = negated ? 2 : 0;
        return;
    }
    compare_form form = type == PTX_F32 || type == PTX_F64 ? compare_float(mod, type == PTX_F64)
                                                           : compare_int(mod, type);
    if (HAS(FTZ) && type == PTX_F32)
        a = flushed(d, a), b = flushed(d, b);
    vm_code *i = step ? decode_step(d, form.id) : decode_emit(d, form.id);
    i->d = p, i->e = q, i->c = c;
    i->a = form.swap ? b : a;
    i->b = form.swap ? a : b;
    i->flags = (uint8_t)((form.invert ? VM_INVERT : 0) | combine | (negated ? VM_COMBINE_NOT : 0));
}

void decode_setp(vm_decoder *d)
{
    uint32_t q = decode_second_pred(d, OPERAND(0));
    uint32_t p = OPERAND(0)->kind == PTX_OPERAND_SINK ? decode_take_temp_pred(d) : decode_dest(d, OPERAND(0), 0);
    compare(d, TYPE(0), OPERAND(3), p, q, false);
}

void decode_set(vm_decoder *d)
{
    unsigned to = TYPE(0), from = TYPE(1);
    bool pair = from == PTX_F16X2 || from == PTX_BF16X2;
    uint32_t low = decode_take_temp_pred(d), high = pair ? decode_take_temp_pred(d) : 0;
    compare(d, from, OPERAND(3), low, high, true);
    uint32_t dest = decode_dest(d, OPERAND(0), 4);
    if (pair) {
        vm_code *i = decode_emit_op(d, ops_half_set2);
        i->d = dest, i->a = low, i->b = high;
        i->imm = to == PTX_F16X2 ? 0x3c00 : to == PTX_BF16X2 ? 0x3f80 : 0xffff;
        return;
    }
    uint64_t one = to == PTX_F32                    ? 0x3f800000u
                   : to == PTX_F16                  ? 0x3c00
                   : to == PTX_BF16                 ? 0x3f80
                   : to == PTX_U16 || to == PTX_S16 ? 0xffff
                                                    : VM_ALL;
    uint32_t yes = decode_constant_slot(d, one, 4), no = decode_constant_slot(d, 0, 4);
    vm_code *i = decode_emit(d, VM_H_selp_b32);
    i->d = dest, i->a = yes, i->b = no, i->c = low;
}

void decode_selp(vm_decoder *d)
{
    unsigned bytes = decode_container(TYPE(0));
    uint32_t a = decode_source(d, OPERAND(1), bytes), b = decode_source(d, OPERAND(2), bytes);
    bool negated;
    uint32_t p = decode_pred_plain(d, OPERAND(3), &negated), to = decode_dest(d, OPERAND(0), bytes);
    vm_code *i = decode_emit(d, bytes == 8 ? VM_H_selp_b64 : VM_H_selp_b32);
    i->d = to, i->c = p;
    i->a = negated ? b : a;
    i->b = negated ? a : b;
}

void decode_slct(vm_decoder *d)
{
    unsigned bytes = decode_container(TYPE(0));
    bool real = TYPE(1) == PTX_F32;
    uint32_t a = decode_source(d, OPERAND(1), bytes), b = decode_source(d, OPERAND(2), bytes),
             c = decode_source(d, OPERAND(3), 4);
    uint32_t to = decode_dest(d, OPERAND(0), bytes);
    vm_code *i = decode_emit(d, real         ? (bytes == 8 ? VM_H_slct_b64_f32 : VM_H_slct_b32_f32)
                                : bytes == 8 ? VM_H_slct_b64_s32
                                             : VM_H_slct_b32_s32);
    i->d = to, i->a = a, i->b = b, i->c = c;
    i->flags = vm_flags(d->in);
}

static const uint32_t *element_slots(vm_decoder *d, const ptx_operand *o, unsigned bytes, bool dest)
{
    uint32_t *slots = decode_allocate(d, (o->count ? o->count : 1) * sizeof *slots);
    for (uint32_t k = 0; slots && k < o->count; k++) {
        const ptx_operand *e = &d->f->elements[o->index + k];
        slots[k] = dest ? (e->kind == PTX_OPERAND_SINK ? 0 : decode_dest(d, e, bytes)) : decode_source(d, e, bytes);
    }
    return slots;
}

void decode_mov(vm_decoder *d)
{
    const ptx_operand *to = OPERAND(0), *from = OPERAND(1);
    unsigned type = TYPE(0), bytes = decode_container(type);
    if (type == PTX_PRED) {
        bool negated;
        if (from->kind == PTX_OPERAND_SREG) { /* %is_explicit_cluster */
            uint32_t dest = decode_dest(d, to, 0);
            decode_emit_op(d, ops_is_clustered)->d = dest;
            return;
        }
        uint32_t a = decode_pred_plain(d, from, &negated), dest = decode_dest(d, to, 0);
        vm_code *i = decode_emit_op(d, ops_pred_logic);
        i->d = dest, i->a = i->b = a;
        i->flags = negated;
        return;
    }
    if (to->kind == PTX_OPERAND_VECTOR || from->kind == PTX_OPERAND_VECTOR) {
        bool split = to->kind == PTX_OPERAND_VECTOR;
        const ptx_operand *many = split ? to : from;
        unsigned part = ptx_type_bytes((ptx_type)type) / (many->count ? many->count : 1);
        const uint32_t *slots = element_slots(d, many, part > 4 ? part : 4, split);
        uint32_t whole = split ? decode_source(d, from, bytes) : decode_dest(d, to, bytes);
        vm_code *i = decode_emit_op(d, split ? ops_split : ops_join);
        i->extra = slots;
        i->a = i->d = whole;
        i->size = (uint8_t)(8 * part);
        i->count = (uint8_t)many->count;
        return;
    }
    if (from->kind == PTX_OPERAND_SREG) {
        uint32_t dest = decode_dest(d, to, bytes);
        vm_code *i = decode_emit_op(d, ops_special);
        i->d = dest, i->b = from->index;
        i->flags = decode_sreg_flags(from, bytes);
        d->module->uses_system_shared |= from->index == PTX_SREG_RESERVED_SMEM_1;
        return;
    }
    uint32_t a = decode_source(d, from, bytes), dest = decode_dest(d, to, bytes);
    vm_code *i;
    if (bytes == 16) {
        i = decode_guarded_step(d, VM_H_mov_b64);
        i->d = dest + 8 * VM_LANES, i->a = a + 8 * VM_LANES;
    }
    i = decode_emit(d, bytes == 4 ? VM_H_mov_b32 : VM_H_mov_b64);
    i->d = dest, i->a = a;
}

/* ---- cvt ---- */

static vm_handler_id extension32(unsigned type)
{
    switch (type) {
    case PTX_U8:
    case PTX_B8: return VM_H_ext32_u8;
    case PTX_S8: return VM_H_ext32_s8;
    case PTX_U16:
    case PTX_B16: return VM_H_ext32_u16;
    case PTX_S16: return VM_H_ext32_s16;
    default: return VM_H_mov_b32;
    }
}

/* Decodes a conversion between integers without saturation as up to four operations. They truncate the value to the
 * narrower type, extend it by its sign or by zeros, and extend it to the width of the register. */
static void convert_int(vm_decoder *d, unsigned to, unsigned from)
{
    struct {
        vm_handler_id id;
    } chain[4];
    unsigned count = 0, to_bytes = ptx_type_bytes((ptx_type)to), from_bytes = ptx_type_bytes((ptx_type)from);
    unsigned reg = ptx_type_bytes((ptx_type)d->f->regs[OPERAND(0)->index].type);
    unsigned have = OPERAND(1)->kind == PTX_OPERAND_REG ? decode_reg_bytes(d, OPERAND(1)) : decode_container(from);
    uint32_t slot = decode_source(d, OPERAND(1), have),
             dest = decode_dest(d, OPERAND(0), decode_container(d->f->regs[OPERAND(0)->index].type));
    if (have == 8 && !(from_bytes == 8 && to_bytes == 8))
        chain[count++].id = VM_H_low_b32;
    unsigned narrow = to_bytes <= from_bytes ? to : from;
    if (ptx_type_bytes((ptx_type)narrow) < 4)
        chain[count++].id = extension32(narrow);
    if (to_bytes == 2 && from_bytes == 1 && vm_is_signed(from) && !(reg == 2))
        chain[count++].id = extension32(to);
    if (reg == 8 && !(from_bytes == 8 && to_bytes == 8))
        chain[count++].id = to_bytes == 8      ? (vm_is_signed(from) ? VM_H_ext64_s32 : VM_H_ext64_u32)
                            : vm_is_signed(to) ? VM_H_ext64_s32
                                               : VM_H_ext64_u32;
    else if (reg == 2)
        chain[count++].id = VM_H_ext32_u16;
    if (count == 0)
        chain[count++].id = reg == 8 ? VM_H_mov_b64 : VM_H_mov_b32;
    for (unsigned k = 0; k < count; k++) {
        bool last = k + 1 == count;
        uint32_t next = last ? dest : decode_take_temp(d);
        vm_code *i = last ? decode_emit(d, chain[k].id) : decode_step(d, chain[k].id);
        i->a = slot, i->d = next;
        slot = next;
    }
}

/* Decodes a conversion to or from a floating-point format of 8 bits or less, and a conversion with random bits. */
static void convert_narrow(vm_decoder *d)
{
    const ptx_operand *first = OPERAND(1);
    uint32_t *slots = NULL, a, b = 0, c = 0;
    unsigned next = 2;
    if (first->kind == PTX_OPERAND_VECTOR) {
        slots = decode_allocate(d, first->count * sizeof *slots);
        for (uint32_t k = 0; slots && k < first->count; k++)
            slots[k] = decode_source(d, &d->f->elements[first->index + k], 4);
        if (!slots)
            return;
        a = slots[0];
    } else {
        a = decode_source(d, first, 4);
        if (TYPE(1) == PTX_F32)
            b = decode_source(d, OPERAND(next++), 4);
    }
    if (HAS(RS))
        c = decode_source(d, OPERAND(next), 4);
    uint32_t to = decode_dest(d, OPERAND(0), 4);
    vm_code *i = decode_emit_op(d, ops_cvt_narrow);
    i->d = to, i->a = a, i->b = b, i->c = c;
    i->space = TYPE(0), i->count = TYPE(1);
    i->size = (uint8_t)vm_rounding(d->in);
    i->flags = (uint8_t)((HAS(RELU) ? VM_RELU : 0) | (HAS(SATFINITE) ? VM_XORSIGN : 0));
    i->extra = slots;
}

/* Decodes cvt by the first of these rules that applies:
 * 1. Formats below 16 bits, scales and random rounding go to convert_narrow().
 * 2. Results of packed halves or tf32 go to ops_cvt_pack_half().
 * 3. Conversions between integers without .sat go to convert_int().
 * 4. Frequent conversions have a handler of vm_ops.def. These handlers need registers that are as wide as the types,
 *    and no flags.
 * 5. Every other conversion goes to ops_cvt(), which works lane by lane.
 *
 * A register may be wider than the type of its value. So three bits of the member `c` describe the registers to
 * ops_cvt(). Bit 0 is set if the source register has 64 bits. Bit 1 is set if the destination register has 64 bits. Bit
 * 2 is set if the destination register has at most 16 bits. */
void decode_cvt(vm_decoder *d)
{
    unsigned to = TYPE(0), from = TYPE(1), rounding = vm_rounding(d->in);
    uint8_t flags = vm_flags(d->in);
    if (to > PTX_F64 || from > PTX_F64 || HAS(RS)) {
        convert_narrow(d);
        return;
    }
    if (to == PTX_F16X2 || to == PTX_BF16X2 || to == PTX_TF32) {
        uint32_t a = decode_source(d, OPERAND(1), 4), b = to == PTX_TF32 ? a : decode_source(d, OPERAND(2), 4);
        uint32_t dest = decode_dest(d, OPERAND(0), 4);
        vm_code *i = decode_emit_op(d, ops_cvt_pack_half);
        i->d = dest, i->a = a, i->b = b;
        i->space = (uint8_t)to, i->size = (uint8_t)rounding;
        i->flags = (uint8_t)(flags | (HAS(SATFINITE) ? VM_XORSIGN : 0));
        return;
    }
    bool float_to = to >= PTX_F16 && to <= PTX_F64, float_from = from >= PTX_F16 && from <= PTX_F64;
    if (OPERAND(0)->kind != PTX_OPERAND_REG) {
        decode_set_error(d, "destination is not a register");
        return;
    }
    if (!float_to && !float_from && !HAS(SAT)) {
        convert_int(d, to, from);
        return;
    }
    unsigned dest_bytes = decode_container(d->f->regs[OPERAND(0)->index].type);
    unsigned have = OPERAND(1)->kind == PTX_OPERAND_REG ? decode_reg_bytes(d, OPERAND(1)) : decode_container(from);
    uint32_t a = decode_source(d, OPERAND(1), have), dest = decode_dest(d, OPERAND(0), dest_bytes);
    vm_handler_id id = VM_H_COUNT;
    if (flags == 0 && dest_bytes == decode_container(to) && have == decode_container(from)) {
        bool nearest = rounding == PTX_MOD_RN, zero = rounding == PTX_MOD_RZI;
        if (to == PTX_F32 && nearest)
            id = from == PTX_S32   ? VM_H_cvt_f32_s32
                 : from == PTX_U32 ? VM_H_cvt_f32_u32
                 : from == PTX_F64 ? VM_H_cvt_f32_f64
                                   : VM_H_COUNT;
        else if (to == PTX_F64 && nearest)
            id = from == PTX_S32   ? VM_H_cvt_f64_s32
                 : from == PTX_U32 ? VM_H_cvt_f64_u32
                 : from == PTX_F32 ? VM_H_cvt_f64_f32
                                   : VM_H_COUNT;
        else if (from == PTX_F32 && zero)
            id = to == PTX_S32 ? VM_H_cvt_s32_f32 : to == PTX_U32 ? VM_H_cvt_u32_f32 : VM_H_COUNT;
    }
    if (id != VM_H_COUNT) {
        vm_code *i = decode_emit(d, id);
        i->d = dest, i->a = a;
        return;
    }
    vm_code *i = decode_emit_op(d, ops_cvt);
    i->d = dest, i->a = a;
    i->space = (uint8_t)to, i->count = (uint8_t)from, i->size = (uint8_t)rounding;
    i->flags = (uint8_t)(flags | (HAS(SATFINITE) ? VM_XORSIGN : 0));
    i->c = (have == 8 ? 1u : 0) | (dest_bytes == 8 ? 2u : 0) |
           (ptx_type_bytes((ptx_type)d->f->regs[OPERAND(0)->index].type) <= 2 ? 4u : 0);
}

void decode_cvt_pack(vm_decoder *d)
{
    uint32_t a = decode_source(d, OPERAND(1), 4), b = decode_source(d, OPERAND(2), 4);
    uint32_t c = d->in->operand_count > 3 ? decode_source(d, OPERAND(3), 4) : 0, dest = decode_dest(d, OPERAND(0), 4);
    vm_code *i = decode_emit_op(d, ops_cvt_pack_int);
    i->d = dest, i->a = a, i->b = b, i->c = c;
    i->space = TYPE(0);
}

/* ---- address spaces ---- */

void decode_cvta(vm_decoder *d)
{
    unsigned bytes = decode_container(TYPE(0));
    uint64_t window = d->in->space == PTX_SPACE_SHARED  ? VM_SHARED_BASE
                      : d->in->space == PTX_SPACE_LOCAL ? VM_LOCAL_BASE
                      : d->in->space == PTX_SPACE_PARAM ? VM_PARAM_BASE
                                                        : 0;
    uint32_t a = decode_source(d, OPERAND(1), bytes), dest = decode_dest(d, OPERAND(0), bytes);
    if (bytes == 4) { /* the device has no 32-bit generic addresses */
        vm_code *i = decode_emit(d, VM_H_mov_b32);
        i->d = dest, i->a = a;
        return;
    }
    uint32_t by = decode_constant_slot(d, window, 8);
    vm_code *i = decode_emit(d, window == 0 ? VM_H_mov_b64 : HAS(TO) ? VM_H_sub_u64 : VM_H_add_u64);
    i->d = dest, i->a = a, i->b = by;
}

void decode_isspacep(vm_decoder *d)
{
    uint32_t a = decode_source(d, OPERAND(1), 8), dest = decode_dest(d, OPERAND(0), 0);
    vm_code *i = decode_emit_op(d, vm_op_isspacep);
    i->d = dest, i->a = a;
    i->space = d->in->space;
    i->count = HAS(SHARED_CLUSTER);
}
