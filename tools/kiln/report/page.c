/* page.c - writes the page: tables with all data, which need no scripts, and places for the charts. */
#include <stdlib.h>
#include <string.h>

#include "end_to_end.h"
#include "report.h"

#define LARGEST_PAGE (13u << 20) /* largest number of bytes of data, so that the whole page stays below 15 MB */
#define MOST_PROBLEMS 40
#define MOST_ROWS 20
#define MOST_COMMAND 16384
#define MOST_MESSAGE 2000 /* largest number of bytes of a message, because a compiler's log can be long */

/* ---- HTML ---- */

/* Writes untrusted text, which comes from specs, drivers and files, into the HTML. Markup is escaped. Invisible
 * characters, and characters that change the direction of text, are shown as on a terminal. */
void report_escape(FILE *to, const char *text)
{
    char *shown = cli_escape(text, strlen(text), "\n\t");
    for (text = shown ? shown : "(out of host memory)"; *text; text++) {
        switch (*text) {
        case '&': fputs("&amp;", to); break;
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '"': fputs("&quot;", to); break;
        case '\'': fputs("&#39;", to); break;
        default: fputc(*text, to);
        }
    }
    free(shown);
}

void report_put(FILE *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = cli_vprintf(format, arguments);
    va_end(arguments);
    report_escape(to, text);
}

void report_cell(FILE *to, bool number, const char *text)
{
    fputs(number ? "<td class=n>" : "<td>", to);
    report_escape(to, text);
    fputs("</td>", to);
}

void report_head(FILE *to, const char *const *texts, size_t count, const char *numbers)
{
    fputs("<thead><tr>", to);
    for (size_t i = 0; i < count; i++) {
        fputs(numbers[i] == 'r' ? "<th class=n scope=col>" : "<th scope=col>", to);
        report_escape(to, texts[i]);
        fputs("</th>", to);
    }
    fputs("</tr></thead>\n", to);
}

const char *report_cut(const char *text)
{
    size_t length = strlen(text);
    if (length <= MOST_MESSAGE)
        return text;
    for (length = MOST_MESSAGE; length && ((unsigned char)text[length] & 0xc0) == 0x80; length--)
        ;
    return cli_printf("%s ... (%s bytes in all)", cli_strndup(text, length), cli_whole(strlen(text)));
}

/* Writes a script into its HTML element. "</script" would end the script, and "<!--" would hide it. In a script, both
 * occur only within strings, where an added backslash has no effect. The last line of the script is omitted, because it
 * names a source map for debuggers. */
static void put_script(FILE *to, const char *text)
{
    const char *map = strstr(text, "\n//# sourceMappingURL=");
    size_t length = map ? (size_t)(map - text) : strlen(text);
    for (size_t i = 0; i < length; i++) {
        fputc(text[i], to);
        if (text[i] == '<' && (strncasecmp(text + i + 1, "/script", 7) == 0 || strncmp(text + i + 1, "!--", 3) == 0))
            fputc('\\', to);
    }
}

/* Writes JSON within a script element. In JSON, "<" occurs only within strings, where it can be escaped. */
static void put_json(FILE *to, const char *id, const char *text)
{
    fprintf(to, "<script type=\"application/json\" id=\"%s\">", id);
    for (text = js_visible(text); *text; text++)
        if (*text == '<')
            fputs("\\u003c", to);
        else
            fputc(*text, to);
    fputs("</script>\n", to);
}

/* ---- the frame ---- */

