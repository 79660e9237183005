/* sim_speed.c - the speed of the simulated device beside plain C on one core. It runs the kernels of sim_speed.cu
 * interpreted and compiled (engine/sim/device/jit), and the same work as scalar loops. It prints a row for each: processor
 * seconds, and lanes of instructions per second.
 *
 * If the user gives a number of threads, the program measures wall time with more blocks. It prints how much sooner a
 * launch ends on that many threads than on one. The peer is that many devices with one thread each, which run at the
 * same time and share nothing.
 *
 * Usage: sim_speed sim_speed.ptx [THREADS] */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jit.h"
#include "vm.h"

#ifdef __clang__ /* has no attribute for that: its figures are not comparable */
#define SCALAR __attribute__((noinline))
#else
#define SCALAR __attribute__((noinline, optimize("O2,no-tree-vectorize")))
#endif
enum { SIDE = 256, BODIES = 4096, WORDS = 1 << 23, BLOCKS = 16, BINS = 256 };

SCALAR static void gemm(const float *a, const float *b, float *c)
{
    memset(c, 0, sizeof *c * SIDE * SIDE);
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            for (int j = 0; j < SIDE; j++)
                c[i * SIDE + j] += a[i * SIDE + k] * b[k * SIDE + j];
}

SCALAR static void bodies(const float *p, float *f)
{
    for (int i = 0; i < BODIES; i++) {
        float x = 0, y = 0, z = 0;
        for (int j = 0; j < BODIES; j++) {
            const float dx = p[4 * j] - p[4 * i], dy = p[4 * j + 1] - p[4 * i + 1], dz = p[4 * j + 2] - p[4 * i + 2];
            const float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 1e-4f), s = p[4 * j + 3] * r * r * r;
            x += dx * s, y += dy * s, z += dz * s;
        }
        f[4 * i] = x, f[4 * i + 1] = y, f[4 * i + 2] = z;
    }
}

SCALAR static void sum(const float *x, float *total)
{
    float s = 0;
    for (int k = 0; k < WORDS; k++)
        s += x[k];
    *total = s;
}

SCALAR static void add_all(const float *x, float *y)
{
    for (int k = 0; k < WORDS; k++)
        y[k] += x[k];
}

SCALAR static void histogram(const uint32_t *x, uint32_t *counts)
{
    for (int k = 0; k < WORDS; k++) {
        counts[x[k] & 255]++;
        counts[x[k] >> 8 & 255]++;
        counts[x[k] >> 16 & 255]++;
        counts[x[k] >> 24]++;
    }
}

/* CLOCK_THREAD_CPUTIME_ID for work of this thread: the machine may do other things. */
static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

typedef struct work {
    const char *kernel;
    uint32_t grid[2], block[2], n;
} work;
static const work works[] = {{"gemm", {SIDE / 16, SIDE / 16}, {16, 16}, SIDE},
                             {"bodies", {BODIES / 128, 1}, {128, 1}, BODIES},
                             {"sum", {BLOCKS, 1}, {256, 1}, WORDS},
                             {"histogram", {BLOCKS, 1}, {256, 1}, WORDS},
                             {"add", {WORDS / 256, 1}, {256, 1}, WORDS}};
/* The same for many threads: blocks enough that the last ones do not count. */
enum { WIDE = 1024, MANY = 16384, LONG = 1 << 26, WAVES = 2048 };
static const work large[] = {{"gemm", {WIDE / 16, WIDE / 16}, {16, 16}, WIDE},
                             {"bodies", {MANY / 128, 1}, {128, 1}, MANY},
                             {"sum", {WAVES, 1}, {256, 1}, LONG},
                             {"histogram", {WAVES, 1}, {256, 1}, LONG},
                             {"add", {WORDS / 256, 1}, {256, 1}, WORDS}};

