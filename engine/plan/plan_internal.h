/* plan_internal.h - declarations that the files of plan/ share. */
#ifndef KILN_PLAN_INTERNAL_H
#define KILN_PLAN_INTERNAL_H

#include "plan.h"
#include "signature.h"

/* ---- shared.c: contents that are made once and used by the plans of a sweep ----
 *
 * Every plan has such an object: the sweep's, or its own. Entries are found by a key of everything that determines
 * their content. So any plan of the sweep can use an entry that another plan made. */
typedef struct kiln__plan_entry {
    struct kiln__plan_entry *next;
    char *key;
    /* the exports of an input, the content of a buffer (one array), or the outputs of a reference */
    kiln__export *values;
    CUdeviceptr device; /* a copy of a buffer's content that no kernel accesses; 0: none */
    uint64_t device_bytes;
    kiln__unit unit; /* the memory of `values` that are read from disk */
    double seconds;  /* for an input the time of its host function; for a device copy the time of copying */
} kiln__plan_entry;
/* answer.c: the kernels that compare answers, and the word in which they tell what they found. */
typedef struct kiln__comparer {
    CUmodule module; /* NULL: not loaded yet */
    CUfunction wide, bytes;
    CUdeviceptr found;
} kiln__comparer;
/* count.c: the kernel that compares elements of one type with a reference. */
typedef struct kiln__counter {
    CUmodule module; /* NULL: not loaded yet, or refused */
    CUfunction function;
    bool refused;
} kiln__counter;
typedef struct kiln__device_block {
    CUdeviceptr pointer;
    uint64_t bytes;
} kiln__device_block;
struct kiln__shared {
    kiln_engine *engine;
    const kiln_allocator *mem;
    bool sweep; /* it belongs to a sweep: it keeps contents and device memory */
    kiln__plan_entry *entries;
    kiln__device_block *spare; /* device memory that plans have given back */
    size_t spare_count, spare_capacity;
    CUdeviceptr flush; /* memory larger than the L2 cache, which is written between repetitions */
    uint64_t flush_bytes;
    kiln__comparer comparer;
    kiln__counter counters[KILN_TYPE_COUNT];
    CUdeviceptr counted;  /* where they write; 0: not allocated yet */
    uint64_t count_least; /* bytes of an output that the device compares; 0: the default */
    void *staging;        /* host memory into which outputs are read, one after the other */
    uint64_t staging_bytes;
    void (*on_launch)(void *user); /* may be NULL */
    void *on_launch_user;
    void (*on_wait)(void *user, const char *why); /* may be NULL */
    void *on_wait_user;
    bool (*on_ask)(void *user); /* called while a run waits for another process: true ends the run. May be NULL */
    void *on_ask_user;
    void (*on_keep)(void *user, const kiln__kept_reference *kept); /* may be NULL */
    void *on_keep_user;
};
kiln__plan_entry *kiln__shared_find(kiln__shared *shared, const char *key);
/* Takes ownership of `values`, also on failure. */
kiln_status kiln__shared_add(kiln__shared *shared, const char *key, kiln__export *values, kiln__plan_entry **entry,
                             kiln_error **error);
/* Frees the entries whose key begins with `prefix`. */
void kiln__shared_drop(kiln__shared *shared, const char *prefix);
/* Allocates device memory. A sweep keeps it for the next plan. The context must be current. */
kiln_status kiln__shared_alloc(kiln__shared *shared, uint64_t bytes, const char *what, CUdeviceptr *pointer,
                               kiln_error **error);
void kiln__shared_release(kiln__shared *shared, CUdeviceptr pointer, uint64_t bytes);
/* Returns host memory for `bytes`, valid until the next call; NULL: out of memory. The memory is kept, because the
 * first access to new pages takes longer than the copy. */
void *kiln__shared_staging(kiln__shared *shared, uint64_t bytes);
void kiln__shared_drop_device(kiln__shared *shared); /* copies and spare memory */
/* takes ownership of `array` */
kiln__export *kiln__export_of(const kiln_allocator *mem, const char *name, const kiln_array *array);

/* ---- the plan ---- */

/* The attributes of a launch besides its geometry. */
typedef struct kiln__launch_attributes {
    unsigned cluster[3]; /* valid if clustered */
    kiln__scheduling scheduling;
    int policy, priority, carveout; /* policy: the driver's value for `scheduling`. carveout -1: not given */
    bool clustered, cooperative, overlap, prioritised;
    bool any; /* an attribute that cuLaunchKernel() and cuLaunchCooperativeKernel() cannot express */
} kiln__launch_attributes;

