/* Tests the steps of plans on a fake driver: their effects, their arguments, time limits, and steps that are
 * refused. */
#include "plans.h"

static void test_steps(void)
{
    open_plan(HEAD "  z: {type: f64, shape: [N]}\n  h: {type: f16, shape: [N]}\n"
                   "  n: {type: i32, shape: [1], fill: 5}\n  m: {type: i32, shape: [1], fill: 0}\n" VARIANT
                   "      - fill: {buffer: y, value: 0.5}\n"
                   "      - fill: {buffer: z, value: 0.1}\n"
                   "      - fill: {buffer: h, value: 2}\n"
                   "      - copy: {from: x, to: y, count: 2, from_offset: 1, to_offset: 2}\n"
                   "      - repeat: {times: 3, index: i, steps: [{launch: {kernel: scale, grid: [1], block: [1], "
                   "args: [y, i + 1, 2.0]}}]}\n",
              NULL);
    check_run(KILN_OK, NULL);
    // before the repetition y is .5 .5 2 3; round i doubles the first i + 1 elements
    check_floats("y", (float[]){4, 2, 4, 3}, 4);
    double z[4];
    uint16_t h[4];
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_read(plan, "z", z, sizeof z, &error), error);
    CHECK(z[0] == 0.1 && z[1] == 0.1 && z[2] == 0.1 && z[3] == 0.1);
    CHECK_OK(kiln_plan_read(plan, "h", h, sizeof h, &error), error);
    CHECK(h[0] == 0x4000 && h[3] == 0x4000);
    CHECK(plan->steps.ready && !plan->dynamic); /* the plan keeps its steps as a program */
    close_all();
}

static void test_swap(void)
{
    open_plan(HEAD
              "  t: {type: f32, shape: [N]}\n" VARIANT "      - copy: {from: x, to: y}\n"
              "      - repeat: {times: 3, steps: [{launch: {kernel: add_one, grid: [N], block: [1], args: [y, t, N]}}, "
              "{swap: [y, t]}]}\n",
              NULL);
    kiln_error *error = NULL;
    for (int round = 0; round < 3; round++) { /* every launch begins with the buffers in their original order */
        CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
        check_floats("y", (float[]){4, 5, 6, 7}, 4);
        check_floats("t", (float[]){3, 4, 5, 6}, 4);
    }
    close_all();
}

#define GATHER(list)                                                                                                   \
    "      - launch: {kernel: gather, grid: [2], block: [1], args: [{struct: {list: {pointers: " list                  \
    "}, count: [i16, 3], add: [f32, 0.5]}}, y + 1]}\n"

/* Tests structures, places in buffers, and lists of pointers as arguments. Launches that need the same list share
 * it. */
static void test_structures(void)
{
    open_plan(
        HEAD "  t: {type: f32, shape: [N], fill: 10}\n" VARIANT "      - fill: {buffer: y, value: 9}\n" GATHER(
            "[x, null, t + N // 2]") "      - repeat: {times: 3, steps: [{swap: [x, t]}, {swap: [x, t]}]}\n" GATHER("[x, null, t + N - 2]"),
        NULL);
    check_run(KILN_OK, NULL);
    check_floats("y", (float[]){9, 11.5, 12.5, 9}, 4);
    CHECK(plan->list_count == 1 && plan->steps.ready);
    check_run(KILN_OK, NULL);
    CHECK(plan->list_count == 1);
    close_all();
    /* A swap changes the meaning of a name. In a loop the place changes with each round. */
    open_plan(
        HEAD
        "  t: {type: f32, shape: [N], fill: 10}\n" VARIANT
        "      - fill: {buffer: y, value: 9}\n      - swap: [x, t]\n" GATHER(
            "[x, x, t]") "      - repeat: {times: 2, index: i, steps: [{launch: {kernel: gather, grid: [1], block: "
                         "[1], args: "
                         "[{struct: {list: {pointers: [t + i, t + 2 * i]}, count: [i16, 2], add: [f32, i]}}, y + 3 * "
                         "i]}}]}\n",
        NULL);
    check_run(KILN_OK, NULL);
    check_floats("y", (float[]){2, 21.5, 22.5, 6}, 4);
    CHECK(plan->list_count == 3);
    close_all();
}

