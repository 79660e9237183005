/* Tests the machine instructions that the estimate counts for a PTX instruction: their number and unit, merged loads,
 * and branches that become predicates. The numbers come from ptxas for sm_90. */
#include "vm_check.h"
#include "vm_cost.h"

/* The lanes per clock of an SM, and the latencies of units. All figures differ, so that a mistake shows. */
static const sim_model figures = {.schedulers = 4,
                                  .fp32 = 128,
                                  .fp64 = 64,
                                  .fp16 = 512,
                                  .integer = 64,
                                  .multiply = 32,
                                  .special = 16,
                                  .load_store = 8,
                                  .shuffle = 4,
                                  .alu_latency = 4,
                                  .fp64_latency = 8,
                                  .special_latency = 18,
                                  .shuffle_latency = 22};
/* The clocks for which one instruction of a warp keeps the unit of its scheduler busy: 32 / (lanes / 4). An instruction
 * for pairs of half-precision numbers counts each pair as one lane. */
static const double clocks[VM_UNITS] = {
    [VM_UNIT_ALU] = 2,    [VM_UNIT_FMA] = 1, [VM_UNIT_MULTIPLY] = 4, [VM_UNIT_FP64] = 2,
    [VM_UNIT_FP16] = 0.5, [VM_UNIT_SFU] = 8, [VM_UNIT_SHUFFLE] = 32, [VM_UNIT_MEMORY] = 16};
static const unsigned latencies[VM_UNITS] = {
    [VM_UNIT_ALU] = 4,  [VM_UNIT_FMA] = 4,  [VM_UNIT_MULTIPLY] = 4, [VM_UNIT_FP64] = 8,
    [VM_UNIT_FP16] = 4, [VM_UNIT_SFU] = 18, [VM_UNIT_SHUFFLE] = 22, [VM_UNIT_MEMORY] = 4};

typedef struct line {
    const char *text;
    vm_unit unit;
    unsigned issue;
    vm_act act;
    unsigned latency; /* 0 means the latency of the unit */
} line;

#define HEAD                                                                                                           \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"                           \
    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<20>; .reg .f64 %d<9>;\n"     \
    ".shared .align 16 .b8 own[16384];\nld.param.u64 %rd1, [out];\n"
/* The end of the kernel stores the registers, so that all of their bits are needed. */
#define TAIL                                                                                                           \
    "st.global.u64 [%rd1], %rd5; st.global.u32 [%rd1], %r5; st.global.f32 [%rd1], %f5; st.global.f64 [%rd1], %d5;\n"   \
    "st.global.u16 [%rd1], %h5; ret;\n}\n"

typedef struct setup {
    vm_bench bench;
    vm_cost *cost;
    const vm_cost_insn *insns; /* the instructions between HEAD and TAIL */
} setup;

static setup price(const char *text)
{
    setup s = {0};
    kiln__text all = {0};
    kiln__text_printf(&all, "%s%s%s", HEAD, text, TAIL);
    s.bench = vm_bench_text(kiln__text_get(&all), all.length, (vm_limits){.threads = 1});
    kiln__text_free(&all);
    s.cost = model_cost_new(NULL, s.bench.module, &figures);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s.cost);
    s.insns = s.cost->insns + s.bench.module->functions[0].first_tally + 1;
    return s;
}

static void end(setup *s)
{
    model_cost_free(s->cost);
    vm_bench_end(&s->bench);
}

