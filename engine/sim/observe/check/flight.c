/* flight.c - asynchronous operations in flight, and accesses to the memory that these operations use.
 *
 * The simulator executes each asynchronous operation completely when it is issued. For the checks, the operation stays
 * in flight until a thread has waited for it as PTX demands. So the checks find an access that comes too early,
 * although the access reads the right value in the simulator. ASYNCHRONOUS.md has the rules. */
#include <inttypes.h>
#include <string.h>

#include "before_internal.h"
#include "bounds_internal.h"
#include "dependent_internal.h"
#include "finding_internal.h"
#include "flight_internal.h"
#include "look_internal.h"
#include "vm_checks_internal.h"

static vm_clock *clock_of(const vm_warp *w) { return &w->block->check->warps[w->index]; }

/* A ring buffer keeps the last VM_FLIGHTS operations. The index is the number of an operation modulo VM_FLIGHTS. Cells
 * of shared memory contain numbers of operations. So `dirty` tells the next block that uses this shadow memory to clear
 * its cells. */
vm_flight *check_flight_new(vm_warp *w, const vm_code *i, vm_flight_kind kind, uint32_t lanes, vm_block *home)
{
    vm_check *check = get_check(w);
    if (!check->flights)
        check->flights = kiln__calloc(check->mem, VM_FLIGHTS, sizeof *check->flights);
    if (!check->flights || !clock_of(w)->more || check->flight == UINT32_MAX) {
        check->starved = true;
        return NULL;
    }
    uint32_t id = ++check->flight;
    vm_flight *f = &check->flights[id % VM_FLIGHTS];
    *f = (vm_flight){.id = id,
                     .insn = vm_insn_of(w, i),
                     .block = (uint32_t)home->number,
                     .bar = VM_BAR_NONE,
                     .lanes = lanes,
                     .kind = (uint8_t)kind,
                     .who = (uint16_t)(w->index * VM_LANES + (uint32_t)__builtin_ctz(lanes))};
    w->block->check->dirty = home->check->dirty = true;
    return f;
}

/* Removes operations that the ring buffer no longer keeps from the warp's list. Then the list has at most VM_FLIGHTS
 * operations. */
static void drop_forgotten(const vm_check *check, vm_clock *c)
{
    size_t kept = 0;
    for (size_t n = 0; n < c->pending_count; n++)
        if (check_flight_at(check, c->pending[n]))
            c->pending[kept++] = c->pending[n];
    c->pending_count = kept;
}

/* Charges a pass over the warp's list to the step budget of the instruction. The list becomes long if a kernel never
 * waits. */
static void charge_pass(vm_warp *w) { vm_charge(w, clock_of(w)->pending_count >> 10); }

void check_flight_pend(vm_warp *w, const vm_flight *f)
{
    vm_clock *c = clock_of(w);
    if (c->pending_count >= 2 * VM_FLIGHTS)
        drop_forgotten(get_check(w), c);
    if (!kiln__grow(w->runner->run->device->mem, &c->pending, &c->pending_capacity, c->pending_count + 1,
                    sizeof *c->pending)) {
        get_check(w)->starved = true;
        return;
    }
    c->pending[c->pending_count++] = f->id;
}

const char *check_flight_name(const vm_flight *f)
{
    switch ((vm_flight_kind)f->kind) {
    case VM_FLIGHT_COPY: return "cp.async";
    case VM_FLIGHT_LOAD:
    case VM_FLIGHT_STORE: return f->layout ? "cp.async.bulk.tensor" : "cp.async.bulk";
    case VM_FLIGHT_TENSOR:
    case VM_FLIGHT_TENSOR_LOAD:
    case VM_FLIGHT_TENSOR_STORE: return ptx_op_name((ptx_op)f->op);
    case VM_FLIGHT_WGMMA: break;
    }
    return "wgmma";
}

/* ---- groups ---- */

uint32_t check_flight_copy(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_clock *c = clock_of(w);
    vm_flight *f = m ? check_flight_new(w, i, VM_FLIGHT_COPY, m, w->block) : NULL;
    if (!f)
        return 0;
    f->group = UINT32_MAX; /* lanes may be in different groups, so the operation gets the earliest of these groups */
    VM_EACH(lane, m)
        f->group = c->groups[lane] < f->group ? c->groups[lane] : f->group;
    check_flight_pend(w, f);
    return f->id;
}

