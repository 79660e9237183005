/* results.c - kiln results: lists, compares, exports, imports and removes the stored samples of sweeps. */
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tune.h"

typedef struct results_args {
    const char *variant, *device, *store, *csv, *format;
    cli_list sizes;
    bool failed, all;
    double older; /* days */
    uint64_t top;
} results_args;

/* A copy of a record that lives until the command ends. */
typedef struct kept {
    const char *spec, *variant, *params, *sizes, *device, *device_id, *uuid, *driver, *nvrtc, *kiln, *message, *run;
    const char *file; /* the first file of the spec that exists; "" if none of the sample's files exists */
    kiln_status status;
    kiln_result result;
    int64_t made;
} kept;

typedef struct kept_list {
    kept **items;
    size_t count, room;
} kept_list;

static const char *copy(const char *text) { return cli_strndup(text, strlen(text)); }

/* Returns the first file of a list (one path per line) that exists. Returns "" if none of the files exists. */
static const char *present_file(const char *files)
{
    for (const char *at = files; *at;) {
        size_t line = strcspn(at, "\n");
        const char *path = cli_strndup(at, line);
        if (*path == '/' && access(path, F_OK) == 0)
            return path;
        at += line + (at[line] != '\0');
    }
    return "";
}

/* Keeps a copy of a record, as a callback of kiln_store_list(). The record itself lives only during the call. */
static int keep_record(void *user, const kiln_record *r)
{
    kept_list *list = user;
    kept *k = cli_alloc(sizeof *k);
    *k = (kept){
        .spec = copy(r->spec),
        .variant = copy(r->variant),
        .params = copy(cli_settings_text(r->params, r->param_count)),
        .sizes = copy(cli_settings_text(r->sizes, r->size_count)),
        .device = copy(r->device),
        .device_id = copy(r->device_id),
        .uuid = copy(r->uuid),
        .driver = copy(r->driver),
        .nvrtc = copy(r->nvrtc),
        .kiln = copy(r->kiln),
        .message = copy(r->message),
        .run = copy(r->run),
        .file = present_file(r->paths),
        .status = r->status,
        .result = *r->result,
        .made = r->made,
    };
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 256;
        kept **grown = cli_alloc(list->room * sizeof *grown);
        if (list->count)
            memcpy(grown, list->items, list->count * sizeof *grown);
        list->items = grown;
    }
    list->items[list->count++] = k;
    return 0;
}

/* ---- listing ---- */

static const char *kind_text(const kiln_result *result)
{
    return result->measured ? "" : result->estimated ? " (estimated)" : " (simulated)";
}

static const char *outcome(const kept *k)
{
    if (k->status != KILN_OK)
        return kiln_status_text(k->status);
    /* a sample with this text was verified at other sizes than its own, for example "verify at tiny (N=64)" */
    static const char at[] = "verify at ";
    const char *seconds = cli_seconds(tune_seconds(&k->result)), *small = strstr(k->run, at);
    if (!small || !k->result.verified)
        return cli_printf("%s%s", seconds, kind_text(&k->result));
    small += strlen(at);
    return cli_printf("%s (estimated, verified at %s)", seconds, cli_strndup(small, strcspn(small, " ")));
}

static const char *day_text(int64_t made)
{
    time_t seconds = (time_t)(made / 1000000);
    struct tm parts;
    char text[32];
    if (!gmtime_r(&seconds, &parts) || strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts) == 0)
        return "?";
    return cli_printf("%s", text);
}

/* Returns true if the variant is a contender (it may win) in its spec. Also returns true if `spec` is NULL or does not
 * have the variant. */
static bool contends(const kiln_spec *spec, const kept *k)
{
    int variant = spec ? kiln_spec_variant_find(spec, k->variant) : -1;
    return variant < 0 || kiln_spec_variant_contender(spec, (size_t)variant);
}

