/* Tests the pool of compile workers: processes, order, threads, and workers that hang, crash or send invalid answers.
 * This program plays the bad workers itself: if it starts as a worker, it does what KILN_TEST_WORKER_ACTS says. The
 * suite takes long, because each kind of bad worker has its own case. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "pool.h"
#include "sources.h"

enum { BACKSTOP = 120 }; /* seconds for an action that takes a moment on an idle machine */
static kiln__nvrtc *nvrtc;
static const char *self;

static kiln__compiler *open_pool(const char *worker, unsigned jobs, double timeout)
{
    kiln__compiler *compiler = NULL;
    kiln_error *error = NULL;
    kiln__compiler_options options = {.worker = worker, .jobs = jobs, .timeout = timeout};
    CHECK_OK(kiln__compiler_open(NULL, &options, nvrtc, &compiler, &error), error);
    return compiler;
}

static kiln__compile_job *start(kiln__compiler *compiler, const char *name, const char *source, const char *option)
{
    kiln__compile_job *job = NULL;
    kiln_error *error = NULL;
    kiln__compile_request request = {
        .name = name, .source = source, .arch = 90, .cubin = true, .options = &option, .option_count = option != NULL};
    CHECK_OK(kiln__compile_start(compiler, &request, &job, &error), error);
    return job;
}

static void take_good(kiln__compile_job *job)
{
    kiln__unit unit;
    kiln_error *error = NULL;
    kiln_status status = kiln__compile_take(job, &unit, NULL, &error);
    CHECK_OK(status, error);
    if (status == KILN_OK) {
        CHECK(unit.ptx && strstr(unit.ptx, ".entry") && unit.cubin_length > 64);
        CHECK(memcmp(unit.cubin, "\177ELF", 4) == 0);
    }
    kiln__unit_free(&unit);
}

/* Takes the job's outcome, and checks the status and that the message contains `part`. */
static void take_bad(kiln__compile_job *job, kiln_status wanted, const char *part)
{
    kiln__unit unit;
    kiln_error *error = NULL;
    kiln_status status = kiln__compile_take(job, &unit, NULL, &error);
    bool there = strstr(kiln_error_message(error), part) != NULL;
    if (status != wanted || !there)
        fprintf(stderr, "%s, wanted %s and \"%s\": %s\n", kiln_status_name(status), kiln_status_name(wanted), part,
                kiln_error_message(error));
    CHECK(status == wanted);
    CHECK(there);
    CHECK(unit.block == NULL);
    kiln_error_free(error);
}

static void test_order(const char *worker)
{
    enum { JOBS = 8 };
    kiln__compiler *compiler = open_pool(worker, 2, 60);
    kiln__compile_job *jobs[JOBS];
    char options[JOBS][32];
    for (int i = 0; i < JOBS; i++) {
        snprintf(options[i], sizeof options[i], "-DV=%d", i);
        jobs[i] = start(compiler, "small.cu", source_small, options[i]);
        memset(options[i], 'x', sizeof options[i] - 1); /* changes the caller's text: the request has a copy */
    }
    CHECK(kiln__compile_wait(jobs[JOBS - 1], 60));
    CHECK(kiln__compile_wait(jobs[0], 0) || worker); /* jobs end in the order in which they were started */
    for (int i = JOBS; i-- > 0;)
        take_good(jobs[i]);
    take_bad(start(compiler, "bad.cu", "__global__ void f( {", NULL), KILN_ERROR_COMPILE, "bad.cu(1): error");
    take_good(start(compiler, "small.cu", source_small, NULL));
    kiln__compiler_close(compiler);
}

static void test_workers(void) { test_order(KILN_TEST_WORKER); }

static void test_in_process(void) { test_order(NULL); }

