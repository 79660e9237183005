/* plan_internal.h - what the files of plan/ share. */
#ifndef KILN_PLAN_INTERNAL_H
#define KILN_PLAN_INTERNAL_H

#include "plan.h"
#include "signature.h"

/* ---- shared.c: what is made once and used by the plans of a sweep ----
 * Every plan has one: that of the sweep, or its own. Entries are found by a key of everything that determines their
 * content, so it does not matter which plan made them. */
typedef struct kiln__plan_entry {
    struct kiln__plan_entry *next;
    char *key;
    kiln__export *values; /* an input's exports, a buffer's content (one array), a reference's outputs */
    CUdeviceptr device;   /* of a buffer's content: a copy that no kernel accesses; 0: none */
    uint64_t device_bytes;
    double seconds; /* an input: of its host function; a device copy: of copying it there */
} kiln__plan_entry;
/* answer.c: the kernels that compare answers, and the word in which they tell what they found. */
typedef struct kiln__comparer {
    CUmodule module; /* NULL: not loaded yet */
    CUfunction wide, bytes;
    CUdeviceptr found;
} kiln__comparer;
typedef struct kiln__device_block {
    CUdeviceptr pointer;
    uint64_t bytes;
} kiln__device_block;
struct kiln__shared {
    kiln_engine *engine;
    const kiln_allocator *mem;
    bool sweep; /* several plans: keeps contents and device memory */
    kiln__plan_entry *entries;
    kiln__device_block *spare; /* device memory that plans no longer use */
    size_t spare_count, spare_capacity;
    CUdeviceptr flush; /* larger than the L2: written between repetitions */
    uint64_t flush_bytes;
    kiln__comparer comparer;
    void *staging; /* host memory that outputs are read into, one after the other */
    uint64_t staging_bytes;
    void (*on_launch)(void *user); /* may be NULL */
    void *on_launch_user;
    void (*on_wait)(void *user, const char *why); /* may be NULL */
    void *on_wait_user;
    bool (*on_ask)(void *user); /* asked while it waits for another process: true: stop. May be NULL */
    void *on_ask_user;
};
kiln__plan_entry *kiln__shared_find(kiln__shared *shared, const char *key);
/* Takes ownership of `values`, also on failure. */
kiln_status kiln__shared_add(kiln__shared *shared, const char *key, kiln__export *values, kiln__plan_entry **entry,
                             kiln_error **error);
/* Frees the entries whose key starts with `prefix`. */
void kiln__shared_drop(kiln__shared *shared, const char *prefix);
/* Device memory; in a sweep it is kept for the next plan. The context must be current. */
kiln_status kiln__shared_alloc(kiln__shared *shared, uint64_t bytes, const char *what, CUdeviceptr *pointer,
                               kiln_error **error);
void kiln__shared_release(kiln__shared *shared, CUdeviceptr pointer, uint64_t bytes);
/* Room for `bytes` on the host, until the next call; NULL: out of memory. It is kept, because the first access to new
 * pages takes longer than the copy. */
void *kiln__shared_staging(kiln__shared *shared, uint64_t bytes);
void kiln__shared_drop_device(kiln__shared *shared); /* copies and spare memory */
kiln__export *kiln__export_of(const kiln_allocator *mem, const char *name, const kiln_array *array); /* takes array */

/* ---- the plan ---- */

/* What a launch has beyond its geometry. */
typedef struct kiln__launch_attributes {
    unsigned cluster[3]; /* if clustered */
    kiln__scheduling scheduling;
    int policy, priority, carveout; /* policy: the driver's of scheduling; carveout -1: not given */
    bool clustered, cooperative, overlap, prioritised;
    bool any; /* something that cuLaunchKernel() and cuLaunchCooperativeKernel() cannot say */
} kiln__launch_attributes;

typedef struct kiln__plan_kernel {
    const char *name; /* filled */
    CUfunction function;
    kiln__signature signature;
    uint64_t static_shared, dynamic_limit; /* limit: as set with cuFuncSetAttribute; 0: never set */
    int max_threads;
    bool known; /* the launch below is set */
    unsigned grid[3], block[3], dynamic_shared;
    kiln__launch_attributes attributes;
    kiln_kernel_info info; /* the last answer of kiln_plan_kernel() */
} kiln__plan_kernel;

