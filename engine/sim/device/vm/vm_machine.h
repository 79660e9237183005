/* vm_machine.h - the state of a running launch: device, module, grid, cluster, block, warp, path, instruction. The
 * interpreter's files, the handlers (sim/device/ops), the decoder and the observers share this state. README.md of this
 * folder explains the parts of the interpreter.
 *
 * Threads: a runner is one host thread of a launch. A runner owns its clusters, blocks and warps, and no other thread
 * accesses them. Runners share vm_run_state, vm_family and vm_device through atomics and locks. */
#ifndef KILN_SIM_VM_MACHINE_H
#define KILN_SIM_VM_MACHINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "vm.h"
#include "vm_guard.h"

#define VM_LANES 32u
#define VM_ALL UINT32_MAX            /* the mask of a whole warp */
#define VM_CODE_BASE 0x0600000000ull /* the function with index k has the device address VM_CODE_BASE + 16 * k */
#define VM_LOCAL_BYTES_MAX 0x80000u  /* limit of the local memory of a thread: 512 KiB, as on a GPU */
/* The size of the window of addresses in which the shared memory of a block lies. The memory itself may be smaller. */
#define VM_SHARED_WINDOW 0x1000000ull
#define VM_CLUSTER_MOST 16u /* largest number of blocks of a cluster */
/* The size of all shared addresses of a cluster: one window for the block of each rank. The upper 8 bits of a shared
 * address are the rank, as on a GPU. */
#define VM_CLUSTER_WINDOW (VM_CLUSTER_MOST * VM_SHARED_WINDOW)
#define VM_REGISTERS_MAX 0x1000000u /* largest number of bytes of the registers of a function */
/* New memory of kernels consists of this byte. */
#define VM_POISON 0xA5
#define VM_DEPTH_MAX 512u /* limit of nested calls */
#define VM_BARRIERS 16u
#define VM_WARPGROUPS 8u /* largest number of warpgroups of a block; a warpgroup has four warps */
#define VM_PATHS VM_LANES
#define VM_LIKELY(x) __builtin_expect(!!(x), 1)
#define VM_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A kernel may have data races, which are not errors of the simulator. So the thread sanitizer must not instrument
 * functions that access memory for a kernel. */
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

/* Registers and device memory are arrays of bytes. Each instruction reads the bytes as the type that the instruction
 * names. */
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

/* The handler of an instruction. It executes the instruction for the lanes of the mask, which is never empty. */
typedef void (*vm_handler)(vm_warp *, const vm_code *, uint32_t);
/* The two handlers of an instruction. The handler `full` may compute all 32 lanes. It is called only if all lanes
 * outside of its mask have exited, because the values in the registers of exited lanes do not matter. The handler
 * `masked` computes only the lanes of the mask.
 */
typedef struct vm_handlers {
    vm_handler full, masked;
} vm_handlers;

/* The flags of an instruction (vm_code.flags). Arithmetic, memory and comparison instructions use the same bits for
 * different flags. */
enum {
    /* arithmetic */
    VM_FTZ = 1,
    VM_SAT = 2,
    VM_NANS = 4,
    VM_XORSIGN = 8,
    VM_RELU = 16,
    VM_ABSOLUTE = 32,
    /* memory */
    VM_SIGNED = 1,
    VM_REG64 = 2,
    VM_STRONG = 4,
    VM_ADDR32 = 8,
    VM_REG16 = 16,
    VM_WRITES = 32,
    /* comparison */
    VM_INVERT = 1,
    VM_BOOL_AND = 2,
    VM_BOOL_OR = 4,
    VM_BOOL_XOR = 8,
    VM_COMBINE_NOT = 16
};

/* An instruction in decoded, executable form. The slots of operands are byte offsets: if bit 0 is clear, into the
 * frame's registers; if bit 0 is set, into the function's constants. A constant is stored for each of the 32 lanes, so
 * that handlers need only one form. */
struct vm_code {
    vm_handler full, masked;
    uint32_t
        guard; /* slot of the guard predicate; bit 0 negates it, and bit 1 marks an operation that the decoder has added */
    uint32_t insn; /* index of the instruction in the PTX function, for line numbers */
    uint32_t d, a, b, c, e;
    /* for a memory access: the bytes of an element, the number of elements, the ptx_space, and the flags */
    uint8_t size, count, space, flags;
    union {
        uint64_t imm;
        const vm_code *target;
    };
    const void *extra;
};
_Static_assert(sizeof(void *) != 8 || sizeof(vm_code) == 64, "an instruction is one cache line");

