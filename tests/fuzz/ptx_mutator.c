/* ptx_mutator.c - mutations of PTX text for libFuzzer. Changed bytes seldom make a new instruction that parses, so
 * most mutations work on lines. A mutation drops, doubles or moves a line. Or it inserts an instruction of a random
 * form of ops.def, with the registers and names that are declared there. */
#include "ptx_mutator.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak)); /* absent without libFuzzer */

enum { FORMS_MOST = 64 };
typedef struct opcode {
    const char *text, *forms[FORMS_MOST];
} opcode;
static const opcode opcodes[] = {
#define OP(name, text, decode, class, cost, effect, since, ...) {text, {__VA_ARGS__}},
#include "ops.def"
#undef OP
};

enum { SIZES = 5, PLACES = 8, NAME = 24 };
typedef struct maker {
    uint32_t state;
    char text[512];
    size_t length;
    const char *types[4];
    unsigned type_count, vector, coordinates, steps;
    struct {
        char name[NAME];
        unsigned count;
    } regs[SIZES];             /* predicates, then registers of at most 2, 4, 8 and 16 bytes */
    char places[PLACES][NAME]; /* names of variables and parameters */
    unsigned place_count;
} maker;

static uint32_t pick(maker *m, uint32_t below)
{
    m->state = m->state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(m->state >> 8) * below >> 24);
}

static void say(maker *m, const char *format, ...) KILN__PRINTF(2, 3);
static void say(maker *m, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int wrote = vsnprintf(m->text + m->length, sizeof m->text - m->length, format, arguments);
    va_end(arguments);
    m->length += wrote > 0 && (size_t)wrote < sizeof m->text - m->length ? (size_t)wrote : 0;
}

static const char *type_named(const char *text, size_t length)
{
    for (unsigned k = PTX_PRED; k < PTX_TYPE_COUNT; k++)
        if (strlen(ptx_type_name((ptx_type)k)) == length && memcmp(ptx_type_name((ptx_type)k), text, length) == 0)
            return ptx_type_name((ptx_type)k);
    return NULL;
}

/* Writes one of the alternatives of a slot such as "rn|rz?". */
static void make_suffix(maker *m, const char *slot, size_t length)
{
    bool optional = slot[length - 1] == '?';
    length -= optional;
    if (slot[0] == '@') /* the form names the target that it needs, which is no suffix */
        return;
    if (optional && pick(m, 3) == 0)
        return;
    uint32_t count = 1;
    for (size_t k = 0; k < length; k++)
        count += slot[k] == '|';
    for (uint32_t skip = pick(m, count); skip; skip--) {
        size_t bar = strcspn(slot, "|") + 1;
        slot += bar, length -= bar;
    }
    size_t end = 0;
    while (end < length && slot[end] != '|' && slot[end] != '#' && slot[end] != '@')
        end++;
    say(m, ".%.*s", (int)end, slot);
    const char *type = type_named(slot, end);
    if (type && m->type_count < 4)
        m->types[m->type_count++] = type;
    static const struct {
        const char *name;
        unsigned coordinates, steps;
    } geometries[] = {{"1d", 1, 1},  {"2d", 2, 2},   {"3d", 4, 4},   {"a1d", 2, 1},
                      {"a2d", 4, 2}, {"cube", 4, 4}, {"acube", 4, 4}};
    for (size_t k = 0; k < KILN__COUNT(geometries); k++)
        if (strlen(geometries[k].name) == end && memcmp(geometries[k].name, slot, end) == 0)
            m->coordinates = geometries[k].coordinates, m->steps = geometries[k].steps;
    if (end == 2 && slot[0] == 'v')
        m->vector = (unsigned)(slot[1] - '0');
}

static unsigned bytes_of(const char *type)
{
    for (unsigned k = 0; k < PTX_TYPE_COUNT; k++)
        if (strcmp(ptx_type_name((ptx_type)k), type) == 0)
            return k == PTX_PRED ? 0 : ptx_type_bytes((ptx_type)k);
    return 4;
}

static unsigned size_of(unsigned bytes)
{
    return bytes == 0 ? 0 : bytes <= 2 ? 1 : bytes <= 4 ? 2 : bytes <= 8 ? 3 : 4;
}

static void make_register(maker *m, unsigned bytes)
{
    unsigned n = size_of(bytes), count = m->regs[n].count;
    say(m, "%%%s%u", m->regs[n].name, pick(m, count < 12 ? count : 12));
}

