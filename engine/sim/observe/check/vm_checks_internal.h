/* vm_checks_internal.h - the checks of one device. Each part of the checks has a header of its own. */
#ifndef KILN_SIM_VM_CHECKS_INTERNAL_H
#define KILN_SIM_VM_CHECKS_INTERNAL_H

#include "vm_checks.h"

/* The addresses of one instruction's lanes, relative to the first lane. The differences are the same for many warps,
 * so the pattern, which tells which lanes share a cell, is computed once and kept for the instruction. */
typedef struct vm_parts vm_parts;
typedef struct vm_pattern {
    /* insn: the instruction + 1; count: how many different addresses the lanes have */
    uint32_t insn, lanes, bytes, count;
    /* Indexed by lane: rel is the distance from the first lane's address, and live has all bits set if the lane takes
     * part, otherwise none. */
    uint32_t rel[VM_LANES], live[VM_LANES];
    uint32_t hits; /* number of times that the same differences were seen */
    uint8_t shift; /* the granule's shift for which `parts` was made */
    /* For quick.c: the cells that it touches, by the place of the first lane's cell in its line. NULL until it is
     * needed. */
    vm_parts *parts[VM_LINE];
    int64_t low, high;
    uint64_t bits; /* the bitwise OR of all differences, for tests of alignment */
    /* The different addresses as distances from the first lane's. who[n] has the lanes with the address at[n], and
     * lane[n] is the first of these lanes. */
    int64_t at[VM_LANES];
    uint32_t who[VM_LANES];
    uint8_t lane[VM_LANES];
    /* The allocation of the last access, valid while `generation` equals the device's generation. */
    const vm_allocation *allocation;
    uint64_t generation;
} vm_pattern;
#define VM_PATTERNS 2048u
#define VM_PATTERN_OFTEN 16u /* hits after which quick.c prepares its tables */

/* A finding and its key. A second finding with the same module, instructions, kind and weight only counts. */
typedef struct vm_found {
    kiln_check_finding finding; /* the texts are in the arena */
    const vm_module *module;    /* * only compared, never read * */
    uint32_t insn, other;
    uint32_t next; /* the index of the next finding with the same hash + 1, or 0 */
} vm_found;
#define VM_FOUND_MOST 256u /* largest number of findings that are shown */
/* number of pieces of VM_FOUND_MOST findings each, because suppressed findings need room too */
#define VM_FOUND_PIECES 256u
#define VM_FOUND_HEADS 1024u /* a power of two */
/* A place at which kernels allocate memory, for findings about leaks. Its texts are made once, in the arena. */
typedef struct vm_allocating {
    const vm_module *module; /* * only compared, never read * */
    /* serial is vm_check_code.serial; it is needed because another module may get the same address */
    uint32_t serial, insn;
    kiln_check_side place;
} vm_allocating;
#define VM_LAUNCHES_MOST 4096u
/* A launch that the check has seen, so that a later race can name it. */
typedef struct vm_launched {
    /* accesses of this launch have later times, and accesses of the previous launch have times up to this time */
    uint32_t after;
    uint32_t module; /* vm_check_code.serial; 0 if the check of another device has seen the launch */
    uint32_t flight; /* the number of the last asynchronous operation before it */
    /* NULL if the check of another device has seen the launch. Unloading a module waits for its launches. So if a later
     * launch races with this launch, the module is still loaded. */
    const vm_module *code;
    const char *kernel; /* name in the arena */
} vm_launched;
#define VM_FLIGHTS 16384u
#define VM_FARS 16384u
/* The number of a record that orders everything. It stands for a record that is too old, or for which memory ran
 * out. */
#define VM_FAR_ALL UINT32_MAX

/* The state of the checks of one device. The driver owns it. */
struct vm_check {
    const kiln_allocator *mem;
    kiln__arena arena;
    vm_device *device;
    uint32_t time, launch; /* launch: the time at which the running launch started */
    uint32_t known;        /* accesses up to this time are ordered before the launch */
    /* like `known`, but without the prerequisite launches of the launch; it is at most `known`, or `launch` if there
     * are none */
    uint32_t early;
    uint32_t first_wait;        /* the time of the launch's first griddepcontrol.wait, or 0 */
    const vm_prior *concurrent; /* work that is not ordered before the launch, see check_concurrent() */
    size_t concurrent_count;
    vm_dependence dependence;
    vm_found *found[VM_FOUND_PIECES]; /* NULL until needed, except the first; a finding never moves */
    uint32_t found_heads[VM_FOUND_HEADS];
    /* judged: findings for which is_suppressed() was called; shown: how many of these are not suppressed */
    size_t found_count, judged, shown;
    bool (*is_suppressed)(const kiln_check_finding *finding); /* NULL if no finding is suppressed */
    uint64_t dropped;
    vm_allocating *allocating; /* the number of entries is at most VM_FOUND_MOST */
    size_t allocating_count, allocating_room;
    vm_launched *launches; /* the last VM_LAUNCHES_MOST launches, the earliest first */
    size_t launch_count, launch_room;
    const char **kernels; /* the names of kernels, each once */
    size_t kernel_count, kernel_room;
    uint32_t modules;                  /* the last vm_check_code.serial */
    vm_pattern *patterns[VM_PATTERNS]; /* indexed by instruction modulo VM_PATTERNS; NULL until needed */
    vm_pattern spare;                  /* used if there is no memory for another pattern */
    /* bytes of lines, rows and cells, up to CHECK_CELL_BYTES_MOST */
    size_t cell_bytes;
    /* the last VM_FLIGHTS operations, indexed by number modulo VM_FLIGHTS; NULL until there is one */
    vm_flight *flights;
    uint32_t last_fence;            /* the time of the last fence.proxy.async of any thread */
    uint32_t flight, launch_flight; /* the last number of an operation, and the last number before the launch */
    /* the last VM_FARS records, indexed by number modulo VM_FARS; NULL until there is one */
    vm_far *fars;
    uint32_t far; /* the last record's number */
    /* the last number given to a phase of an mbarrier as the owner of records */
    uint32_t far_owner;
    bool quick; /* check_can_quick() */
    uint32_t
        often; /* VM_PATTERN_OFTEN; suites and fuzz targets set a smaller number, because their launches are short */
    bool starved;
    bool fence_told; /* the launch already has a note about a missing tcgen05.fence */
    bool told;       /* a more detailed finding already reports why the launch ended */
};

/* Marks a missing instruction number. */
#define VM_NO_INSN UINT32_MAX
/* Returns the time and advances it. An access before a tick and an access after it have different stamps. */
static inline uint32_t check_advance_time(vm_check *check)
{
    return check->time == UINT32_MAX - 2 ? check->time : check->time++;
}
/* Returns the checks of the device on which the warp runs. */
static inline vm_check *get_check(const vm_warp *w) { return w->runner->run->device->check; }
/* Returns the number of an instruction in its module (the tally index). */
static inline uint32_t vm_insn_of(const vm_warp *w, const vm_code *i)
{
    return (uint32_t)(w->frame->function->first_tally + i->insn);
}

#endif
