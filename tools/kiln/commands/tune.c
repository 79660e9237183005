/* tune.c - kiln tune: runs the sweep and shows its progress. tune_show.c shows the results. */
#include <stdio.h>
#include <string.h>

#include "tune.h"

/* The time limit of a sweep if the user gave no limit, named no device, and the device is simulated. Most of this time
 * is spent on compiling. */
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

/* Prints the expected time of a sweep without a limit if the sweep will take long. The message appears once, as soon as
 * a few samples allow the estimate. */
static void announce(tune_view *view, const kiln_progress *p)
{
    const double least = 60, soon = 2; /* seconds */
    if (view->announced || view->limit > 0 || view->most || p->remaining < 0 || p->elapsed < soon)
        return;
    view->announced = true;
    if (p->remaining >= least)
        cli_complain(
            cli_printf("all %s configurations take about %s; --max-seconds 60 searches for the best in less time",
                       cli_whole(p->total), cli_duration(p->remaining + p->elapsed)));
}

static int on_progress(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    tune_view *view = user;
    (void)sample;
    if (!view->most)
        view->space = progress->total; /* if the user fixed the number of configurations, the total is this number */
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

/* Fills the options of the run and of the sweep: the fixed params, the sizes and the variants. Returns 0 or the exit
 * code. */
static int make_options(cli *c, tune_view *view, kiln_run_options *run, kiln_tune_options *options)
{
    const tune_args *args = c->args;
    if (args->variants.count == 1)
        view->only = args->variants.items[0];
    if (!cli_make_choice(c, &args->choice, view->only, &view->chosen))
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
    options->sample_timeout = args->run.sample_timeout;
    cli_make_run(&args->run, run);
    if (!cli_make_files(c, &args->run.inputs, "--input", &run->inputs))
        return CLI_USAGE;
    run->input_count = args->run.inputs.count;
    options->run = run;
    return 0;
}

/* ---- several devices ---- */

/* Splits the value of `--device A,B` into devices; the engine gets the first device. A comma separates two devices only
 * if the name of a device follows the comma, because the path of a profile may contain commas. */
static void split_devices(cli *c, cli_list *devices)
{
    tune_args *args = c->args;
    if (!args->engine.device)
        return;
    char *text = cli_printf("%s", args->engine.device), *from = text;
    for (char *comma = text; (comma = strchr(comma, ',')); comma++)
        if (strncmp(comma + 1, "cuda", 4) == 0 || strncmp(comma + 1, "sim", 3) == 0) {
            *comma = '\0';
            cli_list_add(devices, from);
            from = comma + 1;
        }
    if (devices->count == 0)
        return;
    cli_list_add(devices, from);
    args->engine.device = devices->items[0];
}

/* Lists every GPU of this machine, for the option `--device all`. Returns 0 or the exit code. */
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
    tune_args *args = c->args;
    bool all = args->engine.device && strcmp(args->engine.device, "all") == 0;
    if (all)
        args->engine.device = "cuda:0";
    else
        split_devices(c, devices);
    if (args->no_isolate && (all || devices->count > 0))
        return cli_usage(
            c, "with several devices, each is measured by a process of its own: --no-isolate is not possible");
    int code = cli_spec(c, &args->engine);
    return code || !all ? code : list_gpus(c, devices);
}

/* Leaves out the variants that are not valid at the small sizes, because their answers cannot be verified there. If no
 * variant is valid at the small sizes, the sweep tries all variants. */
