/* lines.c - reads the lines of a large text in parts, and the numbers in a line. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "chars.h"
#include "expr.h"
#include "lines.h"

#define TELL_NS 200000000u /* the shortest time in nanoseconds between two progress messages */

void kiln__lines_init(kiln__lines *lines, const kiln_allocator *mem, const char *name, const char *text, int fd,
                      uint64_t length)
{
    *lines = (kiln__lines){.mem = mem, .name = name, .text = text, .fd = fd, .length = length};
    lines->failed_at = UINT64_MAX;
    lines->passes = 1;
    lines->began = lines->told = kiln__now_ns();
    pthread_mutex_init(&lines->mutex, NULL);
}

void kiln__lines_close(kiln__lines *lines) { pthread_mutex_destroy(&lines->mutex); }

size_t kiln__lines_parts(const kiln__lines *lines)
{
    uint64_t left = lines->length > lines->begin ? lines->length - lines->begin : 0;
    return (size_t)((left + KILN__LINES_PART - 1) / KILN__LINES_PART);
}

static void fail_at(kiln__lines *lines, uint64_t place, const char *why, int number)
{
    pthread_mutex_lock(&lines->mutex);
    if (place < lines->failed_at) {
        lines->failed_at = place;
        lines->failure = why;
        lines->failed_errno = number;
    }
    pthread_mutex_unlock(&lines->mutex);
}

void kiln__lines_fail(kiln__lines *lines, uint64_t place, const char *why) { fail_at(lines, place, why, 0); }

/* Reads at most `room` bytes from the offset `from` of the text. Returns fewer bytes only at the end of the text or
 * after a failure. */
static size_t read_bytes(kiln__lines *lines, uint64_t from, char *to, size_t room)
{
    size_t have = 0;
    while (have < room && from + have < lines->length) {
        size_t want = room - have;
        if (want > lines->length - from - have)
            want = (size_t)(lines->length - from - have);
        ssize_t got = pread(lines->fd, to + have, want, (off_t)(from + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            fail_at(lines, from + have, got < 0 ? "it cannot be read" : "the file was cut short while it was read",
                    got < 0 ? errno : 0);
            break;
        }
        have += (size_t)got;
    }
    return have;
}

/* Calls the caller's function for the lines of `text` that begin before `end`. `text` is the part of the whole text
 * from the offset `place` on, and ends in a zero byte. */
static void walk_text(kiln__lines *lines, const char *text, size_t length, uint64_t place, uint64_t end,
                      kiln__line_fn line, void *user)
{
    for (size_t at = 0; at < length && place + at < end;) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t size = newline ? (size_t)(newline - text) - at : length - at;
        if (size > KILN__LINE_LIMIT) {
            kiln__lines_fail(lines, place + at, "a line of more than 4096 bytes");
            return;
        }
        line(user, text + at, text + at + size, place + at);
        at += size + 1;
    }
}

