/* check.c - kiln check: runs a sweep under the checks of the simulated device. */
#include <string.h>

#include "commands.h"
#include "findings.h"

typedef struct check_args {
    cli_choice_args choice; /* without the variant */
    cli_run_args run;
    cli_engine_args engine;
    cli_list variants;
    uint64_t max_configurations, seed;
    double max_seconds;
    const char *strategy, *sarif_to, *suppress;
    bool each, notes;
} check_args;

typedef struct check_view {
    findings found;
    cli_choice chosen;
    uint64_t failed;
    int code;                /* the exit code for the first configuration that failed */
    const char *why, *which; /* the error message and the name of the first configuration that failed */
    bool progress;
    double shown;
    uint64_t configurations; /* the number of configurations over all sweeps */
    bool uncounted, sampled;
    /* the sizes, if these sizes leave no block of the default configurations incomplete; NULL otherwise */
    const char *whole;
} check_view;

static int on_progress(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    check_view *view = user;
    if (sample) {
        const char *name = cli_printf("%s %s", sample->variant, cli_settings_text(sample->params, sample->param_count));
        findings_next(&view->found, name);
        if (sample->status != KILN_OK && view->failed++ == 0) {
            view->code = cli_exit_code(sample->status);
            view->why = cli_printf("%s", sample->message);
            view->which = name;
        }
    }
    if (view->progress && (progress->done == 0 || progress->elapsed - view->shown >= 0.1)) {
        void *mark = cli_mark();
        view->shown = progress->elapsed;
        progress_show(progress->total == UINT64_MAX
                          ? cli_printf("%s", cli_whole(progress->done))
                          : cli_printf("%s/%s", cli_whole(progress->done), cli_whole(progress->total)),
                      cli_printf("  %s found", cli_whole(findings_severe(&view->found))),
                      progress->remaining >= 0 ? cli_printf("  %s left", cli_duration(progress->remaining)) : "");
        cli_release(mark);
    }
    return cli_interrupted();
}

static void show_text(const cli *c, const check_view *view)
{
    const check_args *args = c->args;
    size_t severe = findings_severe(&view->found), notes = view->found.count - severe;
    findings_text(&view->found, args->notes, true);
    if (view->found.count > (args->notes ? 0 : notes))
        out_puts("\n");
    if (view->whole && !severe)
        out_wrapped(
            cli_printf(
                "note: at %s every block of the default configurations is whole. An access past the end that only an "
                "incomplete block makes is not found. Check at other sizes too, such as odd ones: -s NAME=VALUE",
                view->whole),
            2, out_width());
    out_printf("%s%s%s  %s configuration%s", out_bold(), kiln_spec_name(c->spec), out_plain(),
               cli_whole(view->configurations), view->configurations == 1 ? "" : "s");
    if (view->failed)
        out_printf(", %s%s failed%s, ", out_red(), cli_whole(view->failed), out_plain());
    else
        out_puts(" checked, ");
    if (severe)
        out_printf("%s%s finding%s%s", out_red(), cli_whole(severe), severe == 1 ? "" : "s", out_plain());
    else
        out_puts(view->failed ? "nothing else found" : "nothing found");
    if (notes)
        out_printf(", %s note%s%s", cli_whole(notes), notes == 1 ? "" : "s",
                   args->notes ? "" : " (--notes shows them)");
    if (view->found.suppressed)
        out_printf(", %s suppressed", cli_whole(view->found.suppressed));
    out_puts("\n");
    if (view->uncounted)
        out_printf("  of a space too large to be counted in a short time%s\n",
                   view->sampled ? ", drawn at random, not all equally likely" : "");
    if (view->failed) {
        out_printf("  the first that failed, %s:\n", view->which);
        out_wrapped(view->why, 4, out_width());
    }
}

