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
    /* limits of the sweep: a number of configurations; 0 means no limit */
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
    bool check; /* true: the checks run on the winners only; this is another option than `check` of `run` */
    uint64_t finalists;
    /* the samples */
    const char *store, *csv;
    bool fresh, strict, no_store;
    uint64_t top;
    /* a recorded search space that is searched instead of a spec */
    const char *replay, *prior;
    /* several processes */
    bool mpi, no_mpi, lead_only;
    double lease; /* seconds */
} tune_args;

/* The result of the option --check. */
typedef struct tune_checked {
    findings found;
    /* the sizes at which the winners were checked, such as "N=5000 (tiny)"; NULL means that nothing was checked */
    const char *sizes;
    uint64_t runs;      /* the number of winners whose checked run ended normally */
    uint64_t failed;    /* the number of winners whose checked run did not end normally */
    kiln_status status; /* the status of the first checked run that failed */
    const char *which, *why;
} tune_checked;

typedef struct tune_view {
    const kiln_device_info *device;
    cli_choice chosen; /* the params that the user fixed, and the sizes */
    const char *only;  /* the name of the variant, if only one variant is swept */
    const char *size_set;
    kiln_setting *sizes;
    size_t size_count;
    /* the sizes at which answers were verified; NULL means that they were verified at `sizes` */
    const kiln_size_set *small;
    /* the reason why the times are for the small sizes; NULL means that the times are for the default sizes */
    const char *instead;
    cli_list unverifiable; /* the variants that are left out because they are not valid at the sizes `small` */
    kiln_status status;    /* the status with which the sweep ended */
    const char *ended;     /* the reason why the sweep ended early; NULL means that it did not end early */
    bool device_named;     /* true: the user named the device */
    double limit;          /* the time limit in seconds; 0 means no limit */
    bool first;            /* true: the time limit is FIRST_LIMIT */
    uint64_t most;         /* the largest number of configurations; 0 means no limit */
    /* the number of configurations in the search space; UINT64_MAX if this number is not known */
    uint64_t space;
    tune_checked checked;
    bool progress;
    bool announced; /* true: the expected length of the sweep was printed */
    double shown;   /* the time at which the progress line was last drawn, in seconds of the sweep */
} tune_view;

/* If mpirun or srun started this process as a part of a job, joins the job. Returns true if the process has nothing
 * more to do; *code is then its exit code. */
bool tune_join(cli *c, int *code);
/* If the GPUs of the job have several models, waits for the sweeps of all models and shows their results. Used with
 * --json. */
void tune_collect(cli *c);
/* --check (tune_check.c) */
int tune_check(cli *c, const tune_view *view, const kiln_tuning *tuning, tune_checked *checked);
int tune_check_code(const tune_checked *checked);
void tune_check_text(const tune_checked *checked);
json_t *tune_check_json(const tune_checked *checked);
int replay_run(cli *c);                         /* runs kiln tune --replay (replay.c), and returns the exit code */
double tune_seconds(const kiln_result *result); /* returns the time by which results are ranked, in seconds */
void tune_text(cli *c, const tune_view *view, const kiln_tuning *tuning);
void tune_json(cli *c, const tune_view *view, const kiln_tuning *tuning);
/* writes the CSV file, and returns 0 or the exit code */
int tune_csv(cli *c, const kiln_tuning *tuning, const char *path);

#endif
