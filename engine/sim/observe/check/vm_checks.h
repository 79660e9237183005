/* vm_checks.h - the checks of an observed launch: findings, shadow memory and vector clocks.
 *
 * CHECKS.md lists the checks. RACES.md explains the algorithm of the race checker, which is close to FastTrack
 * (Flanagan and Freund, PLDI 2009).
 *
 * A checked launch runs on one host thread. So the checks take no locks, and two runs of the same launch have the same
 * findings in the same order.
 *
 * `vm_check.time` is one counter of time for the whole check. There is no counter for each thread. The counter advances
 * whenever threads synchronise. A shadow cell stores epochs: the time and the thread of an access. A warp has a vector
 * clock. For each other warp, the clock has the time up to which the accesses of that other warp happened before the
 * next access of this warp. */
#ifndef KILN_SIM_VM_CHECKS_H
#define KILN_SIM_VM_CHECKS_H

#include "vm_hooks.h"
#include "vm_watch.h"

typedef struct vm_check vm_check;

/* Makes a check. Returns NULL if memory runs out. The caller frees the check with check_free(). */
vm_check *check_new(const kiln_allocator *mem);
/* Frees a check, or does nothing for NULL. When it is freed, no device may use the check any more. */
void check_free(vm_check *check);
/* Attaches a check to a device: from now on the allocations of the device have shadow memory. All bytes of existing
 * allocations count as written. If `check` is NULL, removes the shadow memory of all allocations. No launch may run
 * during this call. */
void check_attach(vm_device *device, vm_check *check);
size_t check_count_findings(const vm_check *check);
const kiln_check_finding *check_get_finding(const vm_check *check, size_t index);
/* Sets the function that decides whether a finding is suppressed. A suppressed finding stays in the list, but it takes
 * no room from other findings. The caller must call this before the first launch. */
void check_suppress(vm_check *check, bool (*is_suppressed)(const kiln_check_finding *finding));
/* Returns the number of findings that were dropped. A finding is dropped if the check already has VM_FOUND_MOST
 * findings that are not suppressed. */
uint64_t check_dropped(const vm_check *check);
/* Returns true if memory for shadow cells or clocks has run out, or if all numbers of asynchronous operations were
 * used. Then the checks may miss races. */
bool check_starved(const vm_check *check);

/* ---- for the driver ---- */
/* The driver calls this for a copy from device memory to device memory. The target also gets the information which
 * bytes nothing has written. */
void check_copied(vm_device *device, uint64_t to, uint64_t from, uint64_t bytes);
/* Reports bytes that the host reads although nothing has written them. */
void check_host_reads(vm_device *device, uint64_t address, uint64_t bytes);
/* Marks bytes as if nothing had ever written them. */
void check_forget_bytes(vm_device *device, uint64_t address, uint64_t bytes);
/* Tells the check that the allocation has rows of `row` bytes, each with padding up to `pitch` bytes. */
void check_rows(vm_device *device, uint64_t address, uint64_t row, uint64_t pitch);
/* Reports that the host frees an address at which it has no allocation. */
void check_host_free(vm_device *device, uint64_t address);
/* An interval of the check's time: later than `after`, up to and including `until`. */
typedef struct vm_period {
    uint32_t after, until;
} vm_period;
/* The reason why earlier work is not ordered before a launch. */
typedef enum vm_apart {
    VM_APART_STREAM, /* the stream of the work and the stream of the launch do not wait for each other */
    /* The launch is a dependent launch, and the work is one of its prerequisite launches. So the work is ordered only
     * before accesses after griddepcontrol.wait. */
    VM_APART_UNTIL_WAIT,
    /* The work comes before a prerequisite launch that did not wait for the work. So the work may last longer than the
     * prerequisite launch. Therefore griddepcontrol.wait does not order the work either. */
    VM_APART_BEYOND_WAIT
} vm_apart;
/* An interval of time whose work is not ordered before later launches. */
typedef struct vm_prior {
    vm_period span;
    vm_apart why;
} vm_prior;
/* Sets the work that is not ordered before later launches. Resets the value that check_dependence() returns. The
 * intervals are sorted, with the earliest first. The caller must keep the array alive. */
