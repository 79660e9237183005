/* study.h - the studies of `kiln study`: each takes the spec's configuration and gives the exit code. */
#ifndef KILN_CLI_STUDY_H
#define KILN_CLI_STUDY_H

#include "counters.h"

int study_occupancy(cli *c); /* study.c */
int study_tiles(cli *c);
int study_access(cli *c); /* study_access.c */
int study_transactions(cli *c);
int study_carveout(cli *c);
#endif
