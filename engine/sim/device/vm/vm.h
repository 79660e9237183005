/* vm.h - the interface of the interpreter: device memory, module images, and kernels, which the interpreter executes
 * warp by warp. sim/driver/objects and sim/driver/work implement the CUDA Driver API with this interface.
 *
 * Device memory is separate from the host's memory. A device address is a number in the device's own 64-bit space and
 * not a host pointer, except for memory that the host and the device share explicitly (vm_alloc_host, vm_adopt). Every
 * access of a kernel is checked against the allocation that contains it. */
#ifndef KILN_SIM_VM_H
#define KILN_SIM_VM_H

#include <pthread.h>

#include "ptx.h"

/* The windows of the generic address space. Global allocations lie in [VM_GLOBAL_BASE, VM_GLOBAL_END). The device
 * address of memory that device and host share is its host address. This address is outside these windows, or in a part
 * of the global window that the device does not use yet. */
/* generic address of shared offset 0; 16 windows of 16 MiB begin at this address, one for each block of a cluster */
#define VM_SHARED_BASE 0x0100000000ull
#define VM_LOCAL_BASE 0x0200000000ull /* 4 GiB window */
#define VM_CONST_BASE 0x0400000000ull
#define VM_PARAM_BASE 0x0500000000ull
#define VM_GLOBAL_BASE 0x7000000000ull
#define VM_GLOBAL_END 0x700000000000ull

typedef struct vm_device vm_device; /* one address space of a device; thread-safe */
typedef struct vm_module vm_module;

/* The address spaces of a process with several devices. No two devices share an address, so that each address has one
 * meaning. A kernel can use memory that another device shares with the host. A kernel can also use the memory of
 * another device, if its own device has access to that device (vm_allow). */
typedef struct vm_group {
    pthread_rwlock_t lock;
    vm_device *first;
} vm_group;

struct vm_resources;
typedef struct vm_limits {
    uint64_t memory;           /* total bytes of global memory */
    uint64_t shared_per_block; /* bytes of shared memory of a block, including the opt-in part */
    unsigned threads;          /* host threads that a launch may use; 0 means one per core */
    uint64_t step_budget;      /* steps that a launch may take (README.md, Limits); 0 means 2^40 */
    uint32_t local_bytes;      /* limit of the local memory of a thread; 0 means 512 KiB, as on a GPU */
    /* The size of a page in bytes, a power of two. Kernels can access the whole page around an allocation, as on a GPU.
     * If the size is 0, kernels can access only an allocation and the rest of its last granule. A device whose memory
     * is shadowed by checks behaves as if the size were 0. */
    uint64_t page;
    bool zeroed;      /* new global memory is zero, as in a fresh process on a GPU */
    int sm_count, cc; /* sm_count: the value of %nsmid; cc: the compute capability, such as 90 for 9.0 */
    /* These functions answer queries of kernels (cudaDeviceGetAttribute, cudaOccupancyMaxActiveBlocksPerMultiprocessor)
     * with the driver's data. If a function is NULL, the query returns an error to the kernel. */
    bool (*attribute)(const void *user, int attribute, int *value);
    bool (*occupancy)(const void *user, const struct vm_resources *kernel, int threads, uint64_t shared, int *blocks);
    const void *user;
    vm_group *group; /* NULL if the process has one device */
    unsigned number; /* number of the device in the group, below VM_DEVICES_MOST */
    /* the device's part of the global window; if both are 0, the device has the whole window */
    uint64_t first_address, end_address;
} vm_limits;
enum { VM_DEVICES_MOST = 16 };

vm_device *vm_device_new(const kiln_allocator *mem, const vm_limits *limits);
void vm_device_free(vm_device *device);
/* Allows or forbids kernels of `device` to use the memory of `other`. No kernel may run on either device during the
 * call. */
void vm_allow(vm_device *device, const vm_device *other, bool may);
bool vm_allowed(const vm_device *device, const vm_device *other);
/* Sets which devices of the group may use the allocation at `address` without vm_allow(). Bit n of `numbers` stands for
 * the device with number n. */
void vm_open(vm_device *device, uint64_t address, uint32_t numbers);
/* does the same as vm_open() for all allocations of this owner */
void vm_open_owned(vm_device *device, uint64_t owner, uint32_t numbers);

