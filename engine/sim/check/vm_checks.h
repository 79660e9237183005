/* vm_checks.h - the checks of an observed launch: findings, and shadow state. CHECKS.md says what is checked and how.
 *
 * A checked launch runs on one host thread, so nothing here is locked, and the same launch has the same findings in the
 * same order. Time is a counter that is incremented when threads synchronise: an access has a time, and a thread knows
 * up to which time the accesses of each other warp happened before its own. */
#ifndef KILN_SIM_VM_CHECKS_H
#define KILN_SIM_VM_CHECKS_H

#include "vm_hooks.h"
#include "vm_watch.h"

typedef struct vm_check vm_check;

vm_check *vm_check_new(const kiln_allocator *mem);
void vm_check_free(vm_check *check); /* NULL is allowed; not while a device uses it */
/* The device's allocations are shadowed from now on; existing ones count as written. NULL: stop shadowing. */
void vm_check_attach(vm_device *device, vm_check *check);
size_t vm_check_count(const vm_check *check);
const kiln_check_finding *vm_check_at(const vm_check *check, size_t index);
uint64_t vm_check_dropped(const vm_check *check); /* findings beyond the limit */
bool vm_check_starved(const vm_check *check);     /* out of memory for the shadow: some races may be missed */

/* ---- for the driver ---- */
void vm_check_copied(vm_device *device, uint64_t to, uint64_t from, uint64_t bytes); /* device to device */
void vm_check_host_reads(vm_device *device, uint64_t address, uint64_t bytes);
void vm_check_forget(vm_device *device, uint64_t address, uint64_t bytes);             /* counts as never written */
void vm_check_rows(vm_device *device, uint64_t address, uint64_t row, uint64_t pitch); /* it has rows with padding */
void vm_check_host_free(vm_device *device, uint64_t address);                          /* an invalid free */
/* Work of other streams that is not ordered before a launch: accesses with times in (after, until]. */
typedef struct vm_period {
    uint32_t after, until;
} vm_period;
/* Of all launches from now on; earliest first, and the caller keeps them. */
void vm_check_concurrent(vm_check *check, const vm_period *spans, size_t count);
uint32_t vm_check_tick_host(vm_check *check); /* the time; it advances. It begins anew after 2^31 or so */
/* Several devices whose kernels use each other's memory have one time: the driver advances each check's. */
void vm_check_time(vm_check *check, uint32_t time);
/* All work so far is ordered before all that comes: forgets it. The time is 1. */
void vm_check_anew(vm_device *device, vm_check *check);
/* Keeps the names of the launches that another check has seen in that span. */
void vm_check_heard(vm_check *check, const vm_check *from, vm_period span);
/* A copy or a fill by the host that the driver refuses: not all of that memory is there. `what`: "the host's copy". */
void vm_check_host_bounds(vm_device *device, const char *what, uint64_t address, uint64_t bytes, bool write);
/* A launch that the driver refuses, which a program sees only if it asks. `why` is kept. */
void vm_check_host_launch(vm_device *device, const char *kernel, const char *why);
/* A copy or a fill by the host touches memory, and nothing orders it and what kernels did in that span. */
void vm_check_host_race(vm_device *device, const char *what, uint64_t address, uint64_t bytes, bool write,
                        vm_period span);
/* Memory that host and device share: kernels' accesses are noted by page from now on. */
void vm_check_track(vm_device *device, uint64_t address);
bool vm_check_has_launched(const vm_check *check, vm_period span);
/* Such memory's next pages from `from` on that kernels have touched in that span, one after another and in one way: true
 * and where. `written`: some kernel writes them. */
typedef struct vm_used {
    uint64_t address, bytes;
    bool written;
} vm_used;
bool vm_check_used(vm_device *device, uint64_t from, vm_period span, vm_used *used);
/* Kernels have told something to others by it in that span, perhaps to the host. */
bool vm_check_flagged(vm_device *device, uint64_t address, vm_period span);
/* The host has touched memory of kernels for which it has not waited; `written`: by them. Nothing, if they have not touched
 * that very place. */