/* Records that the lanes m have waited for all groups of the operation's kind except the last `leave` groups. For
 * cp.async, UINT32_MAX stands for wait_all, which also covers copies that are in no group yet. Returns true if the warp
 * need not wait for the operation any more:
 *   cp.async                all its lanes have waited
 *   bulk copy, no mbarrier  the lane that issued it has waited; after a wait with .read only its reads are complete
 *   wgmma                   this warp of the warpgroup has waited
 *   tcgen05.ld, st          the warp has waited */
static bool wait_for_flight(const vm_warp *w, vm_flight *f, uint32_t m, uint32_t leave, bool read)
{
    const vm_clock *c = clock_of(w);
    const uint32_t now = get_check(w)->time;
    switch ((vm_flight_kind)f->kind) {
    case VM_FLIGHT_COPY:
        VM_EACH(lane, m & f->lanes & ~f->waited) {
            if (leave != UINT32_MAX && (uint64_t)f->group + leave >= c->groups[lane])
                continue;
            f->done[0] = f->waited ? f->done[0] : now;
            f->waited |= 1u << lane;
        }
        return f->waited == f->lanes;
    case VM_FLIGHT_STORE: {
        const uint32_t lane = f->who % VM_LANES;
        if (m >> lane & 1 && (uint64_t)f->group + leave < c->bulk_groups[lane]) {
            f->done[0] = f->done[0] ? f->done[0] : now;
            f->done[1] = read ? 0 : now;
        }
        return f->done[1] != 0;
    }
    case VM_FLIGHT_WGMMA:
        if ((uint64_t)f->group + leave < c->products)
            f->done[w->index % 4] = now;
        return f->done[w->index % 4] != 0;
    case VM_FLIGHT_TENSOR_LOAD:
    case VM_FLIGHT_TENSOR_STORE: f->done[0] = now; break;
    case VM_FLIGHT_TENSOR:
    case VM_FLIGHT_LOAD: break;
    }
    return true;
}

/* Removes the operations that are complete after the wait from the warp's list. */
void check_flight_wait(vm_warp *w, vm_flight_kind kind, uint32_t m, uint32_t leave, bool read)
{
    vm_clock *c = clock_of(w);
    size_t kept = 0;
    charge_pass(w);
    for (size_t n = 0; n < c->pending_count; n++) {
        vm_flight *f = check_flight_at(get_check(w), c->pending[n]);
        if (f && ((vm_flight_kind)f->kind != kind || !wait_for_flight(w, f, m, leave, read)))
            c->pending[kept++] = c->pending[n];
    }
    c->pending_count = kept;
}

void check_flight_bind(vm_warp *w, uint32_t m, uint32_t bar)
{
    const vm_clock *c = clock_of(w);
    charge_pass(w);
    for (size_t n = 0; n < c->pending_count; n++) {
        vm_flight *f = check_flight_at(get_check(w), c->pending[n]);
        if (!f || f->kind != VM_FLIGHT_COPY || !(m & f->lanes & ~f->bound))
            continue;
        f->bound |= m & f->lanes;
        f->bar = bar;
        f->phase = w->block->check->bars[bar].phase;
    }
}

/* ---- cells ---- */

/* Sets the time of the mark to the maximum. So every later access takes the slow path, which looks up the operation. */
void check_flight_write(vm_look *k, vm_cell *c, const vm_mark *me)
{
    c->w = *me;
    c->w.stamp = UINT32_MAX;
    c->w.who |= VM_PENDING;
    c->w.insn = k->flight;
}

bool check_flight_is_generic(const vm_check *check, uint32_t id)
{
    const vm_flight *f = check_flight_at(check, id);
    return f && f->generic;
}

/* A cell keeps two operations that read it: this operation, and the previous operation if that is not complete. */
void check_flight_read(vm_look *k, vm_cell *c)
{
    if (c->readers[0] == k->flight || c->readers[1] == k->flight)
        return;
    bool keep = c->readers[0] &&
                !check_flight_is_complete(k->w, c->readers[0], 0, (uint32_t)__builtin_ctz(k->a->lanes), true);
    if (keep)
        c->readers[1] = c->readers[0];
    c->readers[0] = k->flight;
}

