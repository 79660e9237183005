/* vm_checks.h - the checks of an observed launch: findings, shadow memory and vector clocks.
 *
 * CHECKS.md lists the checks. RACES.md explains the algorithm of the race checker, which is close to FastTrack
 * (Flanagan and Freund, PLDI 2009).
 *
 * Threads: a checked launch runs on one host thread, so the checks take no locks, and two runs of the same launch have
 * the same findings in the same order.
 *
 * Time is one counter for the whole check (`vm_check.time`), not one per thread. It advances whenever threads
 * synchronise. A shadow cell stores epochs: the time and the thread of an access. A warp has a vector clock. For each
 * other warp, the clock has the time up to which the accesses of that other warp happened before the next access of
 * this warp. */
#ifndef KILN_SIM_VM_CHECKS_H
#define KILN_SIM_VM_CHECKS_H

#include "vm_hooks.h"
#include "vm_watch.h"

typedef struct vm_check vm_check;

/* Returns NULL if memory runs out. The caller frees the check with check_free(). */
vm_check *check_new(const kiln_allocator *mem);
/* Frees a check, which may be NULL. No device may use it any more. */
void check_free(vm_check *check);
/* Attaches a check to a device: from now on its allocations have shadow memory. Existing allocations count as written.
 * If `check` is NULL, removes the shadow memory. No launch may run meanwhile. */
void check_attach(vm_device *device, vm_check *check);
size_t check_count_findings(const vm_check *check);
const kiln_check_finding *check_get_finding(const vm_check *check, size_t index);
/* Sets the function that returns true for suppressed findings. Suppressed findings stay in the list, but take no room
 * from other findings. Call this before the first launch. */
void check_suppress(vm_check *check, bool (*is_suppressed)(const kiln_check_finding *finding));
/* Returns how many findings were dropped because the check already had VM_FOUND_MOST findings that are not
 * suppressed. */
uint64_t check_dropped(const vm_check *check);
/* Returns true if memory for shadow cells or clocks, or numbers for asynchronous operations, ran out. Some races may
 * then be missed. */
bool check_starved(const vm_check *check);

/* ---- for the driver ---- */
/* Called for a copy from device memory to device memory: also copies the information which bytes were never written. */
void check_copied(vm_device *device, uint64_t to, uint64_t from, uint64_t bytes);
/* Reports bytes that the host reads although nothing has written them. */
void check_host_reads(vm_device *device, uint64_t address, uint64_t bytes);
/* Marks bytes as never written. */
void check_forget_bytes(vm_device *device, uint64_t address, uint64_t bytes);
/* Announces that the allocation has rows of `row` bytes, each with padding up to `pitch` bytes. */
void check_rows(vm_device *device, uint64_t address, uint64_t row, uint64_t pitch);
/* Reports that the host frees an address at which the host has no allocation. */
void check_host_free(vm_device *device, uint64_t address);
/* The interval (after, until] of the check's time. */
typedef struct vm_period {
    uint32_t after, until;
} vm_period;
/* Why earlier work is not ordered before a launch. */
typedef enum vm_apart {
    VM_APART_STREAM, /* its stream and the stream of the launch do not wait for each other */
    /* The work is a prerequisite launch of the launch, which is a dependent launch. So it is ordered only before
     * accesses after griddepcontrol.wait. */
    VM_APART_UNTIL_WAIT,
    /* The work comes before a prerequisite launch that did not wait for it, so it may last longer than the prerequisite
     * launch. So griddepcontrol.wait does not order the work either. */
    VM_APART_BEYOND_WAIT
} vm_apart;
/* An interval of work that is not ordered before later launches. */
typedef struct vm_prior {
    vm_period span;
    vm_apart why;
} vm_prior;
/* Sets the work that is not ordered before later launches, and resets the value that check_dependence() returns. The
 * intervals are sorted, the earliest first. The caller keeps the array alive. */
void check_concurrent(vm_check *check, const vm_prior *priors, size_t count);
/* How the last launch waited for its prerequisite launches. */
typedef struct vm_dependence {
    bool waited; /* at least one thread has executed griddepcontrol.wait */
    /* True if some block allowed the dependent launches to begin only after the prerequisite launches of this launch
     * had completed. There are two such cases: a lane that executed the block's first launch_dependents had waited
     * before, or the block executed no launch_dependents and ended after a wait. In a launch without prerequisite
     * launches, the first launch_dependents sets it too. */
    bool waited_first;
} vm_dependence;
/* Returns the dependence of the launches since check_concurrent(). */
vm_dependence check_dependence(const vm_check *check);
/* Returns the time and advances it. The time restarts at 1 after about 2^31 steps. */
uint32_t check_host_advance_time(vm_check *check);
/* Advances the time to `time` if `time` is later. Devices whose kernels use each other's memory share one time, so the
 * driver advances the check of each of them. */
