/* best.c - kiln best: finds the best known configuration for sizes and a device; `--export` writes the known
 * configurations to a text file. */
#include <string.h>
#include <time.h>

#include "commands.h"
#include "end_to_end.h"

typedef struct best_args {
    cli_choice_args choice;
    cli_run_args run; /* options of --tune */
    cli_engine_args engine;
    const char *known, *export_to, *store;
    double tune_seconds;
    bool no_store;
} best_args;

static const char *day_text(int64_t made)
{
    time_t seconds = (time_t)(made / 1000000);
    struct tm parts;
    char text[32];
    if (!gmtime_r(&seconds, &parts) || strftime(text, sizeof text, "%Y-%m-%d", &parts) == 0)
        return "?";
    return cli_printf("%s", text);
}

/* ---- the sources of known configurations ---- */

typedef struct sources {
    kiln_store *store;
    kiln_knowledge *known;
} sources;

static void close_sources(sources *s)
{
    kiln_knowledge_free(s->known);
    kiln_store_close(s->store);
}

/* Opens the store, and reads the known configurations in the file of --known. A missing store counts as empty, unless
 * the user named it. Returns 0 or the exit code. */
static int open_sources(cli *c, sources *s, bool writes)
{
    const best_args *args = c->args;
    kiln_error *error = NULL;
    kiln_status status = KILN_OK;
    if (!args->no_store)
        status = kiln_store_open(c->engine, args->store, writes ? 0 : KILN_STORE_READ, &s->store, &error);
    if (status == KILN_ERROR_NOT_FOUND && !args->store) {
        kiln_error_free(error);
        error = NULL;
        status = KILN_OK;
    }
    if (status == KILN_OK && args->known)
        status = kiln_knowledge_load(c->engine, args->known, &s->known, &error);
    if (status == KILN_OK)
        return 0;
    close_sources(s);
    return cli_error(c, error);
}

/* ---- looking up ---- */

static const char *kind_text(const kiln_best *best)
{
    return cli_printf("%s%s",
                      best->measured    ? "measured"
                      : best->estimated ? "estimated"
                                        : "simulated",
                      best->verified ? ", verified" : "");
}

static void show_tie_rule(const kiln_best *best)
{
    if (best->estimated && !best->measured)
        out_puts("nearly equal estimates " CLI_TIE_RULE "\n");
}

/* Warns if the sample behind the answer was made with older code. */
static void show_change(const cli *c, const kiln_best *best)
{
    if (best->code_changed)
        out_printf(
            "the source, a header, an option or the compiler has changed since then: 'kiln tune %s' makes new samples\n",
            cli_shell_word(c->words.items[0]));
}

/* Prints the work that the host does before the first repetition. */
static void show_inputs(const kiln_best *best)
{
    if (best->inputs_seconds > 0)
        out_printf("inputs made by the host in %s (%s), copied to the device in %s\n",
                   cli_seconds(best->inputs_seconds), whole_cost_functions(best->input_functions),
                   cli_seconds(best->copy_seconds));
}

/* Prints the best known configuration and its origin: these sizes, near sizes or inputs, another device, or the
 * defaults. */
static void show_text(const cli *c, const kiln_device_info *device, const kiln_best *best, const char *why)
{
    const char *params = cli_settings_text(best->params, best->param_count);
    const char *sizes = cli_settings_text(best->sizes, best->size_count);
    out_printf("%s%s%s%s%s\n", out_bold(), best->variant, *params ? " " : "", params, out_plain());
    out_printf("for %s, %s%s, on %s\n", kiln_spec_name(c->spec), sizes,
               cli_set_text(c->spec, best->size_set, best->sizes, best->size_count), cli_device_name(device));
    if (why)
        out_printf("%s\n", why);
    switch (best->from) {
    case KILN_BEST_DEFAULT:
        out_puts("the defaults of the spec, because no known configuration is valid at these sizes on this device\n");
        return;
    case KILN_BEST_TUNED:
        out_printf("tuned now: %s, %s\n", cli_seconds(best->seconds), kind_text(best));
        show_tie_rule(best);
        show_inputs(best);
        return;
    default: break;
    }
    out_printf("from %s", kiln_best_text(best->from));
    if (best->from == KILN_BEST_OTHER_DEVICE) {
        out_puts(", ");
        out_puts(best->device);
    }
    if (best->near_inputs) {
        out_printf(": %s, at distance %.2f", cli_settings_text(best->known_sizes, best->known_size_count),
                   best->distance);
        out_printf("; %.2f times the best time of the %snearest input%s", best->slowdown,
                   best->near_inputs > 1 ? cli_printf("%zu ", best->near_inputs) : "",
                   best->near_inputs > 1 ? "s" : "");
    } else if (best->distance > 0)
        out_printf(": %s, at distance %.2f", cli_settings_text(best->known_sizes, best->known_size_count),
                   best->distance);
    out_printf("; %s%s, %s, %s\n", cli_seconds(best->seconds), best->from == KILN_BEST_EXACT ? "" : " there",
               kind_text(best), day_text(best->made));
    show_change(c, best);
    show_tie_rule(best);
    show_inputs(best);
}

