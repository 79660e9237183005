/* Tests warp operations whose lanes belong to several groups, each with a separate member mask. A group runs when all
 * of its live members have arrived, whatever the other lanes do. Members may arrive one by one, at other instructions
 * of the same operation, or in other calls. Groups change from round to round, and lanes leave. */
#include "vm_check.h"

#define HEAD ".version 9.0\n.target sm_100\n.address_size 64\n"

/* ---- many random groups, compared with the definition of each operation ---- */

enum { ROUNDS = 24, SEEDS = 6, PLACES = 3 };

typedef struct row {
    uint32_t mask, delay, value, arg; /* if `mask` is 0, the lane skips the round; `arg` is a lane of the group */
    uint32_t place, life, unused[2];  /* `life` is the number of rounds after which the lane exits */
} row;

typedef struct operation {
    const char *name;
    const char *here, *there; /* %r4 mask, %r6 value, %r7 argument; the result in %r20 and %p5. `there` computes the
                                 same in another way */
    /* returns the result of `lane`, and sets *p to the predicate */
    uint32_t (*answer)(const row *rows, uint32_t group, uint32_t lane, uint32_t *p);
} operation;

#define EACH(lane, mask)                                                                                               \
    for (uint32_t lane = 0; lane < 32; lane++)                                                                         \
        if ((mask) >> lane & 1)

static uint32_t from_arg(const row *rows, uint32_t group, uint32_t lane, uint32_t *p)
{
    (void)group;
    *p = 1;
    return rows[rows[lane].arg].value;
}
/* Shuffles from a lane with a lower or a higher number. If the source lane is on the wrong side, the lane gets its own
 * value. */
static uint32_t from_before(const row *rows, uint32_t group, uint32_t lane, uint32_t *p)
{
    (void)group;
    *p = 1;
    return rows[rows[lane].arg < lane ? rows[lane].arg : lane].value;
}
static uint32_t from_behind(const row *rows, uint32_t group, uint32_t lane, uint32_t *p)
{
    (void)group;
    *p = 1;
    return rows[rows[lane].arg > lane ? rows[lane].arg : lane].value;
}
static uint32_t in_memory(const row *rows, uint32_t group, uint32_t lane, uint32_t *p)
{
    from_arg(rows, group, lane, p);
    *p = 0;
    return rows[rows[lane].arg].value;
}
static uint32_t ballot(const row *rows, uint32_t group, uint32_t lane, uint32_t *p)
{
    uint32_t out = 0;
    (void)lane;
    *p = 0;
    EACH(k, group) out |= (rows[k].value & 1) << k;
    return out;
}
static uint32_t all(const row *rows, uint32_t group, uint32_t lane, uint32_t *p)
{
    *p = ballot(rows, group, lane, p) == group;
    return 0;
}
static uint32_t match_any(const row *rows, uint32_t group, uint32_t lane, uint32_t *p)
{
    uint32_t out = 0;
    *p = 0;
    EACH(k, group) out |= (uint32_t)((rows[k].value & 3) == (rows[lane].value & 3)) << k;
    return out;
}
static uint32_t match_all(const row *rows, uint32_t group, uint32_t lane, uint32_t *p)
{
    *p = match_any(rows, group, lane, p) == group;
    return *p ? group : 0;
}
static uint32_t sum(const row *rows, uint32_t group, uint32_t lane, uint32_t *p)
{
    uint32_t out = 0;
    (void)lane;
    *p = 0;
    EACH(k, group) out += rows[k].value;
    return out;
}
static uint32_t least(const row *rows, uint32_t group, uint32_t lane, uint32_t *p)
{
    int32_t out = INT32_MAX;
    (void)lane;
    *p = 0;
    EACH(k, group) out = (int32_t)rows[k].value < out ? (int32_t)rows[k].value : out;
    return (uint32_t)out;
}
static uint32_t elected(const row *rows, uint32_t group, uint32_t lane, uint32_t *p)
{
    (void)rows;
    *p = (group & (0 - group)) == 1u << lane;
    return (uint32_t)__builtin_ctz(group);
}

#define SHARED_TURN(sync)                                                                                              \
    "mov.u32 %r9, s; mad.lo.u32 %r10, %r1, 4, %r9; mad.lo.u32 %r9, %r7, 4, %r9; st.shared.u32 [%r10], %r6;\n" sync     \
    "ld.shared.u32 %r20, [%r9];\n" sync
