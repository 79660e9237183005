/* tensor_map.c - tensor maps as arguments. Evaluates a map, checks the rules of the driver, and calls the driver to
 * make the map (CUDA Driver API, "Tensor Map Object Management"). */
#include <inttypes.h>
#include <string.h>

#include "arguments_internal.h"
#include "launch_internal.h"
#include "layout_internal.h"
#include "names_internal.h"
#include "plan_internal.h"

typedef struct making {
    kiln_plan *plan;
    const kiln__argument *arg;
    const kiln__tensor *tensor;
    const kiln__scope *scope;
    const kiln__plan_buffer *buffer;
    const char *kernel;
    size_t number;
    unsigned bits; /* the number of bits of an element */
    kiln__tensor_map map;
    kiln_error **error;
} making;

#define fail_at(m, pos, ...) kiln__plan_fail_at((m)->plan, (m)->error, KILN_ERROR_LAUNCH, pos, __VA_ARGS__)

/* ---- types ---- */

/* X(name in a spec, name in cuda.h, bits) */
#define TYPES(X)                                                                                                       \
    X("u8", UINT8, 8)                                                                                                  \
    X("u16", UINT16, 16)                                                                                               \
    X("u32", UINT32, 32)                                                                                               \
    X("i32", INT32, 32)                                                                                                \
    X("u64", UINT64, 64)                                                                                               \
    X("i64", INT64, 64)                                                                                                \
    X("f16", FLOAT16, 16)                                                                                              \
    X("f32", FLOAT32, 32)                                                                                              \
    X("f64", FLOAT64, 64)                                                                                              \
    X("bf16", BFLOAT16, 16)                                                                                            \
    X("f32_ftz", FLOAT32_FTZ, 32)                                                                                      \
    X("tf32", TFLOAT32, 32)                                                                                            \
    X("tf32_ftz", TFLOAT32_FTZ, 32)                                                                                    \
    X("u4x16_align8", 16U4_ALIGN8B, 4)                                                                                 \
    X("u4x16_align16", 16U4_ALIGN16B, 4)                                                                               \
    X("u6x16_align16", 16U6_ALIGN16B, 6)
static const struct {
    const char *name;
    int type;
    unsigned bits;
} types[] = {
#define KILN_X(text, name, bits) {text, CU_TENSOR_MAP_DATA_TYPE_##name, bits},
    TYPES(KILN_X)
#undef KILN_X
};
#define KILN_X(text, name, bits) " " text
static const char type_list[] = TYPES(KILN_X);
#undef KILN_X

/* Returns the data type of a tensor map that copies elements of a buffer's type. Floats of one byte and small signed
 * integers are copied as bytes without a sign. */
static const char *type_of(kiln_type type)
{
    switch (type) {
    case KILN_i8:
    case KILN_bool:
    case KILN_f8e4m3:
    case KILN_f8e5m2:
    case KILN_f4e2m1:
    case KILN_f6e2m3:
    case KILN_f6e3m2:
    case KILN_ue8m0: return "u8";
    case KILN_i16: return "u16";
    default: return kiln__types[type].name;
    }
}

static kiln_status set_type(making *m)
{
    const char *name = m->tensor->type ? m->tensor->type : type_of(m->buffer->type);
    for (size_t i = 0; i < KILN__COUNT(types); i++)
        if (strcmp(types[i].name, name) == 0) {
            m->map.type = types[i].type;
            m->bits = types[i].bits;
            return KILN_OK;
        }
    return fail_at(m, m->tensor->at[KILN__AT_TYPE],
                   "argument %zu of %s: a tensor map has no elements of type %s; 'type' is one of%s", m->number,
                   m->kernel, name, type_list);
}

/* ---- numbers ---- */

