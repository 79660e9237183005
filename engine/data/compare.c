/* compare.c - compares a result with the expected result, element by element or by sums. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "data.h"

enum { CHUNK = 1024, PART = 1 << 18, PARTS_MOST = 256 };

/* Errors are counted in classes, from which the quantiles of the errors are computed. */
enum { CLASS_BITS = KILN__ERROR_BITS, LEAST_POWER = KILN__ERROR_LEAST, CLASSES = KILN__ERROR_CLASSES };

/* The result of comparing one part of the arrays. Parts are combined in order, so the result does not depend on the
 * threads. */
typedef struct finding {
    /* left: the number of elements that a sampled reference did not compute */
    uint64_t wrong, unwritten, left, worst_index;
    /* worst_distance finds the worst element if the tolerance is 0, because every error is infinite then */
    double worst_error, worst_distance;
} finding;

typedef struct comparison {
    const kiln_array *got, *want;
    bool exact, sampled;
    double rtol, atol;
    uint64_t count, part;
    size_t parts; /* the number of parts of an element: 2 for complex numbers */
    finding found[PARTS_MOST];
    /* the number of elements in each class of errors; errors below the first class are not counted */
    _Atomic uint64_t classes[CLASSES];
} comparison;

/* ---- quantiles of the errors ---- */

/* Returns the class of an error that is at least 2^LEAST_POWER. The class is the exponent and the highest bits of the
 * mantissa. */
static int class_of(double error)
{
    uint64_t bits;
    memcpy(&bits, &error, sizeof bits);
    uint64_t class = (bits >> (DBL_MANT_DIG - 1 - CLASS_BITS)) - ((DBL_MAX_EXP - 1 + LEAST_POWER) << CLASS_BITS);
    return class < CLASSES ? (int)class : CLASSES - 1;
}

/* Returns the error in the middle of a class. */
static double error_of(int class)
{
    double part = 1 + ((class & ((1 << CLASS_BITS) - 1)) + 0.5) / (1 << CLASS_BITS);
    return ldexp(part, LEAST_POWER + (class >> CLASS_BITS));
}

/* Returns an error that the `elements` elements with the smallest errors do not exceed. */
static double quantile(const kiln__counted *counted, uint64_t elements, uint64_t compared)
{
    uint64_t above = compared - elements; /* the number of elements that have larger errors */
    const double worst = counted->worst_error;
    for (int i = CLASSES - 1; i >= 0; i--) {
        const uint64_t here = counted->classes[i];
        if (here > above)
            return i == CLASSES - 1 || error_of(i) > worst ? worst : error_of(i);
        above -= here;
    }
    return 0;
}

void kiln__array_counted(const char *name, uint64_t elements, const kiln__counted *counted,
                         kiln__difference *difference)
{
    const uint64_t compared = elements - counted->left;
    memset(difference, 0, sizeof *difference);
    difference->worst_error = counted->worst_error;
    difference->median_error = quantile(counted, compared - compared / 2, compared);
    difference->p999_error = quantile(counted, compared - compared / 1000, compared);
    snprintf(difference->text, sizeof difference->text, "%.80s: %" PRIu64 " elements are right", name, elements);
}

static bool is_poison(const kiln_array *array, uint64_t index)
{
    size_t size = kiln__type_bytes(array->type), width;
    uint32_t pattern = kiln__poison_pattern(array->type, &width);
    const unsigned char *data = (const unsigned char *)array->data + index * size;
    for (size_t i = 0; i < size; i++)
        if (data[i] != (unsigned char)(pattern >> 8 * (i % width)))
            return false;
    return true;
}

/* Returns true if any of `count` elements of `size` bytes equals the pattern. The loop reads words, so that compilers
 * make vector code of it. Most elements of a large output are tested only in this way. */
