/* suppress.c - rules that suppress findings of the checks. kiln_sim.h describes the form of a rule. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cu_objects.h"
#include "kiln_sim.h"

enum { LINE_MOST = 512 }; /* a line with this number of bytes or more matches no finding */

/* Returns true if the pattern matches the place of one side. A place is a file and a line, such as "scan.cu:12". */
static bool is_place(const char *pattern, const kiln_check_side *side)
{
    char place[300];
    if (!side->what || !side->file || !side->file[0])
        return false;
    const char *slash = strrchr(side->file, '/');
    snprintf(place, sizeof place, "%.280s:%u", slash ? slash + 1 : side->file, side->line);
    return kiln__matches(pattern, place);
}

/* Returns true if the pattern matches the symbol of the kernel, or the name that the kernel has in its source. */
static bool is_kernel(const char *pattern, const char *symbol)
{
    char *name = sim_readable_name(symbol);
    bool fits = kiln__matches(pattern, symbol) || (name && kiln__matches(pattern, name));
    free(name);
    return fits;
}

/* Returns true if the rule in `line` matches the finding. A rule has up to three words: the kind, the kernel and the
 * place. The function splits `line` into these words in place. */
static bool matches_rule(char *line, const kiln_check_finding *f)
{
    char kind[64], *rest = NULL;
    snprintf(kind, sizeof kind, "%s", kiln_check_text(f->kind));
    for (char *at = kind; *at; at++)
        *at = *at == ' ' ? '-' : *at;
    const char *what = strtok_r(line, " \t\r", &rest), *kernel = strtok_r(NULL, " \t\r", &rest),
               *place = strtok_r(NULL, " \t\r", &rest);
    return what && what[0] != '#' && kiln__matches(what, kind) && (!kernel || is_kernel(kernel, f->kernel)) &&
           (!place || is_place(place, &f->at) || is_place(place, &f->other));
}

int kiln_check_is_suppressed(const char *rules, const kiln_check_finding *finding)
{
    if (!rules || !finding)
        return 0;
    for (const char *at = rules; *at;) {
        const size_t length = strcspn(at, "\n");
        char line[LINE_MOST];
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : 0), at);
        if (matches_rule(line, finding))
            return 1;
        at += length + (at[length] == '\n');
    }
    return 0;
}
