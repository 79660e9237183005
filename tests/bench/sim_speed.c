/* sim_speed.c - the speed of the simulated device beside plain C on one core. It runs the kernels of sim_speed.cu
 * interpreted and compiled (engine/sim/device/jit), and the same work as scalar loops, and compares their results. It
 * prints a row for each: processor seconds, the median of RUNS, and how many times as long as scalar C. The last column
 * is the size of the checks' shadow memory divided by the size of the memory that the kernel has touched.
 *
 * If the user gives a number of threads, the program measures wall time with more blocks. It prints how much sooner a
 * launch ends on that many threads than on one. The peer is that many devices with one thread each, which run at the
 * same time and share nothing.
 *
 * Usage: sim_speed [THREADS | KERNEL [interpreted | compiled | checked]] With a kernel's name only that kernel runs;
 * with a second word, in that way only, so that a profiler sees nothing else. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jit.h"
#include "vm.h"
#include "vm_checks_internal.h"
#include "vm_memory.h"

#ifdef __clang__ /* clang has no attribute that forbids vectorising, so its figures are not comparable */
#define SCALAR __attribute__((noinline))
#else
#define SCALAR __attribute__((noinline, optimize("O2,no-tree-vectorize")))
#endif
enum {
    SIDE = 256,
    BODIES = 4096,
    WORDS = 1 << 23,
    BLOCKS = 16,
    GRID = 2048,
    ROWS = 1 << 17,
    SORTED = 1 << 17,
    POINTS = 1 << 18,
    PICTURE = 512,
    STEPS = 256,
    DRAWERS = 4096,
    DRAWS = 4096,
    RUNS = 5,
    SLOWEST = 3 /* runs of slow code, which is interpreted */
};

/* The arrays of a work. All kernels have these five arrays. */
typedef struct arrays {
    float *a, *b, *c;
    uint32_t *d, *e;
} arrays;

SCALAR static void gemm(const arrays *v)
{
    const float *a = v->a, *b = v->b;
    float *c = v->c;
    memset(c, 0, sizeof *c * SIDE * SIDE);
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            for (int j = 0; j < SIDE; j++)
                c[i * SIDE + j] += a[i * SIDE + k] * b[k * SIDE + j];
}

SCALAR static void bodies(const arrays *v)
{
    const float *p = v->a;
    float *f = v->c;
    for (int i = 0; i < BODIES; i++) {
        float x = 0, y = 0, z = 0;
        for (int j = 0; j < BODIES; j++) {
            const float dx = p[4 * j] - p[4 * i], dy = p[4 * j + 1] - p[4 * i + 1], dz = p[4 * j + 2] - p[4 * i + 2];
            const float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 1e-4f), s = p[4 * j + 3] * r * r * r;
            x += dx * s, y += dy * s, z += dz * s;
        }
        f[4 * i] = x, f[4 * i + 1] = y, f[4 * i + 2] = z, f[4 * i + 3] = 0;
    }
}

SCALAR static void sum(const arrays *v)
{
    const float *x = v->a;
    float s = 0;
    for (int k = 0; k < WORDS; k++)
        s += x[k];
    *v->c = s;
}

SCALAR static void saxpy(const arrays *v)
{
    const float *x = v->a;
    float *y = v->c;
    for (int k = 0; k < WORDS; k++)
        y[k] = 2.5f * x[k] + y[k];
}

SCALAR static void jacobi(const arrays *v)
{
    const float *from = v->a;
    float *to = v->c;
    for (int y = 1; y < GRID - 1; y++)
        for (int x = 1; x < GRID - 1; x++)
            to[y * GRID + x] = 0.25f * (from[y * GRID + x - 1] + from[y * GRID + x + 1] + from[(y - 1) * GRID + x] +
                                        from[(y + 1) * GRID + x]);
}

SCALAR static void sparse(const arrays *v)
{
    for (int row = 0; row < ROWS; row++) {
        float s = 0;
        for (uint32_t k = v->e[row]; k < v->e[row + 1]; k++)
            s += v->a[k] * v->b[v->d[k]];
        v->c[row] = s;
    }
}

SCALAR static void bitonic(const arrays *v)
{
    uint32_t *x = (uint32_t *)(void *)v->c;
    for (uint32_t k = 2; k <= SORTED; k *= 2)
        for (uint32_t j = k / 2; j; j /= 2)
            for (uint32_t i = 0; i < SORTED; i++) {
                const uint32_t other = i ^ j, mine = x[i], its = x[other];
                if (other > i && ((i & k) == 0 ? mine > its : mine < its))
                    x[i] = its, x[other] = mine;
            }
}

