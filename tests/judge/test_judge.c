/* Tests the judge as a library, on the simulated device with code from NVRTC. The suite tests that verdicts repeat,
 * that the caller's spec does not change, and that no failed allocation leaks or gives a verdict. Without NVRTC the
 * suite is skipped with a message. */
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "judge_internal.h"

static const char spec_text[] = "kiln: 1\nname: judged\nsource: judged.cu\nsizes: {tiny: {N: 40}}\n"
                                "buffers:\n  x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}\n"
                                "  y: {type: f32, shape: [N], out: true}\n"
                                "verify: {y: {against: {variant: own}, exact: true}}\n"
                                "judge: {N: {from: 0, to: 300}, x: {align: 4}}\n"
                                "variants:\n"
                                "  own: {launch: {kernel: twice, grid: [2], block: [32], args: [x, y, N]}}\n";
#define KERNEL(text)                                                                                                   \
    "extern \"C\" __global__ void twice(const float *x, float *y, int n)\n{\n"                                         \
    "    for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 64)\n        y[i] = " text ";\n}\n"
static const char traps[] = KERNEL("n > 0 ? (__trap(), x[i]) : 2 * x[i]");
static const char right[] = KERNEL("x[i] + x[i]"), wrong[] = KERNEL("i == 33 ? x[i] : 2 * x[i]");

static char folder[] = "/tmp/kiln-judge-XXXXXX";
static bool missing; /* true if there is no NVRTC */

static kiln_engine *open_engine(const kiln_allocator *mem)
{
    static char cache[64];
    snprintf(cache, sizeof cache, "%s/cache", folder);
    const kiln_options options = {
        .size = sizeof options, .device = "sim", .cache_dir = cache, .flags = KILN_NO_WORKERS, .allocator = mem};
    kiln_engine *engine = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
    return engine;
}

static kiln_status judge(kiln_engine *engine, const char *text, uint64_t seed, kiln_judgement **verdict,
                         kiln_error **error)
{
    char name[64];
    kiln_spec *spec = NULL;
    snprintf(name, sizeof name, "%s/judged.yaml", folder);
    kiln_status status = kiln_spec_parse(engine, spec_text, strlen(spec_text), name, &spec, error);
    const kiln_judge_options options = {.size = sizeof options, .seed = seed, .budget = 1e6};
    if (status == KILN_OK)
        status = kiln_judge(engine, spec, text, strlen(text), "theirs.cu", &options, verdict, error);
    CHECK(!spec || kiln_spec_variant_count(spec) == 1);
    kiln_spec_free(spec);
    return status;
}

/* Writes the source of the spec, and looks for an NVRTC. */
static void set_up(void)
{
    char path[64];
    kiln_error *error = NULL;
    if (mkdtemp(folder) == NULL)
        abort();
    snprintf(path, sizeof path, "%s/judged.cu", folder);
    CHECK_OK(kiln_file_write(path, right, strlen(right), &error), error);
    kiln_engine *engine = open_engine(NULL);
    kiln_judgement *verdict = NULL;
    missing = judge(engine, right, 0, &verdict, &error) == KILN_ERROR_NO_COMPILER;
    kiln_error_free(error);
    kiln_judgement_free(verdict);
    kiln_engine_close(engine);
    if (missing)
        puts("SKIP nvrtc: there is no NVRTC");
}

/* Returns the digest of the verdict in its JSON, which covers everything but times and the machine. */
static const char *find_digest(const kiln_judgement *verdict)
{
    const char *at = strstr(kiln_judgement_json(verdict), "\"digest\"");
    at = at ? strstr(at, "\"verdict\"") : NULL;
    return at ? at : "";
}

static void test_verdicts(void)
{
    kiln_judgement *made[4] = {0};
    kiln_error *error = NULL;
    if (missing)
        return;
    kiln_engine *engine = open_engine(NULL);
    CHECK_OK(judge(engine, right, 3, &made[0], &error), error);
    CHECK_OK(judge(engine, wrong, 3, &made[1], &error), error);
    CHECK_OK(judge(engine, wrong, 3, &made[2], &error), error);
    CHECK_OK(judge(engine, wrong, 4, &made[3], &error), error);
    CHECK(kiln_judgement_kind(made[0]) == KILN_JUDGED_PASS && kiln_judgement_kind(made[1]) == KILN_JUDGED_WRONG);
    CHECK(strstr(kiln_judgement_json(made[1]), "\"sizes\": {\"N\": 34}") != NULL);
    CHECK(strstr(kiln_judgement_page(made[1]), "y[33] is ") != NULL);
    CHECK_TEXT(find_digest(made[1]), find_digest(made[2]));
    CHECK(strcmp(find_digest(made[1]), find_digest(made[3])) != 0);
    for (size_t i = 0; i < KILN__COUNT(made); i++)
        kiln_judgement_free(made[i]);
    kiln_engine_close(engine);
}

