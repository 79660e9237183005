/* bench.c - the cost of the engine itself: loading a spec, making a launchable kernel after a disk-cache hit, and a
 * launch.
 *
 *   kiln-bench [DEVICE]        DEVICE is "sim" or "cuda:0"; the figures of launches are useful on a GPU only
 *   kiln-bench proposals SPEC  the time that the default strategy takes for a proposal in the space of a spec or T1 file
 *
 * Each figure is the median of many runs. The peer of a figure is measured in the same run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"
#include "kiln_catalogue.h"
#include "source_internal.h"

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static int fail(kiln_error *error)
{
    fprintf(stderr, "kiln-bench: %s\n", kiln_error_message(error));
    kiln_error_free(error);
    return 1;
}

enum { ROUNDS = 201, BATCH = 1000 };
static double samples[ROUNDS];

static int bench_load(kiln_engine *engine)
{
    kiln_error *error = NULL;
    for (int i = 0; i < ROUNDS; i++) {
        kiln_spec *spec = NULL;
        uint64_t start = kiln__now_ns();
        if (kiln_spec_load(engine, "matmul", &spec, &error))
            return fail(error);
        samples[i] = (double)(kiln__now_ns() - start) * 1e-3;
        kiln_spec_free(spec);
    }
    printf("load and check specs/matmul.yaml        %8.1f us\n", median(samples, ROUNDS));
    return 0;
}

static int bench_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice)
{
    kiln_error *error = NULL;
    kiln_plan *plan = NULL;
    int hits = 0;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t start = kiln__now_ns();
        if (kiln_plan_open(engine, spec, choice, &plan, &error))
            return fail(error);
        samples[i] = (double)(kiln__now_ns() - start) * 1e-3;
        const kiln_kernel_info *info = kiln_plan_kernel(plan, 0);
        hits += info->from_cache;
        kiln_plan_close(plan);
    }
    printf("disk-cache hit to launchable kernel     %8.1f us   (%s; %d of %d from the cache)\n",
           median(samples, ROUNDS), choice->variant, hits, ROUNDS);
    return 0;
}

static int bench_launch(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice)
{
    kiln_error *error = NULL;
    kiln_plan *plan = NULL;
    CUdeviceptr a = 0, b = 0, p = 0;
    if (kiln_plan_open(engine, spec, choice, &plan, &error) || kiln_plan_buffer(plan, "A", &a, &error) ||
        kiln_plan_buffer(plan, "B", &b, &error) || kiln_plan_buffer(plan, "P", &p, &error) ||
        kiln_plan_launch(plan, NULL, &error))
        return fail(error);
    const kiln_kernel_info *info = kiln_plan_kernel(plan, 0);
    int m = 1, n = 1, k = 1;
    void *arguments[] = {&a, &b, &p, &m, &n, &k};
    const kiln__driver *driver = &engine->driver;
    int batch = driver->simulator ? 10 : BATCH;
    double bare[ROUNDS];
    CUcontext previous = NULL;
    if (kiln__engine_enter(engine, &previous, &error)) /* makes the context current, as in an application */
        return fail(error);
    for (int i = 0; i < ROUNDS; i++) {
        driver->cuCtxSynchronize_();
        uint64_t start = kiln__now_ns();
        for (int j = 0; j < batch; j++)
            driver->cuLaunchKernel_(info->function, info->grid[0], info->grid[1], info->grid[2], info->block[0],
                                    info->block[1], info->block[2], info->dynamic_shared, NULL, arguments, NULL);
        bare[i] = (double)(kiln__now_ns() - start) * 1e-3 / batch;
        driver->cuCtxSynchronize_();
        start = kiln__now_ns();
        for (int j = 0; j < batch; j++)
            if (kiln_plan_launch(plan, NULL, &error))
                return fail(error);
        samples[i] = (double)(kiln__now_ns() - start) * 1e-3 / batch;
    }
    driver->cuCtxSynchronize_();
    kiln__engine_leave(engine, previous);
    double one = median(bare, ROUNDS), ours = median(samples, ROUNDS);
    printf("a launch, bare cuLaunchKernel           %8.3f us\n", one);
    printf("a launch, kiln_plan_launch              %8.3f us   (%.2f x)\n", ours, ours / one);
    kiln_plan_close(plan);
    return 0;
}

/* Returns an invented time. It is smooth, so that a strategy can learn from it: the share of each param depends on the
 * number of bits of its value. */
