/* vm.h - the interface of the interpreter: device memory, module images, and kernels, which are executed warp by
 * warp. sim/driver/objects and sim/driver/work implement the CUDA Driver API with it.
 *
 * Device memory is separate from the host's: a device address is a number in the device's own 64-bit space and not a
 * host pointer, except for memory that both share explicitly (vm_alloc_host, vm_adopt). Every access of a kernel is
 * checked against the allocation that contains it. */
#ifndef KILN_SIM_VM_H
#define KILN_SIM_VM_H

#include <pthread.h>

#include "ptx.h"

/* Windows of the generic address space. Global allocations lie in [VM_GLOBAL_BASE, VM_GLOBAL_END). Memory that device
 * and host share is different: its device address is its host address, which is outside these windows or in a part of
 * the global window that the device does not use yet. */
/* generic address of shared offset 0; 16 windows of 16 MiB begin here, one for each block of a cluster */
#define VM_SHARED_BASE 0x0100000000ull
#define VM_LOCAL_BASE 0x0200000000ull /* 4 GiB window */
#define VM_CONST_BASE 0x0400000000ull
#define VM_PARAM_BASE 0x0500000000ull
#define VM_GLOBAL_BASE 0x7000000000ull
#define VM_GLOBAL_END 0x700000000000ull

typedef struct vm_device vm_device; /* one address space; thread-safe */
typedef struct vm_module vm_module;

/* The address spaces of a process with several devices. No two devices share an address, so that each address has
 * one meaning. A kernel can use memory that another device shares with the host. It can also use the memory of a
 * device to which its own device has access (vm_allow). */
typedef struct vm_group {
    pthread_rwlock_t lock;
    vm_device *first;
} vm_group;

struct vm_resources;
typedef struct vm_limits {
    uint64_t memory;           /* total bytes of global memory */
    uint64_t shared_per_block; /* bytes, including the opt-in part */
    unsigned threads;          /* host threads that a launch may use; 0 means one per core */
    uint64_t step_budget;      /* steps that a launch may take (README.md, Limits); 0 means 2^40 */
    uint32_t local_bytes;      /* limit of the local memory of a thread; 0 means 512 KiB, as on a GPU */
    /* Size of a page in bytes, a power of two. Kernels can access the whole page around an allocation, as on a GPU. If
     * it is 0, kernels can access only an allocation and the rest of its last granule. A device whose memory is
     * shadowed by checks behaves as if this were 0. */
    uint64_t page;
    bool zeroed;      /* new global memory is zero, as in a fresh process on a GPU */
    int sm_count, cc; /* sm_count: the value of %nsmid; cc: the compute capability, such as 90 */
    /* Answers queries of kernels (cudaDeviceGetAttribute, cudaOccupancyMaxActiveBlocksPerMultiprocessor) with the
     * driver's data. If a function is NULL, the kernel's query returns an error. */
    bool (*attribute)(const void *user, int attribute, int *value);
    bool (*occupancy)(const void *user, const struct vm_resources *kernel, int threads, uint64_t shared, int *blocks);
    const void *user;
    vm_group *group;                     /* NULL if the process has one device */
    unsigned number;                     /* number of the device in the group, below VM_DEVICES_MOST */
    uint64_t first_address, end_address; /* the device's part of the global window; both 0 mean the whole window */
} vm_limits;
enum { VM_DEVICES_MOST = 16 };

vm_device *vm_device_new(const kiln_allocator *mem, const vm_limits *limits);
void vm_device_free(vm_device *device);
/* Allows or forbids kernels of `device` to use the memory of `other`. No kernel may run on either device. */
void vm_allow(vm_device *device, const vm_device *other, bool may);
bool vm_allowed(const vm_device *device, const vm_device *other);
/* Sets which devices of the group may use the allocation at `address` without vm_allow(). Bit n of `numbers` stands
 * for the device with the number n. */
void vm_open(vm_device *device, uint64_t address, uint32_t numbers);
void vm_open_owned(vm_device *device, uint64_t owner, uint32_t numbers); /* opens all allocations of this owner */

/* Global memory. Addresses are 512-byte aligned (more for large ones), with a red zone between allocations. New
 * memory is filled with a poison pattern (0xA5...), unless vm_limits.zeroed is set. Returns 0 on failure. */
