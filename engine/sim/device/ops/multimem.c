/* multimem.c - multimem.ld_reduce, multimem.st and multimem.red: accesses to a location on each device of a team. The
 * order in which a GPU reduces is not documented. The simulator reduces in the order in which the devices joined the
 * team. */
#include <math.h>

#include "vm_access.h"
#include "vm_math.h"
#include "vm_memory.h"
#include "vm_multimem.h"
#include "vm_ops.h"
#include "vm_poll.h"

static uint64_t get_register(const vm_warp *w, const vm_code *i, uint32_t slot, uint32_t lane)
{
    return i->flags & VM_REG64 ? vm_r64(w, slot)[lane] : vm_r32(w, slot)[lane];
}

/* Reads or writes one element. An ordered access is one atomic of the host. */
static uint64_t load_element(const vm_code *i, const unsigned char *p)
{
    if (!(i->flags & VM_STRONG))
        return ops_bits_load(p, i->size);
    switch (i->size) {
    case 1: return __atomic_load_n((const vm_u8 *)p, __ATOMIC_ACQUIRE);
    case 2: return __atomic_load_n((const vm_u16 *)(const void *)p, __ATOMIC_ACQUIRE);
    case 4: return __atomic_load_n((const vm_u32 *)(const void *)p, __ATOMIC_ACQUIRE);
    default: return __atomic_load_n((const vm_u64 *)(const void *)p, __ATOMIC_ACQUIRE);
    }
}

static void store_element(const vm_code *i, unsigned char *p, uint64_t value)
{
    if (!(i->flags & VM_STRONG)) {
        ops_bits_store(p, i->size, value);
        return;
    }
    switch (i->size) {
    case 1: __atomic_store_n((vm_u8 *)p, (uint8_t)value, __ATOMIC_RELEASE); return;
    case 2: __atomic_store_n((vm_u16 *)(void *)p, (uint16_t)value, __ATOMIC_RELEASE); return;
    case 4: __atomic_store_n((vm_u32 *)(void *)p, (uint32_t)value, __ATOMIC_RELEASE); return;
    default: __atomic_store_n((vm_u64 *)(void *)p, value, __ATOMIC_RELEASE); return;
    }
}

/* The floating-point numbers that an element consists of: their count, the bits of each, and their type. `count` is 0
 * if the element is not floating-point. */
typedef struct parts {
    unsigned count, bits, type;
} parts;

static parts get_parts(unsigned type)
{
    switch (type) {
    case PTX_F16: return (parts){1, 16, PTX_F16};
    case PTX_F16X2: return (parts){2, 16, PTX_F16};
    case PTX_BF16: return (parts){1, 16, PTX_BF16};
    case PTX_BF16X2: return (parts){2, 16, PTX_BF16};
    case PTX_E4M3: return (parts){1, 8, PTX_E4M3X2};
    case PTX_E4M3X2: return (parts){2, 8, PTX_E4M3X2};
    case PTX_E4M3X4: return (parts){4, 8, PTX_E4M3X2};
    case PTX_E5M2: return (parts){1, 8, PTX_E5M2X2};
    case PTX_E5M2X2: return (parts){2, 8, PTX_E5M2X2};
    case PTX_E5M2X4: return (parts){4, 8, PTX_E5M2X2};
    default: return (parts){0, 0, 0};
    }
}

static double get_part(unsigned type, uint32_t bits)
{
    return type == PTX_F16 || type == PTX_BF16 ? ops_half_get(type, bits) : ops_narrow_get(type, bits);
}

static uint32_t put_part(unsigned type, double value)
{
    return type == PTX_F16 || type == PTX_BF16 ? ops_half_put(type, value, PTX_MOD_RN) : ops_narrow_put(type, value);
}

/* Adds two numbers, and rounds the sum to the type of intermediate sums. The sum of two halves is first rounded to odd
 * in double, so that the second rounding gives the same result as a single rounding. */
static double add_rounded(unsigned sum, unsigned type, double x, double y)
{
    if (sum == PTX_F32)
        return (double)((float)x + (float)y);
    const unsigned to = sum == PTX_NONE ? type : sum;
    return get_part(to, put_part(to, ops_half_fma(x, 1, y)));
}

