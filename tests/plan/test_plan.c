/* Tests plans on a fake driver (fake.h): configurations, verification, sharing, sizes, and failing allocations. */
#include <unistd.h>

#include "layout_internal.h"
#include "shared_internal.h"
#include "plans.h"

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
    CHECK(plan->config->sizes.items[0].value.as.i == 4 && plan->config->lets.items[0].value.as.i == 4);

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
    CHECK(config->sizes.items[0].value.as.i == 16);
    kiln__config_free(config);

    config_fails(&(kiln_choice){.variant = "w"}, KILN_ERROR_NOT_FOUND, "fake has no variant 'w'; it has: v, other");
    config_fails(&(kiln_choice){.variant = "othre"}, KILN_ERROR_NOT_FOUND,
                 "fake has no variant 'othre'; did you mean 'other'?");
    config_fails(&(kiln_choice){.size_set = "biig"}, KILN_ERROR_NOT_FOUND,
                 "fake has no size set 'biig'; did you mean 'big'?");
    p[0].value = (kiln_value){KILN_INT, {.i = 5}};
    config_fails(&(kiln_choice){.params = p, .param_count = 1}, KILN_ERROR_CONSTRAINT,
                 "BLOCK = 5 is not one of its values: 2, 4, 8; the nearest is 4");
    p[0].name = "BLOKC";
    config_fails(&(kiln_choice){.params = p, .param_count = 1}, KILN_ERROR_NOT_FOUND,
                 "v has no param 'BLOKC'; did you mean 'BLOCK'?");
    p[1].value.as.text = "double";
    config_fails(&(kiln_choice){.params = p + 1, .param_count = 1}, KILN_ERROR_CONSTRAINT,
                 "WORD = double is not one of its values: float, half");
    n.name = "NN";
    config_fails(&(kiln_choice){.sizes = &n, .size_count = 1}, KILN_ERROR_NOT_FOUND,
                 "fake has no size 'NN'; did you mean 'N'?");
    n.name = "N";
    n.value.as.i = -3;
    config_fails(&(kiln_choice){.sizes = &n, .size_count = 1}, KILN_ERROR_ARGUMENT, "size N = -3 must not be negative");
    n.value = (kiln_value){KILN_FLOAT, {.f = 2.5}};
    config_fails(&(kiln_choice){.sizes = &n, .size_count = 1}, KILN_ERROR_ARGUMENT,
                 "size N = 2.5 is not an integer such as 4096");
    n.value = (kiln_value){KILN_INT, {.i = 1}};
    kiln__config *none;
    CHECK(kiln__config_make(engine, spec, &(kiln_choice){.sizes = &n, .size_count = 1}, &none, &error) ==
          KILN_ERROR_CONSTRAINT);
    CHECK(strstr(kiln_error_message(error), "threads <= N * 2") != NULL);
    kiln_error_free(error);
    error = NULL;

    uint64_t raw, valid;
    CHECK_OK(kiln_space_size(engine, spec, NULL, &raw, &valid, &error), error);
    CHECK(raw == 25 && valid == 17); /* BLOCK = 8 needs 16 <= N, which is false at N = 4 */
    CHECK_OK(kiln_space_size(engine, spec, &(kiln_choice){.variant = "v", .size_set = "big"}, &raw, &valid, &error),
             error);
    CHECK(raw == 24 && valid == 24);
    CHECK(kiln_space_size(engine, spec, &(kiln_choice){.variant = "q"}, &raw, &valid, NULL) == KILN_ERROR_NOT_FOUND);
    kiln_space_info info = {.size = sizeof info};
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
    CHECK(kiln_plan_kernel_count(plan) == 1);
    const kiln_kernel_info *info = kiln_plan_kernel(plan, 0);
    CHECK_TEXT(info->name, "add_one");
    CHECK(info->grid[0] == 2 && info->block[0] == 2 && info->block[2] == 1 && info->function);
    close_all();
}

