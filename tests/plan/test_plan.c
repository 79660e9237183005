/* Plans on a fake driver (fake.h): steps, arguments, verification, sharing, sizes, failing allocations. */
#include <unistd.h>

#include "fake.h"

static kiln_engine *engine;
static kiln_spec *spec;
static kiln_plan *plan;

/* host functions of the specs below */
static _Atomic int references, inputs;
static kiln_status host_add_one(void *user, kiln_call *call)
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
static kiln_status host_input(void *user, kiln_call *call)
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
/* Takes what an input exported, and exports its double. */
static kiln_status host_derived(void *user, kiln_call *call)
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
static kiln_status host_step(void *user, kiln_call *call)
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
    ((float *)x->data)[0] = 77; /* was not asked for as an output: never seen */
    return KILN_OK;
}

static void open_engine(const kiln_allocator *mem, bool simulated)
{
    engine = fake_engine_of(mem, simulated);
    if (!engine)
        return;
    kiln_register_host(engine, "add_one_host", KILN_HOST_REFERENCE, host_add_one, NULL, NULL);
    kiln_register_host(engine, "matrix", KILN_HOST_INPUT, host_input, NULL, NULL);
    kiln_register_host(engine, "derived", KILN_HOST_INPUT, host_derived, NULL, NULL);
    kiln_register_host(engine, "step", KILN_HOST_STEP, host_step, NULL, NULL);
}

static kiln_status try_plan(const char *text, const kiln_choice *choice, kiln_error **error)
{
    kiln_status status = kiln_spec_parse(engine, text, strlen(text), "fake.yaml", &spec, error);
    return status == KILN_OK ? fake_plan_of(engine, spec, choice, &plan, error) : status;
}

static void open_plan(const char *text, const kiln_choice *choice)
{
    kiln_error *error = NULL;
    open_engine(NULL, true);
    CHECK_OK(try_plan(text, choice, &error), error);
    if (!plan)
        abort(); /* nothing after this means anything */
}

static void close_all(void)
{
    kiln_plan_close(plan);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    plan = NULL;
    spec = NULL;
    engine = NULL;
    CHECK(fake.blocks == 0);
}

static void check_run(kiln_status want, const char *message)
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

static void check_floats(const char *buffer, const float *want, size_t count)
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

/* ---- configurations ---- */

static void config_fails(const kiln_choice *choice, kiln_status want, const char *message)
{
    kiln_error *error = NULL;
    kiln__config *config;
    kiln_status status = kiln__config_make(engine, spec, choice, &config, &error);
    CU_ASSERT_EQUAL(status, want);
    if (status == KILN_OK)
        kiln__config_free(config);
    CHECK_TEXT(kiln_error_message(error), message);
    kiln_error_free(error);
}

static void test_config(void)
{
    static const char text[] = HEAD
        "variants:\n  v:\n    params: {BLOCK: [2, 4, 8], WORD: [float, half], S: [0.5, 1.0], T: [true, false]}\n"
        "    let: {threads: BLOCK * 2}\n    where: [threads <= N * 2]\n"
        "    launch: {kernel: nothing, grid: [1], block: [1], args: []}\n"
        "  other:\n    launch: {kernel: nothing, grid: [1], block: [1], args: []}\n";
    open_plan(text, NULL);
    kiln__text label = {0};
    kiln__config_print(plan->config, &label);
    CHECK_TEXT(kiln__text_get(&label), "v BLOCK=2 WORD=float S=0.5 T=true");
    kiln__text_free(&label);
    CHECK_TEXT(plan->config->size_set, "tiny");
    CHECK(plan->config->sizes[0].value.as.i == 4 && plan->config->lets[0].value.as.i == 4);

    kiln_setting p[4] = {{"BLOCK", {KILN_FLOAT, {.f = 4.0}}},
                         {"WORD", {KILN_TEXT, {.text = "half"}}},
                         {"S", {KILN_INT, {.i = 1}}},
                         {"T", {KILN_TEXT, {.text = "false"}}}};
    kiln_setting n = {"N", {KILN_INT, {.i = 16}}};
    kiln_choice choice = {
        .variant = "v", .params = p, .param_count = 4, .size_set = "big", .sizes = &n, .size_count = 1};
    kiln__config *config;
    kiln_error *error = NULL;
    CHECK_OK(kiln__config_make(engine, spec, &choice, &config, &error), error);
    kiln__config_print(config, &label);
    CHECK_TEXT(kiln__text_get(&label), "v BLOCK=4 WORD=half S=1.0 T=false");
    kiln__text_free(&label);
    CHECK(config->sizes[0].value.as.i == 16);
    kiln__config_free(config);

    config_fails(&(kiln_choice){.variant = "w"}, KILN_ERROR_NOT_FOUND, "fake has no variant 'w'; it has: v, other");
    config_fails(&(kiln_choice){.variant = "othre"}, KILN_ERROR_NOT_FOUND,
                 "fake has no variant 'othre'; did you mean 'other'?");
    config_fails(&(kiln_choice){.size_set = "biig"}, KILN_ERROR_NOT_FOUND,
                 "fake has no size set 'biig'; did you mean 'big'?");
    p[0].value = (kiln_value){KILN_INT, {.i = 5}};
    config_fails(&(kiln_choice){.params = p, .param_count = 1}, KILN_ERROR_CONSTRAINT,
                 "BLOCK = 5 is none of its values: 2, 4, 8; the nearest is 4");
    p[0].name = "BLOKC";
    config_fails(&(kiln_choice){.params = p, .param_count = 1}, KILN_ERROR_NOT_FOUND,
                 "v has no param 'BLOKC'; did you mean 'BLOCK'?");
    p[1].value.as.text = "double";
    config_fails(&(kiln_choice){.params = p + 1, .param_count = 1}, KILN_ERROR_CONSTRAINT,
                 "WORD = double is none of its values: float, half");
    n.name = "NN";
    config_fails(&(kiln_choice){.sizes = &n, .size_count = 1}, KILN_ERROR_NOT_FOUND,
                 "fake has no size 'NN'; did you mean 'N'?");
    n.name = "N";
    n.value.as.i = -3;
    config_fails(&(kiln_choice){.sizes = &n, .size_count = 1}, KILN_ERROR_ARGUMENT, "size N = -3 is negative");
    n.value = (kiln_value){KILN_FLOAT, {.f = 2.5}};
    config_fails(&(kiln_choice){.sizes = &n, .size_count = 1}, KILN_ERROR_ARGUMENT, "size N = 2.5 is no integer");
    n.value = (kiln_value){KILN_INT, {.i = 1}};
    kiln__config *none;
    CHECK(kiln__config_make(engine, spec, &(kiln_choice){.sizes = &n, .size_count = 1}, &none, &error) ==
          KILN_ERROR_CONSTRAINT);
    CHECK(strstr(kiln_error_message(error), "threads <= N * 2") != NULL);
    kiln_error_free(error);
    error = NULL;

    uint64_t raw, valid;
    CHECK_OK(kiln_space_size(engine, spec, NULL, &raw, &valid, &error), error);
    CHECK(raw == 25 && valid == 17); /* BLOCK = 8 needs 16 <= 8: not at N = 4 */
    CHECK_OK(kiln_space_size(engine, spec, &(kiln_choice){.variant = "v", .size_set = "big"}, &raw, &valid, &error),
             error);
    CHECK(raw == 24 && valid == 24);
    CHECK(kiln_space_size(engine, spec, &(kiln_choice){.variant = "q"}, &raw, &valid, NULL) == KILN_ERROR_NOT_FOUND);
    kiln_space_info info;
    CHECK_OK(kiln_space_count(engine, spec, NULL, NULL, &info, &error), error);
    CHECK(info.raw == 25 && info.valid == 17 && info.counted);
    CHECK(kiln_space_count(engine, spec, NULL, &(kiln_space_options){0}, &info, NULL) == KILN_ERROR_ARGUMENT);
    close_all();
}

