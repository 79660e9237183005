/* Tests the choice of the best configuration for an input that was not measured, by the features of the input. */
#include <math.h>
#include <unistd.h>

#include <kiln_catalogue.h>

#include "check.h"
#include "best.h"

typedef struct fixture {
    char folder[64], log[1024];
    kiln_engine *engine;
    kiln_spec *spec;
} fixture;

static const char spec_text[] =
    "kiln: 1\n"
    "name: similar\n"
    "source: add.cu\n"
    "sizes: {tiny: {MATRIX: band, ROWS: 50, DEGREE: 3}}\n"
    "inputs: {A: {host: sparse_matrix, matrix: MATRIX, rows: ROWS, degree: DEGREE}}\n"
    "features: {rows: A.rows, mean: A.mean}\n"
    "buffers:\n"
    "  x: {from: A.csr.values}\n"
    "  y: {type: f32, shape: [A.nonzeros], fill: 2}\n"
    "  z: {type: f32, shape: [A.nonzeros], out: true}\n"
    "params: {BLOCK: [32, 64, 128], ITEMS: [1], FAR: [near]}\n"
    "launch: {kernel: add, grid: [\"ceil_div(A.nonzeros, BLOCK)\"], block: [BLOCK], args: [x, y, z, A.nonzeros]}\n";

static void note(void *user, kiln_log_level level, const char *message)
{
    fixture *f = user;
    if (level >= KILN_LOG_WARNING)
        snprintf(f->log, sizeof f->log, "%s", message);
}

