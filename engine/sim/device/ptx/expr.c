/* expr.c - constant expressions: C's operators over 64-bit integers, and floating-point literals with a sign. */
#include <math.h>
#include <string.h>

#include "ptx_internal.h"

/* Returns the precedence of the current token as a binary operator. Returns 0 if the token is not a binary operator. */
static int binding_strength(const ptx_parser *p)
{
    if (p->token.kind != PTX_TOKEN_PUNCTUATION)
        return 0;
    switch (p->token.character) {
    case 'o': return 1;
    case 'a': return 2;
    case '|': return 3;
    case '^': return 4;
    case '&': return 5;
    case 'e':
    case 'n': return 6;
    case '<':
    case '>':
    case 'L':
    case 'G': return 7;
    case 'l':
    case 'r': return 8;
    case '+':
    case '-': return 9;
    case '*':
    case '/':
    case '%': return 10;
    default: return 0;
    }
}

static bool is_float(ptx_value value) { return value.kind >= PTX_FLOAT32; }

static double real_of(ptx_value value)
{
    double real;
    float single;
    uint32_t low = (uint32_t)value.bits;
    memcpy(&real, &value.bits, sizeof real);
    memcpy(&single, &low, sizeof single);
    return value.kind == PTX_FLOAT32 ? (double)single : real;
}

static bool combine(ptx_parser *p, char op, ptx_value *left, ptx_value right, uint32_t line)
{
    if (is_float(*left) || is_float(right))
        return ptx_error(p, line, "no arithmetic with floating-point numbers is allowed here");
    uint64_t a = left->bits, b = right.bits;
    bool sign = left->kind == PTX_SIGNED && right.kind == PTX_SIGNED;
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    bool truth = false;
    uint64_t result;
    switch (op) {
    case '|': result = a | b; break;
    case '^': result = a ^ b; break;
    case '&': result = a & b; break;
    case '+': result = a + b; break;
    case '-': result = a - b; break;
    case '*': result = a * b; break;
    case 'l': result = b > 63 ? 0 : a << b; break;
    case 'r':
        if (left->kind == PTX_SIGNED)
            result = (uint64_t)(sa >> (b > 63 ? 63 : b));
        else
            result = b > 63 ? 0 : a >> b;
        break;
    case '/':
    case '%':
        if (b == 0)
            return ptx_error(p, line, "division by zero in a constant");
        if (sign && sb == -1) /* a division by -1 may overflow */
            result = op == '/' ? 0 - a : 0;
        else if (sign)
            result = (uint64_t)(op == '/' ? sa / sb : sa % sb);
        else
            result = op == '/' ? a / b : a % b;
        break;
    default:
        truth = true;
        result = op == 'o'   ? a || b
                 : op == 'a' ? a && b
                 : op == 'e' ? a == b
                 : op == 'n' ? a != b
                 : op == '<' ? (sign ? sa < sb : a < b)
                 : op == '>' ? (sign ? sa > sb : a > b)
                 : op == 'L' ? (sign ? sa <= sb : a <= b)
                             : (sign ? sa >= sb : a >= b);
    }
    bool shift = op == 'l' || op == 'r';
    *left = (ptx_value){result, truth ? PTX_SIGNED : shift ? left->kind : sign ? PTX_SIGNED : PTX_UNSIGNED};
    return true;
}

static bool climb(ptx_parser *p, ptx_value *value, int least, int depth);

/* Parses one operand of a binary operator: a number, a named constant such as WARP_SZ, or an expression in parentheses.
 * Unary operators and the casts to .s64 and .u64 may precede the operand. `depth` counts the levels of recursion, so
 * that deep nesting ends in an error and not in a stack overflow. Returns false after an error. */