void check_concurrent(vm_check *check, const vm_prior *priors, size_t count);
/* Tells how the last launch waited for its prerequisite launches. */
typedef struct vm_dependence {
    bool waited; /* at least one thread has executed griddepcontrol.wait */
    /* True if some block let the dependent launches begin only after the prerequisite launches of this launch had
     * completed. There are two such cases. In the first, a lane had waited before it executed the block's first
     * launch_dependents. In the second, the block executed no launch_dependents and ended after a wait. In a launch
     * without prerequisite launches, the first launch_dependents also sets it. */
    bool waited_first;
} vm_dependence;
/* Returns how the launches since check_concurrent() have waited for their prerequisite launches. */
vm_dependence check_dependence(const vm_check *check);
/* Returns the time of the check and advances it. The time restarts at 1 after about 2^31 steps. */
uint32_t check_host_advance_time(vm_check *check);
/* If `time` is later than the time of the check, advances the check to it. Devices whose kernels use each other's
 * memory share one time. So the driver advances the check of each of these devices. */
void check_raise_time(vm_check *check, uint32_t time);
/* Forgets all accesses and sets the time to 1. The caller knows that all earlier work is ordered before all later
 * work. */
void check_forget_accesses(vm_device *device, vm_check *check);
/* Adds the names of launches that `from` has seen in the interval, so that a message about an access of another device
 * can name its launch. */
void check_copy_launches(vm_check *check, const vm_check *from, vm_period span);
/* Reports a copy or a fill that the driver refuses, because some of the memory does not exist or is registered as
 * read-only. `what` names the operation for the message, such as "the host's copy". */
void check_host_bounds(vm_device *device, const char *what, uint64_t address, uint64_t bytes, bool write);
/* Reports a launch that the driver refuses. A program that does not test for errors would not notice the refusal. The
 * check copies the text `why`. */
void check_host_launch(vm_device *device, const char *kernel, const char *why);
/* Reports a race between a copy or a fill by the host and an access that a kernel made in the interval. The caller
 * knows that nothing orders the copy or fill and the access. Reports nothing if no kernel has touched that memory in
 * the interval. */
void check_host_race(vm_device *device, const char *what, uint64_t address, uint64_t bytes, bool write, vm_period span);
/* From this call on, the check records when kernels access each page of this allocation. The driver calls it for memory
 * that the host may touch without a call. */
void check_track(vm_device *device, uint64_t address);
bool check_has_launched(const vm_check *check, vm_period span);
/* A range of whole pages that kernels have used in the same way. */
typedef struct vm_used {
    uint64_t address, bytes;
    bool written; /* some kernel writes the pages */
} vm_used;
/* Finds the next range of pages, at or after `from`, that kernels have used in the interval. Returns false if there is
 * no such page in the allocation. */
bool check_used(vm_device *device, uint64_t from, vm_period span, vm_used *used);
/* Returns true if a kernel has made an atomic, volatile or ordered write to this allocation in the interval. The host
 * may then have read in the memory itself that the kernel has ended. */
bool check_flagged(vm_device *device, uint64_t address, vm_period span);
/* Reports that the host has touched managed memory which kernels use, and that the host has not waited for these
 * kernels. `written` is true if kernels write the page. Reports nothing if no kernel has touched the same cell in the
 * interval. If `written` is true, the function reports nothing unless a kernel has written the cell. */
void check_managed_race(vm_device *device, uint64_t address, bool written, vm_period span, const char *where);
/* Reports two copies or fills by the host of which at least one writes, and which nothing orders. */
void check_copies_race(vm_device *device, const char *one, const char *other, uint64_t address);
/* Reports that the host has touched pinned memory of a copy, and that the host has not waited for this copy. `written`
 * is true if the copy writes the memory. */
void check_pinned_race(vm_device *device, uint64_t address, uint64_t bytes, bool written, const char *where);
/* Reports allocations that were not freed. The driver must call this before it destroys the device. If `all` is true,
 * allocations by the host count too, otherwise only allocations by kernels. */
