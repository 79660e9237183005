/* schedule.c - divides functions into regions and orders the instructions of each region by list scheduling, because
 * ptxas also reorders the instructions of PTX. The instruction that begins the longest path of dependent instructions
 * goes first. A region is one basic block, or several basic blocks that only short forward branches separate. */
#include <string.h>

#include "vm_schedule.h"

#define SHORT 16u /* ptxas replaces a branch by predicates if it skips at most this number of instructions */
/* largest number of instructions that one instruction may overtake; the limit bounds the number of live registers */
#define WINDOW 64u
#define GROUP 4u /* largest number of 4-byte loads that become one load */

typedef struct edge {
    uint32_t to, next;
} edge;

typedef struct scheduler {
    vm_cost *cost;
    const ptx_function *f;
    const sim_model *model;
    uint32_t first; /* index of the function's first instruction in cost->insns */
    /* indexed by instruction (insn_count + 1 elements): the index of the first branch to the instruction, and the index
     * of the last such branch + 1 */
    uint32_t *low, *high;
    /* indexed by register */
    /* writer: position + 1 of the last instruction of this region that writes the register; reader: head of the list of
     * instructions that have read it since */
    uint32_t *writer, *reader;
    /* indexed by register: the number of the region (`round`) for which `writer` and `reader` are valid */
    uint32_t *stamp;
    uint32_t round;
    /* arrays for the current region, indexed by position in the region */
    uint32_t *height, *waits, *head, *ready;
    bool *placed;
    edge *edges;
    size_t edge_count, edge_capacity;
    uint32_t *reader_next; /* the links of the lists of readers; each operand that is read has one element */
    size_t reader_count, reader_capacity;
    uint32_t *readers;
    size_t readers_capacity;
} scheduler;

/* ---- regions ---- */

static void add_target(scheduler *s, uint32_t target, uint32_t branch)
{
    if (s->low[target] > branch)
        s->low[target] = branch;
    if (s->high[target] < branch + 1)
        s->high[target] = branch + 1; /* the value 0 means that no branch leads to the instruction */
}

static void find_targets(scheduler *s)
{
    memset(s->low, 0xff, ((size_t)s->f->insn_count + 1) * sizeof *s->low);
    for (uint32_t k = 0; k < s->f->insn_count; k++) {
        const ptx_insn *in = &s->f->insns[k];
        for (uint32_t n = 0; n < in->operand_count; n++) {
            const ptx_operand *o = &in->operands[n];
            if (o->kind == PTX_OPERAND_LABEL)
                add_target(s, o->index, k);
            for (uint32_t e = 0; o->kind == PTX_OPERAND_TARGETS && e < o->count; e++)
                add_target(s, s->f->elements[o->index + e].index, k);
        }
    }
}

/* Returns true if every branch to `target` is at or after `first` and before `target`. */
static bool is_inside(const scheduler *s, uint32_t target, uint32_t first)
{
    return s->high[target] == 0 || (s->low[target] >= first && s->high[target] <= target);
}

static bool can_join(const scheduler *s, uint32_t k, uint32_t first)
{
    const ptx_insn *in = &s->f->insns[k];
    if (in->op != PTX_OP_BRA || in->guard == PTX_NO_PRED || in->operands[0].kind != PTX_OPERAND_LABEL)
        return false;
    uint32_t target = in->operands[0].index;
    if (target <= k || target - k - 1 > SHORT || target >= s->f->insn_count || !is_inside(s, target, first))
        return false;
    for (uint32_t at = k + 1; at < target; at++) {
        const vm_cost_insn *c = &s->cost->insns[s->first + at];
        if (c->act == VM_ACT_BARRIER || !is_inside(s, at, first) ||
            (c->act == VM_ACT_BRANCH &&
             !(s->f->insns[at].op == PTX_OP_BRA && s->f->insns[at].guard != PTX_NO_PRED &&
               s->f->insns[at].operands[0].index > at && s->f->insns[at].operands[0].index <= target)))
            return false;
    }
    return true;
}

