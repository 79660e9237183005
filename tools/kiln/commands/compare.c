/* compare.c - kiln compare: compares two results, such as sweeps before and after a change. compare_read.c reads the
 * results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

/* the usual difference between two runs of one program on one device, as a share of the time */
#define USUAL_NOISE 0.01
/* the assumed half width, as a share of the time, if a measured time has no confidence interval */
#define NO_INTERVAL 0.05

/* ---- pairs ---- */

typedef enum verdict { SAME, SLOWER, FASTER, FAILS, WORKS, DIFFERS, NOT_JUDGED } verdict;
static const char *const verdict_texts[] = {"within noise", "slower",  "faster",    "fails now",
                                            "works now",    "differs", "not judged"};

typedef struct pair {
    const compare_row *a, *b;
    double ratio; /* the value of b divided by the value of a; 0 means that a or b failed */
    verdict verdict;
} pair;

typedef struct comparison {
    const compare_side *sides;
    pair *pairs;
    size_t count, only_a, only_b;
    size_t numbers[NOT_JUDGED + 1]; /* number of pairs, indexed by verdict */
    /* the texts that all pairs have in common; NULL if the pairs differ, or if there is no pair */
    const char *spec, *sizes, *device;
    bool devices;    /* both sides have a device in common, so only rows of one device are compared */
    double noise, z; /* `z` is the factor from a 95 % interval to the interval that is compared */
} comparison;

static int by_key(const compare_row *a, const compare_row *b, bool devices)
{
    int order = strcmp(a->spec, b->spec);
    order = order ? order : strcmp(a->sizes, b->sizes);
    order = order || !devices ? order : strcmp(a->device, b->device);
    order = order ? order : strcmp(a->variant, b->variant);
    return order ? order : strcmp(a->params, b->params);
}

static int by_key_with_device(const void *left, const void *right)
{
    const compare_row *a = *(compare_row *const *)left, *b = *(compare_row *const *)right;
    const int order = by_key(a, b, true);
    return order ? order : (a->made > b->made) - (a->made < b->made);
}

static int by_key_alone(const void *left, const void *right)
{
    const compare_row *a = *(compare_row *const *)left, *b = *(compare_row *const *)right;
    const int order = by_key(a, b, false);
    return order ? order : (a->made > b->made) - (a->made < b->made);
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Returns the names of the devices of all rows, sorted. */
static const char **sorted_devices(const compare_side *side)
{
    const char **names = cli_alloc((side->count + 1) * sizeof *names);
    for (size_t i = 0; i < side->count; i++)
        names[i] = side->rows[i]->device;
    qsort(names, side->count, sizeof *names, by_text);
    return names;
}

static bool shares_device(const compare_side *a, const compare_side *b)
{
    const char **of_a = sorted_devices(a), **of_b = sorted_devices(b);
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        const int order = strcmp(of_a[i], of_b[k]);
        if (order == 0)
            return true;
        i += order < 0;
        k += order > 0;
    }
    return false;
}

/* If a side is the output of a failed command, gives this side a failed row for every configuration of the other side.
 * The output of a failed command does not tell its configurations. */
static void fail_rows(compare_side *side, const compare_side *other)
{
    side->rows = cli_alloc((other->count + 1) * sizeof *side->rows);
    for (size_t i = 0; i < other->count; i++) {
        side->rows[i] = cli_alloc(sizeof *side->rows[i]);
        *side->rows[i] = *other->rows[i];
        side->rows[i]->status = side->failed;
        side->rows[i]->message = side->why;
        side->rows[i]->value = side->rows[i]->low = side->rows[i]->high = 0;
        side->rows[i]->repetitions = 0;
    }
    side->count = side->room = other->count;
}

/* Keeps the last row of each key, and sorts the rows by key. Rows with equal keys stand in the order in which they were
 * made, so the last row is the newest. */