/* Tests a source whose brackets are nested so deeply that the host's stack would overflow. */
static void test_nest(void)
{
    enum { LEVELS = 400000 };
    static const struct {
        const char *before, *after;
    } kinds[] = {{"(", ")"}, {"!", ""}, {"{", "}"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        kiln__text text = {0};
        kiln__text_puts(&text, "// ((\nextern \"C\" __global__ void k(int *x) {\n    *x = '(';\n    *x = ");
        for (int n = 0; n < LEVELS; n++)
            kiln__text_puts(&text, kinds[i].before);
        kiln__text_puts(&text, "1");
        for (int n = 0; n < LEVELS; n++)
            kiln__text_puts(&text, kinds[i].after);
        kiln__text_puts(&text, ";\n}\n");
        kiln__compiler *compiler = open_pool(NULL, 1, 60);
        take_bad(start(compiler, "deep.cu", kiln__text_get(&text), NULL), KILN_ERROR_REFUSED,
                 "deep.cu:4: the source is nested more than 256");
        take_good(start(compiler, "small.cu", source_small, NULL));
        kiln__compiler_close(compiler);
        kiln__text_free(&text);
    }
    kiln__compiler *compiler = open_pool(NULL, 1, 60); /* no source needs a nest of this depth */
    take_good(start(compiler, "shallow.cu",
                    "#define Q(x) ((((((((((x))))))))))\n/* ((((((((((( */\n//(((((\n"
                    "extern \"C\" __global__ void k(int *x) { *x = Q(Q(Q(Q(Q(Q(Q(Q(Q(Q(x[0])))))))))); }\n",
                    NULL));
    kiln__compiler_close(compiler);
}

static void test_timeout(void)
{
    kiln__compiler *compiler = open_pool(KILN_TEST_WORKER, 1, 0.3);
    kiln__compile_job *slow = start(compiler, "slow.cu", source_slow, NULL);
    kiln__compile_job *next = start(compiler, "small.cu", source_small, NULL);
    take_bad(slow, KILN_ERROR_TIMEOUT, "slow.cu: the compile took longer than its limit of 0.3 s");
    CHECK(kiln__compile_wait(next, BACKSTOP));
    take_bad(start(compiler, "slow.cu", source_slow, NULL), KILN_ERROR_TIMEOUT, "limit");
    kiln__compile_cancel(next);
    kiln__compiler_close(compiler);
}

static double processor_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void test_cancel_and_close(void)
{
    setenv("KILN_TEST_WORKER_ACTS", "hang", 1);
    kiln__compiler *compiler = open_pool(self, 1, 2 * BACKSTOP);
    kiln__compile_job *running = start(compiler, "x.cu", source_small, NULL);
    kiln__compile_job *a = start(compiler, "a.cu", source_small, NULL),
                      *b = start(compiler, "b.cu", source_small, NULL);
    kiln__compile_job *c = start(compiler, "c.cu", source_small, NULL);
    kiln__compile_cancel(b);
    kiln__compile_cancel(c);
    CHECK(!kiln__compile_done(running));
    CHECK(!kiln__compile_wait(running, 0.2));
    kiln__compile_cancel(running);
    kiln__compile_cancel(a);
    kiln__compile_cancel(NULL);
    uint64_t begun = kiln__now_ns();
    kiln__compiler_close(compiler); /* closing does not wait for a worker that hangs */
    CHECK(kiln__now_ns() - begun < BACKSTOP * UINT64_C(1000000000));
    unsetenv("KILN_TEST_WORKER_ACTS");
    kiln__compiler_close(open_pool(KILN_TEST_WORKER, 3, 60)); /* never used */
    compiler = open_pool(NULL, 1, 2 * BACKSTOP);
    double used = processor_seconds();
    running = start(compiler, "slow.cu", source_slow, NULL);
    while (processor_seconds() - used < 0.1 && !kiln__compile_wait(running, 0.01)) /* waits until the worker compiles */
        continue;
    CHECK(!kiln__compile_done(running));
    kiln__compile_cancel(running);
    used = processor_seconds();
    kiln__compiler_close(compiler);
    CHECK(processor_seconds() - used < 5 || kiln__nvrtc_version(nvrtc) < 12080);
}

static void acting(const char *act, double timeout, kiln_status wanted, const char *part)
{
    setenv("KILN_TEST_WORKER_ACTS", act, 1);
    kiln__compiler *compiler = open_pool(self, 1, timeout);
    for (int i = 0; i < 2; i++) /* tries again with the worker that replaces the first worker */
        take_bad(start(compiler, "x.cu", source_small, NULL), wanted, part);
    kiln__compiler_close(compiler);
    unsetenv("KILN_TEST_WORKER_ACTS");
}

static void test_bad_workers(void)
{
    acting("exit", 60, KILN_ERROR_NO_COMPILER, "exited with status 3");
    acting("garbage", 60, KILN_ERROR_NO_COMPILER, "sent an invalid answer");
    acting("other", 60, KILN_ERROR_NO_COMPILER, "another NVRTC");
    acting("crash", 60, KILN_ERROR_COMPILE,
           "x.cu: the compile worker died, and so did a second worker, while nothing else compiled: it was ended by "
           "signal 11");
    acting("hang", 0.5, KILN_ERROR_TIMEOUT, "limit of 0.5 s");
    acting("nonsense", 60, KILN_ERROR_INTERNAL, "sent an invalid answer");
    acting("huge", 60, KILN_ERROR_INTERNAL, "sent an invalid answer");
    acting("short", 60, KILN_ERROR_COMPILE, "the compile worker died");
}

/* ---- a pool of mortal workers, which leave marks in a folder: see act_mortal() ---- */

typedef struct marked_pool {
    char folder[32];
    kiln__compiler *compiler;
} marked_pool;

static const char *mark_path(const marked_pool *pool, const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", pool->folder, name);
    return path;
}

static void open_marked(marked_pool *pool, unsigned jobs)
{
    strcpy(pool->folder, "/tmp/kiln-workers-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(pool->folder));
    setenv("KILN_TEST_WORKER_ACTS", "mortal", 1);
    setenv("KILN_TEST_WORKER_MARKS", pool->folder, 1);
    pool->compiler = open_pool(self, jobs, 60);
}

/* Starts a job that waits for the file `go`, and returns when a worker has it. */
static kiln__compile_job *start_waiting(const marked_pool *pool, const char *option)
{
    kiln__compile_job *job = start(pool->compiler, "small.cu", source_small, option);
    while (kiln__compiler_is_quiet(pool->compiler))
        usleep(1000);
    return job;
}

static void let_go(const marked_pool *pool)
{
    char path[128];
    FILE *go = fopen(mark_path(pool, "go", path), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(go);
    fclose(go);
}

/* Closes the pool and removes the folder, which holds `mark` and `busy` and no other mark. */
static void close_marked(marked_pool *pool, const char *mark)
{
    char path[128];
    kiln__compiler_close(pool->compiler);
    CHECK(unlink(mark_path(pool, mark, path)) == 0);
    CHECK(unlink(mark_path(pool, "busy", path)) == 0);
    CHECK(rmdir(pool->folder) == 0);
    unsetenv("KILN_TEST_WORKER_ACTS");
    unsetenv("KILN_TEST_WORKER_MARKS");
}

/* One of the jobs kills its worker the first time. The pool tries this job again while no other job compiles, and all
 * jobs succeed. */
static void test_killed_once(void)
{
    enum { JOBS = 8 };
    marked_pool pool;
    open_marked(&pool, 3);
    kiln__compiler *compiler = pool.compiler;
    kiln__compile_job *jobs[JOBS];
    for (int i = 0; i < JOBS; i++) {
        char option[24];
        snprintf(option, sizeof option, "-DNUMBER=%d", i);
        jobs[i] = start(compiler, "small.cu", source_small, i == 1 ? "-DDIES_ONCE" : option);
    }
    for (int i = 0; i < JOBS; i++)
        take_good(jobs[i]);
    close_marked(&pool, "died"); /* the mark `died` exists: the worker ended. No mark says that two jobs ran together */
}

/* The compiler is held while a job waits. This job starts only after the last release. A job that arrives during the
 * hold starts at once. */
static void test_held(void)
{
    marked_pool pool;
    open_marked(&pool, 1);
    kiln__compiler *compiler = pool.compiler;
    kiln__compile_job *runs = start_waiting(&pool, "-DWAITS");
    kiln__compile_job *waits = start(compiler, "small.cu", source_small, NULL);
    kiln__compile_job *gone = start(compiler, "small.cu", source_small, NULL);
    kiln__compiler_hold(compiler);
    kiln__compiler_hold(compiler);
    kiln__compile_cancel(gone);
    let_go(&pool);
    take_good(runs);
    while (!kiln__compiler_is_quiet(compiler))
        usleep(1000);
    take_good(start(compiler, "small.cu", source_small, NULL));
    kiln__compiler_release(compiler);
    take_good(start(compiler, "small.cu", source_small, NULL));
    CHECK(!kiln__compile_done(waits));
    kiln__compiler_release(compiler);
    take_good(waits);
    close_marked(&pool, "go");
}

/* Equal requests are compiled once, while the first waits and while it runs. Each job gets the outcome, even if
 * another of them is cancelled. */
static void test_same(void)
{
    marked_pool pool;
    open_marked(&pool, 1);
    kiln__compiler *compiler = pool.compiler;
    kiln__compile_job *runs = start_waiting(&pool, "-DWAITS");
    kiln__compile_job *runs_too = start(compiler, "small.cu", source_small, "-DWAITS");
    kiln__compile_job *jobs[6], *broken[2];
    for (int i = 0; i < 6; i++)
        jobs[i] = start(compiler, "small.cu", source_small, i == 5 ? "-DOTHER" : NULL);
    for (int i = 0; i < 2; i++)
        broken[i] = start(compiler, "broken.cu", "nonsense", NULL);
    kiln__compile_cancel(runs);    /* another job wants this result */
    kiln__compile_cancel(jobs[0]); /* another job takes the place of this job */
    kiln__compile_cancel(jobs[2]);
    let_go(&pool);
    int compiled = 0;
    for (int i = 0; i < 6; i++) {
        kiln__unit unit = {0};
        kiln_error *error = NULL;
        uint64_t ns = 0;
        if (i == 0 || i == 2)
            continue;
        CHECK_OK(kiln__compile_take(jobs[i], &unit, &ns, &error), error);
        CHECK(unit.ptx && strstr(unit.ptx, ".entry") && unit.cubin_length > 64);
        compiled += ns > 0;
        kiln__unit_free(&unit);
    }
    CHECK(compiled == 2);
    kiln__unit unit = {0};
    kiln_error *error = NULL;
    uint64_t ns = 1;
    CHECK_OK(kiln__compile_take(runs_too, &unit, &ns, &error), error);
    CHECK(unit.cubin_length > 64 && ns == 0);
    kiln__unit_free(&unit);
    for (int i = 0; i < 2; i++)
        take_bad(broken[i], KILN_ERROR_COMPILE, "broken.cu(1): error");
    close_marked(&pool, "go");
}

static const char source_scales[] =
    "template <int N> __global__ void scale(int *x) { static_assert(N < 100, \"N is too large\"); x[threadIdx.x] *= N; }\n";

static kiln__compile_job *start_kernel(kiln__compiler *compiler, const char *kernel, const char *option, bool together)
{
    kiln__compile_job *job = NULL;
    kiln_error *error = NULL;
    kiln__compile_request request = {.name = "scales.cu",
                                     .source = source_scales,
                                     .arch = 90,
                                     .cubin = true,
                                     .options = &option,
                                     .option_count = option != NULL,
                                     .names = &kernel,
                                     .name_count = 1,
                                     .together = together};
    CHECK_OK(kiln__compile_start(compiler, &request, &job, &error), error);
    return job;
}

/* Takes a job. Checks that its code has `entries` kernels, and that the job's result names only its own kernel. */
static uint64_t take_kernel(kiln__compile_job *job, const char *kernel, int entries)
{
    kiln__unit unit = {0};
    kiln_error *error = NULL;
    uint64_t ns = 0;
    CHECK_OK(kiln__compile_take(job, &unit, &ns, &error), error);
    int found = 0, told = 0;
    for (const char *at = unit.ptx; at && (at = strstr(at, ".entry")) != NULL; at++)
        found++;
    for (const char *at = unit.log; at && (at = strstr(at, "Compiling entry function")) != NULL; at++)
        told++;
    CHECK(found == entries);
    CHECK(told == 1);
    CHECK_TEXT(unit.lowered, kernel);
    if (unit.lowered) {
        const char *symbol = unit.lowered + strlen(kernel) + 1;
        CHECK(symbol + strlen(symbol) + 1 == unit.lowered + unit.lowered_length); /* one pair */
        CHECK(unit.log && strstr(unit.log, symbol));
        CHECK(unit.ptx && strstr(unit.ptx, symbol));
    }
    kiln__unit_free(&unit);
    return ns;
}

/* Requests that differ only in their kernels, and that allow it, share one compile. If this compile fails, each
 * request is compiled alone and has its own error. */
static void test_groups(void)
{
    char path[128];
    marked_pool pool;
    open_marked(&pool, 1);
    kiln__compiler *compiler = pool.compiler;
    kiln__compile_job *first = start_waiting(&pool, "-DWAITS");
    kiln__compile_job *two = start_kernel(compiler, "scale<2>", NULL, true);
    kiln__compile_job *gone = start_kernel(compiler, "scale<3>", NULL, true);
    kiln__compile_job *four = start_kernel(compiler, "scale<4>", NULL, true);
    kiln__compile_job *alone = start_kernel(compiler, "scale<5>", NULL, false);
    kiln__compile_job *other = start_kernel(compiler, "scale<6>", "-DOTHER", true);
    kiln__compile_job *twin = start_kernel(compiler, "scale<2>", NULL, true);
    kiln__compile_job *seven = start_kernel(compiler, "scale<7>", NULL, true);
    kiln__compile_cancel(gone);
    let_go(&pool);
    CHECK(take_kernel(two, "scale<2>", 3) > 0);
    CHECK(take_kernel(four, "scale<4>", 3) > 0);
    CHECK(take_kernel(twin, "scale<2>", 3) == 0);
    CHECK(take_kernel(seven, "scale<7>", 3) > 0);
    CHECK(take_kernel(alone, "scale<5>", 1) > 0);
    CHECK(take_kernel(other, "scale<6>", 1) > 0);
    take_good(first);
    CHECK(unlink(mark_path(&pool, "go", path)) == 0);
    first = start_waiting(&pool, "-DWAITS=2");
    two = start_kernel(compiler, "scale<20>", NULL, true);
    kiln__compile_job *bad = start_kernel(compiler, "scale<200>", NULL, true);
    four = start_kernel(compiler, "scale<40>", NULL, true);
    let_go(&pool);
    take_kernel(four, "scale<40>", 1);
    take_bad(bad, KILN_ERROR_COMPILE, "N is too large");
    take_kernel(two, "scale<20>", 1);
    kiln__compile_cancel(first);
    close_marked(&pool, "go");
}

/* During a hold, a group of jobs fails. Its jobs are compiled alone during the hold: they do not wait for the
 * release. */
static void test_group_in_hold(void)
{
    marked_pool pool;
    open_marked(&pool, 1);
    kiln__compiler *compiler = pool.compiler;
    kiln__compile_job *first = start_waiting(&pool, "-DWAITS");
    kiln__compile_job *waits = start_kernel(compiler, "scale<10>", NULL, true);
    kiln__compiler_hold(compiler);
    kiln__compile_job *two = start_kernel(compiler, "scale<20>", NULL, true);
    kiln__compile_job *bad = start_kernel(compiler, "scale<200>", NULL, true);
    let_go(&pool);
    /* stays true if the only slot takes the next job before another thread can see that the pool is quiet */
    bool begun = true;
    while (begun && !kiln__compile_done(two)) {
        usleep(1000);
        begun = !kiln__compiler_is_quiet(compiler) || kiln__compile_begun(two);
    }
    CHECK(begun);
    CHECK(!kiln__compile_begun(waits));
    if (!begun)
        kiln__compiler_release(compiler);
    take_kernel(two, "scale<20>", 1);
    take_bad(bad, KILN_ERROR_COMPILE, "N is too large");
    if (begun)
        kiln__compiler_release(compiler);
    take_kernel(waits, "scale<10>", 1);
    take_good(first);
    close_marked(&pool, "go");
}

/* Tests a hostile worker that names no symbol for a kernel. The log is the last part of the unit, and the host must not
 * read past its end. */
static void test_group_hostile(void)
{
    const char *kernel = "own";
    kiln_error *error = NULL;
    kiln__text member = {0};
    kiln__compile_request request = {.name = "a.cu", .source = "", .names = &kernel, .name_count = 1};
    const kiln__unit parts = {.lowered = "other\0", .lowered_length = 7, .log = "word", .log_length = 4};
    kiln__unit whole = {0}, part = {0};
    const size_t names = kiln__message_request(&member, &request);
    CHECK_OK(kiln__unit_make(NULL, &parts, &whole, &error), error);
    CHECK_OK(kiln__group_part(NULL, &whole, &member, names, &part, &error), error);
    CHECK(part.lowered_length == 0);
    CHECK_TEXT(part.log, "word");
    kiln__unit_free(&whole);
    kiln__unit_free(&part);
    kiln__text_free(&member);
}

/* ---- random requests, of several threads, in one pool ---- */

enum { RANDOM_THREADS = 3, RANDOM_JOBS = 6, RANDOM_KERNELS = 9, RANDOM_STEPS = 300 };

typedef struct random_user {
    kiln__compiler *compiler;
    uint64_t state; /* the state of the thread's random numbers */
    bool holds;     /* true if the thread sometimes holds the pool */
    int steps, wrong;
} random_user;

static unsigned pick(random_user *u, unsigned limit)
{
    u->state ^= u->state << 13, u->state ^= u->state >> 7, u->state ^= u->state << 17;
    return (unsigned)(u->state >> 33) % limit;
}

/* Starts one of a few different requests, so that many requests are equal or fit into a group. Kernel 0 does not
 * compile. */
static kiln__compile_job *start_random(random_user *u, unsigned *kernel)
{
    char name[32], option[32];
    const char *names = name, *options = option;
    kiln__compile_job *job = NULL;
    *kernel = pick(u, RANDOM_KERNELS);
    snprintf(name, sizeof name, *kernel ? "k<%u>" : "bad", *kernel);
    snprintf(option, sizeof option, "-DV=%u", pick(u, 2));
    kiln__compile_request request = {.name = "random.cu",
                                     .source = "",
                                     .arch = 90,
                                     .options = &options,
                                     .option_count = 1,
                                     .names = &names,
                                     .name_count = 1,
                                     .together = pick(u, 8) != 0};
    u->wrong += kiln__compile_start(u->compiler, &request, &job, NULL) != KILN_OK;
    return job;
}

/* Takes a job, and counts an outcome that does not fit its kernel. If a worker ended twice, the error is a valid
 * outcome. */
static void take_random(random_user *u, kiln__compile_job *job, unsigned kernel)
{
    char name[32];
    kiln__unit unit;
    kiln_error *error = NULL;
    const int length = snprintf(name, sizeof name, "k<%u>", kernel) + 1;
    const kiln_status status = kiln__compile_take(job, &unit, NULL, &error);
    const bool died = strstr(kiln_error_message(error), "ended") || strstr(kiln_error_message(error), "signal");
    if (status == KILN_OK)
        u->wrong += !kernel || unit.lowered_length != 2 * (size_t)length || strcmp(unit.lowered, name) != 0 ||
                    strcmp(unit.lowered + length, name) != 0;
    else if (!died && (kernel || strcmp(kiln_error_message(error), "bad kernel") != 0)) {
        fprintf(stderr, "%s: %s\n", name, kiln_error_message(error));
        u->wrong++;
    }
    kiln__unit_free(&unit);
    kiln_error_free(error);
}

static void *request_randomly(void *user)
{
    random_user *u = user;
    kiln__compile_job *jobs[RANDOM_JOBS] = {NULL};
    unsigned kernels[RANDOM_JOBS], kernel;
    for (int step = 0; step < u->steps; step++) {
        const unsigned at = pick(u, RANDOM_JOBS), action = pick(u, 8);
        if (!jobs[at]) {
            jobs[at] = start_random(u, &kernels[at]);
        } else if (action < 2) {
            kiln__compile_cancel(jobs[at]);
            jobs[at] = NULL;
        } else if (action < 4 || kiln__compile_done(jobs[at])) {
            take_random(u, jobs[at], kernels[at]);
            jobs[at] = NULL;
        } else if (u->holds) { /* a job of the hold ends before the release */
            kiln__compiler_hold(u->compiler);
            kiln__compile_job *other = start_random(u, &kernels[at]), *job = start_random(u, &kernel);
            take_random(u, job, kernel);
            kiln__compiler_release(u->compiler);
            kiln__compile_cancel(jobs[at]);
            jobs[at] = other;
        }
    }
    for (int i = 0; i < RANDOM_JOBS; i++)
        kiln__compile_cancel(jobs[i]);
    return NULL;
}

/* Threads request, cancel and hold at random, some groups fail, and workers end. Every job must still have an outcome
 * that fits its kernel. */
static void test_random(void)
{
    const char *steps = getenv("KILN_TEST_STEPS"), *seed = getenv("KILN_TEST_SEED");
    random_user users[RANDOM_THREADS];
    pthread_t threads[RANDOM_THREADS];
    setenv("KILN_TEST_WORKER_ACTS", "random", 1);
    kiln__compiler *compiler = open_pool(self, 2, 60);
    for (int i = 0; i < RANDOM_THREADS; i++) {
        const uint64_t number = (seed ? strtoul(seed, NULL, 10) : 1U) * (unsigned)RANDOM_THREADS + (uint64_t)i + 1;
        users[i] = (random_user){.compiler = compiler,
                                 .state = number * 0x9e3779b97f4a7c15u,
                                 .holds = i == 0,
                                 .steps = steps ? atoi(steps) : RANDOM_STEPS};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, request_randomly, &users[i]), 0);
    }
    for (int i = 0; i < RANDOM_THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(users[i].wrong == 0);
    }
    kiln__compiler_close(compiler);
    unsetenv("KILN_TEST_WORKER_ACTS");
}

/* Returns the process id of the pool's worker. If the system ends a worker between two jobs, no job may fail. */
static pid_t worker_of_ours(void)
{
    DIR *folder = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *item; folder && (item = readdir(folder));) {
        char path[300], text[256] = "";
        snprintf(path, sizeof path, "/proc/%s/stat", item->d_name);
        int fd = item->d_name[0] >= '0' && item->d_name[0] <= '9' ? open(path, O_RDONLY) : -1;
        int parent = 0;
        if (fd >= 0 && read(fd, text, sizeof text - 1) > 0 && strstr(text, "(kiln-worker)") &&
            sscanf(strrchr(text, ')') + 1, " %*c %d", &parent) == 1 && parent == getpid())
            found = atoi(item->d_name);
        if (fd >= 0)
            close(fd);
    }
    if (folder)
        closedir(folder);
    return found;
}

