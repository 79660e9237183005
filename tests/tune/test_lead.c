/* Tests which configurations a bounded search tries first, and which variants it leaves out. */
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "tuning_internal.h"

/* `slow` and `hosted` come first in the spec. In most families the simplest kernels come first, too. */
static const char source[] = "extern \"C\" __global__ void copy(const float *x, volatile float *z)\n"
                             "{\n"
                             "    for (int i = 0; i < REPEAT; i++)\n"
                             "        z[threadIdx.x] = x[threadIdx.x];\n"
                             "}\n";
static const char text[] =
    "kiln: 1\nname: lead\nsource: lead.cu\nsizes: {tiny: {N: 64}, other: {N: 32}}\n"
    "buffers: {x: {type: f32, shape: [N], fill: {iota: [0, 1]}}, z: {type: f32, shape: [N], out: true}}\n"
    "verify: {z: {against: {variant: fast}, exact: true}}\n"
    "variants:\n"
    "  slow: {params: {REPEAT: {values: [8, 9, 10, 11], default: 10}}, launch: &copy {kernel: copy, grid: [1], block: "
    "[N], args: [x, z]}}\n"
    "  hosted:\n"
    "    params: {REPEAT: [1]}\n"
    "    steps: [{repeat: {times: 1, steps: [{host: {call: lead_copy, args: {x: x, z: z}}}]}}]\n"
    "  fast: {params: {REPEAT: {values: [1, 2, 3, 4, 5, 6], default: 3}}, launch: *copy}\n"
    "  bound: {contender: false, params: {REPEAT: [1]}, launch: *copy}\n";

#define KNOWN(n, variant, repeat, seconds) KNOWN_ON("Some GPU, cc: \"8.0\"", n, variant, repeat, seconds)
#define KNOWN_ON(device, n, variant, repeat, seconds)                                                                  \
    "- {spec: lead, device: " device ", sizes: {N: " #n "}, variant: " variant ", params: {REPEAT: " #repeat           \
    "}, seconds: " #seconds ", how: measured, verified: true, made: 2026-01-01T00:00:00Z}\n"
static const char known[] = "kiln-best: 1\nbest:\n" KNOWN(64, "fast", 5, 0.001) KNOWN(64, "slow", 9, 0.02)
    KNOWN(32, "fast", 2, 0.001) KNOWN(32, "slow", 11, 0.003);

typedef struct fixture {
    char folder[64];
    kiln_engine *engine;
    kiln_spec *spec;
} fixture;

static void write_file(const fixture *f, const char *name, const char *content)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CHECK(fputs(content, file) >= 0 && fclose(file) == 0);
}

