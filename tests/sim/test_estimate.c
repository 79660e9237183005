/* Tests the estimate of times: the text of device profiles, and kernels whose time follows from a few figures of a
 * profile. */
#include <math.h>

#include "profile.h"
#include "vm_time.h"
#include "vm_check.h"

static char *profile_text;
static size_t profile_length;
static sim_profile_data h200;

static void read_profile(void)
{
    char path[1024];
    kiln_error *error = NULL;
    kiln__text log = {0};
    if (profile_text)
        return;
    snprintf(path, sizeof path, "%s/specs/devices/h200.profile", KILN_SOURCE_DIR);
    CHECK_OK(kiln__file_read(NULL, path, 0, &profile_text, &profile_length, &error), error);
    CHECK(sim_profile_read(profile_text, profile_length, "h200", &h200, &log));
    kiln__text_free(&log);
    /* fast loads of code: these kernels have no loops, so they would wait for their code */
    h200.model.code_rate = 4096;
}

/* ---- profiles ---- */

static bool reads(const char *text, size_t length, const char *complaint)
{
    sim_profile_data data;
    kiln__text log = {0};
    bool good = sim_profile_read(text, length, "p", &data, &log);
    if (complaint && !strstr(kiln__text_get(&log), complaint)) {
        fprintf(stderr, "'%s' is not in: %s\n", complaint, kiln__text_get(&log));
        CU_FAIL("another complaint");
    }
    kiln__text_free(&log);
    return good;
}

static bool reads_with(const char *line, const char *complaint)
{
    kiln__text text = {0};
    kiln__text_add(&text, profile_text, profile_length);
    kiln__text_puts(&text, line);
    bool good = reads(kiln__text_get(&text), text.length, complaint);
    kiln__text_free(&text);
    return good;
}

static void test_profile(void)
{
    read_profile();
    CHECK(h200.model.sm_count == 132 && h200.model.clock == 1980e6 && h200.model.l2_size == 52428800);
    CHECK(h200.model.fp32 == 128 && h200.model.launch == 3.2 && h200.model.carveout_count == 10);
    CHECK(h200.model.carveouts[9] == 228 * 1024.0);
    CHECK(h200.memory == 150754820096u);
    CHECK_TEXT(h200.title, "NVIDIA H200 (simulated)");
    CHECK(reads_with("\n# a comment\n \t\r\n", NULL));
    CHECK(!reads_with("sm_count: 4\n", "sm_count occurs twice"));
    CHECK(!reads_with("smcount: 4\n", "did you mean sm_count?"));
    CHECK(!reads_with("nonsense\n", "a line must be `key: value`"));
    CHECK(!reads_with("shared_carveouts_kib: 1\n", "occurs twice"));
    CHECK(!reads_with("gpc_sms: 1\n", "gpc_sms occurs twice"));
    CHECK(!reads("gpc_sms: 18 0\n", 14, "at most 16 numbers, from 1 to 4096"));
    CHECK(!reads("", 0, "missing: compute_capability"));
    CHECK(!reads("title: \n", 8, "title: must have 1 to 95 characters"));
    CHECK(!reads("sm_count: 0\n", 12, "sm_count: 0 is not between 1 and 4096"));
    CHECK(!reads("sm_count: nan\n", 14, "is not a number"));
    CHECK(!reads("sm_count: 4x\n", 13, "'4x' is not a number"));
    CHECK(!reads("shared_carveouts_kib: 8 4\n", 26, "ascending"));
    CHECK(!reads("shared_carveouts_kib: few\n", 26, "numbers separated by spaces"));
    CHECK(!reads("a\0b", 3, "line of text"));
    char line[600];
    memset(line, 'x', sizeof line);
    CHECK(!reads(line, sizeof line, "at most 511 characters"));
}

/* The SMs of all GPCs in a profile must add up to the SMs of the device. */
static void test_profile_gpcs(void)
{
    read_profile();
    CHECK(h200.model.gpc_count == 8 && h200.model.gpcs[0] == 18 && h200.model.gpcs[7] == 8);
    const char *line = strstr(profile_text, "sm_count: 132");
    CHECK(line != NULL);
    kiln__text text = {0};
    kiln__text_add(&text, profile_text, (size_t)(line - profile_text));
    kiln__text_puts(&text, "sm_count: 131");
    kiln__text_puts(&text, line + strlen("sm_count: 132"));
    CHECK(!reads(kiln__text_get(&text), text.length, "gpc_sms: 132 in sum, but sm_count is 131"));
    kiln__text_free(&text);
}

