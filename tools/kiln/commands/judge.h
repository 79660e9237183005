/* judge.h - declarations that the files of `kiln judge` share. */
#ifndef KILN_COMMANDS_JUDGE_H
#define KILN_COMMANDS_JUDGE_H

#include <kiln_judge.h>

#include "commands.h"

#define JUDGE_FOLDER "verdicts" /* the folder of kept verdicts in the folder of the cache */

typedef struct judge_args {
    cli_engine_args engine;
    cli_run_args run; /* only the time limit of a launch is used */
    cli_list candidates, params;
    const char *variant, *against, *store;
    uint64_t seed;
    double budget;
    /* The following members are not options. judge_many() sets them for the process of one judgement. */
    const char *candidate; /* the file to judge */
    bool collected;        /* the output is an object for judge_many(): kind, json, page */
    bool digest;           /* only a digest is computed: the output has digest and folder */
} judge_args;

/* Judges one candidate on one device, in a sandbox where that is possible. Returns the exit code. */
int judge_alone(cli *c);
/* Computes the digest of one judgement, without a sandbox because no kernel runs. */
int judge_digest(cli *c);
/* Judges all candidates on all devices, each pair in a process of its own. Returns the worst exit code. */
int judge_many(cli *c);
/* Returns the exit code of a verdict. kiln_judgement_kind() gives its `kind`. */
int judge_exit_code(int kind);

#endif
