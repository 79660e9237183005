/* atomic.c - atom, red and fences. Host threads share global memory, so each lane's update is a host atomic, in
 * ascending order of lanes. Shared memory belongs to one host thread; the same code is used there, although it is
 * stronger than needed. */
#include <math.h>
#include <string.h>

#include "vm_math.h"
#include "vm_ops.h"

static uint64_t step(const vm_code *i, unsigned type, unsigned op, uint64_t old, uint64_t b, uint64_t c)
{
    switch (op) {
    case PTX_MOD_EXCH: return b;
    case PTX_MOD_CAS: return old == b ? c : old;
    case PTX_MOD_AND: return old & b;
    case PTX_MOD_OR: return old | b;
    case PTX_MOD_XOR: return old ^ b;
    case PTX_MOD_INC: return (uint32_t)old >= (uint32_t)b ? 0 : old + 1;
    case PTX_MOD_DEC: return (uint32_t)old == 0 || (uint32_t)old > (uint32_t)b ? b : old - 1;
    default: break;
    }
    bool max = op == PTX_MOD_MAX;
    switch (type) {
    case PTX_F32:
        /* single-precision atomics on global memory flush subnormals; marked by the decoder */
        if (i->flags & VM_SIGNED)
            return vm_bits32(
                vm_out(vm_in(vm_float((uint32_t)old), VM_FTZ) + vm_in(vm_float((uint32_t)b), VM_FTZ), VM_FTZ));
        return vm_bits32(vm_canon(vm_float((uint32_t)old) + vm_float((uint32_t)b)));
    case PTX_F64: return vm_bits64(vm_double(old) + vm_double(b));
    case PTX_F16:
    case PTX_BF16:
    case PTX_F16X2:
    case PTX_BF16X2: {
        bool pair = type == PTX_F16X2 || type == PTX_BF16X2;
        unsigned one = type == PTX_F16 || type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
        uint64_t result = 0;
        for (unsigned k = 0; k < (pair ? 2u : 1u); k++) {
            double x = vm_half_get(one, (uint32_t)(old >> 16 * k)), y = vm_half_get(one, (uint32_t)(b >> 16 * k));
            double r = op == PTX_MOD_ADD ? vm_half_fma(x, 1, y) : max ? vm_max64(x, y) : vm_min64(x, y);
            result |= (uint64_t)vm_half_put(one, r, PTX_MOD_RN) << 16 * k;
        }
        return result;
    }
    case PTX_S32:
        if (op == PTX_MOD_ADD)
            return (uint32_t)(old + b);
        return ((int32_t)(uint32_t)old < (int32_t)(uint32_t)b) != max ? old : b;
    case PTX_S64:
        if (op == PTX_MOD_ADD)
            return old + b;
        return ((int64_t)old < (int64_t)b) != max ? old : b;
    case PTX_U32:
        if (op == PTX_MOD_ADD)
            return (uint32_t)(old + b);
        return (old < b) != max ? old : b;
    default: return op == PTX_MOD_ADD ? old + b : (old < b) != max ? old : b;
    }
}

