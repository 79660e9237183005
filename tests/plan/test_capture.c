/* Tests captured launches (capture.c) on a fake driver (fake.h). An engine that has none of the application's functions
 * loads each capture and runs it.
 *
 * The file is long: everything that a spec can express must survive a capture, and each kind has its own spec. */
#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls_internal.h"
#include "fake.h"

static char folder[] = "/tmp/kiln-capture-XXXXXX"; /* the folder of sources and data */
static char out[64];                               /* the folder of captures, which lies below `folder` */
static char logged[4000];
static kiln_engine *engine;
static kiln_spec *spec;
static kiln_plan *plan;

/* ---- shared helpers ---- */

static void keep_log(void *user, kiln_log_level level, const char *message)
{
    (void)user;
    if (level == KILN_LOG_WARNING)
        snprintf(logged, sizeof logged, "%s", message);
}

/* Exports the number `rows`, and an array with this number of elements: 0, 1, 2, ... */
static kiln_status host_matrix(void *user, kiln_call *call)
{
    (void)user;
    int64_t rows;
    kiln_array *array;
    if (kiln_call_int(call, "rows", NULL, &rows) != KILN_OK || kiln_call_export_int(call, "rows", rows) != KILN_OK ||
        kiln_call_export_float(call, "density", 0.1) != KILN_OK ||
        kiln_call_export_array(call, "csr.values", KILN_f32, 1, (uint64_t[]){(uint64_t)rows}, &array) != KILN_OK ||
        kiln_call_export_array(call, "odd name", KILN_i32, 1, (uint64_t[]){0}, &array) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    array = NULL;
    for (kiln__export *at = call->exports; at; at = at->next)
        for (int64_t i = 0; at->is_array && at->array.type == KILN_f32 && i < rows; i++)
            ((float *)at->array.data)[i] = (float)i;
    return KILN_OK;
}
static kiln_status host_nothing(void *user, kiln_call *call)
{
    (void)user;
    (void)call;
    return KILN_OK;
}

static const char *in(const char *base, const char *name)
{
    static char room[4][400];
    static unsigned next;
    char *path = room[next++ % 4];
    snprintf(path, 400, "%s/%s", base, name);
    return path;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)type, (void)where;
    return remove(path);
}

