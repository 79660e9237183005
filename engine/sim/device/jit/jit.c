/* jit.c - decides which code is compiled, and when. A loop is compiled when it has executed many instructions. The
 * first region of a loop begins at the loop's first instruction. Another region begins after each instruction that
 * regions cannot hold, such as a barrier. The host thread that finds that the loop is hot compiles it. Meanwhile the
 * other threads interpret the loop. The other threads use the regions as soon as they are installed.
 *
 * A loop has these states:
 *   cold -> observed      half of the threshold is reached: handle_hot() observes the loop several times from then on
 *   observed -> compiled  the threshold is reached: compile_regions()
 *   compiled -> compiled  too many runs did not match the observations: handle_miss() observes and compiles again
 *   compiled -> given up  more than half of the runs miss, and nothing new was observed or the loop was compiled again
 *                         TRIES times: the loop is interpreted */
#include "jit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llvm.h"
#include "region.h"
#include "vm_collective.h"
#include "vm_path.h"

#define HEADS 24u /* the largest number of regions of one loop */
#define TRIES 6u  /* the largest number of attempts for one head */
#define NARROW 2u /* the number of attempts for which a region follows only directions of branches that were observed */
/* the largest number of characters of a text: longer texts took LLVM up to 12 s, shorter texts 1 s */
#define LENGTH 1000000u
/* the largest number of regions of a device until modules are unloaded; each region takes some kilobytes */
#define MOST 16384u

/* A region that the compiler has made. The code of a region stays until its module is unloaded, because other threads
 * may be running it. */
typedef struct made_region {
    vm_native region; /* the first member, so that a pointer to `region` is also a pointer to this struct */
    struct made_region *next;
    uint32_t first, last, tries;
} made_region;

/* The analysis and the regions of one function. */
typedef struct made_function {
    jit_insn *insns;
    uint8_t *seen; /* jit_unit.seen */
    jit_moves *moves;
    jit_live *live;
    made_region *regions;
    bool shuffles; /* the function has a shuffle, so vm_native.alive of its regions is set */
} made_function;

/* The compiler's data of a module (vm_module.host_code). */
typedef struct made_module {
    jit_code *code; /* the host code of the module; NULL until the first region exists */
    unsigned names;
    made_function functions[]; /* indexed by function; the second half is for launches that an observer watches */
} made_module;

/* A device's compiler. The lock `lock` guards all members except the counters. */
typedef struct compiler {
    struct vm_jit jit; /* the first member, so that a pointer to `jit` is also a pointer to this struct */
    const kiln_allocator *mem;
    jit_llvm *llvm;
    bool refused;   /* LLVM cannot be used */
    uint64_t found; /* warp instructions of code that became hot before LLVM was opened */
    /* regions: the regions that were ever made; live: the regions of modules that are still loaded */
    atomic_ulong regions, live;
    jit_table table;
    pthread_mutex_t lock;
} compiler;

/* ---- analysis of a function ---- */

static made_module *open_module(compiler *c, vm_module *module)
{
    if (module->host_code)
        return module->host_code;
    return module->host_code = kiln__calloc(
               c->mem, 1, sizeof(made_module) + 2 * (size_t)module->ptx->function_count * sizeof(made_function));
}

static made_function *get_function(made_module *module, const vm_function *function, bool watched)
{
    const vm_module *of = function->module;
    return &module->functions[(size_t)(function - of->functions) + (watched ? of->ptx->function_count : 0)];
}

/* Finds the operands, the constants and the live registers of a function, if this was not done before. Returns false if
 * memory runs out. */
