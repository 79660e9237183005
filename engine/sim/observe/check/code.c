/* code.c - the static analysis of a module. The analysis finds out how to check each instruction, and which shared or
 * local variable each access can touch. */
#include <stdlib.h>
#include <string.h>

#include "code_internal.h"
#include "product_internal.h"

static const unsigned char see_of_effect[] = {
#define EFFECT(name, flow, engine, access, check, act, result) VM_SEE_##check,
#include "effects.def"
};

/* Returns how to check an instruction. The effect of the instruction on memory decides. Operations among lanes are
 * VM_SEE_NOTHING here, because check_order_meeting() checks them. Textures are not checked (CHECKS.md). */
static enum vm_check_see classify(const ptx_insn *in)
{
    const enum vm_check_see see = see_of_effect[ptx_effect_of(in)];
    const bool param = in->space == PTX_SPACE_PARAM && (see == VM_SEE_LOAD || see == VM_SEE_STORE);
    return param ? VM_SEE_NOTHING : see;
}

static bool is_tensor_memory(ptx_effect effect)
{
    return effect == PTX_EFFECT_TENSOR_MEMORY || effect == PTX_EFFECT_TENSOR_LOAD ||
           effect == PTX_EFFECT_TENSOR_PRODUCT;
}

/* ---- the shared variable of an address ----
 *
 * This is a forward data-flow analysis without control flow, because compilers write each register once. The lattice of
 * a register has three levels: NOTHING_YET, one variable, ANYTHING. A register holds an address in a variable if it is
 * the sum of the variable's address and values that are not pointers. The function get_result() need not list all
 * opcodes: the result of an opcode that it does not list is ANYTHING. */

#define NOTHING_YET 0u
#define ANYTHING UINT32_MAX /* a lattice value other than these constants is a symbol + 1 */
/* Compilers keep all local variables of a function in a single .local symbol. They compute the address of a local
 * variable as the address of this symbol plus an offset. LOCAL is the address of the symbol. LOCAL_AT + n is the
 * address of the variable at offset n. */
#define LOCAL 0x80000000u
#define LOCAL_AT 0x80000001u
#define LOCAL_MOST 0x1000000u

/* Returns the meet of two lattice values (as in constant propagation). The meet of two different variables is
 * ANYTHING. */
static uint32_t meet_owners(uint32_t a, uint32_t b)
{
    return a == NOTHING_YET ? b : b == NOTHING_YET || a == b ? a : ANYTHING;
}

static bool is_owner(uint32_t a) { return a != NOTHING_YET && a != ANYTHING; }

/* Returns the lattice value of the address in an operand. */
static uint32_t get_owner(const ptx_module *ptx, const uint32_t *regs, const ptx_operand *o)
{
    if (o->kind == PTX_OPERAND_SYMBOL || (o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_SYMBOL)) {
        const ptx_symbol *symbol = &ptx->symbols[o->index];
        return !symbol->bytes                      ? ANYTHING
               : symbol->space == PTX_SPACE_SHARED ? o->index + 1
               : symbol->space == PTX_SPACE_LOCAL  ? LOCAL
                                                   : ANYTHING;
    }
    if (o->kind == PTX_OPERAND_REG || (o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_REG))
        return regs[o->index];
    return ANYTHING;
}

/* Returns LOCAL_AT + n if a local variable begins at the constant offset n. Returns ANYTHING if the offset is not
 * constant. */
static uint32_t get_local(const uint32_t source[], const ptx_insn *in)
{
    const ptx_operand *o = &in->operands[2];
    return source[1] == LOCAL && o->kind == PTX_OPERAND_IMM && o->imm < LOCAL_MOST ? LOCAL_AT + (uint32_t)o->imm
                                                                                   : ANYTHING;
}

/* Returns the lattice value of a sum. A pointer plus a value that is not a pointer still points to the same
 * variable. */
static uint32_t add_owners(uint32_t a, uint32_t b)
{
    if (is_owner(a) && is_owner(b))
        return ANYTHING;
    if (is_owner(a) || is_owner(b))
        return is_owner(a) ? a : b;
    return a == NOTHING_YET || b == NOTHING_YET ? NOTHING_YET : ANYTHING;
}

