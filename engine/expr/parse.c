/* parse.c - turns a text into postfix code in one pass, by precedence climbing. */
#include <stdio.h>
#include <string.h>

#include "chars.h"
#include "code.h"

typedef enum token_kind { TOKEN_END, TOKEN_INT, TOKEN_FLOAT, TOKEN_TEXT, TOKEN_NAME, TOKEN_PUNCTUATION } token_kind;

typedef struct token {
    token_kind kind;
    size_t at, length;
    kiln_value value; /* INT, FLOAT */
} token;

typedef struct parser {
    kiln__arena *arena;
    const char *text;
    size_t length, at; /* at: the offset in `text` after the current token */
    kiln__pos pos;
    unsigned flags;
    const kiln__lists *lists;
    kiln__diag *diag;
    token token;
    bool failed;
    kiln__expr_op *code;
    size_t count, capacity;
    kiln_value *constants;
    size_t constant_count, constant_capacity;
    const char **names;
    uint32_t *name_at;
    size_t name_count, name_capacity;
    /* The last jump target: an offset in `code`. Constants before it must not be folded with constants after it. */
    size_t barrier;
    int stack, nesting;
} parser;

static bool python(const parser *p) { return p->flags & KILN__EXPR_PYTHON; }

#define FAIL_AT(p, offset, ...)                                                                                        \
    do {                                                                                                               \
        if (!(p)->failed && (p)->diag)                                                                                 \
            kiln__diag_add((p)->diag, kiln__expr_place((p)->pos, (p)->text, (p)->length, offset), __VA_ARGS__);        \
        (p)->failed = true;                                                                                            \
    } while (0)

/* Grows an array in the arena. The old copy is freed with the arena. */
static void *grow_array(parser *p, void *old, size_t used, size_t *capacity, size_t size)
{
    if (used < *capacity)
        return old;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    void *fresh = kiln__arena_alloc(p->arena, wanted * size);
    if (!fresh) {
        p->failed = true;
        return NULL;
    }
    if (used)
        memcpy(fresh, old, used * size);
    *capacity = wanted;
    return fresh;
}

/* ---- reading tokens ---- */

