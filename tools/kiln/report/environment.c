/* environment.c - the environment in which the samples of a problem were made, and a BibTeX entry for citing them. */
#include <string.h>

#include "report.h"

#define MOST_COMMANDS 4

static void write_fact(FILE *to, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    fputs("<dt>", to);
    report_escape(to, name);
    fputs("</dt><dd>", to);
    report_escape(to, text);
    fputs("</dd>\n", to);
}

static const char *join_texts(const cli_list *list)
{
    const char *text = "";
    for (size_t i = 0; i < list->count && i < 8; i++)
        text = cli_printf("%s%s%s", text, i ? ", " : "", list->items[i]);
    return list->count > 8 ? cli_printf("%s and %s more", text, cli_whole(list->count - 8)) : text;
}

/* Returns a range as text, such as "1,200 to 1,980 MHz", or "" if the range is not known. */
static const char *range(const report_range *of, double unit, const char *name)
{
    const char *least = cli_significant(of->least / unit, 4), *most = cli_significant(of->most / unit, 4);
    return of->count == 0             ? ""
           : strcmp(least, most) == 0 ? cli_printf("%s %s", least, name)
                                      : cli_printf("%s to %s %s", least, most, name);
}

/* Writes the section "Environment" of the page: every value that occurs in the samples of the problem, each once. If a
 * list is too long, it is cut, and the last row tells how many entries are missing. */
void report_environment(FILE *to, const report *r, const report_problem *p)
{
    fputs("<section><h3>Environment</h3>\n<dl>\n", to);
    write_fact(to, "spec", r->title && *r->title ? cli_printf("%s: %s", r->spec, r->title) : r->spec);
    write_fact(to, "device", p->device);
    write_fact(to, p->ids.count > 1 ? "ids" : "id", join_texts(&p->ids));
    write_fact(to, "compute capability", join_texts(&p->capabilities));
    write_fact(to, "driver", join_texts(&p->drivers));
    write_fact(to, "NVRTC", join_texts(&p->nvrtcs));
    write_fact(to, "kiln", join_texts(&p->kilns));
    write_fact(to, "sizes", p->sizes);
    write_fact(to, "how it was run", join_texts(&p->runs));
    write_fact(to, "SM clock", range(&p->clock, 1e6, "MHz"));
    write_fact(to, "memory clock", range(&p->memory_clock, 1e6, "MHz"));
    write_fact(to, "temperature", range(&p->temperature, 1, "\u00b0C"));
    write_fact(to, "power", range(&p->power, 1, "W"));
    write_fact(to, "peaks",
               p->peak_flops > 0
                   ? cli_printf("%s GFLOP/s (fp32), %s GB/s, by %s", cli_significant(p->peak_flops / 1e9, 5),
                                cli_significant(p->peak_bandwidth / 1e9, 4), p->peaks_from)
                   : "");
    write_fact(
        to, "samples",
        cli_printf("%s: %s ran, %s failed", cli_whole(p->count), cli_whole(p->ran), cli_whole(p->count - p->ran)));
    write_fact(
        to, "left out",
        p->older + p->other == 0
            ? ""
            : cli_printf(
                  "%s samples, because their configuration has a later sample; %s samples, because they have no time "
                  "or a time of another kind (measured, estimated, wall time)",
                  cli_whole(p->older), cli_whole(p->other)));
    write_fact(to, "stopped early",
               p->stopped_early == 0
                   ? ""
                   : cli_printf("%s samples that were clearly slower than the best; their times have fewer repetitions",
                                cli_whole(p->stopped_early)));
    write_fact(to, "throttled",
               p->throttled == 0 ? "" : cli_printf("while %s samples were measured", cli_whole(p->throttled)));
    if (!r->replayed) {
        write_fact(to, "made (UTC)", cli_printf("%s to %s", report_day(p->first), report_day(p->last)));
        write_fact(to, "compiling", p->compile_seconds > 0 ? cli_duration(p->compile_seconds) : "");
    }
    if (p->count)
        write_fact(to, r->replayed ? "search time" : "time without pauses",
                   cli_duration(p->samples[p->count - 1]->clock));
    write_fact(to, p->hosts.count > 1 ? "hosts" : "host", join_texts(&p->hosts));
    for (size_t i = 0; i < p->commands.count && i < MOST_COMMANDS; i++)
        write_fact(to, "command", p->commands.items[i]);
    if (p->commands.count > MOST_COMMANDS)
        write_fact(to, "command", cli_printf("and %s more", cli_whole(p->commands.count - MOST_COMMANDS)));
    write_fact(to, "read from", p->from);
    fputs("</dl></section>\n", to);
}

