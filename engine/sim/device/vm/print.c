/* print.c - the printf of kernels. The printf accepts the conversions that CUDA's Programming Guide lists under
 * "Formatted Output". A conversion has the fields of C: the flags "#0- +", a width, a precision (each a number or `*`),
 * a size, and one of the types "%cdiouxXpeEfFgGaAs". Every other conversion, above all %n, is printed literally and
 * takes no argument. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vm_print.h"

typedef enum print_size { SIZE_INT, SIZE_CHAR, SIZE_SHORT, SIZE_LONG } print_size;

/* A parsed conversion. Every field has a bound that does not depend on the format string. */
typedef struct print_spec {
    bool left, plus, space, alternative, zero; /* the flags '-', '+', ' ', '#' and '0' */
    bool width_is_argument, precision_is_argument;
    int width;     /* the width of the field, from 0 to VM_PRINT_FIELD_MOST */
    int precision; /* -1 if no precision is given */
    print_size size;
    char type;       /* 0 if the characters are not a conversion */
    uint32_t length; /* number of characters from '%' to the type */
} print_spec;

/* One call of a kernel's printf. */
typedef struct print_call {
    vm_print_reader *read;
    void *user;
    /* `arguments` is the address of the arguments, and `at` is the offset of the next argument */
    uint64_t arguments, at;
    int taken; /* number of arguments that were used so far */
    kiln__text *out;
    size_t start; /* start in `out` of the text of this call */
    bool is_cut;
} print_call;

static bool is_full(const print_call *p) { return p->out->failed || p->out->length - p->start >= VM_PRINT_OUTPUT_MOST; }

static void add_repeated(kiln__text *out, char c, size_t count)
{
    char row[64];
    memset(row, c, sizeof row);
    for (; count > sizeof row; count -= sizeof row)
        kiln__text_add(out, row, sizeof row);
    kiln__text_add(out, row, count);
}

/* Reads the next argument, which has 4 or 8 bytes. */
static bool fetch_argument(print_call *p, uint32_t bytes, uint64_t *value)
{
    uint32_t narrow = 0;
    p->at = (p->at + bytes - 1) & ~(uint64_t)(bytes - 1);
    if (!p->read(p->user, p->arguments + p->at, bytes, bytes == 8 ? (void *)value : (void *)&narrow))
        return false;
    if (bytes == 4)
        *value = narrow;
    p->at += bytes;
    p->taken++;
    return true;
}

/* ---- parsing ---- */

static bool set_flag(print_spec *spec, char c)
{
    switch (c) {
    case '-': return spec->left = true;
    case '+': return spec->plus = true;
    case ' ': return spec->space = true;
    case '#': return spec->alternative = true;
    case '0': return spec->zero = true;
    default: return false;
    }
}

static int add_digit(int number, char c)
{
    number = 10 * number + (c - '0'); /* the number is at most 10 * VM_PRINT_FIELD_MOST + 9, so it does not overflow */
    return number < VM_PRINT_FIELD_MOST ? number : VM_PRINT_FIELD_MOST;
}

/* Reads one more letter of a size. CUDA has h, l and ll; glibc has hh, j, z, t, q and L as well. Like CUDA, the parser
 * accepts any size with any type, but only conversions of integers use the size. Returns false if `c` cannot follow the
 * letters read so far. */
static bool add_size(print_spec *spec, unsigned *letters, char *last, char c)
{
    const bool is_first = *letters == 0, is_doubled = *letters == 1 && *last == c && (c == 'h' || c == 'l');
    switch (c) {
    case 'h': spec->size = is_doubled ? SIZE_CHAR : SIZE_SHORT; break;
    case 'l':
    case 'j':
    case 'z':
    case 't':
    case 'q':
    case 'L': spec->size = SIZE_LONG; break;
    default: return false;
    }
    *last = c;
    ++*letters;
    return is_first || is_doubled;
}

