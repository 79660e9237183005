/* document.h - recorded spaces as JSON documents: reads them (truncated files too), writes and converts them.
 * recording.h declares the form in which a search uses them. */
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

/* Reads the bytes of a file: plain or gzipped, complete or truncated. jansson allocates the tree with malloc(), not
 * from `mem`. The function returns KILN_ERROR_UNSUPPORTED if the text exceeds its limit, or if the tree is estimated to
 * need too much memory (README.md has the limits). The caller frees *document with kiln__document_free(); after an
 * error its `root` is NULL. */
kiln_status kiln__document_read(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                                kiln__document *document, kiln_error **error);
kiln_status kiln__document_load(const kiln_allocator *mem, const char *path, kiln__document *document,
                                kiln_error **error);
void kiln__document_free(kiln__document *document);
/* Appends the document as JSON: each configuration and each field of the header is one line. */
kiln_status kiln__document_print(const kiln__document *document, kiln__text *out, kiln_error **error);
/* Writes the same text to a file, gzipped if its name ends in .gz. */
kiln_status kiln__document_save(const kiln_allocator *mem, const char *path, const kiln__document *document,
                                kiln_error **error);

/* Converts to `format` without loss (convert.c). If `from` has that format already, *to is a new reference to its tree.
 * The caller frees both documents. `name` is for messages. */
kiln_status kiln__document_convert(const kiln_allocator *mem, const char *name, const kiln__document *from,
                                   kiln_format format, kiln__document *to, kiln_error **error);

/* Adds tune_params_keys and tune_params to a cache's header: the names in the first result's configuration, and all
 * values of each. Returns false if memory runs out. */
bool kiln__document_describe(json_t *results, json_t *header);
/* Returns the length of a T4 unit of time in seconds, or 0 if the unit is unknown. */
double kiln__unit_seconds(const char *name);

/* Unpacks a gzipped file into a temporary file without a name, in $TMPDIR or /tmp (zip.c). A file of more than `limit`
 * bytes of text, or a file whose end is missing, is an error. The function calls `more` after each piece, with its
 * number of packed bytes. If `more` returns false, the function ends with KILN_ERROR_INTERRUPTED. After KILN_OK the
 * caller closes *to, and *written is the number of bytes of text. */
kiln_status kiln__gunzip_file(const kiln_allocator *mem, const char *name, int from, uint64_t limit,
                              bool (*more)(void *user, uint64_t bytes), void *user, int *to, uint64_t *written,
                              kiln_error **error);
/* Unpacks gzip data in memory (zip.c). More than `limit` bytes of text are KILN_ERROR_UNSUPPORTED. If the end of the
 * data is missing, *text has the part that could be unpacked, and *cut_off is true. *text has room for two more bytes;
 * the caller frees it. */
kiln_status kiln__gunzip(const kiln_allocator *mem, const char *name, const void *data, size_t length, size_t limit,
                         char **text, size_t *text_length, bool *cut_off, kiln_error **error);
/* Packs a text with gzip. The same text is always packed to the same bytes. */
kiln_status kiln__gzip(const kiln_allocator *mem, const char *text, size_t length, kiln__text *out, kiln_error **error);
#endif