static const operation operations[] = {
    {"shfl.idx", "shfl.sync.idx.b32 %r20|%p5, %r6, %r7, 31, %r4;", "shfl.sync.idx.b32 %r20|%p5, %r6, %r7, %r8, %r4;",
     from_arg},
    {"shfl.bfly", "xor.b32 %r9, %r7, %r1; shfl.sync.bfly.b32 %r20|%p5, %r6, %r9, 31, %r4;",
     "xor.b32 %r10, %r7, %r1; shfl.sync.bfly.b32 %r20|%p5, %r6, %r10, %r8, %r4;", from_arg},
    {"shfl.up", "min.u32 %r9, %r7, %r1; sub.u32 %r9, %r1, %r9; shfl.sync.up.b32 %r20|%p5, %r6, %r9, 0, %r4;",
     "min.u32 %r9, %r7, %r1; sub.u32 %r9, %r1, %r9; shfl.sync.up.b32 %r20|%p5, %r6, %r9, 0, %r4;", from_before},
    {"shfl.down", "max.u32 %r9, %r7, %r1; sub.u32 %r9, %r9, %r1; shfl.sync.down.b32 %r20|%p5, %r6, %r9, 31, %r4;",
     "max.u32 %r9, %r7, %r1; sub.u32 %r9, %r9, %r1; shfl.sync.down.b32 %r20|%p5, %r6, %r9, %r8, %r4;", from_behind},
    {"vote.ballot", "vote.sync.ballot.b32 %r20, %p3, %r4;", "vote.sync.ballot.b32 %r20, !%p4, %r4;", ballot},
    {"vote.all", "vote.sync.all.pred %p5, %p3, %r4;", "vote.sync.all.pred %p5, !%p4, %r4;", all},
    {"match.any", "and.b32 %r9, %r6, 3; match.any.sync.b32 %r20, %r9, %r4;",
     "and.b32 %r10, %r6, 3; match.any.sync.b32 %r20, %r10, %r4;", match_any},
    {"match.all", "and.b32 %r9, %r6, 3; cvt.u64.u32 %d3, %r9; match.all.sync.b64 %r20|%p5, %d3, %r4;",
     "and.b32 %r9, %r6, 3; cvt.u64.u32 %d4, %r9; match.all.sync.b64 %r20|%p5, %d4, %r4;", match_all},
    {"redux.add", "redux.sync.add.u32 %r20, %r6, %r4;", "mov.b32 %r9, %r6; redux.sync.add.u32 %r20, %r9, %r4;", sum},
    {"redux.min", "redux.sync.min.s32 %r20, %r6, %r4;", "mov.b32 %r9, %r6; redux.sync.min.s32 %r20, %r9, %r4;", least},
    {"elect", "elect.sync %r20|%p5, %r4;", "mov.b32 %r9, %r4; elect.sync %r20|%p5, %r9;", elected},
    {"bar.warp", SHARED_TURN("bar.warp.sync %r4;"), SHARED_TURN("mov.b32 %r11, %r4; bar.warp.sync %r11;"), in_memory},
};

#define REGS ".reg .pred %p<8>; .reg .b32 %r<24>; .reg .b64 %d<8>;\n"
#define BITS                                                                                                           \
    "mov.b32 %r8, 31; mov.b32 %r20, 0; setp.ne.u32 %p5, %r20, 0; and.b32 %r12, %r6, 1;\n"                              \
    "setp.ne.u32 %p3, %r12, 0; setp.eq.u32 %p4, %r12, 0;\n"

