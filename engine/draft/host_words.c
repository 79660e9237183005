/* host_words.c - helpers that read the tokens of host code: operators of several tokens, lists, and the braces around a
 * token. */
#include <string.h>

#include "host_internal.h"

enum { MOST_SPACES = 256 }; /* the most namespaces that may contain a token, because the source is untrusted text */

bool kiln__words_are_three(const kiln__draft *draft, size_t at, char c)
{
    return kind_of_word(draft, at) == c && kind_of_word(draft, at + 1) == c && kind_of_word(draft, at + 2) == c;
}

bool kiln__words_are_joined(const kiln__draft *draft, size_t at, const char *text)
{
    for (size_t i = 0; text[i]; i++)
        if (kind_of_word(draft, at + i) != text[i] ||
            (i && draft->scan->words[at + i].text != draft->scan->words[at].text + i))
            return false;
    return true;
}

size_t kiln__words_split(const kiln__draft *draft, size_t from, size_t to, bool angles, kiln__range *list)
{
    size_t count = 0, depth = 0, begin = from;
    for (size_t i = from; i <= to && count < KILN__MOST_LIST; i++) {
        char c = i < to ? kind_of_word(draft, i) : ',';
        bool opens = c == '(' || c == '[' || c == '{' || (angles && c == '<');
        bool closes = c == ')' || c == ']' || c == '}' || (angles && c == '>');
        depth += opens;
        depth -= closes && depth > 0;
        if (i < to && (c != ',' || depth > 0))
            continue;
        if (i > begin)
            list[count++] = (kiln__range){begin, i};
        begin = i + 1;
    }
    return count;
}

kiln__range kiln__enclosing_function(const kiln__draft *draft, size_t word)
{
    const kiln__scan *scan = draft->scan;
    size_t spaces = 0;
    for (size_t i = 1; i < word && spaces < MOST_SPACES; i++) {
        if (scan->words[i].directive || kind_of_word(draft, i) != '{')
            continue;
        bool space = is_text(draft, i - 1, "namespace") || (i > 1 && is_text(draft, i - 2, "namespace")) ||
                     kind_of_word(draft, i - 1) == '"' || (i > 2 && is_text(draft, i - 3, "namespace"));
        spaces += space;
        if (space)
            continue;
        size_t close = kiln__word_close(scan, i);
        if (close > word)
            return (kiln__range){i + 1, close};
        i = close;
    }
    return (kiln__range){0, 0};
}

kiln__range kiln__enclosing_directive(const kiln__draft *draft, size_t word)
{
    const kiln__scan *scan = draft->scan;
    for (size_t i = 0; i < scan->macro_count; i++)
        if (scan->macros[i].from <= word && word < scan->macros[i].to)
            return (kiln__range){scan->macros[i].from, scan->macros[i].to};
    return (kiln__range){0, 0};
}