uint64_t vm_alloc(vm_device *device, uint64_t bytes);
bool vm_free(vm_device *device, uint64_t address); /* returns false if no live allocation begins at the address */
/* Allocates memory that kernels access by the host's own pointer. The memory is zero. If `counts` is set, it counts
 * as device memory. Returns NULL on failure. */
void *vm_alloc_host(vm_device *device, uint64_t bytes, bool counts);
/* Makes memory of the caller an allocation at `address`. The address is the host pointer itself, or is within a range
 * from vm_reserve(). The memory must stay valid until vm_free(). Returns false if memory runs out, or if the addresses
 * are in use. */
bool vm_adopt(vm_device *device, uint64_t address, void *host, uint64_t bytes, bool read_only);
/* Memory that a device of a team has bound to a part of a multicast object. */
typedef struct vm_replica {
    uint32_t member;        /* index of the device in the team */
    uint64_t offset, bytes; /* the part of the object that this memory is bound to */
    unsigned char *host;
    uint64_t alias; /* for observers: an address of the same memory for ordinary accesses, or 0 if none is known */
    uint64_t from;  /* for the driver: offset in the bound memory */
} vm_replica;
enum { VM_TEAM_MOST = 16 };
/* The devices that share a multicast object, and the memory that they have bound. The driver owns it, and changes it
 * only while no kernel runs. */
typedef struct vm_team {
    uint32_t count, number[VM_TEAM_MOST]; /* the devices of the team, by their numbers (vm_limits.number) */
    vm_replica *replicas;
    size_t replica_count;
} vm_team;
/* Maps the part of a multicast object that begins at `offset` to the addresses [address, address + bytes). They must be
 * within a range from vm_reserve(). Only multimem instructions can access such memory. vm_free() removes the mapping.
 * Returns false if memory runs out, or if the addresses are in use. */
bool vm_adopt_team(vm_device *device, uint64_t address, const vm_team *team, uint64_t offset, uint64_t bytes,
                   bool read_only);
/* Fills a large allocation, from its start, with the `period` bytes of `pattern`, repeated. A page takes memory only
 * after the first write to it, so an allocation takes little memory if little of it is used. `period` must be a
 * multiple of 4096. Returns false if the allocation does not take memory page by page, or if memory runs out; then
 * the content is undefined. No kernel may run on the device. */
bool vm_repeat(vm_device *device, uint64_t address, uint64_t bytes, const void *pattern, uint64_t period);
/* An allocation by vm_alloc() of this size or more takes host memory page by page, when a page is first written. If the
 * memory is zeroed or shadowed by checks, it takes all its memory at once. */
#define VM_RESERVED ((uint64_t)64 << 20)
#define VM_PERIOD ((uint64_t)16 << 20) /* the period in bytes of the content of fresh pages */
/* Reserves addresses for vm_alloc_at() and vm_adopt(). No other allocation gets them. Returns 0 on failure. */
uint64_t vm_reserve(vm_device *device, uint64_t bytes, uint64_t align);
/* Skips all addresses below `address` in the device's own range: no later allocation gets them. */
void vm_pass(vm_device *device, uint64_t address);
bool vm_alloc_at(vm_device *device, uint64_t address, uint64_t bytes);
/* Moves the memory of an allocation into a file without a name, and returns its descriptor. The device closes the
 * file when the allocation is freed. If the memory is already in a file, returns that file. Returns -1 if this is
 * impossible, or if memory runs out. No kernel may run on the device. */
int vm_share_memory(vm_device *device, uint64_t address);
/* The seals of files that hold memory: no process can shorten a file that another process has mapped. */
#define VM_FILE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
/* Makes a file of `bytes` bytes for device memory, with these seals, and returns its descriptor, which the caller
 * closes. Returns -1 if there is no memory, or if the file would be longer than vm_file_most(). */
int vm_file_new(const char *name, uint64_t bytes);
uint64_t vm_file_most(void); /* returns RLIMIT_FSIZE in bytes; a longer file would end the process by a signal */
/* Marks an allocation that another process may write at any time. */
void vm_set_outside(vm_device *device, uint64_t address);
/* Raises the device's limit of global memory to `bytes`. The limit may be larger than the host's memory, as long as
 * kernels use only a part of it. */
