/* tensor_memory.c - the order of operations on tensor memory (tcgen05), and reports of columns that a block never
 * frees.
 *
 * The simulator completes each operation when it is issued. For the checks the operation stays in flight (flight.c)
 * until the program has waited for it by the rules of the PTX ISA, section 9.7.17.6:
 *
 *   ld, st          until tcgen05.wait::ld or wait::st of the same warp
 *   mma, cp, shift  until a thread knows the phase of an mbarrier in which a later tcgen05.commit of the same thread
 *                   arrived
 *
 * Some pairs of operations of one thread run in the order of their issue, without a wait: is_pipelined() lists these
 * pairs. Between two warps, the fences tcgen05.fence::before_thread_sync and after_thread_sync must surround the
 * barrier. A tcgen05.commit implies the fence before_thread_sync.
 *
 * A cell of this shadow is one column of sixteen lanes, because no operation except tcgen05.cp.4x256b accesses fewer
 * lanes. An access to fewer lanes counts as an access to all sixteen lanes. */
#include <inttypes.h>
#include <string.h>

#include "access_internal.h"
#include "before_internal.h"
#include "bounds_internal.h"
#include "finding_internal.h"
#include "flight_internal.h"
#include "mbarrier_internal.h"
#include "order_internal.h"
#include "product_internal.h"
#include "tensor_memory_internal.h"
#include "vm_access.h"
#include "vm_tcgen.h"

enum { GROUP_LANES = VM_TENSOR_LANES / VM_TENSOR_GROUPS, PIECE = VM_TCGEN_PIECE };

static vm_clock *clock_of(const vm_warp *w) { return &w->block->check->warps[w->index]; }
static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* ---- allocation ---- */

/* Records the columns that the last tcgen05.alloc has taken. The check of an instruction runs before the instruction.
 * So the check learns the columns of an allocation only at the next instruction of tensor memory. Newly allocated
 * columns count as unwritten. */
static void record_allocation(const vm_block *block)
{
    vm_tensor_state *t = block->check->tensor;
    const vm_tensor_memory *memory = block->tensor;
    if (!t->pending || !memory)
        return;
    for (uint32_t column = 0; column < VM_TENSOR_COLUMNS; column++) {
        if (!memory->first[column] || t->made[column])
            continue;
        t->made[column] = t->pending;
        t->maker[column] = t->pending_who;
        memset(t->cells + column * VM_TENSOR_GROUPS, 0, VM_TENSOR_GROUPS * sizeof *t->cells);
    }
    t->pending = 0;
}

/* Returns the number of columns of the allocation that begins at column `from`. If no allocation begins there, returns
 * 0. */
static uint32_t count_columns(const vm_tensor_memory *memory, uint32_t from)
{
    uint32_t count = 0;
    while (from + count < VM_TENSOR_COLUMNS && memory->first[from + count] == from + 1)
        count++;
    return count;
}

void check_tensor_end(vm_block *block)
{
    vm_tensor_state *t = block->check->tensor;
    if (!t || !block->tensor || atomic_load(&block->runner->run->family->stop))
        return;
    record_allocation(block);
    for (uint32_t column = 0, count; column < VM_TENSOR_COLUMNS; column += count) {
        count = count_columns(block->tensor, column);
        if (!count || !t->made[column]) {
            count = count ? count : 1;
            continue;
        }
        const uint32_t who = t->maker[column];
        vm_warp *w = &block->warps[who / VM_LANES];
        kiln_check_finding *f = check_find_finding(w, KILN_CHECK_LEAK, false, t->made[column] - 1, VM_NO_INSN,
                                                   who % VM_LANES, 1);
        if (!f)
            continue;
        f->at.what = "tcgen05.alloc";
        f->space = "tensor";
        f->address = column;
        f->bytes = (uint64_t)count * VM_TENSOR_LANES * 4;
        f->message = check_print(get_check(w),
                                 "the block ends without freeing %u columns of tensor memory from column %u on: "
                                 "execute tcgen05.dealloc before the end",
                                 count, column);
    }
}

/* ---- fences around barriers ---- */

/* tcgen05.fence::before_thread_sync. Each warp keeps the times of its last VM_FENCES + 1 fences. find_fences() tests
 * the order of all of them but the oldest. If an operation is older than the oldest fence that is kept, the fence
 * before_thread_sync counts as executed, because a forgotten fence may have followed the operation. The test for the
 * fence after_thread_sync still applies. */
