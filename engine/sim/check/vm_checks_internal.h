/* vm_checks_internal.h - what the files vm_check*.c share. */
#ifndef KILN_SIM_VM_CHECKS_INTERNAL_H
#define KILN_SIM_VM_CHECKS_INTERNAL_H

#include "vm_checks.h"

/* Addresses of one instruction's lanes relative to the first. The same patterns repeat, so their analysis is cached. */
typedef struct vm_parts vm_parts;
typedef struct vm_pattern {
    uint32_t insn, lanes, bytes, count; /* insn + 1; count: of different addresses */
    uint32_t rel[VM_LANES], live[VM_LANES];
    uint32_t hits; /* how often it has come again */
    uint8_t shift; /* that `parts` are for */
    /* quick.c: what it touches, by the place of the first lane's cell in its group; NULL: not made yet. */
    vm_parts *parts[VM_CELLS];
    int64_t low, high;
    uint64_t bits; /* of all differences: alignment */
    int64_t at[VM_LANES];
    uint32_t who[VM_LANES];          /* the lanes at each of them */
    uint8_t lane[VM_LANES];          /* the first of them */
    const vm_allocation *allocation; /* in which they were last */
    uint64_t generation;
} vm_pattern;
#define VM_PATTERNS 2048u
#ifndef VM_PATTERN_OFTEN     /* fuzz targets, whose launches are short, have their own */
#define VM_PATTERN_OFTEN 16u /* hits after which more is kept of it */
#endif

typedef struct vm_found {
    kiln_check_finding finding; /* its texts are in the arena */
    const vm_module *module;    /* only compared */
    uint32_t insn, other;
} vm_found;
#define VM_FOUND_MOST 256u
#define VM_LAUNCHES_MOST 4096u
typedef struct vm_launched {
    uint32_t after;     /* its accesses are later, and those of the one before it are not */
    uint32_t module;    /* vm_check_code.serial; 0: of another check */
    const char *kernel; /* in the arena */
} vm_launched;
#define VM_FLIGHTS 16384u
#define VM_FARS 16384u
#define VM_FAR_ALL UINT32_MAX /* a record of everything: there was no memory for one, or it is from too long ago */

struct vm_check {
    const kiln_allocator *mem;
    kiln__arena arena;
    vm_device *device;
    uint32_t time, launch;       /* launch: the time the running one started */
    uint32_t known;              /* what happened up to then is ordered before the launch */
    const vm_period *concurrent; /* vm_check_concurrent() */
    size_t concurrent_count;
    vm_found *found;
    size_t found_count;
    uint64_t dropped;
    vm_launched *launches; /* the last ones, earliest first */
    size_t launch_count, launch_room;
    const char **kernels; /* their names, each once */
    size_t kernel_count, kernel_room;
    uint32_t modules;                  /* the last serial */
    vm_pattern *patterns[VM_PATTERNS]; /* made when one is needed */
    vm_pattern spare;                  /* where there is no memory for one */
    size_t cell_bytes;
    vm_flight *flights;             /* the last VM_FLIGHTS, by number; NULL until there is one */
    uint32_t last_fence;            /* fence.proxy.async */
    uint32_t flight, launch_flight; /* numbers: the last one; the last one before the launch */
    vm_far *fars;                   /* the last VM_FARS, by number; NULL until there is one */
    uint32_t far;                   /* the last one's number */
    uint32_t far_owner;
    bool quick;     /* vm_check_can_quick() */
    uint32_t often; /* VM_PATTERN_OFTEN; suites set less */
    bool starved;
    bool told; /* the reason for the end of the launch was reported in more detail */
};

#define VM_NO_INSN UINT32_MAX
static inline uint32_t vm_check_tick(vm_check *check)
{
    return check->time == UINT32_MAX - 2 ? check->time : check->time++;
}
static inline uint32_t vm_insn_of(const vm_warp *w, const vm_code *i)
{
    return (uint32_t)(w->frame->function->first_tally + i->insn);
}

/* ---- check.c: findings ---- */

bool vm_check_can_quick(void); /* vm_check_quick() may be called; KILN_SIM_ISA=base: it shall not */

/* A finding at (insn, other) of the launched module: if it is known, counts it and returns NULL; else returns a new one
 * to fill in, with kernel, places and the example's thread set. Texts by vm_check_print(). */
kiln_check_finding *vm_check_find(vm_warp *w, kiln_check_kind kind, bool note, uint32_t insn, uint32_t other,
                                  uint32_t lane, unsigned times);
const char *vm_check_print(vm_check *check, const char *format, ...) KILN__PRINTF(2, 3);
void vm_check_side_place(vm_check *check, const vm_module *module, uint32_t insn, kiln_check_side *side);
void vm_check_side_thread(const vm_warp *w, const vm_mark *s, kiln_check_side *side);
kiln_check_finding *vm_check_host(vm_check *check, kiln_check_kind kind, bool note, uint64_t key);
/* Sets the buffer in or beside which the finding's address lies; the address is in global memory. */
void vm_check_label(vm_check *check, vm_device *device, kiln_check_finding *f);

