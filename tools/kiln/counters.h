/* counters.h - what `kiln profile` and `kiln study` share. */
#ifndef KILN_CLI_COUNTERS_H
#define KILN_CLI_COUNTERS_H

#include "cli.h"

typedef struct profile_view {
    const kiln_device_info *device;
    const char *variant, *size_set;
    kiln_setting *params, *sizes;
    size_t param_count, size_count;
} profile_view;

/* Opens what the options say (the simulated device unless one is named) and counts a run of it. 0, or the exit code. */
int profile_run_counted(cli *c, const char *variant, profile_view *view, kiln_profiling **profiling);
void profile_head(cli *c, const profile_view *view);
json_t *profile_head_json(cli *c, const profile_view *view);

json_t *counters_json(const kiln_counters *counters);
double counters_ratio(uint64_t a, uint64_t b);             /* 0 where b is */
const char *counters_share(uint64_t part, uint64_t whole); /* "12.5 %", "" of nothing */
const char *counters_per(uint64_t a, uint64_t b);          /* "4", "" for none */
#endif
