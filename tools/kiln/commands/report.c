/* report.c - kiln report: makes a page of charts, or files for gnuplot, from stored samples or from a replay. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "report.h"

typedef struct report_args {
    const char *report_to, *charts, *gnuplot, *vega;
    cli_list objectives;
    bool png;
    /* which samples */
    const char *variant, *device, *store, *compare;
    cli_list sizes;
    /* a recorded search space that replaces the store as the source of samples */
    const char *replay, *strategy;
    uint64_t seed, max_configurations;
    double max_seconds;
} report_args;

/* ---- samples from the store ---- */

typedef struct collecting {
    report *report;
    const cli_list *sizes;
} collecting;

static report_time kind_of_time(const kiln_result *result)
{
    return result->measured           ? REPORT_MEASURED
           : result->estimated        ? REPORT_ESTIMATED
           : result->host_seconds > 0 ? REPORT_SIMULATED
                                      : REPORT_NONE;
}

/* Returns true if the record has every size that the user gave with --size. */
static bool has_sizes(const kiln_record *record, const cli_list *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        bool found = false;
        for (size_t k = 0; k < record->size_count && !found; k++) {
            const char *value = cli_value_text(record->sizes[k].value);
            found = strcmp(wanted->items[i], cli_printf("%s=%s", record->sizes[k].name, value)) == 0;
        }
        if (!found)
            return false;
    }
    return true;
}

/* Adds a stored record to the report, as a callback of kiln_store_list(). Skips records with other sizes. The texts of
 * the record are interned, because the record lives only during the call. */