static bool analyse_function(compiler *c, made_function *made, const vm_function *function, const vm_runner *runner)
{
    if (made->live)
        return true;
    const size_t count = function->code_count;
    if (!made->insns)
        made->insns = kiln__calloc(c->mem, count, sizeof *made->insns);
    if (!made->seen)
        made->seen = kiln__calloc(c->mem, count, 1);
    if (!made->moves)
        made->moves = jit_moves_new(c->mem, function);
    if (!made->insns || !made->seen || !made->moves)
        return false;
    memset(made->seen, JIT_UNSEEN, count);
    jit_table_fill(&c->table, function->module->table);
    for (uint32_t at = 0; at < count; at++) {
        jit_look(&c->table, made->moves, function, at, &made->insns[at]);
        if (runner->access)
            jit_watch(function, at, runner->shown + function->first_tally, &made->insns[at]);
        made->shuffles = made->shuffles || function->code[at].masked == vm_op_shfl;
    }
    made->live = jit_live_new(c->mem, function, made->insns);
    /* clear[] must not change after `blank` is set, and the function may be analysed with and without checks */
    if (made->live && function->ptx->entry && !atomic_load_explicit(&function->compiled->blank, memory_order_relaxed) &&
        jit_live_clear(made->live, function, function->compiled))
        atomic_store_explicit(&function->compiled->blank, true, memory_order_release);
    return made->live != NULL;
}

/* Returns the pattern of the addresses of an access, which the current contents of the register `slot` show. `word` is
 * true if the register has 32 bits. A register is zero until it is written. So a lane whose address is 0 has not
 * executed the access, and does not count. Returns JIT_UNSEEN if no lane has executed the access. If `zero` is true,
 * lanes whose address is 0 count too. */
static unsigned get_pattern(const vm_warp *w, const vm_code *i, uint32_t slot, bool word, bool zero)
{
    const uint64_t span = (uint64_t)i->size * i->count;
    bool one = true, row = true, ones = true, rows = true;
    uint32_t first = VM_LANES, begin[2] = {VM_LANES, VM_LANES}; /* the first lane that counts; the same in each half */
    uint64_t at[VM_LANES];
    for (uint32_t l = 0; l < VM_LANES; l++) {
        at[l] = word ? vm_r32(w, slot)[l] : vm_r64(w, slot)[l];
        if (at[l] == 0 && !zero)
            continue;
        uint32_t *half = &begin[l / (VM_LANES / 2)];
        first = first == VM_LANES ? l : first;
        *half = *half == VM_LANES ? l : *half;
        one = one && at[l] == at[first];
        row = row && at[l] - at[first] == (l - first) * span;
        ones = ones && at[l] == at[*half];
        rows = rows && at[l] - at[*half] == (l - *half) * span;
    }
    if (first == VM_LANES)
        return JIT_UNSEEN;
    if (i->count == 1 || i->count == 2 || i->count == 4) {
        if (one || row)
            return one ? JIT_ONE : JIT_ROW;
        if (i->count == 1 && (ones || rows))
            return ones ? JIT_ONES : JIT_ROWS;
    }
    return JIT_ANY;
}

/* Returns the narrowest pattern that covers both patterns. */
static jit_pattern merge_patterns(unsigned a, unsigned b)
{
    if (a == b || a == JIT_UNSEEN)
        return (jit_pattern)b;
    if ((a == JIT_ONE && b == JIT_ONES) || (a == JIT_ROW && b == JIT_ROWS))
        return (jit_pattern)b;
    if ((b == JIT_ONE && a == JIT_ONES) || (b == JIT_ROW && a == JIT_ROWS))
        return (jit_pattern)a;
    return JIT_ANY;
}

/* Returns the directions that lanes take at a branch, according to the current predicates: the result is JIT_TAKEN,
 * JIT_PASSED or both. If lanes of the warp take both, the result also has JIT_MIXED. A backward branch always gets both
 * directions, because a loop may continue or end. */
static unsigned get_ways(const vm_warp *w, const vm_code *i)
{
    const uint32_t taken = *vm_pred(w, i->guard & ~3u) ^ (i->guard & 1 ? VM_ALL : 0);
    if (taken && taken != VM_ALL)
        return JIT_TAKEN | JIT_PASSED | JIT_MIXED;
    if (i->target <= i)
        return JIT_TAKEN | JIT_PASSED;
    return taken ? JIT_TAKEN : JIT_PASSED;
}

