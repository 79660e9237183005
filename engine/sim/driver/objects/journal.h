/* journal.h - a JSON array on disk that is complete after each write. So no element is lost, however the process
 * ends. */
#ifndef KILN_SIM_CUDA_JOURNAL_H
#define KILN_SIM_CUDA_JOURNAL_H

#include <sys/types.h>

#include "base.h"

typedef struct sim_journal {
    char *path; /* path of the file, or NULL if the journal is not open */
    off_t end;  /* offset in the file at which the next element goes */
} sim_journal;

/* Creates the file of a journal. In `path`, %p stands for the number of the process. `child` means that the process is
 * a fork of a process that already has the file. If `path` has %p, or in a child, the file is always new: if it exists,
 * the name gets the suffix .2, .3 and so on. In other cases the function replaces an existing file. On failure prints a
 * message on stderr and returns false. */
bool sim_journal_open(sim_journal *journal, const char *path, bool child);
/* Adds an element. Returns the offset of the element in the file. Returns 0 if it wrote nothing. If the write fails,
 * prints a line on stderr and closes the journal. */
off_t sim_journal_add(sim_journal *journal, const kiln__text *element);
/* Overwrites the beginning of the element at the offset `at` with the text `element`. The old element must be at least
 * as long as the new text. */
void sim_journal_put(sim_journal *journal, off_t at, const kiln__text *element);
void sim_journal_close(sim_journal *journal);

/* Adds a text as a JSON string. Bytes that are not valid UTF-8 become U+FFFD. */
void sim_json_string(kiln__text *out, const char *text);
#endif
