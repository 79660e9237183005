/* lines.h - the lines of a large text, in parts that several threads read at once. */
#ifndef KILN_SPARSE_LINES_H
#define KILN_SPARSE_LINES_H

#include <pthread.h>

#include "sparse.h"

enum {
    KILN__LINES_PART = 256 << 10, /* bytes of the text in a part: as much as a core's second cache keeps */
    KILN__LINE_LIMIT = 1 << 12    /* bytes of a line */
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

/* ---- numbers: what stands at *at, which moves past it and the blanks before it ----
 * Here, because reading numbers is most of the time that a large file takes, and half of that was calls. */

static inline const char *kiln__skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

/* Nothing but blanks until `end`. */
static inline bool kiln__read_end(const char **at, const char *end)
{
    *at = kiln__skip_blanks(*at);
    return *at == end;
}

static inline bool kiln__read_u64(const char **at, uint64_t *value)
{
    const char *digit = kiln__skip_blanks(*at);
    uint64_t number = 0;
    *at = digit;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        if (number > (UINT64_MAX - 9) / 10)
            return false;
        number = number * 10 + (uint64_t)(*digit - '0');
    }
    if (digit == *at)
        return false;
    *value = number;
    *at = digit;
    return true;
}

bool kiln__read_any_float(const char **at, float *value);
/* A finite number. Short ones without an exponent, as most files have them, at once: both the digits and the power of
 * ten are exact in double precision, so one rounding: W. Clinger, PLDI 1990. */
static inline bool kiln__read_float(const char **at, float *value)
{
    static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *start = kiln__skip_blanks(*at), *c = start + (*start == '-'), *first = c, *point = NULL;
    uint64_t mantissa = 0;
    for (; (unsigned)(*c - '0') < 10 || (*c == '.' && !point); c++)
        if (*c == '.')
            point = c;
        else
            mantissa = mantissa * 10 + (uint64_t)(*c - '0');
    bool is_short = c > first + (point != NULL) && c - first < 16;
    if (!is_short || (unsigned)((*c | 32) - 'd') < 2) /* e or d: an exponent */
        return kiln__read_any_float(at, value);
    double number = (double)mantissa / tens[point ? c - point - 1 : 0];
    *value = (float)(*start == '-' ? -number : number);
    *at = c;
    return true;
}
#endif
