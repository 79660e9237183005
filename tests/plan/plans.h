/* plans.h - helpers that the suites of plans on a fake driver share: an engine, a spec with host functions, a plan. */
#ifndef TEST_PLANS_H
#define TEST_PLANS_H

#include "fake.h"

static kiln_engine *engine;
static kiln_spec *spec;
static kiln_plan *plan;

/* host functions of the specs below */
static _Atomic int references, inputs;
static inline kiln_status host_add_one(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *x;
    kiln_array *y;
    int64_t n;
    references++;
    if (kiln_call_array(call, "x", &x) != KILN_OK || kiln_call_output(call, "y", &y) != KILN_OK ||
        kiln_call_int(call, "N", NULL, &n) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (int64_t i = 0; i < n; i++)
        ((float *)y->data)[i] = ((const float *)x->data)[i] + 1;
    return KILN_OK;
}
static inline kiln_status host_input(void *user, kiln_call *call)
{
    (void)user;
    int64_t rows, zero = 0, fail;
    kiln_array *array;
    inputs++;
    if (kiln_call_int(call, "rows", NULL, &rows) != KILN_OK || kiln_call_int(call, "fail", &zero, &fail) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (fail)
        return kiln_call_fail(call, "no such matrix");
    if (kiln_call_export_int(call, "rows", rows) != KILN_OK ||
        kiln_call_export_array(call, "csr.values", KILN_f32, 1, (uint64_t[]){(uint64_t)rows}, &array) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (int64_t i = 0; i < rows; i++)
        ((float *)array->data)[i] = (float)i;
    return KILN_OK;
}
/* Reads the number of rows that an input exported, and exports twice this number. */
static inline kiln_status host_derived(void *user, kiln_call *call)
{
    (void)user;
    int64_t rows;
    const kiln_array *values;
    inputs++;
    if (kiln_call_int(call, "m.rows", NULL, &rows) != KILN_OK ||
        kiln_call_array(call, "m.csr.values", &values) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    CHECK((int64_t)values->shape[0] == rows);
    return kiln_call_export_int(call, "twice", 2 * rows);
}
static inline kiln_status host_step(void *user, kiln_call *call)
{
    (void)user;
    kiln_array *y;
    const kiln_array *x;
    double by;
    if (kiln_call_array(call, "in", &x) != KILN_OK || kiln_call_output(call, "out", &y) != KILN_OK ||
        kiln_call_float(call, "by", NULL, &by) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (uint64_t i = 0; i < y->shape[0]; i++)
        ((float *)y->data)[i] = ((const float *)x->data)[i] + (float)by;
    ((float *)x->data)[0] = 77; /* this array is no requested output, so nobody sees the change */
    return KILN_OK;
}

static inline void open_engine(const kiln_allocator *mem, bool simulated)
{
    engine = fake_engine_of(mem, simulated);
    if (!engine)
        return;
    kiln_register_host(engine, "add_one_host", KILN_HOST_REFERENCE, host_add_one, NULL, NULL);
    kiln_register_host(engine, "matrix", KILN_HOST_INPUT, host_input, NULL, NULL);
    kiln_register_host(engine, "derived", KILN_HOST_INPUT, host_derived, NULL, NULL);
    kiln_register_host(engine, "step", KILN_HOST_STEP, host_step, NULL, NULL);
}

static inline kiln_status try_plan(const char *text, const kiln_choice *choice, kiln_error **error)
{
    kiln_status status = kiln_spec_parse(engine, text, strlen(text), "fake.yaml", &spec, error);
    return status == KILN_OK ? fake_plan_of(engine, spec, choice, &plan, error) : status;
}

static inline void open_plan(const char *text, const kiln_choice *choice)
{
    kiln_error *error = NULL;
    open_engine(NULL, true);
    CHECK_OK(try_plan(text, choice, &error), error);
    if (!plan)
        abort(); /* after this failure no result of the test has a meaning */
}

static inline void close_all(void)
{
    kiln_plan_close(plan);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    plan = NULL;
    spec = NULL;
    engine = NULL;
    CHECK(fake.blocks == 0);
}

static inline void check_run(kiln_status want, const char *message)
{
    kiln_error *error = NULL;
    const kiln_result *result = NULL;
    kiln_status status = kiln_plan_run(plan, NULL, &result, &error);
    CU_ASSERT_EQUAL(status, want);
    if (want == KILN_OK)
        CHECK_TEXT(kiln_error_message(error), "");
    else if (message)
        CHECK_TEXT(kiln_error_message(error), message);
    kiln_error_free(error);
}

static inline void check_floats(const char *buffer, const float *want, size_t count)
{
    kiln_error *error = NULL;
    float got[64];
    CHECK_OK(kiln_plan_read(plan, buffer, got, count * sizeof *got, &error), error);
    for (size_t i = 0; i < count; i++) {
        if (got[i] != want[i])
            fprintf(stderr, "%s[%zu]: %g, want %g\n", buffer, i, (double)got[i], (double)want[i]);
        CHECK(got[i] == want[i]);
    }
}

#define HEAD                                                                                                           \
    "kiln: 1\nname: fake\nsource: fake.cu\nsizes:\n  default: {N: 8}\n  big: {N: 1000}\n  tiny: {N: 4}\n"              \
    "buffers:\n  x: {type: f32, shape: [N], fill: {iota: [1, 1]}}\n  y: {type: f32, shape: [N], out: true}\n"
#define ADD(kernel)                                                                                                    \
    "      - launch: {kernel: " kernel ", grid: [ceil_div(N, BLOCK)], block: [BLOCK], args: [x, y, N]}\n"
#define VARIANT "variants:\n  v:\n    params: {BLOCK: [2, 4, 8]}\n    steps:\n"
#define VERIFY "verify:\n  y: {against: {host: add_one_host}, rtol: 1e-6}\n"
#define COUNTERS "  n: {type: i32, shape: [1], fill: 5}\n  m: {type: i32, shape: [1], fill: 0}\n"

#endif