/* ---- running ---- */

static void test_run(void)
{
    open_plan(HEAD VERIFY VARIANT ADD("add_one"), NULL);
    CHECK(fake.allocations == 0 || fake.bytes == 0); /* opening allocates no buffers */
    references = 0;
    kiln_error *error = NULL;
    const kiln_result *result = NULL;
    CHECK_OK(kiln_plan_run(plan, NULL, &result, &error), error);
    CHECK(result->verified && !result->measured && !result->estimated && result->seconds == 0);
    CHECK(result->repetitions == 1 && result->host_seconds > 0 && result->worst_error == 0);
    CHECK(result->cache_misses == 1 && result->cache_hits == 0);
    CHECK(references == 1);
    check_floats("y", (float[]){2, 3, 4, 5}, 4);
    kiln_kernel_info info;
    CHECK(kiln_plan_kernel_count(plan) == 1);
    kiln_plan_kernel(plan, 0, &info);
    CHECK_TEXT(info.name, "add_one");
    CHECK(info.grid[0] == 2 && info.block[0] == 2 && info.block[2] == 1 && info.function);
    close_all();
}

static void test_geometry_before_run(void)
{
    open_plan(HEAD VARIANT ADD("add_one"), &(kiln_choice){.size_set = "big"});
    kiln_kernel_info info;
    kiln_plan_kernel(plan, 0, &info);
    CHECK(info.grid[0] == 500 && info.block[0] == 2);
    kiln_plan_kernel(plan, 1, &info);
    CHECK(!info.name);
    close_all();
}

static void test_wrong_answer(void)
{
    open_plan(HEAD VERIFY VARIANT ADD("add_two"), NULL);
    check_run(KILN_ERROR_WRONG_ANSWER, "fake v BLOCK=2 gives a wrong answer:\n"
                                       "  y[3]: got 6, want 5 (error 2e+05 times the tolerance); 1 of 4 wrong");
    close_all();
    open_plan(HEAD VERIFY VARIANT "      - launch: {kernel: add_one, grid: [1], block: [2], args: [x, y, N]}\n", NULL);
    check_run(KILN_ERROR_WRONG_ANSWER, "fake v BLOCK=2 gives a wrong answer:\n  y[2]: got nothing (never written), "
                                       "want 4; 2 of 4 wrong, 2 never written");
    close_all();
    open_plan(HEAD VARIANT "      - launch: {kernel: nothing, grid: [1], block: [2], args: []}\n", NULL);
    check_run(KILN_ERROR_WRONG_ANSWER, "fake v BLOCK=2 gives a wrong answer:\n  y: never written");
    kiln_error *error = NULL;
    const kiln_result *result = NULL;
    kiln_run_options options = {.size = sizeof options, .flags = KILN_RUN_NO_VERIFY};
    CHECK_OK(kiln_plan_run(plan, &options, &result, &error), error);
    CHECK(!result->verified);
    close_all();
}

static void test_gpu_measure(void)
{
    kiln_error *error = NULL;
    open_engine(NULL, false); /* a device that is no simulator is measured */
    CHECK_OK(try_plan(HEAD VERIFY "metrics: {flops: N, bytes: 8*N}\n" VARIANT ADD("add_one"), NULL, &error), error);
    const kiln_result *result = NULL;
    long before = fake.launches;
    CHECK_OK(kiln_plan_run(plan, NULL, &result, &error), error);
    CHECK(result->measured && !result->estimated && result->verified && result->host_seconds == 0);
    CHECK(result->repetitions >= 7 && result->seconds > 0.00024 && result->seconds < 0.00026);
    CHECK(result->seconds_low <= result->seconds && result->seconds <= result->seconds_high);
    CHECK(result->flops == 8 && result->bytes == 64);
    CHECK(fabs(result->roofline - 64e-9 / result->seconds) < 1e-12);
    CHECK(fake.launches - before < 60);
    kiln_run_options options = {.size = sizeof options,
                                .flags = KILN_RUN_KEEP_L2,
                                .min_repetitions = 3,
                                .max_repetitions = 5,
                                .precision = 1e-9};
    CHECK_OK(kiln_plan_run(plan, &options, &result, &error), error);
    CHECK(result->repetitions == 5);
    options.flags = KILN_RUN_NO_MEASURE;
    CHECK_OK(kiln_plan_run(plan, &options, &result, &error), error);
    CHECK(!result->measured && result->repetitions == 0);
    close_all();
}

