/* chars.h - classes of characters, the same under every locale. A NUL is in no class, so loops end at the end of a
 * text. */
#ifndef KILN_CHARS_H
#define KILN_CHARS_H

#include <stdbool.h>

static inline bool kiln__is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool kiln__is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Names of specs, params and C: letters, digits, _; they do not begin with a digit. */
static inline bool kiln__is_name_start(char c) { return kiln__is_letter(c) || c == '_'; }
static inline bool kiln__is_name_part(char c) { return kiln__is_name_start(c) || kiln__is_digit(c); }

/* Words of CUDA sources: names that may have $ and bytes of UTF-8, as the compiler takes them. */
static inline bool kiln__is_word_start(char c) { return kiln__is_name_start(c) || c == '$' || (c & 0x80); }
static inline bool kiln__is_word_part(char c) { return kiln__is_word_start(c) || kiln__is_digit(c); }

/* Blanks separate words of a line; spaces separate lines too. */
static inline bool kiln__is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
static inline bool kiln__is_space(char c) { return kiln__is_blank(c) || c == '\n'; }

static inline const char *kiln__skip_blanks(const char *at)
{
    while (kiln__is_blank(*at))
        at++;
    return at;
}

#endif