SCALAR static void histogram(const arrays *v)
{
    const uint32_t *x = (const uint32_t *)(const void *)v->a;
    uint32_t *counts = (uint32_t *)(void *)v->c;
    for (int k = 0; k < WORDS; k++) {
        counts[x[k] & 255]++;
        counts[x[k] >> 8 & 255]++;
        counts[x[k] >> 16 & 255]++;
        counts[x[k] >> 24]++;
    }
}

SCALAR static void fft(const arrays *v)
{
    float *from = v->a, *to = v->c;
    for (int s = 1; s < POINTS; s *= 2) {
        for (int p = 0; p < POINTS / 2 / s; p++) {
            const float w = v->b[2 * p * s], z = v->b[2 * p * s + 1];
            for (int q = 0; q < s; q++) {
                const float *a = from + 2 * (q + s * p), *b = a + POINTS;
                float *out = to + 2 * (q + 2 * s * p);
                const float x = a[0] - b[0], y = a[1] - b[1];
                out[0] = a[0] + b[0], out[1] = a[1] + b[1];
                out[2 * s] = x * w - y * z, out[2 * s + 1] = x * z + y * w;
            }
        }
        float *const other = from;
        from = to, to = other;
    }
}

SCALAR static void mandelbrot(const arrays *v)
{
    uint32_t *steps = (uint32_t *)(void *)v->c;
    for (int y = 0; y < PICTURE; y++)
        for (int x = 0; x < PICTURE; x++) {
            const float a = -2.2f + 3.f * (float)x / PICTURE, b = -1.5f + 3.f * (float)y / PICTURE;
            float r = 0, s = 0;
            uint32_t k = 0;
            while (k < STEPS && r * r + s * s < 4) {
                const float t = r * r - s * s + a;
                s = 2 * r * s + b;
                r = t;
                k++;
            }
            steps[y * PICTURE + x] = k;
        }
}

SCALAR static void carlo(const arrays *v)
{
    uint32_t *hits = (uint32_t *)(void *)v->c;
    for (uint32_t i = 0; i < DRAWERS; i++) {
        uint32_t state = i * 2654435761u + 1, inside = 0;
        for (int k = 0; k < DRAWS; k++) {
            state = state * 1664525u + 1013904223u;
            const float x = (float)(state >> 8) * 0x1p-24f;
            state = state * 1664525u + 1013904223u;
            const float y = (float)(state >> 8) * 0x1p-24f;
            inside += x * x + y * y < 1;
        }
        hits[i] = inside;
    }
}

/* Reads a clock. For work of this thread the clock is CLOCK_THREAD_CPUTIME_ID, so that other work of the machine does
 * not count. */
static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The way to launch a kernel: once, once for each stage of a bitonic sort, or once for each stage of a transform. */
typedef enum stages { ONCE, BITONIC, FFT } stages;
/* The way to compare results. EQUAL: all words are equal. ABOUT: all floats are nearly equal. TOTAL: the sums are
 * nearly equal. MOST: one word in a hundred may differ, because kernels contract products and sums, and scalar C rounds
 * both. */
typedef enum compare { EQUAL, ABOUT, TOTAL, MOST } compare;
typedef struct work {
    const char *kernel;
    uint32_t grid[2], block[2], n, most;
    void (*scalar)(const arrays *);
    stages stages;
    compare compare;
    uint32_t results; /* words of c to compare */
} work;
static const work works[] = {
    {"saxpy", {WORDS / 256, 1}, {256, 1}, WORDS, 0, saxpy, ONCE, ABOUT, WORDS},
    {"saxpy_stride", {64, 1}, {256, 1}, WORDS, 0, saxpy, ONCE, ABOUT, WORDS},
    {"jacobi", {GRID / 32, GRID / 8}, {32, 8}, GRID, 0, jacobi, ONCE, ABOUT, GRID *GRID},
    {"sparse", {ROWS / 256, 1}, {256, 1}, ROWS, 0, sparse, ONCE, ABOUT, ROWS},
    {"bitonic", {SORTED / 256, 1}, {256, 1}, SORTED, 0, bitonic, BITONIC, EQUAL, SORTED},
    {"histogram", {BLOCKS, 1}, {256, 1}, WORDS, 0, histogram, ONCE, EQUAL, 256},
    {"fft", {POINTS / 512, 1}, {256, 1}, POINTS, 0, fft, FFT, ABOUT, 2 * POINTS},
    {"reduction", {WORDS / 2048, 1}, {256, 1}, WORDS, 0, sum, ONCE, TOTAL, WORDS / 2048},
    {"sum", {BLOCKS, 1}, {256, 1}, WORDS, 0, sum, ONCE, TOTAL, BLOCKS},
    {"gemm", {SIDE / 16, SIDE / 16}, {16, 16}, SIDE, 0, gemm, ONCE, ABOUT, SIDE *SIDE},
    {"bodies", {BODIES / 128, 1}, {128, 1}, BODIES, 0, bodies, ONCE, ABOUT, 4 * BODIES},
    {"mandelbrot", {PICTURE / 32, PICTURE / 8}, {32, 8}, PICTURE, STEPS, mandelbrot, ONCE, MOST, PICTURE *PICTURE},
    {"carlo", {DRAWERS / 128, 1}, {128, 1}, DRAWERS, DRAWS, carlo, ONCE, MOST, DRAWERS}};