/* Allocates global memory. Addresses are multiples of 512 bytes (of more for large allocations), with a red zone
 * between two allocations. New memory is filled with a poison pattern (0xA5...), unless vm_limits.zeroed is set.
 * Returns 0 on failure. */
uint64_t vm_alloc(vm_device *device, uint64_t bytes);
bool vm_free(vm_device *device, uint64_t address); /* returns false if no live allocation begins at the address */
/* Allocates memory that kernels access by the host's own pointer. The memory is zero at first. If `counts` is set, the
 * memory counts as device memory. Returns NULL on failure. */
void *vm_alloc_host(vm_device *device, uint64_t bytes, bool counts);
/* Makes memory of the caller an allocation at `address`. The address is the host pointer itself, or lies within a range
 * from vm_reserve(). The memory must stay valid until vm_free(). Returns false if memory runs out, or if the addresses
 * are in use. */
bool vm_adopt(vm_device *device, uint64_t address, void *host, uint64_t bytes, bool read_only);
/* Memory that a device of a team has bound to a part of a multicast object. */
typedef struct vm_replica {
    uint32_t member;        /* index of the device in its team */
    uint64_t offset, bytes; /* the part of the multicast object that this memory is bound to */
    unsigned char *host;
    /* for observers: an address through which ordinary accesses reach the same memory, or 0 if none is known */
    uint64_t alias;
    uint64_t from; /* for the driver: offset in the memory that the device has bound */
} vm_replica;
enum { VM_TEAM_MOST = 16 };
/* The devices that share a multicast object, and the memory that they have bound. The driver owns the team, and changes
 * it only while no kernel runs. */
typedef struct vm_team {
    uint32_t count, number[VM_TEAM_MOST]; /* the devices of the team by their numbers (vm_limits.number) */
    vm_replica *replicas;
    size_t replica_count;
} vm_team;
/* Maps the part of a multicast object that begins at `offset` to the addresses [address, address + bytes). These
 * addresses must lie within a range from vm_reserve(). Only multimem instructions can access such memory. vm_free()
 * removes the mapping. Returns false if memory runs out, or if the addresses are in use. */
bool vm_adopt_team(vm_device *device, uint64_t address, const vm_team *team, uint64_t offset, uint64_t bytes,
                   bool read_only);
/* Fills a large allocation, from its start, with the `period` bytes of `pattern`, repeated. A page takes memory only
 * after the first write to it. So an allocation whose pages are mostly unused takes little memory. `period` must be a
 * multiple of 4096. Returns false if the allocation does not take memory page by page, or if memory runs out. In this
 * case the content is undefined. No kernel may run on the device during the call. */
bool vm_repeat(vm_device *device, uint64_t address, uint64_t bytes, const void *pattern, uint64_t period);
/* An allocation by vm_alloc() of at least this size takes host memory page by page. A page takes its memory when it is
 * first written. Memory that is zeroed, or shadowed by checks, takes all its host memory at once. */
#define VM_RESERVED ((uint64_t)64 << 20)
#define VM_PERIOD ((uint64_t)16 << 20) /* the period in bytes of the content of fresh pages */
/* Reserves addresses for vm_alloc_at() and vm_adopt(). No other allocation gets these addresses. Returns 0 on
 * failure. */
uint64_t vm_reserve(vm_device *device, uint64_t bytes, uint64_t align);
/* Skips all addresses below `address` in the device's own range: no later allocation gets them. */
void vm_pass(vm_device *device, uint64_t address);
bool vm_alloc_at(vm_device *device, uint64_t address, uint64_t bytes);
/* Moves the memory of an allocation into a file without a name, and returns its descriptor. The device closes the file
 * when the allocation is freed. If the memory is already in a file, the function returns the descriptor of this file.
 * Returns -1 if the move is impossible, or if memory runs out. No kernel may run on the device during the call. */
int vm_share_memory(vm_device *device, uint64_t address);
/* The seals of files that hold device memory. With these seals no process can shorten a file that another process has
 * mapped. */
#define VM_FILE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
/* Makes a file of `bytes` bytes for device memory, with the seals VM_FILE_SEALS. Returns its descriptor, which the
 * caller closes. Returns -1 if memory runs out, or if the file would be longer than vm_file_most(). */
