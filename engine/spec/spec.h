/* spec.h - a spec as the engine sees it: typed and checked. Every node keeps its place in the file.
 *
 * engine/spec/README.md explains the meaning of the fields to a user. This code knows nothing about devices.
 * Everything lives in the spec's arena and is immutable after loading. A list is a pointer and a count. An expression
 * that the spec does not give is NULL, unless its comment says otherwise. The checker guarantees the properties that
 * the comments state, so other code need not check them again. */
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
    size_t count;        /* at least 1 */
    kiln_value *values;  /* all values are different and of one kind; if there are floats, integers become floats */
    size_t initial;      /* index of the default: `default:`, or the first value */
    bool macro;          /* true if the source gets the param as a macro */
    size_t option_count; /* `options:` of this param: templates that become compile options */
    kiln__template **options;
} kiln__param;

typedef enum kiln__fill_kind {
    KILN__FILL_NONE,    /* outputs and scratch buffers; they are poisoned before a checked run */
    KILN__FILL_VALUE,   /* a */
    KILN__FILL_IOTA,    /* a + b * index */
    KILN__FILL_UNIFORM, /* [a, b); integers: [a, b] */
    KILN__FILL_NORMAL,  /* mean a, deviation b */
    KILN__FILL_ZIPF,    /* integers 0 .. a-1 with exponent b */
    KILN__FILL_FILE,    /* .npy */
    KILN__FILL_FROM     /* an export of an input */
} kiln__fill_kind;

typedef struct kiln__fill {
    kiln__fill_kind kind;
    kiln__pos pos;
    /* Expressions, never NULL if the kind uses them, because the reader fills in the defaults. */
    kiln__expr *a, *b, *seed;
    const char *text;     /* FILE: the path as in the spec; FROM: "A.csr.values" */
    kiln__template *path; /* FILE: a template if the path has sizes in it, otherwise NULL */
} kiln__fill;

typedef struct kiln__buffer {
    const char *name;
    kiln__pos pos;
    kiln_type type;
    /* NULL, or an expression whose text names the type, such as a param whose values are types. */
    kiln__expr *type_expr;
    bool type_known; /* false only for FROM and FILE buffers, whose data has the type */
    int dims;        /* -1 only for FROM and FILE buffers, whose data has the shape */
    kiln__expr *shape[KILN_MAX_DIMS];
    const char *shape_text; /* "[M, N]" */
    bool out;
    kiln__fill fill;
} kiln__buffer;
const char *kiln__buffer_role(const kiln__buffer *buffer); /* "an input", for messages */

typedef struct kiln__arg { /* an argument of a host function */
    const char *name;
    kiln__pos pos;
    kiln__expr *expr; /* a scalar, or the name of a buffer, of an input or of an export */
    const char *text; /* a quoted text or a path, if expr is NULL */
} kiln__arg;

/* The kinds of arguments of a launch. */
typedef enum kiln__argument_kind {
    KILN__ARGUMENT_VALUE,  /* a number */
    KILN__ARGUMENT_BUFFER, /* a buffer, or a place in it */
    KILN__ARGUMENT_NULL,
    KILN__ARGUMENT_STRUCT,
    KILN__ARGUMENT_BYTES,    /* a structure as bytes */
    KILN__ARGUMENT_POINTERS, /* a pointer to a list of pointers */
    KILN__ARGUMENT_TENSOR_MAP,
    KILN__ARGUMENT_TEXTURE
} kiln__argument_kind;
enum { KILN__TENSOR_MOST = 5, KILN__TENSOR_SIZE = 128, KILN__TENSOR_ALIGN = 64 };
/* The parts of a tensor map. Each part has a place in the file; a part that is missing has the place of the whole
 * tensor map. */
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
/* A tensor map as in the spec. Its lists begin with the outermost dimension. It has either a box, or all of lower,
 * upper, channels and pixels. */
