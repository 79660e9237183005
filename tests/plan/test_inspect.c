/* Tests kiln_inspect() on a spec with kernels in a repetition, in a loop and before each run. It also names
 * architectures, and lets each allocation fail. Skipped with a message if there is no NVRTC. */
#include "compiled.h"
#include "plan_internal.h"

static char cache[] = "/tmp/kiln-inspect-XXXXXX"; /* a cache of its own, so that only the first inspection compiles */
static const kiln_setting block = {"BLOCK", {KILN_INT, {128}}};
static const kiln_choice nested = {.variant = "nested", .params = &block, .param_count = 1};

static kiln_status start(const kiln_allocator *mem, kiln_engine **engine, kiln_spec **spec, kiln_error **error)
{
    kiln_options options = {
        .size = sizeof options, .device = "sim", .cache_dir = cache, .flags = KILN_NO_WORKERS, .allocator = mem};
    kiln_status status = kiln_engine_open(&options, engine, error);
    return status == KILN_OK ? kiln_spec_load(*engine, KILN_TEST_DATA "/inspect.yaml", spec, error) : status;
}

static const kiln_inspected_kernel *find(const kiln_inspection *made, const char *name)
{
    for (size_t i = 0; i < kiln_inspection_kernel_count(made); i++)
        if (strcmp(kiln_inspection_kernel(made, i)->name, name) == 0)
            return kiln_inspection_kernel(made, i);
    CU_FAIL("there is no such kernel");
    return kiln_inspection_kernel(made, 0);
}

static void kernels(void)
{
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_inspection *made = NULL;
    kiln_error *error = NULL;
    size_t bytes = 0;
    CHECK_OK(start(NULL, &engine, &spec, &error), error);
    CHECK_OK(kiln_inspect(engine, spec, &nested, "sm_90", &made, &error), error);
    CHECK_TEXT(kiln_inspection_arch(made), "sm_90");
    CHECK(strncmp(kiln_inspection_source(made), "#line 1 \"inspect.cu\"\n", 21) == 0); /* the source names no param */
    CHECK(strstr(kiln_inspection_ptx(made), ".target sm_90") != NULL && kiln_inspection_log(made));
    CHECK(kiln_inspection_cubin(made, &bytes) && bytes > 64);
    CHECK(memcmp(kiln_inspection_cubin(made, NULL), "\177ELF", 4) == 0);
    CU_ASSERT_EQUAL_FATAL(kiln_inspection_kernel_count(made), 3);
    CHECK(!kiln_inspection_kernel(made, 3));

    const kiln_inspected_kernel *again = find(made, "again<128>"), *until = find(made, "until"),
                                *before = find(made, "before");
    /* the symbol is the name that the compiler mangled */
    CHECK(strstr(again->symbol, "again") && strcmp(again->symbol, again->name) != 0);
    CHECK(again->static_shared == 1024 && again->dynamic_shared == 512 && again->local_bytes == 0);
    CHECK(again->block[0] == 128 && again->block[1] == 1 && again->block[2] == 1 && again->registers > 0);
    /* An SM has 2048 threads. Its 228 KB of shared memory have room for more than 16 blocks, each with 1536 bytes and
     * 1 KB of the system. */
    CHECK(again->blocks_per_sm == 16 && again->occupancy == 1);
    CHECK_TEXT(until->symbol, "until");
    CHECK(until->static_shared == 0 && until->local_bytes >= 256 && until->dynamic_shared == 0);
    CHECK(until->block[0] == 128 && until->block[1] == 2 && until->block[2] == 2 && until->blocks_per_sm == 4);
    CHECK(before->block[0] == 32 && before->block[1] == 2 && before->blocks_per_sm == 32 && before->local_bytes == 0);
    CHECK_TEXT(before->limited_by, "threads");
    kiln_inspection_free(made);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
}

/* Tests that the target reaches the compiler, the key of the cache and the caller. If the key lacked it, the second
 * inspection would get the code of the first. */
static void targets(void)
{
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_inspection *made = NULL;
    kiln_error *error = NULL;
    static const char *const names[] = {"sm_90", "sm_90a", "sm_100f"};
    CHECK_OK(start(NULL, &engine, &spec, &error), error);
    for (size_t i = 0; i < KILN__COUNT(names); i++) {
        char line[32];
        snprintf(line, sizeof line, ".target %s\n", names[i]);
        CHECK_OK(kiln_inspect(engine, spec, &nested, names[i], &made, &error), error);
        CHECK_TEXT(kiln_inspection_arch(made), names[i]);
        CHECK(strstr(kiln_inspection_ptx(made), line) != NULL);
        CHECK(find(made, "until")->blocks_per_sm == 4);
        kiln_inspection_free(made);
        made = NULL;
    }
    kiln_spec_free(spec);
    kiln_engine_close(engine);
}