/* Returns the lattice value of the result of an instruction. */
static uint32_t get_result(const ptx_module *ptx, const uint32_t *regs, const ptx_insn *in)
{
    uint32_t source[PTX_MAX_OPERANDS] = {0};
    for (unsigned n = 1; n < in->operand_count; n++)
        source[n] = get_owner(ptx, regs, &in->operands[n]);
    switch (in->op) {
    case PTX_OP_MOV:
    case PTX_OP_CVTA:
    case PTX_OP_CVT: return source[1];
    case PTX_OP_SELP: return meet_owners(source[1], source[2]);
    case PTX_OP_ADD:
        return source[1] == LOCAL || source[2] == LOCAL ? get_local(source, in) : add_owners(source[1], source[2]);
    case PTX_OP_SUB: return is_owner(source[2]) || source[1] == LOCAL ? ANYTHING : add_owners(source[1], source[2]);
    case PTX_OP_MAD: /* in a * b + c, only c can be a pointer */
        return is_owner(source[1]) || is_owner(source[2]) || source[3] == LOCAL ? ANYTHING
                                                                                : add_owners(ANYTHING, source[3]);
    default: return ANYTHING;
    }
}

/* Repeats passes over the function until nothing changes (a fixed point). The value of a register moves down the
 * lattice at most twice, but a long chain of registers through loops may need many passes. If ROUNDS passes do not
 * reach the fixed point, every register becomes ANYTHING. */
static void analyse_registers(const ptx_module *ptx, const ptx_function *f, uint32_t *regs)
{
    enum { ROUNDS = 64 };
    bool changed = true;
    for (unsigned round = 0; changed && round < ROUNDS; round++) {
        changed = false;
        for (uint32_t k = 0; k < f->insn_count; k++) {
            const ptx_insn *in = &f->insns[k];
            const ptx_operand *to = &in->operands[0];
            if (in->operand_count == 0)
                continue;
            for (uint32_t n = 0; n < to->count && (to->kind == PTX_OPERAND_VECTOR || to->kind == PTX_OPERAND_LIST); n++)
                if (f->elements[to->index + n].kind == PTX_OPERAND_REG)
                    regs[f->elements[to->index + n].index] = ANYTHING;
            if (to->kind != PTX_OPERAND_REG)
                continue;
            uint32_t next = meet_owners(regs[to->index], get_result(ptx, regs, in));
            changed |= next != regs[to->index];
            regs[to->index] = next;
        }
    }
    for (uint32_t r = 0; changed && r < f->reg_count; r++) /* ROUNDS passes have not reached the fixed point */
        regs[r] = ANYTHING;
}

/* Returns the only .local symbol that the function names. Returns UINT32_MAX if the function names no such symbol, or
 * several. */
static uint32_t local_symbol(const ptx_module *ptx, const ptx_function *f)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t k = 0; k < f->insn_count; k++)
        for (unsigned n = 0; n < f->insns[k].operand_count; n++) {
            const ptx_operand *o = &f->insns[k].operands[n];
            const bool named = o->kind == PTX_OPERAND_SYMBOL ||
                               (o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_SYMBOL);
            if (!named || ptx->symbols[o->index].space != PTX_SPACE_LOCAL || o->index == found)
                continue;
            if (found != UINT32_MAX)
                return UINT32_MAX;
            found = o->index;
        }
    return found;
}