/* Leaves out each line of a profile in turn. The profile must be refused, unless the line states nothing. */
static void test_profile_whole(void)
{
    read_profile();
    unsigned refused = 0;
    for (size_t at = 0; at < profile_length;) {
        const char *end = memchr(profile_text + at, '\n', profile_length - at);
        size_t next = end ? (size_t)(end - profile_text) + 1 : profile_length;
        kiln__text text = {0};
        kiln__text_add(&text, profile_text, at);
        kiln__text_add(&text, profile_text + next, profile_length - next);
        bool says = profile_text[at] != '#' && profile_text[at] != '\n' &&
                    strncmp(profile_text + at, "shared_carv", 11) != 0 && strncmp(profile_text + at, "gpc_", 4) != 0 &&
                    strncmp(profile_text + at, "host_", 5) != 0;
        CHECK(reads(kiln__text_get(&text), text.length, NULL) == !says);
        refused += says;
        kiln__text_free(&text);
        at = next;
    }
    CHECK(refused > 40);
}

/* If a profile leaves out a figure that has a default, the default is used. */
static void test_profile_usual(void)
{
    read_profile();
    sim_profile_data data;
    kiln__text log = {0};
    const char *from = strstr(profile_text, "host_gb_per_second");
    CHECK(h200.model.host_rate == 63 && h200.model.host_share == 0.9 && from != NULL);
    CHECK(sim_profile_read(profile_text, (size_t)(from - profile_text), "p", &data, &log));
    CHECK(data.model.host_rate == 31.5 && data.model.host_share == 0.9 && data.model.clock == h200.model.clock);
    kiln__text_free(&log);
    CHECK(!reads_with("host_gb_per_second: 4\n", "occurs twice"));
}

/* ---- times ---- */

static void test_bound(void)
{
    static const struct {
        const char *text;
        vm_time_result result;
        double overhead;
    } wanted[] = {
        {"latency", {.clocks = 1000, .dram = 0.59, .issue = 0.3}, 10},
        {"memory", {.clocks = 1000, .dram = 0.6, .issue = 0.3}, 10},
        {"issue", {.clocks = 1000, .dram = 0.7, .issue = 0.8, .unit = {[VM_UNIT_FMA] = 0.75}}, 10},
        {"fp32 units", {.clocks = 1000, .issue = 0.8, .unit = {[VM_UNIT_FMA] = 0.9}}, 10},
        {"tensor cores", {.clocks = 1000, .unit = {[VM_UNIT_TENSOR] = 0.9, [VM_UNIT_FMA] = 0.7}}, 10},
        {"L2", {.clocks = 1000, .l2 = 1.02, .dram = 0.9}, 10},
        {"shared memory", {.clocks = 1000, .shared = 0.61}, 10},
        {"block starts", {.clocks = 1000, .starting = 0.7}, 10},
        {"atomics", {.clocks = 1000, .hottest = 1000, .dram = 0.9}, 10},
        {"launch", {.clocks = 1000, .hottest = 1000, .dram = 0.9}, 1001},
    };
    for (size_t k = 0; k < KILN__COUNT(wanted); k++)
        CHECK_TEXT(model_time_bound(&wanted[k].result, wanted[k].overhead), wanted[k].text);
}

#define HEAD                                                                                                           \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 stride)\n{\n"       \
    ".reg .f32 %f<40>; .reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .pred %p<10>; .shared .align 16 .b8 own[16384];\n"    \
    "ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [stride]; mov.u32 %r2, %tid.x; mul.lo.s32 %r3, %r1, %r2;\n"           \
    "mul.wide.u32 %rd2, %r3, 4; add.s64 %rd3, %rd1, %rd2; mov.u32 %r4, own; add.s32 %r5, %r4, %r3;\n"                  \
    "mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f3f800000;\n"

typedef struct setup {
    vm_bench bench;
    vm_cost *cost;
    struct vm_trace *trace;
    vm_time_launch launch;
} setup;

/* Runs a kernel with one block and traces it. The kernel has `line` `count` times between HEAD and ret. `%d` in the
 * line becomes the number of one of 32 registers. */
