/* trace_engine.c - records the bulk copies and the operations on mbarriers. The simulated device completes a copy when
 * the copy is issued. The record names the phase of an mbarrier in which the copy completes, so that the replay can
 * complete the copy later. */
#include "vm_access.h"
#include "vm_block.h"
#include "vm_tensor.h"
#include "vm_trace.h"

enum { BARS_MOST = 1 << 12 };

static struct vm_trace *get_trace(const vm_warp *w) { return w->runner->run->launch->watch->trace; }

static vm_trace_block *find_block(const vm_warp *w)
{
    struct vm_trace *trace = get_trace(w);
    return &trace->blocks[(size_t)(w->block->trace - trace->warps) / trace->warps_per_block];
}

/* ---- phases ---- */

static uint32_t add_phase(const kiln_allocator *mem, vm_trace_block *b)
{
    if (!kiln__grow(mem, &b->phases, &b->phase_capacity, b->phase_count + 1, sizeof *b->phases))
        return 0;
    b->phases[b->phase_count] = 0;
    return (uint32_t)++b->phase_count;
}

/* Returns the record of the mbarrier at the address, with the number of its current phase. Returns NULL in four cases:
 * there is no mbarrier at the address, it belongs to another block, the block has too many mbarriers, or memory runs
 * out. The caller calls the function before each operation on the mbarrier. So at most one phase has ended since the
 * previous call. */
static vm_trace_bar *open_bar(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address)
{
    vm_trace_block *b = find_block(w);
    const kiln_allocator *mem = get_trace(w)->mem;
    int parity = ops_mbarrier_parity(w, i, lane, space, address);
    address = vm_window_offset(w->block, address);
    if (address >= VM_SHARED_WINDOW)
        return NULL; /* the mbarrier belongs to another block of the cluster */
    if (parity < 0)
        return NULL;
    size_t at = 0;
    while (at < b->bar_count && b->bars[at].address != address)
        at++;
    if (at == b->bar_count) {
        if (at == BARS_MOST || !kiln__grow(mem, &b->bars, &b->bar_capacity, at + 1, sizeof *b->bars))
            return NULL;
        b->bars[b->bar_count++] = (vm_trace_bar){.address = address, .parity = parity, .phase = add_phase(mem, b)};
    }
    vm_trace_bar *bar = &b->bars[at];
    if (bar->parity != parity) {
        bar->parity = parity;
        bar->last = bar->phase;
        bar->phase = add_phase(mem, b);
    }
    return bar;
}

/* Counts one more arrival or copy in the current phase. Returns the number of this phase, or 0 if the phase is
 * unknown. */
static uint32_t count_contribution(vm_warp *w, const vm_trace_bar *bar)
{
    if (bar && bar->phase)
        find_block(w)->phases[bar->phase - 1]++;
    return bar ? bar->phase : 0;
}

static void begin_record(vm_warp *w, vm_trace_warp *t, uint32_t kind, uint32_t words)
{
    count_trace_put(w, t, VM_TRACE_ENGINE | words << 4 | kind);
}

/* ---- mbarriers ---- */

static void record_mbarrier(vm_warp *w, vm_trace_warp *t, const vm_code *i, uint32_t m)
{
    uint32_t lane = (uint32_t)__builtin_ctz(m), phase = 0;
    uint64_t address = vm_lane_address(w, i, i->a, lane);
    bool none = i->masked != ops_mbarrier || i->size == VM_BAR_INIT || i->size == VM_BAR_INVAL;
    vm_trace_bar *bar = none ? NULL : open_bar(w, i, lane, i->space, address);
    bool test = !none && i->size == VM_BAR_TEST;
    const bool failed = bar && test && !ops_mbarrier_passes(w, i, m);
    if (test)
        t->failed_test = failed ? t->here : (vm_trace_mark){0};
    if (!bar || failed) {
        begin_record(w, t, VM_ENGINE_NOTHING, 0);
        return;
    }
    phase = test ? bar->last : count_contribution(w, bar);
    begin_record(w, t, test ? VM_ENGINE_WAIT : VM_ENGINE_ARRIVE, 1);
    count_trace_put(w, t, phase);
}

/* ---- copies ---- */

/* Returns the set of blocks that a copy reaches. Bit n stands for the block with rank n in the cluster. Without a
 * multicast this is only the block itself. */
static uint32_t get_blocks(const vm_warp *w, uint32_t slot, uint32_t lane)
{
    return slot ? vm_r32(w, slot)[lane] & 0xffff : 1u << w->block->rank;
}

typedef struct copy {
    size_t at; /* index of the copy's record in t->words */
    uint32_t kind, phase;
    uint64_t read, bytes; /* read: bytes that the copy reads; bytes: bytes that all blocks get in sum */
} copy;

static copy begin_copy(vm_warp *w, vm_trace_warp *t, bool store)
{
    copy c = {.at = t->count, .kind = store ? VM_ENGINE_STORE : VM_ENGINE_COPY};
    for (unsigned k = 0; k < VM_TRACE_COPY_LINES; k++)
        count_trace_put(w, t, VM_TRACE_ENGINE | VM_ENGINE_NOTHING);
    return c;
}

