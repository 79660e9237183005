/* run.c - kiln run: checks and times one configuration */
#include <string.h>

#include "commands.h"
#include "end_to_end.h"
#include "findings.h"

typedef struct run_args {
    cli_choice_args choice;
    cli_run_args run;
    cli_engine_args engine;
    const char *arch, *capture;
} run_args;

typedef struct run_view {
    const kiln_device_info *device;
    const char *variant, *size_set;
    kiln_setting *params, *sizes;
    size_t param_count, size_count;
    metric_list metrics;
    const char *captured; /* the folder of the capture; NULL means no capture */
    cli_list skipped;     /* the kernels that were skipped because their grid is empty */
} run_view;

static void show_json(cli *c, const run_view *view, const kiln_result *result, const findings *found)
{
    const run_args *args = c->args;
    json_t *object = js_object(), *outputs = js_object();
    js_set(object, "spec", js_text(kiln_spec_name(c->spec)));
    js_set(object, "variant", js_text(view->variant));
    js_set(object, "params", js_settings(view->params, view->param_count));
    js_set(object, "size_set", js_text(view->size_set));
    js_set(object, "sizes", js_settings(view->sizes, view->size_count));
    js_set(object, "device", js_device(view->device));
    js_set(object, "result", js_result(result));
    const whole_cost cost = whole_cost_of(view->variant, result);
    js_set(object, "end_to_end", whole_cost_json(&cost, 1, result->measured || result->estimated));
    js_set(object, "metrics", metrics_json(&view->metrics));
    for (size_t i = 0; i < args->run.outputs.count; i++) {
        const char *text = args->run.outputs.items[i];
        size_t name = strcspn(text, "=");
        js_set(outputs, cli_strndup(text, name), js_text(text + name + 1));
    }
    js_set(object, "outputs", outputs);
    if (view->captured)
        js_set(object, "captured", js_text(view->captured));
    if (args->run.check)
        js_set(object, "findings", findings_json(found));
    js_print(object);
}

static const char *time_text(const cli *c, const run_view *view, const kiln_result *r)
{
    const run_args *args = c->args;
    if (r->measured && r->repetitions > 1)
        return cli_printf("%s, the median of %u (95 %% within %s to %s)", cli_seconds(r->seconds), r->repetitions,
                          cli_seconds(r->seconds_low), cli_seconds(r->seconds_high));
    if (r->measured)
        return cli_seconds(r->seconds);
    if (r->estimated)
        return cli_printf("%s, estimated by the simulator's model, not measured", cli_seconds(r->seconds));
    if (view->device->simulated)
        return cli_printf("simulated: %s of the interpreter's wall time, not a measurement",
                          cli_seconds(r->host_seconds));
    return args->run.no_measure ? "not measured, as requested" : "not measured";
}

/* Returns the name of the unit whose peak the roofline uses. Returns "" for fp32. */
static const char *unit_text(const kiln_result *r)
{
#define CLI_X(name, value, key, text)                                                                                  \
    if (r->roofline_unit == value && value != KILN_UNIT_FP32)                                                          \
        return " (" text ")";
    KILN_UNIT_MAP(CLI_X)
#undef CLI_X
    return "";
}

static const char *throttle_text(unsigned throttle)
{
    char *text = cli_printf("%s", "");
#define CLI_X(name, value, why)                                                                                        \
    if (throttle & value)                                                                                              \
        text = cli_printf("%s%s %s", text, *text ? "," : "; throttled by", why);
    KILN_THROTTLE_MAP(CLI_X)
#undef CLI_X
    return text;
}

