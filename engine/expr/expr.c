/* expr.c - returns the text, place, names and constant value of a parsed expression, and makes constant expressions
 * without source text. */
#include <string.h>

#include "code.h"

kiln__pos kiln__expr_place(kiln__pos pos, const char *text, size_t length, size_t at)
{
    if (!pos.source || at > length)
        return pos;
    const char *line = pos.source->text, *end = line + pos.source->length;
    for (unsigned n = 1; n < pos.line && line < end; line++)
        n += *line == '\n';
    size_t rest = (size_t)(end - line);
    if (pos.column == 0 || rest < pos.column - 1 || rest - (pos.column - 1) < length ||
        memcmp(line + pos.column - 1, text, length) != 0)
        return pos;
    for (size_t i = 0; i < at; i++) {
        pos.column++;
        if (text[i] == '\n') {
            pos.line++;
            pos.column = 1;
        }
    }
    return pos;
}

kiln__expr *kiln__expr_constant(kiln__arena *arena, kiln_value value, kiln__pos pos)
{
    kiln__text text = {.mem = arena->mem};
    kiln__value_print(&text, value);
    kiln__expr *expr = kiln__arena_alloc(arena, sizeof *expr);
    if (expr) {
        expr->length = text.length;
        expr->text = kiln__arena_strdup(arena, kiln__text_get(&text));
        expr->pos = pos;
        expr->code = kiln__arena_alloc(arena, sizeof *expr->code);
        expr->constants = kiln__arena_alloc(arena, sizeof *expr->constants);
    }
    if (text.failed)
        arena->failed = true;
    kiln__text_free(&text);
    if (!expr || !expr->text || !expr->code || !expr->constants || arena->failed)
        return NULL;
    expr->constants[0] = value;
    if (value.kind == KILN_TEXT && !(expr->constants[0].as.text = kiln__arena_strdup(arena, value.as.text)))
        return NULL;
    expr->code[0] = (kiln__expr_op){.code = KILN__OP_CONSTANT};
    expr->code_count = 1;
    return expr;
}

const char *kiln__expr_text(const kiln__expr *expr) { return expr->text; }

kiln__pos kiln__expr_pos(const kiln__expr *expr) { return expr->pos; }

size_t kiln__expr_name_count(const kiln__expr *expr) { return expr->name_count; }

const char *kiln__expr_name(const kiln__expr *expr, size_t index) { return expr->names[index]; }

kiln__pos kiln__expr_name_pos(const kiln__expr *expr, size_t index)
{
    return kiln__expr_place(expr->pos, expr->text, expr->length, expr->name_at[index]);
}

bool kiln__expr_is_constant(const kiln__expr *expr, kiln_value *value)
{
    if (expr->code_count != 1 || expr->code[0].code != KILN__OP_CONSTANT)
        return false;
    *value = expr->constants[expr->code[0].operand];
    return true;
}
