/* Compares the forward pass of attention_saved with its formula, and the gradients of attention_backward_f64 with
 * differences of the loss. */
#include <math.h>

#include "data/arrays.h"
#include "hosts.h"

enum { DEPTH = 16, BATCH = 2 };

/* The sizes and the arrays of the heads. Arrays of doubles are copies, or outputs. The call owns the other arrays. */
typedef struct heads {
    int64_t heads, kv_heads, queries, keys, causal, distinct;
    kiln_call call;
    kiln__call_arg args[10];
    kiln_array q, k, v, dout, dq, dk, dv;
} heads;

static kiln_status save(heads *h, const kiln_allocator *mem, kiln_error **error)
{
    const char *const names[] = {"batch", "heads",  "kv_heads", "queries", "keys",
                                 "depth", "causal", "seed",     "distinct"};
    const int64_t values[] = {BATCH, h->heads, h->kv_heads, h->queries, h->keys, DEPTH, h->causal, 3, h->distinct};
    for (size_t i = 0; i < KILN__COUNT(names); i++)
        h->args[i] =
            (kiln__call_arg){.name = names[i], .kind = KILN__CALL_VALUE, .value = {KILN_INT, {.i = values[i]}}};
    h->args[9] = (kiln__call_arg){.name = "spread", .kind = KILN__CALL_VALUE, .value = {KILN_FLOAT, {.f = 1.5}}};
    h->call = (kiln_call){.mem = mem, .arg_count = KILN__COUNT(h->args), .args = h->args};
    return kiln__call(&h->call, builtin("attention_saved"), (kiln__pos){0}, error);
}

static const kiln_array *saved(const heads *h, const char *name)
{
    const kiln__export *found = kiln__export_find(h->call.exports, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    return &found->array;
}

/* Returns an array of doubles with the shape and the elements of an export, or with `copy` false of zeros. */
static kiln_array doubles_of(const heads *h, const char *name, bool copy)
{
    const kiln_array *from = saved(h, name);
    kiln_array array = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, KILN_f64, from->dims, from->shape, &array, &error), error);
    uint64_t count = from->shape[0] * from->shape[1] * from->shape[2] * from->shape[3];
    if (copy)
        kiln__to_doubles(from->type, from->data, 0, (size_t)count, array.data);
    return array;
}

