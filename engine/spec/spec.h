/* spec.h - a spec in the form that the engine uses: typed and checked. Every node keeps its place in the file.
 *
 * engine/spec/README.md explains the meaning of the fields to users. The code of engine/spec opens no device. All parts
 * of a spec live in the arena of the spec and never change after loading. A list in these structs is a pointer and a
 * count. If the spec does not give an expression, its pointer is NULL, unless its comment says otherwise. The checker
 * guarantees the properties that the comments of this file state, so other code need not check them again. */
#ifndef KILN_SPEC_H
#define KILN_SPEC_H

#include "base.h"
#include "expr.h"

typedef struct kiln__named_expr {
    const char *name;
    kiln__pos pos;
    kiln__expr *expr;
} kiln__named_expr;

typedef struct kiln__param {
    const char *name;
    kiln__pos pos;
    size_t count;        /* number of values, at least 1 */
    kiln_value *values;  /* all different and of one kind; if some values are floats, the integers become floats */
    size_t initial;      /* index of the default value: `default:`, or the first value */
    bool macro;          /* true if the param becomes a macro of the source */
    size_t option_count; /* number of entries of `options:` of this param, which are templates of compile options */
    kiln__template **options;
} kiln__param;

typedef enum kiln__fill_kind {
    KILN__FILL_NONE,    /* no fill, for outputs and scratch buffers; a checked run poisons them first */
    KILN__FILL_VALUE,   /* a */
    KILN__FILL_IOTA,    /* the value a + b * index */
    KILN__FILL_UNIFORM, /* random numbers of [a, b); for integers, b is a possible value */
    KILN__FILL_NORMAL,  /* random numbers of a normal distribution with mean a and deviation b */
    KILN__FILL_ZIPF,    /* random integers from 0 to a-1 by Zipf's law with exponent b */
    KILN__FILL_FILE,    /* .npy */
    KILN__FILL_FROM     /* the data of an export of an input */
} kiln__fill_kind;

typedef struct kiln__fill {
    kiln__fill_kind kind;
    kiln__pos pos;
    /* The parameters of the fill. An expression is never NULL if the kind of fill uses it, because the reader fills in
     * the defaults. */
    kiln__expr *a, *b, *seed;
    const char *text;     /* for FILE the path as in the spec; for FROM the export, such as "A.csr.values" */
    kiln__template *path; /* for FILE a template if the path contains sizes, otherwise NULL */
} kiln__fill;

typedef struct kiln__buffer {
    const char *name;
    kiln__pos pos;
    kiln_type type;
    /* NULL, or an expression whose text names the type of the elements, such as a param whose values are types. */
    kiln__expr *type_expr;
    bool type_known; /* false only for FROM and FILE buffers, whose data determines the type */
    int dims;        /* number of dimensions; -1 only for FROM and FILE buffers, whose data determines the shape */
    kiln__expr *shape[KILN_MAX_DIMS];
    const char *shape_text; /* "[M, N]" */
    bool out;
    kiln__fill fill;
} kiln__buffer;
const char *kiln__buffer_role(const kiln__buffer *buffer); /* returns "an input" and so on, for messages */

typedef struct kiln__arg { /* an argument of a host function */
    const char *name;
    kiln__pos pos;
    kiln__expr *expr; /* a scalar, or the name of a buffer, of an input or of an export */
    const char *text; /* a quoted text or a path; used if expr is NULL */
} kiln__arg;

/* The kinds of arguments of a launch. */
typedef enum kiln__argument_kind {
    KILN__ARGUMENT_VALUE,  /* a number, given by an expression */
    KILN__ARGUMENT_BUFFER, /* a buffer, or a place in it */
    KILN__ARGUMENT_NULL,
    KILN__ARGUMENT_STRUCT,
    KILN__ARGUMENT_BYTES,    /* a structure as bytes */
    KILN__ARGUMENT_POINTERS, /* a pointer to a list of pointers in device memory */
    KILN__ARGUMENT_TENSOR_MAP,
    KILN__ARGUMENT_TEXTURE
} kiln__argument_kind;
enum { KILN__TENSOR_MOST = 5, KILN__TENSOR_SIZE = 128, KILN__TENSOR_ALIGN = 64 };
/* The parts of a tensor map. Each part has a place in the file; a part that the spec does not give has the place of the
 * whole tensor map. */