static void test_killed_idle(void)
{
    kiln__compiler *compiler = open_pool(KILN_TEST_WORKER, 1, 60);
    take_good(start(compiler, "small.cu", source_small, NULL));
    pid_t worker = worker_of_ours();
    CHECK(worker > 0);
    if (worker > 0)
        kill(worker, SIGKILL);
    siginfo_t gone;
    /* the worker has ended, and only the pool may wait for it */
    CHECK(waitid(P_PID, (id_t)worker, &gone, WEXITED | WNOWAIT) == 0);
    take_good(start(compiler, "small.cu", source_small, NULL));
    kiln__compiler_close(compiler);
    CHECK(worker_of_ours() == 0);
}

static void count_warning(void *user, kiln_log_level level, const char *message)
{
    *(int *)user += level == KILN_LOG_WARNING && strstr(message, "worker") != NULL;
}

static void test_no_worker(void)
{
    int warnings = 0;
    kiln__log log = {count_warning, &warnings};
    kiln__compiler *compiler = NULL;
    kiln_error *error = NULL;
    kiln__compiler_options options = {.worker = "/nonexistent/kiln-worker", .jobs = 2, .timeout = 60, .log = &log};
    CHECK_OK(kiln__compiler_open(NULL, &options, nvrtc, &compiler, &error), error);
    CHECK(warnings == 1);
    take_good(start(compiler, "small.cu", source_small, NULL));
    kiln__compiler_close(compiler);
}

