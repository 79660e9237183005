/* inputs.c - the cost of a sweep's inputs on the host: each input function, fill and reference of a spec, alone.
 *
 *   kiln-inputs [--cores N] [--hash] [--host NAME] SPEC [SET...]
 *
 * The program prepares each size set as a sweep does (kiln__plan_prepare) and prints for each function:
 *   cpu     processor seconds of all threads
 *   serial  processor seconds of the calling thread outside of kiln__parallel()
 *   N cores the seconds on N cores: the serial seconds, plus a greedy schedule of the items of each parallel loop
 *
 * The last figure is a model, so the load and the number of cores of the machine do not change it. The model ignores
 * the bandwidth of memory. With --hash the program prints a hash of each function's results in place of times: a change
 * of speed must not change a result. --cores sets the number of cores that the library sees.
 *
 * The linker's --wrap puts the functions of this file around functions of the library (tests/CMakeLists.txt). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data.h"
#include "engine.h"
#include "kiln.h"
#include "kiln_catalogue.h"
#include "plan.h"

enum { CORES_MOST = 64, NAME_BYTES = 64 };

/* One thread runs the specs, so that the state of the program needs no lock. */
static struct {
    unsigned cores;
    bool hash;
    const char *host; /* NULL: all functions are printed */
    double scheduled; /* seconds of the parallel loops on `cores` cores */
    double inside;    /* processor seconds of the calling thread in parallel loops */
} bench = {.cores = 16};

static double clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- parallel loops ---- */

unsigned __wrap_kiln__cpu_count(void);
unsigned __wrap_kiln__cpu_count(void) { return bench.cores; }

typedef struct loop {
    void (*work)(void *user, size_t index, size_t worker);
    void *user;
    double *seconds; /* the seconds of each item */
} loop;

