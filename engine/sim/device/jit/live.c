/* live.c - computes which registers are live. When a region ends, it writes back only the registers that may be read
 * later. This file finds the live registers by backward data-flow analysis, iterated to a fixed point. An instruction
 * whose operands are unknown counts as a read of all registers. */
#include "region.h"
#include "vm_block.h"
#include "vm_collective.h"
#include "vm_limit.h"
#include "vm_path.h"

#include <string.h>

/* If the analysis of a function would need more memory, all its registers count as live. */
#define MOST_BYTES (64u << 20)
/* If the analysis of a function would need more passes, all its registers count as live. Nested loops need one pass for
 * each level. */
#define MOST_PASSES 32u

struct jit_live {
    uint32_t masks; /* number of masks (predicates) of the function */
    size_t words;   /* number of words in the set of one instruction */
    uint64_t *in;
    uint64_t *temps; /* set of temporary registers, which only the operations of one PTX instruction use */
    uint64_t *shown; /* set of registers that count as live everywhere (add_shown) */
};

/* Returns the number of a register in the sets. A mask takes 4 bytes in the frame, a row of a register at least 128
 * bytes. */
static uint32_t get_number(const jit_live *live, uint32_t slot, unsigned width)
{
    return width == JIT_MASK ? slot / 4 : live->masks + slot / 128;
}

static void add_member(uint64_t *set, uint32_t n) { set[n / 64] |= 1ull << n % 64; }
static void remove_member(uint64_t *set, uint32_t n) { set[n / 64] &= ~(1ull << n % 64); }

static uint32_t count_masks(const vm_function *function)
{
    uint32_t end = 64;
    for (uint32_t r = 0; r < function->ptx->reg_count; r++)
        if (function->ptx->regs[r].type == PTX_PRED && function->reg_slot[r] >= end)
            end = function->reg_slot[r] + 4;
    return end / 4 + 1;
}

static bool is_plain_barrier(const vm_code *i)
{
    return i->masked == vm_op_bar && i->a & 1 && (i->b == 0 || i->b & 1) && i->size == 0;
}

/* Applies the transfer function of an instruction to a set. On entry `set` has the registers that are live after the
 * instruction. On return it has the registers that are live before it. */
static void apply_insn(const jit_live *live, const vm_function *function, const jit_insn *insns, uint32_t at,
                       uint64_t *set)
{
    const vm_code *i = &function->code[at];
    const jit_insn *insn = &insns[at];
    const uint32_t guard = i->guard & ~2u;
    const bool leaves = i->masked == vm_op_exit || (i->masked == vm_op_ret && function->ptx->entry);
    if (leaves && !guard)
        memset(set, 0, live->words * sizeof *set);
    else if (insn->kind == JIT_STOP && !leaves && !is_plain_barrier(i))
        memset(set, 0xff, live->words * sizeof *set);
    for (uint32_t k = 0; k < insn->use_count; k++)
        if (insn->uses[k].write && !guard)
            remove_member(set, get_number(live, insn->uses[k].slot, insn->uses[k].width));
    for (uint32_t k = 0; k < insn->use_count; k++)
        if (!insn->uses[k].write)
            add_member(set, get_number(live, insn->uses[k].slot, insn->uses[k].width));
    if (guard)
        add_member(set, get_number(live, guard & ~1u, JIT_MASK));
    if (at == 0 || function->code[at - 1].insn != i->insn)
        for (size_t k = 0; k < live->words; k++)
            set[k] &= ~live->temps[k];
    for (size_t k = 0; k < live->words; k++)
        set[k] |= live->shown[k];
}

/* Finds the registers that count as live everywhere. There are two kinds of such registers. First, a shuffle reads
 * registers of lanes whose guard is false, or that are in another path. Second, a message about an endless loop shows
 * the address that the loop reads. So the register of this address must be in the frame. */