static void keep_last(compare_side *side, bool devices)
{
    size_t kept = 0;
    if (side->count)
        qsort(side->rows, side->count, sizeof *side->rows, devices ? by_key_with_device : by_key_alone);
    for (size_t i = 0; i < side->count; i++)
        if (i + 1 == side->count || by_key(side->rows[i], side->rows[i + 1], devices) != 0)
            side->rows[kept++] = side->rows[i];
    side->count = kept;
}

/* Keeps the fastest row of each problem, which is a spec with sizes on a device. The key of a kept row has no
 * configuration, so that the best configurations of both sides are paired even if they differ. */
static void keep_best(compare_side *side, bool devices)
{
    size_t kept = 0;
    for (size_t from = 0, to; from < side->count; from = to) {
        compare_row *best = NULL;
        for (to = from; to < side->count; to++) {
            compare_row *row = side->rows[to];
            if (strcmp(row->spec, side->rows[from]->spec) != 0 || strcmp(row->sizes, side->rows[from]->sizes) != 0 ||
                (devices && strcmp(row->device, side->rows[from]->device) != 0))
                break;
            const bool works = row->status == KILN_OK, better = best && row->value < best->value;
            if (!best || (works && (best->status != KILN_OK || better)))
                best = row;
        }
        best->best = cli_printf("%s %s", best->variant, best->params);
        best->variant = "the best";
        best->params = "";
        side->rows[kept++] = best;
    }
    side->count = kept;
}

/* Returns the z above which a standard normal variable lies with probability `tail`. Finds z by bisection. */
static double normal_quantile(double tail)
{
    double low = 0, high = 40;
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        *(erfc(middle / sqrt(2)) / 2 > tail ? &low : &high) = middle;
    }
    return low;
}

/* Returns half the width of a row's confidence interval, in the unit of the row's value. */
static double spread(const comparison *c, const compare_row *row)
{
    if (row->kind != COMPARE_MEASURED)
        return 0; /* estimates and counts are the same in every run */
    if (!(row->low > 0 && row->high >= row->low) || row->repetitions < 2)
        return NO_INTERVAL * row->value;
    return fmax(row->high - row->value, row->value - row->low) * c->z;
}

/* Decides whether B is slower than A beyond noise. B is slower if the intervals of both medians do not overlap, and if
 * the difference exceeds the usual noise between two runs of one program. */
static verdict judge(const comparison *c, pair *p)
{
    const bool works_a = p->a->status == KILN_OK, works_b = p->b->status == KILN_OK;
    if (!works_a || !works_b)
        return works_a ? FAILS : works_b ? WORKS : SAME;
    if (p->a->kind != p->b->kind || p->a->kind == COMPARE_SIMULATED)
        return NOT_JUDGED;
    const double a = p->a->value, b = p->b->value;
    p->ratio = a > 0 ? b / a : b > 0 ? HUGE_VAL : 1;
    if (p->a->kind == COMPARE_COUNT && !compare_more_is_worse(p->a->params))
        return a < b || a > b ? DIFFERS : SAME;
    const double gap = fabs(b - a) - spread(c, p->a) - spread(c, p->b);
    if (gap <= 0 || fabs(p->ratio - 1) <= c->noise)
        return SAME;
    return b > a ? SLOWER : FASTER;
}

static int by_verdict(const void *left, const void *right)
{
    static const int ranks[] = {
        [FAILS] = 0, [SLOWER] = 1, [DIFFERS] = 2, [FASTER] = 3, [WORKS] = 4, [SAME] = 5, [NOT_JUDGED] = 6};
    const pair *a = left, *b = right;
    const int order = ranks[a->verdict] - ranks[b->verdict];
    /* the pair with the largest ratio comes first */
    return order ? order : (a->ratio < b->ratio) - (a->ratio > b->ratio);
}

/* Returns true if a counter is 0 on both sides, so that its row is not shown. A kernel has many counters of work that
 * it does not do. */
