/* The catalogue's transposes and increments on the simulated device, of arrays at any address that their elements may
 * have, in memory of the caller's: right, and nothing beside them is touched. Skipped, visibly, where there is no
 * NVRTC. */
#include "catalogue.h"

enum { BATCH = 2, ROWS = 36, COLUMNS = 40, COUNT = BATCH * ROWS * COLUMNS, ROOM = COUNT + 4 };

static kiln_engine *engine;
static kiln_spec *transpose, *memory;

static kiln_plan *open_plan(const kiln_spec *spec, const char *variant, const kiln_setting *sizes, size_t count)
{
    kiln_choice choice = {.variant = variant, .sizes = sizes, .size_count = count};
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_open(engine, spec, &choice, &plan, &error), error);
    return plan;
}

/* Memory on the device: that of a plan which is not launched. */
static struct { kiln_plan *plan; CUdeviceptr from, to; uint32_t host[ROOM], got[ROOM]; } room;

static void open_room(void)
{
    kiln_setting size = {"N", {KILN_INT, {ROOM}}};
    kiln_error *error = NULL;
    room.plan = open_plan(memory, "one_word", &size, 1);
    CHECK_OK(kiln_plan_buffer(room.plan, "x", &room.from, &error), error);
    CHECK_OK(kiln_plan_buffer(room.plan, "y", &room.to, &error), error);
}

/* Runs from element `from` of one buffer to element `to` of the other, which held the same as the first. */
static void move(kiln_plan *plan, const char *source, const char *target, unsigned from, unsigned to)
{
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_write(room.plan, "x", room.host, sizeof room.host, &error), error);
    CHECK_OK(kiln_plan_write(room.plan, "y", room.host, sizeof room.host, &error), error);
    CHECK_OK(kiln_plan_bind(plan, source, room.from + 4 * from, 4 * COUNT, &error), error);
    CHECK_OK(kiln_plan_bind(plan, target, room.to + 4 * to, 4 * COUNT, &error), error);
    CHECK_OK(kiln_plan_reset(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_read(room.plan, "y", room.got, sizeof room.got, &error), error);
}

/* What should be in element i of the target, counted from its first. */
static uint32_t turned(unsigned from, unsigned i)
{
    unsigned matrix = i / (ROWS * COLUMNS), column = i / ROWS % COLUMNS, row = i % ROWS;
    return room.host[from + (matrix * ROWS + row) * COLUMNS + column];
}

static uint32_t next(unsigned from, unsigned i)
{
    return room.host[from + i] + 1;
}

static void check_all(const kiln_spec *spec, const kiln_setting *sizes, size_t size_count, const char *source,
                      const char *target, uint32_t (*want)(unsigned from, unsigned i))
{
    open_room();
    for (size_t v = 0; v < kiln_spec_variant_count(spec); v++) {
        const char *variant = kiln_spec_variant_name(spec, v);
        kiln_plan *plan = open_plan(spec, variant, sizes, size_count);
        for (unsigned places = 0; plan && places < 4; places++) {
            unsigned from = places & 1 ? 3 : 0, to = places & 2 ? 1 : 0, wrong = 0;
            move(plan, source, target, from, to);
            for (unsigned i = 0; i < ROOM; i++)
                wrong += room.got[i] != (i - to < COUNT ? want(from, i - to) : room.host[i]);
            if (wrong)
                fprintf(stderr, "%s from %u to %u: %u wrong\n", variant, from, to, wrong);
            CHECK(wrong == 0);
        }
        kiln_plan_free(plan);
    }
    kiln_plan_free(room.plan);
}

static void test_transposes(void)
{
    const kiln_setting sizes[] = {
        {"BATCH", {KILN_INT, {BATCH}}}, {"M", {KILN_INT, {ROWS}}}, {"N", {KILN_INT, {COLUMNS}}}};
    for (uint32_t i = 0; i < ROOM; i++)
        room.host[i] = i * 2654435761u;
    check_all(transpose, sizes, 3, "A", "T", turned);
}

static void test_increments(void)
{
    const kiln_setting size = {"N", {KILN_INT, {COUNT}}};
    for (uint32_t i = 0; i < ROOM; i++)
        room.host[i] = 4294967290u + i; /* upwards, as the patterns need it, and around */
    check_all(memory, &size, 1, "x", "y", next);
}

static const check_case cases[] = {{"transposes", test_transposes}, {"increments", test_increments}};

int main(void)
{
    const catalogue_spec specs[] = {{"transpose", &transpose}, {"memory", &memory}};
    return catalogue_main("moves", cases, sizeof cases / sizeof *cases, &engine, specs, sizeof specs / sizeof *specs);
}
