/* count.c - the counters of an observed launch. This file counts each access by the rules of a GPU's memory
 * (COUNTERS.md): coalescing into sectors and lines, bank conflicts, serialised atomics. */
#include <string.h>

#include "vm_count.h"

size_t count_tallies(const vm_module *module) { return module->tally_count; }
size_t count_tally_first(const vm_module *module, uint32_t function) { return module->functions[function].first_tally; }

/* the switch over the classes has no default, so that the compiler demands a case for each class */
#pragma GCC diagnostic error "-Wswitch"

/* SECTOR and LINE are binary logarithms: a sector has 32 bytes, and a line has 128 bytes */
enum { SECTOR = 5, LINE = 7, BANKS = 32, SLOTS = 64 };

static unsigned lanes_in(uint32_t mask) { return mask == VM_ALL ? VM_LANES : (unsigned)__builtin_popcount(mask); }

/* ---- sets of numbers ---- */

/* A set of at most 32 numbers, in a hash table that is at most half full. */
typedef struct set {
    uint64_t used;
    uint64_t key[SLOTS];
    uint8_t times[SLOTS];
    unsigned count, most;
} set;

static void set_add(set *s, uint64_t key)
{
    unsigned at = (unsigned)((key * 0x9e3779b97f4a7c15u) >> 58);
    while (s->used >> at & 1 && s->key[at] != key)
        at = (at + 1) % SLOTS;
    if (!(s->used >> at & 1)) {
        s->used |= (uint64_t)1 << at;
        s->key[at] = key;
        s->times[at] = 0;
        s->count++;
    }
    unsigned times = ++s->times[at];
    s->most = times > s->most ? times : s->most;
}

unsigned count_addresses(const vm_access *a, unsigned *most)
{
    if (a->lanes == 0) {
        *most = 0;
        return 0;
    }
    uint64_t first = a->address[__builtin_ctz(a->lanes)], apart = 0;
    VM_EACH(lane, a->lanes)
        apart |= a->address[lane] ^ first;
    if (apart == 0) {
        *most = lanes_in(a->lanes);
        return 1;
    }
    set s;
    s.used = 0, s.count = s.most = 0;
    VM_EACH(lane, a->lanes)
        set_add(&s, a->address[lane]);
    *most = s.most;
    return s.count;
}

unsigned count_pieces(const vm_access *a, unsigned shift, uint64_t out[2 * VM_LANES])
{
    unsigned count = 0;
    VM_EACH(lane, a->lanes) {
        uint64_t end = (a->address[lane] + (a->bytes ? a->bytes - 1 : 0)) >> shift;
        for (uint64_t piece = a->address[lane] >> shift, n = 0; piece <= end && n < 2; piece++, n++) {
            unsigned at = count;
            while (at > 0 && out[at - 1] > piece)
                at--;
            if (at > 0 && out[at - 1] == piece)
                continue;
            memmove(out + at + 1, out + at, (count - at) * sizeof *out);
            out[at] = piece;
            count++;
        }
    }
    return count;
}

/* ---- global and local memory: sectors and lines ---- */

/* The numbers of sectors and lines that an access touches. */
typedef struct extent {
    uint64_t lanes, bytes, used, sectors, lines;
} extent;

/* Returns the number of different bytes that an access uses. All lanes access the same number of bytes at aligned
 * addresses. So the bytes of two lanes are either the same or disjoint. */
static uint64_t count_used_bytes(const vm_access *a)
{
    uint64_t next = 0;
    bool ascending = true;
    VM_EACH(lane, a->lanes) {
        ascending = ascending && a->address[lane] >= next;
        next = a->address[lane] + a->bytes;
    }
    unsigned most;
    return a->bytes * (uint64_t)(ascending ? lanes_in(a->lanes) : count_addresses(a, &most));
}

