/* rare.c - instructions that are rare enough to run lane by lane: carry chains, pairs of 16 bits, moves of vectors,
 * special registers. */
#include <string.h>

#include "vm_fault.h"
#include "vm_math.h"
#include "vm_ops.h"

/* ---- carry chains ---- */

/* add, sub and mad with a carry (.cc, addc, subc, madc). Bits of `flags`: 1 uses the carry, 2 writes the carry, 4
 * subtracts, 8 multiplies first, 16 takes the high half of the product, 32 means signed operands, and 64 means operands
 * of 64 bits. */
void ops_carry(vm_warp *w, const vm_code *i, uint32_t m)
{
    VM_EACH(lane, m) {
        /* One flag serves as carry and as borrow. A subtraction adds the complement, so a set flag means that there is
         * no borrow. */
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

/* Executes integer operations on the two 16-bit parts of a register. `size` is VM_ADD, VM_MIN or VM_MAX. The flags may
 * hold VM_SIGNED and VM_RELU. */
void ops_pair16(vm_warp *w, const vm_code *i, uint32_t m)
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

/* Executes mov {x, y, ...}, a. `extra` has the slots of the elements. An element whose slot is 0 is not used. `size` is
 * the width of an element in bits, and `count` is the number of elements. */
void ops_split(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *slots = i->extra;
    unsigned whole = i->size * i->count;
    VM_EACH(lane, m) {
        uint64_t part[2] = {read_wide(w, i->a, whole > 32 ? 64 : 32, lane), 0};
        if (whole == 128)
            part[1] = vm_r64(w, i->a)[lane + VM_LANES];
        for (unsigned k = 0; k < i->count; k++) {
            unsigned at = k * i->size;
            uint64_t value = part[at / 64 % 2] >> at % 64;
            if (!slots[k])
                continue;
            if (i->size == 64)
                vm_r64(w, slots[k])[lane] = value;
            else
                vm_r32(w, slots[k])[lane] = (uint32_t)value & (i->size == 32 ? VM_ALL : (1u << i->size) - 1);
        }
    }
}

void ops_join(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *slots = i->extra;
    unsigned whole = i->size * i->count;
    VM_EACH(lane, m) {
        uint64_t part[2] = {0, 0};
        for (unsigned k = 0; k < i->count; k++) {
            uint64_t value = read_wide(w, slots[k], i->size, lane);
            if (i->size < 32)
                value &= (1u << i->size) - 1;
            part[k * i->size / 64 % 2] |= value << k * i->size % 64;
        }
        if (whole > 32)
            vm_r64(w, i->d)[lane] = part[0];
        else
            vm_r32(w, i->d)[lane] = (uint32_t)part[0];
        if (whole == 128)
            vm_r64(w, i->d)[lane + VM_LANES] = part[1];
    }
}

/* Logic on predicates. `size` is 0 for mov, otherwise PTX_MOD_AND, PTX_MOD_OR or PTX_MOD_XOR. Flag 1 negates the
 * operand a, and flag 2 negates the operand b. */
void ops_pred_logic(vm_warp *w, const vm_code *i, uint32_t m)
{
    uint32_t a = *vm_pred(w, i->a) ^ (i->flags & 1 ? VM_ALL : 0);
    uint32_t b = *vm_pred(w, i->b) ^ (i->flags & 2 ? VM_ALL : 0);
    uint32_t r = i->size == PTX_MOD_AND ? a & b : i->size == PTX_MOD_OR ? a | b : i->size == PTX_MOD_XOR ? a ^ b : a;
    vm_set_pred(w, i->d, r, m);
}

static uint64_t read_special(vm_warp *w, unsigned which)
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
    case PTX_SREG_SMID: return w->block->number % read_special(w, PTX_SREG_NSMID);
    case PTX_SREG_GRIDID: return run->grid_id;
    case PTX_SREG_CLOCK:
    /* the clock advances at each read, so two reads never give the same value */
    case PTX_SREG_CLOCK64: return w->runner->clock += 16;
    case PTX_SREG_CLOCK_HI: return (w->runner->clock += 16) >> 32;
    case PTX_SREG_GLOBALTIMER:
    case PTX_SREG_GLOBALTIMER_LO: return kiln__now_ns();
    case PTX_SREG_GLOBALTIMER_HI: return kiln__now_ns() >> 32;
    case PTX_SREG_CLUSTERID_X:
    case PTX_SREG_CLUSTERID_Y:
    case PTX_SREG_CLUSTERID_Z:
        return w->block->id[which - PTX_SREG_CLUSTERID_X] / run->cluster[which - PTX_SREG_CLUSTERID_X];
    case PTX_SREG_NCLUSTERID_X:
    case PTX_SREG_NCLUSTERID_Y:
    case PTX_SREG_NCLUSTERID_Z:
        return launch->grid[which - PTX_SREG_NCLUSTERID_X] / run->cluster[which - PTX_SREG_NCLUSTERID_X];
    case PTX_SREG_CLUSTER_CTAID_X:
    case PTX_SREG_CLUSTER_CTAID_Y:
    case PTX_SREG_CLUSTER_CTAID_Z:
        return w->block->id[which - PTX_SREG_CLUSTER_CTAID_X] % run->cluster[which - PTX_SREG_CLUSTER_CTAID_X];
    case PTX_SREG_CLUSTER_NCTAID_X:
    case PTX_SREG_CLUSTER_NCTAID_Y:
    case PTX_SREG_CLUSTER_NCTAID_Z: return run->cluster[which - PTX_SREG_CLUSTER_NCTAID_X];
    case PTX_SREG_CLUSTER_CTARANK: return w->block->rank;
    case PTX_SREG_CLUSTER_NCTARANK: return run->cluster_size;
    /* the size includes the system's part of shared memory */
    case PTX_SREG_AGGR_SMEM_SIZE: return run->shared_low + vm_shared_bytes(run);
    case PTX_SREG_TOTAL_SMEM_SIZE: return vm_shared_bytes(run);
    case PTX_SREG_RESERVED_SMEM_END:
    case PTX_SREG_RESERVED_SMEM_CAP: return run->shared_low; /* the system's part of shared memory begins at 0 */
    case PTX_SREG_RESERVED_SMEM_1: return run->shared_system;
    case PTX_SREG_DYNAMIC_SMEM_SIZE: return launch->dynamic_shared;
    /* cooperative groups expect the workspace's address in %envreg1 and %envreg2 */
    case PTX_SREG_ENVREG1: return run->workspace >> 32;
    case PTX_SREG_ENVREG2: return run->workspace;
    default: return 0;
    }
}

