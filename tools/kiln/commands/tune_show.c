/* tune_show.c - shows the results of a sweep: a ranked table, the best of each variant, failures by reason, totals. */
#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end_to_end.h"
#include "tune.h"

double tune_seconds(const kiln_result *result)
{
    return result->measured || result->estimated ? result->seconds : result->host_seconds;
}

static const kiln_sample *best_of(const kiln_tuning *tuning)
{
    const kiln_sample *first = kiln_tuning_count(tuning) ? kiln_tuning_sample(tuning, 0) : NULL;
    return first && first->status == KILN_OK ? first : NULL;
}

/* Returns the command line with the sizes and inputs that the user gave. */
static const char *with_data(const tune_args *args, const char *line)
{
    for (size_t i = 0; i < args->choice.sizes.count; i++)
        line = cli_printf("%s -s %s", line, cli_shell_word(args->choice.sizes.items[i]));
    for (size_t i = 0; i < args->run.inputs.count; i++)
        line = cli_printf("%s -i %s", line, cli_shell_word(args->run.inputs.items[i]));
    return line;
}

/* Returns a command line that runs the configuration of a sample again. */
static const char *command_again(const cli *c, const tune_view *view, const kiln_sample *sample)
{
    const tune_args *args = c->args;
    const char *line = cli_printf("kiln run %s -v %s", cli_shell_word(c->words.items[0]),
                                  cli_shell_word(sample->variant));
    for (size_t i = 0; i < sample->param_count; i++)
        line = cli_printf(
            "%s -p %s", line,
            cli_shell_word(cli_printf("%s=%s", sample->params[i].name, cli_value_text(sample->params[i].value))));
    line = with_data(args, line);
    if (view->small)
        line = cli_printf("%s -s %s", line, cli_shell_word(view->size_set));
    line = cli_printf("%s%s%s", line, view->small || args->run.no_verify ? " --no-verify" : "",
                      cli_spec_options(&args->engine));
    bool several = args->engine.device && (strchr(args->engine.device, ',') || strcmp(args->engine.device, "all") == 0);
    const char *device = several ? sample->device : args->engine.device;
    return device && *device ? cli_printf("%s -d %s", line, cli_shell_word(device)) : line;
}

/* Returns the command line that checks the configurations of the sweep. `kiln check` runs on the simulated device at
 * small sizes, because this device would take too long at the sizes of a GPU. */
static const char *check_line(const cli *c, const tune_view *view)
{
    const tune_args *args = c->args;
    const char *line = cli_printf("kiln check %s", cli_shell_word(c->words.items[0]));
    for (size_t i = 0; i < args->variants.count; i++)
        line = cli_printf("%s -v %s", line, cli_shell_word(args->variants.items[i]));
    for (size_t i = 0; i < args->choice.params.count; i++)
        line = cli_printf("%s -p %s", line, cli_shell_word(args->choice.params.items[i]));
    if (view->device->simulated || args->run.inputs.count)
        line = with_data(args, line);
    return cli_printf("%s%s", line, cli_spec_options(&args->engine));
}

/* ---- the ranked table ---- */

static const char *time_heading(const kiln_result *result, const char *unit)
{
    if (result->measured)
        return unit;
    if (result->estimated)
        return cli_printf("estimated %s", unit);
    return result->host_seconds > 0 ? cli_printf("simulated %s", unit) : "";
}

#define MOST_METRICS 4 /* largest number of metric columns; --json and --csv have all metrics */

static const char *bare_objective(const char *text)
{
    return strncmp(text, "min:", 4) == 0 || strncmp(text, "max:", 4) == 0 ? text + 4 : text;
}

/* Returns true if an objective gets its own column. Time always has a column. */
static bool has_column(const char *objective)
{
    return strcmp(objective, "time") != 0 && strcmp(objective, "min:time") != 0;
}

/* A sample of a table, with its rank. */
typedef struct ranked_sample {
    const kiln_sample *sample;
    size_t rank; /* from 0 */
} ranked_sample;

typedef struct rows {
    cli_table table;
    /* a sample whose common params stand in the title of the table; NULL means that the title has no params */
    const kiln_sample *common;
    bool *is_common; /* true for each param that has one value in all rows */
    double unit;
    bool timed, flops, bytes, roofline, rank, ties;
    const cli_list *objectives;
    cli_list metrics; /* the metrics of the spec that have a column */
} rows;

/* Starts the table of ranked samples. A column is shown only if some sample has a value for it. The best sample decides
 * the unit of time. */
