/* tune.c - kiln tune: the sweep and its progress. tune_show.c shows the results. */
#include <stdio.h>
#include <string.h>

#include "replay.h"
#include "tune.h"

/* Without a GPU, a device by name, and a limit: most of a minute is compiling, and more is for those who ask for it. */
#define FIRST_LIMIT 60.0 /* seconds */

static void show_progress(const kiln_progress *p)
{
    void *mark = cli_mark();
    const char *left = p->total == UINT64_MAX ? cli_printf("%s", cli_whole(p->done))
                                              : cli_printf("%s/%s", cli_whole(p->done), cli_whole(p->total));
    const char *middle = "", *right = "";
    if (p->best) {
        const kiln_result *result = p->best->result;
        left = cli_printf("%s  best %s%s ", left, cli_seconds(tune_seconds(result)),
                          result->measured    ? ""
                          : result->estimated ? " (estimated)"
                                              : " (simulated)");
        if (p->best->objectives)
            left = cli_printf("%s %s ", left, cli_significant(p->best->objectives[0], 4));
        middle = cli_printf("%s %s", p->best->variant, cli_settings_text(p->best->params, p->best->param_count));
    }
    if (p->failed)
        right = cli_printf("  %s failed", cli_whole(p->failed));
    if (p->remaining >= 0)
        right = cli_printf("%s  %s left", right, cli_duration(p->remaining));
    progress_show(left, middle, right);
    cli_release(mark);
}

/* Says once how long a sweep without a limit takes, as soon as a few samples tell, if it takes long. */
static void announce(tune_view *view, const kiln_progress *p)
{
    const double least = 60, soon = 2; /* seconds */
    if (view->announced || view->limit > 0 || view->most || p->remaining < 0 || p->elapsed < soon)
        return;
    view->announced = true;
    if (p->remaining >= least)
        cli_complain(cli_printf("all %s configurations take about %s; --max-seconds 60 searches for the best in less",
                                cli_whole(p->total), cli_duration(p->remaining + p->elapsed)));
}

static int on_progress(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    tune_view *view = user;
    (void)sample;
    if (!view->most)
        view->space = progress->total; /* with a number of configurations the total is that number */
    if (cli_interrupted()) {
        progress_clear();
        return 1;
    }
    announce(view, progress);
    if (view->progress && (progress->done == 0 || progress->elapsed - view->shown >= 0.1)) {
        view->shown = progress->elapsed;
        show_progress(progress);
    }
    return 0;
}

/* The params that a sweep fixes, and its variants. */
static int make_options(cli *c, tune_view *view, kiln_run_options *run, kiln_tune_options *options)
{
    const cli_args *args = &c->args;
    if (args->variants.count == 1 && !args->variant)
        view->only = args->variants.items[0];
    if (!cli_make_choice(c, view->only, &view->chosen))
        return CLI_USAGE;
    *options = (kiln_tune_options){
        .size = sizeof *options,
        .variants = args->variants.count ? args->variants.items : NULL,
        .variant_count = args->variants.count,
        .params = view->chosen.choice.params,
        .param_count = view->chosen.choice.param_count,
        .size_set = view->chosen.choice.size_set,
        .sizes = view->chosen.choice.sizes,
        .size_count = view->chosen.choice.size_count,
        .max_configurations = args->max_configurations,
        .max_seconds = args->max_seconds,
        .callback = on_progress,
        .user = view,
        .flags = (args->fresh ? KILN_TUNE_FRESH : 0) | (args->no_early_stop ? KILN_TUNE_NO_STOP_EARLY : 0) |
                 (args->no_finals ? KILN_TUNE_NO_FINALS : 0) | (args->lead_only ? KILN_TUNE_LEAD_ONLY : 0) |
                 (args->repeatable ? KILN_TUNE_REPEATABLE : 0),
        .finalists = args->finalists < UINT32_MAX ? (unsigned)args->finalists : UINT32_MAX,
        .strategy = args->strategy,
        .seed = args->seed,
        .estimates = args->estimates,
        .max_roofline = args->max_roofline,
        .stagnation = args->stagnation,
        .improvement = args->improvement,
        .objectives = args->objectives.items,
        .objective_count = args->objectives.count,
        .command = c->line,
    };
    options->isolation = args->no_isolate ? KILN_ISOLATE_NEVER : args->isolate ? KILN_ISOLATE_ALWAYS : KILN_ISOLATE_GPU;
    options->sample_timeout = args->sample_timeout;
    cli_make_run(c, run);
    if (!cli_make_files(c, &args->inputs, "--input", &run->inputs))
        return CLI_USAGE;
    run->input_count = args->inputs.count;
    options->run = run;
    return 0;
}

