/* vm_machine.h - the state of a running launch: device, module, grid, cluster, block, warp, path, instruction. The
 * interpreter's files, the handlers (sim/device/ops), the decoder and the observers share it. README.md of this
 * folder explains the parts.
 *
 * Threads: a runner is one host thread of a launch. It owns its clusters, blocks and warps, and no other thread
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
#define VM_LOCAL_BYTES_MAX 0x80000u  /* local memory of a thread, 512 KiB as on a GPU */
/* The size of the window of addresses in which the shared memory of a block lies. The memory itself may be smaller. */
#define VM_SHARED_WINDOW 0x1000000ull
#define VM_CLUSTER_MOST 16u /* blocks of a cluster */
/* Shared addresses: one window for the block of each rank. The upper 8 bits of an address are the rank, as on a GPU. */
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

/* Registers and device memory are bytes. Each instruction reads them as the type that it names. */
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

/* The handler of an instruction: executes it for the lanes of the mask, which is never empty. */
typedef void (*vm_handler)(vm_warp *, const vm_code *, uint32_t);
/* The two handlers of an instruction. `full` may compute all 32 lanes: it is called only if the lanes outside of its
 * mask have exited, and then the values in their registers do not matter. `masked` computes only the lanes of the mask.
 */
typedef struct vm_handlers {
    vm_handler full, masked;
} vm_handlers;

/* The flags of an instruction (vm_code.flags). Arithmetic, memory and comparison use the same bits for different
 * flags. */
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

/* One executable instruction. Operand slots are byte offsets: if bit 0 is clear, into the frame's registers; if it is
 * set, into the function's constants. A constant is stored for each of the 32 lanes, so that handlers need only one
 * form. */
