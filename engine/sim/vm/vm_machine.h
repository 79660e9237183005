/* vm_machine.h - the state of a launch that runs: device, module, grid, block, warp, instruction; and what the
 * interpreter's files share. The handlers (sim/ops), the decoder and the observers use it. engine/sim/vm/README.md
 * explains the parts. */
#ifndef KILN_SIM_VM_MACHINE_H
#define KILN_SIM_VM_MACHINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "vm.h"
#include "vm_guard.h"

#define VM_LANES 32u
#define VM_ALL UINT32_MAX            /* the mask of a whole warp */
#define VM_CODE_BASE 0x0600000000ull /* "addresses" of functions: base + 16 * index */
#define VM_LOCAL_BYTES_MAX 0x80000u  /* local memory of a thread, 512 KiB as on a GPU */
#define VM_SHARED_WINDOW 0x1000000ull
#define VM_CLUSTER_MOST 16u /* blocks of a cluster */
/* Shared addresses: a window for the memory of the block itself, then one for the block of each rank. */
#define VM_CLUSTER_WINDOW ((VM_CLUSTER_MOST + 1) * VM_SHARED_WINDOW)
#define VM_REGISTERS_MAX 0x1000000u /* most bytes of the registers of a function */
#define VM_POISON 0xA5
#define VM_DEPTH_MAX 512u /* nested calls */
#define VM_BARRIERS 16u
#define VM_WARPGROUPS 8u /* of a block: four warps each */
#define VM_PATHS VM_LANES
#define VM_LIKELY(x) __builtin_expect(!!(x), 1)
#define VM_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A kernel may have data races, which are not errors of ours, so accesses for kernels are not instrumented. */
#if defined(__SANITIZE_THREAD__)
#define VM_RACY __attribute__((no_sanitize_thread))
#define VM_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VM_RACY __attribute__((no_sanitize("thread")))
#define VM_TSAN 1
#endif
#endif
#ifndef VM_RACY
#define VM_RACY
#endif

/* Registers and device memory are bytes that each instruction reads as the type that it names. */
#define VM_VIEW __attribute__((may_alias))
typedef uint8_t VM_VIEW vm_u8;
typedef uint16_t VM_VIEW vm_u16;
typedef uint32_t VM_VIEW vm_u32;
typedef uint64_t VM_VIEW vm_u64;
typedef int8_t VM_VIEW vm_s8;
typedef int16_t VM_VIEW vm_s16;
typedef int32_t VM_VIEW vm_s32;
typedef int64_t VM_VIEW vm_s64;
typedef float VM_VIEW vm_f32;
typedef double VM_VIEW vm_f64;

typedef struct vm_code vm_code;
typedef struct vm_warp vm_warp;
typedef struct vm_block vm_block;
typedef struct vm_cluster vm_cluster;
typedef struct vm_runner vm_runner;
typedef struct vm_function vm_function;
typedef struct vm_frame vm_frame;

/* Executes one instruction for the lanes of the mask, which is never empty. */
typedef void (*vm_handler)(vm_warp *, const vm_code *, uint32_t);
/* `full` may compute all 32 lanes: lanes that are not in the mask have exited, and their registers are never read
 * again. */
typedef struct vm_handlers {
    vm_handler full, masked;
} vm_handlers;

/* vm_code.flags */
enum {
    VM_FTZ = 1,
    VM_SAT = 2,
    VM_NANS = 4,
    VM_XORSIGN = 8,
    VM_RELU = 16,
    VM_ABSOLUTE = 32, /* arithmetic */
    VM_SIGNED = 1,
    VM_REG64 = 2,
    VM_STRONG = 4,
    VM_ADDR32 = 8,
    VM_REG16 = 16,
    VM_WRITES = 32, /* memory */
    VM_INVERT = 1,
    VM_BOOL_AND = 2,
    VM_BOOL_OR = 4,
    VM_BOOL_XOR = 8,
    VM_COMBINE_NOT = 16 /* comparison */
};

/* One executable instruction. Operand slots are byte offsets: bit 0 clear, into the frame's registers; set, into the
 * function's constants, which are broadcast to 32 lanes so that handlers need only one form. */
struct vm_code {
    vm_handler full, masked;
    uint32_t guard; /* slot of the predicate; bit 0: negated */
    uint32_t insn;  /* index in the PTX function, for line numbers */
    uint32_t d, a, b, c, e;
    uint8_t size, count, space, flags; /* memory: bytes of an element, elements, ptx_space */
    union {
        uint64_t imm;
        const vm_code *target;
    };
    const void *extra;
};
_Static_assert(sizeof(void *) != 8 || sizeof(vm_code) == 64, "an instruction is one cache line");

/* A reconvergence point and the lanes that are expected there. */
typedef struct vm_sync {
    const vm_code *pc; /* NULL: at the return of `frame` */
    uint32_t expected, waiting;
    struct vm_sync *parent;
    vm_frame *frame;
} vm_sync;