/* A launch takes 0.25 ms by the events. */
static void test_give_up(void)
{
    static const struct {
        long nap;
        double bound;
        unsigned least, most;
    } cases[] = {
        {6000, 0.0001, 1, 1},     /* more than twice the bound, and the clocks have had time to rise */
        {2000, 0.0001, 1, 3},     /* the same, once they have; on a busy host a nap may be longer */
        {2000, 0.0002, 3, 3},     /* above the bound each time */
        {2000, 0.00026, 7, 1000}, /* a contender: within a few percent */
        {2000, 0, 7, 1000},       /* no bound */
    };
    kiln_error *error = NULL;
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        open_engine(NULL, false);
        CHECK_OK(try_plan(HEAD VERIFY VARIANT ADD("add_one"), NULL, &error), error);
        const kiln_result *result = NULL;
        kiln_run_options options = {.size = sizeof options, .stop_early_above = cases[i].bound};
        fake.nap = cases[i].nap;
        CHECK_OK(kiln_plan_run(plan, &options, &result, &error), error);
        fake.nap = 0;
        size_t count = 0;
        kiln__plan_times(plan, &count);
        CHECK(result->measured && result->verified && result->seconds > 0.00024 && result->seconds < 0.00026);
        CHECK(result->stopped_early == (cases[i].most <= 3) && count == result->repetitions);
        CHECK(cases[i].least <= result->repetitions && result->repetitions <= cases[i].most);
        close_all();
        open_engine(NULL, false);
        CHECK_OK(try_plan(HEAD VERIFY VARIANT ADD("add_two"), NULL, &error), error);
        CHECK(kiln_plan_run(plan, &options, &result, NULL) == KILN_ERROR_WRONG_ANSWER);
        close_all();
    }
}

static CUresult CUDAAPI fake_uuid(CUuuid *uuid, CUdevice device)
{
    (void)device;
    for (size_t i = 0; i < sizeof uuid->bytes; i++)
        uuid->bytes[i] = (char)i;
    return CUDA_SUCCESS;
}

static void test_clocks_and_energy(void)
{
    static const char *const names[] = {"KILN_LIBNVML",      "FAKE_NVML_CLOCK",   "FAKE_NVML_MEMORY_CLOCK",
                                        "FAKE_NVML_REASONS", "FAKE_NVML_CELSIUS", "FAKE_NVML_MILLIWATTS",
                                        "FAKE_NVML_ENERGY"};
    static const char *const values[] = {FAKE_NVML, "1500", "3200", "4", "50", "300000", "40000"};
    kiln_error *error = NULL;
    const kiln_result *result = NULL;
    kiln_run_options options = {.size = sizeof options, .flags = KILN_RUN_ENERGY};
    for (int there = 0; there < 3; there++) { /* no library; no counter of energy; all of it */
        for (size_t i = 0; there && i < KILN__COUNT(names) - (there == 1); i++)
            setenv(names[i], values[i], 1);
        open_engine(NULL, false);
        engine->driver.cuDeviceGetUuid_ = fake_uuid;
        CHECK_OK(try_plan(HEAD VERIFY VARIANT ADD("add_one"), NULL, &error), error);
        fake.nap = there == 2 ? 1000 : 0;
        long before = fake.launches;
        uint64_t start = kiln__now_ns();
        CHECK_OK(kiln_plan_run(plan, &options, &result, &error), error);
        double each = (double)(kiln__now_ns() - start) * 1e-9 / (double)(fake.launches - before);
        fake.nap = 0;
        CHECK(result->clock_hz == (there ? 1500e6 : 0) && result->memory_clock_hz == (there ? 3200e6 : 0));
        CHECK(result->throttle == (there ? KILN_THROTTLE_POWER : 0) && result->temperature == (there ? 50 : 0));
        if (there < 2) {
            CHECK(result->power_watts == (there ? 300 : 0) && result->energy_joules == 0);
        } else { /* 40 J a tenth of a second, for as many launches as it took */
            CHECK(result->power_watts > 300 && result->power_watts < 500);
            CHECK(result->energy_joules > 200 * each && result->energy_joules < 800 * each);
        }
        close_all();
    }
    for (size_t i = 0; i < KILN__COUNT(names); i++)
        unsetenv(names[i]);
}

/* ---- steps ---- */

static void test_steps(void)
{
    open_plan(HEAD "  z: {type: f64, shape: [N]}\n  h: {type: f16, shape: [N]}\n"
                   "  n: {type: i32, shape: [1], fill: 5}\n  m: {type: i32, shape: [1], fill: 0}\n" VARIANT
                   "      - fill: {buffer: y, value: 0.5}\n"
                   "      - fill: {buffer: z, value: 0.1}\n"
                   "      - fill: {buffer: h, value: 2}\n"
                   "      - copy: {from: x, to: y, count: 2, from_offset: 1, to_offset: 2}\n"
                   "      - repeat: {times: 3, index: i, steps: [{launch: {kernel: scale, grid: [1], block: [1], "
                   "args: [y, i + 1, 2.0]}}]}\n",
              NULL);
    check_run(KILN_OK, NULL);
    check_floats("y", (float[]){4, 2, 4, 3}, 4); /* .5 .5 2 3, then the first 1, 2, 3 doubled */
    double z[4];
    uint16_t h[4];
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_read(plan, "z", z, sizeof z, &error), error);
    CHECK(z[0] == 0.1 && z[1] == 0.1 && z[2] == 0.1 && z[3] == 0.1);
    CHECK_OK(kiln_plan_read(plan, "h", h, sizeof h, &error), error);
    CHECK(h[0] == 0x4000 && h[3] == 0x4000);
    CHECK(plan->steps.ready && !plan->dynamic); /* kept as a program */
    close_all();
}