/* ---- several devices ---- */

/* `--device A,B`: the engine's is the first. A comma separates devices only if a device's name follows, as the path of
 * a profile may contain commas. */
static void split_devices(cli *c, cli_list *devices)
{
    if (!c->args.device)
        return;
    char *text = cli_printf("%s", c->args.device), *from = text;
    for (char *comma = text; (comma = strchr(comma, ',')); comma++)
        if (strncmp(comma + 1, "cuda", 4) == 0 || strncmp(comma + 1, "sim", 3) == 0) {
            *comma = '\0';
            cli_list_add(devices, from);
            from = comma + 1;
        }
    if (devices->count == 0)
        return;
    cli_list_add(devices, from);
    c->args.device = devices->items[0];
}

/* `--device all`: every GPU of this machine. */
static int list_gpus(cli *c, cli_list *devices)
{
    kiln_error *error = NULL;
    cli_devices list;
    if (cli_list_devices(c, &list, &error) != KILN_OK)
        return cli_error(c, error);
    for (size_t i = 0; i < list.count; i++)
        if (!list.items[i].simulated)
            cli_list_add(devices, list.items[i].id);
    return 0;
}

static int choose_devices(cli *c, cli_list *devices)
{
    bool all = c->args.device && strcmp(c->args.device, "all") == 0;
    if (all)
        c->args.device = "cuda:0";
    else
        split_devices(c, devices);
    if (c->args.no_isolate && (all || devices->count > 0))
        return cli_usage(
            c, "with several devices, each is measured by a process of its own: --no-isolate is not possible");
    int code = cli_spec(c);
    return code || !all ? code : list_gpus(c, devices);
}

/* Variants that do not take the small sizes could not be verified there. If that is all of them, all are tried. */
static void leave_unverifiable(cli *c, tune_view *view, kiln_tune_options *options)
{
    cli_list taken = {0};
    for (size_t i = 0; i < kiln_spec_variant_count(c->spec); i++) {
        const char *name = kiln_spec_variant_name(c->spec, i);
        const kiln_choice choice = {.variant = name, .size_set = view->small->name};
        uint64_t raw, valid = 0;
        kiln_error *ignored = NULL; /* the sweep will say it */
        bool counted = kiln_space_size(c->engine, c->spec, &choice, &raw, &valid, &ignored) == KILN_OK;
        kiln_error_free(ignored);
        cli_list_add(counted && valid == 0 ? &view->unverifiable : &taken, name);
    }
    if (taken.count == 0)
        view->unverifiable.count = 0;
    if (view->unverifiable.count > 0) {
        options->variants = taken.items;
        options->variant_count = taken.count;
    }
}

/* Without a GPU, a device, sizes or a way of running: answers are verified at the small sizes of a simulated device, and
 * times estimated at a GPU's default sizes. */
static void choose_sizes(cli *c, tune_view *view, const kiln_run_options *run, kiln_tune_options *options)
{
    const cli_args *args = &c->args;
    const char *large = kiln_spec_size_set(c->spec, 0)->name;
    view->small = NULL;
    if (!view->device->simulated || view->device_named || args->sizes.count || args->isolate || run->flags ||
        run->input_count || c->ranks)
        return;
    for (size_t i = 1; i < kiln_spec_size_set_count(c->spec); i++)
        if (strcmp(kiln_spec_size_set(c->spec, i)->name, "tiny") == 0)
            view->small = kiln_spec_size_set(c->spec, i);
    options->verify_size_set = view->small ? view->small->name : NULL;
    options->size_set = view->chosen.choice.size_set = view->small ? large : options->size_set;
    if (view->small && args->variants.count == 0)
        leave_unverifiable(c, view, options);
}

/* Sweeps at the default sizes if no sizes are given. A spec that cannot be estimated there is swept at the small
 * sizes, and the results tell the reason. */