void check_raise_time(vm_check *check, uint32_t time);
/* Forgets all accesses and sets the time to 1. The caller knows that all work so far is ordered before all work to
 * come. */
void check_forget_accesses(vm_device *device, vm_check *check);
/* Adds the names of the launches that `from` has seen in the interval, for messages about accesses of other devices. */
void check_copy_launches(vm_check *check, const vm_check *from, vm_period span);
/* Reports a copy or a fill that the driver refuses, because a part of the memory does not exist or is registered as
 * read-only. `what` names the operation, such as "the host's copy". */
void check_host_bounds(vm_device *device, const char *what, uint64_t address, uint64_t bytes, bool write);
/* Reports a launch that the driver refuses, because a program that does not test for errors would not notice. Copies
 * the text `why`. */
void check_host_launch(vm_device *device, const char *kernel, const char *why);
/* Reports a race between a copy or a fill by the host and an access that a kernel made in the interval. The caller
 * knows that nothing orders the copy or fill and the access. Reports nothing if no kernel has touched that memory in
 * the interval. */
void check_host_race(vm_device *device, const char *what, uint64_t address, uint64_t bytes, bool write, vm_period span);
/* From this call on, the check records for each page when kernels access this allocation. The host may touch the
 * memory directly. */
void check_track(vm_device *device, uint64_t address);
bool check_has_launched(const vm_check *check, vm_period span);
/* A range of whole pages that kernels have used in the same way. */
typedef struct vm_used {
    uint64_t address, bytes;
    bool written; /* some kernel writes it */
} vm_used;
/* Finds the next range of pages at or after `from` that kernels have used in the interval. Returns false if there is
 * no such page in the allocation. */
bool check_used(vm_device *device, uint64_t from, vm_period span, vm_used *used);
/* Returns true if a kernel has made an atomic, volatile or ordered write to this allocation in the interval. The host
 * may then have learned from the memory itself that the kernel has ended. */
bool check_flagged(vm_device *device, uint64_t address, vm_period span);
/* Reports that the host has touched managed memory of kernels for which it has not waited. `written` is true if kernels
 * write the page. Reports nothing if no kernel has touched the same cell in the interval. If `written` is true, reports
 * nothing unless a kernel has written the cell. */
void check_managed_race(vm_device *device, uint64_t address, bool written, vm_period span, const char *where);
/* Reports that nothing orders two copies or fills by the host, and that at least one of them writes. */
void check_copies_race(vm_device *device, const char *one, const char *other, uint64_t address);
/* Reports that the host has touched pinned memory of a copy for which it has not waited. `written` is true if the copy
 * writes the memory. */
void check_pinned_race(vm_device *device, uint64_t address, uint64_t bytes, bool written, const char *where);
/* Reports allocations that were not freed. Call this before the device is destroyed. If `all` is true, also reports
 * allocations by the host; otherwise only allocations by kernels. */
void check_leaks(vm_device *device, bool all);

/* ---- for the interpreter ---- */

/* An epoch: the thread and the time of an access. `who` is the thread's number in its block (VM_WHO), with flags. If
 * VM_PENDING is set, an asynchronous operation made the access, `insn` is its number (vm_flight.id), and `stamp` is
 * UINT32_MAX, above all other times. */
typedef struct vm_mark {
    uint32_t stamp, who, insn, block;
} vm_mark;
enum {
    VM_WHO = 1023, /* the bits of the thread's number */
    /* several threads of the warp or block made the access, and `who` names the first thread */
    VM_MANY = 1024,
    VM_STRONG_SIDE = 2048,   /* the access is atomic, volatile, relaxed or stronger */
    VM_PENDING = 4096,       /* an asynchronous operation made the access */
    VM_VOLATILE_SIDE = 8192, /* the access is strong only because it is `volatile` */
    VM_BLOCK_SIDE = 16384,   /* the access is strong only for its own block (scope .cta) */
    VM_LATE_SIDE = 32768     /* the block had executed griddepcontrol.launch_dependents before the access */
};
/* A cell of shadow memory: the epochs of accesses to one granule of 1, 2 or 4 bytes. It keeps the last write and two
 * recent reads. In shared memory the two reads come from different warps, in global memory from different blocks. */
