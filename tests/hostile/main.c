/* main.c - kernels with hostile operands on the simulated device:
 *   hostile [--seed N] [--count N | --seconds S] [--jobs N] [--handler NAME] [--form N] [--sets N]
 *           [--engine interpreter|jit|checks|mixed] [--every] [--log DIR] [--verbose] [--quiet]
 *           [--plant KIND] [--show FILE --displace BLOCKS]
 *   hostile --table        prints the gaps of cases.def and functions.def; exits with 1 if there are any
 * --plant KIND: writes a word of that kind to the guest's memory (suspect.c). The test finds it if it is a host address.
 * --show FILE --displace BLOCKS: runs the same seed in another process, which writes its memory to the open file FILE.
 * Each seed is one kernel with --sets sets, or a round of driver calls. With --every the seeds take the handlers in
 * turn, and a handler that is never executed is a finding. Seeds run in child processes, so that a crash costs one
 * seed. A child reports how it ended on standard error, or in DIR/job-N.txt. Exit codes: 0 nothing was found, 1
 * findings or no execution, 2 usage, 77 there is no LLVM for --engine jit. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"
#include "jit.h"

enum { JOBS_MOST = 256, SETS = 256, SETS_JIT = 1024 };

typedef struct job { /* the state of a job, in memory that parent and children share */
    volatile uint64_t seed, findings;
    hostile_counts counts;
} job;

typedef struct options {
    uint64_t seed, count;
    double seconds;
    unsigned jobs, sets;
    int engine; /* a hostile_engine, or -1 if the seed chooses */
    bool drivers, kernels, quiet, every;
    const char *log;
    hostile_wish wish;
} options;

/* Sets the amount of freed memory that the address sanitizer keeps and watches. The default, 256 MiB per process, is
 * too much here. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=16:malloc_context_size=8:detect_leaks=0:allocator_may_return_null=1:handle_abort=1";
}
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void on_signal(int number)
{
    fprintf(stderr, "hostile: signal %d\n", number);
    hostile_describe();
    signal(number, SIG_DFL);
    raise(number);
}

/* ---- one seed ---- */

static hostile_engine engine_of(const options *o, uint64_t seed, bool usable)
{
    if (o->engine >= 0)
        return (hostile_engine)o->engine;
    return seed % 32 == 7 && usable ? HOSTILE_JIT : seed % 8 == 3 ? HOSTILE_CHECKS : HOSTILE_INTERPRETER;
}

static bool run_seed(const options *o, uint64_t seed, bool usable, hostile_counts *counts)
{
    hostile_source s = {.state = seed * 0x2545f4914f6cdd1dull + 11};
    hostile_wish wish = o->wish;
    if (o->every)
        hostile_handler_at((unsigned)(seed % hostile_handler_count()), &wish);
    if (o->drivers && (!o->kernels || seed % 16 == 5))
        return hostile_calls(&s, o->sets ? o->sets : SETS, counts);
    wish.seed = &seed;
    wish.engine = engine_of(o, seed, usable);
    wish.sets = o->sets ? o->sets : wish.engine == HOSTILE_JIT ? SETS_JIT : SETS;
    return hostile_run(&s, &wish, counts);
}

/* Opens a device with a compiler. It keeps LLVM loaded for all other devices, because loading takes a second under a
 * sanitizer. Returns NULL if there is no LLVM. */
static vm_device *open_llvm(void)
{
    vm_device *device = vm_device_new(NULL, &(vm_limits){.memory = 1 << 20});
    if (device && sim_jit_open(device, 1) && sim_jit_usable(device))
        return device;
    vm_device_free(device);
    return NULL;
}

/* ---- children ---- */

static void work(const options *o, job *j, unsigned number, double end, bool usable)
{
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(hostile_describe);
    else
        for (unsigned k = 0; k < 3; k++)
            signal((const int[]){SIGSEGV, SIGBUS, SIGABRT}[k], on_signal);
    while (o->seconds > 0 ? seconds_now() < end : j->seed < o->seed + o->count) {
        if (!run_seed(o, j->seed, usable, &j->counts)) {
            fprintf(stderr, "FOUND: seed %" PRIu64 "\n", j->seed);
            j->findings++;
        }
        j->seed += o->jobs;
    }
    (void)number;
}

static pid_t start(const options *o, job *j, unsigned number, double end, bool usable)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child != 0)
        return child;
    if (o->log) {
        char path[4096];
        snprintf(path, sizeof path, "%s/job-%u.txt", o->log, number);
        const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
        if (file >= 0)
            dup2(file, 2);
    }
    work(o, j, number, end, usable);
    _exit(0);
}