static void start_rows(rows *r, const cli *c, const kiln_tuning *tuning, const kiln_sample *best, bool rank)
{
    const tune_args *args = c->args;
    const char *unit = cli_time_unit(tune_seconds(best->result), &r->unit);
    const kiln_verdict *verdict = kiln_tuning_verdict(tuning);
    r->rank = rank;
    r->ties = verdict->tied > 1;
    r->timed = best->result->measured || best->result->estimated;
    r->flops = r->bytes = r->roofline = false;
    for (size_t i = 0; r->timed && i < kiln_tuning_count(tuning); i++) {
        const kiln_sample *sample = kiln_tuning_sample(tuning, i);
        r->flops |= sample->status == KILN_OK && sample->result->flops > 0;
        r->bytes |= sample->status == KILN_OK && sample->result->bytes > 0;
        r->roofline |= sample->status == KILN_OK && sample->result->roofline > 0;
    }
    r->objectives = &args->objectives;
    char *align = cli_printf("r");
    for (size_t i = 0; i < r->objectives->count; i++)
        align = cli_printf("%s%s", align, has_column(r->objectives->items[i]) ? "r" : "");
    const char *text = best->result->metrics.text;
    r->metrics = (cli_list){0};
    for (const char *name; r->metrics.count < MOST_METRICS && (name = cli_named_number(&text, &(double){0}));) {
        bool shown = false;
        for (size_t i = 0; i < r->objectives->count && !shown; i++)
            shown = strcmp(bare_objective(r->objectives->items[i]), name) == 0;
        if (!shown) {
            cli_list_add(&r->metrics, name);
            align = cli_printf("%sr", align);
        }
    }
    table_start(&r->table, cli_printf("%srrrrll", align));
    r->table.indent = 2;
    table_cell(&r->table, "%s", rank ? "rank" : "");
    for (size_t i = 0; i < r->objectives->count; i++)
        if (has_column(r->objectives->items[i]))
            table_cell(&r->table, "%s", r->objectives->items[i]);
    table_cell(&r->table, "%s", time_heading(best->result, unit));
    table_cell(&r->table, "%s", r->flops ? "GFLOP/s" : "");
    table_cell(&r->table, "%s", r->bytes ? "GB/s" : "");
    table_cell(&r->table, "%s", r->roofline ? "roofline" : "");
    for (size_t i = 0; i < r->metrics.count; i++)
        table_cell(&r->table, "%s", r->metrics.items[i]);
    table_cell(&r->table, "variant");
    table_cell(&r->table, "configuration");
}

/* Returns true if this sample has no time although other samples have times. A sample without a time is ranked last. */
static bool is_untimed(const kiln_sample *sample, bool timed)
{
    return timed && sample->status == KILN_OK && !sample->result->measured && !sample->result->estimated;
}

static const kiln_setting *find_param(const kiln_sample *sample, const char *name)
{
    for (size_t i = 0; i < sample->param_count; i++)
        if (strcmp(sample->params[i].name, name) == 0)
            return &sample->params[i];
    return NULL;
}

/* Finds the params that have one value in all rows of the table. If the table has a single row, all params stay in the
 * row. */
static void find_common(rows *r, const ranked_sample *list, size_t count)
{
    r->common = count > 1 ? list[0].sample : NULL;
    if (!r->common)
        return;
    r->is_common = cli_alloc((r->common->param_count + 1) * sizeof *r->is_common);
    for (size_t p = 0; p < r->common->param_count; p++) {
        const kiln_setting *param = &r->common->params[p];
        r->is_common[p] = true;
        for (size_t i = 1; i < count && r->is_common[p]; i++) {
            const kiln_setting *other = find_param(list[i].sample, param->name);
            r->is_common[p] = other && strcmp(cli_value_text(other->value), cli_value_text(param->value)) == 0;
        }
    }
}

/* Returns the params of a row that are not in the title of the table. */
static const char *own_settings(const rows *r, const kiln_sample *sample)
{
    kiln_setting *own = cli_alloc((sample->param_count + 1) * sizeof *own);
    size_t count = 0;
    for (size_t i = 0; i < sample->param_count; i++) {
        const kiln_setting *common = r->common ? find_param(r->common, sample->params[i].name) : NULL;
        if (!common || !r->is_common[common - r->common->params])
            own[count++] = sample->params[i];
    }
    return cli_settings_text(own, count);
}

static void add_row(rows *r, const kiln_sample *sample, size_t rank)
{
    const kiln_result *result = sample->result;
    const bool untimed = is_untimed(sample, r->timed);
    double seconds = untimed ? 0 : tune_seconds(result);
    table_cell(&r->table, "%s", r->rank ? cli_printf("%s%zu", r->ties && sample->tied ? "= " : "", rank + 1) : "");
    for (size_t i = 0; i < r->objectives->count; i++)
        if (has_column(r->objectives->items[i]))
            table_cell(&r->table, "%s", untimed ? "" : cli_significant(sample->objectives[i], 4));
    table_cell(&r->table, "%s", untimed ? "none" : seconds > 0 ? cli_printf("%.3f", seconds / r->unit) : "");
    table_cell(&r->table, "%s",
               r->flops && result->flops > 0 && !untimed ? cli_printf("%.1f", result->flops / seconds / 1e9) : "");
    table_cell(&r->table, "%s",
               r->bytes && result->bytes > 0 && !untimed ? cli_printf("%.1f", result->bytes / seconds / 1e9) : "");
    table_cell(&r->table, "%s", r->roofline && !untimed ? cli_printf("%.1f %%", 100 * result->roofline) : "");
    for (size_t i = 0; i < r->metrics.count; i++) {
        double value;
        bool known = cli_find_number(result->metrics.text, r->metrics.items[i], &value);
        table_cell(&r->table, "%s", !known ? "" : value == 0 ? "0" : cli_significant(value, 4));
    }
    table_cell(&r->table, sample->contender ? "%s" : "(%s)", sample->variant);
    table_cell(&r->table, "%s", own_settings(r, sample));
}

