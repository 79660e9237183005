/* judge.h - declarations that the files of `kiln judge` share. */
#ifndef KILN_COMMANDS_JUDGE_H
#define KILN_COMMANDS_JUDGE_H

#include <kiln_judge.h>

#include "commands.h"

#define JUDGE_FOLDER "verdicts" /* the name of the folder of kept verdicts, in the folder of the cache */

typedef struct judge_args {
    cli_engine_args engine;
    cli_run_args run; /* of these options, `kiln judge` uses only the time limit of a launch */
    cli_list candidates, params;
    const char *variant, *against, *store;
    uint64_t seed;
    double budget;
    /* The following members are not options. judge_many() sets them for the process of one judgement. */
    const char *candidate; /* the file to judge */
    bool collected;        /* true: the output is an object for judge_many(), with the keys kind, json and page */
    bool digest;           /* true: only a digest is computed, and the output has the keys digest and folder */
} judge_args;

/* Judges one candidate on one device, in a sandbox if the system has one. Returns the exit code. */
int judge_alone(cli *c);
/* Computes the digest of one judgement. No kernel runs, so no sandbox is needed. */
int judge_digest(cli *c);
/* Judges all candidates on all devices, each pair of candidate and device in a separate process. Returns the worst exit
 * code. */
int judge_many(cli *c);
/* Returns the exit code for a verdict; kiln_judgement_kind() gives the `kind` of the verdict. */
int judge_exit_code(int kind);

#endif