static void test_geometry_before_run(void)
{
    open_plan(HEAD VARIANT ADD("add_one"), &(kiln_choice){.size_set = "big"});
    const kiln_kernel_info *info = kiln_plan_kernel(plan, 0);
    CHECK(info->grid[0] == 500 && info->block[0] == 2);
    CHECK(!kiln_plan_kernel(plan, 1));
    close_all();
}

static void test_wrong_answer(void)
{
    open_plan(HEAD VERIFY VARIANT ADD("add_two"), NULL);
    check_run(
        KILN_ERROR_WRONG_ANSWER,
        "fake v BLOCK=2 gives a wrong answer:\n"
        "  y[3]: got 6, want 5 (error 2e+05 times the tolerance); 1 of 4 wrong; against host function add_one_host");
    close_all();
    open_plan(HEAD VERIFY VARIANT "      - launch: {kernel: add_one, grid: [1], block: [2], args: [x, y, N]}\n", NULL);
    check_run(KILN_ERROR_WRONG_ANSWER, "fake v BLOCK=2 gives a wrong answer:\n  y[2]: got nothing (never written), "
                                       "want 4; 2 of 4 wrong, 2 never written; against host function add_one_host");
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
        {6000, 0.0001, 1, 1},     /* the time exceeds twice the bound, and the clocks have had time to rise */
        {2000, 0.0001, 1, 3},     /* the same after the clocks have risen; on a busy host a nap may be longer */
        {2000, 0.0002, 3, 3},     /* the time exceeds the bound each time */
        {2000, 0.00026, 7, 1000}, /* the time is within a few percent of the bound, so it is measured completely */
        {2000, 0, 7, 1000},       /* 0 means that there is no bound */
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

/* A run is not repeated if the first one takes longer than `cut_above`, or leaves no time of `most_seconds` for
 * another. It is still checked. */
static void test_cut(void)
{
    static const struct {
        double above, most;
        bool cut;
    } cases[] = {{0.001, 0, true}, {0, 0.001, true}, {1000, 1000, false}, {0, 0, false}};
    kiln_error *error = NULL;
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        const kiln_run_options options = {
            .size = sizeof options, .cut_above = cases[i].above, .most_seconds = cases[i].most};
        const kiln_result *result = NULL;
        size_t count = 0;
        open_engine(NULL, false);
        CHECK_OK(try_plan(HEAD VERIFY VARIANT ADD("add_one"), NULL, &error), error);
        fake.nap = 3000;
        CHECK_OK(kiln_plan_run(plan, &options, &result, &error), error);
        fake.nap = 0;
        kiln__plan_times(plan, &count);
        CHECK(result->measured && result->verified && count == result->repetitions);
        CHECK(result->stopped_early == cases[i].cut && (result->repetitions == 1) == cases[i].cut);
        CHECK(!cases[i].cut || result->seconds >= 0.003); /* by the host's clock, which includes the nap */
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
    for (int there = 0; there < 3; there++) { /* 0: no NVML, 1: NVML without a counter of energy, 2: complete NVML */
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
        } else { /* the fake NVML counts 40 J in each tenth of a second; a busy host makes some launches longer */
            CHECK(result->power_watts > 300 && result->power_watts < 500);
            CHECK(result->energy_joules > 40 * each && result->energy_joules < 4000 * each);
        }
        close_all();
    }
    for (size_t i = 0; i < KILN__COUNT(names); i++)
        unsetenv(names[i]);
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
    check_run(KILN_OK, NULL); /* the reference reads the bound buffer */
    CHECK(references == 1 && x[0] == 10 && y[3] == 41);
    x[3] = 1;
    check_run(KILN_OK, NULL); /* the reference is computed again, because the caller may have changed the buffer */
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
    check_floats("x", x, 4); /* a run keeps the content that the application wrote */
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
    const kiln_kernel_info *info = kiln_plan_kernel(plan, 0);
    CHECK(info->grid[0] == 3);
    float y[6];
    CHECK_OK(kiln_plan_bind(plan, "y", (CUdeviceptr)(uintptr_t)y, sizeof y, &error), error);
    CHECK_OK(kiln_plan_resize(plan, &n, 1, &error), error); /* the size is the same, so the binding stays */
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(y[5] == 7);
    n.value.as.i = 3;
    CHECK_OK(kiln_plan_resize(plan, &n, 1, &error), error);
    y[0] = -1;
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(y[0] == -1); /* the size is another one, so the binding was dropped */
    check_floats("y", (float[]){2, 3, 4}, 3);
    n.name = "M";
    CHECK(kiln_plan_resize(plan, &n, 1, &error) == KILN_ERROR_NOT_FOUND);
    kiln_error_free(error);
    check_floats("y", (float[]){2, 3, 4}, 3); /* a failure leaves the plan as it was */
    close_all();
}