static void what_is_not_known(void)
{
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_inspection *made = NULL;
    kiln_error *error = NULL;
    CHECK_OK(start(NULL, &engine, &spec, &error), error);
    CHECK_OK(kiln_inspect(engine, spec, &(kiln_choice){.variant = "unknown"}, NULL, &made, &error), error);
    const kiln_inspected_kernel *until = find(made, "until");
    CHECK(until->block[0] == 0 && until->blocks_per_sm == 0 && until->local_bytes >= 256);
    CHECK_TEXT(until->limited_by, "");
    CHECK(strncmp(kiln_inspection_arch(made), "sm_", 3) == 0); /* the architecture of the device */
    kiln_inspection_free(made);
    made = NULL;
    CHECK(kiln_inspect(engine, spec, &(kiln_choice){.variant = "missing"}, "90", &made, &error) != KILN_OK && !made);
    CHECK(strstr(kiln_error_message(error), "nowhere") != NULL);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln_inspect(engine, spec, &(kiln_choice){.variant = "nestled"}, "90", &made, &error) != KILN_OK && !made);
    CHECK(strstr(kiln_error_message(error), "did you mean 'nested'?") != NULL);
    kiln_error_free(error);
    CHECK(!kiln_inspection_arch(NULL) && !kiln_inspection_source(NULL) && !kiln_inspection_kernel(NULL, 0));
    size_t bytes = 1;
    CHECK(!kiln_inspection_cubin(NULL, &bytes) && bytes == 0 && kiln_inspection_kernel_count(NULL) == 0);
    CHECK_TEXT(kiln_inspection_ptx(NULL), "");
    CHECK_TEXT(kiln_inspection_log(NULL), "");
    kiln_spec_free(spec);
    kiln_engine_close(engine);
}

static void architectures(void)
{
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    kiln_occupancy_info info = {.size = sizeof info};
    static const char *const good[] = {"sm_90", "compute_90", "90", "sm_90a"};
    static const char *const bad[] = {
        "",       "sm_",    "sm_1",   "sm_90x", "sm_-90", "hopper", "sm_99999999999999999999",
        "sm_ 90", "sm_80a", "sm_90f", "sm_90ab"};
    CHECK_OK(start(NULL, &engine, &spec, &error), error);
    for (size_t i = 0; i < KILN__COUNT(good); i++) {
        CHECK_OK(kiln_occupancy(engine, good[i], 512, 64, 0, &info, &error), error);
        CHECK(info.blocks_per_sm == 2 && info.occupancy == 0.5); /* 65536 registers for 1024 threads */
        CHECK_TEXT(info.limited_by, "registers");
    }
    /* 512 columns of tensor memory per SM: registers allow 8 blocks */
    static const struct {
        int columns, blocks;
        const char *limit;
    } tensor[] = {{0, 8, "registers"},       {32, 8, "registers"},      {64, 8, "registers"},
                  {128, 4, "tensor memory"}, {320, 1, "tensor memory"}, {512, 1, "tensor memory"}};
    for (size_t i = 0; i < KILN__COUNT(tensor); i++) {
        CHECK_OK(kiln_occupancy_tensor(engine, "sm_100a", 128, 64, 0, tensor[i].columns, &info, &error), error);
        CHECK(info.blocks_per_sm == tensor[i].blocks && info.occupancy == tensor[i].blocks * 128 / 2048.0);
        CHECK_TEXT(info.limited_by, tensor[i].limit);
    }
    for (size_t i = 0; i < KILN__COUNT(bad); i++) {
        char part[96];
        snprintf(part, sizeof part, "this NVRTC does not support architecture '%s'; it supports sm_", bad[i]);
        CHECK(kiln_occupancy(engine, bad[i], 512, 64, 0, &info, &error) == KILN_ERROR_ARGUMENT);
        CHECK(strstr(kiln_error_message(error), part) != NULL);
        kiln_error_free(error);
        error = NULL;
    }
    kiln_spec_free(spec);
    kiln_engine_close(engine);
}

static void memory_runs_out(void)
{
    check_oom oom = {.failed = 1};
    size_t failed = 0;
    for (long n = 0; oom.failed && n < 5000; n++) {
        oom = (check_oom){.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_engine *engine = NULL;
        kiln_spec *spec = NULL;
        kiln_inspection *made = NULL;
        kiln_error *error = NULL;
        kiln_status status = start(&mem, &engine, &spec, &error);
        if (status == KILN_OK)
            status = kiln_inspect(engine, spec, &nested, "sm_90", &made, &error);
        /* without the cache, or without memory for messages, the inspection goes on and gives the same result */
        CHECK(status == KILN_OK || (oom.failed && status == KILN_ERROR_MEMORY));
        if (status == KILN_OK)
            CHECK(find(made, "again<128>")->blocks_per_sm == 16 && find(made, "until")->blocks_per_sm == 4 &&
                  find(made, "before")->blocks_per_sm == 32);
        failed += status != KILN_OK;
        CHECK((made != NULL) == (status == KILN_OK));
        kiln_error_free(error);
        kiln_inspection_free(made);
        kiln_spec_free(spec);
        kiln_engine_close(engine);
        CHECK(oom.live == 0);
    }
    CHECK(!oom.failed && failed > 30); /* the loop reached the allocations */
}

static const check_case cases[] = {{"kernels", kernels},
                                   {"what is not known", what_is_not_known},
                                   {"architectures", architectures},
                                   {"targets", targets},
                                   {"memory runs out", memory_runs_out, CHECK_ONE_THREAD}};

KILN_COMPILED_SUITE("plan.inspect", cases, cache)
