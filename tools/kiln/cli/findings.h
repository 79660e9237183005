/* findings.h - what the checks of the simulated device find, put together by place over one run or many. */
#ifndef KILN_CLI_FINDINGS_H
#define KILN_CLI_FINDINGS_H

#include "cli.h"

#define CLI_FOUND 1 /* the exit code where checks found something that is no note */

typedef struct finding {
    kiln_check_finding f;       /* the first one; its texts live until the command ends */
    uint64_t count, runs, seen; /* seen: the run it was found in last */
    const char *first;          /* that run, NULL: not told yet */
} finding;
typedef struct findings {
    finding *items;
    size_t count, room;
    uint64_t run; /* the one that is going on */
} findings;

int findings_add(void *user, const kiln_check_finding *f); /* a kiln_check_fn; user: findings */
/* The run that went on is over: what was found in it first is marked with its name. */
void findings_next(findings *list, const char *name);
size_t findings_severe(const findings *list);                    /* without notes */
void findings_text(const findings *list, bool notes, bool runs); /* runs: says in how many, and which was the first */
json_t *findings_json(const findings *list);
#endif
