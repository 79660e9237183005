/* Tests textures as arguments on the simulated device, from the spec to a kernel of NVRTC that reads through them. The
 * suite tests the answers of each kind, the times at which objects are created, filled and destroyed, and refused
 * requests, whose message has the place in the spec. Skipped with a message if there is no NVRTC. */
#include "compiled.h"
#include "plan_internal.h"

enum { PLANES = 3, ROWS = 5, WIDTH = 8, COUNT = PLANES * ROWS * WIDTH };

static char cache[] = "/tmp/kiln-texture-XXXXXX";
static kiln_engine *engine;
static kiln_spec *spec;
static kiln_plan *plan;

/* Calls of the driver. */
static kiln__driver driver;
static struct {
    int made, destroyed, arrays, freed, copies, result;
} calls;

static CUresult CUDAAPI make(CUtexObject *object, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *sampling,
                             const CUDA_RESOURCE_VIEW_DESC *view)
{
    if (calls.result)
        return (CUresult)calls.result;
    calls.made++;
    return driver.cuTexObjectCreate_(object, resource, sampling, view);
}

static CUresult CUDAAPI destroy(CUtexObject object)
{
    calls.destroyed++;
    return driver.cuTexObjectDestroy_(object);
}

static CUresult CUDAAPI make_array(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    calls.arrays++;
    return driver.cuArray3DCreate_(array, shape);
}

static CUresult CUDAAPI free_array(CUarray array)
{
    calls.freed++;
    return driver.cuArrayDestroy_(array);
}

static CUresult CUDAAPI copy(const CUDA_MEMCPY3D *what, CUstream stream)
{
    calls.copies++;
    return driver.cuMemcpy3DAsync_(what, stream);
}

static void begin(void)
{
    kiln_error *error = NULL;
    kiln_options options = {.size = sizeof options, .device = "sim", .cache_dir = cache, .flags = KILN_NO_WORKERS};
    CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
    memset(&calls, 0, sizeof calls);
}

static void end(void)
{
    kiln_plan_close(plan);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    plan = NULL;
    spec = NULL;
}

static void open_variant(const char *variant)
{
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_open(engine, spec, &(kiln_choice){.variant = variant}, &plan, &error), error);
    driver = engine->driver;
    engine->driver.cuTexObjectCreate_ = make;
    engine->driver.cuTexObjectDestroy_ = destroy;
    engine->driver.cuArray3DCreate_ = make_array;
    engine->driver.cuArrayDestroy_ = free_array;
    engine->driver.cuMemcpy3DAsync_ = copy;
}

static void close_plan(void)
{
    kiln_plan_close(plan);
    plan = NULL;
    engine->driver = driver;
}

/* Every variant gives the answer of the variant that reads memory. Objects are made once, and arrays are copied
 * outside of the measured time. */
static void answers(void)
{
    static const struct {
        const char *file, *variant;
        int made, arrays;
    } cases[] = {{"texture", "line", 1, 0},    {"texture", "plane", 1, 0},     {"texture", "array", 1, 1},
                 {"texture", "solid", 1, 1},   {"texture", "layers", 1, 1},    {"texture", "rows", 1, 1},
                 {"texture", "wrapped", 1, 1}, {"texture", "in_struct", 1, 0}, {"texture", "in_loop", 4, 3},
                 {"texels", "textures", 2, 0}};
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        char path[200];
        const kiln_result *result = NULL;
        kiln_error *error = NULL;
        const kiln_run_options options = {.size = sizeof options, .min_repetitions = 3};
        begin();
        snprintf(path, sizeof path, KILN_TEST_DATA "/%s.yaml", cases[i].file);
        CHECK_OK(kiln_spec_load(engine, path, &spec, &error), error);
        open_variant(cases[i].variant);
        CHECK_OK(kiln_plan_run(plan, &options, &result, &error), error);
        CHECK(result && result->verified);
        CHECK(calls.made == cases[i].made && calls.arrays == cases[i].arrays && calls.copies == cases[i].arrays);
        close_plan();
        CHECK(calls.destroyed == cases[i].made && calls.freed == cases[i].arrays);
        end();
    }
}

/* Computes the expected answer for `in` on the host. */
static void check_answer(const float *in, unsigned rows)
{
    static float got[COUNT];
    kiln_error *error = NULL;
    unsigned wrong = 0;
    CHECK_OK(kiln_plan_read(plan, "b", got, sizeof *got * rows * WIDTH, &error), error);
    for (unsigned i = 0; i < rows * WIDTH; i++)
        wrong += got[i] != 0.5f * in[i] + 0.5f * in[i % WIDTH == WIDTH - 1 ? i : i + 1];
    CHECK(wrong == 0);
}

