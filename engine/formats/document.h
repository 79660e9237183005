/* document.h - recorded spaces as JSON documents. A recorded space is a file with the measured times of all
 * configurations of a search space. It has the format of a Kernel Tuner cache file, or the T4 results format of the
 * auto-tuning community. The functions read such files (also truncated ones), write them, and convert one format into
 * the other. The header recording.h declares the form in which a search uses recorded spaces. */
#ifndef KILN_SEARCH_DOCUMENT_H
#define KILN_SEARCH_DOCUMENT_H

#include <jansson.h>

#include "base.h"

typedef struct kiln__document {
    json_t *root;
    kiln_format format; /* KILN_FORMAT_T4 (the T4 results format) or KILN_FORMAT_KERNEL_TUNER */
    bool cut_off;       /* true if the end of the file was missing, so that the reader closed the open brackets */
    size_t text_length; /* the number of bytes of the unpacked text */
} kiln__document;

/* Reads a document from the bytes of a file, which may be packed or truncated. The JSON library jansson allocates the
 * JSON tree with malloc(), and not from `mem`. Returns KILN_ERROR_UNSUPPORTED if the text exceeds its limit, or if the
 * tree will probably need too much memory (README.md has the limits). The caller frees *document with
 * kiln__document_free(). After an error its `root` is NULL. */
kiln_status kiln__document_read(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                                kiln__document *document, kiln_error **error);
kiln_status kiln__document_load(const kiln_allocator *mem, const char *path, kiln__document *document,
                                kiln_error **error);
void kiln__document_free(kiln__document *document);
/* Appends the document to `out` as JSON. Each configuration and each field of the header is on one line. */
kiln_status kiln__document_print(const kiln__document *document, kiln__text *out, kiln_error **error);
/* Writes the document to a file, as kiln__document_print() does. If the name of the file ends in .gz, packs the text
 * with gzip. */
kiln_status kiln__document_save(const kiln_allocator *mem, const char *path, const kiln__document *document,
                                kiln_error **error);

/* Converts a document to `format` without loss (convert.c). If `from` already has this format, to->root is a new
 * reference to its tree. The caller frees both documents. `name` is the name of the file in messages. */
kiln_status kiln__document_convert(const kiln_allocator *mem, const char *name, const kiln__document *from,
                                   kiln_format format, kiln__document *to, kiln_error **error);

/* Adds the members tune_params_keys and tune_params to the header of a Kernel Tuner cache. The first has the names in
 * the configuration of the first result, and the second has all values of each name. Returns false if memory runs
 * out. */
bool kiln__document_describe(json_t *results, json_t *header);
/* Returns a unit of time of the T4 results format in seconds, such as 1e-3 for "ms". Returns 0 if the unit is
 * unknown. */
double kiln__unit_seconds(const char *name);

/* Unpacks a packed file into a temporary file without a name, in $TMPDIR or /tmp (zip.c). Fails if the text has more
 * than `limit` bytes, or if the end of the file is missing. Calls `more` after each piece, with the number of packed
 * bytes in the piece. If `more` returns false, the function fails with KILN_ERROR_INTERRUPTED. On KILN_OK the caller
 * closes *to, and *written is the number of bytes of the text. */
kiln_status kiln__gunzip_file(const kiln_allocator *mem, const char *name, int from, uint64_t limit,
                              bool (*more)(void *user, uint64_t bytes), void *user, int *to, uint64_t *written,
                              kiln_error **error);
/* Unpacks gzip data in memory (zip.c). If the text has more than `limit` bytes, returns KILN_ERROR_UNSUPPORTED. If the
 * end of the data is missing, *text has the part that could be unpacked, and *cut_off is true. The block *text has two
 * more bytes than the text. The caller frees it. */
kiln_status kiln__gunzip(const kiln_allocator *mem, const char *name, const void *data, size_t length, size_t limit,
                         char **text, size_t *text_length, bool *cut_off, kiln_error **error);
/* Packs a text with gzip. Equal texts give equal bytes. */
kiln_status kiln__gzip(const kiln_allocator *mem, const char *text, size_t length, kiln__text *out, kiln_error **error);
#endif