/* These works are for many threads. They have many blocks, so it matters little that some threads are idle during the
 * last blocks. */
enum { WIDE = 1024, MANY = 16384, LONG = 1 << 26, WAVES = 2048 };
static const work large[] = {{"gemm", {WIDE / 16, WIDE / 16}, {16, 16}, WIDE, 0, NULL, ONCE, EQUAL, 0},
                             {"bodies", {MANY / 128, 1}, {128, 1}, MANY, 0, NULL, ONCE, EQUAL, 0},
                             {"sum", {WAVES, 1}, {256, 1}, LONG, 0, NULL, ONCE, EQUAL, 0},
                             {"histogram", {WAVES, 1}, {256, 1}, LONG, 0, NULL, ONCE, EQUAL, 0},
                             {"saxpy", {WORDS / 256, 1}, {256, 1}, WORDS, 0, NULL, ONCE, EQUAL, 0}};

static double median(double *times, unsigned count)
{
    for (unsigned k = 1; k < count; k++)
        for (unsigned j = k; j && times[j] < times[j - 1]; j--) {
            const double t = times[j];
            times[j] = times[j - 1], times[j - 1] = t;
        }
    return times[count / 2];
}

/* Sets the arrays of a work to their first contents. */
static void fill(const arrays *v, const work *w, uint32_t words)
{
    uint32_t x = 1, first = 0;
    const bool bits = strcmp(w->kernel, "histogram") == 0, cyclic = w->stages == FFT;
    for (uint32_t k = 0; k < words; k++) {
        x = x * 1664525 + 1013904223;
        const float number = (float)(x >> 8) * 0x1p-24f;
        if (bits)
            memcpy(v->a + k, &x, sizeof x);
        else
            v->a[k] = number;
        if (k >= WORDS)
            continue;
        v->b[k] = v->c[k] = number;
        v->d[k] = x >> 8 & (ROWS - 1);
    }
    for (uint32_t k = 0; k <= ROWS; k++) { /* rows of 0 to 31 elements */
        x = x * 1664525 + 1013904223;
        v->e[k] = first;
        first += x >> 27;
    }
    if (w->compare == EQUAL && !bits)
        for (uint32_t k = 0; k < SORTED; k++) {
            x = x * 1664525 + 1013904223;
            memcpy(v->c + k, &x, sizeof x);
        }
    else if (w->compare != ABOUT || bits)
        memset(v->c, 0, WORDS * 4);
    for (uint32_t k = 0; cyclic && k < POINTS / 2; k++) {
        v->b[2 * k] = (float)cos(-6.283185307179586 * k / POINTS);
        v->b[2 * k + 1] = (float)sin(-6.283185307179586 * k / POINTS);
    }
}

/* Returns true if `got` is about what scalar C computes. */
static bool is_right(const work *w, const float *got, const float *wanted)
{
    double sum_got = 0, sum_wanted = w->compare == TOTAL ? wanted[0] : 0, bad = 0;
    for (uint32_t k = 0; k < w->results; k++) {
        sum_got += got[k];
        if (w->compare == ABOUT)
            bad += fabs(got[k] - wanted[k]) > 1e-3 * (1 + fabs(wanted[k]));
        else if (w->compare != TOTAL)
            bad += memcmp(got + k, wanted + k, 4) != 0;
    }
    if (w->compare == TOTAL) /* scalar C adds 2^23 floats in order, which loses digits */
        return fabs(sum_got - sum_wanted) < 0.1 * sum_wanted;
    return w->compare == MOST ? bad * 100 < w->results : bad == 0;
}