void vm_check_managed_race(vm_device *device, uint64_t address, bool written, vm_period span, const char *where);
/* Nor two of the host's doings, of which one writes. */
void vm_check_copies_race(vm_device *device, const char *one, const char *other, uint64_t address);
/* The host has touched pinned memory of a copy for which it has not waited; `written`: by the copy. */
void vm_check_pinned_race(vm_device *device, uint64_t address, uint64_t bytes, bool written, const char *where);
/* To be called before the device is destroyed; `all`: also allocations of the host. */
void vm_check_leaks(vm_device *device, bool all);

/* ---- for the interpreter ---- */

/* What happened at an address; `who`: the thread's number in its block, and the flags. VM_PENDING: by an asynchronous
 * operation, whose number is in `insn` (vm_flight); the stamp is then above all others. */
typedef struct vm_mark {
    uint32_t stamp, who, insn, block;
} vm_mark;
enum {
    VM_WHO = 1023,
    VM_MANY = 1024,
    VM_STRONG_SIDE = 2048,
    VM_PENDING = 4096,
    VM_VOLATILE_SIDE = 8192, /* ordered by `volatile` alone */
    VM_BLOCK_SIDE = 16384    /* ordered in its own block only (.cta) */
};
/* The last write and the last reads of a granule: two, by different warps (shared) or blocks (global) where there are
 * several that are not ordered. */
typedef struct vm_cell {
    vm_mark w, r1, r2;
    union {
        struct { /* global memory: the last read as read-only data (ld.global.nc) */
            uint32_t constant, constant_insn;
        };
        uint32_t readers[2]; /* shared memory: asynchronous operations that read it, 0: none */
    };
    uint32_t published, published_cta; /* the time that a thread knows after reading this as a flag */
} vm_cell;
/* Cells are kept in groups of neighbours, field by field: what a warp touches is mostly a row of them, which vector
 * instructions handle together (quick.c). A mark of a group is two cache lines. */
enum { VM_CELLS = 8 };
typedef struct vm_marks {
    uint32_t stamp[VM_CELLS], who[VM_CELLS], insn[VM_CELLS], block[VM_CELLS];
} vm_marks;
typedef struct vm_cells {
    vm_marks w, r1, r2;
    uint32_t constant[VM_CELLS], constant_insn[VM_CELLS]; /* of shared memory: readers[0] and [1] */
    uint32_t published[VM_CELLS], published_cta[VM_CELLS];
} vm_cells;
_Static_assert(sizeof(vm_cells) == VM_CELLS * sizeof(vm_cell), "the same fields");
static inline vm_mark vm_mark_get(const vm_marks *m, size_t n)
{
    return (vm_mark){m->stamp[n], m->who[n], m->insn[n], m->block[n]};
}
static inline void vm_mark_put(vm_marks *m, size_t n, const vm_mark *mark)
{
    m->stamp[n] = mark->stamp, m->who[n] = mark->who, m->insn[n] = mark->insn, m->block[n] = mark->block;
}
/* Cell n of an array of groups. */
static inline vm_cell vm_cell_get(const vm_cells *cells, uint64_t n)
{
    const vm_cells *g = &cells[n / VM_CELLS];
    n %= VM_CELLS;
    return (vm_cell){.w = vm_mark_get(&g->w, n),
                     .r1 = vm_mark_get(&g->r1, n),
                     .r2 = vm_mark_get(&g->r2, n),
                     .constant = g->constant[n],
                     .constant_insn = g->constant_insn[n],
                     .published = g->published[n],
                     .published_cta = g->published_cta[n]};
}

typedef struct vm_shadow {
    uint64_t *written;              /* one bit per byte; NULL: all */
    uint64_t unwritten;             /* bytes */
    vm_cells **pages;               /* each of VM_SHADOW_PAGE bytes of memory; NULL until touched */
    uint32_t *used;                 /* vm_check_track(): of each page the times of the last read and write; NULL: not */
    uint32_t flagged;               /* the time of the last atomic, volatile or ordered write, if it is tracked */
    uint64_t row, pitch;            /* of cuMemAllocPitch: bytes of a row that are not padding; 0: no rows */
    unsigned shift;                 /* a cell covers 1 << shift bytes */
    bool by_kernel;                 /* malloc in device code */
    const struct vm_module *module; /* of the instruction `insn` that allocated it; only compared */
    kiln_check_side made;           /* by_kernel: where */
} vm_shadow;
#define VM_SHADOW_PAGE 4096u