size_t kiln__expr_skip(const char *text, size_t at, size_t length)
{
    while (at < length && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
        at++;
    return at;
}

static void lex_radix(parser *p, unsigned radix)
{
    size_t at = p->token.at + 2;
    uint64_t value = 0;
    for (; at < p->length && kiln__is_name_part(p->text[at]); at++) {
        char c = p->text[at];
        unsigned d = kiln__is_digit(c) ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
        if (c == '_' || d >= radix || value > (uint64_t)INT64_MAX / radix) {
            size_t shown = at + 1 - p->token.at;
            FAIL_AT(p, p->token.at, "not a number: '%.*s'", (int)(shown < 40 ? shown : 40), p->text + p->token.at);
            return;
        }
        value = value * radix + d;
    }
    if (at == p->token.at + 2 || value > INT64_MAX)
        FAIL_AT(p, p->token.at, "not a number: '%.*s'", 2, p->text + p->token.at);
    p->token.kind = TOKEN_INT;
    p->token.value = (kiln_value){.kind = KILN_INT, .as.i = (int64_t)value};
    p->at = at;
}

/* Reads a number: an integer in base 10, 16, 8 or 2, or a float with a point or an exponent. Reports an error if the
 * number is malformed, or does not fit an int64_t or a double. */
static void lex_number(parser *p)
{
    const char *text = p->text;
    size_t at = p->token.at;
    if (text[at] == '0' && at + 1 < p->length && strchr("xXbBoO", text[at + 1])) {
        char c = (char)(text[at + 1] | 0x20);
        lex_radix(p, c == 'x' ? 16 : c == 'b' ? 2 : 8);
        return;
    }
    bool is_float = false, overflow = false;
    int64_t value = 0;
    for (; at < p->length && kiln__is_digit(text[at]); at++)
        overflow = overflow || __builtin_mul_overflow(value, 10, &value) ||
                   __builtin_add_overflow(value, text[at] - '0', &value);
    if (at < p->length && text[at] == '.') {
        is_float = true;
        while (++at < p->length && kiln__is_digit(text[at])) {
        }
    }
    if (at < p->length && (text[at] == 'e' || text[at] == 'E')) {
        size_t exponent = at + 1;
        if (exponent < p->length && (text[exponent] == '+' || text[exponent] == '-'))
            exponent++;
        if (exponent < p->length && kiln__is_digit(text[exponent])) {
            is_float = true;
            for (at = exponent; at < p->length && kiln__is_digit(text[at]);)
                at++;
        }
    }
    char room[80];
    size_t length = at - p->token.at;
    if (at < p->length && kiln__is_name_part(text[at])) {
        const bool suffix = strchr("fFuUlL", text[at]) && length < 40;
        FAIL_AT(p, p->token.at,
                suffix ? "not a number: '%.*s'; write it without a suffix: %.*s" : "not a number: '%.*s'",
                (int)(length < 40 ? length + 1 : 40), text + p->token.at, (int)length, text + p->token.at);
        return;
    }
    p->at = at;
    if (!is_float) {
        if (overflow)
            FAIL_AT(p, p->token.at, "%.*s does not fit 64 bits", (int)(length < 40 ? length : 40), text + p->token.at);
        p->token.kind = TOKEN_INT;
        p->token.value = (kiln_value){.kind = KILN_INT, .as.i = value};
        return;
    }
    if (length >= sizeof room) {
        FAIL_AT(p, p->token.at, "a number of more than %d digits", (int)sizeof room - 1);
        return;
    }
    memcpy(room, text + p->token.at, length);
    room[length] = '\0';
    p->token.kind = TOKEN_FLOAT;
    p->token.value = (kiln_value){.kind = KILN_FLOAT, .as.f = kiln__parse_double(room, NULL)};
    if (p->token.value.as.f > 1e308 * 1.7)
        FAIL_AT(p, p->token.at, "%s is too large for a float", room);
}

static void next(parser *p)
{
    static const char *const punctuation[] = {"**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    size_t at = kiln__expr_skip(p->text, p->at, p->length);
    p->token = (token){.kind = TOKEN_END, .at = at};
    p->at = at;
    if (at == p->length || p->failed)
        return;
    char c = p->text[at];
    if (kiln__is_digit(c) || (c == '.' && at + 1 < p->length && kiln__is_digit(p->text[at + 1]))) {
        lex_number(p);
    } else if (kiln__is_name_start(c)) {
        p->token.kind = TOKEN_NAME;
        for (;;) { /* a dotted name is one token */
            while (p->at < p->length && kiln__is_name_part(p->text[p->at]))
                p->at++;
            if (p->at + 1 >= p->length || p->text[p->at] != '.' || !kiln__is_name_start(p->text[p->at + 1]))
                break;
            p->at++;
        }
    } else if (c == '\'' || c == '"') {
        const char *end = memchr(p->text + at + 1, c, p->length - at - 1);
        p->token.kind = TOKEN_TEXT;
        p->at = end ? (size_t)(end - p->text) + 1 : p->length;
        if (!end)
            FAIL_AT(p, at, "this quote is not closed");
    } else {
        p->token.kind = TOKEN_PUNCTUATION;
        p->at = at + 1;
        for (size_t i = 0; i < KILN__COUNT(punctuation); i++)
            if (at + 1 < p->length && c == punctuation[i][0] && p->text[at + 1] == punctuation[i][1])
                p->at = at + 2;
    }
    p->token.length = p->at - at;
}

static bool is_token(const parser *p, const char *word)
{
    return (p->token.kind == TOKEN_PUNCTUATION || p->token.kind == TOKEN_NAME) && p->token.length == strlen(word) &&
           memcmp(p->text + p->token.at, word, p->token.length) == 0;
}

static bool accept(parser *p, const char *word)
{
    if (!is_token(p, word))
        return false;
    next(p);
    return true;
}

static const char operator_or_end[] = "an operator or the end";

static void unexpected(parser *p, const char *wanted)
{
    if (p->token.kind == TOKEN_END)
        FAIL_AT(p, p->token.at, "expected %s, found the end", wanted);
    else if (is_token(p, "="))
        FAIL_AT(p, p->token.at, "found '='; two values are compared with '=='");
    else if (is_token(p, "?"))
        FAIL_AT(p, p->token.at, "found '?'; a choice is written 'A if CONDITION else B'");
    else if (is_token(p, ",") && wanted == operator_or_end)
        FAIL_AT(p, p->token.at, "expected %s, found ','; several values are a list: [A, B]", wanted);
    else
        FAIL_AT(p, p->token.at, "expected %s, found '%.*s'", wanted, (int)(p->token.length < 60 ? p->token.length : 60),
                p->text + p->token.at);
}

static void expect(parser *p, const char *word)
{
    char wanted[16];
    if (accept(p, word))
        return;
    snprintf(wanted, sizeof wanted, "'%s'", word);
    unexpected(p, wanted);
}

/* ---- emitting code ---- */

static size_t emit(parser *p, kiln__opcode code, int32_t operand, size_t at, int effect)
{
    if (p->failed)
        return 0;
    p->code = grow_array(p, p->code, p->count, &p->capacity, sizeof *p->code);
    if (p->failed)
        return 0;
    p->stack += effect;
    /* leaves 4 entries of the stack unused, because `stack` counts both branches of a conditional expression */
    if (p->stack > KILN__EXPR_STACK - 4)
        FAIL_AT(p, at, "this expression is nested too deep");
    p->code[p->count] = (kiln__expr_op){.code = (uint8_t)code, .operand = operand, .at = (uint32_t)at};
    return p->count++;
}

static void emit_constant(parser *p, kiln_value value, size_t at)
{
    if (p->failed)
        return;
    p->constants = grow_array(p, p->constants, p->constant_count, &p->constant_capacity, sizeof *p->constants);
    if (p->failed)
        return;
    p->constants[p->constant_count] = value;
    emit(p, KILN__OP_CONSTANT, (int32_t)p->constant_count++, at, 1);
}

static kiln_value *constant_at(parser *p, size_t back)
{
    if (p->failed || p->count < back || p->count - back < p->barrier)
        return NULL;
    kiln__expr_op *op = &p->code[p->count - back];
    return op->code == KILN__OP_CONSTANT ? &p->constants[op->operand] : NULL;
}

/* Emits a unary operator. If the operand is a constant, computes the result instead (constant folding). If folding
 * fails, emits the operator, so that the evaluation reports the error. emit_binary() folds and emits operators with two
 * operands in this way. */
static void emit_unary(parser *p, kiln__opcode code, size_t at)
{
    kiln_value *a = constant_at(p, 1);
    if (!a || !kiln__expr_apply(code, *a, *a, a, p->pos, NULL))
        emit(p, code, 0, at, 0);
}

static void emit_binary(parser *p, kiln__opcode code, size_t at)
{
    kiln_value *a = constant_at(p, 2), *b = constant_at(p, 1);
    if (a && b && kiln__expr_apply(code, *a, *b, a, p->pos, NULL)) {
        p->count--;
        p->stack--;
        return;
    }
    emit(p, code, 0, at, -1);
}

/* Sets the target of the jump at code[from] to the current end of the code. */
static void set_jump_target(parser *p, size_t from)
{
    if (p->failed)
        return;
    p->code[from].operand = (int32_t)(p->count - from - 1);
    p->barrier = p->count;
}

static void emit_name(parser *p, const char *name, size_t length, size_t at)
{
    for (size_t i = 0; i < p->name_count; i++)
        if (strncmp(p->names[i], name, length) == 0 && p->names[i][length] == '\0') {
            emit(p, KILN__OP_NAME, (int32_t)i, at, 1);
            return;
        }
    if (p->failed)
        return;
    size_t capacity = p->name_capacity;
    p->names = grow_array(p, p->names, p->name_count, &p->name_capacity, sizeof *p->names);
    p->name_at = grow_array(p, p->name_at, p->name_count, &capacity, sizeof *p->name_at);
    char *copy = kiln__arena_strndup(p->arena, name, length);
    if (p->failed || !copy) {
        p->failed = true;
        return;
    }
    p->names[p->name_count] = copy;
    p->name_at[p->name_count] = (uint32_t)at;
    emit(p, KILN__OP_NAME, (int32_t)p->name_count++, at, 1);
}

/* ---- the grammar, the lowest precedence first ---- */

static void conditional(parser *p);
static void power(parser *p);

static void nested(parser *p, void (*rule)(parser *))
{
    if (++p->nesting > KILN__EXPR_NESTING)
        FAIL_AT(p, p->token.at, "this expression is nested too deep");
    if (!p->failed)
        rule(p);
    p->nesting--;
}

/* In the dialect of Python, replaces max(NAME) or min(NAME) by a constant if `lists` has a list NAME. Otherwise returns
 * false and reads nothing. */
static bool list_extreme(parser *p, kiln__opcode code, size_t at)
{
    if (!p->lists || p->token.kind != TOKEN_NAME || p->token.length >= 128)
        return false;
    char name[128];
    memcpy(name, p->text + p->token.at, p->token.length);
    name[p->token.length] = '\0';
    const kiln_value *values;
    size_t count, behind = kiln__expr_skip(p->text, p->at, p->length);
    if (behind == p->length || p->text[behind] != ')' || !p->lists->find(p->lists->user, name, &values, &count) ||
        count == 0)
        return false;
    kiln_value best = values[0];
    kiln__pos pos = kiln__expr_place(p->pos, p->text, p->length, at);
    for (size_t i = 1; i < count; i++)
        if (!kiln__expr_apply(code, best, values[i], &best, pos, p->diag)) {
            p->failed = true;
            return true;
        }
    next(p);
    next(p);
    emit_constant(p, best, at);
    return true;
}

/* Returns the function that an error message suggests for `name`, a name from CUDA sources and other programs: for
 * example, "ceil_div" for "cdiv". Returns NULL for any other name. */
static const char *other_function(const char *name)
{
    static const char *const others[][2] = {
        {"cdiv", "ceil_div"},         {"ceildiv", "ceil_div"},  {"div_up", "ceil_div"},   {"divup", "ceil_div"},
        {"DIVUP", "ceil_div"},        {"CEIL_DIV", "ceil_div"}, {"div_ceil", "ceil_div"}, {"ceilDiv", "ceil_div"},
        {"roundup", "round_up"},      {"align_up", "round_up"}, {"log2", "ilog2"},        {"clog2", "ceil_log2"},
        {"is_power_of_2", "is_pow2"}, {"round", "floor"}};
    for (size_t i = 0; i < KILN__COUNT(others); i++)
        if (strcmp(others[i][0], name) == 0)
            return others[i][1];
    return NULL;
}

static void call(parser *p, token name)
{
    static const struct {
        const char *name;
        kiln__opcode code;
        unsigned least, most;
    } functions[] = {
#define KILN_X(op, text, least, most) {text, KILN__OP_##op, least, most},
        KILN__FUNCTIONS(KILN_X)
#undef KILN_X
    };
    size_t f = 0;
    while (f < KILN__COUNT(functions) &&
           (strlen(functions[f].name) != name.length || memcmp(functions[f].name, p->text + name.at, name.length) != 0))
        f++;
    if (f == KILN__COUNT(functions)) {
        const char *names[KILN__COUNT(functions)], *near = NULL;
        char text[64];
        snprintf(text, sizeof text, "%.*s", (int)(name.length < 60 ? name.length : 60), p->text + name.at);
        for (size_t i = 0; i < KILN__COUNT(functions); i++)
            names[i] = functions[i].name;
        near = other_function(text);
        near = near ? near : kiln__nearest(text, names, KILN__COUNT(names));
        FAIL_AT(p, name.at, near ? "there is no function '%s'; did you mean '%s'?" : "there is no function '%s'", text,
                near);
        return;
    }
    next(p); /* skips the opening parenthesis */
    kiln__opcode code = functions[f].code;
    bool folds = code == KILN__OP_MIN || code == KILN__OP_MAX;
    if (python(p) && folds && list_extreme(p, code, name.at))
        return;
    unsigned count = 0;
    while (!p->failed && !is_token(p, ")")) {
        nested(p, conditional);
        if (++count > 1 && folds)
            emit_binary(p, code, name.at);
        if (!is_token(p, ")") && !accept(p, ","))
            unexpected(p, "',' or ')'");
    }
    expect(p, ")");
    if (count < functions[f].least || count > functions[f].most)
        FAIL_AT(p, name.at, "%s takes %u argument%s%s, not %u", functions[f].name, functions[f].least,
                functions[f].least == 1 ? "" : "s", functions[f].most > functions[f].least ? " or more" : "", count);
    if (folds)
        return;
    if (functions[f].least == 2)
        emit_binary(p, code, name.at);
    else
        emit_unary(p, code, name.at);
}

/* In the dialect of Python, reads NAME[3] as a single name with the text "NAME[3]". */
static void indexed_name(parser *p, token name)
{
    char text[128];
    next(p);
    if (p->token.kind != TOKEN_INT) {
        unexpected(p, "a number between the brackets");
        return;
    }
    long long index = (long long)p->token.value.as.i;
    next(p);
    expect(p, "]");
    if (name.length > 96) {
        FAIL_AT(p, name.at, "a name of more than 96 characters");
        return;
    }
    int length = snprintf(text, sizeof text, "%.*s[%lld]", (int)name.length, p->text + name.at, index);
    emit_name(p, text, (size_t)length, name.at);
}

static void name_or_call(parser *p)
{
    static const char *const words[] = {"and", "or", "not", "if", "else", "in", "for"};
    token name = p->token;
    for (size_t i = 0; i < KILN__COUNT(words); i++)
        if (is_token(p, words[i])) {
            unexpected(p, "a value");
            return;
        }
    bool truth = is_token(p, "true") || (python(p) && is_token(p, "True"));
    if (truth || is_token(p, "false") || (python(p) && is_token(p, "False"))) {
        next(p);
        emit_constant(p, (kiln_value){.kind = KILN_BOOL, .as.i = truth}, name.at);
        return;
    }
    next(p);
    if (is_token(p, "("))
        call(p, name);
    else if (is_token(p, "[") && python(p))
        indexed_name(p, name);
    else
        emit_name(p, p->text + name.at, name.length, name.at);
}

/* Parses a primary expression: a number, a text, a name, a call, or an expression in parentheses. Emits the code that
 * pushes its value. */
static void primary(parser *p)
{
    token t = p->token;
    switch (t.kind) {
    case TOKEN_INT:
    case TOKEN_FLOAT:
        next(p);
        emit_constant(p, t.value, t.at);
        return;
    case TOKEN_TEXT:
        next(p);
        t.value.kind = KILN_TEXT;
        t.value.as.text = p->failed ? NULL : kiln__arena_strndup(p->arena, p->text + t.at + 1, t.length - 2);
        if (!t.value.as.text)
            p->failed = true;
        emit_constant(p, t.value, t.at);
        return;
    case TOKEN_NAME: name_or_call(p); return;
    case TOKEN_PUNCTUATION:
        if (!accept(p, "("))
            break;
        nested(p, conditional);
        expect(p, ")");
        return;
    case TOKEN_END: break;
    }
    unexpected(p, "a value");
}

static void unary(parser *p)
{
    size_t at = p->token.at;
    kiln__opcode code = is_token(p, "-")   ? KILN__OP_NEGATE
                        : is_token(p, "+") ? KILN__OP_PLUS
                        : is_token(p, "~") ? KILN__OP_INVERT
                        : is_token(p, "!") ? KILN__OP_NOT
                                           : KILN__OP_CONSTANT;
    if (code == KILN__OP_CONSTANT) {
        power(p);
        return;
    }
    next(p);
    nested(p, unary);
    emit_unary(p, code, at);
}

static void power(parser *p)
{
    primary(p);
    size_t at = p->token.at;
    if (p->failed || !accept(p, "**"))
        return;
    nested(p, unary); /* ** groups from the right: 2 ** 3 ** 2 is 2 ** 9 */
    emit_binary(p, KILN__OP_POW, at);
}

/* The arithmetic and bit operators, the lowest precedence first. As in Python, and unlike in C, `&` has a higher
 * precedence than `==`. */
static const struct {
    const char *text;
    kiln__opcode code;
    int level;
} arithmetic_ops[] = {
    {"|", KILN__OP_BIT_OR, 0},     {"^", KILN__OP_BIT_XOR, 1}, {"&", KILN__OP_BIT_AND, 2}, {"<<", KILN__OP_SHL, 3},
    {">>", KILN__OP_SHR, 3},       {"+", KILN__OP_ADD, 4},     {"-", KILN__OP_SUB, 4},     {"*", KILN__OP_MUL, 5},
    {"//", KILN__OP_FLOOR_DIV, 5}, {"/", KILN__OP_DIV, 5},     {"%", KILN__OP_MOD, 5},
};

static void arithmetic_from(parser *p, int level)
{
    unary(p);
    while (!p->failed && p->token.kind == TOKEN_PUNCTUATION) {
        size_t i = 0, at = p->token.at;
        while (i < KILN__COUNT(arithmetic_ops) &&
               (arithmetic_ops[i].level < level || !is_token(p, arithmetic_ops[i].text)))
            i++;
        if (i == KILN__COUNT(arithmetic_ops))
            return;
        next(p);
        arithmetic_from(p, arithmetic_ops[i].level + 1); /* the recursion depth is at most six, one for each level */
        bool true_div = arithmetic_ops[i].code == KILN__OP_DIV && python(p);
        emit_binary(p, true_div ? KILN__OP_TRUE_DIV : arithmetic_ops[i].code, at);
    }
}

static bool comparison_op(parser *p, kiln__opcode *code)
{
#define KILN_X(op, text)                                                                                               \
    if (KILN__OP_##op >= KILN__OP_LT && is_token(p, text)) {                                                           \
        *code = KILN__OP_##op;                                                                                         \
        return true;                                                                                                   \
    }
    KILN__BINARY_OPS(KILN_X)
#undef KILN_X
    return false;
}

static void members(parser *p, bool negated, size_t at)
{
    const char *close = is_token(p, "(") ? ")" : "]";
    if (!accept(p, "(") && !accept(p, "[")) {
        unexpected(p, "a list such as [1, 2]");
        return;
    }
    emit_constant(p, (kiln_value){.kind = KILN_BOOL}, at);
    p->barrier = p->count;
    while (!p->failed && !is_token(p, close)) {
        nested(p, conditional);
        emit(p, KILN__OP_IN, 0, at, -1);
        if (!is_token(p, close))
            expect(p, ",");
    }
    expect(p, close);
    emit(p, KILN__OP_IN_END, negated, at, -1);
}

static void comparison(parser *p)
{
    arithmetic_from(p, 0);
    kiln__opcode code;
    size_t links = 0, last = 0;
    for (;;) {
        size_t at = p->token.at;
        if (p->failed)
            return;
        if (is_token(p, "in") || (is_token(p, "not") && links == 0)) {
            bool negated = accept(p, "not");
            expect(p, "in");
            if (links)
                FAIL_AT(p, at, "'in' cannot continue a chain of comparisons");
            members(p, negated, at);
            return;
        }
        if (!comparison_op(p, &code))
            break;
        next(p);
        arithmetic_from(p, 0);
        kiln__opcode following;
        if (!comparison_op(p, &following)) {
            if (links == 0)
                emit_binary(p, code, at);
            else
                emit(p, code, 0, at, -1);
            break;
        }
        size_t link = emit(p, KILN__OP_CHAIN, (int32_t)last, at,
                           /* `operand` is the index of the previous CHAIN instruction, until set_jump_target() sets the
                            * jump */
                           -1);
        if (p->failed)
            return;
        p->code[link].detail = (uint8_t)code;
        p->barrier = p->count;
        last = link;
        links++;
    }
    while (links-- > 0 && !p->failed) {
        size_t previous = (size_t)p->code[last].operand;
        set_jump_target(p, last);
        last = previous;
    }
}

static void negation(parser *p)
{
    size_t at = p->token.at;
    if (!accept(p, "not")) {
        comparison(p);
        return;
    }
    nested(p, negation);
    emit_unary(p, KILN__OP_NOT, at);
}

static void logical(parser *p, const char *word, const char *sign, kiln__opcode code, void (*operand)(parser *))
{
    operand(p);
    while (!p->failed && (is_token(p, word) || is_token(p, sign))) {
        size_t at = p->token.at;
        next(p);
        size_t jump = emit(p, code, 0, at, -1);
        if (p->failed)
            return;
        p->code[jump].detail = python(p);
        p->barrier = p->count;
        operand(p);
        if (!python(p))
            emit(p, KILN__OP_TRUTH, 0, at, 0);
        set_jump_target(p, jump);
    }
}

static void conjunction(parser *p) { logical(p, "and", "&&", KILN__OP_AND, negation); }

static void disjunction(parser *p) { logical(p, "or", "||", KILN__OP_OR, conjunction); }

static void reverse(kiln__expr_op *code, size_t from, size_t to)
{
    while (from + 1 < to) {
        kiln__expr_op t = code[from];
        code[from++] = code[--to];
        code[to] = t;
    }
}

/* Parses `A if C else B`. The text has the order A, C, B, but the code must have the order C, jump, A, jump, B. Jumps
 * are relative, so the function can move the code of A behind the code of C. */
static void conditional(parser *p)
{
    size_t from = p->count;
    disjunction(p);
    size_t at = p->token.at, middle = p->count;
    if (p->failed || !accept(p, "if"))
        return;
    disjunction(p);
    size_t test = emit(p, KILN__OP_JUMP_FALSE, 0, at, -1);
    if (p->failed)
        return;
    size_t moved = middle - from;
    reverse(p->code, from, middle);
    reverse(p->code, middle, p->count);
    reverse(p->code, from, p->count);
    test -= moved;
    size_t skip = emit(p, KILN__OP_JUMP, 0, at, 0);
    set_jump_target(p, test);
    if (!accept(p, "else"))
        unexpected(p, "'else'");
    p->stack--;
    nested(p, conditional);
    set_jump_target(p, skip);
}

/* ---- functions for the users of the parser ---- */

/* Parses one expression that begins at text[from]. Sets *end to the offset of the first character that does not belong
 * to the expression. After an error, adds a message to `diag` and returns NULL. Also returns NULL if memory runs
 * out. */
kiln__expr *kiln__expr_parse_part(kiln__arena *arena, const char *text, size_t from, size_t length, kiln__pos pos,
                                  unsigned flags, const kiln__lists *lists, size_t *end, kiln__diag *diag)
{
    parser p = {.arena = arena,
                .text = text,
                .length = length,
                .at = from,
                .pos = pos,
                .flags = flags,
                .lists = lists,
                .diag = diag};
    if (length > KILN__EXPR_LENGTH) {
        FAIL_AT(&p, from, "an expression of more than %d characters", KILN__EXPR_LENGTH);
        return NULL;
    }
    next(&p);
    if (flags & KILN__EXPR_NO_CHOICE)
        disjunction(&p);
    else
        conditional(&p);
    kiln__expr *expr = p.failed ? NULL : kiln__arena_alloc(arena, sizeof *expr);
    if (!expr)
        return NULL;
    expr->text = text;
    expr->length = length;
    expr->pos = pos;
    expr->names = p.names;
    expr->name_at = p.name_at;
    expr->name_count = p.name_count;
    expr->code = p.code;
    expr->code_count = p.count;
    expr->constants = p.constants;
    *end = p.token.at;
    return expr;
}

static kiln__expr *parse_whole(kiln__arena *arena, const char *text, size_t length, kiln__pos pos, unsigned flags,
                               const kiln__lists *lists, kiln__diag *diag)
{
    size_t end = 0;
    kiln__expr *expr = kiln__expr_parse_part(arena, text, 0, length, pos, flags, lists, &end, diag);
    if (expr && end == length) { /* copies the text, because the expression lives longer than the caller's text */
        expr->text = kiln__arena_strndup(arena, text, length);
        return expr->text ? expr : NULL;
    }
    if (!expr)
        return NULL;
    parser p = {.text = text, .length = length, .at = end, .pos = pos, .diag = diag};
    next(&p);
    unexpected(&p, operator_or_end);
    return NULL;
}

kiln__expr *kiln__expr_parse(kiln__arena *arena, const char *text, size_t length, kiln__pos pos, unsigned flags,
                             kiln__diag *diag)
{
    return parse_whole(arena, text, length, pos, flags, NULL, diag);
}

kiln__expr *kiln__expr_parse_python(kiln__arena *arena, const char *text, size_t length, kiln__pos pos,
                                    const kiln__lists *lists, kiln__diag *diag)
{
    return parse_whole(arena, text, length, pos, KILN__EXPR_PYTHON, lists, diag);
}