/* Prints the best known configuration as JSON. The member `known` describes the sample from which the configuration was
 * taken. For the defaults, the member `known` is missing. */
static void show_json(const cli *c, const kiln_device_info *device, const kiln_best *best, const char *why)
{
    static const char *const words[] = {
#define CLI_X(name, text) #name,
        KILN_BEST_MAP(CLI_X)
#undef CLI_X
    };
    json_t *object = js_object();
    js_set(object, "spec", js_text(kiln_spec_name(c->spec)));
    js_set(object, "device", js_device(device));
    js_set(object, "size_set", js_text(best->size_set));
    js_set(object, "size_set_because", js_text(why));
    js_set(object, "sizes", js_settings(best->sizes, best->size_count));
    js_set(object, "from", js_text(words[best->from]));
    js_set(object, "variant", js_text(best->variant));
    js_set(object, "params", js_settings(best->params, best->param_count));
    if (best->near_inputs) {
        js_set(object, "features", js_settings(best->features, best->feature_count));
        js_set(object, "near_inputs", js_whole(best->near_inputs));
        js_set(object, "slowdown", js_real(best->slowdown));
    }
    if (best->from != KILN_BEST_DEFAULT) {
        json_t *known = js_object();
        js_set(known, "device", js_text(best->device));
        js_set(known, "cc", js_text(best->cc));
        js_set(known, "sizes", js_settings(best->known_sizes, best->known_size_count));
        if (best->near_inputs)
            js_set(known, "features", js_settings(best->known_features, best->known_feature_count));
        js_set(known, "distance", js_real(best->distance));
        js_set(known, "seconds", js_real(best->seconds));
        js_set(known, "measured", json_boolean(best->measured));
        js_set(known, "estimated", json_boolean(best->estimated));
        js_set(known, "tie_rule", js_text(best->estimated && !best->measured ? CLI_TIE_RULE : NULL));
        js_set(known, "verified", json_boolean(best->verified));
        js_set(known, "made", json_integer(best->made));
        js_set(known, "inputs_seconds", js_real(best->inputs_seconds));
        js_set(known, "input_functions", js_host_times(best->input_functions));
        js_set(known, "copy_seconds", js_real(best->copy_seconds));
        js_set(known, "code_changed", json_boolean(best->code_changed));
        js_set(object, "known", known);
    }
    js_print(object);
}

/* Finds the best known configuration. With --tune it opens a plan instead, which runs a sweep if no configuration is
 * known for the sizes. */
static kiln_status look_up(cli *c, const kiln_choice *choice, const kiln_best_options *options, kiln_plan **plan,
                           kiln_best **best, kiln_error **error)
{
    return options->tune_seconds > 0 ? kiln_plan_open_best(c->engine, c->spec, choice, options, plan, best, error)
                                     : kiln_best_find(c->engine, c->spec, choice, options, best, error);
}

static bool is_of_these_sizes(const kiln_best *best)
{
    return best->from == KILN_BEST_EXACT || best->from == KILN_BEST_TUNED;
}

/* Looks for a configuration that is known at the small sizes. If there is one, *best becomes this configuration. `kiln
 * tune` sweeps at the small sizes if it cannot estimate the kernel at the large sizes, so a configuration may be known
 * only there. */
static void take_small_sizes(cli *c, kiln_choice *choice, kiln_best_options *options, const char *set, kiln_best **best)
{
    kiln_best *other = NULL;
    kiln_plan *plan = NULL;
    choice->size_set = set;
    options->verify_size_set = NULL;
    const bool found = look_up(c, choice, options, &plan, &other, NULL) == KILN_OK && is_of_these_sizes(other);
    kiln_plan_close(plan);
    kiln_best_free(found ? *best : other);
    *best = found ? other : *best;
}

/* Finds the best known configuration in the store and in files, and shows it. If there is no GPU and the user names
 * neither a device nor sizes, it takes the sizes that `kiln tune` takes. Returns the exit code. */
