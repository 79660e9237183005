/* eval.c - evaluates parsed expressions on a small stack. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "code.h"

/* The place for an operator's error message: offset `at` in the text of `expr`, or `pos` if `expr` is NULL. */
typedef struct report {
    const kiln__expr *expr;
    uint32_t at;
    kiln__pos pos;
    kiln__diag *diag;
} report;

static kiln__pos report_pos(const report *r)
{
    return r->expr ? kiln__expr_place(r->expr->pos, r->expr->text, r->expr->length, r->at) : r->pos;
}

#define FAIL(r, ...) ((r)->diag ? (kiln__diag_add((r)->diag, report_pos(r), __VA_ARGS__), false) : false)

static const char *kind_name(kiln_kind kind)
{
    static const char *const names[] = {"an integer", "a float", "a boolean", "a text"};
    return names[kind];
}

static const char *const binary_text[] = {
#define KILN_X(op, text) [KILN__OP_##op] = text,
    KILN__BINARY_OPS(KILN_X)
#undef KILN_X
};

static const char *op_text(kiln__opcode code)
{
#define KILN_X(op, name, least, most)                                                                                  \
    if (code == KILN__OP_##op)                                                                                         \
        return name;
    KILN__FUNCTIONS(KILN_X)
#undef KILN_X
    return code < KILN__COUNT(binary_text) ? binary_text[code] : "?";
}

typedef struct shown {
    char text[48];
} shown;
static shown show(kiln_value v)
{
    shown s;
    if (v.kind == KILN_FLOAT)
        kiln__print_double(s.text, sizeof s.text, v.as.f);
    else if (v.kind == KILN_TEXT)
        snprintf(s.text, sizeof s.text, "'%.40s'", v.as.text);
    else if (v.kind == KILN_BOOL)
        snprintf(s.text, sizeof s.text, "%s", v.as.i ? "true" : "false");
    else
        snprintf(s.text, sizeof s.text, "%lld", (long long)v.as.i);
    return s;
}

static double as_float(kiln_value v) { return v.kind == KILN_FLOAT ? v.as.f : (double)v.as.i; }

static bool set_int(kiln_value *out, int64_t i)
{
    out->kind = KILN_INT;
    out->as.i = i;
    return true;
}

static bool set_bool(kiln_value *out, bool b)
{
    out->kind = KILN_BOOL;
    out->as.i = b;
    return true;
}

static bool set_float(const report *r, kiln_value *out, double f, kiln__opcode code)
{
    if (!isfinite(f))
        return FAIL(r, "'%s' gives a number too large for a float", op_text(code));
    out->kind = KILN_FLOAT;
    out->as.f = f;
    return true;
}

static bool overflow(const report *r, kiln__opcode code, kiln_value a, kiln_value b)
{
    if (code == KILN__OP_NEGATE || code == KILN__OP_ABS)
        return FAIL(r, "-(%s) does not fit 64 bits", show(a).text);
    if (code > KILN__OP_NE)
        return FAIL(r, "%s(%s, %s) does not fit 64 bits", op_text(code), show(a).text, show(b).text);
    return FAIL(r, "%s %s %s does not fit 64 bits", show(a).text, op_text(code), show(b).text);
}

/* Divides and rounds down like Python, so that -7 // 2 is -4. The division of C would round to -3. The caller excludes
 * the cases b == 0 and INT64_MIN / -1. */
static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* Returns the remainder with the sign of b, so that a == b * (a // b) + a % b holds. */
static int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t rest = b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static bool int_power(const report *r, kiln_value a, kiln_value b, kiln_value *out)
{
    int64_t base = a.as.i, result = 1;
    for (int64_t n = b.as.i; n > 0; n >>= 1) {
        if ((n & 1) && __builtin_mul_overflow(result, base, &result))
            return overflow(r, KILN__OP_POW, a, b);
        if (n > 1 && __builtin_mul_overflow(base, base, &base))
            return overflow(r, KILN__OP_POW, a, b);
    }
    return set_int(out, result);
}

static bool int_op(const report *r, kiln__opcode code, kiln_value a, kiln_value b, kiln_value *out)
{
    int64_t x = a.as.i, y = b.as.i, z = 0;
    switch (code) {
    case KILN__OP_ADD: return __builtin_add_overflow(x, y, &z) ? overflow(r, code, a, b) : set_int(out, z);
    case KILN__OP_SUB: return __builtin_sub_overflow(x, y, &z) ? overflow(r, code, a, b) : set_int(out, z);
    case KILN__OP_MUL: return __builtin_mul_overflow(x, y, &z) ? overflow(r, code, a, b) : set_int(out, z);
    case KILN__OP_DIV:
    case KILN__OP_FLOOR_DIV:
    case KILN__OP_CEIL_DIV:
        if (y == 0)
            return FAIL(r, "division by zero");
        if (x == INT64_MIN && y == -1)
            return overflow(r, code, a, b);
        if (code == KILN__OP_DIV && x % y != 0)
            return FAIL(
                r,
                "%lld / %lld is not an integer: use ceil_div(a, b) to round up, // to round down, or float() for a "
                "fraction",
                (long long)x, (long long)y);
        return set_int(out, floor_div(x, y) + (code == KILN__OP_CEIL_DIV && x % y != 0));
    case KILN__OP_MOD: return y == 0 ? FAIL(r, "modulo by zero") : set_int(out, floor_mod(x, y));
    case KILN__OP_ROUND_UP:
        if (y <= 0)
            return FAIL(r, "round_up needs a positive multiple, not %lld", (long long)y);
        z = floor_mod(x, y);
        if (z && __builtin_add_overflow(x, y - z, &x))
            return overflow(r, code, a, b);
        return set_int(out, x);
    case KILN__OP_POW:
        if (y >= 0)
            return int_power(r, a, b, out);
        if (x == 0)
            return FAIL(r, "division by zero: 0 ** %lld", (long long)y);
        return set_float(r, out, pow((double)x, (double)y), code);
    case KILN__OP_SHL:
        if (y < 0)
            return FAIL(r, "cannot shift by %lld", (long long)y);
        if (x == 0)
            return set_int(out, 0);
        if (y > 62 || __builtin_mul_overflow(x, (int64_t)1 << y, &z))
            return overflow(r, code, a, b);
        return set_int(out, z);
    case KILN__OP_SHR:
        return y < 0 ? FAIL(r, "cannot shift by %lld", (long long)y) : set_int(out, x >> (y > 63 ? 63 : y));
    case KILN__OP_BIT_AND:
    case KILN__OP_BIT_OR:
    case KILN__OP_BIT_XOR:
        z = code == KILN__OP_BIT_AND ? (x & y) : code == KILN__OP_BIT_OR ? (x | y) : (x ^ y);
        set_int(out, z);
        out->kind = a.kind == KILN_BOOL && b.kind == KILN_BOOL ? KILN_BOOL : KILN_INT;
        return true;
    default: return FAIL(r, "'%s' cannot be applied to integers", op_text(code));
    }
}

static bool float_op(const report *r, kiln__opcode code, kiln_value a, kiln_value b, kiln_value *out)
{
    double x = as_float(a), y = as_float(b);
    switch (code) {
    case KILN__OP_ADD: return set_float(r, out, x + y, code);
    case KILN__OP_SUB: return set_float(r, out, x - y, code);
    case KILN__OP_MUL: return set_float(r, out, x * y, code);
    case KILN__OP_DIV:
    case KILN__OP_TRUE_DIV: return y == 0 ? FAIL(r, "division by zero") : set_float(r, out, x / y, code);
    case KILN__OP_FLOOR_DIV: return y == 0 ? FAIL(r, "division by zero") : set_float(r, out, floor(x / y), code);
    case KILN__OP_CEIL_DIV: return y == 0 ? FAIL(r, "division by zero") : set_float(r, out, ceil(x / y), code);
    case KILN__OP_MOD: {
        if (y == 0)
            return FAIL(r, "modulo by zero");
        double rest = fmod(x, y);
        return set_float(r, out, rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest, code);
    }
    case KILN__OP_POW:
        if (x == 0 && y < 0)
            return FAIL(r, "division by zero: 0 ** %s", show(b).text);
        if (x < 0 && y != floor(y))
            return FAIL(r, "%s ** %s is not a real number", show(a).text, show(b).text);
        return set_float(r, out, pow(x, y), code);
    default: return FAIL(r, "'%s' needs integers, not %s and %s", op_text(code), show(a).text, show(b).text);
    }
}

static int compare_values(kiln_value a, kiln_value b)
{
    if (a.kind != KILN_FLOAT && b.kind != KILN_FLOAT)
        return a.as.i < b.as.i ? -1 : a.as.i > b.as.i;
    if (a.kind == b.kind)
        return a.as.f < b.as.f ? -1 : a.as.f > b.as.f;
    /* This comparison is exact, because a long double can represent every int64_t and every double. */
    long double x = a.kind == KILN_FLOAT ? (long double)a.as.f : (long double)a.as.i;
    long double y = b.kind == KILN_FLOAT ? (long double)b.as.f : (long double)b.as.i;
    return x < y ? -1 : x > y;
}

static bool compare(const report *r, kiln__opcode code, kiln_value a, kiln_value b, kiln_value *out)
{
    if (a.kind == KILN_TEXT || b.kind == KILN_TEXT) {
        if (a.kind != b.kind)
            return FAIL(r, "'%s' compares %s with %s", op_text(code), kind_name(a.kind), kind_name(b.kind));
        if (code != KILN__OP_EQ && code != KILN__OP_NE)
            return FAIL(r, "texts have no order: '%s' cannot compare %s with %s", op_text(code), show(a).text,
                        show(b).text);
        return set_bool(out, (strcmp(a.as.text, b.as.text) == 0) == (code == KILN__OP_EQ));
    }
    int way = compare_values(a, b);
    switch (code) {
    case KILN__OP_LT: return set_bool(out, way < 0);
    case KILN__OP_LE: return set_bool(out, way <= 0);
    case KILN__OP_GT: return set_bool(out, way > 0);
    case KILN__OP_GE: return set_bool(out, way >= 0);
    case KILN__OP_EQ: return set_bool(out, way == 0);
    default: return set_bool(out, way != 0);
    }
}

static bool float_to_int(const report *r, double f, const char *how, kiln_value *out)
{
    /* cppcheck-suppress incorrectLogicOperator ; it cannot read 0x1p63 */
    if (!(f >= -0x1p63 && f < 0x1p63))
        return FAIL(r, "%s(%s) does not fit 64 bits", how, show((kiln_value){.kind = KILN_FLOAT, .as.f = f}).text);
    return set_int(out, (int64_t)f);
}

static bool logarithm(const report *r, kiln__opcode code, kiln_value a, kiln_value *out)
{
    if (a.kind == KILN_FLOAT)
        return FAIL(r, "%s needs an integer, not %s", op_text(code), show(a).text);
    if (code == KILN__OP_IS_POW2)
        return set_bool(out, a.as.i > 0 && (a.as.i & (a.as.i - 1)) == 0);
    if (a.as.i < 1)
        return FAIL(r, "%s needs a positive integer, not %s", op_text(code), show(a).text);
    int down = 63 - __builtin_clzll((unsigned long long)a.as.i);
    bool whole = (a.as.i & (a.as.i - 1)) == 0;
    return set_int(out, down + (code == KILN__OP_CEIL_LOG2 && !whole));
}

/* The parser guarantees that the stack has the values that an operation pops. A static analyzer does not see this.
 * NOLINTBEGIN(clang-analyzer-core.*) */
static bool unary(const report *r, kiln__opcode code, kiln_value a, kiln_value *out)
{
    if (a.kind == KILN_TEXT)
        return FAIL(r, "expected a number, found the text %s", show(a).text);
    bool is_float = a.kind == KILN_FLOAT;
    switch (code) {
    case KILN__OP_NEGATE:
    case KILN__OP_ABS:
        if (is_float)
            return set_float(r, out, code == KILN__OP_ABS ? fabs(a.as.f) : -a.as.f, code);
        if (a.as.i == INT64_MIN)
            return overflow(r, code, a, a);
        return set_int(out, code == KILN__OP_ABS && a.as.i >= 0 ? a.as.i : -a.as.i);
    case KILN__OP_PLUS: return is_float ? set_float(r, out, a.as.f, code) : set_int(out, a.as.i);
    case KILN__OP_INVERT:
        return is_float ? FAIL(r, "'~' needs an integer, not %s", show(a).text) : set_int(out, ~a.as.i);
    case KILN__OP_NOT: return set_bool(out, !kiln__value_truth(a));
    case KILN__OP_TRUTH: return set_bool(out, kiln__value_truth(a));
    case KILN__OP_FLOAT: return set_float(r, out, as_float(a), code);
    case KILN__OP_INT: return is_float ? float_to_int(r, trunc(a.as.f), "int", out) : set_int(out, a.as.i);
    case KILN__OP_FLOOR: return is_float ? float_to_int(r, floor(a.as.f), "floor", out) : set_int(out, a.as.i);
    case KILN__OP_CEIL: return is_float ? float_to_int(r, ceil(a.as.f), "ceil", out) : set_int(out, a.as.i);
    case KILN__OP_SQRT:
        if (as_float(a) < 0)
            return FAIL(r, "cannot take the square root of %s", show(a).text);
        return set_float(r, out, sqrt(as_float(a)), code);
    default: return logarithm(r, code, a, out);
    }
}

static bool apply(const report *r, kiln__opcode code, kiln_value a, kiln_value b, kiln_value *out)
{
    if (code >= KILN__OP_LT && code <= KILN__OP_NE)
        return compare(r, code, a, b, out);
    bool two = code <= KILN__OP_NE || code == KILN__OP_MIN || code == KILN__OP_MAX || code == KILN__OP_CEIL_DIV ||
               code == KILN__OP_ROUND_UP;
    if (!two)
        return unary(r, code, a, out);
    if (a.kind == KILN_TEXT || b.kind == KILN_TEXT)
        return FAIL(r, "'%s' cannot be applied to %s and %s", op_text(code), kind_name(a.kind), kind_name(b.kind));
    if (code == KILN__OP_MIN || code == KILN__OP_MAX) {
        *out = (compare_values(a, b) <= 0) == (code == KILN__OP_MIN) ? a : b;
        return true;
    }
    bool floats = a.kind == KILN_FLOAT || b.kind == KILN_FLOAT || code == KILN__OP_TRUE_DIV;
    return floats ? float_op(r, code, a, b, out) : int_op(r, code, a, b, out);
}

bool kiln__expr_apply(kiln__opcode code, kiln_value a, kiln_value b, kiln_value *out, kiln__pos pos, kiln__diag *diag)
{
    report r = {.pos = pos, .diag = diag};
    return apply(&r, code, a, b, out);
}

/* ---- looking names up ---- */

bool kiln__scope_find(const kiln__scope *scope, const char *name, kiln_value *value)
{
    for (; scope; scope = scope->outer) {
        const kiln_setting *found = kiln__settings_find(scope->settings, name);
        if (found) {
            *value = found->value;
            return true;
        }
        if (scope->find && scope->find(scope->user, name, value))
            return true;
    }
    return false;
}

static bool unknown_name(const report *r, const kiln__scope *scope, const char *name)
{
    const char *names[256];
    size_t count = 0;
    for (; scope; scope = scope->outer)
        for (size_t i = 0; i < scope->settings.count && count < KILN__COUNT(names); i++)
            names[count++] = scope->settings.items[i].name;
    const char *near = kiln__nearest(name, names, count);
    if (near)
        return FAIL(r, "unknown name '%s'; did you mean '%s'?", name, near);
    return FAIL(r, "unknown name '%s'", name);
}

/* ---- running the code of an expression ---- */

/* The values of names. If `slots` is not NULL, name i has the value values[slots[i]]. Otherwise the evaluator looks
 * names up in `scope`. */
typedef struct source {
    const kiln__scope *scope;
    const kiln_value *values;
    const uint32_t *slots;
} source;

static bool read_truth(const report *r, kiln_value v, bool *result)
{
    if (v.kind == KILN_TEXT)
        return FAIL(r, "expected a condition, found the text %s", show(v).text);
    *result = kiln__value_truth(v);
    return true;
}

#define BOTH_INTEGERS(pair) ((pair)[0].kind == KILN_INT && (pair)[1].kind == KILN_INT)

/* Runs the code of an expression on a stack of values. The code is in postfix order. The last value on the stack is the
 * result. Returns false after an error, and adds the error to `diag` unless `diag` is NULL. */
static bool run(const kiln__expr *expr, const source *from, kiln_value *out, kiln__diag *diag)
{
    /* stack[0] is never used; the parser limits the depth of the stack */
    kiln_value stack[KILN__EXPR_STACK + 1], *top = stack;
    report r = {.expr = expr, .diag = diag};
    bool yes = false;
    int64_t whole;
    for (const kiln__expr_op *op = expr->code, *end = op + expr->code_count; op < end; op++) {
        r.at = op->at;
        switch ((kiln__opcode)op->code) {
        case KILN__OP_CONSTANT: *++top = expr->constants[op->operand]; break;
        case KILN__OP_NAME:
            top++;
            if (from->slots)
                *top = from->values[from->slots[op->operand]];
            else if (!kiln__scope_find(from->scope, expr->names[op->operand], top))
                return unknown_name(&r, from->scope, expr->names[op->operand]);
            break;
        case KILN__OP_JUMP: op += op->operand; break;
        case KILN__OP_JUMP_FALSE:
            if (!read_truth(&r, *top--, &yes))
                return false;
            if (!yes)
                op += op->operand;
            break;
        case KILN__OP_AND:
        case KILN__OP_OR:
            if (!read_truth(&r, *top, &yes))
                return false;
            if (yes == (op->code == KILN__OP_OR)) {
                if (!op->detail)
                    set_bool(top, yes);
                op += op->operand;
            } else {
                top--;
            }
            break;
        case KILN__OP_CHAIN: {
            kiln_value middle = *top--;
            if (!apply(&r, (kiln__opcode)op->detail, *top, middle, top))
                return false;
            if (top->as.i)
                *top = middle;
            else
                op += op->operand;
            break;
        }
        case KILN__OP_IN:
            top--;
            top->as.i = top->as.i || kiln__value_equal(top[-1], top[1]);
            break;
        case KILN__OP_IN_END:
            top--;
            set_bool(top, top[1].as.i != op->operand);
            break;
            /* Common operations on integers are inline for speed. apply() does all other operations and reports
             * errors. */
#define ARITHMETIC(op_, builtin)                                                                                       \
    case KILN__OP_##op_:                                                                                               \
        top--;                                                                                                         \
        if (BOTH_INTEGERS(top) && !builtin(top[0].as.i, top[1].as.i, &whole))                                          \
            top->as.i = whole;                                                                                         \
        else if (!apply(&r, KILN__OP_##op_, top[0], top[1], top))                                                      \
            return false;                                                                                              \
        break;
            ARITHMETIC(ADD, __builtin_add_overflow)
            ARITHMETIC(SUB, __builtin_sub_overflow)
            ARITHMETIC(MUL, __builtin_mul_overflow)
#undef ARITHMETIC
#define COMPARISON(op_, sign)                                                                                          \
    case KILN__OP_##op_:                                                                                               \
        top--;                                                                                                         \
        if (BOTH_INTEGERS(top))                                                                                        \
            set_bool(top, top[0].as.i sign top[1].as.i);                                                               \
        else if (!apply(&r, KILN__OP_##op_, top[0], top[1], top))                                                      \
            return false;                                                                                              \
        break;
            COMPARISON(LT, <)
            COMPARISON(LE, <=)
            COMPARISON(GT, >)
            COMPARISON(GE, >=)
            COMPARISON(EQ, ==)
            COMPARISON(NE, !=)
#undef COMPARISON
        case KILN__OP_MOD:
            top--;
            if (BOTH_INTEGERS(top) && top[1].as.i > 0)
                top->as.i = floor_mod(top[0].as.i, top[1].as.i);
            else if (!apply(&r, KILN__OP_MOD, top[0], top[1], top))
                return false;
            break;
        case KILN__OP_DIV:
        case KILN__OP_TRUE_DIV:
        case KILN__OP_FLOOR_DIV:
        case KILN__OP_POW:
        case KILN__OP_SHL:
        case KILN__OP_SHR:
        case KILN__OP_BIT_AND:
        case KILN__OP_BIT_OR:
        case KILN__OP_BIT_XOR:
        case KILN__OP_MIN:
        case KILN__OP_MAX:
        case KILN__OP_CEIL_DIV:
        case KILN__OP_ROUND_UP:
            top--;
            if (!apply(&r, (kiln__opcode)op->code, top[0], top[1], top))
                return false;
            break;
        case KILN__OP_ABS:
        case KILN__OP_ILOG2:
        case KILN__OP_CEIL_LOG2:
        case KILN__OP_IS_POW2:
        case KILN__OP_FLOAT:
        case KILN__OP_INT:
        case KILN__OP_SQRT:
        case KILN__OP_FLOOR:
        case KILN__OP_CEIL:
        case KILN__OP_NEGATE:
        case KILN__OP_PLUS:
        case KILN__OP_INVERT:
        case KILN__OP_NOT:
        case KILN__OP_TRUTH:
            if (!unary(&r, (kiln__opcode)op->code, *top, top))
                return false;
            break;
        }
    }
    *out = *top;
    return true;
}
/* NOLINTEND(clang-analyzer-core.*) */

bool kiln__expr_eval(const kiln__expr *expr, const kiln__scope *scope, kiln_value *value, kiln__diag *diag)
{
    return run(expr, &(source){.scope = scope}, value, diag);
}

bool kiln__expr_eval_slots(const kiln__expr *expr, const kiln_value *values, const uint32_t *slots, kiln_value *value,
                           kiln__diag *diag)
{
    static const uint32_t none;
    return run(expr, &(source){.values = values, .slots = slots ? slots : &none}, value, diag);
}

static bool wrong_kind(const kiln__expr *expr, const char *what, const char *wanted, kiln_value got, kiln__diag *diag)
{
    report r = {.expr = expr, .diag = diag};
    return FAIL(&r, "%s must be %s, but is %s", what, wanted, show(got).text);
}

bool kiln__expr_eval_int(const kiln__expr *expr, const kiln__scope *scope, const char *what, int64_t *value,
                         kiln__diag *diag)
{
    kiln_value got;
    if (!kiln__expr_eval(expr, scope, &got, diag))
        return false;
    if (got.kind == KILN_TEXT)
        return wrong_kind(expr, what, "an integer", got, diag);
    if (got.kind == KILN_FLOAT) {
        /* cppcheck-suppress incorrectLogicOperator ; it cannot read 0x1p63 */
        if (got.as.f != floor(got.as.f) || !(got.as.f >= -0x1p63 && got.as.f < 0x1p63))
            return wrong_kind(expr, what, "an integer", got, diag);
        *value = (int64_t)got.as.f;
        return true;
    }
    *value = got.as.i;
    return true;
}

bool kiln__expr_eval_float(const kiln__expr *expr, const kiln__scope *scope, const char *what, double *value,
                           kiln__diag *diag)
{
    kiln_value got;
    if (!kiln__expr_eval(expr, scope, &got, diag))
        return false;
    if (got.kind == KILN_TEXT)
        return wrong_kind(expr, what, "a number", got, diag);
    *value = as_float(got);
    return true;
}

bool kiln__expr_eval_bool(const kiln__expr *expr, const kiln__scope *scope, const char *what, bool *value,
                          kiln__diag *diag)
{
    kiln_value got;
    if (!kiln__expr_eval(expr, scope, &got, diag))
        return false;
    if (got.kind == KILN_TEXT)
        return wrong_kind(expr, what, "a condition", got, diag);
    *value = kiln__value_truth(got);
    return true;
}