static bool any_is(const void *data, size_t count, size_t size, uint32_t pattern)
{
    size_t found = 0;
    if (size == 4) {
        const uint32_t *words = data;
        for (size_t i = 0; i < count; i++)
            found += words[i] == pattern;
    } else if (size == 2) {
        const uint16_t *words = data;
        for (size_t i = 0; i < count; i++)
            found += words[i] == (uint16_t)pattern;
    } else if (size == 8) {
        const uint64_t *words = data, both = (uint64_t)pattern << 32 | pattern;
        for (size_t i = 0; i < count; i++)
            found += words[i] == both;
    } else {
        return true; /* the caller then compares element by element */
    }
    return found > 0;
}

/* Returns true if the reference has computed none of the elements in a range, and the kernel has written all of
 * them. */
static bool is_left_out(const comparison *c, uint64_t first, size_t count)
{
    size_t width, size = kiln__type_bytes(c->got->type);
    const uint32_t pattern = kiln__poison_pattern(c->got->type, &width);
    const size_t all = count * size;
    const char *want = (const char *)c->want->data + first * size;
    if (!c->sampled || c->got->type != c->want->type || size < 2 || width > size || !is_poison(c->want, first) ||
        memcmp(want, want + size, all - size) != 0)
        return false;
    uint32_t repeated = pattern;
    if (width == 1)
        repeated = (pattern & 0xff) * UINT32_C(0x01010101);
    else if (width == 2)
        repeated = (pattern & 0xffff) * UINT32_C(0x00010001);
    return !any_is((const char *)c->got->data + first * size, count, size, repeated);
}

/* Returns |got - want|. Computes 64-bit integers as integers, because doubles could round both to the same value. */
static double distance_of(const comparison *c, uint64_t index, double got, double want)
{
    if (c->got->type == KILN_i64) {
        int64_t a = ((const int64_t *)c->got->data)[index], b = ((const int64_t *)c->want->data)[index];
        return (double)(a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a);
    }
    if (c->got->type == KILN_u64) {
        uint64_t a = ((const uint64_t *)c->got->data)[index], b = ((const uint64_t *)c->want->data)[index];
        return (double)(a > b ? a - b : b - a);
    }
    if ((got == want && isinf(got)) || (isnan(got) && isnan(want)))
        return 0;
    return fabs(got - want);
}

/* Compares one element, which is a number or the real and the imaginary part of a complex number. In each part, NaN
 * equals NaN. `classes` has the counts of errors in this task. */
static void compare_element(const comparison *c, finding *f, uint64_t index, const double *got, const double *want,
                            uint32_t *classes)
{
    double distance = distance_of(c, index, got[0], want[0]), size = fabs(want[0]), error;
    bool signs = signbit(got[0]) != signbit(want[0]) && !isnan(want[0]);
    if (c->parts == 2) {
        distance = hypot(distance, distance_of(c, index, got[1], want[1]));
        /* infinite parts are either equal or wrong, so they do not count for the modulus */
        size = hypot(isinf(want[0]) ? 0 : want[0], isinf(want[1]) ? 0 : want[1]);
        signs |= signbit(got[1]) != signbit(want[1]) && !isnan(want[1]);
    }
    if (c->exact && distance == 0 && signs && kiln__types[c->got->type].exponent)
        distance = 0x1p-1074; /* 0 and -0 are equal, but they have different bits */
    if (distance == 0)
        return;
    double tolerance = c->exact ? 0 : c->atol + c->rtol * size;
    if (isnan(distance) || isinf(distance) || isnan(tolerance))
        distance = error = INFINITY; /* one of the two values is a NaN or an infinity */
    else
        error = tolerance > 0 ? distance / tolerance : INFINITY;
    if (error >= 0x1p-48) /* LEAST_POWER */
        classes[class_of(error)]++;
    bool wrong = error > 1;
    if (wrong) {
        f->wrong++;
        f->unwritten += is_poison(c->got, index);
    }
    if (error > f->worst_error || (error == f->worst_error && distance > f->worst_distance)) {
        f->worst_error = error;
        f->worst_distance = distance;
        f->worst_index = index;
    }
}