/* Prints a table of these samples. The line above the table has the params that have one value in all rows. */
static void show_rows(const cli *c, const kiln_tuning *tuning, const kiln_sample *best, bool rank,
                      const ranked_sample *list, size_t count)
{
    rows r;
    start_rows(&r, c, tuning, best, rank);
    find_common(&r, list, count);
    const char *common = "";
    for (size_t p = 0; r.common && p < r.common->param_count; p++)
        if (r.is_common[p])
            common = cli_printf("%s %s", common, cli_settings_text(&r.common->params[p], 1));
    if (*common)
        out_wrapped(cli_printf("in all rows:%s", common), 2, out_width());
    for (size_t i = 0; i < count; i++)
        add_row(&r, list[i].sample, list[i].rank);
    table_print(&r.table, true);
}

static void show_ranked(cli *c, const kiln_tuning *tuning, const kiln_sample *best)
{
    const tune_args *args = c->args;
    uint64_t top = args->top ? args->top : 10;
    size_t count = kiln_tuning_count(tuning), right = 0;
    ranked_sample *list = cli_alloc((count + 1) * sizeof *list);
    for (; right < count && kiln_tuning_sample(tuning, right)->status == KILN_OK; right++)
        list[right] = (ranked_sample){kiln_tuning_sample(tuning, right), right};
    show_rows(c, tuning, best, true, list, right < top ? right : (size_t)top);
    if (right > top)
        out_printf("  ... and %s more (--top)\n", cli_whole(right - top));
}

/* Prints how certain it is that the first configuration is the best. */
static void show_verdict(const kiln_tuning *tuning, const kiln_sample *best)
{
    const kiln_verdict *v = kiln_tuning_verdict(tuning);
    const char *again = cli_printf("measured again, alternating, %u rounds%s", v->rounds,
                                   v->reused ? " in an earlier sweep" : "");
    if (v->tied > 1 && v->rounds)
        out_printf("  %s configurations (marked =) cannot be distinguished: %s\n", cli_whole(v->tied), again);
    else if (v->rounds)
        out_printf("  the first is faster than the next %s, by %.1f %% or more: %s\n", cli_whole(v->finalists - 1),
                   100 * v->margin, again);
    else if (v->tied > 1)
        out_printf("  %s configurations (marked =) have the same estimate\n", cli_whole(v->tied));
    else if (v->finalists == 1 && kiln_tuning_count(tuning) > 1)
        out_printf("  no other configuration is within %.0f %% of the first\n", 100 * v->near);
    else if (best->result->measured && *v->why_not)
        out_printf("  the fastest were not measured again: %s\n", v->why_not);
    if (v->refuted)
        out_printf("  %s that had been the fastest failed in a later run: see the failures\n", cli_whole(v->refuted));
    if (v->verified_runs > 1)
        out_printf("  the answer of the first configuration was right in each of %s runs\n",
                   cli_whole(v->verified_runs));
}

static void show_variants(const cli *c, const kiln_tuning *tuning, const kiln_sample *best)
{
    cli_list seen = {0};
    ranked_sample *list = cli_alloc((kiln_tuning_count(tuning) + 1) * sizeof *list);
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++) {
        const kiln_sample *sample = kiln_tuning_sample(tuning, i);
        bool known = sample->status != KILN_OK;
        for (size_t k = 0; k < seen.count && !known; k++)
            known = strcmp(seen.items[k], sample->variant) == 0;
        if (known)
            continue;
        list[seen.count] = (ranked_sample){sample, i};
        cli_list_add(&seen, sample->variant);
    }
    if (seen.count < 2)
        return;
    out_printf("\n%sThe best of each variant%s\n", out_bold(), out_plain());
    show_rows(c, tuning, best, false, list, seen.count);
}

/* Returns the costs of the inputs for the best sample of each variant; *count becomes the number of costs. */
static whole_cost *whole_costs(const kiln_tuning *tuning, size_t *count)
{
    size_t total = kiln_tuning_count(tuning);
    whole_cost *costs = cli_alloc((total + 1) * sizeof *costs);
    *count = 0;
    for (size_t i = 0; i < total; i++) {
        const kiln_sample *sample = kiln_tuning_sample(tuning, i);
        bool known = sample->status != KILN_OK;
        for (size_t k = 0; k < *count && !known; k++)
            known = strcmp(costs[k].variant, sample->variant) == 0;
        if (!known)
            costs[(*count)++] = whole_cost_of(sample->variant, sample->result);
    }
    return costs;
}

/* If the user gave several objectives, prints the Pareto front, sorted by the first objective. */
static void show_front(const cli *c, const kiln_tuning *tuning, const kiln_sample *best)
{
    const tune_args *args = c->args;
    if (args->objectives.count < 2)
        return;
    ranked_sample *list = cli_alloc((kiln_tuning_count(tuning) + 1) * sizeof *list);
    size_t count = 0;
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++)
        if (kiln_tuning_sample(tuning, i)->front)
            list[count++] = (ranked_sample){kiln_tuning_sample(tuning, i), i};
    out_printf("\n%sPareto front: no configuration is better than one of these in every objective%s\n", out_bold(),
               out_plain());
    show_rows(c, tuning, best, true, list, count);
}

/* ---- failures by reason ---- */

typedef struct reason {
    const char *key;
    const kiln_sample *example;
    size_t count;
} reason;