typedef struct kiln__plan_kernel {
    const char *name; /* the name after its template was filled */
    CUfunction function;
    kiln__signature signature;
    uint64_t static_shared, dynamic_limit; /* dynamic_limit: the value set with cuFuncSetAttribute(); 0: never set */
    int max_threads;
    bool known; /* the geometry below is set */
    unsigned grid[3], block[3], dynamic_shared;
    kiln__launch_attributes attributes;
    kiln_kernel_info info; /* the last result of kiln_plan_kernel() */
} kiln__plan_kernel;

typedef struct kiln__plan_input {
    const kiln__input *input;
    kiln__plan_entry *entry; /* NULL until it is made */
    bool making;
} kiln__plan_input;

/* The owner of a buffer's memory. */
typedef enum kiln__owner { KILN__OWNER_NONE, KILN__OWNER_PLAN, KILN__OWNER_CALLER } kiln__owner;
typedef struct kiln__plan_buffer {
    const kiln__buffer *buffer;
    kiln_type type;
    int dims;
    uint64_t shape[KILN_MAX_DIMS];
    uint64_t bytes, elements;
    kiln__owner owner;
    CUdeviceptr pointer; /* 0 if the buffer has no bytes */
    bool filled;         /* it has its initial content, or the result of a run */
    bool custom;         /* the caller gave the content: it bound or wrote the buffer */
    const char *file;    /* file of --input, which replaces the fill during a run */
    char *key;           /* key of its initial content; NULL until computed */
    double copied;       /* seconds of copying its content from the host */
} kiln__plan_buffer;

typedef enum kiln__plan_op_kind { KILN__OP_LAUNCH, KILN__OP_SET, KILN__OP_COPY } kiln__plan_op_kind;
typedef struct kiln__plan_op {
    kiln__plan_op_kind kind;
    union {
        struct {
            CUfunction function;
            unsigned grid[3], block[3], shared;
            kiln__launch_attributes attributes;
            void **args;
        } launch;
        struct {
            CUdeviceptr to;
            uint32_t pattern;
            unsigned width;
            uint64_t count;
        } set;
        struct {
            CUdeviceptr to, from;
            uint64_t bytes;
        } copy;
    } as;
    const kiln__step *step;
    const kiln__plan_kernel *kernel;
} kiln__plan_op;

/* The steps after evaluation: the driver operations of a launch, without expressions. */
typedef struct kiln__program {
    kiln__arena arena; /* memory of the arguments */
    kiln__plan_op *ops;
    size_t count, capacity;
    bool ready, swaps;
    unsigned *final; /* the buffers that the names refer to afterwards, if it swaps; in the plan's arena */
} kiln__program;

/* ---- limit.c: the time limit of kernels, and the caller's request to stop ---- */
typedef enum kiln__late { KILN__IN_TIME, KILN__LATE, KILN__STOPPED } kiln__late;
typedef struct kiln__limit {
    bool on, usual;           /* on: between start and end. usual: the caller gave no time */
    bool first;               /* the first run of the steps: any of them may hang */
    double seconds;           /* 0: no limit */
    uint64_t begun, deadline; /* 0: none */
    const volatile int *stop; /* the caller's flag; NULL: none */
    kiln__late late;          /* the reason why waiting ended */
} kiln__limit;

/* A list of pointers in device memory that is never written again. */
typedef struct kiln__pointers {
    CUdeviceptr device, *items;
    size_t count;
} kiln__pointers;

/* ---- texture.c ---- */
/* Everything that determines a texture object. All members have one type, so there are no gaps and bytes can be
 * compared. */