/* Waits for all children. Replaces a child that crashed by a child that begins after its seed. */
static void run_jobs(const options *o, job *jobs, double end, bool usable)
{
    pid_t children[JOBS_MOST];
    unsigned left = o->jobs;
    for (unsigned k = 0; k < o->jobs; k++) {
        jobs[k].seed = o->seed + k;
        children[k] = start(o, &jobs[k], k, end, usable);
    }
    while (left) {
        int status;
        const pid_t ended = wait(&status);
        if (ended < 0)
            return;
        for (unsigned k = 0; k < o->jobs; k++) {
            if (children[k] != ended)
                continue;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
                left--;
                continue;
            }
            fprintf(stderr, "FOUND: seed %" PRIu64 " ended its process (status 0x%x)\n", jobs[k].seed,
                    (unsigned)status);
            jobs[k].findings++;
            jobs[k].seed += o->jobs;
            children[k] = start(o, &jobs[k], k, end, usable);
        }
    }
}

/* ---- report ---- */

static void add(hostile_count *to, const hostile_count *from)
{
    to->executions += from->executions, to->launches += from->launches, to->faults += from->faults;
    to->modules += from->modules, to->refused += from->refused;
}

static void show(const char *name, const hostile_count *c)
{
    printf("%-44s %12" PRIu64 " executions %10" PRIu64 " launches %10" PRIu64 " faults %8" PRIu64 " modules %7" PRIu64
           " refused\n",
           name, c->executions, c->launches, c->faults, c->modules, c->refused);
}

/* Prints the report. Returns false if a handler that the run is about was not executed. */
static bool report(const options *o, const job *jobs, double seconds)
{
    static hostile_counts sum;
    hostile_count all = {0};
    unsigned reached = 0, handlers = 0;
    uint64_t findings = 0;
    for (unsigned k = 0; k < o->jobs; k++) {
        for (unsigned op = 0; op < PTX_OP_COUNT; op++)
            add(&sum.ops[op], &jobs[k].counts.ops[op]);
        for (unsigned f = 0; f < KILN__COUNT(sum.functions); f++)
            add(&sum.functions[f], &jobs[k].counts.functions[f]);
        for (unsigned e = 0; e < HOSTILE_ENGINES; e++)
            sum.engines[e] += jobs[k].counts.engines[e];
        add(&sum.calls, &jobs[k].counts.calls);
        findings += jobs[k].findings;
    }
    for (unsigned op = 0; op < PTX_OP_COUNT; op++) {
        if (!hostile_case_of((ptx_op)op) || op == PTX_OP_CALL)
            continue;
        add(&all, &sum.ops[op]);
        handlers++;
        reached += sum.ops[op].executions > 0;
        if (!o->quiet && (sum.ops[op].modules || sum.ops[op].refused))
            show(ptx_op_name((ptx_op)op), &sum.ops[op]);
        else if (o->kernels && o->wish.op == PTX_OP_COUNT && !sum.ops[op].executions)
            printf("not reached: %s\n", ptx_op_name((ptx_op)op));
    }
    for (unsigned f = 0; f < hostile_function_count(); f++) {
        add(&all, &sum.functions[f]);
        handlers++;
        reached += sum.functions[f].executions > 0;
        if (!o->quiet && (sum.functions[f].modules || sum.functions[f].refused))
            show(hostile_function_at(f)->name, &sum.functions[f]);
        else if (o->kernels && o->wish.op == PTX_OP_COUNT && !sum.functions[f].executions)
            printf("not reached: call of %s\n", hostile_function_at(f)->name);
    }
    show("kernels", &all);
    show("driver calls", &sum.calls);
    printf("%u of %u handlers; executions by engine: interpreter %" PRIu64 ", jit %" PRIu64 ", checks %" PRIu64 "\n",
           reached, handlers, sum.engines[0], sum.engines[1], sum.engines[2]);
    printf("%" PRIu64 " executions in %.1f s, %" PRIu64 " findings\n", all.executions + sum.calls.executions, seconds,
           findings);
    return findings == 0 && all.executions + sum.calls.executions > 0 && (!o->every || reached == handlers);
}

/* ---- options ---- */

static bool find_handler(const char *name, options *o)
{
    for (unsigned op = 0; op < PTX_OP_COUNT; op++)
        if (strcmp(ptx_op_name((ptx_op)op), name) == 0 && hostile_case_of((ptx_op)op)) {
            o->wish.op = (ptx_op)op;
            o->drivers = false;
            return true;
        }
    for (unsigned f = 0; f < hostile_function_count(); f++)
        if (strcmp(hostile_function_at(f)->name, name) == 0) {
            o->wish.op = PTX_OP_CALL;
            o->wish.function = f;
            o->drivers = false;
            return true;
        }
    if (strcmp(name, "driver") != 0)
        return false;
    o->kernels = false;
    return true;
}

