/* metrics.c - reads the metrics of a spec. This file checks the names that metrics use, and that no metric depends on
 * itself. */
#include <string.h>

#include "read.h"

/* Declares a name that only metrics may use. Metrics may use each other and the measurements, unless the spec uses the
 * same name for something else. */
static void declare_metric_name(kiln__reader *r, const char *name, kiln__pos pos)
{
    if (!kiln__find_name(r, name))
        kiln__declare_text(r, name, pos, KILN__NAME_METRIC);
}

kiln__named_expr *kiln__read_metrics(kiln__reader *r, const kiln__spec_node *map, const kiln__named_expr *shared,
                                     size_t shared_count, size_t *count)
{
    size_t names = r->name_count;
    *count = 0;
    if (!map)
        return NULL;
    for (size_t i = 0; map->kind == KILN__MAP && map->count <= KILN__MOST && i < map->count; i++)
        declare_metric_name(r, map->keys[i]->text, map->keys[i]->pos);
    for (size_t i = 0; i < shared_count; i++)
        declare_metric_name(r, shared[i].name, shared[i].pos);
#define X(name, more, known, value, missing) declare_metric_name(r, #name, map->pos);
    KILN__MEASUREMENTS(X)
#undef X
    kiln__named_expr *read = kiln__read_named(r, map, "'metrics'", KILN__ALL_INPUTS, count);
    r->name_count = names;
    return read;
}

/* ---- dependencies between metrics ---- */

/* The states of a metric in the depth-first search. ON_THE_WAY means that the search is below the metric. COUNTED means
 * that the search has left the metric, and it does not use a measurement. MEASURED means that the search has left the
 * metric, and it uses a measurement, perhaps through other metrics. */
enum { NOT_SEEN, ON_THE_WAY, COUNTED, MEASURED };
typedef struct walk {
    kiln__reader *r;
    const kiln__variant *variant;
    unsigned char state[2 * KILN__MOST]; /* one state for each metric */
} walk;

static bool is_measurement(const char *name)
{
#define X(field, more, known, value, missing)                                                                          \
    if (strcmp(name, #field) == 0)                                                                                     \
        return true;
    KILN__MEASUREMENTS(X)
#undef X
    return false;
}

/* Follows the dependencies of a metric, depth first, at most 2 * KILN__MOST levels deep. Reports an error and returns
 * false if a metric depends on itself. */
static bool follow_dependencies(walk *w, size_t at)
{
    const kiln__named_expr *metric = &w->variant->metrics[at];
    bool measured = false;
    if (w->state[at] == ON_THE_WAY)
        kiln__diag_add(w->r->diag, metric->pos, "the metric '%s' depends on itself", metric->name);
    if (w->state[at] != NOT_SEEN)
        return w->state[at] != ON_THE_WAY;
    w->state[at] = ON_THE_WAY;
    for (size_t i = 0; metric->expr && i < kiln__expr_name_count(metric->expr); i++) {
        const char *name = kiln__expr_name(metric->expr, i);
        size_t other = 0;
        if (strchr(name, '.') || kiln__find_name(w->r, name))
            continue;
        while (other < w->variant->metric_count && strcmp(w->variant->metrics[other].name, name) != 0)
            other++;
        bool found = other < w->variant->metric_count;
        if (found && !follow_dependencies(w, other))
            return false;
        measured |= found ? w->state[other] == MEASURED : is_measurement(name);
    }
    w->state[at] = measured ? MEASURED : COUNTED;
    return true;
}

static void check(kiln__reader *r, const kiln__variant *variant)
{
    walk w = {.r = r, .variant = variant};
    for (size_t i = 0; i < variant->metric_count && !r->metrics_wrong; i++) {
        const kiln__named_expr *metric = &variant->metrics[i];
        r->metrics_wrong = !follow_dependencies(&w, i); /* report an error once, not for each variant */
        if (w.state[i] != MEASURED || (strcmp(metric->name, "flops") != 0 && strcmp(metric->name, "bytes") != 0))
            continue;
        kiln__diag_add(r->diag, metric->pos, "'%s' may not use measurements, because kiln computes it before the run",
                       metric->name);
        r->metrics_wrong = true;
    }
}

void kiln__join_metrics(kiln__reader *r, const kiln__named_expr *shared, size_t shared_count,
                        const kiln__named_expr *own, size_t own_count, kiln__variant *variant)
{
    variant->metrics = kiln__read_array(r, shared_count + own_count, sizeof *variant->metrics);
    for (size_t i = 0; variant->metrics && i < shared_count; i++) {
        size_t k = 0;
        while (k < own_count && strcmp(own[k].name, shared[i].name) != 0)
            k++;
        if (k == own_count)
            variant->metrics[variant->metric_count++] = shared[i];
    }
    for (size_t i = 0; variant->metrics && i < own_count; i++)
        variant->metrics[variant->metric_count++] = own[i];
    if (!r->metrics_wrong)
        check(r, variant);
}
