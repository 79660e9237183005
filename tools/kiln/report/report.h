/* report.h - what the files of `kiln report` share: ordered samples and their figures.
 *
 * commands/report.c reads samples, data.c orders them and computes the figures, json.c writes the data of the charts,
 * quantities.c has what samples have besides time, compare.c compares problems, page.c writes the page, environment.c what the samples were made with, export.c each chart as a file, scores.c the page of kiln compare-strategies, vega.c finds the
 * charting library, gnuplot.c writes scripts for papers. */
#ifndef KILN_CLI_REPORT_H
#define KILN_CLI_REPORT_H

#include <stdio.h>

#include "cli.h"

/* The kind of a time. If a problem has several kinds the last one in this list counts. */
#define REPORT_TIMES(X)                                                                                                \
    X(NONE, "no time")                                                                                                 \
    X(SIMULATED, "wall time of the simulator")                                                                         \
    X(ESTIMATED, "estimated time")                                                                                     \
    X(RECORDED, "recorded time")                                                                                       \
    X(MEASURED, "measured time")
typedef enum report_time {
#define CLI_X(name, says) REPORT_##name,
    REPORT_TIMES(CLI_X)
#undef CLI_X
} report_time;

typedef struct report_sample {
    const char *variant;        /* in brackets if it is not a contender */
    bool aside;                 /* not a contender: never the best */
    const kiln_setting *params; /* names and texts are interned: equal ones are the same pointer */
    size_t param_count;
    const char *reason; /* NULL: it ran; else the kind of failure */
    const char *message;
    report_time time;
    double seconds, flops, bytes, share;  /* share: of the roofline's bound; 0: not known */
    double at;                            /* seconds: since 1970, or on a replay's clock */
    double clock;                         /* of the search, without its pauses */
    double inputs, copy;                  /* seconds: making its inputs on the host, copying them to the device */
    double energy, power, error, compile; /* J, W, tolerances, seconds; 0: not known */
    bool verified;
    const char *metrics;   /* "NAME=VALUE ..."; NULL: none */
    const char *functions; /* "NAME=SECONDS ...": those that made its inputs; NULL: not known */
    size_t number;         /* from 1, in order of time */
    uint32_t *levels;      /* of each param of its variant: which of its values */
} report_sample;

typedef struct report_spread {
    size_t ran, failed;
    double least, low, median, high, most;
} report_spread;

/* What samples are better or worse in (quantities.c). */
typedef struct report_quantity {
    const char *name, *unit;
    bool more, metric, varies;   /* more is better; it is the spec's own; not the same in all */
    size_t known;                /* in how many samples */
    double scale;                /* of the unit */
    const report_sample *best;   /* of those that count */
    const report_sample **front; /* with the problem's first quantity: those that nothing beats in both */
    size_t front_count;
} report_quantity;

/* Of what was observed while samples were measured. */
typedef struct report_range {
    size_t count; /* 0: not known */
    double least, most;
} report_range;

/* A param's values in order. If there are many, neighbours share a bin; charts and tables show bins. */
#define REPORT_BINS 24
typedef struct report_param {
    const char *name;
    const kiln_value *values; /* in order; a missing one (a sample of before the param was added) is first, as NULL
                                 text */
    size_t value_count, bin_count;
    const char *labels[REPORT_BINS];
    report_spread spreads[REPORT_BINS];
    double effect; /* the best of the value with the worst best, over the best of all; 0: not known */
} report_param;

typedef struct report_variant {
    const char *name;
    report_param *params;
    size_t param_count;
    report_sample **samples; /* fastest first, then the failed ones */
    size_t count, ran;
} report_variant;

typedef struct report_reason {
    const char *reason, *message;
    size_t count;
    const report_sample *first;
} report_reason;

/* One device and one set of sizes. */
typedef struct report_problem {
    const char *device, *device_id, *sizes;
    const kiln_setting *size_list;
    size_t size_count;
    const char *from;                                                          /* the store, or the recorded file */
    cli_list ids, capabilities, drivers, nvrtcs, kilns, runs, hosts, commands; /* each once */
    report_range clock, memory_clock, temperature, power;                      /* Hz, degrees, W */
    report_time time;
    report_sample **samples; /* in order of time */
    size_t count, ran, room;
    size_t stopped_early, throttled; /* of all that were read */
    size_t older, other;      /* left out: of a configuration that was sampled again; with another kind of time */
    report_variant *variants; /* the one with the best sample first */
    size_t variant_count;
    report_reason *reasons; /* most frequent first */
    size_t reason_count;
    double first, last, compile_seconds;
    double peak_flops, peak_bandwidth; /* 0: not known */
    const char *peaks_from;
    const report_sample *best;                              /* of the contenders, if one ran; NULL: nothing ran */
    double least;                                           /* seconds of the fastest of all */
    report_quantity *quantities;                            /* time is the first */
    size_t quantity_count, first_quantity, second_quantity; /* whose front the table has; the count: none */
} report_problem;

/* Two problems, and what they have in common (compare.c). */
typedef struct report_pair {
    const report_problem *a, *b;
    size_t number_a, number_b;
    size_t count;                                 /* of configurations that ran on both */
    double correlation;                           /* of ranks; NaN: fewer than three, or all the same */
    double cost_a, cost_b;                        /* of the other's best, as a multiple of the best; 0: not tried */
    const char *name_a, *name_b;                  /* what is not the same in both of device, sizes and store */
    const char *differ;                           /* what the best configurations differ in */
    const report_sample **samples_a, **samples_b; /* those that are drawn */
    size_t shown;
} report_pair;

