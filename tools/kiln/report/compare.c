/* compare.c - compares two devices, sizes or sweeps: the best configuration of each, and the correlation of their
 * times. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* Up to this number of problems, the page compares all pairs of problems. If there are more problems, it compares each
 * problem with the first problem only. */
#define ALL_PAIRS 5
#define MOST_POINTS 1500 /* largest number of points in the chart of a pair of problems */

typedef struct entry {
    const char *key; /* variant and configuration */
    const report_sample *sample;
} entry;

typedef struct common {
    const report_sample *a, *b;
    double rank_a, rank_b;
} common;

/* ---- configurations that both problems have ---- */

static int by_key(const void *left, const void *right)
{
    return strcmp(((const entry *)left)->key, ((const entry *)right)->key);
}

static entry *entries_of(const report_problem *p)
{
    entry *made = cli_alloc((p->ran + 1) * sizeof *made);
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++)
        if (!p->samples[i]->reason)
            made[count++] = (entry){cli_printf("%s\n%s", p->samples[i]->variant, report_configuration(p->samples[i])),
                                    p->samples[i]};
    qsort(made, count, sizeof *made, by_key);
    return made;
}

static size_t merge(const entry *a, size_t a_count, const entry *b, size_t b_count, common *to)
{
    size_t count = 0;
    for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
        int order = strcmp(a[i].key, b[k].key);
        if (order == 0)
            to[count++] = (common){.a = a[i].sample, .b = b[k].sample};
        i += order <= 0;
        k += order >= 0;
    }
    return count;
}

/* ---- Spearman's rank correlation: Pearson's correlation of the ranks; equal times share the mean of their ranks
 * ---- */

static int by_a(const void *left, const void *right)
{
    const common *x = left, *y = right;
    return (x->a->seconds > y->a->seconds) - (x->a->seconds < y->a->seconds);
}

static int by_b(const void *left, const void *right)
{
    const common *x = left, *y = right;
    return (x->b->seconds > y->b->seconds) - (x->b->seconds < y->b->seconds);
}

static double rank_correlation(common *list, size_t count)
{
    double products = 0, squares_a = 0, squares_b = 0, mean = ((double)count - 1) / 2;
    for (int second = 0; second < 2; second++) {
        qsort(list, count, sizeof *list, second ? by_b : by_a);
        for (size_t i = 0, next; i < count; i = next) {
            for (next = i + 1; next < count && (second ? by_b : by_a)(&list[i], &list[next]) == 0; next++)
                ;
            for (size_t k = i; k < next; k++)
                *(second ? &list[k].rank_b : &list[k].rank_a) = (double)(i + next - 1) / 2;
        }
    }
    for (size_t i = 0; i < count; i++) {
        double a = list[i].rank_a - mean, b = list[i].rank_b - mean;
        products += a * b;
        squares_a += a * a;
        squares_b += b * b;
    }
    return squares_a > 0 && squares_b > 0 ? products / sqrt(squares_a * squares_b) : NAN;
}

/* ---- a pair ---- */

/* Takes the best configuration of one problem. Returns the time of this configuration on the other problem, as a
 * multiple of the other problem's best time. Returns 0 if the configuration was not measured on the other problem. */
static double cost_of(const common *list, size_t count, const report_sample *best, bool of_a, double least)
{
    for (size_t i = 0; i < count; i++)
        if ((of_a ? list[i].a : list[i].b) == best)
            return (of_a ? list[i].b : list[i].a)->seconds / least;
    return 0;
}

static const kiln_setting *setting(const report_sample *s, const char *name)
{
    for (size_t i = 0; i < s->param_count; i++)
        if (strcmp(s->params[i].name, name) == 0)
            return &s->params[i];
    return NULL;
}

/* Returns the values in which two best configurations differ, as a text: "variant tiled, blocked; BLOCK 64, 128". */
static const char *differences(const report_sample *a, const report_sample *b)
{
    const char *text = "";
    if (strcmp(a->variant, b->variant) != 0)
        text = cli_printf("variant %s, %s", a->variant, b->variant);
    for (size_t i = 0; i < a->param_count; i++) {
        const kiln_setting *other = setting(b, a->params[i].name);
        const char *mine = cli_value_text(a->params[i].value), *its = other ? cli_value_text(other->value) : NULL;
        if (its && strcmp(mine, its) != 0)
            text = cli_printf("%s%s%s %s, %s", text, *text ? "; " : "", a->params[i].name, mine, its);
    }
    return *text ? text : "nothing";
}

/* Returns the parts of a problem's device, sizes and store in which it differs from the other problem. */
static const char *name_in(const report_problem *p, const report_problem *other)
{
    const char *const mine[] = {p->device, p->sizes, p->from}, *const its[] = {other->device, other->sizes,
                                                                               other->from};
    const char *name = "";
    for (size_t i = 0; i < CLI_COUNT(mine); i++)
        if (strcmp(mine[i], its[i]) != 0)
            name = cli_printf("%s%s%s", name, *name ? ", " : "", mine[i]);
    return name;
}

