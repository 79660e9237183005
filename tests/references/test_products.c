/* Compares the references of matmul, gemm, syrk and the stencil with separate loops. */
#include <math.h>
#include <stdlib.h>

#include "data/arrays.h"
#include "hosts.h"

static kiln_status multiply(kiln_array *a, kiln_array *b, kiln_array *p, const kiln_allocator *mem, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "A", .kind = KILN__CALL_ARRAY, .array = a},
        {.name = "B", .kind = KILN__CALL_ARRAY, .array = b},
        {.name = "P", .kind = KILN__CALL_ARRAY, .array = p, .writable = true},
    };
    kiln_call call = {.mem = mem, .arg_count = 3, .args = args};
    kiln_status status = kiln__call(&call, builtin("matmul_f64"), (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

static void check_product(kiln_type type, uint64_t m, uint64_t n, uint64_t k)
{
    kiln_array a = make(type, 2, m, k), b = make(type, 2, k, n), p = make(type, 2, m, n), q = make(KILN_f64, 2, m, n);
    kiln_array r = make(type, 2, m, n);
    fill(&a,
         (kiln__fill_values){
             .kind = KILN__FILL_UNIFORM, .integers = type == KILN_i32, .a = -1, .b = 1, .ia = -9, .ib = 9, .seed = 1});
    fill(&b,
         (kiln__fill_values){
             .kind = KILN__FILL_UNIFORM, .integers = type == KILN_i32, .a = -1, .b = 1, .ia = -9, .ib = 9, .seed = 2});
    for (uint64_t i = 0; i < m; i++)
        for (uint64_t j = 0; j < n; j++)
            for (uint64_t l = 0; l < k; l++) {
                double x, y;
                kiln__to_doubles(type, a.data, i * k + l, 1, &x);
                kiln__to_doubles(type, b.data, l * n + j, 1, &y);
                ((double *)q.data)[i * n + j] += x * y;
            }
    kiln__from_doubles(type, r.data, 0, (size_t)(m * n), q.data);
    kiln_error *error = NULL;
    kiln__difference d;
    CHECK_OK(multiply(&a, &b, &p, NULL, &error), error);
    kiln__array_compare("P", &p, &r, type == KILN_i32, 1e-14, 1e-14, &d);
    if (type == KILN_f32 || type == KILN_f16)
        /* the order of the sums is the same, so the bits are the same after rounding */
        kiln__array_compare("P", &p, &r, true, 0, 0, &d);
    if (d.wrong)
        fprintf(stderr, "%s\n", d.text);
    CHECK(d.wrong == 0);
    kiln__array_free(NULL, &a);
    kiln__array_free(NULL, &b);
    kiln__array_free(NULL, &p);
    kiln__array_free(NULL, &q);
    kiln__array_free(NULL, &r);
}

static void test_matmul(void)
{
    check_product(KILN_f32, 64, 80, 48);
    check_product(KILN_f32, 1, 1, 1);
    check_product(KILN_f32, 127, 259, 263);
    check_product(KILN_f64, 13, 7, 600);
    check_product(KILN_f16, 6, 8, 16);
    check_product(KILN_i32, 121, 257, 3);
    check_product(KILN_f32, 5, 5, 0);
    check_product(KILN_f32, 0, 5, 5);
}

static kiln_status multiply_batch(int64_t batch, int64_t columns, kiln_array *a, kiln_array *b, kiln_array *c,
                                  kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "A", .kind = KILN__CALL_ARRAY, .array = a},
        {.name = "B", .kind = KILN__CALL_ARRAY, .array = b},
        {.name = "COLUMNS", .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = columns}},
        {.name = "C", .kind = KILN__CALL_ARRAY, .array = c, .writable = true},
        {.name = "BATCH", .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = batch}},
    };
    kiln_call call = {.arg_count = batch == 1 ? 4 : 5, .args = args};
    kiln_status status = kiln__call(&call, builtin("gemm_f64"), (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

static kiln_status multiply_as(int64_t columns, kiln_array *a, kiln_array *b, kiln_array *c, kiln_error **error)
{
    return multiply_batch(1, columns, a, b, c, error);
}

/* A batch gives the same bits as its products one by one. */
static void check_batch(int64_t columns)
{
    enum { BATCH = 3, M = 5, N = 7, K = 11 };
    kiln_array a = make(KILN_f16, 2, BATCH * M, K), c = make(KILN_f32, 2, BATCH * M, N), one = make(KILN_f32, 2, M, N);
    kiln_array b = columns ? make(KILN_f16, 2, BATCH * N, K) : make(KILN_f16, 2, BATCH * K, N);
    fill(&a, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = -1, .b = 1, .seed = 1});
    fill(&b, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = -1, .b = 1, .seed = 2});
    kiln_error *error = NULL;
    CHECK_OK(multiply_batch(BATCH, columns, &a, &b, &c, &error), error);
    for (uint64_t i = 0; i < BATCH; i++) {
        kiln_array part_a = a, part_b = b;
        part_a.shape[0] = M;
        part_b.shape[0] = columns ? N : K;
        part_a.data = (uint16_t *)a.data + i * M * K;
        part_b.data = (uint16_t *)b.data + i * N * K;
        CHECK_OK(multiply_as(columns, &part_a, &part_b, &one, &error), error);
        CHECK(memcmp(one.data, (float *)c.data + i * M * N, M * N * sizeof(float)) == 0);
    }
    CHECK(multiply_batch(2, columns, &a, &b, &c, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error),
               "host function 'gemm_f64': A, B and C must have rows for BATCH = 2 matrices of one shape");
    kiln_error_free(error);
    kiln__array_free(NULL, &a);
    kiln__array_free(NULL, &b);
    kiln__array_free(NULL, &c);
    kiln__array_free(NULL, &one);
}