static void add_shown(jit_live *live, const vm_function *function, const jit_insn *insns)
{
    for (uint32_t at = 0; at < function->code_count; at++) {
        if (function->code[at].masked == vm_op_shfl && !(function->code[at].a & 1))
            add_member(live->shown, get_number(live, function->code[at].a, JIT_32));
        const vm_code *back = &function->code[at], *wait = NULL;
        bool mbarrier;
        uint32_t number_of;
        if (insns[at].kind == JIT_BRANCH && back->target <= back && back->insn < function->ptx->insn_count)
            wait = vm_wait_of(function, back->target->insn, back->insn, &number_of, &mbarrier);
        if (wait && !(wait->a & 1)) { /* the register with the address of a wait has 32 or 64 bits */
            add_member(live->shown, get_number(live, wait->a, JIT_32));
            add_member(live->shown, get_number(live, wait->a, JIT_64));
        }
    }
}

/* Makes one backward pass over the function. Returns true if a set has changed. */
static bool run_pass(const jit_live *live, const vm_function *function, const jit_insn *insns, uint64_t *set)
{
    bool changed = false;
    for (uint32_t at = function->code_count; at-- > 0;) {
        const vm_code *i = &function->code[at];
        const bool branch = insns[at].kind == JIT_BRANCH, falls = !branch || i->guard & ~2u;
        uint64_t *in = live->in + at * live->words;
        for (size_t k = 0; k < live->words; k++) {
            set[k] = falls && at + 1 < function->code_count ? in[live->words + k] : 0;
            if (branch)
                set[k] |= live->in[(size_t)(i->target - function->code) * live->words + k];
        }
        apply_insn(live, function, insns, at, set);
        changed = changed || memcmp(in, set, live->words * sizeof *set) != 0;
        memcpy(in, set, live->words * sizeof *set);
    }
    return changed;
}

jit_live *jit_live_new(const kiln_allocator *mem, const vm_function *function, const jit_insn *insns)
{
    jit_live *live = kiln__calloc(mem, 1, sizeof *live);
    if (!live)
        return NULL;
    live->masks = count_masks(function);
    live->words = (live->masks + function->reg_bytes / 128 + 64) / 64;
    if (live->words * function->code_count > MOST_BYTES / sizeof *live->in)
        return live;
    live->in = kiln__calloc(mem, live->words * (function->code_count + 3u), sizeof *live->in);
    if (!live->in) {
        kiln__free(mem, live);
        return NULL;
    }
    uint64_t *set = live->in + function->code_count * live->words;
    live->temps = set + live->words;
    live->shown = live->temps + live->words;
    for (uint32_t slot = function->temp_base; slot < function->sink; slot += 128)
        add_member(live->temps, get_number(live, slot, JIT_32));
    add_shown(live, function, insns);
    unsigned passes = 0;
    while (run_pass(live, function, insns, set))
        if (++passes == MOST_PASSES) {
            kiln__free(mem, live->in);
            live->in = NULL;
            break;
        }
    return live;
}

void jit_live_free(const kiln_allocator *mem, jit_live *live)
{
    if (live)
        kiln__free(mem, live->in);
    kiln__free(mem, live);
}

bool jit_live_at(const jit_live *live, uint32_t at, uint32_t slot, unsigned width)
{
    if (!live->in)
        return true;
    const uint32_t n = get_number(live, slot, width);
    return live->in[at * live->words + n / 64] >> n % 64 & 1;
}

/* The set before the first instruction has the registers that must be cleared. A register of 64 bits has two rows, but
 * only its first row is in the set. So the function also clears the row after each row in the set. */
bool jit_live_clear(const jit_live *live, const vm_function *function, vm_compiled *out)
{
    const uint32_t window = get_number(live, function->window, JIT_32);
    out->clear_count = 0;
    if (!live->in)
        return false;
    for (uint32_t n = 0; n < live->words * 64; n++) {
        if (n == window || !(live->in[n / 64] >> n % 64 & 1))
            continue;
        const bool mask = n < live->masks;
        const uint32_t slot = mask ? n * 4 : (n - live->masks) * 128, bytes = mask ? 4 : 256;
        if (out->clear_count == VM_CLEAR_MOST || slot >= function->reg_bytes)
            return false;
        out->clear[out->clear_count++] =
            (vm_clear){slot, bytes < function->reg_bytes - slot ? bytes : function->reg_bytes - slot};
    }
    return true;
}