struct vm_frame {
    vm_frame *caller;
    const vm_function *function;
    const vm_code *back;        /* where the caller continues */
    const struct vm_call *call; /* says how results are passed */
    vm_sync join;
    uint32_t local_base, local_top; /* of every lane's local memory */
    uint32_t depth;
    size_t bytes, chain;          /* chain: including those of all callers */
    unsigned char *params, *vars; /* 32 parameter blocks; 32 sets of .param variables */
    unsigned char *regs;          /* the register file, VM_ALIGN-ed */
};

typedef enum vm_path_state { VM_PATH_READY, VM_PATH_WARP, VM_PATH_BARRIER } vm_path_state;
/* Lanes that run together. */
typedef struct vm_path {
    const vm_code *pc;      /* waiting: the instruction it waits in */
    uint32_t mask, arrived; /* arrived: the lanes for which the waiting instruction's guard holds */
    vm_sync *sync;
    vm_frame *frame;
    uint8_t state, barrier;
} vm_path;

/* IN_VAIN: the lanes have read again what they had read before, and wait for a change. */
enum { VM_EVENT_SWITCH = 1, VM_EVENT_YIELD = 2, VM_EVENT_FAULT = 4, VM_EVENT_IN_VAIN = 8 };

/* What an instruction with which lanes may wait for others saw last: poll.c. */
typedef struct vm_polling {
    const vm_code *at;
    uint64_t seen; /* a hash of addresses and values */
    uint32_t mask, same;
} vm_polling;

struct vm_warp {
    /* the path that runs */
    const vm_code *pc;
    uint32_t mask, dead;    /* dead: lanes that have exited or never existed */
    unsigned char *base[2]; /* registers, constants */
    int event;
    uint32_t cc;              /* the carry flag of each lane */
    uint32_t cluster_arrived; /* lanes that arrived at the cluster's barrier in the current phase */
    vm_sync *sync;
    vm_frame *frame, *root;
    vm_block *block;
    vm_runner *runner;
    uint64_t issued, lanes, idle; /* counters; idle: instructions since lanes last reconverged */
    uint64_t charge;              /* extra work of instructions, in steps: see vm_charge() */
    uint32_t index, current, path_count, sync_used, spins, yields, vain_yields;
    bool gave_way; /* its last turn ended waiting for other warps, */
    bool in_vain;  /* and it has done nothing but wait */
    bool waits;    /* it reads the same value again and again */
    bool moved;    /* it has seen a new one, or changed one, since the turn of its path began */
    uint32_t poll_next;
    vm_polling polls[VM_LANES][2]; /* by the path's first lane */
    vm_path paths[VM_PATHS];
    vm_sync syncs[VM_LANES];
    uint32_t tid[3][VM_LANES];
};

typedef struct vm_barrier {
    uint32_t arrived, need; /* threads; need 0: all live ones */
    uint32_t count;         /* bar.red: threads whose predicate is true */
    bool all, any;
} vm_barrier;

/* Blocks that run together in one host thread. Without clusters, one block. */
struct vm_cluster {
    vm_runner *runner;
    uint32_t size, live, arrived;      /* live: threads that have not exited; arrived: threads at barrier.cluster */
    vm_block *blocks[VM_CLUSTER_MOST]; /* by rank */
};

struct vm_block {
    vm_runner *runner;
    vm_cluster *cluster;
    uint32_t rank; /* in the cluster */
    uint32_t id[3];
    uint32_t warp_count, live; /* live: threads that have not exited */
    bool ended;
    const vm_code *left; /* where the last thread exited, in the function `left_in` */
    const vm_function *left_in;
    vm_warp *warps;
    unsigned char *shared, *local; /* each between guards of its own */
    size_t local_taken;
    bool moved;    /* a warp did more than wait in vain in its last turn */
    uint64_t held; /* host memory taken of the launch's limit */
    uint64_t number;
    uint32_t next_warp;
    /* The last ones are the cluster's, which only has a number, and those of the warpgroups. */
    vm_barrier barriers[VM_BARRIERS + 1 + VM_WARPGROUPS];
    struct vm_children *children; /* child.c; NULL until it launches something */
    /* Of the observers. */
    struct vm_trace_warp *trace;  /* of its warps; NULL: not traced */
    struct vm_check_block *check; /* NULL: not checked */
};

/* The device memory that an instruction accessed last. */
typedef struct vm_span {
    uint64_t base, end;
    unsigned char *host;
    bool read_only; /* kernels may read it, but not write it */
} vm_span;

typedef struct vm_pool {
    struct vm_chunk *free[24];
    size_t bytes;
} vm_pool;

/* Instructions from a branch's target to the branch; function NULL: none. */
typedef struct vm_loop {
    const vm_function *function;
    uint32_t first, last;
} vm_loop;

/* Host threads that all write what all read wait for each other. So each counts steps for itself and adds them to the
 * family's at VM_KEEP, or at once where so many of them, kept by all, would reach the budget. */
enum { VM_KEEP = 1 << 16, VM_RUNNERS_MOST = 512 /* host threads, and grids that wait for those that they launched */ };

