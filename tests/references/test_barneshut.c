/* Tests barneshut_bodies and barneshut_f64: the kinds of bodies, steps compared with the formula, and the reference's
 * tree compared with all pairs. */
#include <math.h>

#include "data/arrays.h"
#include "hosts.h"

static kiln__call_arg number(const char *name, int64_t value)
{
    return (kiln__call_arg){.name = name, .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = value}};
}

static kiln__call_arg real(const char *name, double value)
{
    return (kiln__call_arg){.name = name, .kind = KILN__CALL_VALUE, .value = {.kind = KILN_FLOAT, .as.f = value}};
}

static kiln_array make_array(uint64_t rows, uint64_t columns)
{
    kiln_array array = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, KILN_f32, 2, (uint64_t[]){rows, columns}, &array, &error), error);
    return array;
}

/* ---- bodies ---- */

typedef struct problem {
    kiln_array bodies, velocity, at, acc;
    double pull, theta, dt, soft;
    int64_t steps;
} problem;

static void free_problem(problem *p)
{
    kiln_array *const all[] = {&p->bodies, &p->velocity, &p->at, &p->acc};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        kiln__array_free(NULL, all[i]);
}

static kiln_status call_bodies(const char *kind, int64_t count, problem *made, const kiln_allocator *mem,
                               kiln_error **error)
{
    kiln__call_arg args[] = {{.name = "kind", .value = {.kind = KILN_TEXT, .as.text = kind}},
                             number("count", count),
                             number("seed", 1),
                             real("soft", 1.0 / (double)(count > 0 ? count : 1))};
    kiln_call call = {.mem = mem, .arg_count = KILN__COUNT(args), .args = args};
    kiln_status status = kiln__call(&call, builtin("barneshut_bodies"), (kiln__pos){0}, error);
    if (status == KILN_OK && made) {
        const size_t rows = (size_t)count;
        *made = (problem){.bodies = make_array(rows, 4),
                          .velocity = make_array(rows, 2),
                          .at = make_array(rows, 2),
                          .acc = make_array(rows, 2),
                          .theta = 0.5,
                          .dt = 0.001,
                          .soft = 1.0 / (double)count,
                          .steps = 1};
        memcpy(made->bodies.data, kiln__export_find(call.exports, "bodies")->array.data, rows * 4 * sizeof(float));
        memcpy(made->velocity.data, kiln__export_find(call.exports, "velocity")->array.data, rows * 2 * sizeof(float));
        made->pull = kiln__export_find(call.exports, "pull")->value.as.f;
    }
    kiln__call_free(&call);
    return status;
}

static problem make_problem(const char *kind, int64_t count)
{
    problem p;
    kiln_error *error = NULL;
    CHECK_OK(call_bodies(kind, count, &p, NULL, &error), error);
    return p;
}

static const float *body_of(const problem *p, size_t i) { return (const float *)p->bodies.data + 4 * i; }

static void test_bodies(void)
{
    static const char *const kinds[] = {"uniform", "disk", "clustered", "same", "line", "apart"};
    enum { COUNT = 1000 };
    for (size_t kind = 0; kind < KILN__COUNT(kinds); kind++) {
        problem p = make_problem(kinds[kind], COUNT);
        double mass = 0;
        size_t far = 0, first = 0, line = 0, disk = 0;
        for (size_t i = 0; i < COUNT; i++) {
            const float *b = body_of(&p, i);
            const double x = (double)b[0] - 0.5, y = (double)b[1] - 0.5;
            mass += (double)b[2];
            far += b[0] == 1000 && b[1] == -500;
            first += memcmp(b, body_of(&p, 0), 2 * sizeof *b) == 0;
            line += fabs(x + y) < 1e-6;
            disk += x * x + y * y < 0.2501;
            CHECK(kind == 5 || fabs((double)((const float *)p.velocity.data)[2 * i] + y) < 1e-7);
        }
        CHECK(mass > 0.9 && mass < 1.1);
        CHECK(far == (kind == 5 ? COUNT / 2 : 0));
        CHECK((first == COUNT) == (kind == 3));
        CHECK((line == COUNT) == (kind == 3 || kind == 4)); /* only one place is on the line */
        CHECK(kind != 1 || disk == COUNT);
        CHECK((p.pull == 0) == (kind == 3));
        free_problem(&p);
    }
}

/* ---- the reference ---- */