/* Removes complete operations from the cell too. An access gets at most one finding from this function. */
void check_readers(vm_look *k, vm_cell *c, uint32_t lane, uint64_t offset)
{
    for (unsigned n = 0; n < 2; n++) {
        const vm_flight *f = check_flight_at(k->check, c->readers[n]);
        if (!f || f->id == k->flight)
            continue;
        if (check_flight_is_complete(k->w, f->id, 0, lane, true)) {
            c->readers[n] = 0;
            continue;
        }
        if (k->told)
            continue;
        k->told = true;
        kiln_check_finding *found = check_start(k, KILN_CHECK_RACE, false, f->insn, lane, 1u << lane);
        if (!found)
            continue;
        vm_mark s = {.who = f->who, .block = f->block};
        found->address += offset;
        found->other.what = "asynchronous read";
        check_side_thread(k->w, &s, &found->other);
        found->allocation = check_describe(k, lane);
        found->message = check_print(k->check,
                                     "%s at %s address 0x%" PRIx64 " while %s may still read it: nothing waited "
                                     "for it before, %s",
                                     found->at.what, found->space, found->address, check_flight_name(f),
                                     found->allocation);
    }
}

/* Returns the name of the swizzle in a tensor map or a descriptor. */
static const char *get_swizzle(const vm_flight *f)
{
    static const char *const names[] = {"none", "32 bytes", "64 bytes", "128 bytes", "128 bytes in pieces of 32 bytes"};
    return f->layout && f->layout <= KILN__COUNT(names) ? names[f->layout - 1] : "unknown";
}

/* Reports a product whose descriptor has a swizzle that differs from the swizzle of the tensor map that filled the
 * memory. Only memory that a bulk copy with a tensor map has filled is compared, because the swizzle of other writes is
 * unknown. */
static void check_layout(vm_look *k, const vm_flight *reader, const vm_mark *s, uint32_t lane, uint64_t offset)
{
    const vm_flight *copy = check_flight_at(k->check, s->insn);
    if (!copy || copy->kind != VM_FLIGHT_LOAD || !copy->layout || copy->layout == reader->layout || k->told)
        return;
    k->told = true;
    kiln_check_finding *f = check_start(k, KILN_CHECK_ASYNC, false, copy->insn, lane, 1u << lane);
    if (!f)
        return;
    f->address += offset;
    f->other.what = "copy by a tensor map";
    check_side_thread(k->w, s, &f->other);
    f->allocation = check_describe(k, lane);
    f->message = check_print(k->check,
                             "the descriptor of a %s says swizzle %s, but the tensor map that filled shared "
                             "address 0x%llx says %s, %s",
                             check_flight_name(reader), get_swizzle(reader), (unsigned long long)f->address,
                             get_swizzle(copy), f->allocation);
}

/* Returns true if the access is a bulk reduction, the mark is an atomic access, and nothing orders the two. The two may
 * run in either order, so a missing proxy fence between them is not an error. */
static bool may_meet(const vm_look *k, const vm_mark *s, uint32_t lane)
{
    return k->strong && s->who & VM_STRONG_SIDE && s->stamp > k->limit &&
           !check_happened_before(k->w, s, lane, k->shared);
}

/* Three cases need no proxy fence: a copy in the generic proxy, a write by another asynchronous operation, and a write
 * that is older than the block or the launch. The function does not check writes of other blocks of a cluster. */
void check_proxy(vm_look *k, const vm_mark *s, uint32_t lane, uint64_t offset)
{
    const vm_flight *f = check_flight_at(k->check, k->flight);
    if (f && (f->kind == VM_FLIGHT_WGMMA || f->kind == VM_FLIGHT_TENSOR) && s->who & VM_PENDING)
        check_layout(k, f, s, lane, offset);
    if (!f || f->kind == VM_FLIGHT_COPY || f->generic || k->told || s->who & VM_PENDING ||
        s->stamp <= k->check->launch || (k->shared && s->stamp <= k->home->check->base) ||
        (k->w->block->cluster->size > 1 && s->block != (uint32_t)k->w->block->number) ||
        check_view_fenced(k->w, s, lane) || may_meet(k, s, lane))
        return;
    k->told = true;
    kiln_check_finding *found = check_start(k, KILN_CHECK_ASYNC, false, s->insn, lane, 1u << lane);
    if (!found)
        return;
    found->address += offset;
    found->other.what = "write";
    check_side_thread(k->w, s, &found->other);
    found->other.has_thread = !(s->who & VM_MANY);
    found->allocation = check_describe(k, lane);
    found->message = check_print(k->check,
                                 "%s (%s) at %s address 0x%" PRIx64 " after a write by a thread, without "
                                 "fence.proxy.async between them, %s",
                                 found->at.what, check_flight_name(f), found->space, found->address, found->allocation);
}

