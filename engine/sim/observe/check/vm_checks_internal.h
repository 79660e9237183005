/* vm_checks_internal.h - the state of the checks of one device. Each part of the checks has a separate header. */
#ifndef KILN_SIM_VM_CHECKS_INTERNAL_H
#define KILN_SIM_VM_CHECKS_INTERNAL_H

#include "vm_checks.h"

/* A pattern: the addresses that the lanes of an instruction access, relative to the address of the first lane. The
 * distances are the same for many warps. So the checks compute once which lanes share a cell, and keep the pattern for
 * the instruction. */
typedef struct vm_parts vm_parts;
typedef struct vm_pattern {
    /* insn: 1 + the instruction; count: the number of different addresses that the lanes have */
    uint32_t insn, lanes, bytes, count;
    /* Indexed by lane: rel is the distance from the first lane's address. live has all bits set if the lane takes part,
     * otherwise none. */
    uint32_t rel[VM_LANES], live[VM_LANES];
    uint32_t hits; /* number of accesses that had the distances of this pattern */
    uint8_t shift; /* the shift of the granule for which `parts` was made */
    /* For quick.c: the cells that the pattern touches. The index is the place of the first lane's cell in its line. An
     * element is NULL until it is needed. */
    vm_parts *parts[VM_LINE];
    int64_t low, high;
    uint64_t bits; /* the bitwise OR of all distances, for tests of alignment */
    /* The different addresses, as distances from the first lane's address. who[n] has the lanes with the address at[n],
     * and lane[n] is the first of these lanes. */
    int64_t at[VM_LANES];
    uint32_t who[VM_LANES];
    uint8_t lane[VM_LANES];
    /* The allocation of the last access. The pointer is valid while `generation` equals the generation of the
     * device. */
    const vm_allocation *allocation;
    uint64_t generation;
    uint64_t last; /* the cell of the first lane at the last access through quick.c, to predict the next one */
} vm_pattern;
#define VM_PATTERNS 2048u
#define VM_PATTERN_OFTEN 16u /* after this number of hits quick.c prepares its tables for a pattern */

/* A finding and its key. If a second finding has the same module, instructions, kind and weight, only the count of the
 * first one increases. */
typedef struct vm_found {
    kiln_check_finding finding; /* its texts are in the arena of the check */
    const vm_module *module;    /* * only compared, never read * */
    uint32_t insn, other;
    uint32_t next; /* 1 + the index of the next finding with the same hash, or 0 */
} vm_found;
#define VM_FOUND_MOST 256u /* largest number of findings that are shown */
/* number of pieces of the list of findings; each piece has VM_FOUND_MOST findings, and the list is long because
 * suppressed findings need room too */
#define VM_FOUND_PIECES 256u
#define VM_FOUND_HEADS 1024u /* number of lists of the hash table, a power of two */
/* A place at which kernels allocate memory. Findings about leaks need it. The texts of the place are made once and
 * stored in the arena. */
typedef struct vm_allocating {
    const vm_module *module; /* * only compared, never read * */
    /* serial is vm_check_code.serial. The pointer `module` alone is not enough, because a later module may get the same
     * address. */
    uint32_t serial, insn;
    kiln_check_side place;
} vm_allocating;
#define VM_LAUNCHES_MOST 4096u
/* A launch that the check has seen. If a later launch races with it, the finding names it. */
typedef struct vm_launched {
    /* a time: accesses of this launch are later than it, and accesses of earlier launches are not */
    uint32_t after;
    uint32_t module; /* vm_check_code.serial of the module, or 0 if the check of another device has seen the launch */
    uint32_t flight; /* the number of the last asynchronous operation before the launch */
    /* The module, or NULL if the check of another device has seen the launch. Unloading a module waits for its
     * launches. So if a later launch races with this launch, the module of this launch is still loaded. */
    const vm_module *code;
    const char *kernel; /* the name of the kernel, in the arena */
} vm_launched;
#define VM_RECENT 64u
#define VM_RECORDS_FEW (1u << 18)
#define VM_FLIGHTS 16384u
#define VM_FARS 16384u
/* The number of a record that orders everything. The checks use this number if a record is too old, or if there was no
 * memory for it. */
#define VM_FAR_ALL UINT32_MAX

