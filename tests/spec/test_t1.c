/* Tests the conversion of the keys of T1 files. The expected values come from the description of the format. */
#include "check.h"
#include "spec.h"

static kiln_status parse(const kiln_allocator *mem, const char *text, kiln_spec **spec, kiln_error **error)
{
    return kiln__spec_parse(mem, text, strlen(text), "t.json", NULL, spec, error);
}

#define SPACE(...)                                                                                                     \
    "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"block_size_x\", \"Values\": [32, 64, 128], "        \
    "\"Default\": 64}, {\"Name\": \"PER\", \"Values\": \"[1, 2] + list(range(4, 9, 4))\", \"Default\": [9]}], "        \
    "\"Conditions\": [{\"Expression\": \"block_size_x * PER > 16\", \"Parameters\": [\"PER\"]}]}, "                    \
    "\"General\": {\"BenchmarkName\": \"bench\"}, \"KernelSpecification\": {\"Language\": \"CUDA\", "                  \
    "\"KernelName\": \"k\", \"KernelFile\": \"k.cu\", \"CompilerOptions\": [\"-DX\"]" __VA_ARGS__ "}}"
#define ARGUMENT(name, rest) "{\"Name\": \"" name "\", " rest "}"
#define VECTOR(name, type, rest) ARGUMENT(name, "\"Type\": \"" type "\", \"MemoryType\": \"Vector\", \"Size\": 12" rest)

static int64_t integer(const kiln_spec *spec, const kiln__expr *expr, int64_t block)
{
    const kiln_setting settings[] = {{"block_size_x", {KILN_INT, {.i = block}}},
                                     {"PER", {KILN_INT, {.i = 2}}},
                                     {"ProblemSize[0]", {KILN_INT, {.i = 1000}}},
                                     {"ProblemSize[1]", {KILN_INT, {.i = 30}}}};
    kiln__scope scope = {.settings = {.items = settings, .count = KILN__COUNT(settings)}};
    int64_t value = -1;
    CHECK(spec && kiln__expr_eval_int(expr, &scope, "t", &value, NULL));
    return value;
}

