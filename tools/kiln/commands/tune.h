/* tune.h - declarations that tune.c (the sweep) and tune_show.c (the results) share. */
#ifndef KILN_CLI_TUNE_H
#define KILN_CLI_TUNE_H

#include "commands.h"
#include "findings.h"

typedef struct tune_args {
    cli_choice_args choice; /* without the variant */
    cli_run_args run;
    cli_engine_args engine;
    cli_list variants;
    const char *arch;
    /* limits of the sweep; 0 means no limit */
    uint64_t max_configurations, stagnation;
    double max_seconds, max_roofline, improvement;
    bool all;
    /* the search */
    const char *strategy, *estimates;
    cli_list objectives;
    uint64_t seed;
    bool repeatable;
    /* the measurements */
    bool isolate, no_isolate, no_early_stop, no_finals;
    bool check; /* `run` has a member `check` too; this one checks only the winners */
    uint64_t finalists;
    /* the samples */
    const char *store, *csv;
    bool fresh, strict, no_store;
    uint64_t top;
    /* a recorded space in place of a spec */
    const char *replay, *prior;
    /* several processes */
    bool mpi, no_mpi, lead_only;
    double lease; /* seconds */
} tune_args;

/* The result of --check. */
typedef struct tune_checked {
    findings found;
    const char *sizes;  /* "N=5000 (tiny)"; NULL means that nothing was checked */
    uint64_t runs;      /* winners that ran to their end */
    uint64_t failed;    /* winners that did not run to their end */
    kiln_status status; /* the status of the first sweep that failed */
    const char *which, *why;
} tune_checked;

typedef struct tune_view {
    const kiln_device_info *device;
    cli_choice chosen; /* fixed params and sizes */
    const char *only;  /* the variant, if only one is swept */
    const char *size_set;
    kiln_setting *sizes;
    size_t size_count;
    const kiln_size_set *small; /* the sizes at which answers were verified; NULL means `sizes` */
    /* the reason why the times are for the small sizes; NULL means that they are for the default sizes */
    const char *instead;
    cli_list unverifiable; /* variants that are left out because they are not valid at the sizes `small` */
    kiln_status status;    /* the status with which the sweep ended */
    const char *ended;     /* the reason why the sweep ended early; NULL means that it did not end early */
    bool device_named;     /* 1 means that the user named the device */
    double limit;          /* seconds; 0 means no limit */
    bool first;            /* the limit is FIRST_LIMIT */
    uint64_t most;         /* configurations; 0 means no limit */
    uint64_t space;        /* configurations; UINT64_MAX if it is not known */
    tune_checked checked;
    bool progress;
    bool announced; /* 1 means that the length of the sweep was announced */
    double shown;   /* time of the last drawing of the progress line, in seconds of the sweep */
} tune_view;

/* Joins the job in which this process was started, if there is a job. Returns true if the process has no further
 * work; *code is then its exit code. */
bool tune_join(cli *c, int *code);
/* If the job has devices of several models, shows the results of all sweeps after this sweep has ended. Used with
 * --json. */
void tune_collect(cli *c);
/* --check (tune_check.c) */
int tune_check(cli *c, const tune_view *view, const kiln_tuning *tuning, tune_checked *checked);
int tune_check_code(const tune_checked *checked);
void tune_check_text(const tune_checked *checked);
json_t *tune_check_json(const tune_checked *checked);
int replay_run(cli *c);                         /* kiln tune --replay (replay.c); returns the exit code */
double tune_seconds(const kiln_result *result); /* the time for the ranking */
void tune_text(cli *c, const tune_view *view, const kiln_tuning *tuning);
void tune_json(cli *c, const tune_view *view, const kiln_tuning *tuning);
int tune_csv(cli *c, const kiln_tuning *tuning, const char *path); /* 0, or the exit code */

#endif
