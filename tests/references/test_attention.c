/* Compares normalise_f64 and attention_f64 with separate formulas and known answers. */
#include <math.h>

#include "data/arrays.h"
#include "hosts.h"

enum { SOFTMAX, LAYER_NORM, RMS_NORM };

static kiln_status run(const char *name, kiln_call *call, kiln_error **error)
{
    const kiln__host *host = builtin(name);
    kiln_status status = kiln__call(call, host, (kiln__pos){0}, error);
    kiln__call_free(call);
    return status;
}

/* ---- rows ---- */

typedef struct rows {
    kiln_array x, gamma, beta, y;
    int64_t kind;
} rows;

static rows make_rows(int64_t kind, uint64_t count, uint64_t width)
{
    rows r = {.x = make(KILN_f64, 2, count, width), .y = make(KILN_f64, 2, count, width), .kind = kind};
    r.gamma = make(KILN_f64, 1, kind == SOFTMAX ? 0 : width, 0);
    r.beta = make(KILN_f64, 1, kind == LAYER_NORM ? width : 0, 0);
    for (uint64_t i = 0; i < width; i++) {
        if (kind != SOFTMAX)
            ((double *)r.gamma.data)[i] = 0.5 + (double)i;
        if (kind == LAYER_NORM)
            ((double *)r.beta.data)[i] = 3 - (double)i;
    }
    return r;
}

static kiln_status normalise(rows *r, const kiln_allocator *mem, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "x", .kind = KILN__CALL_ARRAY, .array = &r->x},
        {.name = "gamma", .kind = KILN__CALL_ARRAY, .array = &r->gamma},
        {.name = "beta", .kind = KILN__CALL_ARRAY, .array = &r->beta},
        {.name = "y", .kind = KILN__CALL_ARRAY, .array = &r->y, .writable = true},
        {.name = "KIND", .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = r->kind}},
        {.name = "EPSILON", .kind = KILN__CALL_VALUE, .value = {.kind = KILN_FLOAT, .as.f = 0.25}},
    };
    kiln_call call = {.mem = mem, .arg_count = KILN__COUNT(args), .args = args};
    return run("normalise_f64", &call, error);
}

static void free_rows(rows *r)
{
    kiln_array *const all[] = {&r->x, &r->gamma, &r->beta, &r->y};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        kiln__array_free(NULL, all[i]);
}

static void expect_row(int64_t kind, const double *x, const double *want, uint64_t width)
{
    rows r = make_rows(kind, 2, width); /* the same row twice */
    memcpy(r.x.data, x, width * sizeof *x);
    memcpy((double *)r.x.data + width, x, width * sizeof *x);
    kiln_error *error = NULL;
    CHECK_OK(normalise(&r, NULL, &error), error);
    for (uint64_t i = 0; i < 2 * width; i++) {
        double got = ((double *)r.y.data)[i], expected = want[i % width];
        CHECK(isnan(expected) ? isnan(got) : fabs(got - expected) <= 1e-14);
    }
    free_rows(&r);
}

static void test_rows(void)
{
    /* exp of 0, log 2 and log 5 are 1, 2 and 5, whatever is added to all. */
    expect_row(SOFTMAX, (double[]){0, log(2), log(5)}, (double[]){0.125, 0.25, 0.625}, 3);
    expect_row(SOFTMAX, (double[]){1024, 1024, -INFINITY, 0}, (double[]){0.5, 0.5, 0, 0}, 4);
    /* mean 3, variance 2 = 2.25 - epsilon */
    expect_row(LAYER_NORM, (double[]){3 - sqrt(3), 3, 3 + sqrt(3)},
               (double[]){-sqrt(3) / 1.5 * 0.5 + 3, 2, sqrt(3) / 1.5 * 2.5 + 1}, 3);
    /* mean square 12 = 12.25 - epsilon */
    expect_row(RMS_NORM, (double[]){4, sqrt(8)}, (double[]){4 / 3.5 * 0.5, sqrt(8) / 3.5 * 1.5}, 2);
}