/* A reconvergence point that some lanes of a warp still have to reach: the immediate post-dominator of the branch at
 * which they diverged. `expected` has the lanes that must arrive, and `waiting` the lanes that have arrived. When
 * both are equal, the lanes continue as one path. `parent` is the enclosing reconvergence point. */
typedef struct vm_sync {
    const vm_code *pc; /* NULL if the point is the return of `frame` */
    uint32_t expected, waiting;
    struct vm_sync *parent;
    vm_frame *frame;
} vm_sync;

/* One call of a function by lanes that call together. A frame has the registers, the parameters and the .param
 * variables of these lanes. Frames of a warp form a tree, because the paths of a warp may be in different calls. */
struct vm_frame {
    vm_frame *caller;
    const vm_function *function;
    const vm_code *back;        /* the instruction at which the caller continues */
    const struct vm_call *call; /* the call instruction, which tells how results are passed */
    vm_sync join;
    uint32_t local_base, local_top; /* bounds of the frame in each lane's local memory */
    uint32_t depth;
    /* bytes: the size of this frame; chain: the sum of the sizes of this frame and of all its callers' frames */
    size_t bytes, chain;
    unsigned char *params, *vars; /* 32 parameter blocks; 32 sets of .param variables */
    unsigned char *regs;          /* the registers, aligned to 64 bytes */
};

/* The state of a path; path.c lists the transitions. READY: the warp can run the path. WARP: the path waits for other
 * lanes of its warp, in an operation of the warp. BARRIER: the path waits at a barrier of the block, the cluster or a
 * warpgroup. */
typedef enum vm_path_state { VM_PATH_READY, VM_PATH_WARP, VM_PATH_BARRIER } vm_path_state;
/* Lanes of a warp that run together with one pc and one mask. The paths of a warp have disjoint masks. */
typedef struct vm_path {
    const vm_code *pc;      /* the next instruction; for a waiting path, the instruction at which the path waits */
    uint32_t mask, arrived; /* arrived: the lanes for which the waiting instruction's guard holds */
    vm_sync *sync;
    vm_frame *frame;
    uint8_t state, barrier;
} vm_path;

/* Events that end the turn of a path. SWITCH: the running path has ended or waits. YIELD: the path may spin on other
 * lanes. FAULT: the launch ends. IN_VAIN: the lanes of the path have read the same values again, and wait for a change.
 * PHASE: the path has completed a phase of an mbarrier. Other warps must see this phase before the next phase is
 * complete. */
enum { VM_EVENT_SWITCH = 1, VM_EVENT_YIELD = 2, VM_EVENT_FAULT = 4, VM_EVENT_IN_VAIN = 8, VM_EVENT_PHASE = 16 };

/* The last execution of an instruction that polls memory (poll.c). */
typedef struct vm_polling {
    const vm_code *at;
    uint64_t seen; /* a hash of the addresses and values that the instruction read */
    /* mask: the lanes that executed the instruction; same: the number of equal executions in a row */
    uint32_t mask, same;
} vm_polling;

/* A warp. The first fields are the state of the running path, so that handlers access this state quickly.
 * vm_warp_select() loads the state from `paths`, and vm_warp_save() stores it there. */