static void check_lines(const line *lines, size_t count)
{
    kiln__text text = {0};
    for (size_t i = 0; i < count; i++)
        kiln__text_printf(&text, "%s;\n", lines[i].text);
    setup s = price(kiln__text_get(&text));
    for (size_t i = 0; i < count; i++) {
        const vm_cost_insn *c = &s.insns[i];
        bool good = c->unit == (uint8_t)lines[i].unit && c->issue == lines[i].issue &&
                    c->act == (uint8_t)lines[i].act && (double)c->busy == clocks[lines[i].unit] * lines[i].issue &&
                    c->latency == (lines[i].latency ? lines[i].latency : latencies[lines[i].unit]);
        if (!good)
            fprintf(stderr, "%s: unit %u, %u instructions, act %u, busy %g, latency %u\n", lines[i].text, c->unit,
                    c->issue, c->act, (double)c->busy, c->latency);
        CHECK(good);
        CHECK(c->traced.memory == (c->act >= VM_ACT_LOAD && c->act <= VM_ACT_COPY) && !c->traced.engine);
        CHECK(c->traced.atomic == (c->act == VM_ACT_ATOMIC));
    }
    end(&s);
    kiln__text_free(&text);
}
#define CHECK_LINES(...)                                                                                               \
    do {                                                                                                               \
        static const line lines_[] = {__VA_ARGS__};                                                                    \
        check_lines(lines_, KILN__COUNT(lines_));                                                                      \
    } while (0)

static void test_floats(void)
{
    CHECK_LINES({"add.f32 %f5, %f5, %f2", VM_UNIT_FMA, 1}, {"sub.rn.f32 %f5, %f5, %f2", VM_UNIT_FMA, 1},
                {"mul.f32 %f5, %f5, %f2", VM_UNIT_FMA, 1}, {"fma.rn.f32 %f5, %f5, %f2, %f3", VM_UNIT_FMA, 1},
                {"add.f64 %d5, %d5, %d2", VM_UNIT_FP64, 1}, {"mul.f64 %d5, %d5, %d2", VM_UNIT_FP64, 1},
                {"fma.rn.f64 %d5, %d5, %d2, %d3", VM_UNIT_FP64, 1}, {"add.f16 %h5, %h5, %h2", VM_UNIT_FP16, 1},
                {"fma.rn.f16x2 %r5, %r5, %r2, %r3", VM_UNIT_FP16, 1}, {"neg.f32 %f5, %f5", VM_UNIT_NONE, 0},
                {"abs.f64 %d5, %d5", VM_UNIT_NONE, 0}, {"min.f32 %f5, %f5, %f2", VM_UNIT_ALU, 1},
                {"max.f64 %d5, %d5, %d2", VM_UNIT_FP64, 2}, {"setp.lt.f32 %p1, %f1, %f2", VM_UNIT_ALU, 1},
                {"setp.lt.f64 %p1, %d1, %d2", VM_UNIT_FP64, 1}, {"set.lt.u32.f64 %r5, %d1, %d2", VM_UNIT_FP64, 1},
                {"set.lt.u32.f32 %r5, %f1, %f2", VM_UNIT_ALU, 1}, {"selp.f32 %f5, %f1, %f2, %p1", VM_UNIT_ALU, 1},
                {"selp.f64 %d5, %d1, %d2, %p1", VM_UNIT_ALU, 1});
    CHECK_LINES(
        {"sqrt.approx.f32 %f5, %f5", VM_UNIT_SFU, 1}, {"rcp.approx.f32 %f5, %f5", VM_UNIT_SFU, 1},
        {"rsqrt.approx.f32 %f5, %f5", VM_UNIT_SFU, 1}, {"ex2.approx.f32 %f5, %f5", VM_UNIT_SFU, 1},
        {"sqrt.rn.f32 %f5, %f5", VM_UNIT_FMA, 8, 0, 60}, {"rcp.rn.f32 %f5, %f5", VM_UNIT_FMA, 8, 0, 60},
        {"sqrt.rn.f64 %d5, %d5", VM_UNIT_FP64, 12, 0, 150}, {"rcp.rn.f64 %d5, %d5", VM_UNIT_FP64, 12, 0, 150},
        {"div.approx.f32 %f5, %f5, %f2", VM_UNIT_SFU, 2, 0, 30}, {"div.full.f32 %f5, %f5, %f2", VM_UNIT_SFU, 2, 0, 30},
        {"div.rn.f32 %f5, %f5, %f2", VM_UNIT_FMA, 10, 0, 80}, {"div.rn.f64 %d5, %d5, %d2", VM_UNIT_FP64, 12, 0, 150});
}