static setup trace_of(const char *line, unsigned count, uint32_t threads, uint32_t stride, uint64_t limit, bool only,
                      uint32_t blocks)
{
    setup s = {0};
    kiln__text text = {0};
    read_profile();
    kiln__text_puts(&text, HEAD);
    for (unsigned n = 0; n < count; n++) {
        char made[200];
        snprintf(made, sizeof made, line, 3 + n % 32, 3 + n % 32);
        kiln__text_puts(&text, made);
    }
    kiln__text_puts(&text, "ret;\n}\n");
    s.bench = vm_bench_text(kiln__text_get(&text), text.length, (vm_limits){.threads = 1});
    kiln__text_free(&text);
    struct {
        uint64_t out;
        uint32_t stride;
    } params = {vm_alloc(s.bench.device, 64 << 20), stride};
    s.cost = model_cost_new(NULL, s.bench.module, &h200.model);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s.cost);
    s.trace = count_trace_new(NULL, 1, (threads + 31) / 32);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s.trace);
    struct vm_watch watch = {.trace = s.trace, .trace_alone = true};
    vm_launch launch = {.module = s.bench.module,
                        .kernel = 0,
                        .grid = {blocks, 1, 1},
                        .block = {threads, 1, 1},
                        .params = &params,
                        .hooks = &count_watch_hooks,
                        .watch = &watch};
    s.trace->launch = &launch;
    model_cost_trace(s.cost, s.trace);
    s.trace->limit = limit;
    s.trace->only = only;
    vm_fault_kind kind = vm_run(s.bench.device, &launch, &s.bench.counters, &s.bench.fault);
    if (kind != VM_OK)
        fprintf(stderr, "%s\n", s.bench.fault.message);
    CU_ASSERT_EQUAL(kind, VM_OK);
    s.launch = (vm_time_launch){.model = &h200.model,
                                .trace = s.trace,
                                .cost = s.cost,
                                .device = s.bench.device,
                                .block_count = blocks,
                                .resident = 1};
    return s;
}

static void end(setup *s)
{
    count_trace_free(s->trace);
    model_cost_free(s->cost);
    vm_bench_end(&s->bench);
}

static double clocks_of(const char *line, unsigned count, uint32_t threads, uint32_t stride)
{
    setup s = trace_of(line, count, threads, stride, 1 << 20, false, 1);
    vm_time_result result;
    CHECK(model_time_estimate(NULL, &s.launch, &result));
    end(&s);
    return result.clocks;
}

/* Returns the clocks that one more line takes. It is computed from the difference of two kernels with many lines, which
 * cancels the constant part. */
static double each(const char *line, uint32_t threads, uint32_t stride)
{
    return (clocks_of(line, 1200, threads, stride) - clocks_of(line, 400, threads, stride)) / 800;
}

static bool about(double got, double want)
{
    bool good = got > want * 0.97 - 0.01 && got < want * 1.03 + 0.01;
    if (!good)
        fprintf(stderr, "%g, not %g\n", got, want);
    return good;
}

static void test_arithmetic(void)
{
    read_profile();
    /* each instruction waits for the one before */
    CHECK(about(each("fma.rn.f32 %%f1, %%f1, %%f2, %%f2;\n", 32, 0), h200.model.alu_latency));
    /* Each of the 32 instructions takes a clock. Every eight instructions take one more clock, because they share a
     * line of code. */
    CHECK(about(each("fma.rn.f32 %%f%d, %%f%d, %%f2, %%f2;\n", 32, 0), 1.125));
    CHECK(about(each("fma.rn.f32 %%f%d, %%f%d, %%f2, %%f2;\n", 128, 0), 1.125)); /* each scheduler has one warp */
    CHECK(about(each("fma.rn.f32 %%f%d, %%f%d, %%f2, %%f2;\n", 256, 0), 2));     /* two warps share a scheduler */
    /* eight warps of a scheduler hide the latency of each chain */
    CHECK(about(each("fma.rn.f32 %%f1, %%f1, %%f2, %%f2;\n", 1024, 0), 8));
    /* A scheduler has 16 of the 64 lanes, so each instruction takes two clocks. It has two warps, so both take four. */
    CHECK(about(each("add.s32 %%r6, %%r6, %%r2;\n", 256, 0), 4));
    CHECK(about(each("sqrt.approx.f32 %%f%d, %%f%d;\n", 32, 0), 8)); /* a scheduler has 4 of the 16 lanes */
    CHECK(about(each("mov.b32 %%r6, %%r2;\n", 32, 0), 0));
}