static void leave_unverifiable(cli *c, tune_view *view, kiln_tune_options *options)
{
    cli_list taken = {0};
    for (size_t i = 0; i < kiln_spec_variant_count(c->spec); i++) {
        const char *name = kiln_spec_variant_name(c->spec, i);
        const kiln_choice choice = {.variant = name, .size_set = view->small->name};
        uint64_t raw, valid = 0;
        kiln_error *ignored = NULL; /* the sweep itself will report this error */
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

/* Chooses the sizes if there is no GPU, and if the user named no device, no sizes and no kind of run. In this case the
 * sweep verifies answers at the small sizes, and estimates times at the default sizes of a GPU. */
static void choose_sizes(cli *c, tune_view *view, const kiln_run_options *run, kiln_tune_options *options)
{
    const tune_args *args = c->args;
    view->small = NULL;
    if (args->isolate || run->flags || run->input_count || c->ranks)
        return;
    const char *large = cli_tuned_set(c->spec, view->device->simulated, view->device_named,
                                      args->choice.sizes.count > 0, &view->small);
    options->verify_size_set = view->small ? view->small->name : NULL;
    options->size_set = view->chosen.choice.size_set = view->small ? large : options->size_set;
    if (view->small && args->variants.count == 0)
        leave_unverifiable(c, view, options);
}

/* Runs a sweep, at the default sizes if the user gave no sizes. If the kernels cannot be estimated at the default
 * sizes, the sweep uses the small sizes, and the results tell the reason. */
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

/* Keeps the sizes at which the sweep ran, for the results. */
static void take_sizes(tune_view *view, const kiln_tuning *tuning)
{
    const kiln_setting *size;
    size_t count = 0;
    while (kiln_tuning_size(tuning, count))
        count++;
    kiln_setting *sizes = cli_alloc((count + 1) * sizeof *sizes);
    for (view->size_count = 0; (size = kiln_tuning_size(tuning, view->size_count)); view->size_count++)
        sizes[view->size_count] = *size;
    view->sizes = sizes;
    view->size_set = kiln_tuning_size_set(tuning);
}

static bool has_limit(const tune_args *args)
{
    return args->max_configurations || args->max_seconds > 0 || args->max_roofline > 0 || args->stagnation;
}

/* Refuses combinations of options that exclude each other. Returns 0, or the exit code if a combination is refused. */
static int refuse_conflicts(const cli *c)
{
    const tune_args *args = c->args;
    if (args->run.flush_l2 && args->run.keep_l2)
        return cli_usage(c, "--flush-l2 and --keep-l2 exclude each other");
    if (args->all && has_limit(args))
        return cli_usage(c, "--all and a limit exclude each other");
    if (args->estimates && (!has_limit(args) || args->replay))
        return cli_usage(c, "--estimates are for a search of a spec: give a limit, such as --max-seconds");
    if (args->isolate && args->no_isolate)
        return cli_usage(c, "--isolate and --no-isolate exclude each other");
    if (args->no_isolate && args->engine.sandbox && strcmp(args->engine.sandbox, "required") == 0)
        return cli_usage(c, "--no-isolate measures in this process, which --sandbox=required excludes");
    if (args->replay && (args->objectives.count || args->max_roofline > 0 || args->stagnation))
        return cli_usage(
            c, "--objective, --roofline and --stagnation cannot be used with --replay: a recorded file has only times");
    if (args->replay && args->check)
        return cli_usage(c, "--check and --replay exclude each other: a recorded file has no kernel to run");
    return 0;
}

/* Returns the exit code of a sweep that has results. The first of these that applies gives the code: an error of the
 * sweep itself, a sweep in which every configuration failed, with --strict the first configuration that failed, the
 * checks of the winners. */
static int choose_exit_code(const tune_args *args, const tune_view *view, const kiln_tuning *tuning)
{
    const kiln_tuning_totals *totals = kiln_tuning_sum(tuning);
    int code = cli_exit_code(view->status);
    if (code == 0 && totals->configurations > 0 && totals->failed == totals->configurations)
        code = cli_exit_code(kiln_tuning_sample(tuning, 0)->status);
    for (size_t i = 0; args->strict && code == 0 && i < kiln_tuning_count(tuning); i++)
        code = cli_exit_code(kiln_tuning_sample(tuning, i)->status);
    return code ? code : tune_check_code(&view->checked);
}

/* Runs `kiln tune`: options, device, store and sweep, then the result file, the checks, and the table or the JSON.
 * Every refusal comes before the device is opened. The result file is written before the checks, because the checks may
 * hang. */
static int tune_run(cli *c)
{
    tune_args *args = c->args;
    cli_list devices = {0};
    tune_view view = {
        .progress = progress_wanted(c), .space = UINT64_MAX, .device_named = args->engine.device || cli_usual_device()};
    kiln_run_options run;
    kiln_tune_options options;
    kiln_tuning *tuning = NULL;
    kiln_error *error = NULL;
    kiln_store *store = NULL;
    int code = refuse_conflicts(c);
    if (code)
        return code;
    if (!args->no_isolate)
        cli_sandbox(c, &args->engine);
    if (args->replay)
        return replay_run(c);
    if (!cli_take_arch(c, args->arch, &args->engine))
        return CLI_USAGE;
    if (c->words.count == 0)
        return cli_usage(c, "needs a spec, or --replay with a recorded file");
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
    view.first = view.device->simulated && !view.device_named && !args->all && !has_limit(args);
    if (view.first)
        options.max_seconds = FIRST_LIMIT;
    view.limit = options.max_seconds;
    view.most = options.max_configurations;
    if (!args->no_store && kiln_store_open(c->engine, args->store, 0, &store, &error) != KILN_OK) {
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

    take_sizes(&view, tuning);
    view.ended = status == KILN_OK ? NULL : kiln_error_message(error);
    view.status = status;
    int csv = args->csv ? tune_csv(c, tuning, args->csv) : 0;
    int unchecked = args->check && !csv ? tune_check(c, &view, tuning, &view.checked) : 0;
    if (!c->output.json) /* a sweep takes long, so its results are shown even if the result file or the checks failed */
        tune_text(c, &view, tuning);
    else if (!csv && !unchecked) /* otherwise the error must be the only JSON object */
        tune_json(c, &view, tuning);
    if (status != KILN_OK && !c->output.json)
        cli_complain(status == KILN_ERROR_INTERRUPTED ? "interrupted; showing the results so far" : view.ended);
    code = csv ? csv : unchecked ? unchecked : choose_exit_code(args, &view, tuning);
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

#define FIELD(field) offsetof(tune_args, field)

static const cli_option options[] = {
    {"variants", 'v', CLI_COMMAS, FIELD(variants), "NAMES", CLI_VARIANTS, NULL,
     "The variants to sweep, separated by commas. Repeatable. Default: all."},
    {"variant", 0, CLI_COMMAS, FIELD(variants), "NAMES", CLI_VARIANTS, NULL, "The same as --variants."},
    {"param", 'p', CLI_LIST, FIELD(choice.params), "NAME=VALUE", CLI_PARAMS, NULL,
     "Give a param one value, in every variant that has this param. Repeatable."},
    CLI_SIZE_OPTION(FIELD(choice.sizes)),
    CLI_ARCH_OPTION(FIELD(arch)),
    {"max-configurations", 'm', CLI_WHOLE, FIELD(max_configurations), "COUNT", CLI_NOTHING, NULL,
     "Stop after this many configurations. Samples that are reused from earlier sweeps do not count, so the same "
     "command continues where the last one stopped."},
    {"max-seconds", 't', CLI_NUMBER, FIELD(max_seconds), "SECONDS", CLI_NOTHING, NULL,
     "Stop after this time. Without a GPU the default is 60, unless you give a device or another limit."},
    {"all", 0, CLI_FLAG, FIELD(all), NULL, CLI_NOTHING, NULL,
     "Try all configurations, without a limit of time. This is the default on a GPU and on a device that --device "
     "names."},
    {"roofline", 0, CLI_NUMBER, FIELD(max_roofline), "SHARE", CLI_NOTHING, NULL,
     "Stop when a configuration reaches this share of the roofline, for example 0.9."},
    {"stagnation", 0, CLI_WHOLE, FIELD(stagnation), "COUNT", CLI_NOTHING, NULL,
     "Stop after this many configurations in a row that are not better than the best so far."},
    {"improvement", 0, CLI_NUMBER, FIELD(improvement), "SHARE", CLI_NOTHING, NULL,
     "For --stagnation: a configuration is better if it improves the best by more than this share. Default: 0.01."},
    {"objective", 0, CLI_LIST, FIELD(objectives), "EXPR", CLI_NOTHING, NULL,
     "The quantity to optimise: time, gflops, gbs, roofline, energy, power, compile, error, median_error, "
     "p999_error, a metric of the spec, or an expression of these, params and sizes. Write min: or max: before it to "
     "choose the direction. The errors are the largest, the median and the 99.9th percentile over the elements of "
     "the answer, in units of the tolerance. If you repeat the option, kiln shows the Pareto front and ranks it by "
     "the first objective. Default: time."},
    {"strategy", 0, CLI_TEXT, FIELD(strategy), "NAME", CLI_STRATEGIES, NULL,
     "The search strategy; `kiln compare-strategies` lists them. Default: surrogate if there is a limit; without a "
     "limit exhaustive, which tries everything in order."},
    {"estimates", 0, CLI_TEXT, FIELD(estimates), "DEVICE", CLI_NOTHING, NULL,
     "On a GPU: begin the search with a simulated device's estimates of random configurations, for at most a tenth "
     "of --max-seconds. 'sim' takes the profile that is nearest to the GPU. Any simulated device of --device is "
     "possible, such as sim:h200."},
    {"seed", 0, CLI_SEED, FIELD(seed), "NUMBER", CLI_NOTHING, NULL,
     "The seed of the search's random numbers. Default: 0. The search also depends on the times at which compiles "
     "end. With --repeatable the same seed and the same measured times give the same search."},
    {"repeatable", 0, CLI_FLAG, FIELD(repeatable), NULL, CLI_NOTHING, NULL,
     "Search in an order that does not depend on the times of compiles, on the machine, or on earlier sweeps. A "
     "stored sample is reused when its turn comes. The sweep compiles fewer configurations ahead, and measures on "
     "one device."},
    {"top", 0, CLI_WHOLE, FIELD(top), "COUNT", CLI_NOTHING, NULL, "The number of rows of the table. Default: 10."},
    {"csv", 0, CLI_TEXT, FIELD(csv), "FILE", CLI_FILES, NULL,
     "Write every sample to a file as comma-separated values."},
    {"fresh", 0, CLI_FLAG, FIELD(fresh), NULL, CLI_NOTHING, NULL,
     "Measure every configuration again. Without this option kiln reuses a stored sample with the same code, sizes, "
     "inputs, device, driver and run options."},
    {"strict", 0, CLI_FLAG, FIELD(strict), NULL, CLI_NOTHING, NULL,
     "If any configuration failed, end with the exit code of the first failure. Without this option the sweep does "
     "so only if all configurations failed."},
    {"no-store", 0, CLI_FLAG, FIELD(no_store), NULL, CLI_NOTHING, NULL,
     "Do not store samples, and do not reuse stored ones."},
    CLI_STORE_OPTION(FIELD(store)),
};
static const cli_option replay_options[] = {
    {"replay", 0, CLI_TEXT, FIELD(replay), "FILE", CLI_FILES, NULL,
     "Search a recorded space instead of a spec. The file is Kernel Tuner's cache file or T4 results, gzipped or "
     "not. No device is needed: the clock is simulated, and each configuration takes its recorded time. Default "
     "limit: the time that `kiln compare-strategies` uses."},
    {"prior", 0, CLI_TEXT, FIELD(prior), "FILE", CLI_FILES, NULL,
     "With --replay: another recorded file with the same params. The search takes its times as estimates."},
};
static const cli_group replay_group = {"Replaying", replay_options, CLI_COUNT(replay_options)};
static const cli_group group = {"The sweep", options, CLI_COUNT(options)};

static const cli_option ranks_options[] = {
    {"mpi", 0, CLI_FLAG, FIELD(mpi), NULL, CLI_NOTHING, NULL,
     "Join the other processes of this job, even if kiln does not recognise the launcher. Without this option kiln "
     "joins them if mpirun or srun started several processes."},
    {"no-mpi", 0, CLI_FLAG, FIELD(no_mpi), NULL, CLI_NOTHING, NULL,
     "Sweep in this process alone, even if mpirun or srun started several processes."},
    {"lease", 0, CLI_NUMBER, FIELD(lease), "SECONDS", CLI_NOTHING, NULL,
     "If a process sends no message for this time, the other processes do its work. Default: 30."},
    {"lead-only", 0, CLI_FLAG, FIELD(lead_only), NULL, CLI_NOTHING, NULL,
     "Rank 0 searches, compiles and stores the samples. The other ranks measure, so start one process more than "
     "there are GPUs."},
};
static const cli_group ranks_group = {"Many machines", ranks_options, CLI_COUNT(ranks_options)};

static const cli_option run_options[] = {
    CLI_INPUT_OPTION(FIELD(run.inputs)),
    CLI_RUN_OPTIONS(FIELD(run)),
    {"isolate", 0, CLI_FLAG, FIELD(isolate), NULL, CLI_NOTHING, NULL,
     "Measure in a separate process. Kiln replaces it after a kernel that faults or never ends. This is the default "
     "on a GPU."},
    {"no-isolate", 0, CLI_FLAG, FIELD(no_isolate), NULL, CLI_NOTHING, NULL,
     "Measure inside this process. On a GPU a fault then ends the sweep."},
    {"check", 0, CLI_FLAG, FIELD(check), NULL, CLI_NOTHING, NULL,
     "After the sweep, run the winners again on the simulated device, at the sizes `tiny`, with the checks of `kiln "
     "check`. The winners are the best configuration and those that cannot be distinguished from it. The exit code is "
     "1 if the checks find something."},
    {"no-early-stop", 0, CLI_FLAG, FIELD(no_early_stop), NULL, CLI_NOTHING, NULL,
     "Measure every configuration in full. Without this option kiln stops the measurement of a configuration early "
     "if it is clearly slower than the best so far."},
    {"finalists", 0, CLI_WHOLE, FIELD(finalists), "COUNT", CLI_NOTHING, NULL,
     "The number of fastest configurations that are measured again, in turn, before the best is chosen. At most 16. "
     "Default: 5 on a GPU, and none on a simulated device."},
    {"no-finals", 0, CLI_FLAG, FIELD(no_finals), NULL, CLI_NOTHING, NULL,
     "Do not measure the fastest configurations again."},
    CLI_TIMEOUT_OPTION(
        FIELD(run),
        ", plus twice the budget. In a separate process the limit shrinks once kiln knows the time of configurations "
        "that work."),
};
static const cli_group run_group = {"Running", run_options, CLI_COUNT(run_options)};

const cli_command cli_tune_command = {
    .name = "tune",
    .summary = "sweep all configurations of a spec and rank them",
    .arguments = "SPEC | --replay FILE",
    .about =
        "Compiles, runs, checks and times every configuration that the constraints of a spec allow, and ranks them. "
        "Compiles run in parallel, ahead of the measurements. The disk cache keeps the compiled kernels for the next "
        "sweep.\n\n"
        "A configuration that fails does not stop the sweep. The sweep counts it with the reason and continues. On a "
        "GPU kiln measures in a separate process. It replaces this process after a fault, and ends it if a kernel "
        "takes too long. --isolate does the same on the simulated device.\n\n"
        "--device cuda:0,cuda:1 and --device all share a sweep among several GPUs of one model. If mpirun or srun "
        "starts several processes, they share one sweep. Each process compiles, and measures on its own GPU. Rank 0 "
        "leads the sweep and stores the samples.\n\n"
        "Without a GPU the simulated device checks configurations, and a model of an H200 estimates their times "
        "(sim:h200). --arch or --device chooses another GPU. The output says that the times are estimates. If you "
        "give neither a device nor sizes, kiln verifies each configuration at the sizes 'tiny'. It estimates the "
        "time at the default sizes of a GPU, and runs only a few blocks of each kernel for that. If the work of a "
        "spec depends on data, kiln estimates it at 'tiny' too, and says so. With --no-verify an estimate runs only "
        "a few blocks at any size. --device sim ranks by the wall time of the interpreter, which does not predict a "
        "GPU. If you give neither a device nor a limit, the sweep ends after 60 seconds, and prints how many "
        "configurations it tried. --all tries all of them.\n\n"
        "Kiln stores every sample at once; `kiln results` shows them. It reuses a sample while nothing that "
        "determines the sample has changed. So a sweep that was stopped or killed continues where it was. --fresh "
        "measures all configurations again.\n\n"
        "A sweep with a limit searches the space by a strategy that learns from the measurements. It begins with the "
        "stored samples of the spec. As guesses it uses estimates, and samples of other devices and sizes. If a "
        "limit ends the sweep, the exit code is 0.\n\n"
        "Ctrl-C ends the sweep and shows the results so far. The exit code is then 130. If every configuration "
        "failed, the exit code tells the first failure.",
    .brief =
        "Tries configurations of a spec, checks every answer, measures the times, and ranks the configurations. A "
        "configuration that fails does not stop the sweep. Ctrl-C ends the sweep and shows the results so far.\n\n"
        "Without a GPU the times are estimates for an H200, and the sweep ends after 60 seconds. Kiln stores every "
        "sample, so the same command continues a sweep that was stopped.",
    .common = "size variants param max-seconds device json",
    .min_words = 0,
    .max_words = 1,
    .completes = CLI_SPECS,
    .args_size = sizeof(tune_args),
    .groups = (const cli_use[]){{&group, 0},
                                {&replay_group, 0},
                                {&run_group, 0},
                                {&ranks_group, 0},
                                {&cli_sandbox_group, FIELD(engine)},
                                {&cli_engine_group, FIELD(engine)},
                                {0}},
    .examples =
        (const cli_example[]){
            {"kiln tune matmul",
             "Sweeps all variants at the default sizes. Without a GPU the sweep ends after 60 seconds of estimates."},
            {"kiln tune matmul --variants tiled,coarsened -p UNROLL=4 -s M=512", "A part of the space."},
            {"kiln tune matmul --device sim:h200 -s n1024 --no-verify -t 60",
             "Estimated times of a GPU that is not installed."},
            {"kiln tune matmul --device cuda:0,cuda:1", "Two GPUs share the sweep."},
            {"mpirun -n 8 kiln tune matmul", "Eight processes share the sweep, each with its own GPU."},
            {"kiln tune matmul --max-seconds 60 --json > sweep.json", "The best configuration that one minute finds."},
            {"kiln tune matmul --stagnation 100 --roofline 0.9",
             "Stops when a configuration is good enough, or the search no longer improves."},
            {"kiln tune matmul -v tiled --objective time --objective 'TILE_WIDTH ** 2'",
             "The Pareto front of short times and small tiles."},
            {"kiln tune --replay gemm.json.gz --seed 3", "Search a recorded space."},
            {0}},
    .run = tune_all,
};