/* A fault ends the context of the simulated device. The engine must still be able to judge afterwards. */
static void test_after_a_fault(void)
{
    kiln_judgement *made[2] = {0};
    kiln_error *error = NULL;
    if (missing)
        return;
    kiln_engine *engine = open_engine(NULL);
    CHECK_OK(judge(engine, traps, 0, &made[0], &error), error);
    CHECK_OK(judge(engine, right, 0, &made[1], &error), error);
    CHECK(kiln_judgement_kind(made[0]) == KILN_JUDGED_UNSAFE && kiln_judgement_kind(made[1]) == KILN_JUDGED_PASS);
    kiln_judgement_free(made[0]);
    kiln_judgement_free(made[1]);
    kiln_engine_close(engine);
}

/* Inline assembly may write any comment. The judge refuses a candidate whose variables have too many bytes. */
static void test_named_variables(void)
{
    static const char tail[] =
        "    for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 64)\n        y[i] = 2 * x[i];\n"
        "    if (n < 0)\n        kept[-n] = 1;\n}\n";
    static const struct {
        const char *size, *text;
        unsigned times;
        int kind;
    } cases[] = {
        {"1", "/* .global .b8 kept; .global .b8 kept; .global .b8 v%u; */", 5000, KILN_JUDGED_PASS},
        {"300 << 18", "// %u\\n", 1, KILN_JUDGED_FORBIDDEN},
    };
    for (size_t c = 0; c < KILN__COUNT(cases) && !missing; c++) {
        kiln__text text = {0};
        kiln_judgement *verdict = NULL;
        kiln_error *error = NULL;
        kiln_engine *engine = open_engine(NULL);
        kiln__text_printf(
            &text,
            "__device__ float kept[%s];\nextern \"C\" __global__ void twice(const float *x, float *y, int "
            "n)\n{\n    asm volatile(\"{",
            cases[c].size);
        for (unsigned k = 0; k < cases[c].times; k++)
            kiln__text_printf(&text, cases[c].text, k);
        kiln__text_puts(&text, "}\");\n");
        kiln__text_puts(&text, tail);
        CHECK_OK(judge(engine, kiln__text_get(&text), 0, &verdict, &error), error);
        CHECK(kiln_judgement_kind(verdict) == cases[c].kind);
        kiln_judgement_free(verdict);
        kiln_engine_close(engine);
        kiln__text_free(&text);
    }
}

/* Inline assembly may declare a variable in many forms. A kernel that counts its calls in such a variable gives a wrong
 * answer only after more calls than the trials have. */
static void test_hidden_variables(void)
{
    static const char *const forms[] = {
        ".global .u32 hidden;",
        ".visible\\t.global .align 4 .u32 hidden;",
        ".weak.global .u32 hidden;",
        "/**/.global .u32 hidden;",
        ".global .u32 /* ; */ hidden = 0;",
        ".global .u32 first[2] = {1, 2}, hidden;",
        ".global // .global .u32 other;\\n.u32 hidden[1] = {0};",
    };
    static const char text[] =
        "extern \"C\" __global__ void other() { asm volatile(\"ret;\\n}\\n%s\\n.func never() {\\n\"); }\n"
        "extern \"C\" __global__ void twice(const float *x, float *y, int n)\n{\n    unsigned calls = 0;\n"
        "    if (blockIdx.x == 0 && threadIdx.x == 0)\n"
        "    asm volatile(\"{ ld.global.u32 %%0, [hidden]; add.u32 %%0, %%0, 1; st.global.u32 [hidden], %%0; }\" : "
        "\"=r\"(calls));\n"
        "    for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 64)\n"
        "        y[i] = calls > 1000000 ? 0 : 2 * x[i];\n}\n";
    for (size_t k = 0; k < KILN__COUNT(forms) && !missing; k++) {
        char source[1024];
        kiln_judgement *verdict = NULL;
        kiln_error *error = NULL;
        kiln_engine *engine = open_engine(NULL);
        snprintf(source, sizeof source, text, forms[k]);
        CHECK_OK(judge(engine, source, 0, &verdict, &error), error);
        if (kiln_judgement_kind(verdict) == KILN_JUDGED_PASS)
            fprintf(stderr, "the judge does not find the variable in: %s\n", forms[k]);
        CHECK(kiln_judgement_kind(verdict) == KILN_JUDGED_STATE);
        kiln_judgement_free(verdict);
        kiln_engine_close(engine);
    }
}