static void check_gemm(int64_t columns, uint64_t m, uint64_t n, uint64_t k)
{
    kiln_array a = make(KILN_f16, 2, m, k), b = columns ? make(KILN_bf16, 2, n, k) : make(KILN_bf16, 2, k, n);
    kiln_array c = make(KILN_f64, 2, m, n);
    fill(&a, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = -1, .b = 1, .seed = 1});
    fill(&b, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = -1, .b = 1, .seed = 2});
    kiln_error *error = NULL;
    CHECK_OK(multiply_as(columns, &a, &b, &c, &error), error);
    size_t wrong = 0;
    for (uint64_t i = 0; i < m; i++)
        for (uint64_t j = 0; j < n; j++) {
            double sum = 0, x, y;
            for (uint64_t l = 0; l < k; l++) {
                kiln__to_doubles(KILN_f16, a.data, i * k + l, 1, &x);
                kiln__to_doubles(KILN_bf16, b.data, columns ? j * k + l : l * n + j, 1, &y);
                sum += x * y;
            }
            /* the order of the sums is the same, so the bits are the same */
            wrong += ((double *)c.data)[i * n + j] != sum;
        }
    CHECK(wrong == 0);
    kiln__array_free(NULL, &a);
    kiln__array_free(NULL, &b);
    kiln__array_free(NULL, &c);
}

static void test_gemm(void)
{
    for (int64_t columns = 0; columns < 2; columns++) {
        check_gemm(columns, 1, 1, 1);
        check_gemm(columns, 127, 259, 263);
        check_gemm(columns, 5, 7, 0);
        check_gemm(columns, 0, 5, 5);
        check_batch(columns);
    }
    kiln_array a = make(KILN_f16, 2, 2, 3), b = make(KILN_f16, 2, 3, 5), c = make(KILN_f32, 2, 2, 5);
    kiln_error *error = NULL;
    CHECK(multiply_as(1, &a, &b, &c, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), "host function 'gemm_f64': the shapes of C = A B do not fit: A is 2 x 3, "
                                          "B by columns is 3 x 5, C is 2 x 5");
    kiln_error_free(error);
    kiln__array_free(NULL, &a);
    kiln__array_free(NULL, &b);
    kiln__array_free(NULL, &c);
}

