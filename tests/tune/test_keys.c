/* Changes each key of the spec format in turn. The key's row in spec/keys.h names the part that changes: the code,
 * the run, the name, or nothing. Exactly this part of a sample's key must change. A row without a change in this
 * file fails. */
#include <sys/stat.h>

#include "check.h"
#include "keys.h"
#include "record_internal.h"
#include "sites_internal.h"
#include "store_internal.h"

static const char whole[] =
    "kiln: 1\n"
    "name: keys\n"
    "title: A title\n"
    "about: Some prose\n"
    "source: one.cu\n"
    "include: [spec-one]\n"
    "sizes: {default: {N: 1024, M: 7, F: 'web.mtx'}}\n"
    "params: {SHARED: [1]}\n"
    "let: {of_spec: 1}\n"
    "where: [SHARED < 2]\n"
    "define: {DEFINED: 1}\n"
    "bake: [N]\n"
    "options: ['-DOF_SPEC=1']\n"
    "inputs: {I: {host: make, rows: 3}}\n"
    "buffers:\n"
    "  o: {type: f32, shape: [N], out: true}\n"
    "  p: {type: f32, shape: [N], out: true}\n"
    "  q: {type: f32, shape: [N], out: true}\n"
    "  r: {type: f32, shape: [N], out: true}\n"
    "  value: {type: i32, shape: [M], fill: {value: 1}}\n"
    "  iota: {type: f32, shape: [M], fill: {iota: [0, 1]}}\n"
    "  uniform: {type: f32, shape: [M], fill: {uniform: [0, 1], seed: 1}}\n"
    "  normal: {type: f32, shape: [M], fill: {normal: [0, 1]}}\n"
    "  zipf: {type: i32, shape: [M], fill: {zipf: [10, 1]}}\n"
    "  from: {from: I.values}\n"
    "  file: {file: data.npy}\n"
    "before_each: [{fill: {buffer: q, value: 0}}]\n"
    "metrics: {of_all: 1}\n"
    "roofline: fp64\n"
    "features: {rows: 2 * N}\n"
    "verify:\n"
    "  o: {against: {host: expect}, rtol: 1e-3, atol: 1e-4, sampled: false}\n"
    "  p: {against: {variant: other}}\n"
    "  q: {against: {file: want.npy}, exact: false}\n"
    "  r: {against: {command: ref.py 1}}\n"
    "judge:\n"
    "  N: {from: 1, to: 4096, multiple: 2}\n"
    "  uniform: {from: 0, to: 2, align: 4, special: false}\n"
    "variants:\n"
    "  one:\n"
    "    about: What is changed\n"
    "    contender: true\n"
    "    include: [variant-one]\n"
    "    params:\n"
    "      BLOCK: {values: [64, 128], default: 64, options: ['-DOF_PARAM={BLOCK}']}\n"
    "      SUM: {from: 2, to: 8, step: 2}\n"
    "      PRODUCT: {from: 2, to: 8, times: 2}\n"
    "    let: {of_variant: 1}\n"
    "    where: [BLOCK < 129]\n"
    "    define: {DEFINED_HERE: 1}\n"
    "    bake: []\n"
    "    options: ['-DOF_VARIANT=1']\n"
    "    tolerance: {o: {rtol: 2e-3, atol: 2e-4}}\n"
    "    metrics: {of_one: 1}\n"
    "    roofline: fp32\n"
    "    steps:\n"
    "      - launch: {kernel: k, grid: [M], block: [BLOCK], cluster: [1], cluster_scheduling: spread, overlap: false, priority: 1, carveout: 50, shared: 16, cooperative: false, args: [o, M, "
    "{struct: {n: [i32, M]}}, {bytes: '0a'}, {pointers: [o, p]}, {tensor_map: o, type: f32, shape: [4, 64], strides: [64], box: [2, 8], steps: [1, 1], swizzle: 128, atom: 16, flip: false, interleave: 0, l2_promotion: 128, fill: zero}, {tensor_map: p, shape: [2, 9, 64], lower: [0], upper: [1], channels: 8, pixels: 16}, {texture: p, shape: [4, 4], channels: 2, pitch: 8, array: true, layered: false, read: element, filter: point, address: border, normalised: true}]}\n"
    "      - fill: {buffer: o, value: 1}\n"
    "      - copy: {from: o, to: p, count: 4, from_offset: 1, to_offset: 2}\n"
    "      - symbol: {name: table, from: value, count: 3, offset: 1}\n"
    "      - swap: [o, p]\n"
    "      - host: {call: work, args: {x: 1}}\n"
    "      - repeat: {times: 2, index: round, steps: [{swap: [p, q]}]}\n"
    "      - while: {read: {n: 'value[0]'}, cond: n > 0, at_most: 9, steps: [{swap: [o, q]}]}\n"
    "  other: {params: {BLOCK: [64]}, launch: {kernel: k, grid: [M], block: [BLOCK], args: [o, M]}}\n"
    "  third: {params: {BLOCK: [64]}, launch: {kernel: k, grid: [N], block: [BLOCK], args: [o, M]}}\n";

