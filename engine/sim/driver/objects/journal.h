/* journal.h - a JSON array on disk that is complete after every write, so that no element is lost, however the process
 * ends. */
#ifndef KILN_SIM_CUDA_JOURNAL_H
#define KILN_SIM_CUDA_JOURNAL_H

#include <sys/types.h>

#include "base.h"

typedef struct sim_journal {
    char *path; /* NULL if the journal is not open */
    off_t end;  /* place of the next element */
} sim_journal;

/* Creates the file. In `path`, %p stands for the number of the process. `child` means that the process is a fork of a
 * process that has the file. With %p, and in a child, the file is always new: if the file exists, the name gets the
 * suffix .2, .3 and so on. Otherwise an existing file is replaced. Returns false after a message on stderr. */
bool sim_journal_open(sim_journal *journal, const char *path, bool child);
/* Adds an element and returns its place in the file, in bytes. Returns 0 if nothing was written. If the write fails,
 * prints a line on stderr and closes the journal. */
off_t sim_journal_add(sim_journal *journal, const kiln__text *element);
/* Overwrites the beginning of the element at place `at` with the text `element`. The old element must be at least as
 * long as the text. */
void sim_journal_put(sim_journal *journal, off_t at, const kiln__text *element);
void sim_journal_close(sim_journal *journal);

/* Adds a text as a JSON string; bytes outside UTF-8 become U+FFFD. */
void sim_json_string(kiln__text *out, const char *text);
#endif
