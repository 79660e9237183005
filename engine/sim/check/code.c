/* code.c - static analysis of a module for the checks: which instructions they check, and to which shared variable an
 * access can refer. */
#include <string.h>

#include "vm_checks_internal.h"

#pragma GCC diagnostic error "-Wswitch" /* each word of ptx_trait.h needs a case; no default */

static enum vm_check_see see_of(const ptx_insn *in)
{
    switch (ptx_effect_of(in)) {
    case PTX_EFFECT_LOAD: return in->space == PTX_SPACE_PARAM ? VM_SEE_NOTHING : VM_SEE_LOAD;
    case PTX_EFFECT_STORE: return in->space == PTX_SPACE_PARAM ? VM_SEE_NOTHING : VM_SEE_STORE;
    case PTX_EFFECT_ATOMIC:
    case PTX_EFFECT_REDUCTION: return VM_SEE_ATOMIC;
    case PTX_EFFECT_COPY: return VM_SEE_COPY;
    case PTX_EFFECT_BARRIER: return VM_SEE_BARRIER;
    case PTX_EFFECT_FENCE: return VM_SEE_FENCE;
    case PTX_EFFECT_CALL: return VM_SEE_CALL;
    case PTX_EFFECT_ROWS_LOAD:
    case PTX_EFFECT_ROWS_STORE:
    case PTX_EFFECT_FRAGMENT_LOAD:
    case PTX_EFFECT_FRAGMENT_STORE: return VM_SEE_OTHER;
    case PTX_EFFECT_COMMIT:
    case PTX_EFFECT_WAIT:
    case PTX_EFFECT_BULK_GROUP:
    case PTX_EFFECT_WARPGROUP:
    case PTX_EFFECT_PROXY_FENCE:
    case PTX_EFFECT_MBARRIER:
    case PTX_EFFECT_COPY_ARRIVE:
    case PTX_EFFECT_BULK:
    case PTX_EFFECT_TENSOR:
    case PTX_EFFECT_BULK_STORE:
    case PTX_EFFECT_REMOTE:
    case PTX_EFFECT_CLUSTER_ARRIVE:
    case PTX_EFFECT_CLUSTER_WAIT: return VM_SEE_ASYNC;
    case PTX_EFFECT_WARP_BARRIER:
    case PTX_EFFECT_EXCHANGE:
    case PTX_EFFECT_WHOLE_WARP: /* by vm_check_met() */
    case PTX_EFFECT_TEXTURE:    /* not checked: CHECKS.md */
    case PTX_EFFECT_NONE:
    case PTX_EFFECT_HINT:
    case PTX_EFFECT_BRANCH:
    case PTX_EFFECT_BRANCH_INDEXED:
    case PTX_EFFECT_LEAVE: return VM_SEE_NOTHING;
    }
    return VM_SEE_NOTHING;
}

/* ---- the shared variable of an address ----
 * Registers that hold an address in one shared variable, whatever was added to it. A value from two variables, or from
 * elsewhere too, can refer to any. Compilers write each register once, so control flow can be ignored. Opcodes that are
 * not in result_of() are safe: their results can refer to any variable. */

#define NOTHING_YET 0u
#define ANYTHING UINT32_MAX /* else a symbol + 1 */
/* Compilers keep the local variables of a function in one .local symbol, and make the address of each by adding where it
 * begins. A register holds the symbol's address, or LOCAL_AT + where, whatever else was added. */
#define LOCAL 0x80000000u
#define LOCAL_AT 0x80000001u
#define LOCAL_MOST 0x1000000u

static uint32_t join(uint32_t a, uint32_t b)
{
    return a == NOTHING_YET ? b : b == NOTHING_YET || a == b ? a : ANYTHING;
}

static bool is_owner(uint32_t a) { return a != NOTHING_YET && a != ANYTHING; }

static uint32_t owner_of(const ptx_module *ptx, const uint32_t *regs, const ptx_operand *o)
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

/* Where a local variable begins, + LOCAL_AT; ANYTHING: it is not told. */
static uint32_t local_of(const uint32_t source[], const ptx_insn *in)
{
    const ptx_operand *o = &in->operands[2];
    return source[1] == LOCAL && o->kind == PTX_OPERAND_IMM && o->imm < LOCAL_MOST ? LOCAL_AT + (uint32_t)o->imm
                                                                                   : ANYTHING;
}

/* A pointer plus a value that is not one. */
static uint32_t sum_of(uint32_t a, uint32_t b)
{
    if (is_owner(a) && is_owner(b))
        return ANYTHING;
    if (is_owner(a) || is_owner(b))
        return is_owner(a) ? a : b;
    return a == NOTHING_YET || b == NOTHING_YET ? NOTHING_YET : ANYTHING;
}

