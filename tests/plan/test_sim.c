/* Tests plans on the simulated device with code from NVRTC: every kind of step, and two threads. Skipped with a message
 * if there is no NVRTC. */
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "kiln_sim.h"
#include "plan_internal.h"

static char folder[] = "/tmp/kiln-plan-XXXXXX";

static const char source[] =
    "__constant__ float table[4];\n"
    "extern \"C\" __global__ void add_one(const float *x, float *y, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] = x[i] + OFFSET;\n"
    "}\n"
    "extern \"C\" __global__ void add_dynamic(const float *x, float *y, int n)\n"
    "{\n"
    "    extern __shared__ float tile[];\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) tile[threadIdx.x] = x[i];\n"
    "    __syncthreads();\n"
    "    if (i < n) y[i] = tile[threadIdx.x] + 1;\n"
    "}\n"
    "extern \"C\" __global__ void use_table(const float *x, float *y, int n, float scale, unsigned char flag)\n"
    "{\n"
    "    int i = threadIdx.x;\n"
    "    if (i < n) y[i] = x[i] + table[i % 4] * scale + flag;\n"
    "}\n"
    "extern \"C\" __global__ void count_down(int *n, float *y) { if (threadIdx.x == 0) { n[0] -= 1; y[0] += 1; } }\n"
    "template <typename T, int N> __global__ void fill_with(T *y, int n)\n"
    "{\n"
    "    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = N;\n"
    "}\n"
    "extern \"C\" __global__ void outside(float *y, long n) { y[n] = 1; }\n"
    "extern \"C\" __global__ void spoil(float *x, float *y, int at) { y[0] = x[0]; x[at] = 9; }\n"
    "#ifdef SPAWN\n"
    "extern \"C\" __global__ void spawn(const float *x, float *y, int n)\n"
    "{\n"
    "    if (threadIdx.x == 0 && n > 8) {\n"
    "        spawn<<<1, 32>>>(x, y, n / 2);\n"
    "        spawn<<<1, 32>>>(x + n / 2, y + n / 2, n - n / 2);\n"
    "    } else if (n <= 8 && threadIdx.x < n) {\n"
    "        y[threadIdx.x] = x[threadIdx.x] + 1;\n"
    "    }\n"
    "}\n"
    "#endif\n";

#define HEAD                                                                                                           \
    "kiln: 1\nname: sim\nsource: sim.cu\nsizes:\n  tiny: {N: 40}\n"                                                    \
    "buffers:\n  x: {type: f32, shape: [N], fill: {iota: [1, 1]}}\n  y: {type: f32, shape: [N], out: true}\n"
#define PLAIN                                                                                                          \
    "  plain:\n    params: {BLOCK: [32, 64], OFFSET: [1, 2]}\n"                                                        \
    "    launch: {kernel: add_one, grid: [ceil_div(N, BLOCK)], block: [BLOCK], args: [x, y, N]}\n"

static kiln_engine *engine;
static bool missing; /* true if there is no NVRTC */

static kiln_spec *parse(const char *text)
{
    char name[100];
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    snprintf(name, sizeof name, "%s/sim.yaml", folder);
    CHECK_OK(kiln_spec_parse(engine, text, strlen(text), name, &spec, &error), error);
    return spec;
}

/* Runs the spec's variant. The status must be `want`, and the message must contain `message`. */
static void run(const char *text, const char *variant, kiln_status want, const char *message, float *y, size_t count)
{
    kiln_error *error = NULL;
    kiln_plan *plan = NULL;
    const kiln_result *result = NULL;
    kiln_spec *spec = missing ? NULL : parse(text);
    if (!spec)
        return;
    kiln_choice choice = {.variant = variant};
    kiln_status status = kiln_plan_open(engine, spec, &choice, &plan, &error);
    if (status == KILN_OK)
        status = kiln_plan_run(plan, NULL, &result, &error);
    if (status != want || !strstr(kiln_error_message(error), message))
        fprintf(stderr, "%s: %s\n", kiln_status_name(status), kiln_error_message(error));
    CU_ASSERT_EQUAL(status, want);
    CHECK(strstr(kiln_error_message(error), message) != NULL);
    kiln_error_free(error);
    error = NULL;
    if (y)
        CHECK_OK(kiln_plan_read(plan, "y", y, count * sizeof *y, &error), error);
    kiln_plan_close(plan);
    kiln_spec_free(spec);
}

