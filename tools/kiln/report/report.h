/* report.h - types and functions that the files of `kiln report` share.
 *
 *   commands/report.c  reads samples
 *   data.c             orders samples and computes their figures
 *   json.c             writes the data of the charts
 *   quantities.c       figures of samples besides their time
 *   compare.c          compares problems
 *   page.c             writes the page
 *   again.c            the command that runs a sample again
 *   environment.c      the environment in which the samples were made
 *   export.c           writes each chart as a file
 *   scores.c           the page of kiln compare-strategies
 *   gnuplot.c          scripts for gnuplot
 *   vega.c             finds and reads Vega */
#ifndef KILN_CLI_REPORT_H
#define KILN_CLI_REPORT_H

#include <stdio.h>

#include "cli.h"

/* The kinds of times that samples may have. If the samples of a problem have several kinds, only the last of these
 * kinds in this list counts. */
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
    const char *variant;        /* the name of the variant, in brackets if the variant is not a contender */
    bool aside;                 /* true: the variant is not a contender, so the sample is never the best */
    const kiln_setting *params; /* the names and texts are interned, so equal texts have the same pointer */
    size_t param_count;
    const char *reason; /* the kind of the failure; NULL means that the sample ran */
    const char *message;
    report_time time;
    /* `share` is the share of the roofline's bound that the sample reached; 0 if it is not known */
    double seconds, flops, bytes, share;
    /* the time at which the sample was made, in seconds since 1970 or on the clock of a replay */
    double at;
    /* the time of the search at which the sample was made, in seconds without pauses */
    double clock;
    /* the seconds that the host took to compute the inputs, and to copy them to the device */
    double inputs, copy;
    /* in joules, watts, units of the tolerance, and seconds; 0 if the value is not known */
    double energy, power, error, compile;
    bool verified;
    const char *metrics;   /* the spec's own metrics, "NAME=VALUE ..."; NULL means no metrics */
    const char *command;   /* the command line of the sweep that made the sample; "" if it is not known */
    bool elsewhere;        /* true: the answer was not checked at these sizes, but at smaller sizes or not at all */
    const char *functions; /* the functions that computed the inputs, "NAME=SECONDS ..."; NULL if they are not known */
    size_t number;         /* the number of the sample in the order of time, from 1 */
    uint32_t *levels;      /* for each param of the variant, the index of the sample's value */
} report_sample;

typedef struct report_spread {
    size_t ran, failed;
    double least, low, median, high, most;
} report_spread;

/* A property by which samples are compared (quantities.c). */
typedef struct report_quantity {
    const char *name, *unit;
    /* more: a higher value is better. metric: the value comes from the spec. varies: not all samples have the same
     * value */
    bool more, metric, varies;
    size_t known;                /* number of samples that have the quantity */
    double scale;                /* the factor from the quantity's unit to the unit that is shown */
    const report_sample *best;   /* the best sample among the samples that count */
    const report_sample **front; /* the samples of the Pareto front of this quantity and the problem's first quantity */
    size_t front_count;
} report_quantity;

/* The range of a figure, such as a clock rate, that was observed while samples were measured. */
typedef struct report_range {
    size_t count; /* the number of observed values; 0 if none is known */
    double least, most;
} report_range;

/* The values of a param in their order. If there are many values, neighbouring values share a bin. Charts and tables
 * show bins. */
#define REPORT_BINS 24
typedef struct report_param {
    const char *name;
    /* the values in order; a missing value is a NULL text and comes first (the sample is older than the param) */
    const kiln_value *values;
    size_t value_count, bin_count;
    const char *labels[REPORT_BINS];
    report_spread spreads[REPORT_BINS];
    double effect; /* the largest of the best times by value, divided by the best time of all; 0 if it is not known */
} report_param;

typedef struct report_variant {
    const char *name;
    report_param *params;
    size_t param_count;
    report_sample **samples; /* the samples of the variant: the fastest first, the failed samples last */
    size_t count, ran;
} report_variant;

typedef struct report_reason {
    const char *reason, *message;
    size_t count;
    const report_sample *first;
} report_reason;

