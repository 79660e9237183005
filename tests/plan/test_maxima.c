/* The catalogue's maxima on the simulated device, bit for bit, on what tells one order of floats from another. Skipped,
 * visibly, where there is no NVRTC. */
#include <math.h>

#include "check.h"
#include "plan/internal.h"

static kiln_engine *engine;
static kiln_spec *spec;

typedef struct want { uint32_t bits; int64_t at; } want;

static kiln_plan *open_plan(const char *variant, int64_t op)
{
    kiln_setting size = {"OP", {KILN_INT, {op}}};
    kiln_choice choice = {.variant = variant, .sizes = &size, .size_count = 1};
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_open(engine, spec, &choice, &plan, &error), error);
    return plan;
}

static void expect(kiln_plan *plan, const char *variant, int64_t op, size_t count, const float *x, want w)
{
    kiln_setting sizes[] = {{"N", {KILN_INT, {(int64_t)count}}}, {"OP", {KILN_INT, {op}}}};
    kiln_error *error = NULL;
    uint32_t bits = 0;
    int64_t at = w.at;
    if (!plan)
        return;
    CHECK_OK(kiln_plan_resize(plan, sizes, 2, &error), error);
    CHECK_OK(kiln_plan_write(plan, "x", x, count * sizeof *x, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_read(plan, "y", &bits, sizeof bits, &error), error);
    if (op == 2)
        CHECK_OK(kiln_plan_read(plan, "at", &at, sizeof at, &error), error);
    if (bits != w.bits || at != w.at)
        fprintf(stderr, "%s, OP=%d, %zu elements: 0x%08x at %lld, want 0x%08x at %lld\n", variant, (int)op, count,
                (unsigned)bits, (long long)at, (unsigned)w.bits, (long long)w.at);
    CHECK(bits == w.bits && at == w.at);
}

/* maximum() of IEEE 754-2019; the first of those that have it. */
static void test_order(void)
{
    for (size_t v = 0; v < kiln_spec_variant_count(spec); v++)
        for (int64_t op = 1; op <= 2; op++) {
            const char *variant = kiln_spec_variant_name(spec, v);
            kiln_plan *plan = open_plan(variant, op);
            expect(plan, variant, op, 4, (float[]){-0.0f, 0.0f, -0.0f, 0.0f}, (want){0, 1});
            expect(plan, variant, op, 2, (float[]){-0.0f, -1}, (want){0x80000000, 0});
            expect(plan, variant, op, 3, (float[]){-2, -1e-45f, -1.1754942e-38f}, (want){0x80000001, 1});
            expect(plan, variant, op, 3, (float[]){-1e-45f, 1e-45f, 0}, (want){1, 1});
            expect(plan, variant, op, 2, (float[]){-INFINITY, -INFINITY}, (want){0xff800000, 0});
            expect(plan, variant, op, 3, (float[]){3.4e38f, INFINITY, INFINITY}, (want){0x7f800000, 1});
            expect(plan, variant, op, 4, (float[]){1, INFINITY, copysignf(NAN, -1), NAN}, (want){0x7fffffff, 2});
            expect(plan, variant, op, 0, (float[]){0}, (want){0xff800000, -1});
            kiln_plan_free(plan);
        }
}

/* The least and the greatest place in warps, blocks and words that are not whole. */
static void test_places(void)
{
    static float x[3001];
    for (size_t v = 0; v < kiln_spec_variant_count(spec); v++) {
        const char *variant = kiln_spec_variant_name(spec, v);
        kiln_plan *plan = open_plan(variant, 2);
        for (size_t at = 0; at < 3001; at += 1500) {
            for (size_t i = 0; i < 3001; i++)
                x[i] = i == at || i == 3000 ? 5 : -5;
            expect(plan, variant, 2, 3001, x, (want){0x40a00000, (int64_t)at});
        }
        kiln_plan_free(plan);
    }
}

static const check_case cases[] = {{"order", test_order}, {"places", test_places}};

int main(void)
{
    kiln_options options = {.size = sizeof options, .device = "sim", .flags = KILN_NO_CACHE | KILN_NO_WORKERS};
    kiln_error *error = NULL;
    kiln_status status = kiln_engine_open(&options, &engine, &error);
    if (status == KILN_OK && kiln__engine_nvrtc(engine, &error) != KILN_OK) {
        fprintf(stderr, "SKIPPED: all of this suite needs NVRTC: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        kiln_engine_close(engine);
        return 77;
    }
    if (status == KILN_OK)
        status = kiln_spec_load(engine, KILN_SOURCE_DIR "/specs/reduction.yaml", &spec, &error);
    if (status != KILN_OK) {
        fprintf(stderr, "%s\n", kiln_error_message(error));
        return 1;
    }
    int result = check_main("maxima", cases, sizeof cases / sizeof *cases);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return result;
}