static void test_structures_memory(void)
{
    for (long k = 0; k < 4000; k++) {
        check_oom oom = {.countdown = -1};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_error *error = NULL;
        open_engine(&mem, true);
        CHECK_OK(try_plan(HEAD VARIANT GATHER("[x, x, null]"), NULL, &error), error);
        oom.countdown = k;
        kiln_status status = kiln_plan_launch(plan, NULL, &error);
        bool failed = oom.failed;
        oom.countdown = -1;
        CHECK((status != KILN_OK) == failed && (status == KILN_OK || status == KILN_ERROR_MEMORY));
        kiln_error_free(error);
        close_all();
        CHECK(oom.live == 0);
        if (!failed)
            return;
    }
    CU_FAIL("never ran through");
}

static void test_while(void)
{
    static const char text[] = HEAD COUNTERS VARIANT
        "      - while: {read: {left: \"n[0]\"}, cond: left > 0, at_most: 2 * N, steps: [{launch: {kernel: count_down, "
        "grid: [left], block: [1], args: [n, m]}}]}\n" ADD("add_one");
    open_plan(text, NULL);
    CHECK(plan->dynamic);
    check_run(KILN_OK, NULL);
    CHECK(plan->result.rounds == 5 && plan->result.host_step_seconds == 0);
    int32_t m;
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_read(plan, "m", &m, sizeof m, &error), error);
    CHECK(m == 5);
    int32_t twenty = 20;
    CHECK_OK(kiln_plan_write(plan, "n", &twenty, sizeof twenty, &error), error);
    CHECK(kiln_plan_launch(plan, NULL, &error) == KILN_ERROR_TIMEOUT);
    CHECK(strstr(kiln_error_message(error), "fake.yaml:17:") != NULL);
    CHECK(strstr(kiln_error_message(error), "the loop has not ended after at_most = 8 rounds") != NULL);
    kiln_error_free(error);
    close_all();
}

/* Runs for at most a moment; the message contains `part`. On a busy machine the moment may be over before the work
 * begins that it must end. In this case the function tries again with a longer moment. */
static void check_ended(kiln_status want, const volatile int *stop, const char *part)
{
    bool found = false;
    for (double limit = 0.05; !found && limit < 30; limit *= 2) {
        kiln_error *error = NULL;
        const kiln_result *result = NULL;
        kiln_run_options options = {.size = sizeof options, .sample_timeout = stop ? -1 : limit, .stop = stop};
        CU_ASSERT_EQUAL(kiln_plan_run(plan, &options, &result, &error), want);
        found = strstr(kiln_error_message(error), part) != NULL;
        if (!found)
            fprintf(stderr, "with a limit of %g s: %s\n", limit, kiln_error_message(error));
        kiln_error_free(error);
        if (stop)
            break;
    }
    CHECK(found);
}

static volatile int wish;
static void wish_to_end(void)
{
    wish = 1;
    fake.busy = 0;
}