/* Returns the index one past the last instruction of the region that starts at `first`. */
static uint32_t find_region_end(scheduler *s, uint32_t first)
{
    uint32_t k = first, until = 0; /* until: the farthest target of the branches inside the region */
    for (; k < s->f->insn_count; k++) {
        if (k > first && !is_inside(s, k, first))
            return k;
        vm_cost_insn *c = &s->cost->insns[s->first + k];
        if (c->act != VM_ACT_BRANCH)
            continue;
        if (k < until || can_join(s, k, first)) {
            uint32_t target = s->f->insns[k].operands[0].index;
            until = target > until ? target : until;
            c->joined = true;
            c->act = VM_ACT_PLAIN;
            c->unit = VM_UNIT_NONE;
            c->issue = 0;
            c->latency = 0;
            c->busy = 0;
            continue;
        }
        return k + 1;
    }
    return k;
}

/* ---- combined loads ---- */

static bool is_candidate(const ptx_insn *in)
{
    return in->op == PTX_OP_LD && in->space == PTX_SPACE_SHARED && in->vector == 1 && in->guard == PTX_NO_PRED &&
           ptx_type_bytes((ptx_type)in->types[0]) == 4 && in->operands[1].kind == PTX_OPERAND_ADDRESS &&
           in->operands[1].base == PTX_BASE_REG && !ptx_has(in, PTX_MOD_VOLATILE);
}

static bool writes_register(const scheduler *s, uint32_t k, uint32_t reg)
{
    const vm_cost_insn *c = &s->cost->insns[s->first + k];
    for (uint32_t n = 0; n < c->result_count; n++)
        if (s->cost->registers[c->first + c->source_count + n] == reg)
            return true;
    return false;
}

static bool is_fence(const scheduler *s, uint32_t k)
{
    const ptx_insn *in = &s->f->insns[k];
    unsigned act = s->cost->insns[s->first + k].act;
    return act == VM_ACT_BARRIER || act == VM_ACT_ATOMIC || act == VM_ACT_FENCE || act == VM_ACT_PRODUCT ||
           act == VM_ACT_ENGINE || act == VM_ACT_COMMIT || act == VM_ACT_WAIT ||
           (act == VM_ACT_STORE && in->space != PTX_SPACE_GLOBAL) || ptx_effect_of(in) == PTX_EFFECT_CALL;
}

/* Combines up to GROUP loads with the same address register and consecutive offsets into one load. The leader of a
 * group is its first load in the code. */
static void join_loads(scheduler *s, uint32_t first, uint32_t end)
{
    for (uint32_t k = first; k < end; k++) {
        vm_cost_insn *c = &s->cost->insns[s->first + k];
        const ptx_insn *in = &s->f->insns[k];
        if (!is_candidate(in) || c->traced.merge_count > 1)
            continue;
        /* at[GROUP - 1 + d]: the load whose offset is 4 d bytes above the offset of this load, for d from -3 to 3 */
        uint32_t at[2 * GROUP - 1];
        memset(at, 0xff, sizeof at);
        at[GROUP - 1] = k;
        uint32_t base = in->operands[1].index;
        for (uint32_t n = k + 1; n < end && n < k + 2 * WINDOW && !is_fence(s, n) && !writes_register(s, n - 1, base);
             n++) {
            const ptx_insn *other = &s->f->insns[n];
            int64_t distance = INT64_MAX; /* stays larger than 12 if the subtraction overflows */
            if (is_candidate(other) && other->operands[1].index == base &&
                __builtin_sub_overflow(other->operands[1].offset, in->operands[1].offset, &distance))
                distance = INT64_MAX;
            if (distance >= -12 && distance <= 12 && distance % 4 == 0 &&
                s->cost->insns[s->first + n].traced.merge_count == 1 && at[GROUP - 1 + distance / 4] == UINT32_MAX)
                at[GROUP - 1 + distance / 4] = n;
        }
        uint32_t low = GROUP - 1, high = GROUP - 1;
        while (low > 0 && at[low - 1] != UINT32_MAX)
            low--;
        while (high < 2 * GROUP - 2 && high - low < GROUP - 1 && at[high + 1] != UINT32_MAX)
            high++;
        uint32_t count = high - low + 1;
        while (count > 2 && (count & (count - 1))) /* a group must have 2 or 4 loads */
            count--;
        if (count < 2 || low + count <= GROUP - 1)
            continue; /* no other load joins this load */
        for (uint32_t n = 0; n < count; n++) {
            vm_cost_insn *member = &s->cost->insns[s->first + at[low + n]];
            member->traced.merge_index = (uint8_t)n;
            member->traced.merge_count = (uint8_t)count;
            member->traced.merge_lead = at[low + n] == k;
            member->leader = s->first + k;
        }
    }
}