static void test_shared(void)
{
    CHECK(about(each("ld.volatile.shared.f32 %%f%d, [%%r5];\n", 128, 4), 4)); /* one wavefront for each of four warps */
    CHECK(about(each("ld.volatile.shared.f32 %%f%d, [%%r5];\n", 128, 0), 4)); /* a broadcast takes one wavefront too */
    /* two lanes of each warp use the same bank */
    CHECK(about(each("ld.volatile.shared.f32 %%f%d, [%%r5];\n", 128, 8), 8));
    /* all 32 lanes of a warp use one bank */
    CHECK(about(each("ld.volatile.shared.f32 %%f%d, [%%r5];\n", 128, 128), 4 * 32));
}

static void test_global(void)
{
    /* loads from the L1 take as many clocks as lines */
    CHECK(about(each("ld.global.f32 %%f%d, [%%rd3];\n", 128, 1), 4));
    CHECK(about(each("ld.global.f32 %%f%d, [%%rd3];\n", 128, 32), 4 * 32));
}

static void test_barrier(void)
{
    double one = each("bar.sync 0;\n", 32, 0), many = each("bar.sync 0;\n", 1024, 0);
    CHECK(one >= h200.model.barrier_latency && many >= one && many < one + 64);
}

/* Returns the number of machine instructions that the model makes from a line. */
static unsigned issued_of(const char *line)
{
    setup s = trace_of(line, 1, 32, 0, 1 << 20, false, 1), none = trace_of("", 1, 32, 0, 1 << 20, false, 1);
    unsigned sum = 0, before = 0;
    for (uint32_t k = 0; k < s.cost->insn_count; k++)
        sum += s.cost->insns[k].issue;
    for (uint32_t k = 0; k < none.cost->insn_count; k++)
        before += none.cost->insns[k].issue;
    end(&s);
    end(&none);
    return sum - before;
}

/* Tests pairs of instructions that become one machine instruction: LOP3, an address with an offset, and IMAD.WIDE. An
 * instruction whose result has two readers stays. Three logic operations become two LOP3. */
static void test_fused(void)
{
    static const char regs[] = "{ .reg .b32 %%a<9>; .reg .b64 %%b<9>; ";
    static const struct {
        const char *line;
        unsigned issued;
    } wanted[] = {
        {"and.b32 %%a1, %%r2, 12; or.b32 %%a2, %%a1, %%r3; }\n", 1},
        {"and.b32 %%a1, %%r2, 12; or.b32 %%a2, %%a1, %%r3; xor.b32 %%a3, %%a2, %%r2; }\n", 2},
        {"and.b32 %%a1, %%r2, 12; or.b32 %%a2, %%a1, %%r3; xor.b32 %%a3, %%a1, %%r2; }\n", 3},
        {"and.b32 %%a1, %%r2, 12; add.s32 %%a2, %%a1, %%r3; }\n", 2},
        {"add.s32 %%a1, %%r4, %%r3; ld.shared.f32 %%f3, [%%a1]; }\n", 1},
        {"add.s32 %%a1, %%r5, %%r3; ld.shared.f32 %%f3, [%%a1]; }\n", 2},
        {"mul.wide.u32 %%b1, %%r2, 4; add.s64 %%b2, %%rd1, %%b1; ld.global.f32 %%f3, [%%b2]; }\n", 3},
    };
    for (size_t k = 0; k < KILN__COUNT(wanted); k++) {
        char line[300];
        snprintf(line, sizeof line, "%s%s", regs, wanted[k].line);
        const unsigned issued = issued_of(line);
        if (issued != wanted[k].issued)
            fprintf(stderr, "%u instructions, not %u: %s", issued, wanted[k].issued, wanted[k].line);
        CHECK(issued == wanted[k].issued);
    }
}

enum { WARP_BLOCKS = 5280, WARP_BYTES = 32 * 64 }; /* 40 blocks for each SM, and 64 bytes of memory for each lane */
#define LOAD_AND_USE "ld.global.f32 %%f%d, [%%rd3]; add.f32 %%f1, %%f1, %%f%d;\n"

/* Estimates a launch of `blocks` blocks of one warp. An SM has `resident` blocks at a time. Each lane accesses a line
 * that no other lane uses. */
static vm_time_result time_of_warps(const char *line, uint64_t blocks, uint32_t resident)
{
    vm_time_result result;
    setup s = trace_of(line, 1, 32, 32, 1 << 20, false, 1);
    s.launch.block_count = blocks;
    s.launch.resident = resident;
    CHECK(model_time_estimate(NULL, &s.launch, &result));
    end(&s);
    return result;
}