/* The lanes arrive one by one. The branch to END, which no lane takes, prevents an earlier reconvergence. */
static void kernel_text(kiln__text *text, const operation *op)
{
    const char *const parts[] = {
        HEAD ".shared .align 4 .b8 s[128];\n"
             ".func (.param .b32 out, .param .b32 good) f (.param .b32 m, .param .b32 v, .param .b32 a) {\n" REGS
             "ld.param.b32 %r4, [m]; ld.param.b32 %r6, [v]; ld.param.b32 %r7, [a]; mov.u32 %r1, %laneid;\n" BITS,
        op->there,
        "selp.b32 %r21, 1, 0, %p5; st.param.b32 [out], %r20; st.param.b32 [good], %r21; ret;\n}\n"
        ".visible .entry k (.param .u64 a, .param .u64 b) {\n" REGS
        "ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; mov.u32 %r1, %laneid;\n"
        "mad.wide.u32 %d0, %r1, 32, %d0; mad.wide.u32 %d1, %r1, 8, %d1; mov.u32 %r2, 0;\n"
        "LOOP: ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d0]; ld.global.v2.u32 {%r13, %r14}, [%d0+16];\n"
        "setp.ge.u32 %p1, %r2, %r14; @%p1 bra END;\n"
        "WAIT: setp.eq.u32 %p2, %r1, 99; @%p2 bra END; setp.eq.u32 %p1, %r5, 0; @%p1 bra GO;\n"
        "sub.u32 %r5, %r5, 1; bra WAIT;\nGO: " BITS "setp.eq.u32 %p1, %r4, 0; @%p1 bra NEXT;\n"
        "setp.eq.u32 %p1, %r13, 1; @%p1 bra OTHER; setp.eq.u32 %p1, %r13, 2; @%p1 bra CALL;\n",
        op->here,
        "\nbra STORE;\nOTHER: ",
        op->there,
        "\nbra STORE;\nCALL: { .param .b32 x; .param .b32 g; .param .b32 m; .param .b32 v; .param .b32 a;\n"
        "st.param.b32 [m], %r4; st.param.b32 [v], %r6; st.param.b32 [a], %r7;\n"
        "call (x, g), f, (m, v, a); ld.param.b32 %r20, [x]; ld.param.b32 %r21, [g]; }\n"
        "setp.ne.u32 %p5, %r21, 0;\n"
        "STORE: selp.b32 %r21, 1, 0, %p5; st.global.v2.u32 [%d1], {%r20, %r21};\n"
        "NEXT: add.u32 %r2, %r2, 1; add.u64 %d0, %d0, 1024; add.u64 %d1, %d1, 256;\n"
        "setp.lt.u32 %p1, %r2, 24; @%p1 bra LOOP;\nEND: ret;\n}\n"};
    for (size_t k = 0; k < KILN__COUNT(parts); k++)
        kiln__text_puts(text, parts[k]);
}
_Static_assert(ROUNDS == 24, "as in the text");

static uint32_t random_below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % n);
}

/* Makes for each round a partition of the lanes that take part. Masks may also name lanes that have exited, or that
 * exit before the operation. */
static void make_rows(row rows[ROUNDS][32], uint64_t seed)
{
    uint64_t state = seed;
    uint32_t life[32];
    for (uint32_t k = 0; k < 32; k++)
        life[k] = random_below(&state, 4) ? ROUNDS : 1 + random_below(&state, ROUNDS);
    for (uint32_t r = 0; r < ROUNDS; r++) {
        uint32_t groups = 1 + random_below(&state, 6), mask[7] = {0}, gone = 0;
        for (uint32_t k = 0; k < 32; k++) {
            rows[r][k] = (row){.value = random_below(&state, 1u << 31) * 3,
                               .delay = random_below(&state, 3) ? 0 : random_below(&state, 60),
                               .place = random_below(&state, PLACES),
                               .life = life[k]};
            /* the number of the lane's group, or 0 if the lane skips the round */
            rows[r][k].unused[0] = random_below(&state, groups + 1);
            if (r < life[k])
                mask[rows[r][k].unused[0]] |= 1u << k;
            else
                gone |= 1u << k;
        }
        for (uint32_t k = 0; k < 32; k++) {
            uint32_t g = rows[r][k].unused[0], arg = random_below(&state, 32);
            if (g == 0 || r >= life[k])
                continue;
            while (!(mask[g] >> arg & 1))
                arg = (arg + 1) % 32;
            rows[r][k].arg = arg;
            rows[r][k].mask = mask[g] | (g & 1 ? gone : 0);
        }
    }
}

/* Runs one operation between lanes for all rows of random masks, and compares every lane with the definition in PTX.
 * Returns a hash of the results. */
