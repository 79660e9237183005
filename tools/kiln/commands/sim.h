/* sim.h - the actions of `kiln sim` that are in files of their own. */
#ifndef KILN_COMMANDS_SIM_H
#define KILN_COMMANDS_SIM_H
#include "commands.h"

int sim_env(const cli *c);
int sim_run_program(const cli *c); /* does not return if the program starts */
#endif
