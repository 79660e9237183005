/* sim.h - the actions of `kiln sim` that have files of their own. */
#ifndef KILN_COMMANDS_SIM_H
#define KILN_COMMANDS_SIM_H
#include "commands.h"

typedef struct sim_args {
    const char *device, *trace_to, *output_to, *details_to, *sarif_to, *suppress;
    uint64_t devices;
    bool check, profile, counters, every_launch, page;
} sim_args;

int sim_env(const cli *c);
int sim_run_program(const cli *c); /* does not return if the program replaces this process */

/* sim_profile.c: the files that the simulated device's libcuda writes for the processes of a program
 * (engine/sim/programs/PROFILE.md). */
typedef struct sim_end { /* the way in which the program ended */
    int code, signal;    /* signal 0: the program ended with `code` */
} sim_end;
/* Shows the profiles in the files. `end` is NULL if it is not known how the program ended. Reports an error and
 * returns false if no file could be read. */
bool sim_profile_show(const cli *c, const cli_list *files, const sim_end *end);
/* Joins the traces into one file. Reports an error and returns false if that fails. */
bool sim_trace_join(const cli_list *files, int to);
#endif
