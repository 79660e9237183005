/* end_to_end.c - the host's costs of inputs, and the number of repetitions from which on a costly input pays off. */
#include "end_to_end.h"

#include <math.h>
#include <string.h>

enum { MANY = 1000 }; /* the number of repetitions for which the table shows the total time */

whole_cost whole_cost_of(const char *variant, const kiln_result *result)
{
    bool timed = result->measured || result->estimated;
    return (whole_cost){.variant = variant,
                        .functions = result->input_functions.text,
                        .inputs = result->inputs_seconds,
                        .copy = result->copy_seconds,
                        .repetition = timed ? result->seconds : result->host_seconds};
}

double whole_cost_sum(const whole_cost *cost, uint64_t repetitions)
{
    return cost->inputs + cost->copy + (double)repetitions * cost->repetition;
}

/* Returns true if two lists of functions have the same names. It ignores their times, which differ between
 * processes. */
static bool same_functions(const char *a, const char *b)
{
    for (;;) {
        size_t length = strcspn(a, "=");
        if (length != strcspn(b, "=") || strncmp(a, b, length) != 0)
            return false;
        a += strcspn(a, " ");
        b += strcspn(b, " ");
        if (!*a || !*b)
            return *a == *b;
        a++;
        b++;
    }
}

const whole_cost *whole_cost_plain(const whole_cost *costs, size_t count)
{
    const whole_cost *least = costs, *plain;
    for (size_t i = 1; i < count; i++)
        least = whole_cost_sum(&costs[i], 0) < whole_cost_sum(least, 0) ? &costs[i] : least;
    plain = least;
    for (size_t i = 0; i < count; i++)
        if (same_functions(costs[i].functions, least->functions) && costs[i].repetition < plain->repetition)
            plain = &costs[i];
    return plain;
}

uint64_t whole_cost_pays(const whole_cost *cost, const whole_cost *plain)
{
    double more = whole_cost_sum(cost, 0) - whole_cost_sum(plain, 0), gain = plain->repetition - cost->repetition;
    if (!(gain > 0) || !(more / gain < 1e15))
        return 0;
    return more < 0 ? 1 : (uint64_t)floor(more / gain) + 1;
}

const char *whole_cost_functions(const char *functions)
{
    char *text = cli_printf("%s", "");
    while (*functions) {
        size_t name = strcspn(functions, "= ");
        double seconds = functions[name] == '=' ? strtod(functions + name + 1, NULL) : 0;
        text = cli_printf("%s%s%.*s %s", text, *text ? ", " : "", (int)name, functions, cli_seconds(seconds));
        functions += strcspn(functions, " ");
        functions += *functions == ' ';
    }
    return text;
}

bool whole_cost_any(const whole_cost *costs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (costs[i].inputs > 0)
            return true;
    return false;
}

const char *whole_cost_pays_text(const whole_cost *cost, const whole_cost *plain)
{
    if (cost == plain)
        return "compared with this";
    uint64_t after = whole_cost_pays(cost, plain);
    return after ? cli_printf("from %s on", cli_whole(after)) : "never";
}

/* Prints the costs as a table: the inputs and the copy. With `timed` the table also has one repetition, the sum for
 * MANY repetitions, and the number of repetitions from which on the variant pays off. Prints nothing if the host
 * computes no inputs. */
void whole_cost_text(const whole_cost *costs, size_t count, bool timed)
{
    cli_table table;
    if (!whole_cost_any(costs, count))
        return;
    const whole_cost *plain = whole_cost_plain(costs, count);
    out_printf("\n%sMade by the host, end to end%s\n", out_bold(), out_plain());
    table_start(&table, timed ? "lrrrrrl" : "lrrl");
    table.indent = 2;
    table_cell(&table, "variant");
    table_cell(&table, "inputs");
    table_cell(&table, "copy");
    if (timed) {
        table_cell(&table, "repetition");
        table_cell(&table, "%s end to end", cli_whole(MANY));
        table_cell(&table, "pays");
    }
    table_cell(&table, "host functions");
    for (size_t i = 0; i < count; i++) {
        table_cell(&table, "%s", costs[i].variant);
        table_cell(&table, "%s", cli_seconds(costs[i].inputs));
        table_cell(&table, "%s", cli_seconds(costs[i].copy));
        if (timed) {
            table_cell(&table, "%s", cli_seconds(costs[i].repetition));
            table_cell(&table, "%s", cli_seconds(whole_cost_sum(&costs[i], MANY)));
            table_cell(&table, "%s", whole_cost_pays_text(&costs[i], plain));
        }
        table_cell(&table, "%s", whole_cost_functions(costs[i].functions));
    }
    table_print(&table, true);
}

json_t *whole_cost_json(const whole_cost *costs, size_t count, bool timed)
{
    json_t *list = js_array();
    const whole_cost *plain = count ? whole_cost_plain(costs, count) : NULL;
    for (size_t i = 0; i < count && whole_cost_any(costs, count); i++) {
        json_t *object = js_object(), *sums = js_object();
        js_set(object, "variant", js_text(costs[i].variant));
        js_set(object, "input_functions", js_host_times(costs[i].functions));
        js_set(object, "inputs_seconds", js_real(costs[i].inputs));
        js_set(object, "copy_seconds", js_real(costs[i].copy));
        if (timed) {
            uint64_t pays = whole_cost_pays(&costs[i], plain);
            for (uint64_t n = 1; n <= 1000000; n *= 1000)
                js_set(sums, cli_printf("%llu", (unsigned long long)n), js_real(whole_cost_sum(&costs[i], n)));
            js_set(object, "repetition_seconds", js_real(costs[i].repetition));
            js_set(object, "seconds_of_repetitions", sums);
            js_set(object, "compared_with", js_text(plain->variant));
            js_set(object, "pays_from_repetition", pays ? js_whole(pays) : json_null());
        } else {
            json_decref(sums);
        }
        js_add(list, object);
    }
    return list;
}
