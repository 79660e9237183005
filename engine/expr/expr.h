/* expr.h - the expression language of specs: parse, evaluate, list of names used.
 * Knows nothing of YAML or CUDA. The language is described in engine/expr/README.md.
 *
 * Values are kiln_value: 64-bit integers, doubles, booleans, texts. An expression is immutable once parsed, lives in
 * the arena it was parsed into, and may be evaluated by many threads at once. */
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
/* The lists that the Python dialect may name: `max(NAME)` and `min(NAME)` are computed over the values while
 * parsing. */
typedef struct kiln__lists {
    bool (*find)(void *user, const char *name, const kiln_value **values, size_t *count);
    void *user;
} kiln__lists;
kiln__expr *kiln__expr_parse_python(kiln__arena *arena, const char *text, size_t length, kiln__pos pos,
                                    const kiln__lists *lists, kiln__diag *diag);
/* A constant, for defaults. */
kiln__expr *kiln__expr_constant(kiln__arena *arena, kiln_value value, kiln__pos pos);

const char *kiln__expr_text(const kiln__expr *expr); /* as written */
kiln__pos kiln__expr_pos(const kiln__expr *expr);
/* The names used, each once. A dotted name is one name ("device.sm_count", "A.rows"). */
size_t kiln__expr_name_count(const kiln__expr *expr);
const char *kiln__expr_name(const kiln__expr *expr, size_t index);
kiln__pos kiln__expr_name_pos(const kiln__expr *expr, size_t index);    /* of its first use */
bool kiln__expr_is_constant(const kiln__expr *expr, kiln_value *value); /* a literal */

/* Where names get their values: a chain of frames, innermost first. */
typedef struct kiln__scope {
    const struct kiln__scope *outer;
    kiln__settings settings;
    /* Optional, called for names that are not in `settings`: true and *value, or false for an unknown name. */
    bool (*find)(void *user, const char *name, kiln_value *value);
    void *user;
} kiln__scope;
bool kiln__scope_find(const kiln__scope *scope, const char *name, kiln_value *value);

/* Evaluates. A failure (unknown name with the nearest known one, division by zero, overflow, inexact `/`, wrong kinds)
 * is one entry in `diag` at its place; diag may be NULL. A text result lives as long as the expression or setting that
 * it came from. */
bool kiln__expr_eval(const kiln__expr *expr, const kiln__scope *scope, kiln_value *value, kiln__diag *diag);
/* The same without look-ups, for loops over many configurations: name number i has the value values[slots[i]]. */
bool kiln__expr_eval_slots(const kiln__expr *expr, const kiln_value *values, const uint32_t *slots, kiln_value *value,
                           kiln__diag *diag);
/* The same, and the value must be (convertible to) that kind; `what` names it in messages ("grid x"). */
bool kiln__expr_eval_int(const kiln__expr *expr, const kiln__scope *scope, const char *what, int64_t *value,
                         kiln__diag *diag);
bool kiln__expr_eval_float(const kiln__expr *expr, const kiln__scope *scope, const char *what, double *value,
                           kiln__diag *diag);
bool kiln__expr_eval_bool(const kiln__expr *expr, const kiln__scope *scope, const char *what, bool *value,
                          kiln__diag *diag);

/* A Python list expression as T1 files have them: literals, range(), list(), comprehensions, `+`. The values go into
 * the arena; at most `limit` of them, or `most_range` if the whole list is one range, as in `list(range(...))`. */
bool kiln__expr_list(kiln__arena *arena, const char *text, size_t length, kiln__pos pos, const kiln__scope *scope,
                     size_t limit, size_t most_range, kiln_value **values, size_t *count, kiln__diag *diag);

/* Text with expressions in braces: "transpose<float, {TILE}>". `{{` is a brace. */
typedef struct kiln__template kiln__template;
kiln__template *kiln__template_parse(kiln__arena *arena, const char *text, size_t length, kiln__pos pos,
                                     kiln__diag *diag);
const char *kiln__template_text(const kiln__template *template_); /* as written */
kiln__pos kiln__template_pos(const kiln__template *template_);
size_t kiln__template_expr_count(const kiln__template *template_);
const kiln__expr *kiln__template_expr(const kiln__template *template_, size_t index);
bool kiln__template_fill(const kiln__template *template_, const kiln__scope *scope, kiln__text *out, kiln__diag *diag);

/* "32", "0.5" (shortest text that reads back the same, with a point or exponent), "true", "ca". */
void kiln__value_print(kiln__text *out, kiln_value value);
/* The shortest text that reads back the same, in the C locale. */
void kiln__print_double(char *room, size_t size, double value);
bool kiln__value_equal(kiln_value a, kiln_value b); /* numbers by value: 1, 1.0 and true are equal */
/* True if the value is a number other than 0 or true; false for texts. */
bool kiln__value_truth(kiln_value value);
/* A name that specs may give to something: a letter or '_', then letters, digits, '_'; not a reserved word. */
bool kiln__name_valid(const char *name);
/* True for and, or, not, if, else, in, for, true, false, device and the functions. */
bool kiln__name_reserved(const char *name);
#endif