static int add_record(void *user, const kiln_record *record)
{
    const collecting *to = user;
    report *r = to->report;
    if (to->sizes->count) {
        void *mark = cli_mark();
        bool wanted = has_sizes(record, to->sizes);
        cli_release(mark);
        if (!wanted)
            return 0;
    }
    report_problem *p = report_find_problem(r, record->device, record->sizes, record->size_count);
    bool aside = false;
    for (size_t i = 0; i < r->asides.count; i++)
        aside |= strcmp(r->asides.items[i], record->variant) == 0;
    report_sample sample = {
        .variant = report_intern(r, aside ? cli_printf("(%s)", record->variant) : record->variant),
        .aside = aside,
        .params = report_settings(r, record->params, record->param_count),
        .param_count = record->param_count,
        .reason = record->status == KILN_OK ? NULL : kiln_status_text(record->status),
        .message = report_intern(r, record->message),
        .at = (double)record->made / 1e6,
        .command = report_intern(r, record->command),
        .elsewhere = strncmp(record->run, "verify", 6) != 0 || strstr(record->run, "verify at ") != NULL,
    };
    if (record->status == KILN_OK) {
        sample.time = kind_of_time(record->result);
        sample.seconds = sample.time == REPORT_SIMULATED ? record->result->host_seconds : record->result->seconds;
        sample.flops = sample.time == REPORT_SIMULATED ? 0 : record->result->flops;
        sample.bytes = sample.time == REPORT_SIMULATED ? 0 : record->result->bytes;
        sample.share = record->result->roofline;
        sample.inputs = record->result->inputs_seconds;
        sample.copy = record->result->copy_seconds;
        sample.energy = record->result->energy_joules;
        sample.power = record->result->power_watts;
        sample.verified = record->result->verified != 0;
        sample.error = record->result->worst_error;
        sample.compile = (double)record->result->compile_ns / 1e9;
        sample.metrics = report_intern(r, record->result->metrics.text);
        sample.functions = report_intern(r, record->result->input_functions.text);
        p->stopped_early += record->result->stopped_early != 0;
        p->throttled += (record->result->throttle &
                         (KILN_THROTTLE_POWER | KILN_THROTTLE_THERMAL | KILN_THROTTLE_HARDWARE)) != 0;
        p->compile_seconds += (double)record->result->compile_ns / 1e9;
        report_observe(&p->clock, record->result->clock_hz);
        report_observe(&p->memory_clock, record->result->memory_clock_hz);
        report_observe(&p->temperature, record->result->temperature);
        report_observe(&p->power, record->result->power_watts);
    }
    p->device_id = report_intern(r, record->device_id);
    report_add_once(&p->ids, p->device_id);
    report_add_once(&p->ids, report_intern(r, record->uuid));
    report_add_once(&p->capabilities, report_intern(r, record->cc));
    report_add_once(&p->drivers, report_intern(r, record->driver));
    report_add_once(&p->nvrtcs, report_intern(r, record->nvrtc));
    report_add_once(&p->kilns, report_intern(r, record->kiln));
    report_add_once(&p->runs, report_intern(r, record->run));
    report_add_once(&p->hosts, report_intern(r, record->host));
    report_add_once(&p->commands, report_intern(r, record->command));
    report_add(p, &sample);
    return cli_interrupted();
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int find_spec(cli *c, report *r, const char **path)
{
    const char *word = c->words.items[0];
    int code = cli_stored_spec(c, word, &r->spec, path);
    r->word = word;
    if (!c->spec)
        return code;
    r->found = true;
    r->word = cli_spec_word(c, word);
    r->title = kiln_spec_title(c->spec);
    for (size_t v = 0; v < kiln_spec_variant_count(c->spec); v++)
        if (!kiln_spec_variant_contender(c->spec, v))
            cli_list_add(&r->asides, kiln_spec_variant_name(c->spec, v));
    return 0;
}

static int read_one(cli *c, report *r, const kiln_store_filter *filter, const char *name)
{
    const report_args *args = c->args;
    kiln_store *store = NULL;
    kiln_error *error = NULL;
    size_t before = r->problem_count;
    if (kiln_store_open(c->engine, name, KILN_STORE_READ, &store, &error) != KILN_OK)
        return cli_error(c, error);
    const char *path = cli_printf("%s", kiln_store_path(store));
    /* the page gets the file's name without the folder, because users send pages to other people */
    const char *named = cli_printf("%s", base_name(path));
    r->source = r->source && strcmp(r->source, named) == 0 ? cli_printf("%s (the second)", named) : named;
    collecting to = {r, &args->sizes};
    kiln_status status = kiln_store_list(store, filter, add_record, &to, &error);
    kiln_store_close(store);
    if (status != KILN_OK)
        return cli_error(c, error);
    if (r->problem_count == before && !cli_interrupted())
        return cli_fail(
            c, KILN_ERROR_NOT_FOUND,
            "%s has no such samples of '%s'; 'kiln tune %s' makes some, and 'kiln results%s' lists the samples "
            "that it has",
            path, r->spec, cli_shell_word(r->word), name ? cli_printf(" --store %s", cli_shell_word(name)) : "");
    return 0;
}

static int read_store(cli *c, report *r)
{
    const report_args *args = c->args;
    kiln_store_filter filter = {.size = sizeof filter, .variant = args->variant, .device = args->device};
    int code = cli_engine(c, NULL);
    code = code ? code : find_spec(c, r, &filter.path);
    if (code)
        return code;
    filter.spec = r->spec;
    r->several = args->compare != NULL;
    code = read_one(c, r, &filter, args->store);
    return code || !args->compare ? code : read_one(c, r, &filter, args->compare);
}

/* ---- peaks ---- */

/* Finds the peaks of the devices. The peaks come from a device of this machine, or from the profile of a GPU that
 * another machine has. */
static void find_peaks(cli *c, report *r)
{
    kiln_error *error = NULL;
    cli_devices devices;
    if (cli_list_devices(c, &devices, &error) != KILN_OK) {
        kiln_error_free(error); /* without peaks, the page has no rooflines */
        return;
    }
    const kiln_device_info *infos = devices.items;
    size_t count = devices.count;
    for (size_t i = 0; i < r->problem_count; i++) {
        report_problem *p = &r->problems[i];
        size_t length = strlen(p->device);
        bool timed = p->time == REPORT_MEASURED || p->time == REPORT_ESTIMATED;
        for (size_t k = 0; timed && k < count && !p->peaks_from; k++) {
            const char *name = cli_device_name(&infos[k]);
            bool same = strcmp(name, p->device) == 0;
            bool profile = infos[k].simulated && strncmp(name, p->device, length) == 0 &&
                           strcmp(name + length, " (simulated)") == 0;
            if (!(same || profile) || !(infos[k].peak_flops > 0) || !(infos[k].peak_bandwidth > 0))
                continue;
            p->peak_flops = infos[k].peak_flops;
            p->peak_bandwidth = infos[k].peak_bandwidth;
            p->peaks_from = infos[k].simulated ? cli_printf("the profile %s", infos[k].id) : "cores, bus and clocks";
        }
    }
}

/* ---- samples from a recorded space ---- */

typedef struct replaying {
    report *report;
    report_problem *problem;
} replaying;

static int add_step(void *user, const kiln_replay_step *step)
{
    const replaying *to = user;
    report *r = to->report;
    report_sample sample = {
        .variant = "",
        .params = report_settings(r, step->params, step->param_count),
        .param_count = step->param_count,
        .reason = step->failure ? report_intern(r, step->failure) : NULL,
        .message = "",
        .time = REPORT_RECORDED,
        .seconds = step->seconds,
        .at = step->clock,
    };
    report_add(to->problem, &sample);
    return cli_interrupted();
}

/* Adds the samples that a strategy makes when it searches the recorded space. Without --strategy it adds all samples of
 * the space, in the order of the file. Returns 0 or the exit code. */
static int read_replay(cli *c, report *r)
{
    const report_args *args = c->args;
    kiln_recording *recording = NULL;
    kiln_error *error = NULL;
    if (c->words.count)
        return cli_usage(c, "--replay reports on a recorded file: do not give a spec too");
    int code = cli_engine(c, NULL);
    if (code)
        return code;
    if (kiln_recording_load(c->engine, args->replay, &recording, &error) != KILN_OK)
        return cli_error(c, error);
    const kiln_recording_info *info = kiln_recording_describe(recording);
    bool search = args->strategy || args->max_configurations || args->max_seconds > 0;
    kiln_replay_options options = {.size = sizeof options,
                                   .strategy = search ? args->strategy : "exhaustive",
                                   .seed = args->seed,
                                   .max_configurations = args->max_configurations,
                                   .max_seconds = args->max_seconds};
    if (search && options.max_configurations == 0 && !(options.max_seconds > 0))
        options.max_seconds = info->budget;
    r->spec = *info->kernel ? report_intern(r, info->kernel) : report_intern(r, base_name(info->path));
    r->source = cli_printf("%s (%s), %s", base_name(info->path), info->format,
                           !search ? "all of it"
                                   : cli_printf("searched by %s, seed %llu",
                                                args->strategy ? args->strategy : kiln_strategy_name(0),
                                                (unsigned long long)args->seed));
    r->replayed = true;
    replaying to = {r, report_find_problem(r, *info->device ? info->device : "device not named", NULL, 0)};
    kiln_status status = kiln_replay(recording, &options, add_step, &to, &error);
    kiln_recording_free(recording);
    return status == KILN_OK ? 0 : cli_error(c, error);
}

/* ---- the command ---- */

/* Tells what the command has written: the path, its size, and the number of samples. Prints nothing if the page itself
 * went to standard output. */
static int tell_result(const cli *c, const report *r, const char *path, uint64_t size, size_t charts)
{
    const report_args *args = c->args;
    size_t failed = 0;
    for (size_t i = 0; i < r->problem_count; i++)
        failed += r->problems[i].count - r->problems[i].ran;
    if (strcmp(path, "-") == 0)
        return 0;
    if (c->output.json) {
        json_t *object = js_object();
        js_set(object, "file", js_text(path));
        js_set(object, "spec", js_text(r->spec));
        js_set(object, "problems", js_whole(r->problem_count));
        js_set(object, "samples", js_whole(r->count));
        js_set(object, "failed", js_whole(failed));
        js_set(object, "bytes", size ? js_whole(size) : json_null());
        if (args->charts)
            js_set(object, "charts", js_whole(charts));
        js_print(object);
        return 0;
    }
    out_puts(path);
    if (args->charts)
        out_printf(": %s chart%s of", cli_whole(charts), charts == 1 ? "" : "s");
    else
        out_puts(":");
    out_printf(" %s sample%s of ", cli_whole(r->count), r->count == 1 ? "" : "s");
    out_puts(r->spec);
    out_printf(", %s failed", cli_whole(failed));
    if (r->problem_count > 1)
        out_printf("; %s devices and sizes", cli_whole(r->problem_count));
    out_puts("\n");
    return 0;
}

static int make(cli *c, report *r)
{
    const report_args *args = c->args;
    report_library library = {0};
    uint64_t size = 0;
    int code = args->gnuplot ? 0
                             /* Vega is loaded before the work, because it may be missing */
                             : report_load_library(c, args->vega, &library);
    code = code ? code : args->replay ? read_replay(c, r) : read_store(c, r);
    if (code)
        return code;
    if (!cli_interrupted())
        report_finish(r);
    if (cli_interrupted())
        return cli_fail(c, KILN_ERROR_INTERRUPTED, "interrupted; no report was written");
    if (report_unknown_objective(r))
        return cli_fail(c, KILN_ERROR_NOT_FOUND,
                        "no sample has '%s'; samples have time, gflops, gbs, roofline, energy, power, error, compile, "
                        "where they are known, and the spec's metrics",
                        report_unknown_objective(r));
    if (!args->replay)
        find_peaks(c, r);
    size_t charts = 0;
    const char *path = args->gnuplot     ? args->gnuplot
                       : args->charts    ? args->charts
                       : args->report_to ? args->report_to
                                         : "report.html";
    code = args->gnuplot  ? report_gnuplot(c, r, path)
           : args->charts ? report_charts(c, r, &library, path, args->png, &charts)
                          : report_page(c, r, &library, path, &size);
    return code ? code : tell_result(c, r, path, size, charts);
}

static int report_run(cli *c)
{
    const report_args *args = c->args;
    if (c->words.count == 0 && !args->replay)
        return cli_usage(c, "needs a spec, or --replay with a recorded file");
    if (!args->replay && (args->strategy || args->seed || args->max_configurations || args->max_seconds > 0))
        return cli_usage(c, "--strategy, --seed and limits can only be used with --replay");
    if ((args->gnuplot != NULL) + (args->charts != NULL) + (args->report_to != NULL) > 1)
        return cli_usage(
            c, "--output, --charts and --gnuplot exclude each other: the last two name the folders for their files");
    if (args->png && !args->charts)
        return cli_usage(c, "--png needs --charts FOLDER");
    if (args->compare && args->replay)
        return cli_usage(c, "--compare needs stored samples, and --replay uses none");
    if (c->output.json && args->report_to && strcmp(args->report_to, "-") == 0)
        return cli_usage(c, "--json and the page cannot both be standard output");
    report r = {.objectives = args->objectives};
    cli_catch_signals("");
    int code = make(c, &r);
    report_free(&r);
    return code;
}

#define FIELD(field) offsetof(report_args, field)

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, FIELD(report_to), "FILE", CLI_FILES, NULL,
     "The file of the page; - is standard output. Default: report.html."},
    {"objective", 0, CLI_LIST, FIELD(objectives), "NAME", CLI_NOTHING, NULL,
     "A quantity of the Pareto front: time, gflops, gbs, roofline, energy, power, error, compile, or a metric of the "
     "spec. Write min: or max: before it to choose the direction. Give the option twice. Default: time, and the "
     "first existing one of energy, error and the metrics."},
    {"charts", 0, CLI_TEXT, FIELD(charts), "FOLDER", CLI_FOLDERS, NULL,
     "Write every chart as an SVG file instead of the page. Needs Node.js (nodejs)."},
    {"png", 0, CLI_FLAG, FIELD(png), NULL, CLI_NOTHING, NULL,
     "With --charts: write every chart as a PNG file too. Needs rsvg-convert (librsvg2-bin)."},
    {"gnuplot", 0, CLI_TEXT, FIELD(gnuplot), "FOLDER", CLI_FOLDERS, NULL,
     "Write two gnuplot scripts with their data in place of the page, for papers. They show the best time so far, "
     "and the best of each variant."},
    {"vega", 0, CLI_TEXT, FIELD(vega), "PATH", CLI_FILES, NULL,
     "The folder of Vega, or its vega.min.js. Default: $KILN_VEGA, or the folder of Debian's package."},
};
static const cli_group group = {"Report", options, CLI_COUNT(options)};

