#include <dirent.h>

#include "base.h"
#include "check.h"
#include "spec.h"

static bool known(void *user, const char *name, unsigned uses)
{
    static const struct {
        const char *name;
        unsigned uses;
    } hosts[] = {{"f", 7},
                 {"matmul_f64", KILN_HOST_REFERENCE},
                 {"spmv_f64", KILN_HOST_REFERENCE},
                 {"sparse_matrix", KILN_HOST_INPUT},
                 {"ell_plus_coo", KILN_HOST_INPUT},
                 {"spmv_coo_add", KILN_HOST_STEP}};
    (void)user;
    for (size_t i = 0; i < KILN__COUNT(hosts); i++)
        if (strcmp(hosts[i].name, name) == 0)
            return (hosts[i].uses & uses) != 0;
    return false;
}

static size_t names(void *user, const char **out, size_t room)
{
    static const char *const all[] = {"f", "matmul_f64", "spmv_f64", "sparse_matrix", "ell_plus_coo", "spmv_coo_add"};
    (void)user;
    for (size_t i = 0; i < KILN__COUNT(all) && i < room; i++)
        out[i] = all[i];
    return KILN__COUNT(all);
}

/* Describes the arguments of only one function, because other tests call functions without giving all arguments. */
static const char *takes(void *user, const char *name)
{
    (void)user;
    return strcmp(name, "matmul_f64") == 0 ? "A, B, [COLUMNS]" : NULL;
}

static const kiln__host_lookup hosts = {.known = known, .names = names, .takes = takes};

static kiln_status load(const kiln_allocator *mem, const char *folder, const char *file, kiln_spec **spec,
                        kiln_error **error)
{
    char path[512];
    char *text = NULL;
    size_t length = 0;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    kiln_status status = kiln__file_read(NULL, path, 0, &text, &length, error);
    if (status == KILN_OK)
        status = kiln__spec_parse(mem, text, length, file, &hosts, spec, error);
    kiln__free(NULL, text);
    return status;
}

/* Checks that broken/NAME.yaml gives exactly the message in broken/NAME.err. KILN_TEST_WRITE=1 writes missing files. */
static void check_broken(const char *folder, const char *file)
{
    char path[512], base[256];
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    CHECK(load(NULL, folder, file, &spec, &error) == KILN_ERROR_SPEC);
    CHECK(spec == NULL);
    kiln_spec_free(spec);
    snprintf(base, sizeof base, "%.*s", (int)(strrchr(file, '.') - file), file);
    snprintf(path, sizeof path, "%s/%s.err", folder, base);
    if (getenv("KILN_TEST_WRITE") && !kiln__file_exists(path)) {
        kiln_error *problem = NULL;
        CHECK_OK(kiln__file_write(NULL, path, kiln_error_message(error), strlen(kiln_error_message(error)), &problem),
                 problem);
    }
    char *want = NULL;
    size_t length;
    kiln_error *missing = NULL;
    CHECK_OK(kiln__file_read(NULL, path, 0, &want, &length, &missing), missing);
    if (want && length && want[length - 1] == '\n')
        want[length - 1] = '\0';
    CHECK_TEXT(kiln_error_message(error), want ? want : "");
    kiln__free(NULL, want);
    kiln_error_free(error);
}

static void test_broken(void)
{
    const char *folder = KILN_TEST_DATA "/broken";
    DIR *dir = opendir(folder);
    size_t count = 0;
    CHECK(dir != NULL);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || entry->d_name[0] == '.' || strcmp(dot, ".err") == 0)
            continue;
        check_broken(folder, entry->d_name);
        count++;
    }
    if (dir)
        closedir(dir);
    CHECK(count >= 60);
}

static kiln_spec *good(const char *file)
{
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    CHECK_OK(load(NULL, KILN_TEST_DATA "/good", file, &spec, &error), error);
    return spec;
}

