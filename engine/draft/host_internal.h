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

bool kiln__tree_has_real(const kiln__tree *tree); /* returns true if the expression contains a floating-point number */
/* Returns true if `at` and the two tokens after it are this character, as in <<<. There may be blanks between them. */
bool kiln__words_are_three(const kiln__draft *draft, size_t at, char c);
/* Returns true if the tokens at `at` are these characters without blanks between them. */
bool kiln__words_are_joined(const kiln__draft *draft, size_t at, const char *text);
/* Splits the range from..to at the commas outside of brackets into at most KILN__MOST_LIST parts. Angle brackets count
 * as brackets if `angles` is set. Returns the number of parts. */
size_t kiln__words_split(const kiln__draft *draft, size_t from, size_t to, bool angles, kiln__range *list);
/* Returns the tokens inside the outermost braces around a token. Braces of namespaces do not count. Returns {0, 0} if
 * there are no such braces. */
kiln__range kiln__enclosing_function(const kiln__draft *draft, size_t word);
/* Returns the tokens of the macro value that contains a token. Returns {0, 0} if no macro contains it. */
kiln__range kiln__enclosing_directive(const kiln__draft *draft, size_t word);

/* The values that names have while an expression is read: the names of macro parameters or template parameters, with
 * their arguments. A switch case is also a frame, with the switch variable and the number of the case. */
struct kiln__frame {
    const kiln__frame *up; /* the frame that gives names in `values` their values */
    size_t names[KILN__MOST_LIST];
    kiln__range values[KILN__MOST_LIST];
    size_t count;
    /* The function that contains the values. If scope.from is 0, this is the function with the launch. Only definitions
     * before the token `at` count. */
    kiln__range scope;
    size_t at;
};

/* Returns NULL if memory runs out or too many nodes were made. */
kiln__tree *kiln__tree_make(kiln__draft *draft, char op, kiln__tree *a, kiln__tree *b);
kiln__tree *kiln__tree_not(kiln__draft *draft, kiln__tree *tree);

/* Returns NULL if memory runs out, if too many nodes were made, or if `tree` is NULL. */
kiln__tree *kiln__tree_copy(kiln__draft *draft, const kiln__tree *tree);
/* Replaces each axes[i] by `axes[i] if CONDITION else otherwise[i]`, where NULL counts as 1. Returns false if memory
 * runs out or too many nodes were made. */
bool kiln__axes_choose(kiln__draft *draft, const kiln__tree *condition, kiln__tree *const *otherwise,
                       kiln__tree **axes);
/* Replaces a number by a name everywhere in a tree, which may be NULL. Two numbers are the same if they have equal
 * values, and if both come from the same constant or from no constant. */
void kiln__tree_replace(kiln__tree *tree, const kiln__tree *number, const char *name);

/* ---- #if (conditions.c) ---- */

typedef enum kiln__when { KILN__NEVER, KILN__SOMETIMES, KILN__ALWAYS } kiln__when;
/* Returns whether the compiler sees a token if it sees the token `seen`. If `seen` is 0, it stands for a token outside
 * of all #if. KILN__SOMETIMES means that tuning parameters decide. Then *tree is the condition, and otherwise NULL. A
 * condition that cannot be read counts as true. */
kiln__when kiln__condition(kiln__draft *draft, size_t word, size_t seen, kiln__tree **tree);
/* Returns true if two tokens are in different branches of one #if. */
bool kiln__are_exclusive(const kiln__draft *draft, size_t a, size_t b);
/* Returns the value of defined(NAME) before the token `at`, as a number. The token `name` is NAME. Returns NULL if the
 * value is not known. */
kiln__tree *kiln__defined(kiln__draft *draft, size_t name, size_t at);

#endif