static double clocks_of_loads(uint32_t resident) { return time_of_warps(LOAD_AND_USE, WARP_BLOCKS, resident).clocks; }

/* A launch takes at least the time that memory needs for its bytes. If enough bytes are in flight, it takes little
 * more. The replay of the model leaves out a seventh of the blocks. */
static void test_stream(void)
{
    enum { THREADS = 512, BLOCKS = 7 * 132 };
    read_profile();
    const sim_model *m = &h200.model;
    const double rate = m->dram_rate * 1e9 * m->dram_share / m->clock, least = 64.0 * THREADS * BLOCKS / rate;
    vm_time_result got;
    setup s = trace_of(LOAD_AND_USE, 1, THREADS, 32, 1 << 20, false, 1);
    s.launch.block_count = BLOCKS;
    s.launch.resident = 2;
    CHECK(model_time_estimate(NULL, &s.launch, &got));
    end(&s);
    if (!(got.clocks >= least && got.clocks <= 1.25 * least))
        fprintf(stderr, "%g clocks, but memory needs %g\n", got.clocks, least);
    CHECK(got.clocks >= least && got.clocks <= 1.25 * least);
}

/* If all blocks take the same time, a launch takes a whole number of rounds, even if it has more rounds than the model
 * replays. One more block for each SM takes as long as a round, because it starts when the others end. */
static void test_rounds(void)
{
    enum { RESIDENT = 2, ROUNDS = 30, SMS = 132 };
    vm_time_result got[3];
    static const uint64_t blocks[] = {RESIDENT * ROUNDS * SMS, (RESIDENT * ROUNDS + 1) * SMS,
                                      RESIDENT * (ROUNDS + 1) * SMS};
    setup s = trace_of("fma.rn.f32 %%f1, %%f1, %%f2, %%f2;\n", 1000, 32, 0, 1 << 20, false, 1);
    s.launch.resident = RESIDENT;
    for (size_t k = 0; k < KILN__COUNT(blocks); k++) {
        s.launch.block_count = blocks[k];
        CHECK(model_time_estimate(NULL, &s.launch, &got[k]));
    }
    end(&s);
    const double round = got[2].clocks - got[0].clocks, one = got[1].clocks - got[0].clocks;
    CHECK(about(got[0].clocks / ROUNDS, round));
    CHECK(one > 0.95 * round - h200.model.block_clocks * SMS && one <= round); /* the device starts fewer blocks */
}

/* If few bytes are in flight, memory is not busy, and a block takes the latency of its load. This latency grows from
 * the latency of idle memory to the latency of busy memory, with the square of the used share of the rate. */
static void test_loaded(void)
{
    read_profile();
    const sim_model *m = &h200.model;
    const double rate = m->dram_rate * 1e9 * m->dram_share / m->clock / m->sm_count;
    for (uint32_t resident = 1; resident <= 4; resident *= 2) {
        const double rounds = WARP_BLOCKS / m->sm_count / resident, latency = clocks_of_loads(resident) / rounds,
                     used = WARP_BYTES * resident / latency / rate,
                     want = m->dram_latency + used * used * (m->dram_loaded - m->dram_latency);
        /* 200 clocks for the start of a block and for 32 tags */
        const double most = want + 200 + WARP_BYTES * resident / rate;
        if (!(latency > want && latency < most))
            fprintf(stderr, "%g clocks with %u blocks, not %g\n", latency, (unsigned)resident, want);
        CHECK(used < 0.9 && latency > want && latency < most);
    }
}

/* Returns the bytes that memory transfers for an SM. */
static double bytes_of(const vm_time_result *result)
{
    const sim_model *m = &h200.model;
    return result->dram * result->clocks * m->dram_rate * 1e9 * m->dram_share / m->clock / m->sm_count;
}

/* If a launch reads and writes a sector and the L2 cannot keep it, memory transfers it twice. If the launch writes the
 * sector twice, memory transfers it once. If a launch also writes, its loads take longer, even if the number of bytes
 * is the same. */