static kiln_status copy_on_host(void *user, kiln_call *call)
{
    const kiln_array *x;
    kiln_array *z;
    (void)user;
    if (kiln_call_array(call, "x", &x) != KILN_OK || kiln_call_output(call, "z", &z) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    memcpy(z->data, x->data, x->shape[0] * sizeof(float));
    return KILN_OK;
}

static void setup(fixture *f, const char *shipped)
{
    char path[128];
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/kiln-lead-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    snprintf(path, sizeof path, "%s/known", f->folder);
    CHECK(mkdir(path, 0700) == 0);
    write_file(f, "lead.cu", source);
    write_file(f, "lead.yaml", text);
    if (shipped)
        write_file(f, "known/lead.yaml", shipped);
    kiln_error *error = NULL;
    kiln_options options = {
        .size = sizeof options, .device = "sim", .cache_dir = f->folder, .jobs = 2, .flags = KILN_NO_WORKERS};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->engine);
    CHECK_OK(kiln_register_host(f->engine, "lead_copy", KILN_HOST_STEP, copy_on_host, NULL, &error), error);
    snprintf(path, sizeof path, "%s/lead.yaml", f->folder);
    CHECK_OK(kiln_spec_load(f->engine, path, &f->spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->spec);
}

static void teardown(fixture *f)
{
    char command[128];
    kiln_spec_free(f->spec);
    kiln_engine_close(f->engine);
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CHECK(system(command) == 0);
}

static kiln_tuning *tune(const fixture *f, const kiln_tune_options *options)
{
    kiln_tuning *tuning = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_tune(f->engine, f->spec, options, &tuning, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tuning);
    return tuning;
}

/* Returns the configuration that was finished as number `at`, such as "fast REPEAT=5". */
static const char *made_at(const kiln_tuning *tuning, size_t at, char out[64])
{
    double times[64];
    *out = '\0';
    for (size_t i = 0; i < kiln_tuning_count(tuning) && i < KILN__COUNT(times); i++) {
        size_t before = 0;
        const kiln_sample *one = kiln_tuning_sample(tuning, i);
        for (size_t k = 0; k < kiln_tuning_count(tuning); k++)
            before += kiln_tuning_sample(tuning, k)->at < one->at;
        if (before == at)
            snprintf(out, 64, "%s REPEAT=%lld", one->variant, (long long)one->params[0].value.as.i);
    }
    return out;
}

static bool leaves_out(const kiln_tuning *tuning, const char *variant, const char *part)
{
    const kiln_left_out *left;
    for (size_t i = 0; (left = kiln_tuning_left_out(tuning, i)); i++)
        if (strcmp(left->variant, variant) == 0)
            return strstr(left->why, part) != NULL;
    return false;
}

static bool tries(const kiln_tuning *tuning, const char *variant)
{
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++)
        if (strcmp(kiln_tuning_sample(tuning, i)->variant, variant) == 0)
            return true;
    return false;
}

static void what_is_shipped_is_first(void)
{
    fixture f;
    char first[64];
    setup(&f, known);
    for (uint64_t seed = 0; seed < 4; seed++) {
        const kiln_tune_options options = {
            .size = sizeof options, .max_configurations = 3, .seed = seed, .flags = KILN_TUNE_REPEATABLE};
        kiln_tuning *tuning = tune(&f, &options);
        CHECK_TEXT(made_at(tuning, 0, first), "fast REPEAT=5");
        CHECK_TEXT(made_at(tuning, 1, first), "fast REPEAT=2"); /* the best configuration of the next sizes */
        kiln_tuning_free(tuning);
    }
    /* The strategy `random` draws its first configuration at random. */
    kiln_tune_options options = {.size = sizeof options, .max_configurations = 3, .strategy = "random"};
    bool same = true;
    for (options.seed = 0; options.seed < 8; options.seed++) {
        kiln_tuning *tuning = tune(&f, &options);
        same = same && strcmp(made_at(tuning, 0, first), "fast REPEAT=5") == 0;
        kiln_tuning_free(tuning);
    }
    CHECK(!same);
    teardown(&f);
}

/* The default of a variant comes after the shipped configurations if none of them is for this variant at near sizes.
 * A variant that is known at near sizes has no default there. */
static void unknown_variants_begin_with_their_defaults(void)
{
    static const char *const named[] = {"slow", "fast"};
    fixture f;
    char made[64];
    unsigned second = 0;
    for (int near = 0; near < 2; near++) {
        setup(&f, near ? "kiln-best: 1\nbest:\n" KNOWN(64, "fast", 5, 0.001) KNOWN(32, "slow", 9, 0.02)
                       : "kiln-best: 1\nbest:\n" KNOWN(64, "fast", 5, 0.001) KNOWN(4096, "slow", 9, 0.02));
        for (uint64_t seed = 0; seed < 4; seed++) {
            const kiln_tune_options options = {.size = sizeof options,
                                               .max_configurations = 4,
                                               .seed = seed,
                                               .variants = named,
                                               .variant_count = 2,
                                               .flags = KILN_TUNE_REPEATABLE};
            kiln_tuning *tuning = tune(&f, &options);
            CHECK_TEXT(made_at(tuning, 0, made), "fast REPEAT=5");
            CHECK_TEXT(made_at(tuning, 1, made), "slow REPEAT=9");
            if (near)
                second += strcmp(made_at(tuning, 2, made), "slow REPEAT=10") == 0;
            else
                CHECK_TEXT(made_at(tuning, 2, made), "slow REPEAT=10");
            kiln_tuning_free(tuning);
        }
        teardown(&f);
    }
    CHECK(second < 4);
}