static void test_special_rows(void)
{
    const double nans[] = {NAN, NAN, NAN};
    expect_row(SOFTMAX, (double[]){1, NAN, 2}, nans, 3);
    expect_row(SOFTMAX, (double[]){1, INFINITY, 2}, nans, 3);
    expect_row(SOFTMAX, (double[]){-INFINITY, -INFINITY, -INFINITY}, nans, 3);
    expect_row(LAYER_NORM, (double[]){1, INFINITY, 2}, nans, 3);
    expect_row(RMS_NORM, (double[]){1, INFINITY, 2}, (double[]){0, NAN, 0}, 3);
    rows r = make_rows(LAYER_NORM, 0, 5), none = make_rows(RMS_NORM, 5, 0);
    kiln_error *error = NULL;
    CHECK_OK(normalise(&r, NULL, &error), error);
    CHECK_OK(normalise(&none, NULL, &error), error);
    free_rows(&r);
    free_rows(&none);
}

/* ---- heads ---- */

typedef struct heads {
    kiln_array q, k, v, o;
    kiln_array scales[3]; /* the scales of q, k and v, which only a scaled reference accepts */
    int64_t causal;
    bool scaled;
} heads;

static kiln_array make_scales(uint64_t batch, uint64_t count, double first)
{
    kiln_array array = make(KILN_f64, 2, batch, count);
    for (uint64_t i = 0; i < batch * count; i++)
        ((double *)array.data)[i] = first + (double)i / 8;
    return array;
}

static kiln_array make_head(uint64_t batch, uint64_t count, uint64_t length, uint64_t depth, uint64_t seed)
{
    kiln_array array = {0};
    kiln_error *error = NULL;
    const uint64_t shape[] = {batch, count, length, depth};
    CHECK_OK(kiln__array_make(NULL, KILN_f64, 4, shape, &array, &error), error);
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = -1, .b = 1, .seed = seed});
    return array;
}

static heads make_heads(uint64_t group, uint64_t queries, uint64_t keys, int64_t causal)
{
    return (heads){.q = make_head(2, 2 * group, queries, 8, 1),
                   .k = make_head(2, 2, keys, 8, 2),
                   .v = make_head(2, 2, keys, 8, 3),
                   .o = make_head(2, 2 * group, queries, 8, 4),
                   .scales = {make_scales(2, 2 * group, 0.5), make_scales(2, 2, 0.75), make_scales(2, 2, 2)},
                   .causal = causal};
}

static kiln_status attend(heads *h, const kiln_allocator *mem, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "q", .kind = KILN__CALL_ARRAY, .array = &h->q},
        {.name = "k", .kind = KILN__CALL_ARRAY, .array = &h->k},
        {.name = "v", .kind = KILN__CALL_ARRAY, .array = &h->v},
        {.name = "o", .kind = KILN__CALL_ARRAY, .array = &h->o, .writable = true},
        {.name = "CAUSAL", .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = h->causal}},
        {.name = "q_scale", .kind = KILN__CALL_ARRAY, .array = &h->scales[0]},
        {.name = "k_scale", .kind = KILN__CALL_ARRAY, .array = &h->scales[1]},
        {.name = "v_scale", .kind = KILN__CALL_ARRAY, .array = &h->scales[2]},
    };
    kiln_call call = {.mem = mem, .arg_count = KILN__COUNT(args) - (h->scaled ? 0 : 3), .args = args};
    return run(h->scaled ? "attention_scaled_f64" : "attention_f64", &call, error);
}

static void free_heads(heads *h)
{
    kiln_array *const all[] = {&h->q, &h->k, &h->v, &h->o, &h->scales[0], &h->scales[1], &h->scales[2]};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        kiln__array_free(NULL, all[i]);
}

