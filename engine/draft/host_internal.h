/* host_internal.h - declarations that the files which read host code share. */
#ifndef KILN_HOST_INTERNAL_H
#define KILN_HOST_INTERNAL_H

#include <string.h>

#include "draft.h"

static inline char kind_of_word(const kiln__draft *draft, size_t word)
{
    return word < draft->scan->count ? draft->scan->words[word].kind : '\0';
}

static inline bool is_text(const kiln__draft *draft, size_t word, const char *text)
{
    return kiln__word_is(draft->scan, word, text);
}

static inline bool same_word(const kiln__draft *draft, size_t a, size_t b)
{
    const kiln__word *words = draft->scan->words;
    return words[a].length == words[b].length && memcmp(words[a].text, words[b].text, words[a].length) == 0;
}

bool kiln__tree_has_real(const kiln__tree *tree); /* the expression contains a number with a fraction */
/* Returns true if the words at `at` are three of this character: <<<, also with blanks between them. */
bool kiln__words_are_three(const kiln__draft *draft, size_t at, char c);
/* Returns true if the words at `at` are these characters without blanks between them. */
bool kiln__words_are_joined(const kiln__draft *draft, size_t at, const char *text);
/* Splits the words from..to at the commas outside of brackets into at most KILN__MOST_LIST parts. Angle brackets count
 * if `angles` is set. Returns the number of parts. */
size_t kiln__words_split(const kiln__draft *draft, size_t from, size_t to, bool angles, kiln__range *list);
/* Returns the outermost braces around a word as a range. Braces of namespaces do not count. Returns {0, 0} if there are
 * no such braces. */
kiln__range kiln__enclosing_function(const kiln__draft *draft, size_t word);
/* Returns the words of the directive around a word: the body of a macro. */
kiln__range kiln__enclosing_directive(const kiln__draft *draft, size_t word);

/* Names that mean something else while words are read: the parameters of a macro or of a template. */
struct kiln__frame {
    const kiln__frame *up; /* the frame in which the values are read */
    size_t names[KILN__MOST_LIST];
    kiln__range values[KILN__MOST_LIST];
    size_t count;
    kiln__range scope; /* the function in which the values stand, up to word `at`; from 0: the values stand in the
                        * function of the launch */
    size_t at;
};

/* returns NULL if there is no room */
kiln__tree *kiln__tree_make(kiln__draft *draft, char op, kiln__tree *a, kiln__tree *b);
kiln__tree *kiln__tree_not(kiln__draft *draft, kiln__tree *tree);

/* returns NULL if there is no room, or if `tree` is NULL */
kiln__tree *kiln__tree_copy(kiln__draft *draft, const kiln__tree *tree);
/* Replaces each axes[i] by `axes[i] if CONDITION else otherwise[i]`, where NULL counts as 1. Returns false if there is
 * no room. */
bool kiln__axes_choose(kiln__draft *draft, const kiln__tree *condition, kiln__tree *const *otherwise,
                       kiln__tree **axes);
/* Replaces a number by a name in a tree, which may be NULL. Two numbers are the same if their values are equal, and if
 * they have the same name or both have no name. */
void kiln__tree_replace(kiln__tree *tree, const kiln__tree *number, const char *name);

/* ---- #if (conditions.c) ---- */

typedef enum kiln__when { KILN__NEVER, KILN__SOMETIMES, KILN__ALWAYS } kiln__when;
/* Returns whether the compiler sees a word if it sees the word `seen` (0: a word outside of all #if). KILN__SOMETIMES
 * means that params decide; then *tree is the condition, and otherwise NULL. A condition that cannot be read counts as
 * true. */
kiln__when kiln__condition(kiln__draft *draft, size_t word, size_t seen, kiln__tree **tree);
/* Returns true if two words are in different branches of one #if. */
bool kiln__are_exclusive(const kiln__draft *draft, size_t a, size_t b);
/* Returns the value of defined(NAME) for word `name` before the word `at`, as a number. Returns NULL if it is not
 * known. */
kiln__tree *kiln__defined(kiln__draft *draft, size_t name, size_t at);

#endif