void vm_enlarge(vm_device *device, uint64_t bytes);
/* Counts `bytes` of memory that the caller has allocated itself as used device memory, until the caller calls
 * vm_give(). Returns false if the device has not so much left. */
bool vm_take(vm_device *device, uint64_t bytes);
void vm_give(vm_device *device, uint64_t bytes);
/* Returns the host pointer to [address, address + bytes), for writes by the driver. The range must lie in one
 * allocation, or in several without a gap, and not in memory that the program has registered as read-only; otherwise
 * returns NULL. The pointer is valid until one of these allocations is freed. */
void *vm_pointer(vm_device *device, uint64_t address, uint64_t bytes);
/* Returns a host pointer for reading only. The checks treat memory from vm_pointer() as written, and memory from this
 * function as unchanged. */
const void *vm_pointer_read(vm_device *device, uint64_t address, uint64_t bytes);
bool vm_range(vm_device *device, uint64_t address, uint64_t *base, uint64_t *bytes);
typedef struct vm_info {
    uint64_t base, bytes;
    uint64_t owner; /* the value from vm_set_owner(); 0 before that call */
    bool variable;  /* the allocation is a variable of a module */
    bool shared;    /* host and device share the memory; `base` is the host's pointer */
} vm_info;
bool vm_about(vm_device *device, uint64_t address, vm_info *info);
/* Finds the device's first managed variable at or above the address. Call the function again with a greater address
 * for the next variable. Returns false if no further variable exists. */
bool vm_managed_variable(vm_device *device, uint64_t address, vm_info *info);
/* Returns true if the range overlaps an allocation. */
bool vm_overlaps(vm_device *device, uint64_t address, uint64_t bytes);
void vm_set_owner(vm_device *device, uint64_t address, uint64_t owner);
/* Marks an allocation of the driver itself, which is never reported as leaked. */
void vm_set_internal(vm_device *device, uint64_t address);
/* Gives the allocation [address, address + bytes) a name and a purpose ("an input") for messages. Copies both texts.
 * NULL removes the name. Returns false if there is no such allocation, or if memory runs out. */
bool vm_set_label(vm_device *device, uint64_t address, uint64_t bytes, const char *name, const char *role);
uint64_t vm_memory_used(const vm_device *device);
bool vm_heap_used(vm_device *device); /* returns true if a kernel has called malloc() */

/* The content of a tensor map (CUtensorMap, 128 bytes) in the memory of kernels. Kernels can write any bytes there, so
 * each use checks the members. */
typedef struct vm_tensor_map {
    uint32_t mark; /* VM_TENSOR_MAP */
    /* `type` has the values of cuda.h. `swizzle` is 0, or means a swizzle of 16 << swizzle bytes, or is
     * VM_SWIZZLE_ATOM32. If `fill` is not 0, elements outside the tensor are NaN. */
    uint8_t rank, type, swizzle, fill;
    uint64_t address;
    uint64_t stride[4];      /* bytes; stride[k] belongs to dimension k + 1 */
    uint32_t last[5];        /* the greatest coordinate of each dimension */
    uint16_t box[5];         /* elements */
    uint8_t step[5], im2col; /* im2col: a vm_im2col; if it is not 0, the members below hold instead of `box` */
    int16_t lower[3], upper[3];
    uint16_t channels, pixels;
} vm_tensor_map;
/* The modes of a map: tiled, im2col, and im2col along the dimension W only (im2col::w, im2col::w::128). */
typedef enum vm_im2col { VM_TILED, VM_IM2COL, VM_IM2COL_W, VM_IM2COL_W128 } vm_im2col;
enum { VM_TENSOR_MAP = 0x70616d74, VM_TENSOR_TYPES = 16, VM_TENSOR_BYTES = 128, VM_TENSOR_RANK = 5 };
/* swizzles of 128 bytes: the first moves pieces of 16 bytes, the second pieces of 32 bytes */
enum { VM_SWIZZLE_128 = 3, VM_SWIZZLE_ATOM32 };
_Static_assert(sizeof(vm_tensor_map) <= VM_TENSOR_BYTES, "a tensor map fits where it is kept");

/* Textures and surfaces. Kernels refer to a texture or surface by a handle that the caller chose. Bits 8 to 31 of the
 * handle are the index in a table, so this index must be small. A handle is never reused, so that a use of a destroyed
 * object is recognised. Textures, surfaces and their memory may only change while no kernel runs on the device. */