struct vm_code {
    vm_handler full, masked;
    uint32_t guard; /* slot of the predicate; bit 0 negates it */
    uint32_t insn;  /* index in the PTX function, for line numbers */
    uint32_t d, a, b, c, e;
    /* for a memory access: bytes of an element, number of elements, ptx_space, flags */
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

/* One call of a function by lanes that call together: their registers, parameters and .param variables. Frames of a
 * warp form a tree, because paths of a warp may be in different calls. */
struct vm_frame {
    vm_frame *caller;
    const vm_function *function;
    const vm_code *back;        /* the place where the caller continues */
    const struct vm_call *call; /* the call, which tells how results are passed */
    vm_sync join;
    uint32_t local_base, local_top; /* bounds of the frame in each lane's local memory */
    uint32_t depth;
    /* bytes: size of this frame; chain: the sum of the sizes of this frame and of all frames that called it */
    size_t bytes, chain;
    unsigned char *params, *vars; /* 32 parameter blocks; 32 sets of .param variables */
    unsigned char *regs;          /* the register file, aligned to 64 bytes */
};

/* The state of a path; path.c lists the transitions. READY: the warp can run it. WARP: it waits for other lanes of
 * its warp, in an operation of the warp. BARRIER: it waits at a barrier of the block, the cluster or a warpgroup. */
typedef enum vm_path_state { VM_PATH_READY, VM_PATH_WARP, VM_PATH_BARRIER } vm_path_state;
/* Lanes that run together: one pc, one mask. The paths of a warp have disjoint masks. */
typedef struct vm_path {
    const vm_code *pc;      /* the next instruction; in a waiting path the instruction at which it waits */
    uint32_t mask, arrived; /* arrived: the lanes for which the waiting instruction's guard holds */
    vm_sync *sync;
    vm_frame *frame;
    uint8_t state, barrier;
} vm_path;

/* Events that end the turn of a path. SWITCH: the path has ended or waits. YIELD: it may spin on other lanes. FAULT:
 * the launch ends. IN_VAIN: its lanes have read the same values again, and wait for a change. PHASE: it has completed a
 * phase of an mbarrier, which other warps must see before the next phase is complete. */
enum { VM_EVENT_SWITCH = 1, VM_EVENT_YIELD = 2, VM_EVENT_FAULT = 4, VM_EVENT_IN_VAIN = 8, VM_EVENT_PHASE = 16 };

/* The last execution of a polling instruction (poll.c). */
typedef struct vm_polling {
    const vm_code *at;
    uint64_t seen; /* a hash of the addresses and values that it read */
    /* the lanes that executed it; the number of equal executions in a row */
    uint32_t mask, same;
} vm_polling;

/* A warp. The first fields are the state of the running path, so that handlers access it quickly. vm_warp_select()
 * loads them from `paths`, and vm_warp_save() stores them there. */
struct vm_warp {
    /* the path that runs */
    const vm_code *pc;
    uint32_t mask, dead;    /* dead: lanes that have exited or never existed */
    unsigned char *base[2]; /* registers, constants */
    int event;
    uint32_t cc;              /* the carry flag of each lane */
    uint32_t cluster_arrived; /* lanes that arrived at the cluster's barrier in the current phase */
    vm_sync *sync;
    vm_frame *frame, *root; /* root: the kernel's frame, which stays for the next block */
    vm_block *block;
    vm_runner *runner;
    /* issued, lanes: instructions of the warp and of its lanes in this block; idle: operations since lanes last
     * reconverged */
    uint64_t issued, lanes, idle;
    uint64_t charge; /* extra work of instructions, in steps: see vm_charge() */
    /* `index` is the warp's number in its block, and `current` the running path, or VM_PATHS. `sync_used` has a bit
     * for each element of `syncs` in use. `yields` and `vain_yields` tell how often paths gave way, because they
     * seemed to spin or because they waited in vain. */
    uint32_t index, current, path_count, sync_used, spins, yields, vain_yields;
    bool gave_way;   /* the warp's last turn ended because it waits for other warps */
    bool phase_over; /* the warp's last turn ended because it has completed a phase of an mbarrier */
    bool in_vain;    /* in its last turn the warp only repeated reads of the same values */
    bool waits;      /* the warp reads the same value repeatedly, as vm_poll() has found */
    bool moved;      /* the warp has read a new value, or changed memory, since the turn of its path began */
    bool polled;     /* polls[] has entries */
    uint32_t poll_next;
    vm_polling polls[VM_LANES][2]; /* indexed by the path's first lane */
    vm_path paths[VM_PATHS];
    vm_sync syncs[VM_LANES];
    uint32_t tid[3][VM_LANES];
};

/* A barrier. It opens when `need` threads have arrived. Then its members become zero. */
typedef struct vm_barrier {
    uint32_t arrived, need; /* numbers of threads; `need` is 0 if all live threads must arrive */
    uint32_t count;         /* for bar.red: number of threads whose predicate is true */
    bool all, any;
} vm_barrier;

/* A cluster: the blocks of a cluster run together on one host thread. In a launch without clusters, each cluster is one
 * block. */
struct vm_cluster {
    vm_runner *runner;
    uint32_t size, live, arrived;      /* live: threads that have not exited; arrived: threads at barrier.cluster */
    vm_block *blocks[VM_CLUSTER_MOST]; /* indexed by rank */
};

/* A resident block. Its memory is reused for the next block of the same runner. */
struct vm_block {
    vm_runner *runner;
    vm_cluster *cluster;
    uint32_t rank; /* rank in the cluster */
    uint32_t id[3];
    uint32_t warp_count, live; /* live: threads that have not exited */
    bool ended;
    const vm_code *left; /* the place where the last thread exited, in the function `left_in` */
    const vm_function *left_in;
    vm_warp *warps;
    unsigned char *shared, *local; /* host memory, each between two guard pages */
    /* `window` is the shared address of the first byte of `shared`: the first address of the window of the block's
     * rank. The kernel can access the shared addresses [shared_low, shared_reach). A shared address plus `shared_at` is
     * a host address. */
    uint64_t window, shared_low, shared_reach;
    uintptr_t shared_at;
    size_t local_taken;
    bool moved;    /* in the block's last turn a warp did more than wait */
    uint64_t held; /* bytes of host memory that count against the launch's limit: vm_hold() */
    uint64_t number;
    uint32_t next_warp;
    bool fresh;     /* no warp has run since vm_block_start() or vm_series_renew() */
    uint64_t begun; /* operations that a series has run in the turn of `next_warp` */
    /* Indexed by number: first the barriers of the block, then the number of the cluster's barrier, whose element is
     * unused, then one barrier for each warpgroup. */
    vm_barrier barriers[VM_BARRIERS + 1 + VM_WARPGROUPS];
    bool barred;                     /* a thread has arrived at one of the barriers */
    bool refused;                    /* a thread has seen that a request to cancel a cluster failed */
    struct vm_children *children;    /* for child.c; NULL until the block launches work */
    struct vm_tensor_memory *tensor; /* for tensor_memory.c; NULL until the block allocates columns */
    /* Data of the observers. */
    struct vm_trace_warp *trace;  /* one for each warp; NULL if the block is not traced */
    struct vm_check_block *check; /* NULL if the launch has no checks */
};

/* The range of device memory that an instruction accessed last. It is a cache: the next access to this range needs no
 * search. */
typedef struct vm_span {
    uint64_t base, end;
    unsigned char *host;
    bool read_only; /* kernels may read it, but not write it */
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

/* If all host threads wrote the same counter of steps, they would wait for its cache line. So each runner counts its
 * own steps, and adds them to the family's counter when it has VM_KEEP of them. Near the end of the budget, when the
 * uncounted steps of all runners could exceed it, a runner adds its steps at once. */
enum { VM_KEEP = 1 << 16, VM_RUNNERS_MOST = 512 /* host threads, and grids that wait for their children */ };

/* A launch by the host, with all grids that its kernels launch. */
typedef struct vm_family {
    atomic_ullong steps;       /* steps of all grids of the launch, which share one budget */
    uint64_t budget;           /* the most steps of the launch */
    atomic_int stop;           /* nonzero: a fault was recorded, or the launch has ended */
    atomic_int spare;          /* host threads that may still be started */
    atomic_uint grids;         /* number of grids so far, for %gridid */
    const volatile int *asked; /* `asked` and `deadline` are vm_launch.stop and vm_launch.deadline */
    uint64_t deadline;
    uint64_t hold_most; /* limit of host memory for frames and blocks' local memory: vm_hold() */
    atomic_ullong held;
    const struct vm_run_state *stuck_in; /* the grid that did not end, or NULL; `loop` is the loop in which it was */
    vm_loop loop;
    char waits[240]; /* the condition that the lanes of that loop wait for; "" if it is unknown */
    /* running: warps of that grid that had not ended; inside: the number of these warps that were in the loop */
    atomic_uint running, inside;
    pthread_mutex_t lock; /* guards the fault, printing, the counters and the grids' lists of tail launches */
    vm_fault *fault;
    vm_counters counters;
} vm_family;

/* A vote of the runners on whether they all wait in vain. `votes` counts the runners that have voted while
 * vm_run_state.moves had the value `moves`. When a runner makes progress, `moves` grows, and earlier votes no longer
 * count. */
typedef struct vm_ballot {
    uint64_t moves;
    unsigned votes;
} vm_ballot;

/* One grid. Its runners share it. */
typedef struct vm_run_state {
    vm_device *device;
    vm_family *family;
    const vm_launch *launch;
    unsigned char *params; /* the kernel's parameters, between guard pages */
    const vm_function *kernel;
    /* valid shared addresses: [shared_low, shared_gap) and [shared_dynamic, shared_end) */
    uint64_t shared_low, shared_gap, shared_dynamic, shared_end;
    /* The shared address at which the system's shared memory begins. Its VM_SYSTEM_SHARED bytes end at or before
     * `shared_reach`. The address is 0 if the module does not use this memory. */
    uint64_t shared_system;
    uint64_t shared_reach; /* kernels can access the shared addresses [shared_low, shared_reach), as on a GPU */
    uint32_t local_bytes;
    uint32_t block_threads, warps_per_block;
    uint64_t block_count;
    uint32_t cluster[3], cluster_size; /* in blocks; all are 1 in a launch without clusters */
    bool clustered;                    /* the launch asks for clusters, possibly of one block */
    uint64_t cluster_count;            /* clusters that run */
    /* The number of clusters that a host thread may hold. If all of them wait, the thread may hold more. */
    size_t resident;
    bool cooperative;
    uint32_t grid_id, depth; /* depth is 0 if the host launched the grid */
    const char *launcher;    /* name of the kernel that launched the grid, or NULL */
    struct vm_task *tails;   /* the tail launches that the grid's kernel has made */
    uint32_t tail_count;
    uint64_t workspace;           /* for cooperative launches: device address of the memory for the grid's barrier */
    const struct vm_hooks *hooks; /* NULL: no observers */
    bool serial;                  /* runs on one host thread */
    bool chosen; /* only the blocks that hooks->chosen() names run, with the other blocks of their clusters */
    /* keeps the fields above two cache lines away from the fields below, which all host threads write */
    char apart[128];
    atomic_ullong next_cluster;
    atomic_ullong moves;          /* number of turns in which a cluster did more than wait in vain */
    atomic_uint working;          /* number of runners that have not ended */
    atomic_uint holders;          /* number of host threads that have a cluster, or are taking their first cluster */
    vm_ballot waiting, repeating; /* endless.c; under the family's lock */
} vm_run_state;

enum { VM_STREAMS = 4 }; /* arrays that the compiled code of a loop prefetches, each with its own count */
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
    bool holds; /* the runner has or had a cluster */
    /* the number of rounds in which all its clusters waited in vain, and the round at which endless.c tests whether
     * they will wait for ever */
    uint64_t rounds, prove_at;
    /* for the ballots `waiting` and `repeating`: run->moves + 1 at the runner's last vote, or 0 if it has not voted */
    uint64_t waits_since, repeats_since;
    /* Steps of this runner, for %clock. */
    uint64_t clock;
    uint64_t unlooked; /* steps since vm_limit_look() last tested the launch's limits */
    uint64_t kept;     /* steps that are not yet in the family's count */
    vm_counters counters;
    bool met; /* true if the runner calls the hooks `met`, `malloced` and `outside` */
    /* The function that sees instructions before they execute, or NULL. `shown` selects them by first_tally +
     * vm_code.insn: nonzero means that the function is called. If `shown` is NULL, the function is called for every
     * instruction. */
    uint32_t (*show)(vm_warp *w, const vm_code *i, uint32_t m);
    const uint8_t *shown;
    uint32_t (*access)(vm_warp *w, const vm_code *i); /* vm_hooks.access; NULL: observers see no compiled code */
    /* the device's compiler of hot code; NULL if there is no compiler, or if the observers see no compiled code */
    struct vm_jit *jit;
    unsigned entries;           /* how often a compiled region was entered, for sampling */
    uint32_t ahead[VM_STREAMS]; /* the compiled code's counts of lines that it has prefetched */
    vm_warp *series_last;       /* results of vm_native.series */
    uint64_t series_issued;
    unsigned series_entered; /* warps in series that vm_native.entered does not count yet */
    /* The members from here on are data of the observers. `tally` has the runner's counts by instruction, which are
     * added to the launch's counts when the runner ends. It is NULL if the launch is not counted. */
    struct vm_tally *tally;
    kiln_counters *sites; /* the runner's counts by access and branch */
    const uint32_t *site_of;
    const bool *joined; /* indexed by site */
    char apart[128];    /* keeps the next runner two cache lines away, because another host thread writes it */
};

/* An allocation of device memory. The device owns it; the list `live` holds it until it is freed. */
typedef struct vm_allocation {
    vm_device *home;
    uint64_t base, bytes;
    uint64_t reach; /* bytes that kernels can access, including the rest of its last granule */
    unsigned char *host;
    void *raw; /* `taken` bytes from the device's `guards`; NULL if the device does not own the memory */
    uint64_t taken;
    /* name of a module variable, in the module's arena; NULL for other memory, such as vm_alloc()'s */
    const char *name;
    char *label;      /* the name that the host gave it, for messages, or NULL */
    const char *role; /* purpose, such as "an input", stored in the label's memory */
    bool constant;    /* a .const variable, which kernels must not write */
    bool read_only;   /* global memory that kernels may not write */
    bool shared;      /* the host shares the memory and may write it at any time; `base` is the host's pointer */
    /* If it is not NULL, the allocation is a part of a multicast object. Only multimem instructions access it, and
     * `host` is not set. */
    const struct vm_team *team;
    uint64_t team_offset; /* the offset of that part in the object */
    bool outside;         /* another process may write it */
    uint64_t mapped;      /* bytes of `file` that are mapped at `host`; 0 if the memory is not in a file */
    int file;
    /* bytes of address space at `host` whose pages take memory when they are first written; 0 if the memory is at
     * `raw` */
    uint64_t reserved;
    uint64_t counted; /* bytes that count as device memory */
    uint64_t heap;    /* bytes that count in the heap of kernels' malloc() */
    bool from_kernel; /* a kernel has allocated it, and kernels may free it */
    uint64_t owner;   /* for the driver, see vm_info */
    bool internal;    /* memory of the simulator itself, which is never reported as leaked */
    /* True for a filler, which is no allocation: memory between the allocations of a page that a kernel has accessed
     * (vm_limits.page). */
    bool filler;
    uint32_t open;              /* bit n is set by vm_open() if the device number n may use the allocation */
    struct vm_shadow *shadow;   /* shadow memory, made by the device's hooks; may be NULL */
    uint64_t freed;             /* the generation at which it was freed */
    struct vm_allocation *next; /* the next one in the graveyard */
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
    vm_guards guards;     /* free host memory for allocations and blocks */
    vm_allocation **live; /* sorted by address */
    size_t live_count, live_capacity;
    /* A queue of allocations that were freed while kernels run. Generations rise, so the allocations that no runner
     * uses any more are at its head, and vm_bury() examines only these. last_buried is the end of the queue, if the
     * queue is not empty. */
    vm_allocation *graveyard, *last_buried;
    struct {
        uint64_t base, bytes;
    } freed[64]; /* the last freed allocations: vm_fill() never fills them, and messages name them */
    unsigned freed_next;
    uint64_t next_address, used;
    uint64_t heap; /* bytes of `used` from kernels' malloc() */
    bool heap_used;
    /* the descriptor, plus 1, of a file with VM_PERIOD bytes of VM_POISON; 0 until the file is made */
    int poison;
    const struct vm_hooks *hooks; /* the observer that shadows its memory, or NULL */
    struct vm_check *check;       /* data of that observer */
    struct vm_jit *jit;           /* the compiler of hot code; NULL if the device interprets all code */
    vm_object **objects;          /* indexed by bits 8 to 31 of the handle; changes only while nothing runs */
    size_t object_count, object_capacity;
    vm_runner *runners;       /* runners of the current launches */
    atomic_ullong generation; /* incremented when an allocation is freed */
    /* the next members belong to the group, and its lock guards them */
    vm_device *next;
    /* place is the device's own bit, or 0 if no bit was free. peers has the bits of the devices whose memory this
     * device may use. */
    uint64_t place, peers;
};

/* How one argument or result of a call is passed. */
typedef struct vm_transfer {
    uint32_t from, bytes; /* offset and size among a lane's .param variables */
    uint32_t slot;        /* the slot of the register, if is_register is true */
    bool is_register, wide;
} vm_transfer;
/* A call instruction: where its arguments and results are. */
typedef struct vm_call {
    const vm_function *callee; /* NULL if the call is indirect */
    uint32_t argument_count, result_count;
    const vm_transfer *arguments, *results;
    /* the number of a function that the simulator provides, from vm_builtin_find(); 0 if the callee is a function of
     * the module */
    uint32_t builtin;
} vm_call;

/* A decoded function. Its module's arena owns it. */
struct vm_function {
    const ptx_function *ptx;
    const vm_module *module;
    vm_code *code;
    uint32_t code_count;
    /* start[k] is the index in `code` of the first operation of the PTX instruction k. It has insn_count + 1
     * entries. */
    uint32_t *start;
    uint32_t *reg_slot;
    unsigned char *constants;
    uint32_t constant_bytes, reg_bytes;
    uint32_t local_bytes;
    bool has_homes;         /* some parameters are in local memory, because the function takes their address */
    uint64_t closure_local; /* local bytes of this function and of all functions that it may call */
    uint64_t static_shared; /* only for kernels: bytes of shared variables, from vm_shared_low() on */
    bool uses_dynamic, recursive;
    size_t first_tally;           /* index of the function's first instruction among all instructions of the module */
    uint32_t temp_base, sink;     /* slots for intermediate values of the decoder (decode.c) */
    uint32_t window;              /* slot of a register with vm_block.window in all lanes, which frame.c writes */
    struct vm_compiled *compiled; /* vm_jit.h */
};

/* A decoded module. */
struct vm_module {
    vm_device *device;
    ptx_module *ptx;
    kiln__arena arena;
    vm_function *functions;
    struct vm_named_kernel *kernels; /* the kernels, by name */
    uint32_t kernel_count;
    /* Indexed by symbol: the device address of a global or constant variable, the offset of a shared variable in the
     * block's shared memory, or the offset of a local variable in its frame. */
    uint64_t *address;
    bool *home;              /* indexed by symbol: true for a parameter that is in local memory, at `address` */
    vm_allocation **storage; /* indexed by symbol; NULL if the symbol has no storage */
    uint32_t *managed;       /* the symbols of the managed variables */
    uint32_t managed_count;
    uint64_t dynamic_base;   /* start of dynamic shared memory in every kernel */
    bool uses_system_shared; /* the module reads %reserved_smem_offset_1, so it uses the system's shared memory */
    uint64_t const_bytes;
    uint32_t cache_count;
    size_t tally_count;              /* number of instructions of all functions */
    vm_allocation *error_texts;      /* vm_runtime_texts() */
    struct vm_check_code *check;     /* data of the observers */
    const struct vm_handlers *table; /* the handlers of its instructions */
    void *host_code;                 /* data of the compiler of hot code, or NULL */
};
/* Sorts the kernels by name for vm_module_kernel(). Returns false if memory runs out. */
bool vm_module_name_kernels(vm_module *module);

/* ---- operands ---- */
static inline unsigned char *vm_at(const vm_warp *w, uint32_t slot) { return w->base[slot & 1] + (slot & ~1u); }
/* Returns the row of an operand in a frame, which need not be the frame of the running path. */
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
/* Counts the bits of a mask. Most masks are full, so this case comes first. For other masks a compiler may call a
 * slow library function, so the code here counts the bits itself. */
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
 * printing a long text. Such work does not count as instructions. If it is large, the path yields, so that the budget
 * is tested soon. */
static inline void vm_charge(vm_warp *w, uint64_t steps)
{
    w->charge += steps;
    if (steps >= 16)
        w->event |= VM_EVENT_SWITCH;
}

/* The size of the system's part of shared memory, in which cooperative groups keep barriers and scratch. On a GPU it
 * is at lower addresses than the kernel's own shared memory. In the simulator it is at higher addresses, so that an
 * access below the kernel's memory stays a fault. Its bytes are zero when a block begins. */
enum { VM_SYSTEM_SHARED = 1024 };
/* Returns the first shared address that a kernel may use. Since compute capability 9.0 the system has the first KiB
 * of a block's shared memory (tests/conformance: an H200's addresses begin at 0x400). */
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
