/* data.c - groups the samples of a report by problem and variant, sorts them, and computes the figures that the charts
 * show. */
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"

/* a pause in seconds; if two samples are further apart, no sweep was running between them */
#define LONGEST_PAUSE 600.0

/* ---- adding samples ---- */

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

const char *report_intern(report *r, const char *text)
{
    if (!text)
        return "";
    void *found = tfind(text, &r->texts, by_text);
    if (!found)
        found = tsearch(cli_strndup(text, strlen(text)), &r->texts, by_text);
    if (!found)
        return cli_strndup(text, strlen(text)); /* the tree of texts has no memory, so this text is not shared */
    return *(char *const *)found;
}

kiln_setting *report_settings(report *r, const kiln_setting *settings, size_t count)
{
    kiln_setting *made = cli_alloc((count + 1) * sizeof *made);
    for (size_t i = 0; i < count; i++) {
        made[i] = (kiln_setting){.name = report_intern(r, settings[i].name), .value = settings[i].value};
        if (settings[i].value.kind == KILN_TEXT)
            made[i].value.as.text = report_intern(r, settings[i].value.as.text);
    }
    return made;
}

static void *grow_array(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    size_t more = *room ? 2 * *room : 16;
    void *made = cli_alloc(more * size);
    if (count)
        memcpy(made, items, count * size);
    *room = more;
    return made;
}

static int compare_values(const void *left, const void *right);

static bool same_settings(const kiln_setting *a, size_t a_count, const kiln_setting *b, size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (strcmp(a[i].name, b[i].name) != 0 || compare_values(&a[i].value, &b[i].value) != 0)
            return false;
    return true;
}

report_problem *report_find_problem(report *r, const char *device, const kiln_setting *sizes, size_t size_count)
{
    /* the search runs from the end, because most samples belong to the last problem */
    for (size_t i = r->problem_count; i-- > 0;) {
        report_problem *p = &r->problems[i];
        if (strcmp(p->from, r->source) == 0 && strcmp(p->device, device) == 0 &&
            same_settings(p->size_list, p->size_count, sizes, size_count))
            return p;
    }
    const char *text = report_intern(r, cli_settings_text(sizes, size_count));
    r->problems = grow_array(r->problems, r->problem_count, &r->problem_room, sizeof *r->problems);
    report_problem *made = &r->problems[r->problem_count++];
    *made = (report_problem){.device = report_intern(r, device),
                             .sizes = text,
                             .device_id = "",
                             .from = r->source,
                             .size_list = report_settings(r, sizes, size_count),
                             .size_count = size_count};
    return made;
}

void report_add(report_problem *p, const report_sample *sample)
{
    report_sample *made = cli_alloc(sizeof *made);
    *made = *sample;
    p->samples = grow_array(p->samples, p->count, &p->room, sizeof *p->samples);
    p->samples[p->count++] = made;
}

void report_add_once(cli_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return;
    if (*text)
        cli_list_add(list, text);
}

void report_observe(report_range *range, double value)
{
    if (!(value > 0) || !isfinite(value))
        return;
    range->least = range->count && range->least < value ? range->least : value;
    range->most = range->count && range->most > value ? range->most : value;
    range->count++;
}

static void leave(void *text) { (void)text; /* the texts themselves are freed with the command's memory */ }

void report_free(report *r)
{
    tdestroy(r->texts, leave);
    r->texts = NULL;
}

/* ---- texts ---- */

const char *report_time_text(report_time time)
{
    static const char *const texts[] = {
#define CLI_X(name, says) says,
        REPORT_TIMES(CLI_X)
#undef CLI_X
    };
    return texts[time];
}

const char *report_unit(double seconds, double *length)
{
    const char *unit = cli_time_unit(seconds, length);
    return strcmp(unit, "us") == 0 ? "\u00b5s" : unit;
}

const char *report_configuration(const report_sample *sample)
{
    return cli_settings_text(sample->params, sample->param_count);
}

const char *report_day(double at)
{
    time_t seconds = (time_t)at;
    struct tm parts;
    char text[32];
    if (!gmtime_r(&seconds, &parts) || strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts) == 0)
        return "?";
    return cli_printf("%s", text);
}