/* The state of the checks of one device, which the driver owns. */
struct vm_check {
    const kiln_allocator *mem;
    kiln__arena arena;
    vm_device *device;
    uint32_t time, launch; /* launch: the time at which the present launch started */
    uint32_t known;        /* accesses up to this time are ordered before the present launch */
    /* Accesses up to this time are ordered before the launch even before a griddepcontrol.wait, because they are
     * earlier than the prerequisite launches. `early` is at most `known`, or equal to `launch` if there are no
     * prerequisite launches. */
    uint32_t early;
    uint32_t first_wait;        /* the time of the first griddepcontrol.wait of the launch, or 0 */
    const vm_prior *concurrent; /* the work that is not ordered before the launch, see check_concurrent() */
    size_t concurrent_count;
    vm_dependence dependence;
    /* The pieces of the list of findings. All but the first are NULL until they are needed. A finding never moves. */
    vm_found *found[VM_FOUND_PIECES];
    uint32_t found_heads[VM_FOUND_HEADS];
    /* judged: number of findings for which is_suppressed() was called; shown: number of these that are not
     * suppressed */
    size_t found_count, judged, shown;
    /* decides whether a finding is suppressed; NULL if no finding is suppressed */
    bool (*is_suppressed)(const kiln_check_finding *finding);
    uint64_t dropped;
    vm_allocating *allocating; /* the list has at most VM_FOUND_MOST entries */
    size_t allocating_count, allocating_room;
    vm_launched *launches; /* the last VM_LAUNCHES_MOST launches, with the earliest first */
    size_t launch_count, launch_room;
    const char **kernels; /* the names of kernels; equal names are stored once */
    size_t kernel_count, kernel_room;
    uint32_t modules; /* the last vm_check_code.serial */
    /* indexed by instruction modulo VM_PATTERNS; an element is NULL until it is needed */
    vm_pattern *patterns[VM_PATTERNS];
    vm_pattern spare; /* the pattern that is used if there is no memory for another one */
    /* size of all lines, rows and cells; the limit is CHECK_CELL_BYTES_MOST */
    size_t cell_bytes;
    /* The last VM_FLIGHTS operations. The index is the number of the operation modulo VM_FLIGHTS. NULL until the first
     * operation. */
    vm_flight *flights;
    uint32_t last_fence; /* the time at which any thread last executed fence.proxy.async */
    /* the number of the last operation, and the number of the last operation before the launch */
    uint32_t flight, launch_flight;
    /* The last VM_FARS records. The index is the number of the record modulo VM_FARS. NULL until the first record. */
    vm_far *fars;
    uint32_t far; /* the number of the last record */
    /* the last number that a phase of an mbarrier got as the owner of records */
    uint32_t far_owner;
    /* The records: marks without their lane, in the order of their stamps. The first record is not used. Words of thin
     * lines name records by their number. */
    vm_mark *records;
    uint32_t record_count;
    size_t record_room;
    /* the number of the first record whose stamp is later than `record_limit`, or 0 if it must be searched */
    uint32_t record_after, record_limit;
    uint32_t record_of[VM_RECENT]; /* recent records; the index is a hash of the instruction and of VM_MANY */
    /* a smaller number of records is not worth the time to drop some of them; test suites set a smaller number */
    uint32_t record_few;
    bool quick; /* check_can_quick() */
    /* usually VM_PATTERN_OFTEN; test suites and fuzz targets set a smaller number, because their launches are short */
    uint32_t often;
    bool starved;
    bool fence_told; /* the launch already has the note about a missing tcgen05.fence */
    bool told;       /* a more detailed finding already tells why the launch ended */
};

/* Stands for an instruction number that is unknown. */
#define VM_NO_INSN UINT32_MAX
/* Returns the time of the check and advances it. So an access before this call and an access after it have different
 * stamps. */
static inline uint32_t check_advance_time(vm_check *check)
{
    return check->time == UINT32_MAX - 2 ? check->time : check->time++;
}
/* Returns the check of the device on which the warp runs. */
static inline vm_check *get_check(const vm_warp *w) { return w->runner->run->device->check; }
/* Returns the number of an instruction in its module (the tally index). */
static inline uint32_t vm_insn_of(const vm_warp *w, const vm_code *i)
{
    return (uint32_t)(w->frame->function->first_tally + i->insn);
}

#endif