/* size: of the element; flags: VM_SIGNED as step() has it. Returns the old value. */
uint64_t vm_atomic_update(const vm_code *i, unsigned char *p, unsigned type, unsigned op, uint64_t b, uint64_t c)
{
    switch (i->size) {
    case 2: {
        vm_u16 *at = (vm_u16 *)(void *)p;
        uint16_t old = __atomic_load_n(at, __ATOMIC_RELAXED), next;
        do
            next = (uint16_t)step(i, type, op, old, b, c);
        while (!__atomic_compare_exchange_n(at, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
        return old;
    }
    case 4: {
        vm_u32 *at = (vm_u32 *)(void *)p;
        if (op == PTX_MOD_ADD && (type == PTX_U32 || type == PTX_S32))
            return __atomic_fetch_add(at, (uint32_t)b, __ATOMIC_SEQ_CST);
        uint32_t old = __atomic_load_n(at, __ATOMIC_RELAXED), next;
        do
            next = (uint32_t)step(i, type, op, old, b, c);
        while (!__atomic_compare_exchange_n(at, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
        return old;
    }
    default: {
        vm_u64 *at = (vm_u64 *)(void *)p;
        if (op == PTX_MOD_ADD && (type == PTX_U64 || type == PTX_S64))
            return __atomic_fetch_add(at, b, __ATOMIC_SEQ_CST);
        uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED), next;
        do
            next = step(i, type, op, old, b, c);
        while (!__atomic_compare_exchange_n(at, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
        return old;
    }
    }
}

/* Hosts have no portable 16-byte atomic, so these use a lock; they are rare. */
static void update128(vm_warp *w, const vm_code *i, unsigned char *p, uint32_t lane, unsigned op)
{
    const vm_u64 *b = vm_r64(w, i->b), *c = vm_r64(w, i->c);
    uint64_t old[2], next[2] = {b[lane], b[lane + VM_LANES]};
    pthread_mutex_lock(&w->runner->run->family->lock);
    memcpy(old, p, 16);
    if (op == PTX_MOD_CAS) {
        bool same = old[0] == next[0] && old[1] == next[1];
        next[0] = same ? c[lane] : old[0];
        next[1] = same ? c[lane + VM_LANES] : old[1];
    }
    memcpy(p, next, 16);
    pthread_mutex_unlock(&w->runner->run->family->lock);
    if (i->d) {
        vm_r64(w, i->d)[lane] = old[0];
        vm_r64(w, i->d)[lane + VM_LANES] = old[1];
    }
}

/* imm: offset; size, count: element; extra: see `how`; d: 0 where the old value is not wanted. */
void vm_op_atom(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *how = i->extra; /* type, op, then for vectors the slots of d and b */
    unsigned type = how[0], op = how[1];
    vm_code unflushed = *i;
    unflushed.flags &= (uint8_t)~VM_SIGNED;
    VM_EACH(lane, m) {
        uint64_t address = vm_lane_address(w, i, i->a, lane);
        unsigned char *p = vm_reach(w, i, lane, i->space, address, (uint32_t)i->size * i->count, true);
        if (!p)
            return;
        if (i->size == 16) {
            update128(w, i, p, lane, op);
            continue;
        }
        for (uint32_t k = 0; k < i->count; k++) {
            uint32_t from = i->count == 1 ? i->b : how[2 + 2 * k + 1], to = i->count == 1 ? i->d : how[2 + 2 * k];
            uint64_t b = i->flags & VM_REG64 ? vm_r64(w, from)[lane] : vm_r32(w, from)[lane];
            uint64_t c = 0;
            if (op == PTX_MOD_CAS)
                c = i->flags & VM_REG64 ? vm_r64(w, i->c)[lane] : vm_r32(w, i->c)[lane];
            if (i->size == 2)
                b = (uint16_t)b, c = (uint16_t)c;
            bool global = i->space != PTX_SPACE_GENERIC || address >= VM_GLOBAL_BASE || address < VM_SHARED_BASE;
            uint64_t old = vm_atomic_update(global ? i : &unflushed, p + k * i->size, type, op, b, c);
            if (to && i->flags & VM_REG64)
                vm_r64(w, to)[lane] = old;
            else if (to)
                vm_r32(w, to)[lane] = (uint32_t)old;
        }
    }
    if (op == PTX_MOD_CAS || op == PTX_MOD_EXCH)
        if ((++w->spins & 15) == 0) /* perhaps a lock that is taken: let its holder run */
            w->event |= VM_EVENT_YIELD;
}

void vm_op_fence(vm_warp *w, const vm_code *i, uint32_t m)
{
    (void)w, (void)i, (void)m;
#ifdef VM_TSAN /* does not support fences */
    atomic_fetch_add(&w->runner->run->family->steps, 0);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}
