/* replay.c - commands on recorded search spaces: kiln tune --replay and kiln compare-strategies. */
#include <stdio.h>
#include <string.h>

#include "report.h"
#include "tune.h"

typedef struct compare_args {
    cli_list strategies;
    uint64_t seeds;
    const char *prior, *plot;
} compare_args;

/* Loads a recorded search space. The times of the recorded space `prior` become its estimates; NULL means no estimates.
 * Returns 0, or the exit code after an error message. */
static int load(cli *c, const cli_engine_args *engine, const char *path, const char *prior, kiln_recording **recording)
{
    kiln_error *error = NULL;
    const char *dot = strrchr(path, '.');
    if (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0))
        return cli_usage(
            c,
            "%s is a spec, and not a recorded space (Kernel Tuner's cache file, T4 results): 'kiln tune %s' "
            "searches a spec",
            path, cli_shell_word(path));
    int code = cli_engine(c, engine);
    if (code)
        return code;
    kiln_recording *other = NULL;
    if (kiln_recording_load(c->engine, path, recording, &error) != KILN_OK)
        return cli_error(c, error);
    if (!prior)
        return 0;
    kiln_status status = kiln_recording_load(c->engine, prior, &other, &error);
    if (status == KILN_OK)
        status = kiln_recording_set_prior(*recording, other, &error);
    kiln_recording_free(other);
    return status == KILN_OK ? 0 : cli_error(c, error);
}

static json_t *info_json(const kiln_recording_info *info)
{
    json_t *object = js_object();
    js_set(object, "file", js_text(info->path));
    js_set(object, "format", js_text(info->format));
    js_set(object, "kernel", js_text(info->kernel));
    js_set(object, "device", js_text(info->device));
    js_set(object, "cut_off", json_boolean(info->cut_off));
    js_set(object, "params", js_whole(info->params));
    js_set(object, "configurations", js_whole(info->configurations));
    js_set(object, "failed", js_whole(info->failed));
    js_set(object, "optimum_seconds", js_real(info->optimum));
    js_set(object, "median_seconds", js_real(info->median));
    js_set(object, "mean_cost_seconds", js_real(info->mean_cost));
    js_set(object, "budget_seconds", js_real(info->budget));
    js_set(object, "budget_draws", js_whole(info->draws));
    return object;
}

static void info_text(const kiln_recording_info *info)
{
    out_puts(info->path);
    out_printf(": %s", info->format);
    for (int i = 0; i < 2; i++) {
        const char *says = i == 0 ? info->kernel : info->device;
        out_puts(*says ? ", " : "");
        out_puts(says);
    }
    out_printf("\n  %s configurations of %zu params, %s failed%s\n", cli_whole(info->configurations), info->params,
               cli_whole(info->failed), info->cut_off ? "; the file is truncated: its complete part is used" : "");
    if (info->optimum > 0)
        out_printf("  optimum %s, median %s; one configuration took %s on average\n", cli_seconds(info->optimum),
                   cli_seconds(info->median), cli_duration(info->mean_cost));
}

/* ---- kiln tune --replay ---- */

typedef struct replay_view {
    const cli *c;
    cli_table table;
    json_t *steps;
    uint64_t tried, failed;
    double best, clock;
} replay_view;

static int on_step(void *user, const kiln_replay_step *step)
{
    replay_view *v = user;
    v->tried = step->number;
    v->clock = step->clock;
    v->failed += step->failure != NULL;
    if (step->best)
        v->best = step->seconds;
    if (v->c->output.json) {
        json_t *object = js_object();
        js_set(object, "params", js_settings(step->params, step->param_count));
        js_set(object, "clock_seconds", js_real(step->clock));
        js_set(object, "seconds", step->failure ? json_null() : js_real(step->seconds));
        js_set(object, "failure", js_text(step->failure));
        js_add(v->steps, object);
    } else if (step->best) {
        table_cell(&v->table, "%s", cli_whole(step->number));
        table_cell(&v->table, "%s", cli_duration(step->clock));
        table_cell(&v->table, "%s", cli_seconds(step->seconds));
        table_cell(&v->table, "%s", cli_settings_text(step->params, step->param_count));
    }
    return cli_interrupted();
}

static void replay_text(const replay_view *v, const kiln_recording_info *info)
{
    info_text(info);
    out_puts("\n");
    if (v->best > 0)
        table_print(&v->table, true);
    out_printf("\n%s of %s configurations tried in %s of replayed time, %s failed\n", cli_whole(v->tried),
               cli_whole(info->configurations), cli_duration(v->clock), cli_whole(v->failed));
    if (v->best > 0)
        out_printf("best %s: %s %% of the optimum's speed\n", cli_seconds(v->best),
                   cli_significant(100 * info->optimum / v->best, 4));
}

