/* expect.c - computes the expected outputs of a trial and the allowed error of each element, and compares.
 *
 * The spec's tolerances apply to inputs from the spec's own distribution. For other input values, the judge also allows
 * the error by which the computation itself amplifies roundings of its inputs. To find this error, it computes the
 * reference again for inputs that are changed by a known relative amount. It scales the difference of the two answers
 * to one rounding of the arithmetic. This is a backward error analysis by perturbation (Higham, Accuracy and Stability
 * of Numerical Algorithms, 2002, section 1.6).
 *
 * If the terms of a sum cancel, the sum may be as wrong as the worst order of summation makes it. An element without
 * cancellation keeps the spec's tolerance. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "judge_internal.h"

enum {
    CHANGES = 2, /* The number of random changes of the inputs. The judge computes the reference for each of them. */
    SHRINK = 2,  /* Passed as `change` in place of a seed (seeds are odd): all elements become smaller in magnitude. */
    /* The tolerance allows for ROUNDINGS sqrt(n) roundings of each input, where n is the largest size. */
    ROUNDINGS = 16,
    /* An input changes by 2^CHANGE_BITS roundings, so that the rounding of the answers does not hide the effect. */
    CHANGE_BITS = 10
};

void kiln__judge_drop_expected(kiln__judge *judge)
{
    for (size_t v = 0; v < judge->spec->verify_count; v++) {
        kiln__array_free(judge->mem, &judge->expected[v].want);
        judge->expected[v].want.data = NULL;
        kiln__free(judge->mem, judge->allowed[v]);
        judge->allowed[v] = NULL;
    }
}

static size_t find_buffer(const kiln__judge *judge, const char *name)
{
    size_t i = 0;
    while (strcmp(judge->buffers[i].buffer->name, name) != 0)
        i++;
    return i;
}

static bool is_complex(kiln_type type) { return type == KILN_complex64 || type == KILN_complex128; }
/* Returns the type of a real or imaginary part for a complex type, and the type itself for other types. The two parts
 * of a complex number are compared separately. */
static kiln_type part_of(kiln_type type)
{
    return type == KILN_complex64 ? KILN_f32 : type == KILN_complex128 ? KILN_f64 : type;
}
static uint64_t parts_of(const kiln__once_buffer *b) { return is_complex(b->type) ? 2 * b->elements : b->elements; }

/* Returns half the distance of 1 and the next larger number of the type, the largest relative error of a rounding.
 * Returns 0 for integers. */
static double rounding_of(kiln_type type)
{
    static const struct {
        int exponent, mantissa;
        bool real;
    } types[] = {
#define REAL_SIGNED false
#define REAL_UNSIGNED false
#define REAL_BOOLEAN false
#define REAL_FLOAT true
#define REAL_FINITE true
#define REAL_NUMBER true
#define REAL_POWER false /* half of a power of two is not a small change of a value */
#define REAL_COMPLEX true
#define KILN_X(name, bytes, numpy, kind, exponent, mantissa, ...) {exponent, mantissa, REAL_##kind},
        KILN_TYPE_MAP(KILN_X)
#undef KILN_X
    };
    return types[type].real ? ldexp(1, -types[type].mantissa - 1) : 0;
}

/* Writes the input values to the plan of a reference. If `change` is 0, the values do not change. If it is SHRINK, each
 * element of a floating-point input becomes smaller in magnitude. Otherwise `change` is a seed, and each such element
 * changes by 2^CHANGE_BITS roundings, up or down at random. */