/* Reads a spec of a matrix product, and compares every part with the file. */
static void test_matmul(void)
{
    kiln_spec *spec = good("matmul.yaml");
    if (!spec)
        return;
    CHECK_TEXT(kiln_spec_name(spec), "matmul");
    CHECK_TEXT(kiln_spec_title(spec), "Dense matrix product P = A B, single precision");
    CHECK_TEXT(kiln_spec_about(spec), "");
    CHECK_TEXT(kiln_spec_path(spec), "matmul.yaml");
    CHECK_TEXT(spec->folder, ".");
    CHECK_TEXT(spec->source, "matmul.cu");
    CHECK(kiln_spec_variant_count(spec) == 2);
    CHECK_TEXT(kiln_spec_variant_name(spec, 1), "coarsened");
    CHECK_TEXT(kiln_spec_variant_about(spec, 1), "");
    CHECK(kiln_spec_variant_name(spec, 2) == NULL);
    CHECK(kiln_spec_variant_find(spec, "coarsened") == 1 && kiln_spec_variant_find(spec, "x") == -1);
    CHECK(kiln_spec_param_count(spec, 1) == 6);
    const kiln_param_info *param = kiln_spec_param(spec, 1, 2);
    CHECK_TEXT(param->name, "TILE_K");
    CHECK(param->count == 3 && param->initial == 0 && param->values[1].kind == KILN_INT && param->values[1].as.i == 16);
    CHECK(kiln_spec_constraint_count(spec, 1) == 2);
    CHECK_TEXT(kiln_spec_constraint(spec, 1, 1), "4 * TILE_K * (TILE_M + TILE_N) <= device.shared_per_block");
    CHECK(kiln_spec_size_set_count(spec) == 3);
    const kiln_size_set *set = kiln_spec_size_set(spec, 1);
    CHECK_TEXT(set->name, "ragged");
    CHECK(set->count == 3 && set->settings[1].value.as.i == 777);
    CHECK_TEXT(set->settings[1].name, "N");
    CHECK(kiln_spec_buffer_count(spec) == 3);
    const kiln_buffer_info *buffer = kiln_spec_buffer(spec, 2);
    CHECK_TEXT(buffer->name, "P");
    CHECK_TEXT(buffer->shape, "[M, N]");
    CHECK(buffer->type == KILN_f32 && buffer->output == 1 && buffer->type_text == NULL);
    const kiln__variant *naive = kiln__spec_variant(spec, "naive");
    CHECK(naive && naive->step_count == 1 && naive->steps[0].kind == KILN__STEP_LAUNCH);
    if (naive) {
        CHECK_TEXT(kiln__template_text(naive->steps[0].as.launch.kernel), "matmul_naive");
        CHECK_TEXT(kiln__expr_text(naive->steps[0].as.launch.grid[1]), "ceil_div(M, BLOCK_Y)");
        CHECK_TEXT(kiln__expr_text(naive->steps[0].as.launch.block[2]), "1");
        CHECK(naive->steps[0].as.launch.arg_count == 6 && naive->metric_count == 2);
    }
    CHECK(spec->verify_count == 1 && spec->verify[0].against == KILN__AGAINST_HOST && !spec->verify[0].exact);
    CHECK_TEXT(kiln__expr_text(spec->verify[0].rtol), "1e-5");
    kiln_spec_free(spec);
}

static void test_scan(void)
{
    kiln_spec *spec = good("scan.yaml");
    if (!spec)
        return;
    CHECK_TEXT(kiln_spec_about(spec), "Inclusive scan of any length.\nThree kernels, or one that streams.\n");
    CHECK(spec->size_sets[0].settings.items[0].value.as.i == 1 << 24);
    const kiln__variant *stream = kiln__spec_variant(spec, "stream");
    CHECK_TEXT(stream->about, "Each block hands its sum to the next one.");
    CHECK_TEXT(stream->lets[0].name, "sections"); /* `sections` comes before `last`, which uses it */
    CHECK_TEXT(stream->lets[1].name, "last");
    CHECK(stream->define_count == 2 && stream->bake_count == 1 && stream->option_count == 2);
    CHECK(stream->before_count == 1 && stream->before[0].kind == KILN__STEP_FILL);
    CHECK(stream->params[0].count == 3 && stream->params[0].initial == 1 && stream->params[0].option_count == 1);
    const kiln_setting one[] = {{"SECTION_SIZE", {KILN_INT, {.i = 512}}}};
    kiln__scope scope = {.settings = {1, one}};
    kiln__text out = {0};
    kiln__template_fill(stream->params[0].options[0], &scope, &out, NULL);
    kiln__template_fill(stream->options[1], &scope, &out, NULL);
    CHECK_TEXT(kiln__text_get(&out), "-maxrregcount=64-DBRACE={}");
    kiln__text_free(&out);
    CHECK(stream->steps[0].as.launch.cooperative && stream->steps[0].as.launch.cluster[0] != NULL);
    CHECK(stream->steps[0].as.launch.shared != NULL);
    CHECK(kiln__variant_buffer(stream, "flags") == &stream->buffers[2]);
    CHECK(kiln__variant_buffer(stream, "sums") == NULL);
    CHECK(spec->verify[0].against == KILN__AGAINST_VARIANT);
    kiln_spec_free(spec);
}