static void fence_before(const vm_warp *w)
{
    uint32_t *last = w->block->check->tensor->warps[w->index].before;
    memmove(last + 1, last, VM_FENCES * sizeof *last);
    last[0] = check_advance_time(get_check(w));
}

/* Performs tcgen05.fence::after_thread_sync for the lanes m: copies the warp's vector clock. For later operations of
 * this warp, an action of another thread counts as fenced if, by this copy, it happened before. */
static void fence_after(const vm_warp *w, uint32_t m)
{
    const vm_clock *c = clock_of(w);
    vm_tensor_warp *t = &w->block->check->tensor->warps[w->index];
    check_share_flags(w);
    t->horizon = c->horizon;
    memcpy(t->know, c->know, sizeof t->know);
    for (uint32_t v = 0; v < VM_LANES; v++)
        t->know[v] = larger(t->know[v], c->more->part[v]);
    for (size_t n = 0; n < w->block->check->bar_count; n++) {
        const uint32_t seen = c->more->seen[n];
        t->seen[n] = seen && !(c->seen_lanes[n] & m) ? seen - 1 : seen;
    }
}

/* Returns true if an action of the thread that issued `f`, at the time `when`, is ordered before this lane's next
 * operation. If that thread is in another block, it is enough that the thread's reads are ordered, because then a
 * barrier lies between the two threads. */
static bool is_before(const vm_warp *w, const vm_flight *f, uint32_t when, uint32_t lane)
{
    const vm_mark s = {.stamp = when, .who = f->who, .block = f->block};
    return check_happened_before(w, &s, lane, true) ||
           (f->block != (uint32_t)w->block->number &&
            check_far_done(w, f->block, f->who / VM_LANES, 1u << f->who % VM_LANES, when));
}

/* Tells whether both fences surround the barrier between the operation `f` and this lane. `when` is the time at which
 * `f` was complete. If the visiting operation continues the pipeline of `f`, it is the time at which `f` was issued.
 * The function does not check fences of other blocks. */
static vm_order find_fences(const vm_warp *w, const vm_flight *f, uint32_t when, uint32_t lane)
{
    if (f->block != (uint32_t)w->block->number || f->who / VM_LANES >= w->block->warp_count)
        return VM_IN_ORDER;
    const vm_tensor_state *t = w->block->check->tensor;
    const uint32_t *last = t->warps[f->who / VM_LANES].before;
    const vm_tensor_warp *own = &t->warps[w->index];
    bool before = when <= last[VM_FENCES];
    for (unsigned n = 0; n < VM_FENCES && !before; n++)
        before = when <= last[n] && is_before(w, f, last[n], lane);
    if (!before)
        return VM_NO_BEFORE;
    return when <= own->horizon || when <= own->know[f->who / VM_LANES] ? VM_IN_ORDER : VM_NO_AFTER;
}

/* ---- two operations ---- */

/* Tells how an operation uses a cell. A product that adds to D reads and writes the cell, which is the role ADDS. For
 * an earlier operation, the cell distinguishes only READS and WRITES. */
typedef enum role { READS, WRITES, ADDS } role;

/* An operation, the *visiting* operation, while its cells are checked. */
typedef struct visit {
    vm_warp *w;
    uint32_t lane, insn;
    vm_flight *f; /* the visiting operation, or NULL for tcgen05.dealloc */
    unsigned op;  /* ptx_op */
    /* Indexed by the role of an earlier operation (READS or WRITES): the number of the last operation that the checks
     * found ordered before this operation. */
    uint32_t ordered[2];
    /* Numbers of cells that the operation reads. missing: cells that nothing has written; filled: cells that were
     * written */
    uint32_t missing, filled;
    bool told; /* true if this operation already has a finding, so that it gets no second one */
} visit;

static bool is_product(unsigned op) { return op == PTX_OP_TCGEN05_MMA || op == PTX_OP_TCGEN05_MMA_WS; }
static bool is_tensor(const vm_flight *f) { return f && f->kind == VM_FLIGHT_TENSOR; }

/* Returns true if two operations run in the order of their issue, without a wait between them (PTX ISA 9.7.17.6.2).
 * `was` is the earlier operation's role for the common cell, and `is` is the later operation's role. Both operations
 * must have the same cta_group. Then an operation runs in order
 *   - after an earlier copy or shift, always;
 *   - after an earlier product that only reads the cell (A, scale factors, metadata), always;
 *   - after an earlier product that writes the cell, if it is a product with the same accumulator and shape, and does
 *     not only read the cell. So a product needs a wait if its A is the D of an earlier product. */
