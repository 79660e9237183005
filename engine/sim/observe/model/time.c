/* time.c - a model of one SM. The model replays the traces of blocks clock by clock on warp schedulers, functional
 * units, queues and caches. The replay hides latency like a GPU: while a warp waits for an operand, the other resident
 * warps issue. The model extrapolates the time of the launch from the time of the replayed blocks.
 *
 * The states of a warp:
 *   ready    from the clock `soonest` on
 *   waiting  at a barrier (`waits`), until release_barrier()
 *   blocked  waiting for a phase of an mbarrier (`blocked`), until complete_arrival()
 *   ended
 * In the last three states `soonest` is NEVER. */
#include <math.h>
#include <string.h>

#include "vm_cache.h"
#include "vm_time.h"

#define NEVER UINT32_MAX
#define SEND_LATENCY                                                                                                   \
    180u /* clocks of the network between SMs: Luo, Fan, Li and others, arXiv 2402.13499 (2024), H100 */

/* Limits of the number of rounds. The SM has a slot for each block that it can hold at once. In each round, each slot
 * runs one block. A line number has four bits for the round of its block (vm_cache.h), so there are at most 16
 * rounds. */
enum { LEAST_ROUNDS = 3, MOST_ROUNDS = 16 };

typedef struct replay replay;

enum { GROUPS = 16 }; /* number of groups whose completion a queue remembers: the last ones */
/* The asynchronous work that a warp has started: complete groups, and work that belongs to no group yet (`open`). */
typedef struct queue {
    uint32_t open, count;
    uint32_t at[GROUPS]; /* indexed by group modulo GROUPS: the clock at which the group completes */
} queue;

/* A resident warp and its position in its trace. A trace consists of runs: consecutive instructions that the warp
 * executed. */
typedef struct warp {
    const vm_trace_warp *trace;
    uint32_t slot; /* index of the block's slot in replay.slots */
    size_t at;     /* index in trace->words of the next run of instructions */
    /* next instruction of the current run, and the number of instructions that the run has left */
    uint32_t insn, left;
    uint32_t round;          /* the round of the warp's block, in the bits that it has in line numbers (vm_cache.h) */
    const vm_region *region; /* the current region of instructions (vm_cost.h), or NULL before the next region */
    uint32_t position;       /* index of the next instruction in the scheduled order of the region */
    /* Indexed by instruction of the region: 0 if the trace did not execute it, 1 if it has no record in the trace,
     * otherwise the index of its record + 2. */
    uint32_t *executed;
    uint32_t *ready; /* indexed by register: the clock at which its value is ready */
    /* earliest clock at which the next instruction can issue; NEVER if the warp waits or has ended */
    uint32_t soonest;
    /* the clock at which the warp can issue its next instruction, if operands and unit are ready */
    uint32_t free;
    queue queues[VM_QUEUES]; /* asynchronous work that the warp has started */
    uint32_t read;           /* the clock at which the warp's bulk stores have read shared memory */
    uint32_t blocked;        /* number of the mbarrier phase for which the warp waits, or 0 */
    uint32_t line;           /* the line of the instruction cache that the warp executes */
    uint32_t current;        /* index in cost->insns of the instruction to be issued */
    /* number of machine instructions that the warp has executed since its last spill accesses */
    double due;
    bool waits, ended;
} warp;

/* The place of a resident block on the SM. An SM has as many slots as it can hold blocks of this launch at once. */
typedef struct block_slot {
    uint32_t warps_left, arrived;
    uint32_t next_warp;
    uint32_t block;
    bool used;
    /* Indexed by (number of an mbarrier phase - 1): the number of missing arrivals, and the clock of the latest
     * arrival. */
    uint32_t *left, *complete;
} block_slot;

/* The state of the replayed SM. A member that ends in _free is the clock at which a unit or a queue becomes free. */
struct replay {
    const kiln_allocator *mem;
    const vm_time_launch *launch;
    const sim_model *model;
    const vm_cost *cost;
    uint32_t schedulers, places, warps_per_block, blocks_left, next_block;
    warp *warps;
    block_slot *slots;
    double unit_free[16][VM_UNITS];
    /* indexed by scheduler: its clock, the index of the warp that issues next, and the clock of that issue */
    uint32_t now[16], best[16], soonest[16];
    /* dirty: indexed by scheduler: true if `best` and `soonest` must be computed again. vacant: true if at least one
     * slot is free. */
    bool dirty[16], vacant;
    double memory_free; /* the clock at which the load/store unit is free */
    /* the clock at which shared memory is free for tensor cores and bulk copies */
    double engine_free;
    double l2_free, write_free, dram_free; /* reads and writes of the L2 have separate queues */
    /* bytes per clock that this SM gets: from the L2 for loads, from the L2 for bulk copies, from memory */
    double l2_bytes, copy_bytes, dram_bytes;
    double active;  /* number of SMs that share the L2 and the memory */
    double started; /* the clock at which the device last started a block on this SM */
    /* 4-byte words that a thread stores to and loads from its spills, per executed machine instruction */
    double spill_stores, spill_loads;
    double spill_misses; /* share of the spill loads that miss the L1 */
    vm_cache *cache, *code;
    double code_free;
    vm_footprint *footprint;
    /* traffic_...: bytes; traffic_written is the part of traffic_dram that was written. issued: number of issued
     * machine instructions. */
    uint64_t issued, traffic_l2, traffic_dram, traffic_written;
    /* indexed by unit: clocks for which it was busy, summed over all schedulers */
    double unit_busy[VM_UNITS];
    /* clocks for which the load/store unit, shared memory, and the L2 queues of reads and writes were busy */
    double memory_busy, engine_busy, l2_busy, write_busy;
    uint32_t first_round; /* the clock at which as many blocks as slots had ended */
    uint32_t later_round; /* the clock at which (rounds - 1) times as many blocks as slots had ended */
    uint32_t done;        /* number of blocks that have ended */
    uint32_t rounds;      /* number of rounds of blocks (count_rounds) */
    uint32_t finished, half_time;
    uint64_t half; /* half_time is the clock at which this number of instructions was issued */
    bool cold;
};

