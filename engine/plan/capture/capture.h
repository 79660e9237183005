/* capture.h - private to capture.c, which takes contents, and capture_spec.c, which writes the spec to them. */
#ifndef KILN_PLAN_CAPTURE_H
#define KILN_PLAN_CAPTURE_H

#include "plan_internal.h"

typedef struct kiln__captured {
    const char *file; /* its content before the launch; NULL: as the spec says */
    const char *want; /* an output's content after it */
    bool held;        /* `before` is kept until it is known whether it is needed */
    kiln_array before;
} kiln__captured;

/* The params on which a value depends, through lets and inputs. */
typedef struct kiln__origins {
    bool *params, *lets, *inputs;
} kiln__origins;

struct kiln__capture {
    kiln_plan *plan;
    kiln__arena arena;
    kiln__capture_order order;
    const char *name;           /* the spec's, as the name of a file */
    const char *work;           /* the folder while it is written */
    uint64_t bytes;             /* of contents, including later ones */
    kiln__captured *buffers;    /* variant->buffer_count */
    bool *replaced;             /* inputs that are replaced by their exports */
    kiln__origins fixed;        /* params for whose current value only the captured data is valid */
    const kiln__export **taken; /* exports that have a buffer's content */
    size_t taken_count;
    kiln__text notes; /* lines at the head of the spec */
};

/* The file of an input's export, and whether a buffer has been written there. */
const char *kiln__capture_export_file(kiln__capture *c, size_t input, const kiln__export *export);
bool kiln__capture_taken(const kiln__capture *c, const kiln__export *export);
kiln_status kiln__capture_array(kiln__capture *c, const char *file, const kiln_array *array, kiln_error **error);
/* A name for a file in the folder of the capture; in the arena. */
const char *kiln__capture_path(kiln__capture *c, const char *file);
/* Sources, headers, and the spec. */
kiln_status kiln__capture_spec(kiln__capture *c, kiln_error **error);

#endif