static void make_value(maker *m, const char *type)
{
    static const char *const numbers[] = {
        "0",    "1",  "-1",  "2",          "16",         "31",         "32",
        "33",   "64", "255", "0x7fffffff", "0x80000000", "0xffffffff", "0x8000000000000000",
        "4096", "7"};
    bool real = type[0] == 'f' && bytes_of(type) >= 4 && !strchr(type, 'x');
    if (real)
        say(m, "%s", pick(m, 2) ? "0f7f800000" : pick(m, 2) ? "0f80000001" : "0f7fc00001");
    else
        say(m, "%s", numbers[pick(m, KILN__COUNT(numbers))]);
}

static void make_vector(maker *m, unsigned count, unsigned bytes, bool sinks)
{
    for (unsigned k = 0; k < count; k++) {
        say(m, k ? ", " : "{");
        if (sinks && pick(m, 5) == 0)
            say(m, "_");
        else
            make_register(m, bytes);
    }
    say(m, "}");
}

static void make_address(maker *m)
{
    static const char *const offsets[] = {"", "", "", "+4", "+8", "+16", "-4", "+1", "+64", "+1048576"};
    say(m, "[");
    if (m->place_count && pick(m, 2))
        say(m, "%s", m->places[pick(m, m->place_count < PLACES ? m->place_count : PLACES)]);
    else
        say(m, "%%%s%u", m->regs[pick(m, 4) ? 3 : 2].name, pick(m, 8)); /* these registers mostly hold pointers */
    say(m, "%s]", offsets[pick(m, KILN__COUNT(offsets))]);
}

/* Writes the second destination, such as the predicate of "%r1|%p2". */
static void make_second(maker *m)
{
    say(m, "|");
    if (pick(m, 6))
        make_register(m, 0);
    else
        say(m, "_");
}

static void make_operand(maker *m, const char *spec, size_t length)
{
    static const char *const movable[] = {"sh",     "gl",      "lo",       "fn",           "fmt",         "dyn",
                                          "%tid.x", "%laneid", "%clock64", "%globaltimer", "%lanemask_lt"};
    char kind = *spec++, name[16] = "b32";
    bool second = memchr(spec, '|', length - 1), maybe = length > 2 && spec[length - 2] == '?';
    size_t end = strcspn(spec, "|? ");
    if (*spec == '~')
        spec++, end--;
    unsigned elements = m->vector;
    if (*spec == '*') { /* "*4:b32" */
        elements = (unsigned)strtoul(spec + 1, NULL, 10);
        end -= strcspn(spec, ":") + 1;
        spec += strcspn(spec, ":") + 1;
    }
    bool wide = spec[0] == 'w' && spec[1] >= '0' && spec[1] <= '3';
    if (wide)
        spec++;
    if (*spec >= '0' && *spec <= '3')
        snprintf(name, sizeof name, "%s", m->types[*spec - '0'] ? m->types[*spec - '0'] : "b32");
    else if (end && end < sizeof name)
        snprintf(name, sizeof name, "%.*s", (int)end, spec);
    unsigned bytes = bytes_of(name) << wide;
    switch (kind) {
    case 'd':
    case 'D':
    case 'r':
    case 'Y':
        if (kind == 'D' && pick(m, 4) == 0)
            say(m, "_");
        else
            make_register(m, bytes);
        if (second && (!maybe || pick(m, 2)))
            make_second(m);
        break;
    case 'p':
        say(m, pick(m, 3) ? "" : "!");
        make_register(m, 0);
        break;
    case 's':
    case 'm':
    case 'y':
        if (kind == 'm' && pick(m, 3) == 0)
            say(m, "%s", movable[pick(m, KILN__COUNT(movable))]);
        else if (bytes && pick(m, 3) == 0)
            make_value(m, name);
        else
            make_register(m, bytes);
        break;
    case 'i': make_value(m, name); break;
    case 'V':
    case 'v':
        if (elements > 1)
            make_vector(m, elements, bytes, kind == 'V');
        else
            make_register(m, bytes < 16 && pick(m, 4) == 0 ? 8 : bytes);
        break;
    case 'X':
    case 'x': {
        unsigned count = pick(m, 2) ? 2 : 4;
        make_vector(m, count, bytes / count, kind == 'X');
        break;
    }
    case 'o': {
        static const unsigned handles[] = {6, 6, 6, 9, 1};
        say(m, "[%%%s%u", m->regs[3].name, handles[pick(m, KILN__COUNT(handles))]);
        if (m->coordinates)
            say(m, ", ");
        if (m->coordinates)
            make_vector(m, m->coordinates, 4, false);
        say(m, "]");
        break;
    }
    case 'g': make_vector(m, m->steps, 4, false); break;
    case 'a': make_address(m); break;
    case 'l': say(m, "L%u", pick(m, 4)); break;
    case 'Q': /* scales of A and B, and their selectors */
        for (unsigned side = 0; side < 2; side++) {
            say(m, side ? ", " : "");
            make_register(m, 4);
            say(m, ", {%u, %u}", pick(m, 5), pick(m, 5));
        }
        break;
    case 't': say(m, "T0"); break;
    default:
        say(m, "(");
        make_register(m, 4);
        say(m, "), fn, (");
        make_register(m, 4);
        say(m, ")");
        break;
    }
}