/* ---- dependences ---- */

static bool add_dependence(scheduler *s, uint32_t before, uint32_t after)
{
    if (before == after)
        return true;
    if (!kiln__grow(s->cost->mem, &s->edges, &s->edge_capacity, s->edge_count + 2, sizeof *s->edges))
        return false;
    s->edges[++s->edge_count] = (edge){after, s->head[before]};
    s->head[before] = (uint32_t)s->edge_count; /* index 0 ends the list of edges */
    s->waits[after]++;
    return true;
}

static void open_register(scheduler *s, uint32_t reg)
{
    if (s->stamp[reg] == s->round)
        return;
    s->stamp[reg] = s->round;
    s->writer[reg] = s->reader[reg] = 0;
}

static bool read_register(scheduler *s, uint32_t reg, uint32_t at)
{
    open_register(s, reg);
    if (s->writer[reg] && !add_dependence(s, s->writer[reg] - 1, at))
        return false;
    size_t n = ++s->reader_count;
    if (!kiln__grow(s->cost->mem, &s->readers, &s->readers_capacity, n + 1, sizeof *s->readers) ||
        !kiln__grow(s->cost->mem, &s->reader_next, &s->reader_capacity, n + 1, sizeof *s->reader_next))
        return false;
    s->readers[n] = at;
    s->reader_next[n] = s->reader[reg];
    s->reader[reg] = (uint32_t)n;
    return true;
}

static bool write_register(scheduler *s, uint32_t reg, uint32_t at)
{
    open_register(s, reg);
    bool ok = !s->writer[reg] || add_dependence(s, s->writer[reg] - 1, at);
    for (uint32_t n = s->reader[reg]; ok && n; n = s->reader_next[n])
        ok = add_dependence(s, s->readers[n], at);
    s->reader[reg] = 0;
    s->writer[reg] = at + 1;
    return ok;
}

/* Adds the dependences between memory accesses of a region. A load keeps its order relative to stores to the same
 * memory space, unless the load has .nc. Stores to one space stay in order. A fence keeps its order relative to all
 * accesses. The function compares a store or a fence with the earlier accesses from `oldest` on. `oldest` is the first
 * instruction after the last fence. After a store, `oldest` is at most REACH instructions before the store, which
 * bounds the number of comparisons. */
