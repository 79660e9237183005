/* gnuplot.c - writes scripts for gnuplot with their data, for papers: one script and one data file for each figure. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report.h"

#define MOST_POINTS 5000 /* largest number of points in a figure, because a PDF draws every point */

/* Writes text into a script, in single quotes. In double quotes, gnuplot would run text between backquotes, and would
 * interpret escapes. */
static void put_text(FILE *to, const char *text)
{
    fputc('\'', to);
    for (text = cli_visible(text); *text; text++)
        fputs(*text == '\'' ? "''" : (const char[]){*text, '\0'}, to);
    fputc('\'', to);
}

/* Writes text as one field of a data file. Fields of text are in double quotes, and gnuplot has no escape for a quote
 * within them. */
static void put_field(FILE *to, const char *text)
{
    fputc('"', to);
    for (text = cli_visible(text); *text; text++)
        fputc(*text == '"' || *text == '`' ? '\'' : *text == '\\' ? '/' : *text, to);
    fputc('"', to);
}

static void put_title(FILE *to, const report *r, const report_problem *p)
{
    fputs("set title ", to);
    put_text(to, cli_printf("%s, %s%s%s", r->spec, p->device, *p->sizes ? ", " : "", p->sizes));
    fputs(" noenhanced\n", to);
}

static void start(FILE *to, const char *name)
{
    fprintf(to,
            "# gnuplot %s.gp writes %s.pdf; with other terminals: gnuplot -e \"set term svg\" ...\n"
            "if (!exists(\"KILN_SHOW\")) { set terminal pdfcairo size 9cm,6cm font \",9\"; set output \"%s.pdf\" }\n"
            "set grid ytics lc rgb \"#d0d0d0\"\nset border 3\nset tics nomirror\n",
            name, name, name);
}

/* ---- the figures ---- */

static void best_data(FILE *to, const report_problem *p)
{
    double best = INFINITY;
    fputs("# number  clock in s  time in s (nan: failed)  best so far in s\n", to);
    for (size_t i = 0; i < p->count; i++) {
        const report_sample *s = p->samples[i];
        best = report_counts(p, s) && s->seconds < best ? s->seconds : best;
        fprintf(to, "%zu %.6g ", s->number, s->clock);
        fputs(s->reason ? "nan " : cli_printf("%.9g ", s->seconds), to);
        fputs(isfinite(best) ? cli_printf("%.9g\n", best) : "nan\n", to);
    }
}

static void best_script(FILE *to, const report *r, const report_problem *p, const char *name)
{
    double unit = 1;
    const char *of = cli_time_unit(p->best->seconds, &unit);
    start(to, name);
    put_title(to, r, p);
    fprintf(to, "set logscale y\nset yrange [%g:]\nset xrange [0:%g]\n", 0.85 * p->least / unit,
            p->samples[p->count - 1]->clock > 0 ? p->samples[p->count - 1]->clock : 1);
    fprintf(to, "set xlabel \"%s (s)\"\nset ylabel \"%s (%s)\"\n", r->replayed ? "search time" : "sweep time",
            report_time_text(p->time), of);
    fprintf(
        to,
        "plot \"%s.dat\" every %zu using 2:($3/%g) with points pt 7 ps 0.2 lc rgb \"#a0a0a0\" title \"samples\", \\\n"
        "     \"%s.dat\" using 2:($4/%g) with steps lw 2 lc rgb \"#0072b2\" title \"best so far\"\n",
        name, p->count / MOST_POINTS + 1, unit, name, unit);
}

static void variants_data(FILE *to, const report_problem *p)
{
    fputs("# variant  best  first quartile  median  third quartile  worst in s  GFLOP/s  GB/s of the best\n", to);
    for (size_t v = 0; v < p->variant_count && p->variants[v].ran; v++) {
        const report_variant *it = &p->variants[v];
        const report_sample *best = it->samples[0];
        put_field(to, *it->name ? it->name : "(all)");
        for (int quarter = 0; quarter <= 4; quarter++)
            fprintf(to, " %.9g", it->samples[(it->ran - 1) * (size_t)quarter / 4]->seconds);
        fprintf(to, " %.6g %.6g\n", best->flops / best->seconds / 1e9, best->bytes / best->seconds / 1e9);
    }
}

static void variants_script(FILE *to, const report *r, const report_problem *p, const char *name)
{
    double unit = 1;
    const char *of = cli_time_unit(p->best->seconds, &unit);
    start(to, name);
    put_title(to, r, p);
    fprintf(to, "set logscale y\nset yrange [%g:]\n", 0.85 * p->least / unit);
    fprintf(to,
            "set ylabel \"%s (%s)\"\nset style fill solid 0.6\nset boxwidth 0.5\n"
            "set xtics rotate by -35 noenhanced\nset xrange [-0.7:%zu.7]\nset key outside top horizontal\n",
            report_time_text(p->time), of, p->variant_count - 1);
    fprintf(to,
            "plot \"%s.dat\" using 0:($3/%g):($2/%g):($6/%g):($5/%g):xtic(1) with candlesticks lc rgb \"#56b4e9\" "
            "title \"all, quartiles\", \\\n"
            "     \"%s.dat\" using 0:($2/%g) with points pt 7 ps 0.6 lc rgb \"#0072b2\" title \"best\"\n",
            name, unit, unit, unit, unit, name, unit);
}

/* ---- writing ---- */

typedef void (*data_fn)(FILE *to, const report_problem *p);
typedef void (*script_fn)(FILE *to, const report *r, const report_problem *p, const char *name);

static int put_figure(cli *c, const report *r, const report_problem *p, const char *folder, const char *name,
                      data_fn data, script_fn script)
{
    for (int i = 0; i < 2; i++) {
        char *text = NULL;
        size_t length = 0;
        FILE *to = open_memstream(&text, &length);
        if (!to)
            return cli_fail(c, KILN_ERROR_MEMORY, "out of host memory");
        if (i == 0)
            data(to, p);
        else
            script(to, r, p, name);
        bool whole = !ferror(to);
        whole = fclose(to) == 0 && whole;
        const char *path = cli_printf("%s/%s.%s", folder, name, i == 0 ? "dat" : "gp");
        int code = whole ? report_write(c, path, text, length) : cli_fail(c, KILN_ERROR_MEMORY, "out of host memory");
        free(text);
        if (code)
            return code;
    }
    return 0;
}

int report_make_folder(cli *c, const char *folder)
{
    struct stat about;
    if (mkdir(folder, 0777) != 0) {
        int why = errno;
        if (stat(folder, &about) != 0 || !S_ISDIR(about.st_mode))
            return cli_fail(c, KILN_ERROR_IO, "%s: %s", folder, why == EEXIST ? "is not a folder" : strerror(why));
    }
    return 0;
}

int report_gnuplot(cli *c, const report *r, const char *folder)
{
    int code = report_make_folder(c, folder);
    for (size_t i = 0; i < r->problem_count && code == 0; i++) {
        const report_problem *p = &r->problems[i];
        const char *number = r->problem_count > 1 ? cli_printf("-%zu", i + 1) : "";
        if (!p->best)
            continue;
        code = put_figure(c, r, p, folder, cli_printf("best%s", number), best_data, best_script);
        if (code == 0)
            code = put_figure(c, r, p, folder, cli_printf("variants%s", number), variants_data, variants_script);
    }
    return code;
}