typedef struct kiln__tensor {
    /* NULL means the type of the buffer */
    const char *type;
    /* 0 means that the spec does not give this list */
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
/* A texture object as in the spec. Its lists begin with the outermost dimension. */
typedef struct kiln__texture {
    size_t shape_count, address_count; /* 0 means that the spec does not give this list */
    kiln__expr *shape[KILN__TEXTURE_MOST];
    kiln__address address[KILN__TEXTURE_MOST];
    kiln__expr *channels, *pitch; /* NULL means not given */
    bool array, layered, as_float, linear, normalised;
    /* places of the keys in the file; a key that is missing has the place of the whole texture */
    kiln__pos shape_at, pitch_at, read_at, filter_at, address_at, normalised_at;
} kiln__texture;
typedef struct kiln__field kiln__field;
typedef struct kiln__argument kiln__argument;
struct kiln__argument {
    kiln__argument_kind kind;
    kiln__pos pos;
    const char *text; /* the text in the spec, for messages */
    /* For VALUE this is the value, never NULL. For BUFFER, TENSOR_MAP and TEXTURE it is the offset from the first
     * element of the buffer, in elements; NULL means 0. */
    kiln__expr *expr;
    const char *buffer;   /* BUFFER, TENSOR_MAP, TEXTURE */
    kiln__tensor *tensor; /* TENSOR_MAP */
    kiln__texture *texture;
    uint64_t size, align;  /* in bytes; the size of a STRUCT includes the padding at its end */
    const void *bytes;     /* BYTES */
    size_t count;          /* STRUCT: number of fields. POINTERS: number of items. At least 1 */
    kiln__field *fields;   /* STRUCT */
    kiln__argument *items; /* POINTERS: BUFFER and NULL */
};
struct kiln__field {
    const char *name;
    kiln__pos pos;
    uint64_t offset;
    kiln__argument *argument; /* a pointer or a structure within the structure; NULL means that the field has values */
    kiln_type type;           /* type of the values; a complex number has two */
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
extern const char *const kiln__schedulings[]; /* words of the spec */

typedef struct kiln__step kiln__step;
struct kiln__step {
    kiln__step_kind kind;
    kiln__pos pos;
    union {
        struct {
            kiln__template *kernel;          /* an extern "C" name or a C++ name expression */
            kiln__expr *grid[3], *block[3];  /* never NULL; 1 if the spec does not give the extent */
            kiln__expr *cluster[3];          /* NULL if the launch has no clusters */
            kiln__expr *shared;              /* dynamic shared memory in bytes; NULL means 0 */
            kiln__expr *priority, *carveout; /* NULL means not given */
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
        } copy; /* count and offsets are in elements; a NULL count means the whole buffer, a NULL offset means 0 */
        struct {
            const char *symbol, *from;
            kiln__expr *count, *offset;
        } symbol; /* `offset` is the first element in `from`; NULL means 0. `count` is a number of elements; NULL means
                   * all elements from `offset` on */
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
            size_t read_count; /* read: {n: frontier_size[0]} */
            kiln__read *reads;
            kiln__expr *cond, *at_most; /* at_most is never NULL */
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
    const char *buffer; /* an `out` buffer of the spec */
    kiln__pos pos;
    kiln__against against;
    const char *name; /* a host function, a variant, a .npy path, or the command for messages */
    size_t word_count;
    const char **words;   /* COMMAND: at least one word */
    kiln__template *path; /* FILE: a template if the path has sizes in it, otherwise NULL */
    size_t arg_count;
    /* HOST: arguments that the spec gives by name: buffers, sizes, inputs or expressions. They are the same for all
     * configurations. */
    kiln__arg *args;
    size_t param_count;
    kiln__named_expr *params; /* VARIANT: params of that variant; other params have their defaults */
    bool exact, sampled;
    /* Never NULL; the constant 0 if the spec does not give the tolerance. If both are missing and the comparison is not
     * exact, the type of the elements decides. */
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
    bool of_size;          /* false if the assumption is about a buffer of the spec */
    bool has_from, has_to; /* a size has both or neither */
    double from, to;       /* inclusive; integers for a size and for a buffer of integers */
    uint64_t multiple;     /* for a size: its values are multiples of this number, which is at least 1 */
    uint64_t align;        /* for a buffer: its alignment in bytes, a power of two up to 256 */
    bool special;          /* for a buffer: NaN and other special values may occur */
} kiln__assumption;

/* The requirements of a variant: the device must meet them, or it does not run the variant. */
typedef struct kiln__for_device {
    size_t target_count;
    /* The first target that fits the device is used for compiling. If there are no targets, the device's own
     * architecture is used. */
    kiln__target *targets;
    const char **target_texts;
    size_t need_count;
    kiln__expr **needs; /* expressions over names of the device only */
} kiln__for_device;

typedef struct kiln__variant {
    const char *name, *about;
    kiln__pos pos;
    /* true if the variant does the work of the spec for any data, so that a sweep may report it as the best. */
    bool contender;
    /* The variant's own source, as in the spec. If it is NULL, the variant has the source of the spec, which is then
     * not NULL unless step_count is 0. */
    const char *source;
    /* If source_text is not NULL, it replaces the content of the file `source`, but messages show the name of that
     * file. source_folder is then the folder in which the headers of the text are searched. */
    const char *source_text, *source_folder;
    kiln__for_device device;
    size_t include_count;
    const char **include; /* folders of headers, as in the spec */
    size_t param_count;
    kiln__param *params; /* the spec's own params first, then the variant's */
    size_t let_count;
    kiln__named_expr *lets; /* in an order in which each let uses only earlier lets */
    size_t where_count;
    kiln__expr **where;
    size_t define_count;
    kiln__named_expr *defines; /* further macros: the name of a let, or NAME: expression */
    size_t bake_count;
    const char **bake; /* sizes that become macros */
    size_t option_count;
    kiln__template **options;
    size_t input_count;
    kiln__input *inputs; /* the inputs of the spec come first */
    size_t buffer_count;
    kiln__buffer *buffers; /* the buffers of the spec come first, in their order */
    size_t before_count;
    kiln__step *before; /* the steps of `before_each` */
    size_t tolerance_count;
    kiln__tolerance *tolerances;
    size_t step_count;
    kiln__step *steps; /* at least 1 step; 0 only in a T1 file without a CUDA kernel */
    size_t metric_count;
    kiln__named_expr *metrics;          /* "flops", "bytes" and any others */
    unsigned unit;                      /* the unit of `roofline`, KILN_UNIT_...; 0 if the spec does not give it */
    const kiln_param_info *param_infos; /* the results of kiln_spec_param() */
} kiln__variant;

/* The measurements that expressions of metrics and objectives may use. They come from a kiln_result *r and its
 * `seconds`. X(name, more is better, is known, value, reason why it may be missing) */
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
    const kiln_result *result; /* NULL before the run */
    double seconds;            /* the time of the result; 0 if there is no time */
} kiln__metered;
/* Sets to->flops and to->bytes. These three functions return false if memory runs out. They report errors of
 * expressions to `diag`. */
bool kiln__metrics_count(const kiln__metered *of, kiln_result *to, kiln__diag *diag);
/* Writes all other metrics as a text. It leaves out a metric that needs a figure that was not measured. */
bool kiln__metrics_print(const kiln__metered *of, kiln_metric_values *to, kiln__diag *diag);
/* Computes one metric. *missing is NULL after a success. Otherwise it is the measurement that the metric lacks, or
 * "?" if the expression has an error. */
bool kiln__metrics_one(const kiln__metered *of, size_t metric, double *value, const char **missing, kiln__diag *diag);

typedef struct kiln__sizes {
    const char *name;
    kiln__pos pos;
    kiln__settings settings; /* all sizes of the spec, in the same order in each set */
} kiln__sizes;

struct kiln_spec {
    kiln__arena arena;
    kiln_allocator mem_copy;
    const kiln_allocator *mem;
    kiln__source file;
    const char *name, *title, *about;
    const char *path;   /* the path of the file, or the name if it was parsed from memory */
    const char *folder; /* the first folder in which sources and files are searched */
    const char *source; /* "matmul.cu", as in the spec */
    const char *prefix; /* a prefix of all names of macros; "" means no prefix */
    size_t size_set_count;
    kiln__sizes *size_sets; /* at least 1; the first is the default */
    size_t buffer_count;    /* the first buffer_count buffers of every variant belong to the spec */
    size_t input_count;     /* the first input_count inputs of every variant belong to the spec */
    size_t verify_count;
    kiln__verify *verify;
    size_t assumption_count;
    kiln__assumption *assumptions;
    uint64_t streams; /* the number of calls of a judged kernel that may run at the same time; at least 1 */
    size_t feature_count;
    kiln__named_expr *features; /* expressions that describe an input; the same for all configurations */
    size_t variant_count;
    kiln__variant *variants; /* at least 1 */
    bool from_t1;
    bool has_arrays;                     /* true if an argument of some launch is a texture of a CUDA array */
    const kiln_size_set *size_set_infos; /* the results of kiln_spec_size_set() and kiln_spec_buffer() */
    const kiln_buffer_info *buffer_infos;
};

/* The functions by which the checker asks about host functions. `known` returns true if `name` is registered for one
 * of `uses`, which are bits KILN_HOST_... . `names` writes at most `room` names, and returns the number of names that
 * it wrote. */
typedef struct kiln__host_lookup {
    bool (*known)(void *user, const char *name, unsigned uses);
    size_t (*names)(void *user, const char **names, size_t room); /* for suggestions */
    /* Returns the arguments that a reference takes, in the form of `takes` of kiln_host_info, or NULL if they are not
     * known. The pointer to this function may be NULL too. */
    const char *(*takes)(void *user, const char *name);
    void *user;
} kiln__host_lookup;

/* Parses and checks a spec. It copies the text. Messages show `name`, whose folder becomes the folder of the spec. It
 * recognises T1 files by their content. It reports all errors together. */
kiln_status kiln__spec_parse(const kiln_allocator *mem, const char *text, size_t length, const char *name,
                             const kiln__host_lookup *hosts, kiln_spec **spec, kiln_error **error);

/* returns NULL if the spec has no such variant */
const kiln__variant *kiln__spec_variant(const kiln_spec *spec, const char *name);
/* Makes the structs that the public functions return, for a complete spec. Returns false if memory runs out. */
bool kiln__spec_describe(kiln_spec *spec);
/* Each returns the object with this name, or NULL if the variant has no such object. */
const kiln__param *kiln__variant_param(const kiln__variant *variant, const char *name);
const kiln__named_expr *kiln__variant_let(const kiln__variant *variant, const char *name);
/* Gives the variant's own tolerances for this output. If the variant has none, gives the tolerances of `verify`. */
void kiln__tolerance_of(const kiln__verify *verify, const kiln__variant *variant, const kiln__expr **rtol,
                        const kiln__expr **atol);
const kiln__buffer *kiln__variant_buffer(const kiln__variant *variant, const char *name);
/* Returns true if the kernels must not change the buffer. Such a buffer is not an output, its content is more than a
 * single number, and no step other than a launch may write it. */
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
    const char *code; /* numpy's code, without the byte order */
    kiln__type_kind kind;
    int exponent, mantissa; /* number of bits */
    double rtol, atol;
} kiln__type_row;
extern const kiln__type_row kiln__types[KILN_TYPE_COUNT];
extern const char kiln__type_list[];        /* " i8 u8 ...", for messages */
bool kiln__type_is_float(kiln_type type);   /* false for complex types */
bool kiln__type_is_integer(kiln_type type); /* true for signed and unsigned integers; false for bool */
/* Returns f32 for complex64, f64 for complex128, and any other type itself. */
kiln_type kiln__type_part(kiln_type type);
/* Finds the type with this name: "f32", or the name in CUDA sources: "float". Returns false for an unknown name. */
bool kiln__type_named(const char *text, kiln_type *type);
/* Returns Kiln's name of a type that other programs call `text`, such as "float32" or "size_t". Returns NULL if the
 * name is unknown. */
const char *kiln__type_advice(const char *text);
/* Finds a CUDA vector type such as float4: the type of its elements, and their number. Returns false for an unknown
 * name. */
bool kiln__vector_named(const char *text, kiln_type *type, size_t *lanes);

/* Names of device properties that every expression may use ("device.sm_count", ...). X(name) */
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