struct vm_warp {
    /* the fields of the path that runs */
    const vm_code *pc;
    uint32_t mask, dead;    /* dead: the lanes that have exited or never existed */
    unsigned char *base[2]; /* registers, constants */
    int event;
    uint32_t cc;              /* the carry flag of each lane */
    uint32_t cluster_arrived; /* lanes that arrived at the cluster's barrier in the current phase */
    vm_sync *sync;
    vm_frame *frame, *root; /* root: the kernel's frame, which stays for the next block */
    vm_block *block;
    vm_runner *runner;
    /* issued, lanes: the instructions of the warp and of its lanes in this block; idle: the operations since lanes last
     * reconverged */
    uint64_t issued, lanes, idle;
    uint64_t charge; /* extra work of instructions, in steps: see vm_charge() */
    /* `index` is the warp's number in its block. `current` is the index of the running path, or VM_PATHS if no path
     * runs. `sync_used` has a set bit for each element of `syncs` in use. `yields` and `vain_yields` count how often
     * paths gave way: `yields` because a path seemed to spin, `vain_yields` because a path waited in vain. */
    uint32_t index, current, path_count, sync_used, spins, yields, vain_yields;
    bool gave_way;   /* the warp's last turn ended because it waits for other warps */
    bool phase_over; /* the warp's last turn ended because it has completed a phase of an mbarrier */
    bool in_vain;    /* in its last turn the warp has only repeated reads of the same values */
    bool waits;      /* the warp reads the same value repeatedly, as vm_poll() has found */
    bool moved;      /* the warp has read a new value, or changed memory, since the turn of its path began */
    bool polled;     /* polls[] has entries */
    uint32_t poll_next;
    vm_polling polls[VM_LANES][2]; /* indexed by the path's first lane */
    vm_path paths[VM_PATHS];
    vm_sync syncs[VM_LANES];
    uint32_t tid[3][VM_LANES];
};

/* A barrier. It opens when `need` threads have arrived. When the barrier opens, its members become zero. */
typedef struct vm_barrier {
    uint32_t arrived, need; /* numbers of threads; `need` is 0 if all live threads must arrive */
    uint32_t count;         /* for bar.red: the number of threads whose predicate is true */
    bool all, any;
} vm_barrier;

/* A cluster: the blocks of a cluster run together on one host thread. In a launch without clusters, each cluster is one
 * block. */
struct vm_cluster {
    vm_runner *runner;
    /* live: the threads that have not exited; arrived: the threads that have arrived at barrier.cluster */
    uint32_t size, live, arrived;
    vm_block *blocks[VM_CLUSTER_MOST]; /* indexed by rank */
};

/* A resident block. Its memory is reused for the next block of the same runner. */
struct vm_block {
    vm_runner *runner;
    vm_cluster *cluster;
    uint32_t rank; /* rank of the block in its cluster */
    uint32_t id[3];
    uint32_t warp_count, live; /* live: the threads that have not exited */
    bool ended;
    const vm_code *left; /* the instruction at which the last thread exited, in the function `left_in` */
    const vm_function *left_in;
    vm_warp *warps;
    unsigned char *shared, *local; /* host memory for shared and local memory, each between two guard pages */
    /* `window` is the shared address of the first byte of `shared`. It is also the first address of the window of the
     * block's rank. The kernel can access the shared addresses [shared_low, shared_reach). A shared address plus
     * `shared_at` is a host address. */
    uint64_t window, shared_low, shared_reach;
    uintptr_t shared_at;
    size_t local_taken;
    bool moved;    /* in the block's last turn some warp did more than wait */
    uint64_t held; /* bytes of host memory that count against the launch's limit: vm_hold() */
    uint64_t number;
    uint32_t next_warp;
    bool fresh;     /* no warp has run since the last call of vm_block_start() or renew_block() */
    uint64_t begun; /* operations that a series has run in the turn of `next_warp` */
    /* Indexed by number. The barriers of the block come first. Then comes the number of the cluster's barrier, whose
     * element is unused. One barrier for each warpgroup follows. */
    vm_barrier barriers[VM_BARRIERS + 1 + VM_WARPGROUPS];
    bool barred;                     /* a thread of the block has arrived at one of the barriers */
    bool refused;                    /* a thread has seen that a request to cancel a cluster failed */
    struct vm_children *children;    /* data of child.c; NULL until the block launches work */
    struct vm_tensor_memory *tensor; /* data of tensor_memory.c; NULL until the block allocates columns */
    /* Data of the observers. */
    struct vm_trace_warp *trace;  /* one for each warp; NULL if the block is not traced */
    struct vm_check_block *check; /* NULL if the launch has no checks */
    /* begun_issued: the instructions among the operations `begun`; ahead: steps that series have run before the block's
     * next turn */
    uint64_t begun_issued, ahead;
};

/* The range of device memory that an instruction accessed last. The span is a cache: the next access to this range
 * needs no search. */
typedef struct vm_span {
    uint64_t base, end;
    unsigned char *host;
    bool read_only; /* kernels may read the range, but not write it */
} vm_span;

/* Free frames of one runner, by size class (frame.c). */
typedef struct vm_pool {
    struct vm_chunk *free[24];
    size_t bytes;
} vm_pool;

