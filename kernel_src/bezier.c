/* bezier.c - the input bezier_curves and the reference bezier_f64 of Bezier curves. A curve has three control points
 * with two coordinates each. Its number of points is between 1 and MOST, and depends on its curvature. */
#include <math.h>
#include <string.h>

#include "catalogue.h"
#include "random.h"

enum { MOST = 1000 };

/* Returns the number of points of a curve. The kernel computes this number with the same roundings, because this file
 * is compiled without fused operations (-ffp-contract=off). */
static uint32_t point_count(const float *c, float scale)
{
    float x = c[2] - 0.5F * (c[0] + c[4]), y = c[3] - 0.5F * (c[1] + c[5]), w = c[4] - c[0], h = c[5] - c[1];
    float count = scale * (sqrtf(x * x + y * y) / sqrtf(w * w + h * h));
    return count >= (float)MOST ? MOST : count >= 1 ? (uint32_t)count : 1;
}

static float coordinate(kiln__random *random) /* Returns a number in [-1, 1) with 24 bits. */
{
    return (float)((int32_t)(kiln__random_next(random) >> 40) - (1 << 23)) * 0x1p-23F;
}

enum { SKEWED, BENT, STRAIGHT, SAME };

static void make_curve(size_t control, kiln__random *random, float *c)
{
    for (int i = 0; i < 6; i++)
        c[i] = coordinate(random);
    /* the middle point's distance from the line, divided by the largest possible distance */
    float share = coordinate(random);
    for (int i = 0; i < 2; i++) {
        if (control == SKEWED) { /* the fourth power puts most middle points near the line */
            c[2 + i] = 0.5F * (c[i] + c[4 + i]) + share * share * share * share * c[2 + i];
        } else if (control == BENT) {
            c[4 + i] = c[i] + c[4 + i] * 0x1p-10F;
            c[2 + i] = c[i] + (i ? 8.0F : 4.0F);
        } else if (control == STRAIGHT) {
            c[4 + i] = c[i] + 1;
            c[2 + i] = 0.5F * (c[i] + c[4 + i]);
        } else {
            c[2 + i] = c[4 + i] = c[i];
        }
    }
}

/* Exports `curves`, the number of points of all curves (`total`), and the mean, the deviation and the largest number of
 * points of a curve (`mean`, `deviation`, `largest`). */
static kiln_status bezier_curves(void *user, kiln_call *call)
{
    (void)user;
    static const char *const controls[] = {
        [SKEWED] = "skewed", [BENT] = "bent", [STRAIGHT] = "straight", [SAME] = "same"};
    int64_t count, scale, seed;
    const char *control;
    kiln_array *curves;
    if (kiln_call_int(call, "count", NULL, &count) != KILN_OK ||
        kiln_call_text(call, "control", NULL, &control) != KILN_OK ||
        kiln_call_int(call, "scale", NULL, &scale) != KILN_OK || kiln_call_int(call, "seed", NULL, &seed) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    size_t known = 0;
    while (known < KILN__COUNT(controls) && strcmp(controls[known], control) != 0)
        known++;
    if (known == KILN__COUNT(controls) || count < 0 || count > UINT32_MAX / MOST)
        return kiln_call_fail(call, "control must be skewed, bent, straight or same, and count 0 to %d",
                              (int)(UINT32_MAX / MOST));
    const uint64_t shape[] = {(uint64_t)count, 3, 2};
    if (kiln_call_export_array(call, "curves", KILN_f32, 3, shape, &curves) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    kiln__random random = {kiln__random_mix((uint64_t)seed)};
    int64_t total = 0, squares = 0, largest = 0;
    float *c = curves->data;
    for (int64_t i = 0; i < count; i++, c += 6) {
        make_curve(known, &random, c);
        int64_t points = point_count(c, (float)scale);
        total += points;
        squares += points * points;
        largest = points > largest ? points : largest;
    }
    double mean = count ? (double)total / (double)count : 0;
    double variance = count ? (double)squares / (double)count - mean * mean : 0;
    if (kiln_call_export_float(call, "mean", mean) != KILN_OK ||
        kiln_call_export_float(call, "deviation", variance > 0 ? sqrt(variance) : 0) != KILN_OK ||
        kiln_call_export_int(call, "largest", largest) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    return kiln_call_export_int(call, "total", total);
}

static void put_points(const float *c, uint32_t n, float *to)
{
    for (uint32_t i = 0; i < n; i++) {
        double t = n > 1 ? (double)i / (n - 1) : 0, s = 1 - t;
        for (int k = 0; k < 2; k++)
            to[2 * i + (uint32_t)k] =
                (float)(s * s * (double)c[k] + 2 * t * s * (double)c[2 + k] + t * t * (double)c[4 + k]);
    }
}

static kiln_status bezier_f64(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *curves;
    kiln_array *offsets, *points;
    int64_t scale;
    if (kiln_call_array(call, "curves", &curves) != KILN_OK || kiln_call_int(call, "SCALE", NULL, &scale) != KILN_OK ||
        kiln_call_output(call, "offsets", &offsets) != KILN_OK || kiln_call_output(call, "points", &points) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (curves->dims != 3 || curves->type != KILN_f32 || curves->shape[1] != 3 || curves->shape[2] != 2 ||
        offsets->dims != 1 || offsets->type != KILN_u32 || offsets->shape[0] != curves->shape[0] + 1 ||
        points->dims != 2 || points->type != KILN_f32 || points->shape[1] != 2)
        return kiln_call_fail(call, "curves must be N x 3 x 2 and points M x 2 of f32, and offsets N + 1 of u32");
    uint32_t *at = offsets->data;
    const float *c = curves->data;
    at[0] = 0;
    for (uint64_t i = 0; i < curves->shape[0]; i++) {
        uint32_t n = point_count(c + 6 * i, (float)scale);
        if (at[i] + (uint64_t)n > points->shape[0])
            return kiln_call_fail(call, "the curves have more points than `points` has rows");
        put_points(c + 6 * i, n, (float *)points->data + 2 * (size_t)at[i]);
        at[i + 1] = at[i] + n;
    }
    if (at[curves->shape[0]] != points->shape[0])
        return kiln_call_fail(call, "the curves have fewer points than `points` has rows");
    return KILN_OK;
}

KILN__FAMILY(bezier,
             KILN__HOST("bezier_curves", KILN_HOST_INPUT, bezier_curves,
                        "control (a kind of points), count, scale, seed", "curves, total, largest, mean, deviation"),
             KILN__HOST("bezier_f64", KILN_HOST_REFERENCE, bezier_f64, "curves, SCALE", "offsets, points"))