static extent extent_of(const vm_access *a)
{
    /* a window of this many bytes has as many sectors as a word has bits */
    enum { NEAR = 64 << SECTOR };
    uint64_t low = UINT64_MAX, high = 0, lanes = lanes_in(a->lanes);
    extent e = {.lanes = lanes, .bytes = lanes * a->bytes, .used = count_used_bytes(a)};
    VM_EACH(lane, a->lanes) {
        low = a->address[lane] < low ? a->address[lane] : low;
        high = a->address[lane] > high ? a->address[lane] : high;
    }
    low &= ~(uint64_t)((1 << LINE) - 1);
    if (high - low < NEAR && a->bytes <= 1u << SECTOR) {
        uint64_t bits = 0, quads;
        VM_EACH(lane, a->lanes)
            bits |= (uint64_t)1 << ((a->address[lane] - low) >> SECTOR);
        quads = (bits | bits >> 1 | bits >> 2 | bits >> 3) & 0x1111111111111111u;
        e.sectors = (unsigned)__builtin_popcountll(bits);
        e.lines = (unsigned)__builtin_popcountll(quads);
        return e;
    }
    uint64_t pieces[2 * VM_LANES], line = UINT64_MAX;
    e.sectors = count_pieces(a, SECTOR, pieces);
    for (uint64_t k = 0; k < e.sectors; k++) {
        e.lines += pieces[k] >> (LINE - SECTOR) != line;
        line = pieces[k] >> (LINE - SECTOR);
    }
    return e;
}

/* Returns an access to local memory, with the addresses that it would have on a GPU. On the simulated device each lane
 * has its own piece of local memory. A GPU interleaves the words of the lanes, so that the words of 32 lanes at one
 * offset are one line (COUNTERS.md). */
static vm_access interleave(const vm_access *a)
{
    vm_access out = *a;
    VM_EACH(lane, a->lanes) {
        uint64_t word = a->address[lane] / 4, byte = a->address[lane] % 4;
        out.address[lane] = (word * VM_LANES + lane) * 4 + byte;
    }
    return out;
}

/* Returns the extent of an access to local memory. After interleaving, the words of a lane lie one line apart. So each
 * word counts as a separate access. */
static extent extent_of_local(const vm_access *a)
{
    vm_access part = *a;
    part.bytes = a->bytes < 4 ? a->bytes : 4;
    extent sum = {0};
    for (uint32_t at = 0; at < a->bytes; at += 4) {
        vm_access word = interleave(&part);
        extent e = extent_of(&word);
        sum.bytes += e.bytes, sum.used += e.used, sum.sectors += e.sectors, sum.lines += e.lines;
        sum.lanes = e.lanes;
        VM_EACH(lane, part.lanes)
            part.address[lane] += 4;
    }
    return sum;
}

/* ---- shared memory: banks ---- */

/* Returns true if no bank must deliver two different words. In good kernels this is true of most accesses. */
static bool is_one_pass(const vm_access *a, uint32_t lanes)
{
    uint32_t first[BANKS], used = 0, apart = 0;
    if (a->bytes > 4 || (a->kind & VM_ATOMIC && !(a->kind & VM_JOINED)))
        return false;
    VM_EACH(lane, lanes) {
        uint32_t word = (uint32_t)a->address[lane] / 4, bank = word % BANKS;
        uint32_t before = used >> bank & 1 ? first[bank] : word;
        apart |= before ^ word;
        first[bank] = before;
        used |= 1u << bank;
    }
    return apart == 0;
}

/* Returns the largest number of different words that `lanes` access in one bank. For atomics `each` is true. Then the
 * function counts the accesses of all lanes instead of different words. */