typedef struct kiln__texture_key {
    uint64_t address, pitch;          /* pitch: bytes from one row to the next */
    uint64_t dims, extent[3];         /* in texels, the innermost first, layers last; 1 for missing dimensions */
    uint64_t format, channels, texel; /* texel: its size in bytes */
    uint64_t array, layered;          /* true or false */
    uint64_t linear, flags, edge[3];  /* flags and edges: the driver's values */
} kiln__texture_key;
enum { KILN__TEXTURE_STEPS = 1, KILN__TEXTURE_BEFORE = 2 };
typedef struct kiln__plan_texture {
    kiln__texture_key key;
    CUtexObject object;
    CUarray array;   /* NULL: the texture reads the buffer's own memory */
    bool filled;     /* the array has the buffer's content */
    unsigned needed; /* users as KILN__TEXTURE_... bits; 0: it can be destroyed */
} kiln__plan_texture;
/* Returns the texture object of an argument that begins at `address`. Equal keys share one object. */
kiln_status kiln__texture_make(kiln_plan *plan, const kiln__argument *arg, const kiln__plan_kernel *kernel,
                               size_t number, const kiln__scope *scope, CUdeviceptr address, uint64_t *object,
                               kiln_error **error);
void kiln__textures_stale(kiln_plan *plan); /* call it when the buffers may have another content */
/* Copies buffers into arrays whose content is out of date, in the stream. */
kiln_status kiln__textures_fill(kiln_plan *plan, CUstream stream, kiln_error **error);
/* Call these before and after the steps `of` are evaluated. The second call destroys the texture objects that the steps
 * no longer use. */
void kiln__textures_begin(kiln_plan *plan, unsigned of);
kiln_status kiln__textures_end(kiln_plan *plan, kiln_error **error);
void kiln__textures_free(kiln_plan *plan); /* frees all; the context must be current */

/* Work of the host in runs of the steps; before_each does not count. */
typedef struct kiln__host_work {
    uint64_t runs, rounds; /* rounds: number of rounds of `while` steps */
    double seconds;        /* time in `host` steps */
} kiln__host_work;

struct kiln_plan {
    kiln_result result; /* result of the last run */
    kiln_engine *engine;
    const kiln_allocator *mem;
    const kiln_spec *spec;
    const kiln__variant *variant;
    kiln__config *config;
    kiln__code code;
    CUmodule module;
    kiln__arena arena;   /* memory of kernels, inputs, buffers, slots */
    kiln__scope scope;   /* names of exports, and lets that use them, above the configuration's scope */
    kiln_error *pending; /* the error of a failed look-up in that scope */
    unsigned lookups;    /* nesting depth of look-ups */
    kiln__plan_kernel *kernels;
    size_t kernel_count;
    unsigned unit;              /* KILN_UNIT_...: the unit whose peak bounds the arithmetic */
    kiln__plan_input *inputs;   /* variant->input_count */
    kiln__plan_buffer *buffers; /* variant->buffer_count */
    unsigned *slots;            /* for each name the number of the buffer that it refers to now */
    kiln__program steps, before;
    bool laid_out; /* shapes are known */
    bool ready;    /* every buffer has memory and its initial content */
    bool dynamic;  /* the steps cannot be evaluated in advance */
    bool before_dynamic;
    bool whole;       /* set by kiln__plan_whole() */
    bool sparse;      /* only a few blocks will run: large buffers need not be filled completely */
    uint64_t *values; /* arguments of a launch that is evaluated during the run */
    void **pointers;
    kiln__pointers *lists; /* lists of pointers on the device, to which arguments point */
    size_t list_count, list_capacity;
    kiln__plan_texture *textures;
    size_t texture_count, texture_capacity;
    unsigned texture_use;       /* KILN__TEXTURE_... of the steps that are being evaluated */
    kiln__shared *shared, *own; /* own: the object of this plan alone */
    double *times;              /* times of the last run's repetitions, in order */
    size_t time_count;
    kiln__limit limit;
    kiln__host_work work; /* work since the last run began */
    kiln__answer_use answer_use;
    unsigned answer_run; /* the number of the last of several runs whose answers are compared; 0: the first */
    /* the next launch is captured into this folder; NULL: only if the engine's settings request it */
    char *capture_folder;
    char *captured; /* the folder of the last capture */
    /* plans of references that are variants, opened ahead. The list, and each element, is NULL if not opened */
    kiln_plan **others;
};

/* Makes the process give up its rights, if this engine's kernels must run in a sandbox (run.c). */
kiln_status kiln__plan_sandbox(kiln_plan *plan, const kiln_run_options *options, kiln_error **error);

/* Sets the limit of a run from its options. The time counts from kiln__limit_start(), which may be called again, to
 * kiln__limit_end(). The launching thread calls both. */