/* Replaces `from` in the text by `to`. Both texts have the params and sizes of the sample. */
#define CHANGE(key, from, to) [KILN__KEY_##key] = {from, to}
static const struct {
    const char *from, *to;
} changes[KILN__KEY_COUNT] = {
    CHANGE(spec_kiln, "kiln: 1", "kiln:  1"), /* the format has no other version */
    CHANGE(spec_name, "name: keys", "name: locks"),
    CHANGE(spec_title, "A title", "Another title"),
    CHANGE(spec_about, "Some prose", "Other prose"),
    CHANGE(spec_source, "one.cu", "two.cu"),
    CHANGE(spec_prefix, "include: [spec-one]", "prefix: KILN_\ninclude: [spec-one]"),
    CHANGE(spec_include, "spec-one", "spec-two"),
    CHANGE(spec_sizes, "{N: 1024, M: 7, F: 'web.mtx'}}",
           "{N: 2048, M: 8, F: 'web.mtx'}, more: {N: 1, M: 1, F: 'other.mtx'}}"),
    CHANGE(spec_target, "include: [spec-one]", "target: sm_90a\ninclude: [spec-one]"),
    CHANGE(spec_needs, "include: [spec-one]", "needs: device.cc >= 70\ninclude: [spec-one]"),
    CHANGE(variant_target, "contender: true", "target: [sm_100a, sm_90a]"),
    CHANGE(variant_needs, "contender: true", "needs: [device.cc >= 70, not device.tcgen05]"),
    CHANGE(spec_let, "of_spec: 1", "of_spec: 2"),
    CHANGE(spec_where, "SHARED < 2", "SHARED < 3"),
    CHANGE(spec_define, "{DEFINED: 1}", "{DEFINED: 2}"),
    CHANGE(spec_bake, "bake: [N]", "bake: [N, M]"),
    CHANGE(spec_options, "-DOF_SPEC=1", "-DOF_SPEC=2"),
    CHANGE(spec_features, "rows: 2 * N", "rows: N"),
    CHANGE(spec_metrics, "of_all: 1", "of_all: 2"),
    CHANGE(spec_roofline, "roofline: fp64", "roofline: fp16"),
    CHANGE(variant_about, "What is changed", "What was changed"),
    CHANGE(variant_contender, "contender: true", "contender: false"),
    CHANGE(variant_source, "contender: true", "source: two.cu"),
    CHANGE(variant_include, "variant-one", "variant-two"),
    CHANGE(variant_let, "of_variant: 1", "of_variant: 2"),
    CHANGE(variant_where, "BLOCK < 129", "BLOCK < 128"),
    CHANGE(variant_define, "DEFINED_HERE: 1", "DEFINED_HERE: 2"),
    CHANGE(variant_bake, "bake: []", "bake: [M]"),
    CHANGE(variant_options, "-DOF_VARIANT=1", "-DOF_VARIANT=2"),
    CHANGE(variant_metrics, "of_one: 1", "of_one: 2"),
    CHANGE(variant_roofline, "roofline: fp32", "roofline: tensor_tf32"),
    CHANGE(param_values, "[64, 128], default", "[64, 256], default"),
    CHANGE(param_from, "SUM: {from: 2", "SUM: {from: 4"),
    CHANGE(param_to, "to: 8, step", "to: 6, step"),
    CHANGE(param_step, "step: 2", "step: 1"),
    CHANGE(param_times, "to: 8, times: 2", "to: 8, times: 4"),
    CHANGE(param_default, "default: 64", "default: 128"),
    CHANGE(param_macro, "default: 64", "default: 64, macro: false"),
    CHANGE(param_options, "-DOF_PARAM={BLOCK}", "-DOF_PARAM={BLOCK + 1}"),
    CHANGE(input_host, "host: make", "host: make_more"),
    CHANGE(input_ARGUMENT, "rows: 3", "rows: 4"),
    CHANGE(buffer_type, "o: {type: f32", "o: {type: i32"),
    CHANGE(buffer_shape, "p: {type: f32, shape: [N]", "p: {type: f32, shape: [M]"),
    CHANGE(buffer_from, "I.values", "I.others"),
    CHANGE(buffer_file, "data.npy", "other.npy"),
    CHANGE(buffer_out, "fill: {value: 1}", "fill: {value: 1}, out: true"),
    CHANGE(fill_value, "{value: 1}", "{value: 2}"),
    CHANGE(fill_iota, "iota: [0, 1]", "iota: [0, 2]"),
    CHANGE(fill_uniform, "uniform: [0, 1]", "uniform: [0, 2]"),
    CHANGE(fill_normal, "normal: [0, 1]", "normal: [0, 2]"),
    CHANGE(fill_zipf, "zipf: [10, 1]", "zipf: [10, 2]"),
    CHANGE(fill_seed, "seed: 1", "seed: 2"),
    CHANGE(verification_rtol, "rtol: 1e-3", "rtol: 1e-2"),
    CHANGE(verification_atol, "atol: 1e-4", "atol: 1e-3"),
    CHANGE(verification_exact, "exact: false", "exact: true"),
    CHANGE(verification_sampled, "sampled: false", "sampled: true"),
    CHANGE(assumption_from, "N: {from: 1", "N: {from: 2"),
    CHANGE(assumption_to, "to: 4096", "to: 8192"),
    CHANGE(assumption_multiple, "multiple: 2", "multiple: 4"),
    CHANGE(assumption_align, "align: 4", "align: 8"),
    CHANGE(assumption_special, "special: false", "special: true"),
    CHANGE(tolerance_rtol, "rtol: 2e-3", "rtol: 2e-2"),
    CHANGE(tolerance_atol, "atol: 2e-4", "atol: 2e-3"),
    CHANGE(against_host, "host: expect", "host: expect_more"),
    CHANGE(against_variant, "variant: other", "variant: third"),
    CHANGE(against_params, "variant: other}", "variant: other, params: {BLOCK: SHARED}}"),
    CHANGE(against_ARGUMENT, "host: expect}", "host: expect, x: o}"),
    CHANGE(against_command, "command: ref.py 1", "command: ref.py 2"),
    CHANGE(against_file, "want.npy", "other.npy"),
    CHANGE(step_swap, "- swap: [o, p]", "- swap: [o, q]"),
    CHANGE(launch_kernel, "kernel: k, grid: [M], block: [BLOCK], cluster",
           "kernel: l, grid: [M], block: [BLOCK], cluster"),
    CHANGE(launch_grid, "grid: [M], block: [BLOCK], cluster", "grid: [N], block: [BLOCK], cluster"),
    CHANGE(launch_block, "block: [BLOCK], cluster", "block: [2 * BLOCK], cluster"),
    CHANGE(launch_cluster, "cluster: [1]", "cluster: [2]"),
    CHANGE(launch_shared, "shared: 16", "shared: 32"),
    CHANGE(launch_cooperative, "cooperative: false", "cooperative: true"),
    CHANGE(launch_args, "false, args: [o, M", "false, args: [o + 1, M"),
    CHANGE(argument_struct, "n: [i32, M]", "n: [u32, M]"),
    CHANGE(argument_bytes, "'0a'", "'0b'"),
    CHANGE(argument_pointers, "[o, p]}", "[o, p + 1]}"),
    CHANGE(launch_cluster_scheduling, "spread", "balance"),
    CHANGE(launch_overlap, "overlap: false", "overlap: true"),
    CHANGE(launch_priority, "priority: 1", "priority: 2"),
    CHANGE(launch_carveout, "carveout: 50", "carveout: 51"),
    CHANGE(tensor_map_tensor_map, "tensor_map: o", "tensor_map: o + 4"),
    CHANGE(tensor_map_type, "type: f32, shape: [4", "type: tf32, shape: [4"),
    CHANGE(tensor_map_shape, "[4, 64]", "[5, 64]"),
    CHANGE(tensor_map_strides, "strides: [64]", "strides: [68]"),
    CHANGE(tensor_map_box, "box: [2, 8]", "box: [1, 8]"),
    CHANGE(tensor_map_steps, "steps: [1, 1]", "steps: [2, 1]"),
    CHANGE(tensor_map_swizzle, "swizzle: 128", "swizzle: 64"),
    CHANGE(tensor_map_atom, "atom: 16", "atom: 32"),
    CHANGE(tensor_map_flip, "flip: false", "flip: true"),
    CHANGE(tensor_map_interleave, "interleave: 0", "interleave: 16"),
    CHANGE(tensor_map_l2_promotion, "l2_promotion: 128", "l2_promotion: 256"),
    CHANGE(tensor_map_fill, "fill: zero", "fill: nan"),
    CHANGE(tensor_map_lower, "lower: [0]", "lower: [-1]"),
    CHANGE(tensor_map_upper, "upper: [1]", "upper: [2]"),
    CHANGE(tensor_map_channels, "channels: 8", "channels: 4"),
    CHANGE(tensor_map_pixels, "pixels: 16", "pixels: 17"),
    CHANGE(texture_texture, "texture: p", "texture: p + 1"),
    CHANGE(texture_shape, "[4, 4], channels", "[4, 5], channels"),
    CHANGE(texture_channels, "channels: 2", "channels: 4"),
    CHANGE(texture_pitch, "pitch: 8", "pitch: 16"),
    CHANGE(texture_array, "array: true, layered", "array: false, layered"),
    CHANGE(texture_layered, "layered: false", "layered: true"),
    CHANGE(texture_read, "read: element", "read: float"),
    CHANGE(texture_filter, "filter: point", "filter: linear"),
    CHANGE(texture_address, "address: border", "address: mirror"),
    CHANGE(texture_normalised, "border, normalised: true", "border, normalised: false"),
    CHANGE(fill_step_buffer, "buffer: o", "buffer: p"),
    CHANGE(fill_step_value, "buffer: o, value: 1", "buffer: o, value: 2"),
    CHANGE(copy_from, "copy: {from: o", "copy: {from: q"),
    CHANGE(copy_to, "to: p", "to: q"),
    CHANGE(copy_count, "count: 4", "count: 5"),
    CHANGE(copy_from_offset, "from_offset: 1", "from_offset: 2"),
    CHANGE(copy_to_offset, "to_offset: 2", "to_offset: 3"),
    CHANGE(symbol_name, "name: table", "name: lookup"),
    CHANGE(symbol_from, "from: value", "from: zipf"),
    CHANGE(symbol_count, "count: 3", "count: 4"),
    CHANGE(symbol_offset, "offset: 1}", "offset: 2}"),
    CHANGE(host_step_call, "call: work", "call: work_more"),
    CHANGE(host_step_args, "{x: 1}", "{x: 2}"),
    CHANGE(repeat_times, "repeat: {times: 2", "repeat: {times: 3"),
    CHANGE(repeat_index, "index: round", "index: turn"),
    CHANGE(while_read, "value[0]", "value[1]"),
    CHANGE(while_cond, "n > 0", "n > 1"),
    CHANGE(while_at_most, "at_most: 9", "at_most: 8"),
};