static double scalar(size_t k, const void *a, const void *b, void *c)
{
    double best = 1e9;
    for (unsigned n = 0; n < 3; n++) {
        const uint64_t start = now(CLOCK_THREAD_CPUTIME_ID);
        if (k == 0)
            gemm(a, b, c);
        else if (k == 1)
            bodies(a, c);
        else if (k == 2)
            sum(a, c);
        else if (k == 3)
            histogram(a, c);
        else
            add_all(a, c);
        best = fmin(best, (double)(now(CLOCK_THREAD_CPUTIME_ID) - start) * 1e-9);
    }
    return best;
}

typedef struct machine {
    vm_device *device;
    vm_module *module;
    uint64_t a, b, c;
} machine;

static bool machine_open(machine *m, const char *text, size_t length, uint32_t threshold, unsigned threads,
                         uint32_t words)
{
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    const vm_limits limits = {
        .memory = 1u << 30, .shared_per_block = 48 << 10, .threads = threads, .sm_count = 132, .cc = 90};
    m->device = vm_device_new(NULL, &limits);
    if (!m->device || !sim_jit_open(m->device, threshold) || ptx_parse(NULL, text, length, &ptx, &log) != PTX_OK ||
        vm_module_load(m->device, ptx, &m->module, &log) != PTX_OK) {
        fprintf(stderr, "%s", kiln__text_get(&log));
        return false;
    }
    m->a = vm_alloc(m->device, words * 4ull), m->b = vm_alloc(m->device, WORDS * 4),
    m->c = vm_alloc(m->device, WORDS * 4);
    if (!m->a || !m->b || !m->c)
        return false;
    uint32_t x = 1;
    float *numbers = vm_pointer(m->device, m->a, words * 4ull), *more = vm_pointer(m->device, m->b, WORDS * 4);
    for (uint32_t k = 0; k < words; k++) {
        x = x * 1664525 + 1013904223;
        numbers[k] = (float)(x >> 8) * 0x1p-24f;
        if (k < WORDS)
            more[k] = numbers[k];
    }
    return true;
}

static void machine_close(machine *m)
{
    vm_module_unload(m->device, m->module);
    vm_device_free(m->device);
}

/* The least seconds of some launches. */
static double kernel(const machine *m, const work *w, clockid_t clock, double *lanes)
{
    const struct {
        uint64_t a, b, c;
        uint32_t n;
    } three = {m->a, m->b, m->c, w->n};
    const struct {
        uint64_t a, c;
        uint32_t n;
    } two = {m->a, m->c, w->n};
    double best = 1e9;
    for (unsigned n = 0; n < 4; n++) {
        const vm_launch launch = {.module = m->module,
                                  .kernel = vm_module_kernel(m->module, w->kernel),
                                  .grid = {w->grid[0], w->grid[1], 1},
                                  .block = {w->block[0], w->block[1], 1},
                                  .params = strcmp(w->kernel, "gemm") == 0 ? (const void *)&three : &two};
        vm_counters counters;
        vm_fault fault;
        memset(vm_pointer(m->device, m->c, 4096), 0, 4096);
        const uint64_t start = now(clock);
        if (vm_run(m->device, &launch, &counters, &fault) != VM_OK) {
            fprintf(stderr, "%s\n", fault.message);
            exit(1);
        }
        best = fmin(best, (double)(now(clock) - start) * 1e-9);
        *lanes = (double)counters.lane_instructions;
    }
    return best;
}

typedef struct copy {
    pthread_t thread;
    machine device;
    const work *work;
    pthread_barrier_t *start;
    double seconds;
} copy;

static void *run_copy(void *argument)
{
    copy *c = argument;
    double lanes;
    kernel(&c->device, c->work, CLOCK_MONOTONIC, &lanes); /* as in scale() */
    pthread_barrier_wait(c->start);
    c->seconds = kernel(&c->device, c->work, CLOCK_MONOTONIC, &lanes);
    return NULL;
}