static bool order_memory(scheduler *s, uint32_t first, uint32_t count)
{
    enum { REACH = 256 };
    uint32_t fence = UINT32_MAX, store[8], oldest = 0;
    memset(store, 0xff, sizeof store);
    for (uint32_t k = 0; k < count; k++) {
        const vm_cost_insn *c = &s->cost->insns[s->first + first + k];
        const ptx_insn *in = &s->f->insns[first + k];
        bool whole = is_fence(s, first + k) && c->act != VM_ACT_STORE;
        if (!c->traced.memory && !whole)
            continue;
        bool ok = fence == UINT32_MAX || add_dependence(s, fence, k);
        unsigned space = in->space & 7u;
        bool ordered = c->act != VM_ACT_LOAD || !ptx_has(in, PTX_MOD_NC);
        if (ok && store[space] != UINT32_MAX && ordered)
            ok = add_dependence(s, store[space], k);
        if (whole || c->act == VM_ACT_STORE) /* a store or a fence depends on the earlier accesses */
            for (uint32_t n = oldest; ok && n < k; n++) {
                const vm_cost_insn *other = &s->cost->insns[s->first + first + n];
                bool same = (s->f->insns[first + n].space & 7u) == space &&
                            !ptx_has(&s->f->insns[first + n], PTX_MOD_NC);
                if (other->traced.memory && (whole || same))
                    ok = add_dependence(s, n, k);
            }
        if (!ok)
            return false;
        if (whole) {
            fence = k;
            oldest = k + 1;
            memset(store, 0xff, sizeof store);
        } else if (c->act == VM_ACT_STORE) {
            store[space] = k;
            oldest = k > REACH && oldest < k - REACH ? k - REACH : oldest;
        }
    }
    return true;
}

static bool find_dependences(scheduler *s, uint32_t first, uint32_t count)
{
    bool ok = true;
    s->round++;
    s->edge_count = s->reader_count = 0;
    memset(s->head, 0, count * sizeof *s->head);
    memset(s->waits, 0, count * sizeof *s->waits);
    for (uint32_t k = 0; ok && k < count; k++) {
        const vm_cost_insn *c = &s->cost->insns[s->first + first + k];
        const uint32_t *regs = s->cost->registers + c->first;
        for (uint32_t n = 0; ok && n < c->source_count; n++)
            ok = read_register(s, regs[n], k);
        for (uint32_t n = 0; ok && n < c->result_count; n++)
            ok = write_register(s, regs[c->source_count + n], k);
        if (ok && !c->traced.merge_lead)
            ok = add_dependence(s, c->leader - s->first - first, k);
        if (c->act == VM_ACT_BRANCH)
            for (uint32_t n = k > WINDOW ? k - WINDOW : 0; ok && n < k; n++)
                /* a branch ends the region, so it depends on the instructions before it */
                ok = add_dependence(s, n, k);
    }
    return ok && order_memory(s, first, count);
}

/* ---- the order ---- */

static uint32_t expected_latency(const scheduler *s, uint32_t k)
{
    const vm_cost_insn *c = &s->cost->insns[s->first + k];
    if (c->act == VM_ACT_LOAD || c->act == VM_ACT_ATOMIC)
        return (uint32_t)(s->f->insns[k].space == PTX_SPACE_SHARED ? s->model->shared_latency : s->model->l2_latency);
    return c->latency;
}

static void find_heights(scheduler *s, uint32_t first, uint32_t count)
{
    for (uint32_t k = count; k-- > 0;) {
        uint32_t most = 0;
        for (uint32_t e = s->head[k]; e; e = s->edges[e].next)
            most = s->height[s->edges[e].to] > most ? s->height[s->edges[e].to] : most;
        s->height[k] = most + expected_latency(s, first + k) + s->cost->insns[s->first + first + k].issue;
    }
}

/* Orders a region by list scheduling. Repeatedly takes an instruction whose dependences are scheduled and whose
 * operands are ready. If there are several, takes the instruction with the greatest height: the length of the longest
 * path to the end of the region. If there is none, takes the instruction whose operands are ready first. An instruction
 * may overtake at most WINDOW instructions. */
