/* vm_checks_internal.h - declarations that the files of this room share. */
#ifndef KILN_SIM_VM_CHECKS_INTERNAL_H
#define KILN_SIM_VM_CHECKS_INTERNAL_H

#include "vm_checks.h"

/* The addresses of one instruction's lanes, relative to the first lane. Warp after warp repeats the same differences,
 * so the cells that the lanes share are worked out once and cached by instruction. */
typedef struct vm_parts vm_parts;
typedef struct vm_pattern {
    uint32_t insn, lanes, bytes, count; /* insn: + 1; count: how many different addresses the lanes have */
    /* By lane: the distance from the first lane's address, and all bits set if the lane takes part. */
    uint32_t rel[VM_LANES], live[VM_LANES];
    uint32_t hits; /* number of times that the same differences were seen */
    uint8_t shift; /* the granule's shift for which `parts` was made */
    /* For quick.c: the cells that it touches, by the place of the first lane's cell in its group. NULL until it is
     * needed. */
    vm_parts *parts[VM_CELLS];
    int64_t low, high;
    uint64_t bits; /* the bitwise OR of all differences, for tests of alignment */
    /* The different addresses as distances from the first lane's. Beside each address: the lanes that have it, and the
     * first of them. */
    int64_t at[VM_LANES];
    uint32_t who[VM_LANES];
    uint8_t lane[VM_LANES];
    const vm_allocation *allocation; /* the allocation of the last access, valid while `generation` is the device's */
    uint64_t generation;
} vm_pattern;
#define VM_PATTERNS 2048u
#ifndef VM_PATTERN_OFTEN     /* fuzz targets define their own, because their launches are short */
#define VM_PATTERN_OFTEN 16u /* hits after which quick.c prepares its tables */
#endif

/* A finding and its key. A second finding with the same module, instructions, kind and weight only counts. */
typedef struct vm_found {
    kiln_check_finding finding; /* the texts are in the arena */
    const vm_module *module;    /* only compared */
    uint32_t insn, other;
} vm_found;
#define VM_FOUND_MOST 256u
#define VM_LAUNCHES_MOST 4096u
/* A launch that the check has seen, so that a later race can name it. */
typedef struct vm_launched {
    uint32_t after;     /* its accesses have later times, and accesses of the launch before it have earlier times */
    uint32_t module;    /* vm_check_code.serial; 0: another device's check has seen it */
    const char *kernel; /* name in the arena */
} vm_launched;
#define VM_FLIGHTS 16384u
#define VM_FARS 16384u
/* The number of a record that orders everything. It stands for records that ran out of memory or are too old. */
#define VM_FAR_ALL UINT32_MAX

/* The state of the checks of one device. The driver owns it. */
struct vm_check {
    const kiln_allocator *mem;
    kiln__arena arena;
    vm_device *device;
    uint32_t time, launch;       /* launch: the time at which the running launch started */
    uint32_t known;              /* accesses up to this time are ordered before the launch */
    const vm_period *concurrent; /* intervals of concurrent work, see vm_check_concurrent() */
    size_t concurrent_count;
    vm_found *found;
    size_t found_count;
    uint64_t dropped;
    vm_launched *launches; /* the last VM_LAUNCHES_MOST launches, the earliest first */
    size_t launch_count, launch_room;
    const char **kernels; /* the names of kernels, each once */
    size_t kernel_count, kernel_room;
    uint32_t modules;                  /* the last vm_check_code.serial */
    vm_pattern *patterns[VM_PATTERNS]; /* indexed by instruction modulo VM_PATTERNS; NULL until needed */
    vm_pattern spare;                  /* used if there is no memory for another pattern */
    /* bytes of shadow cells of global memory, up to CELL_BYTES_MOST */
    size_t cell_bytes;
    vm_flight *flights;             /* the last VM_FLIGHTS, by number; NULL until there is one */
    uint32_t last_fence;            /* the time of the last fence.proxy.async of any thread */
    uint32_t flight, launch_flight; /* the last number, and the last number before the launch */
    vm_far *fars;                   /* the last VM_FARS, by number; NULL until there is one */
    uint32_t far;                   /* the last record's number */
    /* the last number given to a phase of an mbarrier as the owner of records */
    uint32_t far_owner;
    bool quick;     /* vm_check_can_quick() */
    uint32_t often; /* VM_PATTERN_OFTEN; test suites set a smaller number */
    bool starved;
    bool told; /* the reason for the end of the launch was reported in more detail */
};

