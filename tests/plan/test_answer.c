/* Compares the answers of several runs of one plan, with kernels that are right only in most runs. */
#include <unistd.h>

#include "check.h"
#include "plan_internal.h"

/* Each kernel counts its launches in a variable of the module. Launch 5 of a wrong kernel spoils one element. */
static const char source[] =
    "__device__ unsigned launches;\n"
    "#define NUMBER int i = blockIdx.x * blockDim.x + threadIdx.x\n"
    "extern \"C\" __global__ void right(const float *x, float *y) { NUMBER; y[i] = 2 * x[i]; }\n"
    "extern \"C\" __global__ void rare(const float *x, float *y)\n"
    "{\n"
    "    NUMBER;\n"
    "    y[i] = 2 * x[i];\n"
    "    if (i == 300 && ++launches == 5)\n"
    "        y[i] = 7;\n"
    "}\n"
    "extern \"C\" __global__ void count() { ++launches; }\n"
    "/* The bytes differ from run to run, within the tolerance. */\n"
    "extern \"C\" __global__ void noisy(const float *x, float *y) { NUMBER; y[i] = 2 * x[i] * (1 + 1e-6f * launches); }\n"
    "extern \"C\" __global__ void in_place(float *z) { NUMBER; z[i] += 1; }\n"
    "extern \"C\" __global__ void faults(const float *x, float *y)\n"
    "{\n"
    "    NUMBER;\n"
    "    y[i + (i == 300 && ++launches == 3 ? 1u << 30 : 0)] = 2 * x[i];\n"
    "}\n";

static const char of_y[] = "kiln: 1\n"
                           "name: answer\n"
                           "source: answer.cu\n"
                           "sizes: {default: {N: 512}}\n"
                           "buffers:\n"
                           "  x: {type: f32, shape: [N], fill: {uniform: [1, 2], seed: 1}}\n"
                           "  y: {type: f32, shape: [N], out: true}\n"
                           "  t: {type: f32, shape: [N]}\n"
                           "verify: {y: {against: {variant: right}, rtol: 1e-4}}\n"
                           "variants:\n"
                           "  right: {launch: {kernel: right, grid: [4], block: [128], args: [x, y]}}\n"
                           "  rare: {launch: {kernel: rare, grid: [4], block: [128], args: [x, y]}}\n"
                           "  faults: {launch: {kernel: faults, grid: [4], block: [128], args: [x, y]}}\n"
                           "  noisy:\n"
                           "    steps:\n"
                           "      - launch: {kernel: count, grid: [1], block: [1], args: []}\n"
                           "      - launch: {kernel: noisy, grid: [4], block: [128], args: [x, y]}\n"
                           "  swapped:\n"
                           "    steps:\n"
                           "      - launch: {kernel: rare, grid: [4], block: [128], args: [x, t]}\n"
                           "      - swap: [t, y]\n";
static const char of_z[] = "kiln: 1\n"
                           "name: answer\n"
                           "source: answer.cu\n"
                           "sizes: {default: {N: 512}}\n"
                           "buffers: {z: {type: f32, shape: [N], out: true, fill: {uniform: [1, 2], seed: 2}}}\n"
                           "verify: {z: {against: {variant: once}, rtol: 1e-4}}\n"
                           "variants:\n"
                           "  once: {launch: {kernel: in_place, grid: [4], block: [128], args: [z]}}\n"
                           "  again: {steps: [{launch: {kernel: in_place, grid: [4], block: [128], args: [z]}}]}\n";

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CHECK(fputs(text, file) >= 0 && fclose(file) == 0);
}

typedef struct expectation {
    const char *spec, *variant;
    kiln_run_options options;
    kiln_status status;
    unsigned runs;       /* the number of compared runs if the run succeeds */
    const char *message; /* a part of the message if the run fails */
} expectation;