static kiln_status differentiate(heads *h, const kiln_allocator *mem, kiln_error **error)
{
    kiln_array lse = *saved(h, "lse"), delta = *saved(h, "o_dot_dout");
    kiln__call_arg args[] = {
        {.name = "q", .kind = KILN__CALL_ARRAY, .array = &h->q},
        {.name = "k", .kind = KILN__CALL_ARRAY, .array = &h->k},
        {.name = "v", .kind = KILN__CALL_ARRAY, .array = &h->v},
        {.name = "dout", .kind = KILN__CALL_ARRAY, .array = &h->dout},
        {.name = "lse", .kind = KILN__CALL_ARRAY, .array = &lse},
        {.name = "o_dot_dout", .kind = KILN__CALL_ARRAY, .array = &delta},
        {.name = "dq", .kind = KILN__CALL_ARRAY, .array = &h->dq, .writable = true},
        {.name = "dk", .kind = KILN__CALL_ARRAY, .array = &h->dk, .writable = true},
        {.name = "dv", .kind = KILN__CALL_ARRAY, .array = &h->dv, .writable = true},
        {.name = "CAUSAL", .kind = KILN__CALL_VALUE, .value = {KILN_INT, {.i = h->causal}}},
    };
    kiln_call call = {.mem = mem, .arg_count = KILN__COUNT(args), .args = args};
    kiln_status status = kiln__call(&call, builtin("attention_backward_f64"), (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

static void take_arrays(heads *h)
{
    h->q = doubles_of(h, "q", true), h->k = doubles_of(h, "k", true), h->v = doubles_of(h, "v", true);
    h->dout = doubles_of(h, "dout", true);
    h->dq = doubles_of(h, "q", false), h->dk = doubles_of(h, "k", false), h->dv = doubles_of(h, "v", false);
}

static void free_heads(heads *h)
{
    kiln_array *const all[] = {&h->q, &h->k, &h->v, &h->dout, &h->dq, &h->dk, &h->dv};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        kiln__array_free(NULL, all[i]);
    kiln__call_free(&h->call);
}

/* Computes a row of O by the formula. Exponentials need no maximum here, because scores are small. Returns the sum of the
 * exponentials. */
static double row_of(const heads *h, int64_t row, double *out)
{
    int64_t query = row % h->queries, of_keys = row / h->queries / (h->heads / h->kv_heads) * h->keys;
    const double *q = (const double *)h->q.data + row * DEPTH, *k = h->k.data, *v = h->v.data;
    double sum = 0;
    memset(out, 0, DEPTH * sizeof *out);
    for (int64_t j = 0; j < h->keys; j++) {
        double score = 0;
        if (h->causal && j > query + h->keys - h->queries)
            continue;
        for (int d = 0; d < DEPTH; d++)
            score += q[d] * k[(of_keys + j) * DEPTH + d];
        score = exp(score / sqrt(DEPTH));
        sum += score;
        for (int d = 0; d < DEPTH; d++)
            out[d] += score * v[(of_keys + j) * DEPTH + d];
    }
    for (int d = 0; d < DEPTH && sum > 0; d++)
        out[d] /= sum;
    return sum;
}

/* Returns the loss whose gradient with respect to O is dO. */
static double loss_of(const heads *h)
{
    double loss = 0, out[DEPTH];
    for (int64_t row = 0; row < BATCH * h->heads * h->queries; row++) {
        row_of(h, row, out);
        for (int d = 0; d < DEPTH; d++)
            loss += out[d] * ((const double *)h->dout.data)[row * DEPTH + d];
    }
    return loss;
}

static void check_forward(const heads *h)
{
    for (int64_t row = 0; row < BATCH * h->heads * h->queries; row++) {
        double out[DEPTH], rounded[DEPTH], sum = row_of(h, row, out), delta = 0, lse = sum > 0 ? log(sum) : 0;
        kiln__to_doubles(KILN_bf16, saved(h, "o")->data, (uint64_t)row * DEPTH, DEPTH, rounded);
        for (int d = 0; d < DEPTH; d++) {
            CHECK(fabs(rounded[d] - out[d]) <= ldexp(fabs(out[d]), -8) + 1e-6);
            delta += out[d] * ((const double *)h->dout.data)[row * DEPTH + d];
        }
        CHECK(fabs((double)((const float *)saved(h, "lse")->data)[row] - lse) <= 2e-6);
        CHECK(fabs((double)((const float *)saved(h, "o_dot_dout")->data)[row] - delta) <= 4e-6);
    }
}

/* Compares each element of a gradient with the change of the loss after a small change of that element. */
static void check_gradient(heads *h, kiln_array *of, const kiln_array *gradient)
{
    const double step = 1e-4;
    double *elements = of->data;
    for (uint64_t i = 0; i < of->shape[0] * of->shape[1] * of->shape[2] * DEPTH; i++) {
        double kept = elements[i];
        elements[i] = kept + step;
        double up = loss_of(h);
        elements[i] = kept - step;
        double down = loss_of(h);
        elements[i] = kept;
        CHECK(fabs((up - down) / (2 * step) - ((const double *)gradient->data)[i]) <= 1e-7);
    }
}

static void check(int64_t group, int64_t queries, int64_t keys, int64_t causal)
{
    heads h = {.heads = 2 * group, .kv_heads = 2, .queries = queries, .keys = keys, .causal = causal};
    kiln_error *error = NULL;
    CHECK_OK(save(&h, NULL, &error), error);
    take_arrays(&h);
    check_forward(&h);
    CHECK_OK(differentiate(&h, NULL, &error), error);
    check_gradient(&h, &h.q, &h.dq);
    check_gradient(&h, &h.k, &h.dk);
    check_gradient(&h, &h.v, &h.dv);
    free_heads(&h);
}

static void test_gradients(void)
{
    check(1, 3, 5, 0);
    check(3, 5, 2, 0);
    check(1, 5, 5, 1);
    check(2, 2, 7, 1);
    check(1, 7, 3, 1); /* four queries see no key */
    check(1, 2, 0, 0);
    check(1, 0, 4, 1);
}

/* The norms are the largest roots of the sums of p^2. With one key p is 1. */
static void test_norms(void)
{
    heads h = {.heads = 1, .kv_heads = 1, .queries = 9, .keys = 1};
    kiln_error *error = NULL;
    CHECK_OK(save(&h, NULL, &error), error);
    CHECK(fabs(kiln__export_find(h.call.exports, "row_norm")->value.as.f - 1) <= 1e-6);
    CHECK(fabs(kiln__export_find(h.call.exports, "column_norm")->value.as.f - 3) <= 1e-6);
    kiln__call_free(&h.call);
}

/* Heads after the first three are copies: the fourth head of keys, with its two query heads, is the first one. */
static void test_repeated_heads(void)
{
    heads h = {.heads = 4, .kv_heads = 2, .queries = 5, .keys = 3, .distinct = 3};
    kiln_error *error = NULL;
    CHECK_OK(save(&h, NULL, &error), error);
    const char *const names[] = {"k", "v", "q", "dout", "o", "lse", "o_dot_dout"};
    const size_t bytes[] = {3 * DEPTH * 2,  3 * DEPTH * 2, 10 * DEPTH * 2, 10 * DEPTH * 2,
                            10 * DEPTH * 2, 10 * 4,        10 * 4};
    for (size_t i = 0; i < KILN__COUNT(names); i++) {
        const char *data = saved(&h, names[i])->data;
        CHECK(memcmp(data, data + 3 * bytes[i], bytes[i]) == 0);
        CHECK(memcmp(data, data + bytes[i], bytes[i]) != 0 && memcmp(data, data + 2 * bytes[i], bytes[i]) != 0);
    }
    take_arrays(&h);
    check_forward(&h);
    free_heads(&h);
}

static void test_errors(void)
{
    heads h = {.heads = 3, .kv_heads = 2, .queries = 4, .keys = 4};
    kiln_error *error = NULL;
    CHECK(save(&h, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error),
               "host function 'attention_saved': heads must be a multiple of kv_heads, and depth a "
               "multiple of 16 and at most 256");
    kiln_error_free(error), error = NULL;
    kiln__call_free(&h.call);
    h.heads = 2, h.queries = -1;
    CHECK(save(&h, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error),
               "host function 'attention_saved': queries is -1, but it must not be negative");
    kiln_error_free(error), error = NULL;
    kiln__call_free(&h.call);
    h.queries = 3;
    CHECK_OK(save(&h, NULL, &error), error);
    take_arrays(&h);
    h.dk.shape[2] = 3;
    CHECK(differentiate(&h, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(
        kiln_error_message(error),
        "host function 'attention_backward_f64': q, dout and dq must be B x H x M x D, k, v, dk and dv B x G x N x D, "
        "and lse and o_dot_dout B x H x M of f32; H must be a multiple of G, and D at most 256");
    kiln_error_free(error);
    free_heads(&h);
}

static void test_memory(void)
{
    bool failed = true;
    for (long i = 0; failed; i++) {
        check_oom oom = {.countdown = i};
        kiln_allocator mem = {check_oom_resize, &oom};
        heads h = {.heads = 2, .kv_heads = 1, .queries = 3, .keys = 4};
        kiln_error *error = NULL;
        failed = save(&h, &mem, &error) != KILN_OK;
        CHECK(failed == oom.failed);
        kiln_error_free(error), error = NULL;
        if (!failed) {
            take_arrays(&h);
            check_oom none = {.countdown = 0};
            CHECK(differentiate(&h, &(kiln_allocator){check_oom_resize, &none}, &error) != KILN_OK && none.failed);
            kiln_error_free(error);
            CHECK(none.live == 0);
            free_heads(&h);
        } else
            kiln__call_free(&h.call);
        CHECK(oom.live == 0);
    }
}

static const check_case cases[] = {
    {"gradients", test_gradients}, {"norms", test_norms},   {"repeated heads", test_repeated_heads},
    {"errors", test_errors},       {"memory", test_memory},
};
KILN_SUITE("attention_backward", cases)