/* A loop: the instructions from a branch's target to the branch. `function` is NULL if there is no loop. */
typedef struct vm_loop {
    const vm_function *function;
    uint32_t first, last;
} vm_loop;

/* If all host threads added each step to the same counter, they would wait for the counter's cache line. So each runner
 * counts its own steps, and adds them to the family's counter when they have reached VM_KEEP. Near the end of the
 * budget, the steps that all runners have not added yet could exceed the rest of the budget. A runner then adds its
 * steps at once. */
enum {
    VM_KEEP = 1 << 16,
    VM_RUNNERS_MOST = 512 /* limit of the host threads and of the grids that wait for their children */
};

/* A launch by the host, together with all grids that its kernels launch. */
typedef struct vm_family {
    atomic_ullong steps;       /* steps of all grids of the launch, because these grids share one budget */
    uint64_t budget;           /* the largest number of steps of the launch */
    atomic_int stop;           /* nonzero when a fault was recorded, or when the launch has ended */
    atomic_int spare;          /* number of host threads that may still be started */
    atomic_uint grids;         /* number of grids so far, for %gridid */
    const volatile int *asked; /* `asked` and `deadline` are vm_launch.stop and vm_launch.deadline */
    uint64_t deadline;
    uint64_t hold_most; /* limit of host memory for frames and blocks' local memory: vm_hold() */
    atomic_ullong held;
    const struct vm_run_state *stuck_in; /* the grid that did not end, or NULL; `loop` is the loop in which it was */
    vm_loop loop;
    /* a description of the condition that the lanes in that loop wait for; "" if the condition is unknown */
    char waits[240];
    /* running: the warps of that grid that had not ended; inside: the number of these warps that were in the loop */
    atomic_uint running, inside;
    pthread_mutex_t lock; /* guards the fault, printing, the counters and the grids' lists of tail launches */
    vm_fault *fault;
    vm_counters counters;
} vm_family;

/* A vote of the runners on the question whether they all wait in vain. `votes` counts the runners that have voted while
 * vm_run_state.moves had the value `moves`. When a runner makes progress, `moves` grows, and earlier votes no longer
 * count. */
typedef struct vm_ballot {
    uint64_t moves;
    unsigned votes;
} vm_ballot;

/* The state of a running grid. The runners of the grid share it. */
typedef struct vm_run_state {
    vm_device *device;
    vm_family *family;
    const vm_launch *launch;
    unsigned char *params; /* the kernel's parameters, between guard pages */
    const vm_function *kernel;
    /* the shared addresses that are valid: [shared_low, shared_gap) and [shared_dynamic, shared_end) */
    uint64_t shared_low, shared_gap, shared_dynamic, shared_end;
    /* The shared address at which the system's shared memory begins. The system's shared memory has VM_SYSTEM_SHARED
     * bytes, and ends at or before `shared_reach`. The address is 0 if the module does not use the system's shared
     * memory. */
    uint64_t shared_system;
    uint64_t shared_reach; /* kernels can access the shared addresses [shared_low, shared_reach), as on a GPU */
    uint32_t local_bytes;
    uint32_t block_threads, warps_per_block;
    uint64_t block_count;
    /* the size of a cluster in blocks; all numbers are 1 in a launch without clusters */
    uint32_t cluster[3], cluster_size;
    bool clustered;         /* the launch asks for clusters, possibly for clusters of one block */
    uint64_t cluster_count; /* clusters that run */
    /* The number of clusters that a host thread may hold. If all these clusters wait, the thread may hold more
     * clusters. */
    size_t resident;
    bool cooperative;
    uint32_t grid_id, depth; /* depth: the level of the grid; 0 if the host launched the grid */
    const char *launcher;    /* name of the kernel that launched the grid, or NULL */
    struct vm_task *tails;   /* the tail launches that the grid's kernel has made */
    uint32_t tail_count;
    /* for a cooperative launch: the device address of the memory for the grid's barrier */
    uint64_t workspace;
    const struct vm_hooks *hooks; /* NULL: no observers */
    bool serial;                  /* the launch runs on one host thread */
    bool chosen; /* only the blocks that hooks->chosen() names run, together with the other blocks of their clusters */
    /* keeps the fields above two cache lines away from the fields below, which all host threads write */
    char apart[128];
    atomic_ullong next_cluster;
    atomic_ullong moves; /* number of turns in which a cluster did more than wait in vain */
    atomic_uint working; /* number of runners that have not ended */
    atomic_uint holders; /* number of host threads that have a cluster, or are taking their first cluster */
    /* the votes of endless.c, under the family's lock */
    vm_ballot waiting, repeating;
} vm_run_state;

