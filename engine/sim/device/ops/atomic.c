/* atomic.c - atom, red and fences. Several host threads access global memory, so an update is an atomic operation of
 * the host. The lanes of a warp update memory in ascending order. Neighbouring lanes that update the same word share
 * one atomic of the host. Shared memory belongs to one host thread, so plain code updates its 32-bit words. Other
 * updates of shared memory use the code for global memory. */
#include <math.h>
#include <string.h>

#include "vm_access.h"
#include "vm_math.h"
#include "vm_ops.h"
#include "vm_poll.h"

/* Adds doubles. If the sum is NaN, the function returns the NaN that an H200 gives. In shared memory this is the result
 * of vm_add64(). In global memory the result is a NaN operand without a change. The operand of the instruction comes
 * before the old value. */
static uint64_t add_double(uint64_t old, uint64_t b, bool global)
{
    const double x = vm_double(old), y = vm_double(b);
    return global && y != y ? b : global && x != x ? old : vm_bits64(vm_add64(y, x));
}

/* Returns the new value of an element. `b` and `c` are the operands of the instruction. Only CAS uses `c`. */
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
        /* Single-precision atomics on global memory flush subnormal numbers. VM_SIGNED marks atomics on singles and
         * doubles that may lie in global memory. */
        if (i->flags & VM_SIGNED)
            return vm_bits32(
                vm_out(vm_in(vm_float((uint32_t)old), VM_FTZ) + vm_in(vm_float((uint32_t)b), VM_FTZ), VM_FTZ));
        return vm_bits32(vm_canon(vm_float((uint32_t)old) + vm_float((uint32_t)b)));
    case PTX_F64: return add_double(old, b, i->flags & VM_SIGNED);
    case PTX_F16:
    case PTX_BF16:
    case PTX_F16X2:
    case PTX_BF16X2: {
        bool pair = type == PTX_F16X2 || type == PTX_BF16X2;
        unsigned one = type == PTX_F16 || type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
        uint64_t result = 0;
        for (unsigned k = 0; k < (pair ? 2u : 1u); k++) {
            double x = ops_half_get(one, (uint32_t)(old >> 16 * k)), y = ops_half_get(one, (uint32_t)(b >> 16 * k));
            double r = op == PTX_MOD_ADD ? ops_half_fma(x, 1, y) : max ? vm_max64(x, y) : vm_min64(x, y);
            result |= (uint64_t)ops_half_put(one, r, PTX_MOD_RN) << 16 * k;
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

uint64_t ops_atomic_step(const vm_code *i, unsigned type, unsigned op, uint64_t old, uint64_t b, uint64_t c)
{
    return step(i, type, op, old, b, c);
}

/* An integer addition is one atomic of the host. Any other operation is a loop of compare-and-swap. */
uint64_t ops_atomic_update(const vm_code *i, unsigned char *p, unsigned type, unsigned op, uint64_t b, uint64_t c)
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

/* Updates 16 bytes. Hosts have no portable 16-byte atomic, so the function uses the lock of the launch. Such updates
 * are rare. */
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

/* Returns true if an update counts as a change of memory for vm_poll(). A kernel that waits for a value may read it
 * with CAS, EXCH, ADD or OR. So the function examines these operations. An ADD or OR of 0 counts as a read. Every other
 * operation counts as a change. */
static bool changes_memory(unsigned op, uint64_t old, uint64_t b, uint64_t c)
{
    switch (op) {
    case PTX_MOD_CAS: return old == b && c != old;
    case PTX_MOD_EXCH: return old != b;
    case PTX_MOD_ADD:
    case PTX_MOD_OR: return b != 0;
    default: return true;
    }
}

/* Yields after every 16 operations CAS and EXCH, because they may test a lock whose holder must run. */
static void give_way(vm_warp *w, unsigned op)
{
    if ((op == PTX_MOD_CAS || op == PTX_MOD_EXCH) && (++w->spins & 15) == 0)
        w->event |= VM_EVENT_YIELD;
}

/* Updates 32-bit words in the shared memory of the warp's block without atomics, because one host thread runs the
 * block. Returns false without an effect if the access has another form or an address is invalid. The caller then uses
 * the general code. */
#define EACH_WORD(next)                                                                                                \
    VM_EACH(lane, m) {                                                                                                 \
        vm_u32 *p = (vm_u32 *)(void *)(shared + at[lane]);                                                             \
        const uint32_t x = *p, y = b[lane], z = (next);                                                                \
        changed |= x ^ z;                                                                                              \
        *p = z;                                                                                                        \
        d[lane] = x;                                                                                                   \
    }
static bool update_shared(vm_warp *w, const vm_code *i, uint32_t m, unsigned type, unsigned op)
{
    vm_u32 unused[VM_LANES];
    uint32_t at[VM_LANES], changed = 0;
    if (i->space != PTX_SPACE_SHARED || i->size != 4 || i->count != 1)
        return false;
    const vm_u32 *b = vm_r32(w, i->b);
    unsigned char *shared = w->block->shared; /* indexed by at[] */
    vm_u32 *d = i->d ? vm_r32(w, i->d) : unused;
    const vm_block *block = w->block;
    const uint64_t first = vm_lane_address(w, i, i->a, (uint32_t)__builtin_ctz(m));
    uint64_t bits = 0, low = first, high = first;
    for (uint32_t l = 0; l < VM_LANES; l++) {
        const uint64_t address = m >> l & 1 ? vm_lane_address(w, i, i->a, l) : first;
        at[l] = (uint32_t)(address - block->window);
        bits |= address;
        low = address < low ? address : low;
        high = address > high ? address : high;
    }
    if (bits & 3 || low < block->shared_low || high >= block->shared_reach)
        return false;
    if (op == PTX_MOD_ADD && (type == PTX_U32 || type == PTX_S32)) {
        EACH_WORD(x + y)
    } else if (op == PTX_MOD_CAS) {
        const vm_u32 *c = vm_r32(w, i->c);
        EACH_WORD(x == y ? c[lane] : x)
    } else if (op == PTX_MOD_EXCH) {
        EACH_WORD(y)
    } else if (op == PTX_MOD_OR) {
        EACH_WORD(x | y)
    } else {
        EACH_WORD((uint32_t)step(i, type, op, x, y, 0))
    }
    if (i->d) {
        uint64_t seen = 0;
        VM_EACH(lane, changed ? 0 : m)
            seen = vm_poll_mix(vm_poll_mix(seen, at[lane]), d[lane]);
        vm_poll(w, i, m, seen, changed != 0);
    }
    return true;
}
#undef EACH_WORD

/* The operands and the old values of the lanes, for words of 4 or 8 bytes. */
typedef struct words {
    uint64_t b[VM_LANES], c[VM_LANES], old[VM_LANES];
} words;
/* Updates one word for all lanes of `run` with one atomic of the host. The result is the same as if the lanes did their
 * updates one after the other in ascending order, with no other thread in between. An integer sum needs one addition of
 * the host. Any other operation is a loop of compare-and-swap. Sets v->old to the value that each lane has seen. */
static void update_run(const vm_code *i, unsigned char *p, unsigned type, unsigned op, uint32_t run, words *v)
{
    const bool sum = op == PTX_MOD_ADD && (type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_S64);
    if (sum) {
        uint64_t add = 0;
        VM_EACH(lane, run)
            add += v->b[lane];
        uint64_t x = ops_atomic_update(i, p, type, op, add, 0);
        VM_EACH(lane, run) {
            v->old[lane] = i->size == 4 ? (uint32_t)x : x;
            x += v->b[lane];
        }
        return;
    }
    vm_u32 *at = (vm_u32 *)(void *)p;
    vm_u64 *wide = (vm_u64 *)(void *)p;
    uint32_t seen = 0;
    uint64_t seen64 = 0, x;
    if (i->size == 4)
        seen = __atomic_load_n(at, __ATOMIC_RELAXED);
    else
        seen64 = __atomic_load_n(wide, __ATOMIC_RELAXED);
    do {
        x = i->size == 4 ? seen : seen64;
        VM_EACH(lane, run) {
            v->old[lane] = x;
            x = step(i, type, op, x, v->b[lane], v->c[lane]);
            x = i->size == 4 ? (uint32_t)x : x;
        }
    } while (i->size == 4
                 ? !__atomic_compare_exchange_n(at, &seen, (uint32_t)x, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)
                 : !__atomic_compare_exchange_n(wide, &seen64, x, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
}

/* Updates words of global memory. A run of neighbouring lanes with the same address is one update of the host. Returns
 * false without an effect if the access has another form. Otherwise returns true, even after a fault. */
static bool update_global(vm_warp *w, const vm_code *i, uint32_t m, unsigned type, unsigned op)
{
    uint64_t address[VM_LANES], seen = 0;
    bool changed = false;
    words v;
    if (i->count != 1 || (i->size != 4 && i->size != 8) || i->space == PTX_SPACE_SHARED)
        return false;
    VM_EACH(lane, m) {
        address[lane] = vm_lane_address(w, i, i->a, lane);
        if (address[lane] < VM_GLOBAL_BASE)
            return false;
        v.b[lane] = i->flags & VM_REG64 ? vm_r64(w, i->b)[lane] : vm_r32(w, i->b)[lane];
        v.c[lane] = op != PTX_MOD_CAS ? 0 : i->flags & VM_REG64 ? vm_r64(w, i->c)[lane] : vm_r32(w, i->c)[lane];
    }
    for (uint32_t left = m; left;) {
        const uint32_t first = (uint32_t)__builtin_ctz(left);
        uint32_t run = 0;
        VM_EACH(lane, left) {
            if (address[lane] != address[first])
                break;
            run |= 1u << lane;
        }
        left &= ~run;
        unsigned char *p = vm_reach(w, i, first, i->space, address[first], i->size, true);
        if (!p)
            return true;
        update_run(i, p, type, op, run, &v);
        VM_EACH(lane, run) {
            changed = changed || changes_memory(op, v.old[lane], v.b[lane], v.c[lane]);
            seen = vm_poll_mix(vm_poll_mix(seen, address[lane]), v.old[lane]);
            if (i->d && i->flags & VM_REG64)
                vm_r64(w, i->d)[lane] = v.old[lane];
            else if (i->d)
                vm_r32(w, i->d)[lane] = (uint32_t)v.old[lane];
        }
    }
    if (i->d)
        vm_poll(w, i, m, seen, changed);
    return true;
}

/* Executes atom and red. `a` and `imm` form the address of the memory. `size` is the width of an element, and `count`
 * is the number of elements. `extra` has the type and the operation. For vectors it also has the slots of the elements.
 * If the slot d is 0, the old value is not used. */
void ops_atom(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *how = i->extra; /* the type, the operation, then for vectors the slots d and b of each element */
    unsigned type = how[0], op = how[1];
    if (update_shared(w, i, m, type, op) || update_global(w, i, m, type, op)) {
        give_way(w, op);
        return;
    }
    vm_code unflushed = *i;
    unflushed.flags &= (uint8_t)~VM_SIGNED;
    bool changed = false;
    uint64_t seen = 0;
    VM_EACH(lane, m) {
        uint64_t address = vm_lane_address(w, i, i->a, lane);
        unsigned char *p = vm_reach(w, i, lane, i->space, address, (uint32_t)i->size * i->count, true);
        if (!p)
            return;
        if (i->size == 16) {
            update128(w, i, p, lane, op);
            changed = true;
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
            uint64_t old = ops_atomic_update(global ? i : &unflushed, p + k * i->size, type, op, b, c);
            changed = changed || changes_memory(op, old, b, c);
            seen = vm_poll_mix(vm_poll_mix(seen, address), old);
            if (to && i->flags & VM_REG64)
                vm_r64(w, to)[lane] = old;
            else if (to)
                vm_r32(w, to)[lane] = (uint32_t)old;
        }
    }
    if (i->d)
        vm_poll(w, i, m, seen, changed);
    give_way(w, op);
}

void ops_fence(vm_warp *w, const vm_code *i, uint32_t m)
{
    (void)w, (void)i, (void)m;
#ifdef VM_TSAN /* the thread sanitizer does not support fences */
    atomic_fetch_add(&w->runner->run->family->steps, 0);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}