static kiln_status tune_sizes(cli *c, tune_view *view, kiln_tune_options *options, kiln_tuning **tuning,
                              kiln_error **error)
{
    kiln_status status = kiln_tune(c->engine, c->spec, options, tuning, error);
    if (status != KILN_ERROR_UNSUPPORTED || !view->small || (*tuning && kiln_tuning_count(*tuning)))
        return status;
    view->instead = cli_printf("%s", kiln_error_message(*error));
    kiln_tuning_free(*tuning);
    kiln_error_free(*error);
    *tuning = NULL;
    *error = NULL;
    view->small = NULL;
    options->verify_size_set = NULL;
    options->size_set = view->chosen.choice.size_set = NULL;
    if (view->unverifiable.count > 0) {
        options->variants = NULL;
        options->variant_count = 0;
        view->unverifiable.count = 0;
    }
    return kiln_tune(c->engine, c->spec, options, tuning, error);
}

static bool has_limit(const cli_args *args)
{
    return args->max_configurations || args->max_seconds > 0 || args->max_roofline > 0 || args->stagnation;
}

static int tune_run(cli *c)
{
    cli_list devices = {0};
    tune_view view = {
        .progress = progress_wanted(c), .space = UINT64_MAX, .device_named = c->args.device || cli_usual_device()};
    kiln_run_options run;
    kiln_tune_options options;
    kiln_tuning *tuning = NULL;
    kiln_error *error = NULL;
    kiln_store *store = NULL;
    if (c->args.flush_l2 && c->args.keep_l2)
        return cli_usage(c, "--flush-l2 and --keep-l2 exclude each other");
    if (c->args.all && has_limit(&c->args))
        return cli_usage(c, "--all and a limit exclude each other");
    if (c->args.estimates && (!has_limit(&c->args) || c->args.replay))
        return cli_usage(c, "--estimates are for a search of a spec: give a limit, such as --max-seconds");
    if (c->args.isolate && c->args.no_isolate)
        return cli_usage(c, "--isolate and --no-isolate exclude each other");
    if (c->args.no_isolate && c->args.sandbox && strcmp(c->args.sandbox, "required") == 0)
        return cli_usage(c, "--no-isolate measures in this process, which --sandbox=required excludes");
    if (!c->args.no_isolate)
        cli_sandbox(c);
    if (c->args.replay && (c->args.objectives.count || c->args.max_roofline > 0 || c->args.stagnation))
        return cli_usage(
            c, "--objective, --roofline and --stagnation cannot be used with --replay: a recorded file has only times");
    if (c->args.replay)
        return replay_run(c);
    if (!cli_take_arch(c))
        return CLI_USAGE;
    if (c->args.words.count == 0)
        return cli_usage(c, "needs a spec, or --replay with a recorded file");
    int code;
    if (tune_join(c, &code))
        return code;
    code = choose_devices(c, &devices);
    if (!code)
        code = make_options(c, &view, &run, &options);
    if (code)
        return code;
    options.devices = devices.items;
    options.device_count = devices.count;
    if (kiln_engine_device(c->engine, &view.device, &error) != KILN_OK)
        return cli_error(c, error);
    view.first = view.device->simulated && !view.device_named && !c->args.all && !has_limit(&c->args);
    if (view.first)
        options.max_seconds = FIRST_LIMIT;
    view.limit = options.max_seconds;
    view.most = options.max_configurations;
    if (!c->args.no_store && kiln_store_open(c->engine, c->args.store, 0, &store, &error) != KILN_OK) {
        code = cli_exit_code(kiln_error_status(error));
        cli_fail(c, kiln_error_status(error), "%s; use --store FILE for another file, or --no-store",
                 kiln_error_message(error));
        kiln_error_free(error);
        return code;
    }
    options.store = store;
    cli_catch_signals("this configuration");
    choose_sizes(c, &view, &run, &options);
    kiln_status status = tune_sizes(c, &view, &options, &tuning, &error);
    progress_clear();
    kiln_store_close(store);
    if (!tuning)
        return cli_error(c, error);

    view.size_count = cli_whole_sizes(c->spec, &view.chosen.choice, view.device->simulated, &view.size_set,
                                      &view.sizes);
    code = cli_exit_code(status);
    view.ended = status == KILN_OK ? NULL : kiln_error_message(error);
    view.status = status;
    int csv = c->args.csv ? tune_csv(c, tuning, c->args.csv) : 0;
    if (csv)
        code = csv;
    else if (c->args.json)
        tune_json(c, &view, tuning);
    else
        tune_text(c, &view, tuning);
    if (status != KILN_OK && !c->args.json)
        cli_complain(status == KILN_ERROR_INTERRUPTED ? "interrupted; what was done until then is shown" : view.ended);
    const kiln_tuning_totals *totals = kiln_tuning_sum(tuning);
    if (code == 0 && totals->configurations > 0 && totals->failed == totals->configurations)
        code = cli_exit_code(kiln_tuning_sample(tuning, 0)->status); /* all failed, for several reasons */
    for (size_t i = 0; c->args.strict && code == 0 && i < kiln_tuning_count(tuning); i++)
        code = cli_exit_code(kiln_tuning_sample(tuning, i)->status); /* the first that failed */
    kiln_tuning_free(tuning);
    kiln_error_free(error);
    return code;
}