static void test_spmv(void)
{
    kiln_spec *spec = good("spmv.yaml");
    if (!spec)
        return;
    const kiln__variant *v = &spec->variants[0];
    CHECK(spec->size_set_count == 1 && spec->size_sets[0].settings.count == 0);
    CHECK(v->input_count == 2 && v->buffer_count == 7 && spec->buffer_count == 5);
    CHECK_TEXT(v->inputs[0].args[0].text, "west0479.mtx");
    CHECK(v->inputs[0].args[0].expr == NULL);
    CHECK_TEXT(kiln__expr_text(v->inputs[1].args[0].expr), "A");
    CHECK_TEXT(kiln__expr_text(v->inputs[1].args[1].expr), "ELL_QUANTILE");
    CHECK(v->buffers[0].fill.kind == KILN__FILL_FROM && !v->buffers[0].type_known && v->buffers[0].dims == -1);
    CHECK_TEXT(v->buffers[0].fill.text, "A.csr.row_ptr");
    CHECK(v->buffers[2].type_known && v->buffers[2].dims == 1);
    CHECK(v->buffers[3].fill.seed != NULL);
    CHECK(v->steps[1].kind == KILN__STEP_HOST && v->steps[1].as.host.arg_count == 3);
    CHECK_TEXT(kiln__expr_text(v->steps[1].as.host.args[0].expr), "H.coo");
    CHECK(v->params[0].values[3].kind == KILN_FLOAT && v->params[0].values[3].as.f == 1);
    kiln_spec_free(spec);
}

/* Reads a spec with loops and repetitions, and compares its steps with the file. */
static void test_loops(void)
{
    kiln_spec *spec = good("loops.yaml");
    if (!spec)
        return;
    const kiln__variant *v = &spec->variants[0];
    CHECK(v->param_count == 4 && v->params[1].values[0].kind == KILN_TEXT && v->params[2].values[0].kind == KILN_BOOL);
    CHECK_TEXT(v->params[1].values[1].as.text, "half");
    CHECK(v->buffers[0].type_known && v->buffers[0].type_expr && v->buffers[0].fill.kind == KILN__FILL_ZIPF);
    const kiln_buffer_info *info = kiln_spec_buffer(spec, 0);
    CHECK_TEXT(info->type_text, "T");
    CHECK(v->buffers[1].fill.kind == KILN__FILL_IOTA && v->buffers[2].fill.kind == KILN__FILL_VALUE);
    CHECK(v->buffers[3].fill.kind == KILN__FILL_FILE && v->buffers[4].fill.kind == KILN__FILL_NORMAL);
    CHECK(v->before_count == 1 && v->before[0].kind == KILN__STEP_COPY && v->before[0].as.copy.to_offset != NULL);
    CHECK(v->step_count == 3 && v->steps[2].kind == KILN__STEP_WHILE);
    const kiln__step *symbol = v->steps[0].as.repeat.steps;
    CHECK(symbol->kind == KILN__STEP_SYMBOL);
    CHECK_TEXT(kiln__expr_text(symbol->as.symbol.offset), "i * CHUNK");
    CHECK_TEXT(v->steps[1].as.repeat.index, "level");
    CHECK_TEXT(kiln__expr_text(v->steps[1].as.repeat.times), "ilog2(ceil_div(N, TILE))");
    const kiln__step *loop = &v->steps[2];
    CHECK(loop->as.loop.read_count == 1 && loop->as.loop.step_count == 2 && loop->as.loop.at_most != NULL);
    CHECK_TEXT(loop->as.loop.reads[0].buffer, "frontier_size");
    CHECK_TEXT(kiln__expr_text(loop->as.loop.reads[0].element), "0");
    CHECK(v->metric_count == 2 && spec->verify[0].exact);
    kiln_spec_free(spec);
    spec = good("short.yaml");
    if (!spec)
        return;
    CHECK(spec->variant_count == 1 && spec->variants[0].param_count == 1 && spec->variants[0].step_count == 1);
    kiln_spec_free(spec);
    spec = good("types.yaml");
    if (!spec)
        return;
    CHECK(spec->variants[0].buffers[0].type == KILN_bf16 && spec->variants[0].buffers[3].type == KILN_bool);
    CHECK(spec->variants[0].buffers[5].type == KILN_complex128 && spec->variants[0].buffers[10].type == KILN_bf16);
    CHECK(spec->variants[0].buffers[6].type == KILN_f4e2m1 && spec->variants[0].buffers[9].type == KILN_ue8m0);
    kiln_spec_free(spec);
}

