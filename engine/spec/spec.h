/* spec.h - a spec as the engine sees it: typed, checked, every node with its place.
 * What the fields mean to a user is in engine/spec/README.md. Knows nothing of devices.
 *
 * Everything lives in the spec's arena and is immutable after loading. Lists are pointer and count. An expression that
 * was not given is NULL unless said otherwise. The checker has made sure of what the comments state, so that code
 * behind it need not look again. */
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
    kiln_value *values;  /* all different, all of one kind (integers beside floats become floats) */
    size_t initial;      /* index of the default: `default:`, else the first */
    bool macro;          /* the source has it as a macro */
    size_t option_count; /* `options:` of this param: templates that become compile options */
    kiln__template **options;
} kiln__param;

typedef enum kiln__fill_kind {
    KILN__FILL_NONE,    /* outputs and scratch: poisoned before a checked run */
    KILN__FILL_VALUE,   /* a */
    KILN__FILL_IOTA,    /* a + b * index */
    KILN__FILL_UNIFORM, /* [a, b); integers: [a, b] */
    KILN__FILL_NORMAL,  /* mean a, deviation b */
    KILN__FILL_ZIPF,    /* integers 0 .. a-1 with exponent b */
    KILN__FILL_FILE,    /* .npy */
    KILN__FILL_FROM     /* an input's export */
} kiln__fill_kind;

typedef struct kiln__fill {
    kiln__fill_kind kind;
    kiln__pos pos;
    kiln__expr *a, *b, *seed; /* never NULL where the kind uses them (defaults are filled in) */
    const char *text;         /* FILE: the path as written; FROM: "A.csr.values" */
    kiln__template *path;     /* FILE: NULL, or the path has sizes in it */
} kiln__fill;

typedef struct kiln__buffer {
    const char *name;
    kiln__pos pos;
    kiln_type type;
    kiln__expr *type_expr; /* NULL, or an expression whose text names the type (a param over types) */
    bool type_known;       /* false only for FROM and FILE buffers: the type comes with the data */
    int dims;              /* -1 only for FROM and FILE buffers: the shape comes with the data */
    kiln__expr *shape[KILN_MAX_DIMS];
    const char *shape_text; /* "[M, N]" */
    bool out;
    kiln__fill fill;
} kiln__buffer;
const char *kiln__buffer_role(const kiln__buffer *buffer); /* "an input", for messages */

typedef struct kiln__arg { /* a host function's argument */
    const char *name;
    kiln__pos pos;
    kiln__expr *expr; /* a scalar, or the name of a buffer, or of an input or an export of one */
    const char *text; /* a quoted text or a path, where expr is NULL */
} kiln__arg;

