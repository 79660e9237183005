/* lines.h - reads the lines of a large text in parts, with several threads at once. */
#ifndef KILN_SPARSE_LINES_H
#define KILN_SPARSE_LINES_H

#include <pthread.h>

#include "chars.h"
#include "sparse.h"

enum {
    /* the bytes of the text in a part, about as many as the second-level cache of a core holds */
    KILN__LINES_PART = 256 << 10,
    KILN__LINE_LIMIT = 1 << 12 /* the largest length of a line in bytes */
};

/* A text in memory, or a plain file that is read in parts. The file is not mapped into memory, because the process
 * would end if somebody cut the mapped file short. */
typedef struct kiln__lines {
    const kiln_allocator *mem;
    const char *name;
    const char *text; /* the text in memory; NULL if the text is read from `fd` */
    int fd;
    uint64_t length;
    uint64_t begin; /* the offset of the first line to read */
    /* The members below describe the failure with the smallest place in the text, whichever thread found it. */
    pthread_mutex_t mutex;
    uint64_t failed_at;  /* UINT64_MAX means that there is no failure */
    const char *failure; /* a constant text */
    int failed_errno;    /* the errno of a read that failed, or 0 */
    /* The progress. */
    kiln__patience patience;
    unsigned passes;     /* the number of walks over the whole text */
    uint64_t began;      /* the time at which the work began, on the monotonic clock */
    uint64_t done, told; /* atomic numbers: the bytes of all walks so far, and the time of the last message */
} kiln__lines;

void kiln__lines_init(kiln__lines *lines, const kiln_allocator *mem, const char *name, const char *text, int fd,
                      uint64_t length);
void kiln__lines_close(kiln__lines *lines); /* frees the object; the text and `fd` stay with the caller */
size_t kiln__lines_parts(const kiln__lines *lines);
/* Calls line(user, at, end, place) for each line that begins in the part. The line is passed without its line end.
 * `place` is the offset of the line in the text. The callback may also read *end, which is a zero byte or a newline. */
typedef void (*kiln__line_fn)(void *user, const char *at, const char *end, uint64_t place);
void kiln__lines_walk(kiln__lines *lines, size_t part, kiln__line_fn line, void *user);
/* Records a failure. If there are several failures, keeps the failure with the smallest place. `why` must be a constant
 * text. */
void kiln__lines_fail(kiln__lines *lines, uint64_t place, const char *why);
/* Adds `bytes` to the number of bytes that are done. All bytes together are `all`. Logs the progress, unless the last
 * message is too recent. `began` and the atomic `done` and `told` have the same meaning as in kiln__lines. */
void kiln__say_progress(kiln__patience patience, const char *name, uint64_t began, uint64_t *done, uint64_t *told,
                        uint64_t bytes, uint64_t all);
/* Returns KILN_OK, KILN_ERROR_INTERRUPTED, or the noted failure with its line and column. */
kiln_status kiln__lines_status(kiln__lines *lines, kiln_error **error);

/* ---- numbers ---- Each function reads the number at *at, and moves *at past it and past the blanks before it. The
 * functions are inline, because most of the time for a large file is spent on numbers, and without inlining half of
 * that time was spent on calls. */

/* Returns true if there are only blanks between *at and `end`. */
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
    for (; kiln__is_digit(*digit); digit++) {
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
/* Reads a finite number. Most numbers in files are short and have no exponent. For such a number, the digits and the
 * power of ten are both exact in double precision, so one rounding gives the correct result (W. Clinger, PLDI 1990). */
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
    if (!is_short || (unsigned)((*c | 32) - 'd') < 2) /* the letter e or d begins the exponent of a number */
        return kiln__read_any_float(at, value);
    double number = (double)mantissa / tens[point ? c - point - 1 : 0];
    *value = (float)(*start == '-' ? -number : number);
    *at = c;
    return true;
}
#endif