/* ---- memory ---- */

/* Rounds a time in clocks up to a whole clock. */
static uint32_t round_up_clock(double clock) { return clock < 4e9 ? (uint32_t)(clock + 0.999) : NEVER - 1; }

/* Returns the latency of memory at clock `now`. The latency grows with u, the share of memory's rate that the launch
 * has used since its start. With a probability of about u, a read finds its DRAM bank busy. It then waits in a queue
 * whose length also grows with u. So the mean wait grows with u^2. A write counts twice, because a bank must finish a
 * write before it opens another row (tWR of JEDEC's HBM standards), and the bus must change its direction. */
static double get_memory_latency(const replay *r, double now)
{
    const double idle = r->model->dram_latency, total = (double)r->traffic_dram;
    if (now <= idle || total <= 0)
        return idle;
    const double used = fmin(total / r->dram_bytes / now, 1), writes = (double)r->traffic_written / total;
    return idle + used * used * (1 + writes) * (r->model->dram_loaded - idle);
}

/* Returns the clock at which the sectors arrive from the L2, or from memory if they miss the L2. For a bulk copy,
 * `blocks` is the number of blocks to which it writes. For other accesses `blocks` is 0. */
static double fetch_from_l2(replay *r, uint32_t line, uint32_t sectors, double now, bool write, uint32_t blocks)
{
    unsigned count = (unsigned)__builtin_popcount(sectors);
    double *way = write ? &r->write_free : &r->l2_free;
    double clocks = count * 32.0 / (blocks ? r->copy_bytes : r->l2_bytes);
    if (write) /* writing a part of a line takes as long as writing the whole line */
        clocks = fmax(clocks, r->active / r->model->l2_writes);
    if (blocks > 1) /* in a multicast, each SM receives from other SMs as many bytes as it requests itself */
        clocks = fmax(clocks, blocks * count * 32.0 / r->model->l2_bytes_sm);
    *way = (*way > now ? *way : now) + clocks;
    *(write ? &r->write_busy : &r->l2_busy) += clocks;
    r->traffic_l2 += count * 32u;
    double there = *way + r->model->l2_latency;
    double share = 0;
    bool missing = false;
    double bytes = model_footprint_touch(r->footprint, line, sectors, write, r->cold, &share, &missing);
    if (bytes > 0) {
        r->dram_free = (r->dram_free > now ? r->dram_free : now) + bytes * share / r->dram_bytes;
        r->traffic_dram += (uint64_t)(bytes * share);
        r->traffic_written += write ? (uint64_t)(bytes * share) : 0;
        double memory = r->dram_free + get_memory_latency(r, now);
        if (missing && !write && memory > there)
            there = memory;
    }
    return there;
}

/* Queues an access at the load/store unit, which needs `clocks` clocks for it. The unit passes wavefronts of shared
 * memory and looks up tags of the L1. Returns the clock at which the unit has handled the access. */
static double pass_load_store_unit(replay *r, double now, double clocks)
{
    r->memory_free = (r->memory_free > now ? r->memory_free : now) + clocks;
    r->memory_busy += clocks;
    return r->memory_free;
}

/* Replays an access to global memory line by line. A load looks up the L1 and, on a miss, the L2. A store or an atomic
 * goes to the L2. Returns the clock at which the result has arrived. */
static double access_global(replay *r, const uint32_t *record, uint32_t round, double now, vm_act act)
{
    uint32_t lines = VM_TRACE_LINES(*record), sectors = 0;
    for (uint32_t k = 0; k < lines; k++)
        sectors += (uint32_t)__builtin_popcount(VM_TRACE_SECTORS(record[1 + k]));
    double tags = lines / r->model->l1_lines, data = sectors * 32.0 / r->model->shared_bytes;
    double start = pass_load_store_unit(r, now, tags > data ? tags : data), there = start + r->model->l1_latency;
    for (uint32_t k = 0; k < lines; k++) {
        uint32_t line = VM_TRACE_LINE(record[1 + k]) | round, wanted = VM_TRACE_SECTORS(record[1 + k]);
        double at = start;
        if (act == VM_ACT_LOAD || act == VM_ACT_COPY) {
            uint32_t pending = 0, missing = model_cache_load(r->cache, line, wanted, &pending);
            at = start + r->model->l1_latency;
            if (pending > at)
                at = pending;
            if (missing) {
                double arrived = fetch_from_l2(r, line, missing, start, false, 0);
                model_cache_fill(r->cache, line, round_up_clock(arrived));
                at = arrived > at ? arrived : at;
            }
        } else if (act == VM_ACT_ATOMIC) {
            double passes = record[1 + lines + k];
            at = fetch_from_l2(r, line, wanted, start, false, 0) + passes * r->model->atomic_clocks;
            r->l2_free += passes / r->model->l2_atomics * r->active;
            r->l2_busy += passes / r->model->l2_atomics * r->active;
        } else {
            fetch_from_l2(r, line, wanted, start, true, 0);
        }
        there = at > there ? at : there;
    }
    return there;
}