/* If only a variant outside of the sweep is known at the nearest sizes, the next sizes take their place: a variant that
 * is three times slower than the best one there is not tried first. */
static void known_times_of_other_variants_do_not_count(void)
{
    static const char *const named[] = {"slow", "fast"};
    fixture f;
    char made[64];
    unsigned second = 0;
    setup(&f, "kiln-best: 1\nbest:\n" KNOWN(64, "bound", 1, 0.001) KNOWN(32, "fast", 2, 0.001)
                  KNOWN(32, "slow", 11, 0.003));
    for (uint64_t seed = 0; seed < 4; seed++) {
        const kiln_tune_options options = {.size = sizeof options,
                                           .max_configurations = 2,
                                           .seed = seed,
                                           .variants = named,
                                           .variant_count = 2,
                                           .flags = KILN_TUNE_REPEATABLE};
        kiln_tuning *tuning = tune(&f, &options);
        CHECK_TEXT(made_at(tuning, 0, made), "fast REPEAT=2");
        second += strcmp(made_at(tuning, 1, made), "slow REPEAT=11") == 0;
        kiln_tuning_free(tuning);
    }
    CHECK(second < 4);
    teardown(&f);
}

/* The same sizes on another device of this compute capability come before other sizes on this device. Other sizes on
 * that other device come last. */
static void the_same_sizes_on_an_alike_device_are_first(void)
{
    fixture f;
    char first[64];
    const kiln_device_info *info = NULL;
    char shipped[2048];
    kiln_error *error = NULL;
    setup(&f, NULL);
    CHECK_OK(kiln_engine_device(f.engine, &info, &error), error);
    // clang-format off
    snprintf(shipped, sizeof shipped,
             "kiln-best: 1\nbest:\n"
             KNOWN_ON("%s, cc: \"%d.%d\"", 32, "fast", 2, 0.001) KNOWN_ON("Alike, cc: \"%d.%d\"", 64, "fast", 5, 0.001)
             KNOWN_ON("Alike, cc: \"%d.%d\"", 128, "fast", 6, 0.001) KNOWN_ON("Far, cc: \"5.0\"", 64, "fast", 4, 0.001),
             info->name, info->cc_major, info->cc_minor, info->cc_major, info->cc_minor, info->cc_major, info->cc_minor);
    // clang-format on
    write_file(&f, "known/lead.yaml", shipped);
    const kiln_tune_options options = {.size = sizeof options, .max_configurations = 3, .flags = KILN_TUNE_REPEATABLE};
    kiln_tuning *tuning = tune(&f, &options);
    CHECK_TEXT(made_at(tuning, 0, first), "fast REPEAT=5");
    CHECK_TEXT(made_at(tuning, 1, first), "fast REPEAT=2");
    CHECK_TEXT(made_at(tuning, 2, first), "fast REPEAT=6");
    kiln_tuning_free(tuning);
    teardown(&f);
}

/* Without knowledge the first configuration is a default, but never the default of a variant that is no contender. */
static void else_a_default_is_first(void)
{
    fixture f;
    char made[64];
    setup(&f, NULL);
    for (uint64_t seed = 0; seed < 4; seed++) {
        const kiln_tune_options options = {
            .size = sizeof options, .max_configurations = 3, .seed = seed, .flags = KILN_TUNE_REPEATABLE};
        kiln_tuning *tuning = tune(&f, &options);
        CHECK_TEXT(made_at(tuning, 0, made), "slow REPEAT=10");
        CHECK_TEXT(made_at(tuning, 1, made), "fast REPEAT=3");
        kiln_tuning_free(tuning);
    }
    teardown(&f);
    setup(&f, "kiln-best: 1\nbest: [nonsense]\n"); /* the file gives a warning in the log, and no knowledge */
    const kiln_tune_options options = {.size = sizeof options, .max_configurations = 1};
    kiln_tuning *tuning = tune(&f, &options);
    CHECK_TEXT(made_at(tuning, 0, made), "slow REPEAT=10");
    kiln_tuning_free(tuning);
    teardown(&f);
}