/* In PTX only a proxy fence orders accesses of two proxies, even if the first of the two is a read. Many correct
 * kernels have no proxy fence there, but only an mbarrier or a barrier between the read and the copy. So the finding is
 * a note. */
void check_proxy_read(vm_look *k, const vm_mark *s, uint32_t lane, uint64_t offset)
{
    const vm_flight *f = check_flight_at(k->check, k->flight);
    if (!f || f->kind != VM_FLIGHT_LOAD || f->generic || k->told || s->who & VM_PENDING ||
        s->stamp <= k->home->check->base || s->block != (uint32_t)k->w->block->number ||
        !check_happened_before(k->w, s, lane, true) || check_view_fenced(k->w, s, lane))
        return;
    kiln_check_finding *found = check_start(k, KILN_CHECK_ASYNC, true, s->insn, lane, 1u << lane);
    if (!found)
        return;
    found->address += offset;
    found->other.what = "read";
    check_side_thread(k->w, s, &found->other);
    found->other.has_thread = !(s->who & VM_MANY);
    found->allocation = check_describe(k, lane);
    found->message = check_print(k->check,
                                 "%s (%s) at %s address 0x%" PRIx64 " after a read by a thread, without "
                                 "fence.proxy.async between them, %s",
                                 found->at.what, check_flight_name(f), found->space, found->address, found->allocation);
}

/* ---- the end of a block ---- */

/* Reports an operation that may still use the memory of a block at the end of the block. `what` is a verb for the
 * message: "read", "write" or "use". */
static void report_unfinished(vm_block *block, const vm_flight *f, const char *what)
{
    vm_warp *w = &block->warps[f->who / VM_LANES];
    kiln_check_finding *found = check_find_finding(w, KILN_CHECK_ASYNC, false, f->insn, VM_NO_INSN, f->who % VM_LANES,
                                                   1);
    if (!found)
        return;
    found->at.what = check_flight_name(f);
    const bool pushed = f->kind == VM_FLIGHT_LOAD && f->block != (uint32_t)block->number;
    found->message = check_print(
        get_check(w), "the block ends while %s may still %s its shared memory: %s", check_flight_name(f), what,
        pushed ? "it does not know that a thread of the other block has waited for the mbarrier's phase"
        : f->kind == VM_FLIGHT_LOAD   ? "no thread waited for the mbarrier's phase"
        : f->kind == VM_FLIGHT_TENSOR ? "no thread of the block waited for the mbarrier of its tcgen05.commit"
                                      : "its thread did not wait for the group");
}

/* Returns true if this block knows that the copy `f` from its own memory to the block `rank` is complete. The block
 * knows this if a thread of the other block has waited for the copy, and this wait happened before the end of
 * `block`. */
static bool push_is_read(const vm_block *block, uint32_t rank, const vm_flight *f)
{
    const vm_block *home = block->cluster->blocks[rank];
    if (f->bar >= home->check->bar_count)
        return true;
    const vm_bar *bar = &home->check->bars[f->bar];
    if (bar->phase > f->phase + VM_BAR_PHASES) /* the mbarrier no longer keeps this phase */
        return true;
    const uint32_t when = bar->phase > f->phase ? bar->learned[f->phase % VM_BAR_PHASES] : 0;
    bool known = false;
    for (uint32_t k = 0; k < block->warp_count && when && !known; k++)
        known = check_far_later(&block->warps[k], f->block, when);
    return known;
}

/* Returns true if the last arrival of another block at the mbarrier comes before the end of this block in every run.
 * This is certain if a thread of this block has waited for the phase of the arrival, or has synchronised with the
 * arriving thread after the arrival. A commit arrives when the products before it are complete. So for a commit, this
 * block must also know that these products are complete. */
static bool arrival_came(const vm_block *block, uint32_t n)
{
    const vm_bar *bar = &block->check->bars[n];
    const vm_flight *product = check_flight_at(block->runner->run->device->check, bar->far_product);
    const uint32_t who = bar->far.who;
    bool known = false;
    for (uint32_t k = 0; k < block->warp_count && !known; k++)
        known = block->check->more[k].seen[n] > bar->far_phase ||
                (product && block->check->tensor ? check_tensor_complete(&block->warps[k], product, VM_LANES)
                                                 : check_far_done(&block->warps[k], bar->far.block, who / VM_LANES,
                                                                  1u << who % VM_LANES, bar->far.stamp));
    return known;
}

