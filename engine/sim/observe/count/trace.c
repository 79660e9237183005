/* trace.c - records the instructions that the warps of some blocks execute. Each warp has a separate trace, so the host
 * threads need no lock. */
#include <string.h>

#include "vm_trace.h"

#define WORDS_MOST ((size_t)1 << 24) /* largest number of words in the trace of a warp */

struct vm_trace *count_trace_new(const kiln_allocator *mem, uint32_t blocks, uint32_t warps_per_block)
{
    struct vm_trace *trace = kiln__calloc(mem, 1, sizeof *trace);
    if (!trace)
        return NULL;
    trace->mem = mem;
    trace->block_count = blocks;
    trace->warps_per_block = warps_per_block;
    trace->blocks = kiln__calloc(mem, blocks, sizeof *trace->blocks);
    trace->warps = kiln__calloc(mem, (size_t)blocks * warps_per_block, sizeof *trace->warps);
    if (!trace->blocks || !trace->warps) {
        count_trace_free(trace);
        return NULL;
    }
    return trace;
}

void count_trace_free(struct vm_trace *trace)
{
    if (!trace)
        return;
    for (size_t k = 0; trace->warps && k < (size_t)trace->block_count * trace->warps_per_block; k++)
        kiln__free(trace->mem, trace->warps[k].words);
    for (uint32_t b = 0; trace->blocks && b < trace->block_count; b++) {
        kiln__free(trace->mem, trace->blocks[b].bars);
        kiln__free(trace->mem, trace->blocks[b].phases);
    }
    kiln__free(trace->mem, trace->blocks);
    kiln__free(trace->mem, trace->warps);
    kiln__free(trace->mem, trace);
}