/* The number of no instruction. */
#define VM_NO_INSN UINT32_MAX
/* Returns the time and advances it. Two later accesses of which one follows a tick have different stamps. */
static inline uint32_t vm_check_tick(vm_check *check)
{
    return check->time == UINT32_MAX - 2 ? check->time : check->time++;
}
/* Returns the number of an instruction in its module (the tally index). */
static inline uint32_t vm_insn_of(const vm_warp *w, const vm_code *i)
{
    return (uint32_t)(w->frame->function->first_tally + i->insn);
}

/* ---- check.c: findings ---- */

/* Returns true if vm_check_quick() may be called: this host has AVX2, and KILN_SIM_ISA is not `base`. */
bool vm_check_can_quick(void);

/* Looks up the finding at (insn, other) of the launched module. If the finding exists, counts it and returns NULL.
 * Otherwise returns a new finding with kernel, places and the example's thread set; the caller fills in the rest with
 * texts from vm_check_print(). Also returns NULL if there are VM_FOUND_MOST findings already. */
kiln_check_finding *vm_check_find(vm_warp *w, kiln_check_kind kind, bool note, uint32_t insn, uint32_t other,
                                  uint32_t lane, unsigned times);
/* Formats a text into the check's arena. Returns an empty text if memory runs out. */
const char *vm_check_print(vm_check *check, const char *format, ...) KILN__PRINTF(2, 3);
/* Sets source file, line and inlining of one side of a finding from the debug information of the instruction. */
void vm_check_side_place(vm_check *check, const vm_module *module, uint32_t insn, kiln_check_side *side);
/* Sets block and thread of one side of a finding from an epoch. */
void vm_check_side_thread(const vm_warp *w, const vm_mark *s, kiln_check_side *side);
/* The same as vm_check_find() for a finding about the host's own work, which has no instruction. `key` tells places
 * apart. */
kiln_check_finding *vm_check_host(vm_check *check, kiln_check_kind kind, bool note, uint64_t key);
/* Sets the named buffer in or beside which the finding's global address lies. */
void vm_check_label(vm_check *check, vm_device *device, kiln_check_finding *f);

/* ---- streams.c ---- */
/* Records the name and the start of the launch that begins. */
void vm_check_launched(vm_check *check, const vm_run_state *run);
/* Returns the launch that made an access at that time. Returns NULL if that launch is too old or was not recorded. */
const vm_launched *vm_check_launch_at(const vm_check *check, uint32_t stamp);
/* Sets vm_check.known for the launch that begins. */
void vm_check_known(vm_check *check);
/* Returns true if an access of an earlier launch is concurrent with this launch. */
bool vm_check_is_concurrent(const vm_check *check, uint32_t stamp);

/* ---- code.c ---- */
/* Analyses a module once and keeps the result in module->check. Returns false if memory runs out. */
bool vm_check_analyse_module(vm_module *module, const kiln_allocator *mem);

/* ---- access.c ---- */

/* One access of one instruction, by all its lanes, while it is checked. It lives on the stack. */
typedef struct vm_look {
    vm_check *check;
    vm_warp *w;
    const vm_code *code;
    const ptx_insn *in;
    vm_clock *clock;
    const vm_access *a;
    const vm_pattern *p;
    const vm_block *home; /* the block that owns the shared memory */
    uint64_t window;      /* the window of a shared address: 0 is the own block's, otherwise a rank + 1 */
    /* Marks with a stamp of at most `limit` need no further test: they happened before, for any thread that made them. */
    uint32_t insn, limit, now, block, bad;
    uint32_t begin_inside; /* lanes whose load begins inside and ends outside: these get the bytes that exist */
    bool shared, write, strong, constant, told;
    uint32_t sides; /* VM_STRONG_SIDE, VM_VOLATILE_SIDE, VM_BLOCK_SIDE of this access */
    bool flagged;   /* a fence before a write has published the cell since the block began */
    /* the access neither acquires nor publishes a flag, because mbarriers and copies have their own order */
    bool quiet;
    uint32_t flight; /* the asynchronous operation that makes the access; 0: the thread itself */
    unsigned see;
} vm_look;
/* Starts a finding about some lanes of the access: vm_check_find(), and then kind, space, address and size of the
 * access. */
