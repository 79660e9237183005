/* watch.c - lists the memory accesses of an instruction, and passes an observed launch on to the counters (count.c),
 * the trace (trace.c) and the checks, which are a table of hooks themselves. */
#include "vm_count.h"
#include "vm_matrix.h"
#include "vm_hooks.h"
#include "vm_trace.h"

static unsigned add_lane(vm_access *out, unsigned count, unsigned space, unsigned kind, uint32_t lane, uint32_t bytes,
                         uint64_t address)
{
    unsigned at = 0;
    while (at < count && (out[at].space != space || out[at].kind != kind))
        at++;
    if (at == count) {
        if (count == VM_ACCESSES)
            return count;
        out[at].space = (uint8_t)space;
        out[at].kind = (uint8_t)kind;
        out[at].lanes = 0;
        out[at].bytes = bytes;
        count++;
    }
    out[at].lanes |= 1u << lane;
    out[at].address[lane] = address;
    return count;
}

static unsigned split_window(uint64_t *address)
{
    if (*address >= VM_GLOBAL_BASE)
        return PTX_SPACE_GLOBAL;
    if (*address - VM_SHARED_BASE < VM_CLUSTER_WINDOW) {
        *address -= VM_SHARED_BASE;
        return PTX_SPACE_SHARED;
    }
    if (*address >= VM_LOCAL_BASE && *address < VM_CONST_BASE) {
        *address -= VM_LOCAL_BASE;
        return PTX_SPACE_LOCAL;
    }
    return PTX_SPACE_GLOBAL;
}

/* A load, a store or an atomic: its address is in slot a, with the offset imm. */
static unsigned list_plain(const vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m, unsigned kind,
                           vm_access *out)
{
    uint32_t bytes = (uint32_t)i->size * i->count;
    if (i->space != PTX_SPACE_GENERIC) {
        out->space = (uint8_t)(in->space == PTX_SPACE_CONST ? PTX_SPACE_CONST : i->space);
        out->kind = (uint8_t)kind;
        out->lanes = m;
        out->bytes = bytes;
        uint64_t keep = i->flags & VM_ADDR32 || i->space == PTX_SPACE_SHARED ? UINT32_MAX : UINT64_MAX;
        const vm_u32 *narrow = vm_r32(w, i->a);
        const vm_u64 *wide = vm_r64(w, i->a);
        for (uint32_t lane = 0; lane < VM_LANES && !(i->flags & VM_ADDR32); lane++)
            out->address[lane] = (wide[lane] + i->imm) & keep;
        for (uint32_t lane = 0; lane < VM_LANES && i->flags & VM_ADDR32; lane++)
            out->address[lane] = (narrow[lane] + i->imm) & keep;
        return 1;
    }
    unsigned count = 0;
    VM_EACH(lane, m) {
        uint64_t address = vm_lane_address(w, i, i->a, lane);
        unsigned space = split_window(&address);
        count = add_lane(out, count, space, kind, lane, bytes, address);
    }
    return count;
}

static unsigned list_copy(const vm_warp *w, const vm_code *i, uint32_t m, vm_access *out)
{
    const int64_t *offset = i->extra;
    uint32_t ignore = i->count ? *vm_pred(w, i->c) ^ (i->count == 2 ? VM_ALL : 0) : 0;
    unsigned count = 1;
    out[0] = (vm_access){.space = PTX_SPACE_SHARED, .kind = VM_WRITE | VM_ASYNC, .lanes = m, .bytes = i->size};
    VM_EACH(lane, m) {
        uint64_t to = i->flags & VM_REG64 ? vm_r64(w, i->d)[lane] : vm_r32(w, i->d)[lane];
        out[0].address[lane] = (uint32_t)(to + (uint64_t)*offset);
        uint32_t bytes = i->b ? vm_r32(w, i->b)[lane] : i->size;
        if (!(ignore >> lane & 1) && bytes) /* lanes read less at the end of an array */
            count = 1 + add_lane(out + 1, count - 1, PTX_SPACE_GLOBAL, VM_READS | VM_ASYNC, lane,
                                 bytes < i->size ? bytes : i->size, vm_lane_address(w, i, i->a, lane));
    }
    return count;
}