/* ---- linear ---- */

enum { LAYER_M = 127, LAYER_N = 263, LAYER_K = 19 }; /* no tile of the reference divides them */

static kiln__call_arg flag(const char *name, int64_t value)
{
    return (kiln__call_arg){.name = name, .value = {.kind = KILN_INT, .as.i = value}};
}

typedef struct layer {
    kiln_array a, b, bias, residual, c;
} layer;

static kiln_status run_layer(layer *l, int64_t steps, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "A", .kind = KILN__CALL_ARRAY, .array = &l->a},
        {.name = "B", .kind = KILN__CALL_ARRAY, .array = &l->b},
        {.name = "bias", .kind = KILN__CALL_ARRAY, .array = &l->bias},
        {.name = "residual", .kind = KILN__CALL_ARRAY, .array = &l->residual},
        {.name = "C", .kind = KILN__CALL_ARRAY, .array = &l->c, .writable = true},
        flag("COLUMNS", 1),
        flag("BIAS", steps & 1),
        flag("GELU", steps >> 1 & 1),
        flag("RESIDUAL", steps >> 2 & 1),
    };
    kiln_call call = {.arg_count = KILN__COUNT(args), .args = args};
    kiln_status status = kiln__call(&call, builtin("linear_f64"), (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

/* Compares each set of steps with the formula, in which the bias comes first and the residual last. */
static void check_layer(layer *l, int64_t steps)
{
    kiln_error *error = NULL;
    CHECK_OK(run_layer(l, steps, &error), error);
    double worst = 0;
    for (size_t i = 0; i < LAYER_M; i++)
        for (size_t j = 0; j < LAYER_N; j++) {
            double sum = 0;
            for (size_t k = 0; k < LAYER_K; k++)
                sum += ((double *)l->a.data)[i * LAYER_K + k] * ((double *)l->b.data)[j * LAYER_K + k];
            sum += steps & 1 ? ((double *)l->bias.data)[j] : 0;
            if (steps & 2) /* 0.5 x (1 + tanh y) is x / (1 + exp(-2 y)) */
                sum /= 1 + exp(-2 * 0.7978845608028654 * (sum + 0.044715 * sum * sum * sum));
            sum += steps & 4 ? ((double *)l->residual.data)[i * LAYER_N + j] : 0;
            worst = fmax(worst, fabs(((double *)l->c.data)[i * LAYER_N + j] - sum));
        }
    CHECK(worst < 1e-13);
}

static void test_linear(void)
{
    layer l = {make(KILN_f64, 2, LAYER_M, LAYER_K), make(KILN_f64, 2, LAYER_N, LAYER_K), make(KILN_f64, 1, LAYER_N, 0),
               make(KILN_f64, 2, LAYER_M, LAYER_N), make(KILN_f64, 2, LAYER_M, LAYER_N)};
    kiln_array *const all[] = {&l.a, &l.b, &l.bias, &l.residual, &l.c};
    for (size_t i = 0; i < 4; i++)
        fill(all[i], (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = -1, .b = 1, .seed = i + 1});
    for (int64_t steps = 0; steps < 8; steps++)
        check_layer(&l, steps);
    kiln_error *error = NULL;
    l.bias.shape[0]--;
    CHECK(run_layer(&l, 1, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), "host function 'linear_f64': C and residual are M x N, bias has N elements");
    kiln_error_free(error), error = NULL;
    CHECK_OK(run_layer(&l, 6, &error), error); /* an array that no step uses may have any length */
    l.residual.shape[0]--;
    CHECK(run_layer(&l, 4, &error) == KILN_ERROR_HOST_FUNCTION);
    kiln_error_free(error);
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        kiln__array_free(NULL, all[i]);
}

static kiln_status multiply_by_itself(kiln_array *a, kiln_array *c, const kiln_allocator *mem, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "A", .kind = KILN__CALL_ARRAY, .array = a},
        {.name = "C", .kind = KILN__CALL_ARRAY, .array = c, .writable = true},
    };
    kiln_call call = {.mem = mem, .arg_count = 2, .args = args};
    kiln_status status = kiln__call(&call, builtin("syrk_f64"), (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

static void check_syrk(uint64_t n, uint64_t k)
{
    kiln_array a = make(KILN_f32, 2, n, k), c = make(KILN_f64, 2, n, n);
    fill(&a, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = -1, .b = 1, .seed = 3});
    kiln_error *error = NULL;
    CHECK_OK(multiply_by_itself(&a, &c, NULL, &error), error);
    const float *x = a.data;
    size_t wrong = 0;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < n; j++) {
            double sum = 0;
            for (uint64_t l = 0; l < k; l++)
                sum += (double)x[i * k + l] * (double)x[j * k + l];
            /* the order of the sums is the same, so the bits are the same */
            wrong += ((double *)c.data)[i * n + j] != sum;
        }
    CHECK(wrong == 0);
    kiln__array_free(NULL, &a);
    kiln__array_free(NULL, &c);
}

static void test_syrk(void)
{
    check_syrk(1, 1);
    check_syrk(127, 263);
    check_syrk(259, 31);
    check_syrk(5, 0);
    check_syrk(0, 5);
    kiln_array a = make(KILN_f32, 2, 2, 3), c = make(KILN_f32, 2, 2, 3);
    kiln_error *error = NULL;
    CHECK(multiply_by_itself(&a, &c, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error),
               "host function 'syrk_f64': the shapes of C = A A' do not fit: A is 2 x 3, C is 2 x 3");
    kiln_error_free(error);
    kiln__array_free(NULL, &a);
    kiln__array_free(NULL, &c);
}

static void test_stencil(void)
{
    static const uint64_t shape[] = {2, 1, 3};
    kiln_array x = {0}, y = {0};
    kiln_error *none = NULL;
    CHECK_OK(kiln__array_make(NULL, KILN_f32, 3, shape, &x, &none), none);
    CHECK_OK(kiln__array_make(NULL, KILN_f32, 3, shape, &y, &none), none);
    memcpy(x.data, (float[]){8, 16, 24, 0, 0, 64}, 6 * sizeof(float));
    static const float want[][6] = {
        {8, 16, 24, 0, 0, 64},
        {2 + 2, 4 + 4, 6 + 2 + 8, 1, 2 + 8, 16 + 3}, /* a quarter of each element, and an eighth of its neighbours */
        {1 + 1 + 0.125f, 2 + 2.5f + 1.25f, 4 + 1 + 2.375f, 0.25f + 0.5f + 1.25f, 2.5f + 1 + 2.5f, 4.75f + 2 + 1.25f},
    };
    for (int64_t steps = 0; steps < 3; steps++) {
        kiln__call_arg args[] = {
            {.name = "x", .kind = KILN__CALL_ARRAY, .array = &x},
            {.name = "y", .kind = KILN__CALL_ARRAY, .array = &y, .writable = true},
            {.name = "STEPS", .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = steps}},
        };
        kiln_call call = {.arg_count = 3, .args = args};
        kiln_error *error = NULL;
        CHECK_OK(kiln__call(&call, builtin("stencil_f64"), (kiln__pos){0}, &error), error);
        kiln__call_free(&call);
        CHECK(memcmp(y.data, want[steps], 6 * sizeof(float)) == 0);
    }
    kiln__array_free(NULL, &x);
    kiln__array_free(NULL, &y);
}

