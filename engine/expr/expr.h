/* expr.h - the expression language of specs: parses and evaluates expressions, and lists the names that they use.
 *
 * The functions of this header know nothing about YAML or CUDA. engine/expr/README.md describes the language. A value
 * is a kiln_value: a 64-bit integer, a double, a boolean or a text. An expression does not change after parsing. It
 * lives in the arena into which it was parsed. Many threads may evaluate the same expression at once. */
#ifndef KILN_EXPR_H
#define KILN_EXPR_H

#include "settings.h"

typedef struct kiln__expr kiln__expr;

/* The dialect of Python (T1 files): `/` is true division, the booleans are `True` and `False`, and there are lists. */
#define KILN__EXPR_PYTHON 1u

/* Parses text[0..length). `pos` is the place of text[0] in its file. After an error, the function adds a message with
 * the place of the error to `diag` and returns NULL. The function copies `text` into the arena. The depth of nesting is
 * limited, so untrusted text cannot exhaust the stack. */
kiln__expr *kiln__expr_parse(kiln__arena *arena, const char *text, size_t length, kiln__pos pos, unsigned flags,
                             kiln__diag *diag);
/* The lists of values whose names an expression in the dialect of Python may use in `max(NAME)` and `min(NAME)`. The
 * function find() sets *values and *count to the list of the name, or returns false if no list has the name. */
typedef struct kiln__lists {
    bool (*find)(void *user, const char *name, const kiln_value **values, size_t *count);
    void *user;
} kiln__lists;
kiln__expr *kiln__expr_parse_python(kiln__arena *arena, const char *text, size_t length, kiln__pos pos,
                                    const kiln__lists *lists, kiln__diag *diag);
/* Makes a constant expression that has no text, for defaults. */
kiln__expr *kiln__expr_constant(kiln__arena *arena, kiln_value value, kiln__pos pos);

const char *kiln__expr_text(const kiln__expr *expr); /* returns the text of the expression in the spec */
kiln__pos kiln__expr_pos(const kiln__expr *expr);
/* Return the number of names that the expression uses, and one of the names. Each name occurs once. A dotted name such
 * as "device.sm_count" or "A.rows" is one name. */
size_t kiln__expr_name_count(const kiln__expr *expr);
const char *kiln__expr_name(const kiln__expr *expr, size_t index);
/* returns the place at which the expression first uses the name */
kiln__pos kiln__expr_name_pos(const kiln__expr *expr, size_t index);
/* If the expression is a constant, sets *value and returns true. */
bool kiln__expr_is_constant(const kiln__expr *expr, kiln_value *value);

/* Gives names their values: a chain of scopes, the innermost scope first. */
typedef struct kiln__scope {
    const struct kiln__scope *outer;
    kiln__settings settings;
    /* An optional function for the names that are not in `settings`. It returns true and sets *value. For an unknown
     * name it returns false. */
    bool (*find)(void *user, const char *name, kiln_value *value);
    void *user;
} kiln__scope;
bool kiln__scope_find(const kiln__scope *scope, const char *name, kiln_value *value);

/* Evaluates an expression. Returns false after a failure. If `diag` is not NULL, a failure adds one message with the
 * place of the error to `diag`. The possible failures are an unknown name (the message suggests the nearest known
 * name), a division by zero, an overflow, an inexact `/`, and values of wrong kinds. A text that is the result lives as
 * long as the expression or the setting from which it comes. */
bool kiln__expr_eval(const kiln__expr *expr, const kiln__scope *scope, kiln_value *value, kiln__diag *diag);
/* Does the work of kiln__expr_eval() without looking names up, for loops over many configurations.
 * kiln__expr_name(expr, i) has the value values[slots[i]]. */
bool kiln__expr_eval_slots(const kiln__expr *expr, const kiln_value *values, const uint32_t *slots, kiln_value *value,
                           kiln__diag *diag);
/* These functions evaluate an expression and convert the result to one kind. They return false after a failure, also if
 * the result is a text. kiln__expr_eval_int() also returns false if the result is a fraction or does not fit 64 bits.
 * `what` is the name of the value in messages, such as "grid x". */
bool kiln__expr_eval_int(const kiln__expr *expr, const kiln__scope *scope, const char *what, int64_t *value,
                         kiln__diag *diag);
bool kiln__expr_eval_float(const kiln__expr *expr, const kiln__scope *scope, const char *what, double *value,
                           kiln__diag *diag);
bool kiln__expr_eval_bool(const kiln__expr *expr, const kiln__scope *scope, const char *what, bool *value,
                          kiln__diag *diag);

/* Reads a Python list expression of a T1 file: literals, range(), list(), comprehensions, `+`. The values are allocated
 * in the arena. The list may have at most `limit` values. If the whole list is one range, as in `list(range(...))`, it
 * may have `most_range` values. Returns false after an error. */
bool kiln__expr_list(kiln__arena *arena, const char *text, size_t length, kiln__pos pos, const kiln__scope *scope,
                     size_t limit, size_t most_range, kiln_value **values, size_t *count, kiln__diag *diag);

/* A text with expressions in braces, such as "transpose<float, {TILE}>". In the text `{{` and `}}` stand for single
 * braces. */
typedef struct kiln__template kiln__template;
kiln__template *kiln__template_parse(kiln__arena *arena, const char *text, size_t length, kiln__pos pos,
                                     kiln__diag *diag);
const char *kiln__template_text(const kiln__template *template_); /* returns the text of the template in the spec */
kiln__pos kiln__template_pos(const kiln__template *template_);
size_t kiln__template_expr_count(const kiln__template *template_);
const kiln__expr *kiln__template_expr(const kiln__template *template_, size_t index);
/* Adds the text of the template to `out`, with the value of each expression in its place. Returns false if an
 * expression has an error. */
bool kiln__template_fill(const kiln__template *template_, const kiln__scope *scope, kiln__text *out, kiln__diag *diag);

/* Writes a value as a text, such as "32", "true" or "ca". It writes a float in the same form as
 * kiln__print_double(). */
void kiln__value_print(kiln__text *out, kiln_value value);
/* Writes the shortest text from which a reader gets the same number. The text has a decimal point or an exponent, in
 * every locale. A `room` of 40 bytes is enough. */
void kiln__print_double(char *room, size_t size, double value);
bool kiln__value_equal(kiln_value a, kiln_value b); /* compares numbers by their values, so 1, 1.0 and true are equal */
/* Returns true for `true`, and for a number other than 0. Returns false for every text. */
bool kiln__value_truth(kiln_value value);
/* Returns true for a name that a spec may define. Such a name begins with a letter or '_', continues with letters,
 * digits and '_', and is not a reserved word. */
bool kiln__name_valid(const char *name);
/* Returns true for the words and, or, not, if, else, in, for, true, false and device, and for the names of
 * functions. */
bool kiln__name_reserved(const char *name);
#endif