/* Returns a message without the name of the configuration at its start, because the name is shown separately. */
static const char *bare_message(const kiln_sample *sample)
{
    const char *label = cli_printf("%s %s: ", sample->variant, cli_settings_text(sample->params, sample->param_count));
    size_t length = strlen(label);
    return strncmp(sample->message, label, length) == 0 ? sample->message + length : sample->message;
}

/* Returns the part of a message that all configurations with the same failure share: its first two lines, with numbers
 * replaced. */
static const char *reason_key(const kiln_sample *sample)
{
    const char *label = cli_printf("%s %s", sample->variant, cli_settings_text(sample->params, sample->param_count));
    const char *message = sample->message, *at = strstr(message, label);
    if (at)
        message = cli_printf("%.*s%s", (int)(at - message), message, at + strlen(label));
    size_t length = strcspn(message, "\n");
    if (message[length])
        /* a compile error: the key has the line "does not compile" and the first reason */
        length += 1 + strcspn(message + length + 1, "\n");
    char *key = cli_printf("%s: %.*s", kiln_status_name(sample->status), (int)(length < 300 ? length : 300), message);
    char *to = key;
    for (const char *from = key; *from;) {
        bool number = isdigit((unsigned char)*from);
        while (number && (isalnum((unsigned char)*from) || (*from == '.' && isdigit((unsigned char)from[1]))))
            from++;
        *to++ = number ? '#' : *from++;
    }
    *to = '\0';
    return key;
}

static size_t group_reasons(const kiln_tuning *tuning, reason **out)
{
    size_t total = kiln_tuning_count(tuning), count = 0;
    reason *reasons = cli_alloc((total + 1) * sizeof *reasons);
    for (size_t i = 0; i < total; i++) {
        const kiln_sample *sample = kiln_tuning_sample(tuning, i);
        if (sample->status == KILN_OK)
            continue;
        const char *key = reason_key(sample);
        size_t at = 0;
        while (at < count && strcmp(reasons[at].key, key) != 0)
            at++;
        if (at == count)
            reasons[count++] = (reason){key, sample, 0};
        reasons[at].count++;
    }
    /* an insertion sort, with the most frequent reason first, suffices for few reasons */
    for (size_t i = 1; i < count; i++) {
        reason moved = reasons[i];
        size_t at = i;
        for (; at > 0 && reasons[at - 1].count < moved.count; at--)
            reasons[at] = reasons[at - 1];
        reasons[at] = moved;
    }
    *out = reasons;
    return count;
}

static void show_failures(const kiln_tuning *tuning)
{
    reason *reasons;
    size_t count = group_reasons(tuning, &reasons);
    if (count == 0)
        return;
    out_printf("\n%sFailed, by reason%s\n", out_bold(), out_plain());
    for (size_t i = 0; i < count && i < 20; i++) {
        const kiln_sample *example = reasons[i].example;
        out_printf("  %s x %s%s%s\n", cli_whole(reasons[i].count), out_red(), kiln_status_text(example->status),
                   out_plain());
        const char *line = bare_message(example);
        /* a compile log may be long, so only its first lines are shown; kiln run shows the whole log */
        for (int lines = 0; *line && lines < 6;) {
            size_t length = strcspn(line, "\n");
            if (length) {
                out_puts("      ");
                out_puts(cli_strndup(line, length < 400 ? length : 400));
                out_puts("\n");
                lines++;
            }
            line += length + (line[length] == '\n');
        }
        out_printf("      as in %s %s\n", example->variant, cli_settings_text(example->params, example->param_count));
    }
    if (count > 20)
        out_printf("  and %zu more reasons\n", count - 20);
}

static void show_left_out(const kiln_tuning *tuning)
{
    const kiln_left_out *left;
    for (size_t i = 0; (left = kiln_tuning_left_out(tuning, i)) != NULL; i++) {
        if (i == 0)
            out_printf("\n%sLeft out%s\n", out_bold(), out_plain());
        out_printf("  %s  %s\n", left->variant, left->why);
    }
}

static json_t *left_out_json(const kiln_tuning *tuning)
{
    json_t *list = js_array();
    const kiln_left_out *left;
    for (size_t i = 0; (left = kiln_tuning_left_out(tuning, i)) != NULL; i++) {
        json_t *one = js_object();
        js_set(one, "variant", js_text(left->variant));
        js_set(one, "why", js_text(left->why));
        js_add(list, one);
    }
    return list;
}

/* ---- the whole output ---- */