/* Parses the conversion whose '%' is at `address`, in five states that follow each other: flags, width, precision,
 * size, type. The parser reads each character once. spec->type stays 0 if the characters are not a conversion. Returns
 * false after a fault. */
static bool parse_spec(const print_call *p, uint64_t address, print_spec *spec)
{
    enum { FLAGS, WIDTH, PRECISION, SIZE } state = FLAGS;
    unsigned letters = 0;
    bool has_number = false; /* the width or precision of this state has begun */
    char last = 0;
    *spec = (print_spec){.precision = -1, .length = 1};
    for (; spec->length < VM_PRINT_SPEC_MOST; spec->length++) {
        char c;
        if (!p->read(p->user, address + spec->length, 1, &c))
            return false;
        const bool is_star = c == '*' && !has_number && state <= PRECISION, is_digit = c >= '0' && c <= '9';
        if (state == FLAGS && set_flag(spec, c))
            continue;
        if (state <= WIDTH && (is_star || (is_digit && !spec->width_is_argument))) {
            state = WIDTH;
            has_number = true;
            spec->width_is_argument = is_star;
            spec->width = is_star ? 0 : add_digit(spec->width, c);
        } else if (state <= WIDTH && c == '.') {
            state = PRECISION;
            has_number = false;
            spec->precision = 0;
        } else if (state == PRECISION && (is_star || (is_digit && !spec->precision_is_argument))) {
            has_number = true;
            spec->precision_is_argument = is_star;
            spec->precision = is_star ? 0 : add_digit(spec->precision, c);
        } else if (add_size(spec, &letters, &last, c)) {
            state = SIZE;
        } else {
            spec->type = strchr("cdiouxXspeEfFgGaA%", c) ? c : '\0';
            spec->length++;
            return true;
        }
    }
    return true;
}

/* Reads a width or a precision from an argument. A negative width means the flag '-' and the magnitude as the width. A
 * negative precision means that no precision is given (C11 7.21.6.1). */
static bool fetch_fields(print_call *p, print_spec *spec)
{
    uint64_t value;
    if (spec->width_is_argument) {
        if (!fetch_argument(p, 4, &value))
            return false;
        const int64_t width = (int32_t)(uint32_t)value, size = width < 0 ? -width : width;
        spec->left |= width < 0;
        spec->width = size < VM_PRINT_FIELD_MOST ? (int)size : VM_PRINT_FIELD_MOST;
    }
    if (spec->precision_is_argument) {
        if (!fetch_argument(p, 4, &value))
            return false;
        const int32_t precision = (int32_t)(uint32_t)value;
        spec->precision = precision < 0 ? -1 : precision < VM_PRINT_FIELD_MOST ? precision : VM_PRINT_FIELD_MOST;
    }
    return true;
}

/* ---- writing ---- */

/* Writes a number in its field: blanks, `prefix` (a sign or 0x), zeros, `digits`, blanks. If `is_filled` is set, fills
 * the field with zeros instead of blanks. */
static void write_number(kiln__text *out, const print_spec *spec, const char *prefix, size_t zeros, bool is_filled,
                         const char *digits, size_t length)
{
    const size_t least = (size_t)spec->width, used = strlen(prefix) + zeros + length;
    size_t blanks = least > used ? least - used : 0;
    if (is_filled && !spec->left) {
        zeros += blanks;
        blanks = 0;
    }
    if (!spec->left)
        add_repeated(out, ' ', blanks);
    kiln__text_puts(out, prefix);
    add_repeated(out, '0', zeros);
    kiln__text_add(out, digits, length);
    if (spec->left)
        add_repeated(out, ' ', blanks);
}

static const char *sign_of(const print_spec *spec, bool is_negative)
{
    return is_negative ? "-" : spec->plus ? "+" : spec->space ? " " : "";
}

