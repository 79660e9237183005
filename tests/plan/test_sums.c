/* The catalogue's reductions and scans on the simulated device, where the specs' own sizes and fills do not lead: maxima
 * bit for bit on what tells one order of floats from another, arrays at any address, a scan in its own place. Skipped,
 * visibly, where there is no NVRTC. */
#include <math.h>

#include "catalogue.h"

static kiln_engine *engine;
static kiln_spec *reduction, *scan;

typedef struct want { uint32_t bits; int64_t at; } want;

static kiln_plan *open_plan(const kiln_spec *spec, const char *variant, kiln_setting *sizes, size_t count)
{
    kiln_choice choice = {.variant = variant, .sizes = sizes, .size_count = count};
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_open(engine, spec, &choice, &plan, &error), error);
    return plan;
}

static kiln_plan *open_reduction(const char *variant, int64_t op, int64_t integers)
{
    kiln_setting sizes[] = {{"OP", {KILN_INT, {op}}}, {"INTEGERS", {KILN_INT, {integers}}}};
    return open_plan(reduction, variant, sizes, 2);
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
    for (size_t v = 0; v < kiln_spec_variant_count(reduction); v++)
        for (int64_t op = 1; op <= 2; op++) {
            const char *variant = kiln_spec_variant_name(reduction, v);
            kiln_plan *plan = open_reduction(variant, op, 0);
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
    for (size_t v = 0; v < kiln_spec_variant_count(reduction); v++) {
        const char *variant = kiln_spec_variant_name(reduction, v);
        kiln_plan *plan = open_reduction(variant, 2, 0);
        for (size_t at = 0; at < 3001; at += 1500) {
            for (size_t i = 0; i < 3001; i++)
                x[i] = i == at || i == 3000 ? 5 : -5;
            expect(plan, variant, 2, 3001, x, (want){0x40a00000, (int64_t)at});
        }
        kiln_plan_free(plan);
    }
}

enum { COUNT = 5003, ROOM = COUNT + 4 };

/* Memory on the device: that of plans which are not launched. */
static struct { kiln_plan *plan; CUdeviceptr x, y; int32_t host[ROOM]; } memory;

static void open_memory(void)
{
    kiln_setting sizes[] = {{"N", {KILN_INT, {ROOM}}}, {"INTEGERS", {KILN_INT, {1}}}};
    kiln_error *error = NULL;
    memory.plan = open_plan(scan, "kogge_stone", sizes, 2);
    CHECK_OK(kiln_plan_buffer(memory.plan, "x", &memory.x, &error), error);
    CHECK_OK(kiln_plan_buffer(memory.plan, "y", &memory.y, &error), error);
    for (uint32_t i = 0; i < ROOM; i++)
        memory.host[i] = (int32_t)((i * 2654435761u) & 0x7fffffff) - 1000;
}

/* Vectors of 16 bytes where x begins at any of their elements; sums that pass 2^32 many times. */
static void test_places_of_sums(void)
{
    kiln_error *error = NULL;
    open_memory();
    for (size_t v = 0; v < kiln_spec_variant_count(reduction); v++) {
        const char *variant = kiln_spec_variant_name(reduction, v);
        kiln_plan *plan = open_reduction(variant, 0, 1);
        for (uint32_t offset = 0; plan && offset < 4; offset++)
            for (uint32_t count = COUNT; count > 0; count = count == COUNT ? 2 : count - 1) {
                kiln_setting size = {"N", {KILN_INT, {count}}};
                uint32_t sum = 0, got = 0;
                for (uint32_t i = 0; i < count; i++)
                    sum += (uint32_t)memory.host[offset + i];
                CHECK_OK(kiln_plan_write(memory.plan, "x", memory.host, sizeof memory.host, &error), error);
                CHECK_OK(kiln_plan_resize(plan, &size, 1, &error), error);
                CHECK_OK(kiln_plan_bind(plan, "x", memory.x + 4 * offset, 4 * count, &error), error);
                CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
                CHECK_OK(kiln_plan_read(plan, "y", &got, sizeof got, &error), error);
                if (got != sum)
                    fprintf(stderr, "%s: %u elements from %u on\n", variant, count, offset);
                CHECK(got == sum);
            }
        kiln_plan_free(plan);
    }
    kiln_plan_free(memory.plan);
}

static void expect_scan(kiln_plan *plan, const char *variant, CUdeviceptr x, CUdeviceptr y, bool in_place)
{
    static int32_t got[ROOM];
    kiln_error *error = NULL;
    uint32_t from = (uint32_t)(x - memory.x) / 4, to = (uint32_t)(y - (in_place ? memory.x : memory.y)) / 4, sum = 0;
    unsigned wrong = 0;
    CHECK_OK(kiln_plan_write(memory.plan, "x", memory.host, sizeof memory.host, &error), error);
    CHECK_OK(kiln_plan_write(memory.plan, "y", memory.host, sizeof memory.host, &error), error);
    CHECK_OK(kiln_plan_bind(plan, "x", x, 4 * COUNT, &error), error);
    CHECK_OK(kiln_plan_bind(plan, "y", y, 4 * COUNT, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_read(memory.plan, in_place ? "x" : "y", got, sizeof got, &error), error);
    for (uint32_t i = 0; i < ROOM; i++)
        if (i - to < COUNT)
            wrong += (uint32_t)got[i] != (sum += (uint32_t)memory.host[from + i - to]);
        else
            wrong += got[i] != memory.host[i]; /* not to be touched */
    if (wrong)
        fprintf(stderr, "%s, x from %u, y from %u%s: %u wrong\n", variant, from, to, in_place ? ", in place" : "",
                wrong);
    CHECK(wrong == 0);
}

static void test_places_of_scans(void)
{
    open_memory();
    for (size_t v = 0; v < kiln_spec_variant_count(scan); v++) {
        const char *variant = kiln_spec_variant_name(scan, v);
        kiln_setting sizes[] = {{"N", {KILN_INT, {COUNT}}}, {"INTEGERS", {KILN_INT, {1}}}};
        kiln_plan *plan = open_plan(scan, variant, sizes, 2);
        if (!plan)
            continue;
        expect_scan(plan, variant, memory.x, memory.y, false);
        expect_scan(plan, variant, memory.x + 4, memory.y, false);
        expect_scan(plan, variant, memory.x, memory.y + 12, false);
        expect_scan(plan, variant, memory.x, memory.x, true);
        expect_scan(plan, variant, memory.x + 8, memory.x + 8, true);
        kiln_plan_free(plan);
    }
    kiln_plan_free(memory.plan);
}

static const check_case cases[] = {{"order", test_order},
                                   {"places", test_places},
                                   {"places of sums", test_places_of_sums},
                                   {"places of scans", test_places_of_scans}};

int main(void)
{
    const catalogue_spec specs[] = {{"reduction", &reduction}, {"scan", &scan}};
    return catalogue_main("sums", cases, sizeof cases / sizeof *cases, &engine, specs, sizeof specs / sizeof *specs);
}