static const cli_option which_options[] = {
    {"variant", 'v', CLI_TEXT, FIELD(variant), "NAME", CLI_NOTHING, NULL, "Only samples of this variant."},
    {"device", 'd', CLI_TEXT, FIELD(device), "DEVICE", CLI_NOTHING, NULL,
     "Only samples of devices with this in their name, or with this id or uuid."},
    {"size", 's', CLI_LIST, FIELD(sizes), "NAME=VALUE", CLI_NOTHING, NULL, "Only samples with this size. Repeatable."},
    CLI_STORE_OPTION(FIELD(store)),
    {"compare", 0, CLI_TEXT, FIELD(compare), "FILE", CLI_FILES, NULL,
     "Show the samples of this store too, for example of an earlier sweep, and compare both."},
};
static const cli_group which_group = {"Which samples", which_options, CLI_COUNT(which_options)};

static const cli_option replay_options[] = {
    {"replay", 0, CLI_TEXT, FIELD(replay), "FILE", CLI_FILES, NULL,
     "Report on a recorded space in place of stored samples. The file is a cache file of Kernel Tuner, or "
     "results in its T4 format. With --strategy the page shows how this strategy searches the space."},
    {"strategy", 0, CLI_TEXT, FIELD(strategy), "NAME", CLI_STRATEGIES, NULL,
     "The strategy that searches. Without it the page shows the whole space in the order of the file."},
    {"seed", 0, CLI_SEED, FIELD(seed), "NUMBER", CLI_NOTHING, NULL, "The seed of the strategy's random numbers."},
    {"max-configurations", 'm', CLI_WHOLE, FIELD(max_configurations), "COUNT", CLI_NOTHING, NULL,
     "End the search after this many configurations."},
    {"max-seconds", 0, CLI_NUMBER, FIELD(max_seconds), "SECONDS", CLI_NOTHING, NULL,
     "End the search after this time on the simulated clock."},
};
static const cli_group replay_group = {"Replaying", replay_options, CLI_COUNT(replay_options)};