static int find_best(cli *c)
{
    const best_args *args = c->args;
    cli_choice chosen;
    sources s = {0};
    const kiln_device_info *device = NULL;
    kiln_best *best = NULL;
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    cli_sandbox(c, &args->engine);
    int code = cli_spec(c, &args->engine);
    if (code)
        return code;
    if (!cli_make_choice(c, &args->choice, args->choice.variant, &chosen))
        return CLI_USAGE;
    if (kiln_engine_device(c->engine, &device, &error) != KILN_OK)
        return cli_error(c, error);
    code = open_sources(c, &s, args->tune_seconds > 0);
    if (code)
        return code;
    kiln_run_options run;
    kiln_best_options options = {.size = sizeof options,
                                 .store = s.store,
                                 .knowledge = s.known,
                                 .run = &run,
                                 .tune_seconds = args->tune_seconds,
                                 .isolation = KILN_ISOLATE_GPU};
    cli_make_run(&args->run, &run);
    cli_catch_signals("");
    const kiln_size_set *small = NULL;
    const char *large = cli_tuned_set(c->spec, device->simulated, args->engine.device || cli_usual_device(),
                                      args->choice.sizes.count > 0, &small);
    chosen.choice.size_set = large ? large : chosen.choice.size_set;
    options.verify_size_set = small ? small->name : NULL;
    kiln_status status = look_up(c, &chosen.choice, &options, &plan, &best, &error);
    if (status == KILN_OK && small && !is_of_these_sizes(best))
        take_small_sizes(c, &chosen.choice, &options, small->name, &best);
    if (status == KILN_OK)
        (c->output.json ? show_json : show_text)(
            c, device, best,
            cli_why_set(c->spec, best->size_set, device->simulated, large != NULL, &args->choice.sizes));
    kiln_plan_close(plan);
    kiln_best_free(best);
    close_sources(&s);
    return status == KILN_OK ? 0 : cli_error(c, error);
}

/* ---- exporting ---- */

/* Fails because no stored sample fits the filter. The message tells the filter, and the command that makes samples. */
static int fail_nothing_known(cli *c, const kiln_store_filter *filter, const char *store)
{
    const best_args *args = c->args;
    return cli_fail(c, KILN_ERROR_NOT_FOUND,
                    "there is nothing to export: the store %s has no successful sample%s%s%s%s%s%s; 'kiln tune %s%s' "
                    "makes samples",
                    store, filter->spec ? " of " : "", filter->spec ? filter->spec : "",
                    filter->variant ? ", variant " : "", filter->variant ? filter->variant : "",
                    filter->device ? ", on the device " : "", filter->device ? filter->device : "",
                    filter->spec ? cli_shell_word(c->words.items[0]) : "SPEC",
                    args->store ? cli_printf(" --store %s", cli_shell_word(args->store)) : "");
}

static int export_known(cli *c)
{
    best_args *args = c->args;
    sources s = {0};
    kiln_knowledge *collected = NULL;
    kiln_error *error = NULL;
    uint64_t written = 0;
    kiln_store_filter filter = {.size = sizeof filter,
                                .spec = c->words.count ? c->words.items[0] : NULL,
                                .variant = args->choice.variant,
                                .device = args->engine.device};
    if (args->known)
        return cli_usage(c, "--export writes the contents of the store; --known cannot be used with it");
    /* here the name of the device filters samples, so the command must not open this device */
    args->engine.device = NULL;
    int code = cli_engine(c, &args->engine);
    if (!code && filter.spec)
        code = cli_stored_spec(c, filter.spec, &filter.spec, &filter.path);
    if (!code)
        code = open_sources(c, &s, false);
    if (code)
        return code;
    if (!s.store) {
        close_sources(&s);
        return cli_fail(c, KILN_ERROR_NOT_FOUND, "there is no store to export from");
    }
    kiln_status status = kiln_knowledge_collect(c->engine, s.store, &filter, &collected, &error);
    const bool nothing = status == KILN_OK && kiln_knowledge_count(collected) == 0;
    const char *store = cli_printf("%s", kiln_store_path(s.store));
    if (status == KILN_OK && !nothing)
        status = kiln_knowledge_save(collected, args->export_to, &written, &error);
    kiln_knowledge_free(collected);
    close_sources(&s);
    if (nothing)
        return fail_nothing_known(c, &filter, store);
    if (status != KILN_OK)
        return cli_error(c, error);
    if (c->output.json) {
        json_t *object = js_object();
        js_set(object, "written", js_whole(written));
        js_print(object);
    } else {
        out_printf("%s configuration%s written\n", cli_whole(written), written == 1 ? "" : "s");
        out_puts(
            "Among configurations with equal times, the file has the one with the smallest params, in the order of "
            "their names.\n");
    }
    return 0;
}