/* A local variable, in the frame of its function; end 0: not known. */
typedef struct vm_check_local_piece {
    uint32_t start, end;
} vm_check_local_piece;
/* Static data about a module's instructions, made at its first launch under checks. */
typedef struct vm_check_code {
    uint8_t *kind;                /* vm_check_see, by tally index */
    uint32_t *owner;              /* of shared accesses: the only possible variable + 1, or 0 */
    vm_check_local_piece *pieces; /* of local accesses: the only possible variable */
    unsigned shift;               /* no access is smaller than 1 << shift bytes */
    bool async;                   /* it has asynchronous operations or mbarriers */
    /* Registers that products use, and their copies: by function and register, numbered from 1. NULL: it has none. */
    uint32_t **numbers, reg_count;
    uint32_t serial; /* of the modules that the check has seen, from 1; 0: not yet */
} vm_check_code;
enum vm_check_see {
    VM_SEE_NOTHING,
    VM_SEE_LOAD,
    VM_SEE_STORE,
    VM_SEE_ATOMIC,
    VM_SEE_COPY,
    VM_SEE_BARRIER,
    VM_SEE_FENCE,
    VM_SEE_CALL,
    VM_SEE_ASYNC,
    VM_SEE_OTHER
};
#define VM_SEE_REGISTERS 128u /* a flag: it uses registers that products use */
#define VM_SEE_SPECIAL 64u    /* a flag: a load or store that is ordered, or reads read-only data */
#define VM_SEE_CONSTANT 32u   /* a flag: it reads read-only data, and no more */

/* An asynchronous operation: a copy, or a product of a warpgroup. */
typedef enum vm_flight_kind {
    VM_FLIGHT_COPY,  /* cp.async of a warp: in groups of each thread, or on an mbarrier */
    VM_FLIGHT_LOAD,  /* completes on an mbarrier */
    VM_FLIGHT_STORE, /* in bulk groups of a thread */
    VM_FLIGHT_WGMMA  /* in groups of a warpgroup */
} vm_flight_kind;
typedef struct vm_flight {
    uint32_t id, insn, block, group;
    uint32_t bar, phase; /* that it completes on: of all lanes of a LOAD, of those in `bound` of a COPY */
    uint32_t lanes, bound, waited;
    /* When it was waited for, 0: not yet. STORE: [0] has read, [1] has written; WGMMA: by warp of the group; else [0] */
    uint32_t done[4];
    uint16_t who;         /* the thread; a WGMMA: of the first warp */
    uint8_t kind, layout; /* of what a tensor map has written: its swizzle + 1; 0: no tensor map */
    bool generic;         /* not in the asynchronous proxy */
} vm_flight;

/* A register that a product uses: which one, and whether as a sum; the last access (instruction + 1) since wgmma.fence. */
typedef struct vm_reg {
    uint32_t flight, touched;
    bool sum;
} vm_reg;
enum { VM_BARS = 128, VM_BAR_PHASES = 4, VM_FENCES = 4, VM_BAR_NONE = VM_BARS };
/* Accesses of a block's threads, as a thread of another block knows them: by warp, of all lanes up to a time (`know`), and
 * of some up to a later one. */
typedef struct vm_far {
    uint32_t id, owner; /* owner: of a phase that is not complete */
    uint32_t know[VM_LANES], part[VM_LANES], lanes[VM_LANES];
} vm_far;
/* What threads know besides the clocks of whole warps. */
typedef struct vm_more {
    /* By warp: of these of its lanes, accesses up to that time. */
    uint32_t part[VM_LANES], lanes[VM_LANES];
    /* By warp: accesses up to that time are before a fence.proxy.async that this knows; of all threads. */
    uint32_t fenced[VM_LANES], fenced_horizon;
    /* By rank of another block, numbers of records (vm_far; 0: nothing): what its threads have read and what they have
     * written happened before; what they have read may be overwritten. */
    uint32_t wrote[VM_CLUSTER_MOST], read[VM_CLUSTER_MOST];
    uint32_t seen[VM_BARS]; /* by mbarrier: phases that are complete */
} vm_more;
/* What a warp knows. Accesses with times up to `fast` by threads of the cluster, and up to `horizon` by any thread,
 * happened before its next access. */