static void test_arguments(void)
{
    kiln_spec *spec = good("arguments.yaml");
    if (!spec)
        return;
    const kiln__argument *args = spec->variants[0].steps[0].as.launch.args;
    CHECK(spec->variants[0].steps[0].as.launch.arg_count == 9);
    CHECK(args[0].kind == KILN__ARGUMENT_BUFFER && args[1].kind == KILN__ARGUMENT_NULL);
    CHECK_TEXT(args[0].buffer, "a");
    CHECK_TEXT(kiln__expr_text(args[0].expr), "N // 2");
    /* A structure in the layout of a compiler: int, double[2], float2, two pointers, a structure of one char. */
    static const uint64_t offsets[] = {0, 8, 24, 32, 40, 48};
    CHECK(args[2].kind == KILN__ARGUMENT_STRUCT && args[2].count == 6 && args[2].size == 56 && args[2].align == 8);
    for (size_t i = 0; i < args[2].count && i < KILN__COUNT(offsets); i++)
        CHECK(args[2].fields[i].offset == offsets[i]);
    CHECK(args[2].fields[5].argument && args[2].fields[5].argument->size == 1);
    CHECK(args[3].size == 3 && memcmp(args[3].bytes, "\0\1\xfe", 3) == 0);
    CHECK(args[4].count == 3 && args[4].items[2].kind == KILN__ARGUMENT_NULL && args[4].size == 8);
    const kiln__texture *plain = args[5].texture, *full = args[6].texture;
    CHECK(args[5].kind == KILN__ARGUMENT_TEXTURE && args[5].size == 8 && !args[5].expr);
    CHECK(plain->shape_count == 0 && plain->address_count == 0 && !plain->array && !plain->linear && !plain->pitch);
    CHECK(full->shape_count == 3 && full->channels && full->array && full->layered && full->as_float && full->linear);
    CHECK(full->address_count == 2 && full->address[0] == KILN__ADDRESS_MIRROR && full->normalised);
    CHECK(args[8].fields[0].argument->kind == KILN__ARGUMENT_TEXTURE && args[8].size == 8);
    /* char, float3, float4, double4, half2, uchar3, int2[2], in the layout of nvcc 13. */
    static const uint64_t vectors[] = {0, 4, 16, 32, 64, 68, 72};
    CHECK(args[7].count == 7 && args[7].size == 96 && args[7].align == 16);
    for (size_t i = 0; i < args[7].count && i < KILN__COUNT(vectors); i++)
        CHECK(args[7].fields[i].offset == vectors[i]);
    kiln_spec_free(spec);
}

