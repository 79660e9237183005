/* expr.h - the expression language of specs: parses and evaluates expressions, and lists the names that they use.
 *
 * This code knows nothing about YAML or CUDA. engine/expr/README.md describes the language. Values are kiln_value:
 * 64-bit integers, doubles, booleans, texts. An expression is immutable after parsing and lives in the arena into
 * which it was parsed. Many threads may evaluate it at once. */
#ifndef KILN_EXPR_H
#define KILN_EXPR_H

#include "settings.h"

typedef struct kiln__expr kiln__expr;

/* Python's dialect (T1 files): `/` is true division, `True`/`False`, lists. */
#define KILN__EXPR_PYTHON 1u

/* Parses text[0..length). `pos` is the place of text[0]; errors go to `diag` with their own place, and the result is
 * NULL. `text` is copied into the arena. Nesting is limited, so untrusted text cannot exhaust the stack. */
kiln__expr *kiln__expr_parse(kiln__arena *arena, const char *text, size_t length, kiln__pos pos, unsigned flags,
                             kiln__diag *diag);
/* The lists that the Python dialect may name. The parser computes `max(NAME)` and `min(NAME)` from their values. find()
 * returns false if there is no list of this name. */
typedef struct kiln__lists {
    bool (*find)(void *user, const char *name, const kiln_value **values, size_t *count);
    void *user;
} kiln__lists;
kiln__expr *kiln__expr_parse_python(kiln__arena *arena, const char *text, size_t length, kiln__pos pos,
                                    const kiln__lists *lists, kiln__diag *diag);
/* Makes a constant expression, for defaults. */
kiln__expr *kiln__expr_constant(kiln__arena *arena, kiln_value value, kiln__pos pos);

const char *kiln__expr_text(const kiln__expr *expr); /* the text of the spec */
kiln__pos kiln__expr_pos(const kiln__expr *expr);
/* Returns the names that the expression uses, each once. A dotted name is one name ("device.sm_count", "A.rows"). */
size_t kiln__expr_name_count(const kiln__expr *expr);
const char *kiln__expr_name(const kiln__expr *expr, size_t index);
kiln__pos kiln__expr_name_pos(const kiln__expr *expr, size_t index);    /* the place of its first use */
bool kiln__expr_is_constant(const kiln__expr *expr, kiln_value *value); /* a literal */

/* The source of the values of names: a chain of frames, the innermost frame first. */
typedef struct kiln__scope {
    const struct kiln__scope *outer;
    kiln__settings settings;
    /* Optional; it is called for names that are not in `settings`. It returns true and sets *value, or returns false
     * for an unknown name. */
    bool (*find)(void *user, const char *name, kiln_value *value);
    void *user;
} kiln__scope;
bool kiln__scope_find(const kiln__scope *scope, const char *name, kiln_value *value);

/* Evaluates an expression. Returns false after a failure, which adds one entry with its place to `diag`, unless that is
 * NULL. Failures are an unknown name (the message suggests the nearest known name), a division by zero, an overflow, an
 * inexact `/`, and wrong kinds. A text result lives as long as the expression or the setting from which it came. */
bool kiln__expr_eval(const kiln__expr *expr, const kiln__scope *scope, kiln_value *value, kiln__diag *diag);
/* Does the work of kiln__expr_eval() without look-ups of names, for loops over many configurations: name number i has
 * the value values[slots[i]]. */
bool kiln__expr_eval_slots(const kiln__expr *expr, const kiln_value *values, const uint32_t *slots, kiln_value *value,
                           kiln__diag *diag);
/* These functions evaluate to a value of one kind, with conversion if that is exact. They return false after a failure.
 * `what` is the name of the value in messages ("grid x"). */
bool kiln__expr_eval_int(const kiln__expr *expr, const kiln__scope *scope, const char *what, int64_t *value,
                         kiln__diag *diag);
bool kiln__expr_eval_float(const kiln__expr *expr, const kiln__scope *scope, const char *what, double *value,
                           kiln__diag *diag);
bool kiln__expr_eval_bool(const kiln__expr *expr, const kiln__scope *scope, const char *what, bool *value,
                          kiln__diag *diag);

/* Reads a Python list expression of a T1 file: literals, range(), list(), comprehensions, `+`. The values go into the
 * arena. There are at most `limit` values, or `most_range` if the whole list is one range, as in `list(range(...))`.
 * Returns false after an error. */
bool kiln__expr_list(kiln__arena *arena, const char *text, size_t length, kiln__pos pos, const kiln__scope *scope,
                     size_t limit, size_t most_range, kiln_value **values, size_t *count, kiln__diag *diag);

/* Text with expressions in braces: "transpose<float, {TILE}>". `{{` and `}}` stand for the braces themselves. */
typedef struct kiln__template kiln__template;
kiln__template *kiln__template_parse(kiln__arena *arena, const char *text, size_t length, kiln__pos pos,
                                     kiln__diag *diag);
const char *kiln__template_text(const kiln__template *template_); /* the text of the spec */
kiln__pos kiln__template_pos(const kiln__template *template_);
size_t kiln__template_expr_count(const kiln__template *template_);
const kiln__expr *kiln__template_expr(const kiln__template *template_, size_t index);
/* Adds the text to `out`, with the value of each expression in its place. Returns false if an expression has an error.
 */
bool kiln__template_fill(const kiln__template *template_, const kiln__scope *scope, kiln__text *out, kiln__diag *diag);

/* Writes a value as a text: "32", "true" or "ca". It writes a float as kiln__print_double() does. */
void kiln__value_print(kiln__text *out, kiln_value value);
/* Writes the shortest text that reads back as the same number. The text has a decimal point or an exponent, in every
 * locale. 40 bytes suffice. */
void kiln__print_double(char *room, size_t size, double value);
bool kiln__value_equal(kiln_value a, kiln_value b); /* numbers by value: 1, 1.0 and true are equal */
/* Returns true for a number other than 0 and for `true`. Returns false for a text. */
bool kiln__value_truth(kiln_value value);
/* Returns true for a name that a spec may define: a letter or '_', then letters, digits and '_', but not a reserved
 * word. */
bool kiln__name_valid(const char *name);
/* Returns true for and, or, not, if, else, in, for, true, false, device and the names of functions. */
bool kiln__name_reserved(const char *name);
#endif
