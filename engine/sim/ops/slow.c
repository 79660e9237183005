/* slow.c - the rarer arithmetic, lane by lane: other roundings, conversions in full, carry chains, pairs of 16 bits,
 * special registers. */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "vm_math.h"
#include "vm_ops.h"

int vm_host_rounding(unsigned rounding)
{
    switch (rounding) {
    case PTX_MOD_RZ: return FE_TOWARDZERO;
    case PTX_MOD_RM: return FE_DOWNWARD;
    case PTX_MOD_RP: return FE_UPWARD;
    default: return FE_TONEAREST;
    }
}

/* One result under the host's present rounding. Operands are volatile so that nothing moves past the change of it. */
float vm_round_f32(unsigned op, float a, float b, float c, unsigned flags)
{
    volatile float x = vm_in(a, flags), y = vm_in(b, flags), z = vm_in(c, flags), r;
    switch (op) {
    case VM_ADD: r = x + y; break;
    case VM_SUB: r = x - y; break;
    case VM_MUL: r = x * y; break;
    case VM_FMA: r = fmaf(x, y, z); break;
    case VM_DIV: r = x / y; break;
    case VM_RCP: r = 1.0f / x; break;
    default: r = sqrtf(x); break;
    }
    if (flags & VM_FTZ && fabsf(r) <= 0x1p-126f && (op == VM_MUL || op == VM_FMA || op == VM_DIV)) {
        volatile float large = x * VM_SCALE, scaled;
        scaled = op == VM_MUL ? large * y : op == VM_DIV ? large / y : fmaf(large, y, z * VM_SCALE);
        r = vm_tiny(r, scaled, flags);
    }
    return vm_out(r, flags);
}

/* size: VM_ADD ...; count: the rounding. */
void vm_op_round_f32(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_f32 *a = (const vm_f32 *)(const void *)vm_at(w, i->a), *b = (const vm_f32 *)(const void *)vm_at(w, i->b);
    const vm_f32 *c = (const vm_f32 *)(const void *)vm_at(w, i->c);
    vm_f32 *d = (vm_f32 *)(void *)vm_at(w, i->d);
    int before = fegetround();
    fesetround(vm_host_rounding(i->count));
    VM_EACH(lane, m)
        d[lane] = vm_round_f32(i->size, a[lane], b[lane], c[lane], i->flags);
    fesetround(before);
}

void vm_op_round_f64(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_f64 *a = (const vm_f64 *)(const void *)vm_at(w, i->a), *b = (const vm_f64 *)(const void *)vm_at(w, i->b);
    const vm_f64 *c = (const vm_f64 *)(const void *)vm_at(w, i->c);
    vm_f64 *d = (vm_f64 *)(void *)vm_at(w, i->d);
    int before = fegetround();
    fesetround(vm_host_rounding(i->count));
    VM_EACH(lane, m) {
        volatile double x = a[lane], y = b[lane], z = c[lane], r;
        switch (i->size) {
        case VM_ADD: r = x + y; break;
        case VM_SUB: r = x - y; break;
        case VM_MUL: r = x * y; break;
        case VM_FMA: r = fma(x, y, z); break;
        case VM_DIV: r = x / y; break;
        case VM_RCP: r = 1.0 / x; break;
        default: r = sqrt(x); break;
        }
        d[lane] = r;
    }
    fesetround(before);
}

/* ---- cvt ---- */

static bool is_float(unsigned type)
{
    return type == PTX_F16 || type == PTX_BF16 || type == PTX_F32 || type == PTX_F64;
}
static bool is_signed(unsigned type) { return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64; }

static double read_float(unsigned type, uint64_t bits, unsigned flags)
{
    switch (type) {
    case PTX_F32: return (double)vm_in(vm_float((uint32_t)bits), flags);
    case PTX_F64: return vm_double(bits);
    default: return vm_half_get(type, (uint32_t)bits & 0xffff);
    }
}

static uint64_t write_float(unsigned type, double x, unsigned rounding, unsigned flags)
{
    if (flags & VM_SAT)
        x = vm_out64(x, VM_SAT);
    if (flags & VM_RELU && x <= 0) /* -0 too */
        x = 0;
    switch (type) {
    case PTX_F64: return vm_bits64(x);
    case PTX_F32: {
        float r = vm_float(vm_pack_float(x, 23, 8, rounding));
        if (flags & VM_FTZ)
            r = vm_tiny(r, vm_float(vm_pack_float(x * (double)VM_SCALE, 23, 8, rounding)), flags);
        return vm_bits32(vm_in(r, flags));
    }
    default: {
        uint32_t r = vm_half_put(type, x, rounding), infinite = type == PTX_BF16 ? 0x7f80 : 0x7c00;
        if (flags & VM_XORSIGN && (r & 0x7fff) == infinite) /* .satfinite */
            r--;
        return r;
    }
    }
}

