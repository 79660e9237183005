/* tune.h - between tune.c, which sweeps, and tune_show.c, which shows. */
#ifndef KILN_CLI_TUNE_H
#define KILN_CLI_TUNE_H

#include "commands.h"

typedef struct tune_view {
    const kiln_device_info *device;
    cli_choice chosen; /* fixed params and sizes */
    const char *only;  /* the one variant swept, if it is one */
    const char *size_set;
    kiln_setting *sizes;
    size_t size_count;
    const kiln_size_set *small; /* where answers were verified; NULL: at `sizes` */
    const char *instead;        /* why times are of the small sizes and not of the default ones; NULL: they are not */
    cli_list unverifiable;      /* variants that are left out because they do not take these sizes */
    kiln_status status;         /* how the sweep ended */
    const char *ended;          /* why it ended early, NULL if it did not */
    bool device_named;          /* by the user */
    double limit;               /* seconds; 0: none */
    bool first;                 /* the limit is FIRST_LIMIT */
    uint64_t most;              /* configurations; 0: no limit */
    uint64_t space;             /* configurations; UINT64_MAX: not known */
    bool progress;
    bool announced; /* how long it takes was said */
    double shown;   /* when the progress line was drawn last, in seconds of the sweep */
} tune_view;

/* Joins the job that this process was started in, if there is one. True: that was all, with this exit code. */
bool tune_join(cli *c, int *code);
/* Where devices of the job are of several models: shows what all sweeps have found, once this one has ended. With --json. */
void tune_collect(cli *c);
double tune_seconds(const kiln_result *result); /* the time for the ranking */
void tune_text(cli *c, const tune_view *view, const kiln_tuning *tuning);
void tune_json(cli *c, const tune_view *view, const kiln_tuning *tuning);
int tune_csv(cli *c, const kiln_tuning *tuning, const char *path); /* 0, or the exit code */

#endif
