/* cases.c - makes kernels from the table: expands the alternatives, finds the operands, and writes the PTX. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { GROUPS = 16, TEXT = 4096 };

typedef struct row {
    conf_kind kind;
    const char *prelude, *body;
} row;

static const row rows[] = {
#define CASE(kind, prelude, body) {CONF_##kind, prelude, body},
#include "cases.def"
#undef CASE
};

static _Noreturn void broken(const char *what, const char *text)
{
    fprintf(stderr, "conformance: cases.def: %s: %s\n", what, text);
    exit(2);
}

void *conf_alloc(size_t bytes)
{
    void *data = calloc(1, bytes ? bytes : 1);
    if (!data) {
        fprintf(stderr, "conformance: out of memory\n");
        exit(2);
    }
    return data;
}

static char *copy_text(const char *text)
{
    const size_t length = strlen(text) + 1;
    return memcpy(conf_alloc(length), text, length);
}

/* ---- alternatives ---- */

typedef struct group {
    const char *first, *after; /* the text between < and > */
    int count, chosen;
} group;

static int find_groups(const char *body, group groups[GROUPS])
{
    int count = 0;
    for (const char *at = body; (at = strchr(at, '<')); at++) {
        const char *after = strchr(at, '>');
        if (!after)
            broken("< without >", body);
        if (at[1] == '=')
            continue;
        if (count == GROUPS)
            broken("too many groups", body);
        group *g = &groups[count++];
        *g = (group){.first = at + 1, .after = after, .count = 1};
        for (const char *c = at + 1; c < after; c++)
            g->count += *c == ',';
    }
    return count;
}

static size_t choice(const group *g, const char **text)
{
    const char *at = g->first;
    for (int i = 0; i < g->chosen; i++)
        at = (const char *)memchr(at, ',', (size_t)(g->after - at)) + 1;
    const char *end = memchr(at, ',', (size_t)(g->after - at));
    *text = at;
    return (size_t)((end ? end : g->after) - at);
}

static void append(char *out, size_t *used, const char *text, size_t length)
{
    if (*used + length >= TEXT)
        broken("too long", text);
    memcpy(out + *used, text, length);
    *used += length;
    out[*used] = 0;
}

static void expand(const char *body, const group *groups, int count, char *out)
{
    size_t used = 0;
    int next = 0;
    out[0] = 0;
    for (const char *at = body; *at; at++) {
        if (*at != '<') {
            append(out, &used, at, 1);
            continue;
        }
        const int which = at[1] == '=' ? atoi(at + 2) : next++;
        if (which >= count)
            broken("no such group", body);
        const char *text;
        const size_t length = choice(&groups[which], &text);
        append(out, &used, text, length);
        at = strchr(at, '>');
    }
}

/* ---- operands ---- */

static int type_bits(const char *type)
{
    static const struct {
        const char *name;
        int bits;
    } types[] = {
        {"pred", 1},    {"b8", 8},     {"u8", 8},     {"s8", 8},   {"b16", 16}, {"u16", 16}, {"s16", 16},
        {"f16", 16},    {"bf16", 16},  {"b32", 32},   {"u32", 32}, {"s32", 32}, {"f32", 32}, {"f16x2", 32},
        {"bf16x2", 32}, {"u16x2", 32}, {"s16x2", 32}, {"b64", 64}, {"u64", 64}, {"s64", 64}, {"f64", 64},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0)
            return types[i].bits;
    broken("no such type", type);
}

/* Finds the type that follows the @ at `at`: a name or the number of a group, with an optional w. Returns the text
 * after the type. */
static const char *read_type(const char *at, const group *groups, int count, char type[8])
{
    const bool wide = *at == 'w';
    const char *text = at += wide;
    size_t length = 0;
    if (isdigit((unsigned char)*at)) {
        if (*at - '0' >= count)
            broken("no such group", at);
        length = choice(&groups[*at - '0'], &text);
        at++;
        if (length && *text == '.')
            text++, length--;
    } else {
        while (isalnum((unsigned char)*at))
            at++;
        length = (size_t)(at - text);
    }
    if (length >= 8)
        broken("not a type", text);
    memcpy(type, text, length);
    type[length] = 0;
    if (wide)
        snprintf(type + 1, 7, "%d", 2 * type_bits(type));
    return at;
}