/* Runs `threads` devices of one thread each at the same time. Returns the mean of their seconds. */
static double apart(copy *copies, unsigned threads, const work *w)
{
    double sum = 0;
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, threads);
    for (unsigned k = 0; k < threads; k++) {
        copies[k].work = w, copies[k].start = &start;
        if (pthread_create(&copies[k].thread, NULL, run_copy, &copies[k]) != 0)
            abort();
    }
    for (unsigned k = 0; k < threads; k++) {
        pthread_join(copies[k].thread, NULL);
        sum += copies[k].seconds;
    }
    pthread_barrier_destroy(&start);
    return sum / threads;
}

static int scale(const char *text, size_t length, unsigned threads)
{
    machine all;
    copy *copies = calloc(threads, sizeof *copies);
    bool ok = copies != NULL;
    printf("%-10s %12s %10s %10s %10s %18s %10s\n", "kernel", "code", "1 thread, s", "all, s", "x", "devices apart, x",
           "of these");
    for (unsigned compiled = 2; ok && compiled-- > 0;) {
        ok = machine_open(&all, text, length, compiled ? 256 : 0, threads, LONG);
        for (unsigned k = 0; ok && k < threads; k++)
            ok = machine_open(&copies[k].device, text, length, compiled ? 256 : 0, 1, LONG);
        for (size_t k = 0; ok && k < KILN__COUNT(large); k++) {
            double lanes;
            kernel(&copies[0].device, &large[k], CLOCK_MONOTONIC, &lanes); /* code is compiled; the pages are there */
            kernel(&all, &large[k], CLOCK_MONOTONIC, &lanes);
            const double one = kernel(&copies[0].device, &large[k], CLOCK_MONOTONIC, &lanes),
                         together = kernel(&all, &large[k], CLOCK_MONOTONIC, &lanes),
                         alone = apart(copies, threads, &large[k]);
            printf("%-10s %12s %10.3f %10.3f %10.2f %18.2f %10.2f\n", large[k].kernel,
                   compiled ? "compiled" : "interpreted", one, together, one / together, one * threads / alone,
                   alone / (together * threads));
            fflush(stdout);
        }
        for (unsigned k = 0; ok && k < threads; k++)
            machine_close(&copies[k].device);
        if (ok)
            machine_close(&all);
    }
    free(copies);
    return ok ? 0 : 1;
}

int main(int count, char **arguments)
{
    char *text;
    size_t length;
    machine plain, compiled;
    if (count < 2 || kiln__file_read(NULL, arguments[1], 0, &text, &length, NULL) != KILN_OK) {
        fprintf(stderr, "usage: sim_speed sim_speed.ptx [THREADS]\n");
        return 2;
    }
    if (count > 2 && atoi(arguments[2]) > 0)
        return scale(text, length, (unsigned)atoi(arguments[2]));
    if (!machine_open(&plain, text, length, 0, 1, WORDS) || !machine_open(&compiled, text, length, 256, 1, WORDS))
        return 1;
    printf("%-10s %12s %22s %22s %10s\n", "kernel", "scalar C, s", "interpreted, s (lanes/s)", "compiled, s (lanes/s)",
           "x scalar");
    for (size_t k = 0; k < KILN__COUNT(works); k++) {
        double lanes;
        const double c = scalar(k, vm_pointer_read(plain.device, plain.a, 4), vm_pointer_read(plain.device, plain.b, 4),
                                vm_pointer(plain.device, plain.c, WORDS * 4)),
                     i = kernel(&plain, &works[k], CLOCK_THREAD_CPUTIME_ID, &lanes),
                     j = kernel(&compiled, &works[k], CLOCK_THREAD_CPUTIME_ID, &lanes);
        printf("%-10s %12.4f %10.4f (%9.2e) %10.4f (%9.2e) %10.2f\n", works[k].kernel, c, i, lanes / i, j, lanes / j,
               j / c);
    }
    return 0;
}
