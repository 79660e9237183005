/* Reads any bytes as an expression in both dialects, as a list, and as a template. If the text parses, it is
 * evaluated. */
#include <string.h>

#include "expr.h"

static bool find_list(void *user, const char *name, const kiln_value **values, size_t *count)
{
    static const kiln_value list[] = {{KILN_INT, {.i = 3}}, {KILN_FLOAT, {.f = 9}}};
    (void)user;
    *values = list;
    *count = 2;
    return strcmp(name, "i") == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Parses the bytes as each kind of expression, and evaluates them with variables of every kind. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const kiln_setting settings[] = {{"i", {KILN_INT, {.i = 7}}},
                                            {"big", {KILN_INT, {.i = INT64_MAX}}},
                                            {"f", {KILN_FLOAT, {.f = 2.5}}},
                                            {"t", {KILN_TEXT, {.text = "ca"}}},
                                            {"A.rows", {KILN_INT, {.i = -12}}}};
    const kiln__scope scope = {.settings = {KILN__COUNT(settings), settings}};
    const char *text = (const char *)data;
    const kiln__source source = {"fuzz", text, size};
    const kiln__pos pos = {&source, 1, 1};
    const kiln__lists lists = {find_list, NULL};
    kiln__arena arena = {0};
    kiln__diag diag = {0};
    kiln_value value;
    kiln__text out = {0};
    for (int dialect = 0; dialect < 2; dialect++) {
        kiln__expr *expr = dialect ? kiln__expr_parse_python(&arena, text, size, pos, &lists, &diag)
                                   : kiln__expr_parse(&arena, text, size, pos, 0, &diag);
        if (expr && kiln__expr_eval(expr, &scope, &value, &diag))
            kiln__value_print(&out, value);
        for (size_t i = 0; expr && i < kiln__expr_name_count(expr); i++)
            kiln__text_printf(&out, "%s %u", kiln__expr_name(expr, i), kiln__expr_name_pos(expr, i).column);
    }
    kiln_value *values = NULL;
    size_t count = 0;
    kiln__expr_list(&arena, text, size, pos, &scope, 1000, 5000, &values, &count, &diag);
    for (size_t i = 0; i < count; i++)
        kiln__value_print(&out, values[i]);
    kiln__template *made = kiln__template_parse(&arena, text, size, pos, &diag);
    if (made)
        kiln__template_fill(made, &scope, &out, &diag);
    kiln__text_free(&out);
    kiln__text_free(&diag.text);
    kiln__arena_free(&arena);
    return 0;
}