static kiln_status evaluate(making *m, const kiln__expr *expr, const char *what, int64_t low, int64_t high,
                            int64_t *value)
{
    kiln__diag diag = {.mem = m->plan->mem};
    kiln__expr_eval_int(expr, m->scope, what, value, &diag);
    kiln_status status = kiln__plan_diag(m->plan, &diag, KILN_ERROR_SPEC, m->error);
    if (status == KILN_OK && (*value < low || *value > high))
        status = fail_at(m, kiln__expr_pos(expr),
                         "argument %zu of %s: %s = %" PRId64 " is outside %" PRId64 " .. %" PRId64, m->number,
                         m->kernel, what, *value, low, high);
    return status;
}

/* Returns the index of the expression's value in `allowed`. Returns 0 if there is no expression. */
static kiln_status choose(making *m, const kiln__expr *expr, const char *what, const int64_t *allowed, size_t count,
                          int *chosen)
{
    int64_t value = allowed[0];
    kiln_status status = expr ? evaluate(m, expr, what, INT64_MIN, INT64_MAX, &value) : KILN_OK;
    kiln__text list = {.mem = m->plan->mem};
    for (size_t i = 0; i < count && status == KILN_OK; i++) {
        if (allowed[i] == value) {
            *chosen = (int)i;
            kiln__text_free(&list);
            return KILN_OK;
        }
        kiln__text_printf(&list, "%s%" PRId64, i ? ", " : "", allowed[i]);
    }
    if (status == KILN_OK)
        status = fail_at(m, kiln__expr_pos(expr), "argument %zu of %s: %s is one of %s, not %" PRId64, m->number,
                         m->kernel, what, kiln__text_get(&list), value);
    kiln__text_free(&list);
    return status;
}

/* ---- the parts of a tensor map ---- */

/* Sets the shape of the map. A spec lists the outermost dimension first, and the driver lists the innermost dimension
 * first. */
static kiln_status set_shape(making *m)
{
    const kiln__tensor *t = m->tensor;
    const unsigned width = 8 * (unsigned)kiln__type_bytes(m->buffer->type);
    if (!t->shape_count && (m->bits != width || m->buffer->dims < 1 || m->buffer->dims > KILN__TENSOR_DIMS))
        return fail_at(m, t->at[KILN__AT_SHAPE],
                       "argument %zu of %s: a tensor map has 1 to 5 dimensions, and '%s' has %d of %u bits an element: "
                       "give its 'shape'",
                       m->number, m->kernel, m->arg->buffer, m->buffer->dims, width);
    m->map.rank = t->shape_count ? (unsigned)t->shape_count : (unsigned)m->buffer->dims;
    for (unsigned d = 0; d < m->map.rank; d++) {
        const unsigned outer = m->map.rank - 1 - d;
        int64_t value = t->shape_count ? 0 : (int64_t)m->buffer->shape[outer];
        kiln_status status = t->shape_count ? evaluate(m, t->shape[outer], "an extent", 0, INT64_MAX, &value) : KILN_OK;
        if (status != KILN_OK)
            return status;
        m->map.shape[d] = (uint64_t)value;
    }
    return KILN_OK;
}

/* Sets the strides of the map, which a spec gives in elements. If the spec lists no strides, the rows lie one after the
 * other. */
static kiln_status set_strides(making *m)
{
    const kiln__tensor *t = m->tensor;
    if (t->stride_count && t->stride_count != m->map.rank - 1)
        return fail_at(m, t->at[KILN__AT_STRIDES],
                       "argument %zu of %s: %u dimensions need %u strides, not %zu: the last dimension needs none",
                       m->number, m->kernel, m->map.rank, m->map.rank - 1, t->stride_count);
    uint64_t elements = 1;
    m->map.strides[0] = m->bits / 8;
    for (unsigned d = 1; d < m->map.rank; d++) {
        int64_t value = 0;
        bool large = __builtin_mul_overflow(elements, m->map.shape[d - 1], &elements) || elements > UINT64_C(1) << 48;
        if (t->stride_count) {
            kiln_status status = evaluate(m, t->strides[m->map.rank - 1 - d], "a stride", 0, INT64_C(1) << 48, &value);
            if (status != KILN_OK)
                return status;
            elements = (uint64_t)value;
        } else if (large) {
            return fail_at(m, t->at[KILN__AT_SHAPE], "argument %zu of %s: the tensor map's shape is too large",
                           m->number, m->kernel);
        }
        m->map.strides[d] = elements * m->bits / 8;
    }
    return KILN_OK;
}