static bool is_nothing(const compare_row *a, const compare_row *b)
{
    return a->kind == COMPARE_COUNT && b->kind == COMPARE_COUNT && !(a->value > 0) && !(b->value > 0);
}

/* Pairs the rows of both sides by their keys, and judges each pair. The confidence level of the intervals depends on
 * the number of pairs (Bonferroni correction). With 500 configurations and intervals of 95 %, several pairs would
 * differ by chance. */
static void pair_rows(comparison *c)
{
    const compare_side *a = &c->sides[0], *b = &c->sides[1];
    c->pairs = cli_alloc((a->count + 1) * sizeof *c->pairs);
    for (size_t i = 0, k = 0; i < a->count || k < b->count;) {
        const int order = i == a->count ? 1 : k == b->count ? -1 : by_key(a->rows[i], b->rows[k], c->devices);
        if (order == 0 && !is_nothing(a->rows[i], b->rows[k]))
            c->pairs[c->count++] = (pair){.a = a->rows[i], .b = b->rows[k]};
        c->only_a += order < 0;
        c->only_b += order > 0;
        i += order <= 0;
        k += order >= 0;
    }
    c->z = normal_quantile(0.025 / (double)(c->count ? c->count : 1)) / normal_quantile(0.025);
    for (size_t i = 0; i < c->count; i++) {
        c->pairs[i].verdict = judge(c, &c->pairs[i]);
        c->numbers[c->pairs[i].verdict]++;
    }
    if (c->count)
        qsort(c->pairs, c->count, sizeof *c->pairs, by_verdict);
}

/* ---- output ---- */

static const char *verdict_text(const pair *p)
{
    const bool count = p->a->kind == COMPARE_COUNT;
    return count && p->verdict == SLOWER ? "more" : count && p->verdict == FASTER ? "less" : verdict_texts[p->verdict];
}

/* Returns the text that all pairs have at this offset of their rows. Returns NULL if the pairs differ, or if there is
 * no pair. */
static const char *find_common(const comparison *c, size_t offset)
{
    const char *text = NULL;
    for (size_t i = 0; i < c->count; i++) {
        const char *here = *(const char *const *)((const char *)c->pairs[i].a + offset);
        if (i > 0 && strcmp(here, text) != 0)
            return NULL;
        text = here;
    }
    return text;
}

static void find_commons(comparison *c)
{
    c->spec = find_common(c, offsetof(compare_row, spec));
    c->sizes = find_common(c, offsetof(compare_row, sizes));
    c->device = find_common(c, offsetof(compare_row, device));
}

/* a number above this limit is shown with an exponent: no hardware reaches such numbers, so their digits have no
 * meaning */
#define MOST_DIGITS 1e15

static const char *percent_text(const char *sign, double percent)
{
    return fabs(percent) < MOST_DIGITS ? cli_printf("%s%.1f %%", percent >= 0 ? sign : "", percent)
                                       : cli_printf("%s%.3g %%", percent >= 0 ? sign : "", percent);
}

static const char *value_text(const compare_row *row)
{
    if (row->status != KILN_OK)
        return kiln_status_text(row->status);
    if (row->kind == COMPARE_COUNT)
        return !(fabs(row->value) < MOST_DIGITS) ? cli_printf("%.4g", row->value)
               : row->value >= 0 && row->value >= floor(row->value) && row->value <= floor(row->value)
                   ? cli_whole((uint64_t)row->value)
                   : cli_significant(row->value, 4);
    if (!(row->value < MOST_DIGITS))
        return cli_printf("%.4g s", row->value);
    const char *interval = row->kind == COMPARE_MEASURED && row->low > 0 && row->high > row->low && row->value > 0
                               ? percent_text(" \u00b1", 50 * (row->high - row->low) / row->value)
                               : "";
    return cli_printf("%s%s", cli_seconds(row->value), out_utf8() ? interval : "");
}