static void test_writes(void)
{
    static const char twice[] = LOAD_AND_USE "ld.global.f32 %%f39, [%%rd3+1048576]; add.f32 %%f1, %%f1, %%f39;\n",
                      place[] = LOAD_AND_USE "st.global.f32 [%%rd3], %%f1;\n",
                      other[] = LOAD_AND_USE "st.global.f32 [%%rd3+1048576], %%f1;\n",
                      again[] = "st.global.f32 [%%rd3], %%f1; st.global.f32 [%%rd3], %%f2;\n";
    read_profile();
    const double l2 = h200.model.l2_size;
    vm_time_result read = time_of_warps(LOAD_AND_USE, 264, 2), kept = time_of_warps(place, 264, 2),
                   elsewhere = time_of_warps(other, 264, 2), reads = time_of_warps(twice, 264, 2);
    h200.model.l2_size = 1 << 18; /* the L2 is smaller than the memory that the launch touches */
    vm_time_result in_place = time_of_warps(place, 264, 2), written = time_of_warps(again, 264, 2);
    h200.model.l2_size = l2;
    CHECK(about(bytes_of(&read), 2 * WARP_BYTES) && about(bytes_of(&kept), 2 * WARP_BYTES));
    CHECK(about(bytes_of(&in_place), 4 * WARP_BYTES) && about(bytes_of(&elsewhere), 4 * WARP_BYTES));
    CHECK(about(bytes_of(&reads), 4 * WARP_BYTES) && about(bytes_of(&written), 2 * WARP_BYTES));
    const double copies = time_of_warps(other, WARP_BLOCKS, 5).clocks, loads = clocks_of_loads(10);
    CHECK(copies > 1.15 * loads); /* the copies have half as many loads in flight */
}

static bool exchanges(const char *line, bool polls, bool sends)
{
    setup s = trace_of(line, 1, 32, 0, 1 << 20, false, 1);
    bool right = s.cost->polls == polls && s.cost->sends == sends;
    end(&s);
    return right;
}

/* If the estimates of two launches are almost equal, the better launch has fewer instructions, more waves, or no data
 * for other blocks. */
static void test_ties(void)
{
    read_profile();
    vm_cost alone = {0}, sends = {.sends = true}, polls = {.polls = true};
    vm_time_launch launch = {.model = &h200.model, .cost = &alone, .block_count = 528, .resident = 4}, waves = launch,
                   part = launch, cluster = launch, spilled = launch;
    waves.block_count = 5280;
    part.block_count = 132;
    cluster.cost = &sends;
    const vm_time_result few = {.issue = 0.2}, many = {.issue = 0.7}, all = {.issue = 1};
    CHECK(exchanges("ld.global.u32 %%r6, [%%rd3];\n", false, false) &&
          exchanges("ld.volatile.shared.u32 %%r6, [%%r4];\n", false, false));
    CHECK(exchanges("ld.volatile.global.u32 %%r6, [%%rd3];\n", true, false));
    CHECK(exchanges("ld.relaxed.gpu.global.u32 %%r6, [%%rd3];\n", true, false));
    CHECK(exchanges("ld.acquire.gpu.u32 %%r6, [%%rd3];\n", true, false));
    CHECK(exchanges(
        "setp.eq.u32 %%p9, %%r2, 99; @%%p9 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%%r4], %%r6, [%%r4];\n",
        false, true));
    CHECK(about(model_time_tie_factor(&launch, &few), 1.012) &&
          model_time_tie_factor(&launch, &few) == model_time_tie_factor(&part, &few));
    CHECK(model_time_tie_factor(&launch, &few) < model_time_tie_factor(&launch, &many));
    CHECK(model_time_tie_factor(&waves, &few) < model_time_tie_factor(&launch, &few));
    CHECK(model_time_tie_factor(&launch, &few) < model_time_tie_factor(&cluster, &few));
    spilled.spills.loads = 4;
    CHECK(model_time_tie_factor(&launch, &few) < model_time_tie_factor(&spilled, &few));
    cluster.spills.stores = 4;
    waves.cost = &polls;
    CHECK(model_time_tie_factor(&waves, &few) == model_time_tie_factor(&part, &few));
    waves.cost = &alone;
    CHECK(model_time_tie_factor(&cluster, &all) <= 1.04 && model_time_tie_factor(&waves, &few) >= 1);
}

enum { SPILL_LOOP = 5 }; /* machine instructions of an iteration */

/* Returns the clocks of an iteration of a loop. `stores` and `loads` are the spilled words for each instruction of the
 * code. `bytes` is the size of a thread's local memory. */
