/* words.h - splits CUDA source into words, for decisions before a compiler sees the source. */
#ifndef KILN_WORDS_H
#define KILN_WORDS_H

#include "base.h"

/* A word of CUDA source. */
typedef struct kiln__word {
    const char *text; /* a pointer into the source; not terminated */
    size_t length;
    unsigned line;
    /* 'w' for a name or keyword, '0' for a number, '"' for a quoted text, ' ' for word 0; otherwise the character
     * itself */
    char kind;
    bool directive; /* the word is on a line that begins with # */
    bool first;     /* the word is the first one of its line; a joined line goes on */
} kiln__word;

enum { KILN__WORDS_MAX = 1 << 20 };

/* Splits a text into at most KILN__WORDS_MAX words, and skips comments. Word 0 is empty. The caller frees the words
 * (kiln__free). Returns NULL if there is no memory. */
kiln__word *kiln__words_read(const kiln_allocator *mem, const char *text, size_t length, size_t *count);

#endif