static const char *change_text(const pair *p)
{
    return p->ratio > 0 && isfinite(p->ratio) ? percent_text("+", 100 * (p->ratio - 1)) : "";
}

static const char *configuration_text(const pair *p)
{
    if (!p->a->best)
        return cli_printf("%s %s", p->a->variant, p->a->params);
    return strcmp(p->a->best, p->b->best) == 0 ? p->a->best : cli_printf("%s -> %s", p->a->best, p->b->best);
}

/* Adds the cells of a pair to the table. The first columns show the texts that are not the same for all pairs. */
static void add_cells(cli_list *cells, const comparison *c, const pair *p)
{
    cli_list_add(cells, value_text(p->a));
    cli_list_add(cells, value_text(p->b));
    cli_list_add(cells, change_text(p));
    cli_list_add(cells, verdict_text(p));
    if (!c->spec)
        cli_list_add(cells, p->a->spec);
    if (!c->sizes)
        cli_list_add(cells, p->a->sizes);
    if (c->devices && !c->device)
        cli_list_add(cells, p->a->device);
    cli_list_add(cells, configuration_text(p));
}

static void add_heads(cli_list *cells, const comparison *c)
{
    static const char *const heads[] = {"A", "B", "change", "verdict"};
    for (size_t i = 0; i < CLI_COUNT(heads); i++)
        cli_list_add(cells, heads[i]);
    if (!c->spec)
        cli_list_add(cells, "spec");
    if (!c->sizes)
        cli_list_add(cells, "sizes");
    if (c->devices && !c->device)
        cli_list_add(cells, "device");
    cli_list_add(cells, "configuration");
}

/* Returns the spec, sizes and device that all pairs share, as a text: "affine, N=500, on NVIDIA H200". */
static const char *subject(const comparison *c)
{
    const char *text = c->spec ? c->spec : "several specs";
    if (c->sizes && *c->sizes)
        text = cli_printf("%s, %s", text, c->sizes);
    if (c->devices && c->device && *c->device)
        text = cli_printf("%s, on %s", text, c->device);
    return cli_visible(text);
}

static const char *summary(const comparison *c)
{
    const char *text = cli_printf("%s compared", cli_whole(c->count));
    static const verdict order[] = {FAILS, SLOWER, DIFFERS, FASTER, WORKS, SAME, NOT_JUDGED};
    const char *between = ":";
    for (size_t i = 0; i < CLI_COUNT(order); i++)
        if (c->numbers[order[i]]) {
            text = cli_printf("%s%s %s %s", text, between, cli_whole(c->numbers[order[i]]), verdict_texts[order[i]]);
            between = ",";
        }
    if (c->only_a)
        text = cli_printf("%s; %s only in A", text, cli_whole(c->only_a));
    return c->only_b ? cli_printf("%s; %s only in B", text, cli_whole(c->only_b)) : text;
}

static const char *sentence(const comparison *c)
{
    if (c->numbers[NOT_JUDGED] == c->count)
        return "No configuration was judged: the times are the wall time of the simulator, or the two sides have "
               "different kinds of times.";
    return c->numbers[SLOWER] + c->numbers[FAILS] ? "B is a regression." : "B is no regression.";
}

static void print_text(const comparison *c, size_t top)
{
    cli_list heads = {0};
    add_heads(&heads, c);
    cli_table table;
    table_start(&table, cli_printf("rrrl%.*s", (int)(heads.count - 4), "llll"));
    table.indent = 2;
    for (size_t i = 0; i < heads.count; i++)
        table_cell(&table, "%s", heads.items[i]);
    for (size_t i = 0; i < c->count && i < top; i++) {
        cli_list cells = {0};
        add_cells(&cells, c, &c->pairs[i]);
        for (size_t k = 0; k < cells.count; k++)
            table_cell(&table, "%s", cells.items[k]);
    }
    out_printf("%s%s%s\n  A is %s\n  B is %s\n\n", out_bold(), subject(c), out_plain(), cli_visible(c->sides[0].what),
               cli_visible(c->sides[1].what));
    table_print(&table, true);
    if (c->count > top)
        out_printf("  and %s more (--top)\n", cli_whole(c->count - top));
    out_printf("\n%s\n%s\n", summary(c), sentence(c));
}