static double clocks_of_spills(double stores, double loads, double bytes)
{
    static const char loop[] =
        "{ .reg .pred %%p; mov.u32 %%r6, 0; L: fma.rn.f32 %%f1, %%f1, %%f2, %%f2; fma.rn.f32 %%f3, %%f3, %%f2, %%f2; "
        "add.u32 %%r6, %%r6, 1; setp.lt.u32 %%p, %%r6, 500; @%%p bra L; }\n";
    enum { ITERATIONS = 500 };
    vm_time_result got;
    setup s = trace_of(loop, 1, 32, 0, 1 << 20, false, 1);
    double code = 0;
    for (uint32_t k = 0; k < s.cost->insn_count; k++)
        code += s.cost->insns[k].issue;
    s.launch.spills =
        (vm_spills){.stores = 4 * stores * code, .loads = 4 * loads * code, .bytes = bytes, .end = s.cost->insn_count};
    CHECK(model_time_estimate(NULL, &s.launch, &got));
    end(&s);
    return got.clocks / ITERATIONS;
}

/* Spills execute as often as the average instruction of the code. A warp waits for the spilled words that it loads.
 * They come from the L1, or from the L2 if the spills of the resident threads exceed the L1. Stores take issue slots,
 * and go to the L2. */
static void test_spills(void)
{
    read_profile();
    const sim_model *m = &h200.model;
    const double none = clocks_of_spills(0, 0, 0), words = 2 * SPILL_LOOP, sent = words * 128 / m->l2_bytes_sm;
    const double loads = clocks_of_spills(0, 2, 64) - none, stores = clocks_of_spills(2, 0, 64) - none,
                 missing = clocks_of_spills(0, 2, 1e9) - none;
    CHECK(loads > 0.8 * m->l1_latency && loads < m->l1_latency + 2 * words);
    CHECK(stores > 0.8 * words && stores < words + sent);
    CHECK(missing > 0.9 * m->l2_latency && missing < m->l2_latency + 2 * (words + sent));
}

/* If a trace was cut short, the next block is traced as usual. A block that ends early leaves the same trace. */
static void test_cut(void)
{
    vm_time_result whole, cut;
    setup s = trace_of("fma.rn.f32 %%f1, %%f1, %%f2, %%f2;\n", 4000, 64, 0, 1 << 20, false, 4);
    CHECK(model_time_estimate(NULL, &s.launch, &whole));
    end(&s);
    s = trace_of("fma.rn.f32 %%f1, %%f1, %%f2, %%f2;\n", 4000, 64, 0, 1000, true, 4);
    CHECK(s.bench.counters.blocks == 1 && s.trace->warps[0].traced == 1000 && s.trace->warps[0].issued > 4000);
    CHECK(model_time_estimate(NULL, &s.launch, &cut));
    CHECK(about(cut.clocks / whole.clocks, 1));
    end(&s);
}

/* The words of a trace are used up in the middle of a record. The record is left out, and no word after the trace is
 * read. */
static void test_full(void)
{
    enum { MOST = 1 << 24, RECORD = 65 }; /* in words: the record has 32 lines, and the passes of each line */
    static const char loop[] =
        "{ .reg .pred %%p; mov.u32 %%r6, 0; L: red.global.add.u32 [%%rd3], 1; red.global.add.u32 [%%rd3], 1; "
        "add.u32 %%r6, %%r6, 1; setp.lt.u32 %%p, %%r6, 140000; @%%p bra L; }\n";
    setup s = trace_of(loop, 1, 32, 32, 1 << 20, false, 1);
    vm_time_result result;
    const vm_trace_warp *t = &s.trace->warps[0];
    CHECK(t->closed && !t->failed && t->count < MOST && t->count > MOST - RECORD);
    CHECK(model_time_estimate(NULL, &s.launch, &result));
    end(&s);
}

/* ---- the model's version ---- */

/* These are the estimates of one version of the model, with fixed figures. If you change an estimate on purpose, raise
 * SIM_MODEL_VERSION and write the new estimates here. Sweeps then repeat stored samples. */