/* ---- streams.c ---- */
/* Keeps the name of a launch that begins. */
void vm_check_launched(vm_check *check, const vm_run_state *run);
/* The launch that made an access at that time; NULL: it is too long ago, or there was no memory to keep it. */
const vm_launched *vm_check_launch_at(const vm_check *check, uint32_t stamp);
/* Sets `known` of a launch that begins. */
void vm_check_known(vm_check *check);
/* An access of an earlier launch that is not ordered before this one. */
bool vm_check_is_concurrent(const vm_check *check, uint32_t stamp);

/* ---- code.c ---- */
bool vm_check_look(vm_module *module, const kiln_allocator *mem);

/* ---- access.c ---- */

/* One access of one instruction, for all its lanes. */
typedef struct vm_look {
    vm_check *check;
    vm_warp *w;
    const vm_code *code;
    const ptx_insn *in;
    vm_clock *clock;
    const vm_access *a;
    const vm_pattern *p;
    const vm_block *home; /* whose shared memory it is */
    uint64_t window;      /* of the address: 0: the block's own, else a rank + 1 */
    uint32_t insn, limit, now, block, bad;
    uint32_t begin_inside; /* lanes that load from inside to outside: they get what is there */
    bool shared, write, strong, constant, told;
    uint32_t sides;  /* VM_STRONG_SIDE, VM_VOLATILE_SIDE, VM_BLOCK_SIDE */
    bool flagged;    /* the cell was published with a fence since the block began */
    bool quiet;      /* it orders nothing as a flag: mbarriers have their own order */
    uint32_t flight; /* it is of this asynchronous operation; 0: of the thread */
    unsigned see;
} vm_look;
/* vm_check_find() for some of its lanes, with what the access was and where. */
kiln_check_finding *vm_check_start(vm_look *k, kiln_check_kind kind, bool note, uint32_t other, uint32_t lane,
                                   uint32_t lanes);
uint32_t vm_check_access(vm_warp *w, const vm_code *i, uint32_t m, unsigned see);
void vm_parts_drop(vm_check *check, vm_pattern *p);
/* Of one lane; false: it must not be made. `flight`: of this asynchronous operation, 0: of the thread itself. */
bool vm_check_one(vm_warp *w, const vm_code *i, vm_access *a, uint32_t flight);
uint32_t vm_check_free_call(vm_warp *w, const vm_code *i, uint32_t m);

/* ---- quick.c ---- */
/* A plain load or store, or (with VM_SEE_CONSTANT) one of read-only data. True: nothing is wrong with it, and it was
 * noted; false: nothing is known, vm_check_access() has to look. */
bool vm_check_quick(const vm_warp *w, const vm_code *i, uint32_t m, unsigned kind);
extern const bool vm_check_has_vectors; /* it is compiled for AVX2, and may be called where the host has that */

/* ---- bounds.c ---- */
/* Of the shared variable `owner`, or 0: of all that lies in one piece there. False: it is not the kernel's. */
static inline bool vm_check_shared_bounds(const vm_run_state *run, uint64_t address, uint32_t owner, uint64_t *low,
                                          uint64_t *end)
{
    if (owner) {
        *low = run->launch->module->address[owner - 1];
        *end = *low + run->launch->module->ptx->symbols[owner - 1].bytes;
        return *end <= run->shared_gap; /* else it is not this kernel's */
    }
    *low = address < run->shared_gap ? run->shared_low : run->shared_dynamic;
    *end = address < run->shared_gap ? run->shared_gap : run->shared_end;
    if (run->shared_system && address >= run->shared_system)
        *low = run->shared_system, *end = run->shared_reach;
    return true;
}
/* Lanes that would access the shared memory of a block that has exited, or that they must not access, as `why` says. */
void vm_check_no_block(vm_look *k, uint32_t lane, uint32_t lanes, const char *why);
/* The bounds of what the lanes may touch: of all of them, if they lie in one piece. */
bool vm_check_bounds(const vm_look *k, uint64_t address, uint32_t owner, uint64_t *low, uint64_t *end);
/* Returns the lanes with invalid accesses, and reports each. */
uint32_t vm_check_refuse(vm_look *k, uint32_t owner);
const char *vm_check_describe(const vm_look *k, uint32_t lane); /* what lies at its address, for a message */

/* An access to local memory that leaves its variable for another one. */
void vm_check_next_local(vm_look *k);
/* A write that touches the padding of rows. */
void vm_check_padding(vm_look *k, const vm_shadow *shadow, uint64_t offset, uint32_t lane, uint32_t lanes);