static const char *read_operand(const char *at, const group *groups, int count, conf_case *each)
{
    conf_operand operand = {.letter = *at};
    at = read_type(at + 2, groups, count, operand.type);
    operand.bits = type_bits(operand.type);
    operand.reg = operand.bits == 8 ? 16 : operand.bits;
    conf_is_float(operand.type, &operand.exponent, &operand.mantissa);
    if (*at == '!' || *at == '&') {
        operand.reg = operand.bits == 64 || *at == '&' ? 64 : 32;
        at++;
    }
    if (*at == '#')
        for (size_t i = 0; isalnum((unsigned char)*++at) && i < sizeof operand.pool - 1; i++)
            operand.pool[i] = *at;
    const bool out = strchr("DEGHOPQR", operand.letter) != NULL;
    conf_operand *list = out ? each->outputs : each->inputs;
    int *used = out ? &each->output_count : &each->input_count;
    for (int i = 0; i < *used; i++)
        if (list[i].letter == operand.letter)
            return at;
    if (*used == (out ? CONF_OUTPUTS : CONF_INPUTS))
        broken("too many operands", at);
    list[(*used)++] = operand;
    return at;
}

/* Reads the operands and their types from `text`. In the case's body, registers have already replaced them. */
static void read_operands(const char *text, const group *groups, int count, conf_case *each)
{
    char body[TEXT];
    size_t used = 0;
    for (const char *at = text; *at;) {
        if (isupper((unsigned char)*at) && at[1] == '@' && (at == text || !isalnum((unsigned char)at[-1]))) {
            append(body, &used, "%", 1);
            append(body, &used, at, 1);
            at = read_operand(at, groups, count, each);
        } else {
            append(body, &used, at++, 1);
        }
    }
    each->body = copy_text(body);
}

/* ---- the suite ---- */

/* Adds a case for each combination of the alternatives in a row of cases.def. `room` is the allocated length of the
 * list. */