#define VM_KNOWN (VM_LANES + VM_CLUSTER_MOST) /* of the warps of the block, and of the blocks of the cluster by rank */
typedef struct vm_clock {
    uint32_t fast, horizon, full, synced, released, released_cta;
    uint32_t know[VM_KNOWN];
    uint32_t *lanes; /* [lane][other lane], NULL until only some lanes synchronise */
    /* Groups that were committed: of cp.async, of bulk copies, of products. */
    uint32_t groups[VM_LANES], bulk_groups[VM_LANES], products;
    uint32_t *pending; /* vm_flight.id of what it has not waited for */
    size_t pending_count, pending_capacity;
    struct vm_more *more;         /* NULL: the module has nothing asynchronous */
    uint32_t seen_lanes[VM_BARS]; /* that know the last phase in more->seen; others do not */
    uint32_t spins, wait_bar;     /* tests of mbarriers that failed, one after the other; the last one's */
    uint32_t wait_insn, wait_lane, wait_parity;
    uint32_t product_count; /* products that this warp has begun */
    uint32_t product_fence; /* `products` + 1 at its last wgmma.fence */
} vm_clock;
typedef struct vm_gate {
    uint32_t know[VM_KNOWN], horizon;
} vm_gate;
/* What threads contribute to a barrier of the block, or to a phase of an mbarrier. */
typedef struct vm_view {
    vm_gate gate;
    vm_more more;
} vm_view;
typedef struct vm_bar {
    uint32_t address;
    bool live;                     /* initialised, not invalidated */
    vm_mark init;                  /* by whom */
    uint32_t announced;            /* by a fence.mbarrier_init of that thread, 0: not yet */
    uint32_t pending, expected;    /* arrivals */
    int64_t tx;                    /* bytes that are to come */
    uint64_t expected_tx, came_tx; /* of this phase, for messages */
    uint32_t arrived, phase;       /* phase: how many are complete */
    uint32_t last;                 /* the last copy on it */
    vm_mark far;                   /* the last arrival by another block; stamp 0: none */
    uint32_t far_phase;            /* in which it counts */
    uint32_t owner;                /* of records of the phase that is not complete; 0: it has none */
    vm_view gather;                /* of the arrivals so far */
    vm_view phases[VM_BAR_PHASES]; /* of complete ones, by number */
    uint32_t
        learned[VM_BAR_PHASES]; /* by number: the time at which a thread first knew that it is complete, 0: none does */
} vm_bar;
typedef struct vm_check_block {
    uint32_t base; /* the time it started */
    unsigned shift;
    vm_clock *warps;
    vm_gate gates[VM_BARRIERS + 1]; /* the last one is what the block gets of the cluster's */
    vm_gate opened;                 /* the same when it opened last, for warps that wait afterwards */
    vm_cells *cells;                /* of shared memory */
    size_t cell_count;
    uint64_t *local_written; /* a bit for each byte of local memory, by thread; NULL: it has none */
    size_t local_words;
    /* Where the module has something asynchronous: */
    vm_more *gate_more;                /* by barrier, as `gates` */
    vm_more *more;                     /* by warp */
    uint32_t (*fences)[VM_FENCES + 1]; /* by thread: its last fence.proxy.async; the last one: an older one */
    vm_bar *bars;
    size_t bar_count, bar_capacity;
    bool dirty; /* cells have asynchronous operations */
    uint32_t
        pushed[VM_CLUSTER_MOST]; /* by rank: the last copy from this block's shared memory to that one's; 0: none */
    struct {                     /* by warpgroup: how many products it has begun, the last one's vm_flight */
        uint32_t count, flight;
    } products[VM_WARPGROUPS];
    vm_reg *regs; /* by warp and number; NULL: the module has no products */
} vm_check_block;

/* ---- the hooks that the interpreter calls ---- */
extern const struct vm_hooks vm_check_hooks; /* for vm_watch.checks; vm_check_attach() gives them to the device */

#endif