static uint64_t run_rows(const operation *op, row rows[ROUNDS][32], const char *what)
{
    kiln__text text = {0};
    kernel_text(&text, op);
    vm_bench b = vm_bench_text(text.data, text.length, (vm_limits){.threads = 1, .step_budget = 1 << 22});
    kiln__text_free(&text);
    row *in;
    uint32_t(*out)[32][2];
    struct {
        uint64_t a, b;
    } p = {vm_bench_zeros(&b, ROUNDS * sizeof rows[0], &in), vm_bench_zeros(&b, ROUNDS * sizeof *out, &out)};
    memcpy(in, rows, ROUNDS * sizeof rows[0]);
    vm_bench_run(&b, "k", 1, 32, &p);
    unsigned wrong = 0;
    for (uint32_t r = 0; r < ROUNDS; r++) {
        uint32_t here = 0;
        for (uint32_t k = 0; k < 32; k++)
            here |= (uint32_t)(r < rows[r][k].life) << k;
        for (uint32_t k = 0; k < 32; k++) {
            uint32_t good = 0, want = 0;
            if (rows[r][k].mask)
                want = op->answer(rows[r], rows[r][k].mask & here, k, &good);
            wrong += out[r][k][0] != want || out[r][k][1] != good;
        }
    }
    if (wrong)
        fprintf(stderr, "%s, %s: %u wrong\n", op->name, what, wrong);
    CU_ASSERT_EQUAL(wrong, 0);
    uint64_t lanes = b.counters.lane_instructions;
    vm_bench_end(&b);
    return lanes;
}

/* With compiled code the test uses only one seed, because LLVM compiles the kernel in each run, which takes nearly all
 * of the time. */
static void at_random(void)
{
    static row rows[ROUNDS][32];
    const uint64_t seeds = getenv("KILN_SIM_JIT") ? 1 : SEEDS;
    for (size_t k = 0; k < KILN__COUNT(operations); k++)
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            make_rows(rows, seed * 1000 + k);
            const uint64_t lanes = run_rows(&operations[k], rows, "lanes come as they like");
            /* In another order the results must be the same, and the instructions of each lane must be counted once. */
            for (uint32_t r = 0; r < ROUNDS; r++)
                for (uint32_t a = 0; a + 1 < 32; a += 2) {
                    row *x = &rows[r][a], *y = x + 1;
                    if (r >= x->life || r >= y->life)
                        continue;
                    uint32_t delay = x->delay;
                    x->delay = y->delay;
                    y->delay = delay;
                }
            CU_ASSERT_EQUAL(run_rows(&operations[k], rows, "in another order"), lanes);
        }
}

/* ---- single cases ---- */

#define KERNEL(body)                                                                                                   \
    HEAD ".shared .align 4 .b8 s[128];\n.visible .entry k (.param .u64 a, .param .u64 b) {\n" REGS                     \
         "ld.param.u64 %d0, [a]; mov.u32 %r1, %laneid; mad.wide.u32 %d1, %r1, 4, %d0; mov.u32 %r20, 0;\n" body         \
         "\nSTORE: st.global.u32 [%d1], %r20;\nEND: ret;\n}\n"

static uint32_t *got;
static vm_bench run_one(const char *text, vm_fault_kind want)
{
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1, .step_budget = 1 << 20});
    struct {
        uint64_t a, b;
    } p = {vm_bench_zeros(&b, 4096, &got), 0};
    vm_fault_kind kind = vm_bench_try(&b, "k", 1, 32, &p, 0);
    if (kind != want)
        fprintf(stderr, "%s\n%s\n", b.fault.message, text);
    CU_ASSERT_EQUAL(kind, want);
    return b;
}

/* Half of the lower group and half of the upper group wait. The upper group becomes complete, and only its lanes
 * continue. */
static void incomplete(void)
{
    vm_bench b = run_one(
        KERNEL("mov.b32 %r5, 0; setp.lt.u32 %p3, %r1, 16; selp.b32 %r4, 0xffff, 0xffff0000, %p3;\n"
               "shr.u32 %r6, %r1, 3; setp.eq.u32 %p1, %r6, 1; @%p1 mov.b32 %r5, 9000; setp.eq.u32 %p1, %r6, 3;\n"
               "@%p1 mov.b32 %r5, 5000; mov.b32 %r7, %r1;\n"
               "WAIT: setp.eq.u32 %p2, %r1, 99; @%p2 bra END; setp.eq.u32 %p1, %r5, 0; @%p1 bra GO;\n"
               "sub.u32 %r5, %r5, 1; add.u32 %r7, %r7, 1; bra WAIT;\nGO: redux.sync.add.u32 %r20, %r7, %r4;"),
        VM_OK);
    for (uint32_t k = 0; k < 32; k++)
        CU_ASSERT_EQUAL(got[k], k < 16 ? 120 + 8 * 9000 : 376 + 8 * 5000);
    vm_bench_end(&b);
}