static unsigned count_passes(const vm_access *a, uint32_t lanes, bool each)
{
    enum { MOST_WORDS = 4 * VM_LANES };
    uint64_t word_of[MOST_WORDS];
    uint8_t next[MOST_WORDS], head[BANKS], times[BANKS] = {0};
    unsigned count = 0, worst = 0, words = a->bytes > 4 ? a->bytes / 4 : 1;
    VM_EACH(lane, lanes) {
        for (unsigned k = 0; k < words && count < MOST_WORDS; k++) {
            uint64_t word = a->address[lane] / 4 + k;
            unsigned bank = (unsigned)(word % BANKS), seen = 0, at = head[bank] * (unsigned)(times[bank] != 0);
            while (!each && seen < times[bank] && word_of[at] != word)
                at = next[at], seen++;
            if (!each && seen < times[bank])
                /* one pass reads a word for all lanes that need it, or writes the value of the last lane that writes
                 * it */
                continue;
            word_of[count] = word;
            next[count] = times[bank] ? head[bank] : 0;
            head[bank] = (uint8_t)count++;
            times[bank]++;
            worst = times[bank] > worst ? times[bank] : worst;
        }
    }
    return worst;
}

/* Returns true if lanes use the same address in pairs: either neighbours, or lanes that are two places apart. Loads of
 * 8 or 16 bytes per lane then need half as many passes. */
static bool in_pairs(const vm_access *a, uint32_t lanes)
{
    for (uint32_t apart = 1; apart <= 2; apart++) {
        uint64_t differ = 0;
        VM_EACH(lane, lanes) {
            uint32_t other = lane ^ apart;
            differ |= lanes >> other & 1 ? a->address[lane] ^ a->address[other] : 0;
        }
        if (differ == 0)
            return true;
    }
    return false;
}

static unsigned count_wavefronts(const vm_access *a, unsigned *ideal)
{
    /* number of lanes that one group of 128 bytes serves */
    unsigned together = a->bytes <= 4 ? VM_LANES : a->bytes >= 32 ? 4 : 128 / a->bytes;
    uint32_t group = together == VM_LANES ? VM_ALL : (1u << together) - 1;
    bool pairs = (a->bytes == 8 || a->bytes == 16) && !(a->kind & (VM_WRITE | VM_ATOMIC));
    unsigned sum = 0;
    *ideal = 0;
    if (a->lanes && is_one_pass(a, a->lanes)) {
        *ideal = 1;
        return 1;
    }
    for (unsigned at = 0; at < VM_LANES; at += together) {
        uint32_t lanes = a->lanes & group << at,
                 next = at + together < VM_LANES ? a->lanes & group << (at + together) : 0;
        if (pairs && at / together % 2 == 0 && lanes && next && in_pairs(a, lanes | next)) {
            lanes |= next;
            at += together;
        }
        if (lanes) {
            sum += count_passes(a, lanes, a->kind & VM_ATOMIC && !(a->kind & VM_JOINED));
            *ideal += 1;
        }
    }
    return sum;
}

/* An access may reach the shared memory of several blocks of a cluster. Each block has its own banks, so the passes of
 * each block are counted separately. */
unsigned count_wavefronts_of(const vm_access *a, unsigned *ideal)
{
    uint32_t left = a->lanes;
    unsigned sum = 0, best;
    *ideal = 0;
    while (left) {
        const uint64_t window = a->address[__builtin_ctz(left)] / VM_SHARED_WINDOW;
        vm_access part = *a;
        part.lanes = 0;
        VM_EACH(lane, left)
            part.lanes |= (uint32_t)(a->address[lane] / VM_SHARED_WINDOW == window) << lane;
        left &= ~part.lanes;
        if (part.lanes == a->lanes)
            return count_wavefronts(a, ideal);
        sum += count_wavefronts(&part, &best);
        *ideal += best;
    }
    return sum;
}

/* ---- an instruction ---- */