static void test_ranges(void)
{
    static const char text[] = "kiln: 1\nname: t\nsource: t.cu\nparams:\n"
                               "  A: {from: 32, to: 128, step: 32}\n  B: {from: 1, to: 64, times: 2, default: 16}\n"
                               "  C: {from: 0.1, to: 0.5, step: 0.1}\n  D: {from: 4, to: 1, step: -2}\n  E: 7\n"
                               "  F: [1, 2.5]\n  G: {from: 1, to: 100, times: 3}\n  H: ['1', \"a b\", c]\n"
                               "  I: {from: 9223372036854775800, to: 9223372036854775807, step: 5}\n"
                               "launch: {kernel: k, grid: 1, block: 1, args: []}\n";
    static const char *const want[] = {
        "32 64 96 128", "1 2 4 8 16 32 64", "0.1 0.2 0.30000000000000004 0.4 0.5",    "4 2", "7", "1.0 2.5",
        "1 3 9 27 81",  "1 a b c",          "9223372036854775800 9223372036854775805"};
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__spec_parse(NULL, text, sizeof text - 1, "t.yaml", NULL, &spec, &error), error);
    for (size_t i = 0; spec && i < KILN__COUNT(want); i++) {
        kiln__text got = {0};
        for (size_t v = 0; v < spec->variants[0].params[i].count; v++) {
            kiln__text_puts(&got, v ? " " : "");
            kiln__value_print(&got, spec->variants[0].params[i].values[v]);
        }
        CHECK_TEXT(kiln__text_get(&got), want[i]);
        kiln__text_free(&got);
    }
    CHECK(!spec || spec->variants[0].params[1].initial == 4);
    kiln_spec_free(spec);
}

/* Tests that a range in a T1 file may be long. A list that is written out, or computed element by element, may not be
 * long. */
static void test_long_t1(void)
{
    static const struct {
        const char *values, *says;
        size_t count;
    } cases[] = {
        {"list(range(1, 500001))", NULL, 500000},
        {"range(2, 200002, 2)", NULL, 100000},
        {"[i for i in range(100000)]", "a list of more than 65536 values", 0},
        {"range(1, 500001) + [0]", "a list of more than 65536 values; only a single range may have more", 0},
        {"range(2000000)", "a range of 2000000 values; at most 1048576 are allowed", 0},
    };
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        char text[400];
        kiln_spec *spec = NULL;
        kiln_error *error = NULL;
        int length = snprintf(text, sizeof text,
                              "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"A\", "
                              "\"Type\": \"int\", \"Values\": \"%s\"}]}}",
                              cases[i].values);
        kiln_status status = kiln__spec_parse(NULL, text, (size_t)length, "t.json", NULL, &spec, &error);
        CHECK(status == (cases[i].says ? KILN_ERROR_SPEC : KILN_OK));
        CHECK(!spec || spec->variants[0].params[0].count == cases[i].count);
        if (cases[i].says) { /* the message has the place: the line and a column within the text */
            CHECK(strncmp(kiln_error_message(error), "t.json:1:", 9) == 0);
            CHECK(strstr(kiln_error_message(error), cases[i].says) != NULL);
        } else if (error) {
            fprintf(stderr, "%s\n", kiln_error_message(error));
        }
        kiln_error_free(error);
        kiln_spec_free(spec);
    }
}

/* Tests that every prefix of a valid spec gives a spec or an error. */
static void test_prefixes(void)
{
    static const char *const files[] = {"matmul.yaml", "scan.yaml",  "spmv.yaml",
                                        "loops.yaml",  "types.yaml", "arguments.yaml"};
    for (size_t f = 0; f < KILN__COUNT(files); f++) {
        kiln_error *error = NULL;
        char path[512], *text = NULL;
        size_t length = 0;
        snprintf(path, sizeof path, "%s/good/%s", KILN_TEST_DATA, files[f]);
        CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
        for (size_t n = 0; n < length; n += 7) {
            kiln_spec *spec = NULL;
            kiln_status status = kiln__spec_parse(NULL, text, n, files[f], &hosts, &spec, &error);
            CHECK((status == KILN_OK) == (spec != NULL) && (status == KILN_OK) == (error == NULL));
            kiln_spec_free(spec);
            kiln_error_free(error);
            error = NULL;
        }
        kiln__free(NULL, text);
    }
}