enum { VM_SERIES = 16 }; /* number of counters of series */
/* The warps that a runner has run in a series. */
typedef struct vm_entered {
    struct vm_native *region;
    unsigned warps;
} vm_entered;
enum { VM_STREAMS = 4 }; /* number of arrays that the compiled code of a loop prefetches, each with its own counter */
/* One host thread of a grid, with the clusters that it has started. */
struct vm_runner {
    vm_run_state *run;
    vm_span *cache; /* indexed by vm_code.e of memory instructions */
    vm_span recent[4];
    unsigned recent_next;
    /* the device's generation when the runner's caches were filled; UINT64_MAX if the caches are empty */
    atomic_ullong generation;
    vm_runner *next; /* next of the device's runners */
    vm_pool pool;
    vm_cluster **clusters;
    size_t cluster_count, cluster_capacity;
    vm_cluster *spare;
    bool holds; /* the runner has or had a cluster to run */
    /* rounds: the number of rounds in which all clusters of the runner waited in vain; prove_at: the round at which
     * endless.c tests whether they will wait for ever */
    uint64_t rounds, prove_at;
    /* for the ballots `waiting` and `repeating`: run->moves + 1 at the runner's last vote, or 0 if the runner has not
     * voted */
    uint64_t waits_since, repeats_since;
    /* The number of steps of this runner, for %clock. */
    uint64_t clock;
    uint64_t unlooked; /* steps since vm_limit_look() last tested the launch's limits */
    uint64_t kept;     /* steps that the runner has not yet added to the family's counter */
    vm_counters counters;
    bool met; /* the runner calls the hooks `met`, `malloced` and `outside` */
    /* The function that sees instructions before they execute, or NULL. The array `shown` selects the instructions by
     * the index first_tally + vm_code.insn: the function is called if the element is not 0. If `shown` is NULL, the
     * function is called for every instruction. */
    uint32_t (*show)(vm_warp *w, const vm_code *i, uint32_t m);
    const uint8_t *shown;
    /* the hook vm_hooks.access; NULL if observers cannot follow compiled code */
    uint32_t (*access)(vm_warp *w, const vm_code *i);
    /* the device's compiler of hot code; NULL if there is no compiler, or if observers cannot follow compiled code */
    struct vm_jit *jit;
    unsigned entries;           /* number of entries into compiled regions, for sampling */
    uint32_t ahead[VM_STREAMS]; /* the numbers of lines that compiled code has prefetched */
    vm_warp *series_last;       /* results of vm_native.series */
    uint64_t series_issued, series_place;
    /* From here on, the members are data of the observers. `tally` has the runner's counts for each instruction. They
     * are added to the launch's counts when the runner ends. `tally` is NULL if the launch is not counted. */
    struct vm_tally *tally;
    kiln_counters *sites; /* the runner's counts for each access and each branch */
    const uint32_t *site_of;
    const bool *joined; /* indexed by site */
    /* warps that ran in series and that vm_native.entered does not count yet, indexed by the first instruction of the series modulo VM_SERIES */
    vm_entered series_entered[VM_SERIES];
    char apart[128]; /* keeps the next runner two cache lines away, because another host thread writes it */
};