static void test_matmul_errors(void)
{
    kiln_array a = make(KILN_f32, 2, 2, 3), b = make(KILN_f32, 2, 4, 5), p = make(KILN_f32, 2, 2, 5);
    kiln_error *error = NULL;
    CHECK(multiply(&a, &b, &p, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), "host function 'matmul_f64': the shapes of P = A B do not fit: A is 2 x 3, "
                                          "B is 4 x 5, P is 2 x 5");
    kiln_error_free(error);
    error = NULL;
    b.dims = 1;
    CHECK(multiply(&a, &b, &p, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    kiln_error_free(error);
    error = NULL;
    b.dims = 2;
    b.shape[0] = 3;
    check_oom oom = {.countdown = 0};
    kiln_allocator mem = {check_oom_resize, &oom};
    CHECK(multiply(&a, &b, &p, &mem, &error) != KILN_OK);
    kiln_error_free(error);
    CHECK(oom.live == 0);
    b.shape[0] = 4;
    kiln__array_free(NULL, &a);
    kiln__array_free(NULL, &b);
    kiln__array_free(NULL, &p);
}

/* ---- a large product, of which not all is computed ---- */

enum { ROWS = 1024, COLUMNS = 1000, DEPTH = 16800, WRONGS = 100 }; /* more than 2^34 products of two numbers */
#define RTOL 1e-5
#define ATOL (1e-7 * DEPTH)

typedef struct large {
    kiln_array a, b, want; /* `want` has only some of the places */
    kiln_call call;
    kiln__call_arg args[4];
    kiln__projection projection;
    double *right; /* the whole product. The rows of A are multiples of each other, so it takes little time */
} large;

static double random_part(uint64_t *state) /* -1 to 1 */
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

static void open_large(large *l)
{
    memset(l, 0, sizeof *l);
    l->a = make(KILN_f32, 2, ROWS, DEPTH);
    l->b = make(KILN_f32, 2, DEPTH, COLUMNS);
    l->want = make(KILN_f32, 2, ROWS, COLUMNS);
    l->right = calloc((size_t)ROWS * COLUMNS, sizeof *l->right);
    double *row = calloc(COLUMNS, sizeof *row), *part = calloc(DEPTH, sizeof *part);
    CU_ASSERT_TRUE_FATAL(l->right && row && part);
    uint64_t state = 7;
    for (size_t k = 0; k < DEPTH; k++)
        part[k] = (float)random_part(&state);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < DEPTH; k++) /* the factors are powers of two, so the products are exact */
            ((float *)l->a.data)[i * DEPTH + k] = (float)ldexp(part[k], -(int)(i % 3));
    for (size_t k = 0; k < DEPTH; k++)
        for (size_t j = 0; j < COLUMNS; j++) {
            const float b = (float)random_part(&state);
            ((float *)l->b.data)[k * COLUMNS + j] = b;
            row[j] += part[k] * b;
        }
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            l->right[i * COLUMNS + j] = ldexp(row[j], -(int)(i % 3));
    free(row);
    free(part);
    l->args[0] = (kiln__call_arg){.name = "A", .kind = KILN__CALL_ARRAY, .array = &l->a};
    l->args[1] = (kiln__call_arg){.name = "B", .kind = KILN__CALL_ARRAY, .array = &l->b};
    l->args[2] = (kiln__call_arg){.name = "P", .kind = KILN__CALL_ARRAY, .array = &l->want, .writable = true};
    l->args[3] = (kiln__call_arg){.name = "verify.projected", .value = {.kind = KILN_INT, .as.i = 1}};
    l->call = (kiln_call){.arg_count = 4, .args = l->args};
    kiln_error *error = NULL;
    CHECK_OK(kiln__call(&l->call, builtin("matmul_f64"), (kiln__pos){0}, &error), error);
    const kiln__export *weights = kiln__export_find(l->call.exports, "verify.weights"),
                       *sums = kiln__export_find(l->call.exports, "verify.sums"),
                       *slack = kiln__export_find(l->call.exports, "verify.slack");
    CU_ASSERT_TRUE_FATAL(weights && sums && slack);
    l->projection = (kiln__projection){&weights->array, &sums->array, slack->value.as.f};
}

static void close_large(large *l)
{
    kiln__call_free(&l->call);
    kiln__array_free(NULL, &l->a);
    kiln__array_free(NULL, &l->b);
    kiln__array_free(NULL, &l->want);
    free(l->right);
}

/* A right answer: each element is off by up to 0.9 of its tolerance. */
static void make_right(const large *l, kiln_array *got, uint64_t seed)
{
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++)
        ((float *)got->data)[i] = (float)(l->right[i] + 0.9 * (ATOL + RTOL * fabs(l->right[i])) * random_part(&seed));
}