static void timed_item(void *user, size_t index, size_t worker)
{
    const loop *l = user;
    double start = clock_of(CLOCK_THREAD_CPUTIME_ID);
    l->work(l->user, index, worker);
    l->seconds[index] = clock_of(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* Returns the end of a schedule that gives each item, in order, to the core that is free first. */
static double schedule(const double *seconds, size_t count, size_t cores)
{
    double free_at[CORES_MOST] = {0}, end = 0;
    for (size_t i = 0; i < count; i++) {
        size_t first = 0;
        for (size_t c = 1; c < cores; c++)
            first = free_at[c] < free_at[first] ? c : first;
        free_at[first] += seconds[i];
        end = free_at[first] > end ? free_at[first] : end;
    }
    return end;
}

typedef void parallel_fn(size_t threads, size_t count, void (*work)(void *user, size_t index, size_t worker),
                         void *user);
parallel_fn __real_kiln__parallel, __wrap_kiln__parallel;

void __wrap_kiln__parallel(size_t threads, size_t count, void (*work)(void *user, size_t index, size_t worker),
                           void *user)
{
    size_t cores = threads && threads < bench.cores ? threads : bench.cores;
    loop l = {work, user, count ? malloc(count * sizeof *l.seconds) : NULL};
    double start = clock_of(CLOCK_THREAD_CPUTIME_ID);
    if (l.seconds) {
        __real_kiln__parallel(cores, count, timed_item, &l);
        bench.scheduled += schedule(l.seconds, count, cores);
    }
    free(l.seconds);
    bench.inside += clock_of(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* ---- functions that are measured ---- */

typedef struct measured {
    double wall, all, thread;
} measured;

static measured begin(void)
{
    bench.scheduled = bench.inside = 0;
    return (measured){clock_of(CLOCK_MONOTONIC), clock_of(CLOCK_PROCESS_CPUTIME_ID), clock_of(CLOCK_THREAD_CPUTIME_ID)};
}

static bool is_printed(const char *name) { return !bench.host || strcmp(bench.host, name) == 0; }

static void print_times(const char *name, const char *what, measured start)
{
    double serial = clock_of(CLOCK_THREAD_CPUTIME_ID) - start.thread - bench.inside;
    double all = clock_of(CLOCK_PROCESS_CPUTIME_ID) - start.all, wall = clock_of(CLOCK_MONOTONIC) - start.wall;
    if (!bench.hash && is_printed(what))
        printf("  %-10s %-18s cpu %7.3f  serial %6.3f  %u cores %6.3f  (wall %.3f)\n", name, what, all, serial,
               bench.cores, serial + bench.scheduled, wall);
}

static void print_hash(const char *function, const char *name, const void *data, uint64_t bytes)
{
    char text[33];
    kiln__hash_print(kiln__hash(data, (size_t)bytes), text);
    if (is_printed(function))
        printf("  %s %s %s\n", function, name, text);
}

static void print_array(const char *function, const char *name, const kiln_array *array)
{
    uint64_t bytes = 0;
    kiln__array_bytes(array->type, array->dims, array->shape, &bytes);
    print_hash(function, name, array->data, bytes);
}

/* Prints a hash of each array and a value of each number that a host function has made. */
static void print_results(const kiln_call *call, const char *function)
{
    for (const kiln__export *e = call->exports; e; e = e->next)
        if (e->is_array)
            print_array(function, e->name, &e->array);
        else if (e->value.kind == KILN_FLOAT && is_printed(function))
            printf("  %s %s %a\n", function, e->name, e->value.as.f);
        else if (e->value.kind != KILN_TEXT && is_printed(function))
            printf("  %s %s %" PRId64 "\n", function, e->name, e->value.as.i);
    for (size_t i = 0; i < call->arg_count; i++)
        if (call->args[i].kind == KILN__CALL_ARRAY && call->args[i].written)
            print_array(function, call->args[i].name, call->args[i].array);
}

typedef kiln_status call_fn(kiln_call *call, const kiln__host *host, kiln__pos pos, kiln_error **error);
call_fn __real_kiln__call, __wrap_kiln__call;

kiln_status __wrap_kiln__call(kiln_call *call, const kiln__host *host, kiln__pos pos, kiln_error **error)
{
    measured start = begin();
    kiln_status status = __real_kiln__call(call, host, pos, error);
    print_times(host->uses & KILN_HOST_REFERENCE ? "reference" : "input", host->name, start);
    if (bench.hash && status == KILN_OK)
        print_results(call, host->name);
    return status;
}

typedef kiln_status fill_fn(kiln_array *array, const kiln__fill_values *fill, const kiln_allocator *mem,
                            kiln_error **error);
fill_fn __real_kiln__array_fill, __wrap_kiln__array_fill;

kiln_status __wrap_kiln__array_fill(kiln_array *array, const kiln__fill_values *fill, const kiln_allocator *mem,
                                    kiln_error **error)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%d of %s", (int)fill->kind, kiln__type_name(array->type));
    measured start = begin();
    kiln_status status = __real_kiln__array_fill(array, fill, mem, error);
    print_times("fill", name, start);
    if (bench.hash && status == KILN_OK)
        print_array("fill", name, array);
    return status;
}

/* ---- specs ---- */

static int fail(kiln_error *error)
{
    fprintf(stderr, "kiln-inputs: %s\n", kiln_error_message(error));
    kiln_error_free(error);
    return 1;
}

static int prepare(kiln_engine *engine, const kiln_spec *spec, const char *name, const char *set)
{
    kiln_error *error = NULL;
    kiln__shared *shared = NULL;
    const kiln_choice sizes = {.size_set = set};
    printf("%s %s\n", name, set);
    if (kiln__shared_open(engine, spec, &shared, &error))
        return fail(error);
    double wall = clock_of(CLOCK_MONOTONIC), all = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    kiln_status status = kiln__plan_prepare(engine, spec, &sizes, shared, true, &error);
    if (!bench.hash && status == KILN_OK)
        printf("  %-29s cpu %7.3f  (wall %.3f)\n", "all", clock_of(CLOCK_PROCESS_CPUTIME_ID) - all,
               clock_of(CLOCK_MONOTONIC) - wall);
    kiln__shared_free(shared);
    return status == KILN_OK ? 0 : fail(error);
}

static int usage(void)
{
    fprintf(stderr, "usage: kiln-inputs [--cores N] [--hash] [--host NAME] SPEC [SET...]\n");
    return 2;
}

int main(int count, char **arguments)
{
    kiln_options options = {/* there is no cache, so that each reference is computed and not read from the disk */
                            .size = sizeof options,
                            .device = "sim",
                            .flags = KILN_NO_CACHE};
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    int at = 1;
    for (; at < count && strncmp(arguments[at], "--", 2) == 0; at++) {
        if (strcmp(arguments[at], "--hash") == 0)
            bench.hash = true;
        else if (strcmp(arguments[at], "--cores") == 0 && at + 1 < count)
            bench.cores = (unsigned)strtoul(arguments[++at], NULL, 10);
        else if (strcmp(arguments[at], "--host") == 0 && at + 1 < count)
            bench.host = arguments[++at];
        else
            return usage();
    }
    if (at == count || bench.cores < 1 || bench.cores > CORES_MOST)
        return usage();
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (kiln_engine_open(&options, &engine, &error) || kiln_catalogue_register(engine, &error) ||
        kiln_spec_load(engine, arguments[at], &spec, &error))
        return fail(error);
    int failed = 0;
    if (at + 1 == count)
        failed = prepare(engine, spec, arguments[at], "default");
    for (int i = at + 1; i < count && !failed; i++)
        failed = prepare(engine, spec, arguments[at], arguments[i]);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return failed;
}