/* An allocation of device memory. The device owns the allocation. The list `live` holds it until it is freed. */
typedef struct vm_allocation {
    vm_device *home;
    uint64_t base, bytes;
    uint64_t reach; /* number of bytes that kernels can access, including the rest of the last granule */
    unsigned char *host;
    void *raw; /* the memory of `taken` bytes from the device's `guards`; NULL if the device does not own the memory */
    uint64_t taken;
    /* The name of a module variable, in the module's arena. It is NULL for all other memory, such as memory from
     * vm_alloc(). */
    const char *name;
    char *label;      /* the name that the host gave it, for messages, or NULL */
    const char *role; /* the purpose of the memory, such as "an input", stored in the memory of the label */
    bool constant;    /* the memory is a .const variable, which kernels must not write */
    bool read_only;   /* the memory is global memory that kernels may not write */
    bool shared;      /* the host shares the memory and may write it at any time; `base` is the host's pointer */
    /* If `team` is not NULL, the allocation is a part of a multicast object. Only multimem instructions access such
     * memory, and `host` is not set. */
    const struct vm_team *team;
    uint64_t team_offset; /* the offset of this part in the multicast object */
    bool outside;         /* another process may write the memory */
    uint64_t mapped;      /* bytes of `file` that are mapped at `host`; 0 if the memory is not in a file */
    int file;
    /* The bytes of address space at `host` whose pages take memory when they are first written. It is 0 if the memory
     * is at `raw`. */
    uint64_t reserved;
    uint64_t counted; /* bytes of the allocation that count as device memory */
    uint64_t heap;    /* bytes of the allocation that count in the heap of kernels' malloc() */
    bool from_kernel; /* a kernel has allocated the memory, and kernels may free it */
    uint64_t owner;   /* for the driver: the owner, see vm_info */
    bool internal;    /* the memory belongs to the simulator itself, and is never reported as leaked */
    /* True for a filler. A filler is no allocation: it is the memory between the allocations of a page that a kernel
     * has accessed (vm_limits.page). */
    bool filler;
    uint32_t open;              /* bit n is set by vm_open() if the device with number n may use the allocation */
    struct vm_shadow *shadow;   /* shadow memory of the observers, made by the device's hooks; may be NULL */
    uint64_t freed;             /* the generation of the device at which the allocation was freed */
    struct vm_allocation *next; /* the next allocation in the graveyard */
} vm_allocation;

/* A texture or surface and its handle. */
typedef struct vm_object {
    uint64_t handle;
    vm_texture texture;
} vm_object;

struct vm_device {
    kiln_allocator mem_copy;
    const kiln_allocator *mem;
    vm_limits limits;
    pthread_rwlock_t lock;
    vm_guards guards;     /* free host memory for the allocations and blocks of this device */
    vm_allocation **live; /* sorted by address */
    size_t live_count, live_capacity;
    /* A queue of allocations that were freed while kernels run. The generations rise along the queue, so the
     * allocations that no runner uses any more are at its head. vm_bury() examines only these allocations. If the queue
     * is not empty, last_buried is its end. */
    vm_allocation *graveyard, *last_buried;
    struct {
        uint64_t base, bytes;
    } freed[64]; /* the most recently freed allocations: vm_fill() never fills them, and messages name them */
    unsigned freed_next;
    uint64_t next_address, used;
    uint64_t heap; /* bytes of `used` from kernels' malloc() */
    bool heap_used;
    /* The descriptor + 1 of a file with VM_PERIOD bytes of VM_POISON. It is 0 until the file is made. */
    int poison;
    const struct vm_hooks *hooks; /* the observer that shadows its memory, or NULL */
    struct vm_check *check;       /* data of that observer */
    struct vm_jit *jit;           /* the compiler of hot code; NULL if the device interprets all code */
    vm_object **objects;          /* indexed by bits 8 to 31 of the handle; the table changes only while nothing runs */
    size_t object_count, object_capacity;
    vm_runner *runners;       /* the runners of the launches that run now */
    atomic_ullong generation; /* incremented when an allocation is freed */
    /* the members from here on belong to the group, and the group's lock guards them */
    vm_device *next;
    /* place is the device's own bit, or 0 if no bit was free. peers has the bits of all devices whose memory this
     * device may use. */
    uint64_t place, peers;
};

/* The way in which one argument or result of a call is passed. */
typedef struct vm_transfer {
    uint32_t from, bytes; /* the offset and size of the value among a lane's .param variables */
    uint32_t slot;        /* the slot of the register, if is_register is true */
    bool is_register, wide;
} vm_transfer;
/* A call instruction, with the places of its arguments and results. */
typedef struct vm_call {
    const vm_function *callee; /* the function that is called; NULL if the call is indirect */
    uint32_t argument_count, result_count;
    const vm_transfer *arguments, *results;
    /* the number of a function that the simulator provides, from vm_builtin_find(); 0 if the callee is a function of
     * the module */
    uint32_t builtin;
} vm_call;