static double to_integral(double x, unsigned rounding)
{
    switch (rounding) {
    case PTX_MOD_RZI: return trunc(x);
    case PTX_MOD_RMI: return floor(x);
    case PTX_MOD_RPI: return ceil(x);
    case PTX_MOD_RNI: return nearbyint(x);
    default: return x;
    }
}

static uint64_t float_to_int(unsigned to, unsigned from, double x, unsigned rounding)
{
    unsigned width = 8 * ptx_type_bytes((ptx_type)to);
    bool sign = is_signed(to);
    if (x != x)
        return from != PTX_F64 && width < 64 ? 0 : (uint64_t)1 << (width - 1);
    x = to_integral(x, rounding);
    double high = ldexp(1, (int)width - sign), low = sign ? -high : 0;
    if (x >= high)
        return sign ? ((uint64_t)1 << (width - 1)) - 1 : width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    if (x <= low)
        return sign ? (uint64_t)(INT64_MIN >> (64 - width)) : 0;
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* An integer as a double that still rounds right to anything narrower: bits that do not fit stick to the last. */
static double sticky(uint64_t magnitude, bool negative)
{
    double x = magnitude >> 53 ? ldexp((double)(magnitude >> 11 | ((magnitude & 2047) != 0)), 11) : (double)magnitude;
    return negative ? -x : x;
}

static uint64_t int_to_float(unsigned to, unsigned from, uint64_t bits, unsigned rounding, unsigned flags)
{
    bool negative = is_signed(from) && bits >> 63;
    uint64_t magnitude = negative ? 0 - bits : bits;
    if (to != PTX_F64)
        return write_float(to, sticky(magnitude, negative), rounding, flags);
    int before = fegetround();
    fesetround(vm_host_rounding(rounding));
    volatile uint64_t in = magnitude, sign_in = bits;
    volatile double x = negative ? (double)(int64_t)sign_in : (double)in;
    fesetround(before);
    return write_float(to, x, rounding, flags);
}

static uint64_t int_to_int(unsigned to, unsigned from, uint64_t bits, bool sat)
{
    unsigned width = 8 * ptx_type_bytes((ptx_type)to);
    if (!sat)
        return bits;
    bool negative = is_signed(from) && bits >> 63;
    if (is_signed(to)) {
        int64_t least = INT64_MIN >> (64 - width), most = ~least;
        if (negative)
            return (int64_t)bits < least ? (uint64_t)least : bits;
        return bits > (uint64_t)most ? (uint64_t)most : bits;
    }
    uint64_t most = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    return negative ? 0 : bits > most ? most : bits;
}

static uint64_t narrow(unsigned type, uint64_t bits)
{
    unsigned shift = 64 - 8 * ptx_type_bytes((ptx_type)type);
    return is_signed(type) ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits << shift >> shift;
}

/* space: to, count: from, size: rounding; c: 1 source register has 64 bits, 2 destination has, 4 destination has 16. */
void vm_op_cvt(vm_warp *w, const vm_code *i, uint32_t m)
{
    unsigned to = i->space, from = i->count, rounding = i->size;
    VM_EACH(lane, m) {
        uint64_t bits = i->c & 1 ? vm_r64(w, i->a)[lane] : vm_r32(w, i->a)[lane], r;
        if (is_float(from)) {
            double x = read_float(from, bits, to == PTX_F16 ? 0 : i->flags); /* there .ftz does nothing */
            if (!is_float(to)) {
                r = narrow(to, float_to_int(to, from, x, rounding));
            } else if (to == PTX_F32 && from == PTX_F64 && x != x) {
                r = i->flags & VM_SAT ? 0 : 0x7fffffff;
            } else {
                r = write_float(to, to_integral(x, rounding), rounding, i->flags);
            }
        } else {
            bits = narrow(from, bits);
            r = is_float(to) ? int_to_float(to, from, bits, rounding, i->flags)
                             : narrow(to, int_to_int(to, from, bits, i->flags & VM_SAT));
        }
        if (i->c & 2)
            vm_r64(w, i->d)[lane] = r;
        else
            vm_r32(w, i->d)[lane] = i->c & 4 ? (uint16_t)r : (uint32_t)r;
    }
}

/* cvt.f16x2.f32 d, a, b (a goes high) and cvt.tf32.f32. space: the type, size: rounding. */
void vm_op_cvt_pack_half(vm_warp *w, const vm_code *i, uint32_t m)
{
    unsigned type = i->space == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    VM_EACH(lane, m) {
        double a = (double)vm_float(vm_r32(w, i->a)[lane]);
        if (i->space == PTX_TF32) {
            if (i->flags & VM_RELU && a <= 0)
                a = 0;
            uint32_t bits = vm_r32(w, i->a)[lane], r = vm_pack_float(a, 10, 8, i->size);
            if (i->size == PTX_MOD_RNA && a != a && (bits & 0x7fe000) == 0) /* the device rounds such a payload away */
                r = (bits + 0x1000) >> 13;
            if (i->flags & VM_XORSIGN && (r & 0x3ffff) == 0x3fc00) /* .satfinite */
                r--;
            vm_r32(w, i->d)[lane] = r << 13;
            continue;
        }
        double b = (double)vm_float(vm_r32(w, i->b)[lane]);
        vm_r32(w, i->d)[lane] = (uint32_t)write_float(type, a, i->size, i->flags) << 16 |
                                (uint32_t)write_float(type, b, i->size, i->flags);
    }
}

/* space: the narrow type; c: slot of the third operand, or 0. */
void vm_op_cvt_pack_int(vm_warp *w, const vm_code *i, uint32_t m)
{
    unsigned width = 8 * ptx_type_bytes((ptx_type)i->space);
    uint32_t keep = (1u << width) - 1;
    VM_EACH(lane, m) {
        uint64_t a = (uint64_t)(int32_t)vm_r32(w, i->a)[lane], b = (uint64_t)(int32_t)vm_r32(w, i->b)[lane];
        uint32_t x = (uint32_t)int_to_int(i->space, PTX_S32, a, true) & keep;
        uint32_t y = (uint32_t)int_to_int(i->space, PTX_S32, b, true) & keep;
        uint32_t above = i->c ? vm_r32(w, i->c)[lane] << 2 * width : 0;
        vm_r32(w, i->d)[lane] = above | x << width | y;
    }
}

/* ---- carry chains ---- */

/* flags: 1 carry in, 2 carry out, 4 subtract, 8 multiply first, 16 its high half, 32 signed, 64 of 64 bits. */
void vm_op_carry(vm_warp *w, const vm_code *i, uint32_t m)
{
    VM_EACH(lane, m) {
        /* One flag serves both: subtracting is adding the complement, so a set flag is no borrow. */
        bool wide = i->flags & 64, flag = w->cc >> lane & 1, out;
        bool carry = i->flags & 1 && flag != ((i->flags & 4) != 0);
        uint64_t a = wide ? vm_r64(w, i->a)[lane] : vm_r32(w, i->a)[lane];
        uint64_t b = wide ? vm_r64(w, i->b)[lane] : vm_r32(w, i->b)[lane];
        uint64_t r;
        if (i->flags & 8) {
            uint64_t c = wide ? vm_r64(w, i->c)[lane] : vm_r32(w, i->c)[lane];
            if (!(i->flags & 16))
                a *= b;
            else if (wide)
                a = i->flags & 32 ? vm_smulhi64(a, b) : vm_umulhi64(a, b);
            else
                a = i->flags & 32 ? (uint64_t)((int64_t)(int32_t)(uint32_t)a * (int32_t)(uint32_t)b >> 32)
                                  : a * b >> 32;
            a = wide ? a : (uint32_t)a;
            b = c;
        }
        if (i->flags & 4) {
            r = a - b - carry;
            out = !(wide ? a < b || (carry && a == b) : r >> 32 != 0);
        } else {
            r = a + b + carry;
            out = wide ? r < a || (carry && r == a) : r >> 32 != 0;
        }
        if (wide)
            vm_r64(w, i->d)[lane] = r;
        else
            vm_r32(w, i->d)[lane] = (uint32_t)r;
        if (i->flags & 2)
            w->cc = (w->cc & ~(1u << lane)) | (uint32_t)out << lane;
    }
}

/* size: VM_ADD, VM_MIN or VM_MAX on halves; flags: VM_SIGNED, VM_RELU. */
void vm_op_pair16(vm_warp *w, const vm_code *i, uint32_t m)
{
    VM_EACH(lane, m) {
        uint32_t a = vm_r32(w, i->a)[lane], b = vm_r32(w, i->b)[lane], r = 0;
        for (unsigned k = 0; k < 32; k += 16) {
            int32_t x = (int32_t)(a >> k & 0xffff), y = (int32_t)(b >> k & 0xffff), z;
            if (i->flags & VM_SIGNED)
                x = (int16_t)(uint16_t)x, y = (int16_t)(uint16_t)y;
            z = i->size == VM_ADD ? x + y : (i->size == VM_MIN) == (x < y) ? x : y;
            if (i->flags & VM_RELU && z < 0)
                z = 0;
            r |= (uint32_t)(uint16_t)z << k;
        }
        vm_r32(w, i->d)[lane] = r;
    }
}

/* ---- movement ---- */

static uint64_t read_wide(const vm_warp *w, uint32_t slot, unsigned bits, uint32_t lane)
{
    return bits == 64 ? vm_r64(w, slot)[lane] : vm_r32(w, slot)[lane];
}

/* mov {x, y, ..}, a: extra: slots (0: not wanted); size: bits of an element; count: elements. */
void vm_op_split(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *slots = i->extra;
    unsigned whole = i->size * i->count;
    VM_EACH(lane, m) {
        uint64_t low = read_wide(w, i->a, whole > 32 ? 64 : 32, lane), high = 0;
        if (whole == 128)
            high = vm_r64(w, i->a)[lane + VM_LANES];
        for (unsigned k = 0; k < i->count; k++) {
            unsigned at = k * i->size;
            uint64_t value = at >= 64 ? high >> (at - 64) : low >> at;
            if (!slots[k])
                continue;
            if (i->size == 64)
                vm_r64(w, slots[k])[lane] = value;
            else
                vm_r32(w, slots[k])[lane] = (uint32_t)value & (i->size == 32 ? VM_ALL : (1u << i->size) - 1);
        }
    }
}

void vm_op_join(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *slots = i->extra;
    unsigned whole = i->size * i->count;
    VM_EACH(lane, m) {
        uint64_t part[2] = {0, 0};
        for (unsigned k = 0; k < i->count; k++) {
            uint64_t value = read_wide(w, slots[k], i->size, lane);
            if (i->size < 32)
                value &= (1u << i->size) - 1;
            part[k * i->size / 64] |= value << k * i->size % 64;
        }
        if (whole > 32)
            vm_r64(w, i->d)[lane] = part[0];
        else
            vm_r32(w, i->d)[lane] = (uint32_t)part[0];
        if (whole == 128)
            vm_r64(w, i->d)[lane + VM_LANES] = part[1];
    }
}

/* size: 0 mov, PTX_MOD_AND OR XOR; flags: 1 a negated, 2 b negated. */
void vm_op_pred_logic(vm_warp *w, const vm_code *i, uint32_t m)
{
    uint32_t a = *vm_pred(w, i->a) ^ (i->flags & 1 ? VM_ALL : 0);
    uint32_t b = *vm_pred(w, i->b) ^ (i->flags & 2 ? VM_ALL : 0);
    uint32_t r = i->size == PTX_MOD_AND ? a & b : i->size == PTX_MOD_OR ? a | b : i->size == PTX_MOD_XOR ? a ^ b : a;
    vm_set_pred(w, i->d, r, m);
}

static uint64_t special(vm_warp *w, unsigned which)
{
    const vm_launch *launch = w->runner->run->launch;
    const vm_run_state *run = w->runner->run;
    switch (which) {
    case PTX_SREG_NTID_X:
    case PTX_SREG_NTID_Y:
    case PTX_SREG_NTID_Z: return launch->block[which - PTX_SREG_NTID_X];
    case PTX_SREG_CTAID_X:
    case PTX_SREG_CTAID_Y:
    case PTX_SREG_CTAID_Z: return w->block->id[which - PTX_SREG_CTAID_X];
    case PTX_SREG_NCTAID_X:
    case PTX_SREG_NCTAID_Y:
    case PTX_SREG_NCTAID_Z: return launch->grid[which - PTX_SREG_NCTAID_X];
    case PTX_SREG_WARPID: return w->index;
    case PTX_SREG_NWARPID: return w->block->warp_count;
    case PTX_SREG_NSMID: return (uint64_t)(run->device->limits.sm_count > 0 ? run->device->limits.sm_count : 1);
    case PTX_SREG_SMID: return w->block->number % special(w, PTX_SREG_NSMID);
    case PTX_SREG_GRIDID: return run->grid_id;
    case PTX_SREG_CLOCK:
    case PTX_SREG_CLOCK64: return w->runner->clock += 16; /* moves between any two looks */
    case PTX_SREG_CLOCK_HI: return (w->runner->clock += 16) >> 32;
    case PTX_SREG_GLOBALTIMER:
    case PTX_SREG_GLOBALTIMER_LO: return kiln__now_ns();
    case PTX_SREG_GLOBALTIMER_HI: return kiln__now_ns() >> 32;
    case PTX_SREG_CLUSTERID_X:
    case PTX_SREG_CLUSTERID_Y:
    case PTX_SREG_CLUSTERID_Z: return w->block->id[which - PTX_SREG_CLUSTERID_X]; /* a cluster is one block */
    case PTX_SREG_NCLUSTERID_X:
    case PTX_SREG_NCLUSTERID_Y:
    case PTX_SREG_NCLUSTERID_Z: return launch->grid[which - PTX_SREG_NCLUSTERID_X];
    case PTX_SREG_CLUSTER_NCTAID_X:
    case PTX_SREG_CLUSTER_NCTAID_Y:
    case PTX_SREG_CLUSTER_NCTAID_Z:
    case PTX_SREG_CLUSTER_NCTARANK: return 1;
    case PTX_SREG_AGGR_SMEM_SIZE:
    case PTX_SREG_TOTAL_SMEM_SIZE: return run->shared_gap + (run->shared_end - run->shared_dynamic);
    case PTX_SREG_DYNAMIC_SMEM_SIZE: return launch->dynamic_shared;
    case PTX_SREG_ENVREG1: return run->workspace >> 32; /* where cooperative groups look for it */
    case PTX_SREG_ENVREG2: return run->workspace;
    default: return 0;
    }
}

/* b: ptx_sreg; flags: VM_REG64. */
void vm_op_special(vm_warp *w, const vm_code *i, uint32_t m)
{
    unsigned which = i->b;
    uint64_t same = which >= PTX_SREG_LANEID && which != PTX_SREG_LANEID ? special(w, which) : 0;
    if (which >= PTX_SREG_NTID_X && which <= PTX_SREG_NCTAID_Z)
        same = special(w, which);
    VM_EACH(lane, m) {
        uint64_t value = same;
        uint32_t bit = 1u << lane;
        switch (which) {
        case PTX_SREG_TID_X:
        case PTX_SREG_TID_Y:
        case PTX_SREG_TID_Z: value = w->tid[which - PTX_SREG_TID_X][lane]; break;
        case PTX_SREG_LANEID: value = lane; break;
        case PTX_SREG_LANEMASK_EQ: value = bit; break;
        case PTX_SREG_LANEMASK_LE: value = bit | (bit - 1); break;
        case PTX_SREG_LANEMASK_LT: value = bit - 1; break;
        case PTX_SREG_LANEMASK_GE: value = ~(bit - 1); break;
        case PTX_SREG_LANEMASK_GT: value = ~(bit | (bit - 1)); break;
        default: break;
        }
        if (i->flags & VM_REG64)
            vm_r64(w, i->d)[lane] = value;
        else
            vm_r32(w, i->d)[lane] = (uint32_t)value;
    }
}

/* The address of a .local variable: it moves with the frame. imm: offset in the frame. */
void vm_op_local_address(vm_warp *w, const vm_code *i, uint32_t m)
{
    uint64_t value = w->frame->local_base + i->imm;
    VM_EACH(lane, m) {
        if (i->flags & VM_REG64)
            vm_r64(w, i->d)[lane] = value;
        else
            vm_r32(w, i->d)[lane] = (uint32_t)value;
    }
}

void vm_op_nanosleep(vm_warp *w, const vm_code *i, uint32_t m)
{
    (void)i, (void)m;
    w->event |= VM_EVENT_YIELD;
}

void vm_op_nop(vm_warp *w, const vm_code *i, uint32_t m) { (void)w, (void)i, (void)m; }

void vm_op_createpolicy(vm_warp *w, const vm_code *i, uint32_t m)
{
    VM_EACH(lane, m)
        vm_r64(w, i->d)[lane] = 0; /* cache policies change nothing that can be seen */
}

void vm_op_trap(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_fault_raise(w, i, (uint32_t)__builtin_ctz(m), VM_FAULT_TRAP, 0, 0, "trap");
}