/* Writes an integer or a pointer. The size of the conversion gives the number of bits of `value` that are printed. */
static void write_integer(kiln__text *out, const print_spec *spec, uint64_t value)
{
    const unsigned bits = spec->size == SIZE_CHAR    ? 8
                          : spec->size == SIZE_SHORT ? 16
                          : spec->size == SIZE_INT   ? 32
                                                     : 64;
    const bool is_signed = spec->type == 'd' || spec->type == 'i', is_hex = spec->type == 'x' || spec->type == 'X';
    const unsigned base = is_hex ? 16 : spec->type == 'o' ? 8 : 10;
    const char *figures = spec->type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef", *prefix = "";
    char digits[24]; /* a number of 64 bits has at most 22 octal digits */
    size_t n = sizeof digits;
    value &= UINT64_MAX >> (64 - bits);
    if (is_signed) {
        const bool is_negative = value >> (bits - 1) & 1;
        value = is_negative ? (0 - value) & (UINT64_MAX >> (64 - bits)) : value;
        prefix = sign_of(spec, is_negative);
    } else if (spec->alternative && is_hex && value) {
        prefix = spec->type == 'X' ? "0X" : "0x";
    }
    for (uint64_t rest = value; rest; rest /= base)
        digits[--n] = figures[rest % base];
    const size_t length = sizeof digits - n;
    size_t least = spec->precision < 0 ? 1 : (size_t)spec->precision;
    if (spec->alternative && spec->type == 'o' && least <= length)
        least = length + 1; /* with the flag '#' the first digit is a 0 */
    write_number(out, spec, prefix, least > length ? least - length : 0, spec->zero && spec->precision < 0, digits + n,
                 length);
}

/* Writes the magnitude of a floating-point number by kiln__format(). The function contains its sixteen formats as
 * literals, so the kernel's string is never used as a format. A precision of -1 means that none was given. */