static void test_plain(void)
{
    float y[40] = {0};
    run(HEAD "variants:\n" PLAIN, NULL, KILN_OK, "", y, 40);
    CHECK(missing || (y[0] == 2 && y[39] == 41));
}

/* The driver tells other parameters than the PTX: a parameter with more bytes, or one parameter more. */
static struct {
    size_t bytes, count;
} told;
static CUresult CUDAAPI tell_parameter(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    (void)function;
    *offset = 0;
    *size = told.bytes;
    return index < told.count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Launches like a driver that copies as many parameters as a kernel can have, with as many bytes. */
static kiln__driver simulated;
static CUresult CUDAAPI launch_all(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)
{
    enum { BYTES = 32764 };
    const unsigned char *last = params[2], *more = NULL;
    uint64_t sum = 0, different = 0;
    for (size_t i = sizeof(int); i < BYTES; i++)
        sum += last[i];
    for (size_t k = 3; k < BYTES; k++) {
        more = more ? more : params[k];
        different += params[k] != more;
    }
    CHECK(more != NULL && different == 0);
    for (size_t i = 0; more && i < BYTES; i++)
        sum += more[i];
    CHECK(sum == 0);
    return simulated.cuLaunchKernel_(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

/* The plan has memory for the parameters in the PTX. A kernel with other parameters would get memory of the host. */
static void test_parameters(void)
{
    static const char text[] = HEAD "variants:\n" PLAIN;
    float y[40] = {0};
    if (missing)
        return;
    const kiln__driver before = engine->driver;
    engine->driver.cuFuncGetParamInfo_ = tell_parameter;
    told.bytes = 4;
    told.count = 3;
    run(text, NULL, KILN_OK, "", y, 40);
    told.count = 4;
    run(text, NULL, KILN_ERROR_COMPILE, "takes other parameters than its PTX", NULL, 0);
    told.bytes = 16;
    told.count = 1;
    run(text, NULL, KILN_ERROR_COMPILE, "takes other parameters than its PTX", NULL, 0);
    /* a driver that does not tell the parameters gets zeros behind the arguments */
    simulated = engine->driver;
    engine->driver.cuFuncGetParamInfo_ = NULL;
    engine->driver.cuLaunchKernel_ = launch_all;
    run(text, NULL, KILN_OK, "", y, 40);
    engine->driver.cuLaunchKernel_ = simulated.cuLaunchKernel_;
    engine->driver.cuFuncGetParamInfo_ = before.cuFuncGetParamInfo_;
}

/* Launches of every kind on the simulated device: templates, symbols, dynamic shared memory and others. */
static void test_kinds(void)
{
    float y[40] = {0};
    run(HEAD "variants:\n  v:\n    params: {K: [5, 7]}\n    launch: {kernel: \"fill_with<float, {K}>\", grid: [1], "
             "block: [32], args: [y, N]}\n    define: {OFFSET: 1}\n",
        NULL, KILN_OK, "", y, 40);
    CHECK(missing || (y[0] == 5 && y[39] == 5));
    run(HEAD "variants:\n  v:\n    define: {OFFSET: 1}\n    steps:\n      - symbol: {name: table, from: x, count: 4}\n"
             "      - launch: {kernel: use_table, grid: [1], block: [64], args: [x, y, N, 2, true]}\n",
        NULL, KILN_OK, "", y, 40);
    CHECK(missing || (y[0] == 1 + 2 + 1 && y[5] == 6 + 4 + 1));
    run(HEAD
        "variants:\n  v:\n    define: {OFFSET: 1}\n    launch: {kernel: add_dynamic, grid: [1], block: [64], shared: "
        "60 * 1024, args: [x, y, N]}\n",
        NULL, KILN_OK, "", y, 40);
    CHECK(missing || (y[0] == 2 && y[39] == 41));
    run(HEAD
        "  n: {type: i32, shape: [1], fill: 6}\nvariants:\n  v:\n    define: {OFFSET: 1}\n    steps:\n"
        "      - fill: {buffer: y, value: 0}\n      - while: {read: {left: n}, cond: left > 0, at_most: 10, steps: "
        "[{launch: {kernel: count_down, grid: [1], block: [left], args: [n, y]}}]}\n",
        NULL, KILN_OK, "", y, 40);
    CHECK(missing || y[0] == 6);
    run(HEAD
        "variants:\n  v:\n    options: [-rdc=true]\n    define: {OFFSET: 1, SPAWN: 1}\n    launch: {kernel: spawn, "
        "grid: [1], block: [32], args: [x, y, N]}\n",
        NULL, KILN_OK, "", y, 40);
    CHECK(missing || (y[0] == 2 && y[20] == 22 && y[39] == 41));
}

static void test_relocatable(void)
{
    unsigned char object[64] = {0x7f, 'E', 'L', 'F', [16] = 1};
    CHECK(kiln__is_relocatable(object, sizeof object));
    CHECK(!kiln__is_relocatable(object, sizeof object - 1));
    object[16] = 2; /* ET_EXEC: the file is linked completely */
    CHECK(!kiln__is_relocatable(object, sizeof object));
    CHECK(!kiln__is_relocatable(NULL, 0));
}

static void test_verify_variant(void)
{
    static const char text[] = HEAD
        "verify:\n  y: {against: {variant: plain}, exact: true}\nvariants:\n" PLAIN
        "  good:\n    define: {OFFSET: 1}\n    launch: {kernel: add_dynamic, grid: [1], "
        "block: [64], shared: 256, args: [x, y, N]}\n"
        "  bad:\n    define: {OFFSET: 1.5}\n    launch: {kernel: add_one, grid: [2], block: "
        "[32], args: [x, y, N]}\n";
    run(text, "plain", KILN_OK, "", NULL, 0);
    run(text, "good", KILN_OK, "", NULL, 0);
    run(text, "bad", KILN_ERROR_WRONG_ANSWER, "y[0]: got 2.5, want 2 (off by 0.5); 40 of 40 wrong", NULL, 0);
}

static void test_faults(void)
{
    run(HEAD "variants:\n  v:\n    define: {OFFSET: 1}\n    launch: {kernel: add_one, grid: [1], block: [64], args: "
             "[N, y, N]}\n",
        NULL, KILN_ERROR_LAUNCH, "argument 1 of add_one: 'N' = 40, but the kernel needs a pointer", NULL, 0);
    run(HEAD
        "variants:\n  v:\n    define: {OFFSET: 1}\n    launch: {kernel: nowhere, grid: [1], block: [64], args: []}\n",
        NULL, KILN_ERROR_COMPILE, "nowhere", NULL, 0);
    run(HEAD "variants:\n" PLAIN, "plian", KILN_ERROR_NOT_FOUND, "did you mean 'plain'?", NULL, 0);
}

/* ---- findings know the buffers of the spec ---- */

typedef struct found {
    unsigned count;
    char buffer[16], role[32], message[256];
    int64_t offset;
    uint64_t bytes;
} found;

static int take_finding(void *user, const kiln_check_finding *f)
{
    found *first = user;
    if (first->count++ == 0) {
        snprintf(first->buffer, sizeof first->buffer, "%s", f->buffer);
        snprintf(first->role, sizeof first->role, "%s", f->role);
        snprintf(first->message, sizeof first->message, "%s", f->message);
        first->offset = f->offset;
        first->bytes = f->buffer_bytes;
    }
    return 0;
}

/* Makes one write to element `at` of `buffer`, in 160 bytes of memory of the plan or of the caller. */
static found write_to(const char *buffer, int at, bool bound)
{
    char text[1000];
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    CUdeviceptr memory = 0;
    found first = {0};
    snprintf(text, sizeof text,
             HEAD "  t: {type: f32, shape: [N]}\n  w: {type: f32, shape: [N], out: true, fill: 1}\nvariants:\n  v:\n"
                  "    define: {OFFSET: 1}\n"
                  "    launch: {kernel: outside, grid: [1], block: [1], args: [%s, %d]}\n",
             buffer, at);
    kiln_spec *spec = parse(text);
    CHECK_OK(kiln_plan_open(engine, spec, NULL, &plan, &error), error);
    CUcontext previous;
    CHECK_OK(kiln__engine_enter(engine, &previous, &error), error);
    if (bound) {
        CU_ASSERT_EQUAL(engine->driver.cuMemAlloc_(&memory, 160), CUDA_SUCCESS);
        CHECK_OK(kiln_plan_bind(plan, buffer, memory, 160, &error), error);
    }
    kiln_run_options options = {.size = sizeof options,
                                .flags = KILN_RUN_CHECK | KILN_RUN_NO_VERIFY | KILN_RUN_NO_MEASURE,
                                .check = take_finding,
                                .check_user = &first};
    kiln_plan_run(plan, &options, NULL, &error);
    kiln_error_free(error);
    kiln_plan_close(plan);
    kiln_spec_free(spec);
    if (bound) { /* a bound buffer belongs to the caller again, and has no name */
        CU_ASSERT_EQUAL(engine->driver.simulator->check_begin(), true);
        found other = {0};
        CU_ASSERT_NOT_EQUAL(engine->driver.cuMemFree_(memory + 4), CUDA_SUCCESS);
        engine->driver.simulator->check_end(take_finding, &other);
        CU_ASSERT_EQUAL(other.count, 1);
        CHECK(strstr(other.message, "an allocation (160 bytes") != NULL);
        CU_ASSERT_EQUAL(engine->driver.cuMemFree_(memory), CUDA_SUCCESS);
    }
    kiln__engine_leave(engine, previous);
    return first;
}

static void test_names(void)
{
    static const struct {
        const char *buffer;
        int at;
        bool bound;
        const char *role, *text;
    } writes[] = {
        {"x", 41, false, "an input", "4 bytes past the end of 'x', an input of 160 bytes"},
        {"y", 40, false, "an output", "0 bytes past the end of 'y', an output of 160 bytes"},
        {"y", -1, true, "an output", "4 bytes before 'y', an output of 160 bytes"},
        {"t", -2, false, "scratch memory", "8 bytes before 't', scratch memory of 160 bytes"},
        {"w", 50, false, "an input and output", "40 bytes past the end of 'w', an input and output of 160 bytes"},
    };
    for (size_t i = 0; i < sizeof writes / sizeof *writes && !missing; i++) {
        found f = write_to(writes[i].buffer, writes[i].at, writes[i].bound);
        CU_ASSERT_EQUAL(f.count, 1);
        CU_ASSERT_STRING_EQUAL(f.buffer, writes[i].buffer);
        CU_ASSERT_STRING_EQUAL(f.role, writes[i].role);
        CU_ASSERT_EQUAL(f.offset, 4 * writes[i].at);
        CU_ASSERT_EQUAL(f.bytes, 160);
        if (!strstr(f.message, writes[i].text))
            fprintf(stderr, "%s\n", f.message);
        CHECK(strstr(f.message, writes[i].text) != NULL);
    }
}

/* ---- inputs that a kernel changes ---- */

#define INPUT "x: {type: f32, shape: [N], fill: {iota: [1, 1]}}"
#define LAUNCH "launch: {kernel: spoil, grid: [1], block: [1], args: [x, y, N - 1]}"

static void spoil(const char *input, const char *steps, int elements, kiln_status want, const char *message)
{
    char text[1000];
    snprintf(text, sizeof text,
             "kiln: 1\nname: sim\nsource: sim.cu\nsizes:\n  tiny: {N: %d}\nbuffers:\n  %s\n"
             "  y: {type: f32, shape: [N], out: true, fill: 0}\nvariants:\n  v:\n    define: {OFFSET: 1}\n    %s\n",
             elements, input, steps);
    run(text, NULL, want, message, NULL, 0);
}

static void test_inputs(void)
{
    spoil(INPUT, LAUNCH, 40, KILN_ERROR_WRONG_ANSWER,
          "x is an input, and the kernel changed it: x[39] was 40 and is 9; 1 of 40 elements changed. If the kernel "
          "may change it, write `out: true` in the buffer");
    spoil(INPUT, LAUNCH, 9, KILN_OK, ""); /* writes the value that the input already has */
    spoil("x: {type: f32, shape: [N], fill: {iota: [1, 1]}, out: true}", LAUNCH, 40, KILN_OK, "");
    /* a work area that begins with ones may be written */
    spoil("x: {type: f32, shape: [N], fill: 1}", LAUNCH, 40, KILN_OK, "");
    spoil("x: {type: f32, shape: [N]}", LAUNCH, 40, KILN_OK, "");
    /* steps that write the buffer themselves */
    spoil(INPUT, "before_each: [{fill: {buffer: x, value: 3}}]\n    " LAUNCH, 40, KILN_OK, "");
    spoil(INPUT, "before_each: [{copy: {from: y, to: x}}]\n    " LAUNCH, 40, KILN_OK, "");
    spoil(INPUT, "steps: [{" LAUNCH "}, {repeat: {times: 1, steps: [{swap: [y, x]}]}}]", 40, KILN_OK, "");
    /* The buffer is filled in pieces; the last element is in the last piece. */
    spoil(INPUT, LAUNCH, 17 << 20, KILN_ERROR_WRONG_ANSWER, "in the pieces that were compared");
}

/* This case loses the device, so it comes last. */
static void test_out_of_bounds(void)
{
    run(HEAD "variants:\n  v:\n    define: {OFFSET: 1}\n    launch: {kernel: outside, grid: [1], block: [1], args: "
             "[y, 1 << 30]}\n",
        NULL, KILN_ERROR_DEVICE, "outside", NULL, 0);
}

typedef struct worker {
    const kiln_spec *spec;
    const char *variant;
    kiln_status status;
} worker;

static void *work(void *user)
{
    worker *w = user;
    for (int i = 0; i < 3 && w->status == KILN_OK; i++) {
        kiln_setting size = {"N", {KILN_INT, {.i = 20 + i}}}, offset = {"OFFSET", {KILN_INT, {.i = 1 + i % 2}}};
        kiln_choice choice = {
            .variant = w->variant, .sizes = &size, .size_count = 1, .params = &offset, .param_count = 1};
        kiln_plan *plan;
        w->status = kiln_plan_open(engine, w->spec, &choice, &plan, NULL);
        if (w->status != KILN_OK)
            break;
        w->status = kiln_plan_run(plan, NULL, NULL, NULL);
        kiln_plan_close(plan);
    }
    return NULL;
}

static void test_threads(void)
{
    kiln_spec *spec = missing ? NULL : parse(HEAD "variants:\n" PLAIN);
    if (!spec)
        return;
    worker workers[2] = {{.spec = spec, .variant = "plain"}, {.spec = spec, .variant = "plain"}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(workers[i].status, KILN_OK);
    }
    kiln_spec_free(spec);
}

/* The size is a macro of the source, so a plan with another size needs another compile. */
static void test_resize_baked(void)
{
    kiln_spec *spec = missing ? NULL
                              : parse(HEAD "variants:\n  v:\n    define: {OFFSET: N}\n    launch: {kernel: add_one, "
                                           "grid: [2], block: [32], args: [x, y, N]}\n");
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    float y[48];
    if (!spec)
        return;
    CHECK_OK(kiln_plan_open(engine, spec, NULL, &plan, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_read(plan, "y", y, 160, &error), error);
    CHECK(y[0] == 41 && y[39] == 80);
    kiln_setting size = {"N", {KILN_INT, {.i = 48}}};
    CHECK_OK(kiln_plan_resize(plan, &size, 1, &error), error);
    CHECK_OK(kiln_plan_launch(plan, NULL, &error), error);
    CHECK_OK(kiln_plan_read(plan, "y", y, 192, &error), error);
    CHECK(y[0] == 49 && y[47] == 96);
    kiln_plan_close(plan);
    kiln_spec_free(spec);
}

static void prepare(void)
{
    char path[100];
    kiln_error *error = NULL;
    kiln_options options = {.size = sizeof options, .device = "sim", .flags = KILN_NO_CACHE | KILN_NO_WORKERS};
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/sim.cu", folder);
    CHECK_OK(kiln__file_write(NULL, path, source, sizeof source - 1, &error), error);
    CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
    missing = kiln__engine_nvrtc(engine, &error) != KILN_OK;
    if (missing)
        fprintf(stderr, "SKIP nvrtc: %s\n", kiln_error_message(error));
    kiln_error_free(error);
}

static void clear(void)
{
    char path[100];
    snprintf(path, sizeof path, "%s/sim.cu", folder);
    unlink(path);
    rmdir(folder);
    kiln_engine_close(engine);
}

static const check_case cases[] = {
    {"prepare", prepare},
    {"plain", test_plain},
    {"parameters of the driver", test_parameters},
    {"kinds of steps", test_kinds},
    {"relocatable code", test_relocatable},
    {"verify by a variant", test_verify_variant},
    {"faults", test_faults},
    {"threads", test_threads},
    {"resize of a baked size", test_resize_baked},
    {"names of buffers in findings", test_names},
    {"inputs that a kernel changes", test_inputs},
    {"out of bounds", test_out_of_bounds},
    {"clear", clear},
};

int main(int count, char **arguments)
{
    int status = check_main(count, arguments, "sim", cases, sizeof cases / sizeof *cases);
    return status == 0 && missing ? 77 : status; /* CTest shows this exit code as skipped */
}