/* ---- params and their values ---- */

static bool is_missing(kiln_value v) { return v.kind == KILN_TEXT && !v.as.text; }

static double number(kiln_value v) { return v.kind == KILN_FLOAT ? v.as.f : (double)v.as.i; }

/* Compares two values in a total order: missing values come first, then numbers, then texts. */
static int compare_values(const void *left, const void *right)
{
    const kiln_value *a = left, *b = right;
    if (is_missing(*a) || is_missing(*b))
        return is_missing(*b) - is_missing(*a);
    if ((a->kind == KILN_TEXT) != (b->kind == KILN_TEXT))
        return a->kind == KILN_TEXT ? 1 : -1;
    if (a->kind == KILN_TEXT)
        return strcmp(a->as.text, b->as.text);
    if (a->kind != KILN_FLOAT && b->kind != KILN_FLOAT && a->as.i != b->as.i)
        return a->as.i < b->as.i ? -1 : 1;
    if (number(*a) != number(*b))
        return number(*a) < number(*b) ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static kiln_value value_of(const report_sample *sample, const char *name)
{
    for (size_t i = 0; i < sample->param_count; i++)
        if (strcmp(sample->params[i].name, name) == 0)
            return sample->params[i].value;
    return (kiln_value){.kind = KILN_TEXT, .as.text = NULL};
}

size_t report_bin(const report_param *param, uint32_t level)
{
    return param->bin_count == param->value_count ? level : (size_t)level * param->bin_count / param->value_count;
}

bool report_has_choice(const report_param *param) { return param->value_count > 1; }

static const char *value_label(kiln_value v)
{
    return is_missing(v) ? "(none)" : v.kind == KILN_TEXT && !*v.as.text ? "(empty)" : cli_value_text(v);
}

static void name_bins(report_param *param)
{
    param->bin_count = param->value_count < REPORT_BINS ? param->value_count : REPORT_BINS;
    for (size_t level = 0, next; level < param->value_count; level = next) {
        size_t bin = report_bin(param, (uint32_t)level);
        for (next = level + 1; next < param->value_count && report_bin(param, (uint32_t)next) == bin; next++)
            ;
        const char *first = value_label(param->values[level]);
        param->labels[bin] = next == level + 1 ? first
                                               : cli_printf("%s to %s", first, value_label(param->values[next - 1]));
    }
}

/* Finds the params of a variant, and the distinct values of each param in order. Each sample gets, for each param, the
 * index of its value. */
static void find_params(report_variant *v)
{
    cli_list names = {0};
    for (size_t i = 0; i < v->count; i++)
        for (size_t k = 0; k < v->samples[i]->param_count; k++)
            report_add_once(&names, v->samples[i]->params[k].name);
    v->param_count = names.count;
    v->params = cli_alloc((names.count + 1) * sizeof *v->params);
    kiln_value *values = cli_alloc((v->count + 1) * sizeof *values);
    for (size_t i = 0; i < v->count; i++)
        v->samples[i]->levels = cli_alloc((names.count + 1) * sizeof *v->samples[i]->levels);
    for (size_t p = 0; p < names.count; p++) {
        report_param *param = &v->params[p];
        param->name = names.items[p];
        for (size_t i = 0; i < v->count; i++)
            values[i] = value_of(v->samples[i], param->name);
        qsort(values, v->count, sizeof *values, compare_values);
        for (size_t i = 0; i < v->count; i++)
            if (i == 0 || compare_values(&values[i], &values[param->value_count - 1]) != 0)
                values[param->value_count++] = values[i];
        kiln_value *kept = cli_alloc(param->value_count * sizeof *kept);
        memcpy(kept, values, param->value_count * sizeof *kept);
        param->values = kept;
        for (size_t i = 0; i < v->count; i++) {
            kiln_value value = value_of(v->samples[i], param->name);
            const kiln_value *at = bsearch(&value, kept, param->value_count, sizeof *kept, compare_values);
            v->samples[i]->levels[p] = (uint32_t)(at ? at - kept : 0);
        }
        name_bins(param);
    }
}

static int by_number(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Returns a quantile of `count` sorted numbers, by linear interpolation between the two nearest numbers. */
static double quantile(const double *ordered, size_t count, double share)
{
    double at = share * (double)(count - 1);
    size_t below = (size_t)at;
    return below + 1 < count ? ordered[below] + (at - (double)below) * (ordered[below + 1] - ordered[below])
                             : ordered[count - 1];
}

static void find_spreads(report_variant *v, size_t p)
{
    report_param *param = &v->params[p];
    double *times = cli_alloc((v->ran + 1) * sizeof *times);
    double worst = 0;
    for (size_t bin = 0; bin < param->bin_count; bin++) {
        report_spread *spread = &param->spreads[bin];
        for (size_t i = 0; i < v->count; i++) {
            if (report_bin(param, v->samples[i]->levels[p]) != bin)
                continue;
            if (i < v->ran)
                times[spread->ran++] = v->samples[i]->seconds;
            else
                spread->failed++;
        }
        if (spread->ran == 0)
            continue;
        qsort(times, spread->ran, sizeof *times, by_number);
        spread->least = times[0];
        spread->low = quantile(times, spread->ran, 0.25);
        spread->median = quantile(times, spread->ran, 0.5);
        spread->high = quantile(times, spread->ran, 0.75);
        spread->most = times[spread->ran - 1];
        worst = spread->least > worst ? spread->least : worst;
    }
    param->effect = v->ran ? worst / v->samples[0]->seconds : 0;
}

/* ---- variants ---- */

static int by_variant(const void *left, const void *right)
{
    const report_sample *a = *(report_sample *const *)left, *b = *(report_sample *const *)right;
    int order = strcmp(a->variant, b->variant);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

static int by_levels(const void *left, const void *right, void *variant)
{
    const report_sample *a = *(report_sample *const *)left, *b = *(report_sample *const *)right;
    for (size_t i = 0; i < ((const report_variant *)variant)->param_count; i++)
        if (a->levels[i] != b->levels[i])
            return a->levels[i] < b->levels[i] ? -1 : 1;
    return (a->at < b->at) - (a->at > b->at); /* newest first */
}

static int by_speed(const void *left, const void *right)
{
    const report_sample *a = *(report_sample *const *)left, *b = *(report_sample *const *)right;
    if (!a->reason != !b->reason)
        return a->reason ? 1 : -1;
    if (!a->reason && a->seconds != b->seconds)
        return a->seconds < b->seconds ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Keeps the latest sample of each configuration. Older samples of a configuration were made with another source, driver
 * or kind of run. */
static size_t leave_latest(report_variant *v)
{
    size_t kept = 0, before = v->count;
    qsort_r(v->samples, v->count, sizeof *v->samples, by_levels, v);
    for (size_t i = 0; i < v->count; i++)
        if (i == 0 || memcmp(v->samples[i]->levels, v->samples[kept - 1]->levels,
                             v->param_count * sizeof *v->samples[i]->levels) != 0)
            v->samples[kept++] = v->samples[i];
    v->count = kept;
    return before - kept;
}

static int by_best(const void *left, const void *right)
{
    const report_variant *a = left, *b = right;
    if (!a->ran != !b->ran)
        return a->ran ? -1 : 1;
    if (a->ran && a->samples[0]->aside != b->samples[0]->aside)
        return b->samples[0]->aside ? -1 : 1;
    if (a->ran && a->samples[0]->seconds != b->samples[0]->seconds)
        return a->samples[0]->seconds < b->samples[0]->seconds ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void find_variants(report_problem *p)
{
    qsort(p->samples, p->count, sizeof *p->samples, by_variant);
    for (size_t i = 0; i < p->count; i++)
        p->variant_count += i == 0 || strcmp(p->samples[i]->variant, p->samples[i - 1]->variant) != 0;
    p->variants = cli_alloc((p->variant_count + 1) * sizeof *p->variants);
    size_t at = 0;
    for (size_t from = 0, to; from < p->count; from = to) {
        report_variant *v = &p->variants[at++];
        v->name = p->samples[from]->variant;
        for (to = from; to < p->count && strcmp(p->samples[to]->variant, v->name) == 0; to++)
            ;
        v->count = to - from;
        v->samples = cli_alloc(v->count * sizeof *v->samples);
        memcpy(v->samples, p->samples + from, v->count * sizeof *v->samples);
        find_params(v);
        p->older += leave_latest(v);
        qsort(v->samples, v->count, sizeof *v->samples, by_speed);
        while (v->ran < v->count && !v->samples[v->ran]->reason)
            v->ran++;
        for (size_t k = 0; k < v->param_count; k++)
            find_spreads(v, k);
    }
    qsort(p->variants, p->variant_count, sizeof *p->variants, by_best);
}

/* ---- the problem ---- */

static int by_at(const void *left, const void *right)
{
    const report_sample *a = *(report_sample *const *)left, *b = *(report_sample *const *)right;
    return (a->at > b->at) - (a->at < b->at);
}

/* Chooses the problem's kind of time: the last kind of REPORT_TIMES that a sample has. Leaves out the samples with
 * another kind of time. */
static void choose_time(report_problem *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->count; i++)
        if (!p->samples[i]->reason && p->samples[i]->time > p->time)
            p->time = p->samples[i]->time;
    for (size_t i = 0; i < p->count; i++) {
        report_sample *s = p->samples[i];
        bool fits = s->reason || (s->time == p->time && isfinite(s->seconds) && s->seconds > 0);
        if (fits)
            p->samples[kept++] = s;
        else
            p->other++;
    }
    p->count = kept;
}

static void order_in_time(report_problem *p, bool replayed)
{
    size_t count = 0;
    for (size_t v = 0; v < p->variant_count; v++)
        for (size_t i = 0; i < p->variants[v].count; i++)
            p->samples[count++] = p->variants[v].samples[i];
    p->count = count;
    qsort(p->samples, count, sizeof *p->samples, by_at);
    double clock = 0;
    for (size_t i = 0; i < count; i++) {
        report_sample *s = p->samples[i];
        double gap = i ? s->at - p->samples[i - 1]->at : 0;
        clock += gap < LONGEST_PAUSE ? gap : 0;
        s->clock = replayed ? s->at : clock;
        s->number = i + 1;
        p->ran += !s->reason;
        if (s->reason)
            continue;
        p->least = p->best ? fmin(p->least, s->seconds) : s->seconds;
        if (!p->best || (s->aside == p->best->aside ? s->seconds < p->best->seconds : p->best->aside))
            p->best = s;
    }
    p->first = count ? p->samples[0]->at : 0;
    p->last = count ? p->samples[count - 1]->at : 0;
}

bool report_counts(const report_problem *p, const report_sample *sample)
{
    return !sample->reason && sample->aside == p->best->aside;
}

static int by_frequency(const void *left, const void *right)
{
    const report_reason *a = left, *b = right;
    return a->count != b->count ? (a->count < b->count ? 1 : -1) : strcmp(a->reason, b->reason);
}

static void find_reasons(report_problem *p)
{
    size_t room = 0;
    for (size_t i = 0; i < p->count; i++) {
        const report_sample *s = p->samples[i];
        if (!s->reason)
            continue;
        size_t k = 0;
        while (k < p->reason_count && strcmp(p->reasons[k].reason, s->reason) != 0)
            k++;
        if (k == p->reason_count) {
            p->reasons = grow_array(p->reasons, p->reason_count, &room, sizeof *p->reasons);
            p->reasons[p->reason_count++] = (report_reason){s->reason, s->message, 0, s};
        }
        p->reasons[k].count++;
    }
    if (p->reason_count)
        qsort(p->reasons, p->reason_count, sizeof *p->reasons, by_frequency);
}

static int by_device(const void *left, const void *right)
{
    const report_problem *a = left, *b = right;
    int order = strcmp(a->device, b->device);
    return order ? order : (a->last < b->last) - (a->last > b->last);
}

void report_finish(report *r)
{
    for (size_t i = 0; i < r->problem_count; i++) {
        report_problem *p = &r->problems[i];
        choose_time(p);
        find_variants(p);
        order_in_time(p, r->replayed);
        find_reasons(p);
        report_find_quantities(r, p);
        r->count += p->count;
    }
    if (r->problem_count)
        qsort(r->problems, r->problem_count, sizeof *r->problems, by_device);
}