kiln_check_finding *vm_check_start(vm_look *k, kiln_check_kind kind, bool note, uint32_t other, uint32_t lane,
                                   uint32_t lanes);
/* Checks a load, store, atomic, cp.async or matrix access of the lanes m, and records it in shadow memory. Returns the
 * lanes that may execute it; the registers of the other lanes get poison. */
uint32_t vm_check_access(vm_warp *w, const vm_code *i, uint32_t m, unsigned see);
/* Frees what quick.c has made for a pattern. */
void vm_parts_drop(vm_check *check, vm_pattern *p);
/* Checks and records one access of one lane. `flight` is the asynchronous operation that makes it, or 0. Returns false
 * if the access must not be made. */
bool vm_check_one(vm_warp *w, const vm_code *i, vm_access *a, uint32_t flight);
/* Checks a call of free() or another built-in function. Returns the lanes that may make it. */
uint32_t vm_check_free_call(vm_warp *w, const vm_code *i, uint32_t m);

/* ---- quick.c ---- */
/* Checks and records a plain load or store, or with VM_SEE_CONSTANT a load of read-only data. Returns true if the
 * access has no defect and was recorded. Returns false if the fast path cannot decide; vm_check_access() must then
 * check it. */
bool vm_check_quick(const vm_warp *w, const vm_code *i, uint32_t m, unsigned kind);
extern const bool vm_check_has_vectors; /* quick.c was compiled for AVX2 */

/* ---- bounds.c ---- */
/* Sets `low` and `end` to the bounds of the shared variable `owner` (symbol + 1). If `owner` is 0, sets them to the
 * bounds of the piece of shared memory around `address`: static variables, dynamic memory or the system's part. Returns
 * false if the variable does not belong to this kernel. */
static inline bool vm_check_shared_bounds(const vm_run_state *run, uint64_t address, uint32_t owner, uint64_t *low,
                                          uint64_t *end)
{
    if (owner) {
        *low = run->launch->module->address[owner - 1];
        *end = *low + run->launch->module->ptx->symbols[owner - 1].bytes;
        return *end <= run->shared_gap; /* otherwise another kernel's variable */
    }
    *low = address < run->shared_gap ? run->shared_low : run->shared_dynamic;
    *end = address < run->shared_gap ? run->shared_gap : run->shared_end;
    if (run->shared_system && address >= run->shared_system)
        *low = run->shared_system, *end = run->shared_reach;
    return true;
}
/* Reports lanes that access the shared memory of a block that has exited, or that they may not access for the reason
 * `why`. */
void vm_check_no_block(vm_look *k, uint32_t lane, uint32_t lanes, const char *why);
/* Sets `low` and `end` to the bounds of the memory around `address`. Returns false if there is no memory that the
 * access may touch. */
bool vm_check_bounds(const vm_look *k, uint64_t address, uint32_t owner, uint64_t *low, uint64_t *end);
/* Tests each lane separately. Reports lanes out of bounds or misaligned, and returns them. */
uint32_t vm_check_refuse(vm_look *k, uint32_t owner);
/* Describes the memory at a lane's address, for a message. */
const char *vm_check_describe(const vm_look *k, uint32_t lane);

/* Reports lanes whose access leaves their local variable for a neighbouring one. */
void vm_check_next_local(vm_look *k);
/* Reports a write that touches the padding of rows. */
void vm_check_padding(vm_look *k, const vm_shadow *shadow, uint64_t offset, uint32_t lane, uint32_t lanes);

/* ---- race.c ---- */
/* Reports a race with the mark `s`, which is newer than the limit, unless something orders the two accesses. */
void vm_check_conflict(vm_look *k, const vm_mark *s, bool other_writes, uint32_t lanes, uint64_t offset);
/* Reports a write to data that the launch reads as read-only, in either order. Read-only data must not change during a
 * launch. */
void vm_check_constant(vm_look *k, vm_cell *c, uint32_t lane);
/* Reports lanes of one store that write different values to one address: which value remains is undefined. */
void vm_check_one_store(vm_look *k);