static void test_memory_limits(void)
{
    kiln_setting n = {"N", {KILN_INT, {.i = 1 << 24}}}; /* each buffer has 64 MiB, and the device has 64 MiB in all */
    open_plan(HEAD VARIANT ADD("add_one"), &(kiln_choice){.sizes = &n, .size_count = 1});
    kiln_error *error = NULL;
    long allocations = fake.allocations;
    CHECK(kiln_plan_launch(plan, NULL, &error) == KILN_ERROR_DEVICE_MEMORY);
    CHECK(fake.allocations == allocations); /* the size was refused before anything was allocated */
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
    const kiln_result *r = &plan->result;
    double matrix = 0, derived = 0;
    CHECK(sscanf(r->input_functions.text, "matrix=%lf derived=%lf", &matrix, &derived) == 2);
    CHECK(r->inputs_seconds > 0 && fabs(matrix + derived - r->inputs_seconds) < 1e-5 * r->inputs_seconds);
    CHECK(r->copy_seconds > 0 && r->copy_seconds == plan->buffers[0].copied); /* only x comes from an input */
    CHECK(r->rounds == 0 && r->host_step_seconds == 0);
    check_floats("y", (float[]){1, 2, 3, 4}, 4);
    kiln_setting n = {"N", {KILN_INT, {.i = 6}}};
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_resize(plan, &n, 1, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    check_floats("y", (float[]){1, 2, 3, 4, 5, 6}, 6);
    CHECK(inputs == 4);
    n.value.as.i = 4;
    CHECK_OK(kiln_plan_resize(plan, &n, 1, &error), error); /* inputs that were made earlier are found again */
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(inputs == 4);
    close_all();
}

/* Tests errors of inputs: a host function that fails, and exports that do not exist. */
static void test_input_errors(void)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"inputs:\n  A: {host: matrix, rows: N, fail: 1}\nbuffers:\n  y: {type: f32, shape: [A.rows], out: true}\n",
         "host function 'matrix': no such matrix"},
        {"inputs:\n  A: {host: matrix, rows: N}\nbuffers:\n  y: {type: f32, shape: [A.cols], out: true}\n", "A.cols"},
        {"inputs:\n  A: {host: matrix, rows: N}\nbuffers:\n  y: {from: A.coo.values, out: true}\n",
         "no input exports the array 'A.coo.values'"},
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
    check_run(KILN_OK, NULL); /* without the file, the fill is the content again */
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

static void test_metrics(void)
{
    kiln_error *error = NULL;
    const char *name = NULL;
    double value = 0;
    open_plan(
        HEAD "metrics: {flops: 3 * m.rows, rate: N / 0}\ninputs: {m: {host: matrix, rows: N}}\n" VARIANT ADD("add_one"),
        NULL);
    CHECK(kiln_plan_metric_count(plan) == 2);
    CHECK_OK(kiln_plan_metric(plan, 0, &name, &value, &error), error); /* this call makes the input */
    CHECK_TEXT(name, "flops");
    CHECK(value == 12);
    CHECK(kiln_plan_metric(plan, 1, &name, &value, &error) == KILN_ERROR_SPEC);
    kiln_error_free(error);
    CHECK(kiln_plan_metric(plan, 2, &name, &value, NULL) == KILN_ERROR_NOT_FOUND);
    close_all();
}

