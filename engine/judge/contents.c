/* contents.c - the elements of inputs. Each class aims at faults that uniform numbers do not show: ties at orders and
 * maxima, cancelling pairs at sums in too few bits, ends of the range at overflow, special values at comparisons. */
#include <math.h>
#include <string.h>

#include "judge_internal.h"

const char *kiln__judge_class_word(kiln__judge_class of)
{
    static const char *const words[] = {
#define KILN_X(name, word, about) word,
        KILN__JUDGE_CLASSES(KILN_X)
#undef KILN_X
    };
    return words[of];
}

const kiln__assumption *kiln__judge_assumption(const kiln__judge *judge, const char *name)
{
    for (size_t i = 0; i < judge->spec->assumption_count; i++)
        if (strcmp(judge->spec->assumptions[i].name, name) == 0)
            return &judge->spec->assumptions[i];
    return NULL;
}

static bool is_float(kiln_type type)
{
    return type == KILN_f16 || type == KILN_f32 || type == KILN_f64 || type == KILN_bf16 || type == KILN_f8e4m3 ||
           type == KILN_f8e5m2 || type == KILN_complex64 || type == KILN_complex128;
}

/* A buffer whose elements the judge may choose: its fill is random, or the contract gives a range. */
static bool is_drawn(const kiln__judge *judge, const kiln__once_buffer *b)
{
    const kiln__assumption *a = b->of_spec ? kiln__judge_assumption(judge, b->buffer->name) : NULL;
    const kiln__fill_kind kind = b->buffer->fill.kind;
    return b->of_spec && kind != KILN__FILL_NONE && kind != KILN__FILL_FILE && kind != KILN__FILL_FROM &&
           (kind == KILN__FILL_UNIFORM || kind == KILN__FILL_NORMAL || kind == KILN__FILL_ZIPF || (a && a->has_from));
}

bool kiln__judge_class_fits(const kiln__judge *judge, kiln__judge_class class)
{
    for (size_t i = 0; i < judge->spec->assumption_count; i++)
        if (judge->spec->assumptions[i].special)
            return true;
    return class != KILN__JUDGE_SPECIAL;
}

/* Sets the range of the elements: the one of the contract, or the one of the fill. */
static kiln_status find_range(kiln__judge *judge, size_t buffer, double *low, double *high, kiln__fill_values *fill,
                              kiln_error **error)
{
    const kiln__once_buffer *b = &judge->buffers[buffer];
    const kiln__assumption *a = kiln__judge_assumption(judge, b->buffer->name);
    KILN__TRY(kiln__once_fill(judge->candidate, buffer, fill, error));
    const double spread = fabs(fill->b) * 4;
    *low = fill->kind == KILN__FILL_NORMAL ? fill->a - spread : fill->kind == KILN__FILL_UNIFORM ? fill->a : 0;
    *high = fill->kind == KILN__FILL_NORMAL    ? fill->a + spread
            : fill->kind == KILN__FILL_ZIPF    ? fill->a - 1
            : fill->kind == KILN__FILL_UNIFORM ? fill->b
                                               : 0;
    if (a && a->has_from) {
        *low = a->from;
        *high = a->to;
        if (fill->kind != KILN__FILL_UNIFORM && fill->kind != KILN__FILL_NORMAL)
            *fill = (kiln__fill_values){.kind = KILN__FILL_UNIFORM,
                                        .a = *low,
                                        .b = *high,
                                        .integers = !is_float(b->type),
                                        .ia = is_float(b->type) ? 0 : (int64_t)*low,
                                        .ib = is_float(b->type) ? 0 : (int64_t)*high};
    }
    return KILN_OK;
}

static double between(kiln__random *random, double low, double high)
{
    const double u = kiln__random_unit(random);
    return low * (1 - u) + high * u;
}

/* A value whose magnitude is uniform in its exponent, over 2^-24 of the range's larger end and above. */
static double draw_spread(kiln__random *random, double low, double high)
{
    const double most = fmax(fabs(low), fabs(high));
    double value = ldexp(most, -(int)kiln__random_below(random, 25)) * between(random, 0.5, 1);
    if (low < 0 && (high <= 0 || kiln__random_below(random, 2)))
        value = -value;
    return fmin(fmax(value, low), high);
}

static double draw_special(kiln__random *random, double low, double high)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 0x1p-149, -0x1p-140, 0x1p-126};
    const uint64_t at = kiln__random_below(random, 40);
    return at < KILN__COUNT(values) ? values[at] : between(random, low, high);
}