/* Returns one element of O by the formula. The exponentials need no maximum, because all scores are small. */
static double element_of(const heads *h, uint64_t head, uint64_t query, uint64_t column, uint64_t group)
{
    const uint64_t queries = h->q.shape[2], keys = h->k.shape[2];
    const double *q = (double *)h->q.data + (head * queries + query) * 8, *k = (double *)h->k.data, *v = h->v.data;
    double sum = 0, weights = 0, factor = 1 / sqrt(8), v_scale = 1;
    if (h->scaled) {
        factor *= ((double *)h->scales[0].data)[head] * ((double *)h->scales[1].data)[head / group];
        v_scale = ((double *)h->scales[2].data)[head / group];
    }
    for (uint64_t j = 0; j < keys; j++) {
        if (h->causal && j + queries > query + keys)
            continue;
        double score = 0;
        for (int i = 0; i < 8; i++)
            score += q[i] * k[(head / group * keys + j) * 8 + (uint64_t)i];
        weights += exp(score * factor);
        sum += exp(score * factor) * v[(head / group * keys + j) * 8 + column];
    }
    return weights > 0 ? sum / weights * v_scale : 0;
}

static void check_heads(uint64_t group, uint64_t queries, uint64_t keys, int64_t causal)
{
    heads h = make_heads(group, queries, keys, causal);
    for (int scaled = 0; scaled < 2; scaled++) {
        h.scaled = scaled == 1;
        kiln_error *error = NULL;
        CHECK_OK(attend(&h, NULL, &error), error);
        for (uint64_t i = 0; i < 4 * group * queries * 8; i++) {
            double want = element_of(&h, i / 8 / queries, i / 8 % queries, i % 8, group);
            CHECK(fabs(((double *)h.o.data)[i] - want) <= 2e-14);
        }
    }
    free_heads(&h);
}

static void test_heads(void)
{
    check_heads(1, 3, 5, 0);
    check_heads(3, 4, 2, 0);
    check_heads(1, 5, 5, 1);
    check_heads(2, 2, 7, 1);
    check_heads(1, 7, 3, 1); /* four queries see no key */
    check_heads(1, 2, 0, 0);
    check_heads(1, 0, 4, 1);
}

/* ---- failures ---- */

/* Wrong arguments of the references have messages that name the argument. */
static void test_errors(void)
{
    kiln_error *error = NULL;
    rows r = make_rows(3, 2, 4);
    CHECK(normalise(&r, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error),
               "host function 'normalise_f64': KIND must be 0 (softmax), 1 (layer norm) or 2 "
               "(RMS norm), not 3");
    kiln_error_free(error), error = NULL;
    r.kind = RMS_NORM, r.gamma.shape[0] = 3;
    CHECK(normalise(&r, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error),
               "host function 'normalise_f64': gamma and beta must be one-dimensional, of x's type, "
               "with one element for each column of x");
    kiln_error_free(error), error = NULL;
    r.kind = SOFTMAX, r.y.shape[0] = 1;
    CHECK(normalise(&r, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error),
               "host function 'normalise_f64': x and y must be two-dimensional, of the same type and shape");
    kiln_error_free(error), error = NULL;
    free_rows(&r);
    heads h = make_heads(1, 3, 4, 0);
    h.v.shape[2] = 3;
    CHECK(attend(&h, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error),
               "host function 'attention_f64': q and o must be B x H x M x D, and k and v B x G x N x "
               "D; H must be a multiple of G, and D a multiple of 4 and at most 256");
    kiln_error_free(error), error = NULL;
    h.v.shape[2] = 4, h.scaled = true, h.scales[1].shape[1] = 1;
    CHECK(attend(&h, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error),
               "host function 'attention_scaled_f64': k_scale must have a number for each batch and head");
    kiln_error_free(error);
    free_heads(&h);
}

static void test_memory(void)
{
    rows r = make_rows(SOFTMAX, 2, 4);
    heads h = make_heads(1, 3, 4, 0);
    for (int i = 0; i < 2; i++) {
        check_oom oom = {.countdown = 0};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_error *error = NULL;
        CHECK((i ? attend(&h, &mem, &error) : normalise(&r, &mem, &error)) != KILN_OK);
        CHECK(oom.failed);
        kiln_error_free(error);
        CHECK(oom.live == 0);
    }
    free_rows(&r);
    free_heads(&h);
}

static const check_case cases[] = {
    {"rows", test_rows},     {"special rows", test_special_rows}, {"heads", test_heads}, {"errors", test_errors},
    {"memory", test_memory},
};
KILN_SUITE("attention", cases)