/* The upper group's last lanes wait for values that the lower group writes afterwards. */
static void one_waits_for_the_other(void)
{
    vm_bench b =
        run_one(KERNEL("setp.lt.u32 %p3, %r1, 16; selp.b32 %r4, 0xffff, 0xffff0000, %p3; setp.ge.u32 %p1, %r1, 24;\n"
                       "setp.eq.u32 %p4, %r1, 0; @%p4 st.shared.u32 [s], %r20; bar.warp.sync -1; @%p1 bra SPIN;\n"
                       "SUM: redux.sync.add.u32 %r20, %r1, %r4; setp.ne.u32 %p1, %r1, 0; @%p1 bra STORE;\n"
                       "mov.b32 %r5, 1; st.volatile.shared.u32 [s], %r5; bra STORE;\n"
                       "SPIN: ld.volatile.shared.u32 %r6, [s]; setp.eq.u32 %p1, %r6, 0; @%p1 bra SPIN; bra SUM;"),
                VM_OK);
    for (uint32_t k = 0; k < 32; k++)
        CU_ASSERT_EQUAL(got[k], k < 16 ? 120 : 376);
    vm_bench_end(&b);
}

/* Lanes of one group are at different instructions in different branches. Other groups are complete in these
 * branches. */
static void in_both_branches(void)
{
    vm_bench b = run_one(
        KERNEL(
            "setp.lt.u32 %p3, %r1, 16; selp.b32 %r4, 0xffff, 0xffff0000, %p3; setp.ge.u32 %p1, %r1, 24; @%p1 bra REST;\n"
            "vote.sync.ballot.b32 %r20, %p3, %r4; shfl.sync.idx.b32 %r6, %r1, 31, 31, %r4; add.u32 %r20, %r20, %r6;\n"
            "bra STORE;\nREST: vote.sync.ballot.b32 %r20, !%p3, %r4; mul.lo.u32 %r7, %r1, 3;\n"
            "shfl.sync.idx.b32 %r6, %r7, 16, 31, %r4; add.u32 %r20, %r20, %r6;"),
        VM_OK);
    for (uint32_t k = 16; k < 32; k++)
        CU_ASSERT_EQUAL(got[k], 0xff000000 + (k < 24 ? 31 * 3 : 16));
    vm_bench_end(&b);
}

/* A barrier of a few lanes must not release lanes that wait for all lanes. */
static void smaller_barrier(void)
{
    vm_bench b = run_one(
        KERNEL(
            "setp.lt.u32 %p3, %r1, 4; mov.b32 %r5, 0; setp.eq.u32 %p1, %r1, 3; @%p1 mov.b32 %r5, 5000;\n"
            "@!%p3 bra ALL;\n"
            "WAIT: setp.eq.u32 %p2, %r1, 99; @%p2 bra END; setp.eq.u32 %p1, %r5, 0; @%p1 bra GO;\n"
            "sub.u32 %r5, %r5, 1; bra WAIT;\n"
            "GO: bar.warp.sync 0xf; mov.b32 %r5, s; mad.lo.u32 %r5, %r1, 4, %r5; mov.b32 %r6, 7; st.shared.u32 [%r5], %r6;\n"
            "bar.warp.sync 0xffffffff; bra STORE;\n"
            "ALL: bar.warp.sync 0xffffffff; and.b32 %r5, %r1, 3; mov.b32 %r6, s; mad.lo.u32 %r5, %r5, 4, %r6;\n"
            "ld.shared.u32 %r20, [%r5];"),
        VM_OK);
    for (uint32_t k = 4; k < 32; k++)
        CU_ASSERT_EQUAL(got[k], 7);
    vm_bench_end(&b);
}