/* Merges the facts that the warp's registers show about an instruction into the earlier observations. */
static void observe(const vm_warp *w, made_function *made, const vm_function *function, uint32_t at)
{
    uint8_t *known = &made->seen[at];
    if (made->insns[at].kind == JIT_BRANCH) {
        *known = (uint8_t)((*known == JIT_UNSEEN ? 0u : *known) | get_ways(w, &function->code[at]));
    } else if (jit_is_access(&made->insns[at])) {
        const vm_code *i = &function->code[at];
        const uint32_t slot = jit_address(function, made->insns, at);
        const bool word = jit_shapes[made->insns[at].id].shared && slot == i->a;
        const unsigned pattern = get_pattern(w, i, slot, word, slot == function->window);
        if (pattern != JIT_UNSEEN)
            *known = (uint8_t)merge_patterns(*known, pattern);
    }
}

/* ---- compiling ---- */

/* Several regions whose LLVM IR is written into one text. */
typedef struct batch {
    uint32_t heads[HEADS], need[HEADS];
    bool series[HEADS];
    char names[HEADS][16];
    jit_symbol symbols[HEADS];
    unsigned count;
} batch;

/* Returns true if a region for whole warps begins at the instruction. `watched` selects launches with an observer, or
 * launches without an observer. */
static bool has_region(const vm_function *function, uint32_t at, bool watched)
{
    _Atomic(vm_native *) *all = atomic_load(&function->compiled->at);
    const vm_native *region = all ? atomic_load(&all[at]) : NULL;
    return region && region->run && region->watched == watched;
}

static _Atomic(vm_native *) *open_table(compiler *c, const vm_function *function)
{
    _Atomic(vm_native *) *all = atomic_load(&function->compiled->at);
    if (!all) {
        all = kiln__calloc(c->mem, function->code_count, sizeof *all);
        atomic_store(&function->compiled->at, all);
    }
    return all;
}

/* Installs a function as a region, so that other threads run it from now on. A new vm_native replaces the old
 * vm_native. A vm_native has one function for whole warps and one function for paths. If `partial` is true, the
 * function at `address` is the function for paths, and the new vm_native takes the function for whole warps from the
 * old one. If `partial` is false, it takes the function for paths from the old one. A vm_native for launches with an
 * observer takes over nothing from a vm_native for other launches, and the reverse. Does nothing if `address` is 0 or
 * memory runs out. */
static void install(compiler *c, made_function *made, const jit_unit *unit, uint32_t head, uint64_t address,
                    uint32_t need, bool series, uint32_t first, uint32_t last, bool partial)
{
    const vm_function *function = unit->function;
    _Atomic(vm_native *) *all = open_table(c, function);
    made_region *r = all ? kiln__calloc(c->mem, 1, sizeof *r) : NULL;
    if (!r || !address) {
        kiln__free(c->mem, r);
        return;
    }
    vm_code *i = &function->code[head];
    const bool watched = unit->access != NULL;
    const made_region *before = (made_region *)atomic_load(&all[head]);
    *r = (made_region){
        .region = {.own = before ? before->region.own : i->full, .need = need, .watched = watched, .series = series},
        .next = made->regions,
        .first = first,
        .last = last,
        .tries = before && before->region.run ? before->tries + 1 : 0};
    if (before && before->region.watched != watched)
        before = NULL, r->tries = 0;
    if (before && partial) {
        r->region.run = before->region.run;
        r->region.need = before->region.need;
        r->region.series = before->region.series;
        r->first = before->first, r->last = before->last, r->tries = before->tries;
    } else if (before) {
        r->region.partial = before->region.partial;
        r->region.partial_need = before->region.partial_need;
    }
    memcpy(partial ? &r->region.partial : &r->region.run, &address, sizeof r->region.run);
    if (partial)
        r->region.partial_need = need;
    r->region.alive = made->shuffles;
    made->regions = r;
    atomic_store_explicit(&all[head], &r->region, memory_order_release);
    __atomic_store_n(&i->full, vm_op_region, __ATOMIC_RELEASE);
    atomic_fetch_add(&c->regions, 1);
    atomic_fetch_add(&c->live, 1);
}

