/* Makes kernels that use mbarriers in any order, and runs them under the checks. Bytes choose the warps, the blocks of
 * a cluster, the counts, and statements: arrivals, announced bytes, copies that complete on an mbarrier, waits for
 * either parity, new initialisations, and plain accesses to the words of an mbarrier. Mutated texts of PTX seldom have
 * two threads that wait for one mbarrier in two phases, which the checks of phases need. The checks must not touch
 * memory that is not theirs, and a second run must give the same findings. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm_checks_internal.h"
#include "vm_count.h"

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "fuzz_mbarrier.c:%d: %s\n", __LINE__, #condition);                                         \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "quarantine_size_mb=8:malloc_context_size=6"; }

typedef struct maker {
    const uint8_t *data;
    size_t left;
    uint64_t rng;
    kiln__text text;
    unsigned labels, depth, threads, blocks,
        /* `blocks` is the number of blocks in a cluster, and `bars` is the number of mbarriers at the start of the */
        /* kernel */
        bars;
    unsigned who; /* the threads that usually arrive: 0 means all, 1 a lane of each warp, and 2 thread 0 */
} maker;

/* Takes a choice from the input. Behind its end the choices follow from its bytes. */
static unsigned below(maker *m, unsigned n)
{
    if (m->left) {
        m->left--;
        return *m->data++ % n;
    }
    m->rng ^= m->rng >> 12;
    m->rng ^= m->rng << 25;
    m->rng ^= m->rng >> 27;
    return (unsigned)(m->rng * 0x2545f4914f6cdd1dull >> 33) % n;
}
static bool chance(maker *m, unsigned percent) { return below(m, 100) < percent; }

/* Adds text with the choices of lists such as <a|b|c>. */
static void emit(maker *m, const char *format)
{
    for (const char *c = format; *c; c++) {
        if (*c != '<') {
            kiln__text_printf(&m->text, "%c", *c);
            continue;
        }
        const char *end = strchr(c, '>');
        unsigned count = 1;
        for (const char *k = c; k < end; k++)
            count += *k == '|';
        const char *from = c + 1;
        for (unsigned at = below(m, count); at; at--)
            from = strchr(from, '|') + 1;
        while (*from != '|' && *from != '>')
            kiln__text_printf(&m->text, "%c", *from++);
        c = end;
    }
}

/* Puts the address of an mbarrier into %a. Most of these mbarriers exist. Other addresses are misaligned, behind the last
 * mbarrier, or in memory that copies write. %w gets the same address as 64 bits, and %f the address in a block of the
 * cluster. */
static void choose_bar(maker *m)
{
    const unsigned odd = below(m, 120), bar = below(m, chance(m, 98) ? m->bars : 160);
    const unsigned offset = odd == 0 ? 4 : odd == 1 ? 1 : odd == 2 ? 1500 : 8 * bar;
    kiln__text_printf(&m->text, "  add.u32 %%a, %%bars, %u;\n", offset);
    if (odd == 3)
        kiln__text_puts(&m->text, "  mad.lo.u32 %a, %lane, 8, %bars;\n"); /* each lane has another mbarrier */
    kiln__text_printf(&m->text, "  mapa.shared::cluster.u32 %%f, %%a, %u;\n", below(m, m->blocks + (odd == 4)));
}