/* Judges a right kernel with one assembly outside of its functions, and one in its body; both may be NULL. Returns the
 * kind of the verdict. The page of the verdict must have the text `why`, unless it is NULL. */
static int judge_assembly(kiln_engine *engine, const char *function, const char *body, const char *why)
{
    kiln__text text = {0};
    kiln_judgement *verdict = NULL;
    kiln_error *error = NULL;
    kiln__text_printf(&text,
                      "__device__ float used[8];\n"
                      "extern \"C\" __global__ void other() { asm volatile(\"ret;\\n}\\n%s\\n.func never() {\\n\"); }\n"
                      "extern \"C\" __global__ void twice(const float *x, float *y, int n)\n{\n"
                      "    if (n < 0)\n        used[n & 7] = 1;\n    asm volatile(\"{\\n%s\\n}\");\n"
                      "    for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 64)\n        y[i] = 2 * x[i];\n}\n",
                      function ? function : "", body ? body : "");
    CHECK_OK(judge(engine, kiln__text_get(&text), 0, &verdict, &error), error);
    const int kind = kiln_judgement_kind(verdict);
    if (why && !strstr(kiln_judgement_page(verdict), why))
        fprintf(stderr, "%s\nnot in:\n%s\n", why, kiln_judgement_page(verdict));
    CHECK(!why || strstr(kiln_judgement_page(verdict), why) != NULL);
    kiln_judgement_free(verdict);
    kiln__text_free(&text);
    return kind;
}

/* Opens an engine and its device, so that a test can replace functions of the driver. */
static kiln_engine *open_device(void)
{
    const kiln_device_info *info;
    kiln_error *error = NULL;
    kiln_engine *engine = open_engine(NULL);
    CHECK_OK(kiln_engine_device(engine, &info, &error), error);
    return engine;
}

/* The assembler of the simulated device refuses some forms that the assembler of a GPU accepts. This driver loads a text
 * with blanks in their place. */
static kiln__driver simulated;
static CUresult CUDAAPI load_less(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                                  void **values)
{
    static const char *const forms[] = {"<4>", ".file 7 \"a\n /* b\"", ".file 7 \"a\n.file 1 \""};
    char *text = strdup(image);
    for (size_t i = 0; text && i < KILN__COUNT(forms); i++)
        for (char *at; (at = strstr(text, forms[i])) != NULL;)
            memset(at, ' ', strlen(forms[i]));
    const CUresult result = simulated.cuModuleLoadDataEx_(module, text, count, options, values);
    free(text);
    return result;
}

/* The driver does not find variables with these declarations by their names. The judge refuses them, because it cannot
 * watch them. A blank before a suffix of an instruction does not make the suffix a declaration. */
static void test_unknown_names(void)
{
    static const char inside[] = "a variable inside a function", numbered[] = "numbered names",
                      torn[] = "a quoted text of several lines";
    static const struct {
        const char *function, *body, *why;
    } cases[] = {
        {NULL, ".global .u32 h;", inside},
        {NULL, "{ .reg .u32 r; { .global .u32 h[2] = {1, 2}; } }", inside},
        {NULL, ".const .u32 h;", inside},
        {NULL, "ld: .global .u32 h;", inside},
        {".func f() { .global .u32 h; ret; }", NULL, inside},
        {".global .u32 h<4>;", NULL, numbered},
        {".const .u32 g, h<4>;", NULL, numbered},
        {".file 7 \\\"a\\n /* b\\\"\\n.global .u32 h; // */", NULL, torn},
        {".func f() { .reg .u32 r;\\n.file 7 \\\"a\\n.file 1 \\\"mov.u32 r, %clock // \\\"\\n; ret; }", NULL, torn},
        {".global .u32 h;", "{ .reg .u32 r; ld .global.u32 r, [h]; ld/**/.volatile .global .u32 r, [h]; }", NULL},
        {".const .u32 h = 3;", "{ .reg .u32 r; ld.const.u32 r, [h]; ld .const.u32 r, [h]; }", NULL},
        {".file 7 \\\"a /* b\\\"", NULL, NULL},
    };
    if (missing)
        return;
    kiln_engine *engine = open_device();
    simulated = engine->driver;
    engine->driver.cuModuleLoadDataEx_ = load_less;
    for (size_t k = 0; k < KILN__COUNT(cases); k++) {
        const int kind = judge_assembly(engine, cases[k].function, cases[k].body, cases[k].why);
        if (kind != (cases[k].why ? KILN_JUDGED_FORBIDDEN : KILN_JUDGED_PASS))
            fprintf(stderr, "case %zu: %d\n", k, kind);
        CHECK(kind == (cases[k].why ? KILN_JUDGED_FORBIDDEN : KILN_JUDGED_PASS));
    }
    kiln_engine_close(engine);
}

