/* chars.h - tests the class of a character, with the same result in every locale. A NUL belongs to no class, so loops
 * stop at the end of a text. */
#ifndef KILN_CHARS_H
#define KILN_CHARS_H

#include <stdbool.h>

static inline bool kiln__is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool kiln__is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Names of specs, params and C consist of letters, digits and '_', and do not begin with a digit. */
static inline bool kiln__is_name_start(char c) { return kiln__is_letter(c) || c == '_'; }
static inline bool kiln__is_name_part(char c) { return kiln__is_name_start(c) || kiln__is_digit(c); }

/* Words of CUDA sources are names that may also contain $ and bytes of UTF-8, as the compiler accepts them. */
static inline bool kiln__is_word_start(char c) { return kiln__is_name_start(c) || c == '$' || (c & 0x80); }
static inline bool kiln__is_word_part(char c) { return kiln__is_word_start(c) || kiln__is_digit(c); }

/* Blanks separate the words of a line. Spaces also include the ends of lines. */
static inline bool kiln__is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
static inline bool kiln__is_space(char c) { return kiln__is_blank(c) || c == '\n'; }

static inline const char *kiln__skip_blanks(const char *at)
{
    while (kiln__is_blank(*at))
        at++;
    return at;
}

#endif
