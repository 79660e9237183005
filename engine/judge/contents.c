/* contents.c - makes the elements of inputs. The elements come from a class of input values, such as equal elements or
 * pairs that cancel. Each class can reveal faults that uniform random numbers hide. Equal elements reveal wrong orders
 * and wrong maxima. Pairs of elements that cancel reveal sums in too few bits. Elements at the ends of the range reveal
 * overflow. Special values such as NaN reveal wrong comparisons. */
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

static bool is_float(kiln_type type) { return kiln__type_is_float(type) || kiln__type_part(type) != type; }

bool kiln__judge_is_drawn(const kiln__judge *judge, const kiln__once_buffer *b)
{
    const kiln__assumption *a = b->of_spec ? kiln__judge_assumption(judge, b->buffer->name) : NULL;
    const kiln__fill_kind kind = b->buffer->fill.kind;
    return b->of_spec && kind != KILN__FILL_NONE && kind != KILN__FILL_FILE && kind != KILN__FILL_FROM &&
           (kind == KILN__FILL_UNIFORM || kind == KILN__FILL_NORMAL || kind == KILN__FILL_ZIPF || (a && a->has_from));
}

/* Returns true if the spec has inputs to which the class applies. */
static bool class_fits(const kiln__judge *judge, kiln__judge_class class)
{
    const kiln_spec *spec = judge->spec;
    if (class != KILN__JUDGE_SPECIAL && class != KILN__JUDGE_RANGE)
        return true;
    for (size_t i = 0; i < spec->assumption_count; i++) {
        const kiln__assumption *a = &spec->assumptions[i];
        if (class == KILN__JUDGE_SPECIAL ? a->special : !a->of_size && a->has_from)
            return true;
    }
    return false;
}

kiln__judge_class kiln__judge_choose_class(const kiln__judge *judge, unsigned number)
{
    kiln__judge_class fitting[KILN__JUDGE_CLASS_COUNT + 1];
    unsigned count = 0;
    for (unsigned c = 0; c < KILN__JUDGE_CLASS_COUNT; c++)
        if (class_fits(judge, (kiln__judge_class)c))
            fitting[count++] = (kiln__judge_class)c;
    /* The class `special` occurs twice in each round over the classes, because a trial has few elements, and eight
     * special values share them. */
    if (class_fits(judge, KILN__JUDGE_SPECIAL))
        fitting[count++] = KILN__JUDGE_SPECIAL;
    /* Each round over the classes begins one class later. Otherwise a class would always meet the same sizes, because
     * the kinds of sizes also take turns. */
    return fitting[(judge->options.seed + number + number / count) % count];
}

/* Finds the range of an input's elements. It is the range in the spec's key `judge`. If there is no such range, it is
 * the range of the fill. For a normal distribution, it reaches four standard deviations to each side of the mean. */
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
    }
    return KILN_OK;
}

static double between(kiln__random *random, double low, double high)
{
    const double u = kiln__random_unit(random);
    return low * (1 - u) + high * u;
}

/* Draws a value whose binary exponent is uniform. Let `most` be the magnitude of the larger end of the range. Then the
 * magnitude of the value is between 2^-25 times `most` and `most`. */
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

/* The generator of the elements of one buffer. */
typedef struct source {
    kiln__random random;
    kiln__judge_class class; /* the class of input values, neither FILL nor MIXED */
    double low, high;
    bool whole;      /* true if the elements are integers */
    uint64_t count;  /* the number of elements; a complex number counts as two */
    double ties[3];  /* the few different values of the classes TIES and ONE_HOT */
    double previous; /* the element that was drawn last */
    double width;    /* the width of the part of the range from which LOW and HIGH draw */
    double first;    /* the smallest value of the class STEPS */
    bool falling;    /* true if the values of the class STEPS fall to `first`; otherwise they rise from `first` */
    int64_t sizes[8];
    size_t size_count;
} source;

/* Draws the values that all elements of a buffer have in common. */
static void begin_source(source *s)
{
    enum { AROUND = 2 };
    const double starts[] = {s->low, 0, 0x1p24};
    for (size_t i = 0; i < 3; i++)
        s->ties[i] = between(&s->random, s->low, s->high);
    if (s->low <= 0 && s->high >= 0 && s->class == KILN__JUDGE_ONE_HOT)
        s->ties[0] = 0;
    s->width = ldexp(s->high - s->low, -3 - (int)kiln__random_below(&s->random, 12));
    s->first = starts[kiln__random_below(&s->random, 3)];
    s->first += (double)kiln__random_below(&s->random, 2 * AROUND + 1) - AROUND;
    s->first = s->first < s->low || s->first > s->high ? s->low : s->first;
    s->falling = kiln__random_below(&s->random, 2);
}

/* Draws a whole number near the sizes of the trial. The first elements are the neighbours of 0 and of each size, so
 * that a short buffer also contains them. Half of the later elements are such neighbours. The other half are random
 * numbers below a size. */
static double draw_size(source *s, uint64_t i)
{
    const uint64_t edges = 3 * (s->size_count + 1), at = i < edges ? i : kiln__random_below(&s->random, 2 * edges);
    if (at < edges)
        return (double)(at < 3 ? 0 : s->sizes[at / 3 - 1]) + (double)(at % 3) - 1;
    const int64_t below = s->size_count ? s->sizes[at % s->size_count] : 0;
    return below > 0 ? (double)kiln__random_below(&s->random, (uint64_t)below) : 0;
}