kiln_status kiln__limit_set(kiln_plan *plan, const kiln_run_options *options, kiln_error **error);
void kiln__limit_start(kiln_plan *plan);
void kiln__limit_extend(kiln_plan *plan, double seconds); /* extends the default limit, but not a given one */
void kiln__limit_end(kiln_plan *plan);
kiln__late kiln__limit_late(const kiln_plan *plan);
kiln_status kiln__limit_check(kiln_plan *plan, kiln_error **error);
/* Like cuEventSynchronize() and similar functions. CUDA_ERROR_TIMEOUT: the limit is reached; on a GPU the engine is
 * `stuck` from then on. */
CUresult kiln__limit_wait_event(kiln_plan *plan, CUevent event);
CUresult kiln__limit_wait_stream(kiln_plan *plan, CUstream stream);
CUresult kiln__limit_wait_all(kiln_plan *plan);
/* Like kiln__driver_fail(), but with KILN_ERROR_TIMEOUT or KILN_ERROR_INTERRUPTED if that was the cause. */
kiln_status kiln__limit_fail(kiln_plan *plan, CUresult result, kiln_error **error, const char *what, ...)
    KILN__PRINTF(4, 5);

/* ---- layout.c: inputs, shapes, memory, contents ---- */
kiln_status kiln__plan_layout(kiln_plan *plan, kiln_error **error);   /* makes inputs and computes shapes */
kiln_status kiln__plan_allocate(kiln_plan *plan, kiln_error **error); /* also allocates memory */
/* also fills buffers; again: even if they are filled */
kiln_status kiln__plan_fill(kiln_plan *plan, bool again, kiln_error **error);
/* poisons outputs and scratch without a fill */
kiln_status kiln__plan_poison(kiln_plan *plan, kiln_error **error);
/* Gives every buffer that a run may change its initial content again. */
kiln_status kiln__plan_refill(kiln_plan *plan, kiln_error **error);
void kiln__plan_forget(kiln_plan *plan);                             /* drops shapes, programs and keys */
void kiln__plan_release(kiln_plan *plan, kiln__plan_buffer *buffer); /* gives the buffer's memory back */
/* for messages of the simulator */
void kiln__plan_name_memory(const kiln_plan *plan, const kiln__plan_buffer *buffer, bool on);
kiln_status kiln__plan_input_make(kiln_plan *plan, kiln__plan_input *input, kiln_error **error);
/* sets plan->scope, in which a look-up of an input's name makes the input */
void kiln__plan_set_scope(kiln_plan *plan);
/* makes the tables of inputs, buffers and arguments (plan.c). False: no memory */
bool kiln__plan_make_tables(kiln_plan *plan);
kiln__plan_buffer *kiln__plan_buffer_find(const kiln_plan *plan, const char *name); /* NULL: there is no such buffer */
/* Returns the buffer to which a name refers after swaps. */
kiln__plan_buffer *kiln__plan_buffer_named(const kiln_plan *plan, const char *name);
kiln_status kiln__plan_no_buffer(const kiln_plan *plan, const char *name, kiln_error **error);
/* Returns the initial content as a host array, from an entry or an input. If *temporary is set, the caller must free
 * it. */
kiln_status kiln__plan_content(kiln_plan *plan, kiln__plan_buffer *buffer, kiln_array *array, bool *temporary,
                               kiln_error **error);
kiln_status kiln__plan_download(kiln_plan *plan, const kiln__plan_buffer *buffer, kiln_array *array,
                                kiln_error **error);
/* Finds the entry of a .npy file, under the rules of trust. The file is `file` as given to a run. If that is NULL, it
 * is the file that the spec names (with `path`, if that is not NULL). */
kiln_status kiln__plan_file(kiln_plan *plan, const char *file, const char *named, const kiln__template *path,
                            kiln__plan_entry **entry, kiln_error **error);
/* Finishes the diag of an evaluation. If a look-up failed, its own error is reported. */
kiln_status kiln__plan_diag(kiln_plan *plan, kiln__diag *diag, kiln_status status, kiln_error **error);
/* Makes an error with a position in the spec. */
kiln_status kiln__plan_fail_at(kiln_plan *plan, kiln_error **error, kiln_status status, kiln__pos pos,
                               const char *format, ...) KILN__PRINTF(5, 6);

/* ---- answers that prove little (weak.c) ---- */

