/* Tests kiln_profile and kiln_trace on the small spec of the command's tests: the counts, where they are written, and a
 * failure of each allocation. Skipped with a message if there is no NVRTC. */
#include <unistd.h>

#include "compiled.h"
#include "plan_internal.h"
#include "sim.h"

#define SPEC KILN_SOURCE_DIR "/tests/cli/specs/add.yaml"
static char cache[] = "/tmp/kiln-profile-XXXXXX";
/* 300 elements in blocks of 32 threads need ten warps. The last warp adds only 12 elements. */
static const kiln_setting block = {"BLOCK", {KILN_INT, {32}}};
static const kiln_choice choice = {.variant = "plain", .params = &block, .param_count = 1, .size_set = "tiny"};

static kiln_status start(const kiln_allocator *mem, kiln_engine **engine, kiln_spec **spec, kiln_error **error)
{
    kiln_options options = {.size = sizeof options, .device = "sim", .cache_dir = cache, .allocator = mem};
    kiln_status status = kiln_engine_open(&options, engine, error);
    return status == KILN_OK ? kiln_spec_load(*engine, SPEC, spec, error) : status;
}

static int count_entry(void *user, const kiln_cache_entry *entry)
{
    CHECK_TEXT(entry->arch, "sm_90");
    ++*(int *)user;
    return 0;
}

static void counted(void)
{
    int entries = 0;
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_profiling *p = NULL;
    kiln_error *error = NULL;
    CHECK_OK(start(NULL, &engine, &spec, &error), error);
    CHECK_OK(kiln_profile(engine, spec, &choice, NULL, &p, &error), error);
    CU_ASSERT_EQUAL_FATAL(kiln_profiling_kernel_count(p), 1);
    CHECK_OK(kiln_cache_list(engine, count_entry, &entries, &error), error);
    CHECK(entries == 1); /* one entry holds the PTX and the machine code of one compile */
    const kiln_profiled_kernel *k = kiln_profiling_kernel(p, 0);
    CHECK_TEXT(k->name, "add");
    CHECK(k->launches == 1 && k->blocks == 10 && k->warps == 10 && k->grid[0] == 10 && k->block[0] == 32);
    CHECK(k->registers > 0 && k->registers_exact && k->blocks_per_sm == 32 && k->occupancy == 0.5);
    CHECK_TEXT(k->limited_by, "blocks");
    CHECK(k->flops == 300);
    /* Two loads and a store of 300 floats touch nine full lines, and 48 bytes of a tenth line, which are two
     * sectors. */
    CHECK(k->counters->global_load_requests == 20 && k->counters->global_load_lanes == 600);
    CHECK(k->counters->global_load_sectors == 2 * 38 && k->counters->global_load_lines == 20);
    CHECK(k->counters->global_store_requests == 10 && k->counters->global_store_used == 1200);
    CHECK(k->counters->branches == 10 && k->counters->divergent == 1);
    CHECK(k->class_lanes[KILN_CLASS_fp32_add] == 300);
    uint64_t lines = 0, insns = 0;
    for (size_t n = 0; n < kiln_profiling_line_count(p); n++) {
        const kiln_profiled_line *line = kiln_profiling_line(p, n);
        lines += line->counters->executed;
        CHECK(n == 0 || kiln_profiling_line(p, n - 1)->line < line->line);
        if (line->counters->global_load_requests)
            CHECK(line->line == 7 && strstr(line->text, "z[i + k] = x[i + k] + y[i + k];") != NULL);
    }
    for (size_t n = 0; n < kiln_profiling_insn_count(p); n++) {
        const kiln_profiled_insn *insn = kiln_profiling_insn(p, n);
        insns += insn->counters->executed;
        if (insn->counters->global_store_requests)
            CHECK(strncmp(insn->ptx, "st.global.f32", 13) == 0 && insn->l1 && insn->what == KILN_CLASS_store_global);
    }
    CHECK(lines == k->counters->executed && insns == lines);
    CHECK(!kiln_profiling_kernel(p, 1) && !kiln_profiling_line(p, 99999) && !kiln_profiling_insn(p, 99999));
    kiln_profiling_free(p);
    kiln_profiling_free(NULL);
    const kiln_run_options plain = {.size = sizeof plain, .flags = KILN_RUN_NO_MACHINE_CODE};
    CHECK_OK(kiln_profile(engine, spec, &choice, &plain, &p, &error), error);
    k = kiln_profiling_kernel(p, 0);
    CHECK(k && k->registers > 0 && !k->registers_exact && k->counters->executed == lines);
    kiln_profiling_free(p);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
}

typedef struct shown {
    uint64_t reads, writes, wrong, most;
} shown;