static bool is_better(const kiln_spec *spec, const kept *a, const kept *b)
{
    if (!b || (a->status == KILN_OK) != (b->status == KILN_OK))
        return !b || a->status == KILN_OK;
    if (contends(spec, a) != contends(spec, b))
        return contends(spec, a);
    return a->status == KILN_OK && tune_seconds(&a->result) < tune_seconds(&b->result);
}

static int by_problem(const void *left, const void *right)
{
    const kept *a = *(kept *const *)left, *b = *(kept *const *)right;
    int order = strcmp(a->spec, b->spec);
    order = order ? order : strcmp(a->file, b->file);
    order = order ? order : strcmp(a->device, b->device);
    order = order ? order : strcmp(a->sizes, b->sizes);
    return order ? order : (a->made > b->made) - (a->made < b->made);
}

static bool same_problem(const kept *a, const kept *b)
{
    return strcmp(a->spec, b->spec) == 0 && strcmp(a->file, b->file) == 0 && strcmp(a->device, b->device) == 0 &&
           strcmp(a->sizes, b->sizes) == 0;
}

/* Returns true if two specs in the list have the same name but different files. The list must be sorted by problem. */
static bool has_namesakes(const kept_list *list)
{
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->items[i - 1]->spec, list->items[i]->spec) == 0 &&
            strcmp(list->items[i - 1]->file, list->items[i]->file) != 0)
            return true;
    return false;
}

/* Prints one row for each problem (spec, sizes and device), with the best sample of the problem. */
static void show_problems(const cli *c, const kept_list *list)
{
    cli_table table;
    static const char *const heads[] = {"spec", "sizes", "device", "samples", "failed", "best", ""};
    qsort(list->items, list->count, sizeof *list->items, by_problem);
    const bool files = has_namesakes(list);
    table_start(&table, files ? "lllrrrll" : "lllrrrl");
    for (size_t i = 0; i < CLI_COUNT(heads); i++)
        table_cell(&table, "%s", heads[i]);
    if (files)
        table_cell(&table, "file");
    for (size_t from = 0, to; from < list->count; from = to) {
        const kept *best = NULL, *first = list->items[from];
        size_t failed = 0;
        kiln_spec *spec = NULL;
        kiln_error *error = NULL;
        if (kiln_spec_load(c->engine, *first->file ? first->file : first->spec, &spec, &error) != KILN_OK)
            /* a missing spec is no error, because the store may have samples of a spec that no longer exists */
            kiln_error_free(error);
        for (to = from; to < list->count && same_problem(first, list->items[to]); to++) {
            failed += list->items[to]->status != KILN_OK;
            best = is_better(spec, list->items[to], best) ? list->items[to] : best;
        }
        kiln_spec_free(spec);
        table_cell(&table, "%s", first->spec);
        table_cell(&table, "%s", first->sizes);
        table_cell(&table, "%s", first->device);
        table_cell(&table, "%s", cli_whole(to - from));
        table_cell(&table, "%s", cli_whole(failed));
        table_cell(&table, "%s", best->status == KILN_OK ? outcome(best) : "none");
        table_cell(&table, "%s", best->status == KILN_OK ? cli_printf("%s %s", best->variant, best->params) : "");
        if (files)
            table_cell(&table, "%s", first->file);
    }
    table_print(&table, true);
}

/* Returns the text that all samples have at this offset of their records. Returns NULL if the samples differ, or if
 * there is only one sample. */
static const char *common_text(const kept_list *list, size_t offset)
{
    const char *first = *(const char *const *)((const char *)list->items[0] + offset);
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(*(const char *const *)((const char *)list->items[i] + offset), first) != 0)
            return NULL;
    return list->count > 1 ? first : NULL;
}

/* Prints one row for each sample. If all samples share the device, the sizes or the variant, this value stands above
 * the table. */
