/* Tests the catalogue's stencils and convolutions on the simulated device. The grids lie in memory of the caller, at
 * every address that a float may have. A kernel may not read or write memory beside the grids. The results must have
 * the same bits at every address, and the same bits in all variants except `separable`. Skipped with a message if there
 * is no NVRTC. */
#include <math.h>
#include <string.h>

#include "catalogue.h"

enum { NX = 132, NY = 9, NZ = 5, COUNT = NX * NY * NZ, GUARD = 64, ROOM = GUARD + COUNT + GUARD };

static kiln_engine *engine;
static kiln_spec *stencil, *convolution;

static kiln_plan *open_plan(const kiln_spec *spec, const kiln_choice *choice)
{
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_open(engine, spec, choice, &plan, &error), error);
    return plan;
}

/* Memory on the device. This kernel belongs to a plan that is not launched. */
static struct {
    kiln_plan *plan;
    CUdeviceptr at[3];
    float source[ROOM], target[ROOM], got[3][ROOM];
} room;
static const char *const buffers[] = {"x", "y", "t"}; /* the steps of a stencil alternate between y and t */

static void open_room(void)
{
    const kiln_setting sizes[] = {{"NX", {KILN_INT, {ROOM}}}, {"NY", {KILN_INT, {1}}}, {"NZ", {KILN_INT, {1}}}};
    kiln_error *error = NULL;
    room.plan = open_plan(stencil, &(kiln_choice){.variant = "naive", .sizes = sizes, .size_count = 3});
    for (unsigned b = 0; b < 3; b++)
        CHECK_OK(kiln_plan_buffer(room.plan, buffers[b], &room.at[b], &error), error);
}

/* Runs from point `from` of one piece of memory to point `to` of the others. A read beside the grid gives NaN, and a
 * write there is visible. */
static void run(kiln_plan *plan, unsigned count, unsigned used, unsigned from, unsigned to, float *result)
{
    kiln_error *error = NULL;
    for (unsigned i = 0; i < ROOM; i++) {
        room.source[i] = i - from < count ? (float)((i - from) * 2654435761u >> 8) / 8388608 - 1 : NAN;
        room.target[i] = 12345;
    }
    for (unsigned b = 0; b < used; b++) {
        CHECK_OK(kiln_plan_write(room.plan, buffers[b], b ? room.target : room.source, 4 * ROOM, &error), error);
        CHECK_OK(kiln_plan_bind(plan, buffers[b], room.at[b] + 4 * (b ? to : from), 4 * count, &error), error);
    }
    CHECK_OK(kiln_plan_reset(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_read(plan, "y", result, 4 * count, &error), error);
    for (unsigned b = 1; b < used; b++)
        CHECK_OK(kiln_plan_read(room.plan, buffers[b], room.got[b], 4 * ROOM, &error), error);
}

/* Runs at all places, with the first `used` buffers. If `first`, stores the result in `want`; otherwise compares with
 * `want`. */
static void check_places(kiln_plan *plan, const char *name, unsigned count, unsigned used, float *want, bool first)
{
    static float result[COUNT];
    for (unsigned place = 0; place < 16; place++) {
        unsigned from = GUARD + place % 4, to = GUARD + place / 4, wrong = 0;
        run(plan, count, used, from, to, result);
        if (first && place == 0)
            memcpy(want, result, 4 * count);
        for (unsigned i = 0; i < count; i++)
            wrong += memcmp(&result[i], &want[i], 4) != 0 || isnan(result[i]);
        for (unsigned b = 1; b < used; b++)
            for (unsigned i = 0; i < ROOM; i++)
                wrong += i - to >= count && room.got[b][i] != 12345;
        if (wrong)
            fprintf(stderr, "%s, %u points, from %u to %u: %u wrong\n", name, count, place % 4, place / 4, wrong);
        CHECK(wrong == 0);
    }
}

/* Tries rows of whole words of 16 bytes, rows of whole words of 8 bytes, and other rows. */
static void check_widths(const kiln_spec *spec, const kiln_choice *choice)
{
    static float all[3][COUNT], separable[3][COUNT];
    bool own = strcmp(choice->variant, "separable") == 0,
         reference = own || strcmp(choice->variant, "naive") == 0 || strcmp(choice->variant, "basic") == 0;
    kiln_plan *plan = open_plan(spec, choice);
    for (unsigned w = 0; plan && w < 3; w++) {
        const kiln_setting width = {spec == stencil ? "NX" : "W", {KILN_INT, {NX - w}}};
        kiln_error *error = NULL;
        CHECK_OK(kiln_plan_resize(plan, &width, 1, &error), error);
        check_places(plan, choice->variant, (NX - w) * NY * NZ, spec == stencil ? 3 : 2, own ? separable[w] : all[w],
                     reference);
    }
    kiln_plan_close(plan);
}

/* Tries every variant. Then tries some variants with other lengths of vectors. */
static void check_all(const kiln_spec *spec, const kiln_setting *sizes, size_t size_count, const kiln_choice *more,
                      size_t more_count)
{
    open_room();
    for (size_t v = 0; v < kiln_spec_variant_count(spec) + more_count; v++) {
        size_t own = kiln_spec_variant_count(spec);
        kiln_choice choice = v < own ? (kiln_choice){.variant = kiln_spec_variant_name(spec, v)} : more[v - own];
        choice.sizes = sizes;
        choice.size_count = size_count;
        check_widths(spec, &choice);
    }
    kiln_plan_close(room.plan);
}

static void test_stencils(void)
{
    const kiln_setting sizes[] = {
        {"NX", {KILN_INT, {NX}}}, {"NY", {KILN_INT, {NY}}}, {"NZ", {KILN_INT, {NZ}}}, {"STEPS", {KILN_INT, {2}}}};
    const kiln_setting two[] = {{"VECTOR", {KILN_INT, {2}}}};
    const kiln_setting four[] = {{"VECTOR", {KILN_INT, {4}}}, {"ROWS", {KILN_INT, {2}}}, {"BLOCK_Y", {KILN_INT, {8}}}};
    const kiln_choice more[] = {{.variant = "coarsened", .params = two, .param_count = 1},
                                {.variant = "temporal", .params = four, .param_count = 3}};
    check_all(stencil, sizes, 4, more, 2);
}

static void test_convolutions(void)
{
    const kiln_setting sizes[] = {{"H", {KILN_INT, {NY * NZ}}},
                                  {"W", {KILN_INT, {NX}}},
                                  {"MASK_H", {KILN_INT, {3}}},
                                  {"MASK_W", {KILN_INT, {5}}}};
    const kiln_setting eight[] = {{"VECTOR", {KILN_INT, {8}}}};
    const kiln_choice more[] = {{.variant = "coarsened", .params = eight, .param_count = 1},
                                {.variant = "separable", .params = eight, .param_count = 1}};
    check_all(convolution, sizes, 4, more, 2);
}

static const check_case cases[] = {{"stencils", test_stencils}, {"convolutions", test_convolutions}};

int main(int count, char **arguments)
{
    const catalogue_spec specs[] = {{"stencil", &stencil}, {"convolution", &convolution}};
    return catalogue_main(count, arguments, "grids", cases, KILN__COUNT(cases), &engine, specs, KILN__COUNT(specs));
}