static void test_swap(void)
{
    open_plan(HEAD
              "  t: {type: f32, shape: [N]}\n" VARIANT "      - copy: {from: x, to: y}\n"
              "      - repeat: {times: 3, steps: [{launch: {kernel: add_one, grid: [N], block: [1], args: [y, t, N]}}, "
              "{swap: [y, t]}]}\n",
              NULL);
    kiln_error *error = NULL;
    for (int round = 0; round < 3; round++) { /* every launch starts from the names as they were written */
        CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
        check_floats("y", (float[]){4, 5, 6, 7}, 4);
        check_floats("t", (float[]){3, 4, 5, 6}, 4);
    }
    close_all();
}

#define COUNTERS "  n: {type: i32, shape: [1], fill: 5}\n  m: {type: i32, shape: [1], fill: 0}\n"

static void test_while(void)
{
    static const char text[] = HEAD COUNTERS VARIANT
        "      - while: {read: {left: \"n[0]\"}, cond: left > 0, at_most: 2 * N, steps: [{launch: {kernel: count_down, "
        "grid: [left], block: [1], args: [n, m]}}]}\n" ADD("add_one");
    open_plan(text, NULL);
    CHECK(plan->dynamic);
    check_run(KILN_OK, NULL);
    int32_t m;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_read(plan, "m", &m, sizeof m, &error), error);
    CHECK(m == 5);
    int32_t twenty = 20;
    CHECK_OK(kiln_plan_write(plan, "n", &twenty, sizeof twenty, &error), error);
    CHECK(kiln_plan_launch(plan, NULL, &error) == KILN_ERROR_TIMEOUT);
    CHECK(strstr(kiln_error_message(error), "fake.yaml:17:") != NULL);
    CHECK(strstr(kiln_error_message(error), "the loop has not ended after at_most = 8 rounds") != NULL);
    kiln_error_free(error);
    close_all();
}

/* Runs for a moment at most; the message has `part`. */
static void check_ended(kiln_status want, const volatile int *stop, const char *part)
{
    kiln_error *error = NULL;
    const kiln_result *result = NULL;
    kiln_run_options options = {.size = sizeof options, .sample_timeout = stop ? -1 : 0.05, .stop = stop};
    CU_ASSERT_EQUAL(kiln_plan_run(plan, &options, &result, &error), want);
    if (!strstr(kiln_error_message(error), part))
        fprintf(stderr, "got %s\n", kiln_error_message(error));
    CHECK(strstr(kiln_error_message(error), part) != NULL);
    kiln_error_free(error);
}

static volatile int wish;
static void wish_to_end(void)
{
    wish = 1;
    fake.busy = 0;
}

static void test_limits(void)
{
    kiln_error *error = NULL;
    float y[4];
    /* Loops of the spec. */
    open_plan(
        HEAD COUNTERS VARIANT
        "      - while: {read: {left: \"n[0]\"}, cond: left > 0, at_most: 1000000000000000, steps: [{fill: {buffer: y, "
        "value: 1}}]}\n",
        NULL);
    check_ended(KILN_ERROR_TIMEOUT, NULL, "took longer than the limit of 0.05 s (sample_timeout), until round");
    wish = 1;
    check_ended(KILN_ERROR_INTERRUPTED, &wish, "was stopped");
    close_all();
    open_plan(HEAD VARIANT
              "      - repeat: {times: 1000000000000000, steps: [{launch: {kernel: add_one, grid: [0], block: [1], "
              "args: [x, y, N]}}]}\n",
              NULL);
    check_ended(KILN_ERROR_TIMEOUT, NULL, "took longer than the limit of 0.05 s (sample_timeout), until round");
    close_all();
    /* A kernel that does not end: the host goes on, and touches the device no more. */
    open_plan(HEAD VARIANT ADD("add_one"), NULL);
    fake.busy = 1;
    check_ended(KILN_ERROR_TIMEOUT, NULL, "kernel 'add_one' still has the device, until this process ends");
    CHECK(kiln_plan_read(plan, "y", y, sizeof y, &error) == KILN_ERROR_TIMEOUT);
    CHECK(strstr(kiln_error_message(error), "still has") != NULL);
    kiln_error_free(error);
    fake.busy = 0;
    atomic_store(&engine->stuck, false); /* what a process never sees: so that the memory can be given back */
    close_all();
    /* One that ends soon after the caller wanted it to. */
    open_plan(HEAD VARIANT ADD("add_one"), NULL);
    wish = 0;
    fake.busy = 1;
    fake.queried = wish_to_end;
    check_ended(KILN_ERROR_INTERRUPTED, &wish, "was stopped");
    fake.queried = NULL;
    CHECK(!atomic_load(&engine->stuck));
    check_run(KILN_OK, NULL);
    close_all();
}

static void test_host_and_symbol(void)
{
    open_plan(HEAD VARIANT "      - host: {call: step, args: {in: x, out: y, by: 0.5 * N}}\n", NULL);
    check_run(KILN_OK, NULL);
    check_floats("y", (float[]){3, 4, 5, 6}, 4);
    check_floats("x", (float[]){1, 2, 3, 4}, 4);
    close_all();
    open_plan(HEAD VARIANT "      - symbol: {name: table, from: x, count: 2, offset: 1}\n"
                           "      - launch: {kernel: symbol_out, grid: [1], block: [1], args: [y]}\n",
              NULL);
    memset(fake_symbol, 0, sizeof fake_symbol);
    check_run(KILN_OK, NULL);
    check_floats("y", (float[]){2, 3, 0, 0}, 4);
    close_all();
}

static void test_before_each(void)
{
    open_plan(HEAD "variants:\n  v:\n    params: {BLOCK: [2]}\n    before_each: [{fill: {buffer: y, value: 3}}]\n"
                   "    steps:\n      - launch: {kernel: scale, grid: [1], block: [1], args: [y, N, 2.0]}\n",
              NULL);
    kiln_error *error = NULL;
    check_run(KILN_OK, NULL);
    check_floats("y", (float[]){6, 6, 6, 6}, 4);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    check_floats("y", (float[]){12, 12, 12, 12}, 4);
    CHECK_OK(kiln_plan_reset(plan, NULL, &error), error);
    check_floats("y", (float[]){3, 3, 3, 3}, 4);
    close_all();
}

