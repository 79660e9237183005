/* study.h - the studies of `kiln study`. Each function takes the configuration from the options and returns the exit
 * code. */
#ifndef KILN_CLI_STUDY_H
#define KILN_CLI_STUDY_H

#include "cli.h"

#define STUDIES(X) X(occupancy) X(tiles) X(access) X(transactions) X(carveout)
#define CLI_X(name) int study_##name(cli *c);
STUDIES(CLI_X)
#undef CLI_X

#endif