int vm_file_new(const char *name, uint64_t bytes);
/* returns RLIMIT_FSIZE in bytes; a write beyond this limit would end the process by a signal */
uint64_t vm_file_most(void);
/* Marks an allocation that another process may write at any time. */
void vm_set_outside(vm_device *device, uint64_t address);
/* Raises the device's limit of global memory to `bytes`. The limit may be larger than the host's memory, as long as
 * kernels use only a part of it. */
void vm_enlarge(vm_device *device, uint64_t bytes);
/* Counts `bytes` of memory that the caller has allocated itself as used device memory. The count ends when the caller
 * calls vm_give(). Returns false if less than `bytes` of device memory is left. */
bool vm_take(vm_device *device, uint64_t bytes);
void vm_give(vm_device *device, uint64_t bytes);
/* Returns the host pointer to [address, address + bytes), for writes by the driver. The range must lie in one
 * allocation, or in several allocations without a gap. No part of it may be memory that the program has registered as
 * read-only. Otherwise the function returns NULL. The pointer is valid until one of these allocations is freed. */
void *vm_pointer(vm_device *device, uint64_t address, uint64_t bytes);
/* Returns a host pointer to [address, address + bytes), for reading only. The checks treat memory from vm_pointer() as
 * written. They treat memory from vm_pointer_read() as unchanged. */