#define COUNT_TRAFFIC(name, e)                                                                                         \
    (c->name##_requests++, c->name##_lanes += (e).lanes, c->name##_bytes += (e).bytes, c->name##_used += (e).used,     \
     c->name##_sectors += (e).sectors, c->name##_lines += (e).lines)
#define COUNT_BANKS(name)                                                                                              \
    (c->name##_requests++, c->name##_lanes += lanes, c->name##_bytes += lanes * a->bytes,                              \
     c->name##_wavefronts += waves, c->name##_ideal += ideal,                                                          \
     c->name##_worst = waves > c->name##_worst ? waves : c->name##_worst)
#define COUNT_ATOMIC(name)                                                                                             \
    (c->name##_addresses += addresses, c->name##_serial += most,                                                       \
     c->name##_most = most > c->name##_most ? most : c->name##_most)

static void count_shared(kiln_counters *c, const vm_access *a)
{
    uint64_t lanes = lanes_in(a->lanes);
    unsigned ideal, waves = count_wavefronts_of(a, &ideal), most, addresses;
    if (a->kind & VM_ATOMIC) {
        addresses = count_addresses(a, &most);
        COUNT_BANKS(shared_atomic);
        COUNT_ATOMIC(shared_atomic);
    } else if (a->kind & VM_WRITE) {
        COUNT_BANKS(shared_store);
    } else {
        COUNT_BANKS(shared_load);
    }
}

/* Returns the number of accesses to sectors that an atomic makes. Lanes at one address are serialised. So a sector
 * counts once for each lane at the most used address of the sector. */
static uint64_t count_serial_sectors(const vm_access *a)
{
    uint64_t sum = 0;
    uint32_t left = a->lanes;
    while (left) {
        uint64_t sector = a->address[__builtin_ctz(left)] >> SECTOR;
        uint32_t here = 0;
        VM_EACH(lane, left)
            here |= (uint32_t)(a->address[lane] >> SECTOR == sector) << lane;
        vm_access part = *a;
        unsigned most;
        part.lanes = here;
        count_addresses(&part, &most);
        sum += most;
        left &= ~here;
    }
    return sum;
}

static void count_memory(kiln_counters *c, const vm_access *a)
{
    bool local = a->space == PTX_SPACE_LOCAL;
    extent e = local ? extent_of_local(a) : extent_of(a);
    if (a->kind & VM_ATOMIC) {
        unsigned most, addresses = count_addresses(a, &most);
        if (most > 1)
            e.sectors = count_serial_sectors(a);
        COUNT_TRAFFIC(global_atomic, e);
        COUNT_ATOMIC(global_atomic);
    } else if (a->kind & VM_WRITE) {
        if (local)
            COUNT_TRAFFIC(local_store, e);
        else
            COUNT_TRAFFIC(global_store, e);
    } else {
        if (local)
            COUNT_TRAFFIC(local_load, e);
        else
            COUNT_TRAFFIC(global_load, e);
    }
}

void count_access(kiln_counters *c, const vm_access *a)
{
    unsigned most;
    switch (a->space) {
    case PTX_SPACE_SHARED: count_shared(c, a); break;
    case PTX_SPACE_CONST:
        c->const_requests++;
        c->const_lanes += lanes_in(a->lanes);
        c->const_addresses += count_addresses(a, &most);
        break;
    default: count_memory(c, a); break;
    }
}

/* The values in the column `flow` of effects.def. */
enum { FLOW_NONE, FLOW_BRANCH, FLOW_INDEXED, FLOW_BARRIER };
static const unsigned char flow_of_effect[] = {
#define EFFECT(name, flow, engine, access, check, act, result) FLOW_##flow,
#include "effects.def"
};

/* Counts branches and barriers. w->mask has the lanes at the instruction, and m has the lanes for which the guard is
 * also true. */
static void count_flow(kiln_counters *c, const vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m)
{
    switch (flow_of_effect[ptx_effect_of(in)]) {
    case FLOW_BRANCH:
        c->branches++;
        c->divergent += m != 0 && m != w->mask;
        return;
    case FLOW_INDEXED: {
        uint32_t apart = m != w->mask;
        const vm_u32 *index = vm_r32(w, i->a);
        VM_EACH(lane, m)
            apart |= index[lane] ^ index[__builtin_ctz(m)];
        c->branches++;
        c->divergent += m != 0 && apart != 0;
        return;
    }
    case FLOW_BARRIER: c->barriers += m != 0; return;
    default: return;
    }
}

void count_instruction(kiln_counters *c, vm_warp *w, const vm_code *i, uint32_t m, vm_access *list, unsigned count)
{
    bool joined = count && w->runner->joined[c - w->runner->sites];
    for (unsigned k = 0; k < count; k++) {
        list[k].kind |= joined ? VM_JOINED : 0;
        count_access(c, &list[k]);
    }
    const ptx_function *f = w->frame->function->ptx;
    if (i->insn >= f->insn_count)
        return;
    count_engines(c, w, i, &f->insns[i->insn], m);
    if (count == 0)
        count_flow(c, w, i, &f->insns[i->insn], m);
}

/* ---- a profile ---- */

/* Returns true if the instruction can have counts other than `executed` and `lanes`. An unconditional branch has no
 * other counts, because it cannot diverge. */
static bool has_site(const ptx_insn *in)
{
    switch (count_class_of(in)) {
    case KILN_CLASS_control:
        return (ptx_effect_of(in) == PTX_EFFECT_BRANCH && in->guard != PTX_NO_PRED) ||
               ptx_effect_of(in) == PTX_EFFECT_BRANCH_INDEXED;
    case KILN_CLASS_load_global:
    case KILN_CLASS_store_global:
    case KILN_CLASS_load_shared:
    case KILN_CLASS_store_shared:
    case KILN_CLASS_load_local:
    case KILN_CLASS_store_local:
    case KILN_CLASS_load_const:
    case KILN_CLASS_load_param:
    case KILN_CLASS_load_generic:
    case KILN_CLASS_store_generic:
    case KILN_CLASS_copy_async:
    case KILN_CLASS_atomic:
    case KILN_CLASS_barrier:
    case KILN_CLASS_tensor:
    case KILN_CLASS_texture:
    case KILN_CLASS_other: return true;
    case KILN_CLASS_fp32_add:
    case KILN_CLASS_fp32_mul:
    case KILN_CLASS_fp32_fma:
    case KILN_CLASS_fp64_add:
    case KILN_CLASS_fp64_mul:
    case KILN_CLASS_fp64_fma:
    case KILN_CLASS_fp16:
    case KILN_CLASS_int:
    case KILN_CLASS_logic:
    case KILN_CLASS_convert:
    case KILN_CLASS_special:
    case KILN_CLASS_compare:
    case KILN_CLASS_move:
    case KILN_CLASS_warp:
    case KILN_CLASS_COUNT: return false;
    }
    return true;
}

static void add_use(uint8_t *uses, uint32_t reg) { uses[reg] = uses[reg] ? 2 : 1; }

/* Counts how often the function names each register. A register may be an operand, an element of a vector or list, a
 * guard, or a second destination. The function stores a count above 1 as 2. */
static void count_uses(const ptx_function *f, uint8_t *uses)
{
    memset(uses, 0, f->reg_count);
    for (uint32_t n = 0; n < f->insn_count; n++) {
        const ptx_insn *in = &f->insns[n];
        if (in->guard != PTX_NO_PRED)
            add_use(uses, in->guard);
        for (unsigned k = 0; k < in->operand_count; k++) {
            const ptx_operand *o = &in->operands[k];
            if (o->kind == PTX_OPERAND_REG || (o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_REG))
                add_use(uses, o->index);
            if (o->pred)
                add_use(uses, o->pred - 1);
        }
    }
    for (uint32_t e = 0; e < f->element_count; e++)
        if (f->elements[e].kind == PTX_OPERAND_REG)
            add_use(uses, f->elements[e].index);
}

/* Returns true for an atomic increment in shared memory whose result nothing reads. The code that ptxas makes for it
 * first adds the lanes with the same address, and then updates memory once. */
static bool is_joined(const uint8_t *uses, const ptx_insn *in)
{
    bool red = ptx_effect_of(in) == PTX_EFFECT_REDUCTION;
    if ((!red && ptx_effect_of(in) != PTX_EFFECT_ATOMIC) || in->space != PTX_SPACE_SHARED ||
        !ptx_has(in, PTX_MOD_ADD) || in->vector > 1 || (in->types[0] != PTX_U32 && in->types[0] != PTX_S32) ||
        in->operand_count < (red ? 2 : 3))
        return false;
    const ptx_operand *by = &in->operands[red ? 1 : 2], *to = &in->operands[0];
    return by->kind == PTX_OPERAND_IMM && by->imm == 1 &&
           (red || to->kind == PTX_OPERAND_SINK || (to->kind == PTX_OPERAND_REG && uses[to->index] == 1));
}

/* Sets vm_profile.joined. Returns false if memory runs out. */
static bool find_joined(vm_profile *profile, const ptx_module *ptx)
{
    uint32_t most = 0;
    for (uint32_t f = 0; f < ptx->function_count; f++)
        most = ptx->functions[f].reg_count > most ? ptx->functions[f].reg_count : most;
    uint8_t *uses = kiln__alloc(profile->mem, (size_t)most + 1);
    for (uint32_t f = 0; uses && f < ptx->function_count; f++) {
        count_uses(&ptx->functions[f], uses);
        for (uint32_t n = 0; n < ptx->functions[f].insn_count; n++) {
            uint32_t site = profile->site_of[count_tally_first(profile->module, f) + n];
            if (site != VM_NO_SITE)
                profile->joined[site] = is_joined(uses, &ptx->functions[f].insns[n]);
        }
    }
    kiln__free(profile->mem, uses);
    return uses != NULL;
}

/* Numbers the sites of a module. A site is an instruction that can have counts other than `executed` and `lanes`. */
vm_profile *count_profile_new(const kiln_allocator *mem, const vm_module *module)
{
    const ptx_module *ptx = vm_module_ptx(module);
    vm_profile *profile = kiln__calloc(mem, 1, sizeof *profile);
    if (!profile)
        return NULL;
    profile->mem = mem;
    profile->module = module;
    profile->insn_count = count_tallies(module);
    profile->tally = kiln__calloc(mem, profile->insn_count + 1, sizeof *profile->tally);
    profile->site_of = kiln__calloc(mem, profile->insn_count + 1, sizeof *profile->site_of);
    if (!profile->tally || !profile->site_of) {
        count_profile_free(profile);
        return NULL;
    }
    for (size_t n = 0; n < profile->insn_count; n++)
        profile->site_of[n] = VM_NO_SITE;
    for (uint32_t f = 0; f < ptx->function_count; f++)
        for (uint32_t n = 0; n < ptx->functions[f].insn_count; n++)
            if (has_site(&ptx->functions[f].insns[n]))
                profile->site_of[count_tally_first(module, f) + n] = (uint32_t)profile->site_count++;
    profile->sites = kiln__calloc(mem, profile->site_count + 1, sizeof *profile->sites);
    profile->joined = kiln__calloc(mem, profile->site_count + 1, sizeof *profile->joined);
    if (!profile->sites || !profile->joined) {
        count_profile_free(profile);
        return NULL;
    }
    if (!find_joined(profile, ptx)) {
        count_profile_free(profile);
        return NULL;
    }
    return profile;
}

void count_profile_free(vm_profile *profile)
{
    if (!profile)
        return;
    kiln__free(profile->mem, profile->tally);
    kiln__free(profile->mem, profile->site_of);
    kiln__free(profile->mem, profile->sites);
    kiln__free(profile->mem, profile->joined);
    kiln__free(profile->mem, profile);
}

void count_profile_clear(vm_profile *profile)
{
    memset(profile->tally, 0, profile->insn_count * sizeof *profile->tally);
    memset(profile->sites, 0, profile->site_count * sizeof *profile->sites);
}

#define ADD_SUM(to, more) ((to) += (more))
#define ADD_MOST(to, more) ((to) = (more) > (to) ? (more) : (to))

void count_add_counters(kiln_counters *sum, const kiln_counters *more)
{
#define VM_X(name, adds, text) ADD_##adds(sum->name, more->name);
    KILN_COUNTER_MAP(VM_X)
#undef VM_X
}

/* Returns instruction n of the function, or NULL if n is the function's end. */
static const ptx_insn *insn_at(const vm_profile *profile, uint32_t function, size_t n)
{
    const ptx_function *f = &vm_module_ptx(profile->module)->functions[function];
    return n < f->insn_count ? &f->insns[n] : NULL;
}

static void add_insn(const vm_profile *profile, const ptx_insn *in, size_t n, kiln_counters *sum)
{
    if (profile->site_of[n] != VM_NO_SITE)
        count_add_counters(sum, &profile->sites[profile->site_of[n]]);
    sum->executed += profile->tally[n].executed;
    sum->lanes += profile->tally[n].lanes;
    if (in && ptx_class_of(in) == PTX_CLASS_WARP && ptx_effect_of(in) != PTX_EFFECT_NONE)
        sum->warp_syncs += profile->tally[n].executed;
}

void count_profile_at(const vm_profile *profile, uint32_t function, uint32_t insn, kiln_counters *sum)
{
    add_insn(profile, insn_at(profile, function, insn), count_tally_first(profile->module, function) + insn, sum);
}

void count_profile_sum(const vm_profile *profile, kiln_counters *sum, vm_class_counts *classes)
{
    const ptx_module *ptx = vm_module_ptx(profile->module);
    for (uint32_t f = 0; f < ptx->function_count; f++) {
        size_t first = count_tally_first(profile->module, f);
        for (uint32_t n = 0; ptx->functions[f].defined && n <= ptx->functions[f].insn_count; n++) {
            const ptx_insn *in = insn_at(profile, f, n);
            const vm_tally *tally = &profile->tally[first + n];
            if (tally->executed == 0)
                continue;
            if (sum)
                add_insn(profile, in, first + n, sum);
            if (classes) {
                kiln_class which = in ? count_class_of(in) : KILN_CLASS_control;
                classes->executed[which] += tally->executed;
                classes->lanes[which] += tally->lanes;
            }
        }
    }
}

/* ---- counting per runner ---- */

bool count_begin_runner(vm_runner *runner)
{
    const struct vm_watch *watch = runner->run->launch->watch;
    const kiln_allocator *mem = runner->run->device->mem;
    if (!watch || (!watch->tally && !watch->profile))
        return true;
    runner->tally = kiln__calloc(mem, count_tallies(runner->run->launch->module) + 1, sizeof *runner->tally);
    if (watch->profile) {
        runner->site_of = watch->profile->site_of;
        runner->joined = watch->profile->joined;
        runner->sites = kiln__calloc(mem, watch->profile->site_count + 1, sizeof *runner->sites);
    }
    if (runner->tally && (runner->sites || !watch->profile))
        return true;
    count_drop(runner);
    return false;
}

void count_end_runner(vm_runner *runner)
{
    const struct vm_watch *watch = runner->run->launch->watch;
    const vm_tally *tally = runner->tally;
    size_t count = tally ? count_tallies(runner->run->launch->module) : 0;
    if (count == 0)
        return;
    pthread_rwlock_wrlock(&runner->run->device->lock); /* launches may end on several host threads at once */
    vm_tally *to[] = {watch->tally, runner->sites ? watch->profile->tally : NULL};
    for (size_t k = 0; k < KILN__COUNT(to); k++)
        for (size_t t = 0; to[k] && t < count; t++) {
            to[k][t].executed += tally[t].executed;
            to[k][t].lanes += tally[t].lanes;
        }
    for (size_t s = 0; runner->sites && s < watch->profile->site_count; s++)
        count_add_counters(&watch->profile->sites[s], &runner->sites[s]);
    pthread_rwlock_unlock(&runner->run->device->lock);
}

void count_drop(vm_runner *runner)
{
    const kiln_allocator *mem = runner->run->device->mem;
    kiln__free(mem, runner->tally);
    kiln__free(mem, runner->sites);
    runner->tally = NULL;
    runner->sites = NULL;
}