/* Runs the work as scalar C, and leaves its results. */
static double scalar(const arrays *v, const work *w)
{
    double times[RUNS];
    for (unsigned n = 0; n < RUNS; n++) {
        fill(v, w, WORDS);
        const uint64_t start = now(CLOCK_THREAD_CPUTIME_ID);
        w->scalar(v);
        times[n] = (double)(now(CLOCK_THREAD_CPUTIME_ID) - start) * 1e-9;
    }
    return median(times, RUNS);
}

typedef struct machine {
    vm_device *device;
    vm_module *module;
    uint64_t at[5];
    arrays v;
    vm_check *check; /* NULL: launches are not checked */
    uint32_t words;
} machine;

static void open_arrays(machine *m)
{
    float **const floats[] = {&m->v.a, &m->v.b, &m->v.c};
    for (unsigned k = 0; k < KILN__COUNT(m->at); k++) {
        const uint64_t bytes = (k ? WORDS : m->words) * 4ull;
        m->at[k] = vm_alloc(m->device, bytes);
        void *host = m->at[k] ? vm_pointer(m->device, m->at[k], bytes) : NULL;
        if (!host) {
            fprintf(stderr, "no memory\n");
            exit(1);
        }
        if (k < 3)
            *floats[k] = host;
        else
            *(k == 3 ? &m->v.d : &m->v.e) = host;
    }
}

static bool machine_open(machine *m, const char *text, size_t length, uint32_t threshold, unsigned threads,
                         uint32_t words, bool checked)
{
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    const vm_limits limits = {
        .memory = 1u << 30, .shared_per_block = 48 << 10, .threads = threads, .sm_count = 132, .cc = 90};
    *m = (machine){.device = vm_device_new(NULL, &limits), .words = words};
    if (checked && m->device && (m->check = check_new(NULL)) != NULL)
        check_attach(m->device, m->check);
    if (!m->device || checked != (m->check != NULL) || !sim_jit_open(m->device, threshold) ||
        ptx_parse(NULL, text, length, &ptx, &log) != PTX_OK ||
        decode_module_load(m->device, ptx, &m->module, &log) != PTX_OK) {
        fprintf(stderr, "%s", kiln__text_get(&log));
        return false;
    }
    open_arrays(m);
    return true;
}

static void machine_close(machine *m)
{
    vm_module_unload(m->device, m->module);
    vm_device_free(m->device);
    check_free(m->check);
}

static void launch(const machine *m, const work *w, uint32_t s, uint32_t t)
{
    const struct {
        uint64_t at[5];
        uint32_t n, s, t;
    } params = {{m->at[0], m->at[1], m->at[2], m->at[3], m->at[4]}, w->n, s, t};
    struct vm_watch watch = {.checks = &check_hooks};
    const vm_launch made = {.module = m->module,
                            .kernel = vm_module_kernel(m->module, w->kernel),
                            .grid = {w->grid[0], w->grid[1], 1},
                            .block = {w->block[0], w->block[1], 1},
                            .params = &params,
                            .hooks = m->check ? &count_watch_hooks : NULL,
                            .watch = m->check ? &watch : NULL};
    vm_fault fault;
    if (vm_run(m->device, &made, NULL, &fault) != VM_OK) {
        fprintf(stderr, "%s\n", fault.message);
        exit(1);
    }
}

/* Launches all stages of a work. */
static void launch_all(const machine *m, const work *w)
{
    if (w->stages == ONCE) {
        launch(m, w, w->most, 0);
    } else if (w->stages == BITONIC) {
        for (uint32_t k = 2; k <= w->n; k *= 2)
            for (uint32_t j = k / 2; j; j /= 2)
                launch(m, w, k, j);
    } else {
        uint32_t odd = 0;
        for (uint32_t s = 1; s < w->n; s *= 2, odd = !odd)
            launch(m, w, s, odd);
    }
}

/* The results of FFT are in a, because it has an even number of stages. */
static float *results(const arrays *v, const work *w) { return w->stages == FFT ? v->a : v->c; }

