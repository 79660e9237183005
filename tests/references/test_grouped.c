/* Compares grouped_offsets and grouped_f64 with known values and a loop. */
#include <math.h>

#include "data/arrays.h"
#include "hosts.h"

static kiln__call_arg number(const char *name, int64_t value)
{
    return (kiln__call_arg){.name = name, .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = value}};
}

static kiln_status run(const char *name, kiln_call *call, kiln_error **error)
{
    return kiln__call(call, builtin(name), (kiln__pos){0}, error);
}

static void check_offsets(int64_t rows, int64_t groups, int64_t skew, const int32_t *want, int64_t used)
{
    kiln__call_arg args[] = {number("rows", rows), number("groups", groups), number("skew", skew)};
    kiln_call call = {.arg_count = KILN__COUNT(args), .args = args};
    kiln_error *error = NULL;
    CHECK_OK(run("grouped_offsets", &call, &error), error);
    const kiln__export *offsets = kiln__export_find(call.exports, "offsets");
    CU_ASSERT_PTR_NOT_NULL_FATAL(offsets);
    for (int64_t g = 0; g <= groups; g++)
        CHECK(((int32_t *)offsets->array.data)[g] == want[g]);
    const kiln__export *count = kiln__export_find(call.exports, "used");
    CU_ASSERT_PTR_NOT_NULL_FATAL(count);
    CHECK(count->value.as.i == used);
    kiln__call_free(&call);
}

static void test_offsets(void)
{
    check_offsets(12, 4, 0, (int32_t[]){0, 3, 6, 9, 12}, 4);
    check_offsets(3, 5, 0, (int32_t[]){0, 0, 1, 1, 2, 3}, 3);
    check_offsets(16, 4, 1, (int32_t[]){0, 1, 4, 9, 16}, 4);
    check_offsets(0, 2, 1, (int32_t[]){0, 0, 0}, 0);
}

/* ---- the product ---- */

enum { ROWS = 11, COLUMNS = 67, DEPTH = 9, GROUPS = 4 };
static const int32_t first[GROUPS + 1] = {0, 3, 3, 10, 11}; /* one group has no rows */

typedef struct problem {
    kiln_array a, w, offsets, c;
} problem;

static problem make_problem(void)
{
    problem p = {.a = make(KILN_f64, 2, ROWS, DEPTH), .offsets = make(KILN_i32, 1, GROUPS + 1, 0)};
    kiln_error *error = NULL;
    p.c = make(KILN_f64, 2, ROWS, COLUMNS);
    CHECK_OK(kiln__array_make(NULL, KILN_f64, 3, (uint64_t[]){GROUPS, COLUMNS, DEPTH}, &p.w, &error), error);
    fill(&p.a, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = -1, .b = 1, .seed = 1});
    fill(&p.w, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = -1, .b = 1, .seed = 2});
    memcpy(p.offsets.data, first, sizeof first);
    return p;
}

static kiln_status multiply(problem *p, const kiln_allocator *mem, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "A", .kind = KILN__CALL_ARRAY, .array = &p->a},
        {.name = "W", .kind = KILN__CALL_ARRAY, .array = &p->w},
        {.name = "offsets", .kind = KILN__CALL_ARRAY, .array = &p->offsets},
        {.name = "C", .kind = KILN__CALL_ARRAY, .array = &p->c, .writable = true},
    };
    kiln_call call = {.mem = mem, .arg_count = KILN__COUNT(args), .args = args};
    kiln_status status = run("grouped_f64", &call, error);
    kiln__call_free(&call);
    return status;
}

static void free_problem(problem *p)
{
    kiln_array *const all[] = {&p->a, &p->w, &p->offsets, &p->c};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        kiln__array_free(NULL, all[i]);
}

static void test_product(void)
{
    problem p = make_problem();
    kiln_error *error = NULL;
    CHECK_OK(multiply(&p, NULL, &error), error);
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t row = (size_t)first[g]; row < (size_t)first[g + 1]; row++)
            for (size_t n = 0; n < COLUMNS; n++) {
                double sum = 0;
                for (size_t k = 0; k < DEPTH; k++)
                    sum += ((double *)p.a.data)[row * DEPTH + k] * ((double *)p.w.data)[(g * COLUMNS + n) * DEPTH + k];
                CHECK(fabs(((double *)p.c.data)[row * COLUMNS + n] - sum) <= 1e-14);
            }
    free_problem(&p);
}

static void test_errors(void)
{
    problem p = make_problem();
    static const char text[] =
        "host function 'grouped_f64': A must be ROWS x K, W GROUPS x N x K, C ROWS x N, and offsets GROUPS + 1 numbers "
        "(i32) that do not fall, from 0 to ROWS";
    for (int i = 0; i < 3; i++) {
        memcpy(p.offsets.data, first, sizeof first);
        p.w.shape[1] = i == 0 ? COLUMNS - 1 : COLUMNS;
        if (i == 1)
            ((int32_t *)p.offsets.data)[GROUPS] = ROWS + 1; /* past the end */
        if (i == 2)
            ((int32_t *)p.offsets.data)[1] = 4; /* falls to 3 */
        kiln_error *error = NULL;
        CHECK(multiply(&p, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
        CHECK_TEXT(kiln_error_message(error), text);
        kiln_error_free(error);
    }
    free_problem(&p);
    kiln__call_arg args[] = {number("rows", 5), number("groups", 0), number("skew", 0)};
    kiln_call call = {.arg_count = KILN__COUNT(args), .args = args};
    kiln_error *error = NULL;
    CHECK(run("grouped_offsets", &call, &error) == KILN_ERROR_HOST_FUNCTION);
    kiln_error_free(error);
    kiln__call_free(&call);
}

/* Each of the four allocations fails once. */
static void test_memory(void)
{
    problem p = make_problem();
    for (int i = 0; i < 4; i++) {
        check_oom oom = {.countdown = i};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_error *error = NULL;
        CHECK(multiply(&p, &mem, &error) == KILN_ERROR_MEMORY);
        CHECK(oom.failed);
        kiln_error_free(error);
        CHECK(oom.live == 0);
    }
    free_problem(&p);
}

static const check_case cases[] = {
    {"offsets", test_offsets}, {"product", test_product}, {"errors", test_errors}, {"memory", test_memory}};
KILN_SUITE("grouped", cases)