static void test_limits(void)
{
    kiln_error *error = NULL;
    float y[4];
    /* The loops of a spec. */
    open_plan(
        HEAD COUNTERS VARIANT
        "      - while: {read: {left: \"n[0]\"}, cond: left > 0, at_most: 1000000000000000, steps: [{fill: {buffer: y, "
        "value: 1}}]}\n",
        NULL);
    check_ended(KILN_ERROR_TIMEOUT, NULL, " s (sample_timeout), until round");
    wish = 1;
    check_ended(KILN_ERROR_INTERRUPTED, &wish, "was stopped");
    close_all();
    open_plan(HEAD VARIANT
              "      - repeat: {times: 1000000000000000, steps: [{launch: {kernel: add_one, grid: [0], block: [1], "
              "args: [x, y, N]}}]}\n",
              NULL);
    check_ended(KILN_ERROR_TIMEOUT, NULL, " s (sample_timeout), until round");
    close_all();
    /* The kernel does not end. The host continues and does not access the device any more. */
    open_plan(HEAD VARIANT ADD("add_one"), NULL);
    fake.busy = 1;
    check_ended(KILN_ERROR_TIMEOUT, NULL, "kernel 'add_one' occupies the device until this process ends");
    CHECK(kiln_plan_read(plan, "y", y, sizeof y, &error) == KILN_ERROR_TIMEOUT);
    CHECK(strstr(kiln_error_message(error), "still runs") != NULL);
    kiln_error_free(error);
    fake.busy = 0;
    atomic_store(&engine->stuck, false); /* a process never does this; here it lets the test free the memory */
    close_all();
    /* The kernel ends soon after the time limit. */
    open_plan(HEAD VARIANT ADD("add_one"), NULL);
    wish = 0;
    fake.busy = 1;
    fake.queried = wish_to_end;
    check_ended(KILN_ERROR_INTERRUPTED, &wish, "was stopped");
    fake.queried = NULL;
    CHECK(!atomic_load(&engine->stuck));
    check_run(KILN_OK, NULL);
    close_all();
}

static void test_host_and_symbol(void)
{
    open_plan(HEAD VARIANT "      - host: {call: step, args: {in: x, out: y, by: 0.5 * N}}\n", NULL);
    check_run(KILN_OK, NULL);
    CHECK(plan->result.host_step_seconds > 0 && plan->result.inputs_seconds == 0);
    check_floats("y", (float[]){3, 4, 5, 6}, 4);
    check_floats("x", (float[]){1, 2, 3, 4}, 4);
    close_all();
    open_plan(HEAD VARIANT "      - symbol: {name: table, from: x, count: 2, offset: 1}\n"
                           "      - launch: {kernel: symbol_out, grid: [1], block: [1], args: [y]}\n",
              NULL);
    memset(fake_symbol, 0, sizeof fake_symbol);
    check_run(KILN_OK, NULL);
    check_floats("y", (float[]){2, 3, 0, 0}, 4);
    close_all();
}

static void test_before_each(void)
{
    open_plan(HEAD "variants:\n  v:\n    params: {BLOCK: [2]}\n    before_each: [{fill: {buffer: y, value: 3}}]\n"
                   "    steps:\n      - launch: {kernel: scale, grid: [1], block: [1], args: [y, N, 2.0]}\n",
              NULL);
    kiln_error *error = NULL;
    check_run(KILN_OK, NULL);
    check_floats("y", (float[]){6, 6, 6, 6}, 4);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    check_floats("y", (float[]){12, 12, 12, 12}, 4);
    CHECK_OK(kiln_plan_reset(plan, NULL, &error), error);
    check_floats("y", (float[]){3, 3, 3, 3}, 4);
    close_all();
}