/* Returns a text that Markdown shows unchanged on one line, also in a cell of a table. */
static const char *as_markdown(const char *text)
{
    text = cli_visible(text);
    char *made = cli_alloc(2 * strlen(text) + 1), *to = made;
    for (; *text; text++) {
        if (strchr("|\\`<*_[]~&", *text))
            *to++ = '\\';
        *to++ = *text;
    }
    return made;
}

static void put_cell(const char *text) { out_printf(" %s |", as_markdown(text)); }

static void print_markdown(const comparison *c, size_t top)
{
    cli_list heads = {0};
    add_heads(&heads, c);
    out_printf("**%s**, A: %s, B: %s\n\n|", as_markdown(subject(c)), as_markdown(c->sides[0].what),
               as_markdown(c->sides[1].what));
    for (size_t i = 0; i < heads.count; i++)
        put_cell(heads.items[i]);
    out_puts("\n|");
    for (size_t i = 0; i < heads.count; i++)
        out_puts(i < 3 ? " ---: |" : " --- |");
    for (size_t i = 0; i < c->count && i < top; i++) {
        cli_list cells = {0};
        add_cells(&cells, c, &c->pairs[i]);
        out_puts("\n|");
        for (size_t k = 0; k < cells.count; k++)
            put_cell(cells.items[k]);
    }
    out_printf("\n\n%s. %s\n", summary(c), sentence(c));
}

static json_t *row_json(const compare_row *row)
{
    static const char *const kinds[] = {"measured", "estimated", "simulated", "count"};
    json_t *object = js_object();
    js_set(object, "status", js_text(kiln_status_name(row->status)));
    js_set(object, "message", js_text(row->message));
    js_set(object, "kind", row->status == KILN_OK ? js_text(kinds[row->kind]) : json_null());
    js_set(object, "value", row->status == KILN_OK ? js_real(row->value) : json_null());
    js_set(object, "low", row->low > 0 ? js_real(row->low) : json_null());
    js_set(object, "high", row->high > 0 ? js_real(row->high) : json_null());
    js_set(object, "repetitions", js_whole(row->repetitions));
    js_set(object, "device", js_text(row->device));
    js_set(object, "configuration", js_text(row->best ? row->best : cli_printf("%s %s", row->variant, row->params)));
    return object;
}

static void print_json(const comparison *c)
{
    json_t *object = js_object(), *pairs = js_array(), *numbers = js_object();
    js_set(object, "a", js_text(c->sides[0].what));
    js_set(object, "b", js_text(c->sides[1].what));
    js_set(object, "noise", js_real(c->noise));
    js_set(object, "interval_factor", js_real(c->z));
    for (size_t i = 0; i < c->count; i++) {
        const pair *p = &c->pairs[i];
        json_t *one = js_object();
        js_set(one, "spec", js_text(p->a->spec));
        js_set(one, "sizes", js_text(p->a->sizes));
        js_set(one, "verdict", js_text(verdict_texts[p->verdict]));
        js_set(one, "ratio", p->ratio > 0 ? js_real(p->ratio) : json_null());
        js_set(one, "a", row_json(p->a));
        js_set(one, "b", row_json(p->b));
        js_add(pairs, one);
    }
    js_set(object, "pairs", pairs);
    for (size_t v = 0; v < CLI_COUNT(verdict_texts); v++)
        js_set(numbers, verdict_texts[v], js_whole(c->numbers[v]));
    js_set(object, "numbers", numbers);
    js_set(object, "only_a", js_whole(c->only_a));
    js_set(object, "only_b", js_whole(c->only_b));
    js_set(object, "regression", json_boolean(c->numbers[SLOWER] + c->numbers[FAILS] > 0));
    js_print(object);
}