static const char *end_name(kiln_end end)
{
    static const char *const names[] = {
#define KILN_X(name, text) #name,
        KILN_END_MAP(KILN_X)
#undef KILN_X
    };
    char *name = cli_printf("%s", names[end]);
    for (char *at = name; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return name;
}

static const char *end_text(kiln_end end)
{
    static const char *const texts[] = {
#define KILN_X(name, text) text,
        KILN_END_MAP(KILN_X)
#undef KILN_X
    };
    return texts[end];
}

/* Tells why a sweep ended. If a sweep ended early, tells whether the user or an error ended it, and shows the error. */
static const char *end_reason(const tune_view *view, kiln_end end)
{
    if (end != KILN_END_EARLY || !view->ended)
        return end_text(end);
    if (view->status == KILN_ERROR_INTERRUPTED)
        return "interrupted";
    return cli_printf("by an error: %s", cli_strndup(view->ended, strcspn(view->ended, "\n")));
}

/* Prints the totals of the sweep: the number of samples by outcome, the reason for its end, the use of the cache, and
 * the times of its parts. Rows without a value are not printed. */
static void show_totals(const cli *c, const tune_view *view, const kiln_tuning *tuning)
{
    const tune_checked *checked = &view->checked;
    const kiln_tuning_totals *t = kiln_tuning_sum(tuning);
    cli_table table;
    table_start(&table, "ll");
    table.indent = 2;
    table_cell(&table, "configurations");
    uint64_t unchecked = t->configurations - t->verified - t->failed;
    table_cell(&table, "%s: %s verified, %s failed%s", cli_whole(t->configurations), cli_whole(t->verified),
               cli_whole(t->failed), unchecked ? cli_printf(", %s not checked", cli_whole(unchecked)) : "");
    if (checked->sizes) {
        const size_t severe = findings_severe(&checked->found);
        const char *found = severe == 1 ? ": 1 finding"
                            : severe    ? cli_printf(": %zu findings", severe)
                                        : ": nothing found";
        table_cell(&table, "checked");
        table_cell(&table, "%s of %s winner%s at %s%s", cli_whole(checked->runs),
                   cli_whole(checked->runs + checked->failed), checked->runs + checked->failed == 1 ? "" : "s",
                   checked->sizes, checked->runs || severe ? found : "");
    }
    /* a right answer does not exclude races and other errors that the checks find */
    if ((t->verified || checked->sizes) && c->words.count > 0) {
        table_cell(&table, "not checked");
        table_cell(&table, "races, barriers, accesses out of bounds%s: %s",
                   checked->sizes ? " in all others, and at other sizes" : "", check_line(c, view));
    }
    if (t->reused) {
        table_cell(&table, "kept");
        table_cell(&table, "%s reused from earlier sweeps", cli_whole(t->reused));
    }
    if (t->stopped_early) {
        table_cell(&table, "stopped early");
        table_cell(&table, "%s as clearly slower than the best%s", cli_whole(t->stopped_early),
                   t->end == KILN_END_SECONDS ? ", or too slow for the limit" : "");
    }
    if (t->throttled) {
        table_cell(&table, "throttled");
        table_cell(&table, "%s measured while throttled", cli_whole(t->throttled));
    }
    if (t->uncounted || t->sampled) {
        table_cell(&table, "space");
        table_cell(&table, "%s%s", t->uncounted ? "too many configurations to count in a short time" : "counted",
                   t->sampled ? ", drawn at random, not all equally likely" : "");
    }
    if (t->end != KILN_END_ALL) {
        table_cell(&table, "ended");
        table_cell(&table, "%s", end_reason(view, t->end));
    }
    table_cell(&table, "cache");
    table_cell(&table, "%s hit%s, %s miss%s", cli_whole(t->cache_hits), t->cache_hits == 1 ? "" : "s",
               cli_whole(t->cache_misses), t->cache_misses == 1 ? "" : "es");
    table_cell(&table, "compiling");
    table_cell(&table, "waited %s; all compiles together took %s", cli_duration(t->compile_seconds),
               cli_duration(t->compile_work_seconds));
    table_cell(&table, "running");
    table_cell(&table, "%s", cli_duration(t->run_seconds));
    table_cell(&table, "all");
    table_cell(&table, "%s", cli_duration(t->seconds));
    out_printf("\n%sTotals%s\n", out_bold(), out_plain());
    table_print(&table, false);
}

/* Tells the device and the sizes of the estimates, if the user did not choose them. Also tells whether answers were
 * verified. */
static void show_estimate(const cli *c, const tune_view *view, const kiln_tuning *tuning)
{
    const tune_args *args = c->args;
    size_t none = 0;
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++)
        none += is_untimed(kiln_tuning_sample(tuning, i), true);
    out_puts("  estimated by the simulator's model, not measured\n"
             "  nearly equal estimates " CLI_TIE_RULE "\n");
    if (none)
        out_printf("  %s could not be estimated: their ranks follow the others\n", cli_whole(none));
    if (!view->device_named && !args->arch)
        out_puts("  no GPU was found on this machine: --arch sm_80, or --device, chooses another GPU to estimate\n");
    const kiln_size_set *set = kiln_spec_size_set(c->spec, 0); /* a GPU's default */
    if (view->small)
        out_printf("  for %s, the default sizes on a GPU; answers were %s\n",
                   cli_settings_text(view->sizes, view->size_count),
                   kiln_tuning_sum(tuning)->verified
                       ? cli_printf("verified at %s, %s", cli_settings_text(view->small->settings, view->small->count),
                                    view->small->name)
                       : "not checked");
    for (size_t i = 0; i < view->unverifiable.count; i++)
        out_printf("%s%s", i ? ", " : "  left out, because the sizes for verification break their constraints: ",
                   view->unverifiable.items[i]);
    if (view->unverifiable.count > 0)
        out_printf(" (-s %s --no-verify tries them)\n", set->name);
    if (!view->small && args->choice.sizes.count == 0 && strcmp(view->size_set, set->name) != 0)
        out_printf(
            "  for small sizes, as usual on a simulated device: -s %s --no-verify estimates the full sizes without "
            "checking answers\n",
            set->name);
}

/* Prints the last line of a sweep that a time limit ended: the number of remaining configurations, and the time that
 * trying them would take. */