static int engine_named(const char *name)
{
    static const char *const names[] = {"interpreter", "jit", "checks"};
    for (int k = 0; k < HOSTILE_ENGINES; k++)
        if (strcmp(name, names[k]) == 0)
            return k;
    return -1;
}

/* Reads the command line. Returns false after a message if it is wrong. */
static bool read_options(int count, char **words, options *o)
{
    const char *jit = getenv("KILN_SIM_JIT");
    *o = (options){.seed = 1, .count = 100, .jobs = 1, .engine = -1, .drivers = true, .kernels = true};
    o->wish = (hostile_wish){.op = PTX_OP_COUNT, .function = UINT32_MAX, .form = -1};
    if (jit)
        o->engine = strcmp(jit, "0") == 0 ? HOSTILE_INTERPRETER : HOSTILE_JIT;
    for (int i = 1; i < count; i++) {
        const char *word = words[i], *value = i + 1 < count ? words[i + 1] : NULL;
        if (strcmp(word, "--verbose") == 0)
            o->wish.verbose = true;
        else if (strcmp(word, "--quiet") == 0)
            o->quiet = true;
        else if (strcmp(word, "--every") == 0)
            o->every = true, o->drivers = false;
        else if (!value)
            return false;
        else if (strcmp(word, "--seed") == 0)
            o->seed = strtoull(words[++i], NULL, 10);
        else if (strcmp(word, "--count") == 0)
            o->count = strtoull(words[++i], NULL, 10);
        else if (strcmp(word, "--seconds") == 0)
            o->seconds = strtod(words[++i], NULL);
        else if (strcmp(word, "--jobs") == 0)
            o->jobs = (unsigned)strtoul(words[++i], NULL, 10);
        else if (strcmp(word, "--sets") == 0)
            o->sets = (unsigned)strtoul(words[++i], NULL, 10);
        else if (strcmp(word, "--form") == 0)
            o->wish.form = (int)strtol(words[++i], NULL, 10);
        else if (strcmp(word, "--engine") == 0)
            o->engine = engine_named(words[++i]);
        else if (strcmp(word, "--log") == 0)
            o->log = words[++i];
        else if (strcmp(word, "--plant") == 0)
            o->wish.plant = words[++i];
        else if (strcmp(word, "--show") == 0)
            o->wish.show = (int)strtol(words[++i], NULL, 10);
        else if (strcmp(word, "--displace") == 0)
            hostile_displace((unsigned)strtoul(words[++i], NULL, 10));
        else if (strcmp(word, "--handler") != 0 || !find_handler(words[++i], o))
            return false;
    }
    return o->jobs >= 1 && o->jobs <= JOBS_MOST;
}

int main(int count, char **words)
{
    options o;
    kiln__text missing = {0};
    if (count == 2 && strcmp(words[1], "--table") == 0) {
        const bool incomplete = hostile_missing(&missing);
        fputs(kiln__text_get(&missing), stdout);
        kiln__text_free(&missing);
        return incomplete;
    }
    if (!read_options(count, words, &o)) {
        fputs("usage: hostile [--seed N] [--count N | --seconds S] [--jobs N] [--handler NAME] [--form N] [--sets N]\n"
              "               [--engine interpreter|jit|checks|mixed] [--every] [--log DIR] [--verbose] [--quiet]\n"
              "               [--plant KIND] [--show FILE --displace BLOCKS]\n"
              "       hostile --table\n",
              stderr);
        return 2;
    }
    vm_device *compiler = o.engine != HOSTILE_INTERPRETER ? open_llvm() : NULL;
    const bool usable = compiler != NULL;
    if (o.engine == HOSTILE_JIT && !usable) {
        puts("SKIP llvm: no libLLVM that can be used");
        return 77;
    }
    job *jobs = mmap(NULL, o.jobs * sizeof *jobs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (jobs == MAP_FAILED) {
        perror("hostile: mmap");
        return 2;
    }
    /* the memory of the driver's device is small, so slow kernels end soon */
    setenv("KILN_SIM_MEMORY", "134217728", 0);
    setenv("KILN_SIM_THREADS", "1", 0);
    setenv("KILN_SIM_STEPS", "100000", 0);
    const double begin = seconds_now();
    run_jobs(&o, jobs, begin + o.seconds, usable);
    const bool good = report(&o, jobs, seconds_now() - begin);
    munmap(jobs, o.jobs * sizeof *jobs);
    vm_device_free(compiler);
    return good ? 0 : 1;
}
