/* text_internal.h - the lines of source files, for output that shows them (profile/text.c). */
#ifndef KILN_PLAN_TEXT_INTERNAL_H
#define KILN_PLAN_TEXT_INTERNAL_H

#include "plan.h"

typedef struct kiln__source_text {
    const char *name, *text;
    const char **lines;
    size_t line_count;
} kiln__source_text;
typedef struct kiln__sources {
    kiln__source_text *files;
    size_t count;
} kiln__sources;
/* splits the text of a file into lines; the name and the text of `file` must be set */
void kiln__source_split(kiln__source_text *file, kiln__arena *arena);
/* returns "" if the file has no such line */
const char *kiln__source_line(const kiln__source_text *file, unsigned line, kiln__arena *arena);
/* Reads the source of the plan and its headers. If a file cannot be read, the output shows its lines only by number. */
kiln__sources kiln__sources_read(kiln_plan *plan, kiln__arena *arena);
const char *kiln__sources_line(const kiln__sources *from, const char *file, unsigned line, kiln__arena *arena);

#endif