void kiln__say_progress(kiln__patience patience, const char *name, uint64_t began, uint64_t *done, uint64_t *told,
                        uint64_t bytes, uint64_t all)
{
    uint64_t now = kiln__now_ns(), last = __atomic_load_n(told, __ATOMIC_RELAXED);
    uint64_t sum = __atomic_add_fetch(done, bytes, __ATOMIC_RELAXED);
    if (!patience.log || now < last + TELL_NS ||
        !__atomic_compare_exchange_n(told, &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    double rate = (double)sum / ((double)(now - began) * 1e-9 + 1e-9), left = sum < all ? (double)(all - sum) : 0;
    kiln__logf(patience.log, KILN_LOG_INFO, "reading %s: %.0f %%, %.0f MB/s, %.0f s left", name,
               all ? 100.0 * (double)sum / (double)all : 100.0, rate * 1e-6, left / rate);
}

void kiln__lines_walk(kiln__lines *lines, size_t part, kiln__line_fn line, void *user)
{
    uint64_t from = lines->begin + (uint64_t)part * KILN__LINES_PART, end = from + KILN__LINES_PART;
    end = end < lines->length ? end : lines->length;
    if (kiln__is_stopped(lines->patience))
        return;
    kiln__say_progress(lines->patience, lines->name, lines->began, &lines->done, &lines->told, end - from,
                       lines->length * lines->passes);
    /* also reads the byte before the part, which tells whether a line begins at the start of the part */
    uint64_t read_from = part ? from - 1 : from;
    if (lines->text) {
        const char *first = lines->text + read_from,
                   *newline = part ? memchr(first, '\n', (size_t)(end - read_from)) : NULL;
        if (part && !newline)
            return;
        uint64_t place = part ? (uint64_t)(newline - lines->text) + 1 : from;
        walk_text(lines, lines->text + place, (size_t)(lines->length - place), place, end, line, user);
        return;
    }
    size_t room = (size_t)(end - read_from) + KILN__LINE_LIMIT + 1;
    char *text = kiln__alloc(lines->mem, room + 1);
    if (!text) {
        kiln__lines_fail(lines, from, "out of host memory");
        return;
    }
    size_t got = read_bytes(lines, read_from, text, room);
    text[got] = '\0';
    const char *newline = part ? memchr(text, '\n', got < end - read_from ? got : (size_t)(end - read_from)) : NULL;
    size_t skip = !part ? 0 : newline ? (size_t)(newline - text) + 1 : got;
    walk_text(lines, text + skip, got - skip, read_from + skip, end, line, user);
    kiln__free(lines->mem, text);
}

/* ---- failures ---- */

typedef struct place {
    uint64_t line, column;
} place;

static place find_place(kiln__lines *lines, uint64_t offset)
{
    place found = {1, 1};
    char piece[1 << 14];
    for (uint64_t at = 0; at < offset;) {
        size_t want = offset - at < sizeof piece ? (size_t)(offset - at) : sizeof piece;
        if (lines->text)
            memcpy(piece, lines->text + at, want);
        else
            want = read_bytes(lines, at, piece, want);
        if (want == 0)
            break;
        for (size_t i = 0; i < want; i++) {
            found.column++;
            if (piece[i] == '\n') {
                found.line++;
                found.column = 1;
            }
        }
        at += want;
    }
    return found;
}

kiln_status kiln__lines_status(kiln__lines *lines, kiln_error **error)
{
    uint64_t at = lines->failed_at;
    const char *why = lines->failure;
    if (kiln__is_stopped(lines->patience))
        return kiln__fail(lines->mem, error, KILN_ERROR_INTERRUPTED, "%s: interrupted while it was read", lines->name);
    if (at == UINT64_MAX)
        return KILN_OK;
    if (lines->failed_errno != 0)
        return kiln__fail(lines->mem, error, KILN_ERROR_IO, "%s: %s: %s", lines->name, why,
                          kiln__error_text(lines->failed_errno));
    place found = find_place(lines, at);
    return kiln__fail(lines->mem, error, KILN_ERROR_SPEC, "%s:%" PRIu64 ":%" PRIu64 ": %s", lines->name, found.line,
                      found.column, why);
}

/* ---- numbers ---- */

bool kiln__read_any_float(const char **at, float *value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *start = kiln__skip_blanks(*at), *c = start;
    uint64_t mantissa = 0;
    int digits = 0, exponent = 0;
    bool negative = *c == '-', simple = true;
    *at = start;
    c += *c == '-' || *c == '+';
    for (bool point = false; kiln__is_digit(*c) || (*c == '.' && !point); c++) {
        if (*c == '.') {
            point = true;
            continue;
        }
        simple = simple && mantissa < (UINT64_C(1) << 53) / 10 - 1;
        if (simple)
            mantissa = mantissa * 10 + (uint64_t)(*c - '0');
        exponent -= point;
        digits++;
    }
    if (digits == 0)
        return false;
    if (*c == 'e' || *c == 'E' || *c == 'd' || *c == 'D') { /* Fortran writes a D before the exponent */
        bool down = c[1] == '-';
        const char *digit = c + 1 + (c[1] == '-' || c[1] == '+');
        int written = 0;
        if (*digit < '0' || *digit > '9')
            return false;
        for (; kiln__is_digit(*digit); digit++)
            written = written < 100000 ? written * 10 + (*digit - '0') : written;
        exponent += down ? -written : written;
        c = digit;
    }
    double number;
    if (simple && exponent >= -22 && exponent <= 22) { /* both operands are exact, so there is one rounding (W.
                                                          Clinger, PLDI 1990) */
        number = exponent < 0 ? (double)mantissa / tens[-exponent] : (double)mantissa * tens[exponent];
        number = negative ? -number : number;
    } else {
        char copy[400];
        size_t length = (size_t)(c - start);
        if (length >= sizeof copy)
            return false;
        memcpy(copy, start, length);
        copy[length] = '\0';
        for (char *d = copy; *d; d++)
            *d = *d == 'd' || *d == 'D' ? 'e' : *d;
        number = kiln__parse_double(copy, NULL);
    }
    *value = (float)number;
    *at = c;
    return isfinite(*value);
}