/* Adds rows about the work of the host: inputs, `host` steps, and the rounds of loops. */
static void host_rows(cli_table *table, const run_view *view, const kiln_result *r)
{
    const whole_cost cost = whole_cost_of(view->variant, r);
    if (r->inputs_seconds > 0) {
        table_cell(table, "inputs");
        table_cell(table, "made by the host in %s (%s); copied to the device in %s", cli_seconds(r->inputs_seconds),
                   whole_cost_functions(r->input_functions.text), cli_seconds(r->copy_seconds));
    }
    if (r->inputs_seconds > 0 && (r->measured || r->estimated)) {
        table_cell(table, "end to end");
        table_cell(table, "%s for one repetition, %s for 1,000%s", cli_seconds(whole_cost_sum(&cost, 1)),
                   cli_seconds(whole_cost_sum(&cost, 1000)), r->estimated ? ", with the estimated time" : "");
    }
    if (r->host_step_seconds > 0) {
        table_cell(table, "host steps");
        table_cell(table, "%s of each repetition", cli_seconds(r->host_step_seconds));
    }
    if (r->rounds) {
        table_cell(table, "loops");
        table_cell(table, "%s round%s of `while`", cli_whole(r->rounds), r->rounds == 1 ? "" : "s");
    }
}

/* Returns a text with the median error of the elements, or "" if no element has an error. */
static const char *others_text(const kiln_result *r)
{
    if (r->worst_error == 0)
        return "";
    return cli_printf(", the median is %s", r->median_error == 0 ? "0" : cli_significant(r->median_error, 2));
}

/* Prints the result of a run as a table. Rows without a value are not printed. */
static void show_text(cli *c, const run_view *view, const kiln_result *r)
{
    const run_args *args = c->args;
    out_printf("%s%s %s%s  %s\n", out_bold(), kiln_spec_name(c->spec), view->variant, out_plain(),
               cli_settings_text(view->params, view->param_count));
    cli_table table;
    table_start(&table, "ll");
    table.indent = 2;
    table_cell(&table, "sizes");
    table_cell(&table, "%s%s", cli_settings_text(view->sizes, view->size_count),
               cli_set_text(c->spec, view->size_set, view->sizes, view->size_count));
    table_cell(&table, "device");
    table_cell(&table, "%s, %s, sm_%d%d", cli_device_name(view->device), view->device->id, view->device->cc_major,
               view->device->cc_minor);
    table_cell(&table, "answer");
    if (r->verified)
        table_cell(&table, "verified%s; largest error %s of the tolerance%s",
                   r->verified_runs > 1 ? cli_printf(" in each of %s runs", cli_whole(r->verified_runs)) : "",
                   r->worst_error == 0 ? "0" : cli_significant(r->worst_error, 3), others_text(r));
    else
        table_cell(&table, "%s",
                   args->run.no_verify ? "not checked, as requested" : "not checked: nothing to compare with");
    table_cell(&table, "time");
    table_cell(&table, "%s", time_text(c, view, r));
    bool timed = (r->measured || r->estimated) && r->seconds > 0;
    if (timed && (r->flops > 0 || r->bytes > 0)) {
        char *rate = cli_printf("%s", "");
        if (r->flops > 0)
            rate = cli_printf("%s GFLOP/s", cli_significant(r->flops / r->seconds / 1e9, 4));
        if (r->bytes > 0)
            rate = cli_printf("%s%s%s GB/s", rate, *rate ? ", " : "", cli_significant(r->bytes / r->seconds / 1e9, 4));
        if (r->roofline > 0)
            rate = cli_printf("%s, %s %% of the roofline%s", rate, cli_significant(100 * r->roofline, 3), unit_text(r));
        table_cell(&table, "rate");
        table_cell(&table, "%s", rate);
    }
    host_rows(&table, view, r);
    const char *metrics = metrics_text(&view->metrics, false);
    if (*metrics) {
        table_cell(&table, "metrics");
        table_cell(&table, "%s", metrics);
    }
    if (r->clock_hz > 0) {
        table_cell(&table, "clocks");
        table_cell(&table, "SM %.0f MHz, memory %.0f MHz%s", r->clock_hz / 1e6, r->memory_clock_hz / 1e6,
                   throttle_text(r->throttle));
    }
    if (r->power_watts > 0) {
        table_cell(&table, "board");
        table_cell(&table, "%.0f W, %.0f degrees C%s", r->power_watts, r->temperature,
                   r->energy_joules > 0 ? cli_printf(", %s J per repetition", cli_significant(r->energy_joules, 3))
                                        : "");
    }
    table_cell(&table, "code");
    table_cell(&table, "cache: %u hit%s, %u miss%s%s", r->cache_hits, r->cache_hits == 1 ? "" : "s", r->cache_misses,
               r->cache_misses == 1 ? "" : "es",
               r->compile_ns ? cli_printf("; compiled in %s", cli_seconds((double)r->compile_ns / 1e9)) : "");
    for (size_t i = 0; i < args->run.outputs.count; i++) {
        const char *text = args->run.outputs.items[i];
        size_t name = strcspn(text, "=");
        table_cell(&table, "wrote");
        table_cell(&table, "%.*s to %s", (int)name, text, text + name + 1);
    }
    for (size_t i = 0; i < view->skipped.count; i++) {
        table_cell(&table, "launch");
        table_cell(&table, "skipped: the grid of %s is 0", view->skipped.items[i]);
    }
    if (view->captured) {
        table_cell(&table, "captured");
        table_cell(&table, "in %s", view->captured);
    }
    table_print(&table, false);
}

