/* signature.c - reads the parameters of a kernel from its PTX (PTX ISA, section "Kernel and Function Directives:
 * .entry"), and converts values to the parameters' types. If no driver is loaded, only the PTX tells the types of the
 * parameters. */
#include <math.h>
#include <string.h>

#include "chars.h"
#include "signature.h"

/* ---- words of PTX ---- */

/* A position in the PTX, and the current word. */
typedef struct scanner {
    const char *at, *end, *word;
    size_t length;
} scanner;

static bool is_word(char c) { return kiln__is_name_part(c) || c == '$' || c == '%' || c == '.'; }

static void skip_blank(scanner *s)
{
    while (s->at < s->end) {
        if (kiln__is_space(*s->at)) {
            s->at++;
        } else if (*s->at == '/' && s->end - s->at > 1 && s->at[1] == '/') {
            while (s->at < s->end && *s->at != '\n')
                s->at++;
        } else if (*s->at == '/' && s->end - s->at > 1 && s->at[1] == '*') {
            s->at += 2;
            while (s->at < s->end && !(*s->at == '*' && s->end - s->at > 1 && s->at[1] == '/'))
                s->at++;
            s->at = s->end - s->at > 1 ? s->at + 2 : s->end;
        } else {
            return;
        }
    }
}

const char *kiln__ptx_skip_quoted(const char *at, const char *end)
{
    const char *close = memchr(at + 1, '"', (size_t)(end - at - 1));
    return close ? close + 1 : end;
}

/* Reads the next word, quoted text, or single character of punctuation. A word that begins with a dot ends at the next
 * dot, because an assembler accepts `.visible.entry`. Returns false at the end. */
static bool read_word(scanner *s)
{
    skip_blank(s);
    if (s->at >= s->end)
        return false;
    s->word = s->at;
    if (*s->at == '"') {
        s->at = kiln__ptx_skip_quoted(s->at, s->end);
    } else if (is_word(*s->at)) {
        const bool directive = *s->at++ == '.';
        while (s->at < s->end && is_word(*s->at) && !(directive && *s->at == '.'))
            s->at++;
    } else {
        s->at++;
    }
    s->length = (size_t)(s->at - s->word);
    return true;
}

static bool is_text(const scanner *s, const char *text)
{
    return s->length == strlen(text) && memcmp(s->word, text, s->length) == 0;
}

static bool parse_number(const scanner *s, uint32_t *value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->length; i++) {
        if (s->word[i] < '0' || s->word[i] > '9' || sum > 1u << 20)
            return false;
        sum = sum * 10 + (unsigned)(s->word[i] - '0');
    }
    *value = (uint32_t)sum;
    return s->length > 0;
}

/* Reads a type such as ".u64". */
static bool parse_type(const scanner *s, kiln__param_type *type)
{
    if (s->length < 3 || s->word[0] != '.' || !strchr("usfb", s->word[1]))
        return false;
    uint32_t bits;
    scanner digits = {.word = s->word + 2, .length = s->length - 2};
    if (!parse_number(&digits, &bits) || (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128))
        return false;
    type->kind = s->word[1];
    type->bytes = bits / 8;
    return true;
}

/* ---- the list of parameters ---- */

/* A parameter with its name. */
typedef struct named {
    const char *name;
    size_t length;
    kiln__param_type type;
} named;