static void add_row(conf_suite *suite, size_t *room, const row *r)
{
    group groups[GROUPS] = {0};
    const int count = find_groups(r->body, groups);
    for (int g = 0; g < GROUPS;) {
        if (suite->count == *room) {
            *room = *room ? *room * 2 : 1024;
            suite->cases = realloc(suite->cases, *room * sizeof *suite->cases);
            if (!suite->cases)
                broken("out of memory", "");
        }
        char text[TEXT];
        conf_case *each = &suite->cases[suite->count++];
        *each = (conf_case){.prelude = copy_text(r->prelude),
                            .kind = r->kind,
                            .tuples = r->kind == CONF_MMA    ? CONF_MATRIX_TUPLES
                                      : r->kind > CONF_BITS  ? CONF_APPROX_TUPLES
                                      : r->kind == CONF_BITS ? CONF_BITS_TUPLES
                                                             : CONF_TUPLES};
        expand(r->body, groups, count, text);
        each->name = copy_text(text);
        read_operands(text, groups, count, each);
        for (g = 0; g < count && ++groups[g].chosen == groups[g].count; g++)
            groups[g].chosen = 0;
        if (g == count)
            return;
    }
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void conf_suite_make(conf_suite *suite)
{
    size_t room = 0;
    *suite = (conf_suite){0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_row(suite, &room, &rows[i]);
    char **names = conf_alloc(suite->count * sizeof *names);
    for (size_t i = 0; i < suite->count; i++)
        names[i] = suite->cases[i].name;
    qsort(names, suite->count, sizeof *names, by_name);
    for (size_t i = 1; i < suite->count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            broken("the same case twice", names[i]);
    free(names);
}

void conf_suite_free(conf_suite *suite)
{
    for (size_t i = 0; i < suite->count; i++) {
        free(suite->cases[i].name);
        free(suite->cases[i].prelude);
        free(suite->cases[i].body);
    }
    free(suite->cases);
}

/* ---- PTX ---- */

static void put(FILE *out, const char *text, size_t number)
{
    for (; *text; text++) {
        if (*text == '$')
            fprintf(out, "%zu", number);
        else
            fputc(*text, out);
    }
}

void conf_object(const conf_case *each, char name[CONF_OBJECT])
{
    const char *at = strstr(each->body, "%x_");
    size_t length = 0;
    for (at = at ? at + 3 : ""; isalnum((unsigned char)at[length]) || at[length] == '_'; length++)
        if (length + 1 == CONF_OBJECT)
            broken("the object's name is too long", each->body);
        else
            name[length] = at[length];
    name[length] = 0;
}

/* Writes the kernel of a case: registers, addresses of inputs and outputs, the loads of the operands, the body, the
 * stores. */
static void put_kernel(FILE *out, const conf_case *each, size_t number)
{
    char object[CONF_OBJECT];
    conf_object(each, object);
    put(out, each->prelude, number);
    put(out,
        "\n.visible .entry k$(.param .u64 in, .param .u64 out, .param .u64 scratch, .param .align 16 .b8 block$[32]",
        number);
    put(out, object[0] ? ", .param .u64 object)\n{\n" : ")\n{\n", number);
    if (object[0])
        fprintf(out, "  .reg .b64 %%x_%s; ld.param.u64 %%x_%s, [object];\n", object, object);
    put(out,
        "  .reg .b16 %h<10>; .reg .b32 %t<10>, %tx, %id, %lane, %i0; .reg .b64 %u<10>, %g, %gb, %s, %l, %in, %out, "
        "%i1;\n"
        "  .reg .pred %p<10>;\n  .shared .align 16 .b8 sh$[8192];\n",
        number);
    if (strstr(each->body, "%l") != NULL)
        put(out, "  .local .align 16 .b8 lo$[64];\n  mov.u64 %l, lo$;\n", number);
    for (int i = 0; i < each->input_count + each->output_count; i++) {
        const conf_operand *o = i < each->input_count ? &each->inputs[i] : &each->outputs[i - each->input_count];
        if (o->reg == 1)
            fprintf(out, "  .reg .pred %%%c;\n", o->letter);
        else
            fprintf(out, "  .reg .b%d %%%c;\n", o->reg, o->letter);
    }
    put(out,
        "  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u64 %gb, [scratch];\n"
        "  mov.u32 %tx, %tid.x; mov.u32 %i0, %ctaid.x; mov.u32 %lane, %laneid;\n"
        "  mad.lo.u32 %id, %i0, 128, %tx; mad.wide.u32 %g, %id, 64, %gb; mad.wide.u32 %gb, %i0, 8192, %gb;\n"
        "  mov.u64 %s, sh$; mad.wide.u32 %s, %tx, 64, %s;\n",
        number);
    fprintf(out, "  mad.wide.u32 %%in, %%id, %d, %%in; mad.wide.u32 %%out, %%id, %d, %%out;\n", CONF_INPUTS * 8,
            CONF_OUTPUTS * 8);
    for (int i = 0; i < each->input_count; i++) {
        const conf_operand *o = &each->inputs[i];
        if (o->reg == 1)
            fprintf(out, "  ld.global.b32 %%i0, [%%in+%d]; and.b32 %%i0, %%i0, 1; setp.ne.b32 %%%c, %%i0, 0;\n", i * 8,
                    o->letter);
        else
            fprintf(out, "  ld.global.b%d %%%c, [%%in+%d];\n", o->reg, o->letter, i * 8);
    }
    fputs("  ", out);
    put(out, each->body, number);
    fputc('\n', out);
    for (int i = 0; i < each->output_count; i++) {
        const conf_operand *o = &each->outputs[i];
        if (o->reg == 1)
            fprintf(out, "  selp.b32 %%i0, 1, 0, %%%c; st.global.b32 [%%out+%d], %%i0;\n", o->letter, i * 8);
        else
            fprintf(out, "  st.global.b%d [%%out+%d], %%%c;\n", o->reg, i * 8, o->letter);
    }
    fputs("  ret;\n}\n", out);
}

char *conf_module(const conf_suite *suite, const size_t *cases, size_t count)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        broken("out of memory", "");
    bool groups = false; /* instructions that only compute capability 9.0 has need a separate target */
    for (size_t i = 0; i < count; i++)
        groups |= strstr(suite->cases[cases[i]].body, "wgmma") != NULL;
    fprintf(out, ".version 9.0\n.target sm_90%s\n.address_size 64\n", groups ? "a" : "");
    for (size_t i = 0; i < count; i++)
        put_kernel(out, &suite->cases[cases[i]], cases[i]);
    if (fclose(out))
        broken("out of memory", "");
    return text;
}
