/* nest.c - measures how deep a source nests, for compiles in the host's own process. NVRTC's parser recurses for each
 * level of nesting, and a stack overflow ends the process. This code does not expand macros, so it does not find
 * nesting that macros produce. */
#include <string.h>

#include "compile_internal.h"

enum { MOST_DEPTH = 256 }; /* the nesting that a compiler must support by the C++ standard */

/* The nesting at the current character. */
typedef struct nest {
    unsigned line, depth, signs; /* `signs` is the number of operators in a row, as in !!!!x */
} nest;

/* Returns the end of the comment, string or constant that begins at `at`, or `at` if none begins there. */
static const char *skip_quoted(const char *at, unsigned *line)
{
    const char *from = at;
    if (at[0] == '/' && at[1] == '/') {
        at += strcspn(at, "\n");
    } else if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        at = end ? end + 2 : at + strlen(at);
    } else if (*at == '"' ||
               /* a character constant, but not the digit separator in 1'000 */
               (*at == '\'' && (at[1] == '\\' || (at[1] && at[2] == '\'')))) {
        const char quote = *at++;
        while (*at && *at != quote && *at != '\n')
            at += at[0] == '\\' && at[1] ? 2 : 1;
        at += *at == quote;
    }
    for (; from < at; from++)
        *line += *from == '\n';
    return at;
}

static bool is_too_deep(const char *text, unsigned *line)
{
    nest now = {.line = 1};
    while (*text) {
        const char *next = skip_quoted(text, &now.line);
        if (next != text) {
            text = next;
            continue;
        }
        char c = *text++;
        now.line += c == '\n';
        if (strchr("([{", c))
            now.depth++;
        else if (strchr(")]}", c) && now.depth > 0)
            now.depth--;
        if (strchr("!~-+*&<", c))
            now.signs++;
        else if (!strchr(" \t\r\n\\", c))
            now.signs = 0;
        if (now.depth > MOST_DEPTH || now.signs > MOST_DEPTH) {
            *line = now.line;
            return true;
        }
    }
    return false;
}

kiln_status kiln__nesting_check(const kiln_allocator *mem, const kiln__compile_request *request, kiln_error **error)
{
    unsigned line = 0;
    const char *name = is_too_deep(request->source, &line) ? request->name : NULL;
    for (size_t i = 0; i < request->include_count && !name; i++)
        name = is_too_deep(request->includes[i].text, &line) ? request->includes[i].name : NULL;
    if (!name)
        return KILN_OK;
    return kiln__fail(
        mem, error, KILN_ERROR_REFUSED,
        "%s:%u: the source is nested more than %d deep, so NVRTC could overflow the stack of this process; compile in "
        "worker processes (kiln-worker)",
        name, line, (int)MOST_DEPTH);
}