/* Writes a field of comma-separated values. If a spreadsheet would take a text for a formula, the text gets an
 * apostrophe. */
static void csv_field(FILE *file, const char *text, bool last)
{
    fputs(strchr("=+-@", *text) && *text ? "\"'" : "\"", file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputs(last ? "\"\n" : "\",", file);
}

static int write_csv(const cli *c, const comparison *of, const char *path)
{
    cli_stream stream;
    FILE *file = cli_stream_open(&stream);
    if (!file)
        return cli_fail(c, KILN_ERROR_MEMORY, "out of host memory");
    fputs("a,b,ratio,verdict,spec,sizes,device,configuration\n", file);
    for (size_t i = 0; i < of->count; i++) {
        const pair *p = &of->pairs[i];
        fprintf(file, "%.17g,%.17g,%.17g,", p->a->value, p->b->value, p->ratio);
        csv_field(file, verdict_texts[p->verdict], false);
        csv_field(file, p->a->spec, false);
        csv_field(file, p->a->sizes, false);
        csv_field(file, p->b->device, false);
        csv_field(file, configuration_text(p), true);
    }
    return cli_write_stream(c, path, &stream);
}

/* ---- the command ---- */

/* Runs `kiln compare`: reads both sides, keeps the rows to compare, pairs them, and prints the pairs. The exit code is
 * COMPARE_REGRESSION if a pair is slower or fails. */
static int compare_run(cli *c)
{
    const compare_args *args = c->args;
    compare_side sides[2] = {{.name = c->words.items[0]}, {.name = c->words.items[1]}};
    comparison of = {.sides = sides, .noise = args->noise > 0 ? args->noise / 100 : USUAL_NOISE};
    if (c->output.json && args->markdown)
        return cli_usage(c, "--json and --markdown exclude each other");
    if (args->store && compare_is_file(sides[0].name) && compare_is_file(sides[1].name))
        return cli_usage(c, "both sides are files, so --store has no samples to add");
    int code = cli_engine(c, NULL);
    for (size_t i = 0; i < 2 && !code; i++)
        code = compare_read(c, c->words.count > 2 ? c->words.items[2] : NULL, &sides[i]);
    if (code)
        return code;
    if (sides[0].failed && sides[1].failed)
        return cli_fail(c, sides[1].failed,
                        "%s and %s are outputs of commands that failed: there is nothing to compare", sides[0].name,
                        sides[1].name);
    for (size_t i = 0; i < 2; i++)
        if (sides[i].failed)
            fail_rows(&sides[i], &sides[1 - i]);
    of.devices = shares_device(&sides[0], &sides[1]);
    for (size_t i = 0; i < 2; i++) {
        keep_last(&sides[i], of.devices);
        if (args->best)
            keep_best(&sides[i], of.devices);
    }
    pair_rows(&of);
    find_commons(&of);
    if (of.count == 0)
        return cli_fail(c, KILN_ERROR_NOT_FOUND,
                        "%s and %s have nothing in common: %s and %s results, and none of the same spec, sizes and "
                        "configuration",
                        sides[0].name, sides[1].name, cli_whole(sides[0].count), cli_whole(sides[1].count));
    const size_t top = args->top ? (size_t)args->top : 20;
    if (args->csv)
        code = write_csv(c, &of, args->csv);
    if (code)
        return code;
    if (c->output.json)
        print_json(&of);
    else if (args->markdown)
        print_markdown(&of, top);
    else
        print_text(&of, top);
    return of.numbers[SLOWER] + of.numbers[FAILS] ? COMPARE_REGRESSION : 0;
}

#define FIELD(field) offsetof(compare_args, field)

static const cli_option options[] = {
    {"best", 0, CLI_FLAG, FIELD(best), NULL, CLI_NOTHING, NULL,
     "Compare only the fastest configuration of each side, for each spec, sizes and device."},
    {"noise", 0, CLI_NUMBER, FIELD(noise), "PERCENT", CLI_NOTHING, NULL,
     "Differences up to this many percent are noise. Default: 1."},
    {"top", 0, CLI_WHOLE, FIELD(top), "COUNT", CLI_NOTHING, NULL,
     "The number of rows in the output, regressions first. Default: 20. All rows count for the exit code."},
    {"markdown", 0, CLI_FLAG, FIELD(markdown), NULL, CLI_NOTHING, NULL,
     "Print the table as Markdown, for a comment of a pull request."},
    {"csv", 0, CLI_TEXT, FIELD(csv), "FILE", CLI_FILES, NULL, "Also write all rows to a file."},
    {"variant", 'v', CLI_TEXT, FIELD(variant), "NAME", CLI_NOTHING, NULL, "Only results of this variant."},
    {"device", 'd', CLI_TEXT, FIELD(device), "DEVICE", CLI_NOTHING, NULL,
     "Only results of devices whose name contains this text, or whose id or uuid is this text."},
    CLI_STORE_OPTION(FIELD(store)),
};
static const cli_group group = {"Comparison", options, CLI_COUNT(options)};

const cli_command cli_compare_command = {
    .name = "compare",
    .summary = "compare two results, and fail if the second is a regression",
    .arguments = "A B [SPEC]",
    .about =
        "Compares the times of the same configurations in two results. A is the older result, and B the newer one. "
        "Each is one of:\n\n"
        "  a store of samples (kiln tune --store FILE)\n"
        "  the output of `kiln tune`, `run` or `results` with --json\n"
        "  a file of `kiln results export`, T4 results, or Kernel Tuner's cache file\n"
        "  the output of `kiln profile --json`; its counters are compared\n"
        "  a device, such as h100, or a version, such as 'driver 13.0', 'nvrtc 12.9' or 'kiln 0.1.0': samples of the "
        "store\n\n"
        "If both sides have samples of one device, only samples of the same device are compared. Otherwise the devices "
        "are compared. To compare two commits, run a sweep of each with its own store (--store).\n\n"
        "B is slower than A if the confidence intervals of both medians do not overlap, and the difference is above "
        "--noise. The intervals come from the repetitions of each sample. All intervals together hold with a "
        "probability of 95 % (Bonferroni's correction), so that a large sweep does not fail by chance. A measured "
        "time without "
        "an interval counts as uncertain by 5 %. Estimated times and counters are exactly repeatable: for them only "
        "--noise counts. kiln does not judge the wall time of the simulator.\n\n"
        "The --json output of a command that failed does not contain its configurations. Every configuration of the "
        "other "
        "result then counts as failed on this side.\n\n"
        "The exit code is 1 if a configuration is slower or fails now, and 0 otherwise.",
    .min_words = 2,
    .max_words = 3,
    .completes = CLI_FILES,
    .args_size = sizeof(compare_args),
    .groups = (const cli_use[]){{&group, 0}, {0}},
    .examples =
        (const cli_example[]){{"kiln compare before.db after.db", "Two sweeps: kiln tune matmul --store before.db."},
                              {"kiln compare before.db after.db --best --markdown >> comment.md",
                               "Only the fastest configurations, as a table for a pull request."},
                              {"kiln compare h100 h200 matmul", "Two devices of the store."},
                              {"kiln compare old.json new.json", "Two outputs of kiln tune --json."},
                              {"kiln compare 'driver 12.8' 'driver 13.0' matmul --noise 2 --csv all.csv",
                               "Compares two drivers, and writes all rows to a file."},
                              {0}},
    .run = compare_run,
};