const cli_command cli_report_command = {
    .name = "report",
    .summary = "draw the results of sweeps, as one HTML page or for gnuplot",
    .arguments = "SPEC | --replay FILE",
    .about =
        "Makes a page from the samples that `kiln tune` has stored. It also works while the sweep runs. The page "
        "shows:\n\n"
        "  the best time so far over the duration of the sweep\n"
        "  the effect of each param on the time, and heat maps of pairs of params\n"
        "  all configurations as lines\n"
        "  the roofline\n"
        "  failures by reason\n"
        "  the environment\n"
        "  tables of the fastest configurations\n\n"
        "If the samples belong to several devices or sizes, the page has a section for each of them, and compares "
        "them. It shows the best of each, the configurations that they have in common, and whether a configuration "
        "that is fast on one is fast on the other.\n\n"
        "The page is one file that needs no network. The library Vega draws its charts, and the page contains this "
        "library. Vega comes from the package libjs-vega of Debian and Ubuntu, or from the folder in --vega or "
        "$KILN_VEGA. The page can save each chart as SVG or PNG.",
    .max_words = 1,
    .completes = CLI_SPECS,
    .args_size = sizeof(report_args),
    .groups = (const cli_use[]){{&group, 0}, {&which_group, 0}, {&replay_group, 0}, {0}},
    .examples = (const cli_example[]){{"kiln report matmul -o matmul.html", "All devices and sizes."},
                                      {"kiln report matmul -d h200 -s N=4096", "One device and one size."},
                                      {"kiln report --replay gemm.json.gz -o gemm.html", "A recorded space."},
                                      {"kiln report matmul --charts figures --png", "Each chart as SVG and PNG."},
                                      {"kiln report matmul --gnuplot figures", "Scripts of figures for a paper."},
                                      {0}},
    .run = report_run,
};