/* Handles an element that the reference has not computed. The element is wrong if the kernel has not written it. */
static void look_whether_written(const comparison *c, finding *f, uint64_t index)
{
    if (!is_poison(c->got, index))
        return;
    f->wrong++;
    f->unwritten++;
    if (isinf(f->worst_distance))
        return; /* the message describes only the first such element */
    f->worst_error = f->worst_distance = INFINITY;
    f->worst_index = index;
}

/* Compares one part of the arrays. The function is a task of kiln__parallel(). Compares the bytes first, because most
 * elements are equal. Elements with different bytes are converted to doubles and compared with the tolerance. Each part
 * keeps its own counts, and only the classes of errors are shared. */
static void compare_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    comparison *c = user;
    finding f = {0};
    size_t size = kiln__type_bytes(c->got->type);
    kiln_type type = kiln__type_part(c->got->type), wider = kiln__type_part(c->want->type);
    uint64_t first = part * c->part, last = first + c->part < c->count ? first + c->part : c->count;
    double got[2 * CHUNK], want[2 * CHUNK];
    uint32_t classes[CLASSES] = {0};
    while (first < last) {
        size_t count = last - first < CHUNK ? (size_t)(last - first) : CHUNK;
        const char *a = (const char *)c->got->data + first * size, *b = (const char *)c->want->data + first * size;
        if (is_left_out(c, first, count))
            f.left += count;
        else if (c->sampled || type != wider || memcmp(a, b, count * size) != 0) {
            kiln__to_doubles(type, c->got->data, first * c->parts, count * c->parts, got);
            kiln__to_doubles(wider, c->want->data, first * c->parts, count * c->parts, want);
            for (size_t i = 0; i < count; i++)
                if (c->sampled && is_poison(c->want, first + i)) {
                    f.left++;
                    look_whether_written(c, &f, first + i);
                } else
                    compare_element(c, &f, first + i, got + i * c->parts, want + i * c->parts, classes);
        }
        first += count;
    }
    c->found[part] = f;
    for (int i = 0; i < CLASSES; i++)
        if (classes[i])
            atomic_fetch_add_explicit(&c->classes[i], classes[i], memory_order_relaxed);
}

static bool has_all_of(kiln_type wider, kiln_type type)
{
    const kiln__type_row *a = &kiln__types[wider], *b = &kiln__types[type];
    bool complex = kiln__type_part(type) != type;
    if (complex || kiln__type_part(wider) != wider)
        return complex && kiln__type_part(wider) != wider && a->bytes >= b->bytes;
    if (kiln__type_is_float(wider))
        return kiln__type_is_float(type) && a->exponent >= b->exponent && a->mantissa >= b->mantissa;
    return kiln__type_is_integer(wider) && kiln__type_is_integer(type) && b->bytes < 8;
}

bool kiln__array_comparable(const kiln_array *got, const kiln_array *want, kiln_type *type)
{
    bool reads = kiln__type_reads(got->type, want->type), same = got->dims == want->dims;
    uint64_t a = 1, b = 1;
    for (int d = 0; d < got->dims; d++)
        a *= got->shape[d];
    for (int d = 0; d < want->dims; d++)
        b *= want->shape[d];
    for (int d = 0; same && d < got->dims; d++)
        same = got->shape[d] == want->shape[d];
    *type = reads ? got->type : want->type; /* a file cannot name all types */
    return (reads || has_all_of(want->type, got->type)) && (same || (a == b && (got->dims == 1 || want->dims == 1)));
}

static int print_number(char *out, size_t room, kiln_type type, const void *data, uint64_t index)
{
    double value;
    kiln__to_doubles(type, data, index, 1, &value);
    if (isnan(value)) /* the sign of a NaN means nothing */
        return snprintf(out, room, "nan");
    int bits = kiln__types[type].exponent ? kiln__types[type].mantissa : 24;
    return kiln__format(out, room, "%.*g", bits > 24 ? 17 : bits > 10 ? 10 : 5, value);
}