typedef struct vm_cell {
    vm_mark w, r1, r2;
    union {
        struct { /* global memory: the time and instruction of the last ld.global.nc */
            uint32_t constant, constant_insn;
        };
        /* Shared memory: numbers of two asynchronous operations that read the granule. 0 means no operation. */
        uint32_t readers[2];
    };
    /* The release time that a thread acquires when it reads the granule as a flag. `published` holds for any thread,
     * and `published_cta` for threads of the block that made the last write. */
    uint32_t published, published_cta;
} vm_cell;
/* Eight neighbouring cells, stored as a structure of arrays. A warp mostly touches a row of cells, and quick.c
 * compares one field of all eight with one vector instruction. The four fields of one mark fill two cache lines. */
enum { VM_CELLS = 8 };
typedef struct vm_marks {
    uint32_t stamp[VM_CELLS], who[VM_CELLS], insn[VM_CELLS], block[VM_CELLS];
} vm_marks;
typedef struct vm_cells {
    vm_marks w, r1, r2;
    uint32_t constant[VM_CELLS], constant_insn[VM_CELLS]; /* shared memory: readers[0] and readers[1] */
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

/* A row of marks: the marks that one instruction of one warp has left in the cells of a line. The cells differ only by
 * the lane: cell c belongs to lane `lane + (c >> step)`. If `step` is VM_STEP_ONE, all cells belong to one lane. */
typedef struct vm_row {
    uint32_t stamp, insn, block;
    uint16_t who; /* vm_mark.who of the warp's first lane, with flags */
    int8_t lane;
    uint8_t step;
    uint32_t in[4]; /* indexed by vm_role: the cells that hold the mark in this role, a bit each */
} vm_row;
/* The roles of a mark in a cell. The last one uses only `stamp` and `insn`: vm_cell.constant and constant_insn. */
enum vm_role { VM_ROLE_WRITE, VM_ROLE_READ, VM_ROLE_READ2, VM_ROLE_CONSTANT, VM_ROLES };
enum { VM_LINE = 32, VM_STEP_ONE = 5, VM_ROWS = 3, VM_ROWS_MOST = 31 };
/* Shadow memory of VM_LINE neighbouring cells. A line is either compact or open. A compact line keeps the marks of its
 * cells in at most VM_ROWS_MOST rows; a cell that no row names has no mark. It becomes open when its marks need more
 * rows or when a flag is published in it, and then `cells` has the marks. */
typedef struct vm_line {
    vm_cells *cells;      /* VM_LINE / VM_CELLS groups; NULL: the line is compact */
    vm_row *more;         /* all rows, if they are too many for `rows`; otherwise NULL */
    uint32_t count, room; /* rows in use, the first ones; room: of `more` */
    uint32_t
        base; /* shared memory: the start of the last block that used the line (vm_check_block.base); otherwise 0 */
    uint32_t unused;
    vm_row rows[VM_ROWS];
} vm_line;
_Static_assert(sizeof(vm_line) == 128, "two cache lines");

/* The shadow memory of one allocation. The allocation owns the shadow, and the check's allocator provides its memory.
 */
typedef struct vm_shadow {
    uint64_t *written;  /* one bit per byte, set if something has written the byte; NULL if all bytes are written */
    uint64_t unwritten; /* number of bytes that nothing has written */
    vm_line **pages;    /* one array of lines for each VM_SHADOW_PAGE bytes; NULL until a kernel touches the page */
    /* The times at which a kernel last read and last wrote each page. NULL without check_track(). */
    uint32_t *used;
    uint32_t flagged; /* the time of the last atomic, volatile or ordered write; needs `used` */
    /* for cuMemAllocPitch: bytes of a row without padding, and with padding; 0 if the allocation has no rows */
    uint64_t row, pitch;
    unsigned shift;                 /* a cell covers 1 << shift bytes */
    bool by_kernel;                 /* malloc() in device code has made the allocation */
    const struct vm_module *module; /* module of the instruction `insn` that allocated it; only compared */
    kiln_check_side made;           /* place of the allocation in a kernel, if `by_kernel` */
} vm_shadow;
#define VM_SHADOW_PAGE 4096u

/* The bytes [start, end) of a local variable in the frame of its function. `end` is 0 if the bounds are unknown. */
typedef struct vm_check_local_piece {
    uint32_t start, end;
} vm_check_local_piece;
/* The static analysis of a module (code.c), made at its first checked launch. The module's arena owns it. */
typedef struct vm_check_code {
    uint8_t *kind;   /* indexed by tally index: a vm_check_see and flags */
    uint32_t *owner; /* indexed by tally index: the only shared variable that the access can touch, + 1; or 0 */
    vm_check_local_piece *pieces; /* indexed by tally index: the only local variable that the access can touch */
    unsigned shift;               /* no access is smaller than 1 << shift bytes */
    bool async;                   /* the module has asynchronous operations or mbarriers */
    /* numbers[function][register] is at least 1 if a product or tcgen05.ld uses the register or a copy of it, otherwise
     * 0. numbers[function] is NULL if the function has neither. */
    uint32_t **numbers, reg_count;
    bool tensor, tensor_fences; /* tensor: the module uses tensor memory; tensor_fences: it has a tcgen05.fence */
    /* the number of the module among the modules that the check has seen, from 1; 0 if it is new */
    uint32_t serial;
} vm_check_code;
/* How an instruction is checked. */
enum vm_check_see {
    VM_SEE_NOTHING,
    VM_SEE_LOAD,
    VM_SEE_STORE,
    VM_SEE_ATOMIC,
    VM_SEE_COPY, /* cp.async */
    VM_SEE_BARRIER,
    VM_SEE_FENCE,
    VM_SEE_CALL,
    VM_SEE_GRID,  /* griddepcontrol */
    VM_SEE_ASYNC, /* groups, bulk copies, mbarriers, products, proxy fences, barrier.cluster */
    VM_SEE_TEAM,  /* multimem */
    VM_SEE_OTHER  /* other accesses to memory: matrix loads and stores */
};
#define VM_SEE_REGISTERS 128u /* a flag: the instruction uses registers that products use */
#define VM_SEE_SPECIAL 64u    /* a flag: a load or store that is ordered or reads read-only data */
#define VM_SEE_CONSTANT 32u   /* a flag: the instruction reads read-only data, and is otherwise plain */

/* How an asynchronous operation completes. */
typedef enum vm_flight_kind {
    VM_FLIGHT_COPY,        /* cp.async of a warp: completes in groups of each thread, or on an mbarrier */
    VM_FLIGHT_LOAD,        /* a bulk copy that completes on an mbarrier */
    VM_FLIGHT_STORE,       /* a bulk copy that completes in a bulk group of its thread */
    VM_FLIGHT_WGMMA,       /* a product of a warpgroup, in groups of the warpgroup */
    VM_FLIGHT_TENSOR,      /* tcgen05.mma, cp and shift: complete with a phase that tcgen05.commit names */
    VM_FLIGHT_TENSOR_LOAD, /* tcgen05.ld: completes at tcgen05.wait::ld of its warp */
    VM_FLIGHT_TENSOR_STORE /* tcgen05.st: completes at tcgen05.wait::st of its warp */
} vm_flight_kind;
/* An asynchronous operation. check_flight_new() makes it, and from then on it is in flight. It is complete for a thread
 * when check_flight_is_complete() is true for that thread; for another thread it may still be in flight. VM_FLIGHTS
 * operations later another operation takes its place, and the operation is forgotten. */
typedef struct vm_flight {
    uint32_t id, insn, block, group;
    uint32_t bar, phase; /* the mbarrier and its phase: for all lanes of a LOAD, for the lanes in `bound` of a COPY */
    uint32_t lanes, bound, waited;
    /* The times at which a thread waited for the operation, or 0. For STORE, [0] is for its reads and [1] for its
     * writes. For WGMMA, the index is the warp of the group. Other kinds use [0]. */
    uint32_t done[4];
    uint16_t who; /* the thread that issued it; for WGMMA the first thread of the group's first warp */
    uint8_t kind;
    uint8_t layout; /* the swizzle of the tensor map or descriptor, + 1; 0 if the operation has neither */
    bool generic;   /* the operation is not in the asynchronous proxy */
    /* The members from here on are for operations on tensor memory. */
    bool told;                   /* a note about its registers exists */
    uint16_t op;                 /* ptx_op of the instruction */
    uint32_t begun;              /* the time at which it was issued */
    uint32_t accumulator, shape; /* for tcgen05.mma: the address of D; a code for M, N and the number of blocks */
} vm_flight;

/* A register that a product uses, or that tcgen05.ld writes. */
typedef struct vm_reg {
    uint32_t flight;  /* the product or the load */
    uint32_t touched; /* the instruction of the last access since wgmma.fence, + 1; 0: no access */
    /* true if the product accumulates in the register; otherwise the register holds a part of matrix A */
    bool sum;
} vm_reg;
/* Limits: how many mbarriers of a block are followed, how many phases of each, and how many proxy fences of each
 * thread. */
enum { VM_BARS = 128, VM_BAR_PHASES = 4, VM_FENCES = 4, VM_BAR_NONE = VM_BARS };
/* The part of a vector clock that describes one other block of the cluster, warp by warp. It orders accesses of all
 * lanes up to the time `know`, and accesses of the lanes `lanes` up to the later time `part`. Records are immutable
 * once a thread has their number, so that threads can share them (far.c). */
typedef struct vm_far {
    uint32_t id;
    uint32_t owner; /* the number of the phase that still collects arrivals and may therefore change the record */
    uint32_t know[VM_LANES], part[VM_LANES], lanes[VM_LANES];
} vm_far;
/* The part of a vector clock that only modules with asynchronous operations need. */
typedef struct vm_more {
    /* Indexed by warp: accesses of the lanes `lanes` up to the time `part` happened before the present point of the
     * thread. */
    uint32_t part[VM_LANES], lanes[VM_LANES];
    /* fenced[v]: writes of warp v up to this time are before a fence.proxy.async that happened before the present point
     * of the thread. fenced_horizon: the same time for writes of all threads. */
    uint32_t fenced[VM_LANES], fenced_horizon;
    /* Indexed by the rank of another block: the number of a record (vm_far), or 0. Accesses in the record `wrote`
     * happened before the present point of the thread. By the record `read` only reads count as ordered, so that a
     * thread may overwrite the data that they have read. */
    uint32_t wrote[VM_CLUSTER_MOST], read[VM_CLUSTER_MOST];
    uint32_t seen[VM_BARS]; /* indexed by mbarrier: number of phases that are known to be complete */
} vm_more;
/* The length of a vector clock: an entry for each warp of the block, then one for each block of the cluster, by
 * rank. */
#define VM_KNOWN (VM_LANES + VM_CLUSTER_MOST)
/* The vector clock of a warp, and its asynchronous state. Every time in a vector clock comes from the check's single
 * counter. An entry t for a set of threads means: accesses of these threads with a stamp of at most t happened before
 * this warp's next access. */
typedef struct vm_clock {
    /* the entry that holds for each thread of the cluster; check_refresh_fast() derives it from the other fields */
    uint32_t fast;
    uint32_t horizon; /* the entry that holds for each thread of the grid */
    /* the entry that only the lanes `heard_lanes` have, because they have read flags: see check_acquire_flag() */
    uint32_t heard, heard_lanes;
    uint32_t full; /* the warp's own entry in its vector clock */
    /* like `full`, but without the order that comes only from shuffles and votes, which order no memory */
    uint32_t firm;
    /* The entry for prerequisite launches (VM_APART_UNTIL_WAIT). `after` has the lanes for which all prerequisite
     * launches happened before. If the launch has no prerequisite launches, `after` has all lanes. */
    uint32_t early, after;
    uint32_t synced; /* time at which the warp last synchronised with any thread */
    /* the times of the last fence for the device and of the last fence for the block */
    uint32_t released, released_cta;
    bool met;                /* the warp has passed barrier.cluster, so all blocks of the cluster have begun */
    uint32_t met_at;         /* the time at which it last passed barrier.cluster */
    uint32_t fencing;        /* lanes with a fence for the device since the warp's last barrier of the block */
    uint32_t know[VM_KNOWN]; /* indexed by warp and by block of the cluster */
    /* lanes[lane][other lane] is the entry that a lane has for another lane of the warp. NULL until a part of the
     * warp's lanes synchronise. */
    uint32_t *lanes;
    /* groups and bulk_groups count the cp.async groups and the bulk groups that each lane has committed. products
     * counts the groups of wgmma that the warp has committed. */
    uint32_t groups[VM_LANES], bulk_groups[VM_LANES], products;
    uint32_t *pending; /* vm_flight.id of the operations that the warp has not waited for */
    size_t pending_count, pending_capacity;
    struct vm_more *more; /* NULL if the module has nothing asynchronous */
    /* Indexed by mbarrier: the lanes that know the last phase in more->seen. The other lanes know one phase less. */
    uint32_t seen_lanes[VM_BARS];
    uint32_t spins; /* tests of mbarriers that failed in a row; 0 after any other checked instruction */
    /* The lanes of these tests. `waited` has the lanes since the last multiple of TESTS tests (mbarrier.c), and `still`
     * has the lanes of the TESTS tests before. */
    uint32_t waited, still;
    uint32_t wait_bar; /* wait_bar, wait_insn, wait_lane and wait_parity describe the last failed test */
    uint32_t wait_insn, wait_lane, wait_parity;
    uint32_t product_count; /* products that this warp has begun */
    uint32_t product_fence; /* `products` + 1 at its last wgmma.fence */
} vm_clock;
/* The join (pointwise maximum) of the vector clocks of the warps that have arrived at a barrier. */
typedef struct vm_gate {
    uint32_t know[VM_KNOWN], horizon, early;
} vm_gate;
/* The join of the vector clocks of the threads that have arrived in a phase of an mbarrier. */
typedef struct vm_view {
    vm_gate gate;
    vm_more more;
} vm_view;
/* A tcgen05.commit: all operations of the thread `who` of `block` up to the number `last` are complete with the
 * phase. */
typedef struct vm_commit {
    uint32_t block, who, last;
} vm_commit;
/* A thread that commits to mbarriers of a block. The commits of a thread arrive in the order of its program. So if its
 * last commit has arrived, phases[n] phases of mbarrier n are complete. Only phases that one commit completes count. */
typedef struct vm_committer {
    uint32_t block, who, phases[VM_BARS];
} vm_committer;
enum { VM_COMMITTERS = 8 };
/* The commits that arrive in one phase of an mbarrier. */
enum { VM_COMMITS = 8 };
typedef struct vm_committed {
    uint32_t phase, count;
    vm_commit by[VM_COMMITS];
} vm_committed;
/* The last wait of a warp that a phase of an mbarrier has let pass. */
typedef struct vm_passed {
    uint32_t phases; /* how many phases the wait has made known; 0: the warp has not waited */
    vm_mark wait;    /* the epoch of the wait */
} vm_passed;
/* The state of an mbarrier in the checks. An mbarrier is not live until its initialisation, and then live in phase 0,
 * 1, 2 and so on. Each phase collects arrivals and bytes. When no arrival and no byte is pending, complete_phases()
 * starts the next phase. */
typedef struct vm_bar {
    uint32_t address;
    bool live;                     /* initialised and not invalidated */
    vm_mark init;                  /* the epoch of its initialisation */
    uint32_t announced;            /* the time of the initialising thread's fence.mbarrier_init; 0 before the fence */
    uint32_t pending, expected;    /* arrivals that this phase still lacks, and arrivals that complete a phase */
    int64_t tx;                    /* bytes that are still to come; negative if bytes came before they were announced */
    uint64_t expected_tx, came_tx; /* bytes of this phase, for messages */
    uint32_t arrived, phase;       /* phase: how many phases are complete */
    uint32_t last;                 /* vm_flight.id of the last copy that completes on it */
    /* the epoch of the last arrival by another block; its stamp is 0 if there was no such arrival */
    vm_mark far;
    uint32_t far_phase; /* the phase in which that arrival counts */
    /* if that arrival is a commit: vm_flight.id of the last product before it; otherwise 0 */
    uint32_t far_product;
    uint32_t owner;                /* vm_far.owner of the records of the current phase; 0 if it has no records */
    vm_view gather;                /* the join of the arrivals so far */
    vm_view phases[VM_BAR_PHASES]; /* the joins of the last complete phases, by number modulo VM_BAR_PHASES */
    /* Indexed like `phases`: the time at which a thread first learned that the phase is complete, or 0. */
    uint32_t learned[VM_BAR_PHASES];
    vm_passed passed[VM_LANES]; /* by warp of the block */
    uint32_t outrun;            /* warps whose wait for the last phase but one is not ordered before the last phase */
    /* The commits of the last phases, by number modulo VM_BAR_PHASES. Commits of older phases are not kept, so
     * operations up to the number `old_commit` count as complete. */
    vm_committed committed[VM_BAR_PHASES];
    uint32_t old_commit;
} vm_bar;

/* A cell of the shadow of tensor memory: one column of sixteen lanes. It holds numbers of operations (vm_flight.id). 0
 * means that there is no such operation. */
typedef struct vm_tensor_cell {
    uint32_t write;    /* the last operation that wrote it */
    uint32_t loads[2]; /* the last tcgen05.ld of two threads, the later one first */
    uint32_t used;     /* the last tcgen05.mma that only read it */
} vm_tensor_cell;
enum { VM_TENSOR_GROUPS = 8, VM_TENSOR_CELLS = 512 * VM_TENSOR_GROUPS };
/* The fences of a warp around barriers: tcgen05.fence. */
typedef struct vm_tensor_warp {
    uint32_t before[VM_FENCES + 1]; /* the times of its last fences before_thread_sync, the latest first */
    /* The warp's vector clock at its last fence after_thread_sync. `seen` is indexed by mbarrier. */
    uint32_t horizon, know[VM_KNOWN], seen[VM_BARS];
} vm_tensor_warp;
/* The tensor memory of a block in the checks. */
typedef struct vm_tensor_state {
    vm_tensor_cell cells[VM_TENSOR_CELLS]; /* column after column */
    /* indexed by column: the instruction that allocated it, + 1; 0 if it is free */
    uint32_t made[512];
    uint32_t maker[512]; /* indexed by column: the thread that allocated it */
    /* The last tcgen05.alloc whose columns are not in `made` yet. Its instruction + 1 (pending; 0 means no such
     * instruction), and the number of its thread (pending_who). */
    uint32_t pending, pending_who;
    uint32_t lost; /* operations up to this number count as complete, because a commit could not be recorded */
    /* Indexed by rank: the last tcgen05.mma, cp or shift that the block of this rank has issued on this block's tensor
     * memory. */
    uint32_t users[VM_CLUSTER_MOST];
    vm_tensor_warp warps[VM_LANES];
    /* The last threads that began to commit to mbarriers of this block, and the number of all such threads. */
    vm_committer committers[VM_COMMITTERS];
    uint32_t committer_count;
} vm_tensor_state;
/* The state of a resident block. vm_block.check points to it; the device's allocator holds it. */
typedef struct vm_check_block {
    uint32_t base; /* the time at which the block started; an older mark in its cells comes from an earlier block */
    unsigned shift;
    vm_clock *warps;
    /* Indexed by barrier of the block. The last element has the clock that the cluster's barrier publishes. */
    vm_gate gates[VM_BARRIERS + 1];
    /* A copy of the last element of `gates`, made when the cluster's barrier opened, because warps may wait for the
     * barrier later. */
    vm_gate opened;
    vm_line *lines; /* shadow of shared memory */
    size_t line_count;
    uint64_t *local_written; /* a bit for each byte of local memory, by thread; NULL: it has no local memory */
    size_t local_words;
    /* The members from here on are used only if the module has asynchronous instructions. */
    vm_more *gate_more; /* indexed by barrier, like `gates` */
    vm_more *more;      /* indexed by warp */
    uint32_t (
        *fences)[VM_FENCES + 1]; /* indexed by thread: the times of its last fence.proxy.async, the latest first */
    vm_bar *bars;
    size_t bar_count, bar_capacity;
    bool dirty;             /* the cells contain numbers of asynchronous operations */
    bool waited, triggered; /* a thread has executed griddepcontrol.wait, or launch_dependents */
    /* Indexed by warp: the time of its last arrival at the cluster's barrier, which may be relaxed. */
    uint32_t came[VM_LANES];
    /* Indexed by the rank of another block: its last plain access to this block's shared memory. The stamp is 0 if
     * there was none. */
    vm_mark visitors[VM_CLUSTER_MOST];
    /* Indexed by rank: the last copy from this block's shared memory to the shared memory of the block of this rank, or
     * 0. */
    uint32_t pushed[VM_CLUSTER_MOST];
    struct { /* indexed by warpgroup: how many products it has begun, and vm_flight.id of the last one */
        uint32_t count, flight;
    } products[VM_WARPGROUPS];
    vm_reg *regs;            /* indexed by warp and register number; NULL if the module has no products */
    vm_tensor_state *tensor; /* NULL if the module does not use tensor memory */
} vm_check_block;

/* ---- the hooks that the interpreter calls ---- */
/* The table for vm_watch.checks. check_attach() also stores it in the device. */
extern const struct vm_hooks check_hooks;

#endif