#define FIELD(field) offsetof(run_args, field)

static const cli_option check_options[] = {
    {"check", 0, CLI_FLAG, FIELD(run.check), NULL, CLI_NOTHING, NULL,
     "Run with the checks of the simulated device, as `kiln check` does. The exit code is 1 if they find something."},
};
static const cli_group check_group = {"Checks", check_options, CLI_COUNT(check_options)};

static const cli_option capture_options[] = {
    {"capture", 0, CLI_TEXT, FIELD(capture), "FOLDER", CLI_FOLDERS, NULL,
     "Capture the verified run in a new folder in FOLDER, as a spec with its data, for `kiln tune`."},
};
static const cli_group capture_group = {"Capture", capture_options, CLI_COUNT(capture_options)};

static const cli_option estimate_options[] = {CLI_ARCH_OPTION(FIELD(arch))};
static const cli_group estimate_group = {"Estimating", estimate_options, CLI_COUNT(estimate_options)};

/* Runs one variant. The caller has opened the spec and the engine. Returns 0 or the exit
 * code. */
static int run_variant(cli *c, const char *variant, kiln_run_options *options)
{
    const run_args *args = c->args;
    cli_choice chosen;
    run_view view = {0};
    kiln_plan *plan = NULL;
    const kiln_result *ran = NULL;
    kiln_result result = {0}; /* a copy of the plan's result, because it is shown after the plan was freed */
    kiln_error *error = NULL;
    findings found = {0};
    options->check = findings_add;
    options->check_user = &found;
    if (!cli_make_choice(c, &args->choice, variant, &chosen))
        return CLI_USAGE;
    kiln_status status = kiln_engine_device(c->engine, &view.device, &error);
    if (status == KILN_OK)
        status = kiln_plan_open(c->engine, c->spec, &chosen.choice, &plan, &error);
    if (status == KILN_OK && args->capture)
        status = kiln_plan_capture(plan, args->capture, &error);
    cli_catch_signals("");
    if (status == KILN_OK)
        status = kiln_plan_run(plan, options, &ran, &error);
    if (ran)
        result = *ran;
    if (status == KILN_OK)
        status = metrics_read(plan, &view.metrics, &error);
    if (status == KILN_OK && args->capture)
        view.captured = cli_printf("%s", kiln_plan_captured(plan));
    for (size_t i = 0; status == KILN_OK && i < kiln_plan_kernel_count(plan); i++) {
        const kiln_kernel_info *kernel = kiln_plan_kernel(plan, i);
        if (kernel->block[0] && (!kernel->grid[0] || !kernel->grid[1] || !kernel->grid[2]))
            cli_list_add(&view.skipped, cli_printf("%s", kernel->name));
    }
    kiln_plan_close(plan);
    if (status != KILN_OK && !c->output.json)
        findings_text(&found, true, false);
    if (status != KILN_OK)
        return cli_apart_error(c, error);

    int index = kiln_spec_variant_find(c->spec, chosen.variant);
    view.variant = chosen.variant;
    view.param_count = cli_whole_params(c->spec, index < 0 ? 0 : (size_t)index, &chosen.choice, &view.params);
    view.size_count = cli_whole_sizes(c->spec, &chosen.choice, view.device->simulated, &view.size_set, &view.sizes);
    if (c->output.json)
        show_json(c, &view, &result, &found);
    else
        show_text(c, &view, &result);
    if (!c->output.json)
        findings_text(&found, true, false);
    return findings_severe(&found) ? CLI_FOUND : 0;
}