static void test_integers(void)
{
    CHECK_LINES({"add.s32 %r5, %r5, %r2", VM_UNIT_ALU, 1}, {"add.s64 %rd5, %rd5, %rd2", VM_UNIT_ALU, 2},
                {"and.b32 %r5, %r5, %r2", VM_UNIT_ALU, 1}, {"xor.b64 %rd5, %rd5, %rd2", VM_UNIT_ALU, 2},
                {"and.pred %p3, %p1, %p2", VM_UNIT_NONE, 0}, {"shl.b32 %r5, %r5, 3", VM_UNIT_ALU, 1},
                {"shl.b64 %rd5, %rd5, 3", VM_UNIT_ALU, 2}, {"mul.lo.s32 %r5, %r5, %r2", VM_UNIT_MULTIPLY, 1},
                {"mul.hi.u32 %r5, %r5, %r2", VM_UNIT_MULTIPLY, 2}, {"mul.lo.s64 %rd5, %rd5, %rd2", VM_UNIT_MULTIPLY, 4},
                {"mul.hi.u64 %rd5, %rd5, %rd2", VM_UNIT_MULTIPLY, 10},
                {"div.s32 %r5, %r5, %r2", VM_UNIT_ALU, 18, 0, 120},
                {"rem.u64 %rd5, %rd5, %rd2", VM_UNIT_ALU, 70, 0, 300}, {"min.s32 %r5, %r5, %r2", VM_UNIT_ALU, 1},
                {"max.u64 %rd5, %rd5, %rd2", VM_UNIT_ALU, 4}, {"neg.s32 %r5, %r5", VM_UNIT_ALU, 1},
                {"neg.s64 %rd5, %rd5", VM_UNIT_ALU, 2}, {"popc.b32 %r5, %r5", VM_UNIT_SFU, 1},
                {"popc.b64 %r5, %rd5", VM_UNIT_SFU, 2}, {"setp.lt.s64 %p1, %rd1, %rd2", VM_UNIT_ALU, 2},
                {"selp.b64 %rd5, %rd1, %rd2, %p1", VM_UNIT_ALU, 2});
    /* A 64-bit addition absorbs a product, or a shift by a constant, that has no other use. It does not absorb a
     * shift by a register, or a value with two uses. */
    CHECK_LINES({"mul.wide.s32 %rd6, %r1, 4", VM_UNIT_NONE, 0}, {"add.s64 %rd5, %rd6, %rd2", VM_UNIT_ALU, 2},
                {"shl.b64 %rd7, %rd2, 2", VM_UNIT_NONE, 0}, {"add.s64 %rd5, %rd2, %rd7", VM_UNIT_ALU, 2},
                {"mul.wide.u32 %rd8, %r1, 4", VM_UNIT_MULTIPLY, 1}, {"add.s64 %rd5, %rd8, %rd8", VM_UNIT_ALU, 2},
                {"shl.b64 %rd9, %rd2, %r1", VM_UNIT_ALU, 2}, {"add.s64 %rd5, %rd2, %rd9", VM_UNIT_ALU, 2},
                {"mul.wide.u32 %rd5, %r1, 8", VM_UNIT_MULTIPLY, 1});
    /* An address of shared memory has 32 bits. A 64-bit value that is stored there needs all of its bits. */
    CHECK_LINES(
        {"add.s64 %rd6, %rd2, %rd3", VM_UNIT_ALU, 1}, {"ld.shared.f32 %f5, [%rd6]", VM_UNIT_MEMORY, 1, VM_ACT_LOAD},
        {"add.s64 %rd7, %rd2, %rd3", VM_UNIT_ALU, 2}, {"st.shared.u64 [%rd6], %rd7", VM_UNIT_MEMORY, 1, VM_ACT_STORE});
}