static void show_samples(const kept_list *list)
{
    cli_table table;
    const char *device = common_text(list, offsetof(kept, device)), *sizes = common_text(list, offsetof(kept, sizes)),
               *variant = common_text(list, offsetof(kept, variant));
    const char *heads[] = {"made (UTC)", device ? "" : "device",   sizes ? "" : "sizes",
                           "time",       variant ? "" : "variant", "params"};
    const char *common = cli_printf("%s%s%s%s%s", device ? device : "", device && (sizes || variant) ? ", " : "",
                                    sizes ? sizes : "", sizes && variant ? ", " : "", variant ? variant : "");
    if (*common)
        out_printf("in all rows: %s\n", common);
    table_start(&table, "lllrll");
    for (size_t i = 0; i < CLI_COUNT(heads); i++)
        table_cell(&table, "%s", heads[i]);
    for (size_t i = 0; i < list->count; i++) {
        const kept *k = list->items[i];
        table_cell(&table, "%s", day_text(k->made));
        table_cell(&table, "%s", device ? "" : k->device);
        table_cell(&table, "%s", sizes ? "" : k->sizes);
        table_cell(&table, "%s", outcome(k));
        table_cell(&table, "%s", variant ? "" : k->variant);
        table_cell(&table, "%s", k->params);
    }
    table_print(&table, true);
}

static json_t *js_lines(const char *lines)
{
    json_t *array = js_array();
    for (const char *at = lines; *at;) {
        size_t line = strcspn(at, "\n");
        js_add(array, js_text(cli_strndup(at, line)));
        at += line + (at[line] != '\0');
    }
    return array;
}

static int add_json(void *user, const kiln_record *r)
{
    json_t *object = js_object(), *times = js_array();
#define SET(kind, name, unit, text) js_set(object, #name, js_text(r->name));
    KILN_RECORD_SUBJECT_MAP(SET)
    KILN_RECORD_ORIGIN_MAP(SET)
#undef SET
    js_set(object, "paths", js_lines(r->paths));
    js_set(object, "status", js_text(kiln_status_name(r->status)));
    js_set(object, "message", js_text(r->message));
    js_set(object, "params", js_settings(r->params, r->param_count));
    js_set(object, "sizes", js_settings(r->sizes, r->size_count));
    js_set(object, "features", js_settings(r->features, r->feature_count));
    js_set(object, "reusable", json_boolean(r->reusable));
    js_set(object, "result", r->status == KILN_OK ? js_result(r->result) : json_null());
    for (size_t i = 0; i < r->time_count; i++)
        js_add(times, js_real(r->times[i]));
    js_set(object, "times", times);
    js_set(object, "made", json_integer(r->made));
    js_add(user, object);
    return 0;
}

static int list_json(cli *c, kiln_store *store, const kiln_store_filter *filter)
{
    kiln_error *error = NULL;
    json_t *samples = js_array();
    if (kiln_store_list(store, filter, add_json, samples, &error) != KILN_OK) {
        json_decref(samples);
        return cli_error(c, error);
    }
    json_t *object = js_object();
    js_set(object, "store", js_text(kiln_store_path(store)));
    js_set(object, "samples", samples);
    js_print(object);
    return 0;
}

static int list_text(cli *c, kiln_store *store, const kiln_store_filter *filter)
{
    kiln_error *error = NULL;
    kept_list list = {0};
    const results_args *args = c->args;
    const char *store_text = args->store ? cli_printf(" --store %s", cli_shell_word(args->store)) : "";
    if (kiln_store_list(store, filter, keep_record, &list, &error) != KILN_OK)
        return cli_error(c, error);
    if (list.count > 0)
        filter->spec ? show_samples(&list) : show_problems(c, &list);
    if (list.count == 0 && filter->spec) {
        out_puts(cli_printf(
            "The store has no samples of '%s' that fit; 'kiln tune %s%s' makes some, and 'kiln results%s' lists the "
            "specs that have samples.\n",
            filter->spec, cli_shell_word(c->spec ? cli_spec_word(c, kiln_spec_path(c->spec)) : filter->spec),
            store_text, store_text));
    } else if (list.count == 0) {
        out_puts("No samples are stored; 'kiln tune SPEC' makes some.\n");
    }
    out_printf("%s sample%s in ", cli_whole(list.count), list.count == 1 ? "" : "s");
    out_puts(kiln_store_path(store));
    out_puts("\n");
    return 0;
}

