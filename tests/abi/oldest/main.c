/* A program of the oldest version that is supported: it is compiled against the headers beside it, as they were then, and
 * linked to the library as it is now. It runs a plan and tunes two configurations on the simulated device. The other way
 * round, a struct of a newer header than the library, is in tests/library/test_arguments.c (sizes of structs).
 * Its argument: the folder that twice.cu lies in. */
#include <stdio.h>
#include <string.h>

#include "kiln_tune.h"

enum { N = 1000 };

static const char text[] =
    "kiln: 1\n"
    "name: twice\n"
    "source: twice.cu\n"
    "sizes: {default: {N: 1000}}\n"
    "buffers:\n"
    "  x: {type: f32, shape: [N], fill: {iota: [1, 1]}}\n"
    "  y: {type: f32, shape: [N], out: true}\n"
    "verify: {y: {against: {host: doubled}, rtol: 0, atol: 0}}\n"
    "variants:\n"
    "  plain:\n"
    "    params: {BLOCK: [32, 64, 128]}\n"
    "    launch: {kernel: twice, grid: ['ceil_div(N, BLOCK)'], block: [BLOCK], args: [x, y, N]}\n";

static int failures;
static kiln_error *error;

static void check(int fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "abi.oldest: %s: %s\n", what, error ? kiln_error_message(error) : "not as it was");
    kiln_error_free(error);
    error = NULL;
    failures++;
}
#define CHECK(fine) check(fine, #fine)

static kiln_status doubled(void *user, kiln_call *call)
{
    const kiln_array *x = NULL;
    kiln_array *y = NULL;
    (void)user;
    if (kiln_call_array(call, "x", &x) || kiln_call_output(call, "y", &y))
        return KILN_ERROR_HOST_FUNCTION;
    if (x->type != KILN_f32 || x->dims != 1 || x->shape[0] != N)
        return kiln_call_fail(call, "x is not as the spec says");
    for (int i = 0; i < N; i++)
        ((float *)y->data)[i] = 2 * ((const float *)x->data)[i];
    return KILN_OK;
}

typedef struct seen { unsigned samples, logged; } seen;

static void on_log(void *user, kiln_log_level level, const char *message)
{
    (void)level, (void)message;
    ((seen *)user)->logged++;
}

static int on_sample(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    seen *s = user;
    if (sample) {
        s->samples++;
        CHECK(progress->done == s->samples && sample->status == KILN_OK && strcmp(sample->variant, "plain") == 0);
        CHECK(sample->param_count == 1 && strcmp(sample->params[0].name, "BLOCK") == 0);
    }
    return 0;
}

static int on_spec(void *user, const char *name, const char *title, const char *path)
{
    (void)name, (void)title, (void)path;
    return ++*(int *)user;
}

static void run(kiln_engine *engine, const kiln_spec *spec)
{
    static float y[N];
    kiln_plan *plan = NULL;
    const kiln_result *result = NULL;
    kiln_setting block = {"BLOCK", {KILN_INT, {64}}};
    kiln_choice choice = {.variant = "plain", .params = &block, .param_count = 1};
    kiln_run_options options = {.size = sizeof options, .max_repetitions = 2};
    CHECK(kiln_plan_open(engine, spec, &choice, &plan, &error) == KILN_OK);
    if (!plan)
        return;
    CHECK(kiln_plan_run(plan, &options, &result, &error) == KILN_OK);
    CHECK(result && result->verified && !result->measured && result->worst_error == 0);
    CHECK(kiln_plan_reset(plan, NULL, &error) == KILN_OK && kiln_plan_launch(plan, NULL, &error) == KILN_OK);
    CHECK(kiln_plan_read(plan, "y", y, sizeof y, &error) == KILN_OK);
    CHECK(y[0] == 2 && y[N - 1] == 2 * N);
    kiln_plan_close(plan);
}

static void tune(kiln_engine *engine, const kiln_spec *spec, seen *s)
{
    kiln_tuning *tuning = NULL;
    kiln_run_options run = {.size = sizeof run, .max_repetitions = 1};
    kiln_tune_options options = {.size = sizeof options, .run = &run, .max_configurations = 2, .strategy = "random", .seed = 1,
                                 .callback = on_sample, .user = s};
    CHECK(kiln_tune(engine, spec, &options, &tuning, &error) == KILN_OK);
    CHECK(s->samples == 2 && kiln_tuning_count(tuning) == 2);
    const kiln_tuning_totals *totals = kiln_tuning_sum(tuning);
    CHECK(totals && totals->configurations == 2 && totals->verified == 2 && totals->end == KILN_END_CONFIGURATIONS);
    CHECK(kiln_tuning_sample(tuning, 0)->result->verified && !kiln_tuning_sample(tuning, 2));
    kiln_tuning_free(tuning);
}

// Runs a program that was compiled with the oldest published headers: each structure has its former size.
int main(int count, char **arguments)
{
    char name[4096];
    seen s = {0};
    int specs = 0;
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    const kiln_device_info *device = NULL;
    kiln_space_info space = {.size = sizeof space};
    kiln_options options = {.size = sizeof options, .device = "sim", .flags = KILN_NO_CACHE | KILN_NO_WORKERS,
                            .log = on_log, .log_user = &s};
    snprintf(name, sizeof name, "%s/twice.yaml", count > 1 ? arguments[1] : ".");
    CHECK(kiln_engine_open(&options, &engine, &error) == KILN_OK);
    CHECK(kiln_register_host(engine, "doubled", KILN_HOST_REFERENCE, doubled, NULL, &error) == KILN_OK);
    CHECK(kiln_spec_parse(engine, text, sizeof text - 1, name, &spec, &error) == KILN_OK);
    if (!spec)
        return 1;
    const kiln_param_info *param = kiln_spec_param(spec, 0, 0);
    CHECK(param && param->count == 3 && param->values[1].kind == KILN_INT && param->values[1].as.i == 64);
    CHECK(kiln_space_count(engine, spec, NULL, NULL, &space, &error) == KILN_OK && space.valid == 3);
    CHECK(space.size == sizeof space && space.counted == 1);
    CHECK(kiln_engine_device(engine, &device, &error) == KILN_OK && device->simulated && device->warp_size == 32);
    CHECK(kiln_spec_list(engine, on_spec, &specs, &error) == KILN_OK && specs <= 1);
    kiln_plan *plan = NULL;
    kiln_status status = kiln_plan_open(engine, spec, NULL, &plan, &error);
    if (status == KILN_ERROR_NO_COMPILER) {
        printf("SKIP nvrtc: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        error = NULL;
    } else {
        CHECK(status == KILN_OK);
        kiln_plan_close(plan);
        run(engine, spec);
        tune(engine, spec, &s);
    }
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    printf("abi.oldest: headers of %s, library %s, %d failures\n", KILN_VERSION, kiln_version(), failures);
    return failures ? 1 : status == KILN_ERROR_NO_COMPILER ? 77 : 0;
}