/* A problem: one device and one set of sizes. */
typedef struct report_problem {
    const char *device, *device_id, *sizes;
    const kiln_setting *size_list;
    size_t size_count;
    /* the name of the store, or of the recorded file */
    const char *from;
    /* the values that occur in the samples, each once */
    cli_list ids, capabilities, drivers, nvrtcs, kilns, runs, hosts, commands;
    report_range clock, memory_clock, temperature, power; /* Hz, degrees, W */
    report_time time;
    report_sample **samples; /* samples in order of time */
    size_t count, ran, room;
    size_t stopped_early, throttled; /* number of these samples among all samples that were read */
    /* numbers of samples that were left out: older samples of the same configuration, and samples with another kind of
     * time */
    size_t older, other;
    report_variant *variants; /* the variants; the variant with the best sample comes first */
    size_t variant_count;
    report_reason *reasons; /* the reasons for failures; the most frequent reason comes first */
    size_t reason_count;
    double first, last, compile_seconds;
    double peak_flops, peak_bandwidth; /* the peaks of the device; 0 if they are not known */
    const char *peaks_from;
    /* the best sample of a contender, if one ran, otherwise of any variant; NULL means that nothing ran */
    const report_sample *best;
    double least;                /* the time of the fastest sample in seconds */
    report_quantity *quantities; /* the quantities that the samples have; time is the first */
    /* the two quantities of the front in the table; quantity_count means that there is none */
    size_t quantity_count, first_quantity, second_quantity;
} report_problem;

/* A comparison of two problems (compare.c). */
typedef struct report_pair {
    const report_problem *a, *b;
    size_t number_a, number_b;
    size_t count; /* number of configurations that ran on both problems */
    /* rank correlation; NaN means that there are fewer than three configurations, or that all times are equal */
    double correlation;
    /* the time of the other problem's best configuration on this problem, as a multiple of the best time; 0 means that
     * it was not tried */
    double cost_a, cost_b;
    /* the parts of device, sizes and store in which the problems differ */
    const char *name_a, *name_b;
    const char *differ;                           /* the values in which the two best configurations differ */
    const report_sample **samples_a, **samples_b; /* the samples that the chart of the pair draws */
    size_t shown;
} report_pair;

typedef struct report {
    const char *spec, *title, *source; /* `source` is the name of the input, for people */
    const char *word;                  /* the word by which `kiln run` finds the spec: its name, or a path */
    bool found;                        /* false: the spec was not found, so only the store knows it */
    cli_list asides;                   /* the names of the variants that are not contenders */
    /* true: `at` is the clock of a replay, which began at 0, so there is no time of day */
    bool replayed;
    report_problem *problems;
    size_t problem_count, problem_room, count;
    cli_list objectives; /* quantities with min: or max:; the first two make the Pareto front */
    bool several;        /* true: there are several stores, so the labels of problems name the store */
    report_pair *pairs;
    size_t pair_count;
    void *texts; /* a search tree of interned texts */
} report;

/* Add texts and samples one by one with these functions, and then call report_finish(). */
const char *report_intern(report *r, const char *text);
kiln_setting *report_settings(report *r, const kiln_setting *settings, size_t count);
report_problem *report_find_problem(report *r, const char *device, const kiln_setting *sizes, size_t size_count);
void report_add(report_problem *problem, const report_sample *sample);
void report_add_once(cli_list *list, const char *text);
/* adds a value to the range; ignores values of 0 or less, which mean that the figure is not known */
void report_observe(report_range *range, double value);
void report_finish(report *r);
void report_find_quantities(const report *r, report_problem *p);
/* returns the sample's value of the quantity; NaN if it is not known */
double report_value(const report_quantity *q, const report_sample *s);
/* Returns an objective of the user that no problem has, or NULL if every objective is known. */
const char *report_unknown_objective(const report *r);
/* compares the first `problems` problems of the report */
void report_compare(report *r, size_t problems);
/* returns the index of the variant to which the sample belongs */
size_t report_variant_of(const report_problem *p, const report_sample *sample);
void report_free(report *r);