static int print_element(char *out, size_t room, const kiln_array *array, uint64_t index)
{
    kiln_type part = kiln__type_part(array->type);
    char other[40];
    switch (array->type) {
    case KILN_i64: return snprintf(out, room, "%" PRId64, ((const int64_t *)array->data)[index]);
    case KILN_u64: return snprintf(out, room, "%" PRIu64, ((const uint64_t *)array->data)[index]);
    default: break;
    }
    if (part == array->type)
        return print_number(out, room, part, array->data, index);
    int length = print_number(out, room, part, array->data, 2 * index);
    print_number(other, sizeof other, part, array->data, 2 * index + 1);
    return snprintf(out + length, room - (size_t)length, "%s%sj", other[0] == '-' ? "" : "+", other);
}

enum { PLACE_BYTES = 8 * 22 };

/* Writes the index of an element, such as "[3, 17]". */
static void print_place(char *place, const kiln_array *array, uint64_t element)
{
    uint64_t index[KILN_MAX_DIMS];
    size_t n = 0;
    for (int d = array->dims - 1; d >= 0; d--) {
        index[d] = element % array->shape[d];
        element /= array->shape[d];
    }
    place[0] = '\0';
    for (int d = 0; d < array->dims; d++)
        n += (size_t)snprintf(place + n, PLACE_BYTES - n, "%s%" PRIu64, d ? ", " : "[", index[d]);
    if (n)
        snprintf(place + n, PLACE_BYTES - n, "]");
}

static void describe(const char *name, const comparison *c, const finding *f, char *text, size_t room)
{
    char place[PLACE_BYTES], got[64], want[64], size[64] = "";
    print_place(place, c->got, f->worst_index);
    print_element(got, sizeof got, c->got, f->worst_index);
    print_element(want, sizeof want, c->want, f->worst_index);
    bool unwritten = is_poison(c->got, f->worst_index);
    if (c->sampled && is_poison(c->want, f->worst_index))
        snprintf(want, sizeof want, "a number");
    if (isfinite(f->worst_error))
        kiln__format(size, sizeof size, " (error %.3g times the tolerance)", f->worst_error);
    else if (isfinite(f->worst_distance) && f->worst_distance >= 0x1p-1000)
        kiln__format(size, sizeof size, " (off by %.3g)", f->worst_distance);
    int length = snprintf(text, room, "%.80s%s: got %s, want %s%s; %" PRIu64 " of %" PRIu64 " wrong", name, place,
                          unwritten ? "nothing (never written)" : got, want, size, f->wrong, c->count);
    if (f->unwritten && length > 0 && (size_t)length < room)
        snprintf(text + length, room - (size_t)length, ", %" PRIu64 " never written", f->unwritten);
}

static void compare(const char *name, comparison *c, kiln__difference *difference)
{
    c->parts = kiln__type_part(c->got->type) == c->got->type ? 1 : 2;
    finding all = {0};
    uint64_t bytes = 0;
    kiln__array_bytes(c->got->type, c->got->dims, c->got->shape, &bytes);
    c->count = bytes / kiln__type_bytes(c->got->type);
    c->part = c->count / PARTS_MOST + 1 > PART ? c->count / PARTS_MOST + 1 : PART;
    size_t parts = (size_t)((c->count + c->part - 1) / c->part);
    kiln__parallel(0, parts, compare_part, c);
    for (size_t i = 0; i < parts; i++) {
        const finding *f = &c->found[i];
        all.wrong += f->wrong;
        all.unwritten += f->unwritten;
        all.left += f->left;
        if (f->worst_error > all.worst_error ||
            (f->worst_error == all.worst_error && f->worst_distance > all.worst_distance)) {
            all.worst_error = f->worst_error;
            all.worst_distance = f->worst_distance;
            all.worst_index = f->worst_index;
        }
    }
    kiln__counted counted = {.wrong = all.wrong, .left = all.left, .worst_error = all.worst_error};
    for (int i = 0; i < CLASSES; i++)
        counted.classes[i] = atomic_load_explicit(&c->classes[i], memory_order_relaxed);
    kiln__array_counted(name, c->count, &counted, difference);
    difference->wrong = all.wrong;
    difference->unwritten = all.unwritten;
    difference->worst_index = all.worst_index;
    if (c->count && all.left == c->count) { /* no element has been compared, so the run has checked nothing */
        difference->wrong = c->count;
        snprintf(difference->text, sizeof difference->text,
                 "%.80s: the reference computed none of the %" PRIu64 " elements", name, c->count);
    } else if (all.wrong)
        describe(name, c, &all, difference->text, sizeof difference->text);
}