static bool is_pipelined(const vm_flight *earlier, role was, const vm_flight *later, role is)
{
    const bool first = is_product(earlier->op), second = is_product(later->op);
    if (earlier->group != later->group)
        return false;
    if (!first || !second)
        return !first || was == READS;
    if (was == READS)
        return true;
    return is != READS && earlier->accumulator == later->accumulator && earlier->shape == later->shape;
}

/* Tells whether the earlier operation `f` on a cell is ordered before the visiting operation.
 *   mma, cp, shift  A commit and its mbarrier order it (check_commit_order()). A later operation of the same pipeline
 *                   needs neither. Such an operation is in order at once if the same thread issues it, or if a barrier
 *                   with both fences orders the two threads.
 *   ld, st          The warp of `f` must have executed wait::ld or wait::st. An operation of another warp also needs a
 *                   barrier with both fences.
 * tcgen05.dealloc (v->f is NULL) needs no fence, and does not need the wait of a load. It accesses no memory, so even a
 * relaxed arrival at the cluster's barrier orders an operation before it. */
static vm_order find_order(const visit *v, const vm_flight *f, role was, role is)
{
    const vm_warp *w = v->w;
    const bool near = f->block == (uint32_t)w->block->number, own_warp = near && f->who / VM_LANES == w->index;
    if (f->kind == VM_FLIGHT_TENSOR) {
        if (is_tensor(v->f) && near && f->who == v->f->who && is_pipelined(f, was, v->f, is))
            return VM_IN_ORDER;
        vm_order found = check_commit_order(w, f, v->lane);
        if ((found == VM_UNCOMMITTED || found == VM_UNSEEN) && is_tensor(v->f) && is_pipelined(f, was, v->f, is) &&
            f->who != v->f->who && is_before(w, f, f->begun, v->lane))
            found = find_fences(w, f, f->begun, v->lane); /* another thread continues the pipeline */
        return !v->f && (found == VM_NO_AFTER || check_met_commit(w, f)) ? VM_IN_ORDER : found;
    }
    const uint32_t when = f->done[0];
    const bool met = !v->f && near && check_met_after(w, f->who / VM_LANES, when ? when : f->begun);
    if (!v->f && f->kind == VM_FLIGHT_TENSOR_LOAD) /* to free columns, it is enough that the threads are ordered */
        return own_warp || met || is_before(w, f, f->begun, v->lane) ? VM_IN_ORDER : VM_UNSYNCED;
    if (!when)
        return VM_UNWAITED;
    if (own_warp || met)
        return VM_IN_ORDER;
    if (!is_before(w, f, when, v->lane))
        return VM_UNSYNCED;
    return v->f ? find_fences(w, f, when, v->lane) : VM_IN_ORDER;
}

/* Returns a text for the message: the error and the remedy. `f` is the earlier operation. */
static const char *tell_remedy(vm_check *check, vm_order found, const vm_flight *f)
{
    const char *name = check_flight_name(f);
    switch (found) {
    case VM_UNCOMMITTED:
        return check_print(check,
                           "no tcgen05.commit follows the %s, so nothing can wait for it: commit it to an "
                           "mbarrier, and wait for the mbarrier's phase before",
                           name);
    case VM_UNSEEN:
        return check_print(check,
                           "the thread does not know that the %s is complete: wait before for the phase of the "
                           "mbarrier at which its tcgen05.commit arrives",
                           name);
    case VM_UNWAITED:
        return check_print(check, "no tcgen05.wait::%s of its warp follows the %s: execute it before",
                           f->kind == VM_FLIGHT_TENSOR_LOAD ? "ld" : "st", name);
    case VM_UNSYNCED: return check_print(check, "no barrier orders the two threads after the %s", name);
    case VM_NO_BEFORE:
        return check_print(check,
                           "the thread of the %s executes no tcgen05.fence::before_thread_sync between it and "
                           "the barrier that orders the two threads",
                           name);
    case VM_NO_AFTER:
        return check_print(check,
                           "this thread executes no tcgen05.fence::after_thread_sync after the barrier that "
                           "tells it of the %s",
                           name);
    case VM_IN_ORDER: break;
    }
    return "";
}