const void *vm_pointer_read(vm_device *device, uint64_t address, uint64_t bytes);
bool vm_range(vm_device *device, uint64_t address, uint64_t *base, uint64_t *bytes);
typedef struct vm_info {
    uint64_t base, bytes;
    uint64_t owner; /* the value from vm_set_owner(), or 0 before a call of that function */
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
/* Marks an allocation as memory of the driver itself. The checks never report such memory as leaked. */
void vm_set_internal(vm_device *device, uint64_t address);
/* Gives the allocation [address, address + bytes) a name and a purpose ("an input") for messages. Copies both texts. If
 * `name` is NULL, removes the name. Returns false if there is no such allocation, or if memory runs out. */
bool vm_set_label(vm_device *device, uint64_t address, uint64_t bytes, const char *name, const char *role);
uint64_t vm_memory_used(const vm_device *device);
bool vm_heap_used(vm_device *device); /* returns true if a kernel has called malloc() */

/* The content of a tensor map (CUtensorMap, 128 bytes) in the memory of kernels. Kernels can write any bytes there, so
 * each use of a map checks the members. */
typedef struct vm_tensor_map {
    uint32_t mark; /* VM_TENSOR_MAP */
    /* `type` has the values of CUtensorMapDataType in cuda.h. `swizzle` is 0, or means a swizzle of 16 << swizzle
     * bytes, or is VM_SWIZZLE_ATOM32. If `fill` is not 0, elements outside the tensor are read as NaN. */
    uint8_t rank, type, swizzle, fill;
    uint64_t address;
    uint64_t stride[4];      /* in bytes; stride[k] belongs to dimension k + 1 */
    uint32_t last[5];        /* the greatest coordinate of each dimension */
    uint16_t box[5];         /* elements */
    uint8_t step[5], im2col; /* im2col is a vm_im2col; if it is not 0, the members below hold instead of `box` */
    int16_t lower[3], upper[3];
    uint16_t channels, pixels;
} vm_tensor_map;
/* The modes of a tensor map: tiled, im2col, and im2col along the dimension W only (im2col::w, im2col::w::128). */
typedef enum vm_im2col { VM_TILED, VM_IM2COL, VM_IM2COL_W, VM_IM2COL_W128 } vm_im2col;
enum { VM_TENSOR_MAP = 0x70616d74, VM_TENSOR_TYPES = 16, VM_TENSOR_BYTES = 128, VM_TENSOR_RANK = 5 };
/* The swizzles of 128 bytes. VM_SWIZZLE_128 moves pieces of 16 bytes, and VM_SWIZZLE_ATOM32 moves pieces of 32
 * bytes. */
enum { VM_SWIZZLE_128 = 3, VM_SWIZZLE_ATOM32 };
_Static_assert(sizeof(vm_tensor_map) <= VM_TENSOR_BYTES, "a tensor map fits where it is kept");

/* Textures and surfaces. Kernels refer to a texture or surface by a handle that the caller chose. Bits 8 to 31 of the
 * handle are the index in a table, so the caller must choose small indices. The caller never uses a handle twice, so
 * that a use of a destroyed object is recognised. Textures, surfaces and their memory may change only while no kernel
 * runs on the device. */
typedef enum vm_format { VM_U8, VM_U16, VM_U32, VM_S8, VM_S16, VM_S32, VM_F16, VM_F32, VM_FORMATS } vm_format;
typedef enum vm_edge { VM_EDGE_WRAP, VM_EDGE_CLAMP, VM_EDGE_MIRROR, VM_EDGE_BORDER } vm_edge; /* like CUaddress_mode */
enum { VM_LEVELS_MAX = 18 }; /* largest number of levels of a mipmap, because a side has at most 2^17 texels */
typedef struct vm_level {
    uint32_t size[3]; /* the size in texels; 1 in unused dimensions */
    /* in bytes: the offset of the level, the pitch of its rows, and the size of a layer or plane */
    uint64_t offset, pitch, slice;
} vm_level;
typedef struct vm_image { /* texels in memory */
    /* The memory of an array. It is NULL if the texels are in device memory at `address`, linear or with a pitch. */
    unsigned char *host;
    uint64_t address;
    vm_format format;
    unsigned channels, dims; /* channels: 1, 2 or 4; dims: 1, 2 or 3 */
    uint32_t layers;         /* 0 if the image is not layered; a cubemap has six layers for each cube */
    bool cube, surface;      /* surface: kernels may load from the array and store to it by surface instructions */
    unsigned level_count;
    vm_level levels[VM_LEVELS_MAX];
} vm_image;
typedef struct vm_texture {
    vm_image image;
    bool surface, stale; /* stale: the array of the texture was destroyed */
    /* integer: integers of 8 and 16 bits are read as integers, not as fractions */
    bool linear, mip_linear, normalized, integer, srgb, seamless;
    vm_edge edge[3];
    float bias, least, most, border[4]; /* bias, least and most apply to the level of detail */
} vm_texture;
unsigned vm_format_bytes(vm_format format);
/* returns true if the texture returns floats: its texels are floats, or integers that are read as fractions */
bool vm_format_is_float(const vm_texture *texture);
/* adds a copy of `what` to the table; returns false if memory runs out */
bool vm_texture_add(vm_device *device, uint64_t handle, const vm_texture *what);
void vm_texture_remove(vm_device *device, uint64_t handle);
void vm_texture_lose(vm_device *device, uint64_t handle); /* makes the handle stale, because its object was destroyed */
/* Allocates memory for an array. The memory counts as device memory, but has no device address. */
void *vm_storage_new(vm_device *device, uint64_t bytes);
void vm_storage_free(vm_device *device, void *storage, uint64_t bytes);

/* Decodes a parsed module and lays out its global variables. Takes ownership of `ptx`, even if the function fails.
 * Writes failures to `log`. */
ptx_result decode_module_load(vm_device *device, ptx_module *ptx, vm_module **module, kiln__text *log);
/* Loads a module that is already loaded on another device of the group. The module uses the managed variables of
 * `twin`. */
ptx_result decode_module_load_beside(vm_device *device, ptx_module *ptx, const vm_module *twin, vm_module **module,
                                     kiln__text *log);
void vm_module_unload(vm_device *device, vm_module *module);
/* Gives the managed variables of a module to `heir`, another module that uses some of these variables too. Call the
 * function before the module is unloaded. Otherwise the variables are freed with the module. */
void vm_module_give(vm_module *module, vm_module *heir);
/* Returns the device address and the size of a .global or .const variable. Returns false if the module has no such
 * variable. */
bool vm_module_global(const vm_module *module, const char *name, uint64_t *address, uint64_t *bytes);
const ptx_module *vm_module_ptx(const vm_module *module);
/* returns true for the name of a function that modules may call without defining it */
bool vm_is_builtin(const char *function);
/* Returns the index of a kernel (.entry) in ptx->functions, or -1 if the module has no such kernel. */
int vm_module_kernel(const vm_module *module, const char *name);
/* The resources of a kernel, as far as the PTX determines them. */
typedef struct vm_resources {
    uint64_t static_shared, local_bytes, const_bytes, param_bytes;
    uint32_t max_threads;       /* the limit of threads of a block from directives, or 1024 without a directive */
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
    /* the host has set the flag vm_launch.stop */
    VM_FAULT_STOPPED,
    VM_FAULT_TIME /* the deadline of the launch has passed */
} vm_fault_kind;

/* The rules of tensor memory that a kernel can break. A fault names the broken rule. ptxas can add checks for these
 * rules too (-g-tensor-memory-access-check). */
typedef enum vm_tensor_rule {
    VM_RULE_NONE,
    VM_RULE_PHASE,     /* the block allocates after it has given up its right to allocate */
    VM_RULE_COLUMNS,   /* the columns are not part of an allocation */
    VM_RULE_OWNER,     /* the warp accesses lanes of tensor memory that belong to other warps of its warpgroup */
    VM_RULE_BOUNDS,    /* the access is to lanes or columns that do not exist */
    VM_RULE_SIZE,      /* an allocation cannot have this number of columns */
    VM_RULE_ALIGNMENT, /* an access cannot begin at this lane */
    /* the instruction is sparse and its descriptor is dense, or the instruction is dense and its descriptor is
     * sparse */
    VM_RULE_SPARSE_FLAG,
    VM_RULE_SPARSE_USE /* the instruction has no sparse form for these operands */
} vm_tensor_rule;

typedef struct vm_fault {
    vm_fault_kind kind;
    vm_tensor_rule rule; /* VM_RULE_NONE if the fault has nothing to do with tensor memory */
    uint32_t block[3], thread[3];
    uint64_t address;
    uint32_t bytes;
    uint32_t ptx_line, file_line; /* 0 if the line is not known */
    char file[256], kernel[256];
    char message[512]; /* one sentence that names the error, its place, and the allocation */
} vm_fault;

/* The number of limits (cudaLimit) on which kernels depend. The limits have the numbers 0 to 4: cudaLimitStackSize,
 * PrintfFifoSize, MallocHeapSize, DevRuntimeSyncDepth, DevRuntimePendingLaunchCount. */
#define VM_LIMITS 5u
#define VM_LATE ((uint64_t)1 << 63)
typedef struct vm_launch {
    const vm_module *module;
    int kernel;
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* blocks of a cluster in each dimension; 0 if the kernel's directives give the size */
    uint64_t dynamic_shared;
    const void *params; /* the kernel's parameter block, of param_bytes bytes */
    bool cooperative;   /* all blocks of the grid are resident together */
    /* The order in which clusters start: 0 is ascending, 1 is descending, and any other value is the seed of a shuffle.
     * If VM_LATE is set, the turns of clusters have different lengths. */
    uint64_t order;
    /* NULL, or a flag of the host: when it becomes nonzero, the launch ends with VM_FAULT_STOPPED */
    const volatile int *stop;
    /* The time by kiln__now_ns() at which the launch ends with VM_FAULT_TIME, or 0 for no deadline. `stop` and
     * `deadline` also end the grids that the launch's kernels launch. */
    uint64_t deadline;
    /* NULL, or the number of steps that the launch may still take, besides the device's budget. The launch subtracts
     * the steps that it has taken from *steps_left. If these steps or the steps of the device's budget are used up, the
     * launch ends with VM_FAULT_STEPS, and *steps_left is 0. */
    uint64_t *steps_left;
    const struct vm_hooks *hooks; /* the observers of the launch (vm_hooks.h), or NULL */
    struct vm_watch *watch;       /* the observers' data for this launch */
    const size_t *limits;         /* the VM_LIMITS limits for kernels, indexed by cudaLimit, or NULL */
    /* The interpreter calls this function with the output of vprintf(). If the function is NULL, the output goes to
     * stdout. */
    void (*print)(void *user, const char *text, size_t length);
    void *user;
} vm_launch;

/* Counts of a launch. Two runs of the same launch give the same counts, unless blocks on several host threads wait for
 * each other in loops. */
typedef struct vm_counters {
    uint64_t warp_instructions, lane_instructions;
    uint64_t blocks, warps;
} vm_counters;

/* Runs the launch to its end. Uses the calling thread, and further host threads if the limits allow them. Returns VM_OK
 * or the first fault. */
vm_fault_kind vm_run(vm_device *device, const vm_launch *launch, vm_counters *counters, vm_fault *fault);
#endif