static int compare_starts(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The local variables of a function: the .local symbol that holds them, and their offsets in the symbol, in ascending
 * order. */
typedef struct locals {
    uint32_t symbol; /* UINT32_MAX if the function has no .local symbol, or several */
    uint32_t *starts, count;
} locals;

static void find_locals(const ptx_module *ptx, const ptx_function *f, const uint32_t *regs, locals *out)
{
    out->symbol = local_symbol(ptx, f);
    out->count = 0;
    for (uint32_t r = 0; r < f->reg_count; r++)
        if (is_owner(regs[r]) && regs[r] >= LOCAL_AT)
            out->starts[out->count++] = regs[r] - LOCAL_AT;
    qsort(out->starts, out->count, sizeof *out->starts, compare_starts);
}

/* Returns the bounds, within the frame, of the local variable that begins at `start`. The variable ends where the next
 * variable begins. */
static vm_check_local_piece get_piece(const vm_module *module, const locals *all, uint32_t start)
{
    if (all->symbol == UINT32_MAX || start >= module->ptx->symbols[all->symbol].bytes)
        return (vm_check_local_piece){0};
    uint32_t end = (uint32_t)module->ptx->symbols[all->symbol].bytes, low = 0, high = all->count;
    while (low < high) { /* binary search for the first variable after `start` */
        const uint32_t middle = low + (high - low) / 2;
        if (all->starts[middle] <= start)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < all->count && all->starts[low] < end)
        end = all->starts[low];
    const uint32_t base = (uint32_t)module->address[all->symbol];
    return (vm_check_local_piece){base + start, base + end};
}

/* Stores for each access of a function the variable that it can touch. `regs` and `starts` are scratch memory with an
 * element for each register. */
static void find_owners(const vm_module *module, uint32_t function, uint32_t *regs, uint32_t *starts, uint32_t *out,
                        vm_check_local_piece *pieces)
{
    const ptx_module *ptx = module->ptx;
    const ptx_function *f = &ptx->functions[function];
    locals all = {.starts = starts};
    memset(regs, 0, f->reg_count * sizeof *regs);
    analyse_registers(ptx, f, regs);
    find_locals(ptx, f, regs, &all);
    for (uint32_t k = 0; k < f->insn_count; k++) {
        const ptx_insn *in = &f->insns[k];
        enum vm_check_see see = classify(in);
        if ((see != VM_SEE_LOAD && see != VM_SEE_STORE && see != VM_SEE_ATOMIC && see != VM_SEE_COPY) ||
            in->operand_count < 2)
            continue;
        bool result = see == VM_SEE_LOAD || ptx_effect_of(in) == PTX_EFFECT_ATOMIC;
        uint32_t owner = get_owner(ptx, regs, &in->operands[result ? 1 : 0]);
        out[k] = is_owner(owner) && owner < LOCAL ? owner : 0;
        if (is_owner(owner) && owner >= LOCAL_AT)
            pieces[k] = get_piece(module, &all, owner - LOCAL_AT);
    }
}

/* Returns flags for a load or store that is ordered or that reads read-only data. */
static unsigned get_special(const ptx_insn *in)
{
    if (classify(in) != VM_SEE_LOAD && classify(in) != VM_SEE_STORE)
        return 0;
    if (ptx_has(in, PTX_MOD_VOLATILE) || ptx_has(in, PTX_MOD_RELAXED) || ptx_has(in, PTX_MOD_ACQUIRE) ||
        ptx_has(in, PTX_MOD_RELEASE) || ptx_has(in, PTX_MOD_MMIO))
        return VM_SEE_SPECIAL;
    return !ptx_has(in, PTX_MOD_NC) ? 0 : VM_SEE_SPECIAL | (in->space == PTX_SPACE_GLOBAL ? VM_SEE_CONSTANT : 0u);
}

/* Returns the binary logarithm of the number of bytes for which the checks keep one cell, for accesses of this type: 0,
 * 1 or 2. */
static unsigned get_shift(const ptx_insn *in)
{
    unsigned bytes = ptx_type_bytes((ptx_type)in->types[0]);
    return bytes == 1 ? 0 : bytes == 2 ? 1 : 2;
}

/* The granule of a module is the smallest granule that any access of the module needs. */
bool check_analyse_module(vm_module *module, const kiln_allocator *mem)
{
    if (module->check)
        return true;
    const ptx_module *ptx = module->ptx;
    vm_check_code *code = kiln__arena_alloc(&module->arena, sizeof *code);
    uint32_t most = 0;
    for (uint32_t f = 0; f < ptx->function_count; f++)
        most = ptx->functions[f].reg_count > most ? ptx->functions[f].reg_count : most;
    uint8_t *kind = kiln__arena_alloc(&module->arena, module->tally_count + 1);
    uint32_t *owner = kiln__arena_alloc(&module->arena, (module->tally_count + 1) * sizeof *owner);
    uint32_t *regs = kiln__calloc(mem, 2 * ((size_t)most + 1), sizeof *regs); /* find_owners() needs two arrays */
    vm_check_local_piece *pieces = kiln__arena_alloc(&module->arena, (module->tally_count + 1) * sizeof *pieces);
    if (!code || !kind || !owner || !regs || !pieces) {
        kiln__free(mem, regs);
        return false;
    }
    *code = (vm_check_code){.kind = kind, .owner = owner, .pieces = pieces, .shift = 2};
    for (uint32_t n = 0; n < ptx->function_count; n++) {
        const ptx_function *f = &ptx->functions[n];
        size_t first = module->functions[n].first_tally;
        for (uint32_t k = 0; k < f->insn_count; k++) {
            const ptx_insn *in = &f->insns[k];
            enum vm_check_see see = classify(in);
            kind[first + k] = (uint8_t)(see | get_special(in));
            code->async |= see == VM_SEE_COPY || see == VM_SEE_ASYNC;
            code->tensor |= is_tensor_memory(ptx_effect_of(in));
            code->tensor_fences |= in->op == PTX_OP_TCGEN05_FENCE_BEFORE || in->op == PTX_OP_TCGEN05_FENCE_AFTER;
            if ((see == VM_SEE_LOAD || see == VM_SEE_STORE || see == VM_SEE_ATOMIC || see == VM_SEE_TEAM) &&
                get_shift(in) < code->shift)
                code->shift = get_shift(in);
        }
        find_owners(module, n, regs, regs + most + 1, owner + first, pieces + first);
    }
    kiln__free(mem, regs);
    if (!check_number_registers(module, code, kind))
        return false;
    module->check = code;
    return true;
}