/* ---- race.c ---- */
/* One side of a cell that is newer than the limit. */
void vm_check_conflict(vm_look *k, const vm_mark *s, bool other_writes, uint32_t lanes, uint64_t offset);
/* Read-only data must not change during the launch, ordered or not. */
void vm_check_constant(vm_look *k, vm_cell *c, uint32_t lane);
/* Lanes of one store that write different values to one place: which value remains is undefined. */
void vm_check_one_store(vm_look *k);

/* ---- uninitialised.c ---- */
void vm_check_written(vm_look *k, vm_shadow *shadow, uint64_t offset, uint32_t lane,
                      uint32_t lanes);                                         /* global memory */
void vm_check_unwritten(vm_look *k, uint32_t lane, uint32_t lanes, bool note); /* reports it */
void vm_check_local(vm_look *k);                                               /* the same of local memory */
void vm_check_local_known(vm_warp *w, uint32_t lanes);                         /* all of theirs counts as written */

/* ---- async.c ---- */
uint32_t vm_check_async(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m);
/* What one lane does to `bytes` of memory, in pieces of at most 16. False: an access that must not be made. */
bool vm_check_stretch(vm_warp *w, const vm_code *i, uint32_t lane, unsigned space, uint64_t address, uint64_t bytes,
                      unsigned kind, uint32_t flight);

/* ---- flight.c: asynchronous operations ---- */
/* A new one that lanes of the warp begin, in the shared memory of `home`; NULL: out of memory, it is not followed. */
vm_flight *vm_flight_new(vm_warp *w, const vm_code *i, vm_flight_kind kind, uint32_t lanes, vm_block *home);
vm_flight *vm_flight_at(const vm_check *check, uint32_t id); /* NULL: of an earlier launch, or too long ago */
void vm_flight_pend(vm_warp *w, const vm_flight *f);         /* the warp has to wait for it */
/* True if what the operation did happened before the lane's current access; `read`: what it has read. */
bool vm_flight_before(const vm_warp *w, uint32_t id, uint32_t by, uint32_t lane, bool read);
const char *vm_flight_name(const vm_flight *f);
uint32_t vm_flight_copy(vm_warp *w, const vm_code *i, uint32_t m); /* cp.async: its number, 0: it is not followed */
void vm_flight_bind(vm_warp *w, uint32_t m, uint32_t bar);         /* the lanes' copies complete on the mbarrier */
void vm_flight_wait(vm_warp *w, vm_flight_kind kind, uint32_t m, uint32_t leave, bool read); /* wait_group */
/* A mark of the thread becomes one of its operation; the operation reads the cell. */
void vm_flight_write(vm_look *k, vm_cell *c, const vm_mark *me);
void vm_flight_read(vm_look *k, vm_cell *c);
void vm_check_readers(vm_look *k, vm_cell *c, uint32_t lane, uint64_t offset); /* a write where operations read */
void vm_check_proxy(vm_look *k, const vm_mark *s, uint32_t lane, uint64_t offset);
void vm_check_block_end(vm_block *block);

/* ---- product.c: wgmma ---- */
bool vm_check_product_look(vm_module *module, vm_check_code *code, uint8_t *kind); /* false: out of memory */
uint32_t vm_check_product(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m);
void vm_check_product_fence(vm_warp *w);
void vm_check_registers(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m);
/* A product reads what a tensor map has written: with the same swizzle. */
void vm_check_layout(vm_look *k, const vm_flight *reader, const vm_mark *s, uint32_t lane, uint64_t offset);

/* ---- view.c: what threads know of mbarriers and proxy fences ---- */
bool vm_view_new(vm_block *block);
void vm_view_free(vm_block *block);
void vm_view_start(vm_block *block);
void vm_view_arrive(const vm_warp *w, vm_view *to, uint32_t lanes, uint32_t now); /* adds what the lanes know */
/* The same at an mbarrier of another block. Unless the arrival is a release for the cluster, that tells only what the warp
 * has fenced before, and that reads are done: no write has to become visible for them. */
void vm_view_arrive_far(const vm_warp *w, const vm_block *home, vm_bar *bar, uint32_t lanes, bool cluster,
                        uint32_t now);
void vm_view_learn(vm_warp *w, const vm_view *from, uint32_t lanes);
void vm_more_join(const vm_block *block, vm_more *to, const vm_more *from);
void vm_more_learn(vm_warp *w, const vm_more *from, uint32_t lanes);
void vm_more_lanes(vm_warp *w, uint32_t lanes);   /* lanes that synchronise */
void vm_more_acquire(vm_warp *w, uint32_t known); /* all that was before the time: what all of its block know */
bool vm_view_knows(const vm_warp *w, uint32_t bar, uint32_t phase, uint32_t lane);
void vm_view_fence(vm_warp *w, uint32_t m); /* fence.proxy.async */
bool vm_view_fenced(const vm_warp *w, const vm_mark *s, uint32_t lane);