/* Reduces one part of the elements of all devices. */
static uint32_t reduce_part(const vm_multimem *x, parts p, const uint64_t *values, uint32_t count, unsigned shift)
{
    const uint64_t mask = ((uint64_t)1 << p.bits) - 1;
    if (count == 1)
        return (uint32_t)(values[0] >> shift & mask);
    double r = get_part(p.type, (uint32_t)(values[0] >> shift & mask));
    for (uint32_t k = 1; k < count; k++) {
        const double y = get_part(p.type, (uint32_t)(values[k] >> shift & mask));
        r = x->op == PTX_MOD_ADD   ? add_rounded(x->sum, p.type, r, y)
            : x->op == PTX_MOD_MAX ? vm_max64(r, y)
                                   : vm_min64(r, y);
    }
    return put_part(p.type, r);
}

/* Reduces the elements of all devices to one. */
static uint64_t reduce_elements(const vm_code *i, const uint64_t *values, uint32_t count)
{
    const vm_multimem *x = i->extra;
    const parts p = get_parts(x->type);
    uint64_t r = p.count ? 0 : values[0];
    for (unsigned k = 0; k < p.count; k++)
        r |= (uint64_t)reduce_part(x, p, values, count, k * p.bits) << k * p.bits;
    for (uint32_t k = 1; !p.count && k < count; k++)
        r = ops_atomic_step(i, x->type, x->op, r, values[k], 0);
    return r;
}

/* Yields after every 64 ordered loads of a warp, because it may wait for a value that another warp writes. */
void ops_multimem_load(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_multimem *x = i->extra;
    const bool strong = i->flags & VM_STRONG;
    uint64_t seen = 0;
    if (strong && (++w->spins & 63) == 0)
        w->event |= VM_EVENT_YIELD;
    VM_EACH(lane, m) {
        unsigned char *hosts[VM_TEAM_MOST];
        const uint64_t address = vm_lane_address(w, i, i->a, lane);
        const uint32_t count = vm_reach_team(w, i, lane, address, (uint32_t)i->size * i->count, false, hosts);
        if (!count)
            return;
        for (uint32_t k = 0; k < i->count; k++) {
            uint64_t values[VM_TEAM_MOST];
            for (uint32_t n = 0; n < count; n++)
                values[n] = load_element(i, hosts[n] + k * i->size);
            const uint64_t value = reduce_elements(i, values, count);
            seen = vm_poll_mix(vm_poll_mix(seen, address), value);
            if (i->flags & VM_REG64)
                vm_r64(w, x->slots[k])[lane] = value;
            else
                vm_r32(w, x->slots[k])[lane] = (uint32_t)value;
        }
    }
    if (strong)
        vm_poll(w, i, m, seen, false);
}

static void update_element(const vm_code *i, unsigned char *p, uint64_t value)
{
    const vm_multimem *x = i->extra;
    ops_atomic_update(i, p, x->type, x->op, value, 0);
}

/* Changes the elements of all devices by `change`. */
static void change_elements(vm_warp *w, const vm_code *i, uint32_t m,
                            void (*change)(const vm_code *i, unsigned char *p, uint64_t value))
{
    const vm_multimem *x = i->extra;
    VM_EACH(lane, m) {
        unsigned char *hosts[VM_TEAM_MOST];
        const uint64_t address = vm_lane_address(w, i, i->a, lane);
        const uint32_t count = vm_reach_team(w, i, lane, address, (uint32_t)i->size * i->count, true, hosts);
        if (!count)
            return;
        for (uint32_t k = 0; k < i->count; k++)
            for (uint32_t n = 0; n < count; n++)
                change(i, hosts[n] + k * i->size, get_register(w, i, x->slots[k], lane));
    }
}

void ops_multimem_store(vm_warp *w, const vm_code *i, uint32_t m) { change_elements(w, i, m, store_element); }

void ops_multimem_reduce(vm_warp *w, const vm_code *i, uint32_t m) { change_elements(w, i, m, update_element); }