/* Checks that all memory that the map can reach lies in the buffer. A larger map would let the kernel copy data from
 * outside the buffer. */
static kiln_status check_extent(making *m, uint64_t offset)
{
    const uint64_t bytes = m->buffer->bytes - offset;
    uint64_t end = m->map.shape[0] * m->bits / 8, most = UINT64_C(1) << 60;
    for (unsigned d = 1; d < m->map.rank; d++) {
        uint64_t more;
        if (m->map.shape[d] == 0)
            return KILN_OK; /* a rule of the driver that is checked below reports this case */
        if (__builtin_mul_overflow(m->map.shape[d] - 1, m->map.strides[d], &more) || more > most || end + more > most)
            more = most;
        end += more;
    }
    if (end <= bytes)
        return KILN_OK;
    return fail_at(m, m->tensor->at[m->tensor->stride_count ? KILN__AT_STRIDES : KILN__AT_SHAPE],
                   "argument %zu of %s: the tensor map covers %" PRIu64 " bytes, and '%s' has %" PRIu64
                   " from there on",
                   m->number, m->kernel, end, m->arg->text, bytes);
}

static kiln_status set_counts(making *m, kiln__expr *const *exprs, size_t given, unsigned wanted, kiln__tensor_at at,
                              const char *what, int64_t low, int64_t *values)
{
    if (given != wanted)
        return fail_at(m, m->tensor->at[at],
                       "argument %zu of %s: the tensor map has %u dimensions, so '%s' has %u numbers, not %zu",
                       m->number, m->kernel, m->map.rank, what, wanted, given);
    for (unsigned d = 0; d < wanted; d++) {
        kiln_status status = evaluate(m, exprs[wanted - 1 - d], what, low, INT32_MAX, &values[d]);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

static kiln_status set_box(making *m)
{
    const kiln__tensor *t = m->tensor;
    int64_t values[KILN__TENSOR_DIMS] = {0};
    kiln_status status = set_counts(m, t->box, t->box_count, m->map.rank, KILN__AT_BOX, "box", 0, values);
    for (unsigned d = 0; d < m->map.rank && status == KILN_OK; d++)
        m->map.box[d] = (uint32_t)values[d];
    return status;
}

static kiln_status set_im2col(making *m)
{
    const kiln__tensor *t = m->tensor;
    const unsigned pixels = m->map.rank > 2 ? m->map.rank - 2 : 0;
    int64_t lower[KILN__TENSOR_PIXELS] = {0}, upper[KILN__TENSOR_PIXELS] = {0}, channels = 0, column = 0;
    m->map.im2col = true;
    kiln_status status = set_counts(m, t->lower, t->lower_count, pixels, KILN__AT_LOWER, "lower", INT32_MIN, lower);
    if (status == KILN_OK)
        status = set_counts(m, t->upper, t->upper_count, pixels, KILN__AT_UPPER, "upper", INT32_MIN, upper);
    if (status == KILN_OK)
        status = evaluate(m, t->channels, "channels", 0, INT32_MAX, &channels);
    if (status == KILN_OK)
        status = evaluate(m, t->pixels, "pixels", 0, INT32_MAX, &column);
    for (unsigned d = 0; d < pixels && status == KILN_OK; d++) {
        m->map.lower[d] = (int32_t)lower[d];
        m->map.upper[d] = (int32_t)upper[d];
    }
    m->map.channels = (uint32_t)channels;
    m->map.pixels = (uint32_t)column;
    return status;
}

static kiln_status set_steps(making *m)
{
    const kiln__tensor *t = m->tensor;
    int64_t values[KILN__TENSOR_DIMS] = {1, 1, 1, 1, 1};
    kiln_status status = t->step_count
                             ? set_counts(m, t->steps, t->step_count, m->map.rank, KILN__AT_STEPS, "steps", 0, values)
                             : KILN_OK;
    for (unsigned d = 0; d < m->map.rank && status == KILN_OK; d++)
        m->map.steps[d] = (uint32_t)values[d];
    return status;
}

/* Evaluates the modes of the map: interleave, swizzle, L2 promotion, and the fill of elements outside the bounds. */
static kiln_status set_modes(making *m)
{
    static const int64_t swizzles[] = {0, 32, 64, 128}, atoms[] = {16, 32, 64}, spans[] = {0, 16, 32};
    static const int64_t promotions[] = {0, 64, 128, 256};
    const kiln__tensor *t = m->tensor;
    int atom = 0;
    kiln_status status = choose(m, t->swizzle, "swizzle", swizzles, KILN__COUNT(swizzles), &m->map.swizzle);
    if (status == KILN_OK)
        status = choose(m, t->atom, "atom", atoms, KILN__COUNT(atoms), &atom);
    if (status == KILN_OK)
        status = choose(m, t->interleave, "interleave", spans, KILN__COUNT(spans), &m->map.interleave);
    if (status == KILN_OK)
        status = choose(m, t->promotion, "l2_promotion", promotions, KILN__COUNT(promotions), &m->map.promotion);
    if (status != KILN_OK)
        return status;
    m->map.fill = t->nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    if ((atom || t->flip) && m->map.swizzle != CU_TENSOR_MAP_SWIZZLE_128B)
        return fail_at(m, t->at[KILN__AT_SWIZZLE], "argument %zu of %s: 'atom' and 'flip' need a swizzle of 128",
                       m->number, m->kernel);
    if (t->flip && atom != 1)
        return fail_at(m, t->at[KILN__AT_SWIZZLE], "argument %zu of %s: 'flip' needs an atom of 32", m->number,
                       m->kernel);
    if (atom == 1)
        m->map.swizzle = t->flip ? CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B : CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B;
    else if (atom == 2)
        m->map.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B;
    return KILN_OK;
}

/* ---- the map ---- */

/* Returns the position in the spec of the field to which a rule applies. */
static kiln__pos place_of(const making *m, kiln__tensor_field field)
{
    static const kiln__tensor_at places[] = {
        [KILN__TENSOR_RANK] = KILN__AT_SHAPE,
        [KILN__TENSOR_TYPE] = KILN__AT_TYPE,
        [KILN__TENSOR_SHAPE] = KILN__AT_SHAPE,
        [KILN__TENSOR_STRIDES] = KILN__AT_STRIDES,
        [KILN__TENSOR_BOX] = KILN__AT_BOX,
        [KILN__TENSOR_STEPS] = KILN__AT_STEPS,
        [KILN__TENSOR_INTERLEAVE] = KILN__AT_INTERLEAVE,
        [KILN__TENSOR_SWIZZLE] = KILN__AT_SWIZZLE,
        [KILN__TENSOR_PROMOTION] = KILN__AT_PROMOTION,
        [KILN__TENSOR_FILL] = KILN__AT_FILL,
        [KILN__TENSOR_LOWER] = KILN__AT_LOWER,
        [KILN__TENSOR_UPPER] = KILN__AT_UPPER,
        [KILN__TENSOR_CHANNELS] = KILN__AT_CHANNELS,
        [KILN__TENSOR_PIXELS_PER_COLUMN] = KILN__AT_PIXELS,
    };
    return field == KILN__TENSOR_ADDRESS ? m->arg->pos : m->tensor->at[places[field]];
}

/* Calls the driver's function for a tiled or an im2col map. */
static kiln_status encode(making *m, void *to)
{
    const kiln__driver *driver = &m->plan->engine->driver;
    const kiln__tensor_map *map = &m->map;
    CUtensorMap made;
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    void *address = (void *)(uintptr_t)map->address;
    if (map->im2col && driver->cuTensorMapEncodeIm2col_)
        result = driver->cuTensorMapEncodeIm2col_(
            &made, (CUtensorMapDataType)map->type, map->rank, address, (const cuuint64_t *)map->shape,
            (const cuuint64_t *)(map->strides + 1), map->lower, map->upper, map->channels, map->pixels, map->steps,
            (CUtensorMapInterleave)map->interleave, (CUtensorMapSwizzle)map->swizzle,
            (CUtensorMapL2promotion)map->promotion, (CUtensorMapFloatOOBfill)map->fill);
    else if (!map->im2col && driver->cuTensorMapEncodeTiled_)
        result = driver->cuTensorMapEncodeTiled_(
            &made, (CUtensorMapDataType)map->type, map->rank, address, (const cuuint64_t *)map->shape,
            (const cuuint64_t *)(map->strides + 1), map->box, map->steps, (CUtensorMapInterleave)map->interleave,
            (CUtensorMapSwizzle)map->swizzle, (CUtensorMapL2promotion)map->promotion,
            (CUtensorMapFloatOOBfill)map->fill);
    if (result == CUDA_SUCCESS)
        memcpy(to, &made, sizeof made);
    return result == CUDA_SUCCESS ? KILN_OK
           : result == CUDA_ERROR_NOT_SUPPORTED
               ? kiln__plan_fail_at(
                     m->plan, m->error, KILN_ERROR_UNSUPPORTED, m->arg->pos,
                     "argument %zu of %s: %s, or its driver, has no such tensor maps: they need compute capability "
                     "9.0 and CUDA 12; packed types and atoms other than 16 need later versions",
                     m->number, m->kernel, m->plan->engine->info.name)
               : kiln__driver_fail(driver, m->plan->mem, result, m->error, "making the tensor map of '%s'",
                                   m->arg->text);
}

/* Evaluates the parts of a map, checks the rules that the driver's manual states, and lets the driver make the map. */
kiln_status kiln__tensor_map_make(kiln_plan *plan, const kiln__argument *arg, const kiln__plan_kernel *kernel,
                                  size_t number, const kiln__scope *scope, CUdeviceptr address, void *to,
                                  kiln_error **error)
{
    making m = {.plan = plan,
                .arg = arg,
                .tensor = arg->tensor,
                .scope = scope,
                .buffer = kiln__plan_buffer_named(plan, arg->buffer),
                .kernel = kernel->name,
                .number = number,
                .map.address = address,
                .error = error};
    kiln__tensor_fault fault;
    _Static_assert(sizeof(CUtensorMap) == KILN__TENSOR_SIZE, "a CUtensorMap has 128 bytes");
    kiln_status status = set_type(&m);
    if (status == KILN_OK)
        status = set_shape(&m);
    if (status == KILN_OK)
        status = set_strides(&m);
    if (status == KILN_OK)
        status = m.tensor->box_count ? set_box(&m) : set_im2col(&m);
    if (status == KILN_OK)
        status = set_steps(&m);
    if (status == KILN_OK)
        status = set_modes(&m);
    if (status == KILN_OK && !kiln__driver_tensor_map_check(&m.map, &fault))
        status = fail_at(&m, place_of(&m, fault.field), "argument %zu of %s: %s", number, kernel->name, fault.text);
    if (status == KILN_OK && !kiln__driver_tensor_map_runs(&plan->engine->driver, &m.map, &fault))
        status = kiln__plan_fail_at(plan, error, KILN_ERROR_UNSUPPORTED, place_of(&m, fault.field),
                                    "argument %zu of %s: %s", number, kernel->name, fault.text);
    if (status == KILN_OK)
        status = check_extent(&m, address - m.buffer->pointer);
    return status == KILN_OK ? encode(&m, to) : status;
}