/* Inline assembly may declare any number of variables. The judge refuses more variables than it can watch. */
static void test_many_variables(void)
{
    kiln__text text = {0};
    if (missing)
        return;
    kiln_engine *engine = open_engine(NULL);
    for (unsigned k = 0; k < 5000; k++)
        kiln__text_printf(&text, ".global .b8 v%u;", k);
    CHECK(judge_assembly(engine, kiln__text_get(&text), NULL, "more variables than") == KILN_JUDGED_FORBIDDEN);
    kiln__text_free(&text);
    kiln_engine_close(engine);
}

static CUresult CUDAAPI find_all_but_h(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    return strcmp(name, "h") == 0 ? CUDA_ERROR_NOT_FOUND : simulated.cuModuleGetGlobal_(address, bytes, module, name);
}

/* If the driver does not find a variable, in global or in constant memory, the candidate is forbidden. */
static void test_lost_variable(void)
{
    static const char why[] = "the driver does not find a variable";
    if (missing)
        return;
    kiln_engine *engine = open_device();
    simulated = engine->driver;
    engine->driver.cuModuleGetGlobal_ = find_all_but_h;
    CHECK(judge_assembly(engine, NULL, NULL, NULL) == KILN_JUDGED_PASS);
    CHECK(judge_assembly(engine, ".global .u32 h;", NULL, why) == KILN_JUDGED_FORBIDDEN);
    CHECK(judge_assembly(engine, ".const .align 4 .u32 h = 3;", NULL, why) == KILN_JUDGED_FORBIDDEN);
    kiln_engine_close(engine);
}

/* A blank or a comment may stand between an instruction and its suffixes. */
static void test_discard(void)
{
    static const char *const forms[] = {"discard.global.L2", "discard .global.L2", "discard/* */.global.L2"};
    static const char text[] =
        "extern \"C\" __global__ void twice(const float *x, float *y, int n)\n{\n"
        "    if (n < 0)\n        asm volatile(\"%s [%%0], 128;\" :: \"l\"(__cvta_generic_to_global(y)));\n"
        "    for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 64)\n        y[i] = 2 * x[i];\n}\n";
    for (size_t k = 0; k < KILN__COUNT(forms) && !missing; k++) {
        char source[1024];
        kiln_judgement *verdict = NULL;
        kiln_error *error = NULL;
        kiln_engine *engine = open_engine(NULL);
        snprintf(source, sizeof source, text, forms[k]);
        CHECK_OK(judge(engine, source, 0, &verdict, &error), error);
        CHECK(kiln_judgement_kind(verdict) == KILN_JUDGED_FORBIDDEN);
        kiln_judgement_free(verdict);
        kiln_engine_close(engine);
    }
}