/* Whether every element is the same; false for a few elements. */
bool kiln__weak_answer(const kiln_array *want);
/* Sets *weak if the spec has inputs and all of them are zero. */
kiln_status kiln__weak_inputs(kiln_plan *plan, bool *weak, kiln_error **error);

/* ---- mistakes that are found before a run (preflight.c) ---- */

/* Fails if the engine does not allow commands. */
kiln_status kiln__command_refuse(const kiln_engine *engine, const kiln__verify *verify, kiln_error **error);
/* Fails, with the place in the spec, if the file of the expected answer is not there. */
kiln_status kiln__plan_need_file(kiln_engine *engine, const kiln__config *config, const kiln__verify *verify,
                                 kiln_error **error);

/* prints such as "f32[7, 9]" */
void kiln__plan_shape_text(kiln__text *out, kiln_type type, int dims, const uint64_t *shape);

/* ---- calls.c: the arguments of host functions ---- */
typedef struct kiln__call_args {
    kiln_plan *plan;
    kiln__arena arena;
    kiln__call_arg *args;
    size_t count, capacity;
    const char *hint; /* hint for the message about a missing argument; NULL: none */
    bool missed;      /* set by kiln__plan_call() if the function asked for a missing argument */
    bool opened;      /* the same if it asked for a file */
} kiln__call_args;
bool kiln__call_add(kiln__call_args *args, kiln__call_arg arg);
/* Adds an argument as written in a spec: a number, a text, exports. The caller handles buffers. */
kiln_status kiln__call_add_written(kiln__call_args *args, const kiln__arg *arg, const kiln__scope *scope,
                                   kiln_error **error);
bool kiln__call_add_exports(kiln__call_args *args, const char *as, const kiln__export *exports, const char *prefix);
void kiln__call_args_free(kiln__call_args *args);
/* Finds and calls a host function, and returns its exports in *exports (may be NULL). */
kiln_status kiln__plan_call(kiln_plan *plan, const char *function, unsigned use, kiln__call_args *args, kiln__pos pos,
                            kiln__export **exports, kiln_error **error);

/* ---- arguments.c ---- */
/* Returns how many 8-byte words the argument values of a launch take. */
size_t kiln__arguments_words(const kiln__step *step);
/* Evaluates the arguments into `values`, and points pointers[i] to each. The memory of buffers must exist. */
kiln_status kiln__arguments_set(kiln_plan *plan, const kiln__step *step, const kiln__plan_kernel *kernel,
                                const kiln__scope *scope, uint64_t *values, void **pointers, kiln_error **error);
void kiln__arguments_free(kiln_plan *plan); /* frees lists of pointers; the context must be current */

/* ---- tensor_map.c ---- */
/* Makes the tensor map of an argument, which begins at `address`, in the 128 bytes at `to`. */
kiln_status kiln__tensor_map_make(kiln_plan *plan, const kiln__argument *arg, const kiln__plan_kernel *kernel,
                                  size_t number, const kiln__scope *scope, CUdeviceptr address, void *to,
                                  kiln_error **error);

/* ---- attributes.c ---- */
/* Evaluates and checks the attributes of a launch, whose cluster is already set. */
kiln_status kiln__attributes_set(kiln_plan *plan, const kiln__step *step, const kiln__plan_kernel *kernel,
                                 const kiln__scope *scope, const unsigned grid[3], kiln__launch_attributes *attributes,
                                 kiln_error **error);
/* for launches with `any` */
CUresult kiln__attributes_launch(const kiln__driver *driver, const kiln__plan_op *op, CUstream stream);

/* ---- refused.c ---- */
/* Adds the reason why the driver refused a launch, as "; ..." with numbers, if it can be found out. */
void kiln__launch_explain(const kiln_plan *plan, const kiln__plan_op *op, CUresult result, kiln__text *out);

/* ---- command.c ---- */
/* Runs the command of a reference. `args` begin with the buffers of the spec. *outputs has arrays for its outputs;
 * outputs that the command did not write are dropped. */
kiln_status kiln__command_reference(kiln_plan *plan, const kiln__verify *verify, const kiln__call_args *args,
                                    kiln__export **outputs, kiln_error **error);

/* ---- reference.c: references that are kept on disk ---- */
/* These write the key of a reference: of a host function that sees the first `count` arguments, of one that sees the
 * others from `first` on too, and of a command. They return false if the reference cannot be kept, or memory is exhausted. */