static bool primary(ptx_parser *p, ptx_value *value, int depth)
{
    if (depth > PTX_MAX_DEPTH)
        return ptx_error(p, p->token.line, "a constant is nested more than %d deep", PTX_MAX_DEPTH);
    char op = p->token.kind == PTX_TOKEN_PUNCTUATION ? p->token.character : '\0';
    if (op == '-' || op == '+' || op == '~' || op == '!') {
        uint32_t line = p->token.line;
        ptx_next(p);
        if (!primary(p, value, depth + 1))
            return false;
        if (is_float(*value) && (op == '~' || op == '!'))
            return ptx_error(p, line, "'%c' needs an integer", op);
        if (op == '-' && is_float(*value))
            value->bits ^= value->kind == PTX_FLOAT32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
        else if (op == '-')
            *value = (ptx_value){0 - value->bits, PTX_SIGNED};
        else if (op == '~')
            value->bits = ~value->bits;
        else if (op == '!')
            *value = (ptx_value){!value->bits, PTX_SIGNED};
        return true;
    }
    if (op == '(') {
        ptx_next(p);
        if (p->token.kind == PTX_TOKEN_DIRECTIVE && (ptx_is_directive(p, "s64") || ptx_is_directive(p, "u64"))) {
            uint8_t kind = ptx_is_directive(p, "s64") ? PTX_SIGNED : PTX_UNSIGNED;
            ptx_next(p);
            if (!ptx_expect(p, ')') || !primary(p, value, depth + 1))
                return false;
            if (is_float(*value))
                return ptx_error(p, p->token.line, "expected an integer after a cast");
            value->kind = kind;
            return true;
        }
        return climb(p, value, 0, depth + 1) && ptx_expect(p, ')');
    }
    if (p->token.kind == PTX_TOKEN_NAME && p->token.name->binding &&
        p->token.name->binding->kind == PTX_BIND_CONSTANT) {
        *value = (ptx_value){p->token.name->binding->count, PTX_SIGNED};
        ptx_next(p);
        return true;
    }
    if (p->token.kind != PTX_TOKEN_NUMBER)
        return ptx_error(p, p->token.line, "Parsing error near %s: expected a constant", ptx_shown(p));
    *value = p->token.value;
    ptx_next(p);
    return true;
}

/* Parses an expression of binary operators whose precedence is above `least` (precedence climbing). If `least` is 0,
 * also parses a conditional expression with ?:. */
static bool climb(ptx_parser *p, ptx_value *value, int least, int depth)
{
    if (!primary(p, value, depth))
        return false;
    for (int level; (level = binding_strength(p)) > least;) {
        char op = p->token.character;
        uint32_t line = p->token.line;
        ptx_next(p);
        ptx_value right;
        if (!climb(p, &right, level, depth + 1) || !combine(p, op, value, right, line))
            return false;
    }
    if (least == 0 && ptx_accept(p, '?')) {
        ptx_value yes, no;
        if (!climb(p, &yes, 0, depth + 1) || !ptx_expect(p, ':') || !climb(p, &no, 0, depth + 1))
            return false;
        *value = (is_float(*value) ? real_of(*value) != 0 : value->bits != 0) ? yes : no;
    }
    return true;
}

bool ptx_expression(ptx_parser *p, ptx_value *value) { return climb(p, value, 0, 0); }

bool ptx_integer(ptx_parser *p, int64_t *value)
{
    ptx_value got;
    uint32_t line = p->token.line;
    if (!ptx_expression(p, &got))
        return false;
    if (is_float(got))
        return ptx_error(p, line, "expected an integer");
    *value = (int64_t)got.bits;
    return true;
}

bool ptx_convert(ptx_value value, ptx_type type, uint64_t *bits)
{
    unsigned bytes = ptx_type_bytes(type);
    if (type == PTX_PRED) {
        *bits = value.bits != 0;
        return !is_float(value);
    }
    if (type == PTX_F32 || type == PTX_F64) {
        /* An integer cannot become a float here: ptx_init_item() has already converted integers in initial values, and
         * instructions do not accept integers for floats. */
        if (!is_float(value))
            return false;
        double real = real_of(value);
        float single = (float)real;
        if (type == PTX_F64) {
            if (value.kind == PTX_FLOAT64) {
                *bits = value.bits;
            } else {
                memcpy(bits, &real, sizeof real);
            }
        } else if (value.kind == PTX_FLOAT32) {
            /* keeps the bits of the text, because a conversion would quiet a NaN */
            *bits = value.bits;
        } else {
            uint32_t low;
            memcpy(&low, &single, sizeof low);
            *bits = low;
        }
        return true;
    }
    if (type == PTX_F16 || type == PTX_BF16 || type == PTX_F16X2 || type == PTX_BF16X2)
        return false;      /* ptxas has no literals of these types */
    if (is_float(value)) { /* an untyped register of the same width takes the bits of the float */
        *bits = value.bits;
        return value.kind == PTX_FLOAT32 ? type == PTX_B32 : type == PTX_B64;
    }
    *bits = bytes >= 8 ? value.bits : value.bits & ((UINT64_C(1) << bytes * 8) - 1);
    return true;
}