/* ---- uninitialised.c ---- */
/* Reports lanes that read bytes of global memory that nothing has written. */
void vm_check_written(vm_look *k, vm_shadow *shadow, uint64_t offset, uint32_t lane,
                      uint32_t lanes); /* global memory */
/* Reports a read of unwritten bytes. `note`: some of the bytes were written. */
void vm_check_unwritten(vm_look *k, uint32_t lane, uint32_t lanes, bool note);
/* Does both for local memory: records writes, and reports reads of unwritten bytes. */
void vm_check_local(vm_look *k);
/* Marks all local memory of these lanes as written. */
void vm_check_local_known(vm_warp *w, uint32_t lanes);

/* ---- async.c ---- */
/* Checks an instruction of kind VM_SEE_ASYNC. Returns the lanes that may execute it. */
uint32_t vm_check_async(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m);
/* Checks an access of one lane to `bytes` bytes, in pieces of at most 16. Returns false if an access must not be
 * made. */
bool vm_check_stretch(vm_warp *w, const vm_code *i, uint32_t lane, unsigned space, uint64_t address, uint64_t bytes,
                      unsigned kind, uint32_t flight);

/* ---- flight.c: asynchronous operations ---- */
/* Makes an operation that lanes of the warp begin, on the shared memory of `home`. Returns NULL if memory runs out;
 * nothing is then checked about it. */
vm_flight *vm_flight_new(vm_warp *w, const vm_code *i, vm_flight_kind kind, uint32_t lanes, vm_block *home);
/* Returns the operation `id`. Returns NULL if it belongs to an earlier launch or is too old; it then counts as
 * complete. */
vm_flight *vm_flight_at(const vm_check *check, uint32_t id);
/* Adds the operation to those that the warp has to wait for. */
void vm_flight_pend(vm_warp *w, const vm_flight *f);
/* Returns true if the operation is complete for the lane's current access. `read`: only its reads have to be
 * complete. */
bool vm_flight_before(const vm_warp *w, uint32_t id, uint32_t by, uint32_t lane, bool read);
/* Returns the name of the operation's instruction, for messages. */
const char *vm_flight_name(const vm_flight *f);
/* Begins a cp.async of the lanes. Returns its number, or 0 if memory ran out. */
uint32_t vm_flight_copy(vm_warp *w, const vm_code *i, uint32_t m);
/* Binds the lanes' copies so far to the phase of an mbarrier (cp.async.mbarrier.arrive). */
void vm_flight_bind(vm_warp *w, uint32_t m, uint32_t bar);
/* Performs a wait_group of the lanes m: all groups but the last `leave` are complete. `read`: only their reads are. */
void vm_flight_wait(vm_warp *w, vm_flight_kind kind, uint32_t m, uint32_t leave, bool read);
/* Turns the mark of a thread into a mark of its operation. */
void vm_flight_write(vm_look *k, vm_cell *c, const vm_mark *me);
/* Records in the cell that the operation reads it. */
void vm_flight_read(vm_look *k, vm_cell *c);
/* Reports a write to a cell that an operation may still read. */
void vm_check_readers(vm_look *k, vm_cell *c, uint32_t lane, uint64_t offset);
/* Reports an access by the asynchronous proxy to a cell that a thread has written, without a fence.proxy.async between
 * them. */
void vm_check_proxy(vm_look *k, const vm_mark *s, uint32_t lane, uint64_t offset);
/* Reports operations that still use the shared memory of a block that ends. */
void vm_check_block_end(vm_block *block);

/* ---- product.c: wgmma ---- */
/* Finds and numbers the registers that products use. Returns false if memory runs out. */
bool vm_check_number_registers(vm_module *module, vm_check_code *code, uint8_t *kind);
/* Checks the accesses and registers of a wgmma. Returns the lanes that may execute it. */
uint32_t vm_check_product(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m);
/* Performs wgmma.fence: earlier accesses to the warp's registers are ordered before later products. */
void vm_check_product_fence(vm_warp *w);
/* Reports a register that a product uses and that this instruction uses too early. */
void vm_check_registers(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m);
/* Reports a product whose descriptor has another swizzle than the tensor map that filled the memory. */
void vm_check_layout(vm_look *k, const vm_flight *reader, const vm_mark *s, uint32_t lane, uint64_t offset);