/* ---- spills ---- */

/* Computes the number of spill accesses per machine instruction of the kernel. ptxas tells how many bytes the code
 * spills, but not at which instructions. So the model spreads the spill accesses evenly over the machine
 * instructions. */
static void set_spills(replay *r, double l1_bytes)
{
    const vm_spills *spills = &r->launch->spills;
    double insns = 0, threads = (double)r->places * r->warps_per_block * VM_LANES;
    for (uint32_t k = spills->first; k < spills->end && k < r->cost->insn_count; k++)
        insns += r->cost->insns[k].traced.merge_lead ? r->cost->insns[k].issue : 0;
    if (insns <= 0 || spills->stores + spills->loads <= 0)
        return;
    r->spill_stores = spills->stores / 4 / insns;
    r->spill_loads = spills->loads / 4 / insns;
    r->spill_misses = fmax(0, 1 - l1_bytes / fmax(1, threads * spills->bytes));
}

/* Executes the spill accesses that have become due since the warp's last spill accesses. The warp is between two
 * regions. Returns the clock at which the warp can continue. A spilled word of all lanes is a line of 128 bytes. The L1
 * treats it like a line of global memory, so stores go through to the L2. The warp waits for its spill loads, because a
 * thread without a free register cannot load earlier. */
static uint32_t pass_spills(replay *r, warp *w, uint32_t now)
{
    const double stores = w->due * r->spill_stores, loads = w->due * r->spill_loads, misses = loads * r->spill_misses;
    if (stores + loads < 1)
        return now;
    w->due = 0;
    const double line = VM_TRACE_LINE_BYTES,
                 start = pass_load_store_unit(r, now, (stores + loads) / r->model->l1_lines);
    const double sent = stores * fmax(line / r->l2_bytes, r->active / r->model->l2_writes);
    const double fetched = misses * line / r->l2_bytes;
    r->write_free = fmax(r->write_free, start) + sent;
    r->write_busy += sent;
    r->l2_free = fmax(r->l2_free, start) + fetched;
    r->l2_busy += fetched;
    r->traffic_l2 += (uint64_t)((stores + misses) * line);
    const uint32_t slots = (uint32_t)(stores + loads + 0.5);
    r->now[(size_t)(w - r->warps) % r->schedulers] += slots;
    r->issued += slots;
    double there = loads > 0 ? start + r->model->l1_latency : now + stores;
    if (misses > 0)
        there = fmax(there, r->l2_free + r->model->l2_latency);
    /* like in issue_memory(), the latency of the L2 limits how many stores may be on their way */
    return round_up_clock(fmax(there, r->write_free - r->model->l2_latency));
}

/* ---- asynchronous work ---- */

static void start_work(queue *q, uint32_t done) { q->open = done > q->open ? done : q->open; }

static void commit_group(queue *q)
{
    /* a group completes no earlier than the group before it */
    uint32_t last = q->count ? q->at[(q->count - 1) % GROUPS] : 0;
    q->at[q->count++ % GROUPS] = q->open > last ? q->open : last;
    q->open = 0;
}

/* Returns the clock at which the wait of a VM_ACT_WAIT instruction ends. */
static uint32_t get_wait_end(const warp *w, const vm_cost_insn *c)
{
    const queue *q = &w->queues[c->queue];
    uint32_t at = c->open ? q->open : 0;
    if (c->pending < q->count && c->pending < GROUPS && q->at[(q->count - 1 - c->pending) % GROUPS] > at)
        at = q->at[(q->count - 1 - c->pending) % GROUPS];
    return c->reading && w->read < at ? w->read : at;
}

static double pass_engine(replay *r, double now, double bytes)
{
    r->engine_free = (r->engine_free > now ? r->engine_free : now) + bytes / r->model->shared_bytes;
    r->engine_busy += bytes / r->model->shared_bytes;
    return r->engine_free;
}

/* Issues a wgmma and returns the clock at which its result is ready. The tensor core of the warp's scheduler executes
 * matrix instructions in order, and not faster than shared memory delivers their operands. */
static uint32_t issue_product(replay *r, warp *w, unsigned s, const vm_cost_insn *c, uint32_t now)
{
    double *pipe = &r->unit_free[s][VM_UNIT_TENSOR], read = pass_engine(r, now, c->operands);
    *pipe = fmax((*pipe > now ? *pipe : now) + c->busy, read);
    r->unit_busy[VM_UNIT_TENSOR] += c->busy;
    uint32_t done = round_up_clock(*pipe + c->latency);
    start_work(&w->queues[VM_QUEUE_PRODUCTS], done);
    return done;
}

static void find_next_insn(replay *r, warp *w, uint32_t now);

static void mark_all_dirty(replay *r)
{
    for (unsigned s = 0; s < r->schedulers; s++)
        r->dirty[s] = true;
}

/* Counts one arrival for an mbarrier phase. The last arrival wakes the warps that wait for the phase. */
static void complete_arrival(replay *r, warp *w, uint32_t phase, uint32_t at)
{
    block_slot *p = &r->slots[w->slot];
    if (phase == 0 || p->left[phase - 1] == 0)
        return;
    uint32_t *complete = &p->complete[phase - 1];
    *complete = at > *complete ? at : *complete;
    if (--p->left[phase - 1] > 0)
        return;
    mark_all_dirty(r);
    for (uint32_t k = 0; k < r->warps_per_block; k++) {
        warp *other = &r->warps[w->slot * r->warps_per_block + k];
        if (other->blocked != phase)
            continue;
        other->blocked = 0;
        find_next_insn(r, other, other->free);
    }
}