typedef enum vm_format { VM_U8, VM_U16, VM_U32, VM_S8, VM_S16, VM_S32, VM_F16, VM_F32, VM_FORMATS } vm_format;
typedef enum vm_edge { VM_EDGE_WRAP, VM_EDGE_CLAMP, VM_EDGE_MIRROR, VM_EDGE_BORDER } vm_edge; /* like CUaddress_mode */
enum { VM_LEVELS_MAX = 18 }; /* largest number of levels of a mipmap: a side has at most 2^17 texels */
typedef struct vm_level {
    uint32_t size[3]; /* texels; 1 in unused dimensions */
    /* in bytes: the offset of the level, the pitch of its rows, the size of a layer or plane */
    uint64_t offset, pitch, slice;
} vm_level;
typedef struct vm_image { /* texels in memory */
    /* memory of an array; NULL if the texels are in device memory at `address`, linear or with a pitch */
    unsigned char *host;
    uint64_t address;
    vm_format format;
    unsigned channels, dims; /* channels: 1, 2 or 4; dims: 1, 2 or 3 */
    uint32_t layers;         /* 0 if the image is not layered; a cubemap has six layers for each cube */
    bool cube, surface;      /* surface: kernels may load from the array and store to it */
    unsigned level_count;
    vm_level levels[VM_LEVELS_MAX];
} vm_image;
typedef struct vm_texture {
    vm_image image;
    bool surface, stale; /* stale: the array of the texture was destroyed */
    /* integer: integers of 8 and 16 bits are not read as fractions */
    bool linear, mip_linear, normalized, integer, srgb, seamless;
    vm_edge edge[3];
    float bias, least, most, border[4]; /* bias, least and most are for the level of detail */
} vm_texture;
unsigned vm_format_bytes(vm_format format);
/* returns true if the texture reads floats, or integers as fractions */
bool vm_format_is_float(const vm_texture *texture);
/* copies `what`; returns false if memory runs out */
bool vm_texture_add(vm_device *device, uint64_t handle, const vm_texture *what);
void vm_texture_remove(vm_device *device, uint64_t handle);
void vm_texture_lose(vm_device *device, uint64_t handle); /* makes the handle stale */
/* Allocates memory for an array. It counts as device memory, but has no device address. */
void *vm_storage_new(vm_device *device, uint64_t bytes);
void vm_storage_free(vm_device *device, void *storage, uint64_t bytes);

/* Decodes a parsed module and lays out its global variables. Takes ownership of `ptx`, also on failure. Writes failures
 * to `log`. */
ptx_result decode_module_load(vm_device *device, ptx_module *ptx, vm_module **module, kiln__text *log);
/* Loads a module that is already loaded on another device of the group. The module uses the managed variables of
 * `twin`. */
ptx_result decode_module_load_beside(vm_device *device, ptx_module *ptx, const vm_module *twin, vm_module **module,
                                     kiln__text *log);
void vm_module_unload(vm_device *device, vm_module *module);
/* Gives the managed variables of a module to `heir`, another module that uses some of them too. Call it before the
 * module is unloaded; otherwise the variables are freed. */
void vm_module_give(vm_module *module, vm_module *heir);
/* Returns the device address and the size of a .global or .const variable. Returns false if the module has no such
 * variable. */
bool vm_module_global(const vm_module *module, const char *name, uint64_t *address, uint64_t *bytes);
const ptx_module *vm_module_ptx(const vm_module *module);
bool vm_is_builtin(const char *function); /* returns true for a function that modules may call without defining it */
/* Returns the index of a kernel (.entry) in ptx->functions, or -1. */
int vm_module_kernel(const vm_module *module, const char *name);
/* The resources of a kernel, as far as PTX gives them. */
typedef struct vm_resources {
    uint64_t static_shared, local_bytes, const_bytes, param_bytes;
    uint32_t max_threads;       /* the limit from directives, otherwise 1024 */
    uint32_t register_estimate; /* an estimate from the live ranges of the PTX registers */
    int32_t tensor_columns;     /* see ptx_tensor_columns() */
} vm_resources;
void vm_kernel_resources(const vm_module *module, int kernel, vm_resources *resources);