/* Uses one pool from many threads. This test is mainly for TSan. */
static void *hammer(void *user)
{
    for (int i = 0; i < 3; i++) {
        kiln__compile_job *kept = start(user, "small.cu", source_small, NULL);
        kiln__compile_job *dropped = start(user, "small.cu", source_small, "-DX");
        while (!kiln__compile_wait(kept, 0.01))
            continue;
        take_good(kept);
        kiln__compile_cancel(dropped);
    }
    return NULL;
}

static void test_threads(void)
{
    kiln__compiler *compiler = open_pool(KILN_TEST_WORKER, 2, 60);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, hammer, compiler) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    kiln__compiler_close(compiler);
}

/* Truncates each message at every place, and changes many bytes. The reader must refuse or read the message, and never
 * read past it. */
static void test_messages(void)
{
    kiln__include header = {.name = "a.h", .text = "#define A\n"};
    const char *options[] = {"-DX=1", "-w"}, *names[] = {"k"};
    kiln__compile_request request = {.name = "n",
                                     .source = "s",
                                     .includes = &header,
                                     .include_count = 1,
                                     .options = options,
                                     .option_count = 2,
                                     .arch = 90,
                                     .cubin = true,
                                     .names = names,
                                     .name_count = 1};
    kiln__unit unit = {.ptx = "ptx", .ptx_length = 3, .cubin = "cubin", .cubin_length = 5}, back;
    kiln__text messages[2] = {{0}};
    kiln__message_request(&messages[0], &request);
    kiln__message_result(&messages[1], KILN_OK, 77, &unit, "why", true, true);
    const size_t skip = sizeof(kiln__message_header);
    for (int kind = 0; kind < 2; kind++) {
        size_t length = messages[kind].length - skip;
        for (size_t at = 0; at <= 2 * length; at++) {
            size_t size = at <= length ? at : length;
            /* the block is exactly as large as the message, so that ASan sees a read past it */
            char *body = malloc(size ? size : 1);
            memcpy(body, messages[kind].data + skip, size);
            if (at > length)
                body[at - length - 1] = (char)~body[at - length - 1];
            kiln__arena arena = {0};
            kiln__compile_request copy;
            kiln_status status;
            uint64_t ns;
            bool passing = false, pch = false;
            const char *why;
            bool good = kind == 0 ? kiln__message_read_request(body, size, &arena, &copy)
                                  : kiln__message_read_result(body, size, &status, &ns, &back, &why, &passing, &pch);
            CHECK(!good || at >= length);
            if (at == length && kind == 0) {
                CHECK(good && copy.option_count == 2 && copy.name_count == 1 && copy.include_count == 1);
                CHECK_TEXT(copy.options[1], "-w");
                CHECK_TEXT(copy.includes[0].text, "#define A\n");
            } else if (at == length) {
                CHECK(good && ns == 77 && passing && pch && back.cubin_length == 5 && back.lowered_length == 0);
            }
            kiln__arena_free(&arena);
            free(body);
        }
        kiln__text_free(&messages[kind]);
    }
}