static void test_pinned(void)
{
    static const sim_model figures = {
        .schedulers = 4,
        .fp32 = 128,
        .fp64 = 64,
        .fp16 = 256,
        .integer = 64,
        .multiply = 32,
        .special = 16,
        .load_store = 32,
        .shuffle = 32,
        .tensor_fp16 = 4096,
        .tensor_latency = 30,
        .mma_share = 0.5,
        .wgmma_share = 0.8,
        .bulk_latency = 100,
        .alu_latency = 4,
        .fp64_latency = 8,
        .special_latency = 18,
        .shuffle_latency = 22,
        .branch_latency = 9,
        .barrier_latency = 21,
        .code_bytes = 131072,
        .code_rate = 64,
        .shared_latency = 29,
        .shared_bytes = 128,
        .l1_bytes = 262144,
        .l1_latency = 37,
        .l1_lines = 1,
        .l2_latency = 210,
        .l2_bytes_sm = 64,
        .l2_bytes = 5500,
        .l2_copies = 5500,
        .l2_writes = 90,
        .l2_atomics = 60,
        .atomic_clocks = 2,
        .dram_latency = 560,
        .dram_loaded = 1100,
        .dram_rate = 4800,
        .dram_share = 0.91,
        .dram_granule = 64,
        .block_clocks = 1.5,
        .launch = 3,
        .clock = 1.98e9,
        .l2_size = 52428800,
        .sm_count = 132,
        .carveouts = {0, 131072, 233472},
        .carveout_count = 3,
    };
    static const struct {
        const char *line;
        unsigned count;
        uint32_t threads, stride;
        double clocks;
    } pins[] = {
        {"fma.rn.f32 %%f1, %%f1, %%f2, %%f2;\n", 100, 64, 0, 434},
        {"mul.lo.s32 %%r6, %%r6, %%r2;\n", 60, 256, 0, 516},
        {"sqrt.approx.f32 %%f%d, %%f%d;\n", 40, 512, 0, 1292},
        {"ld.volatile.shared.f32 %%f%d, [%%r5];\n", 50, 128, 8, 430},
        {"ld.global.f32 %%f%d, [%%rd3];\n", 30, 256, 8, 1954},
        {"st.global.f32 [%%rd3], %%f1;\n", 30, 128, 32, 3890},
        {"bar.sync 0;\n", 20, 1024, 0, 792},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%%f1,%%f2,%%f3,%%f4}, {%%r6,%%r7,%%r8,%%r9}, {%%r6,%%r7}, "
         "{%%f5,%%f6,%%f7,%%f8};\n",
         40, 256, 0, 348},
    };
    CU_ASSERT_EQUAL(SIM_MODEL_VERSION, 10); /* the estimates below belong to this version */
    read_profile();
    sim_model before = h200.model;
    h200.model = figures;
    for (size_t i = 0; i < KILN__COUNT(pins); i++) {
        double got = clocks_of(pins[i].line, pins[i].count, pins[i].threads, pins[i].stride);
        if (!(fabs(got - pins[i].clocks) <= 1e-9 * pins[i].clocks)) {
            fprintf(stderr, "%.17g clocks, not %.17g, for %s", got, pins[i].clocks, pins[i].line);
            CU_FAIL("the estimate has changed: see the head of this test");
        }
    }
    h200.model = before;
}

/* ---- failed allocations ---- */

static void test_memory(void)
{
    setup s = trace_of("ld.global.f32 %%f%d, [%%rd3];\n", 20, 64, 8, 1 << 20, false, 3);
    check_oom oom = {0};
    const kiln_allocator mem = {check_oom_resize, &oom};
    long n = 0;
    for (bool done = false; !done && n < 1000; n++) {
        oom = (check_oom){.countdown = n};
        vm_cost *cost = model_cost_new(&mem, s.bench.module, &h200.model);
        struct vm_trace *trace = cost ? count_trace_new(&mem, 2, 2) : NULL;
        vm_time_result result;
        done = trace && model_time_estimate(&mem, &s.launch, &result);
        CHECK(done == !oom.failed);
        count_trace_free(trace);
        model_cost_free(cost);
        CHECK(oom.live == 0);
    }
    CHECK(n > 20 && n < 1000);
    end(&s);
    kiln__free(NULL, profile_text); /* the last test frees the text */
}

static const check_case cases[] = {
    {"profile", test_profile},
    {"profile, SMs of its GPCs", test_profile_gpcs},
    {"profile, line by line", test_profile_whole},
    {"arithmetic", test_arithmetic},
    {"instructions that become one", test_fused},
    {"shared memory", test_shared},
    {"global memory", test_global},
    {"no faster than memory", test_stream},
    {"rounds of blocks", test_rounds},
    {"latency of busy memory", test_loaded},
    {"writes", test_writes},
    {"spills", test_spills},
    {"near ties", test_ties},
    {"barrier", test_barrier},
    {"a trace cut short", test_cut},
    {"a trace that is full", test_full, CHECK_ONE_THREAD},
    {"pinned to the model's version", test_pinned},
    {"profile without what is usual", test_profile_usual},
    {"bounds", test_bound},
    {"shortage of memory", test_memory},
};
KILN_SUITE("sim estimate", cases)