/* Issues a bulk copy. Its lines move between the L2 and shared memory without the load/store unit. */
static void issue_copy(replay *r, warp *w, const uint32_t *record, uint32_t now)
{
    bool store = VM_TRACE_KIND(*record) == VM_ENGINE_STORE;
    double shared = pass_engine(r, now, record[2]), start = store ? shared : now + r->model->bulk_latency,
           there = shared;
    for (uint32_t k = VM_TRACE_COPY_LINES; k < VM_TRACE_SIZE(*record); k++) {
        uint32_t line = VM_TRACE_LINE(record[k]) | w->round;
        double at = fetch_from_l2(r, line, VM_TRACE_SECTORS(record[k]), start, store, record[3]);
        there = at > there ? at : there;
    }
    if (store) {
        w->read = round_up_clock(shared) > w->read ? round_up_clock(shared) : w->read;
        start_work(&w->queues[VM_QUEUE_BULK], round_up_clock(there));
    } else {
        complete_arrival(r, w, record[1], round_up_clock(there));
    }
}

static void issue_engine(replay *r, warp *w, const vm_cost_insn *c, uint32_t now, const uint32_t *record)
{
    switch (VM_TRACE_KIND(*record)) {
    case VM_ENGINE_COPY:
    case VM_ENGINE_STORE: issue_copy(r, w, record, now); break;
    case VM_ENGINE_ARRIVE: {
        /* cp.async.mbarrier.arrive arrives when the earlier cp.async copies of the warp are complete */
        uint32_t copied = c->open ? get_wait_end(w, c) : now;
        complete_arrival(r, w, record[1], copied > now ? copied : now);
        break;
    }
    case VM_ENGINE_SEND: complete_arrival(r, w, record[1], now + SEND_LATENCY); break;
    default: break;
    }
}

/* If the record is a wait for an mbarrier phase, returns the clock at which the phase completes, or NEVER if arrivals
 * are missing. Returns 0 for other records. */
static uint32_t get_phase_end(const replay *r, const warp *w, const uint32_t *record)
{
    const block_slot *p = &r->slots[w->slot];
    if (VM_TRACE_KIND(*record) != VM_ENGINE_WAIT || record[1] == 0)
        return 0;
    return p->left[record[1] - 1] ? NEVER : p->complete[record[1] - 1];
}

static void issue_memory(replay *r, warp *w, const vm_cost_insn *c, uint32_t now, const uint32_t *record)
{
    uint32_t waves = VM_TRACE_WAVEFRONTS(*record), lines = VM_TRACE_LINES(*record), there = now;
    if (*record & VM_TRACE_MERGED) {
        const vm_cost_insn *lead = &r->cost->insns[c->leader];
        there = lead->result_count ? w->ready[r->cost->registers[lead->first + lead->source_count]] : now;
    } else {
        if (waves) {
            double done = pass_load_store_unit(r, now, waves * 128.0 / r->model->shared_bytes) +
                          r->model->shared_latency;
            there = round_up_clock(done);
        }
        if (lines) {
            double done = access_global(r, record, w->round, now, (vm_act)c->act);
            uint32_t at = round_up_clock(done);
            /* A warp continues as soon as its store has been sent. The latency of the L2 limits how many stores may be
             * in flight. */
            if (c->act == VM_ACT_STORE) {
                const uint32_t sent = round_up_clock(fmax(r->write_free - r->model->l2_latency, 0));
                w->free = sent > w->free ? sent : w->free;
            }
            if (c->act == VM_ACT_COPY)
                start_work(&w->queues[VM_QUEUE_COPIES], at);
            else
                there = at > there ? at : there;
        }
    }
    for (uint32_t n = 0; n < c->result_count; n++)
        w->ready[r->cost->registers[c->first + c->source_count + n]] = there;
}

/* ---- the position of a warp in its trace ---- */

/* Reads the part of the trace that belongs to the warp's next region, and fills w->executed. Returns false at the end
 * of the trace. */
static bool read_next_region(replay *r, warp *w)
{
    const vm_trace_warp *t = w->trace;
    uint32_t which;
    for (;;) {
        if (w->left == 0) {
            if (w->at + 2 > t->count)
                return false;
            w->insn = t->words[w->at];
            w->left = t->words[w->at + 1];
            w->at += 2;
            continue;
        }
        which = r->cost->insns[w->insn].region;
        if (which != UINT32_MAX)
            break;
        w->insn++; /* skips the element for the end of a function */
        w->left--;
    }
    const vm_region *region = &r->cost->regions[which];
    uint32_t least = region->first, end = region->first + region->count;
    memset(w->executed, 0, region->count * sizeof *w->executed);
    for (;;) {
        for (; w->left && w->insn >= least && w->insn < end; w->left--) {
            uint32_t record = 1;
            if (r->cost->insns[w->insn].traced.memory && w->at < t->count) {
                const uint32_t size = VM_TRACE_SIZE(t->words[w->at]);
                if (size <= t->count - w->at) /* false if the trace was cut off within the record */
                    record = (uint32_t)w->at + 2;
                w->at += size;
            }
            w->executed[w->insn - region->first] = record;
            least = ++w->insn;
        }
        if (w->left || w->at + 2 > t->count || t->words[w->at] < least || t->words[w->at] >= end)
            break;
        w->insn = t->words[w->at];
        w->left = t->words[w->at + 1];
        w->at += 2;
    }
    w->region = region;
    w->position = 0;
    return true;
}