static void setup(fixture *f)
{
    kiln_error *error = NULL;
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/kiln-similar-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    kiln_options options = {.size = sizeof options,
                            .device = "sim",
                            .cache_dir = f->folder,
                            .jobs = 1,
                            .flags = KILN_NO_WORKERS,
                            .log = note,
                            .log_user = f};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CHECK_OK(kiln_catalogue_register(f->engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->engine);
    CHECK_OK(
        kiln_spec_parse(f->engine, spec_text, sizeof spec_text - 1, KILN_TEST_DATA "/similar.yaml", &f->spec, &error),
        error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->spec);
}

static void teardown(fixture *f)
{
    char command[128];
    kiln_spec_free(f->spec);
    kiln_engine_close(f->engine);
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

#define HERE "\"Kiln simulated device (generic)\", cc: \"9.0\""
#define SAMPLE(device, matrix, n, features, block, time, verified)                                                     \
    "- {spec: similar, device: " device ", sizes: {MATRIX: " matrix ", ROWS: " #n                                      \
    ", DEGREE: 3}, variant: default, params: {BLOCK: " #block ", ITEMS: 1, FAR: near}, seconds: " #time                \
    ", how: simulated, verified: " verified ", made: 2026-01-01T00:00:00Z" features "}\n"
#define OF(rows, mean) ", features: {rows: " #rows ", mean: " #mean "}"
#define HEAD "kiln-best: 2\nbest:\n"

typedef struct answer {
    kiln_best_from from;
    int64_t block, known_rows;
    size_t inputs;
    double slowdown, distance;
} answer;

static kiln_knowledge *parse(fixture *f, const char *text)
{
    kiln_knowledge *known = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_knowledge_parse(f->engine, text, strlen(text), "k.yaml", &known, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(known);
    return known;
}

static answer ask(fixture *f, const char *text, const char *matrix, int64_t rows)
{
    kiln_knowledge *known = parse(f, text);
    kiln_setting sizes[] = {{"MATRIX", {KILN_TEXT, {.text = matrix}}}, {"ROWS", {KILN_INT, {.i = rows}}}};
    kiln_choice choice = {.sizes = sizes, .size_count = 2};
    kiln_best_options options = {.size = sizeof options, .knowledge = known};
    kiln_best *best = NULL;
    kiln_error *error = NULL;
    *f->log = '\0';
    CHECK_OK(kiln_best_find(f->engine, f->spec, &choice, &options, &best, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(best);
    answer got = {.from = best->from,
                  .block = best->params[0].value.as.i,
                  .inputs = best->near_inputs,
                  .slowdown = best->slowdown,
                  .distance = best->distance};
    for (size_t i = 0; i < best->known_size_count; i++)
        if (strcmp(best->known_sizes[i].name, "ROWS") == 0)
            got.known_rows = best->known_sizes[i].value.as.i;
    CHECK(!best->near_inputs == !best->feature_count && !best->near_inputs == !best->known_feature_count);
    if (best->near_inputs)
        CHECK(best->feature_count == 2 && strcmp(best->features[0].name, "rows") == 0 &&
              best->features[0].value.as.i == rows);
    kiln_best_free(best);
    kiln_knowledge_free(known);
    return got;
}

static void the_nearest_inputs(void)
{
    fixture f;
    setup(&f);
    static const char text[] = HEAD SAMPLE(HERE, "a", 7, OF(60, 3.0), 32, 1, "true")
        SAMPLE(HERE, "a", 7, OF(60, 3.0), 64, 2, "true") SAMPLE(HERE, "b", 7, OF(4000, 3.0), 32, 4, "true")
            SAMPLE(HERE, "b", 7, OF(4000, 3.0), 64, 3, "true") SAMPLE(HERE, "band", 800, "", 128, 1, "true");
    answer got = ask(&f, text, "band", 60);
    CHECK(got.from == KILN_BEST_SIMILAR && got.block == 32 && got.inputs == 2 && got.known_rows == 7);
    CHECK(got.distance < 0.1 && got.slowdown > 1 && got.slowdown < 1.01);
    got = ask(&f, text, "band", 4100);
    CHECK(got.from == KILN_BEST_SIMILAR && got.block == 64 && got.inputs == 2 &&
          fabs(got.distance - log2(4101.0 / 4001)) < 0.01);
    got = ask(&f, text, "band", 800); /* these sizes are known, but their samples have no features */
    CHECK(got.from == KILN_BEST_EXACT && got.block == 128 && got.inputs == 0);
    /* The matrix does not exist, so its features are unknown. Kiln chooses by the sizes. */
    got = ask(&f, text, "none.mtx", 500);
    CHECK(got.from == KILN_BEST_NEAREST && got.block == 128 && got.inputs == 0);
    CHECK(strstr(f.log, "the features of the input are not known, so Kiln chooses by the sizes alone") != NULL);
    teardown(&f);
}

/* The best configuration for one input may be bad for its neighbours. The test expects the configuration that is
 * good for all of them. */
static void good_for_all_of_them(void)
{
    fixture f;
    setup(&f);
    static const char text[] = HEAD SAMPLE(HERE, "a", 1, OF(1000, 3.0), 32, 1.0, "true")
        SAMPLE(HERE, "a", 1, OF(1000, 3.0), 64, 1.1, "true") SAMPLE(HERE, "b", 1, OF(1010, 3.0), 32, 3.0, "true")
            SAMPLE(HERE, "b", 1, OF(1010, 3.0), 64, 1.0, "true") SAMPLE(HERE, "c", 1, OF(1020, 3.0), 32, 3.0, "true")
                SAMPLE(HERE, "c", 1, OF(1020, 3.0), 64, 1.0, "true");
    answer got = ask(&f, text, "band", 990);
    CHECK(got.from == KILN_BEST_SIMILAR && got.block == 64 && got.inputs == 3 && got.slowdown < 1.1);
    /* If a neighbour has no sample of a configuration, the configuration counts as four times slower there. */
    static const char missing[] = HEAD SAMPLE(HERE, "a", 1, OF(1000, 3.0), 32, 1.0, "true")
        SAMPLE(HERE, "a", 1, OF(1000, 3.0), 64, 1.5, "true") SAMPLE(HERE, "b", 1, OF(1010, 3.0), 64, 1.0, "true")
            SAMPLE(HERE, "c", 1, OF(1020, 3.0), 64, 1.0, "true");
    got = ask(&f, missing, "band", 990);
    CHECK(got.from == KILN_BEST_SIMILAR && got.block == 64 && got.inputs == 3);
    teardown(&f);
}

/* 4000 rows and 1000 rows have the distance 2. At this distance another configuration must be faster than the
 * default, 32, by a quarter. */
static void the_default_where_little_is_known(void)
{
    fixture f;
    setup(&f);
    static const char little[] = HEAD SAMPLE(HERE, "a", 1, OF(4000, 3.0), 32, 1.2, "true")
        SAMPLE(HERE, "a", 1, OF(4000, 3.0), 64, 1.0, "true");
    static const char more[] = HEAD SAMPLE(HERE, "a", 1, OF(4000, 3.0), 32, 1.4, "true")
        SAMPLE(HERE, "a", 1, OF(4000, 3.0), 64, 1.0, "true");
    answer got = ask(&f, little, "band", 1000);
    CHECK(got.from == KILN_BEST_SIMILAR && got.block == 32 && fabs(got.slowdown - 1.2) < 1e-12);
    got = ask(&f, little, "band", 4000);
    CHECK(got.from == KILN_BEST_SIMILAR && got.block == 64 && got.slowdown == 1);
    got = ask(&f, more, "band", 1000);
    CHECK(got.from == KILN_BEST_SIMILAR && got.block == 64 && got.slowdown == 1);
    teardown(&f);
}

static void only_what_was_verified(void)
{
    fixture f;
    setup(&f);
    static const char text[] = HEAD SAMPLE(HERE, "a", 1, OF(1000, 3.0), 32, 1, "false")
        SAMPLE(HERE, "a", 1, OF(1000, 3.0), 64, 2, "true") SAMPLE(HERE, "b", 1, OF(1010, 3.0), 128, 1, "false");
    answer got = ask(&f, text, "band", 1000);
    CHECK(got.from == KILN_BEST_SIMILAR && got.block == 64 && got.inputs == 1 && got.slowdown == 1);
    static const char none[] = HEAD SAMPLE(HERE, "a", 1, OF(1000, 3.0), 32, 1, "false");
    got = ask(&f, none, "band", 1000); /* the sizes decide, as for a spec without features */
    CHECK(got.from == KILN_BEST_NEAREST && got.block == 32 && got.inputs == 0);
    teardown(&f);
}

static void of_another_device(void)
{
    fixture f;
    setup(&f);
    static const char text[] = HEAD SAMPLE("\"Alike\", cc: \"9.0\"", "a", 1, OF(1000, 3.0), 32, 1, "true")
        SAMPLE("\"Alike\", cc: \"9.0\"", "b", 1, OF(9, 3.0), 128, 1, "true")
            SAMPLE("\"Old\", cc: \"7.0\"", "band", 1000, OF(1000, 3.0), 64, 1, "true");
    answer got = ask(&f, text, "band", 1000);
    CHECK(got.from == KILN_BEST_OTHER_DEVICE && got.block == 32 && got.inputs == 2);
    /* Samples of this device come first, even if only their sizes are known. */
    static const char here[] = HEAD SAMPLE("\"Alike\", cc: \"9.0\"", "a", 1, OF(1000, 3.0), 32, 1, "true")
        SAMPLE(HERE, "a", 1, "", 64, 1, "true");
    got = ask(&f, here, "band", 1000);
    CHECK(got.from == KILN_BEST_NEAREST && got.block == 64 && got.inputs == 0);
    teardown(&f);
}

static void a_plan_with_it(void)
{
    fixture f;
    setup(&f);
    kiln_knowledge *known = parse(&f, HEAD SAMPLE(HERE, "a", 1, OF(1000, 3.0), 64, 1, "true"));
    kiln_best_options options = {.size = sizeof options, .knowledge = known};
    kiln_plan *plan = NULL;
    kiln_best *best = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_open_best(f.engine, f.spec, NULL, &options, &plan, &best, &error), error);
    CU_ASSERT_TRUE_FATAL(plan && best);
    CHECK(best->from == KILN_BEST_SIMILAR && best->params[0].value.as.i == 64);
    kiln_plan_close(plan);
    kiln_best_free(best);
    kiln_knowledge_free(known);
    teardown(&f);
}

static void distances(void)
{
    static const kiln_setting a[] = {{"rows", {KILN_INT, {.i = 1023}}}, {"share", {KILN_FLOAT, {.f = 0}}}},
                              b[] = {{"share", {KILN_FLOAT, {.f = 1}}}, {"rows", {KILN_INT, {.i = 2047}}}},
                              c[] = {{"rows", {KILN_INT, {.i = 1}}}, {"other", {KILN_INT, {.i = 1}}}},
                              d[] = {{"rows", {KILN_INT, {.i = -1}}}, {"share", {KILN_FLOAT, {.f = 0}}}};
    double distance = -1;
    CHECK(kiln__feature_distance((kiln__settings){2, a}, (kiln__settings){2, b}, &distance) &&
          fabs(distance - sqrt(2)) < 1e-12);
    CHECK(kiln__feature_distance((kiln__settings){2, a}, (kiln__settings){2, d}, &distance) &&
          fabs(distance - 11) < 1e-12);
    CHECK(kiln__feature_distance((kiln__settings){2, a}, (kiln__settings){2, a}, &distance) && distance == 0);
    CHECK(!kiln__feature_distance((kiln__settings){2, a}, (kiln__settings){2, c}, &distance));
    CHECK(!kiln__feature_distance((kiln__settings){2, a}, (kiln__settings){1, a}, &distance));
    CHECK(!kiln__feature_distance((kiln__settings){0}, (kiln__settings){0}, &distance));
}

static const check_case cases[] = {
    {"the nearest inputs", the_nearest_inputs},
    {"good for all of them", good_for_all_of_them},
    {"the default where little is known", the_default_where_little_is_known},
    {"only what was verified", only_what_was_verified},
    {"of another device", of_another_device},
    {"a plan with it", a_plan_with_it},
    {"distances", distances},
};
KILN_SUITE("tune.similar", cases)