static int best_run(cli *c)
{
    const best_args *args = c->args;
    if (args->export_to)
        return export_known(c);
    if (c->words.count == 0)
        return cli_usage(c, "an argument is missing: SPEC");
    return find_best(c);
}

#define FIELD(field) offsetof(best_args, field)

static const cli_option options[] = {
    {"known", 0, CLI_TEXT, FIELD(known), "FILE", CLI_FILES, NULL, "Search this file too. --export writes such files."},
    {"export", 0, CLI_TEXT, FIELD(export_to), "FILE", CLI_FILES, NULL,
     "Write the best configuration of each variant to a text file, for every device and set of sizes in the store, "
     "and for every spec or for SPEC. --device then selects devices by a part of their name."},
    {"tune", 0, CLI_NUMBER, FIELD(tune_seconds), "SECONDS", CLI_NOTHING, NULL,
     "If these sizes are not known on this device, run a sweep first, for at most this time."},
    {"no-store", 0, CLI_FLAG, FIELD(no_store), NULL, CLI_NOTHING, NULL, "Do not use the store."},
    CLI_STORE_OPTION(FIELD(store)),
};
static const cli_group group = {"What is known", options, CLI_COUNT(options)};
static const cli_option choice_options[] = {
    {"variant", 'v', CLI_TEXT, FIELD(choice.variant), "NAME", CLI_VARIANTS, NULL,
     "Only configurations of this "
     "variant."},
    {"param", 'p', CLI_LIST, FIELD(choice.params), "NAME=VALUE", CLI_PARAMS, NULL,
     "Only configurations with this value of a param. Repeatable."},
    CLI_SIZE_OPTION(FIELD(choice.sizes)),
};
static const cli_group choice_group = {"For what", choice_options, CLI_COUNT(choice_options)};
static const cli_option tune_options[] = {CLI_RUN_OPTIONS(FIELD(run)),
                                          CLI_TIMEOUT_OPTION(FIELD(run), ", plus twice the budget.")};
static const cli_group tune_group = {"Tuning", tune_options, CLI_COUNT(tune_options)};

const cli_command cli_best_command = {
    .name = "best",
    .summary = "show the best known configuration for sizes and a device",
    .arguments = "SPEC | --export FILE [SPEC]",
    .about =
        "Prints the best known configuration for sizes and a device, and the samples that it comes from. It searches "
        "the stored samples of sweeps, and a file. It takes the first of these that it finds:\n\n"
        "  1. the same sizes on this kind of device\n"
        "  2. if the spec has features: the most similar inputs that were measured on this kind of device; kiln makes "
        "the input to compute its features\n"
        "  3. the same sizes on another device with the same compute capability\n"
        "  4. the nearest sizes on this kind of device (doubling one size is a distance of 1)\n"
        "  5. another device, with the same compute capability if possible\n"
        "  6. the defaults of the spec\n\n"
        "If there is no GPU and you name neither a device nor sizes, the command takes the same sizes as `kiln tune`: the "
        "first set, or `tiny` if only `tiny` was tuned. If you name a simulated device, the default is `tiny`.\n\n"
        "It skips configurations that break a constraint at these sizes, and configurations that the spec no longer "
        "has. It also uses samples that are older than the last change of the source, and says so.\n\n"
        "--export writes the known configurations to a text file. You can keep this file beside the sources, or ship "
        "it with a program, which loads it with kiln_knowledge_load().",
    .max_words = 1,
    .completes = CLI_SPECS,
    .args_size = sizeof(best_args),
    .groups = (const cli_use[]){{&choice_group, 0},
                                {&group, 0},
                                {&tune_group, 0},
                                {&cli_sandbox_group, FIELD(engine)},
                                {&cli_engine_group, FIELD(engine)},
                                {0}},
    .examples =
        (const cli_example[]){{"kiln best matmul -s M=4096 -s N=64 -s K=4096", "For one shape."},
                              {"kiln best matmul -s n2048 --tune 60", "After a sweep of one minute, if needed."},
                              {"kiln best --export known.yaml matmul",
                               "The best known configurations of a spec, for all sizes and devices."},
                              {"kiln best matmul --known known.yaml --no-store", "From that file only."},
                              {0}},
    .run = best_run,
};
