/* print_grammar.h - makes calls of printf from a grammar of valid and hostile formats, each with the text that it must
 * print. The host's snprintf() is the reference for the valid conversions. It gets a format that this file makes from
 * the fields of the conversion. Bytes from a random generator (test_print.c) or from libFuzzer (fuzz_printf.c) choose
 * the call. */
#ifndef KILN_TESTS_PRINT_GRAMMAR_H
#define KILN_TESTS_PRINT_GRAMMAR_H

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm_print.h"

enum {
    GRAMMAR_FORMAT = 1 << 16, /* the address of the format; the arguments and the strings follow */
    GRAMMAR_ARGUMENTS = 2 << 16,
    GRAMMAR_STRINGS = 3 << 16,
    GRAMMAR_NOWHERE = 9 << 16,
    GRAMMAR_ROOM = 1 << 14,
    GRAMMAR_MOST = 50000, /* so small that no text is cut; test_print.c tests longer texts */
};

typedef struct grammar {
    /* the rest of the bytes that make choices; after the last byte every choice is the first one */
    const unsigned char *bytes;
    size_t left;
    char format[GRAMMAR_ROOM], strings[GRAMMAR_ROOM];
    unsigned char arguments[GRAMMAR_ROOM];
    size_t format_length, string_length, argument_length;
    kiln__text want;
    int taken;     /* arguments */
    bool is_ended; /* nothing may follow in the format */
    bool faults;   /* the last conversion reads a string from memory that does not exist */
} grammar;

static inline unsigned grammar_pick(grammar *g, unsigned choices)
{
    unsigned value = 0;
    for (unsigned k = 0; k < (choices > 256 ? 2 : 1) && g->left; k++, g->left--)
        value = value << 8 | *g->bytes++;
    return value % choices;
}

static inline void grammar_emit(grammar *g, const char *text, size_t length)
{
    if (length > sizeof g->format - 1 - g->format_length)
        abort();
    memcpy(g->format + g->format_length, text, length);
    g->format_length += length;
}

static inline void grammar_argument(grammar *g, const void *value, size_t bytes)
{
    g->argument_length = (g->argument_length + bytes - 1) & ~(bytes - 1);
    memcpy(g->arguments + g->argument_length, value, bytes);
    g->argument_length += bytes;
    g->taken++;
}

/* The fields of a conversion, from which the format for snprintf() is made. */
typedef struct grammar_spec {
    char text[512]; /* the text of the conversion in the kernel's format */
    size_t length;
    char flags[6]; /* the flags, each once */
    int width, precision;
    int stars[2], star_count; /* the values of its `*` */
    const char *size;
    char type;
} grammar_spec;

static inline void grammar_add(grammar_spec *s, const char *text)
{
    size_t n = strlen(text);
    if (s->length + n >= sizeof s->text)
        abort();
    memcpy(s->text + s->length, text, n + 1);
    s->length += n;
}

/* Adds a width or a precision, which is digits, or `*` with an argument. Returns its value before any limit. */
static inline long grammar_number(grammar *g, grammar_spec *s)
{
    static const int stars[] = {0, 1, 7, 24, -1, -9, -24, 300, 5000, INT_MAX, INT_MIN, -5000, 4096, 4097};
    static const char *const texts[] = {
        "1",    "2",    "5",    "8",    "13",         "24",         "60",
        "4096", "4097", "9999", "1000", "2147483647", "4294967301", "99999999999999999999999"};
    if (grammar_pick(g, 4) == 0) {
        const int value = stars[grammar_pick(g, sizeof stars / sizeof *stars)];
        grammar_add(s, "*");
        s->stars[s->star_count++] = value;
        return value;
    }
    const char *text = texts[grammar_pick(g, grammar_pick(g, 8) ? 7 : 14)]; /* mostly small: the output is limited */
    grammar_add(s, text);
    return strlen(text) > 9 ? LONG_MAX : strtol(text, NULL, 10);
}

static inline int grammar_clamp(long number)
{
    return number > VM_PRINT_FIELD_MOST ? VM_PRINT_FIELD_MOST : (int)number;
}