/* ---- comparing ---- */

static bool contains(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text; text++)
        if (strncasecmp(text, part, length) == 0)
            return true;
    return false;
}

/* Returns true if the text `side` selects the sample. `side` is the name of a device, or a version such as "driver
 * 13.0", "nvrtc 12.9" or "kiln 0.1.0". */
static bool is_on(const kept *k, const char *side)
{
    const struct {
        const char *name, *version;
    } versions[] = {
        {"driver ", k->driver},
        {"nvrtc ", k->nvrtc},
        {"kiln ", k->kiln},
    };
    for (size_t i = 0; i < CLI_COUNT(versions); i++) {
        size_t length = strlen(versions[i].name);
        if (strncmp(side, versions[i].name, length) == 0)
            return strcmp(side + length, versions[i].version) == 0;
    }
    return strcmp(k->device_id, side) == 0 || strcmp(k->uuid, side) == 0 || contains(k->device, side);
}

typedef struct pair {
    const kept *a, *b;
    double ratio;
} pair;

static int by_configuration(const void *left, const void *right)
{
    const kept *a = *(kept *const *)left, *b = *(kept *const *)right;
    int order = strcmp(a->variant, b->variant);
    order = order ? order : strcmp(a->params, b->params);
    order = order ? order : strcmp(a->sizes, b->sizes);
    return order ? order : (a->made > b->made) - (a->made < b->made);
}

static bool same_configuration(const kept *a, const kept *b)
{
    return strcmp(a->variant, b->variant) == 0 && strcmp(a->params, b->params) == 0 && strcmp(a->sizes, b->sizes) == 0;
}

static int by_ratio(const void *left, const void *right)
{
    double a = ((const pair *)left)->ratio, b = ((const pair *)right)->ratio;
    return (a > b) - (a < b);
}

/* Pairs the configurations that worked on both sides, and sorts the pairs by the ratio of their times. Each
 * configuration has its latest sample on each side. Only times of the same kind (measured, estimated, ...) are
 * compared. Returns the number of pairs. */
static size_t make_pairs(const kept_list *list, const char *const sides[2], pair *pairs)
{
    size_t count = 0;
    if (list->count == 0)
        return 0; /* an empty list is not sorted, because qsort() must not get NULL */
    qsort(list->items, list->count, sizeof *list->items, by_configuration);
    for (size_t from = 0, to; from < list->count; from = to) {
        const kept *a = NULL, *b = NULL;
        for (to = from; to < list->count && same_configuration(list->items[from], list->items[to]); to++) {
            const kept *k = list->items[to];
            a = k->status == KILN_OK && is_on(k, sides[0]) ? k : a;
            b = k->status == KILN_OK && is_on(k, sides[1]) ? k : b;
        }
        if (!a || !b || a->result.measured != b->result.measured || a->result.estimated != b->result.estimated)
            continue;
        double x = tune_seconds(&a->result), y = tune_seconds(&b->result);
        if (x > 0 && y > 0)
            pairs[count++] = (pair){a, b, y / x};
    }
    qsort(pairs, count, sizeof *pairs, by_ratio);
    return count;
}

static void compare_json(const pair *pairs, size_t count)
{
    json_t *object = js_object(), *array = js_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = js_object();
        js_set(row, "variant", js_text(pairs[i].a->variant));
        js_set(row, "params", js_text(pairs[i].a->params));
        js_set(row, "sizes", js_text(pairs[i].a->sizes));
        js_set(row, "seconds_a", js_real(tune_seconds(&pairs[i].a->result)));
        js_set(row, "seconds_b", js_real(tune_seconds(&pairs[i].b->result)));
        js_set(row, "ratio", js_real(pairs[i].ratio));
        js_add(array, row);
    }
    js_set(object, "pairs", array);
    js_set(object, "median_ratio", count ? js_real(pairs[count / 2].ratio) : json_null());
    js_print(object);
}