static void end_warp(replay *r, warp *w, uint32_t now);

/* Returns the clock at which the warp has fetched its next instruction. All warps share an instruction cache with lines
 * of eight instructions. Misses queue at the cache's fill rate, without a latency, because the cache prefetches the
 * following lines. */
static uint32_t fetch_code(replay *r, warp *w, uint32_t now)
{
    uint32_t line = r->cost->place[w->current] / 8 + 1, pending;
    if (line == w->line)
        return now;
    w->line = line;
    if (model_cache_load(r->code, line, 1, &pending)) {
        r->code_free = (r->code_free > now ? r->code_free : now) + 128 / r->model->code_rate;
        pending = round_up_clock(r->code_free);
        model_cache_fill(r->code, line, pending);
    }
    return pending > now ? pending : now;
}

/* Finds the warp's next instruction that needs an issue slot, and the clock at which it can issue. A PTX instruction
 * that the compiler removes has its result when its operands are ready. */
static void find_next_insn(replay *r, warp *w, uint32_t now)
{
    for (;;) {
        if (!w->region) {
            now = pass_spills(r, w, now);
            w->free = now > w->free ? now : w->free;
            if (!read_next_region(r, w)) {
                end_warp(r, w, now);
                return;
            }
        }
        const vm_region *region = w->region;
        const uint32_t *order = r->cost->order + region->order;
        for (; w->position < region->count; w->position++) {
            uint32_t k = order[w->position];
            if (!w->executed[k])
                continue;
            const vm_cost_insn *c = &r->cost->insns[region->first + k];
            const uint32_t *regs = r->cost->registers + c->first;
            uint32_t at = 0;
            for (uint32_t n = 0; n < c->source_count; n++)
                at = w->ready[regs[n]] > at ? w->ready[regs[n]] : at;
            const uint32_t *record = w->executed[k] > 1 ? &w->trace->words[w->executed[k] - 2] : NULL;
            bool engine = record && *record & VM_TRACE_ENGINE;
            if (c->issue == 0 || (record && !engine && *record & VM_TRACE_MERGED)) {
                if (record)
                    issue_memory(r, w, c, at, record);
                else
                    for (uint32_t n = 0; n < c->result_count; n++)
                        w->ready[regs[c->source_count + n]] = at;
                continue;
            }
            if (c->act == VM_ACT_WAIT && get_wait_end(w, c) > at)
                at = get_wait_end(w, c);
            if (engine) {
                uint32_t complete = get_phase_end(r, w, record);
                if (complete == NEVER) {
                    w->blocked = record[1];
                    w->soonest = NEVER;
                    return;
                }
                at = complete > at ? complete : at;
            }
            w->current = region->first + k;
            at = fetch_code(r, w, at > w->free ? at : w->free);
            w->soonest = at > w->free ? at : w->free;
            return;
        }
        w->region = NULL;
    }
}

/* ---- blocks ---- */

static void release_barrier(replay *r, block_slot *p, uint32_t now)
{
    uint32_t slot = (uint32_t)(p - r->slots);
    p->arrived = 0;
    mark_all_dirty(r);
    for (uint32_t k = 0; k < r->warps_per_block; k++) {
        warp *w = &r->warps[slot * r->warps_per_block + k];
        if (!w->waits)
            continue;
        w->waits = false;
        w->free = now + (uint32_t)r->model->barrier_latency;
        w->position++;
        find_next_insn(r, w, w->free);
    }
}

/* Starts the next block in a slot. All warps of the block begin at the start of their traces. */
static void start_block(replay *r, uint32_t slot, uint32_t now)
{
    block_slot *p = &r->slots[slot];
    const struct vm_trace *trace = r->launch->trace;
    uint32_t *left = p->left, *complete = p->complete, from = r->next_block % trace->block_count;
    *p = (block_slot){
        .used = true, .warps_left = r->warps_per_block, .block = r->next_block, .left = left, .complete = complete};
    for (size_t n = 0; n < trace->blocks[from].phase_count; n++) {
        left[n] = trace->blocks[from].phases[n];
        complete[n] = 0;
    }
    r->next_block++;
    r->blocks_left--;
    for (uint32_t k = 0; k < r->warps_per_block; k++) {
        warp *w = &r->warps[slot * r->warps_per_block + k];
        uint32_t *executed = w->executed, *ready = w->ready;
        *w = (warp){.trace = &trace->warps[(size_t)from * r->warps_per_block + k],
                    .slot = slot,
                    .executed = executed,
                    .ready = ready,
                    .free = now,
                    .round = p->block / trace->block_count << 28};
        for (uint32_t n = 0; n < r->cost->register_count; n++)
            ready[n] = now;
    }
    for (uint32_t k = 0; k < r->warps_per_block; k++)
        find_next_insn(r, &r->warps[slot * r->warps_per_block + k], now);
}

/* Returns the clock at which all queues are empty. A warp does not wait for its stores and its unused loads, but the
 * launch ends only when they have arrived. */
static uint32_t get_drain_end(const replay *r, uint32_t now)
{
    double last = fmax(fmax(r->l2_free, r->write_free), fmax(r->dram_free, r->memory_free));
    for (unsigned s = 0; s < r->schedulers; s++)
        last = fmax(last, r->unit_free[s][VM_UNIT_TENSOR]);
    return last > now ? round_up_clock(last) : now;
}