static inline void grammar_flags(grammar *g, grammar_spec *s)
{
    static const char letters[] = "-+ #0";
    const unsigned how = grammar_pick(g, 16), count = how == 15 ? 40 + grammar_pick(g, 100) : how % 6;
    for (unsigned k = 0; k < count; k++) {
        const char one[2] = {letters[grammar_pick(g, 5)], 0};
        grammar_add(s, one);
        if (!strchr(s->flags, one[0]))
            s->flags[strlen(s->flags)] = one[0];
    }
}

/* Adds to the expected text. The format `host` has the flags of the conversion, and `*.*` for width and precision. */
static inline void grammar_expect(grammar *g, const char *host, ...)
{
    va_list list;
    char *text = NULL;
    va_start(list, host);
    const int n = vasprintf(&text, host, list);
    va_end(list);
    if (n < 0)
        abort();
    kiln__text_add(&g->want, text, (size_t)n);
    free(text);
}

/* Writes the format for the host's printf: "%", the flags that are in `allowed`, "*.*", the size and the type. */
static inline const char *grammar_host(const grammar_spec *s, const char *allowed, const char *size, char type,
                                       char *host)
{
    size_t n = 0;
    host[n++] = '%';
    for (const char *f = s->flags; *f; f++)
        if (strchr(allowed, *f))
            host[n++] = *f;
    n += (size_t)sprintf(host + n, "*.*%s%c", size, type);
    return host;
}

static inline void grammar_integer(grammar *g, const grammar_spec *s)
{
    static const uint64_t values[] = {0,
                                      1,
                                      7,
                                      42,
                                      255,
                                      256,
                                      65535,
                                      65536,
                                      0x7f,
                                      0x80,
                                      0x7fff,
                                      0x8000,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      0x7fffffffffffffff,
                                      0x8000000000000000,
                                      UINT64_MAX,
                                      0x123456789abcdef,
                                      01234567};
    char host[32];
    const uint64_t value = values[grammar_pick(g, sizeof values / sizeof *values)];
    if (strchr("jztqlL", *s->size) && *s->size) {
        grammar_argument(g, &value, 8);
        grammar_expect(g, grammar_host(s, "-+ #0", "ll", s->type, host), s->width, s->precision,
                       (unsigned long long)value);
    } else {
        const uint32_t narrow = (uint32_t)value;
        grammar_argument(g, &narrow, 4);
        grammar_expect(g, grammar_host(s, "-+ #0", s->size, s->type, host), s->width, s->precision, narrow);
    }
}

static inline void grammar_real(grammar *g, const grammar_spec *s)
{
    static const double values[] = {
        0,       1,        0.5,   3.14159,  1e10, 1e-10,  1e15, 123456, 999999.5, 0x1.fffffffffffffp+1023,
        DBL_MIN, 4.9e-324, 1e300, INFINITY, NAN,  0.0001, 9.5,  100,    1.0 / 3};
    char host[32];
    double value = values[grammar_pick(g, sizeof values / sizeof *values)];
    value = grammar_pick(g, 2) ? -value : value;
    grammar_argument(g, &value, 8);
    grammar_expect(g, grammar_host(s, "-+ #0", "", s->type, host), s->width, s->precision, value);
}

static inline void grammar_pointer(grammar *g, const grammar_spec *s)
{
    char host[32];
    const uint64_t value = grammar_pick(g, 3) ? 0x7f0012345600ull + grammar_pick(g, 256) : 0;
    grammar_argument(g, &value, 8);
    grammar_expect(g, grammar_host(s, "-0", "", 'p', host), s->width, s->precision, (void *)(uintptr_t)value);
}

/* Chooses a string: one with a terminating 0, one without it that ends at the precision or with a fault, one at an
 * address without memory, or NULL. */