static void find_pair(const report_problem *a, const report_problem *b, entry **entries, size_t i, size_t k,
                      report_pair *pair)
{
    *pair = (report_pair){.a = a, .b = b, .number_a = i, .number_b = k, .correlation = NAN};
    pair->name_a = name_in(a, b);
    pair->name_b = name_in(b, a);
    common *list = cli_alloc(((a->ran < b->ran ? a->ran : b->ran) + 1) * sizeof *list);
    pair->count = merge(entries[i], a->ran, entries[k], b->ran, list);
    if (pair->count > 2)
        pair->correlation = rank_correlation(list, pair->count);
    pair->cost_b = cost_of(list, pair->count, a->best, true, b->best->seconds);
    pair->cost_a = cost_of(list, pair->count, b->best, false, a->best->seconds);
    pair->differ = differences(a->best, b->best);
    size_t most = pair->count < MOST_POINTS ? pair->count : MOST_POINTS;
    pair->samples_a = cli_alloc((most + 1) * sizeof *pair->samples_a);
    pair->samples_b = cli_alloc((most + 1) * sizeof *pair->samples_b);
    for (; pair->shown < most; pair->shown++) { /* the points are spread evenly over the times of b */
        const common *one = &list[pair->shown * pair->count / most];
        pair->samples_a[pair->shown] = one->a;
        pair->samples_b[pair->shown] = one->b;
    }
}

void report_compare(report *r, size_t problems)
{
    entry **entries = cli_alloc((problems + 1) * sizeof *entries);
    r->pairs = cli_alloc((problems * ALL_PAIRS + 1) * sizeof *r->pairs);
    if (problems < 2)
        return;
    for (size_t i = 0; i < problems; i++)
        entries[i] = entries_of(&r->problems[i]);
    for (size_t i = 0; i < (problems <= ALL_PAIRS ? problems : 1); i++)
        for (size_t k = i + 1; k < problems; k++)
            if (r->problems[i].best && r->problems[k].best)
                find_pair(&r->problems[i], &r->problems[k], entries, i, k, &r->pairs[r->pair_count++]);
}

/* ---- on the page ---- */

static const char *best_time(const report_problem *p, bool kind)
{
    double unit;
    const char *name = report_unit(p->best->seconds, &unit);
    return cli_printf("%s %s%s%s%s", cli_significant(p->best->seconds / unit, 4), name, kind ? " (" : "",
                      kind ? report_time_text(p->time) : "", kind ? ")" : "");
}

static const char *times(double cost) { return cost > 0 ? cli_printf("%s \u00d7", cli_significant(cost, 3)) : ""; }

void report_comparison(FILE *to, const report *r)
{
    static const char *const heads[] = {"A",
                                        "B",
                                        "best of A",
                                        "best of B",
                                        "in common",
                                        "correlation",
                                        "A's best on B",
                                        "B's best on A",
                                        "the best differ in"};
    if (r->pair_count == 0)
        return;
    fputs("<section id=comparison><h2>Comparison</h2>\n<p>In common: the configurations that ran on both. Correlation: "
          "Spearman's rank correlation of their times; 1 means the same order. A's best on B: the time on B of the "
          "configuration that is the best on A, divided by the best time on B. It is empty if B did not try this "
          "configuration.</p>\n<div class=scroll tabindex=0><table>",
          to);
    report_head(to, heads, CLI_COUNT(heads), "llrrrrrrl");
    fputs("<tbody>\n", to);
    for (size_t i = 0; i < r->pair_count; i++) {
        const report_pair *pair = &r->pairs[i];
        fputs("<tr>", to);
        report_cell(to, false, pair->name_a);
        report_cell(to, false, pair->name_b);
        /* true: the problems have different kinds of time, so each time gets its kind */
        bool kinds = pair->a->time != pair->b->time;
        report_cell(to, true, best_time(pair->a, kinds));
        report_cell(to, true, best_time(pair->b, kinds));
        report_cell(to, true,
                    cli_printf("%s (%s, %s)", cli_whole(pair->count), cli_share(pair->count, pair->a->ran),
                               cli_share(pair->count, pair->b->ran)));
        report_cell(to, true, isnan(pair->correlation) ? "" : cli_printf("%.3f", pair->correlation));
        report_cell(to, true, times(pair->cost_b));
        report_cell(to, true, times(pair->cost_a));
        fputs("<td class=m>", to);
        report_escape(to, report_cut(pair->differ));
        fputs("</td></tr>\n", to);
    }
    fputs(
        "</tbody></table></div>\n<section class=figure data-chart=compare><h3>Times of both</h3></section></section>\n",
        to);
}

/* Returns the comparisons as JSON: [{a, b: numbers of problems, names, units, count, correlation, points: [[time, time,
 * variant, configuration]]}] */
json_t *report_pairs_json(const report *r)
{
    json_t *pairs = js_array();
    for (size_t i = 0; i < r->pair_count; i++) {
        const report_pair *pair = &r->pairs[i];
        json_t *object = js_object(), *points = js_array();
        double unit_a, unit_b;
        js_set(object, "a", js_whole(pair->number_a));
        js_set(object, "b", js_whole(pair->number_b));
        js_set(object, "name_a", js_text(pair->name_a));
        js_set(object, "name_b", js_text(pair->name_b));
        js_set(object, "unit_a", js_text(report_unit(pair->a->best->seconds, &unit_a)));
        js_set(object, "unit_b", js_text(report_unit(pair->b->best->seconds, &unit_b)));
        js_set(object, "count", js_whole(pair->count));
        js_set(object, "correlation", js_real(pair->correlation));
        for (size_t k = 0; k < pair->shown; k++) {
            const report_sample *a = pair->samples_a[k];
            json_t *row = js_array();
            js_add(row, js_real(a->seconds / unit_a));
            js_add(row, js_real(pair->samples_b[k]->seconds / unit_b));
            js_add(row, js_whole(report_variant_of(pair->a, a)));
            js_add(row, js_text(report_cut(report_configuration(a))));
            js_add(points, row);
        }
        js_set(object, "points", points);
        js_add(pairs, object);
    }
    return pairs;
}