static void test_t1(void)
{
    static const char *const files[] = {"convolution_milo.t1.json", "hotspot_full.t1.json", "gemm_milo.t1.json",
                                        "hotspot_milo.t1.json", "dedispersion_milo.t1.json"};
    const char *folder = KILN_SOURCE_DIR "/../shared/data";
    if (!kiln__file_exists(folder)) {
        printf("SKIP data: %s is not there\n", folder);
        return;
    }
    for (size_t f = 0; f < KILN__COUNT(files); f++) {
        kiln_spec *spec = NULL;
        kiln_error *error = NULL;
        CHECK_OK(load(NULL, folder, files[f], &spec, &error), error);
        if (!spec)
            continue;
        CHECK(spec->from_t1);
        /* file 1 has no kernel, file 2 has an OpenCL kernel */
        CHECK((spec->variants[0].step_count > 0) == (f != 1 && f != 2));
        if (f == 0) {
            const kiln__variant *v = spec->variants;
            CHECK_TEXT(spec->source, "convolution_milo.cu");
            CHECK_TEXT(kiln__expr_text(v->steps[v->step_count - 1].as.launch.grid[0]),
                       "ceil_div(ProblemSize[0], 1 * (block_size_x) * (tile_size_x))");
            CHECK(v->step_count == 2 && v->steps[0].kind == KILN__STEP_SYMBOL && v->buffer_count == 3);
            CHECK(v->buffers[0].out && v->steps[1].as.launch.arg_count == 3);
            kiln__scope scope = {.settings = spec->size_sets[0].settings};
            int64_t extent = 0;
            CHECK(kiln__expr_eval_int(v->buffers[1].shape[0], &scope, "size", &extent, NULL) && extent == 4110 * 4110);
        }
        kiln_spec_free(spec);
    }
}

static void test_aliases(void)
{
    static const char text[] = "kiln: 1\nname: t\nsource: t.cu\nbuffers: {x: &b {type: f32, shape: [8]}, y: *b}\n"
                               "launch: {kernel: k, grid: &g [8], block: *g, args: [x, y]}\n";
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__spec_parse(NULL, text, sizeof text - 1, "t.yaml", NULL, &spec, &error), error);
    CHECK(spec && spec->variants[0].buffer_count == 2 && spec->variants[0].steps[0].as.launch.block[0] != NULL);
    kiln_spec_free(spec);
}

static void check_all_failures(const char *folder, const char *file)
{
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_spec *spec = NULL;
        kiln_error *error = NULL;
        kiln_status status = load(&mem, folder, file, &spec, &error);
        if (oom.failed)
            CHECK(status == KILN_ERROR_MEMORY || (status == KILN_ERROR_SPEC && !spec));
        CHECK((status == KILN_OK) == (spec != NULL));
        CHECK((status != KILN_OK) == (error != NULL));
        kiln_spec_free(spec);
        kiln_error_free(error);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
}

static void test_oom(void)
{
    check_all_failures(KILN_TEST_DATA "/good", "matmul.yaml");
    check_all_failures(KILN_TEST_DATA "/good", "scan.yaml");
    check_all_failures(KILN_TEST_DATA "/good", "spmv.yaml");
    check_all_failures(KILN_TEST_DATA "/good", "loops.yaml");
    check_all_failures(KILN_TEST_DATA "/broken", "unknown-key-far.yaml");
    check_all_failures(KILN_TEST_DATA "/broken", "t1-broken.json");
}

static const check_case cases[] = {{"matmul", test_matmul},
                                   {"scan", test_scan},
                                   {"spmv", test_spmv},
                                   {"arguments", test_arguments},
                                   {"loops", test_loops},
                                   {"ranges", test_ranges},
                                   {"long ranges of T1", test_long_t1},
                                   {"broken specs", test_broken},
                                   {"prefixes", test_prefixes},
                                   {"community files", test_t1},
                                   {"aliases", test_aliases},
                                   {"out of memory", test_oom}};
KILN_SUITE("spec", cases)