static void test_moves(void)
{
    CHECK_LINES({"mov.b32 %r5, %r2", VM_UNIT_NONE, 0}, {"mov.f32 %f5, 0f3f800000", VM_UNIT_NONE, 0},
                {"mov.u32 %r5, %ntid.y", VM_UNIT_NONE, 0}, {"mov.u32 %r5, %nctaid.x", VM_UNIT_NONE, 0},
                {"mov.u32 %r5, %tid.x", VM_UNIT_ALU, 1, 0, 20}, {"mov.u32 %r5, %ctaid.z", VM_UNIT_ALU, 1, 0, 20},
                {"mov.u32 %r5, %laneid", VM_UNIT_ALU, 1, 0, 20}, {"cvta.to.global.u64 %rd5, %rd2", VM_UNIT_NONE, 0},
                {"cvt.rn.f32.s32 %f5, %r1", VM_UNIT_SFU, 1}, {"cvt.rzi.s32.f32 %r5, %f1", VM_UNIT_SFU, 1},
                {"cvt.f64.f32 %d5, %f1", VM_UNIT_SFU, 1}, {"cvt.rn.f32.f64 %f5, %d1", VM_UNIT_SFU, 1},
                {"cvt.rn.f16.f32 %h5, %f1", VM_UNIT_ALU, 1}, {"cvt.f32.f16 %f5, %h1", VM_UNIT_ALU, 1},
                {"cvt.u64.u32 %rd5, %r1", VM_UNIT_NONE, 0}, {"cvt.s64.s32 %rd5, %r1", VM_UNIT_ALU, 1},
                {"cvt.u32.u64 %r5, %rd1", VM_UNIT_NONE, 0}, {"cvt.u32.u16 %r5, %h1", VM_UNIT_NONE, 0},
                {"cvt.u16.u32 %h5, %r1", VM_UNIT_NONE, 0}, {"cvt.s16.s8 %h5, %h1", VM_UNIT_ALU, 1},
                {"shfl.sync.idx.b32 %r5, %r1, 0, 31, -1", VM_UNIT_SHUFFLE, 1});
}

static void test_memory(void)
{
    CHECK_LINES({"ld.global.f32 %f5, [%rd1]", VM_UNIT_MEMORY, 1, VM_ACT_LOAD},
                {"ld.param.u64 %rd5, [out]", VM_UNIT_NONE, 0},
                {"st.global.f32 [%rd1], %f5", VM_UNIT_MEMORY, 1, VM_ACT_STORE},
                {"atom.global.add.u32 %r5, [%rd1], %r2", VM_UNIT_MEMORY, 1, VM_ACT_ATOMIC},
                {"red.global.add.u32 [%rd1], %r2", VM_UNIT_MEMORY, 1, VM_ACT_ATOMIC},
                {"cp.async.ca.shared.global [%r1], [%rd1], 16", VM_UNIT_MEMORY, 1, VM_ACT_COPY});
    setup s = price(
        "bar.sync 0; bar.arrive 1, 64; membar.gl; bar.warp.sync -1; cp.async.commit_group; cp.async.wait_all;\n"
        "@%p1 bra L;\nL:\n");
    static const vm_act acts[] = {VM_ACT_BARRIER, VM_ACT_PLAIN, VM_ACT_FENCE, VM_ACT_FENCE, VM_ACT_COMMIT, VM_ACT_WAIT};
    for (size_t i = 0; i < KILN__COUNT(acts); i++)
        CHECK(s.insns[i].act == (uint8_t)acts[i]);
    end(&s);
}

/* ---- schedule.c ---- */

/* Returns for each load its number in the group of merged loads, or -1 if it is not merged. */
static bool grouped(const char *text, size_t count, const int *number, unsigned size)
{
    setup s = price(text);
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        const vm_traced *t = &s.insns[i].traced;
        good &= number[i] < 0
                    ? t->merge_count == 1 && t->merge_lead
                    : t->merge_count == size && t->merge_index == (unsigned)number[i] && t->merge_lead == (i == 0);
    }
    end(&s);
    return good;
}
#define LOAD(f, offset) "ld.shared.f32 %f" f ", [%r1+" offset "];\n"

