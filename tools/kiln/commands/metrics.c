/* metrics.c - computes the spec's metrics for one configuration, for `kiln run` and `kiln show`. */
#include <math.h>
#include <string.h>

#include "commands.h"

kiln_status metrics_read(kiln_plan *plan, metric_list *metrics, kiln_error **error)
{
    kiln_status status = KILN_OK;
    metrics->count = kiln_plan_metric_count(plan);
    metrics->names = cli_alloc(metrics->count * sizeof *metrics->names);
    metrics->values = cli_alloc(metrics->count * sizeof *metrics->values);
    for (size_t i = 0; i < metrics->count && status == KILN_OK; i++) {
        kiln_error *why = NULL;
        status = kiln_plan_metric(plan, i, &metrics->names[i], &metrics->values[i], &why);
        if (status == KILN_ERROR_UNSUPPORTED) { /* the metric needs a figure that was not measured, so it is left out */
            metrics->values[i] = NAN;
            status = KILN_OK;
        }
        if (status == KILN_OK)
            kiln_error_free(why);
        else
            *error = why;
    }
    return status;
}

const char *metrics_text(const metric_list *metrics, bool all)
{
    const char *text = "";
    for (size_t i = 0; i < metrics->count; i++)
        if (!isnan(metrics->values[i]) &&
            (all || (strcmp(metrics->names[i], "flops") != 0 && strcmp(metrics->names[i], "bytes") != 0)))
            text = cli_printf("%s%s%s %s", text, *text ? ", " : "", metrics->names[i],
                              metrics->values[i] == 0 ? "0" : cli_significant(metrics->values[i], 4));
    return text;
}

json_t *metrics_json(const metric_list *metrics)
{
    json_t *object = js_object();
    for (size_t i = 0; i < metrics->count; i++)
        js_set(object, metrics->names[i], js_real(metrics->values[i]));
    return object;
}
