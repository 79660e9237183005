/* document.h - recorded spaces as JSON documents: reading (truncated files too), writing, converting. recording.h has
 * what a search needs of them. */
#ifndef KILN_SEARCH_DOCUMENT_H
#define KILN_SEARCH_DOCUMENT_H

#include <jansson.h>

#include "base.h"

typedef struct kiln__document {
    json_t *root;
    kiln_format format; /* KILN_FORMAT_T4 or KILN_FORMAT_KERNEL_TUNER */
    bool cut_off;       /* the end of the file is missing: open brackets were closed */
    size_t text_length; /* number of bytes of its text, unpacked */
} kiln__document;

/* Reads the bytes of a file: plain or gzipped, complete or truncated. jansson allocates by malloc. A text that is too
 * large, or that would need too much memory, is KILN_ERROR_UNSUPPORTED before memory is allocated. README.md has the
 * limits. */
kiln_status kiln__document_read(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                                kiln__document *document, kiln_error **error);
kiln_status kiln__document_load(const kiln_allocator *mem, const char *path, kiln__document *document,
                                kiln_error **error);
void kiln__document_free(kiln__document *document);
/* Prints one line per configuration. */
kiln_status kiln__document_print(const kiln__document *document, kiln__text *out, kiln_error **error);
/* Writes the same text to a file, gzipped if its name ends in .gz. */
kiln_status kiln__document_save(const kiln_allocator *mem, const char *path, const kiln__document *document,
                                kiln_error **error);

/* Converts to `format` without loss (convert.c); if it has that format already, returns a new reference. `name` is for
 * messages. */
kiln_status kiln__document_convert(const kiln_allocator *mem, const char *name, const kiln__document *from,
                                   kiln_format format, kiln__document *to, kiln_error **error);

/* Adds tune_params_keys and tune_params to a cache's header: the names in the first result's configuration, and all
 * values of each. Returns false if memory runs out. */
bool kiln__document_describe(json_t *results, json_t *header);
/* The length of a T4 unit of time in seconds; 0: unknown unit. */
double kiln__unit_seconds(const char *name);

/* Unpacks a gzipped file into a temporary file without a name, in $TMPDIR or /tmp, at most `limit` bytes of text
 * (zip.c). The function calls `more` after each piece of packed bytes. If `more` returns false, the function ends with
 * KILN_ERROR_INTERRUPTED. The caller closes *to. *written gets the number of bytes of text. */
kiln_status kiln__gunzip_file(const kiln_allocator *mem, const char *name, int from, uint64_t limit,
                              bool (*more)(void *user, uint64_t bytes), void *user, int *to, uint64_t *written,
                              kiln_error **error);
/* Unpacks gzip data in memory (zip.c): at most `limit` bytes, with room for two more bytes. *cut_off is set if the
 * end is missing. */
kiln_status kiln__gunzip(const kiln_allocator *mem, const char *name, const void *data, size_t length, size_t limit,
                         char **text, size_t *text_length, bool *cut_off, kiln_error **error);
/* Packs a text with gzip. The same text is always packed to the same bytes. */
kiln_status kiln__gzip(const kiln_allocator *mem, const char *text, size_t length, kiln__text *out, kiln_error **error);
#endif