/* Operations on matrices run when the whole warp has arrived, so they are observed then. */
static bool is_whole(const vm_warp *w, uint32_t m) { return (m | w->dead) == VM_ALL; }

/* ldmatrix and stmatrix: the rows of the matrices; the first lanes have their addresses. */
static unsigned list_matrix_rows(const vm_warp *w, const vm_code *i, uint32_t m, unsigned kind, vm_access *out)
{
    const ptx_insn *in = &w->frame->function->ptx->insns[i->insn];
    unsigned rows = (ptx_has(in, PTX_MOD_M16N16) ? 16u : 8u) * i->count, count = 0;
    for (uint32_t lane = 0; is_whole(w, m) && lane < rows && lane < VM_LANES; lane++) {
        uint64_t address = vm_lane_address(w, i, i->a, lane);
        unsigned space = i->space == PTX_SPACE_GENERIC ? split_window(&address) : i->space;
        count = add_lane(out, count, space, kind, lane, 16, address);
    }
    return count;
}

/* wmma.load and wmma.store: an access for each register of the fragment, or for each element if they are not
 * contiguous. */
static unsigned list_fragment(const vm_warp *w, const vm_code *i, uint32_t m, unsigned kind, vm_access *out)
{
    enum { SPACES = 3 }; /* spaces that a generic address may be in */
    if (!is_whole(w, m))
        return 0;
    const vm_tile t = vm_tile_of(w, i, (uint32_t)__builtin_ctz(m));
    unsigned count = 0;
    for (unsigned r = 0; r < t.scaled.d.used; r++) {
        bool together = t.per == 1 || vm_tile_address(&t, r, 1, 0) == vm_tile_address(&t, r, 0, 0) + t.bytes;
        unsigned parts = together ? 1 : t.per, bytes = together ? t.bytes * t.per : t.bytes;
        for (unsigned s = 0; s < parts && count + SPACES <= VM_ACCESSES; s++) {
            unsigned here = 0; /* accesses of this part: one for each space */
            VM_EACH(lane, m) {
                uint64_t address = vm_tile_address(&t, r, s, lane);
                unsigned space = i->space == PTX_SPACE_GENERIC ? split_window(&address) : i->space;
                here = add_lane(out + count, here, space, kind, lane, bytes, address);
            }
            count += here;
        }
    }
    return count;
}

/* Returns true for a parameter. Parameters are not memory, unless their address is taken: then they are in local
 * memory. */
static bool is_param(const vm_code *i, const ptx_insn *in)
{
    return in->space == PTX_SPACE_PARAM && i->space != PTX_SPACE_LOCAL;
}

static unsigned get_order(const ptx_insn *in)
{
    bool ordered = ptx_has(in, PTX_MOD_VOLATILE) || ptx_has(in, PTX_MOD_RELAXED) || ptx_has(in, PTX_MOD_ACQUIRE) ||
                   ptx_has(in, PTX_MOD_RELEASE) || ptx_has(in, PTX_MOD_MMIO);
    return ordered ? VM_ORDERED : 0;
}

/* A column of effects.def. */
enum {
    ACCESS_NONE,
    ACCESS_HIDDEN,
    ACCESS_LOAD,
    ACCESS_STORE,
    ACCESS_ATOMIC,
    ACCESS_COPY,
    ACCESS_ROWS_LOAD,
    ACCESS_ROWS_STORE,
    ACCESS_FRAGMENT_LOAD,
    ACCESS_FRAGMENT_STORE
};
static const unsigned char access_of_effect[] = {
#define EFFECT(name, flow, engine, access, check, act, result) ACCESS_##access,
#include "effects.def"
};