static void test_space(void)
{
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    CHECK_OK(parse(NULL, SPACE(""), &spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    const kiln__variant *v = spec->variants;
    CHECK(spec->from_t1 && spec->variant_count == 1 && v->param_count == 2 && v->where_count == 1);
    CHECK_TEXT(spec->name, "bench");
    CHECK_TEXT(spec->source, "k.cu");
    CHECK(v->params[0].count == 3 && v->params[0].initial == 1 && v->params[0].values[2].as.i == 128);
    CHECK(v->params[1].count == 4 && v->params[1].values[2].as.i == 4 && v->params[1].values[3].as.i == 8);
    CHECK(v->params[1].initial == 0); /* the param's default is none of its values */
    CHECK(v->option_count == 1 && v->buffer_count == 0 && v->step_count == 1);
    /* The file says nothing about sizes: the block comes from the parameter with the usual name, and there is one
     * block. */
    const kiln__step *launch = &v->steps[0];
    CHECK(integer(spec, launch->as.launch.block[0], 128) == 128 && integer(spec, launch->as.launch.block[1], 128) == 1);
    CHECK(integer(spec, launch->as.launch.grid[0], 128) == 1 && !launch->as.launch.shared);
    kiln_spec_free(spec);
    spec = NULL;
    CHECK_OK(
        parse(
            NULL,
            "{\"ConfigurationSpace\": {\"TuningParameters\": []}, \"KernelSpecification\": {\"Language\": \"OpenCL\"}}",
            &spec, &error),
        error);
    CHECK(spec && spec->variants->step_count == 0 && strstr(spec->variants->about, "written in OpenCL") != NULL);
    kiln_spec_free(spec);
}

/* Tests the numbers of blocks along x and y with 64 threads, for a problem of 1000 x 30. */
static void test_grids(void)
{
    static const struct {
        const char *text;
        int64_t x, y;
    } rows[] = {
        {", \"ProblemSize\": [1000, 30]", 16, 30},
        {", \"ProblemSize\": [1000, 30], \"LocalSize\": {\"X\": \"block_size_x * PER\", \"Y\": \"5\"}", 8, 6},
        {", \"ProblemSize\": [1000, 30], \"GridDivX\": [\"block_size_x\", \"PER\"], \"GridDivY\": []", 8, 30},
        {", \"GlobalSize\": {\"X\": \"40\", \"Y\": \"PER + 1\"}", 40, 3},
        {", \"GlobalSize\": {\"X\": \"40\"}, \"GlobalSizeType\": \"CUDA\"", 40, 1},
        {", \"GlobalSize\": {\"X\": \"4000\", \"Y\": \"7\"}, \"GlobalSizeType\": \"OpenCL\"", 63,
         7}, /* the number of threads in all */
    };
    for (size_t i = 0; i < KILN__COUNT(rows); i++) {
        kiln_spec *spec = NULL;
        kiln_error *error = NULL;
        kiln__text text = {0};
        kiln__text_printf(&text, SPACE("%s"), rows[i].text);
        CHECK_OK(parse(NULL, kiln__text_get(&text), &spec, &error), error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
        const kiln__step *launch = &spec->variants->steps[0];
        CHECK(integer(spec, launch->as.launch.grid[0], 64) == rows[i].x);
        CHECK(integer(spec, launch->as.launch.grid[1], 64) == rows[i].y);
        kiln_spec_free(spec);
        kiln__text_free(&text);
    }
}

static void test_arguments(void)
{
    static const struct {
        const char *name;
        kiln_type type;
        int lanes;
    } types[] = {{"float", KILN_f32, 1}, {"double", KILN_f64, 1},  {"int32", KILN_i32, 1},  {"uint64", KILN_u64, 1},
                 {"bool", KILN_u8, 1},   {"float16", KILN_f16, 1}, {"float2", KILN_f32, 2}, {"int4", KILN_i32, 4},
                 {"uchar3", KILN_u8, 3}, {"double2", KILN_f64, 2}, {"ulong", KILN_u64, 1},  {"short4", KILN_i16, 4}};
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    for (size_t i = 0; i < KILN__COUNT(types); i++) {
        kiln__text text = {0};
        kiln__text_printf(&text, SPACE(", \"Arguments\": [" VECTOR("v", "%s", "") "]"), types[i].name);
        CHECK_OK(parse(NULL, kiln__text_get(&text), &spec, &error), error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
        const kiln__buffer *b = spec->variants->buffers;
        CHECK(b->type == types[i].type && b->dims == 1 + (types[i].lanes > 1) && integer(spec, b->shape[0], 1) == 12);
        CHECK(types[i].lanes == 1 || integer(spec, b->shape[1], 1) == types[i].lanes);
        CHECK(!b->out && b->fill.kind == KILN__FILL_VALUE && integer(spec, b->fill.a, 1) == 0);
        kiln_spec_free(spec);
        spec = NULL;
        kiln__text_free(&text);
    }
    CHECK_OK(
        parse(
            NULL,
            SPACE(", \"SharedMemory\": \"4 * PER\", \"Arguments\": [" VECTOR("o", "float", ", \"Output\": 1, \"FillType\": \"Random\", \"FillValue\": \"8\"") ", " VECTOR(
                "c", "int",
                ", \"MemType\": \"Constant\", \"FillType\": \"Constant\", \"FillValue\": 3") ", " ARGUMENT("f",
                                                                                                           "\"Type\": \"float\", \"MemoryType\": \"Scalar\", \"FillValue\": 2") ", " ARGUMENT("n",
                                                                                                                                                                                              "\"Type\": \"int\", \"MemoryType\": \"Scalar\", \"FillValue\": \"PER\"") "]"),
            &spec, &error),
        error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    const kiln__variant *v = spec->variants;
    CHECK(v->buffer_count == 2 && v->buffers[0].out && !v->buffers[1].out &&
          v->buffers[0].fill.kind == KILN__FILL_UNIFORM);
    CHECK(integer(spec, v->buffers[0].fill.a, 1) == 0 && integer(spec, v->buffers[0].fill.b, 1) == 8);
    CHECK(v->buffers[1].fill.kind == KILN__FILL_VALUE && integer(spec, v->buffers[1].fill.a, 1) == 3);
    /* Constant memory is filled before the launch, and the same data are an argument. */
    CU_ASSERT_EQUAL_FATAL(v->step_count, 2);
    CHECK(v->steps[0].kind == KILN__STEP_SYMBOL && v->steps[1].kind == KILN__STEP_LAUNCH);
    CHECK_TEXT(v->steps[0].as.symbol.symbol, "c");
    CHECK(v->steps[1].as.launch.arg_count == 4 && integer(spec, v->steps[1].as.launch.shared, 1) == 8);
    kiln_value two = {0};
    CHECK(kiln__expr_is_constant(v->steps[1].as.launch.args[2].expr, &two) && two.kind == KILN_FLOAT && two.as.f > 1.9);
    CHECK(integer(spec, v->steps[1].as.launch.args[3].expr, 1) == 2);
    kiln_spec_free(spec);
}

/* Tests wrong T1 files. Each has a part of its message. */
static void test_wrong(void)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {", \"ProblemSize\": \"x\"", "unknown name 'x'"},
        {", \"Arguments\": 3", "'Arguments' must be a list"},
        {", \"Arguments\": [{\"Type\": \"int\"}]", "an argument lacks the key 'Name'"},
        {", \"Arguments\": [" ARGUMENT("v", "\"Type\": \"float5\", \"MemoryType\": \"Vector\", \"Size\": 1") "]",
         "unknown type 'float5'"},
        {", \"Arguments\": [" ARGUMENT("v", "\"Type\": \"int\", \"MemoryType\": \"Vector\"") "]",
         "a vector argument lacks the key 'Size'"},
        {", \"Arguments\": [" ARGUMENT("s", "\"Type\": \"int\", \"MemoryType\": \"Scalar\"") "]",
         "a scalar argument lacks the key 'FillValue'"},
        {", \"Arguments\": [" VECTOR("v", "int", ", \"FillType\": \"Ramp\"") "]",
         "neither Constant nor Random: 'Ramp'"},
        {", \"ProblemSize\": [4], \"GridDivX\": [\"block_size_z\"]", "did you mean 'block_size_x'?"},
        {", \"ProblemSize\": [4], \"GridDivX\": [\"ProblemSize[1]\"]", "ProblemSize has 1 entries"},
        {", \"LocalSize\": {\"X\": [1]}", "'LocalSize' must be an expression"},
        {", \"SharedMemory\": \"4 *\"", "expected"},
    };
    for (size_t i = 0; i < KILN__COUNT(rows); i++) {
        kiln_spec *spec = NULL;
        kiln_error *error = NULL;
        kiln__text text = {0};
        kiln__text_printf(&text, SPACE("%s"), rows[i].text);
        CHECK(parse(NULL, kiln__text_get(&text), &spec, &error) == KILN_ERROR_SPEC && !spec);
        if (!strstr(kiln_error_message(error), rows[i].says))
            fprintf(stderr, "'%s' is not in: %s\n", rows[i].says, kiln_error_message(error));
        CHECK(strstr(kiln_error_message(error), rows[i].says) != NULL);
        kiln_error_free(error);
        kiln_spec_free(spec);
        kiln__text_free(&text);
    }
}

static void test_memory(void)
{
    check_oom oom = {.failed = 1};
    for (long n = 0; oom.failed && n < 2000; n++) {
        oom = (check_oom){.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_spec *spec = NULL;
        kiln_error *error = NULL;
        kiln_status status =
            parse(&mem,
                  SPACE(", \"ProblemSize\": [1000, 30], \"GridDivX\": [\"PER\"], \"Arguments\": [" VECTOR(
                      "v", "float2", ", \"MemType\": \"Constant\"") "]"),
                  &spec, &error);
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK) && (spec != NULL) == (status == KILN_OK));
        kiln_error_free(error);
        kiln_spec_free(spec);
        CHECK(oom.live == 0);
    }
    CHECK(!oom.failed);
}

static const check_case cases[] = {{"space", test_space},
                                   {"grids", test_grids},
                                   {"arguments", test_arguments},
                                   {"what is wrong", test_wrong},
                                   {"memory runs out", test_memory}};
KILN_SUITE("spec.t1", cases)