/* Each broken step with its message. */
static void test_step_errors(void)
{
    static const struct {
        const char *step;
        kiln_status status;
        const char *message;
    } wrong[] = {
        {"launch: {kernel: add_one, grid: [1], block: [1], args: [x, y]}", KILN_ERROR_LAUNCH,
         "add_one takes 3 arguments, 2 are given"},
        {"launch: {kernel: add_one, grid: [1], block: [1], args: [x, N, N]}", KILN_ERROR_LAUNCH,
         "argument 2 of add_one: 'N' = 4, but the kernel takes a pointer: a pointer stands here: name a buffer"},
        {"launch: {kernel: add_one, grid: [1], block: [1], args: [x, y, x]}", KILN_ERROR_LAUNCH,
         "argument 3 of add_one: 'x' is a buffer, but the kernel takes a 32-bit integer"},
        {"launch: {kernel: add_one, grid: [1], block: [1], args: [x, y, N * 2.0]}", KILN_ERROR_LAUNCH,
         "argument 3 of add_one: 'N * 2.0' = 8.0, but the kernel takes a 32-bit integer: an integer stands here, the "
         "value is a float; write int(...)"},
        {"launch: {kernel: add_one, grid: [1], block: [1], args: [x, y, N << 40]}", KILN_ERROR_LAUNCH,
         "argument 3 of add_one: 'N << 40' = 4398046511104, but the kernel takes a 32-bit integer: the value does not "
         "fit"},
        {"launch: {kernel: add_one, grid: [N - 5], block: [1], args: [x, y, N]}", KILN_ERROR_LAUNCH,
         "grid x = -1 is outside 0 .. 2147483647"},
        {"launch: {kernel: add_one, grid: [1, 65536], block: [1], args: [x, y, N]}", KILN_ERROR_LAUNCH,
         "grid y = 65536 is outside 0 .. 65535"},
        {"launch: {kernel: add_one, grid: [1], block: [32, 64], args: [x, y, N]}", KILN_ERROR_LAUNCH,
         "a block of 2048 threads; the device allows 1024"},
        {"launch: {kernel: add_one, grid: [1], block: [1024], args: [x, y, N]}", KILN_ERROR_LAUNCH,
         "a block of 1024 threads; add_one allows 512, by its registers or its launch bounds"},
        {"launch: {kernel: add_one, grid: [1], block: [N - 4], args: [x, y, N]}", KILN_ERROR_LAUNCH,
         "a block of 0 x 1 x 1 has no threads"},
        {"launch: {kernel: add_one, grid: [1], block: [1], shared: 100000, args: [x, y, N]}", KILN_ERROR_LAUNCH,
         "100000 bytes of shared memory (0 static, 100000 dynamic); the device allows 99000 a block"},
        {"launch: {kernel: add_one, grid: [1 // (N - 4)], block: [1], args: [x, y, N]}", KILN_ERROR_SPEC,
         "division by zero"},
        {"fill: {buffer: n, value: 0.5}", KILN_ERROR_SPEC,
         "buffer 'n': a buffer of i32 must be filled with integers, not with 0.5"},
        {"copy: {from: x, to: y, count: 5}", KILN_ERROR_LAUNCH, "5 elements from 0 on are not all in 'x', which has 4"},
        {"copy: {from: x, to: y, to_offset: 1}", KILN_ERROR_LAUNCH,
         "4 elements from 1 on are not all in 'y', which has 4"},
        {"copy: {from: x, to: y, to_offset: N - 5}", KILN_ERROR_LAUNCH, "to_offset = -1 is negative"},
        {"copy: {from: x, to: b}", KILN_ERROR_LAUNCH, "elements of 'x' are f32, those of 'b' i8"},
        {"symbol: {name: table, from: b, count: 33}", KILN_ERROR_LAUNCH,
         "33 elements of 'b' are 33 bytes; the symbol 'table' has room for 32"},
        {"symbol: {name: nowhere, from: x}", KILN_ERROR_NOT_FOUND,
         "the source has no __constant__ or __device__ variable 'nowhere'"},
        {"swap: [x, n]", KILN_ERROR_LAUNCH, "'x' and 'n' differ in type or size and cannot be swapped"},
        {"repeat: {times: N - 5, steps: [{fill: {buffer: y, value: 0}}]}", KILN_ERROR_SPEC, "times = -1 is negative"},
        {"while: {read: {k: \"n[N]\"}, cond: k > 0, at_most: 3, steps: [{fill: {buffer: y, value: 0}}]}",
         KILN_ERROR_LAUNCH, "'n' has 1 elements, no element 4"},
    };
    for (size_t i = 0; i < KILN__COUNT(wrong); i++) {
        char text[2000];
        kiln_error *error = NULL;
        snprintf(text, sizeof text, HEAD COUNTERS "  b: {type: i8, shape: [40]}\n" VARIANT "      - %s\n",
                 wrong[i].step);
        open_plan(text, NULL);
        kiln_status status = kiln_plan_launch(plan, NULL, &error);
        CU_ASSERT_EQUAL(status, wrong[i].status);
        if (!strstr(kiln_error_message(error), wrong[i].message) || !strstr(kiln_error_message(error), "fake.yaml:"))
            fprintf(stderr, "got:  %s\nwant: %s\n", kiln_error_message(error), wrong[i].message);
        CHECK(strstr(kiln_error_message(error), wrong[i].message) != NULL);
        CHECK(strstr(kiln_error_message(error), "fake.yaml:") != NULL && strchr(kiln_error_message(error), '^'));
        kiln_error_free(error);
        close_all();
    }
}

static void test_shared_memory_opt_in(void)
{
    open_plan(HEAD VARIANT "      - launch: {kernel: add_one, grid: [N], block: [1], shared: 50000, args: [x, y, N]}\n",
              NULL);
    fake.shared_limit = 0;
    check_run(KILN_OK, NULL);
    CHECK(fake.shared_limit == 50000);
    close_all();
    open_plan(HEAD VARIANT
              "      - launch: {kernel: add_one, grid: [N], block: [1], shared: 48 * 1024, args: [x, y, N]}\n",
              NULL);
    fake.shared_limit = 0;
    check_run(KILN_OK, NULL);
    CHECK(fake.shared_limit == 0);
    close_all();
}