static const char *const operations[] = {
    "mbarrier.arrive.shared.b64 %st<0|1|2>, [%a];",
    "mbarrier.arrive.shared.b64 %st<0|1|2>, [%a];",
    "mbarrier.arrive<|.release.cta|.relaxed.cta|.release.cluster>.shared::cta.b64 _, [%a], <1|2|0|32|%n|%big>;",
    "mbarrier.arrive.noComplete.shared.b64 %st<0|1>, [%a], <1|2|32|%n>;",
    "mbarrier.arrive<|.release.cluster|.relaxed.cluster>.shared::cluster.b64 _, [%f]<|, 1|, 2|, %n>;",
    "mbarrier.arrive_drop.shared.b64 <_|%st0>, [%a]<|, 1|, 32|, %n>;",
    "mbarrier.arrive.expect_tx.shared::cta.b64 <_|%st0>, [%a], <0|4|16|64|%big>;",
    "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%f], <0|16|64>;",
    "mbarrier.arrive_drop.expect_tx.shared::cta.b64 _, [%a], <0|16>;",
    "mbarrier.expect_tx.relaxed.<cta.shared::cta|cluster.shared::cluster>.b64 [<%a|%a|%f>], <0|4|16|64|%big>;",
    "mbarrier.complete_tx.relaxed.<cta.shared::cta|cluster.shared::cluster>.b64 [<%a|%a|%f>], <0|4|16|64|%big>;",
    "mbarrier.test_wait.shared.b64 %p, [%a], %st<0|1|2>;",
    "mbarrier.test_wait.parity<|.acquire.cluster|.relaxed.cta>.shared.b64 %p, [%a], <0|1|%par|%par>;",
    "mbarrier.try_wait.parity<|.acquire.cta>.shared.b64 %p, [%a], <0|1|%par|%par><|, %n>;",
    "mbarrier.try_wait.shared.b64 %p, [%a], %st<0|1>;",
    "xor.b32 %par, %par, 1;",
    "mbarrier.pending_count.b64 %n, %st<0|1|2>;",
    "cp.async.ca.shared.global [%dst], [%src], <4|8|16>;",
    "cp.async.mbarrier.arrive<|.noinc>.shared.b64 [%a];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%dst], [%src], <16|32|64|%big>, [%a];",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%fdst], [%dst], <16|64>, [%f];",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.<b32 [%fdst], %n|u64 [%fdst], %st0>, [%f];",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%fdst], %n, [%f];",
    "fence.<mbarrier_init.release.cluster|proxy.async|acq_rel.cta|acq_rel.cluster>;",
    "ld.shared.b32 %n, [%dst];",
    "st.shared.b32 [%dst], %n;",
    "ld.shared.b64 %st<1|2>, [%a];",
    "bar.warp.sync -1;",
    "mov.b32 %n, <1|2|3|32|%lane|%tid>;",
};
static const char *const rare[] = {
    "mbarrier.init.shared.b64 [%a], <1|2|32|%n|0|%big>;",
    "mbarrier.inval.shared.b64 [%a];",
    "st.shared.b64 [%a], <%st0|0>;",
    "atom.shared.add.u64 %st2, [%a], 1;",
    "shr.u32 %big, %big, 1;",
    "ret;",
};

static void statements(maker *m, unsigned count);

/* Waits a few times for a phase, because a wait that does not end would use up all steps. */
static void wait_some(maker *m)
{
    const unsigned head = m->labels++;
    kiln__text_printf(&m->text, "  mov.b32 %%i2, 0;\nL%u:\n", head);
    emit(m, "  mbarrier.<try|test>_wait.parity.shared.b64 %p, [%a], <%par|%par|0|1>;\n");
    kiln__text_printf(&m->text, "  add.u32 %%i2, %%i2, 1;\n  setp.lt.and.u32 %%q, %%i2, %u, !%%p;\n  @%%q bra L%u;\n",
                      chance(m, 80) ? 40 : 2, head);
    if (chance(m, 50))
        kiln__text_puts(&m->text, "  xor.b32 %par, %par, 1;\n");
}

/* Writes a phase like in most kernels: some threads arrive, and all or some threads wait. */
static void pass_phase(maker *m)
{
    static const char *const guards[] = {"", "  setp.eq.u32 %g, %lane, 0;\n  @%g", "  setp.eq.u32 %g, %tid, 0;\n  @%g"};
    choose_bar(m);
    if (chance(m, 25))
        emit(m, "  setp.eq.u32 %g, %tid, 0;\n  @%g <mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%a], 16;\n"
                "  @%g cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%dst], [%src], 16, [%a]|"
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%fdst], %n, [%f]>;\n");
    kiln__text_puts(&m->text, guards[chance(m, 90) ? m->who : below(m, 3)]);
    emit(m,
         "  mbarrier.arrive<.shared.b64 %st0, [%a]|.shared.b64 %st1, [%a]|.release.cta.shared::cta.b64 _, [%a], 1>;\n");
    if (chance(m, 20))
        emit(m, "  setp.<lt|ge|ne>.u32 %g, %wid, <1|2>;\n  @%g bra ");
    else
        emit(m, "  setp.ge.u32 %g, %tid, 5000;\n  @%g bra ");
    const unsigned end = m->labels++;
    kiln__text_printf(&m->text, "L%u;\n", end);
    wait_some(m);
    kiln__text_printf(&m->text, "L%u:\n", end);
}