static void show_json(const cli *c, const check_view *view)
{
    json_t *object = js_object();
    js_set(object, "spec", js_text(kiln_spec_name(c->spec)));
    js_set(object, "configurations", js_whole(view->configurations));
    js_set(object, "failed", js_whole(view->failed));
    if (view->uncounted)
        js_set(object, "space_counted", json_false());
    js_set(object, "first_failure", js_text(view->why));
    js_set(object, "findings", findings_json(&view->found));
    js_set(object, "suppressed", js_whole(view->found.suppressed));
    if (view->whole)
        js_set(object, "whole_blocks", js_text(view->whole));
    js_print(object);
}

/* The sizes that every plan so far divides into whole blocks. */
typedef struct whole_sizes {
    kiln_setting *items;
    size_t count;
    bool all; /* true: every size that was removed is 1 or is not an integer */
} whole_sizes;

/* Returns true if the size is a multiple of an extent of the block, for each kernel of the plan. */
static bool is_multiple(kiln_plan *plan, const kiln_setting *size)
{
    const kiln_kernel_info *kernel;
    bool multiple = size->value.kind == KILN_INT && size->value.as.i > 1;
    for (size_t k = 0; multiple && (kernel = kiln_plan_kernel(plan, k)) != NULL; k++) {
        multiple = false;
        for (int d = 0; d < 3 && !multiple; d++)
            multiple = kernel->block[d] > 1 && size->value.as.i % kernel->block[d] == 0;
    }
    return multiple;
}

/* Removes the sizes that this plan does not divide into whole blocks. */
static void keep_multiples(whole_sizes *sizes, kiln_plan *plan)
{
    size_t kept = 0;
    for (size_t i = 0; i < sizes->count; i++)
        if (is_multiple(plan, &sizes->items[i]))
            sizes->items[kept++] = sizes->items[i];
        else
            sizes->all = sizes->all && (sizes->items[i].value.kind != KILN_INT || sizes->items[i].value.as.i <= 1);
    sizes->count = kept;
}

/* Returns the sizes along which all blocks of the default configurations are whole. Some kernels access memory past the
 * end of an array only in an incomplete block, so at such sizes no check can find this error. If another size leaves
 * incomplete blocks, a small size does not count, because it is probably not a dimension of the problem. The function
 * opens plans. Therefore it must be called before the first run, which may give up the right to open files. */
static const char *find_whole_sizes(cli *c, const check_args *args)
{
    enum { SMALL = 16 };
    whole_sizes sizes = {0};
    const size_t count = args->variants.count, all = count ? count : kiln_spec_variant_count(c->spec);
    for (size_t i = 0; i < all; i++) {
        kiln_plan *plan = NULL;
        cli_choice chosen;
        size_t length = 0;
        const char *name = count ? args->variants.items[i] : kiln_spec_variant_name(c->spec, i);
        if (!cli_make_choice(c, &args->choice, name, &chosen) ||
            kiln_plan_open(c->engine, c->spec, &chosen.choice, &plan, NULL) != KILN_OK)
            return NULL; /* the sweep itself will report this error */
        while (kiln_plan_size(plan, length))
            length++;
        if (i == 0)
            sizes = (whole_sizes){cli_alloc((length + 1) * sizeof *sizes.items), length, true};
        for (size_t k = 0; i == 0 && k < length; k++)
            sizes.items[k] = (kiln_setting){cli_printf("%s", kiln_plan_size(plan, k)->name),
                                            kiln_plan_size(plan, k)->value};
        keep_multiples(&sizes, plan);
        kiln_plan_close(plan);
    }
    size_t kept = 0;
    for (size_t i = 0; i < sizes.count; i++)
        if (sizes.all || sizes.items[i].value.as.i >= SMALL)
            sizes.items[kept++] = sizes.items[i];
    return kept ? cli_settings_text(sizes.items, kept) : NULL;
}

/* Sweeps these variants (all variants if `count` is 0), and adds the results to the view. Prints a message if the sweep
 * fails. Sets *ended if the view has no results to show. */
