/* form.c - makes an instruction from one form of ops.def, which explains the notation of forms. Each slot and each
 * operand is a random choice among those that the form allows. */
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

enum { FORMS_MOST = 64, TYPES = 4, SPACES = 3, IMMEDIATES = 12 };

static const struct {
    const char *name, *forms[FORMS_MOST], *since;
} rows[PTX_OP_COUNT] = {
#define OP(name, text, decode, class, cost, effect, since, ...) {text, {__VA_ARGS__}, #since},
#include "ops.def"
#undef OP
};

const char *hostile_form(ptx_op op, unsigned form) { return form < FORMS_MOST ? rows[op].forms[form] : NULL; }

unsigned hostile_form_count(ptx_op op)
{
    unsigned count = 0;
    while (count < FORMS_MOST && rows[op].forms[count])
        count++;
    return count;
}

/* The choices that were made in the form so far. */
typedef struct writer {
    hostile_source *source;
    hostile_kernel *kernel;
    kiln__text *code;
    ptx_type types[TYPES];
    char spaces[SPACES]; /* for each state space of the form, the letter of its kind of address */
    unsigned type_count, space_count, vector, coordinates, steps, tiles;
    unsigned address, value, results; /* numbers of operands of each kind so far */
    bool failed;
} writer;

static bool is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static ptx_type type_of(const char *text, size_t length)
{
    for (unsigned k = PTX_PRED; k < PTX_TYPE_COUNT; k++)
        if (is(text, length, ptx_type_name((ptx_type)k)))
            return (ptx_type)k;
    return PTX_NONE;
}

/* Chooses the device that the form or the suffix needs: 9.0, or a later device of the family that ops.def names. */
static void need(writer *x, const char *text)
{
    const int number = atoi(text);
    if (number > 90 && number > x->kernel->cc)
        x->kernel->cc = number == 89 ? 90 : number;
}

/* Notes the facts of a mnemonic's suffix that its operands depend on: types, spaces, number of coordinates. */
static void note_suffix(writer *x, const char *text, size_t length)
{
    static const struct {
        const char *name;
        unsigned coordinates, steps;
    } geometries[] = {{"1d", 1, 1},  {"2d", 2, 2},  {"3d", 4, 4},   {"4d", 4, 4},   {"5d", 5, 5},
                      {"a1d", 2, 1}, {"a2d", 4, 2}, {"cube", 4, 4}, {"acube", 4, 4}};
    static const struct {
        const char *name;
        char kind;
    } spaces[] = {{"global", 'G'}, {"shared", 's'}, {"shared::cta", 's'},  {"shared::cluster", 's'}, {"local", 'l'},
                  {"const", 'c'},  {"param", 'p'},  {"param::entry", 'p'}, {"param::func", 'p'}};
    const ptx_type type = type_of(text, length);
    if (type != PTX_NONE && x->type_count < TYPES)
        x->types[x->type_count++] = type;
    for (size_t k = 0; k < KILN__COUNT(geometries); k++)
        if (is(text, length, geometries[k].name))
            x->coordinates = geometries[k].coordinates, x->steps = geometries[k].steps;
    for (size_t k = 0; k < KILN__COUNT(spaces); k++)
        if (is(text, length, spaces[k].name) && x->space_count < SPACES)
            x->spaces[x->space_count++] = spaces[k].kind;
    if (length == 2 && text[0] == 'v' && text[1] > '0' && text[1] <= '8')
        x->vector = (unsigned)(text[1] - '0');
    if (length >= 6 && memcmp(text, "im2col", 6) == 0)
        x->kernel->mode = is(text, length, "im2col::w")        ? VM_IM2COL_W
                          : is(text, length, "im2col::w::128") ? VM_IM2COL_W128
                                                               : VM_IM2COL;
    if (is(text, length, "tile::gather4") || is(text, length, "tile::scatter4"))
        x->kernel->rows_listed = true;
    for (size_t k = 0; k < KILN__COUNT(geometries); k++)
        if (is(text, length, geometries[k].name))
            x->kernel->geometry = geometries[k].name;
}