typedef enum kiln__tensor_at {
    KILN__AT_TYPE,
    KILN__AT_SHAPE,
    KILN__AT_STRIDES,
    KILN__AT_BOX,
    KILN__AT_STEPS,
    KILN__AT_INTERLEAVE,
    KILN__AT_SWIZZLE,
    KILN__AT_PROMOTION,
    KILN__AT_FILL,
    KILN__AT_LOWER,
    KILN__AT_UPPER,
    KILN__AT_CHANNELS,
    KILN__AT_PIXELS,
    KILN__AT_COUNT
} kiln__tensor_at;
/* A tensor map as the spec gives it. The lists of a tensor map begin with the outermost dimension. A tensor map has
 * either a box, or all of lower, upper, channels and pixels. */
typedef struct kiln__tensor {
    /* the type of the map's elements; NULL means the type of the buffer */
    const char *type;
    /* lengths of the lists; 0 means that the spec does not give the list */
    size_t shape_count, stride_count, box_count, step_count, lower_count, upper_count;
    kiln__expr *shape[KILN__TENSOR_MOST], *strides[KILN__TENSOR_MOST], *box[KILN__TENSOR_MOST];
    kiln__expr *steps[KILN__TENSOR_MOST], *lower[KILN__TENSOR_MOST], *upper[KILN__TENSOR_MOST];
    kiln__expr *channels, *pixels, *swizzle, *atom, *interleave, *promotion;
    bool flip, nan;
    kiln__pos at[KILN__AT_COUNT];
} kiln__tensor;
/* The rules for coordinates outside of a texture. X(name, word in the spec), in the order of CUaddress_mode. */
#define KILN__ADDRESS_MAP(X) X(WRAP, "wrap") X(CLAMP, "clamp") X(MIRROR, "mirror") X(BORDER, "border")
typedef enum kiln__address {
#define KILN_X(name, text) KILN__ADDRESS_##name,
    KILN__ADDRESS_MAP(KILN_X)
#undef KILN_X
} kiln__address;
enum { KILN__TEXTURE_MOST = 3 };
/* A texture object as the spec gives it. The lists of a texture begin with the outermost dimension. */
typedef struct kiln__texture {
    size_t shape_count, address_count; /* lengths of the lists; 0 means that the spec does not give the list */
    kiln__expr *shape[KILN__TEXTURE_MOST];
    kiln__address address[KILN__TEXTURE_MOST];
    kiln__expr *channels, *pitch; /* NULL means that the spec does not give the key */
    bool array, layered, as_float, linear, normalised;
    /* places of the keys in the file; a key that the spec does not give has the place of the whole texture */
    kiln__pos shape_at, pitch_at, read_at, filter_at, address_at, normalised_at;
} kiln__texture;
typedef struct kiln__field kiln__field;
typedef struct kiln__argument kiln__argument;
struct kiln__argument {
    kiln__argument_kind kind;
    kiln__pos pos;
    const char *text; /* the text of the argument in the spec, for messages */
    /* For a VALUE, `expr` is the value, never NULL. For a BUFFER, TENSOR_MAP or TEXTURE, `expr` is the offset from the
     * first element of the buffer, in elements; NULL means 0. */
    kiln__expr *expr;
    const char *buffer;   /* BUFFER, TENSOR_MAP, TEXTURE */
    kiln__tensor *tensor; /* TENSOR_MAP */
    kiln__texture *texture;
    uint64_t size, align;  /* size and alignment in bytes; the size of a STRUCT includes the padding at its end */
    const void *bytes;     /* BYTES */
    size_t count;          /* STRUCT: number of fields. POINTERS: number of items. At least 1 */
    kiln__field *fields;   /* STRUCT */
    kiln__argument *items; /* POINTERS: BUFFER and NULL arguments */
};
struct kiln__field {
    const char *name;
    kiln__pos pos;
    uint64_t offset;
    kiln__argument *argument; /* a pointer or a structure inside the structure; NULL means that the field has values */
    kiln_type type;           /* type of the values; a complex number has two values */
    size_t value_count;
    kiln__expr **values;
};

typedef struct kiln__input { /* one entry of `inputs:`, NAME: {host: FUNCTION, ...} */
    const char *name;
    kiln__pos pos;
    const char *function;
    size_t arg_count;
    kiln__arg *args;
} kiln__input;

