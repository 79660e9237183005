/* warp.c - runs a warp: its paths in turn (path.c), instruction by instruction or in regions of compiled code. */
#include "vm_block.h"
#include "vm_hooks.h"
#include "vm_jit.h"
#include "vm_memory.h"
#include "vm_path.h"

/* Lanes that wait at a reconvergence point do not wait for ever, because the other lanes may be spinning on a value
 * that the waiting lanes will write. After PATIENCE operations of a warp without a reconvergence, the waiting lanes
 * continue without the others. */
#define PATIENCE 2000000u
/* The waiting lanes also continue if paths that seem to spin have yielded more often than this number. */
#define PATIENCE_SPINS 16u
/* The waiting lanes also continue if paths that waited in vain have yielded more often than this number. Usually
 * wait_round() of run.c finds a launch that waits in vain earlier. */
#define PATIENCE_IN_VAIN 65536u
/* operations of a path before the turn of the next path of a divergent warp */
#define TURN 4096u
/* the `end` of an empty span; it is larger than the width of any access, so that `end` minus a width does not wrap */
#define NOWHERE 256u

/* Selects the next ready path of the warp, in turn. Returns false if no path is ready. */
static bool select_next_path(vm_warp *w)
{
    uint32_t at = w->current == VM_PATHS ? 0 : w->current + 1;
    for (uint32_t k = 0; k < w->path_count; k++, at++) {
        at = at >= w->path_count ? 0 : at;
        const vm_path *path = &w->paths[at];
        if (path->state == VM_PATH_READY) {
            vm_warp_select(w, path);
            return true;
        }
    }
    w->current = VM_PATHS;
    return false;
}

/* Executes the head instruction of a region by the interpreter's handler of that instruction. */
void vm_op_region(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_function *function = w->frame->function;
    _Atomic(vm_native *) *at = atomic_load_explicit(&function->compiled->at, memory_order_acquire);
    atomic_load_explicit(&at[i - function->code], memory_order_acquire)->own(w, i, m);
}

void vm_warp_count_miss(vm_warp *w, const vm_code *head, vm_native *region, unsigned weight, unsigned share)
{
    enum { LOOK = 256 }; /* the compiler is called once for this number of counted misses */
    const unsigned before = atomic_load_explicit(&region->missed, memory_order_relaxed), missed = before + weight;
    atomic_store_explicit(&region->missed, missed, memory_order_relaxed);
    if (missed / LOOK != before / LOOK && missed > atomic_load_explicit(&region->entered, memory_order_relaxed) / share)
        w->runner->jit->missed(w->runner->jit, w, head);
}

/* Runs the compiled region that begins at `i`. Returns how many operations it executed. Returns 0 if the interpreter
 * must execute the head itself. Adds the region's counts to *lanes and *added, as vm_native_run does. */
static __attribute__((noinline)) uint64_t run_region(vm_warp *w, const vm_code *i, uint64_t left, uint64_t *lanes,
                                                     uint64_t *added)
{
    enum {
        SHARE = 4,    /* the compiler is called if more than 1 / SHARE of the entries miss */
        EXACT = 4096, /* the number of first entries that are all counted */
        /* Later only one entry in SAMPLE is counted, because host threads that write the same counter wait for each
         * other. */
        SAMPLE = 1023,
    };
    const vm_function *function = w->frame->function;
    _Atomic(vm_native *) *at = atomic_load_explicit(&function->compiled->at, memory_order_acquire);
    vm_native *region = atomic_load_explicit(&at[i - function->code], memory_order_acquire);
    if (!w->runner->jit || region->watched != (w->runner->access != NULL))
        return 0;
    if (w->mask != VM_ALL) {
        const bool fits = region->partial && left >= region->partial_need && !(region->alive && w->dead);
        const uint64_t ran = fits ? region->partial(w, (uintptr_t)w->base[0], left, lanes, added) : 0;
        if (ran == 0)
            w->pc = i + 1;
        return ran;
    }
    if (!region->run || left < region->need)
        return 0;
    for (const vm_sync *sync = w->sync; sync && sync->frame == w->frame; sync = sync->parent)
        if (sync->pc)
            return 0; /* a reconvergence point lies in this frame */
    const unsigned entered = atomic_load_explicit(&region->entered, memory_order_relaxed);
    const unsigned weight = entered < EXACT ? 1 : ++w->runner->entries % SAMPLE == 0 ? SAMPLE : 0;
    if (weight)
        atomic_store_explicit(&region->entered, entered + weight, memory_order_relaxed);
    uint64_t done = region->run(w, region->series ? 0 : (uintptr_t)w->base[0], left, lanes, added);
    if (VM_UNLIKELY(done & VM_REGION_MISSED)) {
        done &= ~VM_REGION_MISSED;
        if (weight)
            vm_warp_count_miss(w, i, region, weight, SHARE);
    }
    if (done == 0)
        w->pc = i + 1;
    return done;
}