static void end_warp(replay *r, warp *w, uint32_t now)
{
    block_slot *p = &r->slots[w->slot];
    w->ended = true;
    w->soonest = NEVER;
    now = w->free > now ? w->free : now;
    if (--p->warps_left == 0) {
        r->finished = now > r->finished ? now : r->finished;
        p->used = false;
        r->vacant = true;
        r->done++;
        if (r->done == r->places)
            r->first_round = now;
        if (r->done == (r->rounds - 1) * r->places)
            r->later_round = now;
        return;
    }
    if (p->arrived && p->arrived >= p->warps_left)
        release_barrier(r, p, now);
}

/* Issues the current instruction of the warp: occupies its functional unit, and sets the clock at which its results are
 * ready. */
static void issue_insn(replay *r, warp *w, unsigned s, uint32_t now)
{
    const vm_cost_insn *c = &r->cost->insns[w->current];
    uint32_t k = w->current - w->region->first;
    w->free = now + c->issue;
    r->dirty[s] = true;
    /* A tensor core may become free within a clock; its next instruction issues at the end of that clock. */
    if (c->unit != VM_UNIT_NONE) {
        double *free = &r->unit_free[s][c->unit], least = c->unit == VM_UNIT_TENSOR ? now - 1.0 : now;
        *free = (*free > least ? *free : now) + c->busy;
        r->unit_busy[c->unit] += c->busy;
    }
    r->issued += c->issue;
    if (w->current >= r->launch->spills.first && w->current < r->launch->spills.end)
        w->due += c->issue;
    if (r->issued >= r->half && r->half_time == 0)
        r->half_time = now;
    const uint32_t *record = w->executed[k] > 1 ? &w->trace->words[w->executed[k] - 2] : NULL;
    if (record && !(*record & VM_TRACE_ENGINE)) {
        issue_memory(r, w, c, now, record);
    } else {
        uint32_t there = c->act == VM_ACT_PRODUCT ? issue_product(r, w, s, c, now)
                                                  : now + c->latency + (c->issue > 1 ? (uint32_t)c->busy : 0);
        if (record)
            issue_engine(r, w, c, now, record);
        if (c->act == VM_ACT_COMMIT)
            commit_group(&w->queues[c->queue]);
        for (uint32_t n = 0; n < c->result_count; n++)
            w->ready[r->cost->registers[c->first + c->source_count + n]] = there;
    }
    if (c->act == VM_ACT_BRANCH)
        w->free = now + (uint32_t)r->model->branch_latency;
    if (c->act == VM_ACT_BARRIER) {
        block_slot *p = &r->slots[w->slot];
        w->waits = true;
        w->soonest = NEVER;
        if (++p->arrived >= p->warps_left)
            release_barrier(r, p, now);
        return;
    }
    w->position++;
    find_next_insn(r, w, w->free);
}

/* Chooses the warp from which scheduler s issues next, and the clock of the issue: the warp that is ready first. If
 * several warps are ready at the same clock, takes the warp with the lowest index. */
static void choose_warp(replay *r, unsigned s)
{
    uint32_t count = r->places * r->warps_per_block;
    r->dirty[s] = false;
    r->best[s] = r->soonest[s] = NEVER;
    for (uint32_t k = s; k < count; k += r->schedulers) {
        const warp *w = &r->warps[k];
        if (w->soonest == NEVER)
            continue;
        uint32_t at = w->soonest > r->now[s] ? w->soonest : r->now[s];
        double unit = r->unit_free[s][r->cost->insns[w->current].unit];
        if (unit > at)
            at = round_up_clock(unit);
        if (at < r->soonest[s]) {
            r->soonest[s] = at;
            r->best[s] = k;
        }
    }
}

/* Issues the next instruction of the SM. Returns false if all warps wait. */
static bool issue_next(replay *r)
{
    unsigned s = 0;
    for (unsigned k = 0; k < r->schedulers; k++) {
        if (r->dirty[k])
            choose_warp(r, k);
        s = r->soonest[k] < r->soonest[s] ? k : s;
    }
    if (r->soonest[s] == NEVER)
        return false;
    warp *w = &r->warps[r->best[s]];
    uint32_t now = r->soonest[s];
    r->now[s] = now + r->cost->insns[w->current].issue;
    issue_insn(r, w, s, now);
    return true;
}

static void start_blocks(replay *r)
{
    r->vacant = false;
    for (uint32_t p = 0; p < r->places && r->blocks_left; p++) {
        if (r->slots[p].used)
            continue;
        uint32_t now = 0; /* the clock at which the slot's previous block ended */
        for (uint32_t k = 0; k < r->warps_per_block; k++) {
            uint32_t at = r->warps[p * r->warps_per_block + k].free;
            now = at > now ? at : now;
        }
        /* The device starts one block every block_clocks clocks, and gives the blocks to the SMs in turn. */
        r->started += r->active * r->model->block_clocks;
        r->started = r->started > now ? r->started : now;
        now = round_up_clock(r->started);
        r->cold = r->next_block < r->places;
        start_block(r, p, now);
    }
    mark_all_dirty(r);
}

/* Releases warps that would wait for ever at a barrier or for an mbarrier phase. The reason is a trace that ends early,
 * a barrier that not all warps use, or arrivals from other blocks of the cluster. Returns false if no warp waits. */
static bool release_any(replay *r)
{
    uint32_t now = 0;
    for (unsigned s = 0; s < r->schedulers; s++)
        now = r->now[s] > now ? r->now[s] : now;
    for (uint32_t p = 0; p < r->places; p++)
        if (r->slots[p].used && r->slots[p].arrived) {
            release_barrier(r, &r->slots[p], now);
            return true;
        }
    for (uint32_t k = 0; k < r->places * r->warps_per_block; k++)
        if (r->warps[k].blocked) {
            r->slots[r->warps[k].slot].left[r->warps[k].blocked - 1] = 1;
            complete_arrival(r, &r->warps[k], r->warps[k].blocked, now);
            return true;
        }
    return false;
}

