/* bounds.c - finds accesses that are out of bounds, to freed memory, or misaligned. This file decides which memory the
 * lanes of an instruction may touch, and which lanes must not make their access. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds_internal.h"
#include "finding_internal.h"
#include "look_internal.h"
#include "vm_checks_internal.h"
#include "vm_access.h"
#include "vm_memory.h"

/* A search among the shared variables of a kernel. The search finds the last variable that begins at or before the
 * offset `at`. */
typedef struct nearest {
    const vm_module *module;
    uint64_t at, start;
    const ptx_symbol *symbol; /* NULL until a symbol is found */
} nearest;

/* Continues the search with those shared variables that the function names. Shared variables of different kernels have
 * the same offsets, so a variable belongs to a kernel only if the kernel names it. */
static void find_nearest(const vm_function *function, nearest *found)
{
    const ptx_function *f = function->ptx;
    for (uint32_t k = 0; k < f->insn_count; k++)
        for (unsigned n = 0; n < f->insns[k].operand_count; n++) {
            const ptx_operand *o = &f->insns[k].operands[n];
            if (o->kind != PTX_OPERAND_SYMBOL && !(o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_SYMBOL))
                continue;
            const ptx_symbol *symbol = &found->module->ptx->symbols[o->index];
            const uint64_t start = found->module->address[o->index];
            if (symbol->space == PTX_SPACE_SHARED && symbol->bytes && start <= found->at &&
                (!found->symbol || start > found->start || (start == found->start && symbol > found->symbol)))
                found->symbol = symbol, found->start = start;
        }
}

const ptx_symbol *check_find_shared_variable(const vm_run_state *run, uint32_t insn, uint64_t address, uint64_t *start)
{
    nearest found = {.module = run->launch->module, .at = address};
    const vm_function *own = check_function_of(found.module, insn);
    find_nearest(run->kernel, &found);
    if (own && own != run->kernel)
        find_nearest(own, &found);
    *start = found.start;
    return found.symbol;
}

/* Returns the name of a variable without the name of its function. For example, _ZZ4turnE1s is a local variable of
 * `turn`, and the result is "s". */
static const char *get_source_name(const char *name)
{
    const size_t length = strncmp(name, "_ZZ", 3) == 0 ? strlen(name) : 0;
    for (size_t at = 3; at < length; at++) {
        char *end;
        if (name[at - 1] != 'E' || name[at] < '1' || name[at] > '9')
            continue;
        unsigned long own = strtoul(name + at, &end, 10);
        if (own && (size_t)(name + length - end) == own)
            return end;
    }
    return name;
}

/* Describes a place in shared memory. In static shared memory, the description names the last variable of this kernel
 * that begins at or before the place. Elsewhere the description has the offset in dynamic memory or in the system's
 * part. The function of the access is found by its instruction, because the frame of a warp that does not run may have
 * been freed. */
static void describe_shared(const vm_look *k, uint64_t at, char *text, size_t size)
{
    const vm_run_state *run = k->w->runner->run;
    uint64_t start_of = 0;
    const ptx_symbol *best = at < run->shared_gap ? check_find_shared_variable(run, k->insn, at, &start_of) : NULL;
    if (best && at - start_of < best->bytes)
        snprintf(text, size, "at offset %" PRIu64 " of '%.100s' (%" PRIu64 " bytes)", at - start_of,
                 get_source_name(best->name), best->bytes);
    else if (best)
        snprintf(text, size, "%" PRIu64 " bytes past the end of '%.100s' of %" PRIu64 " bytes",
                 at - start_of - best->bytes, get_source_name(best->name), best->bytes);
    else if (at >= run->shared_dynamic && at < run->shared_end)
        snprintf(text, size, "at offset %" PRIu64 " of the dynamic shared memory (%" PRIu64 " bytes)",
                 at - run->shared_dynamic, run->shared_end - run->shared_dynamic);
    else
        vm_describe_shared(run, at, text, size);
}

const char *check_describe(const vm_look *k, uint32_t lane)
{
    char text[256] = "";
    uint64_t at = k->a->address[lane];
    if (k->a->space == PTX_SPACE_SHARED)
        describe_shared(k, at, text, sizeof text);
    else if (k->a->space == PTX_SPACE_LOCAL)
        snprintf(text, sizeof text, "the thread uses %u bytes of local memory", k->w->frame->local_top);
    else if (at < 4096)
        snprintf(text, sizeof text, "a null pointer");
    else
        vm_describe(k->w->runner->run->device, at, text, sizeof text);
    const vm_block *home = k->home;
    if (k->a->space == PTX_SPACE_SHARED && home != k->w->block)
        return check_print(k->check, "%s, of block (%u,%u,%u) of the cluster", text, home->id[0], home->id[1],
                           home->id[2]);
    return check_print(k->check, "%s", text);
}