static void test_loads(void)
{
    CHECK(grouped(LOAD("5", "0") LOAD("6", "4") LOAD("7", "8") LOAD("8", "12"), 4, (int[]){0, 1, 2, 3}, 4));
    CHECK(grouped(LOAD("5", "8") LOAD("6", "0") LOAD("7", "12") LOAD("8", "4"), 4, (int[]){2, 0, 3, 1}, 4));
    CHECK(grouped(LOAD("5", "0") LOAD("6", "4"), 2, (int[]){0, 1}, 2));
    /* loads are merged in pairs or groups of four */
    CHECK(grouped(LOAD("5", "0") LOAD("6", "4") LOAD("7", "8"), 3, (int[]){0, 1, -1}, 2));
    CHECK(grouped(LOAD("5", "0") LOAD("6", "8"), 2, (int[]){-1, -1}, 1)); /* not consecutive */
    CHECK(grouped(LOAD("5", "0") LOAD("6", "2"), 2, (int[]){-1, -1}, 1));
    /* the distances are 2^64 - 4 and 2^64 + 4 bytes, which 64 bits would cut to -4 and 4 */
    CHECK(grouped(LOAD("5", "9223372036854775804") LOAD("6", "-9223372036854775808"), 2, (int[]){-1, -1}, 1));
    CHECK(grouped(LOAD("5", "-9223372036854775808") LOAD("6", "9223372036854775804"), 2, (int[]){-1, -1}, 1));
    CHECK(grouped(LOAD("5", "0") "bar.sync 0;\n" LOAD("6", "4"), 3, (int[]){-1, -1, -1}, 1));
    CHECK(grouped(LOAD("5", "0") "st.shared.f32 [%r2], %f1;\n" LOAD("6", "4"), 3, (int[]){-1, -1, -1}, 1));
    CHECK(
        grouped(LOAD("5", "0") "add.s32 %r1, %r1, 4;\n" LOAD("6", "4"), 3, (int[]){-1, -1, -1}, 1)); /* another base */
    CHECK(grouped(LOAD("5", "0") "ld.shared.f32 %f6, [%r2+4];\n", 2, (int[]){-1, -1}, 1));
    CHECK(grouped(LOAD("5", "0") "ld.volatile.shared.f32 %f6, [%r1+4];\n", 2, (int[]){-1, -1}, 1));
    CHECK(grouped(LOAD("5", "0") "@%p1 ld.shared.f32 %f6, [%r1+4];\n", 2, (int[]){-1, -1}, 1));
    CHECK(grouped(LOAD("5", "0") "ld.shared.f64 %d6, [%r1+8];\n", 2, (int[]){-1, -1}, 1));
    CHECK(grouped(LOAD("5", "0") "ld.global.f32 %f6, [%rd2+4];\n", 2, (int[]){-1, -1}, 1));
}

/* Returns true if the first branch became a predicate, so that the code after the branch is in the same region. */
static bool joined(const char *text)
{
    setup s = price(text);
    bool is = s.insns[0].joined;
    CHECK(is == (s.insns[0].act == VM_ACT_PLAIN) && is == (s.insns[0].issue == 0));
    CHECK(is == (s.insns[0].region == s.insns[1].region));
    end(&s);
    return is;
}

static void test_branches(void)
{
    CHECK(joined("@%p1 bra L; add.s32 %r5, %r5, 1;\nL: add.s32 %r6, %r6, 1;\n"));
    CHECK(joined("@%p1 bra L; add.s32 %r5, %r5, 1; @%p2 bra L; add.s32 %r6, %r6, 1;\nL: add.s32 %r7, %r7, 1;\n"));
    CHECK(!joined("bra L;\nadd.s32 %r5, %r5, 1;\nL: add.s32 %r6, %r6, 1;\n")); /* always taken */
    CHECK(!joined("L: @%p1 bra L; add.s32 %r5, %r5, 1;\n"));                   /* backward */
    CHECK(!joined("@%p1 bra L; bar.sync 0;\nL: add.s32 %r6, %r6, 1;\n"));      /* the branch jumps over a barrier */
    CHECK(!joined("@%p1 bra L; ret;\nL: add.s32 %r6, %r6, 1;\n"));             /* the branch jumps over an exit */
    CHECK(!joined("@%p1 bra L; @%p2 bra M; add.s32 %r5, %r5, 1;\nL: add.s32 %r6, %r6, 1;\nM: add.s32 %r7, %r7, 1;\n"));
    CHECK(!joined("@%p1 bra L; add.s32 %r5, %r5, 1;\nM: add.s32 %r6, %r6, 1;\nL: add.s32 %r7, %r7, 1; @%p2 bra M;\n"));
    kiln__text many = {0};
    kiln__text_puts(&many, "@%p1 bra L;\n");
    for (int i = 0; i < 200; i++)
        kiln__text_puts(&many, "add.s32 %r5, %r5, 1;\n");
    kiln__text_puts(&many, "L: add.s32 %r6, %r6, 1;\n");
    CHECK(!joined(kiln__text_get(&many))); /* too far */
    kiln__text_free(&many);
}

