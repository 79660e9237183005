/* json.c - writes the data of the charts as JSON. Times are in the problem's unit with six digits, so that the data of
 * a large sweep stay small. Rows are arrays, and the comment above each function describes their columns. */
#include <math.h>
#include <string.h>

#include "report.h"

#define MOST_POINTS 4000 /* largest number of points of a problem, because more points would cover each other */
#define MOST_LINES 500   /* largest number of lines of a variant in parallel coordinates */
#define MOST_TEXT 600    /* largest number of bytes of a message in a tooltip */

/* Returns true if index `at` is one of `most` evenly spaced indices of `count`. */
static bool is_chosen(size_t at, size_t count, size_t most)
{
    return count <= most || at * most / count != (at + 1) * most / count;
}

static size_t share_of(size_t most, double detail)
{
    double wanted = (double)most * detail;
    return wanted < 50 ? 50 : (size_t)wanted;
}

static const char *cut(const char *text, size_t most)
{
    return strlen(text) <= most ? text : cli_printf("%s ...", cli_strndup(text, most));
}

size_t report_variant_of(const report_problem *p, const report_sample *s)
{
    size_t v = 0;
    while (v < p->variant_count && strcmp(p->variants[v].name, s->variant) != 0)
        v++;
    return v;
}

static void add_row(json_t *rows, const report_problem *p, const report_sample *s, double unit)
{
    json_t *row = js_array();
    js_add(row, js_real(s->clock));
    js_add(row, js_whole(s->number));
    js_add(row, js_whole(report_variant_of(p, s)));
    js_add(row, js_real(s->seconds / unit));
    js_add(row, js_text(cut(report_configuration(s), MOST_TEXT)));
    js_add(rows, row);
}

/* Adds rows for the samples of a problem. A sample that ran is [clock, number, variant, time,
 * configuration], and a failed sample is [clock, number, variant, reason]. From the samples that ran, the function
 * chooses some that are spread evenly over time, and each sample that was the best so far. */
static void add_samples(json_t *object, const report_problem *p, double unit, double detail)
{
    json_t *points = js_array(), *steps = js_array(), *failures = js_array();
    size_t most = share_of(MOST_POINTS, detail), failed = p->count - p->ran, ran_at = 0, failed_at = 0;
    double best = INFINITY;
    for (size_t i = 0; i < p->count; i++) {
        const report_sample *s = p->samples[i];
        if (s->reason) {
            if (is_chosen(failed_at++, failed, most / 8)) {
                json_t *row = js_array();
                js_add(row, js_real(s->clock));
                js_add(row, js_whole(s->number));
                js_add(row, js_whole(report_variant_of(p, s)));
                js_add(row, js_text(s->reason));
                js_add(failures, row);
            }
            continue;
        }
        if (is_chosen(ran_at++, p->ran, most))
            add_row(points, p, s, unit);
        if (s->seconds < best && report_counts(p, s)) {
            best = s->seconds;
            add_row(steps, p, s, unit);
        }
    }
    js_set(object, "points", points);
    js_set(object, "steps", steps);
    js_set(object, "failures", failures);
}

/* Returns the points of the roofline chart, [intensity in FLOP/byte, GFLOP/s, variant, configuration, share of the
 * bound]: the best sample of each variant first, then some of all samples. The chart has no points if the spec counts
 * no operations or no bytes. */
static json_t *roofline(const report_problem *p, double detail)
{
    json_t *rows = js_array();
    size_t most = share_of(MOST_POINTS / 2, detail), at = 0;
    for (size_t i = 0; i < p->variant_count + p->count; i++) {
        bool best = i < p->variant_count;
        const report_sample *s = best ? p->variants[i].samples[0] : p->samples[i - p->variant_count];
        if (s->reason || !(s->flops > 0) || !(s->bytes > 0) || (!best && !is_chosen(at++, p->ran, most)))
            continue;
        json_t *row = js_array();
        js_add(row, js_real(s->flops / s->bytes));
        js_add(row, js_real(s->flops / s->seconds / 1e9));
        js_add(row, js_whole(report_variant_of(p, s)));
        js_add(row, js_text(cut(report_configuration(s), MOST_TEXT)));
        js_add(row, s->share > 0 ? js_real(s->share) : json_null());
        js_add(row, json_boolean(best));
        js_add(rows, row);
    }
    json_t *object = js_object();
    js_set(object, "points", rows);
    js_set(object, "peak_gflops", p->peak_flops > 0 ? js_real(p->peak_flops / 1e9) : json_null());
    js_set(object, "peak_gbytes", p->peak_bandwidth > 0 ? js_real(p->peak_bandwidth / 1e9) : json_null());
    return object;
}

static json_t *param_json(const report_param *param, double unit)
{
    json_t *object = js_object(), *labels = js_array(), *spreads = js_array();
    for (size_t i = 0; i < param->bin_count; i++) {
        const report_spread *s = &param->spreads[i];
        const double numbers[] = {s->least, s->low, s->median, s->high, s->most};
        json_t *row = js_array();
        js_add(labels, js_text(cut(param->labels[i], 60)));
        js_add(row, js_whole(s->ran));
        js_add(row, js_whole(s->failed));
        for (size_t k = 0; s->ran && k < CLI_COUNT(numbers); k++)
            js_add(row, js_real(numbers[k] / unit));
        js_add(spreads, row);
    }
    js_set(object, "name", js_text(cut(param->name, 60)));
    js_set(object, "labels", labels);
    js_set(object, "spreads", spreads);
    js_set(object, "effect", js_real(param->effect));
    return object;
}