/* Element `i` of a class other than `fill`. *previous is the element before. */
static double draw(kiln__random *random, kiln__judge_class class, double low, double high, uint64_t i,
                   const double ties[3], double *previous)
{
    double value = 0;
    switch (class) {
    case KILN__JUDGE_TIES: value = ties[kiln__random_below(random, 3)]; break;
    case KILN__JUDGE_EDGES: value = kiln__random_below(random, 2) ? high : low; break;
    case KILN__JUDGE_SPREAD: value = draw_spread(random, low, high); break;
    case KILN__JUDGE_CANCEL:
        value = i % 2 ? -*previous * (1 + between(random, -0x1p-9, 0x1p-9)) : between(random, low, high);
        value = fmin(fmax(value, low), high);
        break;
    case KILN__JUDGE_ONE_HOT: value = kiln__random_below(random, 37) == 0 ? ties[1] : ties[0]; break;
    case KILN__JUDGE_SPECIAL: value = draw_special(random, low, high); break;
    case KILN__JUDGE_FILL:
    case KILN__JUDGE_CLASS_COUNT: break;
    }
    return *previous = value;
}

/* Fills by a class: the spec's own distribution with another seed, or the elements that draw() makes. */
static kiln_status draw_all(kiln__judge *judge, size_t buffer, kiln__judge_class class, uint64_t seed,
                            kiln_array *content, kiln_error **error)
{
    const kiln__once_buffer *b = &judge->buffers[buffer];
    const kiln__assumption *a = kiln__judge_assumption(judge, b->buffer->name);
    kiln__fill_values fill;
    double low, high, previous = 0;
    KILN__TRY(find_range(judge, buffer, &low, &high, &fill, error));
    KILN__TRY(kiln__array_make(judge->mem, b->type, b->dims, b->shape, content, error));
    kiln__random random = {kiln__random_mix(seed ^ kiln__hash_short(b->buffer->name, strlen(b->buffer->name)))};
    fill.seed = kiln__random_next(&random) >> 1;
    const bool special = class == KILN__JUDGE_SPECIAL && (!a || !a->special);
    if (class == KILN__JUDGE_FILL || special || !(low < high) || (class == KILN__JUDGE_CANCEL && low >= 0)) {
        if (a && a->has_from && fill.kind == KILN__FILL_UNIFORM && class != KILN__JUDGE_FILL) {
            fill.a = low;
            fill.b = high;
        }
        kiln_status status = kiln__array_fill(content, &fill, judge->mem, error);
        if (status != KILN_OK)
            kiln__array_free(judge->mem, content);
        return status;
    }
    /* [low, high) of floats: the end itself is not in the spec's distribution, but the last number before it is */
    if (is_float(b->type) && fill.kind == KILN__FILL_UNIFORM && !(a && a->has_from))
        high -= (high - low) * 0x1p-9;
    const bool whole = !is_float(b->type);
    double ties[3];
    for (size_t i = 0; i < 3; i++)
        ties[i] = between(&random, low, high);
    if (low <= 0 && high >= 0 && class == KILN__JUDGE_ONE_HOT)
        ties[0] = 0;
    const bool complex = b->type == KILN_complex64 || b->type == KILN_complex128;
    const kiln_type part = b->type == KILN_complex64 ? KILN_f32 : b->type == KILN_complex128 ? KILN_f64 : b->type;
    const uint64_t count = complex ? 2 * b->elements : b->elements;
    for (uint64_t i = 0; i < count; i++) {
        double value = draw(&random, class, low, high, i, ties, &previous);
        value = whole ? floor(value) : value;
        kiln__from_doubles(part, content->data, i, 1, &value);
    }
    return KILN_OK;
}

kiln_status kiln__judge_content(kiln__judge *judge, size_t buffer, kiln__judge_class class, uint64_t seed,
                                kiln_array *content, kiln_error **error)
{
    const kiln__once_buffer *b = &judge->buffers[buffer];
    *content = (kiln_array){.type = b->type, .dims = b->dims};
    memcpy(content->shape, b->shape, sizeof content->shape);
    if (b->buffer->fill.kind == KILN__FILL_NONE || b->bytes == 0)
        return KILN_OK;
    return is_drawn(judge, b) ? draw_all(judge, buffer, class, seed, content, error)
                              : kiln__once_content(judge->candidate, buffer, content, error);
}