/* Makes the answer wrong in the way with this number. One element can be missing, equal its neighbour, or lack a
 * term of the sum. One tile can be wrong by a percent. One element of some thousands can be wrong. Or only elements
 * beyond the smaller sizes are wrong. */
static void plant(kiln_array *got, unsigned way)
{
    float *p = got->data;
    uint64_t state = 1000 + way;
    const size_t row = (size_t)(fabs(random_part(&state)) * (ROWS - 16)),
                 column = (size_t)(fabs(random_part(&state)) * (COLUMNS - 16)), at = row * COLUMNS + column;
    switch (way % 6) {
    case 0: p[at] = fabsf(p[at]) > 5 ? 0 : 20; break;
    case 1: p[at] += p[at] > 0 ? -0.9f : 0.9f; break; /* one term is missing; the largest terms are 1 */
    case 2: p[at] = fabsf(p[at] - p[at + 1]) > 2 ? p[at + 1] : p[at] + 2; break;
    case 3:
        for (size_t i = 0; i < 16; i++)
            for (size_t j = 0; j < 16; j++)
                p[at + i * COLUMNS + j] = p[at + i * COLUMNS + j] * 1.01f + 0.3f;
        break;
    case 4:
        for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i += 5003)
            p[i] = -p[i] + 1;
        break;
    default:
        for (size_t i = at; i < at + 7; i++) /* an index that passes the end of a smaller array has this effect */
            p[(size_t)(ROWS - 1) * COLUMNS + i % COLUMNS] = 0.5f;
        break;
    }
}