static size_t format_real(char *text, size_t size, const print_spec *spec, double value)
{
    int n = 0;
#define PRINT_REAL(letter, type)                                                                                       \
    case letter:                                                                                                       \
        n = kiln__format(text, size, spec->alternative ? "%#.*" type : "%.*" type, spec->precision, value);            \
        break
    switch (spec->type) {
        PRINT_REAL('e', "e");
        PRINT_REAL('E', "E");
        PRINT_REAL('f', "f");
        PRINT_REAL('F', "F");
        PRINT_REAL('g', "g");
        PRINT_REAL('G', "G");
        PRINT_REAL('a', "a");
        PRINT_REAL('A', "A");
    default: break;
    }
#undef PRINT_REAL
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

static void write_real(kiln__text *out, const print_spec *spec, uint64_t bits)
{
    char digits[VM_PRINT_FIELD_MOST + 352]; /* DBL_MAX has 309 digits before the point */
    char prefix[4];
    double value;
    memcpy(&value, &bits, sizeof value);
    size_t length = format_real(digits, sizeof digits, spec, fabs(value)), skip = 0, n = 0;
    const char *sign = sign_of(spec, signbit(value));
    const bool is_hex = isfinite(value) && (spec->type == 'a' || spec->type == 'A');
    if (*sign)
        prefix[n++] = *sign;
    for (; is_hex && skip < 2 && skip < length; skip++) /* zeros that fill the field come after the 0x */
        prefix[n++] = digits[skip];
    prefix[n] = '\0';
    write_number(out, spec, prefix, 0, spec->zero && isfinite(value), digits + skip, length - skip);
}

/* Adds the string at `address` to the text, or its first `most` bytes, and sets `length`. Returns false after a
 * fault. */
static bool add_string(print_call *p, uint64_t address, size_t most, size_t *length)
{
    char part[256];
    size_t n = 0;
    for (*length = 0; *length < most; ++*length) {
        if (*length == VM_PRINT_OUTPUT_MOST) {
            p->is_cut = true;
            break;
        }
        if (!p->read(p->user, address + *length, 1, &part[n])) {
            kiln__text_add(p->out, part, n);
            return false;
        }
        if (!part[n])
            break;
        if (++n == sizeof part) {
            kiln__text_add(p->out, part, n);
            n = 0;
        }
    }
    kiln__text_add(p->out, part, n);
    return true;
}

/* Writes a string in a field. The function first adds the string to the text, because its length is unknown before.
 * Then it moves the string behind the blanks. If `text` is not NULL, the function writes this string of the host
 * instead of the string at `address`. */
static bool write_string(print_call *p, const print_spec *spec, uint64_t address, const char *text, size_t length)
{
    const size_t begin = p->out->length;
    if (text)
        kiln__text_add(p->out, text, length);
    else if (!add_string(p, address, spec->precision < 0 ? SIZE_MAX : (size_t)spec->precision, &length))
        return false;
    const size_t least = (size_t)spec->width, blanks = least > length ? least - length : 0;
    add_repeated(p->out, ' ', blanks);
    if (!spec->left && blanks && !p->out->failed) {
        memmove(p->out->data + begin + blanks, p->out->data + begin, length);
        memset(p->out->data + begin, ' ', blanks);
    }
    return true;
}

/* Writes a pointer as a hexadecimal number with 0x, or as "(nil)" if the pointer is NULL. The text is the text of
 * glibc, because a GPU's driver also formats on the host. */
static bool write_pointer(print_call *p, print_spec spec, uint64_t value)
{
    if (!value)
        return write_string(p, &spec, 0, "(nil)", 5);
    spec.type = 'x';
    spec.size = SIZE_LONG;
    spec.alternative = true;
    write_integer(p->out, &spec, value);
    return true;
}

static bool write_argument(print_call *p, const print_spec *spec)
{
    uint64_t value = 0;
    const bool is_integer = strchr("diouxXc", spec->type);
    const bool is_long = spec->size == SIZE_LONG && spec->type != 'c';
    if (!fetch_argument(p, is_integer && !is_long ? 4 : 8, &value))
        return false;
    switch (spec->type) {
    case 'c': {
        const char c = (char)(unsigned char)value;
        return write_string(p, spec, 0, &c, 1);
    }
    case 's':
        if (!value)
            return write_string(p, spec, 0, "(null)", spec->precision < 0 || spec->precision >= 6 ? 6 : 0);
        return write_string(p, spec, value, NULL, 0);
    case 'p': return write_pointer(p, *spec, value);
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X': write_integer(p->out, spec, value); return true;
    default: write_real(p->out, spec, value); return true;
    }
}

/* Runs the conversion whose '%' is at *address, and moves *address past it. If the characters are not a conversion,
 * prints only the '%'. The rest follows as plain text. Returns false after a fault. */
static bool run_spec(print_call *p, uint64_t *address)
{
    print_spec spec;
    if (!parse_spec(p, *address, &spec))
        return false;
    const int wanted = spec.width_is_argument + spec.precision_is_argument + (spec.type != '%');
    if (!spec.type || p->taken + wanted > VM_PRINT_ARGUMENTS_MOST) {
        kiln__text_add(p->out, "%", 1);
        ++*address;
        return true;
    }
    *address += spec.length;
    if (!fetch_fields(p, &spec))
        return false;
    if (spec.type != '%')
        return write_argument(p, &spec);
    kiln__text_add(p->out, "%", 1);
    return true;
}

bool vm_print_format(vm_print_reader *read, void *user, uint64_t format, uint64_t arguments, kiln__text *out,
                     int *answer)
{
    print_call p = {.read = read, .user = user, .arguments = arguments, .out = out, .start = out->length};
    *answer = -1;
    if (!format)
        return true;
    for (char c;;) {
        if (!read(user, format, 1, &c))
            return false;
        if (!c)
            break;
        p.is_cut |= is_full(&p);
        if (p.is_cut)
            break;
        if (c != '%') {
            kiln__text_add(out, &c, 1);
            format++;
        } else if (!run_spec(&p, &format)) {
            return false;
        }
    }
    if (p.is_cut)
        kiln__text_printf(out, "\n[the rest of this printf is left out: it prints at most %d bytes]\n",
                          VM_PRINT_OUTPUT_MOST);
    *answer = p.taken;
    return true;
}
