/* words.h - CUDA source as words, for what is decided before a compiler sees it. */
#ifndef KILN_WORDS_H
#define KILN_WORDS_H

#include "base.h"

typedef struct kiln__word {
    const char *text; /* in the source; not terminated */
    size_t length;
    unsigned line;
    char kind;      /* 'w' word, '0' number, '"' text, else the character itself */
    bool directive; /* of a line that begins with # */
} kiln__word;

enum { KILN__WORDS_MAX = 1 << 20 };

/* Reads any text, at most so many words of it. Number 0 is an empty word. The caller frees them (kiln__free). NULL: out of memory. */
kiln__word *kiln__words_read(const kiln_allocator *mem, const char *text, size_t length, size_t *count);

#endif