/* Tests each wrong step and its message. */
static void test_step_errors(void)
{
    static const struct {
        const char *step;
        kiln_status status;
        const char *message;
    } wrong[] = {
        {"launch: {kernel: add_one, grid: [1], block: [1], args: [x, y]}", KILN_ERROR_LAUNCH,
         "add_one needs 3 arguments, but 2 are given"},
        {"launch: {kernel: add_one, grid: [1], block: [1], args: [x, N, N]}", KILN_ERROR_LAUNCH,
         "argument 2 of add_one: 'N' = 4, but the kernel needs a pointer: this parameter is a pointer: name a buffer"},
        {"launch: {kernel: add_one, grid: [1], block: [1], args: [x, y, x]}", KILN_ERROR_LAUNCH,
         "argument 3 of add_one: 'x' is a buffer, but the kernel needs a 32-bit integer"},
        {"launch: {kernel: add_one, grid: [1], block: [1], args: [x, y, N * 2.0]}", KILN_ERROR_LAUNCH,
         "argument 3 of add_one: 'N * 2.0' = 8.0, but the kernel needs a 32-bit integer: this parameter is an "
         "integer, but the value is a float; write int(...)"},
        {"launch: {kernel: add_one, grid: [1], block: [1], args: [x, y, N << 40]}", KILN_ERROR_LAUNCH,
         "argument 3 of add_one: 'N << 40' = 4398046511104, but the kernel needs a 32-bit integer: the value does not "
         "fit"},
        {"launch: {kernel: add_one, grid: [N - 5], block: [1], args: [x, y, N]}", KILN_ERROR_LAUNCH,
         "grid x = -1 is outside 0 .. 2147483647"},
        {"launch: {kernel: add_one, grid: [1, 65536], block: [1], args: [x, y, N]}", KILN_ERROR_LAUNCH,
         "grid y = 65536 is outside 0 .. 65535"},
        {"launch: {kernel: add_one, grid: [1], block: [32, 64], args: [x, y, N]}", KILN_ERROR_LAUNCH,
         "a block of 2048 threads; the device allows 1024"},
        {"launch: {kernel: add_one, grid: [1], block: [1024], args: [x, y, N]}", KILN_ERROR_LAUNCH,
         "a block of 1024 threads; add_one allows 512, by its registers or its launch bounds"},
        {"launch: {kernel: add_one, grid: [1], block: [N - 4], args: [x, y, N]}", KILN_ERROR_LAUNCH,
         "a block of 0 x 1 x 1 has no threads"},
        {"launch: {kernel: add_one, grid: [1], block: [1], shared: 100000, args: [x, y, N]}", KILN_ERROR_LAUNCH,
         "100000 bytes of shared memory (0 static, 100000 dynamic); the device allows 99000 a block"},
        {"launch: {kernel: add_one, grid: [1 // (N - 4)], block: [1], args: [x, y, N]}", KILN_ERROR_SPEC,
         "division by zero"},
        {"fill: {buffer: n, value: 0.5}", KILN_ERROR_SPEC,
         "buffer 'n': a buffer of i32 must be filled with integers, not with 0.5"},
        {"copy: {from: x, to: y, count: 5}", KILN_ERROR_LAUNCH,
         "5 elements from 0 on go past the end of 'x', which has 4"},
        {"copy: {from: x, to: y, to_offset: 1}", KILN_ERROR_LAUNCH,
         "4 elements from 1 on go past the end of 'y', which has 4"},
        {"copy: {from: x, to: y, to_offset: N - 5}", KILN_ERROR_LAUNCH, "to_offset = -1 is negative"},
        {"launch: {kernel: gather, grid: [1], block: [1], args: [{struct: {a: x, b: [i16, 3]}}, y + 5]}",
         KILN_ERROR_LAUNCH, "argument 2 of gather: 'y + 5' is 5 elements after the first element of 'y', which has 4"},
        {"launch: {kernel: gather, grid: [1], block: [1], args: [{struct: {a: x, b: [i16, 70000]}}, y]}",
         KILN_ERROR_LAUNCH, "argument 1 of gather: field 'b': 70000 is outside the range of i16"},
        {"launch: {kernel: gather, grid: [1], block: [1], args: [{bytes: '0000'}, y]}", KILN_ERROR_LAUNCH,
         "argument 1 of gather has 2 bytes, but the kernel needs a structure of 16 bytes"},
        {"launch: {kernel: gather, grid: [1], block: [1], args: [x, y]}", KILN_ERROR_LAUNCH,
         "argument 1 of gather: 'x' is a buffer, but the kernel needs a structure by value"},
        {"copy: {from: x, to: b}", KILN_ERROR_LAUNCH, "the elements of 'x' are f32, but the elements of 'b' are i8"},
        {"symbol: {name: table, from: b, count: 33}", KILN_ERROR_LAUNCH,
         "33 elements of 'b' are 33 bytes, but the symbol 'table' has 32"},
        {"symbol: {name: nowhere, from: x}", KILN_ERROR_NOT_FOUND,
         "the source has no __constant__ or __device__ variable 'nowhere'"},
        {"swap: [x, n]", KILN_ERROR_LAUNCH, "'x' and 'n' differ in type or size and cannot be swapped"},
        {"repeat: {times: N - 5, steps: [{fill: {buffer: y, value: 0}}]}", KILN_ERROR_SPEC, "times = -1 is negative"},
        {"while: {read: {k: \"n[N]\"}, cond: k > 0, at_most: 3, steps: [{fill: {buffer: y, value: 0}}]}",
         KILN_ERROR_LAUNCH, "'n' has 1 elements; there is no element 4"},
    };
    for (size_t i = 0; i < KILN__COUNT(wrong); i++) {
        char text[2000];
        kiln_error *error = NULL;
        snprintf(text, sizeof text, HEAD COUNTERS "  b: {type: i8, shape: [40]}\n" VARIANT "      - %s\n",
                 wrong[i].step);
        open_plan(text, NULL);
        kiln_status status = kiln_plan_launch(plan, NULL, &error);
        CU_ASSERT_EQUAL(status, wrong[i].status);
        if (!strstr(kiln_error_message(error), wrong[i].message) || !strstr(kiln_error_message(error), "fake.yaml:"))
            fprintf(stderr, "got:  %s\nwant: %s\n", kiln_error_message(error), wrong[i].message);
        CHECK(strstr(kiln_error_message(error), wrong[i].message) != NULL);
        CHECK(strstr(kiln_error_message(error), "fake.yaml:") != NULL && strchr(kiln_error_message(error), '^'));
        kiln_error_free(error);
        close_all();
    }
}