bool kiln__reference_host_key(kiln_plan *plan, const kiln__verify *verify, const kiln__call_args *args, size_t count,
                              kiln__text *key);
bool kiln__reference_extend_key(kiln_plan *plan, const kiln__call_args *args, size_t first, kiln__text *key);
bool kiln__reference_command_key(kiln_plan *plan, const kiln__verify *verify, const kiln__call_args *args,
                                 kiln__text *key);
/* Returns true if the reference was on disk. *exports then points into *unit, and the caller frees both. */
bool kiln__reference_find(kiln_plan *plan, const kiln__text *key, kiln__unit *unit, kiln__export **exports);
/* Keeps a reference that took `seconds`, if reading it is expected to take less. */
void kiln__reference_keep(kiln_plan *plan, const kiln__verify *verify, const kiln__text *key,
                          const kiln__export *exports, double seconds);

/* ---- steps.c ---- */
/* Runs the steps, or before_each, once on `stream`. Memory and contents must exist, and the context must be current. */
kiln_status kiln__steps_enqueue(kiln_plan *plan, bool before, CUstream stream, kiln_error **error);
bool kiln__steps_dynamic(const kiln__step *steps, size_t count);
/* the largest number of argument words of a launch */
size_t kiln__steps_most_words(const kiln__step *steps, size_t count);
/* Finds the geometry of each kernel's first launch, as far as it is known without running. */
void kiln__steps_geometry(kiln_plan *plan);

/* ---- text.c ---- */
typedef struct kiln__source_text {
    const char *name, *text;
    const char **lines;
    size_t line_count;
} kiln__source_text;
typedef struct kiln__sources {
    kiln__source_text *files;
    size_t count;
} kiln__sources;
/* splits the text of a file whose name and text are set */
void kiln__source_split(kiln__source_text *file, kiln__arena *arena);
/* "" if there is no such line */
const char *kiln__source_line(const kiln__source_text *file, unsigned line, kiln__arena *arena);
/* Reads the source and its headers. Without them, output shows lines only by number. */
kiln__sources kiln__sources_read(kiln_plan *plan, kiln__arena *arena);
const char *kiln__sources_line(const kiln__sources *from, const char *file, unsigned line, kiln__arena *arena);

/* ---- answer.c: the answers of several runs of a plan. The context must be current. ---- */
typedef struct kiln__answers {
    CUdeviceptr *copies; /* by buffer: the first answer; 0: the buffer is not compared */
    bool on_device;      /* false: the device cannot compare, so no answer counts as the same */
} kiln__answers;
/* Copies the outputs of the run that has just been compared with the reference. Without `on_device` no kernel compares
 * answers: the checks of the simulated device would look at that kernel too. Call kiln__answers_drop() also after a
 * failure. */
kiln_status kiln__answers_keep(kiln_plan *plan, bool on_device, kiln__answers *answers, kiln_error **error);
/* Sets *same if the outputs of the last run have the bytes of the copies. Waits for the device. */
kiln_status kiln__answers_same(kiln_plan *plan, const kiln__answers *answers, bool *same, kiln_error **error);
void kiln__answers_drop(kiln_plan *plan, kiln__answers *answers);
void kiln__comparer_free(kiln__shared *shared);

/* Compares two ranges of device memory byte by byte. *same is false too if the device has no kernel for it. */
kiln_status kiln__memory_same(kiln_plan *plan, const CUdeviceptr at[2], uint64_t bytes, bool *same, kiln_error **error);

/* ---- count.c: comparing outputs with references on the device. The context must be current. ---- */
/* A comparison of one buffer. `key` is the key of the reference among the shared entries, and names its content. */
typedef struct kiln__counting {
    const char *buffer, *key;
    const kiln_array *want;
    bool exact, sampled;
    double rtol, atol;
} kiln__counting;
/* Returns whether the device compares an output or an input of this many bytes, in this run. */
bool kiln__counts_on_device(const kiln_plan *plan, uint64_t bytes);
/* Counts what kiln__array_compare() and kiln__array_compare_sample() count. *done is false if the device cannot do it: the
 * type is complex, of 8-bit floats or another than that of the reference, or there is no memory for a copy. */
kiln_status kiln__count_on_device(kiln_plan *plan, const kiln__plan_buffer *b, const kiln__counting *of,
                                  kiln__counted *counted, bool *done, kiln_error **error);
