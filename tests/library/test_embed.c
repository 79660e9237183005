/* test_embed.c - the library as a part of an application: the caller's context, device memory and stream, and one
 * engine and one spec in many threads. The test calls only public functions of Kiln, and plays the application with the
 * driver table. */
#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "driver.h"
#include "kiln_catalogue.h"

enum { M = 45, N = 33, K = 29 };

static const char spec_text[] =
    "kiln: 1\n"
    "name: product\n"
    "source: matmul.cu\n"
    "define: {MATMUL_ONE: 1, MATMUL_NAIVE: 1}\n" /* compile one of the ten kernels of the source */
    "sizes: {default: {M: 64, N: 64, K: 64}}\n"
    "buffers:\n"
    "  A: {type: f32, shape: [M, K], fill: {uniform: [-1, 1], seed: 1}}\n"
    "  B: {type: f32, shape: [K, N], fill: {uniform: [-1, 1], seed: 2}}\n"
    "  P: {type: f32, shape: [M, N], out: true}\n"
    "verify: {P: {against: {host: matmul_f64}, rtol: 1e-4, atol: 1e-4}}\n"
    "variants:\n"
    "  naive:\n"
    "    params: {BLOCK_X: [8, 16, 32], BLOCK_Y: [4, 8]}\n"
    "    launch:\n"
    "      kernel: matmul_naive\n"
    "      grid: ['ceil_div(N, BLOCK_X)', 'ceil_div(M, BLOCK_Y)']\n"
    "      block: [BLOCK_X, BLOCK_Y]\n"
    "      args: [A, B, P, M, N, K]\n";

static const kiln_setting sizes[] = {{"M", {KILN_INT, {M}}}, {"N", {KILN_INT, {N}}}, {"K", {KILN_INT, {K}}}};

static kiln_status open_both(const kiln_options *options, kiln_engine **engine, kiln_spec **spec, kiln_error **error)
{
    kiln_status status = kiln_engine_open(options, engine, error);
    if (status == KILN_OK)
        status = kiln_catalogue_register(*engine, error);
    if (status != KILN_OK)
        return status;
    return kiln_spec_parse(*engine, spec_text, sizeof spec_text - 1, KILN_SOURCE_DIR "/specs/product.yaml", spec,
                           error);
}

static void fill(float *values, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
}

static unsigned wrong(const float *a, const float *b, const float *p)
{
    unsigned count = 0;
    for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
            double want = 0;
            for (int k = 0; k < K; k++)
                want += (double)a[row * K + k] * b[k * N + column];
            double off = want - (double)p[row * N + column];
            count += !(off < 1e-4 && off > -1e-4);
        }
    return count;
}

/* Returns the device of these tests: the simulated device, or the GPU that $KILN_TEST_DEVICE names (cuda:0). */
static const char *device_name(void)
{
    const char *name = getenv("KILN_TEST_DEVICE");
    return name ? name : "sim";
}

static kiln_status open_driver(kiln__driver *driver, kiln_error **error)
{
    return strcmp(device_name(), "sim") == 0 ? kiln__driver_open_sim(NULL, driver, error)
                                             : kiln__driver_open_cuda(NULL, driver, error);
}