static void slow_variants_are_left_out_of_a_limited_sweep(void)
{
    static const char *const named[] = {"slow", "hosted"};
    fixture f;
    setup(&f, known);
    kiln_tune_options options = {.size = sizeof options, .max_seconds = 600, .max_configurations = 20};
    kiln_tuning *tuning = tune(&f, &options);
    CHECK(leaves_out(tuning, "hosted", "has steps on the host"));
    CHECK(leaves_out(tuning, "slow", "20 times as long as the best configuration of all variants on Some GPU at N=64"));
    CHECK(!tries(tuning, "slow") && !tries(tuning, "hosted") && tries(tuning, "fast") && tries(tuning, "bound"));
    kiln_tuning_free(tuning);
    options.size_set = "other"; /* at this size set it takes three times the best time */
    tuning = tune(&f, &options);
    CHECK(tries(tuning, "slow") && !tries(tuning, "hosted"));
    kiln_tuning_free(tuning);
    options = (kiln_tune_options){
        .size = sizeof options, .max_seconds = 600, .max_configurations = 20, .variants = named, .variant_count = 2};
    tuning = tune(&f, &options);
    CHECK(tries(tuning, "slow") && tries(tuning, "hosted") && !kiln_tuning_left_out(tuning, 0));
    kiln_tuning_free(tuning);
    options = (kiln_tune_options){.size = sizeof options}; /* a sweep without a limit */
    tuning = tune(&f, &options);
    CHECK(kiln_tuning_count(tuning) == 12 && !kiln_tuning_left_out(tuning, 0));
    kiln_tuning_free(tuning);
    teardown(&f);
}

/* ---- the path of a search ---- */

enum { MOST = 12 };

typedef struct path {
    char made[MOST][64];
    size_t count;
} path;

static path find_path(const fixture *f, kiln_store *store, uint64_t most, uint64_t seed)
{
    path p = {.count = 0};
    const kiln_tune_options options = {.size = sizeof options,
                                       .max_configurations = most,
                                       .seed = seed,
                                       .store = store,
                                       /* this objective has the same values on every machine */
                                       .objectives = (const char *const[]){"REPEAT"},
                                       .objective_count = 1,
                                       .flags = KILN_TUNE_REPEATABLE};
    kiln_tuning *tuning = tune(f, &options);
    p.count = kiln_tuning_count(tuning);
    for (size_t i = 0; i < p.count && i < MOST; i++)
        made_at(tuning, i, p.made[i]);
    kiln_tuning_free(tuning);
    return p;
}

/* Tests that a repeatable search makes the same samples with an empty cache, with a full cache, and if it continues a
 * shorter search. */
