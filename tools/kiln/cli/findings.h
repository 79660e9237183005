/* findings.h - findings of the simulated device's checks, collected by place over one run or many. */
#ifndef KILN_CLI_FINDINGS_H
#define KILN_CLI_FINDINGS_H

#include "cli.h"

#define CLI_FOUND 1 /* the exit code if checks found more than notes */

typedef struct finding {
    kiln_check_finding f;       /* the first finding at this place; its texts live until the command ends */
    uint64_t count, runs, seen; /* seen: the last run in which it was found */
    const char *first;          /* the name of the first run; NULL: not known yet */
} finding;
typedef struct findings {
    finding *items;
    size_t count, room;
    uint64_t run; /* the current run */
} findings;

int findings_add(void *user, const kiln_check_finding *f); /* a kiln_check_fn; user: findings */
/* Ends the current run: findings that were new in it get its name. */
void findings_next(findings *list, const char *name);
size_t findings_severe(const findings *list);                    /* number of findings that are not notes */
void findings_text(const findings *list, bool notes, bool runs); /* runs: with the number of runs and the first one */
json_t *findings_json(const findings *list);
#endif