/* An argument of a launch. */
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
/* Where the spec says what of a tensor map; where it does not, the place of the whole. */
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
/* A tensor map as written: lists outermost dimension first. It has a box, or all of lower, upper, channels, pixels. */
typedef struct kiln__tensor {
    const char *type;                                                                  /* NULL: the buffer's */
    size_t shape_count, stride_count, box_count, step_count, lower_count, upper_count; /* 0: not given */
    kiln__expr *shape[KILN__TENSOR_MOST], *strides[KILN__TENSOR_MOST], *box[KILN__TENSOR_MOST];
    kiln__expr *steps[KILN__TENSOR_MOST], *lower[KILN__TENSOR_MOST], *upper[KILN__TENSOR_MOST];
    kiln__expr *channels, *pixels, *swizzle, *atom, *interleave, *promotion;
    bool flip, nan;
    kiln__pos at[KILN__AT_COUNT];
} kiln__tensor;
/* What is read outside of a texture. X(name, as written), in the order of CUaddress_mode. */
#define KILN__ADDRESS_MAP(X) X(WRAP, "wrap") X(CLAMP, "clamp") X(MIRROR, "mirror") X(BORDER, "border")
typedef enum kiln__address {
#define KILN_X(name, text) KILN__ADDRESS_##name,
    KILN__ADDRESS_MAP(KILN_X)
#undef KILN_X
} kiln__address;
enum { KILN__TEXTURE_MOST = 3 };
/* A texture object as written: lists outermost dimension first. */
typedef struct kiln__texture {
    size_t shape_count, address_count; /* 0: not given */
    kiln__expr *shape[KILN__TEXTURE_MOST];
    kiln__address address[KILN__TEXTURE_MOST];
    kiln__expr *channels, *pitch; /* NULL: not given */
    bool array, layered, as_float, linear, normalised;
    kiln__pos shape_at, pitch_at, read_at, filter_at, address_at, normalised_at; /* the whole's where not given */
} kiln__texture;
typedef struct kiln__field kiln__field;
typedef struct kiln__argument kiln__argument;
struct kiln__argument {
    kiln__argument_kind kind;
    kiln__pos pos;
    const char *text;     /* as written, for messages */
    kiln__expr *expr;     /* VALUE: never NULL; BUFFER, TENSOR_MAP, TEXTURE: elements behind its first, NULL: 0 */
    const char *buffer;   /* BUFFER, TENSOR_MAP, TEXTURE */
    kiln__tensor *tensor; /* TENSOR_MAP */
    kiln__texture *texture;
    uint64_t size, align;  /* bytes, for STRUCT with those after its last field; 8 where it is a pointer */
    const void *bytes;     /* BYTES */
    size_t count;          /* STRUCT: of the fields, at least 1; POINTERS: of the items, at least 1 */
    kiln__field *fields;   /* STRUCT */
    kiln__argument *items; /* POINTERS: BUFFER and NULL */
};
struct kiln__field {
    const char *name;
    kiln__pos pos;
    uint64_t offset;
    kiln__argument *argument; /* a pointer or a structure in the structure; NULL: the values */
    kiln_type type;           /* of the values; two for each complex number */
    size_t value_count;
    kiln__expr **values;
};