static inline void grammar_string(grammar *g, const grammar_spec *s)
{
    char host[32];
    const unsigned kind = grammar_pick(g, 8), length = grammar_pick(g, 300);
    uint64_t address = 0;
    const char *text = NULL;
    if (kind == 0) {
        grammar_argument(g, &address, 8);
        const char *null = s->precision < 0 || s->precision >= 6 ? "(null)" : "";
        grammar_expect(g, grammar_host(s, "-", "", 's', host), s->width, -1, null);
        return;
    }
    if (length + 1 > sizeof g->strings - g->string_length || kind == 1) { /* the first byte cannot be read */
        address = GRAMMAR_NOWHERE;
        grammar_argument(g, &address, 8);
        g->faults = s->precision != 0;
        if (!g->faults)
            grammar_expect(g, grammar_host(s, "-", "", 's', host), s->width, -1, "");
        return;
    }
    text = g->strings + g->string_length;
    for (unsigned k = 0; k < length; k++)
        /* a % in the string must not act as a conversion */
        g->strings[g->string_length + k] = (char)(k % 7 ? 'a' + k % 26 : '%');
    address = GRAMMAR_STRINGS + g->string_length;
    g->string_length += length;
    const bool is_open = kind == 2; /* the memory ends with the last byte of the string */
    if (is_open)
        memset(g->strings + g->string_length, 'z', sizeof g->strings - g->string_length);
    else
        g->strings[g->string_length++] = '\0';
    grammar_argument(g, &address, 8);
    if (is_open && (s->precision < 0 || (unsigned)s->precision > length)) {
        g->faults = true;
        kiln__text_add(&g->want, text, length); /* the text before the fault */
        return;
    }
    grammar_expect(g, grammar_host(s, "-", "", 's', host), s->width, s->precision, text);
    g->is_ended |= is_open; /* the next string would lie behind this one */
}

static inline void grammar_conversion(grammar *g)
{
    static const char *const sizes[] = {"", "", "", "h", "hh", "l", "ll", "j", "z", "t", "q", "L"};
    static const char types[] = "diouxXcspeEfFgGaA%";
    grammar_spec s = {.precision = -1};
    grammar_add(&s, "%");
    grammar_flags(g, &s);
    if (grammar_pick(g, 2)) {
        const long width = grammar_number(g, &s);
        s.width = grammar_clamp(labs(width));
        if (width < 0 && !strchr(s.flags, '-'))
            s.flags[strlen(s.flags)] = '-';
    }
    if (grammar_pick(g, 2)) {
        grammar_add(&s, ".");
        long precision = grammar_pick(g, 8) ? grammar_number(g, &s) : 0;
        s.precision = precision < 0 ? -1 : grammar_clamp(precision);
    }
    s.size = sizes[grammar_pick(g, sizeof sizes / sizeof *sizes)];
    s.type = types[grammar_pick(g, sizeof types - 1)];
    grammar_add(&s, s.size);
    const char type[2] = {s.type, 0};
    grammar_add(&s, type);
    const bool is_written = s.length > VM_PRINT_SPEC_MOST ||
                            g->taken + s.star_count + (s.type != '%') > VM_PRINT_ARGUMENTS_MOST;
    if (is_written && s.type == '%') /* its last character would begin the next conversion */
        return;
    grammar_emit(g, s.text, s.length);
    if (is_written) {
        kiln__text_add(&g->want, s.text, s.length);
        return;
    }
    for (int k = 0; k < s.star_count; k++)
        grammar_argument(g, &s.stars[k], 4);
    char host[32];
    const int letter = 'A' + (int)grammar_pick(g, 26);
    switch (s.type) {
    case '%': kiln__text_add(&g->want, "%", 1); break;
    case 'c':
        grammar_argument(g, &letter, 4);
        grammar_expect(g, grammar_host(&s, "-", "", 'c', host), s.width, -1, letter);
        break;
    case 's': grammar_string(g, &s); break;
    case 'p': grammar_pointer(g, &s); break;
    default: (strchr("diouxX", s.type) ? grammar_integer : grammar_real)(g, &s); break;
    }
}

