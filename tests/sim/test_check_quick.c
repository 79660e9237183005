/* Compares the checks that use vectors (check/quick.c) with the checks that visit each cell, which KILN_SIM_ISA=base
 * chooses. Both check random orders of accesses, many of them wrong. They must have the same findings, and leave the
 * same marks in shadow memory. Some programs also run as compiled code. */
#include "check_bench.h"
#include "line_internal.h"
#include "quick_internal.h"
#include "vm_checks_internal.h"
#include "vm_memory.h"

enum { STEPS = 250, PROGRAMS = 300, MEMORY = 2048, CONSTANTS = 1024, KINDS = 16 };

static uint32_t next(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

/* Makes steps of a program. A step often follows several times in a row at other places. The kinds of steps are chosen
 * first, so that some programs are almost right, and their marks become old. */
static void make_steps(int32_t steps[STEPS][4], uint64_t seed)
{
    static const int32_t fars[] = {0, 1, 2, 4, 4, 4, 8, -4, 6, 12, 16, 128};
    static const uint32_t masks[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, 0xffff, 0xffff0000, 0x0f0f0f0f, 1, 0xfff};
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    const uint32_t kinds = 3 + next(&state, 12), first = next(&state, KINDS), calm = next(&state, 2);
    int32_t far = 4, base = 0;
    uint32_t mask = UINT32_MAX;
    for (unsigned at = 0; at < STEPS;) {
        int32_t what = (int32_t)(2 + (first + next(&state, kinds)) % KINDS), by = (int32_t)next(&state, 17) - 8;
        if (next(&state, calm ? 3 : 9) == 0)
            what = (int32_t)next(&state, 2);
        if (next(&state, 2)) { /* otherwise the places of the step before are used again */
            far = fars[next(&state, KILN__COUNT(fars))];
            mask = masks[next(&state, KILN__COUNT(masks))] & (next(&state, 8) ? UINT32_MAX : next(&state, 1u << 30));
            base = (int32_t)next(&state, 512);
        }
        const int32_t begin = base;
        for (uint32_t times = 1 + next(&state, next(&state, 4) ? 8 : 60); times && at < STEPS;
             times--, at++, base += by) {
            steps[at][0] = mask || what < 2 ? what : 1;
            steps[at][1] = base;
            steps[at][2] = far;
            steps[at][3] = (int32_t)mask;
        }
        base = next(&state, 2) ? begin : base;
    }
}

typedef struct outcome {
    check_bench bench;
    const vm_allocation *parts[3];
    uint64_t shared;     /* a hash of all marks of shared memory when blocks end */
    bool quick;          /* true if some access was checked by vectors */
    bool compiled;       /* true if some code was compiled */
    unsigned thin, wide; /* number of thin lines of global memory, and how many of them are wide */
} outcome;

/* Hashes the marks of shared memory. Marks that are older than the block count as "never written", and a line may have
 * dropped them. */
static void block_ends(void *user, const vm_block *block)
{
    uint64_t *hash = user;
    const vm_check_block *b = block->check;
    for (size_t k = 0; k < b->line_count * VM_LINE; k++) {
        const vm_line *line = &b->lines[k / VM_LINE];
        const vm_cell cell = line->cells && line->base != b->base ? (vm_cell){0} : check_page_get(b->lines, k);
        const vm_mark marks[] = {cell.w, cell.r1, cell.r2};
        for (unsigned n = 0; n < KILN__COUNT(marks); n++) {
            const vm_mark m = marks[n].stamp > b->base ? marks[n] : (vm_mark){0};
            const uint32_t words[] = {m.stamp, m.who, m.insn, m.block};
            for (unsigned j = 0; j < KILN__COUNT(words); j++)
                *hash = (*hash ^ words[j]) * 0x100000001b3u;
        }
        const uint32_t words[] = {cell.readers[0], cell.readers[1], cell.published, cell.published_cta};
        for (unsigned j = 0; j < KILN__COUNT(words); j++)
            *hash = (*hash ^ words[j]) * 0x100000001b3u;
    }
}

/* Launches a kernel twice. Then notes which forms of code and of shadow memory the launches have used. */
static void launch_twice(outcome *o, const char *kernel, uint32_t blocks, uint32_t threads, const void *params,
                         uint64_t seed)
{
    vm_device *device = o->bench.device;
    struct vm_watch watch = {.checks = &check_hooks, .block_ends = block_ends, .user = &o->shared};
    vm_launch launch = {.module = o->bench.module,
                        .kernel = vm_module_kernel(o->bench.module, kernel),
                        .grid = {blocks, 1, 1},
                        .block = {threads, 1, 1},
                        .params = params,
                        .hooks = &count_watch_hooks,
                        .watch = &watch};
    vm_prior first = {.span = {0, UINT32_MAX}, .why = VM_APART_STREAM};
    for (unsigned k = 0; k < 2; k++) {
        /* shadow memory still has the marks of the first launch, which may run at the same time as the second */
        check_concurrent(o->bench.check, &first, k && seed % 7 == 0 ? 1 : 0);
        vm_run(device, &launch, &o->bench.counters, &o->bench.fault);
        first.span.until = check_host_advance_time(o->bench.check);
    }
    check_concurrent(o->bench.check, NULL, 0);
    o->compiled = sim_jit_regions(device) > 0;
    for (size_t k = 0; k < VM_PATTERNS; k++)
        for (unsigned n = 0; o->bench.check->patterns[k] && n < VM_LINE; n++)
            o->quick |= o->bench.check->patterns[k]->parts[n] != NULL;
    for (size_t k = 0; k < device->live_count; k++) {
        const vm_allocation *a = device->live[k];
        for (uint64_t at = 0; a->shadow && at < a->bytes; at += VM_LINE << a->shadow->shift) {
            const vm_line *page = a->shadow->pages[at / VM_SHADOW_PAGE];
            const vm_line *line = page ? &page[(at % VM_SHADOW_PAGE >> a->shadow->shift) / VM_LINE] : NULL;
            o->thin += line && line->words;
            o->wide += line && line->words && line->wide;
        }
    }
}

static outcome run(const char *text, size_t length, int32_t steps[STEPS][4], uint64_t seed, bool compile)
{
    outcome o = {.bench = check_bench_new(text, length)};
    vm_device *device = o.bench.device;
    CU_ASSERT_FATAL(sim_jit_open(device, compile ? 1 : 0));
    o.bench.check->often = 1;
    struct {
        uint64_t steps, memory, constants;
        int32_t count;
    } params = {vm_alloc(device, STEPS * sizeof *steps), vm_alloc(device, MEMORY * sizeof(int32_t)),
                vm_alloc(device, CONSTANTS * sizeof(int32_t)), STEPS};
    memcpy(vm_pointer(device, params.steps, STEPS * sizeof *steps), steps, STEPS * sizeof *steps);
    memset(vm_pointer(device, params.constants, CONSTANTS * sizeof(int32_t)), 0, CONSTANTS * sizeof(int32_t));
    if (seed % 4) /* every fourth program may read unwritten memory */
        memset(vm_pointer(device, params.memory, MEMORY * sizeof(int32_t)), 0, MEMORY * sizeof(int32_t));
    const uint32_t threads = 32 + 32 * ((uint32_t)seed / 3 % 3) + (seed % 5 ? 0 : 8);
    launch_twice(&o, "script", 1 + (uint32_t)seed % 3, threads, &params, seed);
    o.parts[0] = vm_allocation_of(device, params.steps);
    o.parts[1] = vm_allocation_of(device, params.memory);
    o.parts[2] = vm_allocation_of(device, params.constants);
    return o;
}

static bool same_findings(const vm_check *a, const vm_check *b)
{
    bool same = check_count_findings(a) == check_count_findings(b);
    for (size_t k = 0; same && k < check_count_findings(a); k++) {
        const kiln_check_finding *x = check_get_finding(a, k), *y = check_get_finding(b, k);
        same = x->kind == y->kind && x->note == y->note && x->count == y->count && x->at.ptx_line == y->at.ptx_line &&
               x->other.ptx_line == y->other.ptx_line && strcmp(x->message, y->message) == 0 &&
               memcmp(x->at.thread, y->at.thread, sizeof x->at.thread) == 0 &&
               memcmp(x->other.thread, y->other.thread, sizeof x->other.thread) == 0;
    }
    return same;
}

/* A vm_cell has no padding, so its bytes can be compared. */
static bool same_marks(const vm_allocation *a, const vm_allocation *b)
{
    const vm_shadow *x = a->shadow, *y = b->shadow;
    bool same = x->shift == y->shift && x->unwritten == y->unwritten;
    for (size_t k = 0; same && k < (a->bytes + VM_SHADOW_PAGE - 1) / VM_SHADOW_PAGE; k++) {
        same = !x->pages[k] == !y->pages[k];
        for (size_t n = 0; same && x->pages[k] && n < VM_SHADOW_PAGE >> x->shift; n++) {
            const vm_cell one = check_page_get(x->pages[k], n), other = check_page_get(y->pages[k], n);
            same = memcmp(&one, &other, sizeof one) == 0;
        }
    }
    return same;
}

static bool is_same(const outcome *a, const outcome *b)
{
    bool same = same_findings(a->bench.check, b->bench.check) && a->bench.check->time == b->bench.check->time &&
                a->shared == b->shared;
    for (size_t k = 0; k < KILN__COUNT(a->parts); k++)
        same = same && same_marks(a->parts[k], b->parts[k]);
    return same;
}

/* Compiled code must leave the same findings and marks as the interpreter. Compiling a program takes half a second, so
 * only a few programs are compared. */
static void test_compiled(void)
{
    enum { FEW = 3 };
    size_t length;
    char *text = check_read(KILN_TEST_PTX "/check", "script.ptx", &length);
    unsigned wrong = 0, compiled = 0;
    bool usable = false;
    for (uint64_t seed = 0; seed < (CHECK_SANITIZER[0] ? 2 : FEW); seed++) {
        int32_t steps[STEPS][4];
        make_steps(steps, seed);
        outcome fast = run(text, length, steps, seed, true), slow = run(text, length, steps, seed, false);
        wrong += !is_same(&fast, &slow);
        compiled += fast.compiled;
        CU_ASSERT_FALSE(slow.compiled);
        usable = usable || sim_jit_usable(fast.bench.device);
        check_bench_end(&fast.bench);
        check_bench_end(&slow.bench);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    if (check_can_quick() && usable)
        CU_ASSERT_TRUE(compiled > 0)
    else
        printf("there is no LLVM, or the host has no AVX2: both ways are the same one\n");
    kiln__free(NULL, text);
}

/* Warps write and read rows of words, with all lanes and with half of them. Shadow memory may then take at most twice
 * the memory that the warps access. With a cell for each word it would take 16 times as much. */
static void test_memory(void)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n"
                               "{ .reg .b64 %a, %b, %c; .reg .b32 %t, %s, %x; .reg .pred %p;\n"
                               "  ld.param.u64 %a, [in]; ld.param.u64 %b, [out]; mov.u32 %t, %tid.x;\n"
                               "  mov.u32 %s, %ctaid.x; mad.lo.u32 %t, %s, 128, %t; mul.wide.u32 %c, %t, 4;\n"
                               "  add.u64 %a, %a, %c; add.u64 %b, %b, %c;\n"
                               "  ld.global.u32 %x, [%a]; st.global.u32 [%b], %x; and.b32 %s, %t, 16;\n"
                               "  setp.eq.u32 %p, %s, 0; @%p ld.global.u32 %x, [%b]; ret; }\n";
    check_bench b = check_bench_new(text, sizeof text - 1);
    CU_ASSERT_EQUAL(check_bench_run(&b, "k", COUNT / 128, 128, 0), VM_OK);
    CU_ASSERT_EQUAL(check_count_findings(b.check), 0);
    CU_ASSERT_TRUE(b.check->cell_bytes > 0);
    CU_ASSERT_TRUE(b.check->cell_bytes <= 2 * 2 * COUNT * sizeof(int32_t));
    check_bench_end(&b);
}

static void test_both(void)
{
    size_t length;
    char *text = check_read(KILN_TEST_PTX "/check", "script.ptx", &length);
    unsigned wrong = 0, quick = 0;
    uint64_t findings = 0;
    /* Without a sanitizer all programs are compared, and twice as many with KILN_TEST_WHOLE=1. Under a sanitizer a third of
     * the programs is enough, because they already reach all code of both kinds of checks. */
    const char *whole = getenv("KILN_TEST_WHOLE");
    const uint64_t programs = CHECK_SANITIZER[0]                 ? PROGRAMS / 3
                              : whole && strcmp(whole, "0") != 0 ? 2 * PROGRAMS
                                                                 : PROGRAMS;
    for (uint64_t seed = 0; seed < programs; seed++) {
        int32_t steps[STEPS][4];
        make_steps(steps, seed);
        unsetenv("KILN_SIM_ISA");
        outcome fast = run(text, length, steps, seed, false);
        setenv("KILN_SIM_ISA", "base", 1);
        outcome slow = run(text, length, steps, seed, false);
        const bool same = is_same(&fast, &slow);
        if (!same)
            fprintf(stderr, "program %llu: not the same; %zu findings by vectors, %zu cell by cell\n",
                    (unsigned long long)seed, check_count_findings(fast.bench.check),
                    check_count_findings(slow.bench.check));
        wrong += !same;
        quick += fast.quick;
        findings += check_count_findings(slow.bench.check);
        CU_ASSERT_FALSE(slow.quick);
        check_bench_end(&fast.bench);
        check_bench_end(&slow.bench);
    }
    unsetenv("KILN_SIM_ISA");
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_TRUE(findings > programs);
    if (check_can_quick())
        CU_ASSERT_TRUE(quick > programs / 2)
    else
        printf("the host has no AVX2: both ways are the same one\n");
    kiln__free(NULL, text);
}

/* ---- scattered reads ---- */

enum { WAYS = 48, THREADS = 64, CELLS = 2048 };
#define NOWHERE 0x80000000u /* the place of a thread that takes no part in a step */

/* Each step has an operation for all threads, and a place for each thread. */
static const char scatter[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 steps, .param .u64 places, .param .u64 memory, .param .u32 count)\n"
    "{ .reg .b64 %s, %p, %m, %a; .reg .b32 %t, %u, %n, %o, %i, %x, %w; .reg .pred %q, %r;\n"
    "  ld.param.u64 %s, [steps]; ld.param.u64 %p, [places]; ld.param.u64 %m, [memory]; ld.param.u32 %n, [count];\n"
    "  mov.u32 %t, %tid.x; mov.u32 %u, %ctaid.x; mov.u32 %w, %ntid.x; mad.lo.u32 %t, %u, %w, %t;\n"
    "  mul.wide.u32 %a, %t, 4; add.u64 %p, %p, %a; mov.u32 %x, 0;\n"
    "L: setp.eq.u32 %q, %n, 0; @%q bra E; sub.u32 %n, %n, 1;\n"
    "  ld.global.u32 %o, [%s]; add.u64 %s, %s, 4; ld.global.u32 %i, [%p]; mov.u32 %u, %nctaid.x;\n"
    "  mul.lo.u32 %u, %u, %w; mul.wide.u32 %a, %u, 4; add.u64 %p, %p, %a;\n"
    "  setp.lt.s32 %r, %i, 0; @%r bra N; mul.wide.u32 %a, %i, 4; add.u64 %a, %m, %a;\n"
    "  setp.eq.u32 %q, %o, 0; @%q ld.global.nc.u32 %x, [%a];\n"
    "  setp.eq.u32 %q, %o, 1; @%q ld.global.u32 %x, [%a];\n"
    "  setp.eq.u32 %q, %o, 2; @%q st.global.u32 [%a], %x;\n"
    "  setp.eq.u32 %q, %o, 3; @%q atom.global.add.u32 %x, [%a], 1;\n"
    "  setp.eq.u32 %q, %o, 6; @%q ld.global.u32 %x, [%a];\n"
    "N: setp.eq.u32 %q, %o, 4; @%q bar.sync 0;\n"
    "  setp.eq.u32 %q, %o, 5; @%q bar.warp.sync 0xffffffff;\n"
    "  bra L; E: ret; }\n";

/* Fills the table of operations and places. Most programs read more often than they write. Some programs read only. */
static void make_places(uint32_t operations[WAYS], uint32_t *places, uint32_t threads, uint64_t seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 3;
    const uint32_t writes = next(&state, 3), cells = next(&state, 2) ? CELLS : 48;
    const uint32_t first = next(&state, 2), kinds = 1 + next(&state, 2);
    for (unsigned s = 0; s < WAYS; s++) {
        const uint32_t reads = next(&state, 8) ? first + next(&state, kinds) : 6, way = next(&state, 5);
        operations[s] = next(&state, 6) < writes ? 2 + next(&state, 2)
                        : next(&state, 7) == 0   ? 4 + next(&state, 2)
                                                 : reads % 7;
        operations[s] = operations[s] == 2 && first && kinds == 2 && reads == 2 ? 1 : operations[s];
        const uint32_t far = 1 + next(&state, 40), skip = next(&state, 4), from = next(&state, cells);
        for (uint32_t t = 0; t < threads; t++) {
            const uint32_t place = way < 2    ? next(&state, cells)
                                   : way == 2 ? (from + t * far + t * t % 7) % cells
                                   : way == 3 ? (from + t) % cells
                                              : (from + t * 37 + t / 32) % cells;
            places[s * threads + t] = skip == 0 && next(&state, 3) == 0 ? NOWHERE : place;
        }
    }
}

static outcome run_scattered(uint64_t seed)
{
    outcome o = {.bench = check_bench_new(scatter, sizeof scatter - 1)};
    vm_device *device = o.bench.device;
    const uint32_t blocks = 1 + (uint32_t)seed % 4, threads = blocks * THREADS;
    uint32_t operations[WAYS], places[WAYS * 4 * THREADS];
    o.bench.check->often = o.bench.check->record_few = 1; /* the second launch drops the records that no word names */
    struct {
        uint64_t steps, places, memory;
        uint32_t count;
    } params = {vm_alloc(device, sizeof operations), vm_alloc(device, WAYS * threads * sizeof *places),
                vm_alloc(device, CELLS * sizeof(uint32_t)), seed % 3 ? WAYS : 4};
    make_places(operations, places, threads, seed);
    memcpy(vm_pointer(device, params.steps, sizeof operations), operations, sizeof operations);
    memcpy(vm_pointer(device, params.places, WAYS * threads * sizeof *places), places, WAYS * threads * sizeof *places);
    if (seed % 8) /* every eighth program may read unwritten memory */
        memset(vm_pointer(device, params.memory, CELLS * sizeof(uint32_t)), 0, CELLS * sizeof(uint32_t));
    launch_twice(&o, "k", blocks, THREADS, &params, seed);
    o.parts[0] = vm_allocation_of(device, params.steps);
    o.parts[1] = vm_allocation_of(device, params.places);
    o.parts[2] = vm_allocation_of(device, params.memory);
    return o;
}

/* Scattered reads make lines thin if the host has vectors. The host without vectors has no thin lines. Both
 * must have the same findings and marks. */
static void test_scattered(void)
{
    unsigned wrong = 0, thin = 0, wide = 0;
    uint64_t findings = 0;
    for (uint64_t seed = 0; seed < (CHECK_SANITIZER[0] ? 60 : 240); seed++) {
        unsetenv("KILN_SIM_ISA");
        outcome fast = run_scattered(seed);
        setenv("KILN_SIM_ISA", "base", 1);
        outcome slow = run_scattered(seed);
        if (!is_same(&fast, &slow)) {
            fprintf(stderr, "scattered program %llu: not the same; %zu findings with thin lines, %zu without\n",
                    (unsigned long long)seed, check_count_findings(fast.bench.check),
                    check_count_findings(slow.bench.check));
            wrong++;
        }
        thin += fast.thin, wide += fast.wide;
        findings += check_count_findings(slow.bench.check);
        CU_ASSERT_EQUAL(slow.thin, 0);
        check_bench_end(&fast.bench);
        check_bench_end(&slow.bench);
    }
    unsetenv("KILN_SIM_ISA");
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_TRUE(findings > 60);
    CU_ASSERT_TRUE(!check_can_quick() || (wide > 500 && thin > wide + 500));
}

/* Lanes exchange values in shared memory, and only a shuffle, a vote or a barrier of the warp lies between the write and
 * the read. Compiled code must tell the checks about these operations, as the interpreter does. */
static void test_meetings(void)
{
    static const char *const operations[] = {"shfl.sync.bfly.b32 %x, %t, 1, 31, 0xffffffff;",
                                             "vote.sync.ballot.b32 %x, %p, 0xffffffff;", "bar.warp.sync 0xffffffff;",
                                             ""};
    for (size_t k = 0; k < KILN__COUNT(operations); k++) {
        char text[1500];
        const int length =
            snprintf(text, sizeof text,
                     ".version 8.0\n.target sm_80\n.address_size 64\n"
                     ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n"
                     "{ .reg .b32 %%t, %%a, %%b, %%x, %%n; .reg .pred %%p; .shared .align 4 .b8 s[128];\n"
                     "  mov.u32 %%t, %%tid.x; mov.u32 %%a, s; mad.lo.u32 %%a, %%t, 4, %%a; xor.b32 %%b, %%a, 4;\n"
                     "  mov.u32 %%n, 0; setp.eq.u32 %%p, %%t, 3;\n"
                     "L: st.shared.u32 [%%a], %%n; %s ld.shared.u32 %%x, [%%b]; add.u32 %%n, %%n, 1;\n"
                     "  bar.warp.sync 0xffffffff; setp.lt.u32 %%p, %%n, 200; @%%p bra L; ret; }\n",
                     operations[k]);
        outcome o[2];
        bool usable = false;
        for (unsigned compile = 0; compile < 2; compile++) {
            o[compile] = (outcome){.bench = check_bench_new(text, (size_t)length)};
            vm_device *device = o[compile].bench.device;
            CU_ASSERT_FATAL(sim_jit_open(device, compile));
            const struct {
                uint64_t arrays[3];
                uint32_t n;
            } params = {{0}, 0};
            launch_twice(&o[compile], "k", 2, 32, &params, 0);
            usable = sim_jit_usable(device);
        }
        CU_ASSERT_TRUE(same_findings(o[0].bench.check, o[1].bench.check));
        CU_ASSERT_EQUAL(o[0].bench.check->time, o[1].bench.check->time);
        CU_ASSERT_EQUAL(o[0].shared, o[1].shared);
        CU_ASSERT_EQUAL(check_count_findings(o[0].bench.check), (size_t)(k != 2));
        CU_ASSERT_TRUE(o[1].compiled || !check_can_quick() || !usable);
        check_bench_end(&o[0].bench);
        check_bench_end(&o[1].bench);
    }
}

/* A cp.async may read any number of bytes, so the checks see its source before the device refuses it as misaligned. The
 * cells of these bytes lie in two pages of shadow memory. */
static void test_over_the_end_of_a_page(void)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n"
                               "{ .reg .b64 %a; .reg .b32 %s, %n; .shared .align 16 .b8 s[16];\n"
                               "  ld.param.u64 %a, [in]; mov.u32 %s, s; mov.u32 %n, 13;\n"
                               "  cp.async.ca.shared.global [%s], [%a+4092], 16, %n; ret; }\n";
    check_bench b = check_bench_new(text, sizeof text - 1);
    b.params.in = vm_alloc(b.device, 2 * VM_SHADOW_PAGE);
    void *in = vm_pointer(b.device, b.params.in, 2 * VM_SHADOW_PAGE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    memset(in, 0, 2 * VM_SHADOW_PAGE);
    CU_ASSERT_EQUAL(check_bench_run(&b, "k", 1, 1, 0), VM_FAULT_MISALIGNED);
    const vm_allocation *a = vm_allocation_of(b.device, b.params.in);
    CU_ASSERT_FATAL(a && a->shadow);
    CU_ASSERT_PTR_NOT_NULL(a->shadow->pages[0]);
    CU_ASSERT_PTR_NOT_NULL(a->shadow->pages[1]);
    check_bench_end(&b);
}

/* Each message searches the name of a shared variable among those that the kernel names. The time for a message must
 * grow in proportion to the text, and not to its square. */
static void test_long_names(void)
{
    enum { LENGTH = 1000000, VARIABLES = 20000 };
    kiln__text text = {0};
    kiln__text_puts(&text, ".version 8.0\n.target sm_80\n.address_size 64\n.shared .b8 _ZZ1kvE");
    for (unsigned k = 0; k < LENGTH; k++)
        kiln__text_puts(&text, "1E");
    kiln__text_puts(&text,
                    "1s[16];\n.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n"
                    "{ .reg .b64 %d; .reg .b32 %r;\n");
    for (unsigned k = 0; k < VARIABLES; k++)
        kiln__text_printf(&text, ".shared .b8 s%u; mov.b32 %%r, s%u;\n", k, k);
    kiln__text_puts(&text, "mov.b32 %r, _ZZ1kvE");
    for (unsigned k = 0; k < LENGTH; k++)
        kiln__text_puts(&text, "1E");
    kiln__text_puts(&text, "1s; ld.shared.b32 %r, [%r+4]; ret; }\n");
    CU_ASSERT_FALSE_FATAL(text.failed);
    check_bench b = check_bench_new(text.data, text.length);
    check_bench_run(&b, "k", 1, 1, 0);
    bool found = false;
    for (size_t k = 0; k < check_count_findings(b.check); k++)
        found |= strstr(check_get_finding(b.check, k)->allocation, "at offset 4 of 's' (16 bytes)") != NULL;
    CU_ASSERT_TRUE(found);
    check_bench_end(&b);
    kiln__text_free(&text);
}

/* Each lane copies 16 bytes, and the last lane only the 2 bytes that are left. The checks must not read beyond these 2
 * bytes, and must check all bytes of the other lanes. */
static void test_copies_of_different_sizes(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n"
        "{ .reg .b64 %a, %b; .reg .b32 %s, %n, %t; .reg .pred %p; .shared .align 16 .b8 s[512];\n"
        "  ld.param.u64 %a, [in]; mov.u32 %t, %tid.x; mul.wide.u32 %b, %t, 16; add.u64 %a, %a, %b;\n"
        "  mov.u32 %s, s; mad.lo.u32 %s, %t, 16, %s; ld.param.u32 %n, [n];\n"
        "  setp.eq.u32 %p, %t, 31; selp.u32 %n, %n, 16, %p;\n"
        "  cp.async.ca.shared.global [%s], [%a], 16, %n; cp.async.wait_all; ret; }\n";
    for (uint32_t bytes = 2; bytes <= 3; bytes++) {
        check_bench b = check_bench_new(text, sizeof text - 1);
        const uint64_t size = 31 * 16 + 2;
        b.params.in = vm_alloc(b.device, size);
        b.params.n = (int32_t)bytes;
        void *in = vm_pointer(b.device, b.params.in, size);
        CU_ASSERT_PTR_NOT_NULL_FATAL(in);
        memset(in, 0, size);
        check_bench_run(&b, "k", 1, 32, 0);
        CU_ASSERT_EQUAL(check_count_findings(b.check), bytes > 2);
        check_bench_end(&b);
    }
}

/* Two blocks add to the same floats by bulk copies. Both additions go through the async proxy, so no fence is missing. If
 * a thread has written the floats before, the fence is missing. */
static void test_bulk_reductions(void)
{
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n"
                               "{ .reg .b64 %a; .reg .b32 %s, %n; .reg .pred %p; .shared .align 16 .b8 s[16];\n"
                               "  ld.param.u64 %a, [in]; ld.param.u32 %n, [n]; mov.u32 %s, s;\n"
                               "  st.shared.v4.b32 [%s], {%n, %n, %n, %n}; fence.proxy.async.shared::cta;\n"
                               "  setp.eq.u32 %p, %n, 1; @%p st.global.b32 [%a], %n;\n"
                               "  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%a], [%s], 16;\n"
                               "  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }\n";
    for (int32_t written = 0; written < 2; written++) {
        check_bench b = check_bench_new(text, sizeof text - 1);
        b.params.n = written;
        CU_ASSERT_EQUAL(check_bench_run(&b, "k", written ? 1 : 2, 1, 0), VM_OK);
        CU_ASSERT_EQUAL(check_count_findings(b.check), (size_t)written);
        check_bench_end(&b);
    }
}

/* A bulk reduction of one block and an atomic of another block may access the same word, whichever of them runs
 * first. */
static void test_reduction_and_atomic(void)
{
    static const char text[] = ".version 8.1\n.target sm_90\n.address_size 64\n"
                               ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n"
                               "{ .reg .b64 %a; .reg .b32 %s, %b, %n, %x; .reg .pred %p; .shared .align 16 .b8 s[16];\n"
                               "  ld.param.u64 %a, [in]; ld.param.u32 %n, [n]; mov.u32 %s, s; mov.u32 %b, %ctaid.x;\n"
                               "  setp.eq.u32 %p, %b, %n; @%p bra R;\n"
                               "  atom.global.add.u32 %x, [%a], 1; ret;\n"
                               "R: st.shared.v4.b32 [%s], {%n, %n, %n, %n}; fence.proxy.async.shared::cta;\n"
                               "  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%a], [%s], 16;\n"
                               "  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }\n";
    for (int32_t first = 0; first < 2; first++) {
        check_bench b = check_bench_new(text, sizeof text - 1);
        b.params.n = first;
        CU_ASSERT_EQUAL(check_bench_run(&b, "k", 2, 1, 0), VM_OK);
        CU_ASSERT_EQUAL(check_count_findings(b.check), 0);
        check_bench_end(&b);
    }
}

/* red.async goes through the generic proxy, unlike bulk reductions: a bulk copy that reads its result needs a proxy fence. */
static void test_remote_reductions(void)
{
    static const char text[] =
        ".version 8.1\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n"
        "{ .reg .b64 %a; .reg .b32 %s, %b, %n; .reg .pred %p, %q; .shared .align 16 .b8 s[16]; .shared .align 8 .b8 bar[8];\n"
        "  ld.param.u64 %a, [in]; ld.param.u32 %n, [n]; mov.u32 %s, s; mov.u32 %b, bar;\n"
        "  st.shared.v4.b32 [%s], {%n, %n, %n, %n}; mbarrier.init.shared.b64 [%b], 1;\n"
        "  fence.proxy.async;\n"
        "  mbarrier.arrive.expect_tx.shared.b64 _, [%b], 4;\n"
        "  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%s], %n, [%b];\n"
        "W: mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra W;\n"
        "  setp.eq.u32 %q, %n, 1; @%q fence.proxy.async;\n"
        "  cp.async.bulk.global.shared::cta.bulk_group [%a], [%s], 16;\n"
        "  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }\n";
    for (int32_t fenced = 0; fenced < 2; fenced++) {
        check_bench b = check_bench_new(text, sizeof text - 1);
        b.params.n = fenced;
        CU_ASSERT_EQUAL(check_bench_run(&b, "k", 1, 1, 0), VM_OK);
        CU_ASSERT_EQUAL(check_count_findings(b.check), (size_t)!fenced);
        check_bench_end(&b);
    }
}

/* Runs a kernel whose thread 0 adds zeros to four floats by a bulk copy and executes `wait`. After a barrier of the block, a
 * thread of the other warp executes `other`. Returns the number of findings. */
static size_t count_after_reduction(const char *wait, const char *other)
{
    char text[2000];
    const int length = snprintf(text, sizeof text,
                                ".version 8.0\n.target sm_90\n.address_size 64\n"
                                ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n"
                                "{ .reg .b64 %%a; .reg .f32 %%f; .reg .b32 %%s, %%t; .reg .pred %%p;\n"
                                "  .shared .align 16 .b8 s[16];\n"
                                "  ld.param.u64 %%a, [in]; mov.f32 %%f, 0f00000000; mov.u32 %%s, s;\n"
                                "  mov.u32 %%t, %%tid.x; setp.ne.u32 %%p, %%t, 0; @%%p bra B;\n"
                                "  st.shared.v4.f32 [%%s], {%%f, %%f, %%f, %%f}; fence.proxy.async.shared::cta;\n"
                                "  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%%a], [%%s], 16;\n"
                                "  cp.async.bulk.commit_group; %s\n"
                                "B: bar.sync 0; setp.ne.u32 %%p, %%t, 32; @%%p bra E; %s\n"
                                "E: cp.async.bulk.wait_group 0; ret; }\n",
                                wait, other);
    check_bench b = check_bench_new(text, (size_t)length);
    CU_ASSERT_EQUAL(check_bench_run(&b, "k", 1, 64, 0), VM_OK);
    const size_t count = check_count_findings(b.check);
    check_bench_end(&b);
    return count;
}

/* A bulk reduction is in flight until its thread has waited for its writes. Until then no thread may read or write
 * the floats by plain accesses. */
static void test_reductions_in_flight(void)
{
    static const char *const others[] = {"ld.global.f32 %f, [%a];", "st.global.f32 [%a], %f;"};
    for (size_t n = 0; n < KILN__COUNT(others); n++) {
        CU_ASSERT_EQUAL(count_after_reduction("", others[n]), 1);
        CU_ASSERT_EQUAL(count_after_reduction("cp.async.bulk.wait_group.read 0;", others[n]), 1);
        CU_ASSERT_EQUAL(count_after_reduction("cp.async.bulk.wait_group 0;", others[n]), 0);
    }
    CU_ASSERT_EQUAL(count_after_reduction("ld.global.f32 %f, [%a];", ""), 1); /* the same thread loads the floats */
    CU_ASSERT_EQUAL(count_after_reduction("cp.async.bulk.wait_group 0; ld.global.f32 %f, [%a];", ""), 0);
}

int main(int count, char **arguments)
{
    static const check_case cases[] = {{"both", test_both},
                                       {"compiled", test_compiled},
                                       {"scattered reads", test_scattered},
                                       {"operations between lanes", test_meetings},
                                       {"memory", test_memory},
                                       {"copies of different sizes", test_copies_of_different_sizes},
                                       {"bulk reductions", test_bulk_reductions},
                                       {"reduction and atomic", test_reduction_and_atomic},
                                       {"remote reductions", test_remote_reductions},
                                       {"reductions in flight", test_reductions_in_flight},
                                       {"over the end of a page", test_over_the_end_of_a_page},
                                       {"long names", test_long_names}};
    return check_main(count, arguments, "checks by vectors", cases, KILN__COUNT(cases));
}