/* A launch by the host, with all grids that its kernels launch. */
typedef struct vm_family {
    atomic_ullong steps;       /* of all its grids, against one budget */
    atomic_int stop;           /* a fault was recorded, or the launch ended */
    atomic_int spare;          /* host threads that may still be started */
    atomic_uint grids;         /* grids so far: for %gridid */
    const volatile int *asked; /* vm_launch.stop and .deadline of the launch by the host */
    uint64_t deadline;
    uint64_t hold_most; /* limit of host memory for frames and blocks' local memory: vm_hold() */
    atomic_ullong held;
    const struct vm_run_state *stuck_in; /* the grid that did not end (NULL: none), and the loop in which it was */
    vm_loop loop;
    char waits[240];             /* for what the lanes wait in it; "": not known */
    atomic_uint running, inside; /* warps of that grid that were running; those of them in the loop */
    pthread_mutex_t lock;        /* fault, printing, counters, the grids' lists of tail launches */
    vm_fault *fault;
    vm_counters counters;
} vm_family;

/* Runners that agree on something since the last move of any of them. */
typedef struct vm_ballot {
    uint64_t moves;
    unsigned votes;
} vm_ballot;

/* One grid, shared by its runners. */
typedef struct vm_run_state {
    vm_device *device;
    vm_family *family;
    const vm_launch *launch;
    unsigned char *params; /* the kernel's, between guards */
    const vm_function *kernel;
    uint64_t shared_low, shared_gap, shared_dynamic, shared_end; /* valid: [low, gap) and [dynamic, end) */
    uint64_t
        shared_system;     /* of a module that uses it: where VM_SYSTEM_SHARED bytes of the system begin, below reach */
    uint64_t shared_reach; /* what can be accessed: [low, reach), as on a GPU */
    uint32_t local_bytes;
    uint32_t block_threads, warps_per_block;
    uint64_t block_count;
    uint32_t cluster[3], cluster_size; /* blocks; 1 where there are no clusters */
    bool clustered;                    /* clusters were asked for, if only of one block */
    uint64_t cluster_count;            /* that run */
    size_t resident;                   /* clusters that a host thread may hold; more once all of them wait */
    bool cooperative;
    uint32_t grid_id, depth; /* depth: 0 if the host launched it */
    const char *launcher;    /* the kernel that launched it, or NULL */
    struct vm_task *tails;   /* tail launches of its kernel */
    uint32_t tail_count;
    uint64_t workspace;           /* cooperative launches: device memory for the grid's barrier */
    const struct vm_hooks *hooks; /* NULL: no observers */
    bool serial;                  /* on one host thread */
    bool chosen;     /* only the block_count blocks that hooks->chosen() names run, and those of their clusters */
    char apart[128]; /* two cache lines, from what all host threads write: */
    atomic_ullong next_cluster;
    atomic_ullong moves;          /* turns of clusters that did more than wait in vain */
    atomic_uint working;          /* runners that have not ended */
    atomic_uint holders;          /* host threads that have a cluster, or are getting their first */
    vm_ballot waiting, repeating; /* poll.c; under the family's lock */
} vm_run_state;

struct vm_runner {
    vm_run_state *run;
    vm_span *cache; /* by vm_code.e of memory instructions */
    vm_span recent[4];
    unsigned recent_next;
    atomic_ullong generation; /* of the allocations in its caches; UINT64_MAX: caches are empty */
    vm_runner *next;          /* of the device's runners */
    vm_pool pool;
    vm_cluster **clusters;
    size_t cluster_count, cluster_capacity;
    vm_cluster *spare;
    bool holds;                          /* it has had a cluster */
    uint64_t rounds, prove_at;           /* in which all its clusters waited in vain; when to see whether for ever */
    uint64_t waits_since, repeats_since; /* its votes: the number of moves then, + 1 */
    uint64_t clock;
    uint64_t unlooked; /* instructions since it last checked the time */
    uint64_t kept;     /* steps that are not in the family's yet */
    vm_counters counters;
    bool met; /* hooks->met(), malloced() and outside() are called */
    /* What is called before an instruction; by first_tally and vm_code.insn: not zero where it is; NULL: everywhere. */
    uint32_t (*show)(vm_warp *w, const vm_code *i, uint32_t m);
    const uint8_t *shown;
    /* Of the observers. */
    struct vm_jit *jit;     /* the device's; NULL also if there are observers */
    unsigned entries;       /* of regions, of which the first are not counted here */
    struct vm_tally *tally; /* its own counts, summed when the launch ends; NULL: not counted */
    kiln_counters *sites;   /* the same for accesses and branches */
    const uint32_t *site_of;
    const bool *joined; /* by site */
    char apart[128];    /* from the next one: two cache lines, which another host thread writes */
};

