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
void vm_check_forget(vm_device *device, uint64_t address, uint64_t bytes); /* counts as never written */
void vm_check_host_free(vm_device *device, uint64_t address);              /* an invalid free */
/* To be called before the device is destroyed; `all`: also allocations of the host. */
void vm_check_leaks(vm_device *device, bool all);

/* ---- for the interpreter ---- */

/* What happened at an address; `who`: the thread's number in its block, and the flags. */
typedef struct vm_mark {
    uint32_t stamp, who, insn, block;
} vm_mark;
enum { VM_WHO = 1023, VM_MANY = 1024, VM_STRONG_SIDE = 2048, VM_PENDING = 4096 };
/* The last write and the last reads of a granule: two, by different warps (shared) or blocks (global) where there are
 * several that are not ordered. */
typedef struct vm_cell {
    vm_mark w, r1, r2;
    uint32_t constant, constant_insn;  /* the last read as read-only data (ld.global.nc) */
    uint32_t published, published_cta; /* the time that a thread knows after reading this as a flag */
} vm_cell;
_Static_assert(sizeof(vm_cell) == 64, "a cell is one cache line");

typedef struct vm_shadow {
    uint64_t *written;              /* one bit per byte; NULL: all */
    uint64_t unwritten;             /* bytes */
    vm_cell **pages;                /* each of VM_SHADOW_PAGE bytes of memory; NULL until touched */
    unsigned shift;                 /* a cell covers 1 << shift bytes */
    bool by_kernel;                 /* malloc in device code */
    const struct vm_module *module; /* of the instruction `insn` that allocated it; only compared */
    kiln_check_side made;           /* by_kernel: where */
} vm_shadow;
#define VM_SHADOW_PAGE 4096u

/* Static data about a module's instructions, made at its first launch under checks. */
typedef struct vm_check_code {
    uint8_t *kind;   /* vm_check_see, by tally index */
    uint32_t *owner; /* of shared accesses: the only possible variable + 1, or 0 */
    unsigned shift;  /* no access is smaller than 1 << shift bytes */
} vm_check_code;
enum vm_check_see {
    VM_SEE_NOTHING,
    VM_SEE_LOAD,
    VM_SEE_STORE,
    VM_SEE_ATOMIC,
    VM_SEE_COPY,
    VM_SEE_COMMIT,
    VM_SEE_WAIT,
    VM_SEE_BARRIER,
    VM_SEE_FENCE,
    VM_SEE_CALL,
    VM_SEE_ASYNC,
    VM_SEE_OTHER
};
#define VM_SEE_SPECIAL 64u /* a flag: a load or store that is ordered, or reads read-only data */

typedef struct vm_pending {
    uint32_t cell, count, lane, group;
} vm_pending;
/* What a warp knows. Accesses with times up to `fast` by threads of the cluster, and up to `horizon` by any thread,
 * happened before its next access. */
#define VM_KNOWN (VM_LANES + VM_CLUSTER_MOST) /* of the warps of the block, and of the blocks of the cluster by rank */
typedef struct vm_clock {
    uint32_t fast, horizon, full, synced, released, released_cta;
    uint32_t know[VM_KNOWN];
    uint32_t *lanes;           /* [lane][other lane], NULL until only some lanes synchronise */
    uint32_t groups[VM_LANES]; /* cp.async: committed by each lane */
    vm_pending *pending;
    size_t pending_count, pending_capacity;
} vm_clock;
typedef struct vm_gate {
    uint32_t know[VM_KNOWN], horizon;
} vm_gate;
typedef struct vm_check_block {
    uint32_t base; /* the time it started */
    unsigned shift;
    vm_clock *warps;
    vm_gate gates[VM_BARRIERS + 1]; /* the last one is what the block gets of the cluster's */
    vm_gate opened;                 /* the same when it opened last, for warps that wait afterwards */
    vm_cell *cells;                 /* of shared memory */
    size_t cell_count;
} vm_check_block;

/* ---- the hooks that the interpreter calls ---- */
extern const struct vm_hooks vm_check_hooks; /* for vm_watch.checks; vm_check_attach() gives them to the device */

#endif