/* Compares the candidate with a variant of its spec, and with a variant of another spec that has the same sizes. */
static void test_against(void)
{
    static const char other_text[] =
        "kiln: 1\nname: other\nsource: judged.cu\nsizes: {tiny: {N: 8, M: 3}}\n"
        "buffers:\n  x: {type: f32, shape: [N], fill: 1}\n  y: {type: f32, shape: [N], out: true}\n"
        "verify: {y: {against: {variant: slow}, exact: true}}\n"
        "variants:\n  slow: {params: {B: [32, 16]}, launch: {kernel: twice, grid: [1], block: [B], args: [x, y, N]}}\n";
    static const char *const against[] = {"own", NULL, "none", NULL};
    const kiln_setting params[] = {{"B", {KILN_INT, {.i = 16}}}};
    char name[64];
    if (missing)
        return;
    snprintf(name, sizeof name, "%s/judged.yaml", folder);
    kiln_engine *engine = open_engine(NULL);
    kiln_spec *spec = NULL, *other = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_spec_parse(engine, spec_text, strlen(spec_text), name, &spec, &error), error);
    CHECK_OK(kiln_spec_parse(engine, other_text, strlen(other_text), name, &other, &error), error);
    for (size_t i = 0; i < KILN__COUNT(against); i++) {
        kiln_judgement *made = NULL;
        const kiln_judge_options options = {.size = sizeof options,
                                            .budget = 1e6,
                                            .against = against[i],
                                            .against_spec = i == 1 || i == 3 ? (i == 1 ? other : spec) : NULL,
                                            .against_params = i == 1 ? params : NULL,
                                            .against_param_count = i == 1,
                                            .against_origin = "a test"};
        /* the last case judges by the spec with two sizes; the spec of the comparison has one of them */
        kiln_status status = kiln_judge(engine, i == 3 ? other : spec, right, strlen(right), "theirs.cu", &options,
                                        &made, &error);
        const char *json = kiln_judgement_json(made);
        if (i < 2) {
            CHECK_OK(status, error);
            CHECK(strstr(json, "\"comparison\": {\"kind\": \"counted\"") != NULL);
            CHECK(strstr(json, i ? "\"spec\": \"other\", \"variant\": \"slow\", \"params\": {\"B\": 16}"
                                 : "\"spec\": \"judged\", \"variant\": \"own\", \"params\": {}") != NULL);
            CHECK(strstr(json, "\"faster\": null") && strstr(json, "\"origin\": \"a test\""));
        } else {
            CHECK(status == KILN_ERROR_NOT_FOUND && !made);
            CHECK(strstr(kiln_error_message(error), i == 2 ? "'none'" : "no size 'M'") != NULL);
            kiln_error_free(error);
            error = NULL;
        }
        kiln_judgement_free(made);
    }
    kiln_spec_free(other);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
}

/* Two headers differ only in a line of PTX that begins like the line of a source file. The digests differ, because the
 * line also has code. */
static void test_digest_of_code(void)
{
    static const char text[] = "#include \"code.h\"\n" KERNEL("2 * (x[i] + part())");
    char digests[2][33], name[64], header[64];
    if (missing)
        return;
    snprintf(name, sizeof name, "%s/judged.yaml", folder);
    snprintf(header, sizeof header, "%s/code.h", folder);
    for (unsigned i = 0; i < 2; i++) {
        char code[200];
        const kiln_judge_options options = {.size = sizeof options, .budget = 1};
        kiln_spec *spec = NULL;
        kiln_error *error = NULL;
        snprintf(code, sizeof code,
                 "__device__ float part() { float y; asm volatile(\"\\n.file 9 \\\"x\\\" mov.f32 %%0, 0f%u0000000;\" : "
                 "\"=f\"(y)); return y; }\n",
                 i);
        CHECK_OK(kiln_file_write(header, code, strlen(code), &error), error);
        kiln_engine *engine = open_engine(NULL);
        CHECK_OK(kiln_spec_parse(engine, spec_text, strlen(spec_text), name, &spec, &error), error);
        CHECK_OK(kiln_judge_digest(engine, spec, text, strlen(text), "c.cu", &options, digests[i], &error), error);
        CHECK(strlen(digests[i]) == 32);
        kiln_spec_free(spec);
        kiln_engine_close(engine);
    }
    CHECK(strcmp(digests[0], digests[1]) != 0);
}

/* The digest depends on the candidate and the seed, and not on the name or the budget. */
static void test_digest(void)
{
    static const char *const texts[] = {right, right, right, wrong, "no kernel"};
    char digests[5][33], name[64];
    if (missing)
        return;
    snprintf(name, sizeof name, "%s/judged.yaml", folder);
    kiln_engine *engine = open_engine(NULL);
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_spec_parse(engine, spec_text, strlen(spec_text), name, &spec, &error), error);
    for (size_t i = 0; i < KILN__COUNT(texts); i++) {
        const kiln_judge_options options = {.size = sizeof options, .seed = i == 2, .budget = 1 + (double)i};
        CHECK_OK(kiln_judge_digest(engine, spec, texts[i], strlen(texts[i]), i ? "b.cu" : "a.cu", &options, digests[i],
                                   &error),
                 error);
        CHECK(strlen(digests[i]) == (i == 4 ? 0 : 32));
    }
    CHECK_TEXT(digests[0], digests[1]);
    CHECK(strcmp(digests[0], digests[2]) != 0 && strcmp(digests[0], digests[3]) != 0);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
}