static int tune_all(cli *c)
{
    int code = tune_run(c);
    tune_collect(c);
    return code;
}

static const cli_option options[] = {
    {"variants", 'v', CLI_COMMAS, CLI_OPTION_FIELD(variants), "NAMES", CLI_VARIANTS, NULL,
     "The variants to sweep, separated by commas. Repeatable. Default: all."},
    {"variant", 0, CLI_COMMAS, CLI_OPTION_FIELD(variants), "NAMES", CLI_VARIANTS, NULL, "The same as --variants."},
    {"param", 'p', CLI_LIST, CLI_OPTION_FIELD(params), "NAME=VALUE", CLI_PARAMS, NULL,
     "Fix a param where a variant has it. Repeatable."},
    CLI_SIZE_OPTION,
    CLI_ARCH_OPTION,
    {"max-configurations", 'm', CLI_WHOLE, CLI_OPTION_FIELD(max_configurations), "COUNT", CLI_NOTHING, NULL,
     "Stop after this many configurations. Those reused from earlier sweeps do not count, so that the same command continues "
     "where the last one stopped."},
    {"max-seconds", 't', CLI_NUMBER, CLI_OPTION_FIELD(max_seconds), "SECONDS", CLI_NOTHING, NULL,
     "Stop after so long. Default without a GPU, if neither a device nor a limit is given: 60."},
    {"all", 0, CLI_FLAG, CLI_OPTION_FIELD(all), NULL, CLI_NOTHING, NULL,
     "Try all configurations, however long that takes. Default on a GPU and on a device that --device names."},
    {"roofline", 0, CLI_NUMBER, CLI_OPTION_FIELD(max_roofline), "SHARE", CLI_NOTHING, NULL,
     "Stop when a configuration reaches this share of the roofline, for example 0.9."},
    {"stagnation", 0, CLI_WHOLE, CLI_OPTION_FIELD(stagnation), "COUNT", CLI_NOTHING, NULL,
     "Stop when this many configurations in a row were not better."},
    {"improvement", 0, CLI_NUMBER, CLI_OPTION_FIELD(improvement), "SHARE", CLI_NOTHING, NULL,
     "For --stagnation: better means by more than this share of the best. Default: 0.01."},
    {"objective", 0, CLI_LIST, CLI_OPTION_FIELD(objectives), "EXPR", CLI_NOTHING, NULL,
     "What to optimise: time, gflops, gbs, roofline, energy, power, compile, error (the answer's largest, in units of the "
     "tolerance), median_error, p999_error (of 99.9 % of its elements), a metric of the spec, or an expression of these, params and sizes, with min: or max: before it. Repeatable: then the Pareto front is shown, "
     "ranked by the first. Default: time."},
    {"strategy", 0, CLI_TEXT, CLI_OPTION_FIELD(strategy), "NAME", CLI_NOTHING, NULL,
     "How to search; `kiln compare-strategies` lists all. Default: surrogate if there is a limit, else exhaustive, "
     "which tries everything in order."},
    {"estimates", 0, CLI_TEXT, CLI_OPTION_FIELD(estimates), "DEVICE", CLI_NOTHING, NULL,
     "On a GPU: begin the search with what a simulated device estimates of random configurations, for a tenth of "
     "--max-seconds at most. 'sim' is the profile nearest to the GPU; sim:h200 and others as in --device."},
    {"seed", 0, CLI_WHOLE, CLI_OPTION_FIELD(seed), "NUMBER", CLI_NOTHING, NULL,
     "The seed of the search's random numbers. Default: 0. How far the search runs ahead depends on when compiles end: "
     "--repeatable gives the same search for the same seed and the same times."},
    {"repeatable", 0, CLI_FLAG, CLI_OPTION_FIELD(repeatable), NULL, CLI_NOTHING, NULL,
     "Search in an order that does not depend on how long compiles take, on the machine, or on earlier sweeps, whose samples "
     "are reused at their turn. It compiles fewer configurations ahead, and measures on one device."},
    {"top", 0, CLI_WHOLE, CLI_OPTION_FIELD(top), "COUNT", CLI_NOTHING, NULL,
     "How many rows the table has. Default: 10."},
    {"csv", 0, CLI_TEXT, CLI_OPTION_FIELD(csv), "FILE", CLI_FILES, NULL,
     "Write every sample to a file as comma-separated values."},
    {"fresh", 0, CLI_FLAG, CLI_OPTION_FIELD(fresh), NULL, CLI_NOTHING, NULL,
     "Measure every sample again. Default: a sample whose code, sizes, inputs, device, driver and run options are those of "
     "a stored one is reused."},
    {"strict", 0, CLI_FLAG, CLI_OPTION_FIELD(strict), NULL, CLI_NOTHING, NULL,
     "End with the exit code of the first configuration that failed, where any did. Default: where all did."},
    {"no-store", 0, CLI_FLAG, CLI_OPTION_FIELD(no_store), NULL, CLI_NOTHING, NULL,
     "Do not store samples, and reuse none."},
    CLI_STORE_OPTION,
};
static const cli_option replay_options[] = {
    {"replay", 0, CLI_TEXT, CLI_OPTION_FIELD(replay), "FILE", CLI_FILES, NULL,
     "Search a recorded space instead of a spec: Kernel Tuner's cache file or T4 results, gzipped or not. No device is "
     "needed; on a simulated clock, trying a configuration takes its recorded time. Default limit: the time that `kiln "
     "compare-strategies` uses."},
    {"prior", 0, CLI_TEXT, CLI_OPTION_FIELD(prior), "FILE", CLI_FILES, NULL,
     "With --replay: another recorded file with the same params. Its times are what the search expects at first, as "
     "estimates would be."},
};
static const cli_group replay_group = {"Replaying", replay_options, CLI_COUNT(replay_options)};
static const cli_group group = {"What to sweep", options, CLI_COUNT(options)};