const report_file *report_find_file(const char *name)
{
    for (const report_file *file = report_files; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}

const char *report_file_text(const char *name)
{
    const report_file *file = report_find_file(name);
    return file ? cli_strndup((const char *)file->data, file->size) : "";
}

void report_page_start(FILE *to, const char *title, const report_library *library)
{
    /* The policy forbids every download, whatever the page contains. */
    fprintf(to,
            "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
            "script-src 'unsafe-inline'%s; img-src data:\">\n"
            "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=color-scheme content=\"light dark\">\n<meta name=generator content=\"kiln %s\">\n<title>",
            library->interprets ? "" : " 'unsafe-eval'", kiln_version());
    report_escape(to, title);
    fprintf(to, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", report_file_text("page.css"));
}

void report_put_specs(FILE *to)
{
    fputs("{", to);
    bool first = true;
    for (const report_file *file = report_files; file->name; file++) {
        const char *dot = strrchr(file->name, '.');
        if (!dot || strcmp(dot, ".json") != 0)
            continue;
        fprintf(to, "%s\"%.*s\": %.*s", first ? "" : ", ", (int)(dot - file->name), file->name, (int)file->size,
                (const char *)file->data);
        first = false;
    }
    fputs("}", to);
}

void report_page_end(FILE *to, const json_t *data, const report_library *library)
{
    fprintf(to,
            "<footer><p>Made by kiln %s. Charts by Vega (University of Washington Interactive Data Lab; "
            "BSD-3-Clause), with parts of D3 (Mike Bostock; ISC).</p>\n",
            kiln_version());
    if (library->licence) {
        fputs("<details><summary>Licences</summary><pre>", to);
        report_escape(to, library->licence);
        fputs("</pre></details>\n", to);
    }
    fputs("</footer>\n<div id=tip role=status hidden></div>\n", to);
    put_json(to, "kiln-data", js_dump(data, JSON_COMPACT | JSON_REAL_PRECISION(6)));
    fputs("<script type=\"application/json\" id=\"kiln-specs\">", to);
    report_put_specs(to);
    fputs("</script>\n<script>const kilnModules = {};</script>\n", to);
    for (size_t i = 0; i < library->count; i++) {
        fprintf(to, "<script>kilnModules[\"%s\"] = function (exports, module, require) {\n", library->names[i]);
        put_script(to, library->texts[i]);
        fputs("\n};</script>\n", to);
    }
    fprintf(to, "<script>\n%s</script>\n<script>\n%s</script>\n</body>\n</html>\n", report_file_text("charts.js"),
            report_file_text("page.js"));
}

/* ---- tables of a problem ---- */

static const char *share(double part) { return part > 0 ? cli_printf("%.1f %%", 100 * part) : ""; }

static const char *rate(double count, double seconds)
{
    return count > 0 ? cli_significant(count / seconds / 1e9, 4) : "";
}

/* The columns of a table of samples, without the empty ones. */
typedef struct columns {
    bool flops, bytes, share, variant;
} columns;

static columns find_columns(const report_problem *p)
{
    columns has = {.variant = p->variant_count > 1 || (p->variant_count && *p->variants[0].name)};
    for (size_t v = 0; v < p->variant_count && p->variants[v].ran; v++) {
        const report_sample *s = p->variants[v].samples[0];
        has.flops |= s->flops > 0;
        has.bytes |= s->bytes > 0;
        has.share |= s->share > 0;
    }
    return has;
}

static void sample_row(FILE *to, columns has, const report_sample *s, const char *rank, double unit)
{
    fputs("<tr>", to);
    report_cell(to, true, rank);
    report_cell(to, true, cli_significant(s->seconds / unit, 4));
    if (has.flops)
        report_cell(to, true, rate(s->flops, s->seconds));
    if (has.bytes)
        report_cell(to, true, rate(s->bytes, s->seconds));
    if (has.share)
        report_cell(to, true, share(s->share));
    if (has.variant)
        report_cell(to, false, s->variant);
    fputs("<td class=c>", to);
    report_escape(to, report_cut(report_configuration(s)));
    fputs("</td></tr>\n", to);
}

static void samples_head(FILE *to, columns has, const char *first, const char *unit)
{
    const struct {
        bool shown;
        const char *name, *align;
    } all[] = {
        {true, first, "r"},           {true, cli_printf("time (%s)", unit), "r"},
        {has.flops, "GFLOP/s", "r"},  {has.bytes, "GB/s", "r"},
        {has.share, "roofline", "r"}, {has.variant, "variant", "l"},
        {true, "configuration", "l"},
    };
    const char *heads[CLI_COUNT(all)];
    char align[CLI_COUNT(all)];
    size_t count = 0;
    for (size_t i = 0; i < CLI_COUNT(all); i++)
        if (all[i].shown) {
            heads[count] = all[i].name;
            align[count++] = *all[i].align;
        }
    fputs("<div class=scroll tabindex=0><table>", to);
    report_head(to, heads, count, align);
    fputs("<tbody>\n", to);
}

static void best_tables(FILE *to, const report_problem *p)
{
    double unit;
    const char *name = report_unit(p->best->seconds, &unit);
    size_t shown = 0;
    columns has = find_columns(p);
    if (p->variant_count > 1) {
        fputs("<section><h3>Best of each variant</h3>\n", to);
        samples_head(to, has, "samples", name);
        for (size_t v = 0; v < p->variant_count && p->variants[v].ran; v++)
            sample_row(to, has, p->variants[v].samples[0], cli_whole(p->variants[v].count), unit);
        fputs("</tbody></table></div></section>\n", to);
    }
    fputs("<section><h3>The fastest</h3>\n", to);
    samples_head(to, has, "rank", name);
    size_t *next = cli_alloc((p->variant_count + 1) * sizeof *next);
    for (; shown < MOST_ROWS && shown < p->ran; shown++) { /* merges the sorted lists of the variants */
        const report_variant *from = NULL;
        for (size_t v = 0; v < p->variant_count; v++) {
            const report_variant *it = &p->variants[v];
            if (next[v] < it->ran &&
                (!from || it->samples[next[v]]->seconds < from->samples[next[from - p->variants]]->seconds))
                from = it;
        }
        if (!from) /* this cannot happen, because fewer than p->ran samples were shown */
            break;
        sample_row(to, has, from->samples[next[from - p->variants]++], cli_whole(shown + 1), unit);
    }
    fputs("</tbody></table></div></section>\n", to);
}

/* Writes the cost of the inputs for the best of each variant, and the number of repetitions from which on a costly
 * input pays off. */
static void end_to_end_table(FILE *to, const report_problem *p)
{
    static const char *const heads[] = {"variant",          "inputs", "copy",          "a repetition",
                                        "1,000 end to end", "pays",   "host functions"};
    whole_cost *costs = cli_alloc((p->variant_count + 1) * sizeof *costs);
    size_t count = 0;
    for (size_t v = 0; v < p->variant_count && p->variants[v].ran; v++) {
        const report_sample *s = p->variants[v].samples[0];
        if (s->functions)
            costs[count++] = (whole_cost){s->variant, s->functions, s->inputs, s->copy, s->seconds};
    }
    if (!whole_cost_any(costs, count))
        return;
    const bool timed = p->time == REPORT_MEASURED || p->time == REPORT_ESTIMATED;
    const whole_cost *plain = whole_cost_plain(costs, count);
    fputs("<section><h3>Made by the host, end to end</h3>\n<div class=scroll tabindex=0><table>", to);
    report_head(to, heads, CLI_COUNT(heads), "lrrrrrl");
    fputs("<tbody>\n", to);
    for (size_t i = 0; i < count; i++) {
        fputs("<tr>", to);
        report_cell(to, false, costs[i].variant);
        report_cell(to, true, cli_seconds(costs[i].inputs));
        report_cell(to, true, cli_seconds(costs[i].copy));
        report_cell(to, true, cli_seconds(costs[i].repetition));
        report_cell(to, true, timed ? cli_seconds(whole_cost_sum(&costs[i], 1000)) : "");
        report_cell(to, true, timed ? whole_cost_pays_text(&costs[i], plain) : "");
        report_cell(to, false, whole_cost_functions(costs[i].functions));
        fputs("</tr>\n", to);
    }
    fputs("</tbody></table></div></section>\n", to);
}

/* Writes tables with the numbers that the charts of params show. */
static void param_tables(FILE *to, const report_problem *p)
{
    double unit;
    const char *name = report_unit(p->best->seconds, &unit);
    fputs("<details><summary>Numbers: time by value of each param</summary>\n<div class=scroll tabindex=0><table>", to);
    const char *const heads[] = {"variant", "param", "value", "ran", "failed", cli_printf("best (%s)", name),
                                 "median",  "worst"};
    report_head(to, heads, CLI_COUNT(heads), "lllrrrrr");
    fputs("<tbody>\n", to);
    for (size_t v = 0; v < p->variant_count; v++)
        for (size_t k = 0; k < p->variants[v].param_count; k++) {
            const report_param *param = &p->variants[v].params[k];
            for (size_t i = 0; i < param->bin_count; i++) {
                const report_spread *s = &param->spreads[i];
                fputs("<tr>", to);
                report_cell(to, false, p->variants[v].name);
                report_cell(to, false, param->name);
                report_cell(to, false, report_cut(param->labels[i]));
                report_cell(to, true, cli_whole(s->ran));
                report_cell(to, true, cli_whole(s->failed));
                report_cell(to, true, s->ran ? cli_significant(s->least / unit, 4) : "");
                report_cell(to, true, s->ran ? cli_significant(s->median / unit, 4) : "");
                report_cell(to, true, s->ran ? cli_significant(s->most / unit, 4) : "");
                fputs("</tr>\n", to);
            }
        }
    fputs("</tbody></table></div></details>\n", to);
}

static void failure_table(FILE *to, const report_problem *p)
{
    fputs("<section><h3>Failures</h3>\n", to);
    if (p->reason_count == 0) {
        fputs("<p>None.</p></section>\n", to);
        return;
    }
    static const char *const heads[] = {"count", "failure", "first of them", "its message"};
    fputs("<div class=scroll tabindex=0><table>", to);
    report_head(to, heads, CLI_COUNT(heads), "rlll");
    fputs("<tbody>\n", to);
    for (size_t i = 0; i < p->reason_count && i < MOST_ROWS; i++) {
        const report_reason *reason = &p->reasons[i];
        fputs("<tr>", to);
        report_cell(to, true, cli_whole(reason->count));
        report_cell(to, false, reason->reason);
        report_cell(to, false,
                    report_cut(cli_printf("%s %s", reason->first->variant, report_configuration(reason->first))));
        fputs("<td class=m><pre>", to);
        report_escape(to, report_cut(reason->message));
        fputs("</pre></td></tr>\n", to);
    }
    fputs("</tbody></table></div>", to);
    if (p->reason_count > MOST_ROWS)
        report_put(to, "%s more kinds of failure are left out.", cli_whole(p->reason_count - MOST_ROWS));
    fputs("</section>\n", to);
}

static void summary(FILE *to, const report *r, const report_problem *p)
{
    const report_sample *s = p->best;
    fputs("<p class=best><b>", to);
    double unit;
    const char *name = report_unit(s->seconds, &unit);
    report_put(to, "%s %s", cli_significant(s->seconds / unit, 4), name);
    fputs("</b> ", to);
    if (p->time != REPORT_MEASURED)
        report_put(to, "(%s)", report_time_text(p->time));
    if (s->flops > 0)
        report_put(to, " \u00b7 %s GFLOP/s", rate(s->flops, s->seconds));
    if (s->bytes > 0)
        report_put(to, " \u00b7 %s GB/s", rate(s->bytes, s->seconds));
    if (s->share > 0)
        report_put(to, " \u00b7 %s of the roofline", share(s->share));
    fputs("<br>", to);
    report_put(to, "%s ", s->variant);
    fputs("<code>", to);
    report_put(to, "%s", report_cut(report_configuration(s)));
    fputs("</code></p>\n", to);
    const char *command = r->replayed ? "" : report_again(r, p);
    /* a longer command line is not shown, because a shortened command line would run something else */
    if (*command && strlen(command) <= MOST_COMMAND) {
        fputs("<p class=run><code>", to);
        report_put(to, "%s", command);
        fputs("</code></p>\n", to);
    }
}

/* Writes the elements of a chart, which page.js fills. If scripts are disabled, the page hides these elements. */
static void chart(FILE *to, const char *name, const char *title)
{
    fprintf(to, "<section class=figure data-chart=%s><h3>%s</h3></section>\n", name, title);
}

static void put_problem(FILE *to, const report *r, size_t number)
{
    const report_problem *p = &r->problems[number];
    fprintf(to, "<article class=problem id=problem-%zu>\n<h2>", number);
    report_put(to, "%s", p->device);
    fputs(" <span>", to);
    report_put(to, "%s%s%s", p->sizes, r->several ? ", from " : "", r->several ? p->from : "");
    fputs("</span></h2>\n", to);
    if (p->best) {
        summary(to, r, p);
        chart(to, "best", "Best so far");
        best_tables(to, p);
        end_to_end_table(to, p);
        report_objectives(to, p);
        chart(to, "effects", "Effect of each param");
        param_tables(to, p);
        chart(to, "pairs", "Pairs of params");
        chart(to, "parallel", "Every configuration");
        if (p->time != REPORT_RECORDED) /* recorded search spaces do not contain counts of operations and bytes */
            chart(to, "roofline", "Roofline");
    } else {
        fputs("<p>No configuration ran.</p>\n", to);
    }
    failure_table(to, p);
    report_environment(to, r, p);
    fputs("</article>\n", to);
}

static void put_problems(FILE *to, const report *r)
{
    static const char *const heads[] = {"device", "sizes", "samples", "failed", "best", "", "variant", "configuration"};
    fputs("<section id=problems><div class=scroll tabindex=0><table>", to);
    report_head(to, heads, CLI_COUNT(heads), "llrrrlll");
    fputs("<tbody>\n", to);
    for (size_t i = 0; i < r->problem_count; i++) {
        const report_problem *p = &r->problems[i];
        fprintf(to, "<tr><td><a href=\"#problem-%zu\">", i);
        report_put(to, "%s", p->device);
        fputs("</a></td>", to);
        report_cell(to, false, r->several ? cli_printf("%s, from %s", p->sizes, p->from) : p->sizes);
        report_cell(to, true, cli_whole(p->count));
        report_cell(to, true, cli_whole(p->count - p->ran));
        double unit;
        const char *name = p->best ? report_unit(p->best->seconds, &unit) : "";
        report_cell(to, true,
                    p->best ? cli_printf("%s %s", cli_significant(p->best->seconds / unit, 4), name) : "none");
        report_cell(to, false, p->time == REPORT_MEASURED ? "" : report_time_text(p->time));
        report_cell(to, false, p->best ? p->best->variant : "");
        fputs("<td class=c>", to);
        report_put(to, "%s", p->best ? report_cut(report_configuration(p->best)) : "");
        fputs("</td></tr>\n", to);
    }
    fputs("</tbody></table></div></section>\n", to);
}

static void put_page(FILE *to, const report *r, const report_library *library, const json_t *data, size_t left_out)
{
    size_t failed = 0;
    for (size_t i = 0; i < r->problem_count; i++)
        failed += r->problems[i].count - r->problems[i].ran;
    report_page_start(to, cli_printf("%s: tuning report", r->spec), library);
    fputs("<header><h1>", to);
    report_put(to, "%s", r->spec);
    fputs("</h1>\n<p>", to);
    if (r->title && *r->title)
        report_put(to, "%s. ", r->title);
    report_put(to, "%s samples, %s failed", cli_whole(r->count), cli_whole(failed));
    if (r->problem_count > 1)
        report_put(to, ", of %s devices and sizes", cli_whole(r->problem_count));
    fputs(".</p>\n<noscript><p>The charts need scripts; the tables do not.</p></noscript>\n", to);
    if (left_out)
        report_put(to, "%s more devices and sizes are left out; --device and --size choose.", cli_whole(left_out));
    fputs("</header>\n<main>\n", to);
    if (r->problem_count > 1)
        put_problems(to, r);
    report_comparison(to, r);
    for (size_t i = 0; i < r->problem_count; i++)
        put_problem(to, r, i);
    report_citation(to, r);
    fputs("</main>\n", to);
    report_page_end(to, data, library);
}

/* ---- writing ---- */

int report_write(cli *c, const char *path, const char *data, size_t size)
{
    if (strcmp(path, "-") == 0) {
        out_write(data, size);
        return 0;
    }
    return cli_write_file(c, path, data, size);
}

/* Returns the data of the charts, with as much detail as the limit on their size allows. */
static json_t *fitting_data(const report *r)
{
    double detail = 1;
    for (;;) {
        json_t *data = report_json(r, detail);
        size_t size = json_dumpb(data, NULL, 0, JSON_COMPACT | JSON_REAL_PRECISION(6));
        if (size <= LARGEST_PAGE || detail < 0.01)
            return data;
        json_decref(data);
        detail /= 2;
    }
}

int report_page(cli *c, const report *r, const report_library *library, const char *path, uint64_t *size)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (!to)
        return cli_fail(c, KILN_ERROR_MEMORY, "out of host memory");
    report shown = *r;
    if (shown.problem_count > MOST_PROBLEMS)
        shown.problem_count = MOST_PROBLEMS;
    report_compare(&shown, shown.problem_count);
    json_t *data = fitting_data(&shown);
    put_page(to, &shown, library, data, r->problem_count - shown.problem_count);
    json_decref(data);
    bool whole = !ferror(to);
    whole = fclose(to) == 0 && whole;
    int code = whole ? report_write(c, path, text, length) : cli_fail(c, KILN_ERROR_MEMORY, "out of host memory");
    *size = length;
    free(text);
    return code;
}
