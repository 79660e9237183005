/* code.h - private to engine/expr: the code of an expression, which the parser makes and the evaluator runs. */
#ifndef KILN_EXPR_CODE_H
#define KILN_EXPR_CODE_H

#include "expr.h"

/* Operators with two operands: X(op, as written). They keep this order in the enum. */
#define KILN__BINARY_OPS(X)                                                                                            \
    X(ADD, "+")                                                                                                        \
    X(SUB, "-")                                                                                                        \
    X(MUL, "*")                                                                                                        \
    X(DIV, "/")                                                                                                        \
    X(TRUE_DIV, "/")                                                                                                   \
    X(FLOOR_DIV, "//")                                                                                                 \
    X(MOD, "%")                                                                                                        \
    X(POW, "**")                                                                                                       \
    X(SHL, "<<")                                                                                                       \
    X(SHR, ">>")                                                                                                       \
    X(BIT_AND, "&")                                                                                                    \
    X(BIT_OR, "|")                                                                                                     \
    X(BIT_XOR, "^")                                                                                                    \
    X(LT, "<")                                                                                                         \
    X(LE, "<=")                                                                                                        \
    X(GT, ">")                                                                                                         \
    X(GE, ">=")                                                                                                        \
    X(EQ, "==")                                                                                                        \
    X(NE, "!=")

/* X(op, name, fewest arguments, most arguments). MIN and MAX take any number, two at a time. */
#define KILN__FUNCTIONS(X)                                                                                             \
    X(MIN, "min", 1, 64)                                                                                               \
    X(MAX, "max", 1, 64)                                                                                               \
    X(ABS, "abs", 1, 1)                                                                                                \
    X(CEIL_DIV, "ceil_div", 2, 2)                                                                                      \
    X(ROUND_UP, "round_up", 2, 2)                                                                                      \
    X(ILOG2, "ilog2", 1, 1)                                                                                            \
    X(CEIL_LOG2, "ceil_log2", 1, 1)                                                                                    \
    X(IS_POW2, "is_pow2", 1, 1)                                                                                        \
    X(FLOAT, "float", 1, 1)                                                                                            \
    X(INT, "int", 1, 1)                                                                                                \
    X(SQRT, "sqrt", 1, 1)                                                                                              \
    X(FLOOR, "floor", 1, 1)                                                                                            \
    X(CEIL, "ceil", 1, 1)

typedef enum kiln__opcode {
    KILN__OP_CONSTANT, /* push `constant` number `operand` of the expression */
    KILN__OP_NAME,     /* push the value of name number `operand` */
#define KILN_X(op, text) KILN__OP_##op,
    KILN__BINARY_OPS(KILN_X)
#undef KILN_X
#define KILN_X(op, name, least, most) KILN__OP_##op,
        KILN__FUNCTIONS(KILN_X)
#undef KILN_X
            KILN__OP_NEGATE,
    KILN__OP_PLUS,
    KILN__OP_INVERT,
    KILN__OP_NOT,
    KILN__OP_TRUTH,      /* the top becomes a boolean */
    KILN__OP_JUMP,       /* skips `operand` instructions */
    KILN__OP_JUMP_FALSE, /* pops the top, and jumps if it was false */
    KILN__OP_AND,        /* jumps if the top is false and leaves it there; otherwise pops it */
    KILN__OP_OR,         /* jumps if the top is true and leaves it there; otherwise pops it */
    /* one comparison of a chain such as a < b < c. `detail` is the operator. Stack before: a, b. If the comparison
     * holds, b stays. Otherwise the stack has `false` instead, and the instruction jumps */
    KILN__OP_CHAIN,
    KILN__OP_IN,    /* stack before: x, found, member; after: x, (found or x == member) */
    KILN__OP_IN_END /* stack before: x, found; after: found, or `not found` if `operand` is 1 */
} kiln__opcode;

typedef struct kiln__expr_op {
    uint8_t code;    /* kiln__opcode */
    uint8_t detail;  /* CHAIN: the comparison; AND, OR: 1 if the result is the operand itself, as in Python */
    int32_t operand; /* an index; for a jump the number of instructions that it skips */
    uint32_t at;     /* offset into the text, for messages */
} kiln__expr_op;

/* With this flag `if` ends the expression, because a second `if` may follow the condition of a comprehension. */
#define KILN__EXPR_NO_CHOICE 0x80000000u

enum { KILN__EXPR_STACK = 64, KILN__EXPR_NESTING = 100, KILN__EXPR_LENGTH = 1 << 16 };

struct kiln__expr {
    const char *text;
    size_t length;
    kiln__pos pos;
    size_t name_count;
    const char **names;
    uint32_t *name_at; /* the place where each name is used first */
    size_t code_count;
    kiln__expr_op *code;
    kiln_value *constants;
};

/* Returns the place of text[at] if text[0] is at `pos`. The place is exact if the file contains the text literally. For
 * a text that YAML folded or unescaped, the function returns `pos`. */
kiln__pos kiln__expr_place(kiln__pos pos, const char *text, size_t length, size_t at);

/* Parses one expression from text[from..length). *end gets the offset of the first character that cannot continue the
 * expression. Offsets and errors count from text[0], which is at `pos`. The expression points into the text, so the
 * text must live as long as the expression: a copy for each part of a long text would need memory that is quadratic in
 * the text's length. */
kiln__expr *kiln__expr_parse_part(kiln__arena *arena, const char *text, size_t from, size_t length, kiln__pos pos,
                                  unsigned flags, const kiln__lists *lists, size_t *end, kiln__diag *diag);
/* Returns the first offset from `at` on that is not a blank. */
size_t kiln__expr_skip(const char *text, size_t at, size_t length);

/* Applies one operator to values, for folding constants; a unary operator ignores `b`. On an error returns false and
 * adds a message at `pos` to `diag`, which may be NULL. */
bool kiln__expr_apply(kiln__opcode code, kiln_value a, kiln_value b, kiln_value *out, kiln__pos pos, kiln__diag *diag);

#endif
