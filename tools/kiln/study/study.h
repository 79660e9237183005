/* study.h - the studies of `kiln study`. Each function takes the configuration from the options and returns the exit
 * code. */
#ifndef KILN_CLI_STUDY_H
#define KILN_CLI_STUDY_H

#include "cli.h"

typedef struct study_args {
    cli_choice_args choice;
    cli_run_args run;
    cli_engine_args engine;
    const char *over, *arch, *at_block;
    bool all;
    uint64_t top;
} study_args;

#define STUDIES(X) X(occupancy) X(tiles) X(access) X(transactions) X(carveout)
#define CLI_X(name) int study_##name(cli *c);
STUDIES(CLI_X)
#undef CLI_X

#endif