static kiln_status sweep(cli *c, check_view *view, kiln_run_options *run, const char *const *variants, size_t count,
                         bool *ended, int *code)
{
    const check_args *args = c->args;
    kiln_tuning *tuning = NULL;
    kiln_error *error = NULL;
    if (!cli_make_choice(c, &args->choice, count == 1 ? variants[0] : NULL, &view->chosen)) {
        *ended = true;
        *code = CLI_USAGE;
        return KILN_ERROR_ARGUMENT;
    }
    const kiln_tune_options options = {
        .size = sizeof options,
        .variants = count ? variants : NULL,
        .variant_count = count,
        .params = view->chosen.choice.params,
        .param_count = view->chosen.choice.param_count,
        .size_set = view->chosen.choice.size_set,
        .sizes = view->chosen.choice.sizes,
        .size_count = view->chosen.choice.size_count,
        .max_configurations = args->max_configurations,
        .max_seconds = args->max_seconds,
        .strategy = args->strategy,
        .seed = args->seed,
        .run = run,
        .callback = on_progress,
        .user = view,
    };
    view->shown = 0;
    kiln_status status = kiln_tune(c->engine, c->spec, &options, &tuning, &error);
    progress_clear();
    *ended = !tuning;
    if (!tuning) {
        *code = cli_error(c, error);
        return status;
    }
    const kiln_tuning_totals *totals = kiln_tuning_sum(tuning);
    view->configurations += totals->configurations;
    view->uncounted |= totals->uncounted != 0;
    view->sampled |= totals->sampled != 0;
    /* if every configuration failed, `code` and the findings already give the reason */
    if (status != KILN_OK && totals->end != KILN_END_EARLY)
        status = KILN_OK;
    if (status != KILN_OK && !c->output.json)
        cli_complain(status == KILN_ERROR_INTERRUPTED ? "interrupted; showing the results so far"
                                                      : kiln_error_message(error));
    kiln_tuning_free(tuning);
    kiln_error_free(error);
    return status;
}

/* `kiln check`: runs a sweep of all configurations under the checks of the simulated device, and collects the
 * findings. Returns 1 if a finding is more than a note. */
static int check_run(cli *c)
{
    check_args *args = c->args;
    check_view view = {.progress = progress_wanted(c)};
    if (!findings_read_rules(&view.found, args->suppress))
        return cli_exit_code(KILN_ERROR_IO);
    args->run.check = args->run.no_measure = true;
    if (!args->engine.device)
        args->engine.device = "sim";
    else if (strcmp(args->engine.device, "cuda") == 0 || strncmp(args->engine.device, "cuda:", strlen("cuda:")) == 0)
        return cli_usage(c, "only the simulated device can check kernels: write --device sim, not --device %s",
                         args->engine.device);
    cli_sandbox(c, &args->engine);
    int code = cli_spec(c, &args->engine);
    if (code)
        return code;
    kiln_run_options run;
    cli_make_run(&args->run, &run);
    if (!cli_make_files(c, &args->run.inputs, "--input", &run.inputs))
        return CLI_USAGE;
    run.input_count = args->run.inputs.count;
    run.check = findings_add;
    run.check_user = &view.found;
    cli_catch_signals("");
    const char *const *names = args->variants.items;
    size_t count = args->variants.count;
    bool ended = false;
    kiln_status status = KILN_OK;
    view.whole = find_whole_sizes(c, args);
    if (!args->each) {
        status = sweep(c, &view, &run, names, count, &ended, &code);
    } else {
        size_t all = count ? count : kiln_spec_variant_count(c->spec);
        for (size_t i = 0; i < all && status == KILN_OK; i++) {
            const char *name = count ? names[i] : kiln_spec_variant_name(c->spec, i);
            status = sweep(c, &view, &run, &name, 1, &ended, &code);
        }
    }
    if (ended)
        return code;
    if (c->output.json)
        show_json(c, &view);
    else
        show_text(c, &view);
    if (args->sarif_to) {
        const int failed = findings_write_sarif(c, &view.found, args->sarif_to, c->words.items[0]);
        if (failed)
            return failed;
    }
    return findings_severe(&view.found) ? CLI_FOUND : status != KILN_OK ? cli_exit_code(status) : view.code;
}

#define FIELD(field) offsetof(check_args, field)