/* Starts a finding about the visiting operation at a cell. */
static kiln_check_finding *start_finding(visit *v, kiln_check_kind kind, bool note, uint32_t other, uint32_t cell)
{
    kiln_check_finding *found = check_find_finding(v->w, kind, note, v->insn, other, v->lane, 1);
    if (!found)
        return NULL;
    found->at.what = ptx_op_name((ptx_op)v->op);
    found->space = "tensor";
    found->address = vm_tensor_address(cell % VM_TENSOR_GROUPS * GROUP_LANES, cell / VM_TENSOR_GROUPS);
    found->bytes = 4;
    return found;
}

/* Reports that the visiting operation is not ordered after the operation `f`. If a module has no tcgen05.fence at all,
 * as the kernels of CUTLASS, a missing fence is only a note. A launch gets at most one such note. Such a module relies
 * on the order that barriers have on present devices. */
static void report_order(visit *v, const vm_flight *f, role was, role is, vm_order found, uint32_t cell)
{
    static const char *const verbs[] = {[READS] = "reads", [WRITES] = "writes", [ADDS] = "adds to"};
    static const char *const done[] = {[READS] = "read", [WRITES] = "written"};
    vm_check *check = get_check(v->w);
    const bool fence = found == VM_NO_BEFORE || found == VM_NO_AFTER;
    const bool note = fence && !v->w->runner->run->launch->module->check->tensor_fences;
    if (v->told || (note && check->fence_told))
        return;
    v->told = true;
    check->fence_told |= note;
    kiln_check_finding *made = start_finding(v, fence ? KILN_CHECK_ASYNC : KILN_CHECK_RACE, note, f->insn, cell);
    if (!made)
        return;
    const vm_mark s = {.who = f->who, .block = f->block};
    made->other.what = check_flight_name(f);
    check_side_thread(v->w, &s, &made->other);
    made->message = check_print(check, "%s %s column %u of tensor memory, which %s has %s: %s%s", made->at.what,
                                v->f ? verbs[is] : "frees", cell / VM_TENSOR_GROUPS, made->other.what, done[was],
                                tell_remedy(check, found, f),
                                note ? ". The module has no tcgen05.fence, which the PTX ISA demands" : "");
}

/* Checks the visiting operation against one earlier operation on a cell. For most cells of an operation, the earlier
 * operation is the same, so v->ordered remembers its number. */
static void check_pair(visit *v, uint32_t id, role was, role is, uint32_t cell)
{
    if (!id || id == v->ordered[was] || v->told || (v->f && id == v->f->id))
        return;
    const vm_flight *f = check_flight_at(get_check(v->w), id);
    const vm_order found = f ? find_order(v, f, was, is) : VM_IN_ORDER;
    if (found == VM_IN_ORDER)
        v->ordered[was] = id;
    else
        report_order(v, f, was, is, found, cell);
}

/* Records in a cell that the visiting operation loads it. The cell keeps the last loads of two threads. The later of
 * the two loads comes first. When a third thread loads, the cell loses the oldest of the three loads. The checks do not
 * compare later writes of the cell with this load. */
static void record_load(const visit *v, vm_tensor_cell *c)
{
    const vm_flight *last = check_flight_at(get_check(v->w), c->loads[0]);
    if (last && (last->who != v->f->who || last->block != v->f->block))
        c->loads[1] = c->loads[0];
    c->loads[0] = v->f->id;
}

/* Checks and records the use of `columns` columns from `column` on, in the tensor memory of `home`. The bit mask
 * `groups` has the groups of lanes that are used. If a column does not exist or is free, the instruction raises a
 * fault. */
static void check_cells(visit *v, const vm_block *home, uint32_t groups, uint32_t column, uint32_t columns, role is)
{
    vm_tensor_state *t = home->check->tensor;
    if (t)
        record_allocation(home);
    for (; t && columns && column < VM_TENSOR_COLUMNS; column++, columns--)
        for (uint32_t g = 0; g < VM_TENSOR_GROUPS && t->made[column]; g++) {
            const uint32_t cell = column * VM_TENSOR_GROUPS + g;
            vm_tensor_cell *c = &t->cells[cell];
            if (!(groups >> g & 1))
                continue;
            check_pair(v, c->write, WRITES, is, cell);
            v->missing += is != WRITES && !c->write;
            v->filled += is != WRITES && c->write;
            if (is == READS) {
                if (is_tensor(v->f))
                    c->used = v->f->id;
                else
                    record_load(v, c);
                continue;
            }
            check_pair(v, c->loads[0], READS, is, cell);
            check_pair(v, c->loads[1], READS, is, cell);
            check_pair(v, c->used, READS, is, cell);
            *c = (vm_tensor_cell){.write = v->f ? v->f->id : 0};
        }
}

