/* findings.h - findings of the simulated device's checks, merged by place over one or more runs. */
#ifndef KILN_CLI_FINDINGS_H
#define KILN_CLI_FINDINGS_H

#include "cli.h"

#define CLI_FOUND 1 /* the exit code if the checks found anything other than notes */

typedef struct finding {
    kiln_check_finding f;       /* the first finding at this place; its texts stay valid until the command ends */
    uint64_t count, runs, seen; /* `seen` is the number of the last run that had this finding */
    const char *first;          /* the name of the first run with this finding; NULL if the name is not known yet */
    cli_list kernels; /* the different kernels that have this finding, for example the instantiations of a template */
} finding;
typedef struct findings {
    finding *items;
    size_t count, room;
    uint64_t run;      /* the current run */
    const char *rules; /* rules for kiln_check_is_suppressed(); NULL means that there are no rules */
    /* number of findings that a rule suppressed, counted before findings of one place are merged */
    uint64_t suppressed;
    uint64_t dropped; /* number of findings that a check could not store */
    bool starved;     /* true: a check ran out of memory, so it may have missed races */
} findings;

/* Adds a finding to the list `user`, a `findings`, as a callback (kiln_check_fn). Two findings of one kind become one
 * entry if they are at the same line of the source. A race has a pair of lines, which must be the same. */
int findings_add(void *user, const kiln_check_finding *f);
/* Ends the current run. Findings that were new in this run get `name` as the name of their first run. */
void findings_next(findings *list, const char *name);
size_t findings_severe(const findings *list); /* returns the number of findings that are not notes */
/* prints the findings; with `runs` also the number of runs of each finding and its first run */
void findings_text(const findings *list, bool notes, bool runs);
json_t *findings_json(const findings *list);

/* ---- findings of programs (findings_file.c) ---- */

/* Adds the findings of a file that a process wrote with KILN_SIM_CHECK_FORMAT=json. Returns false after a message if
 * the file cannot be read or does not have this format. If an element of the file is wrong, the findings before it stay
 * added. */
bool findings_read(findings *list, const char *path);
/* Reads the source lines that the findings name, if the source files exist. If a source is newer than the file
 * `program`, its lines may have moved since the program was built, so the function does not use it. */
void findings_read_sources(findings *list, const char *program);
/* Prints the findings on one screen. If there are few findings, it prints all of them in full; otherwise it prints a
 * table, and the first findings in full. */
void findings_summary(const findings *list);

/* ---- SARIF (findings_sarif.c) ---- */

/* Writes the findings as SARIF 2.1.0 (OASIS), which code hosts show beside the source. The file `program` stands for
 * findings without a source line, because some code hosts refuse results without a place. Returns 0 or the exit
 * code. */
int findings_write_sarif(const cli *c, const findings *list, const char *path, const char *program);

/* Reads the rules of --suppress. Returns false after a message if the file cannot be read, or if a rule begins with a
 * kind that does not exist. */
bool findings_read_rules(findings *list, const char *path);
/* Shortens the name of a kernel to at most `most` characters: first without its parameters, then without its template
 * arguments. */
const char *findings_short_name(const char *name, size_t most);
/* returns the place as a text: "scan.cu:12", "PTX line 40" or "" */
const char *findings_place(const kiln_check_side *side);
#endif