static void test_callers_own(void)
{
    kiln_error *error = NULL;
    kiln__driver driver;
    CHECK_OK(open_driver(&driver, &error), error);
    CUdevice device;
    CUcontext context, current = NULL;
    CUstream stream;
    CUdeviceptr a, b, p;
    static float host_a[M * K], host_b[K * N], host_p[M * N];
    fill(host_a, M * K, 1);
    fill(host_b, K * N, 2);
    CHECK(driver.cuInit_(0) == CUDA_SUCCESS);
    CHECK(driver.cuDeviceGet_(&device, 0) == CUDA_SUCCESS);
    CHECK(driver.cuDevicePrimaryCtxRetain_(&context, device) == CUDA_SUCCESS);
    CHECK(driver.cuCtxSetCurrent_(context) == CUDA_SUCCESS);
    CHECK(driver.cuStreamCreate_(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    CHECK(driver.cuMemAlloc_(&a, sizeof host_a) == CUDA_SUCCESS);
    CHECK(driver.cuMemAlloc_(&b, sizeof host_b) == CUDA_SUCCESS);
    CHECK(driver.cuMemAlloc_(&p, sizeof host_p) == CUDA_SUCCESS);
    CHECK(driver.cuMemcpyHtoD_(a, host_a, sizeof host_a) == CUDA_SUCCESS);
    CHECK(driver.cuMemcpyHtoD_(b, host_b, sizeof host_b) == CUDA_SUCCESS);
    CHECK(driver.cuMemsetD8_(p, 0xff, sizeof host_p) == CUDA_SUCCESS);

    kiln_options options = {
        .size = sizeof options, .device = device_name(), .context = context, .flags = KILN_NO_CACHE};
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_plan *plan = NULL;
    CHECK_OK(open_both(&options, &engine, &spec, &error), error);
    kiln_choice choice = {.sizes = sizes, .size_count = 3};
    CHECK_OK(kiln_plan_open(engine, spec, &choice, &plan, &error), error);
    if (!plan)
        return;
    /* The memory is one byte too small. */
    CHECK(kiln_plan_bind(plan, "A", a, sizeof host_a - 1, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    error = NULL;
    CHECK_OK(kiln_plan_bind(plan, "A", a, sizeof host_a, &error), error);
    CHECK_OK(kiln_plan_bind(plan, "B", b, sizeof host_b, &error), error);
    CHECK_OK(kiln_plan_bind(plan, "P", p, sizeof host_p, &error), error);
    CHECK_OK(kiln_plan_launch(plan, stream, &error), error);
    CHECK(driver.cuStreamSynchronize_(stream) == CUDA_SUCCESS);
    CHECK(driver.cuMemcpyDtoH_(host_p, p, sizeof host_p) == CUDA_SUCCESS);
    CHECK(wrong(host_a, host_b, host_p) == 0);
    kiln_plan_close(plan);
    kiln_spec_free(spec);
    kiln_engine_close(engine);

    /* the context still belongs to the application, and is alive */
    CHECK(driver.cuCtxGetCurrent_(&current) == CUDA_SUCCESS && current == context);
    CHECK(driver.cuMemFree_(a) == CUDA_SUCCESS); /* a plan never frees bound memory */
    CHECK(driver.cuMemFree_(b) == CUDA_SUCCESS);
    CHECK(driver.cuMemFree_(p) == CUDA_SUCCESS);
    CHECK(driver.cuStreamDestroy_(stream) == CUDA_SUCCESS);
    CHECK(driver.cuDevicePrimaryCtxRelease_(device) == CUDA_SUCCESS);
    kiln__driver_close(&driver);
}

typedef struct worker {
    kiln_engine *engine;
    kiln_spec *spec;
    int index;
    unsigned bad;
} worker;

/* One thread, with its own plan. Its configuration differs from the configurations of the other threads, and it runs
 * several times. */
static void *work(void *argument)
{
    worker *self = argument;
    static const int64_t across[] = {8, 16, 32}, down[] = {4, 8};
    kiln_setting params[] = {{"BLOCK_X", {KILN_INT, {across[self->index % 3]}}},
                             {"BLOCK_Y", {KILN_INT, {down[self->index % 2]}}}};
    kiln_choice choice = {.params = params, .param_count = 2, .sizes = sizes, .size_count = 3};
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    float *a = malloc(sizeof(float) * M * K), *b = malloc(sizeof(float) * K * N), *p = malloc(sizeof(float) * M * N);
    fill(a, M * K, (unsigned)self->index);
    fill(b, K * N, (unsigned)self->index + 100);
    if (kiln_plan_open(self->engine, self->spec, &choice, &plan, &error) ||
        kiln_plan_write(plan, "A", a, sizeof(float) * M * K, &error) ||
        kiln_plan_write(plan, "B", b, sizeof(float) * K * N, &error) || kiln_plan_launch(plan, NULL, &error) ||
        kiln_plan_read(plan, "P", p, sizeof(float) * M * N, &error)) {
        fprintf(stderr, "thread %d: %s\n", self->index, kiln_error_message(error));
        kiln_error_free(error);
        self->bad = 1;
    } else {
        self->bad = wrong(a, b, p);
    }
    kiln_plan_close(plan);
    free(a);
    free(b);
    free(p);
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 6 };
    kiln_error *error = NULL;
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_options options = {.size = sizeof options, .device = device_name(), .flags = KILN_NO_CACHE};
    CHECK_OK(open_both(&options, &engine, &spec, &error), error);
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){engine, spec, i, 0};
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(workers[i].bad == 0);
    }
    kiln_spec_free(spec);
    kiln_engine_close(engine);
}

typedef struct seen {
    unsigned samples, ticks, best;
} seen;

static int on_sample(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    seen *counts = user;
    if (sample)
        counts->samples++;
    else
        counts->ticks++;
    counts->best += progress->best != NULL;
    return 0;
}

static int stop_at_two(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    (void)user;
    (void)sample;
    return progress->done >= 2;
}

static void test_tune(void)
{
    kiln_error *error = NULL;
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_tuning *tuning = NULL;
    kiln_options options = {.size = sizeof options, .device = device_name(), .flags = KILN_NO_CACHE, .jobs = 2};
    CHECK_OK(open_both(&options, &engine, &spec, &error), error);
    seen counts = {0};
    kiln_tune_options tune = {
        .size = sizeof tune, .sizes = sizes, .size_count = 3, .callback = on_sample, .user = &counts};
    CHECK_OK(kiln_tune(engine, spec, &tune, &tuning, &error), error);
    CHECK(counts.samples == 6 && counts.best > 0);
    CHECK(kiln_tuning_count(tuning) == 6);
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++) {
        const kiln_sample *sample = kiln_tuning_sample(tuning, i);
        CHECK(sample->status == KILN_OK && sample->result->verified);
        /* A sample on the simulated device is not measured; a sample on a GPU is. */
        CHECK(sample->result->measured == (strcmp(device_name(), "sim") != 0));
    }
    kiln_tuning_free(tuning);
    tuning = NULL;
    tune.callback = stop_at_two;
    CHECK(kiln_tune(engine, spec, &tune, &tuning, &error) == KILN_ERROR_INTERRUPTED);
    kiln_error_free(error);
    CHECK(tuning && kiln_tuning_count(tuning) >= 2 && kiln_tuning_count(tuning) < 6);
    kiln_tuning_free(tuning);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
}

