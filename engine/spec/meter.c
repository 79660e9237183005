/* meter.c - computes the values of a spec's metrics. Some metrics use measurements of a run. */
#include <stdio.h>
#include <string.h>

#include "spec.h"

/* The state of computing the metrics of one variant. */
typedef struct metering {
    const kiln__metered *of;
    kiln__diag *diag;
    kiln_value *values; /* the value of each metric that is computed so far, because metrics may use each other */
    bool *known;
    const char *missing; /* the measurement that a metric needs and that the run did not make */
    bool failed;
} metering;

/* Sets *value to the measurement with this name. Returns false if the name is not a name of a measurement. If the run
 * did not make the measurement, returns false and sets `missing`. */
static bool find_measured(metering *m, const char *name, kiln_value *value)
{
    static const kiln_result none;
    const kiln_result *r = m->of->result ? m->of->result : &none;
    const double seconds = m->of->seconds;
    const struct {
        const char *name;
        bool known;
        double value;
    } all[] = {
#define X(field, more, is_known, is, why) {#field, is_known, is},
        KILN__MEASUREMENTS(X)
#undef X
    };
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        if (strcmp(all[i].name, name) == 0) {
            *value = (kiln_value){.kind = KILN_FLOAT, .as.f = all[i].value};
            if (all[i].known && seconds > 0)
                return true;
            m->missing = all[i].name;
        }
    return false;
}

static bool evaluate(metering *m, size_t metric, kiln_value *value);

/* Looks up a name in the same order as the reader of the spec: params, sizes, lets and inputs, then metrics, then
 * measurements. */
static bool find(void *user, const char *name, kiln_value *value)
{
    metering *m = user;
    const kiln__variant *variant = m->of->variant;
    if (kiln__scope_find(m->of->scope, name, value))
        return true;
    for (size_t i = 0; i < variant->metric_count; i++)
        if (strcmp(variant->metrics[i].name, name) == 0)
            return evaluate(m, i, value);
    return find_measured(m, name, value);
}

static bool evaluate(metering *m, size_t metric, kiln_value *value)
{
    const kiln__named_expr *of = &m->of->variant->metrics[metric];
    kiln__scope scope = {.find = find, .user = m};
    double number;
    if (!m->known[metric]) {
        /* First evaluate the metric without messages. If a measurement is missing, a message would wrongly call its
         * name unknown. */
        if (!kiln__expr_eval_float(of->expr, &scope, of->name, &number, NULL)) {
            if (!m->missing && !m->failed)
                kiln__expr_eval_float(of->expr, &scope, of->name, &number, m->diag);
            m->failed = true; /* the metric with the error reports it, not each metric that uses it */
            return false;
        }
        m->values[metric] = (kiln_value){.kind = KILN_FLOAT, .as.f = number};
        m->known[metric] = true;
    }
    *value = m->values[metric];
    return true;
}

static bool begin(metering *m, const kiln__metered *of, kiln__diag *diag)
{
    size_t count = of->variant->metric_count + 1;
    *m = (metering){.of = of, .diag = diag};
    m->values = kiln__calloc(of->mem, count, sizeof *m->values);
    m->known = kiln__calloc(of->mem, count, sizeof *m->known);
    return m->values && m->known;
}

static bool end(metering *m, bool ready)
{
    kiln__free(m->of->mem, m->values);
    kiln__free(m->of->mem, m->known);
    return ready;
}

static double *count_of(const char *name, kiln_result *result)
{
    return strcmp(name, "flops") == 0 ? &result->flops : strcmp(name, "bytes") == 0 ? &result->bytes : NULL;
}

bool kiln__metrics_count(const kiln__metered *of, kiln_result *to, kiln__diag *diag)
{
    metering m;
    bool ready = begin(&m, of, diag);
    for (size_t i = 0; ready && i < of->variant->metric_count; i++) {
        double *count = count_of(of->variant->metrics[i].name, to);
        kiln_value value;
        m.failed = false;
        if (count && evaluate(&m, i, &value))
            *count = value.as.f;
    }
    return end(&m, ready);
}

bool kiln__metrics_print(const kiln__metered *of, kiln_metric_values *to, kiln__diag *diag)
{
    metering m;
    bool ready = begin(&m, of, diag);
    size_t used = 0;
    *to = (kiln_metric_values){{0}};
    for (size_t i = 0; ready && i < of->variant->metric_count; i++) {
        const char *name = of->variant->metrics[i].name;
        char one[sizeof to->text], number[40];
        kiln_value value;
        m.missing = NULL;
        m.failed = false;
        if (strcmp(name, "flops") == 0 || strcmp(name, "bytes") == 0 || !evaluate(&m, i, &value))
            continue;
        kiln__print_double(number, sizeof number, value.as.f);
        int length = snprintf(one, sizeof one, "%s%s=%s", used ? " " : "", name, number);
        if (length < 0 || used + (size_t)length >= sizeof to->text)
            continue;
        memcpy(to->text + used, one, (size_t)length);
        used += (size_t)length;
    }
    return end(&m, ready);
}

bool kiln__metrics_one(const kiln__metered *of, size_t metric, double *value, const char **missing, kiln__diag *diag)
{
    metering m;
    kiln_value found = {.kind = KILN_FLOAT};
    bool ready = begin(&m, of, diag), good = ready && evaluate(&m, metric, &found);
    *missing = good || !ready ? NULL : m.missing ? m.missing : "?";
    *value = found.as.f;
    return end(&m, ready);
}