/* Runs the worker's loop in this process, over a socket, for the leak checker and for bad requests. */
static void *run_worker(void *user)
{
    int fd = *(int *)user;
    int status = kiln__worker_run(fd, kiln__nvrtc_path(nvrtc), kiln__nvrtc_include(nvrtc), NULL, false, false);
    close(fd);
    return (void *)(intptr_t)status;
}

static void test_worker_loop(void)
{
    for (int bad = 0; bad < 2; bad++) {
        int pair[2];
        pthread_t thread;
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        CHECK(pthread_create(&thread, NULL, run_worker, &pair[1]) == 0);
        kiln__message_header header;
        char body[4096];
        CHECK(recv(pair[0], &header, sizeof header, MSG_WAITALL) == sizeof header);
        CHECK(header.kind == KILN__MESSAGE_HELLO && header.length < sizeof body);
        CHECK(recv(pair[0], body, (size_t)header.length, MSG_WAITALL) == (ssize_t)header.length);
        kiln__compile_request request = {.name = "x.cu", .source = source_small, .arch = 90};
        kiln__text message = {0};
        kiln__message_request(&message, &request);
        if (bad)
            message.data[sizeof header + 2] = 1; /* the length exceeds the message */
        CHECK(send(pair[0], message.data, message.length, MSG_NOSIGNAL) == (ssize_t)message.length);
        ssize_t got = recv(pair[0], &header, sizeof header, MSG_WAITALL);
        CHECK(bad ? got == 0 : got == sizeof header && header.kind == KILN__MESSAGE_RESULT);
        kiln__text_free(&message);
        shutdown(pair[0], SHUT_WR);
        while (recv(pair[0], body, sizeof body, 0) > 0)
            continue;
        close(pair[0]);
        void *status = NULL;
        pthread_join(thread, &status);
        CHECK((status != NULL) == bad);
    }
}