/* ---- far.c: records of what is known of another block's threads ---- */
uint32_t vm_far_join(vm_check *check, uint32_t a, uint32_t b);
/* The record `to` with what the lanes know of their own block. */
uint32_t vm_far_arrive(const vm_warp *w, uint32_t to, uint32_t owner, uint32_t lanes, uint32_t now);
bool vm_far_knows(const vm_check *check, uint32_t id, uint32_t warp, uint32_t lanes, uint32_t when);
bool vm_far_any(const vm_check *check, uint32_t id, uint32_t when); /* of any thread, an access at that time or later */
void vm_far_return(const vm_block *home, vm_view *to, uint32_t id);

/* ---- mbarrier.c ---- */
uint32_t vm_check_mbarrier(vm_warp *w, const vm_code *i, uint32_t m, bool copies);
/* Bytes come to an mbarrier by a copy. False: not an access to shared memory that may be made. */
bool vm_check_complete_tx(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, uint64_t bytes,
                          uint32_t flight);
vm_block *vm_check_home(const vm_warp *w, uint64_t address);   /* whose shared memory it is; NULL: of none that lives */
uint32_t vm_bar_find(const vm_block *block, uint64_t address); /* VM_BAR_NONE: there is none */
void vm_check_announce(vm_warp *w, uint32_t m);                /* fence.mbarrier_init */

/* ---- order.c ---- */
/* True if the access `s` happened before the lane's current access. */
bool vm_check_before(const vm_warp *w, const vm_mark *s, uint32_t lane, bool shared);
/* What lanes of a warp of another block of the cluster have read up to that time may be overwritten. */
bool vm_check_far_done(const vm_warp *w, uint32_t block, uint32_t warp, uint32_t lanes, uint32_t when);
/* Something that another block of the cluster did at that time or later happened before. */
bool vm_check_far_later(const vm_warp *w, uint32_t block, uint32_t when);
void vm_check_join_lanes(vm_warp *w, uint32_t mask); /* they know each other's earlier accesses */
void vm_check_arrive(vm_warp *w, uint32_t barrier);  /* adds what the warp knows to the barrier */
void vm_check_know_all(vm_warp *w);                  /* everything so far happened before its next access */
/* The same at the cluster's; relaxed: only what it has published with a fence. And a wait after it opened. */
void vm_check_cluster_arrive(vm_warp *w, bool relaxed);
void vm_check_cluster_wait(vm_warp *w, uint32_t m);
bool vm_check_is_near(const vm_block *block, uint32_t number); /* the block of that number is in its cluster */
void vm_check_release(vm_warp *w, bool block);                 /* a fence; block: only for the block */
void vm_check_barrier(vm_warp *w, const vm_code *i, uint32_t m);
void vm_check_fence(vm_warp *w, const ptx_insn *in);
void vm_check_settle(const vm_block *block, vm_clock *c); /* after a change of `know`, `full` or `horizon` */

/* ---- the hooks ---- */
bool vm_check_begin(vm_run_state *run); /* false: out of memory */
void vm_check_end(vm_run_state *run);
bool vm_check_block_new(vm_block *block);
void vm_check_block_start(vm_block *block);
void vm_check_block_free(vm_block *block);
/* Before an instruction executes: the lanes that may execute it. The others get poison. */
uint32_t vm_check_insn(vm_warp *w, const vm_code *i, uint32_t m);
void vm_check_met(vm_warp *w, const vm_code *i, uint32_t m, const vm_meeting *meeting); /* vm_hooks.met */
void vm_check_open(vm_block *block, uint32_t barrier); /* it is complete; the paths still wait */
void vm_check_stuck(vm_block *block);                  /* lanes wait at reconvergence points */
void vm_check_deadlock(vm_block *block);               /* no warp will ever continue */
void vm_check_children(vm_block *block);               /* the work that it launched has run */
void vm_check_outside(vm_warp *w, const vm_code *i, uint32_t lane, int64_t at, uint32_t size, bool linear);
void vm_check_malloced(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address);
/* Groups of cells, all zero; NULL: out of memory. Each begins a cache line. */
vm_cells *vm_cells_new(const kiln_allocator *mem, size_t groups);
void vm_cells_free(const kiln_allocator *mem, vm_cells *cells); /* NULL is allowed */
vm_shadow *vm_shadow_new(vm_check *check, uint64_t bytes, bool written);
void vm_shadow_free(vm_check *check, vm_shadow *shadow, uint64_t bytes);
/* Forgets all accesses, but not which bytes are written. */
void vm_shadow_renew(vm_check *check, vm_shadow *shadow, uint64_t bytes);
void vm_shadow_write(vm_shadow *shadow, uint64_t offset, uint64_t bytes);
#endif
