/* product.c - products of a warpgroup (wgmma). This file checks the shared memory that products read and the layouts in
 * their descriptors. It also checks the registers that a product uses until a thread waits for the product. */
#include <string.h>

#include "access_internal.h"
#include "before_internal.h"
#include "finding_internal.h"
#include "flight_internal.h"
#include "product_internal.h"
#include "vm_block.h"
#include "vm_checks_internal.h"
#include "vm_matrix.h"

static vm_clock *clock_of(const vm_warp *w) { return &w->block->check->warps[w->index]; }

/* ---- the registers of products: static analysis ---- */

typedef void each_reg(void *user, uint32_t reg);
/* Calls `see` for each register that an operand names. */
static void visit_registers(const ptx_function *f, const ptx_operand *o, each_reg *see, void *user)
{
    if (o->kind == PTX_OPERAND_REG || (o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_REG))
        see(user, o->index);
    if (o->kind == PTX_OPERAND_VECTOR || o->kind == PTX_OPERAND_LIST)
        for (uint32_t k = 0; k < o->count; k++)
            if (f->elements[o->index + k].kind == PTX_OPERAND_REG)
                see(user, f->elements[o->index + k].index);
}

/* Returns true for an instruction that uses registers until a thread has waited for it. */
static bool is_product(const ptx_insn *in)
{
    return ptx_effect_of(in) == PTX_EFFECT_WARPGROUP || ptx_effect_of(in) == PTX_EFFECT_TENSOR_LOAD;
}
/* Returns the number of leading operands whose registers stay in use until the wait: these are D and A of wgmma, or the
 * results of a load. */
static unsigned count_results(const ptx_insn *in)
{
    return ptx_effect_of(in) == PTX_EFFECT_TENSOR_LOAD && in->op != PTX_OP_TCGEN05_LD_RED ? 1 : 2;
}
/* Returns true for a copy of a register. Compilers copy registers that a product uses, and remove the copies later. So
 * a copy does not count as an access. The checks give the same number to a register and to all its copies. */
static bool is_copy(const ptx_insn *in)
{
    return in->op == PTX_OP_MOV && in->operand_count == 2 && in->operands[0].kind == PTX_OPERAND_REG &&
           in->operands[1].kind == PTX_OPERAND_REG;
}

typedef struct numbering {
    uint32_t *number, *count;
    bool any;
} numbering;
static void number_register(void *user, uint32_t reg)
{
    numbering *to = user;
    if (!to->number[reg])
        to->number[reg] = ++*to->count;
}
static void find_numbered(void *user, uint32_t reg)
{
    numbering *to = user;
    to->any |= to->number[reg] != 0;
}

/* Copies connect registers into sets. Returns the register that represents the set of `reg`. */
static uint32_t find_set(uint32_t *sets, uint32_t reg)
{
    while (sets[reg] != reg)
        reg = sets[reg] = sets[sets[reg]];
    return reg;
}

/* Numbers all registers that copies connect with a numbered register. The algorithm is union-find: copies join
 * registers into sets. If one register of a set has a number, all registers of the set get this number. `sets` is
 * scratch memory with an element for each register. */
static void number_copies(const ptx_function *f, numbering *to, uint32_t *sets)
{
    for (uint32_t r = 0; r < f->reg_count; r++)
        sets[r] = r;
    for (uint32_t k = 0; k < f->insn_count; k++)
        if (is_copy(&f->insns[k]))
            sets[find_set(sets, f->insns[k].operands[0].index)] = find_set(sets, f->insns[k].operands[1].index);
    /* numbers the register that represents the set of a numbered register */
    for (uint32_t r = 0; r < f->reg_count; r++)
        if (to->number[r])
            number_register(to, find_set(sets, r));
    for (uint32_t r = 0; r < f->reg_count; r++)
        if (to->number[find_set(sets, r)])
            number_register(to, r);
}

/* Makes two passes over each function that has products or tcgen05.ld. The first pass numbers the registers that
 * products use, and all copies of these registers. The second pass flags every other instruction that uses a numbered
 * register. */