/* ---- view.c: the asynchronous part of vector clocks ---- */
/* Allocates the asynchronous state of a block, if its module needs that. Returns false if memory runs out. */
bool vm_view_new(vm_block *block);
void vm_view_free(vm_block *block);
/* Resets the asynchronous state for the next block. */
void vm_view_start(vm_block *block);
/* Joins the clock of the lanes into a phase of an mbarrier of their own block. */
void vm_view_arrive(const vm_warp *w, vm_view *to, uint32_t lanes, uint32_t now);
/* Joins the clock of the lanes into a phase of an mbarrier of another block. With `cluster` the arrival is a release
 * for the cluster. Otherwise it publishes only writes that a fence came after, and that reads are done: a read leaves
 * nothing that would have to become visible. */
void vm_view_arrive_far(const vm_warp *w, const vm_block *home, vm_bar *bar, uint32_t lanes, bool cluster,
                        uint32_t now);
/* Joins the clock of a complete phase into the clock of the lanes. */
void vm_view_learn(vm_warp *w, const vm_view *from, uint32_t lanes);
/* Joins the asynchronous part of a warp's vector clock into a barrier. */
void vm_more_join(const vm_block *block, vm_more *to, const vm_more *from);
/* Joins the asynchronous part of a vector clock into the lanes' clock. */
void vm_more_learn(vm_warp *w, const vm_more *from, uint32_t lanes);
/* Tells lanes of a warp that synchronise the phases that any of them knows. */
void vm_more_lanes(vm_warp *w, uint32_t lanes);
/* Performs an acquire at the time `known`: joins the asynchronous parts of all warps of the block, which is more than
 * the release has published. */
void vm_more_acquire(vm_warp *w, uint32_t known);
/* Returns true if the lane knows that the mbarrier's phase is complete. */
bool vm_view_knows(const vm_warp *w, uint32_t bar, uint32_t phase, uint32_t lane);
/* Performs fence.proxy.async for the lanes. */
void vm_view_fence(vm_warp *w, uint32_t m);
/* Returns true if a fence.proxy.async lies between the write `s` and the lane's next access. */
bool vm_view_fenced(const vm_warp *w, const vm_mark *s, uint32_t lane);

/* ---- far.c: vector clocks for other blocks of a cluster ---- */
/* Returns the number of a record that is the join of two records. */
uint32_t vm_far_join(vm_check *check, uint32_t a, uint32_t b);
/* Returns the number of the record `to`, joined with the clock of the lanes for their own block. */
uint32_t vm_far_arrive(const vm_warp *w, uint32_t to, uint32_t owner, uint32_t lanes, uint32_t now);
/* Returns true if the record orders an access of those lanes of the warp at the time `when`. */
bool vm_far_knows(const vm_check *check, uint32_t id, uint32_t warp, uint32_t lanes, uint32_t when);
/* Returns true if the record orders an access of any thread at the time `when` or later. */
bool vm_far_any(const vm_check *check, uint32_t id, uint32_t when);
/* Joins a record about the block `home` into a phase of an mbarrier of that block: others tell the block about
 * itself. */
void vm_far_return(const vm_block *home, vm_view *to, uint32_t id);

/* ---- mbarrier.c ---- */
/* Checks an mbarrier instruction. `copies`: the arrival comes when the lanes' cp.async so far are complete. Returns the
 * lanes that may execute it. */
uint32_t vm_check_mbarrier(vm_warp *w, const vm_code *i, uint32_t m, bool copies);
/* Counts the bytes of a copy at the mbarrier on which it completes. Returns false if that access must not be made. */
bool vm_check_complete_tx(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, uint64_t bytes,
                          uint32_t flight);
/* Returns the block that owns the shared address. Returns NULL if no live block owns it. */
vm_block *vm_check_home(const vm_warp *w, uint64_t address);
/* Returns the number of the mbarrier at an address, or VM_BAR_NONE. */
uint32_t vm_bar_find(const vm_block *block, uint64_t address);
/* Performs fence.mbarrier_init for the mbarriers that these lanes have initialised. */
void vm_check_announce(vm_warp *w, uint32_t m);

/* ---- order.c ---- */
/* Returns true if the access `s` happened before the lane's current access. */
bool vm_check_before(const vm_warp *w, const vm_mark *s, uint32_t lane, bool shared);
/* Returns true if reads of those lanes of another block's warp up to `when` are ordered before, so that others may
 * overwrite what they read. */