static CUdeviceptr other_memory(size_t bytes)
{
    CUcontext previous;
    CUdeviceptr memory = 0;
    kiln_error *error = NULL;
    CHECK_OK(kiln__engine_enter(engine, &previous, &error), error);
    CHECK(driver.cuMemAlloc_(&memory, bytes) == CUDA_SUCCESS);
    kiln__engine_leave(engine, previous);
    return memory;
}

/* A kernel sees writes of the caller between two launches. A buffer that moves gets another object, and the old
 * object is destroyed. */
static void lifetime(void)
{
    static const char *const variants[] = {"plane", "array"};
    static float in[COUNT];
    for (int array = 0; array < 2; array++) {
        kiln_error *error = NULL;
        begin();
        CHECK_OK(kiln_spec_load(engine, KILN_TEST_DATA "/texture.yaml", &spec, &error), error);
        open_variant(variants[array]);
        for (int round = 0; round < 3; round++) { /* small integers, so that halves are exact */
            for (int i = 0; i < COUNT; i++)
                in[i] = (float)((i * 7 + round * 31) % 64);
            CHECK_OK(kiln_plan_write(plan, "a", in, sizeof in, &error), error);
            CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
            check_answer(in, PLANES * ROWS);
        }
        CHECK(calls.made == 1 && calls.destroyed == 0 && calls.copies == 3 * array);
        CUdeviceptr memory = other_memory(sizeof in);
        CHECK_OK(kiln_plan_bind(plan, "a", memory, sizeof in, &error), error);
        in[0] += 8;
        CHECK_OK(kiln_plan_write(plan, "a", in, sizeof in, &error), error);
        CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
        check_answer(in, PLANES * ROWS);
        CHECK(calls.made == 2 && calls.destroyed == 1 && calls.freed == array && plan->texture_count == 1);
        const kiln_setting smaller = {"D", {KILN_INT, {1}}};
        CHECK_OK(kiln_plan_resize(plan, &smaller, 1, &error), error);
        CHECK_OK(kiln_plan_write(plan, "a", in, sizeof *in * ROWS * WIDTH, &error), error);
        CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
        check_answer(in, ROWS);
        CHECK(calls.made == 3 && calls.destroyed == 2 && plan->texture_count == 1);
        close_plan();
        CHECK(calls.destroyed == 3 && calls.freed == calls.arrays);
        CUcontext previous;
        CHECK_OK(kiln__engine_enter(engine, &previous, &error), error);
        driver.cuMemFree_(memory);
        kiln__engine_leave(engine, previous);
        end();
    }
}

#define SPEC                                                                                                           \
    "kiln: 1\nname: refused\nsource: texture.cu\nsizes: {tiny: {H: 6, W: 9}}\nbuffers:\n"                              \
    "  a: {type: f32, shape: [H, W], fill: {uniform: [0, 1]}}\n  i: {type: i32, shape: [H, 8], fill: {iota: [0]}}\n"   \
    "  d: {type: f64, shape: [H, W], fill: {iota: [0]}}\n  b: {type: f32, shape: [8], out: true}\n"                    \
    "launch: {kernel: in_struct, grid: [1], block: [1], args: [{struct: {n: [i32, W], in: {texture: "
#define LINE 10