static const cli_option ranks_options[] = {
    {"mpi", 0, CLI_FLAG, CLI_OPTION_FIELD(mpi), NULL, CLI_NOTHING, NULL,
     "Join the other processes of this job also where no launcher is seen. Default: where mpirun or srun started several."},
    {"no-mpi", 0, CLI_FLAG, CLI_OPTION_FIELD(no_mpi), NULL, CLI_NOTHING, NULL,
     "Sweep in this process alone, whatever started it."},
    {"lease", 0, CLI_NUMBER, CLI_OPTION_FIELD(lease), "SECONDS", CLI_NOTHING, NULL,
     "Give up a process of which nothing was heard for so long; others do its work. Default: 30."},
    {"lead-only", 0, CLI_FLAG, CLI_OPTION_FIELD(lead_only), NULL, CLI_NOTHING, NULL,
     "Rank 0 searches, compiles and keeps the samples, and leaves all measuring to the other ranks: start one more of them."},
};
static const cli_group ranks_group = {"Many machines", ranks_options, CLI_COUNT(ranks_options)};

static const cli_option run_options[] = {
    CLI_INPUT_OPTION,
    CLI_RUN_OPTIONS,
    {"isolate", 0, CLI_FLAG, CLI_OPTION_FIELD(isolate), NULL, CLI_NOTHING, NULL,
     "Measure in a separate process, which is replaced after a kernel that faults or never ends. Default on a GPU."},
    {"no-isolate", 0, CLI_FLAG, CLI_OPTION_FIELD(no_isolate), NULL, CLI_NOTHING, NULL,
     "Measure inside this process. On a GPU a fault then ends the sweep."},
    {"no-early-stop", 0, CLI_FLAG, CLI_OPTION_FIELD(no_early_stop), NULL, CLI_NOTHING, NULL,
     "Do not stop early the measurement of configurations that are clearly slower than the best so far."},
    {"finalists", 0, CLI_WHOLE, CLI_OPTION_FIELD(finalists), "COUNT", CLI_NOTHING, NULL,
     "How many of the fastest are measured again, alternating, before one is called the best. Default: 5 on a GPU, none "
     "elsewhere. At most 16."},
    {"no-finals", 0, CLI_FLAG, CLI_OPTION_FIELD(no_finals), NULL, CLI_NOTHING, NULL,
     "Do not measure the fastest again."},
    CLI_TIMEOUT_OPTION(
        ", plus twice the budget; less once the time of working ones is known, if they are measured in a "
        "separate process."),
};
static const cli_group run_group = {"Running", run_options, CLI_COUNT(run_options)};