static void test_missing_kernel(void)
{
    kiln_error *error = NULL;
    open_engine(NULL, true);
    CHECK(try_plan(HEAD VARIANT "      - launch: {kernel: absent, grid: [1], block: [1], args: []}\n", NULL, &error) ==
          KILN_ERROR_NOT_FOUND);
    CHECK_TEXT(kiln_error_message(error),
               "fake: the source has no kernel 'absent' (is it declared extern \"C\" __global__?)");
    kiln_error_free(error);
    close_all();
}

static void test_launch_failure(void)
{
    open_plan(HEAD VARIANT ADD("add_one"), NULL);
    fake.fail_launch = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    kiln_error *error = NULL;
    CHECK(kiln_plan_launch(plan, NULL, &error) != KILN_OK);
    CHECK(kiln_error_cuda(error) == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    CHECK(strstr(kiln_error_message(error), "v BLOCK=2: launching add_one with grid 2 x 1 x 1, block 2 x 1 x 1") !=
          NULL);
    kiln_error_free(error);
    fake.fail_launch = 0;
    error = NULL;
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    close_all();
}

/* ---- buffers ---- */

static void test_zero(void)
{
    kiln_setting n = {"N", {KILN_INT, {.i = 0}}};
    open_plan(HEAD VERIFY VARIANT ADD("add_one"), &(kiln_choice){.sizes = &n, .size_count = 1});
    long launches = fake.launches;
    check_run(KILN_OK, NULL);
    CHECK(fake.launches == launches);
    uint64_t bytes = 1;
    CUdeviceptr pointer = 1;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_buffer_bytes(plan, "y", &bytes, &error), error);
    CHECK_OK(kiln_plan_buffer(plan, "y", &pointer, &error), error);
    CHECK(bytes == 0 && pointer == 0);
    CHECK_OK(kiln_plan_read(plan, "y", NULL, 0, &error), error);
    close_all();
}