/* Each case has the column of its error in the spec, which is the column of `at` in the line. */
static void refused(void)
{
    static const struct {
        const char *texture, *at, *message;
    } cases[] = {
        {"a", "{texture",
         "rows lie 36 bytes apart, and this device needs a multiple of 32: pad them and give 'pitch', or"},
        {"a, shape: [H - 1, 8], pitch: 10", "10", "rows lie 40 bytes apart"},
        {"a, shape: [2, 8], pitch: 7", "7", "rows 28 bytes apart overlap: each has 32 bytes"},
        {"a, shape: [7, 8]", "[7, 8]", "the texture covers more than the 216 bytes that 'a' has from there on"},
        {"a + 4, shape: [1, 8]", "{texture", "'a + 4' lies at 16 bytes after a multiple of 512"},
        {"a, shape: [2, 2, 8]", "[2, 2, 8]", "a texture of 3 extents needs 'array: true'"},
        {"a, shape: [0, 8]", "0, 8", "an extent = 0 is outside 1 .. 2147483647"},
        {"a, shape: [70000, 8]", "[70000, 8]",
         "an extent of the texture is 70000; this device allows 1 to 65000 there"},
        {"a, array: true, shape: [8], layered: true", "[8]", "layers need 2 or 3 extents"},
        {"a, channels: 1 + 2", "1 + 2", "a texel has 1, 2 or 4 channels, not 3"},
        {"a, channels: 4", "{texture", "the last extent of 'a' is not 4, its channels"},
        {"a + 9, array: true", "{texture", "give the texture's 'shape', 1 to 3 extents"},
        {"d", "{texture", "textures can have elements of type u8, i8, u16, i16, u32, i32, f16 or f32, but 'd' has f64"},
        {"i, read: float", "float", "'read: float' needs integers of 8 or 16 bits, but 'i' has i32"},
        {"i, filter: linear", "linear", "'filter: linear' gives floats: 'i' has i32, which needs 'read: float'"},
        {"a, shape: [8], filter: linear", "linear",
         "read a texture of one extent in plain memory by index (tex1Dfetch)"},
        {"a, shape: [8], address: clamp", "clamp",
         "read a texture of one extent in plain memory by index (tex1Dfetch)"},
        {"a, array: true, address: [clamp, clamp, border]", "[clamp", "'address' needs 1 or 2 words"},
        {"b, array: true", "{texture", "'array: true' copies an input before the run, but 'b' has no content"},
    };
    begin();
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        char text[1000], place[64];
        kiln_error *error = NULL;
        snprintf(text, sizeof text, SPEC "%s}}}, b, 1]}\n", cases[i].texture);
        const char *line = strstr(text, "launch:");
        snprintf(place, sizeof place, "refused.yaml:%d:%d: ", LINE, (int)(strstr(line, cases[i].at) - line) + 1);
        CHECK_OK(kiln_spec_parse(engine, text, strlen(text), KILN_TEST_DATA "/refused.yaml", &spec, &error), error);
        CHECK_OK(kiln_plan_open(engine, spec, NULL, &plan, &error), error);
        kiln_status status = kiln_plan_launch(plan, NULL, &error);
        const char *said = status == KILN_OK ? "nothing" : kiln_error_message(error);
        bool right = strstr(said, cases[i].message) && strstr(said, place);
        if (!right)
            fprintf(stderr, "%s: %s\n  want %s%s\n", cases[i].texture, said, place, cases[i].message);
        CHECK(right);
        kiln_error_free(error);
        kiln_plan_close(plan);
        kiln_spec_free(spec);
        plan = NULL;
        spec = NULL;
    }
    end();
}

/* Tests a texture for a kernel that takes a pointer, and a driver that refuses textures. */
static void wrong_kernel_or_driver(void)
{
    kiln_error *error = NULL;
    static const char text[] =
        "kiln: 1\nname: pointer\nsource: texture.cu\nsizes: {tiny: {N: 64}}\nbuffers:\n"
        "  a: {type: f32, shape: [N], fill: {iota: [0]}}\n  b: {type: f32, shape: [N], out: true}\n"
        "launch: {kernel: plain, grid: [1], block: [64], args: [{texture: a}, b, N, N]}\n";
    begin();
    CHECK_OK(kiln_spec_parse(engine, text, sizeof text - 1, KILN_TEST_DATA "/pointer.yaml", &spec, &error), error);
    CHECK_OK(kiln_plan_open(engine, spec, NULL, &plan, &error), error);
    CHECK(kiln_plan_launch(plan, NULL, &error) == KILN_ERROR_LAUNCH);
    CHECK(strstr(kiln_error_message(error), "is a texture, but the kernel needs"));
    kiln_error_free(error);
    error = NULL;
    kiln_plan_close(plan);
    kiln_spec_free(spec);

    CHECK_OK(kiln_spec_load(engine, KILN_TEST_DATA "/texture.yaml", &spec, &error), error);
    open_variant("array");
    calls.result = CUDA_ERROR_OUT_OF_MEMORY;
    CHECK(kiln_plan_launch(plan, NULL, &error) == KILN_ERROR_DEVICE_MEMORY);
    CHECK(strstr(kiln_error_message(error), "making the texture of 'a'") && calls.freed == 1);
    kiln_error_free(error);
    error = NULL;
    calls.result = 0;
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    close_plan();
    CHECK(calls.freed == calls.arrays && calls.arrays == 2);
    end();
}

static const check_case cases[] = {{"answers", answers},
                                   {"lifetime", lifetime},
                                   {"refused", refused},
                                   {"wrong kernel or driver", wrong_kernel_or_driver}};

KILN_COMPILED_SUITE("plan.texture", cases, cache)
