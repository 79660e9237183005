/* similar.c - which configuration for an input that was not measured: by the features of the inputs that were. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "best.h"

/* A configuration is judged by the NEAREST inputs. Where one has no sample of it, it counts as UNKNOWN times slower
 * than the best. */
enum { NEAREST = 3, UNKNOWN = 4 };
#define NEAR 0.1 /* added to distances, so that an equal input does not outweigh all others by any factor */
/* The further away the nearest input, the less it says: another configuration goes before the default one if it is
 * faster by more than exp(DOUBT * distance). So where nothing near is known, only what is far better is chosen. */
#define DOUBT 0.12

/* An input that is known: samples of one spec, device and set of sizes, which stand together in the list. */
typedef struct input {
    size_t first, end; /* in the list of candidates */
    double distance;
    int device_distance;
    kiln__how how; /* the surest kind of time that it has; others are not compared with it */
    double best;   /* seconds */
} input;

static double number_of(kiln_value value) { return value.kind == KILN_FLOAT ? value.as.f : (double)value.as.i; }

/* Counts and shares alike: from 2^20 to 2^21 is 1, from 0 to 1 is 1. */
static double scale_of(kiln_value value)
{
    double number = number_of(value);
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
        double apart = scale_of(a.items[i].value) - scale_of(other->value);
        sum += apart * apart;
    }
    *distance = sqrt(sum);
    return isfinite(sum);
}

/* ---- the inputs ---- */

static bool counts(const kiln__candidate *candidate) { return candidate->known->verified; }

/* Its best time of the surest kind. False: none of its samples counts. */
static bool measure(const kiln__best_search *s, input *in)
{
    bool any = false;
    for (size_t i = in->first; i < in->end; i++) {
        const kiln__known *known = s->items[i].known;
        if (!counts(&s->items[i]) || (any && known->how > in->how))
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

static int by_distance(const void *left, const void *right)
{
    const input *a = left, *b = right;
    int order = (a->device_distance > b->device_distance) - (a->device_distance < b->device_distance);
    order = order ? order : (a->distance > b->distance) - (a->distance < b->distance);
    return order ? order : (a->first > b->first) - (a->first < b->first);
}

/* The nearest known inputs that can be compared with the one asked for, all of the nearest kind of device. The
 * candidates are in the order of the list. */
static size_t find_inputs(const kiln__best_search *s, input *inputs)
{
    size_t count = 0;
    for (size_t i = 0, end; i < s->count; i = end) {
        for (end = i + 1; end < s->count && kiln__known_same_problem(s->items[i].known, s->items[end].known);)
            end++;
        input in = {.first = i, .end = end, .device_distance = s->items[i].device_distance};
        if (find_distance(s, &in) && measure(s, &in))
            inputs[count++] = in;
    }
    if (count)
        qsort(inputs, count, sizeof *inputs, by_distance);
    size_t near = 0;
    while (near < count && near < NEAREST && inputs[near].device_distance == inputs[0].device_distance)
        near++;
    return near;
}

/* ---- the configurations ---- */

static int compare_configurations(const kiln__known *a, const kiln__known *b)
{
    int order = strcmp(a->variant, b->variant);
    return order ? order : strcmp(a->params_text, b->params_text);
}

/* The input's sample of a configuration; NULL: none that counts. The samples of an input are in the order of these. */
static const kiln__candidate *find_in(const kiln__best_search *s, const input *in, const kiln__known *configuration)
{
    size_t first = in->first, end = in->end;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        int order = compare_configurations(s->items[middle].known, configuration);
        if (order == 0)
            return counts(&s->items[middle]) && s->items[middle].known->how == in->how ? &s->items[middle] : NULL;
        if (order < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

/* The mean of how many times slower than the best it is, by logarithms, the nearer inputs with the greater weight. */
static double slowdown_of(const kiln__best_search *s, const input *inputs, size_t count,
                          const kiln__known *configuration)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < count; i++) {
        const kiln__candidate *there = find_in(s, &inputs[i], configuration);
        double weight = 1 / ((inputs[i].distance + NEAR) * (inputs[i].distance + NEAR));
        sum += weight * log(there ? there->known->seconds / inputs[i].best : UNKNOWN);
        weights += weight;
    }
    return exp(sum / weights);
}

/* Of the variant asked for, or of the first. */
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
            bool first = counts(candidate) && candidate->known->how == inputs[i].how;
            for (size_t before = 0; before < i && first; before++) /* it stands for itself at its nearest input */
                first = !find_in(s, &inputs[before], candidate->known);
            if (!first)
                continue;
            candidate->inputs = count;
            candidate->slowdown = slowdown_of(s, inputs, count, candidate->known);
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
