/* show.c - kiln show: shows the variants, params and constraints of a spec, and the size of its search space */
#include <math.h>
#include <string.h>
#include <time.h>

#include "commands.h"

typedef struct show_args {
    cli_choice_args choice;
    cli_engine_args engine;
    const char *only;
    bool names, metrics;
} show_args;

/* the time limit in seconds for counting the configurations of all variants together; each variant gets at least
 * COUNT_LEAST */
#define COUNT_SECONDS 5.0
#define COUNT_LEAST 0.25

typedef struct space {
    bool known, counted;
    uint64_t raw, valid;
    double seconds;
    const char *why;
} space;

/* Counts the configurations of a variant, or notes why they cannot be counted. Adds the time and the counts to
 * `all`. */
static space space_of(cli *c, const cli_choice *asked, const char *variant, space *all)
{
    space s = {.seconds = COUNT_SECONDS - all->seconds > COUNT_LEAST ? COUNT_SECONDS - all->seconds : COUNT_LEAST};
    kiln_error *error = NULL;
    kiln_choice choice = asked->choice;
    kiln_space_options options = {.size = sizeof options, .max_seconds = s.seconds};
    kiln_space_info info = {.size = sizeof info};
    struct timespec start, end;
    choice.variant = variant;
    clock_gettime(CLOCK_MONOTONIC, &start);
    s.known = kiln_space_count(c->engine, c->spec, &choice, &options, &info, &error) == KILN_OK;
    clock_gettime(CLOCK_MONOTONIC, &end);
    s.why = s.known ? "" : cli_printf("%s", kiln_error_message(error));
    kiln_error_free(error);
    s.raw = info.raw;
    s.valid = info.valid;
    s.counted = info.counted;
    all->seconds += (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    if (all->known && !s.known)
        all->why = s.why;
    all->known &= s.known;
    all->counted &= s.counted;
    all->raw = all->raw > UINT64_MAX - s.raw ? UINT64_MAX : all->raw + s.raw;
    all->valid = all->valid > UINT64_MAX - s.valid ? UINT64_MAX : all->valid + s.valid;
    all->counted &= all->valid < UINT64_MAX;
    return s;
}

/* Returns the number of configurations as JSON. jansson's integers end at 2^63 - 1. A larger count is null, and a lower
 * bound stands beside it. */
static json_t *space_json(space s)
{
    json_t *object = js_object();
    bool wide = s.raw > INT64_MAX;
    s.counted &= s.valid <= INT64_MAX;
    js_set(object, "raw", s.known && !wide ? js_whole(s.raw) : json_null());
    if (s.known && wide)
        js_set(object, "raw_at_least", js_whole(INT64_MAX));
    js_set(object, "valid", s.known && s.counted ? js_whole(s.valid) : json_null());
    js_set(object, "counted", json_boolean(s.known && s.counted));
    if (s.known && !s.counted)
        js_set(object, "at_least", js_whole(s.valid < INT64_MAX ? s.valid : INT64_MAX));
    if (!s.known)
        js_set(object, "error", js_text(s.why));
    return object;
}

static const char *space_text(space s)
{
    if (!s.known)
        return cli_printf("cannot be counted: %s", s.why);
    if (!s.counted && s.valid == UINT64_MAX)
        return "2^64 - 1 or more valid configurations, not counted";
    if (!s.counted)
        return cli_printf("%s configurations, %s valid, not counted in %.2g s",
                          s.raw == UINT64_MAX ? "more than 10^19" : cli_whole(s.raw),
                          s.valid ? cli_printf("at least %s of them", cli_whole(s.valid)) : "none found to be",
                          s.seconds);
    if (s.raw == s.valid)
        return cli_printf("%s configuration%s", cli_whole(s.valid), s.valid == 1 ? "" : "s");
    return cli_printf("%s configurations, %s of them valid", cli_whole(s.raw), cli_whole(s.valid));
}

static const char *type_name(kiln_type type)
{
    static const char *const names[] = {
#define CLI_X(name, ...) #name,
        KILN_TYPE_MAP(CLI_X)
#undef CLI_X
    };
    return (size_t)type < CLI_COUNT(names) ? names[type] : "";
}

/* Returns the element type of a buffer. If sizes or params choose the type, returns the expression of the spec that
 * chooses it. */
static const char *type_of(const kiln_buffer_info *info)
{
    return info->type_text ? info->type_text : type_name(info->type);
}

/* ---- --only: words for scripts and completions ---- */

/* Returns true if a list of names, separated by commas, contains the variant. */
static bool names_variant(const char *text, const char *variant)
{
    const size_t length = strlen(variant);
    for (const char *at = text; *at; at += strspn(at, ",")) {
        const size_t here = strcspn(at, ",");
        if (here == length && memcmp(at, variant, length) == 0)
            return true;
        at += here;
    }
    return false;
}

/* Prints the words that the user can write after an option, one word per line. For params, the option -v may name
 * several variants (`kiln tune -v a,b`). Without -v, the function prints the params of all variants. */
static int show_only(cli *c)
{
    const show_args *args = c->args;
    const char *what = args->only, *wanted = args->choice.variant;
    bool known = false;
    for (size_t v = 0; wanted && v < kiln_spec_variant_count(c->spec); v++)
        known = known || names_variant(wanted, kiln_spec_variant_name(c->spec, v));
    if (strcmp(what, "sizes") == 0) {
        for (size_t i = 0; i < kiln_spec_size_set_count(c->spec); i++) {
            const kiln_size_set *set = kiln_spec_size_set(c->spec, i);
            out_word(set->name);
        }
        return 0;
    }
    for (size_t v = 0; v < kiln_spec_variant_count(c->spec); v++) {
        if (strcmp(what, "variants") == 0)
            out_word(kiln_spec_variant_name(c->spec, v));
        else if (!known || names_variant(wanted, kiln_spec_variant_name(c->spec, v)))
            for (size_t p = 0; p < kiln_spec_param_count(c->spec, v); p++) {
                const kiln_param_info *info = kiln_spec_param(c->spec, v, p);
                for (size_t i = 0; i < info->count; i++)
                    out_word(cli_printf("%s=%s", info->name, cli_value_text(info->values[i])));
            }
    }
    return 0;
}

/* ---- devices ---- */

/* Returns the reason why the device cannot run the variant. Returns NULL if the device can run the variant, or if this
 * command cannot open the device. */
static const char *why_left_out(cli *c, size_t v)
{
    kiln_error *error = NULL;
    if (kiln_spec_target_count(c->spec, v) + kiln_spec_need_count(c->spec, v) == 0)
        return NULL;
    kiln_status status = kiln_variant_supported(c->engine, c->spec, v, &error);
    const char *why = status == KILN_ERROR_UNSUPPORTED ? cli_printf("%s", kiln_error_message(error)) : NULL;
    kiln_error_free(error);
    return why;
}

static void show_device(cli *c, size_t v)
{
    const char *why = why_left_out(c, v);
    for (size_t i = 0; i < kiln_spec_target_count(c->spec, v); i++)
        out_printf("%s%s", i == 0 ? "  target " : ", ", kiln_spec_target(c->spec, v, i));
    if (kiln_spec_target_count(c->spec, v))
        out_puts("\n");
    for (size_t i = 0; i < kiln_spec_need_count(c->spec, v); i++)
        out_printf("  needs %s\n", kiln_spec_need(c->spec, v, i));
    if (why)
        out_wrapped(cli_printf("Left out here: %s", why), 2, out_width());
}

static void device_json(cli *c, size_t v, json_t *object)
{
    json_t *targets = js_array(), *needs = js_array();
    const char *why = why_left_out(c, v);
    for (size_t i = 0; i < kiln_spec_target_count(c->spec, v); i++)
        js_add(targets, js_text(kiln_spec_target(c->spec, v, i)));
    for (size_t i = 0; i < kiln_spec_need_count(c->spec, v); i++)
        js_add(needs, js_text(kiln_spec_need(c->spec, v, i)));
    js_set(object, "target", targets);
    js_set(object, "needs", needs);
    js_set(object, "left_out", why ? js_text(why) : json_null());
}

/* ---- JSON ---- */

static json_t *variant_json(cli *c, const cli_choice *asked, size_t v, space *all)
{
    json_t *object = js_object(), *params = js_array(), *where = js_array();
    js_set(object, "name", js_text(kiln_spec_variant_name(c->spec, v)));
    js_set(object, "about", js_text(kiln_spec_variant_about(c->spec, v)));
    js_set(object, "contender", json_boolean(kiln_spec_variant_contender(c->spec, v)));
    for (size_t p = 0; p < kiln_spec_param_count(c->spec, v); p++) {
        const kiln_param_info *info = kiln_spec_param(c->spec, v, p);
        json_t *param = js_object(), *values = js_array();
        js_set(param, "name", js_text(info->name));
        for (size_t i = 0; i < info->count; i++)
            js_add(values, js_value(info->values[i]));
        js_set(param, "values", values);
        js_set(param, "default", js_value(info->values[info->initial]));
        js_add(params, param);
    }
    for (size_t i = 0; i < kiln_spec_constraint_count(c->spec, v); i++)
        js_add(where, js_text(kiln_spec_constraint(c->spec, v, i)));
    device_json(c, v, object);
    js_set(object, "params", params);
    js_set(object, "where", where);
    js_set(object, "space", space_json(space_of(c, asked, kiln_spec_variant_name(c->spec, v), all)));
    return object;
}

/* Prints a spec as JSON: sizes, buffers, variants with their params, and the size of the search space. `chosen` is the
 * index of the variant that the user chose; if it is negative, all variants are printed. */
static void show_json(cli *c, const cli_choice *asked, int chosen)
{
    const kiln_spec *spec = c->spec;
    json_t *object = js_object(), *sizes = js_object(), *buffers = js_array(), *variants = js_array();
    space all = {.known = true, .counted = true, .why = ""};
    js_set(object, "name", js_text(kiln_spec_name(spec)));
    js_set(object, "title", js_text(kiln_spec_title(spec)));
    js_set(object, "about", js_text(kiln_spec_about(spec)));
    js_set(object, "path", js_text(kiln_spec_path(spec)));
    for (size_t i = 0; i < kiln_spec_size_set_count(spec); i++) {
        const kiln_size_set *set = kiln_spec_size_set(spec, i);
        js_set(sizes, set->name, js_settings(set->settings, set->count));
    }
    for (size_t i = 0; i < kiln_spec_buffer_count(spec); i++) {
        const kiln_buffer_info *info = kiln_spec_buffer(spec, i);
        json_t *buffer = js_object();
        js_set(buffer, "name", js_text(info->name));
        js_set(buffer, "type", js_text(type_of(info)));
        js_set(buffer, "shape", js_text(info->shape));
        js_set(buffer, "output", json_boolean(info->output));
        js_add(buffers, buffer);
    }
    for (size_t v = 0; v < kiln_spec_variant_count(spec); v++)
        if (chosen < 0 || (size_t)chosen == v)
            js_add(variants, variant_json(c, asked, v, &all));
    js_set(object, "sizes", sizes);
    js_set(object, "buffers", buffers);
    js_set(object, "variants", variants);
    js_set(object, "space", space_json(all));
    js_print(object);
}

/* ---- output for people ---- */

static void show_sizes(const kiln_spec *spec)
{
    out_printf("\n%sSizes%s\n", out_bold(), out_plain());
    cli_table table;
    table_start(&table, "ll");
    table.indent = 2;
    for (size_t i = 0; i < kiln_spec_size_set_count(spec); i++) {
        const kiln_size_set *set = kiln_spec_size_set(spec, i);
        table_cell(&table, "%s", set->name);
        table_cell(&table, "%s", cli_settings_text(set->settings, set->count));
    }
    table_print(&table, false);
}

static void show_buffers(const kiln_spec *spec)
{
    if (kiln_spec_buffer_count(spec) == 0)
        return;
    out_printf("\n%sBuffers%s\n", out_bold(), out_plain());
    cli_table table;
    table_start(&table, "llll");
    table.indent = 2;
    for (size_t i = 0; i < kiln_spec_buffer_count(spec); i++) {
        const kiln_buffer_info *info = kiln_spec_buffer(spec, i);
        table_cell(&table, "%s", info->name);
        table_cell(&table, "%s", type_of(info));
        table_cell(&table, "%s", info->shape ? info->shape : "");
        table_cell(&table, "%s", info->output ? "output" : "");
    }
    table_print(&table, false);
}

static void show_variant(cli *c, const cli_choice *asked, size_t v, space *all)
{
    const kiln_spec *spec = c->spec;
    const char *name = kiln_spec_variant_name(spec, v), *about = kiln_spec_variant_about(spec, v);
    out_printf("\n%s%s%s  %s%s%s\n", out_bold(), name, out_plain(), out_dim(),
               space_text(space_of(c, asked, name, all)), out_plain());
    if (*about)
        out_wrapped(about, 2, out_width());
    if (!kiln_spec_variant_contender(spec, v))
        out_wrapped("For comparison only: it does not do the spec's work, and is never called the best.", 2,
                    out_width());
    show_device(c, v);
    cli_table table;
    table_start(&table, "ll");
    table.indent = 2;
    for (size_t p = 0; p < kiln_spec_param_count(spec, v); p++) {
        const kiln_param_info *info = kiln_spec_param(spec, v, p);
        table_cell(&table, "%s", info->name);
        char *values = cli_printf("%s", "");
        for (size_t i = 0; i < info->count; i++) {
            if (info->count > 24 && i == 11 && info->initial < i)
                values = cli_printf("%s ...", values);
            if (info->count > 24 && i >= 11 && i + 2 < info->count && i != info->initial)
                continue; /* the middle of a long list is left out, except the default value */
            const char *text = cli_value_text(info->values[i]);
            values = cli_printf(i == info->initial ? "%s%s[%s]" : "%s%s%s", values, i ? " " : "", text);
        }
        table_cell(&table, "%s", values);
    }
    table_print(&table, false);
    for (size_t i = 0; i < kiln_spec_constraint_count(spec, v); i++) {
        out_puts(i == 0 ? "  where " : "        ");
        out_puts(kiln_spec_constraint(spec, v, i));
        out_puts("\n");
    }
}

/* ---- --metrics ---- */

/* `kiln show --metrics`: computes the metrics of one configuration. It opens a plan of this configuration, because
 * metrics may depend on inputs. */
static int show_metrics(cli *c)
{
    const show_args *args = c->args;
    cli_choice chosen;
    metric_list metrics = {0};
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    if (!cli_make_choice(c, &args->choice, args->choice.variant, &chosen))
        return CLI_USAGE;
    kiln_status status = kiln_plan_open(c->engine, c->spec, &chosen.choice, &plan, &error);
    if (status == KILN_OK)
        status = metrics_read(plan, &metrics, &error);
    kiln_plan_close(plan);
    if (status != KILN_OK)
        return cli_error(c, error);
    if (c->output.json) {
        js_print(metrics_json(&metrics));
        return 0;
    }
    cli_table table;
    table_start(&table, "lr");
    for (size_t i = 0; i < metrics.count; i++) {
        table_cell(&table, "%s", metrics.names[i]);
        table_cell(&table, "%s",
                   isnan(metrics.values[i]) ? "needs a run"
                   : metrics.values[i] == 0 ? "0"
                                            : cli_significant(metrics.values[i], 4));
    }
    table_print(&table, false);
    return 0;
}

/* `kiln show`: loads a spec and prints all of it, or only the part that an option selects. */
static int show_run(cli *c)
{
    show_args *args = c->args;
    cli_choice asked;
    int code = cli_spec(c, &args->engine);
    if (code)
        return code;
    if (args->names)
        args->only = "variants";
    if (args->only)
        return show_only(c);
    int chosen = args->choice.variant ? kiln_spec_variant_find(c->spec, args->choice.variant) : -1;
    if (args->choice.variant && chosen < 0) {
        cli_list names = {0};
        for (size_t v = 0; v < kiln_spec_variant_count(c->spec); v++)
            cli_list_add(&names, kiln_spec_variant_name(c->spec, v));
        const char *near = cli_nearest(args->choice.variant, names.items, names.count);
        return cli_fail(c, KILN_ERROR_NOT_FOUND, "%s has no variant '%s'%s", kiln_spec_name(c->spec),
                        args->choice.variant, near ? cli_printf("; did you mean '%s'?", near) : "");
    }
    if (args->metrics)
        return show_metrics(c);
    if (!cli_make_choice(c, &args->choice, args->choice.variant, &asked))
        return CLI_USAGE;
    if (c->output.json) {
        show_json(c, &asked, chosen);
        return 0;
    }
    const kiln_spec *spec = c->spec;
    out_printf("%s%s%s  ", out_bold(), kiln_spec_name(spec), out_plain());
    out_puts(kiln_spec_title(spec));
    out_puts("\n");
    out_puts(kiln_spec_path(spec));
    out_puts("\n");
    if (*kiln_spec_about(spec)) {
        out_puts("\n");
        out_wrapped(kiln_spec_about(spec), 0, out_width());
    }
    space all = {.known = true, .counted = true, .why = ""};
    show_sizes(spec);
    show_buffers(spec);
    for (size_t v = 0; v < kiln_spec_variant_count(spec); v++)
        if (chosen < 0 || (size_t)chosen == v)
            show_variant(c, &asked, v, &all);
    if (chosen < 0 && kiln_spec_variant_count(spec) > 1)
        out_printf("\nTogether: %s.\n", space_text(all));
    return 0;
}

#define FIELD(field) offsetof(show_args, field)

static const cli_option options[] = {
    {"names", 0, CLI_FLAG, FIELD(names), NULL, CLI_NOTHING, NULL, "Only the names of the variants, one per line."},
    {"only", 0, CLI_WORD, FIELD(only), "WHAT", CLI_WORDS, "variants params sizes",
     "Only the variants, the params with their values, or the size sets, one per line, for scripts."},
    {"metrics", 0, CLI_FLAG, FIELD(metrics), NULL, CLI_NOTHING, NULL,
     "Only the metrics of one configuration. kiln makes its inputs for this, but runs nothing."},
};
static const cli_group group = {"Showing", options, CLI_COUNT(options)};

const cli_command cli_show_command = {
    .name = "show",
    .summary = "show a spec: its variants, params, sizes, and how many configurations it has",
    .arguments = "SPEC",
    .about = "Shows the description of a spec, its sizes and buffers, and each variant with its params and "
             "constraints. The default of a param is in brackets. Configurations are counted before and after "
             "the constraints, which may depend on the device and the sizes; -p fixes params for the count.",
    .min_words = 1,
    .max_words = 1,
    .completes = CLI_SPECS,
    .args_size = sizeof(show_args),
    .groups =
        (const cli_use[]){{&cli_choice_group, FIELD(choice)}, {&group, 0}, {&cli_engine_group, FIELD(engine)}, {0}},
    .examples = (const cli_example[]){{"kiln show matmul", "Everything."},
                                      {"kiln show matmul -v coarsened --device sim", "One variant, counted for the "
                                                                                     "simulated device."},
                                      {"kiln show cutoff -v constant_device -p CAPACITY=8 -s tiny --metrics",
                                       "The cost of this capacity: the share of atoms that overflow, and the share "
                                       "that are near."},
                                      {0}},
    .run = show_run,
};