void kiln__array_compare(const char *name, const kiln_array *got, const kiln_array *want, bool exact, double rtol,
                         double atol, kiln__difference *difference)
{
    comparison c = {.got = got, .want = want, .exact = exact, .rtol = rtol, .atol = atol};
    compare(name, &c, difference);
}

void kiln__array_compare_sample(const char *name, const kiln_array *got, const kiln_array *want, bool exact,
                                double rtol, double atol, kiln__difference *difference)
{
    comparison c = {.got = got, .want = want, .exact = exact, .sampled = true, .rtol = rtol, .atol = atol};
    compare(name, &c, difference);
}

/* ---- products of matrices, by random sums ----
 *
 * To check the product C = A B, Kiln compares C r with A (B r) for a random vector r (R. Freivalds, "Probabilistic
 * machines can use less running time", 1977). This takes as long as reading the matrices. Here r covers only
 * KILN__PROJECTED columns at a time, so that one wrong element is not lost among thousands of correct elements.
 *
 * The bound of an error: Let e_j be the errors of a row of correct elements, so |e_j| <= t_j = atol + rtol |want_j|.
 * The weights r_j are independent, symmetric about 0, and |r_j| <= 1. The weights do not depend on the errors. By
 * Hoeffding's inequality
 *     P(|sum r_j e_j| > L sqrt(sum t_j^2)) <= 2 exp(-L^2 / 2),
 * whatever the errors are. With L = 8 the right side is 2.6e-14 for each sum. So 10^6 sums refuse a correct answer with
 * a probability of 3e-8. For a correct element, |want_j| <= (|got_j| + atol) / (1 - rtol). So the bound needs no
 * reference.
 *
 * The check finds an element whose error is more than twice the bound divided by the weight of the element. Each weight
 * is at least 1/2. If all tolerances of a row are equal, such an error is 4 * 8 * sqrt(64) = 256 times the tolerance.
 * Errors of opposite sign do not cancel, because the weights differ. The sums do not find smaller errors. The direct
 * comparison finds them where the reference has computed the elements. */
#define PROJECTED_DEVIATIONS 8

typedef struct projected {
    const kiln_array *got;
    const kiln__projection *by;
    double rtol, atol;
    uint64_t rows, columns, blocks;
    _Atomic uint64_t wrong, first; /* first: the number of the first sum that is wrong */
} projected;

/* Computes the weighted sum with the number `block` in a row. Returns its distance from the sum of the reference.
 * *bound gets the largest distance that a row of right elements may have. */
static double project_row(const projected *p, uint64_t row, uint64_t block, double *bound)
{
    const uint64_t first = block * KILN__PROJECTED;
    const size_t count = p->columns - first < KILN__PROJECTED ? (size_t)(p->columns - first) : KILN__PROJECTED;
    const double *weights = (const double *)p->by->weights->data + first;
    double got[KILN__PROJECTED], sum = 0, squares = 0, sizes = 0;
    kiln__to_doubles(p->got->type, p->got->data, row * p->columns + first, count, got);
    for (size_t j = 0; j < count; j++) {
        const double size = fabs(got[j]), t = p->atol + p->rtol * (size + p->atol) / (1 - p->rtol);
        sum += weights[j] * got[j];
        squares += t * t;
        sizes += size;
    }
    *bound = PROJECTED_DEVIATIONS * sqrt(squares) + p->by->slack + KILN__PROJECTED * 0x1p-52 * sizes;
    return fabs(sum - ((const double *)p->by->sums->data)[row * p->blocks + block]);
}