static void test_oom(void)
{
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__compiler *compiler = NULL;
        kiln_error *error = NULL;
        kiln__compiler_options options = {.worker = KILN_TEST_WORKER, .jobs = 2, .timeout = 60};
        kiln__compile_request request = {.name = "small.cu", .source = source_small, .arch = 90};
        kiln_status status = kiln__compiler_open(&mem, &options, nvrtc, &compiler, &error);
        kiln__compile_job *job = NULL;
        if (status == KILN_OK)
            status = kiln__compile_start(compiler, &request, &job, &error);
        kiln__unit unit = {0};
        uint64_t ns = 0;
        if (status == KILN_OK && kiln__compile_wait(job, -1))
            status = kiln__compile_take(job, &unit, &ns, &error);
        kiln__unit_free(&unit);
        kiln__compiler_close(compiler);
        kiln_error_free(error);
        bool last = !oom.failed; /* the compiler has no running thread now */
        CHECK(last ? status == KILN_OK : status == KILN_ERROR_MEMORY);
        CHECK(oom.live == 0);
        if (last)
            break;
    }
}

/* A request's source may differ from the source that includes.c has read. A worker must open nothing but CUDA's
 * headers, whatever the source says. Returns true if the text of the file outside is in the result. */
static bool shows_secret(const char *source, const char *path)
{
    kiln__compiler *compiler = open_pool(KILN_TEST_WORKER, 1, 60);
    kiln__text text = {0};
    kiln__text_printf(&text, source, path);
    kiln__unit unit;
    kiln_error *error = NULL;
    kiln_status status = kiln__compile_take(start(compiler, "x.cu", kiln__text_get(&text), "-std=c++14"), &unit, NULL,
                                            &error);
    CHECK(status == KILN_ERROR_COMPILE);
    bool shown = strstr(kiln_error_message(error), "secret_text_of_it") != NULL;
    kiln__unit_free(&unit);
    kiln_error_free(error);
    kiln__text_free(&text);
    kiln__compiler_close(compiler);
    return shown;
}

/* Counts the warnings about fewer workers. The workers share the free memory. If the memory is short, there are fewer
 * workers. If a compile uses up its share, only this compile ends. */
static void note_fewer(void *user, kiln_log_level level, const char *message)
{
    (void)level;
    if (strstr(message, "2 workers instead of 8"))
        ++*(int *)user;
}

static void test_memory(void)
{
    static const char eater[] = "__device__ int big[1u << 30] = {1};\n"
                                "extern \"C\" __global__ void k(int *x) { *x = big[*x]; }\n";
    int fewer = 0;
    kiln__log log = {.fn = note_fewer, .user = &fewer};
    kiln__compiler *compiler = NULL;
    kiln_error *error = NULL;
    kiln__compiler_options options = {
        .worker = KILN_TEST_WORKER, .jobs = 8, .timeout = 120, .log = &log, .memory = (uint64_t)5 << 29};
    CHECK_OK(kiln__compiler_open(NULL, &options, nvrtc, &compiler, &error), error);
    CHECK(fewer == 1);
    /* a build with a sanitizer has no limit on memory */
    kiln__compile_job *hungry = KILN__SANITIZED ? NULL : start(compiler, "hungry.cu", eater, NULL);
    kiln__compile_job *other = start(compiler, "small.cu", source_small, NULL);
    take_good(other);
    if (hungry)
        take_bad(hungry, KILN_ERROR_COMPILE, "memory");
    take_good(start(compiler, "small.cu", source_small, NULL));
    kiln__compiler_close(compiler);
}

static void count_unconfined(void *user, kiln_log_level level, const char *message)
{
    if (level == KILN_LOG_WARNING && strstr(message, "not confined"))
        ++*(int *)user;
}

static void test_confined(void)
{
    static const char *const kinds[] = {"landlock", "namespace"};
    static const char plain[] = "#include \"%s\"\n", trigraph[] = "?\?=inc?\?/\nlude \"%s\"\n",
                      headers[] = "#include <cuda_fp16.h>\nextern \"C\" __global__ void k(__half *x) { *x = 1; }\n";
    char path[] = "/tmp/kiln-secret-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "secret_text_of_it\n", 18) == 18);
    close(fd);
    for (size_t i = 0; i < 2; i++) {
        char *how = NULL;
        bool confined = false;
        kiln_error *error = NULL;
        setenv("KILN_CONFINE", kinds[i], 1);
        CHECK_OK(kiln__worker_look(NULL, KILN_TEST_WORKER, nvrtc, &confined, &how, &error), error);
        if (confined) {
            CHECK(!shows_secret(plain, path));
            CHECK(!shows_secret(trigraph, path));
            kiln__compiler *compiler = open_pool(KILN_TEST_WORKER, 1, 60);
            take_good(start(compiler, "headers.cu", headers, NULL));
            kiln__compiler_close(compiler);
        } else {
            printf("SKIP confine: no confinement by %s: %s\n", kinds[i], how ? how : "");
        }
        kiln__free(NULL, how);
    }
    setenv("KILN_CONFINE", "none", 1);
    /* the control: if an unconfined compile does not show the secret, the lines above prove nothing */
    CHECK(shows_secret(plain, path));
    int warnings = 0;
    kiln__log log = {.fn = count_unconfined, .user = &warnings};
    kiln__compiler *compiler = NULL;
    kiln_error *error = NULL;
    kiln__compiler_options options = {.worker = KILN_TEST_WORKER, .jobs = 2, .timeout = 60, .log = &log};
    CHECK_OK(kiln__compiler_open(NULL, &options, nvrtc, &compiler, &error), error);
    kiln__compile_job *a = start(compiler, "a.cu", source_small, NULL),
                      *b = start(compiler, "b.cu", source_small, NULL);
    take_good(a);
    take_good(b);
    kiln__compiler_close(compiler);
    CHECK(warnings == 1);
    unsetenv("KILN_CONFINE");
    CHECK(unlink(path) == 0);
}

