/* Tests the catalogue's transposes, increments, and products of a matrix with its transpose, on the simulated device.
 * The arrays lie at any address that their elements may have, in memory of the caller. The results must be right, and
 * no kernel may touch memory beside the arrays. Skipped with a message if there is no NVRTC. */
#include <math.h>
#include <string.h>

#include "catalogue.h"

enum { BATCH = 2, ROWS = 36, COLUMNS = 40, COUNT = BATCH * ROWS * COLUMNS };
enum { SIDE = 132, DEPTH = 20 }; /* the sides of syrk: they allow 16 bytes at a time and whole tiles */
enum { ROOM = SIDE * SIDE + 4 };

static kiln_engine *engine;
static kiln_spec *transpose, *memory, *syrk;

static kiln_plan *open_plan(const kiln_spec *spec, const char *variant, const kiln_setting *sizes, size_t count)
{
    kiln_choice choice = {.variant = variant, .sizes = sizes, .size_count = count};
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_open(engine, spec, &choice, &plan, &error), error);
    return plan;
}

/* Memory on the device. This kernel belongs to a plan that is not launched. */
static struct {
    kiln_plan *plan;
    CUdeviceptr from, to;
    uint32_t host[ROOM], got[ROOM];
} room;

static void open_room(void)
{
    kiln_setting size = {"N", {KILN_INT, {ROOM}}};
    kiln_error *error = NULL;
    room.plan = open_plan(memory, "one_word", &size, 1);
    CHECK_OK(kiln_plan_buffer(room.plan, "x", &room.from, &error), error);
    CHECK_OK(kiln_plan_buffer(room.plan, "y", &room.to, &error), error);
}

/* A variant's source and target: names, elements, and the expected value of element i of the target, counted from
 * its first element. */
typedef struct task {
    const kiln_spec *spec;
    const char *source, *target;
    unsigned source_count, target_count;
    uint32_t (*want)(unsigned from, unsigned i);
} task;

/* Runs the plan with a source that begins at element `from` of x, and a target that begins at element `to` of y. Before
 * the run, x and y have the same content. */
static void move(kiln_plan *plan, const task *t, unsigned from, unsigned to)
{
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_write(room.plan, "x", room.host, sizeof room.host, &error), error);
    CHECK_OK(kiln_plan_write(room.plan, "y", room.host, sizeof room.host, &error), error);
    CHECK_OK(kiln_plan_bind(plan, t->source, room.from + 4 * from, 4 * t->source_count, &error), error);
    CHECK_OK(kiln_plan_bind(plan, t->target, room.to + 4 * to, 4 * t->target_count, &error), error);
    CHECK_OK(kiln_plan_reset(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_read(room.plan, "y", room.got, sizeof room.got, &error), error);
}

static uint32_t turned(unsigned from, unsigned i)
{
    unsigned matrix = i / (ROWS * COLUMNS), column = i / ROWS % COLUMNS, row = i % ROWS;
    return room.host[from + (matrix * ROWS + row) * COLUMNS + column];
}

static uint32_t next(unsigned from, unsigned i) { return room.host[from + i] + 1; }

/* Returns one element of the product: the sum in order of k, with one fused multiply-add per term. It is the same on
 * both sides of the diagonal. */
static uint32_t product(unsigned from, unsigned i)
{
    float a[DEPTH], b[DEPTH], sum = 0;
    memcpy(a, room.host + from + i / SIDE * DEPTH, sizeof a);
    memcpy(b, room.host + from + i % SIDE * DEPTH, sizeof b);
    for (unsigned k = 0; k < DEPTH; k++)
        sum = fmaf(a[k], b[k], sum);
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return bits;
}

static void check_all(const task *t, const kiln_setting *sizes, size_t size_count)
{
    open_room();
    for (size_t v = 0; v < kiln_spec_variant_count(t->spec); v++) {
        const char *variant = kiln_spec_variant_name(t->spec, v);
        if (strncmp(variant, "tensor_", 7) == 0) /* these variants need K >= 512, and add in another order */
            continue;
        kiln_plan *plan = open_plan(t->spec, variant, sizes, size_count);
        for (unsigned place = 0; plan && place < 16; place++) {
            unsigned from = place % 4, to = place / 4, wrong = 0;
            move(plan, t, from, to);
            for (unsigned i = 0; i < ROOM; i++)
                wrong += room.got[i] != (i - to < t->target_count ? t->want(from, i - to) : room.host[i]);
            if (wrong)
                fprintf(stderr, "%s from %u to %u: %u wrong\n", variant, from, to, wrong);
            CHECK(wrong == 0);
        }
        kiln_plan_close(plan);
    }
    kiln_plan_close(room.plan);
}

static void test_transposes(void)
{
    const kiln_setting sizes[] = {
        {"BATCH", {KILN_INT, {BATCH}}}, {"M", {KILN_INT, {ROWS}}}, {"N", {KILN_INT, {COLUMNS}}}};
    for (uint32_t i = 0; i < ROOM; i++)
        room.host[i] = i * 2654435761u;
    check_all(&(task){transpose, "A", "T", COUNT, COUNT, turned}, sizes, 3);
}

static void test_increments(void)
{
    const kiln_setting size = {"N", {KILN_INT, {COUNT}}};
    for (uint32_t i = 0; i < ROOM; i++)
        room.host[i] = 4294967290u + i; /* the values ascend as the patterns need it, and wrap around at 2^32 */
    check_all(&(task){memory, "x", "y", COUNT, COUNT, next}, &size, 1);
}

static void test_products(void)
{
    const kiln_setting sizes[] = {{"N", {KILN_INT, {SIDE}}}, {"K", {KILN_INT, {DEPTH}}}};
    for (uint32_t i = 0; i < ROOM; i++) {
        float value = (float)(i * 2654435761u >> 8) / 8388608 - 1; /* 24 bits each: sums are rounded */
        memcpy(&room.host[i], &value, sizeof value);
    }
    check_all(&(task){syrk, "A", "C", SIDE * DEPTH, SIDE * SIDE, product}, sizes, 2);
}

static const check_case cases[] = {
    {"transposes", test_transposes}, {"increments", test_increments}, {"products", test_products}};

int main(int count, char **arguments)
{
    const catalogue_spec specs[] = {{"transpose", &transpose}, {"memory", &memory}, {"syrk", &syrk}};
    return catalogue_main(count, arguments, "moves", cases, KILN__COUNT(cases), &engine, specs, KILN__COUNT(specs));
}