/* Returns the cells of a heat map that have samples: [bin of a, bin of b, best time or null if all failed, number of
 * samples]. */
static json_t *pair_cells(const report_variant *v, size_t a, size_t b, double unit)
{
    double best[REPORT_BINS][REPORT_BINS];
    size_t count[REPORT_BINS][REPORT_BINS] = {{0}};
    for (size_t i = 0; i < v->count; i++) {
        const report_sample *s = v->samples[i];
        size_t x = report_bin(&v->params[a], s->levels[a]), y = report_bin(&v->params[b], s->levels[b]);
        if (count[x][y]++ == 0) /* the samples are ordered by time, so the first sample of a cell is the fastest */
            best[x][y] = s->reason ? NAN : s->seconds / unit;
    }
    json_t *cells = js_array();
    for (size_t x = 0; x < v->params[a].bin_count; x++)
        for (size_t y = 0; y < v->params[b].bin_count; y++) {
            if (count[x][y] == 0)
                continue;
            json_t *cell = js_array();
            js_add(cell, js_whole(x));
            js_add(cell, js_whole(y));
            js_add(cell, js_real(best[x][y]));
            js_add(cell, js_whole(count[x][y]));
            js_add(cells, cell);
        }
    return cells;
}

/* Returns the lines of the parallel coordinates, [time, value of each param]. A fifth of the lines are the fastest
 * samples, and the other lines are spread over the remaining samples. The slowest samples come first, so that the
 * fastest samples are drawn on top. */
static json_t *lines_json(const report_variant *v, double unit, double detail)
{
    size_t most = share_of(MOST_LINES, detail), fastest = v->ran <= most ? v->ran : most / 5;
    json_t *rows = js_array();
    for (size_t i = v->ran; i-- > 0;) {
        if (i >= fastest && !is_chosen(i - fastest, v->ran - fastest, most - fastest))
            continue;
        json_t *row = js_array();
        js_add(row, js_real(v->samples[i]->seconds / unit));
        for (size_t p = 0; p < v->param_count; p++)
            if (report_has_choice(&v->params[p]))
                js_add(row, js_whole(v->samples[i]->levels[p]));
        js_add(rows, row);
    }
    return rows;
}

/* Returns the data of one variant: its params with more than one value, the heat maps of all pairs of these params, and
 * the lines of the parallel coordinates. Times are in units of `unit` seconds. */
static json_t *variant_json(const report_variant *v, double unit, double detail)
{
    json_t *object = js_object(), *params = js_array(), *pairs = js_array();
    for (size_t a = 0; a < v->param_count; a++) {
        if (!report_has_choice(&v->params[a]))
            continue;
        json_t *param = param_json(&v->params[a], unit);
        js_set(param, "values", js_whole(v->params[a].value_count));
        js_add(params, param);
        size_t first = json_array_size(params) - 1, second = first;
        for (size_t b = a + 1; b < v->param_count; b++) {
            if (!report_has_choice(&v->params[b]))
                continue;
            json_t *pair = js_object();
            js_set(pair, "a", js_whole(first));
            js_set(pair, "b", js_whole(++second));
            js_set(pair, "cells", pair_cells(v, a, b, unit));
            js_add(pairs, pair);
        }
    }
    js_set(object, "name", js_text(v->name));
    js_set(object, "best", v->ran ? js_real(v->samples[0]->seconds / unit) : json_null());
    js_set(object, "count", js_whole(v->count));
    js_set(object, "ran", js_whole(v->ran));
    js_set(object, "params", params);
    js_set(object, "pairs", pairs);
    js_set(object, "lines", lines_json(v, unit, detail));
    return object;
}

json_t *report_json(const report *r, double detail)
{
    json_t *object = js_object(), *problems = js_array();
    for (size_t i = 0; i < r->problem_count; i++) {
        const report_problem *p = &r->problems[i];
        json_t *problem = js_object(), *variants = js_array();
        double unit = 1;
        js_set(problem, "device", js_text(p->device));
        js_set(problem, "sizes", js_text(p->sizes));
        js_set(problem, "unit", js_text(p->best ? report_unit(p->best->seconds, &unit) : "s"));
        js_set(problem, "time", js_text(report_time_text(p->time)));
        js_set(problem, "count", js_whole(p->count));
        js_set(problem, "ran", js_whole(p->ran));
        add_samples(problem, p, unit, detail);
        js_set(problem, "roofline", roofline(p, detail));
        js_set(problem, "quantities", report_quantities_json(p, detail));
        for (size_t v = 0; v < p->variant_count; v++)
            js_add(variants, variant_json(&p->variants[v], unit, detail));
        js_set(problem, "variants", variants);
        js_add(problems, problem);
    }
    js_set(object, "replayed", json_boolean(r->replayed));
    js_set(object, "problems", problems);
    js_set(object, "pairs", report_pairs_json(r));
    return object;
}