static void compare_text(const pair *pairs, size_t count, size_t top, const char *const sides[2])
{
    cli_table table;
    table_start(&table, "rrrlll");
    const char *const heads[] = {sides[0], sides[1], "ratio", "sizes", "variant", "params"};
    for (size_t i = 0; i < CLI_COUNT(heads); i++)
        table_cell(&table, "%s", heads[i]);
    for (size_t i = 0; i < count; i++) {
        if (count > 2 * top && i >= top && i < count - top)
            continue;
        table_cell(&table, "%s%s", cli_seconds(tune_seconds(&pairs[i].a->result)), kind_text(&pairs[i].a->result));
        table_cell(&table, "%s", cli_seconds(tune_seconds(&pairs[i].b->result)));
        table_cell(&table, "%.3f", pairs[i].ratio);
        table_cell(&table, "%s", pairs[i].a->sizes);
        table_cell(&table, "%s", pairs[i].a->variant);
        table_cell(&table, "%s", pairs[i].a->params);
    }
    if (count)
        table_print(&table, true);
    out_printf("%s configuration%s worked on both", cli_whole(count), count == 1 ? "" : "s");
    if (count)
        out_printf("; median ratio %.3f", pairs[count / 2].ratio);
    if (count > 2 * top)
        out_printf("; showing the %s lowest and highest", cli_whole(top));
    out_puts("\n");
}

static int compare(cli *c, kiln_store *store, const kiln_store_filter *filter, const char *const sides[2])
{
    const results_args *args = c->args;
    kiln_error *error = NULL;
    kept_list list = {0};
    if (kiln_store_list(store, filter, keep_record, &list, &error) != KILN_OK)
        return cli_error(c, error);
    pair *pairs = cli_alloc((list.count + 1) * sizeof *pairs);
    size_t count = make_pairs(&list, sides, pairs);
    if (c->output.json)
        compare_json(pairs, count);
    else
        compare_text(pairs, count, args->top ? (size_t)args->top : 10, sides);
    return 0;
}

/* ---- the actions export, import and prune ---- */

static int say_count(cli *c, uint64_t count, const char *field, const char *text)
{
    if (c->output.json) {
        json_t *object = js_object();
        js_set(object, field, js_whole(count));
        js_print(object);
    } else {
        out_printf("%s sample%s %s\n", cli_whole(count), count == 1 ? "" : "s", text);
    }
    return 0;
}

static kiln_format format_of(const cli *c)
{
    const results_args *args = c->args;
    return args->format ? (kiln_format)kiln_format_find(args->format) : KILN_FORMAT_AUTO;
}

static int export_to(cli *c, kiln_store *store, const kiln_store_filter *filter, const char *path)
{
    uint64_t written = 0;
    kiln_error *error = NULL;
    if (kiln_store_export(store, filter, path, format_of(c), &written, &error) != KILN_OK)
        return cli_error(c, error);
    return say_count(c, written, "written", "written");
}

static int import_from(cli *c, kiln_store *store, const char *path)
{
    uint64_t read = 0, taken = 0;
    kiln_error *error = NULL;
    if (kiln_store_import(store, path, &read, &taken, &error) != KILN_OK)
        return cli_error(c, error);
    return say_count(c, taken, "taken",
                     taken == read
                         ? "imported"
                         : cli_printf("imported of %s; the others were in the store already", cli_whole(read)));
}

static int prune(cli *c, kiln_store *store, const kiln_store_filter *filter)
{
    uint64_t removed = 0;
    kiln_error *error = NULL;
    if (kiln_store_prune(store, filter, &removed, &error) != KILN_OK)
        return cli_error(c, error);
    return say_count(c, removed, "removed", "removed");
}

/* ---- the command ---- */

/* One row of the table: X(action, arguments before SPEC, arguments after SPEC, whether SPEC may be left out, whether
 * the action writes) */