static kiln_status run(problem *p, const kiln_allocator *mem, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "bodies", .kind = KILN__CALL_ARRAY, .array = &p->bodies},
        {.name = "velocity", .kind = KILN__CALL_ARRAY, .array = &p->velocity},
        {.name = "at", .kind = KILN__CALL_ARRAY, .array = &p->at, .writable = true},
        {.name = "acc", .kind = KILN__CALL_ARRAY, .array = &p->acc, .writable = true},
        number("STEPS", p->steps),
        real("THETA", p->theta),
        real("DT", p->dt),
        real("soft", p->soft),
    };
    kiln_call call = {.mem = mem, .arg_count = KILN__COUNT(args), .args = args};
    kiln_status status = kiln__call(&call, builtin("barneshut_f64"), (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

/* Adds up the pulls of all bodies on a place. */
static void add_pulls(const problem *p, const double (*at)[2], size_t count, const double *mine, double *pull)
{
    pull[0] = pull[1] = 0;
    for (size_t j = 0; j < count; j++) {
        const double dx = at[j][0] - mine[0], dy = at[j][1] - mine[1], square = dx * dx + dy * dy + p->soft;
        pull[0] += (double)body_of(p, j)[2] * dx / (square * sqrt(square));
        pull[1] += (double)body_of(p, j)[2] * dy / (square * sqrt(square));
    }
}

/* Steps by the formula: all accelerations, then all velocities and places. */
static void test_steps(void)
{
    enum { COUNT = 65, STEPS = 4 };
    problem p = make_problem("disk", COUNT);
    double at[COUNT][2], v[COUNT][2], pull[COUNT][2];
    kiln_error *error = NULL;
    p.steps = STEPS, p.dt = 0.05;
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < 2; k++) {
            at[i][k] = (double)body_of(&p, i)[k];
            v[i][k] = (double)((const float *)p.velocity.data)[2 * i + k];
        }
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < COUNT; i++)
            add_pulls(&p, (const double(*)[2])at, COUNT, at[i], pull[i]);
        for (size_t i = 0; i < COUNT; i++)
            for (size_t k = 0; k < 2; k++)
                at[i][k] += p.dt * (v[i][k] += p.dt * pull[i][k]);
    }
    CHECK_OK(run(&p, NULL, &error), error);
    for (size_t i = 0; i < 2 * COUNT; i++) {
        CHECK(fabs((double)((float *)p.at.data)[i] - at[i / 2][i % 2]) < 1e-6);
        CHECK(fabs((double)((float *)p.acc.data)[i] - pull[i / 2][i % 2]) < 1e-5 * (1 + fabs(pull[i / 2][i % 2])));
    }
    free_problem(&p);
}

/* Returns the greatest error of the reference's tree, as a share of `pull`. The reference does not compute two steps of this
 * many bodies by pairs. The bodies do not move. */
static double error_of_tree(const char *kind, double theta)
{
    enum { COUNT = 33000, STRIDE = 397 };
    static double at[COUNT][2];
    problem p = make_problem(kind, COUNT);
    kiln_error *error = NULL;
    double worst = 0;
    p.steps = 2, p.dt = 0, p.theta = theta;
    CHECK_OK(run(&p, NULL, &error), error);
    for (size_t i = 0; i < COUNT; i++)
        at[i][0] = (double)body_of(&p, i)[0], at[i][1] = (double)body_of(&p, i)[1];
    for (size_t i = 0; i < COUNT; i += STRIDE) {
        double pull[2];
        add_pulls(&p, (const double(*)[2])at, COUNT, at[i], pull);
        for (size_t k = 0; k < 2; k++)
            worst = fmax(worst, fabs((double)((float *)p.acc.data)[2 * i + k] - pull[k]));
        CHECK(memcmp((float *)p.at.data + 2 * i, body_of(&p, i), 2 * sizeof(float)) == 0);
    }
    worst /= p.pull > 0 ? p.pull : 1;
    free_problem(&p);
    return worst;
}

static void test_tree(void)
{
    if (!CHECK_SANITIZER[0]) {
        /* these walks visit nearly all pairs, and the walks below already run all of the code */
        CHECK(error_of_tree("uniform", 0.01) < 1e-6);
        CHECK(error_of_tree("apart", 0.1) < 1e-4);
    }
    const double error = error_of_tree("clustered", 0.5);
    CHECK(error > 1e-5 && error < 0.01);
    CHECK(error_of_tree("same", 0.5) == 0);
}

/* ---- failures ---- */

static void check_failure(problem *p, const char *message)
{
    kiln_error *error = NULL;
    CHECK(run(p, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), message);
    kiln_error_free(error);
}

static void test_errors(void)
{
    kiln_error *error = NULL;
    CHECK(call_bodies("galaxy", 10, NULL, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), "host function 'barneshut_bodies': bodies are uniform, disk, clustered, "
                                          "same, line or apart, not 'galaxy'");
    kiln_error_free(error), error = NULL;
    CHECK(call_bodies("disk", 1 << 30, NULL, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), "host function 'barneshut_bodies': count is 0 to 2^30 - 1");
    kiln_error_free(error);
    problem p = make_problem("uniform", 5);
    p.steps = 0;
    check_failure(&p, "host function 'barneshut_f64': STEPS is 1 or more, THETA and soft are above 0");
    p.steps = 1, p.soft = 0;
    check_failure(&p, "host function 'barneshut_f64': STEPS is 1 or more, THETA and soft are above 0");
    p.acc.shape[0] = 4;
    check_failure(&p, "host function 'barneshut_f64': bodies is N x 4, velocity, at and acc are N x 2 of f32, N below "
                      "2^30");
    free_problem(&p);
}

static void test_memory(void)
{
    problem p = make_problem("uniform", 33000);
    p.steps = 2;
    for (size_t i = 0; i < 6; i++) { /* bodies, velocity; bodies, velocity, pulls, nodes of the reference */
        check_oom oom = {.countdown = (long)(i < 2 ? i : i - 2)};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_error *error = NULL;
        CHECK((i < 2 ? call_bodies("uniform", 10, NULL, &mem, &error) : run(&p, &mem, &error)) != KILN_OK);
        CHECK(oom.failed);
        kiln_error_free(error);
        CHECK(oom.live == 0);
    }
    free_problem(&p);
}

static const check_case cases[] = {
    {"bodies", test_bodies}, {"steps", test_steps},   {"tree", test_tree},
    {"errors", test_errors}, {"memory", test_memory},
};
KILN_SUITE("barneshut", cases)