static const cli_option options[] = {
    {"variants", 'v', CLI_COMMAS, FIELD(variants), "NAMES", CLI_VARIANTS, NULL,
     "The variants to check, separated by commas. Repeatable. Default: all."},
    {"variant", 0, CLI_COMMAS, FIELD(variants), "NAMES", CLI_VARIANTS, NULL, "The same as --variants."},
    {"param", 'p', CLI_LIST, FIELD(choice.params), "NAME=VALUE", CLI_PARAMS, NULL,
     "Give a param one value, in every variant that has this param. Repeatable."},
    CLI_SIZE_OPTION(FIELD(choice.sizes)),
    CLI_INPUT_OPTION(FIELD(run.inputs)),
    {"max-configurations", 'm', CLI_WHOLE, FIELD(max_configurations), "COUNT", CLI_NOTHING, NULL,
     "Stop after this many configurations."},
    {"each", 0, CLI_FLAG, FIELD(each), NULL, CLI_NOTHING, NULL,
     "Check one variant after another. --max-configurations and --max-seconds then apply to each variant."},
    {"max-seconds", 't', CLI_NUMBER, FIELD(max_seconds), "SECONDS", CLI_NOTHING, NULL, "Stop after this time."},
    {"strategy", 0, CLI_TEXT, FIELD(strategy), "NAME", CLI_STRATEGIES, NULL,
     "The order of the configurations, by a strategy of `kiln tune`. `random` spreads them over the space. Default: "
     "exhaustive, which takes them in order."},
    {"seed", 0, CLI_SEED, FIELD(seed), "NUMBER", CLI_NOTHING, NULL,
     "The seed of the strategy's random numbers. Default: 0."},
    {"no-verify", 0, CLI_FLAG, FIELD(run.no_verify), NULL, CLI_NOTHING, NULL, "Do not verify the answer."},
    CLI_TIMEOUT_OPTION(FIELD(run), "."),
    {"notes", 0, CLI_FLAG, FIELD(notes), NULL, CLI_NOTHING, NULL,
     "Also show findings that may be intended, such as two threads that write the same value to one place."},
    {"sarif", 0, CLI_TEXT, FIELD(sarif_to), "FILE", CLI_FILES, NULL,
     "Also write the findings to this file as SARIF 2.1.0, which code hosts show beside the source."},
    {"suppress", 0, CLI_TEXT, FIELD(suppress), "FILE", CLI_FILES, NULL,
     "Leave out the findings that a rule of this file matches. A rule is a line: `race`, or `race scan* scan.cu:12`."},
};
static const cli_group group = {"What to check", options, CLI_COUNT(options)};

const cli_command cli_check_command = {
    .name = "check",
    .summary = "run configurations of a spec under all checks, on the simulated device",
    .arguments = "SPEC",
    .about =
        "Runs every configuration that the constraints of a spec allow on the simulated device, and finds errors "
        "that a GPU does not report:\n\n"
        "  accesses that are out of bounds or misaligned, or to freed memory\n"
        "  reads of memory that was never written\n"
        "  races in shared memory, and between blocks in global memory\n"
        "  barriers that not all threads reach\n"
        "  warp operations in which some lanes do not take part\n"
        "  writes to read-only data\n"
        "  leaks\n\n"
        "It reports each place once, with the source line, a thread and the allocation.\n\n"
        "The exit code is 1 if there are findings other than notes. Otherwise it tells the first configuration that "
        "failed.",
    .min_words = 1,
    .max_words = 1,
    .completes = CLI_SPECS,
    .args_size = sizeof(check_args),
    .groups =
        (const cli_use[]){{&group, 0}, {&cli_sandbox_group, FIELD(engine)}, {&cli_engine_group, FIELD(engine)}, {0}},
    .examples = (const cli_example[]){{"kiln check matmul", "All configurations, at the size `tiny`."},
                                      {"kiln check matmul -v tiled -s ragged -m 20",
                                       "Some of the configurations, at another size."},
                                      {"kiln check matmul --each -m 3 --strategy random", "Three of each variant."},
                                      {0}},
    .run = check_run,
};
