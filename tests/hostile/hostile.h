/* hostile.h - valid PTX with hostile operands for the simulated device. README.md says how the parts work together.
 *
 * Terms: a *kernel* executes one instruction form in a loop. A *set* is one value for each operand of the instruction;
 * the kernel reads the sets from a table in memory. An *execution* is one warp that executes the instruction once with
 * one set. A *world* is a device with allocations of all kinds, and the memory that no kernel may change. */
#ifndef KILN_TESTS_HOSTILE_H
#define KILN_TESTS_HOSTILE_H

#include "vm_jit.h"

/* ---- choices: first the bytes of a fuzzer, then numbers of a generator ---- */

typedef struct hostile_source {
    uint64_t state;
    const uint8_t *data;
    size_t left;
} hostile_source;

uint64_t hostile_next(hostile_source *s);
uint32_t hostile_below(hostile_source *s, uint32_t limit); /* 0 to limit - 1 */
bool hostile_chance(hostile_source *s, uint32_t percent);

/* ---- cases ---- */

/* The kind of value that an operand takes: a letter in cases.def and in hostile_operand.kind.
 *   g generic address   G global address   s shared offset   l local offset   c constant address   p offset of a parameter
 *   S shared memory and B an mbarrier by their generic addresses                                    R rank of a block
 *   b mbarrier          m tensor map       z size in bytes   v any value      r mask of blocks     k mask of lanes
 *   n barrier number    w matrix descriptor of wgmma         t field of a tensor map               x coordinate
 *   h texture or surface handle            q predicate       f format of printf                    e stack pointer
 *   y stride of a matrix                   d dimension of a launch                                 o handle of a stream
 *   a argument list of printf              i parameters of a copy of three dimensions              X coordinate, a float
 *   T address of tensor memory              C number of its columns            D I Z descriptors of tcgen05.mma
 *   j function                             u buffer of a launch's parameters                        M memory by malloc()
 *   W address of a multicast object */
typedef struct hostile_case {
    const char *addresses,
        *values; /* kinds of the address operands, and of the other operands, in order; the last kind repeats */
    unsigned flags;
} hostile_case;
enum {
    HOSTILE_UNIFORM = 1,   /* all lanes must have the same operands */
    HOSTILE_WARPGROUP = 2, /* blocks of 128 threads */
    HOSTILE_WHOLE = 4,     /* all lanes must execute the instruction */
    HOSTILE_CLUSTER = 8,   /* mostly in clusters of several blocks */
    HOSTILE_SPECIAL = 16   /* calls.c writes the instruction, not the form */
};

const hostile_case *hostile_case_of(ptx_op op); /* NULL if cases.def has no row */
/* Returns true if the instruction reaches memory, a barrier, the stack or a function of the device, by its row in
 * ops.def. */
bool hostile_touches(ptx_op op);
unsigned hostile_form_count(ptx_op op);
const char *hostile_form(ptx_op op, unsigned form); /* the text of the form in ops.def */

/* A function that the device defines: a row of functions.def. */
typedef struct hostile_function {
    const char *name, *parameters; /* sizes of the parameters, as in VM_RUNTIME_MAP */
    const char *kinds;             /* one letter for each parameter */
    unsigned result;               /* bytes */
} hostile_function;
unsigned hostile_function_count(void);
const hostile_function *hostile_function_at(unsigned index);
/* Describes the instructions and functions that cases.def and functions.def lack. Returns false if both are
 * complete. */
bool hostile_missing(kiln__text *out);

/* ---- kernels ---- */

enum { HOSTILE_OPERANDS = 24, HOSTILE_MAP_WORDS = 16, HOSTILE_RESULTS = 4, HOSTILE_RING = 64 };
typedef struct hostile_operand {
    char kind;
    uint8_t bytes; /* bytes of the register that takes the operand */
} hostile_operand;

typedef struct hostile_kernel {
    ptx_op op;
    unsigned form, function;
    kiln__text text;
    const hostile_case *kind;
    hostile_operand operands[HOSTILE_OPERANDS];
    unsigned operand_count;
    unsigned threads, cluster, rank; /* `rank` is the rank of the tensor, or 0 if the instruction has no tensor map */
    const char *geometry;            /* the geometry of the texture or surface as a suffix, or NULL for any geometry */
    vm_im2col mode;                  /* of the tensor map */
    bool rows_listed;                /* the instruction names four rows of a tensor */
    // `frame`: the set has a format and an argument list. `buffer`: %buffer has the parameters of a launch. `heap`:
    // %buffer is memory by malloc(), which the kernel frees and uses again.
    bool frame, buffer, heap;
    bool pair;       /* two blocks of a cluster compute a product together */
    unsigned blocks; /* blocks of the grid, if there are no clusters; several blocks run on several host threads */
    int cc;
} hostile_kernel;

/* Writes a kernel around a random choice of the form. Returns false if this choice cannot be written. */
bool hostile_kernel_make(hostile_source *s, ptx_op op, unsigned form, unsigned function, hostile_kernel *kernel);
size_t hostile_set_words(const hostile_kernel *kernel); /* words of a set in the table */

/* Write the instruction itself, which is a part of the kernel that kernel.c writes. They add its operands to
 * `kernel`. */
bool hostile_write_form(hostile_source *s, hostile_kernel *kernel, kiln__text *code, unsigned *results);
void hostile_write_call(hostile_source *s, hostile_kernel *kernel, kiln__text *code, kiln__text *declarations);
unsigned hostile_add_operand(hostile_kernel *kernel, char kind, unsigned bytes); /* returns the number of the operand */