/* Fails the 1st, 2nd, ... allocation between opening an engine and a launched plan. Each run must end with a clean
 * error or with success, and leave nothing behind. The code comes from a cache that one good run filled. */
static kiln_status whole(const kiln_allocator *mem, const char *cache, kiln_error **error)
{
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_plan *plan = NULL;
    kiln_options options = {.size = sizeof options, .device = device_name(), .cache_dir = cache, .allocator = mem};
    kiln_choice choice = {.sizes = sizes, .size_count = 3};
    kiln_status status = open_both(&options, &engine, &spec, error);
    if (status == KILN_OK)
        status = kiln_plan_open(engine, spec, &choice, &plan, error);
    if (status == KILN_OK)
        status = kiln_plan_launch(plan, NULL, error);
    kiln_plan_close(plan);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return status;
}

static void test_oom(void)
{
    char cache[] = "/tmp/kiln-embed-XXXXXX", remove[64];
    CHECK(mkdtemp(cache) != NULL);
    kiln_engine *held = NULL; /* keeps NVRTC and the device open, so that each round is quick */
    kiln_error *error = NULL;
    const kiln_device_info *info = NULL;
    kiln_options options = {.size = sizeof options, .device = device_name(), .cache_dir = cache};
    CHECK_OK(kiln_engine_open(&options, &held, &error), error);
    CHECK_OK(kiln_engine_device(held, &info, &error), error);
    CHECK_OK(whole(NULL, cache, &error), error);
    long failed = 0;
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_status status = whole(&mem, cache, &error);
        if (status != KILN_OK)
            CHECK(oom.failed && status == KILN_ERROR_MEMORY && kiln_error_status(error) == KILN_ERROR_MEMORY);
        failed += status != KILN_OK;
        kiln_error_free(error);
        error = NULL;
        CHECK(oom.live == 0);
        if (!oom.failed || n > 100000)
            break;
    }
    CHECK(failed > 30); /* the loop reached the allocations */
    kiln_engine_close(held);
    snprintf(remove, sizeof remove, "rm -rf %s", cache);
    CHECK(system(remove) == 0);
}

static const check_case cases[] = {{"the caller's context, memory and stream", test_callers_own},
                                   {"one engine, many threads", test_threads},
                                   {"tune with a callback", test_tune},
                                   {"out of memory, from engine to launch", test_oom}};

int main(int count, char **arguments)
{
    kiln__driver driver;
    kiln_error *error = NULL;
    if (open_driver(&driver, &error) != KILN_OK) {
        printf("SKIP gpu: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        return 77;
    }
    kiln__driver_close(&driver);
    return check_main(count, arguments, "library", cases, sizeof cases / sizeof *cases);
}