/* ---- this program as a bad worker ---- */

/* Returns the page faults of a worker that made `count` compiles. */
static long faults_of(int count)
{
    struct rusage before, after;
    getrusage(RUSAGE_CHILDREN, &before);
    kiln__compiler *compiler = open_pool(KILN_TEST_WORKER, 1, BACKSTOP);
    for (int i = 0; i < count; i++) {
        char option[32];
        snprintf(option, sizeof option, "-DV=%d", i);
        take_good(start(compiler, "matmul.cu", source_matmul, option));
    }
    kiln__compiler_close(compiler); /* closing has waited for the worker */
    getrusage(RUSAGE_CHILDREN, &after);
    return after.ru_minflt - before.ru_minflt;
}

/* A worker keeps the memory of a compile for the next compile, which then has a fraction of the page faults of the
 * first. */
static void test_kept_memory(void)
{
    enum { MORE = 4 };
    if (KILN__SANITIZED) {
        fprintf(stderr, "SKIP build: sanitizers have an allocator of their own\n");
        return;
    }
    long one = faults_of(1), each = (faults_of(1 + MORE) - one) / MORE;
    if (3 * each >= one)
        fprintf(stderr, "faults: %ld for the first compile, %ld for each further\n", one, each);
    CHECK(3 * each < one);
}

static void hello(const char *identity)
{
    kiln__text text = {0};
    kiln__hello mine = {.identity = identity, .confined = true, .how = "an actor"};
    kiln__message_hello(&text, KILN_OK, &mine);
    send(STDIN_FILENO, text.data, text.length, MSG_NOSIGNAL);
    kiln__text_free(&text);
}

static int mark(const char *name, int flags)
{
    char path[256];
    const char *marks = getenv("KILN_TEST_WORKER_MARKS");
    snprintf(path, sizeof path, "%s/%s", marks ? marks : "/nowhere", name);
    return open(path, O_CREAT | O_RDWR | O_CLOEXEC | flags, 0600);
}

static bool is_marked(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", getenv("KILN_TEST_WORKER_MARKS"), name);
    return access(path, F_OK) == 0;
}

/* Compiles while it holds a share of the file `busy`. At the second try, the request that killed its worker asks for an
 * exclusive lock of `busy`. A request that waits, waits for the file `go`. */