/* Returns the index after the next instruction that a region cannot hold. */
static uint32_t find_next_stop(const jit_unit *unit, uint32_t at, uint32_t last)
{
    while (at <= last && unit->insns[at].kind != JIT_STOP)
        at++;
    return at + 1;
}

/* Writes a region that begins at `head`. Then writes regions that begin where the written regions end, until no such
 * place is left. */
static void write_all(const jit_unit *unit, made_module *module, uint32_t head, uint32_t first, uint32_t last,
                      kiln__text *text, batch *b)
{
    const vm_function *function = unit->function;
    bool *stops = kiln__calloc(unit->mem, function->code_count + 2u, sizeof *stops);
    bool *done = kiln__calloc(unit->mem, function->code_count + 2u, sizeof *done);
    if (stops && done) {
        jit_emit_begin(unit, text);
        stops[head] = true;
    }
    for (bool more = stops && done; more;) {
        more = false;
        for (uint32_t at = first; at <= last && b->count < HEADS; at++) {
            if (!stops[at] || done[at] || function->code[at].masked == ops_atom ||
                /* The handler of this instruction copies its code, so the instruction cannot begin a region. */
                (at != head && has_region(function, at, unit->access != NULL)))
                continue;
            more = done[at] = true;
            b->heads[b->count] = at;
            snprintf(b->names[b->count], sizeof b->names[0], "r%u", module->names++);
            b->need[b->count] = jit_emit(unit, text, b->names[b->count], at, first, last, stops, &b->series[b->count]);
            /* No region can begin at this instruction. A region may begin after the next instruction that regions
             * cannot hold. */
            if (!b->need[b->count])
                stops[find_next_stop(unit, at, last)] = true;
            b->count += b->need[b->count] != 0;
        }
    }
    kiln__free(unit->mem, stops);
    kiln__free(unit->mem, done);
}

static jit_unit get_unit(const compiler *c, const made_function *made, const vm_function *function,
                         const vm_runner *runner)
{
    return (jit_unit){.mem = c->mem,
                      .function = function,
                      .insns = made->insns,
                      .seen = made->seen,
                      .moves = made->moves,
                      .live = made->live,
                      .shuffles = made->shuffles,
                      .typed = jit_llvm_typed(c->llvm),
                      .wide = jit_llvm_wide(c->llvm),
                      .watched = runner->access ? runner->shown + function->first_tally : NULL,
                      .access = runner->access,
                      .atom = jit_run_watched};
}

static void compile_regions(compiler *c, made_module *module, made_function *made, const vm_function *function,
                            const vm_runner *runner, uint32_t head, uint32_t first, uint32_t last)
{
    const jit_unit unit = get_unit(c, made, function, runner);
    kiln__text text = {.mem = c->mem};
    batch b = {.count = 0};
    write_all(&unit, module, head, first, last, &text, &b);
    for (unsigned k = 0; k < b.count; k++)
        b.symbols[k].name = b.names[k];
    if (text.length > LENGTH)
        b.count = 0;
    if (b.count && !module->code)
        module->code = jit_code_new(c->llvm);
    if (b.count && module->code && !text.failed &&
        jit_code_add(c->llvm, module->code, kiln__text_get(&text), text.length, b.symbols, b.count))
        for (unsigned k = 0; k < b.count; k++)
            install(c, made, &unit, b.heads[k], b.symbols[k].address, b.need[k], b.series[k], first, last, false);
    kiln__text_free(&text);
}

/* Compiles the paths of a diverged warp within [first, last]. The result is one function, which can begin at each of
 * its heads. */