const cli_command cli_tune_command = {
    .name = "tune",
    .summary = "sweep all configurations of a spec and rank them",
    .arguments = "SPEC | --replay FILE",
    .about =
        "Compiles, runs, checks and times every configuration of a spec that its constraints allow, and ranks "
        "them. Compiling runs in parallel ahead of measuring, and compiled kernels come from the disk "
        "cache the next time. A configuration that fails does not stop the sweep: it is counted with its reason, and "
        "the sweep continues. Therefore a GPU's configurations are measured in a separate process, which is "
        "replaced after a fault and ended when a kernel takes too long; --isolate does the same on the simulated "
        "device. Several GPUs of one model share a sweep with --device cuda:0,cuda:1 or --device all. Started by mpirun or srun as "
        "several processes, each of them compiles, and measures on a GPU of its own, for one sweep, which rank 0 leads and "
        "stores.\n\n"
        "Without a GPU configurations are checked on the simulated device but not measured. They are ranked by the times "
        "that a model of an H200 estimates (sim:h200; --arch or --device chooses another GPU), and all that is printed says "
        "so. Without a device and sizes each configuration is verified at the sizes 'tiny', and its time estimated at a GPU's "
        "default sizes, where only a few blocks of each kernel run; not for specs whose work depends on data: these are "
        "estimated at 'tiny' too, which is said. With --no-verify an estimate runs only these few blocks at any size. "
        "--device sim ranks by the interpreter's wall time, which says nothing about a GPU. Without a GPU, a device and a "
        "limit the sweep ends after 60 seconds, and says how many configurations it tried; --all tries all.\n\n"
        "Every sample is stored at once ('kiln results' shows them), and is reused while everything that "
        "determines it is unchanged; so a sweep that was stopped, or killed, continues where it was. --fresh measures "
        "all of them again.\n\n"
        "A sweep with a limit does not try the space in order but searches it, by a strategy that learns from "
        "the measurements. It begins with what the store has of the spec: its samples, and as a guess those of another "
        "device, estimates too, or of other sizes. A sweep that a limit ended exits with 0.\n\n"
        "Ctrl-C ends the sweep and shows the results so far; the exit code is then 130. If no configuration "
        "worked, the exit code is that of the first failure.",
    .min_words = 0,
    .max_words = 1,
    .completes = CLI_SPECS,
    .groups = (const cli_group *const[]){&group, &replay_group, &run_group, &ranks_group, &cli_sandbox_group,
                                         &cli_engine_group, NULL},
    .examples =
        (const cli_example[]){
            {"kiln tune matmul", "All variants at the default size; without a GPU the first 60 seconds of estimates."},
            {"kiln tune matmul --variants tiled,coarsened -p UNROLL=4 -s M=512", "A part of the space."},
            {"kiln tune matmul --device sim:h200 -s n1024 --no-verify",
             "Ranked by estimated times of a GPU that is not installed."},
            {"kiln tune matmul --device cuda:0,cuda:1", "Two GPUs share the sweep."},
            {"mpirun -n 8 kiln tune matmul", "Eight processes, each with a GPU of its own, share the sweep."},
            {"kiln tune matmul --max-seconds 60 --json > sweep.json", "The best of one minute."},
            {"kiln tune matmul --stagnation 100 --roofline 0.9", "Until it is good enough, or does not improve."},
            {"kiln tune matmul -v tiled --objective time --objective 'TILE_WIDTH ** 2'",
             "Fast, with few threads per block: the Pareto front of both."},
            {"kiln tune --replay gemm.json.gz --seed 3", "Search a recorded space."},
            {0}},
    .run = tune_all,
};