static void test_shared_memory_opt_in(void)
{
    open_plan(HEAD VARIANT "      - launch: {kernel: add_one, grid: [N], block: [1], shared: 50000, args: [x, y, N]}\n",
              NULL);
    fake.shared_limit = 0;
    check_run(KILN_OK, NULL);
    CHECK(fake.shared_limit == 50000);
    close_all();
    open_plan(HEAD VARIANT
              "      - launch: {kernel: add_one, grid: [N], block: [1], shared: 48 * 1024, args: [x, y, N]}\n",
              NULL);
    fake.shared_limit = 0;
    check_run(KILN_OK, NULL);
    CHECK(fake.shared_limit == 0);
    close_all();
}

static void test_missing_kernel(void)
{
    kiln_error *error = NULL;
    open_engine(NULL, true);
    CHECK(try_plan(HEAD VARIANT "      - launch: {kernel: absent, grid: [1], block: [1], args: []}\n", NULL, &error) ==
          KILN_ERROR_NOT_FOUND);
    CHECK_TEXT(kiln_error_message(error),
               "fake: the source has no kernel 'absent' (is it declared extern \"C\" __global__?)");
    kiln_error_free(error);
    close_all();
}

static void test_launch_failure(void)
{
    open_plan(HEAD VARIANT ADD("add_one"), NULL);
    fake.fail_launch = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    kiln_error *error = NULL;
    CHECK(kiln_plan_launch(plan, NULL, &error) != KILN_OK);
    CHECK(kiln_error_cuda(error) == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    CHECK(strstr(kiln_error_message(error), "v BLOCK=2: launching add_one with grid 2 x 1 x 1, block 2 x 1 x 1") !=
          NULL);
    kiln_error_free(error);
    fake.fail_launch = 0;
    error = NULL;
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    close_all();
}

static const check_case cases[] = {
    {"steps", test_steps},
    {"swap", test_swap},
    {"structures and lists of pointers", test_structures},
    {"structures without memory", test_structures_memory},
    {"while", test_while},
    {"limits of time", test_limits},
    {"host and symbol", test_host_and_symbol},
    {"before_each", test_before_each},
    {"step errors", test_step_errors},
    {"shared memory opt-in", test_shared_memory_opt_in},
    {"missing kernel", test_missing_kernel},
    {"launch failure", test_launch_failure},
};
KILN_SUITE("plan.steps", cases)