static void show_rest(const cli *c, const tune_view *view, const kiln_tuning_totals *t)
{
    const tune_args *args = c->args;
    const uint64_t made = t->configurations - t->reused;
    if (t->end != KILN_END_SECONDS || view->space == UINT64_MAX || view->space <= t->configurations)
        return;
    out_printf("\nTried %s of %s configurations", cli_whole(t->configurations), cli_whole(view->space));
    if (view->first)
        out_printf(" in %.0f s, the default limit of a simulated device", view->limit);
    out_printf(". %s%s tries all%s.\n", args->no_store ? "" : "The same command continues the search; ",
               view->first ? "--all" : "a sweep without --max-seconds",
               made ? cli_printf(", in about %s more",
                                 cli_duration(t->seconds / (double)made * (double)(view->space - t->configurations)))
                    : "");
}

/* Prints the results of a sweep for people: the ranking, the best of each variant, failures, totals, and the command
 * that runs the best configuration again. */
void tune_text(cli *c, const tune_view *view, const kiln_tuning *tuning)
{
    const kiln_sample *best = best_of(tuning);
    out_printf("%s%s%s on %s, %s%s\n", out_bold(), kiln_spec_name(c->spec), out_plain(), cli_device_name(view->device),
               cli_settings_text(view->sizes, view->size_count),
               cli_set_text(c->spec, view->size_set, view->sizes, view->size_count));
    if (best) {
        out_puts("\n");
        show_ranked(c, tuning, best);
        if (best->result->estimated)
            show_estimate(c, view, tuning);
        else if (!best->result->measured && best->result->host_seconds > 0)
            out_puts("  simulated: wall time of the interpreter, not a measurement\n");
        show_verdict(tuning, best);
        show_variants(c, tuning, best);
        show_front(c, tuning, best);
        size_t costs;
        const whole_cost *cost = whole_costs(tuning, &costs);
        whole_cost_text(cost, costs, best->result->measured || best->result->estimated);
    } else if (kiln_tuning_count(tuning) == 0) {
        out_puts("\nNo configuration was run.\n");
    }
    show_failures(tuning);
    if (view->instead)
        out_printf(
            "\nTimes are for the small sizes, %s. At %s the ranking may differ. Reason for the small sizes: %s.\n",
            view->size_set, kiln_spec_size_set(c->spec, 0)->name, view->instead);
    show_left_out(tuning);
    show_totals(c, view, tuning);
    tune_check_text(&view->checked);
    if (best)
        out_printf("\n%sBest%s\n  %s\n", out_bold(), out_plain(), command_again(c, view, best));
    show_rest(c, view, kiln_tuning_sum(tuning));
}

/* Returns a sample as a JSON object. `count` is the number of objectives that the user requested. */
static json_t *sample_json(const kiln_sample *sample, size_t count)
{
    json_t *object = js_object();
    js_set(object, "variant", js_text(sample->variant));
    js_set(object, "params", js_settings(sample->params, sample->param_count));
    js_set(object, "status", js_text(kiln_status_name(sample->status)));
    js_set(object, "message", js_text(sample->message));
    js_set(object, "reused", json_boolean(sample->reused));
    js_set(object, "device", js_text(sample->device));
    js_set(object, "tied", json_boolean(sample->tied));
    js_set(object, "contender", json_boolean(sample->contender));
    js_set(object, "at_seconds", js_real(sample->at));
    json_t *objectives = count ? js_array() : NULL;
    for (size_t i = 0; i < count; i++)
        js_add(objectives, sample->objectives ? js_real(sample->objectives[i]) : json_null());
    if (count)
        js_set(object, "objectives", objectives);
    if (count > 1)
        js_set(object, "front", json_boolean(sample->front));
    if (sample->status == KILN_OK)
        js_set(object, "result", js_result(sample->result));
    return object;
}

static json_t *verdict_json(const kiln_tuning *tuning)
{
    const kiln_verdict *v = kiln_tuning_verdict(tuning);
    json_t *object = js_object();
    js_set(object, "finalists", js_whole(v->finalists));
    js_set(object, "tied", v->tied ? js_whole(v->tied) : json_null());
    js_set(object, "rounds", js_whole(v->rounds));
    js_set(object, "margin", js_real(v->margin));
    js_set(object, "near", js_real(v->near));
    js_set(object, "seconds", js_real(v->seconds));
    js_set(object, "reused", json_boolean(v->reused));
    js_set(object, "why_not", js_text(v->why_not));
    js_set(object, "verified_runs", js_whole(v->verified_runs));
    js_set(object, "refuted", js_whole(v->refuted));
    return object;
}

/* Prints the results of a sweep as one JSON object. The JSON has the same parts as the output of tune_text(), but with
 * every sample. */