/* Writes one of the alternatives of a slot such as "rn|rz?". */
static void write_slot(writer *x, const char *slot, size_t length)
{
    const bool optional = slot[length - 1] == '?';
    length -= optional;
    if (slot[0] == '@') {
        need(x, slot + 1);
        return;
    }
    if (optional && hostile_chance(x->source, 45))
        return;
    uint32_t count = 1;
    for (size_t k = 0; k < length; k++)
        count += slot[k] == '|';
    for (uint32_t skip = hostile_below(x->source, count); skip; skip--) {
        const size_t bar = strcspn(slot, "|") + 1;
        slot += bar, length -= bar;
    }
    size_t end = 0;
    while (end < length && slot[end] != '|' && slot[end] != '@')
        end++;
    if (end < length && slot[end] == '@')
        need(x, slot + end + 1);
    size_t shown = 0;
    while (shown < end && slot[shown] != '#')
        shown++;
    if (end > 5 && memcmp(slot, "m64n8k", 6) == 0) { /* this slot stands for all widths of a warpgroup's tile */
        static const unsigned widths[] = {1, 2, 3, 4, 8, 16, 31, 32};
        x->tiles = widths[hostile_below(x->source, KILN__COUNT(widths))];
        kiln__text_printf(x->code, ".m64n%u%.*s", x->tiles * 8, (int)(end - 5), slot + 5);
        return;
    }
    kiln__text_printf(x->code, ".%.*s", (int)shown, slot);
    note_suffix(x, slot, shown);
}

/* ---- operands ---- */

/* Returns the letter of the registers for operands of this size. multimem takes only registers of exactly that size. */
static const char *class_of(const writer *x, unsigned bytes)
{
    const ptx_op op = x->kernel->op;
    if (bytes == 1 && (op == PTX_OP_MULTIMEM_LD_REDUCE || op == PTX_OP_MULTIMEM_ST || op == PTX_OP_MULTIMEM_RED))
        return "b";
    return bytes == 0 ? "p" : bytes <= 2 ? "h" : bytes <= 4 ? "w" : bytes <= 8 ? "d" : "q";
}

static char next_kind(const char *kinds, unsigned *at)
{
    const size_t length = strlen(kinds);
    const char kind = kinds[*at < length ? *at : length - 1];
    ++*at;
    return kind;
}

/* Writes a source operand: the register that the loop fills from the set. */
static void write_source(writer *x, char kind, unsigned bytes)
{
    const unsigned n = hostile_add_operand(x->kernel, kind, bytes);
    kiln__text_printf(x->code, "%%%s%u", class_of(x, bytes), n);
}

static void write_result(writer *x, unsigned bytes)
{
    if (bytes && bytes <= 8 && x->results < HOSTILE_RESULTS)
        kiln__text_printf(x->code, "%%R%s%u", class_of(x, bytes), x->results++);
    else
        kiln__text_printf(x->code, "%%T%s0", class_of(x, bytes));
}

static void write_address(writer *x)
{
    static const char *const names[][2] = {
        {"s", "s_var"}, {"G", "g_var"}, {"l", "l_var"}, {"c", "c_var"}, {"p", "more"}};
    static const char *const offsets[] = {"",     "",      "",      "",      "+4",        "+16",
                                          "-1",   "-16",   "+8176", "+8192", "+16777216", "+2147483647",
                                          "+255", "-1024", "+48",   "+1"};
    const unsigned place = x->address;
    char kind = next_kind(x->kernel->kind->addresses, &x->address);
    if (kind == '.')
        kind = place < x->space_count ? x->spaces[place] : x->space_count ? x->spaces[x->space_count - 1] : 'g';
    const char *offset = hostile_chance(x->source, 75) ? "" : offsets[hostile_below(x->source, KILN__COUNT(offsets))];
    for (size_t k = 0; k < KILN__COUNT(names); k++)
        if (kind == names[k][0][0] && hostile_chance(x->source, 6)) {
            kiln__text_printf(x->code, "[%s%s]", names[k][1], offset);
            return;
        }
    if (strchr("sb", kind) && !memchr(x->spaces, 's', x->space_count)) /* the instruction names no space */
        kind = kind == 's' ? 'S' : 'B';
    const bool narrow = kind == 'T' || (strchr("sblp", kind) && hostile_chance(x->source, 40));
    kiln__text_puts(x->code, "[");
    write_source(x, kind, narrow ? 4 : 8);
    kiln__text_printf(x->code, "%s]", offset);
}