static double made_up(const kiln_choice *choice)
{
    double value = 1 + (double)strlen(choice->variant) / 16;
    for (size_t i = 0; i < choice->param_count; i++) {
        const kiln_value *v = &choice->params[i].value;
        double x = v->kind == KILN_INT ? (double)v->as.i : v->kind == KILN_FLOAT ? v->as.f : 1;
        double off = log2(fabs(x) + 1) - (double)(2 + i % 5);
        value += off * off / 16;
    }
    return value;
}

/* Measures how long it takes to make the configuration of a proposal, as a sweep does and as a caller's choice does. */
static kiln_status bench_config(kiln_engine *engine, const kiln_spec *spec, const kiln__tune_source *source,
                                const kiln_choice *choice, double *sweep, double *caller, kiln_error **error)
{
    kiln__config *config = NULL;
    uint64_t start = kiln__now_ns();
    kiln_status status = kiln__tune_source_config(source, choice->variant, choice->params, &config, error);
    kiln__config_free(config);
    *sweep = (double)(kiln__now_ns() - start) * 1e-3;
    config = NULL;
    start = kiln__now_ns();
    if (status == KILN_OK)
        status = kiln__config_make(engine, spec, choice, &config, error);
    kiln__config_free(config);
    *caller = (double)(kiln__now_ns() - start) * 1e-3;
    return status;
}

/* Returns the processor time of this thread. Other load on the machine does not change it. */
static uint64_t core_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int bench_proposals(kiln_engine *engine, const char *path)
{
    enum { COUNT = 400, EARLY = 128 }; /* EARLY: the first proposals, by a Gaussian process */
    static double times[COUNT], made_again[COUNT], by_name[COUNT];
    kiln_error *error = NULL;
    kiln_spec *spec = NULL;
    kiln__tune_source *source = NULL;
    kiln_tune_options options = {.size = sizeof options, .strategy = "surrogate", .seed = 1};
    if (kiln_spec_load(engine, path, &spec, &error))
        return fail(error);
    uint64_t begin = kiln__now_ns(), first = 0;
    if (kiln__tune_source_open(engine, spec, &options, NULL, &source, &error))
        return fail(error);
    size_t made = 0;
    for (; made < COUNT; made++) {
        kiln_choice choice = {0};
        size_t ticket = 0;
        uint64_t start = core_ns();
        if (kiln__tune_source_next(source, &choice, &ticket, &error))
            return fail(error);
        if (!choice.variant)
            break;
        uint64_t asked = core_ns() - start;
        first = made == 0 ? kiln__now_ns() - begin : first;
        if (bench_config(engine, spec, source, &choice, &made_again[made], &by_name[made], &error))
            return fail(error);
        start = core_ns();
        if (kiln__tune_source_tell(source, ticket, made_up(&choice), 0, &error))
            return fail(error);
        times[made] = (double)(asked + core_ns() - start) * 1e-3;
    }
    printf("opening the space, to the first proposal: %.1f ms\n", (double)first * 1e-6);
    size_t early = made < EARLY ? made : EARLY;
    printf("a proposal of %s, the first %zu: %.0f us", path, early, median(times, early));
    if (made > early)
        printf("; the next %zu: %.0f us", made - early, median(times + early, made - early));
    printf("\n");
    printf("its configuration: %.1f us; from names and values: %.1f us\n", median(made_again, made),
           median(by_name, made));
    kiln__tune_source_free(source);
    kiln_spec_free(spec);
    return 0;
}

int main(int count, char **arguments)
{
    const char *proposals = count == 3 && strcmp(arguments[1], "proposals") == 0 ? arguments[2] : NULL;
    kiln_options options = {.size = sizeof options, .device = proposals ? "sim" : count > 1 ? arguments[1] : NULL};
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    const kiln_device_info *info = NULL;
    if (kiln_engine_open(&options, &engine, &error) || kiln_catalogue_register(engine, &error))
        return fail(error);
    if (proposals) {
        int status = bench_proposals(engine, proposals);
        kiln_engine_close(engine);
        return status;
    }
    if (kiln_engine_device(engine, &info, &error) || kiln_spec_load(engine, "matmul", &spec, &error))
        return fail(error);
    printf("%s\n", info->name);
    kiln_choice tiny = {.variant = "tiled", .size_set = "one"}, large = {.variant = "coarsened", .size_set = "one"};
    int failed = bench_load(engine) || bench_open(engine, spec, &tiny) || bench_open(engine, spec, &large) ||
                 bench_launch(engine, spec, &tiny);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return failed;
}
