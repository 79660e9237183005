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
int sim_run_program(const cli *c); /* runs a program; does not return if the program replaces this process */

/* Functions of sim_profile.c on the files that the simulated device's libcuda writes for the processes of a program
 * (engine/sim/programs/PROFILE.md). */
typedef struct sim_end { /* how a program ended */
    /* `signal` is the signal that ended the program; 0 means that the program ended with the exit code `code` */
    int code, signal;
} sim_end;
/* Shows the profiles that the files contain. `end` tells how the program ended; NULL means that this is not known.
 * Reports an error and returns false if no file could be read. */
bool sim_profile_show(const cli *c, const cli_list *files, const sim_end *end);
/* Joins the trace files into one file, the descriptor `to`. Returns false after a message if joining fails. */
bool sim_trace_join(const cli_list *files, int to);
#endif