typedef enum kiln__step_kind {
    KILN__STEP_LAUNCH,
    KILN__STEP_FILL,
    KILN__STEP_COPY,
    KILN__STEP_SYMBOL,
    KILN__STEP_SWAP,
    KILN__STEP_HOST,
    KILN__STEP_REPEAT,
    KILN__STEP_WHILE
} kiln__step_kind;

typedef struct kiln__read {
    const char *name, *buffer;
    kiln__expr *element;
    kiln__pos pos;
} kiln__read;

/* The placement of the blocks of a cluster. X(name, word in the spec) */
#define KILN__SCHEDULING_MAP(X) X(DEFAULT, "default") X(SPREAD, "spread") X(BALANCE, "balance")
typedef enum kiln__scheduling {
#define KILN_X(name, text) KILN__SCHEDULING_##name,
    KILN__SCHEDULING_MAP(KILN_X)
#undef KILN_X
} kiln__scheduling;
extern const char *const kiln__schedulings[]; /* the words of the spec for these placements */

typedef struct kiln__step kiln__step;
struct kiln__step {
    kiln__step_kind kind;
    kiln__pos pos;
    union {
        struct {
            kiln__template *kernel;          /* the name of the kernel: an extern "C" name or a C++ name expression */
            kiln__expr *grid[3], *block[3];  /* never NULL; if the spec does not give an extent, the expression is 1 */
            kiln__expr *cluster[3];          /* NULL if the launch uses no clusters */
            kiln__expr *shared;              /* dynamic shared memory in bytes; NULL means 0 */
            kiln__expr *priority, *carveout; /* NULL means that the spec does not give the key */
            kiln__scheduling scheduling;
            bool cooperative, overlap;
            size_t arg_count;
            kiln__argument *args;
        } launch;
        struct {
            const char *buffer;
            kiln__expr *value;
        } fill;
        struct {
            const char *from, *to;
            kiln__expr *count, *from_offset, *to_offset;
        } copy; /* `count` and the offsets are in elements. A NULL count means all elements of `from` from its offset
                 * on, and a NULL offset means 0 */
        struct {
            const char *symbol, *from;
            kiln__expr *count, *offset;
        } symbol; /* `offset` is the first element in `from`, and NULL means 0. `count` is a number of elements, and
                   * NULL means all elements from `offset` on */
        struct {
            const char *a, *b;
        } swap;
        struct {
            const char *function;
            size_t arg_count;
            kiln__arg *args;
        } host;
        struct {
            kiln__expr *times;
            const char *index;
            size_t step_count;
            kiln__step *steps;
        } repeat;
        struct {
            size_t read_count; /* number of entries of `read:`, such as {n: frontier_size[0]} */
            kiln__read *reads;
            /* the condition of another round, and the largest number of rounds; at_most is never NULL */
            kiln__expr *cond, *at_most;
            size_t step_count;
            kiln__step *steps;
        } loop;
    } as;
};

typedef enum kiln__against {
    KILN__AGAINST_HOST,
    KILN__AGAINST_VARIANT,
    KILN__AGAINST_FILE,
    KILN__AGAINST_COMMAND
} kiln__against;
typedef struct kiln__verify {
    const char *buffer; /* the name of a buffer of the spec with `out: true` */
    kiln__pos pos;
    kiln__against against;
    const char *name; /* a host function, a variant, a .npy path, or the text of the command for messages */
    size_t word_count;
    const char **words;   /* for a COMMAND: its words, at least one */
    kiln__template *path; /* for a FILE: a template if the path contains sizes, otherwise NULL */
    size_t arg_count;
    /* For a HOST reference: the arguments that the spec gives by name: buffers, sizes, inputs or expressions. These
     * arguments are the same for all configurations. */
    kiln__arg *args;
    size_t param_count;
    kiln__named_expr *params; /* for a VARIANT: params of that variant; its other params have their defaults */
    bool exact, sampled;
    /* Never NULL; if the spec does not give a tolerance, the expression is the constant 0. If the spec gives neither
     * tolerance and the comparison is not exact, the type of the elements determines both tolerances. */
    kiln__expr *rtol, *atol;
} kiln__verify;