#define ACTIONS(X)                                                                                                     \
    X(list, 0, 0, true, false)                                                                                         \
    X(compare, 0, 2, false, false)                                                                                     \
    X(export, 1, 0, true, false)                                                                                       \
    X(import, 1, -1, true, true)                                                                                       \
    X(prune, 0, 0, true, true)                                                                                         \
    X(convert, 2, -1, true, false)
enum action {
#define CLI_X(name, before, after, optional, writes) ACTION_##name,
    ACTIONS(CLI_X)
#undef CLI_X
        ACTION_COUNT
};
static const struct {
    const char *name;
    int before, after;
    bool optional, writes;
} actions[] = {
#define CLI_X(name, before, after, optional, writes) {#name, before, after, optional, writes},
    ACTIONS(CLI_X)
#undef CLI_X
};

static int run_action(cli *c, kiln_store *store, enum action action, const kiln_store_filter *filter,
                      const char *const *words)
{
    const results_args *args = c->args;
    switch (action) {
    case ACTION_compare: return compare(c, store, filter, words + 1);
    case ACTION_export: return export_to(c, store, filter, words[0]);
    case ACTION_import: return import_from(c, store, words[0]);
    case ACTION_prune: return prune(c, store, filter);
    default:
        return args->csv ? export_to(c, store, filter, args->csv)
                         : (c->output.json ? list_json : list_text)(c, store, filter);
    }
}

static int results_run(cli *c)
{
    const results_args *args = c->args;
    const char *const *words = c->words.items;
    size_t count = c->words.count;
    enum action action = ACTION_list;
    for (size_t i = 0; i < ACTION_COUNT && count; i++)
        if (strcmp(words[0], actions[i].name) == 0)
            action = (enum action)i;
    bool named = count && strcmp(words[0], actions[action].name) == 0;
    if (named) { /* without arguments, `words` is NULL, and C does not define an addition to NULL */
        words++;
        count--;
    }
    size_t before = (size_t)actions[action].before, most = before + 1 + (size_t)actions[action].after;
    size_t least = actions[action].optional ? before : most;
    if (count < least)
        return cli_usage(c, "%s",
                         action == ACTION_compare   ? "compare needs SPEC and two devices or versions"
                         : action == ACTION_convert ? "convert needs two files: from, to"
                                                    : cli_printf("%s needs a file", actions[action].name));
    if (count > most)
        return cli_usage(c, "one argument too many: '%s'", words[most]);
    kiln_store_filter filter = {.size = sizeof filter,
                                .spec = count > before ? words[before] : NULL,
                                .variant = args->variant,
                                .device = args->device,
                                .failed = args->failed};
    if (!cli_make_sizes(c, &args->sizes, &filter.sizes))
        return CLI_USAGE;
    filter.size_count = args->sizes.count;
    if (args->older > 0) /* the value 0 would mean that there is no limit */
        filter.before = (int64_t)fmax(((double)time(NULL) - args->older * 86400) * 1e6, -9e18);
    if (action == ACTION_prune && !args->all && !filter.spec && !filter.variant && !filter.device && !filter.failed &&
        !filter.before && !filter.size_count)
        return cli_usage(
            c, "prune needs to know what to remove: SPEC, --variant, --size, --device, --failed, --older, or --all");
    int code = cli_engine(c, NULL);
    kiln_store *store = NULL;
    kiln_error *error = NULL;
    if (code)
        return code;
    if (filter.spec && (code = cli_stored_spec(c, filter.spec, &filter.spec, &filter.path)) != 0)
        return code;
    if (action == ACTION_convert) {
        kiln_status status = kiln_recording_convert(c->engine, words[0], words[1], format_of(c), &error);
        return status == KILN_OK ? 0 : cli_error(c, error);
    }
    if (action == ACTION_import)
        cli_catch_signals("");
    if (kiln_store_open(c->engine, args->store, actions[action].writes ? 0 : KILN_STORE_READ, &store, &error) !=
        KILN_OK)
        return cli_error(c, error);
    code = run_action(c, store, action, &filter, words);
    kiln_store_close(store);
    return code;
}

#define FIELD(field) offsetof(results_args, field)