static size_t index_of(const struct vm_trace *trace, uint64_t number)
{
    size_t low = 0, high = trace->block_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace->blocks[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < trace->block_count && trace->blocks[low].number == number ? low : SIZE_MAX;
}

vm_trace_warp *count_trace_find(struct vm_trace *trace, uint64_t number)
{
    size_t at = index_of(trace, number);
    return at == SIZE_MAX ? NULL : &trace->warps[at * trace->warps_per_block];
}

void count_trace_put(vm_warp *w, vm_trace_warp *t, uint32_t word)
{
    const kiln_allocator *mem = w->runner->run->launch->watch->trace->mem;
    if (t->failed)
        return;
    if (t->count >= WORDS_MOST) {
        t->closed = true;
        return;
    }
    if (!kiln__grow(mem, &t->words, &t->capacity, t->count + 1, sizeof *t->words)) {
        t->failed = t->closed = true;
        return;
    }
    t->words[t->count++] = word;
}

/* ---- the cost of an access ---- */

/* Returns the number of wavefronts of an access to shared memory: the largest number of different words in one bank. A
 * wide access needs one wavefront for each of its words. An atomic needs one more wavefront for each further lane at
 * the same word. */
static uint32_t get_wavefronts(const vm_access *a, uint32_t bytes)
{
    uint32_t seen[VM_LANES][8], most = 0;
    uint8_t used[VM_LANES] = {0}, more[VM_LANES] = {0};
    bool atomic = a->kind & VM_ATOMIC;
    VM_EACH(lane, a->lanes) {
        for (uint32_t word = (uint32_t)a->address[lane] / 4, end = (uint32_t)(a->address[lane] + bytes + 3) / 4;
             word < end; word++) {
            uint32_t bank = word % VM_LANES, k = 0;
            while (k < used[bank] && k < 8 && seen[bank][k] != word)
                k++;
            /* the function remembers only 8 words of a bank; every further word counts as different */
            if (k == used[bank] || k == 8) {
                if (k < 8)
                    seen[bank][k] = word;
                used[bank]++;
            } else if (atomic) {
                more[bank]++;
            }
            uint32_t all = (uint32_t)used[bank] + more[bank];
            most = all > most ? all : most;
        }
    }
    return most < 127 ? most : 127;
}

/* Returns a global address that stands for a lane's local memory. On a GPU local memory is interleaved: the words of
 * all lanes at one offset are one line. */
static uint64_t local_address(const vm_warp *w, uint64_t offset, uint32_t lane)
{
    uint64_t thread_set = w->block->number * w->block->warp_count + w->index;
    return VM_GLOBAL_BASE + ((uint64_t)1 << 34) + (thread_set << 20) + (offset / 4 * VM_LANES + lane) * 4 + offset % 4;
}

static uint32_t count_meeting(const vm_access *a)
{
    uint32_t most = 0, left = a->lanes;
    while (left) {
        uint32_t first = (uint32_t)__builtin_ctz(left), same = 0;
        VM_EACH(lane, left) {
            if (a->address[lane] == a->address[first]) {
                same++;
                left &= ~(1u << lane);
            }
        }
        most = same > most ? same : most;
    }
    return most < 63 ? most : 63;
}

static uint32_t line_of(uint64_t address) { return (uint32_t)(address / VM_TRACE_LINE_BYTES) & 0x0fffffffu; }
uint32_t count_trace_line(uint64_t address, uint32_t sectors) { return line_of(address) << 4 | sectors; }

/* Returns the number of passes that an atomic needs in the L2. The number is a sum over the sectors of the line: for
 * each sector, the lanes at its most used address. */
static uint32_t count_l2_passes(const vm_access *list, unsigned count, uint32_t line)
{
    uint32_t sum = 0;
    for (unsigned n = 0; n < count; n++) {
        for (uint32_t sector = 0; sector < 4 && list[n].space != PTX_SPACE_SHARED; sector++) {
            vm_access in = list[n];
            VM_EACH(lane, list[n].lanes) {
                if (line_of(in.address[lane]) != line || in.address[lane] / 32 % 4 != sector)
                    in.lanes &= ~(1u << lane);
            }
            sum += in.lanes ? count_meeting(&in) : 0;
        }
    }
    return sum;
}

static void add_line(uint32_t *lines, uint32_t *count, uint64_t address)
{
    uint32_t line = line_of(address);
    uint32_t sector = 1u << (address / 32 % 4);
    for (uint32_t k = *count; k-- > 0;)
        if (VM_TRACE_LINE(lines[k]) == line) {
            lines[k] |= sector;
            return;
        }
    if (*count < 127)
        lines[(*count)++] = line << 4 | sector;
}

/* Adds the record of an instruction's accesses to the trace. */
static void record_access(vm_warp *w, vm_trace_warp *t, const vm_code *i, uint32_t m, const vm_traced *insn)
{
    vm_access access[VM_ACCESSES];
    uint32_t lines[128], line_count = 0, shared = 0, meet = 0, flags = 0;
    unsigned count = count_accesses(w, i, m, access);
    for (unsigned k = 0; k < count; k++) {
        const vm_access *a = &access[k];
        if (a->lanes == 0)
            continue;
        if (a->kind & VM_ATOMIC) {
            uint32_t here = count_meeting(a);
            meet = here > meet ? here : meet;
        }
        if (a->space == PTX_SPACE_SHARED) {
            uint32_t bytes = a->bytes, wide = bytes * insn->merge_count, first = insn->merge_index * bytes;
            bool aligned = insn->merge_count > 1;
            VM_EACH(lane, a->lanes)
                aligned = aligned && (a->address[lane] - first) % wide == 0;
            if (aligned && !insn->merge_lead) {
                flags |= VM_TRACE_MERGED;
                continue;
            }
            vm_access whole = *a;
            if (aligned)
                VM_EACH(lane, a->lanes)
                    whole.address[lane] -= first;
            shared += get_wavefronts(&whole, aligned ? wide : bytes);
            continue;
        }
        /* a load of constant memory needs one wavefront for each different address */
        if (a->space == PTX_SPACE_CONST) {
            vm_access each = *a;
            for (uint32_t left = a->lanes; left;) {
                uint64_t address = a->address[__builtin_ctz(left)];
                VM_EACH(lane, left)
                    left &= each.address[lane] == address ? ~(1u << lane) : UINT32_MAX;
                shared++;
            }
            continue;
        }
        bool local = a->space == PTX_SPACE_LOCAL;
        flags |= local ? VM_TRACE_LOCAL : 0;
        VM_EACH(lane, a->lanes) {
            for (uint32_t at = 0; at < a->bytes; at += local ? 4 : 32)
                add_line(lines, &line_count,
                         local ? local_address(w, a->address[lane] + at, lane) : a->address[lane] + at);
        }
    }
    flags |= insn->atomic && line_count ? VM_TRACE_COUNTED : 0;
    count_trace_put(w, t, line_count | (shared < 127 ? shared : 127) << 7 | meet << 14 | flags);
    for (uint32_t k = 0; k < line_count; k++)
        count_trace_put(w, t, lines[k]);
    for (uint32_t k = 0; flags & VM_TRACE_COUNTED && k < line_count; k++)
        count_trace_put(w, t, count_l2_passes(access, count, VM_TRACE_LINE(lines[k])));
}

/* ---- recording ---- */

/* A loop may test a phase of an mbarrier until the phase is complete. The number of its failed tests depends on the
 * order in which warps run, and a GPU runs warps in another order than the simulated device. So if a warp fails the
 * same test again, the function cuts the trace back to the state before the previous test. */
enum { LOOP_MOST = 16 }; /* largest number of instructions of such a loop */

static void cut_back(vm_trace_warp *t, uint32_t at)
{
    const vm_trace_mark *mark = &t->failed_test;
    if (mark->valid && mark->insn == at) {
        t->spun += t->traced - mark->traced;
        t->count = mark->count;
        t->run = mark->run;
        t->next = mark->next;
        t->traced = mark->traced;
        if (t->run + 1 < t->count)
            t->words[t->run + 1] = mark->left;
    } else if (mark->valid && (at > mark->insn + LOOP_MOST || mark->insn > at + LOOP_MOST)) {
        t->failed_test.valid = false; /* the warp has left the loop, or other lanes of it run */
    }
}

/* Adds an instruction to the warp's trace. If the instruction follows the last instruction of the trace, the current
 * run becomes one instruction longer. If it does not follow, a new run begins. For a memory access, a bulk copy or an
 * operation on an mbarrier, also adds a record. */
void count_trace_insn(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_trace_warp *t = w->block->trace ? &w->block->trace[w->index] : NULL;
    if (!t || t->closed)
        return;
    struct vm_trace *trace = w->runner->run->launch->watch->trace;
    uint32_t at = (uint32_t)w->frame->function->first_tally + i->insn;
    cut_back(t, at);
    t->here = (vm_trace_mark){.valid = true,
                              .insn = at,
                              .next = t->next,
                              .left = t->run + 1 < t->count ? t->words[t->run + 1] : 0,
                              .count = t->count,
                              .run = t->run,
                              .traced = t->traced};
    if (at == t->next && t->run + 1 < t->count) {
        t->words[t->run + 1]++;
    } else {
        t->run = t->count;
        count_trace_put(w, t, at);
        count_trace_put(w, t, 1);
    }
    t->next = at + 1;
    t->before = t->count;
    const vm_traced *insn = (const vm_traced *)(const void *)((const unsigned char *)trace->insns + at * trace->stride);
    if (insn->engine && !t->closed)
        count_trace_engine(w, t, i, m);
    else if (insn->memory && !t->closed)
        record_access(w, t, i, m, insn);
    if (t->closed) /* the trace has no room left, so the incomplete record is removed */
        t->count = t->before;
    if (++t->traced >= trace->limit)
        t->closed = true;
}

void count_trace_unseen(vm_warp *w, const vm_code *i)
{
    vm_trace_warp *t = w->block->trace ? &w->block->trace[w->index] : NULL;
    uint32_t at = (uint32_t)w->frame->function->first_tally + i->insn;
    if (!t || t->closed || t->next != at + 1 || t->run + 1 >= t->count)
        return;
    t->words[t->run + 1]--;
    t->count = t->before;
    t->next = at;
    t->traced--;
}

/* In a block that ends early, the turns of a warp are short, so that no warp runs far beyond the end of its trace. */
uint64_t count_trace_slice(const vm_warp *w, uint64_t most)
{
    const struct vm_trace *trace = w->runner->run->launch->watch->trace;
    bool early = trace->only && w->block->number != trace->blocks[0].number;
    return early && trace->limit < most ? trace->limit + 1 : most;
}

bool count_trace_enough(const vm_block *block)
{
    const struct vm_watch *watch = block->runner->run->launch->watch;
    if (!block->trace || !watch->trace->only || block->number == watch->trace->blocks[0].number ||
        /* the block does not end early, because other blocks of its cluster may need it */
        block->runner->run->cluster_size > 1)
        return false;
    for (uint32_t k = 0; k < block->warp_count; k++)
        if (block->warps[k].path_count > 0 && !block->trace[k].closed)
            return false;
    return true;
}

void count_trace_end(vm_block *block)
{
    if (!block->trace)
        return;
    struct vm_trace *trace = block->runner->run->launch->watch->trace;
    size_t at = (size_t)(block->trace - trace->warps) / trace->warps_per_block;
    /* removes the instructions of waiting loops from `issued`, in proportion to their share of the trace */
    for (uint32_t k = 0; k < block->warp_count; k++) {
        vm_trace_warp *t = &block->trace[k];
        const double kept = t->traced ? (double)t->traced / (double)(t->traced + t->spun) : 1;
        t->issued = (uint64_t)((double)block->warps[k].issued * kept + 0.5);
    }
    trace->blocks[at].whole = block->live == 0;
    trace->blocks[at].done = true;
}