/* `kiln tune --replay`: searches a recorded space with a simulated clock, and shows each improvement and the final
 * result. */
int replay_run(cli *c)
{
    const tune_args *args = c->args;
    kiln_recording *recording = NULL;
    kiln_error *error = NULL;
    if (c->words.count)
        return cli_usage(c, "--replay searches a recorded file: do not give a spec too");
    int code = load(c, &args->engine, args->replay, args->prior, &recording);
    if (code) {
        kiln_recording_free(recording);
        return code;
    }
    const kiln_recording_info *info = kiln_recording_describe(recording);
    kiln_replay_options options = {.size = sizeof options,
                                   .strategy = args->strategy,
                                   .seed = args->seed,
                                   .max_configurations = args->max_configurations,
                                   .max_seconds = args->max_seconds};
    if (options.max_configurations == 0 && !(options.max_seconds > 0))
        options.max_seconds = info->budget;
    replay_view view = {.c = c, .steps = js_array()};
    table_start(&view.table, "rrrl");
    view.table.indent = 2;
    static const char *const heads[] = {"tried", "after", "best", "configuration"};
    for (size_t i = 0; i < CLI_COUNT(heads); i++)
        table_cell(&view.table, "%s", heads[i]);
    cli_catch_signals("");
    kiln_status status = kiln_replay(recording, &options, on_step, &view, &error);
    if (status == KILN_OK && c->output.json) {
        json_t *object = js_object();
        js_set(object, "recording", info_json(info));
        js_set(object, "strategy", js_text(args->strategy ? args->strategy : kiln_strategy_name(0)));
        js_set(object, "seed", js_whole(args->seed));
        js_set(object, "steps", view.steps);
        js_print(object);
    } else {
        if (status == KILN_OK)
            replay_text(&view, info);
        json_decref(view.steps);
    }
    kiln_recording_free(recording);
    return status == KILN_OK ? 0 : cli_error(c, error);
}

/* ---- kiln compare-strategies ---- */

typedef struct comparison {
    size_t files, strategies;
    const char **names;                /* names of the strategies */
    const kiln_recording_info **infos; /* the recordings own these objects */
    kiln_recording **recordings;
    kiln_score *scores; /* strategies x files */
} comparison;