/* Reports a lane out of bounds or in freed memory. `owner` is 1 + the shared variable from which the program computed
 * the address, or 0 if this variable is unknown. */
static void report_outside(vm_look *k, uint32_t lane, uint32_t owner)
{
    bool freed = k->a->space == PTX_SPACE_GLOBAL && vm_was_freed(k->w->runner->run->device, k->a->address[lane]);
    kiln_check_finding *f = check_start(k, freed ? KILN_CHECK_FREED : KILN_CHECK_BOUNDS, false, VM_NO_INSN, lane,
                                        1u << lane);
    if (!f)
        return;
    if (owner) {
        const vm_module *module = k->w->runner->run->launch->module;
        const ptx_symbol *symbol = &module->ptx->symbols[owner - 1];
        int64_t at = (int64_t)(k->a->address[lane] - module->address[owner - 1]);
        f->allocation = at < 0
                            ? check_print(k->check, "%" PRId64 " bytes before '%.100s' of %" PRIu64 " bytes", -at,
                                          get_source_name(symbol->name), symbol->bytes)
                            : check_print(k->check, "%" PRIu64 " bytes past the end of '%.100s' of %" PRIu64 " bytes",
                                          (uint64_t)at >= symbol->bytes ? (uint64_t)at - symbol->bytes : 0,
                                          get_source_name(symbol->name), symbol->bytes);
    } else {
        f->allocation = check_describe(k, lane);
    }
    f->message = check_print(k->check, "%s at %s address 0x%" PRIx64 ", %s", f->at.what, f->space, f->address,
                             f->allocation);
}

/* The finding is only a note, because the end of a local variable is a guess (code.c): PTX does not tell its size. */
void check_next_local(vm_look *k)
{
    const vm_check_local_piece *piece = &k->w->runner->run->launch->module->check->pieces[k->insn];
    const uint32_t base = k->w->frame->local_base;
    uint32_t lanes = 0;
    if (!piece->end)
        return;
    VM_EACH(lane, k->a->lanes) {
        const uint64_t at = k->a->address[lane] - base;
        lanes |= (uint32_t)(at < piece->start || at >= piece->end || k->a->bytes > piece->end - at) << lane;
    }
    if (!lanes)
        return;
    const uint32_t lane = (uint32_t)__builtin_ctz(lanes);
    kiln_check_finding *f = check_start(k, KILN_CHECK_BOUNDS, true, VM_NO_INSN, lane, lanes);
    if (!f)
        return;
    f->allocation = check_print(k->check, "at %" PRId64 " of a local variable that seems to have %u bytes",
                                (int64_t)(k->a->address[lane] - base - piece->start), piece->end - piece->start);
    f->message = check_print(k->check, "%s at local address 0x%" PRIx64 ", %s", f->at.what, f->address, f->allocation);
}

void check_padding(vm_look *k, const vm_shadow *shadow, uint64_t offset, uint32_t lane, uint32_t lanes)
{
    const uint64_t row = offset / shadow->pitch, column = offset % shadow->pitch;
    if (column + k->a->bytes <= shadow->row)
        return;
    kiln_check_finding *f = check_start(k, KILN_CHECK_BOUNDS, false, VM_NO_INSN, lane, lanes);
    if (!f)
        return;
    f->allocation = check_print(
        k->check, "in the padding of row %" PRIu64 ", whose %" PRIu64 " bytes end before column %" PRIu64 ", %s", row,
        shadow->row, column + k->a->bytes, check_describe(k, lane));
    f->message = check_print(k->check, "%s at %s address 0x%" PRIx64 ", %s", f->at.what, f->space, f->address,
                             f->allocation);
}