void check_leaks(vm_device *device, bool all);

/* ---- for the interpreter ---- */

/* An epoch: the thread that made an access, and the time of the access. `who` is the number of the thread in its block
 * (VM_WHO), and flags. If VM_PENDING is set, an asynchronous operation made the access. Then `insn` is the number of
 * the operation (vm_flight.id), and `stamp` is UINT32_MAX, which is above all times. */
typedef struct vm_mark {
    uint32_t stamp, who, insn, block;
} vm_mark;
enum {
    VM_WHO = 1023, /* the bits that hold the number of the thread */
    /* several threads of the warp or block made the access; `who` names the first of them */
    VM_MANY = 1024,
    VM_STRONG_SIDE = 2048,   /* the access is atomic, volatile, relaxed or stronger */
    VM_PENDING = 4096,       /* an asynchronous operation made the access */
    VM_VOLATILE_SIDE = 8192, /* the access is strong only because it is `volatile` */
    VM_BLOCK_SIDE = 16384,   /* the access is strong only for its own block (scope .cta) */
    VM_LATE_SIDE = 32768     /* the block had executed griddepcontrol.launch_dependents before the access */
};
/* A cell of shadow memory: the epochs of accesses to one granule of 1, 2 or 4 bytes. A cell keeps the last write and
 * two recent reads of its granule. In shared memory the two reads come from different warps. In global memory they come
 * from different blocks. */
typedef struct vm_cell {
    vm_mark w, r1, r2;
    union {
        struct { /* in global memory: the time and the instruction of the last ld.global.nc */
            uint32_t constant, constant_insn;
        };
        /* In shared memory: the numbers of two asynchronous operations that read the granule. 0 means no operation. */
        uint32_t readers[2];
    };
    /* The release times that a thread acquires if it reads the granule as a flag. `published` holds for any thread, and
     * `published_cta` for threads of the block that made the last write. */
    uint32_t published, published_cta;
} vm_cell;
/* Eight neighbouring cells, which are stored as a structure of arrays. A warp mostly touches a row of cells, and one
 * vector instruction of quick.c compares one field of all eight cells. The four fields of one mark fill two cache
 * lines. */