static void empty_out(void) { nftw(out, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

/* Returns the number of entries in the folder of captures, hidden ones included. */
static int count_out(void)
{
    DIR *directory = opendir(out);
    int count = 0;
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (directory)
        closedir(directory);
    return count;
}

static void open_engine(const kiln_allocator *mem, bool application)
{
    engine = fake_engine_of(mem, true);
    if (!engine)
        return;
    engine->log = (kiln__log){keep_log, NULL};
    logged[0] = '\0';
    if (!application)
        return;
    kiln_register_host(engine, "matrix", KILN_HOST_INPUT, host_matrix, NULL, NULL);
    kiln_register_host(engine, "own_step", KILN_HOST_STEP, host_nothing, NULL, NULL);
}

static void open_text(const char *text, const char *variant)
{
    kiln_error *error = NULL;
    open_engine(NULL, true);
    CHECK_OK(kiln_spec_parse(engine, text, strlen(text), in(folder, "fake.yaml"), &spec, &error), error);
    if (spec)
        CHECK_OK(fake_plan_of(engine, spec, &(kiln_choice){.variant = variant}, &plan, &error), error);
    if (!plan)
        abort(); /* after this failure no result of the test has a meaning */
}

static void close_all(void)
{
    kiln_plan_close(plan);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    plan = NULL;
    spec = NULL;
    engine = NULL;
    CHECK(fake.blocks == 0);
}

static void launch_captured(void)
{
    kiln_error *error = NULL;
    CHECK_OK(kiln_plan_capture(plan, out, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(kiln_plan_captured(plan) != NULL);
}

/* Opens a plan of the captured spec in place of the plan that was captured. */
static void open_captured(const char *file, const char *variant)
{
    kiln_error *error = NULL;
    char path[400];
    snprintf(path, sizeof path, "%s", in(out, file));
    close_all();
    open_engine(NULL, false);
    CHECK_OK(kiln_spec_load(engine, path, &spec, &error), error);
    if (spec)
        CHECK_OK(fake_plan_of(engine, spec, &(kiln_choice){.variant = variant}, &plan, &error), error);
    if (!plan)
        abort();
}

/* Makes a checked run that compares every output. */
static void run_right(void)
{
    kiln_error *error = NULL;
    const kiln_result *result = NULL;
    CHECK_OK(kiln_plan_run(plan, NULL, &result, &error), error);
    CHECK(result->verified);
}

/* Reads the array in a file of a capture. Returns an empty array if there is no such file. */
static kiln_array read_file(const char *file)
{
    kiln_array array = {0};
    kiln__npy_read(NULL, in(out, file), 1 << 20, &array, NULL);
    return array;
}

static float first_of(const char *file)
{
    kiln_array array = read_file(file);
    float value = array.data ? *(float *)array.data : -1;
    kiln__array_free(NULL, &array);
    return value;
}

static bool is_there(const char *file) { return kiln__file_exists(in(out, file)); }

static const kiln__param *param(const char *variant, const char *name)
{
    const kiln__variant *v = kiln__spec_variant(spec, variant);
    for (size_t i = 0; v && i < v->param_count; i++)
        if (strcmp(v->params[i].name, name) == 0)
            return &v->params[i];
    return NULL;
}

#define HEAD                                                                                                           \
    "kiln: 1\nname: fake\nsource: fake.cu\nsizes:\n  default: {N: 4}\n  big: {N: 4000}\n"                              \
    "buffers:\n  x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}\n  y: {type: f32, shape: [N], out: true}\n"
#define LAUNCH(kernel) "launch: {kernel: " kernel ", grid: [ceil_div(N, BLOCK)], block: [BLOCK], args: [x, y, N]}\n"
#define TWO                                                                                                               \
    "variants:\n  one:\n    params: {BLOCK: [2, 4, 8]}\n    where: [BLOCK <= device.max_threads_per_block]\n    " LAUNCH( \
        "add_one") "  other:\n    source: more/fake.cu\n"                                                                 \
                   "    params: {BLOCK: {from: 2, to: 8, times: 2, default: 4}}\n    " LAUNCH(                            \
                       "add_one") "  wrong:\n    params: {BLOCK: 2}\n    " LAUNCH("add_two")

/* Tests headers that lie outside the source's folder. The capture puts all headers beside the source, and its spec
 * names no folders. */
static void test_headers(void)
{
    kiln_error *error = NULL;
    open_text(
        "kiln: 1\nname: fake\ninclude: heads\nsizes: {default: {N: 4}}\n"
        "buffers:\n  x: {type: f32, shape: [N], fill: 1}\n  y: {type: f32, shape: [N], out: true}\n"
        "params: {BLOCK: [2]}\nvariants:\n  one:\n    source: up/fake.cu\n    include: [more]\n    " LAUNCH("add_one"),
        NULL);
    launch_captured();
    CHECK(is_there("fake-000/fake.cu") && is_there("fake-000/head.h") && is_there("fake-000/sub/two.h"));
    open_captured("fake-000/fake.yaml", NULL);
    CHECK(spec->variants[0].include_count == 0);
    size_t length = 0;
    char *source = NULL;
    CHECK_OK(kiln__file_read(NULL, in(out, "fake-000/fake.cu"), 0, &source, &length, &error), error);
    CHECK_TEXT(source, "#include <head.h>\n#include \"sub/two.h\"\n");
    kiln__free(NULL, source);
    run_right();
    close_all();
    empty_out();
}

/* ---- the plain case ---- */

static void test_plain(void)
{
    kiln_error *error = NULL;
    static const float x[4] = {10, 20, 30, 40};
    open_text(HEAD TWO, NULL);
    kiln_capture_options options = {.size = sizeof options, .what = "add_one", .folder = out};
    CHECK_OK(kiln_capture(engine, &options, &error), error);
    CHECK_OK(kiln_plan_write(plan, "x", x, sizeof x, &error), error);
    CHECK(kiln_plan_captured(plan) == NULL);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK_TEXT(kiln_plan_captured(plan), in(out, "fake-000"));
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(count_out() == 1); /* one capture was requested, and nothing else is in the folder */
    CHECK(first_of("fake-000/x.npy") == 10 && first_of("fake-000/y.want.npy") == 11);
    CHECK(is_there("fake-000/fake.cu") && is_there("fake-000/sub/one.h") && is_there("fake-000/sub/two.h"));
    CHECK(is_there("fake-000/source-2/fake.cu"));

    open_captured("fake-000/fake.yaml", NULL);
    const kiln_size_set *set = kiln_spec_size_set(spec, 0);
    CHECK(kiln_spec_size_set_count(spec) == 1 && set->count == 1 && set->settings[0].value.as.i == 4);
    CHECK_TEXT(set->name, "captured");
    CHECK(kiln_spec_variant_count(spec) == 3);
    CHECK(param("one", "BLOCK")->count == 3 && param("other", "BLOCK")->count == 3);
    CHECK_TEXT(kiln_spec_constraint(spec, 0, 0), "BLOCK <= device.max_threads_per_block");
    run_right();
    open_captured("fake-000/fake.yaml", "other");
    run_right();
    open_captured("fake-000/fake.yaml", "wrong");
    CHECK(kiln_plan_run(plan, NULL, NULL, &error) == KILN_ERROR_WRONG_ANSWER);
    CHECK(strstr(kiln_error_message(error), "y[3]: got 42, want 41") != NULL);
    kiln_error_free(error);
    error = NULL;

    /* The test spoils one expected value in the capture. A run must report this element. */
    kiln_array want = read_file("fake-000/y.want.npy");
    ((float *)want.data)[2] = 32;
    CHECK_OK(kiln__npy_write(NULL, in(out, "fake-000/y.want.npy"), &want, &error), error);
    kiln__array_free(NULL, &want);
    open_captured("fake-000/fake.yaml", "one");
    CHECK(kiln_plan_run(plan, NULL, NULL, &error) == KILN_ERROR_WRONG_ANSWER);
    CHECK(strstr(kiln_error_message(error), "y[2]: got 31, want 32") != NULL);
    kiln_error_free(error);
    close_all();
    empty_out();
}

/* The sizes, params and variant of the run become the defaults. A run is captured in the same way as a launch. */
static void test_choice(void)
{
    kiln_error *error = NULL;
    kiln_setting block = {"BLOCK", {KILN_INT, {.i = 8}}}, n = {"N", {KILN_INT, {.i = 7}}};
    kiln_choice choice = {
        .variant = "other", .params = &block, .param_count = 1, .size_set = "big", .sizes = &n, .size_count = 1};
    open_text(HEAD TWO, NULL);
    kiln_plan_close(plan);
    CHECK_OK(fake_plan_of(engine, spec, &choice, &plan, &error), error);
    CHECK_OK(kiln_plan_capture(plan, out, &error), error);
    CHECK_OK(kiln_plan_run(plan, NULL, NULL, &error), error);
    CHECK_TEXT(kiln_plan_captured(plan), in(out, "fake-000"));
    CHECK_OK(kiln_plan_run(plan, NULL, NULL, &error), error);
    CHECK(count_out() == 1);
    open_captured("fake-000/fake.yaml", NULL);
    CHECK_TEXT(plan->variant->name, "other");
    CHECK(plan->config->params.items[0].value.as.i == 8 && plan->config->sizes.items[0].value.as.i == 7);
    CHECK(!is_there("fake-000/y.npy")); /* the run poisoned the output, so the output had no content */
    run_right();
    close_all();
    empty_out();
}

/* ---- buffers ---- */

#define SCALE "launch: {kernel: scale, grid: [1], block: [1], args: [y, N, 2.0]}\n"

static void test_in_place(void)
{
    kiln_error *error = NULL;
    float y[4] = {1, 2, 3, 4}; /* the memory of the fake device is memory of the host */
    open_text("kiln: 1\nname: fake\nsource: fake.cu\nsizes: {default: {N: 4}}\n"
              "buffers: {y: {type: f32, shape: [N], fill: 3, out: true}}\nvariants:\n  v:\n    " SCALE "  w:\n  "
              "  " SCALE,
              NULL);
    launch_captured(); /* a fill in the spec serves as well as a file */
    CHECK(!is_there("fake-000/y.npy") && first_of("fake-000/y.want.npy") == 6);
    launch_captured();
    CHECK(first_of("fake-001/y.npy") == 6 && first_of("fake-001/y.want.npy") == 12);
    open_captured("fake-000/fake.yaml", "w");
    run_right();
    open_captured("fake-001/fake.yaml", "w");
    run_right();
    close_all();
    empty_out();

    /* The spec gives the buffer no content, but the application does. */
    open_text("kiln: 1\nname: fake\nsource: fake.cu\nsizes: {default: {N: 4}}\n"
              "buffers: {y: {type: f32, shape: [N], out: true}}\n" SCALE,
              NULL);
    CHECK_OK(kiln_plan_bind(plan, "y", (CUdeviceptr)(uintptr_t)y, sizeof y, &error), error);
    launch_captured();
    CHECK(first_of("fake-000/y.npy") == 1 && first_of("fake-000/y.want.npy") == 2);
    open_captured("fake-000/fake.yaml", NULL);
    run_right();
    close_all();
    empty_out();
}

/* Tests an output of which the kernel writes only a part, and an output that already has the answer. */
static void test_outputs_without_content(void)
{
    kiln_error *error = NULL;
    open_text("kiln: 1\nname: fake\nsource: fake.cu\nsizes: {default: {N: 4}}\n"
              "buffers:\n  x: {type: f32, shape: [N], fill: {iota: [5, 1]}}\n  y: {type: f32, shape: [N + 2], "
              "out: true}\n"
              "launch: {kernel: add_one, grid: [N], block: [1], args: [x, y, N]}\n",
              NULL);
    CHECK_OK(kiln_plan_write(plan, "y", (float[6]){9, 9, 9, 9, 8, 7}, 24, &error), error);
    launch_captured();
    CHECK(first_of("fake-000/y.npy") == 9 && first_of("fake-000/y.want.npy") == 6);
    CHECK(!is_there("fake-000/x.npy"));
    open_captured("fake-000/fake.yaml", NULL);
    run_right();
    close_all();
    empty_out();
    open_text(HEAD TWO, NULL);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    launch_captured();
    CHECK(!is_there("fake-000/y.npy")); /* with this file a kernel that writes nothing would be right */
    open_captured("fake-000/fake.yaml", "other");
    run_right();
    close_all();
    empty_out();
}

static void test_swap(void)
{
    open_text("kiln: 1\nname: fake\nsource: fake.cu\nsizes: {default: {N: 4}}\n"
              "buffers:\n  a: {type: f32, shape: [N], fill: {uniform: [2, 3]}, out: true}\n  b: {type: f32, "
              "shape: [N]}\n"
              "  n: {type: i32, shape: [1], fill: 3}\n  m: {type: i32, shape: [1], fill: 0, out: true}\n"
              "variants:\n  v:\n    before_each: [{fill: {buffer: n, value: 3}}]\n    steps:\n"
              "    - repeat: {times: 3, index: i, steps: [{launch: {kernel: add_one, grid: [N], block: [1], "
              "args: [a, b, N]}}"
              ", {swap: [a, b]}]}\n"
              "    - while: {read: {left: \"n[0]\"}, cond: left > 0, at_most: 9, steps: [{launch: {kernel: count_down, "
              "grid: [left], block: [1], args: [n, m]}}]}\n",
              NULL);
    launch_captured();
    CHECK(first_of("fake-000/a.want.npy") == first_of("fake-000/a.npy") + 3);
    CHECK(!is_there("fake-000/b.npy")); /* scratch */
    launch_captured();                  /* `a` begins with its first content again; n is 0 now, and m is 3 */
    CHECK(is_there("fake-001/n.npy") && is_there("fake-001/m.npy"));
    open_captured("fake-000/fake.yaml", NULL);
    CHECK(spec->verify[1].exact && !spec->verify[0].exact); /* m has integers, which are compared exactly */
    run_right();
    close_all();
    empty_out();
}

/* Tests shapes that depend on params, and buffers that belong to a variant. */
static void test_shapes(void)
{
    kiln_error *error = NULL;
    open_text("kiln: 1\nname: fake\nsource: fake.cu\nsizes: {default: {N: 4}}\nparams: {PAD: [0, 2], T: [float, "
              "double]}\n"
              "let: {width: N + PAD}\nbuffers:\n  x: {type: f32, shape: [N], fill: {normal: [0, 1]}}\n"
              "  t: {type: T, shape: [2], fill: {uniform: [0, 1]}}\n"
              "  wide: {type: f32, shape: [width]}\n  y: {type: f32, shape: [N], out: true}\n"
              "variants:\n  v:\n    params: {BLOCK: [2, 4]}\n    let: {blocks: ceil_div(N, BLOCK)}\n"
              "    buffers:\n      own: {type: f32, shape: [blocks], fill: {uniform: [0, 1]}}\n"
              "      scratch: {type: f32, shape: [blocks]}\n"
              "    steps:\n    - launch: {kernel: add_one, grid: [blocks], block: [BLOCK], args: [x, y, N]}\n"
              "  w:\n    buffers: {table: {file: table.npy}}\n    steps:\n    - symbol: {name: table, from: table}\n"
              "    - launch: {kernel: add_one, grid: [N], block: [1], args: [x, y, N]}\n",
              NULL);
    launch_captured();
    CHECK(is_there("fake-000/x.npy") && !is_there("fake-000/own.npy") && !is_there("fake-000/scratch.npy"));
    CHECK(!is_there("fake-000/t.npy") && !is_there("fake-000/wide.npy") && is_there("fake-000/w.table.npy"));
    float scratch[4] = {0}, own[2] = {5, 6};
    CHECK_OK(kiln_plan_write(plan, "wide", scratch, sizeof scratch, &error), error);
    CHECK_OK(kiln_plan_write(plan, "own", own, sizeof own, &error), error);
    CHECK_OK(kiln_plan_write(plan, "scratch", own, sizeof own, &error), error);
    launch_captured();
    CHECK(is_there("fake-001/wide.npy") && is_there("fake-001/own.npy") && !is_there("fake-001/scratch.npy"));
    open_captured("fake-000/fake.yaml", "v");
    CHECK(param("v", "PAD")->count == 2 && param("v", "BLOCK")->count == 2 && param("v", "T")->count == 2);
    run_right();
    open_captured("fake-000/fake.yaml", "w");
    run_right();
    open_captured("fake-001/fake.yaml", "v"); /* the content that the application wrote fits one shape only */
    CHECK(param("v", "PAD")->count == 1 && param("v", "BLOCK")->count == 1 && param("v", "T")->count == 2);
    run_right();
    close_all();
    empty_out();
}

/* ---- inputs ---- */

#define INPUTS                                                                                                         \
    "kiln: 1\nname: fake\nsource: fake.cu\nsizes:\n  default: {N: 4}\n"                                                \
    "inputs:\n  A: {host: matrix, rows: N}\n"                                                                          \
    "buffers:\n  x: {from: A.csr.values}\n  y: {type: f32, shape: [A.rows], out: true}\n"                              \
    "variants:\n  v:\n    params: {BLOCK: [2, 4]}\n    let: {n: A.rows}\n"                                             \
    "    launch: {kernel: add_one, grid: [ceil_div(n, BLOCK)], block: [BLOCK], args: [x, y, A.rows]}\n"

static void test_inputs(void)
{
    kiln_error *error = NULL;
    open_text(INPUTS "  own:\n    inputs: {B: {host: matrix, rows: N}}\n"
                     "    launch: {kernel: add_one, grid: [4], block: [1], args: [x, y, B.rows]}\n"
                     "  step:\n    steps:\n    - host: {call: own_step}\n"
                     "    - launch: {kernel: add_one, grid: [4], block: [1], args: [x, y, N]}\n"
                     "  plain:\n    launch: {kernel: add_one, grid: [4], block: [1], args: [x, y, N]}\n",
              NULL);
    launch_captured();
    CHECK_OK(kiln_plan_write(plan, "x", (float[4]){7, 8, 9, 10}, 16, &error), error);
    launch_captured();
    open_captured("fake-000/fake.yaml", NULL);
    CHECK(first_of("fake-000/A.csr.values.npy") == 0);
    CHECK(kiln_spec_variant_count(spec) == 2 && kiln_spec_variant_find(spec, "plain") == 1);
    run_right();
    open_captured("fake-001/fake.yaml", "plain"); /* the content that the application wrote is the input now */
    CHECK(first_of("fake-001/A.csr.values.npy") == 7 && first_of("fake-001/y.want.npy") == 8);
    run_right();
    CHECK(kiln__export_find(plan->inputs[0].entry->values, "density")->value.as.f == 0.1);
    CHECK(kiln__export_find(plan->inputs[0].entry->values, "odd name")->is_array);
    close_all();
    empty_out();

    /* Only the application can make the input of the captured variant. The capture keeps the content of this input for
     * this BLOCK. */
    open_text("kiln: 1\nname: fake\nsource: fake.cu\nsizes: {default: {N: 4}}\n"
              "buffers:\n  x: {type: f32, shape: [N], fill: 1}\n  y: {type: f32, shape: [N], out: true}\n"
              "variants:\n  v:\n    params: {BLOCK: [2, 4], OTHER: [1, 2]}\n    let: {half: BLOCK * 2}\n"
              "    inputs: {B: {host: matrix, rows: half}}\n    buffers: {b: {from: B.csr.values}}\n"
              "    launch: {kernel: add_one, grid: [B.rows], block: [1], args: [b, y, N]}\n",
              NULL);
    launch_captured();
    open_captured("fake-000/fake.yaml", NULL);
    CHECK(param("v", "BLOCK")->count == 1 && param("v", "OTHER")->count == 2);
    run_right();
    close_all();
    empty_out();
}

/* ---- texts ---- */

static void test_tolerances(void)
{
    open_text(HEAD "verify:\n  y: {against: {variant: other}, rtol: 1e-3, atol: 1e-7 * N}\n" TWO, NULL);
    launch_captured();
    open_captured("fake-000/fake.yaml", NULL);
    CHECK(spec->verify_count == 1 && spec->verify[0].against == KILN__AGAINST_FILE && !spec->verify[0].exact);
    CHECK_TEXT(kiln__expr_text(spec->verify[0].rtol), "0.002");
    CHECK_TEXT(kiln__expr_text(spec->verify[0].atol), "2 * (1e-7 * N)");
    close_all();
    empty_out();
    open_text(HEAD "verify:\n  y: {against: {variant: other}, exact: true}\n" TWO, NULL);
    launch_captured();
    open_captured("fake-000/fake.yaml", NULL);
    CHECK(spec->verify[0].exact);
    close_all();
    empty_out();
    /* The tolerances of variants double too. A tolerance makes the comparison of integers inexact. */
    open_text("kiln: 1\nname: fake\nsource: fake.cu\nsizes: {default: {N: 4}}\n"
              "buffers:\n  x: {type: i32, shape: [N], fill: 1}\n  y: {type: i32, shape: [N], out: true}\n"
              "verify: {y: {against: {file: want.npy}}}\nparams: {BLOCK: [2, 4]}\nvariants:\n"
              "  one:\n    tolerance: {y: {rtol: 0.5, atol: BLOCK * 2}}\n    " LAUNCH("add_one"),
              NULL);
    launch_captured();
    open_captured("fake-000/fake.yaml", NULL);
    CHECK(!spec->verify[0].exact && spec->variants[0].tolerance_count == 1);
    CHECK_TEXT(kiln__expr_text(spec->variants[0].tolerances[0].rtol), "1.0");
    CHECK_TEXT(kiln__expr_text(spec->variants[0].tolerances[0].atol), "2 * (BLOCK * 2)");
    close_all();
    empty_out();
    open_text(HEAD TWO, NULL);
    launch_captured();
    open_captured("fake-000/fake.yaml", NULL);
    CHECK_TEXT(kiln__expr_text(spec->verify[0].rtol), "2e-05");
    CHECK_TEXT(kiln__expr_text(spec->verify[0].atol), "2e-06");
    close_all();
    empty_out();
}

/* Every part of the spec that the capture does not have to change stays the same. */
static void test_quoting(void)
{
    open_text("kiln: 1\nname: fake\ntitle: 'Sums, \"quoted\": \xc3\xa4 # no comment'\nabout: >\n  Two "
              "lines,\n\n  and a "
              "\\backslash: 'so'.\nsource: \"fake.cu\" # a comment\nsizes: &sizes\n  'default': {N: 4}\n"
              "buffers:\n  x: {type: f32, shape: [N], fill: {uniform: [-1, +1]}}\n  y: {type: f32, shape: [N], "
              "out: true}\n"
              "params:\n  WORD: [ca, \"cg\", 'true', \"4 5\"]\n  FLAG: [true, false]\n  REAL: [0.1, 1e-30, 2]\n"
              "  SHARED: &shared [1, 2, 4]\noptions: ['-DX={SHARED}', \"-DY=\\\"{WORD}\\\"\"]\n"
              "variants:\n  v:\n    params: {BLOCK: *shared, ALSO: *shared}\n"
              "    where:\n    - BLOCK in (1, 2) or ALSO != 4 # no\n    - \"!(BLOCK > 4)\"\n"
              "    define: {ODD: \"'a' if FLAG else 'b'\", \"EVEN\": 2}\n"
              "    launch: {kernel: add_one, grid: [max(N, 1), min(1, 2), 1], block: [1], args: [x, y, N]}\n",
              NULL);
    kiln_spec *before = NULL;
    kiln_error *error = NULL;
    kiln_engine *first = NULL;
    launch_captured();
    before = spec;
    spec = NULL;
    kiln_plan_close(plan);
    plan = NULL;
    first = engine;
    engine = NULL;
    open_engine(NULL, false);
    CHECK_OK(kiln_spec_load(engine, in(out, "fake-000/fake.yaml"), &spec, &error), error);
    if (!spec)
        abort();
    CHECK_TEXT(spec->title, before->title);
    CHECK_TEXT(spec->about, before->about);
    const kiln__variant *a = &before->variants[0], *b = &spec->variants[0];
    CHECK(a->param_count == b->param_count && a->where_count == b->where_count && a->option_count == b->option_count);
    for (size_t i = 0; i < a->param_count && i < b->param_count; i++) {
        CHECK(a->params[i].count == b->params[i].count);
        for (size_t k = 0; k < a->params[i].count && k < b->params[i].count; k++) {
            CHECK(a->params[i].values[k].kind == b->params[i].values[k].kind);
            CHECK(kiln__value_equal(a->params[i].values[k], b->params[i].values[k]));
        }
    }
    for (size_t i = 0; i < a->where_count && i < b->where_count; i++)
        CHECK_TEXT(kiln__expr_text(b->where[i]), kiln__expr_text(a->where[i]));
    for (size_t i = 0; i < a->option_count && i < b->option_count; i++)
        CHECK_TEXT(kiln__template_text(b->options[i]), kiln__template_text(a->options[i]));
    CHECK_TEXT(kiln__expr_text(b->defines[0].expr), kiln__expr_text(a->defines[0].expr));
    CHECK_TEXT(kiln__expr_text(b->steps[0].as.launch.grid[0]), "max(N, 1)");
    kiln_spec_free(before);
    kiln_engine_close(first);
    close_all();
    empty_out();
}

static void test_t1(void)
{
    kiln_error *error = NULL;
    open_text("{\"General\": {\"BenchmarkName\": \"odd / name\"}, \"ConfigurationSpace\": {\"TuningParameters\": ["
              "{\"Name\": \"block_size_x\", \"Type\": \"int\", \"Values\": \"[2**i for i in range(1, 4)]\", "
              "\"Default\": 4},"
              "{\"Name\": \"other\", \"Type\": \"string\", \"Values\": \"['a', 'b']\", \"Default\": \"b\"}],"
              "\"Conditions\": [{\"Expression\": \"block_size_x / 2 <= 4\", \"Parameters\": [\"block_size_x\"]}]},"
              "\"KernelSpecification\": {\"Language\": \"CUDA\", \"CompilerOptions\": [\"-DA=1\"], "
              "\"KernelName\": \"add_one\","
              "\"KernelFile\": \"fake.cu\", \"ProblemSize\": [6], \"LocalSize\": {\"X\": \"block_size_x\"},"
              "\"GridDivX\": [\"block_size_x\"], \"Arguments\": ["
              "{\"Name\": \"x\", \"Type\": \"float\", \"MemoryType\": \"Vector\", \"FillType\": \"Random\", "
              "\"FillValue\": 1,"
              " \"Size\": \"ProblemSize[0]\"},"
              "{\"Name\": \"y\", \"Type\": \"float\", \"MemoryType\": \"Vector\", \"FillType\": \"Constant\", "
              "\"FillValue\": 0,"
              " \"Size\": \"ProblemSize[0]\", \"Output\": 1},"
              "{\"Name\": \"n\", \"Type\": \"int32\", \"MemoryType\": \"Scalar\", \"FillValue\": "
              "\"ProblemSize[0]\"}]}}",
              NULL);
    kiln_setting size = {"ProblemSize[0]", {KILN_INT, {.i = 5}}};
    CHECK_OK(kiln_plan_resize(plan, &size, 1, &error), error);
    CHECK_OK(kiln_plan_write(plan, "x", (float[5]){1, 2, 3, 4, 5}, 20, &error), error);
    launch_captured();
    CHECK(first_of("odd___name-000/y.want.npy") == 2);
    open_captured("odd___name-000/odd___name.yaml", NULL);
    CHECK_TEXT(kiln_spec_name(spec), "odd / name");
    CHECK(spec->from_t1 && spec->size_sets[0].settings.items[0].value.as.i == 5 && spec->variants[0].where_count == 1);
    CHECK(param("default", "block_size_x")->count == 3 && param("default", "block_size_x")->initial == 1);
    CHECK(param("default", "other")->initial == 1);
    run_right();
    kiln_array want = read_file("odd___name-000/y.want.npy");
    ((float *)want.data)[4] = 0;
    CHECK_OK(kiln__npy_write(NULL, in(out, "odd___name-000/y.want.npy"), &want, &error), error);
    kiln__array_free(NULL, &want);
    open_captured("odd___name-000/odd___name.yaml", NULL);
    CHECK(kiln_plan_run(plan, NULL, NULL, NULL) == KILN_ERROR_WRONG_ANSWER);
    launch_captured(); /* the plan of a capture can be captured in turn */
    open_captured("odd___name-001/odd___name.yaml", NULL);
    run_right();
    close_all();
    empty_out();
}

/* ---- when, and when not ---- */

static void test_environment(void)
{
    kiln_error *error = NULL;
    setenv("KILN_CAPTURE", "fake:2", 1);
    setenv("KILN_CAPTURE_DIR", out, 1);
    open_text(HEAD TWO, NULL);
    for (int i = 0; i < 4; i++)
        CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(count_out() == 2 && is_there("fake-000/fake.yaml") && is_there("fake-001/fake.yaml"));
    close_all();
    setenv("KILN_CAPTURE", "another", 1);
    open_text(HEAD TWO, NULL);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(count_out() == 2);
    CHECK_OK(kiln_capture(engine, &(kiln_capture_options){.size = sizeof(kiln_capture_options)}, &error), error);
    CHECK_OK(kiln_capture(engine, NULL, &error), error); /* this call takes the request back */
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(count_out() == 2);
    CHECK(kiln_capture(engine, &(kiln_capture_options){.what = "x"}, NULL) == KILN_ERROR_ARGUMENT);
    close_all();
    setenv("KILN_CAPTURE", "*", 1);
    setenv("KILN_CAPTURE_LIMIT", "1K", 1);
    open_text(HEAD TWO, NULL);
    CHECK(engine->capture_limit == 1024 && !engine->capture_what);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK(count_out() == 3);
    close_all();
    setenv("KILN_CAPTURE", "a::b<int>:0", 1);
    open_engine(NULL, false);
    CHECK(atomic_load(&engine->capture_left) == 0);
    close_all();
    setenv("KILN_CAPTURE", "a::b", 1);
    open_engine(NULL, false);
    CHECK(atomic_load(&engine->capture_left) == 1);
    CHECK_TEXT(engine->capture_what, "a::b");
    close_all();
    unsetenv("KILN_CAPTURE");
    unsetenv("KILN_CAPTURE_DIR");
    unsetenv("KILN_CAPTURE_LIMIT");
    empty_out();
}

static CUresult CUDAAPI recording(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

/* Tests that a capture that fails gives a line in the log and leaves no files, and does not change the launch. */
static void test_failures(void)
{
    kiln_error *error = NULL;
    float y[4];
    static const struct {
        const char *folder;
        uint64_t limit;
        const char *log;
    } cases[] = {{NULL, 40, "more than the 40 bytes that a capture may have"},
                 {"fake.cu/below", 0, "is a regular file, not a folder"},
                 {NULL, 0, "the launch is captured into a CUDA graph"}};
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        char where[400];
        snprintf(where, sizeof where, "%s", cases[i].folder ? in(folder, cases[i].folder) : out);
        open_text(HEAD TWO, NULL);
        engine->driver.cuStreamIsCapturing_ = i == 2 ? recording : NULL;
        kiln_capture_options options = {.size = sizeof options, .folder = where, .limit = cases[i].limit};
        CHECK_OK(kiln_capture(engine, &options, &error), error);
        CHECK_OK(kiln_plan_write(plan, "x", (float[4]){1, 2, 3, 4}, 16, &error), error);
        CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
        CHECK_OK(kiln_plan_read(plan, "y", y, sizeof y, &error), error);
        CHECK(y[0] == 2 && y[3] == 5 && kiln_plan_captured(plan) == NULL && count_out() == 0);
        if (!strstr(logged, cases[i].log))
            fprintf(stderr, "got:  %s\nwant: %s\n", logged, cases[i].log);
        CHECK(strstr(logged, cases[i].log) != NULL);
        logged[0] = '\0';
        CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
        CHECK(logged[0] == '\0'); /* one launch was requested, and it was captured */
        close_all();
    }
    /* If the request comes from the plan, a failing capture makes the launch fail. */
    open_text(HEAD TWO, NULL);
    CHECK_OK(kiln_plan_capture(plan, in(folder, "fake.cu/below"), &error), error);
    CHECK(kiln_plan_launch(plan, NULL, &error) == KILN_ERROR_IO);
    CHECK(strstr(kiln_error_message(error), "the launch of fake cannot be captured") != NULL);
    kiln_error_free(error);
    error = NULL;
    /* A launch that fails is not captured, and returns its own error. */
    CHECK_OK(kiln_plan_capture(plan, out, &error), error);
    fake.fail_launch = CUDA_ERROR_INVALID_VALUE;
    CHECK(kiln_plan_launch(plan, NULL, &error) != KILN_OK);
    CHECK(strstr(kiln_error_message(error), "launching add_one") != NULL);
    kiln_error_free(error);
    fake.fail_launch = 0;
    CHECK(count_out() == 0);
    close_all();
    empty_out();
}

static void exhaust(const char *text, bool asked)
{
    for (long k = 0; k < 3000; k++) {
        check_oom oom = {.countdown = -1};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_error *error = NULL;
        open_engine(&mem, true);
        if (!engine || kiln_spec_parse(engine, text, strlen(text), in(folder, "fake.yaml"), &spec, &error) != KILN_OK ||
            fake_plan_of(engine, spec, NULL, &plan, &error) != KILN_OK ||
            kiln_plan_launch(plan, NULL, &error) != KILN_OK)
            abort();
        kiln_capture_options options = {.size = sizeof options, .folder = out};
        if ((asked ? kiln_plan_capture(plan, out, &error) : kiln_capture(engine, &options, &error)) != KILN_OK)
            abort();
        oom.countdown = k;
        kiln_status status = kiln_plan_launch(plan, NULL, &error);
        int failed = oom.failed;
        oom.countdown = -1;
        CHECK(asked && failed ? status != KILN_OK : status == KILN_OK);
        CHECK(count_out() == (kiln_plan_captured(plan) != NULL)); /* the capture is complete, or nothing of it exists */
        CHECK(failed || kiln_plan_captured(plan) != NULL);
        kiln_error_free(error);
        close_all();
        CHECK(oom.live == 0);
        empty_out();
        if (!failed)
            return;
    }
    CU_FAIL("never ran through");
}

static void test_memory(void)
{
    exhaust(INPUTS, true);
    exhaust(INPUTS, false); /* the launch succeeds although the capture fails */
    exhaust(HEAD "verify:\n  y: {against: {variant: other}, rtol: 1e-3, atol: 1e-7 * N}\n" TWO, true);
}

/* Two plans launch at the same time. Kiln captures exactly the requested number of launches. */
typedef struct worker {
    kiln_plan *plan;
    unsigned wrong;
} worker;

static void *work(void *user)
{
    worker *w = user;
    for (int i = 0; i < 8; i++)
        w->wrong += kiln_plan_launch(w->plan, NULL, NULL) != KILN_OK;
    return NULL;
}

static void test_threads(void)
{
    kiln_error *error = NULL;
    kiln_plan *second = NULL;
    pthread_t thread;
    open_text(HEAD TWO, NULL);
    CHECK_OK(fake_plan_of(engine, spec, &(kiln_choice){.variant = "other"}, &second, &error), error);
    kiln_capture_options options = {.size = sizeof options, .folder = out, .count = 5};
    CHECK_OK(kiln_capture(engine, &options, &error), error);
    worker workers[2] = {{.plan = plan}, {.plan = second}};
    pthread_create(&thread, NULL, work, &workers[1]);
    work(&workers[0]);
    pthread_join(thread, NULL);
    CHECK(workers[0].wrong == 0 && workers[1].wrong == 0);
    CHECK(count_out() == 5 && is_there("fake-000/fake.yaml") && is_there("fake-004/fake.yaml"));
    kiln_plan_close(second);
    close_all();
    empty_out();
}

/* ---- */

static void write_text(const char *name, const char *text)
{
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_write(NULL, in(folder, name), text, strlen(text), &error), error);
}

static void prepare(void)
{
    kiln_error *error = NULL;
    float values[3] = {1, 2, 3};
    kiln_array table = {.type = KILN_f32, .dims = 1, .shape = {3}, .data = values};
    CHECK(mkdtemp(folder) != NULL);
    snprintf(out, sizeof out, "%s/out", folder);
    mkdir(in(folder, "sub"), 0777);
    mkdir(in(folder, "more"), 0777);
    mkdir(in(folder, "heads"), 0777);
    mkdir(in(folder, "up"), 0777);
    write_text("fake.cu", "#include \"sub/one.h\"\n#include <cuda_fp16.h>\n");
    write_text("more/fake.cu", "// another\n");
    write_text("sub/one.h", "#include \"two.h\"\n");
    write_text("sub/two.h", "#define TWO 2\n");
    write_text("heads/head.h", "#define HEAD 1\n");
    write_text("up/fake.cu", "#include <head.h>\n#include \"../sub/two.h\"\n");
    CHECK_OK(kiln__npy_write(NULL, in(folder, "table.npy"), &table, &error), error);
}

static void clear(void) { nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

static const check_case cases[] = {
    {"prepare", prepare},
    {"plain", test_plain},
    {"the choice becomes the default", test_choice},
    {"headers elsewhere", test_headers},
    {"in place", test_in_place},
    {"outputs without content", test_outputs_without_content},
    {"swap, repeat, while", test_swap},
    {"shapes", test_shapes},
    {"inputs", test_inputs},
    {"tolerances", test_tolerances},
    {"quoting", test_quoting},
    {"T1", test_t1},
    {"environment", test_environment},
    {"failures", test_failures},
    {"memory", test_memory},
    {"threads", test_threads},
    {"clear", clear},
};
KILN_SUITE("capture", cases)