typedef enum vm_fault_kind {
    VM_OK,
    VM_FAULT_ADDRESS,
    VM_FAULT_MISALIGNED,
    VM_FAULT_INSTRUCTION,
    VM_FAULT_ASSERT,
    VM_FAULT_TRAP,
    VM_FAULT_STEPS,    /* the step budget is used up, so the kernel may be endless */
    VM_FAULT_DEADLOCK, /* all threads wait, for example at a barrier that can never complete */
    VM_FAULT_STACK,
    VM_FAULT_MEMORY,
    /* the flag vm_launch.stop was set */
    VM_FAULT_STOPPED,
    VM_FAULT_TIME /* the deadline has passed */
} vm_fault_kind;

/* The rules of tensor memory that a fault can break. ptxas checks them too (-g-tensor-memory-access-check). */
typedef enum vm_tensor_rule {
    VM_RULE_NONE,
    VM_RULE_PHASE,       /* the block allocates after it has given up its right to allocate */
    VM_RULE_COLUMNS,     /* the columns are not allocated */
    VM_RULE_OWNER,       /* the warp accesses lanes of tensor memory that belong to other warps of its warpgroup */
    VM_RULE_BOUNDS,      /* there are no such lanes or columns */
    VM_RULE_SIZE,        /* an allocation cannot have this number of columns */
    VM_RULE_ALIGNMENT,   /* an access cannot begin at this lane */
    VM_RULE_SPARSE_FLAG, /* the instruction is sparse and its descriptor is dense, or the reverse */
    VM_RULE_SPARSE_USE   /* the instruction has no sparse form for these operands */
} vm_tensor_rule;

typedef struct vm_fault {
    vm_fault_kind kind;
    vm_tensor_rule rule; /* VM_RULE_NONE if the fault is not about tensor memory */
    uint32_t block[3], thread[3];
    uint64_t address;
    uint32_t bytes;
    uint32_t ptx_line, file_line; /* 0 if the line is not known */
    char file[256], kernel[256];
    char message[512]; /* one sentence: the error, its place, and the allocation */
} vm_fault;

/* The number of values of cudaLimit on which kernels depend. The values are 0 to 4: cudaLimitStackSize, PrintfFifoSize,
 * MallocHeapSize, DevRuntimeSyncDepth, DevRuntimePendingLaunchCount. */
#define VM_LIMITS 5u
#define VM_LATE ((uint64_t)1 << 63)
typedef struct vm_launch {
    const vm_module *module;
    int kernel;
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* blocks of a cluster; 0 if the kernel's directives give the size */
    uint64_t dynamic_shared;
    const void *params; /* the kernel's parameter block, of param_bytes bytes */
    bool cooperative;   /* all blocks are resident together */
    /* The order in which clusters start: 0 is ascending, 1 is descending, and any other value is the seed of a shuffle.
     * With VM_LATE the turns of clusters have different lengths. */
    uint64_t order;
    const volatile int *stop; /* NULL, or a flag: when it becomes nonzero, the launch ends with VM_FAULT_STOPPED */
    /* The time of kiln__now_ns() at which the launch ends with VM_FAULT_TIME, or 0 for no deadline. `stop` and
     * `deadline` also end the grids that the launch's kernels launch. */
    uint64_t deadline;
    /* NULL, or the steps that the launch may still take, besides the device's budget. The launch subtracts the steps
     * that it took. If they or the device's budget are used up, it ends with VM_FAULT_STEPS, and no steps are left. */
    uint64_t *steps_left;
    const struct vm_hooks *hooks; /* the observers (vm_hooks.h), or NULL */
    struct vm_watch *watch;       /* the observers' data for this launch */
    const size_t *limits;         /* the VM_LIMITS limits for kernels, by cudaLimit, or NULL */
    /* Called with the output of vprintf(). If it is NULL, the output goes to stdout. */
    void (*print)(void *user, const char *text, size_t length);
    void *user;
} vm_launch;

/* Counts of a launch. Two runs of the same launch give the same counts, unless blocks on several host threads wait for
 * each other in loops. */
typedef struct vm_counters {
    uint64_t warp_instructions, lane_instructions;
    uint64_t blocks, warps;
} vm_counters;

/* Runs the launch to its end. Uses the calling thread, and more host threads if the limits allow it. Returns VM_OK or
 * the first fault. */
vm_fault_kind vm_run(vm_device *device, const vm_launch *launch, vm_counters *counters, vm_fault *fault);
#endif