/* Reads one parameter, from after `.param` up to the comma or parenthesis after it. */
static bool read_param(scanner *s, named *param)
{
    bool typed = false;
    memset(param, 0, sizeof *param);
    while (read_word(s)) {
        if (is_text(s, ",") || is_text(s, ")"))
            return typed && param->name;
        if (is_text(s, ".align")) {
            uint32_t align;
            if (!read_word(s))
                return false;
            if (!param->type.pointer &&
                /* the number after .ptr is the alignment of the memory to which the parameter points */
                parse_number(s, &align))
                param->type.align = align;
        } else if (is_text(s, ".ptr")) {
            param->type.pointer = true;
        } else if (is_text(s, "[")) {
            uint32_t count;
            if (!typed || param->type.array || !read_word(s) || !parse_number(s, &count) ||
                count > (1u << 20) / param->type.bytes || !read_word(s) || !is_text(s, "]"))
                return false;
            param->type.array = true;
            param->type.bytes *= count;
        } else if (s->word[0] == '.') {
            typed |= parse_type(s, &param->type); /* any word that is not a type is the state space of a pointer */
        } else if (typed && !param->name) {
            param->name = s->word;
            param->length = s->length;
        } else {
            return false;
        }
    }
    return false;
}

/* ---- which parameters are pointers ----
 *
 * NVRTC declares pointers as .u64. If the body loads a parameter and converts the value to the address of a state space
 * (cvta), the parameter was a pointer. Bodies of kernels are long, but each register is assigned once, and both
 * instructions are near the start. So two searches suffice, and they end as soon as all parameters are resolved. */

typedef struct loaded { /* a register that holds the value of parameter number `param` */
    const char *name;
    size_t length, param;
} loaded;

/* Finds the next instruction that begins with `opcode`. After the call the scanner is behind the opcode. */
static bool find_instruction(scanner *s, const char *opcode)
{
    const char *found = s->at < s->end ? memmem(s->at, (size_t)(s->end - s->at), opcode, strlen(opcode)) : NULL;
    if (!found)
        return false;
    s->at = found;
    return read_word(s);
}

/* Finds the next instruction of the current body that begins with `opcode`. A body ends at the first brace at the start
 * of a line, because nested blocks are indented. */
static bool find_in_body(scanner *s, const char *opcode)
{
    const char *from = s->at;
    return find_instruction(s, opcode) && !memmem(from, (size_t)(s->word - from), "\n}", 2);
}

/* Marks the parameters that the body uses as pointers. */
static void find_pointers(const scanner *from, named *params, size_t count)
{
    enum { KEPT = 256 };
    loaded registers[KEPT];
    size_t kept = 0, wanted = 0, found = 0;
    scanner s = *from;
    for (size_t i = 0; i < count; i++)
        wanted += params[i].type.bytes == 8;
    while (kept < KEPT && kept < wanted && find_in_body(&s, "ld.param.")) {
        if (!read_word(&s))
            break;
        loaded one = {.name = s.word, .length = s.length};
        if (!read_word(&s) || !is_text(&s, ",") || !read_word(&s) || !is_text(&s, "[") || !read_word(&s))
            continue;
        while (one.param < count &&
               (params[one.param].length != s.length || memcmp(params[one.param].name, s.word, s.length) != 0))
            one.param++;
        if (one.param < count && params[one.param].type.bytes == 8)
            registers[kept++] = one;
    }
    s = *from;
    while (found < kept && find_in_body(&s, "cvta.")) {
        if (!read_word(&s) || !read_word(&s) || !is_text(&s, ",") || !read_word(&s))
            continue;
        for (size_t i = 0; i < kept; i++) {
            kiln__param_type *type = &params[registers[i].param].type;
            if (registers[i].length == s.length && memcmp(registers[i].name, s.word, s.length) == 0 && !type->pointer) {
                type->pointer = true;
                found++;
            }
        }
    }
}

static kiln_status fail_broken(const kiln__arena *arena, const char *symbol, kiln_error **error)
{
    return kiln__fail(arena->mem, error, KILN_ERROR_INTERNAL,
                      "the parameters of kernel '%s' cannot be read from its PTX", symbol);
}