/* Reports a read of columns that nothing has written since they were allocated. If some of the columns were written,
 * the finding is a note. If the operation has another finding, it does not get this one. */
static void check_unwritten_cells(visit *v, const char *what, uint32_t address)
{
    const bool note = v->filled;
    if (!v->missing || v->told)
        return;
    const uint32_t cell = (address & 0xffff) * VM_TENSOR_GROUPS + (address >> 16) / GROUP_LANES;
    kiln_check_finding *f = start_finding(v, KILN_CHECK_UNINITIALISED, note, VM_NO_INSN, cell);
    if (f)
        f->message = check_print(get_check(v->w),
                                 "%s reads %s from column %u of tensor memory on, which nothing has written since it "
                                 "was allocated%s",
                                 f->at.what, what, address & 0xffff, note ? " in part" : "");
}

/* Makes the record of a lane's operation. Returns false if memory runs out. Then the operation is not checked. */
static bool open_visit(visit *v, vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t lanes, vm_flight_kind kind)
{
    *v = (visit){.w = w, .lane = (uint32_t)__builtin_ctz(lanes), .insn = vm_insn_of(w, i), .op = in->op};
    v->f = check_flight_new(w, i, kind, lanes, w->block);
    if (!v->f)
        return false;
    v->f->op = (uint16_t)in->op;
    v->f->begun = get_check(w)->time;
    v->f->group = ptx_has(in, PTX_MOD_CTA_GROUP_2) ? 2 : 1;
    return true;
}

/* ---- ld, st ---- */

/* Checks tcgen05.ld and tcgen05.st. If the address is wrong, the instruction raises a fault. */
static void check_move(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m)
{
    const vm_tcgen_move *x = i->extra;
    const uint32_t lane = (uint32_t)__builtin_ctz(m);
    const uint32_t address = ops_tcgen_own_lanes(w, (uint32_t)vm_side_address(w, &x->at, lane));
    uint32_t columns;
    visit v;
    check_join_lanes(w, m);
    if (!open_visit(&v, w, i, in, m, x->store ? VM_FLIGHT_TENSOR_STORE : VM_FLIGHT_TENSOR_LOAD))
        return;
    const uint32_t rows = ops_tcgen_extent(x, &columns), groups = (1u << rows / GROUP_LANES) - 1;
    const uint32_t group = (address >> 16) / GROUP_LANES;
    const bool split = x->shape == VM_TCGEN_16X32BX2;
    for (unsigned part = 0; part < (split ? 2u : 1u) && group < VM_TENSOR_GROUPS; part++)
        check_cells(&v, w->block, groups << group, (address & 0xffff) + part * x->split, columns,
                    x->store ? WRITES : READS);
    if (!x->store)
        check_unwritten_cells(&v, "values", address);
    check_flight_pend(w, v.f);
    if (!x->store)
        check_product_load(w, i, in, v.f->id);
}

/* ---- products ---- */

/* Narrows the window [*low, *end) to each shared variable of the module that contains the address. Several kernels may
 * have variables at the same address, and a search for a kernel's own variable is slow. If an operand stays in the
 * window, it stays in its variable. */
static void narrow_window(const vm_module *module, uint32_t address, uint64_t *low, uint64_t *end)
{
    for (uint32_t n = 0; n < module->ptx->symbol_count; n++) {
        const ptx_symbol *s = &module->ptx->symbols[n];
        const uint64_t base = module->address[n];
        if (s->space != PTX_SPACE_SHARED || address < base || address >= base + s->bytes)
            continue;
        *low = base > *low ? base : *low;
        *end = base + s->bytes < *end ? base + s->bytes : *end;
    }
}