static uint32_t result_of(const ptx_module *ptx, const uint32_t *regs, const ptx_insn *in)
{
    uint32_t source[PTX_MAX_OPERANDS] = {0};
    for (unsigned n = 1; n < in->operand_count; n++)
        source[n] = owner_of(ptx, regs, &in->operands[n]);
    switch (in->op) {
    case PTX_OP_MOV:
    case PTX_OP_CVTA:
    case PTX_OP_CVT: return source[1];
    case PTX_OP_SELP: return join(source[1], source[2]);
    case PTX_OP_ADD:
        return source[1] == LOCAL || source[2] == LOCAL ? local_of(source, in) : sum_of(source[1], source[2]);
    case PTX_OP_SUB: return is_owner(source[2]) || source[1] == LOCAL ? ANYTHING : sum_of(source[1], source[2]);
    case PTX_OP_MAD: /* a * b + c: the pointer is c */
        return is_owner(source[1]) || is_owner(source[2]) || source[3] == LOCAL ? ANYTHING
                                                                                : sum_of(ANYTHING, source[3]);
    default: return ANYTHING;
    }
}

/* Fills `regs` until nothing changes; each register rises at most twice. */
static void flow(const ptx_module *ptx, const ptx_function *f, uint32_t *regs)
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
            uint32_t next = join(regs[to->index], result_of(ptx, regs, in));
            changed |= next != regs[to->index];
            regs[to->index] = next;
        }
    }
    for (uint32_t r = 0; changed && r < f->reg_count; r++) /* a long chain through loops: give up */
        regs[r] = ANYTHING;
}

/* The only .local symbol that the function names; UINT32_MAX: there is none, or several. */
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

/* The bounds, in the frame, of the local variable that begins at `start`: it ends where the next one begins. */
static vm_check_local_piece piece_of(const vm_module *module, const ptx_function *f, const uint32_t *regs,
                                     uint32_t start)
{
    const uint32_t symbol = local_symbol(module->ptx, f);
    if (symbol == UINT32_MAX || start >= module->ptx->symbols[symbol].bytes)
        return (vm_check_local_piece){0};
    uint32_t end = (uint32_t)module->ptx->symbols[symbol].bytes;
    for (uint32_t r = 0; r < f->reg_count; r++)
        if (is_owner(regs[r]) && regs[r] > LOCAL_AT + start && regs[r] < LOCAL_AT + end)
            end = regs[r] - LOCAL_AT;
    const uint32_t base = (uint32_t)module->address[symbol];
    return (vm_check_local_piece){base + start, base + end};
}

static void owners(const vm_module *module, uint32_t function, uint32_t *regs, uint32_t *out,
                   vm_check_local_piece *pieces)
{
    const ptx_module *ptx = module->ptx;
    const ptx_function *f = &ptx->functions[function];
    memset(regs, 0, f->reg_count * sizeof *regs);
    flow(ptx, f, regs);
    for (uint32_t k = 0; k < f->insn_count; k++) {
        const ptx_insn *in = &f->insns[k];
        enum vm_check_see see = see_of(in);
        if ((see != VM_SEE_LOAD && see != VM_SEE_STORE && see != VM_SEE_ATOMIC && see != VM_SEE_COPY) ||
            in->operand_count < 2)
            continue;
        bool result = see == VM_SEE_LOAD || ptx_effect_of(in) == PTX_EFFECT_ATOMIC;
        uint32_t owner = owner_of(ptx, regs, &in->operands[result ? 1 : 0]);
        out[k] = is_owner(owner) && owner < LOCAL ? owner : 0;
        if (is_owner(owner) && owner >= LOCAL_AT)
            pieces[k] = piece_of(module, f, regs, owner - LOCAL_AT);
    }
}

static unsigned special_of(const ptx_insn *in)
{
    if (see_of(in) != VM_SEE_LOAD && see_of(in) != VM_SEE_STORE)
        return 0;
    if (ptx_has(in, PTX_MOD_VOLATILE) || ptx_has(in, PTX_MOD_RELAXED) || ptx_has(in, PTX_MOD_ACQUIRE) ||
        ptx_has(in, PTX_MOD_RELEASE) || ptx_has(in, PTX_MOD_MMIO))
        return VM_SEE_SPECIAL;
    return !ptx_has(in, PTX_MOD_NC) ? 0 : VM_SEE_SPECIAL | (in->space == PTX_SPACE_GLOBAL ? VM_SEE_CONSTANT : 0u);
}

static unsigned shift_of(const ptx_insn *in)
{
    unsigned bytes = ptx_type_bytes((ptx_type)in->types[0]);
    return bytes == 1 ? 0 : bytes == 2 ? 1 : 2;
}

bool vm_check_look(vm_module *module, const kiln_allocator *mem)
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
    uint32_t *regs = kiln__calloc(mem, (size_t)most + 1, sizeof *regs);
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
            enum vm_check_see see = see_of(in);
            kind[first + k] = (uint8_t)(see | special_of(in));
            code->async |= see == VM_SEE_COPY || see == VM_SEE_ASYNC;
            if ((see == VM_SEE_LOAD || see == VM_SEE_STORE || see == VM_SEE_ATOMIC) && shift_of(in) < code->shift)
                code->shift = shift_of(in);
        }
        owners(module, n, regs, owner + first, pieces + first);
    }
    kiln__free(mem, regs);
    if (!vm_check_product_look(module, code, kind))
        return false;
    module->check = code;
    return true;
}