/* Reads the list of parameters of an entry, and marks its pointers. */
static kiln_status read_entry(kiln__arena *arena, scanner *s, const char *symbol, kiln__signature *signature,
                              kiln_error **error)
{
    named *params = NULL;
    size_t count = 0, capacity = 0;
    kiln_status status = KILN_OK;
    if (!read_word(s) || !is_text(s, "("))
        return KILN_OK; /* an entry without a list has no parameters */
    while (read_word(s) && !is_text(s, ")")) {
        if (!kiln__grow(arena->mem, &params, &capacity, count + 1, sizeof *params)) {
            status = kiln__fail_memory(error);
            goto done;
        }
        if (!is_text(s, ".param") || !read_param(s, &params[count]) || params[count].type.bytes == 0) {
            status = fail_broken(arena, symbol, error);
            goto done;
        }
        count++;
        if (is_text(s, ")"))
            break;
    }
    if (s->at >= s->end) {
        status = fail_broken(arena, symbol, error);
        goto done;
    }
    find_pointers(s, params, count);
    signature->params = kiln__arena_alloc(arena, (count + 1) * sizeof *signature->params);
    if (!signature->params) {
        status = kiln__fail_memory(error);
        goto done;
    }
    for (size_t i = 0; i < count; i++)
        signature->params[i] = params[i].type;
    signature->count = count;
done:
    kiln__free(arena->mem, params);
    return status;
}

/* Reads the text word by word. A search for `.entry` would also find it in comments and quoted texts. Inline assembly may
 * write any comment, also one that looks like another kernel with other parameters. */
kiln_status kiln__signature_read(kiln__arena *arena, const char *ptx, size_t length, const char *symbol,
                                 kiln__signature *signature, kiln_error **error)
{
    scanner s = {.at = ptx, .end = ptx + length};
    *signature = (kiln__signature){0};
    while (read_word(&s))
        if (is_text(&s, ".entry") && read_word(&s) && is_text(&s, symbol))
            return read_entry(arena, &s, symbol, signature, error);
    return kiln__fail(arena->mem, error, KILN_ERROR_NOT_FOUND, "the compiled code has no kernel '%s'", symbol);
}

/* ---- values ---- */

const char *kiln__param_type_text(const kiln__param_type *type)
{
    if (type->array)
        return "a structure by value";
    if (type->pointer)
        return "a pointer";
    if (type->kind == 'f')
        return type->bytes == 4 ? "a float" : type->bytes == 8 ? "a double" : "a 16-bit float";
    switch (type->bytes) {
    case 1: return "an 8-bit integer";
    case 2: return "a 16-bit integer";
    case 4: return "a 32-bit integer";
    default: return "a pointer or a 64-bit integer";
    }
}

static const char *store_float(const kiln__param_type *type, double value, uint64_t *slot)
{
    if (type->bytes == 8) {
        memcpy(slot, &value, sizeof value);
        return NULL;
    }
    if (type->bytes != 4)
        return "16-bit floats cannot be passed by value; pass a buffer";
    float narrow = (float)value;
    if (isfinite(value) && !isfinite(narrow))
        return "the value is beyond the range of a float";
    memcpy(slot, &narrow, sizeof narrow);
    return NULL;
}

const char *kiln__param_store(const kiln__param_type *type, kiln_value value, uint64_t *slot)
{
    *slot = 0;
    if (type->pointer)
        return "this parameter is a pointer: name a buffer";
    if (type->array)
        return "this parameter is a structure: write {struct: ...} or {bytes: ...}";
    if (value.kind == KILN_TEXT)
        return "a text cannot be passed to a kernel";
    if (type->kind == 'f')
        return store_float(type, value.kind == KILN_FLOAT ? value.as.f : (double)value.as.i, slot);
    if (value.kind == KILN_FLOAT)
        return "this parameter is an integer, but the value is a float; write int(...)";
    if (type->bytes > 8)
        return "integers of more than 64 bits cannot be passed";
    if (type->bytes < 8) {
        int bits = (int)type->bytes * 8;
        if (value.as.i < -((int64_t)1 << (bits - 1)) || value.as.i > ((int64_t)1 << bits) - 1)
            return "the value does not fit";
    }
    *slot = (uint64_t)value.as.i; /* on a little-endian machine the low bytes come first */
    return NULL;
}