typedef struct report {
    const char *spec, *title, *source; /* source: what was read, for people */
    const char *word;                  /* what `kiln run` takes for the spec: its name, or a path */
    cli_list asides;                   /* variants that are no contenders */
    bool replayed;                     /* times of day mean nothing: `at` is a clock that began at 0 */
    report_problem *problems;
    size_t problem_count, problem_room, count;
    cli_list objectives; /* names of quantities, with min: or max:; the first two are those of the front */
    bool several;        /* stores, which the labels of problems then name */
    report_pair *pairs;
    size_t pair_count;
    void *texts; /* a tree of interned texts */
} report;

/* Into a report, one by one, then report_finish(). */
const char *report_intern(report *r, const char *text);
kiln_setting *report_settings(report *r, const kiln_setting *settings, size_t count);
report_problem *report_find_problem(report *r, const char *device, const kiln_setting *sizes, size_t size_count);
void report_add(report_problem *problem, const report_sample *sample);
void report_add_once(cli_list *list, const char *text);
void report_observe(report_range *range, double value); /* 0 and less: not known */
void report_finish(report *r);
void report_find_quantities(const report *r, report_problem *p);
double report_value(const report_quantity *q, const report_sample *s); /* NaN: not known */
const char *report_unknown_objective(const report *r);                 /* that no problem has; NULL: all are known */
void report_compare(report *r, size_t problems);                       /* the first of them, with each other */
size_t report_variant_of(const report_problem *p, const report_sample *sample); /* its variant's number */
void report_free(report *r);

const char *report_time_text(report_time time);
const char *report_unit(double seconds, double *length);       /* cli_time_unit(), for a page, which is always UTF-8 */
const char *report_configuration(const report_sample *sample); /* "A=1 B=2" */
size_t report_bin(const report_param *param, uint32_t level);
bool report_counts(const report_problem *p, const report_sample *sample); /* for what was the best so far */
bool report_has_choice(const report_param *param);                        /* more than one value */
const char *report_day(double at);                                        /* "2026-03-01 12:00" in UTC */

/* ---- the page ---- */

/* The data of the charts. `detail` is 1, or less to have a smaller page: the share of points and lines that is drawn. */
json_t *report_json(const report *r, double detail);

typedef struct report_file {
    const char *name;
    const unsigned char *data;
    size_t size;
} report_file;
extern const report_file report_files[]; /* what tools/kiln/report has, compiled in; ends with a NULL name */
const report_file *report_find_file(const char *name);
const char *report_file_text(const char *name); /* "" if there is none */
void report_put_specs(FILE *to);                /* the specifications of the charts, as a JSON object */

typedef struct report_library {
    const char **names, **texts;
    size_t count;
    const char *folder, *licence;
    bool interprets;
} report_library;
/* Finds Vega and reads it. 0, or the exit code after it has said what is missing. */
int report_load_library(cli *c, report_library *library);

void report_escape(FILE *to, const char *text); /* as the text of HTML, or in an attribute's quotes */
void report_put(FILE *to, const char *format, ...) CLI_PRINTF(2, 3); /* escaped */
void report_cell(FILE *to, bool number, const char *text);
/* The heading of a table; in `numbers`, r is a column of numbers. */
void report_head(FILE *to, const char *const *texts, size_t count, const char *numbers);
const char *report_cut(const char *text); /* at a limit, with "..." */
void report_environment(FILE *to, const report *r, const report_problem *p);
void report_citation(FILE *to, const report *r);
void report_comparison(FILE *to, const report *r); /* nothing for one problem */
json_t *report_pairs_json(const report *r);
void report_objectives(FILE *to, const report_problem *p); /* nothing where there is only time */
json_t *report_quantities_json(const report_problem *p, double detail);
void report_page_start(FILE *to, const char *title, const report_library *library);
void report_page_end(FILE *to, const json_t *data, const report_library *library);
/* The whole page of a report. 0, or the exit code. `size`: of the file. */
int report_page(cli *c, const report *r, const report_library *library, const char *path, uint64_t *size);
/* Puts a file in place whole or not at all. */
int report_write(cli *c, const char *path, const char *data, size_t size);

/* ---- charts as files ---- */

#define REPORT_NEEDS_RSVG                                                                                              \
    "it makes PNGs of SVGs; run 'apt-get install librsvg2-bin' (Debian, Ubuntu), or leave out --png"
/* Makes a folder if there is none. */
int report_make_folder(cli *c, const char *folder);
/* Each chart as NAME.svg in `folder`, and with --png as NAME.png. *count: how many charts. */
int report_charts(cli *c, const report *r, const report_library *library, const char *folder, size_t *count);

/* ---- the page of kiln compare-strategies ---- */

typedef struct report_scores {
    const char *const *files, *const *strategies; /* their names */
    size_t file_count, strategy_count;
    const kiln_score *scores; /* strategies x files */
    uint64_t seeds;
} report_scores;
int report_scores_page(cli *c, const report_scores *scores, const report_library *library, const char *path);

/* ---- for papers ---- */

int report_gnuplot(cli *c, const report *r, const char *folder);

#endif