static void compile_paths(compiler *c, made_module *module, made_function *made, const vm_function *function,
                          const vm_runner *runner, uint32_t first, uint32_t last)
{
    const jit_unit unit = get_unit(c, made, function, runner);
    kiln__text text = {.mem = c->mem};
    char name[16];
    bool *heads = kiln__calloc(c->mem, function->code_count + 1u, sizeof *heads);
    snprintf(name, sizeof name, "r%u", module->names++);
    jit_symbol symbol = {.name = name};
    jit_emit_begin(&unit, &text);
    const uint32_t need = heads ? jit_emit_partial(&unit, &text, name, first, last, heads) : 0;
    if (need && text.length <= LENGTH && !module->code)
        module->code = jit_code_new(c->llvm);
    if (need && text.length <= LENGTH && module->code && !text.failed &&
        jit_code_add(c->llvm, module->code, kiln__text_get(&text), text.length, &symbol, 1))
        for (uint32_t at = first; at <= last; at++)
            if (heads[at])
                install(c, made, &unit, at, symbol.address, need, false, first, last, true);
    kiln__free(c->mem, heads);
    kiln__text_free(&text);
}

/* Opens LLVM when it is first needed, because opening takes time, and most processes do not need LLVM. Returns false if
 * LLVM cannot be used, or if the device already has MOST regions. */
static bool open_llvm(compiler *c)
{
    if (!c->llvm && !c->refused) {
        c->llvm = jit_llvm_open(c->mem, getenv("KILN_SIM_ISA"));
        c->refused = !c->llvm;
    }
    return c->llvm && jit_llvm_alive() && atomic_load(&c->live) < MOST;
}

/* Returns true if so much hot code has been executed that opening LLVM is worth its time. The limit is about 4 million
 * warp instructions. */
static bool is_worth_opening(compiler *c, uint64_t executed)
{
    enum { OPENING = 128 }; /* this number times the threshold is about 4 million */
    c->found += executed;
    return c->llvm || c->found >= (uint64_t)(c->jit.threshold - 1) * OPENING;
}