/* Reports an operand that begins in the shared variable `s` and reaches the address `at` outside of it. */
static void report_reach(const visit *v, const ptx_symbol *s, uint64_t base, uint32_t at, const char *what)
{
    kiln_check_finding *f = check_find_finding(v->w, KILN_CHECK_BOUNDS, false, v->insn, VM_NO_INSN, v->lane, 1);
    if (!f)
        return;
    f->at.what = ptx_op_name((ptx_op)v->op);
    f->space = "shared";
    f->address = at;
    f->bytes = PIECE;
    f->message = check_print(get_check(v->w),
                             "the descriptor of %s of %s begins in '%s' (%llu bytes at shared address 0x%llx) and "
                             "reaches shared address 0x%x outside of it",
                             what, f->at.what, s->name, (unsigned long long)s->bytes, (unsigned long long)base, at);
}

/* Handles a piece of an operand that lies outside of the operand's window. The piece is at the address `at`, and the
 * operand begins at `begin`. */
static void leave_window(const visit *v, uint32_t begin, uint32_t at, uint64_t *low, uint64_t *end, const char *what)
{
    uint64_t base = 0;
    const ptx_symbol *own = check_find_shared_variable(v->w->runner->run, v->insn, begin, &base);
    const uint64_t own_end = own ? base + own->bytes : 0;
    const bool inside = own && begin < own_end, out = inside && (at < base || at + PIECE > own_end);
    if (out)
        report_reach(v, own, base, at, what);
    *low = inside && !out ? base : 0;
    *end = inside && !out ? own_end : UINT64_MAX;
}

/* Returns 1 + the number that a tensor map uses for the swizzle of the descriptor. If there is no such swizzle, returns
 * 0. */
static uint8_t get_layout(uint64_t descriptor)
{
    static const uint8_t layouts[8] = {1, 5, 4, 0, 3, 0, 2, 0};
    return layouts[descriptor >> 61];
}

/* Checks the reads of a matrix in the shared memory of one block. The matrix has `count` rows or columns, each with
 * `length` bytes along the dimension K. If a matrix begins in a shared variable of the kernel, all of it must be in
 * this variable. The search for this variable is needed only for a piece outside of the window. After the search the
 * window is the variable, or all memory if there is no variable. An error is reported only once. */
static bool check_operand(visit *v, const vm_code *i, const vm_block *block, uint64_t descriptor, bool across,
                          unsigned type, uint32_t length, uint32_t count, const char *what)
{
    const uint32_t bytes = ptx_type_bytes((ptx_type)type), each = across ? PIECE / bytes : 1;
    const uint32_t parts = length / (across ? bytes : PIECE), begin = (uint32_t)(descriptor & 0x3fff) << 4;
    const vm_run_state *run = v->w->runner->run;
    uint64_t low = 0, end = UINT64_MAX;
    narrow_window(run->launch->module, begin, &low, &end);
    v->f->layout = get_layout(descriptor);
    for (uint32_t at = 0; at < count; at += each)
        for (uint32_t part = 0; part < parts; part++) {
            const uint32_t address = ops_tcgen_piece(descriptor, across, at, part, bytes);
            if (address < low || address + PIECE > end)
                leave_window(v, begin, address, &low, &end, what);
            if (!check_stretch(v->w, i, v->lane, PTX_SPACE_SHARED, vm_rank_address(address, block->rank), PIECE,
                               VM_READS, v->f->id))
                return false;
        }
    return true;
}

/* Checks one operand of a product in tensor memory. The function checks the order of the accesses to the columns, and
 * whether something has written the columns that are read. An earlier operation may be in order for one operand and not
 * for another, so the function begins with an empty `ordered`. */
static void check_columns(visit *v, const vm_block *block, uint32_t groups, uint32_t address, uint32_t columns, role is,
                          const char *what)
{
    v->missing = v->filled = 0;
    memset(v->ordered, 0, sizeof v->ordered);
    check_cells(v, block, groups, address & 0xffff, columns, is);
    check_unwritten_cells(v, what, address);
}

/* Checks the operands that a product reads from a block's tensor memory, apart from D: A, sparse metadata, and scale
 * factors. */
static void check_tensor_operands(visit *v, const vm_tcgen_mma *x, const vm_tcgen_product *p, const vm_block *block)
{
    const uint32_t half = 0x55; /* one half of each quarter of the lanes */
    uint32_t columns;
    if (x->a_tensor) {
        ops_tcgen_a_extent(p, &columns);
        check_columns(v, block, p->half ? half << (p->a >> 16) / GROUP_LANES : 0xff, p->a, columns,
                      x->shift ? ADDS : READS, "matrix A"); /* with .ashift the product reads and writes A */
    }
    if (x->sparse) {
        ops_tcgen_metadata_extent(x, p, &columns);
        check_columns(v, block, p->half ? half << (p->metadata >> 16) / GROUP_LANES : 0xff, p->metadata, columns, READS,
                      "the metadata of A");
    }
    for (unsigned side = 0; side < 2 && vm_tcgen_is_scaled(x); side++) {
        const uint32_t rows = ops_tcgen_scales_extent(p, side, &columns);
        check_columns(v, block, rows > GROUP_LANES ? 0xff : half, p->scales[side], columns, READS,
                      side ? "the scale factors of B" : "the scale factors of A");
    }
}