/* Lanes 2 and 3 are a round ahead of the lanes that they name. They wait until those lanes reach this round. */
static void a_round_ahead(void)
{
    vm_bench b = run_one(
        KERNEL("setp.ge.u32 %p1, %r1, 4; @%p1 bra STORE; setp.lt.u32 %p3, %r1, 2; mov.b32 %r7, 0; mov.b32 %r4, 15;\n"
               "@%p3 mov.b32 %r4, 3; @%p3 mov.b32 %r7, 1;\n"
               "LOOP: redux.sync.add.u32 %r6, %r1, %r4; mad.lo.u32 %r20, %r20, 100, %r6; mov.b32 %r4, 15;\n"
               "setp.ne.u32 %p1, %r7, 0; sub.u32 %r7, %r7, 1; @%p1 bra LOOP;"),
        VM_OK);
    CU_ASSERT(got[0] == 106 && got[1] == 106 && got[2] == 6 && got[3] == 6);
    vm_bench_end(&b);
}

/* If a lane's predicate is false, it does not wait with the lanes whose predicate is true. These other lanes may wait
 * for it. */
static void guarded(void)
{
    vm_bench b = run_one(KERNEL("setp.lt.u32 %p3, %r1, 8; mov.b32 %r4, 0; setp.ge.u32 %p4, %r1, 8;\n"
                                "@%p3 vote.sync.ballot.b32 %r20, %p3, -1;\n@%p4 vote.sync.ballot.b32 %r20, %p3, -1;"),
                         VM_OK);
    for (uint32_t k = 0; k < 32; k++)
        CU_ASSERT_EQUAL(got[k], 0xff);
    vm_bench_end(&b);
}

/* If a group can never be complete, the fault comes at once and names the places where its lanes wait. */
static void never_complete(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        /* A named lane waits at a barrier of the block, while its group waits for it. */
        {KERNEL(
             "setp.lt.u32 %p3, %r1, 16; selp.b32 %r4, 0x1ffff, 0xfffe0000, %p3; setp.eq.u32 %p1, %r1, 16; @%p1 bra BAR;\n"
             "redux.sync.add.u32 %r20, %r1, %r4;\nBAR: barrier.sync 0;"),
         "deadlock"},
        /* other qualifiers */
        {KERNEL("setp.lt.u32 %p3, %r1, 16; @%p3 bra OTHER; shfl.sync.idx.b32 %r20, %r1, 0, 31, -1; bra STORE;\n"
                "OTHER: shfl.sync.bfly.b32 %r20, %r1, 1, 31, -1;"),
         "deadlock"},
        /* another operation */
        {KERNEL("setp.lt.u32 %p3, %r1, 16; @%p3 bra OTHER; redux.sync.add.u32 %r20, %r1, -1; bra STORE;\n"
                "OTHER: redux.sync.add.s32 %r20, %r1, -1;"),
         "deadlock"},
    };
    for (size_t k = 0; k < KILN__COUNT(cases); k++) {
        vm_bench b = run_one(cases[k].text, VM_FAULT_DEADLOCK);
        CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, cases[k].says));
        CU_ASSERT(b.counters.warp_instructions < 100);
        vm_bench_end(&b);
    }
}

/* Tests masks that are wrong, because they lack the lane itself. The operations run, and the checks report the masks
 * (test_check.c). */
static void contradictory(void)
{
    vm_bench b = run_one(KERNEL("vote.sync.ballot.b32 %r20, 1, 0xffff;"), VM_OK);
    for (uint32_t k = 0; k < 32; k++)
        CU_ASSERT_EQUAL(got[k], 0xffff);
    vm_bench_end(&b);
    b = run_one(
        KERNEL("xor.b32 %r4, %r1, 1; mov.b32 %r5, 1; shl.b32 %r4, %r5, %r4; vote.sync.ballot.b32 %r20, 1, %r4;"),
        VM_OK);
    for (uint32_t k = 0; k < 32; k++)
        CU_ASSERT_EQUAL(got[k], 1u << (k ^ 1));
    vm_bench_end(&b);
}

static const check_case cases[] = {
    {"groups at random", at_random},
    {"incomplete", incomplete},
    {"one waits for the other", one_waits_for_the_other},
    {"in both branches", in_both_branches},
    {"smaller barrier", smaller_barrier},
    {"a round ahead", a_round_ahead},
    {"guarded", guarded},
    {"never complete", never_complete},
    {"contradictory", contradictory},
};
KILN_SUITE("vm group", cases)