void tune_json(cli *c, const tune_view *view, const kiln_tuning *tuning)
{
    const tune_args *args = c->args;
    const kiln_tuning_totals *t = kiln_tuning_sum(tuning);
    const kiln_sample *best = best_of(tuning);
    json_t *object = js_object(), *samples = js_array(), *totals = js_object();
    js_set(object, "spec", js_text(kiln_spec_name(c->spec)));
    js_set(object, "device", js_device(view->device));
    js_set(object, "size_set", js_text(view->size_set));
    js_set(object, "size_set_because",
           js_text(cli_why_set(c->spec, view->size_set, view->device->simulated, view->small != NULL,
                               &args->choice.sizes)));
    js_set(object, "sizes", js_settings(view->sizes, view->size_count));
    if (view->small) {
        json_t *verified = js_object();
        js_set(verified, "size_set", js_text(view->small->name));
        js_set(verified, "sizes", js_settings(view->small->settings, view->small->count));
        js_set(object, "verified_at", verified);
    }
    if (view->instead)
        js_set(object, "small_sizes_because", js_text(view->instead));
    js_set(object, "complete", json_boolean(t->end != KILN_END_EARLY));
    js_set(object, "ranked_by",
           js_text(!best                            ? NULL
                   : best->result->measured         ? "measured seconds"
                   : best->result->estimated        ? "estimated seconds, not measured"
                   : best->result->host_seconds > 0 ? "wall time of the simulator, not measured"
                                                    : NULL));
    js_set(object, "tie_rule", js_text(best && best->result->estimated ? CLI_TIE_RULE : NULL));
    json_t *objectives = js_array();
    for (size_t i = 0; i < args->objectives.count; i++)
        js_add(objectives, js_text(args->objectives.items[i]));
    js_set(object, "objectives", objectives);
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++)
        js_add(samples, sample_json(kiln_tuning_sample(tuning, i), args->objectives.count));
    js_set(object, "samples", samples);
    js_set(object, "left_out", left_out_json(tuning));
    size_t costs;
    const whole_cost *cost = whole_costs(tuning, &costs);
    js_set(object, "end_to_end",
           whole_cost_json(cost, costs, best && (best->result->measured || best->result->estimated)));
    js_set(totals, "configurations", js_whole(t->configurations));
    js_set(totals, "failed", js_whole(t->failed));
    js_set(totals, "verified", js_whole(t->verified));
    js_set(totals, "reused", js_whole(t->reused));
    js_set(totals, "stopped_early", js_whole(t->stopped_early));
    js_set(totals, "throttled", js_whole(t->throttled));
    js_set(totals, "ended", js_text(end_name(t->end)));
    js_set(totals, "limit_seconds", view->limit > 0 ? js_real(view->limit) : json_null());
    js_set(totals, "space", view->space < UINT64_MAX ? js_whole(view->space) : json_null());
    js_set(totals, "space_counted", json_boolean(!t->uncounted));
    js_set(totals, "space_sampled", json_boolean(t->sampled));
    js_set(totals, "cache_hits", js_whole(t->cache_hits));
    js_set(totals, "cache_misses", js_whole(t->cache_misses));
    js_set(totals, "seconds", js_real(t->seconds));
    js_set(totals, "compile_seconds", js_real(t->compile_seconds));
    js_set(totals, "compile_work_seconds", js_real(t->compile_work_seconds));
    js_set(totals, "run_seconds", js_real(t->run_seconds));
    js_set(object, "totals", totals);
    js_set(object, "verdict", verdict_json(tuning));
    if (view->checked.sizes)
        js_set(object, "check", tune_check_json(&view->checked));
    js_set(object, "best", best ? js_text(command_again(c, view, best)) : json_null());
    if (view->ended)
        js_set(object, "error", js_error(view->status, view->ended));
    js_print(object);
}

/* ---- comma-separated values ---- */

/* Writes a text in the same form as `kiln results export`. engine/store/EXCHANGE.md explains why some texts get an
 * apostrophe. */