static int act_mortal(void)
{
    kiln__message_header header;
    char *body = NULL;
    int busy = mark("busy", 0);
    while (busy >= 0 && kiln__socket_message(STDIN_FILENO, &header, &body)) {
        kiln__arena arena = {0};
        kiln__text message = {0};
        kiln__compile_request request;
        kiln__unit unit = {0};
        kiln_error *error = NULL;
        uint64_t ns = 0;
        bool dies = memmem(body, (size_t)header.length, "-DDIES_ONCE", 11) != NULL;
        if (dies && mark("died", O_EXCL) >= 0)
            raise(SIGKILL);
        if (flock(busy, (dies ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0)
            mark("not-alone", 0);
        while (memmem(body, (size_t)header.length, "-DWAITS", 7) && !is_marked("go"))
            usleep(1000);
        if (!kiln__message_read_request(body, (size_t)header.length, &arena, &request))
            return 5;
        kiln_status status = kiln__compile_here(NULL, nvrtc, &request, NULL, 0, &unit, &ns, &error);
        usleep(20000); /* long enough that the compiles of several workers overlap */
        flock(busy, LOCK_UN);
        kiln__message_result(&message, status, ns, &unit, kiln_error_message(error), kiln__error_is_passing(error),
                             false);
        if (!kiln__socket_send(STDIN_FILENO, &message))
            return 6;
        kiln__unit_free(&unit);
        kiln_error_free(error);
        kiln__text_free(&message);
        kiln__arena_free(&arena);
        kiln__free(NULL, body);
    }
    return 0;
}

/* Acts as a worker that answers without a compile: the symbol of a kernel is its name, and the kernel `bad` is an
 * error. The worker sometimes ends. */
static int act_random(void)
{
    kiln__message_header header;
    char *body = NULL;
    unsigned state = (unsigned)getpid();
    while (kiln__socket_message(STDIN_FILENO, &header, &body)) {
        kiln__arena arena = {0};
        kiln__text message = {0}, lowered = {0};
        kiln__compile_request request;
        bool bad = false;
        if (!kiln__message_read_request(body, (size_t)header.length, &arena, &request))
            return 5;
        state = state * 1664525 + 1013904223;
        if (state >> 28 == 0)
            raise(SIGKILL);
        usleep(state >> 21);
        for (size_t i = 0; i < request.name_count; i++) {
            bad = bad || strcmp(request.names[i], "bad") == 0;
            for (int twice = 0; twice < 2; twice++)
                kiln__text_add(&lowered, request.names[i], strlen(request.names[i]) + 1);
        }
        const kiln__unit unit = {
            .lowered = lowered.data, .lowered_length = lowered.length, .ptx = ".entry", .ptx_length = 6};
        kiln__message_result(&message, bad ? KILN_ERROR_COMPILE : KILN_OK, 1000, bad ? NULL : &unit,
                             bad ? "bad kernel" : "", false, false);
        if (!kiln__socket_send(STDIN_FILENO, &message))
            return 6;
        kiln__text_free(&message);
        kiln__text_free(&lowered);
        kiln__arena_free(&arena);
        kiln__free(NULL, body);
    }
    return 0;
}

static int act(const char *as, const char *library, const char *include)
{
    char request[1 << 16];
    if (strcmp(as, "exit") == 0)
        return 3;
    if (strcmp(as, "garbage") == 0) {
        send(STDIN_FILENO, "HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", 30, MSG_NOSIGNAL);
        pause();
    }
    kiln_error *error = NULL;
    if (kiln__nvrtc_open_file(NULL, library, include, &nvrtc, &error) != KILN_OK)
        return 4;
    hello(strcmp(as, "other") == 0 ? "nvrtc 0.1" : kiln__nvrtc_identity(nvrtc));
    if (strcmp(as, "mortal") == 0)
        return act_mortal();
    if (strcmp(as, "random") == 0)
        return act_random();
    if (recv(STDIN_FILENO, request, sizeof request, 0) <= 0)
        return 0;
    kiln__message_header header = {.magic = KILN__MESSAGE_MAGIC, .kind = KILN__MESSAGE_RESULT, .length = 64};
    char body[64];
    memset(body, 0xff, sizeof body);
    if (strcmp(as, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL); /* removes the sanitizer's own handler */
        raise(SIGSEGV);
    }
    if (strcmp(as, "huge") == 0)
        header.length = UINT64_MAX;
    send(STDIN_FILENO, &header, strcmp(as, "hang") == 0 ? 0 : sizeof header, MSG_NOSIGNAL);
    if (strcmp(as, "nonsense") == 0)
        send(STDIN_FILENO, body, sizeof body, MSG_NOSIGNAL);
    if (strcmp(as, "short") == 0)
        return 0;
    pause();
    return 0;
}

/* This is no test. `compile_test_workers time` prints the times of compiles on this machine: alone, and for each number
 * of workers. */
static double seconds_for(const char *worker, unsigned jobs, const char *source, bool cubin, double *each)
{
    enum { COUNT = 24 };
    kiln__compiler_options options = {.worker = worker, .jobs = jobs, .timeout = 60};
    kiln__compiler *compiler = NULL;
    kiln__compile_job *list[COUNT] = {NULL}, *warm = NULL;
    kiln__compile_request request = {.name = "x.cu", .source = source, .arch = 90, .cubin = cubin, .option_count = 1};
    if (kiln__compiler_open(NULL, &options, nvrtc, &compiler, NULL) != KILN_OK)
        return -1;
    kiln__unit unit;
    uint64_t ns, total = 0;
    const char *first = "-DWARM";
    request.options = &first;
    for (unsigned i = 0; i < jobs; i++) /* every worker must have loaded its NVRTC */
        if (kiln__compile_start(compiler, &request, &list[i], NULL) != KILN_OK)
            return -1;
    for (unsigned i = 0; i < jobs; i++) {
        warm = list[i];
        if (kiln__compile_take(warm, &unit, &ns, NULL) == KILN_OK)
            kiln__unit_free(&unit);
    }
    uint64_t begun = kiln__now_ns();
    for (int i = 0; i < COUNT; i++) {
        char option[32];
        const char *given = option;
        snprintf(option, sizeof option, "-DTILE_M=%d", 64 + 64 * (i % 2));
        request.options = &given;
        if (kiln__compile_start(compiler, &request, &list[i], NULL) != KILN_OK)
            return -1;
    }
    for (int i = 0; i < COUNT; i++)
        if (kiln__compile_take(list[i], &unit, &ns, NULL) == KILN_OK) {
            total += ns;
            kiln__unit_free(&unit);
        }
    double wall = (double)(kiln__now_ns() - begun) / 1e9;
    kiln__compiler_close(compiler);
    *each = (double)total / 1e6 / COUNT;
    return wall;
}

/* Returns the median time in milliseconds from starting a worker until it is ready. */
static double start_ms(const char *confine)
{
    enum { COUNT = 31 };
    double times[COUNT];
    setenv("KILN_CONFINE", confine, 1);
    for (int i = 0; i < COUNT; i++) {
        uint64_t begun = kiln__now_ns();
        char *how = NULL;
        bool confined;
        if (kiln__worker_look(NULL, KILN_TEST_WORKER, nvrtc, &confined, &how, NULL) != KILN_OK)
            return -1;
        kiln__free(NULL, how);
        times[i] = (double)(kiln__now_ns() - begun) / 1e6;
        for (int j = i; j > 0 && times[j - 1] > times[j]; j--) {
            double swap = times[j];
            times[j] = times[j - 1];
            times[j - 1] = swap;
        }
    }
    unsetenv("KILN_CONFINE");
    return times[COUNT / 2];
}

static int print_times(void)
{
    printf("a worker is ready after %.2f ms; unconfined %.2f, in a namespace %.2f\n", start_ms(""), start_ms("none"),
           start_ms("namespace"));
    static const struct {
        const char *name, *source;
    } rows[] = {{"small", source_small}, {"matmul", source_matmul}};
    for (size_t i = 0; i < 2; i++)
        for (int cubin = 0; cubin < 2; cubin++) {
            double each[3], one = seconds_for(KILN_TEST_WORKER, 1, rows[i].source, cubin, &each[0]);
            double two = seconds_for(KILN_TEST_WORKER, 2, rows[i].source, cubin, &each[1]);
            double here = seconds_for(NULL, 1, rows[i].source, cubin, &each[2]);
            printf("%-6s %s: one worker %.2f s (%.1f ms each), two %.2f s (%.1f ms each), %.2fx; in this process %.2f "
                   "s\n",
                   rows[i].name, cubin ? "PTX + cubin" : "PTX", one, each[0], two, each[1], one / two, here);
        }
    return 0;
}

static const check_case cases[] = {
    {"messages", test_messages},
    {"workers", test_workers},
    {"in this process", test_in_process},
    {"nests", test_nest},
    {"time limit", test_timeout},
    {"cancel and close", test_cancel_and_close},
    {"bad workers", test_bad_workers},
    {"killed while idle", test_killed_idle},
    {"a worker that is killed once", test_killed_once},
    {"a compiler that is held", test_held},
    {"the same request", test_same},
    {"groups", test_groups},
    {"group_in_hold", test_group_in_hold},
    {"group_hostile", test_group_hostile},
    {"random", test_random},
    {"no worker", test_no_worker},
    {"confined", test_confined},
    {"memory", test_memory},
    {"kept memory", test_kept_memory},
    {"threads", test_threads},
    {"the worker's loop", test_worker_loop},
    {"out of memory", test_oom},
};

int main(int count, char **arguments)
{
    const char *as = getenv("KILN_TEST_WORKER_ACTS");
    if (count == 9 && as)
        return act(as, arguments[4], arguments[6]);
    self = "/proc/self/exe";
    char path[4096];
    ssize_t length = readlink(self, path, sizeof path - 1);
    if (length > 0) {
        path[length] = '\0';
        self = path;
    }
    kiln_error *error = NULL;
    if (kiln__nvrtc_open(NULL, &nvrtc, &error) != KILN_OK) {
        printf("SKIP nvrtc: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        return 77;
    }
    if (count == 2 && strcmp(arguments[1], "time") == 0)
        return print_times();
    int failed = check_main(count, arguments, "workers", cases, sizeof cases / sizeof *cases);
    kiln__nvrtc_close(nvrtc);
    return failed;
}
