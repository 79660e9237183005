/* symbols.c - finds the variables of the source that host code fills before a launch, such as `__constant__ float
 * mask[R * R];`. Each variable becomes a buffer of the spec, and a step `symbol` that copies the buffer to the
 * variable. */
#include <string.h>

#include "draft.h"

static char kind_of_word(const kiln__draft *draft, size_t word)
{
    return word < draft->scan->count ? draft->scan->words[word].kind : '\0';
}

/* Returns true if the source calls cudaMemcpyToSymbol() for the variable. */
static bool is_filled_by_host(const kiln__draft *draft, const char *name)
{
    for (size_t i = 1; i + 2 < draft->scan->count; i++)
        if (kiln__word_is(draft->scan, i, "cudaMemcpyToSymbol") ||
            kiln__word_is(draft->scan, i, "cudaMemcpyToSymbolAsync"))
            for (size_t k = i + 2; k < i + 5; k++)
                if (kiln__word_is(draft->scan, k, name))
                    return true;
    return false;
}

/* Reads the extents after the name of a variable, such as [R][2 * R + 1]. Returns their product as an expression of the
 * spec. Returns "1" if there are no extents, and NULL if they are not known. */
static const char *read_extents(kiln__draft *draft, size_t at)
{
    const char *product = NULL;
    for (; kind_of_word(draft, at) == '['; at = kiln__word_close(draft->scan, at) + 1) {
        kiln__tree *tree = kiln__host_read(draft, (kiln__range){at + 1, kiln__word_close(draft->scan, at)});
        if (!tree || kiln__tree_free(tree))
            return NULL;
        const char *text = kiln__tree_text(draft, tree);
        bool simple = strchr("0wC", tree->op) != NULL;
        product = product ? kiln__arena_printf(draft->arena, simple ? "%s * %s" : "%s * (%s)", product, text)
                  : simple || tree->op == '*' ? text
                                              : kiln__arena_printf(draft->arena, "(%s)", text);
    }
    return product ? product : "1";
}

/* Adds the variable `name` as a buffer if host code fills it and a kernel uses it. A `__constant__` variable without a
 * value counts as filled. `type` has the tokens of its type. `stop` is the token after its extents. */
static void add_symbol(kiln__draft *draft, kiln__range type, size_t name, size_t stop, bool constant)
{
    const kiln__word *words = draft->scan->words;
    draft->compared += 2 * draft->scan->count; /* counts the tokens that the two searches below compare */
    char *text = draft->compared <= KILN__MOST_COMPARED ? kiln__word_copy(draft->scan, name) : NULL;
    if (!text || draft->argument_count == KILN__MOST_ARGUMENTS || !(constant || is_filled_by_host(draft, text)) ||
        !kiln__is_used_by_device(draft, text))
        return;
    for (size_t i = 0; i < draft->argument_count; i++) /* skips a variable that was declared before */
        if (draft->arguments[i].symbol && strcmp(draft->arguments[i].symbol, text) == 0)
            return;
    const char *extents = read_extents(draft, name + 1);
    if (!extents || !kiln__guess_field(draft, type.from, type.to, name, 1, 1, KILN__NO_PARENT))
        return;
    kiln__draft_argument *argument = &draft->arguments[draft->argument_count - 1];
    argument->symbol = text;
    argument->constant = true;
    argument->declared = kiln__arena_printf(
        draft->arena, "%s %.*s %.*s", constant ? "__constant__" : "__device__",
        (int)(words[type.to - 1].text + words[type.to - 1].length - words[type.from].text), words[type.from].text,
        (int)(words[stop - 1].text + words[stop - 1].length - words[name].text), words[name].text);
    argument->shape = argument->lanes > 1 ? kiln__arena_printf(draft->arena, "%d * %s", argument->lanes, extents)
                                          : extents;
}

/* Reads the declaration after __constant__ or __device__, such as `float mask[9], scale;`. Leaves out variables with an
 * initial value, because the host need not fill them. */
static void read_declaration(kiln__draft *draft, size_t at, bool constant)
{
    const kiln__scan *scan = draft->scan;
    kiln__range type = {at, at};
    while (kind_of_word(draft, type.to) == 'w' &&
           (kind_of_word(draft, type.to + 1) == 'w' || kind_of_word(draft, type.to + 1) == ':'))
        type.to++;
    for (size_t name = type.to; type.to > type.from && kind_of_word(draft, name) == 'w';) {
        size_t stop = name + 1;
        while (kind_of_word(draft, stop) == '[' && stop < scan->count)
            stop = kiln__word_close(scan, stop) + 1;
        if (kind_of_word(draft, stop) != ',' && kind_of_word(draft, stop) != ';')
            return;
        add_symbol(draft, type, name, stop, constant);
        if (kind_of_word(draft, stop) == ';')
            return;
        name = stop + 1;
    }
}

void kiln__guess_symbols(kiln__draft *draft)
{
    const kiln__host_launch kept = draft->host;
    /* extents consist of constants and tuning parameters, not of local variables */
    draft->host = (kiln__host_launch){.in_kernel = true};
    enum { MOST_TRIED = 256 };
    size_t tried = 0;
    for (size_t i = 1; i + 2 < draft->scan->count && tried < MOST_TRIED; i++) {
        bool constant = kiln__word_is(draft->scan, i, "__constant__");
        if (!draft->scan->words[i].directive && (constant || kiln__word_is(draft->scan, i, "__device__")))
            read_declaration(draft, i + 1, constant), tried += constant;
    }
    draft->host = kept;
}