static void test_bind(void)
{
    open_plan(HEAD VERIFY VARIANT ADD("add_one"), NULL);
    float x[4] = {10, 20, 30, 40}, y[5] = {0, 0, 0, 0, 99};
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_bind(plan, "x", (CUdeviceptr)(uintptr_t)x, sizeof x, &error), error);
    CHECK_OK(kiln_plan_bind(plan, "y", (CUdeviceptr)(uintptr_t)y, sizeof y, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(y[0] == 11 && y[3] == 41 && y[4] == 99);
    references = 0;
    check_run(KILN_OK, NULL); /* the reference reads what is bound */
    CHECK(references == 1 && x[0] == 10 && y[3] == 41);
    x[3] = 1;
    check_run(KILN_OK, NULL); /* and is made again, for the caller may have changed it */
    CHECK(references == 2 && y[3] == 2);
    float other[4] = {0};
    CHECK_OK(kiln_plan_bind(plan, "y", (CUdeviceptr)(uintptr_t)other, sizeof other, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(other[0] == 11);
    CHECK(kiln_plan_bind(plan, "y", (CUdeviceptr)(uintptr_t)y, 12, &error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(error), "buffer y has 16 bytes with these sizes; the memory given for it has 12");
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln_plan_bind(plan, "yy", 0, 0, &error) == KILN_ERROR_NOT_FOUND);
    CHECK_TEXT(kiln_error_message(error), "v has no buffer 'yy'; did you mean 'y'?");
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln_plan_bind(plan, "y", 0, 16, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    close_all();
}

static void test_read_write(void)
{
    open_plan(HEAD VERIFY VARIANT ADD("add_one"), NULL);
    float x[4] = {5, 6, 7, 8};
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_write(plan, "x", x, sizeof x, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    check_floats("y", (float[]){6, 7, 8, 9}, 4);
    check_run(KILN_OK, NULL);
    check_floats("x", x, 4); /* a run leaves what was written */
    CHECK(kiln_plan_read(plan, "x", x, 15, &error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(error), "buffer x has 16 bytes, not 15");
    kiln_error_free(error);
    close_all();
}

static void test_resize(void)
{
    open_plan(HEAD VERIFY VARIANT ADD("add_one"), NULL);
    check_run(KILN_OK, NULL);
    kiln_setting n = {"N", {KILN_INT, {.i = 6}}};
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_resize(plan, &n, 1, &error), error);
    uint64_t bytes;
    CHECK_OK(kiln_plan_buffer_bytes(plan, "y", &bytes, &error), error);
    CHECK(bytes == 24);
    check_run(KILN_OK, NULL);
    check_floats("y", (float[]){2, 3, 4, 5, 6, 7}, 6);
    kiln_kernel_info info;
    kiln_plan_kernel(plan, 0, &info);
    CHECK(info.grid[0] == 3);
    float y[6];
    CHECK_OK(kiln_plan_bind(plan, "y", (CUdeviceptr)(uintptr_t)y, sizeof y, &error), error);
    CHECK_OK(kiln_plan_resize(plan, &n, 1, &error), error); /* the same size: the binding stays */
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(y[5] == 7);
    n.value.as.i = 3;
    CHECK_OK(kiln_plan_resize(plan, &n, 1, &error), error);
    y[0] = -1;
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(y[0] == -1); /* another: it was dropped */
    check_floats("y", (float[]){2, 3, 4}, 3);
    n.name = "M";
    CHECK(kiln_plan_resize(plan, &n, 1, &error) == KILN_ERROR_NOT_FOUND);
    kiln_error_free(error);
    check_floats("y", (float[]){2, 3, 4}, 3); /* a failure leaves the plan as it was */
    close_all();
}

static void test_memory_limits(void)
{
    kiln_setting n = {"N", {KILN_INT, {.i = 1 << 24}}}; /* 64 MiB each; the device has 64 */
    open_plan(HEAD VARIANT ADD("add_one"), &(kiln_choice){.sizes = &n, .size_count = 1});
    kiln_error *error = NULL;
    long allocations = fake.allocations;
    CHECK(kiln_plan_launch(plan, NULL, &error) == KILN_ERROR_DEVICE_MEMORY);
    CHECK(fake.allocations == allocations); /* refused before anything is allocated */
    CHECK(strstr(kiln_error_message(error), "the buffers of fake") != NULL);
    kiln_error_free(error);
    error = NULL;
    n.value.as.i = INT64_MAX;
    CHECK(kiln_plan_resize(plan, &n, 1, &error) == KILN_ERROR_REFUSED);
    CHECK_TEXT(kiln_error_message(error), "buffer x [N] would have more than 2^63 bytes");
    kiln_error_free(error);
    close_all();
}

/* ---- inputs ---- */

#define INPUTS                                                                                                         \
    "kiln: 1\nname: fake\nsource: fake.cu\nsizes:\n  default: {N: 4}\n"                                                \
    "inputs:\n  A: {host: matrix, rows: N}\n  D: {host: derived, m: A}\n"                                              \
    "buffers:\n  x: {from: A.csr.values}\n  y: {type: f32, shape: [A.rows], out: true}\n"                              \
    "variants:\n  v:\n    params: {BLOCK: [2, 4]}\n    let: {n: A.rows, blocks: ceil_div(n, BLOCK)}\n"                 \
    "    steps:\n      - launch: {kernel: add_one, grid: [blocks], block: [BLOCK], args: [x, y, D.twice // 2]}\n"

static void test_inputs(void)
{
    open_plan(INPUTS, NULL);
    inputs = 0;
    check_run(KILN_OK, NULL);
    CHECK(inputs == 2);
    check_floats("y", (float[]){1, 2, 3, 4}, 4);
    kiln_setting n = {"N", {KILN_INT, {.i = 6}}};
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_resize(plan, &n, 1, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    check_floats("y", (float[]){1, 2, 3, 4, 5, 6}, 6);
    CHECK(inputs == 4);
    n.value.as.i = 4;
    CHECK_OK(kiln_plan_resize(plan, &n, 1, &error), error); /* what was made before is found again */
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(inputs == 4);
    close_all();
}

static void test_input_errors(void)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"inputs:\n  A: {host: matrix, rows: N, fail: 1}\nbuffers:\n  y: {type: f32, shape: [A.rows], out: true}\n",
         "host function 'matrix': no such matrix"},
        {"inputs:\n  A: {host: matrix, rows: N}\nbuffers:\n  y: {type: f32, shape: [A.cols], out: true}\n", "A.cols"},
        {"inputs:\n  A: {host: matrix, rows: N}\nbuffers:\n  y: {from: A.coo.values, out: true}\n",
         "no input exports an array 'A.coo.values'"},
        {"inputs:\n  A: {host: matrix, rows: 0 - N}\nbuffers:\n  y: {type: f32, shape: [A.rows], out: true}\n",
         "host function 'matrix'"},
    };
    for (size_t i = 0; i < KILN__COUNT(wrong); i++) {
        char text[1000];
        kiln_error *error = NULL;
        snprintf(text, sizeof text,
                 "kiln: 1\nname: fake\nsource: fake.cu\nsizes:\n  default: {N: 4}\n%s"
                 "variants:\n  v:\n    launch: {kernel: nothing, grid: [1], block: [1], args: []}\n",
                 wrong[i].text);
        open_plan(text, NULL);
        CHECK(kiln_plan_launch(plan, NULL, &error) != KILN_OK);
        if (!strstr(kiln_error_message(error), wrong[i].message))
            fprintf(stderr, "got:  %s\nwant: %s\n", kiln_error_message(error), wrong[i].message);
        CHECK(strstr(kiln_error_message(error), wrong[i].message) != NULL);
        kiln_error_free(error);
        close_all();
    }
}

/* ---- files ---- */

static void write_floats(const char *path, int dims, const uint64_t *shape, float first)
{
    kiln_array array;
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, KILN_f32, dims, shape, &array, &error), error);
    kiln__fill_values iota = {.kind = KILN__FILL_IOTA, .a = (double)first, .b = 1};
    CHECK_OK(kiln__array_fill(&array, &iota, NULL, &error), error);
    CHECK_OK(kiln__npy_write(NULL, path, &array, &error), error);
    kiln__array_free(NULL, &array);
}

static void test_files(void)
{
    char in[] = "/tmp/kiln-plan-in-XXXXXX", out[] = "/tmp/kiln-plan-out-XXXXXX";
    close(mkstemp(in));
    close(mkstemp(out));
    write_floats(in, 1, (uint64_t[]){4}, 100);
    open_plan(HEAD VERIFY VARIANT ADD("add_one"), NULL);
    kiln_file_binding input = {"x", in}, output = {"y", out};
    kiln_run_options options = {
        .size = sizeof options, .inputs = &input, .input_count = 1, .outputs = &output, .output_count = 1};
    const kiln_result *result = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_run(plan, &options, &result, &error), error);
    CHECK(result->verified);
    kiln_array array;
    CHECK_OK(kiln__npy_read(NULL, out, 1000, &array, &error), error);
    CHECK(array.dims == 1 && array.shape[0] == 4 && ((float *)array.data)[3] == 104);
    kiln__array_free(NULL, &array);
    check_run(KILN_OK, NULL); /* without the file: the fill again */
    check_floats("y", (float[]){2, 3, 4, 5}, 4);
    write_floats(in, 2, (uint64_t[]){2, 2}, 0);
    CHECK(kiln_plan_run(plan, &options, &result, &error) == KILN_ERROR_ARGUMENT);
    CHECK(strstr(kiln_error_message(error), "holds f32[2, 2], but buffer x is f32[4]") != NULL);
    kiln_error_free(error);
    error = NULL;
    input.buffer = "w";
    CHECK(kiln_plan_run(plan, &options, &result, &error) == KILN_ERROR_NOT_FOUND);
    kiln_error_free(error);
    error = NULL;
    input.buffer = "x";
    input.path = "/nonexistent.npy";
    CHECK(kiln_plan_run(plan, &options, &result, &error) == KILN_ERROR_NOT_FOUND);
    kiln_error_free(error);
    check_run(KILN_OK, NULL);
    close_all();
    unlink(in);
    unlink(out);
}

/* ---- sharing ---- */

