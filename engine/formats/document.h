/* document.h - recorded spaces as the JSON documents that they are: read as far as they go, written, turned into each
 * other. recording.h has what a search wants of them. */
#ifndef KILN_SEARCH_DOCUMENT_H
#define KILN_SEARCH_DOCUMENT_H

#include <jansson.h>

#include "base.h"

typedef struct kiln__document {
    json_t *root;
    kiln_format format; /* KILN_FORMAT_T4 or KILN_FORMAT_KERNEL_TUNER */
    bool cut_off;       /* the end is missing: what is there was closed */
    size_t text_length; /* bytes it was read from, unpacked */
} kiln__document;

/* Bytes as they are in the file: plain or gzipped, whole or cut off. jansson takes its memory from malloc. What unpacks to
 * too much text, or text that would take too much memory, is KILN_ERROR_UNSUPPORTED before it takes any: README.md has the
 * limits. */
kiln_status kiln__document_read(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                                kiln__document *document, kiln_error **error);
kiln_status kiln__document_load(const kiln_allocator *mem, const char *path, kiln__document *document,
                                kiln_error **error);
void kiln__document_free(kiln__document *document);
/* A line each configuration. */
kiln_status kiln__document_print(const kiln__document *document, kiln__text *out, kiln_error **error);
/* The same to a file, gzipped where its name ends in .gz. */
kiln_status kiln__document_save(const kiln_allocator *mem, const char *path, const kiln__document *document,
                                kiln_error **error);

/* Into the other format, or a reference to the same; nothing is lost on the way (convert.c). `name` stands in messages. */
kiln_status kiln__document_convert(const kiln_allocator *mem, const char *name, const kiln__document *from,
                                   kiln_format format, kiln__document *to, kiln_error **error);

/* Adds tune_params_keys and tune_params to a cache's header: the names in the first result's configuration, and of each the
 * values that occur. False: no memory. */
bool kiln__document_describe(json_t *results, json_t *header);
/* The length of a T4 unit in seconds; 0: not one. */
double kiln__unit_seconds(const char *name);

/* gunzip (zip.c): at most `limit` bytes, with room for two more behind; *cut_off where the end is missing. */
kiln_status kiln__gunzip(const kiln_allocator *mem, const char *name, const void *data, size_t length, size_t limit,
                         char **text, size_t *text_length, bool *cut_off, kiln_error **error);
/* The same bytes for the same text. */
kiln_status kiln__gzip(const kiln_allocator *mem, const char *text, size_t length, kiln__text *out, kiln_error **error);
#endif
