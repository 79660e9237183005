/* code.h - the code of an expression, which the parser makes and the evaluator runs. Only engine/expr uses this
 * header. */
#ifndef KILN_EXPR_CODE_H
#define KILN_EXPR_CODE_H

#include "expr.h"

/* The operators with two operands. X(opcode, the operator in the text). The opcodes in kiln__opcode have the same
 * order. */
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

/* X(opcode, name, fewest arguments, most arguments). For MIN and MAX of several arguments, the parser emits one
 * instruction for each argument after the first. */
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
    KILN__OP_CONSTANT, /* pushes constants[operand] of the expression */
    KILN__OP_NAME,     /* pushes the value of names[operand] of the expression */
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
    KILN__OP_TRUTH,      /* converts the top of the stack to a boolean */
    KILN__OP_JUMP,       /* skips `operand` instructions */
    KILN__OP_JUMP_FALSE, /* pops the top of the stack, and skips `operand` instructions if it was false */
    KILN__OP_AND,        /* if the top of the stack is false, leaves it there and jumps; otherwise pops it */
    KILN__OP_OR,         /* if the top of the stack is true, leaves it there and jumps; otherwise pops it */
    /* Makes one comparison of a chain such as a < b < c, by the operator `detail`. The instruction pops a and b. If the
     * comparison holds, it pushes b. Otherwise it pushes `false` and jumps. */
    KILN__OP_CHAIN,
    KILN__OP_IN,    /* pops x, found, member; pushes x, (found or x == member) */
    KILN__OP_IN_END /* pops x, found; pushes found, or `not found` if `operand` is 1 */
} kiln__opcode;

typedef struct kiln__expr_op {
    uint8_t code; /* kiln__opcode */
    /* for CHAIN: the operator of the comparison; for AND and OR: 1 if the result is an operand, as in Python, and 0 if
     * it is a boolean */
    uint8_t detail;
    int32_t operand; /* an index into `constants` or `names`; for a jump, the number of instructions that it skips */
    uint32_t at;     /* the offset into the text of the expression, for messages */
} kiln__expr_op;

/* With this flag the parser stops at `if`, because another `if` may follow the condition of a comprehension. */
#define KILN__EXPR_NO_CHOICE 0x80000000u

enum { KILN__EXPR_STACK = 64, KILN__EXPR_NESTING = 100, KILN__EXPR_LENGTH = 1 << 16 };

struct kiln__expr {
    const char *text;
    size_t length;
    kiln__pos pos;
    size_t name_count;
    const char **names;
    uint32_t *name_at; /* for each name: the offset in `text` at which the expression first uses it */
    size_t code_count;
    kiln__expr_op *code;
    kiln_value *constants;
};

/* Returns the place of text[at] in the file. `pos` is the place of text[0]. The place is exact if the file contains the
 * text literally. For a text that YAML has folded or unescaped, the function returns `pos`. */
kiln__pos kiln__expr_place(kiln__pos pos, const char *text, size_t length, size_t at);

/* Parses one expression from text[from..length). Sets *end to the offset of the first character that does not belong to
 * the expression. Offsets and errors count from text[0], whose place in the file is `pos`. The expression points into
 * the text, so the text must live as long as the expression. If the parser copied the whole text for each part, a long
 * text would need memory that is quadratic in its length. */
kiln__expr *kiln__expr_parse_part(kiln__arena *arena, const char *text, size_t from, size_t length, kiln__pos pos,
                                  unsigned flags, const kiln__lists *lists, size_t *end, kiln__diag *diag);
/* Returns the first offset from `at` on whose character is no space, tab or line break. */
size_t kiln__expr_skip(const char *text, size_t at, size_t length);

/* Applies one operator to values. The parser uses this function for constant folding. A unary operator ignores `b`. On
 * an error the function returns false, and adds a message with the place `pos` to `diag`, which may be NULL. */
bool kiln__expr_apply(kiln__opcode code, kiln_value a, kiln_value b, kiln_value *out, kiln__pos pos, kiln__diag *diag);

#endif