/* The inner loop of the interpreter. Runs the selected path for at most `turn` operations, or until an event. Returns
 * how many operations ran.
 *
 * An operation is an instruction of the PTX, or an extra operation that the decoder adds to an instruction. Turns and
 * the step budget count instructions and extra operations. In contrast, w->issued and w->lanes count only instructions.
 *
 * If `watched` is true, an observer sees an instruction before it runs, and may remove lanes. The observer sees no
 * extra operations. If the runner has a table `shown`, the observer sees only the instructions that the table selects.
 * Compiled code calls the observer itself. */
static inline __attribute__((always_inline)) uint64_t run_loop(vm_warp *w, uint64_t turn, bool watched)
{
    uint32_t (*const show)(vm_warp *, const vm_code *, uint32_t) = watched ? w->runner->show : NULL;
    const uint8_t *const shown = watched ? w->runner->shown : NULL;
    uint64_t lanes = 0, added = 0, left = turn;
    do {
        const vm_code *i = w->pc++;
        const vm_handler full = __atomic_load_n(&i->full, __ATOMIC_ACQUIRE);
        if (VM_UNLIKELY(full == vm_op_region) && (!watched || shown)) {
            uint64_t done = run_region(w, i, left, &lanes, &added);
            if (done) {
                left -= done;
                continue;
            }
        }
        uint32_t g = *(const uint32_t *)(const void *)(w->base[0] + (i->guard & ~3u)) ^ (0 - (i->guard & 1));
        uint32_t m = w->mask & g, extra = i->guard >> 1 & 1;
        lanes += extra ? 0 : vm_lanes_of(m);
        added += extra;
        left--;
        if (watched && !extra && (!shown || (m && shown[w->frame->function->first_tally + i->insn])))
            m = show(w, i, m);
        if (VM_LIKELY((m | w->dead) == VM_ALL && m))
            full(w, i, m);
        else if (m)
            i->masked(w, i, m);
    } while (VM_LIKELY(left && !w->event));
    w->lanes += lanes;
    w->issued += turn - left - added;
    w->idle += turn - left;
    return turn - left;
}
static uint64_t run_path(vm_warp *w, uint64_t turn) { return run_loop(w, turn, false); }
static uint64_t run_watched(vm_warp *w, uint64_t turn) { return run_loop(w, turn, true); }

void vm_warp_step(vm_warp *w)
{
    const struct vm_hooks *hooks = w->runner->run->hooks;
    if (hooks && hooks->wants(w))
        run_watched(w, 1);
    else
        run_path(w, 1);
}

void vm_runner_refresh(vm_runner *runner)
{
    uint64_t generation = atomic_load_explicit(&runner->run->device->generation, memory_order_acquire);
    if (generation != atomic_load_explicit(&runner->generation, memory_order_relaxed)) {
        uint32_t count = runner->run->launch->module->cache_count;
        for (uint32_t k = 0; k < count; k++)
            runner->cache[k] = (vm_span){.base = UINT64_MAX, .end = NOWHERE};
        for (unsigned k = 0; k < KILN__COUNT(runner->recent); k++)
            runner->recent[k] = (vm_span){.base = UINT64_MAX, .end = NOWHERE};
        vm_runner_update(runner, generation);
    }
}

static uint32_t count_ready_paths(const vm_warp *w)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < w->path_count; k++)
        count += w->paths[k].state == VM_PATH_READY;
    return count;
}

bool vm_is_end(const vm_code *i) { return (i->masked == vm_op_exit || i->masked == vm_op_ret) && !(i->guard & ~2u); }

/* Runs the region at the first instruction of a kernel. Most short kernels are a single region. So if the region ends
 * at an unguarded exit, the warp ends in this function, as in vm_op_exit(). The lanes of the warp wait nowhere. The
 * code is compiled already, so its heat is not counted. Returns the number of operations that have run. */
