/* replay.h - kiln tune --replay (replay.c), which tune.c calls. */
#ifndef KILN_CLI_REPLAY_H
#define KILN_CLI_REPLAY_H

#include "commands.h"

int replay_run(cli *c); /* the exit code */

#endif