/* The tolerances of one variant, which replace rtol and atol of `verify` for this buffer. */
typedef struct kiln__tolerance {
    const char *buffer;
    kiln__pos pos;
    kiln__expr *rtol, *atol; /* never NULL, may use params; the constant 0 if the spec does not give the tolerance */
} kiln__tolerance;

/* An assumption that a judged kernel may make about a size or a buffer (`judge:`). */
typedef struct kiln__assumption {
    const char *name;
    kiln__pos pos;
    bool of_size;          /* true if the assumption is about a size, false if it is about a buffer of the spec */
    bool has_from, has_to; /* whether the spec gives `from` and `to`; a size has both or neither */
    double from, to;       /* an inclusive range; integers for a size and for a buffer of integers */
    uint64_t multiple;     /* for a size: each value of the size is a multiple of this number, which is at least 1 */
    uint64_t align;        /* for a buffer: its alignment in bytes, a power of two up to 256 */
    bool special;          /* for a buffer: true if its elements may be NaN and other special values */
} kiln__assumption;

/* The requirements of a variant: a device that does not meet them cannot run the variant. */
typedef struct kiln__for_device {
    size_t target_count;
    /* Kiln compiles for the first of these targets that fits the device. If there are no targets, Kiln compiles for the
     * device's own architecture. */
    kiln__target *targets;
    const char **target_texts;
    size_t need_count;
    kiln__expr **needs; /* conditions: expressions that use only names of the device */
} kiln__for_device;

typedef struct kiln__variant {
    const char *name, *about;
    kiln__pos pos;
    /* true if the variant does the work of the spec for any data, so that a sweep may report it as the best. */
    bool contender;
    /* The source of this variant, as in the spec. NULL means that the variant uses the source of the spec, which is
     * then not NULL unless step_count is 0. */
    const char *source;
    /* If source_text is not NULL, it replaces the content of the file `source`, but messages show the name of that
     * file. Kiln then searches the headers of the text in source_folder. */
    const char *source_text, *source_folder;
    kiln__for_device device;
    size_t include_count;
    const char **include; /* folders of headers, as in the spec */
    size_t param_count;
    kiln__param *params; /* all params of the variant; the spec's params come first */
    size_t let_count;
    kiln__named_expr *lets; /* in an order in which each let uses only earlier lets */
    size_t where_count;
    kiln__expr **where;
    size_t define_count;
    kiln__named_expr *defines; /* additional macros: the name of a let, or NAME: expression */
    size_t bake_count;
    const char **bake; /* sizes that become macros */
    size_t option_count;
    kiln__template **options;
    size_t input_count;
    kiln__input *inputs; /* all inputs of the variant; the inputs of the spec come first */
    size_t buffer_count;
    kiln__buffer *buffers; /* all buffers of the variant; the buffers of the spec come first, in their order */
    size_t before_count;
    kiln__step *before; /* the steps of `before_each` */
    size_t tolerance_count;
    kiln__tolerance *tolerances;
    size_t step_count;
    kiln__step *steps; /* the steps of a run, at least 1; 0 only in a T1 file without a CUDA kernel */
    size_t metric_count;
    kiln__named_expr *metrics; /* the metrics "flops", "bytes" and any others */
    /* the unit of `roofline`, KILN_UNIT_...; 0 means that the spec does not give it */
    unsigned unit;
    const kiln_param_info *param_infos; /* the structs that kiln_spec_param() returns */
} kiln__variant;

/* The measurements that expressions of metrics and objectives may use. The values of the measurements come from a
 * kiln_result *r and its `seconds`. X(name, true if more is better, condition that it is known, value, reason why it
 * may be missing) */
#define KILN__MEASUREMENTS(X)                                                                                          \
    X(time, false, true, seconds, "it was not measured")                                                               \
    X(gflops, true, r->flops > 0 && seconds > 0, r->flops / seconds / 1e9, "the spec has no metric `flops`")           \
    X(gbs, true, r->bytes > 0 && seconds > 0, r->bytes / seconds / 1e9, "the spec has no metric `bytes`")              \
    X(roofline, true, r->roofline > 0, r->roofline, "neither `flops` and `bytes` nor the device's peaks give one")     \
    X(energy, false, r->energy_joules > 0, r->energy_joules, "the device does not report its energy")                  \
    X(power, false, r->power_watts > 0, r->power_watts, "the device does not report its power")                        \
    X(error, false, r->verified, r->worst_error, "the answer is not verified")                                         \
    X(median_error, false, r->verified, r->median_error, "the answer is not verified")                                 \
    X(p999_error, false, r->verified, r->p999_error, "the answer is not verified")