/* Runs the configuration that the options choose, in a sandboxed process if the system has a sandbox. */
static int run_one(cli *c, void *user)
{
    const run_args *args = c->args;
    (void)user;
    kiln_run_options options;
    cli_make_run(&args->run, &options);
    if (!cli_make_files(c, &args->run.inputs, "--input", &options.inputs) ||
        !cli_make_files(c, &args->run.outputs, "--output", &options.outputs))
        return CLI_USAGE;
    options.input_count = args->run.inputs.count;
    options.output_count = args->run.outputs.count;
    if (c->apart) {
        options.write = cli_apart_write;
        options.write_user = c;
    }
    int code = c->spec ? 0 : cli_spec(c, &args->engine);
    return code ? code : run_variant(c, args->choice.variant, &options);
}

static int run_run(cli *c)
{
    run_args *args = c->args;
    const char *names = args->choice.variant;
    bool several = names && strchr(names, ',');
    if (args->run.flush_l2 && args->run.keep_l2)
        return cli_usage(c, "--flush-l2 and --keep-l2 exclude each other");
    if (several && (c->output.json || args->run.outputs.count || args->capture))
        return cli_usage(c, "--json, --output and --capture are for one variant, not '%s'", names);
    if (!cli_take_arch(c, args->arch, &args->engine))
        return CLI_USAGE;
    if (!several)
        return cli_apart(c, &args->engine, &args->run, run_one, NULL);
    int code = 0;
    for (const char *at = names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (at != names)
            out_puts("\n");
        args->choice.variant = cli_strndup(at, strcspn(at, ","));
        int now = cli_apart(c, &args->engine, &args->run, run_one, NULL);
        if (c->apart)
            return now;
        code = code ? code : now; /* if one variant fails, the other variants still run */
        if (now == CLI_USAGE || now == cli_exit_code(KILN_ERROR_INTERRUPTED))
            break;
    }
    return code;
}

const cli_command cli_run_command = {
    .name = "run",
    .summary = "run one configuration of a spec: compile, launch, check, time",
    .arguments = "SPEC",
    .about =
        "Compiles one configuration of a spec (or takes it from the cache), fills its buffers, runs it, checks the "
        "answer and times it. A wrong answer shows the worst element and ends with exit code 14.\n\n"
        "Without a GPU the printed time is the estimate of a model of an H200 (sim:h200). --arch or --device chooses "
        "another GPU. With --device sim the time is the wall time of the interpreter. The output marks both kinds of "
        "times.\n\n"
        "If you name several variants, separated by commas, they run one after another. The exit code then tells the "
        "first variant that failed.",
    .min_words = 1,
    .max_words = 1,
    .completes = CLI_SPECS,
    .args_size = sizeof(run_args),
    .groups = (const cli_use[]){{&cli_choice_group, FIELD(choice)},
                                {&cli_run_group, FIELD(run)},
                                {&estimate_group, 0},
                                {&check_group, 0},
                                {&capture_group, 0},
                                {&cli_sandbox_group, FIELD(engine)},
                                {&cli_engine_group, FIELD(engine)},
                                {0}},
    .examples =
        (const cli_example[]){
            {"kiln run matmul", "Runs the first contender with its defaults."},
            {"kiln run matmul -v tiled -p TILE_WIDTH=16 -s ragged", "One configuration."},
            {"kiln run matmul -v naive,tiled,coarsened -s ragged", "Three variants, each with its defaults."},
            {"kiln run matmul -s M=512 -s K=64 --device sim", "Your own sizes, without a GPU."},
            {"kiln run matmul --input A=a.npy --input B=b.npy --output P=p.npy -s M=100 -s K=50", "Your own data."},
            {"kiln run matmul -v naive --capture captures",
             "Writes captures/matmul-000, which `kiln tune captures/matmul-000/matmul.yaml` tunes."},
            {0}},
    .run = run_run,
};