static void write_list(writer *x, unsigned count, char kind, unsigned bytes)
{
    for (unsigned k = 0; k < count; k++) {
        kiln__text_puts(x->code, k ? ", " : "{");
        write_source(x, kind, bytes);
    }
    kiln__text_puts(x->code, "}");
}

/* Writes a vector operand. All elements of a source are the same register. Only the first element of a result is
 * used. */
static void write_vector(writer *x, unsigned count, unsigned bytes, bool result)
{
    unsigned n = result ? 0 : hostile_add_operand(x->kernel, next_kind(x->kernel->kind->values, &(unsigned){9}), bytes);
    for (unsigned k = 0; k < count; k++) {
        kiln__text_puts(x->code, k ? ", " : "{");
        if (result && x->results < HOSTILE_RESULTS && bytes && bytes <= 8)
            write_result(x, bytes);
        else if (result)
            kiln__text_printf(x->code, "%%T%s%u", class_of(x, bytes), k);
        else
            kiln__text_printf(x->code, "%%%s%u", class_of(x, bytes), n);
    }
    kiln__text_puts(x->code, "}");
}

static ptx_type operand_type(writer *x, const char *text, size_t length, unsigned *bytes)
{
    const bool wide = *text == 'w';
    text += wide, length -= wide;
    const bool digit = length && *text >= '0' && *text <= '9' && (length == 1 || type_of(text, length) == PTX_NONE);
    const unsigned index = digit ? (unsigned)(*text - '0') : 0;
    if (digit && index >= x->type_count)
        x->failed = true;
    const ptx_type type = digit ? (x->failed ? PTX_B32 : x->types[index]) : type_of(text, length);
    *bytes = type == PTX_PRED ? 0 : type == PTX_NONE ? 4 : ptx_type_bytes(type) * (wide ? 2 : 1);
    if (type != PTX_PRED && *bytes == 0)
        *bytes = 1;
    return type;
}

static void write_object(writer *x, char coordinate, unsigned bytes)
{
    kiln__text_puts(x->code, "[");
    write_source(x, 'h', 8);
    if (x->coordinates) {
        kiln__text_puts(x->code, ", ");
        write_list(x, x->coordinates, coordinate, bytes);
    }
    kiln__text_puts(x->code, "]");
}

static void write_immediate(writer *x)
{
    static const unsigned numbers[IMMEDIATES] = {0, 1, 2, 3, 4, 8, 16, 16, 128, 128, 24, 32};
    const ptx_op op = x->kernel->op;
    const unsigned chosen =
        op == PTX_OP_CP_ASYNC            ? numbers[4 + hostile_below(x->source, 4)]
        : op == PTX_OP_ST_BULK           ? 0
        : op == PTX_OP_TCGEN05_MMA       ? hostile_below(x->source, 16)
        : op == PTX_OP_TENSORMAP_REPLACE ? hostile_below(x->source, 5)
        : op == PTX_OP_TENSORMAP_CP_FENCEPROXY || op == PTX_OP_FENCE_PROXY || op == PTX_OP_MEMBAR_PROXY ||
                op == PTX_OP_DISCARD || op == PTX_OP_APPLYPRIORITY
            ? 128
            : numbers[hostile_below(x->source, x->kernel->kind->flags & HOSTILE_WHOLE ? 2 : IMMEDIATES)];
    kiln__text_printf(x->code, "%u", chosen);
}

/* Writes one operand. `word` is the operand in the notation of a form, without its '?': a kind, then a count or a
 * type. */