static void a_repeatable_search_takes_one_path(void)
{
    fixture f;
    setup(&f, NULL);
    for (uint64_t seed = 0; seed < 3; seed++) {
        char name[128];
        kiln_store *store = NULL;
        kiln_error *error = NULL;
        uint64_t removed;
        CHECK_OK(kiln_cache_clear(f.engine, &removed, &error), error);
        const path cold = find_path(&f, NULL, 10, seed), warm = find_path(&f, NULL, 10, seed);
        snprintf(name, sizeof name, "%s/%d.db", f.folder, (int)seed);
        CHECK_OK(kiln_store_open(f.engine, name, 0, &store, &error), error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(store);
        const path part = find_path(&f, store, 4, seed), rest = find_path(&f, store, 6, seed);
        CHECK(cold.count == 10 && warm.count == 10 && part.count == 4 && rest.count == 10);
        for (size_t i = 0; i < 10; i++) {
            CHECK_TEXT(warm.made[i], cold.made[i]);
            CHECK_TEXT(rest.made[i], cold.made[i]);
        }
        kiln_store_close(store);
    }
    teardown(&f);
}

/* If the limit is shorter than a compile, each sweep makes one sample, until all configurations have one. */
static void a_short_limit_makes_progress(void)
{
    static const char *const fast[] = {"fast"};
    fixture f;
    char name[128];
    kiln_store *store = NULL;
    kiln_error *error = NULL;
    setup(&f, NULL);
    snprintf(name, sizeof name, "%s/short.db", f.folder);
    CHECK_OK(kiln_store_open(f.engine, name, 0, &store, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(store);
    const kiln_tune_options options = {
        .size = sizeof options, .max_seconds = 1e-6, .variants = fast, .variant_count = 1, .store = store};
    for (size_t i = 1; i <= 6; i++) {
        kiln_tuning *tuning = tune(&f, &options);
        const kiln_tuning_totals *totals = kiln_tuning_sum(tuning);
        CHECK(totals->configurations - totals->reused == 1 && totals->failed == 0);
        kiln_tuning_free(tuning);
    }
    kiln_store_close(store);
    teardown(&f);
}

/* Starts the compile of `fast` with this value, and returns true if the code came from the cache. */
static kiln__code_job *start_code(fixture *f, int64_t repeat)
{
    const kiln_setting param = {"REPEAT", {KILN_INT, {.i = repeat}}};
    const kiln_choice choice = {.variant = "fast", .params = &param, .param_count = 1};
    kiln__config *config = NULL;
    kiln__code_job *job = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__config_make(f->engine, f->spec, &choice, &config, &error), error);
    CHECK_OK(kiln__code_start(f->engine, config, NULL, f->engine->want_cubin, &job, &error), error);
    kiln__config_free(config);
    CU_ASSERT_PTR_NOT_NULL_FATAL(job);
    return job;
}

/* Closes the engine, and opens another one with the same cache. */
static void open_again(fixture *f)
{
    char name[128];
    kiln_error *error = NULL;
    const kiln_options options = {
        .size = sizeof options, .device = "sim", .cache_dir = f->folder, .jobs = 2, .flags = KILN_NO_WORKERS};
    kiln_spec_free(f->spec); /* the spec is freed first, as in the command */
    kiln_engine_close(f->engine);
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->engine);
    CHECK_OK(kiln_register_host(f->engine, "lead_copy", KILN_HOST_STEP, copy_on_host, NULL, &error), error);
    snprintf(name, sizeof name, "%s/lead.yaml", f->folder);
    CHECK_OK(kiln_spec_load(f->engine, name, &f->spec, &error), error);
}

static bool is_in_cache(fixture *f, int64_t repeat)
{
    kiln__code code = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__code_take(start_code(f, repeat), &code, &error), error);
    const bool hit = code.from_cache;
    kiln__code_free(&code);
    return hit;
}

static int count_entry(void *user, const kiln_cache_entry *entry)
{
    (void)entry;
    ++*(int *)user;
    return 0;
}

/* If no caller waits for a compile any more, a compile that has begun is finished and stored. A compile in the queue
 * is dropped. */
static void a_begun_compile_is_kept(void)
{
    fixture f;
    const kiln_device_info *info;
    kiln_error *error = NULL;
    setup(&f, NULL);
    CHECK_OK(kiln_engine_device(f.engine, &info, &error), error);
    kiln__code_job *begun = start_code(&f, 1), *waiting = start_code(&f, 2);
    while (kiln__compiler_is_quiet(f.engine->compiler) && !kiln__code_done(begun))
        usleep(1000);
    kiln__code_leave(waiting, true);
    kiln__code_leave(begun, true);
    kiln__code_leave(NULL, true);
    open_again(&f);
    CHECK(is_in_cache(&f, 1));
    /* A compile that is done is stored without waiting. */
    kiln__code_job *done = start_code(&f, 3);
    CHECK(kiln__code_wait(done, -1));
    kiln__code_leave(done, false);
    CHECK(f.engine->left == NULL);
    open_again(&f);
    CHECK(is_in_cache(&f, 3));
    /* A sweep that its time limit ends leaves its compiles to the engine. */
    kiln__code_job *none = start_code(&f, 1);
    kiln__code_cancel(none);
    const char *fast = "fast";
    const kiln_tune_options options = {
        .size = sizeof options, .max_seconds = 1e-3, .variants = &fast, .variant_count = 1, .strategy = "random"};
    kiln_tuning *tuning = tune(&f, &options);
    CHECK(kiln_tuning_sum(tuning)->end == KILN_END_SECONDS);
    kiln_tuning_free(tuning);
    int before = 0, after = 0;
    const bool left = f.engine->left != NULL;
    CHECK_OK(kiln_cache_list(f.engine, count_entry, &before, &error), error);
    open_again(&f);
    CHECK_OK(kiln_cache_list(f.engine, count_entry, &after, &error), error);
    CHECK(after >= before + left);
    teardown(&f);
}

