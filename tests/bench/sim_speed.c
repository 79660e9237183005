/* sim_speed.c - how fast the simulated device is beside plain C on one core: sim_speed.cu's kernels interpreted, compiled
 * (engine/sim/jit), and the same work as scalar loops. Prints a row for each: seconds of the processor, and lanes of instructions a second.
 * Usage: sim_speed sim_speed.ptx */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jit.h"
#include "vm.h"

#define SCALAR __attribute__((noinline, optimize("O2,no-tree-vectorize")))
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

SCALAR static void histogram(const uint32_t *x, uint32_t *counts)
{
    for (int k = 0; k < WORDS; k++) {
        counts[x[k] & 255]++;
        counts[x[k] >> 8 & 255]++;
        counts[x[k] >> 16 & 255]++;
        counts[x[k] >> 24]++;
    }
}

/* Of this thread: the machine may do other things. */
static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

typedef struct work {
    const char *kernel;
    uint32_t grid[2], block[2], n;
} work;
static const work works[] = {{"gemm", {SIDE / 16, SIDE / 16}, {16, 16}, SIDE},
                             {"bodies", {BODIES / 128, 1}, {128, 1}, BODIES},
                             {"sum", {BLOCKS, 1}, {256, 1}, WORDS},
                             {"histogram", {BLOCKS, 1}, {256, 1}, WORDS}};

static double scalar(size_t k, const void *a, const void *b, void *c)
{
    double best = 1e9;
    for (unsigned n = 0; n < 3; n++) {
        const uint64_t start = now();
        if (k == 0)
            gemm(a, b, c);
        else if (k == 1)
            bodies(a, c);
        else if (k == 2)
            sum(a, c);
        else
            histogram(a, c);
        best = fmin(best, (double)(now() - start) * 1e-9);
    }
    return best;
}

typedef struct machine {
    vm_device *device;
    vm_module *module;
    uint64_t a, b, c;
} machine;

static bool machine_open(machine *m, const char *text, size_t length, uint32_t threshold)
{
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    const vm_limits limits = {.memory = 1u << 30, .shared_per_block = 48 << 10, .threads = 1, .sm_count = 4, .cc = 90};
    m->device = vm_device_new(NULL, &limits);
    if (!m->device || !sim_jit_open(m->device, threshold) || ptx_parse(NULL, text, length, &ptx, &log) != PTX_OK ||
        vm_module_load(m->device, ptx, &m->module, &log) != PTX_OK) {
        fprintf(stderr, "%s", kiln__text_get(&log));
        return false;
    }
    m->a = vm_alloc(m->device, WORDS * 4), m->b = vm_alloc(m->device, WORDS * 4), m->c = vm_alloc(m->device, WORDS * 4);
    uint32_t x = 1;
    float *numbers = vm_pointer(m->device, m->a, WORDS * 4), *more = vm_pointer(m->device, m->b, WORDS * 4);
    for (uint32_t k = 0; k < WORDS; k++) {
        x = x * 1664525 + 1013904223;
        numbers[k] = more[k] = (float)(x >> 8) * 0x1p-24f;
    }
    return m->a && m->b && m->c;
}

static double kernel(const machine *m, const work *w, double *lanes)
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
        const uint64_t start = now();
        if (vm_run(m->device, &launch, &counters, &fault) != VM_OK) {
            fprintf(stderr, "%s\n", fault.message);
            exit(1);
        }
        best = fmin(best, (double)(now() - start) * 1e-9);
        *lanes = (double)counters.lane_instructions;
    }
    return best;
}

int main(int count, char **arguments)
{
    char *text;
    size_t length;
    machine plain, compiled;
    if (count < 2 || kiln__file_read(NULL, arguments[1], 0, &text, &length, NULL) != KILN_OK ||
        !machine_open(&plain, text, length, 0) || !machine_open(&compiled, text, length, 256)) {
        fprintf(stderr, "usage: sim_speed sim_speed.ptx\n");
        return 2;
    }
    printf("%-10s %12s %22s %22s %10s\n", "kernel", "scalar C, s", "interpreted, s (lanes/s)", "compiled, s (lanes/s)",
           "x scalar");
    for (size_t k = 0; k < KILN__COUNT(works); k++) {
        double lanes;
        const double c = scalar(k, vm_pointer_read(plain.device, plain.a, 4), vm_pointer_read(plain.device, plain.b, 4),
                                vm_pointer(plain.device, plain.c, WORDS * 4)),
                     i = kernel(&plain, &works[k], &lanes), j = kernel(&compiled, &works[k], &lanes);
        printf("%-10s %12.4f %10.4f (%9.2e) %10.4f (%9.2e) %10.2f\n", works[k].kernel, c, i, lanes / i, j, lanes / j,
               j / c);
    }
    return 0;
}