typedef struct vm_allocation {
    vm_device *home;
    uint64_t base, bytes;
    uint64_t reach; /* bytes that kernels can access: with the rest of its last granule */
    unsigned char *host;
    void *raw; /* `taken` bytes of the device's `guards`; NULL: the memory is another's */
    uint64_t taken;
    const char *name; /* of a module variable, in the module's arena; NULL: vm_alloc() */
    char *label;      /* what the host calls it, for messages; NULL: nothing */
    const char *role; /* "an input", with a label and in its memory */
    bool constant;    /* a .const variable, which kernels must not write */
    bool read_only;   /* also not writable, but in global memory */
    bool shared;      /* with the host, which may write it at any time; base is its pointer */
    bool outside;     /* another process may write it */
    uint64_t mapped;  /* bytes of `file`, which are mapped at `host`; 0: there is none */
    int file;
    uint64_t reserved; /* bytes of the host's addresses at `host`, of which pages come as they are used; 0: `raw` */
    uint64_t counted;  /* bytes that count as device memory */
    uint64_t heap;     /* bytes that count in the heap of kernels' malloc() */
    bool from_kernel;  /* a kernel has allocated it, and kernels may free it */
    uint64_t owner;    /* for the driver, see vm_info */
    bool internal;     /* the simulator's own: never reported as leaked */
    bool filler;       /* no allocation: what kernels accessed between those of a page (vm_limits.page) */
    uint32_t open;     /* devices of the group, by number, that may use it; see vm_open() */
    struct vm_shadow *shadow;   /* made by the device's hooks; NULL: none */
    uint64_t freed;             /* the generation since which it is freed */
    struct vm_allocation *next; /* in the graveyard */
} vm_allocation;

/* A texture by its number. */
typedef struct vm_object {
    uint64_t handle;
    vm_texture texture;
} vm_object;

struct vm_device {
    kiln_allocator mem_copy;
    const kiln_allocator *mem;
    vm_limits limits;
    pthread_rwlock_t lock;
    vm_guards guards;     /* the host memory of allocations and blocks that is free */
    vm_allocation **live; /* by address */
    size_t live_count, live_capacity;
    /* A queue of allocations that were freed while kernels run. Generations rise, so the allocations that no runner uses any
     * more are at its head, and vm_bury() looks at no other. last_buried: its end, if the queue is not empty. */
    vm_allocation *graveyard, *last_buried;
    struct {
        uint64_t base, bytes;
    } freed[64]; /* the last ones, for messages */
    unsigned freed_next;
    uint64_t next_address, used;
    uint64_t heap; /* bytes of `used` from kernels' malloc() */
    bool heap_used;
    int poison;                   /* a file of VM_PERIOD bytes of VM_POISON, plus 1; 0: none yet */
    const struct vm_hooks *hooks; /* of the observer that shadows its memory; NULL: none */
    struct vm_check *check;       /* data of that observer */
    struct vm_jit *jit;           /* compiles hot code; NULL: all is interpreted */
    vm_object **objects;          /* by bits 8 to 31 of the handle; change only while nothing runs */
    size_t object_count, object_capacity;
    vm_runner *runners;       /* of the launches that run */
    atomic_ullong generation; /* incremented when an allocation is freed */
    /* In a group, under its lock: */
    vm_device *next;
    uint64_t place, peers; /* a bit of its own, 0 if there was none left; those of the devices it may use */
};

/* ---- pages.c ---- */

/* Reserves `bytes` of the host's addresses between two guards, which read as poison. *poison: a file that is made for it
 * once, plus 1. NULL: that cannot be done, and the caller takes ordinary memory. */
void *vm_pages_reserve(int *poison, uint64_t bytes);
void vm_pages_free(void *host, uint64_t bytes);
/* The content is `period` bytes of `pattern`, again and again, both multiples of a page. False: no memory, and the content
 * is undefined. */
bool vm_pages_repeat(void *host, uint64_t bytes, const void *pattern, uint64_t period);

/* How one argument or result of a call is passed. */
typedef struct vm_transfer {
    uint32_t from, bytes; /* offset among a lane's .param variables */
    uint32_t slot;        /* or a register, if is_register */
    bool is_register, wide;
} vm_transfer;
typedef struct vm_call {
    const vm_function *callee; /* NULL: indirect */
    uint32_t argument_count, result_count;
    const vm_transfer *arguments, *results;
    uint32_t builtin; /* vm_builtin + 1, 0: none */
} vm_call;

struct vm_function {
    const ptx_function *ptx;
    const vm_module *module;
    vm_code *code;
    uint32_t code_count;
    uint32_t *start; /* by PTX instruction, insn_count + 1 of them */
    uint32_t *reg_slot;
    unsigned char *constants;
    uint32_t constant_bytes, reg_bytes;
    uint32_t local_bytes;
    bool has_homes;         /* it has parameters in local memory, because their address is taken */
    uint64_t closure_local; /* local bytes including all functions that it may call */
    uint64_t static_shared; /* kernels: bytes, from vm_shared_low() on */
    bool uses_dynamic, recursive;
    size_t first_tally;           /* index of its first instruction among the module's */
    uint32_t temp_base, sink;     /* slots of what no register of the kernel has: see decode.c */
    struct vm_compiled *compiled; /* vm_jit.h */
};

