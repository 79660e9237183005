/* lines.h - the lines of a large text, in parts that several threads read at once. */
#ifndef KILN_SPARSE_LINES_H
#define KILN_SPARSE_LINES_H

#include <pthread.h>

#include "sparse.h"

enum {
    KILN__LINES_PART = 4 << 20, /* bytes of the text in a part */
    KILN__LINE_LIMIT = 1 << 12  /* bytes of a line */
};

/* A text in memory, or a plain file that is read as it is needed: no mapping, since a file that is cut short under a
 * mapping ends the process. */
typedef struct kiln__lines {
    const kiln_allocator *mem;
    const char *name;
    const char *text; /* NULL: from fd */
    int fd;
    uint64_t length;
    uint64_t begin; /* where the first line is that counts */
    /* The first failure, by its place in the text, whichever thread found it. */
    pthread_mutex_t mutex;
    uint64_t failed_at;  /* UINT64_MAX: none */
    const char *failure; /* a constant text */
    int failed_errno;    /* of reading; 0: none */
    /* Progress */
    kiln__patience patience;
    unsigned passes;     /* how often all of the text is walked */
    uint64_t began;      /* on the monotonic clock */
    uint64_t done, told; /* bytes, of all passes; when it was last said (atomic) */
} kiln__lines;

void kiln__lines_init(kiln__lines *lines, const kiln_allocator *mem, const char *name, const char *text, int fd,
                      uint64_t length);
void kiln__lines_close(kiln__lines *lines); /* text and fd are the caller's */
size_t kiln__lines_parts(const kiln__lines *lines);
/* Calls line(user, at, end, place) for each line that begins in the part, without its end; `place` is its offset in the
 * text. A line may be read until *end, which is a zero or a newline. */
typedef void (*kiln__line_fn)(void *user, const char *at, const char *end, uint64_t place);
void kiln__lines_walk(kiln__lines *lines, size_t part, kiln__line_fn line, void *user);
/* Notes a failure; the one furthest to the front stays. `why` is a constant text. */
void kiln__lines_fail(kiln__lines *lines, uint64_t place, const char *why);
/* Says that `bytes` more of `all` are done, if that was not said a moment ago. `began` and the atomic `done` and `told`
 * as in kiln__lines. */
void kiln__say_progress(kiln__patience patience, const char *name, uint64_t began, uint64_t *done, uint64_t *told,
                        uint64_t bytes, uint64_t all);
/* KILN_OK, or the failure with the line and column of its place; or KILN_ERROR_INTERRUPTED. */
kiln_status kiln__lines_status(kiln__lines *lines, kiln_error **error);

/* ---- numbers: what stands at *at, which moves past it and the blanks before it ---- */
bool kiln__read_u64(const char **at, uint64_t *value);
bool kiln__read_float(const char **at, float *value);  /* finite */
bool kiln__read_end(const char **at, const char *end); /* nothing but blanks until there */
#endif