static void expect(kiln_engine *engine, const char *path, const expectation *want)
{
    kiln_spec *spec = NULL;
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    const kiln_result *result = NULL;
    const kiln_choice choice = {.variant = want->variant};
    CHECK_OK(kiln_spec_parse(engine, want->spec, strlen(want->spec), path, &spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    CHECK_OK(kiln_plan_open(engine, spec, &choice, &plan, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    kiln_run_options options = want->options;
    options.size = sizeof options;
    const kiln_status status = kiln_plan_run(plan, &options, &result, &error);
    CHECK(status == want->status);
    if (status == KILN_OK)
        CHECK(result->verified && result->verified_runs == want->runs);
    else if (want->message)
        CHECK(strstr(kiln_error_message(error), want->message) != NULL);
    if (status != want->status ||
        (status != KILN_OK && want->message && !strstr(kiln_error_message(error), want->message)))
        printf("\n  %s: %s\n", want->variant, kiln_error_message(error));
    kiln_error_free(error);
    kiln_plan_close(plan);
    kiln_spec_free(spec);
}

static int ignore_finding(void *user, const kiln_check_finding *finding)
{
    (void)finding;
    ++*(unsigned *)user;
    return 0;
}

static void expect_all(const expectation *want, size_t count)
{
    char folder[] = "/tmp/kiln-answer-XXXXXX", path[96], command[128];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    write_text(folder, "answer.cu", source);
    snprintf(path, sizeof path, "%s/answer.yaml", folder);
    kiln_error *error = NULL;
    for (size_t i = 0; i < count; i++) {
        /* each case has its own engine, because a fault leaves the engine's context useless */
        kiln_engine *engine = NULL;
        const kiln_options options = {
            .size = sizeof options, .device = "sim", .cache_dir = folder, .flags = KILN_NO_WORKERS};
        CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(engine);
        expect(engine, path, &want[i]);
        kiln_engine_close(engine);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

#define RUNS(count)                                                                                                    \
    {                                                                                                                  \
        .verify_runs = (count)                                                                                         \
    }

/* The fifth run is wrong. The output is in the buffer of this name, or a swap step has exchanged it with another
 * buffer. */
static void finds_a_rare_mistake(void)
{
    const expectation want[] = {
        {of_y, "rare", RUNS(0), KILN_OK, 1, NULL},
        {of_y, "rare", RUNS(4), KILN_OK, 4, NULL},
        {of_y, "rare", RUNS(5), KILN_ERROR_WRONG_ANSWER, 0,
         "run 5 times on the same inputs, gives a wrong answer the last"},
        {of_y, "rare", RUNS(50), KILN_ERROR_WRONG_ANSWER, 0, "y[300]: got 7"},
        {of_y, "swapped", RUNS(4), KILN_OK, 4, NULL},
        {of_y, "swapped", RUNS(50), KILN_ERROR_WRONG_ANSWER, 0, "y[300]: got 7"},
        {of_y, "faults", RUNS(2), KILN_OK, 2, NULL},
        {of_y, "faults", RUNS(50), KILN_ERROR_DEVICE, 0, NULL},
    };
    expect_all(want, KILN__COUNT(want));
}

/* Bytes that differ within the tolerance are right, and so is an output that each run changes from its initial content. */
static void accepts_right_answers(void)
{
    const expectation want[] = {
        {of_y, "noisy", RUNS(20), KILN_OK, 20, NULL},
        {of_z, "again", RUNS(20), KILN_OK, 20, NULL},
        {of_y, "rare", {.verify_runs = 4, .flags = KILN_RUN_NO_MEASURE}, KILN_OK, 4, NULL},
    };
    expect_all(want, KILN__COUNT(want));
}

/* Under checks the host compares the answers, because the checks would report accesses of the kernel that compares. */
static void adds_nothing_to_checks(void)
{
    unsigned findings = 0;
    const expectation want[] = {
        {of_y,
         "noisy",
         {.verify_runs = 3, .flags = KILN_RUN_CHECK, .check = ignore_finding, .check_user = &findings},
         KILN_OK,
         3,
         NULL},
    };
    expect_all(want, KILN__COUNT(want));
    CHECK(findings == 0);
}

static const check_case cases[] = {
    {"finds a rare mistake", finds_a_rare_mistake},
    {"accepts right answers", accepts_right_answers},
    {"adds nothing to checks", adds_nothing_to_checks},
};
KILN_SUITE("plan.answer", cases)