/* Checks a product: first the reads of A and B in shared memory, then the reads of tensor memory, then D. Returns false
 * if the product must not run. */
static bool check_product(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t lane)
{
    const vm_tcgen_mma *x = i->extra;
    vm_tcgen_product p;
    visit v;
    bool fine = true;
    if (!ops_tcgen_open(w, i, lane, &p))
        return false;
    if (!open_visit(&v, w, i, in, 1u << lane, VM_FLIGHT_TENSOR))
        return true;
    v.f->accumulator = p.d;
    v.f->shape = p.m << 16 | p.n;
    for (uint32_t k = 0; k < p.blocks && fine; k++) {
        vm_block *block = p.block[k];
        uint32_t columns;
        if (block->check->tensor)
            block->check->tensor->users[w->block->rank] = v.f->id;
        if (!x->a_tensor)
            fine = check_operand(&v, i, block, p.a_descriptor, p.a_across, p.a_type, p.a_bytes, p.rows, "A");
        /* a zero-column mask makes the product skip columns of B, so the checks leave out B */
        fine = fine && (x->masks_columns || check_operand(&v, i, block, p.b_descriptor, p.b_across, p.b_type, p.b_bytes,
                                                          p.n / p.blocks, "B"));
        check_tensor_operands(&v, x, &p, block);
        ops_tcgen_d_extent(&p, &columns);
        check_columns(&v, block, p.half ? 0x55u << (p.d >> 16) / GROUP_LANES : 0xffu, p.d, columns,
                      p.add ? ADDS : WRITES, "the sums of D");
        v.missing = v.filled = 0;
    }
    return fine;
}

/* ---- cp and shift ---- */

/* Checks tcgen05.cp and tcgen05.shift. tcgen05.cp reads shared memory and writes tensor memory, and tcgen05.shift reads
 * and writes tensor memory. If an address is wrong, the instruction raises a fault. Returns false if the copy must not
 * run. */
static bool check_copy(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t lane)
{
    const vm_tcgen_copy *x = i->extra;
    const bool copy = in->op == PTX_OP_TCGEN05_CP;
    const uint32_t address = (uint32_t)vm_side_address(w, &x->to, lane), first = (address >> 16) / GROUP_LANES;
    const uint64_t descriptor = copy ? vm_r64(w, x->descriptor)[lane] : 0;
    vm_block *blocks[2];
    uint32_t rows = 0, bytes = 0;
    visit v;
    bool fine = true;
    const uint32_t count = ops_tcgen_copy_blocks(w, i, lane, x->group, blocks);
    if (!count || first >= VM_TENSOR_GROUPS ||
        (copy && !ops_tcgen_check_descriptor(w, i, lane, descriptor, false, PIECE)))
        return count != 0;
    if (!open_visit(&v, w, i, in, 1u << lane, VM_FLIGHT_TENSOR))
        return true;
    for (uint32_t k = 0; k < count && fine; k++) {
        if (blocks[k]->check->tensor)
            blocks[k]->check->tensor->users[w->block->rank] = v.f->id;
        ops_tcgen_copy_extent(x, &rows, &bytes);
        if (copy)
            fine = check_operand(&v, i, blocks[k], descriptor, false, PTX_B8, bytes, rows, "the source");
        const uint32_t groups = copy && x->shape == VM_TCGEN_4X256B ? 0x55u << first : 0xffu << first;
        check_cells(&v, blocks[k], groups, address & 0xffff, copy ? bytes / 4 : 8, copy ? WRITES : ADDS);
    }
    return fine;
}

/* ---- an instruction ---- */

/* Checks tcgen05.dealloc. All earlier operations on the columns must be ordered before it. For this, dealloc counts as
 * a write of the columns. */