static void run_replay(replay *r)
{
    for (;;) {
        if (r->vacant && r->blocks_left)
            start_blocks(r);
        else if (!issue_next(r) && !release_any(r))
            return;
    }
}

static void close_replay(replay *r)
{
    for (size_t k = 0; r->warps && k < (size_t)r->places * r->warps_per_block; k++) {
        kiln__free(r->mem, r->warps[k].executed);
        kiln__free(r->mem, r->warps[k].ready);
    }
    for (size_t k = 0; r->slots && k < r->places; k++) {
        kiln__free(r->mem, r->slots[k].left);
        kiln__free(r->mem, r->slots[k].complete);
    }
    kiln__free(r->mem, r->warps);
    kiln__free(r->mem, r->slots);
    model_cache_free(r->cache);
    model_cache_free(r->code);
    model_footprint_free(r->footprint);
}

/* Returns the size of the L1 in bytes: the part of the SM's memory that shared memory does not take. The driver gives
 * shared memory the smallest of the possible sizes (`carveouts`) that holds the resident blocks. */
static double l1_size(const vm_time_launch *launch, uint32_t places)
{
    const sim_model *m = launch->model;
    double shared = launch->shared_bytes * places, taken = shared;
    for (unsigned k = 0; k < m->carveout_count; k++)
        if (m->carveouts[k] >= shared) {
            taken = m->carveouts[k];
            break;
        }
    return m->l1_bytes > taken ? m->l1_bytes - taken : 0;
}

/* Returns the number of SMs that run blocks. With clusters, some SMs may stay empty. */
static double used_sms(const vm_time_launch *launch)
{
    const double all = launch->model->sm_count, room = (double)launch->at_once / launch->resident;
    return launch->at_once && room < all ? room : all;
}

/* Returns the largest number of rounds of blocks in one replay. Line numbers have only four bits for the round. */
static uint32_t count_rounds(const vm_time_launch *launch, uint32_t places)
{
    const uint32_t rounds = MOST_ROUNDS * launch->trace->block_count / places;
    return rounds < LEAST_ROUNDS ? LEAST_ROUNDS : rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS;
}

/* Sets up the replay of `blocks` blocks on an SM with `places` slots. Returns false if memory runs out. */
static bool open_replay(replay *r, const kiln_allocator *mem, const vm_time_launch *launch, uint32_t places,
                        uint32_t blocks)
{
    const sim_model *m = launch->model;
    double active = fmin((double)launch->block_count, used_sms(launch));
    double l2 = m->l2_bytes / active, copies = m->l2_copies / active,
           dram = m->dram_rate * 1e9 * m->dram_share / m->clock / active;
    *r = (replay){.mem = mem,
                  .launch = launch,
                  .model = m,
                  .cost = launch->cost,
                  .places = places,
                  .rounds = count_rounds(launch, places),
                  .blocks_left = blocks,
                  .warps_per_block = launch->trace->warps_per_block,
                  .schedulers = (uint32_t)m->schedulers,
                  .vacant = true,
                  .half = UINT64_MAX};
    r->active = active;
    r->started = -active * m->block_clocks;
    r->l2_bytes = l2 < m->l2_bytes_sm ? l2 : m->l2_bytes_sm;
    r->copy_bytes = copies < m->l2_bytes_sm ? copies : m->l2_bytes_sm;
    r->dram_bytes = dram < m->l2_bytes_sm ? dram : m->l2_bytes_sm;
    size_t warps = (size_t)places * r->warps_per_block;
    r->warps = kiln__calloc(mem, warps, sizeof *r->warps);
    r->slots = kiln__calloc(mem, places, sizeof *r->slots);
    r->cache = model_cache_new(mem, l1_size(launch, places));
    set_spills(r, l1_size(launch, places));
    r->code = model_cache_new(mem, m->code_bytes);
    r->footprint = model_footprint_new(mem, launch->device, launch->trace, launch->cost, m, launch->block_count);
    bool ok = r->warps && r->slots && r->cache && r->code && r->footprint && !model_footprint_failed(r->footprint);
    for (size_t k = 0; ok && k < warps; k++) {
        r->warps[k].executed = kiln__calloc(mem, r->cost->longest + 1, sizeof *r->warps[k].executed);
        r->warps[k].ready = kiln__calloc(mem, r->cost->register_count + 1, sizeof *r->warps[k].ready);
        ok = r->warps[k].executed && r->warps[k].ready;
        r->warps[k].soonest = NEVER;
    }
    size_t phases = 0;
    for (uint32_t b = 0; b < launch->trace->block_count; b++)
        phases = launch->trace->blocks[b].phase_count > phases ? launch->trace->blocks[b].phase_count : phases;
    for (size_t k = 0; ok && phases && k < places; k++) {
        r->slots[k].left = kiln__calloc(mem, phases, sizeof *r->slots[k].left);
        r->slots[k].complete = kiln__calloc(mem, phases, sizeof *r->slots[k].complete);
        ok = r->slots[k].left && r->slots[k].complete;
    }
    for (unsigned s = 0; s < r->schedulers; s++)
        r->best[s] = r->soonest[s] = NEVER;
    return ok;
}