/* A decoded function. The arena of its module owns it. */
struct vm_function {
    const ptx_function *ptx;
    const vm_module *module;
    vm_code *code;
    uint32_t code_count;
    /* start[k] is the index in `code` of the first operation of the PTX instruction k. The array has insn_count + 1
     * entries. */
    uint32_t *start;
    uint32_t *reg_slot;
    unsigned char *constants;
    uint32_t constant_bytes, reg_bytes;
    uint32_t local_bytes;
    bool has_homes;         /* some parameters are in local memory, because the function takes their address */
    uint64_t closure_local; /* the bytes of local memory of this function and of all functions that it may call */
    uint64_t static_shared; /* for kernels only: the bytes of shared variables, from vm_shared_low() on */
    bool uses_dynamic, recursive;
    size_t first_tally;           /* index of the function's first instruction among all instructions of the module */
    uint32_t temp_base, sink;     /* slots for intermediate values of the decoder (decode.c) */
    uint32_t window;              /* the slot of a register with vm_block.window in all lanes, which frame.c writes */
    struct vm_compiled *compiled; /* vm_jit.h */
};

/* A decoded module. */
struct vm_module {
    vm_device *device;
    ptx_module *ptx;
    kiln__arena arena;
    vm_function *functions;
    struct vm_named_kernel *kernels; /* the kernels of the module, sorted by name */
    uint32_t kernel_count;
    /* Indexed by symbol: the device address of a global or constant variable, the offset of a shared variable in the
     * block's shared memory, or the offset of a local variable in its frame. */
    uint64_t *address;
    bool *home;              /* indexed by symbol: true for a parameter that is in local memory, at `address` */
    vm_allocation **storage; /* indexed by symbol; NULL if the symbol has no storage */
    uint32_t *managed;       /* the symbols of the managed variables */
    uint32_t managed_count;
    uint64_t dynamic_base; /* start of dynamic shared memory in every kernel */
    /* the module reads %reserved_smem_offset_1, so it uses the system's part of shared memory */
    bool uses_system_shared;
    uint64_t const_bytes;
    uint32_t cache_count;
    size_t tally_count;              /* number of instructions of all functions of the module */
    vm_allocation *error_texts;      /* vm_runtime_texts() */
    struct vm_check_code *check;     /* data of the observers */
    const struct vm_handlers *table; /* the handlers of the module's instructions */
    void *host_code;                 /* data of the compiler of hot code, or NULL */
};
/* Sorts the kernels by name for vm_module_kernel(). Returns false if memory runs out. */
bool vm_module_name_kernels(vm_module *module);

/* ---- operands ---- */
static inline unsigned char *vm_at(const vm_warp *w, uint32_t slot) { return w->base[slot & 1] + (slot & ~1u); }
/* Returns the row of an operand in a frame. The frame need not be the frame of the running path. */
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
/* Counts the bits of a mask. Most masks are full, so the full mask is the first case. For other masks a compiler may
 * call a slow library function, so the code here counts the bits itself. */
static inline uint32_t vm_lanes_of(uint32_t mask)
{
    if (VM_LIKELY(mask == VM_ALL))
        return VM_LANES;
    mask -= mask >> 1 & 0x55555555u;
    mask = (mask & 0x33333333u) + (mask >> 2 & 0x33333333u);
    return ((mask + (mask >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
/* Iterates over the lanes of a mask, the lowest first. */
#define VM_EACH(lane, mask)                                                                                            \
    for (uint32_t lane##_left = (mask), lane = 0; lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true);  \
         lane##_left &= lane##_left - 1)

/* Counts unusually large work of one instruction against the step budget: for example clearing a frame of megabytes or
 * printing a long text. Extra work does not count as instructions. If the extra work is large, the path yields, so that
 * the budget is tested soon. */
static inline void vm_charge(vm_warp *w, uint64_t steps)
{
    w->charge += steps;
    if (steps >= 16)
        w->event |= VM_EVENT_SWITCH;
}

/* The size of the system's part of shared memory, in which cooperative groups keep barriers and temporary data. On a
 * GPU the system's part is at lower addresses than the kernel's own shared memory. In the simulator it is at higher
 * addresses, so that an access below the kernel's own memory stays a fault. The bytes of the system's part are zero
 * when a block begins. */
enum { VM_SYSTEM_SHARED = 1024 };
/* Returns the first shared address that a kernel may use. Since compute capability 9.0 the system has the first KiB of
 * a block's shared memory. On an H200 the addresses begin at 0x400 (tests/conformance). */
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

#endif
