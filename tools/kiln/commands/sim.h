/* sim.h - the actions of `kiln sim` that are in files of their own. */
#ifndef KILN_COMMANDS_SIM_H
#define KILN_COMMANDS_SIM_H
#include "commands.h"

int sim_env(const cli *c);
int sim_run_program(const cli *c); /* does not return if the program takes this process's place */

/* sim_profile.c: the files that the simulated device's libcuda writes for the processes of a program (engine/sim/model/PROGRAMS.md). */
typedef struct sim_end { /* how the program ended */
    int code, signal;    /* signal: 0: none, and the code counts */
} sim_end;
/* Shows the profiles in the files; `end` NULL: not known. False: none of them could be read; it was said why. */
bool sim_profile_show(const cli *c, const cli_list *files, const sim_end *end);
/* Joins the traces into one file. False: it was said why. */
bool sim_trace_join(const cli_list *files, int to);
#endif