/* Draws element `i`. The caller draws the elements in ascending order, because the class CANCEL uses the previous
 * element. */
static double draw(source *s, uint64_t i)
{
    kiln__random *random = &s->random;
    double value = 0;
    switch (s->class) {
    case KILN__JUDGE_TIES: value = s->ties[kiln__random_below(random, 3)]; break;
    case KILN__JUDGE_EDGES: value = kiln__random_below(random, 2) ? s->high : s->low; break;
    case KILN__JUDGE_SPREAD: value = draw_spread(random, s->low, s->high); break;
    case KILN__JUDGE_CANCEL:
        value = i % 2 ? -s->previous * (1 + between(random, -0x1p-9, 0x1p-9)) : between(random, s->low, s->high);
        break;
    case KILN__JUDGE_ONE_HOT: value = kiln__random_below(random, 37) == 0 ? s->ties[1] : s->ties[0]; break;
    case KILN__JUDGE_SMALL: value = (double)kiln__random_below(random, 17) - 8; break;
    case KILN__JUDGE_STEPS:
        value = s->first + fmod((double)(s->falling ? s->count - 1 - i : i), floor(s->high - s->first) + 1);
        break;
    case KILN__JUDGE_LOW: value = s->low + between(random, 0, s->width); break;
    case KILN__JUDGE_HIGH: value = between(random, 0, s->width); break;
    case KILN__JUDGE_SIZES: value = draw_size(s, i); break;
    case KILN__JUDGE_SPECIAL: return s->previous = draw_special(random, s->low, s->high);
    case KILN__JUDGE_RANGE:
    case KILN__JUDGE_FILL:
    case KILN__JUDGE_MIXED:
    case KILN__JUDGE_CLASS_COUNT: value = between(random, s->low, s->high + s->whole); break;
    }
    value = s->whole ? floor(value) : value;
    if (s->class == KILN__JUDGE_HIGH)
        value = s->high - value;
    return s->previous = fmin(fmax(value, s->low), s->high);
}

/* Fills *content with elements of a class. FILL is the spec's own distribution with another seed. draw() makes the
 * elements of the other classes. For MIXED, the function first draws one of the other classes except SPECIAL. If a
 * class does not apply to this buffer, RANGE replaces it. */
static kiln_status draw_all(kiln__judge *judge, size_t buffer, kiln__judge_class class, uint64_t seed,
                            kiln_array *content, kiln_error **error)
{
    const kiln__once_buffer *b = &judge->buffers[buffer];
    const kiln__assumption *a = kiln__judge_assumption(judge, b->buffer->name);
    const bool complex = b->type == KILN_complex64 || b->type == KILN_complex128;
    const kiln_type part = b->type == KILN_complex64 ? KILN_f32 : b->type == KILN_complex128 ? KILN_f64 : b->type;
    source s = {.whole = !is_float(b->type), .count = complex ? 2 * b->elements : b->elements};
    kiln__fill_values fill;
    KILN__TRY(find_range(judge, buffer, &s.low, &s.high, &fill, error));
    KILN__TRY(kiln__array_make(judge->mem, b->type, b->dims, b->shape, content, error));
    s.random.state = kiln__random_mix(seed ^ kiln__hash_short(b->buffer->name, strlen(b->buffer->name)));
    fill.seed = kiln__random_next(&s.random) >> 1;
    if (class == KILN__JUDGE_MIXED)
        class = s.whole && kiln__random_below(&s.random, 2)
                    /* Integers may be indices. So in half of the cases they get the class SIZES. */
                    ? KILN__JUDGE_SIZES
                    : (kiln__judge_class)kiln__random_below(&s.random, KILN__JUDGE_MIXED);
    if (class == KILN__JUDGE_FILL) {
        kiln_status status = kiln__array_fill(content, &fill, judge->mem, error);
        if (status != KILN_OK)
            kiln__array_free(judge->mem, content);
        return status;
    }
    const bool applies = class == KILN__JUDGE_SPECIAL  ? a && a->special
                         : class == KILN__JUDGE_CANCEL ? s.low < 0
                         : class == KILN__JUDGE_SIZES  ? s.whole
                                                       : true;
    s.class = applies ? class : KILN__JUDGE_RANGE;
    /* A uniform fill of floats has the range [low, high). So `high` itself must not occur, but the numbers just below
     * it may. */
    if (!s.whole && fill.kind == KILN__FILL_UNIFORM && !(a && a->has_from))
        s.high -= (s.high - s.low) * 0x1p-9;
    s.size_count = kiln__judge_size_values(judge, s.sizes, KILN__COUNT(s.sizes));
    begin_source(&s);
    for (uint64_t i = 0; i < s.count; i++) {
        const double value = draw(&s, i);
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
    kiln_status status = kiln__judge_is_drawn(judge, b) ? draw_all(judge, buffer, class, seed, content, error)
                                                        : kiln__once_content(judge->candidate, buffer, content, error);
    if (status != KILN_OK)
        content->data = NULL; /* the caller must not free the array after an error */
    return status;
}