/* Lets some threads run statements: a warp, a lane of each warp, the first threads, or a block. */
static void branch(maker *m)
{
    const unsigned end = m->labels++;
    emit(m, "  setp.<ne.u32 %q, %wid, |ne.u32 %q, %lane, |ne.u32 %q, %tid, |ge.u32 %q, %tid, |ne.u32 %q, %rank, >");
    kiln__text_printf(&m->text, "%u;\n  @%%q bra L%u;\n", below(m, chance(m, 70) ? 4 : 40), end);
    m->depth++;
    statements(m, 1 + below(m, 4));
    m->depth--;
    kiln__text_printf(&m->text, "L%u:\n", end);
}

static void loop(maker *m)
{
    const unsigned head = m->labels++, depth = m->depth;
    kiln__text_printf(&m->text, "  mov.b32 %%i%u, 0;\nL%u:\n", depth, head);
    m->depth++;
    statements(m, 1 + below(m, 5));
    m->depth--;
    kiln__text_printf(&m->text, "  add.u32 %%i%u, %%i%u, 1;\n  setp.lt.u32 %%q, %%i%u, %u;\n  @%%q bra L%u;\n", depth,
                      depth, depth, 2 + below(m, 8), head);
}

static void statement(maker *m)
{
    const unsigned what = below(m, 100);
    if (what < 12 && m->depth < 2) {
        branch(m);
    } else if (what < 18 && m->depth < 2) {
        loop(m);
    } else if (what < 22 && m->depth == 0) {
        emit(m, "  <bar.sync 0|bar.sync 0|barrier.cluster.arrive;\n  barrier.cluster.wait>;\n");
    } else if (what < 60) {
        pass_phase(m);
    } else if (what < 68) {
        choose_bar(m);
        wait_some(m);
    } else {
        if (chance(m, 70))
            choose_bar(m);
        if (chance(m, 15))
            emit(m, "  setp.<lt|eq|ne>.u32 %g, %<tid|lane|wid>, <0|1|2|16>;\n  @%g");
        kiln__text_puts(&m->text, "  ");
        emit(m, what < 71 ? rare[below(m, KILN__COUNT(rare))] : operations[below(m, KILN__COUNT(operations))]);
        kiln__text_puts(&m->text, "\n");
    }
}

static void statements(maker *m, unsigned count)
{
    while (count--)
        statement(m);
}

static void write_kernel(maker *m)
{
    kiln__text_printf(&m->text,
                      ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 X)\n"
                      ".explicitcluster\n.reqnctapercluster %u, 1, 1\n{\n"
                      "  .shared .align 16 .b8 bar[1280];\n  .shared .align 16 .b8 data[4096];\n"
                      "  .reg .b32 %%a, %%f, %%n, %%big, %%bars, %%dst, %%fdst, %%tid, %%lane, %%wid, %%rank, %%par, "
                      "%%i<3>;\n  .reg .b64 %%st<3>, %%src;\n  .reg .pred %%p, %%q, %%g;\n",
                      m->blocks);
    kiln__text_puts(
        &m->text, "  ld.param.u64 %src, [X];\n  mov.u32 %tid, %tid.x;\n  mov.u32 %lane, %laneid;\n"
                  "  shr.u32 %wid, %tid, 5;\n  mov.u32 %rank, %cluster_ctarank;\n  mov.u32 %bars, bar;\n"
                  "  mov.u32 %dst, data;\n  and.b32 %n, %tid, 63;\n  mad.lo.u32 %dst, %n, 16, %dst;\n"
                  "  mad.wide.u32 %src, %n, 16, %src;\n  mov.b32 %par, 0;\n  mov.b32 %n, 1;\n  mov.b32 %big, 0xfffff;\n"
                  "  mov.b64 %st0, 0;\n  mov.b64 %st1, 0;\n  mov.b64 %st2, 0;\n  mov.u32 %a, %bars;\n"
                  "  mapa.shared::cluster.u32 %f, %a, 0;\n");
    kiln__text_printf(&m->text, "  mapa.shared::cluster.u32 %%fdst, %%dst, %u;\n", below(m, m->blocks));
    kiln__text_puts(&m->text, "  setp.ne.u32 %q, %tid, 0;\n  @%q bra START;\n");
    for (unsigned k = 0; k < m->bars; k++)
        kiln__text_printf(&m->text, "  mbarrier.init.shared.b64 [bar+%u], %u;\n", 8 * k,
                          chance(m, 85)
                              ? (const unsigned[]){m->threads, (m->threads + 31) / 32, 1}[m->who]
                              : (const unsigned[]){1, m->threads, 2, 32, m->threads - 1, 0xfffff, 0}[below(m, 7)]);
    emit(m, "  <fence.mbarrier_init.release.cluster|fence.mbarrier_init.release.cluster|mov.b32 %n, 2>;\nSTART:\n");
    if (chance(m, 90))
        kiln__text_puts(&m->text, "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n");
    statements(m, 4 + below(m, 16));
    kiln__text_puts(&m->text, "  ret;\n}\n");
}

