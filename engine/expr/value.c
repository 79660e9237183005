/* value.c - prints and compares values, and recognises reserved names. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chars.h"
#include "code.h"

void kiln__print_double(char *room, size_t size, double value)
{
    for (int digits = 15; digits <= 17; digits++) {
        kiln__format(room, size, "%.*g", digits, value);
        if (kiln__parse_double(room, NULL) == value)
            break;
    }
    size_t length = strlen(room);
    if (isfinite(value) && !strpbrk(room, ".e") && length + 3 <= size)
        memcpy(room + length, ".0", 3);
}

void kiln__value_print(kiln__text *out, kiln_value value)
{
    char room[40];
    switch (value.kind) {
    case KILN_INT: kiln__text_printf(out, "%lld", (long long)value.as.i); return;
    case KILN_FLOAT:
        kiln__print_double(room, sizeof room, value.as.f);
        kiln__text_puts(out, room);
        return;
    case KILN_BOOL: kiln__text_puts(out, value.as.i ? "true" : "false"); return;
    case KILN_TEXT: kiln__text_puts(out, value.as.text); return;
    }
}

bool kiln__value_equal(kiln_value a, kiln_value b)
{
    if (a.kind == KILN_TEXT || b.kind == KILN_TEXT)
        return a.kind == b.kind && strcmp(a.as.text, b.as.text) == 0;
    if (a.kind == KILN_FLOAT && b.kind == KILN_FLOAT)
        return a.as.f == b.as.f;
    if (a.kind != KILN_FLOAT && b.kind != KILN_FLOAT)
        return a.as.i == b.as.i;
    double f = a.kind == KILN_FLOAT ? a.as.f : b.as.f;
    /* exact, because a long double has a mantissa of 64 bits or more */
    return (long double)f == (long double)(a.kind == KILN_FLOAT ? b.as.i : a.as.i);
}

bool kiln__value_truth(kiln_value value)
{
    switch (value.kind) {
    case KILN_INT:
    case KILN_BOOL: return value.as.i != 0;
    case KILN_FLOAT: return value.as.f != 0;
    case KILN_TEXT: break;
    }
    return false;
}

bool kiln__name_reserved(const char *name)
{
    static const char *const words[] = {"and",
                                        "or",
                                        "not",
                                        "if",
                                        "else",
                                        "in",
                                        "for",
                                        "true",
                                        "false",
                                        "device",
#define KILN_X(op, text, least, most) text,
                                        KILN__FUNCTIONS(KILN_X)
#undef KILN_X
    };
    for (size_t i = 0; i < KILN__COUNT(words); i++)
        if (strcmp(name, words[i]) == 0)
            return true;
    return false;
}

bool kiln__name_valid(const char *name)
{
    if (!kiln__is_name_start(*name))
        return false;
    for (const char *c = name + 1; *c; c++)
        if (!kiln__is_name_part(*c))
            return false;
    return !kiln__name_reserved(name);
}