static void wrong_large_products_are_found(void)
{
    large l;
    open_large(&l);
    kiln_array got = make(KILN_f32, 2, ROWS, COLUMNS);
    kiln__difference d;
    unsigned refused = 0, found = 0, by_places = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        make_right(&l, &got, seed);
        kiln__array_compare_projected("P", &got, &l.want, &l.projection, RTOL, ATOL, &d);
        refused += d.wrong > 0;
        if (d.wrong)
            fprintf(stderr, "%s\n", d.text);
    }
    CHECK(refused == 0);
    for (unsigned way = 0; way < WRONGS; way++) {
        make_right(&l, &got, way);
        plant(&got, way);
        kiln__array_compare_projected("P", &got, &l.want, &l.projection, RTOL, ATOL, &d);
        found += d.wrong > 0;
        if (!d.wrong)
            fprintf(stderr, "the wrong answer %u passes\n", way);
        kiln__array_compare_sample("P", &got, &l.want, false, RTOL, ATOL, &d);
        by_places += d.wrong > 0;
    }
    CHECK(found == WRONGS);
    CHECK(by_places < WRONGS); /* the computed places alone do not find all wrong answers, so the sums are needed */
    /* An element at a computed place must be within its tolerance. */
    make_right(&l, &got, 3);
    ((float *)got.data)[0] += (float)(4 * ATOL);
    kiln__array_compare_projected("P", &got, &l.want, &l.projection, RTOL, ATOL, &d);
    CHECK(d.wrong == 1 && strstr(d.text, "P[0, 0]: got "));
    kiln__array_free(NULL, &got);
    close_large(&l);
}

/* ---- products with scales ---- */