static void write_operand(writer *x, const char *word, size_t length)
{
    const char kind = *word++;
    unsigned count = 0, bytes = 4;
    length--;
    if (length && *word == '*') {
        char *end;
        count = (unsigned)strtoul(word + 1, &end, 10);
        if (*end == 'n')
            count *= x->tiles, end++;
        end += *end == ':';
        length -= (size_t)(end - word);
        word = end;
    }
    if (length && *word == '~')
        word++, length--;
    const char *bar = memchr(word, '|', length); /* a second destination, a predicate */
    const bool second = bar != NULL;
    if (bar)
        length = (size_t)(bar - word);
    const ptx_type type = length ? operand_type(x, word, length, &bytes) : PTX_NONE;
    switch (kind) {
    case 'd':
    case 'D':
    case 'V':
        if (kind == 'V' && (count || x->vector))
            write_vector(x, count ? count : x->vector, bytes, true);
        else
            write_result(x, bytes);
        if (second)
            kiln__text_puts(x->code, "|%Rp9");
        break;
    case 'v':
        if (count || x->vector)
            write_vector(x, count ? count : x->vector, bytes, false);
        else
            write_source(x, next_kind(x->kernel->kind->values, &x->value), bytes);
        break;
    case 's':
    case 'm':
    case 'r':
    case 'y': {
        const char value = next_kind(x->kernel->kind->values, &x->value);
        /* If matrix A is in tensor memory, tcgen05.mma has one matrix descriptor less. */
        write_source(x, value == 'D' && bytes == 4 ? 'I' : value, bytes);
        break;
    }
    case 'p': write_source(x, 'q', 0); break;
    case 'i': write_immediate(x); break;
    case 'I':
        for (unsigned k = 0; k < count; k++)
            kiln__text_printf(x->code, k ? ", %u" : "%u",
                              k < 2 ? 1u : hostile_below(x->source, 2)); /* scales, layouts */
        break;
    case 'Q': /* scales of A and B, and their selectors */
        for (unsigned side = 0; side < 2; side++) {
            kiln__text_puts(x->code, side ? ", " : "");
            write_source(x, 'v', 4);
            kiln__text_printf(x->code, ", {%u, %u}", 0u, hostile_below(x->source, 2));
        }
        break;
    case 'a': write_address(x); break;
    case 'o': write_object(x, type == PTX_F32 ? 'X' : 'x', 4); break;
    case 'T':
        kiln__text_puts(x->code, "[");
        write_source(x, 'm', 8);
        kiln__text_puts(x->code, ", ");
        write_list(x, x->kernel->rows_listed ? 5 : x->kernel->rank, 'x',
                   4); /* a column and four rows, or coordinates */
        kiln__text_puts(x->code, "]");
        break;
    case 'f': write_list(x, x->kernel->rank - 2, 'x', 2); break;
    case 'g': write_list(x, x->steps, 'x', 4); break;
    default: x->failed = true;
    }
}

/* Returns the number of coordinates of a tensor, which is its number of dimensions. The table above does not fit: it
 * gives four coordinates for a texture of three dimensions. */
static unsigned rank_of(const char *text)
{
    for (unsigned rank = 1; rank <= 5; rank++)
        if (strstr(text, (const char[]){'.', (char)('0' + rank), 'd', '\0'}))
            return rank;
    return 0;
}

bool hostile_write_form(hostile_source *s, hostile_kernel *kernel, kiln__text *code, unsigned *results)
{
    writer x = {.source = s, .kernel = kernel, .code = code, .tiles = 1};
    const char *form = rows[kernel->op].forms[kernel->form], *colon = strstr(form, " :");
    if (strcmp(rows[kernel->op].since, "ANY") != 0)
        need(&x, rows[kernel->op].since);
    if (!colon)
        colon = strchr(form, ':');
    const size_t start = code->length;
    kiln__text_puts(code, rows[kernel->op].name);
    for (const char *at = form; at < colon;) {
        const size_t length = strcspn(at, " ");
        if (length && at + length <= colon)
            write_slot(&x, at, length);
        at += length + 1;
    }
    kernel->rank = rank_of(kiln__text_get(code) + start);
    bool first = true;
    for (const char *at = strchr(colon, ':') + 1; *at;) {
        size_t length = strcspn(at, " ");
        const char *word = at;
        at += length + (at[length] != '\0');
        if (!length)
            continue;
        if (word[length - 1] == '?') {
            length--;
            if (memchr(word, '|', length)) { /* only the second destination is optional */
                if (hostile_chance(s, 50))
                    length = (size_t)((const char *)memchr(word, '|', length) - word);
            } else if (hostile_chance(s, 50)) {
                break;
            }
        }
        kiln__text_puts(code, first ? " " : ", ");
        first = false;
        write_operand(&x, word, length);
    }
    *results = x.results;
    return !x.failed && kernel->operand_count <= HOSTILE_OPERANDS;
}