static void check_release_columns(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m)
{
    const uint32_t lane = (uint32_t)__builtin_ctz(m), from = vm_r32(w, i->a)[lane], count = vm_r32(w, i->b)[lane];
    vm_tensor_state *t = w->block->check->tensor;
    visit v = {.w = w, .lane = lane, .insn = vm_insn_of(w, i), .op = in->op};
    check_join_lanes(w, m);
    check_cells(&v, w->block, 0xff, from, count, WRITES);
    for (uint32_t k = 0; k < count && from < VM_TENSOR_COLUMNS && k < VM_TENSOR_COLUMNS - from; k++)
        t->made[from + k] = 0;
}

/* Reports a commit without a state space if its address is not generic. A GPU uses the lower half of the address for
 * the mbarrier, but by the PTX ISA the behaviour is undefined. */
static void check_commit_space(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t lane, uint64_t bar)
{
    if (ptx_has(in, PTX_MOD_SHARED_CLUSTER) || bar - VM_SHARED_BASE < VM_CLUSTER_WINDOW)
        return;
    kiln_check_finding *f = check_find_finding(w, KILN_CHECK_ASYNC, false, vm_insn_of(w, i), VM_NO_INSN, lane, 1);
    if (!f)
        return;
    f->at.what = "tcgen05.commit";
    f->space = "shared";
    f->address = bar;
    f->bytes = 8;
    f->message = check_print(get_check(w),
                             "tcgen05.commit without a state space takes a generic address, and 0x%" PRIx64
                             " is not a generic address of shared memory: write .shared::cluster for a "
                             "shared address",
                             bar);
}

/* Counts the arrivals of tcgen05.commit, one lane after the other. In a multicast, each block of the mask gets an
 * arrival at its mbarrier. */
static uint32_t check_commit(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m)
{
    const vm_bulk *b = i->extra;
    uint32_t good = m;
    VM_EACH(lane, m) {
        const uint64_t bar = vm_side_address(w, &b->bar, lane);
        uint32_t ranks;
        if (!ops_multicast(w, i, lane, b->multicast, &ranks))
            return 0;
        check_commit_space(w, i, in, lane, bar);
        do {
            if (!check_commit_one(w, i, lane, b->bar.space, vm_target(bar, ranks)))
                good &= ~(1u << lane);
            ranks &= ranks - 1;
        } while (ranks);
    }
    return good;
}

uint32_t check_tensor_memory(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m)
{
    const uint32_t lane = (uint32_t)__builtin_ctz(m);
    vm_tensor_state *t = w->block->check->tensor;
    uint32_t good = m;
    record_allocation(w->block);
    switch (in->op) {
    case PTX_OP_TCGEN05_ALLOC: /* the warp writes one address, so it is enough to check one lane */
        t->pending = vm_insn_of(w, i) + 1;
        t->pending_who = w->index * VM_LANES + lane;
        return check_stretch(w, i, lane, i->space, vm_lane_address(w, i, i->a, lane), 4, VM_WRITE, 0) ? m : 0;
    case PTX_OP_TCGEN05_DEALLOC: check_release_columns(w, i, in, m); break;
    case PTX_OP_TCGEN05_LD:
    case PTX_OP_TCGEN05_LD_RED:
    case PTX_OP_TCGEN05_ST: check_move(w, i, in, m); break;
    case PTX_OP_TCGEN05_WAIT_LD:
    case PTX_OP_TCGEN05_WAIT_ST:
        check_flight_wait(w, in->op == PTX_OP_TCGEN05_WAIT_LD ? VM_FLIGHT_TENSOR_LOAD : VM_FLIGHT_TENSOR_STORE, m, 0,
                          false);
        check_join_lanes(w, m);
        break;
    case PTX_OP_TCGEN05_FENCE_BEFORE: fence_before(w); break;
    case PTX_OP_TCGEN05_FENCE_AFTER: fence_after(w, m); break;
    case PTX_OP_TCGEN05_COMMIT: return check_commit(w, i, in, m);
    case PTX_OP_TCGEN05_MMA:
    case PTX_OP_TCGEN05_MMA_WS:
        VM_EACH(each, m)
            if (!check_product(w, i, in, each))
                good &= ~(1u << each);
        break;
    case PTX_OP_TCGEN05_CP:
    case PTX_OP_TCGEN05_SHIFT:
        VM_EACH(each, m)
            if (!check_copy(w, i, in, each))
                good &= ~(1u << each);
        break;
    default: break;
    }
    return good;
}