/* The data from which metrics are computed (meter.c). */
typedef struct kiln__metered {
    const kiln_allocator *mem;
    const kiln__variant *variant;
    const kiln__scope *scope;
    const kiln_result *result; /* the result of a run; NULL before the run */
    double seconds;            /* the time of the result; 0 means that there is no time */
} kiln__metered;
/* Sets to->flops and to->bytes. Each of the three functions kiln__metrics_*() returns false if memory runs out. They
 * report errors of expressions to `diag`. */
bool kiln__metrics_count(const kiln__metered *of, kiln_result *to, kiln__diag *diag);
/* Writes all metrics except flops and bytes as a text. The text leaves out a metric that needs a value that was not
 * measured. */
bool kiln__metrics_print(const kiln__metered *of, kiln_metric_values *to, kiln__diag *diag);
/* Computes the metric number `metric`. *missing is NULL after a success. If the metric cannot be computed, *missing is
 * the measurement that it lacks, or "?" if the expression has an error. */
bool kiln__metrics_one(const kiln__metered *of, size_t metric, double *value, const char **missing, kiln__diag *diag);

typedef struct kiln__sizes {
    const char *name;
    kiln__pos pos;
    kiln__settings settings; /* all sizes of the spec; every size set has them in the same order */
} kiln__sizes;

struct kiln_spec {
    kiln__arena arena;
    kiln_allocator mem_copy;
    const kiln_allocator *mem;
    kiln__source file;
    const char *name, *title, *about;
    const char *path;   /* the path of the spec's file, or the name of a spec that was parsed from memory */
    const char *folder; /* the first folder in which Kiln searches sources and files */
    const char *source; /* the source as in the spec, such as "matmul.cu" */
    const char *prefix; /* a prefix of the names of all macros; "" means no prefix */
    size_t size_set_count;
    kiln__sizes *size_sets; /* the size sets, at least 1; the first one is the default */
    size_t buffer_count;    /* the first buffer_count buffers of every variant belong to the spec */
    size_t input_count;     /* the first input_count inputs of every variant belong to the spec */
    size_t verify_count;
    kiln__verify *verify;
    size_t assumption_count;
    kiln__assumption *assumptions;
    uint64_t streams; /* the number of calls of a judged kernel that may run at the same time; at least 1 */
    size_t feature_count;
    /* expressions that describe an input; their values are the same for all configurations */
    kiln__named_expr *features;
    size_t variant_count;
    kiln__variant *variants; /* the variants, at least 1 */
    bool from_t1;
    bool has_arrays;                     /* true if an argument of some launch is a texture that reads a CUDA array */
    const kiln_size_set *size_set_infos; /* the structs that kiln_spec_size_set() and kiln_spec_buffer() return */
    const kiln_buffer_info *buffer_infos;
};

/* The functions that the checker calls to ask about host functions. `known` returns true if `name` is registered for
 * one of `uses`, which are bits KILN_HOST_... . `names` writes at most `room` names, and returns the number of names
 * that it wrote. */
typedef struct kiln__host_lookup {
    bool (*known)(void *user, const char *name, unsigned uses);
    size_t (*names)(void *user, const char **names, size_t room); /* lists names that a message can suggest */
    /* Returns the arguments that a reference function takes, in the form of `takes` of kiln_host_info, or NULL if they
     * are not known. The pointer `takes` itself may be NULL too. */
    const char *(*takes)(void *user, const char *name);
    void *user;
} kiln__host_lookup;

/* Parses and checks a spec. The function copies the text. Messages show `name` as the name of the file. The folder of
 * `name` becomes the folder of the spec. The function recognises T1 files by their content. It reports all errors of
 * the text together. */
kiln_status kiln__spec_parse(const kiln_allocator *mem, const char *text, size_t length, const char *name,
                             const kiln__host_lookup *hosts, kiln_spec **spec, kiln_error **error);