void check_no_block(vm_look *k, uint32_t lane, uint32_t lanes, const char *why)
{
    const vm_cluster *cluster = k->w->block->cluster;
    const vm_block *gone = k->rank < cluster->size && !cluster->blocks[k->rank]->live ? cluster->blocks[k->rank] : NULL;
    const uint32_t left = gone ? (uint32_t)(gone->left_in->first_tally + gone->left->insn) : VM_NO_INSN;
    kiln_check_finding *f = check_start(k, gone ? KILN_CHECK_FREED : KILN_CHECK_BOUNDS, false, left, lane, lanes);
    if (!f)
        return;
    if (gone) {
        f->other.what = "exit";
        memcpy(f->other.block, gone->id, sizeof f->other.block);
        f->other.has_block = 1;
    }
    f->allocation = check_print(k->check, "%s", why);
    f->message = check_print(k->check, "%s at shared address 0x%" PRIx64 ", %s", f->at.what, f->address, why);
}

/* The blocks of a cluster need not begin at the same time. A warp knows that another block has begun in two cases: it
 * has passed barrier.cluster, or an action of that block happened before the access. */
void check_begun(vm_look *k, const vm_block *home, uint32_t lane, uint32_t lanes)
{
    const vm_clock *c = k->clock;
    const uint32_t base = k->w->block->check->base;
    if (c->met || c->horizon > base || c->know[VM_LANES + home->rank] > base ||
        (c->more && (c->more->wrote[home->rank] || c->more->read[home->rank])))
        return;
    kiln_check_finding *f = check_start(k, KILN_CHECK_RACE, false, VM_NO_INSN, lane, lanes);
    if (!f)
        return;
    f->message = check_print(k->check,
                             "%s at shared address 0x%" PRIx64
                             " of block (%u,%u,%u) of the cluster, which may not have "
                             "begun: no barrier.cluster comes before",
                             f->at.what, f->address, home->id[0], home->id[1], home->id[2]);
}

static void report_misaligned(vm_look *k, uint32_t lane)
{
    kiln_check_finding *f = check_start(k, KILN_CHECK_MISALIGNED, false, VM_NO_INSN, lane, 1u << lane);
    if (!f)
        return;
    f->allocation = check_describe(k, lane);
    f->message = check_print(k->check, "%s at %s address 0x%" PRIx64 ", which is not a multiple of %u, %s", f->at.what,
                             f->space, f->address, k->a->bytes, f->allocation);
}

bool check_variable_bounds(const vm_look *k, uint64_t address, uint32_t owner, uint64_t *low, uint64_t *end)
{
    const vm_run_state *run = k->w->runner->run;
    switch (k->a->space) {
    case PTX_SPACE_SHARED: return check_find_shared_bounds(run, address, owner, low, end);
    case PTX_SPACE_LOCAL:
        *low = 0;
        *end = k->w->frame->local_top;
        return true;
    default: {
        const vm_allocation *a = vm_allocation_of(run->device, address);
        if (!a || (a->constant && k->write))
            return false;
        *low = a->base;
        *end = a->base + a->bytes;
        return address - a->base < a->bytes;
    }
    }
}

/* The manual defines zero as the result of such a read. Few programs with linear memory rely on this zero, so for
 * linear memory the finding is an error. For arrays the finding is a note. */
void check_outside(vm_warp *w, const vm_code *i, uint32_t lane, int64_t at, uint32_t size, bool linear)
{
    vm_check *check = w->runner->run->device->check;
    kiln_check_finding *f = check_find_finding(w, KILN_CHECK_BOUNDS, !linear, vm_insn_of(w, i), VM_NO_INSN, lane, 1);
    if (!f)
        return;
    f->at.what = "texture read";
    f->space = "texture";
    f->allocation = check_print(check, "a texture of %u texels", size);
    f->message = check_print(check, "texture read of texel %" PRId64 ", outside of %s, so it is zero", at,
                             f->allocation);
}

uint32_t check_refuse(vm_look *k, uint32_t owner)
{
    uint32_t bad = 0;
    VM_EACH(lane, k->a->lanes) {
        uint64_t low = 0, end = 0, at = k->a->address[lane];
        bool inside = check_variable_bounds(k, at, owner, &low, &end) && at >= low && at < end &&
                      k->a->bytes <= end - at;
        bool skewed = at & (k->a->bytes - 1) && (k->a->bytes & (k->a->bytes - 1)) == 0;
        if (inside && !skewed)
            continue;
        bad |= 1u << lane;
        if (!skewed && k->see == VM_SEE_LOAD && k->a->bytes <= 16 && check_variable_bounds(k, at, owner, &low, &end) &&
            at >= low && at < end)
            /* the load may execute: the bytes outside lie in the same granule, or in the padding of local memory */
            k->begin_inside |= 1u << lane;
        if (!inside)
            report_outside(k, lane, owner);
        else
            report_misaligned(k, lane);
    }
    return bad;
}