static kiln_status multiply_scaled(const char *format, kiln_array *arrays, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "A", .kind = KILN__CALL_ARRAY, .array = &arrays[0]},
        {.name = "A_scales", .kind = KILN__CALL_ARRAY, .array = &arrays[1]},
        {.name = "B", .kind = KILN__CALL_ARRAY, .array = &arrays[2]},
        {.name = "B_scales", .kind = KILN__CALL_ARRAY, .array = &arrays[3]},
        {.name = "FORMAT", .kind = KILN__CALL_VALUE, .value = {.kind = KILN_TEXT, .as.text = format}},
        {.name = "C", .kind = KILN__CALL_ARRAY, .array = &arrays[4], .writable = true},
    };
    kiln_call call = {.arg_count = 6, .args = args};
    kiln_status status = kiln__call(&call, builtin("scaled_f64"), (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

/* Every element of row 0 of A is `a`, and every element of row 0 of B is `b`. The other rows are 0. */
static void check_scaled(const char *format, uint64_t bytes, uint64_t blocks, unsigned a, unsigned b, unsigned scale_a,
                         unsigned scale_b, double want)
{
    kiln_array arrays[] = {make(KILN_u8, 2, 3, bytes), make(KILN_u8, 2, 3, blocks), make(KILN_u8, 2, 2, bytes),
                           make(KILN_u8, 2, 2, blocks), make(KILN_f64, 2, 3, 2)};
    memset(arrays[0].data, (int)a, bytes);
    memset(arrays[1].data, (int)scale_a, 3 * blocks);
    memset(arrays[2].data, (int)b, bytes);
    memset(arrays[3].data, (int)scale_b, 2 * blocks);
    kiln_error *error = NULL;
    CHECK_OK(multiply_scaled(format, arrays, &error), error);
    CHECK(((double *)arrays[4].data)[0] == want);
    for (int i = 1; i < 6; i++)
        CHECK(((double *)arrays[4].data)[i] == 0);
    for (size_t i = 0; i < KILN__COUNT(arrays); i++)
        kiln__array_free(NULL, &arrays[i]);
}

/* The numbers are computed by hand. Pairs of elements of 4 bits differ, and the last block has another scale. */
static void test_scaled(void)
{
    check_scaled("mxf8", 64, 2, 0x38, 0xb8, 128, 126, -64.0); /* 1 * -1, scales 2 and 1/2 */
    check_scaled("mxf8", 32, 1, 0x01, 0x7e, 127, 130,
                 32 * 0.001953125 * 448 * 8); /* the least and the greatest number */
    check_scaled("mxf4", 16, 1, 0x71, 0x2d, 127, 129, (0.5 * -3 + 6 * 1) * 16 * 4);
    check_scaled("nvf4", 16, 2, 0x71, 0x2d, 0x38, 0x3c, (0.5 * -3 + 6 * 1) * 16 * 1.5);
    kiln_array arrays[] = {make(KILN_u8, 2, 1, 16), make(KILN_u8, 2, 1, 2), make(KILN_u8, 2, 1, 16),
                           make(KILN_u8, 2, 1, 2), make(KILN_f64, 2, 1, 1)};
    unsigned char *scales = arrays[1].data;
    memset(arrays[0].data, 0x22, 16);
    memset(arrays[2].data, 0x22, 16);
    memset(arrays[3].data, 0x38, 2);
    scales[0] = 0x38, scales[1] = 0x40; /* 1 and 2 */
    kiln_error *error = NULL;
    CHECK_OK(multiply_scaled("nvf4", arrays, &error), error);
    CHECK(((double *)arrays[4].data)[0] == 16 + 32);
    CHECK(multiply_scaled("mxf4", arrays, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error),
               "host function 'scaled_f64': the shapes of A, B and their scales do not fit mxf4");
    kiln_error_free(error);
    error = NULL;
    CHECK(multiply_scaled("fp4", arrays, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), "host function 'scaled_f64': FORMAT is mxf8, mxf4 or nvf4, not fp4");
    kiln_error_free(error);
    for (size_t i = 0; i < KILN__COUNT(arrays); i++)
        kiln__array_free(NULL, &arrays[i]);
}

static const check_case cases[] = {
    {"wrong large products are found", wrong_large_products_are_found},
    {"matmul", test_matmul},
    {"matmul errors", test_matmul_errors},
    {"gemm", test_gemm},
    {"linear", test_linear},
    {"scaled", test_scaled},
    {"syrk", test_syrk},
    {"stencil", test_stencil},
};
KILN_SUITE("data.products", cases)