static int look(void *user, const kiln_traced_access *a)
{
    shown *s = user;
    s->reads += a->reads != 0;
    s->writes += a->writes != 0;
    bool right = a->block[0] == 9 && a->dims == 1 && a->index[0] == 9 * 32 + a->thread[0] &&
                 a->element == a->index[0] && a->buffer && strchr("xyz", a->buffer[0]) &&
                 (a->buffer[0] == 'z') == (a->writes != 0) && a->bytes == 4 && a->line == 7 &&
                 strcmp(a->space, "global") == 0 && strcmp(a->kernel, "add") == 0 && a->step < 3;
    s->wrong += !right;
    return s->most && s->reads + s->writes >= s->most;
}

static void traced(void)
{
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    shown all = {0}, some = {.most = 5}, none = {0};
    CHECK_OK(start(NULL, &engine, &spec, &error), error);
    CHECK_OK(kiln_trace(engine, spec, &choice, NULL, 9, look, &all, &error), error);
    CHECK(all.reads == 24 && all.writes == 12 && all.wrong == 0);
    CHECK_OK(kiln_trace(engine, spec, &choice, NULL, 9, look, &some, &error), error);
    CHECK(some.reads + some.writes == 5);
    CHECK_OK(kiln_trace(engine, spec, &choice, NULL, 10, look, &none, &error), error);
    CHECK(none.reads + none.writes == 0);
    kiln_occupancy_info info = {.size = sizeof info};
    CHECK_OK(kiln_occupancy(engine, "sm_90", 256, 32, 0, &info, &error), error);
    CHECK(info.blocks_per_sm == 8 && info.occupancy == 1);
    /* the 33 registers count as 40: 65536 / 10240 */
    CHECK_OK(kiln_occupancy(engine, "sm_80", 256, 33, 0, &info, &error), error);
    CHECK(info.blocks_per_sm == 6 && strcmp(info.limited_by, "registers") == 0);
    CHECK(kiln_occupancy(engine, "sm_1", 256, 32, 0, &info, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
}

/* A run that fails ends its counting, so the next run is not refused. */
static void after_failure(void)
{
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL, *bad = NULL;
    kiln_profiling *p = NULL;
    kiln_error *error = NULL;
    CHECK_OK(start(NULL, &engine, &spec, &error), error);
    CHECK_OK(kiln_spec_load(engine, KILN_SOURCE_DIR "/tests/cli/specs/wrong.yaml", &bad, &error), error);
    kiln_choice beyond = {.variant = "forgets"};
    CHECK(kiln_profile(engine, bad, &beyond, NULL, &p, &error) == KILN_ERROR_WRONG_ANSWER);
    kiln_error_free(error);
    error = NULL;
    CHECK_OK(kiln_profile(engine, spec, &choice, NULL, &p, &error), error);
    kiln_profiling_free(p);
    p = NULL;
    CHECK(kiln_profile(NULL, spec, &choice, NULL, &p, NULL) == KILN_ERROR_ARGUMENT);
    CHECK(kiln_trace(engine, spec, &choice, NULL, 0, NULL, NULL, NULL) == KILN_ERROR_ARGUMENT);
    kiln_spec_free(bad);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
}

static void out_of_memory(void)
{
    kiln_engine *held = NULL; /* keeps NVRTC and the device open, so that each round is quick */
    kiln_error *error = NULL;
    const kiln_device_info *info = NULL;
    kiln_options options = {.size = sizeof options, .device = "sim", .cache_dir = cache};
    CHECK_OK(kiln_engine_open(&options, &held, &error), error);
    CHECK_OK(kiln_engine_device(held, &info, &error), error);
    long failed = 0;
    bool done = false;
    for (long n = 0; !done && n < 100000; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_engine *engine = NULL;
        kiln_spec *spec = NULL;
        kiln_profiling *p = NULL;
        kiln_status status = start(&mem, &engine, &spec, &error);
        if (status == KILN_OK)
            status = kiln_profile(engine, spec, &choice, NULL, &p, &error);
        CHECK(status == KILN_OK || (oom.failed && kiln_error_status(error) == KILN_ERROR_MEMORY));
        failed += status != KILN_OK;
        kiln_error_free(error);
        error = NULL;
        kiln_profiling_free(p);
        kiln_spec_free(spec);
        kiln_engine_close(engine);
        CHECK(oom.live == 0);
        done = !oom.failed;
    }
    CHECK(done && failed > 30); /* the loop reached the allocations */
    kiln_engine_close(held);
}

static const check_case cases[] = {
    {"counted", counted}, {"traced", traced}, {"after a failure", after_failure}, {"out of memory", out_of_memory}};

KILN_COMPILED_SUITE("plan.profile", cases, cache)
