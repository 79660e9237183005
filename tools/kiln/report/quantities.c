/* quantities.c - figures of samples besides their time (energy, error, metrics of the spec): the best sample for each
 * figure, and the Pareto front of two figures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define MOST_METRICS 12 /* largest number of the spec's own metrics on a page */
#define MOST_ROWS 20    /* largest number of rows in the table of a Pareto front */
#define MOST_POINTS 1500

/* One row of the table: X(name, unit, whether more is better, whether it is known, value), for a sample s */
#define QUANTITIES(X)                                                                                                  \
    X("time", "s", false, true, s->seconds)                                                                            \
    X("gflops", "GFLOP/s", true, s->flops > 0, s->flops / s->seconds / 1e9)                                            \
    X("gbs", "GB/s", true, s->bytes > 0, s->bytes / s->seconds / 1e9)                                                  \
    X("roofline", "of the bound", true, s->share > 0, s->share)                                                        \
    X("energy", "J", false, s->energy > 0, s->energy)                                                                  \
    X("power", "W", false, s->power > 0, s->power)                                                                     \
    X("error", "tolerances", false, s->verified, s->error)                                                             \
    X("compile", "s", false, s->compile > 0, s->compile)

static double value_of(const report_quantity *q, const report_sample *s)
{
    double value;
#define X(named, unit, more, known, is)                                                                                \
    if (!q->metric && strcmp(q->name, named) == 0)                                                                     \
        return known ? is : NAN;
    QUANTITIES(X)
#undef X
    return s->metrics && cli_find_number(s->metrics, q->name, &value) ? value : NAN;
}

double report_value(const report_quantity *q, const report_sample *s) { return value_of(q, s) / q->scale; }

static double loss(const report_quantity *q, const report_sample *s)
{
    double value = report_value(q, s);
    return isfinite(value) ? (q->more ? -value : value) : INFINITY;
}

/* ---- the quantities that the samples have ---- */

/* Returns the direction that an objective gives to the quantity `name`. If the objective is "min:NAME" or "max:NAME",
 * the function returns the objective, which begins with the direction. If the objective is NAME alone, the function
 * returns "". If the objective is about another quantity, the function returns NULL. */
static const char *direction(const char *objective, const char *name)
{
    bool given = strncmp(objective, "min:", 4) == 0 || strncmp(objective, "max:", 4) == 0;
    return strcmp(objective + (given ? 4 : 0), name) != 0 ? NULL : given ? objective : "";
}

/* Adds a quantity if a sample that ran has it, and notes its range and its best sample. */
static void add(const report *r, report_problem *p, const char *name, const char *unit, bool more, bool metric)
{
    report_quantity q = {.name = name, .unit = unit, .more = more, .metric = metric, .scale = 1};
    if (!metric && strcmp(name, "time") == 0)
        q.unit = report_unit(p->best->seconds, &q.scale);
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < r->objectives.count; i++) {
        const char *given = direction(r->objectives.items[i], name);
        if (given && *given)
            q.more = strncmp(given, "max:", 4) == 0;
    }
    for (size_t i = 0; i < p->count; i++) {
        const report_sample *s = p->samples[i];
        double value = s->reason ? NAN : report_value(&q, s);
        if (!isfinite(value))
            continue;
        q.known++;
        least = fmin(least, value);
        most = fmax(most, value);
        if (report_counts(p, s) && (!q.best || loss(&q, s) < loss(&q, q.best)))
            q.best = s;
    }
    q.varies = q.best && least < most;
    if (q.best)
        p->quantities[p->quantity_count++] = q;
}

static void add_metrics(const report *r, report_problem *p)
{
    cli_list names = {0};
    const char *last = NULL;
    size_t seen = 0;
    /* all samples of a variant have the same metrics, so some samples are enough */
    for (size_t i = 0; i < p->count && seen < 5000; i++) {
        const char *text = p->samples[i]->metrics, *name;
        double number;
        if (p->samples[i]->reason || !text || text == last)
            continue;
        last = text;
        seen++;
        while (names.count < MOST_METRICS && (name = cli_named_number(&text, &number)))
            report_add_once(&names, name);
    }
    for (size_t i = 0; i < names.count; i++)
        add(r, p, names.items[i], "", false, true);
}

/* ---- fronts ---- */