static void project_part(void *user, size_t row, size_t worker)
{
    projected *p = user;
    (void)worker;
    for (uint64_t block = 0; block < p->blocks; block++) {
        double bound;
        const double off = project_row(p, row, block, &bound);
        if (off <= bound) /* NaN is wrong */
            continue;
        const uint64_t number = row * p->blocks + block;
        uint64_t least = atomic_load(&p->first);
        atomic_fetch_add(&p->wrong, 1);
        while (number < least && !atomic_compare_exchange_weak(&p->first, &least, number))
            ;
    }
}

void kiln__array_compare_projected(const char *name, const kiln_array *got, const kiln_array *want,
                                   const kiln__projection *projection, double rtol, double atol,
                                   kiln__difference *difference)
{
    projected p = {.got = got, .by = projection, .rtol = rtol, .atol = atol};
    kiln__array_compare_sample(name, got, want, false, rtol, atol, difference);
    p.rows = got->shape[0];
    p.columns = got->shape[1];
    p.blocks = (p.columns + KILN__PROJECTED - 1) / KILN__PROJECTED;
    atomic_init(&p.wrong, 0);
    atomic_init(&p.first, UINT64_MAX);
    kiln__parallel(0, (size_t)p.rows, project_part, &p);
    const uint64_t wrong = atomic_load(&p.wrong), first = atomic_load(&p.first);
    if (wrong == 0)
        return;
    const bool before = difference->wrong > 0;
    double bound, off = project_row(&p, first / p.blocks, first % p.blocks, &bound);
    const uint64_t column = first % p.blocks * KILN__PROJECTED,
                   last = column + KILN__PROJECTED < p.columns ? column + KILN__PROJECTED : p.columns;
    difference->wrong += wrong;
    difference->worst_error = fmax(difference->worst_error, isnan(off) ? INFINITY : off / bound);
    if (!before) /* keeps the text about a wrong element, because it is more precise than the text about a sum */
        kiln__format(difference->text, sizeof difference->text,
                     "%.80s[%" PRIu64 ", %" PRIu64 "..%" PRIu64
                     "]: the sum with random weights is off by %.3g, and right "
                     "elements are within %.3g; %" PRIu64 " of %" PRIu64 " such sums are wrong",
                     name, first / p.blocks, column, last - 1, off, bound, wrong, p.rows * p.blocks);
}

void kiln__array_changed(const char *name, const kiln_array *before, const void *now, uint64_t first, uint64_t count,
                         kiln__change *change)
{
    size_t size = kiln__type_bytes(before->type);
    const char *a = (const char *)before->data + first * size, *b = now;
    if (memcmp(a, b, (size_t)count * size) == 0)
        return;
    for (uint64_t i = 0; i < count; i++) {
        if (memcmp(a + i * size, b + i * size, size) == 0 || change->count++)
            continue;
        kiln_array piece = *before;
        char place[PLACE_BYTES], was[64], is[64];
        piece.data = (void *)(uintptr_t)b; /* nothing writes to this data */
        print_place(place, before, first + i);
        print_element(was, sizeof was, before, first + i);
        print_element(is, sizeof is, &piece, i);
        if (strcmp(was, is) == 0) /* the two values have different bits but the same text, for example two NaNs */
            snprintf(is, sizeof is, "equal to that except for the last bits");
        snprintf(change->text, sizeof change->text, "%.80s%s was %s and is %s", name, place, was, is);
    }
}