enum { MEMORY = 8192 };

/* Runs a kernel twice under new checks. Returns the checks, or NULL if the text has no kernel. */
static vm_check *run(const maker *m, vm_device **made, vm_module **module)
{
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    const bool good = ptx_parse(NULL, kiln__text_get(&m->text), m->text.length, &ptx, &log) == PTX_OK;
    if (!good && getenv("FUZZ_MBARRIER_SHOW"))
        fprintf(stderr, "%s", kiln__text_get(&log));
    WANT(good || getenv("FUZZ_MBARRIER_SHOW"));
    vm_device *device = *made = vm_device_new(NULL, &(vm_limits){.memory = 4 << 20,
                                                                 .shared_per_block = 64 << 10,
                                                                 .threads = 1,
                                                                 .step_budget = 2000000 / (32 + m->threads),
                                                                 .sm_count = 4,
                                                                 .cc = 90});
    WANT(device);
    vm_check *check = check_new(NULL);
    WANT(check);
    check->often = 1;
    check_attach(device, check);
    const uint64_t at = vm_alloc(device, MEMORY);
    WANT(at && decode_module_load(device, ptx, module, &log) == PTX_OK);
    kiln__text_free(&log);
    for (unsigned turn = 0; turn < 2; turn++) {
        struct vm_watch watch = {.checks = &check_hooks};
        vm_launch launch = {.module = *module,
                            .kernel = vm_module_kernel(*module, "k"),
                            .grid = {m->blocks * (1 + turn), 1, 1},
                            .block = {m->threads, 1, 1},
                            .params = &at,
                            .order = turn,
                            .hooks = &count_watch_hooks,
                            .watch = &watch};
        vm_counters counters;
        vm_fault fault;
        vm_run(device, &launch, &counters, &fault);
        if (getenv("FUZZ_MBARRIER_SHOW"))
            fprintf(stderr, "%" PRIu64 " instructions: %s\n", counters.warp_instructions, fault.message);
    }
    return check;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned threads[] = {64, 32, 128, 96, 256, 33, 1, 1024};
    maker m = {.data = data, .left = size, .rng = 0x9e3779b97f4a7c15ull};
    vm_device *devices[2];
    vm_module *modules[2];
    vm_check *checks[2];
    for (size_t k = 0; k < size; k++)
        m.rng = (m.rng ^ data[k]) * 0x100000001b3ull | 1;
    m.threads = threads[below(&m, chance(&m, 80) ? 4 : 8)];
    m.blocks = 1 + below(&m, 10) / 6 + below(&m, 20) / 19 * 2;
    m.bars = 1 + below(&m, chance(&m, 90) ? 3 : 150);
    m.who = below(&m, 3);
    write_kernel(&m);
    WANT(!m.text.failed);
    if (getenv("FUZZ_MBARRIER_SHOW"))
        fprintf(stderr, "%s", kiln__text_get(&m.text));
    for (unsigned k = 0; k < 2; k++)
        checks[k] = run(&m, &devices[k], &modules[k]);
    WANT(check_count_findings(checks[0]) == check_count_findings(checks[1]));
    for (size_t k = 0; k < check_count_findings(checks[0]); k++) {
        const kiln_check_finding *a = check_get_finding(checks[0], k), *b = check_get_finding(checks[1], k);
        if (getenv("FUZZ_MBARRIER_SHOW"))
            fprintf(stderr, "%s\n", a->message);
        WANT(a->kind == b->kind && a->count == b->count && strcmp(a->message, b->message) == 0);
    }
    for (unsigned k = 0; k < 2; k++) {
        vm_module_unload(devices[k], modules[k]);
        vm_device_free(devices[k]);
        check_free(checks[k]);
    }
    kiln__text_free(&m.text);
    return 0;
}
