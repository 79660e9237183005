/* settings.c - copies settings, finds a setting, and writes and reads settings as a text such as `BLOCK=32
 * MODE="ca"`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"

static kiln_setting *copy_all(kiln__arena *arena, kiln__settings from)
{
    kiln_setting *copy = kiln__arena_alloc(arena, (from.count + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < from.count; i++) {
        copy[i] = from.items[i];
        copy[i].name = kiln__arena_strdup(arena, from.items[i].name);
        if (copy[i].value.kind == KILN_TEXT)
            copy[i].value.as.text = kiln__arena_strdup(arena, from.items[i].value.as.text);
    }
    return copy;
}

kiln__settings kiln__settings_copy(kiln__arena *arena, kiln__settings from)
{
    const kiln_setting *copy = copy_all(arena, from);
    return (kiln__settings){copy ? from.count : 0, copy};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const kiln_setting *)a)->name, ((const kiln_setting *)b)->name);
}

kiln__settings kiln__settings_sorted(kiln__arena *arena, kiln__settings from)
{
    kiln_setting *copy = copy_all(arena, from);
    if (copy && !arena->failed && from.count > 1)
        qsort(copy, from.count, sizeof *copy, by_name);
    return (kiln__settings){copy ? from.count : 0, copy};
}

const kiln_setting *kiln__settings_find(kiln__settings settings, const char *name)
{
    for (size_t i = 0; i < settings.count; i++)
        if (strcmp(settings.items[i].name, name) == 0)
            return &settings.items[i];
    return NULL;
}

/* ---- settings as a text ---- */

static void print_text(kiln__text *out, const char *text)
{
    kiln__text_puts(out, "\"");
    for (const char *at = text; *at; at++) {
        if (*at == '"' || *at == '\\')
            kiln__text_printf(out, "\\%c", *at);
        else if ((unsigned char)*at < 0x20 || *at == 0x7f)
            kiln__text_printf(out, "\\x%02x", (unsigned char)*at);
        else
            kiln__text_add(out, at, 1);
    }
    kiln__text_puts(out, "\"");
}

void kiln__settings_print(kiln__text *out, kiln__settings settings)
{
    for (size_t i = 0; i < settings.count; i++) {
        const kiln_setting *one = &settings.items[i];
        kiln__text_printf(out, "%s%s=", i ? " " : "", one->name);
        if (one->value.kind == KILN_TEXT)
            print_text(out, one->value.as.text);
        else
            kiln__value_print(out, one->value);
    }
}

static int digit_value(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Reads a quoted text. *at must point to the opening quote; the function moves it behind the closing quote. Returns
 * NULL if the quoted text is malformed, or if memory runs out. */
static const char *read_text(kiln__arena *arena, const char **at)
{
    const char *from = *at + 1;
    char *made = kiln__arena_alloc(arena, strlen(from) + 1), *to = made;
    if (!made)
        return NULL;
    while (*from && *from != '"') {
        if (*from != '\\') {
            *to++ = *from++;
        } else if (from[1] == 'x' && digit_value(from[2]) >= 0 && digit_value(from[3]) >= 0) {
            *to++ = (char)(digit_value(from[2]) * 16 + digit_value(from[3]));
            from += 4;
        } else if (from[1] == '"' || from[1] == '\\') {
            *to++ = from[1];
            from += 2;
        } else {
            return NULL;
        }
    }
    if (*from != '"')
        return NULL;
    *at = from + 1;
    return made;
}

static bool read_value(kiln__arena *arena, const char **at, kiln_value *value)
{
    if (**at == '"') {
        *value = (kiln_value){.kind = KILN_TEXT, .as.text = read_text(arena, at)};
        return value->as.text != NULL;
    }
    size_t length = strcspn(*at, " ");
    char *word = kiln__arena_strndup(arena, *at, length), *end = word;
    if (!word || length == 0)
        return false;
    *at += length;
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) {
        *value = (kiln_value){.kind = KILN_BOOL, .as.i = word[0] == 't'};
        return true;
    }
    errno = 0;
    if (word[strspn(word, "+-0123456789")] == '\0')
        *value = (kiln_value){.kind = KILN_INT, .as.i = strtoll(word, &end, 10)};
    else
        *value = (kiln_value){.kind = KILN_FLOAT, .as.f = kiln__parse_double(word, &end)};
    return end != word && *end == '\0' && (value->kind != KILN_INT || errno == 0);
}

bool kiln__settings_read(kiln__arena *arena, const char *text, kiln__settings *settings)
{
    size_t room = 1, count = 0;
    for (const char *at = text; *at; at++)
        room += *at == '=';
    kiln_setting *made = kiln__arena_alloc(arena, room * sizeof *made);
    if (!made)
        return false;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "= \"");
        if (length == 0 || at[length] != '=')
            return false;
        kiln_setting *setting = &made[count];
        setting->name = kiln__arena_strndup(arena, at, length);
        at += length + 1;
        if (!setting->name || !read_value(arena, &at, &setting->value))
            return false;
        count++;
        if (*at == ' ' && at[1])
            at++;
        else if (*at)
            return false;
    }
    *settings = (kiln__settings){count, made};
    return true;
}
