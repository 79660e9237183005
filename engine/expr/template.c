/* template.c - reads and fills templates, which are texts with expressions in braces. */
#include <string.h>

#include "code.h"

struct kiln__template {
    const char *text;
    kiln__pos pos;
    size_t count; /* expressions */
    const kiln__expr **exprs;
    /* the count + 1 literal texts before, between and after the expressions */
    const char **literals;
};

kiln__template *kiln__template_parse(kiln__arena *arena, const char *text, size_t length, kiln__pos pos,
                                     kiln__diag *diag)
{
    size_t most = 0;
    for (size_t i = 0; i < length; i++)
        most += text[i] == '{';
    kiln__template *made = kiln__arena_alloc(arena, sizeof *made);
    /* memory for all literal texts, each with its NUL byte */
    char *literal = kiln__arena_alloc(arena, length + most + 1);
    if (!made || !literal)
        return NULL;
    made->text = kiln__arena_strndup(arena, text, length);
    made->pos = pos;
    made->exprs = kiln__arena_alloc(arena, (most + 1) * sizeof *made->exprs);
    made->literals = kiln__arena_alloc(arena, (most + 1) * sizeof *made->literals);
    if (!made->text || !made->exprs || !made->literals)
        return NULL;
    made->literals[0] = literal;
    for (size_t at = 0; at < length; at++) {
        char c = text[at];
        if ((c == '{' || c == '}') && at + 1 < length && text[at + 1] == c) {
            *literal++ = c;
            at++;
        } else if (c == '}') {
            kiln__diag_add(diag, kiln__expr_place(pos, text, length, at),
                           "this '}' has no '{' before it; for the character '}' write '}}'");
            return NULL;
        } else if (c == '{') {
            size_t end = 0;
            kiln__expr *expr = kiln__expr_parse_part(arena, made->text, at + 1, length, pos, 0, NULL, &end, diag);
            if (!expr)
                return NULL;
            if (end == length || text[end] != '}') {
                kiln__diag_add(diag, kiln__expr_place(pos, text, length, end == length ? at : end),
                               end == length ? "this '{' is not closed; for the character '{' write '{{'"
                                             : "expected '}'");
                return NULL;
            }
            made->exprs[made->count++] = expr;
            literal++;
            made->literals[made->count] = literal;
            at = end;
        } else {
            *literal++ = c;
        }
    }
    return made;
}

const char *kiln__template_text(const kiln__template *template_) { return template_->text; }

kiln__pos kiln__template_pos(const kiln__template *template_) { return template_->pos; }

size_t kiln__template_expr_count(const kiln__template *template_) { return template_->count; }

const kiln__expr *kiln__template_expr(const kiln__template *template_, size_t index) { return template_->exprs[index]; }

bool kiln__template_fill(const kiln__template *template_, const kiln__scope *scope, kiln__text *out, kiln__diag *diag)
{
    for (size_t i = 0; i <= template_->count; i++) {
        kiln__text_puts(out, template_->literals[i]);
        kiln_value value;
        if (i == template_->count)
            break;
        if (!kiln__expr_eval(template_->exprs[i], scope, &value, diag))
            return false;
        kiln__value_print(out, value);
    }
    return true;
}
