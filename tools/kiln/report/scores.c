/* scores.c - the page of kiln compare-strategies: the scores in a table, and a chart of the scores over the budget. */
#include <stdlib.h>

#include "report.h"

static json_t *scores_json(const report_scores *s)
{
    json_t *object = js_object(), *files = js_array(), *strategies = js_array();
    for (size_t f = 0; f < s->file_count; f++)
        js_add(files, js_text(s->files[f]));
    for (size_t i = 0; i < s->strategy_count; i++) {
        json_t *strategy = js_object(), *curves = js_array();
        for (size_t f = 0; f < s->file_count; f++) {
            json_t *curve = js_array();
            for (size_t k = 0; k < KILN_SCORE_STEPS; k++)
                js_add(curve, js_real(s->scores[i * s->file_count + f].curve[k]));
            js_add(curves, curve);
        }
        js_set(strategy, "name", js_text(s->strategies[i]));
        js_set(strategy, "curves", curves);
        js_add(strategies, strategy);
    }
    js_set(object, "files", files);
    js_set(object, "strategies", strategies);
    return object;
}

static void put_number(FILE *to, double number) { fprintf(to, "<td class=n>%.3f</td>", number); }

/* Writes the table of scores: a row for each strategy, with its mean score, and its score and share for each file. */
static void put_table(FILE *to, const report_scores *s)
{
    fputs("<section><h2>Scores</h2>\n<div class=scroll tabindex=0><table><thead><tr><th scope=col>strategy</th>"
          "<th class=n scope=col>mean</th>",
          to);
    for (size_t f = 0; f < s->file_count; f++) {
        fputs("<th class=n scope=col>", to);
        report_escape(to, s->files[f]);
        fputs("</th><th class=n scope=col>share</th>", to);
    }
    fputs("</tr></thead>\n<tbody>\n", to);
    for (size_t i = 0; i < s->strategy_count; i++) {
        const kiln_score *scores = &s->scores[i * s->file_count];
        double sum = 0;
        for (size_t f = 0; f < s->file_count; f++)
            sum += scores[f].score;
        fputs("<tr><td>", to);
        report_escape(to, s->strategies[i]);
        fputs("</td>", to);
        put_number(to, sum / (double)s->file_count);
        for (size_t f = 0; f < s->file_count; f++) {
            put_number(to, scores[f].score);
            put_number(to, scores[f].share);
        }
        fputs("</tr>\n", to);
    }
    fputs("</tbody></table></div></section>\n", to);
}

static void put_scores(FILE *to, const report_scores *s, const report_library *library)
{
    report_page_start(to, "Search strategies compared", library);
    fputs("<header><h1>Search strategies compared</h1>\n<p>Each strategy searched each recorded space ", to);
    fprintf(
        to,
        "%s times, from different seeds, on a simulated clock, on which each configuration takes its recorded time. ",
        cli_whole(s->seeds));
    fputs(
        "The score compares the best configuration so far with the expected best of random search at the same time: 0 "
        "equals random search, 1 means that the optimum was found at once, and below 0 is worse than random search. The "
        "share is the speed of the best of 100 configurations, divided by the speed of the optimum (median over the "
        "seeds).</p>\n"
        "<noscript><p>The chart needs scripts; the table does not.</p></noscript></header>\n<main>\n"
        "<section class=figure data-chart=scores><h2>Score over the budget</h2></section>\n",
        to);
    put_table(to, s);
    fputs("</main>\n", to);
    json_t *data = scores_json(s);
    report_page_end(to, data, library);
    json_decref(data);
}

int report_scores_page(cli *c, const report_scores *scores, const report_library *library, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (!to)
        return cli_fail(c, KILN_ERROR_MEMORY, "out of host memory");
    put_scores(to, scores, library);
    bool whole = !ferror(to);
    whole = fclose(to) == 0 && whole;
    int code = whole ? report_write(c, path, text, length) : cli_fail(c, KILN_ERROR_MEMORY, "out of host memory");
    free(text);
    return code;
}