static const cli_option options[] = {
    {"variant", 'v', CLI_TEXT, FIELD(variant), "NAME", CLI_NOTHING, NULL, "Only samples of this variant."},
    {"size", 's', CLI_LIST, FIELD(sizes), "NAME=VALUE", CLI_NOTHING, NULL, "Only samples with this size. Repeatable."},
    {"device", 'd', CLI_TEXT, FIELD(device), "DEVICE", CLI_NOTHING, NULL,
     "Only samples of devices with this in their name, or with this id or uuid."},
    {"failed", 0, CLI_FLAG, FIELD(failed), NULL, CLI_NOTHING, NULL, "Only samples that failed."},
    {"older", 0, CLI_NUMBER, FIELD(older), "DAYS", CLI_NOTHING, NULL, "Only samples older than this many days."},
    {"all", 0, CLI_FLAG, FIELD(all), NULL, CLI_NOTHING, NULL, "For prune: remove every sample."},
    {"top", 0, CLI_WHOLE, FIELD(top), "COUNT", CLI_NOTHING, NULL,
     "For compare: the number of lowest ratios, and of highest ratios, in the output. Default: 10."},
    {"csv", 0, CLI_TEXT, FIELD(csv), "FILE", CLI_FILES, NULL,
     "Write the listed samples to a file, in the format of export."},
    {"format", 0, CLI_WORD, FIELD(format), "FORMAT", CLI_WORDS, "auto csv t4 kernel-tuner",
     "The format that export or convert writes: csv (export only), t4 or kernel-tuner. With the default, auto, "
     "export chooses t4 if the name ends in .json or .json.gz, and csv otherwise; convert chooses t4 if the name "
     "contains '.t4.', and the format of the input otherwise."},
    CLI_STORE_OPTION(FIELD(store)),
};
static const cli_group group = {"Results", options, CLI_COUNT(options)};

const cli_command cli_results_command = {
    .name = "results",
    .summary = "list, compare, export, import and remove stored samples",
    .arguments =
        "[list] [SPEC] | compare SPEC A B | export FILE [SPEC] | import FILE | prune [SPEC] | convert FILE FILE",
    .about =
        "`kiln tune` stores every sample in a file at once. Without SPEC this command lists all problems with the "
        "best sample of each. A problem is a spec, its sizes and a device. With SPEC it lists all samples of the spec.\n\n"
        "`compare` compares the times of each configuration on two devices, or with two versions: 'driver 13.0', "
        "'nvrtc 12.9', 'kiln 0.1.0'. \n\n"
        "`export` writes samples as comma-separated values. It can also write the samples of one spec, at one set of "
        "sizes on one device, as T4 results or as Kernel Tuner's file; `kiln tune --replay` searches these. Each "
        "format holds the samples completely.\n\n"
        "`import` reads any of these files, from kiln or from other programs. If there are two samples of the same "
        "configuration, it keeps the later one.\n\n"
        "`prune` removes samples. A later sweep measures them again.\n\n"
        "`convert` rewrites a recorded space between Kernel Tuner's cache file and T4 results, without loss. It can "
        "also compress the file (.gz), or repair a truncated one. It does not use the store.",
    .max_words = 4,
    .completes = CLI_WORDS,
    .words = "list compare export import prune convert",
    .args_size = sizeof(results_args),
    .groups = (const cli_use[]){{&group, 0}, {0}},
    .examples =
        (const cli_example[]){
            {"kiln results matmul --device h200", "All samples of a spec on one kind of device."},
            {"kiln results compare matmul h100 h200", "Shows which configurations became faster."},
            {"kiln results export matmul.csv matmul", "Writes a file that you can import on another machine."},
            {"kiln results export matmul.t4.json matmul -s N=4096", "As T4 results."},
            {"kiln results prune --older 90", "Removes samples older than 90 days."},
            {"kiln results convert gemm.json.gz gemm.t4.json", "Kernel Tuner's file as T4."},
            {0}},
    .run = results_run,
};