/* Implements vm_jit.hot: observes warm code, and compiles the code at the threshold. */
static void handle_hot(struct vm_jit *jit, vm_warp *w, const vm_code *from, const vm_code *to, bool enough)
{
    compiler *c = (compiler *)jit;
    const vm_function *function = w->frame->function;
    const uint32_t first = (uint32_t)(from - function->code), last = (uint32_t)(to - function->code);
    uint32_t *heat = &function->code[last].c;
    /* another thread compiles now; a later call of handle_hot() tries again */
    if (pthread_mutex_trylock(&c->lock) != 0) {
        if (enough)
            __atomic_store_n(heat, 0, __ATOMIC_RELAXED);
        return;
    }
    /* the function changes only the host code of the module */
    vm_module *module = (vm_module *)(uintptr_t)w->runner->run->launch->module;
    made_module *of_module = !c->refused && function->module == module ? open_module(c, module) : NULL;
    const vm_runner *runner = w->runner;
    made_function *made = of_module ? get_function(of_module, function, runner->access != NULL) : NULL;
    if (made && !has_region(function, first, runner->access != NULL) && analyse_function(c, made, function, runner)) {
        for (uint32_t at = first; at <= last; at++)
            observe(w, made, function, at);
        if (enough && !is_worth_opening(c, (uint64_t)__atomic_load_n(heat, __ATOMIC_RELAXED) * (last - first + 1)))
            __atomic_store_n(heat, 0, __ATOMIC_RELAXED);
        else if (enough && open_llvm(c))
            compile_regions(c, of_module, made, function, runner, first, first, last);
        if (enough && runner->run->device->check) /* other launches of the kernel may need the other kind of region */
            __atomic_store_n(heat, 0, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&c->lock);
}

/* Implements vm_jit.split: compiles the paths of the code around a branch at which lanes diverge. Sets the counters of
 * all branches of that code to their final value, so that the code is compiled only once. */
static void handle_split(struct vm_jit *jit, vm_warp *w, const vm_code *i)
{
    enum { AROUND = 256 }; /* number of instructions before and after the branch */
    compiler *c = (compiler *)jit;
    const vm_function *function = w->frame->function;
    const uint32_t at = (uint32_t)(i - function->code);
    /* paths of a launch with an observer are interpreted */
    if (w->runner->access || pthread_mutex_trylock(&c->lock) != 0) {
        __atomic_store_n(&function->code[at].d, 0, __ATOMIC_RELAXED);
        return;
    }
    vm_module *module = (vm_module *)(uintptr_t)w->runner->run->launch->module;
    made_module *of_module = !c->refused && function->module == module ? open_module(c, module) : NULL;
    made_function *made = of_module ? get_function(of_module, function, false) : NULL;
    const uint64_t executed = (uint64_t)__atomic_load_n(&function->code[at].d, __ATOMIC_RELAXED) * VM_LANES;
    if (made && analyse_function(c, made, function, w->runner)) {
        if (!is_worth_opening(c, executed)) {
            __atomic_store_n(&function->code[at].d, 0, __ATOMIC_RELAXED);
        } else if (open_llvm(c)) {
            const uint32_t first = at > AROUND ? at - AROUND : 0;
            const uint32_t last = function->code_count - 1 - at > AROUND ? at + AROUND : function->code_count - 1;
            compile_paths(c, of_module, made, function, w->runner, first, last);
            for (uint32_t k = first; k <= last; k++)
                if (function->code[k].masked == vm_op_bra)
                    __atomic_store_n(&function->code[k].d, UINT32_MAX, __ATOMIC_RELAXED);
        }
    }
    pthread_mutex_unlock(&c->lock);
}

/* Returns the pattern of the access `k`, if the access `at` has the same register as its address and has the pattern that
 * was observed. If the accesses differ in the number or the size of their elements, only one address for all lanes means
 * the same pattern for both. */
static jit_pattern convert_pattern(const made_function *made, const vm_function *function, uint32_t at, uint32_t k)
{
    const vm_code *a = &function->code[at], *b = &function->code[k];
    const bool same = a->count == b->count && a->size == b->size;
    return same || (made->seen[at] == JIT_ONE && b->count <= 4) ? (jit_pattern)made->seen[at] : JIT_ANY;
}

/* Gives the pattern of an access to the other accesses of [first, last] that use the same register as their address. If
 * the addresses of one access change their layout, the addresses of the others change it too. */
static void spread_pattern(made_function *made, const vm_function *function, uint32_t at, uint32_t first, uint32_t last)
{
    if (!jit_is_access(&made->insns[at]) || made->seen[at] == JIT_UNSEEN)
        return;
    const uint32_t slot = jit_address(function, made->insns, at);
    for (uint32_t k = first; k <= last; k++)
        if (k != at && jit_is_access(&made->insns[k]) && jit_address(function, made->insns, k) == slot &&
            made->seen[k] != JIT_UNSEEN)
            made->seen[k] = (uint8_t)merge_patterns(made->seen[k], convert_pattern(made, function, at, k));
}

/* Returns the pattern of the access `at`, which other accesses in [first, last] show that use the same register as their
 * address. Returns JIT_ANY if there are none. */
static uint8_t find_pattern(const made_function *made, const vm_function *function, uint32_t at, uint32_t first,
                            uint32_t last)
{
    const uint32_t slot = jit_address(function, made->insns, at);
    for (uint32_t k = first; k <= last; k++)
        if (jit_is_access(&made->insns[k]) && made->seen[k] != JIT_UNSEEN &&
            jit_address(function, made->insns, k) == slot)
            return (uint8_t)convert_pattern(made, function, k, at);
    return JIT_ANY;
}

/* Lets the region hold all branches and accesses in [first, last], because its observations were wrong several times.
 * Without this function, each branch and access could cost another attempt to compile the region. */
static void widen(made_function *made, const vm_function *function, uint32_t first, uint32_t last)
{
    for (uint32_t k = first; k <= last; k++)
        if (made->insns[k].kind == JIT_BRANCH)
            made->seen[k] = JIT_TAKEN | JIT_PASSED | (function->code[k].target > function->code + k ? JIT_MIXED : 0);
        else if (jit_is_access(&made->insns[k]) && made->seen[k] == JIT_UNSEEN)
            made->seen[k] = find_pattern(made, function, k, first, last);
}

/* Implements vm_jit.missed: observes the instruction at which the region has ended. If the observation is new, compiles
 * the regions from the head on again, at most TRIES times. In all other cases, restores the head's own handler if more
 * than half of the runs miss. With fewer misses the region still saves time, because it runs until it misses. */
static void handle_miss(struct vm_jit *jit, vm_warp *w, const vm_code *head)
{
    compiler *c = (compiler *)jit;
    const vm_function *function = w->frame->function;
    const uint32_t at = (uint32_t)(w->pc - function->code), from = (uint32_t)(head - function->code);
    if (pthread_mutex_trylock(&c->lock) != 0)
        return;
    made_module *module = function->module->host_code;
    made_function *made = module ? get_function(module, function, w->runner->access != NULL) : NULL;
    _Atomic(vm_native *) *all = atomic_load(&function->compiled->at);
    made_region *r = made ? (made_region *)atomic_load(&all[from]) : NULL;
    if (r && r->region.own != head->full && r->region.watched == (w->runner->access != NULL)) {
        const uint8_t before = made->seen[at];
        observe(w, made, function, at);
        spread_pattern(made, function, at, r->first, r->last);
        if (r->tries + 1 >= NARROW)
            widen(made, function, r->first, r->last);
        const bool again = before != made->seen[at] && r->tries < TRIES;
        if (again || atomic_load(&r->region.missed) > atomic_load(&r->region.entered) / 2)
            __atomic_store_n(&function->code[from].full, r->region.own, __ATOMIC_RELEASE);
        if (again)
            compile_regions(c, module, made, function, w->runner, from, r->first, r->last);
    }
    pthread_mutex_unlock(&c->lock);
}

static void drop_module(struct vm_jit *jit, vm_module *module)
{
    compiler *c = (compiler *)jit;
    made_module *made = module->host_code;
    for (uint32_t f = 0; made && f < 2 * module->ptx->function_count; f++) {
        made_function *of = &made->functions[f];
        while (of->regions) {
            made_region *r = of->regions;
            of->regions = r->next;
            kiln__free(c->mem, r);
            atomic_fetch_sub(&c->live, 1);
        }
        if (f < module->ptx->function_count)
            kiln__free(c->mem, (void *)atomic_load(&module->functions[f].compiled->at));
        kiln__free(c->mem, of->insns);
        kiln__free(c->mem, of->seen);
        kiln__free(c->mem, of->moves);
        jit_live_free(c->mem, of->live);
    }
    if (made && made->code)
        jit_code_free(c->llvm, made->code);
    kiln__free(c->mem, made);
    module->host_code = NULL;
}

static void free_compiler(struct vm_jit *jit)
{
    compiler *c = (compiler *)jit;
    jit_llvm_close(c->llvm);
    pthread_mutex_destroy(&c->lock);
    kiln__free(c->mem, c);
}

bool sim_jit_open(vm_device *device, uint32_t threshold)
{
    if (threshold == 0 || device->jit)
        return true;
    compiler *c = kiln__calloc(device->mem, 1, sizeof *c);
    if (!c)
        return false;
    c->mem = device->mem;
    c->jit = (struct vm_jit){.threshold = threshold,
                             .hot = handle_hot,
                             .missed = handle_miss,
                             .split = handle_split,
                             .drop = drop_module,
                             .free = free_compiler};
    if (pthread_mutex_init(&c->lock, NULL) != 0) {
        kiln__free(device->mem, c);
        return false;
    }
    device->jit = &c->jit;
    return true;
}

uint64_t sim_jit_regions(const vm_device *device)
{
    const compiler *c = (const compiler *)device->jit;
    return c ? atomic_load(&c->regions) : 0;
}

bool sim_jit_usable(vm_device *device)
{
    compiler *c = (compiler *)device->jit;
    if (!c)
        return false;
    pthread_mutex_lock(&c->lock);
    const bool usable = open_llvm(c);
    pthread_mutex_unlock(&c->lock);
    return usable;
}

const char *sim_jit_library(const kiln_allocator *mem)
{
    jit_llvm *llvm = jit_llvm_open(mem, getenv("KILN_SIM_ISA"));
    const char *name = llvm ? jit_llvm_name(llvm) : NULL; /* the name of the library never changes */
    jit_llvm_close(llvm);
    return name;
}
