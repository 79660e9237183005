/* similar.c - chooses a configuration for an input that was not measured, by the features of the inputs that were
 * measured. The method is weighted nearest neighbours. The page README.md explains the method and its constants. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "best.h"

/* The times of a configuration at the NEAREST inputs decide. If an input has no sample of a configuration, the
 * configuration counts as UNKNOWN times slower than the best configuration for this input. */
enum { NEAREST = 3, UNKNOWN = 4 };
#define NEAR 0.1 /* this number is added to distances, so that an input at distance 0 has a finite weight */
/* The times of a distant input predict little. So another configuration precedes the default only if it is faster by a
 * factor of more than exp(DOUBT * distance). `distance` is the distance of the nearest input. */
#define DOUBT 0.12

/* A known input: the samples of one spec, device and set of sizes. These samples are neighbours in the list. */
typedef struct input {
    size_t first, end; /* the range of this input's samples in the list of candidates */
    double distance;
    int device_distance;
    kiln__how how; /* the most reliable kind of time that the input has; times of other kinds are not compared */
    double best;   /* the best time of the input in seconds */
} input;

static double read_number(kiln_value value) { return value.kind == KILN_FLOAT ? value.as.f : (double)value.as.i; }

/* Scales a feature by its logarithm, so that large counts and shares between 0 and 1 have comparable distances. The
 * distance from 2^20 to 2^21 is 1, and so is the distance from 0 to 1.
 */
static double scale_feature(kiln_value value)
{
    double number = read_number(value);
    return copysign(log2(1 + fabs(number)), number);
}

bool kiln__feature_distance(kiln__settings a, kiln__settings b, double *distance)
{
    double sum = 0;
    if (a.count != b.count || a.count == 0)
        return false;
    for (size_t i = 0; i < a.count; i++) {
        const kiln_setting *other = kiln__settings_find(b, a.items[i].name);
        if (!other || a.items[i].value.kind == KILN_TEXT || other->value.kind == KILN_TEXT)
            return false;
        double apart = scale_feature(a.items[i].value) - scale_feature(other->value);
        sum += apart * apart;
    }
    *distance = sqrt(sum);
    return isfinite(sum);
}

/* ---- the nearest inputs ---- */

static bool is_usable(const kiln__candidate *candidate) { return candidate->known->verified; }

/* Finds the best time of an input among its samples with the most reliable kind of time. Returns false if no sample is
 * usable. */
static bool find_best_time(const kiln__best_search *s, input *in)
{
    bool any = false;
    for (size_t i = in->first; i < in->end; i++) {
        const kiln__known *known = s->items[i].known;
        if (!is_usable(&s->items[i]) || (any && known->how > in->how))
            continue;
        if (!any || known->how < in->how || known->seconds < in->best)
            in->best = known->seconds;
        in->how = known->how;
        any = true;
    }
    return any;
}

static bool find_distance(const kiln__best_search *s, input *in)
{
    for (size_t i = in->first; i < in->end; i++)
        if (kiln__feature_distance(s->features, s->items[i].known->features, &in->distance))
            return true;
    return false;
}

static int compare_distance(const void *left, const void *right)
{
    const input *a = left, *b = right;
    int order = (a->device_distance > b->device_distance) - (a->device_distance < b->device_distance);
    order = order ? order : (a->distance > b->distance) - (a->distance < b->distance);
    return order ? order : (a->first > b->first) - (a->first < b->first);
}

/* Finds at most NEAREST inputs that can be compared, and lists the nearest first. All these inputs were measured on the
 * same kind of device, which is the kind nearest to this device. The candidates of one problem must be neighbours in
 * `s->items`.
 */
static size_t find_inputs(const kiln__best_search *s, input *inputs)
{
    size_t count = 0;
    for (size_t i = 0, end; i < s->count; i = end) {
        for (end = i + 1; end < s->count && kiln__known_same_problem(s->items[i].known, s->items[end].known);)
            end++;
        input in = {.first = i, .end = end, .device_distance = s->items[i].device_distance};
        if (find_distance(s, &in) && find_best_time(s, &in))
            inputs[count++] = in;
    }
    if (count)
        qsort(inputs, count, sizeof *inputs, compare_distance);
    size_t near = 0;
    while (near < count && near < NEAREST && inputs[near].device_distance == inputs[0].device_distance)
        near++;
    return near;
}

/* ---- the configurations of the nearest inputs ---- */

static int compare_configurations(const kiln__known *a, const kiln__known *b)
{
    int order = strcmp(a->variant, b->variant);
    return order ? order : strcmp(a->params_text, b->params_text);
}

/* Finds an input's sample of a configuration by binary search, because the samples of an input are sorted by
 * configuration. Returns NULL if the input has no usable sample of the configuration. */
static const kiln__candidate *find_sample(const kiln__best_search *s, const input *in, const kiln__known *configuration)
{
    size_t first = in->first, end = in->end;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        int order = compare_configurations(s->items[middle].known, configuration);
        if (order == 0)
            return is_usable(&s->items[middle]) && s->items[middle].known->how == in->how ? &s->items[middle] : NULL;
        if (order < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

/* Returns the mean slowdown of a configuration relative to the best configuration. This is the weighted geometric mean,
 * with higher weights for nearer inputs. */
static double compute_slowdown(const kiln__best_search *s, const input *inputs, size_t count,
                               const kiln__known *configuration)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < count; i++) {
        const kiln__candidate *there = find_sample(s, &inputs[i], configuration);
        double weight = 1 / ((inputs[i].distance + NEAR) * (inputs[i].distance + NEAR));
        sum += weight * log(there ? there->known->seconds / inputs[i].best : UNKNOWN);
        weights += weight;
    }
    return exp(sum / weights);
}

/* Returns whether a configuration is the default of the requested variant. If no variant was requested, the first
 * variant counts. */
static bool is_default(const kiln__best_search *s, const kiln__known *known)
{
    const kiln__config *asked = s->asked;
    bool same = strcmp(known->variant, asked->variant->name) == 0 && known->params.count == asked->params.count;
    for (size_t i = 0; i < asked->params.count && same; i++) {
        const kiln_setting *param = &asked->params.items[i], *there = kiln__settings_find(known->params, param->name);
        same = there && kiln__value_equal(param->value, there->value);
    }
    return same;
}

bool kiln__best_similar(kiln__best_search *s)
{
    input *inputs = kiln__calloc(s->engine->mem, s->count + 1, sizeof *inputs);
    if (!inputs)
        return false;
    size_t count = find_inputs(s, inputs);
    for (size_t i = 0; i < count; i++)
        for (size_t k = inputs[i].first; k < inputs[i].end; k++) {
            kiln__candidate *candidate = &s->items[k];
            bool first = is_usable(candidate) && candidate->known->how == inputs[i].how;
            for (size_t before = 0; before < i && first;
                 before++) /* only the sample at its nearest input remains a candidate */
                first = !find_sample(s, &inputs[before], candidate->known);
            if (!first)
                continue;
            candidate->inputs = count;
            candidate->slowdown = compute_slowdown(s, inputs, count, candidate->known);
            candidate->distance = inputs[i].distance;
            candidate->rank = candidate->slowdown;
            if (is_default(s, candidate->known))
                candidate->rank /= exp(DOUBT * inputs[0].distance);
            if (candidate->from == KILN_BEST_NEAREST)
                candidate->from = KILN_BEST_SIMILAR;
        }
    kiln__free(s->engine->mem, inputs);
    return true;
}