/* Returns true if the code of a configuration shares a compile with others. Sets *same if two configurations have one
 * text. */
static bool goes_together(fixture *f, const char *kernel, const char *begins, bool *same)
{
    char file[128], made[512];
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    kiln__code_job *jobs[2] = {0};
    snprintf(made, sizeof made,
             "%s\ntemplate <int K> __global__ void many(float *z) { z[threadIdx.x] = K; }\n"
             "extern \"C\" __global__ void one(float *z) { z[threadIdx.x] = 1; }\n",
             begins);
    write_file(f, "together.cu", made);
    snprintf(made, sizeof made,
             "kiln: 1\nname: together\nsource: together.cu\nsizes: {tiny: {N: 64}}\n"
             "buffers: {z: {type: f32, shape: [N], out: true}}\nvariants:\n"
             "  it: {params: {A: [1, 2]}, launch: {kernel: '%s', grid: [1], block: [N], args: [z]}}\n",
             kernel);
    write_file(f, "together.yaml", made);
    snprintf(file, sizeof file, "%s/together.yaml", f->folder);
    CHECK_OK(kiln_spec_load(f->engine, file, &spec, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    for (int i = 0; i < 2; i++) {
        kiln__config *config = NULL;
        const kiln_setting a = {.name = "A", .value = {.kind = KILN_INT, .as.i = i + 1}};
        CHECK_OK(kiln__config_make(f->engine, spec, &(kiln_choice){.variant = "it", .params = &a, .param_count = 1},
                                   &config, &error),
                 error);
        CHECK_OK(kiln__code_prepare(f->engine, config, NULL, false, &jobs[i], &error), error);
        kiln__config_free(config);
        CU_ASSERT_PTR_NOT_NULL_FATAL(jobs[i]);
    }
    *same = strcmp(kiln__code_source(jobs[0]), kiln__code_source(jobs[1])) == 0;
    const bool together = kiln__code_goes_together(jobs[0]);
    kiln__code_cancel(jobs[0]);
    kiln__code_cancel(jobs[1]);
    kiln_spec_free(spec);
    return together;
}

/* Instances of a template share a compile if the source includes a header. */
static void instances_with_headers_go_together(void)
{
    fixture f;
    bool same = false;
    setup(&f, NULL);
    CHECK(goes_together(&f, "many<{A}>", "#include <cuda_fp16.h>", &same));
    CHECK(same);
    CHECK(!goes_together(&f, "many<{A}>", "", &same));
    CHECK(same);
    CHECK(!goes_together(&f, "one", "#include <cuda_fp16.h>", &same));
    teardown(&f);
}

static const check_case cases[] = {
    {"what is shipped is first", what_is_shipped_is_first},
    {"unknown variants begin with their defaults", unknown_variants_begin_with_their_defaults},
    {"known times of other variants do not count", known_times_of_other_variants_do_not_count},
    {"the same sizes on an alike device are first", the_same_sizes_on_an_alike_device_are_first},
    {"else a default is first", else_a_default_is_first},
    {"slow variants are left out of a limited sweep", slow_variants_are_left_out_of_a_limited_sweep},
    {"a repeatable search takes one path", a_repeatable_search_takes_one_path},
    {"a short limit makes progress", a_short_limit_makes_progress},
    {"a begun compile is kept", a_begun_compile_is_kept},
    {"instances with headers go together", instances_with_headers_go_together},
};
KILN_SUITE("tune.lead", cases)
