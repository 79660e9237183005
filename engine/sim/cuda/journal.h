/* journal.h - a JSON array on disk that is whole after every write, so that nothing is lost however the process ends. */
#ifndef KILN_SIM_CUDA_JOURNAL_H
#define KILN_SIM_CUDA_JOURNAL_H

#include <sys/types.h>

#include "base.h"

typedef struct sim_journal {
    char *path; /* NULL: not open */
    off_t end;  /* where the next element goes */
} sim_journal;

/* Creates the file. In `path`, %p is the number of the process; the file is new then (.2 and so on is added if there is
 * one), else an old one is replaced. `child`: the process is a fork of one that has the file, and gets its own. False:
 * it says why on stderr. */
bool sim_journal_open(sim_journal *journal, const char *path, bool child);
/* Adds an element; where it is. 0: not written; after a failure, which it says on stderr, the journal is closed. */
off_t sim_journal_add(sim_journal *journal, const kiln__text *element);
/* Overwrites the beginning of an element, which must have been as long. */
void sim_journal_put(sim_journal *journal, off_t at, const kiln__text *element);
void sim_journal_close(sim_journal *journal);

/* Adds a text as a JSON string; bytes outside UTF-8 become U+FFFD. */
void sim_json_string(kiln__text *out, const char *text);
#endif