/* ---- BibTeX ---- */

/* Returns a text in the form of an entry name, which may contain only letters, digits and '-'. */
static const char *entry_name(const char *text)
{
    char *name = cli_strndup(text, strlen(text));
    for (char *at = name; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", *at))
            *at = '-';
    return name;
}

/* Escapes a value for BibTeX. Otherwise TeX would take some characters for a command, and BibTeX would take others for
 * the end of the value. */
static const char *field_text(const char *text)
{
    const char *made = "";
    /* cli_visible() writes a control character as an escape with a backslash. cli_visible() comes first, so that the
     * loop also escapes this backslash for TeX. */
    for (text = cli_visible(text); *text; text++)
        made = *text == '\\'              ? cli_printf("%s\\textbackslash{}", made)
               : strchr("{}#$%&_", *text) ? cli_printf("%s\\%c", made, *text)
               : *text == '~'             ? cli_printf("%s\\textasciitilde{}", made)
               : *text == '^'             ? cli_printf("%s\\textasciicircum{}", made)
               : *text == '\n'            ? cli_printf("%s ", made)
                                          : cli_printf("%s%c", made, *text);
    return made;
}

/* Returns the year of the newest sample. Returns "" for a replay, because its times are not times of day. */
static const char *year_of(const report *r)
{
    double last = 0;
    for (size_t i = 0; i < r->problem_count; i++)
        last = r->problems[i].last > last ? r->problems[i].last : last;
    return r->replayed || last <= 0 ? "" : cli_strndup(report_day(last), 4);
}

void report_citation(FILE *to, const report *r)
{
    cli_list devices = {0}, kilns = {0}, drivers = {0}, nvrtcs = {0};
    for (size_t i = 0; i < r->problem_count; i++) {
        const report_problem *p = &r->problems[i];
        report_add_once(&devices, p->device);
        for (size_t k = 0; k < p->kilns.count; k++)
            report_add_once(&kilns, p->kilns.items[k]);
        for (size_t k = 0; k < p->drivers.count; k++)
            report_add_once(&drivers, p->drivers.items[k]);
        for (size_t k = 0; k < p->nvrtcs.count; k++)
            report_add_once(&nvrtcs, p->nvrtcs.items[k]);
    }
    const char *year = year_of(r), *title = cli_strndup(r->spec, strnlen(r->spec, 100));
    const char *used = join_texts(&kilns);
    fputs("<section><h2>How to cite</h2>\n<p>The results of this page, and the program that made them:</p>\n<pre>", to);
    report_put(to, "@misc{%s%s%s,\n", entry_name(title), *year ? "-" : "", year);
    report_put(to, "  title = {Tuning results of %s on %s},\n", field_text(title), field_text(join_texts(&devices)));
    if (*year)
        report_put(to, "  year = {%s},\n", year);
    report_put(to, "  note = {%s samples%s%s%s%s%s%s}\n}\n", cli_whole(r->count), *used ? ", Kiln " : "",
               field_text(used), drivers.count ? ", driver " : "", field_text(join_texts(&drivers)),
               nvrtcs.count ? ", NVRTC " : "", field_text(join_texts(&nvrtcs)));
    report_put(to, "@software{kiln,\n  title = {Kiln: a run-time compiled CUDA kernel engine and auto-tuner},\n");
    report_put(to, "  version = {%s}\n}\n", kiln_version());
    fputs("</pre></section>\n", to);
}