static void schedule_region(scheduler *s, uint32_t first, uint32_t count, uint32_t *order)
{
    uint32_t now = 0, oldest = 0;
    memset(s->ready, 0, count * sizeof *s->ready);
    memset(s->placed, 0, count * sizeof *s->placed);
    for (uint32_t done = 0; done < count; done++) {
        uint32_t best = UINT32_MAX, soonest = UINT32_MAX;
        while (s->placed[oldest])
            oldest++;
        for (uint32_t k = oldest; k < count && k < oldest + WINDOW; k++) {
            if (s->placed[k] || s->waits[k])
                continue;
            if (s->ready[k] <= now && (best == UINT32_MAX || s->ready[best] > now || s->height[k] > s->height[best]))
                best = k;
            else if (best == UINT32_MAX || s->ready[best] > now) {
                if (s->ready[k] < soonest) {
                    soonest = s->ready[k];
                    best = k;
                }
            }
        }
        if (s->ready[best] > now)
            now = s->ready[best];
        const vm_cost_insn *c = &s->cost->insns[s->first + first + best];
        s->placed[best] = true;
        order[done] = best;
        for (uint32_t e = s->head[best]; e; e = s->edges[e].next) {
            uint32_t to = s->edges[e].to, at = now + expected_latency(s, first + best);
            s->waits[to]--;
            s->ready[to] = at > s->ready[to] ? at : s->ready[to];
        }
        now += c->issue;
    }
}

static bool add_region(scheduler *s, uint32_t first, uint32_t end)
{
    vm_cost *cost = s->cost;
    if (!kiln__grow(cost->mem, &cost->regions, &cost->region_capacity, (size_t)cost->region_count + 1,
                    sizeof *cost->regions))
        return false;
    join_loads(s, first, end);
    vm_region *region = &cost->regions[cost->region_count];
    *region = (vm_region){.first = s->first + first, .count = end - first, .order = s->first + first};
    for (uint32_t k = first; k < end; k++)
        cost->insns[s->first + k].region = cost->region_count;
    cost->region_count++;
    cost->longest = region->count > cost->longest ? region->count : cost->longest;
    if (!find_dependences(s, first, region->count))
        return false;
    find_heights(s, first, region->count);
    schedule_region(s, first, region->count, cost->order + region->order);
    return true;
}

/* Divides the function into regions, combines loads, and orders each region. */
bool model_schedule_function(vm_cost *cost, const ptx_function *f, uint32_t first, const sim_model *model)
{
    const kiln_allocator *mem = cost->mem;
    scheduler s = {.cost = cost, .f = f, .model = model, .first = first};
    size_t insns = (size_t)f->insn_count + 1, regs = (size_t)f->reg_count + 1;
    s.low = kiln__calloc(mem, insns, sizeof *s.low);
    s.high = kiln__calloc(mem, insns, sizeof *s.high);
    s.height = kiln__calloc(mem, insns, sizeof *s.height);
    s.waits = kiln__calloc(mem, insns, sizeof *s.waits);
    s.head = kiln__calloc(mem, insns, sizeof *s.head);
    s.ready = kiln__calloc(mem, insns, sizeof *s.ready);
    s.placed = kiln__calloc(mem, insns, sizeof *s.placed);
    s.writer = kiln__calloc(mem, regs, sizeof *s.writer);
    s.reader = kiln__calloc(mem, regs, sizeof *s.reader);
    s.stamp = kiln__calloc(mem, regs, sizeof *s.stamp);
    bool ok = s.low && s.high && s.height && s.waits && s.head && s.ready && s.placed && s.writer && s.reader &&
              s.stamp && kiln__grow(mem, &s.edges, &s.edge_capacity, 1, sizeof *s.edges) &&
              kiln__grow(mem, &s.readers, &s.readers_capacity, 1, sizeof *s.readers);
    if (ok)
        find_targets(&s);
    for (uint32_t k = 0; ok && k < f->insn_count;) {
        uint32_t end = find_region_end(&s, k);
        ok = add_region(&s, k, end);
        k = end;
    }
    void *all[] = {s.low,    s.high,   s.height, s.waits, s.head,    s.ready,      s.placed,
                   s.writer, s.reader, s.stamp,  s.edges, s.readers, s.reader_next};
    for (size_t k = 0; k < KILN__COUNT(all); k++)
        kiln__free(mem, all[k]);
    return ok;
}
