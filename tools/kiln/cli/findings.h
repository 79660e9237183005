/* findings.h - findings of the simulated device's checks, collected by place over one run or many. */
#ifndef KILN_CLI_FINDINGS_H
#define KILN_CLI_FINDINGS_H

#include "cli.h"

#define CLI_FOUND 1 /* the exit code if checks found more than notes */

typedef struct finding {
    kiln_check_finding f;       /* the first finding at this place; its texts live until the command ends */
    uint64_t count, runs, seen; /* seen: the last run with this finding */
    const char *first;          /* the name of the first run; NULL if it is not known yet */
    cli_list kernels; /* the different kernels with this place: the instantiations of a template, for example */
} finding;
typedef struct findings {
    finding *items;
    size_t count, room;
    uint64_t run;        /* the current run */
    const char *rules;   /* rules for kiln_check_is_suppressed(); NULL means no rules */
    uint64_t suppressed; /* number of findings that a rule suppressed, before places are merged */
    uint64_t dropped;    /* number of findings for which a check had no room */
    bool starved;        /* a check ran out of memory, so races may have been missed */
} findings;

/* Adds a finding (a kiln_check_fn; user: findings). Findings of one kind are one entry if they are at the same line of
 * the source, or at the same pair of lines. */
int findings_add(void *user, const kiln_check_finding *f);
/* Ends the current run. Findings that were new in this run get its name. */
void findings_next(findings *list, const char *name);
size_t findings_severe(const findings *list);                    /* number of findings that are not notes */
void findings_text(const findings *list, bool notes, bool runs); /* runs: with the number of runs and the first run */
json_t *findings_json(const findings *list);

/* ---- findings of programs (findings_file.c) ---- */

/* Adds the findings of a file that a process wrote with KILN_SIM_CHECK_FORMAT=json. Returns false after a message if
 * the file cannot be read or does not have this format. Findings before a wrong element stay added. */
bool findings_read(findings *list, const char *path);
/* Reads the lines of the sources that the findings name, if the files are there. A source that was changed after the
 * program was built has other lines, so a source that is newer than the file `program` gives no text. */
void findings_read_sources(findings *list, const char *program);
/* Prints the findings on one screen: all of them in full if there are few; otherwise a table, and the first in full. */
void findings_summary(const findings *list);

/* ---- SARIF (findings_sarif.c) ---- */

/* Writes the findings as SARIF 2.1.0 (OASIS), which code hosts show beside the source. `program`: the file that stands
 * for findings without a line of a source, because some code hosts refuse results without a place. Returns 0 or the
 * exit code. */
int findings_write_sarif(const cli *c, const findings *list, const char *path, const char *program);

/* Reads the rules of --suppress. Returns false after a message, also if a rule begins with a kind that does not
 * exist. */
bool findings_read_rules(findings *list, const char *path);
/* The name of a kernel in at most `most` characters: without its parameters, then without its template arguments. */
const char *findings_short_name(const char *name, size_t most);
const char *findings_place(const kiln_check_side *side); /* "scan.cu:12", "PTX line 40" or "" */
#endif