typedef struct kiln__plan_input {
    const kiln__input *input;
    kiln__plan_entry *entry; /* NULL: not made yet */
    bool making;
} kiln__plan_input;

/* Who owns a buffer's memory. */
typedef enum kiln__owner { KILN__OWNER_NONE, KILN__OWNER_PLAN, KILN__OWNER_CALLER } kiln__owner;
typedef struct kiln__plan_buffer {
    const kiln__buffer *buffer;
    kiln_type type;
    int dims;
    uint64_t shape[KILN_MAX_DIMS];
    uint64_t bytes, elements;
    kiln__owner owner;
    CUdeviceptr pointer; /* 0: no bytes */
    bool filled;         /* has its initial content, or a run's result */
    bool custom;         /* the content came from the caller: bound, or written */
    const char *file;    /* --input: replaces the fill during a run */
    char *key;           /* of its initial content; NULL: not computed */
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

/* Evaluated steps: the operations of a launch, without expressions. */
typedef struct kiln__program {
    kiln__arena arena; /* of the arguments */
    kiln__plan_op *ops;
    size_t count, capacity;
    bool ready, swaps;
    unsigned *final; /* where the names stand after it, if it swaps; of the plan's arena */
} kiln__program;

/* ---- limit.c: the time limit of kernels, and the caller's request to stop ---- */
typedef enum kiln__late { KILN__IN_TIME, KILN__LATE, KILN__STOPPED } kiln__late;
typedef struct kiln__limit {
    bool on, usual;           /* on: between start and end; usual: the caller gave no time */
    bool first;               /* the first run of the steps, in which any of them may hang */
    double seconds;           /* 0: none */
    uint64_t begun, deadline; /* 0: none */
    const volatile int *stop; /* the caller's; NULL: none */
    kiln__late late;          /* why waiting ended */
} kiln__limit;

/* Pointers in a block of device memory that is never written again. */
typedef struct kiln__pointers {
    CUdeviceptr device, *items;
    size_t count;
} kiln__pointers;

/* ---- texture.c ---- */
/* What determines a texture object. All members have one type, so there are no gaps and bytes compare. */
typedef struct kiln__texture_key {
    uint64_t address, pitch;          /* pitch: bytes from one row to the next */
    uint64_t dims, extent[3];         /* texels, the innermost first; layers last; 1 where there are none */
    uint64_t format, channels, texel; /* texel: bytes */
    uint64_t array, layered;          /* true or false */
    uint64_t linear, flags, edge[3];  /* flags and edges as the driver has them */
} kiln__texture_key;
enum { KILN__TEXTURE_STEPS = 1, KILN__TEXTURE_BEFORE = 2 };
typedef struct kiln__plan_texture {
    kiln__texture_key key;
    CUtexObject object;
    CUarray array;   /* NULL: the buffer's own memory */
    bool filled;     /* the array has the buffer's content */
    unsigned needed; /* by KILN__TEXTURE_...; 0: it goes */
} kiln__plan_texture;
/* The texture object of an argument that begins at `address`. Those of one key are one object. */
kiln_status kiln__texture_make(kiln_plan *plan, const kiln__argument *arg, const kiln__plan_kernel *kernel,
                               size_t number, const kiln__scope *scope, CUdeviceptr address, uint64_t *object,
                               kiln_error **error);
void kiln__textures_stale(kiln_plan *plan); /* the buffers may have another content */
/* Copies buffers into arrays that do not have their content yet, in the stream. */
kiln_status kiln__textures_fill(kiln_plan *plan, CUstream stream, kiln_error **error);
/* Before and after an evaluation of the steps `of`: those that it no longer needs are destroyed behind it. */
void kiln__textures_begin(kiln_plan *plan, unsigned of);
kiln_status kiln__textures_end(kiln_plan *plan, kiln_error **error);
void kiln__textures_free(kiln_plan *plan); /* all; the context must be current */

/* What the host did in runs of the steps; before_each does not count. */
typedef struct kiln__host_work {
    uint64_t runs, rounds; /* rounds: of `while` steps */
    double seconds;        /* of `host` steps */
} kiln__host_work;

struct kiln_plan {
    kiln_result result; /* of the last run */
    kiln_engine *engine;
    const kiln_allocator *mem;
    const kiln_spec *spec;
    const kiln__variant *variant;
    kiln__config *config;
    kiln__code code;
    CUmodule module;
    kiln__arena arena;   /* kernels, inputs, buffers, slots */
    kiln__scope scope;   /* exports and the lets that use them, over the configuration's */
    kiln_error *pending; /* why a look-up in that scope failed */
    unsigned lookups;    /* nesting of look-ups */
    kiln__plan_kernel *kernels;
    size_t kernel_count;
    unsigned unit;              /* KILN_UNIT_...: whose peak bounds the arithmetic */
    kiln__plan_input *inputs;   /* variant->input_count */
    kiln__plan_buffer *buffers; /* variant->buffer_count */
    unsigned *slots;            /* the buffer to which each name refers now */
    kiln__program steps, before;
    bool laid_out; /* shapes are known */
    bool ready;    /* every buffer has memory and its initial content */
    bool dynamic;  /* the steps cannot be evaluated in advance */
    bool before_dynamic;
    bool whole;       /* kiln__plan_whole() */
    bool sparse;      /* only a few blocks will run: large buffers need not be filled completely */
    uint64_t *values; /* arguments of a launch that is evaluated while it runs */
    void **pointers;
    kiln__pointers *lists; /* lists of pointers on the device, which arguments point to */
    size_t list_count, list_capacity;
    kiln__plan_texture *textures;
    size_t texture_count, texture_capacity;
    unsigned texture_use;       /* KILN__TEXTURE_... of what is evaluated */
    kiln__shared *shared, *own; /* own: made for this plan alone */
    double *times;              /* of the last run's repetitions, in order */
    size_t time_count;
    kiln__limit limit;
    kiln__host_work work; /* since the last run began */
    kiln__answer_use answer_use;
    unsigned answer_run;  /* of several runs whose answers are compared, the number of the last; 0: the first */
    char *capture_folder; /* the next launch is captured there; NULL: only if the engine's settings request it */
    char *captured;       /* the folder of the last one that was */
    kiln_plan **others;   /* references that are variants, opened ahead; NULL, also each of them: not opened */
};

/* The process gives up its rights, if this engine's kernels are to run in a sandbox (run.c). */
kiln_status kiln__plan_sandbox(kiln_plan *plan, const kiln_run_options *options, kiln_error **error);

/* Sets the limit of a run from its options. The time counts from kiln__limit_start(), which may be called again, to
 * kiln__limit_end(). Both in the launching thread. */
kiln_status kiln__limit_set(kiln_plan *plan, const kiln_run_options *options, kiln_error **error);
void kiln__limit_start(kiln_plan *plan);
void kiln__limit_extend(kiln_plan *plan, double seconds); /* extends the default limit, not one that was given */
void kiln__limit_end(kiln_plan *plan);
kiln__late kiln__limit_late(const kiln_plan *plan);
kiln_status kiln__limit_check(kiln_plan *plan, kiln_error **error);
/* Wait as cuEventSynchronize() and similar functions do. CUDA_ERROR_TIMEOUT: the limit is reached; on a GPU the engine
 * is `stuck` then. */
CUresult kiln__limit_wait_event(kiln_plan *plan, CUevent event);
CUresult kiln__limit_wait_stream(kiln_plan *plan, CUstream stream);
CUresult kiln__limit_wait_all(kiln_plan *plan);
/* As kiln__driver_fail(), but KILN_ERROR_TIMEOUT or KILN_ERROR_INTERRUPTED if that was the cause. */
kiln_status kiln__limit_fail(kiln_plan *plan, CUresult result, kiln_error **error, const char *what, ...)
    KILN__PRINTF(4, 5);

/* ---- layout.c: inputs, shapes, memory, contents ---- */
kiln_status kiln__plan_layout(kiln_plan *plan, kiln_error **error);           /* inputs made, shapes known */
kiln_status kiln__plan_allocate(kiln_plan *plan, kiln_error **error);         /* and memory for all */
kiln_status kiln__plan_fill(kiln_plan *plan, bool again, kiln_error **error); /* and initial contents; again: anew */
kiln_status kiln__plan_poison(kiln_plan *plan, kiln_error **error);           /* outputs and scratch without a fill */
/* Gives every buffer that a run may change its initial content again. */
kiln_status kiln__plan_refill(kiln_plan *plan, kiln_error **error);
void kiln__plan_forget(kiln_plan *plan);                             /* shapes, programs and keys */
void kiln__plan_release(kiln_plan *plan, kiln__plan_buffer *buffer); /* gives its memory back */
void kiln__plan_name_memory(const kiln_plan *plan, const kiln__plan_buffer *buffer, bool on); /* for the simulator */
kiln_status kiln__plan_input_make(kiln_plan *plan, kiln__plan_input *input, kiln_error **error);
void kiln__plan_set_scope(kiln_plan *plan);   /* plan->scope; inputs are made when a name of theirs is looked up */
bool kiln__plan_make_tables(kiln_plan *plan); /* plan.c: those of inputs, buffers and arguments. False: no memory */
kiln__plan_buffer *kiln__plan_buffer_find(const kiln_plan *plan, const char *name); /* NULL: not there */
/* The buffer to which a name refers, after swaps. */
kiln__plan_buffer *kiln__plan_buffer_named(const kiln_plan *plan, const char *name);
kiln_status kiln__plan_no_buffer(const kiln_plan *plan, const char *name, kiln_error **error);
/* The initial content as a host array, of an entry or an input; *temporary where the caller must free it. */
kiln_status kiln__plan_content(kiln_plan *plan, kiln__plan_buffer *buffer, kiln_array *array, bool *temporary,
                               kiln_error **error);
kiln_status kiln__plan_download(kiln_plan *plan, const kiln__plan_buffer *buffer, kiln_array *array,
                                kiln_error **error);
/* The entry of a .npy file: `file` as given to a run, else as the spec names it (and with `path`, if that is not NULL),
 * under the rules of trust. */
kiln_status kiln__plan_file(kiln_plan *plan, const char *file, const char *named, const kiln__template *path,
                            kiln__plan_entry **entry, kiln_error **error);
/* Finishes a diag of evaluations: if a look-up failed, its own error is reported. */
kiln_status kiln__plan_diag(kiln_plan *plan, kiln__diag *diag, kiln_status status, kiln_error **error);
/* An error at a place in the spec. */
kiln_status kiln__plan_fail_at(kiln_plan *plan, kiln_error **error, kiln_status status, kiln__pos pos,
                               const char *format, ...) KILN__PRINTF(5, 6);

/* "f32 [7, 9]" */
void kiln__plan_shape_text(kiln__text *out, kiln_type type, int dims, const uint64_t *shape);

/* ---- calls.c: the arguments of host functions ---- */
typedef struct kiln__call_args {
    kiln_plan *plan;
    kiln__arena arena;
    kiln__call_arg *args;
    size_t count, capacity;
    const char *hint; /* for the message about a missing argument; NULL: none */
    bool missed;      /* set by kiln__plan_call(): the function asked for an argument that is not among them */
} kiln__call_args;
bool kiln__call_add(kiln__call_args *args, kiln__call_arg arg);
/* Adds an argument as written in a spec: a number, a text, exports. The caller handles buffers. */
kiln_status kiln__call_add_written(kiln__call_args *args, const kiln__arg *arg, const kiln__scope *scope,
                                   kiln_error **error);
bool kiln__call_add_exports(kiln__call_args *args, const char *as, const kiln__export *exports, const char *prefix);
void kiln__call_args_free(kiln__call_args *args);
/* Finds the function, calls it, and returns its exports in *exports (may be NULL). */
kiln_status kiln__plan_call(kiln_plan *plan, const char *function, unsigned use, kiln__call_args *args, kiln__pos pos,
                            kiln__export **exports, kiln_error **error);

/* ---- arguments.c ---- */
/* How many words of 8 bytes the values of a launch's arguments take. */
size_t kiln__arguments_words(const kiln__step *step);
/* Evaluates the arguments into `values`, and sets pointers[i] to each. Memory of buffers must exist. */
kiln_status kiln__arguments_set(kiln_plan *plan, const kiln__step *step, const kiln__plan_kernel *kernel,
                                const kiln__scope *scope, uint64_t *values, void **pointers, kiln_error **error);
void kiln__arguments_free(kiln_plan *plan); /* lists of pointers; the context must be current */

/* ---- tensor_map.c ---- */
/* Makes the tensor map of an argument, which begins at `address`, in the 128 bytes at `to`. */
kiln_status kiln__tensor_map_make(kiln_plan *plan, const kiln__argument *arg, const kiln__plan_kernel *kernel,
                                  size_t number, const kiln__scope *scope, CUdeviceptr address, void *to,
                                  kiln_error **error);

/* ---- attributes.c ---- */
/* Evaluates and checks the attributes of a launch; `cluster` is set already. */
kiln_status kiln__attributes_set(kiln_plan *plan, const kiln__step *step, const kiln__plan_kernel *kernel,
                                 const kiln__scope *scope, const unsigned grid[3], kiln__launch_attributes *attributes,
                                 kiln_error **error);
CUresult kiln__attributes_launch(const kiln__driver *driver, const kiln__plan_op *op, CUstream stream); /* with `any` */

/* ---- refused.c ---- */
/* Adds the reason for which the driver refused a launch, "; ..." with the numbers, if it can be found out. */
void kiln__launch_explain(const kiln_plan *plan, const kiln__plan_op *op, CUresult result, kiln__text *out);

/* ---- command.c ---- */
/* Runs the command of a reference. args: the buffers of the spec first; *outputs: arrays for its outputs, of which those
 * that the command has not written are dropped. */
kiln_status kiln__command_reference(kiln_plan *plan, const kiln__verify *verify, const kiln__call_args *args,
                                    kiln__export **outputs, kiln_error **error);

/* ---- steps.c ---- */
/* Runs the steps, or before_each, once on `stream`. Memory and contents must exist; the context must be current. */
kiln_status kiln__steps_enqueue(kiln_plan *plan, bool before, CUstream stream, kiln_error **error);
bool kiln__steps_dynamic(const kiln__step *steps, size_t count);
size_t kiln__steps_most_words(const kiln__step *steps, size_t count); /* the largest number of a launch */
/* The geometry of each kernel's first launch, as far as it is known without running. */
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
void kiln__source_split(kiln__source_text *file, kiln__arena *arena); /* name and text are set, lines follow */
const char *kiln__source_line(const kiln__source_text *file, unsigned line, kiln__arena *arena); /* "": none */
/* The source and the headers it includes; without them lines are shown only by number. */
kiln__sources kiln__sources_read(kiln_plan *plan, kiln__arena *arena);
const char *kiln__sources_line(const kiln__sources *from, const char *file, unsigned line, kiln__arena *arena);

/* ---- answer.c: the answers of several runs of a plan. The context must be current. ---- */
typedef struct kiln__answers {
    CUdeviceptr *copies; /* by buffer: the first answer; 0: the buffer is not compared */
    bool on_device;      /* false: the device cannot compare, so no answer counts as the same */
} kiln__answers;
/* Copies the outputs of the run that has just been compared with the reference. Call kiln__answers_drop() also after a
 * failure. */
kiln_status kiln__answers_keep(kiln_plan *plan, kiln__answers *answers, kiln_error **error);
/* Sets *same if the outputs of the last run have the bytes of the copies. Waits for the device. */
kiln_status kiln__answers_same(kiln_plan *plan, const kiln__answers *answers, bool *same, kiln_error **error);
void kiln__answers_drop(kiln_plan *plan, kiln__answers *answers);
void kiln__comparer_free(kiln__shared *shared);

/* ---- verify.c, inputs.c, measure.c ---- */
/* Computes the reference values of the outputs, before the steps overwrite the data that they depend on. */
kiln_status kiln__plan_references(kiln_plan *plan, kiln_error **error);
/* Opens the plans of those references that are variants, before the process gives up its rights. */
kiln_status kiln__plan_open_references(kiln_plan *plan, kiln_error **error);
void kiln__plan_close_references(kiln_plan *plan);
/* Those by host functions, of a plan that may have no code. */
kiln_status kiln__plan_host_references(kiln_plan *plan, kiln_error **error);
kiln_status kiln__plan_verify(kiln_plan *plan, kiln_result *result, kiln_error **error);
/* Adds to `wrong` which inputs the run has changed. */
kiln_status kiln__plan_inputs_same(kiln_plan *plan, kiln__text *wrong, kiln_error **error);
kiln_status kiln__plan_measure(kiln_plan *plan, const kiln_run_options *options, double first, kiln_result *result,
                               kiln_error **error);
/* The result of a run that took `first` seconds and is not repeated. */
kiln_status kiln__plan_cut(kiln_plan *plan, double first, kiln_result *result, kiln_error **error);
/* Copies the times of a run's repetitions, which kiln__median() is about to sort. False: no memory. */
bool kiln__plan_keep_times(kiln_plan *plan, const double *times, size_t count);
/* Observations of the device between the repetitions of a measurement (watch.c). One thread at a time. */
typedef struct kiln__watch {
    kiln__nvml *nvml;        /* NULL: no observations */
    double sm_hz, memory_hz; /* sums */
    unsigned looks, throttle;
    uint64_t looked;
} kiln__watch;
void kiln__watch_begin(kiln__watch *watch, kiln_engine *engine);
void kiln__watch_look(kiln__watch *watch); /* while the device is busy; limits its own rate */
void kiln__watch_end(kiln__watch *watch, kiln_result *result);
/* Repeats the steps, result->seconds each, until the energy counter gives a result; without a counter does nothing. */
kiln_status kiln__plan_energy(kiln_plan *plan, kiln__watch *watch, kiln_result *result, kiln_error **error);
/* Sets the share of the bound that flops, bytes and the device's peaks give to result->seconds, and which unit's. */
void kiln__plan_roofline(const kiln_plan *plan, kiln_result *result);
/* The unit with the highest peak of those whose arithmetic the PTX has (KILN_UNIT_...); without any, fp32's. */
unsigned kiln__fastest_unit(const kiln_device_info *info, const char *ptx, size_t length);

/* The default tolerance of a type; 0 for integers. */
void kiln__type_tolerance(kiln_type type, double *rtol, double *atol);

/* ---- capture.c ---- */
typedef struct kiln__capture kiln__capture;
static inline bool kiln__capture_possible(const kiln_plan *plan)
{
    return plan->capture_folder || atomic_load_explicit(&plan->engine->capture_left, memory_order_relaxed);
}
/* A launch of the steps that may be captured. If capturing fails the log says so; if the plan was asked for a capture,
 * the launch fails. */
kiln_status kiln__capture_launch(kiln_plan *plan, CUstream stream, kiln_error **error);
/* The two halves, for a run: before and after the steps. Contents must exist; the context must be current. The second
 * waits for the stream and frees the capture. */
kiln_status kiln__capture_begin(kiln_plan *plan, const kiln__capture_order *order, CUstream stream,
                                kiln__capture **capture, kiln_error **error);
kiln_status kiln__capture_end(kiln__capture *capture, CUstream stream, kiln_error **error);
void kiln__capture_drop(kiln__capture *capture); /* removes what it wrote; NULL is allowed */
/* The requested capture of the plan, which is cleared; *asked false: none. */
kiln_status kiln__capture_asked(kiln_plan *plan, kiln__arena *arena, kiln__capture_order *order, bool *asked,
                                kiln_error **error);

/* ---- link.c ---- */
/* Links the relocatable cubin with the device runtime and loads it as the plan's module. */
kiln_status kiln__load_linked(kiln_plan *plan, const void *cubin, size_t length, kiln_error **error);

#endif