static void make_instruction(maker *m)
{
    const opcode *op = &opcodes[pick(m, KILN__COUNT(opcodes))];
    uint32_t count = 0;
    while (count < FORMS_MOST && op->forms[count])
        count++;
    /* the suffix "shared::cta" has colons too */
    const char *form = op->forms[pick(m, count)], *colon = strstr(form, " :");
    if (pick(m, 4) == 0)
        say(m, "@%s%%%s%u ", pick(m, 2) ? "!" : "", m->regs[0].name, pick(m, m->regs[0].count));
    say(m, "%s", op->text);
    for (const char *p = form; p < colon;) {
        size_t length = strcspn(p, " ");
        if (length)
            make_suffix(m, p, length);
        p += length + (p + length < colon);
    }
    for (const char *p = colon + 2, *comma = " "; *p;) {
        size_t length = strcspn(p, " ");
        if (length && p[length - 1] == '?' && p[length - 2] != 'p' && pick(m, 3) == 0)
            break;
        if (length) {
            say(m, "%s", comma);
            make_operand(m, p, length);
            comma = ", ";
        }
        p += length + (p[length] == ' ');
    }
    say(m, ";\n");
}

static size_t word_at(const uint8_t *data, size_t size, size_t at)
{
    size_t end = at;
    while (end < size && (data[end] == '_' || data[end] == '$' || (data[end] >= '0' && data[end] <= '9') ||
                          ((data[end] | 32) >= 'a' && (data[end] | 32) <= 'z')))
        end++;
    return end - at;
}

static size_t spaces_at(const uint8_t *data, size_t size, size_t at)
{
    size_t end = at;
    while (end < size && (data[end] == ' ' || data[end] == '\t'))
        end++;
    return end - at;
}

/* Learns the declarations ".reg .b32 %r<12>" and ".b8 name[64]" before `at`. If there are several, it keeps the last
 * ones, which belong to the function around `at`. */
static void learn(maker *m, const uint8_t *data, size_t at)
{
    static const char *const usual[SIZES] = {"p", "h", "r", "d", "q"};
    for (unsigned n = 0; n < SIZES; n++) {
        snprintf(m->regs[n].name, NAME, "%s", usual[n]);
        m->regs[n].count = n == 4 ? 4 : n < 2 ? 8 : 12;
    }
    m->place_count = 0;
    for (const uint8_t *dot = data; (dot = memchr(dot, '.', at - (size_t)(dot - data))) != NULL; dot++) {
        size_t from = (size_t)(dot - data) + 1, length = word_at(data, at, from);
        const char *type = type_named((const char *)data + from, length);
        if (!type)
            continue;
        from += length;
        length = spaces_at(data, at, from);
        if (!length)
            continue;
        from += length;
        bool reg = from < at && data[from] == '%';
        from += reg;
        length = word_at(data, at, from);
        if (!length || length >= NAME || from + length >= at)
            continue;
        char next = (char)data[from + length];
        if (reg && next == '<') {
            unsigned n = size_of(bytes_of(type)), count = 0;
            for (size_t k = from + length + 1; k < at && data[k] >= '0' && data[k] <= '9' && count < 1000; k++)
                count = count * 10 + (unsigned)(data[k] - '0');
            snprintf(m->regs[n].name, NAME, "%.*s", (int)length, (const char *)data + from);
            m->regs[n].count = count ? count : 1;
        } else if (!reg && strchr("[,);=\n", next)) {
            snprintf(m->places[m->place_count++ % PLACES], NAME, "%.*s", (int)length, (const char *)data + from);
        }
    }
}

