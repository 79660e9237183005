/* pointer.c - reads pointers as arguments, which launches, tensor maps and textures have. */
#include <string.h>

#include "chars.h"
#include "read.h"

/* Reads a pointer argument: the name of a buffer, a buffer plus an offset in elements, or `null`. The text after the
 * `+` is read as an expression with its own place, so that a message points to the right column. If a name is not a
 * buffer, the function returns false, because the name may begin an expression. */
bool kiln__read_pointer(kiln__reader *r, const kiln__spec_node *node, kiln__argument *arg)
{
    if (node->kind != KILN__SCALAR)
        return false;
    size_t length = 0;
    while (kiln__is_name_part(node->text[length]))
        length++;
    char *name = kiln__arena_strndup(r->arena, node->text, length);
    const kiln__name *found = name ? kiln__find_name(r, name) : NULL;
    if (!found && !node->quoted && strcmp(node->text, "null") == 0) {
        arg->kind = KILN__ARGUMENT_NULL;
        return true;
    }
    if (!found || found->kind != KILN__NAME_BUFFER)
        return false;
    const char *rest = node->text + length;
    rest += strspn(rest, " \t\n");
    if (*rest && *rest != '+')
        return false;
    arg->kind = KILN__ARGUMENT_BUFFER;
    arg->buffer = name;
    if (*rest == '\0')
        return true;
    rest++;
    rest += strspn(rest, " \t\n");
    kiln__spec_node offset = *node;
    offset.pos.column += (unsigned)(rest - node->text);
    offset.length = node->length - (size_t)(rest - node->text);
    offset.text = rest;
    arg->expr = kiln__read_expr(r, &offset, "the number of elements behind a buffer's first", KILN__ALL_INPUTS);
    return true;
}