static kiln_status write_contents(kiln__judge *judge, kiln_plan *plan, uint64_t change, kiln_error **error)
{
    kiln__random random = {change};
    for (size_t i = 0; i < judge->spec->buffer_count; i++) {
        const kiln__once_buffer *b = &judge->buffers[i];
        const kiln_array *content = &judge->places[i].content;
        const double rounding = rounding_of(part_of(b->type));
        if (!content->data || b->bytes == 0)
            continue;
        void *data = content->data, *changed = NULL;
        if (change && rounding > 0) {
            /* Elements of 16 bits or fewer change by four of their own roundings. scale_of() and scale_of_cuts() use
             * the same amount. */
            const double amount = rounding > 0x1p-20 ? 4 * rounding : ldexp(rounding, CHANGE_BITS);
            data = changed = kiln__alloc(judge->mem, (size_t)b->bytes);
            if (!changed)
                return kiln__fail_memory(error);
            for (uint64_t k = 0; k < parts_of(b); k++) {
                double value;
                kiln__to_doubles(part_of(b->type), content->data, k, 1, &value);
                value *= 1 + (change != SHRINK && (kiln__random_next(&random) & 1) ? amount : -amount);
                kiln__from_doubles(part_of(b->type), changed, k, 1, &value);
            }
        }
        kiln_status status = kiln_plan_write(plan, b->buffer->name, data, (size_t)b->bytes, error);
        kiln__free(judge->mem, changed);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

/* Returns the factor that converts the effect of changed inputs into the effect of one rounding of the arithmetic. For
 * inputs of 16 bits or fewer, this is a rounding in single precision, because kernels add such inputs in single
 * precision. */
static double scale_of(const kiln__judge *judge)
{
    double scale = 0;
    for (size_t i = 0; i < judge->spec->buffer_count; i++) {
        const double rounding = rounding_of(part_of(judge->buffers[i].type));
        if (rounding > 0 && judge->places[i].content.data) {
            const double amount = rounding > 0x1p-20 ? 4 * rounding : ldexp(rounding, CHANGE_BITS);
            scale = fmax(scale, fmin(rounding, 0x1p-24) / amount);
        }
    }
    return scale;
}

/* Computes the expected output of the entry `v` of the spec's key `verify`. `change` tells how to change the inputs, as
 * in write_contents(). The caller frees expected->want. */
static kiln_status compute(kiln__judge *judge, size_t v, uint64_t change, kiln__once_expected *expected,
                           kiln_error **error)
{
    kiln_plan *reference = judge->references[v].plan;
    const kiln__once_buffer *b = &judge->buffers[find_buffer(judge, judge->spec->verify[v].buffer)];
    if (!reference) {
        KILN__TRY(write_contents(judge, judge->original, change, error));
        return kiln__once_expect(judge->original, v, expected, error);
    }
    KILN__TRY(write_contents(judge, reference, change, error));
    KILN__TRY(kiln__once_tolerance(judge->original, v, expected, error));
    KILN__TRY(kiln__judge_run_trusted(judge, reference, error));
    KILN__TRY(kiln__array_make(judge->mem, b->type, b->dims, b->shape, &expected->want, error));
    kiln_status status = kiln_plan_read(reference, b->buffer->name, expected->want.data, (size_t)b->bytes, error);
    if (status != KILN_OK) {
        kiln__array_free(judge->mem, &expected->want);
        expected->want.data = NULL;
    }
    return status;
}

static void to_double(const kiln_array *array, uint64_t part, double *value)
{
    kiln__to_doubles(part_of(array->type), array->data, part, 1, value);
}

/* Adds to the allowed error of each element the effects of changed inputs on this element. `roundings` is the factor of
 * the effects of random changes. `cuts` is the factor of the effect of SHRINK. */
static kiln_status widen(kiln__judge *judge, size_t v, uint64_t seed, double roundings, double cuts, kiln_error **error)
{
    const kiln__once_buffer *b = &judge->buffers[find_buffer(judge, judge->spec->verify[v].buffer)];
    for (uint64_t change = cuts > 0 ? 0 : 1; change <= CHANGES; change++) {
        const double factor = change ? roundings : cuts;
        kiln__once_expected other = {0};
        KILN__TRY(compute(judge, v, change ? kiln__random_mix(seed + change) | 1 : SHRINK, &other, error));
        for (uint64_t i = 0; i < parts_of(b); i++) {
            double x, y;
            to_double(&judge->expected[v].want, i, &x);
            to_double(&other.want, i, &y);
            if (x == y || (isnan(x) && isnan(y))) /* also true for two equal infinities, whose difference is NaN */
                continue;
            const double by = factor * fabs(x - y);
            /* a difference of NaN tells nothing about the element, so any value is allowed */
            judge->allowed[v][i] += isnan(by) ? INFINITY : by;
        }
        kiln__array_free(judge->mem, &other.want);
    }
    return KILN_OK;
}

/* Returns the factor of the effect of SHRINK for sums of `n` products. Kernels may multiply inputs of 16 bits or fewer
 * on tensor cores, which add 8 or 16 products to an accumulator at once. Tensor cores truncate the accumulator towards
 * zero to 24 bits, and each product at 2^-25 of the accumulator (engine/sim/device/ops/README.md, after
 * arXiv:2511.10909). Truncation errors have the same sign, so they grow with n, and not with its square root.
 *
 * If all products have the same sign, the accumulator is on average half as large as the final sum S. Then the error is
 * at most S / 2 (n / 8 2^-23 + n 2^-25), which is below 2^-25 n S. If products of both signs cancel, the accumulator is
 * small, and so is the error. Returns 0 if all inputs have more than 16 bits. */
static double scale_of_cuts(const kiln__judge *judge, double n)
{
    double scale = 0;
    for (size_t i = 0; i < judge->spec->buffer_count; i++) {
        const double rounding = rounding_of(part_of(judge->buffers[i].type));
        if (rounding > 0x1p-20 && judge->places[i].content.data)
            scale = fmax(scale, 0x1p-25 * n / (4 * rounding));
    }
    return scale;
}

static double get_largest(const kiln__judge *judge, const kiln__judge_trial *trial)
{
    double most = 1;
    for (size_t i = 0; i < judge->range_count; i++)
        most = fmax(most, (double)trial->ranged[i]);
    return most;
}

kiln_status kiln__judge_expect(kiln__judge *judge, const kiln__judge_trial *trial, kiln_error **error)
{
    kiln__judge_drop_expected(judge);
    for (size_t v = 0; v < judge->spec->verify_count; v++) {
        const kiln__once_buffer *b = &judge->buffers[find_buffer(judge, judge->spec->verify[v].buffer)];
        kiln__once_expected *e = &judge->expected[v];
        KILN__TRY(compute(judge, v, 0, e, error));
        const uint64_t count = parts_of(b);
        if (e->exact || count == 0)
            continue;
        double *allowed = judge->allowed[v] = kiln__alloc(judge->mem, (size_t)count * sizeof *allowed);
        if (!allowed)
            return kiln__fail_memory(error);
        for (uint64_t i = 0; i < count; i++) {
            double x;
            to_double(&e->want, i, &x);
            allowed[i] = e->atol + (isfinite(x) ? e->rtol * fabs(x) : 0);
        }
        const double scale = scale_of(judge);
        if (trial->class != KILN__JUDGE_FILL && scale > 0 && rounding_of(b->type) > 0)
            KILN__TRY(widen(judge, v, trial->seed, ROUNDINGS * sqrt(get_largest(judge, trial)) * scale,
                            scale_of_cuts(judge, get_largest(judge, trial)), error));
    }
    return KILN_OK;
}

static double get_greatest(kiln_type type)
{
    switch (type) {
    case KILN_f16: return 65504;
    case KILN_f8e4m3: return 448;
    case KILN_f8e5m2: return 57344;
    case KILN_f64: return DBL_MAX;
    default: return FLT_MAX;
    }
}

/* Returns true if the element `got` is right where the reference has `want`. *allowed is the allowed error of the
 * element. If `allowed` is NULL, only an equal value is right. If `want` is above a quarter of the largest number of
 * the type, a partial result may have overflowed, so any value is right. */
static bool is_right(kiln_type type, double got, double want, const double *allowed)
{
    if (!allowed)
        return got == want || (isnan(got) && isnan(want));
    if (isnan(want) || isinf(want))
        return isinf(*allowed) || (isnan(want) ? isnan(got) : got == want);
    if (fabs(want) > get_greatest(type) / 4)
        return true;
    return fabs(got - want) <= *allowed + (type == KILN_f64 ? DBL_MIN : FLT_MIN);
}

static void print_index(const kiln__once_buffer *b, uint64_t element, char *room, size_t size)
{
    uint64_t at[KILN_MAX_DIMS];
    for (int d = b->dims; d-- > 0;) {
        at[d] = b->shape[d] ? element % b->shape[d] : 0;
        element = b->shape[d] ? element / b->shape[d] : 0;
    }
    int used = kiln__format(room, size, "%s[", b->buffer->name);
    for (int d = 0; d < b->dims && used >= 0 && (size_t)used < size; d++)
        used += kiln__format(room + used, size - (size_t)used, "%s%" PRIu64, d ? ", " : "", at[d]);
    if (used >= 0 && (size_t)used < size)
        kiln__format(room + used, size - (size_t)used, "]");
}

static void print_value(const kiln_array *array, uint64_t part, char room[40])
{
    double value;
    int64_t whole;
    if (array->type == KILN_i64 || array->type == KILN_u64) {
        memcpy(&whole, (const char *)array->data + 8 * part, sizeof whole);
        if (array->type == KILN_i64)
            kiln__format(room, 40, "%" PRId64, whole);
        else
            kiln__format(room, 40, "%" PRIu64, (uint64_t)whole);
        return;
    }
    to_double(array, part, &value);
    if (isnan(value))
        kiln__format(room, 40, "nan"); /* prints NaN without its sign */
    else
        kiln__format(room, 40, "%.9g", value);
}

/* Compares one output with the expected output, and sets the fault to its worst element. Compares integers of 64 bits
 * by their bytes. */
static void compare_one(kiln__judge *judge, size_t v, kiln__judge_fault *fault)
{
    const size_t at = find_buffer(judge, judge->spec->verify[v].buffer);
    const kiln__once_buffer *b = &judge->buffers[at];
    const kiln_array *want = &judge->expected[v].want;
    const kiln_array got = {.type = b->type, .data = judge->places[at].got};
    const bool bytes = b->type == want->type && kiln__type_bytes(b->type) == 8 && rounding_of(b->type) == 0;
    uint64_t wrong = 0, worst = 0;
    double most = -1;
    for (uint64_t i = 0; i < parts_of(b); i++) {
        double x, y;
        const double *allowed = judge->allowed[v] ? &judge->allowed[v][i] : NULL;
        to_double(&got, i, &x);
        to_double(want, i, &y);
        if (bytes && !allowed ? memcmp((const char *)got.data + 8 * i, (const char *)want->data + 8 * i, 8) == 0
                              : is_right(part_of(b->type), x, y, allowed))
            continue;
        const double off = fabs(x - y) / (allowed && *allowed > 0 ? *allowed : 1);
        if (!(off <= most)) {
            most = isnan(off) ? INFINITY : off;
            worst = i;
        }
        wrong++;
    }
    if (!wrong)
        return;
    *fault = (kiln__judge_fault){.kind = KILN_JUDGED_WRONG, .buffer = b->buffer->name, .wrong = wrong};
    fault->of = b->elements;
    fault->element = is_complex(b->type) ? worst / 2 : worst;
    print_index(b, fault->element, fault->index, sizeof fault->index);
    print_value(want, worst, fault->expected);
    print_value(&got, worst, fault->got);
    fault->message = kiln__judge_print(judge, "%s is %s, not %s; %" PRIu64 " of %" PRIu64 " elements are wrong",
                                       fault->index, fault->got, fault->expected, wrong, b->elements);
}

void kiln__judge_compare_window(kiln__judge *judge, const kiln__once_buffer *b, const kiln__judge_window *window,
                                const kiln__once_expected *tolerance, double factor, kiln__judge_fault *fault)
{
    const kiln_type part = part_of(b->type);
    const uint64_t parts = is_complex(b->type) ? 2 : 1;
    const size_t size = kiln__type_bytes(part);
    const kiln_array got = {.type = b->type, .data = (void *)(uintptr_t)window->got};
    const kiln_array want = {.type = b->type, .data = (void *)(uintptr_t)window->want};
    uint64_t wrong = 0, first = 0;
    for (uint64_t i = 0; i < parts * window->count; i++) {
        double x, y;
        if (memcmp((const char *)window->got + i * size, (const char *)window->want + i * size, size) == 0)
            continue;
        to_double(&got, i, &x);
        to_double(&want, i, &y);
        const double allowed = fmax(factor, 1) * (tolerance->atol + (isfinite(y) ? tolerance->rtol * fabs(y) : 0));
        if (rounding_of(part) > 0 && is_right(part, x, y, tolerance->exact ? NULL : &allowed))
            continue;
        first = wrong++ ? first : i;
    }
    if (!wrong)
        return;
    *fault = (kiln__judge_fault){.kind = KILN_JUDGED_WRONG, .buffer = b->buffer->name, .wrong = wrong};
    fault->of = b->elements;
    fault->element = window->first + first / parts;
    print_index(b, fault->element, fault->index, sizeof fault->index);
    print_value(&want, first, fault->expected);
    print_value(&got, first, fault->got);
    fault->message = kiln__judge_print(judge,
                                       "%s is %s, not %s; %" PRIu64 " of %" PRIu64 " compared elements are wrong",
                                       fault->index, fault->got, fault->expected, wrong, window->count);
}

void kiln__judge_compare(kiln__judge *judge, kiln__judge_fault *fault)
{
    for (size_t v = 0; v < judge->spec->verify_count && fault->kind == KILN_JUDGED_PASS; v++)
        compare_one(judge, v, fault);
}