/* Completes the record of a copy. The lanes of an instruction may copy to different numbers of blocks. So the record
 * gets the mean number of blocks, weighted by bytes and rounded. */
static void end_copy(vm_trace_warp *t, const copy *c)
{
    if (t->failed || t->count <= c->at)
        return;
    if (t->closed) { /* the trace had no room for the whole record, so only its first word stays: VM_ENGINE_NOTHING */
        t->count = c->at + 1;
        return;
    }
    uint32_t *words = t->words + c->at;
    words[0] = VM_TRACE_ENGINE | (uint32_t)(t->count - c->at - 1) << 4 | c->kind;
    words[1] = c->phase;
    words[2] = (uint32_t)c->bytes;
    words[3] = c->read ? (uint32_t)((c->bytes + c->read / 2) / c->read) : 1;
}

/* Adds the lines of a range of bytes to the record. If the record already ends with the first line, the function marks
 * more sectors of this line instead of adding the line again. */
static void add_bytes(vm_warp *w, vm_trace_warp *t, const copy *c, uint64_t address, uint64_t bytes)
{
    for (uint64_t at = address & ~(uint64_t)31, end = address + bytes; at < end; at += 32) {
        uint32_t word = count_trace_line(at, 1u << (at / 32 % 4));
        bool same = t->count > c->at + VM_TRACE_COPY_LINES &&
                    VM_TRACE_LINE(t->words[t->count - 1]) == VM_TRACE_LINE(word);
        if (same)
            t->words[t->count - 1] |= word;
        else
            count_trace_put(w, t, word);
    }
}

static void record_bulk(vm_warp *w, vm_trace_warp *t, const vm_code *i, uint32_t m)
{
    const vm_bulk *b = i->extra;
    const bool store = b->to.space == PTX_SPACE_GLOBAL;
    copy c = begin_copy(w, t, store);
    VM_EACH(lane, m) {
        uint64_t bytes = vm_r32(w, i->a)[lane];
        const vm_side *memory = store ? &b->to : &b->from;
        const uint32_t blocks = get_blocks(w, b->multicast, lane);
        c.read += bytes;
        c.bytes += bytes * (unsigned)__builtin_popcount(blocks);
        if (bytes <= VM_SHARED_WINDOW && memory->space == PTX_SPACE_GLOBAL)
            add_bytes(w, t, &c, vm_side_address(w, memory, lane), bytes);
        /* several lanes may copy, but in a phase only the first of them counts */
        if (b->bar.space && !c.phase && blocks >> w->block->rank & 1)
            c.phase = count_contribution(w, open_bar(w, i, lane, b->bar.space, vm_side_address(w, &b->bar, lane)));
    }
    end_copy(t, &c);
}

static void record_tensor(vm_warp *w, vm_trace_warp *t, const vm_code *i, uint32_t m)
{
    const vm_tensor *x = i->extra;
    copy c = begin_copy(w, t, !x->bar.space);
    VM_EACH(lane, m) {
        vm_box box;
        if (!ops_box_open(w, i, lane, &box)) /* the instruction has a fault, which its handler will report */
            break;
        const uint32_t blocks = get_blocks(w, x->multicast, lane);
        c.read += vm_box_bytes(&box);
        c.bytes += vm_box_bytes(&box) * (unsigned)__builtin_popcount(blocks);
        do
            add_bytes(w, t, &c, box.address, (uint64_t)box.count * box.bytes);
        while (ops_box_next(&box));
        if (x->bar.space && !c.phase && blocks >> w->block->rank & 1)
            c.phase = count_contribution(w, open_bar(w, i, lane, x->bar.space, vm_side_address(w, &x->bar, lane)));
    }
    end_copy(t, &c);
}

/* Records st.async or red.async as one arrival in this block, if a lane sends to this block. The trace does not have
 * arrivals from other blocks of the cluster. A block that sends to all blocks of its cluster usually receives from all
 * of them at about the same time. */
static void record_send(vm_warp *w, vm_trace_warp *t, const vm_code *i, uint32_t m)
{
    const vm_bulk *b = i->extra;
    uint32_t phase = 0;
    VM_EACH(lane, m)
        phase = phase ? phase
                      : count_contribution(w, open_bar(w, i, lane, b->bar.space, vm_side_address(w, &b->bar, lane)));
    begin_record(w, t, VM_ENGINE_SEND, 1);
    count_trace_put(w, t, phase);
}

void count_trace_engine(vm_warp *w, vm_trace_warp *t, const vm_code *i, uint32_t m)
{
    const ptx_insn *in = &w->frame->function->ptx->insns[i->insn];
    if (m == 0 || i->guard & 2)
        begin_record(w, t, VM_ENGINE_NOTHING, 0);
    else if (ptx_effect_of(in) == PTX_EFFECT_BULK)
        record_bulk(w, t, i, m);
    else if (ptx_effect_of(in) == PTX_EFFECT_TENSOR)
        record_tensor(w, t, i, m);
    else if (ptx_effect_of(in) == PTX_EFFECT_REMOTE || ptx_effect_of(in) == PTX_EFFECT_CANCEL)
        record_send(w, t, i, m);
    else
        record_mbarrier(w, t, i, m);
}