static double mean_score(const comparison *m, size_t strategy)
{
    double sum = 0;
    for (size_t f = 0; f < m->files; f++)
        sum += m->scores[strategy * m->files + f].score;
    return sum / (double)m->files;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Prints the recordings with their budgets, and then a table with a row for each strategy: its mean score, and its
 * score and share for each recording. */
static void compare_text(const comparison *m, uint64_t seeds)
{
    for (size_t f = 0; f < m->files; f++) {
        info_text(m->infos[f]);
        out_printf("  compared over %s, in which random search tries %zu configurations\n",
                   cli_duration(m->infos[f]->budget), m->infos[f]->draws);
    }
    out_printf("\nscore (0 is random search, 1 the optimum at once) and share of the optimum after 100 configurations; "
               "%s seeds\n\n",
               cli_whole(seeds));
    cli_table table;
    char *align = cli_printf("%s", "lr");
    for (size_t f = 0; f < m->files; f++)
        align = cli_printf("%srr", align);
    table_start(&table, align);
    table.indent = 2;
    table_cell(&table, "strategy");
    table_cell(&table, "mean");
    for (size_t f = 0; f < m->files; f++) {
        table_cell(&table, "%s", base_name(m->infos[f]->path));
        table_cell(&table, "share");
    }
    for (size_t s = 0; s < m->strategies; s++) {
        table_cell(&table, "%s", m->names[s]);
        table_cell(&table, "%.3f", mean_score(m, s));
        for (size_t f = 0; f < m->files; f++) {
            table_cell(&table, "%.3f", m->scores[s * m->files + f].score);
            table_cell(&table, "%.3f", m->scores[s * m->files + f].share);
        }
    }
    table_print(&table, true);
}

/* Prints the scores of all strategies on all files as one JSON object. */
static void compare_json(const comparison *m, uint64_t seeds)
{
    json_t *object = js_object(), *files = js_array(), *strategies = js_array();
    for (size_t f = 0; f < m->files; f++)
        js_add(files, info_json(m->infos[f]));
    for (size_t s = 0; s < m->strategies; s++) {
        json_t *strategy = js_object(), *scores = js_array();
        js_set(strategy, "strategy", js_text(m->names[s]));
        js_set(strategy, "mean", js_real(mean_score(m, s)));
        for (size_t f = 0; f < m->files; f++) {
            const kiln_score *score = &m->scores[s * m->files + f];
            json_t *one = js_object(), *curve = js_array(), *best = js_array();
            for (size_t i = 0; i < KILN_SCORE_STEPS; i++) {
                js_add(curve, js_real(score->curve[i]));
                js_add(best, js_real(score->best[i]));
            }
            js_set(one, "score", js_real(score->score));
            js_set(one, "share_after_100", js_real(score->share));
            js_set(one, "curve", curve);
            js_set(one, "best_seconds", best);
            js_add(scores, one);
        }
        js_set(strategy, "files", scores);
        js_add(strategies, strategy);
    }
    js_set(object, "seeds", js_whole(seeds));
    js_set(object, "recordings", files);
    js_set(object, "strategies", strategies);
    js_print(object);
}

/* Writes a gnuplot script that contains its own data. The script draws the mean score over all files against the
 * budget. Returns 0 or the exit code. */
static int compare_plot(const cli *c, const comparison *m, const char *path)
{
    cli_stream stream;
    FILE *file = cli_stream_open(&stream);
    if (!file)
        return cli_fail(c, KILN_ERROR_MEMORY, "out of host memory");
    fputs("# gnuplot -p THIS, or with 'set terminal svg; set output \"score.svg\"' before it\n$scores << END\n", file);
    for (size_t i = 0; i < KILN_SCORE_STEPS; i++) {
        fprintf(file, "%g", (double)(i + 1) / KILN_SCORE_STEPS);
        for (size_t s = 0; s < m->strategies; s++) {
            double sum = 0;
            for (size_t f = 0; f < m->files; f++)
                sum += m->scores[s * m->files + f].curve[i];
            fprintf(file, " %.6g", sum / (double)m->files);
        }
        fputc('\n', file);
    }
    fprintf(file, "END\nset xlabel 'share of the time budget'\nset ylabel 'score (0: random search, 1: optimum)'\n"
                  "set yrange [-0.5:1]\nset key outside\nplot ");
    for (size_t s = 0; s < m->strategies; s++)
        fprintf(file, "%s$scores using 1:%zu with lines title '%s'", s ? ", \\\n     " : "", s + 2, m->names[s]);
    fputc('\n', file);
    return cli_write_stream(c, path, &stream);
}

static bool is_page(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;
    return dot && strcmp(dot, ".html") == 0;
}

static int compare_page(cli *c, const comparison *m, uint64_t seeds, const report_library *library, const char *path)
{
    const char **files = cli_alloc((m->files + 1) * sizeof *files);
    for (size_t f = 0; f < m->files; f++)
        files[f] = base_name(m->infos[f]->path);
    report_scores scores = {files, m->names, m->files, m->strategies, m->scores, seeds};
    return report_scores_page(c, &scores, library, path);
}

static void choose_strategies(const cli *c, comparison *m)
{
    const compare_args *args = c->args;
    size_t all = 0;
    while (kiln_strategy_name(all))
        all++;
    const cli_list *asked = &args->strategies;
    m->strategies = asked->count ? asked->count : all;
    m->names = cli_alloc(m->strategies * sizeof *m->names);
    for (size_t s = 0; s < m->strategies; s++)
        m->names[s] = asked->count ? asked->items[s] : kiln_strategy_name(s);
}

static int score_all(cli *c, comparison *m, uint64_t seeds)
{
    const compare_args *args = c->args;
    for (size_t f = 0; f < m->files; f++) {
        int code = load(c, NULL, c->words.items[f], args->prior, &m->recordings[f]);
        if (code)
            return code;
        m->infos[f] = kiln_recording_describe(m->recordings[f]);
    }
    cli_catch_signals("this score");
    for (size_t s = 0; s < m->strategies; s++)
        for (size_t f = 0; f < m->files; f++) {
            kiln_error *error = NULL;
            /* after an interruption, the tables have only the strategies with all of their scores */
            if (cli_interrupted()) {
                m->strategies = s;
                return s ? 0 : cli_fail(c, KILN_ERROR_INTERRUPTED, "interrupted before any strategy had all scores");
            }
            if (progress_wanted(c))
                progress_show(m->names[s], " on ", base_name(m->infos[f]->path));
            kiln_score *score = &m->scores[s * m->files + f];
            score->size = sizeof *score;
            kiln_status status = kiln_recording_score(m->recordings[f], m->names[s], (unsigned)seeds, score, &error);
            progress_clear();
            if (status != KILN_OK)
                return cli_error(c, error);
        }
    return 0;
}

/* Lists all strategies. `kiln compare-strategies` does this if the user names no file. */
static int list_strategies(const cli *c)
{
    cli_table table;
    json_t *list = js_array();
    table_start(&table, "ll");
    table_cell(&table, "strategy");
    table_cell(&table, "how");
    for (size_t i = 0; kiln_strategy_name(i); i++) {
        json_t *one = js_object();
        js_set(one, "name", js_text(kiln_strategy_name(i)));
        js_set(one, "about", js_text(kiln_strategy_about(i)));
        js_add(list, one);
        table_cell(&table, "%s", kiln_strategy_name(i));
        table_cell(&table, "%s", kiln_strategy_about(i));
    }
    if (c->output.json) {
        json_t *object = js_object();
        js_set(object, "strategies", list);
        js_print(object);
        return 0;
    }
    json_decref(list);
    table_print(&table, true);
    out_puts(
        "\nTo compare them, name recorded spaces (Kernel Tuner's cache files, T4 results): kiln compare-strategies "
        "FILE...\n");
    return 0;
}

static int compare_run(cli *c)
{
    const compare_args *args = c->args;
    if (c->words.count == 0)
        return list_strategies(c);
    comparison m = {.files = c->words.count};
    if (args->prior && c->words.count > 1)
        return cli_usage(c, "--prior needs exactly one recorded file");
    uint64_t seeds = args->seeds ? args->seeds : 100;
    if (seeds > 1000000)
        return cli_usage(c, "--seeds must be at most 1,000,000");
    choose_strategies(c, &m);
    m.infos = cli_alloc(m.files * sizeof *m.infos);
    m.recordings = cli_alloc(m.files * sizeof *m.recordings);
    m.scores = cli_alloc(m.files * m.strategies * sizeof *m.scores);
    report_library library = {0};
    bool page = is_page(args->plot);
    /* Vega is loaded before the work, because it may be missing */
    int code = page ? report_load_library(c, NULL, &library) : 0;
    code = code ? code : score_all(c, &m, seeds);
    if (code == 0 && c->output.json)
        compare_json(&m, seeds);
    else if (code == 0)
        compare_text(&m, seeds);
    if (code == 0 && args->plot)
        code = page ? compare_page(c, &m, seeds, &library, args->plot) : compare_plot(c, &m, args->plot);
    for (size_t f = 0; f < m.files; f++)
        kiln_recording_free(m.recordings[f]);
    if (code == 0 && cli_interrupted()) {
        cli_complain(
            cli_printf("interrupted; showing the %s strategies that have all scores", cli_whole(m.strategies)));
        code = cli_exit_code(KILN_ERROR_INTERRUPTED);
    }
    return code;
}

#define FIELD(field) offsetof(compare_args, field)

static const cli_option options[] = {
    {"strategies", 0, CLI_COMMAS, FIELD(strategies), "NAMES", CLI_STRATEGIES, NULL,
     "The strategies to compare, separated by commas. Default: all."},
    {"seeds", 0, CLI_WHOLE, FIELD(seeds), "COUNT", CLI_NOTHING, NULL,
     "Repeat each search with this many seeds. Default: 100."},
    {"prior", 0, CLI_TEXT, FIELD(prior), "FILE", CLI_FILES, NULL,
     "A recorded file with the same params. The strategies take its times as estimates."},
    {"plot", 0, CLI_TEXT, FIELD(plot), "FILE", CLI_FILES, NULL,
     "Draw the scores over time. If the file's name ends in .html, it is a page with Vega, as in `kiln report`. "
     "Otherwise it is a gnuplot script."},
};
static const cli_group group = {"What to compare", options, CLI_COUNT(options)};

const cli_command cli_compare_strategies_command = {
    .name = "compare-strategies",
    .summary = "score search strategies on recorded spaces",
    .arguments = "[FILE...]",
    .about =
        "Searches recorded spaces with each strategy and many seeds. All configurations of a recorded space were "
        "measured before. The files are Kernel Tuner's cache files or T4 results, gzipped or not. The clock is "
        "simulated: each configuration takes its recorded time.\n\n"
        "The score compares the best configuration found so far with the expected best of a random search at the "
        "same time. It is a mean over the time that random search needs to come within 5 % of the way from the "
        "optimum to the median. A score of 0 equals random search, 1 means that the optimum was found at once, and a "
        "score below 0 is worse than random search.\n\n"
        "Without a file the strategies are listed. No device is needed.",
    .min_words = 0,
    .max_words = 1000,
    .completes = CLI_FILES,
    .args_size = sizeof(compare_args),
    .groups = (const cli_use[]){{&group, 0}, {0}},
    .examples =
        (const cli_example[]){{"kiln compare-strategies gemm.json.gz pnpoly.json.gz", "All strategies, 100 seeds."},
                              {"kiln compare-strategies gemm.json --strategies surrogate,random --plot score.gp",
                               "Two strategies, with a figure."},
                              {0}},
    .run = compare_run,
};