/* Reads the special register `b`. VM_REG64 means that the destination has 64 bits. VM_REG16 keeps the low 16 bits of
 * the value. */
void ops_special(vm_warp *w, const vm_code *i, uint32_t m)
{
    unsigned which = i->b;
    uint64_t same = which >= PTX_SREG_LANEID && which != PTX_SREG_LANEID ? read_special(w, which) : 0;
    if (which >= PTX_SREG_NTID_X && which <= PTX_SREG_NCTAID_Z)
        same = read_special(w, which);
    /* this case is the usual case */
    if (m == VM_ALL && which <= PTX_SREG_NCTAID_Z && !(i->flags & (VM_REG64 | VM_REG16))) {
        uint32_t *to = vm_r32(w, i->d);
        if (which <= PTX_SREG_TID_Z)
            memcpy(to, w->tid[which], sizeof w->tid[which]);
        else
            for (unsigned lane = 0; lane < VM_LANES; lane++)
                to[lane] = (uint32_t)same;
        return;
    }
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
            vm_r32(w, i->d)[lane] = i->flags & VM_REG16 ? (uint16_t)value : (uint32_t)value;
    }
}

void ops_is_clustered(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_set_pred(w, i->d, w->runner->run->clustered ? VM_ALL : 0, m);
}

/* Computes the address of a .local variable, which depends on the frame. `imm` is the offset of the variable in the
 * frame. */
void ops_local_address(vm_warp *w, const vm_code *i, uint32_t m)
{
    uint64_t value = w->frame->local_base + i->imm;
    VM_EACH(lane, m) {
        if (i->flags & VM_REG64)
            vm_r64(w, i->d)[lane] = value;
        else
            vm_r32(w, i->d)[lane] = (uint32_t)value;
    }
}

void ops_nanosleep(vm_warp *w, const vm_code *i, uint32_t m)
{
    (void)i, (void)m;
    w->event |= w->waits ? VM_EVENT_IN_VAIN : VM_EVENT_YIELD;
}

void ops_nop(vm_warp *w, const vm_code *i, uint32_t m) { (void)w, (void)i, (void)m; }

void ops_createpolicy(vm_warp *w, const vm_code *i, uint32_t m)
{
    VM_EACH(lane, m)
        vm_r64(w, i->d)[lane] = 0; /* cache policies have no effect in the simulator */
}

void ops_trap(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_fault_raise(w, i, (uint32_t)__builtin_ctz(m), VM_FAULT_TRAP, 0, 0, "trap");
}