/* ---- references of a part ---- */

/* Computes x + 1 in every second element, if the caller wants no other elements. */
static kiln_status host_add_some(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *x;
    kiln_array *y;
    int64_t sampled;
    if (kiln_call_array(call, "x", &x) != KILN_OK || kiln_call_output(call, "y", &y) != KILN_OK ||
        kiln_call_int(call, "verify.sampled", NULL, &sampled) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (uint64_t i = 0; i < y->shape[0]; i += sampled ? 2 : 1)
        ((float *)y->data)[i] = ((const float *)x->data)[i] + 1;
    return KILN_OK;
}

static void run_sampled(const char *text, kiln_status want, const char *message)
{
    kiln_error *error = NULL;
    open_engine(NULL, true);
    kiln_register_host(engine, "add_some", KILN_HOST_REFERENCE, host_add_some, NULL, NULL);
    CHECK_OK(try_plan(text, NULL, &error), error);
    check_run(want, message);
    close_all();
}

#define SOME(sampled) HEAD "verify: {y: {against: {host: add_some}, sampled: " sampled "}}\n" VARIANT
static void test_sampled(void)
{
    run_sampled(SOME("true") ADD("add_one"), KILN_OK, NULL);
    run_sampled(SOME("true") ADD("add_two"), KILN_OK, NULL); /* y[3] is not compared */
    run_sampled(
        SOME("false") ADD("add_two"), KILN_ERROR_WRONG_ANSWER,
        "fake v BLOCK=2 gives a wrong answer:\n"
        "  y[3]: got 6, want 5 (error 1.96e+04 times the tolerance); 1 of 4 wrong; against host function add_some");
    run_sampled(
        SOME("true") "      - launch: {kernel: nothing, grid: [1], block: [2], args: []}\n", KILN_ERROR_WRONG_ANSWER,
        "fake v BLOCK=2 gives a wrong answer:\n"
        "  y[0]: got nothing (never written), want 2; 4 of 4 wrong, 4 never written; against host function add_some");
}

/* ---- sharing ---- */

/* Does the same as add_one_host. First it reads an export of the variant's own input, or asks for an export that does
 * not exist. */
static kiln_status host_curious(void *user, kiln_call *call)
{
    int64_t none = 0, rows;
    if (kiln_call_int(call, user, &none, &rows) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    return host_add_one(NULL, call);
}

/* Runs a variant that has its own input with BLOCK 2, 4, 8, 2, 4, 8, as a sweep does. */
static int references_of_sweep(const char *function, const char *looks_at)
{
    char text[1000];
    kiln_error *error = NULL;
    kiln__shared *shared;
    snprintf(text, sizeof text,
             HEAD "verify: {y: {against: {host: %s}}}\nvariants:\n  v:\n    params: {BLOCK: [2, 4, 8]}\n"
                  "    inputs: {m: {host: matrix, rows: BLOCK}}\n    steps:\n" ADD("add_one"),
             function);
    open_engine(NULL, true);
    kiln_register_host(engine, "curious", KILN_HOST_REFERENCE, host_curious, (void *)(uintptr_t)looks_at, NULL);
    CHECK_OK(kiln_spec_parse(engine, text, strlen(text), "fake.yaml", &spec, &error), error);
    CHECK_OK(kiln__shared_open(engine, spec, &shared, &error), error);
    references = 0;
    for (int round = 0; round < 6; round++) {
        kiln_setting block = {"BLOCK", {KILN_INT, {.i = 2 << round % 3}}};
        CHECK_OK(fake_plan_of(engine, spec, &(kiln_choice){.params = &block, .param_count = 1}, &plan, &error), error);
        kiln__plan_share(plan, shared);
        check_run(KILN_OK, NULL);
        kiln_plan_close(plan);
        plan = NULL;
    }
    kiln__shared_free(shared);
    close_all();
    return references;
}

static void test_sweep_inputs(void)
{
    CHECK(references_of_sweep("add_one_host", NULL) == 1);
    CHECK(references_of_sweep("curious", "m.rows") == 3);
    CHECK(references_of_sweep("curious", "m.columns") == 3);
}

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
    CHECK(references == 1);                 /* all configurations share one answer */
    CHECK(fake.allocations == allocations); /* the first plan's memory is used again */
    kiln__shared_free(shared);
    close_all();
}

/* A kernel overwrites memory that the sweep keeps. This must not spoil the plans after it. */
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

/* ---- sizes that no choice names ---- */

static void check_sizes(const char *usual, const char *chosen, const char *set, int64_t n)
{
    open_plan(HEAD VARIANT ADD("add_one"), NULL);
    kiln_plan_close(plan);
    plan = NULL;
    engine->size_set = usual;
    kiln_error *error = NULL;
    CHECK_OK(fake_plan_of(engine, spec, &(kiln_choice){.size_set = chosen}, &plan, &error), error);
    CHECK_TEXT(kiln_plan_size_set(plan), set);
    CHECK_TEXT(kiln_plan_size(plan, 0)->name, "N");
    CHECK(kiln_plan_size(plan, 0)->value.as.i == n && !kiln_plan_size(plan, 1));
    close_all();
}

static void test_default_sizes(void)
{
    check_sizes(NULL, NULL, "tiny", 4); /* the device is simulated, so `tiny` is the default */
    check_sizes("", NULL, "default", 8);
    check_sizes("big", NULL, "big", 1000);
    check_sizes("absent", NULL, "default", 8);
    check_sizes("big", "tiny", "tiny", 4);
}

/* ---- right answers that prove little ---- */

#define WEAK(fill)                                                                                                     \
    "kiln: 1\nname: fake\nsource: fake.cu\nsizes: {tiny: {N: 100}}\nbuffers:\n"                                        \
    "  x: {type: f32, shape: [N], fill: " fill "}\n  y: {type: f32, shape: [N], out: true}\n"

static void check_weak(const char *text, unsigned weak)
{
    open_plan(text, NULL);
    kiln_error *error = NULL;
    const kiln_result *result = NULL;
    CHECK_OK(kiln_plan_run(plan, NULL, &result, &error), error);
    CU_ASSERT_EQUAL(result->weak, weak);
    close_all();
}

static void test_weak(void)
{
    check_weak(WEAK("{iota: [1, 1]}") VERIFY VARIANT ADD("add_one"), 0);
    check_weak(WEAK("{uniform: [0, 1]}") VERIFY VARIANT ADD("add_one"), 0);
    check_weak(WEAK("3") VERIFY VARIANT ADD("add_one"), KILN_WEAK_ANSWER);
    check_weak(WEAK("0") VERIFY VARIANT ADD("add_one"), KILN_WEAK_INPUTS | KILN_WEAK_ANSWER);
    check_weak(WEAK("0.0") VARIANT ADD("add_one"), 0); /* nothing was compared */
    check_weak(HEAD VERIFY VARIANT ADD("add_one"), 0); /* four elements */
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
    {"runs that are cut", test_cut},
    {"clocks and energy", test_clocks_and_energy},
    {"zero sizes", test_zero},
    {"bind", test_bind},
    {"read and write", test_read_write},
    {"resize", test_resize},
    {"memory limits", test_memory_limits},
    {"inputs", test_inputs},
    {"input errors", test_input_errors},
    {"files", test_files},
    {"metrics", test_metrics},
    {"references of a part", test_sampled},
    {"sweep", test_sweep},
    {"sweep with inputs", test_sweep_inputs},
    {"sweep heals", test_sweep_heals},
    {"memory", test_memory},
    {"sizes by default", test_default_sizes},
    {"weak answers", test_weak},
    {"threads", test_threads},
};
KILN_SUITE("plan", cases)