const char *report_time_text(report_time time);
/* calls cli_time_unit() for a page, which is always UTF-8 */
const char *report_unit(double seconds, double *length);
const char *report_configuration(const report_sample *sample); /* "A=1 B=2" */
size_t report_bin(const report_param *param, uint32_t level);
/* returns true for a sample that may be the best so far */
bool report_counts(const report_problem *p, const report_sample *sample);
/* returns true if the param has more than one value */
bool report_has_choice(const report_param *param);
const char *report_day(double at); /* "2026-03-01 12:00" in UTC */

/* ---- the page ---- */

/* Returns the data of the charts. `detail` is the share of points and lines that the charts draw, at most 1. A smaller
 * value makes a smaller page. */
json_t *report_json(const report *r, double detail);

typedef struct report_file {
    const char *name;
    const unsigned char *data;
    size_t size;
} report_file;
/* the files of tools/kiln/report that are compiled in; the last element has a NULL name */
extern const report_file report_files[];
const report_file *report_find_file(const char *name);
/* returns the text of a compiled-in file, or "" if no such file exists */
const char *report_file_text(const char *name);
void report_put_specs(FILE *to); /* writes the specifications of the charts as a JSON object */

typedef struct report_library {
    const char **names, **texts;
    size_t count;
    const char *folder, *licence;
    bool interprets;
} report_library;
/* Finds and reads Vega. `named` is the folder or the file of the option --vega, or NULL. Returns 0, or the exit code
 * after a message. */
int report_load_library(cli *c, const char *named, report_library *library);

void report_escape(FILE *to, const char *text); /* escapes text for HTML and for a quoted attribute */
void report_put(FILE *to, const char *format, ...) CLI_PRINTF(2, 3); /* Writes formatted text, escaped for HTML. */
void report_cell(FILE *to, bool number, const char *text);
/* Writes the heading of a table. `numbers` has an r for each column of numbers. */
void report_head(FILE *to, const char *const *texts, size_t count, const char *numbers);
const char *report_cut(const char *text); /* shortens a long text and appends "..." */
void report_environment(FILE *to, const report *r, const report_problem *p);
void report_citation(FILE *to, const report *r);
/* writes the comparison of problems; writes nothing if there is only one problem */
void report_comparison(FILE *to, const report *r);
json_t *report_pairs_json(const report *r);
/* writes the section about objectives; writes nothing if samples have only a time */
void report_objectives(FILE *to, const report_problem *p);
json_t *report_quantities_json(const report_problem *p, double detail);
void report_page_start(FILE *to, const char *title, const report_library *library);
void report_page_end(FILE *to, const json_t *data, const report_library *library);
/* Writes the page of a report. Returns 0 or the exit code. *size becomes the size of the file in bytes. */
int report_page(cli *c, const report *r, const report_library *library, const char *path, uint64_t *size);
/* Writes a file as a whole or not at all. */
int report_write(cli *c, const char *path, const char *data, size_t size);

/* ---- running again (again.c) ---- */

/* Returns the command line that runs the best sample of a problem again. */
const char *report_again(const report *r, const report_problem *p);

/* ---- charts as files ---- */

#define REPORT_NEEDS_RSVG                                                                                              \
    "it makes PNGs of SVGs; run 'apt-get install librsvg2-bin' (Debian, Ubuntu), or leave out --png"
/* Makes a folder if it does not exist. */
int report_make_folder(cli *c, const char *folder);
/* Writes each chart as NAME.svg into `folder`. If `png` is true, also writes NAME.png. *count becomes the number of
 * charts. */
int report_charts(cli *c, const report *r, const report_library *library, const char *folder, bool png, size_t *count);

/* ---- the page of kiln compare-strategies ---- */

typedef struct report_scores {
    const char *const *files, *const *strategies; /* their names */
    size_t file_count, strategy_count;
    const kiln_score *scores; /* strategies x files */
    uint64_t seeds;
} report_scores;
int report_scores_page(cli *c, const report_scores *scores, const report_library *library, const char *path);

/* ---- figures for papers ---- */

int report_gnuplot(cli *c, const report *r, const char *folder);

#endif