/* Returns the start of a random line. */
static size_t some_line(maker *m, const uint8_t *data, size_t size)
{
    size_t at = pick(m, (uint32_t)(size ? size : 1));
    while (at > 0 && data[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const uint8_t *data, size_t size, size_t at)
{
    while (at < size && data[at] != '\n')
        at++;
    return at < size ? at + 1 : size;
}

/* Returns the start of a random line that is probably inside a function. To be sure it would have to read the whole
 * text, which costs more. */
static size_t some_statement(maker *m, const uint8_t *data, size_t size)
{
    size_t at = 0;
    for (unsigned tries = 0; tries < 8; tries++) {
        at = some_line(m, data, size);
        size_t back = at;
        while (back > 1 && (data[back - 1] != '\n' ||
                            (data[back] != '{' && (data[back] != '}' || back + 1 == size || data[back + 1] != '\n'))))
            back--;
        if (at > 1 && at < size && back > 1 && data[back] == '{' && strchr(";{}:", data[at - 2]))
            break;
    }
    return at;
}

/* Keeps the head, the functions and one kernel of a text with many kernels, because parsing the other kernels again
 * for every mutation costs the most. A kernel begins in column 0 with ".visible .entry" and ends with "}" in column
 * 0. Returns 0 if there is nothing to cut. */
static size_t keep_one_kernel(maker *m, uint8_t *data, size_t size)
{
    static const char head[] = "\n.visible .entry";
    uint32_t count = 0, kept = 0, number = 0;
    size_t to = 0;
    for (size_t at = 0; at + sizeof head <= size; at++)
        count += memcmp(data + at, head, sizeof head - 1) == 0;
    if (count < 2)
        return 0;
    kept = pick(m, count);
    for (size_t at = 0; at < size;) {
        bool entry = at + sizeof head <= size && memcmp(data + at, head, sizeof head - 1) == 0;
        if (entry && number++ != kept) {
            while (at < size && !(data[at] == '\n' && at + 1 < size && data[at + 1] == '}'))
                at++;
            at = at + 2 < size ? at + 2 : size;
        } else {
            data[to++] = data[at++];
        }
    }
    return to;
}

static size_t mutate(maker *m, uint8_t *data, size_t size, size_t most)
{
    uint32_t what = pick(m, 16);
    if (what == 0)
        return LLVMFuzzerMutate(data, size, most);
    size_t at = some_line(m, data, size), end = line_end(data, size, at);
    m->length = 0;
    if (what < 4) { /* drops the line */
        memmove(data + at, data + end, size - end);
        return size - (end - at);
    }
    if (what < 6) { /* moves a line to another place */
        m->length = end - at < sizeof m->text ? end - at : sizeof m->text;
        memcpy(m->text, data + at, m->length);
    } else {
        m->type_count = m->vector = m->coordinates = 0;
        memset(m->types, 0, sizeof m->types);
        at = some_statement(m, data, size);
        learn(m, data, at);
        make_instruction(m);
    }
    if (size + m->length > most)
        return size;
    if (what < 6)
        at = some_statement(m, data, size);
    memmove(data + at + m->length, data + at, size - at);
    memcpy(data + at, m->text, m->length);
    return size + m->length;
}

static bool parses(const uint8_t *data, size_t size)
{
    ptx_module *ptx;
    kiln__text log = {0};
    bool fine = ptx_parse(NULL, (const char *)data, size, &ptx, &log) == PTX_OK;
    if (fine)
        ptx_free(NULL, ptx);
    kiln__text_free(&log);
    return fine;
}

/* Makes several mutations. A mutation is undone if the text no longer parses, because fuzz_ptx covers such texts. */
size_t ptx_mutate(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    enum { TRIES = 12, LARGE = 4096 };
    maker m = {.state = seed * 2654435761u + 1};
    uint8_t *before = malloc(most);
    uint32_t wanted = 1 + pick(&m, 4);
    if (!before)
        return size;
    if (size > LARGE && pick(&m, 16) != 0) {
        memcpy(before, data, size);
        size_t one = keep_one_kernel(&m, data, size);
        if (one && parses(data, one))
            size = one;
        else
            memcpy(data, before, size);
    }
    for (unsigned k = 0; k < TRIES && wanted; k++) {
        memcpy(before, data, size);
        size_t next = mutate(&m, data, size, most);
        if (parses(data, next)) {
            size = next;
            wanted--;
        } else {
            memcpy(data, before, size);
        }
    }
    free(before);
    return size;
}