bool vm_check_far_done(const vm_warp *w, uint32_t block, uint32_t warp, uint32_t lanes, uint32_t when);
/* Returns true if something that another block of the cluster did at the time `when` or later happened before. */
bool vm_check_far_later(const vm_warp *w, uint32_t block, uint32_t when);
/* Orders the lanes' accesses so far before the later accesses of all of them (bar.warp.sync and every .sync
 * operation). */
void vm_check_join_lanes(vm_warp *w, uint32_t mask);
void vm_check_arrive(vm_warp *w, uint32_t barrier); /* Joins the warp's clock into a barrier. */
/* Orders everything so far before the warp's next access. Used where nothing more precise is known. */
void vm_check_know_all(vm_warp *w);
/* Joins the warp's clock into the cluster's barrier. `relaxed`: only what the warp has published with a fence. */
void vm_check_cluster_arrive(vm_warp *w, bool relaxed);
/* Lets lanes pass the cluster's barrier after it has opened. */
void vm_check_cluster_wait(vm_warp *w, uint32_t m);
/* Returns true if the block of that number is in the same cluster. */
bool vm_check_is_near(const vm_block *block, uint32_t number);
/* Performs a release fence. `block`: its scope is .cta. */
void vm_check_release(vm_warp *w, bool block);
/* Checks the arrival of lanes at a barrier of the block, and joins their warp's clock into it. */
void vm_check_barrier(vm_warp *w, const vm_code *i, uint32_t m);
/* Performs a fence with the scope that the instruction names. */
void vm_check_fence(vm_warp *w, const ptx_insn *in);
/* Recomputes `fast`. Call this after every change of `know`, `full` or `horizon`. */
void vm_check_refresh_fast(const vm_block *block, vm_clock *c);

/* ---- the hooks ---- */
bool vm_check_begin(vm_run_state *run); /* Starts the checks of a launch. Returns false if memory runs out. */
/* Reports the fault that ended a launch, if nothing has reported it yet. */
void vm_check_end(vm_run_state *run);
bool vm_check_block_new(vm_block *block);
void vm_check_block_start(vm_block *block);
void vm_check_block_free(vm_block *block);
/* Checks an instruction before it executes. Returns the lanes that may execute it; the registers of the others get
 * poison. */
uint32_t vm_check_insn(vm_warp *w, const vm_code *i, uint32_t m);
/* Orders the lanes of a warp operation, and checks their masks (vm_hooks.met). */
void vm_check_met(vm_warp *w, const vm_code *i, uint32_t m, const vm_meeting *meeting);
/* Opens a complete barrier: the waiting warps join its clock. The interpreter has not released their paths yet. */
void vm_check_open(vm_block *block, uint32_t barrier);
/* Reports barriers in divergent code: some lanes of a warp wait there, others at a reconvergence point. */
void vm_check_stuck(vm_block *block);
/* Reports each place where threads wait, because no warp of the block will ever continue. */
void vm_check_deadlock(vm_block *block);
/* Orders the child launches that have run before the rest of the block. */
void vm_check_children(vm_block *block);
void vm_check_outside(vm_warp *w, const vm_code *i, uint32_t lane, int64_t at, uint32_t size, bool linear);
void vm_check_malloced(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address);
/* Allocates groups of cells, all zero, each at the beginning of a cache line. Returns NULL if memory runs out. */
vm_cells *vm_cells_new(const kiln_allocator *mem, size_t groups);
void vm_cells_free(const kiln_allocator *mem, vm_cells *cells); /* Frees groups of cells. NULL is allowed. */
/* Allocates the shadow memory of `bytes` bytes. `written`: all bytes count as written. Returns NULL if memory runs
 * out. */
vm_shadow *vm_shadow_new(vm_check *check, uint64_t bytes, bool written);
void vm_shadow_free(vm_check *check, vm_shadow *shadow, uint64_t bytes);
/* Forgets all accesses, but not which bytes are written. */
void vm_shadow_renew(vm_check *check, vm_shadow *shadow, uint64_t bytes);
/* Marks bytes as written. */
void vm_shadow_write(vm_shadow *shadow, uint64_t offset, uint64_t bytes);
#endif