static uint64_t run_first_region(vm_warp *w, const vm_code *i, uint64_t quantum)
{
    uint64_t lanes = 0, added = 0;
    const uint64_t ran = run_region(w, i, quantum, &lanes, &added);
    if (!ran) {
        w->pc = i;
        return 0;
    }
    const vm_code *at = w->pc;
    const bool ends = ran < quantum && !w->event && w->mask == VM_ALL && vm_is_end(at);
    const bool counts = ends && !(at->guard & 2);
    w->issued += ran - added + counts;
    w->lanes += lanes + (counts ? VM_LANES : 0);
    w->idle += ran;
    if (!ends)
        return ran;
    w->dead = VM_ALL;
    w->mask = w->path_count = 0;
    w->current = VM_PATHS;
    w->block->live -= VM_LANES;
    w->block->cluster->live -= VM_LANES;
    w->block->left = at;
    w->block->left_in = w->root->function;
    if (w->block->barred)
        vm_barriers_check(w->block);
    return ran + 1;
}

/* Runs a turn of a warp that is a single path of 32 lanes, without the work for several paths. The work for several
 * paths would take most of the time of a warp that runs few instructions until it ends or waits at a barrier. Returns
 * true if the turn is over, because the warp has ended, or because it waits at a barrier of the block. Sets *begun to
 * the number of operations that have run, at most `quantum`. If the turn is not over, vm_warp_run() must continue it.
 *
 * The function needs a launch that has neither hooks nor clusters. run_whole_warps() ensures this precondition. */
bool vm_warp_run_whole(vm_warp *w, uint64_t quantum, uint64_t *begun)
{
    const vm_path *path = &w->paths[0];
    const vm_code *i = path->pc;
    *begun = 0;
    if (w->path_count != 1 || path->mask != VM_ALL || path->state != VM_PATH_READY)
        return false;
    vm_warp_select(w, path);
    w->event = 0;
    w->gave_way = w->in_vain = w->phase_over = w->moved = false;
    vm_runner_refresh(w->runner);
    if (i == w->root->function->code && __atomic_load_n(&i->full, __ATOMIC_ACQUIRE) == vm_op_region)
        *begun = run_first_region(w, i, quantum);
    if (w->path_count == 0)
        return true;
    if (*begun < quantum && !w->event)
        *begun += run_path(w, quantum - *begun);
    const bool waits = w->path_count == 1 && w->paths[0].state == VM_PATH_BARRIER;
    if (w->event != VM_EVENT_SWITCH || (w->path_count && !waits))
        return false;
    if (waits && w->idle > PATIENCE) /* as in vm_warp_run() */
        vm_warp_release_waiting(w);
    return true;
}

/* Runs the paths of a warp in turn, for about `quantum` instructions. Ends sooner if all paths wait, or if the warp
 * should give way to other warps. `begun` is the number of operations of this quantum that vm_warp_run_whole() has
 * already run on the selected path. */
void vm_warp_run(vm_warp *w, uint64_t quantum, uint64_t begun)
{
    w->event = begun ? w->event : 0;
    w->gave_way = w->in_vain = w->phase_over = false;
    const struct vm_hooks *hooks = w->runner->run->hooks;
    bool watched = hooks && hooks->wants(w);
    uint64_t spent = 0;
    uint32_t in_vain = 0; /* number of consecutive paths that only waited */
    while (begun || (spent < quantum && select_next_path(w))) {
        uint64_t turn = w->path_count > 1 && quantum - spent > TURN ? TURN : quantum - spent;
        uint64_t charge = w->charge;
        if (!begun) {
            vm_runner_refresh(w->runner);
            w->moved = false;
        }
        if (begun < turn && !w->event)
            spent += watched ? run_watched(w, turn - begun) : run_path(w, turn - begun);
        spent += begun + w->charge - charge;
        begun = 0;
        if (w->current != VM_PATHS && w->paths[w->current].state == VM_PATH_READY)
            vm_warp_save(w);
        if (w->event & VM_EVENT_FAULT)
            break;
        const bool vain = w->event & VM_EVENT_IN_VAIN, yield = !vain && w->event & VM_EVENT_YIELD;
        const bool phase_over = w->event & VM_EVENT_PHASE;
        in_vain = vain && !w->moved ? in_vain + 1 : 0;
        w->event = 0;
        w->yields += yield;
        w->vain_yields += vain;
        if (w->idle > PATIENCE || w->yields > PATIENCE_SPINS || w->vain_yields > PATIENCE_IN_VAIN)
            vm_warp_release_waiting(w);
        const bool all_in_vain = in_vain && in_vain >= count_ready_paths(w);
        const bool gave_way = all_in_vain || phase_over || ((yield || vain) && w->path_count <= 1);
        w->phase_over = phase_over;
        w->in_vain = all_in_vain;
        w->gave_way = gave_way;
        if (gave_way)
            break; /* lets other warps and blocks run */
        if (yield)
            spent += TURN;
    }
}