typedef struct fixture {
    char folder[64];
    kiln_engine *engine;
    kiln_store *store;
} fixture;

static kiln_status no_work(void *user, kiln_call *call)
{
    (void)user;
    (void)call;
    return KILN_OK;
}

static void write_header(const fixture *f, const char *below, const char *name)
{
    char path[96], text[64];
    kiln_error *error = NULL;
    snprintf(path, sizeof path, "%s/%s", f->folder, below);
    CHECK(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/%s/%s", f->folder, below, name);
    snprintf(text, sizeof text, "// %s\n", below);
    CHECK_OK(kiln_file_write(path, text, strlen(text), &error), error);
}

static void write_source(const fixture *f, const char *name)
{
    static const char text[] = "#include \"of_spec.h\"\n#include <of_variant.h>\n"
                               "/* SHARED DEFINED N M DEFINED_HERE BLOCK SUM PRODUCT */\n"
                               "extern \"C\" __global__ void k(float *o, int n) {}\n"
                               "extern \"C\" __global__ void l(float *o, int n) {}\n";
    char path[96];
    kiln_error *error = NULL;
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    CHECK_OK(kiln_file_write(path, text, sizeof text - 1, &error), error);
}

static void setup(fixture *f)
{
    static const struct {
        const char *name;
        unsigned use;
    } hosts[] = {{"make", KILN_HOST_INPUT},       {"make_more", KILN_HOST_INPUT},
                 {"expect", KILN_HOST_REFERENCE}, {"expect_more", KILN_HOST_REFERENCE},
                 {"work", KILN_HOST_STEP},        {"work_more", KILN_HOST_STEP}};
    char path[96];
    kiln_error *error = NULL;
    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/kiln-keys-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    kiln_options options = {.size = sizeof options, .device = "sim", .cache_dir = f->folder, .flags = KILN_NO_WORKERS};
    CHECK_OK(kiln_engine_open(&options, &f->engine, &error), error);
    snprintf(path, sizeof path, "%s/samples.db", f->folder);
    CHECK_OK(kiln_store_open(f->engine, path, 0, &f->store, &error), error);
    CU_ASSERT_TRUE_FATAL(f->engine && f->store);
    for (size_t i = 0; i < KILN__COUNT(hosts); i++)
        CHECK_OK(kiln_register_host(f->engine, hosts[i].name, hosts[i].use, no_work, NULL, &error), error);
    write_source(f, "one.cu");
    write_source(f, "two.cu");
    write_header(f, "spec-one", "of_spec.h");
    write_header(f, "spec-two", "of_spec.h");
    write_header(f, "variant-one", "of_variant.h");
    write_header(f, "variant-two", "of_variant.h");
}

static void teardown(fixture *f)
{
    kiln_store_close(f->store);
    kiln_engine_close(f->engine);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

/* Computes the identity of one sample of the variant `one`, always with the same params and sizes. Returns false
 * after an error message. */
static bool identify(const fixture *f, const char *text, kiln__identity *identity)
{
    static const kiln_setting params[] = {{"BLOCK", {KILN_INT, {64}}},
                                          {"SUM", {KILN_INT, {4}}},
                                          {"PRODUCT", {KILN_INT, {2}}},
                                          {"SHARED", {KILN_INT, {1}}}};
    static const kiln_setting sizes[] = {{"N", {KILN_INT, {1024}}}, {"M", {KILN_INT, {7}}}};
    kiln_choice choice = {.variant = "one",
                          .params = params,
                          .param_count = KILN__COUNT(params),
                          .sizes = sizes,
                          .size_count = KILN__COUNT(sizes)};
    kiln_tune_options options = {
        .size = sizeof options, .sizes = sizes, .size_count = KILN__COUNT(sizes), .store = f->store};
    kiln_sample sample = {.variant = "one", .params = params, .param_count = KILN__COUNT(params)};
    kiln_spec *spec = NULL;
    kiln__config *config = NULL;
    kiln__code_job *code = NULL;
    kiln__recorder *recorder = NULL;
    kiln__arena arena = {0};
    kiln__sites sites;
    kiln_error *error = NULL;
    char name[96];
    snprintf(name, sizeof name, "%s/keys.yaml", f->folder);
    memset(identity, 0, sizeof *identity);
    kiln_status status = kiln_spec_parse(f->engine, text, strlen(text), name, &spec, &error);
    if (status == KILN_OK)
        status = kiln__config_make(f->engine, spec, &choice, &config, &error);
    if (status == KILN_OK)
        status = kiln__code_prepare(f->engine, config, NULL, f->engine->want_cubin, &code, &error);
    if (status == KILN_OK)
        status = kiln__sites_find(f->engine, &options, &arena, &sites, &error);
    if (status == KILN_OK)
        status = kiln__recorder_open(f->engine, spec, &options, &sites, &recorder, &error);
    if (status == KILN_OK)
        status = kiln__recorder_identify(recorder, &sample, config, code, identity, &error);
    CHECK_OK(status, error);
    kiln__recorder_free(recorder);
    kiln__arena_free(&arena);
    kiln__code_cancel(code);
    kiln__config_free(config);
    kiln_spec_free(spec);
    return status == KILN_OK;
}

/* Returns a copy of the text with the change, which the caller frees. Returns NULL if the text does not have the place
 * of the change exactly once. */
static char *changed(const char *from, const char *to)
{
    const char *at = strstr(whole, from);
    if (!at || strstr(at + 1, from))
        return NULL;
    char *text = malloc(sizeof whole + strlen(to));
    if (text)
        sprintf(text, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
    return text;
}

static void check_key(const fixture *f, const kiln__identity *before, size_t key)
{
    const kiln__key_row *row = &kiln__keys[key];
    kiln__identity after;
    char label[128], *text;
    snprintf(label, sizeof label, "%s.%s", row->info.mapping, row->info.name);
    if (row->effect == KILN__EFFECT_KEYS) {
        CHECK_TEXT(changes[key].from ? label : "", "");
        return;
    }
    if (!changes[key].from || !(text = changed(changes[key].from, changes[key].to))) {
        CHECK_TEXT(label, "a key with a change in test_keys.c");
        return;
    }
    if (!identify(f, text, &after))
        CHECK_TEXT(label, "a key whose change is a good spec");
    free(text);
    bool code = strcmp(before->source, after.source) != 0, run = strcmp(before->inputs, after.inputs) != 0;
    bool sample = strcmp(before->rest, after.rest) != 0, right = false;
    switch (row->effect) {
    /* the run may change too, because its key has the code of a reference */
    case KILN__EFFECT_CODE: right = code && sample; break;
    case KILN__EFFECT_RUN: right = !code && run && sample; break;
    case KILN__EFFECT_BOTH: right = code && run && sample; break;
    case KILN__EFFECT_NAME: right = !code && !run && sample; break;
    case KILN__EFFECT_CHOICE:
    case KILN__EFFECT_PROSE: right = !code && !run && !sample; break;
    case KILN__EFFECT_KEYS: break;
    }
    snprintf(label + strlen(label), sizeof label - strlen(label), ":%s%s%s", code ? " code" : "", run ? " run" : "",
             sample ? " sample" : "");
    if (!right)
        CHECK_TEXT(label, row->info.changes);
}

static void every_key(void)
{
    fixture f;
    kiln__identity before, again;
    setup(&f);
    if (identify(&f, whole, &before) && identify(&f, whole, &again)) {
        CHECK(memcmp(&before, &again, sizeof before) == 0);
        for (size_t key = 0; key < KILN__KEY_COUNT; key++)
            check_key(&f, &before, key);
    }
    teardown(&f);
}

/* Writes the content to web.mtx, which a size of the spec names. */
static void write_matrix(const fixture *f, const char *content)
{
    char path[96];
    snprintf(path, sizeof path, "%s/web.mtx", f->folder);
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_write(NULL, path, content, strlen(content), &error), error);
}

/* A size may be the name of a file. If the content changes, the sample is another one. */
static void a_file_that_a_size_names(void)
{
    fixture f;
    kiln__identity none, one, two, again;
    setup(&f);
    CHECK(identify(&f, whole, &none));
    write_matrix(&f, "0 1\n");
    CHECK(identify(&f, whole, &one));
    write_matrix(&f, "0 2\n");
    CHECK(identify(&f, whole, &two));
    write_matrix(&f, "0 1\n");
    CHECK(identify(&f, whole, &again));
    CHECK(strcmp(none.rest, one.rest) != 0 && strcmp(one.rest, two.rest) != 0 && strcmp(none.rest, two.rest) != 0);
    CHECK_TEXT(again.rest, one.rest);
    CHECK_TEXT(two.inputs, one.inputs);
    CHECK_TEXT(two.source, one.source);
    char path[96];
    snprintf(path, sizeof path, "%s/web.mtx", f.folder);
    remove(path);
    teardown(&f);
}

static void the_table(void)
{
    const kiln_spec_key_info *info;
    size_t count = 0;
    for (; (info = kiln_spec_key(count)) != NULL; count++) {
        CHECK(*info->about && *info->value && *info->schema == '{' && *info->mapping_rule == '{');
        CHECK(!strpbrk(info->about, "|\"\\") && !strpbrk(info->value, "|\"\\"));
    }
    CHECK(count == KILN__KEY_COUNT);
}

static const check_case cases[] = {
    {"the table", the_table},
    {"every key", every_key},
    {"a file that a size names", a_file_that_a_size_names},
};
KILN_SUITE("tune.keys", cases)