/* One of two kernels counts as faster only if the difference is outside of the interval and above the usual noise. */
static void test_ratio(void)
{
    static const struct {
        double candidate, of_candidate, against, of_against; /* two times, each with half the width of its interval */
        const char *faster;
    } rows[] = {{1, 0.01, 2, 0.01, "candidate"},   {2, 0.01, 1, 0.01, "against"},      {1, 0.1, 1.05, 0.1, "neither"},
                {1, 1e-6, 1.005, 1e-6, "neither"}, {1, 0.01, 1.05, 0.01, "candidate"}, {1, 0, 1.03, 0, "neither"}};
    for (size_t i = 0; i < KILN__COUNT(rows); i++) {
        const double c = rows[i].of_candidate, a = rows[i].of_against;
        struct kiln__judge_comparison made = {.kind = KILN__JUDGE_MEASURED,
                                              .candidate = {.seconds = rows[i].candidate},
                                              .against = {.seconds = rows[i].against}};
        if (c > 0) { /* with c == 0 there is no interval */
            made.candidate.low = rows[i].candidate - c;
            made.candidate.high = rows[i].candidate + c;
            made.against.low = rows[i].against - a;
            made.against.high = rows[i].against + a;
        }
        kiln__judge_compare_times(&made);
        CHECK_TEXT(made.faster, rows[i].faster);
        CHECK(made.low < made.ratio && made.ratio < made.high);
        made.kind = KILN__JUDGE_ESTIMATED; /* an estimate has no interval */
        kiln__judge_compare_times(&made);
        CHECK(made.low >= made.ratio * (1 - 1e-12) && made.high <= made.ratio * (1 + 1e-12));
    }
}

/* Lets allocation k fail, for numbers k that grow by a fifth, until a judgement makes fewer than k allocations. */
static void exhaust(const char *text, int want)
{
    int failed = 1;
    for (long k = 0; failed && !missing; k += 1 + k / 5) {
        check_oom oom = {.countdown = -1};
        const kiln_allocator mem = {check_oom_resize, &oom};
        kiln_judgement *verdict = NULL;
        kiln_error *error = NULL;
        kiln_engine *engine = open_engine(&mem);
        oom.countdown = k;
        kiln_status status = judge(engine, text, 0, &verdict, &error);
        failed = oom.failed;
        oom.countdown = -1;
        /* A verdict does not need every allocation. The cache and the source lines of findings can be left out. */
        const bool fine = status == KILN_OK ? kiln_judgement_kind(verdict) == want : failed && !verdict;
        if (!fine)
            fprintf(stderr, "allocation %ld: %s: %s\n%s", k, kiln_status_name(status), kiln_error_message(error),
                    kiln_judgement_page(verdict));
        CHECK(fine);
        kiln_error_free(error);
        kiln_judgement_free(verdict);
        kiln_engine_close(engine);
        CHECK(oom.live == 0);
    }
}

static void test_memory(void)
{
    exhaust(right, KILN_JUDGED_PASS);
    exhaust(wrong, KILN_JUDGED_WRONG);
}

static void clear(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
}

static const check_case cases[] = {{"prepare", set_up},
                                   {"verdicts repeat", test_verdicts},
                                   {"after a fault", test_after_a_fault},
                                   {"named variables", test_named_variables},
                                   {"hidden variables", test_hidden_variables},
                                   {"unknown names", test_unknown_names},
                                   {"many variables", test_many_variables},
                                   {"lost variable", test_lost_variable},
                                   {"discard", test_discard},
                                   {"against", test_against},
                                   {"ratio", test_ratio},
                                   {"digest", test_digest},
                                   {"digest of code", test_digest_of_code},
                                   {"failing allocations", test_memory},
                                   {"clear", clear}};

int main(int count, char **arguments)
{
    const int status = check_main(count, arguments, "judge", cases, sizeof cases / sizeof *cases);
    return status == 0 && missing ? 77 : status; /* CTest shows this exit code as skipped */
}