/* Returns the ratio of executed to recorded instructions. Only blocks that were traced to their end count. */
static double beyond_trace(const struct vm_trace *trace)
{
    double issued = 0, traced = 0;
    for (uint32_t b = 0; b < trace->block_count; b++)
        for (uint32_t k = 0; trace->blocks[b].whole && k < trace->warps_per_block; k++) {
            issued += (double)trace->warps[(size_t)b * trace->warps_per_block + k].issued;
            traced += (double)trace->warps[(size_t)b * trace->warps_per_block + k].traced;
        }
    return traced > 0 ? issued / traced : 1;
}

/* Returns the number of clocks for which the busiest queue or unit of the SM has worked: a lower bound of the time of
 * the replayed blocks. */
static double get_busiest(const replay *r)
{
    double most = fmax(fmax(r->l2_busy, r->write_busy), (double)r->traffic_dram / r->dram_bytes);
    most = fmax(fmax(most, fmax(r->memory_busy, r->engine_busy)), (double)r->issued / r->schedulers);
    for (unsigned unit = 0; unit < VM_UNITS; unit++)
        most = fmax(most, r->unit_busy[unit] / r->schedulers);
    return most;
}

/* Replays `blocks` blocks on an SM that holds `places` blocks at once. Returns the number of clocks, or a negative
 * number if memory runs out. If `rate` is not NULL, `blocks` must exceed the number of blocks in count_rounds() - 1
 * rounds. The function sets *rate to the mean number of clocks per block, from the end of the first round to the end of
 * the last round but one. At both ends of this interval the slots contain later blocks that are partly done. So the
 * rate includes neither the empty caches of the start nor the idle slots of the end. */
static double replay_blocks(const kiln_allocator *mem, const vm_time_launch *launch, uint32_t places, uint32_t blocks,
                            double *rate, vm_time_result *result)
{
    replay r;
    double clocks = -1;
    if (open_replay(&r, mem, launch, places, blocks)) {
        run_replay(&r);
        if (rate)
            *rate = fmax((double)(r.later_round - r.first_round) / ((r.rounds - 2) * places), get_busiest(&r) / blocks);
        r.finished = get_drain_end(&r, r.finished);
        clocks = r.finished;
        result->replayed += r.issued;
        result->issue = (double)r.issued / r.schedulers / (clocks > 0 ? clocks : 1);
        for (unsigned unit = 0; unit < VM_UNITS; unit++)
            result->unit[unit] = r.unit_busy[unit] / r.schedulers / (clocks > 0 ? clocks : 1);
        result->shared = (r.memory_busy + r.engine_busy) / (clocks > 0 ? clocks : 1);
        result->l2_bytes = (double)r.traffic_l2;
        result->l2 = (double)r.traffic_l2 / r.l2_bytes / (clocks > 0 ? clocks : 1);
        result->dram = (double)r.traffic_dram / r.dram_bytes / (clocks > 0 ? clocks : 1);
        /* atomics at one address are serialised over the whole device */
        result->hottest = model_footprint_hottest(r.footprint) / launch->trace->block_count *
                          (double)launch->block_count * launch->model->atomic_clocks;
        if (model_footprint_failed(r.footprint))
            clocks = -1;
    }
    close_replay(&r);
    return clocks;
}

/* Estimates the number of clocks of a launch: replays traced blocks on one SM and extrapolates to all blocks of this
 * SM. Returns false if memory runs out. */
static bool estimate_launch(const kiln_allocator *mem, const vm_time_launch *launch, vm_time_result *result)
{
    *result = (vm_time_result){0};
    double on_sm = (double)launch->block_count / used_sms(launch), longer = beyond_trace(launch->trace);
    on_sm = on_sm > 1 ? on_sm : 1;
    uint32_t places = launch->resident < on_sm ? launch->resident : (uint32_t)ceil(on_sm);
    uint32_t rounds = longer > 1.001 ? 1 : count_rounds(launch, places);
    if (on_sm <= (double)places * rounds) { /* one replay can have all blocks of the SM */
        double clocks = replay_blocks(mem, launch, places, (uint32_t)ceil(on_sm), NULL, result);
        result->clocks = clocks * longer;
        return clocks >= 0;
    }
    if (rounds > 1) { /* the last round of the replay has as many blocks as the last round of the launch */
        const double all = ceil(on_sm), last = fmod(all - 1, places) + 1;
        const uint32_t blocks = places * (rounds - 1) + (uint32_t)last;
        double rate = 0, clocks = replay_blocks(mem, launch, places, blocks, &rate, result);
        result->clocks = clocks + (all - blocks) * rate;
        return clocks >= 0;
    }
    double clocks = replay_blocks(mem, launch, places, places, NULL, result);
    if (clocks < 0)
        return false;
    double full = floor(on_sm / places), rest = on_sm - full * places;
    result->clocks = clocks * longer * full;
    if (rest > 0.01) {
        vm_time_result ignored = {0};
        double tail = replay_blocks(mem, launch, (uint32_t)ceil(rest), (uint32_t)ceil(rest), NULL, &ignored);
        if (tail < 0)
            return false;
        result->clocks += tail * longer;
    }
    return true;
}

bool model_time_estimate(const kiln_allocator *mem, const vm_time_launch *launch, vm_time_result *result)
{
    if (!estimate_launch(mem, launch, result))
        return false;
    result->clocks = result->hottest > result->clocks ? result->hottest : result->clocks;
    result->starting = launch->model->block_clocks * (double)launch->block_count /
                       (result->clocks > 0 ? result->clocks : 1);
    return true;
}