/* Reports the arrival of another block at an mbarrier of this block, if this block may have ended before the
 * arrival. */
static void report_late_arrival(vm_block *block, const vm_bar *bar)
{
    vm_warp *w = &block->warps[bar->far.who / VM_LANES];
    kiln_check_finding *found = check_find_finding(w, KILN_CHECK_ASYNC, false, bar->far.insn, VM_NO_INSN,
                                                   bar->far.who % VM_LANES, 1);
    if (!found)
        return;
    found->at.what = "arrival";
    found->message = check_print(get_check(w),
                                 "the block at whose mbarrier another block arrives may have ended before: it does not "
                                 "wait for the arrival");
}

/* Reports plain accesses of other blocks to the shared memory of this block, if this block does not wait for these
 * accesses. In this run the accesses came before the end of the block, but in another run they may come after it. */
static void check_visitors(vm_block *block)
{
    for (uint32_t rank = 0; block->cluster->size > 1 && rank < block->cluster->size; rank++) {
        const vm_mark *visit = &block->check->visitors[rank];
        const uint32_t warp = (visit->who & VM_WHO) / VM_LANES, lane = visit->who % VM_LANES;
        bool known = visit->stamp == 0;
        for (uint32_t k = 0; k < block->warp_count && !known; k++)
            known = check_far_done(&block->warps[k], visit->block, warp, 1u << lane, visit->stamp);
        if (known)
            continue;
        vm_warp *w = &block->cluster->blocks[rank]->warps[warp];
        kiln_check_finding *found = check_find_finding(w, KILN_CHECK_FREED, false, visit->insn, VM_NO_INSN, lane, 1);
        if (!found)
            continue;
        found->at.what = "access";
        found->space = "shared";
        found->message = check_print(get_check(w),
                                     "the block whose shared memory this access uses may have exited before: it does "
                                     "not wait for the access. Let the cluster synchronise after its last access");
    }
}

/* First counts the end of the block for dependent launches. Then reports operations that may still use the memory of
 * the block, because another block will get this memory. The passes have this order: plain accesses of other blocks,
 * bulk copies from shared to global memory, copies into shared memory, arrivals of other blocks, operations on tensor
 * memory, and copies from shared memory to other blocks. */
void check_block_end(vm_block *block)
{
    vm_check_block *b = block->check;
    check_dependent_end(block);
    if (atomic_load(&block->runner->run->family->stop))
        return;
    check_visitors(block);
    if (!b->more)
        return;
    const vm_check *check = block->runner->run->device->check;
    for (uint32_t k = 0; k < block->warp_count; k++)
        for (size_t n = 0; n < b->warps[k].pending_count; n++) {
            vm_flight *f = check_flight_at(check, b->warps[k].pending[n]);
            if (!f || f->kind != VM_FLIGHT_STORE)
                continue;
            if (!f->done[0])
                report_unfinished(block, f, "read");
            /* for kernels that this kernel launches, the operation counts as complete */
            f->done[0] = f->done[1] = check->time;
        }
    for (size_t n = 0; n < b->bar_count; n++) {
        const vm_flight *f = check_flight_at(check, b->bars[n].last);
        bool seen = !f;
        for (uint32_t k = 0; k < block->warp_count && !seen; k++)
            seen = b->more[k].seen[n] > f->phase;
        if (!seen)
            report_unfinished(block, f, "write");
    }
    for (uint32_t n = 0; n < b->bar_count; n++)
        if (b->bars[n].live && b->bars[n].far.stamp && !arrival_came(block, n))
            report_late_arrival(block, &b->bars[n]);
    for (uint32_t rank = 0; b->tensor && rank < block->cluster->size; rank++) {
        const vm_flight *f = check_flight_at(check, b->tensor->users[rank]);
        bool known = !f;
        for (uint32_t k = 0; k < block->warp_count && !known; k++)
            known = check_tensor_complete(&block->warps[k], f, VM_LANES);
        if (!known)
            report_unfinished(block, f, "use");
    }
    for (uint32_t rank = 0; rank < block->cluster->size; rank++) {
        const vm_flight *f = check_flight_at(check, b->pushed[rank]);
        if (f && !push_is_read(block, rank, f))
            report_unfinished(block, f, "read");
    }
}