typedef struct kiln__input { /* inputs: NAME: {host: FUNCTION, ...} */
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

/* How the blocks of a cluster are placed. X(name, as written) */
#define KILN__SCHEDULING_MAP(X) X(DEFAULT, "default") X(SPREAD, "spread") X(BALANCE, "balance")
typedef enum kiln__scheduling {
#define KILN_X(name, text) KILN__SCHEDULING_##name,
    KILN__SCHEDULING_MAP(KILN_X)
#undef KILN_X
} kiln__scheduling;
extern const char *const kiln__schedulings[]; /* as written */

typedef struct kiln__step kiln__step;
struct kiln__step {
    kiln__step_kind kind;
    kiln__pos pos;
    union {
        struct {
            kiln__template *kernel;          /* an extern "C" name or a C++ name expression */
            kiln__expr *grid[3], *block[3];  /* never NULL; 1 where not given */
            kiln__expr *cluster[3];          /* NULL: no clusters */
            kiln__expr *shared;              /* dynamic bytes; NULL: 0 */
            kiln__expr *priority, *carveout; /* NULL: not given */
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
        } copy; /* NULL: all, 0, 0 */
        struct {
            const char *symbol, *from;
            kiln__expr *count, *offset;
        } symbol; /* offset into from */
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
    const char *name; /* host function, variant, .npy path, or the command as it is shown */
    size_t word_count;
    const char **words;   /* COMMAND: at least one */
    kiln__template *path; /* FILE: NULL, or the path has sizes in it */
    size_t arg_count;
    kiln__arg *args; /* HOST: what the function knows by other names; the same for all configurations */
    size_t param_count;
    kiln__named_expr *params; /* VARIANT: of that variant; the others have their defaults */
    bool exact, sampled;
    kiln__expr *rtol, *atol; /* never NULL; 0 where not given; both absent and not exact: by the type */
} kiln__verify;

/* What a variant has in place of rtol and atol of the `verify` of that buffer. */
typedef struct kiln__tolerance {
    const char *buffer;
    kiln__pos pos;
    kiln__expr *rtol, *atol; /* never NULL; 0 where not given; they may use params */
} kiln__tolerance;

/* What a variant says of devices. */
typedef struct kiln__for_device {
    size_t target_count;
    kiln__target *targets; /* the first that fits the device is compiled for; none: the device's own architecture */
    const char **target_texts;
    size_t need_count;
    kiln__expr **needs; /* of device names alone */
} kiln__for_device;

typedef struct kiln__variant {
    const char *name, *about;
    kiln__pos pos;
    bool contender;     /* may be called the best: it does the spec's work, whatever the data */
    const char *source; /* as written; NULL: the spec's, which is then not NULL (unless step_count is 0) */
    kiln__for_device device;
    size_t include_count;
    const char **include; /* folders of headers, as written */
    size_t param_count;
    kiln__param *params; /* the spec's own params first, then the variant's */
    size_t let_count;
    kiln__named_expr *lets; /* in an order in which each uses only earlier ones */
    size_t where_count;
    kiln__expr **where;
    size_t define_count;
    kiln__named_expr *defines; /* further macros: a let's name, or NAME: expr */
    size_t bake_count;
    const char **bake; /* sizes that become macros */
    size_t option_count;
    kiln__template **options;
    size_t input_count;
    kiln__input *inputs; /* the spec's first */
    size_t buffer_count;
    kiln__buffer *buffers; /* the spec's first, in its order */
    size_t before_count;
    kiln__step *before; /* before_each */
    size_t tolerance_count;
    kiln__tolerance *tolerances;
    size_t step_count;
    kiln__step *steps; /* at least 1, but for a T1 file without a CUDA kernel: 0 */
    size_t metric_count;
    kiln__named_expr *metrics;          /* "flops", "bytes" and any others */
    unsigned unit;                      /* KILN_UNIT_... of `roofline`; 0: not given */
    const kiln_param_info *param_infos; /* what kiln_spec_param() returns */
} kiln__variant;

/* What is measured, for the expressions of metrics and objectives, of a kiln_result *r and its `seconds`.
 * X(name, more is better, is known, value, why it may be missing) */
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

/* What the values of metrics are made of (meter.c). */
typedef struct kiln__metered {
    const kiln_allocator *mem;
    const kiln__variant *variant;
    const kiln__scope *scope;
    const kiln_result *result; /* NULL: before the run */
    double seconds;            /* the result's time; 0: none */
} kiln__metered;
/* Each is false where there is no memory; errors of expressions go to `diag`. Sets to->flops and bytes. */
bool kiln__metrics_count(const kiln__metered *of, kiln_result *to, kiln__diag *diag);
/* All others, without those that need what was not measured. */
bool kiln__metrics_print(const kiln__metered *of, kiln_metric_values *to, kiln__diag *diag);
/* One of all; *missing: the measurement that it lacks, or NULL. */
bool kiln__metrics_one(const kiln__metered *of, size_t metric, double *value, const char **missing, kiln__diag *diag);

typedef struct kiln__sizes {
    const char *name;
    kiln__pos pos;
    kiln__settings settings; /* every size of the spec, in one order in all sets */
} kiln__sizes;

struct kiln_spec {
    kiln__arena arena;
    kiln_allocator mem_copy;
    const kiln_allocator *mem;
    kiln__source file;
    const char *name, *title, *about;
    const char *path;   /* as found; the name where it was parsed from memory */
    const char *folder; /* sources and files are looked for here first */
    const char *source; /* "matmul.cu", as written */
    const char *prefix; /* of the names of macros; "": none */
    size_t size_set_count;
    kiln__sizes *size_sets; /* at least 1; the first is the default */
    size_t buffer_count;    /* the first buffer_count buffers of every variant */
    size_t input_count;     /* likewise */
    size_t verify_count;
    kiln__verify *verify;
    size_t feature_count;
    kiln__named_expr *features; /* what describes an input; the same for all configurations */
    size_t variant_count;
    kiln__variant *variants; /* at least 1 */
    bool from_t1;
    bool has_arrays;                     /* a launch has a texture of a CUDA array */
    const kiln_size_set *size_set_infos; /* what kiln_spec_size_set() and kiln_spec_buffer() return */
    const kiln_buffer_info *buffer_infos;
};

/* What the checker may ask about host functions: true if `name` is registered for one of `uses`. */
typedef struct kiln__host_lookup {
    bool (*known)(void *user, const char *name, unsigned uses);
    size_t (*names)(void *user, const char **names, size_t room); /* for suggestions */
    void *user;
} kiln__host_lookup;

/* Parses and checks. Text is copied. `name` stands in messages and gives the folder. T1 files are recognised by their
 * content. All errors are reported at once. */
kiln_status kiln__spec_parse(const kiln_allocator *mem, const char *text, size_t length, const char *name,
                             const kiln__host_lookup *hosts, kiln_spec **spec, kiln_error **error);

const kiln__variant *kiln__spec_variant(const kiln_spec *spec, const char *name); /* NULL: not there */
/* Makes what the public functions return of a spec that is whole. False: no memory. */
bool kiln__spec_describe(kiln_spec *spec);
/* By name; NULL: the variant has none of it. */
const kiln__param *kiln__variant_param(const kiln__variant *variant, const char *name);
const kiln__named_expr *kiln__variant_let(const kiln__variant *variant, const char *name);
/* The variant's own, or those of `verify`. */
void kiln__tolerance_of(const kiln__verify *verify, const kiln__variant *variant, const kiln__expr **rtol,
                        const kiln__expr **atol);
const kiln__buffer *kiln__variant_buffer(const kiln__variant *variant, const char *name);
/* Whether its kernels must not change the buffer: it has data, is no output, and no step but a launch writes it. */
bool kiln__variant_keeps(const kiln__variant *variant, const kiln__buffer *buffer);
/* Whether a step other than a launch may change it. */
bool kiln__variant_writes(const kiln__variant *variant, const kiln__buffer *buffer);

/* A size that is an extent of a .npy file: "A.shape[1]", of a buffer with a `file`. False: the text is no such thing.
 * *length: of the buffer's name. */
bool kiln__is_extent(const char *text, size_t *length, int *dim);

/* ---- element types (types.c): the rows of KILN_TYPE_MAP ---- */
typedef enum kiln__type_kind {
    KILN__TYPE_SIGNED,
    KILN__TYPE_UNSIGNED,
    KILN__TYPE_BOOLEAN,
    KILN__TYPE_FLOAT,
    KILN__TYPE_FINITE,
    KILN__TYPE_COMPLEX
} kiln__type_kind;
typedef struct kiln__type_row {
    const char *name;
    size_t bytes;
    const char *code; /* numpy's, without the byte order */
    kiln__type_kind kind;
    int exponent, mantissa; /* bits */
    double rtol, atol;
} kiln__type_row;
extern const kiln__type_row kiln__types[KILN_TYPE_COUNT];
extern const char kiln__type_list[]; /* " i8 u8 ...", for messages */
bool kiln__type_is_float(kiln_type type);
bool kiln__type_is_integer(kiln_type type); /* signed or unsigned; bool is none */
/* f32 of complex64, f64 of complex128; any other type itself. */
kiln_type kiln__type_part(kiln_type type);
/* The type that a text names: "f32", or as sources call it: "float". */
bool kiln__type_named(const char *text, kiln_type *type);
/* CUDA's vectors, such as float4: the type of an element, and how many there are. */
bool kiln__vector_named(const char *text, kiln_type *type, size_t *lanes);

/* Names that every expression may use of the device ("device.sm_count", ...). X(name) */
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