void kiln__counters_free(kiln__shared *shared);

/* ---- verify.c, inputs.c, measure.c ---- */
/* Computes the reference values of the outputs, before the steps overwrite the data that they depend on. */
kiln_status kiln__plan_references(kiln_plan *plan, kiln_error **error);
/* Opens the plans of references that are variants, before the process gives up its rights. */
kiln_status kiln__plan_open_references(kiln_plan *plan, kiln_error **error);
void kiln__plan_close_references(kiln_plan *plan);
/* Computes the references by host functions, for a plan that may have no code. */
kiln_status kiln__plan_host_references(kiln_plan *plan, kiln_error **error);
kiln_status kiln__plan_verify(kiln_plan *plan, kiln_result *result, kiln_error **error);
/* Adds the names of inputs that the run has changed to `wrong`. */
kiln_status kiln__plan_inputs_same(kiln_plan *plan, kiln__text *wrong, kiln_error **error);
kiln_status kiln__plan_measure(kiln_plan *plan, const kiln_run_options *options, double first, kiln_result *result,
                               kiln_error **error);
/* Makes the result of a run that took `first` seconds and is not repeated. */
kiln_status kiln__plan_cut(kiln_plan *plan, double first, kiln_result *result, kiln_error **error);
/* Copies the times of a run's repetitions before kiln__median() sorts them. False: no memory. */
bool kiln__plan_keep_times(kiln_plan *plan, const double *times, size_t count);
/* Observations of the device between the repetitions of a measurement (watch.c). One thread at a time. */
typedef struct kiln__watch {
    kiln__nvml *nvml;        /* NULL: no observations */
    double sm_hz, memory_hz; /* sums over all observations */
    unsigned looks, throttle;
    uint64_t looked;
} kiln__watch;
void kiln__watch_begin(kiln__watch *watch, kiln_engine *engine);
void kiln__watch_look(kiln__watch *watch); /* called while the device is busy; limits its own rate */
void kiln__watch_end(kiln__watch *watch, kiln_result *result);
/* Repeats the steps, which take result->seconds each, until the energy counter gives a result. Does nothing without a
 * counter. */
kiln_status kiln__plan_energy(kiln_plan *plan, kiln__watch *watch, kiln_result *result, kiln_error **error);
/* Sets the roofline: the share of the bound that result->seconds reaches, from flops, bytes and the device's peaks, and
 * the unit that bounds it. */
void kiln__plan_roofline(const kiln_plan *plan, kiln_result *result);
/* Returns the unit (KILN_UNIT_...) with the highest peak among the units whose arithmetic the PTX uses. Without any
 * arithmetic it is fp32. */
unsigned kiln__fastest_unit(const kiln_device_info *info, const char *ptx, size_t length);

/* The default tolerance of a type; 0 for integers. */
void kiln__type_tolerance(kiln_type type, double *rtol, double *atol);

/* ---- capture.c ---- */
typedef struct kiln__capture kiln__capture;
static inline bool kiln__capture_possible(const kiln_plan *plan)
{
    return plan->capture_folder || atomic_load_explicit(&plan->engine->capture_left, memory_order_relaxed);
}
/* Launches the steps, and captures them if requested. If capturing fails, the log says so. If the plan itself was asked
 * for a capture, the launch fails too. */
kiln_status kiln__capture_launch(kiln_plan *plan, CUstream stream, kiln_error **error);
/* The two halves of a capture, before and after the steps of a run. Contents must exist, and the context must be
 * current. The second waits for the stream and frees the capture. */
kiln_status kiln__capture_begin(kiln_plan *plan, const kiln__capture_order *order, CUstream stream,
                                kiln__capture **capture, kiln_error **error);
kiln_status kiln__capture_end(kiln__capture *capture, CUstream stream, kiln_error **error);
void kiln__capture_drop(kiln__capture *capture); /* removes the files that it wrote; NULL is allowed */
/* Returns and clears the requested capture of the plan. *asked is false if there is none. */
kiln_status kiln__capture_asked(kiln_plan *plan, kiln__arena *arena, kiln__capture_order *order, bool *asked,
                                kiln_error **error);

/* ---- link.c ---- */
/* Links the relocatable cubin with the device runtime and loads it as the plan's module. */
kiln_status kiln__load_linked(kiln_plan *plan, const void *cubin, size_t length, kiln_error **error);

#endif