unsigned vm_accesses(const vm_warp *w, const vm_code *i, uint32_t m, vm_access out[VM_ACCESSES])
{
    const ptx_function *f = w->frame->function->ptx;
    if (m == 0 || i->guard & 2 || i->insn >= f->insn_count) /* a step: not the instruction itself; the end: no access */
        return 0;
    const ptx_insn *in = &f->insns[i->insn];
    switch (access_of_effect[ptx_effect_of(in)]) {
    case ACCESS_LOAD: return is_param(i, in) ? 0 : list_plain(w, i, in, m, VM_READS | get_order(in), out);
    case ACCESS_STORE: return is_param(i, in) ? 0 : list_plain(w, i, in, m, VM_WRITE | get_order(in), out);
    case ACCESS_ATOMIC: return list_plain(w, i, in, m, VM_READS | VM_WRITE | VM_ATOMIC | VM_ORDERED, out);
    case ACCESS_COPY: return list_copy(w, i, m, out);
    case ACCESS_ROWS_LOAD: return list_matrix_rows(w, i, m, VM_READS, out);
    case ACCESS_ROWS_STORE: return list_matrix_rows(w, i, m, VM_WRITE, out);
    case ACCESS_FRAGMENT_LOAD: return list_fragment(w, i, m, VM_READS, out);
    case ACCESS_FRAGMENT_STORE: return list_fragment(w, i, m, VM_WRITE, out);
    default: return 0; /* accesses that are not shown: COUNTERS.md */
    }
}

/* ---- counts ---- */

size_t vm_tally_count(const vm_module *module) { return module->tally_count; }
size_t vm_tally_first(const vm_module *module, uint32_t function) { return module->functions[function].first_tally; }

static vm_tally *get_tally(const vm_warp *w, const vm_code *i)
{
    return &w->runner->tally[w->frame->function->first_tally + i->insn];
}

static void count_insn(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_runner *runner = w->runner;
    const struct vm_watch *watch = runner->run->launch->watch;
    uint32_t site = VM_NO_SITE;
    if (runner->tally) {
        size_t at = w->frame->function->first_tally + i->insn;
        runner->tally[at].executed++;
        runner->tally[at].lanes += m == VM_ALL ? VM_LANES : (uint32_t)__builtin_popcount(m);
        site = runner->site_of ? runner->site_of[at] : VM_NO_SITE;
    }
    if (site == VM_NO_SITE && !watch->see)
        return;
    vm_access list[VM_ACCESSES];
    unsigned count = vm_accesses(w, i, m, list);
    if (site != VM_NO_SITE)
        vm_count_insn(&runner->sites[site], w, i, m, list, count);
    if (watch->see && count)
        watch->see(watch->user, w, i, list, count);
}

static uint32_t show(vm_warp *w, const vm_code *i, uint32_t m)
{
    const struct vm_watch *watch = w->runner->run->launch->watch;
    if (w->runner->tally || watch->see)
        count_insn(w, i, m);
    if (w->runner->met && m)
        m = watch->checks->insn(w, i, m);
    if (w->block->trace)
        vm_trace_insn(w, i, m);
    return m;
}

static void unseen(vm_warp *w, const vm_code *i, uint32_t lanes, bool all)
{
    if (w->runner->tally) {
        vm_tally *tally = get_tally(w, i);
        tally->executed -= all;
        tally->lanes -= (uint32_t)__builtin_popcount(lanes);
    }
    if (w->block->trace && all)
        vm_trace_unseen(w, i);
}

static void late(vm_warp *w, const vm_share *share, bool more)
{
    if (!w->runner->tally)
        return;
    vm_tally *tally = &w->runner->tally[share->frame->function->first_tally + share->code->insn];
    tally->executed += more;
    tally->lanes += (uint32_t)__builtin_popcount(share->lanes);
}

/* ---- the hooks ---- */

/* Returns the hooks of the checks, or NULL. Checks need shadow memory on the device. */
static const struct vm_hooks *get_checks(const vm_run_state *run)
{
    return run->device->check ? run->launch->watch->checks : NULL;
}
static const struct vm_hooks *checks_of_block(const vm_block *block)
{
    return block->check ? block->runner->run->launch->watch->checks : NULL;
}

static bool begin(vm_run_state *run)
{
    const struct vm_hooks *checks = get_checks(run);
    run->serial = checks != NULL;
    return !checks || checks->begin(run);
}

static void end(vm_run_state *run)
{
    const struct vm_hooks *checks = get_checks(run);
    if (checks)
        checks->end(run);
}