/* Adds text that looks like a conversion, but is not one. It is printed literally. */
static inline void grammar_hostile(grammar *g)
{
    static const char *const middle[] = {"%n",
                                         "%hhn",
                                         "%hn",
                                         "%ln",
                                         "%lln",
                                         "%jn",
                                         "%-5n",
                                         "%*n",
                                         "%.*n",
                                         "%.n",
                                         "%0n",
                                         "%m",
                                         "%#m",
                                         "%S",
                                         "%C",
                                         "%n%n%n%n",
                                         "%w8n",
                                         "%1$d",
                                         "%2$*1$d",
                                         "%'d",
                                         "%Id",
                                         "%y",
                                         "%hhhd",
                                         "%llld",
                                         "%hld",
                                         "%lhd",
                                         "%.-5d",
                                         "%**d",
                                         "%1*d",
                                         "%*1d",
                                         "%*0d",
                                         "%.*.*d",
                                         "%..d",
                                         "%.5.5d",
                                         "%5-d",
                                         "%B",
                                         "%99999999n",
                                         "%-*-*d",
                                         "%\200d",
                                         "%\xff",
                                         "%*****",
                                         "%\t",
                                         "%\n",
                                         "%lln\n",
                                         "%k %n",
                                         "%#0n",
                                         "%2147483648n",
                                         "%h.d",
                                         "%l5d",
                                         "% ,d",
                                         "%********************d",
                                         "%.********************f",
                                         "%-----+++++     #####00000n"};
    static const char *const end[] = {"%", "%5", "%.", "%.7", "%l", "%hh", "%*", "%-", "%*.*", "%#0- +"};
    const unsigned which = grammar_pick(g, sizeof middle / sizeof *middle + 1);
    const char *text = which < sizeof middle / sizeof *middle ? middle[which]
                                                              : end[grammar_pick(g, sizeof end / sizeof *end)];
    g->is_ended |= which == sizeof middle / sizeof *middle;
    grammar_emit(g, text, strlen(text));
    kiln__text_puts(&g->want, text);
}

/* Makes one call, the text that it must print, and the way in which it must end. Free `want` afterwards. */
static inline void grammar_make(grammar *g, const unsigned char *bytes, size_t count)
{
    memset(g, 0, sizeof *g);
    g->bytes = bytes;
    g->left = count;
    const unsigned items = 1 + grammar_pick(g, 48);
    for (unsigned k = 0; k < items && !g->is_ended && !g->faults && g->want.length < GRAMMAR_MOST; k++) {
        const unsigned kind = grammar_pick(g, 8);
        if (kind == 0) {
            const char plain[] = {(char)('a' + grammar_pick(g, 26)), ' ', (char)(128 + grammar_pick(g, 128)), '\n'};
            grammar_emit(g, plain, sizeof plain);
            kiln__text_add(&g->want, plain, sizeof plain);
        } else if (kind == 1) {
            grammar_hostile(g);
        } else {
            grammar_conversion(g);
        }
    }
}

/* Reads memory for the thread that prints. */
static inline bool grammar_read(void *user, uint64_t address, uint32_t bytes, void *to)
{
    const grammar *g = user;
    const struct {
        uint64_t begin, length;
        const void *data;
    } parts[] = {{GRAMMAR_FORMAT, g->format_length + 1, g->format},
                 {GRAMMAR_ARGUMENTS, g->argument_length, g->arguments},
                 {GRAMMAR_STRINGS, g->string_length, g->strings}};
    for (size_t k = 0; k < 3; k++)
        if (address >= parts[k].begin && address + bytes <= parts[k].begin + parts[k].length) {
            memcpy(to, (const char *)parts[k].data + (address - parts[k].begin), bytes);
            return true;
        }
    return false;
}

/* Returns true if vm_print_format() does what the grammar says. Otherwise prints both texts. */
static inline bool grammar_check(grammar *g)
{
    kiln__text got = {0};
    int answer;
    const bool ended = vm_print_format(grammar_read, g, GRAMMAR_FORMAT, GRAMMAR_ARGUMENTS, &got, &answer);
    const bool same = ended == !g->faults && (!ended || answer == g->taken) && got.length == g->want.length &&
                      !got.failed && (!got.length || memcmp(got.data, g->want.data, got.length) == 0);
    if (!same)
        fprintf(stderr, "printf(\"%s\"): %s, %d arguments\n  got:  '%s'\n  want: '%s'\n", g->format,
                ended ? "ended" : "a fault", answer, kiln__text_get(&got), kiln__text_get(&g->want));
    kiln__text_free(&got);
    return same;
}

#endif
