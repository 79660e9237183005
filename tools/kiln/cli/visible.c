/* visible.c - makes untrusted text safe for a terminal.
 *
 * A terminal executes escape sequences in texts from specs, file names, compilers and drivers: An escape sequence can
 * move the cursor, rename the window or enter input. Bidirectional marks change the order of text. All output for
 * people goes through output.c or cli_complain(), which use this file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

size_t cli_utf8(const char *text, size_t length, uint32_t *code)
{
    const unsigned char *bytes = (const unsigned char *)text;
    *code = length ? bytes[0] : 0;
    if (length == 0 || bytes[0] < 0x80)
        return length ? 1 : 0;
    size_t size = (bytes[0] & 0xe0) == 0xc0 ? 2 : (bytes[0] & 0xf0) == 0xe0 ? 3 : (bytes[0] & 0xf8) == 0xf0 ? 4 : 0;
    if (size == 0 || size > length)
        return 0;
    uint32_t made = bytes[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        made = made << 6 | (bytes[i] & 0x3fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (made < least[size] || made > 0x10ffff || (made >= 0xd800 && made <= 0xdfff))
        return 0;
    *code = made;
    return size;
}

bool cli_is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

char *cli_escape(const char *text, size_t length, const char *as_is)
{
    /* the longest escapes: "\x1b" for one byte, "\u202e" for three bytes */
    char *made = length < SIZE_MAX / 4 ? malloc(4 * length + 1) : NULL;
    if (!made)
        return NULL;
    char *to = made;
    for (size_t at = 0, size; at < length; at += size) {
        uint32_t code;
        size_t valid = cli_utf8(text + at, length - at, &code);
        size = valid ? valid : 1;
        if (valid && (!cli_is_control(code) || (code && code < 0x80 && strchr(as_is, (int)code)))) {
            memcpy(to, text + at, size);
            to += size;
        } else if (code == '\r' && at + 1 < length && text[at + 1] == '\n' && strchr(as_is, '\n')) {
            /* a line that ends as in DOS has a carriage return, which is dropped */
        } else {
            to += sprintf(to, code < 0x80 || !valid ? "\\x%02x" : "\\u%04x", (unsigned)code);
        }
    }
    *to = '\0';
    return made;
}

const char *cli_visible(const char *text)
{
    if (cli_is_plain(text))
        return text;
    char *made = cli_escape(text, strlen(text), "");
    const char *kept = made ? cli_strndup(made, strlen(made)) : "";
    free(made);
    return kept;
}

bool cli_is_plain(const char *text)
{
    for (size_t length = strlen(text), size; length; text += size, length -= size) {
        uint32_t code;
        size = cli_utf8(text, length, &code);
        if (size == 0 || cli_is_control(code))
            return false;
    }
    return true;
}

size_t cli_character(const char *text, size_t *columns)
{
    uint32_t code;
    size_t size = cli_utf8(text, strlen(text), &code);
    int wide = size > 1 && out_utf8() ? out_character_columns(code)
                                      : 1; /* a Chinese character takes two columns, a combining accent takes none */
    *columns = wide < 0 ? 1 : (size_t)wide;
    return size ? size : 1;
}

const char *cli_shell_word(const char *text)
{
    if (*text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%")])
        return text;
    const char *made = "'";
    for (; *text; text++)
        made = *text == '\'' ? cli_printf("%s'\\''", made) : cli_printf("%s%c", made, *text);
    return cli_printf("%s'", made);
}