bool check_number_registers(vm_module *module, vm_check_code *code, uint8_t *kind)
{
    const ptx_module *ptx = module->ptx;
    code->numbers = kiln__arena_alloc(&module->arena, ((size_t)ptx->function_count + 1) * sizeof *code->numbers);
    if (!code->numbers)
        return false;
    for (uint32_t n = 0; n < ptx->function_count; n++) {
        const ptx_function *f = &ptx->functions[n];
        bool any = false;
        for (uint32_t k = 0; k < f->insn_count && !any; k++)
            any = is_product(&f->insns[k]);
        code->numbers[n] = NULL;
        if (!any)
            continue;
        uint32_t *number = kiln__arena_alloc(&module->arena, ((size_t)f->reg_count + 1) * sizeof *number);
        uint32_t *sets = kiln__alloc(module->device->mem, ((size_t)f->reg_count + 1) * sizeof *sets);
        if (!number || !sets) {
            kiln__free(module->device->mem, sets);
            return false;
        }
        memset(number, 0, ((size_t)f->reg_count + 1) * sizeof *number);
        code->numbers[n] = number;
        numbering to = {.number = number, .count = &code->reg_count};
        for (uint32_t k = 0; k < f->insn_count; k++) {
            const ptx_insn *in = &f->insns[k];
            /* the registers of D and A of a product, unless A is in shared memory, and the results of a tcgen05.ld */
            const bool load = ptx_effect_of(in) == PTX_EFFECT_TENSOR_LOAD;
            for (unsigned o = 0; o < count_results(in) && is_product(in); o++)
                if (in->operands[o].kind == PTX_OPERAND_VECTOR || load)
                    visit_registers(f, &in->operands[o], number_register, &to);
        }
        number_copies(f, &to, sets);
        kiln__free(module->device->mem, sets);
        for (uint32_t k = 0; k < f->insn_count; k++) {
            to.any = false;
            for (unsigned o = 0; o < f->insns[k].operand_count; o++)
                visit_registers(f, &f->insns[k].operands[o], find_numbered, &to);
            kind[module->functions[n].first_tally + k] |= to.any && !is_product(&f->insns[k]) ? VM_SEE_REGISTERS : 0;
        }
    }
    return true;
}

/* ---- the accesses to these registers ---- */

typedef struct use {
    vm_warp *w;
    const ptx_insn *in;
    const uint32_t *number;
    vm_reg *regs;
    uint32_t insn, lane, flight; /* flight: the product or load that uses the registers */
    bool writes, sums, told;
} use;

/* Reports a register that is used too early or too late. An instruction gets only one finding. */
static void report_register(use *u, bool note, uint32_t other, const char *what, const char *message)
{
    if (u->told)
        return;
    u->told = true;
    kiln_check_finding *f = check_find_finding(u->w, KILN_CHECK_ASYNC, note, u->insn, other, u->lane, 1);
    if (!f)
        return;
    f->at.what = check_print(get_check(u->w), "%s", ptx_op_name((ptx_op)u->in->op));
    f->other.what = what;
    vm_mark s = {.who = u->w->index * VM_LANES + u->lane, .block = (uint32_t)u->w->block->number};
    check_side_thread(u->w, &s, &f->other);
    f->message = check_print(get_check(u->w), "%s %s", f->at.what, message);
}

/* Reports a note if a thread uses a register of a tcgen05.ld before tcgen05.wait::ld. Each load gets one note. The
 * finding is only a note, because the thread gets the loaded value even without the wait (PTX ISA 9.7.17.6.4.5). The
 * wait is needed only before something writes the columns again, and before the thread writes the register. */
static void check_loaded(use *u, vm_flight *f)
{
    if (f->done[0] || f->told || f->block != (uint32_t)u->w->block->number)
        return;
    f->told = true;
    report_register(u, true, f->insn, "tcgen05.ld",
                    u->writes ? "writes a register of a tcgen05.ld before tcgen05.wait::ld"
                              : "uses a register of a tcgen05.ld before tcgen05.wait::ld");
}

/* Checks one register of an instruction that is not a product. Before the wait, an instruction must neither read nor
 * write sums, and must not write registers of A. Then the function records the access, so that take_register() can
 * demand a wgmma.fence between this access and the next product. */
static void check_register(void *user, uint32_t reg)
{
    use *u = user;
    vm_reg *r = u->number[reg] ? &u->regs[u->number[reg] - 1] : NULL;
    if (!r)
        return;
    vm_flight *f = check_flight_at(get_check(u->w), r->flight);
    if (f && f->kind == VM_FLIGHT_TENSOR_LOAD)
        check_loaded(u, f);
    else if (f && f->block == (uint32_t)u->w->block->number && !f->done[u->w->index % 4] && (u->writes || r->sum))
        report_register(u, false, f->insn, "wgmma",
                        r->sum ? "uses a register of a wgmma's sums before wgmma.wait_group"
                               : "writes a register of a wgmma's matrix A before wgmma.wait_group");
    if (u->writes || r->sum)
        *r = (vm_reg){.touched = u->insn + 1, .sum = r->sum};
}

void check_product_registers(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m)
{
    const vm_function *function = w->frame->function;
    const ptx_function *f = function->ptx;
    vm_check_block *b = w->block->check;
    const uint32_t *number = function->module->check->numbers[f - function->module->ptx->functions];
    if (!b->regs || !m || !number)
        return;
    use u = {.w = w,
             .in = in,
             .number = number,
             .regs = b->regs + (size_t)w->index * function->module->check->reg_count,
             .insn = vm_insn_of(w, i),
             .lane = (uint32_t)__builtin_ctz(m)};
    if (is_copy(in)) {
        u.regs[number[in->operands[0].index] - 1] = u.regs[number[in->operands[1].index] - 1];
        return;
    }
    for (unsigned o = 0; o < in->operand_count; o++) {
        const unsigned kind = in->operands[o].kind;
        u.writes = o == 0 && (kind == PTX_OPERAND_REG || kind == PTX_OPERAND_VECTOR);
        visit_registers(f, &in->operands[o], check_register, &u);
    }
}