enum { VM_CELLS = 8 };
typedef struct vm_marks {
    uint32_t stamp[VM_CELLS], who[VM_CELLS], insn[VM_CELLS], block[VM_CELLS];
} vm_marks;
typedef struct vm_cells {
    vm_marks w, r1, r2;
    uint32_t constant[VM_CELLS], constant_insn[VM_CELLS]; /* in shared memory these are readers[0] and readers[1] */
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

/* A row: the marks that one instruction of one warp has left in the cells of a line. The marks of the cells differ only
 * by the lane: cell c belongs to lane `lane + (c >> step)`. If `step` is VM_STEP_ONE, all cells belong to one lane. */
typedef struct vm_row {
    uint32_t stamp, insn, block;
    uint16_t who; /* vm_mark.who for the first lane of the warp, with flags */
    int8_t lane;
    uint8_t step;
    /* indexed by vm_role: the set of cells that have the mark in this role, with one bit for each cell */
    uint32_t in[4];
} vm_row;
/* The roles that a mark can have in a cell. The role VM_ROLE_CONSTANT uses only `stamp` and `insn` of a mark:
 * vm_cell.constant and constant_insn. */
enum vm_role { VM_ROLE_WRITE, VM_ROLE_READ, VM_ROLE_READ2, VM_ROLE_CONSTANT, VM_ROLES };
enum { VM_LINE = 32, VM_STEP_ONE = 5, VM_ROWS = 3, VM_ROWS_MOST = 31, VM_WIDE = 4 };
/* The shadow memory of VM_LINE neighbouring cells. A line is compact, thin or open. A compact line keeps the marks of
 * its cells in at most VM_ROWS_MOST rows. A cell that no row names has no mark. A thin line keeps reads in words, and
 * all other marks in rows (thin.c). Only lines of global memory become thin. A line becomes open when its marks need
 * more rows, or when a flag is published in it. Then `cells` has the marks. */
typedef struct vm_line {
    vm_cells *cells; /* VM_LINE / VM_CELLS groups of cells, or NULL if the line is not open */
    vm_row *more;    /* all rows of the line if `rows` has no room for them, otherwise NULL */
    /* The words of a thin line, otherwise NULL. A word is the number of a record times 32, plus the lane. The word 0
     * means that the mark of the cell is in a row, or that the cell has no such mark. If the line is not wide, each
     * cell has one word, for VM_ROLE_READ. If the line is wide, each cell has VM_WIDE words, and the word of a role is
     * the word `role` - 1 of the cell. */
    uint32_t *words;
    /* shared memory: the start of the last block that used the line (vm_check_block.base); global memory: 0 */
    uint32_t base;
    uint8_t count, room; /* count: number of rows in use, which come first; room: capacity of `more` */
    bool wide;
    bool same; /* in a thin line that is not wide: the words are also the marks of VM_ROLE_CONSTANT */
    union {
        vm_row rows[VM_ROWS];
        struct { /* a thin line has one row less */
            vm_row thin_rows[VM_ROWS - 1];
            struct vm_check *owner; /* has the records that the words name */
        };
    };
} vm_line;
_Static_assert(sizeof(vm_line) == 128, "two cache lines");

/* The shadow memory of one allocation. The allocation owns its shadow, and the allocator of the check provides the
 * memory. */
typedef struct vm_shadow {
    /* one bit for each byte, set if something has written the byte; NULL if all bytes count as written */
    uint64_t *written;
    uint64_t unwritten; /* number of bytes that nothing has written */
    vm_line **pages;    /* an array of lines for each VM_SHADOW_PAGE bytes, or NULL until a kernel touches the page */
    /* For each page, the times at which a kernel last read it and last wrote it. NULL without check_track(). */
    uint32_t *used;
    uint32_t flagged; /* the time of the last atomic, volatile or ordered write; it is kept only if `used` exists */
    /* For memory of cuMemAllocPitch: bytes of a row without and with padding. Both are 0 if the allocation has no
     * rows. */
    uint64_t row, pitch;
    unsigned shift; /* a cell covers 1 << shift bytes of memory */
    bool by_kernel; /* malloc() in device code has made the allocation */
    /* the module of the instruction `insn` that made the allocation; the pointer is only compared */
    const struct vm_module *module;
    kiln_check_side made; /* if `by_kernel`: the place in the kernel that made the allocation */
} vm_shadow;
#define VM_SHADOW_PAGE 4096u

/* The bytes [start, end) that a local variable occupies in the frame of its function. `end` is 0 if the bounds are
 * unknown. */
typedef struct vm_check_local_piece {
    uint32_t start, end;
} vm_check_local_piece;
/* The static analysis of a module (code.c). The analysis is made at the first checked launch of the module. The arena
 * of the module owns it. */
typedef struct vm_check_code {
    uint8_t *kind; /* indexed by tally index: how the instruction is checked (vm_check_see), and flags */
    /* indexed by tally index: 1 + the only shared variable that the access can touch, or 0 if that is unknown */
    uint32_t *owner;
    vm_check_local_piece *pieces; /* indexed by tally index: the only local variable that the access can touch */
    unsigned shift;               /* the binary logarithm of the granule: no access is smaller than 1 << shift bytes */
    bool async;                   /* the module has asynchronous operations or mbarriers */
    /* numbers[function][register] is at least 1 if a product or tcgen05.ld uses the register or a copy of it, otherwise
     * 0. If the function has neither product nor tcgen05.ld, numbers[function] is NULL. */
    uint32_t **numbers, reg_count;
    /* tensor: the module uses tensor memory; tensor_fences: the module has a tcgen05.fence */
    bool tensor, tensor_fences;
    /* The number of the module among the modules that the check has seen, from 1. The number is 0 while the check has
     * not seen the module. */
    uint32_t serial;
} vm_check_code;
/* Tells how an instruction is checked. */
enum vm_check_see {
    VM_SEE_NOTHING,
    VM_SEE_LOAD,
    VM_SEE_STORE,
    VM_SEE_ATOMIC,
    VM_SEE_COPY, /* cp.async */
    VM_SEE_BARRIER,
    VM_SEE_FENCE,
    VM_SEE_CALL,
    VM_SEE_GRID, /* griddepcontrol */
    /* the instruction is about groups, bulk copies, mbarriers, products, proxy fences or barrier.cluster */
    VM_SEE_ASYNC,
    VM_SEE_TEAM, /* multimem */
    VM_SEE_OTHER /* other accesses to memory: matrix loads and stores */
};
#define VM_SEE_REGISTERS 128u /* flag: the instruction uses registers that products use */
/* flag: the instruction is a load or store that is ordered or that reads read-only data */
#define VM_SEE_SPECIAL 64u
#define VM_SEE_CONSTANT 32u /* flag: the instruction reads read-only data, and is otherwise a plain load */

/* Tells how an asynchronous operation completes. */
typedef enum vm_flight_kind {
    VM_FLIGHT_COPY,  /* cp.async of a warp: completes in groups of each thread, or on an mbarrier */
    VM_FLIGHT_LOAD,  /* a bulk copy that completes on an mbarrier */
    VM_FLIGHT_STORE, /* a bulk copy that completes in a bulk group of its thread */
    VM_FLIGHT_WGMMA, /* a product of a warpgroup, which completes in groups of the warpgroup */
    /* tcgen05.mma, cp or shift, which completes with a phase in which a tcgen05.commit arrives */
    VM_FLIGHT_TENSOR,
    VM_FLIGHT_TENSOR_LOAD, /* tcgen05.ld, which completes at tcgen05.wait::ld of its warp */
    VM_FLIGHT_TENSOR_STORE /* tcgen05.st, which completes at tcgen05.wait::st of its warp */
} vm_flight_kind;
/* An asynchronous operation. The call of check_flight_new() that makes the operation also puts it in flight. The
 * operation is complete for a thread when check_flight_is_complete() returns true for this thread. For another thread
 * it may still be in flight. VM_FLIGHTS operations later another operation takes its place. Then the checks have
 * forgotten the operation. */
typedef struct vm_flight {
    uint32_t id, insn, block, group;
    /* the mbarrier and the phase on which the operation completes; they are for all lanes of a LOAD, and for the lanes
     * `bound` of a COPY */
    uint32_t bar, phase;
    uint32_t lanes, bound, waited;
    /* The times at which a thread waited for the operation. 0 means that no thread has waited. For a STORE, [0] is the
     * wait for its reads and [1] the wait for its writes. For a WGMMA, the index is the warp in its warpgroup. Other
     * kinds use only [0]. */
    uint32_t done[4];
    /* the thread that issued the operation; for a WGMMA, the first thread of the first warp of the warpgroup */
    uint16_t who;
    uint8_t kind;
    uint8_t layout; /* 1 + the swizzle of the tensor map or descriptor, or 0 if the operation has neither */
    bool generic;   /* the operation uses the generic proxy and not the asynchronous proxy */
    /* The members from here on are for operations on tensor memory. */
    bool told;                   /* a note about the registers of the operation exists */
    uint16_t op;                 /* the ptx_op of the instruction */
    uint32_t begun;              /* the time at which the operation was issued */
    uint32_t accumulator, shape; /* for tcgen05.mma: the address of D, and a code for M, N and the number of blocks */
} vm_flight;

/* A register that a product uses, or that tcgen05.ld writes. */
typedef struct vm_reg {
    uint32_t flight;  /* the product that uses it, or the load that writes it */
    uint32_t touched; /* 1 + the instruction of the last access since wgmma.fence, or 0 if there was no access */
    /* true if the product accumulates in the register; otherwise the register holds a part of matrix A */
    bool sum;
} vm_reg;
/* The limits: the number of mbarriers of a block that are followed, the number of their phases that are kept, and the
 * number of proxy fences of a thread. */
enum { VM_BARS = 128, VM_BAR_PHASES = 4, VM_FENCES = 4, VM_BAR_NONE = VM_BARS };
/* A part of a vector clock. This part describes one other block of the cluster, warp by warp. The record orders
 * accesses of all lanes up to the time `know`, and accesses of the lanes `lanes` up to the later time `part`. As soon
 * as a thread has the number of a record, the record is immutable, so that threads can share it (far.c). */
typedef struct vm_far {
    uint32_t id;
    /* if a phase still collects arrivals, and may therefore change the record: the number of this phase */
    uint32_t owner;
    uint32_t know[VM_LANES], part[VM_LANES], lanes[VM_LANES];
} vm_far;
/* The part of a vector clock that only modules with asynchronous operations need. */
typedef struct vm_more {
    /* Indexed by warp: accesses of the lanes `lanes` up to the time `part` happened before the present point of the
     * thread that has this clock. */
    uint32_t part[VM_LANES], lanes[VM_LANES];
    /* fenced[v] is a time: for writes of warp v up to it, a fence.proxy.async after the write happened before the
     * present point of the thread. fenced_horizon is such a time for writes of all threads. */
    uint32_t fenced[VM_LANES], fenced_horizon;
    /* Indexed by the rank of another block: the number of a record (vm_far), or 0. The accesses in the record `wrote`
     * happened before the present point of the thread. In the record `read` only reads count as ordered, so the thread
     * may overwrite the data that they have read. */
    uint32_t wrote[VM_CLUSTER_MOST], read[VM_CLUSTER_MOST];
    uint32_t seen[VM_BARS]; /* indexed by mbarrier: the number of phases that are known to be complete */
} vm_more;
/* The number of entries of a vector clock: one for each warp of the block, then one for each block of the cluster, by
 * rank. */
#define VM_KNOWN (VM_LANES + VM_CLUSTER_MOST)
/* The vector clock of a warp, and the warp's asynchronous state. Each entry of a vector clock is a time of the check's
 * single counter. An entry t for a set of threads means that the accesses of these threads with a stamp of at most t
 * happened before this warp's next access. */
typedef struct vm_clock {
    /* a lower bound of the entries for all threads of the cluster; check_refresh_fast() computes it from the other
     * fields */
    uint32_t fast;
    uint32_t horizon; /* the entry for all threads of the grid that have no later entry */
    /* An entry for all other threads. Only the lanes `heard_lanes` have it, because they have read flags: see
     * check_acquire_flag(). */
    uint32_t heard, heard_lanes;
    uint32_t full; /* the entry for the warp itself */
    /* like `full`, but without the order that comes only from shuffles and votes, because they order no memory */
    uint32_t firm;
    /* The entry for prerequisite launches (VM_APART_UNTIL_WAIT). `after` has the lanes for which all prerequisite
     * launches happened before their next access. If the launch has no prerequisite launches, `after` has all lanes. */
    uint32_t early, after;
    uint32_t synced; /* the last time at which the warp synchronised with any thread */
    /* the time of the last fence for the device, and of the last fence for the block */
    uint32_t released, released_cta;
    bool met;        /* the warp has passed barrier.cluster, so all blocks of its cluster have begun */
    uint32_t met_at; /* the time at which the warp last passed barrier.cluster */
    /* the lanes that have executed a fence for the device since the warp's last barrier of the block */
    uint32_t fencing;
    uint32_t know[VM_KNOWN]; /* the entries for other warps of the block, and for blocks of the cluster */
    /* lanes[lane][other] is the entry that a lane of this warp has for another lane of this warp. The matrix is NULL
     * until some lanes of the warp synchronise without the others. */
    uint32_t *lanes;
    /* groups and bulk_groups count the cp.async groups and the bulk groups that each lane has committed. products
     * counts the groups of wgmma that the warp has committed. */
    uint32_t groups[VM_LANES], bulk_groups[VM_LANES], products;
    uint32_t *pending; /* the numbers (vm_flight.id) of the operations for which the warp has not waited yet */
    size_t pending_count, pending_capacity;
    struct vm_more *more; /* the asynchronous part, or NULL if the module has no asynchronous instructions */
    /* Indexed by mbarrier: the lanes that know the last of the phases that more->seen counts. The other lanes know one
     * phase less than more->seen tells. */
    uint32_t seen_lanes[VM_BARS];
    uint32_t spins; /* number of tests of mbarriers that failed in a row; any other checked instruction sets it to 0 */
    /* The lanes that failed these tests. `waited` has the lanes since the last multiple of TESTS tests (mbarrier.c),
     * and `still` has the lanes of the TESTS tests before. */
    uint32_t waited, still;
    uint32_t wait_bar; /* these four members describe the last failed test */
    uint32_t wait_insn, wait_lane, wait_parity;
    uint32_t product_count; /* number of products that this warp has begun */
    uint32_t product_fence; /* the value of `products` + 1 at the last wgmma.fence of the warp */
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
/* A tcgen05.commit. All operations of the thread `who` of `block` up to the number `last` are complete when the phase
 * is complete. */
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
/* The last wait of a warp that passed because a phase of an mbarrier was complete. */
typedef struct vm_passed {
    uint32_t phases; /* number of phases that the wait has made known, or 0 if the warp has not waited */
    vm_mark wait;    /* the epoch of the wait */
} vm_passed;
/* The state of an mbarrier, as the checks see it. An mbarrier is not live until its initialisation. Then it is live, in
 * phase 0, 1, 2 and so on. Each phase collects arrivals and bytes. When no arrival and no byte is pending,
 * complete_phases() starts the next phase. */
typedef struct vm_bar {
    uint32_t address;
    bool live;    /* the mbarrier is initialised and not invalidated */
    vm_mark init; /* the epoch of the initialisation */
    /* the time at which the initialising thread executed fence.mbarrier_init, or 0 before that */
    uint32_t announced;
    /* pending: arrivals that this phase still lacks; expected: arrivals that complete a phase */
    uint32_t pending, expected;
    /* bytes that this phase still lacks; negative if bytes came before they were announced */
    int64_t tx;
    uint64_t expected_tx, came_tx; /* bytes that this phase expects, and bytes that came, for messages */
    uint32_t arrived, phase;       /* phase: the number of complete phases */
    uint32_t last;                 /* the number (vm_flight.id) of the last copy that completes on the mbarrier */
    /* the epoch of the last arrival by a thread of another block; its stamp is 0 if there was no such arrival */
    vm_mark far;
    uint32_t far_phase; /* the phase in which the arrival `far` counts */
    /* if the arrival `far` is a commit: the number of the last product before it; otherwise 0 */
    uint32_t far_product;
    /* vm_far.owner of the records of the current phase, or 0 if the phase has no records */
    uint32_t owner;
    vm_view gather; /* the join of the clocks of the arrivals so far */
    /* the joins of the last complete phases; the index is the phase modulo VM_BAR_PHASES */
    vm_view phases[VM_BAR_PHASES];
    /* Indexed like `phases`: the time at which any thread first learned that the phase is complete, or 0. */
    uint32_t learned[VM_BAR_PHASES];
    vm_passed passed[VM_LANES]; /* indexed by warp of the block */
    /* the warps whose wait for the phase before the last one is not ordered before the last phase */
    uint32_t outrun;
    /* The commits of the last phases. The index is the phase modulo VM_BAR_PHASES. Commits of older phases are
     * forgotten, so all operations up to the number `old_commit` count as complete. */
    vm_committed committed[VM_BAR_PHASES];
    uint32_t old_commit;
} vm_bar;

/* A cell of the shadow of tensor memory covers one column of sixteen lanes. The members of the cell are numbers of
 * operations (vm_flight.id). 0 means that there is no such operation. */
typedef struct vm_tensor_cell {
    uint32_t write;    /* the last operation that wrote the cell */
    uint32_t loads[2]; /* the last tcgen05.ld of each of two threads, the later one first */
    uint32_t used;     /* the last tcgen05.mma that read the cell and did not write it */
} vm_tensor_cell;
enum { VM_TENSOR_GROUPS = 8, VM_TENSOR_CELLS = 512 * VM_TENSOR_GROUPS };
/* The fences (tcgen05.fence) of a warp, which must surround barriers. */
typedef struct vm_tensor_warp {
    /* the times of the last fences of the kind before_thread_sync; the latest is first */
    uint32_t before[VM_FENCES + 1];
    /* The vector clock of the warp at its last fence after_thread_sync. `seen` is indexed by mbarrier. */
    uint32_t horizon, know[VM_KNOWN], seen[VM_BARS];
} vm_tensor_warp;
/* The tensor memory of a block, as the checks see it. */
typedef struct vm_tensor_state {
    vm_tensor_cell cells[VM_TENSOR_CELLS]; /* column after column */
    /* indexed by column: 1 + the instruction that allocated the column, or 0 if the column is free */
    uint32_t made[512];
    uint32_t maker[512]; /* indexed by column: the thread that allocated the column */
    /* The last tcgen05.alloc, if its columns are not in `made` yet. pending is 1 + its instruction, or 0 if there is no
     * such tcgen05.alloc. pending_who is the number of its thread. */
    uint32_t pending, pending_who;
    uint32_t lost; /* operations up to this number count as complete, because a commit could not be recorded */
    /* Indexed by rank: the last tcgen05.mma, cp or shift that the block with this rank has issued on the tensor memory
     * of this block. */
    uint32_t users[VM_CLUSTER_MOST];
    vm_tensor_warp warps[VM_LANES];
    /* The last threads that began to commit to mbarriers of this block, and the number of all such threads. */
    vm_committer committers[VM_COMMITTERS];
    uint32_t committer_count;
} vm_tensor_state;
/* The state of a resident block. vm_block.check points to it, and its memory comes from the allocator of the device. */
typedef struct vm_check_block {
    uint32_t base; /* the time at which the block started; an older mark in its shadow comes from an earlier block */
    unsigned shift;
    vm_clock *warps;
    /* Indexed by barrier of the block. Each element is the join of the clocks that have arrived at the barrier. The
     * last element belongs to the cluster's barrier. */
    vm_gate gates[VM_BARRIERS + 1];
    /* True if a warp may have arrived at a barrier since check_block_start() last reset `gates` and `came`. */
    bool arrived;
    /* A copy of the last element of `gates`. The copy is made when the cluster's barrier opens, because warps may wait
     * for the barrier later. */
    vm_gate opened;
    vm_line *lines; /* the shadow of shared memory */
    size_t line_count;
    /* for each thread, one bit for each byte of its local memory; NULL if there is no local memory */
    uint64_t *local_written;
    size_t local_words;
    /* The members from here on are used only if the module has asynchronous instructions. */
    vm_more *gate_more; /* indexed by barrier, like `gates` */
    vm_more *more;      /* indexed by warp */
    /* indexed by thread: the times of the thread's last fence.proxy.async, with the latest first */
    uint32_t (*fences)[VM_FENCES + 1];
    vm_bar *bars;
    size_t bar_count, bar_capacity;
    bool dirty; /* the shadow of shared memory contains numbers of asynchronous operations */
    /* waited: a thread has executed griddepcontrol.wait; triggered: a thread has executed launch_dependents */
    bool waited, triggered;
    /* Indexed by warp: the time of the warp's last arrival at the cluster's barrier. The arrival may be relaxed. */
    uint32_t came[VM_LANES];
    /* Indexed by the rank of another block: the last plain access of that block to this block's shared memory. The
     * stamp is 0 if there was no such access. */
    vm_mark visitors[VM_CLUSTER_MOST];
    /* Indexed by rank: the last copy from this block's shared memory to the shared memory of the block with this rank,
     * or 0. */
    uint32_t pushed[VM_CLUSTER_MOST];
    /* indexed by warpgroup: the number of products that it has begun, and the number (vm_flight.id) of the last one */
    struct {
        uint32_t count, flight;
    } products[VM_WARPGROUPS];
    vm_reg *regs;            /* indexed by warp and register number, or NULL if the module has no products */
    vm_tensor_state *tensor; /* NULL if the module does not use tensor memory */
} vm_check_block;

/* ---- the hooks that the interpreter calls ---- */
/* The hooks for vm_watch.checks. check_attach() also stores a pointer to them in the device. */
extern const struct vm_hooks check_hooks;

#endif
