/* text.c - reads the lines of a plan's source and headers, for output that shows source lines. */
#include <string.h>

#include "plan_internal.h"
#include "text_internal.h"

void kiln__source_split(kiln__source_text *file, kiln__arena *arena)
{
    size_t count = 0;
    for (const char *at = file->text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        count++;
    file->lines = kiln__arena_alloc(arena, (count + 1) * sizeof *file->lines);
    for (const char *at = file->lines ? file->text : NULL; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        file->lines[file->line_count++] = at;
}

/* Reads the source of a plan and its headers into the arena. Leaves out the headers that cannot be found. */
kiln__sources kiln__sources_read(kiln_plan *plan, kiln__arena *arena)
{
    enum { LIMIT = 16 << 20 };
    kiln__sources found = {0};
    const char *name = plan->variant->source ? plan->variant->source : plan->spec->source, *path = NULL;
    kiln__includes includes = {0};
    kiln__include_paths where;
    size_t length = 0;
    char *text = NULL;
    if (plan->variant->source_text) {
        path = name;
        length = strlen(plan->variant->source_text);
        text = kiln__strdup(plan->mem, plan->variant->source_text);
        if (!text)
            return found;
    } else if (!name ||
               kiln__engine_find_source(plan->engine, plan->spec->folder, name, arena, &path, NULL) != KILN_OK ||
               kiln__file_read_resolved(plan->mem, path, LIMIT, &text, &length, NULL) != KILN_OK)
        return found;
    if (kiln__engine_include_paths(plan->engine, plan->spec->folder, path, plan->variant->include,
                                   plan->variant->include_count, arena, &where, NULL) == KILN_OK)
        kiln__includes_collect(plan->mem, arena, path, text, &where, &includes, NULL);
    found.files = kiln__arena_alloc(arena, (includes.count + 1) * sizeof *found.files);
    char *kept = found.files ? kiln__arena_strndup(arena, text, length) : NULL;
    if (kept) {
        found.files[found.count++] = (kiln__source_text){.name = name, .text = kept};
        for (size_t i = 0; i < includes.count; i++)
            found.files[found.count++] = (kiln__source_text){.name = includes.items[i].name,
                                                             .text = includes.items[i].text};
    }
    kiln__free(plan->mem, text);
    for (size_t i = 0; i < found.count; i++)
        kiln__source_split(&found.files[i], arena);
    return found;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *kiln__source_line(const kiln__source_text *file, unsigned line, kiln__arena *arena)
{
    const char *text = line >= 1 && line <= file->line_count ? file->lines[line - 1] : NULL;
    const char *copy = text ? kiln__arena_strndup(arena, text, strcspn(text, "\r\n")) : "";
    return copy ? copy : "";
}

const char *kiln__sources_line(const kiln__sources *from, const char *file, unsigned line, kiln__arena *arena)
{
    for (size_t i = 0; i < from->count && *file && line; i++)
        if (strcmp(base_name(from->files[i].name), base_name(file)) == 0)
            return kiln__source_line(&from->files[i], line, arena);
    return "";
}
