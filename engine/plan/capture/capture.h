/* capture.h - the internal header of capture.c, which takes contents, capture_files.c, which names and writes their
 * files, and capture_spec.c, which writes the spec for them. */
#ifndef KILN_PLAN_CAPTURE_H
#define KILN_PLAN_CAPTURE_H

#include "capture_internal.h"
#include "plan_internal.h"

typedef struct kiln__captured {
    /* the file of the buffer's content before the launch; NULL means that the spec's fill makes this content */
    const char *file;
    const char *want; /* the file of an output's content after the launch */
    bool held;        /* `before` keeps the content before the launch until Kiln knows whether the capture needs it */
    kiln_array before;
} kiln__captured;

/* The params on which a value depends. The value may depend on a param directly, or through lets and inputs. */
typedef struct kiln__origins {
    bool *params, *lets, *inputs;
} kiln__origins;

struct kiln__capture {
    kiln_plan *plan;
    kiln__arena arena;
    kiln__capture_order order;
    const char *name;           /* the spec's name in a form that can be the name of a file */
    const char *work;           /* the path of the hidden folder in which the capture is written */
    uint64_t bytes;             /* the number of bytes of all contents, also of contents that are not written yet */
    kiln__captured *buffers;    /* variant->buffer_count */
    bool *replaced;             /* for each input, true if its captured exports replace the input */
    kiln__origins fixed;        /* the captured data is valid only for the current values of these params */
    const kiln__export **taken; /* the exports that contain the content of a buffer */
    size_t taken_count;
    kiln__text notes; /* comments for the head of the spec */
};

/* kiln__capture_export_file() returns the file of an input's export. kiln__capture_taken() tells whether the content of
 * a buffer is written to this file. */
const char *kiln__capture_export_file(kiln__capture *c, size_t input, const kiln__export *export);
bool kiln__capture_taken(const kiln__capture *c, const kiln__export *export);
kiln_status kiln__capture_array(kiln__capture *c, const char *file, const kiln_array *array, kiln_error **error);
/* Returns the path of a file in the folder of the capture, in the arena. */
const char *kiln__capture_path(kiln__capture *c, const char *file);
/* Writes the sources, the headers and the spec of a capture. */
kiln_status kiln__capture_spec(kiln__capture *c, kiln_error **error);

#endif