void check_product_fence(vm_warp *w)
{
    const uint32_t count = w->frame->function->module->check->reg_count;
    clock_of(w)->product_fence = clock_of(w)->products + 1;
    for (uint32_t k = 0; w->block->check->regs && k < count; k++)
        w->block->check->regs[(size_t)w->index * count + k].touched = 0;
}

/* Records that the product uses the register. Reports an earlier access to the register, if no wgmma.fence lies between
 * the access and the product. */
static void take_register(void *user, uint32_t reg)
{
    use *u = user;
    vm_reg *r = &u->regs[u->number[reg] - 1];
    /* If the group of products has a fence elsewhere, the compiler may have moved the access across this fence. Then
     * the finding is only a note. */
    const vm_clock *c = clock_of(u->w);
    if (r->touched)
        report_register(u, c->product_fence == c->products + 1, r->touched - 1, "access to a register",
                        "uses registers that were accessed before, without wgmma.fence between");
    *r = (vm_reg){.flight = u->flight, .sum = u->sums};
}

/* Records that tcgen05.ld writes the register. */
static void load_register(void *user, uint32_t reg)
{
    use *u = user;
    u->regs[u->number[reg] - 1] = (vm_reg){.flight = u->flight, .sum = true};
}

/* Records the registers of a product. The order is first A, then D. */
static void take_operands(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t flight)
{
    const vm_function *function = w->frame->function;
    const uint32_t *number = function->module->check->numbers[function->ptx - function->module->ptx->functions];
    use u = {.w = w,
             .in = in,
             .number = number,
             .regs = w->block->check->regs + (size_t)w->index * function->module->check->reg_count,
             .insn = vm_insn_of(w, i),
             .flight = flight};
    for (unsigned o = 2; o-- > 0;) {
        u.sums = o == 0;
        if (in->operands[o].kind == PTX_OPERAND_VECTOR)
            visit_registers(function->ptx, &in->operands[o], take_register, &u);
    }
}

void check_product_load(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t flight)
{
    const vm_function *function = w->frame->function;
    const uint32_t *number = function->module->check->numbers[function->ptx - function->module->ptx->functions];
    use u = {.w = w, .in = in, .number = number, .insn = vm_insn_of(w, i), .flight = flight, .sums = true};
    if (!w->block->check->regs || !number)
        return;
    u.regs = w->block->check->regs + (size_t)w->index * function->module->check->reg_count;
    for (unsigned o = 0; o < count_results(in); o++)
        visit_registers(function->ptx, &in->operands[o], load_register, &u);
}

/* ---- shared memory ---- */

static uint8_t layout_of(uint64_t descriptor) /* returns 1 + the swizzle, in the encoding of a tensor map */
{
    return (uint8_t)((4 - (descriptor >> 62)) % 4 + 1);
}

/* Checks the reads of one matrix in shared memory. The matrix has `count` lines from the line `first` on, each of
 * `bytes` bytes. If `across` is true, the matrix is transposed in shared memory. */
static void check_matrix(vm_warp *w, const vm_code *i, vm_flight *f, uint64_t descriptor, bool across, unsigned first,
                         unsigned count, unsigned bytes)
{
    enum { PIECE = 16 };
    const unsigned lines = across ? count / 8 : count, parts = across ? bytes / 2 : bytes / PIECE;
    f->layout = layout_of(descriptor);
    for (unsigned line = 0; line < lines; line++)
        for (unsigned part = 0; part < parts; part++) {
            uint32_t at = ops_wgmma_address(descriptor, across, across ? first / 8 + line : first + line, part);
            if (!check_stretch(w, i, 0, PTX_SPACE_SHARED, vm_window_address(w->block, at), PIECE, VM_READS, f->id))
                return;
        }
}

/* The four warps of a warpgroup run one product together. The warp that arrives first makes the record of the product.
 * The other warps find this record by the number of products that they have begun. */
uint32_t check_product_reads(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m)
{
    const vm_wgmma *x = i->extra;
    vm_check_block *b = w->block->check;
    vm_clock *c = clock_of(w);
    const uint32_t group = w->index / 4;
    if ((m | w->dead) != VM_ALL || group >= VM_WARPGROUPS)
        return m;
    if (c->product_count == b->products[group].count) { /* this warp is the first of its group to arrive */
        const vm_flight *made = check_flight_new(w, i, VM_FLIGHT_WGMMA, m, w->block);
        b->products[group].count++;
        b->products[group].flight = made ? made->id : 0;
    }
    c->product_count++;
    vm_flight *f = check_flight_at(get_check(w), b->products[group].flight);
    if (!f)
        return m;
    f->who = (uint16_t)(group * 4 * VM_LANES);
    f->group = c->products;
    check_flight_pend(w, f);
    if (b->regs)
        take_operands(w, i, in, f->id);
    if (x->a_shared)
        check_matrix(w, i, f, vm_r64(w, x->a)[0], x->a_across, w->index % 4 * 16, 16, 32);
    check_matrix(w, i, f, vm_r64(w, x->b)[0], x->b_across, 0, 8u * x->tiles, x->tile.sparse ? 64 : 32);
    return m;
}