/* returns NULL if the spec has no such variant */
const kiln__variant *kiln__spec_variant(const kiln_spec *spec, const char *name);
/* Makes the structs that the public functions return for a complete spec. Returns false if memory runs out. */
bool kiln__spec_describe(kiln_spec *spec);
/* Each of these functions returns the object with this name, or NULL if the variant has no such object. */
const kiln__param *kiln__variant_param(const kiln__variant *variant, const char *name);
const kiln__named_expr *kiln__variant_let(const kiln__variant *variant, const char *name);
/* Sets the tolerances to the variant's own tolerances for this output. If the variant has no tolerances for the output,
 * sets the tolerances of `verify`. */
void kiln__tolerance_of(const kiln__verify *verify, const kiln__variant *variant, const kiln__expr **rtol,
                        const kiln__expr **atol);
const kiln__buffer *kiln__variant_buffer(const kiln__variant *variant, const char *name);
/* Returns true if the kernels must not change the buffer. Such a buffer is not an output, has a content that is more
 * than a single number, and is written by no step except launches. */
bool kiln__variant_keeps(const kiln__variant *variant, const kiln__buffer *buffer);
/* Returns true if a step other than a launch may change the buffer. */
bool kiln__variant_writes(const kiln__variant *variant, const kiln__buffer *buffer);

/* Returns true if the text is a size that is an extent of a .npy file: "A.shape[1]", for a buffer A with a `file`.
 * *length gets the length of the buffer's name. */
bool kiln__is_extent(const char *text, size_t *length, int *dim);

/* ---- element types (types.c): the rows of KILN_TYPE_MAP ---- */
typedef enum kiln__type_kind {
    KILN__TYPE_SIGNED,
    KILN__TYPE_UNSIGNED,
    KILN__TYPE_BOOLEAN,
    KILN__TYPE_FLOAT,
    KILN__TYPE_FINITE,
    KILN__TYPE_COMPLEX,
    KILN__TYPE_NUMBER,
    KILN__TYPE_POWER
} kiln__type_kind;
typedef struct kiln__type_row {
    const char *name;
    size_t bytes;
    const char *code; /* numpy's code of the type, without the byte order */
    kiln__type_kind kind;
    int exponent, mantissa; /* numbers of exponent bits and mantissa bits */
    double rtol, atol;
} kiln__type_row;
extern const kiln__type_row kiln__types[KILN_TYPE_COUNT];
extern const char kiln__type_list[];        /* the names of all types for messages: " i8 u8 ..." */
bool kiln__type_is_float(kiln_type type);   /* false for complex types */
bool kiln__type_is_integer(kiln_type type); /* true for signed and unsigned integers; false for bool */
/* Returns f32 for complex64 and f64 for complex128. Returns any other type unchanged. */
kiln_type kiln__type_part(kiln_type type);
/* Finds the type with this name: "f32", or "float" as in CUDA sources. Returns false for an unknown name. */
bool kiln__type_named(const char *text, kiln_type *type);
/* Returns Kiln's name of a type that other programs call `text`, such as "float32" or "size_t". Returns NULL if the
 * name is unknown. */
const char *kiln__type_advice(const char *text);
/* Finds a CUDA vector type such as float4. *type gets the type of its elements, and *lanes their number. Returns false
 * for an unknown name. */
bool kiln__vector_named(const char *text, kiln_type *type, size_t *lanes);

/* The names of device properties that every expression may use ("device.sm_count", ...). X(name) */
#define KILN__DEVICE_NAMES(X)                                                                                          \
    X(sm_count)                                                                                                        \
    X(warp_size)                                                                                                       \
    X(max_threads_per_block)                                                                                           \
    X(max_threads_per_sm)                                                                                              \
    X(registers_per_block)                                                                                             \
    X(registers_per_sm)                                                                                                \
    X(shared_per_block)                                                                                                \
    X(shared_per_block_optin)                                                                                          \
    X(shared_per_sm)                                                                                                   \
    X(l2_bytes)                                                                                                        \
    X(memory_bytes)                                                                                                    \
    X(cc)                                                                                                              \
    X(async_copy)                                                                                                      \
    X(fp8)                                                                                                             \
    X(clusters)                                                                                                        \
    X(tma)                                                                                                             \
    X(wgmma)                                                                                                           \
    X(tcgen05)                                                                                                         \
    X(simulated)
#endif