struct vm_module {
    vm_device *device;
    ptx_module *ptx;
    kiln__arena arena;
    vm_function *functions;
    uint64_t *address;       /* by symbol: global and const: device address; shared: offset; local: in its
                          frame */
    bool *home;              /* by symbol: a parameter that is in local memory, at `address` */
    vm_allocation **storage; /* by symbol, NULL if none */
    uint64_t dynamic_base;   /* where dynamic shared memory starts in every kernel */
    bool uses_system_shared; /* it asks for the shared memory that is the system's (%reserved_smem_offset_1) */
    uint64_t const_bytes;
    uint32_t cache_count;
    size_t tally_count;              /* of all functions' instructions */
    vm_allocation *error_texts;      /* vm_runtime_texts() */
    struct vm_check_code *check;     /* of the observers */
    const struct vm_handlers *table; /* the handlers of its instructions */
    void *host_code;                 /* of the compiler; NULL: none */
};

/* ---- operands ---- */
static inline unsigned char *vm_at(const vm_warp *w, uint32_t slot) { return w->base[slot & 1] + (slot & ~1u); }
/* In a frame that may not be the running path's. */
static inline vm_u32 *vm_row_of(const vm_frame *frame, uint32_t slot)
{
    return (vm_u32 *)(void *)((slot & 1 ? frame->function->constants : frame->regs) + (slot & ~1u));
}
static inline uint32_t *vm_pred(const vm_warp *w, uint32_t slot) { return (uint32_t *)(void *)vm_at(w, slot); }
static inline vm_u32 *vm_r32(const vm_warp *w, uint32_t slot) { return (vm_u32 *)(void *)vm_at(w, slot); }
static inline vm_u64 *vm_r64(const vm_warp *w, uint32_t slot) { return (vm_u64 *)(void *)vm_at(w, slot); }
static inline void vm_set_pred(const vm_warp *w, uint32_t slot, uint32_t value, uint32_t mask)
{
    uint32_t *p = vm_pred(w, slot);
    *p = (*p & ~mask) | (value & mask);
}
/* Most masks are full, and compilers call a function for the others unless they may use the instruction. */
static inline uint32_t vm_lanes_of(uint32_t mask)
{
    if (VM_LIKELY(mask == VM_ALL))
        return VM_LANES;
    mask -= mask >> 1 & 0x55555555u;
    mask = (mask & 0x33333333u) + (mask >> 2 & 0x33333333u);
    return ((mask + (mask >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
#define VM_EACH(lane, mask)                                                                                            \
    for (uint32_t lane##_left = (mask), lane = 0; lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true);  \
         lane##_left &= lane##_left - 1)

/* Counts unusually large work of one instruction (clearing a frame of megabytes, printing a page) against the step
 * budget, but not as instructions. If it is a lot the path yields, so that the budget is checked. */
static inline void vm_charge(vm_warp *w, uint64_t steps)
{
    w->charge += steps;
    if (steps >= 16)
        w->event |= VM_EVENT_SWITCH;
}

/* ---- memory.c ---- */
vm_allocation *vm_allocate(vm_device *device, uint64_t bytes, const char *name);
vm_allocation *vm_allocate_heap(vm_device *device, uint64_t bytes, uint64_t limit); /* NULL also if the heap is full */
/* Memory that a kernel gets from cudaMalloc(). A kernel may free what kernels have allocated, and nothing else: not the
 * host's memory, variables of modules, or what the simulator keeps for itself. False: it is nothing of that. */
vm_allocation *vm_allocate_from_kernel(vm_device *device, uint64_t bytes);
bool vm_free_from_kernel(vm_device *device, uint64_t address);
/* Makes an allocation another device's. False: out of memory, nothing changed. */
bool vm_hand_over(vm_allocation *allocation, vm_device *to);
vm_allocation *vm_allocate_shared(vm_device *device, uint64_t bytes, const char *name); /* as vm_alloc_host() */
/* Memory for a kernel's access between the allocations of a page, which is no fault on a GPU. Fresh pages are zero there.
 * False: no allocation is in the page, or that address was freed. */
bool vm_fill(vm_device *device, uint64_t address);
/* The allocation that holds the address, NULL: none. It may be another device's (`home`), which this one may use. */
const vm_allocation *vm_allocation_of(vm_device *device, uint64_t address);
bool vm_was_freed(vm_device *device, uint64_t address);
/* Releases freed memory that no runner can still have in its caches. Under the lock. */
void vm_bury(vm_device *device);
/* The allocation that holds `address`, or the one before it: index + 1; 0 if all are at higher addresses. Under the lock. */
size_t vm_search(const vm_device *device, uint64_t address);
void vm_describe(vm_device *device, uint64_t address, char *text, size_t size);
/* The allocation with a label in which an address lies, or beside which. */
typedef struct vm_labelled {
    char name[128], role[32];
    int64_t offset; /* of the address from its beginning; negative: before it */
    uint64_t bytes;
} vm_labelled;
bool vm_labelled_at(vm_device *device, uint64_t address, vm_labelled *found);
/* A runner may use cached spans until its generation is later than that of the free. */
void vm_runner_enter(vm_device *device, vm_runner *runner);
void vm_runner_leave(vm_device *device, vm_runner *runner);
void vm_runner_update(vm_runner *runner, uint64_t generation);

/* The same among the device's own, with the bytes that kernels can reach behind it. */
const vm_allocation *vm_reached(vm_device *device, uint64_t address);

/* ---- span.c: what instructions keep in their caches ---- */
/* read_only: kernels must not write it (.const, for example). */
bool vm_find(vm_device *device, uint64_t address, vm_span *span, bool *constant, bool *read_only);
/* Finds the allocation of [low, high) for the instruction's cache. False: no memory holds all of it, or kernels may not
 * write it and `write` asks for that. What an instruction with VM_WRITES has in its cache is always writable. */
bool vm_refill(vm_warp *w, const vm_code *i, uint64_t low, uint64_t high, bool write);

/* ---- group.c: the other devices of the process ---- */
void vm_group_join(vm_device *device);
void vm_group_leave(vm_device *device);
/* An allocation of another device that holds the address and that kernels of this one may use; NULL: none. It lives as
 * long as nothing else runs on that device. */
const vm_allocation *vm_elsewhere(vm_device *device, uint64_t address);
/* Something was freed: nobody in the group may use what it has found before. */
void vm_group_freed(vm_device *device);
/* Whose memory it is, if it is another device's. */
bool vm_describe_elsewhere(vm_device *device, uint64_t address, char *text, size_t size);

/* ---- textures.c ---- */
/* NULL: no such object. */
const vm_texture *vm_texture_find(const vm_device *device, uint64_t handle);

/* ---- access.c: memory lane by lane, with the faults ---- */
typedef enum vm_reach_kind { VM_REACH_READ = 1, VM_REACH_WRITE = 2, VM_REACH_BOTH = 3 } vm_reach_kind;
/* Host pointer for all of [address, address + bytes) of one lane, or NULL with a fault recorded. The address is generic
 * or of the space that is named, and a multiple of `align`. All bytes are in one object: the pointer is good for
 * `bytes` and no more. tools/lint.py finds code that tests the two ends of a range instead. */
unsigned char *vm_reach_span(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address,
                             uint64_t bytes, uint32_t align, vm_reach_kind kind);
/* The same for an access that is aligned to its size. */
unsigned char *vm_reach(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address, uint32_t bytes,
                        bool write);
/* Says what is wrong with a shared address that the block may not use. */
void vm_describe_shared(const vm_run_state *run, uint64_t address, char *text, size_t size);
uint64_t vm_lane_address(const vm_warp *w, const vm_code *i, uint32_t slot, uint32_t lane);
void vm_load_slow(vm_warp *w, const vm_code *i, uint32_t m);
void vm_store_slow(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_isspacep(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_cp_async(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_load_param(vm_warp *w, const vm_code *i, uint32_t m);
bool vm_read_string(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, char *text, size_t size);

/* ---- warp.c: paths, branches, calls ---- */
void vm_op_bra(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_brx(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_meet(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_exit(vm_warp *w, const vm_code *i, uint32_t m);
void vm_warp_select(vm_warp *w, const vm_path *path);
void vm_warp_save(vm_warp *w);
void vm_path_drop(vm_warp *w); /* the running path ends */
bool vm_path_add(vm_warp *w, const vm_code *pc, uint32_t mask, vm_sync *sync, vm_frame *frame);
void vm_leave(vm_warp *w, vm_sync *sync, vm_sync *until, uint32_t lanes);
/* Waits in an operation of the whole warp until all its live lanes have arrived. Returns 0, or those lanes. */
uint32_t vm_gather(vm_warp *w, const vm_code *i, uint32_t m);
/* The lanes m of the running path wait at its instruction; its others continue. */
void vm_path_wait(vm_warp *w, const vm_code *i, uint32_t m);
void vm_warp_run(vm_warp *w, uint64_t quantum);
void vm_warp_step(vm_warp *w); /* one instruction of the path that is selected */
bool vm_warp_ready(const vm_warp *w);
bool vm_warp_part(vm_warp *w);
/* The lanes of the running path diverge until `meet` (NULL: permanently). vm_send() sends some of them to `target`. */
vm_sync *vm_part(vm_warp *w, const vm_code *meet);
void vm_send(vm_warp *w, const vm_code *target, uint32_t lanes, vm_sync *sync);

/* ---- call.c ---- */
void vm_op_call(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_ret(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_stack(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_home(vm_warp *w, const vm_code *i, uint32_t m);
void vm_frame_finish(vm_warp *w, vm_frame *frame, bool resume);
void vm_frame_return(vm_warp *w, vm_frame *frame);
vm_frame *vm_frame_new(vm_warp *w, const vm_function *function, vm_frame *caller);
void vm_frame_free(vm_warp *w, vm_frame *frame);
void *vm_pool_get(vm_runner *runner, size_t bytes);
void vm_pool_put(vm_runner *runner, void *pointer, size_t bytes);
void vm_pool_clear(vm_runner *runner);

/* ---- block.c, run.c ---- */
void vm_op_bar(vm_warp *w, const vm_code *i, uint32_t m);
void vm_barriers_check(vm_block *block);
void vm_barrier_open(vm_block *block, uint32_t id); /* the paths that wait at it continue */
vm_block *vm_block_new(vm_cluster *cluster, uint32_t rank);
bool vm_block_start(vm_block *block, uint64_t number);
void vm_block_free(vm_block *block);
bool vm_block_ready(const vm_block *block); /* a warp can continue */
/* Lanes that wait for others at a reconvergence point continue without them. False: there are none. */
bool vm_block_part(vm_block *block);
/* What a turn of a block ended with: WAITS: for other blocks of its cluster. */
typedef enum vm_turn { VM_TURN_OVER, VM_TURN_WAITS, VM_TURN_ENDED } vm_turn;
vm_turn vm_block_run(vm_block *block, uint64_t quantum);

/* ---- cluster.c ---- */
vm_cluster *vm_cluster_new(vm_runner *runner);
bool vm_cluster_start(vm_cluster *cluster, uint64_t number);
void vm_cluster_free(vm_cluster *cluster);
/* true: all its blocks have ended. *moved: it did more than wait in vain. */
bool vm_cluster_run(vm_cluster *cluster, uint64_t quantum, bool *moved);
void vm_cluster_check(vm_cluster *cluster); /* opens its barrier if all threads have arrived */
bool vm_cluster_ready(const vm_cluster *cluster);
bool vm_cluster_part(vm_cluster *cluster);
void vm_cluster_deadlock(vm_cluster *cluster); /* raises a fault that says where each warp waits */
void vm_op_cluster_barrier(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_mapa(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_getctarank(vm_warp *w, const vm_code *i, uint32_t m);
/* The address, in any block of the cluster, of what the block of that rank has at `address`. */
static inline uint64_t vm_rank_address(uint64_t address, uint32_t rank)
{
    return (rank + 1) * VM_SHARED_WINDOW + address % VM_SHARED_WINDOW;
}
/* The block that has a shared address, which becomes its own; NULL: none, as `why` says. */
vm_block *vm_block_at(const vm_warp *w, uint64_t *address, char *why, size_t size);

/* ---- poll.c: warps that wait in a loop ---- */
/* An instruction with which lanes may wait for others was executed: an ordered load, an atomic, a test of an mbarrier.
 * `seen` is a hash of addresses and values; changed: it has changed memory. */
void vm_poll(vm_warp *w, const vm_code *i, uint32_t m, uint64_t seen, bool changed);
void vm_poll_changed(vm_warp *w, const vm_code *i); /* by all lanes */
static inline uint64_t vm_poll_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}
void vm_op_polled(vm_warp *w, const vm_code *i, uint32_t m);
void vm_poll_moved(vm_runner *runner);
/* All clusters of the runner have waited in vain for a round. True: those of all runners. */
bool vm_poll_all_wait(vm_runner *runner);
/* Will this runner's clusters wait for ever, as far as it goes by them? If those of all runners will, the launch ends as
 * a deadlock. */
bool vm_poll_endless(vm_runner *runner);
/* Does all that the runner has left come back to where it is with the same registers, and change nothing on the way? */
bool vm_poll_repeats(vm_runner *runner);

/* ---- collective.c ---- */
/* Lanes that execute an operation of lanes together: those of the running path, and of paths that had waited for them,
 * which may be at other instructions and in other calls. */
typedef struct vm_share {
    const vm_code *code;
    vm_frame *frame;
    uint32_t lanes;
} vm_share;
typedef struct vm_meeting {
    uint32_t lanes;      /* all of them */
    uint32_t count;      /* of shares, each with an instruction and a frame of its own */
    const vm_u32 *masks; /* the member mask of each lane; NULL: the whole warp */
    vm_share shares[VM_LANES];
    vm_u32 room[VM_LANES];
} vm_meeting;
void vm_op_shfl(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_vote(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_match(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_redux(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_activemask(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_elect(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_warp_sync(vm_warp *w, const vm_code *i, uint32_t m);
/* Waits until all 128 threads of the warpgroup are at the instruction. True for the lanes that came last: they do its
 * work for the four warps, whose base[] is that of their frames, and call vm_warpgroup_open(). */
bool vm_warpgroup_meet(vm_warp *w, const vm_code *i, uint32_t m);
void vm_warpgroup_open(vm_warp *w);

/* ---- builtin.c ---- */
typedef enum vm_builtin {
    VM_BUILTIN_PRINTF,
    VM_BUILTIN_ASSERT,
    VM_BUILTIN_MALLOC,
    VM_BUILTIN_FREE,
    VM_BUILTINS
} vm_builtin;
uint32_t vm_builtin_find(const char *name); /* + 1; 0: none */
void vm_builtin_run(vm_warp *w, const vm_code *i, uint32_t m);

/* ---- child.c: the device runtime ---- */
uint32_t vm_runtime_find(const char *name); /* + 1; 0: none */
/* Creates the names and texts of errors, for a module that calls a function which returns them. False: out of
 * memory. */
bool vm_runtime_texts(vm_module *module, uint32_t function);
bool vm_runtime_fits(uint32_t function, const ptx_function *declared, const ptx_module *ptx);
void vm_runtime_run(vm_warp *w, const vm_code *i, uint32_t m, uint32_t function);
void vm_children_run(vm_block *block);   /* runs what the block has launched so far, to its end */
void vm_children_reset(vm_block *block); /* for the next block; discards work that has not run */
void vm_children_free(vm_block *block);
void vm_task_free(const kiln_allocator *mem, struct vm_task *task);
uint64_t vm_argument(vm_warp *w, const vm_call *call, uint32_t lane, uint32_t index); /* of a call to a builtin */
void vm_argument_bytes(const vm_warp *w, const vm_call *call, uint32_t lane, uint32_t index, void *out, size_t bytes);
void vm_answer(vm_warp *w, const vm_call *call, uint32_t lane, uint64_t value);
uint32_t vm_max_threads(const ptx_function *f); /* of a block, by the directives */
/* Checks a launch's requirements; `fault` says what is wrong. */
vm_fault_kind vm_launch_prepare(vm_run_state *run, vm_fault *fault);
/* Runs a prepared grid to its end, with the work that it launches. */
void vm_grid_run(vm_run_state *run);

/* A queued kernel launch, copy or fill. */
typedef struct vm_task {
    struct vm_task *next;
    bool is_launch;
    vm_launch launch; /* its params follow the task */
    /* `depth` slices of `height` rows of `width` bytes; source 0: filled with `value` */
    uint64_t target, source, width, height, depth;
    uint64_t target_pitch, target_slice, source_pitch, source_slice;
    unsigned char value;
    const vm_code *at; /* the call, for messages */
    uint32_t block[3];
} vm_task;

/* ---- limit.c: launches that do not end, and the host memory that blocks take ---- */
void vm_limit_init(vm_family *family, const vm_device *device, const vm_launch *launch);
/* Counts host memory that the simulator needs for a kernel besides device memory. False: the launch's limit is
 * reached. */
bool vm_hold(vm_family *family, uint64_t bytes);
void vm_let_go(vm_family *family, uint64_t bytes);
void vm_limit_begin(vm_runner *runner);
vm_fault_kind vm_limit_ask(const vm_family *family); /* VM_OK, VM_FAULT_STOPPED or VM_FAULT_TIME */
/* Called with each turn of a warp: VM_FAULT_STOPPED or VM_FAULT_TIME if the launch must end. */
vm_fault_kind vm_limit_look(vm_runner *runner, uint64_t steps);
void vm_limit_raise(vm_warp *w, vm_fault_kind kind); /* raises that, or VM_FAULT_STEPS; the warp must have a path */
/* After such a fault: called for each block of the grid before its frames are freed; the next, once, when its host
 * threads have ended. */
void vm_limit_count(const vm_block *block);
void vm_limit_explain(vm_run_state *run);
/* The one instruction of [first, last], by PTX, that can see what others do: a wait for an mbarrier, or else a read of
 * memory that threads share; *at: its number. NULL: there is none, or there are several. */
const vm_code *vm_wait_of(const vm_function *function, uint32_t first, uint32_t last, uint32_t *at, bool *mbarrier);
/* The loop in which a path is, and for what it waits there, as far as that is known. May change w->frame. */
void vm_wait_describe(vm_warp *w, const vm_path *path, char *where, size_t size, char *what, size_t room);
static inline uint32_t vm_local_most(const vm_device *device)
{
    uint32_t most = device->limits.local_bytes;
    return most && most < VM_LOCAL_BYTES_MAX ? most : VM_LOCAL_BYTES_MAX;
}
/* A chain of calls: what its frames may take for the 32 lanes. */
static inline uint64_t vm_frames_most(const vm_device *device) { return (uint64_t)VM_LANES * vm_local_most(device); }
/* Those of one function: parameters of calls are on a thread's stack, as local memory is. */
static inline bool vm_frame_fits(const vm_device *device, const vm_function *function)
{
    const ptx_function *f = function->ptx;
    return f->frame_bytes <= vm_local_most(device) && (f->entry || f->param_bytes <= vm_local_most(device));
}
/* The first shared address that a kernel may use: since compute capability 9.0 the system has the first KiB of a
 * block's shared memory (tests/conformance: an H200's addresses begin at 0x400). */
/* Cooperative groups keep barriers and scratch of their own in the system's part. On a GPU it lies below the kernel's own
 * shared memory; here behind it, so that what is below stays a fault. It is zero when a block begins. */
enum { VM_SYSTEM_SHARED = 1024 };
static inline uint64_t vm_shared_low(const vm_device *device)
{
    return device->limits.cc && device->limits.cc < 90 ? 0 : 1024;
}
static inline uint64_t vm_shared_bytes(const vm_run_state *run)
{
    return run->shared_gap - run->shared_low + (run->shared_end - run->shared_dynamic);
}
static inline uint64_t vm_budget(const vm_device *device)
{
    return device->limits.step_budget ? device->limits.step_budget : (uint64_t)1 << 40;
}

/* ---- fault.c ---- */
void vm_fault_raise(vm_warp *w, const vm_code *i, uint32_t lane, vm_fault_kind kind, uint64_t address, uint32_t bytes,
                    const char *format, ...) KILN__PRINTF(7, 8);
void vm_fault_at(const vm_warp *w, const vm_frame *frame, const vm_code *i, vm_fault *fault);
void vm_fault_in(const vm_function *function, const vm_code *i, vm_fault *fault); /* only the lines */

#endif