/* A trace may need only some blocks, only of the launch itself and not of launches by its kernels. */
static void grid(vm_run_state *run)
{
    const struct vm_trace *trace = run->launch->watch->trace;
    if (!trace || !trace->only || trace->launch != run->launch)
        return;
    run->chosen = true;
    run->block_count = trace->block_count;
}
static uint64_t chosen(const vm_run_state *run, uint64_t index)
{
    return run->launch->watch->trace->blocks[index].number;
}

static bool runner_begin(vm_runner *runner)
{
    const vm_launch *launch = runner->run->launch;
    runner->met = get_checks(runner->run) && launch->module->check;
    if (!vm_count_begin(runner))
        return false;
    const bool checks_alone = runner->met && !runner->tally && !launch->watch->see && !launch->watch->trace;
    if (checks_alone) {
        runner->show = launch->watch->checks->insn;
        runner->shown = launch->watch->checks->shown ? launch->watch->checks->shown(runner) : NULL;
    }
    return true;
}

static bool block_new(vm_block *block)
{
    return !block->runner->met || block->runner->run->launch->watch->checks->block_new(block);
}
static void block_free(vm_block *block)
{
    const struct vm_hooks *checks = checks_of_block(block);
    if (checks)
        checks->block_free(block);
}

static void block_start(vm_block *block)
{
    const vm_launch *launch = block->runner->run->launch;
    struct vm_trace *trace = launch->watch->trace;
    block->trace = trace && trace->launch == launch ? vm_trace_find(trace, block->number) : NULL;
    const struct vm_hooks *checks = checks_of_block(block);
    if (checks)
        checks->block_start(block);
}

static void block_end(vm_block *block)
{
    const struct vm_watch *watch = block->runner->run->launch->watch;
    const struct vm_hooks *checks = checks_of_block(block);
    vm_trace_end(block);
    if (checks)
        checks->block_end(block);
    if (watch->block_ends)
        watch->block_ends(watch->user, block);
}

static bool enough(const vm_block *block) { return block->trace && vm_trace_enough(block); }
static uint64_t slice(const vm_warp *w, uint64_t most) { return w->block->trace ? vm_trace_slice(w, most) : most; }

static bool wants(const vm_warp *w) { return !w->runner->run->launch->watch->trace_alone || vm_trace_wants(w); }

static void barrier(vm_block *block, uint32_t which)
{
    const struct vm_hooks *checks = checks_of_block(block);
    if (checks)
        checks->barrier(block, which);
}
static void stuck(vm_block *block)
{
    const struct vm_hooks *checks = checks_of_block(block);
    if (checks)
        checks->stuck(block);
}
static void deadlock(vm_block *block)
{
    const struct vm_hooks *checks = checks_of_block(block);
    if (checks)
        checks->deadlock(block);
}
static void children(vm_block *block)
{
    const struct vm_hooks *checks = checks_of_block(block);
    if (checks)
        checks->children(block);
}

static void met(vm_warp *w, const vm_code *i, uint32_t m, const vm_meeting *meeting)
{
    w->runner->run->launch->watch->checks->met(w, i, m, meeting);
}
static void outside(vm_warp *w, const vm_code *i, uint32_t lane, int64_t at, uint32_t size, bool linear)
{
    w->runner->run->launch->watch->checks->outside(w, i, lane, at, size, linear);
}
static void malloced(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address)
{
    w->runner->run->launch->watch->checks->malloced(w, i, lane, address);
}

const struct vm_hooks vm_watch_hooks = {
    .begin = begin,
    .end = end,
    .grid = grid,
    .chosen = chosen,
    .runner_begin = runner_begin,
    .runner_end = vm_count_end,
    .runner_free = vm_count_drop,
    .block_new = block_new,
    .block_free = block_free,
    .block_start = block_start,
    .block_end = block_end,
    .enough = enough,
    .barrier = barrier,
    .stuck = stuck,
    .deadlock = deadlock,
    .children = children,
    .wants = wants,
    .slice = slice,
    .insn = show,
    .unseen = unseen,
    .late = late,
    .met = met,
    .outside = outside,
    .malloced = malloced,
};