/* ---- worlds ---- */

enum { HOSTILE_POINTS = 256, HOSTILE_SETS = 256, HOSTILE_BARS = 4, HOSTILE_SHARED = 8192, HOSTILE_PARAMS = 256 };
typedef enum hostile_engine { HOSTILE_INTERPRETER, HOSTILE_JIT, HOSTILE_CHECKS, HOSTILE_ENGINES } hostile_engine;

/* Memory that must not change. */
typedef struct hostile_guard {
    const char *name;
    unsigned char *memory, *copy;
    size_t bytes;
} hostile_guard;

typedef struct hostile_world {
    vm_device *device, *other;
    vm_group group;
    bool grouped, allowed, heap; /* `heap`: an address of 1 stands for memory of malloc() */
    struct vm_check *check;
    uint64_t targets[8], target_bytes[8], freed, results, progress, maps, list, list_bytes;
    unsigned target_count;
    uint64_t table; /* the table of sets, which kernels only read */
    uint64_t *sets; /* the host's copy of the table */
    size_t table_words;
    uint64_t points[HOSTILE_POINTS]; /* the first address and the end of each piece of memory and of each window */
    unsigned point_count;
    hostile_guard guards[64];
    unsigned guard_count;
    unsigned char *arena; /* mapped host memory, parts of which belong to the guest */
    size_t arena_bytes;
    void *storage, *linear;
    vm_team team; /* a multicast object of two devices, at the address `team_address` */
    vm_replica replicas[2];
    uint64_t team_address;
    void *team_storage;
    uint64_t handles[16];
    vm_image images[16];
    unsigned handle_count;
} hostile_world;

bool hostile_world_open(hostile_source *s, hostile_world *world, const hostile_kernel *kernel, hostile_engine engine,
                        size_t table_words);
void hostile_world_close(hostile_world *world);
bool hostile_guard_add(hostile_world *world, const char *name, unsigned char *memory, size_t bytes);
void hostile_guard_module(hostile_world *world, const vm_module *module); /* its constants */
/* Compares all guards. Returns false if a guard has changed; `out` then says what changed. */
bool hostile_world_check(const hostile_world *world, kiln__text *out);
/* Looks for host addresses in the guest's memory. If a word looks like a host address, and `seed` is not NULL, the seed
 * runs again in a process whose memory lies elsewhere. If the word is the same there, it is guest data. `out` names the
 * words of both kinds. Returns true if a host address is left, or if no other process could decide. */
bool hostile_has_host_address(const hostile_world *world, const uint64_t *seed, kiln__text *out);
/* The other process calls hostile_displace() and hostile_show(). The first one allocates this many blocks of each size,
 * so that the heap gives later blocks other addresses. The second one writes the words of the guest's memory to the
 * file, and returns false if it cannot. */
void hostile_displace(unsigned blocks);
// like mmap(), but in the other process the mapping has another distance from all other mappings
void *hostile_map(size_t bytes);
bool hostile_show(const hostile_world *world, int file);
/* Writes a host address, or guest data that looks like one, to the guest's memory. Returns false if there is no such
 * kind. */
bool hostile_plant(hostile_world *world, const char *kind);
/* Fills one set. */
void hostile_set_make(hostile_source *s, const hostile_world *world, const hostile_kernel *kernel, uint64_t *set);
/* Writes a format of printf, with its terminating zero, to `out`. */
void hostile_format_make(hostile_source *s, char *out, size_t size);

/* ---- runs ---- */

typedef struct hostile_count {
    uint64_t executions, launches, faults, modules, refused;
} hostile_count;
typedef struct hostile_counts { /* shared by all processes of a run */
    hostile_count ops[PTX_OP_COUNT];
    hostile_count functions[64];
    hostile_count calls; /* the counts of driver calls */
    uint64_t engines[HOSTILE_ENGINES];
} hostile_counts;

typedef struct hostile_wish { /* what a run does */
    ptx_op op;                /* PTX_OP_COUNT: any */
    unsigned function;        /* UINT32_MAX: any */
    int form;                 /* -1: any */
    hostile_engine engine;
    unsigned often; /* the number of hits after which the checks take their short way; 0 means the usual number */
    unsigned sets;
    bool verbose;
    const uint64_t *seed; /* NULL if no other process can run the same seed again */
    int show;             /* a file descriptor that gets the words of the guest's memory, or 0 */
    const char *plant;    /* the kind of word to plant, or NULL */
} hostile_wish;

/* The handlers are numbered: the instructions with a case, then the functions. hostile_handler_count() returns their
 * number, and the second function sets wish->op and wish->function. */
unsigned hostile_handler_count(void);
void hostile_handler_at(unsigned index, hostile_wish *wish);
/* Runs one kernel in one world with `wish->sets` sets. Returns false if a guard has changed; the report is on standard
 * error. */
bool hostile_run(hostile_source *s, const hostile_wish *wish, hostile_counts *counts);
/* Makes a round of driver calls with hostile arguments. Returns false after a message if host memory beside the buffers
 * has changed, or if the calls could not be made. */
bool hostile_calls(hostile_source *s, unsigned calls, hostile_counts *counts);
/* Writes to standard error which instruction is being executed. A crash handler calls it. */
void hostile_describe(void);

#endif