static void csv_text(FILE *file, const char *text)
{
    const size_t apostrophes = strspn(text, "'");
    char *end;
    strtod(text, &end);
    bool number = end != text && *end == '\0' && text[strspn(text, "+-.0123456789eE")] == '\0';
    bool formula = text[apostrophes] && strchr("=+-@\t\r\n", text[apostrophes]) && !number;
    if (!formula && !strpbrk(text, ",;\t\"\r\n")) {
        fputs(text, file);
        return;
    }
    fputs(formula ? "\"'" : "\"", file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

/* The columns for the fields of a result, and the fields that have no column. */
#define CSV_COLUMNS(X)                                                                                                 \
    X(seconds)                                                                                                         \
    X(seconds_low)                                                                                                     \
    X(seconds_high)                                                                                                    \
    X(repetitions)                                                                                                     \
    X(flops)                                                                                                           \
    X(bytes)                                                                                                           \
    X(verified)                                                                                                        \
    X(worst_error)                                                                                                     \
    X(stopped_early)                                                                                                   \
    X(first_seconds)                                                                                                   \
    X(clock_hz)                                                                                                        \
    X(memory_clock_hz)                                                                                                 \
    X(throttle)                                                                                                        \
    X(temperature)                                                                                                     \
    X(power_watts)                                                                                                     \
    X(energy_joules)                                                                                                   \
    X(inputs_seconds)                                                                                                  \
    X(input_functions)                                                                                                 \
    X(copy_seconds)                                                                                                    \
    X(host_step_seconds)                                                                                               \
    X(rounds)                                                                                                          \
    X(metrics)                                                                                                         \
    X(median_error)                                                                                                    \
    X(p999_error)                                                                                                      \
    X(verified_runs)
#define CSV_NONE(X)                                                                                                    \
    X(measured)                                                                                                        \
    X(estimated)                                                                                                       \
    X(host_seconds)                                                                                                    \
    X(roofline)                                                                                                        \
    X(compile_ns)                                                                                                      \
    X(cache_hits)                                                                                                      \
    X(cache_misses)                                                                                                    \
    X(finals)                                                                                                          \
    X(roofline_unit)                                                                                                   \
    X(partly)                                                                                                          \
    X(weak)

#define CSV_X(kind, name, unit, text) CSV_KIND_##name = CSV_##kind,
enum csv_kind {
    CSV_FLAG,
    CSV_COUNT,
    CSV_THROTTLE,
    CSV_UNIT,
    CSV_REAL,
    CSV_SECONDS,
    CSV_KNOWN,
    CSV_NANOSECONDS,
    CSV_MICROSECONDS,
    CSV_HOSTS,
    CSV_METRICS
};
enum { KILN_RESULT_MAP(CSV_X) };
#undef CSV_X
#define CSV_X(name) CSV_HAS_##name,
enum {
    CSV_COLUMNS(CSV_X) CSV_NONE(CSV_X) CSV_DECIDED
}; /* this table does not compile if a field of the result is missing or occurs twice */
#undef CSV_X
#define CSV_X(kind, name, unit, text) +1
_Static_assert(CSV_DECIDED == 0 KILN_RESULT_MAP(CSV_X), "a field of kiln_result is missing in CSV_COLUMNS or CSV_NONE");
#undef CSV_X

static const struct csv_column {
    const char *name;
    enum csv_kind kind;
    size_t at;
} csv_columns[] = {
#define CSV_X(name) {#name, (enum csv_kind)CSV_KIND_##name, offsetof(kiln_result, name)},
    CSV_COLUMNS(CSV_X)
#undef CSV_X
};

static void csv_field(FILE *file, const struct csv_column *column, const kiln_result *result)
{
    const void *at = (const char *)result + column->at;
    switch (column->kind) {
    case CSV_HOSTS:
        fputc(',', file);
        csv_text(file, ((const kiln_host_times *)at)->text);
        return;
    case CSV_METRICS:
        fputc(',', file);
        csv_text(file, ((const kiln_metric_values *)at)->text);
        return;
    case CSV_FLAG: fprintf(file, ",%d", *(const int *)at); return;
    case CSV_COUNT:
    case CSV_UNIT:
    case CSV_THROTTLE: fprintf(file, ",%u", *(const unsigned *)at); return;
    case CSV_NANOSECONDS: fprintf(file, ",%" PRIu64, *(const uint64_t *)at); return;
    case CSV_MICROSECONDS: fprintf(file, ",%" PRId64, *(const int64_t *)at); return;
    case CSV_REAL:
    case CSV_SECONDS:
    case CSV_KNOWN: fprintf(file, ",%.17g", *(const double *)at); return;
    }
}

/* Writes the columns of a result to the CSV file. The column with the kind of the time stands before these columns; the
 * column `seconds` has the time. */
static void csv_result(FILE *file, const kiln_result *result)
{
    kiln_result shown = *result;
    shown.seconds = tune_seconds(result);
    fprintf(file, ",%s",
            result->measured           ? "measured"
            : result->estimated        ? "estimated"
            : result->host_seconds > 0 ? "simulated"
                                       : "none");
    for (size_t i = 0; i < CLI_COUNT(csv_columns); i++)
        csv_field(file, &csv_columns[i], &shown);
}

static void csv_row(FILE *file, const cli_list *names, const kiln_sample *sample, size_t rank)
{
    fprintf(file, "%zu,", rank + 1);
    csv_text(file, sample->variant);
    fprintf(file, ",%s", kiln_status_name(sample->status));
    if (sample->status == KILN_OK)
        csv_result(file, sample->result);
    for (size_t i = 0; sample->status != KILN_OK && i < 1 + CLI_COUNT(csv_columns); i++)
        fputc(',', file);
    for (size_t n = 0; n < names->count; n++) {
        fputc(',', file);
        for (size_t p = 0; p < sample->param_count; p++)
            if (strcmp(sample->params[p].name, names->items[n]) == 0)
                csv_text(file, cli_value_text(sample->params[p].value));
    }
    fputc(',', file);
    csv_text(file, sample->message);
    fputc(',', file);
    csv_text(file, sample->device);
    fputc('\n', file);
}

int tune_csv(cli *c, const kiln_tuning *tuning, const char *path)
{
    cli_list names = {0}; /* the CSV file has one column for each param of any variant */
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++) {
        const kiln_sample *sample = kiln_tuning_sample(tuning, i);
        for (size_t p = 0; p < sample->param_count; p++) {
            size_t at = 0;
            while (at < names.count && strcmp(names.items[at], sample->params[p].name) != 0)
                at++;
            if (at == names.count)
                cli_list_add(&names, sample->params[p].name);
        }
    }
    cli_stream stream;
    FILE *file = cli_stream_open(&stream);
    if (!file)
        return cli_fail(c, KILN_ERROR_MEMORY, "out of host memory");
    fputs("rank,variant,status,time_is", file);
    for (size_t i = 0; i < CLI_COUNT(csv_columns); i++)
        fprintf(file, ",%s", csv_columns[i].name);
    for (size_t n = 0; n < names.count; n++) {
        fputc(',', file);
        csv_text(file, names.items[n]);
    }
    fputs(",message,device\n", file);
    for (size_t i = 0; i < kiln_tuning_count(tuning); i++)
        csv_row(file, &names, kiln_tuning_sample(tuning, i), i);
    return cli_write_stream(c, path, &stream);
}