static void test_sweep(void)
{
    kiln_error *error = NULL;
    kiln__shared *shared;
    open_engine(NULL, true);
    CHECK_OK(kiln_spec_parse(engine, HEAD VERIFY VARIANT ADD("add_one"), strlen(HEAD VERIFY VARIANT ADD("add_one")),
                             "fake.yaml", &spec, &error),
             error);
    CHECK_OK(kiln__shared_open(engine, spec, &shared, &error), error);
    references = 0;
    long allocations = 0;
    for (int round = 0; round < 6; round++) {
        kiln_setting block = {"BLOCK", {KILN_INT, {.i = 2 << round % 3}}};
        CHECK_OK(fake_plan_of(engine, spec, &(kiln_choice){.params = &block, .param_count = 1}, &plan, &error), error);
        kiln__plan_share(plan, shared);
        check_run(KILN_OK, NULL);
        kiln_plan_close(plan);
        plan = NULL;
        if (round == 0)
            allocations = fake.allocations;
    }
    CHECK(references == 1);                 /* one answer for all configurations */
    CHECK(fake.allocations == allocations); /* and the first plan's memory */
    kiln__shared_free(shared);
    close_all();
}

/* A kernel that overwrites what the sweep keeps must not spoil the plans after it. */
static void test_sweep_heals(void)
{
    static const char text[] = HEAD VERIFY "variants:\n  v:\n    params: {BLOCK: [2]}\n    steps:\n" ADD("add_one");
    kiln_error *error = NULL;
    kiln__shared *shared;
    open_engine(NULL, true);
    CHECK_OK(kiln_spec_parse(engine, text, strlen(text), "fake.yaml", &spec, &error), error);
    CHECK_OK(kiln__shared_open(engine, spec, &shared, &error), error);
    static const kiln_status want[] = {KILN_OK, KILN_ERROR_WRONG_ANSWER, KILN_OK};
    for (int round = 0; round < 3; round++) {
        CHECK_OK(fake_plan_of(engine, spec, NULL, &plan, &error), error);
        kiln__plan_share(plan, shared);
        for (kiln__plan_entry *e = shared->entries; e; e = e->next)
            if (round == 1 && e->device)
                ((float *)(uintptr_t)e->device)[0] = -5;
        kiln_status status = kiln_plan_run(plan, NULL, NULL, NULL);
        CU_ASSERT_EQUAL(status, want[round]);
        kiln_plan_close(plan);
        plan = NULL;
    }
    kiln__shared_free(shared);
    close_all();
}

/* ---- failing allocations ---- */

static void exhaust(const char *text)
{
    for (long k = 0; k < 3000; k++) {
        check_oom oom = {.countdown = -1};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_error *error = NULL;
        open_engine(&mem, true);
        if (!engine || kiln_spec_parse(engine, text, strlen(text), "fake.yaml", &spec, &error) != KILN_OK)
            abort();
        oom.countdown = k;
        kiln_status status = fake_plan_of(engine, spec, NULL, &plan, &error);
        if (status == KILN_OK)
            status = kiln_plan_run(plan, NULL, NULL, &error);
        int failed = oom.failed;
        oom.countdown = -1;
        if (failed ? status == KILN_OK : status != KILN_OK)
            fprintf(stderr, "allocation %ld: %s: %s\n", k, kiln_status_name(status), kiln_error_message(error));
        CHECK(failed ? status != KILN_OK : status == KILN_OK);
        kiln_error_free(error);
        close_all();
        CHECK(oom.live == 0);
        if (!failed)
            return;
    }
    CU_FAIL("never ran through");
}

static void test_memory(void)
{
    exhaust(HEAD VERIFY VARIANT ADD("add_one"));
    exhaust(INPUTS);
    exhaust(HEAD COUNTERS
            "  z: {type: f64, shape: [N]}\n" VARIANT
            "      - host: {call: step, args: {in: x, out: y, by: 0.5 * N}}\n      - fill: {buffer: z, value: 0.1}\n"
            "      - while: {read: {left: \"n[0]\"}, cond: left > 0, at_most: 9, steps: [{launch: {kernel: count_down, "
            "grid: [left], block: [1], args: [n, m]}}, {swap: [x, y]}]}\n");
}

/* ---- two plans of one engine in two threads ---- */

typedef struct worker {
    kiln_plan *plan;
    unsigned wrong;
} worker;

static void *work(void *user)
{
    worker *w = user;
    for (int i = 0; i < 50; i++)
        w->wrong += kiln_plan_launch(w->plan, NULL, NULL) != KILN_OK ||
                    kiln_plan_run(w->plan, NULL, NULL, NULL) != KILN_OK;
    return NULL;
}

static void test_threads(void)
{
    open_plan(HEAD VERIFY VARIANT ADD("add_one"), NULL);
    worker workers[2] = {{.plan = plan}, {0}};
    kiln_error *error = NULL;
    CHECK_OK(fake_plan_of(engine, spec, &(kiln_choice){.size_set = "big"}, &workers[1].plan, &error), error);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        CHECK(workers[i].wrong == 0);
    }
    kiln_plan_close(workers[1].plan);
    close_all();
}

static const check_case cases[] = {
    {"config", test_config},
    {"run", test_run},
    {"geometry before a run", test_geometry_before_run},
    {"wrong answer", test_wrong_answer},
    {"measure", test_gpu_measure},
    {"giving up", test_give_up},
    {"clocks and energy", test_clocks_and_energy},
    {"steps", test_steps},
    {"swap", test_swap},
    {"while", test_while},
    {"limits of time", test_limits},
    {"host and symbol", test_host_and_symbol},
    {"before_each", test_before_each},
    {"step errors", test_step_errors},
    {"shared memory opt-in", test_shared_memory_opt_in},
    {"missing kernel", test_missing_kernel},
    {"launch failure", test_launch_failure},
    {"zero sizes", test_zero},
    {"bind", test_bind},
    {"read and write", test_read_write},
    {"resize", test_resize},
    {"memory limits", test_memory_limits},
    {"inputs", test_inputs},
    {"input errors", test_input_errors},
    {"files", test_files},
    {"sweep", test_sweep},
    {"sweep heals", test_sweep_heals},
    {"memory", test_memory},
    {"threads", test_threads},
};
KILN_SUITE("plan", cases)
