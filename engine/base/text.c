/* text.c - builds texts that grow. */
#include <stdio.h>
#include <string.h>

#include "base.h"

void kiln__text_add(kiln__text *text, const char *bytes, size_t length)
{
    if (text->failed || length > SIZE_MAX - text->length - 1 ||
        !kiln__grow(text->mem, &text->data, &text->capacity, text->length + length + 1, 1)) {
        text->failed = true;
        return;
    }
    if (length)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void kiln__text_puts(kiln__text *text, const char *string) { kiln__text_add(text, string, strlen(string)); }

void kiln__text_vprintf(kiln__text *text, const char *format, va_list arguments)
{
    char small[256];
    va_list again;
    va_copy(again, arguments);
    int length = kiln__vformat(small, sizeof small, format, arguments);
    if (length < 0) {
        text->failed = true;
    } else if ((size_t)length < sizeof small) {
        kiln__text_add(text, small, (size_t)length);
    } else if (!text->failed &&
               kiln__grow(text->mem, &text->data, &text->capacity, text->length + (size_t)length + 1, 1)) {
        kiln__vformat(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    } else {
        text->failed = true;
    }
    va_end(again);
}

void kiln__text_printf(kiln__text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kiln__text_vprintf(text, format, arguments);
    va_end(arguments);
}

const char *kiln__text_get(const kiln__text *text) { return text->data ? text->data : ""; }

void kiln__text_free(kiln__text *text)
{
    kiln__free(text->mem, text->data);
    text->data = NULL;
    text->length = text->capacity = 0;
    text->failed = false;
}

uint32_t kiln__utf8_next(const char **at)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *c = (const unsigned char *)*at;
    int more = *c < 0x80 ? 0 : (*c & 0xe0) == 0xc0 ? 1 : (*c & 0xf0) == 0xe0 ? 2 : (*c & 0xf8) == 0xf0 ? 3 : -1;
    uint32_t code = more <= 0 ? *c : *c & (0x3fu >> more);
    for (int i = 1; i <= more; i++) {
        if ((c[i] & 0xc0) != 0x80)
            more = -1;
        else
            code = code << 6 | (c[i] & 0x3fu);
    }
    if (more < 0 || code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        ++*at;
        return 0xfffd;
    }
    *at += more + 1;
    return code;
}