/* Runs a work `runs` times after `warm` more. Compares the results of each run with `wanted` if that is not NULL. */
static double kernel(const machine *m, const work *w, clockid_t clock, unsigned warm, unsigned runs,
                     const float *wanted)
{
    double times[RUNS];
    for (unsigned n = 0; n < warm + runs; n++) {
        fill(&m->v, w, m->words);
        const uint64_t start = now(clock);
        launch_all(m, w);
        if (n >= warm)
            times[n - warm] = (double)(now(clock) - start) * 1e-9;
        if (wanted && !is_right(w, results(&m->v, w), wanted)) {
            fprintf(stderr, "sim_speed: %s has a wrong result\n", w->kernel);
            exit(1);
        }
    }
    if (m->check && check_count_findings(m->check)) {
        fprintf(stderr, "sim_speed: %s has findings: %s\n", w->kernel, check_get_finding(m->check, 0)->message);
        exit(1);
    }
    return median(times, runs);
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
    kernel(&c->device, c->work, CLOCK_MONOTONIC, 0, SLOWEST, NULL); /* the arguments are the same as in scale() */
    pthread_barrier_wait(c->start);
    c->seconds = kernel(&c->device, c->work, CLOCK_MONOTONIC, 0, SLOWEST, NULL);
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
        ok = machine_open(&all, text, length, compiled ? 256 : 0, threads, LONG, false);
        for (unsigned k = 0; ok && k < threads; k++)
            ok = machine_open(&copies[k].device, text, length, compiled ? 256 : 0, 1, LONG, false);
        for (size_t k = 0; ok && k < KILN__COUNT(large); k++) {
            kernel(&copies[0].device, &large[k], CLOCK_MONOTONIC, 0, SLOWEST,
                   NULL); /* this run compiles the code and touches the pages */
            kernel(&all, &large[k], CLOCK_MONOTONIC, 0, SLOWEST, NULL);
            const double one = kernel(&copies[0].device, &large[k], CLOCK_MONOTONIC, 0, SLOWEST, NULL),
                         together = kernel(&all, &large[k], CLOCK_MONOTONIC, 0, SLOWEST, NULL),
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

/* Returns the size of the machine's shadow memory divided by the size of the memory that its kernels have touched. */
static double shadow_size(const machine *m)
{
    uint64_t touched = 0;
    for (size_t k = 0; k < m->device->live_count; k++) {
        const vm_allocation *a = m->device->live[k];
        for (uint64_t at = 0; a->shadow && at < a->bytes; at += VM_SHADOW_PAGE)
            touched += a->shadow->pages[at / VM_SHADOW_PAGE] ? VM_SHADOW_PAGE : 0;
    }
    return touched ? (double)m->check->cell_bytes / (double)touched : 0;
}

/* Prints the row of one kernel. `way`: the only way in which it runs, or NULL for all ways. */
static void print_row(const work *w, machine *ways, const char *way)
{
    static const char *const names[] = {"interpreted", "compiled", "checked"};
    const arrays *v = &ways[0].v;
    const arrays own = {v->a, v->b, v->c, v->d, v->e};
    const double c = scalar(&own, w);
    float *wanted = malloc(w->results * sizeof *wanted);
    if (!wanted)
        exit(1);
    memcpy(wanted, results(v, w), w->results * sizeof *wanted);
    printf("%-14s %10.4f", w->kernel, c);
    for (unsigned k = 0; k < KILN__COUNT(names); k++) {
        if (way && strcmp(way, names[k]) != 0) {
            printf(" %20s", "-");
            continue;
        }
        if (ways[k].check)
            check_forget_accesses(ways[k].device, ways[k].check);
        const double t = kernel(&ways[k], w, CLOCK_THREAD_CPUTIME_ID, k == 1, k == 1 ? RUNS : SLOWEST, wanted);
        printf(" %10.4f (%7.2f)", t, t / c);
        if (ways[k].check)
            printf(" %10.2f", shadow_size(&ways[k]));
    }
    printf("\n");
    fflush(stdout);
    free(wanted);
}

int main(int count, char **arguments)
{
    char *text;
    size_t length;
    machine ways[3];
    if (kiln__file_read(NULL, SIM_SPEED_PTX, 0, &text, &length, NULL) != KILN_OK) {
        fprintf(stderr, "sim_speed: cannot read %s\n", SIM_SPEED_PTX);
        return 2;
    }
    if (count > 1 && atoi(arguments[1]) > 0)
        return scale(text, length, (unsigned)atoi(arguments[1]));
    for (unsigned k = 0; k < KILN__COUNT(ways); k++)
        if (!machine_open(&ways[k], text, length, k ? 256 : 0, 1, WORDS, k == 2))
            return 1;
    printf("%-14s %10s %20s %20s %20s %10s\n", "kernel", "scalar C", "interpreted (x C)", "compiled (x C)",
           "checked (x C)", "shadow");
    for (size_t k = 0; k < KILN__COUNT(works); k++)
        if (count < 2 || strcmp(arguments[1], works[k].kernel) == 0)
            print_row(&works[k], ways, count > 2 ? arguments[2] : NULL);
    for (unsigned k = 0; k < KILN__COUNT(ways); k++)
        machine_close(&ways[k]);
    return 0;
}