/* Returns true if instruction `a` stands before `b` in the order of their region. */
static bool comes_first(const setup *s, size_t a, size_t b)
{
    const vm_region *region = &s->cost->regions[s->insns[a].region];
    const uint32_t first = (uint32_t)(s->insns - s->cost->insns), *order = s->cost->order + region->order;
    uint32_t place[2] = {0};
    CHECK(s->insns[a].region == s->insns[b].region);
    for (uint32_t k = 0; k < region->count; k++) {
        place[0] = order[k] + region->first == first + a ? k : place[0];
        place[1] = order[k] + region->first == first + b ? k : place[1];
    }
    return place[0] < place[1];
}

/* A store stays after earlier loads of its state space, even if another store of the region comes before these
 * loads. */
static void test_stores(void)
{
#define LATE "rsqrt.approx.f32 %f6, %f7; rsqrt.approx.f32 %f6, %f6; cvt.rzi.u64.f32 %rd3, %f6;\n"
    setup s = price(LATE "ld.global.u32 %r6, [%rd3];\nst.global.u32 [%rd2], %r7;\n");
    CHECK(comes_first(&s, 3, 4));
    end(&s);
    s = price("st.global.u32 [%rd2+8], %r7;\n" LATE "ld.global.u32 %r6, [%rd3];\nst.global.u32 [%rd2], %r7;\n");
    CHECK(comes_first(&s, 0, 4) && comes_first(&s, 4, 5));
    end(&s);
    /* A store to another state space does not hold a load back. If no instruction writes a memory, its loads may move. */
    s = price("st.global.u32 [%rd2+8], %r7;\n" LATE "ld.shared.u32 %r6, [%rd3];\nst.global.u32 [%rd2], %r7;\n");
    CHECK(comes_first(&s, 5, 4));
    end(&s);
    s = price("st.global.u32 [%rd2+8], %r7;\n" LATE "ld.global.nc.u32 %r6, [%rd3];\nst.global.u32 [%rd2], %r7;\n");
    CHECK(comes_first(&s, 5, 4));
    end(&s);
#undef LATE
}

static void test_memory_runs_out(void)
{
    setup s = price(LOAD("5", "0") LOAD("6", "4") "@%p1 bra L; add.s32 %r5, %r5, 1;\nL: add.s32 %r6, %r6, 1;\n");
    check_oom oom = {.failed = 1};
    for (long n = 0; oom.failed && n < 1000; n++) {
        oom = (check_oom){.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        vm_cost *cost = model_cost_new(&mem, s.bench.module, &figures);
        CHECK((cost == NULL) == oom.failed);
        model_cost_free(cost);
        CHECK(oom.live == 0);
    }
    CHECK(!oom.failed);
    end(&s);
}

static const check_case cases[] = {{"floats", test_floats},
                                   {"integers", test_integers},
                                   {"moves", test_moves},
                                   {"memory", test_memory},
                                   {"loads", test_loads},
                                   {"branches", test_branches},
                                   {"stores behind loads", test_stores},
                                   {"memory runs out", test_memory_runs_out}};
KILN_SUITE("sim.cost", cases)