static int by_losses(const void *left, const void *right, void *two)
{
    const report_sample *a = *(report_sample *const *)left, *b = *(report_sample *const *)right;
    const report_quantity *const *of = two;
    for (int i = 0; i < 2; i++) {
        double x = loss(of[i], a), y = loss(of[i], b);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

/* Finds the Pareto front: samples that no other sample beats in one quantity without being worse in the other. The
 * front is sorted by the first quantity. */
static void find_front(const report_problem *p, const report_quantity *first, report_quantity *second)
{
    const report_quantity *two[] = {first, second};
    report_sample **sorted = cli_alloc((p->ran + 1) * sizeof(report_sample *));
    size_t count = 0;
    double least = INFINITY;
    for (size_t i = 0; i < p->count; i++)
        if (report_counts(p, p->samples[i]) && isfinite(loss(first, p->samples[i])))
            sorted[count++] = p->samples[i];
    qsort_r(sorted, count, sizeof(report_sample *), by_losses, two);
    second->front = cli_alloc((count + 1) * sizeof *second->front);
    for (size_t i = 0; i < count; i++)
        if (loss(second, sorted[i]) < least) {
            least = loss(second, sorted[i]);
            second->front[second->front_count++] = sorted[i];
        }
}

static size_t named(const report *r, const report_problem *p, size_t objective)
{
    size_t i = 0;
    while (i < p->quantity_count && !direction(r->objectives.items[objective], p->quantities[i].name))
        i++;
    return i;
}

/* Chooses the second quantity if the user named none. It prefers a quantity that does not follow from the time. */
static size_t default_second(const report_problem *p)
{
    static const char *const liked[] = {"energy", "error"};
    for (size_t k = 0; k < CLI_COUNT(liked); k++)
        for (size_t i = 0; i < p->quantity_count; i++)
            if (i != p->first_quantity && p->quantities[i].varies && strcmp(p->quantities[i].name, liked[k]) == 0)
                return i;
    for (size_t i = 0; i < p->quantity_count; i++)
        if (i != p->first_quantity && p->quantities[i].varies && p->quantities[i].metric)
            return i;
    return p->quantity_count;
}

void report_find_quantities(const report *r, report_problem *p)
{
    p->quantities = cli_alloc((8 + MOST_METRICS + 1) * sizeof *p->quantities);
    if (!p->best)
        return;
#define X(named, unit, more, known, is) add(r, p, named, unit, more, false);
    QUANTITIES(X)
#undef X
    add_metrics(r, p);
    size_t asked = r->objectives.count;
    p->first_quantity = asked ? named(r, p, 0) : 0;
    if (p->first_quantity == p->quantity_count)
        p->first_quantity = 0;
    p->second_quantity = asked > 1 ? named(r, p, 1) : p->quantity_count;
    if (asked == 1 && p->first_quantity != 0)
        p->second_quantity = 0;
    if (p->second_quantity == p->quantity_count || p->second_quantity == p->first_quantity)
        p->second_quantity = default_second(p);
    for (size_t i = 0; i < p->quantity_count; i++)
        if (i != p->first_quantity && p->quantities[i].varies)
            find_front(p, &p->quantities[p->first_quantity], &p->quantities[i]);
}

const char *report_unknown_objective(const report *r)
{
    for (size_t i = 0; i < r->objectives.count; i++) {
        bool found = false;
        for (size_t k = 0; k < r->problem_count && !found; k++)
            found = named(r, &r->problems[k], i) < r->problems[k].quantity_count;
        if (!found)
            return r->objectives.items[i];
    }
    return NULL;
}

/* ---- on the page ---- */

static const char *value_text(const report_quantity *q, const report_sample *s)
{
    double value = report_value(q, s);
    return !isfinite(value) ? "" : value == 0 ? "0" : cli_significant(value, 4);
}

static void configuration(FILE *to, const report_sample *s)
{
    report_cell(to, false, s->variant);
    fputs("<td class=c>", to);
    report_escape(to, report_cut(report_configuration(s)));
    fputs("</td></tr>\n", to);
}

static void front_table(FILE *to, const report_quantity *first, const report_quantity *second)
{
    const char *const heads[] = {cli_printf("%s (%s)", first->name, first->unit),
                                 cli_printf(*second->unit ? "%s (%s)" : "%s", second->name, second->unit), "variant",
                                 "configuration"};
    fputs("<h4>", to);
    report_put(to, "Pareto front of %s and %s: each row that is better in one is worse in the other", first->name,
               second->name);
    fputs("</h4>\n<div class=scroll tabindex=0><table>", to);
    report_head(to, heads, CLI_COUNT(heads), "rrll");
    fputs("<tbody>\n", to);
    for (size_t i = 0; i < second->front_count && i < MOST_ROWS; i++) {
        fputs("<tr>", to);
        report_cell(to, true, value_text(first, second->front[i]));
        report_cell(to, true, value_text(second, second->front[i]));
        configuration(to, second->front[i]);
    }
    fputs("</tbody></table></div>\n", to);
    if (second->front_count > MOST_ROWS)
        report_put(to, "%s more are in the chart.", cli_whole(second->front_count - MOST_ROWS));
}

void report_objectives(FILE *to, const report_problem *p)
{
    static const char *const heads[] = {"quantity",       "unit",    "better",  "best",
                                        "of the fastest", "samples", "variant", "configuration"};
    if (p->quantity_count < 2)
        return;
    fputs("<section><h3>Best in each quantity</h3>\n<div class=scroll tabindex=0><table>", to);
    report_head(to, heads, CLI_COUNT(heads), "lllrrrll");
    fputs("<tbody>\n", to);
    for (size_t i = 0; i < p->quantity_count; i++) {
        const report_quantity *q = &p->quantities[i];
        fputs("<tr>", to);
        report_cell(to, false, q->name);
        report_cell(to, false, q->unit);
        report_cell(to, false, q->more ? "more" : "less");
        report_cell(to, true, value_text(q, q->best));
        report_cell(to, true, value_text(q, p->best));
        report_cell(to, true, cli_whole(q->known));
        configuration(to, q->best);
    }
    fputs("</tbody></table></div>\n", to);
    /* without a second quantity, all quantities follow from the time, so there is nothing to show */
    if (p->second_quantity < p->quantity_count) {
        front_table(to, &p->quantities[p->first_quantity], &p->quantities[p->second_quantity]);
        fputs("<section class=figure data-chart=trade><h3>One quantity over another</h3></section>", to);
    }
    fputs("</section>\n", to);
}

/* Returns the quantities as JSON: {first, second, list: [{name, unit, more, varies, front: [row]}], rows: [[variant,
 * configuration, value ...]]}. `rows` has every sample of a front, and some of the other samples. */
json_t *report_quantities_json(const report_problem *p, double detail)
{
    json_t *object = js_object(), *list = js_array(), *rows = js_array();
    /* for the number of a sample, the number of its row plus one; 0 means that the sample has no row yet */
    size_t *row_of = cli_alloc((p->count + 2) * sizeof *row_of), count = 0;
    size_t most = (size_t)(MOST_POINTS * detail) + 50, step = p->count / most + 1;
    for (size_t i = 0; p->quantity_count > 1 && i < p->count; i++) {
        const report_sample *s = p->samples[i];
        bool shown = i % step == 0;
        for (size_t k = 0; k < p->quantity_count && !shown; k++)
            for (size_t n = 0; n < p->quantities[k].front_count && !shown; n++)
                shown = p->quantities[k].front[n] == s;
        if (!shown || s->reason)
            continue;
        json_t *row = js_array();
        js_add(row, js_whole(report_variant_of(p, s)));
        js_add(row, js_text(report_cut(report_configuration(s))));
        for (size_t k = 0; k < p->quantity_count; k++)
            js_add(row, js_real(report_value(&p->quantities[k], s)));
        js_add(rows, row);
        row_of[s->number] = ++count;
    }
    for (size_t k = 0; p->quantity_count > 1 && k < p->quantity_count; k++) {
        const report_quantity *q = &p->quantities[k];
        json_t *one = js_object(), *front = js_array();
        for (size_t n = 0; n < q->front_count; n++)
            js_add(front, js_whole(row_of[q->front[n]->number] - 1));
        js_set(one, "name", js_text(q->name));
        js_set(one, "unit", js_text(q->unit));
        js_set(one, "more", json_boolean(q->more));
        js_set(one, "varies", json_boolean(q->varies));
        js_set(one, "front", front);
        js_add(list, one);
    }
    js_set(object, "first", js_whole(p->first_quantity));
    js_set(object, "second", js_whole(p->second_quantity));
    js_set(object, "list", list);
    js_set(object, "rows", rows);
    return object;
}
